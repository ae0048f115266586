"""F1, classification error, precision, recall and DCF from joint-outcome counts.

Everything is a function of the eight cells e1..e8 of one or many evaluation sets (or of a population's
shares), and a difference is always A minus B: a positive F1 difference favours A, a positive error
difference favours B.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def as_cells(counts: ArrayLike) -> NDArray[Any]:
    """Check counts or shares and return them as an int64 or float64 array of shape (..., 8).

    Raises
    ------
    ValueError
        If the last axis is not 8 long, or a cell is negative, infinite or NaN.

    Examples
    --------
    >>> as_cells([0.5, 0, 0, 0, 0, 0, 0, 0.5]).shape
    (8,)
    """
    cells = np.asarray(counts)
    if cells.ndim == 0 or cells.shape[-1] != 8:
        raise ValueError(f"counts: shape {cells.shape} is not allowed; the last axis must be 8 long (e1..e8)")
    if cells.dtype.kind not in "iuf":
        raise ValueError(f"counts: type {cells.dtype} is not allowed; integers and floats (shares) are")
    bad = ~((cells >= 0) & np.isfinite(cells))
    if bad.any():
        where = tuple(int(i) for i in np.argwhere(bad)[0])
        raise ValueError(
            f"counts: cell e{where[-1] + 1} is {cells[where]!s} at index {where}; "
            "a finite number >= 0 is allowed"
        )
    return cells.astype(np.float64 if cells.dtype.kind == "f" else np.int64)


def _ratio(numerator: NDArray[Any], denominator: NDArray[Any]) -> Floats:
    """Divide; 0/0 is 0, as scikit-learn's ``zero_division=0``."""
    zero = np.zeros(np.shape(numerator))
    return np.divide(numerator, denominator, out=zero, where=np.asarray(denominator) > 0)[()]


def f1(counts: ArrayLike) -> tuple[Floats, Floats]:
    """Return F1 of A and of B, ``2T/D``; F1 is 0 where there is neither a positive nor a decision for one.

    Parameters
    ----------
    counts : array_like, shape (..., 8)
        Joint outcomes e1..e8, as counts or as shares.

    Returns
    -------
    f1_a, f1_b : float arrays, shape (...)
        ``T_A = e1 + e3``, ``D_A = P + T_A + e5 + e7`` with ``P = e1 + e2 + e3 + e4``; B alike.

    Raises
    ------
    ValueError
        If the last axis is not 8 long, or a cell is negative, infinite or NaN.

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
    return _ratio(2 * t_a, positives + t_a + e5 + e7), _ratio(2 * t_b, positives + t_b + e5 + e6)


def error(counts: ArrayLike) -> tuple[Floats, Floats]:
    """Return the classification error of A and of B: the share of documents each gets wrong.

    Parameters
    ----------
    counts : array_like, shape (..., 8)
        Joint outcomes e1..e8, as counts or as shares.

    Returns
    -------
    error_a, error_b : float arrays, shape (...)

    Raises
    ------
    ValueError
        If the last axis is not 8 long, or a cell is negative, infinite or NaN.

    Examples
    --------
    >>> a, b = error([8, 0, 2, 0, 0, 5, 0, 85])
    >>> float(a), float(b)
    (0.0, 0.07)
    """
    cells = as_cells(counts)
    _, e2, e3, e4, e5, e6, e7, _ = np.moveaxis(cells, -1, 0)
    n, both = cells.sum(axis=-1), e4 + e5
    return _ratio(e2 + e7 + both, n), _ratio(e3 + e6 + both, n)


def precision(counts: ArrayLike) -> tuple[Floats, Floats]:
    """Return the precision of A and of B; 0 for a classifier that decides for no document.

    Parameters
    ----------
    counts : array_like, shape (..., 8)
        Joint outcomes e1..e8, as counts or as shares.

    Returns
    -------
    precision_a, precision_b : float arrays, shape (...)

    Raises
    ------
    ValueError
        If the last axis is not 8 long, or a cell is negative, infinite or NaN.

    Examples
    --------
    >>> [float(p) for p in precision([6, 0, 2, 0, 0, 4, 0, 88])]
    [1.0, 0.6]
    """
    e1, e2, e3, _, e5, e6, e7, _ = np.moveaxis(as_cells(counts), -1, 0)
    return _ratio(e1 + e3, e1 + e3 + e5 + e7), _ratio(e1 + e2, e1 + e2 + e5 + e6)


def recall(counts: ArrayLike) -> tuple[Floats, Floats]:
    """Return the recall of A and of B; 0 where the set holds no positive document.

    Parameters
    ----------
    counts : array_like, shape (..., 8)
        Joint outcomes e1..e8, as counts or as shares.

    Returns
    -------
    recall_a, recall_b : float arrays, shape (...)

    Raises
    ------
    ValueError
        If the last axis is not 8 long, or a cell is negative, infinite or NaN.

    Examples
    --------
    >>> [float(r) for r in recall([6, 0, 2, 0, 0, 4, 0, 88])]
    [1.0, 0.75]
    """
    e1, e2, e3, e4, *_ = np.moveaxis(as_cells(counts), -1, 0)
    positives = e1 + e2 + e3 + e4
    return _ratio(e1 + e3, positives), _ratio(e1 + e2, positives)


def f1_difference(counts: ArrayLike) -> Floats:
    """Return ``F1_A - F1_B`` (A minus B; 0/0 counts as 0 for either), shape (...); see :func:`f1`.

    Raises
    ------
    ValueError
        If the last axis is not 8 long, or a cell is negative, infinite or NaN.

    Examples
    --------
    >>> round(float(f1_difference([8, 0, 2, 0, 0, 5, 0, 85])), 4)
    0.3043
    """
    a, b = f1(counts)
    return a - b


def error_difference(counts: ArrayLike) -> Floats:
    """Return ``error_A - error_B = (n01 - n10) / N``, shape (...): positive where A errs more.

    Raises
    ------
    ValueError
        If the last axis is not 8 long, or a cell is negative, infinite or NaN.

    Examples
    --------
    >>> float(error_difference([8, 0, 2, 0, 0, 5, 0, 85]))
    -0.07
    """
    cells = as_cells(counts)
    only_a_wrong, only_b_wrong = cells[..., 1] + cells[..., 6], cells[..., 2] + cells[..., 5]
    return _ratio(only_a_wrong - only_b_wrong, cells.sum(axis=-1))


def precision_difference(counts: ArrayLike) -> Floats:
    """Return the precision of A minus that of B, shape (...); see :func:`precision`.

    Raises
    ------
    ValueError
        If the last axis is not 8 long, or a cell is negative, infinite or NaN.

    Examples
    --------
    >>> float(precision_difference([6, 0, 2, 0, 0, 4, 0, 88]))
    0.4
    """
    a, b = precision(counts)
    return a - b


def recall_difference(counts: ArrayLike) -> Floats:
    """Return the recall of A minus that of B, shape (...); see :func:`recall`.

    Raises
    ------
    ValueError
        If the last axis is not 8 long, or a cell is negative, infinite or NaN.

    Examples
    --------
    >>> float(recall_difference([6, 0, 2, 0, 0, 4, 0, 88]))
    0.25
    """
    a, b = recall(counts)
    return a - b


def dcf_difference(counts: ArrayLike, cost_fn: float, cost_fp: float, prior: float) -> Floats:
    """Return the detection cost of A minus that of B.

    ``DCF = cost_fn prior FN / N_p + cost_fp (1 - prior) FP / N_n``, hence the difference
    ``c1 (e2 - e3) / N_p + c2 (e7 - e6) / N_n``: positive where A costs more.

    Parameters
    ----------
    counts : array_like, shape (..., 8)
        Joint outcomes e1..e8, as counts or as shares.
    cost_fn, cost_fp : float
        Cost of a missed positive and of a false alarm, >= 0.
    prior : float
        Probability of a positive where the classifiers will be used, from 0 to 1.

    Returns
    -------
    float array, shape (...)
        A class without a document contributes 0.

    Raises
    ------
    ValueError
        If `counts`, a cost or `prior` is out of its range.

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
    misses = _ratio(e2 - e3, cells[..., :4].sum(axis=-1))
    false_alarms = _ratio(e7 - e6, cells[..., 4:].sum(axis=-1))
    return cost_fn * prior * misses + cost_fp * (1 - prior) * false_alarms


def balanced_error_difference(counts: ArrayLike) -> Floats:
    """Return the balanced error of A minus that of B, shape (...): the mean of the two class error rates.

    It is the DCF with unit costs and prior 1/2, and half the difference of the sums of error rates known as
    half total error rate (HTER).

    Raises
    ------
    ValueError
        If the last axis is not 8 long, or a cell is negative, infinite or NaN.

    Examples
    --------
    >>> round(float(balanced_error_difference([20, 3, 9, 8, 0, 4, 8, 48])), 6)
    -0.041667
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
COSTS = {"cost_fn": 1.0, "cost_fp": 1.0, "prior": 0.5}
"""What ``"dcf"`` takes where nothing else is said, and what ``"balanced_error"`` always is."""


def check_measure(measure: str, **costs: float) -> dict[str, float]:
    """Return the costs of a measure with defaults filled in; empty but for ``"dcf"`` and its like.

    Raises
    ------
    ValueError
        If there is no such measure, it takes no such option, or a cost or the prior is out of range.

    Examples
    --------
    >>> check_measure("dcf", prior=0.1)
    {'cost_fn': 1.0, 'cost_fp': 1.0, 'prior': 0.1}
    >>> check_measure("f1")
    {}
    """
    if measure not in DIFFERENCES:
        raise ValueError(f"measure: {measure!r} is not allowed; choose one of {', '.join(DIFFERENCES)}")
    allowed = tuple(COSTS) if measure == "dcf" else ()
    for name in costs:
        if name not in allowed:
            raise ValueError(
                f"{name}: measure {measure!r} takes no such option; {', '.join(allowed) or 'none'} is allowed"
            )
    filled = COSTS | costs if measure in ("dcf", "balanced_error") else {}
    if filled:
        _check_costs(**filled)
    return filled


def _check_costs(cost_fn: float, cost_fp: float, prior: float) -> None:
    for name, value in (("cost_fn", cost_fn), ("cost_fp", cost_fp)):
        if not (np.isfinite(value) and value >= 0):
            raise ValueError(f"{name}: {value!r} is not allowed; a finite number >= 0 is")
    if not 0 <= prior <= 1:
        raise ValueError(f"prior: {prior!r} is not allowed; a probability from 0 to 1 is")


def costs_text(costs: Mapping[str, float]) -> str:
    """Return costs as tables tell them: one text for one set of costs, empty where there are none.

    Examples
    --------
    >>> costs_text({"prior": 0.1, "cost_fn": 2, "cost_fp": 1.0})
    'cost_fn=2;cost_fp=1;prior=0.1'
    """
    return ";".join(f"{name}={np.format_float_positional(costs[name], trim='-')}" for name in sorted(costs))


def difference(measure: str, **costs: float) -> Callable[[ArrayLike], Floats]:
    """Return the function that computes A minus B in `measure` (``"f1"``, ``"error"``, ...).

    Parameters
    ----------
    measure : str
    **costs : float
        ``cost_fn``, ``cost_fp``, ``prior`` for ``"dcf"``; 1, 1 and 1/2 where not given.

    Raises
    ------
    ValueError
        If there is no such measure or option; the message names those there are.

    Examples
    --------
    >>> difference("error") is error_difference
    True
    >>> round(float(difference("dcf", prior=0.9)([20, 3, 9, 8, 0, 4, 8, 48])), 6)
    -0.128333
    """
    options = check_measure(measure, **costs)
    return partial(dcf_difference, **options) if measure == "dcf" else DIFFERENCES[measure]
