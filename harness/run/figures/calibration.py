"""The actual rate of rejections against the nominal level, where H0 holds exactly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.drawing.layout import set_x
from harness.drawing.panels import draw_curve
from harness.drawing.style import NOMINAL_LINE, TOLERANCE, tolerance_handle
from harness.results.captions import null_settings, null_truth_sentence
from harness.results.names import Panel, primary_alpha, select, select_panel
from harness.run.figures.nulls import MEASURES, Grid, Row, family_rows, grid_figure, null_panels, of_measure

if TYPE_CHECKING:
    from pandas import DataFrame


def calibration_figure(
    table: DataFrame, provenance: Mapping[str, Any], group: str, *, n_documents: int, width: float
) -> tuple[Any, str]:
    """Return the actual rate against the nominal level under ``exact_null`` at one N, on log axes."""
    rows = select(of_measure(table, group), truth="exact_null", kind="size", n_documents=n_documents)
    panels, families = null_panels(rows), family_rows(rows)
    levels = sorted(float(alpha) for alpha in rows["alpha"].unique())
    low, high = levels[0] / 3, min(1.0, levels[-1] * 3)

    def draw(axes: Any, row: Row, panel: Panel, top: float) -> None:
        """Draw a family's rates against the levels, with the line on which the two are equal."""
        ends = np.array([levels[0] / 1.3, levels[-1] * 1.3])
        axes.set_yscale("log")
        axes.set_ylim(low, top)
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        set_x(axes, levels, "log", digits=(1,))
        axes.fill_between(ends, 0.8 * ends, 1.2 * ends, color=TOLERANCE, linewidth=0, zorder=-1)
        axes.plot(ends, ends, color="0.35", linewidth=0.8, linestyle=NOMINAL_LINE, zorder=0, gid="nominal")
        part = select_panel(rows, panel)
        for curve, look in row.curves:
            points = part[part["test"] == curve.test].sort_values("alpha")
            points = points.assign(rate=points["rate"].where(points["rate"] > 0))
            if points["rate"].notna().any():
                x = points["alpha"].to_numpy(float)
                draw_curve(axes, points, look, x, name=curve.test, band=False)

    from matplotlib.lines import Line2D

    line = Line2D([], [], color="0.35", linewidth=0.8, linestyle=NOMINAL_LINE, label="actual = nominal")
    grid = Grid(
        panels, families, draw, [high] * len(families), [line, tolerance_handle()], "nominal level",
        "actual rate", [], levels, low,
    )  # fmt: skip
    parts = [
        f"Calibration of the tests on {MEASURES.get(group, group)} at N = {n_documents}: the share of sets "
        "that a test rejects, mean over the categories, against its nominal level.",
        null_truth_sentence("exact_null"),
        "Tests with replicates are judged from .01 on. Bars: Monte Carlo interval. A rate of 0 is not drawn. "
        "A row for each family of tests, a column for each pair and balance.",
        *null_settings(provenance, rows),
        _calibration_words(rows),
    ]
    caption = " ".join(parts)
    return grid_figure(grid, caption, width), caption


def _calibration_words(rows: DataFrame) -> str:
    alpha = primary_alpha(rows)
    strict = float(rows["alpha"].min())
    parts = []
    for level in dict.fromkeys((alpha, strict)):
        part = rows[(rows["alpha"] == level) & rows["rate"].notna()]
        if len(part):
            ratio = part["rate"] / level
            parts.append(f"at {level:g} from {ratio.min():.2f} to {ratio.max():.2f} times the level")
    return f"The actual rate runs {', '.join(parts)} over tests and panels." if parts else ""
