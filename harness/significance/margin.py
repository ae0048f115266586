"""Tests of a difference against a margin: p-values of the two one-sided hypotheses that make up a TOST.

Of both the first is that of ``d <= -margin``, whose rejection shows that d is above -margin, and the second
that of ``d >= margin``. The larger is the p-value of equivalence (Schuirmann 1987, Journal of
Pharmacokinetics and Biopharmaceutics 15, 657-680).
"""

import numpy as np
from scipy.special import ndtr, stdtr

from harness.measures import Floats, Ints
from harness.significance.result import discordant


def wald_margin(d: Floats, deviation: Floats, freedom: Floats | float, margin: float) -> Floats:
    """Return both p-values, (2, ...), by (d -+ margin) / deviation and Student's t; 1 without a deviation.

    Infinite degrees of freedom are the normal distribution.

    Examples
    --------
    >>> wald_margin(np.array([0.004, 0.004]), np.array([0.004, 0.0]), np.inf, 0.01).round(4).tolist()
    [[0.0002, 1.0], [0.0668, 1.0]]
    """
    constant = deviation == 0
    scale = np.where(constant, 1.0, deviation)
    tails = stdtr(freedom, np.stack([-d - margin, d - margin]) / scale)
    return np.where(constant, 1.0, tails)


def score_margin(counts: Ints, margin: float) -> Floats:
    """Return both p-values, (2, ...), for the difference of two error rates, by score tests.

    ``z = (n01 - n10 -+ N margin) / sqrt(N (2 q + margin (1 - margin)))``, q the share of items on which only
    the better system errs, fitted where the difference is the margin (Nam 1997, Biometrics 53, 1422-1430;
    Tango 1998, Statistics in Medicine 17, 891-908; Liu et al. 2002, Statistics in Medicine 21, 231-245). Its
    variance is that under the null, and not 0 where no item tells the systems apart: that too speaks against
    a difference as large as the margin.

    Examples
    --------
    >>> score_margin(np.array([43, 0, 1, 0, 0, 0, 0, 0]), 0.1).round(4)
    array([0.0438, 0.0072])
    """
    n01, n10 = (one.astype(float) for one in discordant(counts))
    n = counts.sum(axis=-1)

    def tail(worse: Floats, better: Floats) -> Floats:
        b = (worse + better) + margin * (worse - better) - 2 * n * margin
        q = (b + np.sqrt(b**2 + 8 * n * better * margin * (1 - margin))) / (4 * n)
        return np.asarray(ndtr((worse - better - n * margin) / np.sqrt(n * (2 * q + margin * (1 - margin)))))

    return np.stack([tail(n10, n01), tail(n01, n10)])
