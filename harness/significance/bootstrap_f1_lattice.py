"""The p-value of the F1 bootstrap where few documents are discordant, before any replicate is drawn.

Let delta = e3 - e2 and eps = e6 - e7. As T_A = T_B + delta and D_A = D_B + delta - eps, dF1* <= c where
``2 delta D - 2 T (delta - eps) - c D (D + delta - eps)`` is <= 0, with T, D those of B in the replicate. With
few discordant documents delta and eps take few values, whose probabilities are found exactly; T and D sum
up many documents and are, given delta and eps, nearly normal with means linear in them. The skewness that
is left is corrected for (Edgeworth). With ten or more discordant documents the moments alone do
(`bootstrap_f1_forecast`).
"""

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from harness.measures import A, B, Floats, Ints, Y

NEGLIGIBLE = 3e-7
"""Values of (delta, eps) less probable than this are left out."""

CHUNK = 128
"""Sets whose tails are computed at once, so that memory does not grow with their number."""

# T, D of B, delta and eps as linear forms on e1..e8
_FORMS = np.stack([Y * B, Y + B, Y * (A - B), (1 - Y) * (B - A)])


class Law(NamedTuple):
    """The values (delta, eps) of a set's replicates and their probabilities, arrays of shape (n_values,)."""

    delta: Floats
    eps: Floats
    weights: Floats


@lru_cache(maxsize=1024)
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
    turns = [np.exp(2j * np.pi * np.arange(length) / length) - 1 for length in lengths]
    of_p = (up_p * turns[0] + down_p * turns[0].conj())[:, None]
    of_n = (up_n * turns[1] + down_n * turns[1].conj())[: lengths[1] // 2 + 1]
    if negatives < 0:
        logs = positives * np.log1p((of_p + of_n) / positives)
    else:
        logs = positives * np.log1p(of_p / max(positives, 1)) + negatives * np.log1p(of_n / max(negatives, 1))
    weights = np.fft.irfft2(np.exp(logs).conj(), s=lengths)
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

    The sets `cells`, (n_sets, 8), have fewer than 10 discordant documents; `thresholds` are values of c for
    all sets. The tails have shape (n_thresholds, n_sets), the weight of ties, delta* = eps* = 0, (n_sets,).
    """
    positives, negatives = cells[:, :4].sum(axis=1), cells[:, 4:].sum(axis=1)
    sizes = (positives, negatives) if stratified else (positives + negatives, np.full(len(cells), -1))
    names = np.stack([*cells[:, [2, 1, 5, 6]].T, *sizes], axis=1)
    rows, where = np.unique(names, axis=0, return_inverse=True)
    order = np.argsort(where.reshape(-1), kind="stable")
    bounds = np.searchsorted(where.reshape(-1)[order], np.arange(len(rows) + 1))
    rest = _Rest.of(cells.astype(float), stratified)
    tails, ties = np.zeros((len(thresholds), len(cells))), np.zeros(len(cells))
    for row, start, stop in zip(rows.tolist(), bounds[:-1], bounds[1:], strict=True):
        known = law(*row)
        ties[order[start:stop]] = known.weights[(known.delta == 0) & (known.eps == 0)].sum()
        for at in range(start, stop, CHUNK):
            members = order[at : min(at + CHUNK, stop)]
            asked = np.concatenate([c[members] for c in thresholds])
            below = _lower_tail(known, rest, np.tile(members, len(thresholds)), asked)
            tails[:, members] = below.reshape(len(thresholds), -1)
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


def _lower_tail(known: Law, rest: _Rest, members: Ints, threshold: Floats) -> Floats:
    """Return P*(dF1* <= threshold) for the sets `members`, which have the same law, a set once for each."""
    c = threshold[:, None]
    means, slopes, spread, third = (array[members] for array in rest)
    off = known.delta - means[:, 2, None], known.eps - means[:, 3, None]
    t, d = (
        means[:, k, None] + slopes[:, k, 0, None] * off[0] + slopes[:, k, 1, None] * off[1] for k in (0, 1)
    )
    tt, td, dd = spread[:, 0, 0, None], spread[:, 0, 1, None], spread[:, 1, 1, None]
    gap = known.delta - known.eps
    # the form, its gradient in T and D; its only curvature is -2c in D
    value = 2 * known.delta * d - 2 * t * gap - c * d * (d + gap) - c * dd
    by_t, by_d = -2 * gap, 2 * known.delta - c * (2 * d + gap)
    with_d = by_t * td + by_d * dd
    variance = by_t * (by_t * tt + by_d * td) + by_d * with_d
    cube = by_t**3 * third[:, 0, None] + by_d**3 * third[:, 3, None] - 6 * c * with_d**2
    cube += 3 * by_t * by_d * (by_t * third[:, 1, None] + by_d * third[:, 2, None])
    some = variance > 1e-9
    deviation = np.sqrt(np.where(some, variance, 1e-18))
    skewness = np.clip(np.where(some, cube / deviation**3, 0.0), -1.5, 1.5)
    z = np.clip(-value / deviation, -40, 40)
    below = ndtr(z) - np.exp(-z * z / 2) * (z * z - 1) * skewness / (6 * np.sqrt(2 * np.pi))
    return np.asarray(np.clip(below, 0, 1) @ known.weights)
