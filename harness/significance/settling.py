"""When the verdict of a bootstrap test is known before all its replicates are drawn.

Three ways, each with a bound on the probability that all replicates would have said otherwise: bounds
from the counts alone, an approximation of the p-value from the moments where the counts are large (both in
a `Forecast`), and, for the rest, predictions from the replicates drawn so far.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtr, bdtrc, gammainc, gammaincc, ndtr

from harness.significance.stopping import TURNED, final_count

Floats = NDArray[np.float64]

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
    return np.clip(below - density * (z**3 - 3 * z) * excess / 24, 0, 1)


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
        As in :func:`settled_at_once`.
    low, high : float
        The set's `Forecast`.

    Examples
    --------
    >>> [verdict_so_far(count, 5000, 750, 15_000, 2, 0.0, 1.0) for count in (100, 250, 400)]
    [True, None, False]
    """
    if drawn == n_replicates:
        return count <= limit
    worth = MEAN_NOISE if tails == 1 else 1.0
    bar = worth * (limit + 0.5)
    least, most = final_count(worth * count, worth * drawn, worth * n_replicates)
    if most <= bar or least > bar:
        return most <= bar
    left, bar = int(worth * (n_replicates - drawn)), bar - worth * count
    if bar < 0:  # only the symmetric count can fall again
        return None
    if rejects(bar, left, high):
        return True
    return False if accepts(bar, left, low) else None
