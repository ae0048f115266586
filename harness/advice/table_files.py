"""Files of predictions read some rows at a time, as tables of text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
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
    except (ValueError, OSError, UnicodeError, LookupError) as error:  # pandas' and pyarrow's are of these
        reason = " ".join(str(error).split())[:200]
        raise UserError(f"predictions={path}: it cannot be read as {kind} ({reason})") from error


def read_columns(path: Path) -> list[str]:
    """Return the names of a file's columns."""
    frame = next(iter(read_frames(path)), None)
    return [] if frame is None else [str(column) for column in frame.columns]


def _readers() -> Mapping[str, Any]:
    import pandas as pd

    def text(separator: str) -> Any:
        def read(path: Path) -> Iterable[DataFrame]:
            return pd.read_csv(
                path, sep=separator, dtype=str, keep_default_na=False, na_values=["", "NaN", "nan", "NA"],
                chunksize=ROWS_AT_ONCE,
            )  # fmt: skip

        return read

    def json_lines(path: Path) -> Iterable[DataFrame]:
        return pd.read_json(path, lines=True, dtype=False, chunksize=ROWS_AT_ONCE)

    def parquet(path: Path) -> Iterator[DataFrame]:
        import pyarrow.parquet

        with pyarrow.parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(ROWS_AT_ONCE):
                yield batch.to_pandas()

    return {"csv": text(","), "tsv": text("\t"), "jsonl": json_lines, "parquet": parquet}


def check_missing(path: Path, part: DataFrame, n_before: int) -> None:
    """Refuse a table in which a value is missing; `n_before` rows of the file stand before it."""
    missing = part.isna().to_numpy()
    if missing.any():
        row, column = (int(place) for place in np.argwhere(missing)[0])
        raise UserError(
            f"predictions={path}: item {n_before + row + 1} has no value in column {part.columns[column]!r}; "
            "every item needs the truth and a prediction of every system"
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
