"""Outcomes tables and corpora that cannot be used: one sentence, exit code 2, nothing left behind.

What each loader refuses is tested with the loader; here is what a refusal comes to in the command.
"""

import os

import pytest
from bad_input import COMMON, FULL, LEARNERS, STORED, bad, named, refuse, text

HEAD = "category,pair,balance,e1,e2,e3,e4,e5,e6,e7,e8"
ROW = "T,a-b,natural,1,2,3,4,5,6,7,8"


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
