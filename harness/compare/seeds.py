"""Algorithms trained with several seeds: what each reaches, and how it differs from a baseline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.significance.cross_validation import corrected_resampled_t
from harness.significance.effect_size import (
    cohens_d,
    cohens_d_unpaired,
    mean_difference_unpaired,
    mean_interval,
)
from harness.significance.ranks import holm
from harness.significance.result import check_choice
from harness.significance.t_tests import Floats, paired_differences, paired_t, unpaired_t

if TYPE_CHECKING:
    from pandas import DataFrame

TIDY = ("algorithm", "seed", "score")
PAIRINGS = ("auto", "paired", "unpaired")
BASELINE, BETTER, WORSE, OPEN = "baseline", "better", "worse", "no difference shown"


def tidy_scores(scores: Any) -> DataFrame:
    """Return scores as one row per algorithm and seed, checked.

    Parameters
    ----------
    scores : DataFrame or mapping
        Either tidy, with the columns algorithm, seed and score; or one row a seed (named by the index)
        and one column an algorithm; or a mapping from algorithm to its scores, all over the same seeds.
        A run that failed is written down as a missing score (NaN), not left out.

    Returns
    -------
    DataFrame
        algorithm, seed, score, in the order in which they were given.

    Raises
    ------
    ValueError
        If names repeat, lengths differ, a score is infinite or no number, or an algorithm has fewer than 2
        scores.

    Examples
    --------
    >>> tidy_scores({"svm": [0.91, 0.92], "mlp": [0.9, 0.95]})["seed"].tolist()
    [0, 1, 0, 1]
    """
    frame = _as_frame(scores)
    if not set(TIDY) <= set(frame.columns):
        frame = _stacked(frame)
    frame = frame.loc[:, list(TIDY)].reset_index(drop=True)
    twice = frame.duplicated(["algorithm", "seed"])
    if twice.any():
        name, seed = frame.loc[twice, ["algorithm", "seed"]].iloc[0]
        raise ValueError(f"scores: algorithm {name!r} has seed {seed} twice; each seed once is allowed")
    try:
        frame["score"] = frame["score"].astype(float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"scores: {error}; numbers are allowed") from None
    _check_values(frame)
    return frame.assign(algorithm=frame["algorithm"].astype(str))


def seeds_table(
    scores: Any,
    baseline: str,
    *,
    higher_is_better: bool = True,
    pairing: str = "auto",
    confidence: float = 0.95,
    alpha: float = 0.05,
    degenerate: str = "accept",
    best: bool = False,
    splits: tuple[float, float] | None = None,
) -> DataFrame:
    """Return one row per algorithm: mean, spread, worst seed, and its difference from the baseline.

    The test of each algorithm against the baseline is the paired t test over the seeds where both ran
    with the same ones, Welch's t test where they share none. (Pairing costs degrees of freedom and is
    never wrong; it gains where a seed means the same split or data for both.) Holm's adjustment is over
    the comparisons with the baseline. Null hypothesis: equal mean scores over seeds that are independent.
    Seeds that split one data set anew are not: give `splits`, and the test and the difference's interval
    are those of :func:`harness.significance.cross_validation.corrected_resampled_t`.

    Parameters
    ----------
    scores
        As for :func:`tidy_scores`.
    baseline : str
        The algorithm that the others are compared with.
    higher_is_better : bool
        False for error rates and other losses.
    pairing : {"auto", "paired", "unpaired"}
        Which test; ``"paired"`` uses the seeds that both have.
    confidence : float
        Of all intervals, in (0, 1); they are not adjusted for the number of comparisons.
    alpha : float
        Level of the verdict, which is Holm's.
    degenerate : {"accept", "reject"}
        Verdict where nothing varies (p = 1 or p = 0).
    best : bool
        Whether to report each algorithm's best seed; the larger the number of seeds, the better it is,
        whatever the algorithm: see :func:`harness.compare.seeds_text.seeds_notes`.
    splits : (n_train, n_test), optional
        Samples in the training and in the test set of a seed, where each seed splits one data set anew.

    Returns
    -------
    DataFrame
        algorithm; n_seeds (with a score), n_missing and missing_seeds; mean, mean_low, mean_high
        (t interval), sd; worst and worst_seed; where asked, best and best_seed; test, n_tested (pairs, or
        seeds of the algorithm), difference (algorithm minus baseline, over n_tested) and its interval,
        statistic, pvalue, pvalue_holm, cohens_d and its interval, degenerate, verdict.

    Raises
    ------
    ValueError
        As :func:`tidy_scores`; if the baseline is unknown or the only algorithm; if an option is not one
        of those above; if under ``"auto"`` two algorithms share some of their seeds but not all.

    Examples
    --------
    >>> table = seeds_table({"svm": [0.90, 0.91, 0.92], "mlp": [0.93, 0.95, 0.94]}, "svm")
    >>> table[["algorithm", "worst_seed", "verdict"]].values.tolist()
    [['svm', 0, 'baseline'], ['mlp', 0, 'better']]
    >>> round(float(table.loc[1, "pvalue_holm"]), 4)
    0.0351
    """
    import pandas as pd

    check_choice("pairing", pairing, PAIRINGS)
    if not 0 < alpha < 1:
        raise ValueError(f"alpha: {alpha!r} is not allowed; a number between 0 and 1 is")
    frame = tidy_scores(scores)
    parts = {
        str(name): part.set_index("seed")["score"] for name, part in frame.groupby("algorithm", sort=False)
    }
    _check_baseline(baseline, parts)
    rows = []
    for name, part in parts.items():
        row = _summary(name, part, higher_is_better, confidence, best)
        if name != baseline:
            names, reference = (name, baseline), parts[baseline]
            pair = _against(part, reference, names, pairing, confidence, degenerate)
            if splits is not None:
                pair |= _corrected(part, reference, names, pair, splits, degenerate)
            row |= pair
        rows.append(row)
    table = pd.DataFrame(rows)
    other = (table["algorithm"] != baseline).to_numpy()
    table.loc[other, "pvalue_holm"] = holm(table.loc[other, "pvalue"].to_numpy(float))
    sign = 1 if higher_is_better else -1
    table["verdict"] = [
        BASELINE
        if name == baseline
        else OPEN
        if p > alpha or gap == 0
        else BETTER
        if sign * gap > 0
        else WORSE
        for name, p, gap in table[["algorithm", "pvalue_holm", "difference"]].itertuples(index=False)
    ]
    last = ["pvalue_holm", "cohens_d", "cohens_d_low", "cohens_d_high", "degenerate", "verdict"]
    return table[[name for name in table.columns if name not in last] + last]


def _as_frame(scores: Any) -> DataFrame:
    import pandas as pd

    if isinstance(scores, pd.DataFrame):
        return scores
    if not isinstance(scores, Mapping):
        raise ValueError(f"scores: {type(scores).__name__} is not allowed; a DataFrame or a mapping is")
    lengths = {str(name): len(values) for name, values in scores.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"scores: lengths differ ({lengths}); write a failed seed as NaN")
    return pd.DataFrame({str(name): list(values) for name, values in scores.items()})


def _stacked(wide: DataFrame) -> DataFrame:
    import pandas as pd

    for what, labels in (("algorithm", wide.columns), ("seed", wide.index)):
        if labels.has_duplicates:
            name = labels[labels.duplicated()][0]
            raise ValueError(f"scores: {what} {name} is there twice; each {what} once is allowed")
    return pd.concat(
        [
            pd.DataFrame({"algorithm": str(name), "seed": wide.index, "score": wide[name].to_numpy()})
            for name in wide.columns
        ]
        or [pd.DataFrame(columns=list(TIDY))]
    )


def _check_values(frame: DataFrame) -> None:
    infinite = np.isinf(frame["score"].to_numpy())
    if infinite.any():
        name, seed, value = frame[infinite].iloc[0]
        raise ValueError(f"scores: {value} of {name!r}, seed {seed}, is not allowed; finite numbers are")
    if frame["algorithm"].isna().any() or frame["seed"].isna().any():
        raise ValueError("scores: a row without algorithm or seed is not allowed; name both")
    counts = frame.groupby("algorithm", sort=False)["score"].count()
    if (counts < 2).any():
        name = counts.index[counts < 2][0]
        raise ValueError(
            f"scores: algorithm {name!r} has scores for {counts[name]} seeds; at least 2 are needed"
        )


def _check_baseline(baseline: str, parts: Mapping[str, Any]) -> None:
    if baseline not in parts:
        raise ValueError(f"baseline: {baseline!r} is not allowed; choose one of {', '.join(parts)}")
    if len(parts) < 2:
        raise ValueError(f"scores: {baseline!r} alone is not allowed; at least 2 algorithms are")


def _summary(name: str, part: Any, higher_is_better: bool, confidence: float, best: bool) -> dict[str, Any]:
    kept, missing = part.dropna(), part.index[part.isna()]
    mean = mean_interval(kept.to_numpy(), confidence)
    low, high = kept.idxmin(), kept.idxmax()
    worst, top = (low, high) if higher_is_better else (high, low)
    row = {
        "algorithm": name, "n_seeds": len(kept), "n_missing": len(missing),
        "missing_seeds": " ".join(map(str, missing)),
        "mean": float(mean.value), "mean_low": float(mean.low), "mean_high": float(mean.high),
        "sd": 0.0 if mean.degenerate else float(kept.std(ddof=1)),
        "worst": float(kept[worst]), "worst_seed": worst,
    }  # fmt: skip
    return row | ({"best": float(kept[top]), "best_seed": top} if best else {})


def _against(
    part: Any, reference: Any, names: tuple[str, str], pairing: str, confidence: float, degenerate: str
) -> dict[str, Any]:
    """Return the comparison of an algorithm with the baseline."""
    a, b = part.dropna().to_numpy(), reference.dropna().to_numpy()
    if _is_paired(part.index, reference.index, names, pairing):
        d = _shared_differences(part, reference, names)
        name, n = "paired_t", len(d)
        result, gap, effect = (
            paired_t(d, degenerate=degenerate),
            mean_interval(d, confidence),
            cohens_d(d, confidence),
        )
    else:
        name, n = "welch_t", len(a)
        result = unpaired_t(a, b, degenerate=degenerate)
        gap, effect = mean_difference_unpaired(a, b, confidence), cohens_d_unpaired(a, b, confidence)
    return {
        "test": name, "n_tested": n,
        "difference": float(gap.value), "difference_low": float(gap.low), "difference_high": float(gap.high),
        "statistic": float(result.statistic), "pvalue": float(result.pvalue),
        "cohens_d": float(effect.value), "cohens_d_low": float(effect.low),
        "cohens_d_high": float(effect.high),
        "degenerate": bool(result.degenerate),
    }  # fmt: skip


def _corrected(
    part: Any,
    reference: Any,
    names: tuple[str, str],
    pair: Mapping[str, Any],
    splits: tuple[float, float],
    degenerate: str,
) -> dict[str, Any]:
    """Return what changes in a paired comparison with the variance of splits that share samples."""
    if pair["test"] != "paired_t":
        raise ValueError("splits: two algorithms that share no seed are not allowed; the same splits are")
    d = _shared_differences(part, reference, names)
    result = corrected_resampled_t(d, *splits, degenerate=degenerate)
    wider = np.sqrt(1 + len(d) * splits[1] / splits[0])
    middle = pair["difference"]
    ends = {
        f"difference_{end}": middle + wider * (pair[f"difference_{end}"] - middle) for end in ("low", "high")
    }
    tested = {"statistic": float(result.statistic), "pvalue": float(result.pvalue)}
    return ends | tested | {"test": "corrected_resampled_t", "degenerate": bool(result.degenerate)}


def _is_paired(own: Any, other: Any, names: tuple[str, str], pairing: str) -> bool:
    if pairing != "auto":
        return pairing == "paired"
    shared = len(own.intersection(other))
    if 0 < shared < max(len(own), len(other)):
        raise ValueError(
            f"scores: {names[0]!r} and {names[1]!r} share {shared} of their {len(own)} and {len(other)} "
            "seeds; write failed seeds as NaN, or set pairing to 'paired' or 'unpaired'"
        )
    return shared > 0


def _shared_differences(part: Any, reference: Any, names: tuple[str, str]) -> Floats:
    both = part.dropna().index.intersection(reference.dropna().index)
    if len(both) < 2:
        raise ValueError(
            f"scores: {names[0]!r} and {names[1]!r} both have a score for {len(both)} seeds; "
            "at least 2 are needed"
        )
    return paired_differences(part[both].to_numpy(), reference[both].to_numpy())
