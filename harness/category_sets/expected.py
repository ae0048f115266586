"""What Table 3 shows by itself: overlaps of the resamples, the effect of signing rows, and chi-squared."""

import math
from collections.abc import Sequence

import numpy as np
from scipy import special, stats


def as_z(share: float, n_draws: int) -> float:
    """Return the normal quantile of a share of resamples; 0 and 1 count as half a resample from there."""
    edge = 0.5 / n_draws
    return float(special.ndtri(min(max(share, edge), 1 - edge)))


def bootstrap_overlap() -> float:
    """Return the expected share of documents that are in both of two bootstrap replicates of one set."""
    return (1 - math.exp(-1)) ** 2


def subset_overlap(n_documents: int, n_population: int) -> float:
    """Return the expected share of a subset's draws whose document is in another subset too.

    Both are drawn with replacement, `n_documents` from a population of `n_population`: 1 - exp(-n/|D|).
    """
    return -math.expm1(-n_documents / n_population)


def disjoint_variance(n_documents: int, n_population: int) -> float:
    """Return the variance of ``z_te - z_true`` where the bootstrap is right and D_te lies outside D_true.

    D_true is itself a sample: its difference varies with variance n/|D| in units of that of a set of n.
    """
    return 1 + n_documents / n_population


def selection_effect(spread: float = 1.0) -> float:
    """Return the mean of ``z_te - z_true`` when each row is signed by the winner on D_te, without any bias.

    ``z_te = z_true + e`` with e standard normal and ``z_true`` normal with mean 0 and standard deviation
    `spread`: the winner on D_te tends to be the one that was lucky there, sqrt(2 / (pi (1 + spread^2))).
    """
    return math.sqrt(2 / (math.pi * (1 + spread**2)))


def chi_squared(differences: Sequence[float], variance: float = 1.0) -> tuple[float, float]:
    """Return the sum of squared ``z_te - z_true`` over its variance, and its p: no bias is the null."""
    total = float(np.sum(np.square(differences)) / variance)
    return total, float(stats.chi2.sf(total, len(differences)))
