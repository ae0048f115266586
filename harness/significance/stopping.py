"""What a count of replicates may still become, for tests that stop drawing once their verdict is known."""

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainccinv, betaincinv

Floats = NDArray[np.float64]

TURNED = 1e-4
"""Bound on the probability that the replicates not drawn turn a verdict, or take a count past a bound."""


def final_counts(counts: ArrayLike, n_drawn: float, n_replicates: float) -> tuple[Floats, Floats]:
    """Return bounds on the counts among all replicates, from those among the replicates drawn so far.

    The probability of a hit lies, after `counts` hits in `n_drawn` draws and a Beta(1/2, 1/2) prior, between
    two quantiles of a beta distribution; the final count is nearer to what was seen, since it
    contains it. After the last replicate both bounds are the count itself.

    Parameters
    ----------
    counts : array_like, shape (...)
        Hits so far, from 0 to `n_drawn`; fractions are allowed.
    n_drawn, n_replicates : float
        Replicates so far and in all.

    Returns
    -------
    low, high : float arrays, shape (...)
        Each passed with a probability of at most about ``TURNED``.

    Examples
    --------
    >>> low, high = final_counts([0, 30], 300, 5000)
    >>> low.tolist(), high.tolist()
    ([0.0, 240.0], [125.0, 884.0])
    >>> final_counts(25, 5000, 5000)
    (array(25.), array(25.))
    """
    seen = np.asarray(counts, dtype=float)
    if n_drawn == n_replicates:
        return seen, seen
    misses = n_drawn - seen
    low = n_replicates * betaincinv(seen + 0.5, misses + 0.5, TURNED)
    high = n_replicates * betainccinv(seen + 0.5, misses + 0.5, TURNED)
    return np.maximum(np.floor(low), seen), np.minimum(np.ceil(high), n_replicates - misses)


@lru_cache(maxsize=100_000)
def final_count(count: float, n_drawn: float, n_replicates: float) -> tuple[float, float]:
    """Return :func:`final_counts` of one count; the same few counts come up again and again.

    Examples
    --------
    >>> final_count(25, 5000, 5000)
    (25.0, 25.0)
    """
    low, high = final_counts(count, n_drawn, n_replicates)
    return float(low), float(high)


def check_levels(alphas: ArrayLike) -> Floats:
    """Return the levels as an array, shape (n_alphas,).

    Raises
    ------
    ValueError
        If a level is not between 0 and 1, or they are not a list.
    """
    levels = np.atleast_1d(np.asarray(alphas, dtype=float))
    if levels.ndim != 1 or not ((levels > 0) & (levels < 1)).all():
        raise ValueError(f"alphas: {alphas!r} is not allowed; a level or a list of levels between 0 and 1 is")
    return levels
