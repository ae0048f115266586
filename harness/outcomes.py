"""Predictions reduced to the eight joint outcomes, and the table of them from which every study starts."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harness.errors import UserError, require
from harness.measures import Bools, Floats, Ints, error, f1
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

    `pair` names A and B, as in ``"linear_svm-mlp"``; `balance` is how the categories were made, ``"natural"``
    or ``"meta"``. `counts`, (n_categories, 8), are the joint outcomes e1..e8 of each category's documents.
    ValueError if they are negative, a row is 0 or above 2**53, or a name is empty, unprintable or used twice.

    Examples
    --------
    >>> Population("a-b", "natural", ("GCAT",), np.array([[5, 1, 0, 0, 0, 0, 2, 92]])).counts.sum()
    np.int64(100)
    """

    pair: str
    balance: str
    categories: tuple[str, ...]
    counts: Ints

    def __post_init__(self) -> None:
        counts = np.asarray(self.counts)
        require(
            counts.shape == (len(self.categories), 8) and counts.dtype.kind in "iu",
            f"counts: {counts.dtype} of shape {counts.shape} is not allowed; "
            f"integers of shape ({len(self.categories)}, 8) are",
        )
        for name in (self.pair, self.balance, *self.categories):
            good = name and name.isprintable()
            require(good, f"name {name!r} is not allowed; a name is printable text, not empty")
        _refuse_repeats("categories", self.categories)
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


def count_outcomes(y_true: ArrayLike, a: ArrayLike, b: ArrayLike) -> Ints:
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
    given = {"y_true": np.asarray(y_true), "a": np.asarray(a), "b": np.asarray(b)}
    truth, *shapes = given["y_true"], *(values.shape for values in given.values())
    require(
        shapes[0] == shapes[1] == shapes[2] and truth.ndim in (1, 2),
        f"y_true, a, b: shapes {', '.join(map(str, shapes))} are not allowed; "
        "three equal shapes (n_documents,) or (n_documents, n_categories) are",
    )
    require(len(truth), "y_true: 0 documents are not allowed; at least one is needed")
    n_categories = 1 if truth.ndim == 1 else truth.shape[1]
    counts = np.zeros((n_categories, 8), dtype=np.int64)
    for start in range(0, len(truth), _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        positive, found_a, found_b = (
            _as_bool(name, values[rows]).reshape(-1, n_categories) for name, values in given.items()
        )
        code = cell_codes(positive, found_a, found_b)
        for cell in range(8):
            counts[:, cell] += np.count_nonzero(code == cell, axis=0)
    return counts[0] if truth.ndim == 1 else counts


def cell_codes(truth: Bools, a: Bools, b: Bools) -> NDArray[np.uint8]:
    """Return the cell of each decision, 0 for e1 to 7 for e8."""
    # e1..e8 in their order are the numbers 0..7 in binary: not positive, not found by B, not by A
    return 4 * (~truth).view(np.uint8) + 2 * (~b).view(np.uint8) + (~a).view(np.uint8)


def _refuse_repeats(what: str, names: Sequence[object]) -> None:
    for name, n in Counter(names).items():
        require(n == 1, f"{what}: {name!r} occurs more than once; each is allowed once")


def _as_bool(name: str, values: NDArray[Any]) -> Bools:
    """Return positives as True, from bool, 0/1 or -1/+1."""
    if values.dtype.kind == "b":
        return np.ascontiguousarray(values)
    known = values.dtype.kind in "iuf"
    require(known, f"{name}: type {values.dtype} is not allowed; bool, 0/1 and -1/+1 are")
    positive = values == 1
    for other in (0, -1):
        if (positive | (values == other)).all():
            return np.ascontiguousarray(positive)
    odd = values[~positive & (values != 0) & (values != -1)]
    what = odd.flat[0] if odd.size else "a mixture of 0 and -1"
    raise ValueError(f"{name}: {what} is not allowed; bool, 0/1 and -1/+1 are")


def error_correlation(*cells: NDArray[Any]) -> Floats:
    """Return phi of the errors of A and B, from n00, n01, n10 and n11; NaN where one of them is constant."""
    n00, n01, n10, n11 = (cell.astype(float) for cell in cells)
    spread = np.sqrt((n11 + n01) * (n10 + n00)) * np.sqrt((n11 + n10) * (n01 + n00))
    product = n11 * n00 - n01 * n10
    return np.where(spread > 0, product / np.where(spread > 0, spread, 1.0), np.nan)


def to_table(populations: Sequence[Population]) -> pd.DataFrame:
    """Return the outcomes table: one row for each category of each population, in the given order.

    Its columns are :data:`COLUMNS`: `prevalence` is the share of positives, `disagreement` the share of
    documents that exactly one classifier gets right, `error_correlation` the phi coefficient of the two
    classifiers' errors: missing where one of them is always right or always wrong. A pair and balance may
    occur once.

    Examples
    --------
    >>> one = Population("a-b", "natural", ("GCAT",), np.array([[5, 1, 0, 0, 0, 0, 2, 92]]))
    >>> to_table([one]).loc[0, ["prevalence", "disagreement", "error_a"]].tolist()
    [0.06, 0.03, 0.03]
    """
    import pandas as pd

    _refuse_repeats("populations (pair, balance)", [(one.pair, one.balance) for one in populations])
    names = [(name, one.pair, one.balance) for one in populations for name in one.categories]
    table = pd.DataFrame(names, columns=["category", "pair", "balance"])
    counts = np.concatenate([np.zeros((0, 8), dtype=np.int64), *(one.counts for one in populations)])
    e1, e2, e3, e4, e5, e6, e7, e8 = counts.T
    n_documents, n01, n10 = counts.sum(axis=-1), e2 + e7, e3 + e6
    table["prevalence"] = counts[:, :4].sum(axis=-1) / n_documents
    table[list(CELLS)] = counts
    table["f1_a"], table["f1_b"] = f1(counts)
    table["error_a"], table["error_b"] = error(counts)
    table["disagreement"] = (n01 + n10) / n_documents
    table["error_correlation"] = error_correlation(e1 + e8, n01, n10, e4 + e5)
    return table


def write_outcomes(populations: Sequence[Population], path: str | Path) -> None:
    """Write the outcomes table as CSV; the same populations give the same bytes."""
    write_atomically(Path(path), to_csv(to_table(populations), float_format="%.10g"))


def read_outcomes(path: str | Path) -> list[Population]:
    """Read an outcomes table: only the names and the eight counts, the rest follows from them.

    The CSV file has at least the columns category, pair, balance, e1..e8, in any order. Labels are text:
    ``01`` stays ``01``, ``NA`` stays ``NA``. There is one population for each pair and balance, in the order
    in which they first appear. A UserError about a bad file names the file and the line.
    """
    path = Path(path)
    found: dict[tuple[str, str], dict[str, list[int]]] = {}
    for where, row in _rows(path):
        name, pair, balance = (restore(row[column]) for column in READ_COLUMNS[:3])
        for column in READ_COLUMNS[:3]:
            good, shown = row[column] and row[column].isprintable(), f"{column} {row[column][:40]!r}"
            require(good, f"{where}: {shown} is no printable name; one is needed", UserError)
        categories = found.setdefault((pair, balance), {})
        require(
            name not in categories,
            f"{where}: category {name!r} of pair {pair!r}, balance {balance!r} is there already; "
            "one row for each is allowed",
            UserError,
        )
        categories[name] = _whole_numbers(where, row)
    require(found, f"{path}: the outcomes table has no row; at least one category is needed", UserError)
    return [
        Population(pair, balance, tuple(rows), np.array(list(rows.values()), dtype=np.int64))
        for (pair, balance), rows in found.items()
    ]


def _whole_numbers(where: str, row: dict[str, str]) -> list[int]:
    """Return e1..e8 of one line."""
    for cell in CELLS:
        whole, shown = _WHOLE.fullmatch(row[cell].strip()), f"{cell} is {row[cell][:40]!r}"
        require(whole, f"{where}: {shown}; a whole number from 0 to 2**53 is allowed", UserError)
    values = [int(row[cell].strip().partition(".")[0]) for cell in CELLS]
    total = sum(values)
    allowed = "from 1 to 2**53 documents are allowed"
    require(0 < total <= _LARGEST_COUNT, f"{where}: e1..e8 sum to {total}; {allowed}", UserError)
    return values


def check_file(path: Path) -> None:
    """Refuse what is no file of a table's size: a pipe would block, a device might never end."""
    instead = "give the outcomes.csv of a finished run"
    require(path.exists(), f"{path}: no such file; {instead}", UserError)
    kind = "a folder" if path.is_dir() else "no regular file"
    require(path.is_file(), f"{path}: cannot be read because it is {kind}; {instead}", UserError)
    size = f"{path.stat().st_size / 2**20:.0f} MiB"
    fits = path.stat().st_size <= _LARGEST_FILE
    require(fits, f"{path}: {size} is too large for an outcomes table; 64 MiB is allowed", UserError)


def _rows(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the place, for messages, and the named values of each line that holds any."""
    try:
        check_file(path)
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            header = next(reader, [])
            _check_header(path, header)
            for values in filter(None, reader):
                where = f"{path}, line {reader.line_num}"
                require(
                    len(values) == len(header),
                    f"{where}: {len(values)} values where the header names {len(header)} columns; "
                    "one value for each is needed",
                    UserError,
                )
                yield where, dict(zip(header, values, strict=True))
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}); an outcomes table is needed") from None
    except (csv.Error, UnicodeDecodeError) as error:
        raise UserError(f"{path}: is no CSV table in UTF-8 ({error}); an outcomes table is needed") from None


def _check_header(path: Path, header: list[str]) -> None:
    """Refuse a header that lacks a column or names one twice."""
    missing = ", ".join(column for column in READ_COLUMNS if column not in header)
    needed = f"needed are {', '.join(READ_COLUMNS)}"
    require(not missing, f"{path}: the outcomes table lacks {missing}; {needed}", UserError)
    for column in READ_COLUMNS:
        once = header.count(column) == 1
        require(once, f"{path}: column {column} occurs more than once; one of each is allowed", UserError)
