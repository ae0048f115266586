"""Which test to use: sizes over categories where H0 holds exactly, then power on the real pair."""

from typing import Any

import numpy as np
from pandas import DataFrame, Index

from harness.results import names
from harness.results.category_verdicts import DISTRIBUTION, category_verdict, distribution_words, why_unknown
from harness.results.truth_scores import CANNOT_TELL

CLASSES = {"holds": 0, "conservative": 1, "undecided": 1, "liberal": 2, CANNOT_TELL: 3}
PLACE = ["pair", "balance", "prevalence", "n_documents", "measure"]
KEY = [*PLACE, "test"]
JOINT = ("verdict", "median", "worst", "n_liberal_holm", "size", "low", "high")
RANKING: list[str] = names.KNOWN["columns"]["ranking"]


def rank_tests(size_power: DataFrame) -> DataFrame:
    """Rank the tests of each panel, number of documents and measure.

    Tests that hold by category come first, the most powerful before the others; then those that are liberal
    in no category after Holm, also by power; then the liberal, those in the fewest categories first; last
    those of which we cannot tell.

    Returns
    -------
    DataFrame
        Columns :data:`RANKING`; no row where ``exact_null`` was not run. `verdict` is
        that by category. `size` is the mean over all categories, with the
        wider of its two intervals. `joint_...` is the same under ``joint_null``, empty where it was not
        run. `power_adjusted` is the power at the nominal level `alpha_adjusted` at which the mean size
        is the primary level; empty where no two levels enclose it.

    Examples
    --------
    >>> import pandas as pd
    >>> rank_tests(pd.DataFrame(columns=["truth", "alpha", "kind"])).empty
    True
    """
    table = names.nulls_alone(size_power).reindex(columns=list(dict.fromkeys([*size_power, *DISTRIBUTION])))
    exact = table[table["truth"] == "exact_null"]
    if not (exact["kind"] == "size").any():
        return DataFrame(columns=list(RANKING))
    alpha = names.primary_alpha(size_power)
    found = _points(exact, "size", alpha)
    found = found.rename(columns={"rate": "size", "low": "size_low", "high": "size_high"})
    power = _points(exact, "power", alpha)[[*KEY, "rate", "low", "high", "n_categories"]]
    power.columns = Index([*KEY, "power", "power_low", "power_high", "power_n_categories"])
    joint = _points(table[table["truth"] == "joint_null"], "size", alpha).rename(columns={"rate": "size"})
    joint = joint[[*KEY, *JOINT]].rename(columns={name: f"joint_{name}" for name in JOINT})
    for beside in (power, joint, _adjusted(exact, alpha)):
        found = found.merge(beside, how="left", on=KEY)
    found["power_n_categories"] = found["power_n_categories"].fillna(0).astype(int)
    found["joint_verdict"] = found["joint_verdict"].astype(object).fillna("")
    panels = (panel for panel in names.papers_panels(size_power) if panel.balance)
    return _in_order(found, {(panel.pair, panel.balance): panel.title for panel in panels})


def _points(table: DataFrame, kind: str, alpha: float) -> DataFrame:
    """Return the points of one kind and level, with the wider of their intervals and their verdicts."""
    points = table[(table["kind"] == kind) & (table["alpha"] == alpha)]
    return points.assign(
        low=points[["mc_low", "category_low"]].min(axis=1).astype(float),
        high=points[["mc_high", "category_high"]].max(axis=1).astype(float),
        verdict=[category_verdict(point) for point in points.to_dict("records")],
    )


def _in_order(found: DataFrame, titles: dict[tuple[str, str], str]) -> DataFrame:
    """Return the points with panel and rank: the paper's panels first, then N, then from best to worst."""
    points = found.to_dict("records")
    panels = [titles.get((point["pair"], point["balance"])) or panel_title(point) for point in points]
    order = list(dict.fromkeys([*titles.values(), *panels]))
    told = (found["verdict"] != CANNOT_TELL) & found["power"].notna()
    found = found.assign(
        panel=panels, first=[order.index(panel) for panel in panels],
        place=found.groupby(PLACE, dropna=False, sort=False).ngroup(), standing=found["verdict"].map(CLASSES),
        rejecting=found["n_liberal_holm"].where(found["verdict"] == "liberal", 0).astype(float),
        weakness=(-found["power"]).where(told, 1.0),  # what cannot be judged keeps its order
    ).sort_values(["first", "n_documents", "place", "standing", "rejecting", "weakness"])  # fmt: skip
    found["rank"] = found.groupby("place").cumcount() + 1
    return found[list(RANKING)].reset_index(drop=True)


def panel_title(point: Any) -> str:
    """Return the heading of a panel that the paper does not have, with its prevalence if rescaled."""
    title = names.Panel("", str(point["pair"]), str(point["balance"]), "").title
    prevalence = float(point["prevalence"])
    return title if np.isnan(prevalence) else f"{title} to {100 * prevalence:g} % positives"


def _adjusted(exact: DataFrame, alpha: float) -> DataFrame:
    """Return the power of each test at the level at which its mean size is `alpha`."""
    sizes, powers = (exact.loc[exact["kind"] == kind, [*KEY, "alpha", "rate"]] for kind in ("size", "power"))
    levels = sizes.merge(powers, on=[*KEY, "alpha"], suffixes=("", "_power")).sort_values("alpha")
    rows = [
        (*key, *size_adjusted(part["alpha"], part["rate"], part["rate_power"], alpha))
        for key, part in levels.groupby(KEY, dropna=False, sort=False)
    ]
    return DataFrame(rows, columns=[*KEY, "alpha_adjusted", "power_adjusted"]).astype(exact[KEY].dtypes)


def size_adjusted(levels: Any, sizes: Any, powers: Any, alpha: float) -> tuple[float, float]:
    """Return the nominal level at which the measured size is `alpha`, and the power there.

    Between two levels the logarithms of level and size are interpolated linearly, and the power
    linearly in the logarithm of the level.

    Parameters
    ----------
    levels, sizes, powers : float arrays, shape (n_levels,)
        In order of rising level.

    Returns
    -------
    level, power : float
        NaN where no two levels have sizes on either side of `alpha`.

    Examples
    --------
    >>> level, power = size_adjusted([0.01, 0.1], [0.02, 0.2], [0.3, 0.5], 0.02 * 10**0.5)
    >>> round(level, 4), round(power, 4)
    (0.0316, 0.4)
    """
    levels, sizes, powers = (np.asarray(values, dtype=float) for values in (levels, sizes, powers))
    kept = (sizes > 0) & np.isfinite(powers)
    if not kept.any() or not sizes[kept].min() <= alpha <= sizes[kept].max():
        return float("nan"), float("nan")
    x, y = np.log(levels[kept]), np.maximum.accumulate(np.log(sizes[kept]))
    at = float(np.interp(np.log(alpha), y, x))
    return float(np.exp(at)), float(np.interp(at, x, powers[kept]))


def recommend(ranked: DataFrame) -> Any:
    """Return the row of the test to use at one place: the most powerful that holds by category, or None."""
    first = ranked.iloc[0]
    return first if first["verdict"] == "holds" else None


def recommendation(ranked: DataFrame) -> str:
    """Return :func:`recommend` in words, without a stop; where none holds, the least liberal test."""
    first = ranked.iloc[0]  # where none holds, the order puts the least liberal first
    if first["verdict"] == CANNOT_TELL:
        return f"cannot tell ({why_unknown(first)})"
    power = f", mean power {first['power']:.2f}" if first["power"] == first["power"] else ""
    fewer = first["n_sets"] < ranked["n_sets"].max()  # and so it is found liberal less easily than others
    sets = f", from {int(first['n_sets']):,} sets a category" if fewer else ""
    told = f"{names.test_name(first['test'])} ({distribution_words(first)}{power}{sets})"
    return told if recommend(ranked) is not None else f"none holds by category; least liberal: {told}"
