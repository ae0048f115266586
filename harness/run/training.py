"""From a corpus to populations: train every model on D_tr and count its outcomes on D_true."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from harness import balance as balancing
from harness.balance import Balance, Categories, label_documents
from harness.corpora.corpus import Corpus
from harness.errors import refusal
from harness.models.fitted import Fitted
from harness.outcomes import Population, count_outcomes
from harness.runtime.parallel import Run, Workers, make_run
from harness.runtime.store import Store
from harness.runtime.talk import Say, say
from harness.split import Split

NATURAL = "natural"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Job:
    """What ``harness run`` is asked for, apart from how it judges tests: where, from what, and by whom.

    `training` holds the corpus as a function, `features`, `models` by name, and the sizes of the split.
    """

    out: Path
    config: Mapping[str, Any]
    balances: Mapping[str, Balance]
    pairs: Sequence[str]
    training: Mapping[str, Any]
    seed: int
    device: str
    population_file: Path | None
    categories: Sequence[str] | None
    figure: Mapping[str, Any]
    cache: Path | None
    workers: Workers
    say: Say = say

    def make_run(self, stage: str, *inputs: object) -> Run:
        """Return the `run` of one stage, whose units are kept in the cache."""
        return make_run(self.workers, Store(self.cache), stage, *inputs)


class Documents(NamedTuple):
    """What the models see.

    Attributes
    ----------
    x_train, x_true : csr_array
        Document vectors of D_tr and D_true.
    topics_train, topics_true : csr_array
        Their topics.
    key : str
        Names all of this: corpus fingerprint, split and features.
    """

    x_train: sparse.csr_array
    x_true: sparse.csr_array
    topics_train: sparse.csr_array
    topics_true: sparse.csr_array
    key: str


class Trained(NamedTuple):
    """A model fitted for one list of categories, and its decisions on D_true (n_true, n_categories)."""

    fitted: Fitted
    decisions: NDArray[np.bool_]


def make_documents(corpus: Corpus, split: Split, features: Any, key: str) -> Documents:
    """Fit dictionary and idf on D_tr and make the document vectors of D_tr and D_true."""
    if features.needs == "counts" and corpus.values != "counts":
        raise refusal("run.weights", corpus=corpus.name)
    train, true = split.train, split.true
    dictionary = features.fit(corpus.terms[train])
    x_train, x_true = (features.transform(dictionary, corpus.terms[part]) for part in (train, true))
    return Documents(x_train, x_true, corpus.topics[train], corpus.topics[true], key)


def choose_categories(
    documents: Documents, topic_names: tuple[str, ...], balances: Mapping[str, Balance], seed: int
) -> dict[str, Categories]:
    """Return the categories of each population: the topics (``natural``) and each kind of unions."""
    natural = balancing.natural_categories(documents.topics_train, topic_names)
    if not natural.names:
        raise refusal("run.no_topic")
    unions = {
        name: balancing.union_categories(
            documents.topics_train, n_categories=one.n_categories, low=one.low, high=one.high, seed=seed
        )
        for name, one in balances.items()
        if one.unions
    }
    return {NATURAL: natural, **unions}


def is_needed(name: str, balances: Mapping[str, Balance]) -> bool:
    """Tell whether models must be trained on the categories `name` themselves."""
    if name == NATURAL:
        return any(not balance.unions or not balance.retrain for balance in balances.values())
    return balances[name].retrain


def train(
    job: Job,
    name: str,
    documents: Documents,
    categories: Categories,
    stage: Callable[[str], AbstractContextManager[Any]],
) -> Trained:
    """Tune and fit one model for all categories and decide on every document of D_true."""
    model = job.training["models"][name]
    kind = type(model)
    labels = label_documents(documents.topics_train, categories)
    described = {"type": f"{kind.__module__}.{kind.__qualname__}", **dataclasses.asdict(model)}
    members = np.packbits(categories.members).tobytes().hex()
    made_from = (documents.key, name, described, members, job.seed, job.device)
    fit_run, decision_run = job.make_run("fit", *made_from), job.make_run("decisions", *made_from)
    with stage("training"):
        fitted = model.fit(documents.x_train, labels, seed=job.seed, run=fit_run, device=job.device)
    with stage("prediction"):
        decisions = model.predict(fitted, documents.x_true, run=decision_run, device=job.device)
    return Trained(fitted, decisions)


def pair_models(pairs: Sequence[str], models: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return (pair, A, B) for each ``A-B``.

    Examples
    --------
    >>> pair_models(["linear_svm-mlp"], {"linear_svm": 0, "mlp": 0})
    [('linear_svm-mlp', 'linear_svm', 'mlp')]
    """
    found = []
    for pair in pairs:
        a, _, b = str(pair).partition("-")
        if a not in models or b not in models or a == b:
            raise refusal("run.pair", pair=pair, models=list(models))
        found.append((pair, a, b))
    if len(set(pairs)) != len(pairs) or not pairs:
        raise refusal("run.pairs")
    return found


def count_populations(
    trained: Mapping[tuple[str, str], Trained],
    documents: Documents,
    categories: Mapping[str, Categories],
    balances: Mapping[str, Balance],
    pairs: Sequence[tuple[str, str, str]],
) -> list[Population]:
    """Count the joint outcomes on D_true of every pair, for each kind of categories."""
    populations = []
    models = {model for _, a, b in pairs for model in (a, b)}
    for name, members in categories.items():
        if name == NATURAL and all(balance.unions for balance in balances.values()):
            continue
        truth = label_documents(documents.topics_true, members)
        own = name if name == NATURAL or balances[name].retrain else NATURAL
        decided = {model: trained[own, model].decisions for model in models}
        if own != name:
            unite, natural = balancing.unite_decisions, categories[NATURAL]
            decided = {model: unite(each, natural, members) for model, each in decided.items()}
        for pair, a, b in pairs:
            counts = count_outcomes(truth, decided[a], decided[b])
            populations.append(Population(pair, name, members.names, counts))
    return populations


def tabulate_models(
    trained: Mapping[tuple[str, str], Trained], documents: Documents, categories: Mapping[str, Categories]
) -> pd.DataFrame:
    """Return ``models.csv``: a row per model and category with its tuning and its measures on D_true."""
    tables = []
    for (name, model), result in trained.items():
        truth = label_documents(documents.topics_true, categories[name])
        cells = count_outcomes(truth, result.decisions, result.decisions)
        hits, missed, alarms = cells[:, 0], cells[:, 3], cells[:, 4]
        first = {"model": model, "category": categories[name].names, "balance": name}
        with np.errstate(invalid="ignore"):
            last = {
                "cv_score": result.fitted.cv_score, "n_folds": result.fitted.n_folds,
                "f1": 2 * hits / np.maximum(2 * hits + missed + alarms, 1),
                "precision": hits / (hits + alarms), "recall": hits / (hits + missed),
                "error": (missed + alarms) / cells.sum(axis=1),
                "true_positives": hits, "false_negatives": missed, "false_positives": alarms,
            }  # fmt: skip
        tables.append(pd.DataFrame(first | result.fitted.tuned | last))
    table = pd.concat(tables, ignore_index=True)
    tuned = [column for column in table.columns if column not in {**first, **last}]
    return table[[*first, *tuned, *last]]


def tabulate_categories(categories: Mapping[str, Categories], topic_names: Sequence[str]) -> pd.DataFrame:
    """Return ``categories.csv``: the topics that each category unites."""
    topics = np.asarray(topic_names)
    rows = [
        (name, category, " ".join(topics[members]))
        for name, chosen in categories.items()
        for category, members in zip(chosen.names, chosen.members, strict=True)
    ]
    return pd.DataFrame(rows, columns=["balance", "category", "topics"])
