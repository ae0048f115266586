"""Predictions reduced to the eight joint outcomes, and the table of them from which every study starts."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harness.errors import UserError
from harness.runtime.store import write_atomically
from harness.writing.table_text import restore, to_csv

if TYPE_CHECKING:
    import pandas as pd

CELLS = ("e1", "e2", "e3", "e4", "e5", "e6", "e7", "e8")
READ_COLUMNS = ("category", "pair", "balance", *CELLS)
COLUMNS = (
    "category", "pair", "balance", "prevalence", *CELLS,
    "f1_a", "f1_b", "error_a", "error_b", "disagreement", "error_correlation",
)  # fmt: skip

_LARGEST_COUNT = 2**53  # the largest range of whole numbers that a float holds exactly
_LARGEST_FILE = 64 * 2**20  # bytes: some 400,000 rows, a thousand times an ordinary table
_ROWS_AT_ONCE = 65_536  # documents counted at once: bounds the memory, cannot change a sum
_WHOLE = re.compile(r"[0-9]{1,16}(\.0{1,9})?")


@dataclass(frozen=True, eq=False)
class Population:
    """The documents that count as the truth, for every category of one pair of classifiers.

    Attributes
    ----------
    pair : str
        Names of A and B, as in ``"linear_svm-mlp"``.
    balance : str
        How the categories were made: ``"natural"``, ``"meta"``...
    categories : tuple of str, length n_categories
    counts : int64 array, shape (n_categories, 8)
        Joint outcomes e1..e8 of each category's documents.

    Raises
    ------
    ValueError
        If the counts have another shape or type, are negative or above 2**53 in a row, if a category
        holds no document, or a name is empty, unprintable or used twice.

    Examples
    --------
    >>> Population("a-b", "natural", ("GCAT",), np.array([[5, 1, 0, 0, 0, 0, 2, 92]])).counts.sum()
    np.int64(100)
    """

    pair: str
    balance: str
    categories: tuple[str, ...]
    counts: NDArray[np.int64]

    def __post_init__(self) -> None:
        counts = np.asarray(self.counts)
        if counts.shape != (len(self.categories), 8) or counts.dtype.kind not in "iu":
            raise ValueError(
                f"counts: {counts.dtype} of shape {counts.shape} is not allowed; "
                f"integers of shape ({len(self.categories)}, 8) are"
            )
        for name in (self.pair, self.balance, *self.categories):
            if not name or not name.isprintable():
                raise ValueError(f"name {name!r} is not allowed; a name is printable text, not empty")
        twice = [name for name in dict.fromkeys(self.categories) if self.categories.count(name) > 1]
        if twice:
            raise ValueError(f"categories: {twice[0]!r} occurs more than once; each name is allowed once")
        total = counts.astype(float).sum(axis=-1)
        bad = (counts < 0).any(axis=-1) | (total == 0) | (total > _LARGEST_COUNT)
        if bad.any():
            where = int(np.argmax(bad))
            raise ValueError(
                f"counts: {counts[where].tolist()} of category {self.categories[where]!r} is not allowed; "
                "counts >= 0 whose sum is 1 to 2**53 are"
            )
        object.__setattr__(self, "counts", counts.astype(np.int64))
        object.__setattr__(self, "categories", tuple(self.categories))


def count_outcomes(y_true: ArrayLike, a: ArrayLike, b: ArrayLike) -> NDArray[np.int64]:
    """Count the eight joint outcomes of truth, decision of A and decision of B.

    Parameters
    ----------
    y_true, a, b : array, shape (n_documents,) or (n_documents, n_categories)
        Truth and decisions, of equal shape: bool, 0/1 or -1/+1, each array in a coding of its own.

    Returns
    -------
    int64 array, shape (8,) or (n_categories, 8)
        e1 both find a positive, e2 only B finds it, e3 only A finds it, e4 neither does; e5 both take
        a negative for a positive, e6 only B does, e7 only A does, e8 neither.

    Raises
    ------
    ValueError
        If the shapes differ, are not 1-D or 2-D, hold no document, or a value is none of the above.

    Examples
    --------
    >>> count_outcomes([1, 1, 1, 0, 0], [1, 0, 1, 1, 0], [1, 1, 0, 0, 0])
    array([1, 1, 1, 0, 0, 0, 1, 1])
    """
    truth, by_a, by_b = (np.asarray(values) for values in (y_true, a, b))
    if not truth.shape == by_a.shape == by_b.shape or truth.ndim not in (1, 2):
        raise ValueError(
            f"y_true, a, b: shapes {truth.shape}, {by_a.shape}, {by_b.shape} are not allowed; "
            "three equal shapes (n_documents,) or (n_documents, n_categories) are"
        )
    if truth.shape[0] == 0:
        raise ValueError("y_true: 0 documents are not allowed; at least one is needed")
    n_categories = 1 if truth.ndim == 1 else truth.shape[1]
    counts = np.zeros((n_categories, 8), dtype=np.int64)
    for start in range(0, truth.shape[0], _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        positive = _as_bool("y_true", truth[rows]).reshape(-1, n_categories)
        found_a = _as_bool("a", by_a[rows]).reshape(-1, n_categories)
        found_b = _as_bool("b", by_b[rows]).reshape(-1, n_categories)
        # e1..e8 in their order are the numbers 0..7 in binary: not positive, not found by B, not by A
        code = 4 * (~positive).view(np.uint8) + 2 * (~found_b).view(np.uint8) + (~found_a).view(np.uint8)
        for cell in range(8):
            counts[:, cell] += np.count_nonzero(code == cell, axis=0)
    return counts[0] if truth.ndim == 1 else counts


def _as_bool(name: str, values: NDArray) -> NDArray[np.bool_]:
    """Return positives as True, from bool, 0/1 or -1/+1."""
    if values.dtype.kind == "b":
        return np.ascontiguousarray(values)
    if values.dtype.kind not in "iuf":
        raise ValueError(f"{name}: type {values.dtype} is not allowed; bool, 0/1 and -1/+1 are")
    positive = values == 1
    for other in (0, -1):
        if (positive | (values == other)).all():
            return np.ascontiguousarray(positive)
    odd = values[~positive & (values != 0) & (values != -1)]
    what = odd.flat[0] if odd.size else "a mixture of 0 and -1"
    raise ValueError(f"{name}: {what} is not allowed; bool, 0/1 and -1/+1 are")


def f1_scores(counts: NDArray) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return F1 of A and of B, 0 where there is nothing to find and nothing was found.

    Examples
    --------
    >>> [float(f) for f in f1_scores(np.array([3, 1, 0, 1, 0, 0, 1, 94]))]
    [0.6666666666666666, 0.8888888888888888]
    """
    e1, e2, e3, e4, e5, e6, e7, _ = np.moveaxis(counts, -1, 0)
    scores = []
    for found, wrong in ((e1 + e3, e5 + e7), (e1 + e2, e5 + e6)):
        both = (e1 + e2 + e3 + e4) + found + wrong
        scores.append(np.where(both > 0, 2 * found / np.where(both > 0, both, 1), 0.0))
    return scores[0], scores[1]


def error_correlation(n00: NDArray, n01: NDArray, n10: NDArray, n11: NDArray) -> NDArray[np.float64]:
    """Return the phi coefficient of the two error indicators, NaN where one of them is constant."""
    n00, n01, n10, n11 = (cell.astype(float) for cell in (n00, n01, n10, n11))
    spread = np.sqrt((n11 + n01) * (n10 + n00)) * np.sqrt((n11 + n10) * (n01 + n00))
    product = n11 * n00 - n01 * n10
    return np.where(spread > 0, product / np.where(spread > 0, spread, 1.0), np.nan)


def to_table(populations: Sequence[Population]) -> pd.DataFrame:
    """Return the outcomes table: one row for each category of each population, in the given order.

    Parameters
    ----------
    populations : sequence of Population
        At most one for each pair and balance.

    Returns
    -------
    pandas.DataFrame
        Columns :data:`COLUMNS`. `prevalence` is the share of positives, `disagreement` the share of
        documents that exactly one classifier gets right, `error_correlation` the phi coefficient of
        the two classifiers' errors: missing where one of them is always right or always wrong.

    Raises
    ------
    ValueError
        If a pair and balance occur twice.

    Examples
    --------
    >>> one = Population("a-b", "natural", ("GCAT",), np.array([[5, 1, 0, 0, 0, 0, 2, 92]]))
    >>> to_table([one]).loc[0, ["prevalence", "disagreement", "error_a"]].tolist()
    [0.06, 0.03, 0.03]
    """
    import pandas as pd

    keys = [(population.pair, population.balance) for population in populations]
    for key in keys:
        if keys.count(key) > 1:
            raise ValueError(
                f"populations: pair {key[0]!r}, balance {key[1]!r} occurs twice; once is allowed"
            )
    if not populations:
        return pd.DataFrame(columns=list(COLUMNS))
    counts = np.concatenate([population.counts for population in populations])
    e = dict(zip(CELLS, counts.T, strict=True))
    n_documents = counts.sum(axis=-1)
    n01, n10, both = e["e2"] + e["e7"], e["e3"] + e["e6"], e["e4"] + e["e5"]
    f1_a, f1_b = f1_scores(counts)
    columns = {
        "category": [name for population in populations for name in population.categories],
        "pair": [population.pair for population in populations for _ in population.categories],
        "balance": [population.balance for population in populations for _ in population.categories],
        "prevalence": counts[:, :4].sum(axis=-1) / n_documents,
        **e,
        "f1_a": f1_a,
        "f1_b": f1_b,
        "error_a": (n01 + both) / n_documents,
        "error_b": (n10 + both) / n_documents,
        "disagreement": (n01 + n10) / n_documents,
        "error_correlation": error_correlation(e["e1"] + e["e8"], n01, n10, both),
    }
    return pd.DataFrame(columns, columns=list(COLUMNS))


def write_outcomes(populations: Sequence[Population], path: str | Path) -> None:
    """Write the outcomes table as CSV; the same populations give the same bytes.

    Raises
    ------
    ValueError
        As :func:`to_table`.
    OSError
        If `path` cannot be written.
    """
    write_atomically(Path(path), to_csv(to_table(populations), float_format="%.10g"))


def read_outcomes(path: str | Path) -> list[Population]:
    """Read an outcomes table: only the names and the eight counts, the rest follows from them.

    Parameters
    ----------
    path : path
        A CSV file with at least the columns category, pair, balance, e1..e8, in any order. Labels
        are text: ``01`` stays ``01``, ``NA`` stays ``NA``.

    Returns
    -------
    list of Population
        One for each pair and balance, in the order in which they first appear.

    Raises
    ------
    UserError
        If the file is missing, unreadable, empty or larger than 64 MiB, lacks a column, or a line
        has too few values, a count that is no whole number >= 0, no document, or a category that
        its pair and balance have already. The sentence names the file and the line.
    """
    path = Path(path)
    found: dict[tuple[str, str], dict[str, list[int]]] = {}
    for line, row in _rows(path):
        name, pair, balance = (restore(row[column]) for column in READ_COLUMNS[:3])
        for column in READ_COLUMNS[:3]:
            if not row[column] or not row[column].isprintable():
                raise UserError(
                    f"{path}, line {line}: {column} {row[column][:40]!r} is no printable name; one is needed"
                )
        categories = found.setdefault((pair, balance), {})
        if name in categories:
            raise UserError(
                f"{path}, line {line}: category {name!r} of pair {pair!r}, balance {balance!r} stands "
                "there already; one row for each is allowed"
            )
        categories[name] = _whole_numbers(path, line, row)
    if not found:
        raise UserError(f"{path}: the outcomes table has no row; at least one category is needed")
    return [
        Population(pair, balance, tuple(rows), np.array(list(rows.values()), dtype=np.int64))
        for (pair, balance), rows in found.items()
    ]


def _whole_numbers(path: Path, line: int, row: dict[str, str]) -> list[int]:
    """Return e1..e8 of one line."""
    values = []
    for cell in CELLS:
        if not _WHOLE.fullmatch(row[cell].strip()):
            raise UserError(
                f"{path}, line {line}: {cell} is {row[cell][:40]!r}; "
                "a whole number from 0 to 2**53 is allowed"
            )
        values.append(int(row[cell].strip().partition(".")[0]))
    if not 0 < sum(values) <= _LARGEST_COUNT:
        raise UserError(
            f"{path}, line {line}: e1..e8 sum to {sum(values)}; from 1 to 2**53 documents are allowed"
        )
    return values


def check_file(path: Path) -> None:
    """Refuse what is no file of a table's size: a pipe would block, a device might never end.

    Raises
    ------
    UserError
        If `path` is missing, no regular file or larger than 64 MiB.
    """
    if not path.exists():
        raise UserError(f"{path}: no such file; give the outcomes.csv of a finished run")
    if not path.is_file():
        kind = "a folder" if path.is_dir() else "no regular file"
        raise UserError(f"{path}: cannot be read, being {kind}; give the outcomes.csv of a finished run")
    n_bytes = path.stat().st_size
    if n_bytes > _LARGEST_FILE:
        raise UserError(
            f"{path}: {n_bytes / 2**20:.0f} MiB is too large for an outcomes table; 64 MiB is allowed"
        )


def _rows(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield line number and named values of each line that holds any."""
    try:
        check_file(path)
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            header = next(reader, [])
            _check_header(path, header)
            for values in reader:
                if values and len(values) != len(header):
                    raise UserError(
                        f"{path}, line {reader.line_num}: {len(values)} values where the header names "
                        f"{len(header)} columns; one value for each is needed"
                    )
                if values:
                    yield reader.line_num, dict(zip(header, values, strict=True))
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}); an outcomes table is needed") from None
    except (csv.Error, UnicodeDecodeError) as error:
        raise UserError(f"{path}: is no CSV table in UTF-8 ({error}); an outcomes table is needed") from None


def _check_header(path: Path, header: list[str]) -> None:
    """Refuse a header that lacks a column or names one twice."""
    missing = [column for column in READ_COLUMNS if column not in header]
    if missing:
        raise UserError(
            f"{path}: the outcomes table lacks {', '.join(missing)}; needed are {', '.join(READ_COLUMNS)}"
        )
    twice = [column for column in READ_COLUMNS if header.count(column) > 1]
    if twice:
        raise UserError(f"{path}: column {twice[0]} occurs more than once; one of each is allowed")
