"""What stands in a panel: curves with their intervals, and the strip of bars that counts categories."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from pandas import DataFrame

from harness.drawing.grid import Line, Row, Space
from harness.drawing.layout import round_top
from harness.drawing.style import patch, told
from harness.results.names import FEW_CATEGORIES, measure_name, pick

DODGE = 0.005  # of the axis, between two curves: bars of the same x do not cover each other
COUNTED = {"f1": ("0.25", "0.8"), "error": ("#5b7db1", "#cfdcee")}
OTHERS = ("0.25", "0.8")


def draw_curves(axes: Any, rows: DataFrame, row: Row, space: Space) -> None:
    """Draw every curve of a panel."""
    for place, line in enumerate(row.lines):
        points = pick(rows, **line.where).sort_values(space.x.column, kind="stable")
        step = DODGE * (place - (len(row.lines) - 1) / 2)
        draw_curve(axes, points, line, _moved(points[space.x.column], step, space))


def _moved(x: Any, step: float, space: Space) -> np.ndarray:
    """Return x moved by a share of the axis."""
    low, high = space.x.limits()
    values = np.asarray(x, float)
    return values * (high / low) ** step if space.x.scale == "log" else values + step * (high - low)


def draw_curve(axes: Any, points: DataFrame, line: Line, x: np.ndarray) -> None:
    """Draw one curve; lines, bars and bands have the gids ``line:NAME``, ``few:NAME``, ``band:NAME``.

    Points over at least five categories are joined, fewer are hollow dots without a band, none is nothing.
    """
    rate, name = points["rate"].to_numpy(float), line.name
    enough = np.full(len(rate), FEW_CATEGORIES)
    n = points["n_categories"].to_numpy(int) if "n_categories" in points else enough
    many, few = (n >= FEW_CATEGORIES) & np.isfinite(rate), (n > 0) & (n < FEW_CATEGORIES) & np.isfinite(rate)
    if line.band and many.any() and "category_low" in points:
        ends = (points[end].to_numpy(float) for end in ("category_low", "category_high"))
        look = {"color": line.style.color, "alpha": 0.1, "linewidth": 0, "zorder": 1}
        axes.fill_between(x, *ends, where=many, gid=f"band:{name}", **look)
    if many.any():
        axes.plot(x, np.where(many, rate, np.nan), zorder=3, gid=f"line:{name}", **line.style.line())
    if few.any():
        hollow = line.style._replace(filled=False, dashes="none")
        axes.plot(x[few], rate[few], zorder=3, gid=f"few:{name}", **hollow.line())
    low, high = (points[end].to_numpy(float) for end in ("mc_low", "mc_high"))
    keep = (many | few) & np.isfinite(low) & np.isfinite(high)
    if keep.any() and line.style.filled:
        axes.vlines(x[keep], low[keep], high[keep], color=line.style.color, linewidth=0.8, zorder=2)


def count_categories(axes: Any, rows: DataFrame, row: Row, space: Space) -> None:
    """Draw, for each x and measure, a bar of the categories that qualify; pale are the dead ones among them.

    Where tests of a measure differ in what they can reject, the most dead ones are shown.
    """
    measures = sorted(rows["measure"].unique(), key=lambda name: (name != "f1", name))
    counts = rows.groupby(["measure", space.x.column])[["n_categories", "n_dead"]].max()
    most = max(int(counts["n_categories"].max()), 1) if len(counts) else 1
    for place, measure in enumerate(measures):
        some = counts.loc[measure]
        thick = bar_width(some.index, space) / len(measures)
        moved = aside(axes, thick * (place - (len(measures) - 1) / 2))
        dark, pale = COUNTED.get(measure, OTHERS)
        look = {"linewidth": thick * 0.92, "transform": moved}
        live = some["n_categories"] - some["n_dead"]
        axes.vlines(some.index, 0, some["n_categories"], color=pale, gid=f"n_categories:{measure}", **look)
        axes.vlines(some.index, 0, live, color=dark, gid=f"n_live:{measure}", **look)
    axes.set_ylim(0, 2.1 * most)  # room for what the tallest bar stands for
    axes.set_yticks([])
    at: dict[str, Any] = {"transform": axes.transAxes, "va": "top", "fontsize": space.look.small}
    axes.text(0, 1, told(f"tallest: {most:,}"), gid="tallest", **at)
    axes.spines["left"].set_visible(False)


def bar_width(x: Any, space: Space) -> float:
    """Return points that bars at `x` may be wide."""
    return float(0.8 * 72 * min([0.14, *np.diff(sorted(space.x.inches(list(x), space.width)))]))


def count_handles(rows: DataFrame, dead: bool = True) -> list[Any]:
    """Return what stands for the bars of counts in a legend."""
    run = list(rows["measure"].unique())
    found = [patch(f"categories, {measure_name(name)}", COUNTED[name][0]) for name in COUNTED if name in run]
    if len(run) == 1 or not found:
        found = [patch("categories", COUNTED.get(run[0], OTHERS)[0])]
    return [*found, *[patch("of them dead", OTHERS[1])] * dead]


def aside(axes: Any, points: float) -> Any:
    """Return the transformation that moves what is drawn some points to the right."""
    from matplotlib.transforms import ScaledTranslation

    return axes.transData + ScaledTranslation(points / 72, 0, axes.figure.dpi_scale_trans)


def top_of(rows: DataFrame, least: float, columns: Sequence[str] = ("rate", "mc_high")) -> float:
    """Return the upper end of an axis for `columns` of `rows`: at least `least`, at most 1."""
    peak = float(rows[list(columns)].max().max())
    return min(round_top(max(peak, least) if peak == peak else least), 1.0)
