"""RCV1-v2 from a folder of the official LYRL2004 files."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from harness.corpora.corpus import Corpus, check_corpus, count_empty, ids_as_text
from harness.corpora.lyrl_files import (
    Assignments,
    Vocabulary,
    check_assignments,
    read_hierarchy,
    read_qrels,
    read_tokens,
)
from harness.corpora.opening import line_of_record
from harness.corpora.svmlight_text import Rows, join_rows, read_vector_blocks
from harness.corpora.term_counts import recover_counts
from harness.errors import UserError

SOURCES = ("auto", "tokens", "vectors")
QRELS = "rcv1-v2.topics.qrels"
HIERARCHY = "rcv1.topics.hier.orig"
ENTRIES_AT_ONCE = 2**20
MAX_TERM = 10_000_000
"""RCV1 has 47,236 terms; far larger numbers are damage, and would take memory by their size."""


def load_lyrl(path: str | Path, source: str = "auto") -> Corpus:
    r"""Load RCV1-v2, or a part of it, from the files that Lewis et al. (2004) published.

    The folder holds, plain or compressed (.gz), ``lyrl2004_tokens_train.dat`` and ``_test_pt0.dat`` ..., or
    ``lyrl2004_vectors_train.dat`` and so on; ``rcv1-v2.topics.qrels``; ``rcv1.topics.hier.orig``. Documents
    stand in the order of the files, the train file first. Stop-words are out and words are stemmed
    already; the tokens give term counts as they are, and from the vectors they are recovered (see
    :func:`harness.corpora.term_counts.recover_counts`). The two name their terms differently: by the token,
    by the term's number.

    Parameters
    ----------
    path : str or pathlib.Path
        The folder.
    source : {"auto", "tokens", "vectors"}
        Which files to read; "auto" takes the tokens unless they have fewer parts than the vectors.

    Returns
    -------
    Corpus
        Topics are those that a document carries, sorted by name. `chronological` is True where the ids
        increase, which they do in time. `notes` tell of documents without topics or terms, and
        how sure recovered counts are.

    Raises
    ------
    UserError
        For a missing, truncated or damaged file, a line of another form (with file and line), a document
        that occurs twice, a topic assignment whose document or topic is unknown.

    References
    ----------
    Lewis, Yang, Rose & Li (2004), RCV1: A New Benchmark Collection for Text Categorization Research,
    JMLR 5, 361-397, online appendices 2, 8, 12 and 13.

    Examples
    --------
    >>> import tempfile
    >>> files = {
    ...     "lyrl2004_tokens_train.dat": ".I 7\n.W\nbank rate bank\n\n",
    ...     "lyrl2004_tokens_test_pt0.dat": ".I 9\n.W\nrate\n\n",
    ...     "rcv1-v2.topics.qrels": "GCAT 7 1\nGCAT 9 1\n",
    ...     "rcv1.topics.hier.orig": "parent: None child: Root child-description: Root\n"
    ...     "parent: Root child: GCAT child-description: GOVERNMENT/SOCIAL\n",
    ... }
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name, text in files.items():
    ...         _ = (Path(folder) / name).write_text(text)
    ...     corpus = load_lyrl(folder)
    >>> corpus.term_names.tolist(), corpus.terms.toarray().tolist(), corpus.topic_names
    (['bank', 'rate'], [[2.0, 1.0], [0.0, 1.0]], ('GCAT',))
    """
    folder = Path(path)
    if not folder.is_dir():
        raise UserError(f"corpus.path={path}: there is no such folder; it must hold the LYRL2004 files")
    if source not in SOURCES:
        raise UserError(f"corpus.source={source!r} is not allowed; choose one of {', '.join(SOURCES)}")
    files, kind = _document_files(folder, source)
    qrels, hierarchy = _find(folder, QRELS), _find(folder, HIERARCHY)
    topics_known = read_hierarchy(hierarchy)
    assignments = read_qrels(qrels)
    documents = _read_tokens(files) if kind == "tokens" else _read_vectors(files)
    topics, n_repeated = _topic_matrix(qrels, assignments, list(topics_known), documents.ids)
    corpus = Corpus(
        name="lyrl",
        terms=documents.counts,
        topics=topics,
        document_ids=ids_as_text(documents.ids),
        term_names=documents.term_names,
        topic_names=assignments.topic_names,
        chronological=bool((np.diff(documents.ids) > 0).all()),
    )
    unused = sorted(set(topics_known) - set(assignments.topic_names))
    return check_corpus(replace(corpus, notes=(*_remarks(corpus, unused, n_repeated), *documents.notes)))


class _Documents(NamedTuple):
    """Documents without their topics."""

    ids: NDArray[np.int64]
    counts: sparse.csr_array
    term_names: NDArray[np.str_]
    notes: tuple[str, ...] = ()


def _find(folder: Path, name: str) -> Path:
    """Return the path of a required file, plain or .gz."""
    for candidate in (folder / name, folder / f"{name}.gz"):
        if candidate.is_file():
            return candidate
    raise UserError(
        f"{folder}: holds neither {name} nor {name}.gz; the LYRL2004 files are needed under their own names"
    )


def _parts(folder: Path, kind: str) -> list[Path]:
    """Return the train file and the test parts that the folder holds; [] without a train file."""
    names = {p.name.removesuffix(".gz") for p in folder.glob(f"lyrl2004_{kind}_*.dat*")}
    stem = f"lyrl2004_{kind}_"
    if f"{stem}train.dat" not in names:
        return []
    parts = [n for n in range(100) if f"{stem}test_pt{n}.dat" in names]
    if parts != list(range(len(parts))):
        missing = next(n for n, part in enumerate(parts) if n != part)
        raise UserError(f"{folder}: {stem}test_pt{missing}.dat is missing between parts that are there")
    return [_find(folder, f"{stem}train.dat"), *(_find(folder, f"{stem}test_pt{n}.dat") for n in parts)]


def _document_files(folder: Path, source: str) -> tuple[list[Path], str]:
    """Return the files to read and their kind."""
    tokens, vectors = (_parts(folder, kind) if source in ("auto", kind) else [] for kind in SOURCES[1:])
    kind = "tokens" if len(tokens) >= len(vectors) else "vectors"
    files = tokens if kind == "tokens" else vectors
    if not files:
        wanted = "tokens or vectors" if source == "auto" else source
        name = f"lyrl2004_{'tokens' if source == 'auto' else source}_train.dat"
        raise UserError(f"{folder}: holds no {wanted}; {name} (or .gz) is needed, and its test parts")
    return files, kind


def _join(files: list[Path], read: Callable[[Path], Iterable[Rows]]) -> tuple[Rows, int]:
    """Return the rows of all files, and how many the first has.

    Refuses an empty file and a document that occurs twice.
    """
    ends = [0]

    def each() -> Iterator[Rows]:
        """Yield the rows of file after file, and note where each file ends."""
        for file in files:
            ends.append(ends[-1])
            for part in read(file):
                ends[-1] += len(part.ids)
                yield part
            if ends[-1] == ends[-2]:
                raise UserError(f"{file}: holds no document")

    rows = join_rows(each())
    order = np.argsort(rows.ids, kind="stable")
    twice = order[1:][np.diff(rows.ids[order]) == 0]
    if len(twice):
        row = int(twice.min())
        which = int(np.searchsorted(ends, row, side="right")) - 1
        record = row - ends[which]
        where = f"document {record + 1}"
        if "_vectors_" in files[which].name:
            where = f"line {line_of_record(files[which], record)}"
        raise UserError(f"{files[which]}, {where}: document id {rows.ids[row]} occurs more than once")
    return rows, ends[1]


def _read_tokens(files: list[Path]) -> _Documents:
    """Read term counts; terms sorted by length and text, so that t9 stands before t10."""
    vocabulary = Vocabulary()
    rows, _ = _join(files, lambda file: [read_tokens(file, vocabulary)])
    words = sorted(vocabulary, key=lambda word: (len(word), word))
    column = np.empty(len(words), dtype=np.int32)
    column[[vocabulary[word] for word in words]] = np.arange(len(words), dtype=np.int32)
    counts = rows._replace(terms=column[rows.terms]).matrix(len(words))
    counts.sort_indices()
    names = np.array([word.decode("utf-8", "replace") for word in words], dtype=str)
    return _Documents(rows.ids, counts, names)


def _read_vectors(files: list[Path]) -> _Documents:
    """Read weights and recover the term counts; terms are those that occur, named by their number."""
    rows, n_train = _join(files, read_vector_blocks)
    largest = int(rows.terms.max(initial=0))
    if largest > MAX_TERM:
        raise UserError(
            f"{files[0].parent}: term number {largest} in the vectors; up to {MAX_TERM} is allowed"
        )
    weights = rows.matrix(largest + 1)
    weights.eliminate_zeros()
    if not weights.nnz:
        raise UserError(f"{files[0]}: no document has a weight above 0")
    terms = _renumber(weights.indices, weights.shape[1])
    parts = (weights.data, weights.indices, weights.indptr)
    renamed = sparse.csr_array(parts, shape=(len(rows.ids), len(terms)))
    recovered = recover_counts(renamed, n_train, in_place=True)
    notes = ["Term counts were recovered from the vectors' log tf-idf weights."]
    if not recovered.idf_known:
        notes.append(
            "The train file's document frequencies do not explain the weights: idf was estimated from the "
            "weights themselves, and a few counts in a thousand may be wrong."
        )
    if recovered.n_unresolved:
        notes.append(
            f"{recovered.n_unresolved:,} of {len(rows.ids):,} documents have a weight that fits no whole "
            "count (the nearest was taken)."
        )
    return _Documents(rows.ids, recovered.counts, terms.astype(str), tuple(notes))


def _renumber(indices: NDArray[np.int32], n_columns: int) -> NDArray[np.int64]:
    """Give the columns that occur new numbers, in place and a part at a time; return their old ones."""
    parts = [indices[start : start + ENTRIES_AT_ONCE] for start in range(0, len(indices), ENTRIES_AT_ONCE)]
    occurs = np.zeros(n_columns, dtype=bool)
    for part in parts:
        occurs[part] = True
    column = (np.cumsum(occurs) - 1).astype(np.int32)
    for part in parts:
        part[:] = column[part]
    return np.flatnonzero(occurs)


def _topic_matrix(
    qrels: Path, assignments: Assignments, topics_known: list[str], ids: NDArray[np.int64]
) -> tuple[sparse.csr_array, int]:
    """Return documents x topics, and how many assignments stand in the file more than once."""
    order = np.argsort(ids)
    place = np.minimum(np.searchsorted(ids[order], assignments.documents), len(ids) - 1)
    rows = order[place]
    check_assignments(qrels, assignments, topics_known, ids[rows] != assignments.documents)
    shape = (len(ids), len(assignments.topic_names))
    ones = np.ones(len(rows), dtype=np.int32)
    places = (rows.astype(np.int32), assignments.topics)
    topics = sparse.csr_array(sparse.coo_array((ones, places), shape=shape))
    n_repeated = len(rows) - topics.nnz
    topics.data = np.ones(topics.nnz, dtype=np.uint8)
    topics.sort_indices()
    return topics, n_repeated


def _remarks(corpus: Corpus, unused: list[str], n_repeated: int) -> list[str]:
    """Return what is peculiar to the files, a sentence each."""
    notes = []
    n_without = int((np.diff(corpus.topics.indptr) == 0).sum())
    if n_without:
        notes.append(f"{n_without:,} of {corpus.n_documents:,} documents carry no topic; they are kept.")
    if count_empty(corpus):
        notes.append(f"{count_empty(corpus):,} of {corpus.n_documents:,} documents have no term.")
    if unused:
        shown = ", ".join(unused[:5]) + (", ..." if len(unused) > 5 else "")
        notes.append(f"{len(unused)} topics of the hierarchy occur in no document and are left out: {shown}.")
    if n_repeated:
        notes.append(f"{n_repeated:,} topic assignments stand in the qrels more than once.")
    return notes
