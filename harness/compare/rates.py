"""From counted rejections to ``algorithm_size_power.csv``, and what both studies of tests say of it."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas import DataFrame

from harness.compare.learner_tests import TESTS, Experiment
from harness.evaluation.rates import verdict
from harness.intervals import clopper_pearson
from harness.writing.prose import paragraph, paragraphs
from harness.writing.table_text import with_bounds

STEM = "algorithm_size_power"
TABLE = f"{STEM}.csv"
"""Sizes and powers of the tests of learning algorithms, of either study of them."""
COLUMNS = (
    "study", "setting", "method", "test", "kind", "alpha", "difference", "difference_se", "n_examples",
    "rate", "mc_low", "mc_high", "n_trials", "degenerate_share", "wrong_direction_rate", "reference", 
    "reference_se", "reference_met", "verdict",
)  # fmt: skip
STANDARD_ERRORS = 3.5
"""A reference is met when it is no more of these away."""
BARS = "Bars: 95 % Clopper-Pearson intervals of the share of data sets."


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
    return pd.DataFrame(judged, columns=list(COLUMNS)).astype({"n_trials": "Int64"})


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
