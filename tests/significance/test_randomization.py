"""The randomization test against all swaps one by one, and against swapping the documents' decisions."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from harness.significance import randomization as module
from harness.significance.mcnemar import mcnemar
from harness.significance.randomization import randomization


def fraction(counts):
    e1, e2, e3, e4, e5, e6, e7, _ = (int(e) for e in counts)
    p = e1 + e2 + e3 + e4

    def f1(t, wrong):
        return Fraction(2 * t, p + t + wrong) if p + t + wrong else Fraction(0)

    return f1(e1 + e3, e5 + e7) - f1(e1 + e2, e5 + e6)


def enumerated(counts):
    """Weights of |dF1*| >= |dF1| and of |dF1*| = |dF1| over all swaps, exactly."""
    e1, e2, e3, e4, e5, e6, e7, e8 = (int(e) for e in counts)
    observed = abs(fraction(counts))
    at_least = tied = 0
    for k in range(e2 + e3 + 1):
        for j in range(e6 + e7 + 1):
            weight = math.comb(e2 + e3, k) * math.comb(e6 + e7, j)
            value = abs(fraction([e1, e2 + e3 - k, k, e4, e5, e6 + e7 - j, j, e8]))
            at_least += weight * (value >= observed)
            tied += weight * (value == observed)
    total = 2 ** (e2 + e3 + e6 + e7)
    return float(Fraction(at_least, total)), float(Fraction(2 * at_least - tied, 2 * total))


LARGER_MARGINS = [
    [3, 25, 31, 4, 2, 28, 22, 50],
    [0, 3, 4, 0, 0, 40, 35, 900],
    [1, 1, 0, 0, 0, 60, 40, 900],  # one true positive under many false ones: dF1 hardly moves
    [40, 30, 45, 0, 0, 0, 1, 30],
    # numerator times denominator passes 10**27, and neighbours differ by 10**-7
    [3 * 10**6, 1, 0, 10**6, 10**6, 1, 1, 4 * 10**6],
    [0, 0, 200, 0, 0, 0, 0, 100],  # only the two one-sided swaps are as extreme
]


@pytest.mark.parametrize("counts", LARGER_MARGINS)
def test_larger_margins(counts):
    assert [
        randomization(counts, "f1").pvalue,
        randomization(counts, "f1", midp=True).pvalue,
    ] == pytest.approx(enumerated(counts), rel=1e-11)


def test_all_of_the_smallest_sets_and_some_small_ones():
    """Against the weight of the swaps as extreme."""
    sets = [
        (*e, 3) for e in itertools.product(range(3), range(3), range(3), (0, 1), (0, 2), range(3), range(3))
    ]
    sets += np.random.default_rng(0).integers(0, 10, (100, 8)).tolist()
    exact, midp = randomization(sets, "f1"), randomization(sets, "f1", midp=True)
    checked = [i for i in range(len(sets)) if not exact.degenerate[i]]
    assert len(checked) > 500
    expected = np.array([enumerated(sets[i]) for i in checked])
    assert exact.pvalue[checked] == pytest.approx(expected[:, 0], rel=1e-13)
    assert (exact.pvalue[exact.degenerate] == 1).all()
    assert midp.pvalue[checked] == pytest.approx(expected[:, 1], rel=1e-13)


def tail_weight(counts):
    """Weight of the swaps with |dF1*| >= |dF1| > 0 in whole numbers, by bisection along one margin."""
    e1, e2, e3, e4, e5, e6, e7, _ = counts
    n_p, n_n, observed = e2 + e3, e6 + e7, abs(fraction(counts))
    ways = [math.comb(n_n, j) for j in range(n_n + 1)]
    tails = [*itertools.accumulate(reversed(ways))][::-1] + [0]  # swaps with K_n >= j
    weight = 0
    for k in range(n_p + 1):
        low, high = 0, n_n + 1
        while low < high:
            j = (low + high) // 2
            reached = fraction([e1, n_p - k, k, e4, e5, j, n_n - j, 0]) >= observed
            low, high = (low, j) if reached else (j + 1, high)
        weight += math.comb(n_p, k) * tails[low]
    return float(Fraction(2 * weight, 2 ** (n_p + n_n)))


MARGINS = [
    [500, 170, 130, 300, 200, 260, 240, 4200],
    [502, 51, 50, 629, 1743, 258, 38, 108],
    [0, 1, 0, 0, 0, 800, 700, 4500],
    [10**6, 40, 90, 10**6, 10**6, 300, 250, 10**6],  # products beyond 64 bits
    [10**6, 300, 250, 10**6, 10**6, 40, 90, 10**6],
    [2, 3, 0, 0, 5 * 10**6, 0, 4, 0],
]


@pytest.mark.parametrize("counts", MARGINS)
def test_margins_of_hundreds_in_whole_numbers(counts):
    assert float(randomization(counts, "f1").pvalue) == pytest.approx(tail_weight(counts), rel=1e-13)


def test_blocks_change_nothing(monkeypatch):
    shares = [0.1, 0.03, 0.05, 0.1, 0.05, 0.05, 0.02, 0.6]
    sets = np.concatenate([np.random.default_rng(n).multinomial(n, shares, 200) for n in (30, 300, 3000)])
    whole = randomization(sets, "f1", midp=True).pvalue
    monkeypatch.setattr(module, "BLOCK", 500)
    assert randomization(sets, "f1", midp=True).pvalue.tolist() == whole.tolist()


def test_error_is_mcnemar_exact_and_midp():
    counts = [[5, 3, 9, 0, 0, 8, 2, 60], [5, 4, 4, 0, 0, 0, 0, 60]]
    for midp, variant in ((False, "exact"), (True, "midp")):
        result = randomization(counts, "error", midp)
        assert result.pvalue.tolist() == mcnemar(counts, variant).pvalue.tolist()
    assert result.statistic.tolist() == [-12 / 87, 0.0]
