"""Evaluation sets as counts: from which populations, at which balance, and draws of N documents from them."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import compress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harness.balance import Balance
from harness.errors import UserError, check_share, require
from harness.measures import Floats, Ints, as_cells
from harness.outcomes import Population

LARGEST_FRACTION = 0.05  # of a population, drawn without replacement: above it tests become conservative
_HYPERGEOMETRIC_LIMIT = 10**9  # numpy's own limit on the population


def draw_sets(
    population: ArrayLike,
    n_documents: int,
    n_sets: int,
    rng: np.random.Generator,
    *,
    replacement: bool = True,
    stratified: bool = False,
) -> Ints:
    """Draw evaluation sets of `n_documents` from one population.

    Stratified, the positives and the negatives are drawn apart, N // 2 positives: the balanced sets of one
    reading of the papers. A bootstrap of such a set must be stratified too: an i.i.d. one is miscalibrated.
    The truth is then measured on the population rescaled to prevalence 1/2 (an odd N has one negative more).

    Parameters
    ----------
    population : array, shape (8,)
        Cells e1..e8: numbers of documents, or shares of any sum (with replacement only).

    Returns
    -------
    int64 array, shape (n_sets, 8)
        Each row sums to `n_documents`; a cell that is empty in the population stays empty.

    Examples
    --------
    >>> draw_sets([0, 30, 10, 0, 0, 0, 0, 60], 100, 2, np.random.default_rng(0), replacement=False)
    array([[ 0, 30, 10,  0,  0,  0,  0, 60],
           [ 0, 30, 10,  0,  0,  0,  0, 60]])
    >>> sets = draw_sets([2, 1, 0, 1, 0, 5, 5, 86], 10, 3, np.random.default_rng(0), stratified=True)
    >>> sets[:, :4].sum(axis=-1).tolist(), sets[:, 4:].sum(axis=-1).tolist()
    ([5, 5, 5], [5, 5, 5])
    """
    cells = _cells(population)
    if not stratified:
        return _draw(cells, n_documents, n_sets, rng, replacement)
    _check_classes(cells)
    n_positives = n_documents // 2
    classes = (cells[:4], n_positives), (cells[4:], n_documents - n_positives)
    return np.hstack([_draw(part, n, n_sets, rng, replacement) for part, n in classes])


def reweight(counts: ArrayLike, prevalence: float) -> Floats:
    """Return shares in which the positives have the wanted prevalence.

    The positive and the negative cells are rescaled, each by one factor: the classifiers' rates among
    positives and among negatives stay as they are, while F1, error and their differences change, so the
    truth must be computed anew from these shares.

    Parameters
    ----------
    counts : array, shape (..., 8)
        Numbers of documents or shares.

    Returns
    -------
    float array, shape (..., 8)
        e1..e4 sum to `prevalence`, e5..e8 to ``1 - prevalence``.

    Examples
    --------
    >>> reweight([1, 0, 0, 1, 0, 2, 0, 6], 0.5).tolist()
    [0.25, 0.0, 0.0, 0.25, 0.0, 0.125, 0.0, 0.375]
    """
    cells = _cells(counts).astype(float)
    check_share("prevalence", prevalence)
    _check_classes(cells)
    classes = (cells[..., :4], prevalence), (cells[..., 4:], 1 - prevalence)
    return np.concatenate([part * (p / part.sum(axis=-1, keepdims=True)) for part, p in classes], axis=-1)


def check_sizes(sizes: Iterable[int], n_population: int, *, replacement: bool) -> list[str]:
    """Check the wanted set sizes against a population; return warnings for the reader of the results.

    Returns
    -------
    list of str
        One sentence if sets without replacement hold more than 5 % of the population, else empty.

    Examples
    --------
    >>> check_sizes([100, 1000], 20_000, replacement=False)
    []
    >>> check_sizes([100, 6000], 20_000, replacement=False)
    ['Sets of 6000 documents ... are 30.0 % of the 20000 documents ...']
    """
    largest = max(sizes)
    has = f"the population has {n_population} documents"
    fits = replacement or largest <= n_population
    require(fits, f"sets.sizes: {largest} is not allowed without replacement; {has}", UserError)
    if replacement or largest <= LARGEST_FRACTION * n_population:
        return []
    return [
        f"Sets of {largest} documents drawn without replacement are {100 * largest / n_population:.1f} % of "
        f"the {n_population} documents of the population: above {100 * LARGEST_FRACTION:.0f} % "
        "differences vary less than the tests assume, and a correct test looks conservative."
    ]


def _draw(
    cells: NDArray[Any], n_documents: int, n_sets: int, rng: np.random.Generator, replacement: bool
) -> Ints:
    """Draw from the cells of a population or of one class of it."""
    drawn = np.zeros((n_sets, len(cells)), dtype=np.int64)
    # numpy gives the last cell whatever is left over, even at share 0: show it the filled cells only
    filled = cells > 0
    if replacement:
        shares = cells[filled] / cells.sum()
        drawn[:, filled] = rng.multinomial(n_documents, shares, size=n_sets)
        return drawn
    whole_numbers = (np.floor(cells) == cells).all()
    require(whole_numbers, "population: shares are not allowed without replacement; numbers of documents are")
    n_population = int(cells.sum())
    require(
        n_documents <= n_population < _HYPERGEOMETRIC_LIMIT,
        f"n_documents: {n_documents} of {n_population} documents is not allowed without replacement; "
        "at most all of them, and of fewer than 10**9, are",
    )
    whole = cells[filled].astype(np.int64)
    drawn[:, filled] = rng.multivariate_hypergeometric(whole, n_documents, size=n_sets, method="marginals")
    return drawn


def _cells(counts: ArrayLike) -> NDArray[Any]:
    """Return cells of shape (..., 8), with something in each population."""
    cells = as_cells(counts)
    some = (cells.sum(axis=-1) > 0).all()
    require(some, "counts: finite cells >= 0 with at least one above 0 in each population are allowed")
    return cells


def _check_classes(cells: NDArray[Any]) -> None:
    """Refuse a population without a positive or without a negative, saying which."""
    for name, part in (("positive", cells[..., :4]), ("negative", cells[..., 4:])):
        empty = part.sum(axis=-1) == 0
        if empty.any():
            where = tuple(np.argwhere(np.atleast_1d(empty))[0].tolist())
            raise ValueError(
                f"counts: the population at index {where} has no {name} document; "
                "only one with both classes has another balance"
            )


class Plan(NamedTuple):
    """How one population is evaluated: one block of rows in the tables.

    Attributes
    ----------
    pair, balance : str
        As in the tables.
    prevalence : float or None
        The prevalence it is rescaled to, if any.
    cells : array, shape (n_categories, 8)
        What evaluation sets are drawn from: counts, or shares where rescaled.
    truth : array, shape (n_categories, 8)
        The cells on which the truth is measured: the counts, brought to the wanted prevalence (to 1/2
        where sets are stratified) at the same number of documents.
    stratified : bool
        Whether sets hold N/2 positives exactly.
    """

    pair: str
    balance: str
    prevalence: float | None
    categories: tuple[str, ...]
    cells: NDArray[Any]
    truth: NDArray[Any]
    stratified: bool


def plan_evaluations(
    populations: Sequence[Population], balances: Mapping[str, Balance]
) -> tuple[list[Plan], list[str]]:
    """Return what to evaluate, in the order of `balances`, and a warning for each category left out.

    A category without a positive or without a negative document in D_true can be neither rescaled nor
    stratified; it is left out there, and named.

    Examples
    --------
    >>> import numpy as np
    >>> counts = np.array([[4, 1, 2, 3, 0, 5, 5, 80]])
    >>> plans, _ = plan_evaluations(
    ...     [Population("a-b", "natural", ("GCAT",), counts)], {"reweighted": Balance(prevalence=(.5,))})
    >>> float(plans[0].cells[0, :4].sum())
    0.5
    """
    plans: list[Plan] = []
    warnings: list[str] = []
    for name, balance in balances.items():
        for population in populations:
            # unions have populations of their own; every other balance is made of the natural ones
            if population.balance != (name if balance.unions else "natural"):
                continue
            pair, categories, counts = population.pair, population.categories, population.counts
            if balance.stratified or balance.prevalence is not None:
                both = (counts[:, :4].sum(axis=1) > 0) & (counts[:, 4:].sum(axis=1) > 0)
                if not both.all():
                    warnings.append(
                        f"{pair}, balance {name}: left out, as one class has no document in D_true: "
                        f"{', '.join(compress(categories, ~both))}"
                    )
                categories, counts = tuple(compress(categories, both)), counts[both]
            n_documents = counts.sum(axis=1, keepdims=True)
            for prevalence in balance.prevalence or (None,):
                cells = counts if prevalence is None else reweight(counts, prevalence)
                truth = cells if prevalence is None else n_documents * cells
                if balance.stratified and prevalence is None:
                    truth = n_documents * reweight(counts, 0.5)
                plans.append(Plan(pair, name, prevalence, categories, cells, truth, balance.stratified))
    return plans, warnings
