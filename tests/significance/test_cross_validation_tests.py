"""5x2cv, resampled, k-fold and corrected t: against published numbers, scipy and their null law."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import ttest_1samp

from harness.significance.cross_validation import (
    corrected_resampled_t,
    five_by_two_f,
    five_by_two_t,
    kfold_t,
    resampled_t,
)

# mlxtend's test suite: iris, logistic regression against a stump, seed 1 (t = 7.269, p = .001; F = 59.587)
IRIS = np.array([[24, 26], [26, 20], [25, 33], [24, 25], [24, 26]]) / 75
SPLITS = [0, 0.1, 0.4, -0.1, 0.1]
tens = arrays(float, (5, 2), elements=st.integers(-20, 20).map(lambda i: i / 40))
rows = arrays(float, 6, elements=st.integers(-20, 20).map(lambda i: i / 40))


def corrected(d, **options):
    return corrected_resampled_t(d, 200, 100, **options)


def test_five_by_two_of_mlxtend():
    t, f = five_by_two_t(IRIS), five_by_two_f(IRIS)
    assert (t.statistic, t.pvalue) == pytest.approx((7.269390394, 0.0007701198372), rel=1e-8)
    assert (f.statistic, f.pvalue) == pytest.approx((59.58715596, 0.0001446999517), rel=1e-8)


def test_the_sign_of_t_is_that_of_the_first_difference():
    d = np.array(IRIS)
    d[0, 0] *= -1
    assert five_by_two_t(d).statistic < 0 < five_by_two_t(IRIS).statistic
    assert five_by_two_t(-IRIS).pvalue == five_by_two_t(IRIS).pvalue


@pytest.mark.parametrize("test", [resampled_t, kfold_t])
def test_the_naive_tests_are_the_t_test_of_scipy(test):
    d = np.random.default_rng(0).normal(0.1, 1, (7, 12))
    peer = ttest_1samp(d, 0, axis=1)
    assert test(d).statistic == pytest.approx(peer.statistic, rel=1e-12)
    assert test(d).pvalue == pytest.approx(peer.pvalue, rel=1e-10)


def test_corrected_resampled_t_by_hand():
    # (1/5 + 20/80) s^2 = .45 x .035; t = .1 / sqrt(.01575)
    result = corrected_resampled_t(SPLITS, 80, 20)
    assert (result.statistic, result.pvalue) == pytest.approx((0.7968190729, 0.4701755448), rel=1e-8)


@pytest.mark.parametrize("test", [five_by_two_t, five_by_two_f])
@pytest.mark.parametrize("value", [0.0, 0.1])
def test_five_by_two_without_spread(test, value):
    d = np.full((3, 5, 2), value)
    d[1] = IRIS
    d[2, 0, 0] += value * 1e-16  # rounding is no spread
    result = test(d)
    assert result.degenerate.tolist() == [True, False, True]
    assert result.pvalue[[0, 2]].tolist() == [1, 1]
    assert result.statistic[[0, 2]].tolist() == [0, 0]
    assert test(d, degenerate="reject").pvalue[[0, 2]].tolist() == [0, 0]


@pytest.mark.parametrize("test", [resampled_t, kfold_t, corrected])
@pytest.mark.parametrize("value", [0, 0.1, 0.3 - 0.2])
def test_splits_without_spread(test, value):
    d = np.array([[value] * 7, [*[value] * 6, 1]])
    result = test(d)
    assert result.degenerate.tolist() == [True, False]
    assert result.pvalue[0] == 1
    assert result.statistic[0] == 0
    assert test(d, degenerate="reject").pvalue[0] == 0


def test_differences_that_are_equal_but_for_rounding():
    assert resampled_t([0.3 - 0.2, 0.1, 0.9 - 0.8, 0.6 - 0.5]).degenerate


@given(tens)
def test_ten_differences_give_probabilities_and_keep_them_when_the_algorithms_swap(d):
    for test in (five_by_two_t, five_by_two_f):
        result = test(d)
        assert 0 <= result.pvalue <= 1
        assert test(-d).pvalue == result.pvalue
        assert test(np.stack([d, -d])).pvalue[0] == result.pvalue


@given(rows)
def test_splits_give_probabilities_and_keep_them_when_the_algorithms_swap(d):
    for test in (resampled_t, kfold_t, corrected):
        result = test(d)
        assert 0 <= result.pvalue <= 1
        assert test(-d).pvalue == result.pvalue
        assert test(-d).statistic == -result.statistic
    assert corrected(d).pvalue >= resampled_t(d).pvalue


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: five_by_two_t(np.zeros((5, 3))), r"d: shape \(5, 3\) is not allowed; \(..., 5, 2\) is"),
        (lambda: five_by_two_f(np.zeros(10)), "d: shape"),
        (lambda: five_by_two_t(np.full((5, 2), np.nan)), r"d: nan at index \(0, 0\)"),
        (lambda: resampled_t([0.1, np.nan]), r"d: nan at index \(1,\)"),
        (lambda: kfold_t([0.1, np.inf]), "d: inf"),
        (lambda: kfold_t([0.1]), "d: shape"),
        (lambda: kfold_t(0.1), "d: shape"),
        (lambda: resampled_t(["a", "b"]), "d: type"),
        (lambda: corrected_resampled_t(SPLITS, 0, 20), "n_train: 0 is not allowed"),
        (lambda: corrected_resampled_t(SPLITS, 80, np.nan), "n_test: nan"),
        (lambda: corrected_resampled_t(SPLITS, "80", 20), "n_train: '80'"),
        (lambda: resampled_t(SPLITS, degenerate="nan"), "degenerate: 'nan'"),
    ],
)
def test_bad_input_is_refused_by_name(call, word):
    with pytest.raises(ValueError, match=word):
        call()
