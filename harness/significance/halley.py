"""Where many functions of one number are highest, found at once."""

from collections.abc import Callable

import numpy as np

from harness.measures import Floats

MAX_STEPS = 100
"""Halley settles in about 3 steps, bisecting alone in 53; with counts of 10**13 rounding may never let it."""

SETTLED = 1e-11
"""A step that raises the function by less is the last one; what was left, its root, is cubed."""


def highest(slopes: Callable[..., tuple[Floats, ...]], low: Floats, high: Floats, start: Floats) -> Floats:
    """Return where concave functions are highest from `low` to `high`, by Halley's method in a bracket.

    ``slopes(x, places)`` returns the first three derivatives, at x, of the functions at these places. Where
    low = high, `start` is returned.
    """
    found, low, high = start.copy(), low.copy(), high.copy()
    left = np.flatnonzero(low < high)
    for _ in range(MAX_STEPS):
        if not left.size:
            break
        here = found[left]
        slope, second, third = slopes(here, left)
        low[left] = below = np.where(slope > 0, here, low[left])
        high[left] = above = np.where(slope < 0, here, high[left])
        with np.errstate(divide="ignore", invalid="ignore"):
            newton = -slope / second
            step = newton / (1 + np.clip(newton * third / (2 * second), -0.5, 0.5))
        moved = here + step
        inside = (second < 0) & (below <= moved) & (moved <= above)
        found[left] = np.where(inside, moved, (below + above) / 2)
        left = left[~(inside & (slope * newton <= SETTLED) | (found[left] == here))]
    return found
