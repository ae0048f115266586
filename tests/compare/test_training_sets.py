import numpy as np
import pytest
from scipy import sparse
from scipy.stats import binom
from sklearn.naive_bayes import ComplementNB

from harness.compare.learner_tests import TESTS, Experiment
from harness.compare.training_sets import (
    LEARNERS,
    Point,
    choose_topic,
    make_population,
    make_problem,
    naive_bayes,
    run_trials,
)
from harness.corpora.synthetic import generate_synthetic

FALSE_ALARM = 1e-6


@pytest.fixture(scope="module")
def population():
    corpus = generate_synthetic(3000, seed=1)
    return make_population(corpus, choose_topic(corpus, None), n_terms=400, n_truth=800, seed=0)


def test_naive_bayes_decides_as_scikit_learn(population):
    generator = np.random.default_rng(0)
    x, y = sparse.csr_array(population.whole[:400]), population.labels[:400]
    times = generator.integers(0, 3, size=(6, 400))
    coef, intercept = naive_bayes(x, y, times)
    for sample, repeats in enumerate(times):
        rows = np.repeat(np.arange(400), repeats)
        machine = ComplementNB().fit(sparse.csr_matrix(x)[rows], y[rows])
        scores = machine.predict_joint_log_proba(sparse.csr_matrix(x))
        apart = x @ coef[:, sample] + intercept[sample]
        np.testing.assert_allclose(apart, scores[:, 1] - scores[:, 0], atol=1e-9)


@pytest.mark.parametrize("learner", LEARNERS)
def test_samples_do_not_disturb_each_other(population, learner):
    x, y = sparse.csr_array(population.whole[:60]), population.labels[:60]
    times = np.random.default_rng(1).integers(0, 2, size=(3, 60))
    together = LEARNERS[learner](x, y, times)
    alone = [LEARNERS[learner](x, y, row[None]) for row in times]
    np.testing.assert_allclose(together[0], np.concatenate([coef for coef, _ in alone], axis=1), atol=1e-12)
    np.testing.assert_allclose(together[1], np.concatenate([b for _, b in alone]), atol=1e-12)


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("label", [False, True])
def test_one_class_decides_for_it(population, learner, label):
    x = sparse.csr_array(population.whole[:10])
    coef, intercept = LEARNERS[learner](x, np.full(10, label), np.ones((1, 10), dtype=int))
    assert ((x @ coef + intercept > 0) == label).all()


def test_views_share_no_term_and_leave_none_out(population):
    n = len(population.labels)
    first, second = population.views[:n], population.views[n:]
    assert first.multiply(second).nnz == 0
    assert first.nnz + second.nnz == population.whole.nnz
    assert 0.48 < first.nnz / population.whole.nnz < 0.52


def test_b_reads_the_terms_it_may(population):
    problem = make_problem(population, "0.25", 0)
    assert problem.b.shape[1] == round(0.25 * problem.a.shape[1])
    assert make_problem(population, "views", 0).b.shape == problem.a.shape


@pytest.mark.parametrize("setting", ["views", "bootstrap"])
def test_nulls_are_exact(population, setting):
    # A and B can change places: a rejection for A is as likely as one for B, and the true difference is 0
    point = Point(setting, 40, "naive_bayes", 1 / 3, 6, 5)
    n_trials = 300
    found = run_trials(
        make_problem(population, setting, 0), point, Experiment(TESTS, [0.2], 300, 0), 0, n_trials
    )
    truth = found["truth"]
    error = truth.std(axis=0) / np.sqrt(n_trials)
    assert (np.abs(truth.mean(axis=0)) < 4.9 * error).all()
    for n_all, n_for_a in zip(found["rejected"][:, 0], found["for_a"][:, 0], strict=True):
        low, high = binom.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], n_all, 0.5) if n_all else (0, 0)
        assert low <= n_for_a <= high


def test_a_handicap_is_found(population):
    point = Point("0.25", 80, "naive_bayes", 1 / 3, 6, 10)
    experiment = Experiment(["corrected_resampled_t"], [0.2], 60, 0)
    found = run_trials(make_problem(population, "0.25", 0), point, experiment, 0, 60)
    assert (found["truth"].mean(axis=0) < -0.02).all()
    assert found["for_a"][0, 0] > 20
    assert found["rejected"][0, 0] - found["for_a"][0, 0] < 5


def test_batches_change_nothing(population):
    problem = make_problem(population, "views", 0)
    point = Point("views", 40, "naive_bayes", 0.25, 3, 4)
    experiment = Experiment(TESTS, [0.1], 8, 7)
    whole = run_trials(problem, point, experiment, 0, 8)
    parts = [run_trials(problem, point, experiment, *ends) for ends in ((0, 3), (3, 8))]
    for name in ("rejected", "for_a", "degenerate"):
        assert (whole[name] == parts[0][name] + parts[1][name]).all()
    assert (whole["truth"] == np.concatenate([part["truth"] for part in parts])).all()
