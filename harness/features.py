"""Document vectors: dictionary and idf from D_tr only."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from harness.errors import UserError, require


class Dictionary(NamedTuple):
    """What is learned on D_tr: the columns that are kept and the factor of each."""

    columns: NDArray[np.int64]
    factors: NDArray[np.float32]


@dataclass(frozen=True)
class TfIdf:
    """Cosine-normalised log tf-idf: weight = (1 + ln tf) ln(n_train / df), rows of length 1.

    A term stays in the dictionary if at least `min_df` documents of D_tr hold it. A term in all of them has
    idf 0 and is left out.

    References
    ----------
    Lewis, Yang, Rose & Li (2004), RCV1, JMLR 5, section 5.1 (the "ltc" weighting).
    """

    min_df: int = 1
    needs: str = "counts"

    def fit(self, terms_train: sparse.csr_array) -> Dictionary:
        """Return the dictionary of D_tr.

        Examples
        --------
        >>> x = sparse.csr_array(np.array([[1, 2, 0], [1, 0, 0]], dtype=np.float32))
        >>> TfIdf().fit(x).columns
        array([1])
        """
        n_train = terms_train.shape[0]
        df = np.bincount(terms_train.indices, minlength=terms_train.shape[1])
        columns = np.flatnonzero((df >= max(1, self.min_df)) & (df < n_train))
        none = f"features.min_df={self.min_df}: no term of the {n_train} training documents remains"
        require(columns.size, f"{none}; a smaller value or a larger split.n_train is needed", UserError)
        return Dictionary(columns, np.log(n_train / df[columns]).astype(np.float32))

    def transform(self, dictionary: Dictionary, terms: sparse.csr_array) -> sparse.csr_array:
        """Return the document vectors, float32, shape (n_documents, n_columns); empty rows stay 0."""
        vectors = _select_columns(terms, dictionary.columns)
        vectors.data = (1 + np.log(vectors.data)) * dictionary.factors[vectors.indices]
        rows = np.repeat(np.arange(vectors.shape[0]), np.diff(vectors.indptr))
        squares = vectors.data.astype(np.float64) ** 2
        norms = np.sqrt(np.bincount(rows, weights=squares, minlength=vectors.shape[0]))
        vectors.data = (vectors.data / norms[rows]).astype(np.float32)
        return vectors


@dataclass(frozen=True)
class AsStored:
    """The corpus's own weights, unchanged; only terms that D_tr holds are kept."""

    needs: str = "any"

    def fit(self, terms_train: sparse.csr_array) -> Dictionary:
        """Return the terms that occur in D_tr."""
        columns = np.unique(terms_train.indices).astype(np.int64)
        none = "features=as_stored: the training documents hold no term; at least one is needed"
        require(columns.size, none, UserError)
        return Dictionary(columns, np.ones(columns.size, dtype=np.float32))

    def transform(self, dictionary: Dictionary, terms: sparse.csr_array) -> sparse.csr_array:
        """Return the stored values of the dictionary's terms, float32."""
        return _select_columns(terms, dictionary.columns)


def _select_columns(terms: sparse.csr_array, columns: NDArray[np.int64]) -> sparse.csr_array:
    """Return a float32 copy with `columns` (ascending) only, in linear time and canonical form."""
    place = np.full(terms.shape[1], -1, dtype=np.int32)
    place[columns] = np.arange(columns.size, dtype=np.int32)
    new = place[terms.indices]
    kept = (new >= 0) & (terms.data > 0)
    indptr = np.concatenate([[0], np.cumsum(kept, dtype=np.int64)])[terms.indptr]
    if indptr[-1] < 2**31:
        indptr = indptr.astype(np.int32)
    values = terms.data[kept].astype(np.float32)
    return sparse.csr_array((values, new[kept], indptr), shape=(terms.shape[0], columns.size))
