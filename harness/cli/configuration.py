"""From a Hydra configuration to the objects that it describes."""

import functools
import hashlib
import inspect
import json
import logging
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from hydra.errors import HydraException, InstantiationException
from hydra.utils import get_object, instantiate
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from harness.cli.conf_files import conf_folder
from harness.errors import UserError, check_choice
from harness.runtime import jobs as sweep_jobs
from harness.runtime import plugins

if TYPE_CHECKING:  # numpy and what stands on it would slow `--help` down
    from harness.balance import Balance
    from harness.evaluation.rejections import Test

SMALL = [[5, 1, 2, 1, 1, 2, 1, 37]]
"""Counts of one small set, on which everything configured is tried."""
# What may differ between two runs that are the same run: where and how, not what.
PLACES = (*sweep_jobs.PLACES, "hydra")

logging.getLogger("hydra.utils").disabled = True  # what it has to say reaches the user as a sentence


def keeps_a_run(cfg: Any) -> bool:
    """Return whether a command leaves a run in its `out`: those that compute, and so have a seed."""
    return "seed" in cfg


def register_resolvers() -> None:
    """Teach OmegaConf the name of a folder that is made from a configuration."""
    OmegaConf.register_new_resolver("run_folder", _run_folder, replace=True)


def use_plugins(overrides: Sequence[str]) -> list[str]:
    """Load the plug-ins that the command line names, offer their members in the groups, return the files."""
    from hydra.core.config_store import ConfigStore
    from hydra.core.override_parser.overrides_parser import OverridesParser

    named = [text for text in overrides if text.lstrip("+").startswith("plugins=")]
    found = OverridesParser.create().parse_override(named[-1]).value() if named else []
    paths = [str(path) for path in (found if isinstance(found, list) else [found])]
    plugins.load_plugins(paths)
    for (group, name), node in plugins.MEMBERS.items():
        whole = node if group == "corpus" else {name: node}
        ConfigStore.instance().store(name, whole, group=group, provider="plugins")
    return paths


def _run_folder(*, _root_: DictConfig) -> str:
    return f"runs/{run_name(_root_, 'run')}-{_hash(identity(_root_))[:8]}"


def run_name(cfg: DictConfig, other: str) -> str:
    """Return the preset's name, or `other`, as the beginning of a folder's name."""
    return re.sub(r"[^\w.-]+", "_", str(cfg.get("experiment_name") or other)).lstrip(".")


def _hash(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def identity(cfg: DictConfig) -> dict[str, Any]:
    """Return the resolved configuration without what only says where and how to run."""
    kept = [key for key in cfg if key not in PLACES]
    for key in map(str, kept):
        if OmegaConf.is_missing(cfg, key):
            raise UserError(f"{key}: it is missing; give it, as in {key}=...")
    return {str(key): to_plain(cfg[key]) for key in kept}


def to_plain(node: object, *, resolve: bool = True) -> Any:
    """Return a node of the configuration as plain dicts, lists and values."""
    return OmegaConf.to_container(node, resolve=resolve) if OmegaConf.is_config(node) else node


def build(cfg: DictConfig, group: str) -> Any:
    """Return the object that the chosen member of `group` describes."""
    return make(group, cfg[group])


def build_group(cfg: DictConfig, group: str) -> dict[str, Any]:
    """Return the objects that the chosen members of `group` describe, by name."""
    return {name: make(f"{group}.{name}", node) for name, node in chosen(cfg, group).items()}


def build_models(cfg: DictConfig) -> dict[str, Any]:
    """Return the chosen models by name; any classifier of scikit-learn's kind is one, tuned over `grid`."""
    from harness.models.estimators import Classifier, check_estimator

    made, tune = {}, cfg.tune
    for name, member in chosen(cfg, "model").items():
        where, plain = f"model.{name}", to_plain(member)
        grid = plain.pop("grid", None) if isinstance(plain, dict) else None
        node = OmegaConf.create(plain) if isinstance(plain, dict) else member
        made[name] = make(where, node)
        if hasattr(made[name], "get_params"):
            estimator = make(where, node, convert="all")
            check_estimator(where, estimator)
            try:
                made[name] = Classifier(plain, estimator, grid, tune.enabled, criterion=tune.criterion)
            except (ValueError, AttributeError) as error:
                raise UserError(f"{where}.{error}") from error
        elif grid is not None:
            raise UserError(f"{where}.grid: it is for classifiers of scikit-learn's kind; leave it out")
    return made


def build_tests(cfg: DictConfig, degenerate: str) -> "list[Test]":
    """Return the chosen tests, each tried on one small set."""
    return [_build_test(name, node, degenerate) for name, node in chosen(cfg, "test").items()]


def check_quick(tests: "Sequence[Test]") -> None:
    """Refuse tests that take seconds a set, which a study of thousands of sets would need days for."""
    from harness.significance import unconditional

    for test in tests:
        options = inspect.signature(test.pvalue.func).bind_partial(*test.pvalue.args, **test.pvalue.keywords)
        guaranteed = options.arguments.get("variant") == "berger_boos"
        if guaranteed and test.pvalue.func in (unconditional.unconditional, unconditional.f1):
            raise UserError(
                f"test.{test.name}: a p-value of it takes seconds, and thousands of sets would take days; "
                "harness.compare_predictions applies it to one file, and f1_estimated is allowed in its place"
            )


def named_tests(
    names: "Sequence[str] | None" = None, *, n_replicates: int | None = None, **costs: float
) -> "list[Test]":
    """Return tests by the names of their yamls, for use from Python; by default those of ``harness advise``.

    `n_replicates` is of tests that draw replicates, None for infinitely many; `costs` of tests of ``"dcf"``.
    """
    if names is None:
        defaults = to_plain(OmegaConf.load(conf_folder() / "advise.yaml").defaults)
        (names,) = (entry["test"] for entry in defaults if "test" in entry)
    check_names("test", names or ())
    return list(_named_tests(tuple(names or ()), n_replicates, **costs))


@functools.lru_cache(maxsize=64, typed=True)
def _named_tests(names: tuple[str, ...], n_replicates: int | None, **costs: float) -> "tuple[Test, ...]":
    cfg = OmegaConf.create({"n_replicates": n_replicates, "test": {}})
    for name in names:
        node = to_plain(OmegaConf.load(conf_folder() / "test" / f"{name}.yaml"), resolve=False)[name]
        cfg.test[name] = node | costs if node["measure"] == "dcf" else node
    check_targets({"test": to_plain(cfg.test)})
    return tuple(build_tests(cfg, "accept"))


def check_names(where: str, names: "Sequence[str]", tests: "Sequence[Test]" = ()) -> None:
    """Refuse the name of a test that neither has a yaml nor is one of `tests`."""
    known = sorted({path.stem for path in (conf_folder() / "test").glob("*.yaml")} | {t.name for t in tests})
    for name in names:
        check_choice(where, name, known, UserError)


def chosen(cfg: DictConfig, group: str) -> dict[str, Any]:
    """Return the chosen members of a group; Hydra leaves the group out where none is."""
    node = cfg.get(group)
    if not node:
        raise UserError(f"{group}: none is chosen; at least one is needed")
    return {str(name): member for name, member in node.items()}


def make(where: str, node: Any, *, convert: str = "none", **options: Any) -> Any:
    """Instantiate a node; lists become tuples, so that configured objects can be hashed and compared.

    With ``convert="all"`` they stay lists, as other libraries want them.
    """
    if not isinstance(node, DictConfig) or "_target_" not in node:
        raise UserError(f"{where}: it has no _target_; choose a member of the group")
    for key in sorted(OmegaConf.missing_keys(node)):
        raise UserError(f"{where}.{key}: it is missing; give it, as in {where}.{key}=...")
    try:
        plain = _tuples(OmegaConf.to_container(node, resolve=True, throw_on_missing=True))
        made = instantiate(plain, **options, _convert_=convert)
    except InstantiationException as error:
        cause = error.__cause__
        said = str(cause or error)
        if isinstance(cause, TypeError) and "not supported between" in said:
            said = f"one of its values is of the wrong type ({said})"
        named = said.startswith(where.split(".")[0]) and not isinstance(cause, TypeError)
        raise UserError(said if named else f"{where}: {said}") from error
    if isinstance(made, functools.partial):  # without Hydra's checks at every call
        return functools.partial(made.func, *made.args, **made.keywords)
    return made


def _tuples(node: Any) -> Any:
    if isinstance(node, dict):
        return {key: _tuples(value) for key, value in node.items()}
    return tuple(_tuples(value) for value in node) if isinstance(node, list) else node


def _build_test(name: str, node: Any, degenerate: str) -> "Test":
    """Make a Test of a yaml: its function, its measure and, where its module has one, its `reject`."""
    from harness.evaluation.rejections import Test
    from harness.measures import COSTS, difference

    if not isinstance(node, DictConfig) or "_target_" not in node or not node.get("measure"):
        raise UserError(f"test.{name}: {node!r} is not allowed; both _target_ and measure are needed")
    measure, target = str(node.measure), get_object(str(node._target_))
    parameters = inspect.signature(target).parameters
    given = _among({"measure": measure, "degenerate": degenerate}, parameters)
    options = {key: value for key, value in node.items() if key != "measure"}
    pvalue = make(f"test.{name}", OmegaConf.create(options | {"_partial_": True}), **given)
    for key in sorted(pvalue.keywords):
        check_choice(f"test.{name}", key, list(parameters)[1:], UserError, what="option")
    # a test with an option `costs` takes the measure's own options there; `prior` may then mean another thing
    costs = pvalue.keywords.get("costs") or {} if "costs" in parameters else _among(pvalue.keywords, COSTS)
    module = sys.modules[target.__module__]
    quick = {"reject": "reject", "degenerate": "degenerate_sets"} if hasattr(module, "reject") else {}
    try:
        test = Test(
            name=name,
            measure=measure,
            difference=difference(measure, **costs),
            pvalue=pvalue,
            random="rng" in parameters,
            stratified="stratified" in parameters,
            **{key: _partial(getattr(module, function), pvalue.keywords) for key, function in quick.items()},
        )
    except ValueError as error:
        raise UserError(f"test.{name}: {error}") from error
    try_out(test)
    return test


def _partial(function: Callable[..., Any], options: Mapping[str, Any]) -> Any:
    """Return the function with those of the options that it takes."""
    return functools.partial(function, **_among(options, inspect.signature(function).parameters))


def _among(options: Mapping[str, Any], allowed: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in options.items() if key in allowed}


def try_out(test: "Test") -> None:
    """Run the test on one small set, so that a wrong option is found before the work begins."""
    import numpy as np

    from harness.significance.result import TestResult

    options = {"rng": np.random.default_rng(0)} if test.random else {}
    try:
        found = test.pvalue(np.array(SMALL), **options)
        if not isinstance(found, TestResult):
            raise TypeError(f"it returns {type(found).__name__}; a TestResult is needed")
        if np.shape(found.pvalue) != (1,):
            raise ValueError(f"its p-values have shape {np.shape(found.pvalue)} for one set; (1,) is needed")
    except (ValueError, TypeError) as error:
        raise UserError(f"test.{test.name}: {error}") from error
    except Exception as error:  # a test that a user adds may raise anything
        raise UserError(f"test.{test.name}: {type(error).__name__}: {error}") from error


def is_rule(truth: Callable[..., Any]) -> bool:
    """Return whether it is a rule, which judges a population's difference, or a null, which makes one."""
    return "difference" in inspect.signature(truth).parameters


def try_truth(name: str, truth: Callable[..., Any], tests: "Sequence[Test]") -> None:
    """Ask a rule or a null about one small population for each measure, as :func:`try_out` asks tests."""
    import numpy as np

    cells = np.array(SMALL)
    for test in tests:
        costs = getattr(test.difference, "keywords", {})
        try:
            if is_rule(truth):
                offered = {"draws": np.stack([cells, cells], axis=1), "n_documents": 50, "alpha": 0.05}
                offered |= {"measure": test.measure, "costs": costs}
                _partial(truth, offered)(cells, test.difference)
                continue
            shares, _ = truth(("small",), cells, test.measure, **costs)
            if np.shape(shares) != (1, 8):
                raise ValueError(f"it made shares of shape {np.shape(shares)}; (n_categories, 8) are needed")
        except (ValueError, TypeError) as error:
            raise UserError(f"truth.{name}: {error}") from error


def check_replacement(
    replacement: object, balances: "Mapping[str, Balance]", nulls: Mapping[str, Any]
) -> None:
    """Refuse sets without replacement from what has no documents."""
    made = [f"truth {', '.join(nulls)} makes a population of shares"] if nulls else []
    rescaled = [name for name, balance in balances.items() if balance.prevalence is not None]
    made += [f"balance {name} rescales the population" for name in rescaled]
    if replacement is False and made:
        raise UserError(
            f"sets.replacement=false: {made[0]}, which has no documents to run out of; "
            "sets.replacement=true is allowed"
        )


CONFIG_ERRORS = (HydraException, OmegaConfBaseException)


PATH = re.compile(r"[A-Za-z][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)+")


class Rule(NamedTuple):
    """What a group is for: in which rooms or packages its targets are defined, and of what kind they are.

    `allowed` ends the sentence of a refusal.
    """

    rooms: str
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


def _is_model(thing: Any) -> bool:
    return _has("fit", "predict")(thing) or _is_estimator(thing)


def _is_estimator(thing: Any) -> bool:
    """Allow estimators, kernels and splitters; not what writes or reads files, as callbacks do."""
    return _has("get_params", "set_params")(thing) or _has("split", "get_n_splits")(thing)


RULES = {
    "test": Rule("significance", _returns("TestResult"), "tests, functions of harness.significance, are"),
    "truth": Rule("nulls", inspect.isfunction, "rules and nulls, functions of harness.nulls, are"),
    "balance": Rule("balance", _has("unions", "prevalence"), "harness.balance.Balance is"),
    "corpus": Rule(
        "corpora", _returns("Corpus"), "loaders, functions of harness.corpora that return a Corpus, are"
    ),
    "features": Rule("features", _has("fit", "transform"), "classes of harness.features are"),
    "model": Rule(
        "models sklearn xgboost", _is_model, "models, classes of harness.models, sklearn and xgboost, are"
    ),
    "parallel": Rule("runtime.parallel", _has("count"), "harness.runtime.parallel.Workers is"),
    "data": Rule("compare.datasets", _returns("Dataset"), "functions of harness.compare.datasets are"),
    "estimator": Rule("sklearn xgboost", _is_estimator, "estimators, classes of sklearn and xgboost, are"),
}
FUNCTIONS = ("test", "truth")
"""Groups whose targets are called later, with more arguments; those of others make what is used at once."""
OF_PLUGINS = {
    "test": "a function of counts that is annotated `-> TestResult` is",
    "truth": "a function is",
    "corpus": "a function that is annotated `-> Corpus` is",
    "model": "a class with fit and predict is",
}
"""What ends the refusal of a plug-in's own member, by group."""
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
    own, allowed = target in plugins.targets(), rule.allowed
    if own:  # its module's name is ours, and says nothing
        group, name = where.split(".")[0], str(target).rpartition(".")[2]
        refused, allowed = f"{where}: the plug-in's {name} is not allowed", OF_PLUGINS.get(group, allowed)
    try:
        if not isinstance(target, str) or not PATH.fullmatch(target):
            raise LookupError("it is no name")
        if not own and not _is_below(target, rule.rooms):
            raise LookupError("it is not looked up")
        found = get_object(target)
        home, name = str(getattr(found, "__module__", "")), str(getattr(found, "__name__", "_"))
        if not (own or _is_below(home, rule.rooms)) or name.startswith("_") or not rule.fits(found):
            raise LookupError("it is of another kind")
    except Exception as error:
        raise UserError(f"{refused}; {allowed}") from error


def _is_below(path: str, rooms: str) -> bool:
    modules = [room if room in ("sklearn", "xgboost") else f"harness.{room}" for room in rooms.split()]
    return any(path == module or path.startswith(f"{module}.") for module in modules)
