"""Command lines that cannot be used: one sentence, exit code 2, nothing left behind.

What a setting may be is tested on the models, in test_settings.py.
"""

import pickle
from pathlib import Path

import pytest
from bad_input import COMMON, FULL, LEARNERS, STORED, bad, both, named, refuse, text

from harness.cli import main

HUGE = str(10**12)

LINES = [
    bad("run --nonsense", "unrecognized arguments: --nonsense", "harness run --help"),
    bad("run --cfg nonsense", "invalid choice: 'nonsense'"),
    bad("run foo", "foo"),
    bad("run =5", "'=5' has no name before the ="),
    bad("run sets.sizes=[1,2", "sets.sizes=[1,2"),
    bad("run --config-dir=absent", "absent"),
    bad("run seed=${nope}", "nope"),
    bad("run seed=" + "9" * 5000, "4300 digits", name="run seed of 5000 digits"),
    bad("run ~seed", "seed"),
    bad("run +corpus.topic_names={1:a,b:c}", "corpus.topic_names", "keys of one kind"),
    bad("run corpus=null", "corpus: null is not allowed; choose"),
    bad("run test=[]", "test: none is chosen"),
    bad("run experiment=../x", "../x"),
    bad("run experiment=wine", "one of `harness compare`, not of `harness run`"),
    bad("run sets.sizes=[9000] sets.replacement=false", "9000"),
]
TRAINING = [
    bad(f"run n_documents=100 split.n_train={HUGE}", "n_train"),
    bad("run split.n_train=12000", "n_train"),
    bad("run categories=[C13]", "categories: they are chosen from a stored table"),
    bad("run pairs=[linear_svm-forest]", "'linear_svm-forest' is not allowed"),
    bad("run pairs=[mlp-mlp]", "two different models"),
    bad("run balance=[meta] balance.meta.low=0.9 balance.meta.high=0.8", "0 < low <= high < 1"),
    bad("run corpus.n_documents=many", "n_documents"),
    bad("run features=as_stored features.min_df=2", "min_df"),
    bad("run features.min_df=99999", "min_df"),
    bad("run corpus._target_=harness.corpora.rcv1_topics.keep_frequent", "corpus"),
]
OTHERS = [
    bad("compare test_share=0.999", "test_share: 0.999", "178 samples of wine"),
    bad("compare scorer=roc_auc", "scorer: roc_auc cannot score the data wine"),
    bad("compare experiment=nips2005_dissimilar", "is one of `harness run`"),
    bad("advise ~measure", "'measure' does not exist"),
    bad("advise n_replicates=inf", "n_replicates: inf is not allowed"),
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
MADE = text(
    "own/hydra/hydra_logging/own.yaml",
    "version: 1\nformatters:\n  f:\n    (): pathlib.Path.touch\n    self: ../it_ran\n",
)
PRIMARY = text("own/run.yaml", "hydra:\n  searchpath: [pkg://antigravity]\n")
CODE = [
    bad(f"run +hydra.callbacks.x.{PICKLE}", "hydra.callbacks: x is not allowed", make=evil),
    bad(f"run seed=0,1 +hydra.callbacks.x.{PICKLE} -m", "hydra.callbacks: x is not allowed", make=evil),
    bad(f"run +hydra.callbacks.x.{PICKLE} --cfg hydra", "hydra.callbacks: x is not allowed", make=evil),
    bad("run figure=own --config-dir=../own", "hydra.callbacks: x is", make=both(evil, CALLBACK)),
    bad("run hydra/job_logging=own --config-dir=../own", "one of none, disabled, stdout is", make=LOGGED),
    bad("run hydra/hydra_logging=own --config-dir=../own", "hydra.hydra_logging: its", make=MADE),
    bad("run --config-dir=../own", "run.yaml is not allowed there", make=PRIMARY),
    bad("run --config-path=../own", "--config-path and --config-name are not allowed", make=PRIMARY),
    bad("run -cn advise", "--config-path and --config-name are not allowed"),
    bad("run hydra/job_logging=default", "one of none, disabled, stdout is"),
    bad("run hydra.searchpath=[pkg://antigravity]", "plain folders, is"),
    bad("run ++hydra.searchpath=[../own]", "plain folders, is"),
    bad("run hydra.searchpath=[file:///tmp,pkg://antigravity]", "plain folders, is"),
    bad("run seed=0,1 hydra.launcher._target_=os.system -m", "hydra.launcher._target_: 'os.system'"),
    bad("run hydra.job.chdir=true seed=-1", "hydra.job.chdir: True is not allowed"),
]


@pytest.mark.parametrize("case", named(CODE))
def test_code_from_a_configuration(case, tmp_path, monkeypatch, capfd):
    refuse(case, COMMON + STORED, tmp_path, monkeypatch, capfd)


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
