"""What a run of the size/power study says: its summary and tables, from its own tables and nothing else."""

from collections.abc import Sequence

import pandas as pd
from pandas import DataFrame

from harness.evaluation.null_tables import LEAST_SETS
from harness.evaluation.rates import write_table
from harness.results import captions, names
from harness.results.category_verdicts import FALSE_LIBERAL, distribution_cells
from harness.results.folder import Results
from harness.results.truth_scores import total_scores, truth_name
from harness.results.verdicts import judge, power_where, size_truth, told_curves
from harness.run.findings import main_findings
from harness.run.findings.models import closeness, closeness_sentences, fewer_folds, tabulate_models
from harness.run.findings.nulls import null_warnings, recommendations, verdict_grid
from harness.run.findings.paper import papers_conclusions
from harness.run.tables import tables_of
from harness.runtime.store import write_atomically
from harness.writing import report
from harness.writing.prose import paragraph, paragraphs, sentence
from harness.writing.report import Report, Section, bullets, table
from harness.writing.table_text import to_csv

FROM_OUTCOMES = "harness run population=FOLDER/outcomes.csv"
NULL_COLUMNS = ("pair", "balance", "truth", "measure", "category", "e1", "reason")


def write_summary(results: Results) -> list[str]:
    """Write summary, tables and page of a run whose figures are drawn; return its findings."""
    found = main_findings(results)
    if len(results.ranking):
        write_table(results.ranking, results.folder / "tables" / "ranking.csv")
    if len(results.scores):
        write_atomically(results.folder / "tables" / "truth_rules.csv", to_csv(results.scores))
    report.write_report(results.folder, make_report(results, found), results.provenance)
    return found


def make_report(results: Results, findings: Sequence[str]) -> Report:
    """Return the report of a finished run, whose figures are drawn."""
    models = tabulate_models(results.models, results.outcomes)
    again = paragraphs("run", "again")
    sections = [
        Section("Main findings", [report.numbered(findings)]),
        _what_was_run(results),
        report.warnings_section(_warnings(results)),
        *_nulls(results),
        _sizes(results),
        _models(results, models),
        _categories(results),
        _conclusions(results),
        _truth_rules(results),
        Section("How to read the numbers", [bullets(captions.reading_sentences(results.truth))]),
        report.figures_section(results.folder),
        report.rerun_section(results.provenance, (report.REDRAW, FROM_OUTCOMES), again),
    ]
    title = "Size and power of significance tests: summary of a run"
    return Report(title, sections, tables_of(results, models))


def _what_was_run(results: Results) -> Section:
    rates, provenance = results.table, results.provenance
    run = {name: ", ".join(map(str, rates[name].unique())) for name in ("pair", "balance", "test", "truth")}
    run["alpha"] = ", ".join(f"{alpha:g}" for alpha in rates["alpha"].unique())
    run["n_documents"] = ", ".join(str(int(n)) for n in sorted(rates["n_documents"].unique()))
    rule = None if results.truth in names.NULL_TRUTHS else truth_name(results.truth)
    lines = [
        *captions.corpus_sentences(provenance),
        captions.sets_sentence(provenance, rates),
        *paragraphs("run", "what_was_run", run=run, rule=rule),
        captions.SIGN,
    ]
    return Section("What was run", [bullets(lines)])


def _warnings(results: Results) -> list[str]:
    warnings = [sentence(one) for one in results.provenance.get("warnings") or ()]
    if results.has("nulls.csv"):
        warnings += null_warnings(names.read_table(results.folder / "nulls.csv", NULL_COLUMNS))
    return warnings


def _nulls(results: Results) -> list[Section]:
    """Return the verdicts under the exact null at every N, and the test to use in each place."""
    ranked = results.ranking
    if ranked.empty:
        return []
    sizes = sorted(ranked["n_documents"].unique())
    alpha, places = names.primary_alpha(results.table), round(1 / FALSE_LIBERAL)
    read = paragraph("run", "verdicts_caption", alpha=alpha, sizes=sizes, places=places)
    use = paragraph("run", "recommendations_caption")
    blocks = [table(verdict_grid(ranked), read), table(recommendations(ranked), use)]
    return [Section("Tests where H0 holds exactly", blocks)]


def _sizes(results: Results) -> Section:
    """Return verdicts and power near N = 1000, a row per panel and test."""
    rates, truth = results.table, results.truth
    n_documents, rule = names.reference_size(rates), size_truth(rates, truth)
    curves, heading = told_curves(rates, companions=True), f"Size and power at N = {n_documents}"
    powers = judge(rates, "power", truth, curves=curves)
    power = {(point.panel, point.curve.test): str(point) for point in powers}
    rows, by_category = [], False
    for point in judge(rates, "size", rule, curves=curves):
        by_category = point.by_category
        rows.append({
            "panel": point.panel.title,
            "test": point.curve.label,
            **(distribution_cells(point.point) if by_category else {"mean lies": point.said}),
            "mean size": str(point),
            **({} if by_category else {"dead": point.point["n_dead"]}),
            "mean power": power.get((point.panel, point.curve.test), ""),
        })  # fmt: skip
    if not rows:
        return Section(heading, [report.text("Cannot tell: only reweighted populations were run.")])
    caption = paragraph(
        "run", "sizes_caption", n_documents=n_documents, alpha=names.primary_alpha(rates),
        rule=truth_name(rule), where=power_where(truth), by_category=by_category, least_sets=LEAST_SETS,
    )  # fmt: skip
    return Section(heading, [table(pd.DataFrame(rows), caption)])


def _models(results: Results, models: DataFrame) -> Section:
    lines = closeness_sentences(closeness(results.outcomes))
    lines += paragraphs("run", "no_models") if results.models is None else []
    return Section("The models, and which pairs are close", [table(models), bullets(lines)])


def _categories(results: Results) -> Section:
    rows = names.select(results.table, truth=results.truth, alpha=names.primary_alpha(results.table))
    counts = [
        (panel.title, kind, part["n_categories"].agg(["min", "max"]), part["n_dead"].agg(["min", "max"]))
        for panel in names.all_panels(results.table)
        for kind in ("size", "power")
        for part in [names.select_panel(rows, panel, kind=kind)]
    ]
    models, fewer = results.models, {}
    if models is not None:
        fewer = {key: fewer_folds(part) for key, part in models.groupby(["model", "balance"], sort=False)}
    left_out = results.provenance.get("left_out") or {}
    lines = paragraphs("run", "categories", counts=counts, left_out=left_out, fewer=fewer)
    return Section("Categories", [bullets(lines)])


def _conclusions(results: Results) -> Section:
    found = pd.DataFrame(papers_conclusions(results), columns=["the paper", "verdict", "numbers here"])
    return Section("The paper's conclusions", [table(found, paragraph("run", "conclusions_caption"))])


def _truth_rules(results: Results) -> Section:
    if results.rules.empty:
        told = [line for name in names.NULL_TRUTHS for line in captions.truth_sentences(name)]
        return Section("Nulls", [bullets(told)])
    totals = total_scores(results.scores)
    totals["truth"] = [truth_name(str(name)) for name in totals["truth"]]
    reading = bullets(captions.truth_sentences(results.truth))
    return Section("Truth rules", [table(totals, paragraph("run", "truth_rules")), reading])
