"""The plug-ins of docs/extending.md run; names and links of every page hold."""

import doctest
import re
import shlex
from pathlib import Path

import pandas as pd
import pytest
from beside import beside

from harness import outcomes
from harness.cli import main
from harness.evaluation import null_tables as null_evaluation_tables
from harness.evaluation import rates as size_power

KNOWN = beside(__file__)

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted((ROOT / "docs").glob("*.md"))
FILE = re.compile(r"^`([\w/.]+)`:\n\n```(?:python|yaml)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
EXTENDING = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")


@pytest.fixture
def beside(tmp_path, here):
    """A folder with the plug-ins of the page and texts on two topics, in which commands run."""
    for name, text in FILE.findall(EXTENDING):
        (tmp_path / name).write_text(text, encoding="utf-8")
    words = {"metal": "gold silver copper ounce mine ore", "crop": "wheat maize grain harvest bushel farm"}
    for number in range(160):
        topics = [topic for i, topic in enumerate(words) if (number >> i) & 1] or ["crop"]
        text = " ".join(words[topic] for topic in topics) + f" market report {'price ' * (number % 7)}"
        text = " ".join(text.split()[number % 5 :: 2])
        for topic in topics:
            (tmp_path / "FOLDER" / topic).mkdir(parents=True, exist_ok=True)
            (tmp_path / "FOLDER" / topic / f"{number:03}.txt").write_text(text)
    return tmp_path


def test_the_examples_are_short():
    lengths = {name: len(text.splitlines()) for name, text in FILE.findall(EXTENDING)}
    assert list(lengths) == ["mytests.py", "mycorpora.py", "mymodels.py"]
    assert max(lengths.values()) <= 25


COMMANDS = [line for line in EXTENDING.splitlines() if line.startswith("harness ")]


@pytest.mark.parametrize("command", COMMANDS)
def test_the_commands_of_the_examples_compose(beside, command, capfd):
    assert main([*shlex.split(command)[1:], "--cfg", "job"]) == 0
    assert "command: " in capfd.readouterr().out


def test_the_examples_run_together_for_any_number_of_workers(beside, unpainted, monkeypatch):
    """One run with the corpus, the model and the test of one's own, and a classifier of scikit-learn."""
    words = [
        "plugins=[mytests.py,mycorpora.py,mymodels.py]", "corpus=folders", "corpus.path=FOLDER",
        "split.n_train=60", "balance=[natural]", "model=[linear_svm,centroid]",
        "+model.centroid.grid.shrink=[0,0.1]", "+model.tree._target_=sklearn.tree.DecisionTreeClassifier",
        "pairs=[linear_svm-centroid,centroid-tree]", "test=[sign,mcnemar_exact]", "truth=[exact_zero]",
        "sets.n_sets=20", "sets.sizes=[50]", "alphas=[0.05]", "figure=draft", "figure.dpi=40",
        "cache=null",
    ]  # fmt: skip
    assert main(["run", *words, "out=by_1", "parallel.n_jobs=1"]) == 0
    for name in ("draw_figures", "write_summary"):  # the tables are what may depend on workers
        monkeypatch.setattr(f"harness.run.study.{name}", lambda *arguments, **options: [])
    assert main(["run", *words, "out=by_2", "parallel.n_jobs=2"]) == 0
    models = pd.read_csv("by_1/models.csv")
    assert set(models["model"]) == {"linear_svm", "centroid", "tree"}
    assert models.loc[models["model"] == "centroid", "n_folds"].min() == 3
    rows = pd.read_csv("by_1/size_power_by_category.csv")
    by_test = dict(tuple(rows.groupby("test")))
    assert by_test["sign"]["n_rejected"].tolist() == by_test["mcnemar_exact"]["n_rejected"].tolist()
    for path in Path("by_1").glob("*.csv"):
        assert path.read_bytes() == (Path("by_2") / path.name).read_bytes(), path.name


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


EXPLAINED = set(re.findall(r"`([\w]+)`", (ROOT / "docs" / "tables.md").read_text(encoding="utf-8")))


def test_every_column_of_the_main_tables_is_explained():
    for columns in (
        outcomes.COLUMNS, size_power.SIZE_POWER, size_power.BY_CATEGORY,
        null_evaluation_tables.PATH, null_evaluation_tables.NULLS,
    ):  # fmt: skip
        assert set(columns) <= EXPLAINED | {f"e{i}" for i in range(1, 9)}, set(columns) - EXPLAINED


@pytest.mark.parametrize("name", KNOWN["committed"])
def test_every_column_of_the_committed_tables_is_explained(name):
    columns = set(pd.read_csv(ROOT / "results" / name, nrows=0).columns)
    assert columns <= EXPLAINED, columns - EXPLAINED


def test_the_figures_that_the_results_name_are_there():
    text = (ROOT / "results" / "README.md").read_text(encoding="utf-8")
    named = re.findall(r"`([\w-]+/figures/\w[\w.]*)`", text)
    assert len(named) >= 5
    for name in named:
        assert (ROOT / "results" / f"{name}.pdf").is_file(), name
