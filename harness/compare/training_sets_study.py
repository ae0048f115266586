"""``study=training_sets``: tests of learning algorithms on training sets drawn anew from a corpus."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.compare.algorithm_rates import rows, tabulate
from harness.compare.learner_tests import TESTS, check_tests
from harness.compare.report_parts import TABLE
from harness.compare.training_sets import (
    NULLS,
    TRAINED_ON,
    Point,
    Population,
    check_point,
    choose_topic,
    make_population,
    make_problem,
    run_trials,
)
from harness.compare.training_sets_report import write_report
from harness.corpora.corpus import Corpus
from harness.errors import UserError
from harness.evaluation.rates import write_table
from harness.runtime.provenance import Clock

if TYPE_CHECKING:
    from pandas import DataFrame

TRUTH = "true_differences.csv"
TRIALS_PER_UNIT = 50
MOST_OF_POOL = 0.05
"""A data set that holds a larger share of the documents it is drawn from is warned of."""


def list_points(
    *,
    nulls: Sequence[str],
    kept_terms: Sequence[float],
    sizes: Sequence[int],
    learner: str,
    test_share: float,
    n_resamples: int,
    n_folds: int,
    n_pool: int,
) -> list[Point]:
    """Return every setting at every size of a data set.

    Raises
    ------
    UserError
        If a point is impossible; one sentence.
    """
    for name in nulls:
        if name not in NULLS:
            raise UserError(f"nulls: {name!r} is not allowed; choose from {', '.join(NULLS)}")
    settings = [*nulls, *(f"{share:g}" for share in kept_terms)]
    points = [
        Point(setting, n, learner, test_share, n_resamples, n_folds) for setting in settings for n in sizes
    ]
    if not points:
        raise UserError("nulls, kept_terms: both are empty; at least one setting is needed")
    for point in points:
        try:
            check_point(point, n_pool)
        except ValueError as error:
            raise UserError(str(error)) from error
    return points


def measure(
    points: Sequence[Point],
    population: Population,
    tests: Sequence[str],
    alphas: Sequence[float],
    n_trials: int,
    seed: int,
    stage_run: Callable[..., Any],
) -> tuple[DataFrame, DataFrame]:
    """Return the table of sizes and powers, and that of the true differences.

    `stage_run` takes the name of a stage and gives the run of its units.
    """
    import pandas as pd

    starts = range(0, n_trials, TRIALS_PER_UNIT)
    made: list[dict[str, Any]] = []
    truths: list[dict[str, Any]] = []
    run = stage_run("training sets")
    for setting in dict.fromkeys(point.setting for point in points):
        own = [point for point in points if point.setting == setting]
        units = [
            (point, tuple(tests), tuple(alphas), seed, start, min(start + TRIALS_PER_UNIT, n_trials))
            for point in own
            for start in starts
        ]
        parts = run(
            run_trials,
            units,
            [f"{tuple(point)} trials {start}-{stop}" for point, _, _, _, start, stop in units],
            shared=lambda setting=setting: make_problem(population, setting, seed),
            threads=False,
            description=f"training sets: {setting}",
        )
        for place, point in enumerate(own):
            found = parts[place * len(starts) : (place + 1) * len(starts)]
            truth = np.concatenate([part.pop("truth") for part in found])
            counts = {name: np.sum([part[name] for part in found], axis=0) for name in found[0]}
            truths += _truth_rows(point, truth)
            made += _rows_of_point(point, tests, alphas, counts, truth)
    return tabulate(made), pd.DataFrame(truths)


def _truth_rows(point: Point, truth: Any) -> list[dict[str, Any]]:
    sizes = {"resample": 1 - point.test_share, "fold": 1 - 1 / point.n_folds, "half": 0.5}
    n = len(truth)
    return [
        {
            "setting": describe(point.setting),
            "n_examples": point.n_examples,
            "trained_on": name,
            "n_train": round(sizes[name] * point.n_examples),
            "difference": float(truth[:, place].mean()),
            "difference_se": float(truth[:, place].std(ddof=1) / np.sqrt(n)) if n > 1 else np.nan,
            "n_trials": n,
        }
        for place, name in enumerate(TRAINED_ON)
    ]


def describe(setting: str) -> str:
    """Return a setting's name in tables.

    Examples
    --------
    >>> describe("views"), describe("0.5")
    ('null: two views', 'B reads 0.5 of the terms')
    """
    names = {"views": "null: two views", "bootstrap": "null: own bootstrap samples"}
    return names.get(setting, f"B reads {setting} of the terms")


def _rows_of_point(
    point: Point, tests: Sequence[str], alphas: Sequence[float], counts: Mapping[str, Any], truth: Any
) -> list[dict[str, Any]]:
    power = point.setting not in NULLS
    key = {"study": "training_sets", "setting": describe(point.setting), "n_examples": point.n_examples}
    made = rows(key, tests, alphas, counts, len(truth), power=power)
    known = {row["trained_on"]: row for row in _truth_rows(point, truth)}
    for row in made:
        own = known[TESTS[row["test"]].trains_on]
        row["difference"] = own["difference"] if power else 0.0
        row["difference_se"] = own["difference_se"] if power else 0.0
    return made


def training_sets(
    *,
    out: Path,
    seed: int,
    stage_run: Callable[..., Any],
    clock: Clock,
    figure: Mapping[str, Any],
    say: Callable[[str], None],
    load_corpus: Callable[[], Corpus],
    topic: str | None,
    n_terms: int,
    n_truth: int,
    tests: Sequence[str],
    alphas: Sequence[float],
    n_trials: int,
    **setting: Any,
) -> tuple[dict[str, Any], list[str]]:
    """Run the study; leave tables, figures and summary in `out`.

    Parameters
    ----------
    load_corpus : callable
        Returns the Corpus.
    topic : str or None
        What is decided; None takes the topic whose share of the documents is nearest to one quarter.
    n_terms, n_truth : int
        As in :func:`harness.compare.training_sets.make_population`.
    tests, alphas, n_trials
        As in :func:`harness.compare.simulated_null_study.simulated_null`.
    **setting
        Keywords of :func:`list_points`, but for `n_pool`.
    out, seed, stage_run, clock, figure, say
        As every study of ``harness compare`` gets them.

    Returns
    -------
    facts : dict
        For ``provenance.json``.
    lines : list of str
        What the command says at its end.

    Raises
    ------
    UserError
        If a setting is not allowed.
    """
    with clock.stage("corpus and population"):
        try:
            check_tests(tests)
            corpus = load_corpus()
            column = choose_topic(corpus, topic)
            population = make_population(corpus, column, n_terms=n_terms, n_truth=n_truth, seed=seed)
        except ValueError as error:
            raise UserError(str(error)) from error
    points = list_points(**setting, n_pool=corpus.n_documents - n_truth)
    facts = _facts(corpus, column, population)
    run_inputs = (facts["corpus"]["fingerprint"], column, n_terms, n_truth, seed, list(tests), list(alphas))

    def stage(name: str) -> Any:
        """Return the run of a stage."""
        return stage_run(name, *run_inputs)

    with clock.stage(f"{len(points)} points, {n_trials} data sets each"):
        table, truth = measure(points, population, tests, alphas, n_trials, seed, stage)
    write_table(table, out / TABLE)
    write_table(truth, out / TRUTH)
    with clock.stage("figures and summary"):
        facts["warnings"] = _warnings(points, corpus.n_documents - n_truth)
        lines = write_report(out, table, truth, facts, setting, figure)
    return {**facts, "n_trials": n_trials, "n_points": len(points)}, lines


def _warnings(points: Sequence[Point], n_pool: int) -> list[str]:
    share = max(point.n_examples for point in points) / n_pool
    if share <= MOST_OF_POOL:
        return []
    return [
        f"The largest data sets hold {100 * share:.0f} % of the {n_pool:,} documents that they are drawn "
        "from: they resemble each other, and rates come out lower than on a larger corpus."
    ]


def _facts(corpus: Corpus, column: int, population: Population) -> dict[str, Any]:
    return {
        "corpus": {
            "name": corpus.name,
            "n_documents": corpus.n_documents,
            "n_terms": population.whole.shape[1],
            "fingerprint": corpus.fingerprint(),
            "notes": list(corpus.notes),
        },
        "topic": corpus.topic_names[column],
        "prevalence": float(population.labels.mean()),
        "n_truth": population.n_truth,
    }
