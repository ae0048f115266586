"""``study=training_sets``: tests of learning algorithms on training sets drawn anew from a corpus."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pandas import DataFrame
from scipy import sparse

from harness.compare import learner_tests as lt
from harness.compare import rates
from harness.compare.learner_tests import TESTS, Differences, Experiment
from harness.compare.report_parts import Figures, read_table, records, sections
from harness.corpora.corpus import Corpus
from harness.errors import UserError
from harness.evaluation.rates import write_table
from harness.features import AsStored, Dictionary, TfIdf
from harness.measures import Bools, Floats, Ints
from harness.results.names import pick
from harness.runtime.parallel import Run
from harness.runtime.run_folder import RunFolder
from harness.seeding import rng
from harness.writing.prose import paragraph, paragraphs, sentence
from harness.writing.report import Captioned, Report

TRAINED_ON = ("resample", "fold", "half")
"""Training sets of the three designs; the true difference is measured for each."""
NULLS = ("views", "bootstrap")
TRUTH = "true_differences.csv"
TRIALS_PER_UNIT = 50
MOST_OF_POOL = 0.05
"""A data set that holds a larger share of the documents it is drawn from is warned of."""
SETTINGS = {"views": "null: two views", "bootstrap": "null: own bootstrap samples"}

Learner = Callable[[sparse.csr_array, Bools, Ints], tuple[Floats, Floats]]


def naive_bayes(x: sparse.csr_array, y: Bools, times: Ints) -> tuple[Floats, Floats]:
    """Train complement naive Bayes (Rennie et al. 2003, ICML, section 3.1) on many samples of one data set.

    `x` (n_examples, n_terms) holds weights >= 0, `times` (n_samples, n_examples) how often a sample holds
    each example. An example belongs to the class where ``x @ coef + intercept > 0``, `coef` of shape
    (n_terms, n_samples). A sample with one class decides for that class everywhere.
    """
    weights = times.T.astype(float)
    transposed = sparse.csr_array(x.T)
    logs = []
    for member in (y, ~y):
        smoothed = transposed @ np.where(member[:, None], weights, 0.0) + 1.0
        logs.append(np.log(smoothed) - np.log(smoothed.sum(axis=0)))
    return _settle_one_class(y, times, logs[0] - logs[1], np.zeros(len(times)))


def linear_svm(x: sparse.csr_array, y: Bools, times: Ints) -> tuple[Floats, Floats]:
    """Train a linear support vector machine (squared hinge loss, C = 1) on each sample.

    Arguments and results are those of :func:`naive_bayes`; the solver is that of ``LinearSVC(dual=False)``,
    Fan et al. (2008), LIBLINEAR, JMLR 9, 1871-1874.
    """
    from sklearn import config_context
    from sklearn.svm import LinearSVC

    coef, intercept = np.zeros((x.shape[1], len(times))), np.zeros(len(times))
    plain = sparse.csr_matrix(x)
    with config_context(assume_finite=True, skip_parameter_validation=True):
        for sample, repeats in enumerate(times):
            rows = np.repeat(np.arange(len(y)), repeats)
            if y[rows].any() and not y[rows].all():
                machine = LinearSVC(dual=False).fit(plain[rows], y[rows])
                coef[:, sample], intercept[sample] = machine.coef_[0], machine.intercept_[0]
    return _settle_one_class(y, times, coef, intercept)


def _settle_one_class(y: Bools, times: Ints, coef: Floats, intercept: Floats) -> tuple[Floats, Floats]:
    """Let samples with one class decide for it."""
    n_positive, n = times @ y, times.sum(axis=1)
    single = (n_positive == 0) | (n_positive == n)
    coef = np.where(single, 0.0, coef)
    return coef, np.where(single, np.where(n_positive > 0, 1.0, -1.0), intercept)


LEARNERS: dict[str, Learner] = {"naive_bayes": naive_bayes, "linear_svm": linear_svm}
"""All by the names that ``learner=`` takes."""


class Population(NamedTuple):
    """A binary problem, each document in two views.

    `views` has the documents' first views, then their second ones: each term of a document is in one of them.
    The first `n_truth` documents measure the truth; data sets are drawn from the others.
    """

    views: sparse.csr_array
    whole: sparse.csr_array
    labels: Bools
    n_truth: int


class Point(NamedTuple):
    """What the data sets of a point have in common.

    `setting` is "views" or "bootstrap", where A and B are the same learner, or the share of the terms that B
    may read, as "0.5", where A is better.
    """

    setting: str
    n_examples: int
    learner: str
    test_share: float
    n_resamples: int
    n_folds: int


def check_point(point: Point, n_pool: int) -> None:
    """Raise UserError unless data sets of this kind can be drawn from `n_pool` documents."""
    lt.check_design(point.n_examples, point.test_share, point.n_folds)
    if point.n_examples > n_pool:
        raise UserError(
            f"n_examples: {point.n_examples} is not allowed; {n_pool} documents are left beside those that "
            "measure the truth"
        )


def choose_topic(corpus: Corpus, topic: str | None, prevalence: float = 0.25) -> int:
    """Return the column of `topic`, or of the topic whose prevalence is nearest to `prevalence`."""
    if topic is not None:
        if topic not in corpus.topic_names:
            raise UserError(f"topic: {topic!r} is not one of the corpus, such as {corpus.topic_names[0]!r}")
        return corpus.topic_names.index(topic)
    shares = np.asarray(corpus.topics.sum(axis=0)).ravel() / corpus.n_documents
    return int(np.argmin(np.abs(shares - prevalence)))


def make_population(corpus: Corpus, column: int, *, n_terms: int, n_truth: int, seed: int) -> Population:
    """Return the problem "does a document carry this topic" in two views, each vector of length 1.

    Vectors hold the `n_terms` terms of the most documents, weighted by (1 + ln tf) idf where the corpus holds
    counts; idf is that of the whole corpus, no part of what is learned.
    """
    if not 0 < n_truth < corpus.n_documents:
        raise UserError(
            f"n_truth: {n_truth} is not allowed; 1 to {corpus.n_documents - 1} are (the corpus has "
            f"{corpus.n_documents} documents)"
        )
    order = rng(seed, "order").permutation(corpus.n_documents)
    whole = document_vectors(corpus, n_terms)[order]
    first = rng(seed, "views").random(whole.nnz) < 0.5
    parts = [_masked(whole, first), _masked(whole, ~first)]
    views = sparse.csr_array(sparse.vstack([normalise(part) for part in parts], format="csr"))
    labels = np.asarray(corpus.topics[:, [column]].todense()).ravel().astype(bool)[order]
    return Population(views, normalise(whole), labels, n_truth)


def document_vectors(corpus: Corpus, n_terms: int) -> sparse.csr_array:
    """Return weights of the terms that the most documents hold, float64."""
    df = np.bincount(corpus.terms.indices, minlength=corpus.terms.shape[1])
    kept = np.sort(np.argsort(-df, kind="stable")[:n_terms])
    kept = kept[df[kept] > 0]
    is_stored = corpus.values != "counts"
    idf = (np.ones(kept.size) if is_stored else np.log(corpus.n_documents / df[kept])).astype(np.float32)
    kept, idf = kept[idf > 0], idf[idf > 0]
    if not kept.size:
        raise UserError(
            f"n_terms: the {n_terms} terms of the most documents are in all of them; more are needed"
        )
    features = AsStored() if is_stored else TfIdf()
    return features.transform(Dictionary(kept, idf), corpus.terms).astype(np.float64)


def _masked(x: sparse.csr_array, kept: Bools) -> sparse.csr_array:
    """Return `x` with only some of its stored values."""
    indptr = np.concatenate([[0], np.cumsum(kept)])[x.indptr]
    return sparse.csr_array((x.data[kept], x.indices[kept], indptr), shape=x.shape)


def normalise(x: sparse.csr_array) -> sparse.csr_array:
    """Return `x` with rows of length 1; empty rows stay 0."""
    from sklearn.preprocessing import normalize

    return sparse.csr_array(normalize(x))


class Problem(NamedTuple):
    """What A and B read, one version of each document or two, one after the other: whole ones or views."""

    a: sparse.csr_array
    b: sparse.csr_array
    labels: Bools
    n_truth: int


def make_problem(population: Population, setting: str, seed: int) -> Problem:
    """Return the problem of a setting; where B is handicapped, the terms it may read are drawn once."""
    read = population.whole if setting == "bootstrap" else population.views
    if setting in NULLS:
        return Problem(read, read, population.labels, population.n_truth)
    n_terms = read.shape[1]
    n_kept = max(1, round(float(setting) * n_terms))
    kept = np.sort(rng(seed, "kept terms").permutation(n_terms)[:n_kept])
    fewer = normalise(sparse.csr_array(read[:, kept]))
    return Problem(read, fewer, population.labels, population.n_truth)


def run_trials(
    problem: Problem, point: Point, experiment: Experiment, first: int, last: int
) -> dict[str, NDArray[Any]]:
    """Return what is rejected on trials `first` to `last` - 1, and the `truth` for each of `TRAINED_ON`."""
    shown, truth = [], []
    for trial in range(first, last):
        generator = rng(experiment.seed, "training sets", *point, trial)
        seen, apart = run_trial(problem, point, generator)
        shown.append(seen)
        truth.append(apart)
    counts = lt.count_rejections(lt.join_trials(shown), experiment.tests, experiment.alphas)
    return {**counts, "truth": np.array(truth)}


def run_trial(problem: Problem, point: Point, generator: np.random.Generator) -> tuple[Differences, Floats]:
    """Draw one data set, train A and B on every training set of every design, and test them.

    In the settings with views, a coin for each document says which view A reads; B reads the other.
    """
    n, n_documents = point.n_examples, len(problem.labels)
    n_train, n_test = lt.split_sizes(n, point.test_share)
    document = problem.n_truth + generator.choice(n_documents - problem.n_truth, n, replace=False)
    tested = lt.held_out(n, point.n_resamples, n_test, point.n_folds, generator)
    y = problem.labels[document]
    places, times = _places(problem, point, document, ~tested, generator)
    wrong, machines = [], []
    for x, rows, n_times in zip((problem.a, problem.b), places, times, strict=True):
        read = sparse.csr_array(x[rows])
        coef, intercept = LEARNERS[point.learner](read, y, n_times)
        wrong.append(((read @ coef + intercept > 0) != y[:, None]).T)  # (samples, examples)
        machines.append((coef, intercept))
    apart = ((wrong[0].astype(np.int64) - wrong[1]) * tested).sum(axis=1) / tested.sum(axis=1)
    ends = np.cumsum([point.n_resamples, point.n_folds])
    resamples, folds, halves = np.split(apart[None], ends, axis=1)
    a, b, held = wrong[0][0], wrong[1][0], tested[0]
    cells = np.array([[(a & ~b & held).sum(), (b & ~a & held).sum(), (a & b & held).sum()]])
    hold_out = lt.as_outcomes(cells, n_test)
    seen = Differences(resamples, folds, halves.reshape(1, lt.N_HALVINGS, 2), hold_out, n_train, n_test)
    return seen, _true_difference(problem, machines, [0, *ends])


def _places(
    problem: Problem, point: Point, document: Ints, trained: Bools, generator: np.random.Generator
) -> tuple[list[Ints], list[Ints]]:
    """Return the rows that A and B read, and how often each training set holds each example."""
    plain = trained.astype(np.int64)
    if point.setting != "bootstrap":
        swapped, n_documents = generator.integers(0, 2, len(document)), len(problem.labels)
        return [document + swapped * n_documents, document + (1 - swapped) * n_documents], [plain, plain]
    sizes = plain.sum(axis=1)
    chances = plain / sizes[:, None]
    return [document, document], [generator.multinomial(sizes, chances) for _ in "ab"]


def _true_difference(
    problem: Problem, machines: Sequence[tuple[Floats, Floats]], samples: Sequence[int]
) -> Floats:
    """Return the difference of the error rates of A and B on the documents kept for the truth."""
    errors, y = [], problem.labels[: problem.n_truth, None]
    for x, (coef, intercept) in zip((problem.a, problem.b), machines, strict=True):
        wrong = [
            (x[start : start + problem.n_truth] @ coef[:, samples] + intercept[samples] > 0) != y
            for start in range(0, x.shape[0], len(problem.labels))
        ]
        errors.append(np.mean(wrong, axis=(0, 1)))
    return np.asarray(errors[0] - errors[1])


def list_points(setting: Mapping[str, Any], n_pool: int) -> list[Point]:
    """Return every setting at every size of a data set, checked."""
    names = [*setting["nulls"], *(f"{share:g}" for share in setting["kept_terms"])]
    design = [setting[name] for name in ("learner", "test_share", "n_resamples", "n_folds")]
    points = [Point(name, n, *design) for name in names for n in setting["sizes"]]
    if not points:
        raise UserError("nulls, kept_terms: both are empty; at least one setting is needed")
    for point in points:
        check_point(point, n_pool)
    return points


def measure(
    points: Sequence[Point], population: Population, experiment: Experiment, run: Run
) -> tuple[DataFrame, DataFrame]:
    """Return the table of sizes and powers, and that of the true differences."""
    made: list[dict[str, Any]] = []
    truths: list[dict[str, Any]] = []
    for setting in dict.fromkeys(point.setting for point in points):
        own = [point for point in points if point.setting == setting]
        counted = experiment.count_at(
            own, TRIALS_PER_UNIT, run, run_trials, description=f"training sets: {setting}",
            shared=partial(make_problem, population, setting, experiment.seed),
        )  # fmt: skip
        power = setting not in NULLS
        key: dict[str, Any] = {"study": "training_sets", "setting": describe(setting)}
        for point, counts in zip(own, counted, strict=True):
            key["n_examples"] = point.n_examples
            known = _truth_rows(point, counts["truth"])
            truths += known.values()
            for row in rates.rows(experiment, key, counts, power, exact=False):
                truth = known[TESTS[row["test"]].trains_on]
                columns = ("difference", "difference_se")
                made.append(row | {name: truth[name] if power else 0.0 for name in columns})
    return rates.tabulate(made), DataFrame(truths)


def _truth_rows(point: Point, truth: Any) -> dict[str, dict[str, Any]]:
    shares = (1 - point.test_share, 1 - 1 / point.n_folds, 0.5)
    n = len(truth)
    return {
        name: {
            "setting": describe(point.setting), "n_examples": point.n_examples, "trained_on": name,
            "n_train": round(share * point.n_examples), "difference": float(own.mean()),
            "difference_se": float(own.std(ddof=1) / np.sqrt(n)) if n > 1 else np.nan, "n_trials": n,
        }
        for name, share, own in zip(TRAINED_ON, shares, truth.T, strict=True)
    }  # fmt: skip


def describe(setting: str) -> str:
    """Return a setting's name in tables."""
    return SETTINGS.get(setting, f"B reads {setting} of the terms")


def run_study(
    run: RunFolder,
    stage_run: Callable[..., Run],
    seed: int,
    *,
    load_corpus: Callable[[], Corpus],
    experiment: Experiment,
    **setting: Any,
) -> tuple[dict[str, Any], Report]:
    """Run the study and write its tables; return facts for ``provenance.json`` and the report."""
    tests, alphas, n_trials, _ = experiment
    sizes = {name: setting[name] for name in ("n_terms", "n_truth")}
    with run.clock.stage("corpus and population"):
        corpus = load_corpus()
        column = choose_topic(corpus, setting["topic"])
        population = make_population(corpus, column, **sizes, seed=seed)
    n_pool = corpus.n_documents - setting["n_truth"]
    points = list_points(setting, n_pool)
    share = max(point.n_examples for point in points) / n_pool
    warnings = paragraphs("compare", "training_sets_warnings", share=share, n_pool=n_pool)
    warnings = warnings if share > MOST_OF_POOL else []
    facts: dict[str, Any] = {
        "corpus": {
            "name": corpus.name, "n_documents": corpus.n_documents, "n_terms": population.whole.shape[1],
            "fingerprint": corpus.fingerprint(), "notes": list(corpus.notes),
        },
        "topic": corpus.topic_names[column], "prevalence": float(population.labels.mean()),
        "n_truth": population.n_truth, "n_trials": n_trials, "n_points": len(points), "warnings": warnings,
    }  # fmt: skip
    inputs = (facts["corpus"]["fingerprint"], column, *sizes.values(), seed, tests, alphas)
    with run.clock.stage(f"{len(points)} points, {n_trials} data sets each"):
        table, truth = measure(points, population, experiment, stage_run("training sets", *inputs))
    write_table(table, run.out / rates.TABLE)
    write_table(truth, run.out / TRUTH)
    about = paragraphs("compare", "training_sets_about", facts=facts, setting=setting)
    level = pick(table, alpha=rates.main_alpha(table))
    parts = captioned_tables(level, truth)
    about += corpus.notes
    front = sections(findings(level, truth), about, warnings, parts)
    title = "Size and power of tests of learning algorithms: training sets drawn from a corpus"
    return facts, Report(title, front, {rates.STEM: parts})


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
        lines.append(paragraph("compare", "training_sets_truth", farthest=scores.max(), n=len(null)))
    return [*lines, rates.degenerate_finding(level)]


def figures(out: Path, facts: Mapping[str, Any]) -> Figures:
    """Return the figures of a finished study, from its table."""
    table = read_table(out / rates.TABLE)
    alpha = rates.main_alpha(table)
    level = pick(table, alpha=alpha)
    setting = facts["config"]["training_sets"]
    about, *_, conditional = paragraphs("compare", "training_sets_about", facts=facts, setting=setting)
    trials = f"{int(level['n_trials'].min()):,} data sets a point. {rates.BARS}"
    closing = [trials, about, conditional, *map(sentence, (*facts["corpus"]["notes"], *facts["warnings"]))]
    made: Figures = {}
    stems = {"size": ("type_i_errors", "training_sets_size"), "power": ("power", "training_sets_power")}
    for kind, (stem, head) in stems.items():
        own = pick(level, kind=kind)
        if len(own):
            caption = " ".join([paragraph("compare", head, alpha=alpha, floored=rates.FLOORED), *closing])
            made[stem] = partial(rates.curve_figure, own, kind, "n_examples", caption)
    return made
