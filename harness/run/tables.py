"""What ``tables/`` holds of a run: rates by panel, ranking of the tests, scores of truth rules."""

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd
from pandas import DataFrame

from harness.evaluation.null_tables import LEAST_SETS
from harness.results import names
from harness.results.captions import truth_sentences
from harness.results.category_verdicts import distribution_cells
from harness.results.folder import Results
from harness.results.ranking import recommendation
from harness.results.truth_scores import STATEMENTS, interval, total_scores, truth_name
from harness.results.verdicts import told_curves
from harness.writing.prose import paragraph
from harness.writing.report import Captioned
from harness.writing.table_text import with_bounds


def tables_of(results: Results, models: DataFrame) -> dict[str, list[Captioned]]:
    """Return size, power and models; ranking and truth rules where there are any."""
    tables = {kind: _rates(results.table, kind, results.truth) for kind in ("size", "power")}
    tables["models"] = [(paragraph("run", "models_caption"), models)]
    if len(results.ranking):
        tables["ranking"] = ranking_parts(results.ranking)
    if len(results.rules):
        tables["truth_rules"] = truth_parts(results.table, results.scores)
    return tables


def _rates(table: DataFrame, kind: str, truth: str) -> list[Captioned]:
    """Return a table per panel that was run: a row per N, a column per test."""
    curves = told_curves(table, companions=True)
    curves += [curve for curve in names.other_curves(table) if curve not in curves]
    alpha, found = names.primary_alpha(table), list[tuple[str, DataFrame]]()
    rows = names.select(table, kind=kind, truth=truth, alpha=alpha)
    for panel in names.all_panels(table):
        part = names.select_panel(rows, panel)
        sizes = sorted(int(n) for n in part["n_documents"].unique())
        lines = [{"N": n, **_cells(part, curves, n, _rate)} for n in sizes]
        if lines:
            caption = paragraph(
                "run", "rates_caption", kind=kind, alpha=alpha, rule=truth_name(truth), panel=panel.title,
                notes=[] if found else truth_sentences(truth)[1:],
            )  # fmt: skip
            found.append((caption, pd.DataFrame(lines)))
    return found


def _cells(
    rows: DataFrame, curves: Sequence[names.Curve], n_documents: int, show: Callable[[Any], str]
) -> dict[str, str]:
    """Return a cell for each curve at one N, empty where it was not run."""
    points = {point["test"]: point for point in rows[rows["n_documents"] == n_documents].to_dict("records")}
    return {curve.label: show(points[curve.test]) if curve.test in points else "" for curve in curves}


def _rate(point: Any) -> str:
    counts = f"({int(point['n_categories'])}/{int(point['n_dead'])})"
    return f"{with_bounds(point['rate'], *interval(point)) or '–'} {counts}"


def ranking_parts(ranked: DataFrame) -> list[Captioned]:
    """Return the captioned tables of a ranking, one a panel and N."""
    parts: list[Captioned] = []
    for (panel, n), part in ranked.groupby(["panel", "n_documents"], sort=False):
        rows = [
            {
                "measure": row["measure"], "rank": str(row["rank"]), "test": names.test_name(row["test"]),
                **distribution_cells(row),
                **{f"mean {kind}": with_bounds(row[kind], row[f"{kind}_low"], row[f"{kind}_high"])
                   for kind in ("size", "power")},
                "size-adjusted power": row["power_adjusted"], "by category, joint null": row["joint_verdict"],
            }
            for row in part.to_dict("records")
        ]  # fmt: skip
        use = {measure: recommendation(some) for measure, some in part.groupby("measure", sort=False)}
        caption = paragraph(
            "run", "ranking_caption", first=not parts, alpha=part["alpha"].iloc[0], least_sets=LEAST_SETS,
            panel=panel, n_documents=n, use=use,
        )  # fmt: skip
        parts.append((caption, pd.DataFrame(rows)))
    return parts


def truth_parts(table: DataFrame, scores: DataFrame) -> list[Captioned]:
    """Return how each rule fits the paper's statements, and alpha_true by rule."""
    totals = total_scores(scores)
    totals["truth"] = [truth_name(str(truth)) for truth in totals["truth"]]
    alpha = names.primary_alpha(table)
    return [
        (paragraph("run", "scores_caption", alpha=alpha, statements=STATEMENTS), totals),
        (paragraph("run", "alpha_true_caption", alpha=alpha), alpha_true_by_rule(table)),
    ]


def alpha_true_by_rule(size_power: DataFrame) -> DataFrame:
    """Return alpha_true under every rule at the smallest N, the one nearest 1000 and the largest.

    One row per rule, panel and N, one column per test of the paper; a cell is the mean and, in brackets, the
    number of categories it is over. Empty where no category qualifies.
    """
    alpha, curves = names.primary_alpha(size_power), names.papers_curves(size_power)
    table = names.without_nulls(names.select(size_power, alpha=alpha, kind="size"))
    n = table["n_documents"]
    rows = []
    for truth in table["truth"].unique():
        for panel in names.all_panels(size_power):
            part = names.select_panel(table, panel, truth=truth)
            for size in sorted({int(n.min()), names.reference_size(table), int(n.max())}):
                row = {"truth": truth_name(truth), "panel": panel.title, "N": size}
                rows.append(row | _cells(part[part["rate"].notna()], curves, size, _mean))
    return pd.DataFrame(rows)


def _mean(point: Any) -> str:
    return f"{point['rate']:.3f} ({int(point['n_categories'])})"
