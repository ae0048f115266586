"""Unconditional tests: every table that could have been seen is listed here, and weighed, independently."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import xlog1py
from scipy.stats import binom, multinomial

from harness.measures import dcf_difference
from harness.nulls import project
from harness.significance import unconditional as module
from harness.significance import worst_null
from harness.significance.likelihood_ratio import likelihood_ratio
from harness.significance.mcnemar import UNCONDITIONAL, mcnemar_unconditional
from harness.significance.unconditional import f1, unconditional
from harness.significance.wald import wald
from harness.significance.weighted import (
    PSEUDO_COUNT,
    bartlett,
    fit,
    kinds,
    multiplier,
    signed,
    statistic,
    weight_of,
)


@pytest.fixture(autouse=True)
def _nothing_known():
    """p-values are remembered; those found with another constant must not be."""
    yield
    module._estimated.cache_clear()
    worst_null.guaranteed.cache_clear()


def discordant_sets(n):
    """All sets of n documents by n01 and n10."""
    pairs = np.array([(a, b) for a in range(n + 1) for b in range(n + 1 - a)])
    cells = np.zeros((len(pairs), 8), dtype=np.int64)
    cells[:, 1], cells[:, 2], cells[:, 7] = pairs[:, 0], pairs[:, 1], n - pairs.sum(axis=1)
    return cells


def trinomial(cells, pi):
    """Probability of each set under the null, (n_sets, n_pi)."""
    n01, n10, n = cells[:, 1], cells[:, 2], cells[0].sum()
    by_sum = binom.pmf((n01 + n10)[:, None], n, pi)
    return by_sum * binom.pmf(n01, n01 + n10, 0.5)[:, None]


@pytest.mark.parametrize("n", [6, 13])
def test_mcnemar_against_a_list_of_all_sets(n):
    cells = discordant_sets(n)
    n01, n10 = cells[:, 1], cells[:, 2]
    statistic = np.abs(n01 - n10) / np.sqrt(np.maximum(n01 + n10, 1))
    grid = np.linspace(0, 1, 2001)
    on_grid = trinomial(cells, grid)
    for i, found in enumerate(mcnemar_unconditional(cells).pvalue):
        reached = statistic >= statistic[i] - 1e-9
        here = trinomial(cells, np.array([(n01 + n10)[i] / n]))[:, 0]
        assert found == pytest.approx(here[reached].sum() if (n01 + n10)[i] else 1, abs=1e-12)
        worst = on_grid[reached].sum(axis=0).max()
        assert mcnemar_unconditional(cells[i], "maximised").pvalue == pytest.approx(worst, abs=2e-5)


def test_size_of_mcnemar_over_all_nulls():
    # .0529 at N = 10: Fagerland, Lydersen & Laake (2013), the estimated form; the others never exceed alpha
    cells = discordant_sets(10)
    weights = trinomial(cells, np.linspace(0, 1, 400))
    sizes = {}
    for variant in UNCONDITIONAL:
        pvalues = mcnemar_unconditional(cells, variant).pvalue
        sizes[variant] = [weights[pvalues <= alpha].sum(axis=0).max() for alpha in (0.05, 0.01)]
    assert sizes["estimated"][0] == pytest.approx(0.0529, abs=5e-5)
    for variant in ("maximised", "berger_boos"):
        assert sizes[variant][0] <= 0.05 + 1e-6
        assert sizes[variant][1] <= 0.01 + 1e-6


def test_many_documents_are_looked_at_as_fewer_are():
    for variant in ("maximised", "berger_boos"):  # the weights of all pi are kept up to 20,000 documents
        pvalues = [mcnemar_unconditional([0, 2, 7, 0, 0, 0, 0, n], variant).pvalue for n in (19_000, 21_000)]
        assert pvalues[0] == pytest.approx(pvalues[1], rel=1e-3)


def reached_by_search(counts, weight):
    """Statistic of four counts by scipy's search for the best null: independent of Newton's method."""
    signed = np.array([1, weight, -1, -weight])
    end = 1 / max(1, weight)

    def less(m):
        return -xlog1py(counts, m * signed).sum()

    return -2 * minimize_scalar(less, bounds=(-end, end), method="bounded", options={"xatol": 1e-10}).fun


def listed(counts, weight, n):
    """P(statistic at least as large) under the fitted null, over all sets of n documents."""
    sets = np.array([row for row in product(range(n + 1), repeat=4) if sum(row) <= n])
    statistics = np.array([reached_by_search(row, weight) for row in sets])
    seen = reached_by_search(np.array(counts), weight)
    expected = fit(np.array(counts)[:, None], np.array([weight]))[:, 0] / (n + 1)
    weights = multinomial.pmf(
        np.column_stack([sets, n - sets.sum(axis=1)]), n, np.append(expected, 1 - expected.sum())
    )
    return weights[statistics >= seen - 1e-6].sum()


LISTED = [
    ((3, 0, 2, 1, 1, 0, 0, 3), "f1", 8 / 14),
    ((2, 0, 1, 1, 0, 3, 1, 4), "f1", 5 / 12),
    ((1, 2, 0, 0, 1, 0, 3, 5), "f1", 4 / 11),
    ((3, 0, 2, 1, 1, 1, 0, 4), "precision", 8 / 3),
    ((3, 0, 0, 0, 1, 1, 4, 3), "dcf", 3 / 9),
]


@pytest.mark.parametrize(("row", "measure", "weight"), LISTED)
def test_estimated_against_a_list_of_all_sets(row, measure, weight):
    counts, rounded = [row[i] for i in (2, 5, 1, 6)], np.exp(0.01 * np.round(100 * np.log(weight)))
    found = float(unconditional(row, measure).pvalue)
    assert found == pytest.approx(listed(counts, rounded, sum(row)), rel=2e-3)


def test_weights_balance_where_the_measures_are_equal():
    rng = np.random.default_rng(0)
    for measure in ("f1", "precision"):
        null = project(rng.dirichlet([3, 1, 1, 2, 2, 1, 1, 9], 20), measure)
        for_a, for_b = np.split(kinds(null), 2)
        weights = np.array([np.ones(20), weight_of(null, measure)])
        assert (weights * for_a).sum(axis=0) == pytest.approx((weights * for_b).sum(axis=0), abs=1e-8)
    cells, cost_fp = np.array([20, 8, 3, 9, 4, 7, 2, 47]), 1.5  # 5 of 40 positives, and 5 of 60 negatives
    assert dcf_difference(cells, 1, cost_fp, 0.5) == pytest.approx(0)
    assert weight_of(cells[None], "dcf", cost_fp) == pytest.approx([1])


def test_fit_is_a_null_near_the_counts():
    rng = np.random.default_rng(0)
    counts, weight = rng.poisson(rng.uniform(0.1, 9, (4, 300))).astype(float), rng.uniform(0.05, 4, 300)
    expected = fit(counts, weight)
    assert (expected >= 0).all()
    assert (signed(weight) * expected).sum(axis=0) == pytest.approx(np.zeros(300), abs=1e-8)
    assert expected.sum(axis=0) == pytest.approx(counts.sum(axis=0) + 4 * PSEUDO_COUNT)


def test_a_newton_step_to_the_very_end_is_none():
    counts, weight = np.array([[1.0], [1.0], [1.0], [11.0]]), np.array([0.5])  # a step from 0 to -1
    expected = counts / (1 + multiplier(counts, weight) * signed(weight))
    assert (signed(weight) * expected).sum() == pytest.approx(0, abs=1e-9)


def test_statistic_against_a_search_and_against_the_ratio_of_all_cells():
    rng = np.random.default_rng(0)
    counts = rng.poisson(rng.uniform(0.1, 9, (4, 100)) * (rng.random((4, 100)) < 0.7)).astype(float)
    weight = rng.uniform(0.05, 4, 100)
    found = statistic(counts, weight, multiplier(counts, weight))
    searched = [reached_by_search(*pair) for pair in zip(counts.T, weight, strict=True)]
    assert found == pytest.approx(searched, abs=1e-5)
    sets = rng.multinomial(6000, [0.02, 0.003, 0.004, 0.01, 0.008, 0.004, 0.005, 0.946], 200)
    whole, weighed = likelihood_ratio(sets).statistic, f1(sets).statistic
    assert weighed == pytest.approx(whole, rel=0.05, abs=0.05)


def test_bartlett_factor_is_the_mean_of_the_statistic():
    # twelve of each kind: the factor is 1.02; left out, the mean would be 4 standard errors off
    cells = np.array([60, 12, 12, 10, 8, 12, 12, 900])
    weight = weight_of(cells[None], "f1")
    factor = float(bartlett(kinds(cells[None]).astype(float), weight)[0])
    sets = np.random.default_rng(0).multinomial(cells.sum(), cells / cells.sum(), 150_000)
    drawn = likelihood_ratio(sets).statistic
    error = drawn.std() / np.sqrt(len(drawn))
    assert drawn.mean() == pytest.approx(factor, abs=5 * error)
    assert factor - 1 > 3 * error


def test_chi_square_where_counts_are_large(monkeypatch):
    rows = [
        (90, 14, 28, 40, 30, 23, 26, 4000),
        (70, 35, 20, 40, 30, 15, 42, 4000),
        (50, 6, 9, 30, 9, 9, 7, 900),
    ]
    large = f1(rows).pvalue
    monkeypatch.setattr(module, "LARGE", 1e9)
    monkeypatch.setattr(module, "LIKELY", 2)
    few = f1(rows).pvalue
    assert (few != large).all()
    assert large == pytest.approx(few, rel=0.02)


def test_every_s_th_count_against_every_count(monkeypatch):
    rows = [
        (30, 14, 25, 10, 8, 12, 9, 933),
        (60, 21, 12, 10, 8, 10, 26, 872),
        (15, 90, 130, 9, 20, 8, 4, 700),
    ]
    thinned = f1(rows).pvalue
    module._estimated.cache_clear()
    monkeypatch.setattr(module, "WIDE", np.inf)
    every = f1(rows).pvalue
    assert (thinned != every).any()
    assert thinned == pytest.approx(every, rel=0.02)


def corrected(sets):
    return likelihood_ratio(sets, correction="bartlett")


@pytest.mark.parametrize(
    ("cells", "n_sets", "fails", "hold"),
    [  # topic C31, linear against RBF SVM: Wald's size is .13 there
        ([15, 0.26, 1.44, 35, 6, 0.09, 4.2, 940], 2000, wald, (f1, corrected)),
        ([40, 2, 2, 30, 6, 0, 0, 920], 4000, likelihood_ratio, (corrected,)),
    ],
)
def test_size_where_others_fail(cells, n_sets, fails, hold):
    sets = np.random.default_rng(2).multinomial(1000, project(cells, "f1"), n_sets)
    beyond = binom.isf(1e-6, n_sets, 0.06)
    assert (fails(sets, "f1").pvalue <= 0.05).sum() > beyond
    for test in hold:
        assert (test(sets).pvalue <= 0.05).sum() <= beyond


def test_more_true_negatives_change_nothing_in_the_end():
    few, many = f1([[12, 0, 2, 6, 3, 1, 1, 10**7], [12, 0, 2, 6, 3, 1, 1, 10**15]]).pvalue
    assert few == pytest.approx(many, rel=1e-5)


def test_worst_null_is_at_least_as_probable_as_the_fitted_one():
    rows = np.array([(6, 0, 2, 3, 1, 1, 0, 90), (5, 3, 0, 2, 2, 0, 1, 90), (9, 1, 1, 2, 1, 0, 2, 90)])
    estimated, guaranteed = f1(rows).pvalue, f1(rows, "berger_boos").pvalue
    assert (guaranteed >= estimated).all()
    assert (guaranteed <= 1.5 * estimated).all()  # the region is near the set


def test_search_for_the_worst_null_finds_what_a_longer_one_finds(monkeypatch):
    rows = [(12, 0, 2, 6, 3, 1, 0, 976)]
    short = f1(rows, "berger_boos").pvalue
    for name, value in {"N_FIRST": 512, "N_NEAR": 128, "N_ROUNDS": 8}.items():
        monkeypatch.setattr(worst_null, name, value)
    worst_null.guaranteed.cache_clear()
    assert f1(rows, "berger_boos").pvalue == pytest.approx(short, rel=0.02)


def test_some_of_the_counts_stand_for_all(monkeypatch):
    counts = (14, 1, 7, 8, 3, 3, 2, 150)
    some = f1(counts, "berger_boos").pvalue
    for name in ("COARSE", "COARSE_TOTAL"):
        monkeypatch.setattr(worst_null, name, 0.01)
    worst_null.guaranteed.cache_clear()
    assert f1(counts, "berger_boos").pvalue == pytest.approx(float(some), rel=0.01)


def all_sets(n):
    """All sets of n documents that count, one cell for e4 and e5."""
    rows = [c for c in product(range(n + 1), repeat=5) if sum(c) <= n]
    cells = np.zeros((len(rows), 8), dtype=np.int64)
    cells[:, [1, 2, 3, 5, 6]] = rows
    cells[:, 0], cells[:, 7] = n - cells.sum(axis=1), 1
    return cells


def largest_size(n, n_nulls, alpha=0.05):
    """Size of the guaranteed test over random nulls, from a list of all sets."""
    cells = all_sets(n)
    rejected = f1(cells).pvalue <= alpha  # the guaranteed p is not smaller, and takes long
    rejected[rejected] = f1(cells[rejected], "berger_boos").pvalue <= alpha
    rng = np.random.default_rng(3)
    shares = np.array([rng.dirichlet(rng.choice([0.3, 1, 3], 7)) for _ in range(n_nulls)])
    nulls = project(np.column_stack([shares, np.zeros(n_nulls)]), "f1")
    nulls, counted = (  # six cells: one for e4 and e5, and none for e8
        np.column_stack([part[:, :3], part[:, 3] + part[:, 4], part[:, 5:7]])
        for part in (nulls, cells[rejected])
    )
    sizes = [multinomial.pmf(counted, n, null / null.sum()).sum() for null in nulls]
    return max(sizes), rejected.sum()


@pytest.mark.parametrize(("n", "n_nulls"), [(6, 200), pytest.param(9, 10_000, marks=pytest.mark.slow)])
def test_size_of_the_guaranteed_test_over_random_nulls(n, n_nulls):
    size, n_rejected = largest_size(n, n_nulls)
    assert size <= 0.05 + 0.0005
    assert n_rejected > 0
