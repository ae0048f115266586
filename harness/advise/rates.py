"""From counted rejections to sizes with their range, power curves and the smallest difference seen."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import chdtri, ndtri

from harness.advise.needed import central, counting_noise, ends_around
from harness.evaluation.rates import verdict
from harness.intervals import clopper_pearson
from harness.measures import Floats, Ints

SURE = 0.95  # that an end of a range, its own noise folded in, lies beyond its quantile; for normal data
SIZES = (
    "pair", "n_documents", "test", "size", "mc_low", "mc_high", "range_median", "range_low", "range_high",
    "low", "high", "verdict", "degenerate_share", "n_sets",
)  # fmt: skip


class Range(NamedTuple):
    """Sizes over populations that could have given a file, the noise of counting taken out.

    Quantiles at 50, 10 and 90 %; `low` and `high` hold the 95 % interval of the mean. Of the sure ends each
    lies beyond its quantile in 95 % of runs for normal sizes; with a long tail in 82 to 89 % (simulation).
    """

    median: float
    low: float
    high: float
    sure_low: float
    sure_high: float


def size_table(measured: pd.DataFrame, alpha: float) -> pd.DataFrame:
    """Return each test's size at each number of items, with its error bar, its range and its verdict.

    The range, widened to hold `size`, is missing at other numbers of items than the file's. `low` to `high`
    holds the error bar and the range with its own noise: the verdict, and with it a recommendation, goes by
    these.
    """
    sizes = measured[measured["role"] == "size"]
    bars = clopper_pearson(sizes["n_rejected"].to_numpy(), sizes["n_sets"].to_numpy())
    around = measured[measured["role"] == "range"].groupby(["pair", "n_documents", "test"], sort=False)
    ranges = {
        key: range_of_sizes(part["n_rejected"].to_numpy(), int(part["n_sets"].iloc[0]))
        for key, part in around
    }
    unknown, rows = Range(*[np.nan] * 5), []
    for row, bottom, top in zip(sizes.to_dict("records"), *bars, strict=True):
        key = row["pair"], row["n_documents"], row["test"]
        size, degenerate = (row[name] / row["n_sets"] for name in ("n_rejected", "n_degenerate"))
        own = ranges.get(key, unknown)
        ends = float(np.minimum(own.low, size)), float(np.maximum(own.high, size))
        low, high = float(np.fmin(bottom, own.sure_low)), float(np.fmax(top, own.sure_high))
        judged = low, high, verdict(low, high, alpha)
        rows.append((*key, size, bottom, top, own.median, *ends, *judged, degenerate, row["n_sets"]))
    return pd.DataFrame(rows, columns=list(SIZES))


def range_of_sizes(n_rejected: Ints, n_sets: int) -> Range:
    """Return the median and the central 80 % of sizes over populations, without the noise of counting.

    Measured rates vary more than the sizes do, by the binomial variance of each. They are drawn towards their
    mean by as much as leaves the variance of the sizes; where that comes out as 0 or less, the 95 % interval
    of the mean is left (that of the pooled count, which covers at least 95 %: Hoeffding 1956, Annals of
    Mathematical Statistics 27, 713-721, theorem 4). The sure ends add the errors of the mean and of the
    variance, as for normal data, in quadrature (Zou & Donner 2008, Statistics in Medicine 27, 1693-1702).
    """
    rates, n = n_rejected / n_sets, len(n_rejected)
    mean, spread = rates.mean(), rates.var(ddof=1) if n > 1 else 0.0
    low, high = clopper_pearson(n_rejected.sum(), n * n_sets)
    if spread == 0:
        return Range(mean, float(low), float(high), float(low), float(high))
    noise = (rates * (1 - rates)).mean() / n_sets
    # the variance of the rates is at most so many times what was seen
    at_most = (n - 1) / chdtri(n - 1, SURE)
    kept, most = (np.sqrt(max(0.0, times - noise / spread)) for times in (1.0, at_most))
    shape = np.array(central(rates - mean))
    ends = mean + kept * shape
    error = np.hypot(ndtri(SURE) * np.sqrt(spread / n), (most - kept) * shape)
    bottom, top = float(min(low, ends[0])), float(max(high, ends[1]))
    median = float(mean + kept * np.median(rates - mean))
    sure = max(0.0, min(bottom, ends[0] - error[0])), min(1.0, max(top, ends[1] + error[1]))
    return Range(median, bottom, top, float(sure[0]), float(sure[1]))


def power_table(measured: pd.DataFrame) -> pd.DataFrame:
    """Return each test's power at growing differences: rejections in the right direction.

    `power` is the mean over both directions, with the interval of the pooled count, which covers at least 95
    % (Hoeffding 1956); `power_a` is that where the measure of A is larger, missing without such a population.
    """
    found = measured[measured["role"] == "power"].reset_index(drop=True)
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
    """Return the h at which a power curve, h ascending, passes `wanted`, NaN where it does not.

    Between points the normal quantile of the power is taken to be linear in h, as it is for a z test.
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


def detectable(
    power: pd.DataFrame, wanted: float, around: Mapping[str, Floats], alpha: float
) -> pd.DataFrame:
    """Return the smallest difference that each test sees with power `wanted`, in the worse direction.

    Missing where the curve ends below. The ends are over populations that could have given the file: what is
    seen grows in proportion to the deviation of the difference, `around` of each pair. The noise of counting
    is in them.
    """
    rows = []
    for (pair, n, test), part in power.groupby(["pair", "n_documents", "test"], sort=False):
        at = part.sort_values("h")
        ways = at[["power_a", "power_b"]].to_numpy()
        h = needed_h(at["h"].to_numpy(), np.fmin.reduce(ways, axis=1), wanted)
        # the difference grows in proportion to h, whatever the population
        seen = h * float((at["difference"] / at["h"]).iloc[0])
        own, n_sets = around[str(pair)], int((at["n_sets"] / np.isfinite(ways).sum(axis=1)).min())
        ends = ends_around(seen, seen * own[1:] / own[0], counting_noise(wanted, alpha, n_sets))
        rows.append((pair, n, test, wanted, h, seen, *ends))
    columns = ["pair", "n_documents", "test", "power_wanted", "h", "difference", "low", "high"]
    return pd.DataFrame(rows, columns=columns)
