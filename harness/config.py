"""From a Hydra configuration to plain arguments; with ``cli.py`` the only file that knows Hydra."""

import functools
import hashlib
import inspect
import json
import logging
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hydra.errors import HydraException, InstantiationException
from hydra.utils import get_object, instantiate
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from harness import sweep_jobs
from harness.config_checks import (
    MOST_SETS,
    check_figure,
    check_keys,
    check_level,
    check_list,
    check_member,
    check_names,
    check_numbers,
    check_parts,
    check_places,
    check_there,
    check_whole,
)
from harness.errors import UserError
from harness.packaged import population_file

if TYPE_CHECKING:  # numpy and what stands on it would slow `--help` down
    from harness.balance import Balance
    from harness.rejections import Test

# What may differ between two runs that are the same run: where and how, not what.
PLACES = (*sweep_jobs.PLACES, "hydra")
RUN_KEYS = {
    "command", "seed", "device", "population", "out", "cache", "n_documents", "split", "pairs", "tune",
    "n_meta_categories", "prevalences", "alphas", "n_replicates", "degenerate", "sets", "nulls", "corpus",
    "features", "model", "balance", "truth", "test", "parallel", "figure", "experiment",
    "category_sets",
}  # fmt: skip
GROUPS = {"model", "balance", "truth", "test"}
"""Where none is chosen, Hydra leaves the key out."""
DEVICES = ("auto", "cpu", "cuda")

logging.getLogger("hydra.utils").disabled = True  # what it has to say reaches the user as a sentence


def conf_folder() -> Path:
    """Return the folder of the configurations: ``harness/conf`` in a wheel, ``conf`` in a checkout."""
    here = Path(__file__).resolve().parent
    for folder in (here / "conf", here.parent / "conf"):
        if (folder / "run.yaml").is_file():
            return folder
    raise UserError(f"the configuration folder is missing beside {here}; install the package again")


def register_resolvers() -> None:
    """Teach OmegaConf the name of a folder that is made from a configuration."""
    OmegaConf.register_new_resolver("run_folder", _run_folder, replace=True)


def _run_folder(*, _root_: DictConfig) -> str:
    return f"runs/{_root_.get('experiment_name') or 'run'}-{_hash(identity(_root_))[:8]}"


def _hash(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def identity(cfg: DictConfig) -> dict[str, Any]:
    """Return the resolved configuration without what only says where and how to run."""
    kept = [key for key in cfg if key not in PLACES]
    return {str(key): to_plain(cfg[key]) for key in kept}


def to_plain(node: object) -> Any:
    """Return a node of the configuration as plain dicts, lists and values."""
    return OmegaConf.to_container(node, resolve=True) if OmegaConf.is_config(node) else node


def check_targets(node: object, libraries: Sequence[str] = ()) -> None:
    """Refuse a ``_target_`` that is not an object of this package.

    Parameters
    ----------
    node : object
        A part of the configuration.
    libraries : sequence of str
        Where given, classes of these libraries are allowed instead.

    Raises
    ------
    UserError
        If a target lies outside what is allowed, does not exist, or is only imported there.
    """
    if isinstance(node, Mapping):
        target = node.get("_target_")
        if target is not None:
            _check_target(str(target), libraries)
        for value in node.values():
            check_targets(value, libraries)
    elif isinstance(node, list):
        for value in node:
            check_targets(value, libraries)


def _check_target(target: str, libraries: Sequence[str]) -> None:
    allowed = f"classes of {', '.join(libraries)}" if libraries else "functions and classes of harness"
    refusal = UserError(f"_target_: {target!r} is not allowed; {allowed} are")
    packages = tuple(f"{package}." for package in libraries or ("harness",))
    if not target.startswith(packages):
        raise refusal
    try:
        found = get_object(target)
    except Exception as error:
        raise refusal from error
    if not callable(found) or not str(getattr(found, "__module__", "")).startswith(packages):
        raise refusal
    if libraries and not inspect.isclass(found):
        raise refusal


def run_arguments(cfg: DictConfig) -> dict[str, Any]:
    """Return the keyword arguments of :func:`harness.study.run_study` for ``harness run``.

    Raises
    ------
    UserError
        If a key or a value is not allowed; names it, the value and what is allowed.
    """
    unknown = sorted(str(key) for key in cfg if key not in RUN_KEYS | {"hydra", "experiment_name"})
    if unknown:
        raise UserError(f"{unknown[0]}: there is no such key; `harness run --cfg job` prints those there are")
    plain = {str(key): to_plain(cfg[key]) for key in cfg if key != "hydra"}
    check_there(plain, sorted(RUN_KEYS - GROUPS - {"experiment", "category_sets"}))
    check_targets(plain)
    check_numbers("", plain)
    _check_values(plain)
    sets, split = plain["sets"], plain["split"]
    training = {
        "load_corpus": functools.partial(build_corpus, cfg),
        "features": _made("features", build(cfg, "features"), ("fit", "transform")),
        "models": {
            name: _made(f"model.{name}", model, ("fit", "predict"))
            for name, model in build_group(cfg, "model").items()
        },
        "split": {key: split[key] for key in ("n_train", "n_test", "order")},
    }
    tests = build_tests(cfg, plain["degenerate"])
    rules, nulls = _build_truths(cfg, tests)
    evaluation = {
        "tests": tests,
        "rules": rules,
        "alphas": [float(alpha) for alpha in plain["alphas"]],
        **{key: sets[key] for key in ("sizes", "n_sets", "n_truth_sets", "replacement")},
    }
    balances = build_group(cfg, "balance")
    for name, balance in balances.items():
        _made(f"balance.{name}", balance, ("unions", "stratified", "prevalence"))
    _check_replacement(sets["replacement"], balances, nulls)
    return {
        "training": training,
        "evaluation": evaluation,
        "nulls": {"nulls": nulls, **plain["nulls"]},
        "balances": balances,
        "pairs": plain["pairs"],
        "seed": plain["seed"],
        "device": plain["device"],
        "population_file": None if plain["population"] is None else population_file(str(plain["population"])),
        "figure": plain["figure"],
        "cache": None if plain["cache"] is None else Path(str(plain["cache"])),
        "workers": build_workers(cfg),
        "config": identity(cfg),
    }


def _build_truths(cfg: DictConfig, tests: list[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the rules and the nulls of ``truth=``, each tried once."""
    truths = build_group(cfg, "truth")
    for name, truth in truths.items():
        _made(f"truth.{name}", truth, ("__call__",))
    rules = {name: truth for name, truth in truths.items() if _is_rule(truth)}
    nulls = {name: truth for name, truth in truths.items() if name not in rules}
    for name, rule in rules.items():
        _try_rule(name, rule, tests)
    for name, null in nulls.items():
        _try_null(name, null, tests)
    return rules, nulls


def category_set_arguments(cfg: DictConfig) -> dict[str, Any]:
    """Return the keyword arguments of :func:`harness.study_category_sets.run_category_sets`.

    Raises
    ------
    UserError
        As :func:`run_arguments`.
    """
    not_used = ("evaluation", "nulls")
    arguments = {key: value for key, value in run_arguments(cfg).items() if key not in not_used}
    return arguments | {"options": to_plain(cfg["category_sets"]), "n_replicates": cfg["n_replicates"]}


def figure_arguments(cfg: DictConfig) -> dict[str, Any]:
    """Return the keyword arguments of :func:`harness.study.redraw` for ``harness figures``.

    Raises
    ------
    UserError
        As :func:`run_arguments`.
    """
    plain = {str(key): to_plain(cfg[key]) for key in cfg if key != "hydra"}
    check_parts("figures", plain, ("command", "from", "figure", "parallel"))
    if not isinstance(plain["from"], str) or not plain["from"].strip():
        raise UserError(f"from: {plain['from']!r} is not allowed; the folder of a finished run is")
    check_targets(plain)
    check_figure(plain["figure"])
    return {"figure": plain["figure"], "workers": build_workers(cfg)}


def collect_arguments(cfg: DictConfig) -> dict[str, Any]:
    """Return the keyword arguments of :func:`harness.spread.collect_runs` for ``harness collect``.

    Raises
    ------
    UserError
        As :func:`run_arguments`.
    """
    plain = {str(key): to_plain(cfg[key]) for key in cfg if key != "hydra"}
    check_parts("collect", plain, ("command", "from", "table", "to", "spread", "spread_to", "figure"))
    check_figure(plain["figure"])
    folder, over, table = Path(str(plain["from"])), plain["spread"], str(plain["table"])
    if over is not None and (not isinstance(over, str) or not over.strip()):
        raise UserError(f"spread: {over!r} is not allowed; the name of a setting is, as in spread=seed")
    if over is not None and table.removesuffix(".csv") != "size_power":
        raise UserError(f"table: {table} is not allowed with spread={over}; size_power is")
    if over is None and plain["spread_to"] is not None:
        raise UserError("spread_to: without spread=SETTING nothing is written there; name the setting")
    to, spread_to = (None if plain[key] is None else Path(str(plain[key])) for key in ("to", "spread_to"))
    return {
        "folder": folder,
        "table": table,
        "to": to,
        "over": over,
        "spread_to": spread_to or folder / f"spread_{over}",
        "figure": plain["figure"],
    }


def cache_arguments(cfg: DictConfig) -> dict[str, Any]:
    """Return the arguments of :func:`harness.cache_listing.show_cache` for ``harness cache``.

    Raises
    ------
    UserError
        As :func:`run_arguments`.
    """
    allowed = ("command", "cache", "stage", "older_than_days", "prune", "check")
    check_keys("cache", {str(key): cfg[key] for key in cfg if key != "hydra"}, allowed)
    if cfg["cache"] is None:
        raise UserError("cache: null keeps nothing; a folder is needed")
    for key in ("prune", "check"):
        if not isinstance(cfg[key], bool):
            raise UserError(f"{key}: {cfg[key]!r} is not allowed; true or false is")
    days, stage = cfg["older_than_days"], to_plain(cfg["stage"])
    if days is not None and (isinstance(days, bool) or not isinstance(days, int | float) or not days >= 0):
        raise UserError(f"older_than_days: {days!r} is not allowed; null or a number of at least 0 is")
    stages = [stage] if isinstance(stage, str) else stage
    if stages is not None:
        check_list("stage", stages)
    return {
        "folder": Path(str(cfg["cache"])),
        "stages": stages,
        "older_than_days": days,
        "prune": cfg["prune"],
        "check": cfg["check"],
    }


def build(cfg: DictConfig, group: str, **options: Any) -> Any:
    """Return the object that the chosen member of `group` describes."""
    return make(group, cfg[group], **options)


def build_corpus(cfg: DictConfig) -> Any:
    """Return the Corpus that the chosen member of ``corpus`` describes."""
    return _made("corpus", build(cfg, "corpus"), ("terms", "topics", "document_ids"))


def build_workers(cfg: DictConfig) -> Any:
    """Return the Workers that the chosen member of ``parallel`` describes."""
    return _made("parallel", build(cfg, "parallel"), ("backend", "n_jobs"))


def _made(where: str, thing: Any, parts: Sequence[str]) -> Any:
    """Return what a ``_target_`` made, if it is of the kind that stands there."""
    missing = [part for part in parts if not hasattr(thing, part)]
    if missing:
        raise UserError(
            f"{where}._target_: {type(thing).__name__} is what it makes, without {missing[0]}; "
            "a target as in the group's other members is needed"
        )
    return thing


def build_group(cfg: DictConfig, group: str) -> dict[str, Any]:
    """Return the objects that the chosen members of `group` describe, by name."""
    return {name: make(f"{group}.{name}", node) for name, node in chosen(cfg, group).items()}


def build_tests(cfg: DictConfig, degenerate: str) -> "list[Test]":
    """Return the chosen tests, each tried on one small set."""
    return [_build_test(name, node, degenerate) for name, node in chosen(cfg, "test").items()]


def named_tests(
    names: "Sequence[str] | None" = None, *, n_replicates: int | None = None, **costs: float
) -> "list[Test]":
    """Return tests by the names of their yamls, for use from Python; by default those of ``harness advise``.

    Parameters
    ----------
    names : sequence of str, optional
    n_replicates : int or None
        Of tests that draw replicates; None is the limit of infinitely many, for those that have it.
    **costs : float
        ``cost_fn``, ``cost_fp`` and ``prior`` of tests of ``"dcf"``.

    Raises
    ------
    UserError
        If there is no such test, or one does not allow an option; names those there are.
    """
    if names is None:
        defaults = to_plain(OmegaConf.load(conf_folder() / "advise.yaml").defaults)
        (names,) = (entry["test"] for entry in defaults if "test" in entry)
    known = {path.stem: path for path in sorted((conf_folder() / "test").glob("*.yaml"))}
    cfg = OmegaConf.create({"n_replicates": n_replicates, "test": {}})
    for name in names or ():
        if name not in known:
            raise UserError(f"test: {name!r} is not allowed; choose from {', '.join(known)}")
        node: Any = OmegaConf.to_container(OmegaConf.load(known[name]))[name]  # type: ignore[index]
        cfg.test[name] = node | costs if node["measure"] == "dcf" else node
    check_targets(to_plain(cfg.test))
    return build_tests(cfg, "accept")


def chosen(cfg: DictConfig, group: str) -> dict[str, Any]:
    """Return the chosen members of a group; Hydra leaves the group out where none is."""
    node = cfg.get(group)
    if not node:
        raise UserError(f"{group}: none is chosen; at least one is needed")
    return {str(name): member for name, member in node.items()}


def make(where: str, node: Any, *, convert: str = "none", **options: Any) -> Any:
    """Instantiate a node; lists arrive as tuples, so that configured objects can be hashed and compared.

    With ``convert="all"`` they arrive as lists, as other libraries want them.
    """
    if not isinstance(node, DictConfig) or "_target_" not in node:
        raise UserError(f"{where}: it has no _target_; choose a member of the group")
    for key in sorted(OmegaConf.missing_keys(node)):
        raise UserError(f"{where}.{key}: it is missing; give it, as in {where}.{key}=...")
    try:
        plain = _tuples(OmegaConf.to_container(node, resolve=True, throw_on_missing=True))
        return instantiate(plain, **options, _convert_=convert)
    except InstantiationException as error:
        cause = error.__cause__
        if isinstance(cause, UserError | ValueError | OSError | MemoryError):
            raise UserError(_in_front(where, str(cause))) from error
        if isinstance(cause, TypeError) and "not supported between" in str(cause):
            raise UserError(f"{where}: one of its values is of the wrong type ({cause})") from error
        raise UserError(f"{where}: {cause or error}") from error


def _in_front(where: str, sentence: str) -> str:
    return sentence if sentence.startswith(where.split(".")[0]) else f"{where}: {sentence}"


def _tuples(node: Any) -> Any:
    if isinstance(node, dict):
        return {key: _tuples(value) for key, value in node.items()}
    return tuple(_tuples(value) for value in node) if isinstance(node, list) else node


def _build_test(name: str, node: DictConfig, degenerate: str) -> "Test":
    """Make a Test of a yaml: its function, its measure and, where its module has one, its `reject`."""
    from harness.measures import COSTS
    from harness.rejections import Test

    if not isinstance(node, DictConfig):
        raise UserError(f"test.{name}: {node!r} is not allowed; both _target_ and measure are needed")
    options = dict(node)
    measure = str(options.pop("measure", ""))
    target = get_object(str(node["_target_"])) if "_target_" in node else None
    if target is None or not measure:
        raise UserError(f"test.{name}: both _target_ and measure are needed")
    parameters = inspect.signature(target).parameters
    given = {"measure": measure} if "measure" in parameters else {}
    given |= {"degenerate": degenerate} if "degenerate" in parameters else {}
    made = make(f"test.{name}", OmegaConf.create(options | {"_partial_": True}), **given)
    pvalue = functools.partial(made.func, **made.keywords)  # without Hydra's checks at every call
    unknown = sorted(set(pvalue.keywords) - set(parameters))
    if unknown:
        raise UserError(
            f"test.{name}.{unknown[0]}: there is no such option; "
            f"{', '.join(list(parameters)[1:])} are allowed"
        )
    # a test with an option `costs` takes the measure's own options there; `prior` may then mean another thing
    costs = pvalue.keywords.get("costs") or {} if "costs" in parameters else _among(pvalue.keywords, COSTS)
    module = sys.modules[target.__module__]
    early: Callable[..., Any] | None = getattr(module, "reject", None)
    known = {} if early is None else inspect.signature(early).parameters
    asked = {} if early is None else inspect.signature(module.degenerate_sets).parameters
    test = Test(
        name=name,
        measure=measure,
        difference=_difference(name, measure, costs),
        pvalue=pvalue,
        reject=early and functools.partial(early, **_among(pvalue.keywords, known)),
        degenerate=early and functools.partial(module.degenerate_sets, **_among(pvalue.keywords, asked)),
        random="rng" in parameters,
        stratified="stratified" in parameters,
    )
    _try_out(test)
    return test


def _among(options: Mapping[str, Any], allowed: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in options.items() if key in allowed}


def _difference(name: str, measure: str, costs: Mapping[str, float]) -> Callable[..., Any]:
    from harness.measures import difference

    try:
        return difference(measure, **costs)
    except ValueError as error:
        raise UserError(f"test.{name}: {error}") from error


def _try_out(test: "Test") -> None:
    """Run the test on one small set, so that a wrong option is found before the work begins."""
    import numpy as np

    options = {"rng": np.random.default_rng(0)} if test.random else {}
    try:
        test.pvalue(np.array([[5, 1, 2, 1, 1, 2, 1, 37]]), **options)
    except (ValueError, TypeError) as error:
        raise UserError(f"test.{test.name}: {error}") from error


def _try_rule(name: str, rule: Callable[..., Any], tests: "Sequence[Test]") -> None:
    """Ask the rule about one small population for each measure, as :func:`_try_out` does with tests."""
    import numpy as np

    cells = np.array([[5, 1, 2, 1, 1, 2, 1, 37]])
    known = inspect.signature(rule).parameters
    for test in tests:
        offered = {"draws": np.stack([cells, cells], axis=1), "n_documents": 50, "alpha": 0.05}
        costs = getattr(test.difference, "keywords", {})
        options = _among(offered | {"measure": test.measure, "costs": costs}, known)
        try:
            rule(cells, test.difference, **options)
        except (ValueError, TypeError) as error:
            raise UserError(f"truth.{name}: {error}") from error


def _is_rule(truth: Callable[..., Any]) -> bool:
    """Tell a rule, which judges a population's difference, from a null, which makes a population."""
    return "difference" in inspect.signature(truth).parameters


def _try_null(name: str, null: Callable[..., Any], tests: "Sequence[Test]") -> None:
    """Ask for the null of one small population for each measure, as :func:`_try_rule` does with rules."""
    import numpy as np

    cells = np.array([[5, 1, 2, 1, 1, 2, 1, 37]])
    for test in tests:
        try:
            shares, _ = null(("small",), cells, test.measure, **getattr(test.difference, "keywords", {}))
            if np.shape(shares) != (1, 8):
                raise ValueError(f"it made shares of shape {np.shape(shares)}; (n_categories, 8) are needed")
        except (ValueError, TypeError) as error:
            raise UserError(f"truth.{name}: {error}") from error


def _check_replacement(
    replacement: object, balances: "Mapping[str, Balance]", nulls: Mapping[str, Any]
) -> None:
    if replacement is False and nulls:
        raise UserError(
            f"sets.replacement=false: truth {', '.join(nulls)} makes a population of shares, which has no "
            "documents to run out of; sets.replacement=true is allowed"
        )
    for name, balance in balances.items():
        if replacement is False and balance.prevalence is not None:
            raise UserError(
                f"sets.replacement=false: balance {name} rescales the population, which has no documents to "
                "run out of; sets.replacement=true is allowed"
            )


def _check_values(plain: Mapping[str, Any]) -> None:
    check_whole("seed", plain["seed"], 0, most=None)
    if plain["n_replicates"] is not None:  # null: the limit of infinitely many, for tests that have it
        check_whole("n_replicates", plain["n_replicates"], 1, MOST_SETS)
    check_member("device", plain["device"], DEVICES)
    if plain["device"] == "cuda":
        from harness.models.device import resolve_device

        resolve_device("cuda")  # before any work is done
    check_member("degenerate", plain["degenerate"], ("accept", "reject"))
    check_places(plain["out"], plain["cache"])
    check_parts("split", plain["split"], ("n_train", "n_test", "order"))
    check_parts("sets", plain["sets"], ("sizes", "n_sets", "n_truth_sets", "replacement"))
    check_parts("tune", plain["tune"], ("enabled", "criterion"))
    check_whole("split.n_train", plain["split"]["n_train"], 2)
    check_whole("split.n_test", plain["split"]["n_test"], 0)
    check_whole("sets.n_sets", plain["sets"]["n_sets"], 1, MOST_SETS)
    check_whole("sets.n_truth_sets", plain["sets"]["n_truth_sets"], 100, MOST_SETS)
    for node, key in (("sets", "replacement"), ("tune", "enabled")):
        if not isinstance(plain[node][key], bool):
            raise UserError(f"{node}.{key}: {plain[node][key]!r} is not allowed; true or false is")
    check_list("sets.sizes", plain["sets"]["sizes"])
    for size in plain["sets"]["sizes"]:
        check_whole("sets.sizes", size, 1)
    check_list("alphas", plain["alphas"])
    for alpha in plain["alphas"]:
        check_level("alphas", alpha)
    check_names("pairs", plain["pairs"])
    check_figure(plain["figure"])
    if plain["figure"]["truth"] is not None and "category_sets" not in plain:
        check_member("figure.truth", plain["figure"]["truth"], tuple(plain.get("truth", ())))
    _check_nulls(plain["nulls"])


def _check_nulls(node: Any) -> None:
    numbers = ("n_sets", "n_replicate_sets", "n_pooled")
    check_parts("nulls", node, (*numbers, "replicate_tests", "h", "path_sizes", "prevalence_sizes"))
    for key in numbers:
        check_whole(f"nulls.{key}", node[key], 1, MOST_SETS)
    if node["replicate_tests"] != []:
        check_names("nulls.replicate_tests", node["replicate_tests"])
    check_list("nulls.h", node["h"])
    for h in node["h"]:
        if isinstance(h, bool) or not isinstance(h, int | float) or not 0 <= h < float("inf"):
            raise UserError(f"nulls.h: {h!r} is not allowed; numbers of at least 0 are")
    for key in ("path_sizes", "prevalence_sizes"):
        if key == "path_sizes" or node[key] is not None:
            check_list(f"nulls.{key}", node[key])
            for size in node[key]:
                check_whole(f"nulls.{key}", size, 1)


CONFIG_ERRORS = (HydraException, OmegaConfBaseException)
