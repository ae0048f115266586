import io
import subprocess
import sys
from pathlib import Path

import fake_run
import numpy as np
import pytest
from harness.drawing.panels import few_numbers
from harness.run.figures.prevalence import prevalence_figure
from harness.run.figures.truths import truth_figure

from harness.drawing.style import figure_style
from harness.errors import UserError
from harness.results import names as papers
from harness.results.folder import Results
from harness.run import figures

SMALL = {"sizes": [100, 300, 1000, 3000], "alphas": (0.05,), "truths": ["sampling_interval"]}


def figure(table, kind="size", **options):
    """The paper's figure of a table, and its caption."""
    curves = [*papers.papers_curves(table), *papers.companion_curves(table)]
    with figure_style():
        return figures.panel_figure(
            table, fake_run.provenance(), papers.papers_panels(table), curves, kind=kind, alpha=0.05,
            truth="sampling_interval", options=figures.Options(**options),
        )  # fmt: skip


def artists(drawn, prefix):
    """Artists of all panels whose gid starts so, by panel title."""
    found = {}
    for axes in drawn.axes:
        hits = [artist for artist in axes.get_children() if str(artist.get_gid()).startswith(prefix)]
        if axes.get_title(loc="left"):
            found[axes.get_title(loc="left")[:3]] = hits
    return found


def few(table, n):
    """The table with n qualifying categories at every point."""
    return table.assign(n_categories=n)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A small run, drawn once in both formats."""
    out = fake_run.write(tmp_path_factory.mktemp("run"), **SMALL)
    return out, figures.draw_figures(Results(out), dpi=40)


def planned(**changes):
    """Names of the figures that a table would give."""
    table = fake_run.table(**changes)
    return set(figures.plan_figures(table, {}, papers.primary_truth(table), figures.Options()))


def test_files_are_there_and_not_empty(run):
    out, paths = run
    names = [
        "figure1.pdf",
        "figure1.png",
        "figure2.pdf",
        "figure2.png",
        "figure_truth_rules.pdf",
        "figure_truth_rules.png",
    ]
    assert [path.name for path in paths] == [*names, "captions.md"]
    assert all(path.parent == out / "figures" and path.stat().st_size > 2000 for path in paths)
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
    paths = figures.draw_figures(Results(fake_run.write(tmp_path, **MANY)), dpi=40)
    assert {path.stem for path in paths[:-1]} == planned(**MANY)
    assert all(path.stat().st_size > 2000 for path in paths)


def test_prevalence_is_an_axis_of_its_own():
    table = fake_run.table(**(SMALL | {"balances": ("natural",), "prevalences": (0.01, 0.1, 0.5)}))
    with figure_style():
        drawn, caption = prevalence_figure(table, {}, truth="sampling_interval", width=7.2)
    assert len(drawn.axes) == 2 * 2 * 3  # pairs, size and power, smallest N, 1000, largest
    assert "against prevalence" in caption
    line = next(a for a in drawn.axes[0].lines if a.get_gid() == "line:bootstrap_f1_symmetric")
    np.testing.assert_allclose(line.get_xdata(), [0.01, 0.1, 0.5], rtol=0.1)


def test_the_truth_figure_holds_the_scores():
    table = fake_run.table(**(SMALL | {"truths": fake_run.TRUTHS}))
    with figure_style():
        drawn, _ = truth_figure(table, {}, width=7.2, x_axis="log")
    assert len(drawn.axes) == 4 * 4  # panels, tests
    assert (
        len([text for text in drawn.texts if text.get_gid() == "score"]) == 6 * 5
    )  # rules, statements and total
    assert {str(line.get_gid()) for line in drawn.axes[0].lines} >= {
        f"line:{truth}" for truth in fake_run.TRUTHS[1:]
    }


def test_the_same_bytes_in_another_process(run, tmp_path):
    fake_run.write(tmp_path, **SMALL)
    code = (
        "import sys; from harness.run.figures import draw_figures; "
        "from harness.results.folder import Results; draw_figures(Results(sys.argv[1]), dpi=40)"
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
        drawn, _ = figure(few(table, n))
        for hits in artists(drawn, "line:").values():
            assert bool(hits) is joined
        for hits in artists(drawn, "band:").values():
            assert bool(hits) is joined
        for hits in artists(drawn, "few:").values():
            assert bool(hits) is not joined
            assert all(hit.get_linestyle() == "None" for hit in hits)


def test_the_number_stands_above_few_categories():
    drawn, _ = figure(few(fake_run.table(**SMALL), 3))
    for hits in artists(drawn, "few-number").values():
        assert [hit.get_text() for hit in hits] == ["3"] * 4


def test_two_measures_have_their_own_numbers():
    table = fake_run.table(**SMALL)
    table["n_categories"] = np.where(table["measure"] == "f1", 2, 30)
    rows = table[
        (table["pair"] == "linear_svm-mlp") & (table["balance"] == "meta") & (table["kind"] == "size")
    ]
    assert [words for _, _, words in few_numbers(rows)] == ["2\n–"] * 4


def test_where_none_qualifies_nothing_is_drawn_unless_the_papers_habit_is_asked_for():
    table = fake_run.table(**SMALL)
    table.loc[table["n_documents"] == 3000, ["rate", "mc_low", "mc_high"]] = np.nan
    table.loc[table["n_documents"] == 3000, "n_categories"] = 0
    for minus_one, last in ((False, np.nan), (True, -1.0)):
        drawn, caption = figure(table, papers_minus_one=minus_one)
        line = artists(drawn, "line:mcnemar")["(a)"][0]
        np.testing.assert_equal(line.get_ydata()[-1], last)
        assert ("-1 is drawn" in caption) is minus_one


def test_minus_one_reaches_the_files(run, tmp_path):
    table = fake_run.table(**SMALL)
    table.loc[table["n_documents"] == 3000, "n_categories"] = 0
    out = fake_run.write(tmp_path, table)
    paths = figures.draw_figures(Results(out), papers_minus_one=True, dpi=40, formats=["png"])
    assert paths[0].read_bytes() != run[1][1].read_bytes()


def test_axes_legend_and_level_are_the_papers():
    drawn, _ = figure(fake_run.table(**SMALL))
    panels = [axes for axes in drawn.axes if axes.get_title(loc="left")]
    assert [axes.get_title(loc="left")[:3] for axes in panels] == ["(a)", "(b)", "(c)", "(d)"]
    assert {axes.get_ylim() for axes in panels} == {(0.0, 0.6)}
    labels = [text.get_text() for text in drawn.legends[0].get_texts()]
    plain = [label.replace("$", "").replace("\\mathrm", "").replace("\\Delta", "Δ") for label in labels]
    assert plain[:4] == [
        "Bootstrap test ΔF_1",
        "McNemar test ΔC_{{err}}",
        "Proportion test ΔC_{{err}}",
        "Bootstrap test ΔC_{{err}}",
    ]
    assert artists(drawn, "nominal")["(a)"][0].get_ydata()[0] == 0.05
    power, _ = figure(fake_run.table(**SMALL), kind="power")
    assert {axes.get_ylim() for axes in power.axes if axes.get_title(loc="left")} == {(0.0, 1.0)}


def test_the_symmetric_bootstrap_is_the_papers_where_present():
    table = fake_run.table(**SMALL)
    assert [curve.test for curve in papers.papers_curves(table)] == [
        "bootstrap_f1_symmetric", "mcnemar", "proportion", "bootstrap_error_symmetric"
    ]  # fmt: skip
    assert [curve.test for curve in papers.companion_curves(table)] == ["bootstrap_f1", "bootstrap_error"]
    plain = table[~table["test"].str.endswith("symmetric")]
    assert papers.papers_curves(plain)[0].test == "bootstrap_f1"
    assert papers.companion_curves(plain) == []


def test_numbers_of_categories_are_shown_at_every_point():
    table = fake_run.table(**SMALL)
    drawn, _ = figure(table)
    shown = [
        text.get_text() for axes in drawn.axes for text in axes.texts if text.get_gid() == "n_categories"
    ]
    assert len(shown) == 4 * 2 * 4  # panels, measures, sizes
    row = papers.select(table, pair="linear_svm-mlp", balance="natural", kind="size", measure="f1").iloc[0]
    assert f"{row['n_categories']} ({row['n_dead']})" in shown


def test_a_panel_that_was_not_run_is_a_note():
    drawn, caption = figure(fake_run.table(balances=("natural",), **SMALL))
    notes = [text.get_text() for axes in drawn.axes for text in axes.texts if text.get_gid() == "not-run"]
    assert len(notes) == 2
    assert all("not run" in note for note in notes)
    assert "Not run: (a), (c)." in caption


def test_without_the_papers_pairs_there_is_no_figure_1():
    names = planned(pairs=["mine-yours"], balances=("natural",), **SMALL)
    assert "figure1_mine-yours" in names
    assert "figure1" not in names


def test_a_test_that_the_paper_does_not_have_gets_a_figure():
    sign = ("error", "sign", 0.6)
    assert "figure1_other_tests" in planned(tests=[*fake_run.TESTS, sign], **SMALL)
    assert planned(tests=[sign], **SMALL) == {"figure1", "figure2", "figure_truth_rules"}
    table = fake_run.table(tests=[sign], **SMALL)
    panels, curves = papers.papers_panels(table), papers.other_curves(table)
    choice = {"kind": "size", "alpha": 0.05, "truth": "sampling_interval", "options": figures.Options()}
    with figure_style():
        drawn, _ = figures.panel_figure(table, {}, panels, curves, **choice)
    assert all(hits for hits in artists(drawn, "line:sign").values())


def test_one_size_and_a_linear_narrow_page_can_be_drawn():
    for sizes in ([500], [100, 300, 1000, 3000]):
        drawn, _ = figure(fake_run.table(**(SMALL | {"sizes": sizes})), x_axis="linear", width=5)
        drawn.savefig(io.BytesIO(), dpi=30)
        assert artists(drawn, "line:")["(a)"]


def test_captions_carry_what_a_reader_needs(run):
    text = run[1][-1].read_text()
    for part in (
        "Seed 7", "500 evaluation sets", "5,000 bootstrap replicates", "101 meta, 98 natural", "over-sampled",
        "27,613 documents", "is not a size", "floor near one half", "lower bound", "A minus B", "Inferred",
    ):  # fmt: skip
        assert part in text, part


def test_neither_a_record_nor_the_callers_settings_are_needed(tmp_path):
    import matplotlib

    before = dict(matplotlib.rcParams)
    out = fake_run.write(tmp_path, record=False, **(SMALL | {"sizes": [100, 1000], "balances": ("natural",)}))
    with matplotlib.rc_context({"font.size": 33, "axes.grid": True}):
        odd = [path.read_bytes() for path in figures.draw_figures(Results(out), dpi=40, formats=["png"])]
        assert matplotlib.rcParams["font.size"] == 33
    assert dict(matplotlib.rcParams) == before
    assert odd == [path.read_bytes() for path in figures.draw_figures(Results(out), dpi=40, formats=["png"])]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"formats": ["svg"]}, "figure.formats: 'svg'"),
        ({"formats": []}, "figure.formats: empty"),
        ({"x_axis": "cubic"}, "figure.x_axis: 'cubic'"),
        ({"dpi": 0}, "figure.dpi"),
        ({"width": 1}, "figure.width"),
        ({"truth": "margin"}, "figure.truth: margin was not run"),
    ],
)
def test_an_option_that_is_not_allowed_is_named(tmp_path, change, words):
    out = fake_run.write(tmp_path, **SMALL)
    with pytest.raises(UserError, match=words):
        figures.draw_figures(Results(out), **change)
    assert not (out / "figures").exists()


def test_a_missing_or_broken_table_is_named(tmp_path):
    with pytest.raises(UserError, match=r"size_power\.csv: no such table"):
        figures.draw_figures(Results(tmp_path))
    fake_run.write(tmp_path, fake_run.table(**SMALL).drop(columns="n_dead"))
    with pytest.raises(UserError, match="column n_dead is missing"):
        figures.draw_figures(Results(tmp_path))
    fake_run.write(tmp_path, fake_run.table(**SMALL).iloc[:0])
    with pytest.raises(UserError, match="no row"):
        figures.draw_figures(Results(Path(tmp_path)))
