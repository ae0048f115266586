"""z tests of equal detection cost (DCF), with the variance of paired or of independent decisions."""

import numpy as np
from numpy.typing import ArrayLike

from harness.measures import Floats, Ints, dcf_difference
from harness.significance.result import TestResult, as_counts, check_choice, z_test

VARIANCES = ("paired", "eq9", "independent")


def dcf(
    counts: ArrayLike,
    cost_fn: float = 1.0,
    cost_fp: float = 1.0,
    prior: float = 0.5,
    variance: str = "paired",
    *,
    degenerate: str = "accept",
) -> TestResult:
    """Test equal detection cost (DCF) with a z test; with unit costs and prior 1/2, equal balanced error.

    Null hypothesis: A and B have the same DCF, ``c1 FN / N_p + c2 FP / N_n`` with c1 = cost_fn prior and
    c2 = cost_fp (1 - prior). Asymptotic: z = d / sqrt(var), d = c1 (e2 - e3) / N_p + c2 (e7 - e6) / N_n,
    and var one of

    - ``"paired"``: c1^2 [(e2 + e3) / N_p^2 - (e2 - e3)^2 / N_p^3] + c2^2 [(e6 + e7) / N_n^2 -
      (e6 - e7)^2 / N_n^3], the variance given N_p and N_n; the same as ``wald(counts, "dcf")``;
    - ``"eq9"``: c1^2 (e2 + e3) / N_p^2 + c2^2 (e6 + e7) / N_n^2, an upper bound on it, reached where each
      class has as many errors of A alone as of B alone: for paired decisions what Snedecor and
      Cochran's test is for the error;
    - ``"independent"``: 2 [c1^2 fn (1 - fn) / N_p + c2^2 fp (1 - fp) / N_n] with fn and fp the mean rates
      of A and B, as if they had been tried on different documents: conservative, the more so the more
      errors they share; what the proportion test is for the error.

    `statistic` is z, positive where A costs more; 0 where degenerate. Degenerate where var is 0: for the
    paired ones no discordant document in a class that costs something, or (``"paired"``) a difference
    other than 0 without spread, as when only B errs and does so on every positive; for the independent
    one rates that are all 0 or 1. There a set without discordant documents may have var > 0, hence z = 0
    and p = 1 under either choice, and is marked degenerate too.

    Parameters
    ----------
    counts : int array, shape (..., 8)
        Joint outcomes e1..e8 of each evaluation set. A class without a document contributes nothing.
    cost_fn, cost_fp : float
        Cost of a missed positive and of a false alarm, >= 0.
    prior : float
        Probability of a positive where the classifiers will be used, from 0 to 1.
    variance : {"paired", "eq9", "independent"}
        Which of the above.

    References
    ----------
    Keller, Mariéthoz & Bengio (2004), IDIAP-RR 04-34, eq. 7 (d), 8 (independent) and 9; Bengio &
    Mariéthoz (2004), A statistical significance test for person authentication, Odyssey.

    Examples
    --------
    >>> counts = [20, 3, 9, 8, 0, 4, 8, 48]
    >>> [round(float(dcf(counts, 1, 1, 0.5, name).statistic), 4) for name in VARIANCES]
    [-0.8253, -0.8006, -0.695]
    >>> round(float(dcf(counts, cost_fn=10, prior=0.5).pvalue), 4)
    0.086
    """
    check_choice("variance", variance, VARIANCES)
    cells = as_counts(counts)
    d = dcf_difference(cells, cost_fn, cost_fp, prior)
    missed = [cells[..., i] for i in (1, 2, 3)]  # by A alone, by B alone, by both
    alarms = [cells[..., i] for i in (6, 5, 4)]
    n_positives, n_negatives = cells[..., :4].sum(axis=-1), cells[..., 4:].sum(axis=-1)
    c1, c2 = cost_fn * prior, cost_fp * (1 - prior)
    spread = c1**2 * _variance(missed, n_positives, variance)
    spread = spread + c2**2 * _variance(alarms, n_negatives, variance)
    silent = (c1 * (missed[0] + missed[1]) + c2 * (alarms[0] + alarms[1])) == 0
    return z_test(d, np.sqrt(spread), degenerate, marked=silent)


def _variance(wrong: list[Ints], n: Ints, variance: str) -> Floats:
    """Return the variance of the difference of the two error rates in one class of n documents.

    A product of whole numbers wherever it should vanish, so that no rounding is left of it.
    """
    only_a, only_b, both = (count.astype(float) for count in wrong)
    size = np.maximum(n, 1).astype(float)
    m = only_a + only_b
    if variance == "eq9":
        return np.asarray(m / size**2)
    if variance == "independent":
        errors = m + 2 * both  # of 2n decisions
        return np.asarray(errors / size * ((2 * n - errors) / size) / (2 * size))
    # m/n^2 - (a - b)^2/n^3 = (m (n - m) + 4ab)/n^3, for (a - b)^2 = m^2 - 4ab
    return np.asarray((m / size * ((n - m) / size) + 4 * (only_a / size) * (only_b / size)) / size)
