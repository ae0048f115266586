"""How a data set is cut into training and test sets: resamples, folds, halvings, one hold-out."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

N_FOLDS = 10
N_HALVINGS = 5


class Differences(NamedTuple):
    """What two algorithms showed on many data sets; one data set is a trial.

    Attributes
    ----------
    resamples : float array, shape (n_trials, n_resamples)
        Error rate of A minus that of B on the test set of each random split.
    folds : float array, shape (n_trials, n_folds)
        The same on each fold of one cross-validation.
    halves : float array, shape (n_trials, 5, 2)
        The same on either half of five random halvings.
    hold_out : int array, shape (n_trials, 8)
        Joint outcomes e1..e8 on the test set of one random split. Only errors matter, so that
        all documents may count as negatives.
    n_train, n_test : int
        Documents on either side of a random split.
    """

    resamples: NDArray[np.float64]
    folds: NDArray[np.float64]
    halves: NDArray[np.float64]
    hold_out: NDArray[np.int64]
    n_train: int
    n_test: int


def first_trials(seen: Differences, n_trials: int) -> Differences:
    """Return the first trials only."""
    return seen._replace(
        resamples=seen.resamples[:n_trials],
        folds=seen.folds[:n_trials],
        halves=seen.halves[:n_trials],
        hold_out=seen.hold_out[:n_trials],
    )


def join_trials(parts: Sequence[Differences]) -> Differences:
    """Return the trials of several parts as one."""
    return parts[0]._replace(
        resamples=np.concatenate([part.resamples for part in parts]),
        folds=np.concatenate([part.folds for part in parts]),
        halves=np.concatenate([part.halves for part in parts]),
        hold_out=np.concatenate([part.hold_out for part in parts]),
    )


def split_sizes(n_examples: int, test_share: float) -> tuple[int, int]:
    """Return how many of n examples a random split trains on and tests on.

    Raises
    ------
    ValueError
        If a side would be empty.

    Examples
    --------
    >>> split_sizes(300, 1 / 3)
    (200, 100)
    """
    if isinstance(test_share, bool) or not 0 < test_share < 1:
        raise ValueError(f"test_share: {test_share!r} is not allowed; a number between 0 and 1 is")
    n_test = round(n_examples * test_share)
    if not 0 < n_test < n_examples:
        raise ValueError(f"test_share: {test_share!r} of {n_examples} examples leaves a side empty")
    return n_examples - n_test, n_test


def fold_sizes(n_examples: int, n_folds: int) -> list[int]:
    """Return the sizes of folds of n examples, which differ by one at most.

    Raises
    ------
    ValueError
        If there are fewer than two folds, or more folds than examples.

    Examples
    --------
    >>> fold_sizes(23, 10)
    [3, 3, 3, 2, 2, 2, 2, 2, 2, 2]
    """
    if not 2 <= n_folds <= n_examples:
        raise ValueError(f"n_folds: {n_folds} is not allowed; 2 to the number of examples ({n_examples}) are")
    short, n_long = divmod(n_examples, n_folds)
    return [short + 1] * n_long + [short] * (n_folds - n_long)


def check_even(n_examples: int) -> None:
    """Raise ValueError unless the examples can be halved."""
    if n_examples < 4 or n_examples % 2:
        raise ValueError(
            f"n_examples: {n_examples} is not allowed; even numbers of at least 4, which can be halved, are"
        )


def held_out(
    n_examples: int, n_resamples: int, n_test: int, n_folds: int, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Draw every test set of one data set.

    Parameters
    ----------
    n_examples : int
        Even.
    n_resamples, n_test : int
        Random splits, and the examples that each tests on.
    n_folds : int
    rng : numpy.random.Generator

    Returns
    -------
    bool array, shape (n_resamples + n_folds + 10, n_examples)
        True where an example is tested on; the others of a row are trained on. First the random splits,
        then the folds, then both halves of each halving in turn.

    Examples
    --------
    >>> rows = held_out(20, 2, 5, 4, np.random.default_rng(0))
    >>> rows.sum(axis=1).tolist()
    [5, 5, 5, 5, 5, 5, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10]
    """
    check_even(n_examples)
    rows = np.zeros((n_resamples + n_folds + 2 * N_HALVINGS, n_examples), dtype=bool)
    for row in rows[:n_resamples]:
        row[rng.permutation(n_examples)[:n_test]] = True
    ends = np.cumsum(fold_sizes(n_examples, n_folds))[:-1]
    for row, fold in zip(
        rows[n_resamples : n_resamples + n_folds], np.split(rng.permutation(n_examples), ends), strict=True
    ):
        row[fold] = True
    for first, second in rows[n_resamples + n_folds :].reshape(N_HALVINGS, 2, n_examples):
        first[rng.permutation(n_examples)[: n_examples // 2]] = True
        second[:] = ~first
    return rows
