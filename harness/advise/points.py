"""What is measured for each pair of systems: populations, set sizes, and how often each test rejects."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np
from scipy.optimize import brentq

from harness.advise.files.predictions import name_pairs
from harness.errors import refusal
from harness.evaluation.rejections import Test
from harness.measures import Floats, Ints, check_measure
from harness.nulls.path import NoAlternative
from harness.runtime.parallel import Run
from harness.runtime.store import Arrays
from harness.seeding import rng
from harness.significance.result import TestResult

if TYPE_CHECKING:
    import pandas as pd

StageRun = Callable[..., Run]
Named = tuple[str, str, str]  # A, B, and the name of the pair

Role = Literal["size", "range", "power", "needed"]
LOSSES = ("error", "dcf", "balanced_error")  # measures of which less is better
MANY = 5  # systems, from which on a few pairs stand for the others
COUNTED = ("n_sets", "n_rejected", "n_wrong_direction", "n_degenerate")
LEAST_DRAWN, MOST_DRAWN = 4_000, 100_000  # populations for an interval, as many as fit in memory at a time
AT_ONCE = 4_000_000  # numbers of sets that are held at a time
# that tests that draw replicates see at a point, which is in one direction where it is of a power curve
MOST_SETS: Mapping[str, int] = {"size": 3_000, "range": 100, "power": 100, "needed": 300}
_MOST_TIMES = 2.5
_LARGEST_FACTOR = 100.0


class Plan(NamedTuple):
    """How much is measured."""

    n_sets: int = 10_000  # for a size
    n_draws: int = 40  # populations drawn around the file's own,
    n_range_sets: int = 1_000  # and sets for each
    n_power_sets: int = 1_000  # for a point of a power curve, half of them with A better and half with B,
    # at differences in standard deviations of a set's difference
    h: tuple[float, ...] = (1.0, 1.5, 2.0, 2.5, 2.8, 3.2, 3.6, 4.0, 5.0)
    factors: tuple[float, ...] = (0.5, 1.0, 2.0, 10.0)  # numbers of items, in multiples of the file's


def plan_at(plan: Plan, alpha: float) -> Plan:
    """Return the plan with more sets for sizes and ranges where alpha is small.

    The noise of counting, relative to alpha, is that at .05 where there are .05/alpha times as many sets:
    down to .02, for at most 2.5 times as many are taken, which bounds the cost of a run. Of tests whose size
    is alpha everywhere 2 % are then ruled out at .01, 12 % at .005 and 42 % at .001 (simulation of 3,000
    runs).
    """
    times = min(max(1.0, 0.05 / alpha), _MOST_TIMES)
    return plan._replace(n_sets=round(times * plan.n_sets), n_range_sets=round(times * plan.n_range_sets))


@dataclass(frozen=True)
class Question:
    """What is asked about a file; tests, plainest first, are for one category, the average for several."""

    name: str
    measure: str
    tests: Sequence[Test] = ()
    costs: Mapping[str, float] = field(default_factory=dict)
    average: str = "micro"
    n_replicates: int | None = None
    alpha: float = 0.05
    difference: float = 0.01
    margin: float | None = None
    plan: Plan = Plan()
    seed: int = 0
    baseline: str | None = None

    def alike(self, a: str, b: str) -> str:
        """Return why two systems cannot be compared that say the same."""
        return (
            f"{a} and {b} say the same of every item that counts for {self.measure}; there is nothing to test"
        )

    def cost_notes(self) -> list[str]:
        """Return the costs and prior of a detection cost, for its reader."""
        costs = check_measure(self.measure, **self.costs).items() if self.measure == "dcf" else ()
        words = ", ".join(f"{name} {value:g}" for name, value in costs)
        return [f"costs of the DCF: {words}"] if words else []


class Point(NamedTuple):
    """One population and set size at which tests are run."""

    role: Role
    n_documents: int
    value: float  # h of a power point, below 0 where B is better; number of a drawn population; 0 of a size
    difference: float
    shares: Floats
    n_sets: int


@dataclass(frozen=True, eq=False, kw_only=True)
class Pair(ABC):
    """Two systems: populations in which they are equally good, and tests on sets drawn from populations.

    A set is a number of items of each kind; `counts` are those of the file, and populations that could have
    given it are Dirichlet(`weights`). `null` is the equal population nearest to the file's own, and each row
    of `drawn` that nearest to such a draw.
    """

    name: str
    counts: Ints
    weights: Floats
    tests: tuple[str, ...]
    null: Floats = field(default_factory=lambda: np.zeros(0))
    drawn: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    notes: tuple[str, ...] = ()

    @property
    def recommendable(self) -> tuple[str, ...]:
        """The tests that may be recommended, plainest first."""
        return self.tests

    @property
    def at_once(self) -> int:
        """How many sets fit in memory at a time."""
        return max(1, AT_ONCE // len(self.weights))

    @abstractmethod
    def difference(self, counts: Any) -> Floats:
        """Return the measure of A minus that of B; 0/0 counts as 0."""

    @abstractmethod
    def deviation(self, shares: Floats) -> float:
        """Return the standard deviation of the difference on N items, times sqrt(N), to first order."""

    @abstractmethod
    def project(self, weights: Floats) -> Floats:
        """Return the nearest population with a difference of 0 to each row, NaN where there is none."""

    @abstractmethod
    def tilt(self, null: Floats, wanted: float) -> Floats:
        """Return the null tilted to a difference; raise NoAlternative where it is out of reach."""

    @abstractmethod
    def describe(self) -> list[Any]:
        """Return what results depend on besides populations, as JSON types: part of the key of the cache."""

    @abstractmethod
    def judge(self, test: str, generator: np.random.Generator) -> TestResult:
        """Return what a test says of the file."""

    @abstractmethod
    def count(
        self, point: Point, key: Sequence[object], tests: Sequence[str], alpha: float, seed: int
    ) -> Arrays:
        """Return :data:`COUNTED`, each of shape (n_tests,); `key` names the point in the generators."""

    def interval(self, seed: int, confidence: float = 0.95) -> tuple[float, float]:
        """Return the central part of the differences of populations drawn from Dirichlet(weights)."""
        posterior, tail = rng(seed, "advice", self.name, "posterior"), round((1 - confidence) / 2, 12)
        n_drawn = min(max(LEAST_DRAWN, self.at_once), MOST_DRAWN)
        sizes = [min(self.at_once, n_drawn - start) for start in range(0, n_drawn, self.at_once)]
        drawn = [self.difference(posterior.dirichlet(self.weights, size=n)) for n in sizes]
        low, high = np.quantile(np.concatenate(drawn), [tail, 1 - tail]).tolist()
        return low, high

    def n_sets(self, test: str, point: Point) -> int:
        """Return how many of the point's sets a test sees."""
        return point.n_sets

    def with_drawn(self, n_draws: int, seed: int) -> Self:
        """Return the pair with populations that could have given the file."""
        generator = rng(seed, "advice", self.name, "dirichlet")
        # a gamma of so small a shape can be 0 to rounding, and an empty cell has no null of its own
        draws = np.maximum(generator.dirichlet(self.weights, size=n_draws), 1e-12)
        drawn = self.project(draws)
        found = np.isfinite(drawn).all(axis=1)
        n_lost = int((~found).sum())
        lost = [f"{n_lost} of {n_draws} populations have no null and are left out"] if n_lost else []
        return replace(self, drawn=drawn[found], notes=(*self.notes, *lost))


Make = Callable[[str, str, str], Pair | str]


def find_pairs(
    systems: Sequence[str], question: Question, make: Make, named: Sequence[Named] | None = None
) -> tuple[list[Pair], list[str]]:
    """Return the pairs, all or those named, that can be tested, and notes on the others; or a UserError.

    `make` returns a pair, or a note on why it cannot be tested.
    """
    found = [make(*names) for names in named or name_pairs(systems, question.baseline)]
    notes = [one for one in found if isinstance(one, str)]
    if len(notes) == len(found):
        raise refusal("advise.no_pair", name=question.name, note=notes[0])
    n_draws, seed = question.plan.n_draws, question.seed
    return [one.with_drawn(n_draws, seed) for one in found if isinstance(one, Pair)], notes


def place_points(pair: Pair, plan: Plan) -> tuple[list[Point], list[str]]:
    """Return every point to measure for a pair, and notes on those that do not exist.

    A test may see a difference more often where A is better: power is measured in both directions.
    """
    points, notes, sd, n_items = [], [], pair.deviation(pair.null), int(pair.counts.sum())
    for factor in plan.factors:
        n = max(2, round(factor * n_items))
        points.append(Point("size", n, 0.0, 0.0, pair.null, plan.n_sets))
        signs = [1.0, -1.0]
        for h in plan.h:
            wanted, found = h * sd / np.sqrt(n), {}
            for sign in signs:
                try:
                    found[sign] = pair.tilt(pair.null, sign * wanted)
                except (NoAlternative, ValueError):
                    told = f"no population like this one differs by {sign * wanted:+.3g}"
                    notes.append(f"{pair.name}, N = {n}: {told}")
            signs = list(found)
            n_sets = -(-plan.n_power_sets // max(1, len(found)))
            points += [Point("power", n, s * h, s * wanted, shares, n_sets) for s, shares in found.items()]
    for i, shares in enumerate(pair.drawn):
        points.append(Point("range", n_items, float(i), 0.0, shares, plan.n_range_sets))
    return points, notes


def measure_pair(
    pair: Pair, plan: Plan, alpha: float, seed: int, stage_run: StageRun
) -> tuple[pd.DataFrame, list[str]]:
    """Return how often each test rejects at every point of a pair, a row for each, and notes."""
    points, missing = place_points(pair, plan_at(plan, alpha))
    run = stage_run("advice", pair.describe(), alpha, seed)
    found = run(
        _count_point, [(point, alpha, seed) for point in points],
        [repr((pair.name, *point._replace(shares=point.shares.tolist()))) for point in points],
        shared=lambda: pair, threads=False, description=f"sizes and powers of {pair.name}",
    )  # fmt: skip
    rows = [
        (pair.name, *point[:4], test, *(int(part[key][i]) for key in COUNTED))
        for point, part in zip(points, found, strict=True)
        for i, test in enumerate(pair.tests)
    ]
    columns = ["pair", "role", "n_documents", "value", "difference", "test", *COUNTED]
    from pandas import DataFrame

    return DataFrame(rows, columns=columns), [*(f"{pair.name}: {note}" for note in pair.notes), *missing]


def _count_point(pair: Pair, point: Point, alpha: float, seed: int) -> Arrays:
    return pair.count(point, (point.value,), pair.tests, alpha, seed)


def judge_pair(pair: Pair, seed: int, confidence: float = 0.95) -> pd.DataFrame:
    """Return every test's p-value on the file, and the difference with its interval."""
    low, high = pair.interval(seed, confidence)
    rows = []
    for test in pair.tests:
        result = pair.judge(test, rng(seed, "advice", pair.name, "file", test))
        told = (np.ravel(part)[0] for part in (result.statistic, result.pvalue, result.degenerate))
        rows.append((pair.name, test, float(pair.difference(pair.counts)), low, high, *told))
    columns = ["pair", "test", "difference", "low", "high", "statistic", "pvalue", "degenerate"]
    from pandas import DataFrame

    return DataFrame(rows, columns=columns)


def tilt_to(
    p0: Floats, psi: Floats, measured: Callable[[Floats], Any], wanted: float, measure: str
) -> Floats:
    """Return ``q_i ~ p0_i exp(t psi_i)`` with the t at which `measured` of it is `wanted`.

    NoAlternative: no item's influence points there, or a share would have to change by a factor above 100.
    """
    span = float(psi[p0 > 0].max() - psi[p0 > 0].min())
    last = np.sign(wanted) * np.log(_LARGEST_FACTOR) / max(span, 1e-300)
    farthest = float(measured(_tilt(p0, psi, last))) if span > 0 else 0.0
    if abs(farthest) < abs(wanted) or farthest * wanted < 0:
        raise NoAlternative(
            f"a difference of {wanted:.3g} in {measure} lies too far from the null: {farthest:.3g} is "
            f"reached where a cell has changed by a factor of {_LARGEST_FACTOR:g}"
        )

    def gap(t: float) -> float:
        return float(measured(_tilt(p0, psi, t))) - wanted

    if gap(0.0) * wanted >= 0:  # the null is balanced to rounding alone, and so little is wanted
        return p0.copy()
    return _tilt(p0, psi, brentq(gap, 0.0, last, xtol=1e-15, rtol=1e-14))


def _tilt(p0: Floats, psi: Floats, t: Any) -> Floats:
    exponent = t * psi
    shares = p0 * np.exp(exponent - exponent.max())
    return np.asarray(shares / shares.sum())
