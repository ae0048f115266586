"""What a run of the size/power study says: its summary and tables, from its own tables and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.evaluation.rates import write_table
from harness.results.captions import (
    ARTEFACTS,
    BAND_OVERLAP,
    INFERRED,
    SIGN,
    corpus_notes,
    corpus_sentence,
    sets_sentence,
    truth_sentences,
)
from harness.results.category_verdicts import CELLS_NOTE, FALSE_LIBERAL, distribution_cells
from harness.results.names import (
    NULL_TRUTHS,
    all_panels,
    other_curves,
    primary_alpha,
    read_table,
    reference_size,
    select,
    select_panel,
)
from harness.results.ranking import ranking_parts
from harness.results.truth_scores import interval, total_scores, truth_name, truth_parts
from harness.results.verdicts import judge, power_where, size_truth, told_curves
from harness.run.findings import main_findings
from harness.run.findings.models import closeness, closeness_sentences, fewer_folds, tabulate_models
from harness.run.findings.nulls import null_warnings, recommendations, verdict_grid
from harness.run.findings.paper import papers_conclusions
from harness.runtime.store import write_atomically
from harness.writing.prose import sentence
from harness.writing.report import (
    REDRAW,
    Captioned,
    Report,
    Section,
    bullets,
    numbered,
    rerun_section,
    table,
    text,
    warnings_section,
    write_report,
)
from harness.writing.table_text import to_csv

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pandas import DataFrame

    from harness.results.folder import Results

FROM_OUTCOMES = "harness run population=FOLDER/outcomes.csv"
NULL_COLUMNS = ("pair", "balance", "truth", "measure", "category", "e1", "reason")
KINDS = {"size": "Size (alpha_true)", "power": "Power"}
AGAIN = (
    "The second command draws the figures again from the tables; the third starts from the stored outcomes, "
    "without training."
)

MEANS_NOTE = (
    "Where the mean lies: within [.8, 1.2] alpha, above or below with its whole interval, else undecided; "
    "below five qualifying categories we cannot tell. A mean says nothing of a single category: "
    "`truth=[exact_null]` measures sizes by category."
)


def write_summary(results: Results) -> list[str]:
    """Write summary, tables and page of a run whose figures are drawn; return its findings."""
    found = main_findings(results)
    if len(results.ranking):
        write_table(results.ranking, results.folder / "tables" / "ranking.csv")
    if len(results.scores):
        write_atomically(results.folder / "tables" / "truth_rules.csv", to_csv(results.scores))
    write_report(results.folder, make_report(results, found), results.provenance)
    return found


def make_report(results: Results, findings: Sequence[str]) -> Report:
    """Return the report of a finished run, whose figures are drawn."""
    models = tabulate_models(results.models, results.outcomes)
    sections = [
        Section("Main findings", [numbered(findings)]),
        _what_was_run(results),
        _warnings(results),
        *_nulls(results),
        _sizes(results),
        _models(results, models),
        _categories(results),
        _conclusions(results),
        _truth_rules(results),
        _how_to_read(results.truth),
        _look(results),
        rerun_section(results.provenance, (REDRAW, FROM_OUTCOMES), [AGAIN]),
    ]
    title = "Size and power of significance tests: summary of a run"
    return Report(title, sections, _tables(results, models))


def _what_was_run(results: Results) -> Section:
    rates, provenance, truth = results.table, results.provenance, results.truth
    sizes = ", ".join(str(int(n)) for n in sorted(rates["n_documents"].unique()))
    alphas = ", ".join(f"{alpha:g}" for alpha in rates["alpha"].unique())
    drawn = f"figures 1 and 2 use {truth_name(truth)}"
    if truth in NULL_TRUTHS:
        drawn = "the populations were made so that H0 holds, figures 1 and 2 have others in their place"
    run = {name: ", ".join(map(str, rates[name].unique())) for name in ("pair", "balance", "test", "truth")}
    lines = [
        corpus_sentence(provenance),
        *corpus_notes(provenance),
        sets_sentence(provenance, rates),
        f"Pairs: {run['pair']}; balance: {run['balance']}.",
        f"Tests: {run['test']}; alpha: {alphas}; N: {sizes}.",
        f"Truth rules: {run['truth']}; {drawn}.",
        SIGN,
    ]
    return Section("What was run", [bullets(lines)])


def _warnings(results: Results) -> Section:
    warnings = [sentence(one) for one in results.provenance.get("warnings") or ()]
    if results.has("nulls.csv"):
        warnings += null_warnings(read_table(results.folder / "nulls.csv", NULL_COLUMNS))
    return warnings_section(warnings)


def _nulls(results: Results) -> list[Section]:
    """Return the verdicts under the exact null at every N, and the test to use in each place."""
    ranked = results.ranking
    if ranked.empty:
        return []
    sizes = ", ".join(str(n) for n in sorted(ranked["n_documents"].unique()))
    read = (
        f"Verdicts by category at alpha = {primary_alpha(results.table):g}, one for each N that was run of "
        f"{sizes}: H holds (no live category liberal after Holm, median within .8 and 1.2 alpha), L2 liberal "
        "in 2 live categories after Holm; else C where the median lies below .8 alpha, ? where it lies above "
        "1.2 alpha; a dot: cannot tell. A test whose sizes all lie at or below 1.2 alpha gets an L by chance "
        f"at no more than one place in {1 / FALSE_LIBERAL:.0f}."
    )
    use = (
        "The test to use: of those that hold by category the most powerful. Where none does, the one that is "
        "liberal in the fewest live categories after Holm, among equals the most powerful. tables/ranking.md "
        "has every test."
    )
    blocks = [table(verdict_grid(ranked), read), table(recommendations(ranked), use)]
    return [Section("Tests where H0 holds exactly", blocks)]


def _sizes(results: Results) -> Section:
    """Return verdicts and power near N = 1000, a row per panel and test."""
    import pandas as pd

    rates, truth = results.table, results.truth
    alpha, n_documents = primary_alpha(rates), reference_size(rates)
    curves, heading = told_curves(rates, companions=True), f"Size and power at N = {n_documents}"
    rule = size_truth(rates, truth)
    sizes = judge(rates, kind="size", truth=rule, alpha=alpha, n_documents=n_documents, curves=curves)
    powers = judge(rates, kind="power", truth=truth, alpha=alpha, n_documents=n_documents, curves=curves)
    power = {(point.panel, point.curve.test): str(point) for point in powers}
    rows = [
        {
            "panel": point.panel.title,
            "test": point.curve.label,
            **(distribution_cells(point.point) if point.by_category else {"mean lies": point.said}),
            "mean size": str(point),
            **({} if point.by_category else {"dead": point.point["n_dead"]}),
            "mean power": power.get((point.panel, point.curve.test), ""),
        }
        for point in sizes
    ]
    if not rows:
        return Section(heading, [text("Cannot tell: only reweighted populations were run.")])
    caption = (
        f"At N = {n_documents}, alpha = {alpha:g}; size by rule {truth_name(rule)}, power "
        f"{power_where(truth)}. {CELLS_NOTE if sizes[0].by_category else MEANS_NOTE} Means are over all "
        "qualifying categories, dead ones too; in brackets the wider of two intervals: Monte Carlo "
        "(evaluation sets) and bootstrap over categories. tables/size.md and tables/power.md hold the means "
        "at every N."
    )
    return Section(heading, [table(pd.DataFrame(rows), caption)])


def _models(results: Results, models: DataFrame) -> Section:
    lines = list(closeness_sentences(closeness(results.outcomes)))
    if results.models is None:
        lines.append("The study started from stored outcomes: no model was trained, tuning is not known.")
    return Section("The models, and which pairs are close", [table(models), bullets(lines)])


def _categories(results: Results) -> Section:
    lines = []
    rows = select(results.table, truth=results.truth, alpha=primary_alpha(results.table))
    for panel in all_panels(results.table):
        for kind in ("size", "power"):
            part = select_panel(rows, panel, kind=kind)
            qualify, dead = part["n_categories"], part["n_dead"]
            lines.append(
                f"{panel.title}, {kind}: {qualify.min()} to {qualify.max()} categories qualify over N and "
                f"tests, {dead.min()} to {dead.max()} of them dead."
            )
    for balance, names in (results.provenance.get("left_out") or {}).items():
        listed = f": {', '.join(map(str, names))}" if names else ""
        lines.append(f"Left out ({balance}), for no positive document in D_tr: {len(names)}{listed}.")
    if results.models is not None:
        for (model, balance), part in results.models.groupby(["model", "balance"], sort=False):
            n_fewer = fewer_folds(part)
            if n_fewer:
                lines.append(f"{model} ({balance}), tuned with fewer folds for lack of positives: {n_fewer}.")
    return Section("Categories", [bullets(lines)])


def _conclusions(results: Results) -> Section:
    import pandas as pd

    found = pd.DataFrame(papers_conclusions(results), columns=["the paper", "verdict", "numbers here"])
    caption = (
        "Keller, Bengio & Wong (NIPS 2005), sentence by sentence. How a sentence is read as a condition is "
        "inferred."
    )
    return Section("The paper's conclusions", [table(found, caption)])


def _truth_rules(results: Results) -> Section:
    if results.rules.empty:
        return Section("Nulls", [bullets([line for name in NULL_TRUTHS for line in truth_sentences(name)])])
    totals = total_scores(results.scores)
    totals["truth"] = [truth_name(str(name)) for name in totals["truth"]]
    caption = (
        'The paper\'s own rule for "H0 is true" could not be found; each rule is a reconstruction, scored '
        "on what the paper says of its figures. tables/truth_rules.md has alpha_true under every rule."
    )
    return Section("Truth rules", [table(totals, caption), bullets(truth_sentences(results.truth))])


def _how_to_read(truth: str) -> Section:
    artefacts = list(ARTEFACTS) if truth != "sampling_interval" else []
    return Section("How to read the numbers", [bullets([*artefacts, BAND_OVERLAP, INFERRED])])


def _look(results: Results) -> Section:
    figures = sorted(path.name for path in (results.folder / "figures").glob("*.png"))
    lines = ["figures/captions.md says what each figure shows.", *(f"figures/{name}" for name in figures)]
    return Section("What to look at", [bullets(lines)])


def _tables(results: Results, models: DataFrame) -> dict[str, list[Captioned]]:
    """Return what ``tables/`` holds: size, power, models; ranking and truth rules where there are any."""
    truth, alpha, tables = results.truth, primary_alpha(results.table), dict[str, list[Captioned]]()
    for kind, name in KINDS.items():
        notes = " ".join(["", *truth_sentences(truth)[1:]])
        tables[kind] = [
            (
                f"{name} at alpha = {alpha:g} by rule {truth_name(truth)}, {title}: mean over the categories "
                "[wider of the Monte Carlo interval and the bootstrap over categories] (qualifying "
                f"categories / dead).{notes if place == 0 else ''}",
                part,
            )
            for place, (title, part) in enumerate(rates_by_panel(results.table, kind, truth, alpha))
        ]
    caption = "Models on D_true; micro F1 pools the cells of all categories. Differences are A minus B."
    tables["models"] = [(caption, models)]
    if len(results.ranking):
        tables["ranking"] = ranking_parts(results.ranking)
    if len(results.rules):
        tables["truth_rules"] = truth_parts(results.table, results.scores)
    return tables


def rates_by_panel(rates: DataFrame, kind: str, truth: str, alpha: float) -> list[tuple[str, DataFrame]]:
    """Return a table per panel that was run: a row per N, a column per test."""
    import pandas as pd

    curves = [*told_curves(rates, companions=True)]
    curves += [curve for curve in other_curves(rates) if curve not in curves]
    rows = select(rates, kind=kind, truth=truth, alpha=alpha)
    found = []
    for panel in all_panels(rates):
        part = select_panel(rows, panel)
        lines = []
        for n_documents in sorted(part["n_documents"].unique()):
            here = part[part["n_documents"] == n_documents]
            cells = {curve.label: _cell(here[here["test"] == curve.test]) for curve in curves}
            lines.append({"N": int(n_documents), **cells})
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
