"""Which ``_target_`` a configuration may name: in each group, only what the group is for.

A configuration may come from anyone, and its targets are imported and called; so each group has a rule for
what is allowed in it, by module and by kind, and nothing else is imported.
"""

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from hydra.utils import get_object

from harness.errors import UserError
from harness.runtime import plugins

PATH = re.compile(r"[A-Za-z][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)+")


class Rule(NamedTuple):
    """What a group is for: in which modules, or below, its targets are defined, and of what kind they are.

    `allowed` ends the sentence of a refusal.
    """

    modules: tuple[str, ...]
    fits: Callable[[Any], bool]
    allowed: str


def _returns(name: str) -> Callable[[Any], bool]:
    """Return the check that a function is annotated, perhaps as text, to return a class of this name."""

    def fits(thing: Any) -> bool:
        kind = getattr(thing, "__annotations__", {}).get("return")
        return inspect.isfunction(thing) and getattr(kind, "__name__", kind) == name

    return fits


def _has(*methods: str) -> Callable[[Any], bool]:
    return lambda thing: inspect.isclass(thing) and all(hasattr(thing, name) for name in methods)


def _is_part_of_estimator(thing: Any) -> bool:
    """Allow estimators, kernels and splitters; not what writes or reads files, as callbacks do."""
    return _has("get_params", "set_params")(thing) or _has("split", "get_n_splits")(thing)


NULLS = ("harness.nulls", "harness.nulls.projection")
RULES = {
    "test": Rule(
        ("harness.significance",), _returns("TestResult"), "tests, functions of harness.significance, are"
    ),
    "truth": Rule(NULLS, inspect.isfunction, "rules and nulls, functions of harness.nulls, are"),
    "balance": Rule(("harness.balance",), _has("unions", "prevalence"), "harness.balance.Balance is"),
    "corpus": Rule(
        ("harness.corpora",),
        _returns("Corpus"),
        "loaders, functions of harness.corpora that return a Corpus, are",
    ),
    "features": Rule(("harness.features",), _has("fit", "transform"), "classes of harness.features are"),
    "model": Rule(
        ("harness.models", "sklearn", "xgboost"),
        lambda thing: _has("fit", "predict")(thing) or _is_part_of_estimator(thing),
        "models, classes of harness.models, sklearn and xgboost, are",
    ),
    "parallel": Rule(("harness.runtime.parallel",), _has("count"), "harness.runtime.parallel.Workers is"),
    "data": Rule(
        ("harness.compare.datasets",), _returns("Dataset"), "functions of harness.compare.datasets are"
    ),
    "estimator": Rule(
        ("sklearn", "xgboost"), _is_part_of_estimator, "estimators, classes of sklearn and xgboost, are"
    ),
}
FUNCTIONS = ("test", "truth")
"""Groups whose targets are called later, with more arguments; those of others make what is used at once."""
KEEPERS = ("memory", "cachedir")
"""Parameters of estimators that write and read pickles."""


def check_targets(plain: Mapping[str, Any]) -> None:
    """Refuse a ``_target_`` that does not belong to its group; the groups are the keys of `plain`."""
    for group, node in plain.items():
        _check_node(group, node, group)


def _check_node(where: str, node: object, group: str) -> None:
    if isinstance(node, list):
        for value in node:
            _check_node(where, value, group)
    if not isinstance(node, Mapping):
        return
    if "_target_" in node:
        _check_target(where, node["_target_"], RULES.get(group))
        if node.get("_partial_") and group not in FUNCTIONS:
            raise UserError(f"{where}._partial_: {node['_partial_']!r} is not allowed; leave it out")
    for key, value in node.items():
        if group in ("estimator", "model") and key in KEEPERS and value is not None:
            raise UserError(f"{where}.{key}: {value!r} is not allowed, as it keeps pickles; null is")
        _check_node(f"{where}.{key}", value, "test" if where.startswith("truth.") else group)


def _check_target(where: str, target: object, rule: Rule | None) -> None:
    refused = f"{where}._target_: {target!r} is not allowed"
    if rule is None:
        raise UserError(f"{refused} here; only in {', '.join(RULES)}")
    own = target in plugins.targets()
    try:
        if not isinstance(target, str) or not PATH.fullmatch(target):
            raise LookupError("it is no name")
        if not own and not _is_below(target, rule.modules):
            raise LookupError("it is not looked up")
        found = get_object(target)
        home, name = str(getattr(found, "__module__", "")), str(getattr(found, "__name__", "_"))
        if not (own or _is_below(home, rule.modules)) or name.startswith("_") or not rule.fits(found):
            raise LookupError("it is of another kind")
    except Exception as error:
        raise UserError(f"{refused}; {rule.allowed}") from error


def _is_below(path: str, modules: tuple[str, ...]) -> bool:
    return any(path == module or path.startswith(f"{module}.") for module in modules)
