"""RBF SVM, one per category: scikit-learn's ``SVC`` on Gram matrices that all categories share."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from harness.models import cross_validation as cv
from harness.models import gaussian_kernel as kernels
from harness.models.device import kernel_values, resolve_device
from harness.models.fitted import Fitted, Fold, decide_in_batches, over_categories
from harness.runtime.parallel import Run, run_here
from harness.runtime.store import Arrays

DOCUMENTS_PER_UNIT = 2048
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class RBFSVM:
    """Support vector machines with a Gaussian kernel, gamma and C tuned for each category.

    Trained by ``sklearn.svm.SVC(kernel="precomputed")`` with scikit-learn's default tolerance on a Gram
    matrix that all categories with this gamma share; decisions are those of ``SVC(kernel="rbf").predict``.
    Gamma, which multiplies the squared distance, is tuned first, at the default C, then C at each category's
    best gamma: half the cells of the full grid. While tuning, the stopping tolerance is 0.01 and inner
    products are kept in single precision. `C` and `gamma` are used where they are not tuned: everywhere if
    `tune` is false, else in categories without a usable fold; `criterion` ("f1" or "error") is optimised from
    cells pooled over the folds, and ties go to the smaller value.

    References
    ----------
    Chang & Lin (2011), LIBSVM, ACM TIST 2(3):27. Keller, Bengio & Wong (2005), section 3.
    """

    C: float = 3.0
    gamma: float = 0.3
    C_grid: Sequence[float] = (1.0, 3.0, 10.0)
    gamma_grid: Sequence[float] = (0.1, 0.3, 1.0)
    tune: bool = True
    n_folds: int = 3
    criterion: str = "f1"

    def __post_init__(self) -> None:
        """Check the parameters."""
        cv.check_tuning(self.criterion, self.n_folds)
        cv.check_grid("C", [self.C])
        cv.check_grid("gamma", [self.gamma])
        object.__setattr__(self, "C_grid", cv.check_grid("C_grid", self.C_grid))
        object.__setattr__(self, "gamma_grid", cv.check_grid("gamma_grid", self.gamma_grid))

    def fit(
        self, x: sparse.csr_array, y: ArrayLike, *, seed: int, run: Run = run_here, device: str = "cpu"
    ) -> Fitted:
        """Tune and train one machine for each column of `y`, on the processor whatever the device.

        At most one Gram matrix is held: 8 n_documents^2 bytes (510 MB at 7,982); while tuning, one of a
        fold and the inner products in single precision (about 600 MB). libsvm adds up to 200 MB a thread.
        """
        y, x = np.asarray(y, dtype=bool), sparse.csr_array(x)
        x.sort_indices()
        cv.load_solvers()
        tuning = _Tuning(x, y, *cv.draw_folds(y, self.n_folds, seed, self.tune))
        n_used = tuning.usable.sum(axis=0)
        c, gamma, cv_score = self._tune(tuning, n_used, run)
        dual, intercept = _train_all(x, y, c, gamma, run)
        support = np.flatnonzero((dual != 0).any(axis=1))
        kept = x[support]
        arrays = {
            "x_data": kept.data,
            "x_indices": kept.indices,
            "x_indptr": kept.indptr,
            "x_shape": np.array(kept.shape, dtype=np.int64),
            "dual": dual[support],
            "intercept": intercept,
            "gamma": gamma,
        }
        return Fitted(arrays, {"C": c, "gamma": gamma}, cv_score, n_used)

    def _tune(self, tuning: "_Tuning", n_used: NDArray[np.int64], run: Run) -> tuple[Floats, Floats, Floats]:
        """Return C, gamma and their cross-validated score, per category."""
        everyone = np.flatnonzero(n_used > 0)
        at_c = np.array([tuning.count(g, (float(self.C),), everyone, run)[0] for g in self.gamma_grid])
        best_gamma = cv.choose(cv.score(at_c, self.criterion), self.criterion)
        known = np.array(self.C_grid) == self.C
        cells = np.zeros((len(self.C_grid), tuning.y.shape[1], 4), dtype=np.int64)
        cells[known] = np.take_along_axis(at_c, best_gamma[None, :, None], axis=0)
        other = tuple(value for value in self.C_grid if value != self.C)
        for g, gamma in enumerate(self.gamma_grid):
            cells[~known] += tuning.count(gamma, other, everyone[best_gamma[everyone] == g], run)
        c, cv_score = cv.choose_values(cells, self.C_grid, self.C, n_used, self.criterion)
        return c, np.where(n_used > 0, np.array(self.gamma_grid)[best_gamma], self.gamma), cv_score

    def predict(
        self, fitted: Fitted, x: sparse.csr_array, *, run: Run = run_here, device: str = "cpu"
    ) -> NDArray[np.bool_]:
        """Decide every category for every document, as ``SVC(kernel="rbf").predict`` would."""
        machines, device = machines_of(fitted), resolve_device(device)
        return decide_in_batches(
            run,
            _predict_batch,
            (x.shape[0], len(machines.gamma)),
            DOCUMENTS_PER_UNIT,
            lambda: (kernels.prepare(machines), sparse.csr_array(x), device),
            "RBF SVM: prediction",
        )


def machines_of(fitted: Fitted) -> kernels.Machines:
    """Return the kernel machines that :meth:`RBFSVM.fit` stored as plain arrays."""
    a = fitted.arrays
    x = sparse.csr_array((a["x_data"], a["x_indices"], a["x_indptr"]), shape=tuple(a["x_shape"].tolist()))
    return kernels.Machines(x, a["dual"], a["intercept"], a["gamma"])


@dataclass(frozen=True)
class _Tuning:
    """Documents, labels and folds, and the inner products from which the folds' Gram matrices are made."""

    x: sparse.csr_array
    y: NDArray[np.bool_]
    fold: NDArray[np.int64]
    usable: NDArray[np.bool_]

    @cached_property
    def products(self) -> NDArray[Any]:
        """Inner products in single precision, made when the first unit needs them."""
        return kernels.dot_products(self.x, np.float32)

    def make_fold(self, k: int, gamma: float, grid: tuple[float, ...]) -> Fold:
        """Return the Gram matrix of the training part of fold `k` and the kernel block of its test part."""
        train, test = np.flatnonzero(self.fold != k), np.flatnonzero(self.fold == k)
        norms = kernels.squared_norms(self.x)
        of_train, of_test = (
            kernels.gram_in_place(
                kernels.take_block(self.products, rows, train), norms[rows], norms[train], gamma
            )
            for rows in (train, test)
        )
        return Fold(of_train, of_test, self.y[train], self.y[test], grid)

    def count(
        self, gamma: float, grid: tuple[float, ...], categories: NDArray[np.int64], run: Run
    ) -> NDArray[np.int64]:
        """Return cells pooled over the folds, (len(grid), n_categories, 4); 0 for other categories."""
        cells = np.zeros((len(grid), self.y.shape[1], 4), dtype=np.int64)
        for k, usable in enumerate(self.usable if grid else ()):
            for piece, part in over_categories(
                run,
                _count_chunk,
                categories[usable[categories]],
                f"tune gamma {gamma!r} C {'+'.join(map(repr, grid))} fold {k}",
                partial(self.make_fold, k, gamma, grid),
                f"RBF SVM: tuning (gamma {gamma:g}, fold {k + 1} of {len(self.usable)})",
            ):
                cells[:, piece] += part["cells"]
        return cells


def _fit_machines(
    gram: Floats, y: NDArray[np.bool_], c: Iterable[float], *, tuning: bool = False
) -> tuple[Floats, Floats]:
    """Return dual coefficients and intercept of each column of `y`; a constant where one class is absent."""
    from sklearn import config_context
    from sklearn.svm import SVC

    dual, intercept = np.zeros(y.shape), np.where(y.all(axis=0), 1.0, -1.0)
    # Shrinking pays when a kernel row is dear to compute; here it is only a look-up. It stays on for the
    # final machines, which are to follow scikit-learn's default path step by step.
    options = {"tol": 1e-2, "shrinking": False} if tuning else {}
    for j, value in enumerate(c):
        if y[:, j].any() and not y[:, j].all():
            with config_context(assume_finite=True):
                machine = SVC(C=value, kernel="precomputed", cache_size=100, **options).fit(gram, y[:, j])
            dual[machine.support_, j], intercept[j] = machine.dual_coef_[0], machine.intercept_[0]
    return dual, intercept


def _count_chunk(fold: Fold, categories: list[int]) -> Arrays:
    """Count the cells of a fold's test part for a chunk of categories and every C."""
    cells = np.empty((len(fold.grid), len(categories), 4), dtype=np.int64)
    y_train, y_test = fold.y_train[:, categories], fold.y_test[:, categories]
    for i, c in enumerate(fold.grid):
        dual, intercept = _fit_machines(fold.train, y_train, [c] * len(categories), tuning=True)
        cells[i] = cv.count_cells(y_test, fold.test @ dual + intercept >= 0)
    return {"cells": cells}


def _train_all(
    x: sparse.csr_array, y: NDArray[np.bool_], c: Floats, gamma: Floats, run: Run
) -> tuple[Floats, Floats]:
    """Return dual coefficients (n_documents, n_categories) and intercepts, gamma by gamma."""
    dual, intercept = np.zeros(y.shape), np.zeros(y.shape[1])

    def with_gram(value: float) -> tuple[Floats, NDArray[np.bool_], Floats]:
        norms = kernels.squared_norms(x)
        return kernels.gram_in_place(kernels.dot_products(x), norms, norms, value), y, c

    for value in np.unique(gamma).tolist():
        for piece, part in over_categories(
            run,
            _train_chunk,
            np.flatnonzero(gamma == value),
            f"fit gamma {value!r}",
            partial(with_gram, value),
            f"RBF SVM: training (gamma {value:g})",
        ):
            dual[:, piece], intercept[piece] = part["dual"], part["intercept"]
    return dual, intercept


def _train_chunk(shared: tuple[Floats, NDArray[np.bool_], Floats], categories: list[int]) -> Arrays:
    """Train a chunk of categories on all documents."""
    gram, y, c = shared
    dual, intercept = _fit_machines(gram, y[:, categories], c[categories].tolist())
    return {"dual": dual, "intercept": intercept}


def _predict_batch(shared: tuple[kernels.Prepared, sparse.csr_array, str], start: int, stop: int) -> Arrays:
    """Decide a batch of documents for all categories."""
    prepared, x, device = shared
    some = x[start:stop]
    values = None if device == "cpu" else kernel_values(prepared, some, device)
    return {"decisions": kernels.decide(prepared, some, values)}
