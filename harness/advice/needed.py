"""How many items a test needs to see a difference that the user names."""

from collections.abc import Callable

import numpy as np
from scipy.special import ndtri

from harness.advice.tilt import tilted
from harness.influence import standard_deviation
from harness.nulls_path import NoAlternative
from harness.rejections import Test, count_rejections
from harness.store import Arrays

MOST_ITEMS = 10_000_000
N_SETS = 4_000
MISSING: Arrays = {"n_items": np.array(0), "power": np.array(np.nan)}
_ROUNDS = 6


def needed_items(
    tests: list[Test],
    place: int,
    null: tuple[float, ...],
    wanted_difference: float,
    power: float,
    alpha: float,
    costs: dict[str, float],
    pair: str,
    seed: int,
) -> Arrays:
    """Return the number of items with which a test reaches a power, found by simulation.

    It starts where a z test would need them, and corrects by what is measured: N grows with the square of
    the sum of the quantiles of level and power. It stops where the measured power is what was
    wanted, to the noise of counting.

    Parameters
    ----------
    tests : list of Test
    place : int
        Of the test in `tests`.
    null : tuple of 8 float
        The population in which H0 holds, tilted to the difference.
    wanted_difference : float
        Above 0.
    power, alpha : float
        In (0, 1).
    costs : dict
        Of the measure.
    pair : str
        Names the generators.
    seed : int

    Returns
    -------
    dict
        ``n_items`` (int, 0 where no population like this one differs by so much or more than ten million are
        needed) and ``power`` (as last measured, NaN then).
    """
    test = tests[place]
    try:
        shares = tilted(null, wanted_difference, test.measure, **costs)
    except NoAlternative:
        return dict(MISSING)
    sd = float(standard_deviation(shares, test.measure, **costs))

    def reached(n_items: int, attempt: int) -> float:
        found = count_rejections(
            shares, truth=shares, names=("advice", pair, "needed", power, attempt), sizes=[n_items],
            n_sets=N_SETS, tests=[test], alphas=[alpha], seed=seed,
        )  # fmt: skip
        return int(found["n_rejected"][0, 0, 0] - found["n_wrong_direction"][0, 0, 0]) / N_SETS

    return search_items(reached, sd, wanted_difference, power, alpha, N_SETS)


def search_items(
    reached: Callable[[int, int], float],
    sd: float,
    wanted_difference: float,
    power: float,
    alpha: float,
    n_sets: int,
) -> Arrays:
    """Search the number of items; `reached` says what power so many have, measured on `n_sets` sets."""
    level = -float(ndtri(alpha / 2))
    n = max(10.0, (sd * (level + float(ndtri(power))) / wanted_difference) ** 2)
    for attempt in range(_ROUNDS):
        if n > MOST_ITEMS:
            return dict(MISSING)
        n_items = int(np.ceil(n))
        share = reached(n_items, attempt)
        if abs(share - power) <= 2 * np.sqrt(power * (1 - power) / n_sets):
            break
        clipped = float(np.clip(share, 0.02, 0.999))
        n *= float(np.clip(((level + ndtri(power)) / max(level + ndtri(clipped), 0.3)) ** 2, 0.3, 4))
    return {"n_items": np.array(n_items), "power": np.array(share)}
