"""Several algorithms on several data sets: their mean scores, average ranks, and which pairs differ."""

import itertools
from typing import NamedTuple

import numpy as np
from pandas import DataFrame
from scipy.special import ndtr

from harness.compare.report_parts import TABLES, Part, records
from harness.compare.seeds import BASELINE, BETTER, OPEN, WORSE
from harness.compare.trials import ERROR
from harness.significance.ranks import Friedman, friedman, holm, nemenyi
from harness.significance.result import check_choice
from harness.writing.prose import paragraph, paragraphs
from harness.writing.report import Captioned

DIGITS = 10  # as in the CSV: what is equal there ties
MANY_DATA_SETS, MANY_ALGORITHMS = 10, 5  # Demsar (2006), section 3.2.2
SHOWN: dict[str, str] = TABLES["ranks"]


class RankTables(NamedTuple):
    """What the ranks of algorithms over data sets say.

    `ranks` has a row per algorithm, best first: algorithm, average_rank, mean_score, n_datasets,
    n_algorithms, alpha, critical_difference and friedman_pvalue (of Iman and Davenport's F). `pairs` has a
    row per pair: algorithm_a, algorithm_b, rank_difference (A minus B, negative where A is better), z,
    pvalue, pvalue_holm, pvalue_nemenyi, differs (by Nemenyi; by Holm where there is a baseline). `friedman`
    has all forms of the test.
    """

    ranks: DataFrame
    pairs: DataFrame
    friedman: Friedman


def rank_tables(
    scores: DataFrame,
    *,
    baseline: str | None = None,
    higher_is_better: bool = True,
    alpha: float = 0.05,
    degenerate: str = "accept",
) -> RankTables:
    """Return Friedman's test, average ranks and the comparison of pairs.

    With a baseline the pairs are each other algorithm against it, and Holm's procedure decides; else all
    pairs, and Nemenyi's does. ``z`` is the difference of average ranks over ``sqrt(k (k + 1) / (6 N))``. A
    pair's ranks depend on which other algorithms take part. Null hypothesis: all algorithms perform alike.

    Parameters
    ----------
    scores : DataFrame
        One row per data set, one column per algorithm, at least 2 of either.
    baseline : str, optional
    higher_is_better : bool
        False for error rates and other losses.
    alpha : float
        Level of the critical difference and of `differs`.
    degenerate : {"accept", "reject"}
        Verdict on algorithms that tie on every data set.

    Raises
    ------
    ValueError
        If an algorithm is named twice, the baseline is unknown, a score is missing, or as
        :func:`harness.significance.ranks.nemenyi`.

    References
    ----------
    Demšar (2006), JMLR 7, 1-30, section 3.2; Benavoli, Corani & Mangili (2016), JMLR 17 (5), 1-10.
    """
    names = [str(name) for name in scores.columns]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ValueError(f"scores: algorithm {twice[0]!r} is there twice; each algorithm once is allowed")
    if baseline is not None:
        check_choice("baseline", baseline, tuple(names))
    values = scores.to_numpy()
    overall = friedman(values, higher_is_better=higher_is_better, degenerate=degenerate)
    after = nemenyi(values, alpha, higher_is_better=higher_is_better, degenerate=degenerate)
    n, k = values.shape
    ranks = DataFrame({
        "algorithm": names, "average_rank": overall.average_ranks, "mean_score": values.mean(axis=0),
        "n_datasets": n, "n_algorithms": k, "alpha": alpha,
        "critical_difference": float(after.critical_difference), "friedman_pvalue": overall.pvalue_f,
    })  # fmt: skip
    i, j = np.triu_indices(k, 1)
    if baseline is not None:
        i = np.array([place for place, name in enumerate(names) if name != baseline])
        j = np.full(len(i), names.index(baseline))
    gap = overall.average_ranks[i] - overall.average_ranks[j]
    z = gap / np.sqrt(k * (k + 1) / (6 * n))
    pvalue = 2 * ndtr(-np.abs(z))
    if degenerate == "reject":
        pvalue = np.where((values[:, i] == values[:, j]).all(axis=0), 0.0, pvalue)
    pairs = DataFrame({
        "algorithm_a": np.array(names)[i], "algorithm_b": np.array(names)[j], "rank_difference": gap, "z": z,
        "pvalue": pvalue, "pvalue_holm": holm(pvalue), "pvalue_nemenyi": after.pvalues[i, j],
    })  # fmt: skip
    pairs["differs"] = pairs["pvalue_nemenyi" if baseline is None else "pvalue_holm"] <= alpha
    ordered = ranks.sort_values("average_rank", kind="stable", ignore_index=True)
    return RankTables(ordered, pairs, overall)


def friedman_table(result: Friedman) -> DataFrame:
    """Return the forms of Friedman's test, a row each: form, statistic, pvalue."""
    rows = [
        ("chi-square", result.chi_square, result.pvalue),
        ("chi-square, corrected for ties", result.chi_square_ties, result.pvalue_ties),
        ("F (Iman-Davenport)", result.f, result.pvalue_f),
    ]
    return DataFrame(rows, columns=["form", "statistic", "pvalue"])


def score_words(scorer: str) -> str:
    """Return what a score is called."""
    return "error rate" if scorer == ERROR else f"score ({scorer})"


def rank_estimators(
    scores: DataFrame, *, scorer: str, baseline: str | None = None, alpha: float = 0.05
) -> Part:
    """Return average ranks over the data sets of ``scores.csv``, and Holm's comparisons with the baseline.

    An estimator without a mean on any data set is left out, then every data set on which one has none. The
    first estimator stands in for a baseline that is not given or has no ranks.
    """
    means, warnings = mean_scores(scores)
    kept, left_out = _complete(means)
    warnings += left_out
    words, csvs = score_words(scorer), {"tables/mean_scores": means.reset_index()}
    title = paragraph("compare", "mean_scores", words=words)
    shown: list[Captioned] = [(title, csvs["tables/mean_scores"])]
    n, k = kept.shape
    if min(n, k) < 2:
        warnings.append("There are no ranks: at least two data sets and two estimators with means are needed")
        return Part({"ranks": shown}, csvs, (), warnings)
    chosen = str(baseline if baseline in kept else kept.columns[0])
    if baseline not in (None, chosen):
        warnings.append(f"{baseline} has no ranks; {chosen} stands in for the baseline over the data sets")
    if n <= MANY_DATA_SETS or k <= MANY_ALGORITHMS:
        few = {"many_data_sets": MANY_DATA_SETS, "many_algorithms": MANY_ALGORITHMS}
        warnings.append(paragraph("compare", "few_data_sets", n=n, k=k, **few))
    tables = rank_tables(kept, baseline=chosen, higher_is_better=scorer != ERROR, alpha=alpha)
    ranks = csvs["tables/ranks"] = _with_comparisons(tables, chosen)
    caption = paragraph("compare", "ranks", n=n, first=ranks.iloc[0], alpha=alpha, baseline=chosen)
    shown += [
        (caption, ranks[list(SHOWN)].rename(columns=SHOWN)),
        ("Friedman's test", friedman_table(tables.friedman)),
    ]
    return Part({"ranks": shown}, csvs, _finding(ranks, chosen, words), warnings)


def mean_scores(scores: DataFrame) -> tuple[DataFrame, list[str]]:
    """Return mean scores in 5x2cv, data sets by estimators, and notes on missing seeds."""
    own = scores[scores["design"] == "five_by_two"]
    means = own.pivot(index="data", columns="estimator", values="mean").round(DIGITS)
    means = means.loc[own["data"].unique(), own["estimator"].unique()].rename_axis(columns=None)
    notes = [
        f"{row['estimator']} on {row['data']}: its mean is over {row['n_seeds'] - row['n_missing']} of "
        f"{row['n_seeds']} seeds; the ranks take it as it is"
        for row in records(own.dropna(subset="mean"))
        if row["n_missing"]
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
    apart = ranks["pvalue_holm"] <= ranks["alpha"]
    cases = [ranks["algorithm"] == baseline, ~apart, ranks["rank_difference"] < 0]
    ranks["verdict"] = np.select(cases, [BASELINE, OPEN, BETTER], WORSE)
    return ranks.drop(columns="differs")


def _finding(ranks: DataFrame, baseline: str, words: str) -> list[str]:
    first, rows = ranks.iloc[0], ranks.to_dict("records")
    parted = [
        f"{a['algorithm']} and {b['algorithm']}"
        for a, b in itertools.combinations(rows, 2)
        if b["average_rank"] - a["average_rank"] >= first["critical_difference"]
    ]
    return paragraphs(
        "compare", "ranks_finding", first=first, rows=rows, words=words, parted=parted, baseline=baseline,
        apart=[row for row in rows if row["verdict"] in (BETTER, WORSE)],
    )  # fmt: skip
