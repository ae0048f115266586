"""Tokens, stop-words and stems; and archives that must be refused."""

import bz2
import gzip
import io
import lzma
import os
import struct
import tarfile
import zipfile

import numpy as np
import pytest

from harness.corpora import text
from harness.corpora.opening import Limits, read_files
from harness.errors import UserError


def every(name):
    return True


def read_all(path, **options):
    return [(member.where, member.data) for member in read_files(path, every, **options)]


def write_tar(path, members, opener=open):
    """Write a tar of (name, bytes) or of ready TarInfo."""
    with opener(path, "wb") as raw, tarfile.open(fileobj=raw, mode="w") as archive:
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                archive.addfile(member)
            else:
                info = tarfile.TarInfo(member[0])
                info.size = len(member[1])
                archive.addfile(info, io.BytesIO(member[1]))
    return path


def write_zip(path, members, compression=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return path


# ---- text


def test_tokens_are_runs_of_two_to_forty_letters():
    assert text.tokenise("U.S. oil, 1st-half: don't xy²zz NAÏVE_test") == [
        "oil", "st", "half", "don", "xy", "zz", "naïve", "test",
    ]  # fmt: skip
    assert text.tokenise("a" * 40 + " " + "b" * 41) == ["a" * 40]
    assert text.tokenise("") == []


def test_ascii_shortcut_follows_the_general_rule():
    sample = "".join(map(chr, range(128))) * 3 + " Mixed CASE words_and 12ab34"
    assert text._ASCII_WORD.findall(sample.lower()) == text._letter_runs(sample.lower())


def test_sklearn_stop_words():
    words = text.stop_word_set("sklearn")
    assert len(words) == 318 - 2  # "a" and "i" are no tokens
    assert {"the", "bill", "amoungst"} <= words
    assert not words & {"don", "ve", "ll", "gold"}
    assert all(text.tokenise(word) == [word] for word in words)


def test_nltk_stop_words_where_installed(tmp_path, monkeypatch):
    import nltk

    folder = tmp_path / "corpora" / "stopwords"
    folder.mkdir(parents=True)
    (folder / "english").write_text("i\nthe\ndon't\nwon\n")
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    assert text.stop_word_set("nltk") == {"the", "don", "won"}


def test_nltk_stop_words_absent(monkeypatch, tmp_path):
    import nltk

    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    with pytest.raises(UserError, match=r"nltk\.downloader stopwords.*stop_words=sklearn"):
        text.stop_word_set("nltk")


@pytest.mark.parametrize("name", ["english", "", None, "SKLEARN"])
def test_unknown_stop_words(name):
    with pytest.raises(UserError, match="choose one of sklearn, nltk, none"):
        text.stop_word_set(name)


@pytest.mark.parametrize(
    ("word", "stem"),
    # Porter (1980), section 3, and Porter's own programs for the last four
    [
        ("caresses", "caress"), ("ponies", "poni"), ("relational", "relat"), ("hopefulness", "hope"),
        ("generalizations", "gener"), ("oscillators", "oscil"), ("controlling", "control"), ("roll", "roll"),
        ("possibly", "possibl"), ("archaeology", "archaeolog"), ("us", "us"), ("dying", "dy"),
    ],
)  # fmt: skip
def test_porter_stems(word, stem):
    assert text.porter_stemmer()(word) == stem


def test_stems_do_not_fail_on_hostile_tokens():
    stem = text.porter_stemmer()
    for token in ("y" * 40, "oed", "ed", "ing", "s" * 40, "ééé", "ß" * 30):
        assert isinstance(stem(token), str)


def test_counts_merge_words_of_one_stem_and_are_canonical():
    texts = text.TextCorpus("c", "sklearn")
    texts.add(3, 0, "Zinc trading: the traders traded zinc", ["b", "a", "b"], "f")
    texts.add(12, 0, "the and of", [], "f")
    corpus = texts.finish(notes=("note.",))
    assert corpus.term_names.tolist() == ["trade", "trader", "zinc"]
    assert corpus.terms.toarray().tolist() == [[2, 1, 2], [0, 0, 0]]
    assert corpus.topics.toarray().tolist() == [[1, 1], [0, 0]]
    assert corpus.topic_names == ("a", "b")
    assert corpus.document_ids.tolist() == ["3", "12"]
    assert (corpus.terms.dtype, corpus.topics.dtype) == (np.float32, np.uint8)
    assert corpus.terms.indices.dtype == corpus.terms.indptr.dtype == np.int32
    assert corpus.terms.has_canonical_format
    assert corpus.topics.has_canonical_format
    assert corpus.notes == (
        "note.",
        "Documents without a term after stop-words: 1; they are kept.",
        "Documents without a topic: 1; they are kept, as negatives of all topics.",
    )


def test_order_is_that_of_time_then_number_whatever_the_order_of_files():
    stories = [(5, 20, "gold"), (2, 10, "cocoa beans"), (1, 20, "sugar gold")]
    corpora = []
    for order in (stories, stories[::-1]):
        texts = text.TextCorpus("c", "none")
        for number, time, words in order:
            texts.add(number, time, words, ["t"], "f")
        corpora.append(texts.finish(notes=()))
    assert corpora[0].document_ids.tolist() == ["2", "1", "5"]
    assert corpora[0].fingerprint() == corpora[1].fingerprint()
    assert corpora[0].chronological


def test_a_number_twice_and_nothing_at_all():
    texts = text.TextCorpus("c", "none")
    with pytest.raises(UserError, match="0 documents"):
        texts.finish(notes=())
    texts = text.TextCorpus("c", "none")
    texts.add(1, 1, "gold", ["t"], "a.xml")
    with pytest.raises(UserError, match=r"b\.xml: document 1 occurs a second time"):
        texts.add(1, 2, "gold", ["t"], "b.xml")


def test_no_term_and_no_topic():
    for words, topics in (("the of", ["t"]), ("gold", [])):
        texts = text.TextCorpus("c", "sklearn")
        texts.add(1, 1, words, topics, "a")
        with pytest.raises(UserError, match="at least one of each is needed"):
            texts.finish(notes=())


# ---- archives: what is read


def test_folder_in_natural_order_without_hidden_files(tmp_path):
    (tmp_path / "sub").mkdir()
    for name in ("10.xml", "9.xml", "._9.xml", "sub/1.xml"):
        (tmp_path / name).write_text(name)
    assert [data for _, data in read_all(tmp_path)] == [b"9.xml", b"10.xml", b"sub/1.xml"]


OPENERS = {
    ".tar": open,
    ".tar.gz": gzip.open,
    ".tgz": gzip.open,
    ".tar.bz2": bz2.open,
    ".tar.xz": lzma.open,
}


@pytest.mark.parametrize("suffix", OPENERS)
def test_tar_of_every_kind(tmp_path, suffix):
    path = write_tar(tmp_path / f"a{suffix}", [("d/2.xml", b"two"), ("d/1.xml", b"one")], OPENERS[suffix])
    assert read_all(path) == [(f"{path}: d/2.xml", b"two"), (f"{path}: d/1.xml", b"one")]


def test_zip_alone_and_in_a_folder(tmp_path):
    path = write_zip(tmp_path / "a.zip", [("10.xml", "ten"), ("9.xml", "nine"), ("__MACOSX/._9.xml", "junk")])
    expected = [(f"{path}: 9.xml", b"nine"), (f"{path}: 10.xml", b"ten")]
    assert read_all(path) == expected
    assert read_all(tmp_path, nested=(".zip",)) == expected


# ---- archives: what is refused


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
    path = write_tar(tmp_path / "a.tar", [("a\udcff\nb.xml", b"x")])
    assert read_all(path) == [(f"{path}: 'a\\udcff\\nb.xml'", b"x")]


@pytest.mark.parametrize("name", ["../e.xml", "a/../../e.xml", "/etc/e.xml", "C:\\e.xml", "a\\..\\b.xml"])
def test_names_that_leave_the_archive(tmp_path, name):
    refused(write_zip(tmp_path / "a.zip", [(name, "x")]), "leaves the archive")
    refused(write_tar(tmp_path / "a.tar", [(name, b"x")]), "leaves the archive")


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_in_a_tar(tmp_path, kind):
    info = tarfile.TarInfo("a.xml")
    info.type, info.linkname = kind, "/etc/passwd"
    refused(write_tar(tmp_path / "a.tar", [info]), "is a link, a device")


def test_link_in_a_zip(tmp_path):
    info = zipfile.ZipInfo("a.xml")
    info.external_attr = 0o120777 << 16
    refused(write_zip(tmp_path / "a.zip", [(info, "/etc/passwd")]), "is a link")


def test_zip_bombs(tmp_path):
    path = write_zip(tmp_path / "a.zip", [(f"{i}.xml", bytes(4 << 20)) for i in range(3)])
    refused(path, "expands more than 100 times")
    loose = {"ratio": 1e9}
    refused(path, "expands to 12,582,912 bytes", limits=Limits(total_bytes=10 << 20, **loose))
    refused(path, "expands to 4,194,304 bytes", limits=Limits(member_bytes=1 << 20, **loose))
    refused(path, "3 members; at most 2", limits=Limits(n_members=2, **loose))


def test_zip_that_lies_about_its_size(tmp_path):
    path = write_zip(tmp_path / "a.zip", [("a.xml", bytes(8 << 20))])
    honest, lie = struct.pack("<L", 8 << 20), struct.pack("<L", 1000)
    path.write_bytes(path.read_bytes().replace(honest, lie))
    refused(path, "cannot be read")


def test_zip_with_a_password_or_another_packing(tmp_path):
    path = write_zip(tmp_path / "a.zip", [("a.xml", "x" * 100)])
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\x01\x02") + 8] |= 1
    (tmp_path / "b.zip").write_bytes(data)
    refused(tmp_path / "b.zip", "is encrypted")
    refused(write_zip(tmp_path / "c.zip", [("a.xml", "x" * 100)], zipfile.ZIP_LZMA), "packed in another way")


def test_tar_bombs(tmp_path):
    path = write_tar(tmp_path / "a.tar.xz", [(f"{i}.dat", bytes(2 << 20)) for i in range(4)], lzma.open)
    refused(path, "expands beyond 1,048,576 bytes")
    refused(path, "expands to 2,097,152 bytes", limits=Limits(member_bytes=1 << 20, ratio=1e9))
    refused(path, "more than 2 members", limits=Limits(n_members=2, ratio=1e9))


def test_tar_whose_header_is_the_bomb(tmp_path):
    info = tarfile.TarInfo("a.xml")
    info.pax_headers = {"comment": "x" * (8 << 20)}
    with (
        gzip.open(tmp_path / "a.tar.gz", "wb") as raw,
        tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        archive.addfile(info)
    refused(tmp_path / "a.tar.gz", "expands beyond")


@pytest.mark.parametrize("suffix", [".zip", ".tar", ".tar.gz", ".tar.bz2", ".tar.xz"])
def test_truncated_damaged_and_empty_archives(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    random = np.random.default_rng(1)
    members = [(f"{i}.xml", random.bytes(30_000)) for i in range(3)]
    if suffix == ".zip":
        write_zip(path, members)
    else:
        write_tar(path, members, OPENERS[suffix])
    whole = path.read_bytes()
    for n_bytes in (0, 100, 31_000, len(whole) // 2):
        path.write_bytes(whole[:n_bytes])
        refused(path, "cannot be read")
    flipped = bytearray(whole)
    flipped[20_000] ^= 255
    path.write_bytes(flipped)
    if suffix != ".tar":  # a bare tar has no checksum of its members
        refused(path, "cannot be read")


def test_tar_cut_between_two_members(tmp_path):
    path = write_tar(tmp_path / "a.tar", [("1.xml", b"x" * 512), ("2.xml", b"y" * 512)])
    path.write_bytes(path.read_bytes()[:1024])
    refused(path, "no end mark")
    damaged = bytearray(write_tar(path, [(f"{i}.xml", b"x" * 20_000) for i in range(3)]).read_bytes())
    damaged[512 + 20_480 + 10] ^= 255  # the second member's header
    path.write_bytes(damaged)
    refused(path, "no end mark")
