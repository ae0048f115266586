import subprocess
import sys
from functools import partial

import fake_run
import matplotlib
import numpy as np
import pytest
from drawn import by_gid, drawn, gids, panels

from harness.errors import UserError
from harness.results import names as papers
from harness.results.folder import Results
from harness.results.selection import Selection
from harness.run import figures
from harness.run.figures import rates

SMALL = {"sizes": [100, 300, 1000, 3000], "alphas": (0.05,), "truths": ["sampling_interval"]}
LEAST = SMALL | {"sizes": [100, 1000], "pairs": ["linear_svm-mlp"], "tests": fake_run.TESTS[:3]}
PNG = {"formats": ["png"], "dpi": 40}
TABLE = fake_run.table(**SMALL)


def figure(table, kind="size", minus_one=False):
    """The panels of the paper's figure of a table by their letter, its page, and its caption."""
    curves = [*papers.papers_curves(table), *papers.companion_curves(table)]
    study = rates.Study(table, "sampling_interval", minus_one=minus_one)
    build = partial(rates.panel_figure, study, papers.papers_panels(table), curves, kind=kind, alpha=0.05)
    (page,), caption = drawn(build)
    return {title[1]: axes for title, axes in panels(page).items()}, page, caption


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A small run, drawn once in both formats."""
    out = fake_run.write(tmp_path_factory.mktemp("run"), **LEAST)
    return out, figures.draw_figures(Results(out), {"dpi": 40})


def test_files_are_there_not_empty_and_the_same_bytes_in_another_process(run, tmp_path):
    out, paths = run
    stems = ["figure1", "figure2", "figure_truth_rules"]
    expected = [f"{stem}.{end}" for stem in stems for end in ("pdf", "png")]
    assert [path.name for path in paths] == [*expected, "captions.md", "captions.tex"]
    assert all(path.parent == out / "figures" and path.stat().st_size > 900 for path in paths)
    assert (paths[0].read_bytes()[:5], paths[1].read_bytes()[:4]) == (b"%PDF-", b"\x89PNG")
    fake_run.write(tmp_path, **LEAST)
    code = (
        "import sys; from harness.run.figures import draw_figures; "
        "from harness.results.folder import Results; draw_figures(Results(sys.argv[1]), {'dpi': 40})"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True, timeout=300)
    for path in paths:
        first, second = path.read_bytes(), (tmp_path / "figures" / path.name).read_bytes()
        assert first == second, path.name
        assert b"CreationDate" not in first
        assert b"matplotlib.org" not in first.lower()


MANY = {
    "pairs": ["linear_svm-mlp", "linear_svm-rbf_svm", "rbf_svm-mlp"], "sizes": [100, 1000],
    "alphas": (0.05, 0.1), "truths": ["margin", "sampling_interval"], "prevalences": (0.01, 0.1, 0.5),
    "balances": ("meta", "meta_or", "natural"),
}  # fmt: skip
ENDS = [f"{suffix}{alpha}" for suffix in ("", "_rbf_svm-mlp", "_meta_or") for alpha in ("", "_alpha0.1")]
EVERY = {f"figure{n}{end}" for n in "12" for end in ENDS} | {"figure_truth_rules", "figure_prevalence"}
SIGN = ("error", "sign", 0.6)
PLANNED = [  # changes of the table, figures that there are, and those that there are not
    (MANY, EVERY, ()),
    (SMALL | {"pairs": ["mine-yours"], "balances": ("natural",)}, {"figure1_mine-yours"}, {"figure1"}),
    (SMALL | {"tests": [*fake_run.TESTS, SIGN]}, {"figure1_other_tests"}, ()),
    (SMALL | {"tests": [SIGN]}, {"figure1", "figure2", "figure_truth_rules"}, {"figure1_other_tests"}),
]


def planned(table):
    return figures.plan(fake_run.results_of(table), papers.primary_truth(table))


@pytest.mark.parametrize(("changes", "there", "absent"), PLANNED)
def test_what_was_run_is_what_is_drawn(changes, there, absent):
    found = set(planned(fake_run.table(**changes)))
    assert there <= found - set(absent)
    assert changes is not MANY or found == there


@pytest.mark.slow
def test_every_figure_can_be_drawn(tmp_path):
    paths = figures.draw_figures(Results(fake_run.write(tmp_path, **MANY)), PNG)
    assert {path.stem.removesuffix("_2") for path in paths[:-2]} == EVERY
    assert all(path.stat().st_size > 900 for path in paths)


def test_prevalence_is_an_axis_of_its_own():
    table = fake_run.table(**(SMALL | {"balances": ("natural",), "prevalences": (0.01, 0.1, 0.5)}))
    pages, caption = drawn(partial(rates.prevalence_figure, rates.Study(table, "sampling_interval")))
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


@pytest.mark.parametrize(("n", "joined"), [(4, False), (5, True)])
def test_lines_are_joined_from_five_categories_on(n, joined):
    for axes in figure(TABLE.assign(n_categories=n))[0].values():
        assert [bool(gids(axes, kind)) for kind in ("line:", "band:", "few:")] == [joined, joined, not joined]
        dots = [line for line in axes.lines if str(line.get_gid()).startswith("few:")]
        assert all(dot.get_linestyle() == "None" and dot.get_markerfacecolor() == "white" for dot in dots)


@pytest.mark.parametrize(("minus_one", "last"), [(False, np.nan), (True, -1.0)])
def test_where_none_qualifies_nothing_is_drawn_unless_the_papers_habit_is_asked_for(minus_one, last):
    table = TABLE.copy()
    table.loc[table["n_documents"] == 3000, ["rate", "mc_low", "mc_high"]] = np.nan
    table.loc[table["n_documents"] == 3000, "n_categories"] = 0
    shown, _, caption = figure(table, minus_one=minus_one)
    line = by_gid(shown["a"], "line:mcnemar").get_ydata()
    np.testing.assert_equal(line[-1] if len(line) == 4 else np.nan, last)
    assert ("-1 is drawn" in caption) is minus_one
    assert bool(shown["a"].get_ylim()[0] < -1) is minus_one


def test_axes_legend_and_level_are_the_papers_and_no_point_lies_above_the_frame():
    shown, page, _ = figure(TABLE)
    assert list(shown) == ["a", "c", "b", "d"]  # a row for each balance
    assert shown["a"].get_ylim() == shown["c"].get_ylim()
    assert shown["b"].get_ylim() == shown["d"].get_ylim()
    labels = [text.get_text() for text in page.legends[0].get_texts()]
    assert labels[:4] == [
        "Bootstrap test ΔF1", "McNemar test ΔCerr", "Proportion test ΔCerr", "Bootstrap test ΔCerr"
    ]  # fmt: skip
    assert by_gid(shown["a"], "nominal").get_ydata()[0] == 0.05
    assert not gids(figure(TABLE, kind="power")[0]["a"], "nominal")
    for axes in figure(fake_run.table(**SMALL, liberal=11))[0].values():
        tops = [np.nanmax(line.get_ydata()) for line in axes.lines if "line:" in str(line.get_gid())]
        assert 0.6 < max(tops) <= axes.get_ylim()[1]


def test_the_symmetric_bootstrap_is_the_papers_where_present():
    first = ["bootstrap_f1_symmetric", "mcnemar", "proportion", "bootstrap_error_symmetric"]
    assert [curve.test for curve in papers.papers_curves(TABLE)] == first
    assert [curve.test for curve in papers.companion_curves(TABLE)] == ["bootstrap_f1", "bootstrap_error"]
    plain = TABLE[~TABLE["test"].str.endswith("symmetric")]
    assert papers.papers_curves(plain)[0].test == "bootstrap_f1"
    assert papers.companion_curves(plain) == []


def test_a_strip_counts_the_categories_at_every_point():
    shown, page, _ = figure(TABLE)
    strip = page.axes[page.axes.index(shown["b"]) + 1]
    rows = papers.select(TABLE, pair="linear_svm-mlp", balance="natural", kind="size", alpha=0.05)
    for measure in ("f1", "error"):
        some = rows[rows["measure"] == measure].groupby("n_documents")[["n_categories", "n_dead"]].max()
        for gid, n_out in (("n_categories", 0), ("n_live", some["n_dead"])):
            bars = by_gid(strip, f"{gid}:{measure}").get_segments()
            assert [segment[1, 1] for segment in bars] == (some["n_categories"] - n_out).tolist()
    assert by_gid(strip, "tallest").get_text() == f"tallest: {rows['n_categories'].max()}"


def test_a_panel_that_was_not_run_is_told():
    shown, _, caption = figure(TABLE[TABLE["balance"] == "natural"])
    assert list(shown) == ["b", "d"]
    assert "Not run: (a), (c)." in caption
    _, page, caption = figure(TABLE[(TABLE["pair"] == "linear_svm-mlp") | (TABLE["balance"] == "natural")])
    assert by_gid(page.axes[2], "note").get_text() == "not run"
    assert "Not run: (c)." in caption


def test_tests_that_the_paper_does_not_have_are_drawn_six_to_a_panel():
    (page,), _ = drawn(planned(fake_run.table(tests=[SIGN], **SMALL))["figure1"])
    assert all(gids(axes, "line:sign") for axes in panels(page).values())
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


def test_neither_a_record_nor_the_callers_settings_are_needed(run, tmp_path):
    out = fake_run.write(tmp_path, record=False, **LEAST)
    with matplotlib.rc_context({"font.size": 33, "axes.grid": True}):
        odd = [path.read_bytes() for path in figures.draw_figures(Results(out), PNG)[:3]]
    assert odd == [path.read_bytes() for path in run[1] if path.suffix == ".png"]


CHOICE = {
    "panels": ["d", "linear_svm-mlp/meta"], "tests": ["mcnemar", "bootstrap_f1"], "sizes": [100, 3000],
    "measures": ["error"],
}  # fmt: skip
CHOSEN = {("linear_svm-rbf_svm", "natural"), ("linear_svm-mlp", "meta")}


def test_what_is_chosen_is_all_that_is_shown(tmp_path):
    out = fake_run.write(tmp_path, TABLE)
    results = Results(out).only(Selection.of(CHOICE))
    shown = results.table
    assert (set(shown["test"]), set(shown["n_documents"])) == ({"mcnemar"}, {100, 3000})
    assert set(map(tuple, shown[["pair", "balance"]].to_numpy())) == CHOSEN
    paths = figures.draw_figures(Results(out), {**PNG, **CHOICE}, out=tmp_path / "paper")
    assert {path.parent for path in paths} == {tmp_path / "paper"}
    (page,), caption = drawn(figures.plan(results, "sampling_interval")["figure1"])
    assert [title[:3] for title in panels(page)] == ["(a)", "(d)"]
    assert "Not run" not in caption


REFUSED = [
    (TABLE, {"truth": "margin"}, "figure.truth: margin was not run"),
    (
        TABLE,
        {"tests": ["wald_f1"]},
        "figure.tests: wald_f1 was not run; choose one of bootstrap_f1_symmetric",
    ),
    (TABLE, {"alphas": [0.2]}, "figure.alphas: 0.2 was not run; choose one of 0.05"),
    (TABLE, {"sizes": [50]}, "figure.sizes: 50 was not run; choose one of 100"),
    (TABLE, {"panels": ["e"]}, "figure.panels: e was not run; choose one of a, b, c, d, linear_svm-mlp/meta"),
    (None, PNG, r"size_power\.csv: no such table"),
    (TABLE.drop(columns="n_dead"), PNG, "column n_dead is missing"),
    (TABLE.iloc[:0], PNG, "no row"),
]


@pytest.mark.parametrize(("table", "options", "words"), REFUSED)
def test_an_option_that_is_not_allowed_and_a_broken_table_are_named(tmp_path, table, options, words):
    if table is not None:
        fake_run.write(tmp_path, table)
    with pytest.raises(UserError, match=words):
        figures.draw_figures(Results(tmp_path), options)
    assert not (tmp_path / "figures").exists()
