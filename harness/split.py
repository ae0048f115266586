"""Divide the documents into D_tr (training), D_te (one test set) and D_true (the population)."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.errors import UserError, require
from harness.seeding import rng

ORDERS = ("random", "chronological")


class Split(NamedTuple):
    """Row numbers of the three parts, each in ascending order."""

    train: NDArray[np.int64]
    test: NDArray[np.int64]
    true: NDArray[np.int64]


def split_documents(
    n_documents: int,
    *,
    n_train: int,
    n_test: int = 0,
    order: str = "random",
    seed: int = 0,
    chronological: bool = False,
) -> Split:
    """Divide documents 0..n_documents-1 into D_tr, D_te and D_true, at random or the earliest first.

    `chronological` says whether the corpus is stored in order of time.

    Examples
    --------
    >>> split_documents(5, n_train=2, n_test=1, order="chronological", chronological=True)
    Split(train=array([0, 1]), test=array([2]), true=array([3, 4]))
    """
    choices = " or ".join(ORDERS)
    require(order in ORDERS, f"split.order: {order!r} is not allowed; choose {choices}", UserError)
    given = f"split: n_train={n_train} and n_test={n_test}"
    allowed = "n_train must be at least 2 and n_test at least 0"
    require(n_train >= 2 and n_test >= 0, f"{given} are not allowed; {allowed}", UserError)
    left = f"leave nothing of {n_documents} documents for D_true; together they may be at most"
    require(n_train + n_test < n_documents, f"{given} {left} {n_documents - 1}", UserError)
    if order == "random":
        places = rng(seed, "split").permutation(n_documents)
    elif chronological:
        places = np.arange(n_documents)
    else:
        raise UserError("split.order: this corpus has no order in time; split.order=random is allowed")
    parts = np.split(places, [n_train, n_train + n_test])
    return Split(*(np.sort(part) for part in parts))
