"""Tests of two systems on items in clusters, which are drawn whole; the measure weighs every item alike.

A cluster is a kind of document with several items. So few are there, mostly, that the normal distribution is
too narrow for a difference over its standard error.
"""

import numpy as np

from harness.advise.documents.tests import (
    ROUNDING,
    Kinds,
    Terms,
    chunk_size,
    deviations,
    in_parts,
    staged,
    t_test,
    undecided,
)
from harness.measures import Floats, Ints, ratio
from harness.significance.result import TestResult, settle_degenerate

_ALL = 1 - 1e-9  # a cluster with so large a part of a denominator leaves nothing to compare it with


def wald_by_cluster(counts: Ints, kinds: Kinds) -> TestResult:
    """Cluster-robust Wald test of a measure's difference, with Student's t for G clusters.

    Null hypothesis: the measure, a ratio of sums over all items, is the same for A and B. Asymptotic in G:
    ``t = d / se``, ``se^2 = G / (G - 1) sum_g psi_g^2 / G^2``, with G - 1 degrees of freedom (Liang & Zeger
    1986, Biometrika 73, 13-22; Cameron & Miller 2015, Journal of Human Resources 50, 317-372, section VI).
    """
    return t_test(*robust(counts, kinds))


def robust(counts: Ints, kinds: Kinds) -> tuple[Floats, Floats, Floats]:
    """Return G d, G^2 se^2 and the degrees of freedom of :func:`wald_by_cluster`."""
    terms, n = kinds.terms, counts.sum(axis=-1)
    d, total = in_parts(counts, chunk_size(terms), lambda sets: deviations(sets, terms))
    factor = ratio(n, n - 1)
    return d * n, total * factor, np.maximum(n - 1.0, 1.0)


def wald_by_cluster_cr2(counts: Ints, kinds: Kinds) -> TestResult:
    """Wald test with the variance CR2 and its degrees of freedom by Bell and McCaffrey.

    Null hypothesis: as :func:`wald_by_cluster`. ``se^2 = sum_g psi_g^2 / (1 - h_g) / G^2``, h_g the part that
    a cluster has in the denominators of the measure (of the error: in the items); unbiased, as are the
    degrees of freedom, where items are independent (Bell & McCaffrey 2002, Survey Methodology 28, 169-181;
    Imbens & Kolesar 2016, Review of Economics and Statistics 98, 701-712). With clusters of one size it is
    :func:`wald_by_cluster`.
    """
    return t_test(*robust_cr2(counts, kinds))


def robust_cr2(counts: Ints, kinds: Kinds) -> tuple[Floats, Floats, Floats]:
    """Return G d, G^2 se^2 and the degrees of freedom of :func:`wald_by_cluster_cr2`."""
    terms = kinds.terms
    d, total, freedom = in_parts(counts, chunk_size(terms), lambda sets: _adjusted(sets, terms))
    return d * counts.sum(axis=-1), total, freedom


def _adjusted(counts: Ints, terms: Terms) -> tuple[Floats, Floats, Floats]:
    """Return d, ``sum_g psi_g^2 / (1 - h_g)`` and the degrees of freedom of each set, shape (n_sets,)."""
    d, plain = deviations(counts, terms)
    own, totals, part = counts.astype(float), terms.totals(counts.astype(float)), terms.sums[..., 1::2]
    bottoms = totals[..., 1::2]
    each = ratio(terms.weights[:, None], bottoms)
    h = each.reshape(len(own), -1) @ part.reshape(len(part), -1).T
    sums = (own * h).sum(axis=1, keepdims=True)
    h = np.where(own > 0, ratio(h, sums), 0.0)
    rest = np.where(h < _ALL, 1 - h, np.inf)
    psi = terms.slopes(totals, own.sum(axis=-1)) @ terms.columns.T
    total = np.where((plain > 0) & (h < _ALL).all(axis=1), (own * psi**2 / rest).sum(axis=1), 0.0)
    a = h**2 / rest
    squares = (own * h**2).sum(axis=1) + (own * a).sum(axis=1) ** 2 - (own * a**2).sum(axis=1)
    return d, total, 1 / np.where(squares > 0, squares, 1.0)


def randomization_by_cluster(
    counts: Ints, kinds: Kinds, n_replicates: int, rng: np.random.Generator, stop: float = 1.0
) -> TestResult:
    """Randomization test of a difference over its standard error: A and B exchanged on whole clusters.

    Null hypothesis: on every cluster what A and B decide could as well be exchanged. Exact for it, and
    asymptotically right where only the measures are equal, as the standard error is computed anew for each
    exchange (Janssen 1997, Statistics & Probability Letters 36, 9-21). ``p = (1 + k) / (R + 1)``, k the
    number of R exchanges with a ratio at least as far from 0 as that of the set.
    """
    both, n_kinds = kinds.with_exchanged().terms, len(kinds.cells)

    def far(sets: Ints) -> Floats:
        d, total = deviations(sets, both)
        found = ratio(np.abs(d), np.sqrt(total))
        return np.where((total == 0) & (d != 0), np.inf, found)

    (own,) = in_parts(np.concatenate([counts, 0 * counts], axis=1), chunk_size(both), lambda s: (far(s),))

    def draw(sets: Ints, times: int) -> tuple[np.ndarray]:
        """Return which exchanges have a ratio as far from 0 as the set itself."""
        heads = rng.binomial(counts[sets], 0.5, size=(times, len(sets), n_kinds))
        drawn = np.concatenate([counts[sets] - heads, heads], axis=-1).reshape(-1, 2 * n_kinds)
        (found,) = in_parts(drawn, chunk_size(both), lambda s: (far(s),))
        return (found.reshape(times, len(sets)) >= own[sets] * (1 - ROUNDING),)

    found = staged(len(counts), 2 * n_kinds, draw, n_replicates, stop)
    return settle_degenerate(found, kinds.difference(counts), undecided(counts, kinds), "accept")
