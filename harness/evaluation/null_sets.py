"""Rejections of every test on sets that are drawn from null, real and intermediate populations."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness import nulls
from harness.evaluation.rejections import Question, Test, decide, families, no_counts
from harness.evaluation.sets import draw_sets
from harness.measures import Ints
from harness.runtime.store import Arrays
from harness.seeding import rng
from harness.significance.equal_counts import distinct_rows

WITH_POWER = "exact_null"
"""The null beside which power is measured, and at which the path to the real pair begins."""

FEW_ALPHA = 0.01
"""Tests with replicates are judged at this level and above: the few sets that they get tell little below."""

SHOWN_ALPHA = 0.05
"""The level nearest to this one is that of the path, and of the tables by category."""

BLOCK = 10_000
"""Sets tested at once, which bounds the memory."""


class Source(NamedTuple):
    """Where sets are drawn from: a null (``kind="size"``), or the real population (``kind="power"``)."""

    truth: str
    kind: str


class Grid(NamedTuple):
    """What is measured on the populations of a plan.

    Attributes
    ----------
    sizes, path_sizes : sequences of int
        Documents of a set from a source, and from the path.
    h : sequence of float
        Distances on the path in standard deviations of the difference on a set; 0 is the null.
    n_sets : int
        Sets of a category at a point, for tests of counts alone.
    own : dict of str to int
        The same by name for tests with replicates whose sizes are reported by category.
    """

    questions: Sequence[Question]
    tests: Sequence[Test]
    alphas: Sequence[float]
    seed: int
    sources: Sequence[Source]
    sizes: Sequence[int]
    h: Sequence[float]
    path_sizes: Sequence[int]
    n_sets: int
    own: Mapping[str, int]


def takes_few(test: Test) -> bool:
    """Tell whether a test draws replicates, which makes each of its sets dear."""
    return test.random or test.reject is not None


def levels(test: Test, alphas: Sequence[float]) -> list[int]:
    """Return the places of the levels at which a test is judged."""
    return [a for a, alpha in enumerate(alphas) if alpha >= FEW_ALPHA or not takes_few(test)]


def shown_alpha(alphas: Sequence[float]) -> float:
    """Return the level nearest to :data:`SHOWN_ALPHA`."""
    return min(alphas, key=lambda alpha: (abs(alpha - SHOWN_ALPHA), alpha))


def count_unit(
    cells: NDArray[Any],
    shares: NDArray[np.float64],
    n_each: Ints,
    n_on_path: Ints,
    identity: Sequence[object],
    grid: Grid,
) -> Arrays:
    """Count one category's rejections on every source and on the path; see the two functions below.

    Parameters
    ----------
    cells : array, shape (8,)
        The real population, counts or shares.
    shares : array, shape (n_sources, n_questions, 8)
        What the sets of each source are drawn from; NaN where there is nothing.
    n_each : int array, shape (n_sources, n_tests)
        Sets of a point for each test.
    n_on_path : int array, shape (n_tests, n_path_sizes, n_h)
        Likewise on the path.
    identity : sequence
        Names the population in every generator.
    """
    found = count_sources(cells, shares, n_each, identity, grid)
    known = {n: found["n_rejected"][:, i] for i, n in enumerate(grid.sizes)}
    return found | count_path(cells, shares, n_on_path, known, identity, grid)


def count_again(
    shares: NDArray[np.float64],
    points: Sequence[tuple[int, int, int, Sequence[int]]],
    n_each: Ints,
    identity: Sequence[object],
    grid: Grid,
) -> Arrays:
    """Count one category's rejections at some points of its nulls on sets drawn anew.

    Returns
    -------
    dict
        ``n_rejected``, int array of shape (n_points, n_tests, n_alphas): 0 for tests that are not asked for.
    """
    tests, alphas, seed = grid.tests, grid.alphas, grid.seed
    n_rejected = np.zeros((len(points), len(tests), len(alphas)), dtype=np.int64)
    for i, (s, q, n_documents, places) in enumerate(points):
        question, numbers = grid.questions[q], n_each[s, places]
        key = ("null sets again", grid.sources[s].truth, question.name, *identity, n_documents)
        sets = draw_sets(shares[s, q], n_documents, int(numbers.max()), rng(seed, *key))
        chosen = [tests[place] for place in places]
        found = count_sets(sets, chosen, alphas, numbers, question, 0, seed, key)
        n_rejected[i, places] = found["n_rejected"]
    return {"n_rejected": n_rejected}


def count_sources(
    cells: NDArray[Any], shares: NDArray[np.float64], n_each: Ints, identity: Sequence[object], grid: Grid
) -> Arrays:
    """Count rejections on sets of each size from each source.

    Returns
    -------
    dict of int arrays
        ``n_rejected``, ``n_wrong_direction`` of shape (n_sources, n_sizes, n_tests, n_alphas) and
        ``n_degenerate``, ``n_convention`` (n_sources, n_sizes, n_tests). Under a null no direction is wrong.
    """
    tests, alphas, seed = grid.tests, grid.alphas, grid.seed
    counted = no_counts((len(grid.sources), len(grid.sizes), len(tests)), len(alphas))
    for (s, source), (q, question) in product(enumerate(grid.sources), enumerate(grid.questions)):
        if np.isnan(shares[s, q, 0]):
            continue
        sign = 0 if source.kind == "size" else int(np.sign(question.difference(cells)))
        drawn_from = source.truth if source.kind == "size" else "real"
        chosen, numbers = [tests[place] for place in question.places], n_each[s, question.places]
        for i, n_documents in enumerate(grid.sizes):
            key = ("null sets", drawn_from, question.name, *identity, n_documents)
            sets = draw_sets(shares[s, q], n_documents, int(numbers.max()), rng(seed, *key))
            found = count_sets(sets, chosen, alphas, numbers, question, sign, seed, key)
            for name, numbers_found in found.items():
                counted[name][s, i, question.places] = numbers_found
    return counted


def count_path(
    cells: NDArray[Any],
    shares: NDArray[np.float64],
    n_each: Ints,
    known: Mapping[int, Ints],
    identity: Sequence[object],
    grid: Grid,
) -> Arrays:
    """Count rejections on sets from the path between the null :data:`WITH_POWER` and the real population.

    The verdicts are those at the one level :func:`shown_alpha`.

    Parameters
    ----------
    n_each : int array, shape (n_tests, n_path_sizes, n_h)
        Sets of a point for each test.
    known : mapping of int to int array, shape (n_sources, n_tests, n_alphas)
        Rejections on sets of so many documents from each source: the path begins at one of them.

    Returns
    -------
    dict of arrays
        ``path_rejected``, int of shape (n_path_sizes, n_h, n_tests): all rejections at h = 0, those in the
        right direction elsewhere; ``path_reached``, bool of that shape: whether the path gets that far.
    """
    tests, alphas, h, path_sizes = grid.tests, grid.alphas, grid.h, grid.path_sizes
    shape = (len(path_sizes), len(h), len(tests))
    rejected, reached = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=bool)
    level = shown_alpha(alphas)
    real = np.asarray(cells) / np.sum(cells)
    start = [s for s, source in enumerate(grid.sources) if source == Source(WITH_POWER, "size")]
    for s, (q, question), i, j in product(start, enumerate(grid.questions), *map(range, shape[:2])):
        if np.isnan(shares[s, q, 0]):
            continue
        n, distance, places = path_sizes[i], h[j], question.places
        if distance == 0 and n in known:
            rejected[i, j, places] = known[n][s, places, list(alphas).index(level)]
            reached[i, j, places] = True
            continue
        try:
            population = nulls.alternative(
                shares[s, q], real, distance, n, question.measure, **question.costs
            )
        except nulls.NoAlternative:
            continue
        key = ("path sets", question.name, *identity, n, distance)
        numbers, sign = n_each[places, i, j], int(np.sign(question.difference(cells))) if distance else 0
        sets = draw_sets(population, n, int(numbers.max()), rng(grid.seed, *key))
        chosen = [tests[place] for place in places]
        found = count_sets(sets, chosen, [level], numbers, question, sign, grid.seed, key)
        rejected[i, j, places] = (found["n_rejected"] - found["n_wrong_direction"])[:, 0]
        reached[i, j, places] = True
    return {"path_rejected": rejected, "path_reached": reached}


def count_sets(
    sets: Ints,
    tests: Sequence[Test],
    alphas: Sequence[float],
    n_each: Sequence[int] | Ints,
    question: Question,
    sign: int,
    seed: int,
    key: Sequence[object],
) -> Arrays:
    """Count each test's rejections on sets of one point, equal sets tested once where nothing is drawn.

    Parameters
    ----------
    sets : int array, shape (n_sets, 8)

    Returns
    -------
    dict of int arrays
        ``n_rejected``, ``n_wrong_direction`` of shape (n_tests, n_alphas); ``n_degenerate``,
        ``n_convention`` of shape (n_tests,), see :func:`harness.evaluation.rejections.decide`.
    """
    counted = no_counts((len(tests),), len(alphas))
    wrong = np.sign(question.difference(sets)) * sign < 0
    once = np.ones(len(sets))
    numbers = {int(n) for n, test in zip(n_each, tests, strict=True) if not takes_few(test)}
    distinct = {}
    for n in numbers:  # of one size, seven cells tell the eighth
        first, which = distinct_rows(sets[:n, :-1])
        # a cell lies in one piece, and numbers of sets are floats, which is how numpy is fast
        distinct[n] = np.asfortranarray(sets[first]), wrong[first], np.bincount(which).astype(float)
    for n, places in _together(tests, n_each):
        family = [tests[place] for place in places]
        at, few = levels(family[0], alphas), takes_few(family[0])
        if not at:
            continue
        tested, wrongly, weights = (sets[:n], wrong[:n], once[:n]) if few else distinct[n]
        replicates = rng(seed, *key, "replicates") if few else None
        for start in range(0, len(tested), BLOCK):
            part = slice(start, start + BLOCK)
            block, weight = tested[part], weights[part]
            rejected, degenerate, settled = decide(family, block, [alphas[a] for a in at], replicates)
            where = np.ix_(places, at)
            counted["n_rejected"][where] += np.tensordot(weight, rejected, axes=1).astype(int)
            if sign:
                weighed = weight * wrongly[part]
                counted["n_wrong_direction"][where] += np.tensordot(weighed, rejected, axes=1).astype(int)
            counted["n_degenerate"][places] += int(weight @ degenerate)
            counted["n_convention"][places] += int(weight @ settled)
    return counted


def _together(tests: Sequence[Test], n_each: Sequence[int] | Ints) -> Iterator[tuple[int, list[int]]]:
    """Yield the places of tests that can be judged together on as many sets, and the number of these."""
    for places in families(tests):
        for n in sorted({int(n_each[place]) for place in places}):
            yield n, [place for place in places if n_each[place] == n]
