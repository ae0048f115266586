"""Mean and variance of ``z_te - z_true`` over draws of D_te, one line for each way to find a confidence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness.category_sets.variants import Variant, records
from harness.category_sets.verdicts import FAR, MEAN_LIMIT, VARIANCE_LIMITS
from harness.drawing.layout import Page
from harness.drawing.style import TOLERANCE

if TYPE_CHECKING:
    from pandas import DataFrame

COLORS = {"X": "#000000", "Y": "#1f8f89", "Z": "#e08a00"}
MARKERS = {"X": "o", "Y": "^", "Z": "D"}
PLACES = {"X": -0.2, "Y": 0.0, "Z": 0.2}
RANDOM_PLACE, RANDOM_COLOR = 0.38, "#8c8c8c"
LEFT, RIGHT, GAP, TOP, LINE, BOTTOM = 2.35, 0.12, 0.2, 0.5, 0.42, 0.42
WIDEST_MEAN, HIGHEST_VARIANCE = 1.0, 4.0  # points beyond are drawn at the edge, with their number


def bias_figure(table: DataFrame, sentences: list[str], width: float) -> tuple[Any, str]:
    """Return the figure of ``calibration.csv`` and its caption."""
    keys = zip(table["measure"], table["average"], table["method"], strict=True)
    variants = [Variant(*key) for key in dict.fromkeys(keys)]
    caption = _caption(table, sentences)
    height = LINE * len(variants)
    page = Page(width, TOP + height + BOTTOM, caption)
    each = (width - LEFT - RIGHT - GAP) / 2
    columns = (
        ("mean", "mean of z_te − z_true", (-MEAN_LIMIT, MEAN_LIMIT), 0.0),
        ("variance", "variance of z_te − z_true", VARIANCE_LIMITS, 1.0),
    )
    for place, (column, label, limits, ideal) in enumerate(columns):
        axes = page.axes(LEFT + place * (each + GAP), TOP, each, height)
        axes.axvspan(*limits, color=TOLERANCE, linewidth=0, zorder=-1)
        axes.axvline(ideal, color="0.35", linewidth=0.8, linestyle=(0, (6, 3)), zorder=0)
        ends = _limits(table, column)
        for line, variant in enumerate(variants):
            _draw_line(axes, _part(table, variant), column, line, ends)
        axes.set_xlim(*ends)
        axes.set_ylim(len(variants) - 0.45, -0.55)
        axes.set_yticks(range(len(variants)))
        axes.set_yticklabels([variant.words() for variant in variants] if place == 0 else [])
        axes.tick_params(axis="y", length=0)
        axes.set_xlabel(label)
    page.legend(_handles(table), 0.1, 5)
    return page.figure, caption


def _limits(table: DataFrame, column: str) -> tuple[float, float]:
    """Return the ends of an axis: every error bar, as far as they are not out of all proportion."""
    named = table[table["kind"] == "disjoint"]
    low = min(float(named[f"{column}_low"].min()), float(table[column].min()))
    high = max(float(named[f"{column}_high"].max()), float(table[column].max()))
    if column == "mean":
        low, high = min(low, -2 * MEAN_LIMIT), max(high, 2 * MEAN_LIMIT)
        return max(low, -WIDEST_MEAN) - 0.05, min(high, WIDEST_MEAN) + 0.05
    return min(max(low - 0.08, 0.0), 0.6), min(max(high + 0.08, 1.5), HIGHEST_VARIANCE)


def _draw_line(axes: Any, rows: DataFrame, column: str, line: int, ends: tuple[float, float]) -> None:
    """Draw the sets of one variant."""
    for row in records(rows[rows["kind"] == "disjoint"]):
        value, low, high = (float(getattr(row, f"{column}{end}")) for end in ("", "_low", "_high"))
        look = {"color": COLORS[row.set], "marker": MARKERS[row.set], "markersize": 3.6}
        face = "white" if row.verdict == "apart" else COLORS[row.set]
        y, shown = line + PLACES[row.set], min(max(value, ends[0]), ends[1])
        axes.plot([low, high], [y, y], color=COLORS[row.set], linewidth=1)
        axes.plot([shown], [y], markerfacecolor=face, linestyle="none", clip_on=False, **look)
        if shown != value:
            side, room = ("right", -0.02) if value > ends[1] else ("left", 0.02)
            room *= ends[1] - ends[0]
            axes.text(shown + room, y, f"{value:.1f}", ha=side, va="center", fontsize=6, color=look["color"])
    others = rows[rows["kind"] == "random"]
    for far, face in ((False, RANDOM_COLOR), (True, "none")):
        part = others[(others["verdict"] == "apart") == far]
        values = part[column].clip(*ends)
        axes.plot(
            values, [line + RANDOM_PLACE] * len(part), linestyle="none", marker="|" if not far else ".",
            markersize=5 if not far else 3.5, markerfacecolor=face, markeredgecolor=RANDOM_COLOR,
            markeredgewidth=0.7,
        )  # fmt: skip


def _handles(table: DataFrame) -> list[Any]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles = [
        Line2D(
            [], [], color=COLORS[name], marker=MARKERS[name], markersize=3.6, linewidth=1, label=f"set {name}"
        )
        for name in COLORS
    ]
    if (table["kind"] == "random").any():
        handles.append(
            Line2D(
                [], [], color=RANDOM_COLOR, marker="|", linestyle="none", markersize=5, label="random sets"
            )
        )
    return [*handles, Patch(color=TOLERANCE, linewidth=0, label="no bias")]


def _caption(table: DataFrame, sentences: list[str]) -> str:
    named = table[table["kind"] == "disjoint"]
    n_random = table.loc[table["kind"] == "random", "set"].nunique()
    first = named.iloc[0]
    n_replicates = named["n_replicates"].max()
    parts = [
        f"Calibration of one-sided confidences: {int(first.n_draws):,} test sets drawn with replacement "
        "from D_true, z_te = d / sd* of each, z_true = d_true / sd_N of D_true, A minus B throughout. Left "
        "the mean of z_te - z_true (no bias: within .15 of 0), right its variance (no bias: .80 to 1.25), "
        "with 95 % error bars.",
        f"Hollow: |z_true| > {FAR:g}, set apart: there the scatter of sd*, times z, tells in both. "
        "Points beyond the frame are drawn at its edge with their value.",
        "z_true is that of whole documents in every line, also where the confidence takes single decisions "
        "as independent (by event, and the normal ones).",
    ]
    if n_replicates > 0:
        parts.append(f"sd* of the bootstraps: {int(n_replicates):,} replicates of each test set.")
    if n_random:
        parts.append(
            f"Grey ticks: {n_random} random sets with the delta method (circles: |z_true| > {FAR:g}); they "
            "share categories, and so are not independent."
        )
    return " ".join([*parts, *sentences])


def _part(table: DataFrame, variant: Variant) -> DataFrame:
    chosen = table["measure"] == variant.measure
    for column in ("average", "method"):
        chosen &= table[column] == getattr(variant, column)
    return table[chosen]
