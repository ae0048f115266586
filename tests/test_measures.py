import numpy as np
import pytest
from count_cases import SWAP, documents, few
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score, precision_score, recall_score, zero_one_loss

from harness import measures


@settings(max_examples=25)
@given(few)
def test_measures_are_those_of_scikit_learn(counts):
    y, *decisions = documents(counts)
    for name, score in (("f1", f1_score), ("precision", precision_score), ("recall", recall_score)):
        peers = [score(y, decided, zero_division=0) for decided in decisions]
        assert getattr(measures, name)(counts) == pytest.approx(peers, abs=1e-15)
    errors = [zero_one_loss(y, decided) for decided in decisions]
    assert measures.error(counts) == pytest.approx(errors, abs=1e-15)


@given(few)
def test_differences_are_a_minus_b_and_change_sign_when_the_classifiers_swap(counts):
    swapped = np.array(counts)[SWAP]
    for name in ("f1", "error", "precision", "recall"):
        a, b = getattr(measures, name)(counts)
        difference = measures.difference(name)
        assert difference(counts) == pytest.approx(a - b, abs=1e-15)
        assert difference(swapped) == -difference(counts)
    arguments = {"cost_fn": 2.0, "cost_fp": 0.5, "prior": 0.3}
    swapped_cost = measures.dcf_difference(swapped, **arguments)
    assert swapped_cost == pytest.approx(-measures.dcf_difference(counts, **arguments), abs=1e-15)


@given(few, st.integers(1, 1000))
def test_shares_give_the_same_as_counts_and_true_negatives_leave_f1_alone(counts, more):
    counts = np.array(counts)
    assert measures.f1_difference(counts / counts.sum()) == pytest.approx(measures.f1_difference(counts))
    wider = counts + [0, 0, 0, 0, 0, 0, 0, more]
    assert measures.f1_difference(wider) == measures.f1_difference(counts)


def test_zero_over_zero_is_zero_no_true_positive_is_a_defined_zero_and_equal_f1_are_equal_exactly():
    # scikit-learn issue 26864: 0/2 is a defined 0, to which zero_division does not apply
    assert measures.f1([0, 0, 0, 0, 0, 0, 0, 3]) == measures.f1([0, 0, 0, 1, 1, 0, 0, 1]) == (0.0, 0.0)
    assert measures.f1_difference([0, 0, 2, 0, 0, 0, 0, 3]) == 1.0
    for equal in ([1, 0, 1, 0, 0, 0, 2, 7], [1, 1, 2, 6, 0, 6, 14, 7]):  # 4/6 and 2/3; 6/27 and 4/18
        assert measures.f1_difference(equal) == 0


def test_dcf_is_the_weighted_sum_of_the_two_error_rates():
    # Bengio & Mariethoz 2004, dependent HTER: 40 positives, 60 negatives, c1 = c2 = 1/2
    counts = [20, 3, 9, 8, 0, 4, 8, 48]
    expected = 0.5 * (3 - 9) / 40 + 0.5 * (8 - 4) / 60
    assert measures.dcf_difference(counts, 1, 1, 0.5) == pytest.approx(expected, abs=1e-15)
    assert measures.dcf_difference(counts, 1, 1, 0.5) == pytest.approx(-0.04166666667, abs=1e-10)
    no_positive = [0, 0, 0, 0, 0, 1, 3, 6]
    assert measures.dcf_difference(no_positive, 1, 1, 0.5) == pytest.approx(0.5 * 2 / 10)


# --- influence ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("measure", measures.DIFFERENCES)
def test_influence_is_the_derivative(measure):
    generator = np.random.default_rng(1)
    for shares in generator.dirichlet([1, 0.5, 0.5, 1, 1, 0.5, 0.5, 5], 50):
        psi, d = measures.influence(shares, measure), measures.difference(measure)
        assert abs(shares @ psi) < 1e-12
        for i in range(8):
            step = 1e-7
            toward = (1 - step) * shares + step * np.eye(8)[i]
            away = (shares - step * np.eye(8)[i]) / (1 - step) if shares[i] > 2 * step else shares
            width = step * (2 if away is not shares else 1)
            slope = (d(toward) - d(away)) / width
            assert slope == pytest.approx(psi[i], rel=1e-4, abs=1e-5 * max(1, np.abs(psi).max()))


def test_costs_of_the_dcf():
    cells = [20, 3, 9, 8, 1, 4, 8, 47]
    options = {"cost_fn": 10.0, "cost_fp": 2.0, "prior": 0.2}
    assert measures.difference("dcf", **options)(cells) == measures.dcf_difference(cells, **options)
    assert np.allclose(measures.influence(cells, "dcf"), measures.influence(cells, "balanced_error"))
    assert not np.allclose(measures.influence(cells, "dcf", **options), measures.influence(cells, "dcf"))


def test_where_nothing_is_found_it_is_zero():
    for measure in ("f1", "recall"):
        assert (measures.influence([0, 0, 0, 0, 0, 0, 0, 5], measure) == 0).all()
