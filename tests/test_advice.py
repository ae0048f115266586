"""The advisor's parts: tilted populations, ranges, powers, items needed and the choice of a test."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import binom, norm

from harness.advice.document_points import MOST_SETS
from harness.advice.needed import MOST_ITEMS, needed_items, search_items
from harness.advice.points import (
    POWER,
    SIZE,
    Plan,
    place_points,
    plan_at,
    points_of,
    populations_of,
    run_points,
)
from harness.advice.rates import detectable, needed_h, power_table, range_of_sizes, size_table
from harness.advice.recommend import recommend
from harness.advice.report import FEW, describe, describe_fewer, findings
from harness.advice.tilt import tilted
from harness.measures import difference
from harness.nulls import NoAlternative, divergence, project
from harness.parallel import run_here
from harness.rejections import Test
from harness.significance.mcnemar import mcnemar
from harness.significance.wald import wald

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


def exact_power(shares, n, alpha=0.05):
    """Power of the mid-p test in A's or B's favour, whichever the population has, by enumeration."""
    one, two = shares[[2, 5]].sum(), shares[[1, 6]].sum()
    share = max(one, two) / (one + two)
    at_least, at_most = binom.ppf([1e-9, 1 - 1e-9], n, one + two)
    total = 0.0
    for m in range(int(at_least), int(at_most) + 1):
        k = np.arange(m + 1)
        midp = np.minimum(1.0, 2 * (binom.sf(k, m, 0.5) + binom.pmf(k, m, 0.5) / 2))
        rejected = (midp <= alpha + 1e-12) & (2 * k > m)
        total += binom.pmf(m, n, one + two) * binom.pmf(k, m, share)[rejected].sum()
    return total


def random_need(seed):
    generator = np.random.default_rng(seed)
    null = project(generator.integers(1, 300, 8) * [3, 1, 1, 3, 3, 1, 1, 3], "error")
    discordant = float(null[[1, 2, 5, 6]].sum())
    return null, generator.uniform(0.15, 0.6) * discordant, float(generator.uniform(0.3, 0.97))


@pytest.mark.parametrize("block", range(6))
def test_the_items_found_have_the_power_of_enumeration(block, monkeypatch):
    monkeypatch.setattr("harness.advice.needed.N_SETS", 400)
    for seed in range(50 * block, 50 * block + 50):
        null, wanted, power = random_need(seed)
        found = needed_items(TESTS, 0, tuple(null.tolist()), wanted, power, 0.05, {}, "a-b", seed)
        n = int(found["n_items"])
        exact = exact_power(tilted(null, wanted, "error"), n)
        noise = np.sqrt(power * (1 - power) / 400)
        # 2 of tolerance and 4 of counting, the worse of two being lower by half of one; else it leaps over it
        near = abs(exact - power) <= 6.5 * noise + 0.002
        assert near or (exact > power > exact_power(tilted(null, wanted, "error"), n - 1) - 6 * noise), seed


@given(
    st.floats(0.01, 0.6), st.floats(0.3, 3), st.floats(0.1, 0.98), st.integers(0, 10**6), st.floats(0.2, 4)
)
@example(0.015625, 1.0, 0.28125, 0, 0.203125)  # a single item has more power than is wanted
@settings(max_examples=300, deadline=None)
def test_the_search_ends_at_the_power_or_where_it_is_leapt_over(slope, spread, power, seed, steepness):
    """Power curves of any steepness, measured with noise, whatever a z test would have expected."""
    generator, n_sets, tried = np.random.default_rng(seed), 1_000, {}

    def true_power(n):
        return float(norm.cdf((slope * np.sqrt(n) - 1.96) * steepness))

    def reached(n, attempt):
        tried[n] = generator.binomial(n_sets, true_power(n)) / n_sets
        return tried[n]

    found = search_items(reached, spread, spread * slope, power, 0.05, n_sets)
    n, share = int(found["n_items"]), float(found["power"])
    assert n in tried
    tolerance = 2 * np.sqrt(power * (1 - power) / n_sets)
    if abs(share - power) > tolerance:
        assert share > power
        assert n == min(number for number, value in tried.items() if value >= power)
        assert n == 1 or max(m for m, value in tried.items() if value < power) >= min(n - 1, n / 1.011)
    assert true_power(n) > power - tolerance - 5 * np.sqrt(power * (1 - power) / n_sets)


def test_a_power_that_is_never_reached_has_no_number():
    found = search_items(lambda n, _: 0.5, 1.0, 0.1, 0.8, 0.05, 1_000)
    assert (int(found["n_items"]), float(found["power"])) == (0, 0.5)
    found = search_items(lambda n, _: float(n >= MOST_ITEMS), 1.0, 0.1, 0.8, 0.05, 1_000)
    assert MOST_ITEMS / 1.02 < int(found["n_items"]) <= MOST_ITEMS
    found = search_items(lambda n, _: 1.0, 1.0, 1e-5, 0.8, 0.05, 1_000)
    assert int(found["n_items"]) == 0
    assert 0 < float(found["power"]) < 0.1


def test_a_leap_ends_at_the_smallest_number_that_reaches_it():
    found = search_items(lambda n, _: float(n >= 137), 1.0, 0.1, 0.8, 0.05, 1_000)
    assert (int(found["n_items"]), float(found["power"])) in {(137, 1.0), (138, 1.0)}
    assert int(search_items(lambda n, _: 1.0, 1.0, 0.5, 0.8, 0.05, 1_000)["n_items"]) == 1


def test_a_difference_that_none_can_have_needs_no_number():
    null = tuple(project([50, 0, 0, 0, 0, 1, 1, 9948], "error").tolist())
    found = needed_items(TESTS, 0, null, 0.3, 0.8, 0.05, {}, "a-b", 0)
    assert int(found["n_items"]) == 0
    assert np.isnan(found["power"])


# --- both directions -------------------------------------------------------------------------------

UNEVEN = np.array([30, 0, 8, 10, 3, 1, 1, 300])
SWAPPED = UNEVEN[[0, 2, 1, 3, 4, 6, 5, 7]]


def wald_test():
    from functools import partial

    return Test("wald_f1", "f1", difference("f1"), partial(wald, measure="f1"))


def measure_uneven(cells, n_sets=4_000, seed=0):
    population = populations_of(cells, "f1", {}, 2, np.random.default_rng(0))
    plan = Plan(n_sets=100, n_range_sets=100, n_power_sets=n_sets, h=(1.0, 2.0, 2.8), factors=(1.0,))
    points, notes = points_of("a-b", population, int(cells.sum()), "f1", {}, plan)
    return power_table(run_points(points, [wald_test()], 0.05, seed, run_here)), notes


def test_power_is_the_mean_of_both_directions_and_what_is_seen_of_the_worse():
    power, notes = measure_uneven(UNEVEN)
    other, _ = measure_uneven(SWAPPED, seed=1)
    assert not notes
    last, swapped = power.iloc[-1], other.iloc[-1]
    assert abs(last["power_a"] - last["power_b"]) > 0.1
    assert last["power"] == pytest.approx((last["power_a"] + last["power_b"]) / 2)
    assert last["n_sets"] == 4_000
    noise = 4 * np.sqrt(2 * 0.25 / 2_000)
    assert swapped["power"] == pytest.approx(last["power"], abs=noise)
    assert swapped["power_a"] == pytest.approx(last["power_b"], abs=noise)
    wanted = 0.5
    seen, seen_swapped = (detectable(table, wanted)["h"].iloc[0] for table in (power, other))
    worse = needed_h(power["h"].to_numpy(), power[["power_a", "power_b"]].min(axis=1).to_numpy(), wanted)
    assert seen == pytest.approx(worse)
    assert seen_swapped == pytest.approx(seen, abs=0.2)


def test_swapped_systems_need_as_many_items():
    nulls = [tuple(project(cells, "f1").tolist()) for cells in (UNEVEN, SWAPPED)]
    one, two = (
        int(needed_items([wald_test()], 0, null, 0.1, 0.8, 0.05, {}, "a-b", seed)["n_items"])
        for seed, null in enumerate(nulls)
    )
    assert one == pytest.approx(two, rel=0.06)
    powers = []
    for wanted in (0.1, -0.1):
        shares = tilted(nulls[0], wanted, "f1")
        sets = np.random.default_rng(5).multinomial(one, shares, size=20_000)
        right = np.sign(difference("f1")(sets)) == np.sign(wanted)
        powers.append(((wald(sets, "f1").pvalue <= 0.05) & right).mean())
    assert min(powers) == pytest.approx(0.8, abs=0.03)


def test_a_direction_without_a_population_leaves_the_other():
    def tilt(wanted):
        if wanted < -0.15:
            raise NoAlternative("too far")
        return np.full(8, 1 / 8)

    population = populations_of(CELLS, "error", {}, 2, np.random.default_rng(0))
    plan = Plan(n_sets=100, n_range_sets=100, n_power_sets=101, h=(1.0, 2.0, 3.0), factors=(1.0,))
    points, notes = place_points("a-b", population, 100, plan, 1.0, tilt)
    powers = [(point.value, point.n_sets) for point in points if point.role == POWER]
    assert powers == [(1.0, 51), (-1.0, 51), (2.0, 101), (3.0, 101)]
    assert notes == ["a-b, 100 items: no population like this one differs by -0.2"]
    rows = [
        ("a-b", POWER, 100, h, h / 10, "t", 100, n, 0, 0)
        for h, n in ((1.0, 30), (-1.0, 20), (2.0, 90), (3.0, 99))
    ]
    columns = ["pair", "role", "n_documents", "value", "difference", "test", "n_sets", "n_rejected"]
    table = power_table(pd.DataFrame(rows, columns=[*columns, "n_wrong_direction", "n_degenerate"]))
    assert table["power"].tolist() == [0.25, 0.9, 0.99]
    assert table["power_b"].isna().tolist() == [False, True, True]
    assert 1 < detectable(table, 0.8)["h"].iloc[0] < 2


# --- the level -------------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [0.05, 0.01])
def test_counting_noise_does_not_rule_out_a_perfect_test(alpha):
    """A test whose size is alpha everywhere is passed over in at most 2 % of runs."""
    generator, plan, n_out = np.random.default_rng(3), plan_at(Plan(), alpha), 0
    for _ in range(200):
        size = generator.binomial(plan.n_sets, alpha) / plan.n_sets
        drawn = generator.binomial(plan.n_range_sets, alpha, plan.n_draws)
        high = range_of_sizes(drawn, plan.n_range_sets)[1]
        sizes = pd.DataFrame({"test": ["t"], "size": size, "mc_high": 1.4 * alpha, "range_high": high})
        power = pd.DataFrame({"test": ["t"], "power": [0.5]})
        n_out += not recommend(sizes, power, ["t"], alpha).keeps_level
    assert n_out <= 4


def test_a_liberal_test_is_ruled_out_by_its_size_or_its_range():
    power = pd.DataFrame({"test": ["t"], "power": [0.5]})
    for size, high, kept in ((0.0601, 0.05, False), (0.05, 0.0601, False), (0.06, 0.06, True)):
        sizes = pd.DataFrame({"test": ["t"], "size": size, "mc_high": 0.065, "range_high": high})
        assert recommend(sizes, power, ["t"], 0.05).keeps_level == kept


def test_a_small_level_takes_more_sets_up_to_a_bound():
    assert plan_at(Plan(), 0.1) == Plan()
    assert plan_at(Plan(n_sets=100, n_range_sets=10), 0.025)[:3] == (200, 40, 20)
    population = populations_of(CELLS, "error", {}, 2, np.random.default_rng(0))
    points, _ = points_of("a-b", population, 100, "error", {}, Plan(), 0.001)
    assert {point.n_sets for point in points if point.role == SIZE} == {25_000}


# --- the choice and its words ----------------------------------------------------------------------


def tables(highs, powers):
    names = list(highs)
    sizes = pd.DataFrame(
        {"test": names, "size": [0.8 * h for h in highs.values()], "mc_high": highs.values()}
    ).assign(range_high=list(highs.values()))
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


def test_where_no_range_was_measured_the_reason_says_so():
    sizes, power, order = tables({"x": 0.05}, {"x": 0.7})
    own = recommend(sizes, power, order, 0.05)
    assert "x keeps the 0.05 level here: it rejects 4.0 % of true hypotheses, up to 5.0 % with its error" in (
        own.reason
    )
    other = recommend(sizes.assign(range_high=np.nan), power, order, 0.05)
    assert other.keeps_level
    assert "keeps the 0.05 level" not in other.reason
    assert "was not measured at this number of items" in other.reason


def found_at(n_other, keeps, size, powers, n_sets=1_000, alpha=0.05):
    """Findings of a file of 100 items on which `old` is recommended, and `new` at another number."""
    rows = [("p-q", 100, "old", True, "old keeps it"), ("p-q", n_other, "new", keeps, "new keeps it")]
    tables = {
        "recommendations": pd.DataFrame(
            rows, columns=["pair", "n_documents", "test", "keeps_level", "reason"]
        ),
        "sizes": pd.DataFrame(
            {"pair": "p-q", "n_documents": n_other, "test": ["old", "new"], "mc_low": [size, 0.04]}
        ),
        "power": pd.DataFrame(
            {"pair": "p-q", "n_documents": n_other, "test": ["old", "new"], "power": powers, "n_sets": n_sets}
        ),
        "detectable": pd.DataFrame(
            {"pair": "p-q", "n_documents": 100, "test": "old", "power_wanted": 0.8, "difference": [0.05]}
        ),
        "needed": pd.DataFrame(
            {"pair": "p-q", "power_wanted": [0.8, 0.95], "n_items": [50, None], "power": [0.8, 0.4]}
        ),
        "verdicts": pd.DataFrame(
            {"pair": "p-q", "recommended": [True], "pvalue": 0.2, "pvalue_holm": 0.2, "difference": 0.01,
             "low": -0.01, "high": 0.03}
        ),
    }  # fmt: skip
    return tables, findings(tables, 100, 0.01, alpha, "error")


def test_another_test_is_named_only_where_it_would_surely_be_better():
    words = "another test would be better: 200 items: new"
    assert words in found_at(200, True, 0.04, [0.5, 0.6])[1][-1]
    assert words in found_at(200, True, 0.07, [0.5, 0.5])[1][-1]  # the old one is liberal there
    assert not any("another test" in line for line in found_at(200, True, 0.04, [0.5, 0.52])[1])  # noise
    last = found_at(200, False, 0.07, [0.5, 0.6])[1][-1]
    assert last == "p-q: with 200 items no test is sure to keep the level"


def test_items_needed_are_told_apart_where_there_is_no_number():
    tables, found = found_at(200, True, 0.04, [0.5, 0.5])
    assert found[0] == "p-q: use old; it keeps it"
    words = "it needs 50 items for a power of 80 % and more than ten million items for a power of 95 %"
    assert any(words in line for line in found)
    tables["needed"] = tables["needed"].assign(n_items=None, power=np.nan)
    found = findings(tables, 100, 0.01, 0.05, "error")
    assert "p-q: no population like this one differs by as much as 0.01" in found


def test_the_sets_of_tests_that_draw_replicates_are_told():
    sizes = pd.DataFrame({"test": ["wald_by_document", "bootstrap_by_document"]})
    (line,) = describe_fewer(sizes, 0.05, Plan())
    numbers = f"{MOST_SETS[SIZE]:,} sets for a size, 40 populations of 100 sets"
    assert line.startswith(f"Of these, bootstrap_by_document see {numbers}")
    assert "200 sets for a point" in line
    assert describe_fewer(sizes[:1], 0.05, Plan()) == []


@pytest.mark.parametrize(("alpha", "told"), [(0.1, False), (0.05, False), (0.01, False), (0.005, True)])
def test_it_is_told_where_counting_noise_may_decide(alpha, told):
    facts = {"name": "p.csv", "n_items": 100, "systems": ["a", "b"]}
    lines = describe(facts, "yes or no", "f1", alpha, Plan(), 0)
    assert (FEW in lines) == told
    assert f"{plan_at(Plan(), alpha).n_sets:,} sets for a size" in " ".join(lines)
