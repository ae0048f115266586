import numpy as np
import pytest
from count_cases import FALSE_ALARM, within_binomial
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import f1_score

from harness.category_sets.calibration import Draws, calibrate, calibrate_random, summarise
from harness.category_sets.expected import (
    as_z,
    bootstrap_overlap,
    chi_squared,
    disjoint_variance,
    selection_effect,
    subset_overlap,
)
from harness.category_sets.ratios import (
    dcf_ratios,
    f1_ratios,
    find_patterns,
    measure,
    pooled_cells,
    standard_error,
)
from harness.category_sets.study import disjoint_sets, random_sets
from harness.category_sets.table3 import PUBLISHED, resample_sets, tabulate, tabulate_histograms
from harness.category_sets.variants import (
    calibration_variants,
    draw_documents,
    draw_events,
    make_population,
    replicate,
    table_variants,
)
from harness.measures import dcf_difference
from harness.outcomes import cell_codes, count_outcomes
from harness.runtime.parallel import run_here
from harness.significance.dcf import dcf

COSTS = {"cost_fn": 1.0, "cost_fp": 1.0, "prior": 0.5}


def decisions(seed, n_documents, n_categories, prevalence=0.2):
    """Truth and two classifiers whose errors go together within a document."""
    generator = np.random.default_rng(seed)
    truth = generator.random((n_documents, n_categories)) < prevalence
    hard = generator.random((n_documents, 1)) < 0.3
    wrong = [generator.random(truth.shape) < np.where(hard, 0.25, 0.03) for _ in range(2)]
    return truth, truth ^ wrong[0], truth ^ wrong[1]


@pytest.fixture(scope="module")
def codes():
    return cell_codes(*decisions(0, 3000, 6))


# --- patterns --------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 60), st.integers(1, 40))
def test_patterns_are_the_distinct_documents(seed, n_documents, n_categories):
    codes = (
        np.random.default_rng(seed).choice([0, 7, 7, 7, 3, 4], (n_documents, n_categories)).astype(np.uint8)
    )
    found = find_patterns(codes)
    rows, frequencies = np.unique(codes, axis=0, return_counts=True)
    mine = {tuple(row): n for row, n in zip(found.codes.tolist(), found.frequencies.tolist(), strict=True)}
    theirs = {tuple(row): n for row, n in zip(rows.tolist(), frequencies.tolist(), strict=True)}
    assert mine == theirs
    again = find_patterns(np.random.default_rng(1).permutation(codes))
    assert (again.codes == found.codes).all()
    assert (again.frequencies == found.frequencies).all()


@pytest.mark.parametrize("n_categories", [1, 5, 12, 13, 30])
def test_cells_of_patterns_are_a_recount_of_the_documents(n_categories):
    truth, a, b = decisions(1, 500, n_categories)
    found = find_patterns(cell_codes(truth, a, b))
    counts = count_outcomes(truth, a, b)
    assert found.frequencies.sum() == 500
    assert (found.frequencies @ pooled_cells(found.codes) == counts.sum(axis=0)).all()
    for category in range(n_categories):
        cells = np.bincount(found.codes[:, category], found.frequencies, minlength=8)
        assert (cells == counts[category]).all()


# --- measures --------------------------------------------------------------------------------------


@pytest.mark.parametrize("average", ["micro", "macro"])
@pytest.mark.parametrize("prevalence", [0.3, 0.003])
def test_f1_is_that_of_scikit_learn(average, prevalence):
    truth, a, b = decisions(2, 400, 7, prevalence)
    a[:, 0] = b[:, 0] = truth[:, 0] = False  # 0/0
    found = find_patterns(cell_codes(truth, a, b))
    theirs = [f1_score(truth, decided, average=average, zero_division=0) for decided in (a, b)]
    mine = measure(f1_ratios(found.codes, average), found.frequencies)
    assert mine == pytest.approx(theirs[0] - theirs[1], abs=1e-12)


def test_dcf_is_that_of_the_pooled_cells(codes):
    found = find_patterns(codes)
    costs = {"cost_fn": 10.0, "cost_fp": 1.0, "prior": 0.2}
    mine = measure(dcf_ratios(found.codes, costs), found.frequencies)
    assert mine == pytest.approx(
        dcf_difference(found.frequencies @ pooled_cells(found.codes), **costs), abs=1e-14
    )


def test_equal_measures_are_a_tie_exactly():
    codes = np.array([[1, 2, 7], [2, 1, 7], [0, 0, 1], [0, 0, 2], [5, 6, 7], [6, 5, 7]], dtype=np.uint8)
    for average in ("micro", "macro"):
        assert measure(f1_ratios(codes, average), np.array([3, 3, 2, 2, 1, 1])) == 0


# --- resampling ------------------------------------------------------------------------------------


def test_draws_have_the_moments_of_a_multinomial():
    frequencies, n, n_draws = np.array([5, 20, 75]), 50, 40_000
    draws = np.concatenate(list(draw_documents(frequencies, n, n_draws, rng=np.random.default_rng(3))))
    shares = frequencies / 100
    spread = n * (np.diag(shares) - np.outer(shares, shares))
    z = (draws.mean(axis=0) - n * shares) / np.sqrt(np.diag(spread) / n_draws)
    assert np.abs(z).max() < stats.norm.isf(FALSE_ALARM / 6)
    assert np.cov(draws.T) == pytest.approx(spread, abs=0.25)
    assert (draws.sum(axis=1) == n).all()


def test_batches_change_no_draw(monkeypatch):
    frequencies = np.arange(1, 9)
    whole = np.concatenate(list(draw_documents(frequencies, 30, 100, rng=np.random.default_rng(4))))
    monkeypatch.setattr("harness.category_sets.variants._AT_ONCE", 24)
    parts = list(draw_documents(frequencies, 30, 100, rng=np.random.default_rng(4)))
    assert len(parts) == 34
    assert (np.concatenate(parts) == whole).all()


def test_events_follow_the_enumerated_distribution():
    """Of six events in cells e2, e3, e8 the number in e2 less that in e3, against all outcomes weighed."""
    cells, n_events, n_draws = np.array([0, 2, 3, 0, 0, 0, 0, 5]), 6, 50_000
    draws = draw_events(cells, n_events, n_draws, rng=np.random.default_rng(5))
    difference = draws[:, 1] - draws[:, 2]
    expected = dict.fromkeys(range(-6, 7), 0.0)
    for e2 in range(7):
        for e3 in range(7 - e2):
            expected[e2 - e3] += stats.multinomial.pmf([e2, e3, 6 - e2 - e3], 6, [0.2, 0.3, 0.5])
    for value, probability in expected.items():
        assert within_binomial((difference == value).sum(), n_draws, probability)


def test_replicates_by_document_are_those_of_documents_drawn_one_by_one(codes):
    """The spread against a plain bootstrap that draws rows and recounts them, and the standard errors."""
    population = make_population(find_patterns(codes), COSTS)
    found = replicate(population, 3000, 4000, rng=np.random.default_rng(6))
    generator, plain = np.random.default_rng(7), []
    for _ in range(600):
        drawn = find_patterns(codes[generator.integers(0, 3000, 3000)])
        plain.append([measure(f1_ratios(drawn.codes, how), drawn.frequencies) for how in ("micro", "macro")])
    for column, how in enumerate(("micro", "macro")):
        own = np.array(plain)[:, column]
        assert stats.ks_2samp(found[f"f1 {how} document"], own).pvalue > FALSE_ALARM
    for quantity in ("f1 micro", "f1 macro", "dcf micro"):
        expected = float(standard_error(population.ratios[quantity], population.frequencies))
        assert found[f"{quantity} document"].std(ddof=1) == pytest.approx(expected, rel=0.06)


# --- Table 3 ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def populations(codes):
    test = cell_codes(*decisions(10, 800, 6))
    return {
        name: (
            make_population(find_patterns(test[:, m]), COSTS),
            make_population(find_patterns(codes[:, m]), COSTS),
        )
        for name, m in disjoint_sets(6, 2, seed=0).items()
    }


@pytest.fixture(scope="module")
def resampled(populations):
    return resample_sets(populations, n_replicates=2000, n_subsets=500, seed=0, run=run_here)


def test_table3_holds_every_set_and_variant(populations, resampled):
    variants = table_variants(["micro", "macro"], ["document", "event"])
    table = tabulate(populations, resampled, variants, COSTS)
    assert len(table) == 3 * 7
    assert table["confidence_te"].between(0, 1).all()
    assert table["share_true"].between(0, 1).all()
    first = table.iloc[:3]
    assert list(first["set"]) == ["X", "Y", "Z"]
    assert list(zip(first["published_te"], first["published_true"], strict=True)) == list(PUBLISHED.values())
    assert table["published_te"].iloc[3:].isna().all()
    for row in first.itertuples():
        draws = resampled[row.set, "te"]["f1 micro document"]
        assert row.confidence_te == np.mean(draws > 0)
        assert row.sd_te == pytest.approx(draws.std(ddof=1))
    histograms = tabulate_histograms(resampled, variants)
    sums = histograms.groupby(["set", "measure", "average", "method", "source"])["share"].sum()
    assert len(sums) == 3 * 4 * 2
    assert sums.to_numpy() == pytest.approx(1)


def test_dcf_rows_are_those_of_the_z_test(populations, resampled):
    table = tabulate(populations, resampled, table_variants(["micro"], ["document"]), COSTS)
    for method, variance in (("eq8", "independent"), ("eq9", "eq9"), ("paired", "paired")):
        for row in table[table["method"] == method].itertuples():
            test = populations[row.set][0]
            z = float(dcf(test.frequencies @ test.cells, variance=variance).statistic)
            assert row.z_te == pytest.approx(z)
            assert row.confidence_te == pytest.approx(stats.norm.cdf(z))
            assert row.share_true == np.mean(resampled[row.set, "true"]["dcf micro document"] > 0)


def test_ties_count_for_neither_side():
    codes = np.array([[0, 7], [7, 7], [0, 0]], dtype=np.uint8)  # A and B always decide alike
    sets = {"X": (make_population(find_patterns(codes), COSTS),) * 2}
    resampled = resample_sets(sets, n_replicates=50, n_subsets=50, seed=0, run=run_here)
    table = tabulate(sets, resampled, table_variants(["micro"], ["document"]), COSTS)
    assert table.loc[0, "confidence_te"] == 0
    assert table.loc[0, "ties_te"] == 1


# --- what the table shows by itself ----------------------------------------------------------------


def test_published_rows_as_z():
    rows = [(round(as_z(te, 10_000), 3), round(as_z(true, 1000), 3)) for te, true in PUBLISHED.values()]
    assert rows == [(1.706, 1.433), (0.105, 0.499), (1.812, 0.935)]
    total, pvalue = chi_squared([te - true for te, true in rows])
    assert (round(total, 2), round(pvalue, 2)) == (1.0, 0.8)


@pytest.mark.parametrize("spread", [0.3, 1.0, 3.0])
def test_signing_by_the_winner_makes_an_honest_confidence_look_too_sure(spread):
    generator = np.random.default_rng(11)
    z_true = spread * generator.standard_normal(1_000_000)
    z_te = z_true + generator.standard_normal(1_000_000)
    assert np.mean(np.sign(z_te) * (z_te - z_true)) == pytest.approx(selection_effect(spread), abs=0.006)


def test_overlaps_against_draws():
    generator = np.random.default_rng(12)
    both = [len(np.intersect1d(*generator.integers(0, 2000, (2, 2000)))) / 2000 for _ in range(100)]
    assert np.mean(both) == pytest.approx(bootstrap_overlap(), abs=0.004)
    shared = []
    for _ in range(100):
        first, second = generator.integers(0, 3000, (2, 2000))
        shared.append(np.isin(first, second).mean())
    assert np.mean(shared) == pytest.approx(subset_overlap(2000, 3000), abs=0.005)


def test_variance_of_a_test_set_outside_a_small_population():
    """Means of 300 documents against the mean of 450 others, in units of their own spread."""
    generator = np.random.default_rng(13)
    d = generator.standard_normal((20_000, 300)).mean(axis=1) - generator.standard_normal((20_000, 450)).mean(
        axis=1
    )
    assert np.var(d * np.sqrt(300)) == pytest.approx(disjoint_variance(300, 450), rel=0.05)


# --- calibration -----------------------------------------------------------------------------------


def nearly_fair(seed):
    """A large population of two categories in which A and B are close."""
    return find_patterns(cell_codes(*decisions(seed, 20_000, 2)))


def test_an_honest_bootstrap_has_no_bias():
    population = make_population(nearly_fair(14), COSTS)
    variants = calibration_variants(["micro", "macro"], ["document"])
    table = calibrate({"X": population}, variants, COSTS, Draws(1000, 0, 600, 200, 4000), run_here)
    judged = table.set_index(["measure", "average", "method"])
    for method in ("document", "delta"):
        for average in ("micro", "macro"):
            row = judged.loc[("f1", average, method)]
            assert row["verdict"] == "no bias", row
            low, high = stats.binom.interval(1 - FALSE_ALARM, 600, 0.95)
            assert low - 15 <= 600 * row["coverage"] <= high


def test_normal_data_meet_the_analytic_mean_and_variance():
    e = np.random.default_rng(16).standard_normal(100_000)
    found = summarise(2 + 0.5 * e, np.full(100_000, 0.5), 1.02 + 0.5 * e, 2.98 + 0.5 * e, 2.0, 1.0)
    assert found["mean"] == pytest.approx(2, abs=0.02)  # z_te = 4 + e against z_true = 2
    assert found["variance"] == pytest.approx(1, abs=0.03)
    assert (found["variance_high"] - found["variance_low"]) / 2 == pytest.approx(
        1.96 * np.sqrt(2e-5), rel=0.05
    )
    assert found["coverage"] == pytest.approx(0.95, abs=0.005)
    assert found["verdict"] == "biased"


def test_far_sets_and_sets_without_spread_stand_apart():
    n = 100
    far = summarise(np.full(n, 4.0), np.ones(n), np.full(n, 2.0), np.full(n, 6.0), 4.0, 1.0)
    assert far["verdict"] == "apart"
    none = summarise(np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n), 0.0, 0.0)
    assert none["n_degenerate"] == n
    assert none["mean"] == 0
    assert none["coverage"] == 1


def test_random_sets_are_those_of_the_delta_method(codes):
    sets = random_sets(6, 2, 3, seed=0)
    table = calibrate_random(codes, sets, ["micro"], COSTS, Draws(300, 0, 100, 0, 500), run_here)
    assert list(table["set"].unique()) == ["R01", "R02", "R03"]
    population = make_population(find_patterns(codes[:, sets["R01"]]), COSTS)
    row = table.iloc[0]
    assert row["d_true"] == pytest.approx(
        float(measure(population.ratios["f1 micro"], population.frequencies))
    )
    assert row["kind"] == "random"


# --- choice of the sets ----------------------------------------------------------------------------


def test_sets_share_no_category_and_follow_the_seed():
    sets = disjoint_sets(101, 21, seed=5)
    assert len(np.unique(np.concatenate(list(sets.values())))) == 63
    assert all((sets[name] == disjoint_sets(101, 21, seed=5)[name]).all() for name in sets)
    assert any((sets[name] != disjoint_sets(101, 21, seed=6)[name]).any() for name in sets)
