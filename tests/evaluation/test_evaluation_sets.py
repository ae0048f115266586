import numpy as np
import pytest
from count_cases import within_binomial
from scipy import stats

from harness.errors import UserError
from harness.evaluation.sets import check_sizes, draw_sets, reweight

POPULATION = np.array([300, 20, 40, 140, 100, 60, 90, 9250])


def assert_chi_square(observed, expected):
    assert stats.chisquare(observed, expected).pvalue > 1e-6


@pytest.mark.parametrize("scale", [1, 0.25, 3])
def test_small_multinomial_against_enumeration(scale):
    population = scale * np.array([1, 0, 1, 0, 0, 0, 0, 2])
    sets = draw_sets(population, 3, 50_000, np.random.default_rng(1))
    assert (sets.dtype, sets.sum(axis=1).min(), sets.sum(axis=1).max()) == (np.int64, 3, 3)
    grid = [(i, j, 3 - i - j) for i in range(4) for j in range(4 - i)]
    observed = [np.sum((sets[:, [0, 2, 7]] == cell).all(axis=1)) for cell in grid]
    expected = stats.multinomial.pmf(grid, 3, [0.25, 0.25, 0.5]) * 50_000
    assert_chi_square(observed, expected)


def test_without_replacement_against_the_hypergeometric_law():
    population = np.array([2, 0, 3, 0, 0, 0, 0, 5])
    sets = draw_sets(population, 4, 50_000, np.random.default_rng(2), replacement=False)
    grid = [(i, j, 4 - i - j) for i in range(3) for j in range(4) if 0 <= 4 - i - j <= 5]
    observed = [np.sum((sets[:, [0, 2, 7]] == cell).all(axis=1)) for cell in grid]
    expected = stats.multivariate_hypergeom.pmf(grid, [2, 3, 5], 4) * 50_000
    assert_chi_square(observed, expected)
    everything = draw_sets(POPULATION, 10_000, 3, np.random.default_rng(0), replacement=False)
    assert (everything == POPULATION).all()


def test_empty_cells_stay_empty_whatever_the_rounding():
    shares = np.array([0.1, 0.2, 0.3, 0.1, 0.1, 0.1, 0.1, 0.0])
    sets = draw_sets(shares, 1000, 5000, np.random.default_rng(3))
    assert (sets[:, 7] == 0).all()
    assert (sets.sum(axis=1) == 1000).all()


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize("n_documents", [100, 101])
def test_stratified_sets_fix_the_positives(replacement, n_documents):
    how = {"replacement": replacement, "stratified": True}
    sets = draw_sets(POPULATION, n_documents, 5000, np.random.default_rng(5), **how)
    assert (sets[:, :4].sum(axis=1) == n_documents // 2).all()
    assert (sets[:, 4:].sum(axis=1) == n_documents - n_documents // 2).all()
    if replacement:
        assert within_binomial(sets[:, :4].sum(axis=0), 5000 * (n_documents // 2), POPULATION[:4] / 500)
        assert within_binomial(
            sets[:, 4:].sum(axis=0), 5000 * (n_documents - n_documents // 2), POPULATION[4:] / 9500
        )
    else:
        # sampling without replacement varies less, so that the binomial bounds hold all the more
        assert within_binomial(sets[:, :4].sum(axis=0), 5000 * (n_documents // 2), POPULATION[:4] / 500)


def test_reweighting_keeps_the_rates_within_each_class():
    shares = reweight(np.stack([POPULATION, POPULATION[::-1]]), 0.02)
    np.testing.assert_allclose(shares[:, :4].sum(axis=1), 0.02, rtol=1e-14)
    np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-14)
    np.testing.assert_allclose(shares[0, :4] / 0.02, POPULATION[:4] / 500, rtol=1e-14)
    np.testing.assert_allclose(shares[0, 4:] / 0.98, POPULATION[4:] / 9500, rtol=1e-14)
    np.testing.assert_allclose(reweight(POPULATION, 0.05), POPULATION / 10_000, rtol=1e-14)


def test_populations_of_one_class_are_refused():
    cells = np.array([POPULATION, [0, 0, 0, 0, 1, 2, 3, 4], [1, 2, 3, 4, 0, 0, 0, 0]])
    with pytest.raises(ValueError, match=r"index \(1,\) has no positive"):
        reweight(cells, 0.5)
    with pytest.raises(ValueError, match="no negative"):
        draw_sets(cells[2], 10, 1, np.random.default_rng(0), stratified=True)


def test_check_sizes():
    assert check_sizes([1, 10**9], 5, replacement=True) == []
    assert check_sizes([100, 500], 10_000, replacement=False) == []
    (warning,) = check_sizes([100, 501], 10_000, replacement=False)
    assert "501" in warning
    assert "5.0 %" in warning
    with pytest.raises(UserError, match="the population has 1000 documents"):
        check_sizes([1001], 1000, replacement=False)


BAD_ARGUMENTS = [
    (POPULATION[:7], 10, 1, True, "shape"),
    (POPULATION * 0, 10, 1, True, "at least one above 0"),
    (-POPULATION, 10, 1, True, "cell e1 is -300"),
    (POPULATION, 10_001, 1, False, "10001 of 10000"),
    (POPULATION / 7, 10, 1, False, "shares"),
    (POPULATION * 10**6, 10, 1, False, "10\\*\\*9"),
]


@pytest.mark.parametrize(("population", "n_documents", "n_sets", "replacement", "message"), BAD_ARGUMENTS)
def test_bad_arguments_are_named(population, n_documents, n_sets, replacement, message):
    with pytest.raises(ValueError, match=message):
        draw_sets(population, n_documents, n_sets, np.random.default_rng(0), replacement=replacement)
