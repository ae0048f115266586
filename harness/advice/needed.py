"""How many items a test needs to see a difference that the user names."""

from collections.abc import Callable

import numpy as np
from scipy.special import ndtr, ndtri

from harness.advice.tilt import tilted
from harness.influence import standard_deviation
from harness.nulls_path import NoAlternative
from harness.rejections import Test, count_rejections
from harness.store import Arrays

MOST_ITEMS = 10_000_000
N_SETS = 4_000
"""In each direction."""
MISSING: Arrays = {"n_items": np.array(0), "power": np.array(np.nan)}
_FEWEST = 10
_ROUNDS = 28
_CAREFUL_ROUNDS = 3
_CLOSE = 1.01  # bounds of the bracket this near to each other are not told apart


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

    The power is that in the worse of both directions, A better by the difference and B better by it; where no
    population differs so in one direction, it is that in the other. See :func:`search_items`.

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
        ``n_items`` (int) and ``power``, as :func:`search_items`; 0 and NaN where no population like this one
        differs by so much.
    """
    test = tests[place]
    populations = {}
    for sign in (1, -1):
        try:
            populations[sign] = tilted(null, sign * wanted_difference, test.measure, **costs)
        except NoAlternative:
            continue
    if not populations:
        return dict(MISSING)
    sd = max(float(standard_deviation(shares, test.measure, **costs)) for shares in populations.values())

    def reached(n_items: int, attempt: int) -> float:
        """Return the power in the worse direction on sets of so many items."""
        right = []
        for sign, shares in populations.items():
            found = count_rejections(
                shares, truth=shares, names=("advice", pair, "needed", power, attempt, sign),
                sizes=[n_items], n_sets=N_SETS, tests=[test], alphas=[alpha], seed=seed,
            )  # fmt: skip
            right.append(int(found["n_rejected"][0, 0, 0] - found["n_wrong_direction"][0, 0, 0]))
        return min(right) / N_SETS

    return search_items(reached, sd, wanted_difference, power, alpha, N_SETS)


def search_items(
    reached: Callable[[int, int], float],
    sd: float,
    wanted_difference: float,
    power: float,
    alpha: float,
    n_sets: int,
) -> Arrays:
    """Search the number of items with which a power is reached.

    It starts where a z test would need them, and steps as N grows with the square of the sum of the quantiles
    of level and power, until one number has too little power and a larger one too much; then it halves
    between the two, in the logarithm of N. It stops at a number whose measured power is the wanted one to
    within ``2 sqrt(power (1 - power) / n_sets)``, twice the noise of counting, or else, where the
    power leaps over it, at the smallest number tried that reaches it.

    Parameters
    ----------
    reached : callable
        (number of items, round) -> the power there, measured on `n_sets` sets.
    sd : float
        Standard deviation of the difference on one item.
    wanted_difference, power, alpha : float
    n_sets : int

    Returns
    -------
    dict
        ``n_items``, and ``power`` as measured there. Where more than ten million items would be needed,
        ``n_items`` is 0 and ``power`` that at ten million, of a z test if it was not tried.

    Examples
    --------
    >>> found = search_items(lambda n, _: float(ndtr(0.1 * np.sqrt(n) - 1.96)), 1.5, 0.1, 0.8, 0.05, 10**6)
    >>> int(found["n_items"]), round(float(found["power"]), 3)
    (784, 0.8)
    """
    level, tolerance = -float(ndtri(alpha / 2)), 2 * np.sqrt(power * (1 - power) / n_sets)
    quantiles = level + float(ndtri(power))
    start = (sd * quantiles / wanted_difference) ** 2
    if start > MOST_ITEMS:
        at_most = float(ndtr(wanted_difference * np.sqrt(MOST_ITEMS) / sd - level))
        return {"n_items": np.array(0), "power": np.array(at_most)}
    n = max(_FEWEST, int(np.ceil(start)))
    low, high, share_high = 0, 0, np.nan  # 0: none yet
    for attempt in range(_ROUNDS):
        share = reached(n, attempt)
        if abs(share - power) <= tolerance:
            return {"n_items": np.array(n), "power": np.array(share)}
        if share >= power:
            high, share_high = n, share
        elif n == MOST_ITEMS:
            return {"n_items": np.array(0), "power": np.array(share)}
        else:
            low = n
        if high and high <= max(low + 1, _CLOSE * low):
            break
        if low and high:
            n = min(max(round(np.sqrt(low * high)), low + 1), high - 1)
            continue
        factor = (quantiles / max(level + float(ndtri(np.clip(share, 0.02, 0.999))), 0.3)) ** 2
        careful = attempt < _CAREFUL_ROUNDS
        if high:
            n = max(1, min(n - 1, int(n * np.clip(factor, 0.25, 0.9 if careful else 0.25))))
        else:
            least = 1.1 if careful else 4.0
            n = min(MOST_ITEMS, int(np.ceil(n * np.clip(factor, least, 4.0))))
    return {"n_items": np.array(high), "power": np.array(share_high)}
