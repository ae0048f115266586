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


class _Measured(NamedTuple):
    """What is known of one test: its size, what is judged, the end of bar and range, its power."""

    size: float
    judged: float
    high: float
    ranged: bool
    power: float


def recommend(sizes: DataFrame, power: DataFrame, order: Sequence[str], alpha: float) -> Recommendation:
    """Return the test to use for one pair at one number of items.

    A test keeps its level if neither its measured size nor the upper end of its range passes 1.2 alpha. The
    range is the 90 % quantile of the sizes over populations, with the noise of counting taken out; the
    error bar of the size, 95 %, is told and not judged, for at a small alpha its end passes 1.2 alpha
    for a test whose size is alpha. Where no range was measured, the size alone is judged.

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
    means = power.groupby("test")["power"].mean().to_dict()
    found = {}
    for row in sizes.to_dict("records"):
        size, top = float(row["size"]), float(row["range_high"])
        high = float(np.fmax(row["mc_high"], top))
        mean = float(means.get(row["test"], np.nan))
        found[row["test"]] = _Measured(size, float(np.fmax(size, top)), high, top == top, mean)
    known = {name: found[name] for name in order if name in found}
    kept = [name for name, one in known.items() if one.judged <= TOLERANCE * alpha + 1e-12]
    if not kept:
        test = min(known, key=lambda name: known[name].judged)
        reason = (
            f"no test is sure to keep the {alpha:g} level here; {test} comes nearest: it rejects "
            f"{_rejects(known[test])}"
        )
    else:
        best = max(_power(known[name]) for name in kept)
        test = next(name for name in kept if _power(known[name]) >= best - EQUAL_POWER)
        reason = _reason(test, kept, known, best, alpha)
    own = known[test]
    return Recommendation(test, own.size, own.high, own.power, bool(kept), reason)


def _power(one: _Measured) -> float:
    return one.power if one.power == one.power else 0.0


def _reason(test: str, kept: list[str], known: dict[str, _Measured], best: float, alpha: float) -> str:
    own = known[test]
    words = f"{test} keeps the {alpha:g} level here: it rejects {_rejects(own)}"
    if not own.ranged:
        words = (
            f"{test} rejects {_rejects(own)} on the population nearest to the file, within 1.2 times the "
            f"{alpha:g} level; over other populations its size was not measured at this number of items"
        )
    if any(one.power == one.power for one in known.values()) and best < HARDLY_ANY:
        return f"{words}; but no test that keeps it has any power to speak of at this number of items"
    equals = [name for name in kept if name != test and _power(known[name]) >= best - EQUAL_POWER]
    if equals:
        words += f"; no test that keeps it has more power, and {', '.join(equals)} equal it"
    else:
        words += "; and of the tests that keep it, it has the most power"
    liberal = [name for name in known if name not in kept]
    if liberal:
        words += f"; {', '.join(liberal)} may reject too often"
    return words


def _rejects(one: _Measured) -> str:
    """Return how many true hypotheses a test rejects, with the end of its error bar and range."""
    where = "its error bar and its range" if one.ranged else "its error bar"
    return f"{_percent(one.size)} of true hypotheses, up to {_percent(one.high)} with {where}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %" if share >= 0.01 else f"{100 * share:.2g} %"
