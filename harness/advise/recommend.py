"""Which test to use: of those whose size holds here, the most powerful; of equals, the plainest."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from harness.evaluation.rates import HIGHEST, LOWEST, verdict
from harness.writing.prose import paragraph, paragraphs

EQUAL_POWER = 0.01  # powers this close are called equal: few readers would change their test for a hundredth
LITTLE_POWER = 0.1


class Recommendation(NamedTuple):
    """A test for one pair and number of items; `size_high` is `high` of its row in ``sizes.csv``."""

    test: str
    size: float
    size_high: float
    power: float
    keeps_level: bool
    verdict: str
    reason: str


def choose_tests(
    sizes: pd.DataFrame, power: pd.DataFrame, order: Sequence[str], alpha: float, n_items: int
) -> dict[tuple[str, int], Recommendation]:
    """Return the recommended test of each pair and number of items.

    At other numbers of items the test chosen at `n_items`, the file's own number, wins ties.
    """

    def choose(pair: str, n: int, preference: Sequence[str]) -> Recommendation:
        own, powers = (part[(part["pair"] == pair) & (part["n_documents"] == n)] for part in (sizes, power))
        return recommend(own, powers, preference, alpha)

    chosen = {}
    for pair, part in sizes.groupby("pair", sort=False)["n_documents"]:
        at_file_size = choose(str(pair), n_items, order).test
        ordered = [at_file_size, *(name for name in order if name != at_file_size)]
        for n in part.unique().tolist():
            chosen[str(pair), n] = choose(str(pair), n, order if n == n_items else ordered)
    return chosen


def recommend(sizes: pd.DataFrame, power: pd.DataFrame, order: Sequence[str], alpha: float) -> Recommendation:
    """Return the test to use for one pair at one number of items; `order` has the plainest first.

    Its verdict is *holds*, and of the tests of that verdict it has the most power, or is the plainest of
    those with as much. Where none holds, it is sought in the same way among those whose `size` and
    `range_high` do not pass 1.2 alpha, and where there is none of these either, it has the least `high`.
    """
    means = power.groupby("test")["power"].mean().to_dict()
    rows = {str(row["test"]): _judged(row, means, alpha) for row in sizes.to_dict("records")}
    known = {name: rows[name] for name in order if name in rows}
    holding = [name for name, one in known.items() if one["verdict"] == "holds"]
    among = holding or [name for name, one in known.items() if not one["maybe_liberal"]]
    if among:
        best = max(known[name]["power"] for name in among)
        equals = [name for name in among if known[name]["power"] >= best - EQUAL_POWER]
    else:
        equals = [min(known, key=lambda name: known[name]["high"])]
    test, own = equals[0], known[equals[0]]
    worse = [name for name, one in known.items() if one["maybe_liberal"]]
    told = paragraphs(
        "advise", "reason", use=say_use(test, own, alpha), condemned=is_surely_liberal(own, alpha),
        among=among, equals=equals, holding=holding, low=LOWEST * alpha, high=HIGHEST * alpha, worse=worse,
        hardly=power["power"].notna().any() and max(one["power"] for one in known.values()) < LITTLE_POWER,
    )  # fmt: skip
    return Recommendation(
        test, own["size"], own["high"], float(means.get(test, np.nan)), _within(own["high"], alpha),
        own["verdict"], " ".join(f"{one}." for one in told),
    )  # fmt: skip


def _judged(row: Mapping[Any, Any], means: Mapping[Any, float], alpha: float) -> dict[str, Any]:
    """Return a row of sizes with its power, 0 where it is not known, and whether it may be liberal."""
    power = np.nan_to_num(means.get(row["test"], 0.0))
    maybe_liberal = row["verdict"] == "liberal" or not _within(np.fmax(row["size"], row["range_high"]), alpha)
    return {**row, "power": power, "maybe_liberal": maybe_liberal}


def _within(size: float, alpha: float) -> bool:
    return bool(size <= HIGHEST * alpha + 1e-12)


def is_surely_liberal(own: Mapping[Any, Any], alpha: float) -> bool:
    """Tell whether the size exceeds 1.2 alpha even at the low end of its Monte Carlo interval."""
    return bool(own["mc_low"] > HIGHEST * alpha)


def say_use(test: str, own: Mapping[Any, Any], alpha: float, purpose: str = "") -> str:
    """Return that a test is to be used, or that none holds and this one comes nearest."""
    return paragraph(
        "advise", "used", test=test, purpose=purpose, told=say_size(own, alpha),
        condemned=is_surely_liberal(own, alpha), alpha=alpha,
    )  # fmt: skip


def say_size(own: Mapping[Any, Any], alpha: float) -> str:
    """Return what a row of sizes says of a test."""
    low, high = own["low"], own["high"]
    return paragraph(
        "advise", "size_told", own=own, digits=digits_for(low, high, own["verdict"], alpha), alpha=alpha,
        seldom=low < LOWEST * alpha, often=not _within(high, alpha),
    )  # fmt: skip


def digits_for(low: float, high: float, judged: str, alpha: float) -> int:
    """Return the fewest digits at which the rounded interval still has its verdict, `judged`."""
    least = 2 + max(1, int(np.ceil(-np.log10(2 * alpha))))  # two more than the first of 2 alpha
    fit = (n for n in range(least, 9) if verdict(round(low, n), round(high, n), alpha) == judged)
    return next(fit, 9)
