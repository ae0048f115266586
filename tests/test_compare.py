"""`harness compare`: splits, trials, verdicts, tables, and what it refuses."""

import importlib.util
import itertools
import json
import subprocess
import sys

import numpy as np
import pytest
from html_page import check_page

from harness.cli import main
from harness.compare import comparison_tables, wine_tables
from harness.compare.comparison_report import fewest_discordant
from harness.compare.datasets import Dataset, count_held_out, load_shipped, read_csv
from harness.compare.estimators import fresh
from harness.compare.splits import halves, hold_out
from harness.compare.trials import run_trial, run_trials, trial_splits
from harness.compare.verdicts import TESTS, count_right, tabulate_rejections, tabulate_verdicts
from harness.errors import UserError
from harness.runtime.parallel import run_here
from harness.significance.cross_validation import five_by_two_t
from harness.significance.mcnemar import mcnemar

FAST = ["parallel=sequential", "cache=null", "n_seeds=2", "figure.formats=[png]", "figure.dpi=60"]
TWO = "estimator=[decision_tree,naive_bayes]"
FAILING = "+estimator.far._target_=sklearn.neighbors.KNeighborsClassifier"


def estimators(**more):
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.tree import DecisionTreeClassifier

    made = {
        "tree": DecisionTreeClassifier(max_features=3),
        "bayes": GaussianNB(),
        "logistic": LogisticRegression(solver="newton-cholesky", C=0.01),
    }
    return made | more


def failing():
    from sklearn.neighbors import KNeighborsClassifier

    return KNeighborsClassifier(n_neighbors=10_000)


def trials(made, data=None, n_seeds=4, seed=0, scorer="error"):
    return run_trials(
        data or load_shipped("wine"),
        made,
        make_run=lambda name: run_here,
        n_seeds=n_seeds,
        seed=seed,
        scorer=scorer,
        test_share=0.2,
    )


@pytest.fixture(scope="module")
def found():
    return trials(estimators())


# --- splits


@pytest.mark.parametrize("name", ["wine", "iris", "breast_cancer"])
def test_halves_are_halves_disjoint_and_stratified(name):
    y = load_shipped(name).y
    for repetition in range(5):
        (train, test), (other_train, other_test) = halves(y, 3, 7, repetition)
        assert set(train) == set(other_test)
        assert set(test) == set(other_train)
        assert not set(train) & set(test)
        assert sorted([*train, *test]) == list(range(len(y)))
        assert abs(len(train) - len(test)) <= 1
        assert np.abs(np.bincount(y[train]) - np.bincount(y[test])).max() <= 1


def test_splits_come_from_named_seeds():
    y = load_shipped("wine").y
    drawn = [
        halves(y, seed, place, r)[0][0].tolist() for seed, place, r in itertools.product(range(2), repeat=3)
    ]
    assert len({tuple(part) for part in drawn}) == 8
    assert drawn[5] == halves(y, 1, 0, 1)[0][0].tolist()


def test_the_hold_out_of_the_wine_report():
    y = load_shipped("wine").y
    train, test = hold_out(y, count_held_out(len(y), 0.2), 0, 0)
    assert (len(train), len(test)) == (142, 36)
    assert sorted([*train, *test]) == list(range(178))
    assert np.abs(np.bincount(y[test]) - np.bincount(y) * 36 / 178).max() < 1


def test_every_estimator_sees_the_same_splits_whatever_else_is_compared(found):
    alone = trials({"bayes": estimators()["bayes"]})["bayes"]
    assert np.array_equal(alone.halves, found["bayes"].halves)
    assert np.array_equal(alone.right, found["bayes"].right)


# --- trials


def test_scores_are_those_of_scikit_learn():
    from sklearn.model_selection import cross_val_score

    data, model = load_shipped("wine"), estimators()["logistic"]
    parts = trial_splits(data.y, 0, 2, 36)
    for scorer, name in (("error", "accuracy"), ("f1_macro", "f1_macro")):
        unit = run_trial(data, "logistic", model, 0, 2, scorer, 36)
        theirs = cross_val_score(model, data.x, data.y, cv=[part[1:] for part in parts], scoring=name)
        expected = 1 - theirs if scorer == "error" else theirs
        assert unit["scores"] == pytest.approx(expected, abs=1e-12)


def test_random_states_are_named_and_threads_are_one():
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    forest = make_pipeline(StandardScaler(), RandomForestClassifier(n_jobs=8))
    one, same, other = (fresh(forest, 0, "forest", place) for place in (0, 0, 1))
    key = "randomforestclassifier__random_state"
    assert one.get_params()[key] == same.get_params()[key] != other.get_params()[key]
    assert one.get_params()["randomforestclassifier__n_jobs"] == 1


def test_a_failing_estimator_is_counted_and_the_others_go_on():
    found = trials(estimators(far=failing()), n_seeds=3)
    assert len(found["far"].failures) == 3 * 11
    assert found["far"].failures[0][1] == "hold-out"
    assert "n_neighbors" in found["far"].failures[0][2]
    assert np.isnan(found["far"].halves).all()
    table = tabulate_rejections(tabulate_verdicts(found), 0.05)
    mine = table[(table["a"] == "far") | (table["b"] == "far")]
    assert (mine["n_missing"] == 3).all()
    assert mine["rate"].isna().all()
    assert (table["n_missing"].drop(mine.index) == 0).all()
    assert len(comparison_tables.tabulate_failures(found)) == 33


def test_an_estimator_that_fails_on_some_folds_loses_those_verdicts_alone():
    """k neighbours of 90: the halves have 89 samples, the hold-out trains on 142."""
    from sklearn.neighbors import KNeighborsClassifier

    found = trials(estimators(far=KNeighborsClassifier(n_neighbors=90)), n_seeds=2)
    assert len(found["far"].failures) == 2 * 10
    verdicts = tabulate_verdicts(found)
    mine = verdicts[verdicts["b"] == "far"]
    assert mine.loc[mine["test"].str.startswith("mcnemar"), "pvalue"].notna().all()
    assert mine.loc[mine["test"].str.startswith("five"), "pvalue"].isna().all()


def test_a_scorer_that_an_estimator_cannot_serve():
    from sklearn.svm import SVC

    found = trials({"svm": SVC(), "bayes": estimators()["bayes"]}, n_seeds=1, scorer="neg_log_loss")
    assert len(found["svm"].failures) == 11  # SVC has no probabilities
    assert (found["svm"].right == -1).all()
    assert np.isfinite(found["bayes"].halves).all()


def test_nan_scores(monkeypatch):
    monkeypatch.setattr("harness.compare.trials.make_score", lambda scorer: lambda *parts: float("nan"))
    unit = run_trial(load_shipped("iris"), "bayes", estimators()["bayes"], 0, 0, "error", 30)
    assert np.isnan(unit["scores"]).all()
    assert {why for _, why in unit["failures"]} == {"ArithmeticError: the score is nan"}


# --- verdicts


def test_cells_against_a_count_by_hand():
    a = np.array([1, 1, 1, 1, 0, 0, 0, 0, 0, 0])
    b = np.array([1, 1, 1, 0, 1, 1, 0, 0, 0, 0])
    assert count_right(a, b).tolist() == [3, 2, 1, 4, 0, 0, 0, 0]  # A alone errs twice, B alone once


def test_verdicts_are_those_of_the_tests(found):
    verdicts = tabulate_verdicts(found)
    assert len(verdicts) == 3 * 4 * len(TESTS)
    row = verdicts[(verdicts["a"] == "tree") & (verdicts["b"] == "bayes") & (verdicts["seed"] == 2)]
    row = row.set_index("test")
    a, b = found["tree"], found["bayes"]
    only_a = int(((a.right[2] == 0) & (b.right[2] == 1)).sum())
    only_b = int(((a.right[2] == 1) & (b.right[2] == 0)).sum())
    assert row.loc["mcnemar", "only_a_wrong"] == only_a
    assert row.loc["mcnemar", "only_b_wrong"] == only_b
    assert row.loc["mcnemar", ["both_right", "only_a_wrong", "only_b_wrong", "both_wrong"]].sum() == 36
    counts = np.array([36 - only_a - only_b, 0, 0, 0, 0, only_b, only_a, 0])
    assert row.loc["mcnemar_exact", "pvalue"] == mcnemar(counts, "exact").pvalue
    expected = five_by_two_t(a.halves[2] - b.halves[2])
    assert row.loc["five_by_two_t", "pvalue"] == expected.pvalue
    assert row.loc["five_by_two_t", "difference"] == pytest.approx((a.halves[2] - b.halves[2]).mean())


def test_rejections_are_counted_over_the_seeds(found):
    from scipy.stats import binomtest

    verdicts = tabulate_verdicts(found)
    table = tabulate_rejections(verdicts, 0.3)
    for row in table.to_dict("records"):
        part = verdicts[
            (verdicts["a"] == row["a"]) & (verdicts["b"] == row["b"]) & (verdicts["test"] == row["test"])
        ]
        assert row["n_rejected"] == (part["pvalue"] <= 0.3).sum() >= row["n_rejected_holm"]
        interval = binomtest(row["n_rejected"], 4).proportion_ci(0.95, "exact")
        assert (row["low"], row["high"]) == pytest.approx((interval.low, interval.high))


def test_identical_estimators_never_differ():
    from sklearn.naive_bayes import GaussianNB

    verdicts = tabulate_verdicts(trials({"one": GaussianNB(), "two": GaussianNB()}))
    assert (verdicts["pvalue"] == 1).all()
    assert (verdicts["degenerate"] == 1).all()


def test_what_the_wine_report_cannot_have_found():
    """One error against none on 36 samples: no variant rejects; no error at all is degenerate."""
    one, none = np.zeros(36, dtype=int), np.ones(36, dtype=int)
    one[:] = 1
    one[0] = 0
    for variant in ("corrected", "exact", "uncorrected", "midp"):
        assert mcnemar(count_right(one, none), variant).pvalue > 0.3
    assert mcnemar(count_right(one, none)).statistic == 0
    assert mcnemar(count_right(one, none), "exact").pvalue == 1
    assert mcnemar(count_right(none, none)).degenerate
    assert fewest_discordant(0.05, "corrected") == fewest_discordant(0.05, "exact") == 6
    assert round(1 / 36, 3) == wine_tables.ERROR_RATES["xgboost"][0]


# --- every member of the groups


def composed(*overrides):
    from hydra import compose, initialize_config_dir

    from harness.cli.arguments import compare_arguments
    from harness.cli.configuration import conf_folder, register_resolvers

    register_resolvers()
    with initialize_config_dir(str(conf_folder()), version_base="1.3"):
        cfg = compose("compare", overrides=["out=nowhere", *overrides])
    return compare_arguments(cfg, overrides)


def test_every_estimator_that_is_offered_learns():
    from harness.cli.configuration import conf_folder

    names = sorted(path.stem for path in (conf_folder() / "estimator").glob("*.yaml"))
    if importlib.util.find_spec("xgboost") is None:
        names.remove("xgboost")
    made = composed("data=iris", f"estimator=[{','.join(names)}]")["options"]["estimators"]
    assert list(made) == names
    iris = load_shipped("iris")
    for name, estimator in made.items():
        fitted = fresh(estimator, 0, name).fit(iris.x[::2], iris.y[::2])
        assert (fitted.predict(iris.x[1::2]) != iris.y[1::2]).mean() < 0.15, name


@pytest.mark.parametrize("name", ["wine", "iris", "digits", "breast_cancer"])
def test_every_data_set_that_is_offered_loads(name):
    (data,) = composed(f"data={name}", TWO)["options"]["data"]
    assert data.name == name
    assert np.isfinite(data.x).all()
    assert len(data.x) == len(data.y)
    assert set(data.y) == set(range(len(data.classes)))


def test_the_preset_of_the_wine_report():
    options = composed("experiment=wine")["options"]
    assert options["n_seeds"] == 200
    assert [data.name for data in options["data"]] == ["wine"]
    assert {"logistic_regression", "random_forest", "svm"} <= set(options["estimators"])


# --- the command


@pytest.fixture
def here(tmp_path, monkeypatch):
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def run(capfd, *arguments):
    code = main(["compare", *arguments])
    out, err = capfd.readouterr()
    return code, out, err


def read(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.rglob("*.csv"))}


def test_the_command_leaves_everything(capfd, here):
    three = "estimator=[decision_tree,naive_bayes,svm_rbf_scaled]"
    code, out, err = run(capfd, *FAST, three, "out=wine")
    assert code == 0, err
    folder = here / "wine"
    for name in ("trials", "verdicts", "scores", "rejections", "failures", "tables/table4", "tables/table5"):
        assert (folder / f"{name}.csv").stat().st_size > 0
    for number, suffix in itertools.product((4, 5, 6), ("md", "tex")):
        assert (folder / "tables" / f"table{number}.{suffix}").stat().st_size > 0
    assert not (folder / "tables" / "table6.csv").exists()  # seconds: other bytes every time
    for name in ("figure_scores", "figure_rejections"):
        assert (folder / "figures" / f"{name}.png").stat().st_size > 0
    assert "figure_scores" in (folder / "figures" / "captions.md").read_text()
    assert "Tables" in check_page(folder).headings()
    summary = (folder / "summary.md").read_text()
    assert "cannot be reproduced" in summary
    facts = json.loads((folder / "provenance.json").read_text())
    assert facts["finished"] is True
    assert facts["data"][0]["n_test"] == 36
    assert len(facts["seconds_of_estimators"]) == 3
    assert "seeds that reject" in out


def test_same_bytes_for_one_worker_and_two_and_after_a_stop(capfd, here):
    options = [
        "n_seeds=3",
        "figure.formats=[png]",
        "figure.dpi=60",
        TWO,
        FAILING,
        "+estimator.far.n_neighbors=10000",
    ]
    runs = {
        "one": ["parallel=sequential", "cache=null"],
        "two": ["parallel=loky", "parallel.n_jobs=2", "cache=kept"],
        "again": ["parallel=sequential", "cache=kept"],
    }
    for out, where in runs.items():
        code, _, err = run(capfd, *options, *where, f"out={out}")
        assert code == 0, err
    kept = sorted((here / "kept").rglob("*.npz"))
    assert len(kept) == 9
    kept[0].unlink()
    (here / "two" / "provenance.json").write_text(
        (here / "two" / "provenance.json").read_text().replace('"finished": true', '"finished": false')
    )
    assert run(capfd, *options, *runs["two"], "out=two")[0] == 0
    assert read(here / "one") == read(here / "two") == read(here / "again")
    assert "10000" in (here / "one" / "failures.csv").read_text()
    assert "33 fits failed" in (here / "one" / "summary.md").read_text()


def test_without_xgboost_the_others_are_compared(capfd, here, monkeypatch):
    hide_xgboost(monkeypatch)
    four = "estimator=[xgboost,decision_tree,naive_bayes]"
    code, _, err = run(capfd, *FAST, four, "out=asked")
    assert code == 2
    assert 'pip install "size-power-harness[compare]"' in err
    assert not (here / "asked").exists()
    code, out, err = run(capfd, *FAST, "n_seeds=1", "out=default")
    assert code == 0, err
    assert out.count('pip install "size-power-harness[compare]"') == 1
    facts = json.loads((here / "default" / "provenance.json").read_text())
    assert facts["estimators"] == ["logistic_regression", "random_forest", "svm"]


def hide_xgboost(monkeypatch):
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *p: None if name == "xgboost" else real(name, *p)
    )


def test_a_table_of_ones_own(capfd, here):
    wine = load_shipped("wine")
    rows = [",".join([*(f"{v:g}" for v in x[:4]), f"kind {k}"]) for x, k in zip(wine.x, wine.y, strict=True)]
    (here.parent / "own.csv").write_text("a,b,c,d,label\n" + "\n".join(rows) + "\n")
    own = [
        "data=csv",
        "data.csv.path=../own.csv",
        "data.csv.target=label",
        "scorer=balanced_accuracy",
        TWO,
        *FAST,
    ]
    code, _, err = run(capfd, *own, "out=own")
    assert code == 0, err
    summary = (here / "own" / "summary.md").read_text()
    assert "kind 0 (59)" in summary
    assert "cannot be reproduced" not in summary
    assert "published" not in (here / "own" / "tables" / "table4.md").read_text()
    (here.parent / "own.csv").write_text("a,b,c,d,label\n" + "\n".join(rows[::-1]) + "\n")
    code, _, err = run(capfd, *own, "out=own")  # the same path, another file
    assert code == 2
    assert "another configuration" in err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b,y\n1,2,u\n1,,v\n", "row 3 has no value in column 'b' (1 value is missing in all)"),
        ("a,b,y\n,2,u\n1,,v\n", "(2 values are missing in all)"),
        ("a,b,y\n1,2,u\n1,nan,v\n", "column 'b' holds 'nan' in row 3; features must be finite numbers"),
        ("a,b,y\n1,2,u\n1,inf,v\n", "'inf' in row 3"),
        ("a,b,y\n1,2,u\n1,red,v\n", "column 'b' holds 'red' in row 3"),
        ("a,b,y\n1,2,u\n1,3,u\n", "one class only"),
        ("a,b,y\n", "a header and no row"),
        ("a,b,y\n" + "1,2,u\n" * 9 + "1,3,v\n", "class 'v' of t.csv has 1 sample"),
        ("a,b,y\n1,2,u\n1,2,u\n1,3,v\n1,3,v\n", "leaves 1 in the test set"),
        ("a,b,z\n1,2,u\n", "'y' is no column of ../t.csv; it has a, b, z"),
        ("y\nu\nv\n", "at least one feature"),
        ("", "it is empty"),
        (None, "../t.csv: there is no such file"),
    ],
)
def test_wrong_tables(text, said, capfd, here):
    if text is not None:
        (here.parent / "t.csv").write_text(text)
    code, _, err = run(capfd, *FAST, TWO, "data=csv", "data.csv.path=../t.csv", "data.csv.target=y")
    assert (code, list(here.iterdir())) == (2, [])
    assert said in err
    assert len(err.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["n_seeds=0"], "n_seeds: 0 is not allowed"),
        (["n_seeds=many"], "n_seeds: 'many'"),
        (["alpha=1"], "alpha: 1 is not allowed"),
        (["test_share=0.99"], "test_share: 0.99 of the 178 samples of wine leaves 1 in the training set"),
        (["scorer=beauty"], "scorer: 'beauty' is not allowed"),
        (["scorer=f1"], "scorer: f1 cannot score the data wine: Target is multiclass"),
        (["study=magic"], "study: 'magic' is not allowed; choose one of learners"),
        (["estimator=[svm,svm]"], "svm"),
        (["estimator=[svm]"], "at least two"),
        (["estimator=[]"], "none is chosen"),
        (["estimator=[nothing,svm]"], "nothing"),
        (
            ["+estimator.bad._target_=os.system"],
            "'os.system' is not allowed; estimators, classes of sklearn and xgboost, are",
        ),
        (["+estimator.bad._target_=sklearn.datasets.load_iris"], "classes of sklearn and xgboost, are"),
        (["+estimator.bad._target_=sklearn.utils.os.system"], "classes of sklearn and xgboost, are"),
        (["+estimator.bad._target_=harness.runtime.parallel.Workers"], "classes of sklearn and xgboost, are"),
        (["+estimator.bad._target_=sklearn.svm.SVR"], "estimator.bad: SVR is not allowed; a classifier is"),
        (["+estimator.bad._target_=sklearn.preprocessing.StandardScaler"], "a classifier is"),
        (["+estimator.bad=3"], "estimator.bad: it has no _target_"),
        (["+estimator.svm.colour=red", "estimator=[svm,naive_bayes]"], "colour"),
        (["data.wine._target_=sklearn.datasets.load_iris"], "functions of harness.compare.datasets are"),
        (["data=nowhere"], "nowhere"),
        (["data.wine.name=moons"], "data.wine: name: 'moons' is not allowed; choose one of wine, iris"),
        (["data=csv", "data.csv.target=y"], "path"),
        (["figure.formats=[gif]"], "'gif' is not allowed"),
        (["+nonsense=1"], "nonsense: there is no such key"),
        (["seed=-1"], "seed: -1"),
    ],
)
def test_wrong_settings(arguments, said, capfd, here):
    names = {argument.split("=")[0].lstrip("+") for argument in arguments}
    given = [g for g in (*FAST, TWO) if g.split("=")[0] not in names]
    code, _, err = run(capfd, *given, *arguments)
    assert code == 2
    assert said in err
    assert len(err.strip().splitlines()) == 1
    assert list(here.iterdir()) == []


def test_help_is_quick_to_import():
    program = (
        "import sys; from harness.cli import main\n"
        "main(['compare', '--help'])\n"
        "heavy = {'torch', 'sklearn', 'pandas', 'matplotlib', 'xgboost'} & set(sys.modules)\n"
        "print('HEAVY', sorted(heavy))"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "HEAVY []" in answer.stdout
    assert "estimator: " in answer.stdout


def test_shipped_data_is_proven():
    assert load_shipped("wine").fingerprint() == load_shipped("wine").fingerprint()
    assert load_shipped("breast_cancer").x.shape == (569, 30)
    with pytest.raises(UserError, match="choose one of"):
        load_shipped("moons")
    first = Dataset("a", np.zeros((2, 1)), np.array([0, 1]), ("u", "v"))
    assert first.fingerprint() != first._replace(y=np.array([1, 0])).fingerprint()


def test_labels_are_text(tmp_path):
    (tmp_path / "t.csv").write_text("x,y\n1,01\n2,1\n3,01\n")
    assert read_csv(str(tmp_path / "t.csv"), "y").classes == ("01", "1")
