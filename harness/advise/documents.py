"""Populations of documents on several categories: pairs of systems, their nulls and alternatives."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from harness.advise.decisions import Decisions
from harness.advise.document_null import nearest_null
from harness.advise.document_tests import (
    MACRO,
    Costs,
    Kinds,
    difference_by_document,
    difference_of_totals,
    influence_of_documents,
)
from harness.advise.points import PairPopulation
from harness.advise.predictions import name_pairs
from harness.advise.tilt import tilt_to
from harness.errors import UserError
from harness.nulls.projection import RATIOS, NoProjection
from harness.nulls.ratios import equal_ratios

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_CELLS = 5_000_000
"""Kinds times terms for which memory has room: some 1 GiB."""
_BALANCED = 1e-8
_EXCHANGED = [0, 2, 1, 3, 4, 6, 5, 7]  # the cells with A and B exchanged
_FARTHEST = 500.0


class DocumentPair(NamedTuple):
    """The documents of two systems.

    Attributes
    ----------
    kinds : Kinds
    frequencies : int array, shape (n_kinds,)
        Documents of each kind; 0 for kinds that are in `weights` alone.
    weights : float array, shape (n_kinds,)
        From which populations are made: the frequencies, and where they have no null half a document more.
    """

    kinds: Kinds
    frequencies: Ints
    weights: Floats


def document_pairs(
    decisions: Decisions, measure: str, average: str = "micro", costs: Costs = ()
) -> tuple[dict[str, DocumentPair], list[str]]:
    """Return the documents of every pair of systems, and notes on pairs that never disagree.

    Parameters
    ----------
    decisions : Decisions
    measure : str
        One of :data:`harness.measures.DIFFERENCES`.
    average : {"micro", "macro"}
        Of all decisions together, or the mean over the categories; for the error both are the same.
    costs : tuple
        Of ``"dcf"``; see :class:`harness.advise.document_tests.Kinds`.

    Raises
    ------
    UserError
        If no two systems disagree on any decision, no truth is yes, no pair has a null, or memory lacks
        the room.
    """
    truth = decisions.truth()
    if not truth.any() or truth.all():
        raise UserError(
            f"predictions={decisions.name}: the truth is {'yes' if truth.any() else 'no'} everywhere; both "
            "are needed"
        )
    if not Kinds(np.zeros((0, 1, 8), dtype=np.int64), measure, costs).parts():
        raise UserError(
            "test.dcf: neither a miss nor a false alarm costs anything; one at least is needed above 0"
        )
    found, notes, differ = {}, [], False
    by_category = average == MACRO and measure != "error"
    for a, b, pair in name_pairs(decisions.systems):
        by_a, by_b = decisions.said(a), decisions.said(b)
        if (by_a == by_b).all():
            notes.append(f"{a} and {b} say the same of every item; there is nothing to test")
            continue
        codes = 4 * (~truth).view(np.uint8) + 2 * (~by_b).view(np.uint8) + (~by_a).view(np.uint8)
        cells, frequencies = _kinds_by_category(codes) if by_category else _kinds_pooled(codes)
        kinds = Kinds(cells, measure, costs)
        _check_room(decisions.name, kinds)
        sums = kinds.sums()
        if (sums[..., :2] == sums[..., 2:]).all():
            notes.append(f"{a} and {b} differ on no item that counts for {measure}; there is nothing to test")
            continue
        differ = True
        own, more = _with_null(pair, kinds, frequencies)
        notes += more
        if own is not None:
            found[pair] = own
    if not found:
        raise UserError(f"predictions={decisions.name}: {_why_no_pair(measure, differ)}")
    return found, notes


def _why_no_pair(measure: str, differ: bool) -> str:
    if not differ:
        return f"the systems say the same of every item that counts for {measure}; there is nothing to test"
    return (
        f"no population of items like these has a difference of 0 in {measure}; another average, or "
        "category=NAME, may have one"
    )


def _kinds_pooled(codes: NDArray[np.uint8]) -> tuple[Ints, Ints]:
    """Return the different counts of cells, shape (n_kinds, 1, 8), and how often each is."""
    cells = np.stack([(codes == cell).sum(axis=1) for cell in range(8)], axis=1)
    different, frequencies = np.unique(cells, axis=0, return_counts=True)
    return different.astype(np.int64)[:, None], frequencies


def _kinds_by_category(codes: NDArray[np.uint8]) -> tuple[NDArray[np.integer], Ints]:
    """Return the different rows of cells, shape (n_kinds, n_categories, 8), and how often each is."""
    different, frequencies = np.unique(codes, axis=0, return_counts=True)
    return np.eye(8, dtype=np.int8)[different], frequencies


def _check_room(name: str, kinds: Kinds) -> None:
    n_kinds, n_terms = len(kinds.cells), len(kinds.weights())
    if n_kinds * n_terms > MOST_CELLS:
        raise UserError(
            f"predictions={name}: average=macro over {kinds.cells.shape[1]:,} categories with {n_kinds:,} "
            f"different items needs more memory than is allowed ({MOST_CELLS:,} items times ratios); take "
            "fewer items, average=micro, or category=NAME for one of the categories"
        )


def _with_null(pair: str, kinds: Kinds, frequencies: Ints) -> tuple[DocumentPair | None, list[str]]:
    """Return a pair's documents, where they have no null with some exchanged ones, and notes."""
    own = DocumentPair(kinds, frequencies, frequencies.astype(float))
    if _has_null(own):
        return own, []
    own = _with_exchanged(kinds, frequencies)
    if _has_null(own):
        return own, [
            f"{pair}: no population of documents like these has a difference of 0 in {kinds.measure}; half a "
            "document with A and B exchanged was added"
        ]
    return None, [f"{pair}: no population was found with a difference of 0; it is left out"]


def _has_null(pair: DocumentPair) -> bool:
    return bool(np.isfinite(_projected(pair.weights[None], pair.kinds)).all())


def _with_exchanged(kinds: Kinds, frequencies: Ints) -> DocumentPair:
    """Add kinds in which A and B are exchanged, which together weigh half a document."""
    cells = np.concatenate([kinds.cells, kinds.cells[..., _EXCHANGED]])
    different, place = np.unique(cells, axis=0, return_inverse=True)
    known, added = np.split(place.ravel(), 2)
    counted = np.bincount(known, weights=frequencies, minlength=len(different))
    more = np.bincount(added, weights=frequencies, minlength=len(different)) / frequencies.sum() / 2
    return DocumentPair(kinds._replace(cells=different), counted.astype(np.int64), counted + more)


def project_documents(weights: Floats | Ints, kinds: Kinds) -> Floats:
    """Return the shares nearest to given ones in KL(q||p) under which the measures agree.

    For micro F1 and precision :func:`harness.nulls.ratios.equal_ratios` seeks them, with a kind for a cell.
    For the micro error and recall, whose denominators are the same for A and B, the null says that a
    document's difference has mean 0, and the nearest shares are ``q_i ~ p_i exp(t x_i)`` (Csiszar 1975,
    Annals of Probability 3, 146-158, theorem 3.1). Sums of several ratios (the DCF, macro averages) are led
    to 0 by :func:`harness.advise.document_null.nearest_null`, whose shares satisfy the first-order conditions
    of the nearest and are not proven to be the nearest of all.

    Parameters
    ----------
    weights : array, shape (n, n_kinds)
        Documents of each kind, or shares.
    kinds : Kinds

    Raises
    ------
    NoProjection
        If the documents favour only one of the two.
    """
    found = _projected(np.asarray(weights, dtype=float), kinds)
    if not np.isfinite(found).all():
        raise NoProjection(f"the documents favour only one of the two in {kinds.measure}")
    return found


def _projected(weights: Floats, kinds: Kinds) -> Floats:
    """Return the projections, rows of NaN where there is none."""
    shares = weights / weights.sum(axis=1, keepdims=True)
    sums = kinds.sums()
    single = sums.shape[1] == 1
    if single and kinds.measure in RATIOS:
        tops, bottoms = (side @ kinds.cells[:, 0].T.astype(float) for side in RATIOS[kinds.measure])
        # both odds neither 0 nor infinite, as the search needs them
        good = all((shares @ side.T > 0).all() for side in (tops, bottoms))
        found = equal_ratios(shares, tops, bottoms) if good else np.full_like(shares, np.nan)
    elif single:
        found = np.stack([_mean_zero(row, sums[:, 0, 0] - sums[:, 0, 2]) for row in shares])
    else:
        found = nearest_null(shares, kinds)
    gaps = difference_by_document(np.nan_to_num(found), kinds)
    return np.where((np.abs(gaps) <= _BALANCED)[:, None], found, np.nan)


def _mean_zero(shares: Floats, x: Floats) -> Floats:
    """Return ``q_i ~ p_i exp(t x_i)`` with ``sum q_i x_i = 0``; NaN where x has one sign alone."""
    own = x[shares > 0]
    if not (own.min() < 0 < own.max()) and own.any():
        return np.full_like(shares, np.nan)

    def tilted(t: float) -> Floats:
        exponent = t * x
        q = shares * np.exp(exponent - exponent[shares > 0].max())
        return q / q.sum()

    if abs(float(shares @ x)) < 1e-15:
        return shares
    last = _FARTHEST / np.abs(own[own != 0]).min()
    return tilted(brentq(lambda t: float(tilted(t) @ x), -last, last, xtol=1e-14, rtol=1e-14))


def populations_of_documents(
    pair: DocumentPair, n_draws: int, generator: np.random.Generator
) -> PairPopulation:
    """Return the null nearest to a pair's documents, and those of populations that could be theirs.

    The populations are those of the Bayesian bootstrap: each document weighs as much as an exponential draw,
    so that the kinds' shares are Dirichlet(frequencies) (Rubin 1981, Annals of Statistics 9, 130-134). A
    prior on kinds, as on the eight cells of one category, would weigh more than the documents where most
    kinds are of one document.
    """
    null = project_documents(pair.weights[None], pair.kinds)[0]
    draws = np.maximum(generator.dirichlet(pair.weights, size=n_draws), 1e-12)
    drawn = _projected(draws, pair.kinds)
    found = np.isfinite(drawn).all(axis=1)
    n_lost = int((~found).sum())
    notes = [f"{n_lost} of {n_draws} populations have no null and are left out"] if n_lost else []
    return PairPopulation(null, drawn[found], notes)


def deviation_of_documents(shares: Floats, kinds: Kinds) -> float:
    """Return the standard deviation of the difference on N documents, times sqrt(N), to first order."""
    psi = influence_of_documents(shares, kinds)
    return float(np.sqrt(shares @ psi**2))


def tilt_documents(null: Floats, wanted: float, kinds: Kinds) -> Floats:
    """Return the null tilted along the documents' influence to a difference of `wanted`.

    Raises
    ------
    NoAlternative
        As :func:`harness.advise.tilt.tilted`.
    """
    psi = np.where(null > 0, influence_of_documents(null, kinds), 0.0)
    sums, weights = kinds.sums().reshape(len(null), -1), kinds.weights()

    def measured(q: Floats) -> Floats:
        return difference_of_totals((q @ sums).reshape(-1, 4), weights)

    return tilt_to(null, psi, measured, wanted, kinds.measure)
