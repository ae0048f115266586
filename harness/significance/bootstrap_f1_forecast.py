"""The p-value of the F1 bootstrap before any replicate is drawn: bounds, and an approximation by moments.

With the replicate's counts multinomial around the set's, dF1* <= c where the quadratic form
``2 T_A D_B - 2 T_B D_A - c D_A D_B`` of these counts is <= 0. Its first four cumulants are known in
closed form, and a gamma distribution with the right three, corrected for the fourth (Edgeworth), gives
the tail to within a few per cent of itself from some ten discordant documents on. With up to two dozen, where
A or B find positives often enough, `bootstrap_f1_lattice` knows the tail better, in ten times as long.
"""

import numpy as np
from scipy.special import ive

from harness.measures import A, B, Bools, Floats, Ints, Y
from harness.significance.bootstrap_f1_lattice import lower_tails
from harness.significance.forecast import Forecast, error_factor
from harness.significance.moments import Moments

LEAST_COUNT, LARGEST_SKEWNESS = 10, 1.0
"""The approximation is used where so many documents are discordant, and found by A or B."""

MARGIN = (0.025, 6.0, 0.3)
"""It may be wrong by a factor 1 + .025 + 6 / n^1.5 + .3 g^2, n the smaller of the two counts above and g the
skewness (how far it was wrong: `tests/significance/test_bootstrap_verdicts.py`)."""

FEW, FOUND = 24, 8
"""The lattice is used where so many documents at most are discordant, and A or B find so many positives."""

FEW_MARGIN = (0.05, 17.0, 4.0)
"""It may be wrong by a factor 1 + .05 + 17 / n^2, n the positives found, and, for the symmetric interval, by
4 mean*^2 more."""

IN_PLACE_OF_REPLICATES = 1.15
"""In place of infinitely many replicates it is used where it may be wrong by this factor at most."""

ROUGH_COUNT = 5
"""With fewer documents the approximation tells nothing."""

SLACK = 2e-4
"""And by this in addition, far in the tail."""

BLOCK = 2048
"""Sets whose moments are computed at once, so that memory does not grow with their number."""

# Linear forms on e1..e8, (4, 8): T_A, T_B, D_A, D_B, true positives and denominators of F1 = 2T/D.
_FORMS = np.stack([Y * A, Y * B, Y + A, Y + B]).astype(float)
# e3 - e2 and e6 - e7 in these forms
_ONLY_P, _ONLY_N = np.array([[1, -1, 0, 0], [1, -1, -1, 1]], dtype=float)


Tails = tuple[Floats, Floats, Bools]
"""The share of hits of each set for one interval; by what factor it may be wrong; where it is to be used."""


def forecast(cells: Ints, stratified: bool, tails: list[int]) -> list[Forecast]:
    """Return bounds on the share of hits of sets (n_sets, 8), none of them degenerate, for each interval.

    `stratified` says whether positives and negatives are resampled apart, `tails` how many tails each
    interval has: 1 the symmetric, 2 the equal-tailed one; so in the functions below.
    """
    starts = range(0, max(len(cells), 1), BLOCK)
    parts = [cells[at : at + BLOCK] for at in starts]
    blocks = [_bounds(part, stratified, moment_tails(part, stratified, tails)) for part in parts]
    return [
        Forecast(*(np.concatenate(arrays) for arrays in zip(*of_interval, strict=True)))
        for of_interval in zip(*blocks, strict=True)
    ]


def few(cells: Ints) -> Bools:
    """Return which sets suit :func:`few_forecast`."""
    discordant, found = cells[:, [1, 2, 5, 6]].sum(axis=1), cells[:, :3].sum(axis=1)
    return np.asarray((discordant > 0) & (discordant <= FEW) & (found >= FOUND))


def few_forecast(cells: Ints, stratified: bool, tails: list[int]) -> list[Forecast]:
    """Return :func:`forecast` for sets of which :func:`few` holds; takes about ten times as long per set."""
    return _bounds(cells, stratified, few_tails(cells, stratified, tails))


def _bounds(cells: Ints, stratified: bool, tails: list[Tails]) -> list[Forecast]:
    least = least_pvalue(cells, stratified)
    rough = fewest(cells) >= ROUGH_COUNT
    return [
        Forecast.around(tail, tail, factor, SLACK, usable, rough, least) for tail, factor, usable in tails
    ]


def least_pvalue(cells: Ints, stratified: bool) -> Floats:
    """Return a lower bound on P*(dF1* <= 0) and on P*(dF1* >= 0), from the replicates that lack some cells.

    Without a document of e3 and e6 no replicate favours A; without e2 and e7 none favours B; without e1,
    e2 and e3 both F1 are 0. The bound is exact arithmetic, not an approximation.
    """
    positives, negatives = cells[:, :4].sum(axis=1), cells[:, 4:].sum(axis=1)

    def absent(of_positives: Ints, of_negatives: Ints) -> Floats:
        """Return the probability that no document of these cells is drawn."""
        with np.errstate(divide="ignore", invalid="ignore"):
            if stratified:
                logs = [
                    np.where(part > 0, n * np.log1p(-part / n), 0.0)
                    for part, n in ((of_positives, positives), (of_negatives, negatives))
                ]
                return np.asarray(np.exp(logs[0] + logs[1]))
            n = positives + negatives
            return np.asarray(np.exp(n * np.log1p(-(of_positives + of_negatives) / n)))

    none = np.zeros_like(positives)
    one_sided = np.minimum(absent(cells[:, 2], cells[:, 5]), absent(cells[:, 1], cells[:, 6]))
    return np.maximum(one_sided, absent(cells[:, :3].sum(axis=1), none))


def limit_tails(cells: Ints, stratified: bool, tails: list[int]) -> list[Tails]:
    """Return :func:`few_tails` where it suits, else :func:`moment_tails`, as usable where they are good."""
    by_moments, chosen = moment_tails(cells, stratified, tails), few(cells)
    for parts, others in zip(by_moments, few_tails(cells[chosen], stratified, tails), strict=True):
        for part, other in zip(parts, others, strict=True):
            part[chosen] = other
        parts[2][parts[1] > IN_PLACE_OF_REPLICATES] = False
    return by_moments


def few_tails(cells: Ints, stratified: bool, tails: list[int]) -> list[Tails]:
    """Approximate as :func:`moment_tails` does, for sets of which :func:`few` holds."""
    mean = _mean_difference(moments(cells, stratified))
    (zero, far), ties = lower_tails(cells, stratified, [np.zeros(len(cells)), 2 * mean])
    constant, count, square = FEW_MARGIN
    made = []
    for n_tails in tails:
        tail = np.minimum(zero, 1 - zero)
        factor = 1 + constant + count / np.maximum(cells[:, :3].sum(axis=1), 1) ** 2
        if n_tails == 1:
            tail = np.where(mean > 0, zero + 1 - far, 1 - zero + far)
            factor = factor + square * mean**2
        made.append((np.clip(tail + ties / 2, 0, 1), factor, np.ones(len(cells), dtype=bool)))
    return made


def moment_tails(cells: Ints, stratified: bool, tails: list[int]) -> list[Tails]:
    """Approximate the infinite-replicate tail from the moments, for each interval.

    It is min(P*(dF1* <= 0), P*(dF1* >= 0)), or P*(|dF1* - mean*| >= |mean*|) where symmetric.
    """
    counts, forms = fewest(cells), moments(cells, stratified)
    zero, zero_skew = lower_tail(forms, np.zeros(len(cells)))
    half = tie_weight(forms) / 2  # the approximation splits it; both tails hold all of it
    made = []
    for n_tails in tails:
        if n_tails == 1:
            mean = _mean_difference(forms)
            far, far_skew = lower_tail(forms, 2 * mean)
            tail = np.where(mean > 0, zero + 1 - far, 1 - zero + far) + half
            skew = np.maximum(np.abs(zero_skew), np.abs(far_skew))
        else:
            tail, skew = np.minimum(zero, 1 - zero) + half, np.abs(zero_skew)
        usable = (counts >= LEAST_COUNT) & (skew <= LARGEST_SKEWNESS)
        made.append((np.clip(tail, 0, 1), error_factor(MARGIN, counts, skew), usable))
    return made


def fewest(cells: Ints) -> Floats:
    """Return the smaller number: of discordant documents, or of positives that A or B finds."""
    discordant, found = cells[:, [1, 2, 5, 6]].sum(axis=1), cells[:, :3].sum(axis=1)
    return np.asarray(np.minimum(discordant, found), dtype=float)


def moments(cells: Ints, stratified: bool) -> Moments:
    """Return the moments of T_A, T_B, D_A and D_B in the replicates of sets."""
    return Moments.of(cells, stratified, _FORMS)


def tie_weight(known: Moments) -> Floats:
    """Return P*(e2* = e3* and e6* = e7*) nearly, that of dF1* = 0.

    That of independent Poisson counts, times what their dependence changes in a normal density at 0.
    """
    towards_p, towards_n = (np.tensordot(form, known.spread, 1) for form in (_ONLY_P, _ONLY_N))
    covariance = _ONLY_P @ towards_p, _ONLY_N @ towards_n, _ONLY_N @ towards_p
    _, e2, e3, _, _, e6, e7, _ = known.cells
    poisson = np.ones(len(e2))
    for x, y in ((e2, e3), (e6, e7)):  # Skellam's distribution at 0
        poisson *= ive(0, 2 * np.sqrt(x * y)) * np.exp(-((np.sqrt(x) - np.sqrt(y)) ** 2))
    p, n = e3 - e2, e6 - e7
    dependent = _log_density_at_0(p, n, *covariance)
    independent = _log_density_at_0(p, n, e2 + e3, e6 + e7, np.zeros(len(p)))
    return np.asarray(np.minimum(1.0, poisson * np.exp(dependent - independent)))


def _log_density_at_0(p: Floats, n: Floats, of_p: Floats, of_n: Floats, across: Floats) -> Floats:
    """Return the log of a normal density of means p and n at 0, but for a constant, from its covariance."""
    of_p, of_n = of_p + 1 / 12, of_n + 1 / 12  # for the width of a step, so that an empty pair has a density
    determinant = np.maximum(of_p * of_n - across**2, 1e-12)
    exponent = (p**2 * of_n - 2 * p * n * across + n**2 * of_p) / determinant
    return np.asarray(-(exponent + np.log(determinant)) / 2)


def _mean_difference(known: Moments) -> Floats:
    """Return E*(dF1*) to second order."""
    means, (totals, spread) = [], (known.totals, known.spread)
    for t, d in ((0, 2), (1, 3)):
        top, bottom = totals[t], np.maximum(totals[d], 1)
        means.append(2 * (top / bottom + top * spread[d, d] / bottom**3 - spread[t, d] / bottom**2))
    return np.asarray(means[0] - means[1])


def lower_tail(known: Moments, threshold: Floats) -> tuple[Floats, Floats]:
    """Return P*(dF1* <= threshold), half the weight of a tie included, and the skewness of the form."""

    def turn(v: Floats) -> Floats:
        return np.stack([2 * v[3], -2 * v[2], -2 * v[1] - threshold * v[3], 2 * v[0] - threshold * v[2]])

    slope = turn(known.totals)  # the form is homogeneous
    return known.lower_tail((known.totals * slope).sum(axis=0) / 2, slope, turn)
