"""Draws from a Dirichlet posterior, reduced to the sign of a measure's difference, in stages.

Only the ratios of the shares matter for a sign: a draw is one gamma variable for each group of cells.
"""

from collections.abc import Callable, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from harness.measures import check_measure
from harness.significance.replicates import Keys, set_generator
from harness.significance.stopping import final_counts

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


def stages(shapes: Floats, sign: Sign, n_replicates: int, key: Keys) -> Iterator[Ints]:
    """Yield the numbers of draws with d > 0 and with d < 0, shape (2,), in each stage of one set.

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
        yield _signs(sign(*(_gamma(shape, size, rng) for shape in shapes.tolist())))


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


def _signs(value: Floats) -> Ints:
    """Return the numbers of draws with d > 0 and with d < 0, shape (..., 2)."""
    return np.stack([np.count_nonzero(value > 0, axis=-1), np.count_nonzero(value < 0, axis=-1)], axis=-1)


def pvalue(signs: Ints) -> Floats:
    """Return p from the numbers of draws with d > 0 and with d < 0, shape (..., 2).

    Examples
    --------
    >>> pvalue(np.array([[4900, 100], [0, 0]]))
    array([0.04, 1.  ])
    """
    untied = signs.sum(axis=-1)
    return np.where(untied > 0, 2 * signs.min(axis=-1) / np.maximum(untied, 1), 1.0)


def settle(drawn: Iterator[Ints], levels: Floats, n_replicates: int) -> NDArray[np.bool_]:
    """Return the verdicts on one set, shape (n_levels,), taking as many stages as they need."""
    verdicts, open_ = np.zeros(len(levels), dtype=bool), np.ones(len(levels), dtype=bool)
    so_far, n_drawn = np.zeros(2, dtype=np.int64), 0
    for size, more in zip(_stage_sizes(n_replicates), drawn, strict=False):
        so_far, n_drawn = so_far + more, n_drawn + size
        rejected, known = _settled(so_far, n_drawn, n_replicates, levels)
        verdicts = np.where(open_, rejected, verdicts)
        open_ &= ~known
        if not open_.any():
            break
    return verdicts


def _settled(
    signs: Ints, n_drawn: int, n_replicates: int, levels: Floats
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which levels reject, and at which that is settled, shape (..., n_levels)."""
    if n_drawn == n_replicates:
        rejected = pvalue(signs)[..., None] <= levels
        return rejected, np.ones_like(rejected)
    low, high = final_counts(signs.min(axis=-1), n_drawn, n_replicates)
    rejected, may_reject = (2 * bound[..., None] / n_replicates <= levels for bound in (high, low))
    untied = signs.sum(axis=-1) == n_drawn  # with ties p has another denominator
    return rejected, (rejected | ~may_reject) & untied[..., None]
