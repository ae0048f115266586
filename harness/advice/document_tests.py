"""Tests of two systems on several categories, the documents being drawn and not the single decisions.

A set is a number of documents of each kind. A kind has what such a document adds to the two ratios that are
compared, A's and B's: for micro F1 twice its true positives, and its positives with those that were decided.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.influence import A, B, Y
from harness.significance.mcnemar import mcnemar
from harness.significance.proportion import two_sided
from harness.significance.result import TestResult, settle_degenerate
from harness.significance.wald import wald

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SIDES = {
    "f1": (np.stack([2 * Y * A, 2 * Y * B]), np.stack([Y + A, Y + B])),
    "error": (np.stack([np.abs(Y - A), np.abs(Y - B)]), np.ones((2, 8))),
    "precision": (np.stack([Y * A, Y * B]), np.stack([A, B])),
    "recall": (np.stack([Y * A, Y * B]), np.stack([Y, Y])),
}
"""What each cell adds above and below to the measure of A and of B."""
ROUNDING = 1e-12
FIRST_STAGE = 20
_AT_ONCE = 2_000_000  # numbers drawn at a time


class Kinds(NamedTuple):
    """The kinds of documents of two systems.

    Attributes
    ----------
    cells : int array, shape (n_kinds, 8)
        In how many categories such a document falls into each cell e1..e8.
    measure : str
        One of :data:`SIDES`, pooled over the categories.
    """

    cells: Ints
    measure: str

    def sums(self) -> Floats:
        """Return what a document adds: A's top and bottom, B's top and bottom, shape (n_kinds, 4)."""
        tops, bottoms = SIDES[self.measure]
        return self.cells @ np.stack([tops[0], bottoms[0], tops[1], bottoms[1]]).T


def difference_by_document(counts: Ints | Floats, kinds: Kinds) -> Floats:
    """Return the pooled measure of A minus that of B; 0/0 counts as 0.

    Parameters
    ----------
    counts : array, shape (..., n_kinds)
        Documents of each kind, or shares.
    kinds : Kinds

    Examples
    --------
    >>> kinds = Kinds(np.array([[1, 0, 1, 0, 0, 0, 0, 1], [0, 0, 0, 0, 0, 0, 1, 2]]), "f1")
    >>> float(difference_by_document(np.array([2, 3]), kinds).round(4))  # 8/11 and 4/6
    0.0606
    """
    return _difference(np.asarray(counts, dtype=float) @ kinds.sums())


def influence_of_documents(shares: Floats, kinds: Kinds) -> Floats:
    """Return the influence of a document of each kind on the difference, shape (..., n_kinds).

    A ratio r with mean top t and mean bottom b has ``psi_i = (t_i - r b_i) / b``
    (:func:`harness.influence.influence` has the same for one category).
    """
    sums = kinds.sums()
    return _slopes(shares @ sums, shares.sum(axis=-1)) @ sums.T


def _difference(totals: Floats) -> Floats:
    found = _ratio(totals[..., 0], totals[..., 1]) - _ratio(totals[..., 2], totals[..., 3])
    return np.where(np.abs(found) < ROUNDING, 0.0, found)


def _slopes(totals: Floats, n: Floats | Ints) -> Floats:
    """Return how much the difference grows with each of the four sums of a document, times n."""
    inverse = [_ratio(np.asarray(n, dtype=float), totals[..., side]) for side in (1, 3)]
    a, b = (_ratio(totals[..., side], totals[..., side + 1]) for side in (0, 2))
    return np.stack([inverse[0], -a * inverse[0], -inverse[1], b * inverse[1]], axis=-1)


def _ratio(top: Floats, bottom: Floats) -> Floats:
    return np.divide(top, bottom, out=np.zeros(np.broadcast(top, bottom).shape), where=bottom > 0)


def wald_by_document(counts: Ints, kinds: Kinds) -> TestResult:
    """Wald test of a pooled measure's difference, with the variance over documents.

    Null hypothesis: the measure, pooled over the categories, is the same for A and B. Asymptotic in the
    number of documents: ``z = d / se``, ``se^2 = sum_i n_i psi_i^2 / N^2`` (delta method), psi the
    influence of a document; a document's decisions may hang on each other in any way.

    Parameters
    ----------
    counts : int array, shape (..., n_kinds)
    kinds : Kinds

    Returns
    -------
    TestResult
        p = 1 where no document has influence.

    References
    ----------
    Cochran (1977), Sampling Techniques, section 6.4 (the variance of a ratio of totals over drawn units).

    Examples
    --------
    >>> cells = np.array([[1, 0, 1, 0, 0, 0, 0, 1], [0, 2, 0, 0, 0, 0, 0, 1], [0, 0, 0, 0, 0, 0, 1, 2]])
    >>> round(float(wald_by_document(np.array([20, 5, 30]), Kinds(cells, "f1")).pvalue), 4)
    0.3444
    """
    sums = kinds.sums()
    n = counts.sum(axis=-1)
    weights = counts.astype(float)
    totals = weights @ sums
    squares = np.einsum("ki,kj->kij", sums, sums).reshape(len(sums), 16)
    moments = (weights @ squares).reshape(*counts.shape[:-1], 4, 4)
    slopes = _slopes(totals, n)
    variance = np.einsum("...i,...ij,...j->...", slopes, moments, slopes)
    # rounding leaves some 1e-16 of what cancels
    size = np.einsum("...i,...ij,...j->...", np.abs(slopes), moments, np.abs(slopes))
    constant = variance <= ROUNDING * size
    d = _difference(totals)
    z = np.where(constant, 0.0, d * n / np.sqrt(np.where(constant, 1.0, variance)))
    return settle_degenerate(two_sided(z), z, constant, "accept")


def bootstrap_by_document(
    counts: Ints, kinds: Kinds, n_replicates: int, rng: np.random.Generator, stop: float = 1.0
) -> TestResult:
    """Percentile bootstrap of a pooled measure's difference, documents drawn with replacement.

    Null hypothesis: as :func:`wald_by_document`. Asymptotic. ``p = 2 (1 + min(k0, k1)) / (R + 1)``, k0 and
    k1 the numbers of R replicates with a difference of at most and of at least 0.

    Parameters
    ----------
    counts : int array, shape (n_sets, n_kinds)
    kinds : Kinds
    n_replicates : int
    rng : numpy.random.Generator
    stop : float
        A set whose p-value is known to lie above is left at what it has then: a verdict at a level of at most
        `stop` needs no more.

    References
    ----------
    Efron & Tibshirani (1993), An Introduction to the Bootstrap, chapters 13 and 16.
    """
    sums, groups = _merged(kinds.sums())
    own = counts @ groups
    n = counts.sum(axis=1)

    def draw(sets: Ints, times: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        rest = n[sets] - own[sets].sum(axis=1)
        shares = np.concatenate([own[sets], rest[:, None]], axis=1) / n[sets][:, None]
        drawn = rng.multinomial(n[sets], shares, size=(times, len(sets)))[..., :-1]
        found = _difference(drawn.astype(float) @ sums)
        return found <= 0, found >= 0

    def pvalue(hits: Ints) -> Floats:
        return np.minimum(1.0, 2 * (1 + hits.min(axis=0)) / (n_replicates + 1))

    found = _staged(len(counts), own.shape[1] + 1, draw, pvalue, n_replicates, stop)
    d = difference_by_document(counts, kinds)
    return settle_degenerate(found, d, _without_difference(counts, kinds), "accept")


def randomization_by_document(
    counts: Ints, kinds: Kinds, n_replicates: int, rng: np.random.Generator, stop: float = 1.0
) -> TestResult:
    """Randomization test of a pooled measure's difference: A and B exchanged on whole documents at random.

    Null hypothesis: on every document what A decides and what B decides could as well be exchanged, which
    says more than that the measures are equal. Exact for it: ``p = (1 + k) / (R + 1)``, k the number of R
    draws whose difference is at least as far from 0 as that of the set.

    Parameters: as :func:`bootstrap_by_document`.

    References
    ----------
    Yeh (2000), COLING, 947-953; Phipson & Smyth (2010), Statistical Applications in Genetics and Molecular
    Biology 9, article 39 (the 1 that is added).
    """
    sums = kinds.sums()
    gaps = (sums[:, :2] - sums[:, 2:]) / 2
    # an exchange changes the sign of a gap: those that differ in sign alone are of one kind
    flip = (gaps[:, 0] < 0) | ((gaps[:, 0] == 0) & (gaps[:, 1] < 0))
    steps, groups = _merged(np.where(flip[:, None], -gaps, gaps))
    exchanged = counts @ groups
    totals = counts.astype(float) @ sums
    middle = (totals[:, :2] + totals[:, 2:]) / 2
    d = _difference(totals)

    def draw(sets: Ints, times: int) -> tuple[NDArray[np.bool_]]:
        heads = rng.binomial(exchanged[sets], 0.5, size=(times, len(sets), len(steps)))
        move = (2 * heads - exchanged[sets]).astype(float) @ steps
        found = _difference(np.concatenate([middle[sets] + move, middle[sets] - move], axis=-1))
        return (np.abs(found) >= np.abs(d[sets]) - ROUNDING,)

    def pvalue(hits: Ints) -> Floats:
        return (1 + hits[0]) / (n_replicates + 1)

    found = _staged(len(counts), len(steps), draw, pvalue, n_replicates, stop)
    return settle_degenerate(found, d, _without_difference(counts, kinds), "accept")


def _merged(rows: Floats) -> tuple[Floats, Ints]:
    """Return the different rows that are not 0, and a matrix that sums counts over kinds with equal rows."""
    different, place = np.unique(rows, axis=0, return_inverse=True)
    groups = np.equal.outer(place.ravel(), np.arange(len(different))).astype(np.int64)
    used = different.any(axis=1)
    return different[used], groups[:, used]


def _without_difference(counts: Ints, kinds: Kinds) -> NDArray[np.bool_]:
    """Return the sets without a document on which A and B add different things."""
    sums = kinds.sums()
    differ = (sums[:, :2] != sums[:, 2:]).any(axis=1)
    return np.asarray(~(counts[..., differ] > 0).any(axis=-1))


def _staged(
    n_sets: int,
    width: int,
    draw: Callable[[Ints, int], Sequence[NDArray[np.bool_]]],
    pvalue: Callable[[Ints], Floats],
    n_replicates: int,
    stop: float,
) -> Floats:
    """Return p-values by replicates drawn some at a time; a set is done once its p is sure to pass `stop`.

    A p-value grows with its hits, so that those of the replicates drawn so far are a lower bound.
    """
    p = np.empty(n_sets)
    for chunk in _chunks(n_sets, max(1, _AT_ONCE // (FIRST_STAGE * max(width, 1)))):
        hits, left, done = None, chunk, 0
        while done < n_replicates and len(left):
            times = min(n_replicates - done, max(FIRST_STAGE, _AT_ONCE // (len(left) * max(width, 1))))
            more = np.stack([found.sum(axis=0) for found in draw(left, times)])
            hits = more if hits is None else hits + more
            done += times
            p[left] = pvalue(hits)
            open_ = p[left] <= stop
            left, hits = left[open_], hits[:, open_]
    return p


def _chunks(n: int, size: int) -> Iterator[Ints]:
    for start in range(0, n, size):
        yield np.arange(start, min(n, start + size))


def pooled_test(counts: Ints, kinds: Kinds) -> TestResult:
    """Return the test that takes every decision for drawn on its own, on the pooled cells.

    For the error McNemar's mid-p test, else Wald's. Nothing says that it keeps its level: decisions on one
    document hang on each other.
    """
    cells = counts @ kinds.cells
    return mcnemar(cells, "midp") if kinds.measure == "error" else wald(cells, kinds.measure)


TESTS = ("wald_by_document", "bootstrap_by_document", "randomization_by_document")
"""Plainest first; any of them can be recommended."""


def run_test(
    name: str, counts: Ints, kinds: Kinds, n_replicates: int, rng: np.random.Generator, stop: float = 1.0
) -> TestResult:
    """Run one of :data:`TESTS`, or else :func:`pooled_test`, on sets, shape (n_sets, n_kinds)."""
    if name == "wald_by_document":
        return wald_by_document(counts, kinds)
    if name in TESTS:
        draws = bootstrap_by_document if name == "bootstrap_by_document" else randomization_by_document
        return draws(counts, kinds, n_replicates, rng, stop)
    return pooled_test(counts, kinds)


def default_replicates(alpha: float) -> int:
    """Return a number R of replicates, 199 or a little more, with which a p-value can be alpha exactly.

    For a two-sided bootstrap R + 1 is a multiple of 2 / alpha.

    Examples
    --------
    >>> default_replicates(0.05), default_replicates(0.001)
    (199, 1999)
    """
    step = int(np.ceil(round(2 / alpha, 9)))
    return int(np.ceil(200 / step)) * step - 1


def names_of(measure: str) -> list[str]:
    """Return the names of all tests of a measure; the last takes every decision for drawn on its own."""
    return [*TESTS, "mcnemar_pooled" if measure == "error" else "wald_pooled"]
