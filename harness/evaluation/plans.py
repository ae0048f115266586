"""What is evaluated: which populations, brought to which balance and prevalence."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.balance import Balance
from harness.evaluation.sets import reweight
from harness.outcomes import Population


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
            if population.balance != (name if balance.unions else "natural"):
                continue
            chosen = population
            if balance.stratified or balance.prevalence is not None:
                chosen, missing = _with_both_classes(population)
                if missing:
                    warnings.append(
                        f"{population.pair}, balance {name}: left out for want of positives or negatives "
                        f"in D_true: {', '.join(missing)}"
                    )
            plans += _plan(name, balance, chosen)
    return plans, warnings


def _plan(name: str, balance: Balance, population: Population) -> Iterator[Plan]:
    counts = population.counts
    n_documents = counts.sum(axis=1, keepdims=True)
    if balance.prevalence is None:
        truth = n_documents * reweight(counts, 0.5) if balance.stratified else counts
        yield Plan(population.pair, name, None, population.categories, counts, truth, balance.stratified)
        return
    for prevalence in balance.prevalence:
        cells = reweight(counts, prevalence)
        truth = n_documents * cells
        yield Plan(population.pair, name, prevalence, population.categories, cells, truth, balance.stratified)


def _with_both_classes(population: Population) -> tuple[Population, list[str]]:
    positives, negatives = population.counts[:, :4].sum(axis=1), population.counts[:, 4:].sum(axis=1)
    kept = (positives > 0) & (negatives > 0)
    names = np.array(population.categories)
    chosen = Population(
        population.pair, population.balance, tuple(names[kept].tolist()), population.counts[kept]
    )
    return chosen, names[~kept].tolist()
