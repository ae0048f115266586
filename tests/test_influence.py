"""The influence of a document is the derivative of the measure's difference."""

import numpy as np
import pytest

from harness.measures import DIFFERENCES, dcf_difference, difference, influence, standard_deviation


@pytest.mark.parametrize("measure", DIFFERENCES)
def test_influence_is_the_derivative(measure):
    generator = np.random.default_rng(1)
    for shares in generator.dirichlet([1, 0.5, 0.5, 1, 1, 0.5, 0.5, 5], 50):
        psi, d = influence(shares, measure), difference(measure)
        assert abs(shares @ psi) < 1e-12
        for i in range(8):
            step = 1e-7
            toward = (1 - step) * shares + step * np.eye(8)[i]
            away = (shares - step * np.eye(8)[i]) / (1 - step) if shares[i] > 2 * step else shares
            width = step * (2 if away is not shares else 1)
            slope = (d(toward) - d(away)) / width
            assert slope == pytest.approx(psi[i], rel=1e-4, abs=1e-5 * max(1, np.abs(psi).max()))


def test_the_deviation_is_that_of_drawn_sets():
    shares, n = np.array([0.1, 0.02, 0.05, 0.08, 0.05, 0.03, 0.07, 0.6]), 4000
    sets = np.random.default_rng(2).multinomial(n, shares, 20_000)
    for measure in DIFFERENCES:
        drawn = difference(measure)(sets).std() * np.sqrt(n)
        # the sd of an sd over 20,000 sets is .5 %; the second-order term at n = 4000 is smaller
        assert drawn == pytest.approx(standard_deviation(shares, measure), rel=0.03)


def test_costs_of_the_dcf():
    cells = [20, 3, 9, 8, 1, 4, 8, 47]
    options = {"cost_fn": 10.0, "cost_fp": 2.0, "prior": 0.2}
    assert difference("dcf", **options)(cells) == dcf_difference(cells, **options)
    assert np.allclose(influence(cells, "dcf"), influence(cells, "balanced_error"))
    assert not np.allclose(influence(cells, "dcf", **options), influence(cells, "dcf"))


def test_where_nothing_is_found_it_is_zero():
    assert (influence([0, 0, 0, 0, 0, 0, 0, 5], "f1") == 0).all()
    assert (influence([0, 0, 0, 0, 0, 0, 0, 5], "recall") == 0).all()


@pytest.mark.parametrize(
    ("measure", "options", "word"),
    [("f2", {}, "measure"), ("f1", {"prior": 0.5}, "prior"), ("dcf", {"cost_fn": -1}, "cost_fn"),
     ("dcf", {"prior": 2}, "prior"), ("dcf", {"price": 1}, "price")],
)  # fmt: skip
def test_wrong_options(measure, options, word):
    with pytest.raises(ValueError, match=word):
        influence([1] * 8, measure, **options)
