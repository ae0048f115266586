"""The nearest population with equal micro F1 over a set of categories, with whole documents as its cells."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harness.measures import as_cells, f1_difference
from harness.nulls.projection import RATIOS, NoProjection, why_none
from harness.nulls.ratios import equal_ratios

Floats = NDArray[np.float64]


def project_patterns(frequencies: ArrayLike, patterns: ArrayLike) -> Floats:
    """Return the shares of document patterns nearest to given ones under which A and B have equal micro F1.

    The null hypothesis that it makes true: over all decisions on a set of categories, A and B have the same
    F1. A document falls into one cell for each category; its pattern counts into which. Of all shares q of
    the patterns under which H0 holds, the one with the smallest ``KL(q||p)`` is sought, as
    :func:`harness.nulls.projection.project` does with the eight patterns of a single category.

    Parameters
    ----------
    frequencies : array_like, shape (n_patterns,)
        Documents of each pattern, as counts or as shares, >= 0.
    patterns : int array_like, shape (n_patterns, 8)
        In how many of the categories such a document falls into each cell e1..e8.

    Returns
    -------
    float array, shape (n_patterns,)
        Shares that sum to 1; the pooled cells ``shares @ patterns`` have an F1 difference of at most 1e-8.

    Raises
    ------
    NoProjection
        If the pooled cells favour only one of A and B, or no shares of the same patterns make them equal.
    ValueError
        If the arguments do not fit each other, or are negative, not finite, or without a document.

    Examples
    --------
    >>> patterns = np.array([[1, 1, 0, 0, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0, 0, 1], [0, 0, 0, 0, 0, 1, 1, 0]])
    >>> shares = project_patterns([4, 1, 5], patterns)
    >>> shares.round(4)
    array([0.2222, 0.2222, 0.5556])
    """
    cells = as_cells(patterns).astype(float)
    counts = np.asarray(frequencies, dtype=float)
    if cells.ndim != 2 or counts.shape != (len(cells),):
        raise ValueError(
            f"frequencies: shape {counts.shape} with patterns of shape {cells.shape} is not allowed; "
            "(n_patterns,) with (n_patterns, 8) is"
        )
    if not (np.isfinite(counts).all() and (counts >= 0).all() and counts.sum() > 0):
        raise ValueError("frequencies: finite numbers >= 0, one at least above 0, are allowed")
    shares = counts / counts.sum()
    pooled = shares @ cells
    if f1_difference(pooled) == 0:
        return shares
    reason = why_none(pooled, "f1", {})
    if "favours" not in reason:
        tops, bottoms = (side @ cells.T for side in RATIOS["f1"])
        nearest = equal_ratios(shares[None], tops, bottoms)[0]
        if np.isfinite(nearest).all() and abs(f1_difference(nearest @ cells)) <= 1e-8:
            return nearest
    raise NoProjection(reason)
