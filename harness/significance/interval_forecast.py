"""What the intervals of the F1 bootstrap count, by the moments of the replicates, before any is drawn.

The basic and the BCa interval ask where dF1* lies between 0, dF1 and 2 dF1; bootstrap-t asks whether
dF1* - dF1 - t se* is below 0, a smooth function of the replicate's counts that is taken for its quadratic
expansion around the set's.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from harness.measures import Bools, Floats, Ints
from harness.significance.bootstrap_f1_forecast import MARGIN, fewest, lower_tail, moments, tie_weight
from harness.significance.forecast import error_factor
from harness.significance.interval_replicates import Counts, Observed, f1_estimates, fixed_sizes
from harness.significance.moments import Moments

LEAST_COUNT = 15
"""So many documents must be discordant, and found by A or B."""

TOLERATED = 1.15
"""Shares that may be wrong by this factor at most are taken for known: on average they are wrong by 1.5 % at
most with 15 documents, by 1 % from 20 on (`tests/significance/test_bootstrap_intervals.py`)."""

NO_ERROR = 1e-9
"""A standard error below this is rounding: where all documents act alike there is none."""

STEP = 0.02
"""How far the Hessian is looked at to both sides: this part of a cell's count and one more at most."""

# e1, e2, e3, e4 + e5, e6, e7, which is what the standard error depends on
_CELLS = np.delete(np.eye(8), [4, 7], axis=0)
_CELLS[3, 4] = 1


class Shares(NamedTuple):
    """Shares of replicates of sets, arrays (n_sets,)."""

    cuts: Floats  # (3, n_sets): dF1* below 0, dF1 and 2 dF1, with half of the ties, with all at 0
    below_t: Floats
    known: Bools
    """Where all of them are known so well that replicates may be drawn from them."""

    def draw(self, i: int, n_replicates: int, rng: Generator) -> dict[str, Counts]:
        """Return what each interval counts over replicates of the i-th set."""
        order = np.argsort(self.cuts[:, i])
        cuts = np.concatenate([[0.0], self.cuts[order, i], [1.0]])
        counts = np.empty(3)
        counts[order] = np.cumsum(rng.multinomial(n_replicates, np.diff(cuts)))[:3]
        zero, own, twice = counts.tolist()
        t = float(rng.binomial(n_replicates, self.below_t[i]))
        return {
            "basic": [twice, n_replicates - twice],
            "studentized": [t, n_replicates - t, float(n_replicates)],
            "bca": [zero, n_replicates - zero, own],
        }


def forecast(sets: Ints, stratified: bool, observed: list[Observed]) -> Shares:
    """Return the shares for sets (n_sets, 8) of which :func:`fewest` is at least ``LEAST_COUNT``."""
    value, error, _ = np.array(observed).T
    forms, cuts, known = moments(sets, stratified), np.zeros((3, len(sets))), error > NO_ERROR
    for times in (0, 1, 2):
        cuts[times], skewness = lower_tail(forms, times * value)
        known &= error_factor(MARGIN, fewest(sets), skewness) <= TOLERATED
    cuts[0] += np.sign(value) * tie_weight(forms) / 2
    sizes = fixed_sizes(sets, stratified)
    cells = Moments.of(sets, stratified, _CELLS)

    def gap(x: Floats) -> Floats:
        """Return dF1* - dF1 - t se* for counts (6, ..., n_sets)."""
        x = np.maximum(x, 0)  # a cell without documents has no variance, and its derivatives do not count
        t = value / np.where(error > NO_ERROR, error, 1)
        differences, errors = f1_estimates(x, sizes)
        return np.asarray(differences - value - t * errors)

    at, slope, bend = _expand(gap, cells.totals)

    def change(u: Floats) -> Floats:
        """Return the change of the Hessian in the direction u, by differences."""
        reach = STEP / np.maximum((np.abs(u) / (cells.totals + 1)).max(axis=0), 1e-300)
        ends = (_expand(gap, cells.totals + sign * reach * u)[2] for sign in (1, -1))
        return np.asarray(np.subtract(*ends) / (2 * reach))

    below_t, _ = cells.lower_tail(at, slope, lambda v: np.einsum("ijn,j...n->i...n", bend, v), change)
    return Shares(np.clip(cuts, 0, 1), np.clip(below_t, 0, 1), known)


def _expand(function: Callable[[Floats], Floats], at: Floats) -> tuple[Floats, Floats, Floats]:
    """Return value, gradient and Hessian of a function of the first axis, by differences."""
    step = 1e-3 * (at + 1)
    shifts = np.eye(len(at))[:, :, None] * step
    value = function(at)
    up, down = (function(at[:, None] + sign * shifts) for sign in (1, -1))
    pairs = shifts[:, :, None] + shifts[:, None]
    both = sum(function(at[:, None, None] + sign * pairs) for sign in (1, -1))
    bend = both + 2 * value - (up + down)[:, None] - (up + down)
    return value, (up - down) / (2 * step), bend / (2 * step[:, None] * step)
