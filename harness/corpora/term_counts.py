"""Recover term counts from cosine-normalised log tf-idf weights."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Floats = NDArray[np.float64]

TOLERANCE = 1e-3
"""Largest relative misfit of a ratio to 1 + ln(count); weights with six decimals stay well below it."""
CHUNK_DOCUMENTS = 10_000
N_PROBED = 2_000
MAX_SMALLEST = 8
"""Largest count that is tried for a document's least frequent term."""


class Recovered(NamedTuple):
    """Term counts, whole numbers >= 1 where the weights have an entry, and how far they can be trusted.

    Attributes
    ----------
    n_unresolved : int
        Documents with at least one weight that fits no whole count (rounded to the nearest all the same).
    idf_known : bool
        True where the document frequencies explain the weights; False where the idf had to be estimated
        from the weights.
    """

    counts: sparse.csr_array
    n_unresolved: int
    idf_known: bool

    def notes(self, source: str) -> tuple[str, ...]:
        """Return what a reader must know of counts that were recovered from the weights of `source`."""
        notes = [f"Term counts were recovered from {source} log tf-idf weights."]
        if not self.idf_known:
            notes.append(
                "The train documents' frequencies do not explain the weights: idf was estimated from the "
                "weights themselves, and a few counts in a thousand may be wrong."
            )
        if self.n_unresolved:
            notes.append(
                f"{self.n_unresolved:,} of {self.counts.shape[0]:,} documents have a weight that fits no "
                "whole count (the nearest was taken)."
            )
        return tuple(notes)


def recover_counts(weights: sparse.csr_array, n_idf_rows: int) -> Recovered:
    """Recover the term counts that stand behind ``weight = (1 + ln count) idf / norm``.

    With idf = ln(n_idf_rows / n_t), n_t the term's document frequency in the first `n_idf_rows` rows, one
    unknown a document remains, its scale: the ratio weight / idf at a count of 1. The smallest ratio of the
    document is tried as that of count 1, then 2, ... 8, until all its ratios are those of whole counts.
    A term that the first rows lack, or that each of them holds, gets the idf at which its smallest count
    is 1. Where the document frequencies explain less than half of a sample of documents, the weights
    were made with another collection's idf; idf and scales are then estimated in turns from the
    weights themselves (most counts are 1, and all are whole), which leaves about 4 counts in 1000 unsure.

    A document is known up to what its weights distinguish: {2, 2, 2} and {1, 1, 1} have the same weights.
    Weights are > 0; the counts are put where weights in float32 were (of RCV1 either takes 250 MB).

    References
    ----------
    Lewis, Yang, Rose & Li (2004), JMLR 5, 361-397, section 7 (the weights of RCV1-v2).
    """
    n_documents = weights.shape[0]
    idf = _idf(weights, n_idf_rows)
    probed = np.unique(np.linspace(0, n_documents - 1, min(N_PROBED, n_documents)).astype(np.int64))
    _, fits = _known_scales(weights[probed], idf)
    idf_known = bool(fits.mean() >= 0.5)
    if idf_known:
        scales, _ = _known_scales(weights, idf)
    else:
        idf, scales = _estimate(weights)
    counts, n_unresolved = _round(weights, _complete(idf, weights, scales), scales)
    return Recovered(counts, n_unresolved, idf_known)


def _idf(weights: sparse.csr_array, n_rows: int) -> Floats:
    """Return ln(n_rows / n_t), NaN where unknown (n_t = 0) or unable to give a weight (n_t = n_rows)."""
    n_t = np.bincount(weights.indices[: weights.indptr[n_rows]], minlength=weights.shape[1])
    usable = (n_t > 0) & (n_t < n_rows)
    idf = np.full(weights.shape[1], np.nan)
    idf[usable] = np.log(n_rows / n_t[usable])
    return idf


class _Chunk(NamedTuple):
    """Entries of some consecutive non-empty documents."""

    documents: NDArray[np.int64]
    entries: slice
    weights: Floats
    terms: NDArray[np.int64]
    rows: NDArray[np.int64]
    """Index into `documents` of each entry."""

    def sums(self, values: NDArray[Any]) -> Floats:
        """Return the sum of `values` over each document's entries."""
        return np.asarray(np.bincount(self.rows, values, len(self.documents)), dtype=np.float64)

    def starts(self) -> NDArray[np.int64]:
        """Return the first entry of each document."""
        return np.concatenate([[0], np.cumsum(np.bincount(self.rows))[:-1]])


def _chunks(weights: sparse.csr_array) -> Iterator[_Chunk]:
    """Yield the entries in chunks, so that temporary arrays stay small on 62 million entries."""
    for first in range(0, weights.shape[0], CHUNK_DOCUMENTS):
        last = min(first + CHUNK_DOCUMENTS, weights.shape[0])
        entries = slice(int(weights.indptr[first]), int(weights.indptr[last]))
        n_entries = np.diff(weights.indptr[first : last + 1])
        filled = np.flatnonzero(n_entries)
        if len(filled) == 0:
            continue
        rows = np.repeat(np.arange(len(filled)), n_entries[filled])
        yield _Chunk(
            filled + first, entries, weights.data[entries].astype(np.float64), weights.indices[entries], rows
        )


def _nearest(ratios: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the whole counts whose 1 + ln(count) is nearest to the ratios, and whether they fit."""
    counts = np.maximum(np.round(np.exp(np.minimum(ratios, 14) - 1)), 1)
    # NaN (a term without idf) says nothing against a document, so it fits.
    return counts, ~(np.abs(ratios - 1 - np.log(counts)) > TOLERANCE * ratios)


def _known_scales(weights: sparse.csr_array, idf: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Return each document's scale under a known idf (NaN if it cannot be told), and whether all fits."""
    scales = np.full(weights.shape[0], np.nan)
    fits_all = np.diff(weights.indptr) == 0
    for chunk in _chunks(weights):
        ratios = chunk.weights / idf[chunk.terms]
        smallest = np.fmin.reduceat(ratios, chunk.starts())
        best, best_share = smallest.copy(), np.full(len(smallest), -1.0)
        is_open = np.isfinite(smallest)
        for count in range(1, MAX_SMALLEST + 1):
            used = is_open[chunk.rows]
            rows = chunk.rows[used]
            tried = smallest / (1 + np.log(count))
            _, fits = _nearest(ratios[used] / tried[rows])
            n_entries = np.maximum(np.bincount(rows, minlength=len(smallest)), 1)
            share = np.bincount(rows, fits, len(smallest)) / n_entries
            better = is_open & (share > best_share)
            best[better], best_share[better] = tried[better], share[better]
            is_open &= best_share < 1
            if not is_open.any():
                break
        scales[chunk.documents] = _polish(chunk, idf, best)
        fits_all[chunk.documents] = best_share == 1
    return scales, fits_all


def _polish(chunk: _Chunk, idf: Floats, scales: Floats) -> Floats:
    """Spread the rounding error of the one weight that set the scale over all the document's weights."""
    counts, fits = _nearest(chunk.weights / (idf[chunk.terms] * scales[chunk.rows]))
    used = fits & np.isfinite(idf[chunk.terms])
    told = chunk.sums(np.where(used, idf[chunk.terms] * (1 + np.log(counts)), 0))
    return np.where(told > 0, chunk.sums(chunk.weights * used) / np.where(told > 0, told, 1), scales)


def _estimate(weights: sparse.csr_array) -> tuple[Floats, Floats]:
    """Estimate idf and scales in turns, from weights alone.

    ln(weight) = ln(1 + ln count) + ln(idf) + ln(scale): given whole counts, the mean residual of a term
    corrects its idf and that of a document its scale; given these, the counts are rounded anew. Residuals
    beyond a limit that shrinks from turn to turn come from wrong counts and are left out.
    """
    n_t = np.bincount(weights.indices, minlength=weights.shape[1])
    log_idf = np.log(np.log((weights.shape[0] + 1) / np.maximum(n_t, 0.5)))
    log_scale = np.zeros(weights.shape[0])
    for turn, limit in enumerate((np.inf, 0.3, 0.3, 0.3, 0.1, 0.01, 0.001)):
        moved, n_used = np.zeros(weights.shape[1]), np.zeros(weights.shape[1])
        for chunk in _chunks(weights):
            log_weights = np.log(chunk.weights) - log_idf[chunk.terms]
            if turn == 0:
                log_scale[chunk.documents] = _first_scale(chunk, log_weights)
            scale = log_scale[chunk.documents]
            counts, _ = _nearest(np.exp(log_weights - scale[chunk.rows]))
            log_weights -= np.log1p(np.log(counts))
            used = np.abs(log_weights - scale[chunk.rows]) < limit
            n_in_document = chunk.sums(used)
            told = chunk.sums(np.where(used, log_weights, 0)) / np.maximum(n_in_document, 1)
            scale = log_scale[chunk.documents] = np.where(n_in_document > 0, told, scale)
            residual = np.where(used, log_weights - scale[chunk.rows], 0)
            moved += np.bincount(chunk.terms, residual, weights.shape[1])
            n_used += np.bincount(chunk.terms, used, weights.shape[1])
        log_idf += moved / np.maximum(n_used, 1)
    return np.exp(log_idf), np.exp(log_scale)


def _first_scale(chunk: _Chunk, log_ratios: Floats) -> Floats:
    """Return the log ratio at a count of 1: the 36 % quantile, amid the 72 % of entries with that count."""
    # One sort for all documents: each has its own stretch of numbers, wider than the ratios' range.
    keys = np.sort(chunk.rows * 128.0 + np.clip(log_ratios, -60, 60))
    n_entries = np.bincount(chunk.rows)
    first: Floats = keys[chunk.starts() + (0.36 * n_entries).astype(np.int64)]
    return first - np.arange(len(n_entries)) * 128.0


def _complete(idf: Floats, weights: sparse.csr_array, scales: Floats) -> Floats:
    """Give terms without idf the one at which their smallest count is 1."""
    missing = np.isnan(idf)
    if not missing.any():
        return idf
    smallest = np.full(len(idf), np.inf)
    for chunk in _chunks(weights):
        used = missing[chunk.terms]
        ratios = chunk.weights[used] / scales[chunk.documents][chunk.rows[used]]
        np.fmin.at(smallest, chunk.terms[used], ratios)
    return np.where(missing, smallest, idf)


def _round(weights: sparse.csr_array, idf: Floats, scales: Floats) -> tuple[sparse.csr_array, int]:
    """Return whole counts, and the number of documents that do not fit them."""
    data = weights.data.astype(np.float32, copy=False)
    n_unresolved = 0
    for chunk in _chunks(weights):
        scale = scales[chunk.documents]
        counts, fits = _nearest(chunk.weights / (idf[chunk.terms] * scale[chunk.rows]))
        data[chunk.entries] = np.where(np.isfinite(counts), counts, 1)
        n_unresolved += int(((chunk.sums(~fits) > 0) | ~np.isfinite(scale)).sum())
    counts = sparse.csr_array((data, weights.indices, weights.indptr), shape=weights.shape)
    return counts, n_unresolved
