"""Tables and summary of the spread over runs, from ``spread.csv`` and the runs' own tables."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from pandas import DataFrame, concat

from harness.collect.join import SPREAD
from harness.drawing.grid import Cell, Grid
from harness.drawing.marks import count_categories, count_handles, draw_curves
from harness.drawing.save import Build
from harness.drawing.style import Look, level_handles
from harness.results import captions, names
from harness.results.category_verdicts import SINGLE, mean_words
from harness.results.folder import Results
from harness.results.names import FEW_CATEGORIES, NULL_TRUTHS, test_name
from harness.results.truth_scores import CANNOT_TELL, STATEMENTS, total_scores, truth_name
from harness.results.verdicts import count_words, size_truth, told_curves
from harness.run.figures.rates import MEASURES, Study, families, panels_of, rate_row, where
from harness.run.findings.paper import Conclusion, papers_conclusions
from harness.writing import report
from harness.writing.prose import paragraph, paragraphs, sentence
from harness.writing.report import Captioned, Report, Section, bullets, table
from harness.writing.table_text import with_bounds

PARTS = {"The paper's conclusions": "spread_conclusions", "Truth rules": "spread_truth_rules"}


def spread_tables(spread: DataFrame) -> list[Captioned]:
    """Return for each truth and kind a table with a row per panel and test and a column per N."""
    alpha, found = names.primary_alpha(spread), list[tuple[str, DataFrame]]()
    spread = spread[spread["prevalence"].isna()]
    for truth in spread["truth"].unique():
        for kind in ("size", "power"):
            rows = names.select(spread, truth=truth, kind=kind, alpha=alpha)
            lines = []
            for panel in names.all_panels(spread):
                part = names.select_panel(rows[rows["rate"].notna()], panel)
                for test, points in part.groupby("test", sort=False):
                    cells = {f"N = {int(p['n_documents'])}": _cell(p) for p in points.to_dict("records")}
                    lines.append({"panel": panel.title, "test": test_name(str(test)), **cells})
            if lines:
                where = _where(str(truth), kind)
                caption = paragraph("collect", "rates_caption", kind=kind, alpha=alpha, where=where)
                found.append((caption, DataFrame(lines).fillna("")))
    return found


def _where(truth: str, kind: str) -> str:
    """Return under which rule or null rates were measured; power has no null."""
    real = kind == "power" and truth in NULL_TRUTHS
    return "on the real populations" if real else f"under {truth_name(truth)}"


def _cell(point: Mapping[Any, Any]) -> str:
    return with_bounds(point["rate"], point["rate_low"], point["rate_high"])


def tabulate_verdicts(spread: DataFrame) -> DataFrame:
    """Return near N = 1000, under the exact null where it was run, where each mean size lies in the runs."""
    truth, alpha = size_truth(spread, names.primary_truth(spread)), names.primary_alpha(spread)
    n_documents = names.reference_size(spread)
    rows = names.select(spread, truth=truth, kind="size", alpha=alpha, n_documents=n_documents)
    told = [curve.test for curve in told_curves(spread, companions=True)]
    tests, lines = dict.fromkeys([*told, *map(str, rows["test"].unique())]), []
    for panel in names.all_panels(spread):
        part = names.select_panel(rows, panel)
        for test in tests:
            for point in part[(part["test"] == test) & part["rate"].notna()].to_dict("records"):
                words = [mean_words(word) for word in SINGLE for _ in range(int(point[f"n_{word}"]))]
                lines.append({
                    "panel": panel.title, "test": test_name(test), "alpha_true": _cell(point),
                    "sd over runs": point["rate_sd"], "sd of the sets alone": point["mc_sd"],
                    "mean lies, by run": count_words(words),
                })  # fmt: skip
    return DataFrame(lines)


def tabulate_conclusions(runs: Mapping[str, Results], over: str) -> DataFrame:
    """Return every conclusion of the paper with the number of runs by verdict."""
    told: dict[str, list[Conclusion]] = {}
    for run in runs.values():
        for conclusion in papers_conclusions(run):
            told.setdefault(conclusion.sentence, []).append(conclusion)
    first = f"numbers where {over} is {next(iter(runs))}"
    rows = [
        {"the paper": text, "runs": count_words([one.verdict for one in found]), first: found[0].evidence}
        for text, found in told.items()
    ]
    return DataFrame(rows)


def tabulate_truth_rules(runs: Mapping[str, Results]) -> DataFrame:
    """Return each truth rule's score over the runs: mean, range, and its statements summed."""
    if any(run.rules.empty for run in runs.values()):
        return DataFrame()
    joined = concat([total_scores(run.scores) for run in runs.values()], ignore_index=True)
    rows = []
    for truth, part in joined.groupby("truth", sort=False):
        total = part["total"]
        score = with_bounds(total.mean(), total.min(), total.max(), 2)
        row = {"rule": truth_name(str(truth)), "score": score}
        rows.append(row | {text: _sum_shares(part[name]) for name, text in STATEMENTS.items()})
    return DataFrame(rows)


def _sum_shares(cells: Any) -> str:
    """Return shares such as 2/3 and 1/3 as 3/6; "cannot tell" where no run can."""
    shares = [str(cell).split("/") for cell in cells if "/" in str(cell)]
    return "/".join(str(sum(map(int, side))) for side in zip(*shares, strict=True)) or CANNOT_TELL


def main_findings(spread: DataFrame) -> list[str]:
    """Return what the spread says, in words."""
    truth, found = size_truth(spread, names.primary_truth(spread)), []
    rows = names.select(spread, truth=truth, alpha=names.primary_alpha(spread))
    rows = rows[(rows["n_runs"] > 1) & rows["prevalence"].isna()]
    sizes = rows[rows["kind"] == "size"]
    if len(sizes):
        found += _unanimous(sizes, truth)
    for kind in ("size", "power"):
        part = rows[rows["kind"] == kind]
        found += _apart(part, kind, truth) if len(part) else []
    if len(sizes):
        counts = sizes[[f"n_{word}" for word in SINGLE]]
        same = (counts.max(axis=1) == counts.sum(axis=1)).sum()
        both = ((sizes["n_liberal"] > 0) & (sizes["n_holds"] + sizes["n_conservative"] > 0)).sum()
        found += paragraphs("collect", "alike", same=same, both=both, n=len(sizes))
    return found or ["Cannot tell: no point has a rate in two runs."]


def _unanimous(rows: DataFrame, truth: str) -> list[str]:
    """Return near N = 1000 at how many panels and tests the mean size lies alike in all runs."""
    n_documents = names.reference_size(rows)
    near = rows[rows["n_documents"] == n_documents]
    words = (near[[f"n_{word}" for word in SINGLE]] > 0).sum(axis=1)
    return paragraphs(
        "collect", "unanimous", rule=truth_name(truth), n_documents=n_documents, same=int((words == 1).sum()),
        n=len(near),
    )  # fmt: skip


def _apart(rows: DataFrame, kind: str, truth: str) -> list[str]:
    """Return how far runs lie apart at the points of one kind, and at which one farthest."""
    widest = rows.iloc[(rows["rate_high"] - rows["rate_low"]).to_numpy().argmax()]
    place = (widest["pair"], widest["balance"])
    panel = next(panel for panel in names.all_panels(rows) if (panel.pair, panel.balance) == place)
    return paragraphs(
        "collect", "apart", kind=kind, where=_where(truth, kind), rows=rows, point=widest,
        test=test_name(widest["test"]), panel=panel.title,
    )  # fmt: skip


def make_report(
    out: Path, spread: DataFrame, runs: Mapping[str, Results], facts: Mapping[str, Any]
) -> Report:
    """Return the report of a spread, whose figures are drawn."""
    over, n_documents = facts[SPREAD], names.reference_size(spread)
    primary, alpha = names.primary_truth(spread), names.primary_alpha(spread)
    about = [
        paragraph("collect", "what_was_run", over=over, values=list(runs)),
        *captions.corpus_sentences(facts),
        f"The first of them: {facts['runs'][0]['command']}",
        captions.SIGN,
    ]
    sizes = paragraph("collect", "sizes_caption", alpha=alpha, rule=truth_name(size_truth(spread, primary)))
    truths = [str(name) for name in spread["truth"].unique() if name in (*NULL_TRUTHS, primary)]
    reading = [line for name in truths for line in captions.truth_sentences(name)]
    conclusions, rules = tabulate_conclusions(runs, over), tabulate_truth_rules(runs)
    tables = {
        "spread": spread_tables(spread),
        "spread_conclusions": [(paragraph("collect", "conclusions_caption"), conclusions)],
        "spread_truth_rules": [(paragraph("collect", "rules_caption"), rules)],
    }
    tables = {stem: parts for stem, parts in tables.items() if any(len(part) for _, part in parts)}
    told = {heading: tables[stem][0] for heading, stem in PARTS.items() if stem in tables}
    sections = [
        Section("Main findings", [report.numbered(main_findings(spread))]),
        Section("What was run", [bullets(about)]),
        report.warnings_section([sentence(one) for one in facts["warnings"]]),
        Section(f"Sizes at N = {n_documents}", [table(tabulate_verdicts(spread), sizes)]),
        *(Section(heading, [table(part, caption)]) for heading, (caption, part) in told.items()),
        Section("How to read the numbers", [bullets(reading)]),
        report.figures_section(out),
        report.rerun_section(facts, (report.REDRAW,), [paragraph("collect", "again", over=over)]),
    ]
    return Report(f"Size and power over {len(runs)} runs: the spread over {over}", sections, tables)


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
