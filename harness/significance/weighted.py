"""Equal F1, precision or detection cost as a balance of four weighted counts.

Only the documents that one classifier alone gets right tell A from B. Equal measures say that, in the
population, those in favour of A weigh as much as those in favour of B, where a negative weighs as much as
`weight` positives:

    e3 + weight e6  =  e2 + weight e7    (expected counts).

With T the true positives of a classifier and U the documents that are positive or that it takes for positive,
T = J U defines its Jaccard index, J = F1 / (2 - F1). Where A and B have the same, T_A - T_B = J (U_A - U_B),
and these differences are e3 - e2 and e7 - e6: the weight is J. For the precision c it is c / (1 - c), for
the detection cost cost_fp (1 - prior) P / (cost_fn prior (1 - P)), with P the share of positives.

Given the weight, the likelihood ratio needs one unknown: the fit is n_i / (1 + m w_i), w the signed weights
of the four kinds, and m is where the sum of n_i log(1 + m w_i) is largest (the empirical likelihood of a
mean).
"""

import numpy as np
from scipy.special import xlog1py

from harness.measures import Floats, Ints
from harness.significance.halley import highest

MEASURES = ("f1", "precision", "dcf")

PSEUDO_COUNT = 0.25
"""Added to each kind before the null is fitted: one that a set does not show may still exist."""

LEAST_ROOT = 1e-3
"""Nearer to 0 the signed root is left as it is."""


def kinds(cells: Ints) -> Ints:
    """Return the four counts (e3, e6, e2, e7), (4, n_sets): two kinds in favour of A, two of B."""
    return np.asarray(cells[..., [2, 5, 1, 6]].reshape(-1, 4).T)


def signed(weight: Floats) -> Floats:
    """Return what a document of each kind weighs in favour of A, (4, n_sets)."""
    one = np.ones_like(weight)
    return np.array([one, weight, -one, -weight])


def weight_of(cells: Ints, measure: str, costs: float = 1.0) -> Floats:
    """Return what a negative weighs beside a positive in each set, (n_sets,).

    `costs` is cost_fp (1 - prior) / (cost_fn prior) of the DCF.
    """
    e1, e2, e3, e4, e5, e6, e7, _ = cells.T
    if measure == "f1":  # J = T / U, of A and B together
        return np.asarray((2 * e1 + e2 + e3) / (2 * (e1 + e2 + e3 + e4 + e5) + e6 + e7))
    if measure == "precision":
        return np.asarray((2 * e1 + e2 + e3) / (2 * e5 + e6 + e7))
    return np.asarray(costs * (e1 + e2 + e3 + e4) / cells[:, 4:].sum(axis=1))


def multiplier(counts: Floats, weight: Floats) -> Floats:
    """Return m of each set, (n_sets,): positive where the set is in favour of A."""
    square, weights, high = weight**2, signed(weight), 1 / np.maximum(weight, 1)
    low, m = -high, np.zeros(len(weight))
    for end, sign in ((low, 1), (high, -1)):  # where the kind that vanishes at an end was not seen
        at_end = sign * (counts * weights / np.maximum(1 + end * weights, 1e-100)).sum(axis=0) <= 0
        m[at_end] = low[at_end] = high[at_end] = end[at_end]
    # the slope times (1 - m^2) (1 - weight^2 m^2) is a cubic of m
    (lead, lead_n), size, size_n = counts[:2] - counts[2:], counts[0] + counts[2], counts[1] + counts[3]
    lead_n, size_n = weight * lead_n, square * size_n
    cubic = np.array([lead + lead_n, -size - size_n, -square * lead - lead_n, square * size + size_n])

    def slopes(m: Floats, places: Ints) -> tuple[Floats, ...]:
        c0, c1, c2, c3 = cubic.take(places, axis=1)
        below = (1 - m**2) * (1 - square[places] * m**2)
        slope = c0 + m * (c1 + m * (c2 + m * c3))
        # steps to the root of the cubic; over `below` its slope is that of the sum: what a step gains
        return slope / below, (c1 + m * (2 * c2 + 3 * m * c3)) / below, (2 * c2 + 6 * m * c3) / below

    return highest(slopes, low, high, m)


def statistic(counts: Floats, weight: Floats, m: Floats) -> Floats:
    """Return the likelihood ratio statistic of each set, `m` its multiplier."""
    total = 2 * xlog1py(counts, m * signed(weight)).sum(axis=0)
    return np.asarray(np.maximum(total, 0))  # rounding may leave -1e-17 where both sides weigh the same


def fit(counts: Floats, weight: Floats, pseudo_count: float = PSEUDO_COUNT) -> Floats:
    """Return the expected counts under the null, (4, n_sets), a pseudo-count added to each kind."""
    counts = counts + pseudo_count
    return np.asarray(counts / (1 + multiplier(counts, weight) * signed(weight)))


def bartlett(expected: Floats, weight: Floats) -> Floats:
    """Return the mean of the statistic under a null, to the next order in the counts.

    1 + m_4 / (2 m_2^2) - m_3^2 / (3 m_2^3), with m_k the sum of expected count times weight^k: that of a
    mean (DiCiccio, Hall & Romano 1991, Annals of Statistics 19, 1053-1061).
    """
    size, size_n, lead, lead_n = *(expected[:2] + expected[2:]), *(expected[:2] - expected[2:])
    square = weight**2
    m2, m3, m4 = size + square * size_n, lead + square * weight * lead_n, size + square**2 * size_n
    return np.asarray(1 + (m4 / 2 - m3**2 / m2 / 3) / m2**2)


def root_change(counts: Floats, weight: Floats, pseudo_count: float = PSEUDO_COUNT) -> Floats:
    """Return what makes of the signed root r of the statistic, its sign aside, Barndorff-Nielsen's r*.

    It is log(u / r) / r of counts n with a pseudo-count added to each kind, as u does not exist where all
    favour one side: u = sum w l log(n / l) / sqrt(sum (w l)^2 / n), l the fit and w the weights. That is
    Fraser and Reid's (1995, Utilitas Mathematica 47, 33-53) for Poisson counts, canonical in log l.
    """
    counts, weights = counts + pseudo_count, signed(weight)
    m = multiplier(counts, weight)
    root = np.sqrt(statistic(counts, weight, m))
    pull = weights * counts / (1 + m * weights)
    u = np.abs((pull * np.log1p(m * weights)).sum(axis=0)) / np.sqrt((pull**2 / counts).sum(axis=0))
    far = root > LEAST_ROOT
    root, u = np.where(far, root, 1), np.where(far, u, 1)
    return np.asarray(np.log(u / root) / root)
