"""The tests of two learning algorithms: which training and test sets each needs, and how often it rejects."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.errors import UserError
from harness.measures import Bools, Floats, Ints
from harness.runtime.parallel import Run
from harness.runtime.store import Arrays
from harness.significance import cross_validation as cv
from harness.significance.mcnemar import mcnemar
from harness.significance.proportion import proportion
from harness.significance.result import TestResult, discordant

N_HALVINGS = 5


class Differences(NamedTuple):
    """What two algorithms showed on many data sets; one data set is a trial.

    Error rates of A minus those of B: `resamples` (n_trials, n_resamples) on the test set of each random
    split, `folds` (n_trials, n_folds) of one cross-validation, `halves` (n_trials, 5, 2) on either half of
    five random halvings. `hold_out` (n_trials, 8) are the joint outcomes on the test set of one random split,
    of which the tests read the errors alone; `n_train` and `n_test` are the documents on either side of a
    split.
    """

    resamples: Floats
    folds: Floats
    halves: Floats
    hold_out: Ints
    n_train: int
    n_test: int


BY_TRIAL = ("resamples", "folds", "halves", "hold_out")


def first_trials(seen: Differences, n_trials: int) -> Differences:
    """Return the first trials only."""
    first: dict[str, Any] = {name: getattr(seen, name)[:n_trials] for name in BY_TRIAL}
    return seen._replace(**first)


def join_trials(parts: Sequence[Differences]) -> Differences:
    """Return the trials of several parts as one."""
    joined: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts]) for name in BY_TRIAL
    }
    return parts[0]._replace(**joined)


def split_sizes(n_examples: int, test_share: float) -> tuple[int, int]:
    """Return how many of n examples a random split trains on and tests on."""
    n_test = round(n_examples * test_share)
    return n_examples - n_test, n_test


def fold_sizes(n_examples: int, n_folds: int) -> list[int]:
    """Return the sizes of folds of n examples, which differ by one at most."""
    short, n_long = divmod(n_examples, n_folds)
    return [short + 1] * n_long + [short] * (n_folds - n_long)


def check_design(n_examples: int, test_share: float, n_folds: int) -> None:
    """Raise UserError unless data sets of `n_examples` can be split, folded and halved."""
    if n_examples < 4 or n_examples % 2:
        raise UserError(
            f"n_examples: {n_examples} is not allowed; even numbers of at least 4, which can be halved, are"
        )
    if 0 in split_sizes(n_examples, test_share):
        raise UserError(
            f"test_share: {test_share!r} is not allowed; of {n_examples} examples it leaves a side empty"
        )
    if n_folds > n_examples:
        raise UserError(f"n_folds: {n_folds} is not allowed; 2 to the number of examples ({n_examples}) are")


def held_out(n_examples: int, n_resamples: int, n_test: int, n_folds: int, rng: np.random.Generator) -> Bools:
    """Draw every test set of one data set; a row is one, and trains on the other examples.

    First the random splits, then the folds, then both halves of each of the five halvings in turn.
    """
    rows = np.zeros((n_resamples + n_folds + 2 * N_HALVINGS, n_examples), dtype=bool)
    resamples, folds, halves = np.split(rows, [n_resamples, n_resamples + n_folds])
    for row in resamples:
        row[rng.permutation(n_examples)[:n_test]] = True
    ends = np.cumsum(fold_sizes(n_examples, n_folds))[:-1]
    for row, fold in zip(folds, np.split(rng.permutation(n_examples), ends), strict=True):
        row[fold] = True
    for first, second in halves.reshape(N_HALVINGS, 2, n_examples):
        first[rng.permutation(n_examples)[: n_examples // 2]] = True
        second[:] = ~first
    return rows


def as_outcomes(cells: Ints, n_documents: int) -> Ints:
    """Return joint outcomes e1..e8 of sets of negatives, from (only A, only B, both wrong)."""
    counts = np.zeros((*cells.shape[:-1], 8), dtype=np.int64)
    counts[..., 4:7] = cells[..., ::-1]
    counts[..., 7] = n_documents - cells.sum(axis=-1)
    return counts


class LearnerTest(NamedTuple):
    """A test of two learning algorithms.

    `test` gives a verdict a trial; the sign of `lean`, the difference A minus B that it judges, is the
    direction of a rejection; `trains_on` ("resample", "fold" or "half") says which training sets its null
    hypothesis is about.
    """

    label: str
    test: Callable[[Differences], TestResult]
    lean: Callable[[Differences], Floats]
    trains_on: str


def _of_hold_out(label: str, test: Callable[[Ints], TestResult]) -> LearnerTest:
    def lean(seen: Differences) -> Floats:
        """Return how many errors more A made than B."""
        return np.subtract(*discordant(seen.hold_out)).astype(float)

    return LearnerTest(label, lambda seen: test(seen.hold_out), lean, "resample")


TESTS = {
    "resampled_t": LearnerTest(
        "resampled t", lambda s: cv.resampled_t(s.resamples), lambda s: s.resamples.mean(axis=-1), "resample"
    ),
    "corrected_resampled_t": LearnerTest(
        "corrected resampled t",
        lambda s: cv.corrected_resampled_t(s.resamples, s.n_train, s.n_test),
        lambda s: s.resamples.mean(axis=-1), "resample",
    ),
    "kfold_t": LearnerTest(
        "10-fold cv t", lambda s: cv.kfold_t(s.folds), lambda s: s.folds.mean(axis=-1), "fold"
    ),
    "five_by_two_t": LearnerTest(
        "5x2cv t", lambda s: cv.five_by_two_t(s.halves), lambda s: s.halves[..., 0, 0], "half"
    ),
    "five_by_two_f": LearnerTest(
        "5x2cv F", lambda s: cv.five_by_two_f(s.halves), lambda s: s.halves.mean(axis=(-2, -1)), "half"
    ),
    "mcnemar": _of_hold_out("McNemar, corrected", mcnemar),
    "mcnemar_uncorrected": _of_hold_out("McNemar, uncorrected", lambda n: mcnemar(n, "uncorrected")),
    "mcnemar_exact": _of_hold_out("McNemar, exact", lambda n: mcnemar(n, "exact")),
    "mcnemar_midp": _of_hold_out("McNemar, mid-p", lambda n: mcnemar(n, "midp")),
    "proportion": _of_hold_out("proportion", proportion),
}  # fmt: skip
"""All by the names that ``tests=[...]`` takes."""

HOLD_OUT = ("mcnemar", "mcnemar_uncorrected", "mcnemar_exact", "mcnemar_midp", "proportion")
"""Those that see one test set only."""


def count_rejections(
    seen: Differences, tests: Sequence[str], alphas: Sequence[float], weight: Floats | None = None
) -> dict[str, NDArray[Any]]:
    """Count the trials on which each test rejects, two-sided; with `weight`, sum theirs.

    `rejected` and `for_a` (rejections in which A had the smaller error) have shape (n_tests, n_alphas),
    `degenerate` (n_tests,).
    """
    found: dict[str, list[NDArray[Any]]] = {"rejected": [], "for_a": [], "degenerate": []}
    weights = np.ones(len(seen.hold_out), dtype=np.int64) if weight is None else weight
    for name in tests:
        result = TESTS[name].test(seen)
        verdicts = result.pvalue[:, None] <= np.asarray(alphas, dtype=float)
        found["rejected"].append(weights @ verdicts)
        found["for_a"].append(weights @ (verdicts & (TESTS[name].lean(seen) < 0)[:, None]))
        found["degenerate"].append(weights @ result.degenerate)
    return {name: np.array(values) for name, values in found.items()}


class Experiment(NamedTuple):
    """What is asked at every point: tests and their levels, on how many trials, drawn from which seed."""

    tests: Sequence[str]
    alphas: Sequence[float]
    n_trials: int
    seed: int

    def count_at(
        self, points: Sequence[Any], step: int, run: Run, function: Callable[..., Arrays], **options: Any
    ) -> list[dict[str, NDArray[Any]]]:
        """Return what `function` counted at each point, summed over units of `step` trials, truth joined."""
        ends = [(start, min(start + step, self.n_trials)) for start in range(0, self.n_trials, step)]
        units = [(point, self, *pair) for point in points for pair in ends]
        names = [f"{tuple(point)} trials {start} to {stop}" for point, _, start, stop in units]
        parts = run(function, units, names, threads=False, **options)
        made = []
        for at in range(0, len(parts), len(ends)):
            own = {name: [part[name] for part in parts[at : at + len(ends)]] for name in parts[at]}
            made.append({name: np.sum(found, axis=0) for name, found in own.items() if name != "truth"})
            if "truth" in own:
                made[-1]["truth"] = np.concatenate(own["truth"])
        return made
