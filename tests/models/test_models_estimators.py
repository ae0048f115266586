"""Any classifier of scikit-learn as a model, beside scikit-learn itself; plug-ins that are refused."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from composing import configured
from refusal import refusal
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from harness.cli import main
from harness.cli.arguments import run_arguments
from harness.errors import UserError
from harness.models.cross_validation import partition
from harness.models.estimators import Classifier
from harness.runtime import plugins
from harness.runtime.plugins import load_plugins

GRID = {"C": [0.01, 1.0, 100.0]}


def documents(n=240, n_terms=12, seed=0):
    generator = np.random.default_rng(seed)
    x = sparse.csr_array(generator.random((n, n_terms)) * (generator.random((n, n_terms)) < 0.5))
    y = x.toarray()[:, :3] + 0.1 * generator.standard_normal((n, 3)) > 0.45
    return x, np.concatenate([y, np.zeros((n, 1), bool), np.ones((n, 1), bool)], axis=1)


def test_decisions_are_those_of_scikit_learn():
    x, y = documents()
    model = Classifier({}, LogisticRegression())
    found = model.predict(model.fit(x[:150], y[:150], seed=0), x[150:])
    for j in range(3):
        known = LogisticRegression().fit(x[:150], y[:150, j]).predict(x[150:])
        np.testing.assert_array_equal(found[:, j], known)
    assert not found[:, 3].any()  # one class alone in training
    assert found[:, 4].all()


def test_the_setting_is_the_one_with_the_best_pooled_f1():
    x, y = documents(120)
    fitted = Classifier({}, LogisticRegression(), GRID).fit(x, y, seed=3)
    fold = partition(len(y), 3, 3)
    for j in range(3):
        scores = []
        for c in GRID["C"]:
            decided = np.empty(len(y), bool)
            for k in range(3):
                trained = LogisticRegression(C=c).fit(x[fold != k], y[fold != k, j])
                decided[fold == k] = trained.predict(x[fold == k])
            scores.append(f1_score(y[:, j], decided))
        assert fitted.tuned["C"][j] == GRID["C"][int(np.argmax(scores))]
        assert fitted.cv_score[j] == pytest.approx(max(scores))
    assert fitted.n_folds[3] == 0
    assert fitted.tuned["C"][3] == 1.0  # its own
    assert np.isnan(fitted.cv_score[3])


def test_random_states_come_from_the_seed():
    x, y = documents()
    model = Classifier({}, DecisionTreeClassifier(max_features=2))
    one, same, other = (model.predict(model.fit(x, y, seed=seed), x[::-1] * 0.9) for seed in (0, 0, 1))
    assert (one == same).all()
    assert (one != other).any()


@pytest.mark.parametrize(
    ("grid", "words"), [({"D": [1]}, "no such parameter"), ({"C": []}, "a list of values")]
)
def test_a_grid_that_does_not_fit_is_refused(grid, words):
    with pytest.raises(ValueError, match=words):
        Classifier({}, LogisticRegression(), grid)


def test_an_estimator_that_fails_is_one_sentence():
    x, y = documents()
    model = Classifier({}, GaussianNB())  # takes no sparse matrix
    with pytest.raises(UserError, match="model: GaussianNB cannot be trained here"):
        model.predict(model.fit(x, y, seed=0), x)


ODD = "import harness\n@harness.plugin({})\ndef odd(counts): return 1"
NO_PLUGINS = [
    (None, "no.py", "plugins: no.py: there is no such file"),
    (None, "no.txt", "plugins: no.txt is not allowed; a Python file NAME.py is"),
    ("1 / 0", "bad.py", "plugins: bad.py cannot be run (ZeroDivisionError"),
    (ODD.format("'tests'"), "bad.py", "group: 'tests' is not allowed; did you mean test?"),
]


@pytest.mark.parametrize(("text", "path", "said"), NO_PLUGINS)
def test_what_is_no_plugin_is_one_sentence(text, path, said, here):
    if text is not None:
        Path(path).write_text(text)
    assert said in refusal(load_plugins, [path])


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        (["+model.x._target_=sklearn.cluster.KMeans"], "KMeans is not allowed; a classifier is"),
        (["+model.x._target_=sklearn.tree.DecisionTreeClassifier", "+model.x.grid.y=[1]"],
         "model.x.grid.y: there is no such parameter"),
        (["+model.linear_svm.grid.C=[1]"], "model.linear_svm.grid: it is for classifiers"),
    ],
)  # fmt: skip
def test_what_is_no_model_is_one_sentence(overrides, said):
    assert said in refusal(run_arguments, configured("run", "out=unused", *overrides))


@pytest.mark.parametrize(
    ("text", "words", "said"),
    [
        # it returns no TestResult
        (ODD.format("'test', measure='error'"), ["plugins=[bad.py]", "test=[odd]"],
         "test.odd: the plug-in's odd is not allowed; a function of counts that is annotated"),
        ("import harness", ["--config-dir=own", "experiment=mine"],
         "plugins: a preset cannot name them, only the command line"),
    ],
)  # fmt: skip
def test_a_run_refuses_plugins_in_one_sentence(text, words, said, here, capfd):
    (here / "bad.py").write_text(text)
    (here / "own" / "experiment").mkdir(parents=True)
    preset = "# @package _global_\ndefaults: [smoke]\nplugins: [bad.py]\n"
    (here / "own" / "experiment" / "mine.yaml").write_text(preset)
    assert main(["run", *words, "out=out"]) == 2
    (line,) = capfd.readouterr().err.strip().splitlines()
    assert said in line
    assert not (here / "out").exists()


def test_a_folder_of_presets_is_found(tmp_path, here, capfd):
    (tmp_path / "experiment").mkdir()
    (tmp_path / "experiment" / "mine.yaml").write_text("# @package _global_\nseed: 41\n")
    place = f"hydra.searchpath=[file://{tmp_path}]"
    assert main(["run", place, "experiment=mine", "--cfg", "job"]) == 0
    assert "seed: 41" in capfd.readouterr().out


TEST = """
import numpy as np, harness
from harness.significance.result import TestResult
@harness.plugin("test", measure="error")
def fixed(counts) -> TestResult:
    shape = np.shape(counts)[:-1]
    return TestResult(np.full(shape, {p}), np.zeros(shape), np.zeros(shape, bool))
"""
POPULATION = ["population=rcv1-slice", "balance=[natural]", "categories=[C11,C12,C13]",
              "pairs=[linear_svm-mlp]", "truth=[exact_zero]", "sets.sizes=[100]", "sets.n_sets=20",
              "alphas=[0.05]", "parallel=sequential", "cache=kept"]  # fmt: skip


def test_a_plugin_that_changes_is_run_again(tmp_path, monkeypatch, here):
    """What is kept of its first text does not stand in for the second."""
    for name in ("draw_figures", "write_summary"):
        monkeypatch.setattr(f"harness.run.study.{name}", lambda *arguments, **options: [])
    rates = []
    for p in (1.0, 0.0):
        (tmp_path / "mine.py").write_text(TEST.format(p=p))
        assert main(["run", *POPULATION, "+plugins=[mine.py]", "test=[fixed]", f"out=p{p:g}"]) == 0
        rates.append(set(pd.read_csv(f"p{p:g}/size_power_by_category.csv")["n_rejected"]))
    assert rates == [{0}, {20}]


def test_an_installed_package_offers_its_plugins(tmp_path, monkeypatch):
    """Distributions with the entry point, beside this one on the path."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(plugins, "MEMBERS", {})
    for name, text in (("theirs", TEST.format(p=1.0)), ("broken", "1 / 0")):
        (tmp_path / f"{name}.py").write_text(text)
        made = tmp_path / f"{name}-1.0.dist-info"
        made.mkdir()
        (made / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (made / "entry_points.txt").write_text(f"[size_power_harness.plugins]\nmine = {name}\n")
        if name == "theirs":
            load_plugins([])
            assert plugins.targets() == {"theirs.fixed"}
    said = refusal(load_plugins, [])
    assert "the installed package's broken cannot be run (ZeroDivisionError" in said
