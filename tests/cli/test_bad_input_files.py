"""Outcomes tables and corpora that cannot be used: one sentence, exit code 2, nothing left behind.

What each loader refuses is tested with the loader; here is what a refusal comes to in the command.
"""

import gzip
import os

import pytest
from bad_input import COMMON, FULL, LEARNERS, STORED, bad, named, refuse, text

from harness.errors import UserError
from harness.outcomes import read_outcomes

HEAD = "category,pair,balance,e1,e2,e3,e4,e5,e6,e7,e8"
ROW = "T,a-b,natural,1,2,3,4,5,6,7,8"


def table(what, content, *said):
    """Return the case of a table."""
    return pytest.param(content if isinstance(content, bytes) else content.encode(), said, id=what)


TABLES = [
    table("empty", "", "lacks category"),
    table("without rows", HEAD + "\n", "no row"),
    table("without a column", "category,pair,balance,e1,e2,e3,e4,e5,e6,e7\n", "lacks e8; needed are"),
    table("with a column twice", f"{HEAD},e8\n{ROW},8\n", "column e8 occurs more than once"),
    table("with a short row", f"{HEAD}\n{ROW}\nT,a-b\n", "line 3: 2 values where the header names 11"),
    table("with a row twice", f"{HEAD}\n{ROW}\n{ROW}\n", "line 3: category 'T'", "there already"),
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
    table("in Latin-1", f"{HEAD}\né{ROW}\n".encode("latin-1"), "is no CSV table in UTF-8"),
    table("in UTF-16", f"{HEAD}\n{ROW}\n".encode("utf-16")),
    table("of random bytes", bytes(range(256)) * 40, "is no CSV table"),
    table("with a NUL", f"{HEAD}\n{ROW[:-1]}\0\n"),
    table("with an open quote", f'{HEAD}\n"{ROW}\n', "is no CSV table"),
    table("with a long field", f"{HEAD}\n{'x' * 200_000}\n", "is no CSV table"),
    table("packed with gzip", gzip.compress(f"{HEAD}\n{ROW}\n".encode()), "is no CSV table"),
]


@pytest.mark.parametrize(("content", "said"), TABLES)
def test_outcomes_tables(content, said, tmp_path):
    (tmp_path / "d.csv").write_bytes(content)
    with pytest.raises(UserError) as caught:
        read_outcomes(tmp_path / "d.csv")
    assert all(part in str(caught.value) for part in ("d.csv", *said)), caught.value


CSV = "compare data=csv data.csv.path=../d.csv data.csv.target=y"
COMMANDS = [
    bad(CSV, "class 'b'", make=text("d.csv", "x,y\n1,a\n2,a\n3,b\n"), name="with a class of one"),
    bad("compare data=csv", "data.csv.path"),
    bad("compare data=csv data.csv.path=../absent.csv data.csv.target=y", "absent.csv"),
]


@pytest.mark.parametrize("case", COMMANDS, ids=lambda case: case.name)
def test_files_of_data(case, tmp_path, monkeypatch, capfd):
    refuse(case, COMMON + LEARNERS, tmp_path, monkeypatch, capfd)


POPULATIONS = [
    bad("run population=../absent.csv", "absent.csv: no such file"),
    bad("run population=..", "it is a folder"),
    bad("run population=../pipe", "no regular file", make=lambda f: os.mkfifo(f / "pipe")),
    bad("run population=../t.csv", "t.csv", "lacks category", make=text("t.csv", "")),
    bad(
        "run population=../t.csv",
        "holds balance upside",
        make=text("t.csv", f"{HEAD}\n{ROW.replace('natural', 'upside')}\n"),
        name="of another balance",
    ),
    bad("run population=/dev/zero", "/dev/zero: cannot be read because it is no regular file"),
    bad(
        "run population=../sparse.csv",
        "1024 MiB is too large",
        make=lambda f: (text("sparse.csv", "")(f), os.truncate(f / "sparse.csv", 2**30)),
    ),
]
LINES = "0,2 1:3 7:1\n2 1:1\n"
SVM = "run corpus=svmlight corpus.path=../a.svm"
CORPORA = [
    bad(SVM, "line 3: '1 a:b'", make=text("a.svm", LINES + "1 a:b\n")),
    bad("run corpus=lyrl corpus.path=../absent", "absent"),
    bad(SVM, "a.svm", make=text("a.svm", LINES.encode("utf-16")), name="in UTF-16"),
    bad(f"{SVM} corpus.n_terms=text", "'text'", make=text("a.svm", LINES)),
    bad("run corpus=svmlight corpus.path=[]", "corpus.path=[]: holds no file"),
    bad("run corpus=lyrl", "corpus.path: it is missing; give it"),
    bad("run corpus=svmlight corpus.path=../pipe", "regular file", make=lambda f: os.mkfifo(f / "pipe")),
    bad("run corpus=svmlight corpus.path=/dev/zero", "/dev/zero: is not a regular file"),
    bad("run corpus=reuters21578 corpus.path=../r.rar", "an archive is needed", make=text("r.rar", "")),
    bad("run corpus=reuters21578 corpus.split=half corpus.path=..", "corpus.split='half'"),
    bad("run corpus=rcv1_xml corpus.path=../z.zip", "damaged or truncated", make=text("z.zip", b"PK\3\4")),
    bad(
        "run corpus=rcv1 corpus.data_home=../s corpus.download_if_missing=false",
        "scikit-learn's cache of RCV1 is absent or incomplete",
    ),
]


@pytest.mark.parametrize("case", named(POPULATIONS))
def test_populations(case, tmp_path, monkeypatch, capfd):
    defaults = tuple(text for text in STORED if not text.startswith("population="))
    refuse(case, COMMON + defaults, tmp_path, monkeypatch, capfd)


@pytest.mark.parametrize("case", named(CORPORA))
def test_corpora(case, tmp_path, monkeypatch, capfd):
    refuse(case, COMMON + FULL, tmp_path, monkeypatch, capfd)
