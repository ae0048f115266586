"""Rejections of every test on sets that are drawn from null, real and intermediate populations."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness import nulls
from harness.evaluation.questions import Question
from harness.evaluation.rejections import Test, decide, families
from harness.evaluation.sets import draw_sets
from harness.runtime.store import Arrays
from harness.seeding import rng
from harness.significance.equal_counts import distinct_rows

Ints = NDArray[np.int64]

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
    options: dict[str, Any],
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
    options : dict
        `sources`, `questions`, `tests`, `alphas`, `seed`; `sizes` of the sources, `h` and `path_sizes` of
        the path.
    """
    common = {key: options[key] for key in ("sources", "questions", "tests", "alphas", "seed")}
    on_path = {key: options[key] for key in ("h", "path_sizes")}
    found = count_sources(cells, shares, n_each, identity, sizes=options["sizes"], **common)
    known = {n: found["n_rejected"][:, i] for i, n in enumerate(options["sizes"])}
    return found | count_path(cells, shares, n_on_path, known, identity, **common, **on_path)


def count_again(
    shares: NDArray[np.float64],
    points: Sequence[tuple[int, int, int, Sequence[int]]],
    n_each: Ints,
    identity: Sequence[object],
    options: dict[str, Any],
) -> Arrays:
    """Count one category's rejections at some points of its nulls on sets drawn anew.

    Parameters
    ----------
    shares, n_each, identity
        As in :func:`count_unit`.
    points : sequence of (source, question, number of documents, places of the tests)
    options : dict
        `sources`, `questions`, `tests`, `alphas`, `seed`.

    Returns
    -------
    dict
        ``n_rejected``, int array of shape (n_points, n_tests, n_alphas): 0 for tests that are not asked for.
    """
    tests, alphas, seed = (options[key] for key in ("tests", "alphas", "seed"))
    n_rejected = np.zeros((len(points), len(tests), len(alphas)), dtype=np.int64)
    for i, (s, q, n_documents, places) in enumerate(points):
        question, numbers = options["questions"][q], n_each[s, places]
        key = ("null sets again", options["sources"][s].truth, question.name, *identity, n_documents)
        sets = draw_sets(shares[s, q], n_documents, int(numbers.max()), rng(seed, *key))
        chosen = [tests[place] for place in places]
        n_rejected[i, places] = count_sets(sets, chosen, alphas, numbers, question, 0, seed, key)[0]
    return {"n_rejected": n_rejected}


def count_sources(
    cells: NDArray[Any],
    shares: NDArray[np.float64],
    n_each: Ints,
    identity: Sequence[object],
    *,
    sources: Sequence[Source],
    questions: Sequence[Question],
    tests: Sequence[Test],
    alphas: Sequence[float],
    sizes: Sequence[int],
    seed: int,
) -> Arrays:
    """Count rejections on sets of each size from each source.

    Parameters
    ----------
    cells, shares, n_each, identity
        As in :func:`count_unit`.
    sources : sequence of Source
    questions : sequence of Question
    tests : sequence of Test
    alphas : sequence of float
    sizes : sequence of int
        Documents of a set.
    seed : int

    Returns
    -------
    dict of int arrays
        ``n_rejected``, ``n_wrong_direction`` of shape (n_sources, n_sizes, n_tests, n_alphas) and
        ``n_degenerate``, ``n_convention`` (n_sources, n_sizes, n_tests). Under a null no direction is wrong.
    """
    shape = (len(sources), len(sizes), len(tests), len(alphas))
    n_rejected, n_wrong = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    n_degenerate, n_convention = np.zeros(shape[:3], dtype=np.int64), np.zeros(shape[:3], dtype=np.int64)
    for (s, source), (q, question) in _pairs(sources, questions):
        if np.isnan(shares[s, q, 0]):
            continue
        sign = 0 if source.kind == "size" else _sign(question, cells)
        drawn_from = source.truth if source.kind == "size" else "real"
        chosen, numbers = [tests[place] for place in question.places], n_each[s, question.places]
        for i, n_documents in enumerate(sizes):
            key = ("null sets", drawn_from, question.name, *identity, n_documents)
            sets = draw_sets(shares[s, q], n_documents, int(numbers.max()), rng(seed, *key))
            found = count_sets(sets, chosen, alphas, numbers, question, sign, seed, key)
            n_rejected[s, i, question.places], n_wrong[s, i, question.places] = found[:2]
            n_degenerate[s, i, question.places], n_convention[s, i, question.places] = found[2:]
    counts = {"n_rejected": n_rejected, "n_wrong_direction": n_wrong}
    return counts | {"n_degenerate": n_degenerate, "n_convention": n_convention}


def count_path(
    cells: NDArray[Any],
    shares: NDArray[np.float64],
    n_each: Ints,
    known: Mapping[int, Ints],
    identity: Sequence[object],
    *,
    sources: Sequence[Source],
    questions: Sequence[Question],
    tests: Sequence[Test],
    alphas: Sequence[float],
    h: Sequence[float],
    path_sizes: Sequence[int],
    seed: int,
) -> Arrays:
    """Count rejections on sets from the path between the null :data:`WITH_POWER` and the real population.

    The verdicts are those at the one level :func:`shown_alpha`.

    Parameters
    ----------
    n_each : int array, shape (n_tests, n_path_sizes, n_h)
        Sets of a point for each test.
    known : mapping of int to int array, shape (n_sources, n_tests, n_alphas)
        Rejections on sets of so many documents from each source: the path begins at one of them.
    h : sequence of float
        Distances from the null, in standard deviations of the difference on a set.
    path_sizes : sequence of int
        Documents of a set.
    cells, shares, identity, sources, questions, tests, alphas, seed
        As in :func:`count_sources`.

    Returns
    -------
    dict of arrays
        ``path_rejected``, int of shape (n_path_sizes, n_h, n_tests): all rejections at h = 0, those in the
        right direction elsewhere; ``path_reached``, bool of that shape: whether the path gets that far.
    """
    shape = (len(path_sizes), len(h), len(tests))
    rejected, reached = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=bool)
    level = shown_alpha(alphas)
    real = np.asarray(cells) / np.sum(cells)
    start = [s for s, source in enumerate(sources) if source == Source(WITH_POWER, "size")]
    for s, (q, question), i, j in product(start, enumerate(questions), *map(range, shape[:2])):
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
        numbers, sign = n_each[places, i, j], _sign(question, cells) if distance else 0
        sets = draw_sets(population, n, int(numbers.max()), rng(seed, *key))
        chosen = [tests[place] for place in places]
        all_ways, wrong, *_ = count_sets(sets, chosen, [level], numbers, question, sign, seed, key)
        rejected[i, j, places] = (all_ways - wrong)[:, 0]
        reached[i, j, places] = True
    return {"path_rejected": rejected, "path_reached": reached}


def _pairs(sources: Sequence[Source], questions: Sequence[Question]) -> Any:
    return ((s, q) for s in enumerate(sources) for q in enumerate(questions))


def _sign(question: Question, cells: NDArray[Any]) -> int:
    return int(np.sign(question.difference(cells)))


def count_sets(
    sets: Ints,
    tests: Sequence[Test],
    alphas: Sequence[float],
    n_each: Sequence[int] | Ints,
    question: Question,
    sign: int,
    seed: int,
    key: Sequence[object],
) -> tuple[Ints, Ints, Ints, Ints]:
    """Count each test's rejections on sets of one point, equal sets tested once where nothing is drawn.

    Parameters
    ----------
    sets : int array, shape (n_sets, 8)
    tests : sequence of Test
        Of one measure.
    alphas : sequence of float
    n_each : sequence of int
        Each test gets so many of the sets, the first; those with replicates at levels from :data:`FEW_ALPHA`.
    question : Question
    sign : int
        Of the population's difference; 0 where no direction is wrong.
    seed : int
    key : sequence
        Names the sets; all of these tests share the replicates' generator ``rng(seed, *key, "replicates")``.

    Returns
    -------
    n_rejected, n_wrong_direction : int arrays, shape (n_tests, n_alphas)
    n_degenerate, n_convention : int arrays, shape (n_tests,)
        See :func:`harness.evaluation.rejections.decide`.
    """
    shape = (len(tests), len(alphas))
    n_rejected, n_wrong = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    n_degenerate, n_convention = np.zeros(len(tests), dtype=np.int64), np.zeros(len(tests), dtype=np.int64)
    once = np.ones(len(sets), dtype=np.int64)
    numbers = {int(n) for n, test in zip(n_each, tests, strict=True) if not takes_few(test)}
    distinct = {n: _distinct(sets[:n]) for n in numbers}
    for n, places in _together(tests, n_each):
        family = [tests[place] for place in places]
        at = levels(family[0], alphas)
        if not at:
            continue
        tested, weights = (sets[:n], once[:n]) if takes_few(family[0]) else distinct[n]
        replicates = rng(seed, *key, "replicates")
        for start in range(0, len(tested), BLOCK):
            block, weight = tested[start : start + BLOCK], weights[start : start + BLOCK]
            rejected, degenerate, settled = decide(family, block, [alphas[a] for a in at], replicates)
            n_rejected[np.ix_(places, at)] += np.tensordot(weight, rejected, axes=1)
            n_degenerate[places] += weight @ degenerate
            n_convention[places] += weight @ settled
            if sign:
                wrong = weight * (np.sign(question.difference(block)) * sign < 0)
                n_wrong[np.ix_(places, at)] += np.tensordot(wrong, rejected, axes=1)
    return n_rejected, n_wrong, n_degenerate, n_convention


def _distinct(sets: Ints) -> tuple[Ints, Ints]:
    """Return the different sets and how often each occurs; of one size, seven cells tell the eighth."""
    first, which = distinct_rows(sets[:, :-1])
    return sets[first], np.bincount(which)


def _together(tests: Sequence[Test], n_each: Sequence[int] | Ints) -> Iterator[tuple[int, list[int]]]:
    """Yield the places of tests that can be judged together on as many sets, and the number of these."""
    for places in families(tests):
        for n in sorted({int(n_each[place]) for place in places}):
            yield n, [place for place in places if n_each[place] == n]
