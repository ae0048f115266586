"""Figures of the sizes and powers of tests of learning algorithms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from harness.compare.learner_tests import HOLD_OUT, TESTS
from harness.compare.rates import main_alpha
from harness.compare.report_parts import pick
from harness.drawing.layout import Page, columns_that_fit, set_x, title
from harness.drawing.style import (
    NOMINAL_LINE,
    OTHER_LINES,
    TOLERANCE,
    LineLook,
    draw_nominal,
    draw_tolerance,
    legend_handle,
    nominal_handle,
    tolerance_handle,
)

if TYPE_CHECKING:
    from pandas import DataFrame

SOLID, DASHED, DOTTED, MIXED, _ = OTHER_LINES
LOOKS = {
    "resampled_t": LineLook("#a3195b", "v", SOLID),
    "kfold_t": LineLook("#e08a00", "D", DOTTED),
    "corrected_resampled_t": LineLook("#000000", "o", SOLID),
    "five_by_two_t": LineLook("#3b4a92", "s", DASHED),
    "five_by_two_f": LineLook("#1f8f89", "^", MIXED),
    "mcnemar": LineLook("#000000", "o", SOLID),
    "mcnemar_uncorrected": LineLook("#a3195b", "v", MIXED),
    "mcnemar_exact": LineLook("#3b4a92", "s", DASHED),
    "mcnemar_midp": LineLook("#1f8f89", "^", SOLID),
    "proportion": LineLook("#e08a00", "D", DOTTED),
}
GROUPS = {"repeated training": [name for name in TESTS if name not in HOLD_OUT], "one hold-out": HOLD_OUT}
X_AXES = {
    "n_examples": ("examples in a data set", "log"),
    "excess": ("true error rate of B minus A", "linear"),
}
FLOOR = 0.002
"""On a logarithmic axis smaller rates are drawn here."""
FLOORED = f"Rates below {FLOOR:g} are drawn there."
RATE_TICKS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
REFERENCE = {"color": "#a3195b", "marker": "D", "markerfacecolor": "white", "linestyle": "none"}
LEGEND_ROW = 0.16


def _tick_rates(axis: Any) -> None:
    """Set the ticks of a logarithmic axis of rates."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter, NullLocator

    axis.set_major_locator(FixedLocator(RATE_TICKS))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_locator(NullLocator())
    axis.set_minor_formatter(NullFormatter())


def curve_figure(table: DataFrame, kind: str, x: str, width: float, caption: str) -> Any:
    """Return rates against the column `x`: a row of panels per setting, a column per group of tests.

    `table` holds simulated rows of one level; in a figure of power its Type I errors are hollow.
    """
    settings, alpha = list(dict.fromkeys(table["setting"])), main_alpha(table)
    chosen = {head: [test for test in tests if test in set(table["test"])] for head, tests in GROUPS.items()}
    groups = {head: tests for head, tests in chosen.items() if tests}
    row, top, left, gap = 2.1, 0.28, 0.58, 0.5
    wide = (width - left - 0.1 - gap * (len(groups) - 1)) / len(groups)
    columns = [columns_that_fit([TESTS[test].label for test in tests], wide, 2) for tests in groups.values()]
    legends = LEGEND_ROW * max(-(-len(tests) // n) for tests, n in zip(groups.values(), columns, strict=True))
    bottom = len(settings) * (row + 0.62) + 0.02
    lines = [nominal_handle(alpha), tolerance_handle()] if kind == "size" else []
    page = Page(width, bottom + legends + 0.1 + 0.2 * bool(lines), caption)
    for i, setting in enumerate(settings):
        for j, (head, tests) in enumerate(groups.items()):
            axes = page.axes(left + j * (wide + gap), top + i * (row + 0.62), wide, row)
            letter = chr(ord("a") + i * len(groups) + j)
            title(axes, f"({letter}) {setting}; {head}", wide)
            _draw_panel(axes, pick(table, setting=setting), tests, x, kind)
            if j == 0:
                axes.set_ylabel("Type I error" if kind == "size" else "power", labelpad=2)
    for j, tests in enumerate(groups.values()):
        page.figure.legend(
            handles=[legend_handle(LOOKS[test], TESTS[test].label) for test in tests], loc="upper left",
            bbox_to_anchor=((left + j * (wide + gap)) / width, 1 - bottom / page.height), ncols=columns[j],
            borderaxespad=0, handlelength=3.0, columnspacing=1.2, labelspacing=0.3,
        )  # fmt: skip
    if lines:
        page.legend(lines, bottom + legends + 0.05, len(lines))
    return page.figure


def _draw_panel(axes: Any, rows: DataFrame, tests: Sequence[str], x: str, kind: str) -> None:
    if kind == "size":
        axes.set_yscale("log")
        axes.set_ylim(FLOOR * 0.85, 1.15)
        _tick_rates(axes.yaxis)
        draw_tolerance(axes, main_alpha(rows))
        draw_nominal(axes, main_alpha(rows))
    else:
        axes.set_ylim(-0.02, 1.03)
    shown = rows[rows["test"].isin(tests)].sort_values(x, kind="stable")
    for test in tests:
        _draw_points(axes, pick(shown, test=test), x, kind)
    x_label, x_scale = X_AXES[x]
    if len(shown):
        set_x(axes, [float(value) for value in shown[x].unique()], x_scale)
    axes.set_xlabel(x_label, labelpad=2)


def _draw_points(axes: Any, points: DataFrame, x: str, kind: str) -> None:
    """Draw one test's rates with their intervals; hollow and unconnected those of another kind."""
    for is_kind in (False, True):
        own = points[(points["kind"] == kind) == is_kind]
        if own.empty:
            continue
        look, name = LOOKS[own["test"].iloc[0]], own["test"].iloc[0]
        rate, low, high = (
            own[["rate", "mc_low", "mc_high"]].clip(lower=FLOOR if kind == "size" else 0).T.values
        )
        axes.errorbar(
            own[x].to_numpy(float), rate, yerr=[rate - low, high - rate], color=look.color,
            marker=look.marker, linestyle=look.line if is_kind else "none", linewidth=look.width,
            markersize=3.4, markerfacecolor=look.color if is_kind else "white", elinewidth=0.8, capsize=1.6,
            capthick=0.8, gid=name,
        )  # fmt: skip


def reference_figure(table: DataFrame, settings: Mapping[str, str], width: float, caption: str) -> Any:
    """Return Type I errors beside their references: a row per test, a panel for each of `settings`.

    `table` holds simulated rows of one level and one number of examples at difference 0.
    """
    from matplotlib.lines import Line2D

    alpha, tests = main_alpha(table), [test for test in TESTS if test in set(table["test"])]
    left, gap, height = 1.35, 0.3, 0.2 * len(tests) + 0.2
    wide = (width - left - 0.12 - gap * (len(settings) - 1)) / len(settings)
    page = Page(width, 0.3 + height + 0.62, caption)
    for j, (setting, head) in enumerate(settings.items()):
        axes = page.axes(left + j * (wide + gap), 0.3, wide, height)
        title(axes, f"({'abcd'[j]}) {head}", wide)
        _draw_references(axes, pick(table, setting=setting), tests, alpha)
        axes.set_yticks(range(len(tests)), [TESTS[test].label for test in tests] if j == 0 else [])
    measured = {"color": "black", "marker": "o", "linestyle": "none"}
    handles = [
        Line2D([], [], markersize=3.4, label=label, **look)  # type: ignore[arg-type]
        for label, look in (("measured", measured), ("reference", REFERENCE))
    ]
    page.legend([*handles, nominal_handle(alpha), tolerance_handle()], 0.3 + height + 0.42, 4)
    return page.figure


def _draw_references(axes: Any, rows: DataFrame, tests: Sequence[str], alpha: float) -> None:
    axes.axvspan(0.8 * alpha, 1.2 * alpha, color=TOLERANCE, linewidth=0, zorder=-1)
    axes.axvline(alpha, color="0.35", linewidth=0.8, linestyle=NOMINAL_LINE, zorder=0)
    for row in rows.to_dict("records"):
        y, rate = tests.index(row["test"]), row["rate"]
        axes.errorbar(
            max(rate, FLOOR), y, xerr=[[max(rate - row["mc_low"], 0)], [row["mc_high"] - rate]],
            color="black", marker="o", markersize=3.2, elinewidth=1.0, capsize=1.8, linestyle="none",
            gid=row["test"],
        )  # fmt: skip
        if row["reference"] == row["reference"]:
            axes.errorbar(
                row["reference"], y + 0.3, xerr=1.96 * row["reference_se"], markersize=3.2, elinewidth=0.8,
                capsize=1.6, gid="reference", **REFERENCE,
            )  # fmt: skip
    axes.set_xscale("log")
    axes.set_xlim(0.8 * min([alpha / 5, *rows["rate"].clip(lower=FLOOR)]), 1.0)
    _tick_rates(axes.xaxis)
    axes.set_ylim(len(tests) - 0.4, -0.6)
    axes.set_xlabel("Type I error", labelpad=2)
    axes.tick_params(axis="y", length=0)
