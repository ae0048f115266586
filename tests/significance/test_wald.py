"""The paired Wald test: against exact arithmetic, statsmodels and drawn sets; its size on reference nulls."""

from fractions import Fraction

import numpy as np
import pytest
from count_cases import OUTCOMES, POPULATIONS, SWAP, documents, few
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.weightstats import ztest

from harness.measures import DIFFERENCES, difference
from harness.significance.proportion import snedecor_cochran
from harness.significance.wald import estimate, wald

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


@settings(max_examples=300)
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


@pytest.mark.parametrize("counts", [[20, 2, 9, 3, 4, 6, 5, 951], [5, 0, 3, 1, 1, 9, 2, 20]])
def test_error_is_the_z_test_of_statsmodels_on_the_losses_of_the_documents(counts):
    y, a, b = documents(counts)
    z, pvalue = ztest((y != a).astype(float) - (y != b), ddof=0)
    result = wald(counts, "error")
    assert result.statistic == pytest.approx(z, rel=1e-12)
    assert result.pvalue == pytest.approx(pvalue, rel=1e-10)


def test_error_is_a_little_larger_than_snedecor_and_cochran():
    counts = [20, 2, 9, 3, 4, 6, 5, 951]
    z = snedecor_cochran(counts).statistic
    assert wald(counts, "error").statistic == pytest.approx(z / np.sqrt(1 - z**2 / 1000), rel=1e-12)


@pytest.mark.parametrize("measure", DIFFERENCES)
def test_the_standard_error_is_the_spread_over_drawn_sets(measure):
    shares, n = np.array([0.1, 0.02, 0.05, 0.08, 0.05, 0.03, 0.07, 0.6]), 4000
    sets = np.random.default_rng(1).multinomial(n, shares, 20_000)
    d, deviation = estimate(sets, measure)
    # the sd of an sd over 20,000 sets is .5 %, the second-order term at n = 4000 is smaller
    assert deviation.mean() == pytest.approx(d.std(), rel=0.03)


def test_costs_of_the_dcf():
    counts, costs = [20, 3, 9, 8, 1, 4, 8, 47], {"cost_fn": 10.0, "cost_fp": 2.0, "prior": 0.2}
    drawn = np.random.default_rng(3).multinomial(20_000, np.array(counts) / 100, 20_000)
    spread = difference("dcf", **costs)(drawn).std() * np.sqrt(200)
    d, deviation = estimate(np.array(counts), "dcf", **costs)
    assert deviation == pytest.approx(spread, rel=0.03)
    assert wald(counts, "dcf", **costs).statistic == pytest.approx(d / deviation)
    assert wald(counts, "dcf").statistic == wald(counts, "balanced_error").statistic
    # a class that costs nothing tells nothing: only the missed positives are left
    assert wald(counts, "dcf", prior=1).statistic == pytest.approx(-wald(counts, "recall").statistic)


def test_degenerate_sets():
    sets = [
        [9, 0, 0, 2, 3, 0, 0, 50],  # no discordant document
        [0, 0, 0, 4, 2, 5, 3, 50],  # no true positive
        [0, 0, 0, 0, 0, 0, 0, 7],  # 0/0
        [0, 0, 1, 0, 0, 0, 0, 99],  # A finds the only positive: d = 1 without spread
        [0, 0, 3, 0, 0, 4, 0, 93],  # the same under false alarms of B, whose F1 stays 0
    ]
    result = wald(sets, "f1")
    assert result.degenerate.all()
    assert result.pvalue.tolist() == [1.0] * 5
    assert result.statistic.tolist() == [0.0] * 5
    assert wald(sets, "f1", degenerate="reject").pvalue.tolist() == [0.0] * 5
    assert wald(sets[1:2], "recall").degenerate.all()
    assert not wald(sets[1:2], "error").degenerate.any()


# Two pairs of classifiers with their F1 made equal (see count_cases) and with the classifiers exchangeable;
# sizes at 5 % of 1000 sets, N = 100, 300, 1000, 3000.
DISSIMILAR_JOINT = (0.00482002, 0.00142998, 0.00142998, 0.00232002, 0.00069441, 0.00286959, 0.00286959)
CLOSE_JOINT = (0.00572605, 0.00027395, 0.00027395, 0.00372605, 0.00202248, 0.00055152, 0.00055152)


@pytest.mark.parametrize(
    ("shares", "reference"),
    [
        (POPULATIONS[0], (0.052, 0.098, 0.078, 0.062)),
        (DISSIMILAR_JOINT, (0.040, 0.087, 0.068, 0.062)),
        (POPULATIONS[1], (0.011, 0.005, 0.010, 0.079)),
        (CLOSE_JOINT, (0.009, 0.011, 0.003, 0.037)),
    ],
)
def test_size_on_reference_nulls(shares, reference):
    generator, n_sets, p = np.random.default_rng(4), 40_000, [*shares, 1 - sum(shares)]
    for n, expected in zip((100, 300, 1000, 3000), reference, strict=True):
        size = (wald(generator.multinomial(n, p, n_sets), "f1").pvalue <= 0.05).mean()
        error = np.sqrt(size * (1 - size) * (1 / 1000 + 1 / n_sets))
        assert abs(size - expected) <= 3.5 * error, n


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
