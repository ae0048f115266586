"""Two systems on several categories or on clusters: a set is the counts of kinds of documents drawn whole.

A cluster is a document with several items.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self, cast

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from harness.advise.documents.battery import (
    DRAWING,
    OTHERS,
    SYMMETRIC,
    default_replicates,
    names_of,
    run_test,
)
from harness.advise.documents.null import nearest_null
from harness.advise.documents.scores import score_kinds
from harness.advise.documents.tests import MACRO, Kinds, Terms
from harness.advise.files import OneRun
from harness.advise.files.categories import Decisions
from harness.advise.files.scores import Scores
from harness.advise.points import (
    AT_ONCE,
    COUNTED,
    MOST_SETS,
    Named,
    Pair,
    Point,
    Question,
    find_pairs,
    tilt_to,
)
from harness.errors import refusal
from harness.measures import Bools, Floats, Ints
from harness.nulls.projection import RATIOS
from harness.nulls.ratios import equal_ratios
from harness.runtime.store import Arrays
from harness.seeding import rng
from harness.significance.result import TestResult
from harness.writing.prose import paragraphs

FILE_REPLICATES = 9_999
MOST_ITEMS_DRAWN = 5_000
# above so many items, or kinds of them, tests that draw replicates take longer than all else
MOST_KINDS = {
    "bootstrap_by_document": 500, "randomization_by_document": 2_500, "bootstrap_by_cluster": 500,
    "randomization_by_cluster": 500, "bootstrap_score": 1_000, "randomization_score": 2_500,
    "pigeonhole": 500,
}  # fmt: skip
MANY_CELLS = 1_000_000  # of a macro average over hundreds of categories
MOST_CELLS = 5_000_000  # kinds times terms for which memory has room: some 1 GiB
_BALANCED = 1e-8
_FARTHEST = 500.0


@dataclass(frozen=True, eq=False, kw_only=True)
class DocumentPair(Pair):
    """A pair whose kinds of items are documents with the same outcomes in the categories.

    Populations are those of the Bayesian bootstrap (Rubin 1981, Annals of Statistics 9, 130-134): a prior on
    kinds would weigh more than the documents where most kinds are of one document.
    """

    kinds: Kinds
    n_replicates: int
    naive: tuple[str, ...] = tuple(OTHERS)  # tests that are shown beside the others
    clustered: bool = False

    @property
    def recommendable(self) -> tuple[str, ...]:
        """All tests but those that are shown beside them."""
        return tuple(name for name in self.tests if name not in self.naive) or self.tests

    @property
    def at_once(self) -> int:
        """As many sets as their counts and their ratios leave room for."""
        return max(1, AT_ONCE // max(len(self.weights), len(self.kinds.weights())))

    def difference(self, counts: Any) -> Floats:
        """Return the difference of the averages."""
        return self.kinds.difference(counts)

    def deviation(self, shares: Floats) -> float:
        """Return that of the influence of a document."""
        psi = self.kinds.terms.influence(shares)
        return float(np.sqrt(shares @ psi**2))

    def project(self, weights: Floats) -> Floats:
        """Return :func:`project_documents`."""
        return project_documents(weights, self.kinds)

    def tilt(self, null: Floats, wanted: float) -> Floats:
        """Return the tilt along the documents' influence."""
        terms = self.kinds.terms
        psi = np.where(null > 0, terms.influence(null), 0.0)
        return tilt_to(null, psi, terms.difference, wanted, self.kinds.measure)

    def describe(self) -> list[Any]:
        """Return the kinds, by their hash, the measure and the number of replicates."""
        cells = self.kinds.cells
        content = hashlib.sha256(cells.tobytes()).hexdigest()
        return [list(cells.shape), content, *self.kinds[1:], self.tests, self.n_replicates]

    def judge(self, test: str, generator: np.random.Generator) -> TestResult:
        """Run a test on the file's documents, with many replicates."""
        return run_test(test, self.counts[None], self.kinds, FILE_REPLICATES, generator)

    def n_sets(self, test: str, point: Point) -> int:
        """Return fewer sets for tests that draw replicates, and for one shown beside where it is slow."""
        slow = test in DRAWING or (test in self.naive and self.kinds.cells.size > MANY_CELLS)
        return min(point.n_sets, MOST_SETS[point.role]) if slow else point.n_sets

    def count(
        self, point: Point, key: Sequence[object], tests: Sequence[str], alpha: float, seed: int
    ) -> Arrays:
        """Count rejections on sets of documents."""
        names = ("advice", self.name, point.role, *key, point.n_documents)
        draws = rng(seed, *names, "documents")
        replicates = rng(seed, *names, *(["documents"] if point.role == "needed" else []), "replicates")
        sign = np.sign(self.difference(point.shares))
        most = [self.n_sets(test, point) for test in tests]
        found = np.zeros((len(COUNTED), len(tests)), dtype=np.int64)
        for before in range(0, max(most), self.at_once):
            n_sets = min(self.at_once, max(most) - before)
            sets = draws.multinomial(point.n_documents, point.shares, size=n_sets)
            for i, test in enumerate(tests):
                counts = sets[: max(0, most[i] - before)]
                if len(counts):
                    own, kinds = counts, self.kinds
                    if test in SYMMETRIC and point.role in ("size", "range"):
                        heads = replicates.binomial(counts, 0.5)
                        own, kinds = np.concatenate([counts - heads, heads], axis=1), kinds.with_exchanged()
                    result = run_test(test, own, kinds, self.n_replicates, replicates, alpha)
                    rejected = result.pvalue <= alpha
                    wrong = rejected & (np.sign(self.difference(counts)) * sign < 0)
                    found[:, i] += (len(counts), rejected.sum(), wrong.sum(), result.degenerate.sum())
        return dict(zip(COUNTED, found, strict=True))


class Rows(NamedTuple):
    """Truth and decisions, (n_rows, n_categories), or scores; how often each row occurs, and its cluster."""

    truth: Bools
    said: Mapping[str, NDArray[Any]]
    n_items: NDArray[Any]
    clusters: Ints | None

    @classmethod
    def of(cls, found: OneRun) -> Self:
        """Return what was read as rows."""
        if isinstance(found, Scores):
            return cls(np.zeros((0, 1), dtype=bool), found.scores, np.ones(found.n_total), found.clusters)
        if isinstance(found, Decisions):
            said = {name: found.said(name) for name in found.systems}
            return cls(found.truth(), said, found.n_items, found.clusters)
        said = {name: column[:, None] for name, column in found.decisions.items()}
        return cls(found.truth[:, None], said, found.n_items, found.clusters)

    def effect(self, name: str, question: Question) -> tuple[float, Floats]:
        """Return a system's measure, and by how much each unit that is drawn moves it, to first order.

        Where the measure is 0/0, no unit is known to.
        """
        if question.measure == "score":
            value = float(self.said[name].mean())
            effect = (self.said[name] - value) / len(self.n_items)
        else:
            value, effect = self._effect_of_ratios(name, question)
        if self.clusters is not None:
            effect = np.bincount(self.clusters, effect * self.n_items).astype(float)
        return value, effect

    def _effect_of_ratios(self, name: str, question: Question) -> tuple[float, Floats]:
        codes = 4 * (~self.truth).view(np.uint8) + 3 * (~self.said[name]).view(np.uint8)
        each = np.stack([np.bincount(column, self.n_items, 8) for column in codes.T])
        pooled = question.average != MACRO or question.measure == "error"
        counts = each.sum(axis=0, keepdims=True) if pooled else each
        cells = np.broadcast_to(np.eye(8), (len(counts), 8, 8)).swapaxes(0, 1)
        kinds = Kinds(cells, question.measure, tuple(question.costs.items()))
        if not kinds.parts():  # nothing costs anything
            return 0.0, np.zeros(len(codes))
        sums = kinds.sums()[:, : len(kinds.parts())]  # of a category, the same in each
        sums[..., 2:] = 0.0  # a single system: that of A
        terms = Terms.of(sums, kinds.weights())
        totals = (counts @ sums.reshape(8, -1)).reshape(-1, 4)
        slopes = terms.slopes(totals, np.array(1.0)).reshape(len(counts), -1)
        moved = np.broadcast_to(slopes @ sums.reshape(8, -1).T, (codes.shape[1], 8))
        effect = np.zeros(len(codes))
        for own, column in zip(moved, codes.T, strict=True):
            effect += own[column]
        undefined = len(totals) == 1 and totals[0, 1] == 0
        return float(terms.difference_of(totals)), np.full_like(effect, np.nan) if undefined else effect

    def kinds(self, a: str, b: str, question: Question) -> tuple[Kinds, Ints]:
        """Return the different kinds of units, and how often each is there."""
        if question.measure == "score":
            return score_kinds(self.said[a], self.said[b], self.clusters)
        cells, frequencies = self.cells(a, b, question.average != MACRO or question.measure == "error")
        return Kinds(cells, question.measure, tuple(question.costs.items())), frequencies

    def cells(self, a: str, b: str, pooled: bool) -> tuple[NDArray[np.integer], Ints]:
        """Return the different kinds of units, shape (n_kinds, n_groups, 8), and how often each is there."""
        codes = 4 * (~self.truth).view(np.uint8) + 2 * (~self.said[b]).view(np.uint8)
        codes += (~self.said[a]).view(np.uint8)
        if self.clusters is None:
            own = np.stack([(codes == cell).sum(axis=1) for cell in range(8)], axis=1) if pooled else codes
            different, frequencies = np.unique(own, axis=0, return_counts=True)
            kinds = different.astype(np.int64)[:, None] if pooled else np.eye(8, dtype=np.int8)[different]
            return kinds, frequencies
        n_clusters, n_categories = int(self.clusters.max()) + 1, codes.shape[1]
        places = (self.clusters[:, None] * n_categories + np.arange(n_categories)) * 8 + codes
        each = np.bincount(
            places.ravel(), np.repeat(self.n_items, n_categories), n_clusters * n_categories * 8
        )
        cells = each.astype(np.int64).reshape(n_clusters, n_categories, 8)
        return np.unique(cells.sum(axis=1, keepdims=True) if pooled else cells, axis=0, return_counts=True)


def document_pairs(
    decisions: OneRun, question: Question, named: Sequence[Named] | None = None
) -> tuple[list[Pair], list[str]]:
    """Return the pairs of a file that can be tested, and notes; UserError where there is none.

    With clusters these are what is drawn, also on one category.
    """
    rows, measure, costs = Rows.of(decisions), question.measure, tuple(question.costs.items())
    truth = rows.truth
    if isinstance(decisions, Decisions) and (not truth.any() or truth.all()):
        one = "yes" if truth.any() else "no"
        raise refusal("advise.truth_everywhere", name=question.name, one=one)
    if measure == "dcf" and not Kinds(np.zeros((0, 1, 8)), measure, costs).parts():
        raise refusal("advise.free_of_cost")
    replicates = question.n_replicates or default_replicates(question.alpha)

    def make(a: str, b: str, name: str) -> Pair | str:
        if (rows.said[a] == rows.said[b]).all():
            return question.alike(a, b)
        kinds, frequencies = rows.kinds(a, b, question)
        _check_room(question.name, kinds)
        sums = kinds.terms.sums
        if (sums[..., :2] == sums[..., 2:]).all():
            return question.alike(a, b)
        return _with_null(name, kinds, frequencies, replicates)

    pairs, others = find_pairs(decisions.systems, question, make, named)
    clustered = decisions.clusters is not None
    names = names_of(measure, clustered)
    tests, left_out = _tests_to_measure(pairs, names)
    given: dict[str, Any] = {"tests": tests, "naive": (names[-1],), "clustered": clustered}
    found: list[Pair] = [replace(cast(DocumentPair, pair), **given) for pair in pairs]
    explained = paragraphs(
        "advise", "documents_notes", measure=measure, macro_average=question.average == MACRO,
        pooled=tests[-1], drawn=[name for name in tests if name in DRAWING], n_replicates=replicates,
        clustered=clustered,
    )  # fmt: skip
    return found, [*others, *left_out, *question.cost_notes(), *explained]


def _check_room(name: str, kinds: Kinds) -> None:
    n_kinds, n_categories, _ = kinds.cells.shape
    if n_kinds * len(kinds.weights()) > MOST_CELLS:
        told = {"n_categories": n_categories, "n_kinds": n_kinds, "most": MOST_CELLS}
        raise refusal("advise.no_room", name=name, **told)


def _with_null(name: str, kinds: Kinds, frequencies: Ints, n_replicates: int) -> Pair | str:
    """Return a pair, with some documents exchanged where it has no null without, or a note on none."""
    counts, weights, notes = frequencies, frequencies.astype(float), list[str]()
    null = project_documents(weights[None], kinds)[0]
    if not np.isfinite(null).all():
        kinds, counts, weights = _with_exchanged(kinds, frequencies)
        null = project_documents(weights[None], kinds)[0]
        notes = paragraphs("advise", "exchanged", measure=kinds.measure)
    if not np.isfinite(null).all():
        return f"{name}: no population was found with a difference of 0; another average may have one"
    return DocumentPair(
        name=name, counts=counts, weights=weights, tests=(), null=null, notes=tuple(notes),
        kinds=kinds, n_replicates=n_replicates,
    )  # fmt: skip


def _with_exchanged(kinds: Kinds, frequencies: Ints) -> tuple[Kinds, Ints, Floats]:
    """Add kinds in which A and B are exchanged, which together weigh half a document."""
    cells = kinds.with_exchanged().cells
    different, place = np.unique(cells, axis=0, return_inverse=True)
    known, added = np.split(place.ravel(), 2)
    counted = np.bincount(known, weights=frequencies, minlength=len(different))
    more = np.bincount(added, weights=frequencies, minlength=len(different)) / frequencies.sum() / 2
    return kinds._replace(cells=different), counted.astype(np.int64), counted + more


def _tests_to_measure(pairs: Sequence[Pair], names: Sequence[str]) -> tuple[tuple[str, ...], list[str]]:
    n_items, n_kinds = int(pairs[0].counts.sum()), max(len(pair.counts) for pair in pairs)
    most = {name: MOST_KINDS.get(name, n_kinds) for name in names if name in DRAWING}
    slow = {name: n for name, n in most.items() if n_items > MOST_ITEMS_DRAWN or n_kinds > n}
    numbers = {"most_items": MOST_ITEMS_DRAWN, "n_items": n_items, "n_kinds": n_kinds}
    notes = paragraphs("advise", "slow", names=slow, **numbers)
    return tuple(name for name in names if name not in slow), notes


def project_documents(weights: Floats | Ints, kinds: Kinds) -> Floats:
    """Return the shares nearest to given ones in KL(q||p) under which the measures agree, NaN without any.

    For micro F1 and precision :func:`harness.nulls.ratios.equal_ratios` seeks them, with a kind for a cell.
    For the micro error and recall a document's difference has mean 0, and the nearest shares are ``q_i ~ p_i
    exp(t x_i)`` (Csiszar 1975, Annals of Probability 3, 146-158, theorem 3.1).
    """
    shares = weights / weights.sum(axis=1, keepdims=True)
    sums = kinds.terms.sums
    single = sums.shape[1] == 1
    if single and kinds.measure in RATIOS:
        tops, bottoms = (side @ kinds.cells[:, 0].T.astype(float) for side in RATIOS[kinds.measure])
        # both odds neither 0 nor infinite, as the search needs them
        good = all((shares @ side.T > 0).all() for side in (tops, bottoms))
        found = equal_ratios(shares, tops, bottoms) if good else np.full_like(shares, np.nan)
    elif single:
        found = np.stack([_mean_zero(row, sums[:, 0, 0] - sums[:, 0, 2]) for row in shares])
    else:
        found = nearest_null(shares, kinds)
    gaps = kinds.difference(np.nan_to_num(found))
    return np.where((np.abs(gaps) <= _BALANCED)[:, None], found, np.nan)


def _mean_zero(shares: Floats, x: Floats) -> Floats:
    """Return ``q_i ~ p_i exp(t x_i)`` with ``sum q_i x_i = 0``; NaN where x has one sign alone."""
    own = x[shares > 0]
    if not (own.min() < 0 < own.max()) and own.any():
        return np.full_like(shares, np.nan)

    def tilted(t: float) -> Floats:
        exponent = t * x
        q = shares * np.exp(exponent - exponent[shares > 0].max())
        return np.asarray(q / q.sum())

    if abs(float(shares @ x)) < 1e-15:
        return shares
    last = _FARTHEST / np.abs(own[own != 0]).min()
    return tilted(brentq(lambda t: float(tilted(t) @ x), -last, last, xtol=1e-14, rtol=1e-14))
