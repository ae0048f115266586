"""All systems of a file at once: every pair by one test, Holm's p, and ranks with simultaneous sets.

Which test it is, the first one of the measure, depends on the form of the file alone and not on what was
observed. The cost of a pair is then that of one p-value.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtri, stdtrit

from harness.advise.cells import CellPair, chosen_tests
from harness.advise.documents import Rows
from harness.advise.documents.battery import names_of
from harness.advise.documents.tests import t_test
from harness.advise.files import Said, is_plain, units
from harness.advise.files.predictions import Outcomes, name_pairs
from harness.advise.files.runs import Runs
from harness.advise.points import LOSSES, MANY, Named, Question
from harness.advise.runs import BY_RUN, run_pair
from harness.measures import Bools, Floats, Ints, standard_deviation
from harness.runtime.talk import progress
from harness.seeding import rng
from harness.significance.ranks import holm
from harness.significance.result import TestResult

N_DRAWS = 10_000
_ROUNDING = 1e-12
_AT_ONCE = 2_000_000


@dataclass(frozen=True, eq=False)
class Field:
    """Every two systems of a file: differences, standard errors and p-values of one test, a row for a pair.

    `first` and `second` are the places of A and B in `systems`, of which a baseline is the last; `values` are
    the systems' own.
    """

    systems: list[str]
    values: Floats
    test: str
    first: Ints
    second: Ints
    difference: Floats
    error: Floats
    result: TestResult
    counts: Ints | None
    question: Question
    freedom: float | Floats = np.inf

    @property
    def asked(self) -> Bools:
        """Which pairs are compared: all, or those with the baseline."""
        every = np.ones(len(self.first), dtype=bool)
        return every if self.question.baseline is None else self.second == len(self.systems) - 1

    @property
    def many(self) -> bool:
        """Whether there are so many systems that pairs stand for others."""
        return len(self.systems) >= MANY

    def named(self) -> list[Named]:
        """Return the pairs that are compared."""
        return name_pairs(self.systems, self.question.baseline)

    def representatives(self) -> list[Named]:
        """Return the pairs to study: all of few systems, else the nearest, the median and the farthest.

        Near are two systems whose difference has a small standard error, as of two that seldom disagree: on
        this hang the items that a test goes by, its size, and how many items are needed.
        """
        named = self.named()
        if not self.many:
            return named
        error = self.error[self.asked]
        order = [int(place) for place in np.argsort(error, kind="stable") if error[place] > 0]
        if not order:
            return named[:1]
        return [named[order[place]] for place in dict.fromkeys((0, len(order) // 2, len(order) - 1))]

    def verdicts(self, studied: pd.DataFrame, measure: str) -> pd.DataFrame:
        """Return the verdicts of all pairs: every test of those that were studied, one test of the others.

        Holm's p is over the one test of all pairs; a pair that it cannot tell apart counts with p = 1.
        """
        own, result = self.asked, self.result
        low, high = self._intervals(np.flatnonzero(own))
        rows = pd.DataFrame(
            {
                "pair": [name for *_, name in self.named()], "measure": measure, "test": self.test,
                "difference": self.difference[own], "low": low, "high": high,
                "statistic": result.statistic[own], "pvalue": result.pvalue[own],
                "degenerate": result.degenerate[own],
                "rejected": result.pvalue[own] <= self.question.alpha, "recommended": False,
            }
        )  # fmt: skip
        there = set(zip(studied["pair"], studied["test"], strict=True))
        more = [key not in there for key in zip(rows["pair"], rows["test"], strict=True)]
        table = pd.concat([studied.drop(columns="pvalue_holm"), rows[more]], ignore_index=True)
        place = {name: i for i, name in enumerate(rows["pair"])}
        order = np.argsort(table["pair"].map(place), kind="stable")
        table = table.iloc[order].reset_index(drop=True)
        return adjust(table, table["test"] == self.test, len(rows))

    def _intervals(self, places: Ints) -> tuple[Floats, Floats]:
        """Return 95 % intervals: of cells as for a single pair, else of the standard error."""
        if self.counts is None:
            half = (stdtrit(self.freedom, 0.975) * self.error)[places]
            return self.difference[places] - half, self.difference[places] + half
        question, named = self.question, zip(self.named(), self.counts[places], strict=True)
        kind = question.measure, question.tests[:1], question.costs
        told = progress(named, len(places), "intervals of all pairs")
        ends = [CellPair.of(name, own, *kind).interval(question.seed) for (*_, name), own in told]
        low, high = np.transpose(ends)
        return low, high

    def ranks(self) -> pd.DataFrame:
        """Return the systems by value, best first, each with its rank and the set of those it may have."""
        sign = -1.0 if self.question.measure in LOSSES else 1.0
        n = len(self.systems)
        z, variance = np.zeros((n, n)), np.zeros((n, n))
        far = -ndtri(self.result.pvalue / 2) * np.sign(sign * self.difference)
        # a difference without spread has the one that its p-value says
        spread = np.divide(self.difference, far, out=np.zeros(len(far)), where=far != 0)
        error = np.where(self.error > 0, self.error, spread)
        z[self.first, self.second], z[self.second, self.first] = far, -far
        variance[self.first, self.second] = variance[self.second, self.first] = error**2
        better = find_better(z, variance, self.question.alpha, rng(self.question.seed, "advice", "ranks"))
        order = np.round(sign * self.values, 12)
        rank = 1 + (order[:, None] < order).sum(axis=1)
        table = pd.DataFrame(
            {
                "system": self.systems, "value": self.values, "rank": rank,
                "rank_low": 1 + better.sum(axis=0), "rank_high": n - better.sum(axis=1),
            }
        )  # fmt: skip
        return table.sort_values(["rank", "rank_low", "rank_high", "system"], ignore_index=True)


def adjust(table: pd.DataFrame, own: Any, n_pairs: int) -> pd.DataFrame:
    """Return a table with Holm's p of its `own` rows; of `n_pairs`, those without a row count with p = 1."""
    p = table.loc[own, "pvalue"].to_numpy()
    table.loc[own, "pvalue_holm"] = holm(np.append(p, np.ones(n_pairs - len(p))))[: len(p)]
    return table


def compare_all(outcomes: Said, question: Question) -> Field:
    """Compare every two systems by the first test of the measure."""
    base = question.baseline
    systems = [name for name in outcomes.systems if name != base] + ([base] if base is not None else [])
    first, second = np.triu_indices(len(systems), 1)
    if isinstance(outcomes, Runs):
        return _compare_runs(outcomes, question, systems, first, second)
    rows, n_units = Rows.of(outcomes), units(outcomes)[0]
    if is_plain(outcomes):
        tests, _ = chosen_tests(outcomes, question)
        counts = count_pairs(outcomes, systems, first, second)
        values = np.array([rows.effect(name, question)[0] for name in systems])
        error = standard_deviation(counts, question.measure, **question.costs) / np.sqrt(n_units)
        more = {"rng": rng(question.seed, "advice", "all pairs")} if tests[0].random else {}
        question = replace(question, tests=tests)
        return Field(
            systems, values, tests[0].name, first, second, np.asarray(tests[0].difference(counts)), error,
            tests[0].pvalue(counts, **more), counts, question,
        )  # fmt: skip
    test = names_of(question.measure, outcomes.clusters is not None)[0]
    found = [rows.effect(name, question) for name in systems]
    values, psi = np.array([value for value, _ in found]), np.stack([own for _, own in found], axis=1)
    freedom, factor = n_units - 1.0, n_units / max(n_units - 1, 1)
    if test == "wald_by_document":
        freedom, factor = np.inf, 1.0
    variance, d = factor * _squared_distances(psi, first, second), values[first] - values[second]
    result, error = t_test(d, variance, freedom), np.sqrt(variance)
    return Field(systems, values, test, first, second, d, error, result, None, question, freedom)


def _compare_runs(outcomes: Runs, question: Question, systems: list[str], first: Ints, second: Ints) -> Field:
    found = [
        run_pair(outcomes, question, systems[i], systems[j], "") for i, j in zip(first, second, strict=True)
    ]
    parts = [pair.squares(pair.counts[None]) for pair in found]
    d = np.array([part.difference[0] for part in parts])
    variance, freedom = np.array([part.variance() for part in parts])[..., 0].T
    results = [np.ravel(pair.judge(BY_RUN, rng(question.seed))) for pair in found]
    pvalue, statistic, degenerate = np.transpose(results)
    result = TestResult(pvalue, statistic, degenerate.astype(bool))
    values = np.array([found[0].means()[0], *(pair.means()[1] for pair in found[: len(systems) - 1])])
    return Field(
        systems, values, BY_RUN, first, second, d, np.sqrt(variance), result, None, question, freedom
    )


def _squared_distances(psi: Floats, first: Ints, second: Ints) -> Floats:
    """Return the squared distances of columns, 0 where they are rounding."""
    products = psi.T @ psi
    own = products.diagonal()
    found = own[first] + own[second] - 2 * products[first, second]
    return np.where(found > _ROUNDING * (own[first] + own[second]), found, 0.0)


def count_pairs(outcomes: Outcomes, systems: Sequence[str], first: Ints, second: Ints) -> Ints:
    """Return the eight counts of many pairs, (n_pairs, 8), `first` and `second` being places of systems."""
    halves = []
    step = max(1, _AT_ONCE // len(systems))
    for truth in (True, False):
        said = np.zeros((len(systems), len(systems)))
        places = np.flatnonzero(outcomes.truth == truth)
        for start in range(0, len(places), step):
            part = places[start : start + step]
            yes = np.stack([outcomes.decisions[name][part] for name in systems], axis=1).astype(float)
            said += yes.T @ (yes * outcomes.n_items[part, None])
        total, alone, both = outcomes.n_items[places].sum(), said.diagonal(), said[first, second]
        a, b = alone[first] - both, alone[second] - both
        halves += [both, b, a, total - both - a - b]
    return np.stack(halves, axis=1).astype(np.int64)


def find_better(z: Floats, variance: Floats, alpha: float, generator: np.random.Generator) -> Bools:
    """Return which systems (rows) are better than which others (columns), none wrongly with 1 - alpha.

    `z`, (n, n), says how far a row's system is ahead of a column's, standard normal where they are equally
    good; `variance` is that of the difference of their measures. The hypotheses "no better than" of all
    ordered pairs are rejected step by step (Romano & Wolf 2005, Journal of the American Statistical
    Association 100, 94-108): above the 1 - alpha quantile of the largest z of those that are left, over draws
    from the normal distribution with the measures' covariance, the limit of a bootstrap that weighs the
    items' influence with normal multipliers. Inverted, they give simultaneous confidence sets for all ranks
    (Mogstad, Romano, Shaikh & Wilhelm 2024, Review of Economic Studies 91, 476-518).
    """
    n = len(z)
    centred = np.eye(n) - 1 / n
    # only differences matter: their variances, centred twice, are those of measures with a mean of 0
    values, vectors = np.linalg.eigh(-centred @ variance @ centred / 2)
    draws = generator.standard_normal((N_DRAWS, n)) @ (vectors * np.sqrt(np.maximum(values, 0))).T
    i, j = np.nonzero(np.triu(variance, 1))
    better = np.zeros((n, n), dtype=bool)
    while True:
        limit = _largest(draws, i, j, np.sqrt(variance[i, j]), better, alpha)
        new = (z > limit) & ~better
        if not new.any():
            return better
        better |= new


def _largest(draws: Floats, i: Ints, j: Ints, error: Floats, done: Bools, alpha: float) -> float:
    """Return the 1 - alpha quantile of the largest of the differences over their errors that are not done."""
    largest = []
    for part in np.array_split(draws, -(-len(draws) * max(len(i), 1) // _AT_ONCE)):
        far = (part[:, i] - part[:, j]) / error
        ahead, behind = far[:, ~done[i, j]], far[:, ~done[j, i]]
        largest.append(np.maximum(ahead.max(axis=1, initial=0.0), -behind.min(axis=1, initial=0.0)))
    return float(np.quantile(np.concatenate(largest), 1 - alpha, method="higher"))
