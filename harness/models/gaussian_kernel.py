"""Gaussian kernel values between sparse documents: to train on, and to predict with."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Floats = NDArray[np.float64]
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


def take_block(products: NDArray[Any], rows: NDArray[np.int64], columns: NDArray[np.int64]) -> Floats:
    """Return ``products[rows][:, columns]`` as float64 without a second matrix of that size."""
    block = np.empty((len(rows), len(columns)))
    for start in range(0, len(rows), ROWS_AT_ONCE):
        some = rows[start : start + ROWS_AT_ONCE]
        block[start : start + ROWS_AT_ONCE] = products[some][:, columns]
    return block


class Machines(NamedTuple):
    """Kernel machines of many categories over one list of documents, those that support any of them."""

    x: sparse.csr_array
    dual: Floats
    intercept: Floats
    gamma: Floats


class Prepared(NamedTuple):
    """`Machines` laid out for prediction; see :func:`prepare`."""

    order: NDArray[np.int64]
    gammas: tuple[tuple[float, int, int], ...]
    dual: Floats
    dual_single: NDArray[np.float32]
    intercept: Floats
    close: Floats
    frequent: NDArray[np.int64]
    left_out: NDArray[np.bool_]
    dense: NDArray[np.float32]
    rest: sparse.csr_array
    exact: sparse.csr_array
    norms: Floats


def prepare(machines: Machines) -> Prepared:
    """Lay machines out so that a batch of documents needs one distance block, shared by all categories.

    Categories are sorted by gamma (one exponential and one matrix product for each gamma). The inner
    products are split: the `DENSE_TERMS` most frequent terms go through a dense product, which also adds
    the squared lengths, the others through a sparse one.

    Single precision may err by some multiple of its unit times the sum of a machine's absolute dual
    coefficients; decision values nearer to 0 than that (and than 1e-4) are marked to be computed again.
    """
    order = np.lexsort((np.arange(len(machines.gamma)), machines.gamma))
    gamma, dual = machines.gamma[order], np.ascontiguousarray(machines.dual[:, order])
    values, starts = np.unique(gamma, return_index=True)
    stops = [*starts[1:].tolist(), len(gamma)]
    norms = squared_norms(machines.x)
    df = np.bincount(machines.x.indices, minlength=machines.x.shape[1])
    frequent = np.sort(np.argsort(-df, kind="stable")[:DENSE_TERMS])
    left_out = np.zeros(machines.x.shape[1], dtype=bool)
    left_out[frequent] = True
    top = -2 * machines.x[:, frequent].toarray().T.astype(np.float64)
    dense = np.concatenate([top, norms[None], np.ones((1, len(norms)))]).astype(np.float32)
    largest = norms.max(initial=0.0)
    error = np.finfo(np.float32).eps * np.abs(dual).sum(axis=0) * (1 + 2 * gamma * largest)
    return Prepared(
        order,
        tuple((float(g), int(a), int(b)) for g, a, b in zip(values, starts, stops, strict=True)),
        dual,
        dual.astype(np.float32),
        machines.intercept[order],
        np.maximum(CLOSE_TO_ZERO, CLOSE_ERRORS * error),
        frequent,
        left_out,
        dense,
        sparse.csr_array((-2 * _without(machines.x, left_out)).T, dtype=np.float32),
        sparse.csr_array(machines.x.T, dtype=np.float64),
        norms,
    )


def decide(
    prepared: Prepared, x: sparse.csr_array, values: NDArray[np.float32] | None = None
) -> NDArray[np.bool_]:
    """Decide a batch of documents, shape (n_documents, n_categories), categories in their own order.

    Values near 0 are computed again in double precision, on the processor. A decision value of exactly 0
    counts as positive, as in scikit-learn's ``SVC.predict``.

    `values` are decision values in single precision that were computed elsewhere, in the prepared order.
    """
    values = _single_precision(prepared, x) if values is None else values
    near = np.abs(values) < prepared.close
    positive = values >= 0
    rows = np.flatnonzero(near.any(axis=1))
    for start in range(0, len(rows), DOCUMENTS_AT_ONCE):
        some = rows[start : start + DOCUMENTS_AT_ONCE]
        exact = decision_values(prepared, x[some])
        positive[some] = np.where(near[some], exact >= 0, positive[some])
    decisions = np.empty_like(positive)
    decisions[:, prepared.order] = positive
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
    rest = sparse.csr_array(_without(x, prepared.left_out), dtype=np.float32)
    norms = squared_norms(x)
    top = np.stack([np.ones(n_documents), norms], axis=1)
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
            values[rows, first:last] = k @ prepared.dual_single[:, first:last]
    values += prepared.intercept.astype(np.float32)
    return values


def _without(x: sparse.csr_array, left_out: NDArray[np.bool_]) -> sparse.csr_array:
    """Return `x` without the entries of the terms in `left_out` (their columns stay, empty)."""
    kept = ~left_out[x.indices]
    indptr = np.concatenate([[0], np.cumsum(kept)])[x.indptr].astype(x.indptr.dtype)
    return sparse.csr_array((x.data[kept], x.indices[kept], indptr), shape=x.shape)
