"""Figures of the sizes and powers of tests of learning algorithms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.compare.learner_tests import HOLD_OUT, TESTS
from harness.drawing.layout import Page, columns_that_fit, set_x, title
from harness.drawing.style import (
    LineLook,
    draw_nominal,
    draw_tolerance,
    legend_handle,
    nominal_handle,
    tolerance_handle,
)

if TYPE_CHECKING:
    from pandas import DataFrame

SOLID, DASHED, DOTTED, MIXED = "-", (0, (5, 1.5)), (0, (2.5, 1.2)), (0, (5, 1.5, 1, 1.5))
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
GROUPS = (
    ("repeated training", tuple(name for name in TESTS if name not in HOLD_OUT)),
    ("one hold-out", HOLD_OUT),
)
FLOOR = 0.002
"""On a logarithmic axis smaller rates are drawn here."""
RATE_TICKS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)


def set_rates(axes: Any, kind: str) -> None:
    """Scale the y axis: logarithmic for sizes, 0 to 1 for power."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter, NullLocator

    if kind == "power":
        axes.set_ylim(-0.02, 1.03)
        return
    axes.set_yscale("log")
    axes.set_ylim(FLOOR * 0.85, 1.15)
    axes.yaxis.set_major_locator(FixedLocator(RATE_TICKS))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_minor_formatter(NullFormatter())


def draw_points(axes: Any, points: DataFrame, look: LineLook, x: Any, kind: str, name: str) -> None:
    """Draw one test's rates with their intervals; hollow and unconnected those of another kind."""
    least = FLOOR if kind == "size" else 0.0
    rate, low, high = (
        np.maximum(points[column].to_numpy(float), least) for column in ("rate", "mc_low", "mc_high")
    )
    apart = (points["kind"] != kind).to_numpy()  # the Type I errors in a figure of power
    for chosen, line, face in ((apart, "none", "white"), (~apart, look.line, look.color)):
        reach = [(rate - low)[chosen], (high - rate)[chosen]]
        axes.errorbar(
            x[chosen], rate[chosen], yerr=reach, color=look.color, marker=look.marker, linestyle=line,
            linewidth=look.width, markersize=3.4, markerfacecolor=face, elinewidth=0.8, capsize=1.6,
            capthick=0.8, gid=name,
        )  # fmt: skip


def curve_figure(
    table: DataFrame,
    settings: Sequence[str],
    caption: str,
    width: float,
    *,
    x: Callable[[DataFrame], Any],
    x_label: str,
    x_scale: str,
    kind: str,
    alpha: float,
) -> Any:
    """Return rates against `x`: a row of panels for each setting, a column for each group of tests.

    Parameters
    ----------
    table : DataFrame
        Simulated rows of one `alpha`.
    settings : sequence of str
        Values of column `setting`, one a row.
    x : callable
        From a test's rows to the places of its points, sorted by it.
    kind : {"size", "power"}
    """
    groups = [(head, [t for t in tests if t in set(table["test"])]) for head, tests in GROUPS]
    groups = [group for group in groups if group[1]]
    row, top, left, gap = 2.1, 0.28, 0.58, 0.5
    wide = (width - left - 0.1 - gap * (len(groups) - 1)) / len(groups)
    n_rows = max(_legend_rows(tests, wide) for _, tests in groups)
    bottom = len(settings) * (row + 0.62) + 0.02
    lines = [nominal_handle(alpha), tolerance_handle()] if kind == "size" else []
    page = Page(width, bottom + 0.16 * n_rows + 0.1 + 0.2 * bool(lines), caption)
    for i, setting in enumerate(settings):
        for j, (head, tests) in enumerate(groups):
            axes = page.axes(left + j * (wide + gap), top + i * (row + 0.62), wide, row)
            letter = chr(ord("a") + i * len(groups) + j)
            title(axes, f"({letter}) {setting}; {head}", wide)
            _draw_panel(axes, table[table["setting"] == setting], tests, x, x_scale, kind, alpha)
            axes.set_xlabel(x_label, labelpad=2)
            if j == 0:
                axes.set_ylabel("Type I error" if kind == "size" else "power", labelpad=2)
    for j, (_, tests) in enumerate(groups):
        _legend(page, tests, left + j * (wide + gap), bottom, wide)
    if lines:
        page.legend(lines, bottom + 0.16 * n_rows + 0.05, len(lines))
    return page.figure


def _legend_rows(tests: Sequence[str], wide: float) -> int:
    return -(-len(tests) // columns_that_fit([TESTS[test].label for test in tests], wide, 2))


def _draw_panel(
    axes: Any,
    rows: DataFrame,
    tests: Sequence[str],
    x: Callable[[DataFrame], Any],
    x_scale: str,
    kind: str,
    alpha: float,
) -> None:
    set_rates(axes, kind)
    if kind == "size":
        draw_tolerance(axes, alpha)
        draw_nominal(axes, alpha)
    values: set[float] = set()
    for test in tests:
        points = rows[rows["test"] == test]
        if len(points):
            points = points.iloc[np.argsort(x(points), kind="stable")]
            values |= {float(value) for value in x(points)}
            draw_points(axes, points, LOOKS[test], np.asarray(x(points), float), kind, test)
    if values:
        set_x(axes, sorted(values), x_scale)


def _legend(page: Page, tests: Sequence[str], left: float, top: float, wide: float) -> None:
    handles = [legend_handle(LOOKS[test], TESTS[test].label) for test in tests]
    labels = [TESTS[test].label for test in tests]
    page.figure.legend(
        handles=handles, loc="upper left", ncols=columns_that_fit(labels, wide, 2), borderaxespad=0,
        bbox_to_anchor=(left / page.width, 1 - top / page.height), handlelength=3.0, columnspacing=1.2,
        labelspacing=0.3,
    )  # fmt: skip


def reference_figure(
    table: DataFrame, settings: Mapping[str, str], caption: str, width: float, alpha: float
) -> Any:
    """Return Type I errors beside their references: a row for each test, a panel for each setting.

    Parameters
    ----------
    table : DataFrame
        Simulated rows of one `alpha` and one size, difference 0.
    settings : mapping
        Value of column `setting` to the panel's title.
    """
    tests = [test for test in TESTS if test in set(table["test"])]
    left, gap, height = 1.35, 0.3, 0.2 * len(tests) + 0.2
    wide = (width - left - 0.12 - gap * (len(settings) - 1)) / len(settings)
    page = Page(width, 0.3 + height + 0.62, caption)
    for j, (setting, head) in enumerate(settings.items()):
        axes = page.axes(left + j * (wide + gap), 0.3, wide, height)
        title(axes, f"({'abcd'[j]}) {head}", wide)
        _draw_references(axes, table[table["setting"] == setting], tests, alpha)
        axes.set_yticks(range(len(tests)), [TESTS[test].label for test in tests] if j == 0 else [])
    page.legend(_reference_handles(alpha), 0.3 + height + 0.42, 4)
    return page.figure


def _draw_references(axes: Any, rows: DataFrame, tests: Sequence[str], alpha: float) -> None:
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    axes.axvspan(0.8 * alpha, 1.2 * alpha, color=tolerance_handle().get_facecolor(), linewidth=0, zorder=-1)
    axes.axvline(
        alpha, color="0.35", linewidth=0.8, linestyle=nominal_handle(alpha).get_linestyle(), zorder=0
    )
    for y, test in enumerate(tests):
        for _, row in rows[rows["test"] == test].iterrows():
            rate, low, high = float(row["rate"]), float(row["mc_low"]), float(row["mc_high"])
            axes.errorbar(
                max(rate, FLOOR), y, xerr=[[max(rate - low, 0)], [high - rate]], color="black", marker="o",
                markersize=3.2, elinewidth=1.0, capsize=1.8, linestyle="none", gid=test,
            )  # fmt: skip
            if row["reference"] == row["reference"]:
                reach = 1.96 * float(row["reference_se"])
                axes.errorbar(
                    float(row["reference"]), y + 0.3, xerr=reach, color="#a3195b", marker="D", markersize=3.2,
                    markerfacecolor="white", elinewidth=0.8, capsize=1.6, linestyle="none", gid="reference",
                )  # fmt: skip
    axes.set_xscale("log")
    low = min([alpha / 5, *rows["rate"].clip(lower=FLOOR)])
    axes.set_xlim(low * 0.8, 1.0)
    axes.xaxis.set_major_locator(FixedLocator(RATE_TICKS))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_ylim(len(tests) - 0.4, -0.6)
    axes.set_xlabel("Type I error", labelpad=2)
    axes.tick_params(axis="y", length=0)


def _reference_handles(alpha: float) -> list[Any]:
    from matplotlib.lines import Line2D

    return [
        Line2D([], [], color="black", marker="o", linestyle="none", markersize=3.4, label="measured"),
        Line2D(
            [], [], color="#a3195b", marker="D", markerfacecolor="white", linestyle="none", markersize=3.4,
            label="reference",
        ),
        nominal_handle(alpha),
        tolerance_handle(),
    ]  # fmt: skip
