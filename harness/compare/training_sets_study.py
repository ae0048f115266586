"""``study=training_sets``: tests of learning algorithms on training sets drawn anew from a corpus."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.compare import rates
from harness.compare import training_sets as drawn
from harness.compare.figure_rates import FLOORED, curve_figure
from harness.compare.learner_tests import TESTS, Experiment
from harness.compare.report_parts import Figures, pick, read_table, records, sections
from harness.corpora.corpus import Corpus
from harness.errors import UserError
from harness.evaluation.rates import write_table
from harness.results.captions import sentence
from harness.runtime.parallel import Run
from harness.runtime.run_folder import RunFolder
from harness.writing.report import Captioned, Report

if TYPE_CHECKING:
    from pandas import DataFrame

TRUTH = "true_differences.csv"
TRIALS_PER_UNIT = 50
MOST_OF_POOL = 0.05
"""A data set that holds a larger share of the documents it is drawn from is warned of."""
NULLS = (
    "Two nulls hold exactly, for every training size, because A and B can change places. Two views: each "
    "term of a document is in one of two views (drawn once), a coin for each document of a data set says "
    "which view A reads, B reads the other, and both train the same learner; their errors differ by "
    "document, as those of two real algorithms do. Own bootstrap samples: both read whole documents, and "
    "whenever they are trained each trains on its own bootstrap sample of the training set; given the data "
    "set the differences then are independent with mean 0, which flatters tests that take splits as "
    "independent."
)
ALTERNATIVE = (
    "Alternatives: two views, and B may read only a share of the terms (drawn once). The true difference is "
    "the mean, over the data sets, of the difference of the two trained classifiers' error rates on "
    "documents kept for it, measured for each design's own training size."
)
CONDITIONAL = (
    "Conditional on: the documents of the corpus from which data sets are drawn (without replacement within "
    "a data set), the topic, the dictionary and idf (of the whole corpus), the terms dealt to the views, and "
    "the terms that B may read. Random in each trial: the data set, the coins, the splits, the "
    "bootstrap samples."
)
SETTINGS = {"views": "null: two views", "bootstrap": "null: own bootstrap samples"}


def list_points(setting: Mapping[str, Any], n_pool: int) -> list[drawn.Point]:
    """Return every setting at every size of a data set.

    Raises
    ------
    UserError
        If a point is impossible; one sentence.
    """
    names = [*setting["nulls"], *(f"{share:g}" for share in setting["kept_terms"])]
    design = [setting[name] for name in ("learner", "test_share", "n_resamples", "n_folds")]
    points = [drawn.Point(name, n, *design) for name in names for n in setting["sizes"]]
    if not points:
        raise UserError("nulls, kept_terms: both are empty; at least one setting is needed")
    for point in points:
        drawn.check_point(point, n_pool)
    return points


def measure(
    points: Sequence[drawn.Point], population: drawn.Population, experiment: Experiment, run: Run
) -> tuple[DataFrame, DataFrame]:
    """Return the table of sizes and powers, and that of the true differences."""
    import pandas as pd

    made: list[dict[str, Any]] = []
    truths: list[dict[str, Any]] = []
    for setting in dict.fromkeys(point.setting for point in points):
        own = [point for point in points if point.setting == setting]
        counted = experiment.count_at(
            own, TRIALS_PER_UNIT, run, drawn.run_trials, description=f"training sets: {setting}",
            shared=partial(drawn.make_problem, population, setting, experiment.seed),
        )  # fmt: skip
        power = setting not in drawn.NULLS
        key: dict[str, Any] = {"study": "training_sets", "setting": describe(setting)}
        for point, counts in zip(own, counted, strict=True):
            key["n_examples"] = point.n_examples
            known = _truth_rows(point, counts["truth"])
            truths += known.values()
            for row in rates.rows(experiment, key, counts, power, exact=False):
                truth = known[TESTS[row["test"]].trains_on]
                columns = ("difference", "difference_se")
                made.append(row | {name: truth[name] if power else 0.0 for name in columns})
    return rates.tabulate(made), pd.DataFrame(truths)


def _truth_rows(point: drawn.Point, truth: Any) -> dict[str, dict[str, Any]]:
    shares = (1 - point.test_share, 1 - 1 / point.n_folds, 0.5)
    n = len(truth)
    return {
        name: {
            "setting": describe(point.setting), "n_examples": point.n_examples, "trained_on": name,
            "n_train": round(share * point.n_examples), "difference": float(own.mean()),
            "difference_se": float(own.std(ddof=1) / np.sqrt(n)) if n > 1 else np.nan, "n_trials": n,
        }
        for name, share, own in zip(drawn.TRAINED_ON, shares, truth.T, strict=True)
    }  # fmt: skip


def describe(setting: str) -> str:
    """Return a setting's name in tables."""
    return SETTINGS.get(setting, f"B reads {setting} of the terms")


def training_sets(
    run: RunFolder,
    stage_run: Callable[..., Run],
    seed: int,
    *,
    load_corpus: Callable[[], Corpus],
    tests: Sequence[str],
    alphas: Sequence[float],
    n_trials: int,
    **setting: Any,
) -> tuple[dict[str, Any], Report]:
    """Run the study and write its tables; return facts for ``provenance.json`` and the report."""
    experiment = Experiment(tests, alphas, n_trials, seed)
    experiment.check()
    sizes = {name: setting[name] for name in ("n_terms", "n_truth")}
    with run.clock.stage("corpus and population"):
        corpus = load_corpus()
        column = drawn.choose_topic(corpus, setting["topic"])
        population = drawn.make_population(corpus, column, **sizes, seed=seed)
    n_pool = corpus.n_documents - setting["n_truth"]
    points = list_points(setting, n_pool)
    facts = _facts(corpus, column, population) | {"n_trials": n_trials, "n_points": len(points)}
    facts["warnings"] = _warnings(points, n_pool)
    inputs = (facts["corpus"]["fingerprint"], column, *sizes.values(), seed, tests, alphas)
    with run.clock.stage(f"{len(points)} points, {n_trials} data sets each"):
        table, truth = measure(points, population, experiment, stage_run("training sets", *inputs))
    write_table(table, run.out / rates.TABLE)
    write_table(truth, run.out / TRUTH)
    about = [_about(facts, setting), NULLS, ALTERNATIVE, CONDITIONAL, *facts["corpus"]["notes"]]
    level = pick(table, alpha=rates.main_alpha(table))
    parts = captioned_tables(level, truth)
    front = sections(findings(level, truth), about, facts["warnings"], parts)
    title = "Size and power of tests of learning algorithms: training sets drawn from a corpus"
    return facts, Report(title, front, {rates.STEM: parts})


def _warnings(points: Sequence[drawn.Point], n_pool: int) -> list[str]:
    share = max(point.n_examples for point in points) / n_pool
    if share <= MOST_OF_POOL:
        return []
    return [
        f"The largest data sets hold {100 * share:.0f} % of the {n_pool:,} documents that they are drawn "
        "from: they resemble each other, and rates come out lower than on a larger corpus."
    ]


def _facts(corpus: Corpus, column: int, population: drawn.Population) -> dict[str, Any]:
    return {
        "corpus": {
            "name": corpus.name, "n_documents": corpus.n_documents, "n_terms": population.whole.shape[1],
            "fingerprint": corpus.fingerprint(), "notes": list(corpus.notes),
        },
        "topic": corpus.topic_names[column], "prevalence": float(population.labels.mean()),
        "n_truth": population.n_truth,
    }  # fmt: skip


def _about(facts: Mapping[str, Any], setting: Mapping[str, Any]) -> str:
    corpus = facts["corpus"]
    return (
        f"Corpus {corpus['name']}: {corpus['n_documents']:,} documents, {corpus['n_terms']:,} terms; the "
        f"label is topic {facts['topic']} ({100 * facts['prevalence']:.1f} % of the documents). Learner: "
        f"{setting['learner'].replace('_', ' ')}. {facts['n_truth']:,} documents measure the truth. "
        f"{setting['n_resamples']} random splits, {setting['n_folds']} folds, five halvings; the hold-out is "
        "the first random split's."
    )


def captioned_tables(level: DataFrame, truth: DataFrame) -> list[Captioned]:
    """Return the tables of the report: sizes or power of each setting by N, and the true differences."""
    parts = []
    for (name, kind), own in level.groupby(["setting", "kind"], sort=False):
        head = f"{'Type I errors' if kind == 'size' else 'Power'} at level {rates.main_alpha(own):g}; {name}"
        parts.append((head, rates.wide_table(own, "n_examples", "{} examples")))
    words = {"resample": "a random split", "fold": "all folds but one", "half": "a half"}
    shown = truth.assign(
        trained_on=truth["trained_on"].map(words),
        difference=[
            f"{row['difference']:+.4f} ± {1.96 * row['difference_se']:.4f}" for row in records(truth)
        ],
    )
    names = {"n_examples": "examples", "trained_on": "trained on", "n_train": "documents trained on"}
    shown = shown[["setting", *names, "difference"]].rename(columns=names)
    return [*parts, ("True differences of the error rates, A minus B", shown)]


def findings(level: DataFrame, truth: DataFrame) -> list[str]:
    """Return in sentences which tests hold their level under each null, and how power grows."""
    lines = rates.setting_findings(level)
    null = truth[truth["setting"].str.startswith("null")]
    if len(null) and null["difference_se"].notna().all():
        scores = (null["difference"] / null["difference_se"].where(null["difference_se"] > 0, np.inf)).abs()
        lines.append(
            f"The nulls' true differences, measured, lie within {scores.max():.1f} standard errors of 0 "
            f"({len(null)} of them)."
        )
    return [*lines, rates.degenerate_finding(level)]


def figures(out: Path, facts: Mapping[str, Any], width: float) -> Figures:
    """Return the figures of a finished study, from its table."""
    table = read_table(out / rates.TABLE)
    alpha = rates.main_alpha(table)
    level = pick(table, alpha=alpha)
    heads = {
        "size": f"Type I errors at level {alpha:g} against the number of examples of a data set, where A "
        f"and B are the same learner. {NULLS} {FLOORED}",
        "power": f"Power at level {alpha:g} against the number of examples of a data set: rejections in "
        f"which A showed fewer errors. {ALTERNATIVE} A test whose Type I error is above the level gains "
        "nothing by its power.",
    }
    trials = f"{int(level['n_trials'].min()):,} data sets a point. {rates.BARS}"
    about = _about(facts, facts["config"]["training_sets"])
    notes = [sentence(note) for note in (*facts["corpus"]["notes"], *facts["warnings"])]
    return {
        "type_i_errors" if kind == "size" else kind: (
            partial(curve_figure, pick(level, kind=kind), kind, "n_examples", width),
            " ".join([head, trials, about, CONDITIONAL, *notes]),
        )
        for kind, head in heads.items()
        if kind in set(level["kind"])
    }
