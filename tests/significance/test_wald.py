"""The tests by the delta method: against exact arithmetic, statsmodels, and drawn sets."""

from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from count_cases import OUTCOMES, SWAP, documents, few
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm
from statsmodels.stats.weightstats import ztost

from harness.measures import DIFFERENCES
from harness.significance.wald import UNPAIRED_MEASURES, equivalence, estimate, unpaired, wald

measures = st.sampled_from(list(DIFFERENCES))
CLOSE = [300, 10, 12, 30, 20, 14, 12, 602]


def ratio(counts, top, bottom):
    """A ratio of two sums over documents, and by how much each document moves it to first order."""
    t, d = (sum(n * x for n, x in zip(counts, values, strict=True)) for values in (top, bottom))
    if d == 0:
        return Fraction(0), [Fraction(0)] * 8
    share = Fraction(t, d)
    return share, [(x - share * y) / d for x, y in zip(top, bottom, strict=True)]


OF_ONE = {
    "f1": lambda y, x: (2 * y * x, y + x),
    "error": lambda y, x: (abs(y - x), 1),
    "precision": lambda y, x: (y * x, x),
    "recall": lambda y, x: (y * x, y),
    "alarms": lambda y, x: ((1 - y) * x, 1 - y),
}
"""Of a document's truth and one decision: what the measure's two sums take of it."""
PARTS = {"balanced_error": (("recall", Fraction(-1, 2)), ("alarms", Fraction(1, 2)))}
PARTS |= {"dcf": PARTS["balanced_error"]}


def of_system(counts, measure, place):
    """A measure of A (1) or B (2), and by how much each document moves it."""
    return ratio(counts, *zip(*(OF_ONE[measure](o[0], o[place]) for o in OUTCOMES), strict=True))


def exact(counts, measure):
    """The difference and its delta-method variance, in fractions."""
    value, moves = Fraction(0), [Fraction(0)] * 8
    for part, weight in PARTS.get(measure, ((measure, 1),)):
        for place, sign in ((1, weight), (2, -weight)):
            share, more = of_system(counts, part, place)
            value, moves = value + sign * share, [m + sign * x for m, x in zip(moves, more, strict=True)]
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


@pytest.mark.parametrize("measure", ["f1", "error", "recall"])
def test_one_document_among_all_that_a_double_can_count_is_spread(measure):
    assert not wald([2**53 - 1, 0, 1, 0, 0, 0, 0, 0], measure).degenerate


def test_costs_of_the_dcf():
    """Without costs it is the balanced error; where a class costs nothing only the other is left."""
    for test in (wald, partial(equivalence, margin=0.2)):
        assert test(CLOSE, "dcf").pvalue == test(CLOSE, "balanced_error").pvalue
        assert test(CLOSE, "dcf", prior=1).pvalue == pytest.approx(float(test(CLOSE, "recall").pvalue))


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


@given(few, st.sampled_from(UNPAIRED_MEASURES))
def test_the_variance_is_that_of_either_measure_by_itself_in_exact_arithmetic(counts, measure):
    a, b = (of_system(counts, measure, place) for place in (1, 2))
    variance = sum(n * move**2 for _, moves in (a, b) for n, move in zip(counts, moves, strict=True))
    z = float(a[0] - b[0]) / float(variance) ** 0.5 if variance else 0.0
    assert unpaired(counts, measure).statistic == pytest.approx(z, rel=1e-9, abs=1e-12)


# --- equivalence -------------------------------------------------------------------------------------------


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
