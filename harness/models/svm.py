"""What linear and RBF SVMs share: machines of many categories on the same documents, tuned over folds."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from harness.models.cross_validation import Bools, Floats, Ints, count_cells
from harness.models.fitted import over_categories
from harness.runtime.parallel import Run
from harness.runtime.store import Arrays


class Task(NamedTuple):
    """Documents (vectors, or a Gram matrix), their labels, and C for each category.

    ``solve(x, labels, C)`` trains one machine and returns its weights and its intercept.
    """

    solve: Callable[[Any, Bools, float], tuple[Floats, float]]
    x: Any
    y: Bools
    c: Floats


class Fold(NamedTuple):
    """The task of the other documents, a fold's own documents, which of their values say yes, and every C."""

    task: Task
    test: Any
    y_test: Bools
    positive: Callable[[Floats, float], Bools]
    grid: Sequence[float]


def load_solvers() -> None:
    """Load scikit-learn's SVMs now, with the linear algebra library that comes with them.

    A limit on the number of threads holds for libraries that are loaded already. A solver loaded inside
    a unit would escape it, and sums made by two threads differ from those of one in their last digit.
    """
    import sklearn.svm  # noqa: F401


def train(
    run: Run,
    make_task: Callable[[], Task],
    categories: Ints,
    name: str,
    description: str,
    made: tuple[Floats, Floats],
) -> None:
    """Train the machines of some categories on all documents; `made`, weights and intercepts, takes them."""
    for piece, part in over_categories(run, _train_some, make_task, categories, name, description):
        made[0][:, piece], made[1][piece] = part["weights"], part["intercept"]


def over_folds(
    run: Run,
    function: Callable[[Fold, list[int]], Arrays],
    make_fold: Callable[[int], Fold],
    usable: Bools,
    name: str,
    description: str,
) -> Iterator[tuple[int, list[int], Arrays]]:
    """Yield a fold, some categories that it can tune, and what ``function(fold, categories)`` returns."""
    for k, used in enumerate(usable):
        said = f"{name} fold {k}", f"{description}, fold {k + 1} of {len(usable)}"
        for piece, part in over_categories(run, function, partial(make_fold, k), np.flatnonzero(used), *said):
            yield k, piece, part


def count_over_folds(
    run: Run, make_fold: Callable[[int], Fold], usable: Bools, n_values: int, name: str, description: str
) -> Ints:
    """Return cells pooled over the folds that are `usable`, shape (n_values, n_categories, 4)."""
    cells = np.zeros((n_values, usable.shape[1], 4), dtype=np.int64)
    if n_values:
        for _, piece, part in over_folds(run, _count_some, make_fold, usable, name, description):
            cells[:, piece] += part["cells"]
    return cells


def value_some(fold: Fold, categories: list[int]) -> Arrays:
    """Return the decision values of a fold's documents for some categories."""
    made = _train_some(fold.task, categories)
    return {"values": fold.test @ made["weights"] + made["intercept"]}


def _train_some(task: Task, categories: list[int]) -> Arrays:
    """Train the machines of some categories; a constant decision where one class is absent."""
    from sklearn import config_context

    y = task.y[:, categories]
    weights, intercept = np.zeros((task.x.shape[1], len(categories))), np.where(y.all(axis=0), 1.0, -1.0)
    with config_context(assume_finite=True):
        for j in np.flatnonzero(y.any(axis=0) & ~y.all(axis=0)):
            weights[:, j], intercept[j] = task.solve(task.x, y[:, j], float(task.c[categories[j]]))
    return {"weights": weights, "intercept": intercept}


def _count_some(fold: Fold, categories: list[int]) -> Arrays:
    """Count the cells of a fold's documents for some categories and every value of C."""
    cells = np.empty((len(fold.grid), len(categories), 4), dtype=np.int64)
    for i, c in enumerate(fold.grid):
        made = _train_some(fold.task._replace(c=np.full(fold.y_test.shape[1], c)), categories)
        decisions = fold.positive(fold.test @ made["weights"] + made["intercept"], 0)
        cells[i] = count_cells(fold.y_test[:, categories], decisions)
    return {"cells": cells}
