"""Sizes on populations in which H0 holds exactly, powers on the real ones and on the path between them."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.evaluation.null_sets import WITH_POWER, Source, count_again, count_unit, levels, takes_few
from harness.evaluation.null_tables import distribution_table, null_table, path_table, rate_table
from harness.evaluation.plans import Plan
from harness.evaluation.questions import Question, ask
from harness.evaluation.rejections import Test
from harness.evaluation.under_rules import MakeRun, fewest_to_reject
from harness.measures import costs_text
from harness.nulls import exact_zero, reach
from harness.runtime.parallel import Run
from harness.runtime.store import digest

if TYPE_CHECKING:
    import pandas as pd

MakeNull = Callable[..., tuple[NDArray[np.float64], Mapping[str, str]]]


class NullStudy(NamedTuple):
    """What :func:`evaluate_nulls` returns: four tables a plan, and a warning for whatever is left out.

    Attributes
    ----------
    by_category : list of pandas.DataFrame
        Columns of :data:`harness.evaluation.category_rates.BY_CATEGORY`; one table for each plan.
    path, nulls : list of pandas.DataFrame
        Rows of ``power_path.csv`` and of ``nulls.csv``, likewise.
    distributions : list of pandas.DataFrame
        Rows of ``size_by_category.csv``, likewise.
    warnings : list of str
    """

    by_category: "list[pd.DataFrame]"
    path: "list[pd.DataFrame]"
    nulls: "list[pd.DataFrame]"
    distributions: "list[pd.DataFrame]"
    warnings: list[str]


class _Populations(NamedTuple):
    """What the sets of one plan are drawn from.

    Attributes
    ----------
    shares : array, shape (n_sources, n_questions, n_categories, 8)
        NaN where a category has none.
    reasons : dict of (truth, question's name) to mapping of category to sentence
    n_each : int array, shape (n_sources, n_tests)
        Sets of a category for each test.
    n_on_path : int array, shape (n_tests, n_path_sizes, n_h)
        Likewise on the path.
    """

    shares: NDArray[np.float64]
    reasons: dict[tuple[str, str], Mapping[str, str]]
    n_each: NDArray[np.int64]
    n_on_path: NDArray[np.int64]


def evaluate_nulls(
    plans: Sequence[Plan],
    nulls: Mapping[str, MakeNull],
    tests: Sequence[Test],
    *,
    alphas: Sequence[float],
    sizes: Sequence[int],
    n_sets: int,
    n_replicate_sets: int,
    replicate_tests: Sequence[str],
    n_pooled: int,
    h: Sequence[float],
    path_sizes: Sequence[int],
    prevalence_sizes: Sequence[int] | None,
    prevalence_sets: int,
    seed: int,
    make_run: MakeRun,
    describe: Mapping[str, object],
) -> NullStudy:
    """Run every test on sets drawn from each null, from the real population and from the path between.

    Size: a set is drawn from the null population of the test's own measure; the worst size over categories is
    measured again on new sets. Power: from the real population, beside the null ``exact_null`` alone, in
    categories with a difference. Where that null is run, it is the only one at a rescaled prevalence.

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
        Sets of a category at each point, for tests without replicates.
    n_replicate_sets : int
        Sets of a category for the size of `replicate_tests`, no more than `n_sets`.
    replicate_tests : sequence of str
        Tests with replicates whose sizes are told by category; others are left aside.
    n_pooled : int
        Sets of a point over all its categories, at least, for other tests with replicates, and for those
        too off the size at a prevalence of the corpus's own; a category gets its part, no more than `n_sets`.
    h : sequence of float
        Distances on the path in standard deviations of the difference on a set; 0 is the null.
    path_sizes : sequence of int
        Numbers of documents of the path's sets; prevalences that were rescaled have no path.
    prevalence_sizes : sequence of int or None
        Takes the place of `sizes` at a rescaled prevalence; None: `sizes`.
    prevalence_sets : int
        Takes the place of `n_sets` there.
    seed : int
    make_run : callable
        (stage, *inputs) -> Run.
    describe : mapping
        JSON description of tests and nulls, part of the units' keys.
    """
    kept = [plan for plan in plans if not plan.stratified]
    questions = ask(tests)
    common: dict[str, Any] = {"questions": questions, "tests": tests, "alphas": list(alphas), "seed": seed}
    natural, rescaled = _grids(nulls, sizes, h, path_sizes, prevalence_sizes)
    few = min(n_sets, n_replicate_sets)
    natural |= {"n_sets": n_sets, "own": dict.fromkeys(replicate_tests, few)}
    rescaled |= {"n_sets": prevalence_sets, "own": {}}
    grids = [natural if plan.prevalence is None else rescaled for plan in kept]
    made = [
        _make_populations(plan, nulls, questions, tests, grid, n_pooled)
        for plan, grid in zip(kept, grids, strict=True)
    ]
    options = [common | grid for grid in grids]
    inputs = (natural, rescaled, list(alphas), seed, dict(describe))
    units, names = _units(kept, made, options)
    found = make_run("nulls", *inputs)(
        count_unit, units, names, threads=False, description="testing sets under exact nulls"
    )
    judged = [
        (test, [alphas[a] for a in levels(test, alphas)]) for test in _by_category(tests, replicate_tests)
    ]
    fewest = fewest_to_reject(judged, sorted({*sizes, *rescaled["sizes"]}))
    study, start = NullStudy([], [], [], [], _left_out(plans, nulls)), 0
    for plan, populations, given in zip(kept, made, options, strict=True):
        part = found[start : start + len(plan.categories)]
        start += len(plan.categories)
        asked = {key: given[key] for key in ("questions", "tests", "alphas")}
        at_sources = asked | {key: given[key] for key in ("sources", "sizes")}
        on_path = asked | {key: given[key] for key in ("h", "path_sizes")}
        rates = rate_table(plan, part, populations.shares, populations.n_each, fewest, **at_sources)
        study.by_category.append(rates)
        study.distributions.append(distribution_table(rates))
        study.path.append(path_table(plan, part, populations.n_on_path, **on_path))
        study.nulls.append(
            null_table(plan, populations.shares, populations.reasons, questions, given["sources"])
        )
    _measure_again(kept, made, options, study.distributions, make_run("nulls again", *inputs))
    study.warnings.extend(_missing(kept, made, questions, [given["sources"] for given in options]))
    return study


def _by_category(tests: Sequence[Test], replicate_tests: Sequence[str]) -> list[Test]:
    """Return the tests whose sizes are reported by category, or all of a measure that has none of them.

    They alone tell which categories are live: a test that rejects on a single document, as the Bayesian
    bootstrap does, would call categories live in which no other test can be wrong.
    """
    reported = [test for test in tests if not takes_few(test) or test.name in replicate_tests]
    measures = {test.measure for test in reported}
    return reported + [test for test in tests if test.measure not in measures]


def _grids(
    nulls: Mapping[str, MakeNull],
    sizes: Sequence[int],
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
        "h": list(h) if WITH_POWER in nulls else [],
        "path_sizes": list(path_sizes),
    }
    rescaled = {
        "sources": [source for source in sources if source.truth == WITH_POWER] or sources,
        "sizes": list(sizes if prevalence_sizes is None else prevalence_sizes),
        "h": [],
        "path_sizes": [],
    }
    return natural, rescaled


def _make_populations(
    plan: Plan,
    nulls: Mapping[str, MakeNull],
    questions: Sequence[Question],
    tests: Sequence[Test],
    grid: Mapping[str, Any],
    n_pooled: int,
) -> _Populations:
    """Make the nulls of a plan; find the categories with a power and those that the path leads to."""
    sources, n_sets = grid["sources"], grid["n_sets"]
    shares = np.full((len(sources), len(questions), len(plan.categories), 8), np.nan)
    n_each = np.full((len(sources), len(tests)), n_sets, dtype=np.int64)
    n_on_path = np.full((len(tests), len(grid["path_sizes"]), len(grid["h"])), n_sets, dtype=np.int64)
    reasons: dict[tuple[str, str], Mapping[str, str]] = {}
    real = plan.cells / plan.cells.sum(axis=1, keepdims=True)
    discordant = plan.cells[:, [1, 2, 5, 6]].sum(axis=1) > 0
    for q, question in enumerate(questions):
        few = [place for place in question.places if takes_few(tests[place])]
        for s, (truth, kind) in enumerate(sources):
            if kind == "power":
                same = exact_zero(plan.cells, question.difference, measure=question.measure)
                shares[s, q] = np.where((discordant & ~same)[:, None], real, np.nan)
            else:
                shares[s, q], reasons[truth, question.name] = nulls[truth](
                    plan.categories, plan.cells, question.measure, **question.costs
                )
            pooled = _sets_each(n_pooled, int((~np.isnan(shares[s, q, :, 0])).sum()), n_sets)
            own = grid["own"] if kind == "size" else {}
            n_each[s, few] = [own.get(tests[place].name, pooled) for place in few]
            if truth == WITH_POWER and kind == "size":
                n_reached = _reached(shares[s, q], real, question, grid["path_sizes"], grid["h"])
                n_on_path[few] = [[_sets_each(n_pooled, n, n_sets) for n in row] for row in n_reached]
        for i, n_documents in enumerate(grid["path_sizes"] if grid["h"] else ()):
            if n_documents in grid["sizes"]:  # the path's first point is one of the null's own
                own_sets = n_each[sources.index(Source(WITH_POWER, "size"))]
                n_on_path[:, i, np.array(grid["h"]) == 0] = own_sets[:, None]
    return _Populations(shares, reasons, n_each, n_on_path)


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


def _units(
    plans: Sequence[Plan], made: Sequence[_Populations], options: Sequence[dict[str, Any]]
) -> tuple[list[tuple[Any, ...]], list[str]]:
    units, names = [], []
    for plan, populations, given in zip(plans, made, options, strict=True):
        numbers = (populations.n_each, populations.n_on_path)
        for i, category in enumerate(plan.categories):
            identity = (plan.pair, plan.balance, plan.prevalence, category)
            shares = populations.shares[:, :, i]
            units.append((plan.cells[i], shares, *numbers, identity, given))
            names.append(_name(identity, plan.cells[i].tolist(), shares, *numbers))
    return units, names


def _name(identity: Sequence[object], given: list[Any], *arrays: NDArray[Any]) -> str:
    plain = (np.nan_to_num(array, nan=-1.0).tolist() for array in arrays)
    return "/".join(map(str, (*identity, digest(given, *plain))))


def _measure_again(
    plans: Sequence[Plan],
    made: Sequence[_Populations],
    options: Sequence[dict[str, Any]],
    tables: "Sequence[pd.DataFrame]",
    run: Run,
) -> None:
    """Fill in `worst_again` of the tables: the size of each point's worst category on sets drawn anew.

    Tests and levels that have the same worst category at one null and N share its new sets.
    """
    units, names, rows = [], [], []
    for plan, populations, table, given in zip(plans, made, tables, options, strict=True):
        for category, wanted in _worst(table, given["sources"], given["questions"], given["tests"]).items():
            identity = (plan.pair, plan.balance, plan.prevalence, category)
            shares = populations.shares[:, :, plan.categories.index(category)]
            points = [(*point, sorted({place for place, _ in at})) for point, at in wanted.items()]
            units.append((shares, points, populations.n_each, identity, given))
            names.append(_name(identity, points, shares, populations.n_each))
            rows.append((table, wanted, given["alphas"]))
    found = run(count_again, units, names, threads=False, description="measuring the worst categories again")
    for (table, wanted, alphas), unit in zip(rows, found, strict=True):
        again = table["worst_again"].to_numpy(copy=True)
        for at, rejected in zip(wanted.values(), unit["n_rejected"], strict=True):
            for place, row in at:
                a = alphas.index(table["alpha"].iat[row])
                again[row] = rejected[place, a] / table["n_sets"].iat[row]
        table["worst_again"] = again


def _worst(
    table: "pd.DataFrame",
    sources: Sequence[Source],
    questions: Sequence[Question],
    tests: Sequence[Test],
) -> dict[str, dict[tuple[int, int, int], list[tuple[int, int]]]]:
    """Return, by worst category, the points (source, question, N) and there each test's place and row."""
    places = {test.name: place for place, test in enumerate(tests)}
    asks = {place: q for q, question in enumerate(questions) for place in question.places}
    found: dict[str, dict[tuple[int, int, int], list[tuple[int, int]]]] = {}
    columns = ("truth", "test", "n_documents", "worst_category")
    for row, (truth, name, n_documents, category) in enumerate(zip(*map(table.get, columns), strict=True)):
        if isinstance(category, str):
            place = places[name]
            point = (sources.index(Source(truth, "size")), asks[place], int(n_documents))
            found.setdefault(category, {}).setdefault(point, []).append((place, row))
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
