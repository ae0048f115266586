"""The two z tests on the error rates, against statsmodels and against McNemar."""

import numpy as np
import pytest
from count_cases import few
from hypothesis import given
from statsmodels.stats.proportion import proportions_ztest

from harness.significance.mcnemar import mcnemar
from harness.significance.proportion import proportion, snedecor_cochran


def errors(counts):
    _, e2, e3, e4, e5, e6, e7, _ = counts
    return e2 + e4 + e5 + e7, e3 + e4 + e5 + e6


@given(few)
def test_proportion_is_the_pooled_z_test_of_statsmodels(counts):
    wrong_a, wrong_b = errors(counts)
    n = sum(counts)
    if wrong_a + wrong_b in (0, 2 * n):
        return
    z, pvalue = proportions_ztest([wrong_a, wrong_b], [n, n])
    result = proportion(counts)
    assert result.statistic == pytest.approx(z, rel=1e-12, abs=1e-12)
    assert result.pvalue == pytest.approx(pvalue, rel=1e-10)


def test_snedecor_cochran_is_uncorrected_mcnemar_with_a_sign():
    counts = [[5, 1, 7, 3, 2, 0, 0, 12], [5, 16, 6, 0, 0, 0, 0, 80]]
    result = snedecor_cochran(counts)
    assert result.statistic == pytest.approx([-6 / np.sqrt(8), 10 / np.sqrt(22)])
    assert result.pvalue == pytest.approx(mcnemar(counts, "uncorrected").pvalue, rel=1e-12)


def test_counts_beyond_the_square_root_of_2_to_the_63():
    n = 2**50
    result = proportion([n, 3 * 2**24, 2**24, 0, 2**49, 0, 0, n])
    share = (2**50 + 4 * 2**24) / 2 / (2 * n + 2**49 + 2**26)
    z = 2**25 / np.sqrt(2 * share * (1 - share) * (2 * n + 2**49 + 2**26))
    assert result.statistic == pytest.approx(z, rel=1e-12)
