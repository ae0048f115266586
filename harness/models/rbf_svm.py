"""RBF SVM, one per category: scikit-learn's ``SVC`` on Gram matrices that all categories share."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
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
from harness.models.device import kernel_values, resolve_device
from harness.models.fitted import Fitted
from harness.models.gaussian_kernel import (
    Machines,
    Prepared,
    decide,
    dot_products,
    gram_in_place,
    prepare,
    squared_norms,
    take_block,
)
from harness.runtime.parallel import Arrays, Run, run_here

CATEGORIES_PER_UNIT = 8
DOCUMENTS_PER_UNIT = 2048


@dataclass(frozen=True)
class RBFSVM:
    """Support vector machines with a Gaussian kernel, gamma and C tuned for each category.

    Trained by ``sklearn.svm.SVC(kernel="precomputed")`` with scikit-learn's default tolerance on a Gram
    matrix that all categories with this gamma share; decisions are those of ``SVC(kernel="rbf").predict``.
    Gamma is tuned first, at the default C, then C at each category's best gamma: half the cells of the
    full grid. While tuning, the stopping tolerance is 0.01 and inner products are kept in single precision.

    Attributes
    ----------
    C, gamma : float
        Used where they are not tuned: everywhere if `tune` is false, else in categories without a
        usable fold. `C` is also the value at which gamma is tuned. gamma multiplies the squared distance.
    C_grid, gamma_grid : sequences of float
        Values tried; ties go to the smaller. Values of gamma above 1 are slow on cosine-normalised text.
    tune : bool
        Whether they are tuned by cross-validation.
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
    Chang & Lin (2011), LIBSVM, ACM TIST 2(3):27. Keller, Bengio & Wong (2005), section 3.

    Examples
    --------
    >>> x = sparse.csr_array(np.array([[1, 0], [0.8, 0.6], [0, 1], [0.6, 0.8]], dtype=np.float32))
    >>> model = RBFSVM(tune=False)
    >>> fitted = model.fit(x, np.array([[1], [1], [0], [0]]), seed=0)
    >>> model.predict(fitted, x).ravel().tolist()
    [True, True, False, False]
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
        check_tuning(self.criterion, self.n_folds)
        check_grid("C", [self.C])
        check_grid("gamma", [self.gamma])
        object.__setattr__(self, "C_grid", check_grid("C_grid", self.C_grid))
        object.__setattr__(self, "gamma_grid", check_grid("gamma_grid", self.gamma_grid))

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
            `arrays`: the supporting documents (``x_data``, ``x_indices``, ``x_indptr``, ``x_shape``),
            ``dual`` (n_support, n_categories), ``intercept`` and ``gamma`` (n_categories,).
            `tuned`: ``C`` and ``gamma``.

        Notes
        -----
        At most one Gram matrix is held: 8 n_documents^2 bytes (510 MB at 7,982); while tuning, one of a
        fold and the inner products in single precision (about 600 MB). libsvm adds up to 200 MB a thread.
        """
        y, x = np.asarray(y, dtype=bool), sparse.csr_array(x)
        x.sort_indices()
        n_categories = y.shape[1]
        load_solvers()
        c, gamma = np.full(n_categories, float(self.C)), np.full(n_categories, float(self.gamma))
        cv_score, n_used = np.full(n_categories, np.nan), np.zeros(n_categories, dtype=np.int64)
        if self.tune:
            c, gamma, cv_score, n_used = self._tune(_Tuning(x, y, self.n_folds, seed), run)
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

    def _tune(
        self, tuning: "_Tuning", run: Run
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
        """Return C, gamma, their cross-validated score and the number of folds, per category."""
        n_used = tuning.usable.sum(axis=0)
        everyone = np.flatnonzero(n_used > 0)
        at_c = np.array([tuning.count(g, (float(self.C),), everyone, run)[0] for g in self.gamma_grid])
        best_gamma = choose(score(at_c, self.criterion), self.criterion)
        other = tuple(value for value in self.C_grid if value != self.C)
        cells = np.zeros((len(self.C_grid), tuning.y.shape[1], 4), dtype=np.int64)
        for i, value in enumerate(self.C_grid):
            if value == self.C:
                cells[i] = np.take_along_axis(at_c, best_gamma[None, :, None], axis=0)[0]
        where = [i for i, value in enumerate(self.C_grid) if value != self.C]
        for g, gamma in enumerate(self.gamma_grid):
            cells[where] += tuning.count(gamma, other, everyone[best_gamma[everyone] == g], run)
        scores = score(cells, self.criterion)
        best_c = choose(scores, self.criterion)
        cv_score = np.take_along_axis(scores, best_c[None], axis=0)[0]
        c = np.where(n_used > 0, np.array(self.C_grid)[best_c], self.C)
        return c, np.where(n_used > 0, np.array(self.gamma_grid)[best_gamma], self.gamma), cv_score, n_used

    def predict(
        self, fitted: Fitted, x: sparse.csr_array, *, run: Run = run_here, device: str = "cpu"
    ) -> NDArray[np.bool_]:
        """Decide every category for every document, as ``SVC(kernel="rbf").predict`` would.

        Returns
        -------
        bool array, shape (n_documents, n_categories)

        Raises
        ------
        UserError
            If `device` is unknown or absent.

        See Also
        --------
        harness.models.gaussian_kernel.prepare : How the categories share the work.
        """
        machines, device = machines_of(fitted), resolve_device(device)
        units = list(chunks(x.shape[0], DOCUMENTS_PER_UNIT))
        parts = run(
            _predict_batch,
            units,
            [f"predict documents {start}-{stop}" for start, stop in units],
            shared=lambda: (prepare(machines), sparse.csr_array(x), device),
            threads=True,
            description="RBF SVM: prediction",
        )
        decisions = np.empty((x.shape[0], len(machines.gamma)), dtype=bool)
        for (start, stop), part in zip(units, parts, strict=True):
            decisions[start:stop] = part["decisions"]
        return decisions


def machines_of(fitted: Fitted) -> Machines:
    """Return the kernel machines that :meth:`RBFSVM.fit` stored as plain arrays."""
    a = fitted.arrays
    x = sparse.csr_array((a["x_data"], a["x_indices"], a["x_indptr"]), shape=tuple(a["x_shape"].tolist()))
    return Machines(x, a["dual"], a["intercept"], a["gamma"])


@dataclass(frozen=True)
class _Tuning:
    """Documents, labels and folds, and the inner products from which the folds' Gram matrices are made."""

    x: sparse.csr_array
    y: NDArray[np.bool_]
    n_folds: int
    seed: int

    @cached_property
    def fold(self) -> NDArray[np.int64]:
        """The fold of each document."""
        return partition(len(self.y), self.n_folds, self.seed)

    @cached_property
    def usable(self) -> NDArray[np.bool_]:
        """Which fold tunes which category, shape (n_folds, n_categories)."""
        return usable_folds(self.y, self.fold, self.n_folds)

    @cached_property
    def products(self) -> NDArray[Any]:
        """Inner products in single precision, made when the first unit needs them."""
        return dot_products(self.x, np.float32)

    @cached_property
    def norms(self) -> NDArray[np.float64]:
        """Squared lengths of the documents."""
        return squared_norms(self.x)

    def make_fold(self, k: int, gamma: float) -> "_Fold":
        """Return the Gram matrix of the training part of fold `k` and the kernel block of its test part."""
        train, test = np.flatnonzero(self.fold != k), np.flatnonzero(self.fold == k)
        blocks = [
            gram_in_place(take_block(self.products, rows, train), self.norms[rows], self.norms[train], gamma)
            for rows in (train, test)
        ]
        return _Fold(blocks[0], blocks[1], self.y[train], self.y[test])

    def count(
        self, gamma: float, grid: tuple[float, ...], categories: NDArray[np.int64], run: Run
    ) -> NDArray[np.int64]:
        """Return cells pooled over the folds, (len(grid), n_categories, 4); 0 for other categories."""
        cells = np.zeros((len(grid), self.y.shape[1], 4), dtype=np.int64)
        for k in range(self.n_folds if grid else 0):
            members = categories[self.usable[k, categories]]
            pieces = [members[a:b] for a, b in chunks(len(members), CATEGORIES_PER_UNIT)]
            if not pieces:
                continue
            tag = f"tune gamma {gamma!r} C {'+'.join(map(repr, grid))} fold {k}"
            parts = run(
                _count_chunk,
                [(tuple(piece.tolist()), grid) for piece in pieces],
                [f"{tag} part {i}" for i in range(len(pieces))],
                shared=partial(self.make_fold, k, gamma),
                threads=True,
                description=f"RBF SVM: tuning (gamma {gamma:g}, fold {k + 1} of {self.n_folds})",
            )
            for piece, part in zip(pieces, parts, strict=True):
                cells[:, piece] += part["cells"]
        return cells


class _Fold(NamedTuple):
    """Kernel values and labels of one fold."""

    train: NDArray[np.float64]
    test: NDArray[np.float64]
    y_train: NDArray[np.bool_]
    y_test: NDArray[np.bool_]


def _fit_one(
    gram: NDArray[np.float64], y: NDArray[np.bool_], c: float, *, tuning: bool = False
) -> tuple[NDArray[np.float64], float]:
    """Return dual coefficients (n_documents,) and intercept; a constant where one class is absent."""
    from sklearn import config_context
    from sklearn.svm import SVC

    dual = np.zeros(len(y))
    if y.all() or not y.any():
        return dual, 1.0 if y.all() else -1.0
    # Shrinking pays when a kernel row is dear to compute; here it is only a look-up. It stays on for the
    # final machines, which are to follow scikit-learn's default path step by step.
    options = {"tol": 1e-2, "shrinking": False} if tuning else {}
    with config_context(assume_finite=True):
        machine = SVC(C=c, kernel="precomputed", cache_size=100, **options).fit(gram, y)
    dual[machine.support_] = machine.dual_coef_[0]
    return dual, float(machine.intercept_[0])


def _count_chunk(fold: _Fold, categories: tuple[int, ...], grid: tuple[float, ...]) -> Arrays:
    """Count the cells of a fold's test part for a chunk of categories and every C."""
    cells = np.empty((len(grid), len(categories), 4), dtype=np.int64)
    members = list(categories)
    for i, c in enumerate(grid):
        machines = [_fit_one(fold.train, fold.y_train[:, j], c, tuning=True) for j in members]
        dual = np.stack([weights for weights, _ in machines], axis=1)
        intercept = np.array([value for _, value in machines])
        cells[i] = count_cells(fold.y_test[:, members], fold.test @ dual + intercept >= 0)
    return {"cells": cells}


def _train_all(
    x: sparse.csr_array, y: NDArray[np.bool_], c: NDArray[np.float64], gamma: NDArray[np.float64], run: Run
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return dual coefficients (n_documents, n_categories) and intercepts, gamma by gamma."""
    dual, intercept = np.zeros(y.shape), np.zeros(y.shape[1])
    for value in np.unique(gamma).tolist():
        members = np.flatnonzero(gamma == value)
        pieces = [members[a:b] for a, b in chunks(len(members), CATEGORIES_PER_UNIT)]
        parts = run(
            _train_chunk,
            [(tuple(piece.tolist()), tuple(c[piece].tolist())) for piece in pieces],
            [f"fit gamma {value!r} part {i}" for i in range(len(pieces))],
            shared=partial(_make_gram, x, y, value),
            threads=True,
            description=f"RBF SVM: training (gamma {value:g})",
        )
        for piece, part in zip(pieces, parts, strict=True):
            dual[:, piece], intercept[piece] = part["dual"], part["intercept"]
    return dual, intercept


def _make_gram(
    x: sparse.csr_array, y: NDArray[np.bool_], gamma: float
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the Gram matrix of all documents, and the labels."""
    norms = squared_norms(x)
    return gram_in_place(dot_products(x), norms, norms, gamma), y


def _train_chunk(
    shared: tuple[NDArray[np.float64], NDArray[np.bool_]], categories: tuple[int, ...], c: tuple[float, ...]
) -> Arrays:
    """Train a chunk of categories on all documents."""
    gram, y = shared
    machines = [_fit_one(gram, y[:, j], value) for j, value in zip(categories, c, strict=True)]
    return {
        "dual": np.stack([weights for weights, _ in machines], axis=1),
        "intercept": np.array([value for _, value in machines]),
    }


def _predict_batch(shared: tuple[Prepared, sparse.csr_array, str], start: int, stop: int) -> Arrays:
    """Decide a batch of documents for all categories."""
    prepared, x, device = shared
    some = x[start:stop]
    values = None if device == "cpu" else kernel_values(prepared, some, device)
    return {"decisions": decide(prepared, some, values)}
