"""A strict and fast reader of lines `id term:weight term:weight ...`."""

import io
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from harness.corpora.opening import line_of_record, read_blocks, shorten
from harness.errors import UserError

_NUMBER = rb"(?:\d++\.?\d*+|\.\d++)(?:[eE][-+]?\d{1,3})?+"
_LINE = rb"[ \t]*+(?:\d{1,18}(?:[ \t]++\d{1,9}:" + _NUMBER + rb")*+)?+[ \t\r]*+"
_BAD_LINE = re.compile(_LINE)
# One possessive pattern over a whole block: no backtracking, so its time is linear in the bytes.
_BLOCK = re.compile(rb"(?:" + _LINE + rb"\n)*+(?:" + _LINE + rb")?+")
_AS_TABLE = bytes.maketrans(b": \t\r", b",\n\n\n")


class Rows(NamedTuple):
    """Sparse rows as they stand in a file.

    Attributes
    ----------
    ids : int64 array, shape (n_rows,)
    n_terms : int64 array, shape (n_rows,)
        Terms in each row.
    terms : int32 array, shape (sum of n_terms,)
        Term numbers, increasing within a row.
    weights : float32 array, shape (sum of n_terms,)
    """

    ids: NDArray[np.int64]
    n_terms: NDArray[np.int64]
    terms: NDArray[np.int32]
    weights: NDArray[np.float32]

    def matrix(self, n_columns: int) -> sparse.csr_array:
        """Return the rows as a matrix with `n_columns` columns, column = term number."""
        starts = np.concatenate([[0], np.cumsum(self.n_terms)])
        if starts[-1] < 2**31:
            starts = starts.astype(np.int32)  # 32-bit terms stay so only beside 32-bit starts
        return sparse.csr_array((self.weights, self.terms, starts), shape=(len(self.ids), n_columns))


def join_rows(parts: list[Rows]) -> Rows:
    """Return the rows of all parts, one after the other."""
    empty = Rows(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, np.float32))
    return Rows(*(np.concatenate(columns) for columns in zip(empty, *parts, strict=True)))


def read_vectors(path: str | Path) -> Rows:
    r"""Read a file of lines ``id  term:weight term:weight ...``, plain or compressed.

    About four times as fast as scikit-learn's ``load_svmlight_file``, and stricter: an id is a whole
    number, a weight a finite decimal number >= 0, no comments.

    Parameters
    ----------
    path : str or pathlib.Path

    Returns
    -------
    Rows

    Raises
    ------
    UserError
        For a line of another form, or whose term numbers do not increase: names file and line.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "a"
    ...     _ = file.write_bytes(b"7  1:0.5 3:0.25\n9\n")
    ...     read_vectors(file).matrix(4).toarray()
    array([[0.  , 0.5 , 0.  , 0.25],
           [0.  , 0.  , 0.  , 0.  ]], dtype=float32)
    """
    rows = join_rows([_parse(path, first_line, block) for first_line, block in read_blocks(path)])
    starts = np.concatenate([[0], np.cumsum(rows.n_terms)])
    increases = np.diff(rows.terms, prepend=-1) > 0
    increases[starts[:-1][rows.n_terms > 0]] = True
    if not increases.all():
        entry = int(np.argmin(increases))
        record = int(np.searchsorted(starts, entry, side="right")) - 1
        raise UserError(
            f"{path}, line {line_of_record(path, record)}: term {rows.terms[entry]} stands after term "
            f"{rows.terms[entry - 1]}; term numbers must increase along a line"
        )
    return rows


def _parse(path: str | Path, first_line: int, block: bytes) -> Rows:
    """Parse a block of whole lines."""
    import pandas as pd

    if not _BLOCK.fullmatch(block):
        lines = block.split(b"\n")
        bad = next(i for i, line in enumerate(lines) if not _BAD_LINE.fullmatch(line))
        raise UserError(
            f"{path}, line {first_line + bad}: {shorten(lines[bad])} is not of the form "
            "'id term:weight term:weight ...' with weights >= 0"
        )
    if not block.strip():
        return join_rows([])
    # The pattern has proven the form, so a table parser may read it: one row for an id (no second
    # column), one for each term.
    table = pd.read_csv(
        io.BytesIO(block.translate(_AS_TABLE)),
        header=None, names=["number", "weight"], dtype={"number": np.int64, "weight": np.float64}, engine="c",
    )  # fmt: skip
    number, weight = table["number"].to_numpy(), table["weight"].to_numpy()
    is_term = ~np.isnan(weight)
    if not np.isfinite(weight[is_term]).all() or (weight[is_term] > np.finfo(np.float32).max).any():
        raise UserError(f"{path}, after line {first_line}: a weight is too large to be one")
    heads = np.flatnonzero(~is_term)
    n_terms = np.diff(heads, append=len(number)) - 1
    return Rows(number[heads], n_terms, number[is_term].astype(np.int32), weight[is_term].astype(np.float32))
