"""Size under the exact null against three measures of how close a pair is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.drawing.layout import Page, columns_that_fit, round_top, set_x
from harness.drawing.panels import label_text
from harness.drawing.style import (
    curve_look,
    draw_nominal,
    draw_tolerance,
    family_look,
    legend_handle,
    nominal_handle,
    tolerance_handle,
)
from harness.results.captions import null_settings, null_truth_sentence
from harness.results.names import (
    BALANCE_NAMES,
    REWEIGHTED,
    Curve,
    other_curves,
    papers_curves,
    reference_size,
    select,
)

if TYPE_CHECKING:
    from pandas import DataFrame

LEFT, RIGHT, GAP, HEIGHT = 0.55, 0.1, 0.16, 1.35
MAIN = ("randomization_f1_midp", "wald_f1", "likelihood_ratio_f1", "mcnemar_midp", "wald_error")
AXES = {
    "disagreement": "disagreement (share of documents)",
    "error_correlation": "correlation of errors",
    "h": "h = |d| √N / sd of the real pair",
}
N_BINS = 6
JOIN = ["pair", "balance", "measure", "category"]
MEASURES = {"f1": "ΔF1", "error": "ΔCerr"}


def join_closeness(by_category: DataFrame, nulls: DataFrame, n_documents: int) -> DataFrame:
    """Return the sizes of the categories at one N under ``exact_null`` beside the closeness of their pair.

    Parameters
    ----------
    by_category : DataFrame
        ``size_power_by_category.csv``.
    nulls : DataFrame
        ``nulls.csv``.
    n_documents : int

    Returns
    -------
    DataFrame
        Columns of `by_category`, and disagreement, error_correlation and h, for the measures shown;
        rescaled prevalences left out.
    """
    rates = select(by_category, truth="exact_null", kind="size", n_documents=n_documents)
    # a measure with costs may have several nulls in a category, which the rates do not tell apart
    rates = rates[(rates["balance"] != REWEIGHTED) & rates["measure"].isin(list(MEASURES))]
    made = nulls[(nulls["truth"] == "exact_null") & (nulls["balance"] != REWEIGHTED)]
    made = made.assign(h=made["distance"] * n_documents**0.5)
    return rates.merge(made[[*JOIN, *AXES]], on=JOIN, how="inner")


def bin_rates(
    x: np.ndarray, rates: np.ndarray, n_bins: int = N_BINS
) -> list[tuple[float, float, float, float]]:
    """Return (median x, mean rate, low, high) of bins that hold about equally many categories.

    The interval is the mean plus and minus 1.96 standard errors over the categories of the bin; a bin of
    one category has none. Categories with the same x share a bin.

    Examples
    --------
    >>> bin_rates(np.array([1.0, 2.0, 3.0, 4.0]), np.array([0.0, 0.1, 0.2, 0.2]), 2)[1][:2]
    (3.5, 0.2)
    """
    kept = np.isfinite(x) & np.isfinite(rates)
    x, rates = x[kept], rates[kept]
    if not len(x):
        return []
    edges = np.unique(np.quantile(x, np.linspace(0, 1, n_bins + 1)[1:-1]))
    place = np.searchsorted(edges, x, side="left")
    found = []
    for number in np.unique(place):
        inside = rates[place == number]
        mean = float(inside.mean())
        half = 1.96 * float(inside.std(ddof=1)) / len(inside) ** 0.5 if len(inside) > 1 else np.nan
        found.append((float(np.median(x[place == number])), mean, max(0.0, mean - half), mean + half))
    return found


def closeness_figure(
    by_category: DataFrame, nulls: DataFrame, provenance: Mapping[str, Any], *, width: float
) -> tuple[Any, str]:
    """Return the figure (rows: measure and balance, columns: measures of closeness) and its caption."""
    exact = by_category[by_category["truth"] == "exact_null"]
    n_documents = reference_size(exact)
    alpha = float(exact["alpha"].iloc[0])
    rows = join_closeness(by_category, nulls, n_documents)
    curves = _curves(rows)
    places = [
        (measure, str(balance))
        for measure in MEASURES
        for balance in rows["balance"].unique()
        if len(rows[(rows["measure"] == measure) & (rows["balance"] == balance)])
    ]
    caption = _caption(rows, provenance, n_documents, alpha, curves)
    labels = [curve.label for curve, _ in curves]
    n_columns = columns_that_fit(labels, width - 0.1, 4)
    first = 0.15 + 0.16 * (-(-(len(labels) + 2) // n_columns))
    block = 0.22 + HEIGHT + 0.38
    page = Page(width, first + block * len(places), caption)
    handles = [legend_handle(look, label_text(curve.label)) for curve, look in curves]
    page.legend([*handles, nominal_handle(alpha), tolerance_handle()], 0.06, n_columns)
    for row, (measure, balance) in enumerate(places):
        part = rows[(rows["measure"] == measure) & (rows["balance"] == balance)]
        title = f"{MEASURES[measure]}, {BALANCE_NAMES.get(balance, balance)}"
        _draw_row(page, part, curves, title, alpha, first + row * block + 0.22)
    return page.figure, caption


def _draw_row(
    page: Page, part: DataFrame, curves: list[tuple[Curve, Any]], title: str, alpha: float, top: float
) -> None:
    """Draw a panel for each measure of closeness, with one scale of sizes for all."""
    wide = (page.width - LEFT - RIGHT - GAP * (len(AXES) - 1)) / len(AXES)
    binned = {
        name: [(bin_rates(*_of_test(part, curve.test, name)), look, curve.test) for curve, look in curves]
        for name in AXES
    }
    points = [point for drawn in binned.values() for found, *_ in drawn for point in found]
    highs = [high if high == high else mean for _, mean, _, high in points]
    upper = min(round_top(max([2 * alpha, *highs])), 1.0)
    for column, (name, label) in enumerate(AXES.items()):
        axes = page.axes(LEFT + column * (wide + GAP), top, wide, HEIGHT)
        axes.set_ylim(0, upper)
        draw_tolerance(axes, alpha)
        draw_nominal(axes, alpha)
        for found, look, test in binned[name]:
            _draw(axes, found, look, test)
        axes.set_xlabel(label, labelpad=1, fontsize=7)
        axes.tick_params(labelsize=6.3, labelleft=column == 0)
        at = [point[0] for found, *_ in binned[name] for point in found]
        if name == "disagreement" and at:
            set_x(axes, at, "log", digits=(1, 2, 5) if max(at) < 20 * min(at) else (1, 3))
        if column == 0:
            axes.set_title(title, loc="left", fontsize=7.5, pad=3)
            axes.set_ylabel("$\\alpha_{\\mathrm{true}}$", labelpad=2)


def _curves(rows: DataFrame) -> list[tuple[Curve, Any]]:
    """Return the paper's tests and a few modern ones, with their looks."""
    found = [(curve, curve_look(curve, 0)) for curve in papers_curves(rows)]
    others = other_curves(rows)
    main = [curve for curve in others if curve.test in MAIN] or ([] if found else others[:4])
    return found + [(curve, family_look(place)) for place, curve in enumerate(main)]


def _of_test(part: DataFrame, test: str, name: str) -> tuple[np.ndarray, np.ndarray]:
    rows = part[part["test"] == test]
    x = rows[name].to_numpy(float)
    return np.where((name != "disagreement") | (x > 0), x, np.nan), rows["rate"].to_numpy(float)


def _draw(axes: Any, points: list[tuple[float, float, float, float]], look: Any, test: str) -> None:
    if not points:
        return
    x, mean, low, high = np.array(points).T
    axes.plot(
        x, mean, color=look.color, marker=look.marker, linestyle=look.line, linewidth=look.width,
        markersize=3,        gid=f"line:{test}", zorder=3,
    )  # fmt: skip
    kept = np.isfinite(high)
    axes.vlines(x[kept], low[kept], high[kept], color=look.color, linewidth=0.8, alpha=0.8, zorder=2)


def _caption(
    rows: DataFrame,
    provenance: Mapping[str, Any],
    n_documents: int,
    alpha: float,
    curves: list[tuple[Curve, Any]],
) -> str:
    parts = [
        f"Size at alpha = {alpha:g} and N = {n_documents} against three measures of how close a pair is: the "
        "share of documents that exactly one model gets right, the correlation of the two models' "
        "errors, and h, the difference of the real pair in standard deviations of a set's difference.",
        null_truth_sentence("exact_null"),
        f"Categories of all pairs are pooled in up to {N_BINS} bins of about equally many; a point stands at "
        "the bin's median. Bars: 1.96 standard errors over the categories of the bin.",
        *null_settings(provenance, rows),
        _words(rows, curves),
    ]
    return " ".join(parts)


def _words(rows: DataFrame, curves: list[tuple[Curve, Any]]) -> str:
    """Return which measure of closeness orders the sizes most, by the mean absolute rank correlation."""
    from scipy import stats

    strength: dict[str, list[float]] = {name: [] for name in AXES}
    for _, part in rows[rows["test"].isin([curve.test for curve, _ in curves])].groupby(["balance", "test"]):
        for name in AXES:
            x, y = part[name].to_numpy(float), part["rate"].to_numpy(float)
            kept = np.isfinite(x) & np.isfinite(y)
            if kept.sum() > 4 and len(np.unique(x[kept])) > 1 and len(np.unique(y[kept])) > 1:
                strength[name].append(abs(float(stats.spearmanr(x[kept], y[kept]).statistic)))
    means = {name: float(np.mean(values)) for name, values in strength.items() if values}
    if not means:
        return "Too few categories to tell which measure of closeness matters."
    best = max(means, key=lambda name: means[name])
    listed = ", ".join(f"{name.replace('_', ' ')} {value:.2f}" for name, value in means.items())
    return (
        f"Size goes most with the {best.replace('_', ' ')} (mean absolute rank correlation over tests and "
        f"balances: {listed})."
    )
