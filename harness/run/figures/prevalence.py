"""Size and power against prevalence, from the reweighted populations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from harness.drawing.layout import Page, columns_that_fit, round_top, set_x
from harness.drawing.panels import (
    ROW_HEIGHT,
    TURNED_HEIGHT,
    View,
    category_rows,
    draw_curves,
    draw_numbers,
    label_few,
    label_text,
    turned,
)
from harness.drawing.style import curve_look, legend_handle, nominal_handle
from harness.results.captions import BARS, ON_REAL_PAIRS, null_settings, setting_sentences, truth_sentences
from harness.results.names import (
    NULL_TRUTHS,
    REWEIGHTED,
    Curve,
    companion_curves,
    other_curves,
    pair_name,
    papers_curves,
    primary_alpha,
    reference_size,
    select,
)

if TYPE_CHECKING:
    from pandas import DataFrame

LEFT, RIGHT, GAP = 0.86, 0.1, 0.2
HEIGHT, AXIS_HEIGHT, TITLE_HEIGHT = 1.3, 0.36, 0.22
SIZE_TOP = 0.6


def shown_sizes(table: DataFrame) -> list[int]:
    """Return the N that get a column: the smallest, the one nearest 1000, the largest."""
    sizes = {int(n) for n in table["n_documents"].unique()}
    return sorted({min(sizes), reference_size(table), max(sizes)})


def prevalence_figure(
    table: DataFrame, provenance: Mapping[str, Any], *, truth: str, width: float
) -> tuple[Any, str]:
    """Return the figure (rows: pair and kind, columns: N, x: prevalence) and its caption."""
    alpha = primary_alpha(table)
    rows = select(table, balance=REWEIGHTED, alpha=alpha, truth=truth)
    plan = _Plan(rows[rows["prevalence"].notna()], width)
    caption = _caption(table, provenance, truth, alpha)
    page = Page(width, plan.first + plan.block * len(plan.places), caption)
    looks = [(curve_look(curve, place), label_text(curve.label)) for place, curve in enumerate(plan.curves)]
    handles = [*(legend_handle(look, label) for look, label in looks), nominal_handle(alpha)]
    page.legend(handles, 0.06, plan.n_columns)
    tops = {"size": plan.size_top(alpha), "power": 1.0}
    for (pair, kind), top in zip(plan.places, plan.tops(), strict=True):
        for column, n_documents in enumerate(plan.sizes):
            left = LEFT + column * (plan.wide + GAP)
            axes = page.axes(left, top + TITLE_HEIGHT, plan.wide, HEIGHT)
            part = select(plan.rows, pair=pair, kind=kind, n_documents=n_documents)
            _draw_cell(axes, part, plan.curves, View(alpha, tops[kind], "log", plan.prevalences))
            axes.set_title(f"{pair_name(pair)}, N = {n_documents}", loc="left", fontsize=7, pad=3)
            axes.set_xlabel("prevalence", labelpad=1, fontsize=7)
            axes.tick_params(labelsize=6.3, labelleft=column == 0)
            if column == 0:
                axes.set_ylabel("$\\alpha_{\\mathrm{true}}$" if kind == "size" else "power $\\pi$")
            numbers, first = plan.numbers[pair, kind, n_documents], column == 0
            draw_numbers(axes, numbers, below=AXIS_HEIGHT, height=HEIGHT, turn=plan.turn, label=first)
    return page.figure, caption


class _Plan:
    """What stands where: a row of panels per pair and kind, a column per N, numbers under each panel."""

    def __init__(self, rows: DataFrame, width: float) -> None:
        self.rows = rows
        self.curves = [*papers_curves(rows), *companion_curves(rows)] or other_curves(rows)
        self.sizes = shown_sizes(rows)
        self.prevalences = sorted(float(p) for p in rows["prevalence"].unique())
        self.places = [(str(pair), kind) for pair in rows["pair"].unique() for kind in ("size", "power")]
        labels = [*(curve.label for curve in self.curves), "nominal level 0.05"]
        self.n_columns = columns_that_fit(labels, width - 0.1, 4)
        self.first = 0.12 + 0.16 * -(-len(labels) // self.n_columns)
        self.wide = (width - LEFT - RIGHT - GAP * (len(self.sizes) - 1)) / len(self.sizes)
        tests = [curve.test for curve in self.curves]
        used = rows[rows["test"].isin(tests)]
        self.numbers = {
            (pair, kind, n): _numbers(select(used, pair=pair, kind=kind, n_documents=n))
            for pair, kind in self.places
            for n in self.sizes
        }
        found = [row for numbers in self.numbers.values() for row in numbers.values()]
        words = [word for row in found for word in row.values()]
        self.turn = turned(words, self.prevalences, "log", self.wide)
        n_rows = max(len(numbers) for numbers in self.numbers.values())
        self.strip = n_rows * (TURNED_HEIGHT if self.turn else ROW_HEIGHT)
        self.block = TITLE_HEIGHT + HEIGHT + AXIS_HEIGHT + self.strip + 0.1

    def tops(self) -> list[float]:
        """Return the upper edge of each row of panels, in inches."""
        return [self.first + row * self.block for row in range(len(self.places))]

    def size_top(self, alpha: float) -> float:
        """Return the upper end of the axes of size: as low as the values allow, never above the paper's."""
        drawn = self.rows["test"].isin([curve.test for curve in self.curves])
        values = self.rows.loc[(self.rows["kind"] == "size") & drawn, ["rate", "mc_high", "category_high"]]
        peak = float(values.max().max())
        return min(SIZE_TOP, round_top(max(peak, 2 * alpha))) if peak == peak else SIZE_TOP


def _draw_cell(axes: Any, part: DataFrame, curves: list[Curve], view: View) -> None:
    axes.set_ylim(0, view.top)
    set_x(axes, view.sizes, view.x_axis)
    part = part[part["test"].isin([curve.test for curve in curves])]
    draw_curves(axes, part, curves, view, "prevalence")
    label_few(axes, part.assign(n_documents=part["prevalence"]), view.top)


def _numbers(part: DataFrame) -> dict[str, dict[float, str]]:
    return category_rows(part.assign(n_documents=part["prevalence"]))


def _caption(table: DataFrame, provenance: Mapping[str, Any], truth: str, alpha: float) -> str:
    closing = setting_sentences(provenance, table)
    if truth in NULL_TRUTHS:
        rows = select(table, balance=REWEIGHTED, truth=truth, kind="size", alpha=alpha)
        closing = [*null_settings(provenance, rows), _null_words(rows)]
    parts = [
        f"Class balance as an axis of its own: alpha_true and power at alpha = {alpha:g} against "
        "prevalence. The positive and the negative cells of every category's population are rescaled to the "
        "prevalence, and the truth is computed anew under it; models and decisions stay as they are.",
        *truth_sentences(truth),
        *([ON_REAL_PAIRS] if truth in NULL_TRUTHS else []),
        BARS.replace("for every N:", "for every prevalence:"),
    ]
    return " ".join([*parts, *closing])


def _null_words(rows: DataFrame) -> str:
    """Return one plain sentence on the sizes at the rarest and the most frequent positives."""
    rows = rows[rows["rate"].notna()]
    if rows.empty:
        return ""
    ends = [rows[rows["prevalence"] == p] for p in (rows["prevalence"].min(), rows["prevalence"].max())]
    words = [
        f"from {end['rate'].min():.3f} to {end['rate'].max():.3f} at {100 * end['prevalence'].iloc[0]:g} "
        "% positives"
        for end in ends
    ]
    return f"Over pairs, N and all tests, also those not drawn here, the size runs {' and '.join(words)}."
