"""What a run under exact nulls found, in words: which tests hold by category, and which to use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from harness.results.category_verdicts import FALSE_LIBERAL, why_unknown, worst_words
from harness.results.names import (
    BALANCE_NAMES,
    REWEIGHTED,
    balanced_scheme,
    pair_name,
    primary_alpha,
    test_name,
)
from harness.results.ranking import recommend, recommendation
from harness.results.truth_scores import CANNOT_TELL
from harness.run.figures.degenerate import figure_1d

if TYPE_CHECKING:
    from pandas import DataFrame

    from harness.results.folder import Results

MEASURES = {"f1": "ΔF1", "error": "ΔCerr"}
LETTERS = {"holds": "H", "conservative": "C", "undecided": "?", CANNOT_TELL: "."}
NULL_NAMES = {"exact_null": "exact null", "joint_null": "joint null"}


def null_findings(results: Results) -> list[str]:
    """Return the findings under ``exact_null``, the first ones on which tests hold; none without it."""
    table, outcomes, ranked = results.table, results.outcomes, results.ranking
    if ranked.empty:
        return []
    findings = []
    for measure, part in ranked.groupby("measure", sort=False):
        findings += holding(part, MEASURES.get(str(measure), str(measure)), primary_alpha(table))
    if (ranked["verdict"] != CANNOT_TELL).any():
        findings += recommended(ranked, outcomes, 300, 0.01, "N = 300, 1 % positives")
        scheme = balanced_scheme(table)
        balanced = ranked[ranked["balance"] == scheme] if scheme else ranked[ranked["prevalence"] > 0.3]
        findings += recommended(balanced, outcomes, 3000, 0.5, "N = 3000, balanced")
    return [text for text in (*findings, dead_finding(ranked), figure_1d(table, results.provenance)) if text]


def holding(ranked: DataFrame, measure: str, alpha: float) -> list[str]:
    """Return which test of a measure holds by category at most places, and the largest size of a category."""
    told = ranked[ranked["verdict"] != CANNOT_TELL]
    head = f"{measure} at alpha = {alpha:g}"
    if told.empty:
        fullest = ranked.sort_values("n_live", kind="stable", na_position="first").iloc[-1]
        return [f"{head}: cannot tell by category ({why_unknown(fullest)})."]
    counts = {str(test): part["verdict"].value_counts() for test, part in told.groupby("test", sort=False)}
    holds, liberal = ({t: int(n.get(word, 0)) for t, n in counts.items()} for word in ("holds", "liberal"))
    best = max(counts, key=lambda test: (holds[test], -liberal[test]))
    n_places, n_told = len(told[["panel", "n_documents"]].drop_duplicates()), int(counts[best].sum())
    if holds[best]:
        chance = FALSE_LIBERAL * n_told
        first = (
            f"{head}: {test_name(best)} holds by category at {holds[best]} of {n_told} places (panel and N), "
            f"none of {len(counts)} tests at more; it is liberal in some category at {liberal[best]} "
            f"(chance alone: at most {chance:.1f})."
        )
    else:
        first = f"{head}: none of {len(counts)} tests holds by category (panels and N looked at: {n_places})."
    worst = told.sort_values("worst", kind="stable").iloc[-1]
    second = (
        f"{measure}, largest size of a category: {worst_words(worst)}, {test_name(str(worst['test']))}, "
        f"{worst['panel']}, N = {worst['n_documents']}; of {len(told)} points (test, panel, N)."
    )
    return [first, second]


def verdict_grid(ranked: DataFrame) -> DataFrame:
    """Return a row per test, a column per panel, and in each cell a letter for each N, smallest first.

    A liberal test is an L with the number of categories in which it is liberal after Holm.
    """
    import pandas as pd

    rows = []
    for (measure, test), part in ranked.groupby(["measure", "test"], sort=False):
        row = {"measure": MEASURES.get(str(measure), str(measure)), "test": test_name(str(test))}
        for panel in ranked["panel"].unique():
            points = part[part["panel"] == panel].sort_values("n_documents")
            row[panel] = " ".join(
                LETTERS.get(word) or f"L{int(n)}"
                for word, n in zip(points["verdict"], points["n_liberal_holm"], strict=True)
            )
        rows.append(row)
    return pd.DataFrame(rows).fillna("")


def _prevalences(ranked: DataFrame, outcomes: DataFrame) -> dict[tuple[str, str, float], float]:
    """Return the share of positives at each place: the rescaled one, or the median over the categories."""
    found = {}
    for pair, balance, prevalence in (
        ranked[["pair", "balance", "prevalence"]].drop_duplicates().itertuples(index=False)
    ):
        if prevalence == prevalence:
            found[str(pair), str(balance), float(prevalence)] = float(prevalence)
            continue
        part = outcomes[(outcomes["pair"] == pair) & (outcomes["balance"] == balance)]
        cells = part[[f"e{i}" for i in range(1, 9)]].to_numpy(float)
        share = np.median(cells[:, :4].sum(axis=1) / cells.sum(axis=1)) if len(cells) else np.nan
        found[str(pair), str(balance), -1.0] = float(share)
    return found


def recommended(
    ranked: DataFrame, outcomes: DataFrame, n_documents: int, share: float, words: str
) -> list[str]:
    """Return which test to use for a number of documents and a share of positives, from the nearest rows.

    The nearest place has the smallest sum of the logarithms' distances; each pair and measure has its own.
    """
    at = _prevalences(ranked, outcomes)
    found = []
    for pair, of_pair in ranked.groupby("pair", sort=False):
        far = [
            abs(np.log(n / n_documents))
            + _distance(at[str(pair), str(balance), p if p == p else -1.0], share)
            for balance, p, n in of_pair[["balance", "prevalence", "n_documents"]].itertuples(index=False)
        ]
        if np.isfinite(far).any():
            near = of_pair[np.isclose(far, np.nanmin(far))]
            first = near.iloc[0]
            near = near[near["balance"] == first["balance"]]
            p = first["prevalence"]
            positives = at[str(pair), str(first["balance"]), p if p == p else -1.0]
            found += _recommend_at(near, positives, words)
    return found


def _distance(found: float, wanted: float) -> float:
    return abs(float(np.log(found / wanted))) if found > 0 else float("nan")


def _recommend_at(near: DataFrame, positives: float, words: str) -> list[str]:
    first = near.iloc[0]
    balance = BALANCE_NAMES.get(str(first["balance"]), str(first["balance"]))
    where = (
        f"{pair_name(str(first['pair']))}, {balance}, {100 * positives:.2g} % positives, "
        f"N = {int(first['n_documents'])}"
    )
    return [
        f"{MEASURES.get(str(measure), measure)} near {words}: {recommendation(part)}; measured at {where}."
        for measure, part in near.groupby("measure", sort=False)
    ]


def dead_finding(ranked: DataFrame) -> str:
    """Return how many categories are dead at the smallest and the largest N of each panel that has any."""
    ranked = ranked[ranked["n_live"].notna() & (ranked["balance"] != REWEIGHTED)]
    ranked = ranked.assign(n_dead=ranked["n_categories"] - ranked["n_live"])
    parts = []
    for panel, part in ranked.groupby("panel", sort=False):
        if part["n_dead"].any():
            ends = []
            for n in sorted({part["n_documents"].min(), part["n_documents"].max()}):
                at = part[part["n_documents"] == n]
                ends.append(f"{_span(at['n_dead'])} of {_span(at['n_categories'])} at N = {n}")
            parts.append(f"{panel}: {', '.join(ends)}")
    if not parts:
        return ""
    return (
        "Dead categories (hardly any set can be rejected; only the means count them), range over measures: "
        f"{'; '.join(parts)}."
    )


def _span(numbers: Any) -> str:
    low, high = int(numbers.min()), int(numbers.max())
    return str(low) if low == high else f"{low} to {high}"


def null_warnings(nulls: DataFrame) -> list[str]:
    """Return for each null and measure how many categories have no null population, and why."""
    warnings = []
    nulls = nulls.assign(costs=nulls["costs"].astype(object).fillna("") if "costs" in nulls else "")
    lacking = nulls[nulls["e1"].isna() & (nulls["balance"] != REWEIGHTED)]  # rescaling does not change it
    for (pair, balance, truth, measure, costs), part in lacking.groupby(
        ["pair", "balance", "truth", "measure", "costs"], sort=False
    ):
        of_measure = nulls[nulls["measure"] == measure]
        every = of_measure[
            (of_measure["pair"] == pair)
            & (of_measure["balance"] == balance)
            & (of_measure["truth"] == truth)
            & (of_measure["costs"] == costs)
        ]
        n_lacking, n_all = part["category"].nunique(), every["category"].nunique()
        why = part.groupby(part["reason"].fillna("no reason given").map(_kind), sort=False)[
            "category"
        ].nunique()
        listed = "; ".join(f"{n} because {reason}" for reason, n in why.items())
        name, label = NULL_NAMES.get(str(truth), str(truth)), MEASURES.get(str(measure), str(measure))
        if of_measure["costs"].nunique() > 1:
            label += f" ({costs})"
        warnings.append(
            f"{pair_name(str(pair))}, {balance}: {n_lacking} of {n_all} categories have no {name} for "
            f"{label} and are left out of its sizes ({listed})."
        )
    return warnings


def _kind(reason: object) -> str:
    """Return a reason without what names its category, so that equal ones are counted together."""
    words = str(reason).strip().rstrip(".")
    return words.split(": ", 1)[1] if ": " in words else words


def recommendations(ranked: DataFrame) -> DataFrame:
    """Return a row per panel and N, a column per measure: the test to use."""
    import pandas as pd

    rows = []
    for (panel, n_documents), part in ranked.groupby(["panel", "n_documents"], sort=False):
        row: dict[str, object] = {"panel": panel, "N": str(n_documents)}
        for measure, some in part.groupby("measure", sort=False):
            best, name = recommend(some), test_name(str(some.iloc[0]["test"]))
            if best is None:
                told = some.iloc[0]["verdict"] != CANNOT_TELL
                name = f"none; least liberal: {name}" if told else CANNOT_TELL
            row[MEASURES.get(str(measure), str(measure))] = name
        rows.append(row)
    return pd.DataFrame(rows).fillna("")
