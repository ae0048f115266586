"""Multi-layer perceptron: one network with a sigmoid output per category, in torch."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from harness.errors import check_share, check_whole
from harness.models import cross_validation as cv
from harness.models import mlp_network as network
from harness.models.cross_validation import Bools, Floats, Ints
from harness.models.device import resolve_device
from harness.models.fitted import Fitted, decide_in_batches
from harness.runtime.parallel import Run, run_here
from harness.runtime.store import Arrays
from harness.seeding import rng

# Single precision erred by 1.5e-5 at most on RCV1; outputs this close to 0 are computed again in double.
NEAR_THRESHOLD = 1e-3


@dataclass(frozen=True)
class MLP(network.Settings):
    """A network with one hidden layer of tanh units and one sigmoid output per category.

    All outputs share the hidden layer ("one network, 101 outputs", Keller, Bengio & Wong 2005). tanh, as
    in the networks of that time; rectified units came out alike on RCV1 (micro F1 within .01 either way).
    Trained with lazy Adam on the binary cross-entropy, summed over outputs, without class weights; an
    output says yes where p > 1/2. What follows is our reading, the paper gives none of it:

    1. *Tuning.* First the learning rate at width `n_hidden`, then the width at the learning rate found.
       For every value tried and every fold of D_tr, a network is trained on the other folds less a random
       share `held_share` of them, which stops it early; its decisions on the fold, which took no part in
       training or stopping, are counted. The value with the best criterion over all categories and folds
       together (micro F1 by default) is taken; ties go to the smaller value.
    2. *Final network.* The best epoch is found with a random share `held_share` of D_tr held out; then
       (`refit`) a new network is trained on all of D_tr for that many epochs. With ``refit=False`` the
       early-stopped network itself is kept, which has not seen the held-out share.

    Early stopping looks at the criterion, not at the loss: on RCV1 the smallest loss comes some epochs
    before the best F1, while the rare categories still have hardly any decision above 1/2.

    All draws come from :func:`harness.seeding.rng`, none from torch. On the processor the same seed gives
    the same bytes whatever the number of workers; for that, fitting and predicting set torch to one
    thread in the process, and leave it so. On a GPU torch's sums have no fixed order.

    References
    ----------
    Keller, Bengio & Wong (2005), Benchmarking non-parametric statistical tests, NIPS, section 3.

    Examples
    --------
    >>> x = sparse.csr_array(np.array([[1, 0], [0.8, 0.6], [0, 1], [0.6, 0.8]], dtype=np.float32))
    >>> model = MLP(tune=False, n_hidden=4)
    >>> fitted = model.fit(x, np.array([[1, 0], [1, 0], [0, 1], [0, 1]]), seed=0)
    >>> model.predict(fitted, x).tolist()
    [[True, False], [True, False], [False, True], [False, True]]
    """

    tune: bool = True
    n_hidden_grid: Sequence[int] = (32, 64, 128)
    learning_rate_grid: Sequence[float] = (0.01, 0.03, 0.1)
    n_folds: int = 3
    held_share: float = 0.1
    refit: bool = True

    def __post_init__(self) -> None:
        """Check the parameters, and sort the grids."""
        cv.check_tuning(self.criterion, self.n_folds)
        for name in ("n_hidden", "n_epochs", "patience", "batch_size"):
            check_whole(name, getattr(self, name), 1)
        cv.check_grid("learning_rate", [self.learning_rate])
        check_share("held_share", self.held_share)
        for width in self.n_hidden_grid:
            check_whole("n_hidden_grid", width, 1)
        for name, kind in (("n_hidden_grid", int), ("learning_rate_grid", float)):
            grid = cv.check_grid(name, getattr(self, name))
            object.__setattr__(self, name, tuple(map(kind, grid)))

    def fit(
        self, x: sparse.csr_array, y: ArrayLike, *, seed: int, run: Run = run_here, device: str = "cpu"
    ) -> Fitted:
        """Tune and train one network for all columns of `y`; columns of `x` without an entry are left out.

        `cv_score` is each category's own criterion, pooled over the folds, at the configuration chosen for
        all of them together.
        """
        y, x, terms = np.asarray(y, dtype=bool), sparse.csr_array(x, dtype=np.float32), np.unique(x.indices)
        task = _Task(self, _columns(x, terms), y, seed, resolve_device(device))
        n_folds = min(self.n_folds, len(y)) if self.tune and len(y) > 1 else 0
        width, rate, cv_score = self.n_hidden, self.learning_rate, np.full(y.shape[1], np.nan)
        if n_folds:
            width, rate, cv_score = _tune(task, n_folds, run)
        names = [f"final {width} {rate}"]
        (part,) = run(_fit_final, [(width, rate)], names, shared=lambda: task, description="MLP: training")
        arrays = {"terms": terms.astype(np.int64), **{name: part[name] for name in network.Weights._fields}}
        chosen = {"n_hidden": width, "learning_rate": rate, "n_epochs": int(part["n_epochs"])}
        tuned = {name: np.full(y.shape[1], value) for name, value in chosen.items()}
        return Fitted(arrays, tuned, cv_score, np.full(y.shape[1], n_folds, dtype=np.int64))

    def predict(
        self, fitted: Fitted, x: sparse.csr_array, *, run: Run = run_here, device: str = "cpu"
    ) -> Bools:
        """Decide every category for every document.

        Outputs are computed in single precision; those within 1e-3 of the threshold are computed again
        in double precision, each document on its own. A decision therefore does not depend on which
        documents stand beside it.
        """
        weights = network.Weights(*(fitted.arrays[name] for name in network.Weights._fields))
        shared = weights, fitted.arrays["terms"], sparse.csr_array(x), resolve_device(device)
        shape, size = (x.shape[0], len(weights.output_bias)), network.DOCUMENTS_PER_BATCH
        return decide_in_batches(run, _predict_batch, shape, size, lambda: shared, "MLP: prediction")


class _Task(NamedTuple):
    """What the units of training share."""

    model: MLP
    x: sparse.csr_array
    y: Bools
    seed: int
    device: str

    def using(self, **settings: Any) -> "_Task":
        """Return the task with a model of other settings."""
        return self._replace(model=replace(self.model, **settings))


def _columns(x: sparse.csr_array, terms: Ints) -> sparse.csr_array:
    """Return the columns `terms` of `x` in single precision; no copy of the structure where it is all."""
    x = sparse.csr_array(x, dtype=np.float32)
    return x if len(terms) == x.shape[1] else sparse.csr_array(x[:, terms])


def _use_one_thread() -> None:
    """Keep torch to one thread: its sums differ in the last bits between one thread and two."""
    import torch

    # Not set back afterwards: units of other threads may be at work, and the setting is the process's.
    torch.set_num_threads(1)


def _train(task: _Task, documents: Ints, name: str, held_share: float) -> network.Trained:
    """Train on `documents` less a share that stops early; `name` gives the draws their generators."""
    n_held, n_hidden = min(round(held_share * len(documents)), len(documents) - 1), task.model.n_hidden
    order = rng(task.seed, "mlp", name, "held").permutation(documents)
    held, rest = (np.sort(part) for part in np.split(order, [n_held]))
    x, weights = task.x[rest], rng(task.seed, "mlp", name, "weights", n_hidden)
    return network.train(
        network.Examples(x, task.y[rest]),
        network.Examples(task.x[held], task.y[held]) if len(held) else None,
        task.model,
        start=network.initial_weights(x, task.y.shape[1], n_hidden, weights),
        shuffle=rng(task.seed, "mlp", name, "order"),
        device=task.device,
    )


def _tune(task: _Task, n_folds: int, run: Run) -> tuple[int, float, Floats]:
    """Return width and learning rate, chosen one after the other, and each category's criterion there."""
    model = task.model
    fold = cv.partition(len(task.y), n_folds, task.seed)
    cells: dict[tuple[int, float], Ints] = {}

    def best(configurations: list[tuple[int, float]]) -> tuple[int, float]:
        """Return the best configuration, the first of equals; what was counted before is not again."""
        units = [(*pair, k) for pair in configurations if pair not in cells for k in range(n_folds)]
        names = [f"tune {width} {rate} fold {k}" for width, rate, k in units]
        said = "MLP: tuning learning rate and width"
        parts = run(_tune_fold, units, names, shared=lambda: (task, fold), description=said)
        for (width, rate, _), part in zip(units, parts, strict=True):
            cells[width, rate] = cells.get((width, rate), 0) + part["cells"]
        pooled = np.stack([cells[configuration].sum(axis=0) for configuration in configurations])
        return configurations[int(cv.choose(cv.score(pooled, model.criterion), model.criterion))]

    _, learning_rate = best([(model.n_hidden, rate) for rate in model.learning_rate_grid])
    chosen = best([(width, learning_rate) for width in model.n_hidden_grid])
    return *chosen, cv.score(cells[chosen], model.criterion)


def _tune_fold(shared: tuple[_Task, Ints], n_hidden: int, learning_rate: float, k: int) -> Arrays:
    """Count the cells, (n_categories, 4), of fold `k` under a network trained on the others."""
    _use_one_thread()
    task, fold = shared
    task = task.using(n_hidden=n_hidden, learning_rate=learning_rate)
    trained = _train(task, np.flatnonzero(fold != k), f"fold {k}", task.model.held_share)
    test = np.flatnonzero(fold == k)
    cells = np.zeros((task.y.shape[1], 4), dtype=np.int64)
    for start, stop in cv.chunks(len(test), network.DOCUMENTS_PER_BATCH):
        rows = test[start:stop]
        cells += cv.count_cells(task.y[rows], _decide(trained.weights, task.x[rows], task.device))
    return {"cells": cells, "n_epochs": np.array(trained.n_epochs)}


def _fit_final(task: _Task, n_hidden: int, learning_rate: float) -> Arrays:
    """Train the network that is kept."""
    _use_one_thread()
    documents = np.arange(len(task.y))
    task = task.using(n_hidden=n_hidden, learning_rate=learning_rate)
    trained = _train(task, documents, "final", task.model.held_share)
    if task.model.refit and len(trained.scores):
        trained = _train(task.using(n_epochs=trained.n_epochs), documents, "final", 0)
    return {**trained.weights._asdict(), "n_epochs": np.array(trained.n_epochs)}


def _decide(weights: network.Weights, x: sparse.csr_array, device: str) -> Bools:
    """Return the decisions on one batch of documents."""
    values = network.decision_values(weights, x, device)
    decisions = values > 0
    rows, categories = np.nonzero(np.abs(values) < NEAR_THRESHOLD)
    if len(rows):
        decisions[rows, categories] = network.exact_decision_values(weights, x[rows], categories) > 0
    return decisions


def _predict_batch(
    shared: tuple[network.Weights, Ints, sparse.csr_array, str], start: int, stop: int
) -> Arrays:
    """Decide for the documents from `start` to `stop`."""
    _use_one_thread()
    weights, terms, x, device = shared
    return {"decisions": _decide(weights, _columns(x[start:stop], terms), device)}
