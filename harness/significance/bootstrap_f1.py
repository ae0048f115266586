"""Bootstrap replicates of the F1 difference in count space, and how they are counted."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from harness.measures import Bools, Floats, Ints
from harness.significance.replicates import Cells, Resampling

AT_ONCE = 20_000
"""Replicates drawn at once: only what is wanted of them is kept of more."""

MAX_DOCUMENTS = 2**31 - 1
"""Sets up to this size: the products of counts that are compared then fit in 63 bits."""


def frozen(cells: Ints) -> Bools:
    """Return where dF1* is 0 in every replicate: no discordant document, or no true positive of A or B."""
    found: Bools = (cells[..., [1, 2, 5, 6]].sum(axis=-1) == 0) | (cells[..., :3].sum(axis=-1) == 0)
    return found


def chunks(n_replicates: int) -> list[int]:
    """Return how many replicates are drawn at a time.

    Examples
    --------
    >>> chunks(5000), chunks(50_000)
    ([5000], [20000, 20000, 10000])
    """
    return [min(AT_ONCE, n_replicates - first) for first in range(0, n_replicates, AT_ONCE)]


def replicates(
    cells: Ints,
    n_replicates: int,
    stratified: bool,
    rng: Generator,
    wanted: Callable[[Cells], NDArray[Any]],
) -> Iterator[NDArray[Any]]:
    """Yield what is wanted of the bootstrap replicates of one set, some at a time.

    `wanted` is as for :meth:`harness.significance.replicates.Resampling.draw`, of replicates (6, n) whose
    rows are e1, e2, e3, e4 + e5 (which act alike), e6, e7.
    """
    if not stratified:
        whole = Resampling(np.array([*cells[:3], cells[3] + cells[4], *cells[5:]]))
        for size in chunks(n_replicates):
            yield whole.draw(size, rng, lambda drawn: wanted(drawn[:6]))
        return
    positives, negatives = Resampling(cells[:4]), Resampling(cells[4:])
    for size in chunks(n_replicates):
        e1, e2, e3, e4 = positives.draw(size, rng)
        e5, e6, e7, _ = negatives.draw(size, rng)
        yield wanted(np.stack([e1, e2, e3, e4 + e5, e6, e7]))


def hits(values: Floats, tails: int) -> int:
    """Return how many replicates speak for no difference, for an interval with so many tails.

    The equal-tailed one (2) counts dF1* <= 0 or dF1* >= 0, whichever is rarer; the symmetric one (1)
    |dF1* - mean*| >= |mean*|, which for mean* > 0 is dF1* <= 0 or dF1* >= 2 mean*.
    """
    if tails == 2:
        return int(min(np.count_nonzero(values <= 0), np.count_nonzero(values >= 0)))
    mean = values.mean()
    # a replicate at 2 mean* itself counts, whatever the last bit of the mean says
    below, above = sorted((0.0, 2 * mean * (1 - 1e-12)))
    return int(np.count_nonzero((values <= below) | (values >= above))) if mean else len(values)


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
