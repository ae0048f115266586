"""Read the files of a folder, a zip or a tar archive one after another, refusing what could do harm.

Nothing is written to disk: members come as bytes, so a hostile name cannot reach another file. Names that
try are refused all the same, with links, devices, encrypted members and archives that expand beyond
`Limits`: they are no corpus.
"""

import bz2
import gzip
import lzma
import os
import re
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple, NoReturn

from harness.errors import UserError

RATIO_FLOOR = 1 << 20
"""Bytes below which the expansion ratio is not looked at: a short repetitive file compresses very well."""

_TAR_OPENERS: dict[str, Callable[..., Any]] = {
    ".tar": open,
    ".tar.gz": gzip.open,
    ".tgz": gzip.open,
    ".tar.bz2": bz2.open,
    ".tar.xz": lzma.open,
}
_PIECE = 1 << 16

ARCHIVE_SUFFIXES = (".zip", *_TAR_OPENERS)
"""Endings of the archives that :func:`read_files` opens."""

_DAMAGE = (zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, OSError)


class Member(NamedTuple):
    """One file: `where` names it in messages (archive included), `name` is its base name."""

    where: str
    name: str
    data: bytes


@dataclass(frozen=True)
class Limits:
    """What one archive may hold; one that holds more is refused.

    Attributes
    ----------
    member_bytes : int
        Size of one file, expanded; plain files of a folder are held to it too.
    total_bytes : int
        Sum over the archive's members, expanded, wanted or not.
    ratio : float
        Expanded size over packed size, of each zip member and of a tar as a whole; deflate can reach
        1032, text stays below 20.
    n_members : int
        Number of members.
    """

    member_bytes: int = 16 << 20
    total_bytes: int = 1 << 30
    ratio: float = 100.0
    n_members: int = 200_000


def natural_key(name: str) -> str:
    """Return a sort key that puts ``2newsML.xml`` before ``10newsML.xml``.

    Examples
    --------
    >>> sorted(["10newsML.xml", "2newsML.xml"], key=natural_key)
    ['2newsML.xml', '10newsML.xml']
    """
    return re.sub(r"\d+", lambda digits: digits[0].zfill(20), name)


def read_files(
    path: str | Path,
    wanted: Callable[[str], bool],
    *,
    nested: tuple[str, ...] = (),
    limits: Limits | None = None,
) -> Iterator[Member]:
    """Yield the wanted files below a folder or in an archive, one in memory at a time.

    Folders and zips are read in natural order of their names, a tar in its own order (it is a stream).
    Links to files of a folder are followed, links to folders are not. Names that begin with a dot are
    skipped (desktop systems leave such files behind).

    Parameters
    ----------
    path : str or Path
        A folder, or an archive whose name ends as one of `ARCHIVE_SUFFIXES`.
    wanted : callable
        Called with a base name; True where the file is to be read.
    nested : tuple of str
        Endings of the archives to open *inside a folder*, e.g. ``(".zip",)``.
    limits : Limits, optional
        ``Limits()`` where left out.

    Raises
    ------
    UserError
        If `path` is missing or no archive that is known, an archive is damaged, encrypted or beyond
        `limits`, or a member has a path that leaves the archive, or is a link or a device.
    """
    root, limits = Path(path).expanduser(), limits or Limits()
    if not root.exists():
        raise UserError(f"{root}: no such file or folder")
    if not root.is_dir():
        yield from _read_archive(root, wanted, limits)
        return
    for folder, folders, names in os.walk(root, onerror=_refuse_folder):
        folders.sort(key=natural_key)
        for name in sorted(names, key=natural_key):
            file = Path(folder, name)
            if name.startswith("."):
                continue
            if nested and name.lower().endswith(nested):
                yield from _read_archive(file, wanted, limits)
            elif wanted(name):
                yield Member(_shown(str(file)), name, _read_plain(file, limits))


def _refuse_folder(error: OSError) -> NoReturn:
    """Stop where os.walk would leave out a folder that it cannot list."""
    raise UserError(f"{error.filename}: cannot be read ({error.strerror})") from error


def _shown(name: str) -> str:
    """Return a name that can be printed on one line, whatever bytes it was made of."""
    return name if name.isprintable() else ascii(name)


def _read_plain(file: Path, limits: Limits) -> bytes:
    if not file.is_file():  # a pipe would block, a broken link would be lost in silence
        raise UserError(f"{file}: not a regular file, or a link to nothing")
    if file.stat().st_size > limits.member_bytes:
        raise UserError(f"{file}: {file.stat().st_size:,} bytes; at most {limits.member_bytes:,} are allowed")
    return file.read_bytes()


def _read_archive(path: Path, wanted: Callable[[str], bool], limits: Limits) -> Iterator[Member]:
    name = path.name.lower()
    members = _zip_members(path, wanted, limits) if name.endswith(".zip") else None
    for suffix, opener in _TAR_OPENERS.items():
        if name.endswith(suffix):
            members = _tar_members(path, opener, wanted, limits)
    if members is None:
        raise UserError(f"{path}: a folder or an archive is needed ({', '.join(ARCHIVE_SUFFIXES)})")
    try:
        yield from members
    except _DAMAGE as error:
        reason = str(error) or type(error).__name__
        raise UserError(f"{path}: cannot be read; is it damaged or truncated? ({reason})") from error


def _refuse(path: Path, member: str, why: str) -> NoReturn:
    raise UserError(f"{path}: member {member[:80]!r} {why}; the archive is refused")


def _too_large(n_bytes: int, limits: Limits) -> str:
    return f"expands to {n_bytes:,} bytes (at most {limits.member_bytes:,} are allowed)"


def _check_name(path: Path, member: str) -> str:
    """Return the base name of a member whose path stays inside its archive."""
    parts = member.replace("\\", "/").split("/")
    if parts[0] == "" or ".." in parts or re.match("[A-Za-z]:", member) or "\0" in member:
        _refuse(path, member, "has a path that leaves the archive")
    return parts[-1]


def _zip_members(path: Path, wanted: Callable[[str], bool], limits: Limits) -> Iterator[Member]:
    with zipfile.ZipFile(path) as archive:
        infos = archive.infolist()
        _check_zip(path, infos, limits)
        for info in sorted(infos, key=lambda info: natural_key(info.filename)):
            name = _check_name(path, info.filename)
            if name.startswith(".") or info.is_dir() or not wanted(name):
                continue
            # in pieces: zipfile expands all it may at once, and cuts at the declared size only afterwards
            with archive.open(info) as file:
                data = b"".join(iter(lambda file=file: file.read(_PIECE), b""))  # type: ignore[misc]
            yield Member(f"{path}: {_shown(info.filename)}", name, data)


def _check_zip(path: Path, infos: list[zipfile.ZipInfo], limits: Limits) -> None:
    """Judge a zip by its directory before anything is expanded."""
    if len(infos) > limits.n_members:
        raise UserError(f"{path}: {len(infos):,} members; at most {limits.n_members:,} are allowed")
    total = sum(info.file_size for info in infos)
    if total > limits.total_bytes:
        raise UserError(f"{path}: expands to {total:,} bytes; at most {limits.total_bytes:,} are allowed")
    for info in infos:
        if stat.S_ISLNK(info.external_attr >> 16):
            _refuse(path, info.filename, "is a link")
        if info.flag_bits & 1 or info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            _refuse(path, info.filename, "is encrypted or packed in another way than deflate")
        if info.file_size > limits.member_bytes:
            _refuse(path, info.filename, _too_large(info.file_size, limits))
        if info.file_size > max(RATIO_FLOOR, limits.ratio * info.compress_size):
            _refuse(path, info.filename, f"expands more than {limits.ratio:g} times")


class _CappedReader:
    """A stream that raises as soon as it has delivered more than the limits allow.

    The cap stands below tarfile: a tar's own headers can be as large as any member.
    """

    def __init__(self, raw: IO[bytes], path: Path, limits: Limits) -> None:
        self._raw, self._path = raw, path
        self._cap = int(min(limits.total_bytes, max(RATIO_FLOOR, limits.ratio * path.stat().st_size)))
        self.n_read = 0
        self.tail = b""

    def read(self, size: int) -> bytes:
        """Read on, counting the bytes."""
        block = self._raw.read(size)
        self.n_read += len(block)
        if self.n_read > self._cap:
            raise UserError(f"{self._path}: expands beyond {self._cap:,} bytes; the archive is refused")
        self.tail = (self.tail + block)[-512:]
        return block


def _tar_members(
    path: Path, opener: Callable[..., Any], wanted: Callable[[str], bool], limits: Limits
) -> Iterator[Member]:
    n_members = 0
    with opener(path, "rb") as raw:
        reader = _CappedReader(raw, path, limits)
        with tarfile.open(fileobj=reader, mode="r|") as archive:  # type: ignore[call-overload]
            while (info := archive.next()) is not None:
                archive.members.clear()  # tarfile would keep a header of every member
                n_members += 1
                if n_members > limits.n_members:
                    raise UserError(f"{path}: more than {limits.n_members:,} members; no more are allowed")
                name = _check_name(path, info.name)
                if info.isdir():
                    continue
                if not info.isreg() or info.issparse():
                    _refuse(path, info.name, "is a link, a device or a sparse file")
                if info.size > limits.member_bytes:
                    _refuse(path, info.name, _too_large(info.size, limits))
                if not name.startswith(".") and wanted(name):
                    yield Member(f"{path}: {_shown(info.name)}", name, _read_member(archive, info))
        _check_end(path, reader)


def _read_member(archive: tarfile.TarFile, info: tarfile.TarInfo) -> bytes:
    file = archive.extractfile(info)
    data = file.read() if file is not None else b""
    if len(data) != info.size:
        raise EOFError(f"{info.name} ends early")
    return data


def _check_end(path: Path, reader: _CappedReader) -> None:
    """Refuse a tar that stops before its closing zeros: tarfile takes a broken header for the end."""
    rest = any(block.strip(b"\0") for block in iter(lambda: reader.read(_PIECE), b""))
    if rest or reader.tail.strip(b"\0"):
        raise UserError(f"{path}: cannot be read; is it damaged or truncated? (no end mark)")
