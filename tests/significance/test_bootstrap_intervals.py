"""Basic, bootstrap-t and BCa against scipy.stats.bootstrap on documents, and enumeration."""

import numpy as np
import pytest
from count_cases import (
    ALPHAS,
    COUNTS,
    FALSE_ALARM,
    SMALL,
    all_replicates,
    evaluation_sets,
    generator,
    within_binomial,
)
from scipy.stats import binom, bootstrap, hypergeom

from harness.measures import difference, influence, standard_deviation
from harness.significance.bootstrap_f1_forecast import fewest
from harness.significance.bootstrap_intervals import bootstrap_intervals, reject, unusable_share
from harness.significance.interval_forecast import LEAST_COUNT, forecast
from harness.significance.interval_replicates import INTERVALS, accelerations, difference_replicates, observe


def of_documents(measure):
    """The measure's difference as a function of samples of documents' cells, along any axis."""

    def statistic(*samples, axis=-1):
        cells = np.stack([sum((s == i).sum(axis=axis) for s in samples) for i in range(8)], axis=-1)
        return difference(measure)(cells)

    return statistic


def pvalue_of(values, errors, interval, observed):
    """The p-value that an interval has on given replicates."""
    kind = INTERVALS[interval]
    return kind.pvalue(kind.tally(np.stack([values, errors]), observed), len(values), observed)


def standard_error(cells, measure, stratified=False):
    """The delta-method standard error, from the influence of each cell."""
    psi, n = influence(cells, measure), cells.sum(axis=-1)
    if not stratified:
        return standard_deviation(cells, measure) / np.sqrt(n)
    variance = 0
    for part in (slice(0, 4), slice(4, 8)):
        c, x = cells[..., part], psi[..., part]
        size = np.maximum(c.sum(axis=-1), 1)
        variance = variance + (c * x**2).sum(axis=-1) - (c * x).sum(axis=-1) ** 2 / size
    return np.sqrt(np.maximum(variance, 0)) / n


# --- the parts ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stratified", [False, True])
@pytest.mark.parametrize("measure", ["f1", "error"])
def test_observed_values_are_the_difference_and_its_standard_error(measure, stratified):
    sets = evaluation_sets(20, seed=1)
    unit = 1 if measure == "f1" else sets.sum(axis=1)
    seen = observe(sets, measure, stratified)
    np.testing.assert_allclose([o.value / u for o, u in zip(seen, unit * np.ones(len(sets)), strict=True)],
                               difference(measure)(sets), atol=1e-14)  # fmt: skip
    errors = np.array([o.error for o in seen]) / unit
    np.testing.assert_allclose(errors, standard_error(sets, measure, stratified), atol=1e-9)


@pytest.mark.parametrize("measure", ["f1", "error"])
@pytest.mark.parametrize("counts", [COUNTS, [3, 1, 0, 2, 1, 0, 2, 11], [0, 0, 0, 0, 2, 1, 0, 5]])
def test_acceleration_is_that_of_the_documents(measure, counts):
    documents, statistic = np.repeat(np.arange(8), counts), of_documents(measure)
    left_out = np.array([statistic(np.delete(documents, i)) for i in range(len(documents))])
    pull = left_out.mean() - left_out
    expected = (pull**3).sum() / (6 * (pull**2).sum() ** 1.5) if pull.any() else 0
    assert accelerations(np.array([counts]), measure, False)[0] == pytest.approx(expected, abs=1e-10)


def test_acceleration_is_zero_where_the_jackknife_is_constant():
    sets = np.array([[0, 0, 5, 0, 0, 0, 0, 95], [0, 0, 1, 0, 0, 0, 0, 0], [5, 0, 0, 0, 0, 0, 0, 5]])
    for stratified in (False, True):
        assert (accelerations(sets, "f1", stratified)[[0, 2]] == 0).all()
        assert (accelerations(sets, "error", stratified)[1:] == 0).all()


@pytest.mark.parametrize("counts", SMALL)
@pytest.mark.parametrize("measure", ["f1", "error"])
@pytest.mark.parametrize("stratified", [False, True])
def test_counts_of_replicates_are_those_of_the_enumerated_distribution(counts, measure, stratified):
    cells, weights = all_replicates(counts, stratified)
    counts, n = np.array(counts), 20_000
    d, d_all = difference(measure)(counts), difference(measure)(cells)
    se, se_all = standard_error(counts, measure, stratified), standard_error(cells, measure, stratified)
    usable = se_all > 1e-7  # a variance that should be 0 is known to about 1e-16
    slack = 1e-10
    expected = {
        "basic": [d_all <= 2 * d + slack, d_all >= 2 * d - slack],
        "bca": [d_all <= slack, d_all >= -slack, (d_all < d - slack) + 0.5 * (np.abs(d_all - d) <= slack)],
        "studentized": [np.zeros(len(d_all))] * 3,
    }
    if se > 1e-9:
        gap = (d_all - d) / np.where(usable, se_all, 1) - d / se
        expected["studentized"] = [usable & (gap <= 1e-7), usable & (gap >= -1e-7), usable]
    (seen,) = observe(counts[None], measure, stratified)
    drawn = difference_replicates(counts, measure, n, stratified, generator(3))
    made = np.concatenate(list(drawn), axis=1)
    for interval, hits in expected.items():
        for found, hit in zip(INTERVALS[interval].tally(made, seen), hits, strict=True):
            low, high = binom.interval(1 - FALSE_ALARM, n, np.clip(weights @ hit, 0, 1))
            assert low - 1 <= found <= high + 1, interval


# --- the inversion -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["basic", "BCa"])
@pytest.mark.parametrize("measure", ["f1", "error"])
@pytest.mark.parametrize(
    "counts", [[20, 2, 9, 3, 4, 6, 5, 151], [15, 9, 3, 3, 2, 4, 8, 56], [30, 3, 4, 3, 5, 9, 6, 60]]
)
@pytest.mark.parametrize("stratified", [False, True])
def test_interval_of_scipy_leaves_out_zero_just_below_the_pvalue(method, measure, counts, stratified):
    documents = np.repeat(np.arange(8), counts)
    samples = (documents[documents < 4], documents[documents >= 4]) if stratified else (documents,)
    options = {"method": method, "vectorized": True, "n_resamples": 4000, "batch": 500}
    result = bootstrap(samples, of_documents(measure), rng=generator(1), **options)
    values = result.bootstrap_distribution * (1 if measure == "f1" else len(documents))
    (seen,) = observe(np.array([counts]), measure, stratified)
    if measure == "error":
        values = np.round(values)
    p = pvalue_of(values, values, method.lower(), seen)
    assert 0 < p <= 1
    # the interval moves by whole replicates, and scipy interpolates between two of them
    for alpha, outside in ((min(1.12 * p + 0.004, 0.9999), True), (0.88 * p - 0.004, False)):
        if not 0 < alpha < 1 or (outside and p > 0.85):
            continue
        again = bootstrap(
            samples, of_documents(measure), confidence_level=1 - alpha, bootstrap_result=result,
            **options | {"n_resamples": 0},
        )  # fmt: skip
        low, high = again.confidence_interval
        assert (low > 1e-12 or high < -1e-12) == outside, (p, alpha, low, high)


@pytest.mark.parametrize("measure", ["f1", "error"])
@pytest.mark.parametrize("seed", range(4))
def test_bootstrap_t_interval_leaves_out_zero_just_below_the_pvalue(measure, seed):
    counts = generator(seed).multinomial(300, generator(seed).dirichlet([4, 2, 2, 2, 1, 2, 2, 9]))
    cells = generator(seed + 9).multinomial(300, counts / 300, 4000)
    d, se = difference(measure)(counts), standard_error(counts, measure)
    t = (difference(measure)(cells) - d) / standard_error(cells, measure)
    scale = 1 if measure == "f1" else 300
    (seen,) = observe(counts[None], measure, False)
    errors = standard_error(cells, measure) * scale
    p = pvalue_of(difference(measure)(cells) * scale, errors, "studentized", seen)
    ends = {
        alpha: d - se * np.quantile(t, [1 - alpha / 2, alpha / 2])
        for alpha in (1.05 * p + 0.003, 0.95 * p - 0.003)
        if 0 < alpha < 1
    }
    for alpha, (low, high) in ends.items():
        assert (low > 0 or high < 0) == (alpha > p)


def test_bca_at_its_edges():
    (seen,) = observe(np.array([COUNTS]), "f1", False)
    rng = generator(2)
    for a in (0, 0.3, -0.3, 5, -5):
        for values in (rng.normal(1, 1, 50), np.ones(50), -np.ones(50), np.zeros(50), rng.normal(0, 1, 1)):
            for value in (-9.0, -1.0, 0.0, 1.0, 9.0):
                p = pvalue_of(values, values, "bca", seen._replace(value=value, acceleration=a))
                mirrored = seen._replace(value=-value, acceleration=-a)
                assert 0 <= p <= 1
                assert pvalue_of(-values, values, "bca", mirrored) == pytest.approx(p, abs=1e-12)
                if (values > 0).all() or (values < 0).all():
                    assert p == 0


# --- the tests ---------------------------------------------------------------------------------------------


def test_one_sided_sets():
    # A finds all positives, B none; no false alarm, or some of B's: no standard error in any replicate
    for counts in ([0, 0, 5, 0, 0, 0, 0, 95], [0, 0, 5, 0, 0, 3, 0, 95]):
        p = {k: bootstrap_intervals(counts, "f1", interval=k, rng=generator()) for k in INTERVALS}
        assert p["studentized"].pvalue == 1
        assert p["basic"].pvalue == 0  # 2d = 2 is beyond every d*
        assert p["bca"].pvalue < 0.05
        assert not any(result.degenerate for result in p.values())
        assert unusable_share(counts, "f1", rng=generator()) == 1
    counts = [0, 7, 0, 0, 0, 0, 0, 0]  # every document: d* = d always
    p = {k: float(bootstrap_intervals(counts, "error", interval=k).pvalue) for k in INTERVALS}
    assert p == {"basic": 0, "bca": 0, "studentized": 1}


def test_unusable_replicates_are_those_without_spread():
    counts = [2, 0, 1, 0, 0, 0, 0, 97]  # usable: e3* > 0 and e1* > 0, else F1 are equal, or 1 and 0
    rest = 0.97
    expected = 1 - (1 - 0.99**100 - 0.98**100 + rest**100)
    share = unusable_share(counts, "f1", 20_000, generator(1))
    assert within_binomial(share * 20_000, 20_000, expected)
    assert unusable_share([[9, 0, 0, 1, 1, 0, 0, 9], counts], "f1").shape == (2,)
    assert unusable_share([9, 0, 0, 1, 1, 0, 0, 9], "error") == 1


@pytest.mark.parametrize("stratified", [False, True])
@pytest.mark.parametrize("measure", ["f1", "error"])
def test_verdicts_are_those_of_the_pvalues_alone_and_together(measure, stratified):
    counts = evaluation_sets(6, seed=4)
    if measure == "f1":  # the others are judged by shares, below
        counts = counts[fewest(counts) < LEAST_COUNT]
    options = {"stratified": stratified}
    together = reject(counts, measure, ALPHAS, 2000, list(INTERVALS), generator(2), **options)
    assert together.shape == (len(counts), 3, 3)
    for j, interval in enumerate(INTERVALS):
        alone = reject(counts, measure, ALPHAS, 2000, interval, generator(2), **options)
        result = bootstrap_intervals(counts, measure, 2000, interval, generator(2), **options)
        assert (together[:, j] == alone).all()
        assert (alone == (result.pvalue[:, None] <= ALPHAS)).all()


POPULATIONS = {
    "a null of RCV1": [30, 4, 4, 6, 4, 4.5, 4.5, 943],
    "A finds more": [20, 2.5, 7.5, 6, 4, 6, 4, 950],
    "hardly a document that neither decides for": [20, 5, 5, 10, 10, 5, 5, 40],
    "A assigns more": [30, 1, 10, 10, 10, 3, 14, 932],
    "positives alone tell": [50, 7, 11, 20, 20, 0, 0, 886],
}


@pytest.mark.parametrize("stratified", [False, True])
@pytest.mark.parametrize(("least", "most"), [(LEAST_COUNT, 19), (20, 29), (30, 80)])
def test_shares_by_moments_are_those_of_replicates(least, most, stratified):
    """On average in each population, and each within some per cent."""
    n, rng = 100_000, generator(8)
    for cells in map(np.array, POPULATIONS.values()):
        size = round((least + most) / 2 * cells.sum() / cells[[1, 2, 5, 6]].sum())
        sets = rng.multinomial(size, cells / cells.sum(), 1000)
        sets = sets[(fewest(sets) >= least) & (fewest(sets) <= most)]
        observed = observe(sets, "f1", stratified)
        shares = forecast(sets, stratified, observed)
        of_all = np.array([*shares.cuts, shares.below_t])
        near = np.minimum(of_all, 1 - of_all)[[0, 3]].min(axis=0)
        chosen = np.flatnonzero(shares.known & (near > 0.01))[:20]
        assert len(chosen) > 5
        found = []
        for i in chosen:
            parts = difference_replicates(sets[i], "f1", n, stratified, generator(int(i)))
            made = np.concatenate(list(parts), axis=1)
            basic, t, bca = (kind.tally(made, observed[i]) for kind in INTERVALS.values())
            at_zero = bca[0] + (n - bca[0] - bca[1]) * (of_all[0, i] > 0.5)  # all ties count on this side
            found.append(np.array([at_zero, bca[2], basic[0], t[0] * n / t[2]]) / n)
        expected, found = of_all[:, chosen].T, np.array(found)
        left = expected < 0.5
        expected, found = (np.where(left, x, 1 - x) for x in (expected, found))
        noise = np.sqrt(expected * (1 - expected) / n)
        of_mean = np.sqrt(((noise / expected) ** 2).mean(axis=0) / len(chosen))
        wrong = 0.03 if least < 20 else 0.015
        assert (np.abs((found / expected - 1).mean(axis=0)) < wrong + 4.9 * of_mean).all()
        assert (np.abs(found - expected) < 0.15 * expected + 4.9 * noise).all()


@pytest.mark.parametrize("interval", INTERVALS)
def test_verdicts_by_shares_are_as_frequent_as_by_replicates(interval):
    counts, n = np.tile([120, 22, 40, 30, 30, 40, 35, 2683], (1500, 1)), 1500
    pvalues = bootstrap_intervals(counts, "f1", 2000, interval, generator(1)).pvalue
    levels = np.quantile(pvalues, [0.2, 0.5, 0.8])
    found = reject(counts, "f1", levels, 2000, interval, generator(2)).sum(axis=0)
    for a, level in enumerate(levels):
        both = found[a] + (pvalues <= level).sum()
        low, high = hypergeom.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], 2 * n, both, n)
        assert low <= found[a] <= high


@pytest.mark.parametrize("stratified", [False, True])
@pytest.mark.parametrize("counts", [[0, 0, 98, 0, 0, 35, 0, 37], [0, 0, 50, 0, 0, 0, 0, 250]])
def test_one_sided_sets_of_many_documents_are_judged_as_by_their_pvalues(counts, stratified):
    """Some of their standard errors are 0 but for rounding, and cells without documents have none."""
    for interval in INTERVALS:
        options = {"interval": interval, "stratified": stratified}
        verdict = reject(counts, "f1", [0.5, 0.05], 1000, rng=generator(2), **options)
        pvalue = bootstrap_intervals(counts, "f1", 1000, rng=generator(2), **options).pvalue
        assert verdict.tolist() == [pvalue <= 0.5, pvalue <= 0.05]
