"""From the trials of several estimators to tables: trials, verdicts of the tests, scores, rejections."""

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pandas import DataFrame, Series, concat

from harness.compare.learner_tests import HOLD_OUT, N_HALVINGS, TESTS, Differences
from harness.compare.trials import ERROR, Trials
from harness.intervals import clopper_pearson
from harness.measures import Floats, Ints
from harness.significance.effect_size import Estimate, cohens_d, mean_interval
from harness.significance.ranks import holm
from harness.writing.table_text import bounds

TESTED = ("mcnemar", "mcnemar_exact", "five_by_two_t", "five_by_two_f")
"""Those of :data:`TESTS` that see what a trial holds: one hold-out and 5x2cv."""
FOLDS = [f"half_{i + 1}_{j + 1}" for i in range(N_HALVINGS) for j in range(2)]
DESIGNS = {"hold_out": "hold-out", "five_by_two": "5x2cv"}
QUANTILES = {"q05": 0.05, "q50": 0.5, "q95": 0.95}
CELLS = ["both_right", "only_a_wrong", "only_b_wrong", "both_wrong"]
JUDGED = ["difference", "statistic", "pvalue"]


def tabulate_comparison(
    trials: Mapping[str, Mapping[str, Trials]], alpha: float, scorer: str
) -> dict[str, DataFrame]:
    """Return the tables of all data sets, by the names of their files; ``seconds`` has none."""
    functions = {
        "trials": tabulate_trials, "failures": tabulate_failures, "verdicts": tabulate_verdicts,
        "seconds": tabulate_seconds,
    }  # fmt: skip
    kept = {
        stem: join_data_sets({name: function(own) for name, own in trials.items()}, len(trials))
        for stem, function in functions.items()
    }
    kept["scores"] = tabulate_scores(kept["trials"], lower_is_better=scorer == ERROR)
    kept["rejections"] = tabulate_rejections(kept["verdicts"], alpha)
    return kept


def join_data_sets(tables: Mapping[str, DataFrame], n_data_sets: int) -> DataFrame:
    """Return tables by data set as one whose first column, data, names it; with one data set its table."""
    if n_data_sets == 1:
        return next(iter(tables.values()))
    named = [table.assign(data=name) for name, table in tables.items()]
    joined = concat([table for table in named if len(table)] or named[:1], ignore_index=True)
    return joined[["data", *joined.columns.drop("data")]]


def by_key(table: DataFrame, *names: str) -> Iterator[tuple[dict[str, Any], DataFrame]]:
    """Yield the rows that share a data set, where it is named, and the other `names`, with their values."""
    keys = [*(["data"] if "data" in table else []), *names]
    for values, part in table.groupby(keys, sort=False):
        yield dict(zip(keys, values, strict=True)), part


def of_data_set(table: DataFrame, name: str) -> DataFrame:
    """Return the rows of one data set of a table of :func:`join_data_sets`, without the column data."""
    if "data" not in table:
        return table
    return table[table["data"] == name].drop(columns="data").reset_index(drop=True)


def tabulate_trials(trials: Mapping[str, Trials]) -> DataFrame:
    """Return a row for each estimator and seed: hold-out and ten scores of 5x2cv, empty where it failed."""
    frames = []
    for name, found in trials.items():
        n = len(found.hold_out)
        failed = np.bincount(np.array([place for place, _, _ in found.failures], dtype=int), minlength=n)
        errors = Series((found.right == 0).sum(axis=1), dtype="Int64")
        frame = DataFrame({
            "estimator": name, "seed": np.arange(n), "hold_out_errors": errors.mask(found.right[:, 0] < 0),
            "hold_out": found.hold_out, "five_by_two": found.halves.mean(axis=(1, 2)),
        })  # fmt: skip
        halves = DataFrame(found.halves.reshape(n, -1), columns=FOLDS)
        frames.append(concat([frame, halves], axis=1).assign(n_failed=failed))
    return concat(frames, ignore_index=True)


def tabulate_failures(trials: Mapping[str, Trials]) -> DataFrame:
    """Return a row for each fit that failed: estimator, seed, where and why."""
    rows = [(name, *failure) for name, found in trials.items() for failure in found.failures]
    return DataFrame(rows, columns=["estimator", "seed", "where", "reason"])


def count_right(a: NDArray[np.int8], b: NDArray[np.int8]) -> Ints:
    """Count a hold-out's samples by who is right, as the eight cells that the tests take.

    With more than two classes there is no positive one. The question is put as "was the sample classified
    rightly?": its true answer is always yes, so that both right is e1, only A wrong e2, only B wrong e3, both
    wrong e4, and the four cells of negatives are empty.
    """
    a, b = np.asarray(a, dtype=bool), np.asarray(b, dtype=bool)
    none = np.zeros_like(a)
    cells = [a & b, ~a & b, a & ~b, ~a & ~b, none, none, none, none]
    return np.stack([cell.sum(axis=-1) for cell in cells], axis=-1)


def tabulate_verdicts(trials: Mapping[str, Trials]) -> DataFrame:
    """Return a row for each seed, pair and test; p-values are missing where one of the two failed.

    `pvalue_holm` is adjusted over the pairs of one seed and test; `difference` is A minus B.
    """
    frames = [
        _judge(trials[a], trials[b], test).assign(a=a, b=b, test=test)
        for a, b in itertools.combinations(trials, 2)
        for test in TESTED
    ]
    table = concat(frames).rename_axis("seed").reset_index()
    groups = table.groupby(["seed", "test"], sort=False)["pvalue"]
    table["pvalue_holm"] = groups.transform(lambda pvalues: holm(pvalues.to_numpy()))
    return table[["seed", "a", "b", "test", *CELLS, *JUDGED, "pvalue_holm", "degenerate"]]


def _judge(a: Trials, b: Trials, test: str) -> DataFrame:
    """Return the verdicts on one pair, one row per seed."""
    on_hold_out, d = test in HOLD_OUT, a.halves - b.halves
    valid = np.minimum(a.right, b.right) >= 0 if on_hold_out else np.isfinite(d).reshape(len(d), -1)
    known = np.flatnonzero(valid.all(axis=1))
    columns: dict[str, NDArray[Any]] = {}
    if len(known):
        counts, d = count_right(a.right[known], b.right[known]), d[known]
        seen = Differences(d, d, d, counts, 0, 0)
        result, lean = TESTS[test].test(seen), TESTS[test].lean(seen)
        difference = lean / a.right.shape[1] if on_hold_out else d.mean(axis=(1, 2))
        columns = dict(zip(JUDGED, (difference, result.statistic, result.pvalue), strict=True))
        columns["degenerate"] = result.degenerate.astype(int)
        if on_hold_out:
            columns |= dict(zip(CELLS, counts[:, :4].T, strict=True))
    whole = [*CELLS, "degenerate"]
    frame = DataFrame(columns, index=known).reindex(index=range(len(valid)), columns=[*JUDGED, *whole])
    return frame.astype(dict.fromkeys(JUDGED, float) | dict.fromkeys(whole, "Int64"))


def tabulate_scores(table: DataFrame, lower_is_better: bool) -> DataFrame:
    """Return a row for each estimator and design: mean score over the seeds, t interval and quantiles."""
    rows = []
    for (key, part), design in itertools.product(by_key(table, "estimator"), DESIGNS):
        known = part.set_index("seed")[design].dropna()
        worst = (known.idxmax() if lower_is_better else known.idxmin()) if len(known) else None
        _, low, high = _estimate(mean_interval, known.to_numpy())
        quantiles = {name: known.quantile(share) for name, share in QUANTILES.items()}
        rows.append({
            **key, "design": design, "n_seeds": len(part), "n_missing": len(part) - len(known),
            "mean": known.mean(), "low": low, "high": high, "sd": known.std(), **quantiles,
            "worst": known.max() if lower_is_better else known.min(), "worst_seed": worst,
        })  # fmt: skip
    return DataFrame(rows).astype({"worst_seed": "Int64"})


def _estimate(function: Callable[[Floats], Estimate], values: Floats) -> tuple[float, float, float]:
    """Return an estimate with its interval; NaN where there are fewer than two values."""
    if len(values) < 2:
        return np.nan, np.nan, np.nan
    found = function(values)
    return float(found.value), float(found.low), float(found.high)


def tabulate_rejections(verdicts: DataFrame, alpha: float) -> DataFrame:
    """Return a row for each pair and test: how many of the seeds reject, with a Clopper-Pearson interval."""
    rows = []
    for key, part in by_key(verdicts, "a", "b", "test"):
        known = part[part["pvalue"].notna()]
        n, k, d = len(known), int((known["pvalue"] <= alpha).sum()), known["difference"].to_numpy(float)
        low, high = (float(end) for end in clopper_pearson(k, n)) if n else (np.nan, np.nan)
        _, lowest, highest = _estimate(mean_interval, d)
        effect, effect_low, effect_high = _estimate(cohens_d, d)
        first = part["pvalue"].iloc[0]
        rows.append({
            **key, "n_seeds": len(part), "n_missing": len(part) - n, "n_rejected": k,
             "rate": k / n if n else np.nan, "low": low, "high": high,
            "n_rejected_holm": int((known["pvalue_holm"] <= alpha).sum()),
            "n_degenerate": int(known["degenerate"].sum()),
            "first_seed": "" if np.isnan(first) else str(bool(first <= alpha)),
            "difference": known["difference"].mean(), "difference_low": lowest, "difference_high": highest,
            "cohens_d": effect, "cohens_d_low": effect_low, "cohens_d_high": effect_high,
        })  # fmt: skip
    return DataFrame(rows)


def tabulate_seconds(trials: Mapping[str, Trials]) -> DataFrame:
    """Return median seconds of every estimator; they differ from run to run and have no CSV."""
    rows = [
        (name, *np.median(found.seconds, axis=0).tolist(), float(np.quantile(found.seconds[:, 1], 0.95)))
        for name, found in trials.items()
    ]
    columns = ["estimator", "hold-out, median", "5x2cv, median", "5x2cv, 95 % of the seeds within"]
    return DataFrame(rows, columns=columns)


def table_of_scores(scores: DataFrame) -> DataFrame:
    """Return table 4: per estimator and design the mean over the seeds, its interval, and quantiles."""
    rows = []
    for row, part in by_key(scores, "estimator"):
        for cells in part.to_dict("records"):
            label = DESIGNS[cells["design"]]
            row[f"{label}, mean"] = cells["mean"]
            row[f"{label}, 95 % interval"] = bounds(cells["low"], cells["high"])
            row[f"{label}, 5 to 95 % of seeds"] = bounds(cells["q05"], cells["q95"])
            row[f"{label}, worst"] = cells["worst"]
        row["seeds"] = int(part["n_seeds"].iloc[0])
        row["seeds without a score"] = int(part["n_missing"].max())
        rows.append(row)
    return DataFrame(rows)


def table_of_verdicts(rejections: DataFrame) -> DataFrame:
    """Return table 5: per pair and test the first seed's verdict and the share of seeds that reject."""
    rows = [
        {
            **({"data": row["data"]} if "data" in row else {}),
            "pair": f"{row['a']} - {row['b']}", "test": TESTS[row["test"]].label,
            "seed 0 rejects": row["first_seed"],
            "seeds that reject": f"{row['n_rejected']} of {row['n_seeds'] - row['n_missing']}",
            "share": row["rate"], "95 % interval": bounds(row["low"], row["high"]),
            "after Holm": row["n_rejected_holm"], "degenerate": row["n_degenerate"],
            "difference": row["difference"], "Cohen's d": row["cohens_d"],
            "d, 95 % interval": bounds(row["cohens_d_low"], row["cohens_d_high"], 2),
        }
        for row in rejections.to_dict("records")
    ]  # fmt: skip
    return DataFrame(rows)
