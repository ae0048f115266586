"""Any classifier of scikit-learn's kind as a model: one against the rest, tuned on a given grid."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from harness.errors import UserError, check_choice, require
from harness.models import cross_validation as cv
from harness.models.cross_validation import Bools
from harness.models.fitted import Fitted, over_categories
from harness.runtime.parallel import Run, run_here
from harness.runtime.store import Arrays
from harness.seeding import rng

Setting = Mapping[str, Any]


def check_estimator(where: str, estimator: object) -> None:
    """Raise UserError unless the object is a classifier of scikit-learn's kind."""
    from sklearn.base import BaseEstimator, is_classifier

    wanted = isinstance(estimator, BaseEstimator) and hasattr(estimator, "predict")
    if not wanted or not is_classifier(estimator):
        kind = type(estimator).__name__
        raise UserError(f"{where}: {kind} is not allowed; a classifier is, or a pipeline that ends in one")


def fresh(estimator: Any, state: int) -> Any:
    """Return an untrained copy whose random states, where they are left at None, are `state`.

    ``n_jobs`` is 1 throughout: the units of work are what runs in parallel.
    """
    from sklearn.base import clone

    copy = clone(estimator)
    found = copy.get_params(deep=True)
    settings: dict[str, Any] = dict.fromkeys(open_random_states(copy), state)
    for key, value in found.items():
        owner, _, last = key.rpartition("__")
        # to scikit-learn n_jobs=None means one core, where some warn at a 1; to others all cores
        is_theirs = type(found.get(owner, copy)).__module__.startswith("sklearn.")
        if last == "n_jobs" and (value is not None or not is_theirs):
            settings[key] = 1
    return copy.set_params(**settings)


def open_random_states(estimator: Any) -> list[str]:
    """Return the parameters called ``random_state`` that :func:`fresh` sets."""
    found = estimator.get_params(deep=True).items()
    return [key for key, value in found if key.rpartition("__")[2] == "random_state" and value is None]


@dataclass(frozen=True, init=False)
class Classifier:
    """A classifier of scikit-learn's kind, trained for each category on "does a document carry it?".

    `description` is what the estimator was made from; `grid` has values to try for some of its parameters.
    Where `tune` is true and a category has a usable fold, the setting with the best `criterion` ("f1" or
    "error", of cells pooled over the folds) is taken, the first of equals; elsewhere the estimator as it is.
    Decisions are those of ``predict``. What is kept of training is the documents and each category's
    setting, so that no pickle is needed: training itself is part of prediction.
    """

    description: Mapping[str, Any]
    grid: Mapping[str, Sequence[Any]]
    tune: bool
    n_folds: int
    criterion: str

    def __init__(
        self, description: Mapping[str, Any], estimator: Any, grid: Mapping[str, Sequence[Any]] | None = None,
        tune: bool = True, n_folds: int = 3, criterion: str = "f1",
    ) -> None:  # fmt: skip
        """Check the parameters. The estimator is no field: it is no part of what a run is made from."""
        self.__dict__.update(description=description, made=estimator, grid=grid or {})
        self.__dict__.update(tune=tune, n_folds=n_folds, criterion=criterion)
        cv.check_tuning(self.criterion, self.n_folds)
        known = estimator.get_params(deep=True)
        for name, values in self.grid.items():
            check_choice("grid", name, known, what="parameter")
            several = isinstance(values, list | tuple) and len(values)
            require(several, f"grid.{name}: {values!r} is not allowed; a list of values is")

    def _settings(self) -> list[Setting]:
        """Return every setting of the grid, the estimator's own, which is none, last."""
        made = itertools.product(*self.grid.values()) if self.grid else ()
        return [*(dict(zip(self.grid, values, strict=True)) for values in made), {}]

    def fit(
        self, x: sparse.csr_array, y: ArrayLike, *, seed: int, run: Run = run_here, device: str = "cpu"
    ) -> Fitted:
        """Choose a setting for each column of `y`, shape (n_documents, n_categories)."""
        y, x, settings = np.asarray(y, dtype=bool), sparse.csr_array(x), self._settings()
        own = self.__dict__["made"]
        fold, usable = cv.draw_folds(y, self.n_folds, seed, self.tune and len(settings) > 1)
        cells = np.zeros((len(settings) - 1, y.shape[1], 4), dtype=np.int64)
        name = type(own).__name__

        def hold_out(held: Bools) -> tuple[Any, ...]:
            return own, settings[:-1], x[~held], y[~held], x[held], y[held], seed

        for k, used in enumerate(usable):
            words = f"{name}: tuning (fold {k + 1} of {self.n_folds})"
            for piece, part in over_categories(
                run, _tune_chunk, partial(hold_out, fold == k), np.flatnonzero(used), f"tune fold {k}", words
            ):
                cells[:, piece] += part["cells"]
        n_used = usable.sum(axis=0)
        choice, cv_score = np.full(y.shape[1], len(settings) - 1), np.full(y.shape[1], np.nan)
        if len(settings) > 1:
            places, last = range(len(settings) - 1), len(settings) - 1
            choice, cv_score = cv.choose_values(cells, places, last, n_used, self.criterion)
        known = own.get_params(deep=True)
        tuned = {
            key: np.array([settings[place].get(key, known[key]) for place in choice]) for key in self.grid
        }
        arrays = {
            "data": x.data, "indices": x.indices, "indptr": x.indptr, "y": y, "choice": choice,
            "shape": np.array(x.shape), "seed": np.array(seed),
        }  # fmt: skip
        return Fitted(arrays, tuned, cv_score, n_used)

    def predict(
        self, fitted: Fitted, x: sparse.csr_array, *, run: Run = run_here, device: str = "cpu"
    ) -> Bools:
        """Train with each category's setting, and decide for every document."""
        a, own = fitted.arrays, self.__dict__["made"]
        known = sparse.csr_array((a["data"], a["indices"], a["indptr"]), shape=tuple(a["shape"].tolist()))
        settings, seed, y = self._settings(), int(a["seed"]), a["y"]
        chosen = [settings[place] for place in a["choice"]]
        decisions = np.empty((x.shape[0], y.shape[1]), dtype=bool)
        for piece, part in over_categories(
            run, _decide_chunk, lambda: (own, chosen, known, y, sparse.csr_array(x), seed),
            np.arange(y.shape[1]), "decide", f"{type(own).__name__}: training and prediction",
        ):  # fmt: skip
            decisions[:, piece] = part["decisions"]
        return decisions


def _tune_chunk(shared: tuple[Any, ...], categories: list[int]) -> Arrays:
    """Count the cells of a fold's test part for a chunk of categories and every setting."""
    own, settings, x_train, y_train, x_test, y_test, seed = shared
    decided = [
        np.stack([_decide(own, one, x_train, y_train[:, j], x_test, seed) for j in categories], axis=1)
        for one in settings
    ]
    return {"cells": np.stack([cv.count_cells(y_test[:, categories], part) for part in decided])}


def _decide_chunk(shared: tuple[Any, ...], categories: list[int]) -> Arrays:
    """Train a chunk of categories on all documents, and decide."""
    own, chosen, x_train, y, x, seed = shared
    decided = [_decide(own, chosen[j], x_train, y[:, j], x, seed) for j in categories]
    return {"decisions": np.stack(decided, axis=1)}


def _decide(own: Any, setting: Setting, x_train: Any, y: Bools, x: Any, seed: int) -> Bools:
    """Return the decisions of one category; with a single class in training it is decided everywhere."""
    if y.all() or not y.any():
        return np.full(x.shape[0], bool(y.all()))
    from sklearn.base import clone

    state = int(rng(seed, "estimator").integers(2**31))
    try:
        fitted = fresh(clone(own).set_params(**setting), state).fit(x_train, y)
        return np.asarray(fitted.predict(x)).astype(bool)
    except Exception as error:  # an estimator may raise anything
        said = " ".join(f"{type(error).__name__}: {error}".split())[:300]
        raise UserError(f"model: {type(own).__name__} cannot be trained here ({said})") from error
