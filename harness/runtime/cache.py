"""``harness cache``: what a folder of kept stages holds, and the removal of what is asked for."""

import contextlib
import os
import re
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from harness.errors import UserError
from harness.runtime.store import WRITING, read_entry

KINDS = ("entry", "damaged", "leftover", "being written")
REMOVED = {
    "entry": ("entry", "entries"),
    "damaged": ("damaged entry", "damaged entries"),
    "leftover": ("leftover", "leftovers"),
}
DAY = 24 * 3600.0
WRITTEN_BY_NOW = 3600.0
"""Seconds after which nobody is still writing a file that was begun."""
KEY = re.compile(r"[0-9a-f]{64}")


class Kept(NamedTuple):
    """A file of the cache.

    Attributes
    ----------
    path : Path
    stage : str
    kind : str
        One of `KINDS`; a leftover is what a killed process was writing.
    size : int
        Bytes.
    made : float
        Seconds since the epoch.
    """

    path: Path
    stage: str
    kind: str
    size: int
    made: float


def show_cache(
    folder: Path,
    *,
    stages: Sequence[str] | None = None,
    older_than_days: float | None = None,
    prune: bool = False,
    check: bool = True,
    say: Callable[[str], None] = print,
) -> None:
    """List what the cache holds, stage by stage; with `prune`, remove some of it.

    Parameters
    ----------
    folder : Path
    stages : sequence of str, optional
        Only these.
    older_than_days : float, optional
        Only entries that were made longer ago.
    prune : bool
        Remove what no run can use: damaged entries and leftovers of killed runs. Where `older_than_days` is
        given, remove whole entries as well, those that are older. Files that are not the cache's own stay.
    check : bool
        Read every entry to find the damaged ones.
    say : callable
        Shows a line to the user.

    Raises
    ------
    UserError
        If `folder` is no cache, or lacks a stage.
    """
    found = list_cache(folder, check=check)
    held = sorted({kept.stage for kept in found})
    for stage in stages or ():
        if stage not in held:
            raise UserError(f"stage: {stage!r} is not in {folder}; it holds {', '.join(held) or 'nothing'}")
    found = [kept for kept in found if stages is None or kept.stage in stages]
    old = time.time() - DAY * (older_than_days or 0.0)
    chosen = [kept for kept in found if kept.kind != "entry" or kept.made <= old]
    if not prune:
        for line in tabulate(folder, found if older_than_days is None else chosen):
            say(line)
        return
    asked = {"damaged", "leftover"} | (set() if older_than_days is None else {"entry"})
    for line in remove([kept for kept in chosen if kept.kind in asked], folder):
        say(line)


def list_cache(folder: Path, *, check: bool = True) -> list[Kept]:
    """Return the files of a cache; links and files that are not its own are not looked at.

    Raises
    ------
    UserError
        If `folder` is no folder, or holds other files and none of a cache's.
    """
    if not folder.is_dir():
        raise UserError(f"cache={folder}: there is no such folder; the cache of a run is needed")
    found = [
        _describe(file, stage.name, check)
        for stage in _folders(folder)
        for part in _folders(Path(stage.path))
        if re.fullmatch("[0-9a-f]{2}", part.name)
        for file in _scan(Path(part.path))
        if _is_own(file, part.name)
    ]
    kept = [one for one in found if one is not None]
    if not kept and any(path.is_file() for path in folder.rglob("*")):
        raise UserError(f"cache={folder}: it holds files, and none of them is a cache's; nothing is done")
    return kept


def _scan(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except FileNotFoundError:  # removed meanwhile
        return []


def _folders(folder: Path) -> list[os.DirEntry[str]]:
    return [entry for entry in _scan(folder) if entry.is_dir(follow_symlinks=False)]


def _is_own(file: os.DirEntry[str], part: str) -> bool:
    """Tell whether a name is one that a :class:`harness.runtime.store.Store` gives in the folder `part`."""
    stem, _, suffix = file.name.partition(".npz")
    named = bool(KEY.fullmatch(stem)) and stem.startswith(part) and file.name.endswith(".npz") and not suffix
    return file.is_file(follow_symlinks=False) and (named or file.name.startswith(WRITING))


def _describe(file: os.DirEntry[str], stage: str, check: bool) -> Kept | None:
    """Return what a file is, or None where it was removed meanwhile."""
    path = Path(file.path)
    try:
        status = file.stat(follow_symlinks=False)
    except FileNotFoundError:
        return None
    if file.name.startswith(WRITING):
        is_old = time.time() - status.st_mtime > WRITTEN_BY_NOW
        kind = "leftover" if is_old else "being written"
    else:
        kind = "entry" if not check or _is_whole(path) else "damaged"
    return Kept(path, stage, kind, status.st_size, status.st_mtime)


def _is_whole(path: Path) -> bool:
    try:
        read_entry(path, path.stem)
    except PermissionError:  # another user's: nobody here can tell
        return True
    except Exception:  # damaged bytes make zipfile and numpy raise almost anything
        return False
    return True


def tabulate(folder: Path, found: Sequence[Kept]) -> list[str]:
    """Return lines that tell entries, size and age of each stage, and of all."""
    if not found:
        return [f"{folder} holds nothing of this kind"]
    heads = ("stage", "entries", "MiB", "oldest", "newest", "damaged", "leftover", "being written")
    stages = sorted({kept.stage for kept in found})
    rows = [_row(stage, [kept for kept in found if kept.stage == stage]) for stage in stages]
    table = [heads, *rows, _row("all", found)]
    widths = [max(len(row[i]) for row in table) for i in range(len(heads))]
    justify = [str.ljust if i in (0, 3, 4) else str.rjust for i in range(len(heads))]
    lines = ["  ".join(f(cell, w) for f, cell, w in zip(justify, row, widths, strict=True)) for row in table]
    return [f"{folder}:", *(line.rstrip() for line in lines)]


def _row(stage: str, found: Sequence[Kept]) -> tuple[str, ...]:
    numbers = {kind: str(sum(kept.kind == kind for kept in found)) for kind in KINDS}
    ages = [kept.made for kept in found]
    return (
        stage, numbers["entry"], _mib(found), _date(min(ages)), _date(max(ages)),
        numbers["damaged"], numbers["leftover"], numbers["being written"],
    )  # fmt: skip


def _mib(found: Iterable[Kept]) -> str:
    return f"{sum(kept.size for kept in found) / 2**20:,.1f}"


def _date(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M")


def remove(found: Sequence[Kept], folder: Path) -> list[str]:
    """Remove files and the folders that are empty then; return a line for each stage and kind.

    A run that is using the cache makes anew what it misses.

    Raises
    ------
    OSError
        If a file cannot be removed.
    """
    for kept in found:
        kept.path.unlink(missing_ok=True)
    for empty in sorted({kept.path.parent for kept in found}) + sorted({folder / k.stage for k in found}):
        with contextlib.suppress(OSError):
            empty.rmdir()
    lines = []
    for stage in sorted({kept.stage for kept in found}):
        for kind, words in REMOVED.items():
            gone = [kept for kept in found if (kept.stage, kept.kind) == (stage, kind)]
            if gone:
                lines.append(f"removed from {stage}: {len(gone)} {words[len(gone) > 1]}, {_mib(gone)} MiB")
    return lines or [f"{folder}: there was nothing to remove"]
