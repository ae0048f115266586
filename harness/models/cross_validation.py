"""Folds, the pooled criterion and the tie rule by which every model is tuned."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harness.errors import check_choice, check_whole, require
from harness.seeding import rng

CRITERIA = ("f1", "error")
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def check_tuning(criterion: str, n_folds: int) -> None:
    """Raise ValueError unless `criterion` is known and `n_folds` is a whole number of at least 2."""
    check_choice("criterion", criterion, CRITERIA)
    check_whole("n_folds", n_folds, 2)


def check_grid(name: str, values: Sequence[float]) -> tuple[float, ...]:
    """Return the values of a grid, finite numbers above 0, in ascending order, once each.

    The tie rule relies on the order: the first of equals is the smaller parameter.
    """
    grid = tuple(sorted({float(value) for value in values}))
    require(grid, f"{name}: an empty grid is not allowed; give at least one number above 0")
    for value in grid:
        require(0 < value < np.inf, f"{name}: {value!r} is not allowed; finite numbers above 0 are")
    return grid


def partition(n_documents: int, n_folds: int, seed: int) -> Ints:
    """Return the fold of each document: one random partition, shared by all categories.

    Sharing it lets all categories of a fold use one Gram matrix, and models with equally many folds share
    them. Fold sizes differ by one at most.
    """
    too_many = f"n_folds: {n_folds} is not allowed; at most the {n_documents} documents are"
    require(n_folds <= n_documents, too_many)
    fold = np.empty(n_documents, dtype=np.int64)
    fold[rng(seed, "folds").permutation(n_documents)] = np.arange(n_documents) % n_folds
    return fold


def usable_folds(y: ArrayLike, fold: Ints, n_folds: int) -> Bools:
    """Tell which folds can tune which category, shape (n_folds, n_categories).

    A fold is used where its training part and its test part each hold a positive document. Without the
    first there is nothing to learn, without the second its true positives are 0 whatever is tuned. A
    category with one positive, or with all of them in one fold, therefore has no fold and keeps the
    default parameters; one with positives in k folds is tuned with k.
    """
    y = np.asarray(y, dtype=bool)
    in_test = np.array([y[fold == k].sum(axis=0) for k in range(n_folds)])
    return np.asarray((in_test > 0) & (in_test < y.sum(axis=0)))


def draw_folds(y: Bools, n_folds: int, seed: int, tune: bool) -> tuple[Ints, Bools]:
    """Return the fold of each document and which folds tune which category: none without `tune`."""
    if not tune:
        return np.zeros(len(y), dtype=np.int64), np.zeros((0, y.shape[1]), dtype=bool)
    fold = partition(len(y), n_folds, seed)
    return fold, usable_folds(y, fold, n_folds)


def count_cells(y: ArrayLike, decisions: ArrayLike) -> Ints:
    """Count true positives, false positives, false negatives and true negatives, shape (n_categories, 4)."""
    y, decisions = np.asarray(y, dtype=bool), np.asarray(decisions, dtype=bool)
    cells = [y & decisions, ~y & decisions, y & ~decisions, ~y & ~decisions]
    return np.stack([cell.sum(axis=0) for cell in cells], axis=-1).astype(np.int64)


def score(cells: Ints, criterion: str) -> Floats:
    """Return F1 (0/0 is 0) or the error rate of cells pooled over the folds; NaN where there is no document.

    Pooling means one F1 from summed cells, not the mean of the folds' F1s, which is biased where a fold
    has few positives (our reading of what Keller, Bengio & Wong 2005 tuned).
    """
    check_tuning(criterion, 2)
    tp, fp, fn, tn = np.moveaxis(np.asarray(cells), -1, 0)
    n_documents = tp + fp + fn + tn
    above, below = (2 * tp, 2 * tp + fp + fn) if criterion == "f1" else (fp + fn, n_documents)
    # One division of whole numbers is correctly rounded: equal fractions are equal floats, so ties are seen.
    return np.where(n_documents > 0, above / np.maximum(below, 1), np.nan)


def choose(scores: Floats, criterion: str) -> Ints:
    """Return the index of the best score along the first axis, the first (the smaller parameter) of equals.

    F1 is maximised, the error minimised; NaN (not tuned) is never better than a number.
    """
    gain = scores if criterion == "f1" else -scores
    return np.asarray(np.argmax(np.where(np.isnan(gain), -np.inf, gain), axis=0))


def choose_values(
    cells: Ints, grid: Sequence[float], default: float, n_used: Ints, criterion: str
) -> tuple[Floats, Floats]:
    """Return each category's best value (the default where no fold was used) and its criterion.

    `cells` are pooled over the folds, shape (len(grid), n_categories, 4).
    """
    scores = score(cells, criterion)
    best = choose(scores, criterion)
    cv_score = np.take_along_axis(scores, best[None], axis=0)[0]
    return np.where(n_used > 0, np.array(grid)[best], default), cv_score


def choose_threshold(values: ArrayLike, truth: ArrayLike, criterion: str) -> tuple[float, float]:
    """Return above which number one category's held-out decision values had best say yes, and the criterion.

    Halfway between two neighbouring values, or 0, whichever has the best criterion; of equals the one
    nearest to 0.

    Examples
    --------
    >>> choose_threshold([0.5, -0.25, -0.5, -0.75, -1.25], [1, 1, 0, 1, 0], "error")
    (-0.375, 0.2)
    """
    order = np.argsort(values)[::-1]
    values, truth = np.asarray(values, dtype=float)[order], np.asarray(truth, dtype=bool)[order]
    places = np.flatnonzero(np.diff(values)) + 1
    thresholds = np.append((values[places - 1] + values[places]) / 2, 0.0)
    found = np.append(0, np.cumsum(truth))
    taken = np.append(places, (values > 0).sum())
    tp, fn = found[taken], found[-1] - found[taken]
    fp = taken - tp
    scores = score(np.stack([tp, fp, fn, len(truth) - tp - fp - fn], axis=-1), criterion)
    order = np.argsort(np.abs(thresholds), kind="stable")
    best = order[choose(scores[order], criterion)]
    return float(thresholds[best]), float(scores[best])


def chunks(n_items: int, size: int) -> Iterator[tuple[int, int]]:
    """Yield the bounds of consecutive pieces; a constant `size` keeps results free of the workers' number."""
    for start in range(0, n_items, size):
        yield start, min(start + size, n_items)
