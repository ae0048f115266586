"""The tests by the delta method: against exact arithmetic, statsmodels, and drawn sets."""

from fractions import Fraction

import numpy as np
import pytest
from count_cases import COUNTS, OUTCOMES, SWAP, documents, few
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm
from statsmodels.stats.proportion import test_proportions_2indep as two_independent
from statsmodels.stats.weightstats import ztost

from harness.measures import DIFFERENCES, A, B, Y, difference, f1, precision, recall
from harness.significance.proportion import snedecor_cochran
from harness.significance.wald import equivalence, estimate, unpaired, wald

measures = st.sampled_from(list(DIFFERENCES))


def ratio(counts, top, bottom):
    """A ratio of two sums over documents, and by how much each document moves it to first order."""
    t, d = (sum(n * x for n, x in zip(counts, values, strict=True)) for values in (top, bottom))
    if d == 0:
        return Fraction(0), [Fraction(0)] * 8
    share = Fraction(t, d)
    return share, [(x - share * y) / d for x, y in zip(top, bottom, strict=True)]


def combine(*parts):
    """The sum of ratios with their weights."""
    value = sum(weight * share for weight, (share, _) in parts)
    moves = [sum(weight * move[i] for weight, (_, move) in parts) for i in range(8)]
    return value, moves


def exact(counts, measure):
    """The difference and its delta-method variance, in fractions."""
    y, a, b = zip(*OUTCOMES, strict=True)
    one = [1] * 8

    def of(top, bottom):
        return ratio(counts, [top(*o) for o in OUTCOMES], [bottom(*o) for o in OUTCOMES])

    if measure == "f1":
        parts = [(s, of(lambda y, a, b, i=i: 2 * y * (a, b)[i], lambda y, a, b, i=i: y + (a, b)[i]))
                 for i, s in ((0, 1), (1, -1))]  # fmt: skip
    elif measure == "error":
        wrong = [(y != a) - (y != b) for y, a, b in OUTCOMES]
        parts = [(1, ratio(counts, wrong, one))]
    elif measure == "precision":
        parts = [(s, of(lambda y, a, b, i=i: y * (a, b)[i], lambda y, a, b, i=i: (a, b)[i]))
                 for i, s in ((0, 1), (1, -1))]  # fmt: skip
    elif measure == "recall":
        parts = [(1, of(lambda y, a, b: y * (a - b), lambda y, a, b: y))]
    else:
        missed = of(lambda y, a, b: y * (b - a), lambda y, a, b: y)
        alarms = of(lambda y, a, b: (1 - y) * (a - b), lambda y, a, b: 1 - y)
        parts = [(Fraction(1, 2), missed), (Fraction(1, 2), alarms)]
    value, moves = combine(*parts)
    return value, sum(n * move**2 for n, move in zip(counts, moves, strict=True))


@settings(max_examples=150)
@given(few, measures)
def test_difference_and_variance_are_those_of_exact_arithmetic(counts, measure):
    d, variance = exact(counts, measure)
    result = wald(counts, measure)
    assert result.degenerate == (variance == 0)
    expected = float(d) / float(variance) ** 0.5 if variance else 0.0
    assert result.statistic == pytest.approx(expected, rel=1e-9, abs=1e-12)


@given(few, measures, st.sampled_from([1, 7, 10**6, 10**13]))
def test_no_size_of_set_turns_rounding_into_spread(counts, measure, times):
    many = [n * times for n in counts]
    assert wald(many, measure).degenerate == (exact(counts, measure)[1] == 0)


def test_error_is_a_little_larger_than_snedecor_and_cochran():
    counts = [20, 2, 9, 3, 4, 6, 5, 951]
    z = snedecor_cochran(counts).statistic
    assert wald(counts, "error").statistic == pytest.approx(z / np.sqrt(1 - z**2 / 1000), rel=1e-12)


def test_costs_of_the_dcf():
    counts, costs = [20, 3, 9, 8, 1, 4, 8, 47], {"cost_fn": 10.0, "cost_fp": 2.0, "prior": 0.2}
    drawn = np.random.default_rng(3).multinomial(20_000, np.array(counts) / 100, 20_000)
    spread = difference("dcf", **costs)(drawn).std() * np.sqrt(200)
    d, deviation = estimate(np.array(counts), "dcf", **costs)
    # the sd of an sd over 20,000 sets is .5 %
    assert deviation == pytest.approx(spread, rel=0.03)
    assert wald(counts, "dcf", **costs).statistic == pytest.approx(d / deviation)
    assert wald(counts, "dcf").statistic == wald(counts, "balanced_error").statistic
    # a class that costs nothing tells nothing: only the missed positives are left
    assert wald(counts, "dcf", prior=1).statistic == pytest.approx(-wald(counts, "recall").statistic)


@pytest.mark.parametrize("swap", [False, True])
def test_a_precision_of_nothing_decides_nothing(swap):
    """B never says yes: its precision is 0/0, and no test can know it."""
    counts = np.array([[0, 0, 60, 60, 0, 0, 13, 267], [0, 1, 60, 60, 0, 0, 13, 267]])
    counts = counts[:, SWAP] if swap else counts
    result = wald(counts, "precision")
    assert result.pvalue[0] == 1
    assert result.degenerate.tolist() == [True, False]
    assert wald(counts, "precision", degenerate="reject").pvalue[0] == 0
    assert not wald(counts, "f1").degenerate.any()  # without a decision F1 is 0, and known


# --- unpaired ----------------------------------------------------------------------------------------------


def test_error_is_the_unpooled_test_of_two_independent_proportions_of_statsmodels():
    peer = two_independent(14, 1000, 22, 1000, method="wald", compare="diff")
    result = unpaired(COUNTS, "error")
    assert result.statistic == pytest.approx(peer.statistic, rel=1e-12)
    assert result.pvalue == pytest.approx(peer.pvalue, rel=1e-12)


@pytest.mark.parametrize("measure", ["f1", "precision", "recall"])
def test_the_variance_is_that_of_measures_on_sets_drawn_apart(measure):
    shares, n = np.array([0.1, 0.02, 0.05, 0.08, 0.05, 0.03, 0.07, 0.6]), 4000
    both = {"f1": f1, "precision": precision, "recall": recall}[measure]
    generator = np.random.default_rng(1)
    a, b = (
        both(generator.multinomial(n, shares, 20_000))[0],
        both(generator.multinomial(n, shares, 20_000))[1],
    )
    expected = np.rint(n * shares).astype(int)
    result = unpaired(expected, measure)
    # the sd of an sd over 20,000 sets is .5 %
    assert difference(measure)(expected) / result.statistic == pytest.approx((a - b).std(), rel=0.03)


@pytest.mark.parametrize("decision", [A, B])
def test_f1_variance_from_the_influence_as_printed(decision):
    p = np.array(COUNTS) / 1000
    top, bottom = p @ (Y * decision), p @ (Y + decision)
    psi = (2 * Y * decision - 2 * top / bottom * (Y + decision)) / bottom
    other = A + B - decision
    psi_other = (2 * Y * other - 2 * (p @ (Y * other)) / (p @ (Y + other)) * (Y + other)) / (p @ (Y + other))
    z = difference("f1")(COUNTS) / np.sqrt((p @ psi**2 + p @ psi_other**2) / 1000)
    assert unpaired(COUNTS, "f1").statistic == pytest.approx(z, rel=1e-12)


# --- equivalence -------------------------------------------------------------------------------------------

CLOSE = [300, 10, 12, 30, 20, 14, 12, 602]


@pytest.mark.parametrize("margin", [0.003, 0.01, 0.02])
def test_error_is_the_tost_of_statsmodels_on_the_losses_of_the_documents(margin):
    y, a, b = documents(CLOSE)
    losses = (y != a).astype(float) - (y != b)
    peer = ztost(losses, -margin, margin, ddof=0)[0]
    assert equivalence(CLOSE, "error", margin).pvalue == pytest.approx(peer, rel=1e-9)


@pytest.mark.parametrize("measure", ["f1", "precision", "recall", "balanced_error"])
def test_it_rejects_where_the_interval_of_level_1_minus_2_alpha_lies_within_the_margin(measure):
    sets = np.random.default_rng(0).multinomial(500, np.array(CLOSE) / 1000, 2000)
    d, deviation = estimate(sets, measure)
    reach = np.abs(d) + norm.isf(0.05) * deviation
    assert ((reach <= 0.05) == (equivalence(sets, measure, 0.05).pvalue <= 0.05)).all()


def test_degenerate_sets_are_never_equivalent():
    sets = [[9, 0, 0, 2, 3, 0, 0, 50], [0, 0, 0, 4, 2, 5, 3, 50], [0, 0, 1, 0, 0, 0, 0, 99]]
    result = equivalence(sets, "f1", 0.5)
    assert result.degenerate.all()
    assert result.pvalue.tolist() == [1.0] * 3
    assert result.statistic.tolist() == [0.0] * 3


def test_costs_of_equivalence_in_dcf():
    assert equivalence(CLOSE, "dcf", 0.02).pvalue == equivalence(CLOSE, "balanced_error", 0.02).pvalue
    assert equivalence(CLOSE, "dcf", 0.2, prior=1).pvalue == pytest.approx(
        float(equivalence(CLOSE, "recall", 0.2).pvalue)
    )
