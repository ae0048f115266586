"""The study that compares estimators on one data set, as the wine report does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from harness.algorithms import comparison_report as report
from harness.algorithms import comparison_tables as tables
from harness.algorithms import wine_tables
from harness.algorithms.comparison_figures import draw_comparison
from harness.algorithms.datasets import Dataset, facts_of_data
from harness.algorithms.seeds import seeds_table
from harness.algorithms.seeds_text import display_table, seeds_notes, write_seeds_table
from harness.algorithms.trials import Trials, run_trials
from harness.algorithms.verdicts import tabulate_rejections, tabulate_verdicts
from harness.captions import sentence
from harness.parallel import Run
from harness.provenance import Clock
from harness.size_power import write_table
from harness.store import write_atomically
from harness.table_text import write_tables

FILES = (
    "trials.csv: every score of every estimator and seed",
    "verdicts.csv: every pair, test and seed with the hold-out's cells, statistic and p-value",
    "scores.csv, rejections.csv: the same over the seeds, with intervals",
    "failures.csv: every fit that failed",
    "tables/: tables 4, 5 and 6 as Markdown and LaTeX, 4 and 5 as CSV",
    "tables/seeds: every estimator beside the first one over the hold-outs of all seeds, with the corrected "
    "resampled t test",
)


def compare_learners(
    *,
    out: Path,
    seed: int,
    stage_run: Callable[..., Run],
    clock: Clock,
    figure: Mapping[str, Any],
    say: Callable[[str], None],
    data: Dataset,
    estimators: Mapping[str, Any],
    descriptions: Mapping[str, Any],
    missing: list[str],
    n_seeds: int,
    alpha: float,
    scorer: str,
    test_share: float,
) -> tuple[dict[str, Any], list[str]]:
    """Compare estimators on one data set by a hold-out and 5x2cv, over many seeds.

    Parameters
    ----------
    out, seed, stage_run, clock, figure, say
        As every study of :func:`harness.compare.compare` gets them.
    data : Dataset
    estimators : mapping of str to estimator
    descriptions : mapping of str to JSON types
        What each estimator was made from: part of the key of what is kept.
    missing : list of str
        Sentences on estimators that are left out.
    n_seeds : int
    alpha : float
    scorer : str
    test_share : float

    Returns
    -------
    facts : dict
        For ``provenance.json``.
    lines : list of str
        The findings.
    """
    for note in missing:
        say(f"note: {note}")
    facts = {
        "data": facts_of_data(data, test_share), "estimators": list(estimators), "n_seeds": n_seeds,
        "alpha": alpha, "scorer": scorer,
    }  # fmt: skip
    made_from = [data.fingerprint(), seed, scorer, test_share, version("scikit-learn")]
    libraries = {name: _libraries(descriptions[name]) for name in estimators}
    with clock.stage("trials"):
        trials = run_trials(
            data,
            estimators,
            make_run=lambda name: stage_run("trials", *made_from, libraries[name], name, descriptions[name]),
            n_seeds=n_seeds,
            seed=seed,
            scorer=scorer,
            test_share=test_share,
        )
    with clock.stage("tables, figures and summary"):
        facts["xgboost"] = next((found for found in libraries.values() if found), None)
        return _write_learners(out, trials, data, facts, seed, figure, missing)


def _libraries(description: object) -> str | None:
    """Return the version of xgboost where an estimator, or a step of it, comes from there."""
    return version("xgboost") if "xgboost." in str(description) else None


def _write_learners(
    out: Path,
    trials: Mapping[str, Trials],
    data: Dataset,
    facts: dict[str, Any],
    seed: int,
    figure: Mapping[str, Any],
    missing: list[str],
) -> tuple[dict[str, Any], list[str]]:
    """Write tables, figures and summary; return the facts for ``provenance.json`` and the findings."""
    scorer, alpha = facts["scorer"], facts["alpha"]
    kept = {"trials": tables.tabulate_trials(trials), "failures": tables.tabulate_failures(trials)}
    kept["verdicts"] = tabulate_verdicts(trials)
    kept["scores"] = tables.tabulate_scores(kept["trials"], lower_is_better=scorer == "error")
    kept["rejections"] = tabulate_rejections(kept["verdicts"], alpha)
    for name, table in kept.items():
        write_table(table, out / f"{name}.csv")
    seconds = tables.tabulate_seconds(trials)
    shown = _write_shown(out / "tables", kept, seconds, data, scorer)
    shown += _write_seeds(out / "tables", kept["trials"], facts)
    about = report.describe(facts, seed)
    is_report = wine_tables.is_wine_report(data, scorer)
    drawn = draw_comparison(
        out / "figures",
        kept["trials"],
        kept["rejections"],
        scorer=scorer,
        alpha=alpha,
        published=wine_tables.ERROR_RATES if is_report else {},
        about=" ".join(sentence(line) for line in about),
        **figure,
    )
    warnings = missing + report.count_warnings({name: found.warnings for name, found in trials.items()})
    found = report.findings(kept["rejections"], kept["verdicts"], alpha)
    published: list[str] = []
    if is_report:
        found += wine_tables.rate_sentences(kept["scores"])
        published = [*wine_tables.WHAT_CANNOT_BE, wine_tables.one_sided_sentence(kept["verdicts"])]
    files = [*FILES, *(f"figures/{path.name}" for path in drawn if path.suffix == ".png")]
    text = report.write_summary(about, found, shown, kept["failures"], warnings, published, files)
    write_atomically(out / "summary.md", text.encode())
    facts |= {
        "warnings": warnings,
        "n_failed_fits": len(kept["failures"]),
        "seconds_of_estimators": seconds.to_dict("records"),
    }
    return facts, found


def _write_seeds(folder: Path, trials: Any, facts: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Write the table of seeds, where two estimators have scores for it, and return it with its caption."""
    scores = trials.pivot(index="seed", columns="estimator", values="hold_out")[facts["estimators"]]
    scores = scores.loc[:, scores.count() >= 2]
    both = scores.dropna()
    if scores.shape[1] < 2 or len(both) < 2:
        return []
    baseline, scorer = str(scores.columns[0]), facts["scorer"]
    table = seeds_table(
        scores,
        baseline,
        higher_is_better=scorer != "error",
        alpha=facts["alpha"],
        splits=(facts["data"]["n_train"], facts["data"]["n_test"]),
    )
    name = "Error rate" if scorer == "error" else f"Score ({scorer})"
    caption = " ".join([f"{name} on the hold-outs of all seeds; baseline {baseline}.", *seeds_notes(table)])
    write_seeds_table(folder, table, caption)
    return [(caption, display_table(table))]


def _write_shown(
    folder: Path, kept: Mapping[str, Any], seconds: Any, data: Dataset, scorer: str
) -> list[tuple[str, Any]]:
    """Write tables 4, 5 and 6 and return them with their captions."""
    rates, verdicts = tables.table_of_scores(kept["scores"]), tables.table_of_verdicts(kept["rejections"])
    if wine_tables.is_wine_report(data, scorer):
        rates = wine_tables.add_published_rates(rates)
        pairs = kept["rejections"]
        verdicts = wine_tables.add_published_verdicts(
            verdicts, list(pairs["a"]), list(pairs["b"]), list(pairs["test"])
        )
    name = "Error rates" if scorer == "error" else f"Scores ({scorer})"
    shown = [
        (f"Table 4. {name} on the hold-out and in 5x2cv, over the seeds.", rates),
        ("Table 5. Does the test reject, for each pair?", verdicts),
        (
            "Table 6. Seconds of training and predicting, of one seed on one core. They differ from run to "
            "run, and so this table alone has no CSV.",
            seconds,
        ),
    ]
    for number, (caption, table) in enumerate(shown, start=4):
        write_tables(folder, f"table{number}", [(caption, table)])
        if table is not seconds:
            write_table(table, folder / f"table{number}.csv")
    return shown
