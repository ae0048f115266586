"""Draw documents, or single decisions, with replacement, and measure A minus B on each draw."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from harness.category_sets.ratios import F1_OF_CELLS, measure
from harness.category_sets.variants import Population

Floats = NDArray[np.float64]

_AT_ONCE = 4_000_000  # numbers held at a time; cannot change a draw


def draw_documents(
    frequencies: NDArray[np.int64], n_documents: int, n_draws: int, *, rng: np.random.Generator
) -> Iterator[NDArray[np.int64]]:
    """Yield draws of whole documents with replacement, in batches of shape (n, n_patterns)."""
    shares = frequencies / frequencies.sum()
    at_once = max(1, _AT_ONCE // len(shares))
    for start in range(0, n_draws, at_once):
        yield rng.multinomial(n_documents, shares, size=min(at_once, n_draws - start))


def draw_events(
    cells: NDArray[np.int64], n_events: int, n_draws: int, *, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw single decisions (a document in a category) with replacement, as if they were independent."""
    return rng.multinomial(n_events, cells / cells.sum(), size=n_draws)


def replicate(
    population: Population, n_documents: int, n_draws: int, *, rng: np.random.Generator
) -> dict[str, Floats]:
    """Draw `n_documents` documents `n_draws` times and measure A minus B on each draw.

    ``"f1 micro document"``, ``"f1 macro document"`` and ``"dcf micro document"`` are of the same draws of
    whole documents, ``"f1 micro event"`` of draws of single decisions.
    """
    found: dict[str, list[Floats]] = {name: [] for name in population.ratios}
    for batch in draw_documents(population.frequencies, n_documents, n_draws, rng=rng):
        for name, ratios in population.ratios.items():
            found[name].append(measure(ratios, batch))
    events = draw_events(
        population.frequencies @ population.cells, n_documents * population.n_categories, n_draws, rng=rng
    )
    return {f"{name} document": np.concatenate(parts) for name, parts in found.items()} | {
        "f1 micro event": measure(F1_OF_CELLS, events)
    }
