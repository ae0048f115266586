"""What a file of predictions or a folder of logs says, as the settings of ``harness advise`` ask for it."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.errors import UserError


def read_outcomes(path: Path, plain: Mapping[str, Any]) -> tuple[Any, str]:
    """Return what the file or the folder of logs says, and the measure.

    Parameters
    ----------
    path : Path
    plain : mapping
        The settings of ``harness advise``, each checked by itself.

    Raises
    ------
    UserError
        If it cannot be read, or a setting does not fit it.
    """
    from harness.advise.predictions import ACCURACY, as_outcomes, default_measure, read_predictions
    from harness.tables.files import open_table

    if plain["measure"] == "accuracy":
        found, measure = read_outcomes(path, {**plain, "measure": "error"})
        return found._replace(notes=(*found.notes, ACCURACY)), measure
    not_long = plain["category_column"] is False
    systems, threshold = plain["systems"], plain["threshold"]
    plain = {**plain, "category_column": plain["category_column"] or None}
    if path.is_dir():
        _refuse_macro(plain, f"{path} is a folder of logs")
        return _read_logs(path, plain, systems), "error"
    _refuse(plain, ("task", "metric", "filter"), "is for a folder of lm-evaluation-harness logs")
    table = open_table(path, "predictions")
    form = _form(table.names, plain, not_long)
    if form is not None:
        return _read_categories(table, form, plain, systems, threshold)
    _refuse_macro(
        plain, f"{path} has no column of categories, nor columns SYSTEM{plain['separator']}CATEGORY"
    )
    if plain["category"] is not None:
        raise UserError(
            f"category: {path} has no column `category`, nor columns SYSTEM{plain['separator']}CATEGORY; "
            "category_column=COLUMN names the categories' own"
        )
    found = read_predictions(table, plain["truth_column"], systems, threshold, plain["missing"])
    measure = plain["measure"] or default_measure(found, plain["positive"])
    outcomes = as_outcomes(found, measure, plain["positive"], lambda name: f"{table.where}: column {name!r}")
    return outcomes, measure


def _read_logs(path: Path, plain: Mapping[str, Any], systems: list[str] | None) -> Any:
    from harness.advise.lm_eval import read_logs

    _refuse(
        plain, ("truth_column", "positive", "threshold", "category_column", "category"),
        f"is for a table of predictions, and {path} is a folder of logs, which say right or wrong",
    )  # fmt: skip
    if plain["measure"] not in (None, "error"):
        raise UserError(
            f"measure: {plain['measure']} needs truth and decisions, and the logs in {path} say right or "
            "wrong; take error, which is 1 - accuracy"
        )
    return read_logs(path, plain["task"], plain["metric"], plain["filter"], systems)


def _form(columns: list[str], plain: Mapping[str, Any], no_category: bool) -> str | None:
    """Return the form of a table of several categories, None where it is of one."""
    from harness.advise.columns import CATEGORY
    from harness.advise.multi_label import find_form

    if no_category:
        columns = [name for name in columns if name != CATEGORY]
    chosen = {plain["truth_column"], *(plain["systems"] or ())}
    if plain["category_column"] is None:
        columns = [name for name in columns if name not in chosen]
    return find_form(columns, plain["category_column"], plain["separator"], plain["truth_column"])


def _read_categories(
    table: Any, form: str, plain: Mapping[str, Any], systems: list[str] | None, threshold: float | None
) -> tuple[Any, str]:
    from harness.advise.decisions import one_category
    from harness.advise.multi_label import read_decisions

    measure = plain["measure"] or "f1"
    if plain["category"] is not None:
        _refuse_macro(plain, f"category={plain['category']} takes one of them alone")
    found = read_decisions(
        table, form, plain["truth_column"], systems, threshold, plain["positive"], plain["category_column"],
        plain["separator"], plain["missing"],
    )  # fmt: skip
    return (found if plain["category"] is None else one_category(found, plain["category"])), measure


def _refuse_macro(plain: Mapping[str, Any], reason: str) -> None:
    if plain["average"] == "macro":
        raise UserError(f"average: 'macro' is only for several categories, and {reason}; leave it out")


def _refuse(plain: Mapping[str, Any], keys: tuple[str, ...], reason: str) -> None:
    for key in keys:
        if plain[key] is not None:
            raise UserError(f"{key}: {plain[key]!r} {reason}; leave it out")


def fingerprint(outcomes: Any) -> str:
    """Return a hash of what was read."""
    from harness.advise.decisions import Decisions
    from harness.runtime.store import digest

    if isinstance(outcomes, Decisions):
        content = hashlib.sha256(outcomes.codes.tobytes()).hexdigest()
        return digest(outcomes.systems, outcomes.categories, list(outcomes.codes.shape), content)
    columns = [outcomes.truth, *outcomes.decisions.values(), outcomes.n_items]
    return digest(list(outcomes.decisions), [column.astype(int).tolist() for column in columns])
