"""Readers of the LYRL2004 files that are not vectors: tokens, topic assignments, topic hierarchy."""

import csv
import io
import re
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from harness.corpora.opening import line_of_record, open_checked, read_blocks, shorten
from harness.corpora.svmlight_text import Rows, join_rows
from harness.errors import UserError

_HEADER = re.compile(rb"\.I[ \t]+(\d{1,18})[ \t\r]*\n\.W[ \t\r]*(?:\n|\Z)")
_ASSIGNMENT = rb"[ \t]*+(?:\S++[ \t]++\d{1,18}+[ \t]++1)?+[ \t\r]*+"
_ASSIGNMENT_LINE = re.compile(_ASSIGNMENT)
_ASSIGNMENT_BLOCK = re.compile(rb"(?:" + _ASSIGNMENT + rb"\n)*+(?:" + _ASSIGNMENT + rb")?+")
_HIERARCHY = re.compile(rb"parent:\s*(\S+)\s+child:\s*(\S+)\s+child-description:.*", re.DOTALL)


class Vocabulary(dict[bytes, int]):
    """Numbers words in the order in which they are first met."""

    def __missing__(self, word: bytes) -> int:
        """Give a new word the next number."""
        number = self[word] = len(self)
        return number


def read_tokens(path: Path, vocabulary: Vocabulary) -> Rows:
    r"""Read a token file: records of ``.I id``, ``.W`` and the document's tokens on any number of lines.

    Parameters
    ----------
    path : pathlib.Path
    vocabulary : Vocabulary
        Gives each token its number; grows.

    Returns
    -------
    Rows
        Term counts as weights.

    Raises
    ------
    UserError
        For a record of another form: names file and line.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "a.dat"
    ...     _ = file.write_bytes(b".I 7\n.W\nbank rate\nbank\n\n.I 9\n.W\n")
    ...     read_tokens(file, Vocabulary()).matrix(2).toarray().tolist()
    [[2.0, 1.0], [0.0, 0.0]]
    """
    # Blocks end before a record's ".I" line.
    blocks = read_blocks(path, cut=b"\n.I ", n_bytes=2**22)
    return join_rows([_parse_tokens(path, first_line, block, vocabulary) for first_line, block in blocks])


def _parse_tokens(path: Path, first_line: int, block: bytes, vocabulary: Vocabulary) -> Rows:
    """Parse a block of whole records."""
    ids: list[int] = []
    n_tokens: list[int] = []
    tokens: list[bytes] = []
    offset = len(block) - len(block.lstrip())
    for record in block[offset:].split(b"\n.I "):
        record = record if record.startswith(b".I ") else b".I " + record
        header = _HEADER.match(record)
        if header is None:
            lines = record.split(b"\n", 2)
            is_head = re.fullmatch(rb"\.I[ \t]+\d{1,18}[ \t\r]*", lines[0])
            number = first_line + block.count(b"\n", 0, offset) + bool(is_head)
            found = (lines + [b""])[bool(is_head)]
            wanted = ".W" if is_head else ".I id"
            raise UserError(f"{path}, line {number}: {shorten(found)} stands where {wanted} must")
        inside = record.find(b"\n.", header.end() - 1) + 1
        if inside:
            number = first_line + block.count(b"\n", 0, offset) + record.count(b"\n", 0, inside)
            found = record[inside:].split(b"\n", 1)[0]
            raise UserError(f"{path}, line {number}: {shorten(found)} stands where tokens or .I id must")
        words = record[header.end() :].split()
        ids.append(int(header.group(1)))
        n_tokens.append(len(words))
        tokens += words
        offset += len(record) + 1  # the newline; the ".I " that split() took is in `record` again
    codes = np.fromiter(map(vocabulary.__getitem__, tokens), np.int32, len(tokens))
    starts = np.concatenate([[0], np.cumsum(n_tokens, dtype=np.int64)])
    ones = np.ones(len(codes), dtype=np.float32)
    bags = sparse.csr_array((ones, codes, starts), shape=(len(ids), len(vocabulary) + 1))
    bags.sum_duplicates()
    return Rows(np.array(ids, dtype=np.int64), np.diff(bags.indptr), bags.indices.astype(np.int32), bags.data)


class Assignments(NamedTuple):
    """Topic assignments in the order of the file.

    Attributes
    ----------
    topic_names : tuple of str
        Sorted.
    topics : int32 array, shape (n_assignments,)
        Indices into `topic_names`.
    documents : int64 array, shape (n_assignments,)
        Document ids.
    """

    topic_names: tuple[str, ...]
    topics: NDArray[np.int32]
    documents: NDArray[np.int64]


def read_qrels(path: Path) -> Assignments:
    r"""Read lines ``topic id 1``.

    Parameters
    ----------
    path : pathlib.Path

    Returns
    -------
    Assignments

    Raises
    ------
    UserError
        For a line of another form: names file and line.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "a.qrels"
    ...     _ = file.write_bytes(b"GCAT 7 1\nCCAT 7 1\nGCAT 9 1\n")
    ...     assignments = read_qrels(file)
    >>> assignments.topic_names, assignments.topics.tolist(), assignments.documents.tolist()
    (('CCAT', 'GCAT'), [1, 0, 1], [7, 7, 9])
    """
    import pandas as pd

    topics: list[NDArray[np.str_]] = [np.empty(0, dtype=str)]
    codes, documents = [np.empty(0, dtype=np.int32)], [np.empty(0, dtype=np.int64)]
    for first_line, block in read_blocks(path, n_bytes=2**20):
        if not _ASSIGNMENT_BLOCK.fullmatch(block):
            lines = block.split(b"\n")
            n = next(i for i, line in enumerate(lines) if not _ASSIGNMENT_LINE.fullmatch(line))
            found = shorten(lines[n])
            raise UserError(f"{path}, line {first_line + n}: {found} is not of the form 'topic id 1'")
        if not block.strip():
            continue
        # The pattern has proven the form, so a table parser may read it.
        table = pd.read_csv(
            io.BytesIO(block), sep=r"\s+", header=None, names=["topic", "document", "one"], engine="c",
            dtype={"topic": str, "document": np.int64}, keep_default_na=False, quoting=csv.QUOTE_NONE,
            encoding_errors="replace",
        )  # fmt: skip
        code, found_topics = pd.factorize(table["topic"])
        codes.append((code + sum(map(len, topics))).astype(np.int32))
        topics.append(np.asarray(found_topics, dtype=str))
        documents.append(table["document"].to_numpy())
    names, rank = np.unique(np.concatenate(topics), return_inverse=True)
    place = rank.astype(np.int32)[np.concatenate(codes)]
    return Assignments(tuple(map(str, names)), place, np.concatenate(documents))


def read_hierarchy(path: Path) -> dict[str, str]:
    r"""Read lines ``parent: P child: C child-description: D`` and return each topic's parent.

    Parameters
    ----------
    path : pathlib.Path

    Returns
    -------
    dict
        Topic to parent, the root left out (top topics have parent "Root").

    Raises
    ------
    UserError
        For a line of another form, a topic that occurs twice, or a parent that is no topic.

    Examples
    --------
    >>> import tempfile
    >>> lines = "parent: None child: Root child-description:\nparent: Root child: GCAT child-description:\n"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "a.hier"
    ...     _ = file.write_text(lines)
    ...     read_hierarchy(file)
    {'GCAT': 'Root'}
    """
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
    roots = {child for child, parent in parents.items() if parent == "None"}
    for child, parent in parents.items():
        if parent not in parents and parent != "None":
            raise UserError(
                f"{path}, line {lines[child]}: parent {parent} of topic {child} is not in the hierarchy"
            )
    return {child: parent for child, parent in parents.items() if child not in roots}


def check_assignments(
    path: Path, assignments: Assignments, known: Sequence[str], unknown: NDArray[np.bool_]
) -> None:
    """Refuse assignments whose document or topic is unknown.

    Parameters
    ----------
    path : pathlib.Path
        The qrels file, for the message.
    assignments : Assignments
    known : sequence of str
        Topics of the hierarchy.
    unknown : bool array, shape (n_assignments,)
        Where the document is not in the corpus.

    Raises
    ------
    UserError
        Names file and line of the first offender.
    """
    if unknown.any():
        first = int(np.argmax(unknown))
        raise UserError(
            f"{path}, line {line_of_record(path, first)}: document {assignments.documents[first]} is in no "
            f"document file ({len(np.unique(assignments.documents[unknown])):,} such documents); "
            "is a test part missing?"
        )
    absent = np.array([name not in known for name in assignments.topic_names])
    if absent.any():
        first = int(np.argmax(absent[assignments.topics]))
        name = assignments.topic_names[assignments.topics[first]]
        line = line_of_record(path, first)
        raise UserError(f"{path}, line {line}: topic {name} is not in the topic hierarchy")
