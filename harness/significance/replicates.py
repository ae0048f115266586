"""Bootstrap replicates of a set's counts: many draws of one multinomial, several times faster than numpy's.

numpy draws a multinomial cell by cell, each a binomial whose parameters change with every draw. Here all
cells but the largest are drawn as independent Poisson variables, whose parameters never change, and a
draw is kept with the probability that makes the kept ones multinomial. With N documents, c of them in the
largest cell, and s in the others, multinomial over Poisson probability is proportional to
r(s) = (1/c)^s N! / (N - s)!, largest at s = N - c; a draw is kept with probability r(s) / r(N - c), on
average about sqrt(c / N) (Devroye 1986, Non-Uniform Random Variate Generation, ch. II.3: rejection).
"""

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CACHED = 10_000
"""Tables of cells up to this count are kept for the next set (up to 2,000 values, 30 KB each)."""


class Resampling:
    """Draws from Multinomial(N, counts / N), exactly but for weights below 1e-16.

    Parameters
    ----------
    counts : int array, shape (n_cells,)
        Cells of one set; their sum N may be 0.

    Examples
    --------
    >>> drawn = Resampling(np.array([3, 0, 97])).draw(1000, np.random.default_rng(0))
    >>> drawn.shape, set(drawn.sum(axis=0).tolist())
    ((3, 1000), {100})
    """

    def __init__(self, counts: Ints) -> None:
        self.n, self.n_cells = int(counts.sum()), len(counts)
        self.largest = int(counts.argmax())
        cells = np.flatnonzero(counts)
        self.drawn = cells[cells != self.largest]
        self.tables = [
            _small_table(count) if count <= CACHED else _poisson_table(count)
            for count in counts[self.drawn].tolist()
        ]
        rest = int(counts[self.largest])
        self.least = sum(int(values[0]) for values, _ in self.tables)
        most = sum(int(values[-1]) for values, _ in self.tables)
        # log r(s) by its steps r(s + 1) / r(s) = (N - s) / c: no large logarithms to lose digits with
        steps = np.log(np.maximum(self.n - np.arange(self.least, min(most, self.n)), 1) / max(rest, 1))
        logs = np.concatenate([[0.0], np.cumsum(steps)])
        self.kept = np.zeros(most - self.least + 1)  # more than N documents: never kept
        self.kept[: len(logs)] = np.exp(logs - logs.max())
        self.share_kept = np.sqrt(rest / max(self.n, 1))

    def draw(self, size: int, rng: np.random.Generator) -> Ints:
        """Return `size` replicates, shape (n_cells, size)."""
        replicates = np.zeros((self.n_cells, size), dtype=np.int64)
        filled = 0
        while filled < size and self.tables:
            proposed = self._propose(int((size - filled) / self.share_kept * 1.05) + 10, rng)
            chance = self.kept[proposed.sum(axis=0) - self.least]
            chosen = np.flatnonzero(rng.random(len(chance)) < chance)[: size - filled]
            replicates[self.drawn, filled : filled + len(chosen)] = proposed[:, chosen]
            filled += len(chosen)
        replicates[self.largest] = self.n - replicates.sum(axis=0)
        return replicates

    def _propose(self, size: int, rng: np.random.Generator) -> Ints:
        """Return independent Poisson draws for all cells but the largest.

        How many of `size` independent draws fall on each value is multinomial, and in a random order
        they are the draws: one short multinomial and a shuffle, whatever the Poisson mean.
        """
        rows = [np.repeat(values, rng.multinomial(size, weights)) for values, weights in self.tables]
        return rng.permuted(np.stack(rows), axis=1)


def _poisson_table(mean: int) -> tuple[Ints, Floats]:
    """Return the values of a Poisson variable within 9 standard deviations and 20, and their weights."""
    reach = 9 * math.isqrt(mean) + 20
    values = np.arange(max(0, mean - reach), mean + reach + 1)
    # by the steps P(k) / P(k - 1) = mean / k, as above
    logs = np.concatenate([[0.0], np.cumsum(np.log(mean / values[1:]))])
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    values.flags.writeable = weights.flags.writeable = False  # shared by all sets with such a cell
    return values, weights


_small_table = lru_cache(maxsize=512)(_poisson_table)
