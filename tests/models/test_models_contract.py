"""What holds of every model beside the contract of its yaml: documents apart, wrong settings named."""

import numpy as np
import pytest
from model_cases import MODELS, draw
from threadpoolctl import threadpool_limits

from harness.models import mlp_network


@pytest.fixture(scope="module", autouse=True)
def _one_thread():
    with threadpool_limits(1):
        yield


@pytest.fixture(scope="module")
def data():
    x, y = draw()
    return x[:150], y[:150], x[150:]


@pytest.mark.parametrize("name", MODELS)
def test_decisions_do_not_depend_on_the_documents_beside(name, data, monkeypatch):
    model, (x, y, x_true) = MODELS[name], data
    fitted = model.fit(x, y, seed=0)
    whole = model.predict(fitted, x_true)
    assert (whole.dtype, whole.shape) == (bool, (x_true.shape[0], y.shape[1]))
    np.testing.assert_array_equal(model.predict(fitted, x_true[:7]), whole[:7])
    monkeypatch.setattr(mlp_network, "DOCUMENTS_PER_BATCH", 11)
    for module in ("linear_svm", "rbf_svm"):
        monkeypatch.setattr(f"harness.models.{module}.DOCUMENTS_PER_UNIT", 32)
    monkeypatch.setattr("harness.models.gaussian_kernel.DOCUMENTS_AT_ONCE", 13)
    np.testing.assert_array_equal(model.predict(fitted, x_true), whole)
    assert model.predict(fitted, x_true[:0]).shape == (0, y.shape[1])
