"""Documents as patterns: the cell e1..e8 into which a document falls in each category of a set."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

_CODES_AT_ONCE = 12  # 36 bits beside up to 2**27 documents in one 64-bit number


class Patterns(NamedTuple):
    """The distinct documents of a population, as far as a set of categories can tell them apart.

    Attributes
    ----------
    codes : uint8 array, shape (n_patterns, n_categories)
        Cell of the pattern in each category: 0 for e1 to 7 for e8.
    frequencies : int64 array, shape (n_patterns,)
        Documents of each pattern.
    """

    codes: NDArray[np.uint8]
    frequencies: NDArray[np.int64]

    @property
    def n_documents(self) -> int:
        """Number of documents."""
        return int(self.frequencies.sum())


def outcome_codes(y_true: ArrayLike, a: ArrayLike, b: ArrayLike) -> NDArray[np.uint8]:
    """Return the cell of every document in every category: 0 for e1 to 7 for e8.

    Parameters
    ----------
    y_true, a, b : bool array, equal shapes
        Truth, decisions of A, decisions of B.

    Examples
    --------
    >>> outcome_codes([True, True, False], [True, False, True], [True, True, False])
    array([0, 1, 6], dtype=uint8)
    """
    truth, by_a, by_b = (np.asarray(values) for values in (y_true, a, b))
    if not truth.shape == by_a.shape == by_b.shape:
        raise ValueError(
            f"y_true, a, b: shapes {truth.shape}, {by_a.shape}, {by_b.shape}; equal ones are allowed"
        )
    for name, values in (("y_true", truth), ("a", by_a), ("b", by_b)):
        if values.dtype != bool:
            raise ValueError(f"{name}: type {values.dtype} is not allowed; bool is")
    # e1..e8 in their order are 0..7 in binary: not positive, not found by B, not found by A
    code = 4 * (~truth).view(np.uint8) + 2 * (~by_b).view(np.uint8) + (~by_a).view(np.uint8)
    return code.astype(np.uint8)


def find_patterns(codes: ArrayLike) -> Patterns:
    """Count the distinct rows of `codes`.

    Parameters
    ----------
    codes : uint8 array, shape (n_documents, n_categories)
        From :func:`outcome_codes`.

    Returns
    -------
    Patterns
        In an order that depends on the rows alone, not on how they are arranged.

    Examples
    --------
    >>> found = find_patterns([[7, 7], [0, 7], [7, 7]])
    >>> found.codes.tolist(), found.frequencies.tolist()
    ([[0, 7], [7, 7]], [1, 2])
    """
    rows = np.asarray(codes)
    if rows.ndim != 2 or 0 in rows.shape:
        raise ValueError(
            f"codes: shape {rows.shape} is not allowed; at least one document and category is needed"
        )
    if rows.dtype.kind not in "iu" or (rows < 0).any() or (rows > 7).any():
        raise ValueError("codes: whole numbers from 0 (e1) to 7 (e8) are allowed")
    number = np.zeros(len(rows), dtype=np.int64)
    for start in range(0, rows.shape[1], _CODES_AT_ONCE):
        for column in rows[:, start : start + _CODES_AT_ONCE].T:
            number = 8 * number + column
        _, first, number, frequencies = np.unique(
            number, return_index=True, return_inverse=True, return_counts=True
        )
    return Patterns(rows[first].astype(np.uint8), frequencies.astype(np.int64))


def pooled_cells(codes: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return in how many categories each pattern falls into each cell, shape (n_patterns, 8).

    Examples
    --------
    >>> pooled_cells(np.array([[0, 7, 7]], dtype=np.uint8))
    array([[1, 0, 0, 0, 0, 0, 0, 2]])
    """
    return np.stack([(codes == cell).sum(axis=1) for cell in range(8)], axis=1)
