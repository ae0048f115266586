"""Figures of the sizes and powers of tests of learning algorithms."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from pandas import DataFrame

from harness.compare.learner_tests import HOLD_OUT, TESTS
from harness.compare.rates import main_alpha
from harness.drawing.grid import Cell, Grid, Line, Row, Space, named_row
from harness.drawing.layout import Axis
from harness.drawing.marks import draw_curves
from harness.drawing.style import WINE, Look, draw_level, level_handles, mark, style_of

GROUPS = {"repeated training": [name for name in TESTS if name not in HOLD_OUT], "one hold-out": HOLD_OUT}
X_AXES = {
    "n_examples": ("examples in a data set", "log"),
    "excess": ("true error rate of B minus A", "linear"),
}
FLOOR = 0.002
"""On a logarithmic axis smaller rates are drawn here."""
FLOORED = f"Rates below {FLOOR:g} are drawn there."
REFERENCE: dict[str, Any] = {"color": WINE, "marker": "D", "markerfacecolor": "white", "linestyle": "none"}


def curve_figure(table: DataFrame, kind: str, x: str, caption: str, look: Look) -> tuple[list[Any], str]:
    """Return rates against the column `x`: a row of panels per group of tests, a column per setting.

    `table` holds simulated rows of one level; in a figure of power its Type I errors are hollow.
    """
    alpha, is_size = main_alpha(table), kind == "size"
    rates = ["rate", "mc_low", "mc_high"]
    table = table.assign(n_categories=np.where(table["kind"] == kind, 99, 1))
    table[rates] = table[rates].clip(lower=FLOOR if is_size else 0)
    cells = [Cell(str(setting), {"setting": setting}) for setting in table["setting"].unique()]
    run = set(table["test"])
    ends = (1.0, FLOOR * 0.85) if is_size else (1.0, 0.0)
    level = alpha if is_size else None
    rows = [Row(cells, _lines(tests, run), ends[0], group, ends[1], level) for group, tests in GROUPS.items()]
    label, scale = X_AXES[x]
    axis = Axis(x, label, sorted(float(value) for value in table[x].unique()), scale)
    return Grid(
        table, axis, [row for row in rows if row.lines], "Type I error" if is_size else "power",
        draw_curves, level_handles(alpha) if is_size else (), y_log=is_size,
        empty="not measured", caption=caption,
    ).figure(look)  # fmt: skip


def _lines(tests: Sequence[str], run: set[str]) -> list[Line]:
    return [Line(test, TESTS[test].label, style_of(test), {"test": test}) for test in tests if test in run]


def reference_figure(
    table: DataFrame, settings: Mapping[str, str], caption: str, look: Look
) -> tuple[list[Any], str]:
    """Return Type I errors beside their references: a line per test, a panel for each of `settings`.

    `table` holds simulated rows of one level and one number of examples at difference 0.
    """
    alpha, tests = main_alpha(table), [test for test in TESTS if test in set(table["test"])]

    def draw(axes: Any, rows: DataFrame, row: Row, space: Space) -> None:
        """Draw every test's rate and its reference."""
        draw_level(axes, alpha, along="x")
        for one in rows.to_dict("records"):
            _draw_reference(axes, tests.index(one["test"]), one)

    handles = [
        mark("measured", color="black", marker="o", linestyle="none"),
        mark("reference", **REFERENCE),
        *level_handles(alpha),
    ]
    names = [TESTS[test].label for test in tests]
    ends = 0.8 * min([alpha / 5, *table["rate"].clip(lower=FLOOR)]), 1.0
    cells = [Cell(head, {"setting": setting}) for setting, head in settings.items()]
    axis, rows = Axis("rate", "Type I error", ends=ends), [named_row(cells, names)]
    return Grid(table, axis, rows, "", draw, handles, names=names, caption=caption).figure(look)


def _draw_reference(axes: Any, y: int, one: Mapping[Any, Any]) -> None:
    rate = one["rate"]
    axes.errorbar(
        max(rate, FLOOR), y, xerr=[[max(rate - one["mc_low"], 0)], [one["mc_high"] - rate]], color="black",
        marker="o", elinewidth=1.0, capsize=1.8, linestyle="none", gid=f"points:{one['test']}",
    )  # fmt: skip
    if one["reference"] == one["reference"]:
        axes.errorbar(
            one["reference"], y + 0.3, xerr=1.96 * one["reference_se"], elinewidth=0.8, capsize=1.6,
            gid="reference", **REFERENCE,
        )  # fmt: skip
