"""Verdicts of the bootstrap that stop early against those of all replicates."""

import numpy as np
import pytest
from bootstrap_cases import ALPHAS, INTERVALS, SMALL, all_replicates, evaluation_sets, generator
from hypothesis import given
from hypothesis import strategies as st

from harness.measures import f1_difference
from harness.significance import bootstrap_f1, settling
from harness.significance.bootstrap import bootstrap_percentile, reject


@pytest.mark.parametrize("interval", INTERVALS)
@pytest.mark.parametrize("stratified", [False, True])
def test_early_verdicts_are_those_of_all_replicates(interval, stratified):
    counts = evaluation_sets(15, seed=21)
    early = reject(counts, "f1", ALPHAS, 5000, interval, generator(5), stratified=stratified)
    full = bootstrap_percentile(counts, "f1", 5000, interval, generator(5), stratified=stratified)
    assert (early != (full.pvalue[:, None] <= ALPHAS)).any(axis=1).sum() <= 1


@pytest.mark.slow
@pytest.mark.parametrize("interval", INTERVALS)
def test_early_verdicts_agree_on_9995_of_10_000_sets(interval):
    counts = evaluation_sets(500, seed=22)
    early = reject(counts, "f1", ALPHAS, 5000, interval, generator(6))
    full = bootstrap_percentile(counts, "f1", 5000, interval, generator(6)).pvalue[:, None] <= ALPHAS
    assert (early != full).any(axis=1).mean() <= 5e-4


def test_error_verdicts_are_those_of_the_pvalues():
    counts = evaluation_sets(10, seed=23)
    for interval in INTERVALS:
        early = reject(counts, "error", ALPHAS, 5000, interval, generator(5))
        full = bootstrap_percentile(counts, "error", 5000, interval, generator(5))
        assert (early == (full.pvalue[:, None] <= ALPHAS)).all()


@pytest.mark.parametrize("symmetric", [False, True])
def test_moments_give_the_pvalue_within_their_margin(symmetric):
    counts = evaluation_sets(30, seed=24)
    tail, factor, usable = settling.moment_pvalue(counts, False, symmetric)
    chosen = np.flatnonzero(usable & (tail > 0.004) & (tail < 0.15))[::2]
    assert len(chosen) >= 20
    interval = "symmetric" if symmetric else "equal_tailed"
    n = 20_000
    pvalue = bootstrap_percentile(counts[chosen], "f1", n, interval, generator(8)).pvalue
    share = pvalue / (1 if symmetric else 2)
    noise = 4.9 * np.sqrt(share / n)
    assert (share <= tail[chosen] * factor[chosen] + settling.SLACK + noise).all()
    assert (share >= tail[chosen] / factor[chosen] - settling.SLACK - noise).all()


@pytest.mark.parametrize("counts", SMALL)
@pytest.mark.parametrize("stratified", [False, True])
def test_least_pvalue_is_a_lower_bound(counts, stratified):
    bound = float(settling.least_pvalue(np.array([counts]), stratified)[0])
    cells, weights = all_replicates(counts, stratified)
    d = f1_difference(cells)
    assert bound <= min(weights[d <= 1e-12].sum(), weights[d >= -1e-12].sum()) + 1e-12


def test_stop_bounds_close_in_on_the_limit():
    for tails in (1, 2):
        totals = np.cumsum(bootstrap_f1.stage_sizes(5000)).tolist()
        bounds = [settling.stop_bounds(5000, 250, total, tails) for total in totals]
        assert bounds[-1] == (250, 251)
        assert [low for low, _ in bounds] == sorted(low for low, _ in bounds)
        assert all(low < high for low, high in bounds)


@given(st.floats(1e-4, 0.9999), st.integers(1, 10_000), st.sampled_from([1, 2]))
def test_largest_rejecting_count_is_the_last_with_p_up_to_alpha(alpha, n, tails):
    count = settling.largest_rejecting(alpha, n, tails)
    assert count == -1 or tails * count / n <= alpha
    assert tails * (count + 1) / n > alpha


def test_stages_add_up():
    for n in (1, 299, 300, 301, 1000, 5000, 123_456):
        sizes = bootstrap_f1.stage_sizes(n)
        assert sum(sizes) == n
        assert max(sizes) <= bootstrap_f1.LARGEST_STAGE
