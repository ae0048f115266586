"""Every seed of every algorithm, with box plots and the baseline marked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from harness.compare.figure_critical_difference import LONGEST, fit_label
from harness.drawing.layout import Page, text_width
from harness.drawing.style import NOMINAL_LINE
from harness.seeding import rng
from harness.significance.result import check_choice

if TYPE_CHECKING:
    from pandas import DataFrame

ROW, HEAD, FOOT = 0.36, 0.16, 0.42
POINT, LINE = "#3b4a92", "#a3195b"


def seeds_figure(
    scores: DataFrame,
    baseline: str,
    *,
    score_name: str = "score",
    higher_is_better: bool = True,
    width: float = 7.2,
) -> tuple[Any, str]:
    """Return a box plot per algorithm with a point for every seed, and the caption.

    Parameters
    ----------
    scores : DataFrame
        Tidy: algorithm, seed, score, as :func:`harness.compare.seeds.tidy_scores` gives them.
    baseline : str
        Drawn first and in bold; the dashed line is its mean.
    score_name : str
        What the axis is called.
    higher_is_better : bool
        Which seed of an algorithm is its worst, drawn in another colour.
    width : float
        Inches.

    Raises
    ------
    ValueError
        If the baseline is not among the algorithms.
    """
    names = list(dict.fromkeys(scores["algorithm"]))
    check_choice("baseline", baseline, tuple(names))
    names = [baseline, *(name for name in names if name != baseline)]
    values = {name: scores.loc[scores["algorithm"] == name, "score"] for name in names}
    kept = [values[name].dropna().to_numpy(float) for name in names]
    labels = [
        fit_label(str(name), f" (n = {len(own)})", LONGEST, bold=True)
        for name, own in zip(names, kept, strict=True)
    ]
    left = max(text_width(label, size, True) for label, size in labels) + 0.3
    caption = _caption(values, baseline, higher_is_better)
    page = Page(width, HEAD + ROW * len(names) + FOOT, caption)
    axes = page.axes(left, HEAD, width - left - 0.15, ROW * len(names))
    axes.axvline(
        kept[0].mean(), color="0.35", linewidth=0.8, linestyle=NOMINAL_LINE, zorder=0, gid="baseline"
    )
    _draw_boxes(axes, kept)
    for place, (name, own) in enumerate(zip(names, kept, strict=True)):
        _draw_points(axes, place, own, str(name), higher_is_better)
    axes.set_yticks(range(len(names)), [label for label, _ in labels])
    for text, (_, size), name in zip(axes.get_yticklabels(), labels, names, strict=True):
        text.set(fontsize=size, fontweight="bold" if name == baseline else "normal")
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xlabel(score_name + (" (higher is better)" if higher_is_better else " (lower is better)"))
    return page.figure, caption


def _draw_boxes(axes: Any, kept: list[Any]) -> None:
    thin = {"linewidth": 0.8, "color": "0.3"}
    axes.boxplot(
        kept, positions=range(len(kept)), orientation="horizontal", widths=0.62, showfliers=False,
        whis=(0, 100), manage_ticks=False, boxprops=thin, whiskerprops=thin, capprops=thin,
        medianprops={"linewidth": 1.3, "color": "black"}, zorder=1,
    )  # fmt: skip


def _draw_points(axes: Any, place: int, own: Any, name: str, higher_is_better: bool) -> None:
    """Draw every seed at its score; the height within the row only keeps points apart."""
    spread = rng(0, "figure_seeds", name).uniform(-0.2, 0.2, len(own))
    worst = int(np.argmin(own) if higher_is_better else np.argmax(own))
    colors = [LINE if seed == worst else POINT for seed in range(len(own))]
    axes.scatter(own, place + spread, s=11, c=colors, alpha=0.8, linewidths=0, zorder=2, gid=f"seeds {place}")
    axes.plot([own.mean()], [place], "D", color="white", markeredgecolor="black", markersize=4, zorder=3)


def _caption(values: dict[Any, Any], baseline: str, higher_is_better: bool) -> str:
    lengths = sorted({int(own.count()) for own in values.values()})
    n = f"{lengths[0]}" if len(lengths) == 1 else f"{lengths[0]} to {lengths[-1]}"
    parts = [
        f"Scores of {len(values)} algorithms, {n} seeds each. Every seed is a point (its height within the "
        "row has no meaning); the box holds the middle half, the whiskers reach the extremes; the line in "
        "the box is the median, the diamond the mean. The worst seed of each algorithm is red.",
        f"Dashed: mean of the baseline, {baseline} (bold).",
    ]
    missing = [f"{name} {int(own.isna().sum())}" for name, own in values.items() if own.isna().any()]
    if missing:
        parts.append("Seeds without a score, not drawn: " + ", ".join(missing) + ".")
    best = "highest point of a row grows" if higher_is_better else "lowest point of a row falls"
    parts.append(f"The {best} with the number of seeds: compare means, not the best seeds.")
    return " ".join(parts)
