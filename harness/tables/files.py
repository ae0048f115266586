"""Tables in CSV, TSV, JSON Lines, JSON arrays and Parquet, read some rows at a time as columns of text."""

import csv
import functools
import io
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from harness.corpora.opening import open_checked
from harness.errors import UserError, refusal
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
    """An open file: its columns' names, its rows in parts, to be read once, and notes on what is left out.

    `where` begins every sentence about the file, as in ``predictions=FILE``. `first_row` is the number of the
    first row as a reader of the file counts: a header is row 1.
    """

    path: Path
    where: str
    names: list[str]
    parts: Iterator[Part]
    notes: list[str]
    first_row: int


def open_table(path: str | Path, setting: str) -> Table:
    r"""Begin to read a table; a first column of row numbers that has no name is left out, and noted.

    The format is that of the ending: .csv, .tsv, .json, .jsonl, .ndjson (each also .gz, .bz2 and .xz) or
    .parquet. `setting` is the one with which the user named the file. A UserError, also later while the rows
    are read, says what is wrong with it.

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
    if not path.is_file():  # a pipe would block, a device might never end
        missing = "it is no regular file" if path.exists() else "there is no such file"
        raise refusal("tables.no_file", where=where, missing=missing)
    *endings, last = ["", *(ending.lower() for ending in path.suffixes)]
    kind = ENDINGS.get(endings[-1] if last in PACKED else last)
    if kind is None or (last in PACKED and kind == "parquet"):
        raise refusal("tables.ending", where=where)
    return kind


def _tell_errors(where: str, kind: str, parts: Iterator[Part]) -> Iterator[Part]:
    """Yield the parts; turn a reader's exceptions into sentences."""
    n_rows = 0
    try:
        for part in parts:
            n_rows += len(next(iter(part.values())).values) if part else 0
            if n_rows > MOST_ROWS:
                raise refusal("tables.many_rows", where=where, most=MOST_ROWS)
            yield part
    except UserError:
        raise
    except ImportError as error:
        raise refusal("tables.no_pyarrow", where=where) from error
    except UnicodeDecodeError as error:
        raise refusal("tables.no_text", where=where, reason=error.reason) from error
    except (ValueError, OSError, LookupError, NotImplementedError, csv.Error) as error:  # pyarrow's too
        reason = " ".join(str(error).split())[:200]
        raise refusal("tables.unreadable", where=where, kind=kind, reason=reason) from error


def _check_names(where: str, names: Sequence[str]) -> list[str]:
    """Return the names without blanks around; refuse a name that comes twice, and a column without."""
    plain = [" ".join(name.split()) for name in names]
    for number, name in enumerate(plain, 1):
        if name in plain[: number - 1]:
            raise refusal("tables.same_names", where=where, name=name)
        if not name and number > 1:
            raise refusal("tables.no_name", where=where, number=number)
        if "\0" in name:
            raise refusal("tables.zero_bytes", where=where)
        if len(name) > LONGEST_NAME:
            raise refusal("tables.long_name", where=where, number=number, n=len(name), most=LONGEST_NAME)
    return plain


def _check_row_numbers(where: str, values: Sequence[Any]) -> None:
    """Refuse a column without a name that is no row number: whole numbers, all different or in order."""
    labels = [plain_label(str(value)) for value in values]
    if all(map(is_whole, labels)):
        numbers = [int(label[:18]) for label in labels]
        n_steps = sum(b - a == 1 for a, b in itertools.pairwise(numbers))
        if len(set(numbers)) == len(numbers) or 2 * n_steps >= len(numbers):
            return
    raise refusal("tables.no_row_numbers", where=where)


def _read_text(path: Path, where: str, delimiter: str) -> Iterator[Part]:
    """Yield the next rows of a table of text as columns."""
    raw = open_checked(path, max_ratio=MAX_RATIO)
    with io.TextIOWrapper(raw, "utf-8-sig", newline="") as stream:
        rows = csv.reader(stream, delimiter=delimiter, skipinitialspace=True, strict=True)
        header = next(filter(None, rows), None)
        if header is None:
            raise refusal("tables.empty", where=where)
        names = _check_names(where, header)
        sign = next((sign for sign in ",;\t" if sign in header[0]), None)
        if len(names) == 1 and sign is not None:
            told = {"name": names[0][:40], "delimiter": delimiter, "sign": sign}
            raise refusal("tables.one_field", where=where, **told)
        values = itertools.chain.from_iterable(_checked(where, rows, header))
        size = _rows_at_once(names) * len(names)
        chunks = iter(lambda: list(itertools.islice(values, size)), [])
        for found in itertools.chain([next(chunks, [])], chunks):  # of a table without rows the columns
            yield {name: Values(found[place :: len(names)]) for place, name in enumerate(names)}


def _checked(where: str, rows: Any, header: list[str]) -> Iterator[list[str]]:
    """Yield the rows that are not blank; refuse one with more or fewer fields than the header has names."""
    n_names = len(header)
    for row in rows:
        fault = None
        if row == header:
            fault = "is the header again; tables that were joined need it once"
        elif len(row) != n_names and (len(row) > 1 or "".join(row).strip()):
            fields, columns = f"field{'s' * (len(row) > 1)}", f"column{'s' * (n_names > 1)}"
            found = f"has {len(row)} {fields} where the header names {n_names} {columns}"
            fault = f"{found}; one field for each name is needed"
        elif "\0" in "".join(row):
            fault = "holds bytes that are 0; text in UTF-8 is needed"
        if fault is not None:
            raise refusal("tables.line", where=where, number=rows.line_num, said=fault)
        if len(row) == n_names:
            yield row


def _rows_at_once(names: Sequence[str]) -> int:
    return max(1, CELLS_AT_ONCE // max(1, len(names)))


def _read_json(path: Path, where: str) -> Iterator[Part]:
    """Yield the next objects as columns; those of the first object are the file's."""
    objects = read_objects(path, where, numbers_as_text=True)
    first = next(objects, None)
    if first is None:
        raise refusal("tables.no_item", where=where)
    if first[1] and all(isinstance(value, list | dict) for value in first[1].values()):
        raise refusal("tables.columns", where=where, place=first[0])
    names = list(first[1])
    plain = _check_names(where, names)
    _flat(names)
    objects = itertools.chain([first], objects)
    while found := list(itertools.islice(objects, _rows_at_once(names))):
        for place, row in found:
            if not row.keys() <= first[1].keys():
                more = next(name for name in row if name not in first[1])
                raise refusal("tables.more_names", where=where, place=place, name=more[:40], first=first[0])
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
            raise refusal("tables.expands", where=where, most=MAX_RATIO)
        if not file.metadata.num_rows:
            yield {name: Values([]) for name in names}
        for batch in file.iter_batches(_rows_at_once(names)):
            columns = zip(names, batch.columns, strict=True)
            yield {name: Values(_arrow_text(column)) for name, column in columns}


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
    "csv": functools.partial(_read_text, delimiter=","),
    "tsv": functools.partial(_read_text, delimiter="\t"),
    "json": _read_json,
    "parquet": _read_parquet,
}
