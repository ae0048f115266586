"""Several algorithms on several data sets: their average ranks, and which pairs differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import ndtr

from harness.significance.ranks import Friedman, friedman, holm, nemenyi

if TYPE_CHECKING:
    from pandas import DataFrame


class RankTables(NamedTuple):
    """What the ranks of algorithms over data sets say.

    Attributes
    ----------
    ranks : DataFrame
        A row per algorithm, best first: algorithm, average_rank, mean_score, n_datasets, n_algorithms, alpha,
        critical_difference and the p-value of Friedman's test (friedman_pvalue: Iman and Davenport's
        F; the last five are the same in every row, so that a figure needs this table only).
    pairs : DataFrame
        A row per pair: algorithm_a, algorithm_b, rank_difference (A minus B, negative where A is better),
        z, pvalue, pvalue_holm, pvalue_nemenyi, differs (by Nemenyi; by Holm where there is a baseline).
    friedman : Friedman
        All forms of Friedman's test.
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
    pair's ranks depend on which other algorithms take part.

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
    Demšar (2006), JMLR 7, 1-30, section 3.2; Benavoli, Corani & Mangili (2016), JMLR 17 (5), 1-10, on ranks
    that depend on the other algorithms.

    Examples
    --------
    >>> import pandas as pd
    >>> scores = pd.DataFrame({"svm": [0.9, 0.8, 0.7, 0.9], "mlp": [0.8, 0.7, 0.6, 0.8]})
    >>> tables = rank_tables(scores)
    >>> tables.ranks[["algorithm", "average_rank"]].values.tolist()
    [['svm', 1.0], ['mlp', 2.0]]
    >>> round(float(tables.pairs["pvalue_nemenyi"].iloc[0]), 4)
    0.0455
    """
    import pandas as pd

    names = [str(name) for name in scores.columns]
    _check_names(names, baseline)
    values = scores.to_numpy()
    overall = friedman(values, higher_is_better=higher_is_better, degenerate=degenerate)
    after = nemenyi(values, alpha, higher_is_better=higher_is_better, degenerate=degenerate)
    n, k = values.shape
    ranks = pd.DataFrame(
        {
            "algorithm": names, "average_rank": overall.average_ranks, "mean_score": values.mean(axis=0),
            "n_datasets": n, "n_algorithms": k, "alpha": alpha,
            "critical_difference": float(after.critical_difference), "friedman_pvalue": overall.pvalue_f,
        }
    )  # fmt: skip
    i, j = _places(names, baseline)
    gap = overall.average_ranks[i] - overall.average_ranks[j]
    z = gap / np.sqrt(k * (k + 1) / (6 * n))
    pvalue = 2 * ndtr(-np.abs(z))
    if degenerate == "reject":
        pvalue = np.where((values[:, i] == values[:, j]).all(axis=0), 0.0, pvalue)
    pairs = pd.DataFrame(
        {
            "algorithm_a": np.array(names)[i], "algorithm_b": np.array(names)[j],
            "rank_difference": gap, "z": z, "pvalue": pvalue, "pvalue_holm": holm(pvalue),
            "pvalue_nemenyi": after.pvalues[i, j],
        }
    )  # fmt: skip
    pairs["differs"] = pairs["pvalue_nemenyi" if baseline is None else "pvalue_holm"] <= alpha
    ordered = ranks.sort_values("average_rank", kind="stable", ignore_index=True)
    return RankTables(ordered, pairs, overall)


def friedman_table(result: Friedman) -> DataFrame:
    """Return the forms of Friedman's test, a row each: form, statistic, pvalue.

    Examples
    --------
    >>> friedman_table(friedman([[0.9, 0.8], [0.7, 0.6], [0.5, 0.4]]))["pvalue"].round(3).tolist()
    [0.083, 0.083, 0.25]
    """
    import pandas as pd

    rows = [
        ("chi-square", result.chi_square, result.pvalue),
        ("chi-square, corrected for ties", result.chi_square_ties, result.pvalue_ties),
        ("F (Iman-Davenport)", result.f, result.pvalue_f),
    ]
    return pd.DataFrame(rows, columns=["form", "statistic", "pvalue"])


def _check_names(names: list[str], baseline: str | None) -> None:
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ValueError(f"scores: algorithm {twice[0]!r} is there twice; each algorithm once is allowed")
    if baseline is not None and baseline not in names:
        raise ValueError(f"baseline: {baseline!r} is not allowed; choose one of {', '.join(names)}")


def _places(names: list[str], baseline: str | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the places of both algorithms of each pair."""
    if baseline is None:
        return np.triu_indices(len(names), 1)
    other = np.array([place for place, name in enumerate(names) if name != baseline])
    return other, np.full(len(other), names.index(baseline))
