"""What `harness` and `harness COMMAND --help` print."""

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from harness import __version__
from harness.cli import conf_files

WIDTH = 100
MEASURES = ("F1", "error", "precision", "recall")
"""In this order; tests of other measures follow."""


def usage() -> str:
    """Return what `harness` alone prints."""
    return Path(__file__).with_name("usage.txt").read_text(encoding="utf-8").replace("VERSION", __version__)


def help_of(command: str) -> str:
    """Return a command's help, kept in its own configuration; Hydra takes seconds to list the groups."""
    primary = conf_files.read(command)
    groups = [_list_group(group, command) for group in sorted(conf_files.chosen_by_default(primary))]
    text = "\n".join(line for lines in groups for line in lines)
    return str(primary["hydra"]["help"]["template"]).format(groups=text)


def _list_group(group: str, command: str) -> list[str]:
    """Return a line for each member of a group, below a heading; tests by measure, then other packages'."""
    names = conf_files.members(group, command)
    if group != "test":
        return _list_members(group, group, names)
    kinds: dict[str, list[str]] = {f"on {kind}": [] for kind in (*MEASURES, "another measure")}
    kinds["of other packages"] = []
    for name in names:
        kinds[_kind(conf_files.read(f"test/{name}")[name])].append(name)
    return [line for kind, some in kinds.items() for line in _list_members(f"test, {kind}", "test", some)]


def _kind(test: Mapping[str, Any]) -> str:
    """Return under which heading a test stands."""
    if str(test["_target_"]).startswith("harness.significance.others."):
        return "of other packages"
    found = (kind for kind in MEASURES if kind.lower() == test["measure"])
    return f"on {next(found, 'another measure')}"


def _list_members(heading: str, group: str, names: Sequence[str]) -> list[str]:
    if not names:
        return []
    longest = max(map(len, names))
    lines = [f"  {heading}:"]
    for name in names:
        words = conf_files.first_words(f"{group}/{name}")
        room = WIDTH - longest - 6
        lines.append(f"    {name:<{longest}}  {textwrap.shorten(words, room, placeholder=' ...')}".rstrip())
    return lines
