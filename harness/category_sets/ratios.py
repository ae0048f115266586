"""Measures over a set of categories as weighted sums of ratios of whole numbers, and their standard error.

Documents are patterns: the cell e1..e8 into which a document falls in each category of a set.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harness.measures import Floats, Ints, ratio

_CODES_AT_ONCE = 12  # 36 bits beside up to 2**27 documents in one 64-bit number

# what a document adds above and below in each cell e1..e8, for A and for B
F1_TOPS = np.array([[2, 0, 2, 0, 0, 0, 0, 0], [2, 2, 0, 0, 0, 0, 0, 0]]).T
F1_BOTTOMS = np.array([[2, 1, 2, 1, 1, 0, 1, 0], [2, 2, 1, 1, 1, 1, 0, 0]]).T
# misses of A alone less misses of B alone, false alarms alike; positives and negatives
DCF_TOPS = np.array([[0, 1, -1, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, -1, 1, 0]]).T
DCF_BOTTOMS = np.array([[1, 1, 1, 1, 0, 0, 0, 0], [0, 0, 0, 0, 1, 1, 1, 1]]).T
_ROUNDING = 1e-12  # sums of ratios that are equal may differ by this


class Patterns(NamedTuple):
    """The distinct documents of a population, as far as a set of categories can tell them apart.

    `codes` are the cells of each pattern, 0 for e1 to 7 for e8, shape (n_patterns, n_categories).
    """

    codes: NDArray[np.uint8]
    frequencies: Ints

    def cells(self) -> Ints:
        """Return the pooled cells of each pattern, shape (n_patterns, 8)."""
        return pooled_cells(self.codes)


def find_patterns(codes: ArrayLike) -> Patterns:
    """Count the distinct rows of `codes`.

    Their order depends on the rows alone, not on how they are arranged.

    Examples
    --------
    >>> found = find_patterns([[7, 7], [0, 7], [7, 7]])
    >>> found.codes.tolist(), found.frequencies.tolist()
    ([[0, 7], [7, 7]], [1, 2])
    """
    rows = np.asarray(codes)
    number = np.zeros(len(rows), dtype=np.int64)
    for start in range(0, rows.shape[1], _CODES_AT_ONCE):
        for column in rows[:, start : start + _CODES_AT_ONCE].T:
            number = 8 * number + column
        _, first, number, frequencies = np.unique(
            number, return_index=True, return_inverse=True, return_counts=True
        )
    return Patterns(rows[first].astype(np.uint8), frequencies.astype(np.int64))


def pooled_cells(codes: NDArray[np.uint8]) -> Ints:
    """Return in how many categories each pattern falls into each cell, shape (n_patterns, 8)."""
    return np.stack([(codes == cell).sum(axis=1) for cell in range(8)], axis=1)


class Ratios(NamedTuple):
    """``sum_j weights_j top_j / bottom_j``, each top and bottom a sum over documents; 0/0 counts as 0.

    `tops` and `bottoms` are what a document of each pattern adds, whole numbers, (n_patterns, n_ratios).
    """

    tops: Floats
    bottoms: Floats
    weights: Floats


F1_OF_CELLS = Ratios(F1_TOPS.astype(float), F1_BOTTOMS.astype(float), np.array([1.0, -1.0]))
"""``F1_A - F1_B`` of single decisions, whose patterns are the cells."""


def f1_ratios(codes: NDArray[np.uint8], average: str) -> Ratios:
    """Return ``F1_A - F1_B`` over a set of categories.

    F1 is that of the cells pooled over the categories (micro), or the mean of the categories' F1 (macro), as
    ``sklearn.metrics.f1_score(average=..., zero_division=0)``.

    Examples
    --------
    >>> codes = np.array([[0, 7], [2, 0], [7, 3]], dtype=np.uint8)
    >>> [round(float(measure(f1_ratios(codes, name), np.array([1, 1, 1]))), 4) for name in ("micro", "macro")]
    [0.1905, 0.1667]
    """
    if average == "micro":
        cells = pooled_cells(codes)
        return Ratios(cells @ F1_OF_CELLS.tops, cells @ F1_OF_CELLS.bottoms, F1_OF_CELLS.weights)
    if average == "macro":
        n_patterns, n_categories = codes.shape
        tops, bottoms = (
            sides[codes].reshape(n_patterns, 2 * n_categories).astype(float)
            for sides in (F1_TOPS, F1_BOTTOMS)
        )
        return Ratios(tops, bottoms, np.tile([1.0, -1.0], n_categories) / n_categories)
    raise ValueError(f"average: {average!r} is not allowed; choose micro or macro")


def dcf_ratios(codes: NDArray[np.uint8], costs: Mapping[str, float]) -> Ratios:
    """Return ``DCF_A - DCF_B`` of the cells pooled over the categories."""
    cells = pooled_cells(codes)
    c1, c2 = costs["cost_fn"] * costs["prior"], costs["cost_fp"] * (1 - costs["prior"])
    return Ratios((cells @ DCF_TOPS).astype(float), (cells @ DCF_BOTTOMS).astype(float), np.array([c1, c2]))


def measure(ratios: Ratios, frequencies: NDArray[np.integer]) -> Floats:
    """Return A minus B for documents drawn `frequencies` times each; equal measures give 0 exactly."""
    counts = frequencies.astype(float)  # whole numbers below 2**53: products and sums are exact
    total = (ratios.weights * ratio(counts @ ratios.tops, counts @ ratios.bottoms)).sum(axis=-1)
    return np.where(np.abs(total) < _ROUNDING, 0.0, total)


def standard_error(ratios: Ratios, frequencies: NDArray[np.integer]) -> Floats:
    """Return the standard error of A minus B by the delta method, documents being drawn independently.

    Its square is ``sum_i f_i psi_i^2 / n^2``, with
    ``psi_i = sum_j weights_j (top_ij - r_j bottom_ij) / b_j``,
    the influence of pattern i, r_j the ratio and b_j its mean bottom. With more documents the bootstrap's
    standard deviation tends to it.

    Examples
    --------
    >>> ratios = Ratios(np.array([[1.0], [0.0]]), np.ones((2, 1)), np.ones(1))  # a share
    >>> round(float(standard_error(ratios, np.array([20, 80]))), 4)
    0.04
    """
    counts = frequencies.astype(float)
    n_documents = counts.sum(axis=-1)
    tops, bottoms = counts @ ratios.tops, counts @ ratios.bottoms
    slopes = ratio(ratios.weights * n_documents[..., None], bottoms)
    influence = slopes @ ratios.tops.T - (slopes * ratio(tops, bottoms)) @ ratios.bottoms.T
    return np.asarray(np.sqrt((counts * influence**2).sum(axis=-1)) / n_documents)
