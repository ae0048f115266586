"""Populations in which H0 holds: the nearest to a given one, and that in which A and B are exchangeable."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import kl_div

from harness.errors import require
from harness.measures import A, B, Floats, Y, as_cells, check_measure, difference, f1_difference
from harness.nulls.ratios import equal_ratios

_CLOSED = {"error": ([1, 6], [2, 5]), "recall": ([1], [2])}
RATIOS = {
    "f1": (np.stack([2 * Y * A, 2 * Y * B]), np.stack([np.abs(Y - A), np.abs(Y - B)])),
    "precision": (np.stack([Y * A, Y * B]), np.stack([(1 - Y) * A, (1 - Y) * B])),
}
"""What a measure's odds have above and below in each cell: ``F1/(1 - F1) = 2 TP / (FN + FP)``."""


class NoProjection(ValueError):
    """No population with the same cells above 0 has a difference of 0."""


def project(counts_or_shares: ArrayLike, measure: str, **costs: float) -> Floats:
    """Return the population nearest to a given one in which a measure's difference is 0.

    The null hypothesis that it makes true: A and B have the same value of `measure`. Of all populations q in
    which they have, and in which the cells above 0 are those of p, it is the one with the smallest
    ``KL(q||p) = sum q_i log(q_i / p_i)``. A p whose difference is 0 is its own projection.

    Only q that keep every cell of p count, and their limits. Emptying all cells with a true positive would
    always make both F1 equal, at 0, and on rare positives cheaply; emptying all cells on which the two
    disagree would make every measure equal. Neither would tell anything about a test. A single cell may
    become tiny.

    Parameters
    ----------
    counts_or_shares : array_like, shape (..., 8)
        Cells e1..e8 of one or many populations; only their proportions matter.
    measure : str
        ``"f1"``, ``"error"``, ``"precision"``, ``"recall"``, ``"dcf"`` or ``"balanced_error"``.
    **costs : float
        ``cost_fn``, ``cost_fp``, ``prior`` for ``"dcf"``.

    Returns
    -------
    float array, shape (..., 8)
        Shares that sum to 1, with a difference of at most 1e-8 (mostly below 1e-15).

    Raises
    ------
    NoProjection
        If cells without a document leave nothing in favour of one of the two; the message says of which.
    ValueError
        If an argument is out of range.

    Notes
    -----
    Error and recall have a closed form: with n01 and n10 the shares on which only A and only B errs, the
    cells of n01 are multiplied by ``sqrt(n10/n01)``, those of n10 by ``sqrt(n01/n10)``. The other measures
    compare two ratios, whose common value is sought over all it can be: it may lie outside the two that
    the population has.

    Examples
    --------
    >>> project([50, 0, 0, 0, 0, 4, 16, 30], "error").round(4)
    array([0.5208, 0.    , 0.    , 0.    , 0.    , 0.0833, 0.0833, 0.3125])
    >>> project([50, 0, 0, 0, 0, 0, 16, 30], "error")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    harness.nulls.projection.NoProjection: no document favours A in error, so no population with ...
    """
    shares = as_shares(counts_or_shares)
    flat = shares.reshape(-1, 8)
    projected, reasons = _projected(flat, measure, **costs)
    if reasons:
        row = min(reasons)
        at = f"population {np.unravel_index(row, shares.shape[:-1])}: " if shares.ndim > 1 else ""
        raise NoProjection(at + reasons[row])
    return projected.reshape(shares.shape)


def exact_null(names: Any, counts: ArrayLike, measure: str, **costs: float) -> tuple[Floats, dict[str, str]]:
    """Return the projection of each of many populations, and by name why some have none.

    Rows of `counts`, (n, 8), are the cells of the populations; the shares that are returned have a row of NaN
    where there is no projection. See :func:`project` for the null hypothesis.

    Examples
    --------
    >>> counts = [[5, 0, 0, 0, 0, 2, 2, 1], [5, 0, 0, 0, 0, 0, 2, 1]]
    >>> shares, reasons = exact_null(["a", "b"], counts, "error")
    >>> shares[0]
    array([0.5, 0. , 0. , 0. , 0. , 0.2, 0.2, 0.1])
    >>> reasons
    {'b': 'no document favours A in error, so no population with the same cells has a difference of 0'}
    """
    shares = as_shares(counts)
    labels = labels_of(names, shares)
    projected, reasons = _projected(shares, measure, **costs)
    return projected, {labels[row]: reason for row, reason in reasons.items()}


def joint_null(counts_or_shares: ArrayLike) -> Floats:
    """Return shares, (..., 8), with e2 and e3 replaced by their mean, and e6 and e7 by theirs.

    The null hypothesis that it makes true: exchanging A and B on a document changes no probability, so that
    every measure's difference is 0 and a randomization test is exact. That is more than equal values of a
    measure, and favours that test: show :func:`project` beside it.

    Examples
    --------
    >>> joint_null([3, 1, 3, 0, 0, 1, 0, 2])
    array([0.3 , 0.2 , 0.2 , 0.  , 0.  , 0.05, 0.05, 0.2 ])
    """
    shares = as_shares(counts_or_shares)
    for pair in ([1, 2], [5, 6]):
        shares[..., pair] = shares[..., pair].mean(axis=-1, keepdims=True)
    return shares


def joint_null_of(
    names: Any, counts: ArrayLike, measure: str, **costs: float
) -> tuple[Floats, dict[str, str]]:
    """Return :func:`joint_null` of many populations as :func:`exact_null` does.

    It exists for every population and is the same for every `measure`.

    Examples
    --------
    >>> joint_null_of(["a"], [[5, 0, 0, 0, 0, 1, 3, 1]], "f1")
    (array([[0.5, 0. , 0. , 0. , 0. , 0.2, 0.2, 0.1]]), {})
    """
    check_measure(measure, **costs)
    shares = joint_null(counts)
    labels_of(names, shares)
    return shares, {}


def project_patterns(frequencies: ArrayLike, patterns: ArrayLike) -> Floats:
    """Return the shares of document patterns nearest to given ones under which A and B have equal micro F1.

    The null hypothesis that it makes true: over all decisions on a set of categories, A and B have the same
    F1. A document falls into one cell for each category; its pattern counts into which. Of all shares q of
    the patterns under which H0 holds, the result has the smallest ``KL(q||p)``, as in :func:`project`, where
    the patterns are the eight cells of a single category.

    `frequencies`, (n_patterns,), are documents of each pattern; `patterns`, (n_patterns, 8), say in how many
    of the categories such a document falls into each cell e1..e8. Raises NoProjection if the pooled cells
    favour only one of A and B, or no shares of the same patterns make them equal.

    Examples
    --------
    >>> patterns = np.array([[1, 1, 0, 0, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0, 0, 1], [0, 0, 0, 0, 0, 1, 1, 0]])
    >>> shares = project_patterns([4, 1, 5], patterns)
    >>> shares.round(4)
    array([0.2222, 0.2222, 0.5556])
    """
    cells = as_cells(patterns).astype(float)
    counts = np.asarray(frequencies, dtype=float)
    require(
        cells.ndim == 2 and counts.shape == (len(cells),),
        f"frequencies: shape {counts.shape} with patterns of shape {cells.shape} is not allowed; "
        "(n_patterns,) with (n_patterns, 8) is",
    )
    good = ((counts >= 0) & (counts < np.inf)).all() and counts.sum() > 0
    require(good, "frequencies: finite numbers >= 0, one at least above 0, are allowed")
    shares = counts / counts.sum()
    pooled = shares @ cells
    if f1_difference(pooled) == 0:
        return np.asarray(shares)
    reason = why_none(pooled, "f1", {})
    if "favours" not in reason:
        tops, bottoms = (side @ cells.T for side in RATIOS["f1"])
        nearest = equal_ratios(shares[None], tops, bottoms)[0]
        if np.isfinite(nearest).all() and abs(f1_difference(nearest @ cells)) <= 1e-8:
            return np.asarray(nearest)
    raise NoProjection(reason)


def divergence(q: ArrayLike, p: ArrayLike) -> Any:
    """Return ``KL(q||p) = sum q_i log(q_i / p_i)`` in nats, shape (...); infinite where p lacks a cell of q.

    Examples
    --------
    >>> round(float(divergence([0.5, 0.5], [0.25, 0.75])), 4)
    0.1438
    """
    q, p = np.asarray(q, dtype=float), np.asarray(p, dtype=float)
    # each term q log(q/p) - q + p is >= 0, so nothing cancels where q and p are close
    return kl_div(q, p).sum(axis=-1)


def as_shares(counts_or_shares: ArrayLike) -> Floats:
    """Return cells as shares that sum to 1, a new array."""
    cells = as_cells(counts_or_shares).astype(float)
    total = cells.sum(axis=-1, keepdims=True)
    empty = "counts: a population without a document is not allowed; its cells need a sum above 0"
    require((total > 0).all(), empty)
    return np.asarray(cells / total)


def labels_of(names: Any, shares: Floats) -> list[Any]:
    """Return the names after checking that there is one for each row."""
    labels = list(names)
    sizes = f"names: {len(labels)} with counts of shape {shares.shape}"
    require(shares.ndim == 2 and len(labels) == len(shares), f"{sizes} is not allowed; n with (n, 8) is")
    return labels


def _projected(shares: Floats, measure: str, **costs: float) -> tuple[Floats, dict[int, str]]:
    """Return the projections (n, 8), NaN where there is none, and the reasons by row."""
    options = check_measure(measure, **costs)
    projected = shares.copy()
    unequal = difference(measure, **costs)(shares) != 0
    if unequal.any():
        projected[unequal] = _nearest(shares[unequal], measure, options)
    missing = np.isnan(projected).any(axis=1)
    projected[missing] = np.nan
    return projected, {int(row): why_none(shares[row], measure, options) for row in np.flatnonzero(missing)}


def _nearest(shares: Floats, measure: str, options: dict[str, float]) -> Floats:
    if measure in _CLOSED:
        return _level(shares, *_CLOSED[measure])
    if measure in RATIOS:
        nearest = _where_both(shares, *RATIOS[measure])
        if measure == "f1":  # with e2 and e3 alone both F1 are 2/3 or they differ: no range to search
            alone = shares[:, [0, 3, 4, 5, 6]].sum(axis=1) == 0
            nearest[alone] = _level(shares[alone], [1], [2])
        return nearest
    cost_fn, cost_fp = _weights(options)
    misses = (cost_fn > 0) & (shares[:, [1, 2]].sum(axis=1) > 0)
    alarms = (cost_fp > 0) & (shares[:, [5, 6]].sum(axis=1) > 0)
    nearest = shares.copy()
    for rows, group, other in ((misses & ~alarms, [1], [2]), (alarms & ~misses, [6], [5])):
        nearest[rows] = _level(shares[rows], group, other)
    both = misses & alarms
    nearest[both] = _where_both(shares[both], *_cost_ratios(cost_fn, cost_fp))
    return nearest


def _weights(options: dict[str, float]) -> tuple[float, float]:
    """Return what a miss rate and a false-alarm rate cost."""
    return options["cost_fn"] * options["prior"], options["cost_fp"] * (1 - options["prior"])


def _cost_ratios(cost_fn: float, cost_fp: float) -> tuple[Floats, Floats]:
    """Return ratios that agree where ``cost_fn (e2 - e3)/N_p = cost_fp (e6 - e7)/N_n``.

    The two sides x lie within the larger cost c; ``(2c + x) / (2c - x)`` is positive and rises with x.
    """
    values = np.stack([cost_fn * Y * (B - A), cost_fp * (1 - Y) * (B - A)])
    ceiling = 2 * max(cost_fn, cost_fp) * np.stack([Y, 1 - Y])
    return ceiling + values, ceiling - values


def _level(shares: Floats, first: list[int], second: list[int]) -> Floats:
    """Return the nearest shares whose sums over two groups of cells agree, NaN where one alone is empty."""
    one, other = shares[:, first].sum(axis=1), shares[:, second].sum(axis=1)
    level = shares.copy()
    with np.errstate(divide="ignore", invalid="ignore"):
        level[:, first] *= np.sqrt(other / one)[:, None]
        level[:, second] *= np.sqrt(one / other)[:, None]
    level[(one == 0) & (other == 0)] = shares[(one == 0) & (other == 0)]
    return np.asarray(level / level.sum(axis=1, keepdims=True))


def _where_both(shares: Floats, tops: Floats, bottoms: Floats) -> Floats:
    """Return :func:`equal_ratios` where the cells above 0 favour A in part and B in part, NaN elsewhere."""
    for_a, for_b = _favoured(shares, tops, bottoms)
    both = for_a & for_b
    nearest = np.full_like(shares, np.nan)
    if both.any():
        nearest[both] = equal_ratios(shares[both], tops, bottoms)
    return nearest


def _favoured(shares: Floats, tops: Floats, bottoms: Floats) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return whether ``t_1 b_2 - t_2 b_1``, a sum over pairs of cells, has a term > 0 and one < 0."""
    pairs = np.outer(tops[0], bottoms[1]) - np.outer(tops[1], bottoms[0])
    pairs = pairs + pairs.T
    there = (shares > 0).astype(float)
    first, second = (((there @ (sign * pairs > 0)) * there).sum(axis=1) > 0 for sign in (1, -1))
    return first, second


def why_none(shares: Floats, measure: str, options: dict[str, float]) -> str:
    """Say why there is no projection."""
    if measure in RATIOS:
        tops, bottoms = RATIOS[measure]
        for_a, for_b = (bool(side[0]) for side in _favoured(shares[None], tops, bottoms))
    else:
        misses, alarms = _weights(options) if options else (1.0, float(measure == "error"))
        for_a = bool(misses * shares[2] + alarms * shares[5] > 0)
        for_b = bool(misses * shares[1] + alarms * shares[6] > 0)
    if for_a and for_b:
        return f"no population with the same cells was found that has a difference of 0 in {measure}"
    if not (for_a or for_b):  # one precision is 0/0, the other above 0
        idle = "B" if (shares @ A) > 0 else "A"
        return f"{idle} decides for no document, so no population with the same cells has equal {measure}"
    side = "B" if for_a else "A"
    return (
        f"no document favours {side} in {measure}, so no population with the same cells has a difference of 0"
    )
