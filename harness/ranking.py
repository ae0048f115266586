"""Which test to use: size where H0 holds exactly, then power on the real pair, best first."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.papers import (
    FEW_CATEGORIES,
    Panel,
    nulls_alone,
    papers_panels,
    primary_alpha,
    test_name,
)
from harness.size_power import verdict, write_table
from harness.table_text import write_tables
from harness.truth_scores import CANNOT_TELL, interval

if TYPE_CHECKING:
    from pandas import DataFrame

ORDER = ("holds", "conservative", "undecided", "liberal", CANNOT_TELL)
PLACE = ["pair", "balance", "prevalence", "n_documents", "measure"]
RANKING = (
    "panel", *PLACE, "alpha", "rank", "test", "verdict", "size", "size_low", "size_high", "n_categories",
    "n_dead", "size_without_dead", "power", "power_low", "power_high", "power_n_categories",
    "power_adjusted", "alpha_adjusted", "joint_verdict", "joint_size", "joint_low", "joint_high",
)  # fmt: skip
SHOWN = {
    "measure": "measure", "rank": "rank", "test": "test", "verdict": "size says", "size": "size",
    "power": "power", "power_adjusted": "size-adjusted power", "joint_size": "size, joint null",
    "joint_verdict": "joint null says", "dead": "dead / categories", "size_without_dead": "without dead",
}  # fmt: skip


def rank_tests(size_power: DataFrame) -> DataFrame:
    """Rank the tests of each panel, number of documents and measure.

    Tests that hold their level come first, the most powerful before the others; then the conservative
    ones, also by power; then the undecided; then the liberal, the least liberal first.

    Parameters
    ----------
    size_power : DataFrame
        The table ``size_power.csv``. Sizes are those under ``exact_null``, powers those on the real pair;
        both at the primary level, the size-adjusted power from all levels.

    Returns
    -------
    DataFrame
        Columns :data:`RANKING`; no row where ``exact_null`` was not run. `verdict` is
        :func:`harness.size_power.verdict` on the wider of the two intervals of the size, or ``cannot
        tell`` below five categories. `joint_...` is the same under ``joint_null``, empty where it was not
        run. `power_adjusted` is the power at the nominal level `alpha_adjusted` at which the measured size
        is the primary level; empty where no two levels enclose it.

    Examples
    --------
    >>> import pandas as pd
    >>> rank_tests(pd.DataFrame(columns=["truth", "alpha", "kind"])).empty
    True
    """
    import pandas as pd

    table = nulls_alone(size_power)
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
        row = _row(point, points.get(("exact_null", "power"), {}).get(name), alpha)
        row |= _joint(points.get(("joint_null", "size"), {}).get(name), alpha)
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


def _judge(point: Any, alpha: float) -> tuple[float, float, str]:
    low, high = interval(point)
    told = point["n_categories"] >= FEW_CATEGORIES
    return low, high, verdict(low, high, alpha) if told else CANNOT_TELL


def _row(size: Any, power: Any, alpha: float) -> dict[str, Any]:
    low, high, word = _judge(size, alpha)
    row = {name: size[name] for name in (*PLACE, "alpha", "test", "n_categories", "n_dead")}
    row |= {"verdict": word, "size": size["rate"], "size_low": low, "size_high": high}
    row["size_without_dead"] = size["rate_without_dead"]
    power_low, power_high = (np.nan, np.nan) if power is None else interval(power)
    row |= {"power": np.nan if power is None else power["rate"], "power_low": power_low}
    return row | {
        "power_high": power_high,
        "power_n_categories": 0 if power is None else int(power["n_categories"]),
    }


def _joint(point: Any, alpha: float) -> dict[str, Any]:
    if point is None:
        return {"joint_verdict": "", "joint_size": np.nan, "joint_low": np.nan, "joint_high": np.nan}
    low, high, word = _judge(point, alpha)
    return {"joint_verdict": word, "joint_size": point["rate"], "joint_low": low, "joint_high": high}


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
    alpha : float

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
    power = -row["power"] if row["power"] == row["power"] else 1.0
    first = row["size"] if row["verdict"] == "liberal" else power
    return ORDER.index(row["verdict"]), float(first), -float(row["size"])


def recommend(ranked: DataFrame) -> Any:
    """Return the row of the test to use at one place: the most powerful that holds its level.

    Where none holds, the least conservative of those that are not liberal; None where all are.

    Parameters
    ----------
    ranked : DataFrame
        Rows of :func:`rank_tests` of one panel, number of documents and measure.
    """
    holds = ranked[ranked["verdict"] == "holds"]
    if len(holds):
        return holds.iloc[0]
    safe = ranked[ranked["verdict"].isin(["conservative", "undecided"])]
    below = safe[safe["size"] <= 1.2 * safe["alpha"]]  # an undecided one may look liberal
    if below.empty:
        return None if safe.empty else safe.sort_values("size", kind="stable").iloc[0]
    return below.sort_values("size", ascending=False, kind="stable").iloc[0]


def recommendation(ranked: DataFrame) -> str:
    """Return :func:`recommend` in words, without a stop."""
    best = recommend(ranked)
    if best is None:
        told = (ranked["verdict"] == "liberal").any()
        return "none: every test is liberal" if told else "cannot tell, for too few categories qualify"
    size = f"size {best['size']:.3f} [{best['size_low']:.3f}, {best['size_high']:.3f}]"
    power = f", power {best['power']:.2f}" if best["power"] == best["power"] else ""
    word = "it holds" if best["verdict"] == "holds" else f"none holds; {best['verdict']}"
    return f"{test_name(best['test'])} ({word}, {size}{power})"


def write_ranking(out: Path, size_power: DataFrame) -> list[Path]:
    """Write ``tables/ranking.csv``, ``.md`` and ``.tex``; nothing where no exact null was run."""
    ranked = rank_tests(size_power)
    if ranked.empty:
        return []
    alpha = primary_alpha(size_power)
    folder = out / "tables"
    write_table(ranked, folder / "ranking.csv")
    parts = []
    places = ranked.groupby(["panel", "n_documents"], sort=False)
    for place, ((panel, n_documents), part) in enumerate(places):
        use = "; ".join(
            f"{name}: {recommendation(rows)}" for name, rows in part.groupby("measure", sort=False)
        )
        parts.append((f"{panel}, N = {n_documents}. To use: {use}.", _shown(part)))
        if place == 0:
            parts[0] = (f"{_explain(alpha)} {parts[0][0]}", parts[0][1])
    return [folder / "ranking.csv", *write_tables(folder, "ranking", parts)]


def _explain(alpha: float) -> str:
    return (
        f"Tests by panel and N at alpha = {alpha:g}: size on populations in which H0 of the test's own "
        "measure holds exactly, power on the real pairs. In brackets the wider of the Monte Carlo interval "
        "and the bootstrap over categories. Tests that hold come first, by power; then the conservative, the "
        "undecided and the liberal. Size-adjusted power: at the nominal level at which the measured size is "
        f"{alpha:g}; empty where the levels that were run do not reach it."
    )


def _shown(part: DataFrame) -> DataFrame:
    shown = part.assign(
        test=[test_name(name) for name in part["test"]],
        rank=part["rank"].astype(str),
        size=[_with_interval(*row) for row in part[["size", "size_low", "size_high"]].to_numpy(float)],
        power=[_with_interval(*row) for row in part[["power", "power_low", "power_high"]].to_numpy(float)],
        dead=[f"{dead} / {n}" for dead, n in part[["n_dead", "n_categories"]].itertuples(index=False)],
    )
    return shown[list(SHOWN)].rename(columns=SHOWN)


def _with_interval(rate: float, low: float, high: float) -> str:
    return "" if rate != rate else f"{rate:.3f} [{low:.3f}, {high:.3f}]"
