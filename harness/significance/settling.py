"""When the verdict of a bootstrap test of dF1 is known before all its replicates are drawn.

Three ways, each with a bound on the probability that all replicates would have said otherwise: bounds
from the counts alone, an approximation of the p-value from the moments where the counts are large, and,
for the rest, predictions from the replicates drawn so far.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtr, bdtrc, gammainc, gammaincc, ndtr
from scipy.stats import betabinom

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

TURNED = 1e-4
"""Bound on the probability that the replicates not drawn would turn a verdict."""

LEAST_COUNT, LARGEST_SKEWNESS = 8, 1.0
"""The p-value from the moments is used where so many documents are discordant, and found by A or B."""

MARGIN = (0.06, 0.3, 1.2, 5.0)
"""The p-value from the moments may be wrong by a factor 1 + .06 + .3 g + 1.2 g^2 + 5 / n, g the size of the
skewness and n the smaller of the two counts above (how far it was wrong: `tests/test_bootstrap_early.py`)."""

SLACK = 4e-4
"""And by so much besides, far in the tail."""

BLOCK = 4096
"""Sets whose moments are computed at once, so that memory does not grow with their number."""

MEAN_NOISE = 0.6
"""Replicates worth in the symmetric count, whose threshold moves with their mean: its variance at alpha = .1
is larger by 1 + 4 phi(1.645)^2 / (.1 x .9) = 1.47, by less at smaller alpha."""


def largest_rejecting(alpha: float, n_replicates: int, tails: int) -> int:
    """Return the largest count c with ``tails * c / n_replicates <= alpha``, -1 if none.

    Examples
    --------
    >>> [largest_rejecting(a, 5000, 2) for a in (0.1, 0.05, 0.01)]
    [250, 125, 25]
    """
    count = int(alpha * n_replicates / tails) + 1
    while tails * count / n_replicates > alpha:
        count -= 1
    return count


@lru_cache(maxsize=4096)
def stop_bounds(n_replicates: int, limit: int, drawn: int, tails: int) -> tuple[int, int]:
    """Return (low, high): with `drawn` replicates a count <= low is a rejection, >= high is none.

    Rejection means that the final count is at most `limit`. Given c hits so far, those to come are
    beta-binomial (prior Beta(1/2, 1/2)); a verdict is given when the other one has a predictive
    probability of at most ``TURNED``. A count above `limit` can only grow (equal-tailed), and after
    the last replicate both bounds are exact.

    Examples
    --------
    >>> stop_bounds(5000, 250, 5000, 2)
    (250, 251)
    >>> stop_bounds(5000, 250, 300, 2)
    (3, 31)
    """
    if drawn == n_replicates:
        return limit, limit + 1
    worth = MEAN_NOISE if tails == 1 else 1.0
    seen, left = int(worth * drawn), int(worth * (n_replicates - drawn))
    bar = worth * (limit + 0.5)

    def rejects(count: float) -> float:
        hits = worth * count
        return float(betabinom.cdf(np.floor(bar - hits), left, hits + 0.5, max(seen - hits, 0) + 0.5))

    low = _last(lambda c: 1 - rejects(c) <= TURNED, drawn)
    high = _last(lambda c: rejects(c) > TURNED, drawn) + 1
    return low, (min(high, limit + 1) if tails == 2 else high)


def _last(holds: Callable[[int], bool], top: int) -> int:
    """Return the last number from 0 to `top` where `holds`, true up to a point, is true; -1 if nowhere."""
    low, high = -1, top
    while low < high:
        middle = (low + high + 1) // 2
        if holds(middle):
            low = middle
        else:
            high = middle - 1
    return low


def least_pvalue(cells: Ints, stratified: bool) -> Floats:
    """Return a lower bound on P*(dF1* <= 0) and on P*(dF1* >= 0), from the replicates that lack some cells.

    Without a document of e3 and e6 no replicate favours A; without e2 and e7 none favours B; without e1,
    e2 and e3 both F1 are 0. The bound is exact arithmetic, not an approximation.

    Parameters
    ----------
    cells : int array, shape (n_sets, 8)
    stratified : bool
        Whether positives and negatives are resampled apart.
    """
    positives, negatives = cells[:, :4].sum(axis=1), cells[:, 4:].sum(axis=1)

    def absent(of_positives: Ints, of_negatives: Ints) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            if stratified:
                logs = [
                    np.where(part > 0, n * np.log1p(-part / n), 0.0)
                    for part, n in ((of_positives, positives), (of_negatives, negatives))
                ]
                return np.exp(logs[0] + logs[1])
            n = positives + negatives
            return np.exp(n * np.log1p(-(of_positives + of_negatives) / n))

    none = np.zeros_like(positives)
    one_sided = np.minimum(absent(cells[:, 2], cells[:, 5]), absent(cells[:, 1], cells[:, 6]))
    return np.maximum(one_sided, absent(cells[:, :3].sum(axis=1), none))


# Linear forms on e1..e8: true positives T and denominators D of F1 = 2T/D.
_T = np.array([[1, 0, 1, 0, 0, 0, 0, 0], [1, 1, 0, 0, 0, 0, 0, 0]], dtype=float)
_D = np.array([[2, 1, 2, 1, 1, 0, 1, 0], [2, 2, 1, 1, 1, 1, 0, 0]], dtype=float)


def moment_pvalue(cells: Ints, stratified: bool, symmetric: bool) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Approximate the infinite-replicate tail by a gamma distribution with the right three moments.

    dF1* <= c where the quadratic form ``2 T_A D_B - 2 T_B D_A - c D_A D_B`` of the replicate's counts is
    <= 0; its mean, variance and (to leading order) third cumulant under the multinomial are known.

    Parameters
    ----------
    cells : int array, shape (n_sets, 8)
    stratified, symmetric : bool
        Resampling and interval.

    Returns
    -------
    tail, factor : float arrays
        min(P*(dF1* <= 0), P*(dF1* >= 0)), or P*(|dF1* - mean*| >= |mean*|) where symmetric, and by what
        factor it may be wrong.
    usable : bool array
        Where the counts are large enough for the approximation to be trusted within its margins.
    """
    x = cells.astype(float)
    groups = [slice(0, 4), slice(4, 8)] if stratified else [slice(0, 8)]
    zero, skew = _lower_tail(x, groups, np.zeros(len(x)))
    tail = np.minimum(zero, 1 - zero)
    skew = np.abs(skew)
    if symmetric:
        mean = _mean_difference(x, groups)
        far, skew_far = _lower_tail(x, groups, 2 * mean)
        tail = np.where(mean > 0, zero + 1 - far, 1 - zero + far)
        skew = np.maximum(skew, np.abs(skew_far))
    fewest = np.minimum(x[:, [1, 2, 5, 6]].sum(axis=1), x[:, :3].sum(axis=1))
    usable = (fewest >= LEAST_COUNT) & (skew <= LARGEST_SKEWNESS)
    constant, linear, square, lattice = MARGIN
    factor = 1 + constant + linear * skew + square * skew**2 + lattice / np.maximum(fewest, 1)
    return tail, factor, usable


def _covariance(left: Floats, right: Floats, x: Floats, groups: list[slice]) -> Floats:
    """Return the covariance of two linear forms, each (8,) or (n_sets, 8), of the replicates of sets x."""
    total = np.zeros(len(x))
    for part in groups:
        y, a, b = x[:, part], left[..., part], right[..., part]
        n = np.maximum(y.sum(axis=1), 1)
        total += (a * b * y).sum(axis=1) - (a * y).sum(axis=1) * (b * y).sum(axis=1) / n
    return total


def _mean_difference(x: Floats, groups: list[slice]) -> Floats:
    """Return E*(dF1*) to second order."""
    means = []
    for t, d in zip(_T, _D, strict=True):
        top, bottom = x @ t, np.maximum(x @ d, 1)
        shift = top * _covariance(d, d, x, groups) / bottom**3 - _covariance(t, d, x, groups) / bottom**2
        means.append(2 * (top / bottom + shift))
    return means[0] - means[1]


def _lower_tail(x: Floats, groups: list[slice], threshold: Floats) -> tuple[Floats, Floats]:
    """Return P*(dF1* <= threshold) and the skewness of the quadratic form that decides it."""
    c = threshold[:, None]
    t_a, t_b, d_a, d_b = (x @ form for form in (*_T, *_D))
    value = 2 * t_a * d_b - 2 * t_b * d_a - threshold * d_a * d_b
    slope = 2 * (
        d_b[:, None] * _T[0] + t_a[:, None] * _D[1] - d_a[:, None] * _T[1] - t_b[:, None] * _D[0]
    ) - c * (d_b[:, None] * _D[0] + d_a[:, None] * _D[1])
    curve = 2 * (_pair(_T[0], _D[1]) - _pair(_T[1], _D[0]))[None] - threshold[:, None, None] * _pair(
        _D[0], _D[1]
    )
    spread = np.zeros((len(x), 8, 8))
    centred, own = slope.copy(), np.einsum("nii->ni", curve).copy()
    for part in groups:
        y = x[:, part]
        n = np.maximum(y.sum(axis=1, keepdims=True), 1)
        share = y / n
        spread[:, part, part] = y[:, :, None] * (np.eye(y.shape[1]) - share[:, None, :])
        centred[:, part] -= (slope[:, part] * share).sum(axis=1, keepdims=True)
        along = np.einsum("nij,nj->ni", curve[:, part, part], share)
        own[:, part] += (along * share).sum(axis=1, keepdims=True) - 2 * along
    bent = curve @ spread
    mean = value + np.trace(bent, axis1=1, axis2=2) / 2
    variance = (x * centred * (centred + own)).sum(axis=1) + np.einsum("nij,nji->n", bent, bent) / 2
    reach = np.einsum("nij,nj->ni", spread, slope)
    third = (x * centred**3).sum(axis=1) + 3 * np.einsum("ni,nij,nj->n", reach, curve, reach)
    deviation = np.sqrt(np.maximum(variance, 1e-60))
    skew = third / deviation**3
    return _gamma_lower(-mean / deviation, skew), skew


def _pair(left: Floats, right: Floats) -> Floats:
    """Return the Hessian of the product of two linear forms."""
    return np.outer(left, right) + np.outer(right, left)


def _gamma_lower(z: Floats, skew: Floats) -> Floats:
    """Return P(Z <= z) for a standardised gamma variable of the given skewness (Pearson type III)."""
    tiny = np.abs(skew) < 1e-3
    gamma = np.where(tiny, 1.0, np.abs(skew))
    shape = 4 / gamma**2
    positive = skew > 0
    at = np.maximum(shape + np.where(positive, z, -z) * np.sqrt(shape), 0)
    return np.where(tiny, ndtr(z), np.where(positive, gammainc(shape, at), gammaincc(shape, at)))


class Forecast(NamedTuple):
    """What is known of a set's p-value before any replicate is drawn: bounds on the share of hits.

    Attributes
    ----------
    least : float array, shape (n_sets,)
        No smaller, by the counts themselves.
    low, high : float arrays, shape (n_sets,)
        Where the moments put it, with their margin; 0 and 1 where the counts are too small for them.
    """

    least: Floats
    low: Floats
    high: Floats


def forecast(cells: Ints, stratified: bool, symmetric: bool) -> Forecast:
    """Return bounds on the share of hits of each set, shape (n_sets, 8), none of them degenerate."""
    blocks = [
        _forecast_block(cells[start : start + BLOCK], stratified, symmetric)
        for start in range(0, max(len(cells), 1), BLOCK)
    ]
    return Forecast(*(np.concatenate(parts) for parts in zip(*blocks, strict=True)))


def _forecast_block(cells: Ints, stratified: bool, symmetric: bool) -> Forecast:
    tail, factor, usable = moment_pvalue(cells, stratified, symmetric)
    low, high = np.clip(tail / factor - SLACK, 0, 1), np.clip(tail * factor + SLACK, 0, 1)
    return Forecast(least_pvalue(cells, stratified), np.where(usable, low, 0.0), np.where(usable, high, 1.0))


def accepts(limit: ArrayLike, n_replicates: int, least: ArrayLike) -> NDArray[np.bool_]:
    """Return where `n_replicates` replicates, each a hit with at least probability `least`, pass.

    That is, pass or keep to `limit` hits, all but a probability of ``TURNED`` of the time.
    """
    return bdtr(np.floor(limit), n_replicates, least) <= TURNED


def rejects(limit: ArrayLike, n_replicates: int, most: ArrayLike) -> NDArray[np.bool_]:
    """Return where `n_replicates` replicates, each a hit with at most probability `most`, stay below.

    That is, pass or keep to `limit` hits, all but a probability of ``TURNED`` of the time.
    """
    return bdtrc(np.floor(limit), n_replicates, most) <= TURNED


def settled_at_once(
    known: Forecast, limits: list[int], n_replicates: int, tails: int
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which verdicts are rejections, and which are settled, before any replicate is drawn.

    Parameters
    ----------
    known : Forecast
        Of each set.
    limits : list of int
        For each level the largest count that is a rejection, -1 if none is.
    n_replicates : int
        Replicates of the full test.
    tails : {1, 2}
        1 for the symmetric interval, 2 for the equal-tailed one.

    Returns
    -------
    rejected, settled : bool arrays, shape (n_sets, n_levels)
    """
    at = np.array(limits, dtype=float)
    reachable = np.maximum(at, 0)
    worth = MEAN_NOISE if tails == 1 else 1.0
    weighed, bar = int(worth * n_replicates), worth * (reachable + 0.5)
    accepted = accepts(reachable, n_replicates, known.least[:, None]) | (at < 0)
    accepted |= accepts(bar, weighed, known.low[:, None])
    rejected = rejects(bar, weighed, known.high[:, None]) & ~accepted
    return rejected, accepted | rejected


def verdict_so_far(
    count: int, drawn: int, limit: int, n_replicates: int, tails: int, low: float, high: float
) -> bool | None:
    """Return True (rejected) or False where the replicates drawn so far settle it, else None.

    Parameters
    ----------
    count, drawn : int
        Hits and replicates so far.
    limit, n_replicates, tails : int
        As in :func:`stop_bounds`.
    low, high : float
        The set's `Forecast`.
    """
    reject_to, accept_from = stop_bounds(n_replicates, limit, drawn, tails)
    if count <= reject_to:
        return True
    if count >= accept_from:
        return False
    worth = MEAN_NOISE if tails == 1 else 1.0
    left, bar = int(worth * (n_replicates - drawn)), worth * (limit + 0.5 - count)
    if bar < 0:  # only the symmetric count can fall again
        return None
    if rejects(bar, left, high):
        return True
    return False if accepts(bar, left, low) else None
