"""Dietterich's simulated data sets: two algorithms whose errors are fixed with the data set."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom, hypergeom

from harness.compare.learner_tests import (
    N_HALVINGS,
    Differences,
    Experiment,
    Floats,
    Ints,
    check_design,
    count_rejections,
    first_trials,
    fold_sizes,
    split_sizes,
)
from harness.errors import UserError
from harness.seeding import rng

BLOCK = 1000
"""Trials that share a generator; a block is always drawn whole, so that more trials extend fewer."""
HALVES = ("exact", "random")
NEGLIGIBLE = 1e-14


class Point(NamedTuple):
    """What the data sets of a point have in common.

    Attributes
    ----------
    halves : {"exact", "random"}
        Whether just half of the examples lie in either region, or each does with probability 1/2.
    low, high : float
        Error probabilities of the two regions at difference 0.
    difference : float
        True error rate of B minus that of A, >= 0.
    n_examples : int
        Of a data set; even.
    test_share : float
        Part of the examples that a random split tests on.
    n_resamples, n_folds : int
    """

    halves: str
    low: float
    high: float
    difference: float
    n_examples: int
    test_share: float
    n_resamples: int
    n_folds: int


N_REFERENCE = 20_000
"""Data sets behind each reference."""
# level .05, two-sided; measured once by a program that shares no code with this one
REFERENCES = {
    "exact": {
        "resampled_t": 0.612, "kfold_t": 0.046, "five_by_two_t": 0.026, "five_by_two_f": 0.030,
        "corrected_resampled_t": 0.045,
    },
    "random": {
        "resampled_t": 0.616, "kfold_t": 0.050, "five_by_two_t": 0.027, "five_by_two_f": 0.033,
        "corrected_resampled_t": 0.050,
    },
}  # fmt: skip
# one hold-out of 100 examples drawn independently, by enumeration, to four digits
ENUMERATED = {
    "mcnemar": 0.0257, "mcnemar_uncorrected": 0.0512, "mcnemar_exact": 0.0292, "mcnemar_midp": 0.0462,
    "proportion": 0.0552,
}  # fmt: skip
STANDARD = {
    halves: Point(halves, 0.05, 0.15, 0.0, 300, 1 / 3, n_resamples=30, n_folds=10) for halves in REFERENCES
}


def reference(point: Point, test: str, alpha: float, enumerated: bool) -> tuple[float, float]:
    """Return what another program measured as a Type I error and its standard error; NaN where it did not.

    >>> reference(STANDARD["random"], "mcnemar", 0.05, True)
    (0.0257, 0.0)
    """
    if alpha != 0.05 or point != STANDARD[point.halves]:
        return np.nan, np.nan
    if enumerated:
        known = point.halves == "random" and test in ENUMERATED
        return (ENUMERATED[test], 0.0) if known else (np.nan, np.nan)
    value = REFERENCES[point.halves].get(test, np.nan)
    return value, float(np.sqrt(value * (1 - value) / N_REFERENCE))


def check_point(point: Point) -> None:
    """Raise UserError unless data sets of this kind can be drawn."""
    low, high = point.low, point.high
    if not 0 <= low <= high <= 1:
        raise UserError(f"errors: {low!r}, {high!r} is not allowed; 0 <= first <= second <= 1 is")
    most = round(2 * min(low, 1 - high), 12)
    if not 0 <= point.difference <= most:
        raise UserError(
            f"difference: {point.difference!r} is not allowed with error probabilities {low!r} and {high!r}; "
            f"0 to {most:g} is"
        )
    check_design(*point[4:])


def region_errors(point: Point) -> Floats:
    """Return the error probabilities, rows A and B, columns the two regions.

    The first region is easier for A, the second for B; half of a true difference is taken off A's
    probabilities and half is added to B's.

    >>> region_errors(Point("exact", 0.05, 0.15, 0.04, 300, 1 / 3, 30, 10)).round(3).tolist()
    [[0.03, 0.13], [0.17, 0.07]]
    """
    half = point.difference / 2
    errors = np.array([[point.low - half, point.high - half], [point.high + half, point.low + half]])
    return errors.clip(0, 1)


def draw_data_sets(point: Point, n_trials: int, generator: np.random.Generator) -> Ints:
    """Draw data sets, each as its numbers of examples that only A, only B, and both get wrong.

    In its region an example is an error of A and, independently, of B with the region's probabilities.
    No learning takes place: an example that is wrong stays wrong whatever is trained on.
    """
    half = point.n_examples // 2
    first = generator.binomial(point.n_examples, 0.5, n_trials) if point.halves == "random" else half
    first = np.broadcast_to(first, n_trials)
    drawn = np.zeros((n_trials, 3), dtype=np.int64)
    for sizes, (a, b) in zip((first, point.n_examples - first), region_errors(point).T, strict=True):
        wrong_a = generator.binomial(sizes, a)
        both = generator.binomial(wrong_a, b)
        only_b = generator.binomial(sizes - wrong_a, b)
        drawn += np.stack([wrong_a - both, only_b, both], axis=-1)
    return drawn


def deal(cells: Ints, n_examples: int, sizes: Sequence[int], generator: np.random.Generator) -> Ints:
    """Deal the examples of each data set at random to disjoint parts of the given sizes.

    `cells`, shape (n_trials, n_cells), counts those of each kind, the others being of none; returned is how
    many of each kind a part got, shape (n_trials, n_parts, n_cells): multivariate hypergeometric.
    """
    left = np.concatenate([cells, n_examples - cells.sum(axis=-1, keepdims=True)], axis=-1)
    dealt = np.zeros((len(cells), len(sizes), cells.shape[-1]), dtype=np.int64)
    for part, size in enumerate(sizes):
        if part == len(sizes) - 1 and sum(sizes) == n_examples:
            dealt[:, part] = left[:, :-1]
            break
        wanted = np.full(len(cells), size)
        rest = left.sum(axis=-1)
        for kind in range(cells.shape[-1]):
            rest = rest - left[:, kind]
            got = generator.hypergeometric(left[:, kind], rest, wanted)
            dealt[:, part, kind], wanted = got, wanted - got
        left[:, :-1] -= dealt[:, part]
        left[:, -1] -= wanted
    return dealt


def draw_differences(point: Point, n_trials: int, generator: np.random.Generator) -> Differences:
    """Draw data sets and what the tests see of each.

    A split into training and test set is random; as errors do not depend on training, only how many
    of the discordant examples fall into a test set matters.
    """
    n = point.n_examples
    n_train, n_test = split_sizes(n, point.test_share)
    cells = draw_data_sets(point, n_trials, generator)
    alone = cells[:, :2]
    resamples = [deal(alone, n, [n_test], generator)[:, 0] for _ in range(point.n_resamples)]
    folds = fold_sizes(n, point.n_folds)
    halves = [deal(alone, n, [n // 2, n // 2], generator) for _ in range(N_HALVINGS)]
    return Differences(
        _apart(np.stack(resamples, axis=1)) / n_test,
        _apart(deal(alone, n, folds, generator)) / np.array(folds),
        _apart(np.stack(halves, axis=1)) / (n // 2),
        as_outcomes(deal(cells, n, [n_test], generator)[:, 0], n_test),
        n_train,
        n_test,
    )


def _apart(alone: Ints) -> Ints:
    return alone[..., 0] - alone[..., 1]


def as_outcomes(cells: Ints, n_documents: int) -> Ints:
    """Return joint outcomes e1..e8 of sets of negatives, from (only A, only B, both wrong).

    >>> as_outcomes(np.array([[3, 1, 2]]), 10).tolist()
    [[0, 0, 0, 0, 2, 1, 3, 4]]
    """
    counts = np.zeros((*cells.shape[:-1], 8), dtype=np.int64)
    counts[..., 6], counts[..., 5], counts[..., 4] = cells[..., 0], cells[..., 1], cells[..., 2]
    counts[..., 7] = n_documents - cells.sum(axis=-1)
    return counts


def simulate_block(point: Point, experiment: Experiment, start: int, stop: int) -> dict[str, NDArray[Any]]:
    """Return the rejections on the data sets `start` to `stop` - 1, all of one block of 1000."""
    generator = rng(experiment.seed, "simulated null", *point, start // BLOCK)
    seen = first_trials(draw_differences(point, BLOCK, generator), stop - start)
    return count_rejections(seen, experiment.tests, experiment.alphas)


def enumerate_hold_out(point: Point, tests: Sequence[str], alphas: Sequence[float]) -> dict[str, Floats]:
    """Return the exact rejection probabilities of `tests` that see one hold-out, as counts of rejections.

    >>> point = Point("random", 0.05, 0.15, 0.0, 300, 1 / 3, 30, 10)
    >>> enumerate_hold_out(point, ["mcnemar", "mcnemar_midp"], [0.05])["rejected"].round(4).tolist()
    [[0.0257], [0.0462]]
    """
    cells, weight = hold_out_law(point)
    n_train, n_test = split_sizes(point.n_examples, point.test_share)
    nothing = np.zeros((len(cells), 0))
    seen = Differences(nothing, nothing, nothing, as_outcomes(cells, n_test), n_train, n_test)
    return count_rejections(seen, tests, alphas, weight)


def hold_out_law(point: Point) -> tuple[Ints, Floats]:
    """Return the (only A, only B, both wrong) of a hold-out, shape (n, 3), and their probabilities (n,).

    The generating function of the three numbers is ``sum_k P(k) g_1^k g_2^(n - k)``, k the tested examples of
    the first region and g the generating function of one example of a region; its values at roots of
    unity are Fourier transformed.
    """
    n = split_sizes(point.n_examples, point.test_share)[1]
    a, b = region_errors(point)
    chances = np.stack([a * (1 - b), b * (1 - a), a * b], axis=-1)  # (regions, cells)
    reach = (binom.isf(NEGLIGIBLE, n, chances.max(axis=0)).astype(int) + 2).clip(max=n + 1)
    roots = np.meshgrid(*(np.exp(-2j * np.pi * np.arange(k) / k) for k in reach), indexing="ij")
    one, other = (1 + sum(p * (root - 1) for p, root in zip(row, roots, strict=True)) for row in chances)
    if point.halves == "random":
        transform = ((one + other) / 2) ** n
    else:
        weights = hypergeom.pmf(np.arange(n + 1), point.n_examples, point.n_examples // 2, n)
        transform, power = np.zeros_like(one), np.ones_like(one)
        for k in range(n + 1):  # Horner's scheme; `power` is that of the second region
            transform = transform * one + weights[n - k] * power
            power = power * other
    law = np.fft.ifftn(transform).real
    cells = np.argwhere(law > NEGLIGIBLE)
    return cells, law[tuple(cells.T)]
