"""Archives: what is read of them; those made to exhaust a machine or to reach other files are refused.

Refused within 2 GiB of memory, and soon.
"""

import bz2
import gzip
import io
import lzma
import os
import struct
import subprocess
import sys
import tarfile
import zipfile
import zlib

import numpy as np
import pytest

from harness.corpora.opening import Limits, read_files
from harness.errors import UserError

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


OPENERS = {
    ".tar": open,
    ".tar.gz": gzip.open,
    ".tgz": gzip.open,
    ".tar.bz2": bz2.open,
    ".tar.xz": lzma.open,
}


def read_all(path, **options):
    return [(member.where, member.data) for member in read_files(path, lambda name: True, **options)]


def zip_of(path, members, packing=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", packing) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return path


def tar_of(path, members, opener=open):
    with opener(path, "wb") as raw, tarfile.open(fileobj=raw, mode="w") as archive:
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                archive.addfile(member)
            else:
                info = tarfile.TarInfo(member[0])
                info.size = len(member[1])
                archive.addfile(info, io.BytesIO(member[1]))
    return path


def pax_bomb(path):
    """Write a tar whose header is the bomb."""
    info = tarfile.TarInfo("a.sgm")
    info.pax_headers = {"comment": "x" * (8 << 20)}
    with gzip.open(path, "wb") as raw, tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as tar:
        tar.addfile(info)


def zeros(path, opener, n_mib):
    """Write a file that unpacks to so many MiB of zeros."""
    with opener(path, "wb") as file:
        for _ in range(n_mib):
            file.write(bytes(1 << 20))


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
ATTRIBUTES = "<newsitem " + " ".join(f'a{i}=""' for i in range(100_000)) + "/>"
LEAVING = ("../1.xml", "a/../../1.xml", "/etc/1.xml", "C:\\1.xml", "a\\..\\1.xml")


def news(name, members, said, packing=zipfile.ZIP_DEFLATED):
    return "news", name, lambda path: zip_of(path, members, packing), said


def sgml(name, members, said, opener=open):
    return "reuters", name, lambda path: tar_of(path, members, opener), said


def nested(path):
    zip_of(path, [("inner.zip", zip_of(path, [("1.xml", bytes(9 << 20))]).read_bytes())])


BOMBS = [
    news("ratio.zip", [("1.xml", bytes(15 << 20))], "expands more than 100 times"),
    news("large.zip", [("1.xml", bytes(40 << 20))], "expands to 41,943,040 bytes"),
    ("news", "overlap.zip", overlapping, "z.zip|expands"),
    ("news", "lie.zip", lambda p: lie(p, "1.xml", 30 << 20, 1000), "cannot be read"),
    ("news", "lie2.zip", lambda p: lie(p, "1.xml", 1000, 15 << 20), "expands|cannot be read"),
    ("news", "nested.zip", nested, "no NewsML file"),
    *(news(f"leaving{i}.zip", [(name, "x")], "leaves the archive") for i, name in enumerate(LEAVING)),
    news("lzma.zip", [("1.xml", "x")], "packed in another way", zipfile.ZIP_LZMA),
    news("laughs.zip", [("1.xml", laughs(12))], "DOCTYPE, entities"),
    news("external.zip", [("1.xml", EXTERNAL)], "DOCTYPE, entities"),
    news(
        "deep.zip",
        [("1.xml", "<newsitem>" + "<a>" * 500_000)],
        "broken or wrongly|document",
        zipfile.ZIP_STORED,
    ),
    news("attributes.zip", [("1.xml", ATTRIBUTES)], "itemid", zipfile.ZIP_STORED),
    news(
        "wide.zip",
        [("1.xml", ITEM.format(1, "ab " * 1_000_000)), ("2.xml", "x")],
        "2.xml, line 1: broken",
        zipfile.ZIP_STORED,
    ),
    *(
        sgml(f"ratio{suffix}", [(SGM, bytes(15 << 20))], "expands beyond 100 times", opener)
        for suffix, opener in OPENERS.items()
        if opener is not open
    ),
    ("reuters", "header.tar.gz", pax_bomb, "expands beyond 100 times"),
    ("reuters", "zeros.tar.gz", lambda p: zeros(p, gzip.open, 100), "expands beyond|no end mark|is missing"),
    *(sgml(f"leaving{i}.tar", [(name, b"x")], "leaves the archive") for i, name in enumerate(LEAVING)),
    *(
        sgml(f"link{kind.decode()}.tar", [link(kind, SGM, "/etc/passwd")], "is a link, a device")
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE)
    ),
    sgml("many.tar.gz", [(f"{i}.txt", b"") for i in range(1500)], "more|b", gzip.open),
    *(
        ("svmlight", f"zeros.svm{suffix}", lambda p, o=opener: zeros(p, o, 100), "beyond 200 times its size")
        for suffix, opener in ((".gz", gzip.open), (".xz", lzma.open), (".bz2", bz2.open))
    ),
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


def test_folder_in_natural_order_without_hidden_files(tmp_path):
    (tmp_path / "sub").mkdir()
    for name in ("10.xml", "9.xml", "._9.xml", "sub/1.xml"):
        (tmp_path / name).write_text(name)
    assert [data for _, data in read_all(tmp_path)] == [b"9.xml", b"10.xml", b"sub/1.xml"]


@pytest.mark.parametrize("suffix", OPENERS)
def test_tar_of_every_kind(tmp_path, suffix):
    path = tar_of(tmp_path / f"a{suffix}", [("d/2.xml", b"two"), ("d/1.xml", b"one")], OPENERS[suffix])
    assert read_all(path) == [(f"{path}: d/2.xml", b"two"), (f"{path}: d/1.xml", b"one")]


def test_zip_alone_and_in_a_folder(tmp_path):
    path = zip_of(tmp_path / "a.zip", [("10.xml", "ten"), ("9.xml", "nine"), ("__MACOSX/._9.xml", "junk")])
    expected = [(f"{path}: 9.xml", b"nine"), (f"{path}: 10.xml", b"ten")]
    assert read_all(path) == expected
    assert read_all(tmp_path, nested=(".zip",)) == expected


def refused(path, match, **options):
    with pytest.raises(UserError, match=match) as caught:
        read_all(path, **options)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_and_unknown_files(tmp_path):
    refused(tmp_path / "none", "no such file or folder")
    (tmp_path / "a.rar").write_bytes(b"Rar!")
    refused(tmp_path / "a.rar", "a folder or an archive is needed")


def test_broken_link_and_large_file_in_a_folder(tmp_path):
    (tmp_path / "a.xml").symlink_to(tmp_path / "gone")
    refused(tmp_path / "a.xml", "no such file")
    with pytest.raises(UserError, match=r"a\.xml: not a regular file"):
        read_all(tmp_path)
    (tmp_path / "gone").write_bytes(b"x" * 11)
    with pytest.raises(UserError, match="11 bytes; at most 10 are allowed"):
        read_all(tmp_path, limits=Limits(member_bytes=10))


def test_a_folder_that_cannot_be_listed(tmp_path, monkeypatch):
    def denied(folder):
        raise PermissionError(13, "Permission denied", str(folder))

    monkeypatch.setattr(os, "scandir", denied)
    refused(tmp_path, r"cannot be read \(Permission denied\)")


def test_names_that_cannot_be_printed(tmp_path):
    path = tar_of(tmp_path / "a.tar", [("a\udcff\nb.xml", b"x")])
    assert read_all(path) == [(f"{path}: 'a\\udcff\\nb.xml'", b"x")]


def test_link_in_a_zip(tmp_path):
    info = zipfile.ZipInfo("a.xml")
    info.external_attr = 0o120777 << 16
    refused(zip_of(tmp_path / "a.zip", [(info, "/etc/passwd")]), "is a link")


def test_zip_bombs(tmp_path):
    path = zip_of(tmp_path / "a.zip", [(f"{i}.xml", bytes(4 << 20)) for i in range(3)])
    refused(path, "expands more than 100 times")
    loose = {"ratio": 1e9}
    refused(path, "expands to 12,582,912 bytes", limits=Limits(total_bytes=10 << 20, **loose))
    refused(path, "expands to 4,194,304 bytes", limits=Limits(member_bytes=1 << 20, **loose))
    refused(path, "3 members; at most 2", limits=Limits(n_members=2, **loose))


def test_zip_with_a_password_or_another_packing(tmp_path):
    path = zip_of(tmp_path / "a.zip", [("a.xml", "x" * 100)])
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\x01\x02") + 8] |= 1
    (tmp_path / "b.zip").write_bytes(data)
    refused(tmp_path / "b.zip", "is encrypted")
    refused(zip_of(tmp_path / "c.zip", [("a.xml", "x" * 100)], zipfile.ZIP_LZMA), "packed in another way")


def test_tar_bombs(tmp_path):
    path = tar_of(tmp_path / "a.tar.xz", [(f"{i}.dat", bytes(2 << 20)) for i in range(4)], lzma.open)
    refused(path, "expands beyond 100 times its size")
    refused(path, "expands to 2,097,152 bytes", limits=Limits(member_bytes=1 << 20, ratio=1e9))
    refused(path, "more than 2 members", limits=Limits(n_members=2, ratio=1e9))


@pytest.mark.parametrize("suffix", [".zip", ".tar", ".tar.gz", ".tar.bz2", ".tar.xz"])
def test_truncated_damaged_and_empty_archives(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    random = np.random.default_rng(1)
    members = [(f"{i}.xml", random.bytes(30_000)) for i in range(3)]
    if suffix == ".zip":
        zip_of(path, members)
    else:
        tar_of(path, members, OPENERS[suffix])
    whole = path.read_bytes()
    for n_bytes in (0, 100, 31_000, len(whole) // 2):
        path.write_bytes(whole[:n_bytes])
        refused(path, "cannot be read|truncated or damaged|does not begin like such a file")
    flipped = bytearray(whole)
    flipped[20_000] ^= 255
    path.write_bytes(flipped)
    if suffix != ".tar":  # a bare tar has no checksum of its members
        refused(path, "cannot be read|truncated or damaged")


def test_tar_cut_between_two_members(tmp_path):
    path = tar_of(tmp_path / "a.tar", [("1.xml", b"x" * 512), ("2.xml", b"y" * 512)])
    path.write_bytes(path.read_bytes()[:1024])
    refused(path, "no end mark")
    damaged = bytearray(tar_of(path, [(f"{i}.xml", b"x" * 20_000) for i in range(3)]).read_bytes())
    damaged[512 + 20_480 + 10] ^= 255  # the second member's header
    path.write_bytes(damaged)
    refused(path, "no end mark")
