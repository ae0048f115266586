"""The device of torch, and decision values computed there in single precision."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from harness.errors import UserError, check_choice
from harness.models.cross_validation import Floats
from harness.models.gaussian_kernel import Prepared, squared_norms

DEVICES = ("auto", "cpu", "cuda")
MAX_BYTES = 2 * 2**30
"""Memory of the device that one batch of documents may take, for each thread that predicts."""


def resolve_device(device: str) -> str:
    """Return ``"cpu"`` or ``"cuda"``; ``"auto"`` is CUDA where torch finds a GPU."""
    check_choice("device", device, DEVICES, UserError)
    if device == "cpu" or (device == "auto" and not may_have_gpu()):
        return "cpu"
    import torch

    available = torch.cuda.is_available()
    if device == "cuda" and not available:
        raise UserError("device=cuda: torch finds no CUDA GPU on this machine; use device=cpu or device=auto")
    return "cuda" if available else "cpu"


def may_have_gpu() -> bool:
    """Tell whether it is worth importing torch, which takes seconds, to ask it for a GPU.

    On Linux a GPU's driver has a file of its own: NVIDIA's, that of Windows underneath, or AMD's.
    """
    files = ("/dev/nvidiactl", "/dev/dxg", "/dev/kfd")
    return sys.platform != "linux" or any(Path(file).exists() for file in files)


def _there(values: ArrayLike, device: Any, kind: type = np.float32) -> Any:
    """Return a copy of an array as a tensor on the device."""
    import torch

    return torch.from_numpy(np.array(values, dtype=kind)).to(device)


def rows_times(x: sparse.csr_array, matrix: Any) -> Any:
    """Return the product of sparse rows and a dense float32 tensor, where the tensor is.

    Each row is a weighted sum of the rows of `matrix` that its entries name; no row is made dense.
    """
    import torch

    device = matrix.device
    terms, starts = _there(x.indices, device, np.int64), _there(x.indptr[:-1], device, np.int64)
    weights = _there(x.data, device)
    return torch.nn.functional.embedding_bag(terms, matrix, starts, mode="sum", per_sample_weights=weights)


def linear_values(coef: Floats, intercept: Floats, x: sparse.csr_array, device: str) -> NDArray[np.float32]:
    """Return ``x @ coef + intercept`` in single precision, shape (n_documents, n_categories)."""
    import torch

    with torch.no_grad():
        values = rows_times(x, _there(coef, device)) + _there(intercept, device)
        return np.asarray(values.cpu().numpy())


def kernel_values(
    prepared: Prepared, x: sparse.csr_array, device: str, max_bytes: int = MAX_BYTES
) -> NDArray[np.float32]:
    """Return the decision values of Gaussian-kernel machines in single precision, in the prepared order.

    The supporting documents are taken a part at a time, dense, so that `max_bytes` of the device's memory
    are enough however many there are.
    """
    import torch

    n_documents, n_terms = x.shape
    at_once = max(1, max_bytes // (4 * (n_terms + 3 * n_documents)))
    norms = _there(squared_norms(x), device)[:, None]
    values = torch.zeros((n_documents, len(prepared.intercept)), device=device)
    with torch.no_grad():
        for start in range(0, len(prepared.norms), at_once):
            some = slice(start, start + at_once)
            part = prepared.exact[:, some].tocoo()
            places = _there(np.stack([part.row, part.col]), device, np.int64)
            dense = torch.sparse_coo_tensor(
                places, _there(part.data, device), part.shape, check_invariants=False
            ).to_dense()
            products = rows_times(x, dense)
            distances = products.mul_(-2).add_(norms).add_(_there(prepared.norms[some], device))
            for gamma, first, last in prepared.gammas:
                kernel = torch.exp(distances * -gamma)
                values[:, first:last] += kernel @ _there(prepared.dual[some, first:last], device)
        return np.asarray((values + _there(prepared.intercept, device)).cpu().numpy())
