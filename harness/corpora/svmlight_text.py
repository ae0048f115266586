"""A strict and fast reader of lines `id term:weight term:weight ...`."""

import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from harness.corpora.corpus import csr
from harness.corpora.opening import check_lines, read_blocks
from harness.errors import UserError

NUMBER = rb"(?:\d++\.?\d*+|\.\d++)(?:[eE][-+]?\d{1,3})?+"
_LINE = rb"[ \t]*+(?:\d{1,18}(?:[ \t]++\d{1,9}:" + NUMBER + rb")*+)?+[ \t\r]*+"
_AS_TABLE = bytes.maketrans(b": \t\r", b",\n\n\n")


class Rows(NamedTuple):
    """Sparse rows as they stand in a file; `terms` increase within a row."""

    ids: NDArray[np.int64]
    n_terms: NDArray[np.int64]
    terms: NDArray[np.int32]
    weights: NDArray[np.floating[Any]]

    def matrix(self, n_columns: int) -> sparse.csr_array:
        """Return the rows as a matrix with `n_columns` columns, column = term number."""
        return csr(self.weights, self.terms, np.concatenate([[0], np.cumsum(self.n_terms)]), n_columns)


def join_rows(parts: Iterable[Rows]) -> Rows:
    """Return the rows of all parts, one after the other, weights as float32.

    The parts may be made one by one: the columns grow in place, so that nothing is held twice.
    """
    columns: list[NDArray[Any]] = [np.empty(0, kind) for kind in (np.int64, np.int64, np.int32, np.float32)]
    filled = [0] * len(columns)
    for part in parts:
        pieces: tuple[NDArray[Any], ...] = part
        for i, piece in enumerate(pieces):
            start, filled[i] = filled[i], filled[i] + len(piece)
            if filled[i] > len(columns[i]):
                columns[i].resize(max(filled[i], len(columns[i]) * 9 // 8), refcheck=False)
            columns[i][start : filled[i]] = piece
    for column, n in zip(columns, filled, strict=True):
        column.resize(n, refcheck=False)
    return Rows(*columns)


def join_files(
    files: Sequence[Path], read: Callable[[Path], Iterable[Rows]]
) -> tuple[Rows, NDArray[np.int64]]:
    """Return the rows of all files and where each file ends; a file without rows is refused."""
    ends: list[int] = []

    def each() -> Iterator[Rows]:
        n_rows = 0
        for file in files:
            for part in read(file):
                n_rows += len(part.ids)
                yield part
            if n_rows == (ends[-1] if ends else 0):
                raise UserError(f"{file}: holds no document")
            ends.append(n_rows)

    return join_rows(each()), np.array(ends)


def read_vectors(path: str | Path) -> Rows:
    r"""Read a file of lines ``id  term:weight term:weight ...``, plain or compressed.

    About four times as fast as scikit-learn's ``load_svmlight_file``, and stricter: an id is a whole
    number, a weight a finite decimal number >= 0, no comments.
    """
    return join_rows(read_vector_blocks(path))


def read_vector_blocks(path: str | Path) -> Iterator[Rows]:
    """Yield what :func:`read_vectors` returns, some thousand lines at a time."""
    for first_line, block in read_blocks(path):
        form = "'id term:weight term:weight ...' with weights >= 0"
        check_lines(path, first_line, block, _LINE, form)

        def line_of(row: int, first: int = first_line, block: bytes = block) -> int:
            return [number for number, line in enumerate(block.split(b"\n"), first) if line.strip()][row]

        yield parse_rows(path, block, line_of)


def parse_rows(path: str | Path, block: bytes, line_of: Callable[[int], int]) -> Rows:
    """Parse lines whose form was proven; `line_of` a row is its line in the file, for messages.

    Refuses term numbers that do not increase along a line and numbers too large to be meant.
    """
    import pandas as pd

    if not block.strip():
        return join_rows([])
    # one row of the table for an id (no second column), one for each term
    table = pd.read_csv(
        io.BytesIO(block.translate(_AS_TABLE)),
        header=None, names=["number", "weight"], dtype={"number": np.int64, "weight": np.float64}, engine="c",
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
        raise UserError(f"{path}, line {line_of(int(np.searchsorted(heads, i)) - 1)}: {said}")
    n_terms = np.diff(heads, append=len(number)) - 1
    return Rows(number[heads], n_terms, number[is_term].astype(np.int32), weight[is_term])
