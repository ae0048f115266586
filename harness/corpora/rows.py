"""Rows of a sparse matrix, gathered one by one or many at once; and lines ``term:weight term:weight ...``."""

import io
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from harness.corpora.corpus import csr, renumber
from harness.errors import UserError

NUMBER = rb"(?:\d++\.?\d*+|\.\d++)(?:[eE][-+]?\d{1,3})?+"
DOCUMENTS_AT_ONCE = 4_000
_AS_TABLE = bytes.maketrans(b": \t\r", b",\n\n\n")


class Vocabulary(dict[Any, int]):
    """Numbers words in the order in which they are first met."""

    def __missing__(self, word: str | bytes) -> int:
        """Give a new word the next number."""
        number = self[word] = len(self)
        return number

    def sort(self, columns: NDArray[np.int32], key: Callable[[Any], Any] | None = None) -> list[Any]:
        """Return the words in the order of `key`; `columns`, numbers of words, get their places in it."""
        words = sorted(self, key=key)
        renumber(columns, np.argsort([self[word] for word in words]).astype(np.int32))
        return words


class Entries(NamedTuple):
    """Rows one after the other: how many entries each has, then the entries' columns and values."""

    n_entries: NDArray[np.int64]
    columns: NDArray[Any]
    values: NDArray[Any]


class SparseRows:
    """Rows that grow in place, 4 + 4 (or 4 + 1) bytes an entry, in memory that the matrix takes over."""

    def __init__(self, typecode: str = "f") -> None:
        self._columns, self._values, self._ends = array("i"), array(typecode), array("q", [0])

    def __len__(self) -> int:
        return len(self._ends) - 1

    def append(self, columns: Iterable[int], values: Iterable[int]) -> None:
        """Add a row."""
        self._columns.extend(columns)
        self._values.extend(values)
        self._ends.append(len(self._columns))

    def extend(self, entries: Entries) -> None:
        """Add many rows; values become float32."""
        ends = self._ends[-1] + np.cumsum(entries.n_entries)
        for grown, new, kind in (
            (self._columns, entries.columns, np.int32),
            (self._values, entries.values, np.float32),
            (self._ends, ends, np.int64),
        ):
            grown.frombytes(np.ascontiguousarray(new, dtype=kind).view(np.uint8).data)

    @property
    def columns(self) -> NDArray[np.int32]:
        """The entries' columns; while this is held no row can be added."""
        return np.asarray(memoryview(self._columns), dtype=np.int32)

    def matrix(self, n_columns: int) -> sparse.csr_array:
        """Return the canonical matrix."""
        ends, values = (np.asarray(memoryview(part)) for part in (self._ends, self._values))
        made = csr(values, self.columns, ends, n_columns)
        made.sort_indices()
        return made


def fill(rows: SparseRows, files: Sequence[Path], read: Callable[[Path], None]) -> list[int]:
    """Read files into `rows`, one after the other; return where each ends. One without a row is refused."""
    ends = [0]
    for file in files:
        read(file)
        if len(rows) == ends[-1]:
            raise UserError(f"{file}: holds no document")
        ends.append(len(rows))
    return ends[1:]


def parse_lines(path: Path, lines: Iterator[tuple[int, bytes]]) -> Iterator[tuple[list[int], Entries]]:
    """Parse lines ``term:weight term:weight ...`` whose form was proven, some thousand at a time.

    Each line comes with its number in the file. Refuses term numbers that do not increase along a line and
    numbers too large to be meant.
    """
    import pandas as pd

    while some := list(islice(lines, DOCUMENTS_AT_ONCE)):
        # one row of the table for the line's number (no second column), one for each term
        text = b"".join(b"%d %s\n" % line for line in some)
        table = pd.read_csv(
            io.BytesIO(text.translate(_AS_TABLE)),
            engine="c", header=None, names=["number", "weight"], dtype={"number": np.int64, "weight": float},
        )  # fmt: skip
        number, weight = table["number"].to_numpy(), table["weight"].to_numpy()
        is_term = ~np.isnan(weight)
        heads = np.flatnonzero(~is_term)
        falls = np.zeros(len(number), dtype=bool)
        falls[1:] = is_term[1:] & is_term[:-1] & (np.diff(number) <= 0)
        bad = falls | (is_term & ((weight > np.finfo(np.float32).max) | (number > np.iinfo(np.int32).max)))
        if bad.any():
            i = int(np.argmax(bad))
            said = f"{number[i]}:{weight[i]:g} is too large"
            if falls[i]:
                said = f"term {number[i]} stands after term {number[i - 1]}; term numbers must increase"
            raise UserError(f"{path}, line {number[heads[heads < i][-1]]}: {said}")
        n_entries = np.diff(heads, append=len(number)) - 1
        yield (
            [line for line, _ in some],
            Entries(n_entries, number[is_term].astype(np.int32), weight[is_term]),
        )
