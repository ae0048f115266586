"""RCV1-v2 from a folder of the official LYRL2004 files."""

import csv
import io
import re
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from harness.corpora.corpus import PART_SIZE, Corpus, check_choice, csr, ids_as_text, note_empty, renumber
from harness.corpora.opening import check_lines, line_of_record, open_checked, read_blocks, shorten
from harness.corpora.svmlight_text import Rows, join_files, join_rows, read_vector_blocks
from harness.corpora.term_counts import recover_counts
from harness.errors import UserError

SOURCES = ("auto", "tokens", "vectors")
QRELS = "rcv1-v2.topics.qrels"
HIERARCHY = "rcv1.topics.hier.orig"
MAX_TERM = 10_000_000
"""RCV1 has 47,236 terms; far larger numbers are damage, and would take memory by their size."""

_ID = re.compile(rb"\.I[ \t]+(\d{1,18})[ \t\r]*(?:\n|\Z)")
_WORDS = re.compile(rb"\.W[ \t\r]*(?:\n|\Z)")
_ASSIGNMENT = rb"[ \t]*+(?:\S++[ \t]++\d{1,18}+[ \t]++1)?+[ \t\r]*+"
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
    check_choice("source", source, SOURCES)
    # a plain file goes before its .gz
    files = {path.name.removesuffix(".gz"): path for path in sorted(folder.iterdir(), reverse=True)}
    kind, documents = _document_files(folder, files, source)
    for name in (QRELS, HIERARCHY):
        if name not in files:
            raise UserError(f"{folder}: holds neither {name} nor {name}.gz, the name of the LYRL2004 file")
    qrels = files[QRELS]
    known = read_hierarchy(files[HIERARCHY])
    assignments = read_qrels(qrels)
    ids, counts, term_names, notes = (_load_tokens if kind == "tokens" else _load_vectors)(documents)
    topics = _topic_matrix(qrels, assignments, known, ids)
    remarks = list(note_empty(counts, topics))
    unused = sorted(set(known) - set(assignments.topic_names))
    if unused:
        shown = ", ".join(unused[:5]) + (", ..." if len(unused) > 5 else "")
        remarks.append(
            f"{len(unused)} topics of the hierarchy occur in no document and are left out: {shown}."
        )
    n_repeated = len(assignments.topics) - topics.nnz
    if n_repeated:
        remarks.append(f"{n_repeated:,} topic assignments stand in the qrels more than once.")
    return Corpus(
        name="lyrl",
        terms=counts,
        topics=topics,
        document_ids=ids_as_text(ids),
        term_names=term_names,
        topic_names=assignments.topic_names,
        chronological=bool((np.diff(ids) > 0).all()),
        notes=(*remarks, *notes),
    )


def _parts(folder: Path, files: dict[str, Path], kind: str) -> list[Path]:
    """Return the train file and the test parts that the folder holds; [] without a train file."""
    stem = f"lyrl2004_{kind}_"
    if f"{stem}train.dat" not in files:
        return []
    parts = [n for n in range(100) if f"{stem}test_pt{n}.dat" in files]
    if parts != list(range(len(parts))):
        missing = next(n for n, part in enumerate(parts) if n != part)
        raise UserError(f"{folder}: {stem}test_pt{missing}.dat is missing between parts that are there")
    return [files[f"{stem}train.dat"], *(files[f"{stem}test_pt{n}.dat"] for n in parts)]


def _document_files(folder: Path, files: dict[str, Path], source: str) -> tuple[str, list[Path]]:
    """Return the kind of the files to read, and the files."""
    found = {kind: _parts(folder, files, kind) for kind in SOURCES[1:] if source in ("auto", kind)}
    kind = max(found, key=lambda kind: len(found[kind]))
    if not found[kind]:
        wanted = f"lyrl2004_{kind}_train.dat (or .gz) is needed, and its test parts"
        raise UserError(f"{folder}: holds no {' or '.join(found)}; {wanted}")
    return kind, found[kind]


_Documents = tuple[NDArray[np.int64], sparse.csr_array, NDArray[np.str_], tuple[str, ...]]
"""Ids, term counts, names of the terms, notes."""


def _load_tokens(files: list[Path]) -> _Documents:
    """Read term counts; terms sorted by length and text, so that t9 stands before t10."""
    vocabulary = Vocabulary()
    rows, _ = join_files(files, lambda file: [read_tokens(file, vocabulary)])
    words = sorted(vocabulary, key=lambda word: (len(word), word))
    renumber(rows.terms, np.argsort([vocabulary[word] for word in words]).astype(np.int32))
    counts = rows.matrix(len(words))
    counts.sort_indices()
    return rows.ids, counts, np.array([word.decode("utf-8", "replace") for word in words], dtype=str), ()


def _load_vectors(files: list[Path]) -> _Documents:
    """Read weights and recover the term counts; terms are those that occur, named by their number."""
    rows, ends = join_files(files, read_vector_blocks)
    largest = int(rows.terms.max(initial=0))
    if largest > MAX_TERM:
        raise UserError(
            f"{files[0].parent}: term number {largest} in the vectors; up to {MAX_TERM} is allowed"
        )
    weights = rows.matrix(largest + 1)
    weights.eliminate_zeros()
    if not weights.nnz:
        raise UserError(f"{files[0]}: no document has a weight above 0")
    occurs = np.zeros(weights.shape[1], dtype=bool)
    for start in range(0, weights.nnz, PART_SIZE):
        occurs[weights.indices[start : start + PART_SIZE]] = True
    renumber(weights.indices, (np.cumsum(occurs) - 1).astype(np.int32))
    terms = np.flatnonzero(occurs)
    renamed = csr(weights.data, weights.indices, weights.indptr, len(terms))
    recovered = recover_counts(renamed, int(ends[0]), in_place=True)
    return rows.ids, recovered.counts, terms.astype(str), recovered.notes("the vectors'")


class Vocabulary(dict[bytes, int]):
    """Numbers words in the order in which they are first met."""

    def __missing__(self, word: bytes) -> int:
        """Give a new word the next number."""
        number = self[word] = len(self)
        return number


def read_tokens(path: Path, vocabulary: Vocabulary) -> Rows:
    r"""Read records of ``.I id``, ``.W`` and the document's tokens on any number of lines, as term counts."""
    # Blocks end before a record's ".I" line.
    blocks = read_blocks(path, cut=b"\n.I ", n_bytes=2**22)
    return join_rows([_parse_tokens(path, first_line, block, vocabulary) for first_line, block in blocks])


def _parse_tokens(path: Path, first_line: int, block: bytes, vocabulary: Vocabulary) -> Rows:
    """Parse a block of whole records."""
    ids: list[int] = []
    n_tokens: list[int] = []
    tokens: list[bytes] = []
    start = len(block) - len(block.lstrip())
    while start < len(block):
        head = _ID.match(block, start)
        body = _WORDS.match(block, head.end()) if head else None
        end = block.find(b"\n.", body.end() - 1) + 1 if body else 0
        end = end or len(block)
        if head is None or body is None or not (end == len(block) or block.startswith(b".I ", end)):
            bad, wanted = (head.end(), ".W") if head else (start, ".I id")
            if body:
                bad, wanted = end, "tokens or .I id"
            found = shorten(block[bad:].split(b"\n", 1)[0])
            line = first_line + block.count(b"\n", 0, bad)
            raise UserError(f"{path}, line {line}: {found} stands where {wanted} must")
        words = block[body.end() : end].split()
        ids.append(int(head[1]))
        n_tokens.append(len(words))
        tokens += words
        start = end
    codes = np.fromiter(map(vocabulary.__getitem__, tokens), np.int32, len(tokens))
    starts = np.concatenate([[0], np.cumsum(n_tokens, dtype=np.int64)])
    ones = np.ones(len(codes), dtype=np.float32)
    bags = sparse.csr_array((ones, codes, starts), shape=(len(ids), len(vocabulary) + 1))
    bags.sum_duplicates()
    return Rows(np.array(ids, dtype=np.int64), np.diff(bags.indptr), bags.indices.astype(np.int32), bags.data)


class Assignments(NamedTuple):
    """Topic assignments in the order of the file: `topics` are indices into the sorted `topic_names`."""

    topic_names: tuple[str, ...]
    topics: NDArray[np.int32]
    documents: NDArray[np.int64]


def read_qrels(path: Path) -> Assignments:
    """Read lines ``topic id 1``."""
    import pandas as pd

    topics, documents = [np.empty(0, dtype=object)], [np.empty(0, dtype=np.int64)]
    for first_line, block in read_blocks(path, n_bytes=2**20):
        check_lines(path, first_line, block, _ASSIGNMENT, "'topic id 1'")
        if not block.strip():
            continue
        table = pd.read_csv(
            io.BytesIO(block), sep=r"\s+", header=None, names=["topic", "document", "one"], engine="c",
            dtype={"topic": str, "document": np.int64}, keep_default_na=False, quoting=csv.QUOTE_NONE,
            encoding_errors="replace",
        )  # fmt: skip
        topics.append(table["topic"].to_numpy(dtype=object))
        documents.append(table["document"].to_numpy())
    codes, names = pd.factorize(np.concatenate(topics), sort=True)
    return Assignments(tuple(map(str, names)), codes.astype(np.int32), np.concatenate(documents))


def read_hierarchy(path: Path) -> dict[str, str]:
    """Read lines ``parent: P child: C child-description: D``; return each topic's parent, but the root's."""
    parents: dict[str, str] = {}
    lines: dict[str, int] = {}
    with closing(open_checked(path)) as stream:
        for number, line in enumerate(stream, start=1):
            match = _HIERARCHY.match(line.strip())
            if match is None and line.strip():
                raise UserError(
                    f"{path}, line {number}: {shorten(line)} is not of the form "
                    "'parent: P child: C child-description: D'"
                )
            if match is None:
                continue
            parent, child = (name.decode("utf-8", "replace") for name in match.groups())
            if child in parents:
                raise UserError(f"{path}, line {number}: topic {child} stands in line {lines[child]} already")
            parents[child], lines[child] = parent, number
    for child, parent in parents.items():
        if parent not in parents and parent != "None":
            raise UserError(
                f"{path}, line {lines[child]}: parent {parent} of topic {child} is not in the hierarchy"
            )
    return {child: parent for child, parent in parents.items() if parent != "None"}


def _topic_matrix(
    qrels: Path, assignments: Assignments, known: dict[str, str], ids: NDArray[np.int64]
) -> sparse.csr_array:
    """Return documents x topics; refuse an assignment whose document or topic is unknown."""
    order = np.argsort(ids)
    rows = order[np.minimum(np.searchsorted(ids[order], assignments.documents), len(ids) - 1)]
    absent = ids[rows] != assignments.documents
    if absent.any():
        first = int(np.argmax(absent))
        raise UserError(
            f"{qrels}, line {line_of_record(qrels, first)}: document {assignments.documents[first]} is in no "
            f"document file ({len(np.unique(assignments.documents[absent])):,} such documents); "
            "is a test part missing?"
        )
    names = assignments.topic_names
    foreign = np.array([name not in known for name in names], dtype=bool)[assignments.topics]
    if foreign.any():
        first = int(np.argmax(foreign))
        topic = names[assignments.topics[first]]
        line = line_of_record(qrels, first)
        raise UserError(f"{qrels}, line {line}: topic {topic} is not in the topic hierarchy")
    ones = np.ones(len(rows), dtype=np.int32)
    places = (rows.astype(np.int32), assignments.topics)
    topics = sparse.csr_array(sparse.coo_array((ones, places), shape=(len(ids), len(names))))
    topics.data = np.ones(topics.nnz, dtype=np.uint8)
    topics.sort_indices()
    return topics
