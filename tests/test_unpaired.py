"""The unpaired two-sample test: against statsmodels, drawn independent sets, and its paired counterpart."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom
from statsmodels.stats.proportion import test_proportions_2indep as two_independent

from harness.measures import A, B, Y, difference, f1, precision, recall
from harness.significance.proportion import proportion
from harness.significance.unpaired import MEASURES, unpaired
from harness.significance.wald import wald

SWAP = [0, 2, 1, 3, 4, 6, 5, 7]
COUNTS = [20, 2, 9, 3, 4, 6, 5, 951]
few = st.lists(st.integers(0, 9), min_size=8, max_size=8).filter(any)
measures = st.sampled_from(MEASURES)


def test_error_is_the_unpooled_test_of_two_independent_proportions_of_statsmodels():
    peer = two_independent(14, 1000, 22, 1000, method="wald", compare="diff")
    result = unpaired(COUNTS, "error")
    assert result.statistic == pytest.approx(peer.statistic, rel=1e-12)
    assert result.pvalue == pytest.approx(peer.pvalue, rel=1e-12)


def test_the_pooled_variance_of_the_proportion_test_differs_by_the_square_of_half_the_difference():
    n, d = 1000, 8 / 1000
    pooled, unpooled = d / proportion(COUNTS).statistic, d / unpaired(COUNTS, "error").statistic
    assert pooled**2 - unpooled**2 == pytest.approx(2 * (d / 2) ** 2 / n, rel=1e-6)


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


def test_it_is_conservative_on_paired_documents_and_right_on_independent_classifiers():
    generator = np.random.default_rng(2)
    apart = np.zeros(8)
    for i, (y, a, b) in enumerate(zip(Y, A, B, strict=True)):
        rate = 0.3 if y else 0.1
        apart[i] = 0.5 * np.prod([rate if wrong else 1 - rate for wrong in (y != a, y != b)])
    n_sets = 20_000
    rejected = (unpaired(generator.multinomial(1000, apart, n_sets), "error").pvalue <= 0.05).sum()
    # errors are independent within a class: nearly so overall, and the test is close to its level
    assert binom.ppf(1e-6, n_sets, 0.03) <= rejected <= binom.ppf(1 - 1e-6, n_sets, 0.055)
    close = np.array([0.35, 0.005, 0.005, 0.14, 0.04, 0.005, 0.005, 0.45])
    sets = generator.multinomial(1000, close, n_sets)
    assert (unpaired(sets, "f1").pvalue <= 0.05).mean() < 0.001
    assert (wald(sets, "f1").pvalue <= 0.05).mean() > 0.03


def test_degenerate_sets():
    sets = [
        [9, 0, 0, 2, 3, 0, 0, 50],  # no discordant document
        [0, 0, 0, 4, 2, 5, 3, 50],  # no true positive
        [0, 0, 0, 0, 0, 0, 0, 7],  # 0/0
        [0, 0, 1, 0, 0, 0, 0, 99],  # F1 is 1 and 0, neither with spread
    ]
    result = unpaired(sets, "f1")
    assert result.degenerate.all()
    assert result.pvalue.tolist() == [1.0] * 4
    assert result.statistic.tolist() == [0.0] * 4
    # the same F1 for both, but with a variance, is no 0/0
    assert unpaired(sets, "f1", degenerate="reject").pvalue.tolist() == [1.0, 0.0, 0.0, 0.0]
    assert unpaired(sets, "error").degenerate.tolist() == [True, False, True, False]


@given(few, measures)
def test_pvalue_is_a_probability_the_same_when_the_classifiers_swap(counts, measure):
    result = unpaired(counts, measure)
    assert 0 <= result.pvalue <= 1
    swapped = unpaired(np.array(counts)[SWAP], measure)
    assert swapped.pvalue == pytest.approx(result.pvalue, rel=1e-9)
    assert swapped.statistic == pytest.approx(-result.statistic, rel=1e-9, abs=1e-12)


@given(few, st.integers(1, 10**6), st.sampled_from(["f1", "precision", "recall"]))
def test_true_negatives_change_nothing(counts, more, measure):
    padded = [*counts[:7], counts[7] + more]
    expected = unpaired(counts, measure).statistic
    assert unpaired(padded, measure).statistic == pytest.approx(expected, rel=1e-8, abs=1e-10)


@given(st.lists(few, min_size=2, max_size=9), measures)
def test_sets_together_give_what_each_gives_alone(sets, measure):
    assert unpaired(sets, measure).pvalue.tolist() == [float(unpaired(c, measure).pvalue) for c in sets]


@pytest.mark.parametrize(
    ("counts", "measure", "degenerate", "word"),
    [
        ([1.5] * 8, "f1", "accept", "counts"),
        ([[np.nan] * 8], "f1", "accept", "counts"),
        ([1] * 8, "dcf", "accept", "measure: 'dcf' is not allowed; choose one of f1"),
        ([1] * 8, "f1", "nan", "degenerate: 'nan'"),
    ],
)
def test_bad_input_is_refused_by_name(counts, measure, degenerate, word):
    with pytest.raises(ValueError, match=word):
        unpaired(counts, measure, degenerate=degenerate)
