"""From counted rejections to the rows of ``algorithm_size_power.csv``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from harness.evaluation.rates import verdict
from harness.intervals import clopper_pearson

if TYPE_CHECKING:
    from pandas import DataFrame

COLUMNS = (
    "study", "setting", "method", "test", "kind", "alpha", "difference", "difference_se", "n_examples",
    "rate", "mc_low", "mc_high", "n_trials", "degenerate_share", "wrong_direction_rate", "reference", 
    "reference_se", "reference_met", "verdict",
)  # fmt: skip
STANDARD_ERRORS = 3.5
"""A reference is met when it is no more of these away."""


def rows(
    key: Mapping[str, Any],
    tests: Sequence[str],
    alphas: Sequence[float],
    counts: Mapping[str, NDArray[np.int64]],
    n_trials: int,
    *,
    power: bool,
) -> list[dict[str, Any]]:
    """Return a row for each test and level of one point.

    Parameters
    ----------
    key : mapping
        The point's own columns.
    tests, alphas : sequence
    counts : mapping
        Of :func:`harness.compare.learner_tests.count_rejections`.
    n_trials : int
    power : bool
        Whether A is better than B; then only rejections in which A showed the smaller error count.

    Examples
    --------
    >>> counts = {"rejected": np.array([[5]]), "for_a": np.array([[3]]), "degenerate": np.array([0])}
    >>> [row] = rows({}, ["five_by_two_t"], [0.05], counts, 100, power=True)
    >>> row["kind"], row["rate"], row["wrong_direction_rate"]
    ('power', 0.03, 0.02)
    """
    made = []
    for i, test in enumerate(tests):
        for j, alpha in enumerate(alphas):
            n_all, n_for_a = int(counts["rejected"][i, j]), int(counts["for_a"][i, j])
            k = n_for_a if power else n_all
            low, high = (float(end) for end in clopper_pearson(k, n_trials))
            made.append(
                {
                    **key,
                    "method": "simulation",
                    "test": test,
                    "kind": "power" if power else "size",
                    "alpha": alpha,
                    "rate": k / n_trials,
                    "mc_low": low,
                    "mc_high": high,
                    "n_trials": n_trials,
                    "degenerate_share": int(counts["degenerate"][i]) / n_trials,
                    "wrong_direction_rate": (n_all - n_for_a) / n_trials if power else np.nan,
                    "verdict": "" if power else verdict(low, high, alpha),
                }
            )
    return made


def exact_rows(
    key: Mapping[str, Any],
    tests: Sequence[str],
    alphas: Sequence[float],
    chances: Mapping[str, NDArray[np.float64]],
    *,
    power: bool,
) -> list[dict[str, Any]]:
    """Return the rows of enumerated probabilities, whose intervals are points."""
    made = []
    for i, test in enumerate(tests):
        for j, alpha in enumerate(alphas):
            everything, for_a = float(chances["rejected"][i, j]), float(chances["for_a"][i, j])
            rate = for_a if power else everything
            made.append(
                {
                    **key,
                    "method": "enumeration",
                    "test": test,
                    "kind": "power" if power else "size",
                    "alpha": alpha,
                    "rate": rate,
                    "mc_low": rate,
                    "mc_high": rate,
                    "degenerate_share": float(chances["degenerate"][i]),
                    "wrong_direction_rate": everything - for_a if power else np.nan,
                    "verdict": "" if power else verdict(rate, rate, alpha),
                }
            )
    return made


def standard_error(rate: float, n_trials: int) -> float:
    """Return that of a share, as if two more trials had been rejected and two more not.

    A share of 0 would have none at all otherwise.
    """
    rate = (rate * n_trials + 2) / (n_trials + 4)
    return float(np.sqrt(rate * (1 - rate) / (n_trials + 4)))


def meets(row: Mapping[str, Any]) -> str:
    """Tell whether a row meets its reference: "yes", "no", or "" where there is none.

    A simulated rate does within 3.5 standard errors of the difference, an enumerated one to four digits.

    Examples
    --------
    >>> meets({"method": "simulation", "rate": 0.05, "n_trials": 1000, "reference": 0.06, "reference_se": 0})
    'yes'
    """
    expected = row.get("reference", np.nan)
    if expected != expected:
        return ""
    if row["method"] == "enumeration":
        reach = 0.5e-4 * (1 + 1e-6)
    else:
        error = standard_error(row["rate"], row["n_trials"])
        reach = STANDARD_ERRORS * float(np.hypot(error, row["reference_se"]))
    return "yes" if abs(row["rate"] - expected) <= reach else "no"


def tabulate(made: Sequence[Mapping[str, Any]]) -> DataFrame:
    """Return rows as a table with every column, references judged."""
    import pandas as pd

    judged = [{**row, "reference_met": meets(row)} for row in made]
    frame = pd.DataFrame(judged, columns=list(COLUMNS))
    frame["n_trials"] = frame["n_trials"].astype("Int64")
    return frame
