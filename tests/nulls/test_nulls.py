"""Populations in which H0 holds, and the way from them to the real ones."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

from harness.measures import DIFFERENCES, difference, f1_difference, influence, standard_deviation
from harness.nulls import (
    NoAlternative,
    NoProjection,
    alternative,
    distance,
    divergence,
    exact_null,
    joint_null,
    path,
    project,
    project_patterns,
    reach,
)

COSTLY = {"cost_fn": 3.0, "cost_fp": 1.0, "prior": 0.2}
MEASURES = [(name, COSTLY if name == "dcf" else {}) for name in DIFFERENCES]


def populations(n, rng):
    """Ten times n populations: even and uneven, with empty cells, rare positives, F1 near 0 and near 1."""
    kinds = [rng.dirichlet(np.full(8, c), size=n) for c in (0.1, 0.3, 1, 5)]
    kinds += [rng.dirichlet(np.full(8, 0.5), size=n) * (rng.random((n, 8)) < 0.7) + np.eye(8)[7] * 1e-3]
    handful = rng.integers(0, 4, size=(2 * n, 8)).astype(float)
    handful[:, [0, 3, 4]] = rng.integers(0, 200, size=(2 * n, 3))
    handful[:, 7] = rng.integers(1000, 20000, size=2 * n)
    rare, near_one, near_zero = rng.dirichlet(np.ones(8), size=(3, n))
    rare[:, :7] *= 10 ** rng.uniform(-6, -1, size=(n, 1))
    near_one[:, 1:7] *= 10 ** rng.uniform(-8, -1, size=(n, 1))
    near_zero[:, :3] *= 10 ** rng.uniform(-8, -1, size=(n, 1))
    p = np.concatenate([*kinds, handful, rare, near_one, near_zero])
    return p / p.sum(axis=1, keepdims=True)


def check_nulls(p, measure, costs):
    """Check |d|, that the nulls are shares of the same cells, and that those without have a reason."""
    q, reasons = exact_null(range(len(p)), p, measure, **costs)
    there = ~np.isnan(q).any(axis=1)
    assert set(reasons) == set(np.flatnonzero(~there))
    assert np.abs(difference(measure, **costs)(q[there])).max() <= 1e-12
    assert_allclose(q[there].sum(axis=1), 1, rtol=1e-12)
    assert (q[there] >= 0).all()
    assert_array_equal(q[there][p[there] == 0], 0)
    return q, there, reasons


@pytest.mark.parametrize("n", [12, pytest.param(1000, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("measure", "costs"), MEASURES)
def test_every_measure_is_equal_in_its_projections(measure, costs, n):
    p = populations(n, np.random.default_rng(1))
    q, there, reasons = check_nulls(p, measure, costs)
    assert there.mean() > 0.7
    if measure == "f1":
        assert all("favours" in reason for reason in reasons.values())
        # no q is farther than the population that makes every decision exchangeable
        nearest, joint = (divergence(null[there], p[there]) for null in (q, joint_null(p)))
        assert (nearest <= joint * (1 + 1e-9) + 1e-15).all()
    # the tilt is along the influence of a document: log(q/p) is linear in it
    psi, q, p = influence(q[there], measure, **costs), q[there], p[there]
    log = np.log(np.divide(q, p, out=np.ones_like(p), where=(p > 0) & (q > 0)))
    log -= (q * log).sum(axis=1, keepdims=True)
    variance = np.maximum((q * psi**2).sum(axis=1), 1e-300)
    slope = (q * psi * log).sum(axis=1) / variance
    left = np.sqrt((q * (log - slope[:, None] * psi) ** 2).sum(axis=1))
    assert np.quantile(left, 0.97) < 1e-6


def nearest_found(p, measure, rng, n_starts):
    """Return the least divergence that a general-purpose optimiser finds from several starts."""
    there = p > 0

    def shares(x):
        full = np.zeros(8)
        full[there] = np.exp(x - np.logaddexp.reduce(x))
        return full

    def slope(x):
        some = shares(x)[there]
        log = np.log(np.maximum(some, 1e-300) / p[there])
        return some * (log - some @ log)

    constraint = {
        "type": "eq",
        "fun": lambda x: difference(measure)(shares(x)),
        "jac": lambda x: (shares(x) * influence(shares(x), measure))[there],
    }
    least = np.inf
    for start in range(n_starts):
        x = np.log(p[there]) + (start > 0) * rng.normal(size=there.sum())
        found = minimize(
            lambda x: divergence(shares(x), p), x, jac=slope, constraints=constraint, method="SLSQP",
            options={"ftol": 1e-15, "maxiter": 500},
        )  # fmt: skip
        r = shares(found.x)
        # not the nulls that have no true positive left, or no false one
        emptied = any(r[c].sum() < 1e-5 * p[c].sum() for c in ([0, 1, 2], [4, 5, 6], [1, 2, 5, 6]))
        if abs(difference(measure)(r)) < 1e-9 and not emptied:
            least = min(least, found.fun)
    return least


SLOW = pytest.param(200, 3, 120, 4, marks=pytest.mark.slow)


@pytest.mark.parametrize("measure", ["f1", "precision", "balanced_error"])
@pytest.mark.parametrize(("n", "seed", "least_compared", "n_starts"), [(12, 2, 6, 2), SLOW])
def test_no_optimiser_finds_a_nearer_null(n, seed, least_compared, n_starts, measure):
    rng = np.random.default_rng(seed)
    p = populations(-(-n // 8), rng)[:: 1 if n > 100 else 2]
    p = p[(np.where(p > 0, p, 1) > 1e-9).all(axis=1)]
    q, _ = exact_null(range(len(p)), p, measure)
    n_compared = 0
    for there, nearest in zip(p, q, strict=True):
        if np.isnan(nearest).any() or n_compared == n:
            continue
        with np.errstate(all="ignore"):
            least = nearest_found(there, measure, rng, n_starts)
        if np.isfinite(least):
            n_compared += 1
            assert divergence(nearest, there) <= least * (1 + 1e-6) + 1e-12, there
    assert n_compared >= least_compared


def test_error_and_recall_have_a_closed_form():
    p = np.array([20, 3, 12, 8, 5, 4, 8, 40]) / 100
    n01, n10 = 0.11, 0.16
    by = np.ones(8)
    by[[1, 6]], by[[2, 5]] = np.sqrt(n10 / n01), np.sqrt(n01 / n10)
    assert_allclose(project(p, "error"), p * by / (p * by).sum(), rtol=1e-14)
    # KL of it: -log of the sum of what no projection moves and twice the geometric mean
    assert_allclose(divergence(project(p, "error"), p), -np.log(1 - n01 - n10 + 2 * np.sqrt(n01 * n10)))
    by = np.array([1, 2, 0.5, 1, 1, 1, 1, 1])
    assert_allclose(project(p, "recall"), p * by / (p * by).sum(), rtol=1e-14)


NO_PROJECTION = [
    ([5, 0, 0, 2, 0, 0, 3, 90], "error", "no document favours A in error"),
    ([5, 0, 3, 2, 0, 0, 0, 90], "f1", "no document favours B in f1"),
    ([0, 0, 0, 2, 0, 3, 2, 90], "f1", None),  # no true positive at all: both F1 are 0 already
    ([0, 0, 3, 0, 0, 0, 4, 90], "f1", "no document favours B in f1"),
    ([5, 3, 0, 2, 0, 3, 4, 90], "recall", "no document favours A in recall"),
    ([5, 3, 0, 2, 0, 0, 4, 90], "dcf", "no document favours A in dcf"),
    ([0, 3, 0, 2, 0, 1, 0, 90], "precision", "A decides for no document"),
    # A finds all positives, B none: only with no negative right could A be as bad
    ([0, 0, 3, 0, 0, 5, 1, 90], "balanced_error", "no population with the same cells was found"),
]


@pytest.mark.parametrize(("cells", "measure", "sentence"), NO_PROJECTION)
def test_where_there_is_no_projection_the_reason_names_the_side(cells, measure, sentence):
    if sentence is None:
        assert abs(difference(measure)(project(cells, measure))) < 1e-12
        return
    with pytest.raises(NoProjection, match=sentence):
        project(cells, measure)
    shares, reasons = exact_null(["c", "d"], [cells, [5, 1, 1, 0, 0, 1, 1, 92]], measure)
    assert_array_equal(np.isnan(shares).all(axis=1), [True, False])
    assert list(reasons) == ["c"]
    assert sentence in reasons["c"]
    with pytest.raises(NoProjection, match=r"population \("):
        project([[[5, 1, 1, 0, 0, 1, 1, 92], cells]], measure)


def test_a_class_that_costs_nothing_is_left_alone():
    p = np.array([20, 3, 12, 8, 5, 4, 9, 39]) / 100
    for costs, keep in (({"prior": 1.0}, [5, 6]), ({"cost_fn": 0.0}, [1, 2])):
        q = project(p, "dcf", **costs)
        assert_allclose(q[keep[0]] / q[keep[1]], p[keep[0]] / p[keep[1]])
        assert abs(difference("dcf", **costs)(q)) < 1e-15
    assert_array_equal(project(p, "dcf", cost_fn=0, cost_fp=0), p / p.sum())


cells_of_few = st.lists(st.integers(0, 50), min_size=8, max_size=8).filter(any)


@settings(max_examples=25)
@given(cells_of_few, st.sampled_from(MEASURES))
def test_swapping_the_classifiers_swaps_the_null(cells, case):
    measure, costs = case
    swap = [0, 2, 1, 3, 4, 6, 5, 7]
    one, why = exact_null(["x"], [cells], measure, **costs)
    other, why_not = exact_null(["x"], [np.array(cells)[swap]], measure, **costs)
    assert set(why) == set(why_not)
    if not why:
        assert_allclose(one[0][swap], other[0], rtol=1e-4, atol=1e-8)


def test_batches_change_nothing():
    p = populations(1, np.random.default_rng(4))
    q, _ = exact_null(range(len(p)), p, "f1")
    for i, row in enumerate(p):
        if not np.isnan(q[i]).any():
            assert_allclose(project(row, "f1"), q[i], rtol=1e-9, atol=1e-300)


def test_path_runs_from_the_null_to_the_pair():
    p = populations(2, np.random.default_rng(6))
    q, _ = exact_null(range(len(p)), p, "f1")
    p, q = p[~np.isnan(q).any(axis=1)], q[~np.isnan(q).any(axis=1)]
    assert_allclose(path(q, p, 0), q, rtol=1e-15)
    assert_allclose(path(q, p, 1), p, rtol=1e-15)
    half = path(q, p, 0.5)
    assert_allclose(half, np.sqrt(p * q) / np.sqrt(p * q).sum(axis=1, keepdims=True), rtol=1e-9, atol=1e-250)
    many = path(q[0], p[0], np.linspace(0, 2, 5))
    assert many.shape == (5, 8)
    assert_allclose(many[2], p[0])
    # a cell that the joint null fills comes back empty
    assert_array_equal(path([1, 1, 1, 0, 0, 0, 0, 0], [1, 0, 2, 0, 0, 0, 0, 0], 0.5)[[1, 3]], 0)


@pytest.mark.parametrize(("measure", "costs"), MEASURES)
def test_alternative_lies_at_its_distance(measure, costs):
    p = np.array([[120, 9, 22, 60, 30, 14, 35, 9710], [300, 60, 40, 100, 50, 30, 70, 350]])
    q = project(p, measure, **costs)
    for h in (0.5, 1, 2, 3):
        r = alternative(q, p, h, 1000, measure, **costs)
        d, sd = difference(measure, **costs)(r), standard_deviation(r, measure, **costs)
        assert_allclose(np.abs(d), h * sd / np.sqrt(1000), rtol=1e-9)
        assert_array_equal(np.sign(d), np.sign(difference(measure, **costs)(p)))
    assert_array_equal(alternative(q, p, 0, 1000, measure, **costs), q)
    # at the real pair's own distance, it is the real pair
    at = float(distance(p[1], 1000, measure, **costs))
    assert_allclose(alternative(q[1], p[1], at, 1000, measure, **costs), p[1] / 1000, rtol=1e-6)


def test_no_alternative_says_why():
    same = [5, 1, 1, 0, 0, 1, 1, 92]
    with pytest.raises(NoAlternative, match="the same f1"):
        alternative(same, same, 1, 100, "f1")
    pair = [5, 1, 2, 0, 0, 1, 1, 920]
    null = project(pair, "f1")
    with pytest.raises(NoAlternative, match="standard deviations at N = 10, not h = 9"):
        alternative(null, pair, 9, 10, "f1")
    farthest = reach([null, null], [pair, same], 10, "f1")
    assert farthest[1] == 0
    alternative(null, pair, farthest[0] - 1e-9, 10, "f1")
    with pytest.raises(NoAlternative):
        alternative(null, pair, farthest[0] + 1e-9, 10, "f1")


def test_distance_and_divergence():
    assert distance([5, 0, 0, 2, 1, 0, 0, 92], 100, "f1") == 0
    p = np.array([5, 1, 2, 3, 0, 4, 8, 77])
    expected = abs(f1_difference(p)) * 10 / standard_deviation(p, "f1")
    assert_allclose(distance([p, p], 100, "f1"), [expected] * 2)
    assert divergence([1, 0], [0.5, 0.5]) == pytest.approx(np.log(2))
    assert divergence([0.5, 0.5], [1, 0]) == np.inf


def test_patterns_of_one_category_are_the_projection():
    p = populations(1, np.random.default_rng(7))
    for row in p:
        try:
            expected = project(row, "f1")
        except NoProjection as none:
            with pytest.raises(NoProjection, match=str(none)[:30]):
                project_patterns(row, np.eye(8, dtype=int))
            continue
        assert_allclose(project_patterns(row, np.eye(8, dtype=int)), expected, rtol=1e-6, atol=1e-12)


def test_patterns_of_several_categories():
    rng = np.random.default_rng(8)
    patterns = rng.multinomial(6, [0.1, 0.05, 0.02, 0.1, 0.03, 0.04, 0.06, 0.6], size=200)
    counts = rng.integers(1, 50, size=200)
    p, q = counts / counts.sum(), project_patterns(counts, patterns)
    pooled = q @ patterns
    assert abs(f1_difference(p @ patterns)) > 0.01
    assert abs(f1_difference(pooled)) < 1e-12
    # stationary: log(q/p) is a multiple of what a document does to the difference
    psi = patterns @ (influence(pooled, "f1"))
    log = np.log(q / p) - q @ np.log(q / p)
    assert_allclose(log, psi * (psi @ log) / (psi @ psi), atol=1e-6)
    # and nearer than tilting without regard to H0's best common value
    assert divergence(q, p) < 0.2
