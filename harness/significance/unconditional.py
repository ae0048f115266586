"""Unconditional tests of equal F1, precision or detection cost, by listing what could have been seen.

The statistic is the likelihood ratio of four weighted counts (:mod:`harness.significance.weighted`); its
distribution is that of four cells of a multinomial of all N documents. With m its unknown, the statistic is
twice the largest of

    a_c log(1 + w_c m) + a_k log(1 + w_k m) + b_1 log(1 - m) + b_J log(1 - J m),

a and b the counts in favour of A and B, c and k the two kinds 1 and J, c that of which more are expected. So
a set in favour of A has a statistic of at least t where, for some m > 0, the sum reaches t / 2: for given
a_k, b_1 and b_J that says how large a_c must be at least. Three of the four counts are listed, and the
fourth is summed up from there on.
"""

from functools import lru_cache

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.random import Generator
from numpy.typing import ArrayLike
from scipy.special import gammaln, xlog1py, xlogy

from harness.errors import check_choice, require
from harness.measures import EXCHANGED, Bools, Floats, Ints
from harness.significance import weighted
from harness.significance.likelihood_ratio import nothing_to_compare
from harness.significance.result import TestResult, as_counts, chi_square_upper, settle_degenerate
from harness.significance.worst_null import GAMMA, guaranteed

VARIANTS = ("estimated", "berger_boos")

LARGE, LARGE_ENOUGH, LIKELY = 12.0, 5.0, 0.1
"""Expected count of the rarest kind from which the chi-square distribution is used: always, and for p-values
of at least so much."""

STEP = 0.01
"""The weight is rounded to 1 %, far closer than a set tells it: sets that are alike share a p-value."""

FAR = 5.0
"""Counts more standard deviations (and 4 documents) away are left out; they weigh less than 1e-6."""

BALANCED = 1e-9
"""Half a statistic that is 0 but for rounding: every set reaches it."""

WIDE = 3.0
"""From this standard deviation of a count on every s-th is listed, 1.5 or more in a standard deviation; p
moves by up to 2 % of itself."""

NODES = np.concatenate([[0.004, 0.016, 0.04], np.sin(np.linspace(0.06, 0.96, 18) * np.pi / 2), [0.9999]])
"""Values of m, as a share of the largest, at which the sum is looked at, beside that of the set."""


def f1(
    counts: ArrayLike, variant: str = "estimated", rng: Generator | None = None, *, degenerate: str = "accept"
) -> TestResult:
    """Unconditional test of equal F1: :func:`unconditional` with ``measure="f1"``.

    Null hypothesis: F1 of A equals that of B on the population.

    Parameters
    ----------
    variant : {"estimated", "berger_boos"}
    rng : Generator, optional
        Changes nothing, as nothing is drawn.

    Examples
    --------
    Three documents tell A from B, all in favour of A.

    >>> counts = [12, 0, 2, 6, 3, 1, 0, 976]
    >>> [round(float(f1(counts, variant).pvalue), 3) for variant in VARIANTS]
    [0.09, 0.102]
    """
    return unconditional(counts, "f1", variant, degenerate=degenerate)


def unconditional(
    counts: ArrayLike,
    measure: str = "f1",
    variant: str = "estimated",
    costs: float = 1.0,
    pseudo_count: float = weighted.PSEUDO_COUNT,
    *,
    degenerate: str = "accept",
) -> TestResult:
    """Unconditional test of equal F1, precision or detection cost.

    Null hypothesis: the measure of A equals that of B on the population. The statistic is the likelihood
    ratio of the four counts of documents that one classifier alone gets right, given what a negative weighs
    beside a positive: F1 / (2 - F1), with the F1 of both taken together, and likewise for the others. p is
    the probability of one at least as large, over all sets of N documents,

    - ``"estimated"``: under the null fitted to the set, 1/4 of a document added to each of the four counts.
      The size may exceed alpha slightly (docs/level.md);
    - ``"berger_boos"``: the largest under any null in a region that misses the true one with probability
      at most 1e-4, plus 1e-4. The size is at most alpha, whatever the population, but for what the search
      for the largest may miss. Not for the DCF. (The statistic is then the likelihood ratio of all cells.)

    Where the fit gives each of the four 12 documents (5, where p >= .1), the chi-square distribution of the
    statistic divided by its Bartlett factor is used by both; the p-values agree to 2 % of themselves there,
    and the size is no longer guaranteed.

    `statistic` is the chi-square, which has no sign. Degenerate where no document tells A from B, and where
    the likelihood ratio test of the measure is; for the DCF without a positive or without a negative.

    Parameters
    ----------
    measure : {"f1", "precision", "dcf"}
    variant : {"estimated", "berger_boos"}
    costs : float
        For the DCF: cost_fp (1 - prior) / (cost_fn prior), above 0.
    pseudo_count : float
        What is added to each of the four counts before the null is fitted (estimated), above 0.

    References
    ----------
    Storer & Kim (1990), Journal of the American Statistical Association 85, 146-155 (estimated); Berger &
    Boos (1994), the same 89, 1012-1016.

    Examples
    --------
    >>> counts = [20, 2, 9, 3, 4, 6, 5, 951]
    >>> [round(float(unconditional(counts, measure).pvalue), 3) for measure in ("f1", "precision", "dcf")]
    [0.045, 0.321, 0.034]
    """
    check_choice("measure", measure, weighted.MEASURES)
    check_choice("variant", variant, VARIANTS)
    for name, value in (("costs", costs), ("pseudo_count", pseudo_count)):
        require(0 < value < np.inf, f"{name}: {value!r} is not allowed; a number above 0 is needed")
    require(
        measure != "dcf" or variant == "estimated",
        f"variant: {variant!r} is not there for the DCF; only estimated is",
    )
    cells = as_counts(counts)
    flat = cells.reshape(-1, 8)
    frozen = _nothing_to_compare(flat, measure)
    pvalue, found = np.ones(len(flat)), np.zeros(len(flat))
    if not frozen.all():
        pvalue[~frozen], found[~frozen] = _test(
            flat[~frozen], measure, variant, float(costs), float(pseudo_count)
        )
    shape = cells.shape[:-1]
    return settle_degenerate(pvalue.reshape(shape), found.reshape(shape), frozen.reshape(shape), degenerate)


def _nothing_to_compare(cells: Ints, measure: str) -> Bools:
    if measure != "dcf":
        return nothing_to_compare(cells, measure)
    n_positives, n_negatives = cells[:, :4].sum(axis=1), cells[:, 4:].sum(axis=1)
    same = weighted.kinds(cells).sum(axis=0) == 0
    return np.asarray(same | (n_positives == 0) | (n_negatives == 0))


def _test(
    cells: Ints, measure: str, variant: str, costs: float, pseudo_count: float
) -> tuple[Floats, Floats]:
    """Return p-values and statistics of sets that can be compared."""
    turn = np.sign(cells[:, [1, 6]] - cells[:, [2, 5]]) @ [2, 1] > 0
    cells = np.where(turn[:, None], cells[:, EXCHANGED], cells)  # so that p is the same to the last digit
    place = np.round(np.log(weighted.weight_of(cells, measure, costs)) / STEP).astype(np.int64)
    counts, weight = weighted.kinds(cells).astype(float), np.exp(STEP * place)
    found = weighted.statistic(counts, weight, weighted.multiplier(counts, weight))
    expected = weighted.fit(counts, weight, pseudo_count)
    corrected = found / weighted.bartlett(expected, weight)
    pvalue = chi_square_upper(corrected) + GAMMA * (variant == "berger_boos")
    least = expected.min(axis=0)
    (few,) = np.nonzero((least < LARGE) & ((least < LARGE_ENOUGH) | (pvalue < LIKELY)))
    if variant == "estimated":
        for i, row in zip(few, counts[:, few].T.astype(int).tolist(), strict=True):
            pvalue[i] = _estimated(pseudo_count, *row, int(place[i]), int(cells[i].sum()))
    else:
        for i in few:
            pvalue[i] = guaranteed(measure, *cells[i].tolist())
    return np.minimum(pvalue, 1), found


@lru_cache(maxsize=2**17)
def _estimated(pseudo_count: float, *known: int) -> float:
    """Return the p-value by the four counts, the place of the weight and N; evaluation sets repeat."""
    counts, weight, n = np.array(known[:4], dtype=float)[:, None], np.exp([STEP * known[4]]), known[5]
    m = weighted.multiplier(counts, weight)
    reached = float(weighted.statistic(counts, weight, m)[0]) / 2
    if reached < BALANCED:
        return 1.0
    most = 1 / np.maximum(weight, 1)
    nodes = np.append(NODES * most, np.clip(np.abs(m), 1e-6 * most, (1 - 1e-9) * most))
    # of both kinds in favour of A, then of both in favour of B
    logs = np.log1p(nodes * weighted.signed(weight))
    expected = weighted.fit(counts, weight, pseudo_count)[:, 0] * n / (n + 4 * pseudo_count)
    in_favour_of_b = expected[[2, 3, 0, 1]]
    return sum(_probability(null, logs, reached, n) for null in (expected, in_favour_of_b))


def _probability(expected: Floats, logs: Floats, reached: float, n: int) -> float:
    """Return the probability of the sets in favour of the first two kinds that reach half the statistic."""
    if expected[0] < expected[1]:
        expected, logs = expected[[1, 0, 2, 3]], logs[[1, 0, 2, 3]]
    first, _ = _counts(expected[0], np.inf)
    (one, step_1), (two, step_2), (three, step_3) = (_counts(mean, WIDE) for mean in expected[1:])
    least = np.clip(_least(logs, reached, [one, two, three]) - first[0], 0, len(first)).astype(np.intp)
    total = one[:, None, None] + two[:, None] + three
    low, high = int(total.min() + first[0]), int(total.max() + first[-1])
    # a multinomial: what Poisson counts of the four would have, times a factor of what they leave of N
    taken = np.arange(high + 1)
    log = np.append(0, np.log(np.maximum(1 - taken[:-1] / n, 1e-300)).cumsum())  # n! / (n - taken)! / n^taken
    log += xlog1py(np.maximum(n - taken, 0), -min(1, expected.sum() / n)) + expected.sum()
    factor = np.where(taken <= n, np.exp(log), 0)[low:]
    table = _poisson(first, expected[0]) * sliding_window_view(factor, len(first))  # by total and first
    tail = np.zeros((len(table), len(first) + 1))
    tail[:, :-1] = table[:, ::-1].cumsum(axis=1)[:, ::-1]
    found = tail.ravel()[(total - total.min()) * tail.shape[1] + least]
    for counts, mean in zip((three, two, one), expected[:0:-1], strict=True):
        found = found @ _poisson(counts, mean)
    return float(found) * step_1 * step_2 * step_3


def _counts(mean: float, wide: float) -> tuple[Ints, int]:
    """Return the counts that are not negligible, and from each to the next."""
    deviation = mean**0.5
    step = max(1, int(2 * deviation / wide)) if deviation >= wide else 1
    return np.arange(max(0, int(mean - FAR * deviation - 1)), int(mean + FAR * deviation + 6), step), step


def _poisson(counts: Ints, mean: float) -> Floats:
    return np.asarray(np.exp(xlogy(counts, mean) - mean - gammaln(counts + 1)))


def _least(logs: Floats, reached: float, listed: list[Ints]) -> Floats:
    """Return the least count of the first kind at which the sum is `reached` for some node, (3 axes)."""
    start, rate = reached / logs[0], -logs[1:] / logs[0]
    one, two, three = listed
    above = start[:, None, None] + rate[0][:, None, None] * one[:, None] + rate[1][:, None, None] * two
    above, beside = above.reshape(len(start), -1, 1), rate[2][:, None] * three
    least = above[0] + beside[0]
    sums = np.empty_like(least)
    for part, other in zip(above[1:], beside[1:], strict=True):
        np.add(part, other, out=sums)
        np.minimum(least, sums, out=least)
    return np.asarray(np.ceil(least - 1e-7).reshape(len(one), len(two), len(three)))
