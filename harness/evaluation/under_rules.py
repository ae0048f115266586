"""From populations to the two long tables: rejections of every test, and where H0 counts as true."""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from harness.errors import UserError
from harness.evaluation.rates import category_rates, category_rows, dead_categories, fewest_discordances
from harness.evaluation.rejections import Question, Setting, Test, Unit, ask, count_rejections
from harness.evaluation.sets import Plan
from harness.measures import Bools, Floats, Ints
from harness.runtime.parallel import run_here
from harness.runtime.store import Arrays
from harness.seeding import rng

Rule = Callable[..., Bools]
Key = tuple[str, str, float | None]

TRIALS = 5
"""Of a test with replicates on one set; one alone may reject by luck what the test does not."""


def evaluate(
    plans: Sequence[Plan], setting: Setting, rules: Mapping[str, Rule], n_truth_sets: int
) -> pd.DataFrame:
    """Return each category's rate of rejections: every test on every plan's sets, under every rule.

    The rules are judged from `n_truth_sets` sets that no test sees. Tests of one measure at different costs
    have truths of their own. The table has the columns BY_CATEGORY.

    Raises
    ------
    UserError
        If stratified sets without replacement want more documents of a class than there are.
    """
    tests, alphas, sizes = setting.tests, setting.alphas, setting.sizes
    if not setting.replacement:
        _check_classes(plans, max(sizes))
    questions = ask(tests)
    units, names = zip(*_units(plans), strict=True)
    inputs = (list(sizes), list(alphas), setting.seed, setting.replacement, dict(setting.describe))
    plain = replace(setting, make_run=run_here)  # which travels to the workers

    def run(stage: str, function: Callable[..., Arrays], n_sets: int, description: str, *more: Any) -> Any:
        asked = [(unit, plain, *more) for unit in units]
        how = {"threads": False, "description": description}
        return setting.make_run(stage, *inputs, n_sets)(function, asked, names, **how)

    rejected = run("rejections", count_rejections, setting.n_sets, "testing evaluation sets")
    about = rules, questions, n_truth_sets
    judged = run("truths", judge_truth, n_truth_sets, "judging where H0 is true", *about)
    fewest = fewest_to_reject([(test, alphas) for test in tests], sizes)
    blocks, start = {}, 0
    for plan in plans:
        part = slice(start, start + len(plan.categories))
        start = part.stop
        rows = _rows(plan, rejected[part], judged[part], setting, questions, list(rules), fewest)
        blocks[plan.pair, plan.balance, plan.prevalence] = list(rows)
    return category_rates([block for key in _in_order(list(blocks)) for block in blocks[key]])


def _check_classes(plans: Sequence[Plan], largest: int) -> None:
    for plan in plans:
        classes = np.minimum(plan.cells[:, :4].sum(axis=1), plan.cells[:, 4:].sum(axis=1))
        if plan.stratified and classes.min() < (largest + 1) // 2:
            category = plan.categories[int(classes.argmin())]
            raise UserError(
                f"sets.sizes: {largest} stratified documents without replacement want "
                f"{(largest + 1) // 2} of each class; category {category} has {classes.min()}"
            )


def _units(plans: Sequence[Plan]) -> Iterator[tuple[Unit, str]]:
    for plan in plans:
        for i, category in enumerate(plan.categories):
            identity = (plan.pair, plan.balance, plan.prevalence, category)
            cells = plan.cells[i]
            name = "/".join(map(str, (*identity, plan.stratified, *cells.tolist())))
            yield Unit(cells, plan.truth[i], identity, plan.stratified), name


def _in_order(keys: Sequence[Key]) -> list[Key]:
    """Return the keys sorted by the first appearance of each of their parts, the first part before all."""
    seen = [list(dict.fromkeys(part)) for part in zip(*keys, strict=True)]
    return sorted(keys, key=lambda key: [seen[i].index(part) for i, part in enumerate(key)])


def _rows(
    plan: Plan,
    rejected: Sequence[Arrays],
    judged: Sequence[Arrays],
    setting: Setting,
    questions: Sequence[Question],
    rules: Sequence[str],
    fewest: Mapping[tuple[str, float, int], int],
) -> Iterator[dict[str, Any]]:
    """Yield the rows of one plan, rule by rule, and test by test of each measure."""
    tests, alphas, sizes = setting.tests, setting.alphas, setting.sizes
    counts = {name: np.stack([unit[name] for unit in rejected], axis=-1) for name in rejected[0]}
    holds = np.stack([unit["holds"] for unit in judged], axis=-1)
    dead = {
        measure: np.array(
            [[dead_categories(plan.truth, n, fewest[measure, a, n], a) for n in sizes] for a in alphas]
        )
        for measure in dict.fromkeys(test.measure for test in tests)
    }
    asks = {place: q for q, question in enumerate(questions) for place in question.places}
    axes = (alphas, sizes, plan.categories)
    for (r, rule), measure, (place, test) in product(enumerate(rules), dead, enumerate(tests)):
        if test.measure == measure:
            own = {
                name: values[:, place].swapaxes(0, 1) if values.ndim == 4 else values[:, place]
                for name, values in counts.items()
            }
            own |= {"kind": np.where(holds[r, asks[place]], "size", "power"), "dead": dead[measure]}
            yield category_rows(plan, test, rule, axes, own, n_sets=setting.n_sets)


def judge_truth(
    unit: Unit, setting: Setting, rules: Mapping[str, Rule], questions: Sequence[Question], n_draws: int
) -> Arrays:
    """Apply every rule to one category at every size and level.

    A rule is asked again only where something that it looks at changes: one that knows neither
    `n_documents` nor `alpha` is asked once.

    Returns
    -------
    dict
        ``holds``, bool array of shape (n_rules, n_questions, n_alphas, n_sizes).
    """
    truth, alphas, sizes = unit.truth[None], setting.alphas, setting.sizes
    holds = np.zeros((len(rules), len(questions), len(alphas), len(sizes)), dtype=bool)
    for s, n_documents in enumerate(sizes):
        draws = unit.draw("truth", n_documents, n_draws, setting)[None]
        differences = [_knowing(question.difference, draws) for question in questions]
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
                        holds[r, q, a, s] = rule(truth, differences[q], alpha=alpha, **known)[0]
                else:
                    holds[r, q, :, s] = rule(truth, differences[q], **known)[0]
    return {"holds": holds}


def _knowing(difference: Callable[..., NDArray[Any]], draws: NDArray[Any]) -> Callable[..., NDArray[Any]]:
    """Return a difference that is worked out once for draws that several rules and levels ask for."""
    known = difference(draws)
    return lambda cells: known if cells is draws else difference(cells)


def fewest_to_reject(
    judged: Iterable[tuple[Test, Sequence[float]]], sizes: Sequence[int]
) -> dict[tuple[str, float, int], int]:
    """Return the fewest discordant documents with which any of the tests of a measure can reject.

    What a test with replicates does is tried :data:`TRIALS` times, the median counts; the replicates are
    the same in every run, so that the answer is.

    Returns
    -------
    dict of (measure, alpha, n_documents) to int
        0 where a set without a discordant document is rejected (``degenerate="reject"``).
    """
    found: dict[tuple[str, float, int], int] = {}
    for (test, alphas), n_documents in product(judged, sizes):
        pvalue = _tried(test, n_documents)
        for alpha in alphas:
            rejects_all = pvalue(np.array([[0] * 7 + [n_documents]]))[0] <= alpha
            fewest = 0 if rejects_all else fewest_discordances(pvalue, alpha, n_documents)
            key = (test.measure, alpha, n_documents)
            found[key] = min(fewest, found.get(key, fewest))
    return found


def _tried(test: Test, n_documents: int) -> Callable[[Ints], Floats]:
    """Return the test's p-values as a function of counts, which remembers them from level to level."""
    generator = rng(0, "fewest", test.name, n_documents)
    options, n_trials = ({"rng": generator}, TRIALS) if test.random else ({}, 1)
    known: dict[bytes, Floats] = {}

    def pvalue(counts: Ints) -> Floats:
        if (key := counts.tobytes()) not in known:
            tried = test.pvalue(np.repeat(counts, n_trials, axis=0), **options).pvalue
            known[key] = np.median(tried.reshape(-1, n_trials), axis=1)
        return known[key]

    return pvalue
