"""The tables of a comparison that are made to be read: tables 4, 5 and 6, and the table of seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.compare import comparison_tables as tables
from harness.compare import wine_tables
from harness.compare.seeds import seeds_table
from harness.compare.seeds_text import display_table, seeds_notes, write_seeds_table
from harness.evaluation.rates import write_table
from harness.writing.table_text import write_tables

if TYPE_CHECKING:
    from pandas import DataFrame

Parts = list[tuple[str, "DataFrame"]]


def score_words(scorer: str) -> str:
    """Return what a score is called.

    Examples
    --------
    >>> score_words("error"), score_words("f1_macro")
    ('error rate', 'score (f1_macro)')
    """
    return "error rate" if scorer == "error" else f"score ({scorer})"


def write_shown(
    folder: Path, kept: Mapping[str, Mapping[str, DataFrame]], seconds: DataFrame, scorer: str
) -> Parts:
    """Write tables 4, 5 and 6 and return them with their captions.

    Parameters
    ----------
    folder : Path
    kept : mapping of str to mapping
        For each data set its tables.
    seconds : DataFrame
    scorer : str
    """
    n = len(kept)
    rates = {name: tables.table_of_scores(own["scores"]) for name, own in kept.items()}
    verdicts = {name: tables.table_of_verdicts(own["rejections"]) for name, own in kept.items()}
    for name in kept if wine_tables.is_wine_report(list(kept), scorer) else ():
        rates[name] = wine_tables.add_published_rates(rates[name])
        pairs = kept[name]["rejections"]
        verdicts[name] = wine_tables.add_published_verdicts(
            verdicts[name], list(pairs["a"]), list(pairs["b"]), list(pairs["test"])
        )
    words = "Error rates" if scorer == "error" else f"Scores ({scorer})"
    shown = [
        (
            f"Table 4. {words} on the hold-out and in 5x2cv, over the seeds.",
            tables.join_data_sets(rates, n),
        ),
        ("Table 5. Does the test reject, for each pair?", tables.join_data_sets(verdicts, n)),
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


def write_seeds(
    folder: Path, trials: Mapping[str, DataFrame], facts: Mapping[str, Any]
) -> tuple[Parts, list[str]]:
    """Write the table of seeds, of every data set where two estimators have scores for it.

    Parameters
    ----------
    folder : Path
    trials : mapping of str to DataFrame
        For each data set its table ``trials.csv``.
    facts : mapping
        `data`, `estimators`, `baseline`, `alpha` and `scorer`.

    Returns
    -------
    parts : list of (caption, table)
        For the summary; empty where there is no such data set.
    warnings : list of str
        Where another estimator stands in for the baseline.
    """
    found, warnings = {}, []
    for sizes in facts["data"]:
        name = sizes["name"]
        made = _seeds_of_data(trials[name], facts, (sizes["n_train"], sizes["n_test"]))
        if made is None:
            continue
        table, baseline = made
        found[name] = table
        if facts["baseline"] not in (None, baseline):
            warnings.append(
                f"{facts['baseline']} has no scores on the hold-outs of {name}; {baseline} stands in for the "
                "baseline there"
            )
    if not found:
        return [], warnings
    table = tables.join_data_sets(found, len(trials))
    caption = " ".join([_heading(facts["scorer"], found), *_notes(table)])
    write_seeds_table(folder, table, caption)
    return [(caption, display_table(table))], warnings


def _seeds_of_data(
    trials: DataFrame, facts: Mapping[str, Any], sizes: tuple[int, int]
) -> tuple[DataFrame, str] | None:
    """Return the table of seeds of one data set and its baseline, or None."""
    scores = trials.pivot(index="seed", columns="estimator", values="hold_out")[facts["estimators"]]
    scores = scores.loc[:, scores.count() >= 2]
    if scores.shape[1] < 2 or len(scores.dropna()) < 2:
        return None
    baseline = pick_baseline(facts["baseline"], list(scores.columns))
    table = seeds_table(
        scores, baseline, higher_is_better=facts["scorer"] != "error", alpha=facts["alpha"], splits=sizes
    )
    return table, baseline


def pick_baseline(named: str | None, estimators: Sequence[str]) -> str:
    """Return the named baseline, or the first estimator where there is none or it has no scores.

    Examples
    --------
    >>> pick_baseline(None, ["svm", "tree"]), pick_baseline("tree", ["svm", "tree"])
    ('svm', 'tree')
    """
    return named if named is not None and named in estimators else str(estimators[0])


def _heading(scorer: str, found: Mapping[str, DataFrame]) -> str:
    words = score_words(scorer)
    baselines = {
        name: str(table.loc[table["verdict"] == "baseline", "algorithm"].iloc[0])
        for name, table in found.items()
    }
    own = dict.fromkeys(baselines.values())
    told = (
        next(iter(own))
        if len(own) == 1
        else ", ".join(f"{baseline} on {name}" for name, baseline in baselines.items())
    )
    return f"{words[0].upper()}{words[1:]} on the hold-outs of all seeds; baseline {told}."


def _notes(table: DataFrame) -> list[str]:
    if "data" in table:
        table = table.assign(algorithm=table["algorithm"] + " on " + table["data"])
    return seeds_notes(table)
