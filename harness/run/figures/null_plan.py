"""Which figures a run under exact nulls can give."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from harness.results.names import REWEIGHTED, UNBALANCED, nulls_alone, read_table, reference_size, select
from harness.run.figures.calibration import calibration_figure
from harness.run.figures.categories import plan_category_figures
from harness.run.figures.degenerate import affected_curves, close_pair, degenerate_figure, shown_truths
from harness.run.figures.nulls import measures_run, null_size_figure, of_measure
from harness.run.figures.path import path_figure
from harness.run.figures.prevalence import prevalence_figure

if TYPE_CHECKING:
    from pandas import DataFrame

    from harness.results.folder import Results

Build = Callable[[], tuple[Any, str]]
NULL_FIGURES = (
    ("figure_null_size", "exact_null", "size"),
    ("figure_null_joint", "joint_null", "size"),
    ("figure_null_power", "exact_null", "power"),
)
PATH_COLUMNS = (
    "pair", "balance", "prevalence", "measure", "test", "alpha", "n_documents", "h", "rate", "mc_low",
    "mc_high", "n_categories", "n_sets",
)  # fmt: skip


def plan_null_figures(results: Results, *, width: float, x_axis: str) -> dict[str, Build]:
    """Return the figures under nulls that a run's tables can give; none where no null was run."""
    table, provenance = results.table, results.provenance
    nulls, jobs = nulls_alone(table), dict[str, Build]()
    if nulls.empty:
        return jobs
    jobs |= plan_category_figures(results, width=width, x_axis=x_axis)
    plain = nulls[nulls["balance"] != REWEIGHTED]
    for group in measures_run(plain):
        end = group.replace(" ", "_")
        part = of_measure(plain, group)
        for stem, truth, kind in NULL_FIGURES:
            if select(part, truth=truth, kind=kind)["rate"].notna().any():
                jobs[f"{stem}_{end}"] = partial(
                    null_size_figure, plain, provenance, group, truth=truth, kind=kind, width=width,
                    x_axis=x_axis,
                )  # fmt: skip
        exact = select(part, truth="exact_null")
        if exact["alpha"].nunique() > 1:
            for n_documents in sorted({reference_size(exact), reference_size(exact, 3000)}):
                jobs[f"figure_null_calibration_{end}_N{n_documents}"] = partial(
                    calibration_figure, plain, provenance, group, n_documents=n_documents, width=width
                )
        jobs |= _path_jobs(results, plain, group, width)
    jobs |= plan_degenerate(table, provenance, "figure_null_degenerate", width=width)
    if select(nulls, balance=REWEIGHTED, truth="exact_null")["prevalence"].notna().any():
        jobs["figure_null_prevalence"] = partial(
            prevalence_figure, nulls, provenance, truth="exact_null", width=width
        )
    return jobs


def _path_jobs(results: Results, table: DataFrame, group: str, width: float) -> dict[str, Build]:
    if not results.has("power_path.csv"):
        return {}
    path = of_measure(read_table(results.folder / "power_path.csv", PATH_COLUMNS), group)
    path = path[(path["balance"] != REWEIGHTED) & path["rate"].notna()]
    several = path.groupby("n_documents")["h"].nunique() > 1  # the null alone is no path
    return {
        f"figure_null_path_{group.replace(' ', '_')}_N{n}": partial(
            path_figure, table, path, results.provenance, group, n_documents=n, width=width
        )
        for n in sorted(int(n) for n in several.index[several])
    }


def plan_degenerate(
    table: DataFrame, provenance: Mapping[str, Any], stem: str, *, width: float
) -> dict[str, Build]:
    """Return the figure of degenerate sets, where a close pair and a test that they matter for were run."""
    close = select(table, pair=close_pair(table), balance=UNBALANCED, kind="size")
    if shown_truths(close) and affected_curves(close):
        return {stem: partial(degenerate_figure, table, provenance, width=width)}
    return {}
