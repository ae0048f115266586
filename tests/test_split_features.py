from datetime import date

import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import normalize

from harness.errors import UserError
from harness.features import AsStored, TfIdf
from harness.split import split_documents


def test_split_is_a_partition_and_the_seed_decides():
    one, same, other = (split_documents(100, n_train=30, n_test=20, seed=seed) for seed in (1, 1, 2))
    assert sorted(np.concatenate(one).tolist()) == list(range(100))
    assert [len(part) for part in one] == [30, 20, 50]
    assert all((a == b).all() for a, b in zip(one, same, strict=True))
    assert (one.train != other.train).any()


def test_split_in_order_of_time():
    parts = split_documents(9, n_train=4, order="chronological", chronological=True)
    assert parts.train.tolist() == [0, 1, 2, 3]


def test_training_sets_are_disjoint_and_have_one_truth_in_common():
    parts = [split_documents(50, n_train=8, n_test=5, n_draws=3, draw=draw, seed=4) for draw in range(3)]
    for one in parts[1:]:
        assert (one.true == parts[0].true).all()
        assert (one.test == parts[0].test).all()
    together = np.concatenate([*(one.train for one in parts), parts[0].test, parts[0].true])
    assert sorted(together.tolist()) == list(range(50))
    # the first of several draws is the training set of one draw
    assert (parts[0].train == split_documents(50, n_train=8, n_test=5, seed=4).train).all()


def test_a_split_in_time_trains_on_what_was_written_before():
    days = np.random.default_rng(0).permutation(np.arange(40)) + date(2009, 12, 12).toordinal()
    first = date(2010, 1, 1).toordinal()
    parts = [
        split_documents(40, n_train=6, n_test=3, n_draws=2, draw=k, before="2010-01-01", days=days)
        for k in (0, 1)
    ]
    for one in parts:
        assert (days[one.train] < first).all()
        assert (days[np.concatenate([one.test, one.true])] >= first).all()
        assert len(one.test) == 3
        assert len(one.true) == 20 - 3
    assert not set(parts[0].train.tolist()) & set(parts[1].train.tolist())


@pytest.fixture
def counts():
    generator = np.random.default_rng(5)
    dense = generator.poisson(0.4, (60, 30)) * (generator.random(30) < 0.9)
    dense[:, 3] = 1 + generator.poisson(1, 60)  # in every document: idf 0
    dense[7] = 0
    return sparse.csr_array(dense.astype(np.float32))


def test_tfidf_is_that_of_scikit_learn(counts):
    """TfidfTransformer(sublinear_tf=True, smooth_idf=False, norm=None), whose idf is ours plus 1."""
    train = counts[:40]
    dictionary = TfIdf().fit(train)
    vectors = TfIdf().transform(dictionary, counts)
    peer = TfidfTransformer(sublinear_tf=True, smooth_idf=False, norm=None)
    chosen = train[:, dictionary.columns]
    peer.fit(chosen)
    tf = counts[:, dictionary.columns].astype(float)
    tf.data = 1 + np.log(tf.data)
    expected = normalize(tf @ sparse.diags_array(peer.idf_ - 1))
    np.testing.assert_allclose(vectors.toarray(), expected.toarray(), rtol=1e-5, atol=1e-7)


def test_dictionary_comes_from_the_training_documents_only(counts):
    train = counts[:40]
    dictionary = TfIdf(min_df=2).fit(train)
    df = (train.toarray() > 0).sum(axis=0)
    assert dictionary.columns.tolist() == np.flatnonzero((df >= 2) & (df < 40)).tolist()
    changed = counts.copy()
    changed.data[counts.indptr[40] :] = 9  # other documents than D_tr
    assert (TfIdf(min_df=2).fit(changed[:40]).factors == dictionary.factors).all()


def test_rows_have_length_one_and_empty_rows_stay_empty(counts):
    vectors = TfIdf().transform(TfIdf().fit(counts[:40]), counts)
    lengths = np.sqrt((vectors.toarray() ** 2).sum(axis=1))
    assert set(np.round(lengths, 5)) <= {0.0, 1.0}
    assert lengths[7] == 0
    assert vectors.dtype == np.float32
    assert vectors.has_canonical_format


def test_stored_weights_stay_as_they_are(counts):
    dictionary = AsStored().fit(counts[:5])
    kept = AsStored().transform(dictionary, counts)
    assert (kept.toarray() == counts.toarray()[:, dictionary.columns]).all()


def test_no_term_is_refused(counts):
    with pytest.raises(UserError, match="min_df=99"):
        TfIdf(min_df=99).fit(counts)
    with pytest.raises(UserError, match="hold no term"):
        AsStored().fit(counts[7:8])
