"""Tests, nulls, corpora and models of a user's own: from files that the user names, or installed packages."""

import hashlib
import importlib.util
import re
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from harness.errors import UserError, check_choice
from harness.runtime.store import read_regular

ENTRY_POINTS = "size_power_harness.plugins"
GROUPS = ("test", "truth", "corpus", "model")
MEMBERS: dict[tuple[str, str], dict[str, Any]] = {}
"""(group, name) -> its node of the configuration."""
Thing = TypeVar("Thing", bound=Callable[..., Any])


def plugin(group: str, name: str | None = None, **settings: Any) -> Callable[[Thing], Thing]:
    """Make a function or class of a plug-in a member of a group, to be chosen by its name.

    Parameters
    ----------
    group : {"test", "truth", "corpus", "model"}
    name : str, optional
        The member's name on the command line; by default that of the function or class.
    **settings
        Its settings with their defaults, as in the group's yamls: a test needs ``measure="f1"`` or another
        measure; ``"???"`` stands for a value that the user must give.

    Raises
    ------
    ValueError
        If there is no such group.

    Examples
    --------
    >>> @plugin("test", measure="error")
    ... def never(counts, *, degenerate="accept"): ...
    >>> MEMBERS.pop(("test", "never"))["measure"]
    'error'
    """
    check_choice("group", group, GROUPS)

    def add(thing: Thing) -> Thing:
        node = {"_target_": f"{thing.__module__}.{thing.__qualname__}", **settings}
        if group == "test":
            node["_partial_"] = True
        MEMBERS[group, name or thing.__name__] = node
        return thing

    return add


def targets() -> set[str]:
    """Return what the members that plug-ins made are."""
    return {str(node["_target_"]) for node in MEMBERS.values()}


def load_plugins(paths: Sequence[str]) -> None:
    """Run the plug-ins of installed packages, and those of the files; once each in a process."""
    for entry in entry_points(group=ENTRY_POINTS):
        _trying(f"plugins: the installed package's {entry.value}", entry.load)
    for path in paths:
        _load_file(Path(path))


def _trying(where: str, run: Callable[[], object]) -> None:
    try:
        run()
    except Exception as error:  # the code of others may raise anything
        raise UserError(f"{where} cannot be run ({type(error).__name__}: {error})") from error


def _load_file(path: Path) -> None:
    """Run a file as a module whose name says its content, so that kept results follow it."""
    if path.suffix != ".py":
        raise UserError(f"plugins: {path} is not allowed; a Python file NAME.py is")
    try:
        source = read_regular(path)
    except FileNotFoundError as error:
        raise UserError(f"plugins: {path}: there is no such file") from error
    stem, content = re.sub(r"\W", "_", path.stem), hashlib.sha256(source).hexdigest()
    module = ModuleType(f"harness_plugin_{stem}_{content[:12]}")
    if module.__name__ in sys.modules:
        return
    module.__file__ = str(path)
    sys.modules[module.__name__] = module
    try:
        _trying(f"plugins: {path}", lambda: exec(compile(source, path, "exec"), module.__dict__))
    except UserError:
        del sys.modules[module.__name__]
        raise
    _send_by_value(module)


def _send_by_value(module: ModuleType) -> None:
    """Let workers, which do not know the file, get its functions with their code."""
    for name in ("cloudpickle", "joblib.externals.cloudpickle"):  # of Dask and joblib, or within joblib
        if importlib.util.find_spec(name) is not None:
            importlib.import_module(name).register_pickle_by_value(module)
