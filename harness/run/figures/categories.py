"""How the sizes of a test spread over categories, and which categories make it liberal."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from harness import measures
from harness.drawing.layout import TICKS, Page, columns_that_fit, round_top, set_x, stand_apart, text_width
from harness.drawing.panels import label_text
from harness.drawing.style import LineLook, draw_nominal, draw_tolerance, nominal_handle, tolerance_handle
from harness.evaluation.rates import verdict
from harness.results.names import (
    NULL_TRUTHS,
    REWEIGHTED,
    Curve,
    Panel,
    primary_alpha,
    read_table,
    select,
    select_panel,
    test_name,
)
from harness.run.figures.nulls import LEFT, MEASURES, RIGHT, family_rows, null_panels
from harness.writing.prose import number

if TYPE_CHECKING:
    from pandas import DataFrame

    from harness.results.folder import Results

Item = TypeVar("Item")
Build = Callable[[], tuple[Any, str]]
NUMBERS = (
    "alpha", "n_documents", "n_sets", "n_live", "n_categories", "median", "q10", "q90", "worst", "worst_low",
    "worst_again",
)  # fmt: skip
COLUMNS = ("pair", "balance", "truth", "measure", "test", *NUMBERS)
POINT = ["pair", "balance", "truth", "measure", "test", "alpha", "n_documents"]
MOST_PANELS, MOST_TESTS = 4, 7  # of a page
GAP, WIDE_GAP, HEADING, STRIP = 0.12, 0.2, 0.26, 0.3  # inches
SMALL = 5.8  # points
GREY = "0.3"
WORST: dict[str, Any] = {"linestyle": "none", "marker": "_", "markersize": 4.5, "markeredgewidth": 1.2}
MEAN: dict[str, Any] = {
    "linestyle": (0, (2, 1.5)), "linewidth": 0.8, "marker": "x", "markersize": 2.4, "markeredgewidth": 0.6
}  # fmt: skip
AGAIN: dict[str, Any] = {
    "linestyle": "none", "marker": "o", "markersize": 2.6, "markeredgewidth": 0.7, "markerfacecolor": "white"
}  # fmt: skip
VERDICTS = {"conservative": "#3b4a92", "undecided": "#b4b4b4", "holds": "#1f8f89", "liberal": "#c2185b"}
SHOWN = (  # first choice of the tests whose categories are shown one by one
    "bootstrap_f1_symmetric", "wald_f1", "randomization_f1_midp", "likelihood_ratio_f1", "bootstrap_f1",
    "bootstrap_error_symmetric", "wald_error", "mcnemar_midp", "mcnemar",
)  # fmt: skip
PROPERTIES = {
    "expected": "expected discordances",
    "positive": "share of positives",
    "f1": "F$_1$ of the null",
}


def plan_category_figures(results: Results, *, width: float, x_axis: str) -> dict[str, Build]:
    """Return the figures of sizes over categories; none where the run left no sizes by category."""
    folder = results.folder.absolute()  # a worker may have another working folder
    if not results.has("size_by_category.csv"):
        return {}
    sizes = measured(read_table(folder / "size_by_category.csv", COLUMNS, NUMBERS))
    jobs: dict[str, Build] = {}
    run = [str(measure) for measure in sizes["measure"].unique()]
    for measure in sorted(run, key=lambda name: [*MEASURES, name].index(name)):
        pages = itertools.product(*_pages(sizes, measure))
        for place, (panels, curves) in enumerate(pages, start=1):
            stem = f"figure_size_by_category_{measure}" + (f"_{place}" if place > 1 else "")
            jobs[stem] = partial(
                size_figure, sizes, results.table, panels, curves, measure=measure, width=width, x_axis=x_axis
            )
    shown = sizes[(sizes["truth"] == "exact_null") & sizes["measure"].isin(list(MEASURES))]
    names = "size_power_by_category.csv", "nulls.csv"
    if shown["median"].notna().any() and all(map(results.has, names)):
        jobs["figure_liberal_categories"] = lambda: liberal_figure(
            read_table(folder / names[0]), read_table(folder / names[1]), shown, width=width
        )
    return jobs


def measured(table: DataFrame) -> DataFrame:
    """Return the rows of one level and one truth, the exact null where it was run, no rescaled prevalence."""
    table = table[table["balance"] != REWEIGHTED]
    if table.empty:
        return table
    truth = next((name for name in NULL_TRUTHS if (table["truth"] == name).any()), "")
    return select(table, alpha=primary_alpha(table), truth=truth)


def _pages(sizes: DataFrame, measure: str) -> tuple[list[list[Panel]], list[list[tuple[Curve, LineLook]]]]:
    """Return panels and tests in groups that fit a page, tests without a measured size left out."""
    rows = sizes[sizes["measure"] == measure]
    drawn = rows.loc[rows["median"].notna(), "test"].unique()
    curves = [pair for row in family_rows(rows) for pair in row.curves if pair[0].test in drawn]
    return _chunks(null_panels(rows), MOST_PANELS), _chunks(curves, MOST_TESTS)


def _chunks(items: Sequence[Item], most: int) -> list[list[Item]]:
    return [list(items[start : start + most]) for start in range(0, len(items), most)]


def size_figure(
    sizes: DataFrame,
    table: DataFrame,
    panels: Sequence[Panel],
    curves: Sequence[tuple[Curve, LineLook]],
    *,
    measure: str,
    width: float,
    x_axis: str,
) -> tuple[Any, str]:
    """Return the spread of sizes over categories against N, and its caption."""
    rows = sizes[sizes["measure"] == measure]
    alpha, truth = float(rows["alpha"].iloc[0]), str(rows["truth"].iloc[0])
    means = select(table, measure=measure, kind="size", alpha=alpha, truth=truth)
    n_documents = sorted(float(n) for n in rows["n_documents"].unique())
    caption = _size_caption(rows, [curve.test for curve, _ in curves], measure, alpha, truth)
    wide = (width - LEFT - RIGHT - GAP * (len(panels) - 1)) / len(panels)
    lefts = [LEFT + column * (wide + GAP) for column in range(len(panels))]
    high = 0.82 if len(panels) > 2 else 1.1
    handles = _size_handles(alpha)
    n_columns, under_legend = _legend_place(handles, width, 4)
    first, block = under_legend + 0.3, HEADING + high
    page = Page(width, first + block * len(curves) + HEADING + STRIP + 0.34, caption)
    page.legend(handles, 0.06, n_columns)
    _draw_titles(page, [panel.title for panel in panels], lefts, wide, first)
    for place, (curve, look) in enumerate(curves):
        top = first + place * block
        page.text(0.06, top + 0.14, label_text(curve.label), fontsize=7.2, fontweight="bold", va="center")
        upper = _upper(rows[rows["test"] == curve.test], alpha)
        for column, panel in enumerate(panels):
            axes = page.axes(lefts[column], top + HEADING, wide, high)
            axes.set_ylim(0, upper)
            scale(axes, n_documents, x_axis, wide, labels=False)
            aside = 72 * min([0.03, *(np.diff(_inches(axes, n_documents, x_axis, wide)) / 4)])
            points, mean = (select_panel(part, panel, test=curve.test) for part in (rows, means))
            draw_spread(axes, points, mean, look, alpha=alpha, name=curve.test, aside=aside)
            axes.tick_params(labelsize=6, labelleft=column == 0)
            if column == 0:
                axes.set_ylabel("size", labelpad=2, fontsize=7)
    top = first + block * len(curves)
    page.text(0.06, top + 0.14, "Live categories", fontsize=7.2, fontweight="bold", va="center")
    for left, panel in zip(lefts, panels, strict=True):
        axes = page.axes(left, top + HEADING, wide, STRIP)
        scale(axes, n_documents, x_axis, wide, labels=True)
        draw_live(axes, select_panel(rows, panel), x_axis, wide)
    return page.figure, caption


def _legend_place(handles: Sequence[Any], width: float, most: int) -> tuple[int, float]:
    """Return how many columns, at most `most`, a legend has and where it ends, in inches."""
    labels = [handle.get_label() for handle in handles]
    n_columns = columns_that_fit(labels, width - 0.1, most)
    return n_columns, 0.1 + 0.16 * -(-len(labels) // n_columns)


def _draw_titles(
    page: Page, titles: Sequence[str], lefts: Sequence[float], wide: float, bottom: float
) -> None:
    """Write the titles of the columns in one size, on two lines where a column is narrow."""
    if max(text_width(words, 7.2, True) for words in titles) > wide:
        titles = [words.replace(", ", ",\n") for words in titles]
    widest = max(text_width(line, 7.2, True) for words in titles for line in words.split("\n"))
    size = 7.2 * min(1.0, wide / widest)
    for left, words in zip(lefts, titles, strict=True):
        page.text(left, bottom, words, fontsize=size, fontweight="bold", va="bottom", linespacing=1.1)


def scale(axes: Any, sizes: Sequence[float], x_axis: str, width: float, *, labels: bool) -> None:
    """Scale the x axis and label every N, or round numbers where labels of `SMALL` points would touch."""
    set_x(axes, sizes, x_axis, labels=labels, every=True)
    fits = all(stand_apart(_inches(axes, sizes, x_axis, width), [f"{n:g}" for n in sizes], SMALL))
    if not fits:
        set_x(axes, sizes, x_axis, labels=labels, digits=(1, 3))
    axes.tick_params(axis="x", labelsize=SMALL)


def _inches(axes: Any, sizes: Sequence[float], x_axis: str, width: float) -> np.ndarray:
    """Return how far right of the axes' edge each N stands."""
    at = np.log if x_axis == "log" else np.asarray
    low, high = at(axes.get_xlim())
    return np.asarray((at(sizes) - low) / (high - low) * width)


def draw_spread(
    axes: Any, points: DataFrame, mean: DataFrame, look: LineLook, *, alpha: float, name: str, aside: float
) -> None:
    """Draw a test's sizes over categories against N, the worst `aside` points beside it; no empty ones.

    Lines have the gids ``median:NAME``, ``mean:NAME``, ``worst:NAME`` and ``again:NAME``, the band and the
    whiskers ``band:NAME`` and ``bound:NAME``.
    """
    draw_tolerance(axes, alpha)
    draw_nominal(axes, alpha)
    mean = mean[mean["rate"].notna()]
    points = points[points["median"].notna()]
    if points.empty:
        return
    color = look.color
    n = points["n_documents"].to_numpy(float)
    values = {column: points[column].to_numpy(float) for column in NUMBERS}
    band: dict[str, Any] = {"color": color, "alpha": 0.2, "zorder": 1, "gid": f"band:{name}"}
    if len(n) > 1:
        axes.fill_between(n, values["q10"], values["q90"], linewidth=0, **band)
    else:
        axes.vlines(n, values["q10"], values["q90"], linewidth=8, **band)
    axes.plot(mean["n_documents"], mean["rate"], color=color, **MEAN, zorder=2, gid=f"mean:{name}")
    axes.plot(
        n, values["median"], color=color, linewidth=1.2, marker=look.marker, markersize=2.6, zorder=4,
        gid=f"median:{name}",
    )  # fmt: skip
    left, right = (_aside(axes, points) for points in (-aside, aside))
    axes.vlines(
        n, values["worst_low"], values["worst"], color=color, linewidth=0.7, zorder=3, gid=f"bound:{name}",
        transform=left,
    )  # fmt: skip
    axes.plot(n, values["worst"], color=color, **WORST, zorder=3, gid=f"worst:{name}", transform=left)
    axes.plot(n, values["worst_again"], color=color, **AGAIN, zorder=3, gid=f"again:{name}", transform=right)


def _aside(axes: Any, points: float) -> Any:
    """Return the transformation that moves what is drawn some points to the right."""
    from matplotlib.transforms import ScaledTranslation

    return axes.transData + ScaledTranslation(points / 72, 0, axes.figure.dpi_scale_trans)


def draw_live(axes: Any, rows: DataFrame, x_axis: str, width: float) -> None:
    """Draw a bar for each N: the live categories of all that have a null; tests that differ give a range."""
    found = rows.groupby("n_documents")[["n_live", "n_categories"]].agg(["min", "max"])
    sizes = [float(n) for n in found.index]
    most = max(int(found["n_categories", "max"].max()), 1)
    low, high = (found["n_live", end].to_numpy(int) for end in ("min", "max"))
    whole = found["n_categories", "max"].to_numpy(int)
    words = [f"{a}" if a == b else f"{a}–{b}" for a, b in zip(low, high, strict=True)]
    at = _inches(axes, sizes, x_axis, width)
    thick = 0.8 * 72 * min([0.14, *np.diff(at)])
    axes.set_ylim(0, 1.55 * most)
    for counts, color, gid in ((whole, "0.88", "all"), (low, "0.45", "live")):
        axes.vlines(sizes, 0, counts, color=color, linewidth=thick, gid=gid)
    kept = stand_apart(at, words, SMALL)
    for n, top, word in itertools.compress(zip(sizes, whole, words, strict=True), kept):
        axes.text(n, top + 0.06 * most, word, ha="center", va="bottom", fontsize=SMALL, gid="n_live")
    axes.text(
        1, 1.04, f"of {_range(whole)}", transform=axes.transAxes, ha="right", va="bottom", fontsize=SMALL,
        color=GREY, gid="n_categories",
    )  # fmt: skip
    axes.spines["left"].set_visible(False)
    axes.set_yticks([])
    axes.set_xlabel("evaluation set size N", labelpad=1, fontsize=7)


def _range(counts: np.ndarray) -> str:
    low, high = int(counts.min()), int(counts.max())
    return f"{low}" if low == high else f"{low}–{high}"


def _upper(rows: DataFrame, alpha: float) -> float:
    peak = float(rows[["q90", "worst", "worst_again"]].max().max())
    return min(round_top(max(peak, 1.6 * alpha)), 1.0)


def _size_handles(alpha: float) -> list[Any]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    def line(label: str, **look: Any) -> Any:
        return Line2D([], [], color=GREY, label=label, **look)

    return [
        line("median", marker="o", markersize=2.6, linewidth=1.2),
        Patch(color=GREY, alpha=0.2, linewidth=0, label="10 to 90 % of live categories"),
        line("mean over all", **MEAN),
        line("worst", **WORST),
        line("worst, measured again", **AGAIN),
        nominal_handle(alpha),
        tolerance_handle(),
    ]


def _size_caption(rows: DataFrame, drawn: Sequence[str], measure: str, alpha: float, truth: str) -> str:
    has_sizes = rows["median"].notna()
    n_sets = rows.loc[rows["test"].isin(drawn) & has_sizes, "n_sets"]
    left_out = [test_name(str(t)) for t in rows["test"].unique() if t not in set(rows.loc[has_sizes, "test"])]
    parts = [
        f"Size at alpha = {alpha:g} of the tests on {MEASURES.get(measure, measure)} over the live "
        f"categories of {truth.replace('_', ' ')}s, against the size N of the set; each row has a scale of "
        "its own.",
        "Line: the median category; shaded: 10 to 90 % of them; crosses: the mean over all categories, "
        "dead ones too.",
        "Dash with a whisker: the worst category and its exact lower bound after Holm; circle: the same "
        "category measured again on new sets.",
        "Bars: live categories (a test of the measure can reject at least a share alpha of the sets) within "
        f"those that have a null; {_sets_words(n_sets)} sets a category.",
    ]
    if left_out:
        parts.append(f"Not drawn, for too few sets a category: {', '.join(left_out)}.")
    return " ".join(parts)


def _sets_words(n_sets: Any) -> str:
    low, high = int(n_sets.min()), int(n_sets.max())
    return number(low) if low == high else f"{number(low)} (tests with replicates) to {number(high)}"


def category_points(by_category: DataFrame, nulls: DataFrame, sizes: DataFrame) -> DataFrame:
    """Return the size of every live category beside properties of its null population.

    Returns
    -------
    DataFrame
        Columns of `by_category`; `expected`, discordant documents that a set holds on average; `positive`,
        the share of positives among them; `f1`, the mean of A's and B's; and `verdict`.
    """
    place = [name for name in POINT if name != "test"]
    made = nulls[(nulls["truth"] == "exact_null") & (nulls["balance"] != REWEIGHTED) & nulls["e1"].notna()]
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


def liberal_figure(
    by_category: DataFrame, nulls: DataFrame, sizes: DataFrame, *, width: float
) -> tuple[Any, str]:
    """Return size against what may make a category liberal, a row per test, and its caption."""
    points = category_points(by_category, nulls, sizes)
    tests = shown_tests(points)
    points = points[points["test"].isin(tests)]
    alpha = float(points["alpha"].iloc[0])
    caption = _liberal_caption(points, alpha)
    wide = (width - LEFT - RIGHT - WIDE_GAP * (len(PROPERTIES) - 1)) / len(PROPERTIES)
    handles = [*_verdict_handles(), nominal_handle(alpha), tolerance_handle()]
    n_columns, first = _legend_place(handles, width, 3)
    high = 1.25
    page = Page(width, first + (HEADING + high) * len(tests) + 0.34, caption)
    page.legend(handles, 0.06, n_columns)
    for place, test in enumerate(tests):
        part, top = points[points["test"] == test], first + place * (HEADING + high)
        page.text(0.06, top + 0.14, _liberal_heading(part), fontsize=7.2, fontweight="bold", va="center")
        upper = min(round_top(max(float(part["rate"].max()), 1.6 * alpha)), 1.0)
        for column, name in enumerate(PROPERTIES):
            axes = page.axes(LEFT + column * (wide + WIDE_GAP), top + HEADING, wide, high)
            axes.set_ylim(-0.02 * upper, upper)
            _draw_points(axes, part, name, alpha)
            _scale_property(axes, points[name], name)
            last = place == len(tests) - 1
            axes.tick_params(labelsize=6, labelleft=column == 0, labelbottom=last)
            if last:
                axes.set_xlabel(PROPERTIES[name], labelpad=1, fontsize=7)
            if column == 0:
                axes.set_ylabel("size", labelpad=2, fontsize=7)
    return page.figure, caption


def shown_tests(points: DataFrame, most: int = 3) -> list[str]:
    """Return up to `most` tests of one measure, ΔF1 where it was run."""
    measure = next(name for name in MEASURES if (points["measure"] == name).any())
    run = [str(test) for test in points.loc[points["measure"] == measure, "test"].unique()]
    first = [test for test in SHOWN if test in run]
    return [*first, *(test for test in run if test not in first)][:most]


def _draw_points(axes: Any, part: DataFrame, name: str, alpha: float) -> None:
    draw_tolerance(axes, alpha)
    draw_nominal(axes, alpha)
    for place, (word, color) in enumerate(VERDICTS.items()):
        some = part[part["verdict"] == word]
        if len(some):
            axes.plot(
                some[name], some["rate"], linestyle="none", marker="o", color=color, alpha=0.75,
                markersize=3 if word == "liberal" else 2.2, markeredgewidth=0, zorder=2 + place,
                gid=f"points:{word}",
            )  # fmt: skip


def _scale_property(axes: Any, values: Any, name: str) -> None:
    if name == "expected":
        low, high = float(values.min()), float(values.max())
        set_x(axes, [low, high], "log", digits=TICKS if high < 20 * low else (1, 3))
        axes.xaxis.set_minor_locator(_no_ticks())
    else:
        axes.set_xlim(-0.03, 1.03)
        axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "0.25", "0.5", "0.75", "1"])


def _no_ticks() -> Any:
    from matplotlib.ticker import NullLocator

    return NullLocator()


def _verdict_handles() -> list[Any]:
    from matplotlib.lines import Line2D

    return [
        Line2D([], [], linestyle="none", marker="o", markersize=3, markeredgewidth=0, color=color, label=word)
        for word, color in reversed(VERDICTS.items())
    ]


def _liberal_heading(part: DataFrame) -> str:
    counts = part["verdict"].value_counts()
    words = f"{label_text(test_name(str(part['test'].iloc[0])))}: liberal at {counts.get('liberal', 0)}"
    return f"{words} of {len(part)} points"


def _liberal_caption(points: DataFrame, alpha: float) -> str:
    parts = [
        f"What makes a category liberal: its size at alpha = {alpha:g} against three properties of its null "
        "population. Every live category is a point for each pair, balance and size N of the set.",
        "Left: discordances (documents that exactly one system gets right) in a set on average, N times "
        "their share; middle: the share of positives among them; right: F1.",
        "Colour: the verdict on the point by its own exact 95 % interval, against .8 to 1.2 alpha.",
    ]
    liberal, other = points[points["verdict"] == "liberal"], points[points["verdict"] != "liberal"]
    if len(liberal) and len(other):
        parts.append(
            f"The liberal points (10 to 90 % of them) have {_middle(liberal, 'expected')} discordances, "
            f"{_middle(liberal, 'positive', 100)} % of them positives; the others "
            f"{_middle(other, 'expected')} and {_middle(other, 'positive', 100)} %."
        )
    return " ".join(parts)


def _middle(part: DataFrame, name: str, times: float = 1) -> str:
    """Return the 10 and 90 % quantiles in two figures."""
    low, high = (f"{float(f'{end:.2g}'):g}" for end in part[name].quantile([0.1, 0.9]) * times)
    return f"{low} to {high}"
