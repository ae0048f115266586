"""From populations to the two long tables: rejections of every test, and where H0 counts as true."""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from harness.errors import UserError
from harness.evaluation_sets import draw_sets, draw_stratified
from harness.evaluation_tables import rejections_table, truths_table
from harness.parallel import Run
from harness.plans import Plan
from harness.questions import Question, ask
from harness.rejections import Test, count_rejections
from harness.seeding import rng
from harness.size_power import fewest_discordances
from harness.store import Arrays

if TYPE_CHECKING:
    import pandas as pd

MakeRun = Callable[..., Run]


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
            rejections_table(plan, rejected[part], tests, questions, sizes, alphas, n_sets, fewest)
        )
        truths.append(truths_table(plan, judged[part], tuple(rules), questions, sizes, alphas))
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
) -> dict[tuple[str, float, int], int]:
    """Return the fewest discordant documents with which any of the tests of a measure can reject.

    Parameters
    ----------
    tests : sequence of Test
    sizes : sequence of int
        Documents of an evaluation set.
    alphas : sequence of float
    seed : int

    Returns
    -------
    dict of (measure, alpha, n_documents) to int
        0 where a set without a discordant document is rejected (``degenerate="reject"``).
    """
    found: dict[tuple[str, float, int], int] = {}
    for test, alpha, n_documents in product(tests, alphas, sizes):
        generator = rng(seed, "fewest", test.name, n_documents)
        options = {"rng": generator} if test.random else {}

        def pvalue(counts: NDArray[np.int64], test=test, options=options) -> NDArray[np.float64]:
            return test.pvalue(counts, **options).pvalue

        rejects_all = pvalue(np.array([[0] * 7 + [n_documents]]))[0] <= alpha
        fewest = 0 if rejects_all else fewest_discordances(pvalue, alpha, n_documents)
        key = (test.measure, alpha, n_documents)
        found[key] = min(fewest, found.get(key, fewest))
    return found
