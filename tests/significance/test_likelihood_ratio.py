"""Likelihood ratio and score tests: against a general optimiser, limits, drawn sets."""

import math

import numpy as np
import pytest
from count_cases import few
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import null_space
from scipy.optimize import brentq, minimize
from scipy.stats import binom

from harness.measures import difference
from harness.nulls import project
from harness.significance import weighted
from harness.significance.likelihood_ratio import MEASURES, likelihood_ratio, score
from harness.significance.mcnemar import mcnemar

measures = st.sampled_from(MEASURES)


def constraint(q, measure):
    """Zero where the measure of A equals that of B."""
    e1, e2, e3, e4, e5, e6, e7, _ = q
    t_a, t_b = e1 + e3, e1 + e2
    if measure == "precision":
        return t_a * (e5 + e6) - t_b * (e5 + e7)
    positives = e1 + e2 + e3 + e4
    return t_a * (positives + t_b + e5 + e6) - t_b * (positives + t_a + e5 + e7)


def fitted(counts, measure, rng, starts=2):
    """Deviance and Pearson's chi-square of the best fit that SLSQP finds on the eight shares."""
    counts, n = np.asarray(counts, dtype=float), sum(counts)
    seen = counts > 0

    def deviance(q):
        return 2 * (counts[seen] * np.log(counts[seen] / n / q[seen])).sum()

    def gradient(q):
        return np.where(seen, -2 * counts / np.where(seen, q, 1), 0)

    best = math.inf, math.nan
    for _ in range(starts):
        found = minimize(
            deviance,
            np.maximum(rng.dirichlet(counts + rng.choice([0.2, 1, 3])), 1e-9),
            jac=gradient,
            method="SLSQP",
            bounds=[(1e-12 if cell else 0, 1) for cell in seen],
            constraints=[
                {"type": "eq", "fun": constraint, "args": (measure,)},
                {"type": "eq", "fun": lambda q: q.sum() - 1},
            ],
            options={"maxiter": 500, "ftol": 1e-13},
        )
        q = found.x
        if abs(constraint(q, measure)) < 1e-9 and abs(q.sum() - 1) < 1e-9 and found.fun < best[0]:
            pearson = ((counts - n * q) ** 2 / (n * np.maximum(q, 1e-13)))[q > 1e-13].sum()
            best = found.fun, pearson
    return best


@pytest.mark.parametrize("measure", ["f1", "precision"])
def test_fit_is_the_best_that_a_general_optimiser_finds(measure):
    rng = np.random.default_rng(8)
    drawn = [rng.integers(0, rng.choice([2, 3, 6, 20]), 8) + np.eye(8, dtype=int)[7] for _ in range(8)]
    tried = 0
    for counts in [[20, 2, 9, 3, 4, 6, 5, 951], [3, 1, 2, 1, 9, 40, 2, 50], *drawn]:
        ratio, rao = likelihood_ratio(counts, measure), score(counts, measure)
        if not ratio.degenerate:
            deviance, pearson = fitted(counts, measure, rng)
            assert ratio.statistic == pytest.approx(deviance, rel=1e-5, abs=1e-5)
            assert rao.statistic == pytest.approx(pearson, rel=1e-3, abs=1e-3)
            tried += 1
    assert tried >= 6


def test_one_discordant_document_gives_two_log_two_on_cells_it_does_not_show():
    for counts in ([10, 0, 1, 5, 1, 0, 0, 983], [10, 1, 0, 5, 1, 0, 0, 983]):
        result = likelihood_ratio(counts)
        assert result.statistic == pytest.approx(2 * math.log(2), rel=1e-12)
        assert result.pvalue == pytest.approx(0.239, abs=5e-4)
        assert score(counts).statistic == pytest.approx(1, rel=1e-12)


@settings(deadline=None)
@given(few, st.sampled_from(["f1", "precision"]))
def test_empty_cells_are_the_limit_of_cells_with_few_documents(counts, measure):
    counts = np.array(counts)
    scale = 10**9  # the statistics grow with the counts in proportion
    filled = np.where(counts == 0, 1, counts * scale)
    result = likelihood_ratio(counts, measure)
    if not result.degenerate:
        limit = likelihood_ratio(filled, measure).statistic / scale
        assert limit == pytest.approx(result.statistic, abs=1e-5)


@settings(deadline=None)
@given(few, measures, st.sampled_from([10, 10**6, 10**13]))
def test_statistics_grow_in_proportion_to_the_counts(counts, measure, times):
    for test in (likelihood_ratio, score):
        one, many = test(counts, measure), test(np.array(counts) * times, measure)
        assert many.statistic / times == pytest.approx(one.statistic, rel=1e-8, abs=1e-11)
        assert many.degenerate == one.degenerate


def test_error_and_recall_are_the_tests_of_two_equal_cells():
    counts = np.array([[5, 3, 9, 0, 0, 8, 2, 60], [5, 0, 4, 0, 1, 3, 0, 60], [1, 4, 4, 0, 0, 0, 0, 5]])
    for measure, cells in (("error", counts), ("recall", counts * [1, 1, 1, 1, 1, 0, 0, 1])):
        assert score(counts, measure).statistic == pytest.approx(mcnemar(cells, "uncorrected").statistic)
        n01, n10 = cells[:, 1] + cells[:, 6], cells[:, 2] + cells[:, 5]
        half = (n01 + n10) / 2
        logs = binom.logpmf(n01, n01 + n10, n01 / (2 * half)) - binom.logpmf(n01, n01 + n10, 0.5)
        assert likelihood_ratio(counts, measure).statistic == pytest.approx(2 * logs, abs=1e-12)


@settings(deadline=None)
@given(few, measures)
def test_statistic_is_zero_where_the_measures_are_equal(counts, measure):
    for test in (likelihood_ratio, score):
        result = test(counts, measure)
        if not result.degenerate:
            equal = abs(float(difference(measure)(counts))) < 1e-12
            assert (result.statistic < 1e-12) == equal


def test_many_sets_are_fitted_in_blocks():
    sets = np.random.default_rng(0).multinomial(300, [0.1, 0.03, 0.05, 0.1, 0.05, 0.05, 0.02, 0.6], 9000)
    whole = likelihood_ratio(sets.reshape(3, 3000, 8))
    assert whole.pvalue.shape == (3, 3000)
    assert (whole.pvalue.reshape(-1)[8100:] == likelihood_ratio(sets[8100:]).pvalue).all()


def root_of(n, weights):
    """r* of Poisson counts with a weighted sum of means of 0, by Fraser and Reid's determinants."""
    n, weights = np.array(n, dtype=float), np.array(weights)
    ends = [-1 / weights.max(), -1 / weights.min()]
    m = brentq(lambda m: (n * weights / (1 + m * weights)).sum(), *np.multiply(ends, 1 - 1e-9), xtol=1e-14)
    fitted = n / (1 + m * weights)
    r = np.sqrt(2 * (n * np.log(n / fitted)).sum())
    across = weights * fitted / np.linalg.norm(weights * fitted)  # the gradient, in log means
    along = null_space(across[None])
    information = np.linalg.det(np.diag(n)) / np.linalg.det(along.T @ np.diag(n) @ along)
    return r + np.log(abs(across @ np.log(n / fitted)) * np.sqrt(information) / r) / r


@pytest.mark.parametrize("weight", [0.05, 0.4, 1.0, 3.0])
def test_the_signed_root_is_that_of_the_determinants(weight):
    n, pseudo = np.random.default_rng(0).integers(0, 30, (4, 50)).astype(float), 0.25
    weights = np.full(50, weight)
    more = n + pseudo
    own = np.sqrt(weighted.statistic(more, weights, weighted.multiplier(more, weights)))
    found = own + weighted.root_change(n, weights, pseudo)
    far = own > 0.05  # nearer to 0 the determinants lose digits
    assert far.sum() > 40
    expected = [root_of(row, [1, weight, -1, -weight]) for row in more.T[far]]
    assert found[far] == pytest.approx(np.array(expected), abs=1e-6)


def test_the_signed_root_of_positives_alone_is_that_of_a_binomial():
    """There u is the log odds, times the root of their information."""
    a, b = 30, 14
    u = np.log(a / b) * np.sqrt(a * b / (a + b))
    r = np.sqrt(2 * (a * np.log(a / 22) + b * np.log(b / 22)))
    change = weighted.root_change(np.array([[a], [0], [b], [0.0]]), np.array([0.5]), 1e-9)
    assert change[0] == pytest.approx(np.log(u / r) / r, abs=1e-6)


def test_the_signed_root_keeps_its_level_where_counts_are_moderate():
    shares = np.array([60, 8, 6, 20, 10, 15, 0, 0]) / 1000
    shares[6] = 0.0083  # e3 + J e6 = e2 + J e7 with a J of about .6
    shares = project(np.append(shares[:7], 1 - shares[:7].sum()), "f1")
    sets = np.random.default_rng(1).multinomial(1000, shares, 40_000)
    for alpha in (0.05, 0.01):
        n_rejected = (likelihood_ratio(sets, correction="signed_root").pvalue <= alpha).sum()
        assert binom.ppf(1e-6, 40_000, 0.93 * alpha) <= n_rejected <= binom.isf(1e-6, 40_000, 1.1 * alpha)
