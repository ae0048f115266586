"""Student's and Welch's t tests on scores or losses, and what the other t tests share."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr
from scipy.stats import ttest_ind_from_stats

from harness.errors import require
from harness.measures import Bools, Floats
from harness.significance.result import TestResult, check_choice, settle_degenerate

VARIANCES = ("welch", "pooled")

ROUNDING = 1e-20
"""A variance below this part of the largest squared value is 0 but for rounding: a difference of two
scores near 1 keeps 16 decimals, so one of a millionth keeps 10 digits. A real spread is far wider: error
rates on n documents that differ do so by 1/n at least."""


def paired_t(d: ArrayLike, *, degenerate: str = "accept") -> TestResult:
    """Paired t test on the differences of A and B, one for each document or seed.

    Null hypothesis: the differences have mean 0. Exact where they are independent and normal, asymptotic
    otherwise: ``t = mean(d) / sqrt(s^2 / n)`` is compared with Student's t of n - 1 degrees of freedom,
    two-sided. The losses of fixed classifiers on the documents of one test set are independent, and so are
    the scores of seeds that draw everything anew; splits of one data set are not (see
    :func:`harness.significance.cross_validation.corrected_resampled_t`).

    `d`, shape (..., n) with n >= 2, is the score (or loss) of A minus that of B; :func:`paired_differences`
    makes it. `statistic` is t, with the sign of A minus B. Degenerate, with t = 0, where all differences are
    equal, also if they are not 0.

    References
    ----------
    Student (1908), The probable error of a mean, Biometrika 6, 1-25.

    Examples
    --------
    >>> result = paired_t([0.02, 0.01, 0.03, 0.00, 0.02])
    >>> round(float(result.statistic), 4), round(float(result.pvalue), 4)
    (3.1379, 0.0349)
    """
    values = as_samples(d, "d")
    return one_sample(values, 1 / values.shape[-1], degenerate)


def unpaired_t(
    a: ArrayLike, b: ArrayLike, *, variance: str = "welch", degenerate: str = "accept"
) -> TestResult:
    """Welch's or Student's t test of two independent samples, which share no seed, split or document.

    Null hypothesis: both have the same mean. Student's form, which pools the variances, is exact for
    normal scores of equal variance; Welch's does without equal variances, its degrees of freedom
    being Satterthwaite's approximation. Both are two-sided and asymptotic for other scores.

    `statistic` is t, with the sign of A minus B; 0 where degenerate. Degenerate where neither sample
    varies, also if their means differ.

    Parameters
    ----------
    a, b : array_like, shapes (..., n_a) and (..., n_b)
        At least 2 scores or losses of each algorithm; leading dimensions must broadcast.
    variance : {"welch", "pooled"}
        Welch's or Student's form.

    References
    ----------
    Welch (1947), The generalization of Student's problem when several different population variances
    are involved, Biometrika 34, 28-35. Computed by ``scipy.stats.ttest_ind_from_stats``.

    Examples
    --------
    >>> result = unpaired_t([0.91, 0.92, 0.93], [0.90, 0.88, 0.92, 0.89])
    >>> round(float(result.statistic), 4), round(float(result.pvalue), 4)
    (2.1828, 0.0825)
    """
    check_choice("variance", variance, VARIANCES)
    first, second = as_samples(a, "a"), as_samples(b, "b")
    sd_a, sd_b = (np.where(is_constant(x), 0.0, x.std(axis=-1, ddof=1)) for x in (first, second))
    constant = (sd_a == 0) & (sd_b == 0)
    samples = [
        (x.mean(axis=-1), np.where(constant, 1.0, sd), x.shape[-1])
        for x, sd in ((first, sd_a), (second, sd_b))
    ]
    t, pvalue = ttest_ind_from_stats(*samples[0], *samples[1], equal_var=variance == "pooled")
    return settle_degenerate(pvalue, np.where(constant, 0.0, t), constant, degenerate)


def paired_differences(a: ArrayLike, b: ArrayLike) -> Floats:
    """Return a - b, exactly 0 where the two agree to 12 digits: a sum in another order is no difference.

    Examples
    --------
    >>> paired_differences([0.1 + 0.2, 0.5], [0.3, 0.25])
    array([0.  , 0.25])
    """
    first, second = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    d = first - second
    return np.where(np.abs(d) <= 1e-12 * np.maximum(np.abs(first), np.abs(second)), 0.0, d)


def one_sample(d: Floats, factor: float, degenerate: str) -> TestResult:
    """Return the t test of mean 0 in which the mean has variance `factor` times s^2."""
    constant = is_constant(d)
    variance = np.where(constant, 1.0, d.var(axis=-1, ddof=1))
    t = np.where(constant, 0.0, d.mean(axis=-1) / np.sqrt(factor * variance))
    return settle_degenerate(2 * stdtr(d.shape[-1] - 1, -np.abs(t)), t, constant, degenerate)


def is_constant(values: Floats) -> Bools:
    """Return which samples have no spread but that of rounding."""
    return np.asarray(values.var(axis=-1, ddof=1) <= ROUNDING * (values**2).max(axis=-1))


def as_samples(values: ArrayLike, name: str, unit: str = "values") -> Floats:
    """Return `values` as floats (..., n) with n >= 2, or raise ValueError naming the argument."""
    array = as_finite(values, name)
    enough = array.ndim and array.shape[-1] >= 2
    require(enough, f"{name}: shape {array.shape} is not allowed; at least 2 {unit} on the last axis are")
    return array


def as_finite(values: ArrayLike, name: str) -> Floats:
    """Return `values` as floats, or raise ValueError naming the argument and what is not a number."""
    array = np.asarray(values)
    require(array.dtype.kind in "iuf", f"{name}: type {array.dtype} is not allowed; numbers are")
    bad = ~np.isfinite(array)
    if bad.any():
        where = tuple(np.argwhere(bad)[0].tolist())
        raise ValueError(f"{name}: {array[where]!s} at index {where} is not allowed; finite numbers are")
    return array.astype(float)
