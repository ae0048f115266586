"""The Bayesian tests against beta tails, and plain draws from the posterior."""

import itertools

import numpy as np
import pytest
from count_cases import COUNTS, evaluation_sets, generator
from scipy.stats import beta, betanbinom, norm

from harness.measures import COSTS, DIFFERENCES, difference
from harness.significance.bayes import (
    degenerate_sets,
    dirichlet,
    goutte_gaussier,
    goutte_gaussier_paired,
)
from harness.significance.dirichlet import sign_function
from harness.significance.goutte import probability_greater


def posterior(counts, prior, n, seed=0):
    """Draws of all eight shares; numpy's own Dirichlet takes no parameter of 0."""
    shapes = np.array(counts) + prior
    shares = np.zeros((n, 8))
    shares[:, shapes > 0] = generator(seed).dirichlet(shapes[shapes > 0], n)
    return shares


def same_probability(hits, n, other_hits, other_n):
    """Whether two shares may have one probability."""
    pooled = (hits + other_hits + 1) / (n + other_n + 2)
    spread = np.sqrt(pooled * (1 - pooled) * (1 / n + 1 / other_n))
    return abs(hits / n - other_hits / other_n) <= 5.5 * spread + 1 / min(n, other_n)


# --- the Dirichlet posterior -------------------------------------------------------------------------------


MEASURES = [*((name, {}) for name in sorted(DIFFERENCES)), ("dcf", {"cost_fn": 3.0, "prior": 0.02})]
MEASURES += [("dcf", {"cost_fn": 0.0})]


@pytest.mark.parametrize(("measure", "costs"), MEASURES)
@pytest.mark.parametrize("prior", [0, 0.5, 2.0])
@pytest.mark.parametrize("counts", [COUNTS, [3, 1, 0, 2, 1, 0, 2, 11], [4, 0, 2, 0, 2, 3, 0, 20]])
def test_pvalue_is_that_of_plain_draws_of_all_shares(measure, costs, prior, counts):
    n = 40_000
    d = difference(measure, **costs)(posterior(counts, prior, n))
    expected = min((d > 0).mean(), (d < 0).mean())
    result = dirichlet(counts, measure, prior, generator(1), n_replicates=n, costs=costs)
    assert same_probability(result.pvalue / 2 * n, n, expected * n, n)
    assert result.statistic == difference(measure, **costs)(counts)


@pytest.mark.parametrize("prior", [0.5, 1.0, 0.01])
def test_error_and_recall_are_beta_tails(prior):
    n01, n10 = np.meshgrid(np.arange(1, 30), np.arange(30))
    counts = np.zeros((*n01.shape, 8), dtype=int)
    counts[..., 1], counts[..., 6], counts[..., 2], counts[..., 7] = n01 // 2, n01 - n01 // 2, n10, 40
    tail = beta.cdf(0.5, n01 + 2 * prior, n10 + 2 * prior)
    result = dirichlet(counts, "error", prior)
    np.testing.assert_allclose(result.pvalue, np.minimum(2 * np.minimum(tail, 1 - tail), 1), atol=1e-13)
    tail = beta.cdf(0.5, counts[..., 1] + prior, counts[..., 2] + prior)
    result = dirichlet(counts, "recall", prior)
    live = ~result.degenerate
    np.testing.assert_allclose(result.pvalue[live], 2 * np.minimum(tail, 1 - tail)[live], atol=1e-13)


@pytest.mark.parametrize("measure", ["f1", "precision", "dcf", "balanced_error"])
def test_sign_of_gamma_variables_is_that_of_the_difference(measure):
    gammas = generator().standard_gamma(0.7, (20_000, 8)) * generator(1).integers(0, 2, (20_000, 8))
    merged = {"f1": [0, 1, 2, (3, 4), 5, 6], "precision": [0, 1, 2, 4, 5, 6]}.get(
        measure, [(0, 3), 1, 2, 5, 6, (4, 7)]
    )
    groups = [gammas[:, list(g) if isinstance(g, tuple) else [g]].sum(axis=1) for g in merged]
    found = sign_function(measure, COSTS if measure == "dcf" else {})(*groups)
    expected = difference(measure)(gammas)
    clear = np.abs(expected) > 1e-12
    assert clear.mean() > 0.5
    assert (np.sign(found) == np.sign(expected))[clear].all()
    assert (np.abs(found)[~clear] < 1e-9).all()


@pytest.mark.parametrize(("measure", "costs"), MEASURES)
def test_degenerate_is_where_no_distribution_over_the_seen_cells_has_a_difference(measure, costs):
    rng = generator()
    supports = np.array(list(itertools.product([0, 1], repeat=8)))[1:]
    always_zero = np.ones(len(supports), dtype=bool)
    for _ in range(20):
        shares = supports * rng.uniform(0.5, 2, supports.shape)
        always_zero &= np.abs(difference(measure, **costs)(shares)) < 1e-12
    for _ in range(3):
        counts = supports * rng.integers(1, 50, supports.shape)
        assert (degenerate_sets(counts, measure, costs) == always_zero).all()
        for degenerate, p in (("accept", 1), ("reject", 0)):
            result = dirichlet(counts, measure, n_replicates=20, costs=costs, degenerate=degenerate)
            assert (result.pvalue[always_zero] == p).all()


# --- Goutte & Gaussier -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n1", "n2", "chance"), [(17, 4, 0.99830), (6, 11, 0.11216)])
def test_published_values_of_the_paired_test(n1, n2, chance):
    result = goutte_gaussier_paired([0, n2, n1, 0, 0, 0, 0, 79])
    assert result.pvalue == pytest.approx(2 * min(chance, 1 - chance), abs=1.2e-5)
    assert np.sign(result.statistic) == np.sign(n2 - n1)


def test_probability_greater_against_the_beta_negative_binomial():
    rng = generator(1)
    a = rng.integers(0, 30, 300), rng.integers(0, 200, 300)
    b = rng.integers(0, 30, 300), rng.integers(0, 200, 300)
    found = probability_greater(a, b)
    below = betanbinom.cdf(a[1], b[1] + 1, b[0] + 0.5, a[0] + 0.5)  # P(F_B > F_A)
    np.testing.assert_allclose(found, 1 - below, atol=1e-10)
    np.testing.assert_allclose(found + probability_greater(b, a), 1, atol=1e-12)
    a, b = (np.array([100_000]), np.array([400_000])), (np.array([100_300]), np.array([399_900]))
    ends = [beta(tp[0] + 0.5, wrong[0] + 1) for tp, wrong in (a, b)]  # of many documents nearly normal
    z = (ends[0].mean() - ends[1].mean()) / np.sqrt(ends[0].var() + ends[1].var())
    assert probability_greater(a, b)[0] == pytest.approx(norm.cdf(z), abs=1e-4)


def test_goutte_gaussier_compares_what_either_system_found_missed_and_said_in_vain():
    e1, e2, e3, e4, e5, e6, e7, _ = counts = generator(2).integers(0, 30, (8, 50))
    a, b = (e1 + e3, e5 + e7 + e2 + e4), (e1 + e2, e5 + e6 + e3 + e4)
    chance = betanbinom.cdf(a[1], b[1] + 1, b[0] + 0.5, a[0] + 0.5)
    pvalue = goutte_gaussier(counts.T).pvalue
    np.testing.assert_allclose(pvalue, 2 * np.minimum(chance, 1 - chance), atol=1e-10)


def test_goutte_gaussier_with_replicates_estimates_the_exact_probability():
    counts = evaluation_sets(20, seed=9)
    exact, drawn = goutte_gaussier(counts), goutte_gaussier(counts, generator(), n_replicates=5000)
    assert (exact.degenerate == drawn.degenerate).all()
    spread = np.sqrt(exact.pvalue * (2 - exact.pvalue) / 5000)
    # p folds at one half, which only brings it down
    assert (np.abs(drawn.pvalue - exact.pvalue) <= 6 * spread + 2 / 5000).all()
    rng = generator()
    parts = [goutte_gaussier(part, rng, n_replicates=5000).pvalue for part in np.array_split(counts, 7)]
    assert (np.concatenate(parts) == drawn.pvalue).all()
