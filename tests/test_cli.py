"""The command line: what it prints, what it refuses, what it leaves behind."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from html_page import check_page

from harness.cli import main
from harness.outcomes import Population, write_outcomes

TINY = [
    "sets.n_sets=20", "sets.sizes=[100,300]", "alphas=[0.05]", "n_replicates=200", "sets.n_truth_sets=200",
    "parallel=sequential", "cache=null", "figure=draft",
]  # fmt: skip


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty working folder with an outcomes table beside it."""
    generator = np.random.default_rng(0)
    shares = generator.dirichlet([9, 3, 2, 5, 4, 3, 4, 99], 6)
    counts = np.array([generator.multinomial(5000, row) for row in shares])
    names = tuple(f"T{i}" for i in range(6))
    populations = [
        Population(pair, balance, names, counts + i)
        for i, (pair, balance) in enumerate(
            (p, b) for b in ("natural", "meta") for p in ("linear_svm-mlp", "linear_svm-rbf_svm")
        )
    ]
    write_outcomes(populations, tmp_path / "outcomes.csv")
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def run(capfd, *arguments):
    """Run the command in this process and return exit code, standard output and standard error."""
    code = main(list(arguments))
    out, err = capfd.readouterr()
    return code, out, err


def refused(capfd, here, *arguments):
    """Check that a command fails in one clear sentence and leaves nothing; return the sentence."""
    code, _, err = run(capfd, *arguments)
    assert code == 2
    assert "Traceback" not in err
    assert 1 <= len(err.strip().splitlines()) <= 2, err
    assert list(here.iterdir()) == []
    return err


def test_the_bootstrap_in_the_limit(capfd, here):
    tests = "test=[bootstrap_f1,bootstrap_error_symmetric]"
    options = [*TINY, "n_replicates=null", tests, "population=../outcomes.csv", "out=limit"]
    code, _, err = run(capfd, "run", *options)
    assert code == 0, err
    assert json.loads((here / "limit" / "provenance.json").read_text())["n_replicates"] is None
    assert "infinitely many replicates" in (here / "limit" / "summary.md").read_text()


def test_alone_it_prints_the_commands(capfd):
    code, out, _ = run(capfd)
    assert code == 0
    assert "harness run" in out
    assert "harness figures" in out


def test_unknown_command(capfd):
    code, _, err = run(capfd, "runn")
    assert code == 2
    assert "'runn' is no command; run, compare, " in err


def test_help_is_quick_to_import_and_tells_the_choices():
    """Torch, scikit-learn, pandas and matplotlib are imported where they are used."""
    program = (
        "import sys; from harness.cli import main\n"
        "main(['run', '--help'])\n"
        "heavy = {'torch', 'sklearn', 'pandas', 'matplotlib', 'nltk'} & set(sys.modules)\n"
        "print('HEAVY', sorted(heavy))"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "HEAVY []" in answer.stdout
    assert "corpus:" in answer.stdout
    assert "lyrl" in answer.stdout


def test_a_run_from_a_table_leaves_everything(capfd, here):
    code, out, err = run(capfd, "run", "population=../outcomes.csv", "out=study", *TINY[:-1])
    assert code == 0, err
    study = here / "study"
    tables = ("outcomes.csv", "size_power.csv", "size_power_by_category.csv")
    for name in (*tables, "summary.md", "provenance.json"):
        assert (study / name).stat().st_size > 0
    for name in ("figure1", "figure2"):
        assert (study / "figures" / f"{name}.png").stat().st_size > 0
        assert (study / "figures" / f"{name}.pdf").stat().st_size > 0
    check_page(study)
    assert (study / "outcomes.csv").read_bytes() == (here.parent / "outcomes.csv").read_bytes()
    assert "Findings:" in out
    assert json.loads((study / "provenance.json").read_text())["finished"] is True


def test_the_same_command_again_says_that_it_is_finished(capfd, here):
    arguments = ("run", "population=../outcomes.csv", "out=study", *TINY)
    assert run(capfd, *arguments)[0] == 0
    before = {p: p.stat().st_mtime_ns for p in here.rglob("*")}
    code, out, _ = run(capfd, *arguments)
    assert code == 0
    assert "finished" in out
    assert {p: p.stat().st_mtime_ns for p in here.rglob("*")} == before


def test_a_folder_of_another_configuration_is_refused_and_kept(capfd, here):
    assert run(capfd, "run", "population=../outcomes.csv", "out=study", *TINY)[0] == 0
    before = (here / "study" / "size_power.csv").read_bytes()
    code, _, err = run(capfd, "run", "population=../outcomes.csv", "out=study", *TINY, "seed=1")
    assert code == 2
    assert "another configuration" in err
    assert (here / "study" / "size_power.csv").read_bytes() == before


def test_an_interrupted_run_goes_on(capfd, here):
    arguments = ("run", "population=../outcomes.csv", "out=study", *TINY)
    assert run(capfd, *arguments)[0] == 0
    expected = (here / "study" / "size_power.csv").read_bytes()
    provenance = here / "study" / "provenance.json"
    facts = json.loads(provenance.read_text())
    provenance.write_text(json.dumps(facts | {"finished": False}))
    (here / "study" / "size_power.csv").unlink()
    assert run(capfd, *arguments)[0] == 0
    assert (here / "study" / "size_power.csv").read_bytes() == expected


def test_figures_are_redrawn_from_the_tables_alone(capfd, here):
    assert run(capfd, "run", "population=../outcomes.csv", "out=study", *TINY)[0] == 0
    figure = here / "study" / "figures" / "figure1.png"
    before = figure.read_bytes()
    figure.unlink()
    code, out, _ = run(capfd, "figures", "from=study", "figure=draft")
    assert code == 0
    assert "figure1.png" in out
    assert figure.read_bytes() == before


def test_a_sweep_gives_each_job_its_folder(capfd, here):
    code, _, err = run(capfd, "run", "-m", "population=../outcomes.csv", "out=sweep", "seed=0,1", *TINY)
    assert code == 0, err
    folders = sorted(p.parent for p in here.glob("sweep/*/size_power.csv"))
    assert len(folders) == 2
    assert folders[0].name.startswith("degenerate") is False
    assert (folders[0] / "size_power.csv").read_bytes() != (folders[1] / "size_power.csv").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["sets.sizes=[0]"], "sets.sizes: 0 is not allowed"),
        (["sets.sizes=[]"], "sets.sizes: [] is not allowed"),
        (["sets.sizes=[100,100]"], "names one twice"),
        (["sets.sizes=[ten]"], "'ten' is not allowed"),
        (["sets.sizes=[9000]", "sets.replacement=false"], "9000"),
        (["sets.n_sets=0"], "sets.n_sets: 0"),
        (["alphas=[0]"], "alphas: 0 is not allowed"),
        (["alphas=[1.0]"], "numbers between 0 and 1"),
        (["alphas=[.05,.05]"], "names one twice"),
        (["seed=-1"], "seed: -1"),
        (["n_replicates=0"], "n_replicates: 0"),
        (["n_replicates=null", "test=[bootstrap_t_f1]"], "test.bootstrap_t_f1: n_replicates: None"),
        (["device=tpu"], "device: 'tpu' is not allowed; choose one of auto, cpu, cuda"),
        (["degenerate=maybe"], "choose one of accept, reject"),
        (["nonsense=1"], "nonsense"),
        (["+nonsense=1"], "nonsense: there is no such key"),
        (["+sets.nonsense=1"], "sets.nonsense: there is no such key"),
        (["test=[mcnemar2]"], "mcnemar2"),
        (["test=[]"], "test: none is chosen"),
        (["experiment=nips2006"], "nips2006"),
        (["corpus=rcv2"], "rcv2"),
        (["balance=[upside]"], "upside"),
        (["parallel.n_jobs=0"], "parallel.n_jobs: 0"),
        (["test.mcnemar.variant=other"], "variant"),
        (["+test.mcnemar.colour=red"], "colour"),
        (["test.mcnemar.measure=beauty"], "beauty"),
        (["test.mcnemar._target_=os.system"], "'os.system' is not allowed"),
        (["test.mcnemar._target_=harness.runtime.store.os.remove"], "functions of harness.significance, are"),
        (["test.mcnemar._target_=harness.nowhere.nothing"], "is not allowed"),
        (["population=absent.csv"], "absent.csv"),
        (["sets.n_sets=many"], "'many' is not allowed"),
        (["alphas=.05"], "a list of at least one is"),
        (["truth=[]"], "truth: none is chosen"),
    ],
)
def test_wrong_settings(arguments, said, capfd, here):
    given = ["population=../outcomes.csv", *TINY]
    names = [a.split("=")[0] for a in arguments]
    err = refused(capfd, here, "run", *(g for g in given if g.split("=")[0] not in names), *arguments)
    assert said in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["corpus=lyrl", "corpus.path=absent"], "absent"),
        (["corpus=lyrl"], "path"),
        (["split.n_train=12000"], "n_train"),
        (["split.n_train=1"], "split.n_train: 1"),
        (["split.order=sideways"], "choose one of random, chronological"),
        (["pairs=[linear_svm-forest]"], "'linear_svm-forest' is not allowed"),
        (["pairs=[mlp-mlp]"], "two different models"),
        (["balance=[meta]", "balance.meta.low=0.9", "balance.meta.high=0.8"], "0 < low <= high < 1"),
        (["balance=[reweighted]", "balance.reweighted.prevalence=[2]"], "prevalence=2"),
        (["corpus.n_documents=0"], "n_documents"),
        (["corpus.n_documents=many"], "n_documents"),
        (["features=as_stored", "features.min_df=2"], "min_df"),
        (["features.min_df=99999"], "min_df"),
        (["model.linear_svm.C=-1"], "C"),
    ],
)
def test_wrong_settings_of_a_full_run(arguments, said, capfd, here):
    assert said in refused(capfd, here, "run", "cache=null", "parallel=sequential", *arguments)


def test_places_that_cannot_be_written(capfd, here):
    (here.parent / "file").write_text("text")
    for out in ("../file", "../file/below"):
        err = refused(capfd, here, "run", "population=../outcomes.csv", f"out={out}", *TINY)
        assert "file" in err
    assert (here.parent / "file").read_text() == "text"


def test_a_folder_of_other_files_is_refused_and_kept(capfd, here):
    (here.parent / "precious").mkdir()
    (here.parent / "precious" / "thesis.tex").write_text("text")
    err = refused(capfd, here, "run", "population=../outcomes.csv", "out=../precious", *TINY)
    assert "files of something else" in err
    assert [p.name for p in (here.parent / "precious").iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("category,pair\nT,a-b\n", "balance"),
        ("", "outcomes.csv"),
        ("category,pair,balance,e1,e2,e3,e4,e5,e6,e7,e8\nT,a-b,natural,1,2,3,4,5,6,7,x\n", "x"),
        ("category,pair,balance,e1,e2,e3,e4,e5,e6,e7,e8\nT,a-b,upside,1,2,3,4,5,6,7,8\n", "upside"),
        ("category,pair,balance,e1,e2,e3,e4,e5,e6,e7,e8\nT,a-b,natural,1,2,3,4,5,6,7,-8\n", "-8"),
    ],
)
def test_a_broken_outcomes_table(text, said, capfd, here):
    (here.parent / "broken_outcomes.csv").write_text(text)
    assert said in refused(capfd, here, "run", "population=../broken_outcomes.csv", *TINY)


def test_figures_of_nothing(capfd, here):
    assert "from=absent" in refused(capfd, here, "figures", "from=absent")
    assert "from" in refused(capfd, here, "figures")


def test_a_preset_of_another_command_is_refused(capfd, here):
    assert "is one of `harness figures`" in refused(capfd, here, "run", "command=figures")
    assert "not of `harness run`" in refused(capfd, here, "run", "experiment=wine")
    for preset in ("nips2005", "nips2005_dissimilar"):
        assert "is one of `harness run`" in refused(capfd, here, "compare", f"experiment={preset}")


def test_closed_standard_output():
    command = f"exec {sys.executable} -m harness --version >&-"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("arguments", [[], ["--help"], ["run", "--help"], ["--version"]])
def test_standard_output_that_is_full(arguments):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "harness", *arguments], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 2
    assert done.stderr.startswith("harness: standard output: No space left on device")
    assert len(done.stderr.splitlines()) == 1


def test_a_backend_of_matplotlib_that_does_not_exist(here, monkeypatch):
    """Figures are files: what MPLBACKEND names is not asked."""
    import os

    command = [sys.executable, "-m", "harness", "figures", "from=absent"]
    environment = os.environ | {"MPLBACKEND": "nosuch"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith("harness figures: from=absent: it holds no size_power.csv")


def test_a_library_of_another_distribution_has_a_version():
    from harness.compare.learners import version_of

    assert version_of("sklearn").count(".") >= 1
    assert version_of("html") == "unknown"
