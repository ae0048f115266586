"""What the tests of models share: documents to learn from, the models, and a run in another order."""

import numpy as np
from scipy import sparse

from harness.models.linear_svm import LinearSVM
from harness.models.mlp import MLP
from harness.models.rbf_svm import RBFSVM
from harness.runtime.parallel import run_here

MODELS = {
    "linear_svm": LinearSVM(C_grid=(0.3, 3.0)),
    "rbf_svm": RBFSVM(C_grid=(1.0, 3.0), gamma_grid=(0.1, 1.0)),
    "mlp": MLP(n_hidden=8, n_hidden_grid=(4, 8), learning_rate_grid=(0.03, 0.1), n_epochs=5, batch_size=32),
}


def draw(n_documents=240, n_terms=400, n_categories=12, seed=0):
    """Documents with a few topical terms; prevalence from one half to rare."""
    generator = np.random.default_rng(seed)
    prevalence = np.geomspace(0.5, 0.02, n_categories)
    y = generator.random((n_documents, n_categories)) < prevalence
    y[0] = True
    rate = np.full((n_documents, n_terms), 0.03)
    for j in range(n_categories):
        rate[np.ix_(y[:, j], np.arange(j * 5, j * 5 + 5))] += 0.5
    counts = generator.poisson(rate)
    x = np.log1p(counts) / np.maximum(np.linalg.norm(np.log1p(counts), axis=1, keepdims=True), 1e-9)
    return sparse.csr_array(x.astype(np.float32)), y


def shuffled_run(function, units, names, *, shared=None, threads=True, description=""):
    """Run the units in another order, each with its own copy of what is shared."""
    assert len(set(names)) == len(names)
    parts = [None] * len(units)
    for i in np.random.default_rng(1).permutation(len(units)):
        parts[i] = run_here(function, [units[i]], [names[i]], shared=shared)[0]
    return parts
