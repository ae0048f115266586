"""The one form in which every corpus reaches the study."""

import hashlib
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from harness.errors import UserError


@dataclass(frozen=True)
class Corpus:
    """Documents as term counts, and the topics that each carries.

    Attributes
    ----------
    name : str
        The source's name, as in ``corpus=NAME``.
    terms : scipy.sparse.csr_array, shape (n_documents, n_terms), float32
        Term counts, or weights where `values` says so. Canonical (sorted, no duplicates, no stored 0).
    topics : scipy.sparse.csr_array, shape (n_documents, n_topics), uint8
        1 where the document carries the topic. Canonical.
    document_ids : str array, shape (n_documents,)
    term_names : str array, shape (n_terms,)
    topic_names : tuple of str, length n_topics
    values : {"counts", "weights"}
        What `terms` holds.
    chronological : bool
        True where the documents' order is their order in time.
    notes : tuple of str
        What a reader of results must know of this corpus (known biases, documents left out), one
        sentence each.
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

    @property
    def n_documents(self) -> int:
        """Number of documents."""
        return self.terms.shape[0]

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


def check_corpus(corpus: Corpus) -> Corpus:
    """Return `corpus` after proving that its parts fit together.

    Raises
    ------
    UserError
        If shapes disagree, an id or a topic name occurs twice, a value is negative or not finite, or
        there is no document, no term or no topic. Names the first offender.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> tiny = Corpus(
    ...     "tiny",
    ...     sparse.csr_array(np.array([[1, 0], [2, 1]], dtype=np.float32)),
    ...     sparse.csr_array(np.array([[1], [0]], dtype=np.uint8)),
    ...     np.array(["1", "2"]), np.array(["a", "b"]), ("GCAT",))
    >>> check_corpus(tiny).n_documents
    2
    """
    n_documents, n_terms = corpus.terms.shape
    if min(n_documents, n_terms, len(corpus.topic_names)) == 0:
        raise UserError(
            f"corpus {corpus.name}: {n_documents} documents, {n_terms} terms, "
            f"{len(corpus.topic_names)} topics; at least one of each is needed"
        )
    if corpus.topics.shape != (n_documents, len(corpus.topic_names)):
        raise UserError(
            f"corpus {corpus.name}: the topics have shape {corpus.topics.shape}, "
            f"({n_documents}, {len(corpus.topic_names)}) is needed"
        )
    if len(corpus.term_names) != n_terms or len(corpus.document_ids) != n_documents:
        raise UserError(
            f"corpus {corpus.name}: {len(corpus.document_ids)} ids and {len(corpus.term_names)} term names "
            f"do not match the matrix of shape {corpus.terms.shape}"
        )
    for what, names in (("document id", corpus.document_ids), ("topic", np.asarray(corpus.topic_names))):
        different, n_times = np.unique(names, return_counts=True)
        if (n_times > 1).any():
            twice = different[n_times > 1][0]
            raise UserError(f"corpus {corpus.name}: {what} {twice} occurs more than once")
    values = corpus.terms.data  # NaN is neither; no array of flags, which would take 60 MB on all of RCV1
    if values.size and not (values.min() >= 0 and values.max() < np.inf):
        raise UserError(
            f"corpus {corpus.name}: a term value is negative or not finite; values >= 0 are allowed"
        )
    if corpus.topics.nnz == 0:
        raise UserError(f"corpus {corpus.name}: no document carries a topic; at least one positive is needed")
    return corpus


def ids_as_text(ids: NDArray[np.int64]) -> NDArray[np.str_]:
    """Return ids as text no wider than the longest: 21 characters each, as numpy has it, take 67 MB on RCV1.

    Examples
    --------
    >>> import numpy as np
    >>> ids_as_text(np.array([7, 2286]))
    array(['7', '2286'], dtype='<U4')
    """
    return ids.astype(f"U{len(str(ids.max(initial=0)))}")


def count_empty(corpus: Corpus) -> int:
    """Return the number of documents without a term."""
    return int((np.diff(corpus.terms.indptr) == 0).sum())
