"""One run writes to a folder at a time."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from harness.errors import UserError


@contextlib.contextmanager
def hold_folder(folder: Path) -> Iterator[None]:
    """Make the folder where it is missing, and keep other runs out of it while the block runs.

    The lock is the system's own on the folder itself: it leaves no file, and ends with the process, however
    that ends. A file system without locks lets everyone in.

    Raises
    ------
    UserError
        If another run holds the folder.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with hold_folder(folder), hold_folder(folder):
    ...     pass
    Traceback (most recent call last):
    ...
    harness.errors.UserError: out=...: another run is writing there; wait for it, or name another folder
    """
    handle = _lock(folder)
    try:
        yield
    finally:
        os.close(handle)


def _lock(folder: Path) -> int:
    """Return the handle that holds the lock; its folder is the one that `folder` names now."""
    while True:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(handle)
            raise UserError(
                f"out={folder}: another run is writing there; wait for it, or name another folder"
            ) from error
        except OSError:  # no locks here
            return handle
        if _is(folder, handle):
            return handle
        os.close(handle)  # whoever held it has removed it, being empty


def _is(folder: Path, handle: int) -> bool:
    try:
        return os.path.samestat(folder.stat(), os.fstat(handle))
    except FileNotFoundError:
        return False
