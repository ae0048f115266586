"""Tests of other packages, called set by set as their documentation shows, so that they can be measured.

Each makes a document of every count, asks the package, and returns its two-sided p-value. Where that is NaN
the set is degenerate; a p-value that should not have been given, as 0 for two systems that decide alike, is
kept. The seed of a set is made from the generator's own and the counts: equal sets are asked about once, and
neither order nor batches matter. ``pip install 'size-power-harness[audit]'`` brings the packages.
"""

import importlib
import warnings
from bisect import bisect_left
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator, SeedSequence
from numpy.typing import ArrayLike, NDArray

from harness.measures import A, B, Floats, Ints, Y, difference, ratio
from harness.significance.equal_counts import distinct_rows
from harness.significance.replicates import check_replicates
from harness.significance.result import TestResult, as_counts, check_choice, settle_degenerate

MOST_DOCUMENTS = 10**6
"""Of a set: each is an item of the packages' arrays."""

LEVELS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
"""Levels at which a package is asked for an interval; the p-value is the least of them that leaves out 0."""

MEASURES = ("error", "f1")


class Items(NamedTuple):
    """The truth and both decisions of each document, 0 or 1, in the order of the cells."""

    truth: Ints
    a: Ints
    b: Ints

    def right(self) -> tuple[Ints, Ints]:
        """Return 1 where A, and where B, decides rightly."""
        return (self.a == self.truth).astype(np.int64), (self.b == self.truth).astype(np.int64)

    def right_table(self) -> Ints:
        """Return how many documents both, only A, only B and neither get right, shape (2, 2)."""
        right_a, right_b = self.right()
        return np.bincount(3 - 2 * right_a - right_b, minlength=4).reshape(2, 2)


class Answers(TestResult):
    """A result; `warned` holds what the package warned of on each set, empty where of nothing."""

    warned: NDArray[np.str_]


def closed(counts: ArrayLike, name: str, *, degenerate: str = "accept") -> TestResult:
    """Return what a package's test without replicates, one of `CLOSED`, says of each set's errors."""
    check_choice("name", name, tuple(CLOSED))
    return _each_set(counts, lambda items, _: CLOSED[name](items), "error", degenerate)


def replicated(
    counts: ArrayLike,
    name: str,
    measure: str = "error",
    n_replicates: int = 1000,
    *,
    degenerate: str = "accept",
    rng: Generator | None = None,
) -> TestResult:
    """Return what a package's test with replicates, one of `REPLICATED`, says of each set."""
    check_choice("name", name, tuple(REPLICATED))
    check_choice("measure", measure, MEASURES)
    check_replicates(n_replicates)
    ask = partial(REPLICATED[name], measure=measure, n=n_replicates)
    return _each_set(counts, ask, measure, degenerate, rng)


def _each_set(
    counts: ArrayLike,
    ask: Callable[[Items, int], Any],
    measure: str,
    degenerate: str,
    rng: Generator | None = None,
) -> TestResult:
    """Return what a package says of each set: `ask` gets its items and a seed, and returns a p-value."""
    cells = as_counts(counts, MOST_DOCUMENTS)
    rows = cells.reshape(-1, 8)
    first, which = distinct_rows(rows)
    source = (np.random.default_rng() if rng is None else rng).bit_generator.seed_seq
    found, warned = [], []
    for row in rows[first]:
        items = Items(*(np.repeat(kind.astype(np.int64), row) for kind in (Y, A, B)))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found.append(float(ask(items, _seed(source, row))))
        warned.append(str(caught[0].message) if caught else "")
    pvalue = np.array(found, dtype=float)[which].reshape(cells.shape[:-1])
    settled = settle_degenerate(pvalue, difference(measure)(cells), np.isnan(pvalue), degenerate)
    answers = Answers(*settled)
    answers.warned = np.array(warned, dtype=str)[which].reshape(cells.shape[:-1])
    return answers


def _seed(source: Any, row: Ints) -> int:
    """Return a seed from 1 to 2**31, which every package takes, and none takes for no seed."""
    key = (*source.spawn_key, *row.tolist())
    return int(SeedSequence(source.entropy, spawn_key=key).generate_state(1)[0] >> 1) + 1


@lru_cache
def _package(name: str) -> Any:
    """Import a package when a test first needs it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of its import, not of a set
            found = importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing = str(error.name).partition(".")[0]
        raise ValueError(
            f"{missing} is not installed; pip install 'size-power-harness[audit]' brings it"
        ) from error
    if name == "deepsig":  # it has joblib pickle everything with dill from then on
        _package("joblib.externals.loky").set_loky_pickler()
    return found


def _f1(truth: Ints, decided: Ints, axis: int = -1) -> Floats:
    """Return F1, 0 where it is 0/0."""
    top, bottom = 2 * (truth * decided).sum(axis=axis), (truth + decided).sum(axis=axis)
    return ratio(top, bottom)


# --- without replicates: functions of a set's items -------------------------------------------------


def mlxtend_mcnemar(items: Items, exact: bool = False) -> Any:
    """McNemar's test of mlxtend, corrected or exact."""
    evaluate = _package("mlxtend.evaluate")
    return evaluate.mcnemar(evaluate.mcnemar_table(*items), exact=exact)[1]


def statsmodels_mcnemar(items: Items, exact: bool = False) -> Any:
    """McNemar's test of statsmodels, corrected or exact."""
    tables = _package("statsmodels.stats.contingency_tables")
    return tables.mcnemar(items.right_table(), exact=exact).pvalue


def statsmodels_proportions(items: Items) -> Any:
    """Two-proportion z test of statsmodels, as if A and B saw different documents."""
    right = [int(part.sum()) for part in items.right()]
    return _package("statsmodels.stats.proportion").proportions_ztest(right, [len(items.truth)] * 2)[1]


CLOSED: dict[str, Callable[[Items], Any]] = {
    "mlxtend_mcnemar": mlxtend_mcnemar,
    "mlxtend_mcnemar_exact": partial(mlxtend_mcnemar, exact=True),
    "mlxtend_cochrans_q": lambda items: _package("mlxtend.evaluate").cochrans_q(*items)[1],
    "statsmodels_mcnemar": statsmodels_mcnemar,
    "statsmodels_mcnemar_exact": partial(statsmodels_mcnemar, exact=True),
    "statsmodels_proportions": statsmodels_proportions,
    "scipy_wilcoxon": lambda items: _package("scipy.stats").wilcoxon(*items.right()).pvalue,
    "scipy_ttest": lambda items: _package("scipy.stats").ttest_rel(*items.right()).pvalue,
}


# --- with replicates: functions of items, seed, measure and the number of replicates ----------------


def mlxtend_permutation(items: Items, seed: int, measure: str, n: int) -> Any:
    """Paired permutation test of mlxtend, on what is right (error) or on the decisions (F1)."""

    def apart(a: Ints, b: Ints) -> Floats:
        return np.abs(_f1_apart(items.truth, a, b))

    pair = items.right() if measure == "error" else (items.a.astype(float), items.b.astype(float))
    func = "x_mean != y_mean" if measure == "error" else apart
    options = {"method": "approximate", "num_rounds": n, "paired": True, "seed": seed}
    return _package("mlxtend.evaluate").permutation_test(*pair, func=func, **options)


def scipy_permutation(items: Items, seed: int, measure: str, n: int) -> Any:
    """Paired permutation test of scipy: what A and B decided is exchanged document by document."""
    pair = items.right() if measure == "error" else (items.a, items.b)
    apart = _mean_apart if measure == "error" else partial(_f1_apart, items.truth)
    options = {"permutation_type": "samples", "n_resamples": n, "rng": seed}
    return _package("scipy.stats").permutation_test(pair, apart, vectorized=True, **options).pvalue


def scipy_bootstrap(items: Items, seed: int, measure: str, n: int, method: str = "percentile") -> float:
    """Bootstrap interval of scipy for the paired difference; p is the least of `LEVELS` that leaves out 0."""
    right_a, right_b = items.right()
    data, statistic = ((right_a - right_b,), np.mean) if measure == "error" else (items, _f1_apart)
    options = {"paired": True, "vectorized": True, "method": method, "rng": seed}
    bootstrap = _package("scipy.stats").bootstrap
    known = bootstrap(data, statistic, n_resamples=n, **options)
    if np.isnan(known.confidence_interval).any():
        return np.nan

    def leaves_out_0(level: float) -> bool:
        again = {"n_resamples": 0, "bootstrap_result": known, "confidence_level": 1 - level}
        low, high = bootstrap(data, statistic, **again, **options).confidence_interval
        return bool(low > 0 or high < 0)

    return LEVELS[bisect_left(LEVELS[:-1], True, key=leaves_out_0)]


def _mean_apart(a: Ints, b: Ints, axis: int) -> Floats:
    return np.asarray(np.mean(a, axis=axis) - np.mean(b, axis=axis))


def _f1_apart(truth: Ints, a: Ints, b: Ints, axis: int = -1) -> Floats:
    return _f1(truth, a, axis) - _f1(truth, b, axis)


def sacrebleu_paired(items: Items, seed: int, measure: str, n: int, kind: str = "bs") -> Any:
    """Paired bootstrap (``bs``) or approximate randomization (``ar``) of sacrebleu, of accuracy or F1."""
    truth, a, b = ([str(value) for value in part] for part in items)
    test = _package("sacrebleu.significance").PairedTest(
        [("A", a), ("B", b)], {measure: _metric(measure)}, [truth], kind, n
    )
    test._seed = seed  # as the environment variable SACREBLEU_SEED sets it, but for this test alone
    return test()[1][measure][1].p_value


def _metric(measure: str) -> Any:
    """Return accuracy or F1 as a metric of sacrebleu: a ratio of two sums over documents."""
    base = _package("sacrebleu.metrics.base")

    class Ratio(base.Metric):  # type: ignore[name-defined, misc]
        def _preprocess_segment(self, sent: str) -> str:
            return sent

        def _extract_reference_info(self, refs: list[str]) -> dict[str, int]:
            return {"truth": int(refs[0])}

        def _compute_segment_statistics(self, hypothesis: str, ref_kwargs: dict[str, int]) -> list[int]:
            truth, decided = ref_kwargs["truth"], int(hypothesis)
            if measure == "error":
                return [int(truth == decided), 1]
            return [2 * truth * decided, truth + decided]

        def _compute_score_from_stats(self, stats: Any) -> Any:
            top, bottom = stats
            return base.Score(measure, 100 * top / bottom if bottom else 0.0)

        def _aggregate_and_compute(self, stats: Any) -> Any:
            return self._compute_score_from_stats(np.sum(stats, axis=0))

    return Ratio()


def deepsig(items: Items, seed: int, measure: str, n: int, kind: str = "permutation") -> Any:
    """Bootstrap or permutation test of deep-significance on what each system gets right.

    Its p-value asks whether the first system is better; here the better one stands first, and p is doubled.
    """
    check_choice("measure", measure, ("error",))
    better, worse = sorted(items.right(), key=np.sum, reverse=True)
    test = getattr(_package("deepsig"), f"{kind}_test")
    return min(1.0, 2 * test(better, worse, num_samples=n, seed=seed))


REPLICATED: dict[str, Callable[..., Any]] = {
    "mlxtend_permutation": mlxtend_permutation,
    "scipy_permutation": scipy_permutation,
    "scipy_bootstrap": scipy_bootstrap,
    "scipy_bootstrap_bca": partial(scipy_bootstrap, method="BCa"),
    "sacrebleu_bootstrap": sacrebleu_paired,
    "sacrebleu_randomization": partial(sacrebleu_paired, kind="ar"),
    "deepsig_permutation": deepsig,
    "deepsig_bootstrap": partial(deepsig, kind="bootstrap"),
}
