"""Figures of the spread over runs: the mean rate against N, with a bar from the lowest run to the highest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from harness.collect.join import SPREAD
from harness.drawing.style import nominal_handle, tolerance_handle
from harness.results import captions, names
from harness.results.names import FEW_CATEGORIES, NULL_TRUTHS, select_panel
from harness.run.figures import nulls
from harness.writing.prose import paragraph

if TYPE_CHECKING:
    from pandas import DataFrame

LABELS = {"size": "$\\alpha_{\\mathrm{true}}$", "power": "power $\\pi$"}


def plan_spread_figures(table: DataFrame) -> dict[str, tuple[str, str]]:
    """Return a file stem for every figure that ``spread.csv`` can give: its truth and its kind."""
    truths = [names.primary_truth(table), *(name for name in NULL_TRUTHS if name in set(table["truth"]))]
    alpha = names.primary_alpha(table)
    return {
        f"spread_{kind}_{truth}": (truth, kind)
        for truth in dict.fromkeys(truths)
        for kind in LABELS
        if names.select(table, truth=truth, kind=kind, alpha=alpha)["rate"].notna().any()
    }


def spread_figure(
    table: DataFrame, facts: Mapping[str, Any], *, truth: str, kind: str, width: float
) -> tuple[Any, str]:
    """Return a figure of size or power against N over all runs, and its caption."""
    alpha, is_size = names.primary_alpha(table), kind == "size"
    rows = names.select(table, truth=truth, kind=kind, alpha=alpha)
    rows = rows[rows["measure"].isin(list(nulls.MEASURES))]
    rows = rows.assign(  # as the columns of a curve, the range over the runs as its bars
        mc_low=rows["rate_low"], mc_high=rows["rate_high"], n_categories=rows["n_categories_low"]
    )
    panels, families = nulls.null_panels(rows), [_with_bars(row) for row in nulls.family_rows(rows)]
    sizes = sorted(float(n) for n in rows["n_documents"].unique())

    def draw(axes: Any, row: nulls.Row, panel: Any, top: float) -> None:
        """Draw a family's means against N, each with the range over the runs."""
        level = alpha if is_size else None
        part = select_panel(rows, panel)
        nulls.draw_family(axes, row, part, sizes, x_axis="log", level=level, bands=False)

    grid = nulls.Grid(
        panels,
        families,
        draw,
        [nulls.row_top(rows, row, alpha) if is_size else 1.03 for row in families],
        [nominal_handle(alpha), tolerance_handle()] if is_size else [],
        "evaluation set size N",
        LABELS[kind],
        [_numbers(select_panel(rows, panel)) for panel in panels],
        sizes,
    )
    real = truth in NULL_TRUTHS and kind == "power"
    caption = paragraph(
        "collect", "figure_caption", kind=kind, alpha=alpha, values=facts["values"], over=facts[SPREAD],
        truth=[captions.ON_REAL_PAIRS] if real else captions.truth_sentences(truth), few=FEW_CATEGORIES,
        measures=list(nulls.MEASURES.values()), rows=rows[rows["n_runs"] > 1],
        setting=[captions.corpus_sentence(facts), *captions.corpus_notes(facts)],
    )  # fmt: skip
    return nulls.grid_figure(grid, caption, width), caption


def _with_bars(row: nulls.Row) -> nulls.Row:
    """Return a family whose every curve has bars: hollow markers have none."""
    return row._replace(curves=[(curve, look._replace(filled=True)) for curve, look in row.curves])


def _numbers(rows: DataFrame) -> dict[str, dict[float, str]]:
    """Return per measure and N the fewest and the most categories that qualify in a run."""
    found: dict[str, dict[float, str]] = {}
    for measure in sorted(rows["measure"].unique(), key=lambda name: (name != "f1", name)):
        groups = rows[rows["measure"] == measure].groupby("n_documents", sort=True)
        low, high = groups["n_categories_low"].min(), groups["n_categories_high"].max()
        ends = {float(n): dict.fromkeys((int(low[n]), int(high[n]))) for n in low.index}
        found[measure] = {n: "–".join(map(str, each)) for n, each in ends.items()}
    return found
