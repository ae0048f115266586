"""Estimators trained over splits, random states and settings, all crossed, for the variance by source."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.compare.datasets import Dataset, count_held_out
from harness.compare.estimators import fresh
from harness.compare.splits import hold_out
from harness.compare.trials import attempt
from harness.runtime.parallel import Run
from harness.runtime.store import Arrays
from harness.seeding import rng

if TYPE_CHECKING:
    from pandas import DataFrame

Settings = list[dict[str, Any]]


def draw_settings(grid: Mapping[str, Sequence[Any]], n: int, seed: int, estimator: str) -> Settings:
    """Return `n` settings drawn from a grid without replacement, in the grid's order; all of a smaller one.

    Parameters
    ----------
    grid : mapping of str to sequence
        Values of each parameter; where it is empty the estimator's own setting is the only one.
    n : int
    seed : int
    estimator : str
        Each estimator's draw is its own.

    Examples
    --------
    >>> draw_settings({"max_depth": [2, 4], "min_samples_leaf": [1]}, 5, 0, "tree")
    [{'max_depth': 2, 'min_samples_leaf': 1}, {'max_depth': 4, 'min_samples_leaf': 1}]
    >>> draw_settings({}, 5, 0, "tree")
    [{}]
    """
    every = [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]
    if len(every) <= n:
        return every
    places = rng(seed, "compare", "settings", estimator).choice(len(every), n, replace=False)
    return [every[place] for place in sorted(places)]


def name_setting(setting: Mapping[str, Any]) -> str:
    """Return a setting as text.

    Examples
    --------
    >>> name_setting({"max_depth": 2, "criterion": "gini"})
    'max_depth=2, criterion=gini'
    """
    return ", ".join(f"{key}={value}" for key, value in setting.items())


def run_variance(
    data: Dataset,
    estimators: Mapping[str, Any],
    settings: Mapping[str, Settings],
    *,
    make_run: Callable[[str], Run],
    n_splits: int,
    n_initialisations: int,
    seed: int,
    scorer: str,
    test_share: float,
) -> DataFrame:
    """Train every estimator with every split, random state and setting; return a row for each score.

    The splits are the hold-outs of the first seeds of :func:`harness.compare.trials.run_trials`. A random
    state is the same number on every split and with every setting.

    Parameters
    ----------
    data : Dataset
    estimators : mapping of str to estimator
    settings : mapping of str to list
        Parameters to set, by estimator; one empty setting where there are none.
    make_run : callable
        From an estimator's name to the `run` of its units, one training each.
    n_splits, n_initialisations, seed : int
    scorer : str
    test_share : float

    Returns
    -------
    DataFrame
        estimator, split, initialisation, hyperparameters (as text), score (missing where it failed), reason;
        and n_warnings.
    """
    import pandas as pd

    n_test = count_held_out(len(data.y), test_share)
    frames = []
    for name, estimator in estimators.items():
        cells = list(itertools.product(range(n_splits), range(n_initialisations), settings[name]))
        kept = make_run(name)(
            train_once,
            [
                (name, estimator, setting, seed, split, state, scorer, n_test)
                for split, state, setting in cells
            ],
            [f"split {split}, state {state}, {name_setting(setting)}" for split, state, setting in cells],
            shared=lambda: data,
            threads=False,
            description=f"{name}: variance by source",
        )
        frames.append(
            pd.DataFrame(
                {
                    "estimator": name,
                    "split": [split for split, _, _ in cells],
                    "initialisation": [state for _, state, _ in cells],
                    "hyperparameters": [name_setting(setting) for _, _, setting in cells],
                    "score": [float(unit["score"]) for unit in kept],
                    "reason": [str(unit["failure"]) for unit in kept],
                    "n_warnings": [int(unit["n_warnings"]) for unit in kept],
                }
            )
        )
    return pd.concat(frames, ignore_index=True)


def train_once(
    data: Dataset,
    name: str,
    estimator: Any,
    setting: Mapping[str, Any],
    seed: int,
    split: int,
    state: int,
    scorer: str,
    n_test: int,
) -> Arrays:
    """Train and score one estimator on one hold-out with one random state and one setting."""
    from sklearn.base import clone

    train, test = hold_out(data.y, n_test, seed, split)
    copy = fresh(clone(estimator).set_params(**setting), seed, name, "initialisation", state)
    tried = attempt(data, copy, train, test, scorer)
    return {
        "score": np.array(tried.score),
        "failure": np.array(tried.failure),
        "n_warnings": np.array(len(tried.warned)),
    }
