"""What a run under exact nulls found, in words: which tests hold their level, and which to use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.figure_degenerate import figure_1d
from harness.papers import BALANCE_NAMES, REWEIGHTED, balanced_scheme, pair_name, primary_alpha, test_name
from harness.ranking import rank_tests, recommend, recommendation

if TYPE_CHECKING:
    from pandas import DataFrame

MEASURES = {"f1": "ΔF1", "error": "ΔCerr"}
LETTERS = {"holds": "H", "liberal": "L", "conservative": "C", "undecided": "?", "cannot tell": "."}
NULL_NAMES = {"exact_null": "exact null", "joint_null": "joint null"}


def null_findings(table: DataFrame, outcomes: DataFrame, provenance: Mapping[str, Any]) -> list[str]:
    """Return the findings of a run under ``exact_null``, the first one on which tests hold; empty without.

    Parameters
    ----------
    table : DataFrame
        ``size_power.csv``.
    outcomes : DataFrame
        ``outcomes.csv``; the prevalence of natural categories comes from its cells.
    provenance : mapping
    """
    ranked = rank_tests(table)
    if ranked.empty:
        return []
    alpha = primary_alpha(table)
    findings = [holding(part, str(measure), alpha) for measure, part in ranked.groupby("measure", sort=False)]
    findings += [
        recommended(ranked, outcomes, 300, 0.01, "N = 300 with about 1 % positives"),
        recommended_balanced(ranked, outcomes, table),
        dead_finding(ranked),
    ]
    told = figure_1d(table, provenance)
    return [text for text in (*findings, told) if text]


def holding(ranked: DataFrame, measure: str, alpha: float) -> str:
    """Return which tests of a measure hold, and which are liberal or conservative, over all panels and N."""
    told = ranked[ranked["verdict"] != "cannot tell"]
    name = MEASURES.get(measure, measure)
    head = f"Size under the exact null, tests on {name}, alpha = {alpha:g}"
    if told.empty:
        return f"{head}: cannot tell, for fewer than five categories have a null."
    n_places = len(told[["panel", "n_documents"]].drop_duplicates())
    counts = {str(test): Counter(part["verdict"]) for test, part in told.groupby("test", sort=False)}
    safe = sorted((t for t in counts if not counts[t]["liberal"]), key=lambda test: -counts[test]["holds"])
    liberal = sorted((t for t in counts if counts[t]["liberal"]), key=lambda test: counts[test]["liberal"])
    listed = ", ".join(
        f"{test_name(test)} (holds in {counts[test]['holds']}, conservative in "
        f"{counts[test]['conservative']})"
        for test in safe
    )
    parts = [f"{head}, over {n_places} places (panel and N); never liberal: {listed or 'no test'}"]
    if liberal:
        worst = told.sort_values("size", kind="stable").to_dict("records")[-1]
        listed = ", ".join(f"{test_name(test)} (in {counts[test]['liberal']})" for test in liberal)
        parts.append(f"liberal somewhere: {listed}")
        parts.append(
            f"the highest size is {worst['size']:.3f} [{worst['size_low']:.3f}, {worst['size_high']:.3f}], "
            f"{test_name(str(worst['test']))}, {worst['panel']}, N = {worst['n_documents']}"
        )
    return "; ".join(parts) + "."


def verdict_grid(ranked: DataFrame) -> DataFrame:
    """Return a row per test, a column per panel, and in each cell one letter for each N, smallest first."""
    import pandas as pd

    rows = []
    for (measure, test), part in ranked.groupby(["measure", "test"], sort=False):
        row = {"measure": MEASURES.get(str(measure), str(measure)), "test": test_name(str(test))}
        for panel in ranked["panel"].unique():
            points = part[part["panel"] == panel].sort_values("n_documents")
            row[panel] = " ".join(LETTERS[word] for word in points["verdict"])
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


def recommended(ranked: DataFrame, outcomes: DataFrame, n_documents: int, share: float, words: str) -> str:
    """Return which test to use for a number of documents and a share of positives, from the nearest rows.

    The nearest place has the smallest sum of the logarithms' distances; each pair and measure has its own.
    """
    at = _prevalences(ranked, outcomes)
    parts = []
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
            parts.append(_recommend_at(near, positives))
    return f"For {words}, from the rows nearest to it: {'; '.join(parts)}." if parts else ""


def _distance(found: float, wanted: float) -> float:
    return abs(float(np.log(found / wanted))) if found > 0 else float("nan")


def _recommend_at(near: DataFrame, positives: float) -> str:
    first = near.iloc[0]
    balance = BALANCE_NAMES.get(str(first["balance"]), str(first["balance"]))
    where = (
        f"{pair_name(str(first['pair']))}, {balance}, {100 * positives:.2g} % positives, "
        f"N = {int(first['n_documents'])}"
    )
    uses = [
        f"{MEASURES.get(str(measure), str(measure))}: {recommendation(part)}"
        for measure, part in near.groupby("measure", sort=False)
    ]
    return f"{where}: {', '.join(uses)}"


def recommended_balanced(ranked: DataFrame, outcomes: DataFrame, table: DataFrame) -> str:
    """Return which test to use for N = 3000 and balanced categories, or one of a half prevalence."""
    words, scheme = "N = 3000 balanced", balanced_scheme(table)
    rows = ranked[ranked["balance"] == scheme] if scheme else ranked[ranked["prevalence"] > 0.3]
    if rows.empty:
        return f"For {words}: no balanced categories were run."
    return recommended(rows, outcomes, 3000, 0.5, words)


def dead_finding(ranked: DataFrame) -> str:
    """Return how many categories are dead at the smallest and the largest N of each panel."""
    parts = []
    for panel, part in ranked[ranked["balance"] != REWEIGHTED].groupby("panel", sort=False):
        ends = []
        for n in sorted({part["n_documents"].min(), part["n_documents"].max()}):
            at = part[part["n_documents"] == n]
            low, high = at["n_dead"].min(), at["n_dead"].max()
            dead = str(low) if low == high else f"{low} to {high}"
            ends.append(f"{dead} of {at['n_categories'].max()} at N = {n}")
        parts.append(f"{panel}: {', '.join(ends)}")
    if not parts:
        return ""
    return (
        "Dead categories, in which hardly any set can be rejected and which make every test look "
        f"conservative (range over tests): {'; '.join(parts)}."
    )


def null_warnings(nulls: DataFrame) -> list[str]:
    """Return for each null and measure (at its costs) how many categories have no null population, and why.

    Parameters
    ----------
    nulls : DataFrame
        ``nulls.csv``; one without the column `costs` has no measure at two sets of costs.
    """
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
            best = recommend(some)
            row[MEASURES.get(str(measure), str(measure))] = (
                recommendation(some) if best is not None else "none"
            )
        rows.append(row)
    return pd.DataFrame(rows).fillna("")
