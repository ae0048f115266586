"""Bayesian comparison of two classifiers: a Dirichlet posterior on the shares of the eight cells."""

from collections.abc import Mapping
from numbers import Real

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike
from scipy.special import bdtr, betainc

from harness.errors import check_choice, require
from harness.measures import Bools, Floats, Ints, check_measure, difference
from harness.significance.dirichlet import LEAST_PRIOR, gamma_shapes, sign_function, signs, smaller_share
from harness.significance.forecast import largest_rejecting
from harness.significance.goutte import goutte_gaussier as goutte_gaussier
from harness.significance.goutte import goutte_gaussier_paired as goutte_gaussier_paired
from harness.significance.replicates import Keys, as_generator, check_levels, check_replicates, on_live_sets
from harness.significance.result import TestResult, as_counts, settle_degenerate
from harness.significance.wald import estimate

TWO_CELLS = {"error": ((1, 6), (2, 5)), "recall": ((1,), (2,))}
"""Measures whose difference has the sign of the difference of two shares, and their cells."""


def dirichlet(
    counts: ArrayLike,
    measure: str,
    prior: float = 0.5,
    rng: Generator | None = None,
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

    `statistic` is the observed difference, A minus B. Degenerate where d = 0 whatever the shares of the
    cells that hold a document: no document on which the classifiers differ in a way that the measure
    counts or, for F1, no true positive of either, and the like.

    Parameters
    ----------
    measure : {"f1", "error", "precision", "recall", "dcf", "balanced_error"}
    prior : float
        Pseudo-count of each cell, >= 0.
    costs : mapping, optional
        For ``"dcf"``: cost_fn, cost_fp and prior as :func:`harness.measures.dcf_difference` takes them; 1, 1
        and 1/2 unless given.

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
    frozen = degenerate_sets(cells, measure, options)

    def test(sets: Ints, keys: Keys) -> Floats:
        if measure in TWO_CELLS:
            return _beta_pvalues(sets, measure, prior)
        return _drawn_pvalues(sets, keys, measure, prior, n_replicates, options)

    pvalues = on_live_sets(test, cells, frozen, generator, 1.0)
    return settle_degenerate(pvalues, difference(measure, **options)(cells), frozen, degenerate)


def reject(
    counts: ArrayLike,
    measure: str,
    alphas: ArrayLike,
    n_replicates: int = 5000,
    prior: float = 0.5,
    rng: Generator | None = None,
    *,
    degenerate: str = "accept",
    costs: Mapping[str, float] | None = None,
) -> Bools:
    """Return verdicts that are as frequent as ``dirichlet(...).pvalue <= alpha``, at several levels.

    The smaller of P(d > 0) and P(d < 0) is computed (:mod:`harness.significance.dirichlet`), to about .2 % on
    average; how many of the draws lie on that side is then binomial and takes one random number. With a prior
    between 0 and .4 the verdicts are those of the p-values.

    Returns
    -------
    bool array, shape (..., n_alphas)

    Examples
    --------
    >>> reject([20, 2, 9, 3, 4, 6, 5, 951], "f1", [0.2, 0.01], rng=np.random.default_rng(0))
    array([ True, False])
    """
    cells, options, generator = _checked(counts, measure, prior, rng, n_replicates, costs)
    levels, frozen = check_levels(alphas), degenerate_sets(cells, measure, options)
    check_choice("degenerate", degenerate, ("accept", "reject"))
    most = np.array([largest_rejecting(alpha, n_replicates, 2) for alpha in levels.tolist()], dtype=float)

    def judge(sets: Ints, keys: Keys) -> Bools:
        if measure in TWO_CELLS:
            return _beta_pvalues(sets, measure, prior)[:, None] <= levels
        if 0 < prior < LEAST_PRIOR:
            return _drawn_pvalues(sets, keys, measure, prior, n_replicates, options)[:, None] <= levels
        share = smaller_share(gamma_shapes(sets, measure, prior), measure, options)[:, None]
        rejecting = bdtr(most, n_replicates, share) + bdtr(most, n_replicates, 1 - share)
        return np.asarray(((keys[:, :1] >> np.uint64(11)) * 2.0**-53 < rejecting) & (most >= 0))

    return on_live_sets(judge, cells, frozen, generator, degenerate == "reject", (len(levels),))


def degenerate_sets(counts: ArrayLike, measure: str, costs: Mapping[str, float] | None = None) -> Bools:
    """Return the `degenerate` of :func:`dirichlet` without its p-values, shape (...).

    The difference is 0 on every distribution over the cells that hold a document where it and its first-order
    variance are 0, and only there.

    Examples
    --------
    >>> degenerate_sets([[0, 0, 0, 4, 1, 2, 0, 93], [5, 1, 1, 0, 0, 0, 0, 93]], "f1")
    array([ True, False])
    """
    d, deviation = estimate(as_counts(counts), measure, **(costs or {}))
    constant: Bools = (d == 0) & (deviation == 0)
    return constant


def _checked(
    counts: ArrayLike,
    measure: str,
    prior: float,
    rng: Generator | None,
    n_replicates: int,
    costs: Mapping[str, float] | None,
) -> tuple[Ints, dict[str, float], Generator | None]:
    """Return counts, costs and, for measures that need draws, a generator, all checked."""
    options = check_measure(measure, **(costs or {}))
    number = isinstance(prior, Real) and not isinstance(prior, bool) and 0 <= prior < np.inf
    require(number, f"prior: {prior!r} is not allowed; a finite number >= 0 is")
    check_replicates(n_replicates)
    generator = as_generator(rng)
    drawn = None if measure in TWO_CELLS else generator
    return as_counts(counts), options if measure == "dcf" else {}, drawn


def _drawn_pvalues(
    sets: Ints, keys: Keys, measure: str, prior: float, n_replicates: int, costs: Mapping[str, float]
) -> Floats:
    """Return the p-values from draws, none of the sets degenerate."""
    shapes, sign = gamma_shapes(sets, measure, prior), sign_function(measure, costs)
    drawn = [signs(row, sign, n_replicates, key) for row, key in zip(shapes, keys, strict=True)]
    found = np.array(drawn).reshape(-1, 2)
    untied = found.sum(axis=1)
    return np.where(untied > 0, 2 * found.min(axis=1) / np.maximum(untied, 1), 1.0)


def _beta_pvalues(sets: Ints, measure: str, prior: float) -> Floats:
    """Return the p-values of measures that compare two shares, none of the sets degenerate."""
    a, b = (sets[:, cells].sum(axis=1) + prior * len(cells) for cells in TWO_CELLS[measure])
    large, small = np.maximum(a, b), np.minimum(a, b)  # the smaller share is 0 for certain where small = 0
    tail = betainc(large, np.where(small > 0, small, 1.0), 0.5)
    return np.minimum(1.0, np.where(small > 0, 2 * tail, 0.0))
