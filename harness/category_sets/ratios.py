"""Measures over a set of categories as weighted sums of ratios of whole numbers, and their standard error."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.category_sets.patterns import pooled_cells

Floats = NDArray[np.float64]

# what a document adds above and below in each cell e1..e8, for A and for B
F1_TOPS = np.array([[2, 0, 2, 0, 0, 0, 0, 0], [2, 2, 0, 0, 0, 0, 0, 0]]).T
F1_BOTTOMS = np.array([[2, 1, 2, 1, 1, 0, 1, 0], [2, 2, 1, 1, 1, 1, 0, 0]]).T
# misses of A alone less misses of B alone, false alarms alike; positives and negatives
DCF_TOPS = np.array([[0, 1, -1, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, -1, 1, 0]]).T
DCF_BOTTOMS = np.array([[1, 1, 1, 1, 0, 0, 0, 0], [0, 0, 0, 0, 1, 1, 1, 1]]).T
_ROUNDING = 1e-12  # sums of ratios that are equal may differ by this


class Ratios(NamedTuple):
    """``sum_j weights_j top_j / bottom_j``, each top and bottom a sum over documents; 0/0 counts as 0.

    Attributes
    ----------
    tops, bottoms : float arrays of whole numbers, shape (n_patterns, n_ratios)
        What a document of each pattern adds.
    weights : float array, shape (n_ratios,)
    """

    tops: Floats
    bottoms: Floats
    weights: Floats


def f1_ratios(codes: NDArray[np.uint8], average: str) -> Ratios:
    """Return ``F1_A - F1_B`` over a set of categories.

    Parameters
    ----------
    codes : uint8 array, shape (n_patterns, n_categories)
        Cells of the patterns; see :func:`harness.category_sets.patterns.outcome_codes`.

    Examples
    --------
    >>> codes = np.array([[0, 7], [2, 0], [7, 3]], dtype=np.uint8)
    >>> [round(float(measure(f1_ratios(codes, name), np.array([1, 1, 1]))), 4) for name in ("micro", "macro")]
    [0.1905, 0.1667]
    """
    if average == "micro":
        cells = pooled_cells(codes)
        return Ratios(
            (cells @ F1_TOPS).astype(float), (cells @ F1_BOTTOMS).astype(float), np.array([1.0, -1.0])
        )
    if average == "macro":
        n_patterns, n_categories = codes.shape
        tops, bottoms = (
            sides[codes].reshape(n_patterns, 2 * n_categories).astype(float)
            for sides in (F1_TOPS, F1_BOTTOMS)
        )
        return Ratios(tops, bottoms, np.tile([1.0, -1.0], n_categories) / n_categories)
    raise ValueError(f"average: {average!r} is not allowed; choose micro or macro")


def dcf_ratios(codes: NDArray[np.uint8], costs: Mapping[str, float]) -> Ratios:
    """Return ``DCF_A - DCF_B`` of the cells pooled over the categories.

    Parameters
    ----------
    codes : uint8 array, shape (n_patterns, n_categories)
    """
    cells = pooled_cells(codes)
    c1, c2 = costs["cost_fn"] * costs["prior"], costs["cost_fp"] * (1 - costs["prior"])
    return Ratios((cells @ DCF_TOPS).astype(float), (cells @ DCF_BOTTOMS).astype(float), np.array([c1, c2]))


def measure(ratios: Ratios, frequencies: NDArray[np.integer]) -> Floats:
    """Return A minus B for documents drawn `frequencies` times each.

    Parameters
    ----------
    frequencies : int array, shape (..., n_patterns)

    Returns
    -------
    float array, shape (...)
        Equal measures give 0 exactly.
    """
    counts = frequencies.astype(float)  # whole numbers below 2**53: products and sums are exact
    return _weigh(ratios.weights, counts @ ratios.tops, counts @ ratios.bottoms)


def standard_error(ratios: Ratios, frequencies: NDArray[np.integer]) -> Floats:
    """Return the standard error of A minus B by the delta method, documents being drawn independently.

    Its square is ``sum_i f_i psi_i^2 / n^2``, with
    ``psi_i = sum_j weights_j (top_ij - r_j bottom_ij) / b_j``,
    the influence of pattern i, r_j the ratio and b_j its mean bottom. With more documents the bootstrap's
    standard deviation tends to it.

    Parameters
    ----------
    frequencies : int array, shape (..., n_patterns)

    Returns
    -------
    float array, shape (...)

    Examples
    --------
    >>> ratios = Ratios(np.array([[1.0], [0.0]]), np.ones((2, 1)), np.ones(1))  # a share
    >>> round(float(standard_error(ratios, np.array([20, 80]))), 4)
    0.04
    """
    counts = frequencies.astype(float)
    n_documents = counts.sum(axis=-1)
    tops, bottoms = counts @ ratios.tops, counts @ ratios.bottoms
    slopes = _divide(ratios.weights * n_documents[..., None], bottoms)
    influence = slopes @ ratios.tops.T - (slopes * _divide(tops, bottoms)) @ ratios.bottoms.T
    return np.sqrt((counts * influence**2).sum(axis=-1)) / n_documents


def event_measure(weights: Floats, tops: NDArray[np.integer], bottoms: NDArray[np.integer], cells) -> Floats:
    """Return the sum of ratios for pooled cells, ``tops`` and ``bottoms`` of shape (8, n_ratios).

    Examples
    --------
    >>> float(event_measure(np.array([1.0, -1.0]), F1_TOPS, F1_BOTTOMS, np.array([2, 0, 2, 0, 0, 0, 0, 5])))
    0.33333333333333337
    """
    return _weigh(weights, cells @ tops, cells @ bottoms)


def _weigh(weights: Floats, tops, bottoms) -> Floats:
    total = (weights * _divide(tops, bottoms)).sum(axis=-1)
    return np.where(np.abs(total) < _ROUNDING, 0.0, total)


def _divide(top, bottom) -> Floats:
    """Divide; 0/0 is 0."""
    return np.divide(top, bottom, out=np.zeros(np.broadcast(top, bottom).shape), where=bottom > 0)
