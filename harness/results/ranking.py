"""Which test to use: sizes over categories where H0 holds exactly, then power on the real pair."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from harness.results.category_verdicts import (
    CELLS_NOTE,
    DISTRIBUTION,
    category_verdict,
    distribution_cells,
    distribution_words,
    why_unknown,
)
from harness.results.names import (
    Panel,
    nulls_alone,
    papers_panels,
    primary_alpha,
    test_name,
)
from harness.results.truth_scores import CANNOT_TELL, interval

if TYPE_CHECKING:
    from pandas import DataFrame

CLASSES = {"holds": 0, "conservative": 1, "undecided": 1, "liberal": 2, CANNOT_TELL: 3}
PLACE = ["pair", "balance", "prevalence", "n_documents", "measure"]
RANKING = (
    "panel", *PLACE, "alpha", "rank", "test", "verdict", "n_sets", "n_categories", *DISTRIBUTION, "size",
    "size_low", "size_high", "power", "power_low", "power_high", "power_n_categories", "power_adjusted",
    "alpha_adjusted", "joint_verdict", "joint_median", "joint_worst", "joint_n_liberal_holm", "joint_size",
    "joint_low", "joint_high",
)  # fmt: skip
SHOWN = {
    "measure": "measure", "rank": "rank", "test": "test",
    **{name: name for name in ("by category", "live / categories", "sets", "median", "10-90 %", "worst",
                               "H / L / C / ?", "L after Holm")},
    "size": "mean size", "power": "mean power", "power_adjusted": "size-adjusted power",
    "joint_verdict": "by category, joint null",
}  # fmt: skip


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
    import pandas as pd

    table = nulls_alone(size_power).reindex(columns=list(dict.fromkeys([*size_power, *DISTRIBUTION])))
    sizes = table[(table["truth"] == "exact_null") & (table["kind"] == "size")]
    if sizes.empty:
        return pd.DataFrame(columns=list(RANKING))
    alpha = primary_alpha(size_power)
    key = [*PLACE, "test"]
    points = {
        (truth, kind): {_key(point, key): point for point in part.to_dict("records")}
        for (truth, kind), part in table[table["alpha"] == alpha].groupby(["truth", "kind"])
    }
    levels: dict[tuple[Any, ...], dict[float, float]] = {}
    for point in table[table["truth"] == "exact_null"].to_dict("records"):
        levels.setdefault((point["kind"], *_key(point, key)), {})[point["alpha"]] = point["rate"]
    titles = {
        (panel.pair, panel.balance): panel.title for panel in papers_panels(size_power) if panel.balance
    }
    rows = []
    for name, point in points["exact_null", "size"].items():
        row = _row(point, points.get(("exact_null", "power"), {}).get(name))
        row |= _joint(points.get(("joint_null", "size"), {}).get(name))
        row |= _adjusted(levels["size", *name], levels.get(("power", *name), {}), alpha)
        row["panel"] = titles.get((point["pair"], point["balance"])) or panel_title(point)
        rows.append(row)
    found = pd.DataFrame(rows)
    found["order"] = [_order(row) for row in rows]
    places = found[["panel", *PLACE]].drop_duplicates()
    order = list(dict.fromkeys([*titles.values(), *places["panel"]]))
    places["panel_place"] = [order.index(name) for name in places["panel"]]
    places = places.sort_values(["panel_place", "n_documents"], kind="stable")[PLACE]
    places["place"] = np.arange(len(places))
    found = found.merge(places, on=PLACE).sort_values(["place", "order"], kind="stable")
    found["rank"] = found.groupby("place").cumcount() + 1
    return found[list(RANKING)].reset_index(drop=True)


def panel_title(point: Any) -> str:
    """Return the heading of a panel that the paper does not have, with its prevalence if rescaled."""
    title = Panel("", str(point["pair"]), str(point["balance"]), "").title
    prevalence = float(point["prevalence"])
    return title if np.isnan(prevalence) else f"{title} to {100 * prevalence:g} % positives"


def _values(name: Any) -> tuple[Any, ...]:
    return tuple("" if value != value else value for value in name)


def _key(point: Any, names: list[str]) -> tuple[Any, ...]:
    return _values(point[name] for name in names)


def _row(size: Any, power: Any) -> dict[str, Any]:
    low, high = interval(size)
    row = {name: size[name] for name in (*PLACE, "alpha", "test", "n_sets", "n_categories", *DISTRIBUTION)}
    row |= {"verdict": category_verdict(size), "size": size["rate"], "size_low": low, "size_high": high}
    power_low, power_high = (np.nan, np.nan) if power is None else interval(power)
    row |= {"power": np.nan if power is None else power["rate"], "power_low": power_low}
    return row | {
        "power_high": power_high,
        "power_n_categories": 0 if power is None else int(power["n_categories"]),
    }


def _joint(point: Any) -> dict[str, Any]:
    told = ("median", "worst", "n_liberal_holm")
    if point is None:
        names = (*told, "size", "low", "high")
        return {"joint_verdict": "", **{f"joint_{name}": np.nan for name in names}}
    low, high = interval(point)
    row = {"joint_verdict": category_verdict(point), **{f"joint_{name}": point[name] for name in told}}
    return row | {"joint_size": point["rate"], "joint_low": low, "joint_high": high}


def _adjusted(sizes: dict[float, float], powers: dict[float, float], alpha: float) -> dict[str, float]:
    levels = sorted(sizes.keys() & powers.keys())
    rates = [sizes[level] for level in levels], [powers[level] for level in levels]
    at, power = size_adjusted(levels, *rates, alpha)
    return {"alpha_adjusted": at, "power_adjusted": power}


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


def _order(row: dict[str, Any]) -> tuple[int, float, float]:
    told = row["verdict"] != CANNOT_TELL and row["power"] == row["power"]
    power = -row["power"] if told else 1.0  # what cannot be judged keeps its order
    n_liberal = row["n_liberal_holm"] if row["verdict"] == "liberal" else 0
    return CLASSES[row["verdict"]], float(n_liberal), float(power)


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
    told = f"{test_name(first['test'])} ({distribution_words(first)}{power}{sets})"
    return told if recommend(ranked) is not None else f"none holds by category; least liberal: {told}"


def ranking_parts(ranked: DataFrame) -> list[tuple[str, DataFrame]]:
    """Return the captioned tables of a ranking, one a panel and N."""
    parts = []
    for place, ((panel, n), part) in enumerate(ranked.groupby(["panel", "n_documents"], sort=False)):
        use = "; ".join(
            f"{name}: {recommendation(rows)}" for name, rows in part.groupby("measure", sort=False)
        )
        explained = f"{_explain(part['alpha'].iloc[0])} " if place == 0 else ""
        parts.append((f"{explained}{panel}, N = {n}. To use: {use}.", _shown(part)))
    return parts


def _explain(alpha: float) -> str:
    return (
        f"Tests by panel and N at alpha = {alpha:g}: size on populations in which H0 of the test's own "
        f"measure holds exactly, power on the real pairs. {CELLS_NOTE} Tests that hold by category come "
        "first, by power; then those liberal in no category after Holm, by power; then the liberal, fewest "
        "categories first. Means are over all categories, dead ones too; in brackets the wider of the Monte "
        "Carlo interval and the bootstrap over categories. Size-adjusted power: at the nominal level where "
        f"the mean size is {alpha:g}; empty where the levels that were run do not reach it."
    )


def _shown(part: DataFrame) -> DataFrame:
    import pandas as pd

    cells = pd.DataFrame([distribution_cells(row) for row in part.to_dict("records")], index=part.index)
    shown = part.assign(
        test=[test_name(name) for name in part["test"]],
        rank=part["rank"].astype(str),
        size=[_with_interval(*row) for row in part[["size", "size_low", "size_high"]].to_numpy(float)],
        power=[_with_interval(*row) for row in part[["power", "power_low", "power_high"]].to_numpy(float)],
        **cells,
    )
    return shown[list(SHOWN)].rename(columns=SHOWN)


def _with_interval(rate: float, low: float, high: float) -> str:
    return "" if rate != rate else f"{rate:.3f} [{low:.3f}, {high:.3f}]"
