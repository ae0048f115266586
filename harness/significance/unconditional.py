"""Unconditional tests of equal F1 or precision: the likelihood ratio, judged by its exact distribution.

Of the eight cells only e1, e2, e3 and both = e4 + e5 (F1) or e5 (precision), e6, e7 tell A from B. They make
two tables (:mod:`harness.significance.likelihood_ratio`): (e1, e2, e3), and (e1 + ... + e5, e6, e7) for F1 or
(e5, e6, e7) for the precision. Taken as given is the number of documents in the second table; for the
precision that of the first too, while for F1 it varies as the share of ``t = e1 + e2 + e3`` among e1 + ... +
e5 has it. Every set that could have been seen is then a pair, one table of each kind. The deviance of a table
at a given log(ratio) is worked out once, and the likelihood ratio statistic of a pair is the least sum over
log(ratio).

That least sum is looked for among a few values of log(ratio), which bounds it from above; the tangents there
bound it from below. Where the two do not settle whether it reaches the statistic of the set, it is computed,
unless there are many pairs: then the upper bound stands for it.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv, gammaln, xlog1py, xlogy
from scipy.stats import qmc

from harness.measures import Bools, Floats, Ints
from harness.significance.equal_counts import distinct_rows
from harness.significance.likelihood_ratio import (
    common_log_ratio,
    derivatives,
    fitted,
    likelihood_ratio,
    multipliers,
)
from harness.significance.result import (
    TestResult,
    as_counts,
    check_choice,
    chi_square_upper,
    settle_degenerate,
)

VARIANTS = ("estimated", "berger_boos")
MEASURES = ("f1", "precision")

PSEUDO_COUNT = 0.25
"""Added to each of e2, e3, e6 and e7 before the null is fitted: a kind of discordant document that a set does
not show may still exist."""

LARGE = 20.0
"""Where the fit gives each of e2, e3, e6 and e7 as many documents, the chi-square distribution is used."""

STEPS = np.concatenate([[-40.0, -15, -8, -5.5], np.linspace(-4.5, 4.5, 28), [5.5, 8, 15, 40]])
"""Where the least sum is looked for: this many standard deviations of log(ratio) from its fit."""

WIDE = np.concatenate([[-40.0, -25, -16], np.linspace(-12, 12, 49), [16, 25, 40]])
"""The same for tables of nulls far from the fitted one."""

EDGE = 1e-10
"""And so far on both sides of 0, where the deviance of a table without discordant documents has an edge."""

FAR = 5.3
"""Tables more standard deviations away are left out, and those with a share of the likeliest below..."""

NEGLIGIBLE = -15.0
"""...the exponential of this; what is left out weighs less than 1e-6."""

IN_CACHE = 2**15
"""Sums made together, few enough for a processor's cache."""

NEAR = 4.0
"""As far where what is left out is added to the p-value."""

LATTICE = 1.3
"""Of counts that vary much every s-th is weighed, s the greatest number so that s times this is at most the
standard deviation."""

BUDGET, FEWEST = 25_000, 5
"""Pairs of tables looked at, about, unless those of one t are more; fewer values of t would not do."""

EXACT = 30_000
"""Of more pairs those count whose statistic is at least as large by the upper bound alone: p is too large, by
1 or 2 %."""

COARSE = 0.8
"""The same where the worst of many nulls is looked for."""

GAMMA = 1e-4
"""Probability that Berger and Boos's region misses the null; it is added to the p-value."""


def f1(
    counts: ArrayLike,
    variant: str = "estimated",
    rng: Generator | None = None,
    *,
    degenerate: str = "accept",
) -> TestResult:
    """Unconditional test of equal F1: :func:`unconditional` with ``measure="f1"``.

    Null hypothesis: F1 of A equals that of B on the population.

    Parameters
    ----------
    variant : {"estimated", "berger_boos"}
    rng : Generator, optional
        Changes nothing, as nothing is drawn.

    Examples
    --------
    Three documents tell A from B, all in favour of A.

    >>> counts = [12, 0, 2, 6, 3, 1, 0, 976]
    >>> round(float(f1(counts).pvalue), 3), round(float(likelihood_ratio(counts).pvalue), 3)
    (0.085, 0.056)
    """
    return unconditional(counts, "f1", variant, degenerate=degenerate)


def unconditional(
    counts: ArrayLike, measure: str = "f1", variant: str = "estimated", *, degenerate: str = "accept"
) -> TestResult:
    """Unconditional test of equal F1 or precision.

    Null hypothesis: the measure of A equals that of B on the population. The statistic is that of
    :func:`harness.significance.likelihood_ratio.likelihood_ratio`, and p the probability of one at least as
    large, over all sets that could have been seen with as many documents that matter,

    - ``"estimated"``: under the null fitted to the set, 1/4 of a document added to each of e2, e3, e6, e7.
    - ``"berger_boos"``: the largest under any null in a region that misses the true one with probability
      at most 1e-4, plus 1e-4. The size is at most alpha, whatever the population, but for what the search
      for the largest may miss.

    Where the fit gives each of the four cells 20 documents, the chi-square distribution of the statistic
    divided by its Bartlett factor takes the place of both; the p-values then agree to 2 %, and the size is no
    longer guaranteed. Where there are too many sets to list, some of them are weighed: p is then off by 2 %
    of itself in the median, and by up to 10 %.

    `statistic` is the chi-square, which has no sign. Degenerate where the likelihood ratio test is.

    Parameters
    ----------
    measure : {"f1", "precision"}
    variant : {"estimated", "berger_boos"}

    References
    ----------
    Storer & Kim (1990), Journal of the American Statistical Association 85, 146-155 (estimated); Berger &
    Boos (1994), the same 89, 1012-1016. Bartlett factor of a mean: DiCiccio, Hall & Romano (1991), Annals of
    Statistics 19, 1053-1061.

    Examples
    --------
    >>> round(float(unconditional([20, 2, 9, 3, 4, 6, 5, 951], "precision").pvalue), 3)
    0.323
    """
    check_choice("measure", measure, MEASURES)
    check_choice("variant", variant, VARIANTS)
    cells = as_counts(counts)
    plain = likelihood_ratio(cells, measure)
    pvalue = plain.pvalue.copy()
    live = ~plain.degenerate
    pvalue[live] = _pvalues(cells[live], plain.statistic[live], measure, variant)
    return settle_degenerate(pvalue, plain.statistic, plain.degenerate, degenerate)


class Null(NamedTuple):
    """Nulls fitted to sets, each field of shape (n_sets,) but `shares`.

    Attributes
    ----------
    shares : shape (2, 2, n_sets)
        Of each table (below) the shares of only_b and only_a.
    found
        Share of the first table's documents among `common` of the second (F1).
    log_ratio, deviation
        Where the deviance is least, and how far sets scatter around it.
    least
        The smallest of the four counts of discordant documents that the fit expects.
    inflation
        Expected statistic under the null, to the next order in the counts (Bartlett factor).
    """

    shares: Floats
    found: Floats
    log_ratio: Floats
    deviation: Floats
    least: Floats
    inflation: Floats


def _pvalues(cells: Ints, statistics: Floats, measure: str, variant: str) -> Floats:
    """Return the p-value of each set, each different one worked out once."""
    e1, e2, e3, e4, e5, e6, e7, _ = cells.T
    common = e1 + e2 + e3 + e4 + e5 if measure == "f1" else e5
    flat = np.column_stack([e1, e2, e3, common, e6, e7])
    swapped = flat[:, [0, 2, 1, 3, 5, 4]]  # A and B exchanged: the same p-value, to the last digit
    order = np.sign(flat - swapped)
    turned = order[np.arange(len(flat)), (order != 0).argmax(axis=1)] > 0
    first, which = distinct_rows(np.where(turned[:, None], swapped, flat))
    rows, statistics = np.where(turned[:, None], swapped, flat)[first], statistics[first]
    nulls = _fit_nulls(rows.reshape(-1, 2, 3), measure)
    pvalues = chi_square_upper(statistics / nulls.inflation) + GAMMA * (variant == "berger_boos")
    for i in np.flatnonzero(nulls.least < LARGE):
        pvalues[i] = _pvalue(measure, variant, *rows[i].tolist())
    return np.minimum(pvalues, 1)[which]


@lru_cache(maxsize=2**18)
def _pvalue(measure: str, variant: str, *row: int) -> float:
    """Return the p-value of a set by e1, e2, e3, common, e6, e7; evaluation sets repeat."""
    tables = np.array(row).reshape(2, 3)
    null = Null(*(field[..., 0] for field in _fit_nulls(tables[None], measure)))
    by_kind = tables.T[..., None].astype(float)
    statistic = float(_profile(by_kind, common_log_ratio(by_kind))[0].sum())
    work = _largest_probability if variant == "berger_boos" else _probability
    return work(tables, max(statistic, 0.0), null, measure)


def _fit_nulls(tables: Ints, measure: str) -> Null:
    """Fit the null to the two tables of each set, (n_sets, 2, 3), with the pseudo-counts."""
    counts = np.moveaxis(tables + PSEUDO_COUNT * np.array([0, 1, 1]), 0, -1)  # (table, kind, set)
    if measure == "f1":
        counts[1, 0] += 2 * PSEUDO_COUNT  # e2 and e3 are in the second table too
    by_kind = np.moveaxis(counts, 0, 1)
    log_ratio = common_log_ratio(by_kind)
    ratio, less = np.exp(log_ratio), -np.expm1(log_ratio)
    fit_b, fit_a, _ = fitted(ratio, less, multipliers(ratio, less, by_kind), by_kind)
    total = by_kind.sum(axis=0)
    _, curvature = derivatives(log_ratio, by_kind)
    fit = np.array([total - fit_b - fit_a, fit_b, fit_a])
    if measure == "f1":
        fit[:, 0] *= fit[0, 1] / by_kind[0, 1]  # to the documents that the fit leaves to the first table
    shares = np.array([fit_b, fit_a]).swapaxes(0, 1) / total[:, None]
    found = by_kind[:, 0].sum(axis=0) / by_kind[0, 1] if measure == "f1" else np.ones(len(tables))
    inflation = 1 + _bartlett(fit, measure)
    return Null(shares, found, log_ratio, curvature**-0.5, fit[1:].min(axis=(0, 1)), inflation)


def _bartlett(fit: Floats, measure: str) -> Floats:
    """Return by how much the expected statistic exceeds 1: that of a mean of what each document adds.

    A document adds its part of log(T_A / T_B) - log(U_A / U_B); with m_k the sum of its k-th powers,
    m_4 / (2 m_2^2) - m_3^2 / (3 m_2^3). `fit` is (common, only_b, only_a) x table x set.
    """
    common, only_b, only_a = fit
    part_a, part_b = 1 / (common + only_a), 1 / (common + only_b)
    values = np.array([part_a - part_b, -part_b, part_a]) * np.array([1, -1])[:, None]
    weights = fit.copy()
    if measure == "f1":
        values[:, 0] += values[0, 1]  # the documents of the first table are common to the second
        weights[0, 1] -= fit[:, 0].sum(axis=0)
    m2, m3, m4 = ((weights * values**k).sum(axis=(0, 1)) for k in (2, 3, 4))
    return np.asarray(m4 / m2**2 / 2 - m3**2 / m2**3 / 3)


def _probability(tables: Ints, statistic: float, null: Null, measure: str) -> float:
    """Return the probability of a statistic at least as large under the fitted null."""
    second, weight = _likely(tables[1], null.shares[1])
    t, of_one_t = int(tables[0].sum()), len(weight) * len(_likely(tables[0], null.shares[0])[1])
    room = BUDGET // of_one_t
    if room < FEWEST or measure == "precision":  # enough tables without those of other t
        sizes, by_size = [t], weight[:, None]
    else:
        share, n = float(null.found * (1 - null.shares[1].sum())), int(tables[1].sum())
        range_of_t, _ = _lattice(n * share, n * share * (1 - share), t, n, room)
        sizes = range_of_t.tolist()
        by_size = np.exp(_log_binomial(range_of_t, second[0][:, None], null.found)) * weight[:, None]
    parts = [_likely(tables[0], null.shares[0], size) for size in sizes]
    first = np.concatenate([part[0] for part in parts], axis=1)
    where = np.repeat(np.arange(len(sizes)), [len(part[1]) for part in parts])
    reached = _reached(first, second, statistic, null).astype(np.float32)
    found = (reached @ by_size.astype(np.float32))[np.arange(len(where)), where]
    return float(np.concatenate([part[1] for part in parts]) @ found / by_size.sum())


def _lattice(
    mean: float, variance: float, seen: int, most: int, room: int | None = None
) -> tuple[Ints, int]:
    """Return counts that are not far from the mean, at most `room` if given, and the step between them.

    Where it is above 1, what was `seen` lies between two of them: it would else weigh too much.
    """
    deviation = max(variance, 0) ** 0.5
    low, high = max(0, int(mean - FAR * deviation)), min(most, int(mean + FAR * deviation + 8))
    step = max(1, int(deviation / LATTICE), -(-(high - low + 1) // room) if room else 1)
    return np.arange(low + (seen + step // 2 - low) % step, high + 1, step), step


def _log_binomial(k: Ints, n: Ints, share: Floats) -> Floats:
    """Return log P(K = k) of K ~ Bin(n, share), -inf where k > n."""
    left = np.maximum(n - k, 0)
    log = gammaln(n + 1) - gammaln(k + 1) - gammaln(left + 1) + xlogy(k, share) + xlogy(left, 1 - share)
    return np.asarray(np.where(k <= n, log, -np.inf))


def _likely(seen: Ints, shares: Floats, n: int | None = None) -> tuple[Ints, Floats]:
    """Return the tables of one kind, (3, n), that are not negligible, and their probabilities.

    Where counts vary much, a lattice of them that holds what was `seen`.
    """
    n = int(seen.sum()) if n is None else n
    pairs = zip(shares.tolist(), seen[1:].tolist(), strict=True)
    (b_range, b_step), (a_range, a_step) = (
        _lattice(n * share, n * share * (1 - share), count, n) for share, count in pairs
    )
    b, a = np.repeat(b_range, len(a_range)), np.tile(a_range, len(b_range))
    tables = np.array([n - b - a, b, a])
    tables = tables[:, tables[0] >= 0]
    log = _log_weights(tables, np.array([1 - shares.sum(), *shares])[:, None])[:, 0]
    kept = log > log.max() + NEGLIGIBLE
    return tables[:, kept], np.exp(log[kept]) * (b_step * a_step)


def _log_weights(tables: Ints, shares: Floats) -> Floats:
    """Return the logarithms of multinomial probabilities, (n_tables, n_nulls); shares (3, n_nulls)."""
    constant = gammaln(tables[:, 0].sum() + 1) - gammaln(tables + 1).sum(axis=0)
    return np.asarray(constant[:, None] + tables.T @ np.log(np.maximum(shares, 1e-300)))


def _reached(first: Ints, second: Ints, statistic: float, null: Null) -> Bools:
    """Tell which pairs of tables have a statistic at least as large: (n_first, n_second)."""
    steps = _steps(null, STEPS)
    one, other = _profile(first[..., None], steps), _profile(second[..., None], steps)
    wanted = statistic - 1e-8 * max(1, statistic)
    rounding = 1e-5 * max(10, statistic)  # of single precision
    reached: Bools = _least_sum(one[0], other[0]) >= wanted - rounding
    if reached.size > EXACT:
        return reached
    below = _least_sum(_lowered(one, steps), _lowered(other, steps))
    i, j = np.nonzero(reached & (below < wanted + rounding))
    tables = np.stack([first[:, i], second[:, j]], axis=1).astype(float)
    reached[i, j] = _profile(tables, common_log_ratio(tables))[0].sum(axis=0) >= wanted
    return reached


def _steps(null: Null, deviations: Floats) -> Floats:
    """Return values of log(ratio) among which the least sum of deviances is looked for."""
    steps = np.clip(null.log_ratio + null.deviation * deviations, -30, 30)
    return np.unique(np.append(steps, [-EDGE, EDGE]))


def _least_sum(one: Floats, other: Floats) -> NDArray[np.float32]:
    """Return the least of one[i, k] + other[j, k] over k, in single precision: (n_one, n_other)."""
    other = other.T.astype(np.float32)
    least = np.empty((len(one), other.shape[1]), dtype=np.float32)
    at_once = max(1, IN_CACHE // other.shape[1])
    for start in range(0, len(one), at_once):
        part = least[start : start + at_once]
        steps = one[start : start + at_once].T.astype(np.float32)[..., None]
        np.add(steps[0], other[0], out=part)
        for a, b in zip(steps[1:], other[1:], strict=True):
            np.minimum(part, a + b, out=part)
    return least


def _lowered(profile: Floats, steps: Floats) -> Floats:
    """Return values at the steps less the most by which the function may sag below its chords beside them.

    A convex function lies above its tangents: between two steps it sags at most to where these meet.
    """
    value, slope = profile
    width, rise, turn = np.diff(steps), np.diff(value), np.diff(slope)
    met = np.divide(slope[:, 1:] * width - rise, turn, out=np.zeros_like(turn), where=turn > 0)
    met = np.clip(met, 0, width)
    sag = np.maximum((rise / width - slope[:, :-1]) * met, 0)
    none = np.zeros((len(sag), 1))
    return np.asarray(value - np.maximum(np.hstack([none, sag]), np.hstack([sag, none])))


def _profile(tables: Ints | Floats, log_ratio: Floats) -> Floats:
    """Return deviance and derivative of tables (common, only_b, only_a) at each log(ratio)."""
    counts: Floats = tables.astype(np.float64)
    common, only_b, only_a = counts
    ratio, less = np.exp(log_ratio), -np.expm1(log_ratio)
    multiplier = multipliers(ratio, less, counts)
    terms = ((common, less * multiplier), (only_b, -ratio * multiplier), (only_a, multiplier))
    _, _, t_a = fitted(ratio, less, multiplier, counts)
    return 2 * np.array([sum(xlog1py(*term) for term in terms), -multiplier * t_a])


N_FIRST, N_NEAR, N_ROUNDS = 256, 64, 6
"""Nulls looked at in the whole region, and around the worst of them in rounds, each in half the width."""

N_POSSIBLE = 4096
"""Nulls that say which tables are possible at all."""

AT_ONCE = 64
"""Nulls weighed together."""


def _largest_probability(tables: Ints, statistic: float, null: Null, measure: str) -> float:
    """Return the largest probability of such a statistic in Berger and Boos's region, plus GAMMA."""
    region = _region(tables)
    points = qmc.Sobol(4, scramble=False).random(N_POSSIBLE)
    weigh = _weigher(tables, statistic, null, measure, *_nulls_at(region, points)[:2])
    points = points[:N_FIRST]

    def look(points: Floats) -> Floats:
        found = np.zeros(len(points))
        for start in range(0, len(points), AT_ONCE):
            shares, of_common, exist = _nulls_at(region, points[start : start + AT_ONCE])
            found[start : start + AT_ONCE][exist] = weigh(shares, of_common)
        return found

    cloud = qmc.Sobol(4, scramble=False).random(N_NEAR) - 0.5
    found, width = look(points), 0.5
    worst = found.max()
    for _ in range(N_ROUNDS):
        best = points[found.argmax()]
        points = np.concatenate([[best], np.clip(best + width * cloud, 0, 1)])
        found = look(points)
        worst, width = max(worst, found.max()), width / 2
    return float(worst) + GAMMA


def _region(tables: Ints) -> Floats:
    """Return Clopper-Pearson intervals, (4, 2), that all hold with probability at least 1 - GAMMA.

    Of the share of the first table among `common` of the second (F1), of the discordant documents in the
    first and in the second table, and of only_a among the latter.
    """
    t, common = tables[0].sum(), tables[1, 0]  # of the precision these have nothing to do with each other
    differ, wrong = tables[0, 1:].sum(), tables[1, 1:].sum()
    k, n = np.array([t, differ, wrong, tables[1, 2]]), np.array([max(t, common), t, tables[1].sum(), wrong])
    tail = GAMMA / 8
    low = np.where(k > 0, betaincinv(np.maximum(k, 1), n - k + 1, tail), 0)
    high = np.where(k < n, betaincinv(k + 1, np.maximum(n - k, 1), 1 - tail), 1)
    return np.column_stack([low, high])


def _nulls_at(region: Floats, points: Floats) -> tuple[Floats, Floats, Bools]:
    """Return nulls at points of the unit cube: `shares` (2, 3, n), `found` (n,), and which points have one.

    Points are stretched over the region by the angle whose sine's square is a share.
    """
    low, high = np.arcsin(np.sqrt(region.T))
    found, differ, wrong, of_a = np.sin(low + (high - low) * points).T ** 2
    wrong_a = wrong * of_a
    wrong_b = wrong - wrong_a
    ratio = (1 - wrong_b) / np.maximum(1 - wrong_a, 1e-300)
    only_a = (ratio - 1 + differ) / (1 + ratio)
    only_b = differ - only_a
    exist = (only_a >= 0) & (only_b >= 0)
    shares = np.array([[1 - differ, only_b, only_a], [1 - wrong, wrong_b, wrong_a]])
    return shares[..., exist], found[exist], exist


def _weigher(
    tables: Ints, statistic: float, null: Null, measure: str, shares: Floats, found: Floats
) -> Callable[[Floats, Floats], Floats]:
    """Return what gives the probability of so large a statistic under nulls, its tables settled for `shares`.

    A table that is not known to have a smaller statistic counts.
    """
    t, n = int(tables[0].sum()), int(tables[1].sum())
    second, thinned = _possible(n, shares[1])
    sizes, step = np.array([t]), 1
    if measure == "f1":
        sizes, step = _span(n, found * shares[1, 0], COARSE)
    parts = []
    for size in sizes.tolist():
        first, thin = _possible(size, shares[0])
        least = _least_sum(*(_profile(kind[..., None], _steps(null, WIDE))[0] for kind in (first, second)))
        thinned |= thin
        parts.append((first, (least >= statistic - 1e-5 * max(10, statistic)).astype(np.float32)))
    thinned |= step > 1
    common, where = np.unique(second[0], return_inverse=True)

    def weigh(shares: Floats, found: Floats) -> Floats:
        other = np.exp(_log_weights(second, shares[1]))
        reached, total = np.zeros((2, len(found)))
        for size, (first, reaches) in zip(sizes.tolist(), parts, strict=True):
            one, two = np.exp(_log_weights(first, shares[0])), other
            if measure == "f1":
                two = other * np.exp(_log_binomial(np.array(size), common[:, None], found))[where]
            reached += (one * (reaches @ two.astype(np.float32))).sum(axis=0)
            total += one.sum(axis=0) * two.sum(axis=0)
        return reached / total if thinned else reached + np.maximum(1 - total, 0)

    return weigh


def _possible(n: int, shares: Floats) -> tuple[Ints, bool]:
    """Return all tables (rest, b, a) of n documents that are not negligible under all nulls, or a lattice."""
    (b_range, b_step), (a_range, a_step) = (_span(n, share, COARSE) for share in shares[1:])
    b, a = np.repeat(b_range, len(a_range)), np.tile(a_range, len(b_range))
    tables = np.array([n - b - a, b, a])
    return tables[:, tables[0] >= 0], b_step * a_step > 1


def _span(n: int, shares: Floats, lattice: float) -> tuple[Ints, int]:
    """Return counts that are not far from their mean under one of the nulls, and the step between them."""
    ends = np.array([shares.min(), shares.max()])
    deviation = np.sqrt(n * ends * (1 - ends))
    low, high = int((n * ends - NEAR * deviation)[0]), int((n * ends + NEAR * deviation + 4)[1])
    low, high = max(0, low), min(n, high)
    step = max(1, int(deviation.min() / lattice))
    return np.arange(low, high + 1, step), step
