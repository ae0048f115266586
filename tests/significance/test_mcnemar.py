"""McNemar's test and the z tests of two proportions: published values and peers; sizes: test_validate."""

import numpy as np
import pytest
from count_cases import few
from hypothesis import given
from scipy.stats import binomtest
from statsmodels.stats.proportion import proportions_ztest

from harness.significance.mcnemar import mcnemar
from harness.significance.proportion import proportion, snedecor_cochran

FOUR = ("uncorrected", "corrected", "exact", "midp")


def counts_of(n01, n10, others=10):
    """Sets with these discordant counts, split over positives and negatives."""
    n01, n10 = np.broadcast_arrays(np.asarray(n01), np.asarray(n10))
    cells = np.zeros((*n01.shape, 8), dtype=np.int64)
    cells[..., 1], cells[..., 6] = n01 // 2, n01 - n01 // 2
    cells[..., 2], cells[..., 5] = n10 // 3, n10 - n10 // 3
    cells[..., 7] = others
    return cells


# Fagerland, Lydersen & Laake 2013, Table 1; Wikipedia, McNemar's test, second example; mlxtend user guide,
# scenario A; mlxtend pull request 306 (large counts); R's mcnemar.test and the mid-p tie rule of Fagerland et
# al. (n01 = n10). Checked with scipy.stats.binomtest, chi2 and statsmodels.
# Columns: uncorrected, corrected, exact, mid-p.
PUBLISHED = [
    (1, 7, (0.03389485352, 0.07709987174, 0.0703125, 0.0390625)),
    (6, 16, (0.03300625766, 0.05500883363, 0.05247879028, 0.03468966484)),
    (11, 1, (0.003892417123, 0.009374768459, 0.00634765625, 0.00341796875)),
    (5200, 4800, (6.334248367e-05, 6.607329526e-05, 6.593515599e-05, 6.326218681e-05)),
    (5, 5, (1.0, 1.0, 1.0, 0.876953125)),
]


@pytest.mark.parametrize(("n01", "n10", "expected"), PUBLISHED)
def test_published_values(n01, n10, expected):
    pvalues = [float(mcnemar(counts_of(n01, n10), variant).pvalue) for variant in FOUR]
    assert pvalues == pytest.approx(expected, rel=1e-9)


def test_statistics_of_the_published_tables():
    for n01, n10, uncorrected, corrected in ((1, 7, 4.5, 3.125), (5200, 4800, 16.0, 15.9201), (5, 5, 0, 0)):
        assert mcnemar(counts_of(n01, n10), "uncorrected").statistic == pytest.approx(uncorrected)
        assert mcnemar(counts_of(n01, n10), "corrected").statistic == pytest.approx(corrected)
        for variant in ("exact", "midp", "auto"):
            assert mcnemar(counts_of(n01, n10), variant).statistic == n01 - n10


def test_auto_is_exact_below_25_discordant_documents_and_corrected_from_there():
    few_, many = counts_of(9, 15), counts_of(9, 16)
    assert mcnemar(few_, "auto").pvalue == mcnemar(few_, "exact").pvalue
    assert mcnemar(many, "auto").pvalue == mcnemar(many, "corrected").pvalue


def test_millions_of_discordant_documents_stay_accurate():
    result = mcnemar(counts_of(500_001_000, 500_000_000), "exact")
    assert result.pvalue == pytest.approx(binomtest(500_000_000, 1_000_001_000).pvalue, rel=1e-6)
    assert mcnemar(counts_of(2**52, 2**52), "midp").pvalue == pytest.approx(1, abs=1e-7)


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
