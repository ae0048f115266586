"""Tests of two systems with several runs (seeds, trials) each on the same items: what varies with either.

Of every run and item there is a value whose mean over the items is the run's measure: the outcome itself for
the error or a score, and for a ratio the run's measure plus the influence of the item, to first order the
jackknife's pseudo-value. Runs are nested in a *side* and crossed with items: A's values are one side, B's
with a minus another; where run j of A and of B belong together their differences are the only side. The
difference is the sum over the sides of the mean over all runs and items.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.advise.documents.tests import ROUNDING, Costs, staged, t_test
from harness.measures import GAINS, Bools, Floats, Ints, difference, influence, ratio
from harness.significance.result import TestResult, settle_degenerate

UPPER = 1.5
"""The runs' part of the variance is taken to be so many times as large in the degrees of freedom."""
_CELLS = [0, 1, 6, 7]  # e1, e2, e7, e8: what a run decides beside a system that is always right


class RunKinds(NamedTuple):
    """Kinds of items of two systems, each with several runs.

    `said`, shape (n_runs, n_kinds), those of B behind those of A: the place of each run's outcome in e1, e2,
    e7, e8 beside a system that is always right; of scores the score itself.
    """

    said: NDArray[Any]
    n_runs: tuple[int, int]
    measure: str
    costs: Costs = ()
    paired: bool = False

    @property
    def sides(self) -> tuple[int, ...]:
        """Return the number of runs of each side."""
        return self.n_runs[:1] if self.paired else self.n_runs

    def measures(self, counts: Ints | Floats) -> Floats:
        """Return every run's measure on items of each kind, shape (..., n_runs), B's with a minus."""
        if self.measure == "score":
            return self._by_side(counts @ self.said.T / counts.sum(axis=-1, keepdims=True), -1)
        return self._by_side(self._own(self._cells(counts)), -1)

    def values(self, counts: Ints | Floats) -> Floats:
        """Return the value of every run on each kind, shape (n_sets, n_runs, n_kinds), B's with a minus."""
        if self.measure == "score":
            own = self._by_side(self.said, 0)
            return np.broadcast_to(own, (len(counts), *own.shape))
        cells = self._cells(counts)
        psi = influence(cells, self.measure, **dict(self.costs))[..., _CELLS]
        each = np.take_along_axis(psi, self.said[None].astype(np.int64), axis=-1)
        return self._by_side(self._own(cells)[..., None] + each, 1)

    def _cells(self, counts: Ints | Floats) -> Floats:
        cells = np.zeros((*counts.shape[:-1], len(self.said), 8))
        for place, cell in enumerate(_CELLS):
            cells[..., cell] = counts.astype(float) @ (self.said == place).T
        return cells

    def _own(self, cells: Floats) -> Floats:
        return difference(self.measure, **dict(self.costs))(cells) + (self.measure in GAINS)

    def _by_side(self, values: Floats, axis: int) -> Floats:
        a, b = np.split(values, [self.n_runs[0]], axis=axis)
        return a - b if self.paired else np.concatenate([a, -b], axis=axis)


class MeanSquares(NamedTuple):
    """The two-way analysis of variance of values by items and runs; `runs`, `interaction`: (n_sets, n_sides).

    Unbiased: `items` for the variance between items of the sum of the sides' means, `runs` for that between
    the runs' measures, `interaction` for what is left of a value.
    """

    difference: Floats
    items: Floats
    runs: Floats
    interaction: Floats
    n_items: Ints | Floats
    sides: tuple[int, ...]

    def variance(self, upper: float = UPPER) -> tuple[Floats, Floats]:
        """Return the variance of the difference over items and runs, and its degrees of freedom.

        The items' part, less the interaction that the runs' part holds too, is 0 where it is below (as Hillis
        2007, Statistics in Medicine 26, 596-619, for readers). Satterthwaite's degrees of freedom take the
        estimated shares of the parts for known, and with three runs a test then rejects up to .08 of equal
        systems at .05. Here the runs' share is taken to be 1.5 times as large, up to the whole.
        """
        n_runs, n = np.array(self.sides), self.n_items[..., None]
        each = np.where(n_runs > 1, self.runs / n_runs, 0.0)
        items = np.maximum(self.items / n[..., 0] - (self.interaction / n_runs / n).sum(axis=-1), 0.0)
        runs = each.sum(axis=-1)
        total = items + runs
        share = np.minimum(upper * ratio(runs, total), 1.0)
        # one over the degrees of freedom of the runs' part
        inverse = (ratio(each, runs[..., None]) ** 2 / np.maximum(n_runs - 1, 1)).sum(axis=-1)
        return total, 1 / (share**2 * inverse + (1 - share) ** 2 / np.maximum(self.n_items - 1, 1))

    def components(self) -> tuple[Floats, Floats]:
        """Return the estimated variances of items and, of each side, of runs; 0 where they come out below."""
        items = self.items - (self.interaction / np.array(self.sides)).sum(axis=-1)
        runs = np.where(np.array(self.sides) > 1, self.runs - self.interaction / self.n_items[..., None], 0.0)
        return np.maximum(items, 0.0), np.maximum(runs, 0.0)


def mean_squares(values: Floats, counts: Ints | Floats, sides: tuple[int, ...]) -> MeanSquares:
    """Return the mean squares of sets: `values`, (n_sets, n_runs, n_kinds), of items, (n_sets, n_kinds)."""
    n, weights = counts.sum(axis=-1), counts.astype(float)
    both, runs, interaction = np.zeros(()), [], []
    for own in split_sides(values, sides, 1):
        n_runs = own.shape[1]
        each, middle = (own @ weights[..., None])[..., 0] / n[:, None], own.mean(axis=1)
        squares = np.einsum("srk,srk->sk", own, own) - n_runs * middle**2
        spread = ((each - each.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
        rest = (squares * weights).sum(axis=1) - n * spread
        interaction.append(np.maximum(rest, 0.0) / np.maximum((n - 1) * (n_runs - 1), 1))
        runs.append(each.var(axis=1, ddof=1) if n_runs > 1 else np.zeros(len(each)))
        both = both + middle
    d, items = _mean_and_variance(both, counts)
    return MeanSquares(d, items, np.stack(runs, axis=-1), np.stack(interaction, axis=-1), n, sides)


def split_sides(values: Floats, sides: tuple[int, ...], axis: int) -> list[Floats]:
    """Return the values of each side."""
    return np.split(values, np.cumsum(sides)[:-1], axis=axis)


def _mean_and_variance(values: Floats, counts: Ints | Floats) -> tuple[Floats, Floats]:
    n = counts.sum(axis=-1)
    mean = (values * counts).sum(axis=-1) / n
    return mean, ((values - mean[:, None]) ** 2 * counts).sum(axis=-1) / np.maximum(n - 1, 1)


def t_by_item_and_run(values: Floats, counts: Ints, sides: tuple[int, ...]) -> TestResult:
    """Student's t test of the difference over items and runs, both drawn at random.

    Null hypothesis: the expected measure of a run of A on all items is that of a run of B. For normal
    effects, asymptotic in the items alone; see :meth:`MeanSquares.variance`. A side with one run has no
    variance between runs: it is taken for the system itself.
    """
    found = mean_squares(values, counts, sides)
    return _t_test(found.difference, *found.variance(), values)


def mean_of_runs(values: Floats, counts: Ints, sides: tuple[int, ...]) -> TestResult:
    """Paired t test on the items' means over the runs: the runs at hand are taken for all that there are."""
    found = mean_squares(values, counts, sides)
    return _t_test(found.difference, found.items / found.n_items, found.n_items - 1, values)


def one_run(values: Floats, counts: Ints, sides: tuple[int, ...]) -> TestResult:
    """Paired t test on the items of the first run of each system: no other run is looked at."""
    first = np.sum([own[:, 0] for own in split_sides(values, sides, 1)], axis=0)
    d, variance = _mean_and_variance(first, counts)
    n = counts.sum(axis=-1)
    return _t_test(d, variance / n, n - 1, values)


def pooled_runs(values: Floats, counts: Ints, sides: tuple[int, ...]) -> TestResult:
    """Paired t test on the items of all runs, run j of A beside run j of B, as if all were other items."""
    times = min(sides)
    every = np.sum([own[:, :times] for own in split_sides(values, sides, 1)], axis=0)
    d, variance = _mean_and_variance(every.reshape(len(every), -1), np.tile(counts, times))
    n = times * counts.sum(axis=-1)
    return _t_test(d, variance / n, n - 1, values)


def _t_test(d: Floats, variance: Floats, freedom: Floats | Ints, values: Floats) -> TestResult:
    constant = variance <= ROUNDING**2 * np.abs(values).max() ** 2
    return t_test(d, np.where(constant, 0.0, variance), np.maximum(freedom, 1))


PLAIN_OF_RUNS: dict[str, Callable[[Floats, Ints, tuple[int, ...]], TestResult]] = {
    test.__name__: test for test in (t_by_item_and_run, mean_of_runs, one_run, pooled_runs)
}


def pigeonhole(
    counts: Ints,
    levels: Floats,
    kinds: RunKinds,
    n_replicates: int,
    rng: np.random.Generator,
    stop: float = 1.0,
) -> TestResult:
    """Percentile bootstrap that draws items, and the runs of each side, with replacement.

    Null hypothesis: as :func:`t_by_item_and_run`. With R runs it keeps (R - 1) / R of their variance, and
    counts the interaction three times (Owen 2007, Annals of Applied Statistics 1, 386-411). `levels`, shape
    (n_sets, n_runs), is added to the measure of each run.
    """
    n, sides = counts.sum(axis=1), kinds.sides

    def draw(sets: Ints, times: int) -> tuple[Bools, Bools]:
        """Return which replicates have a difference of at most, and of at least, 0."""
        drawn = rng.multinomial(n[sets], counts[sets] / n[sets][:, None], size=(times, len(sets)))
        each, d = kinds.measures(drawn) + levels[sets], np.zeros((times, len(sets)))
        for own in split_sides(each, sides, -1):
            r = own.shape[-1]
            d += (rng.multinomial(r, [1 / r] * r, size=d.shape) * own).sum(axis=-1) / r
        d = np.where(np.abs(d) < ROUNDING, 0.0, d)
        return d <= 0, d >= 0

    found = staged(len(counts), counts.shape[1] + sum(sides), draw, n_replicates, stop)
    each = split_sides(kinds.measures(counts) + levels, sides, -1)
    d = np.sum([own.mean(axis=-1) for own in each], axis=0)
    return settle_degenerate(found, d, np.zeros(len(d), dtype=bool), "accept")
