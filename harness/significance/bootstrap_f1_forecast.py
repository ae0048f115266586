"""The p-value of the F1 bootstrap before any replicate is drawn: bounds, and an approximation by moments.

With the replicate's counts multinomial around the set's, dF1* <= c where the quadratic form
``2 T_A D_B - 2 T_B D_A - c D_A D_B`` of these counts is <= 0. Its first four cumulants are known in
closed form, and a gamma distribution with the right three, corrected for the fourth (Edgeworth), gives the
tail to within a few per cent of itself from some ten discordant documents on. For fewer, where A or B find
positives often enough, `bootstrap_f1_lattice` knows the tail as well.
"""

import numpy as np

from harness.measures import A, B, Bools, Floats, Ints, Y
from harness.significance.bootstrap_f1_lattice import lower_tails
from harness.significance.stopping import Forecast, below_zero, error_factor

LEAST_COUNT, LARGEST_SKEWNESS = 10, 1.0
"""The approximation is used where so many documents are discordant, and found by A or B."""

MARGIN = (0.025, 6.0, 0.3)
"""It may be wrong by a factor 1 + .025 + 6 / n^1.5 + .3 g^2, n the smaller of the two counts above and g the
skewness (how far it was wrong: `tests/significance/test_bootstrap_early.py`)."""

FEW_MARGIN = (0.05, 4.0)
"""And with fewer discordant documents by 1 + .05 or, for the symmetric interval, by 4 mean*^2 more."""

FOUND = 30
"""With fewer discordant documents it is used where A or B find so many positives."""

ROUGH_COUNT = 5
"""With fewer documents the approximation tells nothing."""

SLACK = 2e-4
"""And by this in addition, far in the tail."""

BLOCK = 2048
"""Sets whose moments are computed at once, so that memory does not grow with their number."""

# Linear forms on e1..e8: true positives T and denominators D of F1 = 2T/D.
_T, _D = np.stack([Y * A, Y * B]), np.stack([Y + A, Y + B])
_CURVE_T = sum(np.outer(t, d) + np.outer(d, t) for t, d in ((_T[0], _D[1]), (-_T[1], _D[0])))
_CURVE_D = np.outer(_D[0], _D[1]) + np.outer(_D[1], _D[0])


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
    """Return which sets have too few discordant documents for the moments but suit :func:`few_forecast`."""
    discordant = cells[:, [1, 2, 5, 6]].sum(axis=1)
    some = (discordant > 0) & (discordant < LEAST_COUNT)
    return np.asarray(some & (cells[:, :3].sum(axis=1) >= FOUND))


def few_forecast(cells: Ints, stratified: bool, tails: list[int]) -> list[Forecast]:
    """Return :func:`forecast` for sets of which :func:`few` holds; takes about ten times as long per set."""
    return _bounds(cells, stratified, few_tails(cells, stratified, tails))


def _bounds(cells: Ints, stratified: bool, tails: list[Tails]) -> list[Forecast]:
    least = least_pvalue(cells, stratified)
    rough = np.minimum(cells[:, [1, 2, 5, 6]].sum(axis=1), cells[:, :3].sum(axis=1)) >= ROUGH_COUNT
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
    """Return :func:`few_tails` where it suits, else :func:`moment_tails`."""
    by_moments, chosen = moment_tails(cells, stratified, tails), few(cells)
    for parts, others in zip(by_moments, few_tails(cells[chosen], stratified, tails), strict=True):
        for part, other in zip(parts, others, strict=True):
            part[chosen] = other
    return by_moments


def few_tails(cells: Ints, stratified: bool, tails: list[int]) -> list[Tails]:
    """Approximate as :func:`moment_tails` does, for sets of which :func:`few` holds."""
    x = cells.astype(float)
    mean = _mean_difference(x, [slice(0, 4), slice(4, 8)] if stratified else [slice(0, 8)])
    (zero, far), ties = lower_tails(cells, stratified, [np.zeros(len(x)), 2 * mean])
    made = []
    for n_tails in tails:
        tail, (constant, square) = np.minimum(zero, 1 - zero), FEW_MARGIN
        if n_tails == 1:
            tail = np.where(mean > 0, zero + 1 - far, 1 - zero + far)
        factor = 1 + constant + (square * mean**2 if n_tails == 1 else np.zeros(len(x)))
        made.append((np.clip(tail + ties / 2, 0, 1), factor, np.ones(len(x), dtype=bool)))
    return made


def moment_tails(cells: Ints, stratified: bool, tails: list[int]) -> list[Tails]:
    """Approximate the infinite-replicate tail from the moments, for each interval.

    It is min(P*(dF1* <= 0), P*(dF1* >= 0)), or P*(|dF1* - mean*| >= |mean*|) where symmetric.
    """
    x = cells.astype(float)
    groups = [slice(0, 4), slice(4, 8)] if stratified else [slice(0, 8)]
    fewest = np.minimum(x[:, [1, 2, 5, 6]].sum(axis=1), x[:, :3].sum(axis=1))
    zero, zero_skew = _lower_tail(x, groups, np.zeros(len(x)))
    half = tie_weight(x, groups) / 2  # the approximation splits it; both tails hold all of it
    made = []
    for n_tails in tails:
        if n_tails == 1:
            mean = _mean_difference(x, groups)
            far, far_skew = _lower_tail(x, groups, 2 * mean)
            tail = np.where(mean > 0, zero + 1 - far, 1 - zero + far) + half
            skew = np.maximum(np.abs(zero_skew), np.abs(far_skew))
        else:
            tail, skew = np.minimum(zero, 1 - zero) + half, np.abs(zero_skew)
        usable = (fewest >= LEAST_COUNT) & (skew <= LARGEST_SKEWNESS)
        made.append((np.clip(tail, 0, 1), error_factor(MARGIN, fewest, skew), usable))
    return made


def tie_weight(x: Floats, groups: list[slice]) -> Floats:
    """Return P*(e2* = e3* and e6* = e7*) nearly, the replicates with dF1* = 0, by the normal density at 0."""
    positive, negative = np.zeros(8), np.zeros(8)
    positive[[2, 1]], negative[[5, 6]] = (1, -1), (1, -1)
    across = _covariance(positive, negative, x, groups)
    # 1/12 for the width of a step, so that a cell pair without documents has weight 1, not infinity
    of_p = _covariance(positive, positive, x, groups) + 1 / 12
    of_n = _covariance(negative, negative, x, groups) + 1 / 12
    p, n = x @ positive, x @ negative
    determinant = np.maximum(of_p * of_n - across**2, 1e-12)
    exponent = (p**2 * of_n - 2 * p * n * across + n**2 * of_p) / determinant
    return np.asarray(np.minimum(1.0, np.exp(-exponent / 2) / (2 * np.pi * np.sqrt(determinant))))


def _covariance(left: Floats, right: Floats, x: Floats, groups: list[slice]) -> Floats:
    """Return the covariance of two linear forms, each (8,) or (n_sets, 8), of the replicates of sets x."""
    total = np.zeros(len(x))
    for part in groups:
        y, a, b = x[:, part], left[..., part], right[..., part]
        n = np.maximum(y.sum(axis=1), 1)
        total += (a * b * y).sum(axis=1) - (a * y).sum(axis=1) * (b * y).sum(axis=1) / n
    return total


def _mean_difference(x: Floats, groups: list[slice]) -> Floats:
    """Return E*(dF1*) to second order."""
    means = []
    for t, d in zip(_T, _D, strict=True):
        top, bottom = x @ t, np.maximum(x @ d, 1)
        shift = top * _covariance(d, d, x, groups) / bottom**3 - _covariance(t, d, x, groups) / bottom**2
        means.append(2 * (top / bottom + shift))
    return np.asarray(means[0] - means[1])


def _lower_tail(x: Floats, groups: list[slice], threshold: Floats) -> tuple[Floats, Floats]:
    """Return P*(dF1* <= threshold), half the weight of a tie included, and the skewness of the form.

    With W the centred counts of a replicate, V their covariance, and the form Q = q + s'W + W'CW / 2, its
    cumulants are those of s'W plus, to leading order, tr(CV)/2; tr(CVCV)/2 + sum C_ij k(s'W, W_i, W_j);
    3 s'VCVs; 12 k(s'W, s'W, W)'CVs + 12 s'VCVCVs (joint cumulants k of the multinomial).
    """
    c = threshold[:, None]
    t_a, t_b, d_a, d_b = (x @ form for form in (*_T, *_D))
    value = 2 * t_a * d_b - 2 * t_b * d_a - threshold * d_a * d_b
    slope = 2 * (
        d_b[:, None] * _T[0] + t_a[:, None] * _D[1] - d_a[:, None] * _T[1] - t_b[:, None] * _D[0]
    ) - c * (d_b[:, None] * _D[0] + d_a[:, None] * _D[1])
    curve = 2 * _CURVE_T - c[..., None] * _CURVE_D
    spread = np.zeros((len(x), 8, 8))
    s, own = slope.copy(), np.diagonal(curve, axis1=1, axis2=2).copy()
    pull, fourth = np.zeros_like(s), np.zeros(len(x))
    for part in groups:
        y = x[:, part]
        n = np.maximum(y.sum(axis=1, keepdims=True), 1)
        share = y / n
        spread[:, part, part] = y[:, :, None] * (np.eye(y.shape[1]) - share[:, None, :])
        s[:, part] -= (slope[:, part] * share).sum(axis=1, keepdims=True)
        own[:, part] -= 2 * np.matmul(curve[:, part, part], share[:, :, None])[..., 0]
        variance = (share * s[:, part] ** 2).sum(axis=1, keepdims=True)
        pull[:, part] = y * (s[:, part] ** 2 - variance)
        fourth += (y * s[:, part] ** 4).sum(axis=1) - 3 * (n * variance**2)[:, 0]
    bent = np.matmul(curve, spread)
    mean = value + np.trace(bent, axis1=1, axis2=2) / 2
    variance = (x * s * (s + own)).sum(axis=1) + (bent * bent.transpose(0, 2, 1)).sum(axis=(1, 2)) / 2
    reach = x * s
    turned = np.matmul(curve, reach[:, :, None])[..., 0]
    third = (x * s**3).sum(axis=1) + 3 * (reach * turned).sum(axis=1)
    again = np.matmul(spread, turned[:, :, None])[..., 0]
    fourth += 12 * (pull * turned).sum(axis=1) + 12 * (turned * again).sum(axis=1)
    return below_zero(mean, variance, third, fourth)
