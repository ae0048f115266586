import numpy as np
import pytest
from scipy import sparse

from harness.balance import label_documents, natural_categories, union_categories, unite_decisions
from harness.errors import UserError


@pytest.fixture
def topics():
    generator = np.random.default_rng(0)
    dense = generator.random((400, 25)) < np.linspace(0.002, 0.2, 25)
    dense[:, 24] = False
    return sparse.csr_array(dense.astype(np.uint8))


NAMES = tuple(f"T{i}" for i in range(25))


def test_natural_categories_have_a_positive(topics):
    categories = natural_categories(topics, NAMES)
    positives = topics.toarray().sum(axis=0)
    assert categories.names == tuple(n for n, k in zip(NAMES, positives, strict=True) if k > 0)
    assert (label_documents(topics, categories) == topics.toarray()[:, positives > 0]).all()


def test_unions_lie_in_the_range_differ_and_repeat(topics):
    arguments = {"n_categories": 40, "low": 0.45, "high": 0.55}
    unions = union_categories(topics, seed=3, **arguments)
    prevalence = label_documents(topics, unions).mean(axis=0)
    assert len(unions.names) == 40
    assert ((prevalence >= 0.45) & (prevalence <= 0.55)).all()
    assert len({row.tobytes() for row in unions.members}) == 40
    assert (unions.members == union_categories(topics, seed=3, **arguments).members).all()
    assert (unions.members != union_categories(topics, seed=4, **arguments).members).any()


def test_fewer_unions_where_there_are_no_more():
    topics = sparse.csr_array(np.repeat([[1, 0], [0, 1]], 5, axis=0).astype(np.uint8))
    assert len(union_categories(topics, n_categories=9, low=0.45, high=0.55, seed=0).names) == 2


def test_no_union_is_refused():
    topics = sparse.csr_array(np.array([[1], [1], [1], [0]], dtype=np.uint8))
    with pytest.raises(UserError, match=r"no union of topics has a prevalence between 0\.45 and 0\.55"):
        union_categories(topics, n_categories=1, low=0.45, high=0.55, seed=0)


def test_united_decisions_are_the_or_of_the_topics(topics):
    natural = natural_categories(topics, NAMES)
    unions = union_categories(topics, n_categories=5, low=0.45, high=0.55, seed=1)
    decisions = np.random.default_rng(1).random((30, len(natural.names))) < 0.2
    united = unite_decisions(decisions, natural, unions)
    for column, members in zip(united.T, unions.members, strict=True):
        topics_in = {NAMES[i] for i in np.flatnonzero(members)}
        mine = [i for i, name in enumerate(natural.names) if name in topics_in]
        assert (column == decisions[:, mine].any(axis=1)).all()
