"""Linear SVM, one per category: scikit-learn's ``LinearSVC``, tuned, applied to all at once."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from harness.models import cross_validation as cv
from harness.models.device import linear_values, resolve_device
from harness.models.fitted import Fitted, Fold, decide_in_batches, over_categories
from harness.runtime.parallel import Run, run_here
from harness.runtime.store import Arrays

DOCUMENTS_PER_UNIT = 4096
NEAR_THRESHOLD = 1e-3
"""Single precision errs by some 1e-5 on these documents."""


@dataclass(frozen=True)
class LinearSVM:
    """Linear support vector machines (squared hinge loss), C tuned for each category.

    Each category is fitted by ``sklearn.svm.LinearSVC(C=C, dual=False)``; decisions are those of its
    ``decision_function(x) > 0``. The primal solver (trust-region Newton) is chosen because it draws no
    random numbers: liblinear's dual solver shuffles with one generator for the whole process, so that
    two threads would disturb each other. `C` is used where it is not tuned: everywhere if `tune` is false,
    else in categories without a usable fold; `criterion` ("f1" or "error") is optimised from cells pooled
    over the folds, and ties go to the smaller C.

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
        cv.check_tuning(self.criterion, self.n_folds)
        cv.check_grid("C", [self.C])
        object.__setattr__(self, "C_grid", cv.check_grid("C_grid", self.C_grid))

    def fit(
        self, x: sparse.csr_array, y: ArrayLike, *, seed: int, run: Run = run_here, device: str = "cpu"
    ) -> Fitted:
        """Tune and train one machine for each column of `y`, on the processor whatever the device."""
        y = np.asarray(y, dtype=bool)
        n_categories = y.shape[1]
        cv.load_solvers()
        x = sparse.csr_matrix(x, dtype=np.float64)  # liblinear would make this copy at every fit
        fold, usable = cv.draw_folds(y, self.n_folds, seed, self.tune)
        cells = np.zeros((len(self.C_grid), n_categories, 4), dtype=np.int64)

        def hold_out(held: NDArray[np.bool_]) -> Fold:
            return Fold(x[~held], x[held], y[~held], y[held], self.C_grid)

        for k, used in enumerate(usable):
            for piece, part in over_categories(
                run,
                _tune_chunk,
                np.flatnonzero(used),
                f"tune fold {k}",
                partial(hold_out, fold == k),
                f"linear SVM: tuning C (fold {k + 1} of {self.n_folds})",
            ):
                cells[:, piece] += part["cells"]
        n_used = usable.sum(axis=0)
        c, cv_score = cv.choose_values(cells, self.C_grid, self.C, n_used, self.criterion)
        coef, intercept = np.empty((x.shape[1], n_categories)), np.empty(n_categories)
        for piece, part in over_categories(
            run, _fit_chunk, np.arange(n_categories), "fit", lambda: (x, y, c), "linear SVM: training"
        ):
            coef[:, piece], intercept[piece] = part["coef"], part["intercept"]
        return Fitted({"coef": coef, "intercept": intercept}, {"C": c}, cv_score, n_used)

    def predict(
        self, fitted: Fitted, x: sparse.csr_array, *, run: Run = run_here, device: str = "cpu"
    ) -> NDArray[np.bool_]:
        """Decide every category for every document: True where the decision value is above 0.

        On a GPU, values near 0 in single precision are computed again in double, on the processor.
        """
        coef, intercept, device = fitted.arrays["coef"], fitted.arrays["intercept"], resolve_device(device)
        return decide_in_batches(
            run,
            _predict_batch,
            (x.shape[0], len(intercept)),
            DOCUMENTS_PER_UNIT,
            lambda: (sparse.csr_array(x), np.ascontiguousarray(coef), intercept, device),
            "linear SVM: prediction",
        )


def _fit_machines(
    x: sparse.csr_matrix, y: NDArray[np.bool_], c: Iterable[float]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return weights (n_terms, n_categories) and intercepts; a constant decision for a single class."""
    from sklearn import config_context
    from sklearn.svm import LinearSVC

    coef, intercept = np.zeros((x.shape[1], y.shape[1])), np.where(y.all(axis=0), 1.0, -1.0)
    for j, value in enumerate(c):
        if y[:, j].any() and not y[:, j].all():
            with config_context(assume_finite=True):
                machine = LinearSVC(C=value, dual=False).fit(x, y[:, j])
            coef[:, j], intercept[j] = machine.coef_[0], machine.intercept_[0]
    return coef, intercept


def _tune_chunk(fold: Fold, categories: list[int]) -> Arrays:
    """Count the cells of a fold's test part for a chunk of categories and every C."""
    cells = np.empty((len(fold.grid), len(categories), 4), dtype=np.int64)
    y_train, y_test = fold.y_train[:, categories], fold.y_test[:, categories]
    for i, c in enumerate(fold.grid):
        coef, intercept = _fit_machines(fold.train, y_train, [c] * len(categories))
        cells[i] = cv.count_cells(y_test, fold.test @ coef + intercept > 0)
    return {"cells": cells}


def _fit_chunk(
    shared: tuple[sparse.csr_matrix, NDArray[np.bool_], NDArray[np.float64]], categories: list[int]
) -> Arrays:
    """Train a chunk of categories on all documents."""
    x, y, c = shared
    coef, intercept = _fit_machines(x, y[:, categories], c[categories].tolist())
    return {"coef": coef, "intercept": intercept}


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
