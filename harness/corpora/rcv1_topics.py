"""Reuters RCV1's 103 topics: names, hierarchy, and how many documents carry each.

The names and parents are those of the topic hierarchy that comes with RCV1-v2 (Lewis, Yang, Rose & Li
2004, "RCV1: A New Benchmark Collection for Text Categorization Research", JMLR 5, 361-397; its file
``rcv1.topics.hier.orig``). The counts are over the 804,414 documents of RCV1-v2. They came to this project
in a table that names no source. What is certain of them is their rank order and the two extremes (CCAT
with 381,327 documents, GMIL with 5); read the others as close to the collection's, not as quotations.
The root of the hierarchy carries no documents of its own and is left out: a topic of the first
level has the parent ``"Root"``.
"""

import csv
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

ROOT = "Root"

N_DOCUMENTS = 804_414
"""Documents of RCV1-v2, over which `TOPICS` counts."""

with Path(__file__).with_suffix(".csv").open(encoding="utf-8", newline="") as _file:
    TOPICS = {row["topic"]: (row["parent"], int(row["n_documents"])) for row in csv.DictReader(_file)}
"""Topic -> (parent, documents that carry it), in alphabetical order. A topic's documents carry its parent."""

NAMES: tuple[str, ...] = tuple(TOPICS)


def topic_frequencies() -> NDArray[np.float64]:
    """Return the share of RCV1-v2's documents that carry each topic of `NAMES`, shape (103,)."""
    return np.array([count for _, count in TOPICS.values()]) / N_DOCUMENTS


def children() -> dict[str, tuple[str, ...]]:
    """Return the children of each topic that has some, parents before their children."""
    tree: dict[str, tuple[str, ...]] = {}
    waiting = [ROOT]
    while waiting:
        parent = waiting.pop(0)
        below = tuple(name for name, (above, _) in TOPICS.items() if above == parent)
        if below:
            tree[parent] = below
            waiting.extend(below)
    return tree


def keep_frequent(n_topics: int) -> tuple[str, ...]:
    """Return the `n_topics` most frequent topics, in alphabetical order.

    A parent has at least as many documents as each of its children, so the ancestors of a kept topic
    are kept too; ties go to the parent, then to the alphabet.
    """
    depth = {ROOT: 0}
    for parent, below in children().items():
        depth.update(dict.fromkeys(below, depth[parent] + 1))
    ranked = sorted(NAMES, key=lambda name: (-TOPICS[name][1], depth[name], name))
    return tuple(sorted(ranked[:n_topics]))
