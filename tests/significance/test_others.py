"""Tests of other packages against ours where the formulas coincide, against enumeration where they do not.

A random one counts replicates, binomial with a known share: within limits that it leaves once in 1e6 tests.
"""

import sys
from importlib.util import find_spec

import numpy as np
import pytest
from count_cases import FALSE_ALARM
from scipy.stats import binom, multinomial, t

from harness.cli.conf_files import conf_folder
from harness.cli.configuration import named_tests
from harness.errors import UserError
from harness.measures import difference
from harness.significance import others
from harness.significance.bootstrap import bootstrap_percentile
from harness.significance.bootstrap_intervals import bootstrap_intervals
from harness.significance.mcnemar import mcnemar
from harness.significance.proportion import proportion
from harness.significance.randomization import randomization
from harness.significance.wald import wald

NAMES = sorted(
    path.stem
    for path in (conf_folder() / "test").glob("*.yaml")
    if "harness.significance.others." in path.read_text(encoding="utf-8")
)
N_REPLICATES = 300
ALIKE = [9, 0, 0, 2, 3, 0, 0, 50]
ALL_RIGHT = [0, 0, 0, 0, 0, 0, 0, 64]
SETS = np.array(
    [
        [20, 3, 3, 5, 5, 2, 2, 60],
        [20, 1, 6, 5, 5, 2, 5, 56],
        [2, 0, 0, 0, 0, 0, 4, 44],
        [14, 2, 0, 27, 7, 0, 4, 46],
        [40, 6, 15, 10, 3, 3, 12, 111],
        [25, 1, 9, 3, 2, 4, 1, 55],
    ]
)


def need(name):
    """Skip where the package that a test's name begins with is not installed."""
    package = name.partition("_")[0]
    if find_spec(package) is None:
        pytest.skip(f"{package} is not installed; the extra [audit] brings it")


def ask(name, counts, seed=0, n_replicates=N_REPLICATES):
    """The result of a test by the name of its yaml."""
    need(name)
    (test,) = named_tests([name], n_replicates=n_replicates)
    options = {"rng": np.random.default_rng(seed)} if test.random else {}
    return test.pvalue(np.asarray(counts), **options)


def off_limits(hits, least, most, n, looks):
    """Where binomial counts lie outside what shares from `least` to `most` allow."""
    error = FALSE_ALARM / looks / 2
    return (hits < binom.ppf(error, n, least)) | (hits > binom.isf(error, n, most))


# --- closed formulas -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def discordances():
    """Sets with every n01 and n10 up to 12, and some larger ones."""
    grid = [(a, b) for a in range(13) for b in range(13)] + [(20, 35), (60, 30), (100, 101)]
    return np.array([[5, a // 2, b // 2, 3, 4, b - b // 2, a - a // 2, 300 - a - b] for a, b in grid])


@pytest.mark.parametrize("name", ["mlxtend_mcnemar_exact", "statsmodels_mcnemar_exact"])
def test_exact_mcnemar_is_ours(name, discordances):
    result, ours = ask(name, discordances), mcnemar(discordances, "exact")
    np.testing.assert_allclose(result.pvalue, ours.pvalue, rtol=1e-12)
    np.testing.assert_array_equal(result.statistic, difference("error")(discordances))
    assert not result.degenerate.any()


@pytest.mark.parametrize("name", ["mlxtend_mcnemar", "statsmodels_mcnemar"])
def test_corrected_mcnemar_is_ours_but_for_ties(name, discordances):
    result, ours = ask(name, discordances), mcnemar(discordances, "corrected")
    tie = ours.statistic == 0
    n01, n10 = discordances[:, [1, 6]].sum(axis=1), discordances[:, [2, 5]].sum(axis=1)
    differ = np.abs(n01 - n10) >= 1
    np.testing.assert_allclose(result.pvalue[differ], ours.pvalue[differ], rtol=1e-9)
    assert (tie & ~differ).sum() == 13
    assert (result.pvalue[~differ] < ours.pvalue[~differ]).all()  # |0| - 1 is squared
    assert result.pvalue[n01 + n10 == 0].tolist() == [0]
    assert result.warned[n01 + n10 == 0].tolist() == ["divide by zero encountered in scalar divide"]


@pytest.mark.parametrize("name", ["mlxtend_cochrans_q", "scipy_wilcoxon"])
def test_without_correction_they_are_mcnemars_uncorrected(name, discordances):
    result, ours = ask(name, discordances), mcnemar(discordances, "uncorrected")
    np.testing.assert_allclose(result.pvalue, ours.pvalue, rtol=1e-9)
    assert (result.degenerate == ours.degenerate).all()


def test_proportions_are_ours(discordances):
    rows = np.concatenate([discordances, [ALL_RIGHT]])
    result, ours = ask("statsmodels_proportions", rows), proportion(rows)
    np.testing.assert_allclose(result.pvalue, ours.pvalue, rtol=1e-9)
    assert result.degenerate.tolist() == [False] * len(discordances) + [True]


def test_the_paired_t_test_is_walds_with_one_degree_less(discordances):
    result, ours = ask("scipy_ttest", discordances), wald(discordances, "error")
    n = discordances.sum(axis=1)
    expected = np.where(ours.degenerate, 1, 2 * t.sf(np.abs(ours.statistic) * np.sqrt((n - 1) / n), n - 1))
    np.testing.assert_allclose(result.pvalue, expected, rtol=1e-9)
    assert (result.degenerate == ours.degenerate).all()


# --- permutations ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "measure", "tails"),  # scipy doubles the smaller tail, and that of deepsig has been doubled
    [("mlxtend_permutation_error", "error", 1), ("mlxtend_permutation_f1", "f1", 1),
     ("scipy_permutation_error", "error", 2), ("scipy_permutation_f1", "f1", 2),
     ("deepsig_permutation", "error", 2)],
)  # fmt: skip
def test_permutations_estimate_the_exact_pvalue(name, measure, tails):
    exact = mcnemar(SETS, "exact") if measure == "error" else randomization(SETS, "f1")
    apart = exact.pvalue < 0.9
    assert apart.sum() >= 4
    for seed in range(3):
        pvalue = ask(name, SETS, seed).pvalue
        hits = np.round(pvalue / tails * (N_REPLICATES + 1) - 1)
        share = exact.pvalue / tails
        assert not off_limits(hits, share, share, N_REPLICATES, 100)[apart].any()


@pytest.mark.parametrize("measure", ["error", "f1"])
def test_randomization_of_sacrebleu_does_not_count_ties(measure):
    """Its share lies between that of larger differences and that of differences at least as large."""
    if measure == "error":
        n01, n10 = SETS[:, [1, 6]].sum(axis=1), SETS[:, [2, 5]].sum(axis=1)
        most = mcnemar(SETS, "exact").pvalue
        least = np.minimum(1, 2 * binom.cdf(np.minimum(n01, n10) - 1, n01 + n10, 0.5))
    else:
        most = randomization(SETS, "f1").pvalue
        least = 2 * randomization(SETS, "f1", midp=True).pvalue - most
    hits = np.round(ask(f"sacrebleu_randomization_{measure}", SETS).pvalue * (N_REPLICATES + 1) - 1)
    assert not off_limits(hits, np.maximum(least, 0), most, N_REPLICATES, 10).any()
    assert hits[2] == 0  # no exchange puts the four documents further apart
    assert most[2] == pytest.approx(0.125)


# --- bootstraps ------------------------------------------------------------------------------------


@pytest.mark.parametrize("measure", ["error", "f1"])
@pytest.mark.parametrize("method", ["percentile", "BCa"])
def test_intervals_of_scipy_leave_out_0_as_ours_do(measure, method):
    """Where our p-value is not near one of the levels, theirs is the next of them."""
    n, options = 2000, {"rng": np.random.default_rng(1)}
    name = f"scipy_bootstrap_{measure}" if method == "percentile" else f"scipy_bootstrap_bca_{measure}"
    pvalue = ask(name, SETS, n_replicates=n).pvalue
    if method == "percentile":
        ours = bootstrap_percentile(SETS, measure, 20_000, **options).pvalue
    else:
        ours = bootstrap_intervals(SETS, measure, interval="bca", n_replicates=20_000, **options).pvalue
    assert set(pvalue) <= set(others.LEVELS)
    found = 0
    for level in others.LEVELS[2:-1]:
        noise = 6 * np.sqrt(2 * level / n) + (0.02 if method == "BCa" else 0)
        clear = np.abs(ours - level) > noise
        found += clear.sum()
        assert ((pvalue <= level) == (ours <= level))[clear].all()
    assert found >= 20


def test_the_bootstrap_of_sacrebleu_is_one_of_absolute_differences():
    """Enumerated: how often |d*| less its mean exceeds |d|."""
    counts = np.array([30, 4, 6, 5, 5, 4, 4, 42])
    n01, n10 = counts[[1, 6]].sum(), counts[[2, 5]].sum()
    n = counts.sum()
    lost, won = np.meshgrid(np.arange(40), np.arange(40), indexing="ij")
    cells = np.stack([lost, won, n - lost - won], axis=-1)
    weight = multinomial.pmf(cells, n, np.array([n01, n10, n - n01 - n10]) / n)
    assert weight.sum() == pytest.approx(1, abs=1e-7)
    apart = np.abs(won - lost)
    mean, limit = (weight * apart).sum(), abs(n01 - n10)
    deviation = np.sqrt((weight * (apart - mean) ** 2).sum() / 3000)
    edge = limit + mean
    assert min(edge - np.floor(edge), np.ceil(edge) - edge) > 5 * deviation  # the mean is estimated, too
    share = (weight * (apart > edge)).sum()
    hits = np.round(ask("sacrebleu_bootstrap_error", counts, n_replicates=3000).pvalue * 3001 - 1)
    assert not off_limits(hits, share, share, 3000, 1)
    assert mcnemar(counts, "exact").pvalue > 2 * share  # why it is liberal


def test_the_bootstrap_of_deepsig_resamples_either_system_alone():
    counts = SETS[5]
    n, right_a, right_b = 100, counts[[0, 2, 5, 7]].sum(), counts[[0, 1, 6, 7]].sum()
    a, b = np.meshgrid(np.arange(n + 1), np.arange(n + 1), indexing="ij")
    weight = binom.pmf(a, n, right_a / n) * binom.pmf(b, n, right_b / n)
    apart, limit = a - b, 2 * (right_a - right_b)
    assert limit > 0
    least, most = (weight * (apart > limit)).sum(), (weight * (apart >= limit)).sum()
    hits = np.round(ask("deepsig_bootstrap", counts, n_replicates=1000).pvalue / 2 * 1000)
    assert not off_limits(hits, least, most, 1000, 1)


# --- all of them -----------------------------------------------------------------------------------

UNDECIDED = {"mlxtend_cochrans_q", "scipy_wilcoxon", "scipy_ttest", "scipy_bootstrap_bca_error"}
UNDECIDED |= {"scipy_bootstrap_bca_f1"}
SIGNIFICANT = {"mlxtend_mcnemar": 0, "statsmodels_mcnemar": 0}
SIGNIFICANT |= {name: 1 / (N_REPLICATES + 1) for name in NAMES if name.startswith("sacrebleu")}


@pytest.mark.parametrize("name", NAMES)
def test_two_systems_that_decide_alike(name):
    """NaN, p = 1, or a p-value that calls them different: each package has its own way."""
    result = ask(name, [ALIKE])
    assert result.pvalue.tolist() == [pytest.approx(SIGNIFICANT.get(name, 1))]
    assert result.degenerate.tolist() == [name in UNDECIDED]


@pytest.mark.parametrize("name", NAMES)
def test_neither_order_nor_batches_matter(name):
    some = SETS[:4]
    rows = np.concatenate([some, [ALIKE], some[::-1]])
    whole = ask(name, rows.reshape(1, -1, 8))
    assert all(part.shape == (1, 9) for part in whole)
    assert whole.warned.shape == (1, 9)
    assert ((whole.pvalue >= 0) & (whole.pvalue <= 1)).all()
    pvalue = whole.pvalue[0]
    assert (pvalue[:4] == pvalue[5:][::-1]).all()
    assert ask(name, some[3]).pvalue == pvalue[3]
    (test,) = named_tests([name], n_replicates=N_REPLICATES)
    if test.random:
        generator = np.random.default_rng(0)
        parts = [test.pvalue(part, rng=generator).pvalue for part in np.array_split(rows, 3)]
        assert (np.concatenate(parts) == pvalue).all()
        seeds = [pvalue[:4], ask(name, some, 1).pvalue, ask(name, some, 2).pvalue]
        rounded = name.startswith("scipy_bootstrap")  # to few levels
        assert rounded or any((seeds[0] != other).any() for other in seeds[1:])


def test_sets_of_no_documents_and_no_sets():
    assert ask("scipy_ttest", np.zeros((0, 8), dtype=int)).pvalue.shape == (0,)
    with pytest.raises(ValueError, match="counts: a set has no document"):
        ask("scipy_ttest", [[0] * 8])


def test_a_package_that_is_missing_is_named(monkeypatch):
    others._package.cache_clear()
    monkeypatch.setitem(sys.modules, "mlxtend", None)
    monkeypatch.delitem(sys.modules, "mlxtend.evaluate", raising=False)
    said = r"test.mlxtend_mcnemar: mlxtend is not installed; pip install 'size-power-harness\[audit\]'"
    with pytest.raises(UserError, match=said):
        named_tests(["mlxtend_mcnemar"])


def test_what_joblib_pickles_with_is_left_as_it_was():
    from joblib.externals.loky.backend.reduction import get_loky_pickler_name

    need("deepsig")
    others._package.cache_clear()
    before = get_loky_pickler_name()
    ask("deepsig_bootstrap", SETS[:1])
    assert get_loky_pickler_name() == before
