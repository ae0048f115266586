"""Gaussian kernel values between sparse documents: to train on, and to predict with."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from harness.models.cross_validation import Bools, Floats, Ints
from harness.models.fitted import settle

ROWS_AT_ONCE = 256
DENSE_TERMS = 256
"""So many of the most frequent terms are multiplied densely: their columns are full enough to pay for it."""
DOCUMENTS_AT_ONCE = 128
"""A block of distances to 8,000 documents then takes 4 MB, which stays near the processor."""
CLOSE_TO_ZERO = 1e-4
CLOSE_ERRORS = 2.0


def squared_norms(x: sparse.csr_array) -> Floats:
    """Return the squared length of each row, in double precision."""
    rows = np.repeat(np.arange(x.shape[0]), np.diff(x.indptr))
    squares = np.bincount(rows, weights=x.data.astype(np.float64) ** 2, minlength=x.shape[0])
    return squares.astype(np.float64)  # without any entry, numpy returns integers


def dot_products(x: sparse.csr_array, dtype: type = np.float64) -> NDArray[Any]:
    """Return all inner products of the rows of `x`, dense, shape (n, n), made a few rows at a time."""
    x = sparse.csr_array(x, dtype=dtype)
    transposed = sparse.csr_array(x.T)
    products = np.empty((x.shape[0], x.shape[0]), dtype=dtype)
    for start in range(0, x.shape[0], ROWS_AT_ONCE):
        rows = slice(start, start + ROWS_AT_ONCE)
        (x[rows] @ transposed).toarray(out=products[rows])
    return products


def gram_in_place(products: Floats, norms_rows: Floats, norms_columns: Floats, gamma: float) -> Floats:
    """Turn inner products into kernel values exp(-gamma |a - b|^2), in the same memory, which is returned."""
    for start in range(0, len(products), ROWS_AT_ONCE):
        block = products[start : start + ROWS_AT_ONCE]
        block *= -2
        block += norms_rows[start : start + ROWS_AT_ONCE, None]
        block += norms_columns
        block *= -gamma
        np.exp(block, out=block)
    return products


def take_block(products: NDArray[Any], rows: Ints, columns: Ints) -> Floats:
    """Return ``products[rows][:, columns]`` as float64 without a second matrix of that size."""
    block = np.empty((len(rows), len(columns)))
    for start in range(0, len(rows), ROWS_AT_ONCE):
        some = rows[start : start + ROWS_AT_ONCE]
        block[start : start + ROWS_AT_ONCE] = products[some][:, columns]
    return block


class Prepared(NamedTuple):
    """The kernel machines of all categories, laid out for prediction; see :func:`prepare`."""

    order: Ints
    gammas: tuple[tuple[float, int, int], ...]
    dual: Floats
    intercept: Floats
    close: Floats
    frequent: Ints
    dense: NDArray[np.float32]
    rest: sparse.csr_array
    exact: sparse.csr_array
    norms: Floats


def prepare(arrays: dict[str, NDArray[Any]]) -> Prepared:
    """Lay machines out so that a batch of documents needs one distance block, shared by all categories.

    Categories are sorted by gamma (one exponential and one matrix product for each gamma). The inner
    products are split: the `DENSE_TERMS` most frequent terms go through a dense product, which also adds
    the squared lengths, the others through a sparse one.

    Single precision may err by some multiple of its unit times the sum of a machine's absolute dual
    coefficients; decision values nearer to 0 than that (and than 1e-4) are marked to be computed again.
    """
    entries = arrays["x_data"], arrays["x_indices"], arrays["x_indptr"]
    x = sparse.csr_array(entries, shape=tuple(arrays["x_shape"].tolist()))
    order = np.argsort(arrays["gamma"], kind="stable")
    gamma, dual = arrays["gamma"][order], np.ascontiguousarray(arrays["dual"][:, order])
    values, starts = np.unique(gamma, return_index=True)
    bounds = zip(values.tolist(), starts.tolist(), [*starts[1:].tolist(), len(gamma)], strict=True)
    norms = squared_norms(x)
    frequent = np.sort(np.argsort(-np.bincount(x.indices, minlength=x.shape[1]), kind="stable")[:DENSE_TERMS])
    top = -2 * x[:, frequent].toarray().T.astype(np.float64)
    error = np.finfo(np.float32).eps * np.abs(dual).sum(axis=0) * (1 + 2 * gamma * norms.max(initial=0.0))
    return Prepared(
        order=order,
        gammas=tuple(bounds),
        dual=dual,
        intercept=arrays["intercept"][order],
        close=np.maximum(CLOSE_TO_ZERO, CLOSE_ERRORS * error),
        frequent=frequent,
        dense=np.concatenate([top, norms[None], np.ones((1, len(norms)))]).astype(np.float32),
        rest=sparse.csr_array((-2 * _without(x, frequent)).T, dtype=np.float32),
        exact=sparse.csr_array(x.T, dtype=np.float64),
        norms=norms,
    )


def decide(prepared: Prepared, x: sparse.csr_array, values: NDArray[np.float32] | None = None) -> Bools:
    """Decide a batch of documents, shape (n_documents, n_categories), categories in their own order.

    Values near 0 are computed again in double precision, on the processor. A decision value of exactly 0
    counts as positive, as in scikit-learn's ``SVC.predict``.

    `values` are decision values in single precision that were computed elsewhere, in the prepared order.
    """
    values = _single_precision(prepared, x) if values is None else values
    near = np.abs(values) < prepared.close
    exact = settle(values >= 0, near, lambda rows: decision_values(prepared, x[rows]) >= 0, DOCUMENTS_AT_ONCE)
    decisions = np.empty_like(exact)
    decisions[:, prepared.order] = exact
    return decisions


def decision_values(prepared: Prepared, x: sparse.csr_array) -> Floats:
    """Return decision values in double precision, columns in the prepared order (sorted by gamma)."""
    products = (sparse.csr_array(x, dtype=np.float64) @ prepared.exact).toarray()
    norms = squared_norms(x)
    values = np.empty((x.shape[0], prepared.dual.shape[1]))
    for gamma, start, stop in prepared.gammas:
        kernel = gram_in_place(products.copy(), norms, prepared.norms, gamma)
        values[:, start:stop] = kernel @ prepared.dual[:, start:stop]
    return values + prepared.intercept


def _single_precision(prepared: Prepared, x: sparse.csr_array) -> NDArray[np.float32]:
    """Return decision values to single precision, with buffers that all pieces of the batch reuse."""
    n_documents, n_support = x.shape[0], len(prepared.norms)
    rest = sparse.csr_array(_without(x, prepared.frequent), dtype=np.float32)
    dual = prepared.dual.astype(np.float32)
    top = np.stack([np.ones(n_documents), squared_norms(x)], axis=1)
    left = np.concatenate([x[:, prepared.frequent].toarray(), top], axis=1).astype(np.float32)
    values = np.empty((n_documents, prepared.dual.shape[1]), dtype=np.float32)
    size = min(DOCUMENTS_AT_ONCE, n_documents)
    distances, kernel = (np.empty((size, n_support), dtype=np.float32) for _ in range(2))
    for start in range(0, n_documents, DOCUMENTS_AT_ONCE):
        rows = slice(start, start + DOCUMENTS_AT_ONCE)
        n_rows = len(left[rows])
        d, k = distances[:n_rows], kernel[:n_rows]
        (rest[rows] @ prepared.rest).toarray(out=d)
        np.matmul(left[rows], prepared.dense, out=k)
        d += k
        for gamma, first, last in prepared.gammas:
            np.multiply(d, np.float32(-gamma), out=k)
            np.exp(k, out=k)
            values[rows, first:last] = k @ dual[:, first:last]
    values += prepared.intercept.astype(np.float32)
    return values


def _without(x: sparse.csr_array, terms: Ints) -> sparse.csr_array:
    """Return `x` without the entries of some terms (their columns stay, empty)."""
    left_out = np.zeros(x.shape[1], dtype=bool)
    left_out[terms] = True
    kept = ~left_out[x.indices]
    indptr = np.concatenate([[0], np.cumsum(kept)])[x.indptr].astype(x.indptr.dtype)
    return sparse.csr_array((x.data[kept], x.indices[kept], indptr), shape=x.shape)
