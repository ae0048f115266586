import gzip

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import f1_score, matthews_corrcoef

from harness.errors import UserError
from harness.outcomes import (
    CELLS,
    COLUMNS,
    Population,
    count_outcomes,
    read_outcomes,
    to_table,
    write_outcomes,
)

CELL_OF = {
    (1, 1, 1): 0, (1, 0, 1): 1, (1, 1, 0): 2, (1, 0, 0): 3,
    (0, 1, 1): 4, (0, 0, 1): 5, (0, 1, 0): 6, (0, 0, 0): 7,
}  # fmt: skip
HEADER = ",".join(("category", "pair", "balance", *CELLS))


def one_by_one(y, a, b):
    counts = np.zeros(8, dtype=int)
    for triple in zip(y.tolist(), a.tolist(), b.tolist(), strict=True):
        counts[CELL_OF[tuple(map(int, triple))]] += 1
    return counts


@settings(max_examples=50, deadline=None)
@given(arrays(np.bool_, st.tuples(st.just(3), st.integers(1, 40), st.integers(1, 4))))
def test_counts_equal_a_count_one_by_one(labels):
    y, a, b = labels
    expected = [one_by_one(y[:, c], a[:, c], b[:, c]) for c in range(y.shape[1])]
    np.testing.assert_array_equal(count_outcomes(y, a, b), expected)
    np.testing.assert_array_equal(count_outcomes(y[:, 0], a[:, 0], b[:, 0]), expected[0])


def test_codings_memory_orders_and_blocks_change_nothing(monkeypatch):
    y, a, b = np.random.default_rng(0).random((3, 1000, 5)) < 0.3
    expected = count_outcomes(y, a, b)
    assert expected.dtype == np.int64
    assert expected.sum(axis=1).tolist() == [1000] * 5
    np.testing.assert_array_equal(
        count_outcomes(y.astype(np.uint8), 2 * a.astype(int) - 1, b * 1.0), expected
    )
    np.testing.assert_array_equal(count_outcomes(np.asfortranarray(y), a, np.asfortranarray(b)), expected)
    monkeypatch.setattr("harness.outcomes._ROWS_AT_ONCE", 7)
    np.testing.assert_array_equal(count_outcomes(y, 2 * a.astype(int) - 1, b), expected)


@pytest.fixture
def populations():
    generator = np.random.default_rng(1)
    counts = generator.multinomial(5000, generator.dirichlet(np.ones(8), size=4))
    counts[1] = [0, 0, 0, 0, 0, 0, 0, 5000]  # nothing to find, nothing found, no error
    return [
        Population("linear_svm-mlp", "natural", ("01", "NA", 'C, "15"'), counts[:3]),
        Population("linear_svm-mlp", "meta", ("01",), counts[3:]),
    ]


def test_derived_columns_against_scikit_learn(populations):
    table = to_table(populations)
    assert tuple(table.columns) == COLUMNS
    for row in table[table.prevalence > 0].to_dict("records"):
        triples = np.repeat(list(CELL_OF), [row[CELLS[i]] for i in CELL_OF.values()], axis=0)
        y, a, b = triples.T
        assert row["f1_a"] == pytest.approx(f1_score(y, a), abs=1e-14)
        assert row["f1_b"] == pytest.approx(f1_score(y, b), abs=1e-14)
        assert row["error_a"] == pytest.approx(np.mean(y != a), abs=1e-14)
        assert row["error_b"] == pytest.approx(np.mean(y != b), abs=1e-14)
        assert row["disagreement"] == pytest.approx(np.mean(a != b), abs=1e-14)
        assert row["prevalence"] == y.mean()
        # the phi coefficient of two binary variables is Matthews' correlation
        assert row["error_correlation"] == pytest.approx(matthews_corrcoef(y != a, y != b), abs=1e-12)
    nothing = table.loc[1]
    assert (nothing.f1_a, nothing.error_a, nothing.disagreement) == (0, 0, 0)
    assert np.isnan(nothing.error_correlation)


def test_the_table_survives_reading_and_writing_byte_by_byte(populations, tmp_path):
    first, second = tmp_path / "a.csv", tmp_path / "b.csv"
    write_outcomes(populations, first)
    read = read_outcomes(first)
    write_outcomes(read, second)
    assert first.read_bytes() == second.read_bytes()
    for one, other in zip(populations, read, strict=True):
        assert (one.pair, one.balance, one.categories) == (other.pair, other.balance, other.categories)
        np.testing.assert_array_equal(one.counts, other.counts)
    lines = first.read_text().splitlines()
    assert lines[1].startswith("01,linear_svm-mlp,natural,")
    assert lines[2].endswith(",")  # a correlation that does not exist is empty


def test_only_the_counts_are_read(tmp_path):
    path = tmp_path / "outcomes.csv"
    path.write_text(
        f"\ufefff1_a,{HEADER}\nwrong,C1,a-b,natural,1,0,0,0,0,0,2.0,97\n\n,C1,a-c,natural,1,0,0,0,0,0,0,9\n"
    )
    first, second = read_outcomes(path)
    assert first.counts.tolist() == [[1, 0, 0, 0, 0, 0, 2, 97]]
    assert (second.pair, second.counts.sum()) == ("a-c", 10)


GOOD = "C1,a-b,natural,1,0,0,0,0,0,2,97\n"


def test_unreadable_files(tmp_path, monkeypatch):
    with pytest.raises(UserError, match="no such file"):
        read_outcomes(tmp_path / "absent.csv")
    with pytest.raises(UserError, match="cannot be read"):
        read_outcomes(tmp_path)
    for data in (bytes(range(256)), f"{HEADER}\n{GOOD}".encode("utf-16"), gzip.compress(GOOD.encode())):
        (tmp_path / "binary.csv").write_bytes(data)
        with pytest.raises(UserError, match="UTF-8"):
            read_outcomes(tmp_path / "binary.csv")
    monkeypatch.setattr("harness.outcomes._LARGEST_FILE", 2)
    with pytest.raises(UserError, match="too large"):
        read_outcomes(tmp_path / "binary.csv")


def test_one_population_a_pair_and_balance(populations):
    with pytest.raises(ValueError, match="occurs more than once"):
        to_table([populations[0], populations[0]])
    assert isinstance(to_table([]), pd.DataFrame)
    assert tuple(to_table([]).columns) == COLUMNS
