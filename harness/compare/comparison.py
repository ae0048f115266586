"""The study that compares estimators on one data set, as the wine report does, or on several."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.compare import comparison_report as report
from harness.compare import wine_tables
from harness.compare.comparison_figures import draw_comparison
from harness.compare.comparison_ranks import rank_estimators, write_ranks
from harness.compare.comparison_shown import Parts, write_seeds, write_shown
from harness.compare.comparison_tables import join_data_sets, tabulate_comparison, tabulate_seconds
from harness.compare.datasets import Dataset, facts_of_data
from harness.compare.trials import Trials, run_trials
from harness.compare.variance_report import describe_design, split_variance, write_variance
from harness.compare.variance_trials import Settings, run_variance
from harness.errors import harmless
from harness.evaluation.rates import write_table
from harness.runtime.parallel import Run
from harness.runtime.provenance import Clock
from harness.runtime.store import write_atomically

if TYPE_CHECKING:
    from pandas import DataFrame

FILES = (
    "trials.csv: every score of every estimator and seed",
    "verdicts.csv: every pair, test and seed with the hold-out's cells, statistic and p-value",
    "scores.csv, rejections.csv: the same over the seeds, with intervals",
    "failures.csv: every fit that failed",
    "tables/: tables 4, 5 and 6 as Markdown and LaTeX, 4 and 5 as CSV",
    "tables/seeds: every estimator beside the baseline over the hold-outs of all seeds, with the corrected "
    "resampled t test",
)
FILES_OF_RANKS = (
    "tables/mean_scores.csv: the mean score of every estimator on every data set",
    "tables/ranks: average ranks over the data sets, Friedman's test, Nemenyi's critical difference, Holm's "
    "comparisons with the baseline",
)
FILES_OF_VARIANCE = (
    "variance.csv: every score over splits, random states and settings",
    "tables/variance: variance components, and (variance_alone) one source at a time",
)


def compare_learners(
    *,
    out: Path,
    seed: int,
    stage_run: Callable[..., Run],
    clock: Clock,
    figure: Mapping[str, Any],
    say: Callable[[str], None],
    data: Sequence[Dataset],
    estimators: Mapping[str, Any],
    descriptions: Mapping[str, Any],
    missing: list[str],
    n_seeds: int,
    alpha: float,
    scorer: str,
    test_share: float,
    baseline: str | None,
    n_splits: int,
    n_initialisations: int,
    settings: Mapping[str, Settings],
) -> tuple[dict[str, Any], list[str]]:
    """Compare estimators by a hold-out and 5x2cv, over many seeds; over several data sets by ranks too.

    Parameters
    ----------
    out, seed, stage_run, clock, figure, say
        As every study of :func:`harness.compare.study.compare` gets them.
    data : sequence of Dataset
        Names differ.
    estimators : mapping of str to estimator
    descriptions : mapping of str to JSON types
        What each estimator was made from: part of the key of what is kept.
    missing : list of str
        Sentences on estimators that are left out.
    n_seeds : int
    alpha : float
    scorer : str
    test_share : float
    baseline : str or None
        Name of an estimator; None takes the first.
    n_splits, n_initialisations, settings
        As in :func:`harness.compare.variance_trials.run_variance`; no split, no variance by source.

    Returns
    -------
    facts : dict
        For ``provenance.json``.
    lines : list of str
        The findings.
    """
    for note in missing:
        say(f"note: {note}")
    libraries = {name: _libraries(descriptions[name]) for name in estimators}
    common: dict[str, Any] = {"seed": seed, "scorer": scorer, "test_share": test_share}

    def runs(stage: str, one: Dataset) -> Callable[[str], Run]:
        """Return what gives each estimator the run of its units on one data set."""
        made_from = [one.fingerprint(), seed, scorer, test_share, version_of("sklearn")]
        return lambda name: stage_run(stage, *made_from, libraries[name], name, descriptions[name])

    trials, spread = {}, {}
    for one in data:
        where = f" on {one.name}" if len(data) > 1 else ""
        with clock.stage(f"trials{where}"):
            trials[one.name] = run_trials(
                one, estimators, make_run=runs("trials", one), n_seeds=n_seeds, **common
            )
        if n_splits:
            sizes: dict[str, Any] = {"n_splits": n_splits, "n_initialisations": n_initialisations}
            with clock.stage(f"variance by source{where}"):
                spread[one.name] = run_variance(
                    one, estimators, settings, make_run=runs("variance", one), **sizes, **common
                )
    facts = {
        "data": [facts_of_data(one, test_share) for one in data], "estimators": list(estimators),
        "n_seeds": n_seeds, "seed": seed, "alpha": alpha, "scorer": scorer, "baseline": baseline,
        "xgboost": next((found for found in libraries.values() if found), None),
    }  # fmt: skip
    with clock.stage("tables, figures and summary"):
        return _write_learners(out, trials, spread, estimators, facts, figure, missing)


def _libraries(description: object) -> str | None:
    """Return the version of xgboost where an estimator, or a step of it, comes from there."""
    return version_of("xgboost") if "xgboost." in str(description) else None


def version_of(module: str) -> str:
    """Return what a module says of its version: its distribution may have another name, as xgboost-cpu."""
    return str(getattr(import_module(module), "__version__", "unknown"))


def _write_learners(
    out: Path,
    trials: Mapping[str, Mapping[str, Trials]],
    spread: Mapping[str, DataFrame],
    estimators: Mapping[str, Any],
    facts: dict[str, Any],
    figure: Mapping[str, Any],
    missing: list[str],
) -> tuple[dict[str, Any], list[str]]:
    """Write tables, figures and summary; return the facts for ``provenance.json`` and the findings."""
    alpha, scorer, n = facts["alpha"], facts["scorer"], len(trials)
    kept = {name: tabulate_comparison(found, alpha, scorer) for name, found in trials.items()}
    joined = {
        file: join_data_sets({name: own[file] for name, own in kept.items()}, n)
        for file in next(iter(kept.values()))
    }
    for file, table in joined.items():
        write_table(table, out / f"{file}.csv")
    seconds = join_data_sets({name: tabulate_seconds(found) for name, found in trials.items()}, n)
    shown = write_shown(out / "tables", kept, seconds, scorer)
    seeds, warnings = write_seeds(out / "tables", {name: own["trials"] for name, own in kept.items()}, facts)
    warnings = missing + _count_warnings(trials) + warnings
    found, files = _findings(kept, alpha), list(FILES)
    parts, lines, notes = _write_ranks(out / "tables", joined["scores"], facts) if n > 1 else ([], [], [])
    parts += shown + seeds
    found, warnings, files = lines + found, warnings + notes, files + list(FILES_OF_RANKS if n > 1 else ())
    if spread:
        more, lines, notes = _write_variance(out, spread, estimators, scorer)
        parts, found, warnings = parts + more, found + lines, warnings + notes
        files += FILES_OF_VARIANCE
    published: list[str] = []
    if wine_tables.is_wine_report(list(trials), scorer):
        found += wine_tables.rate_sentences(joined["scores"])
        published = [*wine_tables.WHAT_CANNOT_BE, wine_tables.one_sided_sentence(joined["verdicts"])]
    drawn = draw_comparison(out, facts, **figure)
    files += [f"figures/{path.name}" for path in drawn if path.suffix == ".png"]
    text = report.write_summary(
        report.describe(facts), found, parts, joined["failures"], warnings, published, files
    )
    write_atomically(out / "summary.md", harmless(text).encode())
    facts |= {
        "warnings": warnings,
        "n_failed_fits": len(joined["failures"]),
        "seconds_of_estimators": seconds.to_dict("records"),
    }
    return facts, found


def _count_warnings(trials: Mapping[str, Mapping[str, Trials]]) -> list[str]:
    """Return the sentences on fits that warned; with several data sets each names its own."""
    return report.count_warnings(
        {
            f"{estimator} on {data}" if len(trials) > 1 else estimator: one.warnings
            for data, found in trials.items()
            for estimator, one in found.items()
        }
    )


def _findings(kept: Mapping[str, Mapping[str, DataFrame]], alpha: float) -> list[str]:
    """Return the findings on each pair; with several data sets each begins with its name."""
    return [
        _prefixed(line, name, len(kept))
        for name, own in kept.items()
        for line in report.findings(own["rejections"], own["verdicts"], alpha)
    ]


def _write_ranks(
    folder: Path, scores: DataFrame, facts: Mapping[str, Any]
) -> tuple[Parts, list[str], list[str]]:
    """Write the ranks over data sets; return tables for the summary, findings and warnings."""
    found = rank_estimators(scores, scorer=facts["scorer"], baseline=facts["baseline"], alpha=facts["alpha"])
    write_ranks(folder, found)
    return list(found.parts), [found.finding] if found.finding else [], found.warnings


def _write_variance(
    out: Path, spread: Mapping[str, DataFrame], estimators: Mapping[str, Any], scorer: str
) -> tuple[Parts, list[str], list[str]]:
    """Write the variance by source; return tables for the summary, findings and warnings."""
    write_table(join_data_sets(spread, len(spread)), out / "variance.csv")
    found = {name: split_variance(scores, estimators) for name, scores in spread.items()}
    design = describe_design(next(iter(spread.values())))
    parts = write_variance(out / "tables", found, scorer, design)
    lines, notes = (
        [_prefixed(line, name, len(found)) for name, one in found.items() for line in getattr(one, kind)]
        for kind in ("findings", "warnings")
    )
    return parts, lines, notes


def _prefixed(line: str, data: str, n: int) -> str:
    return f"{data}: {line}" if n > 1 else line
