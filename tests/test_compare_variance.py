"""`harness compare variance.n_splits=...`: variance by split, random state and hyperparameters."""

import itertools

import numpy as np
import pandas as pd
import pytest
from three_ways import WAYS, run_three_ways

from harness.cli import main
from harness.compare.datasets import load_shipped
from harness.compare.splits import hold_out
from harness.compare.variance_report import split_variance, write_variance
from harness.compare.variance_sources import variance_components
from harness.compare.variance_trials import draw_settings, run_variance, train_once
from harness.runtime.parallel import run_here

SMALL = [
    "n_seeds=2",
    "figure.formats=[png]",
    "figure.dpi=60",
    "estimator=[decision_tree,naive_bayes]",
    "variance.n_splits=3",
    "variance.n_initialisations=2",
    "+variance.hyperparameters.decision_tree.max_depth=[1,2,8]",
    "variance.n_hyperparameters=2",
]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return run_three_ways(tmp_path_factory.mktemp("variance"), SMALL)


@pytest.fixture
def here(tmp_path, monkeypatch):
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def estimators():
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.tree import DecisionTreeClassifier

    return {
        "tree": DecisionTreeClassifier(max_features=1),
        "fixed": DecisionTreeClassifier(max_features=1, random_state=0),
        "bayes": GaussianNB(),
        "far": KNeighborsClassifier(10_000),
    }


def crossed(settings=None, n_splits=3, n_initialisations=4):
    made = estimators()
    return run_variance(
        load_shipped("wine"),
        made,
        {name: [{}] for name in made} | (settings or {}),
        make_run=lambda name: run_here,
        n_splits=n_splits,
        n_initialisations=n_initialisations,
        seed=0,
        scorer="error",
        test_share=0.2,
    )


def test_same_bytes_for_one_worker_and_two_and_after_a_stop(runs):
    for name in ("variance.csv", "tables/variance.csv", "tables/variance_alone.csv", "trials.csv"):
        one, two, again = ((runs / way / name).read_bytes() for way in WAYS)
        assert one == two == again
    assert len(list((runs / "kept" / "variance").rglob("*.npz"))) == 3 * 2 * 2 + 3 * 2


def test_what_a_run_leaves(runs):
    scores = pd.read_csv(runs / "one" / "variance.csv", keep_default_na=False)
    assert len(scores) == 3 * 2 * 2 + 3 * 2
    assert scores.loc[scores["estimator"] == "decision_tree", "hyperparameters"].nunique() == 2
    table = pd.read_csv(runs / "one" / "tables" / "variance.csv")
    tree = table[table["estimator"] == "decision_tree"].set_index("source")
    part = scores[scores["estimator"] == "decision_tree"].astype({"score": float})
    expected = variance_components(part, ["split", "initialisation", "hyperparameters"]).set_index("source")
    for column in ("variance", "variance_low", "variance_high", "share"):
        assert tree[column].tolist() == pytest.approx(expected[column].tolist(), rel=1e-8, abs=1e-15)
    assert tree["share"].sum() == pytest.approx(1)
    bayes = table[table["estimator"] == "naive_bayes"].set_index("source")
    assert bayes.loc["initialisation", ["variance", "variance_high"]].tolist() == [0, 0]
    summary = (runs / "one" / "summary.md").read_text(encoding="utf-8")
    for said in (
        "naive_bayes: of the variance on the hold-out split 100 %",
        "it has no random_state to set, so that the initialisation changes nothing",
        "3 hold-outs, each with 2 random states; settings drawn for decision_tree: max_depth=",
        "variance.csv: every score",
    ):
        assert said in summary
    for suffix in ("md", "tex"):
        assert "max" in (runs / "one" / "tables" / f"variance.{suffix}").read_text(encoding="utf-8")


def test_it_is_off_by_default_and_changes_nothing_else(runs, here, capfd):
    own = [part for part in SMALL if "variance" not in part]
    assert main(["compare", *own, "parallel=sequential", f"cache={runs / 'kept'}", "out=plain"]) == 0
    assert not (here / "plain" / "variance.csv").exists()
    for path in (here / "plain").rglob("*.csv"):
        assert path.read_bytes() == (runs / "one" / path.relative_to(here / "plain")).read_bytes()


def test_one_training_is_that_of_scikit_learn():
    from sklearn.naive_bayes import GaussianNB

    data = load_shipped("wine")
    train, test = hold_out(data.y, 36, 0, 2)
    expected = 1 - GaussianNB(var_smoothing=0.1).fit(data.x[train], data.y[train]).score(
        data.x[test], data.y[test]
    )
    unit = train_once(data, "bayes", GaussianNB(), {"var_smoothing": 0.1}, 0, 2, 1, "error", 36)
    assert float(unit["score"]) == pytest.approx(expected, abs=1e-12)
    assert str(unit["failure"]) == ""


def test_only_open_random_states_make_a_difference(capfd):
    scores = crossed()
    found = split_variance(scores, estimators())
    table = found.tables["variance"].set_index(["estimator", "source"])["variance"]
    alone = found.tables["variance_alone"].set_index(["estimator", "source"])["variance"]
    for name in ("fixed", "bayes"):
        assert table[name, "initialisation"] == table[name, "residual"] == alone[name, "initialisation"] == 0
        assert sum("no random_state to set" in line for line in found.findings if line.startswith(name)) == 1
    own = scores[scores["estimator"] == "tree"].groupby("split")["score"].var().mean()
    assert alone["tree", "initialisation"] == pytest.approx(own)
    assert own > 0
    assert not any("random_state" in line for line in found.findings if line.startswith("tree"))
    assert [line.split(";")[0] for line in found.warnings] == [
        "far: 12 of 12 trainings failed (ValueError: Expected n_neighbors <= n_samples_fit, but "
        "n_neighbors = 10000, n_samples_fit = 142, n_samples = 36)"
    ]
    assert "far" not in set(found.tables["variance"]["estimator"])


def test_nothing_is_written_where_everything_failed(tmp_path):
    scores = crossed().query("estimator == 'far'")
    found = split_variance(scores, estimators())
    assert found.tables == {}
    assert write_variance(tmp_path / "tables", {"wine": found}, "error", "") == []
    assert not (tmp_path / "tables").exists()


def test_more_splits_and_states_keep_the_first_ones():
    few, many = crossed(n_splits=2, n_initialisations=2), crossed(n_splits=3, n_initialisations=3)
    keys = ["estimator", "split", "initialisation"]
    joined = few.merge(many, on=keys, suffixes=("", "_more"))
    assert len(joined) == len(few)
    assert (joined["score"].fillna(-1) == joined["score_more"].fillna(-1)).all()


def test_settings_are_drawn_once_each():
    grid = {"a": list(range(10)), "b": ["x", "y"]}
    every = draw_settings(grid, 20, 0, "tree")
    assert every == [{"a": a, "b": b} for a, b in itertools.product(range(10), "xy")]
    drawn = [
        draw_settings(grid, 6, seed, name)
        for seed, name in [(0, "tree"), (0, "tree"), (1, "tree"), (0, "svm")]
    ]
    assert drawn[0] == drawn[1]
    assert drawn[0] not in drawn[2:]
    assert len({tuple(setting.values()) for setting in drawn[0]}) == 6
    counts = np.zeros(20)
    for seed in range(400):
        for setting in draw_settings(grid, 6, seed, "tree"):
            counts[every.index(setting)] += 1
    assert (np.abs(counts - 120) < 60).all()  # binomial, 400 draws of .3: below 1e-9 each


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["variance.n_splits=1"], "variance.n_splits: 1 is not allowed; 0 or 2 to 1,000,000 are"),
        (["variance.n_splits=many"], "variance.n_splits: 'many'"),
        (["variance.n_initialisations=1"], "variance.n_initialisations: 1"),
        (["variance.n_hyperparameters=1"], "variance.n_hyperparameters: 1"),
        (["+variance.n_seeds=3"], "variance.n_seeds: there is no such key"),
        (["+variance.hyperparameters.svm.C=[1,2]"], "variance.hyperparameters.svm: there is no such key"),
        (
            ["+variance.hyperparameters.decision_tree.depth=[1,2]"],
            "decision_tree.depth: there is no such key",
        ),
        (["+variance.hyperparameters.decision_tree.max_depth=3"], "max_depth: 3 is not allowed; a list"),
        (["+variance.hyperparameters.decision_tree.max_depth=[3,3]"], "names one twice"),
        (["+variance.hyperparameters.decision_tree=3"], "variance.hyperparameters.decision_tree: 3"),
    ],
)
def test_wrong_settings(arguments, said, here, capfd):
    own = ["estimator=[decision_tree,naive_bayes]", "parallel=sequential", "cache=null"]
    assert main(["compare", *own, *arguments]) == 2
    err = capfd.readouterr().err
    assert said in err
    assert len(err.strip().splitlines()) == 1
    assert list(here.iterdir()) == []


def test_the_other_studies_take_no_variance(here, capfd):
    assert main(["compare", "experiment=dietterich1998", "variance={n_splits:2}"]) == 2
    assert "it has no meaning in this study" in capfd.readouterr().err
