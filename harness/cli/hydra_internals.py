"""All that this package takes from Hydra's inside, or does to it, for one minor version (1.3).

Hydra starts what the ``hydra`` node of a configuration names: callbacks, logging handlers, a launcher, a
sweeper. A configuration may come from anyone, so each one composed is checked before Hydra acts on it.
"""

import contextlib
import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.resources import files
from typing import Any, NoReturn

from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.hydra import Hydra
from hydra._internal.utils import get_args_parser
from hydra.core.plugins import Plugins
from hydra.errors import ConfigCompositionException, MissingConfigException
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

from harness.cli import conf_files
from harness.errors import UserError, instead
from harness.runtime import plugins

BASIC_SWEEPER = "hydra._internal.core_plugins.basic_sweeper.BasicSweeper"
BASIC_LAUNCHER = "hydra._internal.core_plugins.basic_launcher.BasicLauncher"
LAUNCHERS = (
    BASIC_LAUNCHER,
    "hydra_plugins.hydra_joblib_launcher.joblib_launcher.JoblibLauncher",
    "hydra_plugins.hydra_submitit_launcher.submitit_launcher.LocalLauncher",
    "hydra_plugins.hydra_submitit_launcher.submitit_launcher.SlurmLauncher",
)
LOGGING = ("none", "disabled", "stdout")
"""Hydra's own that write no file; its default writes one into the run's folder, which must be empty."""
FIXED: dict[str, Any] = {
    "submitit_folder": "${hydra.sweep.dir}/.submitit/%j", "name": "${hydra.job.name}", "temp_folder": None,
    "pre_dispatch": "2*n_jobs", "setup": None, "additional_parameters": {},
}  # fmt: skip
"""Of launchers: what names folders, or runs as code, stays as it is shipped."""


def use_sweeper(sweeper: type) -> None:
    """Put a class in the place of Hydra's basic sweeper.

    Hydra takes plugins only from a package named ``hydra_plugins``, where every other Hydra application of
    the same environment would load it too; so the class is exchanged in this process alone.
    """
    Plugins.instance().class_name_to_class[BASIC_SWEEPER] = sweeper


def parse_flags(arguments: list[str], refuse: Callable[[str], NoReturn]) -> Any:
    """Return the options that Hydra would read; `refuse` gets its complaint, where it prints its usage."""
    parser = get_args_parser()
    parser.error = refuse  # type: ignore[assignment]
    return parser.parse_args(arguments)


def reworded(error: Exception, command: str, overrides: Sequence[str]) -> Exception:
    """Return Hydra's complaint of a name as a sentence that tells what is near; others as they are."""
    missing = re.fullmatch(r"((?:hydra/)?[^/]+)/(.*)", getattr(error, "missing_cfg_file", None) or "")
    if isinstance(error, MissingConfigException) and missing:
        group, name = missing.groups()
        known = error.options or [*conf_files.members(group), *(n for g, n in plugins.MEMBERS if g == group)]
        return UserError(f"{group}: there is no {name!r}; {instead(name, known)}")
    found = re.match(r"Could not override '([^']+)'", str(error))
    if not isinstance(error, ConfigCompositionException) or found is None:
        return error
    key, node = found[1], conf_files.compose(command, overrides)
    known = [*conf_files.paths(node), *conf_files.chosen_by_default(conf_files.read(command))]
    said = instead(key, known, f"`harness {command} --cfg job` prints those there are")
    return UserError(f"{key}: there is no such setting; {said}")


@contextlib.contextmanager
def checked_compositions() -> Iterator[None]:
    """Let Hydra act on no configuration that :func:`check_hydra` refuses, while the block runs.

    A sweep composes a job to name its folder, and then its launcher does: the second time takes the first's.
    """
    loader: Any = ConfigLoaderImpl
    hydra: Any = Hydra
    load_before, mode_before = loader.load_configuration, hydra.get_mode
    last: dict[str, DictConfig] = {}

    def load(self: ConfigLoaderImpl, *args: Any, **kwargs: Any) -> DictConfig:
        """Compose as before, then check; the last one is handed out once more."""
        asked = repr((args, kwargs))
        if asked in last:
            return last.pop(asked)
        cfg: DictConfig = load_before(self, *args, **kwargs)
        check_hydra(OmegaConf.to_container(cfg.hydra, resolve=False))
        last.clear()
        last[asked] = cfg
        return cfg

    def get_mode(self: Hydra, config_name: str | None, overrides: list[str]) -> RunMode | None:
        """Read it from the command line; Hydra would compose the whole configuration once more for it."""
        named = [text.partition("=")[2] for text in overrides if text.startswith("hydra.mode=")]
        return RunMode.__members__.get(named[-1]) if named else None

    loader.load_configuration, hydra.get_mode = load, get_mode
    try:
        yield
    finally:
        loader.load_configuration, hydra.get_mode = load_before, mode_before


def check_hydra(node: Any) -> None:
    """Refuse a ``hydra`` node, not resolved, that starts what this package or Hydra does not ship."""
    callbacks = node.get("callbacks")
    if callbacks:
        names = ", ".join(callbacks) if isinstance(callbacks, Mapping) else callbacks
        raise UserError(f"hydra.callbacks: {names} is not allowed; harness has no callbacks")
    for key in ("job_logging", "hydra_logging"):
        if node.get(key) not in _shipped_logging(key):
            allowed = f"hydra/{key}= one of {', '.join(LOGGING)} is"
            raise UserError(f"hydra.{key}: its handlers are not allowed; {allowed}")
    job = node.get("job") or {}
    _leave("hydra.job", {key: job.get(key) for key in ("chdir", "env_set")})
    far = [place for place in node.get("searchpath") or () if not str(place).startswith("file://")]
    _leave("hydra", {"output_subdir": node.get("output_subdir"), "searchpath": far})
    _check_launcher(node.get("launcher"))
    _check_sweeper(node.get("sweeper"))
    for key, part in node.items():
        _refuse_targets(f"hydra.{key}", part, allowed=key in ("launcher", "sweeper"))


@functools.cache
def _shipped_logging(key: str) -> list[Any]:
    folder = files("hydra.conf.hydra").joinpath(key)
    found = [folder.joinpath(f"{name}.yaml") for name in LOGGING]
    texts = [file.read_text(encoding="utf-8") for file in found if file.is_file()]
    return [OmegaConf.to_container(OmegaConf.create(text)) for text in texts]


def _leave(where: str, node: Mapping[str, Any], shipped: Mapping[str, Any] | None = None) -> None:
    """Refuse values that are not those which are shipped, or where none is, any that says something."""
    for key, value in node.items():
        if value if shipped is None else value != shipped[key]:
            raise UserError(f"{where}.{key}: {value!r} is not allowed; leave it as it is")


def _check_launcher(node: Any) -> None:
    target = node.get("_target_") if isinstance(node, Mapping) else node
    if target not in LAUNCHERS:
        raise UserError(
            f"hydra.launcher._target_: {target!r} is not allowed; hydra/launcher= takes basic, joblib, "
            "submitit_local, submitit_slurm or slurm_array"
        )
    _check_count("hydra.launcher.n_jobs", node.get("n_jobs"), least=-1)
    _leave("hydra.launcher", {key: value for key, value in node.items() if key in FIXED}, FIXED)
    for key, value in node.items():
        text = str(value)
        if key not in FIXED and (isinstance(value, Mapping | list) or "${" in text or not text.isprintable()):
            raise UserError(f"hydra.launcher.{key}: {value!r} is not allowed; a number or a plain text is")


def _check_sweeper(node: Any) -> None:
    target = node.get("_target_") if isinstance(node, Mapping) else node
    if target != BASIC_SWEEPER:
        raise UserError(f"hydra.sweeper._target_: {target!r} is not allowed; hydra/sweeper=basic is")
    if "${" in str(node):
        raise UserError("hydra.sweeper: an interpolation is not allowed there; plain values are")
    _check_count("hydra.sweeper.max_batch_size", node.get("max_batch_size"), least=1)


def _check_count(where: str, value: object, least: int) -> None:
    if value is not None and (type(value) is not int or value < least or value == 0):
        other = "-1" if least < 0 else "null"
        raise UserError(f"{where}: {value!r} is not allowed; {other} or a whole number of at least 1 is")


def _refuse_targets(where: str, node: Any, *, allowed: bool = False) -> None:
    parts = node.items() if isinstance(node, Mapping) else enumerate(node) if isinstance(node, list) else ()
    for key, part in parts:
        if key == "_target_" and not allowed:
            raise UserError(f"{where}._target_: {part!r} is not allowed; a launcher and a sweeper have one")
        _refuse_targets(f"{where}.{key}", part)
