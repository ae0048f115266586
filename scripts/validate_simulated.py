"""What the library gives on simulated evaluation sets and data sets."""

import sys
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from harness.evaluation.sets import draw_sets
from harness.nulls import joint_null, project
from harness.significance import bayes, bootstrap, bootstrap_intervals
from harness.significance.cross_validation import (
    corrected_resampled_t,
    five_by_two_f,
    five_by_two_t,
    kfold_t,
    resampled_t,
)
from harness.significance.goutte import goutte_gaussier
from harness.significance.likelihood_ratio import likelihood_ratio
from harness.significance.mcnemar import mcnemar
from harness.significance.proportion import proportion
from harness.significance.randomization import randomization
from harness.significance.result import TestResult
from harness.significance.wald import wald

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
ALPHA = 0.05
INTERVALS = {"bootstrap basic": "basic", "bootstrap BCa": "bca", "bootstrap-t": "studentized"}
POSTERIORS = {"Bayesian bootstrap": 0.0, "Dirichlet, 1/2 on all cells": 0.5}
EXACT: dict[str, Callable[[Ints], NDArray[np.float64]]] = {
    "paired Wald": lambda sets: wald(sets, "f1").pvalue,
    "randomization": lambda sets: randomization(sets, "f1").pvalue,
    "randomization mid-p": lambda sets: randomization(sets, "f1", midp=True).pvalue,
    "likelihood ratio": lambda sets: likelihood_ratio(sets).pvalue,
    "Goutte-Gaussier unpaired": lambda sets: goutte_gaussier(sets).pvalue,
    "McNemar mid-p": lambda sets: mcnemar(sets, "midp").pvalue,
    "McNemar corrected": lambda sets: mcnemar(sets, "corrected").pvalue,
    "proportion": lambda sets: proportion(sets).pvalue,
}
TESTS = ("bootstrap percentile", *INTERVALS, *POSTERIORS, *EXACT)
"""The reference's names of the tests that the library has."""


def null_shares(
    shares: dict[str, list[float]], rounded: dict[str, list[float]]
) -> dict[tuple[str, str], Floats]:
    """Return the cells of each population under (population, "KL null") and (population, "joint null").

    The KL null is projected anew; the rounded one that the references were measured on is a check on it.
    """
    found = {}
    for name, cells in shares.items():
        p = np.array(cells) / sum(cells)
        projected = project(p, "f1")
        if np.abs(projected - rounded[name]).max() > 2e-8:
            raise ValueError(f"{name}: the projection differs from the reference's by more than its rounding")
        found[name, "KL null"] = projected
        found[name, "joint null"] = joint_null(p)
    return found


def sizes(
    shares: Floats, n_documents: int, n_sets: dict[str, int], n_replicates: int, rng: np.random.Generator
) -> dict[str, tuple[float, int]]:
    """Return each test's share of rejections and the number of sets it comes from.

    Tests without replicates see ``n_sets["none"]`` sets, tests with them the first ``n_sets["replicates"]``.
    """
    sets = draw_sets(shares, n_documents, max(n_sets.values()), rng)
    few, every = sets[: n_sets["replicates"]], sets[: n_sets["none"]]
    measured = {name: (float((pvalue(every) <= ALPHA).mean()), len(every)) for name, pvalue in EXACT.items()}
    rejected = {
        "bootstrap percentile": bootstrap.reject(few, "f1", [ALPHA], n_replicates, rng=rng.spawn(1)[0]),
    }
    together = bootstrap_intervals.reject(
        few, "f1", [ALPHA], n_replicates, list(INTERVALS.values()), rng.spawn(1)[0]
    )
    rejected |= {name: together[:, j] for j, name in enumerate(INTERVALS)}
    for name, prior in POSTERIORS.items():
        rejected[name] = bayes.reject(few, "f1", [ALPHA], n_replicates, prior, rng.spawn(1)[0])
    print(f"  {n_documents} documents: {len(every)} sets, {len(few)} with replicates", file=sys.stderr)
    return measured | {name: (float(verdicts.mean()), len(few)) for name, verdicts in rejected.items()}


def drawn(
    n_documents: int, wrong: Sequence[float], n_sets: int, tests: Sequence[str], rng: np.random.Generator
) -> dict[str, int]:
    """Return how many drawn sets are rejected by tests of the error.

    `wrong` are the probabilities that only A, that only B, and that both err on a document; `tests` holds
    variants of McNemar's test, "proportion", and "bootstrap error", the limit of infinitely many replicates.
    """
    only_a, only_b, both = wrong
    sets = draw_sets([0, 0, 0, 0, both, only_b, only_a, 1 - sum(wrong)], n_documents, n_sets, rng)
    others: dict[str, Callable[[Ints], TestResult]] = {
        "proportion": proportion,
        "bootstrap error": lambda sets: bootstrap.bootstrap_percentile(sets, "error", n_replicates=None),
    }
    results = {test: others[test](sets) if test in others else mcnemar(sets, test) for test in tests}
    return {test: int((result.pvalue <= ALPHA).sum()) for test, result in results.items()}


def dietterich(n_sets: int, exact_halves: bool, rng: np.random.Generator) -> dict[str, float]:
    """Return the sizes of the cross-validation tests on Dietterich's simulated null.

    The 300 examples form two halves, on which A errs with probability .05 and .15, B with .15 and .05; the
    errors are the same whatever is trained on. A split is random, so that only the numbers of examples that A
    alone and that B alone gets wrong matter, and how many of each fall into a test set is hypergeometric.
    """
    a_alone, b_alone = 0.05 * 0.85, 0.15 * 0.95
    first = rng.binomial(300, 0.5, n_sets) if not exact_halves else np.full(n_sets, 150)
    n01, n10 = np.zeros(n_sets, dtype=np.int64), np.zeros(n_sets, dtype=np.int64)
    for size, p, q in ((first, a_alone, b_alone), (300 - first, b_alone, a_alone)):
        drawn = rng.binomial(size, p)
        n01, n10 = n01 + drawn, n10 + rng.binomial(size - drawn, q / (1 - p))
    resamples = np.stack([_parts(n01, n10, [100], rng)[..., 0] for _ in range(30)], axis=-1)
    folds = _parts(n01, n10, [30] * 10, rng)
    halves = np.stack([_parts(n01, n10, [150, 150], rng) for _ in range(5)], axis=-2)
    results = {
        "resampled t": resampled_t(resamples),
        "10-fold t": kfold_t(folds),
        "5x2 t": five_by_two_t(halves),
        "5x2 F": five_by_two_f(halves),
        "corrected resampled t": corrected_resampled_t(resamples, 200, 100),
    }
    return {name: float((result.pvalue <= ALPHA).mean()) for name, result in results.items()}


def _parts(n01: Ints, n10: Ints, parts: list[int], rng: np.random.Generator) -> Floats:
    """Return the differences of error rates on disjoint random parts of the 300 examples, (..., n_parts)."""
    neither = 300 - n01 - n10
    differences = []
    for size in parts:
        k01 = rng.hypergeometric(n01, n10 + neither, size)
        k10 = rng.hypergeometric(n10, neither, size - k01)
        differences.append((k01 - k10) / size)
        n01, n10, neither = n01 - k01, n10 - k10, neither - (size - k01 - k10)
    return np.stack(differences, axis=-1)
