"""`import harness` in a notebook: few names, quick to import; two systems compared, advice on them."""

import functools
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from peer_measures import peer_measure
from scipy.stats import binom
from statsmodels.stats.contingency_tables import mcnemar as peer_mcnemar

import harness
from harness.advise.cells import CellPair
from harness.advise.points import Plan, Question
from harness.advise.report import say_worst
from harness.measures import DIFFERENCES, difference
from harness.significance.likelihood_ratio import score
from harness.significance.wald import estimate
from harness.two_systems import find_tests, judge
from harness.two_systems.labels import Given, read_given

SMALL = Plan(n_sets=300, n_draws=3, n_range_sets=100, n_power_sets=100, h=(2.0, 3.0, 4.0), factors=(1.0,))


def draw(n=300, seed=0, errors=(0.1, 0.2)):
    generator = np.random.default_rng(seed)
    y = generator.random(n) < 0.3
    return y, *(y ^ (generator.random(n) < error) for error in errors)


# --- the package -----------------------------------------------------------------------------------


def test_importing_harness_imports_nothing_heavy():
    # as on Windows, where the import of fcntl fails
    program = """
import sys; sys.modules['fcntl'] = None
import harness; print({'numpy', 'pandas', 'hydra', 'torch'} & set(sys.modules))
harness.compare_predictions; print({'pandas', 'hydra', 'torch'} & set(sys.modules))
"""
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert answer.stdout.split() == ["set()", "set()"]


def test_every_name_is_there_and_the_stub_says_the_same():
    for name in harness.__all__:
        assert getattr(harness, name) is not None
        assert name in dir(harness)
    stub = Path(harness.__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    found = dict(re.findall(r"from harness\.([\w.]+) import \w+ as (\w+)", stub))
    pairs = re.findall(r"from harness\.([\w.]+) import (\w+) as (\w+)", stub)
    assert {name: module for module, name, alias in pairs if name == alias} == harness._WHERE
    assert len(pairs) == len(harness._WHERE)
    assert found


def test_a_name_that_is_not_there():
    with pytest.raises(AttributeError, match="no attribute 'compare_everything'"):
        _ = harness.compare_everything


# --- comparing -------------------------------------------------------------------------------------


@pytest.mark.parametrize("measure", DIFFERENCES)
def test_scores_and_difference_are_those_of_scikit_learn(measure):
    y, a, b = draw()
    costs = {"cost_fn": 10.0, "cost_fp": 2.0, "prior": 0.1} if measure == "dcf" else {}
    found = harness.compare_predictions(y, a, b, measure, **costs)
    expected = [peer_measure(measure, y, said, **costs) for said in (a, b)]
    assert (found.score_a, found.score_b) == pytest.approx(expected, abs=1e-12)
    assert found.difference == pytest.approx(expected[0] - expected[1], abs=1e-12)
    other = harness.compare_predictions(y, a, b, measure)
    assert (other.table["pvalue"].tolist() == found.table["pvalue"].tolist()) == (not costs)


@pytest.mark.parametrize("measure", ["f1", "precision", "recall"])
def test_macro_averages_are_those_of_scikit_learn(measure):
    generator = np.random.default_rng(5)
    y, a, b = generator.choice(list("abcd"), (3, 120), p=[0.5, 0.3, 0.15, 0.05])
    a, b = np.where(generator.random(120) < 0.6, y, a), np.where(generator.random(120) < 0.5, y, b)
    found = harness.compare_predictions(y, a, b, measure, average="macro")
    expected = [np.mean([peer_measure(measure, y == c, said == c) for c in "abcd"]) for said in (a, b)]
    assert (found.score_a, found.score_b) == pytest.approx(expected, abs=1e-12)
    assert found.sentences()[0].startswith("macro ")
    assert found.counts is None


def test_tests_are_built_once_for_the_same_options():
    one, other = (find_tests("dcf", "dcf", 100, None, prior=0.2) for _ in range(2))
    assert one[0] is other[0]
    one.clear()  # what a caller does to the list is its own
    assert find_tests("dcf", "dcf", 100, None, prior=0.2) == other
    assert find_tests("dcf", "dcf", 100, None, prior=0.3)[0].pvalue.keywords["prior"] == 0.3


def test_pvalues_are_those_of_the_tests_and_of_a_peer():
    y, a, b = draw()
    counts = harness.count_outcomes(y, a, b)
    f1 = harness.compare_predictions(y, a, b)
    np.testing.assert_array_equal(f1.counts, counts)
    assert f1.table.loc["score_f1", "pvalue"] == float(score(counts).pvalue)
    error = harness.compare_predictions(y, a, b, "error").table["pvalue"]
    table = pd.crosstab(y == a, y == b).to_numpy()
    assert error["mcnemar_exact"] == pytest.approx(peer_mcnemar(table, exact=True).pvalue, abs=1e-12)
    assert error["mcnemar"] == pytest.approx(peer_mcnemar(table, exact=False).pvalue, abs=1e-12)


@pytest.mark.parametrize("measure", DIFFERENCES)
def test_the_interval_is_that_of_wald_on_many_items(measure):
    generator = np.random.default_rng(3)
    counts = generator.multinomial(20_000, [0.1, 0.03, 0.05, 0.1, 0.04, 0.05, 0.04, 0.59])
    cells = np.repeat(np.arange(8), counts)
    y, b, a = cells < 4, cells // 2 % 2 == 0, cells % 2 == 0
    found = harness.compare_predictions(y, a, b, measure)
    np.testing.assert_array_equal(found.counts, counts)
    d, deviation = estimate(counts, measure)
    # 4,000 draws: the standard error of a 2.5 % quantile is some .042 standard deviations
    assert found.low == pytest.approx(d - 1.96 * deviation, abs=0.25 * deviation)
    assert found.high == pytest.approx(d + 1.96 * deviation, abs=0.25 * deviation)
    wide = harness.compare_predictions(y, a, b, measure, confidence=0.99)
    assert wide.low < found.low < found.high < wide.high


@pytest.mark.parametrize(
    ("n_items", "shares"),
    [
        (1000, [0.004, 0.0005, 0.001, 0.003, 0.001, 0.0005, 0.001, 0.989]),
        (300, [0.15, 0.03, 0.05, 0.1, 0.05, 0.05, 0.03, 0.54]),
    ],
)
def test_the_interval_holds_the_truth_often_enough(n_items, shares):
    """On sets where a system disagrees with the other on three items, and where on fifty."""
    n_sets, generator = 1_000, np.random.default_rng(5)
    truth = float(difference("f1")(np.array(shares)))
    covered = 0
    for counts in generator.multinomial(n_items, shares, size=n_sets):
        drawn = difference("f1")(generator.dirichlet(counts + 0.5, size=1_000))
        low, high = np.quantile(drawn, [0.025, 0.975])
        covered += low <= truth <= high
    # false alarm 1e-6 if it covers 94 %
    assert covered >= binom.ppf(1e-6, n_sets, 0.94)


CODINGS = {
    "bool": lambda v: v,
    "int": lambda v: v.astype(int),
    "float": lambda v: v.astype(float),
    "signs": lambda v: np.where(v, 1, -1),
    "text": lambda v: np.where(v, "yes", "no"),
    "list": lambda v: v.tolist(),
    "series": lambda v: pd.Series(v, index=range(7, 7 + len(v))),
    "categories": lambda v: pd.Categorical(np.where(v, "pos", "neg")),
    "nullable": lambda v: pd.array(v.astype(int), dtype="Int64"),
    "mixed": lambda v: np.array([1 if x else False for x in v], dtype=object),
}


@pytest.mark.parametrize("coding", CODINGS)
def test_labels_of_every_kind_say_the_same(coding):
    values = draw()
    found = harness.compare_predictions(*map(CODINGS[coding], values))
    np.testing.assert_array_equal(found.counts, harness.count_outcomes(*values))


def test_types_may_differ_where_labels_agree():
    y, a, b = draw()
    found = harness.compare_predictions(y, a.astype(int), b.astype(float))
    np.testing.assert_array_equal(found.counts, harness.count_outcomes(y, a, b))


def test_the_positive_label_and_many_labels():
    y, a, b = ["x", "y", "z", "x"], ["x", "x", "z", "z"], ["y", "y", "z", "x"]
    found = harness.compare_predictions(y, a, b, positive="x", test="wald_f1")
    assert found.counts.tolist() == [0, 1, 1, 0, 0, 0, 1, 1]
    assert harness.compare_predictions(y, a, b, "error").counts.tolist() == [1, 2, 1, 0, 0, 0, 0, 0]


def test_swapping_the_systems_turns_the_sign():
    y, a, b = draw()
    one, other = harness.compare_predictions(y, a, b), harness.compare_predictions(y, b, a)
    assert one.difference == -other.difference
    assert one.low == pytest.approx(-other.high, abs=0.01)
    np.testing.assert_allclose(one.table["pvalue"], other.table["pvalue"], atol=1e-9)


@functools.cache
def defaults_of(measure):
    return find_tests(measure, None, 20, None)


@settings(max_examples=30)
@given(st.integers(0, 10_000), st.sampled_from(sorted(DIFFERENCES)))
def test_pvalues_are_probabilities(seed, measure):
    counts = harness.count_outcomes(*draw(20, seed))
    assume(counts[[1, 2, 5, 6]].any())
    pair, asked = CellPair.of("a-b", counts, measure, defaults_of(measure), {}), Question("y", measure)
    outcomes, _ = read_given(Given(*draw(20, seed), measure))
    table = judge(pair, asked, outcomes).table
    assert table["pvalue"].between(0, 1).all()
    assert (table["low"] <= table["high"]).all()
    assert (table.loc[table["degenerate"], "pvalue"] == 1).all()


def test_a_set_that_cannot_decide_says_so():
    """Neither finds a positive, so that F1 is 0 for both; they differ on one false alarm."""
    table = harness.compare_predictions([1, 0, 0], [0, 1, 0], [0, 0, 0]).table
    assert table["degenerate"].all()
    assert (table["pvalue"] == 1).all()


def test_tests_with_replicates_need_a_number_and_repeat():
    y, a, b = draw()
    arguments = {"test": ["bootstrap_f1", "bootstrap_t_f1"], "n_replicates": 500}
    one, other = (harness.compare_predictions(y, a, b, **arguments).table for _ in range(2))
    pd.testing.assert_frame_equal(one, other)
    with pytest.raises(ValueError, match="n_replicates"):
        harness.compare_predictions(y, a, b, test="bootstrap_t_f1")


def test_randomization_is_left_out_where_it_is_slow():
    y, a, b = draw(50_001)
    assert "randomization_f1_midp" in harness.compare_predictions(y[:-1], a[:-1], b[:-1]).table.index
    assert list(harness.compare_predictions(y, a, b).table.index) == [
        "likelihood_ratio_f1_bartlett", "wald_f1", "score_f1", "likelihood_ratio_f1", "bootstrap_f1",
    ]  # fmt: skip


def test_it_prints_well():
    y, a, b = draw()
    found = harness.compare_predictions(y, a, b, names=("svm<1>", "mlp"))
    lines = repr(found).splitlines()
    assert lines[0] == f"F1 on 300 items: svm<1> {found.score_a:.4f}, mlp {found.score_b:.4f}"
    assert lines[1].startswith("svm<1> minus mlp: +")
    assert "95 % interval [" in lines[1]
    assert len(lines) == 3 + len(found.table)
    page = found._repr_html_()
    assert "svm&lt;1&gt;" in page
    assert page.count("<tr") == 1 + len(found.table)


# --- advice ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def advice():
    return harness.advise_predictions(*draw(), names=("a", "b"), plan=SMALL)


def test_advice_names_a_test_and_shows_every_size(advice):
    assert advice.test in advice.table.index
    assert advice.reason.startswith(f"Use {advice.test}: its size is ")
    sizes = advice.table[["size_low", "size", "size_high"]].to_numpy()
    assert (np.diff(sizes, axis=1) >= 0).all()
    assert (advice.table["power_95"] > advice.table["power_80"]).all()
    assert f"level by {advice.test}, p = " in repr(advice)
    own = advice.table.loc[advice.test]
    assert own["verdict"] == "holds" or f"({own['verdict']})" in advice.reason
    for name in ("power_80", "power_95"):
        assert (advice.table[f"{name}_low"] <= advice.table[name]).all()
        assert (advice.table[name] <= advice.table[f"{name}_high"]).all()
    assert "Use " in advice._repr_html_()
    assert set(advice.power["test"]) == set(advice.table.index)
    assert advice.worst["test"].tolist() == [advice.test]
    assert f"{say_worst(advice.worst.iloc[0].to_dict(), ('a', 'b'), 'f1', 0.05)}." in repr(advice)


Y, A, B = [0, 1, 0, 1], [0, 1, 1, 1], [0, 0, 0, 1]


def test_a_missing_label_is_told_by_its_place_and_a_test_is_no_path():
    for function in (harness.compare_predictions, harness.advise_predictions):
        with pytest.raises(ValueError, match="y: item 1"):
            function(pd.array([0, None, 1, 1], dtype="Int64"), A, B)
        with pytest.raises(ValueError, match="test: '../run' is not allowed"):
            function(Y, A, B, "f1", "../run")


def test_advice_refuses_a_test_that_takes_seconds_a_set():
    with pytest.raises(ValueError, match="thousands of sets would take days; harness.compare_predictions"):
        harness.advise_predictions(Y, A, B, test="f1_unconditional")
    assert "f1_unconditional" in harness.compare_predictions(Y, A, B, test="f1_unconditional").table.index
