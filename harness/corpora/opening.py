"""Open corpus files, folders and archives so that a damaged or hostile one ends in a sentence.

Nothing is written to disk: members come as bytes, so a hostile name cannot reach another file. Names that
try are refused all the same, with links, devices, encrypted members and archives that expand beyond
`Limits`: they are no corpus.
"""

import bz2
import gzip
import importlib
import io
import lzma
import os
import re
import stat
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import IO, Any, BinaryIO, NamedTuple, NoReturn, cast

from harness.errors import UserError
from harness.runtime.talk import bar

MAX_BYTES = 32 * 2**30
MAX_RATIO = 200
"""Text shrinks 3 to 20 times; an archive made to exhaust a machine, a thousand times and more."""
SLACK_BYTES = 16 * 2**20
"""Small files may exceed the ratio by this much: a short repetitive file harms nobody."""
MAX_LINE_BYTES = 64 * 2**20

_KINDS: dict[str, tuple[bytes, Any]] = {
    ".gz": (b"\x1f\x8b", gzip.open),
    ".bz2": (b"BZh", bz2.open),
    ".xz": (b"\xfd7zXZ\x00", lzma.open),
    "": (b"", open),
}


class _Guarded(io.RawIOBase):
    """Counts what comes out of a decompressor, keeps its `tail`, and turns its exceptions into sentences."""

    def __init__(self, path: Path, stream: BinaryIO, limit: float, limit_said: str) -> None:
        self._path, self._stream, self._limit, self._limit_said = path, stream, limit, limit_said
        self._n_read, self.tail = 0, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer; return how many bytes there were."""
        try:
            data = self._stream.read(len(buffer))
        except (EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, OSError) as error:
            raise UserError(f"{self._path}: cannot be read, is truncated or damaged ({error})") from error
        self._n_read += len(data)
        if self._n_read > self._limit:
            raise UserError(f"{self._path}: expands beyond {self._limit_said}; no corpus file may")
        self.tail = (self.tail + data)[-512:]
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._stream.close()
        super().close()


def open_checked(
    path: str | Path, *, max_bytes: int = MAX_BYTES, max_ratio: float = MAX_RATIO, slack: int = SLACK_BYTES
) -> io.BufferedReader:
    """Open a plain, gzip, bzip2 or xz file (told from its first bytes) for reading; the caller closes it.

    Reading from it raises UserError where the file is truncated or damaged, or expands beyond `max_bytes` or
    `max_ratio` times its size and some `slack`.
    """
    path = Path(path)
    if not path.is_file():
        raise UserError(f"{path}: {'is not a regular file' if path.exists() else 'there is no such file'}")
    try:
        with path.open("rb") as file:
            head = file.read(6)
        kind = next(suffix for suffix, (magic, _) in _KINDS.items() if head.startswith(magic))
        by_ratio = path.stat().st_size * max_ratio + slack if kind else max_bytes
        if path.suffix in _KINDS and path.suffix != kind:
            wrong = f"is named {path.suffix} but does not begin like such a file"
            raise UserError(f"{path}: {wrong}; download it again or rename it")
        said = f"{max_ratio:g} times its size" if by_ratio < max_bytes else f"{max_bytes:,} bytes"
        stream = _KINDS[kind][1](path, "rb")
    except OSError as error:
        raise UserError(f"{path}: cannot be opened ({error.strerror or error})") from error
    return io.BufferedReader(_Guarded(path, stream, min(max_bytes, by_ratio), said), 2**20)


def read_lines(path: str | Path) -> Iterator[tuple[int, bytes]]:
    """Yield a file's lines with their numbers, from 1; one beyond `MAX_LINE_BYTES` is refused."""
    path = Path(path)
    opened = _only_member(path) if path.suffix == ".zip" else open_checked(path)
    with closing(opened) as stream, _bar_of(path) as shown:
        number = 0
        while line := stream.readline(MAX_LINE_BYTES + 1):
            number += 1
            shown.update(len(line))
            if len(line) > MAX_LINE_BYTES:
                raise UserError(f"{path}, line {number}: is longer than {MAX_LINE_BYTES:,} bytes")
            yield number, line


def _only_member(path: Path) -> io.BufferedReader:
    """Open the one file of a zip, which may expand as far as other packed files may."""
    limits = Limits(MAX_BYTES, MAX_BYTES, MAX_RATIO)
    try:
        archive = zipfile.ZipFile(path)
        entries = [_zip_entry(archive, info, limits) for info in archive.infolist() if not info.is_dir()]
        if len(entries) != 1:
            raise UserError(f"{path}: holds {len(entries)} files; a zip of one file is needed")
        _check_entry(path, entries[0], 1, limits)
        stream = entries[0].open()
    except (zipfile.BadZipFile, OSError, RuntimeError) as error:
        raise UserError(f"{path}: cannot be opened as a zip ({error})") from error
    return io.BufferedReader(_Guarded(path, stream, MAX_BYTES, f"{MAX_BYTES:,} bytes"), 2**20)


def _bar_of(path: Path) -> Any:
    """Return the bar of a file's bytes; how many a packed one holds is not known."""
    packed = path.suffix in [*filter(None, _KINDS), ".zip"]
    size = None if packed else path.stat().st_size
    return bar(f"reading {path.name}", total=size, unit="B", unit_scale=True, delay=2)


def match_lines(
    path: str | Path, pattern: re.Pattern[bytes], form: str
) -> Iterator[tuple[int, re.Match[bytes]]]:
    """Yield the number and the match of each line that is not blank; a line of another form is refused.

    The pattern must be possessive: without backtracking its time is linear in the bytes.
    """
    for number, line in read_lines(path):
        content = line.strip(b" \t\r\n")
        match = pattern.fullmatch(content)
        if match is not None:
            yield number, match
        elif content:
            raise UserError(f"{path}, line {number}: {shorten(line)} is not of the form {form}")


def shorten(line: bytes, width: int = 60) -> str:
    """Return a line for a message: at most `width` characters, no control characters.

    Examples
    --------
    >>> shorten(b"GCAT 7 one of many", width=9)
    "'GCAT 7...'"
    """
    text = line.decode("utf-8", "replace").strip()
    text = "".join(c if c.isprintable() else "?" for c in text)
    return repr(text if len(text) <= width else text[: width - 3] + "...")


RATIO_FLOOR = 1 << 20
"""Bytes below which the expansion ratio is not looked at: a short repetitive file compresses very well."""

_PIECE = 1 << 16

_SMALL_PIECE = 1 << 12
"""zipfile hands so many packed bytes to zstandard and takes all they expand to: 128 MiB at most."""

ZSTANDARD = 93  # zipfile.ZIP_ZSTANDARD, from Python 3.14 on
_PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, ZSTANDARD)

ZIP_SUFFIXES = (".zip", ".eval")
ARCHIVE_SUFFIXES = (*ZIP_SUFFIXES, ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")
"""Endings of the archives that :func:`read_files` opens."""


class Member(NamedTuple):
    """One file: `where` names it in messages (archive included), `name` is its base name."""

    where: str
    name: str
    data: bytes


class Limits(NamedTuple):
    """What one archive may hold; one that holds more is refused.

    `member_bytes` bounds one file (plain files of a folder too), `total_bytes` all members, wanted or not;
    `ratio` is expanded over packed size (deflate can reach 1032, text stays below 20).
    """

    member_bytes: int = 16 << 20
    total_bytes: int = 1 << 30
    ratio: float = 100.0
    n_members: int = 200_000


def natural_key(name: str) -> str:
    """Return a sort key that puts ``2newsML.xml`` before ``10newsML.xml``."""
    return re.sub(r"\d+", lambda digits: digits[0].zfill(20), name)


def read_files(
    path: str | Path, wanted: Callable[[str], bool], limits: Limits, nested: tuple[str, ...] = ()
) -> Iterator[Member]:
    """Yield the files below a folder or in an archive whose base name is wanted, one in memory at a time.

    Folders and zips are read in natural order of their names, a tar in its own order (it is a stream); of the
    archives in a folder those whose names end as `nested` says are opened. Links to files of a folder are
    followed, links to folders are not. Names that begin with a dot are skipped (desktop systems leave such
    files behind). What is damaged, hostile or beyond `limits` raises UserError.
    """
    root = Path(path).expanduser()
    if not root.exists():
        raise UserError(f"{root}: no such file or folder")
    if not root.is_dir():
        yield from _read_archive(root, wanted, limits)
        return
    for folder, folders, names in os.walk(root, onerror=_refuse_folder):
        folders.sort(key=natural_key)
        for name in sorted(names, key=natural_key):
            file = Path(folder, name)
            if name.lower().endswith(nested) and not name.startswith("."):
                yield from _read_archive(file, wanted, limits)
            elif wanted(name) and not name.startswith("."):
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


class _Entry(NamedTuple):
    """A member of an archive before it is read; `wrong` says why it may not be, if so."""

    name: str
    size: int
    is_folder: bool
    wrong: str
    open: Callable[[], Any]


def _read_archive(path: Path, wanted: Callable[[str], bool], limits: Limits) -> Iterator[Member]:
    name = path.name.lower()
    if not name.endswith(ARCHIVE_SUFFIXES):
        raise UserError(f"{path}: a folder or an archive is needed ({', '.join(ARCHIVE_SUFFIXES)})")
    entries = (_zip_entries if name.endswith(ZIP_SUFFIXES) else _tar_entries)(path, limits)
    try:
        for n_members, entry in enumerate(entries, start=1):
            base = _check_entry(path, entry, n_members, limits)
            if not entry.is_folder:
                with entry.open() as file:  # a zip's compares the name here with that in its directory
                    if wanted(base) and not base.startswith("."):
                        yield Member(f"{path}: {_shown(entry.name)}", base, _read_member(file, entry))
    except _damage() as error:
        reason = str(error) or type(error).__name__
        raise UserError(f"{path}: cannot be read; is it damaged or truncated? ({reason})") from error


def _damage() -> tuple[type[Exception], ...]:
    """Return what a damaged archive raises: a zip may claim a version or a method that zipfile lacks."""
    loaded = [sys.modules[name] for name in ("zstandard", "compression.zstd") if name in sys.modules]
    known = (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, OSError, ValueError, RuntimeError)
    return (*known, *(module.ZstdError for module in loaded))


def _check_entry(path: Path, entry: _Entry, n_members: int, limits: Limits) -> str:
    """Return the base name of a member that may be read; refuse the archive where it may not."""
    wrong, parts = entry.wrong, entry.name.replace("\\", "/").split("/")
    if parts[0] == "" or ".." in parts or re.match("[A-Za-z]:", entry.name) or "\0" in entry.name:
        wrong = "has a path that leaves the archive"
    elif n_members > limits.n_members:
        wrong = f"is one too many ({limits.n_members:,} are allowed)"
    elif entry.size > limits.member_bytes:
        wrong = f"expands to {entry.size:,} bytes (at most {limits.member_bytes:,} are allowed)"
    if wrong:
        raise UserError(f"{path}: member {entry.name[:80]!r} {wrong}; the archive is refused")
    return parts[-1]


def _read_member(file: IO[bytes], entry: _Entry) -> bytes:
    # in pieces: zipfile expands all it may at once, and cuts at the declared size only afterwards
    data = b"".join(iter(partial(file.read, _SMALL_PIECE), b""))
    if len(data) != entry.size:
        raise EOFError(f"{entry.name} ends early")
    return data


def _zip_entries(path: Path, limits: Limits) -> Iterator[_Entry]:
    """Yield the members in natural order; a zip too large by its own directory is refused before any."""
    with zipfile.ZipFile(path) as archive:
        infos = archive.infolist()
        total = sum(info.file_size for info in infos)
        if total > limits.total_bytes:
            raise UserError(f"{path}: expands to {total:,} bytes; at most {limits.total_bytes:,} are allowed")
        for info in sorted(infos, key=lambda info: natural_key(info.filename)):
            yield _zip_entry(archive, info, limits)


def _zip_entry(archive: zipfile.ZipFile, info: zipfile.ZipInfo, limits: Limits) -> _Entry:
    wrong = ""
    if stat.S_ISLNK(info.external_attr >> 16):
        wrong = "is a link"
    elif info.compress_type == ZSTANDARD and not _unpacks_zstandard():
        wrong = "is packed by zstandard; the package zipfile-zstd, or Python 3.14, reads it"
    elif info.flag_bits & 1 or info.compress_type not in _PACKINGS:
        wrong = "is encrypted or packed in another way than deflate or zstandard"
    elif info.file_size > max(RATIO_FLOOR, limits.ratio * info.compress_size):
        wrong = f"expands more than {limits.ratio:g} times"
    return _Entry(info.filename, info.file_size, info.is_dir(), wrong, partial(archive.open, info))


def _unpacks_zstandard() -> bool:
    """Return whether zipfile can; on import the package zipfile_zstd teaches an older Python's."""
    if not hasattr(zipfile, "ZIP_ZSTANDARD"):
        with suppress(ImportError):
            importlib.import_module("zipfile_zstd")
    return hasattr(zipfile, "ZIP_ZSTANDARD")


def _tar_entries(path: Path, limits: Limits) -> Iterator[_Entry]:
    # the cap stands below tarfile: a tar's own headers can be as large as any member
    with open_checked(
        path, max_bytes=limits.total_bytes, max_ratio=limits.ratio, slack=RATIO_FLOOR
    ) as stream:
        with tarfile.open(fileobj=stream, mode="r|") as archive:
            while (info := archive.next()) is not None:
                archive.members.clear()  # type: ignore[attr-defined]  # it would keep each header
                is_file = info.isdir() or (info.isreg() and not info.issparse())
                wrong = "" if is_file else "is a link, a device or a sparse file"
                yield _Entry(info.name, info.size, info.isdir(), wrong, partial(archive.extractfile, info))
        # tarfile takes a broken header for the end; a whole tar closes with zeros
        rest = any(block.strip(b"\0") for block in iter(partial(stream.read, _PIECE), b""))
        if rest or cast("_Guarded", stream.raw).tail.strip(b"\0"):
            raise UserError(f"{path}: cannot be read; is it damaged or truncated? (no end mark)")
