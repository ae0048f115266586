"""Differences between A and B over many resamples of one population."""

import numpy as np
from numpy.typing import NDArray

from harness.category_sets.ratios import F1_BOTTOMS, F1_TOPS, event_measure, measure
from harness.category_sets.resampling import draw_documents, draw_events
from harness.category_sets.variants import Population

Floats = NDArray[np.float64]


def replicate(
    population: Population, n_documents: int, n_draws: int, *, rng: np.random.Generator
) -> dict[str, Floats]:
    """Draw `n_documents` documents `n_draws` times and measure A minus B on each draw.

    Returns
    -------
    dict of str to float array, shape (n_draws,)
        ``"f1 micro document"``, ``"f1 macro document"``, ``"dcf micro document"``: the same draws of whole
        documents; ``"f1 micro event"``: draws of single decisions.
    """
    found: dict[str, list[Floats]] = {name: [] for name in population.ratios}
    for batch in draw_documents(population.frequencies, n_documents, n_draws, rng=rng):
        for name, ratios in population.ratios.items():
            found[name].append(measure(ratios, batch))
    events = draw_events(
        population.frequencies @ population.cells, n_documents * population.n_categories, n_draws, rng=rng
    )
    by_event = event_measure(np.array([1.0, -1.0]), F1_TOPS, F1_BOTTOMS, events)
    return {f"{name} document": np.concatenate(parts) for name, parts in found.items()} | {
        "f1 micro event": by_event
    }
