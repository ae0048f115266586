"""What a file of predictions or a folder of logs says, as the settings of ``harness advise`` ask for it."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeGuard

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
from harness.advise.files.scores import Scores, read_scores
from harness.errors import instead, refusal
from harness.runtime.store import digest
from harness.tables.files import Table, open_table
from harness.tables.labels import plain_label

OF_LOGS = ("task", "metric", "filter")
OF_TABLES = ("truth_column", "positive", "threshold", "category_column", "category", "cluster", "run", "runs")


OneRun = Outcomes | Decisions | Scores
Said = OneRun | Runs


def read_outcomes(path: Path, given: Mapping[str, Any]) -> tuple[Said, str]:
    """Return what the file or the folder of logs says by the settings `given`, and the measure."""
    baseline, accuracy = given["baseline"], given["measure"] == "accuracy"
    found, measure = _read_outcomes(path, {**given, "measure": "error"} if accuracy else given)
    if baseline not in (None, *found.systems):
        raise refusal("advise.baseline", baseline=baseline, near=instead(baseline, found.systems))
    return found._replace(notes=(*found.notes, ACCURACY)) if accuracy else found, measure


def _read_outcomes(path: Path, given: Mapping[str, Any]) -> tuple[Said, str]:
    if path.is_dir():
        return _read_logs(path, {**given, "category_column": given["category_column"] or None})
    _refuse(given, "is for a folder of logs", *OF_LOGS)
    if given["run"] is not None or given["runs"] is not None:
        return _read_runs(open_table(path, "predictions"), given)
    if given["paired_runs"]:
        raise refusal("advise.paired_alone")
    if given["measure"] == "score":
        return _read_scores(open_table(path, "predictions"), given), "score"
    return _read_table(open_table(path, "predictions"), given)


def _read_scores(table: Table, given: Mapping[str, Any]) -> Scores:
    _refuse_macro(given, "measure=score takes the mean over all items")
    meaning = "has no meaning for measure=score, a column of numbers for each system"
    _refuse(given, meaning, "truth_column", "positive", "threshold", "category_column", "category")
    return read_scores(table, Reading(**{key: given[key] for key in ("systems", "missing", "cluster")}))


def _read_runs(table: Table, given: Mapping[str, Any]) -> tuple[Runs, str]:
    setting, measure = "run" if given["runs"] is None else "runs", given["measure"]
    _refuse_macro(given, f"{setting} is for one measure over all items")
    keys = ("cluster", "category", *(["category_column"] if given["category_column"] else []))
    _refuse(given, f"cannot be had with {setting}: items are drawn one by one, on one category", *keys)
    if given["runs"] is not None:
        said = "says what runs says already, which names the columns of each system"
        _refuse(given, said, "run", "systems")
        columns = {str(name): list(map(str, own)) for name, own in given["runs"].items()}
    else:
        rest = [name for name in table.names if name != given["run"]]
        if CATEGORY in rest and given["category_column"] is None:
            raise refusal("advise.runs_of_categories", path=table.path)
        scores, graded = measure == "score", given["threshold"] is None
        reading = Reading(None if scores else given["truth_column"], given["systems"])
        roles = find_roles(table.where, rest, reading, graded, scores)
        table, columns = as_wide(table, given["run"], roles.systems, roles.truth)
        table.notes.extend([] if scores else roles.notes)
    check_runs(columns, given["paired_runs"], setting)
    flat = {**given, "systems": [name for own in columns.values() for name in own], "category_column": False}
    if measure == "score":
        found: Any = _read_scores(table, flat | {"category_column": None})
    else:
        found, measure = _read_table(table, flat)
    return Runs(found, columns, given["paired_runs"], found.notes), measure


def _read_logs(path: Path, given: Mapping[str, Any]) -> tuple[Outcomes | Scores, str]:
    _refuse_macro(given, f"{path} is a folder of logs")
    reason = f"is for a table of predictions, and {path} is a folder of logs, which hold scores"
    _refuse(given, reason, *OF_TABLES)
    measure = given["measure"] or "error"
    if measure not in ("error", "score"):
        raise refusal("advise.logs_measure", measure=measure, path=path)
    task, metric, filter_, systems = (given[key] for key in (*OF_LOGS, "systems"))
    if has_inspect(path):
        _refuse(given, f"is for logs of lm-evaluation-harness, and those in {path} are of Inspect", "filter")
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
    found = read_predictions(table, **reading._asdict())
    if category is not None:
        _check_one_label(table.path, found, given)
    elif given["average"] == "macro":
        if measure == "error" or reading.positive is not None:
            raise refusal("advise.macro_of_labels")
        return one_against_rest(found, table.path.name), measure or "f1"
    positive = reading.positive if category is None else category
    measure = measure or default_measure(found, positive)
    return as_outcomes(found, measure, positive, f"{table.where}: column {{!r}}".format), measure


def _check_one_label(path: Path, found: Predictions, given: Mapping[str, Any]) -> None:
    """Refuse a category that is no label of the truth, and settings that do not go with one."""
    category = given["category"]
    _refuse_macro(given, f"category={category} takes one of them alone")
    _refuse(given, "is named beside a category, which is the positive label", "positive")
    if found.truth is None or plain_label(str(category)) not in found.truth:
        told = {"category": category, "separator": given["separator"]}
        raise refusal("advise.category_no_label", path=path, **told)


def _form(columns: list[str], reading: Reading, no_category: bool) -> str | None:
    aside = [CATEGORY] if no_category else []
    if reading.category_column is None:
        aside += [str(reading.truth), *(reading.systems or ())]
    left = [name for name in columns if name not in aside]
    return find_form(left, reading.category_column, reading.separator, reading.truth)


def _refuse_macro(given: Mapping[str, Any], reason: str) -> None:
    if given["average"] == "macro":
        raise refusal("advise.no_macro", reason=reason)


def _refuse(given: Mapping[str, Any], reason: str, *keys: str) -> None:
    for key in keys:
        if given[key] is not None:
            raise refusal("advise.leave_out", key=key, value=repr(given[key]), reason=reason)


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
