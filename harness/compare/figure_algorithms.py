"""Figures of several algorithms: the critical-difference diagram of their ranks, and every seed of each."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from pandas import DataFrame

from harness.drawing.grid import Cell, Grid, Row, Space, named_row
from harness.drawing.layout import Axis, Page, text_width
from harness.drawing.style import COLORS, GREY, NOMINAL_LINE, SMALLEST, WINE, Look, told
from harness.errors import harmless
from harness.measures import Floats
from harness.seeding import rng
from harness.significance.ranks import cliques
from harness.significance.result import check_choice
from harness.writing.prose import paragraph

LINE = 0.19  # inches between names
BAR_STEP = 0.085
AXIS_TOP = 0.62
LONGEST = 2.2  # inches a name may take
OVERHANG = 0.035  # inches by which a bar reaches beyond its ends
MARGIN = 0.12  # inches
MEAN: dict[str, Any] = {
    "marker": "D", "linestyle": "none", "color": "white", "markeredgecolor": "0.1", "markersize": 4,
    "markeredgewidth": 0.9,
}  # fmt: skip


def fit_label(name: str, end: str, width: float, size: float = 7.5) -> tuple[str, float]:
    """Return `name` followed by `end`, and the size in points at which they are no wider than `width` inches.

    Below 6 points the middle of the name is left out instead.
    """
    name = harmless(name)
    label = name + end
    fitting = size * width / text_width(label, size)
    if fitting >= SMALLEST:
        return label, min(size, fitting)
    kept = len(name)
    while kept > 2 and text_width(label, SMALLEST) > width:
        kept -= 1
        label = name[: -(-kept // 2)] + "…" + name[len(name) - kept // 2 :] + end
    return label, SMALLEST


def critical_difference_figure(ranks: DataFrame, look: Look = Look()) -> tuple[Any, str]:  # noqa: B008
    """Return the critical-difference diagram of Demšar (2006), section 3.2.4, and its caption.

    `ranks` is the table that :func:`harness.compare.rank_tables.rank_tables` gives. The best rank is at the
    left. A bar covers algorithms no two of which differ, and none that do. Where ranks
    tie, the names lie one under the other at the same place of the line.
    """
    table = ranks.sort_values("average_rank", kind="stable", ignore_index=True)
    names = [str(name) for name in table["algorithm"]]
    places = table["average_rank"].to_numpy(float).tolist()
    critical, k = float(table["critical_difference"].iloc[0]), len(names)
    rows = _rows(cliques(places, critical), places)
    n_ranks = table["average_rank"].nunique()
    caption = paragraph("compare", "critical_difference", first=table.iloc[0], n=k, n_ranks=n_ranks)
    longest, width = min(LONGEST, 0.3 * look.width), look.width
    labels = [fit_label(name, f"  {place:.2f}", longest) for name, place in zip(names, places, strict=True)]
    side = max(text_width(label, size) for label, size in labels) + 0.12
    n_left = (k + 1) // 2
    top = AXIS_TOP + 0.12 + BAR_STEP * max((row + 1 for row, _ in rows), default=0)  # of the names
    wide, height = width - 2 * MARGIN, top + 0.12 + LINE * n_left
    page = Page(look, height, caption)
    axes = page.axes(MARGIN, 0, wide, height)
    axes.set_axis_off()
    axes.set_xlim(0, wide)
    axes.set_ylim(height, 0)
    line = _Line(k, side, (wide - 2 * side) / (k - 1))
    _draw_axis(axes, line, critical)
    for row, bar in rows:
        y = AXIS_TOP + 0.1 + BAR_STEP * row
        ends = [line.x(end) for end in _overhang(bar, places, OVERHANG / line.unit)]
        axes.plot(ends, [y, y], color="black", linewidth=3.2, solid_capstyle="butt", gid="bar")
    for place, (label, size) in enumerate(labels):
        left = place < n_left
        y = top + 0.1 + LINE * (place if left else k - 1 - place)
        x, end, sign = line.x(places[place]), side if left else wide - side, -1 if left else 1
        axes.plot([x, x, end + 0.06 * sign], [AXIS_TOP, y, y], color="0.25", linewidth=0.6, gid="stem")
        axes.plot([x], [AXIS_TOP], "o", color="black", markersize=2.6, gid="rank")
        align = "right" if left else "left"
        axes.text(end + 0.1 * sign, y, told(label), fontsize=size, va="center", ha=align)
    return page.figure, caption


class _Line(NamedTuple):
    """The line of ranks 1 to k: where it starts and what a rank is long, in inches."""

    k: int
    start: float
    unit: float

    def x(self, rank: float) -> float:
        """Return the place of a rank."""
        return self.start + (rank - 1) * self.unit


def _draw_axis(axes: Any, line: _Line, critical: float) -> None:
    """Draw ranks 1 to k, and the critical difference above them."""
    axes.plot([line.start, line.x(line.k)], [AXIS_TOP, AXIS_TOP], color="black", linewidth=0.8)
    step = max(1, -(-line.k // 20))
    for rank in range(1, line.k + 1):
        axes.plot([line.x(rank)] * 2, [AXIS_TOP - 0.06, AXIS_TOP], color="black", linewidth=0.8)
        if (rank - 1) % step == 0:
            axes.text(line.x(rank), AXIS_TOP - 0.09, str(rank), fontsize=7, ha="center", va="bottom")
    shown, y = min(critical, line.k - 1), 0.26
    ends = [line.start, line.x(1 + shown)]
    axes.plot(ends, [y, y], color="black", linewidth=1.2, gid="critical")
    for x in ends if shown == critical else ends[:1]:
        axes.plot([x, x], [y - 0.04, y + 0.04], color="black", linewidth=1.2)
    longer = "" if shown == critical else " (longer than the line: no pair can differ)"
    axes.text(line.start, y - 0.07, f"CD = {critical:.2f}{longer}", fontsize=7, ha="left", va="bottom")


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


def seeds_figure(
    scores: DataFrame,
    baseline: str,
    *,
    score_name: str = "score",
    higher_is_better: bool = True,
    look: Look = Look(),  # noqa: B008
) -> tuple[Any, str]:
    """Return a box plot per algorithm with a point for every seed, and the caption.

    `scores` are those of :func:`harness.compare.seeds.tidy_scores`. The baseline is drawn first, with a
    dashed line at its mean; each algorithm's worst seed has another colour.
    """
    names = list(dict.fromkeys(scores["algorithm"]))
    check_choice("baseline", baseline, tuple(names))
    names = [baseline, *(name for name in names if name != baseline)]
    values = {name: scores.loc[scores["algorithm"] == name, "score"] for name in names}
    kept = {str(name): own.dropna().to_numpy(float) for name, own in values.items()}
    labels = [f"{name} (n = {len(own)})" for name, own in kept.items()]

    def draw(axes: Any, rows: DataFrame, row: Row, space: Space) -> None:
        """Draw boxes, and every seed in front of them."""
        mean = kept[str(baseline)].mean()
        axes.axvline(mean, color=GREY, linewidth=0.8, linestyle=NOMINAL_LINE, gid="baseline")
        draw_seeds(axes, kept, (0, 100), "figure_seeds")
        for place, own in enumerate(kept.values()):
            axes.plot(own.min() if higher_is_better else own.max(), place, "o", color=WINE, gid="worst")

    label = f"{score_name} ({'higher' if higher_is_better else 'lower'} is better)"
    caption = _seeds_caption(values, baseline, higher_is_better)
    ends = Axis("score", label, np.concatenate([*kept.values()]).tolist(), "linear").limits()
    axis = Axis("score", label, scale="linear", ends=ends)
    grid = Grid(scores, axis, [named_row([Cell("", {})], labels)], "", draw, names=labels, caption=caption)
    return grid.pages(look)[0], caption


def draw_seeds(axes: Any, kept: Mapping[str, Floats], whiskers: tuple[float, float], *key: str) -> None:
    """Draw a row for each name, at 0, 1, ...: a box, every seed (`key` and name move it aside), the mean."""
    thin = {"linewidth": 0.8, "color": "0.3"}
    axes.boxplot(
        [*kept.values()], positions=range(len(kept)), orientation="horizontal", widths=0.62, showfliers=False,
        whis=whiskers, manage_ticks=False, boxprops=thin, whiskerprops=thin, capprops=thin,
        medianprops={"linewidth": 1.3, "color": "black"}, zorder=1,
    )  # fmt: skip
    for place, (name, own) in enumerate(kept.items()):
        if not len(own):
            axes.text(0.5, place, "no score", transform=axes.get_yaxis_transform(), ha="center", va="center")
            continue
        aside = rng(0, *key, name).uniform(-0.25, 0.25, len(own))
        look: dict[str, Any] = {"color": COLORS[place % len(COLORS)], "alpha": 0.45, "markeredgewidth": 0}
        axes.plot(own, place + aside, ".", markersize=3.5, gid=f"points:{name}", **look)
        axes.plot(own.mean(), place, **MEAN)


def _seeds_caption(values: dict[Any, Any], baseline: str, higher_is_better: bool) -> str:
    lengths = sorted({int(own.count()) for own in values.values()})
    n = f"{lengths[0]}" if len(lengths) == 1 else f"{lengths[0]} to {lengths[-1]}"
    missing = [f"{name} {int(own.isna().sum())}" for name, own in values.items() if own.isna().any()]
    return paragraph(
        "compare", "seeds_caption", n_algorithms=len(values), n=n, baseline=baseline, missing=missing,
        higher_is_better=higher_is_better,
    )  # fmt: skip
