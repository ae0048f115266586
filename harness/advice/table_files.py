"""Files of predictions read some rows at a time, as tables of text."""

from __future__ import annotations

import csv
import itertools
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from harness.errors import UserError

if TYPE_CHECKING:
    from pandas import DataFrame, Series

ROWS_AT_ONCE = 200_000
MOST_IDS = 10_000_000
FORMATS = {".csv": "csv", ".tsv": "tsv", ".parquet": "parquet", ".jsonl": "jsonl", ".ndjson": "jsonl"}
TRUTH_NAMES = ("y_true", "label", "truth", "target", "gold")
ID_NAMES = ("id", "item", "item_id", "doc_id")
ITEM_NAMES = (*ID_NAMES, "index", "Unnamed: 0", "__index_level_0__")  # the last two are pandas' own
POSITIVE_NAMES = ("1", "1.0", "true", "yes", "pos", "positive")
BINARY = {"false": "0", "true": "1"}
REMEDY = "systems=[NAME,NAME] names the systems' columns, truth_column=COLUMN that of the truth"
_WHOLE = re.compile(r"(-?(?:0|[1-9][0-9]*))\.0+")


def read_frames(path: Path) -> Iterator[DataFrame]:
    """Yield the rows of a file, some at a time.

    Raises
    ------
    UserError
        If there is no such file, its ending is not known, or it is not what its ending says.
    """
    if not path.is_file():
        raise UserError(f"predictions={path}: there is no such file; a table of predictions is needed")
    kind = FORMATS.get(path.suffix.lower())
    if kind is None:
        raise UserError(
            f"predictions={path}: the name's ending is not known; .csv, .tsv, .parquet and .jsonl are"
        )
    try:
        yield from _readers()[kind](path)
    except UserError:
        raise
    except ImportError as error:
        raise UserError(f"predictions={path}: reading Parquet needs pyarrow; pip install pyarrow") from error
    except (ValueError, OSError, UnicodeError, LookupError, csv.Error) as error:  # pandas', pyarrow's too
        reason = " ".join(str(error).split())[:200]
        raise UserError(f"predictions={path}: it cannot be read as {kind} ({reason})") from error


def read_columns(path: Path) -> list[str]:
    """Return the names of a file's columns."""
    frame = next(iter(read_frames(path)), None)
    return [] if frame is None else [str(column) for column in frame.columns]


def _readers() -> Mapping[str, Any]:
    import pandas as pd

    def text(separator: str) -> Any:
        """Return the reader of a table of text."""

        def read(path: Path) -> Iterator[DataFrame]:
            """Yield some rows at a time, each value as it is written."""
            with pd.read_csv(
                path, sep=separator, dtype=str, keep_default_na=False, na_values=["", "NaN", "nan", "NA"],
                chunksize=ROWS_AT_ONCE,
            ) as frames:  # fmt: skip
                for frame in frames:
                    # pandas takes the first fields of rows longer than the header for their names
                    if not isinstance(frame.index, pd.RangeIndex):
                        _tell_long_row(path, separator, frame.shape[1], frame.index.nlevels)
                    yield frame

        return read

    def json_lines(path: Path) -> Iterator[DataFrame]:
        """Yield some objects at a time."""
        with pd.read_json(path, lines=True, dtype=False, chunksize=ROWS_AT_ONCE) as frames:
            yield from frames

    def parquet(path: Path) -> Iterator[DataFrame]:
        """Yield some rows at a time."""
        import pyarrow.parquet

        with pyarrow.parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(ROWS_AT_ONCE):
                yield batch.to_pandas()

    return {"csv": text(","), "tsv": text("\t"), "jsonl": json_lines, "parquet": parquet}


def _tell_long_row(path: Path, separator: str, n_names: int, n_more: int) -> None:
    with path.open(encoding="utf-8-sig", newline="") as stream:
        rows = csv.reader(stream, delimiter=separator)
        lines = [rows.line_num for row in itertools.islice(filter(None, rows), 2)]
    raise UserError(
        f"predictions={path}: line {lines[-1]} has {n_names + n_more} fields where the header names "
        f"{n_names} columns; one name for each field is needed"
    )


def plain_label(text: str) -> str:
    """Return a label in its plainest form: whole numbers without ".0", true and false in lower case.

    Examples
    --------
    >>> [plain_label(text) for text in ("1.0", "-0.0", "01", "0.5", "True", "FALSE", "Ham")]
    ['1', '0', '01', '0.5', 'true', 'false', 'Ham']
    """
    whole = _WHOLE.fullmatch(text)
    if whole:
        return whole[1] if whole[1] != "-0" else "0"
    return text.lower() if text.lower() in BINARY else text


def check_system(
    where: str, said: Mapping[str, int], labels: Collection[str], named: bool, remedy: str = REMEDY
) -> None:
    """Refuse what is no system's decisions.

    A column that was not named as a system's must show that it is one: on most items it says a label of the
    truth. Columns of text, names or numbers of rows say none, or few by chance; a system chooses among the
    labels, and mostly does even where it fails to answer now and then. What was named may hold answers of any
    kind, as to open questions; but without one label of the truth it is wrong on every item whatever the
    truth, and there is nothing to test.

    Parameters
    ----------
    where : str
        Begins the sentence: the file and column, or the argument.
    said : mapping of str to int
        Items on which it says each value.
    labels : collection of str
        Those of the truth.
    named : bool
        Whether it was named as a system's.
    remedy : str
        Ends the sentence.

    Raises
    ------
    UserError
        If it says no label of the truth, or was not named and says one on fewer than half of the items, or
        holds scores.

    Examples
    --------
    >>> check_system("b", {"ham": 6, "no answer": 4}, ["ham", "spam"], named=False)
    >>> check_system("b", {"ham": 4, "Hi": 6}, ["ham", "yes"], named=False, remedy="no")
    Traceback (most recent call last):
    harness.errors.UserError: b says a label of the truth (ham, yes) on 4 of 10 items, and 'Hi' on another; no
    """
    strange = sorted(said.keys() - set(labels))
    if not strange:
        return
    shown = ", ".join(sorted(labels)[:5]) + (", ..." if len(labels) > 5 else "")
    if are_scores(strange, labels, named):
        score = next(value for value in strange if not is_whole(value))
        if set(labels) <= {"0", "1"}:
            remedy = f"threshold=NUMBER turns them into decisions, {remedy}"
        raise UserError(f"{where} holds scores, such as {score}, where the truth is {shown}; {remedy}")
    total = sum(said.values())
    known = total - sum(said[value] for value in strange)
    if known == 0 or (not named and 2 * known < total):
        raise UserError(
            f"{where} says a label of the truth ({shown}) on {known:,} of {total:,} items, "
            f"and {strange[0][:40]!r} on another; {remedy}"
        )


def are_scores(strange: Collection[str], labels: Collection[str], named: bool = True) -> bool:
    """Return whether values beside labels that are whole numbers are probabilities or other scores."""
    if not all(map(is_whole, labels)) or not all(map(is_number, strange)):
        return False
    broken = [value for value in strange if not is_whole(value)]
    if not broken:
        return False
    if len(labels) == 2 or len(broken) > max(20, 10 * len(labels)):
        return True
    return not named and all(0 < float(value) < 1 for value in broken)


def is_whole(text: str) -> bool:
    """Return whether a label is a whole number, as 1 or -1."""
    return text.removeprefix("-").isdigit()


def is_number(text: str) -> bool:
    """Return whether a label is a finite number."""
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False


def check_missing(path: Path, part: DataFrame, n_before: int, unit: str = "item") -> None:
    """Refuse a table in which a value is missing; `n_before` rows, each a `unit`, stand before it."""
    missing = part.isna().to_numpy()
    if missing.any():
        row, column = (int(place) for place in np.argwhere(missing)[0])
        raise UserError(
            f"predictions={path}: {unit} {n_before + row + 1} has no value in column "
            f"{part.columns[column]!r}; every {unit} needs the truth and a prediction of every system"
        )


def decide_scores(path: Path, part: DataFrame, systems: Sequence[str], threshold: float) -> DataFrame:
    """Return the table with 1 for scores of at least `threshold` and 0 for others, as text."""
    import pandas as pd

    part = part.copy()
    for name in systems:
        scores = pd.to_numeric(part[name], errors="coerce")
        if scores.isna().any():
            bad = part[name][scores.isna()].iloc[0]
            raise UserError(f"predictions={path}: column {name!r} holds {bad!r}; threshold= needs numbers")
        part[name] = np.where(scores >= threshold, "1", "0")
    return part


def add_ids(names: Series[Any], hashes: list[NDArray[np.uint64]]) -> None:
    """Keep the hashes of the next items' ids, of the first ten million."""
    from pandas.util import hash_array

    if sum(map(len, hashes)) < MOST_IDS:
        hashes.append(hash_array(names.astype(str).to_numpy(dtype=object), categorize=False))


def check_repeated(path: Path, column: str | None, hashes: Sequence[NDArray[np.uint64]]) -> None:
    """Refuse a file in which an id comes twice.

    Parameters
    ----------
    path : Path
    column : str or None
        Of the ids.
    hashes : sequence of uint64 array
        From :func:`add_ids`.
    """
    if not hashes:
        return
    every = np.concatenate(hashes)
    ordered = np.sort(every)
    if not (ordered[1:] == ordered[:-1]).any():
        return
    order = np.argsort(every, kind="stable")
    same = np.flatnonzero(every[order[1:]] == every[order[:-1]])
    place = same[np.argmin(order[same + 1])]
    raise UserError(
        f"predictions={path}: items {order[place] + 1} and {order[place + 1] + 1} have the same {column}; "
        "each is allowed once"
    )
