"""Several runs of each system: the test of items and runs, what is read, and the advice."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from advise_files import read, written
from peer_measures import peer_measure
from scipy import stats
from scipy.stats import binom
from statsmodels.stats.anova import anova_lm

import harness
from harness.advise.documents.runs import PLAIN_OF_RUNS, RunKinds, mean_squares, pigeonhole
from harness.advise.many import compare_all
from harness.advise.points import Point, Question
from harness.advise.runs import TESTS, tabulate_components, tabulate_designs

Q = 1 - 1e-6
MEASURES = ("f1", "error", "precision", "recall", "dcf", "balanced_error")


def draw(n=60, n_runs=(3, 4), seed=0, spread=0.4):
    """Truth, and decisions of the runs of two systems: hard items, and runs that are worse."""
    generator = np.random.default_rng(seed)
    y, hard = generator.random(n) < 0.4, generator.normal(size=n)
    level = (spread * generator.normal(size=(r, 1)) for r in n_runs)
    return y, *(y ^ (hard + own + generator.normal(size=(len(own), n)) > 1.2) for own in level)


def scores(n_runs=(3, 4), n=8, seed=0):
    return [np.random.default_rng([seed, r]).gamma(2.0, 1.0, (r, n)) for r in n_runs]


def tables(y, a, b):
    """The same as a wide table and, of as many runs, as a long one."""
    wide = pd.DataFrame({"id": np.arange(len(y)), "y_true": y.astype(int)})
    for name, own in (("a", a), ("b", b)):
        for run, row in enumerate(own):
            wide[f"{name}_{run}"] = row.astype(int)
    runs = range(min(len(a), len(b)))
    parts = [wide[["id", "y_true"]].assign(seed=f"s{r}", a=wide[f"a_{r}"], b=wide[f"b_{r}"]) for r in runs]
    return wide, pd.concat(parts).sample(frac=1, random_state=0)


def named(a, b):
    return {"a": [f"a_{run}" for run in range(len(a))], "b": [f"b_{run}" for run in range(len(b))]}


@pytest.mark.parametrize("weighted", [False, True])
def test_mean_squares_are_those_of_an_analysis_of_variance(weighted):
    """Independent: statsmodels, of each side alone, and pandas for the items' means over both."""
    a, b = scores()
    times = np.array([1, 3, 1, 2, 1, 1, 2, 1]) if weighted else np.ones(8, dtype=int)
    found = mean_squares(np.concatenate([a, -b])[None], times[None], (3, 4))
    whole = [np.repeat(own, times, axis=1) for own in (a, b)]
    n = whole[0].shape[1]
    for place, own in enumerate(whole):
        frame = (
            pd.DataFrame(own).rename_axis("run").reset_index().melt("run", var_name="item", value_name="v")
        )
        square = anova_lm(smf.ols("v ~ C(item) + C(run)", frame).fit())["mean_sq"]
        assert found.interaction[0, place] == pytest.approx(square["Residual"])
        assert found.runs[0, place] == pytest.approx(square["C(run)"] / n)
        alone = mean_squares(own[None], np.ones((1, n), dtype=int), (len(own),))
        assert alone.items == pytest.approx(square["C(item)"] / len(own))
    d = whole[0].mean(axis=0) - whole[1].mean(axis=0)
    assert (found.difference[0], found.items[0]) == pytest.approx((d.mean(), d.var(ddof=1)))


def test_at_its_ends_the_test_is_one_of_students():
    """Runs alone vary: Welch's test, or a paired one of matched runs; items alone: that of paired items."""
    a, b = scores(n=1)
    rows = np.repeat(a, 5, axis=1), np.repeat(b, 5, axis=1)
    test = "t_by_item_and_run"
    found = harness.compare_predictions(None, *rows, "score", test, runs="nested").table.loc[test]
    welch = stats.ttest_ind(a[:, 0], b[:, 0], equal_var=False)
    assert found[["statistic", "pvalue"]].tolist() == pytest.approx([*welch])
    one_item = harness.compare_predictions(None, a, b, "score", test, runs="nested").table.loc[test]
    assert one_item["pvalue"] == pytest.approx(welch.pvalue)
    alike = harness.compare_predictions(None, np.ones((2, 5)), np.zeros((2, 5)), "score", test, runs="nested")
    assert alike.table.loc[test, ["pvalue", "degenerate"]].tolist() == [1, True]
    found = harness.compare_predictions(None, rows[0], rows[1][:3], "score", test, runs="paired")
    paired = stats.ttest_rel(a[:, 0], b[:3, 0])
    assert found.table.loc[test, ["statistic", "pvalue"]].tolist() == pytest.approx([*paired])
    interval = paired.confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high))
    a, b = (np.repeat(own[:1], 3, axis=0) for own in scores(n=30))
    found = harness.compare_predictions(None, a, b, "score", test, runs="nested").table.loc[test]
    items = stats.ttest_rel(a[0], b[0])
    assert found[["statistic", "pvalue"]].tolist() == pytest.approx([*items])


def test_tests_that_take_the_runs_as_fixed_are_those_of_scipy():
    a, b = scores(n=30)
    found = harness.compare_predictions(None, a, b, "score", runs="nested").table
    for name, one, other in (
        ("one_run", a[0], b[0]), ("mean_of_runs", a.mean(axis=0), b.mean(axis=0)),
        ("pooled_runs", a.ravel(), b[:3].ravel()),
    ):  # fmt: skip
        expected = stats.ttest_rel(one, other)
        assert found.loc[name, ["statistic", "pvalue"]].tolist() == pytest.approx([*expected])


@pytest.mark.parametrize("measure", MEASURES)
def test_values_are_a_runs_measure_and_the_slope_in_an_item(measure):
    """Independent: scikit-learn's measures of each run, and of items with a little more weight."""
    y, a, b = draw(n=25)
    costs = {"cost_fn": 2.0, "prior": 0.2} if measure == "dcf" else {}
    said = np.concatenate([2 * ~y + ~own for own in (a, b)])
    kinds = RunKinds(said, (3, 4), measure, tuple(costs.items()))
    values = kinds.values(np.ones((1, 25), dtype=int))[0]

    step = 1e-6
    for row, own in zip([*a, *b], np.concatenate([values[:3], -values[3:]]), strict=True):
        plain = peer_measure(measure, y, row, **costs)
        assert own.mean() == pytest.approx(plain)
        for item in range(0, 25, 6):
            more = np.ones(25)
            more[item] += step
            slope = 25 * (peer_measure(measure, y, row, more, **costs) - plain) / step
            assert own[item] - plain == pytest.approx(slope, abs=1e-3)


def test_the_variance_is_that_of_drawn_items_and_runs():
    """Normal components that are known: unbiased, and a size of at most alpha."""
    generator, n_sets, n, sides = np.random.default_rng(0), 4_000, 40, (3, 5)
    items = generator.normal(size=(n_sets, 1, n))
    values = [
        sign * (0.5 * items + generator.normal(size=(n_sets, 1, n)))
        + spread * generator.normal(size=(n_sets, r, 1))
        + generator.normal(size=(n_sets, r, n))
        for sign, r, spread in zip((1, -1), sides, (0.2, 0.1), strict=True)
    ]  # fmt: skip
    values, counts = np.concatenate(values, axis=1), np.ones((n_sets, n), dtype=int)
    found = mean_squares(values, counts, sides)
    true = 2 / n + (0.04 + 1 / n) / 3 + (0.01 + 1 / n) / 5
    variance, freedom = found.variance()
    assert abs(variance.mean() - true) < 5 * variance.std() / np.sqrt(n_sets)
    assert found.difference.var() == pytest.approx(true, rel=0.12)
    assert (freedom >= 2 - 1e-9).all()
    rejected = (PLAIN_OF_RUNS["t_by_item_and_run"](values, counts, sides).pvalue <= 0.05).sum()
    assert binom.ppf(1 - Q, n_sets, 0.03) <= rejected <= binom.ppf(Q, n_sets, 0.05)


def test_the_pigeonhole_bootstrap_is_a_plain_loop():
    y, a, b = draw(n=20, n_runs=(2, 3), seed=4)
    n_replicates, generator = 2_000, np.random.default_rng(0)
    kinds = RunKinds(np.concatenate([2 * ~y + ~a, 2 * ~y + ~b]), (2, 3), "f1")
    levels = np.array([[0.02, -0.05, 0.0, 0.01, 0.03]])
    result = pigeonhole(np.ones((1, 20), dtype=int), levels, kinds, n_replicates, generator)

    def f1(items, own):
        both = y[items].sum() + own[items].sum()
        return 2 * (y[items] & own[items]).sum() / both if both else 0.0

    differences = []
    for _ in range(n_replicates):
        items, drawn = generator.integers(0, 20, 20), (generator.integers(0, r, r) for r in (2, 3))
        sides = zip((a, b), drawn, (levels[0, :2], -levels[0, 2:]), strict=True)
        one, other = (np.mean([f1(items, own[r]) + more[r] for r in runs]) for own, runs, more in sides)
        differences.append(one - other)
    below = min(np.mean(np.array(differences) <= 0), np.mean(np.array(differences) >= 0))
    hits = round(result.pvalue[0] * (n_replicates + 1) / 2) - 1
    noise = 5 * np.sqrt(2 * below * (1 - below) / n_replicates)
    assert abs(hits / n_replicates - below) < noise


def test_sets_are_drawn_around_equal_means(tmp_path):
    """The size of the test, that of tests that know no other run, and power in the right direction."""
    wide, _ = tables(*draw(n=80, n_runs=(4, 5)))
    _, (pair,) = read(written(tmp_path, wide), runs=named(range(4), range(5)), measure="error")
    n_sets, shares = 2_000, pair.null.copy()
    shares[-2:] = 0.01, 0.002
    size = pair.count(Point("size", 80, 0.0, 0.0, shares, n_sets), (0,), TESTS[::2], 0.05, 0)["n_rejected"]
    assert binom.ppf(1 - Q, n_sets, 0.03) <= size[0] <= binom.ppf(Q, n_sets, 0.06)
    assert (size[1:] > binom.ppf(Q, n_sets, 0.1)).all()
    sd = pair.deviation(shares) / np.sqrt(80)
    powers = []
    for sign in (1, -1):
        found = pair.count(Point("power", 80, sign, sign * 4 * sd, shares, n_sets), (0,), TESTS[:1], 0.05, 0)
        assert found["n_wrong_direction"] < 10
        powers.append(found["n_rejected"][0])
    assert min(powers) > 0.6 * n_sets
    assert pair.drawn.shape == (2, len(pair.null))


def test_what_varies_and_what_more_of_it_buys(tmp_path):
    (y, a, _), (other, _, b) = draw(n=200, spread=0.8), draw(n=200, seed=1, spread=0.8)
    wide, _ = tables(y, a, y ^ other ^ b)  # each system has its hard items
    _, (pair,) = read(written(tmp_path, wide), runs=named(range(3), range(4)), measure="error")
    parts = tabulate_components(pair).set_index("source")
    found = pair.squares(pair.counts[None])
    assert parts["share"].sum() == pytest.approx(1)
    assert parts.loc["items x runs of B", "of_difference"] == pytest.approx(found.interaction[0, 1] / 4 / 200)
    unbiased = found.items[0] / 200 + ((found.runs - found.interaction / 200) / [3, 4]).sum()
    assert parts["of_difference"].sum() == pytest.approx(unbiased)  # no component comes out below 0 here
    designs = tabulate_designs(pair, 0.05, [0.8]).set_index(["n_items", "n_runs_a", "n_runs_b"])[
        "standard_error"
    ]
    assert designs[200, 3, 4] ** 2 == pytest.approx(unbiased)
    halved = parts["of_difference"].where(parts.index == "items", parts["of_difference"] / 2)
    assert designs[200, 6, 8] ** 2 == pytest.approx(halved.sum())
    halved = parts["of_difference"].where(parts.index.str.startswith("runs"), parts["of_difference"] / 2)
    assert designs[400, 3, 4] ** 2 == pytest.approx(halved.sum())


def test_a_long_and_a_wide_table_and_arrays_say_the_same(tmp_path):
    y, a, b = draw(n_runs=(3, 3))
    wide, long = tables(y, a, b)
    right = long.assign(a=long["a"] == long["y_true"], b=long["b"] == long["y_true"]).drop(columns="y_true")
    right = right.astype({"a": int, "b": int})
    expected = {
        m: harness.compare_predictions(y, a, b, m, runs="nested").table["pvalue"] for m in ("f1", "error")
    }
    for name, frame, given in (
        ("w.csv", wide, {"runs": named(a, b)}), ("l.csv", long, {"run": "seed"}),
        ("l.jsonl", long, {"run": "seed"}), ("r.csv", right, {"run": "seed", "measure": "error"}),
    ):  # fmt: skip
        outcomes, (pair,) = read(written(tmp_path, frame, name), **given)
        assert [len(own) for own in outcomes.columns.values()] == [3, 3]
        for test in PLAIN_OF_RUNS.keys() - {"one_run"}:  # the first run is that of the first row
            found = pair.judge(test, np.random.default_rng(0)).pvalue[0]
            assert found == pytest.approx(expected[given.get("measure", "f1")][test])
    scored = {"run": "seed", "measure": "score", "systems": ["a", "b"]}
    _, (pair,) = read(written(tmp_path, right, "s.csv"), **scored)
    assert pair.judge(TESTS[0], None).pvalue[0] == pytest.approx(expected["error"][TESTS[0]])
    _, (pair,) = read(written(tmp_path, long), run="seed", paired_runs=True)
    paired = harness.compare_predictions(y, a, b, "f1", TESTS[0], runs="paired").table
    assert pair.judge(TESTS[0], None).pvalue[0] == pytest.approx(paired.loc[TESTS[0], "pvalue"])


def test_every_two_of_several_systems_with_runs(tmp_path):
    """The comparison of all pairs is that of each, and the ranks are of the means over the runs."""
    (y, a, b), (other, c, _) = draw(n=120), draw(n=120, seed=1, spread=0.1)
    wide, _ = tables(y, a, b)
    frame = wide.assign(**{f"c_{run}": (row ^ other ^ y).astype(int) for run, row in enumerate(c)})
    outcomes, pairs = read(
        written(tmp_path, frame), runs=named(a, b) | {"c": ["c_0", "c_1"]}, measure="error"
    )
    field = compare_all(outcomes, Question("x", "error"))
    assert field.result.pvalue == pytest.approx([pair.judge(TESTS[0], None).pvalue[0] for pair in pairs])
    assert field.difference == pytest.approx([float(pair.difference(pair.counts)) for pair in pairs])
    ranks = field.ranks().set_index("system")
    errors = {"a": (a != y).mean(), "b": (b != y).mean(), "c": (c[:2] != other).mean()}
    assert ranks["value"].to_dict() == pytest.approx(errors)
    assert ranks["rank"].to_dict() == {
        name: 1 + sum(e < own for e in errors.values()) for name, own in errors.items()
    }
