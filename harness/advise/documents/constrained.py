"""Standard errors where the difference is a margin: a set's own items, tilted until it is.

The standard error of a set has a fault in a one-sided test: it depends on the difference, and may be small
just where that is far from the margin. Under the hypothesis it is what a population near the set has where
the difference is the margin; for the error of single items that makes the score test of Tango (1998).
"""

import numpy as np

from harness.advise.documents.clusters import robust_cr2
from harness.advise.documents.tests import Kinds, Terms, undefined
from harness.measures import Floats, Ints

PSEUDO_COUNT = 0.25
"""Added to each cell that tells A from B: few such items may all favour one system, and leave no tilt."""
_TELLS = PSEUDO_COUNT * np.array([0, 1, 1, 0, 0, 1, 1, 0])
_STEPS, _LONGEST, _CLOSE = 15, 3.0, 1e-3


def by_cell(counts: Ints, kinds: Kinds, margin: float) -> tuple[Floats, Floats, float]:
    """Return N d, N^2 se^2 at -margin and at margin, (2, n_sets), and infinite degrees of freedom.

    The sets are of the eight cells, shape (n_sets, 8); se is 0 where no tilt leads to the margin, or the
    measure is one ratio and 0/0.
    """
    terms, n, sides = kinds.terms, counts.sum(axis=-1), []
    totals = terms.totals(counts.astype(float))
    for signed in (-margin, margin):
        shares, found = tilted(counts + _TELLS, terms, signed)
        variance = (shares * terms.influence(shares) ** 2).sum(axis=-1) * n
        sides.append(np.where(found & ~undefined(totals), variance, 0.0))
    return n * terms.difference_of(totals), np.stack(sides), np.inf


def by_cluster(counts: Ints, kinds: Kinds, margin: float) -> tuple[Floats, Floats, Floats]:
    """Return G d, G^2 se^2 at -margin and at margin, (2, n_sets), and degrees of freedom, as CR2 has them.

    Each se is the larger one of the set's own and of that at the margin, where a tilt leads there: a test
    rejects where both would.
    """
    terms, n = kinds.terms, counts.sum(axis=-1, keepdims=True)
    d, own, freedom = robust_cr2(counts, kinds)
    sides, least = [], freedom
    for signed in (-margin, margin):
        shares, found = tilted(counts, terms, signed)
        _, there, other = robust_cr2(n * shares, kinds)
        sides.append(np.where(own > 0, np.maximum(own, np.where(found, there, 0.0)), 0.0))
        least = np.minimum(least, other)
    return d, np.stack(sides), least


def tilted(weights: Ints | Floats, terms: Terms, wanted: float) -> tuple[Floats, np.ndarray]:
    """Return shares ``q_i ~ w_i exp(t psi_i)`` with a difference of `wanted`, and where there are any.

    psi is the influence of an item at q: each step tilts further along the influence where the last one led.
    """
    shares = weights / weights.sum(axis=-1, keepdims=True)
    left = np.arange(len(shares))
    for _ in range(_STEPS):
        q = shares[left]
        gap, psi = wanted - terms.difference(q), np.where(q > 0, terms.influence(q), 0.0)
        variance, farthest = np.einsum("sk,sk,sk->s", q, psi, psi), np.abs(psi).max(axis=-1)
        go_on = (np.abs(gap) > _CLOSE * abs(wanted)) & (variance > 0)
        left, gap, variance, farthest = left[go_on], gap[go_on], variance[go_on], farthest[go_on]
        if not len(left):
            break
        step = np.clip(gap / variance, -_LONGEST / farthest, _LONGEST / farthest)
        q = q[go_on] * np.exp(step[:, None] * psi[go_on])
        shares[left] = q / q.sum(axis=-1, keepdims=True)
    return shares, np.abs(wanted - terms.difference(shares)) <= _CLOSE * abs(wanted)
