"""Draw the sets of categories: three that share no category, and random ones."""

import numpy as np
from numpy.typing import NDArray

from harness.errors import UserError
from harness.seeding import rng

NAMES = ("X", "Y", "Z")

Sets = dict[str, NDArray[np.int64]]


def disjoint_sets(n_categories: int, size: int, seed: int) -> Sets:
    """Draw the sets X, Y and Z: `size` categories each, none in two of them.

    Where there are fewer than ``3 * size`` categories each set gets a third of them.

    Returns
    -------
    dict of str to int array
        Places of the categories, ascending.

    Examples
    --------
    >>> sets = disjoint_sets(100, 21, seed=0)
    >>> [len(members) for members in sets.values()], len(set(np.concatenate(list(sets.values()))))
    ([21, 21, 21], 63)
    >>> [len(members) for members in disjoint_sets(20, 10, seed=0).values()]
    [6, 6, 6]
    """
    if not 1 <= size <= n_categories:
        raise UserError(
            f"category_sets.size: {size} is not allowed; from 1 to the {n_categories} categories that have a "
            "positive document in D_tr is"
        )
    if n_categories < len(NAMES):
        raise UserError(f"category_sets: {n_categories} categories are too few; three sets need at least 3")
    each = min(size, n_categories // len(NAMES))
    order = rng(seed, "category sets").permutation(n_categories)
    return {name: np.sort(order[place * each : (place + 1) * each]) for place, name in enumerate(NAMES)}


def random_sets(n_categories: int, size: int, n_sets: int, seed: int) -> Sets:
    """Draw sets R01, R02, ... of `size` categories each; one category may be in several sets.

    Examples
    --------
    >>> [len(members) for members in random_sets(100, 21, 2, seed=0).values()]
    [21, 21]
    """
    return {
        f"R{place:02d}": np.sort(rng(seed, "random set", place).permutation(n_categories)[:size])
        for place in range(1, n_sets + 1)
    }
