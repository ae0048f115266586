"""How many items a test needs to see a difference that the user names."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from harness.advise.tilt import tilted
from harness.evaluation.rejections import Test, count_rejections
from harness.measures import standard_deviation
from harness.nulls.path import NoAlternative
from harness.runtime.store import Arrays

Floats = NDArray[np.float64]

MOST_ITEMS = 10_000_000
N_SETS = 4_000
"""In each direction."""
MISSING: Arrays = {"n_items": np.array(0), "power": np.array(np.nan)}
TAIL = 0.1
"""What an interval over populations leaves out on each side."""
_FEWEST = 10
_ROUNDS = 28
_CAREFUL_ROUNDS = 3
_ROUNDING = 1e-6
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
    populations = alternatives(lambda wanted: tilted(null, wanted, test.measure, **costs), wanted_difference)
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


def alternatives(tilt: Callable[[float], Floats], wanted: float) -> dict[int, Floats]:
    """Return the populations at +`wanted` and at -`wanted`, by sign, as far as there are any."""
    found = {}
    for sign in (1, -1):
        with suppress(NoAlternative):
            found[sign] = tilt(sign * wanted)
    return found


def deviations(
    nulls: Sequence[Floats],
    wanted: float,
    tilt: Callable[[Floats, float], Floats],
    deviation: Callable[[Floats], float],
) -> Floats:
    """Return the standard deviation of the difference on one item, for each of several populations.

    Parameters
    ----------
    nulls : sequence of float array
        The file's own first.
    wanted : float
        The difference to which each is tilted, in the direction of the larger deviation; 0 leaves them.
    tilt, deviation : callable
        (null, difference) -> shares; shares -> the deviation.

    Returns
    -------
    float array, shape (n_nulls,)
        Infinite where no population like the null differs by so much.
    """
    found = []
    for null in nulls:
        shares = [null] if wanted == 0 else alternatives(partial(tilt, null), wanted).values()
        found.append(max((float(deviation(one)) for one in shares), default=np.inf))
    return np.array(found)


def central(values: Floats, point: float = np.nan) -> tuple[float, float]:
    """Return the ends of the central 80 % of values, which may be infinite, widened to hold `point` if any.

    NaN where there is no value.

    Examples
    --------
    >>> central(np.arange(40.0)), central(np.arange(40.0), 2.0), central(np.array([1.0, np.inf]), 3.0)
    ((3.0, 36.0), (2.0, 36.0), (1.0, inf))
    """
    if not len(values):
        return np.nan, np.nan
    ordered = np.sort(values)
    cut = int(TAIL * (len(ordered) - 1))
    return float(np.fmin(ordered[cut], point)), float(np.fmax(ordered[-1 - cut], point))


def needed_between(
    n_items: int, around: Floats, wanted_difference: float, power: float, alpha: float
) -> tuple[float, float]:
    """Return between how many items would be needed in populations that could have given the file.

    The number grows with the square of the difference's deviation, as for a z test, from what was found by
    simulation for the file's own population.

    Parameters
    ----------
    n_items : int
        Found for the file's own; 0 where there is no number.
    around : float array
        Of :func:`deviations` at the wanted difference.
    wanted_difference, power, alpha : float

    Returns
    -------
    low, high : float
        Whole numbers; infinite above ten million, or where no population differs by so much. With no other
        population nothing is known: from 1 to infinity.

    Examples
    --------
    >>> needed_between(1_000, np.array([1.0, 0.8, 1.0, 1.1]), 0.1, 0.8, 0.05)
    (640.0, 1210.0)
    """
    quantiles = float(ndtri(power)) - float(ndtri(alpha / 2))
    if len(around) < 2:
        return 1.0, np.inf
    items = (around * quantiles / wanted_difference) ** 2
    scale = n_items / items[0] if n_items and np.isfinite(items[0]) else 1.0
    low, high = central(scale * items[1:], float(n_items or np.inf))
    ends = max(1.0, np.floor(low + _ROUNDING)), np.ceil(high - _ROUNDING)
    low, high = (float(end) if end <= MOST_ITEMS else np.inf for end in ends)
    return low, high


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
