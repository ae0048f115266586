"""Paired Wald test: a measure's difference over its delta-method standard error, for every measure."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harness.measures import A, B, check_measure, difference, influence
from harness.significance.keep_last import keep_last
from harness.significance.proportion import two_sided
from harness.significance.result import TestResult, as_counts, settle_degenerate

Floats = NDArray[np.float64]

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

    Parameters
    ----------
    counts : int array, shape (..., 8)
        Joint outcomes e1..e8 of each evaluation set.
    measure : {"f1", "error", "precision", "recall", "dcf", "balanced_error"}
        What is compared.
    cost_fn, cost_fp, prior : float, optional
        For ``"dcf"`` alone: costs of a missed positive and of a false alarm, and the probability of a
        positive where the classifiers will be used; 1, 1 and 1/2 unless given.
    degenerate : {"accept", "reject"}
        Verdict (p = 1 or p = 0) where se is 0: no discordant document that the measure counts, no true
        positive (F1), no positive (recall), or a difference other than 0 without spread, as when A finds
        every positive, B none, and A raises no false alarm (F1 is 1 and 0); and for the precision where A
        or B decides for no document, so that its precision is 0/0.

    Returns
    -------
    TestResult
        Arrays of shape (...). `statistic` is z, with the sign of A minus B; 0 where degenerate.

    Raises
    ------
    ValueError
        If a count is negative or fractional, the shape is wrong, there is no such measure, or a cost is
        out of range or given for a measure that has none.

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
    d, deviation = estimate(cells, measure, **costs)
    constant = deviation == 0
    if measure == "precision":  # 0/0 is told as 0, which is no measurement of it
        constant |= (cells @ A == 0) | (cells @ B == 0)
    z = np.where(constant, 0.0, d / np.where(constant, 1.0, deviation))
    return settle_degenerate(two_sided(z), z, constant, degenerate)


def estimate(cells: NDArray[np.int64], measure: str, **costs: float) -> tuple[Any, Any]:
    """Return a measure's difference and its delta-method standard error on each set.

    Parameters
    ----------
    cells : int array, shape (..., 8)
        Counts as :func:`harness.significance.result.as_counts` returns them.
    measure : str
    **costs : float
        ``cost_fn``, ``cost_fp``, ``prior`` for ``"dcf"``.

    Returns
    -------
    d, deviation : float arrays, shape (...)
        The standard error is exactly 0 where the difference has no spread to first order.

    Raises
    ------
    ValueError
        If there is no such measure or option, or a cost is out of range.

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
def _estimate(cells: NDArray[np.int64], measure: str, named_costs: tuple[tuple[str, float], ...]) -> Any:
    costs = dict(named_costs)
    # Each set is a stack of one row, for a product of many rows at once rounds by a row's place among them.
    psi = influence(cells[..., None, :], measure, **costs)[..., 0, :]
    n = cells.sum(axis=-1)
    variance = (cells * psi**2).sum(axis=-1) / n
    constant = variance <= ROUNDING * (psi**2).max(axis=-1)
    return difference(measure, **costs)(cells), np.sqrt(np.where(constant, 0.0, variance) / n)
