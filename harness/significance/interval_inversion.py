"""From replicates to the p-values of the basic, the bootstrap-t and the BCa interval.

A p-value is the smallest level at which an interval leaves out 0; a replicate that puts 0 at the end
of the interval counts as inside. Each interval keeps a few counts of replicates. Its p-value is a
function of them, monotone in each: bounds on the final counts give bounds on the final p-value.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from harness.significance.interval_replicates import Errors, Observed
from harness.significance.result import Floats

NEAR = 1e-12
"""Replicates this close to what they are compared with are ties, whatever the last bits say."""


Counts = list[float]
Ranges = list[tuple[float, float]]


class Interval(NamedTuple):
    """One kind of interval: how many counts it keeps, what they are over some replicates, and p from them.

    `bounds` returns the least and the greatest p-value for counts within ranges, pairs (low, high).
    """

    n_counts: int
    tally: Callable[[Floats, Errors, Observed], Counts]
    bounds: Callable[[Ranges, int, Observed], tuple[float, float]]


def tally_basic(values: Floats, errors: Errors, observed: Observed) -> Counts:
    """Count d* <= 2d and d* >= 2d: the interval of 2d - d* has 0 where d* = 2d."""
    gap = values - 2 * observed.value
    return [float(np.count_nonzero(gap <= NEAR)), float(np.count_nonzero(gap >= -NEAR))]


def bounds_basic(ranges: Ranges, n_replicates: int, observed: Observed) -> tuple[float, float]:
    """Return bounds on p = min(1, 2 min(P*(d* <= 2d), P*(d* >= 2d)))."""
    low, high = (2 * min(ends) / n_replicates for ends in zip(*ranges, strict=True))
    return min(1.0, low), min(1.0, high)


def tally_studentized(values: Floats, errors: Errors, observed: Observed) -> Counts:
    """Count t* <= t, t* >= t and the replicates with se* > 0, t* = (d* - d) / se*, t = d / se."""
    deviations = errors()
    usable = deviations > 0
    n_usable = float(np.count_nonzero(usable))
    if n_usable == 0 or observed.error == 0:
        return [0.0, 0.0, 0.0]
    if n_usable < len(deviations):
        values, deviations = values[usable], deviations[usable]
    t = observed.value / observed.error
    gap = (values - observed.value) / deviations - t
    near = NEAR * max(1.0, abs(t))
    return [float(np.count_nonzero(gap <= near)), float(np.count_nonzero(gap >= -near)), n_usable]


def bounds_studentized(ranges: Ranges, n_replicates: int, observed: Observed) -> tuple[float, float]:
    """Return bounds on p = min(1, 2 min(P*(t* <= t), P*(t* >= t))) among usable replicates; 1 if none is."""
    below, above, (few, many) = ranges
    least = 2 * min(below[0], above[0]) / many if many > 0 else 1.0
    greatest = 2 * min(below[1], above[1]) / few if few > 0 else 1.0
    return min(1.0, least), min(1.0, greatest)


def tally_bca(values: Floats, errors: Errors, observed: Observed) -> Counts:
    """Count d* <= 0, d* >= 0 and d* < d, ties in d* = d for one half."""
    gap = values - observed.value
    below = (np.count_nonzero(gap < -NEAR) + np.count_nonzero(gap <= NEAR)) / 2
    return [float(np.count_nonzero(values <= 0)), float(np.count_nonzero(values >= 0)), float(below)]


def bounds_bca(ranges: Ranges, n_replicates: int, observed: Observed) -> tuple[float, float]:
    """Return bounds on p, twice the level at which a corrected end of the interval meets 0.

    The lower end is the share Phi(z0 + (z0 + z) / (1 - a (z0 + z))) of the replicates. It meets the share G
    of d* <= 0 at z = f(Phi^-1(G) - z0) - z0 with f(w) = w / (1 + a w), and p = 2 Phi(z). The share of
    d* >= 0 gives the upper end with the signs turned.
    """
    floor = 0.5 / n_replicates  # half a replicate away from none and from all, so that z0 is finite
    below, above, middle = ([count / n_replicates for count in ends] for ends in ranges)
    z0_low, z0_high = (float(ndtri(min(max(share, floor), 1 - floor))) for share in middle)
    a = observed.acceleration
    least = min(_tail(below[0], z0_high, a), _tail(above[0], -z0_low, -a))
    greatest = min(_tail(below[1], z0_low, a), _tail(above[1], -z0_high, -a))
    return min(1.0, least), min(1.0, greatest)


def _tail(share: float, z0: float, a: float) -> float:
    """Return 2 Phi(f(w) - z0), w = Phi^-1(share) - z0; 0 where no replicate is on that side of 0.

    Where 1 + a w <= 0 no level brings the end to 0: it stays on this side of it (w < 0) or beyond.
    """
    if share <= 0:
        return 0.0
    if share >= 1:
        z = 1 / a if a > 0 else math.inf
    else:
        w = float(ndtri(share)) - z0
        z = w / (1 + a * w) if 1 + a * w > 0 else math.copysign(math.inf, w)
    return 2 * float(ndtr(z - z0))


INTERVALS = {
    "basic": Interval(2, tally_basic, bounds_basic),
    "studentized": Interval(3, tally_studentized, bounds_studentized),
    "bca": Interval(3, tally_bca, bounds_bca),
}
