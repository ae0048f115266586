"""How many items a test needs to see a difference that the user names."""

from collections.abc import Callable, Sequence
from contextlib import suppress

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri

from harness.advise.points import Pair, Point, Question, StageRun
from harness.measures import Floats
from harness.nulls.path import NoAlternative
from harness.runtime.store import Arrays

MOST_ITEMS = 10_000_000
N_SETS = 4_000  # in each direction
TAIL = 0.1  # what an interval over populations leaves out on each side
_FEWEST = 10
_ROUNDS = 28
_CAREFUL_ROUNDS = 3
_ROUNDING = 1e-6
_CLOSE = 1.01  # bounds of the bracket this near to each other are not told apart


def tabulate_needs(
    pairs: Sequence[Pair], tests: Sequence[str], powers: Sequence[float], question: Question, run: StageRun
) -> pd.DataFrame:
    """Return the items that the test of each pair needs to see the question's difference, at each power."""
    alpha, seed, wanted = question.alpha, question.seed, question.difference
    units = [
        (pair, test, wanted, power, alpha, seed)
        for pair, test in zip(pairs, tests, strict=True)
        for power in powers
    ]
    names = [repr((pair.name, pair.describe(), pair.null.tolist(), *more)) for pair, *more in units]
    found = run("advice_needed")(needed_items, units, names, threads=False, description="items needed")
    around = {pair.name: deviations(pair, wanted) for pair in pairs}
    rows = []
    for (pair, test, _, power, *_), part in zip(units, found, strict=True):
        n_items, n_sets = int(part["n_items"]), pair.n_sets(test, sets_needed(pair))
        ends = needed_between(n_items, around[pair.name], wanted, power, alpha, n_sets)
        low, high = (int(end) if np.isfinite(end) else None for end in ends)
        rows.append((pair.name, test, wanted, power, n_items or None, float(part["power"]), low, high))
    columns = ["pair", "test", "difference", "power_wanted", "n_items", "power", "low", "high"]
    return pd.DataFrame(rows, columns=columns).astype(dict.fromkeys(("n_items", "low", "high"), "Int64"))


def needed_items(
    pair: Pair, test: str, wanted_difference: float, power: float, alpha: float, seed: int
) -> Arrays:
    """Return ``n_items`` with which a test reaches a power, and that ``power``, as :func:`search_items`.

    The power is that in the worse of both directions, or in the only one in which a population differs so
    much; where none does, ``n_items`` is 0 and ``power`` NaN.
    """
    populations = _alternatives(pair, pair.null, wanted_difference)
    if not populations:
        return {"n_items": np.array(0), "power": np.array(np.nan)}

    def reached(n_items: int, attempt: int) -> float:
        right = []
        for sign, shares in populations.items():
            point = Point("needed", n_items, sign, sign * wanted_difference, shares, N_SETS)
            found = pair.count(point, (power, attempt, sign), [test], alpha, seed)
            right.append(int(found["n_rejected"][0] - found["n_wrong_direction"][0]))
        return min(right) / n_sets

    n_sets = pair.n_sets(test, sets_needed(pair))
    sd = max(map(pair.deviation, populations.values()))
    return search_items(reached, sd, wanted_difference, power, alpha, n_sets)


def sets_needed(pair: Pair) -> Point:
    """Return a point with the sets of one round of the search, in one direction."""
    return Point("needed", 0, 0, 0, pair.null, N_SETS)


def _alternatives(pair: Pair, null: Floats, wanted: float) -> dict[int, Floats]:
    found = {}
    for sign in (1, -1):
        with suppress(NoAlternative):
            found[sign] = pair.tilt(null, sign * wanted)
    return found


def deviations(pair: Pair, wanted: float) -> Floats:
    """Return the deviation of the difference on one item in the pair's null and in those drawn around it.

    Each null is tilted to `wanted`, towards the larger deviation; infinite where it is out of reach.
    """
    found = []
    for null in (pair.null, *pair.drawn):
        shares = [null] if wanted == 0 else _alternatives(pair, null, wanted).values()
        found.append(max(map(pair.deviation, shares), default=np.inf))
    return np.array(found)


def central(values: Floats, point: float = np.nan) -> tuple[float, float]:
    """Return the ends of the central 80 % of values, widened to hold `point` if any; NaN without a value."""
    if not len(values):
        return np.nan, np.nan
    ordered = np.sort(values)
    cut = int(TAIL * (len(ordered) - 1))
    return float(np.fmin(ordered[cut], point)), float(np.fmax(ordered[-1 - cut], point))


def counting_noise(power: float, alpha: float, n_sets: int) -> float:
    """Return the relative error of a difference at which a z test's `power` was counted on `n_sets` sets."""
    quantile = float(ndtri(power))
    density = np.exp(-(quantile**2) / 2) / np.sqrt(2 * np.pi)
    return float(np.sqrt(power * (1 - power) / n_sets) / density / (quantile - float(ndtri(alpha / 2))))


def ends_around(point: float, others: Floats, noise: float) -> tuple[float, float]:
    """Return ends that hold 80 % of where `point` may lie, as `others` and its relative `noise` say.

    In logarithms the longer tail of the others counts on both sides: resamples of a file vary less than files
    do, and lie low where it lies low (`scripts/validate.py ends`).
    """
    low, high = central(others, point)
    if not 0 < point < np.inf:
        return low, high
    if np.isfinite(high):
        tail = np.abs(np.log(np.array(central(others)) / np.median(others))).max()
        low, high = min(low, point * np.exp(-tail)), max(high, point * np.exp(tail))
    below, above = np.hypot(np.log([point / low, high / point]), float(ndtri(1 - TAIL)) * noise)
    return float(point * np.exp(-below)), float(point * np.exp(above))


def needed_between(
    n_items: int, around: Floats, wanted_difference: float, power: float, alpha: float, n_sets: int
) -> tuple[float, float]:
    """Return between how many items would be needed in populations that could have given the file.

    The number grows with the square of the difference's deviation, as for a z test, from `n_items`, which was
    found by simulation for the file's own population (0: there is no number). Infinite above ten million, or
    where no population differs by so much; with no other population from 1 to infinity.
    """
    quantiles = float(ndtri(power)) - float(ndtri(alpha / 2))
    if len(around) < 2:
        return 1.0, np.inf
    items = (around * quantiles / wanted_difference) ** 2
    scale = n_items / items[0] if n_items and np.isfinite(items[0]) else 1.0
    noise = 2 * counting_noise(power, alpha, n_sets)
    low, high = ends_around(float(n_items or np.inf), scale * items[1:], noise)
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
    """Search the number of items with which a power is reached, `reached` on `n_sets` sets in each round.

    It starts where a z test would need them, and steps as N grows with the square of the sum of the quantiles
    of level and power, until one number has too little power and a larger one too much; then it halves
    between the two, in the logarithm of N. It stops at a number whose measured power is the wanted one to
    within twice the noise of counting, or else, where the power jumps over it, at the smallest number tried
    that reaches it. Above ten million ``n_items`` is 0 and ``power`` that at ten million, of a z test if it
    was not tried.

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
