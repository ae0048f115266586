"""Confidence intervals of a binomial share."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from harness.errors import check_share, require

_TOO_MANY = 2**31  # so that two counts fit one 64-bit number


def clopper_pearson(
    n_successes: ArrayLike, n_trials: ArrayLike, confidence: float = 0.95
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the Clopper-Pearson interval of a binomial share, whose coverage is never below `confidence`.

    Counts are whole numbers of shapes that broadcast, 0 <= n_successes <= n_trials and 1 <= n_trials < 2**31;
    `confidence` is two-sided.

    References
    ----------
    Clopper & Pearson (1934), Biometrika 26, 404-413.

    Examples
    --------
    >>> [round(float(bound), 4) for bound in clopper_pearson(25, 500)]
    [0.0326, 0.0729]
    """
    k, n = np.broadcast_arrays(np.asarray(n_successes), np.asarray(n_trials))
    whole = k.dtype.kind in "iu" and n.dtype.kind in "iu"
    require(whole, f"n_successes, n_trials: types {k.dtype}, {n.dtype} are not allowed; integers are")
    fits = ((k >= 0) & (k <= n) & (n >= 1) & (n < _TOO_MANY)).all()
    require(fits, "n_successes: 0 <= n_successes <= n_trials with 1 <= n_trials < 2**31 is allowed")
    check_share("confidence", confidence)
    # a study asks for some 100,000 intervals of a few hundred different counts
    number, where = np.unique(n.astype(np.int64) * _TOO_MANY + k.astype(np.int64), return_inverse=True)
    once_n, once_k = (part.astype(float) for part in np.divmod(number, _TOO_MANY))
    tail = (1 - confidence) / 2
    inside_low = np.maximum(once_k, 1)  # the beta law needs a positive shape; replaced just below
    inside_high = np.minimum(once_k, once_n - 1)
    low = np.where(once_k > 0, special.betaincinv(inside_low, once_n - inside_low + 1, tail), 0.0)
    high = np.where(once_k < once_n, special.betaincinv(inside_high + 1, once_n - inside_high, 1 - tail), 1.0)
    where = where.reshape(k.shape)
    return low[where], high[where]
