"""What the library gives where every possible evaluation set can be enumerated."""

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binom, poisson

from harness.significance.bayes import goutte_gaussier_paired
from harness.significance.bootstrap import bootstrap_percentile
from harness.significance.goutte import probability_greater
from harness.significance.mcnemar import mcnemar
from harness.significance.proportion import proportion
from harness.significance.ranks import friedman, nemenyi

Floats = NDArray[np.float64]
ALPHA = 0.05
FOUR = {"asymptotic": "uncorrected", "corrected": "corrected", "exact": "exact", "mid-p": "midp"}
MANY = 10**9
"""Documents of a set in the Poisson limit: the share of discordant ones is as good as 0."""


def sets_of(n01: ArrayLike, n10: ArrayLike, n: int | None = None, both: ArrayLike = 0) -> NDArray[np.int64]:
    """Return sets with n01 and n10 discordant documents, all negatives; `n` documents in all."""
    n01, n10, both = np.broadcast_arrays(n01, n10, both)
    cells = np.zeros((*n01.shape, 8), dtype=np.int64)
    cells[..., 6], cells[..., 5], cells[..., 4] = n01, n10, both
    cells[..., 7] = 1 if n is None else n - n01 - n10 - both
    return cells


def mcnemar_pvalue(n01: int, n10: int, variant: str) -> float:
    return float(mcnemar(sets_of(n01, n10), variant).pvalue)


@lru_cache
def _rejections(variant: str, reach: int) -> NDArray[np.bool_]:
    """Return which (n01, n10) up to `reach` each are rejected."""
    both = np.arange(reach + 1)
    return mcnemar(sets_of(both[:, None], both), variant).pvalue <= ALPHA


@lru_cache
def _given_m(variant: str, reach: int) -> Floats:
    """Return P(rejected | m discordant documents) under the null hypothesis, m = 0..reach."""
    m, n01 = np.arange(reach + 1)[:, None], np.arange(reach + 1)
    rejected = mcnemar(sets_of(np.minimum(n01, m), np.maximum(m - n01, 0)), variant).pvalue <= ALPHA
    return (binom.pmf(n01, m, 0.5) * rejected).sum(axis=1)


def mcnemar_size(variant: str, n: int, p: float) -> float:
    """Return the size on sets of n documents, n01 and n10 each of probability p.

    Given the number m ~ Bin(n, 2p) of discordant documents n01 is Bin(m, 1/2), and the test looks at nothing
    else.
    """
    return float(binom.pmf(np.arange(n + 1), n, 2 * p) @ _given_m(variant, n))


def mcnemar_power(n: int, p: float, q: float) -> tuple[float, float]:
    """Return P(rejected in the right, and in the wrong direction) of the exact test, p the larger."""
    n01, n10 = np.arange(n + 1)[:, None], np.arange(n + 1)
    rest = np.maximum(n - n01, 0)
    weight = binom.pmf(n01, n, p) * binom.pmf(n10, rest, q / (1 - p)) * _rejections("exact", n)
    return float(weight[n01 > n10].sum()), float(weight[n01 < n10].sum())


def fagerland() -> dict[str, float]:
    """Return the largest sizes over the scenarios of Fagerland, Lydersen & Laake (2013).

    Both classifiers are right with probability p, and theta is the odds ratio between them: the discordant
    cells q solve ``(theta - 1) q^2 + q = p (1 - p)``.
    """
    n = np.arange(10, 101, 5)
    theta, p = np.array([1, 2, 3, 5, 10])[:, None], np.arange(101) / 100
    # the positive root, in a form that holds for theta = 1
    q = 2 * p * (1 - p) / (1 + np.sqrt(1 + 4 * (theta - 1) * p * (1 - p)))
    m = np.arange(101)
    chance = binom.pmf(m, n[:, None, None, None], 2 * q[..., None])
    found: dict[str, float] = {"scenarios": chance[..., 0].size}
    for name, variant in FOUR.items():
        sizes = chance @ _given_m(variant, 100)
        found[f"largest size, {name}"] = float(sizes.max())
        largest = np.unravel_index(sizes.argmax(), sizes.shape)
        found[f"N of the largest size, {name}"] = int(n[largest[0]])
    return found


def _rejected(test: str, n01: ArrayLike, n10: ArrayLike) -> NDArray[np.bool_]:
    if test == "bootstrap error":
        counts = sets_of(n01, n10, MANY)
        return bootstrap_percentile(counts, "error", n_replicates=None).pvalue <= ALPHA
    return mcnemar(sets_of(n01, n10), test).pvalue <= ALPHA


def poisson_size(test: str, mean: float) -> float:
    """Return the size where n01 and n10 are Poisson variables of half the mean each."""
    low, high = poisson.ppf([1e-10, 1 - 1e-10], mean / 2)
    reach = np.arange(int(low), int(high) + 1)
    weight = poisson.pmf(reach, mean / 2)
    n01, n10 = np.tril_indices(len(reach), -1)  # neither test looks at which classifier errs more
    rejected = _rejected(test, reach[n01], reach[n10])
    return float(2 * (weight[n01] * weight[n10])[rejected].sum())


def fewest_discordances(test: str) -> int:
    """Return the least number of discordant documents, all in favour of one classifier, that is rejected."""
    n01 = np.arange(1, 30)
    return int(n01[_rejected(test, n01, 0)][0])


def goutte() -> dict[str, float]:
    """Return the probabilities of Goutte & Gaussier's examples."""
    # (true positives, errors): the two confusion matrices are not of one test set
    f1 = probability_greater((np.array([3]), np.array([2 + 3])), (np.array([10]), np.array([10 + 5])))
    wins = [goutte_gaussier_paired(sets_of(b, a)) for a, b in ((17, 4), (6, 11))]
    return {
        "P(F1 of (3, 2, 3) > F1 of (10, 10, 5)), exact": float(f1[0]),
        "P(more wins), 17 against 4": 1 - float(wins[0].pvalue) / 2,
        "P(more wins), 6 against 11": float(wins[1].pvalue) / 2,
    }


def demsar(scores: Any) -> dict[str, float]:
    """Return what Demsar's example gives."""
    result = friedman(scores)
    return {
        "chi-square, no tie correction": result.chi_square,
        "Iman-Davenport F": result.f,
        "critical difference at .05": float(nemenyi(scores, 0.05).critical_difference),
    }


def hold_out(n: int = 100) -> dict[str, float]:
    """Return the sizes on one test set of n examples of Dietterich's simulated null.

    On either half of the examples the classifiers err independently, with probabilities .05 and .15, or .15
    and .05: .0925 for each discordant cell and .0075 for both wrong.
    """
    p, both_wrong = (0.05 * 0.85 + 0.15 * 0.95) / 2, 0.05 * 0.15
    n01, n10, both = np.meshgrid(np.arange(44), np.arange(44), np.arange(13), indexing="ij")
    weight = binom.pmf(n01, n, p) * binom.pmf(n10, n - n01, p / (1 - p))
    weight = weight * binom.pmf(both, n - n01 - n10, both_wrong / (1 - 2 * p))
    sets = sets_of(n01, n10, n, both)
    results = {"McNemar " + name: mcnemar(sets, variant) for name, variant in FOUR.items()}
    results["McNemar uncorrected"], results["proportion"] = results["McNemar asymptotic"], proportion(sets)
    return {name: float(weight[result.pvalue <= ALPHA].sum()) for name, result in results.items()}
