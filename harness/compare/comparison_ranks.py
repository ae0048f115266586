"""Estimators compared over several data sets: their mean scores, average ranks, and what differs."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from harness.compare.comparison_shown import Parts, pick_baseline, score_words
from harness.compare.rank_tables import RankTables, friedman_table, rank_tables
from harness.compare.seeds import BASELINE, BETTER, OPEN, WORSE
from harness.evaluation.rates import write_table
from harness.writing.table_text import write_tables

if TYPE_CHECKING:
    from pandas import DataFrame

DIGITS = 10  # as in the CSV: what is equal there ties
MANY_DATA_SETS, MANY_ALGORITHMS = 10, 5  # Demsar (2006), section 3.2.2
WHY_MEANS = (
    "The means of 5x2cv are ranked, not those of the hold-outs, because each halving tests every sample "
    "once: they hang less on the seed. The estimators are judged as trained on half of the samples."
)


class Ranks(NamedTuple):
    """What several data sets say of the estimators.

    Attributes
    ----------
    means : DataFrame
        A row a data set, a column an estimator: the mean score in 5x2cv; missing where every seed failed.
    ranks : DataFrame or None
        A row an estimator, best first: as :class:`harness.compare.rank_tables.RankTables` has it, with
        all forms of Friedman's test and the comparison with the baseline; None where fewer than two data sets
        or estimators are left.
    warnings : list of str
        What is left out, and how rough the approximations are.
    finding : str
        One sentence; empty where there are no ranks.
    parts : list of (caption, table)
        For print.
    """

    means: DataFrame
    ranks: DataFrame | None
    warnings: list[str]
    finding: str
    parts: Parts


def rank_estimators(
    scores: DataFrame, *, scorer: str, baseline: str | None = None, alpha: float = 0.05
) -> Ranks:
    """Return average ranks over data sets, Friedman's test, Nemenyi's differences, Holm's comparisons.

    An estimator without a mean on any data set is left out, then every data set on which one has none.

    Parameters
    ----------
    scores : DataFrame
        The table ``scores.csv`` of several data sets.
    scorer : str
        "error", where less is better, or a scorer, of which more is.
    baseline : str, optional
        What the others are compared with by Holm's procedure; the first estimator by default.
    alpha : float
    """
    means, warnings = mean_scores(scores)
    kept, left_out = _complete(means)
    warnings += left_out
    title = (
        f"Mean {score_words(scorer)} in 5x2cv over all seeds, of each estimator on each data set. {WHY_MEANS}"
    )
    parts: Parts = [(title, means.reset_index())]
    if min(kept.shape) < 2:
        warnings.append("There are no ranks: at least two data sets and two estimators with means are needed")
        return Ranks(means, None, warnings, "", parts)
    chosen = pick_baseline(baseline, list(kept.columns))
    if baseline not in (None, chosen):
        warnings.append(f"{baseline} has no ranks; {chosen} stands in for the baseline over the data sets")
    tables = rank_tables(kept, baseline=chosen, higher_is_better=scorer != "error", alpha=alpha)
    ranks = _with_comparisons(tables, chosen)
    warnings += _few(*kept.shape)
    parts += [(_caption(ranks, chosen), _shown(ranks)), ("Friedman's test", friedman_table(tables.friedman))]
    return Ranks(means, ranks, warnings, _finding(ranks, chosen, scorer), parts)


def write_ranks(folder: Path, found: Ranks) -> None:
    """Write ``mean_scores.csv``, and ``ranks.csv`` where there are ranks, with the text of both."""
    write_table(found.means.reset_index(), folder / "mean_scores.csv")
    if found.ranks is not None:
        write_table(found.ranks, folder / "ranks.csv")
    write_tables(folder, "ranks", found.parts)


def mean_scores(scores: DataFrame) -> tuple[DataFrame, list[str]]:
    """Return mean scores in 5x2cv, a row a data set and a column an estimator, and what is to be said.

    Parameters
    ----------
    scores : DataFrame
        The table ``scores.csv`` of several data sets.
    """
    own = scores[scores["design"] == "five_by_two"]
    means = own.pivot(index="data", columns="estimator", values="mean").round(DIGITS)
    means = means.loc[own["data"].unique(), own["estimator"].unique()].rename_axis(columns=None)
    columns = ["estimator", "data", "n_seeds", "n_missing"]
    some = own.loc[(own["n_missing"] > 0) & own["mean"].notna(), columns]
    notes = [
        f"{name} on {data}: its mean is over {n - lost} of {n} seeds; the ranks take it as it is"
        for name, data, n, lost in some.itertuples(index=False)
    ]
    return means, notes


def _complete(means: DataFrame) -> tuple[DataFrame, list[str]]:
    """Return the means without estimators that have none, then without data sets that lack one."""
    nowhere = means.columns[means.isna().all()]
    notes = [f"{name} has no score on any data set and is left out of the ranks" for name in nowhere]
    rest = means.drop(columns=nowhere)
    for name, row in rest[rest.isna().any(axis=1)].iterrows():
        lacking = ", ".join(str(estimator) for estimator in row.index[row.isna()])
        notes.append(f"{name} is left out of the ranks: no score of {lacking}")
    return rest.dropna(), notes


def _with_comparisons(tables: RankTables, baseline: str) -> DataFrame:
    """Return the ranks with Friedman's test and each estimator's comparison with the baseline."""
    overall = tables.friedman
    pairs = tables.pairs.rename(columns={"algorithm_a": "algorithm"}).drop(columns="algorithm_b")
    ranks = tables.ranks.assign(
        friedman_f=overall.f, chi_square=overall.chi_square_ties, chi_square_pvalue=overall.pvalue_ties
    ).merge(pairs, on="algorithm", how="left")
    ranks["verdict"] = [
        BASELINE if name == baseline else OPEN if not differs else BETTER if gap < 0 else WORSE
        for name, gap, differs in ranks[["algorithm", "rank_difference", "differs"]].itertuples(index=False)
    ]
    return ranks.drop(columns="differs")


def _few(n: int, k: int) -> list[str]:
    if n > MANY_DATA_SETS and k > MANY_ALGORITHMS:
        return []
    return [
        f"{n} data sets and {k} estimators are few: Friedman's chi-square is trusted for more than "
        f"{MANY_DATA_SETS} data sets and more than {MANY_ALGORITHMS} algorithms (Demsar 2006), and Nemenyi's "
        "and Holm's p-values rest on the same approximation"
    ]


def _caption(ranks: DataFrame, baseline: str) -> str:
    first = ranks.iloc[0]
    return (
        f"Average ranks over {first['n_datasets']} data sets, 1 is best. Two estimators differ by Nemenyi's "
        f"test where their ranks are at least {first['critical_difference']:.3f} apart (level "
        f"{first['alpha']:g}); p by Holm and p by Nemenyi are of the comparison with {baseline}, the verdict "
        "is Holm's. Ranks depend on which estimators take part."
    )


def _shown(ranks: DataFrame) -> DataFrame:
    names = {
        "algorithm": "estimator", "average_rank": "average rank", "mean_score": "mean of the means",
        "rank_difference": "rank difference", "z": "z", "pvalue": "p", "pvalue_holm": "p (Holm)",
        "pvalue_nemenyi": "p (Nemenyi)", "verdict": "verdict",
    }  # fmt: skip
    return ranks[list(names)].rename(columns=names)


def _finding(ranks: DataFrame, baseline: str, scorer: str) -> str:
    first = ranks.iloc[0]
    listed = ", ".join(
        f"{name} {rank:.2f}" for name, rank in zip(ranks["algorithm"], ranks["average_rank"], strict=True)
    )
    verdict = "the estimators differ" if first["friedman_pvalue"] <= first["alpha"] else "no difference shown"
    apart = [
        f"{name} is {word}"
        for name, word in zip(ranks["algorithm"], ranks["verdict"], strict=True)
        if word in (BETTER, WORSE)
    ]
    f = "infinite" if np.isinf(first["friedman_f"]) else f"{first['friedman_f']:.2f}"
    return (
        f"Over {first['n_datasets']} data sets (mean {score_words(scorer)} in 5x2cv) the average ranks are "
        f"{listed}; Friedman's chi-square {first['chi_square']:.2f} (p = {first['chi_square_pvalue']:.3g}), "
        f"Iman and Davenport's F {f} (p = {first['friedman_pvalue']:.3g}): {verdict}; Nemenyi's critical "
        f"difference {first['critical_difference']:.2f} parts {', '.join(_parted(ranks)) or 'no pair'}; "
        f"against {baseline}, after Holm, {', '.join(apart) or 'none differs'}"
    )


def _parted(ranks: DataFrame) -> list[str]:
    """Return the pairs that differ by Nemenyi's test."""
    places = zip(ranks["algorithm"], ranks["average_rank"], strict=True)
    critical = ranks["critical_difference"].iloc[0]
    pairs = itertools.combinations(places, 2)  # best rank first
    return [f"{a} and {b}" for (a, low), (b, high) in pairs if high - low >= critical]
