"""What a corpus must be, and the steps from a corpus to populations."""

import dataclasses

import numpy as np
import pytest
from scipy import sparse

from harness.balance import Balance
from harness.corpora.corpus import Corpus, count_empty
from harness.errors import UserError
from harness.features import AsStored, TfIdf
from harness.models.fitted import Fitted
from harness.run.training import (
    Trained,
    choose_categories,
    count_populations,
    is_needed,
    make_documents,
    pair_models,
)
from harness.split import split_documents


def corpus(**changes):
    generator = np.random.default_rng(2)
    terms = sparse.csr_array(generator.poisson(0.3, (40, 20)).astype(np.float32))
    topics = sparse.csr_array((generator.random((40, 4)) < 0.3).astype(np.uint8))
    whole = Corpus(
        "tiny", terms, topics, np.array([str(i) for i in range(40)]), np.array([f"t{i}" for i in range(20)]),
        ("A", "B", "C", "D"),
    )  # fmt: skip
    return dataclasses.replace(whole, **changes)


def test_a_sound_corpus_passes_and_its_empty_documents_are_counted():
    tiny = corpus()
    assert count_empty(tiny) == int((tiny.terms.toarray().sum(axis=1) == 0).sum())


def test_the_fingerprint_tells_any_change():
    tiny = corpus()
    other_terms = tiny.terms.copy()
    other_terms.data[0] += 1
    renamed = tuple(reversed(tiny.topic_names))
    fingerprints = {
        tiny.fingerprint(),
        corpus(terms=other_terms).fingerprint(),
        corpus(topic_names=renamed).fingerprint(),
        corpus(values="weights").fingerprint(),
        corpus(topics=tiny.topics[::-1]).fingerprint(),
    }
    assert len(fingerprints) == 5
    assert tiny.fingerprint() == corpus().fingerprint()


UNSOUND_CORPUS = [
    ({"topic_names": ("A", "B", "C")}, "the topics have shape"),
    ({"topic_names": ("A", "B", "C", "A")}, "topic A occurs more than once"),
    ({"document_ids": np.array(["1"] * 40)}, "document id 1 occurs more than once"),
    ({"document_ids": np.array(["1"])}, "do not match the matrix"),
    ({"topics": sparse.csr_array((40, 4), dtype=np.uint8)}, "no document carries a topic"),
    ({"terms": sparse.csr_array((0, 20), dtype=np.float32)}, "0 documents"),
    ({"terms": sparse.csr_array(np.full((40, 20), np.nan, dtype=np.float32))}, "not finite"),
    ({"terms": sparse.csr_array(np.full((40, 20), -1, dtype=np.float32))}, "negative"),
]


@pytest.mark.parametrize(("changes", "said"), UNSOUND_CORPUS)
def test_an_unsound_corpus_is_refused(changes, said):
    with pytest.raises(UserError, match=said):
        corpus(**changes)


def documents(tiny):
    return make_documents(tiny, split_documents(40, n_train=20, seed=0), TfIdf(), "key")


def test_weights_are_not_taken_for_counts():
    with pytest.raises(UserError, match="holds weights, counts are needed; features=as_stored"):
        make_documents(corpus(values="weights"), split_documents(40, n_train=20), TfIdf(), "key")
    made = make_documents(corpus(values="weights"), split_documents(40, n_train=20), AsStored(), "key")
    assert made.x_train.shape[0] == made.x_true.shape[0] == 20


def test_no_positive_in_the_training_documents_is_refused():
    tiny = documents(corpus())._replace(topics_train=sparse.csr_array((20, 4), dtype=np.uint8))
    with pytest.raises(UserError, match="no topic has a positive document"):
        choose_categories(tiny, ("A", "B", "C", "D"), {"natural": Balance()}, seed=0)


@pytest.mark.parametrize("pairs", [["a"], ["a-a"], ["a-c"], ["a-b", "a-b"], []])
def test_wrong_pairs(pairs):
    with pytest.raises(UserError, match="pair"):
        pair_models(pairs, {"a": None, "b": None})


def test_populations_against_document_by_document_counting():
    tiny = corpus()
    made = documents(tiny)
    balances = {
        "natural": Balance(),
        "meta_or": Balance(unions=True, retrain=False, n_categories=2, low=0.3, high=0.8),
    }
    categories = choose_categories(made, tiny.topic_names, balances, seed=0)
    assert is_needed("natural", balances)
    assert not is_needed("meta_or", balances)
    n = len(categories["natural"].names)
    generator = np.random.default_rng(0)
    decided = {model: generator.random((20, n)) < 0.4 for model in "ab"}
    nothing = Fitted({}, {}, np.zeros(n), np.zeros(n, dtype=int))
    trained = {("natural", model): Trained(nothing, decided[model]) for model in "ab"}
    populations = count_populations(trained, made, categories, balances, [("a-b", "a", "b")])
    assert [population.balance for population in populations] == ["natural", "meta_or"]
    topics = made.topics_true.toarray() > 0
    natural_topics = [tiny.topic_names.index(name) for name in categories["natural"].names]
    for population in populations:
        for c, members in enumerate(categories[population.balance].members):
            own = [i for i, topic in enumerate(natural_topics) if members[topic]]
            cells = [0] * 8
            for document in range(20):
                y = topics[document, members].any()
                a, b = (decided[model][document, own].any() for model in "ab")
                cells[4 * (not y) + 2 * (not b) + (not a)] += 1
            assert population.counts[c].tolist() == cells
