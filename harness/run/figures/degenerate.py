"""What the convention for degenerate sets does to the size of three tests of the paper."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from pandas import DataFrame, concat

from harness.drawing import style
from harness.drawing.grid import Cell, Grid, Line, Row
from harness.drawing.marks import draw_curves, top_of
from harness.drawing.style import Look, level_handles, style_of
from harness.evaluation.rates import verdict
from harness.intervals import clopper_pearson
from harness.results import names
from harness.results.truth_scores import truth_name
from harness.run.figures.rates import ROOM, Study
from harness.writing.prose import paragraph, paragraphs

SLOTS = {"error": (2, 3), "f1": (0,)}  # of the paper's legend: proportion test, the two bootstraps
DASHES = {"accept": "solid", "reject": "long"}  # of each convention
CONVENTIONS = tuple(DASHES)


def run_convention(provenance: Mapping[str, Any], test: str = "") -> str:
    """Return the convention that a run used: ``accept`` unless its configuration says otherwise."""
    config = provenance.get("config") or {}
    own = ((config.get("test") or {}).get(test) or {}).get("degenerate")
    word = own or config.get("degenerate") or "accept"
    return str(word) if word in CONVENTIONS else "accept"


def both_conventions(points: DataFrame, convention: str) -> DataFrame:
    """Return one test's sizes twice, as they are under either `convention`, with their intervals.

    A set whose verdict is the convention's is never rejected under ``accept`` and always under ``reject``, so
    that the two rates differ by the share of such sets and by nothing else.
    """
    points = points[points["rate"].notna()]
    n = (points["n_categories"] * points["n_sets"]).to_numpy(np.int64)
    parts = []
    for word in CONVENTIONS:
        sign = (word == "reject") - int(convention == "reject")
        rate = points["rate"].to_numpy(float) + sign * points["convention_share"].to_numpy(float)
        rate = np.clip(rate, 0, 1) if sign else rate
        low, high = clopper_pearson(np.rint(rate * n).astype(np.int64), n)
        parts.append(points.assign(convention=word, rate=rate, mc_low=low, mc_high=high))
    return concat(parts)


def close_pair(table: DataFrame) -> str:
    """Return the close pair on natural categories: the paper's, else the last that was run; "" for none."""
    run = [str(pair) for pair in table.loc[table["balance"] == names.UNBALANCED, "pair"].unique()]
    return names.PAIRS[1] if names.PAIRS[1] in run else (run[-1] if run else "")


def shown_truths(table: DataFrame) -> list[str]:
    """Return the truths that get a column: the nulls, and the rule of the paper's figures, where run."""
    # of a run of an earlier version it is not known what the convention settles
    if "convention_share" not in table:
        return []
    run = set(table["truth"].unique())
    return [name for name in (*names.NULL_TRUTHS, names.PRIMARY_TRUTH) if name in run]


def affected_curves(table: DataFrame) -> dict[str, list[names.Curve]]:
    """Return the proportion test and the bootstraps that were run, by measure."""
    curves = [*names.papers_curves(table), *names.companion_curves(table)]
    found = {measure: [c for c in curves if c.slot in slots] for measure, slots in SLOTS.items()}
    return {measure: some for measure, some in found.items() if some}


def can_be_drawn(table: DataFrame) -> bool:
    """Return whether a close pair and a test that degenerate sets matter for were run."""
    close = names.select(table, pair=close_pair(table), balance=names.UNBALANCED, kind="size")
    return bool(shown_truths(close) and affected_curves(close))


def degenerate_figure(table: DataFrame, provenance: Mapping[str, Any], look: Look) -> tuple[list[Any], str]:
    """Return sizes under both conventions: a row per measure, a column per truth, and the caption."""
    alpha, pair = names.primary_alpha(table), close_pair(table)
    rows = names.select(table, pair=pair, balance=names.UNBALANCED, kind="size", alpha=alpha)
    truths, groups = shown_truths(rows), affected_curves(rows)
    both = concat(
        both_conventions(
            names.select(rows, truth=truth, test=curve.test), run_convention(provenance, curve.test)
        )
        for truth in truths
        for some in groups.values()
        for curve in some
    )
    made = []
    for measure, some in groups.items():
        lines = [_line(curve, word) for curve in some for word in CONVENTIONS]
        top = top_of(both[both["measure"] == measure], 1.6 * alpha)
        cells = [Cell(truth_name(truth), {"truth": truth, "measure": measure}) for truth in truths]
        made.append(Row(cells, lines, top, names.measure_name(measure), level=alpha))
    caption = paragraph(
        ROOM, "degenerate", pair=names.pair_name(pair), alpha=alpha,
        told=[_first(both) for _, both in _proportion(rows, provenance, truths)],
    )  # fmt: skip
    axis, handles = Study(both, "").sizes(), level_handles(alpha)
    return Grid(both, axis, made, "rejected", draw_curves, handles, shape=0.6, caption=caption).figure(look)


def _line(curve: names.Curve, word: str) -> Line:
    drawn = style_of(curve.test)._replace(dashes=style.DASHES[DASHES[word]])
    label = f"{curve.label}, {word}ed"
    return Line(f"{curve.test}:{word}", label, drawn, {"test": curve.test, "convention": word}, False)


def figure_1d(table: DataFrame, provenance: Mapping[str, Any]) -> list[str]:
    """Return what a run says of the paper's Figure 1(d), a proportion test that looks optimistic at small N.

    The close pair, natural categories, the primary level: whether rejecting degenerate sets could explain the
    paper's observation, and the mean sizes at the smallest N under the first truth. Empty where it cannot be
    told.
    """
    alpha, pair = names.primary_alpha(table), close_pair(table)
    place = {"pair": pair, "balance": names.UNBALANCED, "test": "proportion"}
    rows = names.select(table, kind="size", alpha=alpha, **place)
    for truth, both in _proportion(rows, provenance, shown_truths(rows)):
        explains, last = _explains(both, alpha)
        return paragraphs(
            "run", "figure_1d", last=last, first=_first(both), truth=truth_name(truth),
            pair=names.pair_name(pair), alpha=alpha, explains=explains,
        )  # fmt: skip
    return []


def _first(both: DataFrame) -> dict[str, float]:
    """Return the smallest N, and the rate there under either convention."""
    return {"n_documents": both["n_documents"].iloc[0], **both.groupby("convention")["rate"].first()}


def _explains(both: DataFrame, alpha: float) -> tuple[str, float | None]:
    """Return whether rejecting degenerate sets could explain an optimistic mean, and up to which N."""
    ends = zip(both["mc_low"], both["mc_high"], strict=True)
    above = both.assign(liberal=[verdict(*one, alpha) == "liberal" for one in ends])
    accepted, rejected = (above[above["convention"] == word] for word in CONVENTIONS)
    if accepted["liberal"].iloc[0]:
        return "degenerate sets need no rejecting to explain it", None
    if not rejected["liberal"].iloc[0]:
        return "rejecting degenerate sets does not explain it", None
    last = rejected.loc[rejected["liberal"], "n_documents"].max()
    return "rejecting degenerate sets could explain it, if that was done for this one test", float(last)


def _proportion(
    rows: DataFrame, provenance: Mapping[str, Any], truths: list[str]
) -> list[tuple[str, DataFrame]]:
    """Return the first truth under which the proportion test was measured, and its sizes; or nothing."""
    for truth in truths:
        points = names.select(rows, truth=truth, test="proportion")
        if points["rate"].notna().any():
            return [(truth, both_conventions(points, run_convention(provenance, "proportion")))]
    return []
