"""Mean and variance of ``z_te - z_true`` over draws, with error bars, and the verdict on a bias."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.intervals import clopper_pearson

Floats = NDArray[np.float64]

MEAN_LIMIT = 0.15
VARIANCE_LIMITS = (0.80, 1.25)
FAR = 3.0
Z95 = 1.959963984540054


def summarise(
    d: Floats, sd: Floats, low: Floats, high: Floats, d_true: float, sd_true: float
) -> dict[str, Any]:
    """Return what the draws of one set and variant say.

    Parameters
    ----------
    d, sd : float arrays, shape (n_draws,)
        Difference of each draw and its estimated standard deviation. Where that is 0 or unknown, z_te is 0.
    low, high : float arrays, shape (n_draws,)
        The draw's 95 % interval of the difference.

    Returns
    -------
    dict
        `z_true`; `mean` and `variance` of z_te - z_true, each with `_low` and `_high` (95 %; the variance's
        from the fourth moment); `error_mean`, `error_variance`: the same of (d - d_true) / sd, whose law does
        not depend on z_true; `coverage` with its Clopper-Pearson interval; `n_degenerate`; `verdict`
        (``no bias``, ``biased`` or ``apart``) and `settled`: whether the error bars say the same.

    Examples
    --------
    >>> e = np.random.default_rng(0).standard_normal(2000)
    >>> found = summarise(1 + e, np.ones(2000), e, e + 2, d_true=1.0, sd_true=1.0)
    >>> found["verdict"], bool(found["settled"])
    ('no bias', True)
    """
    usable = sd > 0
    safe = np.where(usable, sd, 1.0)
    z_true = d_true / sd_true if sd_true > 0 else 0.0
    shifts = np.where(usable, d / safe, 0.0) - z_true
    errors = (d[usable] - d_true) / sd[usable]
    mean, mean_bar = float(shifts.mean()), Z95 * float(shifts.std(ddof=1)) / len(shifts) ** 0.5
    variance, variance_bar = float(shifts.var(ddof=1)), Z95 * _variance_error(shifts)
    n_covered = int(np.sum((low <= d_true) & (d_true <= high)))
    cover_low, cover_high = clopper_pearson(n_covered, len(d))
    word, settled = judge_bias(
        (mean - mean_bar, mean, mean + mean_bar),
        (variance - variance_bar, variance, variance + variance_bar),
        abs(z_true) > FAR,
    )
    return {
        "d_true": d_true,
        "sd_true": sd_true,
        "z_true": z_true,
        "mean": mean,
        "mean_low": mean - mean_bar,
        "mean_high": mean + mean_bar,
        "variance": variance,
        "variance_low": variance - variance_bar,
        "variance_high": variance + variance_bar,
        "error_mean": float(errors.mean()) if len(errors) else np.nan,
        "error_variance": float(errors.var(ddof=1)) if len(errors) > 1 else np.nan,
        "coverage": n_covered / len(d),
        "coverage_low": float(cover_low),
        "coverage_high": float(cover_high),
        "n_degenerate": int((~usable).sum()),
        "verdict": word,
        "settled": settled,
    }


def judge_bias(
    mean: tuple[float, float, float], variance: tuple[float, float, float], far: bool
) -> tuple[str, bool]:
    """Return the verdict on (low, estimate, high) of mean and variance, and whether the intervals settle it.

    No bias: the mean lies within .15 of 0 and the variance within [.80, 1.25]. Sets with |z_true| > 3 stand
    apart: there the scatter of sd*, times z, tells in both.

    Examples
    --------
    >>> judge_bias((-0.1, 0.0, 0.1), (0.9, 1.0, 1.1), False)
    ('no bias', True)
    >>> judge_bias((-0.1, 0.0, 0.1), (3.5, 4.0, 4.5), False)
    ('biased', True)
    >>> judge_bias((0.1, 0.14, 0.18), (0.9, 1.0, 1.1), False)
    ('no bias', False)
    """
    limits = ((-MEAN_LIMIT, MEAN_LIMIT), VARIANCE_LIMITS)
    pairs = list(zip((mean, variance), limits, strict=True))
    fair = all(bottom <= estimate <= top for (_, estimate, _), (bottom, top) in pairs)
    surely = all(bottom <= low and high <= top for (low, _, high), (bottom, top) in pairs)
    never = any(high < bottom or low > top for (low, _, high), (bottom, top) in pairs)
    word = "apart" if far else "no bias" if fair else "biased"
    return word, surely if fair else never


def _variance_error(values: Floats) -> float:
    """Return the standard error of the sample variance, from the fourth moment."""
    n = len(values)
    centred = values - values.mean()
    second, fourth = np.mean(centred**2), np.mean(centred**4)
    return float(np.sqrt(max(fourth - second**2 * (n - 3) / (n - 1), 0.0) / n))
