"""The size/power study: corpus -> models -> outcomes -> evaluation sets -> tests -> tables -> figures."""

import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from harness.balance import Balance, Categories
from harness.corpora.corpus import Corpus, count_empty
from harness.errors import UserError
from harness.evaluation.rates import write_table
from harness.outcomes import Population, check_file, read_outcomes, write_outcomes
from harness.results.folder import Results
from harness.run.evaluation import check_grid, evaluate_all
from harness.run.figures import draw_figures
from harness.run.report import write_summary
from harness.run.training import (
    Documents,
    Trained,
    choose_categories,
    count_populations,
    is_needed,
    make_documents,
    pair_models,
    tabulate_categories,
    tabulate_models,
    train,
)
from harness.runtime.parallel import Workers, make_run
from harness.runtime.run_folder import RunFolder, Say, open_run
from harness.runtime.store import Store, digest, hash_file
from harness.split import split_documents


class Source(NamedTuple):
    """Everything that is known before a model is trained.

    Attributes
    ----------
    facts : dict
        For ``provenance.json``: corpus, split, categories and those left out.
    """

    documents: Documents
    categories: dict[str, Categories]
    topic_names: tuple[str, ...]
    facts: dict[str, Any]
    warnings: list[str]


def run_study(
    *,
    out: Path,
    config: Mapping[str, Any],
    balances: Mapping[str, Balance],
    pairs: Sequence[str],
    training: Mapping[str, Any],
    evaluation: Mapping[str, Any],
    nulls: Mapping[str, Any],
    seed: int,
    device: str,
    population_file: Path | None,
    figure: Mapping[str, Any],
    cache: Path | None,
    workers: Workers,
    say: Say = print,
) -> None:
    """Run the study and leave its tables, figures and summary in `out`.

    A folder that holds the same study is finished where it was left; what is kept in `cache` is not
    computed again.
    """
    identity = {**config, "population_sha256": population_file and _hash_input(population_file)}
    with open_run(out, identity, say) as run:
        if run is None:
            return
        stage_run = functools.partial(make_run, workers, Store(cache))
        if population_file is None:
            pair_models(pairs, training["models"])
            with run.clock.stage("corpus, split and features"):
                source = prepare(balances=balances, seed=seed, features_key=config["features"], **training)
            facts, warnings, n_true = source.facts, source.warnings, source.documents.x_true.shape[0]
        else:
            populations, facts, warnings = read_populations(population_file, balances, pairs)
            n_true = min(int(population.counts.sum(axis=1).min()) for population in populations)
        warnings += check_grid(evaluation, n_true)
        run.begin(config, evaluation["n_sets"], facts, warnings)
        if population_file is None:
            populations = train_all(
                source, training["models"], balances, pairs, seed, device, stage_run, run
            )
        write_outcomes(populations, out / "outcomes.csv")
        warnings += evaluate_all(populations, balances, config, evaluation, nulls, stage_run, run.clock, out)
        run.note(warnings=warnings)
        results = Results(out)
        with run.clock.stage("figures and summary"):
            drawn = draw_figures(results, workers=workers, **figure)
            found = write_summary(results)
        run.tell(drawn, found)


def redraw(folder: Path, *, figure: Mapping[str, Any], workers: Workers) -> list[Path]:
    """Draw the figures of a finished run again, from its tables."""
    if not (folder / "size_power.csv").is_file():
        raise UserError(f"from={folder}: it holds no size_power.csv; the folder of a finished run is needed")
    return draw_figures(Results(folder), workers=workers, **figure)


def prepare(
    *,
    load_corpus: Callable[[], Corpus],
    features: Any,
    models: Mapping[str, Any],
    split: Mapping[str, Any],
    balances: Mapping[str, Balance],
    seed: int,
    features_key: object,
    keep_test: bool = False,
) -> Source:
    """Load the corpus, split it, make the document vectors and choose the categories."""
    corpus = load_corpus()
    parts = split_documents(corpus.n_documents, seed=seed, chronological=corpus.chronological, **split)
    fingerprint = corpus.fingerprint()
    key = digest(fingerprint, dict(split), seed, features_key, *(["D_true, D_te"] if keep_test else []))
    judged = np.concatenate([parts.true, parts.test]) if keep_test else parts.true
    documents = make_documents(corpus, parts._replace(true=judged), features, key)
    categories = choose_categories(documents, corpus.topic_names, balances, seed)
    left_out = sorted(set(corpus.topic_names) - set(categories["natural"].names))
    warnings = [
        f"{name}: {len(members.names)} unions were found, {balances[name].n_categories} were wanted"
        for name, members in categories.items()
        if name != "natural" and len(members.names) < balances[name].n_categories
    ]
    facts = {
        "corpus": {
            "name": corpus.name,
            "n_documents": corpus.n_documents,
            "n_terms": corpus.terms.shape[1],
            "n_topics": len(corpus.topic_names),
            "n_empty": count_empty(corpus),
            "first_id": str(corpus.document_ids[0]),
            "last_id": str(corpus.document_ids[-1]),
            "fingerprint": fingerprint,
            "notes": list(corpus.notes),
        },
        "split": {"n_train": len(parts.train), "n_test": len(parts.test), "n_true": len(parts.true)},
        "n_terms_in_dictionary": documents.x_train.shape[1],
        "n_categories": {name: len(members.names) for name, members in categories.items()},
        "left_out": {"natural": left_out},
    }
    return Source(documents, categories, corpus.topic_names, facts, warnings)


def train_all(
    source: Source,
    models: Mapping[str, Any],
    balances: Mapping[str, Balance],
    pairs: Sequence[str],
    seed: int,
    device: str,
    stage_run: Callable[..., Any],
    run: RunFolder,
) -> list[Population]:
    """Train every model that a pair names on every list of categories; count outcomes on D_true."""
    chosen = pair_models(pairs, models)
    used = {name for _, a, b in chosen for name in (a, b)}
    trained: dict[tuple[str, str], Trained] = {}
    for categories_name, categories in source.categories.items():
        if not is_needed(categories_name, balances):
            continue
        for name in (name for name in models if name in used):
            trained[categories_name, name] = train(
                name,
                models[name],
                source.documents,
                categories,
                make_run=stage_run,
                seed=seed,
                device=device,
                stage=run.clock.steps(f"{name} on {len(categories.names)} {categories_name} categories"),
            )
    write_table(tabulate_models(trained, source.documents, source.categories), run.out / "models.csv")
    write_table(tabulate_categories(source.categories, source.topic_names), run.out / "categories.csv")
    return count_populations(trained, source.documents, source.categories, balances, chosen)


def read_populations(
    path: Path, balances: Mapping[str, Balance], pairs: Sequence[str]
) -> tuple[list[Population], dict[str, Any], list[str]]:
    """Read a stored outcomes table and choose the populations that the run names.

    Where the table holds none of `pairs`, all of its pairs are taken.
    """
    stored = read_outcomes(path)
    wanted = {name if balance.unions else "natural" for name, balance in balances.items()}
    held = {population.balance for population in stored}
    chosen = [population for population in stored if population.balance in wanted]
    if not chosen:
        raise UserError(
            f"population={path}: it holds balance {', '.join(sorted(held))}; {', '.join(wanted)} is wanted"
        )
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


def _hash_input(path: Path) -> str:
    try:
        check_file(path)
        return hash_file(path)
    except OSError as error:
        raise UserError(f"population={path}: {error.strerror}; a run's outcomes.csv is needed") from error
