"""Linear SVM, one per category: scikit-learn's ``LinearSVC``, tuned, applied to all at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from harness.models.cross_validation import (
    check_grid,
    check_tuning,
    choose,
    chunks,
    count_cells,
    load_solvers,
    partition,
    score,
    usable_folds,
)
from harness.models.device import linear_values, resolve_device
from harness.models.fitted import Fitted
from harness.runtime.parallel import Arrays, Run, run_here

CATEGORIES_PER_UNIT = 8
DOCUMENTS_PER_UNIT = 4096
NEAR_THRESHOLD = 1e-3
"""Single precision errs by some 1e-5 on these documents."""


@dataclass(frozen=True)
class LinearSVM:
    """Linear support vector machines (squared hinge loss), C tuned for each category.

    Each category is fitted by ``sklearn.svm.LinearSVC(C=C, dual=False)``; decisions are those of its
    ``decision_function(x) > 0``. The primal solver (trust-region Newton) is chosen because it draws no
    random numbers: liblinear's dual solver shuffles with one generator for the whole process, so that
    two threads would disturb each other.

    Attributes
    ----------
    C : float
        Used where C is not tuned: everywhere if `tune` is false, else in categories without a usable fold.
    C_grid : sequence of float
        Values tried; ties go to the smaller.
    tune : bool
        Whether C is tuned by cross-validation.
    n_folds : int
        Folds of the one partition that all categories share; see
        :func:`harness.models.cross_validation.usable_folds` for rare categories.
    criterion : {"f1", "error"}
        What is optimised, from cells pooled over the folds.

    Raises
    ------
    ValueError
        If a parameter lies outside what is allowed; the message names it.

    References
    ----------
    Fan et al. (2008), LIBLINEAR, JMLR 9, 1871-1874. Keller, Bengio & Wong (2005), section 3.

    Examples
    --------
    >>> x = sparse.csr_array(np.array([[1, 0], [0.8, 0.6], [0, 1], [0.6, 0.8]], dtype=np.float32))
    >>> model = LinearSVM(tune=False)
    >>> fitted = model.fit(x, np.array([[1], [1], [0], [0]]), seed=0)
    >>> model.predict(fitted, x).ravel().tolist()
    [True, True, False, False]
    """

    C: float = 1.0
    C_grid: Sequence[float] = (0.1, 0.3, 1.0, 3.0, 10.0)
    tune: bool = True
    n_folds: int = 3
    criterion: str = "f1"

    def __post_init__(self) -> None:
        """Check the parameters."""
        check_tuning(self.criterion, self.n_folds)
        check_grid("C", [self.C])
        object.__setattr__(self, "C_grid", check_grid("C_grid", self.C_grid))

    def fit(
        self, x: sparse.csr_array, y: ArrayLike, *, seed: int, run: Run = run_here, device: str = "cpu"
    ) -> Fitted:
        """Tune and train one machine for each column of `y`.

        Parameters
        ----------
        x : scipy.sparse.csr_array, shape (n_documents, n_terms)
        y : bool or 0/1 array, shape (n_documents, n_categories)
        seed : int
            Draws the folds, nothing else.
        run : callable
            How units of work are computed.
        device : str
            Ignored: training runs on the processor.

        Returns
        -------
        Fitted
            `arrays`: ``coef`` (n_terms, n_categories) and ``intercept`` (n_categories,), float64.
            `tuned`: ``C``.
        """
        y = np.asarray(y, dtype=bool)
        n_categories = y.shape[1]
        load_solvers()
        c = np.full(n_categories, float(self.C))
        cv_score, n_used = np.full(n_categories, np.nan), np.zeros(n_categories, dtype=np.int64)
        x = sparse.csr_matrix(x, dtype=np.float64)  # liblinear would make this copy at every fit
        if self.tune:
            c, cv_score, n_used = self._tune(x, y, seed, run)
        units = list(chunks(n_categories, CATEGORIES_PER_UNIT))
        parts = run(
            _fit_chunk,
            units,
            [f"fit categories {start}-{stop}" for start, stop in units],
            shared=lambda: (x, y, c),
            threads=True,
            description="linear SVM: training",
        )
        arrays = {
            "coef": np.concatenate([part["coef"] for part in parts], axis=1),
            "intercept": np.concatenate([part["intercept"] for part in parts]),
        }
        return Fitted(arrays, {"C": c}, cv_score, n_used)

    def _tune(
        self, x: sparse.csr_matrix, y: NDArray[np.bool_], seed: int, run: Run
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
        """Return C, its cross-validated score and the number of folds, per category."""
        grid = np.array(self.C_grid)
        fold = partition(len(y), self.n_folds, seed)
        usable = usable_folds(y, fold, self.n_folds)
        tuning = _Tuning(x, y, fold, usable, tuple(self.C_grid))
        pieces = list(chunks(y.shape[1], CATEGORIES_PER_UNIT))
        units = [(k, *piece) for k in range(self.n_folds) for piece in pieces]
        parts = run(
            _tune_chunk,
            units,
            [f"tune fold {k} categories {start}-{stop}" for k, start, stop in units],
            shared=lambda: tuning,
            threads=True,
            description="linear SVM: tuning C",
        )
        cells = np.zeros((len(grid), y.shape[1], 4), dtype=np.int64)
        for (_, start, stop), part in zip(units, parts, strict=True):
            cells[:, start:stop] += part["cells"]
        scores = score(cells, self.criterion)
        n_used = usable.sum(axis=0)
        best = choose(scores, self.criterion)
        cv_score = np.take_along_axis(scores, best[None], axis=0)[0]
        return np.where(n_used > 0, grid[best], self.C), cv_score, n_used

    def predict(
        self, fitted: Fitted, x: sparse.csr_array, *, run: Run = run_here, device: str = "cpu"
    ) -> NDArray[np.bool_]:
        """Decide every category for every document.

        Returns
        -------
        bool array, shape (n_documents, n_categories)
            True where the decision value is above 0, in double precision: on a GPU, values within 1e-3
            of 0 in single precision are computed again on the processor.

        Raises
        ------
        UserError
            If `device` is unknown or absent.
        """
        coef, intercept, device = fitted.arrays["coef"], fitted.arrays["intercept"], resolve_device(device)
        units = list(chunks(x.shape[0], DOCUMENTS_PER_UNIT))
        parts = run(
            _predict_batch,
            units,
            [f"predict documents {start}-{stop}" for start, stop in units],
            shared=lambda: (sparse.csr_array(x), np.ascontiguousarray(coef), intercept, device),
            threads=True,
            description="linear SVM: prediction",
        )
        decisions = np.empty((x.shape[0], len(intercept)), dtype=bool)
        for (start, stop), part in zip(units, parts, strict=True):
            decisions[start:stop] = part["decisions"]
        return decisions


class _Tuning(NamedTuple):
    """What the tuning units share."""

    x: sparse.csr_matrix
    y: NDArray[np.bool_]
    fold: NDArray[np.int64]
    usable: NDArray[np.bool_]
    grid: tuple[float, ...]


def _fit_one(x: sparse.csr_matrix, y: NDArray[np.bool_], c: float) -> tuple[NDArray[np.float64], float]:
    """Return weights (n_terms,) and intercept; a constant decision where only one class is present."""
    from sklearn import config_context
    from sklearn.svm import LinearSVC

    if y.all() or not y.any():
        return np.zeros(x.shape[1]), 1.0 if y.all() else -1.0
    with config_context(assume_finite=True):
        machine = LinearSVC(C=c, dual=False).fit(x, y)
    return machine.coef_[0], float(machine.intercept_[0])


def _tune_chunk(tuning: _Tuning, k: int, start: int, stop: int) -> Arrays:
    """Count the cells of test fold `k` for a chunk of categories and every C; zeros where it is not used."""
    train, test = np.flatnonzero(tuning.fold != k), np.flatnonzero(tuning.fold == k)
    x_train, x_test = tuning.x[train], tuning.x[test]
    cells = np.zeros((len(tuning.grid), stop - start, 4), dtype=np.int64)
    for j in np.flatnonzero(tuning.usable[k, start:stop]):
        y = tuning.y[:, start + j]
        for i, c in enumerate(tuning.grid):
            coef, intercept = _fit_one(x_train, y[train], c)
            cells[i, j] = count_cells(y[test, None], (x_test @ coef + intercept > 0)[:, None])[0]
    return {"cells": cells}


def _fit_chunk(
    shared: tuple[sparse.csr_matrix, NDArray[np.bool_], NDArray[np.float64]], start: int, stop: int
) -> Arrays:
    """Train a chunk of categories on all documents."""
    x, y, c = shared
    machines = [_fit_one(x, y[:, j], float(c[j])) for j in range(start, stop)]
    return {
        "coef": np.stack([coef for coef, _ in machines], axis=1),
        "intercept": np.array([intercept for _, intercept in machines]),
    }


def _predict_batch(
    shared: tuple[sparse.csr_array, NDArray[Any], NDArray[Any], str], start: int, stop: int
) -> Arrays:
    """Decide a batch of documents for all categories."""
    x, coef, intercept, device = shared
    some = x[start:stop].astype(np.float64)
    if device == "cpu":
        return {"decisions": some @ coef + intercept > 0}
    return {"decisions": _decide_there(some, coef, intercept, device)}


def _decide_there(
    x: sparse.csr_array, coef: NDArray[Any], intercept: NDArray[Any], device: str
) -> NDArray[np.bool_]:
    """Decide in single precision on a device of torch, and again in double where it is close."""
    values = linear_values(coef, intercept, x, device)
    decisions = values > 0
    near = np.abs(values) < NEAR_THRESHOLD
    rows = np.flatnonzero(near.any(axis=1))
    decisions[rows] = np.where(near[rows], x[rows] @ coef + intercept > 0, decisions[rows])
    return decisions
