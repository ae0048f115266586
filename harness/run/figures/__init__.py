"""Draw a finished run's figures from its tables, and from nothing else."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from pandas import DataFrame

from harness.drawing.save import ALONE, Build, draw
from harness.drawing.style import Look
from harness.evaluation.null_tables import PATH
from harness.results import captions, names
from harness.results.folder import Results
from harness.results.names import NULL_TRUTHS, PRIMARY_ALPHA, REWEIGHTED, Panel, select
from harness.results.selection import Selection
from harness.run.figures import degenerate, rates
from harness.run.figures.categories import plan_categories
from harness.runtime.parallel import Workers

NUMBERS = {"size": "1", "power": "2"}
NULL_FIGURES = (
    ("figure_null_size", "exact_null", "size"),
    ("figure_null_joint", "joint_null", "size"),
    ("figure_null_power", "exact_null", "power"),
)


def draw_figures(
    results: Results, figure: Mapping[str, Any], *, workers: Workers = ALONE, out: Path | None = None
) -> list[Path]:
    """Draw every figure that a run's tables can give, as the node ``figure`` asks; the captions come last."""
    shown = results.only(Selection.of(figure))
    truth = names.primary_truth(shown.table, figure.get("truth"))
    jobs = plan(
        shown, truth, x_axis=figure.get("x_axis", "log"), minus_one=bool(figure.get("papers_minus_one"))
    )
    notes = captions.setting_sentences(results.provenance, results.table)
    return draw(out or results.folder / "figures", jobs, Look.of(figure), notes, workers)


def plan(results: Results, truth: str, *, x_axis: str = "log", minus_one: bool = False) -> dict[str, Build]:
    """Return what can be drawn: the stem of each file and what builds it."""
    jobs: dict[str, Build] = {}
    if len(results.rules):
        table = results.table if truth in NULL_TRUTHS else results.rules
        jobs |= _papers(rates.Study(table, truth, x_axis, minus_one), "panels" in results.chosen)
    nulls = names.nulls_alone(results.table)
    jobs |= plan_categories(results, x_axis)
    plain = nulls[nulls["balance"] != REWEIGHTED]
    for group in rates.measures_run(plain):
        part = rates.of_measure(plain, group)
        end = group.replace(" ", "_")
        jobs |= {f"{stem}_{end}": build for stem, build in _nulls(results, part, group, x_axis).items()}
    if degenerate.can_be_drawn(results.table):
        stem = "figure_degenerate" if nulls.empty else "figure_null_degenerate"
        jobs[stem] = partial(degenerate.degenerate_figure, results.table, results.provenance)
    if select(nulls, balance=REWEIGHTED, truth="exact_null")["prevalence"].notna().any():
        jobs["figure_null_prevalence"] = partial(rates.prevalence_figure, rates.Study(nulls, "exact_null"))
    return jobs


def _papers(study: rates.Study, chosen: bool) -> dict[str, Build]:
    """Return the paper's figures and what was run beside it; what was not chosen is not missing."""
    table, jobs = study.table, dict[str, Build]()
    own = names.papers_panels(table)
    own = [panel for panel in own if panel.balance or not chosen]
    panels = {"": own} if any(panel.balance for panel in own) else {}
    panels |= {f"_{name}": group for name, group in names.other_panels(table).items()}
    papers = [*names.papers_curves(table), *names.companion_curves(table)]
    alphas = sorted((float(a) for a in table["alpha"].unique()), key=lambda a: (a != PRIMARY_ALPHA, -a))
    for alpha in alphas:
        end = "" if alpha == PRIMARY_ALPHA else f"_alpha{alpha:g}"
        for suffix, group in panels.items():
            for kind, number in NUMBERS.items():
                choice: dict[str, Any] = {"kind": kind, "alpha": alpha}
                if papers:
                    build = partial(rates.panel_figure, study, group, papers, **choice)
                    jobs[f"figure{number}{suffix}{end}"] = build
                if names.other_curves(table):
                    others = f"{suffix}_other_tests" if papers else suffix
                    jobs[f"figure{number}{others}{end}"] = partial(_others, study, group, **choice)
    if len(names.without_nulls(table)):
        jobs["figure_truth_rules"] = partial(rates.truth_figure, study)
    if select(table, balance=REWEIGHTED, truth=study.truth)["prevalence"].notna().any():
        jobs["figure_prevalence"] = partial(rates.prevalence_figure, study)
    return jobs


def _others(study: rates.Study, panels: list[Panel], look: Look, **choice: Any) -> tuple[list[Any], str]:
    """Return the figure of tests that the paper does not have."""
    papers = [name for tests in names.LEGEND.values() for name in tests]
    table = study.table[~study.table["test"].isin(papers)]
    shown = [panel for panel in panels if panel.balance]
    return rates.family_figure(study._replace(table=table), shown, look, **choice)


def _nulls(results: Results, part: DataFrame, group: str, x_axis: str) -> dict[str, Build]:
    """Return the figures of one group of measures under nulls."""
    jobs: dict[str, Build] = {}
    panels, alpha = rates.panels_of(part), names.primary_alpha(part)
    for stem, truth, kind in NULL_FIGURES:
        if select(part, truth=truth, kind=kind)["rate"].notna().any():
            study = rates.Study(part, truth, x_axis)
            jobs[stem] = partial(rates.family_figure, study, panels, kind=kind, alpha=alpha)
    exact = select(part, truth="exact_null")
    if exact["alpha"].nunique() > 1:
        jobs["figure_null_calibration"] = partial(rates.calibration_figure, exact, panels)
    if results.has("power_path.csv"):
        path = rates.of_measure(results.read("power_path.csv", PATH), group)
        path = path[(path["balance"] != REWEIGHTED) & path["rate"].notna()]
        several = path.groupby("n_documents")["h"].nunique() > 1  # the null alone is no path
        path = path[path["n_documents"].isin(several.index[several])]
        if len(path):
            jobs["figure_null_path"] = partial(rates.path_figure, path, panels)
    return jobs
