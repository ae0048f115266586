"""Populations at a wanted difference from one in which H0 holds."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq

from harness.measures import difference, influence
from harness.nulls.path import NoAlternative
from harness.nulls.projection import as_shares

Floats = NDArray[np.float64]

_LARGEST_FACTOR = 100.0


def tilted(null: ArrayLike, wanted: float, measure: str, **costs: float) -> Floats:
    """Return the population that lies at a difference of `wanted`, the null tilted towards it.

    ``q_i ~ p0_i exp(t psi_i)``, psi the influence of a document on the measure's difference: the direction in
    which a difference is had with the least change of the population. (For the error, whose influence
    does not depend on the population, q is the nearest of all populations with that difference in
    ``KL(q||p0)``.) It owes nothing to the difference that was observed, as the path to the real
    pair does.

    Parameters
    ----------
    null : array_like, shape (8,)
        Cells e1..e8 of a population in which the difference is 0, counts or shares.
    wanted : float
        The difference A minus B, of either sign.
    measure, **costs
        As :func:`harness.measures.influence`.

    Returns
    -------
    float array, shape (8,)
        Shares whose difference is `wanted`.

    Raises
    ------
    NoAlternative
        If no document's influence points there, or a cell would have to change by a factor above 100 first.
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> q = tilted([50, 0, 0, 0, 0, 5, 5, 40], 0.05, "error")
    >>> q.round(4).tolist(), round(float(difference("error")(q)), 9)
    ([0.494, 0.0, 0.0, 0.0, 0.0, 0.0304, 0.0804, 0.3952], 0.05)
    """
    if not np.isfinite(wanted):
        raise ValueError(f"wanted: {wanted!r} is not allowed; a finite number is")
    p0 = as_shares(null)
    if wanted == 0:
        return p0.copy()
    psi = np.where(p0 > 0, influence(p0, measure, **costs), 0.0)
    return tilt_to(p0, psi, difference(measure, **costs), wanted, measure)


def tilt_to(
    p0: Floats, psi: Floats, measured: Callable[[Floats], Any], wanted: float, measure: str
) -> Floats:
    """Return ``q_i ~ p0_i exp(t psi_i)`` with the t at which `measured` of it is `wanted`.

    Parameters
    ----------
    p0 : float array, shape (k,)
        Shares, whose difference is 0.
    psi : float array, shape (k,)
        0 where p0 is 0.
    measured : callable
        Shares -> the difference.
    wanted : float
    measure : str
        Its name for a reader.

    Raises
    ------
    NoAlternative
        As :func:`tilted`.
    """
    span = float(psi[p0 > 0].max() - psi[p0 > 0].min())
    last = np.sign(wanted) * np.log(_LARGEST_FACTOR) / max(span, 1e-300)
    farthest = float(measured(_tilt(p0, psi, last))) if span > 0 else 0.0
    if abs(farthest) < abs(wanted) or farthest * wanted < 0:
        raise NoAlternative(
            f"a difference of {wanted:.3g} in {measure} lies too far from the null: {farthest:.3g} is "
            f"reached where a cell has changed by a factor of {_LARGEST_FACTOR:g}"
        )

    def gap(t: float) -> float:
        return float(measured(_tilt(p0, psi, t))) - wanted

    if gap(0.0) * wanted >= 0:  # the null is balanced to rounding alone, and so little is wanted
        return p0.copy()
    return _tilt(p0, psi, brentq(gap, 0.0, last, xtol=1e-15, rtol=1e-14))


def _tilt(p0: Floats, psi: Floats, t: Any) -> Floats:
    exponent = t * psi
    shares = p0 * np.exp(exponent - exponent.max())
    return shares / shares.sum()
