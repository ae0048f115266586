"""t tests and effect sizes of samples, splits and folds: against scipy, statsmodels, R, published values."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import nct, ttest_1samp, ttest_ind
from statsmodels.stats.weightstats import CompareMeans, DescrStatsW

from harness.significance.cross_validation import (
    corrected_resampled_t,
    five_by_two_f,
    five_by_two_t,
    kfold_t,
    resampled_t,
)
from harness.significance.effect_size import (
    cohens_d,
    cohens_d_unpaired,
    mean_difference_unpaired,
    mean_interval,
)
from harness.significance.t_tests import paired_differences, paired_t, unpaired_t

# Student 1908, Biometrika 6, table on p. 20: hours of sleep gained by two drugs (R's data set `sleep`)
DRUG_1 = np.array([0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0])
DRUG_2 = np.array([1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4])
# mlxtend's test suite: iris, logistic regression against a stump, seed 1 (t = 7.269, p = .001; F = 59.587)
IRIS = np.array([[24, 26], [26, 20], [25, 33], [24, 25], [24, 26]]) / 75
SPLITS = [0, 0.1, 0.4, -0.1, 0.1]
CORRECTED = partial(corrected_resampled_t, n_train=200, n_test=100)
POOLED = partial(unpaired_t, variance="pooled")
OF_SPLITS = pytest.mark.parametrize("test", [paired_t, resampled_t, kfold_t, CORRECTED])
OF_TEN = pytest.mark.parametrize("test", [five_by_two_t, five_by_two_f])


def of(shape):
    return arrays(float, shape, elements=st.integers(-20, 20).map(lambda i: i / 40))


PUBLISHED_VALUES = [
    # R 4: t.test(extra ~ group, sleep, paired=TRUE); as two samples; with var.equal=TRUE
    (paired_t(DRUG_1 - DRUG_2), -4.0621277, 0.002832890),
    (unpaired_t(DRUG_1, DRUG_2), -1.860813, 0.07939414),
    (POOLED(DRUG_1, DRUG_2), -1.860813, 0.07918671),
    (five_by_two_t(IRIS), 7.269390394, 0.0007701198372),
    (five_by_two_f(IRIS), 59.58715596, 0.0001446999517),
    # by hand: (1/5 + 20/80) s^2 = .45 x .035; t = .1 / sqrt(.01575)
    (corrected_resampled_t(SPLITS, 80, 20), 0.7968190729, 0.4701755448),
]


@pytest.mark.parametrize(("result", "statistic", "pvalue"), PUBLISHED_VALUES)
def test_published_values(result, statistic, pvalue):
    assert (result.statistic, result.pvalue) == pytest.approx((statistic, pvalue), rel=1e-6)


def test_the_t_tests_of_scipy_over_many_sets():
    generator = np.random.default_rng(0)
    a, b = generator.normal(0.2, 1, (3, 5, 9)), generator.normal(0, 2, (3, 5, 6))
    pairs = [(test(a), ttest_1samp(a, 0, axis=-1)) for test in (paired_t, resampled_t, kfold_t)]
    pairs += [
        (test(a, b), ttest_ind(a, b, axis=-1, equal_var=equal))
        for test, equal in ((unpaired_t, False), (POOLED, True))
    ]
    for result, peer in pairs:
        assert result.statistic == pytest.approx(peer.statistic, rel=1e-10)
        assert result.pvalue == pytest.approx(peer.pvalue, rel=1e-10)


def test_the_sign_of_t_is_that_of_the_first_difference():
    d = np.array(IRIS)
    d[0, 0] *= -1
    assert five_by_two_t(d).statistic < 0 < five_by_two_t(IRIS).statistic


def check_without_spread(test, d, live):
    """Degenerate, p = 1 and t = 0 everywhere but in one place; rejected by the legacy convention."""
    result, legacy = test(d), test(d, degenerate="reject")
    dead = np.arange(len(d)) != live
    assert result.degenerate.tolist() == dead.tolist()
    assert (result.pvalue[dead] == 1).all()
    assert (result.statistic[dead] == 0).all()
    assert (legacy.pvalue[dead] == 0).all()
    assert legacy.pvalue[live] == result.pvalue[live]


@OF_TEN
@pytest.mark.parametrize("value", [0.0, 0.1])
def test_ten_differences_without_spread(test, value):
    d = np.full((3, 5, 2), value)
    d[1] = IRIS
    d[2, 0, 0] += value * 1e-16  # rounding is no spread
    check_without_spread(test, d, 1)


@OF_SPLITS
@pytest.mark.parametrize("value", [0, 0.1, 0.3 - 0.2])
def test_splits_without_spread(test, value):
    check_without_spread(
        test, np.array([[value] * 7, [*[value] * 6, 1], [0.1, 0.3 - 0.2, *[0.9 - 0.8] * 5]]), 1
    )


def test_samples_without_spread():
    still, moving = np.full(5, 0.1 + 0.2), np.array([0.1, 0.2, 0.3])
    for test in (unpaired_t, POOLED):
        for other in (np.full(3, 0.3), np.full(3, 0.9)):
            result = test(still, other)
            assert (result.pvalue, result.statistic, result.degenerate) == (1, 0, True)
            assert test(still, other, degenerate="reject").pvalue == 0
        assert not test(still, moving).degenerate
    # against a constant Welch's t is the one-sample t
    assert unpaired_t(moving, still).pvalue == pytest.approx(float(paired_t(moving - 0.3).pvalue), rel=1e-9)


def test_rounding_is_no_difference():
    d = paired_differences(np.array([0.1 + 0.2, 0.7 + 0.1, 0.3]), [0.3, 0.8, 0.3])
    assert d.tolist() == [0, 0, 0]
    assert paired_t(d).pvalue == 1
    assert paired_differences([1.0, 0.0], [0.999, 1e-20]).tolist() == [1 - 0.999, -1e-20]


@given(of(10), of(7))
def test_probabilities_and_signs(a, b):
    for test in (lambda x, y: paired_t(x[..., :7] - y[..., :7]), unpaired_t, POOLED):
        result, swapped = test(a, b), test(b, a)
        assert 0 <= result.pvalue <= 1
        assert swapped.pvalue == pytest.approx(float(result.pvalue), rel=1e-12)
        assert swapped.statistic == pytest.approx(-float(result.statistic), rel=1e-12)
        assert test(np.stack([a, a]), np.stack([b, b])).pvalue.tolist() == [result.pvalue] * 2


@given(of((5, 2)), of(6))
def test_probabilities_stay_when_the_algorithms_swap(ten, splits):
    for test, d in (
        (five_by_two_t, ten), (five_by_two_f, ten), (resampled_t, splits), (kfold_t, splits),
        (CORRECTED, splits),
    ):  # fmt: skip
        result = test(d)
        assert 0 <= result.pvalue <= 1
        assert test(np.stack([d, -d])).pvalue.tolist() == [result.pvalue] * 2
    assert CORRECTED(splits).pvalue >= resampled_t(splits).pvalue


FUNCTIONS = (
    lambda a, b, **options: cohens_d(a - b, **options),
    cohens_d_unpaired,
    lambda a, b, **options: mean_interval(a - b, **options),
    mean_difference_unpaired,
)


def test_a_published_table():
    # R's package effectsize: cohens_d(extra ~ group, sleep): -0.83 [-1.74, 0.09];
    # repeated as paired: -1.28 [-2.12, -0.41]
    paired, unpaired = cohens_d(DRUG_1 - DRUG_2), cohens_d_unpaired(DRUG_1, DRUG_2)
    assert np.array(paired[:3]) == pytest.approx([-1.28, -2.12, -0.41], abs=6e-3)
    assert np.array(unpaired[:3]) == pytest.approx([-0.83, -1.74, 0.09], abs=6e-3)


def test_the_bounds_of_d_invert_the_noncentral_t():
    for d, n in ((0.3, 5), (1.4, 10), (25.0, 30), (0.05, 4000)):
        sample = np.random.default_rng(n).normal(size=n)
        sample = (sample - sample.mean()) / sample.std(ddof=1) + d
        low, high = (np.sqrt(n) * x for x in cohens_d(sample, 0.9)[1:3])
        t = np.sqrt(n) * d
        assert nct.cdf(t, n - 1, [low, high]) == pytest.approx([0.95, 0.05], abs=1e-7)
    value, low, high = (x / np.sqrt(1 / 10 + 1 / 7) for x in cohens_d_unpaired(DRUG_1, DRUG_2[:7], 0.9)[:3])
    assert nct.cdf(value, 15, [low, high]) == pytest.approx([0.95, 0.05], abs=1e-7)
    pooled = unpaired_t(DRUG_1, DRUG_2[:7], variance="pooled").statistic
    assert value == pytest.approx(float(pooled), rel=1e-12)


def test_an_effect_beyond_what_the_noncentral_t_can_give():
    sample = 1 + 1e-6 * np.array([-1.0, 0, 1, 0.5, -0.5])
    value, low, high, degenerate = cohens_d(sample)
    assert low < value < high < 2 * value
    assert not degenerate
    assert cohens_d(-sample)[1:3] == (-high, -low)


def test_means_are_those_of_scipy_and_statsmodels():
    peer = ttest_1samp(DRUG_1, 0).confidence_interval(0.9)
    assert np.array(mean_interval(DRUG_1, 0.9)[1:3]) == pytest.approx(list(peer), rel=1e-10)
    means = CompareMeans(DescrStatsW(DRUG_1), DescrStatsW(DRUG_2[:7]))
    for variance, name in (("welch", "unequal"), ("pooled", "pooled")):
        interval = mean_difference_unpaired(DRUG_1, DRUG_2[:7], variance=variance)[1:3]
        assert np.array(interval) == pytest.approx(means.tconfint_diff(usevar=name), rel=1e-10)
        peer = ttest_ind(DRUG_1, DRUG_2[:7], equal_var=variance == "pooled").confidence_interval()
        assert np.array(interval) == pytest.approx(list(peer), rel=1e-10)


@pytest.mark.parametrize("value", [0.0, 0.1])
def test_no_spread_has_no_effect_size(value):
    still = np.full((2, 5), value)
    still[1] = [0.1, 0.2, 0.3, 0.4, 0.5]
    for estimate in (cohens_d(still), cohens_d_unpaired(still, np.full(3, 0.3))):
        assert estimate.degenerate.tolist() == [True, False]
        assert np.isnan([x[0] for x in estimate[:3]]).all()
        assert np.isfinite([x[1] for x in estimate[:3]]).all()
    for estimate in (mean_interval(still), mean_difference_unpaired(still, np.full(3, 0.0))):
        assert estimate.degenerate.tolist() == [True, False]
        assert estimate.value[0] == pytest.approx(value)
        assert np.isnan([estimate.low[0], estimate.high[0]]).all()


@settings(max_examples=10)
@given(of(6), of(6))
def test_intervals_and_tests_say_the_same(a, b):
    paired, welch = paired_t(a - b), unpaired_t(a, b)
    pooled = unpaired_t(a, b, variance="pooled")
    for estimate, result in (
        (cohens_d(a - b), paired),
        (mean_interval(a - b), paired),
        (cohens_d_unpaired(a, b), pooled),
        (mean_difference_unpaired(a, b, variance="pooled"), pooled),
        (mean_difference_unpaired(a, b), welch),
    ):
        assert estimate.degenerate == result.degenerate
        if not result.degenerate and abs(result.pvalue - 0.05) > 1e-9:
            assert estimate.low < estimate.value < estimate.high
            assert (estimate.low > 0 or estimate.high < 0) == (result.pvalue <= 0.05)
    for function in FUNCTIONS:
        one, other = function(a, b), function(b, a)
        assert one.value == pytest.approx(-float(other.value), rel=1e-9, abs=1e-12, nan_ok=True)
        assert one.low == pytest.approx(-float(other.high), rel=1e-9, abs=1e-12, nan_ok=True)
