"""Sizes under exact nulls against enumeration; the same bytes beside other truths; what is refused."""

import itertools
from functools import partial

import numpy as np
import pandas as pd
import pytest
from composing import configured, tabulated
from count_cases import within_binomial
from refusal import refusal
from scipy import stats

from harness import nulls
from harness.balance import Balance
from harness.cli.arguments import run_arguments
from harness.evaluation.null_sets import FEW_ALPHA, count_sets
from harness.evaluation.rejections import Setting, Test, ask, decide
from harness.evaluation.sets import plan_evaluations
from harness.evaluation.under_nulls import NullSettings, evaluate_nulls
from harness.measures import difference, error_difference
from harness.outcomes import Population, write_outcomes
from harness.runtime.parallel import run_here
from harness.significance.result import TestResult

NAMES = ("apart", "close", "same", "alike", "one-sided")
CELLS = np.array(
    [
        [30, 4, 14, 12, 8, 3, 9, 120],
        [40, 9, 8, 10, 5, 7, 4, 117],
        [30, 5, 5, 10, 6, 4, 4, 136],  # no difference in any measure
        [30, 0, 0, 10, 6, 0, 0, 154],  # not one discordant document
        [30, 0, 9, 10, 6, 4, 0, 141],  # only B errs alone: no null
    ]
)
POPULATION = Population("a-b", "natural", NAMES, CELLS)
ANALYTIC = (
    "mcnemar,mcnemar_uncorrected,mcnemar_exact,mcnemar_midp,proportion,wald_error,"
    "wald_f1,likelihood_ratio_f1,randomization_f1_midp"
)
ALPHAS = (0.002, 0.05, 0.2)
N = 9


def arguments(*overrides):
    return run_arguments(configured("run", "out=unused", "parallel=sequential", *overrides))


def make_run(stage, *inputs):
    return run_here


def study(tests, balances=None, makers=None, **options):
    """Evaluate both nulls on the small population; return the three tables and the warnings."""
    plans, _ = plan_evaluations([POPULATION], balances or {"natural": Balance()})
    makers = makers or {"exact_null": nulls.exact_null, "joint_null": nulls.joint_null_of}
    usual = {
        "n_sets": 4000, "n_replicate_sets": 2000, "replicate_tests": [], "n_pooled": 60, "h": [0, 1],
        "path_sizes": [N], "prevalence_sizes": None,
    }  # fmt: skip
    setting = Setting(tests, options.pop("alphas", ALPHAS), options.pop("sizes", [N]), 4000, 0, make_run, {})
    found = evaluate_nulls(plans, setting, NullSettings(makers, **usual | options))
    tables = (pd.concat(tables, ignore_index=True) for tables in found[:3])
    return (*tables, found.warnings)


DRAWING = ["bootstrap_f1", "bootstrap_f1_symmetric"]


@pytest.fixture(scope="module")
def every_test():
    return arguments(f"test=[{ANALYTIC},{','.join(DRAWING)}]", "n_replicates=200")["evaluation"]["tests"]


@pytest.fixture(scope="module")
def analytic(every_test):
    return [test for test in every_test if test.name not in DRAWING]


@pytest.fixture(scope="module")
def found(analytic):
    return study(analytic)


@pytest.fixture(scope="module")
def every_set():
    """All evaluation sets of N documents."""
    bars = np.array(list(itertools.combinations(range(N + 7), 7)))
    edges = np.concatenate([np.full((len(bars), 1), -1), bars, np.full((len(bars), 1), N + 7)], axis=1)
    return np.diff(edges, axis=1) - 1


# --- rates -----------------------------------------------------------------------------------------


def test_sizes_and_powers_are_those_of_all_sets_weighed(found, analytic, every_set):
    """Every set of N = 9 documents (11,440) weighed by its multinomial probability under each population."""
    by_category, _, null_table, _ = found
    cells = [f"e{i}" for i in range(1, 9)]
    shares = null_table.set_index(["truth", "measure", "category"])[cells]
    tests, n_checked = {test.name: test for test in analytic}, 0
    for (name, truth, kind, category), rows in by_category.groupby(["test", "truth", "kind", "category"]):
        test = tests[name]
        real = CELLS[NAMES.index(category)] / CELLS[NAMES.index(category)].sum()
        p = shares.loc[(truth, test.measure, category)].to_numpy() if kind == "size" else real
        weights = stats.multinomial.pmf(every_set, N, p / p.sum())
        pvalue, wrong = test.pvalue(every_set).pvalue, np.zeros(len(every_set), dtype=bool)
        if kind == "power":
            wrong = test.difference(every_set) * test.difference(real) < 0
        for row in rows.itertuples():
            rejected = pvalue <= row.alpha
            assert row.n_sets == 4000
            assert within_binomial(row.n_rejected, 4000, weights[rejected].sum())
            assert within_binomial(row.n_wrong_direction, 4000, weights[rejected & wrong].sum())
            counted = row.n_rejected - (row.n_wrong_direction if kind == "power" else 0)
            assert row.rate == counted / 4000
            n_checked += 1
    assert n_checked > 250


def test_tests_with_replicates_get_the_first_sets_and_no_small_level(analytic, every_test):
    tests = [analytic[-1], *(test for test in every_test if test.name in DRAWING)]
    by_category, path, _, _ = study(tests, n_sets=300)
    few = by_category[
        by_category["test"].str.startswith("bootstrap") & (by_category["truth"] == "exact_null")
    ]
    assert (few["alpha"] >= FEW_ALPHA).all()
    each = few.groupby("kind")["n_sets"].unique()
    assert (each["size"], each["power"]) == ([15], [20])  # 60 over four nulls, over three with a power
    assert set(by_category.loc[by_category["test"] == analytic[-1].name, "n_sets"]) == {300}
    on_path = path[path["test"].isin(set(few["test"]))]
    assert set(on_path["h"]) == {0, 1}
    assert (on_path["n_sets"] == -(-60 // on_path["n_categories"])).all()
    assert set(path.loc[~path["test"].isin(set(few["test"])), "n_sets"]) == {300}
    sets = np.random.default_rng(1).multinomial(200, CELLS[0] / CELLS[0].sum(), size=40)
    (question,), n_each = ask(tests), [20] * len(tests)
    whole, part = (count_sets(s, tests, ALPHAS, n_each, question, 0, 0, ("x",)) for s in (sets, sets[:20]))
    for name in ("n_rejected", "n_degenerate"):
        assert (whole[name][1:] == part[name][1:]).all()


# --- populations -----------------------------------------------------------------------------------


def test_nulls_table_tells_what_was_drawn_from(found):
    _, _, table, told = found
    cells = table[[f"e{i}" for i in range(1, 9)]].to_numpy()
    there = ~np.isnan(cells[:, 0])
    for measure in ("f1", "error"):
        rows = there & (table["measure"] == measure).to_numpy()
        assert np.abs(difference(measure)(cells[rows])).max() <= 1e-8
    assert (table["reason"].to_numpy()[there] == "").all()
    lacking = table[~there]
    assert set(lacking["category"]) == {"one-sided"}
    assert lacking["reason"].str.len().min() > 10
    assert len(told) == len(lacking)
    assert all("1 of 5 categories" in sentence and "one-sided" in sentence for sentence in told)
    apart = table[(table["category"] == "apart") & (table["measure"] == "error")].iloc[0]
    d, m = (4 + 9 - 14 - 3) / 200, 30 / 200
    assert apart["distance"] == pytest.approx(abs(d) / np.sqrt(m - d**2), rel=1e-6)
    assert apart["disagreement"] == pytest.approx(m)


def test_what_qualifies_for_size_and_for_power(found):
    by_category, path, _, _ = found
    held = by_category.groupby(["truth", "kind"])["category"].unique()
    assert set(held["exact_null", "size"]) == {"apart", "close", "same", "alike"}
    assert set(held["exact_null", "power"]) == {"apart", "close", "one-sided"}
    assert set(held["joint_null", "size"]) == set(NAMES)
    assert ("joint_null", "power") not in held
    assert by_category.loc[by_category["category"] == "alike", "dead"].all()
    assert (by_category.loc[by_category["category"] == "alike", "n_degenerate"] == 4000).all()
    at_one = path[path["h"] == 1]
    assert (at_one["n_categories"] + at_one["n_left_out"] == 5).all()


def test_power_grows_along_the_path(analytic):
    _, path, _, _ = study(analytic, h=[0, 1.5, 3], path_sizes=[3000], n_pooled=4000)
    rates = path[path["alpha"] == 0.05].pivot_table(index="test", columns="h", values="rate")
    assert (np.diff(rates.to_numpy(), axis=1) > 0.1).all()
    normal = stats.norm.sf(stats.norm.isf(0.025) - np.array([1.5, 3]))  # right direction, large N
    assert np.abs(rates.loc["wald_error", [1.5, 3]].to_numpy() - normal).max() < 0.06


def test_the_path_begins_with_the_size(every_test):
    tests = [test for test in every_test if test.name != DRAWING[1]]
    by_category, path, _, _ = study(tests, h=[0], n_sets=300)
    chosen = by_category[
        (by_category["kind"] == "size")
        & (by_category["truth"] == "exact_null")
        & (by_category["alpha"] == 0.05)
    ]
    sizes = chosen.groupby("test").agg(rejected=("n_rejected", "sum"), sets=("n_sets", "sum"))
    path = path.set_index("test").loc[sizes.index]
    assert (path["rate"] == sizes["rejected"] / sizes["sets"]).all()
    # where no sets of that many documents are drawn for the size, it has sets of its own
    _, alone, _, _ = study(tests, h=[0], path_sizes=[N + 1], n_sets=300)
    assert alone["rate"].notna().all()


def test_rescaled_prevalences_have_sizes_of_their_own(analytic):
    balances = {"natural": Balance(), "reweighted": Balance(prevalence=(0.1, 0.5))}
    by_category, path, table, _ = study(analytic, balances, prevalence_sizes=[30])
    rescaled = by_category["prevalence"].notna()
    assert set(by_category.loc[rescaled, "n_documents"]) == {30}
    assert set(by_category.loc[~rescaled, "n_documents"]) == {N}
    assert path["prevalence"].isna().all()
    assert set(table["prevalence"].dropna()) == {0.1, 0.5}
    assert set(by_category.loc[~rescaled, "truth"]) == {"exact_null", "joint_null"}
    assert set(by_category.loc[rescaled, "truth"]) == {"exact_null"}
    alone, *_ = study(
        analytic, {"reweighted": Balance(prevalence=(0.1,))}, {"joint_null": nulls.joint_null_of}
    )
    assert set(alone["truth"]) == {"joint_null"}


def test_stratified_sets_are_left_out(analytic):
    _, _, table, told = study(analytic, {"natural": Balance(), "stratified": Balance(stratified=True)})
    assert set(table["balance"]) == {"natural"}
    assert any("balance stratified" in sentence for sentence in told)


# --- the command -----------------------------------------------------------------------------------

SMALL = [
    "experiment=exact_null", "balance=[natural,reweighted]", "prevalences=[.1]", "sets.sizes=[50]",
    "test=[mcnemar,wald_f1,bootstrap_f1]", "sets.n_sets=60", "sets.n_truth_sets=200", "nulls.n_pooled=40",
    "nulls.h=[0,1]", "nulls.path_sizes=[50]", "nulls.prevalence_sizes=[50]", "n_replicates=200",
]  # fmt: skip


@pytest.fixture
def outcomes(tmp_path):
    path = tmp_path / "outcomes.csv"
    write_outcomes([Population("linear_svm-mlp", "natural", NAMES, CELLS * 10)], path)
    return f"population={path}"


def test_other_truths_do_not_change_a_byte(outcomes, tmp_path):
    one, mixed = (
        tabulated(tmp_path / name, outcomes, *SMALL, f"truth=[{truths}]", "parallel=sequential")
        for name, truths in (
            ("one", "exact_null,joint_null"), ("mixed", "joint_null,sampling_interval,exact_null,margin")
        )
    )  # fmt: skip
    by_category = pd.read_csv(one / "size_power_by_category.csv")
    assert set(by_category["alpha"]) == {0.05}
    assert (one / "power_path.csv").read_bytes() == (mixed / "power_path.csv").read_bytes()
    alone, among = (pd.read_csv(folder / "size_power.csv") for folder in (one, mixed))
    keys = ["balance", "prevalence", "truth", "test", "alpha", "n_documents", "kind"]
    among = among[among["truth"].isin(["exact_null", "joint_null"])]
    alone, among = (t.sort_values(keys).reset_index(drop=True) for t in (alone, among))
    pd.testing.assert_frame_equal(alone, among)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("sets.replacement=false", "sets.replacement=false: truth exact_null, joint_null makes"),
        ("balance=[stratified]", "balance: a null has a prevalence of its own"),
    ],
)
def test_wrong_input(outcomes, tmp_path, override, message):
    assert message in refusal(tabulated, tmp_path / "out", outcomes, *SMALL, override, "parallel=sequential")


def own_test(counts, *, degenerate="reject"):
    """A test of one's own: p is .04 but for sets without a discordant document, marked by whole numbers."""
    counts = np.asarray(counts)
    none = counts[:, [1, 2, 5, 6]].sum(axis=1) == 0
    pvalue = np.where(none, 0.0 if degenerate == "reject" else 1.0, 0.04)
    return TestResult(pvalue, np.zeros(len(counts)), none.astype(int))


@pytest.mark.parametrize("options", [{}, {"degenerate": "reject"}, {"degenerate": "accept"}])
def test_degenerate_sets_are_judged_by_the_policy_that_a_test_of_ones_own_has(options):
    sets = np.array([[5, 1, 0, 0, 0, 0, 0, 9], [5, 0, 0, 0, 0, 0, 0, 10], [5, 0, 2, 0, 0, 0, 0, 8]])
    test = Test("own", "error", error_difference, partial(own_test, **options))
    rejected, degenerate, by_convention = decide([test], sets, [0.05, 0.01], None)
    second = options.get("degenerate", "reject") == "reject"
    assert rejected[:, 0].tolist() == [[True, False], [second, second], [True, False]]
    assert degenerate.tolist() == by_convention.tolist() == [False, True, False]
