"""From the configuration of ``harness compare`` to plain arguments, a function per study."""

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.config import (
    build,
    check_keys,
    check_list,
    check_member,
    check_targets,
    check_whole,
    chosen,
    identity,
    make,
    to_plain,
)
from harness.config_algorithms import (
    SIMULATED_KEYS,
    TRAINING_KEYS,
    simulated_options,
    training_options,
)
from harness.errors import UserError

LIBRARIES = ("sklearn", "xgboost")
"""Estimators come from these alone."""

COMMON_KEYS = {
    "command", "study", "seed", "out", "cache", "device", "parallel", "figure", "experiment",
    "experiment_name", "hydra",
}  # fmt: skip
LEARNERS_KEYS = {"data", "estimator", "n_seeds", "alpha", "scorer", "test_share"}


def compare_arguments(cfg: Any, overrides: Sequence[str] = ()) -> dict[str, Any]:
    """Return the keyword arguments of :func:`harness.compare.compare`.

    Parameters
    ----------
    cfg : DictConfig
    overrides : sequence of str
        What the user wrote: an estimator that he names himself must be installed.

    Raises
    ------
    UserError
        If a key or a value is not allowed; names it, the value and what is allowed.
    """
    check_member("study", cfg.get("study"), tuple(OPTIONS))
    keys, options = OPTIONS[cfg["study"]]
    unknown = sorted(str(key) for key in cfg if key not in COMMON_KEYS | keys)
    if unknown:
        raise UserError(
            f"{unknown[0]}: there is no such key in study={cfg['study']}; "
            "`harness compare --cfg job` prints those there are"
        )
    plain = {str(key): to_plain(cfg[key]) for key in cfg if key in COMMON_KEYS | keys and key != "hydra"}
    check_whole("seed", plain["seed"], 0)
    _check_figure(plain["figure"])
    check_targets({key: node for key, node in plain.items() if key != "estimator"})
    chosen_options = options(cfg, plain, overrides)
    # what the configuration does not say: whether a library is installed, what is in a file
    found: dict[str, Any] = {"estimators": list(chosen_options.get("estimators", ()))}
    if "data" in chosen_options:
        found["data"] = chosen_options["data"].fingerprint()
    return {
        "study": plain["study"],
        "seed": plain["seed"],
        "figure": plain["figure"],
        "cache": None if plain["cache"] is None else Path(str(plain["cache"])),
        "workers": build(cfg, "parallel"),
        "config": identity(cfg) | {"found": found},
        "options": chosen_options,
    }


def _check_figure(node: Any) -> None:
    from harness.figure_style import check_options

    check_keys("figure", node, ("width", "dpi", "formats"))
    check_list("figure.formats", node["formats"])
    for key in ("width", "dpi"):
        if isinstance(node[key], bool) or not isinstance(node[key], int | float):
            raise UserError(f"figure.{key}: {node[key]!r} is not allowed; a number is")
    check_options(node["formats"], "log", node["dpi"], node["width"])


def _learners(cfg: Any, plain: Mapping[str, Any], overrides: Sequence[str]) -> dict[str, Any]:
    """Return the keywords of :func:`harness.algorithms.comparison.compare_learners`."""
    from harness.algorithms.datasets import Dataset, check_dataset
    from harness.algorithms.estimators import check_estimator, check_scorer

    check_whole("n_seeds", plain["n_seeds"], 1)
    for key in ("alpha", "test_share"):
        value = plain[key]
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1:
            raise UserError(f"{key}: {value!r} is not allowed; a number between 0 and 1 is")
    data = build(cfg, "data")
    if not isinstance(data, Dataset):
        raise UserError(f"data._target_: {type(data).__name__} is what it makes; a Dataset is needed")
    check_dataset(data, plain["test_share"])
    check_scorer(str(plain["scorer"]), data)
    nodes, missing = _installed(chosen(cfg, "estimator"), overrides)
    estimators = {}
    for name, node in nodes.items():
        check_targets(to_plain(node), LIBRARIES)
        estimators[name] = make(f"estimator.{name}", node, convert="all")
        check_estimator(name, estimators[name])
    if len(estimators) < 2:
        raise UserError(f"estimator: {', '.join(estimators) or 'none'} is left; at least two are needed")
    return {
        "data": data,
        "estimators": estimators,
        "missing": missing,
        "descriptions": {name: to_plain(node) for name, node in nodes.items()},
        **{key: plain[key] for key in ("n_seeds", "alpha", "scorer", "test_share")},
    }


def _installed(nodes: Mapping[str, Any], overrides: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    """Leave out estimators whose library is not installed, unless the user himself named them."""
    kept, left_out = {}, []
    for name, node in nodes.items():
        plain = to_plain(node)
        target = plain.get("_target_", "") if isinstance(plain, Mapping) else ""
        library = str(target).partition(".")[0]
        if library not in LIBRARIES or importlib.util.find_spec(library) is not None:
            kept[name] = node
            continue
        advice = f'{library} is not installed; pip install "size-power-harness[compare]" brings it'
        if _is_named(name, overrides):
            raise UserError(f"estimator.{name}: {advice}")
        left_out.append(f"{name} is left out: {advice}")
    return kept, left_out


def _is_named(estimator: str, overrides: Sequence[str]) -> bool:
    return any(text.lstrip("+").startswith(("estimator=", f"estimator.{estimator}")) for text in overrides)


OPTIONS: dict[str, tuple[set[str], Callable[[Any, Mapping[str, Any], Sequence[str]], dict[str, Any]]]] = {
    "learners": (LEARNERS_KEYS, _learners),
    "simulated_null": (SIMULATED_KEYS, simulated_options),
    "training_sets": (TRAINING_KEYS, training_options),
}
