"""Verdicts of the bootstrap that are drawn at once, against those of all replicates."""

from collections import Counter

import numpy as np
import pytest
from count_cases import ALPHAS, INTERVALS, SMALL, all_replicates, evaluation_sets, generator
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from harness.measures import f1_difference
from harness.significance import (
    bootstrap,
    bootstrap_error,
    bootstrap_f1,
    bootstrap_f1_forecast,
    bootstrap_f1_lattice,
)
from harness.significance.bootstrap import bootstrap_percentile, reject
from harness.significance.forecast import largest_rejecting


@pytest.mark.slow
@pytest.mark.parametrize("measure", ["f1", "error"])
@pytest.mark.parametrize("interval", INTERVALS)
def test_verdicts_drawn_at_once_reject_as_often_as_all_replicates_on_10_000_sets(measure, interval):
    """Where the two differ, each rejects one time in two: the size is the same."""
    counts = evaluation_sets(500, seed=22)
    drawn = reject(counts, measure, ALPHAS, 5000, interval, generator(6))
    full = bootstrap_percentile(counts, measure, 5000, interval, generator(6)).pvalue[:, None] <= ALPHAS
    for only_drawn, only_full in zip((drawn & ~full).sum(axis=0), (full & ~drawn).sum(axis=0), strict=True):
        n = only_drawn + only_full
        assert n <= 0.03 * len(counts)
        assert binom.ppf(5e-7, n, 0.5) <= only_drawn <= binom.ppf(1 - 5e-7, n, 0.5)


@pytest.mark.parametrize(("interval", "tails"), bootstrap.INTERVALS.items())
@pytest.mark.parametrize("stratified", [False, True])
def test_the_forecast_of_the_error_holds_the_exact_share(interval, tails, stratified):
    groups = bootstrap_error.strata(evaluation_sets(80, seed=25), stratified)
    groups = groups[groups[:, [0, 1]].sum(axis=1) > 0]
    (known,) = bootstrap_error.forecast(groups, [tails], None)
    pvalue = [
        bootstrap_error.limit_pvalue(group, tails, bootstrap_error.distribution(tuple(group.tolist())))
        for group in groups
    ]
    share = np.minimum(np.array(pvalue) / tails, 1)
    # an equal-tailed p-value is cut at 1: its share may lie above one half
    assert ((known.low <= share + 1e-12) | (share >= 0.5)).all()
    assert (known.high >= share - 1e-12).all()
    told = (share > 0.01) & (share < 0.15)
    assert (known.high - known.low)[told].mean() < 0.3 * share[told].mean()
    assert np.abs((known.shares[told, -1] / share[told] - 1).mean()) < 0.002  # nearly all from the moments


def test_the_limit_differs_no_more_from_a_full_run_than_another_one():
    counts = evaluation_sets(30, seed=26)
    for interval in INTERVALS:
        limit = reject(counts, "f1", ALPHAS, None, interval, generator(1))
        again = bootstrap_percentile(counts, "f1", None, interval, generator(1)).pvalue[:, None] <= ALPHAS
        assert (limit != again).any(axis=1).sum() <= 2  # 5,000 replicates may stand in
        drawn = bootstrap_percentile(counts, "f1", 5000, interval, generator(2)).pvalue[:, None] <= ALPHAS
        # of 600 sets about 3 % differ between two full runs: with 6 standard deviations 45 sets
        assert (drawn != limit).any(axis=1).sum() <= 45


@pytest.mark.parametrize("counts", SMALL)
@pytest.mark.parametrize("stratified", [False, True])
def test_law_of_discordant_differences_is_the_sum_over_all_replicates(counts, stratified):
    e2, e3, e6, e7 = (counts[cell] for cell in (1, 2, 5, 6))
    sizes = (sum(counts[:4]), sum(counts[4:])) if stratified else (sum(counts), -1)
    law = bootstrap_f1_lattice.law(e3, e2, e6, e7, *sizes)
    cells, weights = all_replicates(counts, stratified)
    expected = Counter()
    for row, weight in zip(cells.tolist(), weights.tolist(), strict=True):
        expected[row[2] - row[1], row[5] - row[6]] += weight
    found = dict(zip(zip(law.delta, law.eps, strict=True), law.weights.tolist(), strict=True))
    for value, weight in expected.items():
        assert found.get(value, 0) == pytest.approx(weight, abs=2e-6)
    assert sum(found.values()) == pytest.approx(1)


@pytest.mark.parametrize("pairs", [(12, 12, 0, 0), (0, 0, 9, 15), (12, 12, 1, 0), (4, 6, 5, 3), (1, 0, 1, 5)])
@pytest.mark.parametrize("stratified", [False, True])
def test_the_probability_that_both_f1_are_equal_is_that_of_the_lattice(pairs, stratified):
    e2, e3, e6, e7 = pairs
    cells = np.array([[20, e2, e3, 9, 4, e6, e7, 300]])
    sizes = (cells[0, :4].sum(), cells[0, 4:].sum()) if stratified else (cells.sum(), -1)
    law = bootstrap_f1_lattice.law(e3, e2, e6, e7, *map(int, sizes))
    expected = law.weights[(law.delta == 0) & (law.eps == 0)].sum()
    found = bootstrap_f1_forecast.tie_weight(bootstrap_f1_forecast.moments(cells, stratified))
    assert found == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize("counts", SMALL)
@pytest.mark.parametrize("stratified", [False, True])
def test_least_pvalue_is_a_lower_bound(counts, stratified):
    bound = float(bootstrap_f1_forecast.least_pvalue(np.array([counts]), stratified)[0])
    cells, weights = all_replicates(counts, stratified)
    d = f1_difference(cells)
    assert bound <= min(weights[d <= 1e-12].sum(), weights[d >= -1e-12].sum()) + 1e-12


@given(st.floats(1e-4, 0.9999), st.integers(1, 10_000), st.sampled_from([1, 2]))
def test_largest_rejecting_count_is_the_last_with_p_up_to_alpha(alpha, n, tails):
    count = largest_rejecting(alpha, n, tails)
    assert count == -1 or tails * count / n <= alpha
    assert tails * (count + 1) / n > alpha


def test_chunks_add_up():
    for n in (1, 4999, 20_000, 20_001, 123_456):
        sizes = bootstrap_f1.chunks(n)
        assert sum(sizes) == n
        assert max(sizes) <= bootstrap_f1.AT_ONCE
