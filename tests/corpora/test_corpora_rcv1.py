"""RCV1 through scikit-learn: its cache's layout, counts out of weights, and refusals."""

from urllib.error import URLError

import joblib
import numpy as np
import pytest
from scipy import sparse
from simulated_counts import as_weights, simulate

from harness.corpora import rcv1
from harness.corpora.rcv1 import load_rcv1
from harness.corpora.term_counts import recover_counts
from harness.errors import UserError
from harness.seeding import rng

N_TRAIN, N_DOCUMENTS, N_TERMS = 750, 1000, 400
TOPICS = ("CCAT", "ECAT", "GCAT")


def write_cache(home, weights, kind=np.float64):
    """Write the four files as fetch_rcv1 does (scikit-learn 1.9, sklearn/datasets/_rcv1.py)."""
    folder = home / "RCV1"
    folder.mkdir()
    targets = rng(2, "targets").random((len(weights), len(TOPICS))) < 0.4
    joblib.dump(sparse.csr_matrix(weights.astype(kind)), folder / "samples_py3.pkl", compress=1)
    ids = 2286 + 3 * np.arange(len(weights), dtype=np.uint32)
    joblib.dump(ids, folder / "sample_id_py3.pkl", compress=1)
    joblib.dump(sparse.csr_matrix(targets.astype(np.uint8)), folder / "sample_topics_py3.pkl", compress=1)
    joblib.dump(np.array(TOPICS, dtype=object), folder / "topics_names_py3.pkl", compress=1)
    return targets


@pytest.fixture
def small_train(monkeypatch):
    monkeypatch.setattr(rcv1, "N_TRAIN", N_TRAIN)


@pytest.mark.usefixtures("small_train")
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_counts_come_back_from_scikit_learns_cache(tmp_path, kind):
    counts, weights = simulate(N_DOCUMENTS, N_TERMS, 1, N_TRAIN)
    targets = write_cache(tmp_path, weights, kind)
    corpus = load_rcv1(tmp_path, download_if_missing=False)
    np.testing.assert_array_equal(corpus.terms.toarray(), counts)
    np.testing.assert_array_equal(corpus.topics.toarray(), targets)
    assert corpus.topic_names == TOPICS
    assert corpus.document_ids[:2].tolist() == ["2286", "2289"]
    assert corpus.term_names[[0, -1]].tolist() == ["1", str(N_TERMS)]
    assert corpus.chronological
    assert corpus.values == "counts"
    assert corpus.terms.dtype == np.float32
    assert corpus.topics.dtype == np.uint8
    assert corpus.notes == ("Term counts were recovered from scikit-learn's log tf-idf weights.",)


@pytest.mark.usefixtures("small_train")
def test_subsets_and_weights(tmp_path):
    counts, weights = simulate(N_DOCUMENTS, N_TERMS, 1, N_TRAIN)
    write_cache(tmp_path, weights)
    train = load_rcv1(tmp_path, subset="train")
    test = load_rcv1(tmp_path, subset="test")
    np.testing.assert_array_equal(train.terms.toarray(), counts[:N_TRAIN])
    np.testing.assert_array_equal(test.terms.toarray(), counts[N_TRAIN:])
    assert test.document_ids[0] == str(2286 + 3 * N_TRAIN)
    for options, said in (({"subset": "half"}, "all, train, test"), ({"values": "tf"}, "counts, weights")):
        with pytest.raises(UserError, match=f"is not allowed; choose one of {said}"):
            load_rcv1(tmp_path, **options)
    plain = load_rcv1(tmp_path, values="weights")
    np.testing.assert_array_equal(plain.terms.toarray(), weights.astype(np.float32))
    assert plain.values == "weights"


def test_an_absent_cache_is_refused_and_nothing_is_written(tmp_path, monkeypatch):
    with pytest.raises(UserError, match="absent or incomplete .*download_if_missing=false"):
        load_rcv1(tmp_path / "home", download_if_missing=False)
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "other"))
    with pytest.raises(UserError, match="other"):
        load_rcv1(download_if_missing=False)
    assert list(tmp_path.iterdir()) == []


def cut(file):
    file.write_bytes(file.read_bytes()[:1000])


def make_negative(file):
    weights = joblib.load(file)
    weights.data[5] = -0.5
    joblib.dump(weights, file)


@pytest.mark.parametrize(
    ("name", "damage", "said"),
    [
        ("sample_topics", lambda file: file.unlink(), "no sample_topics_py3.pkl"),
        ("samples", make_negative, "negative or not a number"),
        ("samples", cut, "cache of RCV1 cannot be read"),
        ("samples", lambda file: file.write_bytes(b"\x80\x04no pickle"), "cache of RCV1 cannot be read"),
    ],
)
def test_a_damaged_cache_is_refused(tmp_path, name, damage, said):
    write_cache(tmp_path, simulate(200, 100, 1, 100, 50)[1])
    damage(tmp_path / "RCV1" / f"{name}_py3.pkl")
    with pytest.raises(UserError, match=said):
        load_rcv1(tmp_path, download_if_missing=False)


def test_a_failed_download_is_a_sentence(tmp_path, monkeypatch):
    def no_network(*args, **kwargs):
        raise URLError("Name or service not known")

    monkeypatch.setattr("sklearn.datasets._rcv1._fetch_remote", no_network)
    with pytest.raises(
        UserError, match=r"cannot be downloaded .*Name or service not known.*network"
    ) as caught:
        load_rcv1(tmp_path)
    assert "\n" not in str(caught.value)


def test_full_precision_and_chunks_give_the_same_counts(monkeypatch):
    counts, weights = simulate(N_DOCUMENTS, N_TERMS, n_idf_rows=N_TRAIN, seed=4, decimals=16)
    recovered = recover_counts(sparse.csr_array(weights), N_TRAIN)
    np.testing.assert_array_equal(recovered.counts.toarray(), counts)
    assert recovered.idf_known
    assert recovered.n_unresolved == 0
    monkeypatch.setattr("harness.corpora.term_counts.CHUNK_DOCUMENTS", 77)
    np.testing.assert_array_equal(recover_counts(sparse.csr_array(weights), N_TRAIN).counts.toarray(), counts)


def test_documents_whose_smallest_count_is_not_one():
    counts, _ = simulate(N_DOCUMENTS, N_TERMS, n_idf_rows=N_TRAIN, seed=5)
    counts[::3] *= 2
    counts[1::50] *= 3
    idf = np.log(N_TRAIN / (counts[:N_TRAIN] > 0).sum(axis=0))
    recovered = recover_counts(sparse.csr_array(as_weights(counts, idf)), N_TRAIN)
    # Where all counts of a document are equal the weights do not tell which they are.
    told = np.array([len(set(row[row > 0])) > 1 for row in counts])
    np.testing.assert_array_equal(recovered.counts.toarray()[told], counts[told])
    assert recovered.n_unresolved == 0


def test_empty_documents_and_terms_that_the_train_rows_lack():
    counts, _ = simulate(N_DOCUMENTS, N_TERMS, n_idf_rows=N_TRAIN, seed=6)
    counts[7] = 0
    counts[:N_TRAIN, 390:] = 0
    counts[N_TRAIN:, 390:] = np.where(rng(6, "x").random((N_DOCUMENTS - N_TRAIN, 10)) < 0.3, 2, 0)
    counts[N_TRAIN, 390:] = 1
    n_t = (counts[:N_TRAIN] > 0).sum(axis=0)
    idf = np.where(n_t > 0, np.log(N_TRAIN / np.maximum(n_t, 1)), 11.0)
    with np.errstate(invalid="ignore"):
        weights = np.nan_to_num(as_weights(counts, idf))
    recovered = recover_counts(sparse.csr_array(weights), N_TRAIN)
    np.testing.assert_array_equal(recovered.counts.toarray(), counts)
    assert recovered.n_unresolved == 0


def test_a_foreign_idf_is_estimated_from_the_weights():
    counts, _ = simulate(N_DOCUMENTS, N_TERMS, n_idf_rows=N_TRAIN, seed=7)
    n_t = (counts > 0).sum(axis=0)
    idf = np.log(N_DOCUMENTS / n_t) * np.exp(rng(7, "idf").normal(0, 0.05, N_TERMS))
    recovered = recover_counts(sparse.csr_array(as_weights(counts, idf)), N_TRAIN)
    assert not recovered.idf_known
    assert (recovered.counts.toarray() == counts)[counts > 0].mean() > 0.99


def test_documents_that_fit_no_counts_are_counted():
    counts, weights = simulate(N_DOCUMENTS, N_TERMS, n_idf_rows=N_TRAIN, seed=8)
    broken = np.arange(0, 200, 10)
    weights[broken] *= np.where(weights[broken] > 0, rng(8, "noise").uniform(0.8, 1.2, (20, N_TERMS)), 1)
    recovered = recover_counts(sparse.csr_array(weights), N_TRAIN)
    assert recovered.idf_known
    assert recovered.n_unresolved == len(broken)
    intact = np.setdiff1d(np.arange(N_DOCUMENTS), broken)
    np.testing.assert_array_equal(recovered.counts.toarray()[intact], counts[intact])


@pytest.mark.parametrize("n", [0, 1, 2, 7, 1000])
@pytest.mark.parametrize("owned", ["own", "view", "part"])
def test_weights_are_narrowed_within_their_own_memory(monkeypatch, n, owned):
    monkeypatch.setattr(rcv1, "PART_SIZE", 3)
    whole = np.random.default_rng(n).random(n)
    values = {"own": whole, "view": whole[:], "part": whole[1:]}[owned]
    expected = values.astype(np.float32)
    kept = whole.copy()
    narrow = rcv1._narrowed(values)
    np.testing.assert_array_equal(narrow, expected)
    assert narrow.dtype == np.float32
    if owned == "part":
        np.testing.assert_array_equal(whole, kept)
    else:
        assert narrow.base.nbytes <= 4 * n + 8
