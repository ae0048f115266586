"""The objects of a JSON file, one held at a time: a line each (JSON Lines), or the items of one array."""

import codecs
import functools
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from harness.corpora.opening import MAX_LINE_BYTES, Limits, open_checked, read_files
from harness.errors import refusal

MAX_RATIO = 1_100
"""Gzip reaches 1,032 on zeros, and a file that is read piece by piece cannot fill the memory."""
PACKED = Limits(member_bytes=2**29, total_bytes=2**40, ratio=1_000, n_members=1_000_000)
"""Few files of a zip of JSON are read; the others are transcripts, which compress very well."""
_PIECE = 2**20
_BLANK = re.compile(r"[ \t\r\n]*")
AS_TEXT: dict[str, Any] = {
    "parse_float": str,
    "parse_int": str,
    "parse_constant": lambda name: None if name == "NaN" else name,
}


def read_objects(
    path: Path, where: str, numbers_as_text: bool = False, max_object: int = 0
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each object with its place, as "line 3" or "item 3".

    With `numbers_as_text` numbers stay as they are written, and NaN is None; with `max_object` a file that
    is no array is read as one object of at most that many characters. Raises UserError if something is no
    JSON, no object, too deep, longer than 2**26 characters, or names a key twice.
    """
    pieces, start = _pieces(path), ""
    for piece in pieces:
        start += piece
        if start.strip():
            break
    decoder = json.JSONDecoder(object_pairs_hook=_object, **AS_TEXT if numbers_as_text else {})
    lines = functools.partial(_read_whole, most=max_object) if max_object else _read_lines
    read = _read_array if start.lstrip().startswith("[") else lines
    place = "its beginning"
    try:
        for place, value in read(start, pieces, decoder):
            if not isinstance(value, dict):
                shown = json.dumps(value).replace('"', "")[:40]
                raise refusal("tables.no_object", where=where, place=place, shown=shown)
            yield place, value
    except RecursionError as error:
        raise refusal("tables.too_deep", where=where, place=place) from error
    except UnicodeError as error:
        raise refusal("tables.no_utf8", where=where, place=place, error=error) from error
    except ValueError as error:
        raise refusal("tables.damaged", where=where, error=error) from error


def read_packed(path: Path, where: str, names: Sequence[str]) -> list[Any]:
    """Return what the JSON files of these names in a zip hold, None of one that is not there."""
    found = {member.name: member.data for member in read_files(path, names.__contains__, PACKED)}
    try:
        return [json.loads(found.get(name, b"null")) for name in names]
    except (ValueError, RecursionError) as error:
        raise refusal("tables.no_json", where=where, error=error) from error


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"an object has {twice[:40]!r} twice; names must differ")
    return found


def _pieces(path: Path) -> Iterator[str]:
    """Yield the text of a file piece by piece, the last one ending a line."""
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    with closing(open_checked(path, max_ratio=MAX_RATIO)) as stream:
        while data := stream.read(_PIECE):
            yield decoder.decode(data)
    yield decoder.decode(b"", final=True) + "\n"


def _read_whole(
    text: str, pieces: Iterator[str], decoder: json.JSONDecoder, most: int
) -> Iterator[tuple[str, Any]]:
    text += "".join(_take(pieces, most))
    try:
        yield "the file", decoder.decode(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not JSON, or longer than {most:,} characters ({error})") from error


def _read_lines(text: str, pieces: Iterator[str], decoder: json.JSONDecoder) -> Iterator[tuple[str, Any]]:
    number, rest, more = 0, "", [text]
    while more:
        *lines, rest = (rest + "".join(more)).split("\n")
        for line in lines:
            number += 1
            if line.strip():
                try:
                    yield f"line {number}", decoder.decode(line)
                except json.JSONDecodeError as error:
                    raise ValueError(f"line {number} is not JSON ({error})") from error
                except RecursionError as error:
                    raise ValueError(f"line {number} is not JSON of items (too deep)") from error
        if len(rest) > MAX_LINE_BYTES:
            raise ValueError(f"line {number + 1} is longer than {MAX_LINE_BYTES:,} characters")
        more = _take(pieces, len(rest))


def _take(pieces: Iterator[str], n_characters: int) -> list[str]:
    """Return pieces with at least so many characters: text that doubles is seldom parsed anew."""
    found = []
    for piece in pieces:
        found.append(piece)
        n_characters -= len(piece)
        if n_characters <= 0:
            break
    return found


def _read_array(text: str, pieces: Iterator[str], decoder: json.JSONDecoder) -> Iterator[tuple[str, Any]]:
    at, number = text.index("[") + 1, 0
    while True:
        at = _blanks(text, at)
        if text[at : at + 1] == "]" or not text[at:]:
            more = _take(pieces, 0)  # nothing may follow the ]
            if more:
                text, at = text[at:] + "".join(more), 0
                continue
            if text[at:].strip() != "]":
                raise ValueError(f"its array {'goes on after ]' if text[at:] else 'has no end'}")
            return
        if number and text[at] == ",":
            at = _blanks(text, at + 1)
        elif number:
            raise ValueError(f"item {number} is followed by {text[at : at + 20]!r}; a comma or ] is needed")
        try:
            if not text[at:]:
                raise json.JSONDecodeError("no item", text, at)  # as an item that is cut off
            value, end = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            more = _take(pieces, len(text) - at) if len(text) - at <= MAX_LINE_BYTES else []
            if not more:
                raise ValueError(f"item {number + 1} is not JSON ({error.msg}), or too long") from error
            # the comma that the next turn looks for is put back
            text, at = ("," if number else "") + text[at:] + "".join(more), 0
            continue
        number += 1
        yield f"item {number}", value
        at = end
        if at > _PIECE:
            text, at = text[at:], 0


def _blanks(text: str, at: int) -> int:
    """Return where the blanks after `at` end."""
    return _BLANK.match(text, at).end()  # type: ignore[union-attr]  # it matches everywhere
