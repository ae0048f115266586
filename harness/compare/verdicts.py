"""From trials to the tests' verdicts on every pair of estimators."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from harness.compare.trials import Trials
from harness.intervals import clopper_pearson
from harness.significance.cross_validation import five_by_two_f, five_by_two_t
from harness.significance.effect_size import cohens_d, mean_interval
from harness.significance.mcnemar import mcnemar
from harness.significance.ranks import holm
from harness.significance.result import TestResult, discordant

if TYPE_CHECKING:
    from pandas import DataFrame

# name -> (label, what it judges, the test); those of the hold-out take counts, those of 5x2cv differences
TESTS: dict[str, tuple[str, str, Callable[[NDArray], TestResult]]] = {
    "mcnemar": ("McNemar, corrected", "hold-out", mcnemar),
    "mcnemar_exact": ("McNemar, exact", "hold-out", lambda counts: mcnemar(counts, "exact")),
    "five_by_two_t": ("5x2cv t", "5x2cv", five_by_two_t),
    "five_by_two_f": ("5x2cv F", "5x2cv", five_by_two_f),
}
VERDICT_COLUMNS = (
    "seed", "a", "b", "test", "both_right", "only_a_wrong", "only_b_wrong", "both_wrong", "difference",
    "statistic", "pvalue", "pvalue_holm", "degenerate",
)  # fmt: skip
CELLS = ["both_right", "only_a_wrong", "only_b_wrong", "both_wrong"]


def count_right(a: NDArray[np.int8], b: NDArray[np.int8]) -> NDArray[np.int64]:
    """Count a hold-out's samples by who is right, as the eight cells that the tests take.

    With more than two classes there is no positive one. The question is put as "was the sample classified
    rightly?": its true answer is always yes, so that both right is e1, only A wrong e2, only B wrong e3, both
    wrong e4, and the four cells of negatives are empty. McNemar's test reads only n01 = e2 + e7 and
    n10 = e3 + e6, and so sees just the discordant samples.

    Parameters
    ----------
    a, b : int arrays, shape (..., n_test)
        1 where the classifier is right, 0 where it is wrong.

    Returns
    -------
    int array, shape (..., 8)

    Examples
    --------
    >>> count_right(np.array([1, 1, 0, 0, 0]), np.array([1, 0, 1, 1, 0])).tolist()
    [1, 2, 1, 1, 0, 0, 0, 0]
    """
    a, b = np.asarray(a, dtype=bool), np.asarray(b, dtype=bool)
    cells = [(a & b), (~a & b), (a & ~b), (~a & ~b)]
    counts = np.zeros((*a.shape[:-1], 8), dtype=np.int64)
    counts[..., :4] = np.stack([cell.sum(axis=-1) for cell in cells], axis=-1)
    return counts


def tabulate_verdicts(trials: Mapping[str, Trials]) -> DataFrame:
    """Return a row for each seed, pair and test; p-values are missing where one of the two failed.

    `pvalue_holm` is adjusted over the pairs of one seed and test. `difference` is A minus B: in error rate on
    the hold-out, in the mean score of 5x2cv.
    """
    import pandas as pd

    frames = []
    for a, b in itertools.combinations(trials, 2):
        for test, (_, design, function) in TESTS.items():
            judge = _judge_hold_out if design == "hold-out" else _judge_halves
            frames.append(
                pd.DataFrame({"a": a, "b": b, "test": test, **judge(trials[a], trials[b], function)})
            )
    table = pd.concat(frames, ignore_index=True)
    adjusted = [holm(part["pvalue"].to_numpy()) for _, part in table.groupby(["seed", "test"], sort=False)]
    places = [part.index.to_numpy() for _, part in table.groupby(["seed", "test"], sort=False)]
    table.loc[np.concatenate(places), "pvalue_holm"] = np.concatenate(adjusted)
    return table[list(VERDICT_COLUMNS)]


def _judge_hold_out(a: Trials, b: Trials, test: Callable[[NDArray], TestResult]) -> dict[str, object]:
    known = np.asarray((a.right >= 0).all(axis=1) & (b.right >= 0).all(axis=1))
    columns = _empty(known)
    if known.any():
        counts = count_right(a.right[known], b.right[known])
        n01, n10 = discordant(counts)
        _fill(columns, known, test(counts), (n01 - n10) / a.right.shape[1])
        for place, cell in enumerate(CELLS):
            columns[cell] = _whole(known, counts[:, place])
    return columns


def _judge_halves(a: Trials, b: Trials, test: Callable[[NDArray], TestResult]) -> dict[str, object]:
    d = a.halves - b.halves
    known = np.asarray(np.isfinite(d).all(axis=(1, 2)))
    columns = _empty(known)
    if known.any():
        _fill(columns, known, test(d[known]), d[known].mean(axis=(1, 2)))
    return columns


def _empty(known: NDArray[np.bool_]) -> dict[str, object]:
    import pandas as pd

    nothing = pd.array([None] * len(known), dtype="Int64")
    columns: dict[str, object] = dict.fromkeys(["difference", "statistic", "pvalue"], np.nan)
    return {"seed": np.arange(len(known)), **columns, "degenerate": nothing, **dict.fromkeys(CELLS, nothing)}


def _fill(
    columns: dict[str, object], known: NDArray[np.bool_], result: TestResult, difference: NDArray[np.float64]
) -> None:
    parts = {"difference": difference, "statistic": result.statistic, "pvalue": result.pvalue}
    for name, part in parts.items():
        column = np.full(len(known), np.nan)
        column[known] = part
        columns[name] = column
    columns["degenerate"] = _whole(known, result.degenerate.astype(int))


def _whole(known: NDArray[np.bool_], values: NDArray[np.int64]) -> object:
    """Return a column of whole numbers, empty where nothing is known."""
    import pandas as pd

    column = pd.array([None] * len(known), dtype="Int64")
    column[known] = values
    return column


def tabulate_rejections(verdicts: DataFrame, alpha: float) -> DataFrame:
    """Return a row for each pair and test: how many of the seeds reject, with a Clopper-Pearson interval.

    Seeds on which an estimator failed have no verdict and are left out of the share (`n_missing`).
    `cohens_d` is that of the difference over the seeds.
    """
    import pandas as pd

    rows = []
    for (a, b, test), part in verdicts.groupby(["a", "b", "test"], sort=False):
        known = part[part["pvalue"].notna()]
        n, k = len(known), int((known["pvalue"] <= alpha).sum())
        low, high = (float(end) for end in clopper_pearson(k, n)) if n else (np.nan, np.nan)
        d = known["difference"].to_numpy(dtype=float)
        mean, effect = (f(d) for f in (mean_interval, cohens_d)) if n > 1 else (None, None)
        first = part["pvalue"].iloc[0]
        rows.append(
            {
                "a": a, "b": b, "test": test, "n_seeds": len(part), "n_missing": len(part) - n,
                "n_rejected": k, "rate": k / n if n else np.nan, "low": low, "high": high,
                "n_rejected_holm": int((known["pvalue_holm"] <= alpha).sum()),
                "n_degenerate": int(known["degenerate"].sum()),
                "first_seed": "" if np.isnan(first) else str(bool(first <= alpha)),
                "difference": d.mean() if n else np.nan,
                "difference_low": float(mean.low) if mean else np.nan,
                "difference_high": float(mean.high) if mean else np.nan,
                "cohens_d": float(effect.value) if effect else np.nan,
                "cohens_d_low": float(effect.low) if effect else np.nan,
                "cohens_d_high": float(effect.high) if effect else np.nan,
            }
        )  # fmt: skip
    return pd.DataFrame(rows)
