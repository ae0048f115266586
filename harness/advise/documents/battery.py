"""The tests of items drawn whole, and of clusters, by their names."""

from collections.abc import Callable

import numpy as np

from harness.advise.documents.clusters import (
    randomization_by_cluster,
    wald_by_cluster,
    wald_by_cluster_cr2,
)
from harness.advise.documents.tests import (
    Ints,
    Kinds,
    bootstrap_by_document,
    pooled_test,
    randomization_by_document,
    wald_by_document,
)
from harness.significance.result import TestResult

# of counts alone, plainest first
PLAIN: dict[str, Callable[[Ints, Kinds], TestResult]] = {
    "wald_by_document": wald_by_document,
    "wald_by_cluster": wald_by_cluster,
    "wald_by_cluster_cr2": wald_by_cluster_cr2,
}
# that draw replicates for each set
DRAWING: dict[str, Callable[..., TestResult]] = {
    "bootstrap_by_document": bootstrap_by_document,
    "randomization_by_document": randomization_by_document,
    "bootstrap_by_cluster": bootstrap_by_document,
    "randomization_by_cluster": randomization_by_cluster,
}
TESTS = (*PLAIN, *DRAWING)
"""Those that can be recommended."""


def run_test(
    name: str, counts: Ints, kinds: Kinds, n_replicates: int, rng: np.random.Generator, stop: float = 1.0
) -> TestResult:
    """Run one of :data:`TESTS`, or else :func:`pooled_test`, on sets, shape (n_sets, n_kinds)."""
    if name in DRAWING:
        return DRAWING[name](counts, kinds, n_replicates, rng, stop)
    return PLAIN.get(name, pooled_test)(counts, kinds)


def default_replicates(alpha: float) -> int:
    """Return R, 199 or a little more, with which a two-sided bootstrap's p can be alpha exactly.

    >>> default_replicates(0.05), default_replicates(0.001)
    (199, 1999)
    """
    step = int(np.ceil(round(2 / alpha, 9)))
    return int(np.ceil(200 / step)) * step - 1


def names_of(measure: str, clustered: bool = False) -> list[str]:
    """Return the names of all tests of a measure; the last takes every decision as drawn on its own."""
    ending = ("_by_cluster", "_by_cluster_cr2") if clustered else ("_by_document",)
    own = [name for name in TESTS if name.endswith(ending)]
    return [*own, "mcnemar_pooled" if measure == "error" else "wald_pooled"]
