"""The command ``harness advise``: which test may be trusted on one's own predictions."""

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from harness.advise import report
from harness.advise.cells import cell_pairs
from harness.advise.documents import document_pairs
from harness.advise.figures import draw_advice
from harness.advise.files import Said, is_plain, units
from harness.advise.files.categories import Decisions
from harness.advise.files.runs import Runs
from harness.advise.many import adjust, compare_all
from harness.advise.margin import HINT, measure_margin, say_margin
from harness.advise.needed import deviations, tabulate_needs
from harness.advise.points import Named, Pair, Question, StageRun, judge_pair, measure_pair
from harness.advise.rates import detectable, power_table, size_table
from harness.advise.recommend import Recommendation, choose_tests
from harness.advise.runs import RunPair, run_pairs, tabulate_runs
from harness.advise.worst import tabulate_worst
from harness.evaluation.rates import write_table
from harness.results.selection import check_no_choice
from harness.runtime.parallel import Workers, make_run
from harness.runtime.provenance import Clock
from harness.runtime.run_folder import open_run
from harness.runtime.store import Store, read_regular
from harness.runtime.talk import Say, say
from harness.writing.prose import paragraphs
from harness.writing.report import write_report
from harness.writing.table_text import from_csv

POWERS = (0.8, 0.95)


def advise(
    *,
    out: Path,
    config: Mapping[str, Any],
    outcomes: Said,
    question: Question,
    figure: Mapping[str, Any],
    cache: Path | None,
    workers: Workers,
    say: Say = say,
) -> None:
    """Measure every test on populations like the predictions, and say in `out` which to use."""
    with open_run(out, config, say) as run:
        if run is None:
            return
        stage_run = functools.partial(make_run, workers, Store(cache))
        measure = question.measure
        with run.clock.stage("every pair"):
            field = compare_all(outcomes, question)
            ranks = field.ranks()
        pairs, notes = make_pairs(outcomes, question, field.representatives())
        if isinstance(outcomes, Decisions) and measure != "error":
            measure = f"{question.average} {measure}"
        n_drawn, unit = units(outcomes)
        file = {"name": question.name, "n_items": outcomes.n_total, "systems": list(outcomes.systems)}
        shown: dict[str, Any] = {"n_items": n_drawn, "alpha": question.alpha, "measure": measure}
        shown |= {"unit": unit} if unit != "items" else {}
        run.note(seed=question.seed, predictions=file, shown=shown, config=dict(config))
        tables, more = measure_tables(pairs, question, measure, stage_run, run.clock, len(field.named()))
        notes += [*more, *outcomes.notes]
        tables["ranks"] = ranks
        if field.many:
            with run.clock.stage("intervals"):
                tables["verdicts"] = field.verdicts(tables["verdicts"], measure)
        found = [f"Note: {warning}" for warning in outcomes.warnings]
        if question.margin is not None:
            with run.clock.stage("margin"):
                own, more = measure_margin(pairs, question, stage_run, max(len(pairs), len(field.named())))
            found += say_margin(own["margin"], own["margin_needed"], field.named(), question.alpha, unit)
            tables, notes = tables | own, [*notes, *more]
        with run.clock.stage("tables, figures and summary"):
            for name, table in tables.items():
                write_table(table, out / f"{name}.csv")
            drawn = _draw(out, shown, figure, out / "figures")
            if field.many:
                found += report.findings_of_many(field, tables, **shown)
                notes += paragraphs("advise", "cut", named=field.named(), test=field.test)
            else:
                told = {**shown, "baseline": question.baseline}
                found += report.findings(tables, outcomes.systems, question.difference, **told)
            if question.margin is None and not tables["verdicts"].query("recommended")["rejected"].all():
                found.append(HINT)
        run.note(warnings=[*outcomes.warnings, *notes])
        about = report.describe(question, outcomes, measure, pairs[0].tests)
        made = report.make_report(tables, found, notes, about, (n_drawn, unit), drawn)
        write_report(out, made, run.facts)
        run.lines += ["\n" + "\n".join(found + report.shorten(notes))]


def make_pairs(
    outcomes: Said, question: Question, named: Sequence[Named] | None = None
) -> tuple[list[Pair], list[str]]:
    """Return the pairs, all or those named, that can be tested, and notes; what is drawn is drawn whole."""
    if isinstance(outcomes, Runs):
        return run_pairs(outcomes, question, named)
    if is_plain(outcomes):
        return cell_pairs(outcomes, question, named)
    return document_pairs(outcomes, question, named)


def measure_tables(
    pairs: Sequence[Pair], question: Question, measure: str, run: StageRun, clock: Clock, n_asked: int = 0
) -> tuple[dict[str, pd.DataFrame], list[str]]:
    """Measure, and return every table by the name of its file, and notes; some of `n_asked` may lack."""
    alpha, n_items = question.alpha, int(pairs[0].counts.sum())
    with clock.stage("sizes and powers"):
        found = [measure_pair(pair, question.plan, alpha, question.seed, run) for pair in pairs]
    measured = pd.concat([part for part, _ in found], ignore_index=True)
    sizes, power = size_table(measured, alpha), power_table(measured)
    chosen = choose_tests(sizes, power, pairs[0].recommendable, alpha, n_items)
    tests = [chosen[pair.name, n_items].test for pair in pairs]
    with clock.stage("items needed"):
        powers = () if isinstance(pairs[0], RunPair) else POWERS  # no number of items makes up for few runs
        needs = tabulate_needs(pairs, tests, powers, question, run)
    with clock.stage("worst case near the file"):
        worst = tabulate_worst(pairs, tests, question, run)
    around = {pair.name: deviations(pair, 0.0) for pair in pairs}
    recommendations = [(*key, *recommended) for key, recommended in chosen.items()]
    tables = {
        "verdicts": judge_file(pairs, tests, measure, question, max(n_asked, len(pairs))),
        "sizes": sizes,
        "power": power,
        "detectable": pd.concat([detectable(power, one, around, alpha) for one in POWERS], ignore_index=True),
        "recommendations": pd.DataFrame(
            recommendations, columns=["pair", "n_documents", *Recommendation._fields]
        ),
        "needed": needs,
        "worst_case": worst,
        **tabulate_runs(pairs, alpha, POWERS),
    }
    own, notes = tables["verdicts"], [note for _, notes in found for note in notes]
    d, low, high = (own[name] for name in ("difference", "low", "high"))
    beside = own[own["recommended"] & (own["pvalue"] > 0.1) & (low * high > 0)]["pair"]
    outside = own[(d < low) | (d > high)]["pair"].unique()
    return tables, notes + paragraphs("advise", "intervals", beside=beside, outside=outside)


def judge_file(
    pairs: Sequence[Pair], tests: Sequence[str], measure: str, question: Question, n_asked: int
) -> pd.DataFrame:
    """Return what every test says of the file, with Holm's p over the pairs' recommended tests."""
    parts = []
    for pair, test in zip(pairs, tests, strict=True):
        part = judge_pair(pair, question.seed)
        part.insert(1, "measure", measure)
        part["rejected"] = part["pvalue"] <= question.alpha
        part["recommended"] = part["test"] == test
        parts.append(part)
    table = pd.concat(parts, ignore_index=True)
    return adjust(table, table["recommended"], n_asked)


def redraw(folder: Path, facts: Mapping[str, Any], figure: Mapping[str, Any], out: Path) -> list[Path]:
    """Draw the figures of finished advice again, from its tables."""
    check_no_choice(figure, "advice")
    return _draw(folder, facts["shown"], figure, out)


def _draw(folder: Path, shown: Mapping[str, Any], figure: Mapping[str, Any], out: Path) -> list[Path]:
    """Draw from the CSVs, in the run too: what is drawn again is then the same to the last byte."""
    # advice of earlier versions has no ranks
    names = ("sizes", "power", "recommendations", "verdicts", *["ranks"] * (folder / "ranks.csv").exists())
    tables = {name: from_csv(read_regular(folder / f"{name}.csv")) for name in names}
    return draw_advice(out, tables, figure, **shown)
