"""The unpaired two-sample test: against statsmodels, drawn independent sets, and its paired counterpart."""

import numpy as np
import pytest
from count_cases import COUNTS
from scipy.stats import binom
from statsmodels.stats.proportion import test_proportions_2indep as two_independent

from harness.measures import A, B, Y, difference, f1, precision, recall
from harness.significance.proportion import proportion
from harness.significance.wald import unpaired, wald


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
