"""From the configuration of ``harness compare`` to plain arguments, a function per study."""

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.config import build_group, build_workers, check_targets, chosen, identity, make, to_plain
from harness.config_algorithms import (
    SIMULATED_KEYS,
    TRAINING_KEYS,
    simulated_options,
    training_options,
)
from harness.config_checks import (
    check_figure,
    check_keys,
    check_level,
    check_list,
    check_member,
    check_numbers,
    check_parts,
    check_places,
    check_there,
    check_whole,
)
from harness.errors import UserError

LIBRARIES = ("sklearn", "xgboost")
"""Estimators come from these alone."""

COMMON_KEYS = {
    "command", "study", "seed", "out", "cache", "device", "parallel", "figure", "experiment",
    "experiment_name", "hydra",
}  # fmt: skip
LEARNERS_KEYS = {
    "data", "estimator", "n_seeds", "alpha", "scorer", "test_share", "baseline", "variance",
}  # fmt: skip
MOST_SEEDS = 1_000_000
VARIANCE = ("n_splits", "n_initialisations", "n_hyperparameters", "hyperparameters")


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
    check_there(plain, ("seed", "out", "cache", "parallel", "figure"))
    check_numbers("", plain)
    check_whole("seed", plain["seed"], 0, most=None)
    check_places(plain["out"], plain["cache"])
    check_figure(plain["figure"], ("width", "dpi", "formats"))
    check_targets({key: node for key, node in plain.items() if key != "estimator"})
    chosen_options = options(cfg, plain, overrides)
    # what the configuration does not say: whether a library is installed, what is in a file
    found: dict[str, Any] = {"estimators": list(chosen_options.get("estimators", ()))}
    if "data" in chosen_options:
        found["data"] = {one.name: one.fingerprint() for one in chosen_options["data"]}
    return {
        "study": plain["study"],
        "seed": plain["seed"],
        "figure": plain["figure"],
        "cache": None if plain["cache"] is None else Path(str(plain["cache"])),
        "workers": build_workers(cfg),
        "config": identity(cfg) | {"found": found},
        "options": chosen_options,
    }


def _learners(cfg: Any, plain: Mapping[str, Any], overrides: Sequence[str]) -> dict[str, Any]:
    """Return the keywords of :func:`harness.algorithms.comparison.compare_learners`."""
    from harness.algorithms.estimators import check_estimator

    check_there(plain, sorted(LEARNERS_KEYS - {"data", "estimator"}))
    check_whole("n_seeds", plain["n_seeds"], 1, MOST_SEEDS)
    for key in ("alpha", "test_share"):
        check_level(key, plain[key])
    data = _data_sets(cfg, plain, overrides)
    nodes, missing = _installed(chosen(cfg, "estimator"), overrides)
    estimators = {}
    for name, node in nodes.items():
        check_targets(to_plain(node), LIBRARIES)
        estimators[name] = make(f"estimator.{name}", node, convert="all")
        check_estimator(name, estimators[name])
    if len(estimators) < 2:
        raise UserError(f"estimator: {', '.join(estimators) or 'none'} is left; at least two are needed")
    if plain["baseline"] is not None:
        check_member("baseline", plain["baseline"], tuple(estimators))
    return {
        "data": data,
        "estimators": estimators,
        "missing": [*missing, *(f"{one.name}: {note}" for one in data for note in one.notes)],
        "descriptions": {name: to_plain(node) for name, node in nodes.items()},
        **{key: plain[key] for key in ("n_seeds", "alpha", "scorer", "test_share", "baseline")},
        **_variance(plain["variance"], estimators, plain["seed"]),
    }


def _data_sets(cfg: Any, plain: Mapping[str, Any], overrides: Sequence[str]) -> list[Any]:
    """Return the data sets, each fit to be split and scored."""
    from harness.algorithms.datasets import Dataset, check_dataset, check_names
    from harness.algorithms.estimators import check_scorer

    for text in overrides:  # Hydra would take one named twice as named once
        if text.startswith("data=["):
            check_list("data", [name.strip() for name in text[6:].rstrip("] ").split(",")])
    data = build_group(cfg, "data")
    for name, one in data.items():
        if not isinstance(one, Dataset):
            raise UserError(
                f"data.{name}._target_: {type(one).__name__} is what it makes; a Dataset is needed"
            )
        check_dataset(one, plain["test_share"])
        check_scorer(str(plain["scorer"]), one)
    check_names(list(data.values()))
    return list(data.values())


def _variance(node: Any, estimators: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Return splits, random states and settings for the variance by source."""
    from harness.algorithms.variance_trials import draw_settings

    check_parts("variance", node, VARIANCE)
    if node["n_splits"] != 0:
        check_whole("variance.n_splits", node["n_splits"], 2, MOST_SEEDS)
    for key in ("n_initialisations", "n_hyperparameters"):
        check_whole(f"variance.{key}", node[key], 2, MOST_SEEDS)
    grids = node["hyperparameters"]
    check_keys("variance.hyperparameters", grids, tuple(estimators))
    for name, grid in grids.items():
        where = f"variance.hyperparameters.{name}"
        check_keys(where, grid, tuple(estimators[name].get_params(deep=True)))
        for key, values in grid.items():
            check_list(f"{where}.{key}", values)
    return {
        "n_splits": node["n_splits"],
        "n_initialisations": node["n_initialisations"],
        "settings": {
            name: draw_settings(grids.get(name, {}), node["n_hyperparameters"], seed, name)
            for name in estimators
        },
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
