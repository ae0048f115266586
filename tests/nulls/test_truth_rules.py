from types import SimpleNamespace

import numpy as np
import pytest

from harness import nulls
from harness.evaluation.sets import draw_sets, reweight
from harness.measures import error_difference, f1_difference
from harness.significance.mcnemar import mcnemar
from harness.significance.randomization import randomization


def errors(n01, n10, n_documents=1000):
    """A population in which A alone errs on n01 documents and B alone on n10."""
    return np.array([[n_documents - n01 - n10 - 100, 0, n10, 0, 0, 0, n01, 100]])


def sets_of(cells, n_documents, n_draws=4000, seed=0):
    generator = np.random.default_rng(seed)
    return np.stack([draw_sets(row, n_documents, n_draws, generator) for row in cells])


def test_exact_zero_decides_by_whole_numbers():
    # F1_A = 2/3 in two ways that floats could separate; then one document beside it
    a_half = [1, 1, 1, 0, 0, 0, 0, 5]
    equal = [300, 0, 0, 100, 200, 0, 0, 1]
    off = [300, 0, 0, 100, 200, 1, 0, 1]
    np.testing.assert_array_equal(
        nulls.exact_zero(np.array([a_half, equal, off]), f1_difference, measure="f1"), [True, True, False]
    )
    cells = np.array([[0, 3, 1, 0, 0, 2, 0, 94], [0, 3, 1, 0, 0, 1, 0, 95]])
    np.testing.assert_array_equal(nulls.exact_zero(cells, error_difference, measure="error"), [True, False])
    # T_A D_B = 2 (2**52)(...) passes 64 bits: fixed-width integers would wrap
    huge = np.array([[2**51, 0, 1, 0, 0, 0, 2, 0], [2**51, 0, 1, 0, 0, 1, 0, 0]])
    assert not nulls.exact_zero(huge, f1_difference, measure="f1").any()


def test_exact_zero_agrees_with_fractions_on_random_populations():
    cells = np.random.default_rng(0).integers(0, 4, size=(5000, 8))
    cells[:, 7] += 1
    e1, e2, e3, e4, e5, e6, e7, _ = cells.T
    t_a, t_b, positives = e1 + e3, e1 + e2, e1 + e2 + e3 + e4
    d_a, d_b = positives + t_a + e5 + e7, positives + t_b + e5 + e6
    expected = [
        (0 if da == 0 else 2 * ta / da) == (0 if db == 0 else 2 * tb / db)
        for ta, da, tb, db in zip(t_a, d_a, t_b, d_b, strict=True)
    ]
    np.testing.assert_array_equal(nulls.exact_zero(cells, f1_difference, measure="f1"), expected)
    assert 100 < sum(expected) < 4900


def test_exact_zero_of_shares_forgives_rounding_only():
    shares = reweight(np.array([[5, 1, 1, 3, 2, 3, 3, 700], [5, 1, 2, 3, 2, 3, 3, 700]]), 0.3)
    for measure, difference in (("f1", f1_difference), ("error", error_difference)):
        assert nulls.exact_zero(shares, difference, measure=measure).tolist() == [True, False]


def test_margin_and_half_document_at_their_borders():
    assert nulls.margin(errors(8, 3), error_difference, margin=0.005).all()
    assert not nulls.margin(errors(9, 3), error_difference, margin=0.005).any()
    assert nulls.margin(errors(0, 0), error_difference, margin=0).all()
    # |d| = 5/1000 is 1/(2N) at N = 100: strictly less is asked for
    assert not nulls.half_document(errors(8, 3), error_difference, n_documents=100).any()
    assert nulls.half_document(errors(8, 3), error_difference, n_documents=99).all()


def test_sampling_interval_against_the_exact_law():
    # d_N <= 0 for a one-sided population only if no discordant document is drawn: (1 - .02)^N
    cells, n_documents = errors(20, 0), 100
    exact = 0.98**n_documents  # .133
    draws = sets_of(cells, n_documents, 20_000)
    for alpha, holds in ((0.2, True), (0.3, False)):
        assert (exact > alpha / 2) == holds
        assert nulls.sampling_interval(cells, error_difference, draws=draws, alpha=alpha)[0] == holds


def test_sampling_interval_counts_ties_on_both_sides():
    draws = np.array([[[90, 0, 0, 0, 0, 0, 0, 10]] * 19 + [[90, 0, 0, 0, 0, 0, 1, 9]]])
    cells = errors(1, 0)
    assert nulls.sampling_interval(cells, error_difference, draws=draws, alpha=0.05).all()


def test_scaled_sd_against_the_exact_standard_deviation():
    cells, n_documents = errors(30, 20), 400
    share = 50 / 1000
    sd = np.sqrt((share - 0.01**2) / n_documents)
    draws = sets_of(cells, n_documents, 20_000)
    for c, holds in ((0.01 / sd * 1.03, True), (0.01 / sd / 1.03, False)):
        assert nulls.scaled_sd(cells, error_difference, draws=draws, c=c)[0] == holds
    # of two draws with d = 0 and .03 the standard deviation is .0212, with n in place of n - 1 it were .015
    two = np.concatenate([errors(0, 0), errors(30, 0)])[None]
    assert nulls.scaled_sd(cells, error_difference, draws=two, c=0.6).all()
    alike = errors(0, 0)
    assert nulls.scaled_sd(alike, error_difference, draws=sets_of(alike, 50, 10)).all()


def test_population_test_rounds_and_compares_with_level():
    tests = {
        "error": lambda counts: mcnemar(counts, variant="midp"),
        "f1": lambda counts: randomization(counts, measure="f1", midp=True),
    }
    cells = np.concatenate([errors(7, 1), errors(6, 2)])  # mid-p .0391 and .1797
    for given in (cells, cells + 0.2):
        holds = nulls.population_test(given, error_difference, measure="error", tests=tests)
        assert holds.tolist() == [False, True]
    assert nulls.population_test(cells, error_difference, measure="error", tests=tests, level=0.03).all()
    f1 = nulls.population_test(cells, f1_difference, measure="f1", tests=tests)
    np.testing.assert_array_equal(f1, tests["f1"](cells).pvalue > 0.05)


GOOD = errors(3, 5)
OF_ERROR = {"measure": "error", "tests": {"error": mcnemar}}
NAN_TEST = {"error": lambda counts: SimpleNamespace(pvalue=[np.nan])}


BAD_ARGUMENTS = [
    ("margin", {"margin": -1}, "margin"),
    ("margin", {"counts": GOOD[0]}, "counts"),
    ("margin", {"counts": -GOOD}, "counts"),
    ("margin", {"difference": lambda c: np.full(len(c), np.nan)}, "NaN"),
    ("half_document", {"n_documents": 0}, "n_documents"),
    ("sampling_interval", {"draws": GOOD[:, None], "alpha": 0}, "alpha"),
    ("sampling_interval", {"draws": GOOD, "alpha": 0.1}, "draws"),
    ("sampling_interval", {"draws": GOOD[:, :0, None], "alpha": 0.1}, "draws"),
    ("sampling_interval", {"draws": np.array([[[1] * 8, [2] * 8]]), "alpha": 0.1}, "draws"),
    ("scaled_sd", {"draws": GOOD[:, None], "c": -1}, "c:"),
    ("scaled_sd", {"draws": GOOD[:, None]}, "needs 2"),
    ("population_test", OF_ERROR | {"measure": "f1"}, "'f1'"),
    ("population_test", OF_ERROR | {"level": 1}, "level"),
    ("population_test", OF_ERROR | {"counts": GOOD / 1000}, "shares"),
    ("population_test", OF_ERROR | {"tests": NAN_TEST}, "NaN"),
]


@pytest.mark.parametrize(("rule", "options", "message"), BAD_ARGUMENTS)
def test_bad_arguments_are_named(rule, options, message):
    with pytest.raises(ValueError, match=message):
        getattr(nulls, rule)(**{"counts": GOOD, "difference": error_difference} | options)
