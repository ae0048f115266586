"""The size/power study: corpus -> models -> outcomes -> evaluation sets -> tests -> tables -> figures."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from harness.balance import Balance, Categories
from harness.corpora.corpus import count_empty
from harness.errors import UserError, instead, refusal
from harness.evaluation.null_sets import levels, shown_alpha
from harness.evaluation.rates import size_power, write_table
from harness.evaluation.rejections import Setting
from harness.evaluation.sets import check_sizes, plan_evaluations
from harness.evaluation.under_nulls import NullSettings, NullStudy, evaluate_nulls
from harness.evaluation.under_rules import evaluate
from harness.outcomes import Population, check_file, read_outcomes, write_outcomes
from harness.results.folder import Results
from harness.run import training
from harness.run.figures import draw_figures
from harness.run.report import write_summary
from harness.run.training import Documents, Job
from harness.runtime.parallel import Run, Workers
from harness.runtime.provenance import Clock
from harness.runtime.run_folder import RunFolder, open_run
from harness.runtime.store import digest, hash_file
from harness.split import split_documents


class Source(NamedTuple):
    """Everything that is known before a model is trained; `facts` are for ``provenance.json``."""

    documents: Documents
    categories: dict[str, Categories]
    topic_names: tuple[str, ...]
    facts: dict[str, Any]
    warnings: list[str]


def run_study(job: Job, evaluation: Mapping[str, Any], nulls: Mapping[str, Any]) -> None:
    """Run the study and leave its tables, figures and summary in the job's folder.

    A folder that holds the same study is finished where it was left; what is kept in the cache is not
    computed again.
    """
    stored, out = job.population_file, job.out
    identity = {**job.config, "population_sha256": stored and _hash_input(stored)}
    with open_run(out, identity, job.say) as run:
        if run is None:
            return
        tabulate(job, evaluation, nulls, run)
        results = Results(out)
        with run.clock.stage("figures and summary"):
            drawn = draw_figures(results, job.figure, workers=job.workers)
            found = write_summary(results)
        run.tell(drawn, found)


def tabulate(job: Job, evaluation: Mapping[str, Any], nulls: Mapping[str, Any], run: RunFolder) -> None:
    """Write the tables of a study: from a corpus or from stored outcomes to size and power."""
    stored = job.population_file
    if stored is None:
        training.pair_models(job.pairs, job.training["models"])
        with run.clock.stage("corpus, split and features"):
            source = prepare(job)
        facts, warnings, n_true = source.facts, source.warnings, source.documents.x_true.shape[0]
    else:
        populations, facts, warnings = read_populations(stored, job.balances, job.pairs, job.categories)
        n_true = min(int(population.counts.sum(axis=1).min()) for population in populations)
    warnings += check_grid(evaluation, n_true)
    run.begin(job.config, evaluation["n_sets"], facts, warnings)
    if stored is None:
        populations = train_all(job, source, run)
    write_outcomes(populations, job.out / "outcomes.csv")
    warnings += evaluate_all(
        populations, job.balances, job.config, evaluation, nulls, job.make_run, run.clock, job.out
    )
    run.note(warnings=warnings)


def redraw(folder: Path, figure: Mapping[str, Any], out: Path, *, workers: Workers) -> list[Path]:
    """Draw the figures of a finished run again, from its tables."""
    if not (folder / "size_power.csv").is_file():
        raise UserError(f"from={folder}: it holds no size_power.csv; the folder of a finished run is needed")
    return draw_figures(Results(folder), figure, workers=workers, out=out)


def prepare(job: Job, *, keep_test: bool = False) -> Source:
    """Load the corpus, split it, make the document vectors and choose the categories.

    With `keep_test` the documents of D_te stand behind those of D_true.
    """
    corpus, split = job.training["load_corpus"](), job.training["split"]
    known = {"chronological": corpus.chronological, "days": corpus.days}
    parts = split_documents(corpus.n_documents, seed=job.seed, **known, **split)
    fingerprint = corpus.fingerprint()
    kept = ["D_true, D_te"] if keep_test else []
    key = digest(fingerprint, dict(split), job.seed, job.config["features"], *kept)
    judged = np.concatenate([parts.true, parts.test]) if keep_test else parts.true
    documents = training.make_documents(corpus, parts._replace(true=judged), job.training["features"], key)
    categories = training.choose_categories(documents, corpus.topic_names, job.balances, job.seed)
    found = {name: len(members.names) for name, members in categories.items()}
    wanted = {name: balance.n_categories for name, balance in job.balances.items() if balance.unions}
    warnings = [
        f"{name}: {found[name]} unions were found, {n} were wanted"
        for name, n in wanted.items()
        if found[name] < n
    ]
    facts = {
        "corpus": {
            "name": corpus.name, "n_documents": corpus.n_documents, "n_terms": corpus.terms.shape[1],
            "n_topics": len(corpus.topic_names), "n_empty": count_empty(corpus),
            "first_id": str(corpus.document_ids[0]), "last_id": str(corpus.document_ids[-1]),
            "fingerprint": fingerprint, "notes": list(corpus.notes),
        },
        "split": {f"n_{name}": len(getattr(parts, name)) for name in ("train", "test", "true")},
        "n_terms_in_dictionary": documents.x_train.shape[1],
        "n_categories": found,
        "left_out": {"natural": sorted(set(corpus.topic_names) - set(categories["natural"].names))},
    }  # fmt: skip
    return Source(documents, categories, corpus.topic_names, facts, warnings)


def train_all(job: Job, source: Source, run: RunFolder) -> list[Population]:
    """Train every model that a pair names on every list of categories; count outcomes on D_true."""
    documents, categories = source.documents, source.categories
    pairs = training.pair_models(job.pairs, job.training["models"])
    used = {name for _, a, b in pairs for name in (a, b)}
    trained = {}
    for kind, members in categories.items():
        if training.is_needed(kind, job.balances):
            for name in (name for name in job.training["models"] if name in used):
                stage = run.clock.steps(f"{name} on {len(members.names)} {kind} categories")
                trained[kind, name] = training.train(job, name, documents, members, stage)
    write_table(training.tabulate_models(trained, documents, categories), run.out / "models.csv")
    write_table(training.tabulate_categories(categories, source.topic_names), run.out / "categories.csv")
    return training.count_populations(trained, documents, categories, job.balances, pairs)


def read_populations(
    path: Path, balances: Mapping[str, Balance], pairs: Sequence[str], categories: Sequence[str] | None
) -> tuple[list[Population], dict[str, Any], list[str]]:
    """Read a stored outcomes table and choose the populations that the run names.

    Where the table holds none of `pairs`, all of its pairs are taken; of its categories, those named.
    """
    stored = _keep(read_outcomes(path), categories, path)
    wanted = {name if balance.unions else "natural" for name, balance in balances.items()}
    held = {population.balance for population in stored}
    chosen = [population for population in stored if population.balance in wanted]
    if not chosen:
        raise refusal("run.other_balance", path=path, held=sorted(held), wanted=sorted(wanted))
    warnings = [f"population={path} holds no balance {name}" for name in sorted(wanted - held)]
    named = [population for population in chosen if population.pair in pairs]
    missing = [pair for pair in pairs if pair not in {population.pair for population in chosen}]
    if named and missing:
        warnings.append(f"population={path} holds no pair {', '.join(missing)}")
    chosen = named or chosen
    facts = {
        "corpus": {"name": f"outcomes table {path.name}", "fingerprint": hash_file(path), "notes": []},
        "split": {"n_true": int(chosen[0].counts[0].sum())},
        "n_categories": {population.balance: len(population.categories) for population in chosen},
        "left_out": {},
    }
    return chosen, facts, warnings


def _keep(stored: list[Population], categories: Sequence[str] | None, path: Path) -> list[Population]:
    """Return the populations with these categories alone; None keeps all."""
    if categories is None:
        return stored
    held = dict.fromkeys(name for population in stored for name in population.categories)
    for name in categories:
        if name not in held:
            raise UserError(f"categories: {path} holds no {name!r}; {instead(name, held)}")
    kept = []
    for population in stored:
        places = [i for i, name in enumerate(population.categories) if name in categories]
        if places:
            names = tuple(population.categories[i] for i in places)
            kept.append(replace(population, categories=names, counts=population.counts[places]))
    return kept


def _hash_input(path: Path) -> str:
    try:
        check_file(path)
        return hash_file(path)
    except OSError as error:
        raise UserError(f"population={path}: {error.strerror}; a run's outcomes.csv is needed") from error


def evaluate_all(
    populations: Sequence[Population],
    balances: Mapping[str, Balance],
    config: Mapping[str, Any],
    evaluation: Mapping[str, Any],
    nulls: Mapping[str, Any],
    make_run: Callable[..., Run],
    clock: Clock,
    out: Path,
) -> list[str]:
    """Draw the evaluation sets, run the tests, write the tables of size and power; return warnings.

    Raises
    ------
    UserError
        If no category can be evaluated.
    """
    common = {key: evaluation[key] for key in ("tests", "alphas", "sizes", "n_sets", "replacement")}
    described = {key: config[key] for key in ("test", "truth", "degenerate", "n_replicates")}
    setting = Setting(**common, seed=config["seed"], make_run=make_run, describe=described)
    rules, wanted = evaluation["rules"], NullSettings(**nulls)
    plans, warnings = plan_evaluations(populations, balances)
    if not plans:
        raise refusal("run.no_category")
    if not rules and all(plan.stratified for plan in plans):
        raise refusal("run.stratified_nulls")
    judged, found = [], None
    if rules:
        with clock.stage("evaluation sets and tests"):
            judged.append(evaluate(plans, setting, rules, evaluation["n_truth_sets"]))
    if wanted.nulls:
        with clock.stage("sets under exact nulls"):
            found = evaluate_nulls(plans, setting, wanted)
            warnings += found.warnings
    with clock.stage("size and power tables"):
        for name, table in _tables(judged, found, setting).items():
            write_table(table, out / f"{name}.csv")
    return warnings


def _tables(judged: list[pd.DataFrame], found: NullStudy | None, setting: Setting) -> dict[str, pd.DataFrame]:
    """Return the tables; each plan is summed up alone, which bounds the memory and changes nothing."""
    tables, shown, parts = {}, list(judged), list(judged)
    if found is not None and found.by_category:  # else every balance is stratified
        one = shown_alpha(setting.alphas)  # by category all levels would fill some 200 MB
        shown += [table[table["alpha"] == one] for table in found.by_category]
        parts += found.by_category
        told = [table for table in found.distributions if len(table)] or found.distributions[:1]
        joined = {"power_path": found.path, "nulls": found.nulls, "size_by_category": told}
        tables = {name: pd.concat(some, ignore_index=True) for name, some in joined.items()}
    tables["size_power_by_category"] = pd.concat(shown, ignore_index=True)
    rates = [size_power(part, setting.seed) for part in parts if len(part)]
    return tables | {"size_power": pd.concat(rates, ignore_index=True)}


def check_grid(evaluation: Mapping[str, Any], n_true: int) -> list[str]:
    """Return warnings of sizes and replicates."""
    try:
        warnings = list(check_sizes(evaluation["sizes"], n_true, replacement=evaluation["replacement"]))
    except ValueError as error:
        raise UserError(f"sets.sizes: {error}") from error
    alphas = evaluation["alphas"]
    for test in evaluation["tests"]:
        asked = alphas if evaluation["rules"] else [alphas[a] for a in levels(test, alphas)]
        if not asked:
            warnings.append(f"{test.name}: it draws replicates, and is not judged at levels below .01")
            continue
        n_replicates, least = test.pvalue.keywords.get("n_replicates"), min(asked)
        wanted = math.ceil(round(50 / least, 6))
        if n_replicates is not None and n_replicates < wanted:
            warnings.append(
                f"{test.name}: {n_replicates} replicates are few for alpha = {least}; {wanted} are advised"
            )
    return warnings
