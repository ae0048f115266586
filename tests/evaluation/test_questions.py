"""Tests of one measure at different costs ask different questions: each has truths and nulls of its own."""

import functools
from functools import partial
from types import SimpleNamespace

import fake_nulls
import numpy as np
import pandas as pd
import pytest
from composing import configured

from harness import nulls
from harness.balance import Balance
from harness.cli.arguments import run_arguments
from harness.evaluation.rejections import Setting, ask
from harness.evaluation.sets import plan_evaluations
from harness.evaluation.under_nulls import NullSettings, evaluate_nulls
from harness.evaluation.under_rules import evaluate
from harness.measures import costs_text, dcf_difference
from harness.outcomes import Population
from harness.run.findings import null_warnings
from harness.runtime.parallel import run_here
from harness.significance.bayes import dirichlet
from harness.significance.wald import wald

# the costs at which DCF has no difference: 1 of a missed positive in the first category, 3 in the second
CELLS = 20 * np.array([[80, 8, 4, 8, 5, 8, 4, 83], [80, 8, 4, 8, 5, 14, 2, 79]])
POPULATION = Population("a-b", "natural", ("even", "dear"), CELLS)
COSTS = [{"cost_fn": cost_fn, "cost_fp": 1.0, "prior": 0.5} for cost_fn in (1.0, 3.0)]
DEAR = "test.dcf_eq9.cost_fn=3"


def configured_tests(*overrides):
    overrides = "out=unused", "parallel=sequential", *overrides
    return {test.name: test for test in run_arguments(configured("run", *overrides))["evaluation"]["tests"]}


@functools.cache
def every_test():
    return configured_tests("test=[mcnemar,dcf,dcf_eq9]", DEAR)


def chosen(*names):
    return [every_test()[name] for name in names]


def make_run(stage, *inputs):
    return run_here


def setting(tests):
    return Setting(tests, [0.05], [50], 40, seed=0, make_run=make_run, describe={})


def judged(tests, rules):
    plans, _ = plan_evaluations([POPULATION], {"natural": Balance()})
    return evaluate(plans, setting(tests), rules, 100)


# --- under the rules -------------------------------------------------------------------------------


@pytest.mark.parametrize("names", [("dcf", "dcf_eq9"), ("dcf_eq9", "dcf")])
def test_each_test_is_judged_at_its_own_costs(names):
    table = judged(chosen(*names), {"exact_zero": nulls.exact_zero})
    kinds = table.set_index(["test", "category"])["kind"].to_dict()
    assert kinds == {
        ("dcf", "even"): "size",
        ("dcf", "dear"): "power",
        ("dcf_eq9", "even"): "power",
        ("dcf_eq9", "dear"): "size",
    }


def test_a_test_beside_others_has_the_rows_that_it_has_alone():
    rules = {"margin": nulls.margin, "sampling_interval": nulls.sampling_interval}
    together = judged(chosen("dcf", "mcnemar", "dcf_eq9"), rules)
    assert len(together) == 3 * 2 * 2
    for name in ("dcf", "mcnemar", "dcf_eq9"):
        alone = judged(chosen(name), rules)
        rows = together[together["test"] == name].reset_index(drop=True)
        pd.testing.assert_frame_equal(rows, alone)


def test_equal_costs_are_one_question_however_they_are_written():
    tests = [*configured_tests("test=[dcf,dcf_eq9,mcnemar]", "test.dcf.cost_fn=3.0", DEAR).values()]
    assert [costs_text(question.costs) for question in ask(tests)] == ["cost_fn=3;cost_fp=1;prior=0.5", ""]
    assert len(judged(tests, {"margin": nulls.margin})) == 2 * 3  # categories, tests


def test_costs_have_one_text():
    assert costs_text({"prior": 0.1, "cost_fn": 2}) == costs_text({"cost_fn": 2.0, "prior": 0.1})
    assert costs_text({"cost_fn": 1 / 3}) != costs_text({"cost_fn": 0.333333333333})
    assert costs_text({}) == ""


def test_the_population_is_tested_at_the_costs_asked_for():
    for costs in COSTS:
        expected = wald(CELLS, "dcf", **costs).pvalue > 0.05
        assert expected.sum() == 1
        difference = partial(dcf_difference, **costs)
        for options in ({}, {"cost_fn": 50.0}):  # the question's costs come first
            tests = {"dcf": partial(wald, measure="dcf", **options)}
            holds = nulls.population_test(CELLS, difference, measure="dcf", tests=tests, costs=costs)
            np.testing.assert_array_equal(holds, expected)


def test_a_population_test_takes_its_costs_in_its_own_way():
    seen = []

    def bare(counts):
        return SimpleNamespace(pvalue=np.ones(len(counts)))

    def whole(counts, prior=0.25, costs=None):
        seen.append((prior, costs))
        return bare(counts)

    for test in (bare, whole):
        assert nulls.population_test(CELLS, None, measure="dcf", tests={"dcf": test}, costs=COSTS[1]).all()
    assert seen == [(0.25, COSTS[1])]
    posterior = partial(dirichlet, measure="dcf", n_replicates=2000, rng=np.random.default_rng(0))
    holds = [
        nulls.population_test(CELLS, None, measure="dcf", tests={"dcf": posterior}, costs=costs).tolist()
        for costs in COSTS
    ]
    assert holds == [[True, False], [False, True]]


# --- under exact nulls -----------------------------------------------------------------------------


def test_nulls_tell_their_costs():
    cells = np.stack([CELLS[0], [80, 8, 0, 12, 5, 0, 4, 91]])
    lacking = Population("a-b", "natural", ("even", "none"), cells)
    plans, _ = plan_evaluations([lacking], {"natural": Balance()})
    tests = chosen("mcnemar", "dcf", "dcf_eq9")
    wanted = NullSettings({"exact_null": nulls.exact_null}, 40, 20, [], 20, [0], [50], None)
    found = evaluate_nulls(plans, setting(tests), wanted)
    (table,) = found.nulls
    assert list(table.columns)[4:6] == ["measure", "costs"]
    assert table["costs"].tolist() == [
        text for text in ("", *map(costs_text, COSTS)) for _ in lacking.categories
    ]
    for costs in COSTS:
        rows = table[(table["costs"] == costs_text(costs)) & (table["category"] == "even")]
        assert abs(dcf_difference(rows[[f"e{i}" for i in range(1, 9)]].to_numpy(), **costs)) <= 1e-8
    assert len(set(found.warnings)) == len(found.warnings) == 3
    assert len(set(null_warnings(table))) == 3


def test_warnings_count_categories_at_each_set_of_costs():
    one = fake_nulls.nulls(fake_nulls.size_power(pairs=["linear_svm-mlp"], balances=["natural"]))
    error = one[one["measure"] == "error"].assign(measure="dcf", costs="cost_fn=1;cost_fp=1;prior=0.5")
    other = error.assign(costs="cost_fn=2;cost_fp=1;prior=0.5", e1=0.125)
    assert null_warnings(error)[0].split(" for ")[1].startswith("dcf and are left out")
    (told,) = null_warnings(pd.concat([error, other]))
    assert "1 of 20 categories" in told
    assert "for dcf (cost_fn=1;cost_fp=1;prior=0.5) and are" in told
    assert null_warnings(one.drop(columns="costs")) == null_warnings(one.assign(costs=np.nan))
