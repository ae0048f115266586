"""What a run under exact nulls found, in words: which tests hold by category, and which to use."""

from typing import Any

import numpy as np
import pandas as pd
from pandas import DataFrame

from harness.results import names
from harness.results.category_verdicts import FALSE_LIBERAL, why_unknown
from harness.results.folder import Results
from harness.results.names import REWEIGHTED, test_name
from harness.results.ranking import recommend
from harness.results.truth_scores import CANNOT_TELL
from harness.run.figures.degenerate import figure_1d
from harness.run.findings.models import CELLS
from harness.writing.prose import paragraphs

MEASURES = {"f1": "ΔF1", "error": "ΔCerr"}
LETTERS = {"holds": "H", "conservative": "C", "undecided": "?", CANNOT_TELL: "."}
NULL_NAMES = {"exact_null": "exact null", "joint_null": "joint null"}


def _named(name: Any, words: dict[str, str] = MEASURES) -> str:
    return words.get(str(name), str(name))


def null_findings(results: Results) -> list[str]:
    """Return the findings under ``exact_null``, the first ones on which tests hold; none without it."""
    table, ranked = results.table, results.ranking
    if ranked.empty:
        return []
    findings = []
    for measure in sorted(ranked["measure"].unique(), key=lambda name: name != "f1"):
        findings += holding(ranked[ranked["measure"] == measure], _named(measure))
    if (ranked["verdict"] != CANNOT_TELL).any():
        shared = _with_shares(ranked, results.outcomes)
        findings += recommended(shared, 300, 0.01)
        scheme = names.balanced_scheme(table)
        balanced = shared[shared["balance"] == scheme] if scheme else shared[shared["prevalence"] > 0.3]
        findings += recommended(balanced, 3000, 0.5)
    return [*dict.fromkeys(findings), *dead_findings(ranked), *figure_1d(table, results.provenance)[:1]]


def holding(ranked: DataFrame, measure: str) -> list[str]:
    """Return which test of a measure holds by category at most places, and the largest size of a category."""
    told = ranked[ranked["verdict"] != CANNOT_TELL]
    if told.empty:
        fullest = ranked.sort_values("n_live", kind="stable", na_position="first").iloc[-1]
        return [f"{measure}: cannot tell by category ({why_unknown(fullest)})."]
    counts = {str(test): list(part["verdict"]) for test, part in told.groupby("test", sort=False)}
    best = max(counts, key=lambda test: (counts[test].count("holds"), -counts[test].count("liberal")))
    n_told, n_places = len(counts[best]), len(told[["panel", "n_documents"]].drop_duplicates())
    first = paragraphs(
        "run", "holding", measure=measure, test=test_name(best), holds=counts[best].count("holds"),
        liberal=counts[best].count("liberal"), n_told=n_told, n_tests=len(counts), n_places=n_places,
        chance=FALSE_LIBERAL * n_told,
    )  # fmt: skip
    worst = told.sort_values("worst", kind="stable").iloc[-1]
    test = test_name(str(worst["test"]))
    return [*first, *paragraphs("run", "largest", measure=measure, point=worst, test=test)]


def _with_shares(ranked: DataFrame, outcomes: DataFrame) -> DataFrame:
    """Return the ranking with the share of positives: the rescaled one, or the median over the categories."""
    cells = outcomes[list(CELLS)].to_numpy(float)
    shares = outcomes.assign(share=cells[:, :4].sum(axis=1) / cells.sum(axis=1))
    joined = ranked.join(shares.groupby(["pair", "balance"])["share"].median(), on=["pair", "balance"])
    return joined.assign(share=joined["prevalence"].astype(float).fillna(joined["share"]))


def recommended(ranked: DataFrame, n_documents: int, share: float) -> list[str]:
    """Return which test to use near a number of documents and a share of positives, from the nearest rows.

    The nearest place has the smallest sum of the logarithms' distances; each pair and measure has its own.
    """
    found = []
    for pair, part in ranked.groupby("pair", sort=False):
        larger, rarer = part["n_documents"].astype(float) / n_documents, part["share"] / share
        far = np.abs(np.log(larger)) + np.abs(np.log(rarer.where(rarer > 0)))
        if far.isna().all():
            continue
        near = part[np.isclose(far, far.min())]
        first = near.iloc[0]
        where = (
            f"{names.pair_name(str(pair))}, {100 * first['share']:.2g} % positives, "
            f"N = {int(first['n_documents'])}"
        )
        for measure, rows in near[near["balance"] == first["balance"]].groupby("measure", sort=False):
            best = rows.iloc[0]
            found += paragraphs(
                "run", "use", measure=_named(measure), where=where, test=test_name(str(best["test"])),
                first=best, holds=recommend(rows) is not None, known=best["verdict"] != CANNOT_TELL,
            )  # fmt: skip
    return found


def dead_findings(ranked: DataFrame) -> list[str]:
    """Return how many categories are dead at the smallest and the largest N of each panel that has any."""
    ranked = ranked[ranked["n_live"].notna() & (ranked["balance"] != REWEIGHTED)]
    ranked = ranked.assign(n_dead=ranked["n_categories"] - ranked["n_live"])
    found = []
    for panel, part in ranked.groupby("panel", sort=False):
        if part["n_dead"].any():
            ends = sorted({part["n_documents"].min(), part["n_documents"].max()})
            at = [(n, part[part["n_documents"] == n]) for n in ends]
            told = [(n, _span(rows["n_dead"])) for n, rows in at]
            whole = int(part["n_categories"].max())
            found += paragraphs("run", "dead", panel=panel, all=whole, ends=told)
    return found


def _span(numbers: Any) -> str:
    low, high = int(numbers.min()), int(numbers.max())
    return str(low) if low == high else f"{low} to {high}"


def verdict_grid(ranked: DataFrame) -> DataFrame:
    """Return a row per test, a column per panel, and in each cell a letter for each N, smallest first.

    A liberal test is an L with the number of categories in which it is liberal after Holm.
    """
    rows = []
    for (measure, test), part in ranked.groupby(["measure", "test"], sort=False):
        row = {"measure": _named(measure), "test": test_name(str(test))}
        for panel in ranked["panel"].unique():
            points = part[part["panel"] == panel].sort_values("n_documents")
            both = zip(points["verdict"], points["n_liberal_holm"], strict=True)
            row[panel] = " ".join(LETTERS.get(word) or f"L{int(n)}" for word, n in both)
        rows.append(row)
    return pd.DataFrame(rows).fillna("")


def recommendations(ranked: DataFrame) -> DataFrame:
    """Return a row per panel and N, a column per measure: the test to use."""
    rows = []
    for (panel, n_documents), part in ranked.groupby(["panel", "n_documents"], sort=False):
        row: dict[str, object] = {"panel": panel, "N": str(n_documents)}
        for measure, some in part.groupby("measure", sort=False):
            best, name = recommend(some), test_name(str(some.iloc[0]["test"]))
            if best is None:
                told = some.iloc[0]["verdict"] != CANNOT_TELL
                name = f"none; least liberal: {name}" if told else CANNOT_TELL
            row[_named(measure)] = name
        rows.append(row)
    return pd.DataFrame(rows).fillna("")


def null_warnings(nulls: DataFrame) -> list[str]:
    """Return for each null and measure how many categories have no null population, and why."""
    warnings = []
    nulls = nulls[nulls["balance"] != REWEIGHTED]  # rescaling does not change which are lacking
    nulls = nulls.assign(costs=nulls["costs"].astype(object).fillna("") if "costs" in nulls else "")
    several = nulls.groupby("measure")["costs"].nunique() > 1
    for key, every in nulls.groupby(["pair", "balance", "truth", "measure", "costs"], sort=False):
        pair, balance, truth, measure, costs = map(str, key)
        part = every[every["e1"].isna()]
        if len(part):
            reasons = part["reason"].fillna("no reason given").map(_kind)
            why = part.groupby(reasons, sort=False)["category"].nunique()
            listed = "; ".join(f"{n} because {reason}" for reason, n in why.items())
            label = _named(measure) + f" ({costs})" * bool(several[measure])
            counts = f"{part['category'].nunique()} of {every['category'].nunique()}"
            null = _named(truth, NULL_NAMES)
            warnings.append(
                f"{names.pair_name(pair)}, {balance}: {counts} categories have no {null} for {label} and are "
                f"left out of its sizes ({listed})."
            )
    return warnings


def _kind(reason: object) -> str:
    """Return a reason without what names its category, so that equal ones are counted together."""
    words = str(reason).strip().rstrip(".")
    return words.split(": ", 1)[1] if ": " in words else words
