"""Class balance: which label sets are studied, and how their evaluation sets are drawn."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from harness.errors import UserError
from harness.seeding import rng

MOST_CATEGORIES = 10_000

Bools = NDArray[np.bool_]


class Categories(NamedTuple):
    """Label sets made of topics."""

    names: tuple[str, ...]
    members: Bools
    """Shape (n_categories, n_topics): the topics whose union each category is."""


@dataclass(frozen=True)
class Balance:
    """One reading of "balanced" or "unbalanced".

    `unions`: categories are `n_categories` unions of randomly chosen topics ("meta-categories") with a
    prevalence between `low` and `high` on D_tr; else they are the topics themselves. `retrain`: models are
    trained on the categories' own labels; else a union's decision is the OR of its topics' decisions.
    `stratified`: an evaluation set holds exactly N/2 positives. `prevalence`: rescale the population to each
    of these.

    References
    ----------
    Keller, Bengio & Wong (2005), section 4.2; how many unions, and that the models are retrained on
    them, is inferred.
    """

    unions: bool = False
    retrain: bool = True
    stratified: bool = False
    prevalence: tuple[float, ...] | None = None
    n_categories: int = 101
    low: float = 0.45
    high: float = 0.55

    def __post_init__(self) -> None:
        if not 0 < self.low <= self.high < 1:
            raise UserError(f"balance: low={self.low}, high={self.high}; 0 < low <= high < 1 is allowed")
        n = self.n_categories
        if type(n) is not int or not 1 <= n <= MOST_CATEGORIES:
            raise UserError(f"balance: n_categories={n!r}; at least 1, at most {MOST_CATEGORIES:,}")
        if self.prevalence is not None and not self.prevalence:
            raise UserError("balance: prevalence is empty; at least one number between 0 and 1 is needed")
        for value in self.prevalence or ():
            if not isinstance(value, int | float) or not 0 < value < 1:
                raise UserError(f"balance: prevalence={value!r}; numbers between 0 and 1 are allowed")


def natural_categories(topics_train: sparse.csr_array, names: tuple[str, ...]) -> Categories:
    """Return the topics that have a positive document in D_tr, each a category of its own."""
    positives = np.bincount(topics_train.indices, minlength=len(names))
    kept = np.flatnonzero(positives)
    return Categories(tuple(names[i] for i in kept), np.eye(len(names), dtype=bool)[kept])


def union_categories(
    topics_train: sparse.csr_array, *, n_categories: int, low: float, high: float, seed: int
) -> Categories:
    """Draw unions of topics whose prevalence on D_tr lies between `low` and `high`.

    Topics are taken in random order; one that would bring the union above `high` is skipped; the union is
    complete once it reaches `low`. All unions differ; after 50 draws in a row without a new one there are
    fewer than asked for.

    Examples
    --------
    >>> topics = sparse.csr_array(np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]], dtype=np.uint8))
    >>> union_categories(topics, n_categories=3, low=.45, high=.55, seed=0).members.sum(axis=1)
    array([2, 2, 2])
    """
    labels = np.asarray(topics_train.toarray().T, dtype=bool)
    with_positives = np.flatnonzero(labels.any(axis=1))
    unions: dict[bytes, Bools] = {}
    generator = rng(seed, "unions")
    fruitless = 0
    while len(unions) < n_categories and fruitless < 50:
        members = _draw_union(labels, generator.permutation(with_positives), low, high)
        if members is None or members.tobytes() in unions:
            fruitless += 1
        else:
            unions[members.tobytes()] = members
            fruitless = 0
    if not unions:
        raise UserError(
            f"balance: no union of topics has a prevalence between {low} and {high} on the "
            f"{labels.shape[1]} training documents; balance=natural needs none"
        )
    names = tuple(f"meta_{i:03d}" for i in range(1, len(unions) + 1))
    return Categories(names, np.array(list(unions.values())))


def _draw_union(labels: Bools, order: NDArray[np.intp], low: float, high: float) -> Bools | None:
    """Return the members of one union, or None where the draw ends below `low`."""
    members = np.zeros(labels.shape[0], dtype=bool)
    union = np.zeros(labels.shape[1], dtype=bool)
    for topic in order:
        wider = union | labels[topic]
        if wider.mean() <= high:
            members[topic] = True
            union = wider
            if union.mean() >= low:
                return members
    return None


def label_documents(topics: sparse.csr_array, categories: Categories) -> Bools:
    """Return which documents belong to which category, shape (n_documents, n_categories)."""
    members = sparse.csr_array(categories.members.T.astype(np.int32))
    return np.asarray((topics.astype(np.int32) @ members).toarray() > 0)


def unite_decisions(decisions: Bools, natural: Categories, categories: Categories) -> Bools:
    """Return for each union the OR of the decisions on its topics, which the natural categories name."""
    used = natural.members.argmax(axis=1)  # the topic behind each natural category
    united = [decisions[:, members[used]].any(axis=1) for members in categories.members]
    return np.stack(united, axis=1)
