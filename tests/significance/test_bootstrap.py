"""The bootstrap tests against enumeration; test_others asks scipy.stats.bootstrap."""

from fractions import Fraction

import numpy as np
import pytest
from count_cases import (
    FALSE_ALARM,
    INTERVALS,
    SMALL,
    all_replicates_of,
    enumerated_limit,
    generator,
    within_binomial,
)
from scipy.stats import binom, chi2

from harness.measures import error_difference, f1_difference
from harness.significance import bootstrap_error, bootstrap_f1
from harness.significance.bootstrap import bootstrap_percentile, reject
from harness.significance.replicates import Resampling

# --- the error, in the limit and by replicates -------------------------------------------------------------


@pytest.mark.parametrize("counts", SMALL)
@pytest.mark.parametrize("interval", INTERVALS)
@pytest.mark.parametrize("stratified", [False, True])
def test_error_limit_is_the_sum_over_all_replicates(counts, interval, stratified):
    result = bootstrap_percentile(counts, "error", None, interval, stratified=stratified)
    expected = enumerated_limit(counts, "error", interval, stratified)
    assert result.pvalue == pytest.approx(expected, abs=1e-12)
    assert result.statistic == error_difference(counts)


def test_replicates_that_draw_no_discordant_document_count_on_both_sides():
    # 10 documents, 3 only B gets wrong: P(D* = 0) = .7^10 = .02825 > .025 keeps the null hypothesis
    for counts in ([7, 0, 3, 0, 0, 0, 0, 0], [0, 3, 0, 0, 0, 0, 0, 7]):
        result = bootstrap_percentile(counts, "error", n_replicates=None)
        assert result.pvalue == pytest.approx(2 * 0.0282475249, abs=1e-12)
        assert not reject(counts, "error", [0.05], n_replicates=None).any()


def test_error_distribution_is_that_of_the_conditional_binomials():
    # K ~ Bin(N, m/N), n01*|K ~ Bin(K, n01/m)
    for n01, n10, n in ((30, 45, 1000), (2, 60, 300), (1, 1, 800_000), (40, 60, 100), (700, 650, 6000)):
        values, weights = bootstrap_error.distribution((n01, n10, n))
        m = n01 + n10
        k = np.arange(min(n, int(m + 12 * np.sqrt(m) + 40)) + 1)
        outer = binom.pmf(k, n, m / n)
        negative = outer @ binom.cdf(np.ceil(k / 2) - 1, k, n01 / m)
        zero = outer[::2] @ binom.pmf(k[::2] // 2, k[::2], n01 / m)
        expected = [negative, zero, 1 - negative - zero]
        assert bootstrap_error.signs(values, weights) == pytest.approx(expected, abs=1e-12)
        assert values @ weights == pytest.approx(n01 - n10, abs=1e-9)


def test_error_distribution_of_millions_of_documents():
    values, weights = bootstrap_error.distribution((30_000_000, 30_000_000, 2**31 - 1))
    variance = weights @ (values.astype(float) ** 2)
    assert variance == pytest.approx(60_000_000, rel=1e-6)


@pytest.mark.parametrize("interval", INTERVALS)
def test_error_replicates_are_distributed_as_resampled_sets(interval):
    counts, n_replicates, n_sets = [5, 2, 4, 1, 1, 5, 2, 30], 40, 3000
    sets = np.tile(counts, (n_sets, 1))
    ours = bootstrap_percentile(sets, "error", n_replicates, interval, generator()).pvalue
    drawn = generator(1).multinomial(50, np.array(counts) / 50, size=(n_sets, n_replicates))
    d = drawn[..., 1] + drawn[..., 6] - drawn[..., 2] - drawn[..., 5]
    if interval == "equal_tailed":
        theirs = np.minimum(1, 2 * np.minimum((d <= 0).mean(axis=1), (d >= 0).mean(axis=1)))
    else:
        total = d.sum(axis=1, keepdims=True)
        theirs = (np.abs(n_replicates * d - total) >= np.abs(total)).mean(axis=1)
    steps = np.arange(0, 1, 1 / n_replicates) + 1e-9
    gap = np.abs((ours[:, None] <= steps).mean(axis=0) - (theirs[:, None] <= steps).mean(axis=0)).max()
    assert gap <= np.sqrt(np.log(2 / FALSE_ALARM) / n_sets)  # two-sample Kolmogorov-Smirnov


def test_one_sided_sets_of_every_size_have_a_pvalue():
    rng = generator()
    for n01, n10 in ((k, other) for k in range(1, 400, 9) for other in (0, 1)):
        for rest in (0, 1, 1000):
            counts = [rest, 0, 0, 0, 0, n10, n01, 0]
            for interval in INTERVALS:
                assert 0 <= bootstrap_percentile(counts, "error", 20, interval, rng).pvalue <= 1


# --- F1 ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("counts", SMALL)
@pytest.mark.parametrize("interval", INTERVALS)
@pytest.mark.parametrize("stratified", [False, True])
def test_f1_replicates_hit_as_often_as_all_replicates_weighed(counts, interval, stratified):
    result = bootstrap_percentile(counts, "f1", 40_000, interval, generator(3), stratified=stratified)
    if result.degenerate:
        assert result.pvalue == 1
        return
    expected = enumerated_limit(counts, "f1", interval, stratified)
    tails = 2 if interval == "equal_tailed" else 1
    hits = round(float(result.pvalue) * 40_000 / tails)
    assert result.pvalue == 1 or within_binomial(hits, 40_000, expected / tails)


@pytest.mark.parametrize("kind", [np.int16, np.int32, np.int64])
def test_f1_differences_of_replicates_have_the_sign_of_exact_fractions(kind):
    cells = generator(7).integers(0, 4, size=(3000, 8))
    e1, e2, e3, e4, e5, e6, e7, _ = cells.T.astype(kind)
    differences = bootstrap_f1.differences(np.stack([e1, e2, e3, e4 + e5, e6, e7]))
    assert np.sign(differences).tolist() == np.sign(f1_difference(cells)).tolist()
    assert differences == pytest.approx(f1_difference(cells), abs=1e-15)


def test_f1_differences_of_large_sets_have_the_sign_of_exact_fractions():
    e1, e2, e3, e45, e6, e7 = drawn = generator(8).integers(2**24, 2**28, size=(6, 500))
    e3[::5], e7[::5] = e2[::5], e6[::5]  # no difference at all
    e3[1::5], e7[1::5], e6[1::5] = e2[1::5] + 1, e6[1::5], e7[1::5] + 1  # one too small for a double
    expected = [
        Fraction(2 * (a + c), 2 * (a + c) + b + d + g) - Fraction(2 * (a + b), 2 * (a + b) + c + d + f)
        for a, b, c, d, f, g in drawn.T.tolist()
    ]
    assert np.sign(bootstrap_f1.differences(drawn)).tolist() == [np.sign(x) for x in expected]
    assert bootstrap_f1.differences(drawn) == pytest.approx([float(x) for x in expected], rel=1e-12)


@pytest.mark.parametrize("counts", [[40, 3, 5, 12, 0, 2, 938], [4000, 3, 5, 700, 260, 2, 9000], [0, 0, 9, 0]])
def test_what_is_wanted_of_replicates_is_that_of_the_replicates_themselves(counts):
    sampler = Resampling(np.array(counts))
    cells = sampler.draw(3000, generator(13))
    squares = sampler.draw(3000, generator(13), lambda drawn: np.asarray(drawn, dtype=float)[1:3] ** 2)
    assert squares.tolist() == (cells[1:3] ** 2).tolist()
    assert (cells.sum(axis=0) == sum(counts)).all()


@pytest.mark.parametrize("counts", [[2, 2, 1], [1, 1, 1, 1, 1, 1], [3, 0, 2, 1]])
def test_resampling_is_multinomial(counts):
    counts, n = np.array(counts), 100_000
    drawn = Resampling(counts).draw(n, generator(11))
    rows, seen = np.unique(drawn, axis=1, return_counts=True)
    possible, weights = all_replicates_of(counts.tolist())
    expected = dict(zip(map(tuple, possible.tolist()), (weights * n).tolist(), strict=True))
    assert set(map(tuple, rows.T.tolist())) <= set(expected)
    tally = dict(zip(map(tuple, rows.T.tolist()), seen.tolist(), strict=True))
    kept = [row for row, e in expected.items() if e >= 5]
    distance = sum((tally.get(row, 0) - expected[row]) ** 2 / expected[row] for row in kept)
    assert distance <= chi2.isf(FALSE_ALARM, len(kept))


@pytest.mark.parametrize(
    "counts",
    [
        [30, 1, 16, 18, 3, 32, 5900],
        [2400, 180, 210, 390, 180, 180, 2460],
        [900, 3, 1, 0, 2, 5, 9],
        [700, 300, 257, 256, 20_000],
    ],
)
def test_resampling_has_the_moments_of_the_multinomial(counts):
    counts, size, repeats = np.array(counts), 2000, 100
    sampler, rng = Resampling(counts), generator(12)
    drawn = np.concatenate([sampler.draw(size, rng) for _ in range(repeats)], axis=1)
    n, total = counts.sum(), size * repeats
    assert (drawn.sum(axis=0) == n).all()
    covariance = np.diag(counts) - np.outer(counts, counts) / n
    spread = np.sqrt(np.diag(covariance))
    assert (np.abs(drawn.mean(axis=1) - counts) <= 5.5 * spread / np.sqrt(total)).all()
    # four times the normal's spread of a sample covariance: cells with few documents have heavier tails
    allowed = 4 * 5.5 * np.outer(spread, spread) / np.sqrt(total) + 1e-12
    assert (np.abs(np.cov(drawn) - covariance) <= allowed).all()
