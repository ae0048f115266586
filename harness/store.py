"""Artefacts kept on disk: written atomically, keyed by what made them, checked when read."""

import hashlib
import json
import os
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]


def digest(*parts: object) -> str:
    """Return the SHA-256 of `parts`, which must be made of JSON types.

    Examples
    --------
    >>> digest("fit", {"C": 1.0, "n": 3}) == digest("fit", {"n": 3, "C": 1.0})
    True
    """
    return hashlib.sha256(json.dumps(parts, sort_keys=True, allow_nan=False).encode()).hexdigest()


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file's bytes."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def write_atomically(path: Path, data: bytes) -> None:
    """Write `data` to `path` so that a reader sees the old file or the new one, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".writing-")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _sign(key: str, arrays: Arrays) -> str:
    """Return the text by which an entry is known: its key and the arrays that it must hold."""
    return " ".join([key, *sorted(arrays)])


class Store:
    """A folder of ``.npz`` entries, one per unit of work; ``Store(None)`` keeps nothing.

    An entry carries its own key, so that a renamed or foreign file is noticed; the zip checksums
    notice damage. Two processes that share a folder at worst compute the same entry twice.

    Examples
    --------
    >>> import tempfile
    >>> store = Store(Path(tempfile.mkdtemp()))
    >>> store.save("fit", digest("a"), {"x": np.arange(3)})
    >>> store.load("fit", digest("a"))["x"]
    array([0, 1, 2])
    >>> store.load("fit", digest("b")) is None
    True
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
            with path.open("rb") as stream, np.load(stream, allow_pickle=False) as entry:
                arrays = {name: entry[name] for name in entry.files}
            if str(arrays.pop("__made_from__")) != _sign(key, arrays):
                raise ValueError("it belongs to another unit of work")
        except FileNotFoundError:
            return None
        except Exception as error:  # damaged bytes make zipfile and numpy raise almost anything
            warnings.warn(f"cache entry {path} is damaged ({error}); it is made anew", stacklevel=2)
            return None
        return arrays

    def save(self, stage: str, key: str, arrays: Arrays) -> None:
        """Keep `arrays` (no object arrays) under `key`."""
        if self.folder is None:
            return
        path = self.path(stage, key)
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".writing-")
        try:
            with os.fdopen(handle, "wb") as stream:
                signed = arrays | {"__made_from__": np.array(_sign(key, arrays))}
                np.savez(stream, allow_pickle=False, **signed)
                stream.flush()
                os.fsync(stream.fileno())
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
