"""The largest probability of a likelihood ratio under any null near a set: what guarantees a test's level.

(:mod:`harness.advise.worst` looks for another worst null, that of the largest size of a test near a file.)

The statistic depends on e1, e2, e3 and both = e4 + e5 (F1) or e5 (precision), e6, e7 alone. They make
two tables (:mod:`harness.significance.likelihood_ratio`): (e1, e2, e3), and (e1 + ... + e5, e6, e7) for F1 or
(e5, e6, e7) for the precision. Taken as given is the number of documents in the second table; for the
precision that of the first too, while for F1 it varies as the share of ``t = e1 + e2 + e3`` among e1 + ... +
e5 has it. Every set that could have been seen is then a pair, one table of each kind. The deviance of a table
at a given log(ratio) is worked out once; the statistic of a pair is the least sum over log(ratio), which is
looked for among a few of them: that bounds it from above.
"""

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, gammaln, xlog1py, xlogy
from scipy.stats import qmc

from harness.measures import Bools, Floats, Ints
from harness.significance.likelihood_ratio import common_log_ratio, multipliers, pulls
from harness.significance.weighted import PSEUDO_COUNT

Single = NDArray[np.float32]

STEPS = np.concatenate([[-40.0, -25, -16], np.linspace(-12, 12, 49), [16, 25, 40]])
"""Where the least sum is looked for: this many standard deviations of log(ratio) from its fit."""

EDGE = 1e-10
"""And so far on both sides of 0, where the deviance of a table without discordant documents has an edge."""

NEAR = 4.0
"""Tables more standard deviations away are left out; what they weigh is added to the p-value."""

COARSE, COARSE_TOTAL = 0.6, 1.2
"""Of large counts not all are weighed: from one to the next it is so many standard deviations; of the first
table's total, on which the statistic hardly depends, fewer."""

WHOLE = 30_000
"""Units of a statistic: sums of two deviances are compared as small integers, to one part of so many."""

IN_CACHE = 2**18
"""Sums made together, few enough for a processor's cache."""

GAMMA = 1e-4
"""Probability that Berger and Boos's region misses the null; it is added to the p-value."""

N_FIRST, N_NEAR, N_ROUNDS = 256, 64, 6
"""Nulls looked at in the whole region, and around the worst of them in rounds, each in half the width."""

N_POSSIBLE = 4096
"""Nulls that say which tables are possible at all."""

AT_ONCE = 65
"""Nulls weighed together."""

LIGHT = 1e-7
"""Tables that weigh less, in multiples of the heaviest, under all of them count as if they reached."""


@lru_cache(maxsize=2**16)
def guaranteed(measure: str, *cells: int) -> float:
    """Return the p-value of a set, e1..e8; each different one is worked out once."""
    e1, e2, e3, e4, e5, e6, e7, _ = cells
    common = e1 + e2 + e3 + e4 + e5 if measure == "f1" else e5
    tables = np.array([[e1, e2, e3], [common, e6, e7]])
    by_kind = tables.T[..., None].astype(float)
    statistic = float(_profile(by_kind, common_log_ratio(by_kind))[0].sum())
    return min(1.0, _largest_probability(tables, max(statistic, 0.0), _steps(tables, measure), measure))


def _steps(tables: Ints, measure: str) -> Floats:
    """Return values of log(ratio) among which the least sum of deviances is looked for."""
    counts = tables[..., None] + PSEUDO_COUNT * np.array([0, 1, 1])[:, None]
    if measure == "f1":
        counts[1, 0] += 2 * PSEUDO_COUNT  # e2 and e3 are in the second table too
    by_kind = counts.swapaxes(0, 1)
    log_ratio = common_log_ratio(by_kind)
    deviation = (-pulls(log_ratio, by_kind)[1].sum(axis=0)) ** -0.5
    return np.unique(np.append(np.clip(log_ratio + deviation * STEPS, -30, 30), [-EDGE, EDGE]))


def _largest_probability(tables: Ints, statistic: float, steps: Floats, measure: str) -> float:
    """Return the largest probability of such a statistic in Berger and Boos's region, plus GAMMA."""
    region = _region(tables)
    points = qmc.Sobol(4, scramble=False).random(N_POSSIBLE)
    weigh = _weigher(tables, statistic, steps, measure, *_nulls_at(region, points)[:2])
    points = points[:N_FIRST]
    points = points[points[:, 0].argsort()]  # those weighed together have much in common

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
    tables: Ints, statistic: float, steps: Floats, measure: str, shares: Floats, found: Floats
) -> Callable[[Floats, Floats], Floats]:
    """Return what gives the probability of so large a statistic under nulls, its tables settled for `shares`.

    A table that is not known to have a smaller statistic counts.
    """
    t, n = int(tables[0].sum()), int(tables[1].sum())
    second, gaps, deviance = _possible(n, shares[1], steps)
    sizes, between = np.array([t]), np.ones(1)
    if measure == "f1":
        sizes, between = _span(n, found * shares[1, 0], COARSE_TOTAL)
    thinned, parts = bool((gaps != 1).any() or (between != 1).any()), []
    for size in sizes.tolist():
        first, own_gaps, own = _possible(size, shares[0], steps)
        thinned |= bool((own_gaps != 1).any())
        parts.append((first, own_gaps, _reaches(own, deviance, statistic - 1e-5 * max(10, statistic))))
    common, where = np.unique(second[0], return_inverse=True)

    def weigh(shares: Floats, found: Floats) -> Floats:
        other = _weights(second, gaps, shares[1])
        heaviest = other.max(axis=0)
        reached, weighed, total = np.zeros((3, len(found)))
        for size, gap, (first, own_gaps, reaches) in zip(sizes.tolist(), between, parts, strict=True):
            one, two = _weights(first, own_gaps, shares[0]), other
            if measure == "f1":
                two = gap * other * np.exp(_log_binomial(np.array(size), common[:, None], found))[where]
            total += one.sum(axis=0) * two.sum(axis=0)
            rows, columns = (_heavy(part, most) for part, most in ((one, one.max(axis=0)), (two, heaviest)))
            one, two = one[rows], two[columns]
            weighed += one.sum(axis=0) * two.sum(axis=0)
            reached += (one * (reaches[np.ix_(rows, columns)] @ two.astype(np.float32))).sum(axis=0)
        reached += total - weighed
        return reached / total if thinned else reached + np.maximum(1 - total, 0)

    return weigh


def _heavy(weights: Floats, most: Floats) -> Ints:
    return np.flatnonzero((weights > LIGHT * most).any(axis=1))


def _possible(n: int, shares: Floats, steps: Floats) -> tuple[Ints, Floats, Single]:
    """Return the tables (rest, b, a) of n documents that are not negligible under all nulls, or some of them.

    With them, how many each stands for, and its deviance at the steps; ordered by the step of the least.
    """
    (b, b_gaps), (a, a_gaps) = (_span(n, share, COARSE) for share in shares[1:])
    b, a, gaps = np.repeat(b, len(a)), np.tile(a, len(b)), np.outer(b_gaps, a_gaps).ravel()
    tables = np.array([n - b - a, b, a])
    exist = tables[0] >= 0
    deviance = _profile(tables[:, exist, None], steps)[0].astype(np.float32)
    order = np.argsort(deviance.argmin(axis=1), kind="stable")
    return tables[:, exist][:, order], gaps[exist][order], deviance[order]


def _span(n: int, shares: Floats, coarse: float) -> tuple[Ints, Floats]:
    """Return counts that are not far from their mean under one of the nulls, and how many each stands for.

    Where the step from one to the next changes, the sum is that of all counts but for third differences: the
    end correction of Gregory's rule on both sides.
    """
    ends = np.array([shares.min(), shares.max()])
    far = NEAR * np.sqrt(n * ends * (1 - ends))
    low, high = max(0, int((n * ends - far)[0])), min(n, int((n * ends + far + 4)[1]))
    counts = [low]
    while counts[-1] < high:
        deviation = np.sqrt(counts[-1] * (n - counts[-1]) / n)
        counts.append(counts[-1] + max(1, int(coarse * deviation)))
    if len(counts) == 1:
        return np.array(counts), np.ones(1)
    stands_for, change = np.gradient(counts), np.diff(counts, 2) / 12
    stands_for[2:] += change
    stands_for[:-2] -= change
    return np.array(counts), stands_for


def _weights(tables: Ints, gaps: Floats, shares: Floats) -> Floats:
    """Return what tables weigh, (n_tables, n_nulls): multinomial probabilities times what each stands for."""
    constant = gammaln(tables[:, 0].sum() + 1) - gammaln(tables + 1).sum(axis=0) + np.log(gaps)
    return np.asarray(np.exp(constant[:, None] + tables.T @ np.log(np.maximum(shares, 1e-300))))


def _log_binomial(k: Ints, n: Ints, share: Floats) -> Floats:
    """Return log P(K = k) of K ~ Bin(n, share), -inf where k > n."""
    left = np.maximum(n - k, 0)
    log = gammaln(n + 1) - gammaln(k + 1) - gammaln(left + 1) + xlogy(k, share) + xlogy(left, 1 - share)
    return np.asarray(np.where(k <= n, log, -np.inf))


def _reaches(one: Single, other: Single, least: float) -> Single:
    """Return 1 where the least of one[i, k] + other[j, k] over k is at least `least`: (n_one, n_other).

    Both are ordered by the k of their own least. A deviance falls up to there and then rises: the least of a
    sum lies between those of its terms, and only steps count at which neither term alone reaches.
    """
    if least <= 0:
        return np.ones((len(one), len(other)), dtype=np.float32)
    n_steps = one.shape[1]
    places, where = one.argmin(axis=1), other.argmin(axis=1)
    one, other = (np.rint(np.minimum(table / least, 1) * WHOLE).astype(np.uint16) for table in (one, other))
    starts = np.searchsorted(where, np.arange(n_steps + 1))  # of the others, by step
    below = other.T < WHOLE
    first = np.where(below.any(axis=1), below.argmax(axis=1), below.shape[1])
    last = np.where(below.any(axis=1), below.shape[1] - below[:, ::-1].argmax(axis=1), 0)
    other = np.ascontiguousarray(other.T)
    found = np.empty((len(one), other.shape[1]), dtype=np.float32)
    at_once = max(1, IN_CACHE // other.shape[1])
    for place in np.unique(places):
        rows = slice(*np.searchsorted(places, [place, place + 1]))
        steps = np.flatnonzero((one[rows] < WHOLE).any(axis=0))
        begin = np.maximum(first[steps], np.where(steps > place, starts[steps], 0))
        end = np.minimum(last[steps], np.where(steps < place, starts[steps + 1], len(where)))
        windows = [(k, slice(*ends)) for k, *ends in zip(steps, begin, end, strict=True)]
        for start in range(rows.start, rows.stop, at_once):
            part = slice(start, min(start + at_once, rows.stop))
            sums = np.full((part.stop - start, other.shape[1]), WHOLE, dtype=np.uint16)
            for k, window in windows:
                np.minimum(sums[:, window], one[part, k, None] + other[k, window], out=sums[:, window])
            found[part] = sums >= WHOLE - 2
    return found


def _profile(tables: Ints | Floats, log_ratio: Floats) -> Floats:
    """Return deviance and derivative of tables (common, only_b, only_a) at each log(ratio)."""
    counts: Floats = tables.astype(np.float64)
    common, only_b, only_a = counts
    ratio, less = np.exp(log_ratio), -np.expm1(log_ratio)
    multiplier = multipliers(ratio, less, counts)
    terms = ((common, less * multiplier), (only_b, -ratio * multiplier), (only_a, multiplier))
    return 2 * np.array([sum(xlog1py(*term) for term in terms), -pulls(log_ratio, counts)[0]])
