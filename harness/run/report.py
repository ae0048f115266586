"""What a run of the size/power study says: its summary and tables, from its own tables and nothing else."""

from collections.abc import Callable, Sequence
from typing import Any

from pandas import DataFrame

from harness.evaluation.null_tables import LEAST_SETS
from harness.evaluation.rates import write_table
from harness.results import captions, names
from harness.results.captions import truth_sentences
from harness.results.category_verdicts import FALSE_LIBERAL, distribution_cells
from harness.results.folder import Results
from harness.results.ranking import recommendation
from harness.results.truth_scores import STATEMENTS, interval, total_scores, truth_name
from harness.results.verdicts import judge, power_where, size_truth, told_curves
from harness.run.findings import (
    closeness,
    closeness_sentences,
    fewer_folds,
    main_findings,
    null_warnings,
    recommendations,
    tabulate_models,
    verdict_grid,
)
from harness.run.findings.paper import papers_conclusions
from harness.runtime.store import write_atomically
from harness.writing import report
from harness.writing.prose import paragraph, paragraphs, sentence
from harness.writing.report import Captioned, Report, Section, bullets, table
from harness.writing.table_text import to_csv, with_bounds

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
    return Section(heading, [table(DataFrame(rows), caption)])


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
    found = DataFrame(papers_conclusions(results), columns=["the paper", "verdict", "numbers here"])
    return Section("The paper's conclusions", [table(found, paragraph("run", "conclusions_caption"))])


def _truth_rules(results: Results) -> Section:
    if results.rules.empty:
        told = [line for name in names.NULL_TRUTHS for line in captions.truth_sentences(name)]
        return Section("Nulls", [bullets(told)])
    totals = total_scores(results.scores)
    totals["truth"] = [truth_name(str(name)) for name in totals["truth"]]
    reading = bullets(captions.truth_sentences(results.truth))
    return Section("Truth rules", [table(totals, paragraph("run", "truth_rules")), reading])


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
            found.append((caption, DataFrame(lines)))
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
        parts.append((caption, DataFrame(rows)))
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
    return DataFrame(rows)


def _mean(point: Any) -> str:
    return f"{point['rate']:.3f} ({int(point['n_categories'])})"
