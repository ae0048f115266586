"""From the configuration of the studies of tests of learning algorithms to plain arguments."""

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from harness.config import build_corpus
from harness.config_checks import (
    check_keys,
    check_level,
    check_list,
    check_member,
    check_names,
    check_whole,
)
from harness.errors import UserError

FOREIGN = ("data", "estimator", "n_seeds", "alpha", "scorer", "test_share", "baseline", "variance")
"""Keys of ``study=learners``; they stand in the composed configuration, but mean nothing here."""
MOST_TRIALS, MOST_EXAMPLES, MOST_RESAMPLES = 100_000_000, 1_000_000, 10_000
"""Beyond them no machine has the memory."""
COMMON = {*FOREIGN, "n_trials", "alphas", "tests"}
SIMULATED_KEYS = COMMON | {"simulated_null"}
TRAINING_KEYS = COMMON | {"training_sets", "corpus", "n_documents"}
DESIGN = ("test_share", "n_resamples", "n_folds")
SIMULATED = ("halves", "errors", "differences", "n_examples", "sizes", *DESIGN)
TRAINING = ("learner", "topic", "n_terms", "n_truth", "nulls", "kept_terms", "sizes", *DESIGN)


def simulated_options(cfg: Any, plain: Mapping[str, Any], overrides: Sequence[str]) -> dict[str, Any]:
    """Return the keywords of :func:`harness.algorithms.simulated_null_study.simulated_null`."""
    from harness.algorithms.simulated_null import HALVES

    common = _common(plain)
    node = _part(plain, "simulated_null", SIMULATED)
    check_list("simulated_null.halves", node["halves"])
    for kind in node["halves"]:
        check_member("simulated_null.halves", kind, HALVES)
    check_list("simulated_null.errors", node["errors"])
    _numbers("simulated_null.errors", node["errors"])
    _numbers("simulated_null.differences", node["differences"])
    check_whole("simulated_null.n_examples", node["n_examples"], 4, MOST_EXAMPLES)
    return common | node


def training_options(cfg: Any, plain: Mapping[str, Any], overrides: Sequence[str]) -> dict[str, Any]:
    """Return the keywords of :func:`harness.algorithms.training_sets_study.training_sets`."""
    from harness.algorithms.learners import LEARNERS
    from harness.algorithms.training_sets import NULLS

    common = _common(plain)
    node = _part(plain, "training_sets", TRAINING)
    check_member("training_sets.learner", node["learner"], tuple(LEARNERS))
    if node["topic"] is not None and not isinstance(node["topic"], str):
        raise UserError(f"training_sets.topic: {node['topic']!r} is not allowed; a topic's name or null is")
    check_whole("training_sets.n_terms", node["n_terms"], 1)
    check_whole("training_sets.n_truth", node["n_truth"], 1)
    _list_or_none("training_sets.nulls", node["nulls"])
    for name in node["nulls"]:
        check_member("training_sets.nulls", name, NULLS)
    _numbers("training_sets.kept_terms", node["kept_terms"])
    check_list("training_sets.sizes", node["sizes"])
    return common | node | {"load_corpus": functools.partial(build_corpus, cfg)}


def _common(plain: Mapping[str, Any]) -> dict[str, Any]:
    for key in ("n_trials", "alphas", "tests"):
        if key not in plain:
            raise UserError(
                f"{key}: it is missing; experiment=dietterich1998 or experiment=dietterich_rcv1 sets it"
            )
    for key in FOREIGN:
        if plain.get(key) is not None:
            raise UserError(f"{key}: it has no meaning in study={plain['study']}; null is allowed")
    check_whole("n_trials", plain["n_trials"], 1, MOST_TRIALS)
    check_names("tests", plain["tests"])
    check_list("alphas", plain["alphas"])
    for alpha in plain["alphas"]:
        check_level("alphas", alpha)
    return {key: plain[key] for key in ("n_trials", "alphas", "tests")}


def _part(plain: Mapping[str, Any], name: str, keys: tuple[str, ...]) -> dict[str, Any]:
    """Return the study's own part of the configuration, whole and with the design checked."""
    node = plain.get(name)
    check_keys(name, node, keys)
    missing = [key for key in keys if key not in dict(node or {})]
    if missing or node is None:
        raise UserError(f"{name}.{missing[0]}: it is missing; choose a preset, which sets it")
    _list_or_none(f"{name}.sizes", node["sizes"])
    for n in node["sizes"]:
        check_whole(f"{name}.sizes", n, 4, MOST_EXAMPLES)
    check_whole(f"{name}.n_resamples", node["n_resamples"], 2, MOST_RESAMPLES)
    check_whole(f"{name}.n_folds", node["n_folds"], 2)
    return dict(node)


def _list_or_none(key: str, value: object) -> None:
    if value != []:
        check_list(key, value)


def _numbers(key: str, values: object) -> None:
    _list_or_none(key, values)
    for value in values:  # type: ignore[attr-defined]
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            raise UserError(f"{key}: {value!r} is not allowed; numbers from 0 to 1 are")
