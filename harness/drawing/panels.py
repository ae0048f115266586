"""One panel: curves, Monte Carlo bars, bands over categories, and the numbers of categories under it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from harness.drawing.layout import set_x, text_width, title
from harness.drawing.style import LineLook, curve_look, draw_nominal
from harness.results.names import FEW_CATEGORIES, Curve, Panel, select_panel

if TYPE_CHECKING:
    from pandas import DataFrame

MEASURES = {"f1": "$\\Delta$F$_1$", "error": "$\\Delta$C$_{\\mathrm{err}}$"}
NUMBER_SIZE = 5.2  # points
ROW_HEIGHT = 0.13  # inches, a row of upright numbers
TURNED_HEIGHT = 0.34  # inches, a row of turned numbers
MAGNIFIED = 0.4  # of the axis: panels that stay below it get an inset
DODGE = 0.008  # of the axis, between two curves: bars of the same N do not cover each other


def label_text(label: str) -> str:
    """Return a curve's label with its measure set as a formula."""
    return label.replace("ΔF1", MEASURES["f1"]).replace("ΔCerr", MEASURES["error"])


def measure_text(measure: str) -> str:
    """Return a measure as a short row label."""
    return MEASURES.get(measure, measure.replace("_", " "))


def dodge(x: np.ndarray, place: int, n_curves: int, scale: str, limits: tuple[float, float]) -> np.ndarray:
    """Move the x of the curve at `place` a little, symmetrically about the true value."""
    step = DODGE * (place - (n_curves - 1) / 2)
    if scale == "log":
        return np.asarray(x * (limits[1] / limits[0]) ** step)
    return np.asarray(x + step * (limits[1] - limits[0]))


def draw_curve(
    axes: Any,
    points: DataFrame,
    look: LineLook,
    x: np.ndarray,
    *,
    name: str,
    band: bool,
    minus_one: bool = False,
) -> None:
    """Draw one curve; lines, bars and bands have the gids ``line:NAME``, ``few:NAME``, ``band:NAME``.

    Points over at least five categories are joined; fewer are hollow dots without a band; none is nothing at
    all, or
    -1 where the paper's habit is asked for.
    """
    rate = points["rate"].to_numpy(float)
    n_categories = points["n_categories"].to_numpy(int)
    many = (n_categories >= FEW_CATEGORIES) & np.isfinite(rate)
    few = ~many & (n_categories > 0) & np.isfinite(rate)
    shown = np.where(many, rate, np.nan)
    if minus_one:
        shown = np.where(n_categories == 0, -1.0, shown)
    if band and many.any():
        low, high = points["category_low"].to_numpy(float), points["category_high"].to_numpy(float)
        axes.fill_between(
            x, low, high, where=many, color=look.color, alpha=0.1, linewidth=0, gid=f"band:{name}", zorder=1
        )
    style = {
        "color": look.color,
        "marker": look.marker,
        "markersize": 3.1,
        "alpha": look.opacity,
        "zorder": 3,
    }
    if np.isfinite(shown).any():
        axes.plot(
            x, shown, linestyle=look.line, linewidth=look.width, markeredgewidth=0.7, gid=f"line:{name}",
            markerfacecolor=look.color if look.filled else "white", **style,
        )  # fmt: skip
    if few.any():
        axes.plot(
            x[few],
            rate[few],
            linestyle="none",
            markerfacecolor="white",
            markeredgewidth=0.8,
            gid=f"few:{name}",
            **style,
        )
    if look.filled:
        _draw_bars(axes, points, look, x, many | few)


def _draw_bars(axes: Any, points: DataFrame, look: LineLook, x: np.ndarray, keep: np.ndarray) -> None:
    low, high = points["mc_low"].to_numpy(float), points["mc_high"].to_numpy(float)
    keep = keep & np.isfinite(low) & np.isfinite(high)
    if keep.any():
        axes.vlines(x[keep], low[keep], high[keep], color=look.color, linewidth=0.8, alpha=0.8, zorder=2)


def few_numbers(rows: DataFrame) -> list[tuple[float, float, str]]:
    """Return (N, height, number) above every N where a curve of the panel has fewer than five categories.

    Two measures with different numbers stand one over the other, ΔF1 first, a dash for one that has enough
    or none.
    """
    numbers = []
    for n_documents, part in rows.groupby("n_documents", sort=True):
        few = part[
            (part["n_categories"] > 0) & (part["n_categories"] < FEW_CATEGORIES) & part["rate"].notna()
        ]
        if few.empty:
            continue
        by_measure = few.groupby("measure")["n_categories"].max()
        measures = sorted(rows["measure"].unique(), key=lambda name: (name != "f1", name))
        words = [str(int(by_measure[name])) if name in by_measure else "–" for name in measures]
        text = words[0] if len(set(words)) == 1 else "\n".join(words)
        numbers.append((float(str(n_documents)), float(few[["rate", "mc_high"]].max().max()), text))
    return numbers


class View(NamedTuple):
    """What the panels of a figure share: the level, the top of the y axis, the scale and the values of x."""

    alpha: float
    top: float
    x_axis: str
    sizes: Sequence[float]
    minus_one: bool = False


def draw_panel(
    axes: Any,
    table: DataFrame,
    panel: Panel,
    curves: Sequence[Curve],
    view: View,
    *,
    width: float,
    magnify: bool = False,
) -> None:
    """Draw a panel of size or power against N; `table` holds one kind, truth and alpha, `width` is in inches.

    With `magnify` a panel whose values all lie in its lower part shows them once more, larger, in its upper
    part.
    """
    title(axes, panel.title, width)
    axes.set_ylim(0, view.top)
    set_x(axes, view.sizes, view.x_axis)
    tests = [curve.test for curve in curves]
    rows = select_panel(table, panel)
    rows = rows[rows["test"].isin(tests)]
    draw_curves(axes, rows, curves, view)
    label_few(axes, rows, view.top)
    if view.minus_one and (rows["n_categories"] == 0).any():
        axes.set_ylim(-1.08, view.top)
    elif magnify:
        peak = float(rows[["rate", "mc_high", "category_high"]].max().max())
        if peak <= MAGNIFIED * view.top:
            _draw_inset(axes, rows, curves, view, max(peak, 1.5 * view.alpha))


def draw_curves(
    axes: Any, rows: DataFrame, curves: Sequence[Curve], view: View, x_name: str = "n_documents"
) -> None:
    """Draw every curve of a panel, and the nominal level."""
    draw_nominal(axes, view.alpha)
    for place, curve in enumerate(curves):
        points = rows[rows["test"] == curve.test].sort_values(x_name, kind="stable")
        if len(points):
            x = dodge(points[x_name].to_numpy(float), place, len(curves), view.x_axis, axes.get_xlim())
            look = curve_look(curve, place)
            band = not curve.companion
            draw_curve(axes, points, look, x, name=curve.test, band=band, minus_one=view.minus_one)


def _draw_inset(axes: Any, rows: DataFrame, curves: Sequence[Curve], view: View, peak: float) -> None:
    inset = axes.inset_axes((0.13, 0.47, 0.87, 0.49))
    inset.set_ylim(0, peak * 1.1)
    set_x(inset, view.sizes, view.x_axis, labels=False)
    inset.tick_params(labelsize=5.5, length=2, pad=1.5)
    for spine in inset.spines.values():
        spine.set(visible=True, linewidth=0.5, color="0.5")
    draw_curves(inset, rows, curves, view)
    inset.set_ylim(0, peak * 1.1)
    inset.text(
        0.985, 0.955, "magnified", transform=inset.transAxes, ha="right", va="top", fontsize=5.5, color="0.35"
    )


def label_few(axes: Any, rows: DataFrame, top: float) -> None:
    """Write the number of categories above the dots that stand for fewer than five."""
    for x, height, words in few_numbers(rows):
        axes.annotate(
            words, (x, min(height, top * 0.9)), (0, 2.5), textcoords="offset points", ha="center",
            va="bottom", fontsize=5.5, linespacing=0.95, gid="few-number", annotation_clip=False,
        )  # fmt: skip


def category_rows(rows: DataFrame) -> dict[str, dict[float, str]]:
    """Return per measure and N the numbers of qualifying and, in brackets, of dead categories.

    Where tests of a measure differ in what they can reject, the largest number of dead ones is shown.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = {"measure": ["f1"], "n_documents": [100], "n_categories": [9], "n_dead": [2]}
    >>> category_rows(pd.DataFrame(rows))
    {'f1': {100.0: '9 (2)'}}
    """
    found: dict[str, dict[float, str]] = {}
    measures = sorted(rows["measure"].unique(), key=lambda name: (name != "f1", name))
    for measure in measures:
        part = (
            rows[rows["measure"] == measure]
            .groupby("n_documents", sort=True)[["n_categories", "n_dead"]]
            .max()
        )
        found[measure] = {
            float(str(n)): f"{int(row['n_categories'])} ({int(row['n_dead'])})" for n, row in part.iterrows()
        }
    return found


def turned(words: Sequence[str], sizes: Sequence[float], scale: str, width: float) -> bool:
    """Return whether numbers over `sizes` must be turned by 90 degrees to stand apart on `width` inches."""
    if len(sizes) < 2 or not words:
        return False
    x = np.sort(np.log(sizes) if scale == "log" else np.asarray(sizes, float))
    gap = np.diff(x).min() / (x[-1] - x[0]) * width * 0.92
    return bool(max(text_width(word, NUMBER_SIZE) for word in words) + 0.03 > gap)


def draw_numbers(
    axes: Any,
    numbers: dict[str, dict[float, str]],
    *,
    below: float,
    height: float,
    turn: bool,
    label: bool = True,
) -> None:
    """Write rows of numbers under a panel of `height` inches, the first `below` inches under its x axis."""
    step = TURNED_HEIGHT if turn else ROW_HEIGHT
    look = {"rotation": 90 if turn else 0, "fontsize": NUMBER_SIZE, "gid": "n_categories"}
    at_x, left = axes.get_xaxis_transform(), axes.transAxes
    for place, (measure, row) in enumerate(numbers.items()):
        y = -(below + step * (place + 0.5)) / height
        if label:
            noun = "n (dead)" if any("(" in words for words in row.values()) else "n"
            words = f"{measure_text(measure)}: {noun}"
            axes.text(-0.05, y, words, transform=left, ha="right", va="center", fontsize=NUMBER_SIZE)
        for x, words in row.items():
            axes.text(x, y, words, transform=at_x, ha="center", va="center", **look)
