"""Open corpus files, folders and archives so that a damaged or hostile one ends in a sentence.

Nothing is written to disk: members come as bytes, so a hostile name cannot reach another file. Names that
try are refused all the same, with links, devices, encrypted members and archives that expand beyond
`Limits`: they are no corpus.
"""

import bz2
import gzip
import io
import lzma
import os
import re
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO, NamedTuple, NoReturn

from harness.errors import UserError

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
}
_DAMAGE = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile)


class _Guarded(io.RawIOBase):
    """Counts what comes out of a decompressor, and turns its exceptions into sentences."""

    def __init__(self, path: Path, max_bytes: int, max_ratio: float, slack: int):
        self._path = path
        self._n_read = 0
        kind = _kind(path)
        self._stream: BinaryIO = _KINDS[kind][1](path, "rb") if kind else path.open("rb")
        by_ratio = path.stat().st_size * max_ratio + slack if kind else max_bytes
        self._limit = min(max_bytes, by_ratio)
        self._reason = f"{max_ratio:g} times its size" if by_ratio < max_bytes else f"{max_bytes:,} bytes"

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer; return how many bytes there were."""
        try:
            data = self._stream.read(len(buffer))
        except _DAMAGE as error:
            raise UserError(f"{self._path}: the compressed file is truncated or damaged ({error})") from error
        except OSError as error:  # bz2 has no exception of its own
            raise UserError(f"{self._path}: cannot be read to its end ({error})") from error
        self._n_read += len(data)
        if self._n_read > self._limit:
            raise UserError(f"{self._path}: expands beyond {self._reason}; no corpus file may")
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed and hasattr(self, "_stream"):
            self._stream.close()
        super().close()


def _kind(path: Path) -> str:
    """Return the compression that the file's first bytes show ("" for none)."""
    with path.open("rb") as file:
        head = file.read(6)
    kind = next((suffix for suffix, (magic, _) in _KINDS.items() if head.startswith(magic)), "")
    if path.suffix in _KINDS and path.suffix != kind:
        raise UserError(
            f"{path}: is named {path.suffix} but does not begin like such a file; "
            "download it again or rename it"
        )
    return kind


def open_checked(
    path: str | Path, *, max_bytes: int = MAX_BYTES, max_ratio: float = MAX_RATIO, slack: int | None = None
) -> io.BufferedReader:
    """Open a plain, gzip, bzip2 or xz file (told from its first bytes) for reading; the caller closes it.

    Reading from it raises UserError where the file is truncated or damaged, or expands beyond `max_bytes` or
    `max_ratio` times its size (with some slack, `SLACK_BYTES` by default).
    """
    path = Path(path)
    if not path.is_file():
        raise UserError(f"{path}: {'is not a regular file' if path.exists() else 'there is no such file'}")
    try:
        guarded = _Guarded(path, max_bytes, max_ratio, SLACK_BYTES if slack is None else slack)
        return io.BufferedReader(guarded, 2**20)
    except OSError as error:
        raise UserError(f"{path}: cannot be opened ({error.strerror or error})") from error


def read_blocks(
    path: str | Path, *, cut: bytes = b"\n", n_bytes: int = 8 * 2**20
) -> Iterator[tuple[int, bytes]]:
    r"""Yield blocks of about `n_bytes`, each with the number of its first line (from 1).

    A block ends after the newline of its last `cut`, which begins with a newline.
    """
    first_line, rest = 1, b""
    with closing(open_checked(path)) as stream:
        while data := stream.read(n_bytes):
            rest += data
            end = rest.rfind(cut) + 1
            if end == 0 and len(rest) > MAX_LINE_BYTES:
                limit = f"{MAX_LINE_BYTES:,} bytes"
                raise UserError(f"{path}, line {first_line}: a record is longer than {limit}")
            if end:
                yield first_line, rest[:end]
                first_line += rest.count(b"\n", 0, end)
                rest = rest[end:]
    if rest:
        yield first_line, rest


def check_lines(path: str | Path, first_line: int, block: bytes, line: bytes, form: str) -> None:
    """Refuse a block with a line that does not match the pattern `line`, which must be possessive.

    One pattern goes over the whole block: without backtracking its time is linear in the bytes.
    """
    if re.fullmatch(rb"(?:" + line + rb"\n)*+(?:" + line + rb")?+", block):
        return
    for number, text in enumerate(block.split(b"\n"), start=first_line):
        if not re.fullmatch(line, text):
            raise UserError(f"{path}, line {number}: {shorten(text)} is not of the form {form}")


def line_of_record(path: str | Path, record: int) -> int:
    """Return the number (from 1) of the line that holds a record (from 0); blank lines are no records."""
    with closing(open_checked(path)) as stream:
        numbers = [number for number, line in enumerate(stream, start=1) if line.strip()]
    return numbers[record]


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

ARCHIVE_SUFFIXES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")
"""Endings of the archives that :func:`read_files` opens."""


class Member(NamedTuple):
    """One file: `where` names it in messages (archive included), `name` is its base name."""

    where: str
    name: str
    data: bytes


@dataclass(frozen=True)
class Limits:
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
    path: str | Path,
    wanted: Callable[[str], bool],
    *,
    nested: tuple[str, ...] = (),
    limits: Limits | None = None,
) -> Iterator[Member]:
    """Yield the files below a folder or in an archive whose base name is wanted, one in memory at a time.

    Folders and zips are read in natural order of their names, a tar in its own order (it is a stream); of the
    archives in a folder those whose names end as `nested` says are opened. Links to files of a folder are
    followed, links to folders are not. Names that begin with a dot are skipped (desktop systems leave such
    files behind). What is damaged, hostile or beyond `limits` raises UserError.
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
    if not name.endswith(ARCHIVE_SUFFIXES):
        raise UserError(f"{path}: a folder or an archive is needed ({', '.join(ARCHIVE_SUFFIXES)})")
    read = _zip_members if name.endswith(".zip") else _tar_members
    try:
        yield from read(path, wanted, limits)
    except (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, OSError) as error:
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


class _Tail:
    """A stream that remembers the last block which was read of it."""

    def __init__(self, raw: IO[bytes]) -> None:
        self._raw, self.last = raw, b""

    def read(self, size: int) -> bytes:
        """Read on."""
        block = self._raw.read(size)
        self.last = (self.last + block)[-512:]
        return block


def _tar_members(path: Path, wanted: Callable[[str], bool], limits: Limits) -> Iterator[Member]:
    n_members = 0
    # the cap stands below tarfile: a tar's own headers can be as large as any member
    with open_checked(path, max_bytes=limits.total_bytes, max_ratio=limits.ratio, slack=RATIO_FLOOR) as raw:
        stream = _Tail(raw)
        with tarfile.open(fileobj=stream, mode="r|") as archive:  # type: ignore[call-overload]
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
        # tarfile takes a broken header for the end; a whole tar closes with zeros
        rest = any(block.strip(b"\0") for block in iter(lambda: stream.read(_PIECE), b""))
        if rest or stream.last.strip(b"\0"):
            raise UserError(f"{path}: cannot be read; is it damaged or truncated? (no end mark)")


def _read_member(archive: tarfile.TarFile, info: tarfile.TarInfo) -> bytes:
    file = archive.extractfile(info)
    data = file.read() if file is not None else b""
    if len(data) != info.size:
        raise EOFError(f"{info.name} ends early")
    return data
