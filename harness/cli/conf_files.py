"""The configuration's files as they stand: for help and completion, which cannot wait for Hydra."""

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from harness import __version__
from harness.errors import UserError

PRESETS = "experiment"
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the one in C is ten times as fast
WIDTH = 100
COMMENTS = 26
"""The column of comments in the configuration's own files."""
MEASURES = ("F1", "error", "precision", "recall")
"""In this order; tests of other measures follow."""


def conf_folder() -> Path:
    """Return the folder of the configurations: ``harness/conf`` in a wheel, ``conf`` in a checkout."""
    here = Path(__file__).resolve().parent.parent
    for folder in (here / "conf", here.parent / "conf"):
        if (folder / "run.yaml").is_file():
            return folder
    raise UserError(f"the configuration folder is missing beside {here}; install the package again")


def read(name: str) -> dict[str, Any]:
    """Return what a file of the configuration holds, as in ``read("test/mcnemar")``."""
    text = (conf_folder() / f"{name}.yaml").read_text(encoding="utf-8")
    found: dict[str, Any] | None = yaml.load(text, LOADER)
    return found or {}


def first_words(name: str) -> str:
    """Return the first line of a file's comment, which says in half a line what the member is."""
    with (conf_folder() / f"{name}.yaml").open(encoding="utf-8") as lines:
        for line in lines:
            if not line.startswith("#"):
                break
            if not line.startswith("# @"):  # Hydra's own headers
                return line.lstrip("# ").rstrip()
    return ""


def members(group: str, command: str | None = None) -> list[str]:
    """Return the names of a group's members; of presets, those that are of the command."""
    names = sorted(path.stem for path in (conf_folder() / group).glob("*.yaml"))
    return [name for name in names if group != PRESETS or command in (None, preset_command(name))]


def chosen_by_default(primary: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the groups of a command, or of a preset, with the members that its defaults list names."""
    found: dict[str, list[str]] = {}
    for entry in primary.get("defaults") or ():
        for key, value in entry.items() if isinstance(entry, dict) else ():
            group = key.removeprefix("override ").lstrip("/")
            if not group.startswith("hydra/"):
                found[group] = [str(one) for one in (value if isinstance(value, list) else [value]) if one]
    return found


def preset_command(name: str) -> str | None:
    """Return the command that a preset, or the one it builds on, names."""
    if not re.fullmatch(r"\w+", name) or not (conf_folder() / PRESETS / f"{name}.yaml").is_file():
        return None
    preset = read(f"{PRESETS}/{name}")
    return preset.get("command") or next(filter(None, map(preset_command, parents_of(preset))), None)


def parents_of(preset: Mapping[str, Any]) -> list[str]:
    """Return the presets on which a preset builds."""
    return [entry for entry in preset.get("defaults", ()) if isinstance(entry, str) and entry != "_self_"]


def compose(command: str, settings: Sequence[str] = ()) -> dict[str, Any]:
    """Return the settings of a command with the members that are chosen on its line, or else its own."""
    primary = read(command)
    chosen = chosen_by_default(primary)
    given = dict(text.lstrip("+").split("=", 1) for text in settings if "=" in text)
    node = {key: value for key, value in primary.items() if key not in ("defaults", "hydra")}
    for preset in _with_parents(given.get(PRESETS, "")):
        chosen |= chosen_by_default(preset)
        _merge(node, {key: value for key, value in preset.items() if key != "defaults"})
    for group in chosen:
        names = re.findall(r"[\w.-]+", given[group]) if group in given else chosen[group]
        for name in set(names) & set(members(group) if group != PRESETS else ()):
            _merge(node, {group: read(f"{group}/{name}")})
    return node


def _with_parents(name: str) -> list[dict[str, Any]]:
    """Return a preset after those on which it builds; nothing where there is none of the name."""
    if name not in members(PRESETS):
        return []
    preset = read(f"{PRESETS}/{name}")
    return [one for parent in parents_of(preset) for one in _with_parents(parent)] + [preset]


def _merge(node: dict[str, Any], more: Mapping[str, Any]) -> None:
    for key, value in more.items():
        if isinstance(value, Mapping) and isinstance(node.get(key), dict):
            _merge(node[key], value)
        else:
            node[key] = value


def below(node: Any, path: str) -> Any:
    """Return what stands in a configuration at a path such as ``sets.n_sets``; None where nothing does."""
    for part in path.split(".") if path else ():
        node = node.get(part) if isinstance(node, Mapping) else None
    return node


def paths(node: Mapping[str, Any], start: str = "") -> Iterator[str]:
    """Yield the path of every setting, at any depth; not what Hydra alone reads."""
    for key, value in node.items():
        if not str(key).startswith("_"):
            yield f"{start}{key}"
        if isinstance(value, Mapping):
            yield from paths(value, f"{start}{key}.")


def usage() -> str:
    """Return what `harness` alone prints."""
    return Path(__file__).with_name("usage.txt").read_text(encoding="utf-8").replace("VERSION", __version__)


def help_of(command: str) -> str:
    """Return a command's help, kept in its own configuration; Hydra takes seconds to list the groups."""
    primary = read(command)
    groups = [_list_group(group, command) for group in sorted(chosen_by_default(primary))]
    text = "\n".join(line for lines in groups for line in lines)
    template = str(primary["hydra"]["help"]["template"])
    return template.format(groups=text, settings=_settings_of(command))


def _settings_of(command: str) -> str:
    """Return the lines of a command's configuration that say its settings, comments and all."""
    text = (conf_folder() / f"{command}.yaml").read_text(encoding="utf-8")
    _, _, settings = text.partition(f"\ncommand: {command}\n")
    whole = re.sub(r"\n +# ", " ", settings.partition("\nhydra:")[0].strip())
    return "\n".join(f"  {part}".rstrip() for line in whole.splitlines() for part in _fold(line, WIDTH - 2))


def _fold(line: str, width: int) -> list[str]:
    """Return a line of YAML on several ones where its comment would pass the width."""
    value, mark, comment = line.partition(" # ")
    if len(line) <= width or not mark:
        return [line]
    folded = textwrap.wrap(comment, width - COMMENTS - 2, break_on_hyphens=False)
    beside = value.ljust(COMMENTS) + f"# {folded[0]}"
    first = [beside] if len(beside) <= width else [value.rstrip(), " " * COMMENTS + f"# {folded[0]}"]
    return first + [" " * COMMENTS + f"# {part}" for part in folded[1:]]


def _list_group(group: str, command: str) -> list[str]:
    """Return a line for each member of a group, below a heading; tests by measure, then other packages'."""
    names = members(group, command)
    if group != "test":
        return _list_members(group, group, names)
    kinds: dict[str, list[str]] = {f"on {kind}": [] for kind in (*MEASURES, "another measure")}
    kinds["of other packages"] = []
    for name in names:
        kinds[_kind(read(f"test/{name}")[name])].append(name)
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
        words = first_words(f"{group}/{name}")
        room = WIDTH - longest - 6
        lines.append(f"    {name:<{longest}}  {textwrap.shorten(words, room, placeholder=' ...')}".rstrip())
    return lines
