"""Critical-difference diagram: average ranks on a line, bars over algorithms that do not differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness.compare.labels import fit_label
from harness.drawing.layout import MARGIN, Page, text_width
from harness.significance.ranks import cliques

if TYPE_CHECKING:
    from pandas import DataFrame

LINE = 0.19  # inches between names
BAR_STEP = 0.085
AXIS_TOP = 0.62
LONGEST = 2.2  # inches a name may take
OVERHANG = 0.035  # inches by which a bar reaches beyond its ends
NOTHING = (
    ": the hypothesis that all algorithms perform alike stands, and no pair should be read as different."
)


def critical_difference_figure(ranks: DataFrame, *, width: float = 7.2) -> tuple[Any, str]:
    """Return the critical-difference diagram of Demšar (2006), section 3.2.4, and its caption.

    The best rank is at the left. A bar covers algorithms no two of which differ, and none that do.
    Where ranks tie, the names lie one under the other at the same place of the line.

    Parameters
    ----------
    ranks : DataFrame
        As :func:`harness.compare.rank_tables.rank_tables` gives it.
    width : float
        Inches.
    """
    table = ranks.sort_values("average_rank", kind="stable", ignore_index=True)
    names = [str(name) for name in table["algorithm"]]
    places = table["average_rank"].to_numpy(float).tolist()
    critical = float(table["critical_difference"].iloc[0])
    bars = cliques(places, critical)
    caption = _caption(table)
    labels = [fit_label(name, f"  {place:.2f}", LONGEST) for name, place in zip(names, places, strict=True)]
    side = max(text_width(label, size) for label, size in labels) + 0.12
    n_left = (len(names) + 1) // 2
    bars_end = AXIS_TOP + 0.12 + BAR_STEP * _n_rows(bars, places)
    page = Page(width, bars_end + 0.12 + LINE * n_left, caption)
    axes = page.axes(MARGIN, 0, width - 2 * MARGIN, bars_end + 0.12 + LINE * n_left)
    axes.set_axis_off()
    axes.set_xlim(0, width - 2 * MARGIN)
    axes.set_ylim(bars_end + 0.12 + LINE * n_left, 0)
    line = _Line(len(names), side, width - 2 * MARGIN - side)
    _draw_axis(axes, line, critical)
    for row, bar in _rows(bars, places):
        y = AXIS_TOP + 0.1 + BAR_STEP * row
        low, high = _overhang(bar, places, OVERHANG / line.unit)
        ends = [line.x(low), line.x(high)]
        axes.plot(ends, [y, y], color="black", linewidth=3.2, solid_capstyle="butt", gid="bar")
    for place, (label, size) in enumerate(labels):
        left = place < n_left
        depth = place if left else len(names) - 1 - place
        y = bars_end + 0.1 + LINE * depth
        x, end = line.x(places[place]), side - 0.06 if left else width - 2 * MARGIN - side + 0.06
        axes.plot([x, x, end], [AXIS_TOP, y, y], color="0.25", linewidth=0.6, gid="stem")
        axes.plot([x], [AXIS_TOP], "o", color="black", markersize=2.6, gid="rank")
        axes.text(
            end - 0.04 if left else end + 0.04, y, label, fontsize=size, va="center",
            ha="right" if left else "left",
        )  # fmt: skip
    return page.figure, caption


class _Line:
    """The line of ranks 1 to k between two places of the page, in inches."""

    def __init__(self, k: int, start: float, end: float) -> None:
        self.k, self.start, self.end = k, start, end
        self.unit = (end - start) / (k - 1)

    def x(self, rank: float) -> float:
        """Return the place of a rank."""
        return self.start + (rank - 1) * self.unit


def _draw_axis(axes: Any, line: _Line, critical: float) -> None:
    """Draw ranks 1 to k, and the critical difference above them."""
    axes.plot([line.start, line.end], [AXIS_TOP, AXIS_TOP], color="black", linewidth=0.8)
    step = max(1, -(-line.k // 20))
    for rank in range(1, line.k + 1):
        axes.plot([line.x(rank)] * 2, [AXIS_TOP - 0.06, AXIS_TOP], color="black", linewidth=0.8)
        if (rank - 1) % step == 0:
            axes.text(line.x(rank), AXIS_TOP - 0.09, str(rank), fontsize=7, ha="center", va="bottom")
    shown = min(critical, line.k - 1)
    start, end, y = line.start, line.x(1 + shown), 0.26
    axes.plot([start, end], [y, y], color="black", linewidth=1.2, gid="critical")
    for x in (start, end) if shown == critical else (start,):
        axes.plot([x, x], [y - 0.04, y + 0.04], color="black", linewidth=1.2)
    words = f"CD = {critical:.2f}" + (
        "" if shown == critical else " (longer than the line: no pair can differ)"
    )
    axes.text(start, y - 0.07, words, fontsize=7, ha="left", va="bottom")


def _rows(bars: list[list[int]], places: list[float]) -> list[tuple[int, list[int]]]:
    """Return each bar with the row it is drawn in: bars of one row do not touch."""
    ends: list[float] = []
    rows = []
    air = 0.05 * (len(places) - 1)
    for bar in bars:
        free = [row for row, end in enumerate(ends) if places[bar[0]] > end + air]
        row = free[0] if free else len(ends)
        ends[row : row + 1] = [places[bar[-1]]]
        rows.append((row, bar))
    return rows


def _overhang(bar: list[int], places: list[float], reach: float) -> tuple[float, float]:
    """Return the ranks between which a bar is drawn: beyond its own, but short of the next algorithm's."""
    low, high = places[bar[0]], places[bar[-1]]
    before = [low - place for place in places if place < low]
    after = [place - high for place in places if place > high]
    return low - min([reach, *(gap / 2 for gap in before)]), high + min([reach, *(gap / 2 for gap in after)])


def _n_rows(bars: list[list[int]], places: list[float]) -> int:
    return max((row + 1 for row, _ in _rows(bars, places)), default=0)


def _caption(table: DataFrame) -> str:
    first = table.iloc[0]
    p, alpha = float(first["friedman_pvalue"]), float(first["alpha"])
    shown = "< 0.0001" if p < 1e-4 else f"= {p:.4f}"
    ranks = table["average_rank"].tolist()
    parts = [
        f"Average ranks of {len(table)} algorithms over {int(first['n_datasets'])} data sets (1 is best; the "
        "number stands beside the name). Bars join algorithms that do not differ by Nemenyi's test at "
        f"alpha = {alpha:g}: critical difference {float(first['critical_difference']):.3f}.",
        f"Friedman's test (Iman and Davenport's F): p {shown}{'.' if p <= alpha else NOTHING}",
    ]
    if len(set(ranks)) == 1:
        parts.append(f"All {len(ranks)} algorithms share one rank.")
    elif len(set(ranks)) < len(ranks):
        parts.append("Some ranks tie: names at one place of the line.")
    parts.append(
        "Nemenyi's test is asymptotic in the number of data sets; ranks depend on which algorithms take part."
    )
    return " ".join(parts)
