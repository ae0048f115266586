"""Draw a finished run's figures from its tables, and from nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.drawing.layout import Page, columns_that_fit
from harness.drawing.panels import (
    ROW_HEIGHT,
    TURNED_HEIGHT,
    View,
    category_rows,
    draw_numbers,
    draw_panel,
    label_text,
    turned,
)
from harness.drawing.style import (
    check_options,
    curve_look,
    figure_style,
    legend_handle,
    nominal_handle,
    save_figure,
)
from harness.results.captions import panel_caption
from harness.results.names import (
    NULL_TRUTHS,
    PRIMARY_ALPHA,
    REWEIGHTED,
    Curve,
    Panel,
    companion_curves,
    other_curves,
    other_panels,
    pair_name,
    papers_curves,
    papers_panels,
    primary_truth,
    select,
    without_nulls,
)
from harness.run.figures.null_plan import plan_degenerate, plan_null_figures
from harness.run.figures.prevalence import prevalence_figure
from harness.run.figures.truths import truth_figure
from harness.runtime.parallel import Workers, completed
from harness.writing.captions import write_captions

if TYPE_CHECKING:
    from pandas import DataFrame

    from harness.results.folder import Results

LEFT, GAP, RIGHT = 0.86, 0.86, 0.1  # inches: room for row labels left of each panel
PANEL_HEIGHT, TITLE_HEIGHT, AXIS_HEIGHT = 1.9, 0.24, 0.35
LEGEND_ROW, NOTE_HEIGHT = 0.16, 0.3
ALONE = Workers("sequential")
TOPS = {"size": 0.6, "power": 1.0}
NUMBERS = {"size": "1", "power": "2"}
WORDS = {
    "size": "Figure 1{suffix}. Type I error: alpha_true, the mean share of evaluation sets on which a test "
    "at alpha = {alpha:g} rejects H0, over the categories whose H0 is true, against the size N of the set",
    "power": "Figure 2{suffix}. Power: the mean share of evaluation sets on which a test at alpha = "
    "{alpha:g} rejects H0 in the right direction, over the categories whose H0 is false, against the size N "
    "of the set",
}


@dataclass(frozen=True)
class Options:
    """How figures are drawn; the node ``figure`` of a configuration."""

    papers_minus_one: bool = False
    dpi: float = 200
    width: float = 7.2
    formats: Sequence[str] = ("pdf", "png")
    x_axis: str = "log"


def draw_figures(
    results: Results,
    *,
    papers_minus_one: bool = False,
    dpi: float = 200,
    width: float = 7.2,
    formats: Sequence[str] = ("pdf", "png"),
    x_axis: str = "log",
    truth: str | None = None,
    workers: Workers = ALONE,
) -> list[Path]:
    """Draw every figure that a run's tables can give.

    Returns
    -------
    list of Path
        The files, figure 1 first; ``captions.md`` is the last.
    """
    formats = tuple(formats)
    check_options(formats, x_axis, dpi, width)
    table, provenance, folder = results.table, results.provenance, results.folder / "figures"
    options = Options(papers_minus_one, dpi, width, formats, x_axis)
    chosen = primary_truth(table, truth)
    shown = table if chosen in NULL_TRUTHS else results.rules
    scores = results.scores
    jobs = {} if results.rules.empty else plan_figures(shown, provenance, chosen, options, scores)
    of_nulls = plan_null_figures(results, width=width, x_axis=x_axis)
    jobs |= of_nulls or plan_degenerate(table, provenance, "figure_degenerate", width=width)
    # a worker may have another working folder
    draw = partial(_draw, folder=folder.absolute(), formats=formats, dpi=dpi)
    arguments = [(stem, (stem, build)) for stem, build in jobs.items()]
    captions = dict(completed(workers, draw, arguments, threads=False, description="drawing figures"))
    paths = [folder / f"{stem}.{name}" for stem in jobs for name in formats]
    return [*paths, write_captions(folder, {stem: captions[stem] for stem in jobs})] if jobs else []


Build = Callable[[], tuple[Any, str]]


def _draw(stem: str, build: Build, *, folder: Path, formats: Sequence[str], dpi: float) -> str:
    """Draw one figure and return its caption."""
    with figure_style():
        figure, caption = build()
        save_figure(figure, folder, stem, formats, dpi)
    return caption


def plan_figures(
    table: DataFrame,
    provenance: Mapping[str, Any],
    truth: str,
    options: Options,
    scores: DataFrame | None = None,
) -> dict[str, Build]:
    """Return what can be drawn: a file stem and the function that draws it."""
    jobs: dict[str, Build] = {}
    panels = {"": papers_panels(table), **{f"_{name}": group for name, group in other_panels(table).items()}}
    if not any(panel.balance for panel in panels[""]):
        del panels[""]
    papers = [*papers_curves(table), *companion_curves(table)]
    groups = {"": papers, "_other_tests": other_curves(table)} if papers else {"": other_curves(table)}
    alphas = sorted((float(a) for a in table["alpha"].unique()), key=lambda a: (a != PRIMARY_ALPHA, -a))
    for alpha in alphas:
        end = "" if alpha == PRIMARY_ALPHA else f"_alpha{alpha:g}"
        for suffix, group in panels.items():
            for kind, number in NUMBERS.items():
                for name, curves in groups.items():
                    if curves:
                        jobs[f"figure{number}{suffix}{name}{end}"] = _panel_job(
                            table, provenance, group, curves, suffix=suffix + name, kind=kind, alpha=alpha,
                            truth=truth, options=options,
                        )  # fmt: skip
    jobs["figure_truth_rules"] = lambda: truth_figure(
        without_nulls(table), provenance, width=options.width, x_axis=options.x_axis, scores=scores
    )
    if select(table, balance=REWEIGHTED, truth=truth)["prevalence"].notna().any():
        jobs["figure_prevalence"] = lambda: prevalence_figure(
            table, provenance, truth=truth, width=options.width
        )
    return jobs


def _panel_job(
    table: DataFrame, provenance: Mapping[str, Any], panels: list[Panel], curves: list[Curve], **choice: Any
) -> Build:
    return lambda: panel_figure(table, provenance, panels, curves, **choice)


def panel_figure(
    table: DataFrame,
    provenance: Mapping[str, Any],
    panels: list[Panel],
    curves: list[Curve],
    *,
    kind: str,
    alpha: float,
    truth: str,
    options: Options,
    suffix: str = "",
) -> tuple[Any, str]:
    """Return a figure of size or power against N, two panels a row, and its caption."""
    rows = select(table, kind=kind, alpha=alpha, truth=truth)
    minus_one = options.papers_minus_one
    caption = panel_caption(
        _heading(kind, alpha, panels, suffix), select(rows, alpha=alpha), panels, provenance,
        truth=truth, kind=kind, top=TOPS[kind], minus_one=minus_one,
    )  # fmt: skip
    sizes = sorted(float(n) for n in table["n_documents"].unique())
    view = View(alpha, TOPS[kind], options.x_axis, sizes, minus_one)
    grid = _Grid(rows, panels, curves, sizes, options)
    page = Page(options.width, grid.height, caption)
    page.legend(_legend(curves, alpha), 0.06, grid.legend_columns)
    for place, panel in enumerate(panels):
        left, top = grid.corner(place)
        if not panel.balance:
            _note(page.axes(left, top, grid.width, NOTE_HEIGHT), panel)
            continue
        axes = page.axes(left, top, grid.width, PANEL_HEIGHT)
        draw_panel(axes, rows, panel, curves, view, width=grid.width, magnify=kind == "size")
        axes.set_ylabel(label_text(_y_label(kind)))
        axes.set_xlabel("evaluation set size N", labelpad=1.5)
        draw_numbers(axes, grid.numbers[place], below=AXIS_HEIGHT, height=PANEL_HEIGHT, turn=grid.turn)
    return page.figure, caption


class _Grid:
    """Where panels stand on a page, two a row, and the numbers under each."""

    def __init__(
        self, rows: DataFrame, panels: list[Panel], curves: list[Curve], sizes: list[float], options: Options
    ) -> None:
        self.width = (options.width - LEFT - GAP - RIGHT) / 2
        tests = [curve.test for curve in curves]
        used = rows[rows["test"].isin(tests)]
        self.numbers = [
            category_rows(used[(used["pair"] == panel.pair) & (used["balance"] == panel.balance)])
            for panel in panels
        ]
        words = [word for numbers in self.numbers for row in numbers.values() for word in row.values()]
        self.turn = turned(words, sizes, options.x_axis, self.width)
        n_rows = max((len(numbers) for numbers in self.numbers), default=1)
        strip = max(n_rows, 1) * (TURNED_HEIGHT if self.turn else ROW_HEIGHT)
        labels = [*(curve.label for curve in curves), "nominal level 0.05", "band over categories"]
        self.legend_columns = columns_that_fit(labels, options.width - 0.1, 4)
        self.first = 0.12 + LEGEND_ROW * -(-len(labels) // self.legend_columns)
        block = TITLE_HEIGHT + PANEL_HEIGHT + AXIS_HEIGHT + strip + 0.1
        rows_run = [
            any(panel.balance for panel in panels[start : start + 2]) for start in range(0, len(panels), 2)
        ]
        heights = [block if run else TITLE_HEIGHT + NOTE_HEIGHT for run in rows_run]
        self.tops = [self.first + sum(heights[:row]) for row in range(len(heights))]
        self.height = self.first + sum(heights)

    def corner(self, place: int) -> tuple[float, float]:
        """Return left and top of a panel's axes, in inches."""
        row, column = divmod(place, 2)
        return LEFT + column * (self.width + GAP), self.tops[row] + TITLE_HEIGHT


def _legend(curves: Sequence[Curve], alpha: float) -> list[Any]:
    from matplotlib.patches import Patch

    handles = [
        legend_handle(curve_look(curve, place), label_text(curve.label)) for place, curve in enumerate(curves)
    ]
    band = Patch(color="0.45", alpha=0.25, linewidth=0, label="band over categories")
    return [*handles, nominal_handle(alpha), band]


def _y_label(kind: str) -> str:
    return "$\\alpha_{\\mathrm{true}}$" if kind == "size" else "power $\\pi$"


def _heading(kind: str, alpha: float, panels: list[Panel], suffix: str) -> str:
    words = WORDS[kind].format(alpha=alpha, suffix=f" ({_suffix_words(suffix)})" if suffix else "")
    shown = "; ".join(
        f"{panel.title} ({panel.balance})"
        for panel in panels
        if panel.balance and panel.balance not in panel.title
    )
    if not shown:
        shown = "; ".join(pair_name(panel.pair) for panel in panels)
    inset = " An inset shows the points of its panel magnified." if kind == "size" else ""
    return f"{words}. Panels: {shown}.{inset}"


def _suffix_words(suffix: str) -> str:
    """Return what tells a figure from the paper's, in words.

    >>> _suffix_words("_rbf_svm-mlp_other_tests")
    'rbf_svm-mlp, other tests'
    """
    words = suffix.replace("_other_tests", ", other tests")
    return words.removeprefix("_").removeprefix(", ")


def _note(axes: Any, panel: Panel) -> None:
    axes.set_axis_off()
    axes.text(
        0.5, 0.5, f"{panel.title}:\nnot run", transform=axes.transAxes, ha="center", va="center", color="0.4",
        fontsize=7.5, gid="not-run",
    )  # fmt: skip
