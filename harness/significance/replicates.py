"""Bootstrap replicates of a set's counts: many draws of one multinomial, several times faster than numpy's.

numpy draws a multinomial cell by cell, each a binomial whose parameters change with every draw. Here all
cells but the largest are drawn as independent Poisson variables, whose parameters never change, and a
draw is kept with the probability that makes the kept ones multinomial. With N documents, c of them in the
largest cell, and s in the others, multinomial over Poisson probability is proportional to
r(s) = (1/c)^s N! / (N - s)!, largest at s = N - c; a draw is kept with probability r(s) / r(N - c), on
average about sqrt(c / N) (Devroye 1986, Non-Uniform Random Variate Generation, ch. II.3: rejection).

A Poisson variable is looked up in a table of 2^14 slots in which each value fills its share, rounded
down; the few slots left over send the draw to the distribution of the remainders (Marsaglia, Tsang &
Wang 2004, J. Stat. Softw. 11(3)). Both steps together follow the Poisson law exactly.
"""

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Keys = NDArray[np.uint64]

SLOT_BITS = 14
CACHED = 10_000
"""Tables of cells up to this count are kept for the next set (64 KB each)."""

NARROW = 40_000
"""Sets of fewer documents are drawn in 32-bit integers; the product of two counts still fits."""


class Table(NamedTuple):
    """A Poisson law: slots hold a value or -1, and `remainders` of `values` are drawn for -1."""

    slots: NDArray[np.int32]
    values: Ints
    remainders: Floats


def set_keys(n_sets: int, rng: np.random.Generator) -> Keys:
    """Return two words for each set, in order, from which its own generator is made.

    With a generator of its own a set's replicates depend neither on how many the sets before it took nor
    on how sets are grouped in batches; and sets with equal counts have replicates of their own, so
    that no noise is shared between them.
    """
    return rng.integers(0, 2**64 - 1, size=(n_sets, 2), dtype=np.uint64, endpoint=True)


def set_generator(key: Keys) -> np.random.Generator:
    """Return the generator of one set from its row of :func:`set_keys`."""
    return np.random.Generator(np.random.SFC64((int(key[0]) << 64) | int(key[1])))


class Resampling:
    """Draws from Multinomial(N, counts / N), exactly but for weights below 1e-16.

    Parameters
    ----------
    counts : int array, shape (n_cells,)
        Cells of one set; their sum N may be 0 and is below 2**31.

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
            _small_table(count) if count <= CACHED else _table(count) for count in counts[self.drawn].tolist()
        ]
        rest = int(counts[self.largest])
        self.least = sum(int(table.values[0]) for table in self.tables)
        most = sum(int(table.values[-1]) for table in self.tables)
        # log r(s) by its steps r(s + 1) / r(s) = (N - s) / c: no large logarithms to lose digits with
        steps = np.log(np.maximum(self.n - np.arange(self.least, min(most, self.n)), 1) / max(rest, 1))
        logs = np.concatenate([[0.0], np.cumsum(steps)])
        self.kept = np.zeros(most - self.least + 1)  # more than N documents: never kept
        self.kept[: len(logs)] = np.exp(logs - logs.max())
        self.share_kept = math.sqrt(rest / max(self.n, 1))

    def draw(self, size: int, rng: np.random.Generator) -> NDArray[Any]:
        """Return `size` replicates, shape (n_cells, size), int32 for sets of under 40,000 documents."""
        replicates = np.zeros((self.n_cells, size), dtype=np.int32)
        filled = 0
        while filled < size and self.tables:
            proposed = self._propose(int((size - filled) / self.share_kept * 1.03) + 20, rng)
            total = proposed[0].copy()
            for row in proposed[1:]:
                total += row
            chance = self.kept.take(total - self.least)
            chosen = np.flatnonzero(rng.random(len(chance)) < chance)[: size - filled]
            stop = filled + len(chosen)
            for cell, row in zip(self.drawn.tolist(), proposed, strict=True):
                row.take(chosen, out=replicates[cell, filled:stop], mode="clip")  # faster than "raise"
            np.subtract(self.n, total.take(chosen), out=replicates[self.largest, filled:stop])
            filled = stop
        if not self.tables:
            replicates[self.largest] = self.n
        return replicates if self.n < NARROW else replicates.astype(np.int64)

    def _propose(self, size: int, rng: np.random.Generator) -> list[NDArray[np.int32]]:
        """Return independent Poisson draws for all cells but the largest."""
        words = -(-size // 4)
        bits = rng.bit_generator.random_raw(words * len(self.tables)).view(np.uint16) >> (16 - SLOT_BITS)
        rows = bits.reshape(len(self.tables), -1)[:, :size]
        return [_look_up(table, row, rng) for table, row in zip(self.tables, rows, strict=True)]


def _look_up(table: Table, slots: NDArray[np.uint16], rng: np.random.Generator) -> NDArray[np.int32]:
    found = table.slots.take(slots)
    missing = np.flatnonzero(found < 0)
    if missing.size:
        places = np.searchsorted(table.remainders, rng.random(missing.size), side="right")
        found[missing] = table.values[places]
    return found


def _table(mean: int) -> Table:
    """Return the law of a Poisson variable within 9 standard deviations and 20."""
    reach = 9 * math.isqrt(mean) + 20
    values = np.arange(max(0, mean - reach), mean + reach + 1)
    # by the steps P(k) / P(k - 1) = mean / k, as above
    logs = np.concatenate([[0.0], np.cumsum(np.log(mean / values[1:]))])
    weights = np.exp(logs - logs.max())
    weights *= 2**SLOT_BITS / weights.sum()
    filled = weights.astype(np.int64)
    slots = np.full(2**SLOT_BITS, -1, dtype=np.int32)
    slots[: filled.sum()] = np.repeat(values, filled)
    remainders = np.cumsum(weights - filled)
    remainders /= remainders[-1]
    for array in (slots, values, remainders):
        array.flags.writeable = False  # shared by all sets with such a cell
    return Table(slots, values, remainders)


_small_table = lru_cache(maxsize=512)(_table)
