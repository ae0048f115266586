"""KL projection on the equality of two ratios, the part that every projected null shares.

Every measure's null that has no closed form says that two ratios of means over documents agree,
``E[t_A]/E[b_A] = E[t_B]/E[b_B]`` with t, b >= 0 (F1 in terms of its odds ``F/(1 - F)``: twice the true
positives over the errors). For a fixed common value the two conditions ``E[(1 - f) t - f b] = 0`` are linear
in the shares, so the projection is an exponential tilt, ``q_i ~ p_i exp(l_A g_Ai + l_B g_Bi)`` with
``g = (1 - f) t - f b``: a convex problem in two numbers. What is left is the best f, and that profile may
have several local optima.

Both conditions stay true when all cells are multiplied by one number. The tilt therefore needs no
normalisation while it is sought: with ``V(f) = min_l sum p_i exp(l g_i)`` the divergence is ``-log V``, and
cells in which all g are 0 (for F1: e8, most of a population with rare positives) take no part.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from harness.measures import Bools, Floats, ratio

_NEWTON_STEPS = 100
_ROUGHLY = 50, 1e-10  # steps and balance when a grid of common values is looked over
_BISECTIONS = 32  # the divergence is flat at its least: half the digits of f give all of its own
_FARTHEST = 20.0  # how far beyond the two ratios their common value is sought, in logarithms
_FARTHEST_EXPONENT = 300.0  # e^-300: what a cell may be multiplied by
_BALANCED, _ACCEPTED = 1e-13, 1e-8  # what is left of a condition over the sum of its terms' sizes


def equal_ratios(shares: Floats, tops: Floats, bottoms: Floats) -> Floats:
    """Return the shares nearest to `shares` in KL(q||p) under which two ratios agree.

    Rows of `shares` (n, k) sum to 1; `tops` and `bottoms` (2, k) are what the two ratios have above and below
    in each cell, >= 0, and neither ratio is 0 or infinite. The result has the same cells above 0, and is NaN
    where no such shares were found.

    Examples
    --------
    >>> p = np.array([[0.2, 0.1, 0.3, 0.4]])
    >>> q = equal_ratios(p, np.array([[1, 0, 0, 0], [0, 1, 0, 0]]), np.array([[0, 0, 1, 0], [0, 0, 0, 1]]))
    >>> bool(abs(q[0, 0] / q[0, 2] - q[0, 1] / q[0, 3]) < 1e-12)
    True
    """
    shares = np.asarray(shares, dtype=float)
    tops, bottoms = np.asarray(tops, dtype=float), np.asarray(bottoms, dtype=float)
    active = ((tops != 0) | (bottoms != 0)).any(axis=0)
    weights = shares[:, active] / shares[:, active].sum(axis=1, keepdims=True)
    t, b = tops[:, active], bottoms[:, active]
    odds = _grid(weights, t, b)
    value, slope = _profile(weights, t, b, odds)[:2]
    highest, tilted = np.zeros(len(shares)), weights.copy()
    for rows, bracket in _brackets(odds, value, slope):
        v, w = _climb(weights[rows], t, b, *bracket)
        better = v > highest[rows]
        highest[rows[better]], tilted[rows[better]] = v[better], w[better]
    q = shares.copy()
    q[:, active] = tilted * shares[:, active].sum(axis=1, keepdims=True)
    q[highest == 0] = np.nan
    return _settled(q / q.sum(axis=1, keepdims=True), tops, bottoms)


def _settled(q: Floats, tops: Floats, bottoms: Floats) -> Floats:
    """Move shares along the influence of a document until ratios that nearly agree do so exactly."""
    q = q.copy()
    for _ in range(4):
        t, b = q @ tops.T, q @ bottoms.T
        # the influence on log(t_A / b_A) - log(t_B / b_B)
        psi = tops[0] / t[:, :1] - bottoms[0] / b[:, :1] - tops[1] / t[:, 1:] + bottoms[1] / b[:, 1:]
        gap = np.log(t[:, 0] * b[:, 1]) - np.log(t[:, 1] * b[:, 0])
        variance = (q * psi**2).sum(axis=1)
        step = ratio(gap, variance)
        q *= np.exp(np.clip(-step[:, None] * psi, -1, 1))
        q /= q.sum(axis=1, keepdims=True)
    return q


def _grid(weights: Floats, tops: Floats, bottoms: Floats) -> Floats:
    """Return logarithms of common values to try: between the two ratios and far beyond them."""
    ends = np.sort(np.log(weights @ tops.T) - np.log(weights @ bottoms.T), axis=1)
    gap = np.clip(ends[:, 1:] - ends[:, :1], 1e-6, 1)
    beyond = gap / 8 * (8 * _FARTHEST / gap) ** np.linspace(0, 1, 18)
    inside = ends[:, :1] + np.linspace(0, 1, 13) * (ends[:, 1:] - ends[:, :1])
    return np.concatenate([ends[:, :1] - beyond[:, ::-1], inside, ends[:, 1:] + beyond], axis=1)


def _brackets(
    odds: Floats, value: Floats, slope: Floats
) -> list[tuple[NDArray[np.intp], tuple[Floats, Floats, Floats]]]:
    """Return, for the two best local maxima, the rows that have them, their two sides, and the better side.

    The slope tells a maximum from rounding where V is 1 up to a few digits. Where V is 0 it leads to the
    highest V.
    """
    best = np.argmax(value, axis=1)[:, None]
    rises = np.where(value > 0, slope > 0, np.arange(odds.shape[1]) < best)
    rises[:, 0], rises[:, -1] = True, False
    top = rises[:, :-1] & ~rises[:, 1:]
    higher = np.where(top, np.maximum(value[:, :-1], value[:, 1:]), -1)
    order = np.argsort(higher, axis=1)
    brackets = []
    for at in (order[:, -1], order[:, -2]):
        rows = np.flatnonzero(top[np.arange(len(top)), at])
        i = at[rows]
        better = i + (value[rows, i + 1] > value[rows, i])
        brackets.append((rows, (odds[rows, i], odds[rows, better], odds[rows, i + 1])))
    return brackets


def _climb(
    weights: Floats, tops: Floats, bottoms: Floats, left: Floats, middle: Floats, right: Floats
) -> tuple[Floats, Floats]:
    """Return the highest V that bisection of its slope finds from `left` to `right`, and the weights."""
    start = middle
    highest, tilts, best = np.zeros(len(weights)), np.zeros((len(weights), 1, 2)), weights.copy()
    for _ in range(_BISECTIONS):
        value, slope, tilted, now = (
            x[:, 0] for x in _profile(weights, tops, bottoms, middle[:, None], tilts)
        )
        # up to rounding the later is the better
        better = (value > 0) & (value >= highest * (1 - 1e-13))
        highest[better], best[better], tilts[better, 0] = value[better], tilted[better], now[better]
        # where V is 0, beyond the common values that are possible, the way back is towards the start
        up = np.where(value > 0, slope > 0, middle < start)
        left, right = np.where(up, middle, left), np.where(up, right, middle)
        middle = (left + right) / 2
    return highest, best


def _profile(
    weights: Floats, tops: Floats, bottoms: Floats, odds: Floats, tilts: Floats | None = None
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return V, a number with the sign of its slope, the tilted weights and the tilts, for log odds (n, m).

    V = 0 where the common value is not possible. The search starts from `tilts` (n, m, 2); without them it
    starts from none and ends early, enough for a first look.
    """
    k = weights.shape[1]
    w = np.broadcast_to(weights[:, None], (*odds.shape, k)).reshape(-1, k)
    u = odds.reshape(-1, 1, 1)
    g = expit(-u) * tops - expit(u) * bottoms
    if tilts is None:
        tilt, feasible = _tilts(w, g, np.zeros((len(w), 2)), *_ROUGHLY)
    else:
        tilt, feasible = _tilts(w, g, tilts.reshape(-1, 2))
    tilted = w * np.exp(np.clip(_along(tilt, g), -700, 700))
    value = np.where(feasible, tilted.sum(axis=1), 0)
    slope = -(tilt * (tilted @ (tops + bottoms).T)).sum(axis=1)
    shape = odds.shape
    return value.reshape(shape), slope.reshape(shape), tilted.reshape(*shape, k), tilt.reshape(*shape, 2)


def _tilts(
    weights: Floats, g: Floats, start: Floats, n_steps: int = _NEWTON_STEPS, balanced: float = _BALANCED
) -> tuple[Floats, Bools]:
    """Minimise ``sum w exp(l g)`` over l (m, 2) by Newton steps; False where there is no minimum."""
    tilts, left = start.copy(), np.full(len(weights), np.inf)
    todo = np.arange(len(weights))
    for _ in range(n_steps):
        some, tilt = g[todo], tilts[todo]
        exponent = _along(tilt, some)
        terms = some * (weights[todo] * np.exp(np.clip(exponent, -700, 700)))[:, None]
        gradient, size = terms.sum(axis=2), np.abs(terms).sum(axis=2)
        now = np.divide(np.abs(gradient), size, out=np.ones_like(size), where=size > 0).max(axis=1)
        stuck = (now <= _ACCEPTED) & (now > left[todo] / 2)
        left[todo] = np.minimum(now, left[todo])
        near = (np.abs(exponent) < _FARTHEST_EXPONENT).all(axis=1, where=weights[todo] > 0)
        go_on = (now > balanced) & ~stuck & near
        todo, tilt, some = todo[go_on], tilt[go_on], some[go_on]
        if not len(todo):
            break
        step = _newton(gradient[go_on], some, terms[go_on])
        # within a change of 3 in every cell's exponent the quadratic model can be trusted
        change = np.abs(_along(step, some)).max(axis=1, where=weights[todo] > 0, initial=0)
        tilts[todo] = tilt + step * np.minimum(1, 3 / np.maximum(change, 3))[:, None]
    return tilts, left <= max(balanced, _ACCEPTED)


def _along(tilt: Floats, g: Floats) -> Floats:
    """Return ``l_A g_A + l_B g_B`` of every cell."""
    return tilt[:, :1] * g[:, 0] + tilt[:, 1:] * g[:, 1]


def _newton(gradient: Floats, g: Floats, terms: Floats) -> Floats:
    """Return ``-H^-1 gradient``, H the 2 x 2 sums of `terms` times `g`, scaled to a unit diagonal first."""
    scale = np.sqrt(np.maximum((terms * g).sum(axis=2), 1e-300))
    slope = gradient / scale
    r = np.clip((terms[:, 0] * g[:, 1]).sum(axis=1) / scale[:, 0] / scale[:, 1], -1, 1)
    determinant = np.maximum((1 - r) * (1 + r), 1e-15)
    return np.asarray(-(slope - r[:, None] * slope[:, ::-1]) / determinant[:, None] / scale)
