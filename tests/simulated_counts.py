"""Term counts, and the weights that RCV1-v2's vectors hold of them."""

import numpy as np

from harness.seeding import rng


def simulate(n_documents, n_terms, seed, n_idf_rows, longest=120, decimals=6):
    """Return counts, and their weights with the idf of the first rows."""
    generator = rng(seed, "simulated weights")
    share = 1 / (np.arange(n_terms) + 3.0)
    counts = np.zeros((n_documents, n_terms), dtype=np.int64)
    for row in counts:
        size = generator.integers(8, longest)
        chosen = generator.choice(n_terms, size=size, replace=False, p=share / share.sum())
        row[chosen] = generator.geometric(0.7, size=size)
    n_t = (counts[:n_idf_rows] > 0).sum(axis=0)
    counts[:, n_t == 0] = 0
    return counts, as_weights(counts, np.log(n_idf_rows / np.maximum(n_t, 1)), decimals)


def as_weights(counts, idf, decimals=6):
    """Return (1 + ln tf) idf, cosine-normalised."""
    weights = np.where(counts > 0, 1 + np.log(np.maximum(counts, 1)), 0) * idf
    return np.round(weights / np.linalg.norm(weights, axis=1, keepdims=True), decimals)
