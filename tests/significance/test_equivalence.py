"""TOST: against statsmodels, the Wald interval, and its size at the margin."""

import numpy as np
import pytest
from count_cases import documents
from scipy.stats import binom, norm
from statsmodels.stats.weightstats import ztost

from harness.significance.wald import equivalence, estimate

COUNTS = [300, 10, 12, 30, 20, 14, 12, 602]


@pytest.mark.parametrize("margin", [0.003, 0.01, 0.02])
def test_error_is_the_tost_of_statsmodels_on_the_losses_of_the_documents(margin):
    y, a, b = documents(COUNTS)
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
