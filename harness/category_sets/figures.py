"""Figure 1 of IDIAP-RR 04-34, and how far confidences are biased, one line for each way to find one."""

from collections.abc import Sequence
from typing import Any

from pandas import DataFrame

from harness.category_sets.calibration import MEAN_LIMIT, VARIANCE_LIMITS
from harness.category_sets.variants import METHODS, Variant, variants_of
from harness.drawing import style
from harness.drawing.grid import Cell, Grid, Row, Space, named_row
from harness.drawing.layout import Axis
from harness.drawing.style import Look, Style, told
from harness.writing.prose import paragraph

TEST_COLOR, TRUE_COLOR, TRUE_WORDS = style.INDIGO, style.AMBER, "#a86700"
SETS = {"X": (style.BLACK, "o", -0.28), "Y": (style.TEAL, "^", 0.0), "Z": (style.AMBER, "D", 0.28)}
"""Colour, marker and place beside its line of each set."""
RANDOM_PLACE, RANDOM_COLOR = 0.44, "#8c8c8c"
WIDEST_MEAN, HIGHEST_VARIANCE = 1.0, 4.0  # points beyond are drawn at the edge, with their number


def histogram_figure(
    table: DataFrame, histograms: DataFrame, setting: Sequence[str], look: Look
) -> tuple[list[Any], str]:
    """Return the bootstrap's distribution of the difference in F1, beside that on D_true, and its caption.

    A row for each F1 variant and a column for each set.
    """
    rows = table[(table["measure"] == "f1") & table["method"].isin(histograms["method"].unique())]
    sets = list(dict.fromkeys(rows["set"]))
    made = []
    for variant in variants_of(rows):
        bars = variant.rows(histograms)
        by = METHODS[variant.method].removeprefix("bootstrap ")
        where, heading = variant._asdict(), f"{variant.noun}, {by}"
        cells = [
            Cell(f"{name}: {heading}", where | {"set": name}, x=_axis(bars, name, variant)) for name in sets
        ]
        made.append(Row(cells, (), 1.75 * max(float(bars["share"].max()), 1e-9)))

    def draw(axes: Any, some: DataFrame, row: Row, space: Space) -> None:
        """Draw both distributions of one set and variant."""
        mine = Variant.of(some.iloc[0]).rows(histograms)
        _draw_bars(axes, some.iloc[0], mine[mine["set"] == some["set"].iloc[0]], row.top / 1.75, look.small)

    caption = paragraph("category_sets", "histogram_caption", first=rows.iloc[0], setting=setting)
    return Grid(
        rows, Axis("", ""), made, "share of draws", draw, _histogram_handles(), shape=0.85, caption=caption
    ).figure(look)


def _axis(bars: DataFrame, name: str, variant: Variant) -> Axis:
    """Return the axis of a difference over all bars of a set."""
    some = bars[bars["set"] == name]
    low, high = float(some["low"].min()), float(some["high"].max())
    room = 0.04 * (high - low)
    label = f"Δ {variant.noun} (A − B)"
    return Axis("difference", label, scale="linear", ends=(low - room, high + room))


def _draw_bars(axes: Any, row: Any, bars: DataFrame, peak: float, size: float) -> None:
    """Draw both distributions, 0, and the 95 % interval of the bootstrap."""
    test, true = (bars[bars["source"] == source] for source in ("te", "true"))
    for some, look in (
        (test, {"fill": True, "color": TEST_COLOR, "alpha": 0.45, "linewidth": 0}),
        (true, {"color": TRUE_COLOR, "linewidth": 1.2}),
    ):
        axes.stairs(some["share"], [*some["low"], float(some["high"].iloc[-1])], **look)
    axes.axvline(0, ymax=0.76, color=style.GREY, linewidth=0.8, linestyle=style.NOMINAL_LINE)
    place = 1.1 * peak
    interval = {"color": TEST_COLOR, "linewidth": 1.6, "marker": "|", "gid": "bar:te"}
    axes.plot([row.low_te, row.high_te], [place, place], **interval)
    axes.plot([row.d_te], [place], color=TEST_COLOR, marker="o")
    axes.plot([row.d_true], [1.2 * peak], color=TRUE_COLOR, marker="D")
    for height, color, label, share in (
        (0.99, TEST_COLOR, "D_te", row.confidence_te), (0.87, TRUE_WORDS, "D_true", row.share_true),
    ):  # fmt: skip
        text = f"{label}: {100 * share:.1f} % above 0"
        axes.text(0.02, height, told(text), transform=axes.transAxes, va="top", fontsize=size, color=color)


def _histogram_handles() -> list[Any]:
    return [
        style.patch("bootstrap of D_te", TEST_COLOR, alpha=0.45),
        style.handle(Style(TEST_COLOR, "o", width=1.5), "D_te, 95 % interval"),
        style.handle(Style(TRUE_COLOR, ""), "subsets of D_true"),
        style.handle(Style(TRUE_COLOR, "D", "none"), "all of D_true"),
    ]


def bias_figure(table: DataFrame, setting: Sequence[str], look: Look) -> tuple[list[Any], str]:
    """Return mean and variance of ``z_te - z_true`` over draws of D_te: a line per variant."""
    variants, named = variants_of(table), table[table["kind"] == "disjoint"]
    ideals = {"mean": ((-MEAN_LIMIT, MEAN_LIMIT), 0.0), "variance": (VARIANCE_LIMITS, 1.0)}

    def draw(axes: Any, rows: DataFrame, row: Row, space: Space) -> None:
        """Draw one column for every variant, over the band where there is no bias."""
        limits, ideal = ideals[space.x.column]
        axes.axvspan(*limits, color=style.TOLERANCE, linewidth=0, zorder=-1)
        axes.axvline(ideal, color=style.GREY, linewidth=0.8, linestyle=style.NOMINAL_LINE, zorder=0)
        for line, variant in enumerate(variants):
            _draw_line(axes, variant.rows(table), space, line)

    caption = paragraph(
        "category_sets", "bias_caption", n_draws=int(named.iloc[0].n_draws), setting=setting,
        n_replicates=named["n_replicates"].max(), n_random=table["set"].nunique() - named["set"].nunique(),
    )  # fmt: skip
    axes = [
        Axis(name, f"{name} of z_te − z_true", scale="linear", ends=_limits(table, name)) for name in ideals
    ]
    names = [variant.words() for variant in variants]
    rows = [named_row([Cell("", {}, x=axis) for axis in axes], names)]
    return Grid(
        table, Axis("", ""), rows, "", draw, _bias_handles(table), names=names, line=2.4, caption=caption
    ).figure(look)


def _limits(table: DataFrame, column: str) -> tuple[float, float]:
    """Return the ends of an axis: every error bar, as far as they are not out of all proportion."""
    named = table[table["kind"] == "disjoint"]
    low = min(float(named[f"{column}_low"].min()), float(table[column].min()))
    high = max(float(named[f"{column}_high"].max()), float(table[column].max()))
    if column == "mean":
        low, high = min(low, -2 * MEAN_LIMIT), max(high, 2 * MEAN_LIMIT)
        return max(low, -WIDEST_MEAN) - 0.05, min(high, WIDEST_MEAN) + 0.05
    return min(max(low - 0.08, 0.0), 0.6), min(max(high + 0.08, 1.5), HIGHEST_VARIANCE)


def _draw_line(axes: Any, rows: DataFrame, space: Space, line: int) -> None:
    """Draw the sets of one variant; values beyond the frame are written at its edge, set by set."""
    column, ends = space.x.column, space.x.limits()
    beyond: dict[float, list[str]] = {}
    for row in rows[rows["kind"] == "disjoint"].itertuples():
        value, low, high = (float(getattr(row, f"{column}{end}")) for end in ("", "_low", "_high"))
        color, marker, place = SETS[str(row.set)]
        face = "white" if row.verdict == "apart" else color
        y, shown = line + place, min(max(value, ends[0]), ends[1])
        look = {"color": color, "marker": marker, "markerfacecolor": face}
        axes.plot([low, high], [y, y], color=color, linewidth=1)
        axes.plot([shown], [y], linestyle="none", clip_on=False, gid=f"points:{row.set}", **look)
        if shown != value:
            beyond.setdefault(shown, []).append(f"{value:.1f}")
    for edge, values in beyond.items():
        side, room = ("right", -0.03) if edge == ends[1] else ("left", 0.03)
        at = edge + room * (ends[1] - ends[0])
        axes.text(at, line, told(", ".join(values)), ha=side, va="center", fontsize=space.look.small)
    others = rows[rows["kind"] == "random"]
    for far, marker, size, face in ((False, "|", 5, RANDOM_COLOR), (True, ".", 3.5, "none")):
        drawn = others.loc[(others["verdict"] == "apart") == far, column].clip(*ends)
        axes.plot(
            drawn, [line + RANDOM_PLACE] * len(drawn), linestyle="none", marker=marker, markersize=size,
            markerfacecolor=face, markeredgecolor=RANDOM_COLOR, markeredgewidth=0.7,
        )  # fmt: skip


def _bias_handles(table: DataFrame) -> list[Any]:
    looks: list[tuple[Any, ...]] = [
        (f"set {name}", color, marker, "-", 3.6) for name, (color, marker, _) in SETS.items()
    ]
    if (table["kind"] == "random").any():
        looks.append(("random sets", RANDOM_COLOR, "|", "none", 5))
    handles: list[Any] = [
        style.mark(label, color=color, marker=marker, linestyle=line, markersize=size, linewidth=1)
        for label, color, marker, line, size in looks
    ]
    return [*handles, style.patch("no bias", style.TOLERANCE)]
