"""Open a corpus file, plain or compressed, so that a damaged or hostile one ends in a sentence."""

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, BinaryIO

from harness.errors import UserError

MAX_BYTES = 32 * 2**30
MAX_RATIO = 200
"""Text shrinks 3 to 20 times; an archive made to exhaust a machine, a thousand times and more."""
SLACK_BYTES = 16 * 2**20
"""Small files may exceed the ratio by this much: a short repetitive file harms nobody."""
MAX_LINE_BYTES = 64 * 2**20

_MAGIC = {".gz": b"\x1f\x8b", ".bz2": b"BZh", ".xz": b"\xfd7zXZ\x00"}
_DAMAGE = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile)


class _Guarded(io.RawIOBase):
    """Counts what comes out of a decompressor, and turns its exceptions into sentences."""

    def __init__(self, path: Path, max_bytes: int, max_ratio: float):
        self._path = path
        self._n_read = 0
        kind = _kind(path)
        openers: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
        self._stream: BinaryIO = openers.get(kind, open)(path, "rb")
        by_ratio = path.stat().st_size * max_ratio + SLACK_BYTES if kind else max_bytes
        self._limit = min(max_bytes, by_ratio)
        self._reason = f"{max_ratio:g} times its size" if by_ratio < max_bytes else f"{max_bytes:,} bytes"

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:
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
    kind = next((suffix for suffix, magic in _MAGIC.items() if head.startswith(magic)), "")
    if path.suffix in _MAGIC and path.suffix != kind:
        raise UserError(
            f"{path}: is named {path.suffix} but does not begin like such a file; "
            "download it again or rename it"
        )
    return kind


def open_checked(
    path: str | Path, *, max_bytes: int = MAX_BYTES, max_ratio: float = MAX_RATIO
) -> io.BufferedReader:
    r"""Open a plain, gzip, bzip2 or xz file for reading bytes.

    Parameters
    ----------
    path : str or pathlib.Path
        The compression is told from the first bytes; a name that promises another one is refused.
    max_bytes : int
        Bytes that may come out of the file.
    max_ratio : float
        Expanded bytes allowed for each byte of a compressed file (beyond the first 16 MiB).

    Returns
    -------
    io.BufferedReader
        To be closed by the caller. Reading from it raises UserError where the file is truncated,
        damaged, or expands beyond the limits.

    Raises
    ------
    UserError
        If the file is missing, is not a regular file, cannot be read, or is not what its name says.

    Examples
    --------
    >>> import gzip, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "a.gz"
    ...     _ = file.write_bytes(gzip.compress(b"two\nlines\n"))
    ...     with open_checked(file) as stream:
    ...         stream.readlines()
    [b'two\n', b'lines\n']
    """
    path = Path(path)
    if not path.is_file():
        raise UserError(f"{path}: {'is not a regular file' if path.exists() else 'there is no such file'}")
    try:
        return io.BufferedReader(_Guarded(path, max_bytes, max_ratio), 2**20)
    except OSError as error:
        raise UserError(f"{path}: cannot be opened ({error.strerror or error})") from error


def read_blocks(
    path: str | Path, *, cut: bytes = b"\n", n_bytes: int = 8 * 2**20
) -> Iterator[tuple[int, bytes]]:
    r"""Read a text file in blocks that end where a record ends.

    Parameters
    ----------
    path : str or pathlib.Path
    cut : bytes
        Begins with a newline; a block ends after the newline of its last `cut`.
    n_bytes : int
        About how long a block is.

    Yields
    ------
    (int, bytes)
        The number of the block's first line (from 1), and the block.

    Raises
    ------
    UserError
        As :func:`open_checked`; and if a record is longer than 64 MiB.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "a"
    ...     _ = file.write_bytes(b"1\n2\n3")
    ...     list(read_blocks(file, n_bytes=3))
    [(1, b'1\n'), (2, b'2\n'), (3, b'3')]
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


def line_of_record(path: str | Path, record: int) -> int:
    """Return the number (from 1) of the line that holds a record, blank lines not being records.

    Parameters
    ----------
    path : str or pathlib.Path
    record : int
        Index of the record, from 0.
    """
    n_seen = 0
    with closing(open_checked(path)) as stream:
        for number, line in enumerate(stream, start=1):
            if line.strip():
                if n_seen == record:
                    return number
                n_seen += 1
    raise ValueError(f"record: {record} is not allowed; {path} has {n_seen}")


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
