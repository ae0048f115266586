"""Algorithms trained with several seeds: what each reaches, and how it differs from a baseline."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from pandas import DataFrame

from harness.errors import check_share, require
from harness.measures import Floats
from harness.significance import effect_size as effects
from harness.significance.cross_validation import corrected_resampled_t
from harness.significance.ranks import holm
from harness.significance.result import check_choice
from harness.significance.t_tests import paired_differences, paired_t, unpaired_t
from harness.writing.prose import paragraphs
from harness.writing.table_text import show, with_bounds

TIDY = ("algorithm", "seed", "score")
PAIRINGS = ("auto", "paired", "unpaired")
BASELINE, BETTER, WORSE, OPEN = "baseline", "better", "worse", "no difference shown"
FEW_SEEDS = 5
NAMES = {"paired_t": "paired t", "welch_t": "Welch's t", "corrected_resampled_t": "corrected resampled t"}


def tidy_scores(scores: Any) -> DataFrame:
    """Return scores as one row per algorithm and seed, checked; a ValueError says what is wrong with them.

    They come so; or as a DataFrame of one row a seed (named by the index) and one column an algorithm; or as
    a mapping from algorithm to its scores, all over the same seeds. A run that failed is written down as a
    missing score (NaN), not left out.
    """
    frame = _as_frame(scores)
    if not set(TIDY) <= set(frame.columns):
        wide = frame.rename_axis(index="seed", columns=None).reset_index()
        frame = wide.melt("seed", var_name="algorithm", value_name="score")
    frame = frame.loc[:, list(TIDY)].reset_index(drop=True)
    frame = check_scores(frame, ["algorithm", "seed"], failed=True)
    counts = frame.groupby("algorithm", sort=False)["score"].count()
    for name, n in counts[counts < 2].items():
        raise ValueError(f"scores: algorithm {name!r} has scores for {n} seeds; at least 2 are needed")
    return frame.assign(algorithm=frame["algorithm"].astype(str))


def check_scores(frame: DataFrame, keys: list[str], *, failed: bool = False) -> DataFrame:
    """Return a table with a finite score for each of the `keys`, as floats; that of a `failed` one is NaN."""
    lacking = [name for name in (*keys, "score") if name not in frame]
    if lacking:
        raise ValueError(f"scores: no column {lacking[0]!r}; {', '.join([*keys, 'score'])} are needed")
    try:
        frame = frame.assign(score=frame["score"].astype(float))
    except (TypeError, ValueError) as error:
        raise ValueError(f"scores: {error}; numbers are allowed") from None
    cases = {
        "is there twice; one score each is allowed": frame.duplicated(keys),
        "is not allowed; finite numbers are": np.isinf(frame["score"])
        | (frame["score"].isna() & (not failed)),
        "is not allowed; name all": frame[keys].isna().any(axis=1),
    }
    for wrong, rows in cases.items():
        for _, row in frame[rows.to_numpy()].iterrows():
            where = ", ".join(f"{name} {row[name]}" for name in keys if row[name] != "")
            raise ValueError(f"scores: {row['score']:g} of {where} {wrong}")
    return frame


def seeds_table(
    scores: Any,
    baseline: str,
    *,
    higher_is_better: bool = True,
    pairing: str = "auto",
    confidence: float = 0.95,
    alpha: float = 0.05,
    degenerate: str = "accept",
    splits: tuple[float, float] | None = None,
) -> DataFrame:
    """Return one row per algorithm: mean, spread, worst seed, and its difference from the baseline.

    The test of each algorithm against the baseline is the paired t test over the seeds where both ran with
    the same ones, Welch's t test where they share none. Holm's adjustment is over the comparisons with the
    baseline. Null hypothesis: equal mean scores over seeds that are independent. Seeds that split one data
    set anew are not: give `splits`, and the test and the difference's interval are those of
    :func:`harness.significance.cross_validation.corrected_resampled_t`.

    Parameters
    ----------
    scores
        As for :func:`tidy_scores`.
    baseline : str
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
    splits : (n_train, n_test), optional
        Samples in the training and in the test set of a seed, where each seed splits one data set anew.

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
    """
    check_choice("pairing", pairing, PAIRINGS)
    check_share("alpha", alpha)
    frame = tidy_scores(scores)
    parts = {
        str(name): part.set_index("seed")["score"] for name, part in frame.groupby("algorithm", sort=False)
    }
    check_choice("baseline", baseline, tuple(parts))
    if len(parts) < 2:
        raise ValueError(f"scores: {baseline!r} alone is not allowed; at least 2 algorithms are")
    rows = []
    for name, part in parts.items():
        row = _summary(name, part, higher_is_better, confidence)
        if name != baseline:
            row |= _against({name: part, baseline: parts[baseline]}, pairing, confidence, degenerate, splits)
        rows.append(row)
    table = DataFrame(rows)
    other = (table["algorithm"] != baseline).to_numpy()
    table.loc[other, "pvalue_holm"] = holm(table.loc[other, "pvalue"].to_numpy(float))
    gap = table["difference"] if higher_is_better else -table["difference"]
    shown = other & (table["pvalue_holm"] <= alpha)
    cases = [~other, shown & (gap > 0), shown & (gap < 0)]
    table["verdict"] = np.select(cases, [BASELINE, BETTER, WORSE], OPEN)
    last = ["pvalue_holm", "cohens_d", "cohens_d_low", "cohens_d_high", "degenerate", "verdict"]
    return table[[name for name in table.columns if name not in last] + last]


def best_seeds(scores: Any, *, higher_is_better: bool = True) -> DataFrame:
    """Return the best seed of each algorithm: algorithm, best, best_seed; to merge with :func:`seeds_table`.

    The more seeds, the better the best of them, whatever the algorithm: see :func:`seeds_notes`.
    """
    frame = tidy_scores(scores).dropna()
    groups = frame.groupby("algorithm", sort=False)["score"]
    best = frame.loc[groups.idxmax() if higher_is_better else groups.idxmin()]
    return best.rename(columns={"score": "best", "seed": "best_seed"})[["algorithm", "best", "best_seed"]]


def _as_frame(scores: Any) -> DataFrame:
    if isinstance(scores, DataFrame):
        return scores
    allowed = f"scores: {type(scores).__name__} is not allowed; a DataFrame or a mapping is"
    require(isinstance(scores, Mapping), allowed)
    lengths = {str(name): len(values) for name, values in scores.items()}
    equal = len(set(lengths.values())) == 1
    require(equal, f"scores: lengths differ ({lengths}); write a failed seed as NaN")
    return DataFrame({str(name): list(values) for name, values in scores.items()})


def _summary(name: str, part: Any, higher_is_better: bool, confidence: float) -> dict[str, Any]:
    kept, missing = part.dropna(), part.index[part.isna()]
    mean = effects.mean_interval(kept.to_numpy(), confidence)
    worst = kept.idxmin() if higher_is_better else kept.idxmax()
    return {
        "algorithm": name, "n_seeds": len(kept), "n_missing": len(missing),
        "missing_seeds": " ".join(map(str, missing)),
        **mean.columns("mean"),
        "sd": 0.0 if mean.degenerate else float(kept.std(ddof=1)),
        "worst": float(kept[worst]), "worst_seed": worst,
    }  # fmt: skip


def _against(
    pair: Mapping[str, Any],
    pairing: str,
    confidence: float,
    degenerate: str,
    splits: tuple[float, float] | None,
) -> dict[str, Any]:
    """Return the comparison of an algorithm with the baseline, the second of the `pair` of scores by name."""
    part, reference = pair.values()
    if _is_paired(pair, pairing):
        d = _shared_differences(pair)
        name, n, result = "paired_t", len(d), paired_t(d, degenerate=degenerate)
        gap, effect = effects.mean_interval(d, confidence), effects.cohens_d(d, confidence)
        if splits is not None:
            name, result = "corrected_resampled_t", corrected_resampled_t(d, *splits, degenerate=degenerate)
            wider, middle = np.sqrt(1 + n * splits[1] / splits[0]), gap.value
            low, high = (middle + wider * (end - middle) for end in (gap.low, gap.high))
            gap = gap._replace(low=low, high=high)
    elif splits is not None:
        raise ValueError("splits: two algorithms that share no seed are not allowed; the same splits are")
    else:
        a, b = part.dropna().to_numpy(), reference.dropna().to_numpy()
        name, n, result = "welch_t", len(a), unpaired_t(a, b, degenerate=degenerate)
        gap = effects.mean_difference_unpaired(a, b, confidence)
        effect = effects.cohens_d_unpaired(a, b, confidence)
    return {
        "test": name, "n_tested": n, **gap.columns("difference"),
        "statistic": float(result.statistic), "pvalue": float(result.pvalue),
        **effect.columns("cohens_d"), "degenerate": bool(result.degenerate),
    }  # fmt: skip


def _is_paired(pair: Mapping[str, Any], pairing: str) -> bool:
    if pairing != "auto":
        return pairing == "paired"
    (name, own), (other_name, other) = ((name, scores.index) for name, scores in pair.items())
    shared = len(own.intersection(other))
    if 0 < shared < max(len(own), len(other)):
        raise ValueError(
            f"scores: {name!r} and {other_name!r} share {shared} of their {len(own)} and {len(other)} "
            "seeds; write failed seeds as NaN, or set pairing to 'paired' or 'unpaired'"
        )
    return shared > 0


def _shared_differences(pair: Mapping[str, Any]) -> Floats:
    part, reference = pair.values()
    both = part.dropna().index.intersection(reference.dropna().index)
    if len(both) < 2:
        name, other = pair
        raise ValueError(
            f"scores: {name!r} and {other!r} both have a score for {len(both)} seeds; at least 2 are needed"
        )
    return paired_differences(part[both].to_numpy(), reference[both].to_numpy())


def seeds_notes(table: DataFrame, *, confidence: float = 0.95, alpha: float = 0.05) -> list[str]:
    """Return the sentences that belong under a table of :func:`seeds_table`."""
    best, few = int(table["n_seeds"].max()) if "best" in table else 0, int(table["n_seeds"].min())
    return paragraphs(
        "compare", "seeds_notes", confidence=confidence, alpha=alpha, rows=table.to_dict("records"),
        corrected="corrected_resampled_t" in set(table["test"]), few=few if few < FEW_SEEDS else 0, best=best,
        expected=expected_maximum(best) if best else 0,
    )  # fmt: skip


def expected_maximum(n: int) -> float:
    """Return the expected maximum of n independent standard normal values."""
    from scipy.integrate import quad
    from scipy.stats import norm

    return float(quad(lambda x: x * n * norm.pdf(x) * norm.cdf(x) ** (n - 1), -10, 10, epsabs=1e-10)[0])


def display_table(table: DataFrame) -> DataFrame:
    """Return a table of :func:`seeds_table` for print; a column data stays first."""
    rows: list[dict[str, Any]] = []
    for one in table.to_dict("records"):
        row: dict[str, Any] = {"data": one["data"]} if "data" in one else {}
        missing = f" (+{one['n_missing']} missing)" if one["n_missing"] else ""
        row |= {
            "algorithm": str(one["algorithm"]), "seeds": f"{one['n_seeds']}{missing}",
            "mean": _with_interval(one, "mean", 4), "sd": show(one["sd"], 4),
        }  # fmt: skip
        for end in ("worst", "best"):
            if end in one:
                row[f"{end} (seed)"] = f"{show(one[end], 4)} ({one[f'{end}_seed']})"
        tested = one["test"] == one["test"]
        rows.append(row | {
            "difference": _with_interval(one, "difference", 4),
            "test": f"{NAMES[one['test']]}, n = {one['n_tested']:g}" if tested else "",
            "p": _probability(one["pvalue"]), "p (Holm)": _probability(one["pvalue_holm"]),
            "Cohen's d": _with_interval(one, "cohens_d", 2), "verdict": one["verdict"],
        })  # fmt: skip
    return DataFrame(rows)


def _with_interval(row: Mapping[Any, Any], name: str, digits: int) -> str:
    value, low, high = (row[f"{name}{end}"] for end in ("", "_low", "_high"))
    return with_bounds(value, low, high, digits)


def _probability(value: float) -> str:
    return "< 0.0001" if value < 1e-4 else show(value, 4)
