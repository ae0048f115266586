"""The posterior Dirichlet(counts + prior), reduced to the sign of a measure's difference.

Only the ratios of the shares matter for a sign: a draw is one gamma variable g for each group of cells.

The probability of a sign needs no draws. The sign of d is that of y_1 - y_2, or its opposite, for every
measure, with y = k(s) (1 - 2u) on either side: s is the share of the documents there on which the systems
differ, u the share of these that one of them has right. All four are beta variables and independent, also
where the second side holds what the first does, as for F1 (a Dirichlet vector is neutral). F1, for example,
compares (e1 + e3) / (e1 + e2) with (H + e7) / (H + e6), H = e1 + ... + e5; the log of either is 2 artanh y.
The probability is a beta tail given three of the four, averaged over Gauss nodes of these.
"""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.special import betainc

from harness.measures import Floats, Ints, check_measure
from harness.significance.replicates import Keys, set_generator

Sign = Callable[..., Floats]

BLOCK = 5000
"""Draws of a set at a time."""

GROUPS = {
    "f1": ((0,), (1,), (2,), (3, 4), (5,), (6,)),
    "precision": ((0,), (1,), (2,), (4,), (5,), (6,)),
    "dcf": ((0, 3), (1,), (2,), (5,), (6,), (4, 7)),
    "balanced_error": ((0, 3), (1,), (2,), (5,), (6,), (4, 7)),
}
"""The cells that matter for the sign of a difference, those that act alike in one group."""

NODES = 4, 6
"""Nodes for each variable, the second number where the first finds a probability in ``TOLD``. With a prior of
.5 these are then wrong by up to .2 % on average and each by 1 %, seldom by 5 %; with one of 0 each by 2 %,
seldom by 10 %. 5,000 draws tell 2.5 to 20 % (`tests/significance/test_known_shares.py`)."""

TOLD = 0.002, 0.2
"""Twice these are common levels; further out a rough probability gives the same verdicts."""

LEAST_PRIOR = 0.4
"""With a smaller prior, but 0, a variable has peaks at 0 and 1 that the nodes miss."""

CERTAIN = 6.0
"""The tail is one of s only where 1 - 2u is so many deviations from 0, where its sign would change."""

CHUNK = 1000
"""Sets at a time, which bounds the memory."""


def gamma_shapes(sets: Ints, measure: str, prior: float) -> Floats:
    """Return the parameters of the groups' gamma variables, shape (n_sets, 6).

    Examples
    --------
    >>> gamma_shapes(np.array([[20, 2, 9, 3, 4, 6, 5, 951]]), "f1", 0.5)
    array([[20.5,  2.5,  9.5,  8. ,  6.5,  5.5]])
    """
    documents = np.stack([sets[:, cells].sum(axis=1) for cells in GROUPS[measure]], axis=1)
    return documents + float(prior) * np.array([len(cells) for cells in GROUPS[measure]])


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


def signs(shapes: Floats, sign: Sign, n_replicates: int, key: Keys) -> NDArray[np.int64]:
    """Return the numbers of draws with d > 0 and with d < 0 of one set, of shapes (6,)."""
    rng, found = set_generator(key), np.zeros(2, dtype=np.int64)
    for first in range(0, n_replicates, BLOCK):
        size = min(BLOCK, n_replicates - first)
        value = sign(*(_gamma(shape, size, rng) for shape in shapes.tolist()))
        found += [np.count_nonzero(value > 0), np.count_nonzero(value < 0)]
    return found


def _gamma(shape: float, size: int, rng: Generator) -> Floats:
    if shape == 0.5:  # an empty cell under the usual prior: half a squared normal, several times faster
        return rng.standard_normal(size) ** 2 / 2
    return rng.standard_gamma(shape, size)


# --- probabilities -----------------------------------------------------------------------------------------


def smaller_share(shapes: Floats, measure: str, costs: Mapping[str, float]) -> Floats:
    """Return the smaller of P(d > 0) and P(d < 0) of each set, from its :func:`gamma_shapes`.

    Examples
    --------
    >>> smaller_share(np.array([[20.5, 2.5, 9.5, 8, 6.5, 5.5]]), "f1", {}).round(3)
    array([0.023])
    """
    share = np.empty(len(shapes))
    for first in range(0, len(shapes), CHUNK):
        part = shapes[first : first + CHUNK]
        found = _smaller_share(part, measure, costs, NODES[0])
        told = (found > TOLD[0]) & (found < TOLD[1])
        found[told] = _smaller_share(part[told], measure, costs, NODES[1])
        share[first : first + CHUNK] = found
    return share


def _smaller_share(shapes: Floats, measure: str, costs: Mapping[str, float], n_nodes: int) -> Floats:
    if measure in ("f1", "precision"):  # y = (e3 - e2) / (2 e1 + e2 + e3)
        against, favour, same = shapes[:, [1, 4]], shapes[:, [2, 5]], shapes[:, [0, 3]]
        weights, twice = np.ones(2), 2
    else:  # y = weight (e2 - e3) / (e1 + e4 + e2 + e3)
        against, favour, same = shapes[:, [2, 4]], shapes[:, [1, 3]], shapes[:, [0, 5]]
        weights, twice = np.array(_class_weights(measure, costs)), 1
    if measure == "f1":
        same[:, 1] += shapes[:, :3].sum(axis=1)
    a, b = np.hstack([against, against + favour]), np.hstack([favour, same])  # of u_1, u_2, s_1, s_2
    x, p = beta_nodes(a, b, n_nodes)
    u, s = x[:, :2], x[:, 2:]
    value = np.hstack([1 - 2 * u, weights[:, None] * s / (s + twice * (1 - s))])
    mean = (value * p).sum(axis=2)
    deviation = np.sqrt(((value - mean[..., None]) ** 2 * p).sum(axis=2))
    # the tail is that of the variable that moves d most, which leaves a smooth function of the others; it is
    # less smooth in u, since y may change sign with it, and so s must move d twice as much
    spread = np.where((a > 0) & (b > 0), deviation * np.abs(mean[:, [2, 3, 0, 1]]), 0)
    spread[:, 2:] *= 0.5 * (np.abs(mean[:, :2]) > CERTAIN * deviation[:, :2])
    below, chosen = np.zeros(len(shapes)), np.where(spread.any(axis=1), spread.argmax(axis=1), -1)
    for tail in range(4):
        rows, own, partner = np.flatnonzero(chosen == tail), tail % 2, (tail + 2) % 4
        y = value[rows, 1 - own, :, None, None] * value[rows, 3 - own, None, :, None]
        limit = y / value[rows, partner, None, None]
        if tail < 2:
            limit = (1 - limit) / 2
        else:
            limit = np.clip(limit / weights[own], 0, 1)
            limit = twice * limit / (1 + (twice - 1) * limit)
        chance = betainc(*(shape[rows, tail, None, None, None] for shape in (a, b)), np.clip(limit, 0, 1))
        if tail >= 2:  # y of this side grows with s where 1 - 2u > 0
            chance = np.where(mean[rows, partner, None, None, None] > 0, 1 - chance, chance)
        weighed = (p[rows, place] for place in (1 - own, 3 - own, partner))
        below[rows] = np.einsum("nijk,ni,nj,nk->n", chance, *weighed)
    return np.clip(np.minimum(below, 1 - below), 0, 1)


def beta_nodes(a: Floats, b: Floats, n_nodes: int) -> tuple[Floats, Floats]:
    """Return nodes and weights of the Gauss quadrature for Beta(a, b) variables, shape (..., n_nodes).

    From the recurrence of the Jacobi polynomials (Golub & Welsch 1969). A variable with a = 0 is 0, one with
    b = 0 is 1.

    Examples
    --------
    >>> nodes, weights = beta_nodes(np.array([2.0]), np.array([3.0]), 4)
    >>> (nodes**2 * weights).sum().round(12)  # a (a + 1) / ((a + b) (a + b + 1))
    np.float64(0.2)
    """
    a, b, k = a[..., None], b[..., None], np.arange(1, n_nodes)
    total = np.where(a + b > 0, a + b, 1)
    n = total + 2 * k - 2
    beside = k * (a + k - 1) * (b + k - 1) / (n**2 * (n + 1))
    beside[..., 1:] *= (n - k)[..., 1:] / (n - 1)[..., 1:]
    matrix = np.zeros((*total.shape[:-1], n_nodes, n_nodes))
    matrix[..., 0, 0] = (a / total)[..., 0]
    matrix[..., k, k] = (1 + (a - b) * (total - 2) / (n * (n + 2))) / 2
    matrix[..., k, k - 1] = np.sqrt(beside)
    nodes, vectors = np.linalg.eigh(matrix)
    return np.clip(nodes, 0, 1), vectors[..., 0, :] ** 2
