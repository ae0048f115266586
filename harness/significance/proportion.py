"""Two z tests of equal error rates: for two proportions, and Snedecor and Cochran's for paired ones."""

import numpy as np
from numpy.typing import ArrayLike

from harness.significance.result import TestResult, as_counts, discordant, z_test


def proportion(counts: ArrayLike, *, degenerate: str = "accept") -> TestResult:
    """Test for two proportions on the error rates, as if A and B had been tried on different documents.

    Null hypothesis: the error rates of A and B are equal. Asymptotic,
    ``z = ((n01 - n10) / N) / sqrt(2 C (1 - C) / N)`` with C the mean of the two error rates. It ignores
    that the sets are paired: the more errors the classifiers share, the more conservative it is.

    `statistic` is z, positive where A errs more. Where z is 0/0, as all documents are right for both
    classifiers or all wrong, p is 1, or 0 with ``degenerate="reject"``. Where they agree everywhere and share
    some errors, z is 0 and p is 1. Both kinds of sets are marked as degenerate in the result.

    References
    ----------
    Keller, Mariéthoz & Bengio (2004), IDIAP-RR 04-34, eq. 4, whose printed minus sign under the root is
    a slip; Dietterich (1998), Neural Computation 10, 1895-1923, section 3.2.

    Examples
    --------
    >>> result = proportion([10, 5, 1, 0, 0, 2, 6, 76])
    >>> round(float(result.statistic), 4), round(float(result.pvalue), 4)
    (2.2171, 0.0266)
    """
    cells = as_counts(counts)
    n01, n10 = discordant(cells)
    n = cells.sum(axis=-1)
    wrong = n01 + n10 + 2 * (cells[..., 3] + cells[..., 4])  # of 2N decisions
    # N sqrt(2 C (1 - C) / N) = sqrt(wrong (2 N - wrong) / (2 N)); in floats, as the product can pass 2**63
    deviation = np.sqrt(wrong / 2 / n * (2 * n - wrong))
    return z_test(n01 - n10, deviation, degenerate, marked=n01 + n10 == 0)


def snedecor_cochran(counts: ArrayLike, *, degenerate: str = "accept") -> TestResult:
    """Snedecor and Cochran's z test of equal error rates on paired documents.

    Null hypothesis: the error rates of A and B are equal. Asymptotic, ``z = (n01 - n10) / sqrt(m)`` with
    m = n01 + n10: z squared is the chi-square of ``mcnemar(variant="uncorrected")``, so the p-values are
    the same.

    `statistic` is z, positive where A errs more. Degenerate where there is no discordant document.

    References
    ----------
    Snedecor & Cochran (1989), Statistical Methods, 8th ed.; Keller, Mariéthoz & Bengio (2004), IDIAP-RR
    04-34, eq. 5 and 6 (eq. 5 prints D = N_AB / N where D is (n01 - n10) / N).

    Examples
    --------
    >>> result = snedecor_cochran([1, 1, 7, 0, 0, 0, 0, 12])
    >>> round(float(result.statistic), 4), round(float(result.pvalue), 4)
    (-2.1213, 0.0339)
    """
    n01, n10 = discordant(as_counts(counts))
    return z_test(n01 - n10, np.sqrt(n01 + n10), degenerate)
