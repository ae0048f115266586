"""Two systems with several runs each: sets of items from the file, and levels of runs from a normal law."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from scipy.special import stdtrit

from harness.advise.documents import FILE_REPLICATES, MOST_KINDS
from harness.advise.documents.battery import default_replicates
from harness.advise.documents.runs import (
    PLAIN_OF_RUNS,
    MeanSquares,
    RunKinds,
    mean_squares,
    pigeonhole,
    split_sides,
)
from harness.advise.documents.tests import ROUNDING
from harness.advise.files.runs import Runs
from harness.advise.points import AT_ONCE, COUNTED, MOST_SETS, Named, Pair, Point, Question, find_pairs
from harness.measures import Floats, Ints
from harness.runtime.store import Arrays
from harness.seeding import rng
from harness.significance.result import TestResult
from harness.writing.prose import paragraphs

if TYPE_CHECKING:
    import pandas as pd

BOOTSTRAP = "pigeonhole"
BY_RUN, *NAIVE = PLAIN_OF_RUNS
TESTS = (BY_RUN, BOOTSTRAP, *NAIVE)
MORE = ((1, 1), (2, 1), (1, 2), (2, 2), (10, 1), (1, 10))
"""Times as many items, and as many runs, for which the standard error is told."""
COMPONENTS = ("pair", "source", "variance", "of_difference", "share")
DESIGNS = (
    "pair", "n_items", "n_runs_a", "n_runs_b", "standard_error", "freedom", "power_wanted", "difference",
)  # fmt: skip


class Sets(NamedTuple):
    """Sets: how many items of each kind, what is added to the measure of each run, and the runs' values."""

    counts: Ints
    levels: Floats
    values: Floats


@dataclass(frozen=True, eq=False, kw_only=True)
class RunPair(Pair):
    """A pair whose kinds of items are those on which all runs did the same.

    A population has a share for each kind and, behind these, a variance for each side. A set's items are
    drawn with what all the file's runs did on them, their interaction with the runs included; the level of
    each run is drawn from a normal law with that variance, around one mean for both systems. Runs so few are
    no population to draw from: three drawn with replacement are all the same one in nine times.
    """

    kinds: RunKinds
    n_replicates: int

    @property
    def recommendable(self) -> tuple[str, ...]:
        """The test that takes items and runs as drawn."""
        return (BY_RUN,)

    @property
    def at_once(self) -> int:
        """As many sets as have the values of their runs near at hand."""
        return max(1, AT_ONCE // 10 // self.kinds.said.size)

    def difference(self, counts: Any) -> Floats:
        """Return the difference of the means over the runs."""
        each = split_sides(self.kinds.measures(np.asarray(counts)), self.kinds.sides, -1)
        return np.asarray(sum(own.mean(axis=-1) for own in each))

    def means(self) -> tuple[float, float]:
        """Return the measure of A and of B, the mean over the runs."""
        a, b = np.split(self.kinds._replace(paired=False).measures(self.counts), [self.kinds.n_runs[0]])
        return float(a.mean()), -float(b.mean())

    def squares(self, counts: Ints | Floats) -> MeanSquares:
        """Return the mean squares of sets without levels of their own."""
        return mean_squares(self.kinds.values(counts), counts, self.kinds.sides)

    def deviation(self, shares: Floats) -> float:
        """Return the standard deviation on as many items and runs as the file has, times sqrt(N)."""
        n, sides = int(self.counts.sum()), self.kinds.sides
        weights, variances = np.split(shares, [len(self.counts)])
        found = self.squares(n * weights[None])
        return float(np.sqrt(found.items[0] + n * (variances / np.array(sides)).sum()))

    def project(self, weights: Floats) -> Floats:
        """Return shares and variances between the file's runs; means are made equal when sets are drawn."""
        shares = weights / weights.sum(axis=-1, keepdims=True)
        _, variances = self.squares(self.counts[None]).components()
        return np.concatenate([shares, np.repeat(variances, len(shares), axis=0)], axis=1)

    def with_drawn(self, n_draws: int, seed: int) -> Self:
        """Return the pair with populations of the Bayesian bootstrap of items.

        The variance between runs is what was seen times its degrees of freedom over a chi-square of these.
        """
        generator = rng(seed, "advice", self.name, "dirichlet")
        drawn = self.project(generator.dirichlet(self.weights, size=n_draws))
        own, freedom = self.squares(self.counts[None]), np.maximum(np.array(self.kinds.sides) - 1, 1)
        seen = own.runs * freedom / generator.chisquare(freedom, (n_draws, len(freedom)))
        variances = own._replace(runs=seen).components()[1]
        return replace(self, drawn=np.concatenate([drawn[:, : len(self.counts)], variances], axis=1))

    def tilt(self, null: Floats, wanted: float) -> Floats:
        """Return the null: a difference is added to the levels of A's runs."""
        return null

    def describe(self) -> list[Any]:
        """Return the kinds, by their hash, and what else they are."""
        content = hashlib.sha256(np.ascontiguousarray(self.kinds.said).tobytes()).hexdigest()
        return [content, *self.kinds[1:], self.tests, self.n_replicates, self.counts.tolist()]

    def judge(self, test: str, generator: np.random.Generator) -> TestResult:
        """Run a test on the file."""
        own = self._with_values(self.counts[None], np.zeros((1, sum(self.kinds.sides))))
        return self._run(test, own, FILE_REPLICATES, generator)

    def interval(self, seed: int, confidence: float = 0.95) -> tuple[float, float]:
        """Return the interval of the test of items and runs."""
        found = self.squares(self.counts[None])
        variance, freedom = (float(part[0]) for part in found.variance())
        d, half = float(found.difference[0]), stdtrit(freedom, (1 + confidence) / 2) * np.sqrt(variance)
        return d - half, d + half

    def n_sets(self, test: str, point: Point) -> int:
        """Return fewer sets for the bootstrap."""
        return min(point.n_sets, MOST_SETS[point.role]) if test == BOOTSTRAP else point.n_sets

    def count(
        self, point: Point, key: Sequence[object], tests: Sequence[str], alpha: float, seed: int
    ) -> Arrays:
        """Count rejections on sets of items and levels of runs."""
        names = ("advice", self.name, point.role, *key, point.n_documents)
        draws, replicates = rng(seed, *names, "items and runs"), rng(seed, *names, "replicates")
        most = [self.n_sets(test, point) for test in tests]
        found = np.zeros((len(COUNTED), len(tests)), dtype=np.int64)
        for before in range(0, max(most), self.at_once):
            sets = self._draw(point, min(self.at_once, max(most) - before), draws)
            for i, test in enumerate(tests):
                own = Sets._make(part[: max(0, most[i] - before)] for part in sets)
                if len(own.counts):
                    result = self._run(test, own, self.n_replicates, replicates, alpha)
                    rejected = result.pvalue <= alpha
                    wrong = rejected & (result.statistic * np.sign(point.difference) < 0)
                    found[:, i] += (len(rejected), rejected.sum(), wrong.sum(), result.degenerate.sum())
        return dict(zip(COUNTED, found, strict=True))

    def _draw(self, point: Point, n_sets: int, generator: np.random.Generator) -> Sets:
        shares, variances = np.split(point.shares, [len(self.counts)])
        counts = generator.multinomial(point.n_documents, shares, size=n_sets)
        sides = self.kinds.sides
        levels = generator.normal(size=(n_sets, sum(sides))) * np.repeat(np.sqrt(variances), sides)
        levels[:, : sides[0]] += point.difference
        return self._with_values(counts, levels - self.kinds.measures(shares))

    def _with_values(self, counts: Ints, levels: Floats) -> Sets:
        return Sets(counts, levels, self.kinds.values(counts) + levels[..., None])

    def _run(
        self, test: str, sets: Sets, n_replicates: int, generator: np.random.Generator, stop: float = 1.0
    ) -> TestResult:
        if test == BOOTSTRAP:
            return pigeonhole(sets.counts, sets.levels, self.kinds, n_replicates, generator, stop)
        return PLAIN_OF_RUNS[test](sets.values, sets.counts, self.kinds.sides)


def run_pair(found: Runs, question: Question, a: str, b: str, name: str) -> RunPair:
    """Return two systems of a file."""
    said, counts = found.kinds(a, b)
    n_runs = len(found.columns[a]), len(found.columns[b])
    kinds = RunKinds(said, n_runs, question.measure, tuple(question.costs.items()), found.paired)
    tests = TESTS if len(counts) <= MOST_KINDS[BOOTSTRAP] else (BY_RUN, *NAIVE)
    pair = RunPair(
        name=name, counts=counts, weights=counts.astype(float), tests=tests, kinds=kinds,
        n_replicates=question.n_replicates or default_replicates(question.alpha),
    )  # fmt: skip
    return replace(pair, null=pair.project(pair.weights[None])[0])


def run_pairs(
    found: Runs, question: Question, named: Sequence[Named] | None = None
) -> tuple[list[Pair], list[str]]:
    """Return the pairs, all or those named, that can be tested, and notes; UserError where there is none."""

    def make(a: str, b: str, name: str) -> Pair | str:
        pair = run_pair(found, question, a, b, name)
        own = pair.squares(pair.counts[None])
        if abs(own.difference[0]) < ROUNDING and own.variance()[0][0] < ROUNDING**2:
            return question.alike(a, b)
        return pair

    pairs, others = find_pairs(found.systems, question, make, named)
    fewest = min(len(own) for own in found.columns.values() if len(own) > 1)
    left_out = any(BOOTSTRAP not in pair.tests for pair in pairs)
    explained = paragraphs(
        "advise", "runs_notes", left_out=left_out, most=MOST_KINDS[BOOTSTRAP], fewest=fewest, naive=NAIVE,
        n_replicates=question.n_replicates or default_replicates(question.alpha),
    )  # fmt: skip
    return pairs, [*others, *question.cost_notes(), *explained]


def tabulate_runs(pairs: Sequence[Pair], alpha: float, powers: Sequence[float]) -> dict[str, pd.DataFrame]:
    """Return what varies with items and runs, and what more of them buy, by file; nothing without runs."""
    own = [pair for pair in pairs if isinstance(pair, RunPair)]
    if not own:
        return {}
    from pandas import concat

    return {
        "components": concat([tabulate_components(pair) for pair in own], ignore_index=True),
        "designs": concat([tabulate_designs(pair, alpha, powers) for pair in own], ignore_index=True),
    }


def tabulate_components(pair: RunPair) -> pd.DataFrame:
    """Return the estimated variances, at least 0, and what each adds to that of the difference.

    `source` is *items*, *runs* or *items x runs*, of A and of B where runs are nested in them.
    """
    found = pair.squares(pair.counts[None])
    (items,), (runs,) = found.components()
    n, sides = int(pair.counts.sum()), found.sides
    ends = [""] if pair.kinds.paired else [" of A", " of B"]
    told = [("items", items, items / n)]
    told += [(f"runs{end}", own, own / r) for end, own, r in zip(ends, runs, sides, strict=True)]
    both = zip(ends, found.interaction[0], sides, strict=True)
    told += [(f"items x runs{end}", own, own / r / n) for end, own, r in both]
    total = sum(part for *_, part in told) or 1.0
    rows = [(pair.name, source, *map(float, (own, part, part / total))) for source, own, part in told]
    from pandas import DataFrame

    return DataFrame(rows, columns=list(COMPONENTS))


def tabulate_designs(pair: RunPair, alpha: float, powers: Sequence[float]) -> pd.DataFrame:
    """Return the standard error with more items or runs, and the difference that is then seen with a power.

    The mean squares are those expected from the components; a side of one run has no more of them. What is
    seen is the sum of the quantiles of t times the standard error.
    """
    found, rows = pair.squares(pair.counts[None]), []
    items, runs = found.components()
    for more_items, more_runs in MORE:
        times = tuple(r * more_runs if r > 1 else r for r in found.sides)
        n = found.n_items * more_items
        expected = found._replace(
            items=items + (found.interaction / np.array(times)).sum(axis=1),
            runs=runs + found.interaction / n[:, None], n_items=n, sides=times,
        )  # fmt: skip
        variance, freedom = (float(part[0]) for part in expected.variance())
        for power in powers:
            seen = (stdtrit(freedom, 1 - alpha / 2) + stdtrit(freedom, power)) * np.sqrt(variance)
            told = float(np.sqrt(variance)), freedom, power, float(seen)
            rows.append((pair.name, int(n[0]), times[0], times[-1], *told))
    from pandas import DataFrame

    return DataFrame(rows, columns=list(DESIGNS))
