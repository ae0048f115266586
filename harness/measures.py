"""F1, classification error, precision, recall and DCF from joint-outcome counts.

Everything is a function of the eight cells e1..e8 of one or many evaluation sets (or of a population's
shares): `counts`, array_like of shape (..., 8), which raises ValueError if the last axis is not 8 long, or a
cell is negative, infinite or NaN. Results have shape (...). A difference is always A minus B: a positive F1
difference favours A, a positive error difference favours B. A ratio 0/0 counts as 0.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harness.errors import check_choice, require

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

Y = np.array([1, 1, 1, 1, 0, 0, 0, 0], dtype=float)
A = np.array([1, 0, 1, 0, 1, 0, 1, 0], dtype=float)
B = np.array([1, 1, 0, 0, 1, 1, 0, 0], dtype=float)
"""Truth, decision of A and decision of B in the cells e1..e8."""

EXCHANGED = [0, 2, 1, 3, 4, 6, 5, 7]
"""The cells with A and B exchanged."""


def as_cells(counts: ArrayLike, *, whole: bool = False) -> NDArray[Any]:
    """Check counts or shares and return them as a read-only int64 or float64 array of shape (..., 8).

    Under `whole` only whole numbers up to 2**53 pass, and the array is int64.

    Examples
    --------
    >>> as_cells([0.5, 0, 0, 0, 0, 0, 0, 0.5]).shape
    (8,)
    """
    cells = np.asarray(counts)
    require(
        cells.ndim and cells.shape[-1] == 8,
        f"counts: shape {cells.shape} is not allowed; the last axis must be 8 long (e1..e8)",
    )
    kinds = "integers are" if whole else "integers and floats (shares) are"
    require(cells.dtype.kind in "iuf", f"counts: type {cells.dtype} is not allowed; {kinds}")
    whole = whole or cells.dtype.kind != "f"
    most = 2**53 if whole else np.finfo(float).max
    fractions = whole and cells.dtype.kind == "f"
    # the least and the largest are NaN where any is, and no bound holds for that
    in_range = 0 <= cells.min(initial=0) and cells.max(initial=0) <= most
    if not in_range or (fractions and (np.floor(cells) != cells).any()):
        good = (cells >= 0) & (cells <= most) & (np.floor(cells) == cells if fractions else True)
        where = tuple(np.argwhere(~good)[0].tolist())
        allowed = "whole numbers from 0 to 2**53 are" if whole else "a finite number >= 0 is"
        raise ValueError(
            f"counts: cell e{where[-1] + 1} is {cells[where]!s} at index {where}; {allowed} allowed"
        )
    found = cells.astype(np.int64 if whole else np.float64, copy=False).view()
    found.flags.writeable = False
    return found


def ratio(top: ArrayLike, bottom: ArrayLike) -> Floats:
    """Divide; 0/0 is 0, as scikit-learn's ``zero_division=0``."""
    zero = np.zeros(np.broadcast(top, bottom).shape)
    found: Floats = np.divide(top, bottom, out=zero, where=np.asarray(bottom) > 0)[()]
    return found


def f1(counts: ArrayLike) -> tuple[Floats, Floats]:
    """Return F1 of A and of B, ``2T/D``; F1 is 0 where there is neither a positive nor a decision for one.

    ``T_A = e1 + e3``, ``D_A = P + T_A + e5 + e7`` with ``P = e1 + e2 + e3 + e4``; B alike.

    Notes
    -----
    Keller, Mariéthoz & Bengio (2004) print every false-positive index of their eq. 12 one too low; the
    denominators here are the right ones.

    Examples
    --------
    >>> a, b = f1([8, 0, 2, 0, 0, 5, 0, 85])
    >>> float(a), round(float(b), 4)
    (1.0, 0.6957)
    """
    e1, e2, e3, e4, e5, e6, e7, _ = np.moveaxis(as_cells(counts), -1, 0)
    positives, t_a, t_b = e1 + e2 + e3 + e4, e1 + e3, e1 + e2
    return ratio(2 * t_a, positives + t_a + e5 + e7), ratio(2 * t_b, positives + t_b + e5 + e6)


def error(counts: ArrayLike) -> tuple[Floats, Floats]:
    """Return the classification error of A and of B: the share of documents each gets wrong.

    Examples
    --------
    >>> a, b = error([8, 0, 2, 0, 0, 5, 0, 85])
    >>> float(a), float(b)
    (0.0, 0.07)
    """
    cells = as_cells(counts)
    _, e2, e3, e4, e5, e6, e7, _ = np.moveaxis(cells, -1, 0)
    n, both = cells.sum(axis=-1), e4 + e5
    return ratio(e2 + e7 + both, n), ratio(e3 + e6 + both, n)


def precision(counts: ArrayLike) -> tuple[Floats, Floats]:
    """Return the precision of A and of B; 0 for a classifier that decides for no document.

    Examples
    --------
    >>> [float(p) for p in precision([6, 0, 2, 0, 0, 4, 0, 88])]
    [1.0, 0.6]
    """
    e1, e2, e3, _, e5, e6, e7, _ = np.moveaxis(as_cells(counts), -1, 0)
    return ratio(e1 + e3, e1 + e3 + e5 + e7), ratio(e1 + e2, e1 + e2 + e5 + e6)


def recall(counts: ArrayLike) -> tuple[Floats, Floats]:
    """Return the recall of A and of B; 0 where the set holds no positive document.

    Examples
    --------
    >>> [float(r) for r in recall([6, 0, 2, 0, 0, 4, 0, 88])]
    [1.0, 0.75]
    """
    e1, e2, e3, e4, *_ = np.moveaxis(as_cells(counts), -1, 0)
    positives = e1 + e2 + e3 + e4
    return ratio(e1 + e3, positives), ratio(e1 + e2, positives)


def f1_difference(counts: ArrayLike) -> Floats:
    """Return ``F1_A - F1_B``; see :func:`f1`.

    Examples
    --------
    >>> round(float(f1_difference([8, 0, 2, 0, 0, 5, 0, 85])), 4)
    0.3043
    """
    return np.subtract(*f1(counts))


def error_difference(counts: ArrayLike) -> Floats:
    """Return ``error_A - error_B = (n01 - n10) / N``: positive where A errs more.

    Examples
    --------
    >>> float(error_difference([8, 0, 2, 0, 0, 5, 0, 85]))
    -0.07
    """
    cells = as_cells(counts)
    only_a_wrong, only_b_wrong = cells[..., 1] + cells[..., 6], cells[..., 2] + cells[..., 5]
    return ratio(only_a_wrong - only_b_wrong, cells.sum(axis=-1))


def precision_difference(counts: ArrayLike) -> Floats:
    """Return the precision of A minus that of B; see :func:`precision`."""
    return np.subtract(*precision(counts))


def recall_difference(counts: ArrayLike) -> Floats:
    """Return the recall of A minus that of B; see :func:`recall`."""
    return np.subtract(*recall(counts))


def dcf_difference(counts: ArrayLike, cost_fn: float, cost_fp: float, prior: float) -> Floats:
    """Return the detection cost of A minus that of B.

    ``DCF = cost_fn prior FN / N_p + cost_fp (1 - prior) FP / N_n``, hence the difference
    ``c1 (e2 - e3) / N_p + c2 (e7 - e6) / N_n``: positive where A costs more. A class without a document
    contributes 0.

    Parameters
    ----------
    cost_fn, cost_fp : float
        Cost of a missed positive and of a false alarm, >= 0.
    prior : float
        Probability of a positive where the classifiers will be used, from 0 to 1.

    References
    ----------
    Keller, Mariéthoz & Bengio (2004), IDIAP-RR 04-34, eq. 7.

    Examples
    --------
    >>> round(float(dcf_difference([20, 3, 9, 8, 0, 4, 8, 48], cost_fn=1, cost_fp=1, prior=0.5)), 6)
    -0.041667
    """
    _check_costs(cost_fn, cost_fp, prior)
    cells = as_cells(counts)
    _, e2, e3, _, _, e6, e7, _ = np.moveaxis(cells, -1, 0)
    misses = ratio(e2 - e3, cells[..., :4].sum(axis=-1))
    false_alarms = ratio(e7 - e6, cells[..., 4:].sum(axis=-1))
    return cost_fn * prior * misses + cost_fp * (1 - prior) * false_alarms


def balanced_error_difference(counts: ArrayLike) -> Floats:
    """Return the balanced error of A minus that of B: the mean of the two class error rates.

    It is the DCF with unit costs and prior 1/2, and the difference of the half total error rates (HTER).
    """
    return dcf_difference(counts, 1.0, 1.0, 0.5)


DIFFERENCES: dict[str, Callable[..., Floats]] = {
    "f1": f1_difference,
    "error": error_difference,
    "precision": precision_difference,
    "recall": recall_difference,
    "dcf": dcf_difference,
    "balanced_error": balanced_error_difference,
}
RATIOS: dict[str, tuple[tuple[float, Floats, Floats], ...]] = {
    "f1": ((1, 2 * Y * A, Y + A), (-1, 2 * Y * B, Y + B)),
    "error": ((1, np.abs(Y - A) - np.abs(Y - B), np.ones(8)),),
    "precision": ((1, Y * A, A), (-1, Y * B, B)),
    "recall": ((1, Y * (A - B), Y),),
}
"""What the difference is made of: each time a factor, and the cells' weights in numerator and denominator."""

GAINS = ("f1", "precision", "recall")
"""Measures that a perfect system has at 1; the others are costs, which it has at 0."""

COSTS = {"cost_fn": 1.0, "cost_fp": 1.0, "prior": 0.5}
"""Defaults of ``"dcf"``, and what ``"balanced_error"`` always has."""


def check_measure(measure: str, **costs: float) -> dict[str, float]:
    """Return the costs of a measure with defaults filled in; empty if the measure has no costs.

    Raises ValueError if there is no such measure, it takes no such option, or a cost is out of range.

    Examples
    --------
    >>> check_measure("dcf", prior=0.1)
    {'cost_fn': 1.0, 'cost_fp': 1.0, 'prior': 0.1}
    """
    check_choice("measure", measure, DIFFERENCES)
    allowed = tuple(COSTS) if measure == "dcf" else ()
    for name in costs:
        only = f"{', '.join(allowed) or 'none'} is allowed"
        require(name in allowed, f"{name}: measure {measure!r} takes no such option; {only}")
    filled = COSTS | costs if measure in ("dcf", "balanced_error") else {}
    if filled:
        _check_costs(**filled)
    return filled


def _check_costs(cost_fn: float, cost_fp: float, prior: float) -> None:
    for name, value in (("cost_fn", cost_fn), ("cost_fp", cost_fp)):
        require(0 <= value < np.inf, f"{name}: {value!r} is not allowed; a finite number >= 0 is")
    require(0 <= prior <= 1, f"prior: {prior!r} is not allowed; a probability from 0 to 1 is")


def costs_text(costs: Mapping[str, float]) -> str:
    """Return the costs as tables write them.

    Examples
    --------
    >>> costs_text({"prior": 0.1, "cost_fn": 2, "cost_fp": 1.0})
    'cost_fn=2;cost_fp=1;prior=0.1'
    """
    return ";".join(f"{name}={np.format_float_positional(costs[name], trim='-')}" for name in sorted(costs))


def difference(measure: str, **costs: float) -> Callable[[ArrayLike], Floats]:
    """Return the function that computes A minus B in `measure` (``"f1"``, ``"error"``, ...).

    `costs` are ``cost_fn``, ``cost_fp`` and ``prior`` for ``"dcf"``; 1, 1 and 1/2 where not given.

    Examples
    --------
    >>> difference("error") is error_difference
    True
    >>> round(float(difference("dcf", prior=0.9)([20, 3, 9, 8, 0, 4, 8, 48])), 6)
    -0.128333
    """
    options = check_measure(measure, **costs)
    return partial(dcf_difference, **options) if measure == "dcf" else DIFFERENCES[measure]


def influence(counts: ArrayLike, measure: str, **costs: float) -> Floats:
    """Return the influence of a document in each cell on a measure's difference, A minus B.

    With p the shares of the eight cells, the difference d(p) changes by ``psi_i`` to first order when weight
    moves to cell i. The delta-method variance, the jackknife and the tilt of a population towards its null
    are computed from it.

    Returns
    -------
    float array, shape (..., 8)
        ``psi``, with ``sum p_i psi_i = 0``. A ratio 0/0 contributes 0.

    References
    ----------
    For F1, ``psi_A = (2ya - F_A (y + a)) / D_A``: Takahashi, Yamamoto, Kuchiba & Koyama (2022), Applied
    Intelligence 52, 4961-4972.

    Examples
    --------
    >>> influence([0, 0, 0, 0, 0, 1, 3, 4], "error")
    array([-0.25,  0.75, -1.25, -0.25, -0.25, -1.25,  0.75, -0.25])
    """
    options = check_measure(measure, **costs)
    cells = as_cells(counts).astype(float)
    rows = np.ascontiguousarray(cells.reshape(-1, 8).T)  # numpy is slow on many rows of eight
    total = _total(rows)
    shares = ratio(rows, total)
    ratios = RATIOS.get(measure, ())
    if options:
        cost_fn, cost_fp, prior = options["cost_fn"], options["cost_fp"], options["prior"]
        ratios = (cost_fn * prior, Y * (B - A), Y), (cost_fp * (1 - prior), (1 - Y) * (A - B), 1 - Y)
    psi = sum(times * _ratio_influence(shares, *weights) for times, *weights in ratios)
    return np.ascontiguousarray(np.transpose(psi)).reshape(cells.shape)


def _ratio_influence(shares: Floats, top: Floats, bottom: Floats) -> Floats:
    """Return the influence on ``sum p top / sum p bottom``, 0 where that is 0/0; `shares` are (8, n)."""
    top, bottom = top[:, None], bottom[:, None]
    t, d = _total(shares * top), _total(shares * bottom)
    exists = d > 0
    d = np.where(exists, d, 1)
    return np.where(exists, (top - t / d * bottom) / d, 0.0)


def _total(rows: Floats) -> Floats:
    """Return the sum of eight rows, in an order that does not depend on how many columns there are."""
    fours = rows[::2] + rows[1::2]
    return np.asarray((fours[0] + fours[1]) + (fours[2] + fours[3]))


def standard_deviation(counts: ArrayLike, measure: str, **costs: float) -> Any:
    """Return sqrt(N) times the standard deviation of a measure's difference on sets of N documents.

    To first order: ``sqrt(sum p_i psi_i^2)``, with p the shares of `counts` and psi their :func:`influence`.

    Examples
    --------
    >>> round(float(standard_deviation([0, 0, 0, 0, 0, 1, 1, 2], "error")) ** 2, 9)
    0.5
    """
    cells = as_cells(counts).astype(float)
    psi = influence(cells, measure, **costs)
    total = np.maximum(cells.sum(axis=-1), np.finfo(float).tiny)
    return np.sqrt((cells * psi**2).sum(axis=-1) / total)
