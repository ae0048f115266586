"""Tables of a comparison of estimators: trials, failures, error rates, seconds; one data set or several."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from harness.compare.splits import N_HALVINGS
from harness.compare.trials import Trials
from harness.compare.verdicts import TESTS, tabulate_rejections, tabulate_verdicts
from harness.significance.effect_size import mean_interval

if TYPE_CHECKING:
    from pandas import DataFrame

FOLDS = [f"half_{i + 1}_{j + 1}" for i in range(N_HALVINGS) for j in range(2)]
DESIGNS = {"hold_out": "hold-out", "five_by_two": "5x2cv"}
QUANTILES = (0.05, 0.5, 0.95)


def tabulate_comparison(trials: Mapping[str, Trials], alpha: float, scorer: str) -> dict[str, DataFrame]:
    """Return the tables of one data set, by the names of their files."""
    kept = {"trials": tabulate_trials(trials), "failures": tabulate_failures(trials)}
    kept["verdicts"] = tabulate_verdicts(trials)
    kept["scores"] = tabulate_scores(kept["trials"], lower_is_better=scorer == "error")
    kept["rejections"] = tabulate_rejections(kept["verdicts"], alpha)
    return kept


def join_data_sets(tables: Mapping[str, DataFrame], n_data_sets: int) -> DataFrame:
    """Return tables of several data sets as one whose first column, data, names them.

    Where only one data set is compared its table is returned as it is, without that column.

    Parameters
    ----------
    tables : mapping of str to DataFrame
        A table for each data set that has one, all of the same columns; at least one.
    n_data_sets : int
        How many are compared.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"x": [1, 2]})
    >>> join_data_sets({"wine": table, "iris": table[:1]}, 2)["data"].tolist()
    ['wine', 'wine', 'iris']
    """
    import pandas as pd

    if n_data_sets == 1:
        return next(iter(tables.values()))
    named = [table.assign(data=name) for name, table in tables.items()]
    joined = pd.concat([table for table in named if len(table)] or named[:1], ignore_index=True)
    return joined[["data", *(column for column in joined if column != "data")]]


def of_data_set(table: DataFrame, name: str) -> DataFrame:
    """Return the rows of one data set of a table of :func:`join_data_sets`, without the column data."""
    if "data" not in table:
        return table
    return table[table["data"] == name].drop(columns="data").reset_index(drop=True)


def tabulate_trials(trials: Mapping[str, Trials]) -> DataFrame:
    """Return a row for each estimator and seed: hold-out and ten scores of 5x2cv, empty where it failed."""
    import pandas as pd

    frames = []
    for name, found in trials.items():
        failed = pd.Series([place for place, _, _ in found.failures], dtype=int).value_counts()
        seeds = np.arange(len(found.hold_out))
        frames.append(
            pd.DataFrame(
                {
                    "estimator": name,
                    "seed": seeds,
                    "hold_out_errors": pd.array(
                        [int((row == 0).sum()) if row[0] >= 0 else None for row in found.right], dtype="Int64"
                    ),
                    "hold_out": found.hold_out,
                    "five_by_two": found.halves.mean(axis=(1, 2)),
                    **dict(zip(FOLDS, found.halves.reshape(len(seeds), -1).T, strict=True)),
                    "n_failed": failed.reindex(seeds, fill_value=0).to_numpy(),
                }
            )
        )
    return pd.concat(frames, ignore_index=True)


def tabulate_failures(trials: Mapping[str, Trials]) -> DataFrame:
    """Return a row for each fit that failed: estimator, seed, where and why."""
    import pandas as pd

    rows = [(name, *failure) for name, found in trials.items() for failure in found.failures]
    return pd.DataFrame(rows, columns=["estimator", "seed", "where", "reason"])


def tabulate_scores(table: DataFrame, lower_is_better: bool) -> DataFrame:
    """Return a row for each estimator and design: mean score over the seeds, t interval and quantiles.

    Parameters
    ----------
    table : DataFrame
        Of :func:`tabulate_trials`.
    lower_is_better : bool
        Which end of the scores is the worst.
    """
    import pandas as pd

    rows = []
    for name, part in table.groupby("estimator", sort=False):
        for design in DESIGNS:
            known = part.set_index("seed")[design].dropna()
            values = known.to_numpy()
            worst = (known.idxmax() if lower_is_better else known.idxmin()) if len(known) else None
            mean = mean_interval(values) if len(values) > 1 else None
            marks = np.quantile(values, QUANTILES) if len(values) else [np.nan] * 3
            rows.append(
                {
                    "estimator": name, "design": design, "n_seeds": len(part),
                    "n_missing": len(part) - len(values),
                    "mean": values.mean() if len(values) else np.nan,
                    "low": float(mean.low) if mean else np.nan, "high": float(mean.high) if mean else np.nan,
                    "sd": values.std(ddof=1) if len(values) > 1 else np.nan,
                    **{f"q{round(100 * q):02d}": mark for q, mark in zip(QUANTILES, marks, strict=True)},
                    "worst": (values.max() if lower_is_better else values.min()) if len(known) else np.nan,
                    "worst_seed": worst,
                }
            )  # fmt: skip
    return pd.DataFrame(rows).astype({"worst_seed": "Int64"})


def tabulate_seconds(trials: Mapping[str, Trials]) -> DataFrame:
    """Return a row for each estimator: median seconds of training and predicting, per design.

    They differ from run to run: this table is written as text only, never as a CSV.
    """
    import pandas as pd

    rows = []
    for name, found in trials.items():
        hold_out, halves = (np.median(column) for column in found.seconds.T)
        slow = np.quantile(found.seconds[:, 1], 0.95)
        rows.append((name, float(hold_out), float(halves), float(slow)))
    columns = ["estimator", "hold-out, median", "5x2cv, median", "5x2cv, 95 % of the seeds within"]
    return pd.DataFrame(rows, columns=columns)


def table_of_scores(scores: DataFrame) -> DataFrame:
    """Return table 4: per estimator and design the mean over the seeds, its interval, and quantiles."""
    import pandas as pd

    rows = []
    for name, part in scores.groupby("estimator", sort=False):
        row: dict[str, object] = {"estimator": name}
        for design, label in DESIGNS.items():
            cells = part[part["design"] == design].iloc[0]
            row[f"{label}, mean"] = cells["mean"]
            row[f"{label}, 95 % interval"] = bounds(cells["low"], cells["high"])
            row[f"{label}, 5 to 95 % of seeds"] = bounds(cells["q05"], cells["q95"])
            row[f"{label}, worst"] = cells["worst"]
        row["seeds"] = int(part["n_seeds"].iloc[0])
        row["seeds without a score"] = int(part["n_missing"].max())
        rows.append(row)
    return pd.DataFrame(rows)


def table_of_verdicts(rejections: DataFrame) -> DataFrame:
    """Return table 5: per pair and test the first seed's verdict and the share of seeds that reject."""
    import pandas as pd

    rows = [
        {
            "pair": f"{row['a']} - {row['b']}",
            "test": TESTS[row["test"]][0],
            "seed 0 rejects": row["first_seed"],
            "seeds that reject": f"{row['n_rejected']} of {row['n_seeds'] - row['n_missing']}",
            "share": row["rate"],
            "95 % interval": bounds(row["low"], row["high"]),
            "after Holm": row["n_rejected_holm"],
            "degenerate": row["n_degenerate"],
            "difference": row["difference"],
            "Cohen's d": row["cohens_d"],
            "d, 95 % interval": bounds(row["cohens_d_low"], row["cohens_d_high"], 2),
        }
        for row in rejections.to_dict("records")
    ]
    return pd.DataFrame(rows)


def bounds(low: float, high: float, digits: int = 3) -> str:
    """Return an interval as text, empty where there is none.

    Examples
    --------
    >>> bounds(0.01, 0.2), bounds(float("nan"), 0.2)
    ('[0.010, 0.200]', '')
    """
    return "" if np.isnan(low) or np.isnan(high) else f"[{low:.{digits}f}, {high:.{digits}f}]"
