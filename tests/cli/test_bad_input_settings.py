"""Command lines and files that cannot be used: one sentence, exit code 2, nothing left behind.

What a setting may be is tested on the models, in test_settings.py, what each loader refuses with the loader.
"""

import pickle
from pathlib import Path

import pytest
from bad_input import COMMON, FULL, LEARNERS, STORED, bad, both, named, refuse, text

from harness.cli import main

LINES = [
    bad("run --nonsense", "unrecognized arguments: --nonsense", "harness run --help"),
    bad("run --cfg nonsense", "invalid choice: 'nonsense'"),
    bad("run foo", "foo"),
    bad("run =5", "'=5' has no name before the ="),
    bad("run sets.sizes=[1,2", "sets.sizes=[1,2"),
    bad("run --config-dir=absent", "absent"),
    bad("run seed=${nope}", "nope"),
    bad("run seed=" + "9" * 5000, "4300 digits", name="run seed of 5000 digits"),
    bad("run +corpus.topic_names={1:a,b:c}", "corpus.topic_names", "keys of one kind"),
    bad("run experiment=../x", "../x"),
]
TRAINING = [
    bad("run n_documents=100 split.n_train=1000000000000", "n_train"),
    bad("run split.n_train=12000", "n_train"),
    bad("run categories=[C13]", "categories: they are chosen from a stored table"),
    bad("run pairs=[linear_svm-forest]", "'linear_svm-forest' is not allowed"),
]
HEAD = "category,pair,balance,e1,e2,e3,e4,e5,e6,e7,e8\nT,a-b,upside,1,2,3,4,5,6,7,8\n"
FILES = [
    bad("run population=..", "it is a folder"),
    bad("run population=../t.csv", "holds balance upside", make=text("t.csv", HEAD)),
    bad("run population=/dev/zero", "/dev/zero: cannot be read because it is no regular file"),
]
SVM, LINES_OF_SVM = "run corpus=svmlight corpus.path=../a.svm", "0,2 1:3 7:1\n2 1:1\n"
TRAINING += [
    bad(SVM, "line 3: '1 a:b'", make=text("a.svm", LINES_OF_SVM + "1 a:b\n")),
    bad(f"{SVM} corpus.n_terms=text", "'text'", make=text("a.svm", LINES_OF_SVM)),
    bad("run corpus=lyrl", "corpus.path: it is missing; give it"),
]
OTHERS = [
    bad(
        "compare data=csv data.csv.path=../d.csv data.csv.target=y",
        "class 'b'",
        make=text("d.csv", "x,y\n1,a\n2,a\n3,b\n"),
    ),
    bad("compare experiment=nips2005_dissimilar", "is one of `harness run`"),
    bad("advise ~measure", "'measure' does not exist"),
    bad("figures from=x parallel._target_=os.system", "'os.system' is not allowed"),
]


class Ran:
    """Leaves a mark where it is unpickled."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return Path.touch, (self.mark,)


def evil(folder):
    (folder / "evil.pkl").write_bytes(pickle.dumps(Ran(folder / "it_ran")))


PICKLE = "_target_=pandas.read_pickle +hydra.callbacks.x.filepath_or_buffer=../evil.pkl"
CALLBACK = text(
    "own/figure/own.yaml",
    "# @package _global_\nhydra:\n  callbacks:\n    x:\n      _target_: pandas.read_pickle\n"
    "      filepath_or_buffer: ../evil.pkl\n",
)
LOGGED = text(
    "own/hydra/job_logging/own.yaml",
    "version: 1\nhandlers:\n  f:\n    class: logging.FileHandler\n    filename: ../it_ran\n"
    "root:\n  handlers: [f]\n",
)
PRIMARY = text("own/run.yaml", "hydra:\n  searchpath: [pkg://antigravity]\n")
CODE = [
    bad(f"run +hydra.callbacks.x.{PICKLE}", "hydra.callbacks: x is not allowed", make=evil),
    bad(f"run seed=0,1 +hydra.callbacks.x.{PICKLE} -m", "hydra.callbacks: x is not allowed", make=evil),
    bad(f"run +hydra.callbacks.x.{PICKLE} --cfg hydra", "hydra.callbacks: x is not allowed", make=evil),
    bad("run figure=own --config-dir=../own", "hydra.callbacks: x is", make=both(evil, CALLBACK)),
    bad("run hydra/job_logging=own --config-dir=../own", "one of none, disabled, stdout is", make=LOGGED),
    bad("run --config-dir=../own", "run.yaml is not allowed there", make=PRIMARY),
    bad("run --config-path=../own", "--config-path and --config-name are not allowed", make=PRIMARY),
    bad("run hydra.searchpath=[pkg://antigravity]", "plain folders, is"),
    bad("run seed=0,1 hydra.launcher._target_=os.system -m", "hydra.launcher._target_: 'os.system'"),
]


@pytest.mark.parametrize("case", named(CODE))
def test_code_from_a_configuration(case, tmp_path, monkeypatch, capfd):
    refuse(case, COMMON + STORED, tmp_path, monkeypatch, capfd)


@pytest.mark.parametrize("case", named(FILES))
def test_populations(case, tmp_path, monkeypatch, capfd):
    defaults = tuple(text for text in STORED if not text.startswith("population="))
    refuse(case, COMMON + defaults, tmp_path, monkeypatch, capfd)


@pytest.mark.parametrize("case", named(LINES))
def test_run(case, tmp_path, monkeypatch, capfd):
    refuse(case, COMMON + STORED, tmp_path, monkeypatch, capfd)


@pytest.mark.parametrize("case", named(TRAINING))
def test_run_with_training(case, tmp_path, monkeypatch, capfd):
    refuse(case, COMMON + FULL, tmp_path, monkeypatch, capfd)


@pytest.mark.parametrize("case", named(OTHERS))
def test_other_commands(case, tmp_path, monkeypatch, capfd):
    text("p.csv", "y_true,a,b\n" + "1,1,0\n0,0,1\n1,0,1\n" * 9)(tmp_path)
    own = {"compare": COMMON + LEARNERS, "advise": (*COMMON, "predictions=../p.csv")}
    refuse(case, own.get(case.arguments.split()[0], ()), tmp_path, monkeypatch, capfd)


@pytest.mark.parametrize(
    "line",
    [
        "run population=rcv1-slice test=[wald_f1,f1_unconditional] out=result cache=null",
        "advise predictions=../p.csv measure=f1 test=[f1_estimated,f1_unconditional] out=result cache=null",
        "advise predictions=../p.csv test=[f1_estimated] test.f1_estimated.variant=berger_boos out=result",
    ],
)
def test_a_test_that_takes_seconds_a_set_is_refused_before_any_work(line, tmp_path, monkeypatch, capfd):
    text("p.csv", "y_true,a,b\n" + "1,1,0\n0,0,1\n1,0,1\n" * 9)(tmp_path)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert main(line.split()) == 2
    (told,) = capfd.readouterr().err.splitlines()
    assert "takes seconds, and thousands of sets would take days" in told
    assert "harness.compare_predictions applies it to one file" in told
    assert not any(Path().iterdir())
