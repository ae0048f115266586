"""Equal rows of counts."""

import numpy as np
import pytest

from harness.significance.equal_counts import distinct_rows, keep_last


@pytest.mark.parametrize("largest", [1, 9, 2**15, 2**33, 2**62])
@pytest.mark.parametrize("n_columns", [1, 7])
def test_as_numpy_unique_on_rows(largest, n_columns):
    rng = np.random.default_rng(largest % 97)
    few = rng.integers(0, largest, size=(40, n_columns), endpoint=True)
    rows = few[rng.integers(0, 40, size=500)]
    first, which = distinct_rows(rows)
    wanted, counts = np.unique(rows, axis=0, return_counts=True)
    assert (rows[first][which] == rows).all()
    order = np.lexsort(rows[first].T[::-1])
    assert (rows[first][order] == wanted).all()
    assert (np.bincount(which)[order] == counts).all()
    assert all((rows[:i] != rows[i]).any(axis=1).all() for i in first)  # the first of its kind


def test_no_row():
    assert [part.shape for part in distinct_rows(np.zeros((0, 7), dtype=np.int64))] == [(0,), (0,)]


def test_the_last_two_answers_are_kept():
    calls = []

    @keep_last
    def total(counts, power):
        calls.append(power)
        return (counts**power).sum()

    for counts, power in (([1, 2], 2), ([1, 2], 2), ([[1, 2]], 2), ([1, 2], 3), ([1, 2], 2)):
        assert total(np.array(counts), power) == 1 + 2**power
    assert calls == [2, 2, 3, 2]  # another shape, another option, and no longer among the last
    assert total(np.array([1, 2]), 3) == 9
    assert calls == [2, 2, 3, 2]
