"""The one form in which every corpus reaches the study."""

import hashlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from harness.errors import UserError

PART_SIZE = 2**20


@dataclass(frozen=True)
class Corpus:
    """Documents as term counts, and the topics that each carries.

    Attributes
    ----------
    terms : csr_array, shape (n_documents, n_terms), float32
        Term counts, or weights where `values` says so. Canonical (sorted, no duplicates, no stored 0).
    topics : csr_array, shape (n_documents, n_topics), uint8
        1 where the document carries the topic. Canonical.
    chronological : bool
        True where the documents' order is their order in time.
    notes : tuple of str
        What a reader of results must know of this corpus, one sentence each.
    days : int array, shape (n_documents,), optional
        When each document was written, as ordinal numbers of days, where the corpus tells.
    """

    name: str
    terms: sparse.csr_array
    topics: sparse.csr_array
    document_ids: NDArray[np.str_]
    term_names: NDArray[np.str_]
    topic_names: tuple[str, ...]
    values: str = "counts"
    chronological: bool = False
    notes: tuple[str, ...] = field(default=())
    days: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        """Prove that the parts fit together; UserError names the first that does not."""
        shape, names = self.terms.shape, self.topic_names
        lengths = (len(self.document_ids), len(self.term_names))
        if min(*shape, len(names)) == 0:
            wrong = f"{shape[0]} documents, {shape[1]} terms, {len(names)} topics; one of each is needed"
        elif self.topics.shape != (shape[0], len(names)):
            wrong = f"the topics have shape {self.topics.shape}, ({shape[0]}, {len(names)}) is needed"
        elif lengths != shape:
            wrong = f"{lengths[0]} ids and {lengths[1]} term names do not match the matrix of shape {shape}"
        elif twice := _find_repeated(self.document_ids):
            wrong = f"document id {twice[0]} occurs more than once"
        elif twice := _find_repeated(np.asarray(names)):
            wrong = f"topic {twice[0]} occurs more than once"
        # NaN is neither; no array of flags, which would take 60 MB on all of RCV1
        elif self.terms.nnz and not (self.terms.data.min() >= 0 and self.terms.data.max() < np.inf):
            wrong = "a term value is negative or not finite; values >= 0 are allowed"
        elif self.topics.nnz == 0:
            wrong = "no document carries a topic; at least one positive is needed"
        else:
            return
        raise UserError(f"corpus {self.name}: {wrong}")

    @property
    def n_documents(self) -> int:
        """Number of documents."""
        return int(self.terms.shape[0])

    def fingerprint(self) -> str:
        """Return the SHA-256 of all that the study uses: counts, topics, ids, names."""
        digest = hashlib.sha256(self.values.encode())
        for matrix in (self.terms, self.topics):
            digest.update(repr(matrix.shape).encode())
            for part, kind in ((matrix.indptr, "<i8"), (matrix.indices, "<i4"), (matrix.data, "<f4")):
                digest.update(np.ascontiguousarray(part, dtype=kind).data)
        for names in (self.document_ids, self.term_names, self.topic_names):
            digest.update("\n".join(map(str, names)).encode())
        return digest.hexdigest()


def _find_repeated(names: NDArray[np.str_]) -> list[str]:
    """Return the names that occur more than once."""
    different, n_times = np.unique(names, return_counts=True)
    return [str(name) for name in different[n_times > 1]]


def ids_as_text(ids: NDArray[np.int64]) -> NDArray[np.str_]:
    """Return ids as text no wider than the longest: 21 characters each, as numpy has it, take 67 MB on RCV1.

    Examples
    --------
    >>> import numpy as np
    >>> ids_as_text(np.array([7, 2286]))
    array(['7', '2286'], dtype='<U4')
    """
    return ids.astype(f"U{len(str(ids.max(initial=0)))}")


def csr(
    values: NDArray[Any], columns: NDArray[Any], starts: NDArray[Any], n_columns: int
) -> sparse.csr_array:
    """Return sparse rows; 32-bit columns stay so only beside 32-bit starts, which are used where they do."""
    if starts[-1] < 2**31:
        starts = starts.astype(np.int32, copy=False)
        columns = columns.astype(np.int32, copy=False)
    return sparse.csr_array((values, columns, starts), shape=(len(starts) - 1, n_columns))


def renumber(columns: NDArray[np.int32], numbers: NDArray[np.int32]) -> None:
    """Give columns new numbers in place, a part at a time: of all of RCV1 a copy takes 250 MB."""
    for start in range(0, len(columns), PART_SIZE):
        part = columns[start : start + PART_SIZE]
        part[:] = numbers[part]


def count_empty(corpus: Corpus) -> int:
    """Return the number of documents without a term."""
    return int((np.diff(corpus.terms.indptr) == 0).sum())


def note_empty(terms: sparse.csr_array, topics: sparse.csr_array) -> tuple[str, ...]:
    """Return a sentence on documents without a topic and one on those without a term, if there are any."""
    bare, empty = (int((np.diff(matrix.indptr) == 0).sum()) for matrix in (topics, terms))
    told = (
        (bare, "carry no topic; they are kept, as negatives of all topics."),
        (empty, "have no term; they are kept."),
    )
    return tuple(f"{n:,} of {terms.shape[0]:,} documents {what}" for n, what in told if n)
