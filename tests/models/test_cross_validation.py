"""Folds, pooled criterion, tie rule."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.models.cross_validation import check_grid, choose, count_cells, partition, score, usable_folds


def test_partition_is_even_seeded_and_complete():
    fold = partition(101, 4, seed=3)
    assert np.bincount(fold).tolist() == [26, 25, 25, 25]
    np.testing.assert_array_equal(fold, partition(101, 4, seed=3))
    assert (fold != partition(101, 4, seed=4)).any()


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(0, 2)), min_size=1, max_size=40))
def test_pooled_scores_against_brute_force(rows):
    from sklearn.metrics import f1_score

    y, decided, fold = (np.array(column) for column in zip(*rows, strict=True))
    cells = sum(count_cells(y[fold == k, None], decided[fold == k, None]) for k in range(3))[0]
    assert cells.sum() == len(rows)
    assert score(cells, "f1") == pytest.approx(f1_score(y, decided, zero_division=0))
    assert score(cells, "error") == pytest.approx(np.mean(y != decided))


def test_ties_go_to_the_smaller_parameter():
    scores = np.array([[0.5, 0.1, np.nan], [0.5, 0.3, np.nan], [0.4, 0.3, np.nan]])
    assert choose(scores, "f1").tolist() == [0, 1, 0]
    assert choose(scores, "error").tolist() == [2, 0, 0]
    assert check_grid("C_grid", [10, 0.1, 1]) == (0.1, 1.0, 10.0)


def test_equal_fractions_are_equal_scores():
    tp = np.arange(1, 50)
    cells = np.stack([tp, tp, tp * 2, tp * 0], axis=-1)
    assert np.unique(score(cells, "f1")).size == 1


def test_rare_categories_use_the_folds_that_can_tell():
    fold = np.array([0, 0, 1, 1, 2, 2])
    y = np.array(
        [  # one positive; two in one fold; two in two folds; everywhere; all positive
            [1, 1, 1, 1, 1],
            [0, 1, 0, 0, 1],
            [0, 0, 0, 1, 1],
            [0, 0, 0, 0, 1],
            [0, 0, 1, 1, 1],
            [0, 0, 0, 0, 1],
        ]
    )
    assert usable_folds(y, fold, 3).sum(axis=0).tolist() == [0, 0, 2, 3, 3]
    assert usable_folds(y, fold, 3)[:, 2].tolist() == [True, False, True]


def test_no_document_is_missing_and_no_positive_is_zero():
    assert np.isnan(score(np.zeros(4, dtype=int), "f1"))
    assert score(np.array([0, 0, 0, 9]), "f1") == 0
