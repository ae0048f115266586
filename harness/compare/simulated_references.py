"""Type I errors on Dietterich's simulated null that another program measured."""

import numpy as np

from harness.compare.simulated_null import Point

N_REFERENCE = 20_000
"""Data sets behind each reference."""

# level .05, two-sided; measured once by a program that shares no code with this one
REFERENCES = {
    "exact": {
        "resampled_t": 0.612,
        "kfold_t": 0.046,
        "five_by_two_t": 0.026,
        "five_by_two_f": 0.030,
        "corrected_resampled_t": 0.045,
    },
    "random": {
        "resampled_t": 0.616,
        "kfold_t": 0.050,
        "five_by_two_t": 0.027,
        "five_by_two_f": 0.033,
        "corrected_resampled_t": 0.050,
    },
}
# one hold-out of 100 examples drawn independently, by enumeration, to four digits
ENUMERATED = {
    "mcnemar": 0.0257,
    "mcnemar_uncorrected": 0.0512,
    "mcnemar_exact": 0.0292,
    "mcnemar_midp": 0.0462,
    "proportion": 0.0552,
}
STANDARD = {
    halves: Point(halves, 0.05, 0.15, 0.0, 300, 1 / 3, n_resamples=30, n_folds=10) for halves in REFERENCES
}


def reference(point: Point, test: str, alpha: float, enumerated: bool) -> tuple[float, float]:
    """Return the reference of a Type I error and its standard error; NaN where there is none.

    Examples
    --------
    >>> value, error = reference(STANDARD["exact"], "five_by_two_t", 0.05, False)
    >>> value, round(error, 4)
    (0.026, 0.0011)
    """
    if alpha != 0.05 or point != STANDARD[point.halves]:
        return np.nan, np.nan
    if enumerated:
        known = point.halves == "random" and test in ENUMERATED
        return (ENUMERATED[test], 0.0) if known else (np.nan, np.nan)
    value = REFERENCES[point.halves].get(test, np.nan)
    return value, float(np.sqrt(value * (1 - value) / N_REFERENCE))
