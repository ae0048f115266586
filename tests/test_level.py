"""scripts/level.py: sums over every set, and the bound on power, against what is known otherwise."""

import level
import numpy as np
import pytest
from scipy.stats import binom, poisson

from harness.significance.likelihood_ratio import likelihood_ratio
from harness.significance.unconditional import f1
from harness.significance.wald import wald

NO_PAIRS = np.empty((2, 0), dtype=int)


@pytest.fixture(autouse=True)
def _few(monkeypatch):
    monkeypatch.setattr(level, "LISTED", 12)


def test_sizes_are_those_of_sets_drawn_with_all_eight_cells():
    weight, expected = 0.3, np.array([0.0, 3.0, 0.9, 0.0])
    counts = level.every_set()
    cells = level.as_cells(counts, weight)
    n = 10**5
    shares = np.array([300, expected[2], expected[0], 700, 0, expected[1], expected[3], 0]) / n
    drawn = np.random.default_rng(0).multinomial(n, np.append(shares[:7], 1 - shares[:7].sum()), 5000)
    for test in (lambda c: wald(c, "f1"), lambda c: likelihood_ratio(c, correction="bartlett")):
        size = float((level.probabilities(expected[None], counts) @ (test(cells).pvalue <= 0.05))[0])
        rejected = (test(drawn).pvalue <= 0.05).sum()
        # J is estimated from 300 documents: a little to both sides
        assert binom.isf(1 - 1e-6, 5000, 0.9 * size) <= rejected <= binom.isf(1e-6, 5000, 1.1 * size + 0.001)


def test_every_set_is_listed_once_and_nothing_is_lost():
    counts = level.every_set()
    assert len({tuple(row) for row in counts.T}) == counts.shape[1] == 1820  # 16 over 4
    expected = np.array([[0.5, 1.0, 0.2, 0.7]])
    assert level.probabilities(expected, counts).sum() == pytest.approx(poisson.cdf(12, 2.4), abs=1e-12)


def test_random_nulls_balance():
    nulls = level.random_nulls(0.4, np.random.default_rng(0), 200)
    assert len(nulls) == 200
    assert (nulls >= 0).all()
    assert nulls @ [1, 0.4, -1, -0.4] == pytest.approx(np.zeros(200), abs=1e-9)


def test_the_bound_of_one_null_is_that_of_neyman_and_pearson(monkeypatch):
    monkeypatch.setattr(level, "FORGOTTEN", 0.0)
    monkeypatch.setattr(level, "N_FIRST", 1)
    k = np.arange(40)
    null, alternative = poisson.pmf(k, 3), poisson.pmf(k, 7)
    bound, test = level.power_bound(alternative, null[None], 0.05, np.ones(40, dtype=bool), NO_PAIRS)
    beyond = poisson.isf(0.05, 3)  # the most powerful test rejects above, and now and then at this count
    at = (0.05 - poisson.sf(beyond, 3)) / poisson.pmf(beyond, 3)
    assert bound == pytest.approx(poisson.sf(beyond, 7) + at * poisson.pmf(beyond, 7), abs=1e-6)
    assert null @ test == pytest.approx(0.05)


def test_a_test_in_order_gains_nothing_where_the_likelihood_ratio_runs_against_the_order(monkeypatch):
    monkeypatch.setattr(level, "FORGOTTEN", 0.0)
    monkeypatch.setattr(level, "N_FIRST", 1)
    k = np.arange(40)
    in_order = np.array([k[:-1], k[1:]])  # what rejects a count rejects every larger one
    for mean, gains in ((1.5, False), (7, True)):
        alternative, null = poisson.pmf(k, mean), poisson.pmf(k, 3)
        bound, test = level.power_bound(alternative, null[None], 0.05, np.ones(40, dtype=bool), in_order)
        free, _ = level.power_bound(alternative, null[None], 0.05, np.ones(40, dtype=bool), NO_PAIRS)
        assert (np.diff(test) >= -1e-9).all()
        # else the best that can be done is to reject every set with probability alpha
        assert bound == pytest.approx(free if gains else 0.05, abs=1e-6)


def test_sets_that_say_more_have_a_document_more_for_a_or_one_less_for_b():
    counts = np.array([[2, 0, 1, 0], [3, 0, 1, 0], [2, 1, 1, 0], [2, 0, 0, 0], [2, 0, 1, 1], [4, 0, 1, 0]]).T
    found = {tuple(pair) for pair in level.that_say_more(counts).T.tolist()}
    assert found == {(0, 1), (0, 2), (0, 3), (4, 0), (1, 5)}


def test_nulls_are_added_until_none_is_passed(monkeypatch):
    monkeypatch.setattr(level, "N_FIRST", 1)
    k = np.arange(60)
    nulls = poisson.pmf(k, np.linspace(1, 5, 9)[:, None])
    _, test = level.power_bound(poisson.pmf(k, 9), nulls, 0.05, np.ones(60, dtype=bool), NO_PAIRS)
    assert (nulls @ test <= 0.0505 + 1e-9).all()


def test_a_learned_probability_is_that_of_gamma_distributed_expected_counts():
    expected, n = np.array([0.4, 3.0, 1.0, 0.9]), 200_000
    rng = np.random.default_rng(5)
    drawn = rng.poisson(rng.gamma(level.GAMMA_SHAPE, expected / level.GAMMA_SHAPE, (n, 4)))
    chosen = np.array([[1, 3, 0, 1], [0, 2, 1, 0], [1, 0, 0, 0], [0, 1, 1, 3]])
    found = level.mean_probability(expected[None], chosen.T)
    for row, probability in zip(chosen, found, strict=True):
        hits = (drawn == row).all(axis=1).sum() + (drawn == row[level.TURNED]).all(axis=1).sum()
        assert binom.isf(1 - 1e-6, 2 * n, probability) <= hits <= binom.isf(1e-6, 2 * n, probability)


def test_p_by_listing_is_that_of_the_estimated_test_where_the_statistic_is_the_same():
    counts = level.every_set()
    evidence = likelihood_ratio(level.as_cells(counts, 0.3)).statistic
    worth = (counts.sum(axis=0) == 4) & (evidence > 1.5)  # hardly a set of more than 12 is left out
    found = level.estimated_by(evidence, counts, 0.3, worth)
    assert found == pytest.approx(f1(level.as_cells(counts[:, worth], 0.3)).pvalue, rel=0.01)


def test_gamma_is_what_the_guaranteed_test_adds_and_is_put_back():
    cells = np.array([(12, 0, 2, 6, 3, 1, 0, 976), (15, 0, 0, 24, 6, 0, 7, 948)])
    known = f1(cells, "berger_boos").pvalue
    wide, narrow = (level.guaranteed_by(gamma, cells) for gamma in (1e-4, 1e-2))
    assert wide == pytest.approx(known, abs=0)
    # a narrower region has a smaller largest probability, found to 2 %, to which more is added
    assert (narrow - 1e-2 <= 1.02 * (wide - 1e-4)).all()
    assert (narrow > known).all()
    assert f1(cells, "berger_boos").pvalue == pytest.approx(known, abs=0)
