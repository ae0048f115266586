"""From populations to the two long tables: rejections of every test, and where H0 counts as true."""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.balance import Balance
from harness.errors import UserError
from harness.evaluation_sets import draw_sets, draw_stratified, reweight
from harness.measures import costs_text
from harness.outcomes import Population
from harness.parallel import Run
from harness.questions import Question, ask
from harness.rejections import Test, count_rejections
from harness.seeding import rng
from harness.size_power import dead_categories, fewest_discordances
from harness.store import Arrays

if TYPE_CHECKING:
    import pandas as pd

MakeRun = Callable[..., Run]


class Plan(NamedTuple):
    """How one population is evaluated: one block of rows in the tables.

    Attributes
    ----------
    pair, balance : str
        As in the tables.
    prevalence : float or None
        The prevalence it is rescaled to, if any.
    categories : tuple of str
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

    Parameters
    ----------
    populations : sequence of Population
    balances : mapping of str to Balance

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


def evaluate(
    plans: Sequence[Plan],
    *,
    tests: Sequence[Test],
    rules: Mapping[str, Callable[..., NDArray[np.bool_]]],
    alphas: Sequence[float],
    sizes: Sequence[int],
    n_sets: int,
    n_truth_sets: int,
    replacement: bool,
    seed: int,
    make_run: MakeRun,
    describe: Mapping[str, object],
) -> tuple["pd.DataFrame", "pd.DataFrame"]:
    """Run every test on every plan's evaluation sets, and every rule on independent ones.

    Parameters
    ----------
    plans : sequence of Plan
    tests : sequence of Test
    rules : mapping of str to callable
        Rules for "H0 is true"; see :mod:`harness.nulls`.
    alphas : sequence of float
    sizes : sequence of int
        Numbers of documents of an evaluation set.
    n_sets, n_truth_sets : int
        Evaluation sets of a point, and the independent ones from which the rules are judged.
    replacement : bool
    seed : int
    make_run : callable
        (stage, *inputs) -> Run.
    describe : mapping
        JSON description of tests and rules, part of the units' keys.

    Returns
    -------
    rejections, truths : pandas.DataFrame
        One row per plan, category, test (question and rule), alpha and size. A question is a measure and
        its costs; tests of one measure at other costs have truths of their own.

    Raises
    ------
    UserError
        If stratified sets without replacement want more documents of a class than there are.
    """
    import pandas as pd

    if not replacement:
        _check_classes(plans, max(sizes))
    grid = {"sizes": list(sizes), "alphas": list(alphas)}
    options = {"sizes": sizes, "alphas": alphas, "seed": seed, "replacement": replacement}
    questions = ask(tests)
    reject_options = options | {"tests": tests, "n_sets": n_sets}
    truth_options = options | {"rules": rules, "questions": questions, "n_draws": n_truth_sets}
    units, names = zip(*_units(plans), strict=True)
    inputs = (grid, seed, replacement, dict(describe))
    rejected = make_run("rejections", *inputs, n_sets)(
        _reject_unit,
        [(*unit, reject_options) for unit in units],
        names,
        threads=False,
        description="testing evaluation sets",
    )
    judged = make_run("truths", *inputs, n_truth_sets)(
        _judge_unit,
        [(*unit, truth_options) for unit in units],
        names,
        threads=False,
        description="judging where H0 is true",
    )
    fewest = fewest_to_reject(tests, sizes, alphas, seed)
    rejections, truths, start = [], [], 0
    for plan in plans:
        part = slice(start, start + len(plan.categories))
        start = part.stop
        rejections.append(
            _rejections_table(plan, rejected[part], tests, questions, sizes, alphas, n_sets, fewest)
        )
        truths.append(_truths_table(plan, judged[part], tuple(rules), questions, sizes, alphas))
    return pd.concat(rejections, ignore_index=True), pd.concat(truths, ignore_index=True)


def _check_classes(plans: Sequence[Plan], largest: int) -> None:
    for plan in plans:
        classes = np.minimum(plan.cells[:, :4].sum(axis=1), plan.cells[:, 4:].sum(axis=1))
        if plan.stratified and classes.min() < (largest + 1) // 2:
            category = plan.categories[int(classes.argmin())]
            raise UserError(
                f"sets.sizes: {largest} stratified documents without replacement want "
                f"{(largest + 1) // 2} of each class; category {category} has {classes.min()}"
            )


def _units(plans: Sequence[Plan]) -> Iterator[tuple[tuple[Any, ...], str]]:
    for plan in plans:
        for i, category in enumerate(plan.categories):
            identity = (plan.pair, plan.balance, plan.prevalence, category)
            cells = plan.cells[i]
            name = "/".join(map(str, (*identity, plan.stratified, *cells.tolist())))
            yield (cells, plan.truth[i], plan.stratified, identity), name


def _reject_unit(
    cells: NDArray[Any],
    truth: NDArray[Any],
    stratified: bool,
    identity: tuple[object, ...],
    options: dict[str, Any],
) -> Arrays:
    return count_rejections(cells, truth=truth, names=identity, stratified=stratified, **options)


def _judge_unit(
    cells: NDArray[Any],
    truth: NDArray[Any],
    stratified: bool,
    identity: tuple[object, ...],
    options: dict[str, Any],
) -> Arrays:
    return judge_truth(cells, truth=truth, names=identity, stratified=stratified, **options)


def judge_truth(
    cells: NDArray[Any],
    *,
    truth: NDArray[Any],
    names: Sequence[object],
    sizes: Sequence[int],
    alphas: Sequence[float],
    rules: Mapping[str, Callable[..., NDArray[np.bool_]]],
    questions: Sequence[Question],
    n_draws: int,
    seed: int,
    replacement: bool = True,
    stratified: bool = False,
) -> Arrays:
    """Apply every rule to one category at every size and level.

    A rule is asked again only where something that it looks at changes: one that knows neither
    `n_documents` nor `alpha` is asked once.

    Parameters
    ----------
    cells, truth : array, shape (8,)
        What sets are drawn from, and the cells on which the truth is measured.
    names : sequence
        What names the population in the generator ``rng(seed, "truth", *names, n_documents)``, which
        no evaluated set uses.
    sizes, alphas : sequences
    rules : mapping of str to callable
    questions : sequence of Question
    n_draws : int
        Independent evaluation sets at each size.
    seed : int
    replacement, stratified : bool

    Returns
    -------
    dict
        ``holds``, bool array of shape (n_rules, n_questions, n_alphas, n_sizes).
    """
    holds = np.zeros((len(rules), len(questions), len(alphas), len(sizes)), dtype=bool)
    draw = draw_stratified if stratified else draw_sets
    for s, n_documents in enumerate(sizes):
        generator = rng(seed, "truth", *names, n_documents)
        draws = draw(cells, n_documents, n_draws, generator, replacement=replacement)[None]
        for r, rule in enumerate(rules.values()):
            looks_at = inspect.signature(rule).parameters
            offered = {"draws": draws, "n_documents": n_documents}
            at_size = {key: value for key, value in offered.items() if key in looks_at}
            if s and not at_size:
                holds[r, :, :, s] = holds[r, :, :, 0]
                continue
            for q, question in enumerate(questions):
                asked = {"measure": question.measure, "costs": question.costs}
                known = at_size | {key: value for key, value in asked.items() if key in looks_at}
                if "alpha" in looks_at:
                    for a, alpha in enumerate(alphas):
                        holds[r, q, a, s] = rule(truth[None], question.difference, alpha=alpha, **known)[0]
                else:
                    holds[r, q, :, s] = rule(truth[None], question.difference, **known)[0]
    return {"holds": holds}


def fewest_to_reject(
    tests: Sequence[Test], sizes: Sequence[int], alphas: Sequence[float], seed: int
) -> NDArray[np.int64]:
    """Return the fewest discordant documents with which each test can reject; 0 where none is needed.

    Parameters
    ----------
    tests : sequence of Test
    sizes : sequence of int
        Documents of an evaluation set.
    alphas : sequence of float
    seed : int

    Returns
    -------
    int array, shape (n_tests, n_alphas, n_sizes)
    """
    fewest = np.zeros((len(tests), len(alphas), len(sizes)), dtype=np.int64)
    for t, test in enumerate(tests):
        for s, n_documents in enumerate(sizes):
            for a, alpha in enumerate(alphas):
                generator = rng(seed, "fewest", test.name, n_documents)
                options = {"rng": generator} if test.random else {}

                def pvalue(counts: NDArray[np.int64], test=test, options=options) -> NDArray[np.float64]:
                    return test.pvalue(counts, **options).pvalue

                all_right = np.array([[0] * 7 + [n_documents]])
                if pvalue(all_right)[0] > alpha:  # else (degenerate=reject) none is needed: it stays 0
                    fewest[t, a, s] = fewest_discordances(pvalue, alpha, n_documents)
    return fewest


def _columns(
    plan: Plan, shape: tuple[int, ...], axes: Mapping[str, tuple[int, Sequence[Any]]]
) -> dict[str, Any]:
    """Return a table's key columns: the plan's, and values along their axis of an array of `shape`."""
    n_rows = int(np.prod(shape))
    columns: dict[str, Any] = {
        "pair": np.repeat(plan.pair, n_rows),
        "balance": np.repeat(plan.balance, n_rows),
        "prevalence": np.repeat(np.nan if plan.prevalence is None else plan.prevalence, n_rows),
    }
    for name, (axis, values) in axes.items():
        place = [1] * len(shape)
        place[axis] = shape[axis]
        columns[name] = np.broadcast_to(np.asarray(values).reshape(place), shape).ravel()
    return columns


def _rejections_table(
    plan: Plan,
    units: Sequence[Arrays],
    tests: Sequence[Test],
    questions: Sequence[Question],
    sizes: Sequence[int],
    alphas: Sequence[float],
    n_sets: int,
    fewest: NDArray[np.int64],
) -> "pd.DataFrame":
    import pandas as pd

    shape = (len(plan.categories), len(tests), len(alphas), len(sizes))
    costs = {place: costs_text(question.costs) for question in questions for place in question.places}
    axes: dict[str, tuple[int, Sequence[Any]]] = {
        "category": (0, plan.categories),
        "test": (1, [test.name for test in tests]),
        "measure": (1, [test.measure for test in tests]),
        "costs": (1, [costs[place] for place in range(len(tests))]),
        "alpha": (2, alphas),
        "n_documents": (3, sizes),
    }
    columns = _columns(plan, shape, axes)
    dead = np.zeros(shape, dtype=bool)
    for t, a, s in np.ndindex(shape[1:]):
        if fewest[t, a, s]:
            dead[:, t, a, s] = dead_categories(plan.truth, sizes[s], int(fewest[t, a, s]), alphas[a])
    for name in ("n_rejected", "n_wrong_direction"):
        columns[name] = np.stack([unit[name].transpose(1, 2, 0) for unit in units]).ravel()
    for name in ("n_degenerate", "n_convention"):
        counted = np.stack([unit[name].T for unit in units])
        columns[name] = np.broadcast_to(counted[:, :, None, :], shape).ravel()
    return pd.DataFrame(columns | {"n_sets": n_sets, "dead": dead.ravel()})


def _truths_table(
    plan: Plan,
    units: Sequence[Arrays],
    rules: Sequence[str],
    questions: Sequence[Question],
    sizes: Sequence[int],
    alphas: Sequence[float],
) -> "pd.DataFrame":
    import pandas as pd

    shape = (len(plan.categories), len(rules), len(questions), len(alphas), len(sizes))
    axes: dict[str, tuple[int, Sequence[Any]]] = {
        "category": (0, plan.categories),
        "truth": (1, rules),
        "measure": (2, [question.measure for question in questions]),
        "costs": (2, [costs_text(question.costs) for question in questions]),
        "alpha": (3, alphas),
        "n_documents": (4, sizes),
    }
    columns = _columns(plan, shape, axes)
    return pd.DataFrame(columns | {"holds": np.stack([unit["holds"] for unit in units]).ravel()})
