"""The device of torch, and decision values computed there in single precision."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from harness.errors import UserError
from harness.models.gaussian_kernel import Prepared, squared_norms

DEVICES = ("auto", "cpu", "cuda")
MAX_BYTES = 2 * 2**30
"""Memory of the device that one batch of documents may take, for each thread that predicts."""


def resolve_device(device: str) -> str:
    """Return the torch device that ``device=`` asks for.

    Parameters
    ----------
    device : {"auto", "cpu", "cuda"}
        ``"auto"`` is CUDA where torch finds a GPU, else the processor.

    Returns
    -------
    str
        ``"cpu"`` or ``"cuda"``.

    Raises
    ------
    UserError
        If `device` is none of these, or ``"cuda"`` where there is no GPU.

    Examples
    --------
    >>> resolve_device("cpu")
    'cpu'
    """
    if device not in DEVICES:
        raise UserError(f"device={device} is unknown; choose one of {', '.join(DEVICES)}")
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


def rows_times(x: sparse.csr_array, matrix: Any) -> Any:
    """Return the product of sparse rows and a dense tensor, where the tensor is.

    Each row is a weighted sum of the rows of `matrix` that its entries name; no row is made dense.

    Parameters
    ----------
    x : csr_array, shape (n_documents, n_terms)
    matrix : float32 tensor, shape (n_terms, n_columns)

    Returns
    -------
    float32 tensor, shape (n_documents, n_columns)

    Examples
    --------
    >>> import torch
    >>> rows_times(sparse.csr_array(np.array([[0.0, 2.0], [0.0, 0.0]])), torch.eye(2)).tolist()
    [[0.0, 2.0], [0.0, 0.0]]
    """
    import torch

    def there(values: NDArray[Any], kind: type) -> Any:
        return torch.from_numpy(values.astype(kind)).to(matrix.device)

    return torch.nn.functional.embedding_bag(
        there(x.indices, np.int64),
        matrix,
        there(x.indptr[:-1], np.int64),
        mode="sum",
        per_sample_weights=there(x.data, np.float32),
    )


def linear_values(
    coef: NDArray[np.float64], intercept: NDArray[np.float64], x: sparse.csr_array, device: str
) -> NDArray[np.float32]:
    """Return ``x @ coef + intercept`` in single precision, shape (n_documents, n_categories)."""
    import torch

    weights, bias = (torch.from_numpy(part.astype(np.float32)).to(device) for part in (coef, intercept))
    with torch.no_grad():
        return (rows_times(x, weights) + bias).cpu().numpy()


def kernel_values(
    prepared: Prepared, x: sparse.csr_array, device: str, max_bytes: int = MAX_BYTES
) -> NDArray[np.float32]:
    """Return the decision values of Gaussian-kernel machines in single precision.

    The supporting documents are taken a part at a time, dense, so that `max_bytes` are enough however
    many there are.

    Parameters
    ----------
    prepared : Prepared
    x : csr_array, shape (n_documents, n_terms)
    device : str
        Of torch.
    max_bytes : int
        Of the device's memory.

    Returns
    -------
    float32 array, shape (n_documents, n_categories)
        Columns in the prepared order (sorted by gamma).
    """
    import torch

    def there(values: ArrayLike) -> Any:
        return torch.from_numpy(np.asarray(values, dtype=np.float32)).to(device)

    n_documents, n_terms = x.shape
    n_support = len(prepared.norms)
    at_once = max(1, max_bytes // (4 * (n_terms + 3 * n_documents)))
    norms = there(squared_norms(x))[:, None]
    values = torch.zeros((n_documents, len(prepared.intercept)), device=device)
    with torch.no_grad():
        for start in range(0, n_support, at_once):
            some = slice(start, start + at_once)
            products = rows_times(x, _dense(prepared.exact[:, some], device))
            distances = products.mul_(-2).add_(norms).add_(there(prepared.norms[some]))
            for gamma, first, last in prepared.gammas:
                kernel = torch.exp(distances * -gamma)
                values[:, first:last] += kernel @ there(prepared.dual[some, first:last])
        return (values + there(prepared.intercept)).cpu().numpy()


def _dense(columns: sparse.csr_array, device: str) -> Any:
    """Return a sparse matrix as a dense float32 tensor that is made on the device."""
    import torch

    entries = columns.tocoo()
    dense = torch.zeros(columns.shape, device=device)
    places = tuple(torch.from_numpy(part.astype(np.int64)).to(device) for part in (entries.row, entries.col))
    dense[places] = torch.from_numpy(entries.data.astype(np.float32)).to(device)
    return dense
