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

What is wanted of the replicates is computed from the Poisson draws before any is rejected, so that one
row of numbers is filtered and not one per cell.
"""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.random.bit_generator import ISeedSequence
from numpy.typing import ArrayLike, NDArray

from harness.errors import check_whole, require
from harness.measures import Bools, Floats, Ints

Keys = NDArray[np.uint64]
Cells = NDArray[Any]

SLOT_BITS = 14
CACHED = 10_000
"""Tables of cells up to this count are kept for the next set (32 KB each)."""

UNDIVIDED, STEP = 256, 128
"""A Poisson variable with a mean above the first number is the sum of two, the mean of one a multiple of the
second: few tables serve all sets."""

NARROW = 10_000
"""Sets of fewer documents are drawn in 16-bit integers; sums of up to three times their number still fit."""

SIGNS = {
    np.dtype(kind): np.full(64 // np.iinfo(kind).bits, np.iinfo(kind).min, dtype=kind).view(np.int64)[0]
    for kind in (np.int16, np.int64)
}
"""The sign bits of as many integers of a kind as fill 64 bits."""

KEY_WORDS = 3
"""What the state of the generator SFC64 is filled with."""


class Table(NamedTuple):
    """A Poisson law from `least` to `most`: slots hold a value, or -1 for one by `remainders` of `values`."""

    slots: NDArray[Any]
    values: Ints
    remainders: Floats
    least: int
    most: int


def check_replicates(n_replicates: Any, *, none: bool = False) -> None:
    """Raise ValueError unless `n_replicates` is a whole number >= 1, or None where that is allowed."""
    if not none or n_replicates is not None:
        check_whole("n_replicates", n_replicates, 1)


def as_generator(rng: Generator | None) -> Generator:
    """Return the generator that is given, a fresh and unpredictable one for None."""
    known = rng is None or isinstance(rng, Generator)
    require(known, f"rng: {rng!r} is not allowed; a numpy.random.Generator or None is")
    return rng or np.random.default_rng()


def check_levels(alphas: ArrayLike) -> Floats:
    """Return levels between 0 and 1 as an array, shape (n_alphas,)."""
    levels = np.atleast_1d(np.asarray(alphas, dtype=float))
    good = levels.ndim == 1 and ((levels > 0) & (levels < 1)).all()
    require(good, f"alphas: {alphas!r} is not allowed; a level or a list of levels between 0 and 1 is")
    return levels


def set_keys(n_sets: int, rng: Generator) -> Keys:
    """Return three words for each set, in order, from which its own generator is made.

    With a generator of its own a set's replicates depend neither on how many the sets before it took nor
    on how sets are grouped in batches; and sets with equal counts have replicates of their own, so
    that no noise is shared between them.
    """
    return rng.integers(0, 2**64 - 1, size=(n_sets, KEY_WORDS), dtype=np.uint64, endpoint=True)


class _Words(ISeedSequence):
    """Hands a generator the words of a key as they are: they are random, and hashing them takes long."""

    def __init__(self, key: Keys) -> None:
        self.key = key

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> NDArray[Any]:
        return np.asarray(self.key.view(dtype)[:n_words])


def on_live_sets(
    function: Callable[[Ints, Keys], NDArray[Any]],
    cells: Ints,
    frozen: Bools,
    rng: Generator | None,
    fill: float | bool,
    shape: tuple[int, ...] = (),
) -> NDArray[Any]:
    """Return what a function of counts (n, 8) and keys gives, shape (..., *shape); `fill` on frozen sets.

    Without a generator the keys are empty.
    """
    sets, live = cells.reshape(-1, 8), np.flatnonzero(~frozen)
    keys = np.empty((len(sets), 0), dtype=np.uint64) if rng is None else set_keys(len(sets), rng)
    found = np.full((len(sets), *shape), fill)
    found[live] = function(sets[live], keys[live])
    return found.reshape((*cells.shape[:-1], *shape))


def set_generator(key: Keys) -> Generator:
    """Return the generator of one set from its row of :func:`set_keys`."""
    return Generator(np.random.SFC64(_Words(key)))  # type: ignore[arg-type]  # numpy's stub is too narrow


def whole_numbers(cells: Cells) -> Cells:
    """Return the cells themselves, in integers whose sums and products of two do not overflow."""
    return np.asarray(cells, dtype=np.int64 if cells.dtype == np.int64 else np.int32)


class Resampling:
    """Draws from Multinomial(N, counts / N), exactly but for weights below 1e-16.

    `counts`, (n_cells,), are the cells of one set; their sum N may be 0 and is below 2**31.

    Examples
    --------
    >>> drawn = Resampling(np.array([3, 0, 97])).draw(1000, np.random.default_rng(0))
    >>> drawn.shape, set(drawn.sum(axis=0).tolist())
    ((3, 1000), {100})
    """

    def __init__(self, counts: Ints) -> None:
        values = counts.tolist()
        self.n, self.n_cells = sum(values), len(values)
        self.largest = values.index(max(values))
        self.kind = np.dtype(np.int16 if self.n < NARROW else np.int64)
        # rows of a draw: the cells, then the second parts of large ones
        means = {cell: value for cell, value in enumerate(values) if value and cell != self.largest}
        self.parts: dict[int, int] = {}
        for cell, mean in list(means.items()):
            if mean > UNDIVIDED and mean % STEP:
                row = self.n_cells + len(self.parts)
                self.parts[row] = cell
                means[cell], means[row] = mean - mean % STEP, mean % STEP
        self.drawn = list(means)
        if not self.drawn:
            return
        laws = [_law(mean, self.kind) for mean in means.values()]
        self.slots = [law.slots for law in laws]
        self.values = np.concatenate([law.values for law in laws])
        self.remainders = np.concatenate([law.remainders + place for place, law in enumerate(laws)])
        self.least, most = sum(law.least for law in laws), sum(law.most for law in laws)
        self.kept = _kept(self.n, values[self.largest], self.least, most)
        self.share_kept = math.sqrt(values[self.largest] / self.n)

    def draw(
        self, size: int, rng: Generator, wanted: Callable[[Cells], NDArray[Any]] = whole_numbers
    ) -> NDArray[Any]:
        """Return what is `wanted` of `size` replicates, (..., size); by default the replicates themselves.

        `wanted` is a function from cells, (n_cells, n), to an array (..., n), column by column. The cells are
        of int16 for sets of under 10,000 documents, and some columns are of more than N documents (the
        largest cell may then be negative); those are left out.
        """
        if not self.drawn:
            cells = np.zeros((self.n_cells, size), dtype=self.kind)
            cells[self.largest] = self.n
            return wanted(cells)
        parts: list[NDArray[Any]] = []
        while size > 0:
            cells = self._propose(int(size / self.share_kept * 1.03) + 20, rng)
            total = np.add.reduce(cells, axis=0, dtype=self.kind)
            np.subtract(self.n, total, out=cells[self.largest])
            total -= self.least
            accepted = np.flatnonzero(rng.random(len(total)) < self.kept.take(total))[:size]
            parts.append(wanted(cells).take(accepted, axis=-1))
            size -= len(accepted)
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=-1)

    def _propose(self, size: int, rng: Generator) -> Cells:
        """Return independent Poisson draws for all cells but the largest, which is left at 0."""
        size += -size % 4  # four draws to a random word
        bits = rng.bit_generator.random_raw(len(self.drawn) * size // 4).view(np.uint16)
        bits >>= 16 - SLOT_BITS
        cells = np.zeros((self.n_cells + len(self.parts), size), dtype=self.kind)
        for row, slots, chosen in zip(self.drawn, self.slots, bits.reshape(-1, size), strict=True):
            slots.take(chosen, out=cells[row], mode="wrap")  # faster than "raise"
        missing = _negative(cells.reshape(-1))
        if missing.size:
            places = np.searchsorted(self.drawn, missing // size)
            u = rng.random(len(missing)) + places
            cells.reshape(-1)[missing] = self.values[np.searchsorted(self.remainders, u, side="right")]
        for row, cell in self.parts.items():
            cells[cell] += cells[row]
        return cells[: self.n_cells]


def _negative(values: Cells) -> Ints:
    """Return where a few of many integers are negative, looking at 64 bits at a time."""
    per_word = 8 // values.itemsize
    words = np.flatnonzero((values.view(np.int64) & SIGNS[values.dtype]) != 0)
    places = (words[:, None] * per_word + np.arange(per_word)).reshape(-1)
    return np.asarray(places[values[places] < 0])


def _kept(n: int, rest: int, least: int, most: int) -> Floats:
    """Return r(s) / max r for s = least..most, `rest` the count of the largest cell; 0 above n."""
    # log r(s) by its steps r(s + 1) / r(s) = (n - s) / rest: no large logarithms to lose digits with
    steps = np.log(np.arange(n - least, max(n - most, 0), -1) / rest)
    logs = np.zeros(len(steps) + 1)
    np.cumsum(steps, out=logs[1:])
    kept = np.zeros(most - least + 1)
    kept[: len(logs)] = np.exp(logs - logs.max())
    return kept


def _table(mean: int, kind: np.dtype[Any]) -> Table:
    """Return the law of a Poisson variable within 9 standard deviations and 20."""
    reach = 9 * math.isqrt(mean) + 20
    values = np.arange(max(0, mean - reach), mean + reach + 1)
    # by the steps P(k) / P(k - 1) = mean / k, as above
    logs = np.concatenate([[0.0], np.cumsum(np.log(mean / values[1:]))])
    weights = np.exp(logs - logs.max())
    weights *= 2**SLOT_BITS / weights.sum()
    filled = weights.astype(np.int64)
    slots = np.full(2**SLOT_BITS, -1, dtype=kind)
    slots[: filled.sum()] = np.repeat(values, filled)
    remainders = np.cumsum(weights - filled)
    remainders /= remainders[-1]
    for array in (slots, values, remainders):
        array.flags.writeable = False  # shared by all sets with such a cell
    return Table(slots, values, remainders, int(values[0]), int(values[-1]))


_small_table = lru_cache(maxsize=512)(_table)


def _law(mean: int, kind: np.dtype[Any]) -> Table:
    return _small_table(mean, kind) if mean <= CACHED else _table(mean, kind)
