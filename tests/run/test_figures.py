import subprocess
import sys
from functools import partial

import fake_run
import numpy as np
import pytest
from drawn import by_gid, drawn, gids, panels

from harness.drawing.style import Look
from harness.errors import UserError
from harness.results import names as papers
from harness.results.folder import Results
from harness.results.selection import Selection
from harness.run import figures
from harness.run.figures import rates

SMALL = {"sizes": [100, 300, 1000, 3000], "alphas": (0.05,), "truths": ["sampling_interval"]}
LEAST = SMALL | {"sizes": [100, 1000], "pairs": ["linear_svm-mlp"], "tests": fake_run.TESTS[:3]}
PNG = {"formats": ["png"], "dpi": 40}


def figure(table, kind="size", minus_one=False, look=Look(), **changes):  # noqa: B008
    """The page of the paper's figure of a table, and its caption."""
    curves = [*papers.papers_curves(table), *papers.companion_curves(table)]
    study = rates.Study(table, "sampling_interval", minus_one=minus_one, **changes)
    build = partial(rates.panel_figure, study, papers.papers_panels(table), curves, kind=kind, alpha=0.05)
    (page,), caption = drawn(build, look)
    return page, caption


def panel(page, letter):
    return next(axes for title, axes in panels(page).items() if title.startswith(f"({letter})"))


def few(table, n):
    """The table with n qualifying categories at every point."""
    return table.assign(n_categories=n)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A small run, drawn once in both formats."""
    out = fake_run.write(tmp_path_factory.mktemp("run"), **LEAST)
    return out, figures.draw_figures(Results(out), {"dpi": 40})


def planned(table=None, **changes):
    """Names of the figures that a table would give."""
    table = fake_run.table(**changes) if table is None else table
    return set(figures.plan(fake_run.results_of(table), papers.primary_truth(table)))


def test_files_are_there_and_not_empty(run):
    out, paths = run
    stems = ["figure1", "figure2", "figure_truth_rules"]
    expected = [f"{stem}.{end}" for stem in stems for end in ("pdf", "png")]
    assert [path.name for path in paths] == [*expected, "captions.md", "captions.tex"]
    assert all(path.parent == out / "figures" and path.stat().st_size > 900 for path in paths)
    assert paths[0].read_bytes()[:5] == b"%PDF-"
    assert paths[1].read_bytes()[:4] == b"\x89PNG"


MANY = {
    "pairs": ["linear_svm-mlp", "linear_svm-rbf_svm", "rbf_svm-mlp"],
    "sizes": [100, 1000],
    "alphas": (0.05, 0.1),
    "truths": ["margin", "sampling_interval"],
    "prevalences": (0.01, 0.1, 0.5),
    "balances": ("meta", "meta_or", "natural"),
}


def test_what_was_run_is_what_is_drawn():
    ends = [f"{suffix}{alpha}" for suffix in ("", "_rbf_svm-mlp", "_meta_or") for alpha in ("", "_alpha0.1")]
    expected = {f"figure{number}{end}" for number in "12" for end in ends}
    assert planned(**MANY) == expected | {"figure_truth_rules", "figure_prevalence"}


@pytest.mark.slow
def test_every_figure_can_be_drawn(tmp_path):
    paths = figures.draw_figures(Results(fake_run.write(tmp_path, **MANY)), PNG)
    assert {path.stem.removesuffix("_2") for path in paths[:-2]} == planned(**MANY)
    assert all(path.stat().st_size > 900 for path in paths)


def test_prevalence_is_an_axis_of_its_own():
    table = fake_run.table(**(SMALL | {"balances": ("natural",), "prevalences": (0.01, 0.1, 0.5)}))
    study = rates.Study(table, "sampling_interval")
    pages, caption = drawn(partial(rates.prevalence_figure, study))
    kinds = ("line:", "few:", "note")
    shown = [a for page in pages for a in page.axes if any(gids(a, kind) for kind in kinds)]
    assert len(shown) == 2 * 2 * 3  # pairs, size and power, smallest N, 1000, largest
    assert "against prevalence" in caption
    line = by_gid(shown[0], "line:bootstrap_f1_symmetric")
    np.testing.assert_allclose(line.get_xdata(), [0.01, 0.1, 0.5], rtol=0.1)


def test_every_rule_has_a_curve():
    table = fake_run.table(**(SMALL | {"truths": fake_run.TRUTHS}))
    pages, _ = drawn(partial(rates.truth_figure, rates.Study(table, "sampling_interval")))
    shown = [axes for page in pages for axes in page.axes]
    assert len(shown) == 4 * 4  # panels, tests
    assert gids(shown[0], "line:") >= {f"line:{truth}" for truth in fake_run.TRUTHS[1:]}
    labels = [text.get_text() for text in pages[0].legends[0].get_texts()]
    assert labels[: len(fake_run.TRUTHS)] == [papers.KNOWN["truths"][truth] for truth in fake_run.TRUTHS]


def test_the_same_bytes_in_another_process(run, tmp_path):
    fake_run.write(tmp_path, **LEAST)
    code = (
        "import sys; from harness.run.figures import draw_figures; "
        "from harness.results.folder import Results; draw_figures(Results(sys.argv[1]), {'dpi': 40})"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True, timeout=300)
    for path in run[1]:
        first, second = path.read_bytes(), (tmp_path / "figures" / path.name).read_bytes()
        assert first == second, path.name
        assert b"CreationDate" not in first
        assert b"matplotlib.org" not in first.lower()


def test_lines_are_joined_from_five_categories_on():
    table = fake_run.table(**SMALL)
    for n, joined in ((4, False), (5, True)):
        page, _ = figure(few(table, n))
        for axes in panels(page).values():
            assert bool(gids(axes, "line:")) is joined
            assert bool(gids(axes, "band:")) is joined
            assert bool(gids(axes, "few:")) is not joined
            dots = [line for line in axes.lines if str(line.get_gid()).startswith("few:")]
            assert all(dot.get_linestyle() == "None" and dot.get_markerfacecolor() == "white" for dot in dots)


@pytest.mark.parametrize(("minus_one", "last"), [(False, np.nan), (True, -1.0)])
def test_where_none_qualifies_nothing_is_drawn_unless_the_papers_habit_is_asked_for(minus_one, last):
    table = fake_run.table(**SMALL)
    table.loc[table["n_documents"] == 3000, ["rate", "mc_low", "mc_high"]] = np.nan
    table.loc[table["n_documents"] == 3000, "n_categories"] = 0
    page, caption = figure(table, minus_one=minus_one)
    shown = by_gid(panel(page, "a"), "line:mcnemar").get_ydata()
    np.testing.assert_equal(shown[-1] if len(shown) == 4 else np.nan, last)
    assert ("-1 is drawn" in caption) is minus_one
    assert bool(panel(page, "a").get_ylim()[0] < -1) is minus_one


def test_axes_legend_and_level_are_the_papers():
    page, _ = figure(fake_run.table(**SMALL))
    shown = panels(page)
    assert [title[:3] for title in shown] == ["(a)", "(c)", "(b)", "(d)"]  # a row for each balance
    for one, other in (("a", "c"), ("b", "d")):
        assert panel(page, one).get_ylim() == panel(page, other).get_ylim()
    labels = [text.get_text() for text in page.legends[0].get_texts()]
    assert labels[:4] == [
        "Bootstrap test ΔF1", "McNemar test ΔCerr", "Proportion test ΔCerr", "Bootstrap test ΔCerr"
    ]  # fmt: skip
    assert by_gid(panel(page, "a"), "nominal").get_ydata()[0] == 0.05
    power, _ = figure(fake_run.table(**SMALL), kind="power")
    assert not gids(panel(power, "a"), "nominal")


def test_no_point_lies_above_the_frame():
    table = fake_run.table(**SMALL, liberal=11)
    page, _ = figure(table)
    for axes in panels(page).values():
        tops = [np.nanmax(line.get_ydata()) for line in axes.lines if "line:" in str(line.get_gid())]
        assert max(tops) > 0.6
        assert max(tops) <= axes.get_ylim()[1]


def test_the_symmetric_bootstrap_is_the_papers_where_present():
    table = fake_run.table(**SMALL)
    assert [curve.test for curve in papers.papers_curves(table)] == [
        "bootstrap_f1_symmetric", "mcnemar", "proportion", "bootstrap_error_symmetric"
    ]  # fmt: skip
    assert [curve.test for curve in papers.companion_curves(table)] == ["bootstrap_f1", "bootstrap_error"]
    plain = table[~table["test"].str.endswith("symmetric")]
    assert papers.papers_curves(plain)[0].test == "bootstrap_f1"
    assert papers.companion_curves(plain) == []


def test_a_strip_counts_the_categories_at_every_point():
    table = fake_run.table(**SMALL)
    page, _ = figure(table)
    strip = page.axes[page.axes.index(panel(page, "b")) + 1]
    rows = papers.select(table, pair="linear_svm-mlp", balance="natural", kind="size", alpha=0.05)
    for measure in ("f1", "error"):
        some = rows[rows["measure"] == measure].groupby("n_documents")[["n_categories", "n_dead"]].max()
        for gid, expected in (
            ("n_categories", some["n_categories"]), ("n_live", some["n_categories"] - some["n_dead"])
        ):  # fmt: skip
            bars = by_gid(strip, f"{gid}:{measure}").get_segments()
            assert [segment[1, 1] for segment in bars] == expected.tolist()
    assert by_gid(strip, "tallest").get_text() == f"tallest: {rows['n_categories'].max()}"


def test_a_panel_that_was_not_run_is_told():
    page, caption = figure(fake_run.table(balances=("natural",), **SMALL))
    assert [title[:3] for title in panels(page)] == ["(b)", "(d)"]
    assert "Not run: (a), (c)." in caption
    table = fake_run.table(**SMALL)
    table = table[(table["pair"] == "linear_svm-mlp") | (table["balance"] == "natural")]
    page, caption = figure(table)
    assert by_gid(page.axes[2], "note").get_text() == "not run"
    assert "Not run: (c)." in caption


def test_without_the_papers_pairs_there_is_no_figure_1():
    found = planned(pairs=["mine-yours"], balances=("natural",), **SMALL)
    assert "figure1_mine-yours" in found
    assert "figure1" not in found


def test_a_test_that_the_paper_does_not_have_gets_a_figure():
    sign = ("error", "sign", 0.6)
    assert "figure1_other_tests" in planned(tests=[*fake_run.TESTS, sign], **SMALL)
    assert planned(tests=[sign], **SMALL) == {"figure1", "figure2", "figure_truth_rules"}
    table = fake_run.table(tests=[sign], **SMALL)
    jobs = figures.plan(fake_run.results_of(table), "sampling_interval")
    (page,), _ = drawn(jobs["figure1"])
    assert all(gids(axes, "line:sign") for axes in panels(page).values())


def test_many_tests_are_split_into_panels_of_six():
    tests = [("error", f"mine{place}", 1.0) for place in range(14)]
    found = rates.families(fake_run.table(tests=tests, **SMALL))
    assert [len(lines) for _, lines in found] == [6, 6, 2]


def test_captions_carry_what_a_reader_needs(run):
    text = run[1][-2].read_text(encoding="utf-8")
    for part in (
        "Seed 7", "500 evaluation sets", "5,000 bootstrap replicates", "101 meta, 98 natural", "over-sampled",
        "27,613 documents", "is not a size", "floor near one half", "lower bound", "A minus B", "Inferred",
    ):  # fmt: skip
        assert part in text, part
    assert text.count("Seed 7") == 1  # what holds for all is said once


def test_neither_a_record_nor_the_callers_settings_are_needed(tmp_path):
    import matplotlib

    out = fake_run.write(tmp_path, record=False, **LEAST)
    with matplotlib.rc_context({"font.size": 33, "axes.grid": True}):
        odd = [path.read_bytes() for path in figures.draw_figures(Results(out), PNG)]
    assert odd == [path.read_bytes() for path in figures.draw_figures(Results(out), PNG)]


CHOICE = {
    "panels": ["d", "linear_svm-mlp/meta"], "tests": ["mcnemar", "bootstrap_f1"], "sizes": [100, 3000],
    "measures": ["error"],
}  # fmt: skip


def test_what_is_chosen_is_all_that_is_shown(tmp_path):
    out = fake_run.write(tmp_path, **SMALL)
    shown = Results(out).only(Selection.of(CHOICE)).table
    assert set(shown["test"]) == {"mcnemar"}
    assert set(shown["n_documents"]) == {100, 3000}
    assert set(map(tuple, shown[["pair", "balance"]].to_numpy())) == {
        ("linear_svm-rbf_svm", "natural"), ("linear_svm-mlp", "meta")
    }  # fmt: skip
    paths = figures.draw_figures(Results(out), {**PNG, **CHOICE}, out=tmp_path / "paper")
    assert {path.parent for path in paths} == {tmp_path / "paper"}
    results = Results(out).only(Selection.of(CHOICE))
    (page,), caption = drawn(figures.plan(results, "sampling_interval")["figure1"])
    assert [title[:3] for title in panels(page)] == ["(a)", "(d)"]
    assert "Not run" not in caption


WRONG_OPTIONS = [
    ({"truth": "margin"}, "figure.truth: margin was not run"),
    ({"tests": ["wald_f1"]}, "figure.tests: wald_f1 was not run; choose one of bootstrap_f1_symmetric"),
    ({"alphas": [0.2]}, "figure.alphas: 0.2 was not run; choose one of 0.05"),
    ({"sizes": [50]}, "figure.sizes: 50 was not run; choose one of 100"),
    ({"panels": ["e"]}, "figure.panels: e was not run; choose one of a, b, c, d, linear_svm-mlp/meta"),
]


@pytest.mark.parametrize(("change", "words"), WRONG_OPTIONS)
def test_an_option_that_is_not_allowed_is_named(tmp_path, change, words):
    out = fake_run.write(tmp_path, **SMALL)
    with pytest.raises(UserError, match=words):
        figures.draw_figures(Results(out), change)
    assert not (out / "figures").exists()


def test_a_missing_or_broken_table_is_named(tmp_path):
    with pytest.raises(UserError, match=r"size_power\.csv: no such table"):
        figures.draw_figures(Results(tmp_path), PNG)
    fake_run.write(tmp_path, fake_run.table(**SMALL).drop(columns="n_dead"))
    with pytest.raises(UserError, match="column n_dead is missing"):
        figures.draw_figures(Results(tmp_path), PNG)
    fake_run.write(tmp_path, fake_run.table(**SMALL).iloc[:0])
    with pytest.raises(UserError, match="no row"):
        figures.draw_figures(Results(tmp_path), PNG)
