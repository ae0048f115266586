"""Divide the documents into D_tr (training), D_te (one test set) and D_true (the population)."""

from datetime import date
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.errors import UserError, check_choice, require
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
    n_draws: int = 1,
    draw: int = 0,
    before: str | None = None,
    seed: int = 0,
    chronological: bool = False,
    days: NDArray[np.int64] | None = None,
) -> Split:
    """Divide documents 0..n_documents-1 into D_tr, D_te and D_true, at random or the earliest first.

    `n_draws` disjoint D_tr are set apart at random, and the `draw`-th of them is taken: D_te and D_true are
    the same for all. `before`, a date such as ``"2010-01-01"``, splits in time: D_tr is drawn from the
    documents before that day, D_te and D_true from those of that day and later. `chronological` says whether
    the corpus is stored in order of time, `days` when each document was written (ordinal numbers), where
    that is known.

    Examples
    --------
    >>> split_documents(5, n_train=2, n_test=1, order="chronological", chronological=True)
    Split(train=array([0, 1]), test=array([2]), true=array([3, 4]))
    """
    check_choice("split.order", order, ORDERS, UserError)
    given = f"split: n_train={n_train} and n_test={n_test}"
    allowed = "n_train must be at least 2 and n_test at least 0"
    require(n_train >= 2 and n_test >= 0, f"{given} are not allowed; {allowed}", UserError)
    check_draws(order, n_draws, draw, before)
    if before is not None:
        require(days is not None, "split.before: this corpus tells no dates; null is allowed", UserError)
        early = np.asarray(days) < date.fromisoformat(before).toordinal()
    else:
        early = np.ones(n_documents, dtype=bool)
    if order == "random":
        places = rng(seed, "split").permutation(n_documents)
    elif chronological:
        places = np.arange(n_documents)
    else:
        raise UserError("split.order: this corpus has no order in time; split.order=random is allowed")
    first, later = places[early[places]], places[~early[places]]
    end = n_draws * n_train
    if before is None:
        left = f"leave nothing of {n_documents} documents for D_true; together they may be at most"
        told = given.replace("n_train=", f"n_draws={n_draws} times n_train=") if n_draws > 1 else given
        require(end + n_test < n_documents, f"{told} {left} {n_documents - 1}", UserError)
        later = first[end:]
    else:
        few = f"split.before: {len(first)} documents lie before {before} and {len(later)} do not; at least"
        enough = end <= len(first) and n_test < len(later)
        require(enough, f"{few} {end} and {n_test + 1} are needed", UserError)
    parts = first[draw * n_train : (draw + 1) * n_train], later[:n_test], later[n_test:]
    return Split(*(np.sort(part) for part in parts))


def check_draws(order: str, n_draws: int, draw: int, before: str | None) -> None:
    """Raise UserError where there is no such draw, or where what is drawn at random is wanted in order."""
    drawn = f"split.draw: {draw} is not allowed; 0 to {n_draws - 1}, below split.n_draws, are"
    require(0 <= draw < n_draws, drawn, UserError)
    random = "split.order: several draws, and a split in time, are random; split.order=random is allowed"
    require(order == "random" or (before is None and n_draws == 1), random, UserError)
