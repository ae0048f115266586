"""McNemar's test: published values, peers, and its size by enumeration."""

import numpy as np
import pytest
from scipy.stats import binom, binomtest, poisson
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar

from harness.significance.mcnemar import mcnemar

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


@pytest.mark.parametrize(("n01", "n10"), [(0, 3), (4, 9), (30, 12), (700, 650)])
def test_statsmodels_agrees(n01, n10):
    table = [[50, n01], [n10, 50]]
    exact = statsmodels_mcnemar(table, exact=True).pvalue
    corrected = statsmodels_mcnemar(table, exact=False, correction=True).pvalue
    uncorrected = statsmodels_mcnemar(table, exact=False, correction=False).pvalue
    assert mcnemar(counts_of(n01, n10), "exact").pvalue == pytest.approx(exact, rel=1e-10)
    assert mcnemar(counts_of(n01, n10), "corrected").pvalue == pytest.approx(corrected, rel=1e-10)
    assert mcnemar(counts_of(n01, n10), "uncorrected").pvalue == pytest.approx(uncorrected, rel=1e-10)


def test_auto_is_exact_below_25_discordant_documents_and_corrected_from_there():
    few_, many = counts_of(9, 15), counts_of(9, 16)
    assert mcnemar(few_, "auto").pvalue == mcnemar(few_, "exact").pvalue
    assert mcnemar(many, "auto").pvalue == mcnemar(many, "corrected").pvalue


def test_millions_of_discordant_documents_stay_accurate():
    result = mcnemar(counts_of(500_001_000, 500_000_000), "exact")
    assert result.pvalue == pytest.approx(binomtest(500_000_000, 1_000_001_000).pvalue, rel=1e-6)
    assert mcnemar(counts_of(2**52, 2**52), "midp").pvalue == pytest.approx(1, abs=1e-7)


def size(variant, n, probability, alpha=0.05):
    """Size on sets of n documents, n01 and n10 each of the given probability, over all (n01, n10)."""
    n01 = np.arange(n + 1)[:, None]
    n10 = np.arange(n + 1)[None, :]
    possible = n01 + n10 <= n
    first = binom.pmf(n01, n, probability)
    weight = first * binom.pmf(n10, np.maximum(n - n01, 0), probability / (1 - probability)) * possible
    rejected = mcnemar(counts_of(*np.broadcast_arrays(n01, n10)), variant).pvalue <= alpha
    return (weight * rejected).sum()


# reference: enumeration over (n01, n10); exact, corrected, mid-p, uncorrected
SIZES = {
    (25, 0.1): (0.008826737441, 0.008826728803, 0.02519299568, 0.04852812693),
    (100, 0.05): (0.02198856536, 0.02160392419, 0.04119505864, 0.04320516745),
    (1000, 0.02): (0.03450234193, 0.03319013876, 0.04823247128, 0.04940915578),
}


@pytest.mark.parametrize(("n", "probability"), [(25, 0.1), (100, 0.05)])
def test_size_by_enumeration(n, probability):
    sizes = [size(variant, n, probability) for variant in ("exact", "corrected", "midp", "uncorrected")]
    assert sizes == pytest.approx(SIZES[n, probability], abs=1e-9)


@pytest.mark.slow
def test_size_by_enumeration_of_a_thousand_documents():
    sizes = [size(variant, 1000, 0.02) for variant in ("exact", "corrected", "midp", "uncorrected")]
    assert sizes == pytest.approx(SIZES[1000, 0.02], abs=1e-9)


def poisson_size(variant, expected):
    """Size where n01 and n10 are Poisson variables of mean expected / 2: many documents, few discordant."""
    reach = np.arange(int(expected + 12 * np.sqrt(expected) + 30))
    weight = poisson.pmf(reach, expected / 2)
    rejected = mcnemar(counts_of(*np.meshgrid(reach, reach, indexing="ij")), variant).pvalue <= 0.05
    return weight @ rejected @ weight


@pytest.mark.parametrize(
    ("expected", "sizes"),
    [
        (4, (0.0413, 0.0051, 0.0051, 0.0168)),
        (10, (0.0435, 0.0214, 0.0218, 0.0411)),
        (50, (0.0493, 0.0354, 0.0366, 0.0493)),
    ],
)
def test_size_in_the_poisson_limit(expected, sizes):
    # reference: enumeration, four decimals
    assert [poisson_size(v, expected) for v in FOUR] == pytest.approx(sizes, abs=6e-5)


def test_fewest_one_sided_discordances_that_reject():
    one_sided = np.arange(1, 10)
    fewest = [int(one_sided[mcnemar(counts_of(one_sided, 0), v).pvalue <= 0.05][0]) for v in FOUR]
    assert fewest == [4, 6, 6, 5]


@pytest.mark.slow
def test_largest_sizes_of_fagerland_lydersen_and_laake():
    """BMC Med Res Methodol 13:91 (2013): N = 10..100 by 5, odds ratio 1, 2, 3, 5, 10, p = 0..1 by .01.

    Both margins are p; theta is the odds ratio of the two classifiers' being right on one document.
    """
    largest = dict.fromkeys(FOUR, 0.0)
    for n in range(10, 101, 5):
        verdicts = {v: _rejections(v, n) for v in FOUR}
        for discordance in _discordances():
            weight = binom.pmf(np.arange(n + 1), n, discordance)
            for variant, by_discordant in verdicts.items():
                largest[variant] = max(largest[variant], float(weight @ by_discordant))
    expected = {"uncorrected": 0.0537, "corrected": 0.0357, "exact": 0.0367, "midp": 0.0495}
    assert largest == pytest.approx(expected, abs=6e-5)


def _rejections(variant, n):
    """Return the probability of rejection given m = 0..n discordant documents."""
    given_m = np.zeros(n + 1)
    for m in range(1, n + 1):
        n01 = np.arange(m + 1)
        given_m[m] = binom.pmf(n01, m, 0.5) @ (mcnemar(counts_of(n01, m - n01), variant).pvalue <= 0.05)
    return given_m


def _discordances():
    """Return the probabilities of a discordant document of the scenarios."""
    found = set()
    for theta in (1, 2, 3, 5, 10):
        for p in np.arange(1, 100) / 100:
            if theta == 1:
                both = p * p
            else:  # p11 p22 / (p12 p21) = theta with equal margins p
                b = 1 + 2 * p * (theta - 1)
                both = (b - np.sqrt(b * b - 4 * theta * (theta - 1) * p * p)) / (2 * (theta - 1))
            found.add(2 * (p - both))
    return sorted(found)
