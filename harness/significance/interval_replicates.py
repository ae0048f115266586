"""Replicates of a difference, and from them the p-values of the basic, the bootstrap-t and the BCa interval.

A p-value is the smallest level at which an interval leaves out 0; a replicate that puts 0 at the end
of the interval counts as inside. Each interval keeps a few counts of replicates, and has its p-value from
them.
"""

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from scipy.special import ndtr, ndtri

from harness.measures import Floats, Ints, difference
from harness.significance.bootstrap_error import strata
from harness.significance.bootstrap_f1 import chunks, differences, replicates
from harness.significance.replicates import Cells, Resampling

ROUNDING = 1e-14
"""What is left of a variance below this part of what was subtracted from is 0."""


class Observed(NamedTuple):
    """A set's own difference and standard error, in the units of its replicates, and its acceleration."""

    value: float
    error: float
    acceleration: float


def observe(sets: Ints, measure: str, stratified: bool) -> list[Observed]:
    """Return what the replicates of each set, (n_sets, 8), are compared with.

    Examples
    --------
    >>> [f1] = observe(np.array([[20, 2, 9, 3, 4, 6, 5, 951]]), "f1", False)
    >>> [round(x, 4) for x in f1]
    [0.1389, 0.069, 0.0057]
    >>> [error] = observe(np.array([[20, 2, 9, 3, 4, 6, 5, 951]]), "error", False)
    >>> [round(x, 4) for x in error]
    [-8.0, 4.6836, -0.0121]
    """
    if measure == "f1":
        e1, e2, e3, e4, e5, e6, e7, _ = sets.T
        own = np.stack([e1, e2, e3, e4 + e5, e6, e7])
        values, errors = f1_estimates(own, fixed_sizes(sets, stratified))
    else:
        groups = list(strata(sets, stratified).reshape(len(sets), -1, 3).transpose(1, 2, 0))
        values, errors = _error_values(groups), _error_errors(groups)
    pulls = accelerations(sets, measure, stratified)
    return [Observed(*row) for row in zip(values.tolist(), errors.tolist(), pulls.tolist(), strict=True)]


def difference_replicates(
    cells: Ints, measure: str, n_replicates: int, stratified: bool, rng: Generator, *, errors: bool = True
) -> Iterator[Floats]:
    """Yield replicates of a difference, under `errors` also of its standard error, shape (1 or 2, size).

    The error's difference is n01 - n10, a number of documents. `stratified` keeps the numbers of positives
    and of negatives, and the standard error is that of such sets.
    """
    if measure == "f1":
        sizes = fixed_sizes(cells, stratified)

        def wanted(drawn: Cells) -> Floats:
            return f1_estimates(drawn, sizes) if errors else differences(drawn)[None]

        yield from replicates(cells, n_replicates, stratified, rng, wanted)
        return
    parts = [part for part in strata(cells, stratified).reshape(-1, 3) if part[2] > 0]
    resamplings = [Resampling(np.array([n01, n10, n - n01 - n10])) for n01, n10, n in parts]
    for size in chunks(n_replicates):
        groups = [
            np.array([*resampling.draw(size, rng)[:2], np.full(size, part[2])])
            for resampling, part in zip(resamplings, parts, strict=True)
        ]
        values = _error_values(groups)
        yield np.stack([values, _error_errors(groups)] if errors else [values])


def accelerations(sets: Ints, measure: str, stratified: bool) -> Floats:
    """Return the acceleration of BCa of each set, from its jackknife values; 0 where they are all equal.

    There are at most eight: whichever document of a cell is left out, the difference is the same.
    `stratified` sums over positives and negatives, each with its own mean (several samples).

    References
    ----------
    Efron & Tibshirani (1993), An Introduction to the Bootstrap, eq. 14.15; for several samples Davison &
    Hinkley (1997), Bootstrap Methods and their Application, section 5.3.
    """
    left_out = np.maximum(sets[:, None, :] - np.eye(8, dtype=np.int64), 0)  # an empty cell has weight 0
    values = difference(measure)(left_out)
    cube, square = np.zeros((2, len(sets)))
    for part in (slice(0, 4), slice(4, 8)) if stratified else (slice(0, 8),):
        n = np.maximum(sets[:, part].sum(axis=1), 1)
        weights = sets[:, part] / n[:, None]
        mean = (weights * values[:, part]).sum(axis=1, keepdims=True)
        pull = (n - 1)[:, None] * (mean - values[:, part])
        cube += (weights * pull**3).sum(axis=1) / n.astype(float) ** 2
        square += (weights * pull**2).sum(axis=1) / n
    some = square > 1e-20
    return np.where(some, cube / (6 * np.where(some, square, 1.0) ** 1.5), 0.0)


def fixed_sizes(cells: Ints, stratified: bool) -> tuple[Ints, Ints] | None:
    """Return the numbers of positives and of negatives, each (...), where both are fixed."""
    return (cells[..., :4].sum(axis=-1), cells[..., 4:].sum(axis=-1)) if stratified else None


def f1_estimates(drawn: Cells, sizes: tuple[Ints, Ints] | None) -> Floats:
    """Return dF1 and its delta-method standard error in each replicate, columns of `drawn`, shape (2, size).

    Rows and dF1 are those of :func:`harness.significance.bootstrap_f1.differences`. A document adds
    x = (2ya - F_A (y + a)) / D_A minus the same of B to dF1, and the variance is the sum of x^2 over
    documents. Where the numbers of positives and negatives are fixed, the squared means of x within both are
    subtracted; x sums to 0 over all documents, so that one sum gives both.
    """
    e1, e2, e3, e45, e6, e7 = np.asarray(drawn, dtype=float)
    t_a, t_b = e1 + e3, e1 + e2
    base = t_a + e2 + e45
    with_a, with_b = base + e7, base + e6
    twice_a, twice_b = 2 / np.maximum(with_a + t_a, 1), 2 / np.maximum(with_b + t_b, 1)
    found = np.empty((2, *base.shape))
    if drawn.dtype == np.int64:  # the products may pass what a double holds
        found[0] = differences(drawn)
    else:
        np.multiply(t_a * with_b - t_b * with_a, twice_a * twice_b / 2, out=found[0])
    # 2 (1 - F) / D for a true positive, -F / D for an error, of each classifier
    miss_a, miss_b = t_a * twice_a * twice_a / 2, t_b * twice_b * twice_b / 2
    find_a, find_b = twice_a - 2 * miss_a, twice_b - 2 * miss_b
    both, only_b, only_a, neither = find_a - find_b, miss_a + find_b, find_a + miss_b, miss_b - miss_a
    variance = e1 * both * both + e2 * only_b * only_b + e3 * only_a * only_a + e45 * neither * neither
    variance += e6 * miss_b * miss_b + e7 * miss_a * miss_a
    if sizes is None:
        np.sqrt(np.maximum(variance, 0), out=found[1])  # below 0 where a draw is of too many documents
        return found
    e4 = sizes[0] - e1 - e2 - e3
    on_positives = e1 * both - e2 * only_b + e3 * only_a + e4 * neither
    found[1] = _root(variance, on_positives**2 * sum(1 / np.maximum(n, 1) for n in sizes))
    return found


def _error_values(groups: list[Ints]) -> Floats:
    """Return n01 - n10 in all from (n01, n10, n) of each stratum, shape (3, size)."""
    return np.asarray(sum(n01 - n10 for n01, n10, _ in groups), dtype=float)


def _error_errors(groups: list[Ints]) -> Floats:
    """Return the standard error of n01 - n10: each stratum adds n01 + n10 - (n01 - n10)^2 / n."""
    discordant = np.asarray(sum(n01 + n10 for n01, n10, _ in groups), dtype=float)
    return _root(discordant, sum((n01 - n10).astype(float) ** 2 / np.maximum(n, 1) for n01, n10, n in groups))


def _root(raw: Floats, mean_part: Floats) -> Floats:
    left = raw - mean_part
    return np.sqrt(np.where(left > ROUNDING * raw, left, 0.0))


# --- from replicates to p-values ---------------------------------------------------------------------------

NEAR = 1e-12
"""Replicates this close to what they are compared with are ties, whatever the last bits say."""


Counts = list[float]


class Interval(NamedTuple):
    """One kind of interval: what it counts over some replicates, and its p-value from the counts of all."""

    tally: Callable[[Floats, Observed], Counts]
    pvalue: Callable[[Counts, int, Observed], float]


def tally_basic(made: Floats, observed: Observed) -> Counts:
    """Count d* <= 2d and d* >= 2d: the interval of 2d - d* has 0 where d* = 2d."""
    gap = made[0] - 2 * observed.value
    return [float(np.count_nonzero(gap <= NEAR)), float(np.count_nonzero(gap >= -NEAR))]


def pvalue_basic(counts: Counts, n_replicates: int, observed: Observed) -> float:
    """Return p = min(1, 2 min(P*(d* <= 2d), P*(d* >= 2d)))."""
    return min(1.0, 2 * min(counts) / n_replicates)


def tally_studentized(made: Floats, observed: Observed) -> Counts:
    """Count t* <= t, t* >= t and the replicates with se* > 0, t* = (d* - d) / se*, t = d / se."""
    values, deviations = made
    usable = deviations > 0
    n_usable = float(np.count_nonzero(usable))
    if n_usable == 0 or observed.error == 0:
        return [0.0, 0.0, 0.0]
    t = observed.value / observed.error
    gap, near = values - observed.value - t * deviations, NEAR * max(1.0, abs(t)) * deviations
    ends = (gap <= near) & usable, (gap >= -near) & usable
    return [*(float(np.count_nonzero(end)) for end in ends), n_usable]


def pvalue_studentized(counts: Counts, n_replicates: int, observed: Observed) -> float:
    """Return p = min(1, 2 min(P*(t* <= t), P*(t* >= t))) among usable replicates; 1 if none is."""
    below, above, usable = counts
    return min(1.0, 2 * min(below, above) / usable) if usable else 1.0


def tally_bca(made: Floats, observed: Observed) -> Counts:
    """Count d* <= 0, d* >= 0 and d* < d, ties in d* = d for one half."""
    values = made[0]
    gap = values - observed.value
    below = (np.count_nonzero(gap < -NEAR) + np.count_nonzero(gap <= NEAR)) / 2
    return [float(np.count_nonzero(values <= 0)), float(np.count_nonzero(values >= 0)), float(below)]


def pvalue_bca(counts: Counts, n_replicates: int, observed: Observed) -> float:
    """Return p, twice the level at which a corrected end of the interval meets 0.

    The lower end is the share Phi(z0 + (z0 + z) / (1 - a (z0 + z))) of the replicates. It meets the share G
    of d* <= 0 at z = f(Phi^-1(G) - z0) - z0 with f(w) = w / (1 + a w), and p = 2 Phi(z). The share of
    d* >= 0 gives the upper end with the signs turned.
    """
    floor = 0.5 / n_replicates  # half a replicate away from none and from all, so that z0 is finite
    below, above, middle = (count / n_replicates for count in counts)
    z0, a = float(ndtri(min(max(middle, floor), 1 - floor))), observed.acceleration
    return min(1.0, _tail(below, z0, a), _tail(above, -z0, -a))


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
    "basic": Interval(tally_basic, pvalue_basic),
    "studentized": Interval(tally_studentized, pvalue_studentized),
    "bca": Interval(tally_bca, pvalue_bca),
}
