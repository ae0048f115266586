"""``harness collect FOLDER spread=seed``: what a study's numbers owe to a single draw."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pandas import DataFrame, concat

from harness.collect.join import SPREAD, Run, collect, differing_settings, joined_settings, runs_with
from harness.collect.spread_report import main_findings, make_report, plan_spread_figures
from harness.collect.swept import Sweep, check_sweep, draw_sweep
from harness.drawing.save import draw
from harness.drawing.style import Look
from harness.errors import refusal
from harness.evaluation.rates import verdict, write_table
from harness.results.captions import corpus_sentences
from harness.results.category_verdicts import SINGLE
from harness.results.folder import Results
from harness.results.names import read_table
from harness.results.selection import Selection
from harness.results.truth_scores import interval
from harness.runtime.provenance import check_folder, read_provenance
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


def redraw(folder: Path, facts: Mapping[str, Any], figure: Mapping[str, Any], out: Path) -> list[Path]:
    """Draw the figures of a spread again, from its table."""
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
    builds = plan_spread_figures(chosen.keep(spread), facts)
    return draw(out, builds, Look.of(figure), corpus_sentences(facts))


POINT = ("pair", "balance", "truth", "measure", "test", "alpha", "n_documents", "kind", "prevalence")
SPREAD_COLUMNS = (
    *POINT, "n_runs", "rate", "rate_sd", "rate_low", "rate_high", "mc_sd", "n_categories_low",
    "n_categories_high", *(f"n_{word}" for word in SINGLE),
)  # fmt: skip
NO_MATTER = ("out", "cache", "device", "parallel", "figure")
"""Settings that leave every number of a table as it is."""
Z = 1.959963984540054  # the Monte Carlo intervals hold 95 %


def read_runs(runs: Sequence[Run], over: str) -> dict[str, Results]:
    """Return each run, by the value of the setting in which the runs differ."""
    differing = differing_settings(runs)
    if over not in differing:
        raise refusal("collect.same_setting", over=over)
    others = sorted(key for key in set(differing) - {over} if key.split(".")[0] not in NO_MATTER)
    if others:
        raise refusal("collect.other_settings", over=over, others=others)
    values = differing[over]
    twice = sorted({value for value in values if values.count(value) > 1})
    if twice:
        raise refusal("collect.several_runs", over=over, value=twice[0])
    return {value: Results(run.folder) for value, run in zip(values, runs, strict=True)}


def tabulate_spread(tables: Mapping[str, DataFrame]) -> DataFrame:
    """Return one row a point: mean, standard deviation and range of its rate over the runs.

    Returns
    -------
    DataFrame
        Columns `SPREAD_COLUMNS`. `rate` is the mean over the `n_runs` runs in which some category qualifies,
        `rate_sd` their standard deviation (n - 1; missing for one run), `rate_low` and `rate_high` the
        extremes. `mc_sd` is what the evaluation sets alone would make of it: the root mean square of the
        runs' Monte Carlo standard errors. `n_holds` to `n_undecided` count the runs by
        where the mean size over categories lies (:func:`harness.evaluation.rates.verdict`).

    Examples
    --------
    >>> import pandas as pd
    >>> from harness.results.names import COLUMNS
    >>> point = dict.fromkeys(COLUMNS, 0.05) | {"kind": "size", "n_categories": 9}
    >>> tables = {"0": pd.DataFrame([point]), "1": pd.DataFrame([point | {"rate": 0.07}])}
    >>> tabulate_spread(tables)[["n_runs", "rate", "rate_low", "rate_high"]].to_numpy().round(3).tolist()
    [[2.0, 0.06, 0.05, 0.07]]
    """
    joined = concat([_judged(table) for table in tables.values()], ignore_index=True)
    groups = joined.groupby(list(POINT), sort=False, dropna=False)
    rate = groups["rate"]
    found = DataFrame({
        "n_runs": rate.count(), "rate": rate.mean(), "rate_sd": rate.std(ddof=1), "rate_low": rate.min(),
        "rate_high": rate.max(), "mc_sd": groups["mc_variance"].mean() ** 0.5,
        "n_categories_low": groups["n_categories"].min(), "n_categories_high": groups["n_categories"].max(),
        **{f"n_{word}": groups[word].sum() for word in SINGLE},
    })  # fmt: skip
    return found.reset_index()[list(SPREAD_COLUMNS)]


def _judged(table: DataFrame) -> DataFrame:
    """Return a run's table with its Monte Carlo variances and a column of 0 and 1 for each verdict."""
    words = table.apply(_word, axis=1, result_type="reduce")
    variance = ((table["mc_high"] - table["mc_low"]) / (2 * Z)) ** 2
    return table.assign(mc_variance=variance, **{word: (words == word).astype(int) for word in SINGLE})


def _word(point: Any) -> str:
    if point["kind"] != "size" or point["rate"] != point["rate"]:
        return ""
    return verdict(*interval(point), point["alpha"])


def read_spread(folder: Path) -> DataFrame:
    """Read ``spread.csv``."""
    text = ("pair", "balance", "truth", "measure", "test", "kind")
    numbers = [name for name in SPREAD_COLUMNS if name not in text]
    return read_table(folder / "spread.csv", SPREAD_COLUMNS, numbers)
