"""TOST: against statsmodels, the Wald interval, and its size at the margin."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, norm
from statsmodels.stats.weightstats import ztost

from harness.significance.equivalence import equivalence
from harness.significance.wald import estimate

COUNTS = [300, 10, 12, 30, 20, 14, 12, 602]
OUTCOMES = [(1, 1, 1), (1, 0, 1), (1, 1, 0), (1, 0, 0), (0, 1, 1), (0, 0, 1), (0, 1, 0), (0, 0, 0)]
few = st.lists(st.integers(0, 9), min_size=8, max_size=8).filter(any)
measures = st.sampled_from(["f1", "error", "precision", "recall", "dcf", "balanced_error"])


@pytest.mark.parametrize("margin", [0.003, 0.01, 0.02])
def test_error_is_the_tost_of_statsmodels_on_the_losses_of_the_documents(margin):
    y, a, b = np.repeat(OUTCOMES, COUNTS, axis=0).T
    losses = (y != a).astype(float) - (y != b)
    peer = ztost(losses, -margin, margin, ddof=0)[0]
    assert equivalence(COUNTS, "error", margin).pvalue == pytest.approx(peer, rel=1e-9)


@pytest.mark.parametrize("measure", ["f1", "precision", "recall", "balanced_error"])
def test_it_rejects_where_the_interval_of_level_1_minus_2_alpha_lies_within_the_margin(measure):
    sets = np.random.default_rng(0).multinomial(500, np.array(COUNTS) / 1000, 2000)
    d, deviation = estimate(sets, measure)
    reach = np.abs(d) + norm.isf(0.05) * deviation
    assert ((reach <= 0.05) == (equivalence(sets, measure, 0.05).pvalue <= 0.05)).all()


def test_size_where_the_difference_is_the_margin():
    shares, n, n_sets = np.array([0.3, 0.05, 0.02, 0.05, 0.05, 0.02, 0.04, 0.47]), 5000, 40_000
    sets = np.random.default_rng(1).multinomial(n, shares, n_sets)
    margin = 0.05  # the error difference: .09 - .04
    rejected = (equivalence(sets, "error", margin).pvalue <= 0.05).sum()
    low, high = binom.ppf([1e-6, 1 - 1e-6], n_sets, [0.047, 0.053])
    assert low <= rejected <= high


def test_degenerate_sets_are_never_equivalent():
    sets = [[9, 0, 0, 2, 3, 0, 0, 50], [0, 0, 0, 4, 2, 5, 3, 50], [0, 0, 1, 0, 0, 0, 0, 99]]
    result = equivalence(sets, "f1", 0.5)
    assert result.degenerate.all()
    assert result.pvalue.tolist() == [1.0] * 3
    assert result.statistic.tolist() == [0.0] * 3


def test_costs_of_the_dcf():
    assert equivalence(COUNTS, "dcf", 0.02).pvalue == equivalence(COUNTS, "balanced_error", 0.02).pvalue
    assert equivalence(COUNTS, "dcf", 0.2, prior=1).pvalue == pytest.approx(
        float(equivalence(COUNTS, "recall", 0.2).pvalue)
    )


@given(few, measures, st.floats(1e-3, 1))
def test_pvalue_is_a_probability_the_same_when_the_classifiers_swap(counts, measure, margin):
    result = equivalence(counts, measure, margin)
    assert 0 <= result.pvalue <= 1
    swapped = equivalence(np.array(counts)[[0, 2, 1, 3, 4, 6, 5, 7]], measure, margin)
    assert swapped.pvalue == pytest.approx(result.pvalue, rel=1e-9)
    assert equivalence(counts, measure, 2 * margin).pvalue <= result.pvalue + 1e-15


@pytest.mark.parametrize(
    ("counts", "measure", "margin", "options", "word"),
    [
        ([1.5] * 8, "f1", 0.1, {}, "counts"),
        ([[np.nan] * 8], "f1", 0.1, {}, "counts"),
        ([1] * 8, "f2", 0.1, {}, "measure: 'f2' is not allowed"),
        ([1] * 8, "f1", 0, {}, "margin: 0 is not allowed"),
        ([1] * 8, "f1", np.nan, {}, "margin: nan"),
        ([1] * 8, "f1", True, {}, "margin: True"),
        ([1] * 8, "f1", 0.1, {"prior": 0.5}, "prior: measure 'f1' takes no such option"),
    ],
)
def test_bad_input_is_refused_by_name(counts, measure, margin, options, word):
    with pytest.raises(ValueError, match=word):
        equivalence(counts, measure, margin, **options)
