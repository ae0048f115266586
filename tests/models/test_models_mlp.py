"""The MLP: its arithmetic against plain numpy and torch, early stopping, tuning, and the same bytes."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from scipy import sparse
from torch.optim._functional import sparse_adam  # the classes import all of torch's compiler
from torch.optim.adam import adam

from harness.models import mlp as mlp_module
from harness.models import mlp_network
from harness.models.cross_validation import count_cells, score
from harness.models.mlp import MLP
from harness.models.mlp_network import (
    Examples,
    LazyAdam,
    Settings,
    Weights,
    as_parameters,
    decision_values,
    exact_decision_values,
    gradient,
    initial_weights,
    loss,
    train,
)
from harness.runtime.parallel import run_here


@pytest.fixture(autouse=True)
def one_thread():
    """As in the units of a run; two threads are slower on networks this small."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def documents(n_documents, n_terms=60, n_categories=3, seed=0):
    """Documents of random terms; a document carries a category when it holds one of its five terms."""
    generator = np.random.default_rng(seed)
    dense = (generator.random((n_documents, n_terms)) < 0.08) * generator.random((n_documents, n_terms))
    y = np.stack([dense[:, 5 * c : 5 * c + 5].max(axis=1) > 0.3 for c in range(n_categories)], axis=1)
    norm = np.sqrt((dense**2).sum(axis=1, keepdims=True))
    return sparse.csr_array((dense / np.maximum(norm, 1e-9)).astype(np.float32)), y


@pytest.fixture(scope="module")
def toy():
    return documents(400)


def small_network(seed=0, n_terms=7, n_hidden=4, n_outputs=3):
    generator = np.random.default_rng(seed)
    shapes = [(n_terms, n_hidden), (n_hidden,), (n_outputs, n_hidden), (n_outputs,)]
    return Weights(*(generator.normal(size=shape).astype(np.float32) for shape in shapes))


# --- the arithmetic, against dense numpy in double precision ---


def reference(weights, x, y):
    """Return outputs, loss and the four gradients from textbook formulas on a dense matrix."""
    w, b, u, c = (array.astype(np.float64) for array in weights)
    x = x.toarray().astype(np.float64)
    hidden = np.tanh(x @ w + b)
    z = hidden @ u.T + c
    value = (np.logaddexp(0, z) - y * z).sum() / len(x)
    dz = (1 / (1 + np.exp(-z)) - y) / len(x)
    da = (dz @ u) * (1 - hidden**2)
    return z, value, [x.T @ da, da.sum(axis=0), dz.T @ hidden, dz.sum(axis=0)]


def test_forward_loss_and_gradient_equal_a_dense_reference():
    weights = small_network()
    x, y = documents(20, n_terms=7, n_categories=1)
    y = np.column_stack([y[:, 0], ~y[:, 0], np.ones(20, dtype=bool)])
    x = sparse.csr_array(np.vstack([x.toarray()[:19], np.zeros(7, dtype=np.float32)]))  # one empty document
    z, value, expected = reference(weights, x, y)
    np.testing.assert_allclose(decision_values(weights, x), z, atol=1e-5)
    rows = np.arange(20)
    for output in range(3):
        exact = exact_decision_values(weights, x, np.full(20, output))
        np.testing.assert_allclose(exact, z[rows, output], atol=1e-12)
    assert float(loss(as_parameters(weights, "cpu"), Examples(x, y))) == pytest.approx(value, rel=1e-5)
    parts, terms = gradient(as_parameters(weights, "cpu"), Examples(x, y))
    first = np.zeros((7, 4))
    first[terms.numpy()] = parts[0].numpy()
    for got, want in zip([first, *(part.numpy() for part in parts[1:])], expected, strict=True):
        np.testing.assert_allclose(got, want, atol=1e-5)


def test_lazy_adam_equals_the_two_optimizers_of_torch():
    generator = torch.Generator().manual_seed(0)
    start = [torch.randn(6, 3, generator=generator), torch.randn(3, generator=generator)]
    ours = [p.clone() for p in start]
    theirs = [p.clone() for p in start]
    states = [(torch.zeros_like(p), torch.zeros_like(p)) for p in start]
    options = {"beta1": 0.9, "beta2": 0.999, "lr": 0.1, "eps": 1e-8, "maximize": False}
    lazy = LazyAdam(ours, 0.1)
    for step, rows in enumerate(([0, 2, 5], [2], [1, 2, 3], [0, 5]), 1):
        part, whole = torch.randn(len(rows), 3, generator=generator), torch.randn(3, generator=generator)
        scattered = torch.sparse_coo_tensor(torch.tensor([rows]), part, (6, 3), check_invariants=True)
        first, second = ([[values] for values in state] for state in states)
        sparse_adam([theirs[0]], [scattered.coalesce()], *first, [step], **options)
        before = [torch.tensor(step - 1.0)]
        adam([theirs[1]], [whole], *second, [], before, amsgrad=False, weight_decay=0.0, **options)
        lazy.step([part, whole], [torch.tensor(rows), None])
    # SparseAdam adds epsilon before the bias correction, Adam after it: the difference is about 1e-7.
    np.testing.assert_allclose(ours[0], theirs[0], atol=1e-5, rtol=0)
    np.testing.assert_allclose(ours[1], theirs[1], atol=1e-6, rtol=0)
    assert torch.equal(ours[0][4], start[0][4])


def test_terms_unseen_in_training_add_nothing():
    x = sparse.csr_array(np.array([[1, 0, 0.5]], dtype=np.float32))
    weights = initial_weights(x, 2, 5, np.random.default_rng(0))
    assert weights.hidden_weights.dtype == np.float32
    assert not weights.hidden_weights[1].any()
    assert np.abs(weights.hidden_weights[[0, 2]]).min() > 0
    assert np.abs(weights.hidden_weights).max() <= np.sqrt(6 / 8)


# --- training ---


def noisy_task():
    """Labels with noise, so that the held-out criterion rises, falls and wavers."""
    x, y = documents(300, seed=4)
    y = y ^ (np.random.default_rng(5).random(y.shape) < 0.15)
    return Examples(x[:200], y[:200]), Examples(x[200:], y[200:])


def fit_noisy(n_epochs, patience, held=True, criterion="f1"):
    examples, kept = noisy_task()
    settings = Settings(8, 0.1, n_epochs, patience, 32, criterion)
    start = initial_weights(examples.x, 3, 8, np.random.default_rng(0))
    shuffle = np.random.default_rng(1)
    return train(examples, kept if held else None, settings, start=start, shuffle=shuffle)


@pytest.mark.parametrize("criterion", ["f1", "error"])
def test_the_best_epoch_is_restored_and_patience_ends_training(criterion):
    trained = fit_noisy(15, 15, criterion=criterion)
    _, held = noisy_task()
    best = trained.scores.max() if criterion == "f1" else trained.scores.min()
    assert len(trained.scores) == 15
    assert trained.scores[-1] != best, "the task must be one where the last epoch is not the best"
    got = score(count_cells(held.y, decision_values(trained.weights, held.x) > 0).sum(axis=0), criterion)
    assert float(got) == best == trained.scores[trained.n_epochs - 1]
    again = fit_noisy(trained.n_epochs, 1, held=False, criterion=criterion)
    assert (again.n_epochs, len(again.scores)) == (trained.n_epochs, 0)
    assert all(a.tobytes() == b.tobytes() for a, b in zip(trained.weights, again.weights, strict=True))
    early = fit_noisy(15, 2, criterion=criterion)
    assert len(early.scores) == early.n_epochs + 2 < 15
    np.testing.assert_array_equal(early.scores, trained.scores[: len(early.scores)])


def test_equal_criteria_are_settled_by_the_loss(monkeypatch):
    values = iter([(0.0, 3.0), (0.0, 2.0), (0.0, 1.0), (0.5, 4.0), (0.5, 4.0), (0.5, 3.5), (0.4, 1.0)])
    monkeypatch.setattr(mlp_network, "evaluate", lambda *_: next(values))
    assert fit_noisy(7, 2).n_epochs == 6


# --- the model ---


def test_fitting_leaves_torchs_and_numpys_global_generators_alone(toy):
    torch.manual_seed(5)
    before = torch.get_rng_state().clone()
    MLP(tune=False, n_epochs=2).fit(*toy, seed=0)
    assert torch.equal(before, torch.get_rng_state())


def test_decisions_near_the_threshold_are_those_of_double_precision(monkeypatch):
    weights = small_network()
    x, _ = documents(50, n_terms=7, n_categories=1)
    monkeypatch.setattr(mlp_network, "decision_values", lambda *_: np.zeros((50, 3), dtype=np.float32))
    z, _, _ = reference(weights, x, np.zeros((50, 3)))
    np.testing.assert_array_equal(mlp_module._decide(weights, x, "cpu"), z > 0)


def test_columns_without_an_entry_change_nothing(toy):
    x, y = toy
    empty = sparse.csr_array((x.shape[0], 4), dtype=np.float32)
    wide = sparse.csr_array(sparse.hstack([empty, x, empty]))
    model = MLP(tune=False, n_epochs=2)
    narrow_fit, wide_fit = model.fit(x, y, seed=0), model.fit(wide, y, seed=0)
    assert wide_fit.arrays["hidden_weights"].shape[0] == len(np.unique(x.indices))
    np.testing.assert_array_equal(wide_fit.arrays["terms"], narrow_fit.arrays["terms"] + 4)
    np.testing.assert_array_equal(model.predict(wide_fit, wide), model.predict(narrow_fit, x))


# --- tuning ---


def scripted_tuning(monkeypatch, true_positives):
    """Replace the training of a fold by cells with the given true positives out of 10 positives."""
    seen = []

    def fold(shared, n_hidden, learning_rate, k):
        seen.append((n_hidden, learning_rate, k))
        tp = true_positives(n_hidden, learning_rate, k)
        return {"cells": np.array([[tp, 0, 10 - tp, 5]] * 2)}

    monkeypatch.setattr(mlp_module, "_tune_fold", fold)
    return seen


def tune(**options):
    x, y = documents(12, n_categories=2)
    model = MLP(n_hidden=8, n_hidden_grid=(16, 4, 8), learning_rate_grid=(0.1, 0.01, 0.03), **options)
    task = SimpleNamespace(model=model, y=y, seed=0)
    return mlp_module._tune(task, 3, run_here)


@pytest.mark.parametrize("criterion", ["f1", "error"])
def test_rate_then_width_are_chosen_by_the_pooled_criterion(monkeypatch, criterion):
    gain = {0.01: 3, 0.03: 5, 0.1: 5}
    seen = scripted_tuning(monkeypatch, lambda h, rate, k: gain[rate] + (h == 16) * (k == 1))
    width, rate, cv_score = tune(criterion=criterion)
    assert (width, rate) == (16, 0.03)
    tp, fn = 16, 14  # 5 + 6 + 5 of 30 positives
    expected = 2 * tp / (2 * tp + fn) if criterion == "f1" else fn / 45
    np.testing.assert_allclose(cv_score, [expected] * 2, rtol=1e-12)
    # The configuration that both passes share is trained once.
    assert len(seen) == len(set(seen)) == 3 * (3 + 2)


def test_without_tuning_the_defaults_are_used(toy):
    fitted = MLP(tune=False, n_hidden=5, learning_rate=0.02, n_epochs=1).fit(*toy, seed=0)
    assert fitted.tuned["n_hidden"].tolist() == [5] * 3
    assert fitted.tuned["learning_rate"].tolist() == [0.02] * 3
    assert fitted.n_folds.tolist() == [0] * 3
    assert np.isnan(fitted.cv_score).all()


def test_refit_learns_from_the_held_out_documents_too(toy):
    options = {"tune": False, "n_hidden": 8, "n_epochs": 4}
    kept = MLP(refit=False, **options).fit(*toy, seed=0)
    refit = MLP(**options).fit(*toy, seed=0)
    assert kept.tuned["n_epochs"].tolist() == refit.tuned["n_epochs"].tolist()
    assert kept.arrays["output_bias"].tobytes() != refit.arrays["output_bias"].tobytes()


# --- edges and wrong input ---


@pytest.mark.parametrize("n_documents", [1, 2, 3, 6])
@pytest.mark.parametrize("n_categories", [1, 2])
def test_a_handful_of_documents(n_documents, n_categories):
    x, _ = documents(n_documents)
    y = np.zeros((n_documents, n_categories), dtype=np.uint8)
    y[:, 0] = 1  # every document carries it
    y[0] = 1
    model = MLP(n_hidden_grid=(2, 4), n_epochs=3)
    fitted = model.fit(x, y, seed=0)
    assert fitted.n_folds[0] == (min(3, n_documents) if n_documents > 1 else 0)
    assert model.predict(fitted, x).shape == y.shape
