"""Files and folders of every command that cannot be used: one sentence, exit code 2, nothing left behind."""

import bz2
import gzip
import lzma
import os
import zipfile

import pytest
from bad_input import COMMON, FULL, STORED, bad, both, named, refuse, text

HEAD = "category,pair,balance,e1,e2,e3,e4,e5,e6,e7,e8"
ROW = "T,a-b,natural,1,2,3,4,5,6,7,8"


def table(what, content, *said, encoding="utf-8"):
    """Return the case of an outcomes table."""
    return bad(
        "run population=../t.csv", "t.csv", *said, make=text("t.csv", content, encoding), name=f"table {what}"
    )


TABLES = [
    table("empty", "", "lacks category"),
    table("without rows", HEAD + "\n", "no row"),
    table("without a column", "category,pair,balance,e1,e2,e3,e4,e5,e6,e7\n", "lacks e8; needed are"),
    table("with a column twice", f"{HEAD},e8\n{ROW},8\n", "column e8 occurs more than once"),
    table("with a short row", f"{HEAD}\n{ROW}\nT,a-b\n", "line 3: 2 values where the header names 11"),
    table("with a row twice", f"{HEAD}\n{ROW}\n{ROW}\n", "line 3: category 'T'", "stands there already"),
    table("with a negative count", f"{HEAD}\n{ROW[:-1]}-8\n", "line 2: e8 is '-8'", "a whole number"),
    table("with a fraction", f"{HEAD}\n{ROW}.5\n", "e8 is '8.5'"),
    table("with nan", f"{HEAD}\n{ROW[:-1]}nan\n", "e8 is 'nan'"),
    table("with inf", f"{HEAD}\n{ROW[:-1]}inf\n", "e8 is 'inf'"),
    table("with no value", f"{HEAD}\n{ROW[:-1]}\n", "e8 is ''"),
    table("with an exponent", f"{HEAD}\n{ROW[:-1]}1e3\n", "e8 is '1e3'"),
    table("with a hexadecimal number", f"{HEAD}\n{ROW[:-1]}0x10\n", "e8 is '0x10'"),
    table("with an underscore", f"{HEAD}\n{ROW[:-1]}1_000\n", "e8 is '1_000'"),
    table("with other digits", f"{HEAD}\n{ROW[:-1]}٣٤\n", "e8 is '٣٤'"),
    table("with a number of 30 digits", f"{HEAD}\n{ROW[:-1]}{'9' * 30}\n", "e8 is '9999"),
    table("beyond 2**53", f"{HEAD}\n{ROW[:-1]}{2**53}\n", "from 1 to 2**53 documents"),
    table("of no document", f"{HEAD}\nT,a-b,natural,0,0,0,0,0,0,0,0\n", "e1..e8 sum to 0"),
    table("without a name", f"{HEAD}\n,a-b,natural,1,2,3,4,5,6,7,8\n", "line 2: category ''"),
    table("with a tab in a name", f"{HEAD}\nT\tU,a-b,natural,1,2,3,4,5,6,7,8\n", "category 'T\\tU'"),
    table("of another balance", f"{HEAD}\n{ROW.replace('natural', 'upside')}\n", "holds balance upside"),
    table("in Latin-1", f"{HEAD}\né{ROW}\n", "is no CSV table in UTF-8", encoding="latin-1"),
    table("in UTF-16", f"{HEAD}\n{ROW}\n", "t.csv", encoding="utf-16"),
    table("of random bytes", bytes(range(256)) * 40, "is no CSV table"),
    table("with a NUL", f"{HEAD}\n{ROW[:-1]}\0\n", "t.csv"),
    table("with an open quote", f'{HEAD}\n"{ROW}\n', "is no CSV table"),
    table("with a long field", f"{HEAD}\n{'x' * 200_000}\n", "is no CSV table"),
    table("packed with gzip", gzip.compress(f"{HEAD}\n{ROW}\n".encode()), "is no CSV table"),
    bad("run population=../absent.csv", "absent.csv: no such file"),
    bad("run population=..", "being a folder"),
    bad("run population=../pipe", "no regular file", make=lambda f: os.mkfifo(f / "pipe")),
    bad("run population=/dev/zero", "/dev/zero: cannot be read, being no regular file"),
    bad(
        "run population=../sparse.csv",
        "1024 MiB is too large",
        make=lambda f: (text("sparse.csv", "")(f), os.truncate(f / "sparse.csv", 2**30)),
    ),
]

QRELS, HIER = "rcv1-v2.topics.qrels", "rcv1.topics.hier.orig"
LYRL = {
    "lyrl2004_vectors_train.dat": "7  1:0.6 2:0.8\n9  2:1\n",
    QRELS: "GCAT 7 1\nGCAT 9 1\n",
    HIER: "parent: None child: Root child-description: R\nparent: Root child: GCAT child-description: G\n",
}


def lyrl(what, *said, **files):
    """Return the case of a LYRL2004 folder of which some files differ."""
    short = {"vectors": "lyrl2004_vectors_train.dat", "tokens": "lyrl2004_tokens_train.dat"}
    changed = LYRL | {{**short, "qrels": QRELS, "hier": HIER}[key]: new for key, new in files.items()}

    def make(folder):
        for name, content in changed.items():
            if content is not None:
                text(f"c/{name}", content)(folder)

    return bad("run corpus=lyrl corpus.path=../c", *said, make=make, name=f"lyrl {what}")


LYRLS = [
    bad("run corpus=lyrl corpus.path=../absent", "absent"),
    bad("run corpus=lyrl", "corpus.path: it is missing; give it", name="lyrl without path"),
    lyrl("empty", "train.dat", "no document", vectors=""),
    lyrl("without vectors", "holds no tokens or vectors", vectors=None),
    lyrl("without qrels", QRELS, qrels=None),
    lyrl("of another form", "line 2: '9 2=1'", vectors="7  1:1\n9 2=1\n"),
    lyrl("with a negative weight", "line 1", vectors="7  1:-0.5\n"),
    lyrl("with nan", "line 1", "'7 1:nan'", vectors="7 1:nan\n"),
    lyrl("with a weight of 1e309", "too large", vectors="7 1:1e309\n"),
    lyrl("with a huge id", "line 1", vectors=f"{10**20} 1:1\n"),
    lyrl("with a huge term", "line 1", vectors=f"7 {10**10}:1\n"),
    lyrl("with other digits", "line 1", vectors="٧ 1:1\n"),
    lyrl("with terms that decrease", "term 1 stands after term 2", vectors="7 2:1 1:1\n"),
    lyrl("with a document twice", "line 2: document id 7", vectors="7 1:1\n7 1:1\n"),
    lyrl("with a foreign document", "line 2: document 8", qrels="GCAT 7 1\nGCAT 8 1\n"),
    lyrl("with a foreign topic", "line 1: topic XCAT", qrels="XCAT 7 1\n"),
    lyrl("with other assignments", "line 1: 'GCAT 7 0'", qrels="GCAT 7 0\n"),
    lyrl("with no assignment", "at least one", qrels=""),
    lyrl("with a broken hierarchy", "line 1: 'nonsense'", hier="nonsense\n"),
    lyrl("with an orphan", "parent X of topic GCAT", hier="parent: X child: GCAT child-description: G\n"),
    lyrl("with broken tokens", "line 1", "stands where .I id must", tokens="gold\n", vectors=None),
    lyrl("with no .W", "line 2", "stands where .W must", tokens=".I 7\ngold\n", vectors=None),
]


def svm(what, content, *said, name="a.svm"):
    """Return the case of an svmlight file."""
    return bad(
        f"run corpus=svmlight corpus.path=../{name}", *said, make=text(name, content), name=f"svmlight {what}"
    )


LINES = b"0,2 1:3 7:1\n2 1:1\n"
SVMLIGHT = [
    bad("run corpus=svmlight corpus.path=../absent.svm", "absent.svm: there is no such file"),
    bad("run corpus=svmlight corpus.path=[]", "corpus.path is an empty list"),
    svm("empty", "", "a.svm: holds no document"),
    svm("of comments alone", "# nothing\n\n", "a.svm: holds no document"),
    svm("of another form", "1 1:1\n1 a:b\n", "line 2: '1 a:b'"),
    svm("with a negative value", "1 1:1\n1 2:-1\n", "line 2: 2:-1"),
    svm("with nan", "1 1:nan\n", "line 1: 1:nan"),
    svm("with inf", "1 1:inf\n", "line 1: 1:inf"),
    svm("with 1e309", "1 1:1e309\n", "line 1: 1:inf"),
    svm("with a fraction", "1 1:0.5\n", "whole numbers are allowed (else choose corpus.values=weights)"),
    svm("with indices that decrease", "1 2:1 1:1\n", "line 1"),
    svm("with an index of 2**31", f"1 {2**31}:1\n", "a.svm"),
    svm("with an index of 2**63", f"1 {2**63}:1\n", "a.svm"),
    svm("with a negative index", "1 -1:1\n", "a.svm"),
    svm("with a label of nan", "nan 1:1\n2 1:1\n", "label nan"),
    svm("with a label of -7", "-7 1:1\n2 1:1\n", "line 1: label -7"),
    svm("with a label of text", "sport 1:1\n", "line 1: 'sport 1:1'"),
    svm("of random bytes", bytes(range(128, 256)) * 10, "a.svm"),
    svm("in UTF-16", "1 1:1\n".encode("utf-16"), "a.svm"),
    svm("cut short in gzip", gzip.compress(LINES * 400)[:-9], "truncated or damaged", name="a.svm.gz"),
    svm("cut short in bzip2", bz2.compress(LINES * 400)[:-9], "truncated or damaged", name="a.svm.bz2"),
    svm("cut short in xz", lzma.compress(LINES * 400)[:-9], "truncated or damaged", name="a.svm.xz"),
    svm("named .gz and plain", LINES, "is named .gz but does not begin like such a file", name="a.svm.gz"),
    svm("with rubbish after gzip", gzip.compress(LINES) + b"rubbish", "truncated or damaged", name="a.gz"),
    bad(
        "run corpus=svmlight corpus.path=../d",
        "d: the folder holds no file",
        make=lambda f: (f / "d").mkdir(),
    ),
    bad("run corpus=svmlight corpus.path=../pipe", "regular file", make=lambda f: os.mkfifo(f / "pipe")),
    bad("run corpus=svmlight corpus.path=/dev/zero", "/dev/zero: is not a regular file"),
    bad(
        "run corpus=svmlight corpus.path=../a.svm corpus.n_terms=3",
        "corpus.n_terms=3: the files hold index 7",
        make=text("a.svm", LINES),
    ),
    bad(
        "run corpus=svmlight corpus.path=../a.svm corpus.n_terms=text",
        "corpus.n_terms='text'",
        make=text("a.svm", LINES),
    ),
    bad("run corpus=svmlight corpus.path=../a.svm corpus.values=5", "values", make=text("a.svm", LINES)),
    bad(
        "run corpus=svmlight corpus.path=../a.svm corpus.topic_names=[a]",
        "1 names for 2 labels",
        make=text("a.svm", LINES),
    ),
]


def write_zip(name, **members):
    def make(folder):
        with zipfile.ZipFile(folder / name, "w") as archive:
            for member, content in members.items():
                archive.writestr(member.replace("__", "/").replace("_", "."), content)

    return make


def news(what, content, *said):
    """Return the case of a NewsML file in a zip."""
    return bad(
        "run corpus=rcv1_xml corpus.path=../z.zip",
        "z.zip: 1.xml",
        *said,
        make=write_zip("z.zip", **{"1_xml": content}),
        name=f"newsml {what}",
    )


ITEM = (
    '<newsitem itemid="7" date="1996-08-20"><title>Gold</title><text><p>up</p></text><metadata>'
    '<codes class="bip:topics:1.0"><code code="M14"/></codes></metadata></newsitem>'
)
NEWS = [
    bad("run corpus=rcv1_xml", "corpus.path: the folder of RCV1's zips"),
    bad("run corpus=rcv1_xml corpus.path=../d", "no NewsML file", make=lambda f: (f / "d").mkdir()),
    bad("run corpus=rcv1_xml corpus.path=../z.zip", "damaged or truncated", make=text("z.zip", b"PK\3\4")),
    news("empty", "", "line 1: broken or wrongly encoded XML"),
    news("cut short", ITEM[:60], "broken or wrongly encoded XML"),
    news("of another root", "<html/>", "the root element is <html>"),
    news("with a document type", "<!DOCTYPE a [<!ENTITY x 'y'>]>" + ITEM, "DOCTYPE", "not allowed"),
    news("in an unknown encoding", '<?xml version="1.0" encoding="klingon"?>' + ITEM, "encod"),
    news("wrongly encoded", ITEM.replace("up", "\xe9").encode("latin-1"), "wrongly encoded XML"),
    news("without itemid", ITEM.replace("itemid", "id"), "itemid='' ".strip()),
    news("with a huge itemid", ITEM.replace('"7"', '"12345678901"'), "itemid='12345678901'"),
    news("with a wrong date", ITEM.replace("08-20", "13-40"), "date='1996-13-40'"),
    news("with a topic of no code", ITEM.replace('code="M14"', ""), "without its attribute code"),
    bad(
        "run corpus=rcv1_xml corpus.path=../d",
        "document 7 occurs a second time",
        make=both(text("d/1.xml", ITEM), text("d/2.xml", ITEM)),
        name="newsml twice",
    ),
    bad(
        "run corpus=rcv1_xml corpus.stop_words=5 corpus.path=../d", "stop_words=5", make=text("d/1.xml", ITEM)
    ),
]

STORY = (
    '<REUTERS TOPICS="YES" LEWISSPLIT="TRAIN" NEWID="1"><TOPICS><D>gold</D></TOPICS>'
    "<TEXT><TITLE>Gold</TITLE><BODY>up</BODY></TEXT></REUTERS>"
)


def sgml(what, content, *said):
    """Return the case of one SGML file of a part of Reuters-21578."""
    return bad(
        "run corpus=reuters21578 corpus.path=../r corpus.complete=false",
        *said,
        make=text("r/reut2-000.sgm", content),
        name=f"sgml {what}",
    )


REUTERS = [
    bad("run corpus=reuters21578", "corpus.path: a folder or archive of reut2-000.sgm"),
    sgml("empty", "", "no <REUTERS> in it"),
    sgml("cut short", STORY[:-12], "line 1: this <REUTERS> is not closed"),
    sgml("without NEWID", STORY.replace("NEWID", "OLDID"), "has no attribute NEWID"),
    sgml("with a huge NEWID", STORY.replace('"1"', f'"{10**12}"'), "NEWID='1000000000000' is not a number"),
    sgml("with other digits", STORY.replace('NEWID="1"', 'NEWID="x"'), "NEWID='x'"),
    sgml("without TOPICS", STORY.replace("</TOPICS>", ""), "TOPICS is missing or not closed"),
    sgml("with a story twice", STORY + STORY, "document 1 occurs a second time"),
    sgml("with no story of the split", STORY.replace('"YES"', '"NO"'), "no document of split=modapte"),
    bad(
        "run corpus=reuters21578 corpus.path=../r",
        "reut2-001.sgm is missing",
        make=text("r/reut2-000.sgm", STORY),
        name="sgml of one file",
    ),
    bad(
        "run corpus=reuters21578 corpus.path=../r.tar.gz",
        "damaged or truncated",
        make=text("r.tar.gz", gzip.compress(bytes(20_480))[:-9]),
        name="sgml in a tar cut short",
    ),
    bad(
        "run corpus=reuters21578 corpus.path=../r.rar",
        "a folder or an archive is needed",
        make=text("r.rar", ""),
    ),
    bad("run corpus=reuters21578 corpus.source=pickle corpus.path=..", "corpus.source=pickle"),
    bad("run corpus=reuters21578 corpus.split=half corpus.path=..", "corpus.split=half"),
]

RCV1 = [
    bad(
        "run corpus=rcv1 corpus.data_home=../s corpus.download_if_missing=false",
        "scikit-learn's cache of RCV1 is absent or incomplete",
    ),
    bad(
        "run corpus=rcv1 corpus.data_home=../s corpus.download_if_missing=false",
        "scikit-learn's cache of RCV1 cannot be read",
        make=both(
            *(
                text(f"s/RCV1/{name}_py3.pkl", b"\x80\x04no pickle")
                for name in ("samples", "sample_id", "sample_topics", "topics_names")
            )
        ),
        name="rcv1 of damaged pickles",
    ),
    bad("run corpus=rcv1 corpus.subset=half corpus.data_home=../s", "corpus.subset='half'"),
    bad("run corpus=rcv1 corpus.values=bits corpus.data_home=../s", "corpus.values='bits'"),
]


@pytest.mark.parametrize("case", named(TABLES))
def test_outcomes_tables(case, tmp_path, monkeypatch, capfd):
    defaults = tuple(text for text in STORED if not text.startswith("population="))
    refuse(case, COMMON + defaults, tmp_path, monkeypatch, capfd)


@pytest.mark.parametrize("case", named(LYRLS + SVMLIGHT + NEWS + REUTERS + RCV1))
def test_corpora(case, tmp_path, monkeypatch, capfd):
    refuse(case, COMMON + FULL, tmp_path, monkeypatch, capfd)
