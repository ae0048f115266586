"""Verdicts that are drawn from a share of hits that is known well, against replicates."""

import numpy as np
import pytest
from count_cases import evaluation_sets, generator
from scipy.stats import binom

from harness.significance import bootstrap_f1_forecast as f1_forecast
from harness.significance.bootstrap import INTERVALS, bootstrap_percentile, degenerate_sets
from harness.significance.dirichlet import forecast as posterior_forecast
from harness.significance.dirichlet import gamma_shapes, sign_function
from harness.significance.replicates import set_keys
from harness.significance.stopping import LEAST_ROUGH, ROUGH, Forecast, settled_at_once

COSTS = {"cost_fn": 2.0, "cost_fp": 1.0, "prior": 0.3}
BIAS = 0.005
"""How far shares that count as known may be wrong on average, by a factor; they are by .001 to .002."""


def live_sets(n, seed):
    counts = evaluation_sets(n, seed=seed)
    return counts[~degenerate_sets(counts, "f1")]


def replicated(counts, interval, stratified, n):
    """The share of hits among n replicates of each set."""
    result = bootstrap_percentile(counts, "f1", n, interval, generator(8), stratified=stratified)
    return result.pvalue / INTERVALS[interval]


def check_bias(share, drawn, n):
    """Known shares are right on average, and each within a few per cent."""
    error = drawn / share - 1
    noise = np.sqrt((1 - share) / (share * n))
    assert abs(error.mean()) <= BIAS + 4.9 * np.sqrt((noise**2).mean() / len(error))
    assert (np.abs(error) <= 0.05 + 4.9 * noise).all()


def chosen_of(made):
    """Sets whose share counts as known, and some of those that have bounds."""
    known = np.flatnonzero(made.known & (made.share > 0.01) & (made.share < 0.13))[:40]
    told = np.flatnonzero((made.high < 0.3) & (made.high > 0.004))[::4]
    assert len(known) >= 30
    assert len(told) >= 15
    return known, told


def check_bounds(made, chosen, drawn, n):
    noise = 4.9 * np.sqrt(np.maximum(drawn, 1 / n) / n)
    assert (made.low[chosen] - noise <= drawn).all()
    assert (drawn <= made.high[chosen] + noise).all()


@pytest.mark.parametrize("interval", INTERVALS)
@pytest.mark.parametrize(("few", "stratified"), [(False, False), (True, False), (True, True)])
def test_known_shares_and_bounds_of_the_f1_bootstrap(few, stratified, interval):
    """From the moments and, where few documents are discordant, from their lattice."""
    counts = live_sets(150 if few else 25, 31)
    counts = counts[f1_forecast.few(counts) == few]
    make = f1_forecast.few_forecast if few else f1_forecast.forecast
    (made,) = make(counts, stratified, [INTERVALS[interval]])
    known, told = chosen_of(made)
    check_bias(made.share[known], replicated(counts[known], interval, stratified, 60_000), 60_000)
    check_bounds(made, told, replicated(counts[told], interval, stratified, 20_000), 20_000)


@pytest.mark.parametrize("prior", [0, 0.5])
@pytest.mark.parametrize("measure", ["f1", "precision", "dcf"])
def test_known_shares_and_bounds_of_the_posterior(measure, prior):
    costs = COSTS if measure == "dcf" else {}
    shapes = gamma_shapes(evaluation_sets(40, seed=33), measure, prior)
    made = posterior_forecast(shapes, measure, costs)
    rng, sign = generator(9), sign_function(measure, costs)

    def drawn(chosen, n):
        values = [sign(*rng.standard_gamma(shapes[i][:, None], (6, n))) for i in chosen]
        return np.array([min((value > 0).mean(), (value < 0).mean()) for value in values])

    known, told = chosen_of(made)
    check_bias(made.share[known], drawn(known, 60_000), 60_000)
    check_bounds(made, told, drawn(told, 20_000), 20_000)


@pytest.mark.parametrize("interval", INTERVALS)
def test_a_rough_share_is_not_less_than_half_of_what_it_seems(interval):
    counts = live_sets(150, 34)
    (made,) = f1_forecast.forecast(counts, False, [INTERVALS[interval]])
    rough = np.flatnonzero((made.low > 0) & (made.high == 1) & (made.share >= LEAST_ROUGH))
    assert len(rough) >= 100
    drawn = replicated(counts[rough], interval, False, 5000)
    assert (drawn >= made.share[rough] / ROUGH).all()


@pytest.mark.parametrize("measure", ["f1", "dcf", "balanced_error"])
@pytest.mark.parametrize("prior", [0, 0.5])
def test_a_rough_share_of_the_posterior(measure, prior):
    costs = COSTS if measure == "dcf" else {}
    shapes = gamma_shapes(live_sets(80, 35), measure, prior)
    made = posterior_forecast(shapes, measure, costs)
    rough = np.flatnonzero((made.low > 0) & (made.high == 1))[:100]
    assert len(rough) >= 50
    rng, sign = generator(9), sign_function(measure, costs)
    for i in rough:
        value = sign(*rng.standard_gamma(shapes[i][:, None], (6, 4000)))
        assert min((value > 0).mean(), (value < 0).mean()) >= made.share[i] / ROUGH


def test_hits_are_binomial():
    share, n = 0.03, 5000
    known = np.ones(100_000, dtype=bool)
    zeros = np.zeros(len(known))
    made = Forecast(zeros, zeros, zeros + 1, zeros + share, known)
    levels = np.array([0.05, 0.06, 0.07, 0.001, 0.9])
    rejected, settled = settled_at_once(made, levels, n, 2, set_keys(len(known), generator(1)))
    assert settled.all(axis=0).tolist() == [True, True, True, False, False]
    for k, limit in enumerate((125, 150, 175)):
        chance = binom.cdf(limit, n, share)
        low, high = binom.ppf([5e-7, 1 - 5e-7], len(known), chance)
        assert low <= rejected[:, k].sum() <= high
    assert (rejected[:, 0] <= rejected[:, 1]).all()
