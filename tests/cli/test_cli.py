import contextlib
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from html_page import check_page
from killing import FEW, write_table

from harness.cli import main

ARGUMENTS = ["run", "population=../outcomes.csv", "out=study", *FEW]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A folder with an outcomes table, a working folder with a run that began from it, and what it said."""
    folder = tmp_path_factory.mktemp("finished")
    write_table(folder / "outcomes.csv")
    (folder / "work").mkdir()
    with contextlib.chdir(folder / "work"), (folder / "said").open("w") as said:
        with contextlib.redirect_stdout(said):
            assert main([*ARGUMENTS, "verbose=2", "cache=kept"]) == 0
    return folder


@pytest.fixture
def here(finished, tmp_path, monkeypatch):
    """A copy of the working folder with the finished run."""
    shutil.copytree(finished, tmp_path / "copy")
    monkeypatch.chdir(tmp_path / "copy" / "work")
    return tmp_path / "copy" / "work"


def run(capfd, *arguments):
    """Run the command in this process and return exit code, standard output and standard error."""
    code = main(list(arguments))
    out, err = capfd.readouterr()
    return code, out, err


def test_a_run_from_a_table_leaves_everything(here):
    study = here / "study"
    tables = ("outcomes.csv", "size_power.csv", "size_power_by_category.csv")
    figures = ["figures/figure1.png", "figures/figure2.png"]
    for name in (*tables, "summary.md", "provenance.json", *figures):
        assert (study / name).stat().st_size > 0
    check_page(study)
    assert (study / "outcomes.csv").read_bytes() == (here.parent / "outcomes.csv").read_bytes()
    facts = json.loads((study / "provenance.json").read_text())
    assert facts["finished"] is True
    assert {"sets.n_sets=20", "out=study"} <= set(facts["overrides"])
    assert not list(study.glob(".*"))


def test_the_same_command_again_says_that_it_is_finished(capfd, here):
    """Whatever is said meanwhile: `verbose` makes no other run."""
    before = {p: p.stat().st_mtime_ns for p in here.rglob("*") if p.is_file()}
    code, out, _ = run(capfd, *ARGUMENTS)
    assert code == 0
    assert "holds this very run, finished" in out
    assert {p: p.stat().st_mtime_ns for p in here.rglob("*") if p.is_file()} == before


def test_figures_are_redrawn_from_the_tables_alone(capfd, here):
    figure = here / "study" / "figures" / "figure1.png"
    before = figure.read_bytes()
    figure.unlink()
    code, out, _ = run(capfd, "figures", "from=study", "figure=draft", "parallel=sequential")
    assert code == 0
    assert "figure1.png" in out
    assert figure.read_bytes() == before


def test_a_run_that_says_all_and_one_of_the_bootstrap_in_the_limit_that_says_little(capfd, here, undrawn):
    told = (here.parent / "said").read_text()
    for words in ("evaluation sets and tests: ", "Findings:", "units were kept, 12 are to be made"):
        assert words in told
    tests = "test=[bootstrap_f1,bootstrap_error_symmetric]"
    more = ["n_replicates=null", "balance=[natural]", tests, "out=limit", "verbose=0"]
    assert run(capfd, *ARGUMENTS, *more)[:2] == (
        0, f"\nSummary: {here}/limit/summary.md; as a page: {here}/limit/report.html\n"
    )  # fmt: skip
    assert json.loads((here / "limit" / "provenance.json").read_text())["n_replicates"] is None
    assert "infinitely many replicates" in (here / "limit" / "summary.md").read_text()


def test_alone_it_prints_the_commands(capfd):
    code, out, _ = run(capfd)
    assert code == 0
    assert "harness run" in out
    assert "harness figures" in out


def test_help_is_quick_to_import_and_tells_the_choices():
    program = (
        "import sys; from harness.cli import main\n"
        "main(['run', '--help']), main(['compare', '--help'])\n"
        "heavy = {'torch', 'sklearn', 'pandas', 'matplotlib', 'nltk', 'xgboost'} & set(sys.modules)\n"
        "print('HEAVY', sorted(heavy))"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "HEAVY []" in answer.stdout
    assert re.search(r"^    n_sets: 100 +# of a category", answer.stdout, re.M)  # as it stands in its file
    assert "    mcnemar_midp  " in answer.stdout


def harness(*arguments, **options):
    """Run the command in a process of its own."""
    command = [sys.executable, "-m", "harness", *arguments]
    return subprocess.run(command, stderr=subprocess.PIPE, text=True, **options)


def test_closed_standard_output():
    command = f"exec {sys.executable} -m harness --version >&-"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("arguments", [[], ["run", "--help"], ["--version"]])
def test_standard_output_that_is_full(arguments):
    with Path("/dev/full").open("w") as full:
        done = harness(*arguments, stdout=full)
    assert done.returncode == 2
    assert done.stderr.startswith("harness: standard output: No space left on device")
    assert len(done.stderr.splitlines()) == 1


def test_a_library_of_another_distribution_has_a_version():
    from harness.compare.learners import version_of

    assert version_of("sklearn").count(".") >= 1
    assert version_of("html") == "unknown"
