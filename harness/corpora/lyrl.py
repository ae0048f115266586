"""RCV1-v2 from a folder of the official LYRL2004 files."""

import re
from array import array
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from harness.corpora.corpus import PART_SIZE, Corpus, csr, ids_as_text, note_empty, renumber
from harness.corpora.opening import match_lines, read_lines, shorten
from harness.corpora.rows import NUMBER, SparseRows, Vocabulary, fill, parse_lines
from harness.corpora.term_counts import recover_counts
from harness.errors import UserError, check_choice, require

SOURCES = ("auto", "tokens", "vectors")
QRELS = "rcv1-v2.topics.qrels"
HIERARCHY = "rcv1.topics.hier.orig"
MAX_TERM = 10_000_000
"""RCV1 has 47,236 terms; far larger numbers are damage, and would take memory by their size."""

_ID = re.compile(rb"\.I[ \t]+(\d{1,18})")
_BODY = "tokens or .I id"
_VECTOR = re.compile(rb"(\d{1,18})((?:[ \t]++\d{1,9}:" + NUMBER + rb")*+)")
_ASSIGNMENT = re.compile(rb"(\S++)[ \t]++(\d{1,18}+)[ \t]++1")
_HIERARCHY = re.compile(rb"parent:\s*(\S+)\s+child:\s*(\S+)\s+child-description:.*", re.DOTALL)


def load_lyrl(path: str | Path, source: str = "auto") -> Corpus:
    """Load RCV1-v2, or a part of it, from the files that Lewis et al. (2004) published.

    The folder holds, plain or compressed (.gz), ``lyrl2004_tokens_train.dat`` and ``_test_pt0.dat`` ..., or
    ``lyrl2004_vectors_train.dat`` and so on; ``rcv1-v2.topics.qrels``; ``rcv1.topics.hier.orig``. Documents
    stand in the order of the files, the train file first. Stop-words are out and words are stemmed
    already; the tokens give term counts as they are, and from the vectors they are recovered (see
    :func:`harness.corpora.term_counts.recover_counts`). The two name their terms differently: by the token,
    by the term's number. ``source="auto"`` takes the tokens unless they have fewer parts than the vectors.
    Topics are those that a document carries; the order is chronological where the ids increase.

    References
    ----------
    Lewis, Yang, Rose & Li (2004), RCV1: A New Benchmark Collection for Text Categorization Research,
    JMLR 5, 361-397, online appendices 2, 8, 12 and 13.
    """
    folder = Path(path)
    if not folder.is_dir():
        raise UserError(f"corpus.path={path}: there is no such folder; it must hold the LYRL2004 files")
    check_choice("corpus.source", source, SOURCES, UserError)
    # a plain file goes before its .gz
    files = {path.name.removesuffix(".gz"): path for path in sorted(folder.iterdir(), reverse=True)}
    kind, documents = _document_files(folder, files, source)
    for name in (QRELS, HIERARCHY):
        require(name in files, f"{folder}: holds neither {name} nor {name}.gz, the LYRL2004 file", UserError)
    known, assignments = read_hierarchy(files[HIERARCHY]), read_qrels(files[QRELS])
    grown = array("q")
    counts, term_names, notes = (_load_tokens if kind == "tokens" else _load_vectors)(documents, grown)
    ids, topic_names = np.asarray(memoryview(grown)), assignments.topic_names
    topics = _topic_matrix(files[QRELS], assignments, known, ids)
    remarks = list(note_empty(counts, topics))
    if unused := sorted(known - set(topic_names)):
        shown = ", ".join(unused[:5]) + (", ..." if len(unused) > 5 else "")
        said = f"{len(unused)} topics of the hierarchy occur in no document and are left out: {shown}."
        remarks.append(said)
    if n_repeated := len(assignments.topics) - topics.nnz:
        remarks.append(f"{n_repeated:,} topic assignments stand in the qrels more than once.")
    ordered, notes = bool((np.diff(ids) > 0).all()), (*remarks, *notes)
    return Corpus(
        "lyrl", counts, topics, ids_as_text(ids), term_names, topic_names, chronological=ordered, notes=notes
    )


def _document_files(folder: Path, files: dict[str, Path], source: str) -> tuple[str, list[Path]]:
    """Return the kind of the files to read, and the files: the train file, then the test parts."""
    found: dict[str, list[Path]] = {}
    for kind in SOURCES[1:] if source == "auto" else (source,):
        stem = f"lyrl2004_{kind}_"
        parts = [n for n in range(100) if f"{stem}test_pt{n}.dat" in files]
        missing = next((n for n, part in enumerate(parts) if n != part), None)
        if missing is not None:
            raise UserError(f"{folder}: {stem}test_pt{missing}.dat is missing between parts that are there")
        names = [f"{stem}train.dat", *(f"{stem}test_pt{n}.dat" for n in parts)]
        found[kind] = [files[name] for name in names] if names[0] in files else []
    kind = max(found, key=lambda kind: len(found[kind]))
    wanted = f"lyrl2004_{kind}_train.dat (or .gz) is needed, and its test parts"
    require(found[kind], f"{folder}: holds no {' or '.join(found)}; {wanted}", UserError)
    return kind, found[kind]


_Documents = tuple[sparse.csr_array, NDArray[np.str_], tuple[str, ...]]
"""Term counts, names of the terms, notes."""


def _load_tokens(files: list[Path], ids: "array[int]") -> _Documents:
    """Read term counts; terms sorted by length and text, so that t9 stands before t10."""
    rows, vocabulary = SparseRows(), Vocabulary()

    def read(file: Path) -> None:
        for number, counts in read_tokens(file):
            ids.append(number)
            rows.append([vocabulary[word] for word in counts], counts.values())

    fill(rows, files, read)
    words = vocabulary.sort(rows.columns, key=lambda word: (len(word), word))
    names = np.array([word.decode("utf-8", "replace") for word in words], dtype=str)
    return rows.matrix(len(words)), names, ()


def _load_vectors(files: list[Path], ids: "array[int]") -> _Documents:
    """Read weights and recover the term counts; terms are those that occur, named by their number."""
    rows = SparseRows()

    def read(file: Path) -> None:
        for _, entries in parse_lines(file, read_vectors(file, ids)):
            rows.extend(entries)

    n_train = fill(rows, files, read)[0]
    largest = int(rows.columns.max(initial=0))
    too_large = f"{files[0].parent}: term number {largest} in the vectors; up to {MAX_TERM} is allowed"
    require(largest <= MAX_TERM, too_large, UserError)
    weights = rows.matrix(largest + 1)
    weights.eliminate_zeros()
    require(weights.nnz, f"{files[0]}: no document has a weight above 0", UserError)
    occurs = np.zeros(weights.shape[1], dtype=bool)
    for start in range(0, weights.nnz, PART_SIZE):
        occurs[weights.indices[start : start + PART_SIZE]] = True
    renumber(weights.indices, (np.cumsum(occurs) - 1).astype(np.int32))
    terms = np.flatnonzero(occurs)
    recovered = recover_counts(csr(weights.data, weights.indices, weights.indptr, len(terms)), n_train)
    return recovered.counts, terms.astype(str), recovered.notes("the vectors'")


def read_vectors(path: Path, ids: "array[int]") -> Iterator[tuple[int, bytes]]:
    """Yield the number and the terms of each line ``id term:weight term:weight ...``; `ids` grows along."""
    form = "'id term:weight term:weight ...' with weights >= 0"
    for line, match in match_lines(path, _VECTOR, form):
        ids.append(int(match[1]))
        yield line, match[2]


def read_tokens(path: Path) -> Iterator[tuple[int, Counter[bytes]]]:
    """Yield each document's id and token counts, from records of ``.I id``, ``.W`` and lines of tokens."""
    document, counts, wanted = -1, Counter[bytes](), ".I id"
    number = 0
    for number, line in read_lines(path):
        line = line.rstrip(b" \t\r\n")
        head = _ID.fullmatch(line)
        if head and wanted != ".W":
            if wanted == _BODY:
                yield document, counts
            document, counts, wanted = int(head[1]), Counter(), ".W"
        elif line == b".W" and wanted == ".W":
            wanted = _BODY
        elif line and (wanted != _BODY or line.startswith(b".")):
            raise UserError(f"{path}, line {number}: {shorten(line)} stands where {wanted} must")
        else:
            counts.update(line.split())
    if wanted == ".W":
        raise UserError(f"{path}, line {number}: ends the file where a line .W must follow")
    if wanted == _BODY:
        yield document, counts


class Assignments(NamedTuple):
    """Topic assignments in the order of the file: `topics` are indices into the sorted `topic_names`."""

    topic_names: tuple[str, ...]
    topics: NDArray[np.int32]
    documents: NDArray[np.int64]
    lines: "array[int]"


def read_qrels(path: Path) -> Assignments:
    """Read lines ``topic id 1``."""
    names = Vocabulary()
    topics, documents, lines = array("i"), array("q"), array("q")
    for line, match in match_lines(path, _ASSIGNMENT, "'topic id 1'"):
        topics.append(names[match[1].decode("utf-8", "replace")])
        documents.append(int(match[2]))
        lines.append(line)
    columns = np.asarray(memoryview(topics), dtype=np.int32)
    return Assignments(tuple(names.sort(columns)), columns, np.asarray(memoryview(documents)), lines)


def read_hierarchy(path: Path) -> set[str]:
    """Read lines ``parent: P child: C child-description: D``; return the topics, without the root."""
    parents: dict[str, str] = {}
    lines: dict[str, int] = {}
    for line, match in match_lines(path, _HIERARCHY, "'parent: P child: C child-description: D'"):
        parent, child = (name.decode("utf-8", "replace") for name in match.groups())
        if child in parents:
            raise UserError(f"{path}, line {line}: topic {child} stands in line {lines[child]} already")
        parents[child], lines[child] = parent, line
    for child, parent in parents.items():
        if parent not in parents and parent != "None":
            where = f"{path}, line {lines[child]}"
            raise UserError(f"{where}: parent {parent} of topic {child} is not in the hierarchy")
    return {child for child, parent in parents.items() if parent != "None"}


def _topic_matrix(
    qrels: Path, assignments: Assignments, known: set[str], ids: NDArray[np.int64]
) -> sparse.csr_array:
    """Return documents x topics; refuse an assignment whose document or topic is unknown."""
    names, topics, documents, lines = assignments
    order = np.argsort(ids)
    rows = order[np.minimum(np.searchsorted(ids[order], documents), len(ids) - 1)]
    absent = ids[rows] != documents
    if absent.any():
        first, n_absent = int(np.argmax(absent)), len(np.unique(documents[absent]))
        raise UserError(
            f"{qrels}, line {lines[first]}: document {documents[first]} is in no document file "
            f"({n_absent:,} such documents); is a test part missing?"
        )
    foreign = np.array([name not in known for name in names], dtype=bool)[topics]
    if foreign.any():
        first = int(np.argmax(foreign))
        topic = names[topics[first]]
        raise UserError(f"{qrels}, line {lines[first]}: topic {topic} is not in the topic hierarchy")
    places = (np.ones(len(rows), dtype=np.int32), (rows.astype(np.int32), topics))
    carried = sparse.csr_array(sparse.coo_array(places, shape=(len(ids), len(names))))
    carried.data = np.ones(carried.nnz, dtype=np.uint8)
    carried.sort_indices()
    return carried
