"""``harness collect FOLDER spread=seed``: what a study's numbers owe to a single draw."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pandas import DataFrame

from harness.collect.figures import notes, plan_spread_figures
from harness.collect.join import SPREAD, Run, collect, joined_settings, runs_with
from harness.collect.spread_report import main_findings, make_report
from harness.collect.spread_table import read_runs, read_spread, tabulate_spread
from harness.collect.swept import Sweep, check_sweep, draw_sweep
from harness.drawing.save import draw
from harness.drawing.style import Look
from harness.evaluation.rates import write_table
from harness.results.selection import Selection
from harness.runtime.provenance import check_finished, check_folder, read_provenance
from harness.runtime.run_folder import RunFolder
from harness.runtime.talk import PLACES, Say
from harness.writing.page import NAME as PAGE
from harness.writing.report import write_report

KEPT, COMMON = ("command", "identity", "git_commit"), ("corpus", "split", "n_replicates", "config")
"""What the spread's record repeats of each run's, and of the first's alone."""


def collect_runs(
    folder: Path,
    *,
    table: str,
    to: Path | None,
    over: str | None,
    spread_to: Path,
    sweep: Sweep | None,
    figure: Mapping[str, Any],
    say: Say,
    warn: Callable[[str], None],
) -> None:
    """Join a table of the runs below `folder`.

    Where `over` is named, write the spread over it as well; where `sweep` is given, draw its figure.
    """
    say(f"reading the runs in {folder}")
    found = []  # first what may be refused, so that nothing is written where it cannot be made
    if sweep is not None:
        check_sweep(joined_settings(runs_with(folder, "size_power")[0], "size_power"), sweep)
    if over is not None:
        found = write_spread(*runs_with(folder, "size_power"), over, spread_to, figure)
    joined = collect(folder, table=table, to=to)
    for line in joined.left_out:
        warn(f"{line}; it is left out")
    say(f"{joined.path}: {joined.n_rows} rows of {joined.n_runs} runs", PLACES)
    if sweep is not None:
        for path in draw_sweep(folder, joined.path, joined.settings, sweep, figure):
            say(str(path), PLACES)
    for number, text in enumerate(found, start=1):
        say(f"  {number}. {text}")
    if over is not None:
        say(f"Spread over {over}: {spread_to / 'summary.md'}; as a page: {spread_to / PAGE}", PLACES)


def write_spread(
    runs: Sequence[Run], left_out: Sequence[str], over: str, out: Path, figure: Mapping[str, Any]
) -> list[str]:
    """Write ``spread.csv``, figures, tables and summary over `runs` to `out`; return the findings."""
    read = read_runs(runs, over)
    identity = {"command": "collect", "spread": over}
    check_folder(out, identity)  # a spread that is finished is made again: its runs may be others
    folder = RunFolder(out, identity, say=lambda *_: None)
    folder.note(**_describe(runs, list(read), over, left_out))
    spread = tabulate_spread({value: results.table for value, results in read.items()})
    write_table(spread, out / "spread.csv")
    _draw(out / "figures", spread, folder.facts, figure)
    write_report(out, make_report(out, spread, read, folder.facts), folder.facts)
    folder.note(finished=True)
    return main_findings(spread)


def redraw(folder: Path, figure: Mapping[str, Any], out: Path) -> list[Path] | None:
    """Draw the figures of a spread again, from its table; None where `folder` holds none."""
    facts = read_provenance(folder)
    if facts is None or SPREAD not in facts:
        return None
    check_finished(folder, facts)
    return _draw(out, read_spread(folder), facts, figure)


def _describe(runs: Sequence[Run], values: list[str], over: str, left_out: Sequence[str]) -> dict[str, Any]:
    """Return what ``provenance.json`` says: the runs, and of the first what all have in common."""
    told = [read_provenance(run.folder) or {} for run in runs]
    common: dict[str, Any] = {name: told[0][name] for name in COMMON if name in told[0]}
    commits = {facts.get("git_commit") for facts in told}
    warnings = [f"{line}; it is left out" for line in left_out]
    if len(commits) > 1:
        warnings.append(f"the runs were made by {len(commits)} versions of the software")
    named = [
        {"run": run.name, over: value} | {name: facts.get(name) for name in KEPT}
        for run, value, facts in zip(runs, values, told, strict=True)
    ]
    seed = ", ".join(values) if over == "seed" else told[0].get("seed")
    return {SPREAD: over, "values": values, "seed": seed, "warnings": warnings, "runs": named, **common}


def _draw(out: Path, spread: DataFrame, facts: Mapping[str, Any], figure: Mapping[str, Any]) -> list[Path]:
    chosen = Selection.of(figure)
    chosen.check(spread)
    return draw(out, plan_spread_figures(chosen.keep(spread), facts), Look.of(figure), notes(facts))
