"""Paired, Welch's and Student's t: against scipy, a published table and their null law."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import ttest_ind, ttest_rel

from harness.significance.t_tests import paired_differences, paired_t, unpaired_t

# Student 1908, Biometrika 6, table on p. 20: hours of sleep gained by two drugs (R's data set `sleep`)
DRUG_1 = np.array([0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0])
DRUG_2 = np.array([1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4])
tens = arrays(float, 10, elements=st.integers(-20, 20).map(lambda i: i / 40))
sevens = arrays(float, 7, elements=st.integers(-20, 20).map(lambda i: i / 40))


def test_students_own_example():
    # R 4: t.test(extra ~ group, sleep, paired=TRUE): t = -4.0621, p = 0.002833
    paired = paired_t(DRUG_1 - DRUG_2)
    assert (paired.statistic, paired.pvalue) == pytest.approx((-4.0621277, 0.002832890), rel=1e-6)
    # t.test(extra ~ group, sleep): t = -1.8608, df = 17.776, p = 0.07939; var.equal=TRUE: p = 0.07919
    welch, pooled = unpaired_t(DRUG_1, DRUG_2), unpaired_t(DRUG_1, DRUG_2, variance="pooled")
    assert (welch.statistic, welch.pvalue) == pytest.approx((-1.860813, 0.07939414), rel=1e-6)
    assert (pooled.statistic, pooled.pvalue) == pytest.approx((-1.860813, 0.07918671), rel=1e-6)


def test_the_t_tests_of_scipy_over_many_sets():
    generator = np.random.default_rng(0)
    a, b = generator.normal(0.2, 1, (3, 5, 9)), generator.normal(0, 2, (3, 5, 9))
    peer = ttest_rel(a, b, axis=-1)
    assert paired_t(a - b).statistic == pytest.approx(peer.statistic, rel=1e-10)
    assert paired_t(a - b).pvalue == pytest.approx(peer.pvalue, rel=1e-10)
    for variance, equal in (("welch", False), ("pooled", True)):
        peer = ttest_ind(a, b[..., :6], axis=-1, equal_var=equal)
        result = unpaired_t(a, b[..., :6], variance=variance)
        assert result.pvalue.shape == (3, 5)
        assert result.statistic == pytest.approx(peer.statistic, rel=1e-10)
        assert result.pvalue == pytest.approx(peer.pvalue, rel=1e-10)


@pytest.mark.parametrize("value", [0, 0.1, 0.3 - 0.2])
def test_differences_without_spread(value):
    d = np.array([[value] * 7, [*[value] * 6, 1]])
    result = paired_t(d)
    assert result.degenerate.tolist() == [True, False]
    assert (result.pvalue[0], result.statistic[0]) == (1, 0)
    assert paired_t(d, degenerate="reject").pvalue[0] == 0


def test_samples_without_spread():
    still, moving = np.full(5, 0.1 + 0.2), np.array([0.1, 0.2, 0.3])
    for variance in ("welch", "pooled"):
        for other in (np.full(3, 0.3), np.full(3, 0.9)):
            result = unpaired_t(still, other, variance=variance)
            assert (result.pvalue, result.statistic, result.degenerate) == (1, 0, True)
            assert unpaired_t(still, other, variance=variance, degenerate="reject").pvalue == 0
        assert not unpaired_t(still, moving, variance=variance).degenerate
    # against a constant Welch's t is the one-sample t
    assert unpaired_t(moving, still).pvalue == pytest.approx(float(paired_t(moving - 0.3).pvalue), rel=1e-9)


def test_rounding_is_no_difference():
    a = np.array([0.1 + 0.2, 0.7 + 0.1, 0.3])
    d = paired_differences(a, [0.3, 0.8, 0.3])
    assert d.tolist() == [0, 0, 0]
    assert paired_t(d).pvalue == 1
    assert paired_differences([1.0, 0.0], [0.999, 1e-20]) == pytest.approx([0.001, -1e-20])


@given(tens, sevens)
def test_probabilities_and_signs(a, b):
    for test in (
        lambda x, y: paired_t(x[..., :7] - y[..., :7]),
        unpaired_t,
        lambda x, y: unpaired_t(x, y, variance="pooled"),
    ):
        result = test(a, b)
        assert 0 <= result.pvalue <= 1
        swapped = test(b, a)
        assert swapped.pvalue == pytest.approx(float(result.pvalue), rel=1e-12)
        assert swapped.statistic == pytest.approx(-float(result.statistic), rel=1e-12)
        stacked = test(np.stack([a, a]), np.stack([b, b]))
        assert stacked.pvalue.tolist() == [result.pvalue] * 2


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: paired_t([0.1]), r"d: shape \(1,\) is not allowed; at least 2 values"),
        (lambda: paired_t([0.1, np.nan]), r"d: nan at index \(1,\)"),
        (lambda: paired_t(["a", "b"]), "d: type"),
        (lambda: paired_t([0.1, 0.2], degenerate="nan"), "degenerate: 'nan'"),
        (lambda: unpaired_t([0.1], [0.1, 0.2]), "a: shape"),
        (lambda: unpaired_t([0.1, 0.2], [0.1, np.inf]), "b: inf"),
        (lambda: unpaired_t([0.1, 0.2], 0.3), "b: shape"),
        (lambda: unpaired_t([0.1, 0.2], [0.1, 0.2], variance="equal"), "variance: 'equal' is not allowed"),
    ],
)
def test_bad_input_is_refused_by_name(call, word):
    with pytest.raises(ValueError, match=word):
        call()
