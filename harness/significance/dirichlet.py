"""The posterior Dirichlet(counts + prior), reduced to the sign of a measure's difference.

Only the ratios of the shares matter for a sign: a draw is one gamma variable g for each group of cells.
Before any draw, the moments of these variables tell P(d < 0) for many sets: d has the sign of a quadratic
form Q = g'Cg / 2 whose first four cumulants are known in closed form. A gamma distribution with the right
three, corrected for the fourth (Edgeworth), gives P(Q < 0) to within a few per cent of itself once some ten
documents tell A from B.
"""

from collections.abc import Callable, Iterator, Mapping

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from harness.measures import Bools, Floats, Ints, check_measure
from harness.significance.replicates import Keys, set_generator
from harness.significance.stopping import Forecast, below_zero, error_factor, final_count

Sign = Callable[..., Floats]

STAGES = (400, 1100, 3500)
"""Draws of a set's stages, the last again and again; after 1,500 all on one side p <= 1 % is settled."""

GROUPS = {
    "f1": ((0,), (1,), (2,), (3, 4), (5,), (6,)),
    "precision": ((0,), (1,), (2,), (4,), (5,), (6,)),
    "dcf": ((0, 3), (1,), (2,), (5,), (6,), (4, 7)),
    "balanced_error": ((0, 3), (1,), (2,), (5,), (6,), (4, 7)),
}
"""The cells that matter for the sign of a difference, those that act alike in one group."""

LEAST_SHAPE, LARGEST_SKEWNESS = 10.0, 1.0
"""Moments are used where the shapes of the discordant cells, and of the true positives, sum to so much."""

MARGIN = (0.03, 6.0, 1.0)
"""They may be wrong by a factor 1 + .03 + 6 / n^1.5 + g^2, n the smaller of the two sums above and g the
skewness (how far they were wrong: `tests/significance/test_bayes.py`)."""

ROUGH_SHAPE = 4
"""With smaller shapes they tell nothing; nor, for the precision, where they are not used."""

SLACK = 2e-4
"""And by this in addition, far in the tail."""


def gamma_shapes(sets: Ints, measure: str, prior: float) -> Floats:
    """Return the parameters of the groups' gamma variables, shape (n_sets, 6).

    Examples
    --------
    >>> gamma_shapes(np.array([[20, 2, 9, 3, 4, 6, 5, 951]]), "f1", 0.5)
    array([[20.5,  2.5,  9.5,  8. ,  6.5,  5.5]])
    """
    return np.stack([sets[:, cells].sum(axis=1) + prior * len(cells) for cells in GROUPS[measure]], axis=1)


def _class_weights(measure: str, costs: Mapping[str, float]) -> tuple[float, float]:
    """Return what the difference of miss rates and that of false-alarm rates weigh."""
    known = check_measure(measure, **costs)
    return known["cost_fn"] * known["prior"], known["cost_fp"] * (1 - known["prior"])


def sign_function(measure: str, costs: Mapping[str, float]) -> Sign:
    """Return a function of the six groups' gamma variables that has the sign of the measure's difference."""
    if measure == "f1":
        return _sign_f1
    if measure == "precision":
        return _sign_precision
    on_positives, on_negatives = _class_weights(measure, costs)

    def sign(same_p: Floats, e2: Floats, e3: Floats, e6: Floats, e7: Floats, same_n: Floats) -> Floats:
        missed = on_positives * _share(e2 - e3, same_p + e2 + e3)
        return missed + on_negatives * _share(e7 - e6, same_n + e6 + e7)

    return sign


def _sign_f1(e1: Floats, e2: Floats, e3: Floats, e45: Floats, e6: Floats, e7: Floats) -> Floats:
    # T_A D_B - T_B D_A without the T_A T_B that both products hold
    base = e1 + e2 + e3 + e45
    return (e1 + e3) * (base + e6) - (e1 + e2) * (base + e7)


def _sign_precision(e1: Floats, e2: Floats, e3: Floats, e5: Floats, e6: Floats, e7: Floats) -> Floats:
    t_a, t_b = e1 + e3, e1 + e2
    return _share(t_a, t_a + e5 + e7) - _share(t_b, t_b + e5 + e6)


def _share(part: Floats, whole: Floats) -> Floats:
    return part / np.where(whole > 0, whole, 1.0)  # 0/0 counts as 0


# --- draws -------------------------------------------------------------------------------------------------


def stages(shapes: Floats, sign: Sign, n_replicates: int, key: Keys) -> Iterator[tuple[int, int]]:
    """Yield the numbers of draws with d > 0 and with d < 0 in each stage of one set, of shapes (6,)."""
    rng = set_generator(key)
    for size in _stage_sizes(n_replicates):
        value = sign(*(_gamma(shape, size, rng) for shape in shapes.tolist()))
        yield int(np.count_nonzero(value > 0)), int(np.count_nonzero(value < 0))


def _stage_sizes(n_replicates: int) -> list[int]:
    sizes: list[int] = []
    while n_replicates > 0:
        sizes.append(min(n_replicates, STAGES[min(len(sizes), len(STAGES) - 1)]))
        n_replicates -= sizes[-1]
    return sizes


def _gamma(shape: float, size: int, rng: Generator) -> Floats:
    if shape == 0.5:  # an empty cell under the usual prior: half a squared normal, several times faster
        return rng.standard_normal(size) ** 2 / 2
    return rng.standard_gamma(shape, size)


def pvalue(signs: NDArray[np.int64]) -> Floats:
    """Return p from the numbers of draws with d > 0 and with d < 0, shape (..., 2)."""
    untied = signs.sum(axis=-1)
    return np.where(untied > 0, 2 * signs.min(axis=-1) / np.maximum(untied, 1), 1.0)


def settle(drawn: Iterator[tuple[int, int]], levels: Floats, n_replicates: int) -> Bools:
    """Return the verdicts on one set, one per level, taking as many stages as they need."""
    rejected = np.zeros(len(levels), dtype=bool)
    unsettled = ~rejected
    positive = negative = n_drawn = 0
    for size, (more_positive, more_negative) in zip(_stage_sizes(n_replicates), drawn, strict=False):
        positive, negative, n_drawn = positive + more_positive, negative + more_negative, n_drawn + size
        if n_drawn == n_replicates:
            least = greatest = float(pvalue(np.array([positive, negative])))
        elif positive + negative < n_drawn:  # with ties p has another denominator, not known yet
            continue
        else:
            few, many = final_count(min(positive, negative), n_drawn, n_replicates)
            least, greatest = 2 * few / n_replicates, 2 * many / n_replicates
        rejected |= unsettled & (greatest <= levels)
        unsettled &= (least <= levels) & (levels < greatest)
        if not unsettled.any():
            break
    return rejected


# --- moments -----------------------------------------------------------------------------------------------


def forecast(shapes: Floats, measure: str, costs: Mapping[str, float]) -> Forecast:
    """Return bounds on the smaller of P(d > 0) and P(d < 0) of each set, from its :func:`gamma_shapes`."""
    tail, skewness = lower_tail(shapes, quadratic_form(measure, costs))
    tail = np.minimum(tail, 1 - tail)
    fewest = _fewest(shapes, measure)
    usable = (fewest >= LEAST_SHAPE) & (np.abs(skewness) <= LARGEST_SKEWNESS)
    rough = (fewest >= ROUGH_SHAPE) & (measure != "precision")
    return Forecast.around(tail, tail, error_factor(MARGIN, fewest, skewness), SLACK, usable, rough)


def _fewest(shapes: Floats, measure: str) -> Floats:
    """Return the smaller sum of shapes: of the cells that tell A from B, and of what they are measured by."""
    first, second = shapes[:, :3].sum(axis=1), shapes[:, 3:].sum(axis=1)
    if measure in ("f1", "precision"):
        return np.asarray(np.minimum(shapes[:, [1, 2, 4, 5]].sum(axis=1), first))
    return np.asarray(np.minimum(shapes[:, 1:5].sum(axis=1), np.minimum(first, second)))


def quadratic_form(measure: str, costs: Mapping[str, float]) -> Floats:
    """Return the symmetric matrix C, shape (6, 6), of the form with the sign of the measure's difference.

    Examples
    --------
    >>> quadratic_form("precision", {})[0]  # T_A (e5 + e6) - T_B (e5 + e7): e1 e6 and -e1 e7
    array([ 0.,  0.,  0.,  0.,  1., -1.])
    """

    def form(g: Floats) -> Floats:
        """Return the form at g, shape (..., 6)."""
        cells = np.moveaxis(g, -1, 0)
        if measure == "f1":
            return _sign_f1(*cells)
        if measure == "precision":
            e1, e2, e3, e5, e6, e7 = cells
            return np.asarray((e1 + e3) * (e5 + e6) - (e1 + e2) * (e5 + e7))
        same_p, e2, e3, e6, e7, same_n = cells
        on_positives, on_negatives = _class_weights(measure, costs)
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
    return below_zero(mean, variance, third, fourth)
