"""How large a difference is, beside whether it is significant: Cohen's d and the mean difference.

Samples are arrays (..., n) of at least 2 scores; `confidence`, between 0 and 1, is that of two-sided
intervals.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtri, stdtrit
from scipy.stats import nct

from harness.errors import check_share
from harness.measures import Bools, Floats
from harness.significance.result import check_choice
from harness.significance.t_tests import VARIANCES, as_samples, is_constant

FAR = 1e4  # a t beyond which only the spread of s matters to its noncentrality


class Estimate(NamedTuple):
    """An estimate with the bounds of its confidence interval, arrays of shape (...), NaN where not defined.

    `degenerate` marks samples without spread, which do not say how uncertain the value is.
    """

    value: Floats
    low: Floats
    high: Floats
    degenerate: Bools

    def columns(self, name: str) -> dict[str, float]:
        """Return the estimate of one sample and its bounds, as columns of a table."""
        return {
            f"{name}{end}": float(part) for end, part in zip(("", "_low", "_high"), self[:3], strict=True)
        }


def cohens_d(d: ArrayLike, confidence: float = 0.95) -> Estimate:
    """Cohen's d of paired differences: their mean over their own standard deviation.

    Not to be compared with the d of independent samples (:func:`cohens_d_unpaired`), whose unit is the
    standard deviation of the scores. The interval inverts the noncentral t distribution of
    ``sqrt(n) d`` (n - 1 degrees of freedom, noncentrality sqrt(n) delta) and is exact for normal
    differences; it leaves out 0 exactly where :func:`harness.significance.t_tests.paired_t` rejects. d is
    biased away from 0: by a quarter with 5 pairs, by 9 % with 10. Where all differences are equal, also if
    they are 0, d is 0/0 or infinite: value and bounds are NaN.

    References
    ----------
    Cohen (1988), Statistical power analysis for the behavioral sciences, section 2.3.5 (his d_z);
    Cumming & Finch (2001), Educational and Psychological Measurement 61, 532-574, for the interval.

    Examples
    --------
    >>> effect = cohens_d([0.02, 0.01, 0.03, 0.00, 0.02])
    >>> [round(float(x), 3) for x in effect[:3]]
    [1.403, 0.087, 2.652]
    """
    values = as_samples(d, "d")
    n = values.shape[-1]
    constant = is_constant(values)
    sd = np.where(constant, 1.0, values.std(axis=-1, ddof=1))
    return _effect(values.mean(axis=-1) / sd, n - 1, 1 / n, confidence, constant)


def cohens_d_unpaired(a: ArrayLike, b: ArrayLike, confidence: float = 0.95) -> Estimate:
    """Cohen's d of two independent samples: the difference of means over the pooled standard deviation.

    The interval inverts the noncentral t distribution of ``d sqrt(n_a n_b / (n_a + n_b))``, of
    n_a + n_b - 2 degrees of freedom; exact for normal scores of equal variance, and so in accord with
    ``unpaired_t(variance="pooled")`` rather than with Welch's form. NaN where neither sample varies.

    References
    ----------
    Hedges & Olkin (1985), Statistical methods for meta-analysis, chapter 5.

    Examples
    --------
    >>> effect = cohens_d_unpaired([0.91, 0.92, 0.93], [0.90, 0.88, 0.92, 0.89])
    >>> [round(float(x), 3) for x in effect[:3]]
    [1.534, -0.277, 3.242]
    """
    first, second, n_a, n_b, constant = _two_samples(a, b)
    squares = (n_a - 1) * first.var(axis=-1, ddof=1) + (n_b - 1) * second.var(axis=-1, ddof=1)
    sd = np.sqrt(np.where(constant, 1.0, squares / (n_a + n_b - 2)))
    gap = first.mean(axis=-1) - second.mean(axis=-1)
    return _effect(gap / sd, n_a + n_b - 2, 1 / n_a + 1 / n_b, confidence, constant)


def mean_interval(values: ArrayLike, confidence: float = 0.95) -> Estimate:
    """Mean of a sample with its t interval; of paired differences, the mean difference.

    ``mean +- t_(n-1) s / sqrt(n)``: exact for independent normal values, asymptotic for others. The bounds
    are NaN where all values are equal.

    References
    ----------
    Student (1908), The probable error of a mean, Biometrika 6, 1-25.

    Examples
    --------
    >>> [round(float(x), 4) for x in mean_interval([0.02, 0.01, 0.03, 0.00, 0.02])[:3]]
    [0.016, 0.0018, 0.0302]
    """
    sample = as_samples(values, "values")
    n = sample.shape[-1]
    variance = sample.var(axis=-1, ddof=1) / n
    return _around(sample.mean(axis=-1), variance, np.asarray(n - 1.0), confidence, is_constant(sample))


def mean_difference_unpaired(
    a: ArrayLike, b: ArrayLike, confidence: float = 0.95, *, variance: str = "welch"
) -> Estimate:
    """Difference of the means of two independent samples, with the interval of Welch's or Student's test.

    It agrees with :func:`harness.significance.t_tests.unpaired_t` of the same `variance`, ``"welch"`` or
    ``"pooled"``. The bounds are NaN where neither sample varies.

    References
    ----------
    Welch (1947), Biometrika 34, 28-35.

    Examples
    --------
    >>> gap = mean_difference_unpaired([0.91, 0.92, 0.93], [0.90, 0.88, 0.92, 0.89])
    >>> [round(float(x), 4) for x in gap[:3]]
    [0.0225, -0.0042, 0.0492]
    """
    check_choice("variance", variance, VARIANCES)
    first, second, n_a, n_b, constant = _two_samples(a, b)
    own_a, own_b = (np.where(constant, 1.0, x.var(axis=-1, ddof=1)) for x in (first, second))
    of_a, of_b = own_a / n_a, own_b / n_b
    if variance == "pooled":
        df = np.asarray(n_a + n_b - 2.0)
        squared = ((n_a - 1) * own_a + (n_b - 1) * own_b) / df * (1 / n_a + 1 / n_b)
    else:
        squared = of_a + of_b
        df = squared**2 / (of_a**2 / (n_a - 1) + of_b**2 / (n_b - 1))
    return _around(first.mean(axis=-1) - second.mean(axis=-1), squared, df, confidence, constant)


def _two_samples(a: ArrayLike, b: ArrayLike) -> tuple[Floats, Floats, int, int, Bools]:
    """Return both samples, their sizes and where neither varies."""
    first, second = as_samples(a, "a"), as_samples(b, "b")
    return first, second, first.shape[-1], second.shape[-1], is_constant(first) & is_constant(second)


def _around(centre: Floats, squared: Floats, df: Floats, confidence: float, constant: Bools) -> Estimate:
    """Return the t interval about `centre` whose standard error has the square `squared`."""
    check_share("confidence", confidence)
    half = stdtrit(df, 0.5 + confidence / 2) * np.sqrt(squared)
    half = np.where(constant, np.nan, half)
    return Estimate(np.asarray(centre), centre - half, centre + half, constant)


def _effect(value: Floats, df: int, factor: float, confidence: float, constant: Bools) -> Estimate:
    """Return d with the interval that the noncentral t gives, where t is d over the root of `factor`."""
    check_share("confidence", confidence)
    tail = (1 - confidence) / 2
    size = np.where(constant, 0.0, np.abs(value)) / np.sqrt(factor)
    near, far = (_noncentrality(size, df, share) * np.sqrt(factor) for share in (1 - tail, tail))
    low, high = np.where(value < 0, -far, near), np.where(value < 0, -near, far)
    value, low, high = (np.where(constant, np.nan, x) for x in (value, low, high))
    return Estimate(value, low, high, constant)


def _noncentrality(t: Floats, df: int, share: float) -> Floats:
    """Return the noncentrality under which T is at most t >= 0 with probability `share`, by bisection.

    scipy's own inverse is off by 1 % in the tail where t is large, and does not end where it is huge.
    """
    at_far = t * np.sqrt(chdtri(df, share) / df)
    t = np.minimum(t, FAR)
    low = t * np.sqrt(chdtri(df, 1 - 1e-12) / df) - 10
    high = t * np.sqrt(chdtri(df, 1e-12) / df) + 10
    for _ in range(50):
        middle = (low + high) / 2
        above = nct.cdf(t, df, middle) > share
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.asarray(np.where(t < FAR, (low + high) / 2, at_far))
