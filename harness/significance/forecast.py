"""When the verdict of a test with replicates is known before they are drawn.

Where the share of hits among all possible replicates is known well, it is a matter of one draw how many
of B replicates are hits: their number is binomial. Where it is known to lie within bounds (from the
counts alone, or from moments with a margin), verdicts far from the level are settled by them. For the rest
replicates are drawn.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtr, bdtrc, betainc, gammainc, gammaincc, ndtr, ndtri

from harness.measures import Bools, Floats

Keys = NDArray[np.uint64]

TURNED = 1e-4
"""Bound on the probability that the replicates not drawn would turn a verdict."""

WELL_KNOWN = 1.08
"""A share that may be wrong by at most this factor is taken for known: on average it is wrong by .2 % then,
as a rule by .5 % (`tests/significance/test_known_shares.py`), where 5,000 replicates tell .025 to 9 %."""

KNOWN_LEVELS = (0.005, 0.5)
"""Levels between these: far in the tail a share is known less well, and beyond one half both tails matter."""

LEAST_REPLICATES = 100
"""With fewer nothing is settled at once: hits in the other tail, which shares leave out, count then, and the
mean of the replicates is a noisy one."""

ROUGH, LEAST_ROUGH = 2.0, 0.25
"""Where the counts are too small for the moments, a share of at least .25 by them is not less than half of
that, which is enough to accept (`tests/significance/test_known_shares.py`)."""


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


class Forecast(NamedTuple):
    """Bounds on the shares of hits of sets before any replicate is drawn, arrays (n_sets,)."""

    least: Floats
    """A lower bound that follows from the counts alone."""
    low: Floats
    high: Floats
    """Bounds from the moments, with their margin; 0 and 1 where the counts are too small for them."""
    shares: Floats
    known: Bools
    """The share itself, or two that are equally likely, (n_sets, 1 or 2), and where it is known so well that
    hits may be drawn from it."""

    @classmethod
    def around(
        cls,
        low: Floats,
        high: Floats,
        factor: Floats,
        slack: float,
        usable: Bools,
        rough: Bools,
        least: Floats | None = None,
    ) -> "Forecast":
        """Return bounds that are wider by a factor and a slack, where they are usable at all, or roughly."""
        known = usable & (factor <= WELL_KNOWN) & (low == high)
        lowest, highest = np.clip(low / factor - slack, 0, 1), np.clip(high * factor + slack, 0, 1)
        least = np.zeros(len(low)) if least is None else least
        half = np.where(rough & (low >= LEAST_ROUGH), low / ROUGH, 0.0)
        bounds = np.where(usable, lowest, half), np.where(usable, highest, 1.0)
        return cls(least, *bounds, np.clip(low, 0, 1)[:, None], known)

    def take(self, places: NDArray[np.int64]) -> "Forecast":
        """Return the bounds of the sets at these places."""
        return Forecast._make(array[places] for array in self)


def error_factor(margin: tuple[float, float, float], n: Floats, skewness: Floats) -> Floats:
    """Return by what factor a tail from the moments may be wrong, for n documents that tell."""
    constant, count, square = margin
    return np.asarray(1 + constant + count / np.maximum(n, 1) ** 1.5 + square * skewness**2)


def below_zero(mean: Floats, variance: Floats, third: Floats, fourth: Floats) -> tuple[Floats, Floats]:
    """Return P(X <= 0) nearly, and the skewness of X, from the first four cumulants of X."""
    deviation = np.sqrt(np.maximum(variance, 1e-60))
    skewness = third / deviation**3
    excess = fourth / deviation**4 - 1.5 * skewness**2  # beyond the gamma's own
    return gamma_lower(-mean / deviation, skewness, excess), skewness


def gamma_lower(z: Floats, skewness: Floats, excess: Floats) -> Floats:
    """Return P(Z <= z) for a standardised variable from its skewness and kurtosis.

    A gamma distribution of the given skewness (Pearson type III) with the Edgeworth term for `excess`, the
    kurtosis beyond that of the gamma, 1.5 times the squared skewness.

    Examples
    --------
    >>> gamma_lower(np.array([-1.645]), np.zeros(1), np.zeros(1)).round(4)
    array([0.05])
    """
    tiny = np.abs(skewness) < 1e-3
    shape = 4 / np.where(tiny, 1.0, np.abs(skewness)) ** 2
    positive = skewness > 0
    at = np.maximum(shape + np.where(positive, z, -z) * np.sqrt(shape), 0)
    below = np.where(tiny, ndtr(z), np.where(positive, gammainc(shape, at), gammaincc(shape, at)))
    density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    return np.asarray(np.clip(below - density * (z**3 - 3 * z) * excess / 24, 0, 1))


def accepts(limit: ArrayLike, n_replicates: ArrayLike, least: ArrayLike) -> Bools:
    """Return where replicates, each a hit with at least probability `least`, pass `limit` hits.

    That is, all but a probability of ``TURNED`` of the time.
    """
    return np.asarray(bdtr(np.floor(limit), n_replicates, least) <= TURNED)


def rejects(limit: ArrayLike, n_replicates: ArrayLike, most: ArrayLike) -> Bools:
    """Return where replicates, each a hit with at most probability `most`, have at most `limit` hits.

    That is, all but a probability of ``TURNED`` of the time.
    """
    return np.asarray(bdtrc(np.floor(limit), n_replicates, most) <= TURNED)


def settled_at_once(
    known: Forecast, levels: Floats, n_replicates: int, tails: int, keys: Keys
) -> tuple[Bools, Bools]:
    """Return which verdicts are rejections, and which are settled, both (n_sets, n_levels).

    `tails` is 1 for the symmetric interval, 2 for the equal-tailed one. `keys`, (n_sets, n_words), are the
    sets' own random words: the same word draws the hits of a set at every level and for every interval.
    """
    limits = [largest_rejecting(alpha, n_replicates, tails) for alpha in levels.tolist()]
    at = np.array(limits, dtype=float)
    reachable = np.maximum(at, 0)
    if n_replicates < LEAST_REPLICATES:
        none_rejected, none_settled = np.zeros((2, len(keys), len(levels)), dtype=bool)
        return none_rejected, none_settled
    settled = known.known[:, None] & known_levels(levels)
    worth = mean_noise(levels) if tails == 1 else np.ones(len(levels))
    moves = known.shares.shape[1] == 1
    told, left = np.flatnonzero(known.known), np.flatnonzero(~settled.all(axis=1))
    few = _share_of_few_hits(known.shares[told][..., None], reachable, n_replicates, worth if moves else 1.0)
    drawn = (keys[told, 0] >> np.uint64(11)) * 2.0**-53
    rejected = np.zeros(settled.shape, dtype=bool)
    rejected[told] = (drawn[:, None] < few.mean(axis=1)) & (at >= 0) & settled[told]

    weighed, bar = (worth * n_replicates).astype(int), worth * (reachable + 0.5)
    accepted = accepts(reachable, n_replicates, known.least[left, None]) | (at < 0)
    accepted |= accepts(bar, weighed, known.low[left, None])
    refused = rejects(bar, weighed, known.high[left, None]) & ~accepted
    rejected[left] |= refused & ~settled[left]
    settled[left] |= accepted | refused
    return rejected, settled


def known_levels(levels: Floats) -> Bools:
    """Return at which levels a share is known well enough."""
    return np.asarray((levels >= KNOWN_LEVELS[0]) & (levels <= KNOWN_LEVELS[1]))


def mean_noise(levels: Floats) -> Floats:
    """Return what part of the replicates counts in the symmetric test, whose threshold moves with their mean.

    The variance of the number of hits is larger by the factor 1 + 4 phi(z)^2 / (alpha (1 - alpha)), z the
    normal quantile of alpha / 2.

    Examples
    --------
    >>> mean_noise(np.array([0.1, 0.01])).round(3)
    array([0.679, 0.922])
    """
    density = np.exp(-(ndtri(levels / 2) ** 2) / 2) / np.sqrt(2 * np.pi)
    return np.asarray(1 / (1 + 4 * density**2 / (levels * (1 - levels))))


def _share_of_few_hits(share: Floats, limits: Floats, n_replicates: int, worth: Floats | float) -> Floats:
    """Return the probability of at most `limits` hits among replicates, each a hit with probability `share`.

    A binomial tail, of fewer replicates where they are `worth` less, see :func:`mean_noise`.
    """
    at = worth * (limits + 0.5) - 0.5
    return np.asarray(betainc(worth * n_replicates - at, at + 1, 1 - share))
