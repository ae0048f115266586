"""The tests of learning algorithms by name, and how often each rejects."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.compare.designs import Differences
from harness.significance.cross_validation import (
    corrected_resampled_t,
    five_by_two_f,
    five_by_two_t,
    kfold_t,
    resampled_t,
)
from harness.significance.mcnemar import mcnemar
from harness.significance.proportion import proportion
from harness.significance.result import TestResult, discordant

Floats = NDArray[np.float64]


def _errors_apart(seen: Differences) -> Floats:
    """Return how many errors more A made than B on the hold-out."""
    n01, n10 = discordant(seen.hold_out)
    return (n01 - n10).astype(float)


class LearnerTest(NamedTuple):
    """A test of two learning algorithms.

    Attributes
    ----------
    label : str
        As figures and tables name it.
    test : callable
        From :class:`Differences` to a TestResult, one verdict a trial.
    lean : callable
        The difference that the test judges, A minus B: its sign is the direction of a rejection.
    trains_on : {"resample", "fold", "half"}
        Which training sets the test's null hypothesis is about.
    """

    label: str
    test: Callable[[Differences], TestResult]
    lean: Callable[[Differences], Floats]
    trains_on: str


TESTS = {
    "resampled_t": LearnerTest(
        "resampled t", lambda s: resampled_t(s.resamples), lambda s: s.resamples.mean(axis=-1), "resample"
    ),
    "corrected_resampled_t": LearnerTest(
        "corrected resampled t",
        lambda s: corrected_resampled_t(s.resamples, s.n_train, s.n_test),
        lambda s: s.resamples.mean(axis=-1),
        "resample",
    ),
    "kfold_t": LearnerTest(
        "10-fold cv t", lambda s: kfold_t(s.folds), lambda s: s.folds.mean(axis=-1), "fold"
    ),
    "five_by_two_t": LearnerTest(
        "5x2cv t", lambda s: five_by_two_t(s.halves), lambda s: s.halves[..., 0, 0], "half"
    ),
    "five_by_two_f": LearnerTest(
        "5x2cv F", lambda s: five_by_two_f(s.halves), lambda s: s.halves.mean(axis=(-2, -1)), "half"
    ),
    "mcnemar": LearnerTest(
        "McNemar, corrected", lambda s: mcnemar(s.hold_out), _errors_apart, "resample"
    ),
    "mcnemar_uncorrected": LearnerTest(
        "McNemar, uncorrected", lambda s: mcnemar(s.hold_out, "uncorrected"), _errors_apart, "resample"
    ),
    "mcnemar_exact": LearnerTest(
        "McNemar, exact", lambda s: mcnemar(s.hold_out, "exact"), _errors_apart, "resample"
    ),
    "mcnemar_midp": LearnerTest(
        "McNemar, mid-p", lambda s: mcnemar(s.hold_out, "midp"), _errors_apart, "resample"
    ),
    "proportion": LearnerTest("proportion", lambda s: proportion(s.hold_out), _errors_apart, "resample"),
}  # fmt: skip
"""All by the names that ``tests=[...]`` takes."""

HOLD_OUT = ("mcnemar", "mcnemar_uncorrected", "mcnemar_exact", "mcnemar_midp", "proportion")
"""Those that see one test set only."""


def check_tests(tests: Sequence[str]) -> None:
    """Raise ValueError unless all `tests` are known, and there is one.

    Examples
    --------
    >>> check_tests(["sign"])
    Traceback (most recent call last):
    ...
    ValueError: tests: 'sign' is not allowed; choose from resampled_t, ..., mcnemar_midp, proportion
    """
    for name in tests:
        if name not in TESTS:
            raise ValueError(f"tests: {name!r} is not allowed; choose from {', '.join(TESTS)}")
    if not tests or len(set(tests)) != len(tests):
        raise ValueError(f"tests: {list(tests)!r} is not allowed; at least one, each once, is")


def count_rejections(
    seen: Differences, tests: Sequence[str], alphas: Sequence[float]
) -> dict[str, NDArray[np.int64]]:
    """Count the trials on which each test rejects, two-sided.

    Returns
    -------
    dict
        `rejected` and `for_a` (rejections in which A had the smaller error), both of shape
        (n_tests, n_alphas), and `degenerate` (n_tests,).

    Examples
    --------
    >>> d = np.array([[0.1, 0.2, 0.1, 0.2]])
    >>> seen = Differences(d, d, np.zeros((1, 5, 2)), np.eye(8, dtype=int)[:1] * 9, 20, 10)
    >>> counts = count_rejections(seen, ["resampled_t", "five_by_two_t"], [0.05])
    >>> counts["rejected"].tolist(), counts["for_a"].tolist(), counts["degenerate"].tolist()
    ([[1], [0]], [[0], [0]], [0, 1])
    """
    rejected = np.zeros((len(tests), len(alphas)), dtype=np.int64)
    for_a, degenerate = np.zeros_like(rejected), np.zeros(len(tests), dtype=np.int64)
    for i, name in enumerate(tests):
        result = TESTS[name].test(seen)
        verdicts = result.pvalue[:, None] <= np.asarray(alphas, dtype=float)
        rejected[i] = verdicts.sum(axis=0)
        for_a[i] = (verdicts & (TESTS[name].lean(seen) < 0)[:, None]).sum(axis=0)
        degenerate[i] = result.degenerate.sum()
    return {"rejected": rejected, "for_a": for_a, "degenerate": degenerate}
