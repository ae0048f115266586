"""The posterior probability that A is worse than B from the moments of gamma variables, before any draw.

The difference has the sign of a quadratic form Q = g'Cg / 2 in independent gamma variables g of shapes a. Its
first four cumulants are known in closed form, and a gamma distribution with the right three, corrected for
the fourth (Edgeworth), gives P(Q < 0) to within a few per cent of itself once some ten documents tell.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from harness.measures import check_measure
from harness.significance.settling import Forecast, gamma_lower

Floats = NDArray[np.float64]

LEAST_SHAPE, LARGEST_SKEWNESS = 10.0, 1.0
"""Used where the shapes of the discordant cells, and of the true positives, sum to so much."""

MARGIN = (0.03, 6.0, 1.0)
"""It may be wrong by a factor 1 + .03 + 6 / n^1.5 + g^2, n the smaller of the two sums above and g the
skewness (how far it was wrong: `tests/test_bayes.py`)."""

SLACK = 2e-4
"""And by so much besides, far in the tail."""


def forecast(shapes: Floats, measure: str, costs: Mapping[str, float]) -> Forecast:
    """Return bounds on the smaller of P(d > 0) and P(d < 0) of each set.

    Parameters
    ----------
    shapes : float array, shape (n_sets, 6)
        As made by :func:`harness.significance.dirichlet_draws.gamma_shapes`.
    measure : {"f1", "precision", "dcf", "balanced_error"}
    costs : mapping
        Of "dcf".
    """
    tail, skewness = lower_tail(shapes, quadratic_form(measure, costs))
    tail = np.minimum(tail, 1 - tail)
    fewest = _fewest(shapes, measure)
    constant, count, square = MARGIN
    factor = 1 + constant + count / np.maximum(fewest, 1) ** 1.5 + square * skewness**2
    usable = (fewest >= LEAST_SHAPE) & (np.abs(skewness) <= LARGEST_SKEWNESS)
    low, high = np.clip(tail / factor - SLACK, 0, 1), np.clip(tail * factor + SLACK, 0, 1)
    return Forecast(np.zeros(len(tail)), np.where(usable, low, 0.0), np.where(usable, high, 1.0))


def _fewest(shapes: Floats, measure: str) -> Floats:
    """Return the smaller sum of shapes: of the cells that tell A from B, and of what they are measured by."""
    first, second = shapes[:, :3].sum(axis=1), shapes[:, 3:].sum(axis=1)
    if measure in ("f1", "precision"):
        return np.minimum(shapes[:, [1, 2, 4, 5]].sum(axis=1), first)
    return np.minimum(shapes[:, 1:5].sum(axis=1), np.minimum(first, second))


def quadratic_form(measure: str, costs: Mapping[str, float]) -> Floats:
    """Return the symmetric matrix C, shape (6, 6), of the form with the sign of the measure's difference.

    Examples
    --------
    >>> quadratic_form("precision", {})[0]  # T_A (e5 + e6) - T_B (e5 + e7): e1 e6 and -e1 e7
    array([ 0.,  0.,  0.,  0.,  1., -1.])
    """
    known = check_measure(measure, **costs)

    def form(g: Floats) -> Floats:
        """Return the form at g, shape (..., 6)."""
        if measure in ("f1", "precision"):
            e1, e2, e3, e45, e6, e7 = np.moveaxis(g, -1, 0)
            base = e45 + (e1 + e2 + e3 if measure == "f1" else 0)
            return np.asarray((e1 + e3) * (base + e6) - (e1 + e2) * (base + e7))
        same_p, e2, e3, e6, e7, same_n = np.moveaxis(g, -1, 0)
        on_positives, on_negatives = (
            known["cost_fn"] * known["prior"],
            known["cost_fp"] * (1 - known["prior"]),
        )
        missed = on_positives * (e2 - e3) * (same_n + e6 + e7)
        return np.asarray(missed + on_negatives * (e7 - e6) * (same_p + e2 + e3))

    single = np.eye(6)
    alone = form(single)
    return form(single[:, None] + single[None]) - alone[:, None] - alone[None]


def lower_tail(shapes: Floats, form: Floats) -> tuple[Floats, Floats]:
    """Return P(g'Cg < 0) nearly and the skewness of the form, for each row of shapes, arrays (n_sets,).

    With W the centred gammas, whose cumulants are a, 2a, 6a, s = Ca and V = diag(a), the cumulants of Q are
    a's/2 + tr(CV)/2; s'Vs + 2 sum C_ii s_i a_i + tr(CVCV)/2; 2 sum a_i s_i^3 + 3 s'VCVs and
    6 sum a_i s_i^4 + 24 sum a_i s_i^2 (CVs)_i + 12 s'VCVCVs to leading order.
    """
    slope = shapes @ form
    reach = shapes * slope
    turned = reach @ form
    own = np.diag(form)
    mean = (shapes * slope).sum(axis=1) / 2 + shapes @ own / 2
    variance = (reach * (slope + 2 * own)).sum(axis=1) + ((shapes @ form**2) * shapes).sum(axis=1) / 2
    third = 2 * (reach * slope**2).sum(axis=1) + 3 * (reach * turned).sum(axis=1)
    fourth = 6 * (reach * slope**3).sum(axis=1) + 24 * (reach * slope * turned).sum(axis=1)
    fourth += 12 * (turned**2 * shapes).sum(axis=1)
    deviation = np.sqrt(np.maximum(variance, 1e-60))
    skewness = third / deviation**3
    excess = fourth / deviation**4 - 1.5 * skewness**2  # beyond the gamma's own
    return gamma_lower(-mean / deviation, skewness, excess), skewness
