"""The p-value of the F1 bootstrap where few documents are discordant, before any replicate is drawn.

Let delta = e3 - e2 and eps = e6 - e7. As T_A = T_B + delta and D_A = D_B + delta - eps, dF1* <= c where
``2 delta D - 2 T (delta - eps) - c D (D + delta - eps)`` is <= 0, with T, D those of B in the replicate. With
few discordant documents delta and eps take few values, whose probabilities are found exactly; T and D sum
up many documents and are, given delta and eps, nearly normal with means linear in them. The skewness that
is left is corrected for (Edgeworth). With more discordant documents the moments alone do
(`bootstrap_f1_forecast`).
"""

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from harness.measures import A, B, Floats, Ints, Y
from harness.significance.bootstrap_error import characteristic, step

NEGLIGIBLE = 3e-7
"""Values of (delta, eps) less probable than this are left out."""

BLOCK = 8192
"""Values of (delta, eps) looked at together, few enough for a processor's cache."""

# T, D of B, delta and eps as linear forms on e1..e8
_FORMS = np.stack([Y * B, Y + B, Y * (A - B), (1 - Y) * (B - A)])


class Law(NamedTuple):
    """The values (delta, eps) of a set's replicates and their probabilities, arrays of shape (n_values,)."""

    delta: Floats
    eps: Floats
    weights: Floats


@lru_cache(maxsize=8192)
def law(up_p: int, down_p: int, up_n: int, down_n: int, positives: int, negatives: int) -> Law:
    """Return the law of (delta*, eps*) = (e3* - e2*, e6* - e7*), from the counts e3, e2, e6, e7.

    `positives` and `negatives` are the documents of either class where these are resampled apart; else all
    documents, and -1.

    Examples
    --------
    >>> delta, eps, weights = law(1, 0, 0, 0, 2, -1)
    >>> sorted(zip(delta.tolist(), weights.round(4).tolist()))
    [(0.0, 0.25), (1.0, 0.5), (2.0, 0.25)]
    """
    lengths = [_length(up_p + down_p), _length(up_n + down_n)]
    angles = [2 * np.pi / length * np.arange(length) for length in lengths]
    of_p = step(up_p, down_p, angles[0][:, None])
    of_n = step(up_n, down_n, angles[1][None, : lengths[1] // 2 + 1])
    strata = (
        [(positives, of_p + of_n)]
        if negatives < 0
        else [(max(positives, 1), of_p), (max(negatives, 1), of_n)]
    )
    weights = np.fft.irfft2(characteristic(strata).conj(), s=lengths)
    delta, eps = (np.asarray(np.fft.fftfreq(length, 1 / length), dtype=float) for length in lengths)
    some = np.nonzero(weights > NEGLIGIBLE)
    made = Law(delta[some[0]], eps[some[1]], weights[some] / weights[some].sum())
    for array in made:
        array.flags.writeable = False  # shared by all sets with these counts
    return made


def _length(count: int) -> int:
    """Return the length of a Fourier transform for a difference of cells with `count` documents in all.

    A value out of reach, which is less probable than 2e-6, is taken for another one.
    """
    return 2 * math.ceil(count + 5 * math.sqrt(count) + 3) if count else 1


def lower_tails(cells: Ints, stratified: bool, thresholds: list[Floats]) -> tuple[Floats, Floats]:
    """Return P*(dF1* <= c), half the weight of dF1* = 0 included, for each threshold, and that weight.

    The sets `cells`, (n_sets, 8), have few discordant documents; `thresholds` are values of c for all sets.
    The tails have shape (n_thresholds, n_sets), the weight of ties, delta* = eps* = 0, (n_sets,).
    """
    positives, negatives = cells[:, :4].sum(axis=1), cells[:, 4:].sum(axis=1)
    sizes = (positives, negatives) if stratified else (positives + negatives, np.full(len(cells), -1))
    laws = [law(*row) for row in np.stack([*cells[:, [2, 1, 5, 6]].T, *sizes], axis=1).tolist()]
    lengths = np.array([len(known.weights) for known in laws], dtype=np.int64)
    rest, asked = _Rest.of(cells.astype(float), stratified), np.stack(thresholds)
    tails, ties = np.zeros(asked.shape), np.zeros(len(cells))
    for part in np.split(np.arange(len(cells)), np.flatnonzero(np.diff(np.cumsum(lengths) // BLOCK)) + 1):
        if part.size:
            values = Law(*map(np.concatenate, zip(*(laws[i] for i in part), strict=True)))
            starts = np.cumsum(lengths[part]) - lengths[part]
            owner = np.repeat(part, lengths[part])
            tails[:, part] = np.add.reduceat(
                _lower_tail(values, rest, owner, asked[:, owner]), starts, axis=1
            )
            tied = values.weights * ((values.delta == 0) & (values.eps == 0))
            ties[part] = np.add.reduceat(tied, starts)
    return tails, ties


class _Rest(NamedTuple):
    """Moments of T and D of B given delta and eps, arrays with the sets along the first axis."""

    means: Floats  # (n, 4): of T, D, delta and eps
    slopes: Floats  # (n, 2, 2): of the means of T and D in delta and eps
    spread: Floats  # (n, 2, 2): covariance of what is left of T and D
    third: Floats  # (n, 4): third moments of it: TTT, TTD, TDD, DDD

    @classmethod
    def of(cls, x: Floats, stratified: bool) -> "_Rest":
        """Return it for sets of shape (n, 8)."""
        groups = [slice(0, 4), slice(4, 8)] if stratified else [slice(0, 8)]
        centred = np.broadcast_to(_FORMS, (len(x), 4, 8)).copy()
        for part in groups:
            y = x[:, None, part]
            size = np.maximum(y.sum(axis=2, keepdims=True), 1)
            centred[:, :, part] -= (y * centred[:, :, part]).sum(axis=2, keepdims=True) / size
        of_forms = np.matmul(centred * x[:, None, :], centred.transpose(0, 2, 1))
        within = of_forms[:, 2:, 2:] + 1e-9 * np.eye(2)  # a form without documents has no variance
        slopes = np.matmul(of_forms[:, :2, 2:], np.linalg.inv(within))
        left = centred[:, :2] - np.matmul(slopes, centred[:, 2:])
        t, d = left[:, 0], left[:, 1]
        third = np.stack([(x * form).sum(axis=1) for form in (t**3, t**2 * d, t * d**2, d**3)], axis=1)
        spread = np.matmul(left * x[:, None, :], left.transpose(0, 2, 1))
        return cls(x @ _FORMS.T, slopes, spread, third)


def _lower_tail(values: Law, rest: _Rest, owner: Ints, threshold: Floats) -> Floats:
    """Return the weights of values of (delta, eps) times P*(dF1* <= threshold | delta, eps).

    `owner` is the place of the set whose value it is; `threshold` and what is returned are of shape
    (n_thresholds, n_values).
    """
    delta, eps, weights = values
    means, slopes, spread, third = (array.T for array in rest)
    off = delta - means[2, owner], eps - means[3, owner]
    t, d = (means[k, owner] + slopes[0, k, owner] * off[0] + slopes[1, k, owner] * off[1] for k in (0, 1))
    tt, td, dd = spread[0, 0, owner], spread[0, 1, owner], spread[1, 1, owner]
    gap, c = delta - eps, threshold
    # the form, its gradient in T and D; its only curvature is -2c in D
    value = 2 * delta * d - 2 * t * gap - c * (d * (d + gap) + dd)
    by_t, by_d = -2 * gap, 2 * delta - c * (2 * d + gap)
    with_d = by_t * td + by_d * dd
    variance = by_t * (by_t * tt + by_d * td) + by_d * with_d
    # products, as powers take ten times as long
    cube = by_t * by_t * (by_t * third[0, owner] + 3 * by_d * third[1, owner]) - 6 * c * with_d * with_d
    cube += by_d * by_d * (by_d * third[3, owner] + 3 * by_t * third[2, owner])
    some = variance > 1e-9
    variance = np.where(some, variance, 1e-36)
    deviation = np.sqrt(variance)
    skewness = np.clip(np.where(some, cube / (variance * deviation), 0.0), -1.5, 1.5)
    z = np.clip(-value / deviation, -40, 40)
    below = ndtr(z) - np.exp(-z * z / 2) * (z * z - 1) * skewness / (6 * np.sqrt(2 * np.pi))
    return np.asarray(np.clip(below, 0, 1) * weights)
