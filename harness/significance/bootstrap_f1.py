"""Bootstrap replicates of the F1 difference in count space, and how they are counted."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from harness.measures import Bools, Floats, Ints
from harness.significance.replicates import Cells, Resampling

FIRST_STAGE, GROWTH = 5000, 3
"""Replicates of the first stage, and by what each later stage is larger than the one before. A verdict that
is not known before any replicate is drawn is so near its level that fewer seldom settle it."""

LARGEST_STAGE = 20_000
"""Replicates drawn at once, so that memory does not grow with their number."""

MAX_DOCUMENTS = 2**31 - 1
"""Sets up to this size: the products of counts that are compared then fit in 63 bits."""


def stage_sizes(n_replicates: int, first: int = FIRST_STAGE) -> list[int]:
    """Return how many replicates are drawn at each stage.

    Examples
    --------
    >>> stage_sizes(30_000), stage_sizes(5000, first=1500)
    ([5000, 15000, 10000], [1500, 3500])
    """
    sizes: list[int] = []
    left, size = n_replicates, first
    while left > 0:
        # a remainder not worth a stage of its own is drawn with this one
        step = left if left < 1.5 * size else size
        sizes.append(min(step, LARGEST_STAGE))
        left -= sizes[-1]
        size = min(GROWTH * size, LARGEST_STAGE)
    return sizes


def frozen(cells: Ints) -> Bools:
    """Return where dF1* is 0 in every replicate: no discordant document, or no true positive of A or B."""
    found: Bools = (cells[..., [1, 2, 5, 6]].sum(axis=-1) == 0) | (cells[..., :3].sum(axis=-1) == 0)
    return found


def replicates(
    cells: Ints,
    sizes: Sequence[int],
    stratified: bool,
    rng: Generator,
    wanted: Callable[[Cells], NDArray[Any]],
) -> Iterator[NDArray[Any]]:
    """Yield what is wanted of the bootstrap replicates of one set, stage by stage.

    The first stages are the same replicates however many stages are taken from the iterator. `wanted` is as
    for :meth:`harness.significance.replicates.Resampling.draw`, of replicates (6, n) whose rows are e1, e2,
    e3, e4 + e5 (which act alike), e6, e7.
    """
    if not stratified:
        whole = Resampling(np.array([*cells[:3], cells[3] + cells[4], *cells[5:]]))
        for size in sizes:
            yield whole.draw(size, rng, lambda drawn: wanted(drawn[:6]))
        return
    positives, negatives = Resampling(cells[:4]), Resampling(cells[4:])
    for size in sizes:
        e1, e2, e3, e4 = positives.draw(size, rng)
        e5, e6, e7, _ = negatives.draw(size, rng)
        yield wanted(np.stack([e1, e2, e3, e4 + e5, e6, e7]))


class EqualTailed:
    """Counts the replicates with dF1* <= 0 and with dF1* >= 0."""

    tails = 2

    def __init__(self) -> None:
        self.below = self.above = 0

    def add(self, values: Floats) -> int:
        """Count more replicates; return the smaller of the two counts so far."""
        self.below += int(np.count_nonzero(values <= 0))
        self.above += int(np.count_nonzero(values >= 0))
        return min(self.below, self.above)


class Symmetric:
    """Counts the replicates with |dF1* - mean*| >= |mean*|, mean* that of the replicates so far.

    For mean* > 0 these are the ones with dF1* <= 0 and with dF1* >= 2 mean*.
    """

    tails = 1

    def __init__(self) -> None:
        self.values: Floats = np.empty(0)

    def add(self, values: Floats) -> int:
        """Count anew with more replicates; return the count."""
        self.values = np.concatenate([self.values, values]) if self.values.size else values
        mean = self.values.mean()
        # a replicate at 2 mean* itself counts, whatever the last bit of the mean says
        far = 2 * mean * (1 - 1e-12)
        if mean == 0:
            return len(self.values)
        below, above = (0.0, far) if mean > 0 else (far, 0.0)
        return int(np.count_nonzero(self.values <= below) + np.count_nonzero(self.values >= above))


Tally = EqualTailed | Symmetric
TALLIES: dict[int, type[Tally]] = {2: EqualTailed, 1: Symmetric}
"""What counts the replicates of an interval with so many tails."""


def differences(drawn: Cells) -> Floats:
    """Return dF1* of each replicate (columns of `drawn`), of the right sign and 0 exactly where it is 0.

    With H = P + e5, D_A = H + T_A + e7 and D_B = H + T_B + e6, so that T_A T_B cancels from
    dF1 = 2 (T_A D_B - T_B D_A) / (D_A D_B) and leaves T_A (H + e6) - T_B (H + e7), a whole number. Where an
    F1 is 0/0 there is no positive, both T are 0 and so is the difference, as it should be.

    Rows are those of :func:`replicates`; sums of three times the number of documents must fit.
    """
    e1, e2, e3, e45, e6, e7 = drawn
    t_a, t_b, base = e1 + e3, e1 + e2, e1 + e2 + e3 + e45
    a, b, with_b, with_a = (
        form if form.dtype == np.int64 else form.astype(float) for form in (t_a, t_b, base + e6, base + e7)
    )
    scale = (with_a + a) * np.asarray(with_b + b, dtype=float)
    return np.asarray(2 * (a * with_b - b * with_a) / np.maximum(scale, 1))
