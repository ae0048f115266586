"""How far rates move between runs that differ in one setting, such as the seed, which draws D_tr."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from pandas import DataFrame

from harness.collect.join import Run, differing_settings
from harness.errors import UserError
from harness.evaluation.rates import verdict
from harness.results.category_verdicts import SINGLE
from harness.results.folder import Results
from harness.results.names import read_table
from harness.results.truth_scores import interval

POINT = ("pair", "balance", "truth", "measure", "test", "alpha", "n_documents", "kind", "prevalence")
SPREAD_COLUMNS = (
    *POINT, "n_runs", "rate", "rate_sd", "rate_low", "rate_high", "mc_sd", "n_categories_low",
    "n_categories_high", *(f"n_{word}" for word in SINGLE),
)  # fmt: skip
NO_MATTER = ("out", "cache", "device", "parallel", "figure")
"""Settings that leave every number of a table as it is."""
Z = 1.959963984540054  # the Monte Carlo intervals hold 95 %


def read_runs(runs: Sequence[Run], over: str) -> dict[str, Results]:
    """Return each run, by the value of the setting in which the runs differ."""
    differing = differing_settings(runs)
    if over not in differing:
        raise UserError(f"spread={over}: the runs do not differ in it; at least two of its values are needed")
    others = sorted(key for key in set(differing) - {over} if key.split(".")[0] not in NO_MATTER)
    if others:
        raise UserError(
            f"spread={over}: the runs differ in {', '.join(others)} too; a folder whose runs differ in "
            f"{over} alone is needed"
        )
    values = differing[over]
    twice = sorted({value for value in values if values.count(value) > 1})
    if twice:
        raise UserError(f"spread={over}: several runs have {over}={twice[0]}; one of each is needed")
    return {value: Results(run.folder) for value, run in zip(values, runs, strict=True)}


def tabulate_spread(tables: Mapping[str, DataFrame]) -> DataFrame:
    """Return one row a point: mean, standard deviation and range of its rate over the runs.

    Returns
    -------
    DataFrame
        Columns `SPREAD_COLUMNS`. `rate` is the mean over the `n_runs` runs in which some category qualifies,
        `rate_sd` their standard deviation (n - 1; missing for one run), `rate_low` and `rate_high` the
        extremes. `mc_sd` is what the evaluation sets alone would make of it: the root mean square of the
        runs' Monte Carlo standard errors. `n_holds` to `n_undecided` count the runs by
        where the mean size over categories lies (:func:`harness.evaluation.rates.verdict`).

    Examples
    --------
    >>> import pandas as pd
    >>> from harness.results.names import COLUMNS
    >>> point = dict.fromkeys(COLUMNS, 0.05) | {"kind": "size", "n_categories": 9}
    >>> tables = {"0": pd.DataFrame([point]), "1": pd.DataFrame([point | {"rate": 0.07}])}
    >>> tabulate_spread(tables)[["n_runs", "rate", "rate_low", "rate_high"]].to_numpy().round(3).tolist()
    [[2.0, 0.06, 0.05, 0.07]]
    """
    joined = pd.concat([_judged(table) for table in tables.values()], ignore_index=True)
    groups = joined.groupby(list(POINT), sort=False, dropna=False)
    rate = groups["rate"]
    found = pd.DataFrame({
        "n_runs": rate.count(), "rate": rate.mean(), "rate_sd": rate.std(ddof=1), "rate_low": rate.min(),
        "rate_high": rate.max(), "mc_sd": groups["mc_variance"].mean() ** 0.5,
        "n_categories_low": groups["n_categories"].min(), "n_categories_high": groups["n_categories"].max(),
        **{f"n_{word}": groups[word].sum() for word in SINGLE},
    })  # fmt: skip
    return found.reset_index()[list(SPREAD_COLUMNS)]


def _judged(table: DataFrame) -> DataFrame:
    """Return a run's table with its Monte Carlo variances and a column of 0 and 1 for each verdict."""
    words = table.apply(_word, axis=1, result_type="reduce")
    variance = ((table["mc_high"] - table["mc_low"]) / (2 * Z)) ** 2
    return table.assign(mc_variance=variance, **{word: (words == word).astype(int) for word in SINGLE})


def _word(point: Any) -> str:
    if point["kind"] != "size" or point["rate"] != point["rate"]:
        return ""
    return verdict(*interval(point), point["alpha"])


def read_spread(folder: Path) -> DataFrame:
    """Read ``spread.csv``."""
    text = ("pair", "balance", "truth", "measure", "test", "kind")
    numbers = [name for name in SPREAD_COLUMNS if name not in text]
    return read_table(folder / "spread.csv", SPREAD_COLUMNS, numbers)
