"""Tests of the mean difference of two systems' scores, on counts of items with the same scores."""

import numpy as np

from harness.advise.documents.tests import ROUNDING, Kinds, t_test
from harness.measures import Floats, Ints
from harness.significance.result import TestResult, z_test


class ScoreKinds(Kinds):
    """Kinds of items, or of clusters, by their scores.

    `cells`, shape (n_kinds, 1, 5): A's score, the number of items, B's score, that number again, and the
    squared difference, each a sum over the items of a cluster.
    """

    __slots__ = ()

    def parts(self) -> dict[str, float]:
        """Return the one ratio: scores over items."""
        return {self.measure: 1.0}

    def sums(self) -> Floats:
        """Return tops and bottoms of A and B."""
        return np.asarray(self.cells[..., :4])

    def exchanged(self) -> Floats:
        """Return the kinds with A and B exchanged."""
        return np.asarray(self.cells[..., [2, 3, 0, 1, 4]])


def score_kinds(a: Floats, b: Floats, clusters: Ints | None) -> tuple[ScoreKinds, Ints]:
    """Return the different kinds of items, or of clusters, and how often each is there."""
    columns = np.stack([a, np.ones_like(a), b, np.ones_like(a), (a - b) ** 2], axis=1)
    if clusters is not None:
        columns = np.stack([np.bincount(clusters, column) for column in columns.T], axis=1)
    cells, frequencies = np.unique(columns, axis=0, return_counts=True)
    return ScoreKinds(cells[:, None], "score"), frequencies


def paired_t(counts: Ints, kinds: Kinds) -> TestResult:
    """Student's t test of the items' paired differences, N - 1 degrees of freedom (Student 1908).

    Null hypothesis: the mean difference is 0. Exact for normal differences; p = 1 where all are the same. Of
    clusters it takes every item as independent.
    """
    top_a, n, top_b, _, square = np.moveaxis(counts.astype(float) @ kinds.cells[:, 0], -1, 0)
    d = np.where(n > 0, top_a - top_b, 0.0) / np.maximum(n, 1)
    spread = square - n * d**2
    constant = (spread <= ROUNDING * square) | (n < 2)
    variance = np.where(constant, 0.0, spread) / np.maximum(n - 1, 1) / np.maximum(n, 1)
    return t_test(d, variance, np.maximum(n - 1, 1))


def wilcoxon(counts: Ints, kinds: Kinds) -> TestResult:
    """Wilcoxon's signed-rank test, zeros ranked and then dropped (Pratt 1959), by the normal distribution.

    Null hypothesis: the differences are symmetric about 0, which says more than that their mean is 0: where
    they are skewed it answers another question. Wilcoxon 1945, Biometrics Bulletin 1, 80-83; Pratt 1959,
    Journal of the American Statistical Association 54, 655-667.
    """
    d = kinds.cells[:, 0, 0] - kinds.cells[:, 0, 2]
    order = np.argsort(np.abs(d), kind="stable")
    sizes, first = np.unique(np.abs(d)[order], return_index=True)
    own = counts[..., order].astype(float)
    tied, signed = (np.add.reduceat(part, first, axis=-1) for part in (own, own * np.sign(d)[order]))
    ranks = tied.cumsum(axis=-1) - (tied - 1) / 2
    total = (signed * ranks).sum(axis=-1)
    variance = (tied * ranks**2)[..., sizes > 0].sum(axis=-1)
    return z_test(total, np.sqrt(variance), "accept")
