import itertools

import numpy as np
import pytest
from count_cases import within_binomial
from scipy.stats import binom, hypergeom

from harness.compare.learner_tests import HOLD_OUT, TESTS, Experiment, fold_sizes, held_out
from harness.compare.rates import meets
from harness.compare.simulated_null import (
    ENUMERATED,
    REFERENCES,
    STANDARD,
    Point,
    deal,
    enumerate_hold_out,
    hold_out_law,
    region_errors,
    simulate_block,
)


def simulate(point, tests, alpha, seed, start, stop):
    return simulate_block(point, Experiment(tests, [alpha], stop, seed), start, stop)


def test_enumeration_gives_the_published_values():
    found = enumerate_hold_out(STANDARD["random"], HOLD_OUT, [0.05])["rejected"][:, 0]
    assert dict(zip(HOLD_OUT, found.round(4).tolist(), strict=True)) == ENUMERATED


@pytest.mark.parametrize("halves", ["exact", "random"])
def test_law_of_the_hold_out_by_brute_force(halves):
    point = Point(halves, 0.1, 0.3, 0.1, 12, 0.5, 2, 2)
    (a1, a2), (b1, b2) = region_errors(point)
    expected = {}
    for first in range(7):
        weight = hypergeom.pmf(first, 12, 6, 6) if halves == "exact" else binom.pmf(first, 6, 0.5)
        chances = [(a1, b1)] * first + [(a2, b2)] * (6 - first)
        ways = {(0, 0, 0): weight}
        for a, b in chances:
            step = {(1, 0, 0): a * (1 - b), (0, 1, 0): b * (1 - a), (0, 0, 1): a * b}
            step[0, 0, 0] = 1 - sum(step.values())
            after = {}
            for (have, p), (more, q) in itertools.product(ways.items(), step.items()):
                key = tuple(np.add(have, more).tolist())
                after[key] = after.get(key, 0) + p * q
            ways = after
        for key, p in ways.items():
            expected[key] = expected.get(key, 0) + p
    cells, weight = hold_out_law(point)
    found = dict(zip(map(tuple, cells.tolist()), weight, strict=True))
    for key in expected:
        assert found.get(key, 0) == pytest.approx(expected[key], abs=1e-12)


@pytest.mark.parametrize("halves", ["exact", "random"])
def test_type_i_errors_near_the_references(halves):
    n_trials = 3000
    tests = list(TESTS)
    counts = sum(
        simulate(STANDARD[halves], tests, 0.05, 11, start, start + 1000)["rejected"][:, 0]
        for start in (0, 1000, 2000)
    )
    exact = enumerate_hold_out(STANDARD[halves], HOLD_OUT, [0.05])["rejected"][:, 0]
    expected = REFERENCES[halves] | dict(zip(HOLD_OUT, exact, strict=True))
    for test, count in zip(tests, counts, strict=True):
        slack = 0.0 if test in HOLD_OUT else 4 * np.sqrt(expected[test] * (1 - expected[test]) / 20_000)
        assert within_binomial(count, n_trials, expected[test] - slack, expected[test] + slack), test


def test_power_of_the_hold_out_is_the_enumerated_one():
    point = STANDARD["exact"]._replace(difference=0.06)
    counts = simulate(point, HOLD_OUT, 0.05, 3, 0, 1000)
    exact = enumerate_hold_out(point, HOLD_OUT, [0.05])
    for name in ("rejected", "for_a"):
        assert within_binomial(counts[name][:, 0], 1000, exact[name][:, 0])
    assert (exact["for_a"] > 0.9 * exact["rejected"]).all()


def test_examples_are_dealt_once():
    cells = np.array([[30, 20, 5], [0, 7, 0]])
    dealt = deal(cells, 100, fold_sizes(100, 10), np.random.default_rng(0))
    assert (dealt >= 0).all()
    assert (dealt.sum(axis=1) == cells).all()
    assert (dealt.sum(axis=-1) <= 10).all()
    some = deal(cells, 100, [40], np.random.default_rng(0))
    assert some.shape == (2, 1, 3)
    assert (some[:, 0] <= cells).all()


def test_structure_of_the_designs():
    rows = held_out(46, 3, 15, 10, np.random.default_rng(0))
    resamples, folds, halves = rows[:3], rows[3:13], rows[13:].reshape(5, 2, 46)
    assert (resamples.sum(axis=1) == 15).all()
    assert len({tuple(row) for row in resamples}) == 3
    assert (folds.sum(axis=0) == 1).all()
    assert sorted(folds.sum(axis=1)) == [4] * 4 + [5] * 6
    assert (halves.sum(axis=1) == 1).all()
    assert (halves.sum(axis=2) == 23).all()


def test_fewer_trials_are_the_first_of_more():
    point = STANDARD["exact"]._replace(n_examples=60)
    few = simulate(point, ["kfold_t"], 0.5, 0, 0, 100)["rejected"]
    more = simulate(point, ["kfold_t"], 0.5, 0, 0, 1000)["rejected"]
    assert 0 < few[0, 0] < more[0, 0] <= few[0, 0] + 900


def test_what_meets_a_reference():
    row = {
        "method": "simulation",
        "rate": 0.05,
        "n_trials": 20_000,
        "reference": 0.0555,
        "reference_se": 0.0016,
    }
    assert meets(row) == "yes"
    assert meets(row | {"reference": 0.060}) == "no"
    assert meets(row | {"reference": np.nan}) == ""
    exact = {"method": "enumeration", "rate": 0.02567, "reference": 0.0257, "reference_se": 0.0}
    assert meets(exact) == "yes"
    assert meets(exact | {"reference": 0.0258}) == "no"
