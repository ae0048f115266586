"""The advisor's parts: tilted populations, ranges, powers, items needed and the choice of a test."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import binom, norm

from harness.advice.needed import needed_items
from harness.advice.points import Plan, points_of, populations_of, run_points
from harness.advice.rates import detectable, needed_h, power_table, range_of_sizes, size_table
from harness.advice.recommend import recommend
from harness.advice.tilt import tilted
from harness.measures import difference
from harness.nulls import NoAlternative, divergence, project
from harness.parallel import run_here
from harness.rejections import Test
from harness.significance.mcnemar import mcnemar

CELLS = np.array([60, 9, 6, 10, 5, 12, 8, 390])
Q = 1 - 1e-6


def mcnemar_test(variant):
    from functools import partial

    return Test(variant, "error", difference("error"), partial(mcnemar, variant=variant))


TESTS = [mcnemar_test("midp"), mcnemar_test("corrected"), mcnemar_test("uncorrected")]


@given(st.lists(st.integers(1, 400), min_size=8, max_size=8), st.sampled_from(["f1", "error", "recall"]))
@settings(max_examples=60, deadline=None)
def test_a_tilted_population_has_the_difference(cells, measure):
    null = project(cells, measure)
    measured = difference(measure)
    for wanted in (0.002, -0.002):
        try:
            shares = tilted(null, wanted, measure)
        except NoAlternative:
            continue
        assert abs(shares.sum() - 1) < 1e-12
        assert (shares > 0).all()
        assert measured(shares) == pytest.approx(wanted, abs=1e-9)


def test_for_the_error_the_tilt_is_the_nearest_population():
    null = project(CELLS, "error")
    wanted = 0.02
    measured = difference("error")
    shares = tilted(null, wanted, "error")
    constraints = [
        {"type": "eq", "fun": lambda q: q.sum() - 1},
        {"type": "eq", "fun": lambda q: float(measured(q)) - wanted},
    ]
    start = shares * np.exp(np.random.default_rng(0).normal(0, 0.05, 8))
    found = minimize(
        lambda q: float((q * np.log(q / null)).sum()), start / start.sum(), constraints=constraints,
        method="SLSQP", bounds=[(1e-9, 1)] * 8, options={"maxiter": 500, "ftol": 1e-13},
    )  # fmt: skip
    assert divergence(shares, null) <= found.fun + 1e-8


def test_a_difference_out_of_reach_is_refused():
    null = project([50, 0, 0, 0, 0, 1, 1, 9948], "error")
    with pytest.raises(NoAlternative, match="too far from the null"):
        tilted(null, 0.2, "error")


def test_a_pair_with_one_sided_outcomes_gets_half_a_document():
    found = populations_of([50, 0, 0, 0, 0, 0, 6, 30], "error", {}, 3, np.random.default_rng(0))
    assert any("half a document was added" in note for note in found.notes)
    assert difference("error")(found.null) == pytest.approx(0, abs=1e-9)


def test_the_size_is_that_of_enumeration():
    """The size of the mid-p test under a null, by summing over the discordant documents."""
    n = 80
    population = populations_of(CELLS, "error", {}, 2, np.random.default_rng(0))
    plan = Plan(n_sets=20_000, n_range_sets=100, n_power_sets=100, h=(2.0,), factors=(1.0,))
    points, _ = points_of("a-b", population, n, "error", {}, plan)
    measured = run_points(points, TESTS, 0.05, 0, run_here)
    discordant = float(population.null[[1, 2, 5, 6]].sum())
    expected = 0.0
    for m in range(n + 1):
        counts = np.zeros((m + 1, 8), dtype=int)
        counts[:, 6], counts[:, 5], counts[:, 7] = np.arange(m + 1), m - np.arange(m + 1), n - m
        rejects = mcnemar(counts, "midp").pvalue <= 0.05
        expected += binom.pmf(m, n, discordant) * binom.pmf(np.arange(m + 1), m, 0.5)[rejects].sum()
    sizes = size_table(measured, 0.05).set_index("test")
    low, high = binom.ppf([1 - Q, Q], 20_000, expected) / 20_000
    assert low <= sizes.loc["midp", "size"] <= high


def test_the_range_is_free_of_the_noise_of_counting():
    generator = np.random.default_rng(1)
    sizes = generator.uniform(0.03, 0.06, 400)
    low, high = range_of_sizes(generator.binomial(500, sizes), 500)
    np.testing.assert_allclose([low, high], [0.033, 0.057], atol=0.003)
    raw = np.quantile(generator.binomial(500, sizes) / 500, [0.1, 0.9])
    assert raw[0] < low
    assert high < raw[1]


def test_a_power_curve_is_read_where_it_passes():
    h = np.array([1.0, 2.0, 3.0, 4.0])
    power = norm.cdf(h - 1.96)
    assert needed_h(h, power, 0.8) == pytest.approx(1.96 + norm.ppf(0.8), abs=1e-6)
    assert np.isnan(needed_h(h, power * 0.7, 0.8))


def test_the_smallest_difference_is_that_of_theory_for_many_items():
    population = populations_of(CELLS * 100, "error", {}, 2, np.random.default_rng(0))
    plan = Plan(n_sets=100, n_range_sets=100, n_power_sets=4000, factors=(1.0, 4.0))
    points, notes = points_of("a-b", population, 50_000, "error", {}, plan)
    seen = detectable(power_table(run_points(points, TESTS, 0.05, 0, run_here)), 0.8)
    sd = float(np.sqrt(population.null[[1, 2, 5, 6]].sum()))
    own = seen[seen["test"] == "uncorrected"].set_index("n_documents")["difference"]
    assert not notes
    for n in (50_000, 200_000):
        assert own[n] == pytest.approx((1.96 + norm.ppf(0.8)) * sd / np.sqrt(n), rel=0.03)


@pytest.mark.parametrize("power", [0.8, 0.95])
def test_the_items_needed_reach_the_power(power):
    null = tuple(project(CELLS, "error").tolist())
    found = needed_items(TESTS, 0, null, 0.02, power, 0.05, {}, "a-b", 0)
    sd = float(np.sqrt(np.array(null)[[1, 2, 5, 6]].sum()))
    expected = (sd * (1.96 + norm.ppf(power)) / 0.02) ** 2
    assert int(found["n_items"]) == pytest.approx(expected, rel=0.12)
    assert abs(float(found["power"]) - power) < 0.03


def test_a_difference_that_none_can_have_needs_no_number():
    null = tuple(project([50, 0, 0, 0, 0, 1, 1, 9948], "error").tolist())
    found = needed_items(TESTS, 0, null, 0.3, 0.8, 0.05, {}, "a-b", 0)
    assert int(found["n_items"]) == 0
    assert np.isnan(found["power"])


def tables(highs, powers):
    names = list(highs)
    sizes = pd.DataFrame(
        {"test": names, "size": [0.8 * h for h in highs.values()], "mc_high": highs.values()}
    ).assign(range_high=np.nan)
    return sizes, pd.DataFrame({"test": names, "power": [powers[name] for name in names]}), names


def test_of_equals_the_plainest_is_taken():
    sizes, power, order = tables({"a": 0.05, "b": 0.05, "c": 0.05}, {"a": 0.6, "b": 0.605, "c": 0.5})
    found = recommend(sizes, power, order, 0.05)
    assert found.test == "a"
    assert found.keeps_level
    assert "b equal it" in found.reason


def test_power_does_not_buy_a_liberal_test():
    sizes, power, order = tables({"liberal": 0.09, "safe": 0.03}, {"liberal": 0.9, "safe": 0.4})
    found = recommend(sizes, power, order, 0.05)
    assert found.test == "safe"
    assert "liberal may reject too often" in found.reason


def test_where_none_keeps_its_level_the_least_liberal_is_named():
    sizes, power, order = tables({"x": 0.09, "y": 0.07}, {"x": 0.9, "y": 0.4})
    found = recommend(sizes, power, order, 0.05)
    assert found.test == "y"
    assert not found.keeps_level
    assert "no test is sure" in found.reason


def test_no_power_is_said():
    sizes, power, order = tables({"x": 0.01}, {"x": 0.02})
    assert "any power to speak of" in recommend(sizes, power, order, 0.05).reason
