"""Bootstrap tests by the basic, the bootstrap-t and the BCa interval, on joint-outcome counts."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from harness.measures import Bools, Floats, Ints, difference
from harness.significance import interval_replicates as ir
from harness.significance.bootstrap import checked_sets, interval_names
from harness.significance.bootstrap import degenerate_sets as degenerate_sets
from harness.significance.bootstrap_f1_forecast import fewest
from harness.significance.forecast import known_levels
from harness.significance.interval_forecast import LEAST_COUNT, forecast
from harness.significance.replicates import Keys, check_levels, on_live_sets, set_generator
from harness.significance.result import TestResult, check_choice, settle_degenerate

BLOCK = 4096
"""Sets whose observed values are computed at once, so that memory does not grow with their number."""

SMALL_BLOCK = 512
"""Likewise for shares of replicates, which take more."""


def bootstrap_intervals(
    counts: ArrayLike,
    measure: str,
    n_replicates: int = 5000,
    interval: str = "basic",
    rng: Generator | None = None,
    *,
    stratified: bool = False,
    degenerate: str = "accept",
) -> TestResult:
    """Bootstrap test: reject where a basic, a bootstrap-t or a BCa interval leaves out 0.

    Null hypothesis: the measure of A equals that of B. Asymptotic; on few discordant documents none of the
    three keeps its level. (With 1 % positives, F1 near .64 and N = 300 the sizes at 5 % were .14 for basic,
    .17 for bootstrap-t and .03 for BCa; with close classifiers and N = 3000 .03, .17 and .15.) p is the
    smallest level at which the interval leaves out 0, with 0 at its end inside. With d* the difference in a
    replicate and P* the share of replicates,

    - ``"basic"``, the interval of 2d - d*: p = min(1, 2 min(P*(d* <= 2d), P*(d* >= 2d)));
    - ``"studentized"`` (bootstrap-t), with t* = (d* - d) / se*, t = d / se and the delta-method standard
      errors of the replicate and of the set: p = min(1, 2 min(P*(t* <= t), P*(t* >= t))). Replicates with
      se* = 0 are left out (:func:`unusable_share` counts them); p = 1 if none remains;
    - ``"bca"``, with z0 = Phi^-1(P*(d* < d) + P*(d* = d) / 2) and the acceleration a of the jackknife:
      p = 2 Phi(w / (1 + a w) - z0), w = Phi^-1(P*(d* <= 0)) - z0, or its like with P*(d* >= 0), -z0 and
      -a, if that is less. p = 0 where no replicate is on the other side of 0; a = 0 where all jackknife
      values are equal.

    `statistic` is the observed difference, A minus B. Degenerate where d* = 0 in every possible
    replicate: no discordant document or, for F1, no true positive of either classifier.

    Parameters
    ----------
    measure : {"f1", "error"}
    interval : {"basic", "studentized", "bca"}
    stratified : bool
        Resample positives and negatives apart, for sets that were drawn with fixed numbers of both;
        standard errors and acceleration are then those of two samples.

    Notes
    -----
    Where A finds every positive without a false alarm and B none, F1 is 1 and 0 in nearly every replicate and
    no standard error is above 0: bootstrap-t has p = 1, basic has p = 0, however few the documents.

    References
    ----------
    Davison & Hinkley (1997), Bootstrap Methods and their Application, sections 5.2 and 5.3; Efron (1987),
    Better bootstrap confidence intervals, JASA 82, 171-185.

    Examples
    --------
    >>> counts = [20, 2, 9, 3, 4, 6, 5, 951]
    >>> for interval in ("basic", "studentized", "bca"):
    ...     result = bootstrap_intervals(counts, "f1", 50_000, interval, np.random.default_rng(0))
    ...     print(interval, round(float(result.pvalue), 2))
    basic 0.06
    studentized 0.04
    bca 0.04
    """
    check_choice("interval", interval, tuple(ir.INTERVALS))
    cells, frozen, generator = checked_sets(counts, measure, n_replicates, rng)

    def test(sets: Ints, keys: Keys) -> Floats:
        return _pvalues(sets, keys, measure, [interval], n_replicates, stratified)[:, 0]

    pvalues = on_live_sets(test, cells, frozen, generator, 1.0)
    return settle_degenerate(pvalues, difference(measure)(cells), frozen, degenerate)


def reject(
    counts: ArrayLike,
    measure: str,
    alphas: ArrayLike,
    n_replicates: int = 5000,
    interval: str | Sequence[str] = "basic",
    rng: Generator | None = None,
    *,
    stratified: bool = False,
    degenerate: str = "accept",
) -> Bools:
    """Return ``bootstrap_intervals(...).pvalue <= alpha`` at several levels, of several intervals at once.

    For F1, where 15 documents and more tell A from B, the moments of the replicates tell the share of those
    that an interval counts, to a per cent, and their numbers are drawn at once
    (:mod:`harness.significance.interval_forecast`). The replicates of other sets are those of
    :func:`bootstrap_intervals` with a generator in the same state, for each of several intervals.

    Returns
    -------
    bool array, shape (..., n_alphas) or, for a sequence of intervals, (..., n_intervals, n_alphas)

    Examples
    --------
    >>> counts = [20, 2, 9, 3, 4, 6, 5, 951]
    >>> reject(counts, "f1", [0.1, 0.001], interval=["basic", "bca"], rng=np.random.default_rng(0))
    array([[ True, False],
           [ True, False]])
    """
    levels, names = check_levels(alphas), interval_names(interval, tuple(ir.INTERVALS))
    check_choice("degenerate", degenerate, ("accept", "reject"))
    cells, frozen, generator = checked_sets(counts, measure, n_replicates, rng)

    def judge(sets: Ints, keys: Keys) -> Bools:
        pvalues, left = np.empty((len(sets), len(names))), np.arange(len(sets))
        if measure == "f1" and known_levels(levels).all():
            for i, known in _pvalues_at_once(sets, keys, names, n_replicates, stratified):
                pvalues[i], left[i] = known, -1
            left = left[left >= 0]
        pvalues[left] = _pvalues(sets[left], keys[left], measure, names, n_replicates, stratified)
        return pvalues[..., None] <= levels

    shape = (len(names), len(levels))
    verdicts: Bools = on_live_sets(judge, cells, frozen, generator, degenerate == "reject", shape)
    return verdicts[..., 0, :] if isinstance(interval, str) else verdicts


def unusable_share(
    counts: ArrayLike,
    measure: str,
    n_replicates: int = 5000,
    rng: Generator | None = None,
    *,
    stratified: bool = False,
) -> Floats:
    """Return the share of replicates that bootstrap-t leaves out, since their standard error is 0.

    Parameters and Raises: as :func:`bootstrap_intervals`. 1 for degenerate sets.

    Returns
    -------
    float array, shape (...)

    Examples
    --------
    >>> counts = [2, 0, 1, 0, 0, 0, 0, 97]
    >>> bool(0.3 < unusable_share(counts, "f1", rng=np.random.default_rng(0)) < 0.5)
    True
    """
    cells, frozen, generator = checked_sets(counts, measure, n_replicates, rng)

    def share(sets: Ints, keys: Keys) -> Floats:
        found = _replicates(sets, keys, measure, n_replicates, stratified, errors=True)
        unusable = [sum(np.count_nonzero(errors == 0) for _, errors in parts) for _, _, parts in found]
        return np.array(unusable) / n_replicates

    return on_live_sets(share, cells, frozen, generator, 1.0)


def _pvalues(
    sets: Ints, keys: Keys, measure: str, names: list[str], n_replicates: int, stratified: bool
) -> Floats:
    """Return the p-value of each interval, (n_sets, n_intervals), from the same replicates."""
    pvalues, kinds = np.empty((len(sets), len(names))), [ir.INTERVALS[name] for name in names]
    errors = "studentized" in names
    for i, observed, parts in _replicates(sets, keys, measure, n_replicates, stratified, errors):
        tallies = [[kind.tally(part, observed) for kind in kinds] for part in parts]
        for j, kind in enumerate(kinds):
            counts = [sum(numbers) for numbers in zip(*(tally[j] for tally in tallies), strict=True)]
            pvalues[i, j] = kind.pvalue(counts, n_replicates, observed)
    return pvalues


def _replicates(
    sets: Ints, keys: Keys, measure: str, n_replicates: int, stratified: bool, errors: bool
) -> Iterator[tuple[int, ir.Observed, Iterator[Floats]]]:
    """Yield place, observed values and replicates, from a generator of its own, of each set."""
    for start in range(0, len(sets), BLOCK):
        for i, observed in enumerate(ir.observe(sets[start : start + BLOCK], measure, stratified), start):
            own = set_generator(keys[i])
            parts = ir.difference_replicates(sets[i], measure, n_replicates, stratified, own, errors=errors)
            yield i, observed, parts


def _pvalues_at_once(
    sets: Ints, keys: Keys, names: list[str], n_replicates: int, stratified: bool
) -> Iterator[tuple[int, Floats]]:
    """Yield place and p-values, (n_intervals,), of sets whose counts are drawn from shares known well."""
    enough = np.flatnonzero(fewest(sets) >= LEAST_COUNT)
    for start in range(0, len(enough), SMALL_BLOCK):
        block = enough[start : start + SMALL_BLOCK]
        observed = ir.observe(sets[block], "f1", stratified)
        shares = forecast(sets[block], stratified, observed)
        for i in np.flatnonzero(shares.known).tolist():
            counts = shares.draw(i, n_replicates, set_generator(keys[block[i]]))
            of_names = [ir.INTERVALS[name].pvalue(counts[name], n_replicates, observed[i]) for name in names]
            yield block[i], np.array(of_names)
