"""Two one-sided tests (TOST) that two classifiers are the same to within a margin."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from harness.significance.result import TestResult, as_counts, settle_degenerate
from harness.significance.wald import estimate


def equivalence(counts: ArrayLike, measure: str, margin: float, **costs: float) -> TestResult:
    """Test whether a measure of A and of B differ by less than a margin (TOST).

    Null hypothesis: **|d| >= margin** in the population, d the measure of A minus that of B. A rejection
    says that the classifiers are equivalent to within the margin; a difference test that does not
    reject says no such thing. Asymptotic: both one-sided hypotheses d <= -margin and d >= margin must be
    rejected, with the paired delta-method standard error of :func:`harness.significance.wald.wald`, so
    ``p = 1 - Phi((margin - |d|) / se)``. It is ``p <= alpha`` where the Wald interval of level 1 - 2 alpha
    lies within the margin.

    Parameters
    ----------
    counts : int array, shape (..., 8)
        Joint outcomes e1..e8 of each evaluation set.
    measure : {"f1", "error", "precision", "recall", "dcf", "balanced_error"}
        What is compared.
    margin : float
        The least difference that matters, in units of the measure, > 0. It is to be chosen before looking.
    **costs : float
        For ``"dcf"``: cost_fn, cost_fp and prior as :func:`harness.measures.dcf_difference` takes them.

    Returns
    -------
    TestResult
        Arrays of shape (...). `statistic` is ``(margin - |d|) / se``, which has no direction: positive where
        the observed difference lies within the margin. Sets with se = 0 are degenerate and have p = 1 and
        statistic 0: a set on which two classifiers never differ does not show how seldom they do.

    Raises
    ------
    ValueError
        If a count is negative or fractional, the shape is wrong, `margin` is not above 0, or there is no such
        measure or cost.

    References
    ----------
    Schuirmann (1987), Journal of Pharmacokinetics and Biopharmaceutics 15, 657-680.

    Examples
    --------
    >>> counts = [300, 10, 12, 30, 20, 14, 12, 602]
    >>> [round(float(equivalence(counts, "error", margin).pvalue), 4) for margin in (0.02, 0.003)]
    [0.0105, 0.5574]
    """
    if isinstance(margin, bool) or not (np.isfinite(margin) and margin > 0):
        raise ValueError(f"margin: {margin!r} is not allowed; a finite number > 0 is")
    d, deviation = estimate(as_counts(counts), measure, **costs)
    constant = deviation == 0
    z = np.where(constant, 0.0, (margin - np.abs(d)) / np.where(constant, 1.0, deviation))
    return settle_degenerate(ndtr(-z), z, constant, "accept")
