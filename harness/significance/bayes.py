"""Bayesian comparison of two classifiers: a Dirichlet posterior on the shares of the eight cells."""

from collections.abc import Mapping
from numbers import Integral, Real

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc

from harness.measures import check_measure, difference
from harness.significance.dirichlet_draws import gamma_shapes, pvalue, settle, sign_function, stages
from harness.significance.dirichlet_forecast import forecast
from harness.significance.goutte import goutte_gaussier as goutte_gaussier
from harness.significance.goutte import goutte_gaussier_paired as goutte_gaussier_paired
from harness.significance.replicates import set_keys
from harness.significance.result import TestResult, as_counts, check_choice, settle_degenerate
from harness.significance.settling import largest_rejecting, settled_at_once
from harness.significance.stopping import check_levels
from harness.significance.wald import estimate

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

TWO_CELLS = {"error": ((1, 6), (2, 5)), "recall": ((1,), (2,))}
"""Measures whose difference has the sign of the difference of two shares, and their cells."""


def dirichlet(
    counts: ArrayLike,
    measure: str,
    prior: float = 0.5,
    rng: np.random.Generator | None = None,
    *,
    n_replicates: int = 5000,
    degenerate: str = "accept",
    costs: Mapping[str, float] | None = None,
) -> TestResult:
    """Bayesian test: twice the smaller posterior probability of A above and of A below B.

    Null hypothesis: the measure of A equals that of B; the verdict is Bayesian and calibrated only
    asymptotically. The shares of the eight cells have the posterior Dirichlet(counts + prior); with d the
    measure's difference, p = 2 min(P(d > 0), P(d < 0)). For error and recall d > 0 means that one share
    passes another, and p is a beta tail; for the others it is estimated from `n_replicates` draws. Draws
    with d = 0 are left out of both probabilities; there are none unless all are, and then p = 1.

    ``prior=0`` is the Bayesian bootstrap of Rubin (1981). It takes cells without a document to be
    impossible and rejects on a single discordant one: its size is many times the level on small sets.

    Parameters
    ----------
    counts : int array, shape (..., 8)
        Joint outcomes e1..e8 of each evaluation set.
    measure : {"f1", "error", "precision", "recall", "dcf", "balanced_error"}
        What is compared.
    prior : float
        Pseudo-count of each cell, >= 0.
    rng : numpy.random.Generator, optional
        Where the draws come from; give one for results that can be repeated. None: a fresh,
        unpredictable one. Each set takes the same part of the stream whether sets are tested together or in
        batches one after the other.
    n_replicates : int
        Draws per set.
    degenerate : {"accept", "reject"}
        Verdict where d = 0 whatever the shares of the cells that hold a document: no document on which the
        classifiers differ in a way that the measure counts or, for F1, no true positive of either, and the
        like (p = 1 or p = 0).
    costs : mapping, optional
        For ``"dcf"``: cost_fn, cost_fp and prior as :func:`harness.measures.dcf_difference` takes them; 1, 1
        and 1/2 unless given.

    Returns
    -------
    TestResult
        Arrays of shape (...). `statistic` is the observed difference, A minus B.

    Raises
    ------
    ValueError
        If a count is negative or fractional, the shape is wrong, or an argument has a value that is not
        allowed.

    See Also
    --------
    reject : the same verdicts, many times faster.

    References
    ----------
    Rubin (1981), The Bayesian bootstrap, Annals of Statistics 9, 130-134; Goutte & Gaussier (2005), ECIR,
    section 3, for the error.

    Examples
    --------
    >>> counts = [20, 2, 9, 3, 4, 6, 5, 951]
    >>> result = dirichlet(counts, "f1", rng=np.random.default_rng(0))
    >>> bool(0.03 < result.pvalue < 0.06)
    True
    >>> round(float(dirichlet(counts, "recall").pvalue), 4)
    0.0297
    """
    cells, options, generator = _checked(counts, measure, prior, rng, n_replicates, costs)
    d = difference(measure, **options)(cells)
    frozen = degenerate_sets(cells, measure, options)
    sets, live = cells.reshape(-1, 8), np.flatnonzero(~frozen)
    pvalues = np.ones(len(sets))
    if measure in TWO_CELLS:
        pvalues[live] = _beta_pvalues(sets[live], measure, prior)
    else:
        shapes, sign = gamma_shapes(sets[live], measure, prior), sign_function(measure, options)
        keys = set_keys(len(sets), generator)[live]
        for place, row, key in zip(live, shapes, keys, strict=True):
            pvalues[place] = pvalue(np.sum(list(stages(row, sign, n_replicates, key)), axis=0))
    return settle_degenerate(pvalues.reshape(frozen.shape), d, frozen, degenerate)


def reject(
    counts: ArrayLike,
    measure: str,
    alphas: ArrayLike,
    n_replicates: int = 5000,
    prior: float = 0.5,
    rng: np.random.Generator | None = None,
    *,
    degenerate: str = "accept",
    costs: Mapping[str, float] | None = None,
) -> NDArray[np.bool_]:
    """Return ``dirichlet(...).pvalue <= alpha`` at several levels, stopping early.

    The draws are those of :func:`dirichlet` with a generator in the same state, in stages. They stop when
    the verdict at every level is settled: when the draws to come would turn it with a probability of at most
    about 1e-4 (see :mod:`harness.significance.stopping`). Many sets need none: the moments of the posterior
    tell (:mod:`harness.significance.dirichlet_forecast`).

    Parameters
    ----------
    counts, measure, n_replicates, prior, rng, degenerate, costs
        As in :func:`dirichlet`.
    alphas : float or sequence of floats
        Levels, each between 0 and 1.

    Returns
    -------
    bool array, shape (..., n_alphas)
        True where the null hypothesis is rejected.

    Raises
    ------
    ValueError
        As :func:`dirichlet`, or if a level is not between 0 and 1.

    Examples
    --------
    >>> reject([20, 2, 9, 3, 4, 6, 5, 951], "f1", [0.2, 0.01], rng=np.random.default_rng(0))
    array([ True, False])
    """
    cells, options, generator = _checked(counts, measure, prior, rng, n_replicates, costs)
    levels = check_levels(alphas)
    check_choice("degenerate", degenerate, ("accept", "reject"))
    sets, frozen = cells.reshape(-1, 8), degenerate_sets(cells, measure, options).reshape(-1)
    live = np.flatnonzero(~frozen)
    verdicts = np.zeros((len(sets), len(levels)), dtype=bool)
    verdicts[frozen] = degenerate == "reject"
    if measure in TWO_CELLS:
        verdicts[live] = _beta_pvalues(sets[live], measure, prior)[:, None] <= levels
    else:
        shapes, sign = gamma_shapes(sets[live], measure, prior), sign_function(measure, options)
        keys = set_keys(len(sets), generator)[live]
        limits = [largest_rejecting(float(alpha), n_replicates, 2) for alpha in levels]
        known = forecast(shapes, measure, options)
        rejected, settled = settled_at_once(known, limits, n_replicates, 2)
        for i in np.flatnonzero(~settled.all(axis=1)):
            drawn = settle(stages(shapes[i], sign, n_replicates, keys[i]), levels.tolist(), n_replicates)
            rejected[i] = np.where(settled[i], rejected[i], drawn)
        verdicts[live] = rejected
    return verdicts.reshape(*cells.shape[:-1], len(levels))


def degenerate_sets(
    counts: ArrayLike, measure: str, costs: Mapping[str, float] | None = None
) -> NDArray[np.bool_]:
    """Return the `degenerate` of :func:`dirichlet` without its p-values, shape (...).

    The difference is 0 on every distribution over the cells that hold a document where it and its first-order
    variance are 0, and only there.

    Raises
    ------
    ValueError
        If a count is negative or fractional, the shape is wrong, or there is no such measure or cost.

    Examples
    --------
    >>> degenerate_sets([[0, 0, 0, 4, 1, 2, 0, 93], [5, 1, 1, 0, 0, 0, 0, 93]], "f1")
    array([ True, False])
    >>> degenerate_sets([[0, 0, 0, 4, 1, 2, 0, 93], [5, 1, 1, 0, 0, 0, 0, 93]], "precision")
    array([ True,  True])
    """
    d, deviation = estimate(as_counts(counts), measure, **(costs or {}))
    return (d == 0) & (deviation == 0)


def _checked(
    counts: ArrayLike,
    measure: str,
    prior: float,
    rng: np.random.Generator | None,
    n_replicates: int,
    costs: Mapping[str, float] | None,
) -> tuple[Ints, dict[str, float], np.random.Generator]:
    """Check what both functions are given; return counts, costs and generator, filled in."""
    options = check_measure(measure, **(costs or {}))
    options = options if measure == "dcf" else {}
    if isinstance(prior, bool) or not isinstance(prior, Real) or not 0 <= prior < np.inf:
        raise ValueError(f"prior: {prior!r} is not allowed; a finite number >= 0 is")
    if isinstance(n_replicates, bool) or not isinstance(n_replicates, Integral) or n_replicates < 1:
        raise ValueError(f"n_replicates: {n_replicates!r} is not allowed; a whole number >= 1 is")
    if rng is not None and not isinstance(rng, np.random.Generator):
        raise ValueError(f"rng: {rng!r} is not allowed; a numpy.random.Generator or None is")
    return as_counts(counts), options, np.random.default_rng() if rng is None else rng


def _beta_pvalues(sets: Ints, measure: str, prior: float) -> Floats:
    """Return the p-values of measures that compare two shares, none of the sets degenerate."""
    a, b = (sets[:, cells].sum(axis=1) + prior * len(cells) for cells in TWO_CELLS[measure])
    large, small = np.maximum(a, b), np.minimum(a, b)  # the smaller share is 0 for certain where small = 0
    tail = betainc(large, np.where(small > 0, small, 1.0), 0.5)
    return np.minimum(1.0, np.where(small > 0, 2 * tail, 0.0))
