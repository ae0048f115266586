"""One hidden layer on sparse documents: forward pass, loss, Adam, and training with early stopping."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from harness.models.cross_validation import Bools, Floats, Ints, chunks, count_cells, score
from harness.models.device import rows_times

DOCUMENTS_PER_BATCH = 4096
BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8


class Weights(NamedTuple):
    """The network ``output = output_weights @ tanh(x @ hidden_weights + hidden_bias) + output_bias``.

    Hidden weights are (n_terms, n_hidden), output weights (n_outputs, n_hidden).
    """

    hidden_weights: NDArray[np.float32]
    hidden_bias: NDArray[np.float32]
    output_weights: NDArray[np.float32]
    output_bias: NDArray[np.float32]


@dataclass(frozen=True)
class Settings:
    """How one network is trained; see :class:`harness.models.mlp.MLP`."""

    n_hidden: int = 64
    learning_rate: float = 0.03
    n_epochs: int = 30
    patience: int = 3
    batch_size: int = 64
    criterion: str = "f1"


class Examples(NamedTuple):
    """Documents (csr, float32, n_documents x n_terms) and their labels (bool, n_documents x n_outputs)."""

    x: sparse.csr_array
    y: Bools


class Trained(NamedTuple):
    """A trained network: the weights after its best epoch (the last where no documents were held out).

    `scores` are the criterion on the held-out documents after each epoch that was run.
    """

    weights: Weights
    n_epochs: int
    scores: Floats


class LazyAdam:
    """Adam (Kingma & Ba 2015, algorithm 1) with lazy rows, also known as sparse Adam.

    Where a step names the rows it has gradients for, only these rows of the parameter and of its moments
    change; plain Adam would shrink the moments of all others, and move these, at every step. The
    arithmetic is that of ``torch.optim.SparseAdam`` (named rows) and ``torch.optim.Adam`` (whole
    parameters), which the tests compare; written out because those two take no part of a parameter
    without a sparse tensor being built at each step, which costs more than the step. Parameters are changed
    in place; they must not require gradients.
    """

    def __init__(self, parameters: Sequence[Any], learning_rate: float) -> None:
        import torch

        self._parameters = list(parameters)
        self._moments = [(torch.zeros_like(p), torch.zeros_like(p)) for p in self._parameters]
        self._learning_rate = learning_rate
        self._n_steps = 0

    def step(self, gradients: Sequence[Any], rows: Sequence[Any]) -> None:
        """Take one step; a gradient is of its parameter's shape, or of the rows that are named, each once."""
        self._n_steps += 1
        step = self._learning_rate / (1 - BETA1**self._n_steps)
        root = (1 - BETA2**self._n_steps) ** 0.5
        for parameter, moments, gradient, row in zip(
            self._parameters, self._moments, gradients, rows, strict=True
        ):
            first, second = moments if row is None else (moment.index_select(0, row) for moment in moments)
            first.lerp_(gradient, 1 - BETA1)
            second.mul_(BETA2).addcmul_(gradient, gradient, value=1 - BETA2)
            width = second.sqrt().div_(root).add_(EPSILON)
            if row is None:
                parameter.addcdiv_(first, width, value=-step)
            else:
                parameter.index_add_(0, row, first / width, alpha=-step)
                for moment, new in zip(moments, (first, second), strict=True):
                    moment.index_copy_(0, row, new)


def initial_weights(x: sparse.csr_array, n_outputs: int, n_hidden: int, generator: Any) -> Weights:
    """Draw starting weights, uniform in +- sqrt(6 / (n_in + n_out)); biases are 0.

    A term that no document of `x` holds gets weight 0: it never has a gradient, and would otherwise add
    its random start to the documents that hold it later.

    References
    ----------
    Glorot & Bengio (2010), Understanding the difficulty of training deep feedforward neural networks,
    AISTATS, eq. 16.
    """
    n_terms = x.shape[1]
    unseen = np.bincount(x.indices, minlength=n_terms) == 0

    def draw(n_rows: int, n_columns: int) -> NDArray[np.float32]:
        bound = np.sqrt(6 / (n_rows + n_columns))
        drawn = 2 * generator.random((n_rows, n_columns), dtype=np.float32) - 1
        return np.asarray(drawn * bound, dtype=np.float32)

    hidden_weights = draw(n_terms, n_hidden)
    hidden_weights[unseen] = 0
    biases = (np.zeros(n, dtype=np.float32) for n in (n_hidden, n_outputs))
    return Weights(hidden_weights, next(biases), draw(n_outputs, n_hidden), next(biases))


def as_parameters(weights: Weights, device: str) -> list[Any]:
    """Return copies of the four arrays as torch tensors on `device`."""
    import torch

    return [torch.tensor(array, device=device) for array in weights]


def outputs(parameters: list[Any], x: sparse.csr_array) -> Any:
    """Return the outputs before the sigmoid, a torch tensor of shape (n_documents, n_outputs).

    The first layer is a weighted sum of the rows of `hidden_weights` that a document's terms select, so
    that no document is ever made dense.
    """
    import torch

    hidden_weights, hidden_bias, output_weights, output_bias = parameters
    hidden = rows_times(x, hidden_weights)
    return torch.nn.functional.linear(torch.tanh(hidden + hidden_bias), output_weights, output_bias)


def loss(parameters: list[Any], examples: Examples) -> Any:
    """Return the binary cross-entropy, summed over outputs and averaged over documents (a torch scalar).

    Summed, an output's gradient does not depend on how many other outputs there are. No class weights.
    """
    import torch

    z = outputs(parameters, examples.x)
    y = torch.from_numpy(examples.y.astype(np.float32)).to(z.device)
    return torch.nn.functional.binary_cross_entropy_with_logits(z, y, reduction="sum") / len(y)


def gradient(parameters: list[Any], examples: Examples) -> tuple[list[Any], Any]:
    """Return the loss's gradient, the first part for those rows of `hidden_weights` that are returned too."""
    import torch

    present, small = _present_terms(examples.x)
    terms = torch.from_numpy(present).to(parameters[0].device)
    part = [parameters[0].index_select(0, terms), *(parameter.detach() for parameter in parameters[1:])]
    part = [parameter.requires_grad_() for parameter in part]
    return list(torch.autograd.grad(loss(part, Examples(small, examples.y)), part)), terms


def _present_terms(x: sparse.csr_array) -> tuple[Ints, sparse.csr_array]:
    """Return the terms that occur, ascending, and `x` on these columns only."""
    terms, position = np.unique(x.indices, return_inverse=True)
    small = sparse.csr_array((x.data, position.ravel(), x.indptr), shape=(x.shape[0], len(terms)))
    return terms.astype(np.int64), small


def decision_values(weights: Weights, x: sparse.csr_array, device: str = "cpu") -> NDArray[np.float32]:
    """Return the outputs before the sigmoid, shape (n_documents, n_outputs), above 0 where p > 1/2."""
    import torch

    with torch.no_grad():
        return np.asarray(outputs(as_parameters(weights, device), x).cpu().numpy())


def exact_decision_values(weights: Weights, x: sparse.csr_array, output: Ints) -> Floats:
    """Return one output per document, in double precision; no sum here runs over more than one document."""
    terms, small = _present_terms(x.astype(np.float64))
    hidden = np.tanh(small @ weights.hidden_weights[terms].astype(np.float64) + weights.hidden_bias)
    values: Floats = (hidden * weights.output_weights[output]).sum(axis=1)
    return values + weights.output_bias[output]


def evaluate(parameters: list[Any], held: Examples, criterion: str) -> tuple[float, float]:
    """Return the criterion over all outputs (micro F1, or the error) and the loss, per document."""
    import torch

    cells, total = np.zeros(4, dtype=np.int64), 0.0
    with torch.no_grad():
        for start, stop in chunks(len(held.y), DOCUMENTS_PER_BATCH):
            part = Examples(held.x[start:stop], held.y[start:stop])
            decisions = outputs(parameters, part.x).cpu().numpy() > 0
            cells += count_cells(part.y, decisions).sum(axis=0)
            total += float(loss(parameters, part)) * (stop - start)
    return float(score(cells, criterion)), total / len(held.y)


def train(
    examples: Examples,
    held: Examples | None,
    settings: Settings,
    *,
    start: Weights,
    shuffle: np.random.Generator,
    device: str = "cpu",
) -> Trained:
    """Train with (lazy) Adam, stop early, and give back the best epoch's weights.

    After each epoch the criterion is computed on `held`. Training ends when `settings.patience` epochs
    have gone by without a better one, or after `settings.n_epochs`; the weights of the best epoch are
    restored. Between equal criteria the smaller loss is better (so that training goes on while every
    output still says "no" and F1 is 0), then the earlier epoch.

    Without `held` it trains for all of ``settings.n_epochs``. `shuffle` draws the order of the documents in
    each epoch. On the processor, with one thread, the same arguments give the same bytes.

    References
    ----------
    Kingma & Ba (2015), Adam: a method for stochastic optimization, ICLR, algorithm 1 (its own defaults
    but for the step size). Prechelt (1998), Early stopping - but when?, LNCS 1524, 55-69.
    """
    parameters = as_parameters(start, device)
    optimizer = LazyAdam(parameters, settings.learning_rate)
    best, best_epoch, weights, scores = (-np.inf, -np.inf), 0, start, []
    for epoch in range(1, settings.n_epochs + 1):
        order = shuffle.permutation(len(examples.y))
        for first, last in chunks(len(order), settings.batch_size):
            rows = order[first:last]
            gradients, terms = gradient(parameters, Examples(examples.x[rows], examples.y[rows]))
            optimizer.step(gradients, [terms, None, None, None])
        if held is not None:
            value, cost = evaluate(parameters, held, settings.criterion)
            scores.append(value)
            gain = (value if settings.criterion == "f1" else -value, -cost)
            if epoch == 1 or gain > best:
                best, best_epoch, weights = gain, epoch, _as_weights(parameters)
            if epoch - best_epoch >= settings.patience:
                break
    if held is None:
        best_epoch, weights = settings.n_epochs, _as_weights(parameters)
    return Trained(weights, best_epoch, np.array(scores, dtype=np.float64))


def _as_weights(parameters: list[Any]) -> Weights:
    """Return copies of the parameters as arrays, which further training leaves alone."""
    return Weights(*(parameter.detach().cpu().numpy().copy() for parameter in parameters))
