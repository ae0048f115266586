"""Sizes on populations in which H0 holds exactly, powers on the real ones and on the path between them."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from harness.evaluation.null_sets import WITH_POWER, Grid, Source, count_again, count_unit, levels, takes_few
from harness.evaluation.null_tables import distribution_table, null_table, path_table, rate_table
from harness.evaluation.rejections import Question, Setting, Test, ask
from harness.evaluation.sets import Plan
from harness.evaluation.under_rules import fewest_to_reject
from harness.measures import Floats, Ints, costs_text
from harness.nulls import exact_zero, reach
from harness.runtime.parallel import Run
from harness.runtime.store import digest

MakeNull = Callable[..., tuple[Floats, Mapping[str, str]]]


class NullStudy(NamedTuple):
    """What :func:`evaluate_nulls` returns: four tables a plan, and a warning for whatever is left out.

    Attributes
    ----------
    by_category : list of pandas.DataFrame
        Columns of :data:`harness.evaluation.rates.BY_CATEGORY`; one table for each plan.
    path, nulls : list of pandas.DataFrame
        Rows of ``power_path.csv`` and of ``nulls.csv``, likewise.
    distributions : list of pandas.DataFrame
        Rows of ``size_by_category.csv``, likewise.
    """

    by_category: list[pd.DataFrame]
    path: list[pd.DataFrame]
    nulls: list[pd.DataFrame]
    distributions: list[pd.DataFrame]
    warnings: list[str]


class _Populations(NamedTuple):
    """What the sets of one plan are drawn from, to measure what `grid` says.

    Attributes
    ----------
    shares : array, shape (n_sources, n_questions, n_categories, 8)
        NaN where a category has none.
    n_each : int array, shape (n_sources, n_tests)
        Sets of a category for each test.
    n_on_path : int array, shape (n_tests, n_path_sizes, n_h)
        Likewise on the path.
    """

    plan: Plan
    grid: Grid
    shares: Floats
    reasons: dict[tuple[str, str], Mapping[str, str]]
    n_each: Ints
    n_on_path: Ints


@dataclass(frozen=True)
class NullSettings:
    """How much is measured under nulls.

    Attributes
    ----------
    nulls : mapping of str to callable
        ``f(names, cells, measure, **costs) -> (shares, reasons)``; see :mod:`harness.nulls`.
    n_sets, n_replicate_sets : int
        Sets of a category at a point: for tests of counts alone, and for the size of `replicate_tests`.
    n_pooled : int
        Sets of a point over all its categories, for other tests with replicates, and for those off the size.
    h, path_sizes
        Distances and sizes of sets on the path from the null to the real population.
    prevalence_sizes : sequence of int or None
        Sizes of sets at a rescaled prevalence, where a category has the setting's `n_sets`; None: the usual.
    """

    nulls: Mapping[str, MakeNull]
    n_sets: int
    n_replicate_sets: int
    replicate_tests: Sequence[str]
    n_pooled: int
    h: Sequence[float]
    path_sizes: Sequence[int]
    prevalence_sizes: Sequence[int] | None


def evaluate_nulls(plans: Sequence[Plan], setting: Setting, wanted: NullSettings) -> NullStudy:
    """Run every test on sets drawn from each null, from the real population and from the path between.

    Size: a set is drawn from the null population of the test's own measure; the worst size over categories is
    measured again on new sets. Power: from the real population, beside the null ``exact_null`` alone, in
    categories with a difference. Where that null is run, it is the only one at a rescaled prevalence.
    Stratified plans are left out, with a warning: a null has a prevalence of its own.
    """
    tests, alphas = setting.tests, setting.alphas
    natural, rescaled = _grids(setting, wanted)
    made = [
        _make_populations(plan, natural if plan.prevalence is None else rescaled, wanted)
        for plan in plans
        if not plan.stratified
    ]
    told = [grid._asdict() for grid in (natural, rescaled)]
    inputs = [{key: one[key] for key in one if key not in ("questions", "tests")} for one in told]
    units, names = _units(made)
    found = setting.make_run("nulls", *inputs, dict(setting.describe))(
        count_unit, units, names, threads=False, description="testing sets under exact nulls"
    )
    judged = [
        (test, [alphas[a] for a in levels(test, alphas)])
        for test in _by_category(tests, wanted.replicate_tests)
    ]
    fewest = fewest_to_reject(judged, sorted({*setting.sizes, *rescaled.sizes}))
    study, start = NullStudy([], [], [], [], _left_out(plans, wanted.nulls)), 0
    for plan, grid, shares, reasons, n_each, n_on_path in made:
        part = found[start : start + len(plan.categories)]
        start += len(plan.categories)
        rates = rate_table(plan, part, shares, n_each, fewest, grid)
        study.by_category.append(rates)
        study.distributions.append(distribution_table(rates))
        study.path.append(path_table(plan, part, n_on_path, grid))
        study.nulls.append(null_table(plan, shares, reasons, grid))
    again = setting.make_run("nulls again", *inputs, dict(setting.describe))
    _measure_again(made, study.distributions, again)
    study.warnings.extend(_missing(made))
    return study


def _by_category(tests: Sequence[Test], replicate_tests: Sequence[str]) -> list[Test]:
    """Return the tests whose sizes are reported by category, or all of a measure that has none of them.

    They alone tell which categories are live: a test that rejects on a single document, as the Bayesian
    bootstrap does, would call categories live in which no other test can be wrong.
    """
    reported = [test for test in tests if not takes_few(test) or test.name in replicate_tests]
    measures = {test.measure for test in reported}
    return reported + [test for test in tests if test.measure not in measures]


def _grids(setting: Setting, wanted: NullSettings) -> tuple[Grid, Grid]:
    """Return what is measured at a prevalence of the corpus's own, and at a rescaled one."""
    sources = [
        Source(truth, kind)
        for truth in wanted.nulls
        for kind in (("size", "power") if truth == WITH_POWER else ("size",))
    ]
    few = min(wanted.n_sets, wanted.n_replicate_sets)
    on_path = (list(wanted.h) if WITH_POWER in wanted.nulls else [], list(wanted.path_sizes))
    asked = (ask(setting.tests), setting.tests, list(setting.alphas), setting.seed)
    own = dict.fromkeys(wanted.replicate_tests, few)
    natural = Grid(*asked, sources, list(setting.sizes), *on_path, wanted.n_sets, own)
    fewer = [source for source in sources if source.truth == WITH_POWER] or sources
    sizes = setting.sizes if wanted.prevalence_sizes is None else wanted.prevalence_sizes
    return natural, Grid(*asked, fewer, list(sizes), [], [], setting.n_sets, {})


def _make_populations(plan: Plan, grid: Grid, wanted: NullSettings) -> _Populations:
    """Make the nulls of a plan; find the categories with a power and those that the path leads to."""
    sources, questions, tests = grid.sources, grid.questions, grid.tests
    n_sets, n_pooled = grid.n_sets, wanted.n_pooled
    shares = np.full((len(sources), len(questions), len(plan.categories), 8), np.nan)
    n_each = np.full((len(sources), len(tests)), n_sets, dtype=np.int64)
    n_on_path = np.full((len(tests), len(grid.path_sizes), len(grid.h)), n_sets, dtype=np.int64)
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
                shares[s, q], reasons[truth, question.name] = wanted.nulls[truth](
                    plan.categories, plan.cells, question.measure, **question.costs
                )
            pooled = _sets_each(n_pooled, int((~np.isnan(shares[s, q, :, 0])).sum()), n_sets)
            own = grid.own if kind == "size" else {}
            n_each[s, few] = [own.get(tests[place].name, pooled) for place in few]
            if truth == WITH_POWER and kind == "size":
                n_reached = _reached(shares[s, q], real, question, grid)
                n_on_path[few] = [[_sets_each(n_pooled, n, n_sets) for n in row] for row in n_reached]
        for i, n_documents in enumerate(grid.path_sizes if grid.h else ()):
            if n_documents in grid.sizes:  # the path's first point is one of the null's own
                own_sets = n_each[sources.index(Source(WITH_POWER, "size"))]
                n_on_path[:, i, np.array(grid.h) == 0] = own_sets[:, None]
    return _Populations(plan, grid, shares, reasons, n_each, n_on_path)


def _sets_each(n_pooled: int, n_categories: int, n_sets: int) -> int:
    """Return how many sets of each category make `n_pooled` in all, no more than `n_sets`."""
    return min(n_sets, math.ceil(n_pooled / max(1, n_categories)))


def _reached(null: Floats, real: Floats, question: Question, grid: Grid) -> list[list[int]]:
    """Return to how many categories the path leads, for each size and distance."""
    made = ~np.isnan(null[:, 0])
    if not any(grid.h):  # at distance 0 lies the null itself
        return [[int(made.sum())] * len(grid.h) for _ in grid.path_sizes]
    reaches = [reach(null[made], real[made], n, question.measure, **question.costs) for n in grid.path_sizes]
    return [[int((farthest >= distance).sum()) for distance in grid.h] for farthest in reaches]


def _units(made: Sequence[_Populations]) -> tuple[list[tuple[Any, ...]], list[str]]:
    units, names = [], []
    for plan, grid, shares, _, *numbers in made:
        for i, category in enumerate(plan.categories):
            identity = (plan.pair, plan.balance, plan.prevalence, category)
            units.append((plan.cells[i], shares[:, :, i], *numbers, identity, grid))
            names.append(_name(identity, plan.cells[i].tolist(), shares[:, :, i], *numbers))
    return units, names


def _name(identity: Sequence[object], given: list[Any], *arrays: NDArray[Any]) -> str:
    plain = (np.nan_to_num(array, nan=-1.0).tolist() for array in arrays)
    return "/".join(map(str, (*identity, digest(given, *plain))))


def _measure_again(made: Sequence[_Populations], tables: Sequence[pd.DataFrame], run: Run) -> None:
    """Fill in `worst_again` of the tables: the size of each point's worst category on sets drawn anew.

    Tests and levels that have the same worst category at one null and N share its new sets.
    """
    units, names, rows = [], [], []
    for (plan, grid, shares, _, n_each, _), table in zip(made, tables, strict=True):
        for category, wanted in _worst(table, grid).items():
            identity = (plan.pair, plan.balance, plan.prevalence, category)
            own = shares[:, :, plan.categories.index(category)]
            points = [(*point, sorted({place for place, _ in at})) for point, at in wanted.items()]
            units.append((own, points, n_each, identity, grid))
            names.append(_name(identity, points, own, n_each))
            rows.append((table, wanted, grid.alphas))
    found = run(count_again, units, names, threads=False, description="measuring the worst categories again")
    for (table, wanted, alphas), unit in zip(rows, found, strict=True):
        again = table["worst_again"].to_numpy(copy=True)
        for at, rejected in zip(wanted.values(), unit["n_rejected"], strict=True):
            for place, row in at:
                a = alphas.index(table["alpha"].iat[row])
                again[row] = rejected[place, a] / table["n_sets"].iat[row]
        table["worst_again"] = again


def _worst(table: pd.DataFrame, grid: Grid) -> dict[str, dict[tuple[int, int, int], list[tuple[int, int]]]]:
    """Return, by worst category, the points (source, question, N) and there each test's place and row."""
    places = {test.name: place for place, test in enumerate(grid.tests)}
    asks = {place: q for q, question in enumerate(grid.questions) for place in question.places}
    found: dict[str, dict[tuple[int, int, int], list[tuple[int, int]]]] = {}
    columns = ("truth", "test", "n_documents", "worst_category")
    for row, (truth, name, n_documents, category) in enumerate(zip(*map(table.get, columns), strict=True)):
        if isinstance(category, str):
            place = places[name]
            point = (grid.sources.index(Source(truth, "size")), asks[place], int(n_documents))
            found.setdefault(category, {}).setdefault(point, []).append((place, row))
    return found


def _left_out(plans: Sequence[Plan], nulls: Mapping[str, MakeNull]) -> list[str]:
    return [
        f"{plan.pair}, balance {plan.balance}: a null has a prevalence of its own, and these sets a fixed "
        f"one; left out under {', '.join(nulls)}"
        for plan in plans
        if plan.stratified
    ]


def _missing(made: Sequence[_Populations]) -> list[str]:
    """Return a warning for each null that some categories of a plan lack, one for all its prevalences."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for plan, grid, shares, *_ in made:
        measures = [question.measure for question in grid.questions]
        for s, (truth, kind) in enumerate(grid.sources):
            for q, question in enumerate(grid.questions if kind == "size" else ()):
                lacking = np.isnan(shares[s, q, :, 0])
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
