"""Friedman, Nemenyi, Holm, Bonferroni and cliques: against Demšar's example, scipy and statsmodels."""

import itertools

import numpy as np
import pytest
from demsar import DEMSAR
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import friedmanchisquare
from statsmodels.stats.multitest import multipletests

from harness.significance.ranks import bonferroni, cliques, friedman, holm, nemenyi

tables = arrays(
    float, st.tuples(st.integers(2, 8), st.integers(2, 5)), elements=st.integers(0, 6).map(lambda i: i / 7)
)


def test_demsars_example():
    result = friedman(DEMSAR)
    assert result.average_ranks == pytest.approx([3.143, 2.000, 2.893, 1.964], abs=5e-4)
    assert result.chi_square == pytest.approx(9.28, abs=5e-3)
    assert result.f == pytest.approx(3.69, abs=5e-3)
    assert result.pvalue_f == pytest.approx(0.01982300619, rel=1e-8)
    peer = friedmanchisquare(*np.transpose(DEMSAR))
    assert (result.chi_square_ties, result.pvalue_ties) == pytest.approx((peer.statistic, peer.pvalue))
    assert not result.degenerate


def test_nemenyi_on_demsars_example():
    result = nemenyi(DEMSAR, [0.05, 0.10])
    # critical values of table 5: 2.569 and 2.291
    assert result.critical_difference == pytest.approx([1.253559147, 1.118060167], rel=1e-6)
    assert result.critical_difference / np.sqrt(4 * 5 / (6 * 14)) == pytest.approx([2.569, 2.291], abs=6e-4)
    # scikit-posthocs 0.17.1, posthoc_nemenyi_friedman
    assert result.pvalues[0, [1, 3]] == pytest.approx([0.08867270929, 0.07418479507], rel=1e-6)
    assert (result.pvalues == result.pvalues.T).all()
    assert (np.diag(result.pvalues) == 1).all()
    assert nemenyi(DEMSAR).critical_difference.shape == ()


def test_lower_may_be_better():
    errors = 1 - np.array(DEMSAR).round(4)
    result = nemenyi(errors.round(4), higher_is_better=False)
    assert result.average_ranks.tolist() == friedman(DEMSAR).average_ranks.tolist()
    assert friedman(errors.round(4), higher_is_better=False).chi_square == friedman(DEMSAR).chi_square


def test_pvalues_and_critical_differences_say_the_same():
    scores = np.random.default_rng(0).normal(size=(9, 6)) + np.arange(6)
    result = nemenyi(scores, 0.05)
    gaps = np.abs(result.average_ranks[:, None] - result.average_ranks)
    assert ((gaps >= result.critical_difference) == (result.pvalues <= 0.05)).all()


@pytest.mark.parametrize(("n", "k"), [(2, 2), (3, 2), (2, 3), (3, 3), (2, 4)])
def test_no_pvalue_of_f_is_below_the_smallest_exact_one(n, k):
    # F(k - 1, (k - 1)(n - 1)) gives 0 where all data sets agree; enumeration gives k!^(1 - n)
    orders = list(itertools.permutations(range(k)))
    agree = np.tile(np.arange(k), (n, 1))
    top = friedman(agree)
    results = [friedman(np.array(rows)) for rows in itertools.product(orders, repeat=n)]
    exact = np.mean([result.chi_square >= top.chi_square - 1e-9 for result in results])
    assert top.pvalue_f == pytest.approx(exact)
    assert min(result.pvalue_f for result in results) == pytest.approx(exact)


def test_ties_everywhere_are_no_difference():
    result = friedman(np.ones((4, 3)))
    assert result.degenerate
    assert (result.pvalue, result.pvalue_ties, result.pvalue_f) == (1, 1, 1)
    assert (result.chi_square, result.chi_square_ties, result.f) == (0, 0, 0)
    assert (nemenyi(np.ones((4, 3))).pvalues == 1).all()


def test_the_legacy_convention_rejects_where_all_ties():
    result = friedman(np.ones((4, 3)), degenerate="reject")
    assert (result.pvalue, result.pvalue_ties, result.pvalue_f) == (0, 0, 0)
    assert friedman(DEMSAR, degenerate="reject")[1:] == friedman(DEMSAR)[1:]
    scores = np.random.default_rng(0).normal(size=(6, 3))
    scores[:, 2] = scores[:, 0]
    legacy, right = nemenyi(scores, degenerate="reject").pvalues, nemenyi(scores).pvalues
    assert (right[0, 2], right[2, 0]) == (1, 1)
    assert (legacy[0, 2], legacy[2, 0]) == (0, 0)
    assert (np.diag(legacy) == 1).all()
    assert legacy[1].tolist() == right[1].tolist()


@given(tables)
def test_friedman_against_scipy_and_properties(scores):
    result = friedman(scores)
    for p in (result.pvalue, result.pvalue_ties, result.pvalue_f):
        assert 0 <= p <= 1
    if scores.shape[1] > 2 and not result.degenerate:
        peer = friedmanchisquare(*scores.T)
        assert result.chi_square_ties == pytest.approx(peer.statistic, abs=1e-9)
    mirrored = friedman(-scores)
    assert mirrored.chi_square == pytest.approx(result.chi_square, abs=1e-9)
    assert mirrored.average_ranks == pytest.approx(scores.shape[1] + 1 - result.average_ranks)


def test_cliques_of_equal_steps():
    # one bar across all of them would cover pairs that differ
    assert cliques([1, 2, 3, 4, 5], 1.928827755) == [[0, 1], [1, 2], [2, 3], [3, 4]]
    assert cliques([3.143, 2.0, 2.893, 1.964], 1.25) == [[3, 1, 2, 0]]


@given(st.lists(st.integers(2, 12).map(lambda i: i / 2), min_size=1, max_size=7), st.floats(0.1, 4))
def test_cliques_hold_exactly_the_pairs_that_do_not_differ(ranks, critical):
    found = cliques(ranks, critical)
    covered = {frozenset(pair) for group in found for pair in itertools.combinations(group, 2)}
    alike = {
        frozenset((i, j))
        for i, j in itertools.combinations(range(len(ranks)), 2)
        if abs(ranks[i] - ranks[j]) < critical
    }
    assert covered == alike
    assert all(len(group) > 1 for group in found)
    assert not any(set(one) <= set(other) for one, other in itertools.permutations(found, 2))


@pytest.mark.parametrize("pvalues", [[0.3], [0.02, 0.8, 0.001, 0.02, 0.3, 0.015, 0, 1]])
def test_holm_and_bonferroni_are_those_of_statsmodels(pvalues):  # which takes some 100 ms a call
    assert holm(pvalues) == pytest.approx(multipletests(pvalues, method="holm")[1], abs=1e-12)
    assert bonferroni(pvalues) == pytest.approx(multipletests(pvalues, method="bonferroni")[1], abs=1e-12)


def test_a_missing_pvalue_stays_missing_and_counts():
    # statsmodels' Holm rejects the missing one
    assert holm([0.01, 0.02, np.nan]) == pytest.approx([0.03, 0.04, np.nan], nan_ok=True)
    assert bonferroni([0.01, 0.02, np.nan]) == pytest.approx([0.03, 0.06, np.nan], nan_ok=True)
    assert (holm([np.nan, 0.01, 0.02]) <= 0.05).tolist() == [False, True, True]
    assert np.isnan(holm([np.nan, np.nan])).all()
    assert holm([]).tolist() == []
