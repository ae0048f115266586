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


def with_interval(row: Mapping[str, Any]) -> str:
    """Return a rate with its interval."""
    return f"{row['rate']:.3f} [{row['mc_low']:.3f}, {row['mc_high']:.3f}]"


def wide_table(rows: DataFrame, column: str, head: str) -> DataFrame:
    """Return rates with intervals: a row for each test, a column for each value of `column`."""
    cells = rows.assign(cell=rows.apply(with_interval, axis=1))
    wide = cells.pivot(index="test", columns=column, values="cell").fillna("")
    wide = wide.loc[[test for test in TESTS if test in wide.index], list(dict.fromkeys(rows[column]))]
    wide = wide.rename(index={name: test.label for name, test in TESTS.items()}, columns=head.format)
    return wide.rename_axis(columns=None).reset_index()


GRAVEST = ("liberal", "undecided", "conservative", "holds")


def setting_findings(level: DataFrame) -> list[str]:
    """Return what the tests did in each setting, a line for each verdict, and the range of their power."""
    lines = []
    for (name, kind), own in level.groupby(["setting", "kind"], sort=False):
        if kind == "size":
            lines += _verdict_lines(str(name), own)
        else:
            last = own[own["n_examples"] == own["n_examples"].max()].sort_values("rate", kind="stable")
            low, high = last.iloc[0], last.iloc[-1]
            lines.append(
                f"{name}, {last['n_examples'].iloc[0]} examples: power from {low['rate']:.3f} "
                f"({TESTS[low['test']].label}) to {high['rate']:.3f} ({TESTS[high['test']].label})."
            )
    return lines


def _verdict_lines(name: str, own: DataFrame) -> list[str]:
    """Return which tests have a verdict somewhere, the gravest first; more than six are counted."""
    told: dict[str, list[str]] = {word: [] for word in GRAVEST}
    for test, points in own.groupby("test", sort=False):
        word = next(word for word in GRAVEST if word in set(points["verdict"]))
        told[word].append(TESTS[str(test)].label)
    where = f"{name}, level {main_alpha(own):g}"
    somewhere = " somewhere" if own["n_examples"].nunique() > 1 else ""
    heads = {word: word if word == "holds" else word + somewhere for word in GRAVEST}
    n_tests = sum(len(some) for some in told.values())
    names = {
        word: "; ".join(some) if len(some) <= 6 else f"{len(some)} of {n_tests} tests"
        for word, some in told.items()
    }
    return [f"{where}: {heads[word]}: {some}." for word, some in names.items() if some]


def degenerate_finding(level: DataFrame) -> str:
    """Return how often a test had no verdict, at the point where that was most."""
    worst = level.sort_values("degenerate_share", kind="stable").iloc[-1]
    return (
        f"A test has no verdict of its own on at most {100 * worst['degenerate_share']:.2g} % of the data "
        f"sets ({TESTS[worst['test']].label}, {worst['n_examples']} examples, {worst['setting']})."
    )
