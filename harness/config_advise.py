"""From the configuration of ``harness advise`` to plain arguments."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.config import build_tests, build_workers, check_targets, check_whole, identity, to_plain
from harness.errors import UserError

KEYS = {
    "command", "seed", "out", "cache", "parallel", "figure", "experiment", "experiment_name", "hydra",
    "predictions", "truth_column", "systems", "positive", "threshold", "measure", "alpha", "difference",
    "test", "plan", "n_replicates", "degenerate", "task", "metric", "filter", "category_column", "separator",
    "category", "average", "missing",
}  # fmt: skip
NAMES = ("truth_column", "task", "metric", "filter", "category_column", "separator", "category")
COUNTS = {"n_sets": 100, "n_draws": 2, "n_range_sets": 100, "n_power_sets": 100}
AVERAGES = ("micro", "macro")
MEASURES = ("f1", "error", "accuracy", "precision", "recall", "dcf", "balanced_error")


def advise_arguments(cfg: Any) -> dict[str, Any]:
    """Return the keyword arguments of :func:`harness.advise.advise`, the predictions read.

    Raises
    ------
    UserError
        If a key, a value or the file is not allowed; names it and says what is.
    """
    from harness.advice.decisions import Decisions

    unknown = sorted(str(key) for key in cfg if key not in KEYS)
    if unknown:
        raise UserError(
            f"{unknown[0]}: there is no such key; `harness advise --cfg job` prints those there are"
        )
    plain = {str(key): to_plain(cfg[key]) for key in cfg if key not in ("hydra", "predictions")}
    check_targets({"test": plain["test"], "parallel": plain["parallel"]})
    check_whole("seed", plain["seed"], 0)
    for key in ("alpha", "difference"):
        _check_share(key, plain[key])
    plan = _plan(plain["plan"])
    path = Path(str(cfg["predictions"]))
    outcomes, measure = read_outcomes(path, plain)
    tests = [test for test in build_tests(cfg, str(plain["degenerate"])) if test.measure == measure]
    if not tests and not isinstance(outcomes, Decisions):
        raise UserError(f"test: none of those chosen is of measure={measure}; at least one is needed")
    costs = _costs(tests)
    return {
        "outcomes": outcomes,
        "name": path.resolve().name,
        "measure": measure,
        "average": plain["average"],
        "costs": costs,
        "tests": tests,
        "n_replicates": plain["n_replicates"],
        "plan": plan,
        "alpha": plain["alpha"],
        "difference": plain["difference"],
        "seed": plain["seed"],
        "figure": plain["figure"],
        "cache": None if plain["cache"] is None else Path(str(plain["cache"])),
        "workers": build_workers(cfg),
        "config": identity(cfg) | {"counted": _fingerprint(outcomes)},
    }


def _fingerprint(outcomes: Any) -> str:
    from harness.advice.decisions import Decisions
    from harness.store import digest

    if isinstance(outcomes, Decisions):
        content = hashlib.sha256(outcomes.codes.tobytes()).hexdigest()
        return digest(outcomes.systems, outcomes.categories, list(outcomes.codes.shape), content)
    columns = [outcomes.truth, *outcomes.decisions.values(), outcomes.n_items]
    return digest(list(outcomes.decisions), [column.astype(int).tolist() for column in columns])


def read_outcomes(path: Path, plain: Mapping[str, Any]) -> tuple[Any, str]:
    """Return what the file or the folder of logs says, and the measure.

    Raises
    ------
    UserError
        If it cannot be read, or a setting does not fit it.
    """
    from harness.advice.predictions import ACCURACY, as_outcomes, default_measure, read_predictions
    from harness.tables.files import open_table

    names = {key: _text(key, plain[key]) for key in NAMES}
    not_long, plain = plain["category_column"] is False, {**plain, **names}
    if plain["measure"] not in (None, *MEASURES):
        raise UserError(f"measure: {plain['measure']!r} is not allowed; choose one of {', '.join(MEASURES)}")
    if plain["average"] not in AVERAGES:
        raise UserError(f"average: {plain['average']!r} is not allowed; choose one of {', '.join(AVERAGES)}")
    if not isinstance(plain["missing"], list):
        raise UserError(
            f"missing: {plain['missing']!r} is not allowed; a list of words is, as in missing=[NA]"
        )
    if plain["measure"] == "accuracy":
        found, measure = read_outcomes(path, {**plain, "measure": "error"})
        return found._replace(notes=(*found.notes, ACCURACY)), measure
    systems, threshold = _names(plain["systems"]), _number(plain["threshold"])
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
    from harness.advice.lm_eval import read_logs

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
    from harness.advice.columns import CATEGORY
    from harness.advice.multi_label import find_form

    if no_category:
        columns = [name for name in columns if name != CATEGORY]
    chosen = {plain["truth_column"], *(plain["systems"] or ())}
    if plain["category_column"] is None:
        columns = [name for name in columns if name not in chosen]
    return find_form(columns, plain["category_column"], plain["separator"], plain["truth_column"])


def _read_categories(
    table: Any, form: str, plain: Mapping[str, Any], systems: list[str] | None, threshold: float | None
) -> tuple[Any, str]:
    from harness.advice.decisions import one_category
    from harness.advice.multi_label import read_decisions

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


def _text(key: str, value: object) -> str | None:
    if (value is None and key != "separator") or (value is False and key == "category_column"):
        return None
    if isinstance(value, list | dict | bool) or value is None or not str(value):
        raise UserError(f"{key}: {value!r} is not allowed; a name is")
    return str(value)


def _costs(tests: list[Any]) -> dict[str, float]:
    """Return the costs of the tests, which must be the same for all."""
    if not tests:
        return {}
    costs = [dict(getattr(test.difference, "keywords", {})) for test in tests]
    costs = [{key: value for key, value in one.items() if key != "measure"} for one in costs]
    if any(one != costs[0] for one in costs):
        raise UserError("test: the tests have different costs; give all of them the same")
    return costs[0]


def _plan(node: Mapping[str, Any]) -> Any:
    from harness.advice.points import Plan

    for key in node:
        if key not in Plan._fields:
            raise UserError(f"plan.{key}: there is no such key; {', '.join(Plan._fields)} are allowed")
    for key, least in COUNTS.items():
        check_whole(f"plan.{key}", node[key], least)
    for key, most in (("h", 10), ("factors", 100)):
        values = node[key]
        good = (
            isinstance(values, list)
            and values
            and all(isinstance(v, int | float) and not isinstance(v, bool) and 0 < v <= most for v in values)
        )
        if not good:
            raise UserError(
                f"plan.{key}: {values!r} is not allowed; a list of numbers above 0, up to {most}, is"
            )
    factors = sorted({1.0, *(float(v) for v in node["factors"])})
    return Plan(**{key: node[key] for key in COUNTS}, h=tuple(sorted(node["h"])), factors=tuple(factors))


def _check_share(key: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1:
        raise UserError(f"{key}: {value!r} is not allowed; a number between 0 and 1 is")


def _number(value: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        raise UserError(f"threshold: {value!r} is not allowed; a number is")
    return float(value)


def _names(value: object) -> list[str] | None:
    if value is None:
        return None
    if not isinstance(value, list) or len(value) < 2:
        raise UserError(f"systems: {value!r} is not allowed; a list of two or more columns is")
    return [str(name) for name in value]
