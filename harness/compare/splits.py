"""Stratified splits of a data set, drawn from named seeds: one hold-out, five halvings."""

import numpy as np
from numpy.typing import NDArray

from harness.seeding import rng

N_HALVINGS = 5

Places = NDArray[np.int64]


def hold_out(y: NDArray[np.int64], n_test: int, seed: int, place: int) -> tuple[Places, Places]:
    """Return the places of the training and of the test set of one stratified hold-out.

    Parameters
    ----------
    y : int array, shape (n_samples,)
        Classes.
    n_test : int
    seed : int
    place : int
        Which of the hold-outs of this seed.

    Examples
    --------
    >>> train, test = hold_out(np.repeat([0, 1], 10), 4, seed=0, place=0)
    >>> len(train), np.bincount(np.repeat([0, 1], 10)[test]).tolist()
    (16, [2, 2])
    """
    from sklearn.model_selection import train_test_split

    train, test = train_test_split(
        np.arange(len(y)), test_size=n_test, stratify=y, random_state=_number(seed, "hold-out", place)
    )
    return np.sort(train), np.sort(test)


def halves(y: NDArray[np.int64], seed: int, place: int, repetition: int) -> list[tuple[Places, Places]]:
    """Return the two folds of one stratified halving, each the training set of the other.

    The halves differ by one sample at most, as do the samples that a class has in them.

    Parameters
    ----------
    y : int array, shape (n_samples,)
        Classes, each with two samples at least.
    seed : int
    place : int
        Which of the trials of this seed.
    repetition : int
        0 to 4.

    Returns
    -------
    list of two (train, test)

    Examples
    --------
    >>> (first, second), (third, fourth) = halves(np.repeat([0, 1], 10), seed=0, place=0, repetition=0)
    >>> first.tolist() == fourth.tolist(), second.tolist() == third.tolist(), len(first)
    (True, True, 10)
    """
    from sklearn.model_selection import StratifiedKFold

    folds = StratifiedKFold(2, shuffle=True, random_state=_number(seed, "halving", place, repetition))
    return list(folds.split(np.zeros(len(y)), y))


def _number(seed: int, *names: object) -> int:
    return int(rng(seed, "compare", *names).integers(2**31))
