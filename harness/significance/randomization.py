"""Approximate randomization (paired permutation) of two classifiers' decisions, exact without Monte Carlo."""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtrc
from scipy.stats import binom

from harness.measures import error_difference, f1_difference
from harness.significance.mcnemar import mcnemar
from harness.significance.result import TestResult, as_counts, check_choice, settle_degenerate

NEAR = 1e-9
"""Differences of F1 this close to the observed one, relative to the F1s, are compared as integers."""

MAX_DOCUMENTS = 10**7
"""Sets up to this size: one more swap then moves dF1 by at least 5e-8 of the F1s, far more than NEAR."""


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
    one margin the K of the other that count are a tail of its binomial. dF1* is compared with dF1 in
    integers wherever doubles could not tell them apart.

    Parameters
    ----------
    counts : int array, shape (..., 8)
        Joint outcomes e1..e8 of each evaluation set.
    measure : {"f1", "error"}
        What is compared.
    midp : bool
        Take off half the weight of the swaps with |d*| = |d|: less conservative, no longer exact.
    degenerate : {"accept", "reject"}
        Verdict where no swap can change anything: no discordant document, or (F1) no true positive of
        either classifier (p = 1 or p = 0).

    Returns
    -------
    TestResult
        Arrays of shape (...). `statistic` is the observed difference, A minus B.

    Raises
    ------
    ValueError
        If a count is negative or fractional, the shape is wrong, the measure is unknown, or (F1) a set
        holds more than 10 million documents.

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
    cells = as_counts(counts)
    if measure == "error":
        result = mcnemar(cells, "midp" if midp else "exact", degenerate=degenerate)
        return result._replace(statistic=error_difference(cells))
    n = cells.sum(axis=-1)
    if n.size and n.max() > MAX_DOCUMENTS:
        raise ValueError(f"counts: a set of {n.max()} documents is not allowed; at most {MAX_DOCUMENTS} are")
    rows, where = np.unique(cells.reshape(-1, 8), axis=0, return_inverse=True)
    frozen = (rows[:, [1, 2, 5, 6]].sum(axis=1) == 0) | (rows[:, :3].sum(axis=1) == 0)
    pvalues = np.ones(len(rows))
    for i in np.flatnonzero(~frozen):
        pvalues[i] = _f1_pvalue([int(e) for e in rows[i]], midp)
    shape, where = cells.shape[:-1], where.reshape(-1)
    return settle_degenerate(
        pvalues[where].reshape(shape), f1_difference(cells), frozen[where].reshape(shape), degenerate
    )


class _Swaps:
    """The values of dF1/2 over all swaps, along a `walked` margin and, monotone, a `searched` one.

    Both margins count what favours A: `good_p` positives only A finds, `good_n` negatives only A leaves.
    """

    def __init__(self, e: list[int]) -> None:
        self.common_tp = e[0]
        self.base = e[0] + e[1] + e[2] + e[3] + e[4]  # P + e5: the part of both denominators no swap moves
        self.n_p, self.n_n = e[1] + e[2], e[5] + e[6]
        self.walks_n = self.n_n <= self.n_p
        self.observed = self.fraction(e[2], e[5])

    def parts(self, good_p, good_n):
        """Return T_A, D_A, T_B, D_B of a swap (of ints or of arrays)."""
        t_a, t_b = self.common_tp + good_p, self.common_tp + self.n_p - good_p
        return t_a, self.base + t_a + self.n_n - good_n, t_b, self.base + t_b + good_n

    def fraction(self, good_p: int, good_n: int) -> tuple[int, int]:
        """Return dF1/2 of a swap as numerator and denominator, in whole numbers of any size."""
        t_a, d_a, t_b, d_b = self.parts(good_p, good_n)
        return t_a * d_b - t_b * d_a, d_a * d_b

    def value(
        self, walked: NDArray[np.int64], searched: NDArray[np.int64], margin: float
    ) -> NDArray[np.float64]:
        """Return dF1/2 of swaps in doubles, plus `margin` times (F1_A + F1_B)/2."""
        t_a, d_a, t_b, d_b = self.parts(*self.ordered(walked, searched))
        return (1 + margin) * (t_a / d_a) - (1 - margin) * (t_b / d_b)

    def ordered(self, walked, searched):
        """Return (good_p, good_n) from (walked, searched)."""
        return (searched, walked) if self.walks_n else (walked, searched)

    def sign_to(self, walked: int, searched: int, target: tuple[int, int]) -> int:
        """Return the sign of dF1/2 minus the fraction `target`, exactly."""
        top, bottom = self.fraction(*self.ordered(walked, searched))
        gap = top * target[1] - target[0] * bottom
        return (gap > 0) - (gap < 0)


def _f1_pvalue(e: list[int], midp: bool) -> float:
    """Return the p-value of one set with discordant documents and true positives."""
    swaps = _Swaps(e)
    target = abs(swaps.observed[0]), swaps.observed[1]
    at_least, tied = _upper_weight(swaps, target)
    if target[0] == 0:
        # every |dF1*| is at least 0, and the ties are dF1* = 0
        return 1 - tied / 2 if midp else 1.0
    # Swapping every document turns dF1* into -dF1* with the same weight: the two tails are equal.
    pvalue = 2 * (at_least - tied / 2 if midp else at_least)
    return min(1.0, pvalue)


def _upper_weight(swaps: _Swaps, target: tuple[int, int]) -> tuple[float, float]:
    """Return the weights of the swaps with dF1* >= target and with dF1* = target."""
    n_walked, n_searched = (swaps.n_n, swaps.n_p) if swaps.walks_n else (swaps.n_p, swaps.n_n)
    # P(|K - n/2| > 20 sqrt(n)) <= 2 exp(-800) (Hoeffding), which no double can hold.
    reach = math.isqrt(400 * n_walked) + 1
    walked = np.arange(max(0, n_walked // 2 - reach), min(n_walked, n_walked // 2 + reach + 1) + 1)
    goal = target[0] / target[1]
    first = _first_at_least(swaps, walked, n_searched, goal)
    # `first` is the least K that may count: where it is too close to tell, integers decide.
    tied = np.zeros(len(walked), dtype=bool)
    inside = np.flatnonzero(first <= n_searched)
    close = inside[swaps.value(walked[inside], first[inside], -NEAR) <= goal]
    for i in close:
        sign = swaps.sign_to(int(walked[i]), int(first[i]), target)
        tied[i] = sign == 0
        first[i] += sign < 0
    weight = binom.pmf(walked, n_walked, 0.5)
    tails = bdtrc(first - 1, n_searched, 0.5)
    at_ties = (weight[tied] * binom.pmf(first[tied], n_searched, 0.5)).sum() if tied.any() else 0.0
    return float((weight * tails).sum()), float(at_ties)


def _first_at_least(
    swaps: _Swaps, walked: NDArray[np.int64], n_searched: int, goal: float
) -> NDArray[np.int64]:
    """Return for each walked K the least searched K with dF1/2 >= goal or near it, n_searched + 1 if none."""
    low = np.zeros(len(walked), dtype=np.int64)
    high = np.full(len(walked), n_searched + 1)
    for _ in range((n_searched + 1).bit_length()):
        middle = (low + high) // 2  # where low = high already, this repeats a settled comparison
        value = swaps.value(walked, np.minimum(middle, n_searched), NEAR)
        reached = (value >= goal) | (middle > n_searched)
        high = np.where(reached, middle, high)
        low = np.where(reached, low, middle + 1)
        low = np.minimum(low, high)
    return high
