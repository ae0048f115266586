"""Sizes on populations in which H0 holds exactly, powers on the real ones and on the path between them."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.evaluation import MakeRun, fewest_to_reject
from harness.measures import costs_text
from harness.null_evaluation_sets import WITH_POWER, Source, count_unit, levels
from harness.null_evaluation_tables import null_table, path_table, rate_table
from harness.nulls import exact_zero, reach
from harness.plans import Plan
from harness.questions import Question, ask
from harness.rejections import Test
from harness.store import digest

if TYPE_CHECKING:
    import pandas as pd

MakeNull = Callable[..., tuple[NDArray[np.float64], Mapping[str, str]]]


class NullStudy(NamedTuple):
    """What :func:`evaluate_nulls` returns: three tables a plan, and a warning for whatever is left out.

    Attributes
    ----------
    by_category : list of pandas.DataFrame
        Columns of :data:`harness.size_power_categories.BY_CATEGORY`; one table for each plan, since together
        they can be large.
    path, nulls : list of pandas.DataFrame
        Rows of ``power_path.csv`` and of ``nulls.csv``, likewise.
    warnings : list of str
    """

    by_category: "list[pd.DataFrame]"
    path: "list[pd.DataFrame]"
    nulls: "list[pd.DataFrame]"
    warnings: list[str]


class _Populations(NamedTuple):
    """What the sets of one plan are drawn from.

    Attributes
    ----------
    shares : array, shape (n_sources, n_questions, n_categories, 8)
        NaN where a category has none.
    reasons : dict of (truth, question's name) to mapping of category to sentence
    n_few : int array, shape (n_sources, n_questions)
        Sets of a category for a test with replicates.
    n_few_on_path : int array, shape (n_questions, n_path_sizes, n_h)
        Likewise on the path.
    """

    shares: NDArray[np.float64]
    reasons: dict[tuple[str, str], Mapping[str, str]]
    n_few: NDArray[np.int64]
    n_few_on_path: NDArray[np.int64]


def evaluate_nulls(
    plans: Sequence[Plan],
    nulls: Mapping[str, MakeNull],
    tests: Sequence[Test],
    *,
    alphas: Sequence[float],
    sizes: Sequence[int],
    n_sets: int,
    n_pooled: int,
    h: Sequence[float],
    path_sizes: Sequence[int],
    prevalence_sizes: Sequence[int] | None,
    seed: int,
    make_run: MakeRun,
    describe: Mapping[str, object],
) -> NullStudy:
    """Run every test on sets drawn from each null, from the real population and from the path between.

    Size: a set is drawn from the null population of the test's own measure. Power: from the real
    population, beside the null ``exact_null`` alone, in categories with a difference. Where that null is
    run, it is the only one at a rescaled prevalence.

    Parameters
    ----------
    plans : sequence of Plan
        Stratified ones are left out, with a warning: a null has a prevalence of its own.
    nulls : mapping of str to callable
        ``f(names, cells, measure, **costs) -> (shares, reasons)``; see :mod:`harness.nulls`.
    tests : sequence of Test
    alphas : sequence of float
        Tests with replicates skip those below ``null_evaluation_sets.FEW_ALPHA``.
    sizes : sequence of int
        Numbers of documents of an evaluation set.
    n_sets : int
        Sets of a category at each size, for tests without replicates.
    n_pooled : int
        Sets of a point over all its categories, at least, for tests with replicates, for every test at a
        rescaled prevalence and on the path; a category gets its part, no more than `n_sets`.
    h : sequence of float
        Distances on the path in standard deviations of the difference on a set; 0 is the null.
    path_sizes : sequence of int
        Numbers of documents of the path's sets; prevalences that were rescaled have no path.
    prevalence_sizes : sequence of int or None
        Takes the place of `sizes` at a rescaled prevalence; None: `sizes`.
    seed : int
    make_run : callable
        (stage, *inputs) -> Run.
    describe : mapping
        JSON description of tests and nulls, part of the units' keys.
    """
    kept = [plan for plan in plans if not plan.stratified]
    questions = ask(tests)
    common: dict[str, Any] = {"questions": questions, "tests": tests, "alphas": list(alphas)}
    natural, rescaled = _grids(nulls, sizes, n_sets, h, path_sizes, prevalence_sizes)
    options = [natural if plan.prevalence is None else rescaled for plan in kept]
    made = [
        _make_populations(plan, nulls, questions, grid, n_pooled)
        for plan, grid in zip(kept, options, strict=True)
    ]
    units, names = [], []
    for plan, populations, grid in zip(kept, made, options, strict=True):
        for unit, name in _units(plan, populations):
            units.append((*unit, common | grid | {"seed": seed}))
            names.append(name)
    found = make_run("nulls", natural, rescaled, list(alphas), seed, dict(describe))(
        count_unit, units, names, threads=False, description="testing sets under exact nulls"
    )
    fewest = _fewest(tests, sorted({*sizes, *rescaled["sizes"]}), alphas, seed)
    study, start = NullStudy([], [], [], _left_out(plans, nulls)), 0
    for plan, populations, grid in zip(kept, made, options, strict=True):
        part = found[start : start + len(plan.categories)]
        start += len(plan.categories)
        at_sources = common | {key: grid[key] for key in ("sources", "sizes", "n_sets")}
        on_path = common | {key: grid[key] for key in ("h", "path_sizes", "n_sets")}
        study.by_category.append(
            rate_table(plan, part, populations.shares, populations.n_few, fewest, **at_sources)
        )
        study.path.append(path_table(plan, part, populations.n_few_on_path, **on_path))
        study.nulls.append(
            null_table(plan, populations.shares, populations.reasons, questions, grid["sources"])
        )
    study.warnings.extend(_missing(kept, made, questions, [grid["sources"] for grid in options]))
    return study


def _grids(
    nulls: Mapping[str, MakeNull],
    sizes: Sequence[int],
    n_sets: int,
    h: Sequence[float],
    path_sizes: Sequence[int],
    prevalence_sizes: Sequence[int] | None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what is measured at a prevalence of the corpus's own, and at a rescaled one."""
    sources = [
        Source(truth, kind)
        for truth in nulls
        for kind in (("size", "power") if truth == WITH_POWER else ("size",))
    ]
    natural = {
        "sources": sources,
        "sizes": list(sizes),
        "n_sets": n_sets,
        "h": list(h) if WITH_POWER in nulls else [],
        "path_sizes": list(path_sizes),
    }
    rescaled = {
        "sources": [source for source in sources if source.truth == WITH_POWER] or sources,
        "sizes": list(sizes if prevalence_sizes is None else prevalence_sizes),
        "n_sets": n_sets,
        "h": [],
        "path_sizes": [],
    }
    return natural, rescaled


def _make_populations(
    plan: Plan,
    nulls: Mapping[str, MakeNull],
    questions: Sequence[Question],
    grid: Mapping[str, Any],
    n_pooled: int,
) -> _Populations:
    """Make the nulls of a plan; find the categories with a power and those that the path leads to."""
    sources, n_sets = grid["sources"], grid["n_sets"]
    shares = np.full((len(sources), len(questions), len(plan.categories), 8), np.nan)
    n_few = np.zeros(shares.shape[:2], dtype=np.int64)
    n_few_on_path = np.zeros((len(questions), len(grid["path_sizes"]), len(grid["h"])), dtype=np.int64)
    reasons: dict[tuple[str, str], Mapping[str, str]] = {}
    real = plan.cells / plan.cells.sum(axis=1, keepdims=True)
    discordant = plan.cells[:, [1, 2, 5, 6]].sum(axis=1) > 0
    for q, question in enumerate(questions):
        for s, (truth, kind) in enumerate(sources):
            if kind == "power":
                same = exact_zero(plan.cells, question.difference, measure=question.measure)
                shares[s, q] = np.where((discordant & ~same)[:, None], real, np.nan)
            else:
                shares[s, q], reasons[truth, question.name] = nulls[truth](
                    plan.categories, plan.cells, question.measure, **question.costs
                )
            n_few[s, q] = _sets_each(n_pooled, int((~np.isnan(shares[s, q, :, 0])).sum()), n_sets)
            if kind == "power":  # its null stands just before it; one point has one number of sets
                n_few[s - 1 : s + 1, q] = n_few[s - 1 : s + 1, q].max()
            if truth == WITH_POWER and kind == "size":
                n_reached = _reached(shares[s, q], real, question, grid["path_sizes"], grid["h"])
                n_few_on_path[q] = [[_sets_each(n_pooled, n, n_sets) for n in row] for row in n_reached]
        for i, n_documents in enumerate(grid["path_sizes"] if grid["h"] else ()):
            if n_documents in grid["sizes"]:  # the path's first point is one of the null's own
                own = n_few[sources.index(Source(WITH_POWER, "size")), q]
                n_few_on_path[q, i, np.array(grid["h"]) == 0] = own
    return _Populations(shares, reasons, n_few, n_few_on_path)


def _sets_each(n_pooled: int, n_categories: int, n_sets: int) -> int:
    """Return how many sets of each category make `n_pooled` in all, no more than `n_sets`."""
    return min(n_sets, math.ceil(n_pooled / max(1, n_categories)))


def _reached(
    null: NDArray[np.float64],
    real: NDArray[np.float64],
    question: Question,
    path_sizes: Sequence[int],
    h: Sequence[float],
) -> list[list[int]]:
    """Return to how many categories the path leads, for each size and distance."""
    made = ~np.isnan(null[:, 0])
    reaches = [reach(null[made], real[made], n, question.measure, **question.costs) for n in path_sizes]
    return [[int((farthest >= distance).sum()) for distance in h] for farthest in reaches]


def _units(plan: Plan, made: _Populations) -> Iterator[tuple[tuple[Any, ...], str]]:
    for i, category in enumerate(plan.categories):
        identity = (plan.pair, plan.balance, plan.prevalence, category)
        shares = made.shares[:, :, i]
        drawn_from = digest(plan.cells[i].tolist(), np.nan_to_num(shares, nan=-1.0).tolist())
        numbers = (*made.n_few.ravel().tolist(), *made.n_few_on_path.ravel().tolist())
        yield (
            (plan.cells[i], shares, made.n_few, made.n_few_on_path, identity),
            "/".join(map(str, (*identity, drawn_from, *numbers))),
        )


def _fewest(
    tests: Sequence[Test], sizes: Sequence[int], alphas: Sequence[float], seed: int
) -> dict[tuple[str, float, int], int]:
    """Return the fewest discordant documents with which each test rejects at each of its levels."""
    found = {}
    for test in tests:
        judged = [alphas[a] for a in levels(test, alphas)]
        table = fewest_to_reject([test], sizes, judged, seed)[0]
        for (a, i), fewest in np.ndenumerate(table):
            found[test.name, judged[a], sizes[i]] = int(fewest)
    return found


def _left_out(plans: Sequence[Plan], nulls: Mapping[str, MakeNull]) -> list[str]:
    return [
        f"{plan.pair}, balance {plan.balance}: a null has a prevalence of its own, and these sets a fixed "
        f"one; left out under {', '.join(nulls)}"
        for plan in plans
        if plan.stratified
    ]


def _missing(
    plans: Sequence[Plan],
    made: Sequence[_Populations],
    questions: Sequence[Question],
    sources: Sequence[Sequence[Source]],
) -> list[str]:
    """Return a warning for each null that some categories of a plan lack, one for all its prevalences."""
    measures = [question.measure for question in questions]
    found: dict[tuple[str, str, str], list[str]] = {}
    for plan, populations, drawn_from in zip(plans, made, sources, strict=True):
        for s, (truth, kind) in enumerate(drawn_from):
            for q, question in enumerate(questions if kind == "size" else ()):
                lacking = np.isnan(populations.shares[s, q, :, 0])
                if not lacking.any():
                    continue
                names = [name for name, none in zip(plan.categories, lacking, strict=True) if none]
                several = measures.count(question.measure) > 1
                asked = question.measure + (f" ({costs_text(question.costs)})" if several else "")
                said = f"{len(names)} of {len(plan.categories)} categories have no {truth} population for "
                said += f"{asked}, and are left out there: {', '.join(names)}"
                at = [] if plan.prevalence is None else [f"{plan.prevalence:g}"]
                found.setdefault((plan.pair, plan.balance, said), []).extend(at)
    return [
        f"{pair}, balance {balance}{', prevalence ' + ', '.join(at) if at else ''}: {said}"
        for (pair, balance, said), at in found.items()
    ]
