"""Figure 1 of IDIAP-RR 04-34: the bootstrap's distribution of the difference in F1, beside that on D_true."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness.category_sets.variants import METHODS, Variant, quantity_words
from harness.drawing.layout import Page, title

if TYPE_CHECKING:
    from pandas import DataFrame

TEST_COLOR, TRUE_COLOR = "#3b4a92", "#e08a00"
LEFT, RIGHT, GAP = 0.52, 0.2, 0.46  # inches
TOP, HEIGHT, BETWEEN, BOTTOM = 0.42, 1.45, 0.78, 0.42


def histogram_figure(
    table: DataFrame, histograms: DataFrame, sentences: list[str], width: float
) -> tuple[Any, str]:
    """Return the figure, a row for each F1 variant and a column for each set, and its caption."""
    rows = table[(table["measure"] == "f1") & table["method"].isin(histograms["method"].unique())]
    keys = zip(rows["measure"], rows["average"], rows["method"], strict=True)
    variants = [Variant(*key) for key in dict.fromkeys(keys)]
    names = list(dict.fromkeys(rows["set"]))
    each = (width - LEFT - RIGHT - GAP * (len(names) - 1)) / len(names)
    caption = _caption(rows, sentences)
    page = Page(width, TOP + len(variants) * (HEIGHT + BETWEEN) - BETWEEN + BOTTOM, caption)
    for line, variant in enumerate(variants):
        for column, name in enumerate(names):
            top = TOP + line * (HEIGHT + BETWEEN)
            axes = page.axes(LEFT + column * (each + GAP), top, each, HEIGHT)
            words = quantity_words(variant.measure, variant.average)
            _draw(axes, _part(rows, name, variant).iloc[0], _part(histograms, name, variant), words)
            by = METHODS[variant.method].removeprefix("bootstrap ")
            title(axes, f"{name}: {words}, {by}", each)
            if column == 0:
                axes.set_ylabel("share of draws")
    page.legend(_handles(), 0.08, 4)
    return page.figure, caption


def _draw(axes: Any, row: Any, bars: DataFrame, words: str) -> None:
    """Draw both distributions, 0, and the 95 % interval of the bootstrap."""
    from matplotlib.ticker import MaxNLocator

    test, true = (bars[bars["source"] == source] for source in ("te", "true"))
    left, wide = test["low"], test["high"] - test["low"]
    axes.bar(left, test["share"], wide, align="edge", color=TEST_COLOR, alpha=0.45, linewidth=0)
    edges = [*true["low"], float(true["high"].iloc[-1])]
    axes.stairs(true["share"], edges, color=TRUE_COLOR, linewidth=1.2)
    peak = max(float(bars["share"].max()), 1e-9)
    axes.axvline(0, ymax=0.79, color="0.35", linewidth=0.8, linestyle=(0, (6, 3)))
    place = 1.12 * peak
    axes.plot([row.low_te, row.high_te], [place, place], color=TEST_COLOR, linewidth=1.6, marker="|")
    axes.plot([row.d_te], [place], color=TEST_COLOR, marker="o", markersize=3.4)
    axes.plot([row.d_true], [1.22 * peak], color=TRUE_COLOR, marker="D", markersize=3.4)
    axes.set_ylim(0, 1.66 * peak)
    axes.xaxis.set_major_locator(MaxNLocator(4))
    axes.yaxis.set_major_locator(MaxNLocator(4, prune="upper"))
    axes.set_xlabel(f"Δ {words} (A − B)")
    for height, color, label, share in (
        (0.985, TEST_COLOR, "D_te", row.confidence_te),
        (0.885, "#a86700", "D_true", row.share_true),
    ):
        text = f"{label}: {100 * share:.1f} % above 0"
        axes.text(0.02, height, text, transform=axes.transAxes, va="top", fontsize=7, color=color)


def _handles() -> list[Any]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    return [
        Patch(color=TEST_COLOR, alpha=0.45, linewidth=0, label="bootstrap of D_te"),
        Line2D(
            [], [], color=TEST_COLOR, linewidth=1.6, marker="o", markersize=3.4, label="D_te, 95 % interval"
        ),
        Line2D([], [], color=TRUE_COLOR, linewidth=1.2, label="subsets of D_true"),
        Line2D([], [], color=TRUE_COLOR, linewidth=0, marker="D", markersize=3.4, label="all of D_true"),
    ]


def _caption(rows: DataFrame, sentences: list[str]) -> str:
    first = rows.iloc[0]
    parts = [
        "Bootstrap replicates of the difference in F1 on one test set D_te, for sets X, Y and Z of "
        f"{int(first.n_categories)} categories that share none, with their 95 % percentile interval; beside "
        f"them the differences on subsets of D_true as large as D_te ({int(first.n_te):,} documents). D_te: "
        f"{int(first.n_replicates):,} replicates; D_true: {int(first.n_subsets):,} subsets, drawn with "
        "replacement. The share above 0 is the confidence that A is better; a tie counts for neither.",
        "Dashed: no difference. A distribution of D_te that is shifted against that of D_true is no bias: "
        "D_te is one draw. The calibration tells whether it is.",
        *sentences,
    ]
    return " ".join(parts)


def _part(table: DataFrame, name: str, variant: Variant) -> DataFrame:
    """Return the rows of one set and variant."""
    chosen = table["set"] == name
    for column, value in variant._asdict().items():
        chosen &= table[column] == value
    return table[chosen]
