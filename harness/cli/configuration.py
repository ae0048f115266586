"""From a Hydra configuration to the objects that it describes."""

import functools
import hashlib
import inspect
import json
import logging
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hydra.errors import HydraException, InstantiationException
from hydra.utils import get_object, instantiate
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from harness.cli.targets import check_targets
from harness.errors import UserError
from harness.runtime import jobs as sweep_jobs

if TYPE_CHECKING:  # numpy and what stands on it would slow `--help` down
    from harness.balance import Balance
    from harness.evaluation.rejections import Test

# What may differ between two runs that are the same run: where and how, not what.
PLACES = (*sweep_jobs.PLACES, "hydra")

logging.getLogger("hydra.utils").disabled = True  # what it has to say reaches the user as a sentence


def conf_folder() -> Path:
    """Return the folder of the configurations: ``harness/conf`` in a wheel, ``conf`` in a checkout."""
    here = Path(__file__).resolve().parent.parent
    for folder in (here / "conf", here.parent / "conf"):
        if (folder / "run.yaml").is_file():
            return folder
    raise UserError(f"the configuration folder is missing beside {here}; install the package again")


def register_resolvers() -> None:
    """Teach OmegaConf the name of a folder that is made from a configuration."""
    OmegaConf.register_new_resolver("run_folder", _run_folder, replace=True)


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


def to_plain(node: object) -> Any:
    """Return a node of the configuration as plain dicts, lists and values."""
    return OmegaConf.to_container(node, resolve=True) if OmegaConf.is_config(node) else node


def build(cfg: DictConfig, group: str) -> Any:
    """Return the object that the chosen member of `group` describes."""
    return make(group, cfg[group])


def build_corpus(cfg: DictConfig) -> Any:
    """Return the Corpus that the chosen member of ``corpus`` describes."""
    return made("corpus", build(cfg, "corpus"), ("terms", "topics", "document_ids"))


def build_workers(cfg: DictConfig) -> Any:
    """Return the Workers that the chosen member of ``parallel`` describes."""
    return made("parallel", build(cfg, "parallel"), ("backend", "n_jobs"))


def made(where: str, thing: Any, parts: Sequence[str]) -> Any:
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
    check_targets({"test": to_plain(cfg.test)})
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
    from harness.evaluation.rejections import Test
    from harness.measures import COSTS

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
    try_out(test)
    return test


def _among(options: Mapping[str, Any], allowed: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in options.items() if key in allowed}


def _difference(name: str, measure: str, costs: Mapping[str, float]) -> Callable[..., Any]:
    from harness.measures import difference

    try:
        return difference(measure, **costs)
    except ValueError as error:
        raise UserError(f"test.{name}: {error}") from error


def try_out(test: "Test") -> None:
    """Run the test on one small set, so that a wrong option is found before the work begins."""
    import numpy as np

    options = {"rng": np.random.default_rng(0)} if test.random else {}
    try:
        found = test.pvalue(np.array([[5, 1, 2, 1, 1, 2, 1, 37]]), **options)
        if np.shape(found.pvalue) != (1,):
            raise ValueError(f"its p-values have shape {np.shape(found.pvalue)} for one set; (1,) is needed")
    except (ValueError, TypeError) as error:
        raise UserError(f"test.{test.name}: {error}") from error
    except Exception as error:  # a test that a user adds may raise anything
        raise UserError(f"test.{test.name}: {type(error).__name__}: {error}") from error


def try_rule(name: str, rule: Callable[..., Any], tests: "Sequence[Test]") -> None:
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


def is_rule(truth: Callable[..., Any]) -> bool:
    """Tell a rule, which judges a population's difference, from a null, which makes a population."""
    return "difference" in inspect.signature(truth).parameters


def try_null(name: str, null: Callable[..., Any], tests: "Sequence[Test]") -> None:
    """Ask for the null of one small population for each measure, as :func:`try_rule` does with rules."""
    import numpy as np

    cells = np.array([[5, 1, 2, 1, 1, 2, 1, 37]])
    for test in tests:
        try:
            shares, _ = null(("small",), cells, test.measure, **getattr(test.difference, "keywords", {}))
            if np.shape(shares) != (1, 8):
                raise ValueError(f"it made shares of shape {np.shape(shares)}; (n_categories, 8) are needed")
        except (ValueError, TypeError) as error:
            raise UserError(f"truth.{name}: {error}") from error


def check_replacement(
    replacement: object, balances: "Mapping[str, Balance]", nulls: Mapping[str, Any]
) -> None:
    """Refuse sets without replacement from what has no documents."""
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


CONFIG_ERRORS = (HydraException, OmegaConfBaseException)
