"""McNemar's test in five variants, and unconditionally in three."""

from functools import lru_cache, partial

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.special import betaincinv
from scipy.stats import binom

from harness.errors import check_choice
from harness.measures import Floats, Ints
from harness.significance.equal_counts import worked_out_once
from harness.significance.result import TestResult, as_counts, chi_square_upper, discordant, settle_degenerate

VARIANTS = ("uncorrected", "corrected", "exact", "midp", "auto")

AUTO_EXACT_BELOW = 25
"""Variant ``"auto"`` is exact for fewer discordant documents than this."""


MAX_DOCUMENTS = 10**7
"""Documents of an unconditional test's set at most."""

UNCONDITIONAL = ("estimated", "maximised", "berger_boos")

GAMMA = 1e-4
"""Probability that Berger and Boos's interval misses pi."""

FAR = 8.0
"""Numbers of discordant documents more standard deviations from their mean are left out."""

N_ROUNDS, MOST_PLACES = 4, 2000
"""The worst pi is looked for among at most so many, then ever closer to the worst of them."""

KEPT = 20_000
"""Up to so many documents the weights of all pi are kept (100 MB at most)."""


def mcnemar(counts: ArrayLike, variant: str = "corrected", *, degenerate: str = "accept") -> TestResult:
    """McNemar's test of equal error rates on the documents that exactly one classifier gets right.

    Null hypothesis: a discordant document is as likely to be A's error as B's, that is, the error rates
    of A and B are equal. (Equal F1 does not imply it.) With n01 documents only A gets wrong, n10 only B,
    and m = n01 + n10:

    - ``"uncorrected"``: (n01 - n10)^2 / m, chi-square with 1 degree of freedom (asymptotic);
    - ``"corrected"``: max(|n01 - n10| - 1, 0)^2 / m (asymptotic, conservative; the papers' test). Without
      the max, n01 = n10 would give a spurious 1/m;
    - ``"exact"``: min(1, 2 P(X <= min(n01, n10))), X binomial(m, 1/2); the sign test; conservative;
    - ``"midp"``: 2 P(X <= min) - P(X = min), or 1 - P(X = n01)/2 where n01 = n10;
    - ``"auto"``: exact for m < 25, else corrected.

    `statistic` is the chi-square of the first two variants, which has no sign, and n01 - n10 of the
    others (positive where A errs more). Degenerate where there is no discordant document.

    Parameters
    ----------
    variant : {"uncorrected", "corrected", "exact", "midp", "auto"}
        Which of the above.

    References
    ----------
    McNemar (1947), Psychometrika 12, 153-157; Edwards (1948), Psychometrika 13, 185-187 (correction);
    Fagerland, Lydersen & Laake (2013), BMC Medical Research Methodology 13:91 (mid-p).

    Examples
    --------
    >>> set_of_21 = [1, 1, 7, 0, 0, 0, 0, 12]
    >>> [round(float(mcnemar(set_of_21, v).pvalue), 4) for v in VARIANTS]
    [0.0339, 0.0771, 0.0703, 0.0391, 0.0703]
    """
    check_choice("variant", variant, VARIANTS)
    n01, n10 = discordant(as_counts(counts))
    m = n01 + n10
    distance = np.maximum(np.abs(n01 - n10) - int(variant != "uncorrected"), 0).astype(float)
    chi_square = distance**2 / np.maximum(m, 1)
    if variant in ("uncorrected", "corrected"):
        return settle_degenerate(chi_square_upper(chi_square), chi_square, m == 0, degenerate)
    p_of = partial(_binomial_pvalue, midp=variant == "midp")
    pvalue = worked_out_once(p_of, np.minimum(n01, n10), np.maximum(n01, n10))
    if variant == "auto":
        pvalue = np.where(m < AUTO_EXACT_BELOW, pvalue, chi_square_upper(chi_square))
    return settle_degenerate(pvalue, n01 - n10, m == 0, degenerate)


def mcnemar_unconditional(
    counts: ArrayLike, variant: str = "estimated", *, degenerate: str = "accept"
) -> TestResult:
    """Unconditional test of equal error rates on the documents that exactly one classifier gets right.

    Null hypothesis: the error rates of A and B are equal; then, of N documents, n01 and n10 are trinomial
    with equal probabilities pi / 2. McNemar's test takes their sum m as given; here it varies, which makes
    the test less conservative. p is the probability of a statistic |n01 - n10| / sqrt(m) at least as large,
    summed over all sets of N documents that could have been seen,

    - ``"estimated"``: for pi = m / N. The size may exceed alpha slightly;
    - ``"maximised"``: for the pi from 0 to 1 where it is largest. The size is at most alpha;
    - ``"berger_boos"``: for the worst pi in an interval that misses the true one with probability at most
      1e-4, plus 1e-4. The size is at most alpha; often stronger than the maximised test.

    `statistic` is (n01 - n10) / sqrt(m), positive where A errs more. Degenerate where there is no discordant
    document.

    Parameters
    ----------
    variant : {"estimated", "maximised", "berger_boos"}
        Which of the above.

    References
    ----------
    Suissa & Shuster (1991), Biometrics 47, 361-372; Berger & Boos (1994), Journal of the American
    Statistical Association 89, 1012-1016; Fagerland, Lydersen & Laake (2013), BMC Medical Research
    Methodology 13:91.

    Examples
    --------
    >>> set_of_21 = [1, 1, 7, 0, 0, 0, 0, 12]
    >>> [round(float(mcnemar_unconditional(set_of_21, v).pvalue), 4) for v in UNCONDITIONAL]
    [0.0353, 0.0353, 0.0354]
    """
    check_choice("variant", variant, UNCONDITIONAL)
    cells = as_counts(counts, MAX_DOCUMENTS)
    n01, n10 = discordant(cells)
    total = n01 + n10
    statistic = (n01 - n10) / np.sqrt(np.maximum(total, 1))
    p_of = np.vectorize(partial(_unconditional_pvalue, variant=variant), otypes=[float])
    pvalue = worked_out_once(p_of, np.abs(n01 - n10), total, cells.sum(axis=-1))
    return settle_degenerate(pvalue, statistic, total == 0, degenerate)


def _unconditional_pvalue(distance: int, m: int, n: int, variant: str) -> float:
    """Return p of |n01 - n10| = distance among m discordant documents of n."""
    if distance == 0:
        return 1.0
    if variant == "estimated":
        return _largest(*_weights(n, np.array([m / n])), distance, m)[0]
    if variant == "maximised":
        angles, gamma = np.linspace(0, np.pi / 2, _places(n, np.pi / 2)), 0.0
        weights = _all_weights(n) if n <= KEPT else _weights(n, np.sin(angles) ** 2)
        found, best = _largest(*weights, distance, m)
    else:
        low = betaincinv(m, n - m + 1, GAMMA / 2)
        high = betaincinv(m + 1, n - m, 1 - GAMMA / 2) if m < n else 1.0
        first, last = np.arcsin(np.sqrt([low, high])).tolist()
        angles, gamma = np.linspace(first, last, _places(n, last - first)), GAMMA
        found, best = _largest(*_weights(n, np.sin(angles) ** 2), distance, m)
    for _ in range(N_ROUNDS):
        angles = np.linspace(angles[max(best - 1, 0)], angles[min(best + 1, len(angles) - 1)], 9)
        near, best = _largest(*_weights(n, np.sin(angles) ** 2), distance, m)
        found = max(found, near)
    return min(found + gamma, 1.0)


def _places(n: int, width: float) -> int:
    """Return how many pi are looked at: eight to a standard deviation of arcsin(sqrt(pi))."""
    return min(MOST_PLACES, 8 + int(np.ceil(width * np.sqrt(n) * 8)))


@lru_cache(maxsize=2)
def _all_weights(n: int) -> tuple[sparse.csr_array, Ints]:
    return _weights(n, np.sin(np.linspace(0, np.pi / 2, _places(n, np.pi / 2))) ** 2)


def _weights(n: int, pi: Floats) -> tuple[sparse.csr_array, Ints]:
    """Return P(n01 + n10 = k), (n_pi, n_k), without k far from their mean, and the k."""
    deviation = np.sqrt(n * pi * (1 - pi))
    low = np.maximum(0, n * pi - FAR * deviation - 12).astype(np.int64)
    high = np.minimum(n, n * pi + FAR * deviation + 12).astype(np.int64)
    lengths = high - low + 1
    starts = np.append(0, np.cumsum(lengths))
    sums = np.arange(starts[-1]) - np.repeat(starts[:-1] - low, lengths)
    pmf, columns = binom.pmf(sums, n, np.repeat(pi, lengths)), sums - low.min()
    weights = sparse.csr_array((pmf, columns, starts), shape=(len(pi), columns.max() + 1))
    return weights, np.arange(low.min(), high.max() + 1)


def _largest(weights: sparse.csr_array, sums: Ints, distance: int, m: int) -> tuple[float, int]:
    """Return the largest P(|n01 - n10| / sqrt(n01 + n10) >= distance / sqrt(m)) of some pi, and its place."""
    # the least distance that counts; whole numbers settle ties: d^2 m >= distance^2 sum
    least = np.ceil(distance * np.sqrt(sums / m) - 1e-6).astype(np.int64)
    if distance**2 * int(sums[-1]) < 2**62:
        least += least**2 * m < distance**2 * sums
    least += (least + sums) % 2  # a distance has the parity of the sum
    tail = np.minimum(2 * binom.cdf((sums - least) // 2, sums, 0.5), 1)
    found = weights @ np.where((least > sums) | (sums == 0), 0, tail)
    return float(found.max()), int(found.argmax())


def _binomial_pvalue(fewer: Ints, more: Ints, midp: bool) -> Floats:
    """Return p given m: twice the lower tail; `midp` subtracts half the weight of what was seen."""
    doubled = 2 * binom.cdf(fewer, fewer + more, 0.5)
    if not midp:
        return np.asarray(np.minimum(1, doubled))
    seen = binom.pmf(fewer, fewer + more, 0.5)
    # At n01 = n10 the doubled tail holds the centre twice: its total weight is 1, less half the centre.
    return np.asarray(np.where(fewer == more, 1 - seen / 2, doubled - seen))
