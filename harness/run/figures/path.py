"""Power against the distance from H0, on the path from the exact null to the real pair."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.drawing.layout import set_x
from harness.drawing.panels import draw_curve
from harness.results.captions import null_settings
from harness.results.names import Panel, primary_alpha, select, select_panel
from harness.run.figures.nulls import MEASURES, Grid, Row, family_rows, grid_figure, null_panels, of_measure

if TYPE_CHECKING:
    from pandas import DataFrame


def path_figure(
    table: DataFrame,
    path: DataFrame,
    provenance: Mapping[str, Any],
    group: str,
    *,
    n_documents: int,
    width: float,
) -> tuple[Any, str]:
    """Return power against the distance h from H0, at one N, with that of a z test for comparison."""
    from scipy import stats

    alpha = primary_alpha(path)
    rows = select(of_measure(path, group), alpha=alpha, n_documents=n_documents)
    rows = rows.assign(n_dead=0, category_low=np.nan, category_high=np.nan)
    panels, families = null_panels(rows), family_rows(rows)
    distances = sorted(float(h) for h in rows["h"].unique())
    curve_h = np.linspace(min(distances), max(distances), 80)
    cut = stats.norm.ppf(1 - alpha / 2)
    ideal = stats.norm.sf(cut - curve_h) + stats.norm.cdf(-cut - curve_h)

    def draw(axes: Any, row: Row, panel: Panel, top: float) -> None:
        """Draw a family's power against h, with that of the z test."""
        set_x(axes, distances, "linear")
        axes.plot(curve_h, ideal, color="0.6", linewidth=2.2, zorder=0, gid="ideal")
        part = select_panel(rows, panel)
        for curve, look in row.curves:
            points = part[part["test"] == curve.test].sort_values("h", kind="stable")
            if len(points):
                draw_curve(axes, points, look, points["h"].to_numpy(float), name=curve.test, band=False)

    from matplotlib.lines import Line2D

    line = Line2D([], [], color="0.6", linewidth=2.2, label="z test with known variance")
    grid = Grid(
        panels, families, draw, [1.03] * len(families), [line], "distance h from H0", "power $\\pi$",
        [_reached(select_panel(rows, panel)) for panel in panels], distances, x_scale="linear",
    )  # fmt: skip
    caption = _path_caption(table, rows, provenance, group, n_documents, alpha)
    return grid_figure(grid, caption, width), caption


def _reached(rows: DataFrame) -> dict[str, dict[float, str]]:
    found: dict[str, dict[float, str]] = {}
    for measure, part in rows.groupby("measure"):
        most = part.groupby("h", sort=True)["n_categories"].max()
        found[str(measure)] = {float(str(h)): str(int(n)) for h, n in most.items()}
    return found


def _path_caption(
    table: DataFrame,
    rows: DataFrame,
    provenance: Mapping[str, Any],
    group: str,
    n_documents: int,
    alpha: float,
) -> str:
    parts = [
        f"Power of the tests on {MEASURES.get(group, group)} at alpha = {alpha:g} and N = {n_documents} "
        "against the distance h from H0, in standard deviations of the difference on a set. Populations lie "
        "on the path from the exact null to the real pair. At h = 0 all rejections count (the size), "
        "beyond it "
        "those in the right direction. Grey: a two-sided z test that knows the variance. Under the columns: "
        "the number of categories that reach h. Bars: Monte Carlo interval.",
        *null_settings(provenance, rows),
    ]
    far = rows[(rows["h"] == rows["h"].max()) & rows["rate"].notna()]
    if len(far):
        parts.append(
            f"At h = {far['h'].iloc[0]:g} power runs from {far['rate'].min():.2f} to {far['rate'].max():.2f} "
            "over tests and panels; a test that is liberal at h = 0 gains nothing by it."
        )
    return " ".join(parts)
