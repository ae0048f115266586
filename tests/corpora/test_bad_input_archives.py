"""Archives made to exhaust a machine or to reach other files: refused within 2 GiB of memory, and soon."""

import bz2
import gzip
import io
import lzma
import struct
import subprocess
import sys
import tarfile
import zipfile
import zlib

import pytest

MEMORY = 2 << 30
SECONDS = 60
PROGRAM = """
import resource, sys
from pathlib import Path
resource.setrlimit(resource.RLIMIT_CPU, ({seconds}, {seconds}))
from harness.corpora.rcv1_xml import load_rcv1_xml
from harness.corpora.reuters21578 import load_reuters21578
from harness.corpora.svmlight import load_svmlight
from harness.corpora.lyrl import load_lyrl
from harness.errors import UserError, sentence
resource.setrlimit(resource.RLIMIT_AS, ({memory}, {memory}))
for line in sys.stdin:
    loader, path = line.split()
    path = Path(path)
    try:
        if loader == "news":
            load_rcv1_xml(path)
        elif loader == "reuters":
            load_reuters21578(path, complete=False)
        elif loader == "lyrl":
            load_lyrl(path)
        else:
            load_svmlight(path)
    except UserError as error:
        print("refused", path.name, sentence(error), flush=True)
    except BaseException as error:
        print("FAILED", path.name, type(error).__name__, str(error)[:200], flush=True)
    else:
        print("LOADED", path.name, flush=True)
"""


def zip_of(path, members, packing=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", packing) as archive:
        for name, content in members:
            archive.writestr(name, content)


def tar_of(path, members, opener=open):
    with opener(path, "wb") as raw, tarfile.open(fileobj=raw, mode="w") as archive:
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                archive.addfile(member)
            else:
                info = tarfile.TarInfo(member[0])
                info.size = len(member[1])
                archive.addfile(info, io.BytesIO(member[1]))


def zeros(path, opener, n_mib, before=b""):
    """Write a file that unpacks to so many MiB of zeros (or of the same line)."""
    block = before or bytes(1 << 20)
    with opener(path, "wb") as file:
        for _ in range(n_mib << 20 >> (len(block).bit_length() - 1)):
            file.write(block)


def lie(path, name, true_size, told):
    """Write a zip whose directory tells another size than its member has."""
    zip_of(path, [(name, bytes(true_size))])
    path.write_bytes(path.read_bytes().replace(struct.pack("<L", true_size), struct.pack("<L", told)))


def overlapping(path):
    """Write a zip whose many members are the same bytes, as David Fifield's does."""
    kernel = zlib.compressobj(9, zlib.DEFLATED, -15)
    data = kernel.compress(bytes(9 << 20)) + kernel.flush()
    crc, size = zlib.crc32(bytes(9 << 20)), 9 << 20
    local = struct.pack("<4s5H3L2H", b"PK\3\4", 20, 0, 8, 0, 0, crc, len(data), size, 5, 0) + b"1.xml" + data
    entries = b"".join(
        struct.pack(
            "<4s6H3L5H2L", b"PK\1\2", 20, 20, 0, 8, 0, 0, crc, len(data), size, len(name), 0, 0, 0, 0, 0, 0
        )
        + name
        for name in (f"{i:05}.xml".encode() for i in range(5000))
    )
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 5000, 5000, len(entries), len(local), 0)
    path.write_bytes(local + entries + end)


def laughs(n):
    entities = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, n))
    return f'<!DOCTYPE a [<!ENTITY l0 "ha">{entities}]><newsitem itemid="1">&l{n - 1};</newsitem>'


def link(kind, name, target):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


EXTERNAL = '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><newsitem itemid="1">&x;</newsitem>'
SGM = "reut2-000.sgm"
ITEM = '<newsitem itemid="{}" date="1996-08-20"><text><p>{}</p></text></newsitem>'

BOMBS = [
    ("news", "ratio.zip", lambda p: zip_of(p, [("1.xml", bytes(15 << 20))]), "expands more than 100 times"),
    ("news", "large.zip", lambda p: zip_of(p, [("1.xml", bytes(40 << 20))]), "expands to 41,943,040 bytes"),
    ("news", "overlap.zip", overlapping, "z.zip|expands"),
    ("news", "lie.zip", lambda p: lie(p, "1.xml", 30 << 20, 1000), "cannot be read"),
    ("news", "lie2.zip", lambda p: lie(p, "1.xml", 1000, 15 << 20), "expands|cannot be read"),
    (
        "news",
        "nested.zip",
        lambda p: (zip_of(p, [("1.xml", bytes(9 << 20))]), zip_of(p, [("inner.zip", p.read_bytes())])),
        "no NewsML file",
    ),
    ("news", "up.zip", lambda p: zip_of(p, [("../1.xml", "x")]), "leaves the archive"),
    ("news", "root.zip", lambda p: zip_of(p, [("/etc/1.xml", "x")]), "leaves the archive"),
    ("news", "drive.zip", lambda p: zip_of(p, [("C:\\1.xml", "x")]), "leaves the archive"),
    ("news", "lzma.zip", lambda p: zip_of(p, [("1.xml", "x")], zipfile.ZIP_LZMA), "packed in another way"),
    ("news", "laughs.zip", lambda p: zip_of(p, [("1.xml", laughs(12))]), "DOCTYPE, entities"),
    ("news", "external.zip", lambda p: zip_of(p, [("1.xml", EXTERNAL)]), "DOCTYPE, entities"),
    (
        "news",
        "deep.zip",
        lambda p: zip_of(p, [("1.xml", "<newsitem>" + "<a>" * 500_000)], zipfile.ZIP_STORED),
        "broken or wrongly encoded XML|document",
    ),
    (
        "news",
        "attributes.zip",
        lambda p: zip_of(
            p,
            [("1.xml", "<newsitem " + " ".join(f'a{i}=""' for i in range(100_000)) + "/>")],
            zipfile.ZIP_STORED,
        ),
        "itemid",
    ),
    (
        "news",
        "wide.zip",
        lambda p: zip_of(
            p, [("1.xml", ITEM.format(1, "ab " * 1_000_000)), ("2.xml", "x")], zipfile.ZIP_STORED
        ),
        "2.xml, line 1: broken",
    ),
    ("reuters", "ratio.tar.gz", lambda p: tar_of(p, [(SGM, bytes(15 << 20))], gzip.open), "expands beyond"),
    ("reuters", "ratio.tar.xz", lambda p: tar_of(p, [(SGM, bytes(15 << 20))], lzma.open), "expands beyond"),
    ("reuters", "ratio.tar.bz2", lambda p: tar_of(p, [(SGM, bytes(15 << 20))], bz2.open), "expands beyond"),
    ("reuters", "zeros.tar.gz", lambda p: zeros(p, gzip.open, 100), "expands beyond|no end mark|is missing"),
    ("reuters", "up.tar", lambda p: tar_of(p, [(f"../{SGM}", b"x")]), "leaves the archive"),
    ("reuters", "root.tar", lambda p: tar_of(p, [(f"/etc/{SGM}", b"x")]), "leaves the archive"),
    (
        "reuters",
        "link.tar",
        lambda p: tar_of(p, [link(tarfile.SYMTYPE, SGM, "/etc/passwd")]),
        "is a link, a device",
    ),
    ("reuters", "hard.tar", lambda p: tar_of(p, [link(tarfile.LNKTYPE, SGM, "a")]), "is a link, a device"),
    (
        "reuters",
        "device.tar",
        lambda p: tar_of(p, [link(tarfile.CHRTYPE, SGM, "")]),
        "is a link, a device",
    ),
    (
        "reuters",
        "many.tar.gz",
        lambda p: tar_of(p, [(f"{i}.txt", b"") for i in range(1500)], gzip.open),
        "more|b",
    ),
    ("svmlight", "zeros.svm.gz", lambda p: zeros(p, gzip.open, 100), "expands beyond 200 times its size"),
    ("svmlight", "zeros.svm.xz", lambda p: zeros(p, lzma.open, 100), "expands beyond 200 times its size"),
    ("svmlight", "zeros.svm.bz2", lambda p: zeros(p, bz2.open, 100), "expands beyond 200 times its size"),
    (
        "svmlight",
        "members.svm.gz",
        lambda p: p.write_bytes(gzip.compress(b"# none\n" * 150_000) * 300),
        "expands beyond 200 times its size",
    ),
]


@pytest.mark.skipif(sys.platform != "linux", reason="the limits of memory are those of Linux")
def test_bombs(tmp_path):
    """All in one process: what one leaves behind, the next must do without."""
    for _, name, make, _ in BOMBS:
        make(tmp_path / name)
    asked = "".join(f"{loader} {tmp_path / name}\n" for loader, name, _, _ in BOMBS)
    program = PROGRAM.format(memory=MEMORY, seconds=SECONDS)
    answer = subprocess.run(
        [sys.executable, "-c", program], input=asked, capture_output=True, text=True, timeout=300, check=False
    )
    lines = answer.stdout.splitlines()
    assert len(lines) == len(BOMBS), answer.stderr
    for line, (_, name, _, said) in zip(lines, BOMBS, strict=True):
        assert line.startswith(f"refused {name} {tmp_path}"), line
        assert any(text in line for text in said.split("|")), line
