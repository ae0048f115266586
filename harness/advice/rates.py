"""From counted rejections to sizes with their range, power curves and the smallest difference seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from harness.advice.points import POWER, RANGE, SIZE
from harness.intervals import clopper_pearson
from harness.size_power import verdict

if TYPE_CHECKING:
    from pandas import DataFrame

Floats = NDArray[np.float64]

RANGE_QUANTILES = (0.1, 0.9)
SIZES = (
    "pair", "n_documents", "test", "size", "mc_low", "mc_high", "range_low", "range_high", "verdict",
    "degenerate_share", "n_sets",
)  # fmt: skip


def size_table(measured: DataFrame, alpha: float) -> DataFrame:
    """Return each test's size at each number of items, with its error bar and its range.

    Parameters
    ----------
    measured : DataFrame
        Of :func:`harness.advice.points.run_points`.
    alpha : float

    Returns
    -------
    DataFrame
        Columns :data:`SIZES`. `size` is measured on the exact null nearest to the file's own outcomes, with
        its Clopper-Pearson interval of 95 %; `range_low` and `range_high` are the 10 % and 90 %
        quantiles of the size over the nulls of populations that could have given this file, the noise of
        counting taken out; they are known at the file's own number of items and missing at others. `verdict`
        is :func:`harness.size_power.verdict` on the union of both.
    """
    import pandas as pd

    sizes = measured[measured["role"] == SIZE]
    low, high = clopper_pearson(sizes["n_rejected"].to_numpy(), sizes["n_sets"].to_numpy())
    around = measured[measured["role"] == RANGE].groupby(["pair", "n_documents", "test"], sort=False)
    ranges = {
        key: range_of_sizes(part["n_rejected"].to_numpy(), part["n_sets"].iloc[0]) for key, part in around
    }
    rows = []
    for row, bottom, top in zip(sizes.to_dict("records"), low, high, strict=True):
        ends = ranges.get((row["pair"], row["n_documents"], row["test"]), (np.nan, np.nan))
        rows.append(
            (
                row["pair"], row["n_documents"], row["test"], row["n_rejected"] / row["n_sets"], bottom, top,
                *ends, verdict(float(np.fmin(bottom, ends[0])), float(np.fmax(top, ends[1])), alpha),
                row["n_degenerate"] / row["n_sets"], row["n_sets"],
            )
        )  # fmt: skip
    return pd.DataFrame(rows, columns=list(SIZES))


def range_of_sizes(n_rejected: NDArray[np.int64], n_sets: int) -> tuple[float, float]:
    """Return the 10 % and 90 % quantiles of sizes over populations, without the noise of counting.

    Measured rates vary more than the sizes do, by the binomial variance of each; they are drawn towards
    their mean by as much as leaves the variance of the sizes.

    Examples
    --------
    >>> low, high = range_of_sizes(np.random.default_rng(0).binomial(1000, 0.05, 500), 1000)
    >>> bool(0.045 < low <= high < 0.055)  # one size for all: no range
    True
    """
    rates = n_rejected / n_sets
    mean, noise = rates.mean(), (rates * (1 - rates)).mean() / n_sets
    spread = rates.var(ddof=1) if len(rates) > 1 else 0.0
    kept = np.sqrt(max(0.0, 1 - noise / spread)) if spread > 0 else 0.0
    low, high = np.quantile(mean + kept * (rates - mean), RANGE_QUANTILES)
    return float(low), float(high)


def power_table(measured: DataFrame) -> DataFrame:
    """Return each test's power at growing differences: rejections in the right direction.

    Returns
    -------
    DataFrame
        pair, n_documents, test, h, difference, power, mc_low, mc_high, n_sets, power_a, power_b. `power` is
        the mean over both directions, or that in the one in which there is a population; its
        Clopper-Pearson interval is that of the pooled count, which covers at least 95 % (Hoeffding 1956,
        theorem 4). `power_a` is that where A is better by the difference, `power_b` where B is; missing where
        there is no population.

    References
    ----------
    Hoeffding (1956), Annals of Mathematical Statistics 27, 713-721.
    """
    found = measured[measured["role"] == POWER].reset_index(drop=True)
    found["right"] = found["n_rejected"] - found["n_wrong_direction"]
    found["better"] = np.where(found["value"] > 0, "a", "b")
    found["h"], found["difference"] = found["value"].abs(), found["difference"].abs()
    keys = ["pair", "n_documents", "test", "h"]
    table = found.groupby(keys, sort=False, as_index=False).agg(
        difference=("difference", "first"), right=("right", "sum"), n_sets=("n_sets", "sum")
    )
    right, n_sets = table.pop("right").to_numpy(), table.pop("n_sets").to_numpy()
    table["power"], (table["mc_low"], table["mc_high"]) = right / n_sets, clopper_pearson(right, n_sets)
    table["n_sets"] = n_sets
    for better in ("a", "b"):
        own = found[found["better"] == better]
        rates = own[keys].assign(**{f"power_{better}": own["right"] / own["n_sets"]})
        table = table.merge(rates, on=keys, how="left")
    return table


def needed_h(h: Floats, power: Floats, wanted: float) -> float:
    """Return the h at which a power curve passes `wanted`, NaN where it does not within the curve.

    Between points the normal quantile of the power is taken to be linear in h, as it is for a z test.

    Parameters
    ----------
    h, power : float arrays of equal length
        Points of the curve, h ascending.
    wanted : float
        In (0, 1).

    Examples
    --------
    >>> from scipy.special import ndtr
    >>> h = np.array([2.0, 2.5, 3.0])
    >>> round(needed_h(h, ndtr(h - 1.96), 0.8), 3), needed_h(h, ndtr(h - 1.96), 0.95)
    (2.802, nan)
    """
    reached = np.flatnonzero(power >= wanted)
    if not len(reached):
        return float("nan")
    last = int(reached[0])
    before = (h[last - 1], power[last - 1]) if last else (0.0, 0.0)
    quantiles = ndtri(np.clip([before[1], power[last], wanted], 1e-4, 1 - 1e-4))
    if quantiles[1] == quantiles[0]:
        return float(h[last])
    share = (quantiles[2] - quantiles[0]) / (quantiles[1] - quantiles[0])
    return float(before[0] + share * (h[last] - before[0]))


def detectable(power: DataFrame, wanted: float) -> DataFrame:
    """Return the smallest difference that each test sees with power `wanted`, at each number of items.

    At each point of the curve the power is that in the worse of both directions, or that in the only one.

    Returns
    -------
    DataFrame
        pair, n_documents, test, power_wanted, h, difference: the last two missing where the curve ends
        below `wanted`.
    """
    import pandas as pd

    rows = []
    for (pair, n, test), part in power.groupby(["pair", "n_documents", "test"], sort=False):
        at = part.sort_values("h")
        worse = np.fmin(at["power_a"].to_numpy(), at["power_b"].to_numpy())
        h = needed_h(at["h"].to_numpy(), worse, wanted)
        # the difference grows in proportion to h, whatever the population
        per_h = float((at["difference"] / at["h"]).iloc[0])
        rows.append((pair, n, test, wanted, h, h * per_h))
    return pd.DataFrame(rows, columns=["pair", "n_documents", "test", "power_wanted", "h", "difference"])
