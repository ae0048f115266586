"""alpha_true under every truth rule, and how each rule fits what the paper says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.drawing.layout import Page, columns_that_fit, round_top, set_x, text_width
from harness.drawing.panels import View, draw_curve, label_text
from harness.drawing.style import LineLook, draw_nominal, legend_handle, other_look
from harness.results.captions import setting_sentences
from harness.results.names import (
    Curve,
    Panel,
    all_panels,
    other_curves,
    papers_curves,
    primary_alpha,
    select,
    select_panel,
)
from harness.results.truth_scores import CANNOT_TELL, STATEMENTS, score_truth_rules, total_scores, truth_name
from harness.writing.table_text import show

if TYPE_CHECKING:
    from pandas import DataFrame

LEFT, RIGHT, GAP = 0.55, 0.1, 0.14
HEIGHT, AXIS_HEIGHT, TITLE_HEIGHT = 1.12, 0.2, 0.2
LEGEND_ROW, TABLE_ROW = 0.16, 0.16
TOP = 0.6  # never more, as in the paper
SHORT = {
    "single_h0_false": "single H0-false\n2(c), 2(d), N ≤ 1000",
    "h0_always_false": "H0 always false\nsomewhere in 1(b)",
    "h1_never_true": "H1 never true\nsomewhere in 2(c), 2(d)",
    "low_power_when_close": "low power for close\nmodels at largest N",
}


def truth_figure(
    table: DataFrame,
    provenance: Mapping[str, Any],
    *,
    width: float,
    x_axis: str,
    scores: DataFrame | None = None,
) -> tuple[Any, str]:
    """Return the figure and its caption: a row per panel, a column per test, a curve per rule, scores."""
    scores = score_truth_rules(table) if scores is None else scores
    alpha = primary_alpha(table)
    truths = [str(name) for name in table["truth"].unique()]
    panels, curves = all_panels(table), (papers_curves(table) or other_curves(table)[:4])
    rows = select(table, kind="size", alpha=alpha)
    top = (
        min(TOP, round_top(max(float(rows["rate"].max()), 2 * alpha))) if rows["rate"].notna().any() else TOP
    )
    view = View(alpha, top, x_axis, sorted(float(n) for n in rows["n_documents"].unique()))
    caption = _caption(table, provenance, alpha, bool((rows["rate"] > TOP).any()))
    names = [truth_name(name) for name in truths]
    n_columns = columns_that_fit(names, width - 0.1, 4)
    first = 0.12 + LEGEND_ROW * -(-len(truths) // n_columns) + 0.16
    block = TITLE_HEIGHT + HEIGHT + AXIS_HEIGHT
    end = first + block * len(panels) + 0.22
    table_height = TABLE_ROW * (len(truths) + 1.9)
    page = Page(width, end + table_height + 0.1, caption)
    page.legend([legend_handle(_look(place), name) for place, name in enumerate(names)], 0.06, n_columns)
    wide = (width - LEFT - RIGHT - GAP * (len(curves) - 1)) / max(len(curves), 1)
    for place, panel in enumerate(panels):
        for column, curve in enumerate(curves):
            axes = page.axes(LEFT + column * (wide + GAP), first + place * block + TITLE_HEIGHT, wide, HEIGHT)
            _draw_cell(axes, select_panel(rows, panel, test=curve.test), truths, view)
            _label_cell(page, axes, panel, curve, place, column, last=place == len(panels) - 1)
    _draw_scores(page, scores, end, width)
    return page.figure, caption


def _look(place: int) -> LineLook:
    return other_look(place)._replace(width=1.0)


def _draw_cell(axes: Any, rows: DataFrame, truths: Sequence[str], view: View) -> None:
    axes.set_ylim(0, view.top)
    set_x(axes, view.sizes, view.x_axis, digits=(1, 5))
    draw_nominal(axes, view.alpha)
    for place, truth in enumerate(truths):
        points = rows[rows["truth"] == truth]
        if len(points):
            x = points["n_documents"].to_numpy(float)
            bare = points.assign(mc_low=np.nan, mc_high=np.nan)  # bars of six curves would hide the curves
            draw_curve(axes, bare, _look(place), x, name=truth, band=False)


def _label_cell(
    page: Page, axes: Any, panel: Panel, curve: Curve, place: int, column: int, *, last: bool
) -> None:
    if place == 0:
        axes.annotate(
            label_text(curve.label), (0.5, 1), (0, 17), xycoords="axes fraction", textcoords="offset points",
            ha="center", va="bottom", fontsize=7.5,
        )  # fmt: skip
    if column == 0:
        axes.set_title(panel.title, loc="left", fontsize=7.5, pad=3)
        axes.set_ylabel("$\\alpha_{\\mathrm{true}}$", labelpad=2)
    else:
        axes.tick_params(labelleft=False)
    if last:
        axes.set_xlabel("N", labelpad=1)
    axes.tick_params(labelsize=6)


def _draw_scores(page: Page, scores: DataFrame, top: float, width: float) -> None:
    """Write the table of scores: a row per rule, a column per statement, the total."""
    totals = total_scores(scores)
    names = [truth_name(str(name)) for name in totals["truth"]]
    first = max([text_width(name, 7) for name in names] + [1.2]) + 0.2
    step = (width - first - 0.2) / (len(STATEMENTS) + 1)
    centres = [first + step * (place + 0.5) for place in range(len(STATEMENTS) + 1)]
    for centre, words in zip(centres, [*SHORT.values(), "mean share"], strict=True):
        page.text(centre, top + 0.02, words, fontsize=6.2, ha="center", va="top", linespacing=1.15)
    page.text(
        0.12,
        top + 0.02,
        "Truth rule against\nthe paper's statements",
        fontsize=6.2,
        va="top",
        linespacing=1.15,
    )
    for y, thick in ((top - 0.04, 0.9), (top + 0.29, 0.5), (top + TABLE_ROW * (len(names) + 2), 0.9)):
        page.rule(0.12, y, width - 0.24, thick)
    for place, (name, row) in enumerate(zip(names, totals.to_dict("records"), strict=True)):
        y = top + TABLE_ROW * (place + 2.4)
        page.text(0.12, y, name, fontsize=7, va="center")
        total = show(row["total"], 2) or CANNOT_TELL
        for centre, words in zip(centres, [*(str(row[key]) for key in STATEMENTS), total], strict=True):
            page.text(centre, y, words, fontsize=7, ha="center", va="center", gid="score")


def _caption(table: DataFrame, provenance: Mapping[str, Any], alpha: float, above: bool) -> str:
    parts = [
        f"alpha_true at alpha = {alpha:g} against N under every truth rule that was run (a row per panel, a "
        "column per test): the mean over the categories whose H0 is true by the rule (hollow: fewer than 5 "
        "categories; nothing: none). ",
        "Dashed: the nominal level. The table counts in how many of the places that can tell (panel, "
        "measure, test, N) a statement of the paper holds under the rule; the mean share weighs each "
        "statement the same. No rule is the reproduction: the paper's own could not be found, and the "
        "conditions that stand for its statements are inferred.",
    ]
    if above:
        parts.append(f"Points above {TOP:g} are cut off.")
    return " ".join(" ".join([*parts, *setting_sentences(provenance, table)]).split())
