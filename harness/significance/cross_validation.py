"""Tests for two learning algorithms trained several times: 5x2cv, resampled, k-fold and corrected t."""

from numbers import Real

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import fdtrc, stdtr

from harness.errors import require
from harness.measures import Bools, Floats
from harness.significance.result import TestResult, settle_degenerate
from harness.significance.t_tests import ROUNDING, as_finite, as_samples, one_sample


def five_by_two_t(d: ArrayLike, *, degenerate: str = "accept") -> TestResult:
    """5x2cv paired t test of Dietterich.

    Null hypothesis: on a training set of half the size of the data, the two algorithms have the
    same expected score. Approximate: ``t = d_1^(1) / sqrt(sum s_i^2 / 5)`` is compared with Student's t of 5
    degrees of freedom, two-sided; ``s_i^2`` is the variance of the two differences of repetition i.
    Only one of the ten differences is in the numerator, so the order of the halves matters;
    :func:`five_by_two_f` uses all.

    `d`, shape (..., 5, 2), is the score of A minus that of B: five random halvings of the data, each half
    tested once. `statistic` is t, with the sign of A minus B. Degenerate, with t = 0, where all ``s_i^2`` are
    0, also if the differences are not 0.

    References
    ----------
    Dietterich (1998), Approximate statistical tests for comparing supervised classification learning
    algorithms, Neural Computation 10, 1895-1923, section 3.5.

    Examples
    --------
    >>> d = np.array([[24, 26], [26, 20], [25, 33], [24, 25], [24, 26]]) / 75
    >>> result = five_by_two_t(d)
    >>> round(float(result.statistic), 3), round(float(result.pvalue), 5)
    (7.269, 0.00077)
    """
    values, spread, constant = _ten_differences(d)
    t = np.where(constant, 0.0, values[..., 0, 0] / np.sqrt(spread / 5))
    return settle_degenerate(2 * stdtr(5, -np.abs(t)), t, constant, degenerate)


def five_by_two_f(d: ArrayLike, *, degenerate: str = "accept") -> TestResult:
    """Alpaydin's combined 5x2cv F test.

    Null hypothesis: as in :func:`five_by_two_t`. Approximate: ``F = sum d^2 / (2 sum s_i^2)`` over all ten
    differences is compared with the upper tail of F(10, 5).

    `statistic` is F, which has no sign; 0 where degenerate.

    References
    ----------
    Alpaydin (1999), Combined 5x2cv F test for comparing supervised classification learning algorithms,
    Neural Computation 11, 1885-1892, eq. 3.

    Examples
    --------
    >>> d = np.array([[24, 26], [26, 20], [25, 33], [24, 25], [24, 26]]) / 75
    >>> result = five_by_two_f(d)
    >>> round(float(result.statistic), 3), round(float(result.pvalue), 6)
    (59.587, 0.000145)
    """
    values, spread, constant = _ten_differences(d)
    f = np.where(constant, 0.0, (values**2).sum(axis=(-2, -1)) / (2 * spread))
    return settle_degenerate(fdtrc(10, 5, f), f, constant, degenerate)


def resampled_t(d: ArrayLike, *, degenerate: str = "accept") -> TestResult:
    """Resampled paired t test: r random splits into training and test set, taken as independent.

    Null hypothesis: the two algorithms have the same expected score. ``t = mean(d) / sqrt(s^2 / r)``,
    Student's t of r - 1 degrees of freedom, two-sided. **Not to be relied on**: the splits share most of
    their documents, s^2 / r is far too small, and the size at the 5 % level passes .5. It is here to show
    that; see :func:`corrected_resampled_t`.

    `d`, shape (..., r), is the score of A minus that of B in each of the r >= 2 splits. `statistic` is t,
    with the sign of A minus B. Degenerate, with t = 0, where all differences are equal, also if not 0.

    References
    ----------
    Dietterich (1998), Neural Computation 10, 1895-1923, section 3.3.

    Examples
    --------
    >>> round(float(resampled_t([0, 0.1, 0.4, -0.1, 0.1]).pvalue), 4)
    0.298
    """
    d = as_samples(d, "d", "splits")
    return one_sample(d, 1 / d.shape[-1], degenerate)


def kfold_t(d: ArrayLike, *, degenerate: str = "accept") -> TestResult:
    """k-fold cross-validated paired t test: the folds are taken as independent.

    Null hypothesis and formula are those of :func:`resampled_t`, with the k >= 2 folds as its splits. Test
    sets are disjoint but training sets overlap, so the level is not guaranteed; where training matters it
    tends to be liberal.

    References
    ----------
    Dietterich (1998), Neural Computation 10, 1895-1923, section 3.4.

    Examples
    --------
    >>> round(float(kfold_t([0, 0.1, 0.4, -0.1, 0.1]).statistic), 4)
    1.1952
    """
    return resampled_t(d, degenerate=degenerate)


def corrected_resampled_t(
    d: ArrayLike, n_train: float, n_test: float, *, degenerate: str = "accept"
) -> TestResult:
    """Corrected resampled t test of Nadeau and Bengio: the splits' overlap widens the variance.

    Null hypothesis: on a training set of `n_train` documents the two algorithms have the same expected score.
    Approximate: ``t = mean(d) / sqrt((1/r + n_test/n_train) s^2)``, Student's t of r - 1 degrees of freedom,
    two-sided. For k folds n_test / n_train = 1 / (k - 1).

    `n_train` and `n_test` are documents of a split (their mean, where splits differ), > 0; all else is as in
    :func:`resampled_t`.

    References
    ----------
    Nadeau & Bengio (2003), Inference for the generalization error, Machine Learning 52, 239-281, section 4.

    Examples
    --------
    >>> result = corrected_resampled_t([0, 0.1, 0.4, -0.1, 0.1], n_train=80, n_test=20)
    >>> round(float(result.statistic), 4), round(float(result.pvalue), 4)
    (0.7968, 0.4702)
    """
    for name, value in (("n_train", n_train), ("n_test", n_test)):
        good = isinstance(value, Real) and not isinstance(value, bool) and 0 < value < np.inf
        require(good, f"{name}: {value!r} is not allowed; a finite number > 0 is")
    d = as_samples(d, "d", "splits")
    return one_sample(d, 1 / d.shape[-1] + n_test / n_train, degenerate)


def _ten_differences(d: ArrayLike) -> tuple[Floats, Floats, Bools]:
    """Return the differences, ``sum s_i^2`` over the repetitions, 1 where it is 0, and where that is."""
    values = as_finite(d, "d")
    require(values.shape[-2:] == (5, 2), f"d: shape {values.shape} is not allowed; (..., 5, 2) is")
    spread = ((values[..., 0] - values[..., 1]) ** 2).sum(axis=-1) / 2
    constant = spread <= ROUNDING * (values**2).max(axis=(-2, -1))
    return values, np.where(constant, 1.0, spread), constant
