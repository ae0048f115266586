"""What is evaluated: which populations, brought to which balance and prevalence."""

from collections.abc import Mapping, Sequence
from itertools import compress
from typing import Any, NamedTuple

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
