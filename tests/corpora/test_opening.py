"""Compressed files and archives: what is read of them; those made to exhaust a machine, and damaged ones.

Plain text that is cut at the end of a line is a shorter file, which nothing can tell. A packed file that is
cut can always be told, but for one of several gzip members that is cut between two of them.
"""

import bz2
import gzip
import io
import lzma
import os
import random
import re
import struct
import subprocess
import sys
import tarfile
import zipfile
import zlib

import pytest
from refusal import refusal

from harness.corpora import opening
from harness.corpora.opening import Limits, open_checked, read_files, read_lines
from harness.errors import UserError, sentence

PROGRAM = """
import resource, sys
from pathlib import Path
resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
from harness.corpora.rcv1_xml import load_rcv1_xml
from harness.corpora.reuters21578 import load_reuters21578
from harness.corpora.svmlight import load_svmlight
from harness.errors import UserError, sentence
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
loaders = {"news": load_rcv1_xml, "reuters": load_reuters21578, "svmlight": load_svmlight}
for line in sys.stdin:
    loader, path = line.split()
    path = Path(path)
    try:
        loaders[loader](path)
    except UserError as error:
        print("refused", path.name, sentence(error), flush=True)
    except BaseException as error:
        print("FAILED", path.name, type(error).__name__, str(error)[:200], flush=True)
    else:
        print("LOADED", path.name, flush=True)
"""
OPENERS = {".tar": open, ".tar.gz": gzip.open, ".tgz": gzip.open, ".tar.bz2": bz2.open, ".tar.xz": lzma.open}
PACKERS = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
MIB = 1 << 20


def zip_of(path, members, packing=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", packing) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return path


def tar_of(path, members, opener=open):
    with opener(path, "wb") as raw, tarfile.open(fileobj=raw, mode="w") as archive:
        for name, content in members:
            info = name if isinstance(name, tarfile.TarInfo) else tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


def pax_bomb(path):
    """Write a tar whose header is the bomb."""
    info = tarfile.TarInfo("a.sgm")
    info.pax_headers = {"comment": "x" * (8 * MIB)}
    with gzip.open(path, "wb") as raw, tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as tar:
        tar.addfile(info)


def lie(path, true_size, told):
    """Write a zip whose directory tells another size than its member has."""
    zip_of(path, [("1.xml", bytes(true_size))])
    path.write_bytes(path.read_bytes().replace(struct.pack("<L", true_size), struct.pack("<L", told)))


def overlapping(path):
    """Write a zip whose many members are the same bytes, as David Fifield's does."""
    kernel = zlib.compressobj(9, zlib.DEFLATED, -15)
    data = kernel.compress(bytes(9 * MIB)) + kernel.flush()
    crc, size = zlib.crc32(bytes(9 * MIB)), 9 * MIB
    local = struct.pack("<4s5H3L2H", b"PK\3\4", 20, 0, 8, 0, 0, crc, len(data), size, 5, 0) + b"1.xml" + data
    head = (b"PK\1\2", 20, 20, 0, 8, 0, 0, crc, len(data), size, 9, 0, 0, 0, 0, 0, 0)
    entries = b"".join(struct.pack("<4s6H3L5H2L", *head) + b"%05d.xml" % i for i in range(5000))
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 5000, 5000, len(entries), len(local), 0)
    path.write_bytes(local + entries + end)


def with_password(path):
    data = bytearray(zip_of(path, [("1.xml", "x" * 100)]).read_bytes())
    data[data.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(data)


def laughs(n):
    entities = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, n))
    return f'<!DOCTYPE a [<!ENTITY l0 "ha">{entities}]><newsitem itemid="1">&l{n - 1};</newsitem>'


def link(kind):
    info = tarfile.TarInfo(SGM)
    info.type, info.linkname = kind, "/etc/passwd"
    return info


ZIP_LINK = zipfile.ZipInfo("a.xml")
ZIP_LINK.external_attr = 0o120777 << 16
EXTERNAL = '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><newsitem itemid="1">&x;</newsitem>'
SGM = "reut2-000.sgm"
ITEM = '<newsitem itemid="1" date="1996-08-20"><text><p>{}</p></text></newsitem>'
ATTRIBUTES = "<newsitem " + " ".join(f'a{i}=""' for i in range(100_000)) + "/>"
LEAVING = ("../1.xml", "a/../../1.xml", "/etc/1.xml", "C:\\1.xml", "a\\..\\1.xml")
STORED = zipfile.ZIP_STORED


def news(name, members, said, packing=zipfile.ZIP_DEFLATED):
    return "news", name, lambda path: zip_of(path, members, packing), said


def sgml(name, members, said, opener=open):
    return "reuters", name, lambda path: tar_of(path, members, opener), said


def svm(name, content, said="expands beyond 200 times its size"):
    return "svmlight", name, lambda path: path.write_bytes(content()), said


BOMBS = [
    news("ratio.zip", [("1.xml", bytes(4 * MIB))], "expands more than 100 times"),
    news("large.zip", [("1.xml", bytes(20 * MIB))], "expands to 20,971,520 bytes"),
    ("news", "overlap.zip", overlapping, "expands to 47,185,920,000 bytes"),
    ("news", "lie.zip", lambda path: lie(path, 20 * MIB, 1000), "cannot be read"),
    ("news", "lie2.zip", lambda path: lie(path, 1000, 15 * MIB), "expands"),
    news("nested.zip", [("inner.zip", bytes(100))], "no NewsML file"),
    *(news(f"leaving{i}.zip", [(name, "x")], "leaves the archive") for i, name in enumerate(LEAVING)),
    news("lzma.zip", [("1.xml", "x")], "packed in another way", zipfile.ZIP_LZMA),
    ("news", "password.zip", with_password, "is encrypted"),
    news("link.zip", [(ZIP_LINK, "/etc/passwd")], "is a link"),
    news("laughs.zip", [("1.xml", laughs(12))], "DOCTYPE, entities"),
    news("external.zip", [("1.xml", EXTERNAL)], "DOCTYPE, entities"),
    news("deep.zip", [("1.xml", "<newsitem>" + "<a>" * 200_000)], "broken or wrongly", STORED),
    news("attributes.zip", [("1.xml", ATTRIBUTES)], "itemid", STORED),
    news(
        "wide.zip",
        [("1.xml", ITEM.format("ab " * 1_000_000)), ("2.xml", "x")],
        "2.xml, line 1: broken",
        STORED,
    ),
    *(
        sgml(f"ratio{suffix}", [(SGM, bytes(4 * MIB))], "expands beyond 100 times", opener)
        for suffix, opener in OPENERS.items()
        if opener is not open
    ),
    ("reuters", "header.tar.gz", pax_bomb, "expands beyond 100 times"),
    (
        "reuters",
        "zeros.tar.gz",
        lambda path: path.write_bytes(gzip.compress(bytes(9 * MIB))),
        "no end mark|b",
    ),
    *(sgml(f"leaving{i}.tar", [(name, b"x")], "leaves the archive") for i, name in enumerate(LEAVING)),
    *(
        sgml(f"link{kind.decode()}.tar", [(link(kind), b"")], "is a link, a device")
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE)
    ),
    sgml("many.tar", [(f"{i}.txt", b"") for i in range(1001)], "is one too many (1,000 are allowed)"),
    *(svm(f"zeros.svm{suffix}", lambda p=pack: p(bytes(24 * MIB))) for suffix, pack in PACKERS.items()),
    svm("members.svm.gz", lambda: gzip.compress(b"# none" + b" " * 240_000 + b"\n") * 120),
]


@pytest.mark.skipif(sys.platform != "linux", reason="the limits of memory are those of Linux")
def test_bombs(tmp_path):
    """All in one process, in 2 GiB and a minute: what one leaves behind, the next must do without."""
    for _, name, make, _ in BOMBS:
        make(tmp_path / name)
    asked = "".join(f"{loader} {tmp_path / name}\n" for loader, name, _, _ in BOMBS)
    command = [sys.executable, "-c", PROGRAM]
    answer = subprocess.run(command, input=asked, capture_output=True, text=True, timeout=300, check=False)
    lines = answer.stdout.splitlines()
    assert len(lines) == len(BOMBS), answer.stderr
    for line, (_, name, _, said) in zip(lines, BOMBS, strict=True):
        assert line.startswith(f"refused {name} {tmp_path}"), line
        assert any(text in line for text in said.split("|")), line


# ---- folders and archives


def read_all(path, nested=(), **limits):
    limits = Limits(**{"total_bytes": 1 << 30, "n_members": 1000} | limits)
    return [(member.where, member.data) for member in read_files(path, lambda _: True, limits, nested)]


def refused(path, match, read=read_all, **options):
    said = refusal(read, path, **options)
    assert re.search(match, said)
    assert str(path) in said


def test_folder_in_natural_order_without_hidden_files(tmp_path):
    (tmp_path / "sub").mkdir()
    for name in ("10.xml", "9.xml", "._9.xml", "sub/1.xml"):
        (tmp_path / name).write_text(name)
    assert [data for _, data in read_all(tmp_path)] == [b"9.xml", b"10.xml", b"sub/1.xml"]


@pytest.mark.parametrize("suffix", OPENERS)
def test_tar_of_every_kind(tmp_path, suffix):
    path = tar_of(tmp_path / f"a{suffix}", [("d/2.xml", b"two"), ("a\udcff\nb.xml", b"one")], OPENERS[suffix])
    shown = [(f"{path}: d/2.xml", b"two"), (f"{path}: 'a\\udcff\\nb.xml'", b"one")]
    assert read_all(path) == shown


def test_zip_alone_and_in_a_folder(tmp_path):
    path = zip_of(tmp_path / "a.zip", [("10.xml", "ten"), ("9.xml", "nine"), ("__MACOSX/._9.xml", "junk")])
    expected = [(f"{path}: 9.xml", b"nine"), (f"{path}: 10.xml", b"ten")]
    assert read_all(path) == expected
    assert read_all(tmp_path, nested=(".zip",)) == expected


def test_files_that_are_missing_unknown_or_too_large(tmp_path, monkeypatch):
    refused(tmp_path / "none", "no such file or folder")
    (tmp_path / "a.rar").write_bytes(b"Rar!")
    refused(tmp_path / "a.rar", "a folder or an archive is needed")
    refused(tmp_path, "4 bytes; at most 3 are allowed", member_bytes=3)
    (tmp_path / "a.xml").symlink_to(tmp_path / "gone")
    refused(tmp_path, r"a\.xml: not a regular file")

    def denied(folder):
        raise PermissionError(13, "Permission denied", str(folder))

    monkeypatch.setattr(os, "scandir", denied)
    refused(tmp_path, r"cannot be read \(Permission denied\)")


@pytest.mark.parametrize("suffix", [".zip", ".tar.xz"])
def test_limits_of_an_archive(tmp_path, suffix):
    path, members = tmp_path / f"a{suffix}", [(f"{i}.xml", bytes(2 * MIB)) for i in range(3)]
    zip_of(path, members) if suffix == ".zip" else tar_of(path, members, lzma.open)
    refused(path, "expands (beyond|more than) 100 times")
    refused(path, "expands to 2,097,152 bytes", member_bytes=MIB, ratio=1e9)
    refused(path, "expands (to 6,291,456|beyond 5,242,880) bytes", total_bytes=5 * MIB, ratio=1e9)
    refused(path, r"one too many \(2 are allowed\)", n_members=2, ratio=1e9)


# ---- compressed files


def read_whole(path, **options):
    with open_checked(path, **options) as stream:
        return stream.read()


@pytest.mark.parametrize("suffix", PACKERS)
def test_files_that_are_not_what_they_are_named_or_expand_beyond_reason(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    for junk in (b"<html>not found</html>", b""):
        path.write_bytes(junk)
        refused(path, f"is named {suffix} but", read_whole)
    path.write_bytes(PACKERS[suffix](b"7  1:0.5\n" * 100_000))
    refused(path, "expands beyond 200 times its size", read_whole, slack=0)
    refused(path, "expands beyond 1,000 bytes", read_whole, max_bytes=1000)


REFUSED = "cannot be read|damaged|such a file|is named|no end mark"


@pytest.mark.parametrize("suffix", [".zip", *OPENERS, *PACKERS])
def test_an_end_cut_off_is_refused_and_a_bit_flipped_changes_nothing_or_is(tmp_path, suffix):
    path, generator, read = tmp_path / f"a{suffix}", random.Random(1), read_all
    members = [(f"{i}.xml", generator.randbytes(30_000)) for i in range(3)]
    if suffix in PACKERS:  # two packed files, one after the other, are one
        packed, read = PACKERS[suffix](members[0][1]), read_whole
        path.write_bytes(packed * 2)
        assert read(path) == members[0][1] * 2
        path.write_bytes(packed)
    else:
        zip_of(path, members) if suffix == ".zip" else tar_of(path, members, OPENERS[suffix])
    data, whole = path.read_bytes(), read(path)
    last = len(data.rstrip(b"\0")) if suffix == ".tar" else len(data)
    places = range(last)
    if suffix == ".zip":  # the directory has no checksum
        places = range(data.find(b"PK\1\2"))
    elif suffix == ".tar":  # nothing but the headers: the second member's
        places = range(512 + 30_208, 1024 + 30_208)

    def damaged(changed):
        path.write_bytes(changed)
        try:
            return read(path)
        except UserError as error:
            told = sentence(error)
            return None if told.isprintable() and re.search(REFUSED, told) else told

    # the header of a member begins at 30,720
    for n in {
        0,
        1,
        100,
        min(30_720, last - 2),
        last // 2,
        last - 9,
        last - 1,
        *generator.choices(range(last), k=30),
    }:
        assert damaged(data[:n]) is None, n
    assert suffix not in PACKERS or damaged((data * 2)[:-1]) is None
    for at in generator.choices(places, k=30):
        flipped = bytearray(data)
        flipped[at] ^= 1 << generator.randrange(8)
        assert damaged(bytes(flipped)) in (whole, None), at


def test_endless_lines_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(opening, "MAX_LINE_BYTES", 1000)
    (tmp_path / "long").write_bytes(b"7  1:1\n" + b"9" * 5000)
    refused(tmp_path / "long", "line 2: is longer than 1,000 bytes", lambda path: list(read_lines(path)))


def test_open_checked_refuses_what_is_no_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", "/dev/zero"):
        refused(path, "not a regular file", open_checked)
    refused(tmp_path / "absent", "no such file", open_checked)
