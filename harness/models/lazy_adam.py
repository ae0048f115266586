"""Adam that touches only the rows which have a gradient: with sparse documents, few of a batch's terms."""

from collections.abc import Sequence
from typing import Any

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8


class LazyAdam:
    """Adam (Kingma & Ba 2015, algorithm 1) with lazy rows, also known as sparse Adam.

    Where a step names the rows it has gradients for, only these rows of the parameter and of its moments
    change; plain Adam would shrink the moments of all others, and move these, at every step. The
    arithmetic is that of ``torch.optim.SparseAdam`` (named rows) and ``torch.optim.Adam`` (whole
    parameters), which the tests compare; written out because those two take no part of a parameter
    without a sparse tensor being built at each step, which costs more than the step.

    Parameters
    ----------
    parameters : sequence of torch tensors
        Changed in place; they must not require gradients.
    learning_rate : float

    Examples
    --------
    >>> import torch
    >>> w = torch.zeros(3, 2)
    >>> LazyAdam([w], 0.1).step([torch.ones(1, 2)], [torch.tensor([1])])
    >>> w.tolist()[0], w[1].round(decimals=4).tolist()
    ([0.0, 0.0], [-0.1000..., -0.1000...])
    """

    def __init__(self, parameters: Sequence[Any], learning_rate: float) -> None:
        import torch

        self._parameters = list(parameters)
        self._moments = [(torch.zeros_like(p), torch.zeros_like(p)) for p in self._parameters]
        self._learning_rate = learning_rate
        self._n_steps = 0

    def step(self, gradients: Sequence[Any], rows: Sequence[Any]) -> None:
        """Take one step.

        Parameters
        ----------
        gradients : sequence of torch tensors
            One a parameter: of its shape, or of the named rows only.
        rows : sequence of int64 torch tensors or None
            Which rows, each once; None where the gradient is the whole parameter's.
        """
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
