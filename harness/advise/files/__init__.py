"""What a file of predictions or a folder of logs says, as the settings of ``harness advise`` ask for it."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeGuard, cast

from harness.advise.files.categories import (
    Decisions,
    find_form,
    one_against_rest,
    one_category,
    read_decisions,
)
from harness.advise.files.columns import CATEGORY, Reading, find_roles
from harness.advise.files.inspect_logs import has_inspect, read_inspect
from harness.advise.files.lm_eval import read_lm_eval
from harness.advise.files.logs import as_right, as_scores
from harness.advise.files.predictions import (
    ACCURACY,
    Outcomes,
    Predictions,
    as_outcomes,
    default_measure,
    read_predictions,
)
from harness.advise.files.runs import Runs, as_wide, check_runs
from harness.advise.files.scores import Scores, find_scores, read_scores
from harness.errors import UserError, instead
from harness.runtime.store import digest
from harness.tables.files import Table, open_table
from harness.tables.labels import plain_label

OF_LOGS = ("task", "metric", "filter")
OF_TABLES = ("truth_column", "positive", "threshold", "category_column", "category", "cluster", "run", "runs")


OneRun = Outcomes | Decisions | Scores
Said = OneRun | Runs


def read_outcomes(path: Path, given: Mapping[str, Any]) -> tuple[Said, str]:
    """Return what the file or the folder of logs says by the settings `given`, and the measure."""
    baseline = given["baseline"]
    if baseline is not None:
        found, measure = read_outcomes(path, {**given, "baseline": None})
        if baseline not in found.systems:
            raise UserError(f"baseline: {baseline!r} is no system; {instead(baseline, found.systems)}")
        return found, measure
    if given["measure"] == "accuracy":
        found, measure = read_outcomes(path, {**given, "measure": "error"})
        return found._replace(notes=(*found.notes, ACCURACY)), measure
    if path.is_dir():
        return _read_logs(path, {**given, "category_column": given["category_column"] or None})
    for key in OF_LOGS:
        _refuse(given, key, "is for a folder of logs")
    if given["run"] is not None or given["runs"] is not None:
        return _read_runs(open_table(path, "predictions"), given)
    if given["paired_runs"]:
        raise UserError(
            "paired_runs: it needs run=COLUMN or runs={NAME:[COLUMN,...],...}, which name the runs"
        )
    if given["measure"] == "score":
        return _read_scores(open_table(path, "predictions"), given), "score"
    return _read_table(open_table(path, "predictions"), given)


def _read_scores(table: Table, given: Mapping[str, Any]) -> Scores:
    _refuse_macro(given, "measure=score takes the mean over all items")
    for key in ("truth_column", "positive", "threshold", "category_column", "category"):
        _refuse(given, key, "has no meaning for measure=score, a column of numbers for each system")
    return read_scores(table, Reading(**{key: given[key] for key in ("systems", "missing", "cluster")}))


def _read_runs(table: Table, given: Mapping[str, Any]) -> tuple[Runs, str]:
    setting, measure = "run" if given["runs"] is None else "runs", given["measure"]
    _refuse_macro(given, f"{setting} is for one measure over all items")
    for key in ("cluster", "category", "category_column" if given["category_column"] else "category"):
        _refuse(given, key, f"cannot be had with {setting}: items are drawn one by one, on one category")
    if given["runs"] is not None:
        for key in ("run", "systems"):
            _refuse(given, key, "says what runs says already, which names the columns of each system")
        columns = {str(name): list(map(str, own)) for name, own in given["runs"].items()}
    else:
        rest = [name for name in table.names if name != given["run"]]
        if CATEGORY in rest and given["category_column"] is None:
            raise UserError(
                f"run: {table.path} has a column `category`, and runs on several categories are not had; "
                "category_column=false where it is no column of categories"
            )
        reading = Reading(given["truth_column"], given["systems"])
        if measure == "score":
            table, columns = as_wide(table, given["run"], find_scores(table.where, rest, reading), None)
        else:
            roles = find_roles(table.where, rest, reading, graded=given["threshold"] is None)
            table, columns = as_wide(table, given["run"], roles.systems, roles.truth)
            table.notes.extend(roles.notes)
    check_runs(columns, given["paired_runs"], setting)
    flat = {**given, "systems": [name for own in columns.values() for name in own], "category_column": False}
    if measure == "score":
        scores = _read_scores(table, flat | {"category_column": None})
        return Runs(scores, columns, given["paired_runs"], scores.notes), measure
    found, measure = _read_table(table, flat)
    return Runs(cast(Outcomes, found), columns, given["paired_runs"], found.notes), measure


def _read_logs(path: Path, given: Mapping[str, Any]) -> tuple[Outcomes | Scores, str]:
    _refuse_macro(given, f"{path} is a folder of logs")
    for key in OF_TABLES:
        reason = f"is for a table of predictions, and {path} is a folder of logs, which hold scores"
        _refuse(given, key, reason)
    measure = given["measure"] or "error"
    if measure not in ("error", "score"):
        raise UserError(
            f"measure: {measure} needs truth and decisions, and the logs in {path} say right or wrong; take "
            "error, which is 1 - accuracy, or score, the mean of numbers"
        )
    task, metric, filter_, systems = (given[key] for key in (*OF_LOGS, "systems"))
    if has_inspect(path):
        _refuse(given, "filter", f"is for logs of lm-evaluation-harness, and those in {path} are of Inspect")
        logs = read_inspect(path, task, metric, systems)
    else:
        logs = read_lm_eval(path, task, metric, filter_, systems)
    return as_right(path, logs) if measure == "error" else as_scores(path, logs), measure


def _read_table(table: Table, given: Mapping[str, Any]) -> tuple[Outcomes | Decisions, str]:
    keys = ("systems", "threshold", "missing", "positive", "separator", "cluster")
    column, category, measure = given["category_column"], given["category"], given["measure"]
    reading = Reading(
        truth=given["truth_column"], category_column=column or None, **{key: given[key] for key in keys}
    )
    form = _form(table.names, reading, column is False)
    if form is not None:
        if category is not None:
            _refuse_macro(given, f"category={category} takes one of them alone")
        decisions = read_decisions(table, form, reading)
        return decisions if category is None else one_category(decisions, category), measure or "f1"
    wide = f"nor columns SYSTEM{reading.separator}CATEGORY"
    found = read_predictions(
        table, reading.truth, reading.systems, reading.threshold, reading.missing, reading.cluster
    )
    if category is not None:
        _check_one_label(found, given, f"{table.path} has no column `category`, {wide}")
    elif given["average"] == "macro":
        if measure == "error" or reading.positive is not None:
            raise UserError(
                "average: 'macro' is the mean over the labels, each the positive one in turn, and not for "
                "measure=error or positive=LABEL; leave it out"
            )
        return one_against_rest(found, table.path.name), measure or "f1"
    positive = reading.positive if category is None else category
    measure = measure or default_measure(found, positive)
    return as_outcomes(found, measure, positive, f"{table.where}: column {{!r}}".format), measure


def _check_one_label(found: Predictions, given: Mapping[str, Any], lacking: str) -> None:
    """Refuse a category that is no label of the truth, and settings that do not go with one."""
    _refuse_macro(given, f"category={given['category']} takes one of them alone")
    _refuse(given, "positive", "is named beside a category, which is the positive label")
    if found.truth is None or plain_label(str(given["category"])) not in found.truth:
        raise UserError(
            f"category: {lacking}, and {given['category']!r} is no label of the truth; "
            "category_column=COLUMN names the categories' own"
        )


def _form(columns: list[str], reading: Reading, no_category: bool) -> str | None:
    aside = [CATEGORY] if no_category else []
    if reading.category_column is None:
        aside += [str(reading.truth), *(reading.systems or ())]
    left = [name for name in columns if name not in aside]
    return find_form(left, reading.category_column, reading.separator, reading.truth)


def _refuse_macro(given: Mapping[str, Any], reason: str) -> None:
    if given["average"] == "macro":
        raise UserError(f"average: 'macro' is only for several categories, and {reason}; leave it out")


def _refuse(given: Mapping[str, Any], key: str, reason: str) -> None:
    if given[key] is not None:
        raise UserError(f"{key}: {given[key]!r} {reason}; leave it out")


def is_plain(outcomes: Said) -> TypeGuard[Outcomes]:
    """Return whether items of one category are drawn one by one: a set is the counts of eight cells."""
    return isinstance(outcomes, Outcomes) and outcomes.clusters is None


def units(outcomes: Said) -> tuple[int, str]:
    """Return how many units are drawn, and what they are called: clusters, or else items."""
    if outcomes.clusters is None:
        return outcomes.n_total, "items"
    return int(outcomes.clusters.max()) + 1, "clusters"


def fingerprint(outcomes: Said) -> str:
    """Return a hash of what was read."""
    if isinstance(outcomes, Runs):
        named = [[name, *own] for name, own in outcomes.columns.items()]
        return digest(named, outcomes.paired, fingerprint(outcomes.found))
    clusters = [] if outcomes.clusters is None else [outcomes.clusters.tolist()]
    if isinstance(outcomes, Scores):
        return digest(outcomes.systems, [own.tolist() for own in outcomes.scores.values()], *clusters)
    if isinstance(outcomes, Decisions):
        content = hashlib.sha256(outcomes.codes.tobytes()).hexdigest()
        return digest(outcomes.systems, outcomes.categories, list(outcomes.codes.shape), content, *clusters)
    columns = [outcomes.truth, *outcomes.decisions.values(), outcomes.n_items]
    return digest(outcomes.systems, [column.astype(int).tolist() for column in columns], *clusters)
