"""Documents as patterns: the cell e1..e8 into which a document falls in each category of a set."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

_CODES_AT_ONCE = 12  # 36 bits beside up to 2**27 documents in one 64-bit number


class Patterns(NamedTuple):
    """The distinct documents of a population, as far as a set of categories can tell them apart.

    `codes` are the cells of each pattern, 0 for e1 to 7 for e8, shape (n_patterns, n_categories).
    """

    codes: NDArray[np.uint8]
    frequencies: NDArray[np.int64]

    @property
    def n_documents(self) -> int:
        """Number of documents."""
        return int(self.frequencies.sum())


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


def pooled_cells(codes: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return in how many categories each pattern falls into each cell, shape (n_patterns, 8)."""
    return np.stack([(codes == cell).sum(axis=1) for cell in range(8)], axis=1)
