"""From counted rejections to ``algorithm_size_power.csv``, and what both studies of it say and draw."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pandas import DataFrame

from harness.compare.learner_tests import HOLD_OUT, TESTS, Experiment
from harness.compare.report_parts import TABLES
from harness.drawing.grid import Cell, Grid, Line, Row, Space, named_row
from harness.drawing.layout import Axis
from harness.drawing.marks import draw_curves
from harness.drawing.style import WINE, Look, draw_level, level_handles, mark, style_of
from harness.evaluation.rates import verdict
from harness.intervals import clopper_pearson
from harness.writing.prose import paragraph, paragraphs
from harness.writing.table_text import with_bounds

STEM = "algorithm_size_power"
TABLE = f"{STEM}.csv"
"""Sizes and powers of the tests of learning algorithms, of either study of them."""
COLUMNS: list[str] = TABLES["algorithm_size_power"]
STANDARD_ERRORS = 3.5
"""A reference is met when it is no more of these away."""
BARS = "Bars: 95 % Clopper-Pearson intervals of the share of data sets."
GROUPS = {"repeated training": [name for name in TESTS if name not in HOLD_OUT], "one hold-out": HOLD_OUT}
X_AXES = {
    "n_examples": ("examples in a data set", "log"),
    "excess": ("true error rate of B minus A", "linear"),
}
FLOOR = 0.002
"""On a logarithmic axis smaller rates are drawn here."""
FLOORED = f"Rates below {FLOOR:g} are drawn there."
REFERENCE: dict[str, Any] = {"color": WINE, "marker": "D", "markerfacecolor": "white", "linestyle": "none"}


def rows(
    experiment: Experiment,
    key: Mapping[str, Any],
    counts: Mapping[str, NDArray[Any]],
    power: bool,
    exact: bool,
) -> list[dict[str, Any]]:
    """Return a row for each test and level of one point, whose own columns are `key`.

    Where A is better (`power`) only rejections count in which A showed the smaller error count. `exact`
    counts are enumerated probabilities, whose intervals are points.
    """
    made = []
    n = 1 if exact else experiment.n_trials
    for (i, test), (j, alpha) in itertools.product(enumerate(experiment.tests), enumerate(experiment.alphas)):
        n_all, n_for_a = counts["rejected"][i, j], counts["for_a"][i, j]
        k = n_for_a if power else n_all
        low, high = map(float, (k, k) if exact else clopper_pearson(k, n))
        made.append({
            **key, "method": "enumeration" if exact else "simulation", "test": test,
            "kind": "power" if power else "size", "alpha": alpha, "rate": float(k / n), "mc_low": low,
            "mc_high": high, "n_trials": None if exact else n,
            "degenerate_share": float(counts["degenerate"][i] / n),
            "wrong_direction_rate": float((n_all - n_for_a) / n) if power else np.nan,
            "verdict": "" if power else verdict(low, high, alpha),
        })  # fmt: skip
    return made


def meets(row: Mapping[str, Any]) -> str:
    """Tell whether a row meets its reference: "yes", "no", or "" where there is none."""
    expected = row.get("reference", np.nan)
    if expected != expected:
        return ""
    reach = 0.5e-4 * (1 + 1e-6)
    if row["method"] == "simulation":
        # as if two more trials had been rejected and two more not: a share of 0 would have no error at all
        n = row["n_trials"] + 4
        rate = (row["rate"] * row["n_trials"] + 2) / n
        reach = STANDARD_ERRORS * float(np.hypot(np.sqrt(rate * (1 - rate) / n), row["reference_se"]))
    return "yes" if abs(row["rate"] - expected) <= reach else "no"


def tabulate(made: Sequence[Mapping[str, Any]]) -> DataFrame:
    """Return rows as a table with every column, references judged."""
    judged = [{**row, "reference_met": meets(row)} for row in made]
    return DataFrame(judged, columns=list(COLUMNS)).astype({"n_trials": "Int64"})


def main_alpha(table: DataFrame) -> float:
    """Return the level that figures and the main tables show: .05, or the first."""
    alphas = list(dict.fromkeys(table["alpha"]))
    return 0.05 if 0.05 in alphas else float(alphas[0])


def wide_table(rows: DataFrame, column: str, head: str) -> DataFrame:
    """Return rates with intervals: a row for each test, a column for each value of `column`."""
    columns = zip(rows["rate"], rows["mc_low"], rows["mc_high"], strict=True)
    cells = rows.assign(cell=[with_bounds(*one) for one in columns])
    wide = cells.pivot(index="test", columns=column, values="cell").fillna("")
    wide = wide.loc[[test for test in TESTS if test in wide.index], list(dict.fromkeys(rows[column]))]
    wide = wide.rename(index={name: test.label for name, test in TESTS.items()}, columns=head.format)
    return wide.rename_axis(columns=None).reset_index()


GRAVEST = ("liberal", "undecided", "conservative", "holds")


def setting_findings(level: DataFrame) -> list[str]:
    """Return what the tests did in each setting, a line for each verdict, and the range of their power."""
    lines = []
    level = level.assign(label=[TESTS[test].label for test in level["test"]])
    for (name, kind), own in level.groupby(["setting", "kind"], sort=False):
        if kind == "size":
            alpha, several = main_alpha(own), own["n_examples"].nunique() > 1
            told = [(word, tests) for word, tests in _by_verdict(own).items() if tests]
            lines += paragraphs("compare", "sizes", where=name, alpha=alpha, several=several, told=told)
        else:
            last = own[own["n_examples"] == own["n_examples"].max()].sort_values("rate", kind="stable")
            lines += paragraphs("compare", "powers", where=name, low=last.iloc[0], high=last.iloc[-1])
    return lines


def _by_verdict(own: DataFrame) -> dict[str, list[str]]:
    """Return the tests by the gravest verdict that each has somewhere."""
    told: dict[str, list[str]] = {word: [] for word in GRAVEST}
    for label, verdicts in own.groupby("label", sort=False)["verdict"]:
        told[next(word for word in GRAVEST if word in set(verdicts))].append(str(label))
    return told


def degenerate_finding(level: DataFrame) -> str:
    """Return how often a test had no verdict, at the point where that was most."""
    worst = level.sort_values("degenerate_share", kind="stable").iloc[-1]
    return paragraph("compare", "no_verdict", worst=worst, test=TESTS[worst["test"]].label)


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
