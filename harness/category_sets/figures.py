"""Figure 1 of IDIAP-RR 04-34, and how far confidences are biased, one line for each way to find one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from harness.category_sets.variants import METHODS, records, variants_of
from harness.category_sets.verdicts import MEAN_LIMIT, VARIANCE_LIMITS
from harness.drawing.layout import Page, title
from harness.drawing.style import NOMINAL_LINE, TOLERANCE, LineLook, legend_handle
from harness.writing.prose import paragraph

if TYPE_CHECKING:
    from pandas import DataFrame

TEST_COLOR, TRUE_COLOR, TRUE_WORDS = "#3b4a92", "#e08a00", "#a86700"
SETS = {"X": ("#000000", "o", -0.2), "Y": ("#1f8f89", "^", 0.0), "Z": ("#e08a00", "D", 0.2)}
"""Colour, marker and place beside its line of each set."""
RANDOM_PLACE, RANDOM_COLOR = 0.38, "#8c8c8c"
WIDEST_MEAN, HIGHEST_VARIANCE = 1.0, 4.0  # points beyond are drawn at the edge, with their number


def histogram_figure(
    table: DataFrame, histograms: DataFrame, setting: Sequence[str], width: float
) -> tuple[Any, str]:
    """Return the bootstrap's distribution of the difference in F1, beside that on D_true, and its caption.

    A row for each F1 variant and a column for each set.
    """
    left, right, gap, top, height, between, bottom = 0.52, 0.2, 0.46, 0.42, 1.45, 0.78, 0.42  # inches
    rows = table[(table["measure"] == "f1") & table["method"].isin(histograms["method"].unique())]
    variants, sets = variants_of(rows), list(dict.fromkeys(rows["set"]))
    each = (width - left - right - gap * (len(sets) - 1)) / len(sets)
    caption = paragraph("category_sets", "histogram_caption", first=rows.iloc[0], setting=setting)
    page = Page(width, top + len(variants) * (height + between) - between + bottom, caption)
    for line, variant in enumerate(variants):
        for column, name in enumerate(sets):
            at = left + column * (each + gap), top + line * (height + between)
            axes = page.axes(*at, each, height)
            mine, bars = (variant.rows(one[one["set"] == name]) for one in (rows, histograms))
            _draw_bars(axes, mine.iloc[0], bars)
            axes.set_xlabel(f"Δ {variant.noun} (A − B)")
            by = METHODS[variant.method].removeprefix("bootstrap ")
            title(axes, f"{name}: {variant.noun}, {by}", each)
            if column == 0:
                axes.set_ylabel("share of draws")
    page.legend(_histogram_handles(), 0.08, 4)
    return page.figure, caption


def _draw_bars(axes: Any, row: Any, bars: DataFrame) -> None:
    """Draw both distributions, 0, and the 95 % interval of the bootstrap."""
    from matplotlib.ticker import MaxNLocator

    test, true = (bars[bars["source"] == source] for source in ("te", "true"))
    left, wide = test["low"], test["high"] - test["low"]
    axes.bar(left, test["share"], wide, align="edge", color=TEST_COLOR, alpha=0.45, linewidth=0)
    edges = [*true["low"], float(true["high"].iloc[-1])]
    axes.stairs(true["share"], edges, color=TRUE_COLOR, linewidth=1.2)
    peak = max(float(bars["share"].max()), 1e-9)
    axes.axvline(0, ymax=0.79, color="0.35", linewidth=0.8, linestyle=NOMINAL_LINE)
    place = 1.12 * peak
    axes.plot([row.low_te, row.high_te], [place, place], color=TEST_COLOR, linewidth=1.6, marker="|")
    axes.plot([row.d_te], [place], color=TEST_COLOR, marker="o", markersize=3.4)
    axes.plot([row.d_true], [1.22 * peak], color=TRUE_COLOR, marker="D", markersize=3.4)
    axes.set_ylim(0, 1.66 * peak)
    axes.xaxis.set_major_locator(MaxNLocator(4))
    axes.yaxis.set_major_locator(MaxNLocator(4, prune="upper"))
    for height, color, label, share in (
        (0.985, TEST_COLOR, "D_te", row.confidence_te), (0.885, TRUE_WORDS, "D_true", row.share_true),
    ):  # fmt: skip
        text = f"{label}: {100 * share:.1f} % above 0"
        axes.text(0.02, height, text, transform=axes.transAxes, va="top", fontsize=7, color=color)


def _histogram_handles() -> list[Any]:
    from matplotlib.patches import Patch

    return [
        Patch(color=TEST_COLOR, alpha=0.45, linewidth=0, label="bootstrap of D_te"),
        legend_handle(LineLook(TEST_COLOR, "o", "-", width=1.6), "D_te, 95 % interval"),
        legend_handle(LineLook(TRUE_COLOR, "", "-"), "subsets of D_true"),
        legend_handle(LineLook(TRUE_COLOR, "D", "", width=0), "all of D_true"),
    ]


def bias_figure(table: DataFrame, setting: Sequence[str], width: float) -> tuple[Any, str]:
    """Return mean and variance of ``z_te - z_true`` over draws of D_te, and the caption."""
    left, right, gap, top, bottom = 2.35, 0.12, 0.2, 0.5, 0.42  # inches
    variants, named = variants_of(table), table[table["kind"] == "disjoint"]
    caption = paragraph(
        "category_sets", "bias_caption", n_draws=int(named.iloc[0].n_draws), setting=setting,
        n_replicates=named["n_replicates"].max(), n_random=table["set"].nunique() - named["set"].nunique(),
    )  # fmt: skip
    height, each = 0.42 * len(variants), (width - left - right - gap) / 2
    page = Page(width, top + height + bottom, caption)
    columns = (("mean", (-MEAN_LIMIT, MEAN_LIMIT), 0.0), ("variance", VARIANCE_LIMITS, 1.0))
    for place, (column, limits, ideal) in enumerate(columns):
        axes = page.axes(left + place * (each + gap), top, each, height)
        axes.axvspan(*limits, color=TOLERANCE, linewidth=0, zorder=-1)
        axes.axvline(ideal, color="0.35", linewidth=0.8, linestyle=NOMINAL_LINE, zorder=0)
        ends = _limits(table, column)
        for line, variant in enumerate(variants):
            _draw_line(axes, variant.rows(table), column, line, ends)
        axes.set_xlim(*ends)
        axes.set_ylim(len(variants) - 0.45, -0.55)
        axes.set_yticks(range(len(variants)))
        axes.set_yticklabels([variant.words() for variant in variants] if place == 0 else [])
        axes.tick_params(axis="y", length=0)
        axes.set_xlabel(f"{column} of z_te − z_true")
    page.legend(_bias_handles(table), 0.1, 5)
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
        color, marker, place = SETS[row.set]
        face = "white" if row.verdict == "apart" else color
        y, shown = line + place, min(max(value, ends[0]), ends[1])
        look = {"color": color, "marker": marker, "markersize": 3.6, "markerfacecolor": face}
        axes.plot([low, high], [y, y], color=color, linewidth=1)
        axes.plot([shown], [y], linestyle="none", clip_on=False, **look)
        if shown != value:
            side, room = ("right", -0.02) if value > ends[1] else ("left", 0.02)
            at = shown + room * (ends[1] - ends[0])
            axes.text(at, y, f"{value:.1f}", ha=side, va="center", fontsize=6, color=color)
    others = rows[rows["kind"] == "random"]
    for far, marker, size, face in ((False, "|", 5, RANDOM_COLOR), (True, ".", 3.5, "none")):
        values = others.loc[(others["verdict"] == "apart") == far, column].clip(*ends)
        axes.plot(
            values, [line + RANDOM_PLACE] * len(values), linestyle="none", marker=marker, markersize=size,
            markerfacecolor=face, markeredgecolor=RANDOM_COLOR, markeredgewidth=0.7,
        )  # fmt: skip


def _bias_handles(table: DataFrame) -> list[Any]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    looks: list[tuple[Any, ...]] = [
        (f"set {name}", color, marker, "-", 3.6) for name, (color, marker, _) in SETS.items()
    ]
    if (table["kind"] == "random").any():
        looks.append(("random sets", RANDOM_COLOR, "|", "none", 5))
    handles: list[Any] = [
        Line2D([], [], color=color, marker=marker, linestyle=line, markersize=size, linewidth=1, label=label)
        for label, color, marker, line, size in looks
    ]
    return [*handles, Patch(color=TOLERANCE, linewidth=0, label="no bias")]
