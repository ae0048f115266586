"""What docs/extending.md shows is put in place in a copy of the package, and runs; names and links hold."""

import doctest
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from harness import outcomes
from harness.evaluation import category_rates as size_power_categories
from harness.evaluation import null_tables as null_evaluation_tables
from harness.evaluation import rates as size_power

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted((ROOT / "docs").glob("*.md"))
FILE = re.compile(r"^`([\w/.]+)`:\n\n```(?:python|yaml)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
EXTENDING = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def extended(tmp_path_factory):
    """A copy of the package and its configuration with the examples in place."""
    folder = tmp_path_factory.mktemp("extended")
    ignored = shutil.ignore_patterns("__pycache__")
    for name in ("harness", "conf", "results/nips2005-slice/outcomes.csv", "tests/test_contract.py"):
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        copy = shutil.copy if (ROOT / name).is_file() else lambda a, b: shutil.copytree(a, b, ignore=ignored)
        copy(ROOT / name, target)
    for name, text in FILE.findall(EXTENDING):
        assert not (folder / name).exists(), f"{name} exists already; the example needs another name"
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def in_copy(folder, *arguments):
    """Run a module of the copy; the copy goes before the installed package."""
    environment = os.environ | {"PYTHONPATH": str(folder)}
    command = [sys.executable, "-m", *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def test_the_examples_are_three_files_and_their_yamls():
    names = [name for name, _ in FILE.findall(EXTENDING)]
    assert [Path(name).suffix for name in names] == [".py", ".yaml"] * 3
    assert EXTENDING.count("```python") == EXTENDING.count("```yaml") == 3


def test_the_examples_pass_the_contract_and_their_doctests(extended):
    chosen = "sign or folders or logistic_regression"
    out = in_copy(
        extended, "pytest", "-q", "-p", "no:cacheprovider", "-k", chosen, "tests/test_contract.py",
        "--doctest-modules", "harness/significance/sign.py",
    )  # fmt: skip
    assert "passed" in out
    assert "failed" not in out


def test_the_commands_of_the_examples_compose(extended):
    commands = [shlex.split(line)[1:] for line in EXTENDING.splitlines() if line.startswith("harness run ")]
    assert len(commands) == 3
    for words in commands:
        assert "command: run" in in_copy(extended, "harness", *words, "--cfg", "job")


@pytest.mark.slow
def test_the_examples_run_together(extended):
    """One run with the new corpus, model and test: a folder of texts on two topics."""
    words = {"metal": "gold silver copper ounce mine ore", "crop": "wheat maize grain harvest bushel farm"}
    for topic in words:
        (extended / "texts" / topic).mkdir(parents=True)
    for number in range(160):
        topics = [topic for i, topic in enumerate(words) if (number >> i) & 1] or ["crop"]
        text = " ".join(words[topic] for topic in topics) + f" market report {'price ' * (number % 7)}"
        text = " ".join(text.split()[number % 5 :: 2])
        for topic in topics:
            (extended / "texts" / topic / f"{number:03}.txt").write_text(text)
    in_copy(
        extended, "harness", "run", "corpus=folders", "corpus.path=texts", "split.n_train=60",
        "balance=[natural]", "model=[linear_svm,logistic_regression]",
        "pairs=[linear_svm-logistic_regression]", "test=[sign,mcnemar_exact]", "truth=[exact_zero]",
        "sets.n_sets=20", "sets.sizes=[50]", "alphas=[0.05]", "tune.enabled=false", "figure=draft",
        "figure.formats=[png]", "cache=null", "out=out", "parallel=sequential",
    )  # fmt: skip
    assert set(pd.read_csv(extended / "out" / "models.csv")["model"]) == {"linear_svm", "logistic_regression"}
    rows = pd.read_csv(extended / "out" / "size_power_by_category.csv")
    by_test = dict(tuple(rows.groupby("test")))
    assert by_test["sign"]["n_rejected"].tolist() == by_test["mcnemar_exact"]["n_rejected"].tolist()


# --- every page ------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *PAGES], ids=lambda p: p.name)
def test_links_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if not target.startswith(("http", "#")):
            assert (page.parent / target.partition("#")[0]).exists(), target


@pytest.mark.parametrize("page", [p for p in PAGES if p.name != "extending.md"], ids=lambda p: p.name)
def test_examples_in_python_run(page):
    assert doctest.testfile(str(page), module_relative=False, encoding="utf-8").failed == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_files_and_functions_that_are_named_exist(page):
    text = EXTENDING if page.name == "extending.md" else page.read_text(encoding="utf-8")
    placed = {name for name, _ in FILE.findall(EXTENDING)}
    for name in re.findall(r"`((?:harness|conf|tests|scripts|results|notebooks)/[\w/.-]+)`", text):
        assert name in placed or (ROOT / name).exists(), name


def test_every_column_of_the_main_tables_is_explained():
    text = (ROOT / "docs" / "tables.md").read_text(encoding="utf-8")
    explained = set(re.findall(r"`([\w]+)`", text))
    for columns in (
        outcomes.COLUMNS, size_power.SIZE_POWER, size_power_categories.BY_CATEGORY,
        null_evaluation_tables.PATH, null_evaluation_tables.NULLS,
    ):  # fmt: skip
        assert set(columns) <= explained | {f"e{i}" for i in range(1, 9)}, set(columns) - explained


def columns_of(path):
    return pd.read_csv(path, nrows=0).columns


@pytest.mark.parametrize(
    "name",
    [
        "nips2005-slice/models.csv", "nips2005-slice/categories.csv", "nips2005-slice/tables/truth_rules.csv",
        "exact-null-slice/tables/ranking.csv", "rr0434-slice/table3.csv", "rr0434-slice/calibration.csv",
        "rr0434-slice/histograms.csv", "wine/verdicts.csv", "wine/rejections.csv", "wine/scores.csv",
        "wine/trials.csv", "wine/failures.csv", "dietterich1998/algorithm_size_power.csv",
        "dietterich_rcv1/true_differences.csv",
    ],
)  # fmt: skip
def test_every_column_of_the_committed_tables_is_explained(name):
    text = (ROOT / "docs" / "tables.md").read_text(encoding="utf-8")
    explained = set(re.findall(r"`([\w]+)`", text))
    assert set(columns_of(ROOT / "results" / name)) <= explained, (
        set(columns_of(ROOT / "results" / name)) - explained
    )


def test_the_figures_that_the_results_name_are_there():
    text = (ROOT / "results" / "README.md").read_text(encoding="utf-8")
    named = re.findall(r"`([\w-]+/figures/\w[\w.]*)`", text)
    assert len(named) >= 5
    for name in named:
        assert (ROOT / "results" / f"{name}.pdf").is_file(), name
