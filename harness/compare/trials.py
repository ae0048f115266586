"""One trial of an estimator: trained and scored on one hold-out and in five two-fold cross-validations."""

import time
import warnings
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.compare.datasets import Dataset, count_held_out
from harness.compare.estimators import fresh, make_score
from harness.compare.splits import N_HALVINGS, halves, hold_out
from harness.runtime.parallel import Run
from harness.runtime.store import Arrays

Floats = NDArray[np.float64]
_NOTHING: tuple[float, float, NDArray[np.int8] | None] = (np.nan, 0.0, None)


class Trials(NamedTuple):
    """What one estimator did, a row a seed. NaN (and no verdict) where it failed.

    Attributes
    ----------
    right : int array, shape (n_seeds, n_test)
        1 where the hold-out's sample was classified rightly, 0 where not, -1 where the estimator failed.
    hold_out : float array, shape (n_seeds,)
        Score on the hold-out.
    halves : float array, shape (n_seeds, 5, 2)
        Score on either half of each halving, trained on the other.
    failures : list of (int, str, str)
        Seed, where ("hold-out" or "halving 2, fold 1") and the reason.
    warnings : list of (int, str, str)
        The same, of fits that warned.
    seconds : float array, shape (n_seeds, 2)
        Training and prediction on the hold-out, and in all of 5x2cv.
    """

    right: NDArray[np.int8]
    hold_out: Floats
    halves: Floats
    failures: list[tuple[int, str, str]]
    warnings: list[tuple[int, str, str]]
    seconds: Floats


class Attempt(NamedTuple):
    """One training and its score.

    Attributes
    ----------
    score : float
        NaN where it failed.
    seconds : float
        Training and prediction.
    right : int array or None
        1 where a sample of the test set was classified rightly, 0 where not.
    failure : str
        Why it failed; empty where it did not.
    warned : list of str
    """

    score: float
    seconds: float
    right: NDArray[np.int8] | None
    failure: str
    warned: list[str]


def run_trials(
    data: Dataset,
    estimators: Mapping[str, Any],
    *,
    make_run: Callable[[str], Run],
    n_seeds: int,
    seed: int,
    scorer: str,
    test_share: float,
) -> dict[str, Trials]:
    """Run every trial of every estimator.

    All estimators see the same splits: those of a seed's place, whatever else is compared.

    Parameters
    ----------
    data : Dataset
    estimators : mapping of str to estimator
    make_run : callable
        From an estimator's name to the `run` of its units, a seed each.
    n_seeds, seed : int
    scorer : str
    test_share : float
    """
    n_test = count_held_out(len(data.y), test_share)
    found = {}
    for name, estimator in estimators.items():
        units = [(name, estimator, seed, place, scorer, n_test) for place in range(n_seeds)]
        kept = make_run(name)(
            run_trial,
            units,
            [str(place) for place in range(n_seeds)],
            shared=lambda: data,
            threads=False,
            description=f"{name}: {n_seeds} seeds",
        )
        found[name] = _join(kept)
    return found


def run_trial(
    data: Dataset, name: str, estimator: Any, seed: int, place: int, scorer: str, n_test: int
) -> Arrays:
    """Train and score one estimator on the splits of one seed: eleven fits.

    A fit that raises, or a score that is not finite, leaves NaN and a line in `failures`.
    """
    parts = trial_splits(data.y, seed, place, n_test)
    tried = [
        attempt(data, fresh(estimator, seed, name, place, where), train, test, scorer)
        for where, train, test in parts
    ]
    names = [where for where, _, _ in parts]
    failures = [(where, fit.failure) for where, fit in zip(names, tried, strict=True) if fit.failure]
    warned = [(where, text) for where, fit in zip(names, tried, strict=True) for text in fit.warned]
    nothing = np.full(n_test, -1, dtype=np.int8)
    return {
        "right": nothing if tried[0].right is None else tried[0].right,
        "scores": np.array([fit.score for fit in tried]),
        "seconds": np.array([tried[0].seconds, np.sum([fit.seconds for fit in tried[1:]])]),
        "failures": np.array(failures, dtype=str).reshape(-1, 2),
        "warnings": np.array(warned, dtype=str).reshape(-1, 2),
    }


def trial_splits(
    y: NDArray[np.int64], seed: int, place: int, n_test: int
) -> list[tuple[str, NDArray[np.int64], NDArray[np.int64]]]:
    """Return what is trained and tested on in one trial: the hold-out, then both folds of each halving."""
    parts = [("hold-out", *hold_out(y, n_test, seed, place))]
    for repetition in range(N_HALVINGS):
        folds = enumerate(halves(y, seed, place, repetition), start=1)
        parts += [(f"halving {repetition + 1}, fold {fold}", *split) for fold, split in folds]
    return parts


def attempt(
    data: Dataset, estimator: Any, train: NDArray[np.int64], test: NDArray[np.int64], scorer: str
) -> Attempt:
    """Train an estimator and score it; whatever it raises is its failure, not the run's."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        failure, found = "", _NOTHING
        try:
            found = _fit(data, estimator, train, test, scorer)
        except Exception as error:
            failure = _one_line(f"{type(error).__name__}: {error}")
    return Attempt(*found, failure, sorted({_one_line(str(w.message)) for w in caught}))


def _fit(
    data: Dataset,
    estimator: Any,
    train: NDArray[np.int64],
    test: NDArray[np.int64],
    scorer: str,
) -> tuple[float, float, NDArray[np.int8]]:
    """Return the score, the seconds of training and prediction, and which samples came out right."""
    start = time.perf_counter()
    fitted = estimator.fit(data.x[train], data.y[train])
    predicted = np.asarray(fitted.predict(data.x[test]))
    seconds = time.perf_counter() - start
    score = float(make_score(scorer)(fitted, data.x[test], data.y[test]))
    if not np.isfinite(score):
        raise ArithmeticError(f"the score is {score}")
    return score, seconds, (predicted == data.y[test]).astype(np.int8)


def _one_line(text: str) -> str:
    return " ".join(text.split())[:300]


def _join(kept: list[Arrays]) -> Trials:
    scores = np.array([unit["scores"] for unit in kept])
    return Trials(
        right=np.array([unit["right"] for unit in kept]),
        hold_out=scores[:, 0],
        halves=scores[:, 1:].reshape(-1, N_HALVINGS, 2),
        failures=_rows(kept, "failures"),
        warnings=_rows(kept, "warnings"),
        seconds=np.array([unit["seconds"] for unit in kept]),
    )


def _rows(kept: list[Arrays], key: str) -> list[tuple[int, str, str]]:
    return [(place, str(where), str(why)) for place, unit in enumerate(kept) for where, why in unit[key]]
