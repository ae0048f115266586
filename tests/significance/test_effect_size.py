"""Cohen's d and mean differences: against R, statsmodels, and scipy."""

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.stats import nct, ttest_1samp, ttest_ind
from statsmodels.stats.weightstats import CompareMeans, DescrStatsW
from test_t_tests import DRUG_1, DRUG_2, of

from harness.significance.effect_size import (
    cohens_d,
    cohens_d_unpaired,
    mean_difference_unpaired,
    mean_interval,
)
from harness.significance.t_tests import paired_t, unpaired_t

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


@settings(max_examples=15)
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


@pytest.mark.parametrize("function", FUNCTIONS)
def test_bad_input_is_refused_by_name(function):
    a = np.array([0.1, 0.2, 0.4])
    for confidence in (0, 1, np.nan):
        with pytest.raises(ValueError, match="confidence: "):
            function(a, a[::-1], confidence=confidence)
    with pytest.raises(ValueError, match="nan at index"):
        function(a, np.array([0.1, np.nan, 0.2]))
    with pytest.raises(ValueError, match="shape"):
        function(a[:1], a[:1])
    with pytest.raises(ValueError, match="variance: 'equal' is not allowed"):
        mean_difference_unpaired(a, a, variance="equal")
