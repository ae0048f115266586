"""Folds, the pooled criterion and the tie rule by which every model is tuned."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harness.seeding import rng

CRITERIA = ("f1", "error")


def check_tuning(criterion: str, n_folds: int) -> None:
    """Raise ValueError unless `criterion` is known and `n_folds` is a whole number of at least 2.

    Examples
    --------
    >>> check_tuning("auc", 3)
    Traceback (most recent call last):
        ...
    ValueError: criterion: 'auc' is not allowed; choose one of f1, error
    """
    if criterion not in CRITERIA:
        raise ValueError(f"criterion: {criterion!r} is not allowed; choose one of {', '.join(CRITERIA)}")
    if isinstance(n_folds, bool) or n_folds != int(n_folds) or n_folds < 2:
        raise ValueError(f"n_folds: {n_folds!r} is not allowed; whole numbers from 2 are")


def check_grid(name: str, values: Sequence[float]) -> tuple[float, ...]:
    """Return the values of a grid in ascending order, once each.

    The tie rule relies on the order: the first of equals is the smaller parameter.

    Raises
    ------
    ValueError
        If there is no value, or one is not a finite number above 0.

    Examples
    --------
    >>> check_grid("C_grid", [3, 1, 10, 3])
    (1.0, 3.0, 10.0)
    """
    grid = tuple(sorted({float(value) for value in values}))
    if not grid:
        raise ValueError(f"{name}: an empty grid is not allowed; give at least one number above 0")
    for value in grid:
        if not (np.isfinite(value) and value > 0):
            raise ValueError(f"{name}: {value!r} is not allowed; finite numbers above 0 are")
    return grid


def partition(n_documents: int, n_folds: int, seed: int) -> NDArray[np.int64]:
    """Return the fold of each document: one random partition, shared by all categories.

    Sharing it lets all categories of a fold use one Gram matrix. Fold sizes differ by one at most.

    Parameters
    ----------
    n_documents : int
    n_folds : int
        At least 2.
    seed : int
        The run's seed; the draw is named ``"folds"``, so that models with equally many folds share them.

    Returns
    -------
    int array, shape (n_documents,)
        Numbers from 0 to ``n_folds - 1``.

    Raises
    ------
    ValueError
        If there are fewer documents than folds.

    Examples
    --------
    >>> np.bincount(partition(8, 3, seed=0)).tolist()
    [3, 3, 2]
    """
    if n_documents < n_folds:
        raise ValueError(f"n_folds: {n_folds} is not allowed; at most the {n_documents} documents are")
    fold = np.empty(n_documents, dtype=np.int64)
    fold[rng(seed, "folds").permutation(n_documents)] = np.arange(n_documents) % n_folds
    return fold


def usable_folds(y: ArrayLike, fold: NDArray[np.int64], n_folds: int) -> NDArray[np.bool_]:
    """Tell which folds can tune which category.

    A fold is used where its training part and its test part each hold a positive document. Without the
    first there is nothing to learn, without the second its true positives are 0 whatever is tuned. A
    category with one positive, or with all of them in one fold, therefore has no fold and keeps the
    default parameters; one with positives in k folds is tuned with k.

    Parameters
    ----------
    y : bool or 0/1 array, shape (n_documents, n_categories)
    fold : int array, shape (n_documents,)
    n_folds : int

    Returns
    -------
    bool array, shape (n_folds, n_categories)

    Examples
    --------
    >>> y = np.array([[1, 1], [0, 1], [0, 0]])
    >>> usable_folds(y, np.array([0, 1, 2]), 3)
    array([[False,  True],
           [False,  True],
           [False, False]])
    """
    y = np.asarray(y, dtype=bool)
    in_test = np.array([y[fold == k].sum(axis=0) for k in range(n_folds)])
    return (in_test > 0) & (in_test < y.sum(axis=0))


def count_cells(y: ArrayLike, decisions: ArrayLike) -> NDArray[np.int64]:
    """Count true positives, false positives, false negatives and true negatives.

    Parameters
    ----------
    y, decisions : bool or 0/1 arrays, shape (n_documents, n_categories)

    Returns
    -------
    int64 array, shape (n_categories, 4)
        In the order TP, FP, FN, TN.

    Examples
    --------
    >>> count_cells([[1], [1], [0], [0]], [[1], [0], [1], [0]]).tolist()
    [[1, 1, 1, 1]]
    """
    y, decisions = np.asarray(y, dtype=bool), np.asarray(decisions, dtype=bool)
    cells = [y & decisions, ~y & decisions, y & ~decisions, ~y & ~decisions]
    return np.stack([cell.sum(axis=0) for cell in cells], axis=-1).astype(np.int64)


def score(cells: NDArray[np.int64], criterion: str) -> NDArray[np.float64]:
    """Return F1 or the error rate of cells that were pooled over the folds.

    Pooling means one F1 from summed cells, not the mean of the folds' F1s, which is biased where a fold
    has few positives (our reading of what Keller, Bengio & Wong 2005 tuned).

    Parameters
    ----------
    cells : int array, shape (..., 4)
        TP, FP, FN, TN.
    criterion : {"f1", "error"}

    Returns
    -------
    float array, shape (...)
        NaN where there is no document at all; an F1 of 0/0 is 0.

    Raises
    ------
    ValueError
        If `criterion` is unknown.

    Examples
    --------
    >>> float(score(np.array([2, 1, 3, 4]), "f1")), float(score(np.array([2, 1, 3, 4]), "error"))
    (0.5, 0.4)
    """
    check_tuning(criterion, 2)
    tp, fp, fn, tn = np.moveaxis(np.asarray(cells), -1, 0)
    n_documents = tp + fp + fn + tn
    above, below = (2 * tp, 2 * tp + fp + fn) if criterion == "f1" else (fp + fn, n_documents)
    # One division of whole numbers is correctly rounded: equal fractions are equal floats, so ties are seen.
    return np.where(n_documents > 0, above / np.maximum(below, 1), np.nan)


def choose(scores: NDArray[np.float64], criterion: str) -> NDArray[np.int64]:
    """Return the index of the best score along the first axis; the first, hence the smaller, of equals.

    Parameters
    ----------
    scores : float array, shape (n_values, ...)
        In ascending order of the parameter. NaN (not tuned) is never better than a number.
    criterion : {"f1", "error"}
        F1 is maximised, the error minimised.

    Examples
    --------
    >>> choose(np.array([0.2, 0.7, 0.7]), "f1").item(), choose(np.array([0.2, 0.7, 0.2]), "error").item()
    (1, 0)
    """
    check_tuning(criterion, 2)
    gain = scores if criterion == "f1" else -scores
    return np.argmax(np.where(np.isnan(gain), -np.inf, gain), axis=0)


def chunks(n_items: int, size: int) -> Iterator[tuple[int, int]]:
    """Yield the bounds of consecutive pieces; a constant `size` keeps results free of the workers' number.

    Examples
    --------
    >>> list(chunks(5, 2))
    [(0, 2), (2, 4), (4, 5)]
    """
    for start in range(0, n_items, size):
        yield start, min(start + size, n_items)


def load_solvers() -> None:
    """Load scikit-learn's SVMs now, with the linear algebra library that comes with them.

    A limit on the number of threads holds for libraries that are loaded already. A solver loaded inside
    a unit would escape it, and sums made by two threads differ from those of one in their last digit.
    """
    import sklearn.svm  # noqa: F401
