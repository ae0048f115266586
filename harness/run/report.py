"""Write a run's summary and tables, from its tables and from nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.errors import harmless
from harness.results.captions import (
    ARTEFACTS,
    BAND_OVERLAP,
    INFERRED,
    SIGN,
    corpus_notes,
    corpus_sentence,
    sentence,
    sets_sentence,
    truth_sentences,
)
from harness.results.category_verdicts import CELLS_NOTE, FALSE_LIBERAL, distribution_cells, read_rates
from harness.results.names import (
    NULL_TRUTHS,
    all_panels,
    primary_alpha,
    read_table,
    reference_size,
    select,
    without_nulls,
)
from harness.results.ranking import rank_tests
from harness.results.truth_scores import score_truth_rules, total_scores, truth_name
from harness.results.verdicts import chosen_truth, judge, power_where, size_truth, told_curves
from harness.run.findings import main_findings
from harness.run.findings.models import closeness, closeness_sentences, fewer_folds, tabulate_models
from harness.run.findings.nulls import null_warnings, recommendations, verdict_grid
from harness.run.findings.paper import papers_conclusions
from harness.run.report_tables import write_report_tables
from harness.runtime.provenance import read_provenance
from harness.runtime.store import write_atomically
from harness.writing.rerun import HEADING, REDRAW, rerun_lines
from harness.writing.table_text import escape_markdown, to_markdown

if TYPE_CHECKING:
    from pandas import DataFrame

FROM_OUTCOMES = "harness run population=FOLDER/outcomes.csv"
NULL_COLUMNS = ("pair", "balance", "truth", "measure", "category", "e1", "reason")
MEANS_NOTE = (
    "Where the mean lies: within [.8, 1.2] alpha, above or below with its whole interval, else undecided; "
    "below five qualifying categories we cannot tell. A mean says nothing of a single category: "
    "`truth=[exact_null]` measures sizes by category."
)
OUTCOMES = ("category", "pair", "balance", *(f"e{number}" for number in range(1, 9)))


def write_report(out: Path) -> None:
    """Write ``summary.md`` and ``tables/`` of a finished run.

    Parameters
    ----------
    out : Path
        Folder with ``size_power.csv`` and ``outcomes.csv``, and ``models.csv`` and ``provenance.json`` where
        the run left them.

    Raises
    ------
    UserError
        If a table is missing or lacks a column, or holds no row.
    """
    out = Path(out)
    table = read_rates(out)
    outcomes = read_table(out / "outcomes.csv", OUTCOMES)
    models = None
    if (out / "models.csv").is_file():
        models = read_table(out / "models.csv", ("model", "category", "balance", "n_folds", "f1", "error"))
    provenance = read_provenance(out) or {}
    truth = chosen_truth(table, provenance)
    write_report_tables(out, table, outcomes, models, truth)
    parts = [
        "# Size and power of significance tests: summary of a run\n",
        *_findings(out),
        *_what_was_run(table, provenance, truth),
        *_warnings(out, provenance),
        *_nulls(table),
        *_sizes(table, truth),
        *_models(models, outcomes),
        *_categories(table, models, provenance, truth),
        *_conclusions(table, provenance),
        *_truth_rules(table, truth),
        *_how_to_read(truth),
        *_look_and_rerun(out, provenance),
    ]
    write_atomically(out / "summary.md", harmless("\n".join(parts)).encode())


def _section(heading: str, lines: list[str]) -> list[str]:
    return [f"## {heading}\n", *lines, ""]


def _bullets(lines: list[str]) -> list[str]:
    return [f"- {escape_markdown(line)}" for line in lines]


def _findings(out: Path) -> list[str]:
    findings = [f"{place}. {escape_markdown(text)}" for place, text in enumerate(main_findings(out), start=1)]
    return _section("Main findings", findings)


def _what_was_run(table: DataFrame, provenance: Mapping[str, Any], truth: str) -> list[str]:
    sizes = ", ".join(str(int(n)) for n in sorted(table["n_documents"].unique()))
    drawn = f"figures 1 and 2 use {truth_name(truth)}"
    if truth in NULL_TRUTHS:
        drawn = "the populations were made so that H0 holds, figures 1 and 2 have others in their place"
    lines = [
        corpus_sentence(provenance),
        *corpus_notes(provenance),
        sets_sentence(provenance, table),
        f"Pairs: {', '.join(map(str, table['pair'].unique()))}; balance: "
        f"{', '.join(map(str, table['balance'].unique()))}.",
        f"Tests: {', '.join(map(str, table['test'].unique()))}; alpha: "
        f"{', '.join(f'{alpha:g}' for alpha in table['alpha'].unique())}; N: {sizes}.",
        f"Truth rules: {', '.join(map(str, table['truth'].unique()))}; {drawn}.",
        SIGN,
    ]
    return _section("What was run", _bullets(lines))


def _warnings(out: Path, provenance: Mapping[str, Any]) -> list[str]:
    warnings = [sentence(text) for text in provenance.get("warnings") or ()]
    if (out / "nulls.csv").is_file():
        warnings += null_warnings(read_table(out / "nulls.csv", NULL_COLUMNS))
    return _section("Warnings", _bullets(warnings or ["None."]))


def _nulls(table: DataFrame) -> list[str]:
    """Return the verdicts under the exact null at every N, and the test to use in each place."""
    ranked = rank_tests(table)
    if ranked.empty:
        return []
    sizes = ", ".join(str(n) for n in sorted(ranked["n_documents"].unique()))
    lines = [
        f"Verdicts by category at alpha = {primary_alpha(table):g}, one for each N that was run of {sizes}: "
        "H holds (no live category liberal after Holm, median within .8 and 1.2 alpha), L2 liberal in 2 "
        "live categories after Holm; else C where the median lies below .8 alpha, ? where it lies above 1.2 "
        "alpha; a dot: cannot tell. A test whose sizes all lie at or below 1.2 alpha gets an L by chance at "
        f"no more than one place in {1 / FALSE_LIBERAL:.0f}.\n",
        to_markdown(verdict_grid(ranked)),
        "The test to use: of those that hold by category the most powerful. Where none does, the one that is "
        "liberal in the fewest live categories after Holm, among equals the most powerful. "
        "`tables/ranking.md` has every test.\n",
        to_markdown(recommendations(ranked)),
    ]
    return _section("Tests where H0 holds exactly", lines)


def _sizes(table: DataFrame, truth: str) -> list[str]:
    """Return verdicts and power near N = 1000, a row per panel and test."""
    import pandas as pd

    alpha, n_documents = primary_alpha(table), reference_size(table)
    curves, heading = told_curves(table, companions=True), f"Size and power at N = {n_documents}"
    rule = size_truth(table, truth)
    sizes = judge(table, kind="size", truth=rule, alpha=alpha, n_documents=n_documents, curves=curves)
    powers = judge(table, kind="power", truth=truth, alpha=alpha, n_documents=n_documents, curves=curves)
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
        return _section(heading, ["Cannot tell: only reweighted populations were run."])
    text = (
        f"At N = {n_documents}, alpha = {alpha:g}; size by rule {truth_name(rule)}, power "
        f"{power_where(truth)}. {CELLS_NOTE if sizes[0].by_category else MEANS_NOTE} Means are over all "
        "qualifying categories, dead ones too; in brackets the wider of two intervals: Monte Carlo "
        "(evaluation sets) and bootstrap over categories. `tables/size.md` and `tables/power.md` hold the "
        "means at every N.\n"
    )
    return _section(heading, [text, to_markdown(pd.DataFrame(rows))])


def _models(models: DataFrame | None, outcomes: DataFrame) -> list[str]:
    lines = [
        to_markdown(tabulate_models(models, outcomes)),
        *_bullets(closeness_sentences(closeness(outcomes))),
    ]
    if models is None:
        lines.append("- The study started from stored outcomes: no model was trained, tuning is not known.")
    return _section("The models, and which pairs are close", lines)


def _categories(
    table: DataFrame, models: DataFrame | None, provenance: Mapping[str, Any], truth: str
) -> list[str]:
    lines = []
    rows = select(table, truth=truth, alpha=primary_alpha(table))
    for panel in all_panels(table):
        for kind in ("size", "power"):
            part = rows[
                (rows["pair"] == panel.pair) & (rows["balance"] == panel.balance) & (rows["kind"] == kind)
            ]
            qualify, dead = part["n_categories"], part["n_dead"]
            lines.append(
                f"{panel.title}, {kind}: {qualify.min()} to {qualify.max()} categories qualify over N and "
                f"tests, {dead.min()} to {dead.max()} of them dead."
            )
    for balance, names in (provenance.get("left_out") or {}).items():
        listed = f": {', '.join(map(str, names))}" if names else ""
        lines.append(f"Left out ({balance}), for no positive document in D_tr: {len(names)}{listed}.")
    if models is not None:
        for (model, balance), part in models.groupby(["model", "balance"], sort=False):
            n_fewer = fewer_folds(part)
            if n_fewer:
                lines.append(f"{model} ({balance}), tuned with fewer folds for lack of positives: {n_fewer}.")
    return _section("Categories", _bullets(lines))


def _conclusions(table: DataFrame, provenance: Mapping[str, Any]) -> list[str]:
    import pandas as pd

    found = pd.DataFrame(
        papers_conclusions(table, provenance), columns=["the paper", "verdict", "numbers here"]
    )
    text = (
        "Keller, Bengio & Wong (NIPS 2005), sentence by sentence. How a sentence is read as a condition is "
        "inferred.\n"
    )
    return _section("The paper's conclusions", [text, to_markdown(found)])


def _truth_rules(table: DataFrame, truth: str) -> list[str]:
    if without_nulls(table).empty:
        return _section("Nulls", _bullets([text for name in NULL_TRUTHS for text in truth_sentences(name)]))
    totals = total_scores(score_truth_rules(table))
    totals["truth"] = [truth_name(str(name)) for name in totals["truth"]]
    text = (
        'The paper\'s own rule for "H0 is true" could not be found; each rule is a reconstruction, scored '
        "on what the paper says of its figures. `tables/truth_rules.md` has alpha_true under every rule.\n"
    )
    return _section("Truth rules", [text, to_markdown(totals), *_bullets(truth_sentences(truth))])


def _how_to_read(truth: str) -> list[str]:
    artefacts = list(ARTEFACTS) if truth != "sampling_interval" else []
    return _section("How to read the numbers", _bullets([*artefacts, BAND_OVERLAP, INFERRED]))


def _look_and_rerun(out: Path, provenance: Mapping[str, Any]) -> list[str]:
    figures = sorted(path.name for path in (out / "figures").glob("*.png"))
    look = ["figures/captions.md says what each figure shows.", *(f"figures/{name}" for name in figures)]
    note = (
        "The second command draws the figures again from the tables; the third starts from the stored "
        "outcomes, without training."
    )
    again = rerun_lines(provenance, (REDRAW, FROM_OUTCOMES), [note])
    return [*_section("What to look at", _bullets(look)), *_section(HEADING, again)]
