"""Count how often each test rejects on the evaluation sets of one category."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.evaluation.sets import draw_sets
from harness.runtime.parallel import run_here
from harness.runtime.store import Arrays
from harness.seeding import rng

COUNTED = ("n_rejected", "n_wrong_direction", "n_degenerate", "n_convention")
"""What is counted of each test; the first two at each level."""


@dataclass(frozen=True)
class Test:
    """A significance test as the study runs it.

    Attributes
    ----------
    name : str
        Its name in the `test` column.
    measure : str
        The measure whose difference it tests.
    difference : callable
        Counts of shape (..., 8) -> the measure's difference, A minus B, shape (...).
    pvalue : functools.partial
        Counts of shape (..., 8) -> TestResult.
    reject : functools.partial, optional
        (counts, alphas) -> bool array (..., n_alphas), for tests that can settle the verdict sooner
        than the p-value; with a keyword `interval` it takes several, see :func:`families`.
    degenerate : callable, optional
        Counts -> bool array (...); needed beside `reject`.
    random : bool
        Whether the test draws replicates and takes ``rng=``.
    stratified : bool
        Whether it can be told that the number of positives is fixed (``stratified=True``).
    """

    __test__ = False  # pytest would collect the name otherwise

    name: str
    measure: str
    difference: Callable[..., NDArray[Any]]
    pvalue: partial[Any]
    reject: partial[NDArray[np.bool_]] | None = None
    degenerate: Callable[..., NDArray[np.bool_]] | None = None
    random: bool = False
    stratified: bool = False

    @cached_property
    def policy(self) -> str | None:
        """What it does to degenerate sets, "accept" or "reject"; None where it cannot be told."""
        known = inspect.signature(self.pvalue).parameters.get("degenerate")
        return None if known is None else known.default


@dataclass(frozen=True)
class Setting:
    """What every evaluation has in common.

    Attributes
    ----------
    sizes : sequence of int
        Numbers of documents of an evaluation set.
    n_sets : int
        Evaluation sets of a category at each point.
    make_run : callable
        (stage, *inputs) -> Run.
    describe : mapping
        JSON description of tests and truths, part of the units' keys.
    """

    tests: Sequence[Test]
    alphas: Sequence[float]
    sizes: Sequence[int]
    n_sets: int
    seed: int
    make_run: Callable[..., Any] = lambda *_: run_here
    describe: Mapping[str, object] = field(default_factory=dict)
    replacement: bool = True


class Question(NamedTuple):
    """A measure, with its costs if it has any, and the tests of its difference.

    Attributes
    ----------
    places : list of int
        Of its tests among all.
    """

    measure: str
    costs: dict[str, float]
    difference: Callable[..., NDArray[Any]]
    places: list[int]

    @property
    def name(self) -> str:
        """What names the measure in a generator."""
        return "/".join([self.measure, *(f"{key}={value}" for key, value in sorted(self.costs.items()))])


def ask(tests: Sequence[Test]) -> list[Question]:
    """Return the questions that the tests answer, in order of first appearance."""
    found: dict[tuple[object, ...], Question] = {}
    for place, test in enumerate(tests):
        costs = dict(getattr(test.difference, "keywords", {}))
        key = (test.measure, *sorted(costs.items()))
        found.setdefault(key, Question(test.measure, costs, test.difference, [])).places.append(place)
    return list(found.values())


def families(tests: Sequence[Test]) -> list[list[int]]:
    """Return the places of tests that can be judged together: those that differ in `interval` only."""
    found: dict[object, list[int]] = {}
    for i, test in enumerate(tests):
        key: object = i
        if test.reject is not None and "interval" in test.reject.keywords:
            others = {k: v for k, v in test.reject.keywords.items() if k != "interval"}
            key = (test.measure, test.reject.func, tuple(sorted(others.items())))
        found.setdefault(key, []).append(i)
    return list(found.values())


def decide(
    tests: Sequence[Test],
    counts: NDArray[np.int64],
    alphas: Sequence[float],
    generator: np.random.Generator | None,
    *,
    stratified: bool = False,
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
    """Return the verdicts of one family of tests at each level, and which sets are degenerate for it.

    Parameters
    ----------
    counts : int array, shape (n_sets, 8)

    Returns
    -------
    rejected : bool array, shape (n_sets, n_tests, n_alphas)
    degenerate : bool array, shape (n_sets,)
    by_convention : bool array, shape (n_sets,)
        Degenerate sets that ``degenerate="reject"`` rejects at every level and ``"accept"`` at none. A test
        may have a p-value of its own for others: the proportion test where both classifiers make the
        same errors.
    """
    first = tests[0]
    options: dict[str, Any] = {"rng": generator} if first.random else {}
    if first.stratified:
        options["stratified"] = stratified
    if first.reject is not None and first.degenerate is not None:
        if "interval" in first.reject.keywords:
            options["interval"] = [test.reject.keywords["interval"] for test in tests if test.reject]
        rejected = first.reject(counts, alphas=alphas, **options)
        degenerate = first.degenerate(counts)
        return rejected.reshape(len(counts), len(tests), len(alphas)), degenerate, degenerate
    settled = {} if first.policy is None else {"degenerate": "reject"}
    result = first.pvalue(counts, **options | settled)
    if np.isnan(result.pvalue).any():
        raise ValueError(f"test {first.name}: a p-value is NaN; every set must have a verdict")
    rejected = (result.pvalue <= np.asarray(alphas)[:, None]).T[:, None]  # level by level: faster
    degenerate = np.asarray(result.degenerate, dtype=bool)
    by_convention = degenerate & (result.pvalue == 0) if settled else np.zeros_like(degenerate)
    if first.policy == "accept":
        rejected[by_convention] = False
    return rejected, degenerate, by_convention


def no_counts(shape: tuple[int, ...], n_alphas: int) -> Arrays:
    """Return zeros for all that is :data:`COUNTED` in an array of tests."""
    shapes = {name: (*shape, n_alphas) if name in COUNTED[:2] else shape for name in COUNTED}
    return {name: np.zeros(each, dtype=np.int64) for name, each in shapes.items()}


class Unit(NamedTuple):
    """One category as it is evaluated.

    Attributes
    ----------
    cells : array, shape (8,)
        What the sets are drawn from: the population's counts, or shares where it was reweighted.
    truth : array, shape (8,)
        The cells on which the population's own difference is measured.
    names : sequence
        What names the unit in generators.
    """

    cells: NDArray[Any]
    truth: NDArray[Any]
    names: Sequence[object]
    stratified: bool = False

    def draw(self, what: str, n_documents: int, n_sets: int, setting: Setting) -> NDArray[np.int64]:
        """Draw sets, from a generator that is named by what they are for."""
        generator = rng(setting.seed, what, *self.names, n_documents)
        how = {"replacement": setting.replacement, "stratified": self.stratified}
        return draw_sets(self.cells, n_documents, n_sets, generator, **how)


def count_rejections(unit: Unit, setting: Setting) -> Arrays:
    """Draw the evaluation sets of one category at every size and count each test's rejections.

    Tests of one measure see the same replicates: they share the generator
    ``rng(seed, "replicates", *names, n_documents, measure)``.

    Returns
    -------
    dict of int arrays
        ``n_rejected`` and ``n_wrong_direction`` of shape (n_sizes, n_tests, n_alphas),
        ``n_degenerate`` and ``n_convention`` (see :func:`decide`) of shape (n_sizes, n_tests). A rejection is
        in the wrong direction where the set's difference has the other sign than the population's; where
        the population's is 0 none is.
    """
    tests, alphas, stratified = setting.tests, setting.alphas, unit.stratified
    counted = no_counts((len(setting.sizes), len(tests)), len(alphas))
    for i, n_documents in enumerate(setting.sizes):
        counts = unit.draw("sets", n_documents, setting.n_sets, setting)
        for places in families(tests):
            family = [tests[j] for j in places]
            difference, measure = family[0].difference, family[0].measure
            replicates = rng(setting.seed, "replicates", *unit.names, n_documents, measure)
            rejected, degenerate, settled = decide(family, counts, alphas, replicates, stratified=stratified)
            wrong = np.sign(difference(counts)) * np.sign(difference(unit.truth)) < 0
            verdicts = rejected, rejected & wrong[:, None, None], degenerate, settled
            for name, found in zip(COUNTED, verdicts, strict=True):
                counted[name][i, places] = found.sum(axis=0)
    return counted
