"""Rates of rejection against N, prevalence, the level or the distance from H0: small multiples."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from pandas import DataFrame

from harness.drawing import style
from harness.drawing.grid import Cell, Grid, Line, Row, Space, batches
from harness.drawing.layout import Axis
from harness.drawing.marks import count_categories, count_handles, draw_curves, top_of
from harness.drawing.style import GREY, NOMINAL_LINE, TOLERANCE, Look
from harness.evaluation.rates import HIGHEST, LOWEST
from harness.results import captions, names
from harness.results.names import FEW_CATEGORIES, REWEIGHTED, Curve, Panel, pick, select
from harness.results.truth_scores import truth_name
from harness.writing.prose import paragraph

Pages = tuple[list[Any], str]
ROOM = "run/figures"
OTHER_MEASURES = "other measures"
MEASURES = ("f1", "error")
PAPERS = "The paper's tests"
FAMILIES = {heading: tuple(starts) for heading, starts in names.KNOWN["families"].items()}
MOST_CURVES = 6


class Study(NamedTuple):
    """A table of rates, the truth that it is shown under, and how N and missing points are drawn."""

    table: DataFrame
    truth: str
    x_axis: str = "log"
    minus_one: bool = False

    def rows(self, **equal: Any) -> DataFrame:
        """Return rows under the truth; with `minus_one` those without a category are at -1."""
        rows = select(self.table, truth=self.truth, **equal)
        if not self.minus_one:
            return rows
        none = rows["n_categories"] == 0
        return rows.assign(
            rate=rows["rate"].mask(none, -1.0), n_categories=rows["n_categories"].mask(none, 99)
        )

    def label(self, kind: str) -> str:
        """Return the label of the y axis."""
        size = "size" if self.truth in names.NULL_TRUTHS else "alpha_true"
        return size if kind == "size" else "power"

    def sizes(self) -> Axis:
        """Return the axis of N."""
        return Axis("n_documents", "set size N", _values(self.table["n_documents"]), self.x_axis)


def _values(column: Any) -> list[float]:
    return sorted(float(value) for value in column.dropna().unique())


def measures_run(table: DataFrame) -> list[str]:
    """Return the groups of measures that get a figure: f1, error, and all others in one."""
    run = [str(name) for name in table["measure"].unique()]
    found = [name for name in MEASURES if name in run]
    return [*found, OTHER_MEASURES] if set(run) - set(found) else found


def of_measure(table: DataFrame, group: str) -> DataFrame:
    """Return the rows of a group of measures."""
    return table[~table["measure"].isin(MEASURES) if group == OTHER_MEASURES else table["measure"] == group]


def panels_of(table: DataFrame) -> list[Panel]:
    """Return the panels of a table: the paper's four where they were run, then any others."""
    return [panel for panel in names.all_panels(table) if len(names.select_panel(table, panel))]


def lines_of(some: Sequence[Curve]) -> list[Line]:
    """Return curves with the style that their test has everywhere."""
    return [
        Line(curve.test, curve.label, style.style_of(curve.test), {"test": curve.test}, not curve.companion)
        for curve in some
    ]


def families(table: DataFrame) -> list[tuple[str, list[Line]]]:
    """Return the families of the tests in a table, the paper's own first, at most six curves each."""
    papers = lines_of([*names.papers_curves(table), *names.companion_curves(table)])
    grouped: dict[str, list[Curve]] = {}
    several = table["measure"].nunique() > 1
    measure_of = dict(zip(table["test"], table["measure"], strict=True))
    for curve in names.other_curves(table):
        heading = family(curve.test)
        if several:
            heading += f", {names.measure_name(str(measure_of[curve.test]))}"
        grouped.setdefault(heading, []).append(curve)
    found = [(PAPERS, papers)] if papers else []
    for heading in sorted(grouped, key=_place):
        lines = lines_of(grouped[heading])
        found += [(heading, some) for some in batches(lines, MOST_CURVES)]
    return found


def family(test: str) -> str:
    """Return the heading under which a test that the paper does not have is drawn.

    >>> family("mcnemar_midp"), family("signed_root_f1"), family("mine")
    ("McNemar's and randomization tests", 'Large-sample tests', 'Other tests')
    """
    return next((heading for heading, starts in FAMILIES.items() if test.startswith(starts)), "Other tests")


def _place(heading: str) -> int:
    places = (place for place, name in enumerate(FAMILIES) if heading.startswith(name))
    return next(places, len(FAMILIES))


def where(panel: Panel) -> dict[str, str]:
    """Return the columns that make a panel."""
    return {"pair": panel.pair, "balance": panel.balance}


def rate_row(
    rows: DataFrame, cells: Sequence[Cell], lines: Sequence[Line], kind: str, alpha: float, title: str = ""
) -> Row:
    """Return a row of rates with an axis as high as its curves need; sizes stand over the level."""
    tops = [0.2 if kind == "power" else 1.6 * alpha]
    for line in lines:
        points = pick(rows, **line.where)
        tops.append(top_of(points, 0.0))
        if line.band:
            tops.append(top_of(points[points["n_categories"] >= FEW_CATEGORIES], 0.0, ["category_high"]))
    return Row(cells, lines, max(tops), title, level=alpha if kind == "size" else None)


def rate_handles(rows: DataFrame, kind: str, alpha: float) -> list[Any]:
    """Return what stands in a legend beside the tests."""
    band = style.patch("band over categories", "0.45", alpha=0.25)
    level = style.level_handles(alpha) if kind == "size" else []
    return [*level, band, *count_handles(rows)]


def panel_figure(
    study: Study, panels: list[Panel], papers: list[Curve], look: Look, *, kind: str, alpha: float
) -> Pages:
    """Return size or power against N: a row per balance, a column per pair, and the caption."""
    lines = lines_of(papers)
    tests = [line.name for line in lines]
    rows = study.rows(kind=kind, alpha=alpha)
    rows = rows[rows["test"].isin(tests)]
    shown = [panel for panel in panels if panel.balance]
    made = []
    for balance in dict.fromkeys(panel.kind for panel in shown):
        cells = [
            Cell(panel.title, where(panel), "" if panel.balance else "not run")
            for panel in panels
            if panel.kind == balance and panel.pair in {one.pair for one in shown}
        ]
        inside = rows[rows["balance"].isin([panel.balance for panel in shown if panel.kind == balance])]
        row = rate_row(inside, cells, lines, kind, alpha)
        none = study.minus_one and (inside["rate"] == -1).any()
        made.append(replace(row, bottom=-1.08) if none else row)
    caption = _caption(
        "panels", study, kind, alpha, rows, panels=shown, minus_one=study.minus_one,
        missing=[panel.letter for panel in panels if not panel.balance],
        unions=any(panel.balance in ("meta", "meta_or") for panel in panels),
    )  # fmt: skip
    return _rates_grid(study, rows, made, kind, alpha, caption).figure(look)


def family_figure(study: Study, panels: list[Panel], look: Look, *, kind: str, alpha: float) -> Pages:
    """Return size or power against N: a row per family of tests, a column per panel, and the caption."""
    rows = study.rows(kind=kind, alpha=alpha)
    cells = [Cell(panel.title, where(panel)) for panel in panels]
    made = [rate_row(rows, cells, lines, kind, alpha, heading) for heading, lines in families(rows)]
    caption = _caption("families", study, kind, alpha, rows)
    return _rates_grid(study, rows, made, kind, alpha, caption).figure(look)


def _rates_grid(
    study: Study, rows: DataFrame, made: list[Row], kind: str, alpha: float, caption: str
) -> Grid:
    return Grid(
        rows, study.sizes(), made, study.label(kind), draw_curves, rate_handles(rows, kind, alpha),
        count_categories, caption=caption,
    )  # fmt: skip


def _caption(name: str, study: Study, kind: str, alpha: float, rows: DataFrame, **more: Any) -> str:
    return paragraph(
        ROOM, name, kind=kind, alpha=alpha, reading=captions.truth_sentences(study.truth, kind),
        is_null=study.truth in names.NULL_TRUTHS,
        measures=[names.measure_name(str(measure)) for measure in rows["measure"].unique()], **more,
    )  # fmt: skip


def calibration_figure(table: DataFrame, panels: list[Panel], look: Look) -> Pages:
    """Return the actual rate against the nominal level under ``exact_null``, on log axes.

    A row for each family of tests at the N nearest to 1000 and to 3000.
    """
    sizes = sorted({names.reference_size(table), names.reference_size(table, 3000)})
    rows = select(table, kind="size")
    rows = rows[rows["n_documents"].isin(sizes)]
    rows = rows.assign(rate=rows["rate"].where(rows["rate"] > 0))
    levels = _values(rows["alpha"])
    ends = np.array([levels[0] / 1.15, levels[-1] * 1.15])

    def draw(axes: Any, part: DataFrame, row: Row, space: Space) -> None:
        """Draw rates against levels over the line on which the two are equal."""
        axes.fill_between(ends, LOWEST * ends, HIGHEST * ends, color=TOLERANCE, linewidth=0, zorder=-1)
        axes.plot(ends, ends, color=GREY, linewidth=0.8, linestyle=NOMINAL_LINE, zorder=0, gid="nominal")
        draw_curves(axes, part, row, space)

    made = _by_size(rows, panels, min(1.0, levels[-1] * 2), levels[0] / 3)
    caption = paragraph(
        ROOM, "calibration", rows=rows[rows["rate"].notna()], alpha=names.primary_alpha(rows),
        reading=captions.truth_sentences("exact_null"),
    )  # fmt: skip
    axis, handles = Axis("alpha", "nominal level", levels), [style.tolerance_handle()]
    return Grid(
        rows, axis, made, "actual rate", draw, handles, y_log=True, empty="no rate above 0", caption=caption
    ).figure(look)


def _by_size(rows: DataFrame, panels: list[Panel], top: float, bottom: float = 0.0) -> list[Row]:
    """Return a row for each N and family of tests, without bands."""
    made = []
    for n_documents in _values(rows["n_documents"]):
        cells = [Cell(panel.title, where(panel) | {"n_documents": n_documents}) for panel in panels]
        for heading, lines in families(rows[rows["n_documents"] == n_documents]):
            bare = [line._replace(band=False) for line in lines]
            made.append(Row(cells, bare, top, f"{heading}, N = {n_documents:g}", bottom))
    return made


def path_figure(path: DataFrame, panels: list[Panel], look: Look) -> Pages:
    """Return power against the distance h from H0, with that of a z test, a row per N and family."""
    from scipy import stats

    alpha = names.primary_alpha(path)
    rows = select(path, alpha=alpha).assign(n_dead=0)
    axis = Axis("h", "distance h from H0", _values(rows["h"]), "linear")
    h = np.linspace(min(axis.values), max(axis.values), 80)
    cut = stats.norm.ppf(1 - alpha / 2)
    ideal = stats.norm.sf(cut - h) + stats.norm.cdf(-cut - h)

    def draw(axes: Any, part: DataFrame, row: Row, space: Space) -> None:
        """Draw power against h over that of the z test."""
        axes.plot(h, ideal, color="0.75", linewidth=2.2, zorder=0, gid="ideal")
        draw_curves(axes, part, row, space)

    made = _by_size(rows, panels, 1.0)
    caption = paragraph(ROOM, "path", alpha=alpha, far=rows[rows["h"] == max(axis.values)])
    handles = [style.patch("z test with known variance", "0.75"), *count_handles(rows, dead=False)]
    return Grid(rows, axis, made, "power", draw, handles, count_categories, caption=caption).figure(look)


def prevalence_figure(study: Study, look: Look) -> Pages:
    """Return size and power against prevalence, from the reweighted populations: a column per N."""
    alpha = names.primary_alpha(study.table)
    rows = study.rows(balance=REWEIGHTED, alpha=alpha)
    rows = rows[rows["prevalence"].notna()]
    papers = [*names.papers_curves(rows), *names.companion_curves(rows)]
    lines = lines_of(papers or names.other_curves(rows)[:MOST_CURVES])
    rows = rows[rows["test"].isin([line.name for line in lines])]
    axis = Axis("prevalence", "prevalence", _values(rows["prevalence"]))
    run = [int(n) for n in rows["n_documents"]]
    sizes = sorted({min(run), names.reference_size(rows), max(run)})
    made = []
    for pair in map(str, rows["pair"].unique()):
        for kind in ("size", "power"):
            part = select(rows, pair=pair, kind=kind)
            cells = [Cell(f"N = {n}", {"pair": pair, "kind": kind, "n_documents": n}) for n in sizes]
            part = part[part["n_documents"].isin(sizes)]
            made.append(rate_row(part, cells, lines, kind, alpha, f"{names.pair_name(pair)}: {kind}"))
    caption = _caption("prevalence", study, "size", alpha, rows)
    handles = rate_handles(rows, "size", alpha)
    grid = Grid(rows, axis, made, "rejected", draw_curves, handles, count_categories, caption=caption)
    return grid.figure(look)


def truth_figure(study: Study, look: Look) -> Pages:
    """Return sizes under every truth rule: a row per panel, a column per test, a curve per rule."""
    table = names.without_nulls(study.table)
    alpha = names.primary_alpha(table)
    rows = select(table, kind="size", alpha=alpha).assign(mc_low=np.nan, mc_high=np.nan)
    some = names.papers_curves(table) or names.other_curves(table)[:4]
    lines = [
        Line(truth, truth_name(truth), style.numbered_style(place), {"truth": truth}, False)
        for place, truth in enumerate(map(str, table["truth"].unique()))
    ]
    rows = rows[rows["test"].isin([curve.test for curve in some])]
    made = []
    for panel in names.all_panels(table):
        part = names.select_panel(rows, panel)
        cells = [Cell(curve.label, where(panel) | {"test": curve.test}) for curve in some]
        made.append(Row(cells, lines, top_of(part, 2 * alpha), panel.title, level=alpha))
    caption, handles = paragraph(ROOM, "truths", alpha=alpha), style.level_handles(alpha)
    grid = Grid(rows, study.sizes(), made, study.label("size"), draw_curves, handles, caption=caption)
    return grid.figure(look)
