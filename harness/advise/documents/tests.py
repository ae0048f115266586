"""Tests of two systems on several categories, where documents are drawn and not single decisions.

What is compared is ``d = sum_j w_j (t_Aj / b_Aj - t_Bj / b_Bj)``, each t and b a sum over documents: one term
for micro F1 (twice the true positives over the positives with those that were decided), two for the DCF,
misses and false alarms, and for macro averages these of every category.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import stdtr

from harness.measures import EXCHANGED, A, B, Bools, Floats, Ints, Y, check_measure, ratio
from harness.significance.mcnemar import mcnemar
from harness.significance.result import TestResult, settle_degenerate, z_test
from harness.significance.wald import estimate

# what each cell adds above and below to a ratio of A, and to that of B
SIDES = {
    "f1": ((2 * Y * A, Y + A), (2 * Y * B, Y + B)),
    "error": ((np.abs(Y - A), np.ones(8)), (np.abs(Y - B), np.ones(8))),
    "precision": ((Y * A, A), (Y * B, B)),
    "recall": ((Y * A, Y), (Y * B, Y)),
    "misses": ((Y * (1 - A), Y), (Y * (1 - B), Y)),
    "false_alarms": (((1 - Y) * A, 1 - Y), ((1 - Y) * B, 1 - Y)),
}
MICRO, MACRO = ("micro", "macro")
ROUNDING = 1e-12
FIRST_STAGE = 20
_AT_ONCE = 2_000_000  # numbers drawn at a time
_IN_CACHE = 100_000  # numbers of a part that is worked through several times
_SPARSE = 10_000, 0.05  # numbers of a matrix, and the share that is not 0, from which on sparse is faster

Costs = tuple[tuple[str, float], ...]


class _Kinds(NamedTuple):
    cells: NDArray[Any]
    measure: str
    costs: Costs = ()


class Kinds(_Kinds):
    """The kinds of documents of two systems.

    `cells`, shape (n_kinds, n_groups, 8): in how many categories of a group such a document falls into each
    cell. Micro averages have one group, of all categories; macro averages, the mean over groups, one for
    each.
    """

    def parts(self) -> dict[str, float]:
        """Return the ratios of :data:`SIDES` that make up the measure, each with its weight above 0."""
        options = check_measure(self.measure, **dict(self.costs))
        if not options:
            return {self.measure: 1.0}
        weights = {
            "misses": options["cost_fn"] * options["prior"],
            "false_alarms": options["cost_fp"] * (1 - options["prior"]),
        }
        return {part: weight for part, weight in weights.items() if weight > 0}

    def weights(self) -> Floats:
        """Return the weight of each term, shape (n_terms,): a group's parts follow each other."""
        n_groups = self.cells.shape[1]
        return np.asarray(np.tile(list(self.parts().values()), n_groups) / n_groups)

    def exchanged(self) -> NDArray[Any]:
        """Return the cells with A and B exchanged."""
        return self.cells[..., EXCHANGED]

    def with_exchanged(self) -> Self:
        """Return all kinds, and behind them all with A and B exchanged."""
        return self._replace(cells=np.concatenate([self.cells, self.exchanged()]))

    def sums(self) -> Floats:
        """Return what a document adds: A's top and bottom, B's, shape (n_kinds, n_terms, 4)."""
        sides = np.array([SIDES[part] for part in self.parts()]).reshape(-1, 8)
        return np.asarray(self.cells.astype(float) @ sides.T).reshape(len(self.cells), -1, 4)

    @cached_property
    def terms(self) -> "Terms":
        """The terms of the difference."""
        return Terms.of(self.sums(), self.weights())

    @cached_property
    def exchanges(self) -> tuple[Any, Any]:
        """Half of what an exchange of A and B moves, a row a kind of gap, and which kinds have which gap."""
        sums = self.terms.sums
        gaps = ((sums[..., :2] - sums[..., 2:]) / 2).reshape(len(sums), -1)
        # an exchange changes the sign of a gap: those that differ in sign alone are of one kind
        first = np.take_along_axis(gaps, (gaps != 0).argmax(axis=1)[:, None], axis=1)
        steps, groups = _merged(np.where(first < 0, -gaps, gaps))
        return _light(steps), groups

    def difference(self, counts: Ints | Floats) -> Floats:
        """Return the measure of A minus that of B, from documents of each kind or shares, (..., n_kinds)."""
        return self.terms.difference(np.asarray(counts, dtype=float))


class Terms(NamedTuple):
    """A weighted sum of differences of ratios; see :meth:`Kinds.sums` and :meth:`Kinds.weights`."""

    sums: Floats
    weights: Floats
    columns: Any  # the sums, (n_kinds, 4 n_terms), sparse where most are 0

    @classmethod
    def of(cls, sums: Floats, weights: Floats) -> Self:
        """Return the terms of sums, shape (n_kinds, n_terms, 4), and weights."""
        return cls(sums, weights, _light(sums.reshape(len(sums), -1)))

    def totals(self, counts: Floats) -> Floats:
        """Return the sums over documents, shape (..., n_terms, 4)."""
        return _times(counts, self.columns).reshape(*counts.shape[:-1], *self.sums.shape[1:])

    def difference_of(self, totals: Floats) -> Floats:
        """Return ``sum_j w_j (t_Aj / b_Aj - t_Bj / b_Bj)``; 0/0 counts as 0."""
        ratios = ratio(totals[..., 0], totals[..., 1]) - ratio(totals[..., 2], totals[..., 3])
        found = (ratios * self.weights).sum(axis=-1)
        return np.where(np.abs(found) < ROUNDING, 0.0, found)

    def difference(self, counts: Floats) -> Floats:
        """Return the difference of documents of each kind, or shares, shape (..., n_kinds)."""
        return self.difference_of(self.totals(counts))

    def slopes(self, totals: Floats, n: Floats | Ints) -> Floats:
        """Return n times the slope of the difference in each sum of a document, shape (..., 4 n_terms)."""
        scale = np.asarray(n, dtype=float)[..., None] * self.weights
        inverse = [ratio(scale, totals[..., side]) for side in (1, 3)]
        a, b = (ratio(totals[..., side], totals[..., side + 1]) for side in (0, 2))
        slopes = np.stack([inverse[0], -a * inverse[0], -inverse[1], b * inverse[1]], axis=-1)
        return slopes.reshape(*slopes.shape[:-2], -1)

    def influence(self, shares: Floats) -> Floats:
        """Return the influence of a document of each kind on the difference, shape (..., n_kinds).

        A ratio r with mean top t and mean bottom b has ``psi_i = (t_i - r b_i) / b``.
        """
        slopes = self.slopes(self.totals(shares), shares.sum(axis=-1))
        return np.asarray(slopes @ self.columns.T)


def _light(matrix: Floats) -> Any:
    """Return a matrix as it is, or sparse."""
    large, few = matrix.size > _SPARSE[0], np.count_nonzero(matrix) < _SPARSE[1] * matrix.size
    return sparse.csr_array(matrix) if large and few else matrix


def _times(rows: Floats, matrix: Any) -> Floats:
    """Return rows, shape (..., n), times a matrix, sparse or not."""
    flat = np.asarray(rows.reshape(math.prod(rows.shape[:-1]), rows.shape[-1]) @ matrix)
    return flat.reshape(*rows.shape[:-1], matrix.shape[1])


def wald_by_document(counts: Ints, kinds: Kinds) -> TestResult:
    """Wald test of a measure's difference over several categories, with the variance over documents.

    Null hypothesis: the measure, pooled or the mean over the categories, is the same for A and B. Asymptotic
    in the number of documents: ``z = d / se``, ``se^2 = sum_i n_i psi_i^2 / N^2`` (delta method; Cochran
    1977, Sampling Techniques, section 6.4), psi the influence of a document, whose decisions may depend on
    each other. A macro average needs many positives in every category. p = 1 where no document has influence,
    or the measure is one ratio and 0/0 for A or B.
    """
    d, variance, _ = by_document(counts, kinds)
    return z_test(d, np.sqrt(variance), "accept")


def by_document(counts: Ints, kinds: Kinds) -> tuple[Floats, Floats, float]:
    """Return N d, N^2 se^2 and infinite degrees of freedom."""
    terms = kinds.terms
    d, variance = in_parts(counts, chunk_size(terms), lambda sets: deviations(sets, terms))
    return d * counts.sum(axis=-1), variance, np.inf


def t_test(d: Floats, variance: Floats, freedom: Floats | Ints | float) -> TestResult:
    """Return Student's t test of d over its standard error; p = 1 where there is no variance."""
    constant = variance == 0
    t = np.where(constant, 0.0, d / np.sqrt(np.where(constant, 1.0, variance)))
    return settle_degenerate(2 * stdtr(freedom, -np.abs(t)), t, constant, "accept")


def chunk_size(terms: Terms) -> int:
    """Return how many sets are worked through at a time."""
    return max(1, _IN_CACHE // max(len(terms.sums), 4 * len(terms.weights)))


def in_parts(counts: Ints, size: int, work: Callable[[Ints], tuple[Floats, ...]]) -> tuple[Floats, ...]:
    """Return numbers for each set, `size` sets at a time."""
    sets = counts.reshape(-1, counts.shape[-1])
    found = [work(sets[rows]) for rows in _chunks(len(sets), size)]
    return tuple(np.concatenate(part).reshape(counts.shape[:-1]) for part in zip(*found, strict=True))


def deviations(counts: Ints, terms: Terms) -> tuple[Floats, Floats]:
    """Return d and ``sum_i n_i psi_i^2`` of each set, shape (n_sets,), the latter 0 where it is rounding."""
    own, columns = counts.astype(float), terms.columns
    totals = terms.totals(own)
    slopes = terms.slopes(totals, own.sum(axis=-1))
    psi = slopes @ columns.T
    variance = np.einsum("sk,sk,sk->s", own, psi, psi)
    # an influence keeps some 15 digits of its terms' sizes; a bound on them spares most sets the exact sizes
    bound = own.sum(axis=-1) * (np.abs(slopes) @ terms.sums.max(axis=0).ravel()) ** 2
    for row in np.flatnonzero(variance <= ROUNDING**2 * bound):
        sizes = columns @ np.abs(slopes[row])
        if variance[row] <= ROUNDING**2 * (own[row] @ sizes**2):
            variance[row] = 0.0
    variance[undefined(totals)] = 0.0
    return terms.difference_of(totals), variance


def bootstrap_by_document(
    counts: Ints, kinds: Kinds, n_replicates: int, rng: np.random.Generator, stop: float = 1.0
) -> TestResult:
    """Percentile bootstrap of a difference over several categories, documents drawn with replacement.

    Null hypothesis: as :func:`wald_by_document`. Asymptotic (Efron & Tibshirani 1993, chapters 13 and 16).
    ``p = 2 (1 + min(k0, k1)) / (R + 1)``, k0 and k1 the numbers of R replicates with a difference of at most
    and of at least 0. A set whose p-value is sure to lie above `stop` is left at what it has then.
    """
    sums, groups = _merged(kinds.terms.sums.reshape(len(kinds.cells), -1))
    terms = Terms.of(sums.reshape(len(sums), -1, 4), kinds.weights())
    own = (counts @ groups).astype(np.int64)
    n = counts.sum(axis=1)

    def draw(sets: Ints, times: int) -> tuple[Bools, Bools]:
        """Return which replicates have a difference of at most, and of at least, 0."""
        rest = n[sets] - own[sets].sum(axis=1)
        shares = np.concatenate([own[sets], rest[:, None]], axis=1) / n[sets][:, None]
        drawn = rng.multinomial(n[sets], shares, size=(times, len(sets)))[..., :-1]
        found = terms.difference(drawn.astype(float))
        return found <= 0, found >= 0

    found = staged(len(counts), max(len(sums) + 1, len(terms.weights)), draw, n_replicates, stop)
    return settle_degenerate(found, kinds.difference(counts), undecided(counts, kinds), "accept")


def randomization_by_document(
    counts: Ints, kinds: Kinds, n_replicates: int, rng: np.random.Generator, stop: float = 1.0
) -> TestResult:
    """Randomization test of a difference over several categories: A and B exchanged on whole documents.

    Null hypothesis: on every document what A decides and what B decides could as well be exchanged, which
    says more than that the measures are equal (Yeh 2000, COLING, 947-953). Exact for it: ``p = (1 + k) / (R +
    1)``, k the number of R draws whose difference is at least as far from 0 as that of the set.
    """
    terms, (steps, groups) = kinds.terms, kinds.exchanges
    exchanged = (counts @ groups).astype(np.int64)
    totals = terms.totals(counts.astype(float))
    middle, d = (totals[..., :2] + totals[..., 2:]) / 2, terms.difference_of(totals)

    def draw(sets: Ints, times: int) -> tuple[Bools]:
        """Return which exchanges have a difference as far from 0 as the set itself."""
        heads = rng.binomial(exchanged[sets], 0.5, size=(times, len(sets), steps.shape[0]))
        move = _times((2 * heads - exchanged[sets]).astype(float), steps)
        move = move.reshape(times, len(sets), len(terms.weights), 2)
        sides = np.concatenate([middle[sets] + move, middle[sets] - move], axis=-1)
        return (np.abs(terms.difference_of(sides)) >= np.abs(d[sets]) - ROUNDING,)

    found = staged(len(counts), max(steps.shape[0], len(terms.weights)), draw, n_replicates, stop)
    return settle_degenerate(found, d, undecided(counts, kinds), "accept")


def _merged(rows: Floats) -> tuple[Floats, Any]:
    """Return the different rows that are not 0, and a matrix that sums counts over kinds with equal rows."""
    different, place = np.unique(rows, axis=0, return_inverse=True)
    groups = sparse.csc_array((np.ones(len(rows)), (np.arange(len(rows)), place.ravel())))
    used = different.any(axis=1)
    return different[used], groups[:, used]


def undecided(counts: Ints, kinds: Kinds) -> Bools:
    """Return the sets without a document on which A and B add different things, or with a measure of 0/0."""
    terms = kinds.terms
    differ = (terms.sums[..., :2] != terms.sums[..., 2:]).any(axis=(1, 2))
    alike = ~(counts[..., differ] > 0).any(axis=-1)
    return np.asarray(
        alike if len(terms.weights) > 1 else alike | undefined(terms.totals(counts.astype(float)))
    )


def undefined(totals: Floats) -> Bools:
    """Return where a measure of one ratio is 0/0 for A or B; in a macro average that counts as 0."""
    if totals.shape[-2] > 1:
        return np.zeros(totals.shape[:-2], dtype=bool)
    return np.asarray((totals[..., 0, [1, 3]] == 0).any(axis=-1))


def staged(
    n_sets: int, width: int, draw: Callable[[Ints, int], Sequence[Bools]], n_replicates: int, stop: float
) -> Floats:
    """Return p-values by replicates drawn some at a time, until a set's p, which only grows, passes stop.

    `draw` says of replicates which lie as far as the null in one direction or in either: the rarer counts.
    """
    p = np.empty(n_sets)
    for chunk in _chunks(n_sets, max(1, _AT_ONCE // (FIRST_STAGE * max(width, 1)))):
        hits, left, done = None, chunk, 0
        while done < n_replicates and len(left):
            times = min(n_replicates - done, max(FIRST_STAGE, _AT_ONCE // (len(left) * max(width, 1))))
            more = np.stack([found.sum(axis=0) for found in draw(left, times)])
            hits = more if hits is None else hits + more
            done += times
            p[left] = np.minimum(1.0, len(hits) * (1 + hits.min(axis=0)) / (n_replicates + 1))
            open_ = p[left] <= stop
            left, hits = left[open_], hits[:, open_]
    return p


def _chunks(n: int, size: int) -> Iterator[Ints]:
    for start in range(0, n, size):
        yield np.arange(start, min(n, start + size))


def pooled_test(counts: Ints, kinds: Kinds) -> TestResult:
    """Run the test that takes every decision as drawn on its own: nothing says that it keeps its level.

    For the error McNemar's mid-p test on the pooled cells, else Wald's: for a macro average of the mean of
    the categories' differences, with its variance for independent categories, ``sum_g se_g^2 /
    n_categories^2``.
    """
    n_kinds, n_groups, _ = kinds.cells.shape
    columns = kinds.cells.reshape(n_kinds, -1).astype(float)

    def cells(sets: Ints) -> Ints:
        found = np.asarray(sets.astype(float) @ columns).reshape(*sets.shape[:-1], n_groups, 8)
        return found.astype(np.int64)

    def mean(sets: Ints) -> tuple[Floats, Floats]:
        d, deviation = estimate(cells(sets), kinds.measure, **dict(kinds.costs))
        return d.sum(axis=-1) / n_groups, np.hypot.reduce(deviation, axis=-1) / n_groups

    if kinds.measure == "error":
        return mcnemar(cells(counts).sum(axis=-2), "midp")
    d, deviation = in_parts(counts, max(1, _AT_ONCE // (8 * n_groups)), mean)
    return z_test(d, np.where(undecided(counts, kinds), 0.0, deviation), "accept")
