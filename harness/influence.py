"""Influence of one document on the difference of two classifiers: the first-order term of every measure.

With p the shares of the eight cells, a measure's difference d(p) changes by ``psi_i`` to first order when
weight moves to cell i. The delta-method variance, the jackknife, the direction in which a population is
tilted to its null and the standard deviation that makes d a distance all start from here.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harness.measures import as_cells, check_measure

Floats = NDArray[np.float64]

Y = np.array([1, 1, 1, 1, 0, 0, 0, 0], dtype=float)
A = np.array([1, 0, 1, 0, 1, 0, 1, 0], dtype=float)
B = np.array([1, 1, 0, 0, 1, 1, 0, 0], dtype=float)
"""Truth, decision of A and decision of B in the cells e1..e8."""


def influence(counts: ArrayLike, measure: str, **costs: float) -> Floats:
    """Return the influence of a document in each cell on a measure's difference, A minus B.

    Parameters
    ----------
    counts : array_like, shape (..., 8)
        Joint outcomes e1..e8, as counts or as shares; only their proportions matter.
    measure : str
        ``"f1"``, ``"error"``, ``"precision"``, ``"recall"``, ``"dcf"`` or ``"balanced_error"``.
    **costs : float
        ``cost_fn``, ``cost_fp``, ``prior`` for ``"dcf"``; see :func:`harness.measures.dcf_difference`.

    Returns
    -------
    float array, shape (..., 8)
        ``psi``, with ``sum p_i psi_i = 0``. A ratio without a denominator (0/0) contributes 0.

    Raises
    ------
    ValueError
        If `counts` or a cost is out of range, or there is no such measure.

    References
    ----------
    For F1, ``psi_A = (2ya - F_A (y + a)) / D_A``: Takahashi, Yamamoto, Kuchiba & Koyama (2022), Applied
    Intelligence 52, 4961-4972.

    Examples
    --------
    >>> influence([0, 0, 0, 0, 0, 1, 3, 4], "error")
    array([-0.25,  0.75, -1.25, -0.25, -0.25, -1.25,  0.75, -0.25])
    """
    options = check_measure(measure, **costs)
    cells = as_cells(counts).astype(float)
    total = cells.sum(axis=-1, keepdims=True)
    shares = np.divide(cells, total, out=np.zeros_like(cells), where=total > 0)
    if measure == "f1":
        return _ratio(shares, 2 * Y * A, Y + A) - _ratio(shares, 2 * Y * B, Y + B)
    if measure == "error":
        return _ratio(shares, np.abs(Y - A) - np.abs(Y - B), np.ones(8))
    if measure == "precision":
        return _ratio(shares, Y * A, A) - _ratio(shares, Y * B, B)
    if measure == "recall":
        return _ratio(shares, Y * (A - B), Y)
    cost_fn, cost_fp, prior = options["cost_fn"], options["cost_fp"], options["prior"]
    misses = _ratio(shares, Y * (B - A), Y)
    false_alarms = _ratio(shares, (1 - Y) * (A - B), 1 - Y)
    return cost_fn * prior * misses + cost_fp * (1 - prior) * false_alarms


def _ratio(shares: Floats, top: Floats, bottom: Floats) -> Floats:
    """Return the influence on ``sum p top / sum p bottom``, 0 where that is 0/0."""
    # sums, not matrix products, whose last bit would depend on the row's place in its batch
    t, d = ((shares * weights).sum(axis=-1, keepdims=True) for weights in (top, bottom))
    exists = d > 0
    d = np.where(exists, d, 1)
    return np.where(exists, (top - t / d * bottom) / d, 0.0)


def standard_deviation(counts: ArrayLike, measure: str, **costs: float) -> Any:
    """Return sd, the standard deviation of a measure's difference on sets of N documents times sqrt(N).

    To first order: ``sqrt(sum p_i psi_i^2)``, with p the shares of `counts`.

    Parameters and Raises: as :func:`influence`.

    Returns
    -------
    float array, shape (...)

    Examples
    --------
    >>> round(float(standard_deviation([0, 0, 0, 0, 0, 1, 1, 2], "error")) ** 2, 9)
    0.5
    """
    cells = as_cells(counts).astype(float)
    psi = influence(cells, measure, **costs)
    total = np.maximum(cells.sum(axis=-1), np.finfo(float).tiny)
    return np.sqrt((cells * psi**2).sum(axis=-1) / total)
