"""Tables in CSV, TSV, JSON Lines, JSON arrays and Parquet, read some rows at a time as columns of text."""

from __future__ import annotations

import csv
import io
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from harness.corpora.opening import open_checked
from harness.errors import UserError
from harness.tables.labels import Values, is_whole, plain_label
from harness.tables.objects import MAX_RATIO, read_objects

Part = Mapping[str, Values]
"""Some rows: of each column the values, text or None."""

CELLS_AT_ONCE = 400_000
MOST_ROWS = 200_000_000
LONGEST_NAME = 500
"""Characters of a column's name: a figure has no room for more, and drawing it takes minutes."""
ENDINGS = {
    ".csv": "csv", ".tsv": "tsv", ".parquet": "parquet", ".jsonl": "json", ".ndjson": "json", ".json": "json",
}  # fmt: skip
PACKED = (".gz", ".bz2", ".xz")
UNNAMED = ("", "Unnamed: 0", "__index_level_0__")  # the last two are pandas' names of a column without one


class Table(NamedTuple):
    """A file that was begun.

    Attributes
    ----------
    path : Path
    where : str
        Begins every sentence about the file, as in ``predictions=FILE``.
    names : list of str
        Of the columns.
    parts : iterator of Part
        Its rows, to be read once.
    notes : list of str
        What was left out.
    first_row : int
        The number of the first row as a reader of the file counts: a header is row 1.
    """

    path: Path
    where: str
    names: list[str]
    parts: Iterator[Part]
    notes: list[str]
    first_row: int


def open_table(path: str | Path, setting: str) -> Table:
    r"""Begin to read a table; a first column of row numbers that has no name is left out, and noted.

    Parameters
    ----------
    path : str or Path
        A regular file, its format told by its ending: .csv, .tsv, .json, .jsonl, .ndjson (each also .gz, .bz2
        and .xz) or .parquet.
    setting : str
        With which the user named the file.

    Raises
    ------
    UserError
        If there is no such file, its ending is not known, it is not what its ending says, a column has no
        name or the name of another, or (also later) a row has more or fewer fields than the header has names.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "a.csv"
    ...     _ = file.write_text(",y_true, a\n0,x, x\n1,z, x\n")
    ...     table = open_table(file, "predictions")
    ...     print(table.names, [part["a"].values for part in table.parts])
    ['y_true', 'a'] [['x', 'x']]
    >>> table.notes
    ['the first column has no name and holds row numbers; it is left out']
    """
    path = Path(path)
    where = f"{setting}={path}"
    kind = _find_kind(path, where)
    parts = _tell_errors(where, kind, READERS[kind](path, where))
    first = next(parts, {})
    number = next((name for name in first if name in UNNAMED), None)
    notes = []
    if number is not None:
        _check_row_numbers(where, first[number].values)
        notes.append("the first column has no name and holds row numbers; it is left out")
    named = [name for name in first if name != number]
    every = itertools.chain([first], parts)
    parts = ({name: part[name] for name in named} for part in every) if named else iter(())
    return Table(path, where, named, parts, notes, 2 if kind in ("csv", "tsv") else 1)


def _find_kind(path: Path, where: str) -> str:
    if not path.exists():
        raise UserError(f"{where}: there is no such file; a table is needed")
    if not path.is_file():  # a pipe would block, a device might never end
        raise UserError(f"{where}: it is no regular file; a table is needed")
    endings = [ending.lower() for ending in path.suffixes]
    packed = endings[-1:] and endings[-1] in PACKED
    ending = (["", *endings[:-1]] if packed else ["", *endings])[-1]
    kind = ENDINGS.get(ending)
    if kind is None or (packed and kind == "parquet"):
        raise UserError(
            f"{where}: the name's ending is not known; .csv, .tsv, .json, .jsonl, each also .gz, .bz2 or "
            ".xz, and .parquet are"
        )
    return kind


def _tell_errors(where: str, kind: str, parts: Iterator[Part]) -> Iterator[Part]:
    """Yield the parts; turn a reader's exceptions into sentences."""
    n_rows = 0
    try:
        for part in parts:
            n_rows += len(next(iter(part.values())).values) if part else 0
            if n_rows > MOST_ROWS:
                raise UserError(f"{where}: it has more than {MOST_ROWS:,} rows; fewer are needed")
            yield part
    except UserError:
        raise
    except ImportError as error:
        raise UserError(f"{where}: reading Parquet needs pyarrow; pip install pyarrow") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{where}: it is not text in UTF-8 ({error.reason}); save it as UTF-8") from error
    except (ValueError, OSError, LookupError, NotImplementedError, csv.Error) as error:  # pyarrow's too
        reason = " ".join(str(error).split())[:200]
        raise UserError(f"{where}: it cannot be read as {kind} ({reason})") from error


def _check_names(where: str, names: Sequence[str]) -> list[str]:
    """Return the names without blanks around; refuse a name that comes twice, and a column without."""
    plain = [" ".join(name.split()) for name in names]
    for place, name in enumerate(plain):
        if name in plain[:place]:
            raise UserError(f"{where}: two columns are named {name!r}; names must differ")
        if not name and place:
            raise UserError(f"{where}: column {place + 1} has no name; every column but the first needs one")
        if "\0" in name:
            raise UserError(f"{where}: its names hold bytes that are 0; text in UTF-8 is needed")
        if len(name) > LONGEST_NAME:
            raise UserError(
                f"{where}: column {place + 1} has a name of {len(name):,} characters; {LONGEST_NAME} are "
                "allowed"
            )
    return plain


def _check_row_numbers(where: str, values: Sequence[Any]) -> None:
    """Refuse a column without a name that is no row number: whole numbers, all different or in order."""
    labels = [plain_label(str(value)) for value in values]
    if all(map(is_whole, labels)):
        numbers = [int(label[:18]) for label in labels]
        n_steps = sum(b - a == 1 for a, b in itertools.pairwise(numbers))
        if len(set(numbers)) == len(numbers) or 2 * n_steps >= len(numbers):
            return
    raise UserError(
        f"{where}: the first column has no name, and does not hold the numbers of rows; give it a name"
    )


def _read_text(delimiter: str) -> Callable[[Path, str], Iterator[Part]]:
    """Return the reader of a table of text."""

    def read(path: Path, where: str) -> Iterator[Part]:
        with _fields(path, delimiter) as rows:
            header = next(filter(None, rows), None)
            if header is None:
                raise UserError(f"{where}: it is empty; a header and rows are needed")
            names = _check_names(where, header)
            sign = next((sign for sign in ",;\t" if sign in header[0]), None)
            if len(names) == 1 and sign is not None:
                raise UserError(
                    f"{where}: its header is one field, {names[0][:40]!r}; fields between "
                    f"{delimiter!r} are needed, not {sign!r}"
                )
            values = itertools.chain.from_iterable(_checked(where, rows, header))
            empty = True
            while found := list(itertools.islice(values, _rows_at_once(names) * len(names))):
                empty = False
                yield {name: Values(found[place :: len(names)]) for place, name in enumerate(names)}
            if empty:
                yield {name: Values([]) for name in names}

    return read


class _fields:
    """The rows of a table of text, as a context that closes the file."""

    def __init__(self, path: Path, delimiter: str):
        raw = open_checked(path, max_ratio=MAX_RATIO)
        self._stream = io.TextIOWrapper(raw, "utf-8-sig", newline="")
        self._delimiter = delimiter

    def __enter__(self) -> Any:
        return csv.reader(self._stream, delimiter=self._delimiter, skipinitialspace=True, strict=True)

    def __exit__(self, *_: object) -> None:
        self._stream.close()


def _checked(where: str, rows: Any, header: list[str]) -> Iterator[list[str]]:
    """Yield the rows that are not blank; refuse one with more or fewer fields than the header has names."""
    n_names = len(header)
    for row in rows:
        if row == header:
            raise UserError(
                f"{where}: line {rows.line_num} is the header again; tables that were joined need it once"
            )
        if len(row) == n_names:
            if "\0" in "".join(row):
                raise UserError(
                    f"{where}: line {rows.line_num} holds bytes that are 0; text in UTF-8 is needed"
                )
            yield row
        elif len(row) > 1 or "".join(row).strip():
            raise UserError(
                f"{where}: line {rows.line_num} has {len(row)} field{'s' * (len(row) > 1)} where the header "
                f"names {n_names} column{'s' * (n_names > 1)}; one field for each name is needed"
            )


def _rows_at_once(names: Sequence[str]) -> int:
    return max(1, CELLS_AT_ONCE // max(1, len(names)))


def _read_json(path: Path, where: str) -> Iterator[Part]:
    """Yield the next objects as columns; those of the first object are the file's."""
    objects = read_objects(path, where, numbers_as_text=True)
    first = next(objects, None)
    if first is None:
        raise UserError(f"{where}: it holds no item; at least one row is needed")
    if first[1] and all(isinstance(value, list | dict) for value in first[1].values()):
        raise UserError(f"{where}: {first[0]} holds columns; an object for each item is needed")
    names = list(first[1])
    plain = _check_names(where, names)
    _flat(names)
    objects = itertools.chain([first], objects)
    while found := list(itertools.islice(objects, max(1, CELLS_AT_ONCE // max(1, len(names))))):
        for place, row in found:
            if len(row) != len(names) or row.keys() != first[1].keys():
                more = next((name for name in row if name not in first[1]), None)
                if more is not None:
                    raise UserError(
                        f"{where}: {place} has {more[:40]!r}, which {first[0]} has not; the first names "
                        "every column"
                    )
        yield {own: _flat(row.get(name) for _, row in found) for own, name in zip(plain, names, strict=True)}


def _flat(values: Iterable[Any]) -> Values:
    """Return the values of a key; refuse half signs, which JSON can write and no file can hold."""
    found = [json.dumps(value) if isinstance(value, list | dict) else value for value in values]
    "".join(value for value in found if isinstance(value, str)).encode()
    return Values(found)


def _read_parquet(path: Path, where: str) -> Iterator[Part]:
    import pyarrow.parquet

    with pyarrow.parquet.ParquetFile(path) as file:
        names = _check_names(where, file.schema_arrow.names)
        groups = (file.metadata.row_group(i) for i in range(file.metadata.num_row_groups))
        if sum(group.total_byte_size for group in groups) > MAX_RATIO * path.stat().st_size:
            raise UserError(f"{where}: it expands beyond {MAX_RATIO:,} times its size; no table does")
        if not file.metadata.num_rows:
            yield {name: Values([]) for name in names}
        for batch in file.iter_batches(_rows_at_once(names)):
            yield {
                name: Values(_arrow_text(column)) for name, column in zip(names, batch.columns, strict=True)
            }


def _arrow_text(column: Any) -> list[Any]:
    """Return a column of Arrow as text, None where it is null or NaN."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), None, column)
    try:
        return list(column.cast(pa.string()).to_pylist())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return [None if value is None else str(value) for value in column.to_pylist()]


READERS: Mapping[str, Callable[[Path, str], Iterator[Part]]] = {
    "csv": _read_text(","),
    "tsv": _read_text("\t"),
    "json": _read_json,
    "parquet": _read_parquet,
}
