"""The nearest population of documents in which a weighted sum of ratios is the same for two systems.

The condition is made linear around the shares q at hand, by the influence psi of a document there; the
nearest shares to p are then ``p_i exp(-l psi_i) / Z`` (Csiszar 1975, Annals of Probability 3, 146-158,
theorem 3.1). Steps towards them lower ``KL(q||p) + c |d(q)|`` for every ``c > |l|`` and settle where q is its
own tilt, which is the first-order condition (Han 1977, Journal of Optimization Theory and Applications 22,
297-309).
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from harness.advise.documents.tests import Kinds, Terms
from harness.measures import Floats, ratio
from harness.nulls.projection import divergence

_LEVELS = 1, 10  # the difference is led to 0 at once, or else by tenths
_STEPS = 300
_HALVINGS = 12
_BALANCED, _SETTLED = 1e-10, 1e-8
_NEARLY = 1e-4, 1e-2  # of a level on the way: balance as a part of the difference, change
_LONGEST = 4.0  # times the way to the tilt
_LEAST = 0.05  # part that has to stay
_FARTHEST, _SMALLEST = 600.0, 1e-290  # what a share may be multiplied by, e^-600, and what is left of it


class _Condition(NamedTuple):
    """Shares p above 0, and the difference less a level as a function of shares."""

    p: Floats
    terms: Terms
    level: float

    def gap(self, q: Floats) -> float:
        return float(self.terms.difference(q)) - self.level

    def sizes(self, q: Floats) -> Floats:
        """Return the denominators of all ratios, and the measures of A and of B."""
        totals = self.terms.totals(q).reshape(-1, 2, 2)
        values = ratio(totals[..., 0], totals[..., 1])
        return np.concatenate([totals[..., 1].ravel(), self.terms.weights @ values])

    def keeps(self, q: Floats) -> bool:
        """Return whether denominators and measures are still there."""
        return bool((self.sizes(q) >= _LEAST * self.sizes(self.p)).all())


def nearest_null(shares: Floats, kinds: Kinds) -> Floats:
    """Return shares near to given ones in KL(q||p) under which the measures agree, NaN without any.

    They satisfy the first-order conditions of the nearest population, ``log(q/p)`` being a constant less a
    multiple of the influence at q; there may be several such q. Each ratio's denominator stays above a
    twentieth of what it was, and so do the measures of A and of B: in a category that is all but emptied F1
    can be anything at little cost, and on drawn sets it is 0/0. Where the steps lead there, or do not settle,
    the shares are ``p_i exp(-t psi_i)``, psi at p, as alternatives are made: the difference is 0 as well, at
    a larger divergence.
    """
    terms, found = kinds.terms, np.full(shares.shape, np.nan)
    for row, p in zip(found, shares, strict=True):
        there = p > 0
        nearest = _nearest(_Condition(p[there], Terms.of(terms.sums[there], terms.weights), 0.0))
        if nearest is not None:
            row[:] = 0.0
            row[there] = nearest
    return found


def _nearest(condition: _Condition) -> Floats | None:
    whole = condition.gap(condition.p)
    if whole == 0:
        return condition.p
    for n_levels in _LEVELS:
        q, settled = condition.p, False
        for left in range(n_levels - 1, -1, -1):
            own = condition._replace(level=whole * left / n_levels)
            limits = (_BALANCED, _SETTLED) if left == 0 else (_NEARLY[0] * abs(whole), _NEARLY[1])
            q, settled = _settle(own, q, *limits)
        if settled:
            return q
    return _tilt_to_null(condition, whole)


def _tilt_to_null(condition: _Condition, whole: float) -> Floats | None:
    """Return ``p_i exp(-t psi_i)`` with a difference of 0, psi at p; None if it empties a ratio before."""
    psi = condition.terms.influence(condition.p)
    if not psi.any():
        return None
    last = float(np.sign(whole)) / float(np.ptp(psi))
    while condition.keeps(_tilt(condition.p, last * psi)) and abs(last) * np.ptp(psi) < _FARTHEST:
        if condition.gap(_tilt(condition.p, last * psi)) * whole <= 0:
            t = brentq(
                lambda t: condition.gap(_tilt(condition.p, t * psi)), 0.0, last, xtol=1e-15, rtol=1e-14
            )
            return _balance(condition, _tilt(condition.p, t * psi))
        last *= 1.5
    return None


def _tilt(p: Floats, exponent: Floats) -> Floats:
    q = p * np.exp(np.maximum(exponent.min() - exponent, -_FARTHEST))
    return np.asarray(q / q.sum())


def _settle(condition: _Condition, q: Floats, balanced: float, small: float) -> tuple[Floats, bool]:
    """Step towards the tilt from q until little changes; say whether it did."""
    length, multiplier, step = 1.0, 0.0, None
    for _ in range(_STEPS):
        gap, psi = condition.gap(q), condition.terms.influence(q)
        if not psi.min() < 0 < psi.max():
            break
        # the tilt has every mean between the ends, and none beyond half the way is sought at once
        target = min(max(-gap, psi.min() / 2), psi.max() / 2)
        tilted, multiplier = _tilt_to_mean(condition.p, psi, target, multiplier)
        way = tilted - q
        if abs(gap) <= balanced and (way**2 / q).sum() <= small**2 and condition.keeps(tilted):
            return tilted, True
        if step is not None:
            length = _secant_length(q, way, *step)
        there = _search(condition, q, way, length, gap, psi, target, 1.5 * abs(multiplier))
        if there is None:
            break
        step, q = (way, there - q), there
    return q, False


def _secant_length(q: Floats, way: Floats, way_before: Floats, moved: Floats) -> float:
    change = way - way_before
    against = -float((change * moved / q).sum())
    length = against / float((change**2 / q).sum()) if against > 0 else _LONGEST
    most = max(1.0, 0.9 / max(float((-way / q).max()), 1e-9))
    return min(max(length, 0.05), _LONGEST, most)


def _search(
    condition: _Condition, q: Floats, way: Floats, length: float, gap: float, psi: Floats, target: float,
    penalty: float,
) -> Floats | None:  # fmt: skip
    """Return shares on the way where ``KL(q||p) + penalty |gap|`` is lower, by halving; None if none is."""
    start = divergence(q, condition.p) + penalty * abs(gap)
    gain = start - divergence(q + way, condition.p) - penalty * abs(gap + target)
    for _ in range(_HALVINGS):
        there = _moved(condition, q + length * way, psi, gap + length * target)
        value = divergence(there, condition.p) + penalty * abs(condition.gap(there))
        if value <= start - 0.05 * length * gain + 1e-13 and condition.keeps(there):
            return there
        length /= 2
    return None


def _moved(condition: _Condition, q: Floats, psi: Floats, wanted: float) -> Floats:
    """Return q moved along psi to a wanted gap, to first order."""
    centred = psi - q @ psi
    variance = float(q @ centred**2)
    step = (condition.gap(q) - wanted) / variance if variance > 0 else 0.0
    moved = np.maximum(q * (1 - np.clip(step * centred, -1 / 3, 1 / 3)), _SMALLEST)
    return np.asarray(moved / moved.sum())


def _balance(condition: _Condition, q: Floats) -> Floats:
    for _ in range(20):
        if abs(condition.gap(q)) <= _BALANCED:
            break
        q = _moved(condition, q, condition.terms.influence(q), 0.0)
    return q


def _tilt_to_mean(p: Floats, psi: Floats, mean: float, start: float) -> tuple[Floats, float]:
    """Return ``q_i ~ p_i exp(-l psi_i)`` with ``sum q_i psi_i = mean``, and l, by guarded Newton steps."""
    low, high, multiplier = -np.inf, np.inf, start
    for _ in range(_STEPS):
        q = _tilt(p, multiplier * psi)
        found = float(q @ psi)
        if abs(found - mean) <= 1e-14 * np.abs(psi).max():
            break
        deviation = max(float(np.sqrt(q @ (psi - found) ** 2)), 1e-150)
        low, high = (multiplier, high) if found > mean else (low, multiplier)
        step = np.clip((found - mean) / deviation, -5, 5) / deviation
        multiplier += step
        if not low < multiplier < high and np.isfinite(high - low):
            multiplier = (low + high) / 2
    return q, multiplier
