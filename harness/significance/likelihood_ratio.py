"""Likelihood ratio and score test of equal F1, error, precision or recall of two classifiers.

The multinomial of the eight cells is fitted under the null hypothesis and set against the counts. For F1
and precision this needs no general optimiser. With T the true positives of a classifier and U the documents
that are positive or that it takes for positive, F1 = 2T / (T + U), hence

    F1_A = F1_B   if and only if   T_A / T_B = U_A / U_B.

Call the common value the *ratio*. T depends on the shares of e1, e2, e3 within H = e1 + ... + e5, and U on
the shares of H, e6, e7 within the documents that are not e8; the likelihood is a product of one factor for
the former and one for the latter. So, for a given ratio, there are two separate problems of one kind, the
equality of two paired proportions up to a known ratio, and each is solved by a quadratic equation: from the
table (common, only_b, only_a), which is (e1, e2, e3) or (H, e6, e7), find the nearest with
common + only_a = ratio (common + only_b). Precision is T / (T + FP): the same with (e5, e6, e7) in place of
(H, e6, e7).

What is left is to minimise over one number. The deviance of a table is a convex function of log(ratio) that
is 0 at the table's own ratio (:func:`pulls` has its slope, which only rises), so the best ratio is
unique and lies between those of the two tables. e8 plays no part, and e4 and e5 only by their sum (F1).
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import xlog1py

from harness.errors import check_choice
from harness.measures import Bools, Floats, Ints
from harness.significance.equal_counts import keep_last
from harness.significance.halley import highest
from harness.significance.result import TestResult, as_counts, chi_square_upper, discordant, settle_degenerate
from harness.significance.weighted import bartlett, fit, kinds, root_change, weight_of

MEASURES = ("f1", "error", "precision", "recall")
CORRECTIONS = ("none", "bartlett", "signed_root")

BLOCK = 8192
"""Sets fitted at a time: some 10 MB of work space, whatever the number of sets."""

FARTHEST = 46.0
"""log(ratio) is looked for from -46 to 46; counts up to 2**53 never need more."""

KINK = 1e-13
"""Where a cell without a document begins to receive mass the derivatives jump, and there they are 0/0: so
near to it, as a share of the counts, they are taken for less than they are."""


def likelihood_ratio(
    counts: ArrayLike, measure: str = "f1", correction: str = "none", *, degenerate: str = "accept"
) -> TestResult:
    """Likelihood ratio test of equal F1 (or error, precision, recall).

    Null hypothesis: the measure of A equals that of B on the population. Asymptotic: the statistic
    ``2 sum n_i log(n_i / (N p0_i))``, with p0 the most likely cell probabilities under the null
    hypothesis, is taken for a chi-square with 1 degree of freedom. p0 may put mass on cells that the set
    does not show; without that a set with one discordant document would have no fit at all.

    On few discordant documents the approximation is rough: on two populations with 1 % positives and F1
    near .64 the size at the 5 % level was .017 and .001 at N = 300, .070 and .008 at N = 1000, .055 and
    .053 at N = 3000. ``correction="bartlett"`` divides the statistic by its mean under the fitted null, to
    the next order in the counts, which takes most of that away (docs/level.md). ``"signed_root"`` adds to the
    statistic's root what makes it Barndorff-Nielsen's r*, normal to a higher order still.

    `statistic` is the chi-square, which has no sign. Degenerate where there is nothing to compare: no
    discordant document; for F1 no true positive of either classifier; for the precision that, no false
    positive of either, or a classifier that decides for no document; for the recall no positive that only
    one finds.

    Parameters
    ----------
    measure : {"f1", "error", "precision", "recall"}
        What is compared. For the error it is ``2 [n01 log(2 n01 / m) + n10 log(2 n10 / m)]`` with
        m = n01 + n10; for the recall the same with e2 and e3.
    correction : {"none", "bartlett", "signed_root"}
        The corrections are there for F1 and the precision.

    References
    ----------
    Wilks (1938), Annals of Mathematical Statistics 9, 60-62. The fit of one table: Nam & Blackwelder
    (2002), Statistics in Medicine 21, 689-699 (ratio of two paired proportions). The correction:
    :func:`harness.significance.weighted.bartlett` and ``root_change`` beside it.

    Examples
    --------
    One positive that only A finds, and no other discordant document: 2 log 2.

    >>> result = likelihood_ratio([10, 0, 1, 5, 1, 0, 0, 983])
    >>> round(float(result.statistic), 4), round(float(result.pvalue), 3)
    (1.3863, 0.239)
    >>> round(float(likelihood_ratio([20, 2, 9, 3, 4, 6, 5, 951]).pvalue), 4)
    0.0413
    >>> counts = [20, 2, 9, 3, 4, 6, 5, 951]
    >>> tests = (likelihood_ratio(counts, correction=name) for name in ("bartlett", "signed_root"))
    >>> [round(float(test.pvalue), 4) for test in tests]
    [0.044, 0.0441]
    """
    check_choice("correction", correction, CORRECTIONS)
    if correction == "none":
        return _result(counts, measure, 0, degenerate)
    check_choice("measure", measure, ("f1", "precision"))
    result = _result(counts, measure, 0, "accept")
    cells, found = as_counts(counts)[~result.degenerate], result.statistic.copy()
    weight, of_kinds = weight_of(cells, measure), kinds(cells).astype(float)
    if correction == "bartlett":
        found[~result.degenerate] /= bartlett(fit(of_kinds, weight), weight)
    else:
        root = np.sqrt(found[~result.degenerate]) + root_change(of_kinds, weight)
        found[~result.degenerate] = np.maximum(root, 0) ** 2
    return settle_degenerate(chi_square_upper(found), found, result.degenerate, degenerate)


def score(counts: ArrayLike, measure: str = "f1", *, degenerate: str = "accept") -> TestResult:
    """Rao's score test of equal F1 (or error, precision, recall).

    Null hypothesis: the measure of A equals that of B on the population. Asymptotic: the statistic
    ``sum (n_i - N p0_i)^2 / (N p0_i)``, with p0 the most likely cell probabilities under the null
    hypothesis (the fit of :func:`likelihood_ratio`), is taken for a chi-square with 1 degree of freedom.
    The sum runs over all eight cells: one that the set does not show contributes its N p0_i. For the error
    it is ``(n01 - n10)^2 / (n01 + n10)``, McNemar's statistic without correction.

    On few discordant documents it is conservative: on the populations of :func:`likelihood_ratio` the size
    at the 5 % level was .002 and 0 at N = 300, .036 and .001 at N = 1000, .051 and .015 at N = 3000.

    `statistic` is the chi-square, which has no sign.

    References
    ----------
    Rao (1948), Mathematical Proceedings of the Cambridge Philosophical Society 44, 50-57.

    Examples
    --------
    >>> round(float(score([10, 0, 1, 5, 1, 0, 0, 983]).statistic), 4)
    1.0
    >>> round(float(score([20, 2, 9, 3, 4, 6, 5, 951]).pvalue), 4)
    0.0437
    """
    return _result(counts, measure, 1, degenerate)


def _result(counts: ArrayLike, measure: str, which: int, degenerate: str) -> TestResult:
    check_choice("measure", measure, MEASURES)
    statistics, frozen = _statistics(as_counts(counts), measure)
    chosen = statistics[which].copy()
    return settle_degenerate(chi_square_upper(chosen), chosen, frozen.copy(), degenerate)


@keep_last
def _statistics(cells: Ints, measure: str) -> tuple[Floats, Bools]:
    """Return deviance and Pearson's chi-square, (2, ...), and where there is nothing to compare."""
    frozen = nothing_to_compare(cells, measure)
    rows = np.ascontiguousarray(cells[~frozen].T, dtype=float)
    found = np.zeros((2, rows.shape[1]))
    fit = _fit_pair if measure in ("error", "recall") else fit_ratio
    for start in range(0, rows.shape[1], BLOCK):
        block = slice(start, start + BLOCK)
        found[:, block] = fit(rows[:, block], measure)
    statistics = np.zeros((2, *frozen.shape))
    statistics[:, ~frozen] = np.maximum(found, 0)  # rounding may leave -1e-16 where all fits
    return statistics, frozen


def nothing_to_compare(cells: Ints, measure: str) -> Bools:
    """Tell which sets are degenerate."""
    e1, e2, e3, _, e5, e6, e7, _ = np.moveaxis(cells, -1, 0)
    if measure == "recall":
        return np.asarray(e2 + e3 == 0)
    n01, n10 = discordant(cells)
    frozen = n01 + n10 == 0
    if measure == "error":
        return np.asarray(frozen)
    frozen = frozen | (e1 + e2 + e3 == 0)
    if measure == "precision":
        frozen = frozen | (e5 + e6 + e7 == 0) | (e1 + e3 + e5 + e7 == 0) | (e1 + e2 + e5 + e6 == 0)
    return np.asarray(frozen)


def _fit_pair(cells: Floats, measure: str) -> tuple[Floats, Floats]:
    """Fit equal shares of two cells: those of the documents that one classifier alone gets wrong."""
    _, e2, e3, _, _, e6, e7, _ = cells
    left, right = (e2, e3) if measure == "recall" else (e2 + e7, e3 + e6)
    lean = (left - right) / (left + right)  # 2 left / (left + right) = 1 + lean
    return 2 * (xlog1py(left, lean) + xlog1py(right, -lean)), (left - right) * lean


def fit_ratio(cells: Floats, measure: str) -> tuple[Floats, Floats]:
    """Fit the common ratio of two tables; cells of shape (8, n_sets)."""
    e1, e2, e3, e4, e5, e6, e7, _ = cells
    both = e1 + e2 + e3 + e4 + e5 if measure == "f1" else e5
    tables = np.array([[e1, both], [e2, e6], [e3, e7]])  # (common, only_b, only_a) x table x set
    log_ratio = common_log_ratio(tables)
    common, only_b, only_a = tables
    ratio, less = np.exp(log_ratio), -np.expm1(log_ratio)
    multiplier = multipliers(ratio, less, tables)
    # n_i / (N p0_i) - 1: less multiplier in common, -ratio multiplier in only_b, multiplier in only_a
    excess = less * multiplier
    deviance = xlog1py(common, excess) + xlog1py(only_b, -ratio * multiplier) + xlog1py(only_a, multiplier)
    pearson = multiplier * _surplus(less, tables)  # sum n_i^2 / (N p0_i) - N in each table
    if measure == "f1":
        pearson[0] *= 1 + excess[1]  # the cells of the first table are part of H in the second
    return 2 * deviance.sum(axis=0), pearson.sum(axis=0)


def _surplus(less: Floats, tables: Floats) -> Floats:
    """Return by how much common + only_a exceeds ratio (common + only_b); `less` is 1 - ratio."""
    common, only_b, only_a = tables
    return np.asarray((only_a - only_b) + less * (common + only_b))


def _root(ratio: Floats, less: Floats, tables: Floats) -> Floats:
    """Return the root of the discriminant of the two quadratic equations below."""
    common, only_b, only_a = tables
    differ = _surplus(less, tables) + less * (ratio * (common + only_b))  # in t_a - ratio^2 t_b
    return np.asarray(np.sqrt(differ**2 + 4 * ratio**2 * (only_a * only_b)))


def multipliers(ratio: Floats, less: Floats, tables: Floats) -> Floats:
    """Return each table's Lagrange multiplier of common + only_a = ratio (common + only_b).

    The fitted cells are common / (1 + (1 - ratio) l), only_b / (1 - ratio l), only_a / (1 + l), with l from
    -1 to 1 / ratio. The constraint is quadratic in l, >= 0 at the one end and <= 0 at the other; at an end
    itself a cell without a document receives mass.
    """
    common, only_b, only_a = tables
    square = -ratio * less * (common + only_b + only_a)
    linear = less**2 * common - ratio * (1 + less) * only_b + (less - ratio) * only_a
    constant, root = _surplus(less, tables), _root(ratio, less, tables)
    falls = linear <= 0  # two ways to write the same root; each loses no digits on its side
    above = np.where(falls, 2 * constant, -linear - root)
    below = np.where(falls, root - linear, 2 * square)
    # 0/0: no discordant document and ratio 1, nothing to move
    multiplier = np.divide(above, below, out=np.zeros_like(above), where=below != 0)
    return np.asarray(np.clip(multiplier, -1, 1 / ratio))


def pulls(log_ratio: Floats, tables: Floats) -> tuple[Floats, Floats, Floats]:
    """Return of each table M, less the derivative of half its deviance by log(ratio), and M' and M''.

    M = l T_A, where T_A is common + only_a of the fit. With t_a = common + only_a and t_b = common + only_b
    of the counts, eliminating the fit leaves
    (1 / ratio - ratio) M^2 + 2 (only_a + only_b) M = t_a^2 / ratio - ratio t_b^2;
    differentiated it gives M', which is never positive, and M''.
    """
    common, only_b, only_a = tables
    ratio, less = np.exp(log_ratio), -np.expm1(log_ratio)
    t_a, t_b, only = common + only_a, ratio * (common + only_b), ratio * (only_a + only_b)
    root, square = np.maximum(_root(ratio, less, tables), KINK * (t_a + t_b + 1)), ratio**2
    m = _surplus(less, tables) * (t_a + t_b) / (only + root)
    first = ((1 + square) * m**2 - t_a**2 - t_b**2) / (2 * root)
    second = (m * (only + 2 * (1 + square) * first) + (square - 1) * first**2) / root
    return m, first, second


def _bracket(tables: Floats) -> tuple[Floats, Floats, Floats]:
    """Return a lower bound, an upper bound and a first guess of the common log(ratio)."""
    common, only_b, only_a = tables
    t_a, t_b = common + only_a, common + only_b
    with np.errstate(divide="ignore"):
        # log1p keeps the digits of ratios near 1
        own = np.where(t_b > 0, np.log1p((only_a - only_b) / np.maximum(t_b, 1)), np.inf)
    own = np.clip(own, -FARTHEST, FARTHEST)
    low, high = own.min(axis=0), own.max(axis=0)
    # the logarithms' mean, weighted by their inverse variances (delta method, 1 added to each T)
    weight = (t_a + 1) * (t_b + 1) / (only_a + only_b + 1)
    guess = (weight * np.log1p((only_a - only_b) / (t_b + 1))).sum(axis=0) / weight.sum(axis=0)
    # The deviance of a table without discordant documents has an edge at ratio 1: there is the minimum
    # where the other table's slope is less steep than the edge.
    edge = np.where(only_a + only_b == 0, common, 0).sum(axis=0)
    (sharp,) = np.nonzero(edge)
    pull, *_ = pulls(np.zeros(len(sharp)), tables[:, :, sharp])
    at_edge = sharp[np.abs(pull.sum(axis=0)) <= edge[sharp]]
    low[at_edge] = high[at_edge] = 0
    return low, high, np.clip(guess, low, high)


def common_log_ratio(tables: Floats) -> Floats:
    """Return the log(ratio) at which the summed deviance is least."""

    def slopes(log_ratio: Floats, places: Ints) -> tuple[Floats, ...]:
        first, second, third = pulls(log_ratio, tables.take(places, axis=2))
        return first[0] + first[1], second[0] + second[1], third[0] + third[1]

    return highest(slopes, *_bracket(tables))
