"""Approximate randomization (paired permutation) of two classifiers' decisions, exact without Monte Carlo."""

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from harness.measures import Floats, Ints, error_difference, f1_difference
from harness.significance.bootstrap_f1 import frozen
from harness.significance.equal_counts import distinct_rows, keep_last
from harness.significance.mcnemar import mcnemar
from harness.significance.result import TestResult, as_counts, check_choice, settle_degenerate

MAX_DOCUMENTS = 10**7
"""Sets up to this size: the comparison in integers, see ``_gap``, is then exact."""

NEGLIGIBLE = -39.0
"""Logarithm of the part of a p-value, 1e-17, that may be left out."""

FARTHEST = -800.0
"""Logarithm of a weight that no double can hold: binomial tables end there."""

SMALL = 2**16
"""With D_A + D_B below this the root below is right to 1e-5, and the products of ``_gap`` fit in 64 bits."""

CLOSE = 1e-4
"""Roots this close to a whole number are checked."""

BLOCK = 1 << 16
"""Swaps and entries of binomial tables looked at together, few enough for a processor's cache."""

CACHED = 1024
"""Binomial tables of margins up to this (at most 16 KB each) are kept for the next sets."""


def randomization(
    counts: ArrayLike, measure: str, midp: bool = False, *, degenerate: str = "accept"
) -> TestResult:
    """Randomization test: swap the two decisions on each document with probability 1/2.

    Null hypothesis: the two decisions on a document are exchangeable (the *joint* null: e2 and e3 have
    equal probabilities, and e6 and e7). It implies equal F1 and equal error, but is not implied by them;
    the test is exact there. Only discordant documents change anything, hence, for F1, a swap sets
    e3 = K_p, e2 = e2 + e3 - K_p, e7 = K_n, e6 = e6 + e7 - K_n with K_p and K_n independent binomials of
    probability 1/2, and p is the weight of |dF1*| >= |dF1|. For the error it is McNemar's exact test, or
    its mid-p.

    All swaps are weighed, none is sampled: dF1* grows with K_p and falls with K_n, so that for each K of
    one margin the K of the other that count are a tail of its binomial, and the first of them is the root
    of a quadratic equation. Whether dF1* reaches dF1 is settled in integers: ties count.

    `statistic` is the observed difference, A minus B. Degenerate where no swap can change anything: no
    discordant document, or (F1) no true positive of either classifier.

    Parameters
    ----------
    measure : {"f1", "error"}
    midp : bool
        Take off half the weight of the swaps with |d*| = |d|: less conservative, no longer exact.

    References
    ----------
    Yeh (2000), More accurate tests for the statistical significance of result differences, COLING;
    Noreen (1989), Computer-Intensive Methods for Testing Hypotheses.

    Examples
    --------
    >>> counts = [20, 2, 9, 3, 4, 6, 5, 951]
    >>> result = randomization(counts, "f1")
    >>> round(float(result.statistic), 4), round(float(result.pvalue), 4)
    (0.1389, 0.0557)
    >>> round(float(randomization(counts, "f1", midp=True).pvalue), 4)
    0.0497
    """
    check_choice("measure", measure, ("f1", "error"))
    if measure == "error":
        result = mcnemar(counts, "midp" if midp else "exact", degenerate=degenerate)
        return result._replace(statistic=error_difference(counts))
    cells = as_counts(counts, MAX_DOCUMENTS)
    same = frozen(cells)
    pvalues = np.ones(same.shape)
    reached, tied = _f1_weights(cells[~same])
    pvalues[~same] = np.minimum(reached - tied / 2 if midp else reached, 1)
    return settle_degenerate(pvalues, f1_difference(cells), same, degenerate)


@keep_last
def _f1_weights(cells: Ints) -> Floats:
    """Return the weights of the swaps with |dF1*| >= |dF1| and with |dF1*| = |dF1|, shape (2, n_sets)."""
    sets = _relevant(cells)
    first, which = distinct_rows(sets)
    return _two_sided_weights(sets[first].T)[:, which]


def _relevant(cells: Ints) -> Ints:
    """Return all that the p-value depends on, columns common, base, n_p, n_n, good_p, good_n.

    `good_p` are the positives only A finds, of the `n_p` that one of the two finds; `good_n` the negatives
    only A leaves, of `n_n`; `common` the positives both find; `base` = P + e5 the part of 2T + FP + FN that
    is the same for both. Where B has the higher F1, A and B are exchanged, which changes no p-value.
    """
    e1, e2, e3, e4, e5, e6, e7, _ = cells.T
    same = [e1, e1 + e2 + e3 + e4 + e5, e2 + e3, e6 + e7]
    top, _ = _difference(np.array(same), e3, e6)
    return np.array([*same, np.where(top < 0, e2, e3), np.where(top < 0, e7, e6)]).T


def _difference(sets: Ints, good_p: Ints, good_n: Ints) -> tuple[Ints, Ints]:
    """Return dF1/2 of a swap as numerator and denominator."""
    common, base, n_p, n_n = sets[:4]
    t_a, t_b = common + good_p, common + n_p - good_p
    d_a, d_b = base + t_a + n_n - good_n, base + t_b + good_n
    return t_a * d_b - t_b * d_a, d_a * d_b


def _two_sided_weights(sets: Ints) -> Floats:
    """Return the weights of :func:`_f1_weights` for sets of shape (6, n_sets), none of them degenerate."""
    n_p, n_n, good_p, good_n = sets[2:]
    shorter, longer = np.minimum(n_p, n_n), np.maximum(n_p, n_n)
    top, bottom = _difference(sets, good_p, good_n)
    # no p-value is less than the weight of what was seen
    negligible = _log_weight(n_p, good_p) + _log_weight(n_n, good_n) + NEGLIGIBLE
    reach = _reach(shorter, np.maximum(negligible, FARTHEST))
    sets = np.array([*sets[:4], top, bottom, reach])
    work = 2 * (reach + _reach(longer, FARTHEST) + 1)
    order = np.argsort(reach, kind="stable")  # a block is as long as its longest set
    weights = np.zeros((2, len(top)))
    for walks_n in (False, True):  # along the shorter margin every K is looked at
        chosen = order[(n_n <= n_p)[order] == walks_n]
        block = np.cumsum(work[chosen]) // BLOCK
        for part in np.split(chosen, np.flatnonzero(np.diff(block)) + 1):
            if part.size:
                weights[:, part] = _upper_weights(sets[:, part], walks_n)
    at_least, tied = weights
    # Swapping every document turns dF1* into -dF1* with the same weight: the two tails are equal. Where
    # dF1 = 0, every |dF1*| is at least 0 and the ties are dF1* = 0.
    return np.stack([np.where(top == 0, 1, 2 * at_least), np.where(top == 0, tied, 2 * tied)])


def _upper_weights(sets: Ints, walks_n: bool) -> Floats:
    """Return the weights of the swaps with dF1* >= dF1 and with dF1* = dF1, where dF1 >= 0."""
    n_walked, n_searched = sets[[3, 2]] if walks_n else sets[[2, 3]]
    high = n_walked // 2 + sets[6]
    walked = np.arange(2 * sets[6].max() + 1)[:, None] + (n_walked - high)  # (K, set)
    inside, walked = walked <= high, np.minimum(walked, high)
    pmf, _, shift, *_ = _binomials(n_walked)
    weight = pmf.take(walked + shift) * inside
    pmf, tail, shift, *ends = _binomials(n_searched)
    first, ties = _first_at_least(sets, walked, walks_n, *ends)
    first += shift
    # Both sums add one K after the other, so that the other sets of the block cannot change the rounding.
    at_least = sum(weight * tail.take(first))
    tied = np.bincount(ties % len(high), weight.take(ties) * pmf.take(first.take(ties)), len(high))
    return np.stack([at_least, tied])


def _first_at_least(sets: Ints, walked: Ints, walks_n: bool, low: Ints, end: Ints) -> tuple[Ints, Ints]:
    """Return the least searched K from `low` to `end` with dF1* >= dF1, and the flat places of ties.

    It is `end` where there is none. A quadratic equation gives it; where rounding could matter, whole
    numbers set it right.
    """
    root = (_root_in_n_p if walks_n else _root_in_n_n)(sets.astype(float), walked.astype(float)) - CLOSE
    above = np.ceil(root)
    first = np.clip(above, low, end).astype(np.int64)
    k, tie, large = first.reshape(-1), np.zeros(first.size, dtype=bool), _scale(sets) >= SMALL
    left = np.flatnonzero((above - root < 2 * CLOSE) | large)
    while left.size:
        which = left % len(low)
        here, there = sets.take(which, axis=1), walked.take(left)
        gap = np.where(k[left] < end[which], _gap(here, there, k[left], walks_n), 1)
        move = (gap < 0).astype(np.int64)
        if large.any():
            move -= (k[left] > low[which]) & (_gap(here, there, k[left] - 1, walks_n) >= 0)
        tie[left] = gap == 0
        k[left] += move
        left = left[move != 0]
    return first, np.flatnonzero(tie)


def _scale(sets: Ints) -> Ints:
    """Return D_A + D_B, the sum of both 2T + FP + FN, which no swap changes."""
    common, base, n_p, n_n = sets[:4]
    return np.asarray(2 * (common + base) + n_p + n_n)


def _root_in_n_p(sets: Ints, good_n: Ints) -> Floats:
    """Return the good_p, not a whole number, at which dF1* = dF1.

    T_A / D_A - T_B / D_B with D_A + D_B fixed; here D_A - T_A and D_B - T_B are fixed too, and the equation
    in D_A is goal D_A^2 + (w - goal s) D_A - u s = 0 with u = D_A - T_A, w = D_A - T_A + D_B - T_B,
    s = D_A + D_B.
    """
    common, base, n_p, n_n, top, bottom, _ = sets
    u, w = base + n_n - good_n, 2 * base + n_n
    s = w + 2 * common + n_p
    half = w - top / bottom * s
    return np.asarray(2 * s * u / (half + np.sqrt(half**2 + 4 * top / bottom * s * u)) - u - common)


def _root_in_n_n(sets: Ints, good_p: Ints) -> Floats:
    """Return the good_n, not a whole number, at which dF1* = dF1.

    As in ``_root_in_n_p``; here T_A and T_B are fixed, and goal D_A^2 - (t + goal s) D_A + T_A s = 0 with
    t = T_A + T_B.
    """
    common, base, n_p, n_n, top, bottom, _ = sets
    t, t_a = 2 * common + n_p, common + good_p
    s = t + 2 * base + n_n
    half = t + top / bottom * s
    root = np.sqrt(np.maximum(half**2 - 4 * top / bottom * s * t_a, 0))
    return np.asarray(base + n_n + t_a - 2 * s * t_a / (half + root))


def _gap(sets: Ints, walked: Ints, searched: Ints, walks_n: bool) -> Ints:
    """Return a whole number with the sign of dF1* - dF1.

    The products are of size s^4 / 16 at most, s = D_A + D_B. Where they pass 64 bits they wrap round, which
    leaves the difference right if it does not itself pass them; doubles tell whether it does.
    """
    top, bottom = _difference(sets, *((searched, walked) if walks_n else (walked, searched)))
    gap = top * sets[5] - sets[4] * bottom
    if _scale(sets).max() < SMALL:
        return np.asarray(gap)
    rough = top * sets[5].astype(float) - sets[4] * bottom.astype(float)
    return np.asarray(np.where(np.abs(rough) < 2.0**62, gap, np.sign(rough).astype(np.int64)))


def _log_weight(n: Ints, k: Ints) -> Floats:
    """Return a lower bound of log P(K = k), K ~ Bin(n, 1/2).

    With x = 2k/n - 1 it is -n (x^2 / 2 + x^4 / 12 + ...) - log(n pi / 2) / 2 by Stirling, the series log 2 at
    x = 1, and -log(2 n) / 2 in place of the last term is less.
    """
    n = np.maximum(n, 1)
    square = (2 * k - n) ** 2 / n
    return np.asarray(-square / 2 - (np.log(2) - 0.5) * square**2 / n - np.log(2 * n) / 2)


def _reach(n: Ints, log_weight: Floats | float) -> Ints:
    """Return how far from n // 2 to look so that the K ~ Bin(n, 1/2) beyond weigh less than exp(log_weight).

    P(|K - n/2| >= t) <= 2 exp(-2 t^2 / n) (Hoeffding).
    """
    return np.asarray(np.minimum(n - n // 2, np.sqrt((np.log(2) - log_weight) * n / 2).astype(np.int64) + 1))


def _binomials(n: Ints) -> tuple[Floats, Floats, Ints, Ints, Ints]:
    """Return P(K = k) and P(K >= k) of Bin(n, 1/2), tables of each n side by side.

    Behind them for each of `n`: what leads from k to its place, and the first and the last k.
    """
    sizes, which = np.unique(n, return_inverse=True)
    tables = [(_small_table if size <= CACHED else _table)(size) for size in sizes.tolist()]
    low, lengths = sizes - sizes // 2 - _reach(sizes, FARTHEST), np.array([len(table.T) for table in tables])
    pmf, tail = np.concatenate(tables, axis=1)
    shift = np.cumsum(lengths) - lengths - low
    return pmf, tail, shift[which], low[which], (low + lengths - 1)[which]


def _table(n: int) -> Floats:
    """Return P(K = k) and P(K >= k) of K ~ Bin(n, 1/2) for k = n - m..m, m = n // 2 + reach, then zeros."""
    middle, reach = n // 2, int(_reach(np.array(n), FARTHEST))
    k = np.arange(middle, middle + reach)
    above = np.concatenate([[1.0], np.cumprod((n - k) / (k + 1))])  # P(K = k) / P(K = middle), k >= middle
    below = above[n % 2 + 1 :][::-1]  # P(K = k) = P(K = n - k)
    pmf = np.concatenate([below, above, [0.0]])
    pmf /= pmf.sum()
    table = np.stack([pmf, np.cumsum(pmf[::-1])[::-1]])
    table.flags.writeable = False  # shared by all sets with such a margin
    return table


_small_table = lru_cache(maxsize=2048)(_table)
