"""Locks between processes: one run writes to a folder at a time, one process works on a job of a sweep."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, Timeout

from harness.errors import UserError
from harness.runtime.store import LOCK


@contextlib.contextmanager
def locked(path: Path, *, wait: bool = False) -> Iterator[bool]:
    """Hold the lock file `path` while the block runs; yields False where another process holds it.

    The lock ends with its process, however that ends. Where no file can be locked, everyone is let in.
    """
    lock = FileLock(path)
    held = _acquire(lock, path, wait)
    try:
        yield held
    finally:
        lock.release()


def _acquire(lock: FileLock, path: Path, wait: bool) -> bool:
    for _ in range(9):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire(timeout=-1 if wait else 0)
        except Timeout:
            return False
        except FileNotFoundError:  # whoever held the folder has removed it, being empty
            continue
        except (OSError, NotImplementedError):  # no locks here, or no room for the file
            return True
        return True
    return False


@contextlib.contextmanager
def hold_folder(folder: Path) -> Iterator[None]:
    """Make the folder where it is missing, and keep other runs out of it while the block runs.

    Raises UserError if another run holds it.
    """
    with locked(folder / LOCK) as held:
        if not held:
            raise UserError(
                f"out={folder}: another run is writing there; wait for it, or name another folder"
            )
        try:
            yield
        finally:
            with contextlib.suppress(OSError):  # Windows removes it on release
                (folder / LOCK).unlink()
