import importlib
import itertools
import shutil
from pathlib import Path

import fake_nulls
import fake_run
import matplotlib
import numpy as np
import pandas as pd
import pytest
from composing import configured
from drawn import by_gid, drawn, faults, gids
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.colors import to_rgb
from refusal import refusal

from harness.cli import REDRAW
from harness.cli.configuration import conf_folder
from harness.compare.figure_algorithms import critical_difference_figure, seeds_figure
from harness.compare.rank_tables import rank_tables
from harness.compare.seeds import tidy_scores
from harness.drawing.grid import Cell, Grid, Line, Row, in_rows, named_row
from harness.drawing.layout import Axis, stand_apart, text_width
from harness.drawing.marks import draw_curves
from harness.drawing.save import draw
from harness.drawing.style import STYLES, Look, Style, figure_style, numbered_style, style_of
from harness.results import names
from harness.results.folder import Results
from harness.run.figures import plan
from harness.runtime.provenance import read_provenance

NARROW, *OTHERS = PRESETS = ["paper_column", "screen", "paper_wide", "slide"]
CONF = {path.stem: path.read_text(encoding="utf-8") for path in (conf_folder() / "test").glob("*.yaml")}
TESTS = [name for name, text in CONF.items() if "significance.others." not in text]  # those look as ours do


def look_of(preset, **more):
    return Look.of({**configured("run", "out=unused", f"figure={preset}").figure, **more})


def rates(n_cells=1, sizes=(100, 1000), tests=("a",)):
    rows = [(cell, test, n, 0.05 + 0.01 * place, 0.04, 0.06, 9)
            for cell in range(n_cells) for place, test in enumerate(tests) for n in sizes]  # fmt: skip
    columns = ["cell", "test", "n_documents", "rate", "mc_low", "mc_high", "n_categories"]
    return pd.DataFrame(rows, columns=columns)


def grid(n_rows=1, n_cells=1, sizes=(100, 1000), **more):
    table = rates(n_cells, sizes)
    lines = [Line("a", "test a", Style("black", "o"), {"test": "a"})]
    cells = [Cell(f"panel {place}", {"cell": place}) for place in range(n_cells)]
    rows = [Row(cells, lines, 0.1, f"row {place}", level=0.05) for place in range(n_rows)]
    return Grid(table, Axis("n_documents", "set size N", sizes), rows, "size", draw_curves, **more)


def write_runs(out, pairs=fake_run.PAIRS, **nulls):
    """A run of rules and nulls with all that a run can have, and one with the paper's fifteen N."""
    few = {"sizes": [100, 1000], "levels": (0.001, 0.05), "tests": fake_nulls.TESTS[::2], "pairs": pairs}
    fake_nulls.write(out / "nulls", fake_nulls.size_power(**few, **nulls), rules=True)
    fake_run.write(
        out / "rules", alphas=(0.05,), truths=["sampling_interval", "margin"], prevalences=(0.01, 0.1, 0.5),
        tests=fake_run.TESTS[:3], pairs=pairs,
    )  # fmt: skip
    return [Results(out / "rules"), Results(out / "nulls")]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return write_runs(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="module")
def smaller_nulls(tmp_path_factory):
    """Fewer panels of every kind of a run of nulls, whose figures are laid out alike."""
    out = tmp_path_factory.mktemp("smaller")
    return write_runs(out, fake_run.PAIRS[:1], balances=["natural"], prevalences=[0.5])[1]


@pytest.mark.parametrize(
    ("preset", "all_measures"),
    [(NARROW, False), *(pytest.param(name, True, marks=pytest.mark.slow) for name in PRESETS)],
)
def test_no_text_is_small_or_touches_another(runs, smaller_nulls, preset, all_measures):
    look, kinds = look_of(preset), set()
    for results in (runs[0], runs[1] if all_measures else smaller_nulls):
        for stem, build in sorted(plan(results, names.primary_truth(results.table)).items()):
            kind = stem.removesuffix("_f1").removesuffix("_error")
            if all_measures or kind not in kinds:
                pages, caption = drawn(build, look)
                assert caption.endswith(".")
                assert {page.get_figwidth() for page in pages} == {look.width}
                assert max(page.get_figheight() for page in pages) <= look.height + 0.2
                assert [fault for page in pages for fault in faults(page, look)] == [], stem
            kinds.add(kind)
    assert len(kinds) == 13


RESULTS = Path(__file__).resolve().parents[2] / "results"
OTHER_KINDS = [
    "advise-digits", "advise-reuters-topics-macro", "dietterich1998", "dietterich_rcv1", "nips2005-draws",
    "rr0434-slice", "wine",
]  # fmt: skip


@pytest.mark.parametrize("preset", [NARROW, *(pytest.param(name, marks=pytest.mark.slow) for name in OTHERS)])
@pytest.mark.parametrize("name", OTHER_KINDS)
def test_the_figures_of_other_commands_have_no_such_fault_either(preset, name, tmp_path, monkeypatch):
    """Those of advice, comparisons, category sets and a spread, laid out from the committed tables."""
    found, seen = [], []

    def look_at(figure, folder, stem, look):
        seen.append(stem)
        found.extend(f"{stem}: {fault}" for fault in faults(figure, look))
        assert figure.get_figheight() <= look.height + 0.2
        return []

    monkeypatch.setattr("harness.drawing.save.save_figure", look_at)
    facts = read_provenance(RESULTS / name)
    module = next(module for key, module in REDRAW.items() if key in facts)
    figure = dict(configured("run", "out=unused", f"figure={preset}").figure)
    if (name, preset) == ("nips2005-draws", NARROW):
        figure["panels"] = ["c", "d"]  # two columns are as many as there is room for
    importlib.import_module(module).redraw(RESULTS / name, facts, figure, tmp_path)
    assert seen
    assert found == []


@pytest.mark.parametrize("preset", PRESETS)
def test_ranks_and_seeds_have_no_such_fault_either(preset):
    look, generator = look_of(preset), np.random.default_rng(0)
    algorithms = [f"algorithm {place} of a longer name" for place in range(5)]
    scores = pd.DataFrame(generator.normal(size=(12, 5)), columns=algorithms)
    with figure_style(look):
        ranks, _ = critical_difference_figure(rank_tables(scores).ranks, look)
    seeds, _ = seeds_figure(tidy_scores(scores), algorithms[0], look=look)
    assert faults(ranks, look) == faults(seeds, look) == []


def test_what_a_referee_would_see_is_seen():
    look = Look()
    page = grid().pages(look)[0]
    assert faults(page, look) == []
    page.text(0.5, 0.1, "here", fontsize=5)
    page.text(0.5, 0.1, "there")
    page.text(0.99, 0.5, "far to the right")
    said = " ".join(faults(page, look))
    for words in ("'here' has 5.00 points", "'here' touches 'there'", "'far to the right' leaves the page"):
        assert words in said


@settings(max_examples=6, deadline=None)
@given(st.integers(1, 5), st.integers(1, 4), st.sampled_from([3.3, 7.2]))
def test_every_panel_stands_on_one_page(n_rows, n_cells, width):
    look = Look(width=width, height=5)
    pages = grid(n_rows, n_cells).pages(look)
    shown = [(page, title) for page in pages for title in [a.get_title(loc="left") for a in page.axes]]
    assert len(shown) == n_rows * n_cells
    assert all(page.get_figheight() <= look.height for page in pages)
    widths = [round(axes.get_position().width * width, 6) for page in pages for axes in page.axes]
    assert len(set(widths)) <= 2  # the last columns may be alone


def test_a_caption_is_drawn_only_where_it_is_asked_for():
    said = "A caption of more words than fit on one line of a narrow column of a paper."
    plain, with_caption = (
        grid(caption=said).pages(Look(width=3.3, caption=caption))[0] for caption in (False, True)
    )
    assert with_caption.get_figheight() > plain.get_figheight()
    words = [text.get_text() for text in with_caption.texts]
    assert said in " ".join(words)
    assert not any("caption" in text.get_text() for text in plain.texts)


def test_a_panel_with_nothing_to_draw_says_so():
    table = rates(2)
    table.loc[table["cell"] == 1, ["rate", "mc_low", "mc_high"]] = np.nan
    one = grid(n_cells=2)
    page = Grid(table, one.x, one.rows, "size", draw_curves).pages(Look())[0]
    first, second = page.axes
    assert gids(first, "line:") == {"line:a"}
    assert not gids(first, "note")
    assert by_gid(second, "note").get_text() == "no category qualifies"
    note = Row([Cell("panel", {}, "not run")], (), 0.1)
    axes = Grid(table, one.x, [note], "size", draw_curves).pages(Look())[0].axes[0]
    assert by_gid(axes, "note").get_text() == "not run"


def test_all_n_are_labelled_where_they_have_room():
    axis = Axis("n_documents", "N", [100, 200, 300, 1000, 2000])
    assert axis.labelled(6, 7) == [100, 200, 300, 1000, 2000]
    few = axis.labelled(0.9, 7)
    assert set(few) <= {100, 300, 1000, 2000}
    assert all(stand_apart(axis.inches(few, 0.9), [f"{n:g}" for n in few], 7))
    for scale in ("log", "linear"):  # one value has an axis too
        low, high = Axis("n_documents", "N", [500], scale).limits()
        assert low < 500 < high
    assert len(grid(sizes=(500,)).pages(Look())[0].axes) == 1
    assert text_width("a\nlonger", 8) == text_width("longer", 8) > text_width("a", 8)


def test_names_take_the_room_that_they_need():
    words = ["a short name", "a name that is a good deal longer than the other"]
    rows = [named_row([Cell("", {})], words)]
    axis = Axis("rate", "rate", ends=(0, 1), scale="linear")
    page = Grid(rates(), axis, rows, "", draw_curves, names=words).pages(Look())[0]
    labels = [label.get_text() for label in page.axes[0].get_yticklabels()]
    assert labels == words
    assert faults(page, Look()) == []
    assert len(in_rows([Cell("", {})] * 15, Look(), words)) > len(in_rows([Cell("", {})] * 15, Look()))


def test_a_name_with_a_dollar_and_a_control_character_is_drawn_as_it_is(tmp_path):
    one = grid()
    lines = [Line("a", "a$_1$ \x1b[31m 5 %", Style("black", "o"), {"test": "a"})]
    rows = [Row(one.rows[0].cells, lines, 0.1)]
    page, _ = drawn(lambda look: (Grid(one.table, one.x, rows, "s", draw_curves).pages(look)[0], ""))
    assert page.legends[0].get_texts()[0].get_text() == "a$_1$ \\x1b[31m 5 %"
    assert faults(page, Look()) == []


def test_a_figure_that_gets_shorter_leaves_no_page_behind(tmp_path):
    def build(n):
        return lambda look: (grid(n, 2).pages(look), f"{n} rows.")

    look = Look(height=3, formats=["png"], dpi=30)
    draw(tmp_path, {"one": build(3), "one_x": build(1)}, look)
    assert {"one.png", "one_2.png", "one_3.png"} <= {path.name for path in tmp_path.iterdir()}
    draw(tmp_path, {"one": build(1)}, look, ["Seed 7."])
    assert {path.name for path in tmp_path.glob("*.png")} == {"one.png", "one_x.png"}
    text = (tmp_path / "captions.md").read_text(encoding="utf-8")
    assert text.count("## ") == 3  # what was drawn before keeps its caption
    assert "Seed 7." in text
    assert r"\caption{1 rows.}" in (tmp_path / "captions.tex").read_text(encoding="utf-8")


def test_every_format_is_the_same_twice(tmp_path):
    formats = ["pdf", "svg", "png"]
    for name in ("a", "b"):
        draw(tmp_path / name, {"one": lambda look: (grid().pages(look), "x.")}, Look(formats=formats, dpi=40))
    for name in formats:
        first, second = ((tmp_path / folder / f"one.{name}").read_bytes() for folder in "ab")
        assert first == second
        assert b"CreationDate" not in first
        assert b"<dc:date>" not in first


def test_a_font_and_latex_that_are_not_installed_are_named_and_one_that_is_is_used(tmp_path, monkeypatch):
    refused = ({"font": "DejaVu Srif"}, {"usetex": True}, {"formats": ["pgf"]})
    monkeypatch.setattr(shutil, "which", lambda name: None)
    said = [refusal(Look, **change) for change in refused]
    assert "'DejaVu Srif' is not installed; did you mean DejaVu Serif" in said[0]
    assert ["LaTeX" in said[1], "XeLaTeX" in said[2]] == [True, True]
    look = Look(font="DejaVu Serif", formats=["svg"])  # needs no LaTeX
    draw(tmp_path, {"one": lambda look: (grid().pages(look), "x.")}, look)
    assert "DejaVu Serif" in (tmp_path / "one.svg").read_text(encoding="utf-8")


@pytest.mark.skipif(shutil.which("xelatex") is None, reason="XeLaTeX is not installed")
def test_latex_sets_the_text(tmp_path):
    look = Look(formats=["pgf", "pdf"], usetex=True, width=3.3)
    lines = [Line("a", "linear_svm, 5 % & ΔF1 $", Style("black", "o"), {"test": "a"})]
    one = grid()
    rows = [Row(one.rows[0].cells, lines, 0.1, "a_b", level=0.05)]
    made = Grid(one.table, one.x, rows, "rate", draw_curves)
    draw(tmp_path, {"one": lambda look: (made.pages(look), "x.")}, look)
    assert r"linear\_svm, 5 \% \& $\Delta$F1 \$" in (tmp_path / "one.pgf").read_text(encoding="utf-8")
    assert (tmp_path / "one.pdf").stat().st_size > 2000


def test_a_test_looks_the_same_everywhere_and_like_no_other():
    assert style_of("wald_f1") == style_of("wald_error") == style_of("wald_recall")
    known = {id(style) for style in STYLES.values()}
    assert [name for name in TESTS if id(style_of(name)) not in known] == []
    assert style_of("mine") == style_of("mine") != style_of("yours")
    shown = [style[:4] for style in STYLES.values()]
    assert len(shown) == len(set(shown))
    assert len({numbered_style(place) for place in range(30)}) == 30


# Machado, Oliveira & Fernandes (2009), severity 1: what protanopes, deuteranopes and tritanopes see
BLIND = {
    "protanopia": "0.152286 1.052583 -0.204868 0.114503 0.786281 0.099216 -0.003882 -0.048116 1.051998",
    "deuteranopia": "0.367322 0.860646 -0.227968 0.280085 0.672501 0.047413 -0.01182 0.04294 0.968881",
    "tritanopia": "1.255528 -0.076749 -0.178779 -0.078411 0.930809 0.147602 0.004733 0.691367 0.3039",
}
PAPERS = ["bootstrap_f1_symmetric", "mcnemar", "proportion", "bootstrap_error_symmetric"]


def lab(color, matrix):
    """A colour in CIELAB (D65), as seen through `matrix` of linear RGB."""
    rgb = np.array(to_rgb(color))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    xyz = np.array(to_xyz) @ np.clip(np.array(matrix) @ linear, 0, 1) / [0.9505, 1, 1.089]
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("sight", ["all colours", *BLIND])
def test_the_papers_curves_are_told_apart_by_the_colour_blind(sight):
    matrix = np.array(BLIND.get(sight, "1 0 0 0 1 0 0 0 1").split(), float).reshape(3, 3)
    seen = [lab(STYLES[test].color, matrix) for test in PAPERS]
    assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)) > 20


def test_the_callers_settings_are_left_alone():
    before = dict(matplotlib.rcParams)
    with matplotlib.rc_context({"font.size": 33, "axes.grid": True}):
        with figure_style(Look()):
            assert matplotlib.rcParams["font.size"] == 8
            assert not matplotlib.rcParams["axes.grid"]
        assert matplotlib.rcParams["font.size"] == 33
    assert dict(matplotlib.rcParams) == before
