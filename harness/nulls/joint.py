"""The population in which exchanging A and B changes nothing."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harness.measures import check_measure
from harness.nulls.projection import as_shares, labels_of

Floats = NDArray[np.float64]


def joint_null(counts_or_shares: ArrayLike) -> Floats:
    """Return shares, (..., 8), with e2 and e3 replaced by their mean, and e6 and e7 by theirs.

    The null hypothesis that it makes true: exchanging A and B on a document changes no probability, so that
    every measure's difference is 0 and a randomization test is exact. That is more than equal values of a
    measure, and favours that test: show :func:`harness.nulls.projection.project` beside it.

    Examples
    --------
    >>> joint_null([3, 1, 3, 0, 0, 1, 0, 2])
    array([0.3 , 0.2 , 0.2 , 0.  , 0.  , 0.05, 0.05, 0.2 ])
    """
    shares = as_shares(counts_or_shares)
    for pair in ([1, 2], [5, 6]):
        shares[..., pair] = shares[..., pair].mean(axis=-1, keepdims=True)
    return shares


def joint_null_of(
    names: Any, counts: ArrayLike, measure: str, **costs: float
) -> tuple[Floats, dict[str, str]]:
    """Return :func:`joint_null` of many populations as :func:`harness.nulls.projection.exact_null` does.

    It exists for every population and is the same for every `measure`.

    Examples
    --------
    >>> joint_null_of(["a"], [[5, 0, 0, 0, 0, 1, 3, 1]], "f1")
    (array([[0.5, 0. , 0. , 0. , 0. , 0.2, 0.2, 0.1]]), {})
    """
    check_measure(measure, **costs)
    shares = joint_null(counts)
    labels_of(names, shares)
    return shares, {}
