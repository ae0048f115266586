"""Which test to use: of those that keep their level here, the most powerful; of equals, the plainest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from pandas import DataFrame

TOLERANCE = 1.2
"""A test keeps its level if its size is at most this times alpha: the harness's rule everywhere."""
EQUAL_POWER = 0.01
"""Powers this close are called equal: a hundredth is less than a reader would change his test for."""
HARDLY_ANY = 0.1


class Recommendation(NamedTuple):
    """A test for one pair and number of items.

    Attributes
    ----------
    test : str
    size, size_high, power : float
        Its size here; the upper end of the union of its error bar and its range; its power, the mean over
        the points of the power curve.
    keeps_level : bool
        False where no test does, and this is the least liberal.
    reason : str
        One sentence.
    """

    test: str
    size: float
    size_high: float
    power: float
    keeps_level: bool
    reason: str


def recommend(sizes: DataFrame, power: DataFrame, order: Sequence[str], alpha: float) -> Recommendation:
    """Return the test to use for one pair at one number of items.

    A test keeps its level if neither its measured size nor the upper end of its range passes 1.2 alpha.

    Parameters
    ----------
    sizes, power : DataFrame
        Rows of :func:`harness.advice.rates.size_table` and :func:`harness.advice.rates.power_table` for the
        pair and number of items.
    order : sequence of str
        Names of the tests, plainest first.
    alpha : float

    Examples
    --------
    >>> import pandas as pd
    >>> sizes = pd.DataFrame({"test": ["z", "exact"], "size": [0.08, 0.03], "mc_high": [0.085, 0.032],
    ...                       "range_high": [0.09, 0.04]})
    >>> power = pd.DataFrame({"test": ["z", "exact"], "power": [0.8, 0.7]})
    >>> recommend(sizes, power, ["z", "exact"], 0.05).test
    'exact'
    """
    means = power.groupby("test")["power"].mean()
    powers = {str(name): float(mean) for name, mean in means.items()}
    highs = {
        row["test"]: float(np.fmax(row["mc_high"], row["range_high"])) for row in sizes.to_dict("records")
    }
    known = {row["test"]: float(row["size"]) for row in sizes.to_dict("records")}
    present = [name for name in order if name in known]
    level_kept = [name for name in present if highs[name] <= TOLERANCE * alpha + 1e-12]
    if not level_kept:
        test = min(present, key=lambda name: (highs[name], present.index(name)))
        reason = (
            f"no test is sure to keep the {alpha:g} level here; {test} comes nearest: it rejects "
            f"{_percent(known[test])} of true hypotheses, perhaps as many as {_percent(highs[test])}"
        )
        return Recommendation(test, known[test], highs[test], powers.get(test, np.nan), False, reason)
    best = max(powers.get(name, 0.0) for name in level_kept)
    test = next(name for name in level_kept if powers.get(name, 0.0) >= best - EQUAL_POWER)
    return Recommendation(
        test,
        known[test],
        highs[test],
        powers.get(test, np.nan),
        True,
        _reason(test, level_kept, present, known, highs, powers, best, alpha),
    )


def _reason(
    test: str,
    level_kept: list[str],
    present: list[str],
    known: dict[str, float],
    highs: dict[str, float],
    powers: dict[str, float],
    best: float,
    alpha: float,
) -> str:
    words = (
        f"{test} keeps the {alpha:g} level here: it rejects {_percent(known[test])} of true hypotheses, at "
        f"most {_percent(highs[test])}"
    )
    if powers and best < HARDLY_ANY:
        return f"{words}; but no test that keeps it has any power to speak of at this number of items"
    equals = [name for name in level_kept if name != test and powers.get(name, 0) >= best - EQUAL_POWER]
    if equals:
        words += f"; no test that keeps it has more power, and {', '.join(equals)} equal it"
    else:
        words += "; and of the tests that keep it, it has the most power"
    liberal = [name for name in present if name not in level_kept]
    if liberal:
        words += f"; {', '.join(liberal)} may reject too often"
    return words


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
