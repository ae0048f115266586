"""Linear and RBF SVM: decisions are scikit-learn's, whatever the order of the work."""

import numpy as np
import pytest
from model_cases import MODELS, draw
from scipy import sparse
from sklearn.svm import SVC, LinearSVC
from threadpoolctl import threadpool_limits

from harness.models import gaussian_kernel
from harness.models.cross_validation import partition, usable_folds
from harness.models.linear_svm import LinearSVM
from harness.models.rbf_svm import RBFSVM


@pytest.fixture(scope="module", autouse=True)
def _one_thread():
    with threadpool_limits(1):
        yield


@pytest.fixture(scope="module")
def data():
    x, y = draw()
    return x[:150], y[:150], x[150:]


def test_linear_decisions_are_those_of_linearsvc(data):
    x, y, x_true = data
    fitted = MODELS["linear_svm"].fit(x, y, seed=0)
    decisions = MODELS["linear_svm"].predict(fitted, x_true)
    dense, dense_true = (sparse.csr_matrix(part, dtype=np.float64) for part in (x, x_true))
    for j, c in enumerate(fitted.tuned["C"]):
        peer = LinearSVC(C=c, dual=False).fit(dense, y[:, j])
        np.testing.assert_array_equal(decisions[:, j], peer.decision_function(dense_true) > 0)


def test_rbf_decisions_are_those_of_svc_on_the_sparse_matrix(data):
    (x, x_true), y = map(sparse.csr_matrix, data[::2]), data[1]
    fitted = MODELS["rbf_svm"].fit(*data[:2], seed=0)
    decisions = MODELS["rbf_svm"].predict(fitted, data[2])
    prepared = gaussian_kernel.prepare(fitted.arrays)
    values = gaussian_kernel.decision_values(prepared, data[2])
    for j, (c, gamma) in enumerate(zip(fitted.tuned["C"], fitted.tuned["gamma"], strict=True)):
        peer = SVC(C=c, gamma=gamma, kernel="rbf").fit(x, y[:, j])
        np.testing.assert_array_equal(decisions[:, j], peer.predict(x_true))
        place = prepared.order.tolist().index(j)
        np.testing.assert_allclose(values[:, place], peer.decision_function(x_true), atol=1e-6)
    assert np.unique(fitted.tuned["gamma"]).size == 2, "the test wants both values of gamma"


def test_rbf_single_precision_is_corrected_where_it_is_close(data, monkeypatch):
    x, y, x_true = data
    model = RBFSVM(tune=False)
    fitted = model.fit(x, y, seed=0)
    prepared = gaussian_kernel.prepare(fitted.arrays)
    expected = gaussian_kernel.decision_values(prepared, x_true) >= 0
    wrong = gaussian_kernel._single_precision(prepared, x_true)
    wrong = np.where(np.abs(wrong) < 0.02, -wrong, wrong)
    assert ((wrong >= 0) != expected).any()
    monkeypatch.setattr(gaussian_kernel, "_single_precision", lambda *_: wrong)
    found = gaussian_kernel.decide(prepared._replace(close=np.full(len(prepared.close), 0.02)), x_true)
    np.testing.assert_array_equal(found[:, prepared.order], expected)


def test_rbf_with_rows_that_are_not_normalised_or_empty():
    x, y = draw(120, 60, 3, seed=2)
    x = sparse.csr_array(sparse.diags_array(np.linspace(0, 2, 120).astype(np.float32)) @ x)
    x.eliminate_zeros()
    model = RBFSVM(tune=False)
    decisions = model.predict(model.fit(x, y, seed=0), x)
    for j in range(3):
        peer = SVC(C=3.0, gamma=0.3).fit(sparse.csr_matrix(x), y[:, j])
        np.testing.assert_array_equal(decisions[:, j], peer.predict(sparse.csr_matrix(x)))


def held_out(machine, x, y, fold, usable):
    """Return the values of the documents of usable folds, each by a machine fitted on the other folds."""
    values, held = np.zeros(len(y)), np.isin(fold, np.flatnonzero(usable))
    for k in np.flatnonzero(usable):
        values[fold == k] = machine.fit(x[fold != k], y[fold != k]).decision_function(x[fold == k])
    return values[held], y[held]


def f1(decided, y):
    return 2 * (decided & y).sum() / max(decided.sum() + y.sum(), 1)


@pytest.mark.parametrize("criterion", ["f1", "error"])
def test_linear_tuning_against_brute_force(data, criterion):
    x, y, _ = data
    fitted = LinearSVM(C_grid=(3.0, 0.3, 30.0), n_folds=3, criterion=criterion).fit(x, y, seed=5)
    fold, grid = partition(len(y), 3, 5), (0.3, 3.0, 30.0)
    usable, dense = usable_folds(y, fold, 3), sparse.csr_matrix(x, dtype=np.float64)
    for j in range(y.shape[1]):
        best = []
        for c in grid:
            values, truth = held_out(LinearSVC(C=c, dual=False), dense, y[:, j], fold, usable[:, j])
            best.append(f1(values > 0, truth) if criterion == "f1" else -((values > 0) != truth).mean())
        assert fitted.tuned["C"][j] == grid[int(np.argmax(best))]
        assert abs(fitted.cv_score[j]) == pytest.approx(abs(max(best)))


def test_linear_threshold_against_brute_force(data):
    x, y, x_true = data
    y = np.column_stack([y, np.arange(len(y)) == 7])  # one positive: no fold, threshold 0
    plain, model = LinearSVM(C_grid=(0.3, 3.0)), LinearSVM(C_grid=(0.3, 3.0), threshold="tuned")
    at_zero, fitted = plain.fit(x, y, seed=5), model.fit(x, y, seed=5)
    np.testing.assert_array_equal(fitted.tuned["C"], at_zero.tuned["C"])
    dense, fold = sparse.csr_matrix(x, dtype=np.float64), partition(len(y), 3, 5)
    usable = usable_folds(y, fold, 3)
    for j, c in enumerate(fitted.tuned["C"]):
        values, truth = held_out(LinearSVC(C=c, dual=False), dense, y[:, j], fold, usable[:, j])
        cuts = np.sort(values)
        best = max(f1(values > threshold, truth) for threshold in [0, *(cuts[1:] + cuts[:-1]) / 2])
        assert f1(values > fitted.tuned["threshold"][j], truth) == best
        assert fitted.cv_score[j] == best or (np.isnan(fitted.cv_score[j]) and not usable[:, j].any())
    assert fitted.tuned["threshold"][-1] == 0
    assert (fitted.tuned["threshold"] != 0).any()
    moved = sparse.csr_matrix(x_true, dtype=np.float64) @ at_zero.arrays["coef"] + at_zero.arrays["intercept"]
    np.testing.assert_array_equal(model.predict(fitted, x_true), moved > fitted.tuned["threshold"])


def test_rbf_tunes_gamma_at_the_default_c_then_c(data):
    x, y, _ = data
    fitted = MODELS["rbf_svm"].fit(x, y[:, :3], seed=0)
    fold = partition(len(y), 3, 0)
    for j in range(3):

        def score(gamma, c, j=j):
            machine = SVC(C=c, gamma=gamma, tol=1e-2)
            values, truth = held_out(machine, sparse.csr_matrix(x), y[:, j], fold, np.ones(3, dtype=bool))
            return f1(values > 0, truth)

        gamma = max((0.1, 1.0), key=lambda g: score(g, 3.0))
        c = max((1.0, 3.0), key=lambda value: score(gamma, value))
        assert (fitted.tuned["gamma"][j], fitted.tuned["C"][j]) == (gamma, c)
        assert fitted.cv_score[j] == pytest.approx(score(gamma, c))


@pytest.mark.parametrize("name", ["linear_svm", "rbf_svm"])
def test_rare_and_constant_categories(name):
    model = MODELS[name]
    x, y = draw(60, 80, 5, seed=3)
    fold = partition(60, 3, 0)
    y[:, 0] = True  # all positive: a constant decision
    y[:, 1] = np.arange(60) == 7  # one positive: not tuned
    y[:, 2] = np.isin(np.arange(60), np.flatnonzero(fold == 0)[:4])  # all in one fold: not tuned
    y[:, 3] = np.isin(np.arange(60), [np.flatnonzero(fold == 0)[0], np.flatnonzero(fold == 1)[0]])
    y[:, 4] = np.arange(60) % 4 == 0
    fitted = model.fit(x, y, seed=0)
    assert fitted.n_folds.tolist() == [3, 0, 0, 2, 3]
    assert np.isnan(fitted.cv_score).tolist() == [False, True, True, False, False]
    assert fitted.tuned["C"][1:3].tolist() == [model.C] * 2
    assert model.predict(fitted, x)[:, 0].all()


@pytest.mark.parametrize("model", [LinearSVM(tune=False), RBFSVM(tune=False)], ids=["linear", "rbf"])
def test_only_constant_categories(model):
    x, _ = draw(20, 30, 2)
    y = np.stack([np.ones(20), np.zeros(20)], axis=1)
    fitted = model.fit(x, y, seed=0)
    assert model.predict(fitted, x).all(axis=0).tolist() == [True, False]
    assert not model.predict(fitted, x)[:, 1].any()
    assert fitted.n_folds.tolist() == [0, 0]


def test_rbf_without_the_default_c_in_the_grid(data):
    x, y, _ = data
    fitted = RBFSVM(C_grid=(1.0, 10.0), gamma_grid=(0.3,)).fit(x, y[:, :2], seed=0)
    assert set(fitted.tuned["C"]) <= {1.0, 10.0}
    assert np.isfinite(fitted.cv_score).all()
