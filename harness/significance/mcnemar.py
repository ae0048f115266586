"""McNemar's test in five variants."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binom

from harness.measures import Floats, Ints
from harness.significance.result import (
    TestResult,
    as_counts,
    check_choice,
    chi_square_upper,
    discordant,
    settle_degenerate,
)

VARIANTS = ("uncorrected", "corrected", "exact", "midp", "auto")

AUTO_EXACT_BELOW = 25
"""Variant ``"auto"`` is exact for fewer discordant documents than this."""


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
    pvalue = _binomial_pvalue(n01, n10, midp=variant == "midp")
    if variant == "auto":
        pvalue = np.where(m < AUTO_EXACT_BELOW, pvalue, chi_square_upper(chi_square))
    return settle_degenerate(pvalue, n01 - n10, m == 0, degenerate)


def _binomial_pvalue(n01: Ints, n10: Ints, midp: bool) -> Floats:
    """Return p given m: twice the lower tail; `midp` subtracts half the weight of what was seen."""
    fewer, m = np.minimum(n01, n10), n01 + n10
    doubled = 2 * binom.cdf(fewer, m, 0.5)
    if not midp:
        return np.asarray(np.minimum(1, doubled))
    seen = binom.pmf(fewer, m, 0.5)
    # At n01 = n10 the doubled tail holds the centre twice: its total weight is 1, less half the centre.
    return np.asarray(np.where(n01 == n10, 1 - seen / 2, doubled - seen))
