"""Files cut short or with a bit flipped, in every format: a sentence, or what the file says; never less.

Plain text that is cut at the end of a line is a shorter file, which nothing can tell. A packed file that is
cut can always be told, but for one of several gzip members that is cut between two of them.
"""

import gzip
import io
import random
import tarfile
import warnings
import zipfile

import pytest

from harness.corpora.lyrl import HIERARCHY, QRELS, load_lyrl
from harness.corpora.opening import ARCHIVE_SUFFIXES
from harness.corpora.rcv1_xml import load_rcv1_xml
from harness.corpora.reuters21578 import load_reuters21578
from harness.corpora.svmlight import load_svmlight
from harness.errors import UserError, sentence
from harness.outcomes import COLUMNS, read_outcomes

N_CUTS = N_FLIPS = 30
GENERATOR = random.Random(0)
WORDS = [f"w{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(300)]
DOCUMENTS = [sorted(GENERATOR.sample(range(300), 12)) for _ in range(40)]
VECTORS = "".join(f"{i + 7}  {' '.join(f'{t + 1}:0.{t + 1}' for t in d)}\n" for i, d in enumerate(DOCUMENTS))
TOKENS = "".join(f".I {i + 7}\n.W\n{' '.join(WORDS[t] for t in d)}\n\n" for i, d in enumerate(DOCUMENTS))
ASSIGNED = "".join(f"{'GCAT' if i % 2 else 'CCAT'} {i + 7} 1\n" for i in range(len(DOCUMENTS)))
TREE = "parent: None child: Root child-description: R\n" + "".join(
    f"parent: Root child: {name} child-description: {name}\n" for name in ("CCAT", "GCAT")
)
SVM = "".join(
    f"{i % 3},{i % 3 + 4} {' '.join(f'{t + 1}:{t % 4 + 1}' for t in d)}\n" for i, d in enumerate(DOCUMENTS)
)
SGML = '<!DOCTYPE lewis SYSTEM "lewis.dtd">\n' + "".join(
    f'<REUTERS TOPICS="YES" LEWISSPLIT="TRAIN" OLDID="{i}" NEWID="{i + 1}">\n<TOPICS><D>gold</D></TOPICS>\n'
    f"<TEXT><TITLE>Gold</TITLE><BODY>{' '.join(WORDS[t] for t in d)}</BODY></TEXT>\n</REUTERS>\n"
    for i, d in enumerate(DOCUMENTS)
)
NEWS = {
    f"{i + 7}newsML.xml": f'<?xml version="1.0" encoding="iso-8859-1" ?>\n<newsitem itemid="{i + 7}" '
    f'date="1996-08-20"><title>Gold</title><text><p>{" ".join(WORDS[t] for t in d)}</p></text><metadata>'
    '<codes class="bip:topics:1.0"><code code="M14"/></codes></metadata></newsitem>\n'
    for i, d in enumerate(DOCUMENTS[:6])
}
OUTCOMES = f"{','.join(COLUMNS)}\n" + "".join(
    f"T{i},a-b,natural,0.1,{','.join(str(t) for t in d[:8])},0.5,0.5,0.1,0.1,0.1,0.5\n"
    for i, d in enumerate(DOCUMENTS)
)


def lyrl(name):
    """Return how a LYRL2004 folder of which one file is damaged is loaded."""

    def load(path):
        first = "lyrl2004_tokens_train.dat" if "tokens" in name else "lyrl2004_vectors_train.dat"
        files = {first: TOKENS if "tokens" in name else VECTORS, QRELS: ASSIGNED, HIERARCHY: TREE}
        for other, content in files.items():
            if other != name:
                (path.parent / other).write_text(content)
        return load_lyrl(path.parent).fingerprint()

    return load


def fingerprint(load, **options):
    return lambda path: load(path, **options).fingerprint()


def folder_of(load, **options):
    return lambda path: load(path.parent, **options).fingerprint()


def populations(path):
    return [(one.pair, one.categories, one.counts.tolist()) for one in read_outcomes(path)]


def in_tar(name, content):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        info = tarfile.TarInfo(name)
        info.size = len(content)
        archive.addfile(info, io.BytesIO(content.encode()))
    return packed.getvalue()


def in_zip(members):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return packed.getvalue()


REUTERS = {"complete": False}
PLAIN = {
    "svmlight": ("a.svm", SVM.encode(), fingerprint(load_svmlight)),
    "vectors": ("lyrl2004_vectors_train.dat", VECTORS.encode(), lyrl("lyrl2004_vectors_train.dat")),
    "tokens": ("lyrl2004_tokens_train.dat", TOKENS.encode(), lyrl("lyrl2004_tokens_train.dat")),
    "qrels": (QRELS, ASSIGNED.encode(), lyrl(QRELS)),
    "hierarchy": (HIERARCHY, TREE.encode(), lyrl(HIERARCHY)),
    "sgml": ("reut2-000.sgm", SGML.encode(), folder_of(load_reuters21578, **REUTERS)),
    "newsml": ("7newsML.xml", NEWS["7newsML.xml"].encode(), folder_of(load_rcv1_xml)),
    "outcomes": ("outcomes.csv", OUTCOMES.encode(), populations),
}
PACKED = {
    f"{name} in gzip": (f"{file}.gz", gzip.compress(content, mtime=0), load)
    for name, (file, content, load) in PLAIN.items()
    if name in ("svmlight", "vectors", "tokens", "qrels", "hierarchy")
} | {
    "sgml in a tar": ("r.tar.gz", in_tar("reut2-000.sgm", SGML), fingerprint(load_reuters21578, **REUTERS)),
    "newsml in a zip": ("n.zip", in_zip(NEWS), fingerprint(load_rcv1_xml)),
}


def load_damaged(folder, name, data, load):
    """Return what the loader makes of it, or None where it refuses it in a sentence that names the file."""
    path = folder / name
    path.write_bytes(data)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return load(path)
    except UserError as error:
        said = sentence(error)
        assert said
        assert "\n" not in said
        assert said.isprintable()
        return None


def cuts(data):
    generator = random.Random(1)
    return sorted({0, 1, len(data) - 1, *(generator.randrange(len(data)) for _ in range(N_CUTS))})


def flips(data):
    generator = random.Random(2)
    for _ in range(N_FLIPS):
        damaged = bytearray(data)
        damaged[generator.randrange(len(data))] ^= 1 << generator.randrange(8)
        yield bytes(damaged)


@pytest.mark.parametrize("kind", PACKED)
def test_packed_files_that_are_cut_are_always_refused(kind, tmp_path):
    name, data, load = PACKED[kind]
    assert load_damaged(tmp_path, name, data, load) is not None
    for n in cuts(data):
        assert load_damaged(tmp_path, name, data[:n], load) is None, n


@pytest.mark.parametrize("kind", PACKED)
def test_a_bit_flipped_in_a_packed_file_changes_nothing_or_is_refused(kind, tmp_path):
    name, data, load = PACKED[kind]
    whole = load_damaged(tmp_path, name, data, load)
    for damaged in flips(data):
        assert load_damaged(tmp_path, name, damaged, load) in (whole, None)


@pytest.mark.parametrize("kind", PLAIN)
def test_plain_files_that_are_cut_or_flipped(kind, tmp_path):
    """What can be read is a file of its own; anything else ends in a sentence."""
    name, data, load = PLAIN[kind]
    assert load_damaged(tmp_path, name, data, load) is not None
    for damaged in (*(data[:n] for n in cuts(data)), *flips(data)):
        load_damaged(tmp_path, name, damaged, load)


@pytest.mark.parametrize("kind", ["vectors", "tokens"])
def test_documents_that_are_cut_off_are_missed_by_the_assignments(kind, tmp_path):
    name, data, load = PLAIN[kind]
    for n in cuts(data)[:-1]:
        if data[:n].count(b"\n") + 2 < data.count(b"\n"):
            assert load_damaged(tmp_path, name, data[:n], load) is None, n


def test_gzip_members_one_after_the_other_are_one_file(tmp_path):
    lines = SVM.splitlines(keepends=True)
    pieces = [gzip.compress("".join(lines[i : i + 10]).encode()) for i in range(0, 40, 10)]
    whole = load_damaged(tmp_path, "a.svm", SVM.encode(), fingerprint(load_svmlight))
    assert load_damaged(tmp_path, "b.svm.gz", b"".join(pieces), fingerprint(load_svmlight)) == whole
    for n in (3, len(pieces[0]) + 5, len(b"".join(pieces)) - 1):
        cut = b"".join(pieces)[:n]
        assert load_damaged(tmp_path, "b.svm.gz", cut, fingerprint(load_svmlight)) is None


def test_every_kind_of_archive_is_known():
    assert set(ARCHIVE_SUFFIXES) == {".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz"}
