"""The tests of items drawn whole, and of clusters, by their names."""

from collections.abc import Callable

import numpy as np

from harness.advise.documents.clusters import randomization_by_cluster, wald_by_cluster, wald_by_cluster_cr2
from harness.advise.documents.scores import paired_t, wilcoxon
from harness.advise.documents.tests import (
    Kinds,
    bootstrap_by_document,
    pooled_test,
    randomization_by_document,
    wald_by_document,
)
from harness.measures import Ints
from harness.significance.result import TestResult

# of counts alone, plainest first
PLAIN: dict[str, Callable[[Ints, Kinds], TestResult]] = {
    test.__name__: test for test in (wald_by_document, wald_by_cluster, wald_by_cluster_cr2, paired_t)
}
# that draw replicates for each set
DRAWING: dict[str, Callable[..., TestResult]] = {
    "bootstrap_by_document": bootstrap_by_document,
    "randomization_by_document": randomization_by_document,
    "bootstrap_by_cluster": bootstrap_by_document,
    "randomization_by_cluster": randomization_by_cluster,
    "bootstrap_score": bootstrap_by_document,
    "randomization_score": randomization_by_document,
}
OTHERS: dict[str, Callable[[Ints, Kinds], TestResult]] = {
    "wilcoxon": wilcoxon, "mcnemar_pooled": pooled_test, "wald_pooled": pooled_test,
}  # fmt: skip
"""Never recommended: of another null hypothesis, or with items that belong together taken as independent."""
SYMMETRIC = ("wilcoxon",)
"""Their size is measured where A and B may be exchanged on every item."""


def run_test(
    name: str, counts: Ints, kinds: Kinds, n_replicates: int, rng: np.random.Generator, stop: float = 1.0
) -> TestResult:
    """Run a test on sets, shape (n_sets, n_kinds)."""
    if name in DRAWING:
        return DRAWING[name](counts, kinds, n_replicates, rng, stop)
    return (PLAIN | OTHERS)[name](counts, kinds)


def default_replicates(alpha: float) -> int:
    """Return R, 199 or a little more, with which a two-sided bootstrap's p can be alpha exactly.

    >>> default_replicates(0.05), default_replicates(0.001)
    (199, 1999)
    """
    step = int(np.ceil(round(2 / alpha, 9)))
    return int(np.ceil(200 / step)) * step - 1


def names_of(measure: str, clustered: bool = False) -> list[str]:
    """Return the names of all tests of a measure, plainest first; the last is never recommended."""
    if measure == "score" and not clustered:
        return ["paired_t", "bootstrap_score", "randomization_score", "wilcoxon"]
    ending = ("_by_cluster", "_by_cluster_cr2") if clustered else ("_by_document",)
    own = [name for name in (*PLAIN, *DRAWING) if name.endswith(ending)]
    return [*own, {"error": "mcnemar_pooled", "score": "paired_t"}.get(measure, "wald_pooled")]
