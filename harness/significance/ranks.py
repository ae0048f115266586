"""Several algorithms on several data sets: Friedman's test, Nemenyi's differences, Holm and Bonferroni."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtrc, fdtrc
from scipy.stats import rankdata, studentized_range

from harness.errors import require
from harness.measures import Floats
from harness.significance.result import check_choice
from harness.significance.t_tests import as_finite


class Friedman(NamedTuple):
    """Outcome of Friedman's test.

    `average_ranks`, (n_algorithms,): 1 is best; ties share the mean of their ranks. `chi_square` is not
    corrected for ties, as in Demšar (2006); `chi_square_ties` is, as in most software. `f` is Iman and
    Davenport's, from the uncorrected chi-square; `pvalue_f` is never below the smallest value that so few
    data sets can give. `degenerate`: all algorithms tie on every data set, and all p-values are 1 (0 under
    ``"reject"``).
    """

    average_ranks: Floats
    chi_square: float
    pvalue: float
    chi_square_ties: float
    pvalue_ties: float
    f: float
    pvalue_f: float
    degenerate: bool


class Nemenyi(NamedTuple):
    """Outcome of Nemenyi's comparisons of all pairs.

    Two algorithms differ where their average ranks (1 is best) are at least `critical_difference` apart, one
    per level. `pvalues`, (n_algorithms, n_algorithms), are adjusted for the number of pairs; 1 on the
    diagonal.
    """

    average_ranks: Floats
    critical_difference: Floats
    pvalues: Floats


def friedman(scores: ArrayLike, *, higher_is_better: bool = True, degenerate: str = "accept") -> Friedman:
    """Friedman's rank test, with Iman and Davenport's less conservative F.

    Null hypothesis: all algorithms perform alike, so that every order of them on a data set is equally
    likely. Asymptotic in the number of data sets N; with k algorithms chi-square has k - 1 degrees of
    freedom, ``F = (N - 1) chi2 / (N (k - 1) - chi2)`` has k - 1 and (k - 1)(N - 1). Where all data sets give
    the same order without a tie F is infinite, and its p-value is the exact probability of that,
    ``k!^(1 - N)``. Degenerate where all algorithms tie on every data set.

    Parameters
    ----------
    scores : array_like, shape (n_datasets, n_algorithms)
        At least 2 of either. Scores tie where they are equal to the last digit: round them first.
    higher_is_better : bool
        False for error rates and other costs.

    References
    ----------
    Demšar (2006), Statistical comparisons of classifiers over multiple data sets, JMLR 7, 1-30, section
    3.2.2; Iman & Davenport (1980), Communications in Statistics A 9, 571-595.

    Examples
    --------
    >>> result = friedman([[0.9, 0.8, 0.7], [0.6, 0.5, 0.5], [0.8, 0.9, 0.6], [0.7, 0.6, 0.5]])
    >>> result.average_ranks
    array([1.25 , 1.875, 2.875])
    >>> round(result.chi_square, 3), round(result.chi_square_ties, 3), round(result.pvalue_f, 4)
    (5.375, 5.733, 0.0353)
    """
    check_choice("degenerate", degenerate, ("accept", "reject"))
    ranks = _ranks(scores, higher_is_better)
    n, k = ranks.shape
    average = ranks.mean(axis=0)
    chi_square = 12 * n / (k * (k + 1)) * ((average - (k + 1) / 2) ** 2).sum()
    # the spread of the ranks as a part of what it is without ties: 1 - sum(t^3 - t) / (N k (k^2 - 1))
    untied = ((ranks - (k + 1) / 2) ** 2).sum() / (n * k * (k**2 - 1) / 12)
    if untied == 0:
        p = 0.0 if degenerate == "reject" else 1.0
        return Friedman(average, 0.0, p, 0.0, p, 0.0, p, True)
    corrected = chi_square / untied
    rest = n * (k - 1) - chi_square
    f = (n - 1) * chi_square / rest if rest > 1e-12 * n * k else np.inf
    p, p_ties, p_f = chdtrc(k - 1, chi_square), chdtrc(k - 1, corrected), fdtrc(k - 1, (k - 1) * (n - 1), f)
    p_f = max(p_f, math.exp((1 - n) * math.lgamma(k + 1)))
    chi_square, p, corrected, p_ties, f, p_f = map(float, (chi_square, p, corrected, p_ties, f, p_f))
    return Friedman(average, chi_square, p, corrected, p_ties, f, p_f, False)


def nemenyi(
    scores: ArrayLike, alphas: ArrayLike = 0.05, *, higher_is_better: bool = True, degenerate: str = "accept"
) -> Nemenyi:
    """Nemenyi's test of all pairs of algorithms, to follow a significant :func:`friedman`.

    Null hypothesis, of each pair: the two algorithms perform alike. Asymptotic in the number of
    data sets N: the difference of average ranks over ``sqrt(k (k + 1) / (6 N))`` is compared with the
    studentized range of k algorithms and infinite degrees of freedom divided by sqrt(2), which keeps the
    probability of any false rejection among the pairs at alpha.

    Parameters
    ----------
    scores, higher_is_better
        As in :func:`friedman`.
    alphas : array_like
        Levels of the critical differences, each between 0 and 1.
    degenerate : {"accept", "reject"}
        Verdict on two algorithms that tie on every data set.

    References
    ----------
    Demšar (2006), JMLR 7, 1-30, section 3.2.2 and table 5.

    Examples
    --------
    >>> result = nemenyi(np.tile([0.9, 0.8, 0.7, 0.6], (14, 1)), alphas=[0.05, 0.1])
    >>> result.critical_difference.round(3)
    array([1.254, 1.118])
    >>> result.pvalues[0, 1:].round(3)
    array([0.17, 0.  , 0.  ])
    """
    levels = np.asarray(alphas, dtype=float)
    good = ((levels > 0) & (levels < 1)).all()
    require(good, f"alphas: {alphas!r} is not allowed; numbers between 0 and 1 are")
    check_choice("degenerate", degenerate, ("accept", "reject"))
    ranks = _ranks(scores, higher_is_better)
    n, k = ranks.shape
    unit = np.sqrt(k * (k + 1) / (6 * n)) / np.sqrt(2)
    average = ranks.mean(axis=0)
    gaps = np.abs(average[:, None] - average)
    pvalues = np.ones((k, k))
    i, j = np.triu_indices(k, 1)
    pvalues[i, j] = pvalues[j, i] = np.clip(studentized_range.sf(gaps[i, j] / unit, k, np.inf), 0, 1)
    if degenerate == "reject":
        same = (ranks[:, i] == ranks[:, j]).all(axis=0)
        pvalues[i[same], j[same]] = pvalues[j[same], i[same]] = 0.0
    return Nemenyi(average, np.asarray(studentized_range.isf(levels, k, np.inf) * unit), pvalues)


def cliques(average_ranks: ArrayLike, critical_difference: float) -> list[list[int]]:
    """Return the largest groups of algorithms no two of which differ: the bars of a critical-difference plot.

    Two algorithms differ where their `average_ranks` are at least `critical_difference` apart. Groups are
    places of algorithms, best rank first; none lies within another or consists of a single algorithm.

    Examples
    --------
    >>> cliques([3, 1, 2, 5], 1.5)
    [[1, 2], [2, 0]]
    """
    ranks = np.asarray(average_ranks, dtype=float)
    row = ranks.ndim == 1 and np.isfinite(ranks).all()
    require(row, f"average_ranks: {average_ranks!r} is not allowed; a row of finite numbers is")
    wide = critical_difference > 0
    require(wide, f"critical_difference: {critical_difference!r} is not allowed; a number > 0 is")
    order = np.argsort(ranks, kind="stable")
    found: list[list[int]] = []
    reached = 0
    for start in range(len(order)):
        end = int(np.count_nonzero(ranks[order] - ranks[order[start]] < critical_difference))
        if end > reached and end - start > 1:
            found.append(order[start:end].tolist())
        reached = max(reached, end)
    return found


def bonferroni(pvalues: ArrayLike) -> Floats:
    """Return Bonferroni's adjusted p-values: each times their number m, 1 at most.

    Null hypothesis, of each: that of its own test. Rejecting where the adjusted value is at most alpha keeps
    the probability of any false rejection at alpha, whatever the dependence. A p-value of NaN, from a test
    without a result, stays NaN, is never rejected and counts in m.

    Examples
    --------
    >>> bonferroni([0.01, 0.02, np.nan])
    array([0.03, 0.06,  nan])
    """
    p = _pvalues(pvalues)
    return np.minimum(1.0, len(p) * p)


def holm(pvalues: ArrayLike) -> Floats:
    """Return Holm's adjusted p-values, which step down and are never above Bonferroni's.

    Null hypothesis, of each: that of its own test; the same guarantee as :func:`bonferroni`. The i-th
    smallest of m is ``max over j <= i of min(1, (m - j + 1) p_(j))``; NaN comes behind all others.

    References
    ----------
    Holm (1979), Scandinavian Journal of Statistics 6, 65-70.

    Examples
    --------
    >>> holm([0.01, 0.02, np.nan])
    array([0.03, 0.04,  nan])
    """
    p = _pvalues(pvalues)
    order = np.argsort(p, kind="stable")  # NaN goes to the end
    stepped = np.maximum.accumulate(np.minimum(1.0, np.arange(len(p), 0, -1) * p[order]))
    adjusted = np.empty(len(p))
    adjusted[order] = stepped
    return np.where(np.isnan(p), np.nan, adjusted)


def _ranks(scores: ArrayLike, higher_is_better: bool) -> Floats:
    values = as_finite(scores, "scores")
    shape = f"scores: shape {values.shape} is not allowed; (n_datasets, n_algorithms), both >= 2, is"
    require(values.ndim == 2 and min(values.shape) >= 2, shape)
    return np.asarray(rankdata(-values if higher_is_better else values, axis=1))


def _pvalues(pvalues: ArrayLike) -> Floats:
    p = np.asarray(pvalues, dtype=float)
    if p.ndim != 1 or ((p < 0) | (p > 1)).any():  # to write an array into a sentence takes long
        raise ValueError(f"pvalues: {pvalues!r} is not allowed; a row of numbers from 0 to 1 or NaN is")
    return p
