"""What the convention for degenerate sets does to the size of three tests of the paper."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from harness.drawing.layout import Page, set_x
from harness.drawing.panels import label_text
from harness.drawing.style import (
    PAPER_LOOKS,
    draw_nominal,
    draw_tolerance,
    legend_handle,
    nominal_handle,
    tolerance_handle,
)
from harness.evaluation.rates import verdict
from harness.intervals import clopper_pearson
from harness.results.captions import null_settings
from harness.results.names import (
    NULL_TRUTHS,
    PAIRS,
    PRIMARY_TRUTH,
    UNBALANCED,
    Curve,
    companion_curves,
    pair_name,
    papers_curves,
    primary_alpha,
    select,
)
from harness.results.truth_scores import truth_name

if TYPE_CHECKING:
    from pandas import DataFrame

LEFT, RIGHT, GAP, HEIGHT = 0.6, 0.1, 0.16, 1.55
SLOTS = {"error": (2, 3), "f1": (0,)}  # of the paper's legend: proportion test, the two bootstraps
MEASURES = {"f1": "ΔF1", "error": "ΔCerr"}
LINES: dict[str, Any] = {"accept": "-", "reject": (0, (3, 1.5))}
CONVENTIONS = tuple(LINES)


class Both(NamedTuple):
    """Rates of one test at rising N under both conventions, and their Monte Carlo intervals."""

    n_documents: np.ndarray
    rates: Mapping[str, np.ndarray]
    lows: Mapping[str, np.ndarray]
    highs: Mapping[str, np.ndarray]
    shares: np.ndarray


def run_convention(provenance: Mapping[str, Any], test: str = "") -> str:
    """Return the convention that a run used: ``accept`` unless its configuration says otherwise."""
    config = provenance.get("config") or {}
    own = ((config.get("test") or {}).get(test) or {}).get("degenerate")
    word = own or config.get("degenerate") or "accept"
    return str(word) if word in CONVENTIONS else "accept"


def both_conventions(points: DataFrame, convention: str) -> Both:
    """Return the rates of one test's sizes under both conventions.

    A set whose verdict is the convention's is never rejected under ``accept`` and always under ``reject``, so
    that the two rates differ by the share of such sets and by nothing else.
    """
    points = points[points["rate"].notna()]
    rate, share = points["rate"].to_numpy(float), points["convention_share"].to_numpy(float)
    other = rate + share if convention == "accept" else rate - share
    rates = dict(
        zip((convention, *(set(CONVENTIONS) - {convention})), (rate, np.clip(other, 0, 1)), strict=True)
    )
    n = (points["n_categories"] * points["n_sets"]).to_numpy(np.int64)
    bounds = {word: clopper_pearson(np.rint(value * n).astype(np.int64), n) for word, value in rates.items()}
    lows = {word: low for word, (low, _) in bounds.items()}
    highs = {word: high for word, (_, high) in bounds.items()}
    return Both(points["n_documents"].to_numpy(float), rates, lows, highs, share)


def close_pair(table: DataFrame) -> str:
    """Return the close pair on natural categories: the paper's, else the last that was run; "" for none."""
    run = [str(pair) for pair in table.loc[table["balance"] == UNBALANCED, "pair"].unique()]
    return PAIRS[1] if PAIRS[1] in run else (run[-1] if run else "")


def shown_truths(table: DataFrame) -> list[str]:
    """Return the truths that get a column: the nulls, and the rule of the paper's figures, where run."""
    if (
        "convention_share" not in table
    ):  # a run of an earlier version: what the convention settles is not known
        return []
    run = set(table["truth"].unique())
    return [name for name in (*NULL_TRUTHS, PRIMARY_TRUTH) if name in run]


def affected_curves(table: DataFrame) -> dict[str, list[Curve]]:
    """Return the proportion test and the bootstraps that were run, by measure."""
    curves = [*papers_curves(table), *companion_curves(table)]
    found = {measure: [c for c in curves if c.slot in slots] for measure, slots in SLOTS.items()}
    return {measure: some for measure, some in found.items() if some}


def degenerate_figure(table: DataFrame, provenance: Mapping[str, Any], *, width: float) -> tuple[Any, str]:
    """Return the figure (rows: measure, columns: truth; solid: accept, dashed: reject) and its caption."""
    from matplotlib.lines import Line2D

    alpha, pair = primary_alpha(table), close_pair(table)
    rows = select(table, pair=pair, balance=UNBALANCED, kind="size", alpha=alpha)
    truths, groups = shown_truths(rows), affected_curves(rows)
    sizes = sorted(float(n) for n in rows["n_documents"].unique())
    caption = _caption(rows, provenance, pair, alpha, truths)
    block, first = 0.22 + HEIGHT + 0.36, 0.62
    page = Page(width, first + block * len(groups), caption)
    curves = [curve for some in groups.values() for curve in some]
    handles = [legend_handle(_look(curve), label_text(curve.label)) for curve in curves]
    styles = [
        Line2D([], [], color="0.3", linestyle=LINES[word], label=f"degenerate sets {word}ed")
        for word in CONVENTIONS
    ]
    page.legend([*handles, *styles, nominal_handle(alpha), tolerance_handle()], 0.06, 3)
    wide = (width - LEFT - RIGHT - GAP * (len(truths) - 1)) / max(len(truths), 1)
    for row, (measure, some) in enumerate(groups.items()):
        for column, truth in enumerate(truths):
            axes = page.axes(LEFT + column * (wide + GAP), first + row * block + 0.22, wide, HEIGHT)
            axes.set_ylim(0, 1)
            set_x(axes, sizes, "log", digits=(1, 3))
            draw_tolerance(axes, alpha)
            draw_nominal(axes, alpha)
            for curve in some:
                _draw(axes, select(rows, truth=truth, test=curve.test), curve, provenance)
            axes.set_title(f"{MEASURES[measure]}: {truth_name(truth)}", loc="left", fontsize=7.5, pad=3)
            axes.tick_params(labelsize=6.3, labelleft=column == 0)
            if column == 0:
                axes.set_ylabel("$\\alpha_{\\mathrm{true}}$", labelpad=2)
            if row == len(groups) - 1:
                axes.set_xlabel("evaluation set size N", labelpad=1, fontsize=7)
    return page.figure, caption


def _look(curve: Curve) -> Any:
    look = PAPER_LOOKS[curve.slot]._replace(line="-")
    return look._replace(filled=False, width=0.8, opacity=0.6) if curve.companion else look


def _draw(axes: Any, points: DataFrame, curve: Curve, provenance: Mapping[str, Any]) -> None:
    if points["rate"].notna().sum() == 0:
        return
    both, look = both_conventions(points, run_convention(provenance, curve.test)), _look(curve)
    for word, line in LINES.items():
        axes.plot(
            both.n_documents, both.rates[word], color=look.color, linestyle=line, linewidth=look.width,
            marker=look.marker, markersize=3.1, markerfacecolor=look.color if look.filled else "white",
            markeredgewidth=0.7, alpha=look.opacity, gid=f"line:{curve.test}:{word}", zorder=3,
        )  # fmt: skip
        axes.vlines(
            both.n_documents, both.lows[word], both.highs[word], color=look.color, linewidth=0.8, zorder=2
        )


def figure_1d(table: DataFrame, provenance: Mapping[str, Any]) -> str:
    """Return what a run says of the paper's Figure 1(d), a proportion test that looks optimistic at small N.

    The close pair, natural categories, the primary level: whether rejecting degenerate sets could explain the
    paper's observation, from the mean sizes at the smallest N under the first truth. "" where it cannot be
    told.
    """
    alpha, pair = primary_alpha(table), close_pair(table)
    rows = select(table, pair=pair, balance=UNBALANCED, kind="size", alpha=alpha, test="proportion")
    for truth, both in _proportion(rows, provenance, shown_truths(rows))[:1]:
        means = " and ".join(f"{both.rates[word][0]:.3f} with them {word}ed" for word in CONVENTIONS)
        return (
            f"The paper's Figure 1(d): {_explains(both, alpha)} The proportion test's mean size over "
            f"categories at N = {both.n_documents[0]:g} is {means} ({truth_name(truth)}, {pair_name(pair)}, "
            f"natural categories, alpha = {alpha:g})."
        )
    return ""


def _explains(both: Both, alpha: float) -> str:
    """Return whether rejecting degenerate sets could explain an optimistic mean at the smallest N."""
    above = {
        word: [verdict(*ends, alpha) == "liberal" for ends in zip(lows, both.highs[word], strict=True)]
        for word, lows in both.lows.items()
    }
    if above["accept"][0]:
        return "degenerate sets need no rejecting to explain it."
    if not above["reject"][0]:
        return "rejecting degenerate sets does not explain it."
    last = max(n for n, found in zip(both.n_documents, above["reject"], strict=True) if found)
    return (
        "rejecting degenerate sets could explain it, if that was done for this one test; its mean size would "
        f"then lie above 1.2 alpha up to N = {last:g} of those that were run."
    )


def _caption(
    rows: DataFrame, provenance: Mapping[str, Any], pair: str, alpha: float, truths: list[str]
) -> str:
    parts = [
        f"Degenerate sets: {pair_name(pair)}, natural (unbalanced) categories, alpha = {alpha:g}. A set is "
        "degenerate for a test whose statistic is 0/0 on it: for the bootstraps where every replicate has a "
        "difference of 0, for the proportion test where neither classifier errs. Solid: such a set is not "
        "rejected; dashed: it is; the curves differ by the share of such sets. "
        "A column per truth: populations in which H0 holds exactly, and the rule of figures 1 and "
        "2 where it was run. Bars: Monte Carlo interval.",
        *null_settings(provenance, rows),
    ]
    closing = [
        f"At N = {both.n_documents[0]:g} the proportion test rejects {both.rates['accept'][0]:.3f} of "
        f"the sets with degenerate sets accepted and {both.rates['reject'][0]:.3f} with them rejected "
        f"({truth_name(truth)})."
        for truth, both in _proportion(rows, provenance, truths)[:1]
    ]
    return " ".join([*parts, *closing])


def _proportion(rows: DataFrame, provenance: Mapping[str, Any], truths: list[str]) -> list[tuple[str, Both]]:
    found = []
    for truth in truths:
        points = select(rows, truth=truth, test="proportion")
        if points["rate"].notna().any():
            found.append((truth, both_conventions(points, run_convention(provenance, "proportion"))))
    return found
