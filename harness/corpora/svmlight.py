"""Any multi-label svmlight/LIBSVM file."""

import codecs
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from harness.corpora.corpus import Corpus, check_choice, check_whole, csr, ids_as_text, note_empty
from harness.corpora.opening import open_checked, shorten
from harness.corpora.svmlight_text import NUMBER, Rows, join_files, parse_rows
from harness.errors import UserError

VALUES = ("counts", "weights")
MAX_TERMS = 10_000_000
DOCUMENTS_AT_ONCE = 10_000
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
    check_choice("values", values, VALUES)
    check_choice("zero_based", zero_based, (True, False, "auto"))
    if n_terms is not None:
        check_whole("n_terms", n_terms, 1, MAX_TERMS)
    labels: Labels = []
    files = _files(path)
    rows, ends = join_files(files, lambda file: _read(file, values, zero_based is False, labels))
    terms, term_names = _columns(rows, n_terms, zero_based)

    def place(row: int) -> str:
        return f"{files[int(np.searchsorted(ends, row, side='right'))]}, line {rows.ids[row]}"

    one_each = all(len(row) == 1 for row, n in zip(labels, rows.n_terms, strict=True) if row or n)
    distinct = sorted({label for row in labels for label in row})
    if one_each and (set(distinct) <= {-1, 1} or set(distinct) <= {0, 1}):
        topics = sparse.csr_array(np.array([[max(row, default=0) > 0] for row in labels], dtype=np.uint8))
        names = ("positive",) if topic_names is None else _names([1], topic_names)
    else:
        for row, found in enumerate(labels):
            for label in found:
                if not (0 <= label < 2**53 and label == np.floor(label)):
                    raise UserError(
                        f"{place(row)}: label {label:g} is not allowed; "
                        "labels are whole numbers >= 0, or -1 and +1 where each line has one"
                    )
        topics = _topics(labels, distinct)
        names = _names([int(label) for label in distinct], topic_names)
    return Corpus(
        name="svmlight",
        terms=terms,
        topics=topics,
        document_ids=ids_as_text(np.arange(1, len(labels) + 1)),
        term_names=term_names,
        topic_names=names,
        values=values,
        notes=note_empty(terms, _topics(labels, distinct)),
    )


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


def _read(file: Path, values: str, from_one: bool, labels: Labels) -> Iterator[Rows]:
    """Yield one file's rows, some thousand at a time, with their lines as ids; `labels` grows along."""
    documents = _documents(file)
    while some := list(islice(documents, DOCUMENTS_AT_ONCE)):
        numbers = [number for number, _, _ in some]
        labels.extend(found for _, found, _ in some)
        rows = parse_rows(
            file, b"".join(b"%d %s\n" % (number, terms) for number, _, terms in some), numbers.__getitem__
        )
        bad, wanted = rows.weights < 0, "finite values >= 0 are allowed"
        if values == "counts" and not bad.any():
            bad = rows.weights != np.floor(rows.weights)
            wanted = "with corpus.values=counts whole numbers are allowed (else choose corpus.values=weights)"
        if from_one and not bad.any():
            bad, wanted = rows.terms == 0, "with corpus.zero_based=false indices begin at 1"
        if bad.any():
            entry = int(np.argmax(bad))
            line = numbers[int(np.searchsorted(np.cumsum(rows.n_terms), entry, side="right"))]
            found = f"{rows.terms[entry]}:{rows.weights[entry]:g}"
            raise UserError(f"{file}, line {line}: {found} is not allowed; {wanted}")
        yield rows


def _documents(file: Path) -> Iterator[tuple[int, tuple[float, ...], bytes]]:
    """Yield each document's line, labels and terms, blank documents too; refuse what the header belies."""
    header: tuple[int, ...] | None = None
    blank: list[int] = []  # documents if another follows
    n_documents, n_terms, n_labels = 0, 0, 0.0
    with closing(open_checked(file)) as stream:
        for number, line in enumerate(stream, start=1):
            line = line.removeprefix(codecs.BOM_UTF8 if number == 1 else b"")
            content = b" ".join(line.split(b"#", 1)[0].split())
            if not content:
                if not line.strip() and (n_documents or header):
                    blank.append(number)
            elif n_documents == 0 and header is None and _HEADER.fullmatch(content):
                header = tuple(map(int, content.split()))
            else:
                yield from ((empty, (), b"") for empty in blank)
                labels, terms = _parse(file, number, line, content)
                yield number, labels, terms
                n_documents, blank = n_documents + len(blank) + 1, []
                n_terms = max(n_terms, int(terms.rpartition(b":")[0].split()[-1]) + 1 if terms else 0)
                n_labels = max(n_labels, max(labels, default=-1.0) + 1)
    if header is not None:
        blank = blank[: max(0, header[0] - n_documents)]
        yield from ((empty, (), b"") for empty in blank)
        n_documents += len(blank)
        for name, found, said in zip(
            ("documents", "terms", "labels"), (n_documents, n_terms, n_labels), header, strict=True
        ):
            if found > said or (name == "documents" and found < said):
                raise UserError(
                    f"{file}: its first line says {said:,} {name}, and the lines after it hold {found:,.0f}"
                )


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
    rows: Rows, n_terms: int | None, zero_based: bool | str
) -> tuple[sparse.csr_array, NDArray[np.str_]]:
    """Return the rows on the columns asked for, and these columns' names: the indices."""
    used = np.unique(rows.terms)
    if n_terms is not None:
        largest = int(used.max(initial=-1))
        first = int(zero_based is False or (zero_based == "auto" and used.min(initial=largest) > 0))
        used = np.arange(first, first + n_terms, dtype=np.int32)
        if largest > used[-1]:
            raise UserError(
                f"corpus.n_terms={n_terms}: the files hold index {largest}; "
                f"indices from {first} to {used[-1]} are allowed"
            )
    columns = np.searchsorted(used, rows.terms).astype(np.int32)
    terms = rows._replace(terms=columns).matrix(len(used))
    terms.eliminate_zeros()
    return terms, used.astype(str)


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
        return tuple(str(label) for label in labels)
    if isinstance(topic_names, str) or not isinstance(topic_names, Sequence | Mapping):
        raise UserError(f"corpus.topic_names={topic_names!r} is not allowed; a list or label: name pairs are")
    if not isinstance(topic_names, Mapping):
        if len(topic_names) != len(labels):
            raise UserError(
                f"corpus.topic_names: {len(topic_names)} names for {len(labels)} labels; "
                "one for each label that occurs is needed, in ascending order of labels"
            )
        topic_names = dict(zip(labels, topic_names, strict=True))
    known = {str(label): str(name) for label, name in topic_names.items()}
    absent = [label for label in labels if str(label) not in known]
    if absent:
        raise UserError(f"corpus.topic_names: label {absent[0]} has no name; each label needs one")
    return tuple(known[str(label)] for label in labels)
