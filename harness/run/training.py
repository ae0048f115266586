"""From a corpus to populations: train every model on D_tr and count its outcomes on D_true."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from harness.balance import Balance, Categories, label_documents, natural_categories, union_categories
from harness.balance import unite_decisions as unite
from harness.corpora.corpus import Corpus
from harness.errors import UserError
from harness.models.fitted import Fitted
from harness.outcomes import Population, count_outcomes
from harness.runtime.parallel import Run
from harness.split import Split

if TYPE_CHECKING:
    import pandas as pd

NATURAL = "natural"
MakeRun = Callable[..., Run]


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
        raise UserError(
            f"features=tfidf: corpus {corpus.name} holds weights, counts are needed; "
            "features=as_stored takes them as they are"
        )
    terms_train = corpus.terms[split.train]
    dictionary = features.fit(terms_train)
    return Documents(
        features.transform(dictionary, terms_train),
        features.transform(dictionary, corpus.terms[split.true]),
        corpus.topics[split.train],
        corpus.topics[split.true],
        key,
    )


def choose_categories(
    documents: Documents, topic_names: tuple[str, ...], balances: Mapping[str, Balance], seed: int
) -> dict[str, Categories]:
    """Return the categories of each population: the topics (``natural``) and each kind of unions."""
    natural = natural_categories(documents.topics_train, topic_names)
    if not natural.names:
        raise UserError(
            "corpus: no topic has a positive document among the training documents; one is needed"
        )
    categories = {NATURAL: natural}
    for name, balance in balances.items():
        if balance.unions:
            categories[name] = union_categories(
                documents.topics_train,
                n_categories=balance.n_categories,
                low=balance.low,
                high=balance.high,
                seed=seed,
            )
    return categories


def is_needed(name: str, balances: Mapping[str, Balance]) -> bool:
    """Tell whether models must be trained on the categories `name` themselves."""
    if name == NATURAL:
        return any(not balance.unions or not balance.retrain for balance in balances.values())
    return balances[name].retrain


def train(
    name: str,
    model: Any,
    documents: Documents,
    categories: Categories,
    *,
    make_run: MakeRun,
    seed: int,
    device: str,
    stage: Callable[[str], AbstractContextManager[Any]] = nullcontext,
) -> Trained:
    """Tune and fit one model for all categories and decide on every document of D_true."""
    labels = label_documents(documents.topics_train, categories)
    made_from = (
        documents.key,
        name,
        {"type": type(model).__name__, **dataclasses.asdict(model)},
        np.packbits(categories.members).tobytes().hex(),
        seed,
        device,
    )
    fit_run, decision_run = make_run("fit", *made_from), make_run("decisions", *made_from)
    with stage("training"):
        fitted = model.fit(documents.x_train, labels, seed=seed, run=fit_run, device=device)
    with stage("prediction"):
        decisions = model.predict(fitted, documents.x_true, run=decision_run, device=device)
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
            raise UserError(
                f"pairs: {pair!r} is not allowed; two different models of {', '.join(models)}, "
                "joined by '-', are"
            )
        found.append((pair, a, b))
    if len(set(pairs)) != len(pairs) or not pairs:
        raise UserError("pairs: at least one pair is needed, and none twice")
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
    for name, members in categories.items():
        if name == NATURAL and not any(not balance.unions for balance in balances.values()):
            continue
        truth = label_documents(documents.topics_true, members)
        retrain = name == NATURAL or balances[name].retrain

        def decide(
            model: str, name: str = name, members: Categories = members, retrain: bool = retrain
        ) -> NDArray[np.bool_]:
            if retrain:
                return trained[name, model].decisions
            return unite(trained[NATURAL, model].decisions, categories[NATURAL], members)

        for pair, a, b in pairs:
            counts = count_outcomes(truth, decide(a), decide(b))
            populations.append(Population(pair, name, members.names, counts))
    return populations


def tabulate_models(
    trained: Mapping[tuple[str, str], Trained], documents: Documents, categories: Mapping[str, Categories]
) -> "pd.DataFrame":
    """Return ``models.csv``: a row per model and category with its tuning and its measures on D_true."""
    import pandas as pd

    tables = []
    for (name, model), result in trained.items():
        truth = label_documents(documents.topics_true, categories[name])
        cells = count_outcomes(truth, result.decisions, result.decisions)
        true_positive, missed, false_alarm = cells[:, 0], cells[:, 3], cells[:, 4]
        with np.errstate(invalid="ignore"):
            columns = {
                "f1": 2 * true_positive / np.maximum(2 * true_positive + missed + false_alarm, 1),
                "precision": true_positive / (true_positive + false_alarm),
                "recall": true_positive / (true_positive + missed),
                "error": (missed + false_alarm) / cells.sum(axis=1),
            }
        tables.append(
            pd.DataFrame(
                {"model": model, "category": categories[name].names, "balance": name}
                | result.fitted.tuned
                | {"cv_score": result.fitted.cv_score, "n_folds": result.fitted.n_folds}
                | columns
                | {"true_positives": true_positive, "false_negatives": missed, "false_positives": false_alarm}
            )
        )
    table = pd.concat(tables, ignore_index=True)
    last = ["cv_score", "n_folds", "f1", "precision", "recall", "error"]
    last += ["true_positives", "false_negatives", "false_positives"]
    first = ["model", "category", "balance"]
    return table[first + [c for c in table.columns if c not in first + last] + last]


def tabulate_categories(categories: Mapping[str, Categories], topic_names: Sequence[str]) -> "pd.DataFrame":
    """Return ``categories.csv``: the topics that each category unites."""
    import pandas as pd

    topics = np.asarray(topic_names)
    rows = [
        (name, category, " ".join(topics[members]))
        for name, chosen in categories.items()
        for category, members in zip(chosen.names, chosen.members, strict=True)
    ]
    return pd.DataFrame(rows, columns=["balance", "category", "topics"])
