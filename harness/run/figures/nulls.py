"""Figures of tests under exact nulls: a row of panels per family of tests, a column per pair and balance."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from harness.drawing.layout import Page, columns_that_fit, round_top, set_x, text_width
from harness.drawing.panels import (
    ROW_HEIGHT,
    TURNED_HEIGHT,
    category_rows,
    dodge,
    draw_curve,
    draw_numbers,
    label_text,
    turned,
)
from harness.drawing.style import (
    FAMILIES,
    LineLook,
    curve_look,
    draw_nominal,
    draw_tolerance,
    family,
    family_look,
    legend_handle,
    nominal_handle,
    tolerance_handle,
)
from harness.evaluation.rates import verdict
from harness.results.captions import null_settings, null_truth_sentence
from harness.results.category_verdicts import mean_words
from harness.results.names import (
    FEW_CATEGORIES,
    Curve,
    Panel,
    all_panels,
    companion_curves,
    other_curves,
    papers_curves,
    primary_alpha,
    select,
    select_panel,
)
from harness.results.truth_scores import interval

if TYPE_CHECKING:
    from pandas import DataFrame

LEFT, RIGHT, GAP = 0.62, 0.08, 0.12  # inches
WIDE_LEFT = 0.95  # where panels are wide, their row labels stand further out
HEIGHT, AXIS_HEIGHT, HEADING, LEGEND_ROW = 1.25, 0.36, 0.19, 0.15
SIZE_TOP = 0.6  # never more, as in the paper
PAPERS = "The paper's tests"
MEASURES = {"f1": "ΔF1", "error": "ΔCerr"}
OTHER_MEASURES = "other measures"


class Row(NamedTuple):
    """A family of tests: its heading and its curves with their looks."""

    heading: str
    curves: list[tuple[Curve, LineLook]]


class Grid(NamedTuple):
    """What a figure of rows and columns shows; `draw` puts one family into one panel."""

    panels: list[Panel]
    rows: list[Row]
    draw: Callable[[Any, Row, Panel, float], None]
    tops: list[float]
    handles: list[Any]
    x_label: str
    y_label: str
    numbers: list[dict[str, dict[float, str]]]
    x_values: list[float]
    bottom: float = 0.0
    x_scale: str = "log"


def measures_run(table: DataFrame) -> list[str]:
    """Return the groups of measures that get a figure: f1, error, and all others in one."""
    run = [str(name) for name in table["measure"].unique()]
    found = [name for name in MEASURES if name in run]
    return [*found, OTHER_MEASURES] if set(run) - set(found) else found


def of_measure(table: DataFrame, group: str) -> DataFrame:
    """Return the rows of a group of measures."""
    inside = table["measure"] == group
    return table[~table["measure"].isin(list(MEASURES)) if group == OTHER_MEASURES else inside]


def family_rows(table: DataFrame) -> list[Row]:
    """Return the families of the tests in a table, the paper's own first, each curve with its look."""
    curves = [*papers_curves(table), *companion_curves(table)]
    rows = [Row(PAPERS, [(curve, curve_look(curve, 0)) for curve in curves])] if curves else []
    grouped: dict[str, list[Curve]] = {}
    for curve in other_curves(table):
        grouped.setdefault(family(curve.test), []).append(curve)
    order = [heading for heading, _ in FAMILIES]
    for heading in sorted(grouped, key=lambda name: order.index(name) if name in order else len(order)):
        some = grouped[heading]
        rows.append(Row(heading, [(curve, family_look(place)) for place, curve in enumerate(some)]))
    return rows


def null_panels(table: DataFrame) -> list[Panel]:
    """Return the panels of a run under nulls: the paper's four where they were run, then any others."""
    return [panel for panel in all_panels(table) if len(select_panel(table, panel))]


def grid_figure(grid: Grid, caption: str, width: float) -> Any:
    """Return a figure: each family has a heading, a legend and a row of panels."""
    n_columns = max(len(grid.panels), 1)
    left = LEFT if n_columns > 2 else WIDE_LEFT
    wide = (width - left - RIGHT - GAP * (n_columns - 1)) / n_columns
    labels = [[label_text(curve.label) for curve, _ in row.curves] for row in grid.rows]
    n_fit = [columns_that_fit(names, width - left, 4, 6.8) for names in labels]
    lines = [-(-len(names) // fit) for names, fit in zip(labels, n_fit, strict=True)]
    blocks = [HEADING + LEGEND_ROW * n + 0.06 + HEIGHT + 0.24 for n in lines]
    words = [word for numbers in grid.numbers for row in numbers.values() for word in row.values()]
    turn = bool(words) and (n_columns > 2 or turned(words, grid.x_values, grid.x_scale, wide))
    strip = max((len(numbers) for numbers in grid.numbers), default=0)
    strip_height = strip * (TURNED_HEIGHT if turn else ROW_HEIGHT)
    first = 0.5
    page = Page(width, first + sum(blocks) + 0.2 + strip_height, caption)
    page.legend(grid.handles, 0.06, len(grid.handles))
    top = first
    for place, row in enumerate(grid.rows):
        page.text(0.06, top + 0.08, row.heading, fontsize=7.6, fontweight="bold", va="center")
        handles = [
            legend_handle(look, name) for (_, look), name in zip(row.curves, labels[place], strict=True)
        ]
        _row_legend(page, handles, left, top + HEADING - 0.02, n_fit[place])
        last = place == len(grid.rows) - 1
        for column, panel in enumerate(grid.panels):
            axes = page.axes(left + column * (wide + GAP), top + blocks[place] - HEIGHT - 0.24, wide, HEIGHT)
            axes.set_ylim(grid.bottom, grid.tops[place])
            grid.draw(axes, row, panel, grid.tops[place])
            axes.tick_params(labelsize=6, labelleft=column == 0)
            if place == 0:
                _above(page, panel, left + column * (wide + GAP), wide)
            if column == 0:
                axes.set_ylabel(grid.y_label, labelpad=2, fontsize=7)
            if last:
                axes.set_xlabel(grid.x_label, labelpad=1, fontsize=7)
                if grid.numbers:
                    numbers = grid.numbers[column]
                    first_one = column == 0
                    draw_numbers(axes, numbers, below=AXIS_HEIGHT, height=HEIGHT, turn=turn, label=first_one)
        top += blocks[place]
    return page.figure


def _above(page: Page, panel: Panel, left: float, wide: float) -> None:
    """Write the panel's title over its column."""
    size = 7.2 * min(1.0, wide / text_width(panel.title, 7.2, True))
    page.text(left, 0.4, panel.title, fontsize=size, fontweight="bold", va="center")


def _row_legend(page: Page, handles: Sequence[Any], left: float, top: float, n_columns: int) -> None:
    page.figure.legend(
        handles=handles, loc="upper left", bbox_to_anchor=(left / page.width, 1 - top / page.height),
        ncols=n_columns, borderaxespad=0, columnspacing=1.2, handlelength=2.8, labelspacing=0.3, fontsize=6.8,
    )  # fmt: skip


def null_size_figure(
    table: DataFrame,
    provenance: Mapping[str, Any],
    group: str,
    *,
    truth: str,
    kind: str,
    width: float,
    x_axis: str,
) -> tuple[Any, str]:
    """Return size under a null, or power on the real pair, against N for the tests of a measure."""
    alpha = primary_alpha(table)
    rows = select(of_measure(table, group), truth=truth, kind=kind, alpha=alpha)
    panels, families = null_panels(rows), family_rows(rows)
    sizes = sorted(float(n) for n in rows["n_documents"].unique())

    def draw(axes: Any, row: Row, panel: Panel, top: float) -> None:
        """Draw a family's rates against N; under a null also the level with its tolerance."""
        level = alpha if kind == "size" else None
        draw_family(axes, row, select_panel(rows, panel), sizes, x_axis=x_axis, level=level, bands=True)

    numbers = [category_rows(select_panel(rows, panel)) for panel in panels]
    tops = [row_top(rows, row, alpha) if kind == "size" else 1.03 for row in families]
    handles = [nominal_handle(alpha), tolerance_handle()] if kind == "size" else []
    label = "$\\alpha_{\\mathrm{true}}$" if kind == "size" else "power $\\pi$"
    grid = Grid(
        panels,
        families,
        draw,
        tops,
        [*handles, band_handle()],
        "evaluation set size N",
        label,
        numbers,
        sizes,
    )
    caption = _size_caption(table, rows, provenance, group, truth, kind, alpha)
    return grid_figure(grid, caption, width), caption


def draw_family(
    axes: Any,
    row: Row,
    rows: DataFrame,
    sizes: Sequence[float],
    *,
    x_axis: str,
    level: float | None,
    bands: bool,
) -> None:
    """Draw the rates of a family of tests against N, and a level with its tolerance where there is one."""
    set_x(axes, sizes, x_axis, digits=(1, 5) if len(sizes) > 5 else (1, 3))
    if level is not None:
        draw_tolerance(axes, level)
        draw_nominal(axes, level)
    for place, (curve, look) in enumerate(row.curves):
        points = rows[rows["test"] == curve.test]
        if len(points):
            n = points["n_documents"].to_numpy(float)
            x = dodge(n, place, len(row.curves), x_axis, axes.get_xlim())
            draw_curve(axes, points, look, x, name=curve.test, band=bands and not curve.companion)


def band_handle() -> Any:
    """Return what stands for the band over categories in a legend."""
    from matplotlib.patches import Patch

    return Patch(color="0.45", alpha=0.25, linewidth=0, label="band over categories")


def row_top(rows: DataFrame, row: Row, alpha: float) -> float:
    """Return the upper end of a row's axes: what its tests need, never above the paper's."""
    part = rows[rows["test"].isin([curve.test for curve, _ in row.curves])]
    peak = float(part[["rate", "mc_high"]].max().max())
    return min(SIZE_TOP, round_top(max(peak, 1.6 * alpha))) if peak == peak else SIZE_TOP


def _size_caption(
    table: DataFrame,
    rows: DataFrame,
    provenance: Mapping[str, Any],
    group: str,
    truth: str,
    kind: str,
    alpha: float,
) -> str:
    name = MEASURES.get(group, group)
    if kind == "size":
        head = f"Size of the tests on {name} at alpha = {alpha:g} against the size N of the evaluation set."
        parts = [head, null_truth_sentence(truth)]
    else:
        parts = [
            f"Power of the tests on {name} at alpha = {alpha:g} against the size N of the evaluation "
            "set: sets "
            "from the real population of every category that has a discordant document and a difference; "
            "rejections in the right direction."
        ]
    parts += [
        "A row for each family of tests, with its own scale; a column for each pair and balance. Bars: Monte "
        "Carlo interval; band: bootstrap over categories. Under the columns: the number of categories "
        "and, in brackets, how many are dead (hardly any set can be rejected), the most over the tests."
    ]
    above = rows[rows["rate"] > SIZE_TOP]
    if kind == "size" and len(above):
        parts.append(f"{len(above)} points lie above the frame (up to {above['rate'].max():.2f}).")
    return " ".join([*parts, *null_settings(provenance, rows), _verdict_words(rows, kind, alpha)])


def _verdict_words(rows: DataFrame, kind: str, alpha: float) -> str:
    """Return one plain sentence on what the figure shows."""
    rows = rows[rows["rate"].notna() & (rows["n_categories"] >= FEW_CATEGORIES)]
    if rows.empty:
        return "Too few categories qualify to tell."
    if kind == "power":
        last = rows[rows["n_documents"] == rows["n_documents"].max()]
        return (
            f"At N = {int(last['n_documents'].iloc[0])} power runs from {last['rate'].min():.2f} to "
            f"{last['rate'].max():.2f} over tests and panels. What a liberal test rejects more is not power."
        )
    words = [mean_words(verdict(*interval(point), alpha)) for point in rows.to_dict("records")]
    within, below, above, undecided = (
        words.count(mean_words(word)) for word in ("holds", "conservative", "liberal", "undecided")
    )
    return (
        f"Of {len(words)} points (test, panel, N) the mean over categories lies within [.8, 1.2] alpha at "
        f"{within}, below at {below}, above at {above}, undecided at {undecided}; it may hide liberal "
        "categories (size_by_category.csv)."
    )
