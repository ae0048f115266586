"""From the configuration of ``harness advise`` to plain arguments."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.config import build_tests, build_workers, check_targets, check_whole, identity, to_plain
from harness.errors import UserError

KEYS = {
    "command", "seed", "out", "cache", "parallel", "figure", "experiment", "experiment_name", "hydra",
    "predictions", "truth_column", "systems", "positive", "threshold", "measure", "alpha", "difference",
    "test", "plan", "n_replicates", "degenerate",
}  # fmt: skip
COUNTS = {"n_sets": 100, "n_draws": 2, "n_range_sets": 100, "n_power_sets": 100}
MEASURES = ("f1", "error", "precision", "recall", "dcf", "balanced_error")


def advise_arguments(cfg: Any) -> dict[str, Any]:
    """Return the keyword arguments of :func:`harness.advise.advise`, the predictions read.

    Raises
    ------
    UserError
        If a key, a value or the file is not allowed; names it and says what is.
    """
    from harness.advice.predictions import as_outcomes, read_predictions

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
    systems, threshold = _names(plain["systems"]), _number(plain["threshold"])
    found = read_predictions(path, plain["truth_column"], systems, threshold)
    measure = _measure(plain["measure"], found, plain["positive"])
    outcomes = as_outcomes(found, measure, plain["positive"])
    tests = [test for test in build_tests(cfg, str(plain["degenerate"])) if test.measure == measure]
    if not tests:
        raise UserError(f"test: none of those chosen is of measure={measure}; at least one is needed")
    costs = _costs(tests)
    return {
        "outcomes": outcomes,
        "name": path.name,
        "measure": measure,
        "costs": costs,
        "tests": tests,
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
    from harness.store import digest

    columns = [outcomes.truth, *outcomes.decisions.values(), outcomes.n_items]
    return digest(list(outcomes.decisions), [column.astype(int).tolist() for column in columns])


def _measure(measure: object, found: Any, positive: object) -> str:
    """Return the measure; where it is not named, F1 if it is plain which label is positive."""
    from harness.advice.predictions import as_outcomes

    if measure is None:
        try:
            as_outcomes(found, "f1", positive)
        except UserError:
            return "error"
        return "f1"
    if measure not in MEASURES:
        raise UserError(f"measure: {measure!r} is not allowed; choose one of {', '.join(MEASURES)}")
    return str(measure)


def _costs(tests: list[Any]) -> dict[str, float]:
    """Return the costs of the tests, which must be the same for all."""
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
