"""Bootstrap percentile test of the F1 or the error difference, on joint-outcome counts.

An evaluation set is resampled by drawing Multinomial(N, counts / N): no document is touched. How the
replicates are drawn and counted is in `bootstrap_f1` and `bootstrap_error`; when a verdict is known without
any, in `bootstrap_verdicts` and `forecast`.
"""

from collections.abc import Sequence
from functools import partial

from numpy.random import Generator
from numpy.typing import ArrayLike

from harness.measures import Bools, Ints, difference
from harness.significance import bootstrap_f1, bootstrap_verdicts
from harness.significance.replicates import as_generator, check_levels, check_replicates, on_live_sets
from harness.significance.result import TestResult, as_counts, check_choice, discordant, settle_degenerate

INTERVALS = {"equal_tailed": 2, "symmetric": 1}
"""How many tails an interval has, by which everything below this file knows it."""
MEASURES = ("f1", "error")


def bootstrap_percentile(
    counts: ArrayLike,
    measure: str,
    n_replicates: int | None = 5000,
    interval: str = "equal_tailed",
    rng: Generator | None = None,
    *,
    stratified: bool = False,
    degenerate: str = "accept",
) -> TestResult:
    """Bootstrap percentile test: reject where an interval of replicated differences leaves out 0.

    Null hypothesis: the measure of A equals that of B. Asymptotic; on few discordant documents its size
    is not the nominal one. With d* the difference in a replicate and P* the share of replicates,

    - ``"equal_tailed"``: p = min(1, 2 min(P*(d* <= 0), P*(d* >= 0))), the usual percentile interval;
    - ``"symmetric"``: p = P*(|d* - mean*| >= |mean*|), the interval "centred around the mean" of
      Keller, Bengio & Wong (2005).

    Replicates with d* = 0 always count (on both sides): comparisons with 0 are made in whole numbers. A
    replicate without a positive document or decision has F1 = 0.

    `statistic` is the observed difference, A minus B. Degenerate where d* = 0 in every possible
    replicate: no discordant document or, for F1, no true positive of either classifier.

    Parameters
    ----------
    measure : {"f1", "error"}
    n_replicates : int or None
        Replicates per set. None: the limit of infinitely many, exact for the error. For F1 it comes from the
        moments of the replicates, within a few per cent of itself; where they may be wrong by more than 15 %,
        on few documents, 5,000 replicates are drawn instead.
    interval : {"equal_tailed", "symmetric"}
    stratified : bool
        Resample positives and negatives apart, for sets that were drawn with fixed numbers of both.

    Notes
    -----
    If all documents of a set are discordant in A's favour, d* = 1 in every replicate and p = 0, however
    few they are; such a set is not counted as degenerate.

    References
    ----------
    Efron & Tibshirani (1993), An Introduction to the Bootstrap, ch. 13; Keller, Bengio & Wong (2005),
    Benchmarking Non-Parametric Statistical Tests, NIPS 18, section 2.

    Examples
    --------
    >>> import numpy as np
    >>> counts = [20, 2, 9, 3, 4, 6, 5, 951]
    >>> result = bootstrap_percentile(counts, "f1", rng=np.random.default_rng(0))
    >>> bool(0.03 < result.pvalue < 0.08)
    True
    >>> round(float(bootstrap_percentile([7, 0, 3, 0, 0, 0, 0, 0], "error", n_replicates=None).pvalue), 6)
    0.056495
    """
    check_choice("interval", interval, tuple(INTERVALS))
    cells, frozen, generator = checked_sets(counts, measure, n_replicates, rng, none=True)
    function = bootstrap_verdicts.error_pvalues if measure == "error" else bootstrap_verdicts.f1_pvalues
    test = partial(function, n_replicates=n_replicates, tails=INTERVALS[interval], stratified=stratified)
    pvalues = on_live_sets(test, cells, frozen, generator, 1.0)
    return settle_degenerate(pvalues, difference(measure)(cells), frozen, degenerate)


def reject(
    counts: ArrayLike,
    measure: str,
    alphas: ArrayLike,
    n_replicates: int | None = 5000,
    interval: str | Sequence[str] = "equal_tailed",
    rng: Generator | None = None,
    *,
    stratified: bool = False,
    degenerate: str = "accept",
) -> Bools:
    """Return verdicts ``p <= alpha`` of :func:`bootstrap_percentile` at several levels, many times faster.

    A verdict comes (see :mod:`harness.significance.forecast`)

    - from one draw: where the share of all possible replicates that are hits is known well, their number
      among `n_replicates` is binomial. For the equal-tailed interval of the error the share is exact; for F1
      it comes from the moments of the replicates, or from the lattice of the discordant documents, and is
      wrong by .2 % on average;
    - from bounds: the smallest p-value that the counts allow, and the moments with a margin, where either is
      far from the level;
    - else from replicates, the same as in :func:`bootstrap_percentile` with a generator in the same state.

    `alphas` are levels between 0 and 1. Several intervals are judged on the same replicates, each with the
    verdicts that it has alone with a generator in the same state, at little more than the cost of one.

    Returns
    -------
    bool array, shape (..., n_alphas) or, for a sequence of intervals, (..., n_intervals, n_alphas)

    Examples
    --------
    >>> import numpy as np
    >>> counts = [[20, 2, 9, 3, 4, 6, 5, 951], [20, 1, 30, 3, 4, 6, 5, 931]]
    >>> reject(counts, "f1", [0.1, 0.001], rng=np.random.default_rng(0))
    array([[ True, False],
           [ True,  True]])
    """
    levels, names = check_levels(alphas), interval_names(interval, tuple(INTERVALS))
    check_choice("degenerate", degenerate, ("accept", "reject"))
    cells, frozen, generator = checked_sets(counts, measure, n_replicates, rng, none=True)
    function = bootstrap_verdicts.error_verdicts if measure == "error" else bootstrap_verdicts.f1_verdicts
    tails = [INTERVALS[name] for name in names]
    judge = partial(function, levels=levels, n_replicates=n_replicates, tails=tails, stratified=stratified)
    shape = (len(names), len(levels))
    verdicts: Bools = on_live_sets(judge, cells, frozen, generator, degenerate == "reject", shape)
    return verdicts[..., 0, :] if isinstance(interval, str) else verdicts


def checked_sets(
    counts: ArrayLike, measure: str, n_replicates: int | None, rng: Generator | None, *, none: bool = False
) -> tuple[Ints, Bools, Generator]:
    """Return the counts, which sets are degenerate and a generator after checking all that is given."""
    check_replicates(n_replicates, none=none)
    cells = as_counts(counts, bootstrap_f1.MAX_DOCUMENTS)
    return cells, degenerate_sets(cells, measure), as_generator(rng)


def interval_names(interval: str | Sequence[str], allowed: tuple[str, ...]) -> list[str]:
    """Return the names of one or several intervals, all of them allowed."""
    names = [interval] if isinstance(interval, str) else list(interval)
    for name in names or ["none"]:
        check_choice("interval", name, allowed)
    return names


def degenerate_sets(counts: ArrayLike, measure: str) -> Bools:
    """Return the `degenerate` of :func:`bootstrap_percentile` without its p-values, shape (...).

    Examples
    --------
    >>> degenerate_sets([[0, 0, 0, 4, 1, 2, 0, 93], [5, 0, 0, 1, 1, 0, 0, 93]], "error")
    array([False,  True])
    >>> degenerate_sets([[0, 0, 0, 4, 1, 2, 0, 93], [5, 0, 0, 1, 1, 0, 0, 93]], "f1")
    array([ True,  True])
    """
    check_choice("measure", measure, MEASURES)
    cells = as_counts(counts)
    if measure == "f1":
        return bootstrap_f1.frozen(cells)
    n01, n10 = discordant(cells)
    none_discordant: Bools = n01 + n10 == 0
    return none_discordant
