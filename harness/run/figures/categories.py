"""How the sizes of a test spread over categories, and which categories make it liberal."""

from functools import partial
from typing import Any

import numpy as np
from pandas import DataFrame

from harness import measures
from harness.drawing.grid import Cell, Grid, Row, Space
from harness.drawing.layout import Axis
from harness.drawing.marks import aside, bar_width, count_categories, count_handles, top_of
from harness.drawing.save import Build
from harness.drawing.style import GREY, Look, level_handles, mark, patch, style_of
from harness.evaluation.rates import verdict
from harness.results import names
from harness.results.folder import Results
from harness.run.figures.rates import MEASURES, ROOM, Study, families, panels_of, where
from harness.writing.prose import paragraph

NUMBERS = (
    "alpha", "n_documents", "n_sets", "n_live", "n_categories", "median", "q10", "q90", "worst", "worst_low",
    "worst_again",
)  # fmt: skip
COLUMNS = ("pair", "balance", "truth", "measure", "test", *NUMBERS)
POINT = ["pair", "balance", "truth", "measure", "test", "alpha", "n_documents"]
WORST: dict[str, Any] = {"linestyle": "none", "marker": "_", "markersize": 5, "markeredgewidth": 1.2}
MEAN: dict[str, Any] = {
    "linestyle": (0, (2, 1.5)), "linewidth": 0.8, "marker": "x", "markersize": 2.6, "markeredgewidth": 0.6
}  # fmt: skip
AGAIN: dict[str, Any] = {
    "linestyle": "none", "marker": "o", "markersize": 2.8, "markeredgewidth": 0.7, "markerfacecolor": "white"
}  # fmt: skip
VERDICTS = {"conservative": "#3b4a92", "undecided": "#b4b4b4", "holds": "#1f8f89", "liberal": "#c2185b"}
SHOWN: list[str] = names.KNOWN["choices"]["liberal"]  # one by one
PROPERTIES = {"expected": "expected discordances", "positive": "share of positives", "f1": "F1 of the null"}


def plan_categories(results: Results, x_axis: str) -> dict[str, Build]:
    """Return the figures of sizes over categories; none where the run left no sizes by category."""
    if not results.has("size_by_category.csv"):
        return {}
    sizes = measured(results.read("size_by_category.csv", COLUMNS, NUMBERS))
    jobs: dict[str, Build] = {}
    run = [str(measure) for measure in sizes["measure"].unique()]
    for measure in sorted(run, key=lambda name: [*MEASURES, name].index(name)):
        rows = sizes[sizes["measure"] == measure]
        if rows["median"].notna().any():
            stem = f"figure_size_by_category_{measure}"
            jobs[stem] = partial(size_figure, rows, results.table, x_axis=x_axis)
    shown = sizes[(sizes["truth"] == "exact_null") & sizes["measure"].isin(MEASURES)]
    needed = "size_power_by_category.csv", "nulls.csv"
    if shown["median"].notna().any() and all(map(results.has, needed)):
        jobs["figure_liberal_categories"] = partial(_liberal, results, shown)
    return jobs


def _liberal(results: Results, shown: DataFrame, look: Look) -> tuple[list[Any], str]:
    by_category, nulls = results.read("size_power_by_category.csv"), results.read("nulls.csv")
    return liberal_figure(category_points(by_category, nulls, shown), look)


def measured(table: DataFrame) -> DataFrame:
    """Return the rows of one level and one truth, the exact null where it was run, no rescaled prevalence."""
    table = table[table["balance"] != names.REWEIGHTED]
    if table.empty:
        return table
    truth = next((name for name in names.NULL_TRUTHS if (table["truth"] == name).any()), "")
    return names.select(table, alpha=names.primary_alpha(table), truth=truth)


def size_figure(rows: DataFrame, table: DataFrame, look: Look, *, x_axis: str) -> tuple[list[Any], str]:
    """Return the spread of sizes over categories against N: a row per test, a column per panel."""
    alpha, truth, measure = rows["alpha"].iloc[0], rows["truth"].iloc[0], str(rows["measure"].iloc[0])
    means = names.select(table, measure=measure, kind="size", alpha=alpha, truth=truth)
    rows = rows.merge(means[[*POINT, "rate"]].rename(columns={"rate": "mean"}), how="left", on=POINT)
    rows = rows.assign(n_dead=rows["n_categories"] - rows["n_live"])
    drawn = rows.loc[rows["median"].notna(), "test"].unique()
    tests = [line.name for _, lines in families(rows) for line in lines if line.name in drawn]
    panels = panels_of(rows)
    cells = {test: [Cell(panel.title, where(panel) | {"test": test}) for panel in panels] for test in tests}
    ends = ("q90", "worst", "worst_again")
    tops = {test: top_of(rows[rows["test"] == test], 1.6 * alpha, ends) for test in tests}
    made = [Row(cells[test], (), tops[test], names.test_name(test), level=alpha) for test in tests]
    left_out = [names.test_name(str(test)) for test in rows["test"].unique() if test not in drawn]
    caption = paragraph(
        ROOM, "sizes", alpha=alpha, measure=names.measure_name(measure), truth=str(truth).replace("_", " "),
        n_sets=rows.loc[rows["test"].isin(tests), "n_sets"], left_out=left_out,
    )  # fmt: skip
    return Grid(
        rows, Study(rows, "", x_axis).sizes(), made, "size", draw_spread,
        [*_size_handles(alpha), *count_handles(rows)], count_categories, shape=0.5, empty="no live category",
        caption=caption,
    ).figure(look)  # fmt: skip


def draw_spread(axes: Any, points: DataFrame, row: Row, space: Space) -> None:
    """Draw a test's sizes over categories against N, the worst a little beside it; no empty ones.

    Lines have the gids ``median:TEST``, ``mean:TEST``, ``worst:TEST`` and ``again:TEST``, the band and the
    whiskers ``band:TEST`` and ``bound:TEST``.
    """
    points = points[points["median"].notna()].sort_values("n_documents")
    if points.empty:
        return
    name = str(points["test"].iloc[0])
    style, n = style_of(name), points["n_documents"].to_numpy(float)
    values = {column: points[column].to_numpy(float) for column in (*NUMBERS, "mean")}
    band: dict[str, Any] = {"color": style.color, "alpha": 0.2, "zorder": 1, "gid": f"band:{name}"}
    if len(n) > 1:
        axes.fill_between(n, values["q10"], values["q90"], linewidth=0, **band)
    else:
        axes.vlines(n, values["q10"], values["q90"], linewidth=8, **band)
    color, step = style.color, min(2.2, bar_width(n, space) / 4)
    axes.plot(n, values["mean"], color=color, **MEAN, zorder=2, gid=f"mean:{name}")
    axes.plot(n, values["median"], zorder=4, gid=f"median:{name}", **style.line(linestyle="-"))
    left, right = aside(axes, -step), aside(axes, step)
    axes.vlines(
        n, values["worst_low"], values["worst"], color=color, linewidth=0.7, zorder=3, transform=left,
        gid=f"bound:{name}",
    )  # fmt: skip
    axes.plot(n, values["worst"], color=color, **WORST, zorder=3, gid=f"worst:{name}", transform=left)
    axes.plot(n, values["worst_again"], color=color, **AGAIN, zorder=3, gid=f"again:{name}", transform=right)


def _size_handles(alpha: float) -> list[Any]:
    def line(label: str, **style: Any) -> Any:
        return mark(label, color=GREY, **style)

    return [
        line("median category", marker="o"), patch("10 to 90 % of live categories", GREY, alpha=0.2),
        line("mean over all", **MEAN), line("worst category", **WORST),
        line("worst, measured again", **AGAIN), *level_handles(alpha),
    ]  # fmt: skip


def category_points(by_category: DataFrame, nulls: DataFrame, sizes: DataFrame) -> DataFrame:
    """Return the size of every live category beside properties of its null population.

    Returns
    -------
    DataFrame
        Columns of `by_category`; `expected`, discordant documents that a set holds on average; `positive`,
        the share of positives among them; `f1`, the mean of A's and B's; and `verdict`.
    """
    place = [name for name in POINT if name != "test"]
    own = nulls["balance"] != names.REWEIGHTED
    made = nulls[(nulls["truth"] == "exact_null") & own & nulls["e1"].notna()]
    cells = made[[f"e{i}" for i in range(1, 9)]].to_numpy(float)
    discordant, positive = cells[:, [1, 2, 5, 6]].sum(axis=1), cells[:, [1, 2]].sum(axis=1)
    made = made[["pair", "balance", "measure", "category"]].assign(
        share=discordant,
        positive=positive / np.where(discordant > 0, discordant, np.nan),
        f1=np.mean(measures.f1(cells), axis=0),
    )
    rows = by_category[(by_category["truth"] == "exact_null") & (by_category["kind"] == "size")]
    # a category is live where a test of its measure can reject, so it is for all of them
    rows = rows[~rows.groupby([*place, "category"])["dead"].transform("all")]
    rows = rows.merge(sizes.loc[sizes["median"].notna(), POINT], on=POINT).merge(made)
    words = [verdict(*ends) for ends in rows[["mc_low", "mc_high", "alpha"]].to_numpy(float)]
    return rows.assign(expected=rows["n_documents"] * rows["share"], verdict=words)


def liberal_figure(points: DataFrame, look: Look) -> tuple[list[Any], str]:
    """Return size against what may make a category liberal: a row per test, a column per property."""
    tests = shown_tests(points)
    points = points[points["test"].isin(tests)]
    alpha = float(points["alpha"].iloc[0])
    low, high = points["expected"].min() / 1.15, points["expected"].max() * 1.15
    axes = [Axis("expected", PROPERTIES["expected"], ends=(low, high))]
    axes += [Axis(name, PROPERTIES[name], scale="linear", ends=(-0.03, 1.03)) for name in ("positive", "f1")]
    made = []
    for test in tests:
        part = points[points["test"] == test]
        upper = top_of(part, 1.6 * alpha, ("rate",))
        cells = [Cell("", {"test": test}, x=axis) for axis in axes]
        made.append(Row(cells, (), upper, _heading(part), level=alpha))
    caption = paragraph(ROOM, "liberal", alpha=alpha, middle=_middles(points))
    handles = [*_verdict_handles(), *level_handles(alpha)]
    return Grid(points, axes[0], made, "size", draw_points, handles, shape=0.6, caption=caption).figure(look)


def draw_points(axes: Any, part: DataFrame, row: Row, space: Space) -> None:
    """Draw every category's size against one property."""
    for place, (word, color) in enumerate(VERDICTS.items()):
        some = part[part["verdict"] == word]
        if len(some):
            axes.plot(
                some[space.x.column], some["rate"], linestyle="none", marker="o", color=color, alpha=0.75,
                markersize=3 if word == "liberal" else 2.2, markeredgewidth=0, zorder=2 + place,
                gid=f"points:{word}",
            )  # fmt: skip


def shown_tests(points: DataFrame, most: int = 3) -> list[str]:
    """Return up to `most` tests of one measure, ΔF1 where it was run."""
    measure = next(name for name in MEASURES if (points["measure"] == name).any())
    run = [str(test) for test in points.loc[points["measure"] == measure, "test"].unique()]
    first = [test for test in SHOWN if test in run]
    return [*first, *(test for test in run if test not in first)][:most]


def _verdict_handles() -> list[Any]:
    return [
        mark(word, linestyle="none", marker="o", markersize=3, markeredgewidth=0, color=color)
        for word, color in reversed(VERDICTS.items())
    ]


def _heading(part: DataFrame) -> str:
    n_liberal = int((part["verdict"] == "liberal").sum())
    name = names.test_name(str(part["test"].iloc[0]))
    return f"{name}: liberal at {n_liberal:,} of {len(part):,} points"


def _middles(points: DataFrame) -> dict[str, str]:
    """Return where 10 to 90 % of the liberal and of the other points lie, in two figures."""
    told = {}
    is_liberal = points["verdict"] == "liberal"
    for group, part in (("liberal", points[is_liberal]), ("other", points[~is_liberal])):
        for name, times in (("expected", 1), ("positive", 100)):
            ends = part[name].quantile([0.1, 0.9]) * times
            told[f"{group}_{name}"] = " to ".join(f"{float(f'{end:.2g}'):g}" for end in ends)
    return told if is_liberal.any() and not is_liberal.all() else {}
