"""The synthetic corpus: what it promises of RCV1, and how it refuses bad input.

Random counts are checked against exact binomial tails at 1e-6 in all (Bonferroni over topics).
"""

import csv
import inspect
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import binom

from harness.corpora import rcv1_topics, synthetic
from harness.corpora.rcv1_topics import NAMES, ROOT, TOPICS, children, topic_frequencies
from harness.corpora.synthetic import CHUNK, N_TERMS, draw_lengths, draw_topics, generate_synthetic, zipf_rank
from harness.errors import UserError
from harness.features import TfIdf
from harness.models.linear_svm import LinearSVM
from harness.models.rbf_svm import RBFSVM
from harness.seeding import rng
from harness.split import split_documents

FALSE_ALARM = 1e-6
YAML = Path(__file__).parents[2] / "conf" / "corpus" / "synthetic.yaml"


def outside(counts, n, p, n_tests=1):
    """Which binomial counts fall in either tail of probability FALSE_ALARM / 2 / n_tests."""
    level = FALSE_ALARM / 2 / n_tests
    return (binom.cdf(counts, n, p) < level) | (binom.sf(np.asarray(counts) - 1, n, p) < level)


@pytest.fixture(scope="module")
def corpus():
    return generate_synthetic(n_documents=CHUNK + 2_000, seed=3)


def test_shapes_and_types(corpus):
    n = CHUNK + 2_000
    assert (corpus.name, corpus.values, corpus.topic_names) == ("synthetic", "counts", NAMES)
    assert (corpus.terms.shape, corpus.topics.shape) == ((n, 47_236), (n, 103))
    assert (corpus.terms.dtype, corpus.topics.dtype) == (np.float32, np.uint8)
    for matrix in (corpus.terms, corpus.topics):
        assert matrix.indices.dtype == matrix.indptr.dtype == np.int32
        rebuilt = sparse.csr_array((matrix.data, matrix.indices, matrix.indptr), shape=matrix.shape)
        assert rebuilt.has_canonical_format  # scipy looks for itself here
    assert (corpus.terms.data == np.maximum(np.rint(corpus.terms.data), 1)).all()
    assert (corpus.topics.data == 1).all()
    assert (len(set(corpus.term_names)), len(set(corpus.document_ids))) == (47_236, n)
    assert not corpus.chronological
    assert [note.partition(":")[0] for note in corpus.notes] == ["synthetic"]
    assert (corpus.terms[:2_000] != corpus.terms[CHUNK:]).nnz > 0


def test_same_seed_same_bytes(corpus):
    assert generate_synthetic(n_documents=CHUNK + 2_000, seed=3).fingerprint() == corpus.fingerprint()
    assert generate_synthetic(n_documents=CHUNK + 2_000, seed=4).fingerprint() != corpus.fingerprint()


@pytest.mark.parametrize("n", [1, 700, CHUNK, CHUNK + 1])
def test_smaller_corpus_is_the_start_of_a_larger(corpus, n):
    small = generate_synthetic(n_documents=n, seed=3)
    for part, whole in ((small.terms, corpus.terms), (small.topics, corpus.topics)):
        assert (part != whole[:n]).nnz == 0
    assert list(small.document_ids) == list(corpus.document_ids[:n])


def test_every_document_carries_a_topic_and_its_ancestors(corpus):
    carried = corpus.topics.toarray()
    assert (carried.sum(axis=1) >= 1).all()
    for column, name in enumerate(NAMES):
        parent = TOPICS[name][0]
        if parent != ROOT:
            assert (carried[:, column] <= carried[:, NAMES.index(parent)]).all(), name


def test_topic_counts_follow_the_table_closely():
    n = 400_000
    counts = sum(draw_topics(50_000, rng(11, "test", i)).sum(axis=0) for i in range(n // 50_000))
    assert not outside(counts, n, topic_frequencies(), 103).any()


def test_chances_give_each_child_its_share_exactly():
    frequency = dict(zip(NAMES, topic_frequencies(), strict=True)) | {ROOT: 1.0}
    for branch in synthetic._branches():
        shares = np.array([frequency[NAMES[i]] for i in branch.columns]) / frequency[branch.parent]
        chances = np.diff(branch.cumulative, prepend=0)
        np.testing.assert_allclose((1 - chances) * np.exp(-branch.excess * chances), 1 - shares, atol=1e-9)
        assert (chances > 0).all()
        assert branch.cumulative[-1] <= 1


def test_drawn_lengths():
    lengths = draw_lengths(1_000_000, rng(0, "test"))
    assert lengths.min() == 8
    assert lengths.mean() == pytest.approx(125, abs=0.6)
    assert lengths.std() == pytest.approx(100, abs=2)
    assert topic_frequencies().sum() == pytest.approx(3.24, abs=0.005)


def test_tokens_are_the_lengths_drawn_first():
    generator = rng(0, "test")
    carried = np.ones((50, 103), dtype=bool)
    entries = synthetic.draw_terms(carried, synthetic.draw_language(0), 0.5, generator, 50)
    n_tokens = np.add.reduceat(entries.values, np.cumsum(entries.n_entries) - entries.n_entries)
    assert (n_tokens == draw_lengths(50, rng(0, "test"))).all()


def test_ranks_follow_their_distribution():
    n = 1_000_000
    rank = zipf_rank(rng(1, "test").random(n, dtype=np.float32), N_TERMS, 2.7)
    assert rank.min() == 0
    assert rank.max() < N_TERMS
    ends = np.array([0, 1 - 2.0**-24], dtype=np.float32)
    assert list(zipf_rank(ends, N_TERMS, 2.7)) == [0, N_TERMS - 1]
    below = np.array([1, 2, 10, 100, 1_000, 10_000])
    expected = np.log1p(below / 2.7) / np.log1p(N_TERMS / 2.7)
    assert not outside([(rank < r).sum() for r in below], n, expected, below.size).any()


def test_vocabulary_is_zipf_like(corpus):
    frequency = np.sort(np.bincount(corpus.terms.indices, weights=corpus.terms.data, minlength=N_TERMS))[::-1]
    assert (frequency > 0).sum() > 40_000
    rank = np.arange(10, 5_000)
    slope = np.polyfit(np.log(rank + 1), np.log(frequency[rank]), 1)[0]
    assert -1.2 < slope < -0.7


def test_distinct_terms_and_bursts(corpus):
    # 27,613 real documents: 78 distinct terms a document, 72 % of them once.
    assert 70 < np.diff(corpus.terms.indptr).mean() < 86
    assert 0.6 < (corpus.terms.data == 1).mean() < 0.8


@pytest.mark.parametrize("n_topics", [1, 2, 30, 102])
def test_fewer_topics_are_the_most_frequent_and_keep_ancestors(corpus, n_topics):
    few = generate_synthetic(n_documents=400, n_topics=n_topics, seed=3)
    assert len(few.topic_names) == n_topics
    assert {TOPICS[name][0] for name in few.topic_names} <= {ROOT, *few.topic_names}
    left_out = [TOPICS[name][1] for name in NAMES if name not in few.topic_names]
    assert min(TOPICS[name][1] for name in few.topic_names) >= max(left_out)
    columns = [NAMES.index(name) for name in few.topic_names]
    assert (few.topics.toarray() == corpus.topics[:400].toarray()[:, columns]).all()
    assert (few.terms != corpus.terms[:400]).nnz == 0


@pytest.mark.parametrize(
    ("name", "wrong", "allowed"),
    [
        ("n_documents", [0, -1, 2.0, "100", None, True, 20_000_001, float("nan")], "from 1 to 20,000,000"),
        ("n_topics", [0, -3, 104, 5.5, "all", None, False], "from 1 to 103"),
        ("seed", [-1, 0.5, "x", None], "whole numbers from 0 are"),
        ("topical_share", [0, 1, -0.1, 1.5, "much", None, float("nan"), True], "between 0 and 1"),
    ],
)
def test_wrong_arguments(name, wrong, allowed):
    for value in wrong:
        with pytest.raises(UserError, match=rf"corpus\.{name}: .* is not allowed; .*{allowed}"):
            generate_synthetic(**{"n_documents": 10, name: value})


def test_no_positive_at_all_is_said():
    ccat = NAMES.index("CCAT")
    seed = next(s for s in range(50) if not draw_topics(CHUNK, rng(s, "synthetic", 0))[0, ccat])
    with pytest.raises(UserError, match="no document carries"):
        generate_synthetic(n_documents=1, n_topics=1, seed=seed)


def test_yaml_matches_the_function():
    from omegaconf import OmegaConf

    loaded = OmegaConf.to_container(OmegaConf.load(YAML), resolve=False)
    parameters = inspect.signature(generate_synthetic).parameters
    assert loaded.pop("_target_") == "harness.corpora.synthetic.generate_synthetic"
    assert loaded.pop("seed") == "${seed}"
    assert loaded.pop("n_documents") == "${n_documents}"  # a preset may set it
    assert {name: parameters[name].default for name in loaded} == loaded
    assert set(loaded) | {"seed", "n_documents"} == set(parameters)


def test_topic_table():
    assert len(TOPICS) == 103
    assert list(NAMES) == sorted(NAMES)
    assert children()[ROOT] == ("CCAT", "ECAT", "GCAT", "MCAT")
    assert {name for below in children().values() for name in below} == set(NAMES)
    assert max(TOPICS.items(), key=lambda item: item[1][1]) == ("CCAT", (ROOT, 381_327))
    assert min(TOPICS.items(), key=lambda item: item[1][1]) == ("GMIL", ("GCAT", 5))
    for parent, count in TOPICS.values():
        assert parent == ROOT or TOPICS[parent][1] >= count


def test_topic_table_is_the_given_one(data_folder):
    with (data_folder / "rcv1_topic_counts.tsv").open(newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t"))
    given = {row["topic"]: (row["parent"], int(row["n_in_rcv1v2_804414_unsourced"])) for row in rows}
    assert given == rcv1_topics.TOPICS


@pytest.mark.slow
def test_svms_do_as_on_real_documents():
    """27,613 real RCV1-v2 documents, the same split sizes and weights: .778 to .784, and .783 to .788."""
    corpus = generate_synthetic(n_documents=27_613, seed=0)
    split, weighting = split_documents(27_613, n_train=7_982, seed=0), TfIdf()
    dictionary = weighting.fit(corpus.terms[split.train])
    x, x_true = (weighting.transform(dictionary, corpus.terms[rows]) for rows in (split.train, split.true))
    y, y_true = (corpus.topics[rows].toarray() > 0 for rows in (split.train, split.true))
    f1 = []
    for model in (LinearSVM(C=1.0, tune=False), RBFSVM(C=10.0, gamma=0.3, tune=False)):
        decided = model.predict(model.fit(x, y, seed=0), x_true)
        f1.append(2 * (y_true & decided).sum() / (y_true.sum() + decided.sum()))
    assert f1 == pytest.approx([0.784, 0.783], abs=0.05)
    assert f1[0] == pytest.approx(f1[1], abs=0.05)
