"""A file of predictions: the truth and what each system said, as distinct rows with their counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.errors import UserError

if TYPE_CHECKING:
    from pandas import DataFrame

ROWS_AT_ONCE = 200_000
MOST_DISTINCT = 2_000_000
TRUTH_NAMES = ("y_true", "label", "truth", "target", "gold")
ITEM_NAMES = ("id", "item", "item_id", "doc_id", "index")
POSITIVE_NAMES = ("1", "1.0", "true", "yes", "pos", "positive")
FORMATS = {".csv": "csv", ".tsv": "tsv", ".parquet": "parquet", ".jsonl": "jsonl", ".ndjson": "jsonl"}


class Predictions(NamedTuple):
    """What a file says.

    Attributes
    ----------
    name : str
        Of the file.
    truth : array of str, shape (n_rows,)
    systems : dict of str to array of str, shape (n_rows,)
        What each system said, in the order of the file.
    n_items : int array, shape (n_rows,)
        Items of each distinct row.
    """

    name: str
    truth: NDArray[Any]
    systems: dict[str, NDArray[Any]]
    n_items: NDArray[np.int64]


def read_predictions(
    path: str | Path,
    truth: str | None = None,
    systems: Sequence[str] | None = None,
    threshold: float | None = None,
) -> Predictions:
    r"""Read a CSV, TSV, Parquet or JSON Lines file with a column of truth and one for each system.

    The file is read some rows at a time, and only distinct rows are kept with their numbers.

    Parameters
    ----------
    path : str or Path
    truth : str, optional
        The column of the truth; where it is not given, one of ``y_true``, ``label``, ``truth``,
        ``target`` and ``gold``.
    systems : sequence of str, optional
        The systems' columns; where they are not given, all others but one of ids.
    threshold : float, optional
        The systems' columns hold scores, and a score of at least this says 1. Then the truth must be 0 and 1.

    Raises
    ------
    UserError
        If the file, a column or a value is missing, there are fewer than two systems, scores stand
        where decisions are needed, or there are too many distinct rows.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "a.csv"
    ...     _ = file.write_text("y_true,svm,mlp\nham,ham,spam\nham,ham,spam\nspam,spam,spam\n")
    ...     found = read_predictions(file)
    >>> found.truth.tolist(), list(found.systems), found.n_items.tolist()
    (['ham', 'spam'], ['svm', 'mlp'], [2, 1])
    """
    path = Path(path)
    kept: dict[tuple[str, ...], int] = {}
    names: tuple[str, tuple[str, ...]] | None = None
    n_before = 0
    for frame in _frames(path):
        names = names or _columns(path, [str(column) for column in frame.columns], truth, systems)
        part = frame[[names[0], *names[1]]]
        _check_missing(path, part, n_before)
        if threshold is not None:
            part = _thresholded(path, part, names[1], float(threshold))
        counted = part.astype(str).value_counts(sort=False)
        for row, number in zip(counted.index.tolist(), counted.tolist(), strict=True):
            kept[row] = kept.get(row, 0) + number
        n_before += len(frame)
        _check_distinct(path, kept, threshold)
    if names is None or not kept:
        raise UserError(f"predictions={path}: it holds no item; at least one row is needed")
    rows = sorted(kept)
    columns = list(zip(*rows, strict=True))
    return Predictions(
        path.name,
        np.array(columns[0], dtype=object),
        {name: np.array(column, dtype=object) for name, column in zip(names[1], columns[1:], strict=True)},
        np.array([kept[row] for row in rows], dtype=np.int64),
    )


def _frames(path: Path) -> Iterator[DataFrame]:
    """Yield the rows of the file as tables of text, some at a time."""
    kind = FORMATS.get(path.suffix.lower())
    if kind is None:
        raise UserError(
            f"predictions={path}: the name's ending is not known; .csv, .tsv, .parquet and .jsonl are"
        )
    if not path.is_file():
        raise UserError(f"predictions={path}: there is no such file; a table of predictions is needed")
    try:
        yield from _readers()[kind](path)
    except UserError:
        raise
    except ImportError as error:
        raise UserError(f"predictions={path}: reading Parquet needs pyarrow; pip install pyarrow") from error
    except (ValueError, OSError, UnicodeError, LookupError) as error:  # pandas' and pyarrow's are of these
        reason = " ".join(str(error).split())[:200]
        raise UserError(f"predictions={path}: it cannot be read as {kind} ({reason})") from error


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


def _columns(
    path: Path, columns: list[str], truth: str | None, systems: Sequence[str] | None
) -> tuple[str, tuple[str, ...]]:
    """Return the names of the truth's column and of the systems'."""
    shown = ", ".join(columns[:20])
    twice = sorted({name for name in columns if columns.count(name) > 1})
    if twice:
        raise UserError(f"predictions={path}: two columns are named {twice[0]!r}; names must differ")
    if truth is None:
        plain = [name for name in TRUTH_NAMES if name in columns]
        if not plain:
            raise UserError(
                f"predictions={path}: no column is named {', '.join(TRUTH_NAMES)}; truth_column=COLUMN names "
                f"it, one of {shown}"
            )
        truth = plain[0]
    chosen = (
        [name for name in columns if name != truth and name not in ITEM_NAMES]
        if systems is None
        else [str(name) for name in systems]
    )
    for name in [truth, *chosen]:
        if name not in columns:
            raise UserError(f"predictions={path}: there is no column {name!r}; it has {shown}")
    if len(chosen) < 2 or len(set(chosen)) < len(chosen) or truth in chosen:
        raise UserError(
            f"predictions={path}: the systems are {', '.join(chosen) or 'none'}; at least two different "
            "columns beside the truth are needed"
        )
    return truth, tuple(chosen)


def _check_missing(path: Path, part: DataFrame, n_before: int) -> None:
    missing = part.isna().to_numpy()
    if missing.any():
        row, column = (int(place) for place in np.argwhere(missing)[0])
        raise UserError(
            f"predictions={path}: item {n_before + row + 1} has no value in column {part.columns[column]!r}; "
            "every item needs the truth and a prediction of every system"
        )


def _thresholded(path: Path, part: DataFrame, systems: Sequence[str], threshold: float) -> DataFrame:
    import pandas as pd

    part = part.copy()
    for name in systems:
        scores = pd.to_numeric(part[name], errors="coerce")
        if scores.isna().any():
            bad = part[name][scores.isna()].iloc[0]
            raise UserError(f"predictions={path}: column {name!r} holds {bad!r}; threshold= needs numbers")
        part[name] = np.where(scores >= threshold, "1", "0")
    return part


def _check_distinct(path: Path, kept: Mapping[tuple[str, ...], int], threshold: float | None) -> None:
    """Refuse scores where decisions are needed: hundreds of different values, none of them a label."""
    if len(kept) > MOST_DISTINCT:
        raise UserError(
            f"predictions={path}: more than {MOST_DISTINCT:,} different rows; labels are needed, few of them"
        )
    if threshold is not None:
        return
    truths = {row[0] for row in kept}
    said = {value for row in kept for value in row[1:]}
    if len(said - truths) > 20 and len(said) > 10 * len(truths) and all(map(_is_number, said)):
        raise UserError(
            f"predictions={path}: the systems' columns hold scores, such as {min(said - truths)}; "
            "threshold=NUMBER turns them into decisions"
        )


def _is_number(text: str) -> bool:
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False


class Outcomes(NamedTuple):
    """Truth and decisions as yes and no, a row for each distinct row of the file."""

    truth: NDArray[np.bool_]
    decisions: dict[str, NDArray[np.bool_]]
    n_items: NDArray[np.int64]
    about: str

    def cells(self, a: str, b: str) -> NDArray[np.int64]:
        """Return the eight counts e1..e8 of a pair of systems."""
        code = 4 * ~self.truth + 2 * ~self.decisions[b] + 1 * ~self.decisions[a]
        return np.bincount(code, weights=self.n_items, minlength=8).astype(np.int64)


def as_outcomes(predictions: Predictions, measure: str, positive: object = None) -> Outcomes:
    """Turn labels into yes and no: the positive label or not; for the error alone, right or wrong.

    Parameters
    ----------
    predictions : Predictions
    measure : str
        For ``"error"`` any number of labels will do.
    positive : object, optional
        The positive label, compared as text; where it is not given, one of 1, true, yes, pos, positive.

    Raises
    ------
    UserError
        If there is one label only, `positive` is none of the labels, or is needed and not plain.

    Examples
    --------
    >>> table = Predictions("x", np.array(["a", "b"], object), {"s": np.array(["a", "a"], object),
    ...                     "t": np.array(["b", "b"], object)}, np.array([3, 2]))
    >>> as_outcomes(table, "error").cells("s", "t").tolist()
    [0, 2, 3, 0, 0, 0, 0, 0]
    """
    labels = sorted(set(predictions.truth))
    if len(labels) < 2:
        raise UserError(
            f"predictions={predictions.name}: every item's truth is {labels[0]!r}; two labels are needed"
        )
    if positive is None:
        plain = [name for name in labels if name.lower() in POSITIVE_NAMES]
        if len(labels) == 2 and len(plain) == 1:
            positive = plain[0]
        elif measure == "error":
            right = {name: said == predictions.truth for name, said in predictions.systems.items()}
            everywhere = np.ones(len(predictions.truth), dtype=bool)
            return Outcomes(everywhere, right, predictions.n_items, f"{len(labels)} labels, right or wrong")
        else:
            raise UserError(
                f"positive: which label is positive is not plain for measure={measure}; name one of "
                f"{', '.join(labels[:20])}, or take measure=error"
            )
    wanted = str(positive)
    if wanted not in labels:
        raise UserError(f"positive: {wanted!r} is no label of the truth; {', '.join(labels[:20])} are")
    if len(labels) == 2:
        strange = sorted({str(v) for said in predictions.systems.values() for v in said} - set(labels))
        if strange:
            raise UserError(
                f"predictions={predictions.name}: a system says {strange[0]!r}; the truth knows only "
                f"{' and '.join(labels)}"
            )
    decisions = {name: said == wanted for name, said in predictions.systems.items()}
    return Outcomes(predictions.truth == wanted, decisions, predictions.n_items, f"positive label {wanted!r}")
