"""Prediction through torch: the same functions that run on a GPU, here on whatever device there is."""

import numpy as np
import pytest
from model_cases import MODELS, draw
from scipy import sparse

from harness.errors import UserError
from harness.models import linear_svm, rbf_svm
from harness.models.device import kernel_values, linear_values, resolve_device
from harness.models.gaussian_kernel import decide, decision_values, prepare


@pytest.fixture(scope="module")
def device():
    """A GPU where there is one."""
    torch = pytest.importorskip("torch")
    torch.set_num_threads(1)
    return "cuda" if torch.cuda.is_available() else "cpu"


@pytest.fixture(scope="module")
def data():
    return draw(400)


def test_a_document_without_terms_gets_the_intercept(device):
    x = sparse.csr_array((3, 5), dtype=np.float32)
    values = linear_values(np.ones((5, 2)), np.array([0.5, -2.0]), x, device)
    np.testing.assert_array_equal(values, [[0.5, -2.0]] * 3)


@pytest.mark.parametrize("max_bytes", [2**31, 2**20, 1])
def test_kernel_values_are_those_of_double_precision_in_any_memory(data, device, max_bytes):
    x, y = data
    fitted = MODELS["rbf_svm"].fit(x[:200], y[:200], seed=0)
    prepared = prepare(fitted.arrays)
    found = kernel_values(prepared, x[200:], device, max_bytes)
    np.testing.assert_allclose(found, decision_values(prepared, x[200:]), atol=5e-5)
    np.testing.assert_array_equal(decide(prepared, x[200:], found), decide(prepared, x[200:]))


def test_decisions_at_the_boundary_are_settled_in_double_precision(data, device):
    x, y = data
    fitted = MODELS["linear_svm"].fit(x[:200], y[:200], seed=0)
    coef = fitted.arrays["coef"]
    # each category's boundary is moved onto one of the documents, less than single precision can tell
    exact = x.astype(np.float64) @ coef
    intercept = -exact[np.arange(coef.shape[1]) + 200, np.arange(coef.shape[1])] + 1e-12
    expected = exact + intercept > 0
    assert expected[np.arange(coef.shape[1]) + 200, np.arange(coef.shape[1])].all()
    found = linear_svm._decide((x, coef, intercept, "cpu:0" if device == "cpu" else device), 0, 400)[
        "decisions"
    ]
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", ["linear_svm", "rbf_svm"])
def test_the_units_of_a_gpu_decide_as_the_processor_does(data, name, device, monkeypatch):
    """The units' own function, told of a device that is not named cpu: torch's, whichever it is."""
    x, y = data
    module, model = {"linear_svm": linear_svm, "rbf_svm": rbf_svm}[name], MODELS[name]
    fitted = model.fit(x[:200], y[:200], seed=0)
    expected = model.predict(fitted, x)
    other = "cuda" if device == "cuda" else "cpu:0"  # torch takes both for a device
    monkeypatch.setattr(module, "resolve_device", lambda _: other)
    np.testing.assert_array_equal(model.predict(fitted, x), expected)


def test_an_absent_gpu_is_said_before_anything_is_fitted_or_predicted(data, monkeypatch):
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert resolve_device("auto") == resolve_device("cpu") == "cpu"
    x, y = data
    models = [(model, model.fit(x[:60], y[:60], seed=0)) for model in MODELS.values()]
    absent = "device=cuda: torch finds no CUDA GPU"
    for model, fitted in models:
        with pytest.raises(UserError, match=absent):
            model.predict(fitted, x, device="cuda")
    with pytest.raises(UserError, match=absent):
        MODELS["mlp"].fit(x, y, seed=0, device="cuda")
    with pytest.raises(UserError, match="device: 'gpu' is not allowed; choose one of auto, cpu, cuda"):
        resolve_device("gpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr("harness.models.device.may_have_gpu", lambda: True)
    assert resolve_device("auto") == resolve_device("cuda") == "cuda"


def test_a_gpu_and_the_processor_agree_but_for_a_counted_handful(data):
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("no CUDA GPU on this machine")
    x, y = data
    for name, model in MODELS.items():
        fitted = model.fit(x[:200], y[:200], seed=0, device="cpu")
        differ = model.predict(fitted, x, device="cuda") != model.predict(fitted, x, device="cpu")
        assert differ.sum() <= 2, name
