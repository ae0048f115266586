"""Draws from a Dirichlet posterior, reduced to the sign of a measure's difference, in stages.

Only the ratios of the shares matter for a sign: a draw is one gamma variable for each group of cells.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from harness.measures import check_measure
from harness.significance.replicates import Keys, set_generator
from harness.significance.stopping import final_count

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
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


def gamma_shapes(sets: Ints, measure: str, prior: float) -> Floats:
    """Return the parameters of the groups' gamma variables, shape (n_sets, 6).

    Examples
    --------
    >>> gamma_shapes(np.array([[20, 2, 9, 3, 4, 6, 5, 951]]), "f1", 0.5)
    array([[20.5,  2.5,  9.5,  8. ,  6.5,  5.5]])
    """
    return np.stack([sets[:, cells].sum(axis=1) + prior * len(cells) for cells in GROUPS[measure]], axis=1)


def sign_function(measure: str, costs: Mapping[str, float]) -> Sign:
    """Return a function of the six groups' gamma variables that has the sign of the measure's difference."""
    if measure == "f1":
        return _sign_f1
    if measure == "precision":
        return _sign_precision
    known = check_measure(measure, **costs)
    on_positives, on_negatives = known["cost_fn"] * known["prior"], known["cost_fp"] * (1 - known["prior"])

    def sign(same_p: Floats, e2: Floats, e3: Floats, e6: Floats, e7: Floats, same_n: Floats) -> Floats:
        return on_positives * _share(e2 - e3, same_p + e2 + e3) + on_negatives * _share(
            e7 - e6, same_n + e6 + e7
        )

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


def stages(shapes: Floats, sign: Sign, n_replicates: int, key: Keys) -> Iterator[tuple[int, int]]:
    """Yield the numbers of draws with d > 0 and with d < 0 in each stage of one set.

    Parameters
    ----------
    shapes : float array, shape (6,)
        The set's row of :func:`gamma_shapes`.
    sign : callable
    n_replicates : int
        Draws in all.
    key : array
        The set's row of :func:`harness.significance.replicates.set_keys`.
    """
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


def _gamma(shape: float, size: int, rng: np.random.Generator) -> Floats:
    if shape == 0.5:  # an empty cell under the usual prior: half a squared normal, several times faster
        return rng.standard_normal(size) ** 2 / 2
    return rng.standard_gamma(shape, size)


def pvalue(signs: Ints) -> Floats:
    """Return p from the numbers of draws with d > 0 and with d < 0, shape (..., 2).

    Examples
    --------
    >>> pvalue(np.array([[4900, 100], [0, 0]]))
    array([0.04, 1.  ])
    """
    untied = signs.sum(axis=-1)
    return np.where(untied > 0, 2 * signs.min(axis=-1) / np.maximum(untied, 1), 1.0)


def settle(drawn: Iterator[tuple[int, int]], levels: Sequence[float], n_replicates: int) -> list[bool]:
    """Return the verdicts on one set, one a level, taking as many stages as they need."""
    verdicts: dict[float, bool] = {}
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
        for level in levels:
            if level not in verdicts and (greatest <= level or least > level):
                verdicts[level] = greatest <= level
        if len(verdicts) == len(set(levels)):
            break
    return [verdicts[level] for level in levels]
