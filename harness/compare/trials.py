"""Estimators trained and scored on stratified splits that are drawn from named seeds."""

import itertools
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pandas import DataFrame

from harness.compare.datasets import Dataset, count_held_out
from harness.compare.learner_tests import N_HALVINGS
from harness.errors import UserError
from harness.measures import Floats, Ints
from harness.models.estimators import fresh
from harness.runtime.parallel import Run
from harness.runtime.store import Arrays
from harness.seeding import rng

ERROR = "error"
Score = Callable[[Any, Any, Any], float]
Settings = list[dict[str, Any]]
Message = tuple[int, str, str]
MakeRun = Callable[[str], Run]
"""From an estimator's name to the `run` of its units."""


class Scoring(NamedTuple):
    """How estimators are trained and scored: the seed of all splits, the scorer, the share held out."""

    seed: int
    scorer: str
    test_share: float


class Trials(NamedTuple):
    """What one estimator did, one row per seed; NaN, and no verdict, where it failed.

    `right` (n_seeds, n_test) is 1 where the hold-out's sample was classified rightly, 0 where not, -1 where
    the estimator failed; `hold_out` (n_seeds,) and `halves` (n_seeds, 5, 2) are scores; `failures` and
    `warnings` name the seed, where ("hold-out" or "halving 2, fold 1") and why; `seconds` (n_seeds, 2) are
    those of training and prediction on the hold-out, and in all of 5x2cv.
    """

    right: NDArray[np.int8]
    hold_out: Floats
    halves: Floats
    failures: list[Message]
    warnings: list[Message]
    seconds: Floats


class Attempt(NamedTuple):
    """One training: its score, seconds, which samples came out right, why it failed if it did, warnings."""

    score: float
    seconds: float
    right: NDArray[np.int8] | None
    failure: str
    warned: list[str]


def hold_out(y: Ints, n_test: int, seed: int, place: int) -> tuple[Ints, Ints]:
    """Return the places of the training and of the test set of one stratified hold-out of this seed."""
    from sklearn.model_selection import train_test_split

    state = _number(seed, "hold-out", place)
    train, test = train_test_split(np.arange(len(y)), test_size=n_test, stratify=y, random_state=state)
    return np.sort(train), np.sort(test)


def halves(y: Ints, seed: int, place: int, repetition: int) -> list[tuple[Ints, Ints]]:
    """Return the two folds of one stratified halving, each the training set of the other."""
    from sklearn.model_selection import StratifiedKFold

    folds = StratifiedKFold(2, shuffle=True, random_state=_number(seed, "halving", place, repetition))
    return list(folds.split(np.zeros(len(y)), y))


def _number(seed: int, *names: object) -> int:
    return int(rng(seed, "compare", *names).integers(2**31))


def _state(seed: int, *names: object) -> int:
    return _number(seed, "estimator", *names)


def trial_splits(y: Ints, seed: int, place: int, n_test: int) -> list[tuple[str, Ints, Ints]]:
    """Return what is trained and tested on in one trial: the hold-out, then both folds of each halving."""
    parts = [("hold-out", *hold_out(y, n_test, seed, place))]
    for repetition in range(N_HALVINGS):
        folds = enumerate(halves(y, seed, place, repetition), start=1)
        parts += [(f"halving {repetition + 1}, fold {fold}", *split) for fold, split in folds]
    return parts


def make_score(scorer: str) -> Score:
    """Return the function that scores a trained estimator: the error rate, or a scorer of scikit-learn."""
    from sklearn.metrics import get_scorer, get_scorer_names

    if scorer == ERROR:
        return error_rate
    if scorer not in get_scorer_names():
        raise UserError(
            f"scorer: {scorer!r} is not allowed; error is, or a scorer of scikit-learn, such as f1_macro, "
            "balanced_accuracy or roc_auc_ovr"
        )
    found: Score = get_scorer(scorer)
    return found


def error_rate(estimator: Any, x: Any, y: Any) -> float:
    """Return the share of samples that the estimator gets wrong."""
    return float(np.mean(np.asarray(estimator.predict(x)) != y))


def check_scorer(scorer: str, data: Dataset) -> None:
    """Raise UserError where a scorer is unknown, or cannot score a guess of always the same class."""
    from sklearn.dummy import DummyClassifier

    score = make_score(scorer)
    guess = DummyClassifier(strategy="prior").fit(data.x, data.y)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a constant guess has classes without any prediction
            score(guess, data.x, data.y)
    except Exception as error:
        reason = " ".join(str(error).split())
        raise UserError(f"scorer: {scorer} cannot score the data {data.name}: {reason}") from error


def run_trials(
    data: Dataset, estimators: Mapping[str, Any], make_run: MakeRun, n_seeds: int, scoring: Scoring
) -> dict[str, Trials]:
    """Run every trial of every estimator, on the same splits whatever else is compared."""
    found = {}
    for name, estimator in estimators.items():
        units = [(name, estimator, scoring, place) for place in range(n_seeds)]
        how = {"shared": lambda: data, "threads": False, "description": f"{name}: {n_seeds} seeds"}
        found[name] = _join(make_run(name)(run_trial, units, list(map(str, range(n_seeds))), **how))
    return found


def run_trial(data: Dataset, name: str, estimator: Any, scoring: Scoring, place: int) -> Arrays:
    """Train and score one estimator on the splits of one seed: eleven fits, with NaN where one fails."""
    n_test, seed = count_held_out(len(data.y), scoring.test_share), scoring.seed
    tried = {
        where: attempt(data, fresh(estimator, _state(seed, name, place, where)), train, test, scoring.scorer)
        for where, train, test in trial_splits(data.y, seed, place, n_test)
    }
    first, *others = tried.values()
    failures = [(where, fit.failure) for where, fit in tried.items() if fit.failure]
    warned = [(where, text) for where, fit in tried.items() for text in fit.warned]
    return {
        "right": np.full(n_test, -1, dtype=np.int8) if first.right is None else first.right,
        "scores": np.array([fit.score for fit in tried.values()]),
        "seconds": np.array([first.seconds, np.sum([fit.seconds for fit in others])]),
        "failures": np.array(failures, dtype=str).reshape(-1, 2),
        "warnings": np.array(warned, dtype=str).reshape(-1, 2),
    }


def attempt(data: Dataset, estimator: Any, train: Ints, test: Ints, scorer: str) -> Attempt:
    """Train an estimator and score it; whatever it raises is its failure, not the run's."""
    made = Attempt(np.nan, 0.0, None, "", [])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            start = time.perf_counter()
            fitted = estimator.fit(data.x[train], data.y[train])
            right = np.asarray(fitted.predict(data.x[test])) == data.y[test]
            seconds = time.perf_counter() - start
            score = float(make_score(scorer)(fitted, data.x[test], data.y[test]))
            if not np.isfinite(score):
                raise ArithmeticError(f"the score is {score}")
            made = Attempt(score, seconds, right.astype(np.int8), "", [])
        except Exception as error:
            made = made._replace(failure=_one_line(f"{type(error).__name__}: {error}"))
    return made._replace(warned=sorted({_one_line(str(w.message)) for w in caught}))


def _one_line(text: str) -> str:
    return " ".join(text.split())[:300]


def _join(kept: list[Arrays]) -> Trials:
    joined = {name: np.array([unit[name] for unit in kept]) for name in ("right", "scores", "seconds")}
    failures, warned = (
        [(place, str(where), str(why)) for place, unit in enumerate(kept) for where, why in unit[key]]
        for key in ("failures", "warnings")
    )
    scores = joined["scores"]
    split = scores[:, 1:].reshape(-1, N_HALVINGS, 2)
    return Trials(joined["right"], scores[:, 0], split, failures, warned, joined["seconds"])


def draw_settings(grid: Mapping[str, Sequence[Any]], n: int, seed: int, estimator: str) -> Settings:
    """Return `n` settings drawn from a grid without replacement, in its order; all of a smaller one."""
    every = [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]
    if len(every) <= n:
        return every
    places = rng(seed, "compare", "settings", estimator).choice(len(every), n, replace=False)
    return [every[place] for place in sorted(places)]


def run_variance(
    data: Dataset,
    estimators: Mapping[str, Any],
    settings: Mapping[str, Settings],
    make_run: MakeRun,
    scoring: Scoring,
    *,
    n_splits: int,
    n_initialisations: int,
) -> DataFrame:
    """Train every estimator with every split, random state and setting; return one row per score."""
    rows: list[tuple[Any, ...]] = []
    for name, estimator in estimators.items():
        cells = list(itertools.product(range(n_splits), range(n_initialisations), settings[name]))
        shown = [(*cell, ", ".join(f"{key}={value}" for key, value in own.items())) for *cell, own in cells]
        units = [(name, estimator, scoring, *cell) for cell in cells]
        names = [f"split {split}, state {state}, {text}" for split, state, text in shown]
        how = {"shared": lambda: data, "threads": False, "description": f"{name}: variance by source"}
        for cell, unit in zip(shown, make_run(name)(train_once, units, names, **how), strict=True):
            rows.append((name, *cell, float(unit["score"]), str(unit["failure"]), int(unit["n_warnings"])))
    columns = ["estimator", "split", "initialisation", "hyperparameters", "score", "reason", "n_warnings"]
    return DataFrame(rows, columns=columns)


def train_once(
    data: Dataset,
    name: str,
    estimator: Any,
    scoring: Scoring,
    split: int,
    state: int,
    setting: Mapping[str, Any],
) -> Arrays:
    """Train and score one estimator on one hold-out with one random state and one setting."""
    from sklearn.base import clone

    seed, n_test = scoring.seed, count_held_out(len(data.y), scoring.test_share)
    train, test = hold_out(data.y, n_test, seed, split)
    number = _state(seed, name, "initialisation", state)
    copy = fresh(clone(estimator).set_params(**setting), number)
    tried = attempt(data, copy, train, test, scoring.scorer)
    found = {"score": tried.score, "failure": tried.failure, "n_warnings": len(tried.warned)}
    return {key: np.array(value) for key, value in found.items()}
