"""What every model returns from training."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Fitted(NamedTuple):
    """A trained model: plain arrays, so that it is kept with ``np.savez`` and read without pickle.

    Attributes
    ----------
    arrays : dict of str to array
        All that ``predict`` needs.
    tuned : dict of str to array, each of shape (n_categories,)
        The value of each tuned parameter, per category (the default where it was not tuned).
    cv_score : float array, shape (n_categories,)
        Cross-validated criterion at the chosen parameters; NaN where nothing was tuned.
    n_folds : int array, shape (n_categories,)
        Folds that tuned the category; 0 where nothing was tuned.

    Examples
    --------
    >>> fitted = Fitted({"w": np.zeros((2, 1))}, {"C": np.ones(1)}, np.array([0.5]), np.array([3]))
    >>> int(fitted.n_folds[0])
    3
    """

    arrays: dict[str, NDArray[Any]]
    tuned: dict[str, NDArray[Any]]
    cv_score: NDArray[np.float64]
    n_folds: NDArray[np.int64]
