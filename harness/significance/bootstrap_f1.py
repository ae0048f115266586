"""Bootstrap replicates of the F1 difference in count space, and how they are counted."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from harness.significance.replicates import Resampling

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FIRST_STAGE, GROWTH = 1500, 3
"""Replicates of the first stage, and by what each later stage is larger than the one before."""

LARGEST_STAGE = 20_000
"""Replicates drawn at once, so that memory does not grow with their number."""

MAX_DOCUMENTS = 2**31
"""Sets up to this size: the products of counts that are compared then fit in 63 bits."""


def stage_sizes(n_replicates: int) -> list[int]:
    """Return how many replicates are drawn at each stage.

    Examples
    --------
    >>> stage_sizes(5000)
    [1500, 3500]
    """
    sizes: list[int] = []
    left, size = n_replicates, FIRST_STAGE
    while left > 0:
        # a remainder not worth a stage of its own is drawn with this one
        step = left if left < 1.5 * size else size
        sizes.append(min(step, LARGEST_STAGE))
        left -= sizes[-1]
        size = min(GROWTH * size, LARGEST_STAGE)
    return sizes


def frozen(cells: Ints) -> NDArray[np.bool_]:
    """Return where dF1* is 0 in every replicate: no discordant document, or no true positive of A or B.

    Examples
    --------
    >>> frozen(np.array([[5, 0, 0, 1, 1, 0, 0, 93], [0, 0, 0, 4, 1, 2, 0, 93], [0, 0, 1, 0, 0, 0, 0, 99]]))
    array([ True,  True, False])
    """
    return (cells[..., [1, 2, 5, 6]].sum(axis=-1) == 0) | (cells[..., :3].sum(axis=-1) == 0)


def replicates(cells: Ints, n_replicates: int, stratified: bool, rng: np.random.Generator) -> Iterator[Ints]:
    """Yield bootstrap replicates of one set stage by stage, each stage of shape (6, size).

    The rows are e1, e2, e3, e4 + e5 (which act alike), e6, e7. The first stages are the same replicates
    however many stages are taken from the iterator.

    Parameters
    ----------
    cells : int array, shape (8,)
        Counts e1..e8.
    n_replicates : int
        Replicates in all.
    stratified : bool
        Keep the numbers of positives and of negatives as they are in `cells`.
    rng : numpy.random.Generator
        The set's own generator.
    """
    if stratified:
        positives, negatives = Resampling(cells[:4]), Resampling(cells[4:])
    else:
        whole = Resampling(np.array([*cells[:3], cells[3] + cells[4], *cells[5:]]))
    for size in stage_sizes(n_replicates):
        if stratified:
            e1, e2, e3, e4 = positives.draw(size, rng)
            e5, e6, e7, _ = negatives.draw(size, rng)
            yield np.stack([e1, e2, e3, e4 + e5, e6, e7])
        else:
            yield whole.draw(size, rng)[:6]


class EqualTailed:
    """Counts the replicates with dF1* <= 0 and with dF1* >= 0, in whole numbers.

    With H = P + e5, D_A = H + T_A + e7 and D_B = H + T_B + e6, so that T_A T_B cancels from
    T_A D_B - T_B D_A and dF1* has the sign of T_A (H + e6) - T_B (H + e7); where an F1 is 0/0 there is no
    positive, both T are 0 and so is the sign, as it should be.
    """

    tails = 2

    def __init__(self) -> None:
        self.below = self.above = 0

    def add(self, drawn: Ints) -> int:
        """Count more replicates; return the smaller of the two counts so far."""
        sign = signed(drawn)
        self.below += int(np.count_nonzero(sign <= 0))
        self.above += int(np.count_nonzero(sign >= 0))
        return min(self.below, self.above)


class Symmetric:
    """Counts the replicates with |dF1* - mean*| >= |mean*|, mean* that of the replicates so far.

    For mean* > 0 these are the ones with dF1* <= 0, told in whole numbers, and with dF1* >= 2 mean*.
    """

    tails = 1

    def __init__(self) -> None:
        self.values: list[Floats] = []

    def add(self, drawn: Ints) -> int:
        """Count anew with more replicates; return the count."""
        self.values.append(differences(drawn))
        values = self.values[0] if len(self.values) == 1 else np.concatenate(self.values)
        self.values = [values]
        mean = values.mean()
        if mean < 0:
            values, mean = -values, -mean
        # a replicate at 2 mean* itself counts, whatever the last bit of the mean says
        return int(np.count_nonzero((values <= 0) | (values >= 2 * mean * (1 - 1e-12))))


def signed(drawn: Ints) -> Ints:
    """Return whole numbers with the sign of dF1* for each replicate (columns of `drawn`)."""
    e1, e2, e3, e45, e6, e7 = drawn
    base = e1 + e2 + e3 + e45
    return (e1 + e3) * (base + e6) - (e1 + e2) * (base + e7)


def differences(drawn: Ints) -> Floats:
    """Return dF1* of each replicate (columns of `drawn`); 0 exactly where the two F1 are equal."""
    e1, e2, e3, e45, e6, e7 = drawn
    t_a, t_b, base = e1 + e3, e1 + e2, e1 + e2 + e3 + e45
    # Equal fractions are equal doubles (division rounds correctly), and base = 0 implies T = 0.
    return 2 * t_a / np.maximum(base + t_a + e7, 1) - 2 * t_b / np.maximum(base + t_b + e6, 1)
