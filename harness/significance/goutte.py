"""The two Bayesian comparisons of Goutte & Gaussier (2005), without replicates."""

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike
from scipy.special import betainc, betaln

from harness.measures import Floats, Ints, error_difference, f1_difference
from harness.significance.bootstrap_f1 import frozen
from harness.significance.equal_counts import worked_out_once
from harness.significance.replicates import as_generator, check_replicates
from harness.significance.result import TestResult, as_counts, discordant, settle_degenerate

MAX_DOCUMENTS = 10**7
"""Sets up to this size: the sum that gives P(F_A > F_B) has as many terms as a classifier has errors."""

BLOCK = 200_000
"""Terms computed at once, so that memory does not grow with the number of sets."""


def goutte_gaussier(
    counts: ArrayLike,
    rng: Generator | None = None,
    *,
    n_replicates: int | None = None,
    degenerate: str = "accept",
) -> TestResult:
    """Compare two posterior F1 as if the classifiers had been evaluated on different documents.

    Null hypothesis: F1 of A equals that of B; the verdict is Bayesian, and conservative on common documents,
    whose correlation it ignores (:func:`harness.significance.bayes.dirichlet` does not). With
    the prior 1/2 on each cell, F = U / (U + V), U ~ Gamma(TP + 1/2) of scale 2 and V ~ Gamma(FP + FN + 1) of
    scale 1, independent for A and B, and p = 2 min(P(F_A > F_B), P(F_A < F_B)).

    F grows with U / V and the scale is the same for A and B: F_A > F_B has the probability that one beta
    variable of parameters (TP + 1/2, FP + FN + 1) passes another, a finite sum since FP + FN + 1 is
    whole. It is computed, not drawn.

    `statistic` is the observed difference of F1, A minus B. Degenerate where there is no discordant
    document, or no true positive of either classifier.

    Parameters
    ----------
    n_replicates : int or None
        None: the exact probability. Otherwise its estimate from so many draws of (F_A, F_B), as in the paper;
        the number of draws with F_A > F_B is binomial, and drawn as such.

    References
    ----------
    Goutte & Gaussier (2005), A probabilistic interpretation of precision, recall and F-score, with
    implication for evaluation, ECIR, section 2.3, eq. 11, where the probability is estimated from draws.
    The sum is a distribution function of the beta negative binomial law.

    Examples
    --------
    >>> result = goutte_gaussier([20, 2, 9, 3, 4, 6, 5, 951])
    >>> round(float(result.pvalue), 4)
    0.101
    """
    cells = as_counts(counts, MAX_DOCUMENTS)
    e1, e2, e3, e4, e5, e6, e7, _ = cells.reshape(-1, 8).T
    chance = probability_greater((e1 + e3, e2 + e4 + e5 + e7), (e1 + e2, e3 + e4 + e5 + e6))
    if n_replicates is not None:
        check_replicates(n_replicates)
        chance = as_generator(rng).binomial(n_replicates, chance) / n_replicates
    pvalue = 2 * np.minimum(chance, 1 - chance).reshape(cells.shape[:-1])
    return settle_degenerate(pvalue, f1_difference(cells), frozen(cells), degenerate)


def goutte_gaussier_paired(counts: ArrayLike, *, degenerate: str = "accept") -> TestResult:
    """Compare how often each classifier is the one that is right: the Bayesian sign test of the paper.

    Null hypothesis: a document on which only one classifier is right favours either with probability
    1/2 (equal error rates). With n1 wins of A (documents that only B gets wrong), n2 wins of B and the prior
    1/2 on a win of either, the share of A's wins has the posterior Beta(n1 + 1/2, n2 + 1/2), and p
    is twice the smaller of its weights above and below 1/2. Exact; close to McNemar's mid-p.

    `statistic` is the difference of the error rates, A minus B: negative where A wins more often.
    Degenerate where there is no discordant document.

    References
    ----------
    Goutte & Gaussier (2005), ECIR, section 3 (paired comparison).

    Examples
    --------
    >>> result = goutte_gaussier_paired([0, 4, 17, 0, 0, 0, 0, 79])
    >>> round(1 - float(result.pvalue) / 2, 5)  # P(A is the better one)
    0.9983
    """
    cells = as_counts(counts)
    n01, n10 = discordant(cells)
    more, fewer = np.maximum(n01, n10), np.minimum(n01, n10)
    pvalue = np.minimum(1, worked_out_once(lambda m, n: 2 * betainc(m + 0.5, n + 0.5, 0.5), more, fewer))
    return settle_degenerate(pvalue, error_difference(cells), n01 + n10 == 0, degenerate)


def probability_greater(a: tuple[Ints, Ints], b: tuple[Ints, Ints]) -> Floats:
    """Return P(F_A > F_B), shape (n_sets,).

    With X ~ Beta(s, m), Y ~ Beta(t, n) and m whole, P(Y > X) is the sum over i < m of terms that begin with
    B(n, s + t) / B(n, t) and grow by (n + i) (s + i) / ((n + s + t + i) (1 + i)).

    `a` and `b` are each true positives and errors (false positives and false negatives), arrays (n_sets,).

    Examples
    --------
    The paper's (TP, FP, FN) = (3, 2, 3) and (10, 10, 5), .4261 by simulation there:

    >>> probability_greater((np.array([3]), np.array([5])), (np.array([10]), np.array([15]))).round(4)
    array([0.4263])
    """
    (s, m), (t, n) = a, b
    swap = m > n  # the sum over the fewer errors
    s, m, t, n = np.where(swap, (t, n, s, m), (s, m, t, n)) + np.array([[0.5], [1], [0.5], [1]])
    chance = np.empty(len(m))
    order = np.argsort(-m, kind="stable")
    start = 0
    while start < len(order):  # the longest sum of a block is its first
        block = order[start : start + max(1, BLOCK // int(m[order[start]]))]
        chance[block] = _beta_sum(s[block], m[block], t[block], n[block])
        start += len(block)
    return np.clip(np.where(swap, chance, 1 - chance), 0, 1)


def _beta_sum(s: Floats, m: Floats, t: Floats, n: Floats) -> Floats:
    """Return P(Y > X) as in :func:`probability_greater`, for sets with about as many terms."""
    i = np.arange(int(m.max()) - 1)
    s, m, t, n = s[:, None], m[:, None], t[:, None], n[:, None]
    logs = np.log((n + i) * (s + i) / ((n + s + t + i) * (1 + i)))
    first = betaln(n, s + t) - betaln(n, t)
    terms = np.exp(first + np.concatenate([np.zeros_like(first), np.cumsum(logs, axis=1)], axis=1))
    # summed one by one, for a sum by halves would round by the length of the block's longest sum
    sums = np.cumsum(terms, axis=1)
    return np.take_along_axis(sums, m.astype(int) - 1, axis=1)[:, 0]
