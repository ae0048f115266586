"""What every model returns from training, and how every model decides."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.models.cross_validation import Bools, Floats, Ints, chunks
from harness.runtime.parallel import Run
from harness.runtime.store import Arrays

CATEGORIES_PER_UNIT = 8


class Fitted(NamedTuple):
    """A trained model: plain arrays, so that it is kept with ``np.savez`` and read without pickle.

    Attributes
    ----------
    arrays : dict of str to array
        All that ``predict`` needs.
    tuned : dict of str to array, each of shape (n_categories,)
        The value of each tuned parameter, per category (the default where it was not tuned).
    cv_score : float array, shape (n_categories,)
        Cross-validated criterion at the chosen parameters; NaN where nothing was tuned.
    n_folds : int array, shape (n_categories,)
        Folds that tuned the category; 0 where nothing was tuned.
    """

    arrays: dict[str, NDArray[Any]]
    tuned: dict[str, NDArray[Any]]
    cv_score: Floats
    n_folds: Ints


def over_categories(
    run: Run,
    function: Callable[..., Arrays],
    shared: Callable[[], Any],
    categories: Ints,
    name: str,
    description: str,
) -> Iterator[tuple[list[int], Arrays]]:
    """Yield some categories at a time with ``function(shared(), these categories)``, a unit of `run` each."""
    pieces = [categories[a:b].tolist() for a, b in chunks(len(categories), CATEGORIES_PER_UNIT)]
    if pieces:
        names = [f"{name} part {i}" for i in range(len(pieces))]
        parts = run(function, [(piece,) for piece in pieces], names, shared=shared, description=description)
        yield from zip(pieces, parts, strict=True)


def decide_in_batches(
    run: Run,
    function: Callable[..., Arrays],
    shape: tuple[int, int],
    size: int,
    shared: Callable[[], Any],
    description: str,
) -> Bools:
    """Return decisions of `shape` (n_documents, n_categories), a unit for each `size` documents.

    ``function(shared(), start, stop)`` returns the decisions on these documents under that name.
    """
    units = list(chunks(shape[0], size))
    names = [f"predict documents {start}-{stop}" for start, stop in units]
    parts = run(function, units, names, shared=shared, description=description)
    return np.concatenate([np.empty((0, shape[1]), dtype=bool), *(part["decisions"] for part in parts)])


def settle(decisions: Bools, near: Bools, exact: Callable[[Ints], Bools], at_once: int = 2**20) -> Bools:
    """Return decisions from single precision, those `near` the threshold replaced by ``exact(rows)``."""
    rows = np.flatnonzero(near.any(axis=1))
    for start, stop in chunks(len(rows), at_once):
        some = rows[start:stop]
        decisions[some] = np.where(near[some], exact(some), decisions[some])
    return decisions
