"""The z tests of equal detection cost: published formulas, the Wald test, and the spread over drawn sets."""

from fractions import Fraction

import numpy as np
import pytest
from count_cases import few
from hypothesis import given
from hypothesis import strategies as st

from harness.measures import dcf_difference
from harness.significance.dcf import VARIANCES, dcf

variances = st.sampled_from(VARIANCES)
prices = st.fixed_dictionaries(
    {"cost_fn": st.sampled_from([0, 0.5, 1, 10]), "cost_fp": st.sampled_from([0, 1, 3]),
     "prior": st.sampled_from([0.0, 0.01, 0.5, 0.9, 1.0])}
)  # fmt: skip


def by_formula(counts, cost_fn, cost_fp, prior, variance):
    """Equations 8, 9 and the full paired variance as printed, in fractions."""
    e1, e2, e3, e4, e5, e6, e7, e8 = counts
    weights = Fraction(cost_fn) * Fraction(prior), Fraction(cost_fp) * (1 - Fraction(prior))
    total = Fraction(0)
    for c, a, b, both, n in (
        (weights[0], e2, e3, e4, e1 + e2 + e3 + e4),
        (weights[1], e7, e6, e5, e5 + e6 + e7 + e8),
    ):
        if n == 0:
            continue
        rate = Fraction(a + b + 2 * both, 2 * n)
        total += {
            "eq9": c**2 * Fraction(a + b, n**2),
            "paired": c**2 * (Fraction(a + b, n**2) - Fraction((a - b) ** 2, n**3)),
            "independent": 2 * c**2 * rate * (1 - rate) / n,
        }[variance]
    return total


@given(few, prices, variances)
def test_statistic_is_the_printed_formula(counts, costs, variance):
    expected = by_formula(counts, **costs, variance=variance)
    result = dcf(counts, **costs, variance=variance)
    if expected == 0:
        assert (result.pvalue, result.statistic, result.degenerate) == (1, 0, True)
    else:
        d = dcf_difference(counts, **costs)
        assert result.statistic == pytest.approx(d / float(expected) ** 0.5, rel=1e-9, abs=1e-12)


def test_variances_against_the_spread_over_drawn_sets():
    """The paired variance is right, eq. 9 a little too large, eq. 8 far too large where errors are shared."""
    n, n_sets, costs = 20_000, 40_000, (1.0, 2.0, 0.3)
    shares = np.array([0.06, 0.002, 0.012, 0.026, 0.03, 0.004, 0.016, 0.85])
    sets = np.random.default_rng(1).multinomial(n, shares, n_sets)
    d = dcf_difference(sets, *costs)
    few_ = sets[:2000]
    paired, eq9, independent = (
        np.mean(d[:2000] / dcf(few_, *costs, variance).statistic) / d.std() for variance in VARIANCES
    )
    # the sd of the sd of 40,000 differences is .35 %
    assert paired == pytest.approx(1, abs=0.02)
    assert paired < eq9 < 1.1
    assert independent > 1.3


def test_counts_beyond_the_square_root_of_2_to_the_63():
    counts, many = np.array([20, 3, 9, 8, 10, 4, 8, 38]), 2**45
    for variance in VARIANCES:
        expected = dcf(counts, variance=variance).statistic * np.sqrt(many)
        assert dcf(counts * many, variance=variance).statistic == pytest.approx(expected, rel=1e-9)
