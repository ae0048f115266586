"""Linear SVM, one per category: scikit-learn's ``LinearSVC``, tuned, applied to all at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from harness.errors import require
from harness.models import cross_validation as cv
from harness.models import svm
from harness.models.cross_validation import Bools, Floats
from harness.models.device import linear_values, resolve_device
from harness.models.fitted import Fitted, decide_in_batches, settle
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
    over the folds, and ties go to the smaller C. `threshold` is 0, as in the papers, or "tuned": then the
    decision value above which a category is assigned is chosen after C, by the same criterion on the
    held-out documents of all folds together (Yang 2001's SCut), and stays 0 where no fold is usable.

    References
    ----------
    Fan et al. (2008), LIBLINEAR, JMLR 9, 1871-1874. Keller, Bengio & Wong (2005), section 3. Yang (2001),
    A study of thresholding strategies for text categorization, SIGIR, 137-145.

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
    threshold: Literal[0, "tuned"] = 0

    def __post_init__(self) -> None:
        """Check the parameters."""
        cv.check_tuning(self.criterion, self.n_folds)
        cv.check_grid("C", [self.C])
        allowed = f"threshold: {self.threshold!r} is not allowed; choose 0 or tuned (which needs tune=true)"
        require(self.threshold == 0 or (self.threshold == "tuned" and self.tune), allowed)
        object.__setattr__(self, "C_grid", cv.check_grid("C_grid", self.C_grid))

    def fit(
        self, x: sparse.csr_array, y: ArrayLike, *, seed: int, run: Run = run_here, device: str = "cpu"
    ) -> Fitted:
        """Tune and train one machine for each column of `y`, on the processor whatever the device."""
        y = np.asarray(y, dtype=bool)
        svm.load_solvers()
        x = sparse.csr_matrix(x, dtype=np.float64)  # liblinear would make this copy at every fit
        fold, usable = cv.draw_folds(y, self.n_folds, seed, self.tune)

        def hold_out(k: int, c: Floats | None = None) -> svm.Fold:
            held = fold == k
            others = svm.Task(_solve, x[~held], y[~held], np.empty(0) if c is None else c)
            return svm.Fold(others, x[held], y[held], np.greater, self.C_grid)

        said = "tune", "linear SVM: tuning C"
        cells = svm.count_over_folds(run, hold_out, usable, len(self.C_grid), *said)
        n_used = usable.sum(axis=0)
        c, cv_score = cv.choose_values(cells, self.C_grid, self.C, n_used, self.criterion)
        coef, intercept = made = np.empty((x.shape[1], y.shape[1])), np.empty(y.shape[1])
        task, everyone = svm.Task(_solve, x, y, c), np.arange(y.shape[1])
        svm.train(run, lambda: task, everyone, "fit", "linear SVM: training", made)
        tuned = {"C": c}
        if self.threshold == "tuned":
            said = "threshold", "linear SVM: tuning thresholds"
            values = np.full(y.shape, np.nan)  # where no fold is usable
            for k, piece, part in svm.over_folds(run, svm.value_some, partial(hold_out, c=c), usable, *said):
                values[np.ix_(fold == k, piece)] = part["values"]
            found = [
                cv.choose_threshold(some[held], true[held], self.criterion)
                for some, true, held in zip(values.T, y.T, ~np.isnan(values.T), strict=True)
            ]
            tuned["threshold"], cv_score = np.array(found).T
            intercept = intercept - tuned["threshold"]
        return Fitted({"coef": coef, "intercept": intercept}, tuned, cv_score, n_used)

    def predict(
        self, fitted: Fitted, x: sparse.csr_array, *, run: Run = run_here, device: str = "cpu"
    ) -> Bools:
        """Decide every category for every document: True where the decision value is above 0.

        On a GPU, values near 0 in single precision are computed again in double, on the processor.
        """
        coef, intercept, device = fitted.arrays["coef"], fitted.arrays["intercept"], resolve_device(device)
        shape, said = (x.shape[0], len(intercept)), "linear SVM: prediction"
        shared = sparse.csr_array(x), np.ascontiguousarray(coef), intercept, device
        return decide_in_batches(run, _decide, shape, DOCUMENTS_PER_UNIT, lambda: shared, said)


def _solve(x: sparse.csr_matrix, y: Bools, c: float) -> tuple[Floats, float]:
    from sklearn.svm import LinearSVC

    machine = LinearSVC(C=c, dual=False).fit(x, y)
    return machine.coef_[0], machine.intercept_[0]


def _decide(
    shared: tuple[sparse.csr_array, NDArray[Any], NDArray[Any], str], start: int, stop: int
) -> Arrays:
    """Decide a batch of documents for all categories."""
    x, coef, intercept, device = shared
    some = x[start:stop].astype(np.float64)
    if device == "cpu":
        return {"decisions": some @ coef + intercept > 0}
    values = linear_values(coef, intercept, some, device)
    near = np.abs(values) < NEAR_THRESHOLD
    return {"decisions": settle(values > 0, near, lambda rows: some[rows] @ coef + intercept > 0)}
