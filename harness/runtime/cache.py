"""``harness cache``: what a folder of kept stages holds, and the removal of what is asked for."""

import contextlib
import re
import time
from collections.abc import Iterable, Sequence
from datetime import datetime
from glob import glob
from pathlib import Path
from typing import NamedTuple

from harness.errors import UserError
from harness.runtime.store import WRITING, read_entry
from harness.runtime.talk import PLACES, Say, say

HEADS = ("stage", "entries", "MiB", "oldest", "newest", "damaged", "leftover", "being written")
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
    """A file of the cache, made `made` seconds after the epoch; `size` in bytes.

    Its `kind` is ``"entry"``, ``"damaged"``, ``"being written"``, or ``"leftover"`` of a killed run.
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
    say: Say = say,
) -> None:
    """List what the cache holds, stage by stage; with `prune`, remove some of it.

    Pruning removes what no run can use: damaged entries and leftovers of killed runs; with `older_than_days`
    also whole entries that are older. Without `check`, damage is not looked for.
    """
    found = list_cache(folder, check=check)
    held = sorted({kept.stage for kept in found})
    for stage in stages or ():
        if stage not in held:
            raise UserError(f"stage: {stage!r} is not in {folder}; it holds {', '.join(held) or 'nothing'}")
    found = [kept for kept in found if stages is None or kept.stage in stages]
    old = time.time() - DAY * (older_than_days or 0.0)
    chosen = [kept for kept in found if kept.kind != "entry" or kept.made <= old]
    if prune:
        asked = ("damaged", "leftover") if older_than_days is None else REMOVED
        lines = remove([kept for kept in chosen if kept.kind in asked], folder)
    else:
        lines = tabulate(folder, found if older_than_days is None else chosen)
    for line in lines:
        say(line, PLACES)


def list_cache(folder: Path, *, check: bool = True) -> list[Kept]:
    """Return the files of a cache; links and files that are not its own are not looked at."""
    if not folder.is_dir():
        raise UserError(f"cache={folder}: there is no such folder; the cache of a run is needed")
    # Path.glob fails where a folder is removed meanwhile
    names = glob("*/[0-9a-f][0-9a-f]/*", root_dir=folder, include_hidden=True)  # noqa: PTH207
    found = [_describe(folder / name, check) for name in sorted(names)]
    kept = [one for one in found if one is not None]
    if not kept and any(path.is_file() for path in folder.rglob("*")):
        raise UserError(f"cache={folder}: it holds files, and none of them is a cache's; nothing is done")
    return kept


def _describe(path: Path, check: bool) -> Kept | None:
    """Return what a file is; None where no :class:`harness.runtime.store.Store` made it, or it is gone."""
    part, stage = path.parent, path.parent.parent
    begun = path.name.startswith(WRITING)
    entry = path.suffix == ".npz" and KEY.fullmatch(path.stem) and path.stem.startswith(part.name)
    if not (begun or entry) or not path.is_file() or any(one.is_symlink() for one in (path, part, stage)):
        return None
    try:
        status = path.stat()
    except FileNotFoundError:  # removed meanwhile
        return None
    if begun:
        is_old = time.time() - status.st_mtime > WRITTEN_BY_NOW
        kind = "leftover" if is_old else "being written"
    else:
        kind = "entry" if not check or _is_whole(path) else "damaged"
    return Kept(path, stage.name, kind, status.st_size, status.st_mtime)


def _is_whole(path: Path) -> bool:
    try:
        read_entry(path, path.stem)
    except PermissionError:  # another user's: nobody here can tell
        return True
    except Exception:  # damaged bytes make zipfile and numpy raise almost anything
        return False
    return True


def tabulate(folder: Path, found: Sequence[Kept]) -> list[str]:
    """Return lines with entries, size and age of each stage, and of all."""
    if not found:
        return [f"{folder} holds nothing of this kind"]
    stages = sorted({kept.stage for kept in found})
    rows = [_row(stage, [kept for kept in found if kept.stage == stage]) for stage in stages]
    table = [HEADS, *rows, _row("all", found)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    signs = ["<" if head in ("stage", "oldest", "newest") else ">" for head in HEADS]
    cells = [[f"{c:{s}{w}}" for c, s, w in zip(row, signs, widths, strict=True)] for row in table]
    return [f"{folder}:", *("  ".join(row).rstrip() for row in cells)]


def _row(stage: str, found: Sequence[Kept]) -> tuple[str, ...]:
    kinds = [kept.kind for kept in found]
    ages = [datetime.fromtimestamp(kept.made).strftime("%Y-%m-%d %H:%M") for kept in found]
    numbers = (str(kinds.count(kind)) for kind in HEADS[5:])
    return (stage, str(kinds.count("entry")), _mib(found), min(ages), max(ages), *numbers)


def _mib(found: Iterable[Kept]) -> str:
    return f"{sum(kept.size for kept in found) / 2**20:,.1f}"


def remove(found: Sequence[Kept], folder: Path) -> list[str]:
    """Remove files and the folders that are empty then; return a line for each stage and kind.

    A run that is using the cache makes anew what it misses.
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
