"""Figures of the spread over runs: the mean rate against N, with a bar from the lowest run to the highest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from harness.drawing.style import nominal_handle, tolerance_handle
from harness.results.captions import ON_REAL_PAIRS, corpus_notes, corpus_sentence, truth_sentences
from harness.results.names import (
    FEW_CATEGORIES,
    NULL_TRUTHS,
    primary_alpha,
    primary_truth,
    select,
    select_panel,
)
from harness.run.figures.nulls import (
    MEASURES,
    Grid,
    Row,
    draw_family,
    family_rows,
    grid_figure,
    null_panels,
    row_top,
)

if TYPE_CHECKING:
    from pandas import DataFrame

LABELS = {"size": "$\\alpha_{\\mathrm{true}}$", "power": "power $\\pi$"}


def plan_spread_figures(table: DataFrame) -> dict[str, tuple[str, str]]:
    """Return a file stem for every figure that ``spread.csv`` can give: its truth and its kind."""
    truths = [primary_truth(table), *(name for name in NULL_TRUTHS if name in set(table["truth"]))]
    alpha = primary_alpha(table)
    return {
        f"spread_{kind}_{truth}": (truth, kind)
        for truth in dict.fromkeys(truths)
        for kind in LABELS
        if select(table, truth=truth, kind=kind, alpha=alpha)["rate"].notna().any()
    }


def spread_figure(
    table: DataFrame, facts: Mapping[str, Any], *, truth: str, kind: str, width: float
) -> tuple[Any, str]:
    """Return a figure of size or power against N over all runs, and its caption."""
    alpha = primary_alpha(table)
    rows = _as_curves(select(table, truth=truth, kind=kind, alpha=alpha))
    rows = rows[rows["measure"].isin(list(MEASURES))]
    panels = null_panels(rows)
    families = [_with_bars(row) for row in family_rows(rows)]
    sizes = sorted(float(n) for n in rows["n_documents"].unique())
    is_size = kind == "size"

    def draw(axes: Any, row: Row, panel: Any, top: float) -> None:
        """Draw a family's means against N, each with the range over the runs."""
        level = alpha if is_size else None
        draw_family(axes, row, select_panel(rows, panel), sizes, x_axis="log", level=level, bands=False)

    grid = Grid(
        panels,
        families,
        draw,
        [row_top(rows, row, alpha) if is_size else 1.03 for row in families],
        [nominal_handle(alpha), tolerance_handle()] if is_size else [],
        "evaluation set size N",
        LABELS[kind],
        [_numbers(select_panel(rows, panel)) for panel in panels],
        sizes,
    )
    caption = _caption(rows, facts, truth, kind, alpha)
    return grid_figure(grid, caption, width), caption


def _with_bars(row: Row) -> Row:
    """Return a family whose every curve has bars: hollow markers have none."""
    return row._replace(curves=[(curve, look._replace(filled=True)) for curve, look in row.curves])


def _as_curves(table: DataFrame) -> DataFrame:
    """Return the spread in the columns of a curve: the range over the runs as its bars."""
    return table.assign(
        mc_low=table["rate_low"], mc_high=table["rate_high"], n_categories=table["n_categories_low"]
    )


def _numbers(rows: DataFrame) -> dict[str, dict[float, str]]:
    """Return per measure and N the fewest and the most categories that qualify in a run."""
    found: dict[str, dict[float, str]] = {}
    for measure in sorted(rows["measure"].unique(), key=lambda name: (name != "f1", name)):
        groups = rows[rows["measure"] == measure].groupby("n_documents", sort=True)
        low, high = groups["n_categories_low"].min(), groups["n_categories_high"].max()
        found[measure] = {
            float(n): f"{int(low[n])}" if low[n] == high[n] else f"{int(low[n])}–{int(high[n])}"
            for n in low.index
        }
    return found


def _caption(rows: DataFrame, facts: Mapping[str, Any], truth: str, kind: str, alpha: float) -> str:
    values = ", ".join(facts["values"])
    noun = "Size" if kind == "size" else "Power"
    parts = [
        f"{noun} of the tests at alpha = {alpha:g} against the size N of the evaluation set, over "
        f"{len(facts['values'])} runs that differ in {facts['spread_over']} alone ({values}).",
        *([ON_REAL_PAIRS] if truth in NULL_TRUTHS and kind == "power" else truth_sentences(truth)),
        f"Points: mean over the runs; hollow where a run has fewer than {FEW_CATEGORIES} categories that "
        "qualify, not drawn where a run has none (tables/spread.md has them). Bars: from the lowest run to "
        "the highest. Under the columns: the fewest and the most categories that qualify in a run, by "
        f"measure ({', '.join(MEASURES.values())}).",
    ]
    shown = rows[rows["n_runs"] > 1]
    if len(shown):
        parts.append(
            f"Between runs the standard deviation is {shown['rate_sd'].median():.4f} (median over the "
            f"points), where the evaluation sets alone would make it {shown['mc_sd'].median():.4f}."
        )
    return " ".join([*parts, corpus_sentence(facts), *corpus_notes(facts)])
