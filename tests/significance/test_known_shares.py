"""Verdicts that are drawn from a share of hits that is known well, against replicates."""

import numpy as np
import pytest
from count_cases import evaluation_sets, generator
from scipy.stats import binom, hypergeom

from harness.significance import bayes
from harness.significance import bootstrap_f1_forecast as f1_forecast
from harness.significance.bootstrap import INTERVALS, bootstrap_percentile, degenerate_sets, reject
from harness.significance.dirichlet import LEAST_PRIOR, gamma_shapes, sign_function, smaller_share
from harness.significance.forecast import LEAST_ROUGH, ROUGH, Forecast, settled_at_once
from harness.significance.replicates import set_keys

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


def of_f1(few, stratified, interval):
    """Forecasts from the moments and, where few documents are discordant, from their lattice."""
    counts = live_sets(150 if few else 60, 31)
    counts = counts[f1_forecast.few(counts) == few]
    make = f1_forecast.few_forecast if few else f1_forecast.forecast
    (made,) = make(counts, stratified, [INTERVALS[interval]])
    return made, lambda chosen, n: replicated(counts[chosen], interval, stratified, n)


FORECASTS = [(of_f1, *sets, i) for sets in ((False, False), (True, False), (True, True)) for i in INTERVALS]


@pytest.mark.parametrize("case", FORECASTS, ids=lambda case: f"{case[0].__name__}-{case[1:]}")
def test_known_shares_and_bounds(case):
    """Known shares are right on average, and each within a few per cent; a rough one is at least half."""
    made, drawn = case[0](*case[1:])
    shares = made.shares[:, 0]
    known = np.flatnonzero(made.known & (shares > 0.01) & (shares < 0.13))[:40]
    told = np.flatnonzero((made.high < 0.3) & (made.high > 0.004))[::4]
    rough = np.flatnonzero((made.low > 0) & (made.high == 1) & (shares >= LEAST_ROUGH))[:100]
    assert len(known) >= 30
    assert len(told) >= 15
    n, share = 60_000, shares[known]
    error, noise = drawn(known, n) / share - 1, np.sqrt((1 - share) / (share * n))
    assert abs(error.mean()) <= BIAS + 4.9 * np.sqrt((noise**2).mean() / len(error))
    assert (np.abs(error) <= 0.05 + 4.9 * noise).all()
    n, found = 20_000, drawn(told, 20_000)
    noise = 4.9 * np.sqrt(np.maximum(found, 1 / n) / n)
    assert (made.low[told] - noise <= found).all()
    assert (found <= made.high[told] + noise).all()
    if not case[1]:
        assert len(rough) >= 15
        assert (drawn(rough, 5000) >= shares[rough] / ROUGH).all()


@pytest.mark.parametrize("prior", [0, LEAST_PRIOR, 0.5, 2])
@pytest.mark.parametrize("measure", ["f1", "precision", "dcf", "balanced_error"])
def test_probabilities_of_the_posterior(measure, prior):
    """They are right on average, nearly all within a few per cent, and none is far off."""
    costs, n = COSTS if measure == "dcf" else {}, 20_000
    counts, rng = evaluation_sets(20, seed=33), generator(9)
    shapes = gamma_shapes(counts[~bayes.degenerate_sets(counts, measure)], measure, prior)
    share, sign = smaller_share(shapes, measure, costs), sign_function(measure, costs)
    values = (sign(*rng.standard_gamma(row[:, None], (6, n))) for row in shapes)
    found = np.array([min((value > 0).mean(), (value < 0).mean()) for value in values])
    noise = np.sqrt(np.maximum(share * (1 - share), 1 / n) / n)
    assert (np.abs(found - share) <= 0.15 * share + 4.9 * noise).all()
    told = (share > 0.004) & (share < 0.13)
    error, noise = found[told] / share[told] - 1, noise[told] / share[told]
    assert told.sum() >= 50
    assert abs(error.mean()) <= BIAS + 4.9 * np.sqrt((noise**2).mean() / len(error))
    assert (np.abs(error) <= 0.05 + 4.9 * noise).mean() > 0.97


def test_hits_are_binomial():
    share, n = 0.03, 5000
    known = np.ones(100_000, dtype=bool)
    zeros = np.zeros(len(known))
    made = Forecast(zeros, zeros, zeros + 1, zeros[:, None] + share, known)
    levels = np.array([0.05, 0.06, 0.07, 0.001, 0.9])
    rejected, settled = settled_at_once(made, levels, n, 2, set_keys(len(known), generator(1)))
    assert settled.all(axis=0).tolist() == [True, True, True, False, False]
    for k, limit in enumerate((125, 150, 175)):
        chance = binom.cdf(limit, n, share)
        low, high = binom.ppf([5e-7, 1 - 5e-7], len(known), chance)
        assert low <= rejected[:, k].sum() <= high
    assert (rejected[:, 0] <= rejected[:, 1]).all()


@pytest.mark.parametrize("interval", INTERVALS)
@pytest.mark.parametrize("cells", [(0, 1, 4, 95), (2, 3, 9, 286), (0, 12, 26, 262), (9, 30, 44, 2917)])
def test_a_verdict_on_the_error_that_is_drawn_at_once_is_as_frequent_as_from_replicates(cells, interval):
    """Also where the mean of the replicates decides whether those at twice the mean count."""
    e1, e2, e3, e4 = cells
    counts, n = np.tile([e1, e2, e3, 0, 0, 0, 0, e4], (8000, 1)), 8000
    pvalues = bootstrap_percentile(counts, "error", 5000, interval, generator(1)).pvalue
    levels = np.quantile(pvalues, [0.2, 0.5, 0.8])
    found = reject(counts, "error", levels, 5000, interval, generator(2)).sum(axis=0)
    for a, level in enumerate(levels):
        both = found[a] + (pvalues <= level).sum()
        low, high = hypergeom.ppf([5e-7, 1 - 5e-7], 2 * n, both, n)
        assert low <= found[a] <= high


@pytest.mark.parametrize("interval", INTERVALS)
@pytest.mark.parametrize("measure", ["f1", "error"])
def test_few_replicates_are_drawn(measure, interval):
    """A share known well leaves out the hits in the other tail, and how the mean moves."""
    counts = np.tile([40, 12, 12, 20, 20, 10, 10, 900], (2000, 1))
    found = reject(counts, measure, [0.5], 1, interval, generator(1)).mean()
    assert found == (bootstrap_percentile(counts, measure, 1, interval, generator(1)).pvalue <= 0.5).mean()


def test_a_set_whose_replicates_are_all_alike_has_a_verdict():
    counts = [[0, 1, 0, 0, 0, 1, 0, 0], [0, 0, 1, 0, 0, 0, 1, 0]]
    for interval in INTERVALS:
        verdicts = reject(counts, "error", [0.05], 5000, interval, generator(1), stratified=True)
        pvalues = bootstrap_percentile(counts, "error", 5000, interval, generator(1), stratified=True).pvalue
        assert verdicts[:, 0].tolist() == (pvalues <= 0.05).tolist()
