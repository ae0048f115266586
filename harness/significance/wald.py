"""Tests of a measure's difference by the delta method: paired, against a margin (TOST), unpaired."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, stdtr

from harness.errors import check_choice, require
from harness.measures import A, B, Floats, Ints, check_measure, difference, influence
from harness.significance.equal_counts import keep_last
from harness.significance.result import TestResult, as_counts, discordant, settle_degenerate, z_test

UNPAIRED_MEASURES = ("f1", "error", "precision", "recall")

ROUNDING = 1e-26
"""A variance below this part of the largest squared influence is 0 but for rounding: an influence keeps some
15 digits, and a single document among 2**53 still weighs 1e-16."""


def wald(
    counts: ArrayLike,
    measure: str,
    *,
    cost_fn: float | None = None,
    cost_fp: float | None = None,
    prior: float | None = None,
    degenerate: str = "accept",
) -> TestResult:
    """Paired Wald test of a measure's difference, with the delta-method variance.

    Null hypothesis: the measure of A equals that of B in the population. Asymptotic: z = d / se is
    compared with the standard normal distribution, where ``se^2 = (1/N) sum p_i psi_i^2``, p are the
    shares of the eight cells and psi is the influence of a document on d. It keeps the pairing: documents
    on which the classifiers agree contribute little or nothing. For the error
    ``se^2 = (m/N - d^2)/N`` with m discordant documents, a little less than the m/N^2 of the Snedecor and
    Cochran test, which takes d = 0 for granted.

    On few discordant documents the test is liberal: se vanishes with them, and neither d nor se is near its
    limit yet. On populations with 1 % positives and F1 near .64 its size at the 5 % level passed 9 % at
    N = 300.

    `statistic` is z, with the sign of A minus B; 0 where degenerate. Degenerate where se is 0: no
    discordant document that the measure counts, no true positive (F1), no positive (recall), or a
    difference other than 0 without spread, as when A finds every positive, B none, and A raises no false
    alarm (F1 is 1 and 0); and for the precision where A or B decides for no document, so that its
    precision is 0/0.

    Parameters
    ----------
    measure : {"f1", "error", "precision", "recall", "dcf", "balanced_error"}
    cost_fn, cost_fp, prior : float, optional
        For ``"dcf"`` alone: costs of a missed positive and of a false alarm, and the probability of a
        positive where the classifiers will be used; 1, 1 and 1/2 unless given.

    References
    ----------
    Takahashi, Yamamoto, Kuchiba & Koyama (2022), Confidence interval for micro-averaged F1 and
    macro-averaged F1 scores, Applied Intelligence 52, 4961-4972; Wald (1943), Transactions of the AMS 54,
    426-482.

    Examples
    --------
    >>> counts = [20, 2, 9, 3, 4, 6, 5, 951]
    >>> result = wald(counts, "f1")
    >>> round(float(result.statistic), 4), round(float(result.pvalue), 4)
    (2.0136, 0.044)
    >>> round(float(wald(counts, "dcf", prior=0.1).pvalue), 4)
    0.025
    """
    options = {"cost_fn": cost_fn, "cost_fp": cost_fp, "prior": prior}
    costs = {name: value for name, value in options.items() if value is not None}
    cells = as_counts(counts)
    return z_test(*estimate(cells, measure, **costs), degenerate)


def equivalence(counts: ArrayLike, measure: str, margin: float, **costs: float) -> TestResult:
    """Test whether a measure of A and of B differ by less than a margin (TOST).

    Null hypothesis: **|d| >= margin** in the population, d the measure of A minus that of B. A rejection
    says that the classifiers are equivalent to within the margin; a difference test that does not
    reject says no such thing. Asymptotic: both one-sided hypotheses d <= -margin and d >= margin must be
    rejected, with the paired delta-method standard error of :func:`wald`, so
    ``p = 1 - Phi((margin - |d|) / se)``. It is ``p <= alpha`` where the Wald interval of level 1 - 2 alpha
    lies within the margin.

    `statistic` is ``(margin - |d|) / se``, which has no direction: positive where the observed difference
    lies within the margin. Sets with se = 0 are degenerate and have p = 1 and statistic 0: a set on which
    two classifiers never differ does not show how seldom they do.

    Parameters
    ----------
    measure : {"f1", "error", "precision", "recall", "dcf", "balanced_error"}
    margin : float
        The least difference that matters, in units of the measure, > 0. It is to be chosen before looking.
    **costs : float
        For ``"dcf"``: cost_fn, cost_fp and prior as :func:`harness.measures.dcf_difference` takes them.

    References
    ----------
    Schuirmann (1987), Journal of Pharmacokinetics and Biopharmaceutics 15, 657-680.

    Examples
    --------
    >>> counts = [300, 10, 12, 30, 20, 14, 12, 602]
    >>> [round(float(equivalence(counts, "error", margin).pvalue), 4) for margin in (0.02, 0.003)]
    [0.0105, 0.5574]
    """
    good = not isinstance(margin, bool) and 0 < margin < np.inf
    require(good, f"margin: {margin!r} is not allowed; a finite number > 0 is")
    d, deviation = estimate(as_counts(counts), measure, **costs)
    constant = deviation == 0
    z = np.where(constant, 0.0, (margin - np.abs(d)) / np.where(constant, 1.0, deviation))
    return settle_degenerate(ndtr(-z), z, constant, "accept")


def unpaired(counts: ArrayLike, measure: str, *, degenerate: str = "accept") -> TestResult:
    """Two-sample z test of a measure, as if A and B had been evaluated on different documents.

    Null hypothesis: the measure of A equals that of B in the population. Asymptotic:
    ``z = d / sqrt(var_A + var_B)`` is compared with the standard normal distribution, where var_A is the
    delta-method variance of A's own measure, ``var_A = (1/N) sum p_i psi_A,i^2``, and var_B alike. For
    the error that is the *unpooled* variance ``(C_A (1 - C_A) + C_B (1 - C_B)) / N``;
    :func:`harness.significance.proportion.proportion` pools the two error rates instead. The
    covariance, which :func:`wald` subtracts, is left out: on common documents the test is conservative, the
    more so the closer the classifiers.

    `statistic` is z, with the sign of A minus B; 0 where degenerate. Degenerate where var_A + var_B is 0.
    A set without a discordant document that counts for the measure has z = 0 and p = 1 under either
    choice, and is marked degenerate too.

    Parameters
    ----------
    measure : {"f1", "error", "precision", "recall"}
        What is compared. (For detection costs see ``dcf(variance="independent")``.)

    References
    ----------
    Dietterich (1998), Neural Computation 10, 1895-1923, section 3.2, for the error; Goutte & Gaussier
    (2005), ECIR, for F1 as if on different documents.

    Examples
    --------
    >>> counts = [20, 2, 9, 3, 4, 6, 5, 951]
    >>> result = unpaired(counts, "f1")
    >>> round(float(result.statistic), 4), round(float(result.pvalue), 4)
    (1.6497, 0.099)
    """
    check_choice("measure", measure, UNPAIRED_MEASURES)
    cells = as_counts(counts)
    d, paired = estimate(cells, measure)
    variance = _own_variance(cells, measure, a=True) + _own_variance(cells, measure, a=False)
    return z_test(d, np.sqrt(variance), degenerate, marked=(d == 0) & (paired == 0))


def _own_variance(cells: Ints, measure: str, *, a: bool) -> Floats:
    """Return the delta-method variance of one classifier's measure, 0 where the measure is 0/0.

    r (1 - r) / d for a share r of d documents; F1 (1 - F1) (2 - F1) / D with D = 2 TP + FP + FN for F1, which
    is what the squared influences (2ya - F1 (y + a)) / D of the documents sum up to.
    """
    e1, e2, e3, e4, e5, e6, e7, _ = np.moveaxis(cells, -1, 0)
    found, missed, alarms = (e1 + e3, e2 + e4, e5 + e7) if a else (e1 + e2, e3 + e4, e5 + e6)
    top, size = {
        "f1": (2 * found, 2 * found + missed + alarms),
        "error": (missed + alarms, cells.sum(axis=-1)),
        "precision": (found, found + alarms),
        "recall": (found, found + missed),
    }[measure]
    size = np.maximum(size, 1)
    share = top / size
    variance = share * (1 - share) / size
    return np.asarray(variance * (2 - share) if measure == "f1" else variance)


def estimate(cells: Ints, measure: str, **costs: float) -> tuple[Any, Any]:
    """Return a measure's difference and its delta-method standard error on each set, shape (...).

    The standard error is exactly 0 where the difference has no spread to first order, or a precision is 0/0.

    Examples
    --------
    >>> d, deviation = estimate(np.array([0, 0, 10, 0, 0, 0, 0, 90]), "error")
    >>> float(d), round(float(deviation), 6)
    (-0.1, 0.03)
    """
    check_measure(measure, **costs)
    d, deviation = _estimate(np.asarray(cells), measure, tuple(sorted(costs.items())))
    return d.copy(), deviation.copy()


@keep_last
def _estimate(cells: Ints, measure: str, named_costs: tuple[tuple[str, float], ...]) -> Any:
    costs, n = dict(named_costs), cells.sum(axis=-1)
    squares = np.moveaxis(influence(cells, measure, **costs), -1, 0) ** 2
    # summed one cell after the other, so that the other sets cannot change the rounding
    variance = sum(np.moveaxis(cells, -1, 0) * squares) / n
    constant = variance <= ROUNDING * squares.max(axis=0)
    if measure == "precision":  # one of 0/0 is reported as 0, which is no measurement of it
        constant |= (cells @ A == 0) | (cells @ B == 0)
    return difference(measure, **costs)(cells), np.sqrt(np.where(constant, 0.0, variance) / n)


def wald_margin(d: Floats, deviation: Floats, freedom: Floats | float, margin: float) -> Floats:
    """Return both p-values, (2, ...), by (d -+ margin) / deviation and Student's t; 1 without a deviation.

    Infinite degrees of freedom are the normal distribution.

    Examples
    --------
    >>> wald_margin(np.array([0.004, 0.004]), np.array([0.004, 0.0]), np.inf, 0.01).round(4).tolist()
    [[0.0002, 1.0], [0.0668, 1.0]]
    """
    constant = deviation == 0
    scale = np.where(constant, 1.0, deviation)
    tails = stdtr(freedom, np.stack([-d - margin, d - margin]) / scale)
    return np.where(constant, 1.0, tails)


def score_margin(counts: Ints, margin: float) -> Floats:
    """Return both p-values, (2, ...), for the difference of two error rates, by score tests.

    ``z = (n01 - n10 -+ N margin) / sqrt(N (2 q + margin (1 - margin)))``, q the share of items on which only
    the better system errs, fitted where the difference is the margin (Nam 1997, Biometrics 53, 1422-1430;
    Tango 1998, Statistics in Medicine 17, 891-908; Liu et al. 2002, Statistics in Medicine 21, 231-245). Its
    variance is that under the null, and not 0 where no item tells the systems apart: that too speaks against
    a difference as large as the margin.

    Examples
    --------
    >>> score_margin(np.array([43, 0, 1, 0, 0, 0, 0, 0]), 0.1).round(4)
    array([0.0438, 0.0072])
    """
    n01, n10 = (one.astype(float) for one in discordant(counts))
    n = counts.sum(axis=-1)

    def tail(worse: Floats, better: Floats) -> Floats:
        b = (worse + better) + margin * (worse - better) - 2 * n * margin
        q = (b + np.sqrt(b**2 + 8 * n * better * margin * (1 - margin))) / (4 * n)
        return np.asarray(ndtr((worse - better - n * margin) / np.sqrt(n * (2 * q + margin * (1 - margin)))))

    return np.stack([tail(n10, n01), tail(n01, n10)])
