"""Two-sample test of a measure that ignores the pairing of A and B, to show what pairing buys."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harness.significance.proportion import two_sided
from harness.significance.result import TestResult, as_counts, check_choice, settle_degenerate
from harness.significance.wald import estimate

MEASURES = ("f1", "error", "precision", "recall")


def unpaired(counts: ArrayLike, measure: str, *, degenerate: str = "accept") -> TestResult:
    """Two-sample z test of a measure, as if A and B had been evaluated on different documents.

    Null hypothesis: the measure of A equals that of B in the population. Asymptotic:
    ``z = d / sqrt(var_A + var_B)`` is compared with the standard normal distribution, where var_A is the
    delta-method variance of A's own measure, ``var_A = (1/N) sum p_i psi_A,i^2``, and var_B alike. For
    the error that is the *unpooled* variance ``(C_A (1 - C_A) + C_B (1 - C_B)) / N``;
    :func:`harness.significance.proportion.proportion` pools the two error rates instead. The
    covariance, which :func:`harness.significance.wald.wald` takes off, is left out: on common
    documents the test is conservative, the more so the closer the classifiers.

    Parameters
    ----------
    counts : int array, shape (..., 8)
        Joint outcomes e1..e8 of each evaluation set.
    measure : {"f1", "error", "precision", "recall"}
        What is compared. (For detection costs see ``dcf(variance="independent")``.)
    degenerate : {"accept", "reject"}
        Verdict where var_A + var_B is 0 (p = 1 or p = 0). A set without a discordant document that counts
        for the measure has z = 0 and p = 1 under either choice, and is marked degenerate too.

    Returns
    -------
    TestResult
        Arrays of shape (...). `statistic` is z, with the sign of A minus B; 0 where degenerate.

    Raises
    ------
    ValueError
        If a count is negative or fractional, the shape is wrong, or `measure` or `degenerate` is unknown.

    References
    ----------
    Dietterich (1998), Neural Computation 10, 1895-1923, section 3.2, for the error; Goutte & Gaussier
    (2005), ECIR, for F1 as if on different documents; the influences are those of
    :func:`harness.measures.influence`.

    Examples
    --------
    >>> counts = [20, 2, 9, 3, 4, 6, 5, 951]
    >>> result = unpaired(counts, "f1")
    >>> round(float(result.statistic), 4), round(float(result.pvalue), 4)
    (1.6497, 0.099)
    """
    check_choice("measure", measure, MEASURES)
    cells = as_counts(counts)
    d, paired = estimate(cells, measure)
    variance = _variance(cells, measure, a=True) + _variance(cells, measure, a=False)
    undefined = variance == 0
    z = np.where(undefined, 0.0, d / np.sqrt(np.where(undefined, 1.0, variance)))
    result = settle_degenerate(two_sided(z), z, undefined, degenerate)
    return result._replace(degenerate=np.asarray(undefined | ((d == 0) & (paired == 0))))


def _variance(cells: NDArray[np.int64], measure: str, *, a: bool) -> NDArray[np.float64]:
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
    return variance * (2 - share) if measure == "f1" else variance
