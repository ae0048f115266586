"""Any multi-label svmlight/LIBSVM file."""

import codecs
import io
import re
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from harness.corpora.corpus import Corpus, check_corpus
from harness.corpora.opening import open_checked, shorten
from harness.errors import UserError

VALUES = ("counts", "weights")
MAX_TERMS = 10_000_000
Labels = list[tuple[float, ...]]
_HEADER = re.compile(rb"[0-9]{1,12}[ \t]+[0-9]{1,12}[ \t]+[0-9]{1,12}")


def load_svmlight(
    path: str | Path | Sequence[str | Path],
    values: str = "counts",
    topic_names: Sequence[str] | Mapping[int, str] | None = None,
    n_terms: int | None = None,
    zero_based: bool | str = "auto",
) -> Corpus:
    r"""Load svmlight/LIBSVM files, single- or multi-label, plain, .gz, .bz2 or .xz.

    A line is ``1,3,7 index:value index:value ...``: the labels, then the terms in increasing order. A line
    that begins with a term has no label; what follows ``#`` is a comment; a ``qid:`` is passed over. A blank
    line between documents is a document without labels and terms; blank lines at the end, or before the first
    document, are none. A first line of three whole numbers is the header of extreme classification:
    documents, terms, labels; then blank lines at the end count up to that number.

    Parameters
    ----------
    path : str, pathlib.Path or a sequence of them
        A file, files that are joined in the given order, or a folder whose files (all but hidden ones) are
        joined in the order of their names.
    values : {"counts", "weights"}
        What the values are: whole term counts, or weights (used as they are).
    topic_names : sequence of str, or mapping of label to str, optional
        Names of the labels that occur, in ascending order of labels, or by label; default the label itself.
    n_terms : int, optional
        Number of columns; default: the terms that occur are the columns.
    zero_based : bool or "auto"
        Whether the first index is 0; "auto": it is 0 if index 0 occurs. Matters with `n_terms` only, since
        terms are named by their index as it stands in the file.

    Returns
    -------
    Corpus
        Labels are whole numbers >= 0, a topic each. Where every line that is not blank has one label, and all
        are among -1 and +1 or among 0 and 1, the corpus has a single topic, "positive". Documents are
        numbered from 1.

    Raises
    ------
    UserError
        For a missing, truncated or damaged file, a line of another form, a negative, infinite or missing
        value, a fractional count, an unusable label (all with file and line), an index beyond `n_terms`, or
        another number of documents, terms or labels than the header says.

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
    if values not in VALUES:
        raise UserError(f"corpus.values={values!r} is not allowed; choose one of {', '.join(VALUES)}")
    if zero_based not in (True, False, "auto"):
        raise UserError(f"corpus.zero_based={zero_based!r} is not allowed; choose one of true, false, auto")
    if n_terms is not None and (type(n_terms) is not int or not 1 <= n_terms <= MAX_TERMS):
        raise UserError(
            f"corpus.n_terms={n_terms!r} is not allowed; whole numbers from 1 to {MAX_TERMS:,} are"
        )
    parts = [_read(file, values, zero_based is False) for file in _files(path)]
    labels = [label for part in parts for label in part.labels]
    indices = np.concatenate([part.terms.indices for part in parts])
    terms, term_names = _columns(parts, indices, n_terms, zero_based)
    topics, names = _topics(parts, labels, topic_names)
    corpus = Corpus(
        name="svmlight",
        terms=terms,
        topics=topics,
        document_ids=np.arange(1, len(labels) + 1).astype(str),
        term_names=term_names,
        topic_names=names,
        values=values,
        notes=_remarks(labels, int((np.diff(terms.indptr) == 0).sum())),
    )
    return check_corpus(corpus)


class _Part(NamedTuple):
    """One file: its rows as they stand there."""

    file: Path
    terms: sparse.csr_array
    labels: Labels
    lines: NDArray[np.int64]
    blank: NDArray[np.bool_]


def _files(path: str | Path | Sequence[str | Path]) -> list[Path]:
    """Return the files that `path` means."""
    if not isinstance(path, str | Path):
        if len(path) == 0:
            raise UserError("corpus.path is an empty list; at least one file is needed")
        return [Path(file) for file in path]
    if not Path(path).is_dir():
        return [Path(path)]
    files = sorted(file for file in Path(path).iterdir() if file.is_file() and not file.name.startswith("."))
    if not files:
        raise UserError(f"corpus.path={path}: the folder holds no file")
    return files


class _Lines:
    """The lines that scikit-learn is to parse, and the number of each document's line.

    A line that is blank, and no comment, is a document if another follows; scikit-learn passes it over.
    """

    def __init__(self, stream: Iterable[bytes]) -> None:
        self._stream = stream
        self.header: tuple[int, ...] | None = None
        self.numbers = array("q")
        self.blank = bytearray()

    def read(self, *_: object) -> bytes:
        """Nothing calls this: scikit-learn wants a file that has it, and iterates."""
        raise io.UnsupportedOperation("read")

    def __iter__(self) -> Iterator[bytes]:
        waiting: list[int] = []
        for number, line in enumerate(self._stream, start=1):
            if number == 1:
                line = line.removeprefix(codecs.BOM_UTF8)
            content = line.split(b"#", 1)[0].strip()
            if content and self.header is None and not self.numbers and _HEADER.fullmatch(content):
                self.header = tuple(map(int, content.split()))
            elif content:
                self._add(waiting, True)
                self._add([number], False)
                waiting = []
                yield line
            elif not line.strip() and (self.numbers or self.header):
                waiting.append(number)
        if self.header is not None:
            self._add(waiting[: max(0, self.header[0] - len(self.numbers))], True)

    def _add(self, numbers: list[int], blank: bool) -> None:
        self.numbers.extend(numbers)
        self.blank.extend([blank] * len(numbers))


def _parse(stream: object) -> tuple[sparse.csr_array, Labels]:
    """Parse with scikit-learn, keeping indices as they stand in the file."""
    from sklearn.datasets import load_svmlight_file

    # zero_based=True changes no index; an index 0 in a file said to begin at 1 is refused later.
    terms, labels = load_svmlight_file(stream, multilabel=True, zero_based=True)
    return sparse.csr_array(terms), labels


def _read(file: Path, values: str, from_one: bool) -> _Part:
    """Read and check one file."""
    try:
        with closing(open_checked(file)) as stream:
            lines = _Lines(stream)
            part = _with_blank(file, lines, *_parse(lines))
    except (ValueError, OverflowError, TypeError) as error:
        raise UserError(_locate(file)) from error
    if not part.labels:
        raise UserError(f"{file}: holds no document")
    if lines.header is not None:
        _check_header(part, lines.header)
    terms = part.terms
    bad = ~(np.isfinite(terms.data) & (terms.data >= 0) & (terms.data <= np.finfo(np.float32).max))
    wanted = "finite values >= 0 are allowed"
    if values == "counts" and not bad.any():
        bad = terms.data != np.floor(terms.data)
        wanted = "with corpus.values=counts whole numbers are allowed (else choose corpus.values=weights)"
    if from_one and not bad.any():
        bad = terms.indices == 0
        wanted = "with corpus.zero_based=false indices begin at 1"
    if bad.any():
        entry = int(np.argmax(bad))
        row = int(np.searchsorted(terms.indptr, entry, side="right")) - 1
        found = f"{terms.indices[entry]}:{terms.data[entry]:g}"
        raise UserError(f"{file}, line {part.lines[row]}: {found} is not allowed; {wanted}")
    return part


def _with_blank(file: Path, lines: _Lines, terms: sparse.csr_array, labels: Labels) -> _Part:
    """Put the documents of blank lines between those that were parsed."""
    blank = np.array(lines.blank, dtype=bool)
    if blank.any():
        lengths = np.zeros(len(blank), dtype=terms.indptr.dtype)
        lengths[~blank] = np.diff(terms.indptr)
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(terms.indptr.dtype)
        terms = sparse.csr_array((terms.data, terms.indices, starts), shape=(len(blank), terms.shape[1]))
        parsed = iter(labels)
        labels = [() if empty else next(parsed) for empty in lines.blank]
    return _Part(file, terms, labels, np.array(lines.numbers, dtype=np.int64), blank)


def _check_header(part: _Part, header: tuple[int, ...]) -> None:
    """Refuse a file that holds something else than its first line says."""
    n_terms = int(part.terms.indices.max(initial=-1)) + 1
    n_labels = int(max((label for row in part.labels for label in row), default=-1)) + 1
    for name, found, said, fits in (
        ("documents", len(part.labels), header[0], len(part.labels) == header[0]),
        ("terms", n_terms, header[1], n_terms <= header[1]),
        ("labels", n_labels, header[2], n_labels <= header[2]),
    ):
        if not fits:
            raise UserError(
                f"{part.file}: its first line says {said:,} {name}, and the lines after it hold {found:,}"
            )


def _locate(file: Path) -> str:
    """Return a sentence about the first line that cannot be parsed."""
    form = "'label,label index:value index:value ...' with increasing indices"
    with closing(open_checked(file)) as stream:
        lines = _Lines(stream)
        for line in lines:
            try:
                _parse(io.BytesIO(line))
            except (ValueError, OverflowError, TypeError):
                return f"{file}, line {lines.numbers[-1]}: {shorten(line)} is not of the form {form}"
    return f"{file}: is not made of lines {form}"


def _columns(
    parts: list[_Part], indices: NDArray, n_terms: int | None, zero_based: bool | str
) -> tuple[sparse.csr_array, NDArray[np.str_]]:
    """Join the files' rows on the columns asked for, and name these by their index."""
    data = np.concatenate([part.terms.data for part in parts]).astype(np.float32)
    starts = np.cumsum(np.concatenate([[0], *(np.diff(part.terms.indptr) for part in parts)]))
    if starts[-1] < 2**31:
        starts = starts.astype(np.int32)  # 32-bit columns stay so only beside 32-bit starts
    if n_terms is None:
        used = np.unique(indices)
        columns = np.searchsorted(used, indices)
    else:
        from_one = zero_based is False or (zero_based == "auto" and indices.size > 0 and indices.min() > 0)
        first = int(from_one)
        columns = indices - first
        used = np.arange(first, first + n_terms)
        if columns.size and columns.max() >= n_terms:
            raise UserError(
                f"corpus.n_terms={n_terms}: the files hold index {indices.max()}; "
                f"indices from {first} to {used[-1]} are allowed"
            )
    terms = sparse.csr_array((data, columns.astype(np.int32), starts), shape=(len(starts) - 1, len(used)))
    terms.eliminate_zeros()
    return terms, used.astype(str)


def _topics(
    parts: list[_Part], labels: Labels, topic_names: Sequence[str] | Mapping[int, str] | None
) -> tuple[sparse.csr_array, tuple[str, ...]]:
    """Return documents x topics and the topics' names."""
    distinct = sorted({label for row in labels for label in row})
    blank = np.concatenate([part.blank for part in parts])
    one_each = all(len(row) == 1 for row, empty in zip(labels, blank, strict=True) if not empty)
    if one_each and (set(distinct) <= {-1, 1} or set(distinct) <= {0, 1}):
        named = _names([1.0], topic_names) if topic_names is not None else ("positive",)
        return sparse.csr_array(
            np.array([[max(row, default=0) > 0] for row in labels], dtype=np.uint8)
        ), named
    _check_labels(parts, distinct)
    column = {label: i for i, label in enumerate(distinct)}
    sets = [sorted({column[label] for label in row}) for row in labels]
    starts = np.cumsum([0, *map(len, sets)])
    flat = np.array([i for row in sets for i in row], dtype=np.int32)
    ones = np.ones(len(flat), dtype=np.uint8)
    topics = sparse.csr_array((ones, flat, starts.astype(np.int32)), shape=(len(labels), len(distinct)))
    return topics, _names(distinct, topic_names)


def _check_labels(parts: list[_Part], distinct: list[float]) -> None:
    """Refuse labels that are not whole numbers >= 0."""

    def is_bad(label: float) -> bool:
        return not (0 <= label < 2**53 and label == np.floor(label))

    if not any(map(is_bad, distinct)):
        return
    part, row, label = next(
        (part, row, label)
        for part in parts
        for row, found in enumerate(part.labels)
        for label in found
        if is_bad(label)
    )
    raise UserError(
        f"{part.file}, line {part.lines[row]}: label {label:g} is not allowed; "
        "labels are whole numbers >= 0, or -1 and +1 where each line has one"
    )


def _names(distinct: list[float], topic_names: Sequence[str] | Mapping[int, str] | None) -> tuple[str, ...]:
    """Return the names of the labels, in their order."""
    labels = [int(label) for label in distinct]
    if topic_names is None:
        return tuple(str(label) for label in labels)
    if isinstance(topic_names, str) or not isinstance(topic_names, Sequence | Mapping):
        raise UserError(f"corpus.topic_names={topic_names!r} is not allowed; a list or label: name pairs are")
    if isinstance(topic_names, Mapping):
        known = {str(label): str(name) for label, name in topic_names.items()}
        absent = [label for label in labels if str(label) not in known]
        if absent:
            raise UserError(f"corpus.topic_names: label {absent[0]} has no name; each label needs one")
        return tuple(known[str(label)] for label in labels)
    if len(topic_names) != len(labels):
        raise UserError(
            f"corpus.topic_names: {len(topic_names)} names for {len(labels)} labels; "
            "one for each label that occurs is needed, in ascending order of labels"
        )
    return tuple(str(name) for name in topic_names)


def _remarks(labels: Labels, n_empty: int) -> tuple[str, ...]:
    """Return what is peculiar to the files, a sentence each."""
    n_without = sum(not row for row in labels)
    notes = []
    if n_without:
        notes.append(f"{n_without:,} of {len(labels):,} documents carry no label; they are kept.")
    if n_empty:
        notes.append(f"{n_empty:,} of {len(labels):,} documents have no term.")
    return tuple(notes)
