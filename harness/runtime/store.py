"""Artefacts kept on disk: written atomically, keyed by what made them, checked when read."""

import contextlib
import hashlib
import io
import json
import math
import os
import secrets
import stat
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from harness.errors import UserError

Arrays = dict[str, NDArray[Any]]
WRITING = ".writing-"
"""How the name of a file begins that is being written, or was when its process was killed."""
LOCK = f"{WRITING}lock"
"""In the folder of a run while it writes there; see :mod:`harness.runtime.lock`."""
LARGEST_TABLE = 4 * 2**30
LARGEST_ENTRY = 64 * 2**30
# what some systems lack: not to wait for the other end of a pipe, and not to translate the ends of lines
FLAGS = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def digest(*parts: object) -> str:
    """Return the SHA-256 of `parts`, which must be made of JSON types; the order of keys does not count."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, allow_nan=False).encode()).hexdigest()


def open_regular(path: Path, largest: int = LARGEST_TABLE) -> BinaryIO:
    """Open a regular file of at most `largest` bytes: a pipe would block, a device might never end.

    Raises UserError where it is something else, or too large.
    """
    handle = os.open(path, os.O_RDONLY | FLAGS)
    found = os.fstat(handle)
    if stat.S_ISREG(found.st_mode) and found.st_size <= largest:
        return os.fdopen(handle, "rb")
    os.close(handle)
    if stat.S_ISREG(found.st_mode):
        raise UserError(f"{path}: {found.st_size:,} bytes are too many; {largest:,} are allowed")
    raise UserError(f"{path}: it is no regular file; one is needed")


def read_regular(path: Path, largest: int = LARGEST_TABLE) -> bytes:
    """Return what a regular file holds; see :func:`open_regular`."""
    with open_regular(path, largest) as stream:
        return stream.read()


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file's bytes."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def write_atomically(path: Path, data: bytes | memoryview) -> None:
    """Write `data` to `path` as :func:`replacing` does; an OSError names `path`."""
    try:
        with replacing(path) as stream:
            stream.write(data)
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error


@contextlib.contextmanager
def replacing(path: Path, mode: str = "wb", **options: Any) -> Iterator[IO[Any]]:
    """Open a file that takes the place of `path` at the end: a reader sees the old one or the new, no part.

    Then the file outlives a power cut; a process that is killed within leaves at most a file beside it whose
    name begins with `WRITING`.
    """
    handle, temporary = _open_beside(path)
    try:
        with os.fdopen(handle, mode, **options) as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def _open_beside(path: Path) -> tuple[int, str]:
    """Open a new file in the folder of `path`, which may be pruned away between its making and its use."""
    for _ in range(9):
        path.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            return _open_new(path.parent)
    return _open_new(path.parent)


def _open_new(folder: Path) -> tuple[int, str]:
    """Open a new file without its final name yet; return its handle and its path."""
    path = folder / f"{WRITING}{secrets.token_hex(8)}"
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | FLAGS, 0o666), str(path)


def _sync_folder(folder: Path) -> None:
    """Let the new name outlive a power cut, on the file systems that can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def remove_leftovers(folder: Path) -> None:
    """Remove what a killed process was writing in `folder`, at any depth, while nobody else writes there."""
    for path in folder.rglob(f"{WRITING}*"):
        if path.name != LOCK and not path.is_dir():
            path.unlink(missing_ok=True)


def _sign(key: str, arrays: Arrays) -> str:
    """Return the text that identifies an entry: its key and the arrays that it must hold."""
    return " ".join([key, *sorted(arrays)])


def read_entry(path: Path, key: str) -> Arrays:
    """Return the arrays of an entry of a :class:`Store`, in memory bounded by the length of its file.

    Damaged bytes make zipfile and numpy raise almost anything.
    """
    arrays = {}
    with open_regular(path, LARGEST_ENTRY) as stream, zipfile.ZipFile(stream) as archive:
        members = archive.infolist()
        if sum(member.file_size for member in members) > os.fstat(stream.fileno()).st_size:
            raise ValueError("it declares more than it holds")
        for member in members:
            arrays[member.filename.removesuffix(".npy")] = _read_array(archive.read(member))
    if str(arrays.pop("__made_from__")) != _sign(key, arrays):
        raise ValueError("it belongs to another unit of work")
    return arrays


def _read_array(content: bytes) -> NDArray[Any]:
    """Return the array of an ``.npy`` file, made only if its header declares as much as follows."""
    stream = io.BytesIO(content)
    version = np.lib.format.read_magic(stream)
    formats = np.lib.format
    read_header = {(1, 0): formats.read_array_header_1_0, (2, 0): formats.read_array_header_2_0}[version]
    shape, _, dtype = read_header(stream)
    if math.prod(shape) * dtype.itemsize != len(content) - stream.tell():
        raise ValueError(f"an array of shape {shape} is declared, and not there")
    stream.seek(0)
    return np.lib.format.read_array(stream, allow_pickle=False)


class Store:
    """A folder of ``.npz`` entries, one per unit of work; ``Store(None)`` keeps nothing.

    An entry holds its own key, so that a renamed or foreign file is noticed; the zip checksums
    notice damage. Processes that share a folder at worst compute the same entry twice.
    """

    def __init__(self, folder: Path | None):
        self.folder = folder

    def path(self, stage: str, key: str) -> Path:
        """Return where the entry of `key` lies."""
        if self.folder is None:
            raise ValueError("folder: this store keeps nothing")
        return self.folder / stage / key[:2] / f"{key}.npz"

    def load(self, stage: str, key: str) -> Arrays | None:
        """Return the entry's arrays, or None where there is none or it is damaged (with a warning)."""
        if self.folder is None:
            return None
        path = self.path(stage, key)
        try:
            return read_entry(path, key)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except Exception as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            warnings.warn(f"cache entry {path} is damaged ({reason}); it is made anew", stacklevel=2)
            return None

    def save(self, stage: str, key: str, arrays: Arrays) -> None:
        """Keep `arrays` (no object arrays) under `key`."""
        if self.folder is None:
            return
        signed = arrays | {"__made_from__": np.array(_sign(key, arrays))}
        entry = io.BytesIO()
        np.savez(entry, allow_pickle=False, **signed)
        write_atomically(self.path(stage, key), entry.getbuffer())
