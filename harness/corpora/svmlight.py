"""Any multi-label svmlight/LIBSVM file."""

import codecs
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from harness.corpora.corpus import Corpus, csr, ids_as_text, note_empty
from harness.corpora.opening import read_lines, shorten
from harness.corpora.rows import NUMBER, Entries, SparseRows, fill, parse_lines
from harness.errors import UserError, check_choice, check_whole, require

VALUES = ("counts", "weights")
MAX_TERMS = 10_000_000
Labels = list[tuple[float, ...]]
Names = Sequence[str] | Mapping[int, str] | None
_HEADER = re.compile(rb"[0-9]{1,12} [0-9]{1,12} [0-9]{1,12}")
_CONTENT = re.compile(
    rb"(?:([^: ]++)(?: |\Z))?(?:qid:\S*+(?: |\Z))?((?:\d{1,10}:[+-]?+" + NUMBER + rb"(?: |\Z))*+)"
)
_FORM = "'label,label index:value index:value ...' with increasing indices and finite values >= 0"


def load_svmlight(
    path: str | Path | Sequence[str | Path],
    values: str = "counts",
    topic_names: Names = None,
    n_terms: int | None = None,
    zero_based: bool | str = "auto",
) -> Corpus:
    r"""Load svmlight/LIBSVM files, single- or multi-label, plain, .gz, .bz2 or .xz.

    A line is ``1,3,7 index:value index:value ...``: the labels, then the terms in increasing order. A line
    that begins with a term has no label; what follows ``#`` is a comment; a ``qid:`` is passed over. A blank
    line between documents is a document without labels and terms; blank lines at the end, or before the first
    document, are none. A first line of three whole numbers is the header of extreme classification:
    documents, terms, labels; then blank lines at the end count up to that number.

    `path` is a file, files that are joined in the given order, or a folder whose files (all but hidden ones)
    are joined in the order of their names. `topic_names` are those of the labels that occur, ascending, or by
    label. `n_terms` is the number of columns (default: the terms that occur); `zero_based` tells whether
    index 0 is the first of them ("auto": where it occurs). Labels are whole numbers >= 0, a topic each; where
    every line has one label, and all are among -1 and +1 or among 0 and 1, the one topic is "positive".

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "a.svm"
    ...     _ = file.write_text("0,2 1:3 7:1\n2 1:1\n 7:2\n")
    ...     corpus = load_svmlight(file)
    >>> corpus.topic_names, corpus.term_names.tolist(), corpus.terms.toarray().tolist()
    (('0', '2'), ['1', '7'], [[3.0, 1.0], [1.0, 0.0], [0.0, 2.0]])
    """
    check_choice("corpus.values", values, VALUES, UserError)
    check_choice("corpus.zero_based", zero_based, (True, False, "auto"), UserError)
    if n_terms is not None:
        check_whole("corpus.n_terms", n_terms, 1, MAX_TERMS, UserError)
    labels: Labels = []
    lines: list[int] = []
    rows, files = SparseRows(), _files(path)

    def read(file: Path) -> None:
        header: list[int] = []
        first, largest = len(rows), -1
        for numbers, entries in parse_lines(file, _documents(file, labels, header)):
            _check_entries(file, numbers, entries, values, zero_based is False)
            lines.extend(numbers)
            rows.extend(entries)
            largest = max(largest, int(entries.columns.max(initial=-1)))
        if header:
            n_labels = max((label for row in labels[first:] for label in row), default=-1) + 1
            _check_header(file, header, (len(rows) - first, largest + 1, n_labels))

    ends = fill(rows, files, read)
    terms, term_names = _columns(rows, n_terms, zero_based)

    def place(row: int) -> str:
        return f"{files[int(np.searchsorted(ends, row, side='right'))]}, line {lines[row]}"

    n_entries = np.diff(terms.indptr)
    terms.eliminate_zeros()
    one_each = all(len(row) == 1 for row, n in zip(labels, n_entries, strict=True) if row or n)
    distinct = sorted({label for row in labels for label in row})
    carried = _topics(labels, distinct)
    if one_each and (set(distinct) <= {-1, 1} or set(distinct) <= {0, 1}):
        topics = sparse.csr_array(np.array([[max(row, default=0) > 0] for row in labels], dtype=np.uint8))
        names = ("positive",) if topic_names is None else _names([1], topic_names)
    else:
        wrong = [label for label in distinct if not (0 <= label < 2**53 and label == np.floor(label))]
        if wrong:
            row, label = next((i, x) for i, row in enumerate(labels) for x in row if x in wrong or x != x)
            allowed = "labels are whole numbers >= 0, or -1 and +1 where each line has one"
            raise UserError(f"{place(row)}: label {label:g} is not allowed; {allowed}")
        topics, names = carried, _names([int(label) for label in distinct], topic_names)
    ids, notes = ids_as_text(np.arange(1, len(labels) + 1)), note_empty(terms, carried)
    return Corpus("svmlight", terms, topics, ids, term_names, names, values=values, notes=notes)


def _files(path: str | Path | Sequence[str | Path]) -> list[Path]:
    """Return the files that `path` means."""
    if isinstance(path, str | Path) and not Path(path).is_dir():
        return [Path(path)]
    if isinstance(path, str | Path):
        path = sorted(file for file in Path(path).iterdir() if file.is_file() and file.name[0] != ".")
    files = [Path(file) for file in path]
    require(files, f"corpus.path={path}: holds no file; at least one is needed", UserError)
    return files


def _check_entries(file: Path, numbers: list[int], entries: Entries, values: str, from_one: bool) -> None:
    """Refuse what `values`, or indices that begin at 1, do not allow."""
    n_entries, columns, weights = entries
    bad, wanted = weights < 0, "finite values >= 0 are allowed"
    if values == "counts" and not bad.any():
        bad = weights != np.floor(weights)
        wanted = "with corpus.values=counts whole numbers are allowed (else choose corpus.values=weights)"
    if from_one and not bad.any():
        bad, wanted = columns == 0, "with corpus.zero_based=false indices begin at 1"
    if bad.any():
        entry = int(np.argmax(bad))
        line = numbers[int(np.searchsorted(np.cumsum(n_entries), entry, side="right"))]
        found = f"{columns[entry]}:{weights[entry]:g}"
        raise UserError(f"{file}, line {line}: {found} is not allowed; {wanted}")


def _check_header(file: Path, header: list[int], found: tuple[float, ...]) -> None:
    """Refuse what the header belies."""
    for name, n_found, said in zip(("documents", "terms", "labels"), found, header, strict=True):
        if n_found > said or (name == "documents" and n_found < said):
            told = f"its first line says {said:,} {name}, and the lines after it hold {n_found:,.0f}"
            raise UserError(f"{file}: {told}")


def _documents(file: Path, labels: Labels, header: list[int]) -> Iterator[tuple[int, bytes]]:
    """Yield each document's line and terms, blank documents too; `labels` and `header` grow along."""
    first, blank = len(labels), list[int]()  # blank lines are documents if another follows
    for number, line in read_lines(file):
        line = line.removeprefix(codecs.BOM_UTF8 if number == 1 else b"")
        content = b" ".join(line.split(b"#", 1)[0].split())
        begun = header or len(labels) > first
        if content and not begun and _HEADER.fullmatch(content):
            header += map(int, content.split())
        elif content:
            found, terms = _parse(file, number, line, content)
            labels += [*[()] * len(blank), found]
            yield from ((empty, b"") for empty in blank)
            yield number, terms
            blank = []
        elif begun and not line.strip():
            blank.append(number)
    if header:
        blank = blank[: max(0, header[0] - (len(labels) - first))]
        labels += [()] * len(blank)
        yield from ((empty, b"") for empty in blank)


def _parse(file: Path, number: int, line: bytes, content: bytes) -> tuple[tuple[float, ...], bytes]:
    """Return a line's labels, ascending, and its terms as they stand there."""
    match = _CONTENT.fullmatch(content)
    if match is not None:
        labels, terms = match.groups()
        try:
            return tuple(sorted(map(float, labels.split(b",")))) if labels else (), terms
        except ValueError:
            pass
    raise UserError(f"{file}, line {number}: {shorten(line)} is not of the form {_FORM}")


def _columns(
    rows: SparseRows, n_terms: int | None, zero_based: bool | str
) -> tuple[sparse.csr_array, NDArray[np.str_]]:
    """Return the rows on the columns asked for, and these columns' names: the indices."""
    used = np.unique(rows.columns)
    if n_terms is not None:
        largest = int(used.max(initial=-1))
        first = int(zero_based is False or (zero_based == "auto" and used.min(initial=largest) > 0))
        used = np.arange(first, first + n_terms, dtype=np.int32)
        said = f"the files hold index {largest}; indices from {first} to {used[-1]} are allowed"
        require(largest <= used[-1], f"corpus.n_terms={n_terms}: {said}", UserError)
    rows.columns[:] = np.searchsorted(used, rows.columns)
    return rows.matrix(len(used)), used.astype(str)


def _topics(labels: Labels, distinct: list[float]) -> sparse.csr_array:
    """Return documents x distinct labels."""
    column = {label: i for i, label in enumerate(distinct)}
    sets = [sorted({column[label] for label in row}) for row in labels]
    flat = np.array([i for row in sets for i in row], dtype=np.int32)
    starts = np.cumsum([0, *map(len, sets)])
    return csr(np.ones(len(flat), dtype=np.uint8), flat, starts, len(distinct))


def _names(labels: list[int], topic_names: Names) -> tuple[str, ...]:
    """Return the names of the labels, in their order."""
    if topic_names is None:
        return tuple(map(str, labels))
    if isinstance(topic_names, str) or not isinstance(topic_names, Sequence | Mapping):
        raise UserError(f"corpus.topic_names={topic_names!r} is not allowed; a list or label: name pairs are")
    if not isinstance(topic_names, Mapping):
        wrong = f"corpus.topic_names: {len(topic_names)} names for {len(labels)} labels; one for each label "
        wrong += "that occurs is needed, in ascending order of labels"
        require(len(topic_names) == len(labels), wrong, UserError)
        return tuple(map(str, topic_names))
    known = {str(label): str(name) for label, name in topic_names.items()}
    nameless = [label for label in labels if str(label) not in known]
    require(
        not nameless,
        f"corpus.topic_names: label {nameless[0] if nameless else ''} has no name; each needs one",
        UserError,
    )
    return tuple(known[str(label)] for label in labels)
