"""Alternatives: populations on the path from one in which H0 holds to the real one, and beyond it."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from harness.errors import require
from harness.measures import Floats, difference, ratio, standard_deviation
from harness.nulls.projection import as_shares

_LARGEST_FACTOR = 100.0
_SCAN = 400


class NoAlternative(ValueError):
    """No population on the path lies at the distance that was asked for."""


def path(null: ArrayLike, shares: ArrayLike, t: ArrayLike) -> Floats:
    """Return ``p_t ~ p0^(1 - t) p^t``: `null` at t = 0, the real pair at t = 1, farther beyond it.

    Both are cells (..., 8) of which only the proportions matter; t may have any shape that broadcasts. The
    result is exactly what was given at t = 0 and t = 1; elsewhere a cell that is 0 in p0 or in p is 0.

    Examples
    --------
    >>> path([5, 0, 0, 0, 0, 2, 2, 1], [5, 0, 0, 0, 0, 1, 4, 0], 0.5).round(4)
    array([0.541, 0.   , 0.   , 0.   , 0.   , 0.153, 0.306, 0.   ])
    """
    p0, p = as_shares(null), as_shares(shares)
    steps = np.asarray(t, dtype=float)
    require(np.isfinite(steps).all(), f"t: {t!r} is not allowed; finite numbers are")
    both = (p0 > 0) & (p > 0)
    logs = np.log(np.where(both, p0, 1)), np.log(np.where(both, p, 1))
    exponent = np.where(both, logs[0] + steps[..., None] * (logs[1] - logs[0]), -np.inf)
    highest = exponent.max(axis=-1, keepdims=True)
    shared = np.isfinite(highest).all()
    require(shared, "null: no cell is above 0 both in it and in shares; at least one is needed")
    between = np.exp(exponent - highest)
    between /= between.sum(axis=-1, keepdims=True)
    return np.where(steps[..., None] == 0, p0, np.where(steps[..., None] == 1, p, between))


def distance(shares: ArrayLike, n_documents: int, measure: str, **costs: float) -> Any:
    """Return ``|d| sqrt(N) / sd``: how many standard deviations of a set's difference d lies from 0.

    `n_documents` is N, the size of a set; of the cells `shares`, (..., 8), only the proportions matter. The
    result, shape (...), is 0 where the standard deviation is 0.

    Examples
    --------
    >>> round(float(distance([5, 0, 0, 0, 0, 1, 3, 1], 25, "error")), 4)
    1.6667
    """
    return np.abs(_signed(shares, n_documents, measure, **costs))


def alternative(
    null: ArrayLike, shares: ArrayLike, h: float, n_documents: int, measure: str, **costs: float
) -> Floats:
    """Return the first population on the :func:`path` whose :func:`distance` is `h`.

    Its difference has the sign of the real pair's. The path is followed beyond the real pair until a cell has
    changed by a factor of 100 against the null: farther out it no longer resembles the pair.

    `null` and `shares`, (..., 8), are a population in which H0 holds, and the real one; `h` >= 0 is in
    standard deviations. The result is p_t with ``|d(p_t)| = h sd(p_t) / sqrt(N)``. Raises
    :class:`NoAlternative` if the real pair does not differ in `measure`, or the path does not lead that far.

    Examples
    --------
    >>> p = alternative([5, 0, 0, 0, 0, 2, 2, 1], [5, 0, 0, 0, 0, 1, 3, 1], 2, 100, "error")
    >>> p.round(4), round(float(distance(p, 100, "error")), 9)
    (array([0.5066, 0.    , 0.    , 0.    , 0.    , 0.1346, 0.2574, 0.1013]), 2.0)
    """
    require(0 <= h < np.inf, f"h: {h!r} is not allowed; a finite number >= 0 is")
    p0, p = np.broadcast_arrays(as_shares(null), as_shares(shares))
    if h == 0:
        return p0.copy()
    pairs = zip(p0.reshape(-1, 8), p.reshape(-1, 8), strict=True)
    rows = [_first_at(start, end, h, n_documents, measure, **costs) for start, end in pairs]
    return np.array(rows).reshape(p0.shape)


def reach(null: ArrayLike, shares: ArrayLike, n_documents: int, measure: str, **costs: float) -> Any:
    """Return the largest `h` for which :func:`alternative` finds a population.

    The arguments are those of :func:`alternative`; the result, shape (...), is 0 where the real pair does not
    differ in `measure`.

    Examples
    --------
    >>> round(float(reach([5, 0, 0, 0, 0, 2, 2, 1], [5, 0, 0, 0, 0, 1, 3, 1], 2, "error")), 3)
    3.116
    """
    p0, p = np.broadcast_arrays(as_shares(null), as_shares(shares))
    pairs = zip(p0.reshape(-1, 8), p.reshape(-1, 8), strict=True)
    found = [_along(start, end, n_documents, measure, **costs)[1].max() for start, end in pairs]
    return np.maximum(np.array(found).reshape(p0.shape[:-1]), 0)[()]


def _along(
    p0: Floats, p: Floats, n_documents: int, measure: str, **costs: float
) -> tuple[Floats, Floats, float]:
    """Return places t on the path, the distances there in the real pair's direction, and the sign of that."""
    sign = float(np.sign(difference(measure, **costs)(p)))
    both = (p0 > 0) & (p > 0)
    change = float(np.abs(np.log(p[both] / p0[both])).max(initial=0))
    last = max(1.0, np.log(_LARGEST_FACTOR) / max(change, 1e-12))
    at = np.linspace(0, last, _SCAN + 1)
    return at, sign * _signed(path(p0, p, at), n_documents, measure, **costs), sign


def _first_at(p0: Floats, p: Floats, h: float, n_documents: int, measure: str, **costs: float) -> Floats:
    at, distances, sign = _along(p0, p, n_documents, measure, **costs)
    same = f"A and B have the same {measure}, so there is no direction to leave the null in"
    require(sign != 0, same, NoAlternative)
    beyond = np.flatnonzero(distances >= h)
    require(
        len(beyond),
        f"the path reaches {distances.max():.3g} standard deviations at N = {n_documents}, not "
        f"h = {h:g}, before a cell has changed by a factor of {_LARGEST_FACTOR:g}",
        NoAlternative,
    )
    low, high = at[max(beyond[0] - 1, 0)], at[beyond[0]]
    if distances[beyond[0]] == h or low == high:
        return path(p0, p, high)

    def beyond_it(t: float) -> float:
        return float(sign * _signed(path(p0, p, t), n_documents, measure, **costs) - h)

    return path(p0, p, brentq(beyond_it, low, high, xtol=1e-15))


def _signed(shares: ArrayLike, n_documents: int, measure: str, **costs: float) -> Any:
    require(n_documents >= 1, f"n_documents: {n_documents} is not allowed; whole numbers >= 1 are")
    d = difference(measure, **costs)(shares)
    return ratio(d * np.sqrt(n_documents), standard_deviation(shares, measure, **costs))
