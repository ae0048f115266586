"""Which figures a run under exact nulls can give."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.results.names import REWEIGHTED, UNBALANCED, nulls_alone, read_table, reference_size, select
from harness.run.figures.calibration import calibration_figure
from harness.run.figures.categories import plan_category_figures
from harness.run.figures.closeness import closeness_figure
from harness.run.figures.degenerate import affected_curves, close_pair, degenerate_figure, shown_truths
from harness.run.figures.nulls import MEASURES, measures_run, null_size_figure, of_measure
from harness.run.figures.path import path_figure
from harness.run.figures.prevalence import prevalence_figure

if TYPE_CHECKING:
    from pandas import DataFrame

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


def plan_null_figures(
    out: Path, table: DataFrame, provenance: Mapping[str, Any], *, width: float, x_axis: str
) -> dict[str, Build]:
    """Return the figures under nulls that the tables in `out` can give; none where no null was run."""
    nulls, jobs = nulls_alone(table), dict[str, Build]()
    if nulls.empty:
        return jobs
    jobs |= plan_category_figures(out, table, width=width, x_axis=x_axis)
    plain = nulls[nulls["balance"] != REWEIGHTED]
    for group in measures_run(plain):
        end = group.replace(" ", "_")
        part = of_measure(plain, group)
        for stem, truth, kind in NULL_FIGURES:
            if select(part, truth=truth, kind=kind)["rate"].notna().any():
                jobs[f"{stem}_{end}"] = partial(
                    null_size_figure,
                    plain,
                    provenance,
                    group,
                    truth=truth,
                    kind=kind,
                    width=width,
                    x_axis=x_axis,
                )
        exact = select(part, truth="exact_null")
        if exact["alpha"].nunique() > 1:
            for n_documents in sorted({reference_size(exact), reference_size(exact, 3000)}):
                jobs[f"figure_null_calibration_{end}_N{n_documents}"] = partial(
                    calibration_figure, plain, provenance, group, n_documents=n_documents, width=width
                )
        jobs |= _path_jobs(out, plain, provenance, group, width)
    jobs |= _other_null_jobs(out, table, nulls, provenance, width)
    return jobs


def _path_jobs(
    out: Path, table: DataFrame, provenance: Mapping[str, Any], group: str, width: float
) -> dict[str, Build]:
    if not (out / "power_path.csv").is_file():
        return {}
    path = of_measure(read_table(out / "power_path.csv", PATH_COLUMNS), group)
    path = path[(path["balance"] != REWEIGHTED) & path["rate"].notna()]
    several = path.groupby("n_documents")["h"].nunique() > 1  # the null alone is no path
    return {
        f"figure_null_path_{group.replace(' ', '_')}_N{n}": partial(
            path_figure, table, path, provenance, group, n_documents=n, width=width
        )
        for n in sorted(int(n) for n in several.index[several])
    }


def _other_null_jobs(
    out: Path, table: DataFrame, nulls: DataFrame, provenance: Mapping[str, Any], width: float
) -> dict[str, Build]:
    """Return the figures of closeness, of degenerate sets and of prevalence."""
    jobs: dict[str, Build] = {}
    paths = out / "size_power_by_category.csv", out / "nulls.csv"
    shown = select(nulls, truth="exact_null")["measure"].isin(list(MEASURES)).any()
    if shown and all(path.is_file() for path in paths):
        jobs["figure_null_closeness"] = lambda: closeness_figure(
            read_table(paths[0]), read_table(paths[1]), provenance, width=width
        )
    jobs |= plan_degenerate(table, provenance, "figure_null_degenerate", width=width)
    if select(nulls, balance=REWEIGHTED, truth="exact_null")["prevalence"].notna().any():
        jobs["figure_null_prevalence"] = partial(
            prevalence_figure, nulls, provenance, truth="exact_null", width=width
        )
    return jobs


def plan_degenerate(
    table: DataFrame, provenance: Mapping[str, Any], stem: str, *, width: float
) -> dict[str, Build]:
    """Return the figure of degenerate sets, where a close pair and a test that they matter for were run."""
    close = select(table, pair=close_pair(table), balance=UNBALANCED, kind="size")
    if shown_truths(close) and affected_curves(close):
        return {stem: partial(degenerate_figure, table, provenance, width=width)}
    return {}
