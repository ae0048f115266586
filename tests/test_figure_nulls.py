import io

import fake_nulls
import fake_run
import numpy as np
import pandas as pd
import pytest

from harness import figures, papers
from harness.figure_calibration import calibration_figure
from harness.figure_closeness import bin_rates, join_closeness
from harness.figure_degenerate import both_conventions, degenerate_figure, figure_1d, run_convention
from harness.figure_null_plan import plan_null_figures
from harness.figure_nulls import (
    PAPERS,
    family_rows,
    measures_run,
    null_size_figure,
)
from harness.figure_path import path_figure
from harness.figure_style import figure_style

ALPHA = 0.05


@pytest.fixture(scope="module")
def table():
    return fake_nulls.size_power(sizes=[100, 1000])


def lines(axes):
    return {str(a.get_gid()): a for a in axes.lines if str(a.get_gid()).startswith("line:")}


def planned(out, table):
    return set(plan_null_figures(out, table, {}, width=7.2, x_axis="log"))


def test_what_a_run_of_nulls_can_give(tmp_path, table):
    out = fake_nulls.write(tmp_path, table)
    expected = {
        f"figure_null_{name}_{measure}" for name in ("size", "joint", "power") for measure in ("f1", "error")
    }
    expected |= {f"figure_null_{name}_{m}_N1000" for name in ("calibration", "path") for m in ("f1", "error")}
    expected |= {"figure_null_closeness", "figure_null_degenerate", "figure_null_prevalence"}
    assert planned(out, table) == expected
    assert planned(tmp_path / "none", fake_run.table(sizes=[100], alphas=(ALPHA,))) == set()


def test_a_path_of_one_distance_is_no_figure(tmp_path, table):
    out = fake_nulls.write(tmp_path, table)
    path = pd.read_csv(out / "power_path.csv")
    path[path["h"] == 0].to_csv(out / "power_path.csv", index=False)
    assert not [stem for stem in planned(out, table) if "path" in stem]


def test_a_run_of_nulls_alone_is_drawn(tmp_path):
    few = fake_nulls.size_power(
        sizes=[100, 1000], balances=("natural",), prevalences=(), levels=(0.01, 0.05),
        tests=[("error", "mcnemar", 0.7), ("error", "proportion", 0.5)],
    )  # fmt: skip
    paths = figures.draw_figures(fake_nulls.write(tmp_path, few), dpi=40, formats=["png"])
    stems = {path.stem for path in paths}
    assert "figure1" not in stems
    assert "figure_truth_rules" not in stems
    assert {"figure_null_size_error", "figure_null_degenerate", "figure_null_closeness"} <= stems
    assert "figure_null_size_f1" not in stems
    text = paths[-1].read_text()
    assert "is exactly 0" in text
    assert "labels A and B swapped" in text
    assert len([line for line in text.splitlines() if line.endswith(".")]) == len(paths) - 1


def test_a_run_of_rules_and_nulls_has_figures_of_both(tmp_path, table):
    out = fake_nulls.write(tmp_path, table, rules=True)
    whole = papers.read_table(out / "size_power.csv", papers.COLUMNS)
    assert papers.primary_truth(whole) == "sampling_interval"
    rules = papers.without_nulls(whole)
    assert {"figure1", "figure2"} <= set(
        figures.plan_figures(rules, {}, "sampling_interval", figures.Options())
    )
    assert "figure_null_size_f1" in planned(out, whole)
    assert papers.primary_truth(table) == "exact_null"


def test_the_papers_tests_have_a_row_and_a_look_of_their_own(table):
    rows = family_rows(table[table["measure"] == "error"])
    assert rows[0].heading == PAPERS
    assert [curve.test for curve, _ in rows[0].curves] == [
        "mcnemar", "proportion", "bootstrap_error_symmetric", "bootstrap_error"
    ]  # fmt: skip
    colors = {look.color for _, look in rows[0].curves}
    assert not colors & {look.color for row in rows[1:] for _, look in row.curves}
    shown = [curve.test for row in rows for curve, _ in row.curves]
    assert sorted(shown) == sorted(table.loc[table["measure"] == "error", "test"].unique())


@pytest.mark.parametrize(
    ("truth", "kind"), [("exact_null", "size"), ("joint_null", "size"), ("exact_null", "power")]
)
def test_size_and_power_are_drawn_from_the_rows(table, truth, kind):
    plain = table[table["balance"] != "reweighted"]
    with figure_style():
        drawn, caption = null_size_figure(plain, {}, "f1", truth=truth, kind=kind, width=7.2, x_axis="log")
    n_rows = len(family_rows(plain[plain["measure"] == "f1"]))
    assert len(drawn.axes) == 4 * n_rows
    first = drawn.axes[0]
    line = lines(first)["line:bootstrap_f1_symmetric"]
    rows = papers.select(
        plain, truth=truth, kind=kind, test="bootstrap_f1_symmetric", alpha=ALPHA, pair="linear_svm-mlp",
        balance="meta",
    )  # fmt: skip
    np.testing.assert_allclose(line.get_ydata(), rows["rate"])
    assert bool([a for a in first.get_children() if a.get_gid() == "tolerance"]) is (kind == "size")
    assert caption.endswith(".")
    if kind == "size":
        assert "the mean over categories lies within" in caption


def test_calibration_shows_every_level(table):
    plain = table[table["balance"] != "reweighted"]
    with figure_style():
        drawn, caption = calibration_figure(plain, {}, "error", n_documents=1000, width=7.2)
    axes = drawn.axes[0]
    assert axes.get_xscale() == axes.get_yscale() == "log"
    np.testing.assert_allclose(lines(axes)["line:mcnemar"].get_xdata(), fake_nulls.LEVELS)
    np.testing.assert_allclose(lines(axes)["line:mcnemar"].get_ydata(), 0.7 * np.array(fake_nulls.LEVELS))
    assert min(lines(axes)["line:bootstrap_error"].get_xdata()) == 0.01
    assert "at 0.05 from 0.10 to 1.10 times the level" in caption


def test_the_path_starts_at_the_size(table):
    path = fake_nulls.path(table)
    with figure_style():
        drawn, caption = path_figure(table, path, {}, "f1", n_documents=1000, width=7.2)
    line = lines(drawn.axes[0])["line:bootstrap_f1_symmetric"]
    np.testing.assert_allclose(line.get_xdata(), [0, 1, 2, 3, 4])
    assert line.get_ydata()[0] == pytest.approx(ALPHA)
    ideal = next(a for a in drawn.axes[0].lines if a.get_gid() == "ideal")
    assert ideal.get_ydata()[0] == pytest.approx(ALPHA)
    assert "number of categories that reach h" in caption


def test_other_measures_share_a_figure(table):
    more = pd.concat([table, table[table["test"] == "wald_f1"].assign(measure="recall", test="wald_recall")])
    assert measures_run(more) == ["f1", "error", "other measures"]


def test_closeness_is_drawn_for_f1_and_error_alone(tmp_path, table):
    other = table[table["test"] == "wald_f1"].assign(measure="dcf", test="dcf")
    fake_nulls.write(tmp_path, other)
    jobs = planned(tmp_path, other)
    assert "figure_null_size_other_measures" in jobs
    assert "figure_null_closeness" not in jobs


def test_closeness_is_joined_by_category():
    table = fake_nulls.size_power(sizes=[100, 1000])
    nulls = fake_nulls.nulls(table)
    joined = join_closeness(fake_nulls.by_category(table), nulls, 1000)
    assert set(joined["balance"]) == {"natural", "meta"}
    assert len(joined) == 2 * 2 * len(fake_nulls.TESTS) * len(fake_nulls.NAMES)
    row = joined.iloc[0]
    match = nulls[
        (nulls["truth"] == "exact_null")
        & (nulls[["pair", "balance", "measure", "category"]]
           == row[["pair", "balance", "measure", "category"]].to_numpy()).all(axis=1)
    ]  # fmt: skip
    assert row["h"] == pytest.approx(match["distance"].iloc[0] * 1000**0.5)


def test_bins_hold_about_equally_many():
    generator = np.random.default_rng(5)
    x = generator.random(60)
    points = bin_rates(x, x, 6)
    assert len(points) == 6
    assert all(low <= mean <= high for _, mean, low, high in points)
    assert np.all(np.diff([point[0] for point in points]) > 0)
    assert bin_rates(np.ones(9), np.full(9, 0.05))[0][:2] == pytest.approx((1.0, 0.05))
    assert bin_rates(np.array([np.nan]), np.array([0.1])) == []


@pytest.mark.parametrize("convention", ["accept", "reject"])
def test_the_other_convention_differs_by_the_share_that_it_settles(convention):
    points = pd.DataFrame(
        {"rate": [0.5, 0.2], "convention_share": [0.4, 0.1], "n_documents": [100, 300],
         "n_categories": [20, 20], "n_sets": [500, 500]}
    )  # fmt: skip
    both = both_conventions(points, convention)
    expected = {"accept": ([0.5, 0.2], [0.9, 0.3]), "reject": ([0.1, 0.1], [0.5, 0.2])}[convention]
    np.testing.assert_allclose(both.rates["accept"], expected[0])
    np.testing.assert_allclose(both.rates["reject"], expected[1])
    for word in ("accept", "reject"):
        assert np.all((both.lows[word] <= both.rates[word]) & (both.rates[word] <= both.highs[word]))


def test_the_convention_is_the_runs():
    assert run_convention({}) == "accept"
    assert run_convention({"config": {"degenerate": "reject"}}, "proportion") == "reject"
    own = {"config": {"degenerate": "accept", "test": {"proportion": {"degenerate": "reject"}}}}
    assert run_convention(own, "proportion") == "reject"
    assert run_convention(own, "mcnemar") == "accept"


def test_the_degenerate_figure_has_a_solid_and_a_dashed_line(table):
    with figure_style():
        drawn, caption = degenerate_figure(table, {}, width=7.2)
        drawn.savefig(io.BytesIO(), dpi=30)
    assert len(drawn.axes) == 2 * 2  # measures, nulls
    found = lines(drawn.axes[0])
    assert {"line:proportion:accept", "line:proportion:reject"} <= set(found)
    share = found["line:proportion:reject"].get_ydata() - found["line:proportion:accept"].get_ydata()
    np.testing.assert_allclose(share, [0.5, 0.05])
    assert "0.545 with them rejected" in caption


@pytest.mark.parametrize(
    ("rate", "share", "words"),
    [
        (0.01, 0.5, "could explain it, if that was done for this one test"),
        (0.2, 0.5, "need no rejecting"),
        (0.01, 0.0, "does not explain it"),
    ],
)
def test_what_the_data_say_of_figure_1d(table, rate, share, words):
    text = figure_1d(table.assign(rate=rate, convention_share=share), {})
    assert words in text
    assert "linear SVM vs RBF SVM" in text
    assert f"at N = 100 is {rate:.3f} with them accepted and {min(1, rate + share):.3f} with" in text
    assert figure_1d(table[table["test"] != "proportion"], {}) == ""
