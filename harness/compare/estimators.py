"""Estimators of scikit-learn's kind: their seeds, their threads, what scores them."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from harness.compare.datasets import Dataset
from harness.errors import UserError
from harness.seeding import rng

ERROR = "error"
Score = Callable[[Any, Any, Any], float]


def check_estimator(name: str, estimator: object) -> None:
    """Refuse what does not learn to classify.

    Raises
    ------
    UserError
        If the object is no classifier of scikit-learn's kind.
    """
    from sklearn.base import BaseEstimator, is_classifier

    wanted = isinstance(estimator, BaseEstimator) and hasattr(estimator, "predict")
    if not wanted or not is_classifier(estimator):
        kind = type(estimator).__name__
        raise UserError(
            f"estimator.{name}: {kind} is not allowed; a classifier is, or a pipeline that ends in one"
        )


def fresh(estimator: Any, seed: int, *names: object) -> Any:
    """Return an untrained copy with random states of its own and one inner thread.

    Every parameter called ``random_state`` that is left at None gets a number made from `seed` and `names`;
    ``n_jobs`` is 1 throughout: the units of work are what runs in parallel.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> tree = DecisionTreeClassifier()
    >>> fresh(tree, 0, "tree").random_state == fresh(tree, 0, "tree").random_state
    True
    >>> fresh(DecisionTreeClassifier(random_state=3), 0, "tree").random_state
    3
    """
    from sklearn.base import clone

    copy = clone(estimator)
    state = int(rng(seed, "compare", "estimator", *names).integers(2**31))
    found = copy.get_params(deep=True)
    settings: dict[str, Any] = dict.fromkeys(open_random_states(copy), state)
    for key, value in found.items():
        owner, _, last = key.rpartition("__")
        if last == "n_jobs" and (value is not None or _takes_all_cores(found.get(owner, copy))):
            settings[key] = 1
    return copy.set_params(**settings)


def open_random_states(estimator: Any) -> list[str]:
    """Return the parameters called ``random_state`` that :func:`fresh` sets.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> open_random_states(DecisionTreeClassifier()), open_random_states(GaussianNB())
    (['random_state'], [])
    """
    found = estimator.get_params(deep=True)
    return [
        key for key, value in found.items() if key.rpartition("__")[2] == "random_state" and value is None
    ]


def _takes_all_cores(estimator: object) -> bool:
    """Tell whether ``n_jobs=None`` means all cores: to scikit-learn it means one, and some warn at a 1."""
    return not type(estimator).__module__.startswith("sklearn.")


def make_score(scorer: str) -> Score:
    """Return the function that scores a trained estimator: the error rate, or a scorer of scikit-learn.

    Raises
    ------
    UserError
        If there is no scorer of that name.
    """
    from sklearn.metrics import get_scorer, get_scorer_names

    if scorer == ERROR:
        return error_rate
    if scorer not in get_scorer_names():
        raise UserError(
            f"scorer: {scorer!r} is not allowed; error is, or a scorer of scikit-learn, such as f1_macro, "
            "balanced_accuracy or roc_auc_ovr"
        )
    return get_scorer(scorer)


def error_rate(estimator: Any, x: Any, y: Any) -> float:
    """Return the share of samples that the estimator gets wrong."""
    return float(np.mean(np.asarray(estimator.predict(x)) != y))


def check_scorer(scorer: str, data: Dataset) -> None:
    """Refuse a scorer that cannot score these classes, before anything is trained.

    Raises
    ------
    UserError
        If the scorer is unknown, or fails on a classifier that always names the same class.
    """
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
