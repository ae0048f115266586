import shutil
from functools import partial

import fake_nulls
import fake_run
import numpy as np
import pandas as pd
import pytest
from drawn import by_gid, drawn, gids, panels

from harness.results import names as papers
from harness.results.folder import Results
from harness.run import figures
from harness.run.figures import rates
from harness.run.figures.categories import category_points, plan_categories, shown_tests
from harness.run.figures.degenerate import both_conventions, degenerate_figure, figure_1d, run_convention

ALPHA = 0.05
WHOLE = fake_nulls.size_power(sizes=[100, 1000])
TABLE = WHOLE[WHOLE["pair"] == "linear_svm-mlp"]
PLACE = {"pair": "linear_svm-mlp", "balance": "natural", "truth": "exact_null", "alpha": ALPHA}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return fake_nulls.write(tmp_path_factory.mktemp("nulls"), TABLE)


@pytest.fixture
def own(folder, tmp_path):
    """A copy that a test may change."""
    return shutil.copytree(folder, tmp_path / "run")


def planned(out, table=TABLE):
    return set(figures.plan(fake_run.results_of(table, folder=out), papers.primary_truth(table)))


def of_measure(measure, table=TABLE):
    """The rows of a measure that were not rescaled."""
    return rates.of_measure(table[table["balance"] != "reweighted"], measure)


def test_what_a_run_of_nulls_can_give(folder, own, tmp_path):
    kinds = ("null_size", "null_joint", "null_power", "null_calibration", "null_path", "size_by_category")
    expected = {f"figure_{name}_{measure}" for name in kinds for measure in ("f1", "error")}
    expected |= {"figure_null_degenerate", "figure_null_prevalence", "figure_liberal_categories"}
    assert planned(folder) == expected
    rules = planned(tmp_path / "none", fake_run.table(sizes=[100], alphas=(ALPHA,)))
    assert not [stem for stem in rules if "null" in stem or "categor" in stem]
    pd.read_csv(own / "power_path.csv").query("h == 0").to_csv(own / "power_path.csv", index=False)
    assert expected - planned(own) == {f"figure_null_path_{measure}" for measure in ("f1", "error")}
    (own / "size_power_by_category.csv").unlink()
    assert {stem for stem in planned(own) if "categor" in stem} == {
        "figure_size_by_category_f1", "figure_size_by_category_error"
    }  # fmt: skip
    (own / "size_by_category.csv").unlink()
    assert not [stem for stem in planned(own) if "categor" in stem]


def test_a_run_of_nulls_alone_is_drawn(tmp_path, unpainted):
    few = fake_nulls.size_power(
        sizes=[100, 1000], balances=("natural",), prevalences=(), levels=(0.01, 0.05),
        tests=[("error", "mcnemar", 0.7), ("error", "proportion", 0.5)],
    )  # fmt: skip
    paths = figures.draw_figures(Results(fake_nulls.write(tmp_path, few)), {"formats": ["png"]})
    kinds = ("null_size_error", "null_degenerate", "size_by_category_error", "liberal_categories")
    assert {f"figure_{kind}" for kind in kinds} <= {path.stem for path in paths}
    assert not {"figure1", "figure_truth_rules", "figure_null_size_f1"} & {path.stem for path in paths}
    text = paths[-2].read_text()
    assert "is exactly 0" in text
    assert "labels A and B swapped" in text
    assert text.count("## ") == len(paths) - 2 + 1  # every page, and what holds for all


def test_a_run_of_rules_and_nulls_has_figures_of_both(tmp_path):
    out = fake_nulls.write(tmp_path, TABLE, rules=True, extras=False)
    whole = papers.read_table(out / "size_power.csv", papers.COLUMNS)
    assert papers.primary_truth(whole) == "sampling_interval"
    assert {"figure1", "figure2", "figure_null_size_f1"} <= planned(out, whole)
    assert papers.primary_truth(TABLE) == "exact_null"


def test_the_papers_tests_have_a_row_and_colours_of_their_own_and_other_measures_share_a_figure():
    error = TABLE[TABLE["measure"] == "error"]
    (heading, first), *others = rates.families(error)
    others = [line for _, lines in others for line in lines]
    assert heading == rates.PAPERS
    assert [line.name for line in first] == [
        "mcnemar", "proportion", "bootstrap_error_symmetric", "bootstrap_error"
    ]  # fmt: skip
    assert not {line.style.color for line in first} & {line.style.color for line in others}
    assert sorted(line.name for line in [*first, *others]) == sorted(error["test"].unique())
    more = pd.concat([TABLE, TABLE[TABLE["test"] == "wald_f1"].assign(measure="recall", test="wald_recall")])
    assert rates.measures_run(more) == ["f1", "error", "other measures"]


@pytest.mark.parametrize(
    ("truth", "kind"), [("exact_null", "size"), ("joint_null", "size"), ("exact_null", "power")]
)
def test_size_and_power_are_drawn_from_the_rows(truth, kind):
    plain, test = of_measure("f1"), "bootstrap_f1_symmetric"
    study = rates.Study(plain, truth)
    build = partial(rates.family_figure, study, rates.panels_of(plain), kind=kind, alpha=ALPHA)
    (page,), caption = drawn(build)
    assert len(page.axes) == 2 * len(rates.families(plain)) + 2  # and the strips
    first = panels(page)["(a) linear SVM vs MLP, balanced"]
    rows = papers.select(plain, test=test, kind=kind, **PLACE | {"truth": truth, "balance": "meta"})
    np.testing.assert_allclose(by_gid(first, f"line:{test}").get_ydata(), rows["rate"])
    assert bool(gids(first, "tolerance")) is (kind == "size")
    assert ("may hide liberal categories" in caption) is (kind == "size")


def test_calibration_shows_every_level_near_1000_and_near_3000():
    exact = papers.select(of_measure("error"), truth="exact_null")
    pages, caption = drawn(partial(rates.calibration_figure, exact, rates.panels_of(exact)))
    axes = pages[0].axes[0]
    n_panels = sum(bool(gids(one, "nominal")) for page in pages for one in page.axes)
    assert n_panels == 2 * len(rates.families(exact))
    assert axes.get_xscale() == axes.get_yscale() == "log"
    line = by_gid(axes, "line:mcnemar")
    np.testing.assert_allclose(line.get_xdata(), fake_nulls.LEVELS, rtol=0.1)  # moved a little to the side
    np.testing.assert_allclose(line.get_ydata(), 0.7 * np.array(fake_nulls.LEVELS))
    assert len(by_gid(axes, "line:bootstrap_error").get_xdata()) == 5  # .01 and above
    assert "At 0.05 it runs from 0.10 to 1.10 times the level" in caption
    few = fake_nulls.size_power(fake_run.PAIRS[:1], ("natural",), [100, 1000, 3000], prevalences=())
    exact = papers.select(rates.of_measure(few, "f1"), truth="exact_null")
    pages, _ = drawn(partial(rates.calibration_figure, exact, rates.panels_of(exact)))
    headings = {text.get_text() for page in pages for text in page.texts}
    shown = [n for n in (100, 1000, 3000) if f"{rates.PAPERS}, N = {n}" in headings]
    assert shown == [1000, 3000]


def test_the_path_starts_at_the_size():
    path = rates.of_measure(fake_nulls.path(TABLE), "f1")
    pages, caption = drawn(partial(rates.path_figure, path, rates.panels_of(path)))
    axes = pages[0].axes[0]
    line = by_gid(axes, "line:bootstrap_f1_symmetric")
    np.testing.assert_allclose(line.get_xdata(), [0, 1, 2, 3, 4], atol=0.05)
    assert line.get_ydata()[0] == by_gid(axes, "ideal").get_ydata()[0] == pytest.approx(ALPHA)
    assert "categories that reach h" in caption


@pytest.mark.parametrize(
    ("convention", "accept", "reject"),
    [("accept", [0.5, 0.2], [0.9, 0.3]), ("reject", [0.1, 0.1], [0.5, 0.2])],
)
def test_the_other_convention_differs_by_the_share_that_it_settles(convention, accept, reject):
    points = pd.DataFrame({"rate": [0.5, 0.2], "convention_share": [0.4, 0.1], "n_documents": [100, 300]})
    both = both_conventions(points.assign(n_categories=20, n_sets=500), convention).set_index("convention")
    for word, expected in (("accept", accept), ("reject", reject)):
        np.testing.assert_allclose(both.loc[word, "rate"], expected)
    assert both["rate"].between(both["mc_low"], both["mc_high"]).all()


def test_the_convention_is_the_runs():
    assert run_convention({}) == "accept"
    assert run_convention({"config": {"degenerate": "reject"}}, "proportion") == "reject"
    own = {"config": {"degenerate": "accept", "test": {"proportion": {"degenerate": "reject"}}}}
    assert [run_convention(own, test) for test in ("proportion", "mcnemar")] == ["reject", "accept"]


def test_the_degenerate_figure_has_a_solid_and_a_dashed_line():
    (page,), caption = drawn(partial(degenerate_figure, WHOLE, {}))
    assert len(page.axes) == 2 * 2  # measures, nulls
    accept, reject = (by_gid(page.axes[0], f"line:proportion:{word}") for word in ("accept", "reject"))
    assert (accept.get_linestyle(), reject.get_linestyle()) == ("-", "--")
    np.testing.assert_allclose(reject.get_ydata() - accept.get_ydata(), [0.5, 0.05])
    assert "0.545 with them rejected" in caption


FIGURE_1D = [
    (0.01, 0.5, "could explain it, if that was done for this one test"),
    (0.2, 0.5, "need no rejecting"),
    (0.01, 0.0, "does not explain it"),
]


@pytest.mark.parametrize(("rate", "share", "words"), FIGURE_1D)
def test_what_the_data_say_of_figure_1d(rate, share, words):
    answer, numbers = figure_1d(WHOLE.assign(rate=rate, convention_share=share), {})
    assert words in answer
    assert "linear SVM vs RBF SVM" in numbers
    both = (f"{value:.3f}".removeprefix("0") for value in (rate, rate + share))
    assert "at N = 100 is {} with degenerate sets accepted, {} with them rejected".format(*both) in numbers
    assert figure_1d(WHOLE[WHOLE["test"] != "proportion"], {}) == []


# --- sizes over categories -------------------------------------------------------------------------


def of_categories(out, table=TABLE):
    """What builds the figures of sizes over categories that a folder gives, by name."""
    return plan_categories(fake_run.results_of(table, folder=out), "log")


def measured(pages, test):
    """The panels of a test's row, in their order."""
    return [axes for page in pages for axes in page.axes if gids(axes, f"median:{test}")]


def tables_by_category(out):
    names = ("size_power_by_category", "nulls", "size_by_category")
    return [pd.read_csv(out / f"{name}.csv") for name in names]


@pytest.fixture(scope="module")
def shown(folder):
    return {stem: drawn(build) for stem, build in of_categories(folder).items()}


def test_sizes_over_categories_are_the_tables(folder, shown):
    pages, caption = shown["figure_size_by_category_f1"]
    rows = papers.select(pd.read_csv(folder / "size_by_category.csv"), test="wald_f1", **PLACE)
    means = papers.select(TABLE, test="wald_f1", kind="size", **PLACE)
    axes = measured(pages, "wald_f1")[1]  # the second column is (b) linear SVM vs MLP, unbalanced
    lines = {"median": rows["median"], "worst": rows["worst"], "again": rows["worst_again"]}
    for gid, expected in (lines | {"mean": means["rate"]}).items():
        line = by_gid(axes, f"{gid}:wald_f1")
        np.testing.assert_allclose(line.get_xdata(), [100, 1000])
        np.testing.assert_allclose(line.get_ydata(), expected)
    band = by_gid(axes, "band:wald_f1").get_paths()[0].vertices
    assert set(rows["q10"]) | set(rows["q90"]) <= set(band[:, 1])
    bounds = [segment[:, 1].tolist() for segment in by_gid(axes, "bound:wald_f1").get_segments()]
    np.testing.assert_allclose(bounds, rows[["worst_low", "worst"]])
    assert axes.get_ylim()[1] > rows["worst"].max()
    assert "10,000 sets a category" in caption
    strips = [axes for axes in pages[-1].axes if gids(axes, "n_live:f1")]
    live = [[segment[1, 1] for segment in by_gid(axes, "n_live:f1").get_segments()] for axes in strips]
    assert live == [[20, 20], [17, 17]]
    assert [by_gid(axes, "tallest").get_text() for axes in strips] == ["tallest: 20"] * 2
    pages, _ = shown["figure_size_by_category_error"]
    assert [
        len({axes.get_ylim() for axes in measured(pages, test)}) for test in ("mcnemar", "proportion")
    ] == [1, 1]
    assert [t.get_text() for t in pages[-1].axes[-1].get_xticklabels()] == ["100", "1000"]


def test_empty_columns_draw_nothing(own):
    path, columns = (
        own / "size_by_category.csv",
        ["median", "q10", "q90", "worst", "worst_low", "worst_again"],
    )
    sizes = pd.read_csv(path)
    sizes.loc[sizes["test"].str.startswith("bootstrap"), columns] = np.nan
    sizes.loc[(sizes["test"] == "wald_f1") & (sizes["n_documents"] == 100), columns] = np.nan
    sizes.to_csv(path, index=False)
    pages, caption = drawn(of_categories(own)["figure_size_by_category_f1"])
    found = {gid for page in pages for axes in page.axes for gid in gids(axes, "m")}
    assert "median:wald_f1" in found
    assert not [gid for gid in found if "bootstrap" in gid]
    assert "too few sets a category: Bootstrap test ΔF1, Bootstrap test ΔF1, equal-tailed." in caption
    lines = [by_gid(axes, "median:wald_f1") for axes in measured(pages, "wald_f1")]
    assert [line.get_xdata().tolist() for line in lines] == [[1000]] * 2
    sizes.assign(**dict.fromkeys(columns, np.nan)).to_csv(path, index=False)
    assert of_categories(own) == {}


def test_fewer_panels_and_many_tests(tmp_path):
    tests = [("f1", f"mine{place}", 1.0) for place in range(9)]
    few = fake_nulls.size_power(
        pairs=["a-b"], balances=("natural",), sizes=[300], prevalences=(), levels=(ALPHA,), tests=tests
    )
    found = {
        stem: drawn(build) for stem, build in of_categories(fake_nulls.write(tmp_path, few), few).items()
    }
    pages, _ = found["figure_size_by_category_f1"]
    assert sum(bool(gids(axes, "median:")) for page in pages for axes in page.axes) == 9
    assert found["figure_liberal_categories"][1].startswith("What makes a category liberal")
    (segment,) = by_gid(pages[0].axes[0], "band:mine0").get_segments()  # one N: a bar stands for the band
    sizes = pd.read_csv(tmp_path / "size_by_category.csv").query("test == 'mine0' and truth == 'exact_null'")
    np.testing.assert_allclose(segment[:, 1], sizes[["q10", "q90"]].to_numpy()[0])


def test_a_point_for_every_live_category(folder):
    rates, made, sizes = tables_by_category(folder)
    cells = {"e1": 0.3, "e2": 0.02, "e3": 0.01, "e4": 0.0, "e5": 0.0, "e6": 0.04, "e7": 0.03, "e8": 0.6}
    points = category_points(rates, made.assign(**cells), sizes)
    assert set(points["alpha"]) == {ALPHA}
    assert not points["dead"].any()
    counts = points.groupby(["test", "verdict"]).size().unstack(fill_value=0)
    words = ["holds", "liberal", "conservative", "undecided"]
    exact = sizes[(sizes["truth"] == "exact_null") & (sizes["alpha"] == ALPHA) & sizes["prevalence"].isna()]
    told = exact.groupby("test")[[f"n_{word}" for word in words]].sum().set_axis(words, axis=1)
    pd.testing.assert_frame_equal(counts[words].astype(float), told.astype(float), check_names=False)
    np.testing.assert_allclose(points["expected"], 0.1 * points["n_documents"])
    np.testing.assert_allclose(points["positive"], 0.3)
    # F1 by scikit-learn's definition, 2 TP / (2 TP + FP + FN), A: 31, 3 + 0, 2; B: 32, 4 + 0, 1
    np.testing.assert_allclose(points["f1"], (62 / 67 + 64 / 69) / 2)
    # a category is live where one test of its measure can reject
    rates.loc[rates["category"] == "C7", "dead"] = True
    rates.loc[(rates["category"] == "C9") & (rates["test"] != "wald_f1"), "dead"] = True
    points = category_points(rates, made, sizes).set_index("category")
    assert "C7" not in points.index
    assert set(points.loc["C9", "measure"]) == {"f1"}
    assert points.loc["C9", "test"].nunique() == 4


def test_liberal_categories_are_drawn_by_their_verdict(folder, shown):
    (page,), caption = shown["figure_liberal_categories"]
    points = category_points(*tables_by_category(folder))
    tests = shown_tests(points)
    assert tests == ["bootstrap_f1_symmetric", "wald_f1", "randomization_f1_midp"]
    assert len(page.axes) == 9
    for place, axes in enumerate(page.axes):
        some = points[(points["test"] == tests[place // 3]) & (points["verdict"] == "liberal")]
        line = by_gid(axes, "points:liberal")
        np.testing.assert_allclose(line.get_xdata(), some[["expected", "positive", "f1"][place % 3]])
        np.testing.assert_allclose(line.get_ydata(), some["rate"])
        assert line.get_ydata().max() < axes.get_ylim()[1]
    assert "The liberal points (10 to 90 % of them) have" in caption
    for axes in page.axes[-3:]:
        labels = [label.get_text() for label in axes.get_xticklabels()]
        assert len(labels) > 2
        assert all(len(label.strip("0").lstrip(".")) <= 2 for label in labels)  # round numbers
