"""Draw documents, or single decisions, with replacement."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

_AT_ONCE = 4_000_000  # numbers held at a time; cannot change a draw


def draw_documents(
    frequencies: NDArray[np.int64], n_documents: int, n_draws: int, *, rng: np.random.Generator
) -> Iterator[NDArray[np.int64]]:
    """Yield draws of whole documents with replacement, in batches.

    Parameters
    ----------
    frequencies : int array, shape (n_patterns,)
        Documents of each pattern in the population.

    Yields
    ------
    int64 array, shape (n, n_patterns)
        How often each pattern was drawn: ``Multinomial(n_documents, frequencies / sum)``.

    Examples
    --------
    >>> batches = draw_documents(np.array([1, 3]), 100, 5, rng=np.random.default_rng(0))
    >>> np.concatenate(list(batches)).sum(axis=1)
    array([100, 100, 100, 100, 100])
    """
    shares = frequencies / frequencies.sum()
    at_once = max(1, _AT_ONCE // len(shares))
    for start in range(0, n_draws, at_once):
        yield rng.multinomial(n_documents, shares, size=min(at_once, n_draws - start))


def draw_events(
    cells: NDArray[np.int64], n_events: int, n_draws: int, *, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw single decisions (a document in a category) with replacement, as if they were independent.

    Parameters
    ----------
    cells : int array, shape (8,)
        Pooled cells of the population.

    Returns
    -------
    int64 array, shape (n_draws, 8)

    Examples
    --------
    >>> draw_events(np.array([1, 0, 0, 0, 0, 0, 0, 9]), 20, 3, rng=np.random.default_rng(0)).sum(axis=1)
    array([20, 20, 20])
    """
    return rng.multinomial(n_events, cells / cells.sum(), size=n_draws)
