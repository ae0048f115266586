"""RCV1-v2 through scikit-learn's `fetch_rcv1`."""

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from harness.corpora.corpus import PART_SIZE, Corpus, csr, ids_as_text
from harness.corpora.term_counts import recover_counts
from harness.errors import UserError, check_choice, require

N_TRAIN = 23_149
SUBSETS = ("all", "train", "test")
VALUES = ("counts", "weights")
CACHE_FILES = ("samples", "sample_id", "sample_topics", "topics_names")


def load_rcv1(
    data_home: str | Path | None = None,
    download_if_missing: bool = True,
    subset: str = "all",
    values: str = "counts",
) -> Corpus:
    """Load RCV1-v2 (804,414 documents, 47,236 terms, 103 topics) as scikit-learn fetches and keeps it.

    Download, checksums and cache are :func:`sklearn.datasets.fetch_rcv1`'s. Its cache is made of pickle
    files, which run code when they are read: give only a `data_home` that you trust. The weights that it
    holds are log tf-idf with an idf from the first 23,149 documents ("train"); with ``values="counts"`` term
    counts are recovered from them (see :func:`harness.corpora.term_counts.recover_counts`), so that a
    dictionary and an idf can be fitted on other documents. Terms are named by their number in the LYRL2004
    files. Documents carry no dates, but their ids were given in time.

    References
    ----------
    Lewis, Yang, Rose & Li (2004), JMLR 5, 361-397.
    """
    check_choice("corpus.subset", subset, SUBSETS, UserError)
    check_choice("corpus.values", values, VALUES, UserError)
    bunch = _fetch(data_home, download_if_missing)
    terms = _matrix(bunch.pop("data"), np.float32)  # seven digits: enough for counts
    n_train = min(N_TRAIN, terms.shape[0])
    chosen = {"all": slice(None), "train": slice(n_train), "test": slice(n_train, None)}[subset]
    ids = np.asarray(bunch.sample_id).astype(np.int64)[chosen]
    source = f"Weights are scikit-learn's log tf-idf; their idf is that of the first {N_TRAIN:,} documents."
    notes: tuple[str, ...] = (source,)
    if values == "counts":
        wrong = "corpus rcv1: a weight in scikit-learn's cache is negative or not a number"
        require((terms.data > 0).all(), wrong, UserError)
        recovered = recover_counts(terms, n_train)
        terms, notes = recovered.counts, recovered.notes("scikit-learn's")
    if subset != "all":  # a slice of all would be a copy
        terms = terms[chosen]
    topics, term_names = _matrix(bunch.target, np.uint8)[chosen], np.arange(1, terms.shape[1] + 1).astype(str)
    names, ordered = tuple(map(str, bunch.target_names)), bool((np.diff(ids) > 0).all())
    return Corpus("rcv1", terms, topics, ids_as_text(ids), term_names, names, values, ordered, notes)


def _fetch(data_home: str | Path | None, download_if_missing: bool) -> Any:
    """Return scikit-learn's bunch; its many kinds of failure become sentences."""
    # scikit-learn's own `get_data_home` would make the folder
    home = data_home or os.environ.get("SCIKIT_LEARN_DATA") or Path("~") / "scikit_learn_data"
    folder = Path(home).expanduser() / "RCV1"
    missing = [name for name in CACHE_FILES if not any(folder.glob(f"{name}*.pkl"))]
    if missing and not download_if_missing:
        absent = f"is absent or incomplete (no {missing[0]}_py3.pkl), and corpus.download_if_missing=false"
        raise UserError(f"{folder}: scikit-learn's cache of RCV1 {absent}")
    from sklearn.datasets import fetch_rcv1

    try:
        return fetch_rcv1(data_home=data_home, download_if_missing=download_if_missing)
    except Exception as error:  # a pickle can fail in any way
        reason = str(error).split("\n")[0] or type(error).__name__
        said = f"{folder}: scikit-learn's cache of RCV1 cannot be read ({reason}); remove it"
        if missing:
            said = f"RCV1 cannot be downloaded to {folder} ({reason}); is there a network?"
        raise UserError(said) from error


def _matrix(matrix: Any, kind: type) -> sparse.csr_array:
    """Return a canonical matrix without stored zeros, 32-bit indices where they suffice."""
    result = sparse.csr_array(matrix)
    # the matrix's own astype would copy the indices too
    result.data = _narrowed(result.data) if kind is np.float32 else result.data.astype(kind, copy=False)
    result.sum_duplicates()
    result.eliminate_zeros()
    return csr(result.data, result.indices, result.indptr, result.shape[1])


def _narrowed(values: NDArray[Any]) -> NDArray[np.float32]:
    """Return values as float32; where they are all of a float64 array that owns its memory, within it.

    Beside each other they would take 750 MB on all of RCV1. What is given is of no use afterwards, nor is any
    other view of that array.
    """
    base = values.base
    if isinstance(base, np.ndarray) and base.dtype == values.dtype and base.shape == values.shape:
        values = base  # joblib returns a view of what it read
    if values.dtype != np.float64 or not values.flags.owndata:
        return values.astype(np.float32, copy=False)
    n_values = len(values)
    narrow = values.view(np.float32)
    for start in range(0, n_values, PART_SIZE):
        part = values[start : start + PART_SIZE].astype(np.float32)
        narrow[start : start + len(part)] = part  # always behind what is still to be read
    del narrow
    values.resize((n_values + 1) // 2, refcheck=False)
    return values.view(np.float32)[:n_values]
