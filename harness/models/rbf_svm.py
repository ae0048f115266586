"""RBF SVM, one per category: scikit-learn's ``SVC`` on Gram matrices that all categories share."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from harness.models import cross_validation as cv
from harness.models import gaussian_kernel as kernels
from harness.models import svm
from harness.models.cross_validation import Bools, Floats, Ints
from harness.models.device import kernel_values, resolve_device
from harness.models.fitted import Fitted, decide_in_batches
from harness.runtime.parallel import Run, run_here
from harness.runtime.store import Arrays

DOCUMENTS_PER_UNIT = 2048


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
        svm.load_solvers()
        tuning = _Tuning(x, y, *cv.draw_folds(y, self.n_folds, seed, self.tune))
        n_used = tuning.usable.sum(axis=0)
        c, gamma, cv_score = self._tune(tuning, n_used, run)
        norms = kernels.squared_norms(x)

        def with_gram(value: float) -> svm.Task:
            gram = kernels.gram_in_place(kernels.dot_products(x), norms, norms, value)
            return svm.Task(_solve, gram, y, c)

        dual, intercept = made = np.zeros(y.shape), np.zeros(y.shape[1])
        for value in np.unique(gamma).tolist():
            said = f"fit gamma {value!r}", f"RBF SVM: training (gamma {value:g})"
            svm.train(run, partial(with_gram, value), np.flatnonzero(gamma == value), *said, made)
        support = np.flatnonzero((dual != 0).any(axis=1))
        x = x[support]
        arrays = {
            "x_data": x.data,
            "x_indices": x.indices,
            "x_indptr": x.indptr,
            "x_shape": np.array(x.shape, dtype=np.int64),
            "dual": dual[support],
            "intercept": intercept,
            "gamma": gamma,
        }
        return Fitted(arrays, {"C": c, "gamma": gamma}, cv_score, n_used)

    def _tune(self, tuning: "_Tuning", n_used: Ints, run: Run) -> tuple[Floats, Floats, Floats]:
        """Return C, gamma and their cross-validated score, per category."""
        tuned = n_used > 0
        at_c = np.array([tuning.count(g, (float(self.C),), tuned, run)[0] for g in self.gamma_grid])
        best_gamma = cv.choose(cv.score(at_c, self.criterion), self.criterion)
        known = np.array(self.C_grid) == self.C
        cells = np.zeros((len(self.C_grid), len(tuned), 4), dtype=np.int64)
        cells[known] = np.take_along_axis(at_c, best_gamma[None, :, None], axis=0)
        other = tuple(value for value in self.C_grid if value != self.C)
        for g, gamma in enumerate(self.gamma_grid):
            cells[~known] += tuning.count(gamma, other, tuned & (best_gamma == g), run)
        c, cv_score = cv.choose_values(cells, self.C_grid, self.C, n_used, self.criterion)
        return c, np.where(tuned, np.array(self.gamma_grid)[best_gamma], self.gamma), cv_score

    def predict(
        self, fitted: Fitted, x: sparse.csr_array, *, run: Run = run_here, device: str = "cpu"
    ) -> Bools:
        """Decide every category for every document, as ``SVC(kernel="rbf").predict`` would."""
        arrays, device = fitted.arrays, resolve_device(device)
        shape, said = (x.shape[0], len(arrays["gamma"])), "RBF SVM: prediction"
        return decide_in_batches(
            run, _decide, shape, DOCUMENTS_PER_UNIT, lambda: (kernels.prepare(arrays), x, device), said
        )


@dataclass(frozen=True)
class _Tuning:
    """Documents, labels and folds, and the inner products from which the folds' Gram matrices are made."""

    x: sparse.csr_array
    y: Bools
    fold: Ints
    usable: Bools

    @cached_property
    def products(self) -> NDArray[Any]:
        """Inner products in single precision, made when the first unit needs them."""
        return kernels.dot_products(self.x, np.float32)

    def make_fold(self, gamma: float, grid: tuple[float, ...], k: int) -> svm.Fold:
        """Return the Gram matrix of the training part of fold `k` and the kernel block of its test part."""
        train, test = np.flatnonzero(self.fold != k), np.flatnonzero(self.fold == k)
        norms = kernels.squared_norms(self.x)
        of_train, of_test = (
            kernels.gram_in_place(
                kernels.take_block(self.products, rows, train), norms[rows], norms[train], gamma
            )
            for rows in (train, test)
        )
        # Shrinking pays when a kernel row is dear to compute; here it is only a look-up. It stays on for the
        # final machines, which are to follow scikit-learn's default path step by step.
        solve = partial(_solve, tol=1e-2, shrinking=False)
        task = svm.Task(solve, of_train, self.y[train], np.empty(0))
        return svm.Fold(task, of_test, self.y[test], np.greater_equal, grid)

    def count(self, gamma: float, grid: tuple[float, ...], wanted: Bools, run: Run) -> Ints:
        """Return cells pooled over the folds, (len(grid), n_categories, 4); 0 for categories not wanted."""
        said = f"tune gamma {gamma!r} C {'+'.join(map(repr, grid))}", f"RBF SVM: tuning gamma {gamma:g}"
        make_fold = partial(self.make_fold, gamma, grid)
        return svm.count_over_folds(run, make_fold, self.usable & wanted, len(grid), *said)


def _solve(gram: Floats, y: Bools, c: float, **options: Any) -> tuple[Floats, float]:
    from sklearn.svm import SVC

    machine = SVC(C=c, kernel="precomputed", cache_size=100, **options).fit(gram, y)
    dual = np.zeros(len(y))
    dual[machine.support_] = machine.dual_coef_[0]
    return dual, machine.intercept_[0]


def _decide(shared: tuple[kernels.Prepared, sparse.csr_array, str], start: int, stop: int) -> Arrays:
    """Decide a batch of documents for all categories."""
    prepared, x, device = shared
    some = sparse.csr_array(x[start:stop])
    values = None if device == "cpu" else kernel_values(prepared, some, device)
    return {"decisions": kernels.decide(prepared, some, values)}
