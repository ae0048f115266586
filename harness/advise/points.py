"""What is measured for one pair of systems: populations, set sizes, and how often each test rejects."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harness.advise.needed import deviations
from harness.advise.tilt import tilted
from harness.evaluation.rejections import Test, count_rejections
from harness.measures import standard_deviation
from harness.nulls.path import NoAlternative
from harness.nulls.projection import NoProjection, project
from harness.runtime.parallel import Run
from harness.runtime.store import Arrays
from harness.seeding import rng

if TYPE_CHECKING:
    from pandas import DataFrame

Floats = NDArray[np.float64]

PRIOR = 0.5
"""Added to each cell: Jeffreys' prior of eight shares."""
SIZE, RANGE, POWER = "size", "range", "power"
_MOST_TIMES = 2.5


class Plan(NamedTuple):
    """How much is measured.

    Attributes
    ----------
    n_sets : int
        Sets for a size.
    n_draws, n_range_sets : int
        Populations drawn around the file's own, and sets for each.
    n_power_sets : int
        Sets at a point of a power curve, half of them with A better and half with B.
    h : tuple of float
        Points of the power curve: differences in standard deviations of a set's difference.
    factors : tuple of float
        Set sizes, in multiples of the file's.
    """

    n_sets: int = 10_000
    n_draws: int = 40
    n_range_sets: int = 1_000
    n_power_sets: int = 1_000
    h: tuple[float, ...] = (1.0, 1.5, 2.0, 2.5, 2.8, 3.2, 3.6, 4.0, 5.0)
    factors: tuple[float, ...] = (0.5, 1.0, 2.0, 10.0)


def plan_at(plan: Plan, alpha: float) -> Plan:
    """Return the plan with more sets for sizes and ranges where alpha is small.

    The noise of counting, as a part of alpha, is that at .05 where there are .05/alpha times as many sets. So
    many are taken down to alpha = .02, and below 2.5 times as many, which bounds what a run costs: of tests
    whose size is alpha everywhere 2 % are then ruled out at .01, 12 % at .005 and 42 % at .001 (simulation of
    3,000 runs).

    Examples
    --------
    >>> [plan_at(Plan(), alpha).n_sets for alpha in (0.1, 0.05, 0.025, 0.01)]
    [10000, 10000, 20000, 25000]
    """
    times = min(max(1.0, 0.05 / alpha), _MOST_TIMES)
    return plan._replace(n_sets=round(times * plan.n_sets), n_range_sets=round(times * plan.n_range_sets))


class Point(NamedTuple):
    """One population and set size at which every test is run."""

    pair: str
    role: str
    n_documents: int
    value: float
    """h of a power point, below 0 where B is better; number of a drawn population; 0 of a size."""
    difference: float
    shares: Floats
    n_sets: int


class PairPopulation(NamedTuple):
    """The null of a pair, the nulls of populations drawn around it, and what is to be said of them."""

    null: Floats
    drawn: Floats
    notes: list[str]


def populations_of(
    counts: ArrayLike, measure: str, costs: Mapping[str, float], n_draws: int, generator: np.random.Generator
) -> PairPopulation:
    """Return the exact null nearest to a pair's outcomes, and those of populations that could be theirs.

    Parameters
    ----------
    counts : int array_like, shape (8,)
        The pair's cells e1..e8 on the file.
    measure : str
    costs : mapping
        Of the measure, where it has some.
    n_draws : int
        Populations drawn from Dirichlet(counts + 1/2), each projected on its own null.
    generator : numpy.random.Generator

    Returns
    -------
    PairPopulation
        Where cells without a document favour only one of the two, so that the file's own population has no
        null, the null is that of ``counts + 1/2``, and a note says so.

    Examples
    --------
    >>> found = populations_of([50, 0, 0, 0, 0, 4, 16, 30], "error", {}, 3, np.random.default_rng(0))
    >>> found.null.round(2).tolist(), found.drawn.shape
    ([0.52, 0.0, 0.0, 0.0, 0.0, 0.08, 0.08, 0.31], (3, 8))
    """
    cells = np.asarray(counts, dtype=float)
    notes = []
    try:
        null = project(cells, measure, **costs)
    except NoProjection as error:
        null = project(cells + PRIOR, measure, **costs)
        notes.append(f"{error}; half a document was added to each cell")
    # a gamma of so small a shape can be 0 to rounding, and an empty cell has no null of its own
    draws = np.maximum(generator.dirichlet(cells + PRIOR, size=n_draws), 1e-12)
    return PairPopulation(null, project(draws, measure, **costs), notes)


def points_of(
    pair: str,
    population: PairPopulation,
    n_documents: int,
    measure: str,
    costs: Mapping[str, float],
    plan: Plan,
    alpha: float = 0.05,
) -> tuple[list[Point], list[str]]:
    """Return every point to measure for a pair, and notes on those that do not exist."""
    sd = float(standard_deviation(population.null, measure, **costs))
    return place_points(
        pair, population, n_documents, plan_at(plan, alpha), sd,
        lambda wanted: tilted(population.null, wanted, measure, **costs),
    )  # fmt: skip


def place_points(
    pair: str,
    population: PairPopulation,
    n_documents: int,
    plan: Plan,
    sd: float,
    tilt: Callable[[float], Floats],
) -> tuple[list[Point], list[str]]:
    """Return the points of a pair, `sd` being that of one document and `tilt` giving alternatives.

    A test may see a difference more often where A is better than where B is: the points of a power curve are
    in both directions, as far as populations differ so.
    """
    points, notes = [], []
    for factor in plan.factors:
        n = max(2, round(factor * n_documents))
        points.append(Point(pair, SIZE, n, 0.0, 0.0, population.null, plan.n_sets))
        signs = [1.0, -1.0]
        for h in plan.h:
            wanted, found = h * sd / np.sqrt(n), {}
            for sign in signs:
                try:
                    found[sign] = tilt(sign * wanted)
                except (NoAlternative, ValueError):
                    notes.append(
                        f"{pair}, {n} items: no population like this one differs by {sign * wanted:+.3g}"
                    )
            signs = list(found)
            n_sets = -(-plan.n_power_sets // max(1, len(found)))
            points += [
                Point(pair, POWER, n, sign * h, sign * wanted, shares, n_sets)
                for sign, shares in found.items()
            ]
    points += [
        Point(pair, RANGE, n_documents, float(i), 0.0, shares, plan.n_range_sets)
        for i, shares in enumerate(population.drawn)
    ]
    return points, notes


def run_points(
    points: Sequence[Point], tests: Sequence[Test], alpha: float, seed: int, run: Run
) -> DataFrame:
    """Draw the sets of every point, run every test on them and count its rejections.

    Returns
    -------
    DataFrame
        pair, role, n_documents, value, difference, test, n_sets, n_rejected, n_wrong_direction,
        n_degenerate: a row for each point and test.
    """
    import pandas as pd

    found = run(
        _run_point,
        [(tuple(point.shares.tolist()), *_named(point), point.n_sets, alpha, seed) for point in points],
        [repr((point.shares.tolist(), *_named(point), point.n_sets)) for point in points],
        shared=lambda: list(tests),
        threads=False,
        description="sizes and powers",
    )
    rows = [
        (
            point.pair, point.role, point.n_documents, point.value, point.difference, test.name, point.n_sets,
            int(part["n_rejected"][0, i, 0]), int(part["n_wrong_direction"][0, i, 0]),
            int(part["n_degenerate"][0, i]),
        )
        for point, part in zip(points, found, strict=True)
        for i, test in enumerate(tests)
    ]  # fmt: skip
    columns = ["pair", "role", "n_documents", "value", "difference", "test", "n_sets", "n_rejected"]
    return pd.DataFrame(rows, columns=[*columns, "n_wrong_direction", "n_degenerate"])


def _named(point: Point) -> tuple[str, str, int, float]:
    return point.pair, point.role, point.n_documents, point.value


def _run_point(
    tests: list[Test],
    shares: tuple[float, ...],
    pair: str,
    role: str,
    n_documents: int,
    value: float,
    n_sets: int,
    alpha: float,
    seed: int,
) -> Arrays:
    cells = np.array(shares)
    return count_rejections(
        cells, truth=cells, names=("advice", pair, role, value), sizes=[n_documents], n_sets=n_sets,
        tests=tests, alphas=[alpha], seed=seed,
    )  # fmt: skip


def deviations_around(
    population: PairPopulation, wanted: float, measure: str, costs: Mapping[str, float]
) -> Floats:
    """Return :func:`harness.advise.needed.deviations` of a pair's null and those drawn around it."""
    return deviations(
        [population.null, *population.drawn], wanted,
        lambda null, d: tilted(null, d, measure, **costs), lambda q: standard_deviation(q, measure, **costs),
    )  # fmt: skip


def describe_tests(tests: Sequence[Test]) -> list[list[str]]:
    """Return what the results of these tests hang on, as JSON types: part of the key of what is kept."""
    made = [(test.name, test.pvalue.func, sorted(test.pvalue.keywords.items())) for test in tests]
    return [[name, f"{func.__module__}.{func.__qualname__}", repr(options)] for name, func, options in made]


def draw_generator(seed: int, pair: str) -> np.random.Generator:
    """Return the generator of the populations drawn around a pair's own."""
    return rng(seed, "advice", pair, "dirichlet")
