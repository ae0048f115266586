"""Which items of a file belong together: clusters, which are drawn whole."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.errors import UserError, instead

Ints = NDArray[np.int64]


def check_column(column: str, columns: Sequence[str], used: Sequence[str]) -> None:
    """Refuse a column of clusters that is not there, or that holds the truth, a system or the categories."""
    if column not in columns:
        near = instead(column, columns, f"it has {', '.join(columns[:20])}")
        raise UserError(f"cluster: there is no column {column!r}; {near}")
    if column in used:
        what = "is read as the truth, a system, the item or its categories"
        raise UserError(f"cluster: column {column!r} {what}; a column of its own is needed")


def number_clusters(where: str, names: NDArray[Any], n_items: int) -> Ints:
    """Return the number of each row's cluster; `where` begins the sentence that refuses what are none."""
    different, places = np.unique(names, return_inverse=True)
    if len(different) == 1:
        raise UserError(
            f"{where} puts every item into one cluster, {str(different[0])[:40]!r}; two or more are needed, "
            "as clusters are what is drawn"
        )
    if len(different) == n_items:
        raise UserError(
            f"{where} gives each of the {n_items:,} items a cluster of its own; leave it out: items are then "
            "drawn one by one"
        )
    return np.asarray(places.ravel(), dtype=np.int64)


def tell_size(clusters: Ints, n_items: NDArray[np.int64]) -> str:
    """Return how many clusters there are and how large they are, in words."""
    sizes = np.bincount(clusters, weights=n_items).astype(int)
    least, most = sizes.min(), sizes.max()
    each = f"{least:,} items each" if least == most else f"{least:,} to {most:,} items"
    return f"{len(sizes):,} clusters of {each}, drawn whole"
