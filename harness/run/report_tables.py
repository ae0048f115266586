"""The report's tables: size and power by test and N, models, truth rules."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from harness.results.captions import truth_sentences
from harness.results.names import all_panels, other_curves, primary_alpha, select, select_panel, without_nulls
from harness.results.ranking import write_ranking
from harness.results.truth_scores import interval, truth_name, write_truth_tables
from harness.results.verdicts import told_curves
from harness.run.findings.models import tabulate_models
from harness.writing.table_text import write_tables

if TYPE_CHECKING:
    from pandas import DataFrame

KINDS = {"size": "Size (alpha_true)", "power": "Power"}


def write_report_tables(
    out: Path, table: DataFrame, outcomes: DataFrame, models: DataFrame | None, truth: str
) -> list[Path]:
    """Write ``tables/``: size, power, models, truth_rules and ranking, Markdown and LaTeX; return the paths.

    The last two are for runs under rules and under nulls.
    """
    folder, paths = out / "tables", []
    alpha = primary_alpha(table)
    for kind, name in KINDS.items():
        parts = []
        for place, (panel_title, part) in enumerate(
            rates_by_panel(table, kind=kind, truth=truth, alpha=alpha)
        ):
            caption = (
                f"{name} at alpha = {alpha:g} by rule {truth_name(truth)}, {panel_title}: mean over the "
                "categories [wider of the Monte Carlo interval and the bootstrap over categories] "
                "(qualifying categories / dead)."
            )
            notes = truth_sentences(truth)[1:] if place == 0 else []
            parts.append((" ".join([caption, *notes]), part))
        paths += write_tables(folder, kind, parts)
    caption = "Models on D_true; micro F1 pools the cells of all categories. Differences are A minus B."
    paths += write_tables(folder, "models", [(caption, tabulate_models(models, outcomes))])
    paths += write_ranking(out, table)
    return paths if without_nulls(table).empty else paths + write_truth_tables(out)


def rates_by_panel(table: DataFrame, *, kind: str, truth: str, alpha: float) -> list[tuple[str, DataFrame]]:
    """Return a table per panel that was run: a row per N, a column per test."""
    import pandas as pd

    curves = [*told_curves(table, companions=True)]
    curves += [curve for curve in other_curves(table) if curve not in curves]
    rows = select(table, kind=kind, truth=truth, alpha=alpha)
    found = []
    for panel in all_panels(table):
        part = select_panel(rows, panel)
        lines = []
        for n_documents in sorted(part["n_documents"].unique()):
            line: dict[str, object] = {"N": int(n_documents)}
            for curve in curves:
                line[curve.label] = _cell(
                    part[(part["test"] == curve.test) & (part["n_documents"] == n_documents)]
                )
            lines.append(line)
        if lines:
            found.append((panel.title, pd.DataFrame(lines)))
    return found


def _cell(points: DataFrame) -> str:
    if points.empty:
        return ""
    point = points.iloc[0]
    counts = f"({int(point['n_categories'])}/{int(point['n_dead'])})"
    if point["rate"] != point["rate"]:
        return f"– {counts}"
    low, high = interval(point)
    return f"{point['rate']:.3f} [{low:.3f}, {high:.3f}] {counts}"
