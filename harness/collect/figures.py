"""Figures of the spread of rates from run to run."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from pandas import DataFrame

from harness.collect.join import SPREAD
from harness.drawing.grid import Cell, Grid
from harness.drawing.marks import count_categories, count_handles, draw_curves
from harness.drawing.save import Build
from harness.drawing.style import Look, level_handles
from harness.results import captions, names
from harness.results.names import FEW_CATEGORIES, NULL_TRUTHS
from harness.run.figures.rates import MEASURES, Study, families, panels_of, rate_row, where
from harness.writing.prose import paragraph


def plan_spread_figures(table: DataFrame, facts: Mapping[str, Any]) -> dict[str, Build]:
    """Return every figure that ``spread.csv`` can give, by its file stem."""
    truths = [names.primary_truth(table), *(name for name in NULL_TRUTHS if name in set(table["truth"]))]
    alpha = names.primary_alpha(table)
    return {
        f"spread_{kind}_{truth}": partial(spread_figure, table, facts, truth=truth, kind=kind)
        for truth in dict.fromkeys(truths)
        for kind in ("size", "power")
        if names.select(table, truth=truth, kind=kind, alpha=alpha)["rate"].notna().any()
    }


def spread_figure(
    table: DataFrame, facts: Mapping[str, Any], look: Look, *, truth: str, kind: str
) -> tuple[list[Any], str]:
    """Return size or power against N over all runs, a row per family of tests, and its caption."""
    alpha, is_size = names.primary_alpha(table), kind == "size"
    rows = names.select(table, truth=truth, kind=kind, alpha=alpha)
    rows = rows[rows["measure"].isin(MEASURES)]
    rows = rows.assign(  # as the columns of a curve, the range over the runs as its bars
        mc_low=rows["rate_low"], mc_high=rows["rate_high"], n_categories=rows["n_categories_low"], n_dead=0
    )
    study, cells = Study(rows, truth), [Cell(panel.title, where(panel)) for panel in panels_of(rows)]
    made = [
        rate_row(rows, cells, _with_bars(lines), kind, alpha, heading) for heading, lines in families(rows)
    ]
    caption = paragraph(
        "collect", "figure_caption", kind=kind, alpha=alpha, values=facts["values"], over=facts[SPREAD],
        truth=captions.truth_sentences(truth, kind), few=FEW_CATEGORIES,
        rows=rows[rows["n_runs"] > 1],
    )  # fmt: skip
    handles = [*(level_handles(alpha) if is_size else []), *count_handles(rows, dead=False)]
    return Grid(
        rows, study.sizes(), made, study.label(kind), draw_curves, handles, count_categories, caption=caption
    ).figure(look)


def _with_bars(lines: Sequence[Any]) -> list[Any]:
    """Return curves that all have bars, which hollow markers have not, and no bands."""
    return [line._replace(style=line.style._replace(filled=True), band=False) for line in lines]


def notes(facts: Mapping[str, Any]) -> list[str]:
    """Return what all figures of a spread have in common."""
    return captions.corpus_sentences(facts)
