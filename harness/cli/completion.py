"""``harness completion SHELL``: a script for the shell, which asks `harness` itself what a word can become.

Hydra's own completion knows programs of one configuration, without commands, and composes it at every key
pressed; here the files of the configuration are read as they stand.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from harness.cli import COMMANDS, conf_files
from harness.errors import UserError, instead
from harness.packaged import POPULATIONS

SHELLS = ("bash", "zsh", "fish")
FLAGS = ("--help ", "--multirun ", "--cfg ", "--config-dir=")
LAUNCHER, LAUNCHERS = "hydra/launcher", ("basic", "joblib", "submitit_local", "submitit_slurm")
FILES = ("cache", "from", "out", "plugins", "population", "predictions", "spread_to", "to")
SHIPPED = {"population": tuple(POPULATIONS), "predictions": ("digits",)}
GLUE = re.compile("[=:]+")
"""What bash takes for a word of its own within a word."""


def complete(arguments: Sequence[str]) -> Iterator[str]:
    """Yield the lines that ``harness completion ARGUMENTS`` prints."""
    shell, *rest = arguments or [""]
    if arguments and arguments[-1] in ("-h", "--help") and "--query" not in arguments:
        yield _beside("txt")
    elif shell not in SHELLS or (rest and rest[0] != "--query"):
        raise UserError(f"{' '.join(arguments)!r} is no shell; {instead(shell, SHELLS)}")
    elif not rest:
        yield _beside(shell)
    else:
        yield from _answer(shell, rest[1:])


def _beside(ending: str) -> str:
    """Return the file beside this one: the script of a shell, or the help."""
    return Path(__file__).with_suffix(f".{ending}").read_text(encoding="utf-8").rstrip()


def _answer(shell: str, pieces: Sequence[str]) -> Iterator[str]:
    """Yield what the last word can become, in the form that the shell wants."""
    words = _glue(pieces) if shell == "bash" else [_unquote(piece) for piece in pieces]
    *before, word = words or [""]
    found = [text for text in candidates(before, word) if text.startswith(word)]
    if shell == "bash":  # it replaces the last piece alone
        last = pieces[-1] if pieces and not GLUE.fullmatch(pieces[-1]) else ""
        there, quoted = len(word) - len(_unquote(last)), last.startswith(("'", '"'))
        yield from (text[there:] if quoted else _quote(text[there:]) for text in found)
    else:  # fish sets the space itself
        yield from (text.rstrip() if shell == "fish" else text for text in found)


def _glue(pieces: Sequence[str]) -> list[str]:
    """Put together what bash took apart at ``=`` and ``:``."""
    words: list[str] = []
    joined = False
    for piece in pieces:
        if words and (joined or GLUE.fullmatch(piece)):
            words[-1] += _unquote(piece)
        else:
            words.append(_unquote(piece))
        joined = GLUE.fullmatch(piece) is not None
    return words


def _unquote(piece: str) -> str:
    return re.sub(r"\\(.)", r"\1", piece.lstrip("'\""))


def _quote(text: str) -> str:
    """Escape what bash would obey, but not the space that ends a word."""
    body = text.removesuffix(" ")
    return re.sub(r"([\s'\"\\$&;()<>|*?`!#])", r"\\\1", body) + text[len(body) :]


def candidates(before: Sequence[str], word: str) -> Iterator[str]:
    """Yield what a word may become after others; what is complete ends with a space."""
    if not before:
        yield from (f"{name} " for name in (*COMMANDS, "completion", "--help", "--version"))
    elif before[0] == "completion":
        yield from (f"{name} " for name in SHELLS if len(before) == 1)
    elif before[0] in COMMANDS:
        yield from _after_command(before[0], before[1:], word)


def _after_command(command: str, settings: Sequence[str], word: str) -> Iterator[str]:
    key, equals, value = word.partition("=")
    if settings and settings[-1] == "--cfg":
        yield from ("job ", "hydra ", "all ")
    elif key == "--config-dir" and equals:
        yield from _paths("--config-dir=", value)
    elif word.startswith("-"):
        yield from FLAGS
    elif equals:
        yield from _values(command, settings, key, value)
    else:
        yield from _keys(command, settings, word)
        if command == "collect" and not settings:
            yield from _paths("", word)


def _keys(command: str, settings: Sequence[str], word: str) -> Iterator[str]:
    """Yield the names of settings, a part of them at a time: ``sets.`` and then ``sets.n_sets=``."""
    name = word.lstrip("+~")
    sign = word[: len(word) - len(name)]
    path, dot, _ = name.rpartition(".")
    start, end = f"{sign}{path}{dot}", "" if "~" in sign else "="
    groups = [] if path else _groups(command)
    yield from (f"{start}{group}{end}" for group in groups)
    node = conf_files.below(conf_files.compose(command, settings), path)
    for key, value in node.items() if isinstance(node, Mapping) else ():
        if isinstance(value, Mapping) and value:
            yield f"{start}{key}."
        elif not str(key).startswith("_") and key not in (*groups, "command"):
            yield f"{start}{key}{end}"


def _groups(command: str) -> list[str]:
    return [*conf_files.chosen_by_default(conf_files.read(command)), LAUNCHER]


def _values(command: str, settings: Sequence[str], key: str, value: str) -> Iterator[str]:
    """Yield what a setting may be: members of its group, or the last of several; true, false; or files."""
    name = key.lstrip("+~")
    last = re.split(r"[\[,]", value)[-1]
    several = value[: len(value) - len(last)]
    start, end = f"{key}={several}", "" if several else " "
    known: Sequence[str] = SHIPPED.get(name, ())
    if name in _groups(command):
        known = (*conf_files.members(name, command), *(LAUNCHERS if name == LAUNCHER else ()))
    elif isinstance(conf_files.below(conf_files.compose(command, settings), name), bool):
        known = ("true", "false")
    taken = re.split(r"[\[,]", several)
    yield from (f"{start}{one}{end}" for one in known if one not in taken)
    if name in FILES or name.endswith("path"):
        yield from _paths(start, last, end)


def _paths(start: str, typed: str, end: str = " ") -> Iterator[str]:
    """Yield the files and folders whose path begins as typed."""
    parent, slash, name = typed.rpartition("/")
    folder = Path(os.path.expanduser(parent + slash) or ".")  # noqa: PTH111
    found = sorted(folder.iterdir()) if folder.is_dir() else []
    for path in found:
        if path.name.startswith(name) and path.name.startswith(".") <= name.startswith("."):
            yield f"{start}{parent}{slash}{path.name}{'/' if path.is_dir() else end}"
