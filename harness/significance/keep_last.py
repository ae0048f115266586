"""Two tests that come from one calculation on the same sets, one after the other: keep what it gave."""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Made = TypeVar("Made")


def keep_last(function: Callable[..., Made]) -> Callable[..., Made]:
    """Keep the answer of the last call of a function of an int64 array (and options that can be hashed).

    The answer is shared: whoever gets it must not write into it.

    Examples
    --------
    >>> @keep_last
    ... def total(counts, power):
    ...     print("computed")
    ...     return (counts**power).sum()
    >>> print(total(np.array([1, 2]), 2), total(np.array([1, 2]), 2))
    computed
    5 5
    """

    @lru_cache(maxsize=1)
    def known(raw: bytes, shape: tuple[int, ...], *options: Any) -> Made:
        return function(np.frombuffer(raw, dtype=np.int64).reshape(shape), *options)

    @wraps(function)
    def remembered(counts: NDArray[np.int64], *options: Any) -> Made:
        whole = counts.astype(np.int64, casting="safe", copy=False)
        return known(whole.tobytes(), whole.shape, *options)

    return remembered
