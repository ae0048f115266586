"""Equal rows of counts found once: `np.unique` on rows, several times as fast."""

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


def distinct_rows(rows: Ints) -> tuple[Ints, Ints]:
    """Return where each different row first occurs, and which of them each row is.

    Parameters
    ----------
    rows : int array, shape (n_rows, n_columns)
        None negative.

    Returns
    -------
    first : int array, shape (n_distinct,)
    which : int array, shape (n_rows,)
        ``rows[first][which]`` is `rows`.

    Examples
    --------
    >>> first, which = distinct_rows(np.array([[3, 0], [1, 2], [3, 0]]))
    >>> first.tolist(), which.tolist()
    ([1, 0], [1, 0, 1])
    """
    if not len(rows):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    order = np.lexsort(keys) if len(keys := _keys(rows)) > 1 else np.argsort(keys[0], kind="stable")
    is_new = np.ones(len(rows), dtype=bool)
    is_new[1:] = np.any([key[order[1:]] != key[order[:-1]] for key in keys], axis=0)
    which = np.empty(len(rows), dtype=np.int64)
    which[order] = np.cumsum(is_new) - 1
    return order[is_new], which


def _keys(rows: Ints) -> list[Ints]:
    """Return few whole numbers a row that tell rows apart: as many columns in one as 63 bits hold."""
    keys: list[Ints] = []
    span = 2**63
    for column in rows.T:
        size = int(column.max()) + 1
        if span * size < 2**63:
            keys[-1] = keys[-1] * size + column
            span *= size
        else:
            keys.append(column)
            span = size
    return keys
