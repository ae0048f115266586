"""Two systems on one category: items are drawn one by one, and a set is the counts of the eight cells."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from harness.advise.files.predictions import Outcomes
from harness.advise.points import COUNTED, MANY, Named, Pair, Point, Question, find_pairs, tilt_to
from harness.evaluation.rejections import Setting, Test, Unit, count_rejections
from harness.measures import Floats, difference, influence, standard_deviation
from harness.nulls.projection import NoProjection, as_shares, project
from harness.runtime.store import Arrays
from harness.significance.result import TestResult

PRIOR = 0.5  # added to each cell: Jeffreys' prior of eight shares
DISCORDANT = [1, 2, 5, 6]
# above so many items exact randomization takes longer than all else, and agrees with the z test
LARGEST_RANDOMIZATION = 50_000


@dataclass(frozen=True, eq=False, kw_only=True)
class CellPair(Pair):
    """A pair whose kinds of items are the eight cells e1..e8."""

    measure: str
    costs: Mapping[str, float]
    battery: Sequence[Test]

    @classmethod
    def of(
        cls, name: str, counts: ArrayLike, measure: str, battery: Sequence[Test], costs: Mapping[str, float]
    ) -> Self:
        """Return a pair without populations, to be judged on the file alone."""
        cells = np.asarray(counts)
        return cls(
            name=name, counts=cells, weights=cells + PRIOR, tests=tuple(test.name for test in battery),
            measure=measure, costs=costs, battery=battery,
        )  # fmt: skip

    def with_null(self) -> Self:
        """Return the pair with its null: that of counts + 1/2 where the cells favour only one of the two."""
        try:
            return replace(self, null=self.project(self.counts.astype(float)))
        except NoProjection as error:
            note = f"{error}; half a document was added to each cell"
            return replace(self, null=self.project(self.weights), notes=(note,))

    def difference(self, counts: Any) -> Floats:
        """Return the difference by the cells."""
        return np.asarray(self.battery[0].difference(counts))

    def deviation(self, shares: Floats) -> float:
        """Return that of the influence of a cell."""
        return float(standard_deviation(shares, self.measure, **self.costs))

    def project(self, weights: Floats) -> Floats:
        """Return the exact nulls."""
        return project(weights, self.measure, **self.costs)

    def tilt(self, null: Floats, wanted: float) -> Floats:
        """Return the tilt along the influence."""
        return tilted(null, wanted, self.measure, **self.costs)

    def describe(self) -> list[Any]:
        """Return the tests with their options."""
        made = [(test.name, test.pvalue.func, sorted(test.pvalue.keywords.items())) for test in self.battery]
        return [[name, f"{func.__module__}.{func.__qualname__}", repr(more)] for name, func, more in made]

    def judge(self, test: str, generator: np.random.Generator) -> TestResult:
        """Run a test on the file's cells."""
        (own,) = self._named([test])
        found: TestResult = own.pvalue(self.counts, **({"rng": generator} if own.random else {}))
        return found

    def count(
        self, point: Point, key: Sequence[object], tests: Sequence[str], alpha: float, seed: int
    ) -> Arrays:
        """Count rejections on sets of cells."""
        unit = Unit(point.shares, point.shares, ("advice", self.name, point.role, *key))
        setting = Setting(self._named(tests), [alpha], [point.n_documents], point.n_sets, seed)
        found = count_rejections(unit, setting)
        n_sets = np.full(len(tests), point.n_sets)
        return {"n_sets": n_sets} | {name: found[name].reshape(len(tests)) for name in COUNTED[1:]}

    def _named(self, tests: Sequence[str]) -> list[Test]:
        return [test for test in self.battery if test.name in tests]


def cell_pairs(
    outcomes: Outcomes, question: Question, named: Sequence[Named] | None = None
) -> tuple[list[Pair], list[str]]:
    """Return the pairs of a file that can be tested, and notes; UserError where there is none."""
    measure, costs, (tests, notes) = question.measure, question.costs, chosen_tests(outcomes, question)

    def make(a: str, b: str, name: str) -> Pair | str:
        counts = outcomes.cells(a, b)
        differ = [cell for cell in DISCORDANT if counts[cell]]
        if not influence(counts + PRIOR, measure, **costs)[differ].any():
            return question.alike(a, b)
        return CellPair.of(name, counts, measure, tests, costs).with_null()

    pairs, others = find_pairs(outcomes.systems, question, make, named)
    return pairs, [*others, *notes]


def chosen_tests(outcomes: Outcomes, question: Question) -> tuple[Sequence[Test], list[str]]:
    """Return the tests that so many items and systems allow, and notes."""
    tests, notes = question.tests, question.cost_notes()
    if outcomes.n_total > LARGEST_RANDOMIZATION or len(outcomes.systems) >= MANY:
        kept = [test for test in tests if "randomization" not in test.name]
        if 0 < len(kept) < len(tests):
            most = f"above {LARGEST_RANDOMIZATION:,} items and from {MANY} systems on"
            notes.append(f"randomization is left out {most}, where it is slow")
        tests = kept or tests
    return tests, notes


def tilted(null: ArrayLike, wanted: float, measure: str, **costs: float) -> Floats:
    """Return the population that lies at a difference of `wanted`, the null tilted towards it.

    ``q_i ~ p0_i exp(t psi_i)``, psi the influence of a document: the direction in which the smallest change
    of the population gives this difference. (For the error, whose influence does not depend on the
    population, q is the nearest of all populations with that difference in ``KL(q||p0)``.) What was observed
    plays no part.
    """
    if not np.isfinite(wanted):
        raise ValueError(f"wanted: {wanted!r} is not allowed; a finite number is")
    p0 = as_shares(null)
    if wanted == 0:
        return p0.copy()
    psi = np.where(p0 > 0, influence(p0, measure, **costs), 0.0)
    return tilt_to(p0, psi, difference(measure, **costs), wanted, measure)
