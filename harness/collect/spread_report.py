"""Tables and summary of the spread over runs, from ``spread.csv`` and the runs' own tables."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.collect.join import SPREAD
from harness.results.captions import SIGN, corpus_notes, corpus_sentence, truth_sentences
from harness.results.category_verdicts import SINGLE, mean_words
from harness.results.names import (
    NULL_TRUTHS,
    all_panels,
    primary_alpha,
    primary_truth,
    reference_size,
    select,
    select_panel,
    test_name,
)
from harness.results.truth_scores import STATEMENTS, total_scores, truth_name
from harness.results.verdicts import count_words, size_truth, told_curves
from harness.run.findings.paper import Conclusion, papers_conclusions
from harness.writing.prose import sentence
from harness.writing.report import (
    REDRAW,
    Report,
    Section,
    bullets,
    numbered,
    rerun_section,
    table,
    warnings_section,
)

if TYPE_CHECKING:
    from pandas import DataFrame

    from harness.results.folder import Results


SEEDS = " A seed draws D_tr, the unions, the models' random states and the evaluation sets."
PARTS = {"The paper's conclusions": "spread_conclusions", "Truth rules": "spread_truth_rules"}
MEANS = [mean_words(word) for word in SINGLE]
MIXED = "not the same in all runs"
CONCLUSIONS = (
    "Keller, Bengio & Wong (NIPS 2005), sentence by sentence: in how many of the runs it holds. How a "
    "sentence is read as a condition is inferred."
)
RULES = (
    "Each truth rule against what the paper says of its figures: the mean score of the runs with its range, "
    "and how many of the places that can tell fit, summed over the runs."
)


def spread_tables(spread: DataFrame) -> list[tuple[str, DataFrame]]:
    """Return for each truth and kind a table with a row per panel and test and a column per N."""
    import pandas as pd

    alpha, found = primary_alpha(spread), []
    for truth in spread["truth"].unique():
        for kind in ("size", "power"):
            rows = select(spread, truth=truth, kind=kind, alpha=alpha)
            rows = rows[rows["rate"].notna() & rows["prevalence"].isna()]
            lines = []
            for panel in all_panels(spread):
                part = select_panel(rows, panel)
                for test, points in part.groupby("test", sort=False):
                    cells = {f"N = {int(p['n_documents'])}": _cell(p) for p in points.to_dict("records")}
                    lines.append({"panel": panel.title, "test": test_name(str(test)), **cells})
            if lines:
                caption = (
                    f"{'alpha_true' if kind == 'size' else 'Power'} at alpha = {alpha:g} "
                    f"{_where(str(truth), kind)}: mean over the runs, in brackets "
                    "the lowest and the highest."
                )
                found.append((caption, pd.DataFrame(lines).fillna("")))
    return found


def _where(truth: str, kind: str) -> str:
    """Return under which rule or null rates were measured; power has no null."""
    real = kind == "power" and truth in NULL_TRUTHS
    return "on the real populations" if real else f"under {truth_name(truth)}"


def _cell(point: Mapping[Any, Any]) -> str:
    return f"{point['rate']:.3f} [{point['rate_low']:.3f}, {point['rate_high']:.3f}]"


def tabulate_verdicts(spread: DataFrame, n_documents: int) -> DataFrame:
    """Return at one N, under the exact null where it was run, where each mean size lies in the runs."""
    import pandas as pd

    truth = size_truth(spread, primary_truth(spread))
    rows = select(spread, truth=truth, kind="size", alpha=primary_alpha(spread), n_documents=n_documents)
    tests = [curve.test for curve in told_curves(spread, companions=True)]
    others = [str(name) for name in rows["test"].unique() if name not in tests]
    lines = []
    for panel in all_panels(spread):
        part = select_panel(rows, panel)
        for test in [*tests, *others]:
            for point in part[(part["test"] == test) & part["rate"].notna()].to_dict("records"):
                words = [mean_words(word) for word in SINGLE for _ in range(int(point[f"n_{word}"]))]
                lines.append({
                    "panel": panel.title, "test": test_name(test), "alpha_true": _cell(point),
                    "sd over runs": point["rate_sd"], "sd of the sets alone": point["mc_sd"],
                    "mean lies, by run": count_words(words, MEANS),
                })  # fmt: skip
    return pd.DataFrame(lines)


def tabulate_conclusions(runs: Mapping[str, Results], over: str) -> DataFrame:
    """Return every conclusion of the paper with the number of runs by verdict."""
    import pandas as pd

    told: dict[str, list[Conclusion]] = {}
    for run in runs.values():
        for conclusion in papers_conclusions(run):
            told.setdefault(conclusion.sentence, []).append(conclusion)
    first = f"numbers where {over} is {next(iter(runs))}"
    rows = []
    for text, found in told.items():
        words = [conclusion.verdict for conclusion in found]
        counted = count_words(words, list(dict.fromkeys(words)))
        rows.append({"the paper": text, "runs": counted, first: found[0].evidence})
    return pd.DataFrame(rows)


def tabulate_truth_rules(runs: Mapping[str, Results]) -> DataFrame:
    """Return each truth rule's score over the runs: mean, range, and its statements summed."""
    import pandas as pd

    if any(run.rules.empty for run in runs.values()):
        return pd.DataFrame()
    totals = [total_scores(run.scores) for run in runs.values()]
    joined = pd.concat(totals, ignore_index=True)
    rows = []
    for truth, part in joined.groupby("truth", sort=False):
        total = part["total"]
        score = f"{total.mean():.2f} [{total.min():.2f}, {total.max():.2f}]" if total.notna().any() else ""
        row = {"rule": truth_name(str(truth)), "score": score}
        rows.append(row | {text: _sum_shares(part[name]) for name, text in STATEMENTS.items()})
    return pd.DataFrame(rows)


def _sum_shares(cells: Any) -> str:
    """Return shares such as 2/3 and 1/3 as 3/6; "cannot tell" where no run can."""
    shares = [str(cell).split("/") for cell in cells if "/" in str(cell)]
    if not shares:
        return "cannot tell"
    return f"{sum(int(met) for met, _ in shares)}/{sum(int(told) for _, told in shares)}"


def main_findings(spread: DataFrame) -> list[str]:
    """Return what the spread says, in words."""
    truth, found = size_truth(spread, primary_truth(spread)), []
    rows = select(spread, truth=truth, alpha=primary_alpha(spread))
    rows = rows[(rows["n_runs"] > 1) & rows["prevalence"].isna()]
    for kind in ("size", "power"):
        part = rows[rows["kind"] == kind]
        if len(part):
            found += [_unanimous(part, truth)] if kind == "size" else []
            found.append(_apart(part, kind, truth))
    sizes = rows[rows["kind"] == "size"]
    if len(sizes):
        counts = sizes[[f"n_{word}" for word in SINGLE]]
        same = counts.max(axis=1) == counts.sum(axis=1)
        both = (sizes["n_liberal"] > 0) & (sizes["n_holds"] + sizes["n_conservative"] > 0)
        found.append(
            f"The mean size lies alike to alpha in every run at {int(same.sum())} of {len(sizes)} points "
            f"(panel, test, N); at {int(both.sum())} it lies above 1.2 alpha in one run and within or below "
            "in another."
        )
    return found or ["Cannot tell: no point has a rate in two runs."]


def _unanimous(rows: DataFrame, truth: str) -> str:
    """Return near N = 1000 where each test's mean size lies in all runs, panel by panel."""
    n_documents, told = reference_size(rows), []
    for panel in all_panels(rows):
        by_word: dict[str, list[str]] = {}
        for point in select_panel(rows, panel, n_documents=n_documents).to_dict("records"):
            words = [mean_words(word) for word in SINGLE if point[f"n_{word}"]]
            word = words[0] if len(words) == 1 else MIXED
            by_word.setdefault(word, []).append(test_name(str(point["test"])))
        parts = [f"{word}: {' + '.join(by_word[word])}" for word in (*MEANS, MIXED) if word in by_word]
        told += [f"{panel.title}: {'; '.join(parts)}"] if parts else []
    return (
        f"Mean size over categories under {truth_name(truth)} at N = {n_documents}, "
        f"alpha = {primary_alpha(rows):g}, in every run. {'. '.join(told)}."
    )


def _apart(rows: DataFrame, kind: str, truth: str) -> str:
    """Return how far runs lie apart at the points of one kind, and at which one farthest."""
    points = [{str(name): value for name, value in point.items()} for point in rows.to_dict("records")]
    widest = max(points, key=lambda point: point["rate_high"] - point["rate_low"])
    place = (widest["pair"], widest["balance"])
    panel = next(panel for panel in all_panels(rows) if (panel.pair, panel.balance) == place)
    return (
        f"{kind.capitalize()} {_where(truth, kind)}, alpha = {primary_alpha(rows):g}: between runs the "
        f"standard deviation of a point is {rows['rate_sd'].median():.4f} in the median and "
        f"{rows['rate_sd'].max():.4f} at most; the evaluation sets alone would make it "
        f"{rows['mc_sd'].median():.4f}. Farthest apart: {test_name(widest['test'])} in {panel.title} at "
        f"N = {int(widest['n_documents'])}, {widest['rate_low']:.3f} to {widest['rate_high']:.3f}."
    )


def make_report(
    out: Path, spread: DataFrame, runs: Mapping[str, Results], facts: Mapping[str, Any]
) -> Report:
    """Return the report of a spread, whose figures are drawn."""
    over, n_documents = facts[SPREAD], reference_size(spread)
    rule = size_truth(spread, primary_truth(spread))
    about = [
        f"{len(runs)} runs that differ in {over} alone: {', '.join(runs)}." + SEEDS * (over == "seed"),
        corpus_sentence(facts),
        *corpus_notes(facts),
        f"The first of them: {facts['runs'][0]['command']}",
        SIGN,
    ]
    sizes = (
        f"Mean over categories at alpha = {primary_alpha(spread):g}, under {truth_name(rule)}: its mean over "
        "the runs with the lowest and the highest, and where it lies in how many runs. It says nothing of a "
        "single category. tables/spread.md has all N and power."
    )
    figures = sorted(f"figures/{path.name}" for path in (out / "figures").glob("*.png"))
    truths = [str(name) for name in spread["truth"].unique() if name in (*NULL_TRUTHS, primary_truth(spread))]
    reading = [line for name in truths for line in truth_sentences(name)]
    named = f"provenance.json names the runs, each with its {over} and its command."
    captioned = {
        "spread": spread_tables(spread),
        "spread_conclusions": [(CONCLUSIONS, tabulate_conclusions(runs, over))],
        "spread_truth_rules": [(RULES, tabulate_truth_rules(runs))],
    }
    captioned = {stem: parts for stem, parts in captioned.items() if any(len(part) for _, part in parts)}
    sections = [
        Section("Main findings", [numbered(main_findings(spread))]),
        Section("What was run", [bullets(about)]),
        warnings_section([sentence(one) for one in facts["warnings"]]),
        Section(f"Sizes at N = {n_documents}", [table(tabulate_verdicts(spread, n_documents), sizes)]),
        *(
            Section(heading, [table(captioned[stem][0][1], captioned[stem][0][0])])
            for heading, stem in PARTS.items()
            if stem in captioned
        ),
        Section("How to read the numbers", [bullets(reading)]),
        Section("What to look at", [bullets(["figures/captions.md says what each figure shows.", *figures])]),
        rerun_section(facts, (REDRAW,), [named]),
    ]
    return Report(f"Size and power over {len(runs)} runs: the spread over {over}", sections, captioned)
