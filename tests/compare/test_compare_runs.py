"""Small runs of every study of `harness compare`: the same bytes in two ways, and what a run leaves."""

import contextlib
import importlib.util
import json
import shutil
from pathlib import Path

import pandas as pd
import pytest
from html_page import check_page
from painting import undrawn
from scipy.stats import friedmanchisquare, rankdata

from harness.cli import main
from harness.compare.datasets import load_shipped
from harness.compare.learner_tables import of_data_set
from harness.compare.learner_tests import TESTS
from harness.compare.variance_sources import variance_components

DRAWN = ["figure.formats=[png]", "figure.dpi=40"]
HERE = [*DRAWN, "parallel=sequential", "cache=null"]
TWO = "estimator=[decision_tree,naive_bayes]"
DATA = ("wine", "iris", "breast_cancer")
FAR = "+estimator.far._target_=sklearn.neighbors.KNeighborsClassifier"
LEARNERS = [
    "n_seeds=2", TWO, f"data=[{','.join(DATA)}]", "baseline=far",
    FAR, "+estimator.far.n_neighbors=80",  # it fails where half of the data is 75 samples of iris
]  # fmt: skip
STUDIES = {
    "learners": [
        *LEARNERS, "variance.n_splits=3", "variance.n_initialisations=2", "variance.n_hyperparameters=2",
        "+variance.hyperparameters.decision_tree.max_depth=[1,2,8]",
    ],
    "one": [*LEARNERS, "data=wine"],
    "simulated": ["experiment=dietterich1998", "n_trials=1200", "simulated_null.differences=[0.04]",
                  "simulated_null.sizes=[60]"],
    "training": ["experiment=dietterich_rcv1", "n_documents=1000", "n_trials=60", "alphas=[0.05]",
                 "training_sets.n_terms=300", "training_sets.n_truth=300", "training_sets.kept_terms=[0.25]",
                 "training_sets.sizes=[40,80]", "training_sets.n_resamples=4"],
}  # fmt: skip
FIGURES = {
    "learners": {f"figure_{what}_{name}" for name in DATA for what in ("scores", "rejections")}
    | {"figure_critical_difference"},
    "one": {"figure_scores", "figure_rejections"},
    "simulated": {"type_i_errors", "power", "type_i_errors_by_examples"},
    "training": {"type_i_errors", "power"},
}
RESULTS = Path(__file__).resolve().parent.parent.parent / "results"


def csvs(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*.csv")}


def summary(folder):
    return (folder / "summary.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Give the folder of a study: run by two workers, and by one that finds half of their units kept.

    Of a single data set by one alone: it is the study of several.
    """
    made = {}

    def run(study):
        if study in made:
            return made[study]
        folder = made[study] = tmp_path_factory.mktemp(study)
        kept = f"cache={folder / 'kept'}"
        ways = {"two": [*DRAWN, "parallel.n_jobs=2", kept], "one": [*HERE[:-1], kept]}
        if study == "one":
            del ways["two"]
        for way, more in ways.items():
            with undrawn() if way == "two" else contextlib.nullcontext():
                assert main(["compare", *STUDIES[study], *more, f"out={folder / way}"]) == 0
            for path in sorted((folder / "kept").rglob("*.npz"))[::2]:  # as if the run had been stopped
                path.unlink()
        return folder

    return run


@pytest.mark.parametrize(("study", "n_tables"), [("learners", 13), ("simulated", 1), ("training", 2)])
def test_same_bytes_for_one_worker_after_a_stop_and_two(study, n_tables, runs):
    folder = runs(study)
    assert len(csvs(folder / "one")) == n_tables
    assert csvs(folder / "one") == csvs(folder / "two")


@pytest.mark.parametrize("study", STUDIES)
def test_figures_captions_and_page(study, runs, tmp_path, capfd):
    made = runs(study) / "one"
    page = check_page(made)
    assert "Tables" in page.headings()
    assert len(page.all("img")) == len(FIGURES[study])
    captions = (made / "figures" / "captions.md").read_text(encoding="utf-8")
    assert {line[3:] for line in captions.splitlines() if line[:3] == "## "} == FIGURES[study]
    assert {path.stem for path in (made / "figures").glob("*.png")} == FIGURES[study]
    before = {path.name: path.read_bytes() for path in (made / "figures").iterdir()}
    shutil.copytree(made, tmp_path / "moved", ignore=shutil.ignore_patterns("figures", "summary.md"))
    capfd.readouterr()
    assert main(["figures", f"from={tmp_path / 'moved'}", *DRAWN]) == 0
    assert {path.name: path.read_bytes() for path in (tmp_path / "moved" / "figures").iterdir()} == before
    assert capfd.readouterr().out.count(".png") == len(FIGURES[study])


def test_every_table_names_its_data_set(runs):
    for path in (runs("learners") / "one").rglob("*.csv"):
        table = pd.read_csv(path)
        if path.name != "ranks.csv":
            assert table.columns[0] == "data", path.name
            assert path.name == "failures.csv" or list(table["data"].unique()) == list(DATA)


def test_one_data_set_has_the_numbers_that_it_has_among_several(runs):
    """And without the variance by source, which changes nothing else."""
    alone, several = runs("one") / "one", runs("learners") / "one"
    stems = ("table4", "table5", "table6", "seeds")
    expected = {f"{stem}.{end}" for stem in stems for end in ("md", "tex", "csv")}
    expected.remove("table6.csv")  # seconds: other bytes every time
    assert {path.name for path in (alone / "tables").iterdir()} == expected
    for path in csvs(alone):
        together = of_data_set(pd.read_csv(several / path), "wine")
        own = pd.read_csv(alone / path)[list(together)]  # of wine alone there are published values, too
        pd.testing.assert_frame_equal(together, own, check_dtype=False)
    table = pd.read_csv(alone / "tables" / "seeds.csv").set_index("algorithm")
    assert table.loc["far", "verdict"] == "baseline"
    assert table["difference"].isna().sum() == 1
    assert "cannot be reproduced" in summary(alone)
    facts = [json.loads((folder / "provenance.json").read_text()) for folder in (alone, several)]
    assert (facts[0]["finished"], facts[0]["data"][0]["n_test"], len(facts[0]["seconds_of_estimators"])) == (
        True, 36, 3
    )  # fmt: skip
    assert [one.get("n_failed_fits") for one in facts] == [0, 20]
    assert (several / "failures.csv").read_text().count("n_neighbors = 80") == 20


def test_ranks_of_the_written_table(runs):
    """On iris `far` has no score: it is left out of the ranks; their tests are in test_rank_estimators."""
    tables = runs("learners") / "one" / "tables"
    every = pd.read_csv(tables / "mean_scores.csv", index_col="data")
    assert every.isna().sum().sum() == 1
    means = every.drop(index="iris")
    ranks = pd.read_csv(tables / "ranks.csv").set_index("algorithm")
    assert (ranks["n_datasets"] == 2).all()
    assert ranks.loc[list(means), "average_rank"].tolist() == pytest.approx(rankdata(means, axis=1).mean(0))
    assert ranks["chi_square"].unique() == pytest.approx([friedmanchisquare(*means.to_numpy().T).statistic])
    assert ranks.loc["far", "verdict"] == "baseline"
    trials = pd.read_csv(tables.parent / "trials.csv")
    halves = trials.filter(regex="^half_").mean(axis=1).groupby([trials["data"], trials["estimator"]])
    expected = halves.mean().dropna().sort_index()
    assert every.stack().dropna().sort_index().tolist() == pytest.approx(expected.tolist())


def test_what_the_summary_of_several_data_sets_says(runs):
    said = summary(runs("learners") / "one")
    for words in (
        "2 data sets and 3 estimators are few", "20 fits", "| iris | far |", "5x2cv F rejects on",
        "120 samples to train and 30 to test on (iris)", "wine: naive_bayes: of the variance on the hold-out",
        "3 hold-outs, each with 2 random states; settings drawn for decision_tree: max_depth=",
    ):  # fmt: skip
        assert words in said
    assert "published" not in said  # those of the wine report belong to wine alone


def test_the_variance_is_that_of_the_scores(runs):
    folder = runs("learners") / "one"
    scores = of_data_set(pd.read_csv(folder / "variance.csv", keep_default_na=False), "wine")
    assert scores.groupby("estimator").size().tolist() == [12, 6, 6]
    assert scores.groupby("estimator")["hyperparameters"].nunique().tolist() == [2, 1, 1]
    table = of_data_set(pd.read_csv(folder / "tables" / "variance.csv"), "wine")
    tree = table[table["estimator"] == "decision_tree"]
    part = scores[scores["estimator"] == "decision_tree"].astype({"score": float})
    expected = variance_components(part, ["split", "initialisation", "hyperparameters"])
    for column in ("variance", "variance_low", "variance_high", "share"):
        assert tree[column].tolist() == pytest.approx(expected[column].tolist(), rel=1e-8, abs=1e-15)
    bayes = table[table["estimator"] == "naive_bayes"].set_index("source")
    assert bayes.loc["initialisation", ["variance", "variance_high"]].tolist() == [0, 0]


@pytest.mark.parametrize("study", ["simulated", "training"])
def test_sizes_and_powers_of_the_tests(study, runs):
    folder = runs(study) / "one"
    table = pd.read_csv(folder / "algorithm_size_power.csv")
    assert set(table["test"]) == set(TESTS)
    assert set(table["kind"]) == {"size", "power"}
    assert ((table["mc_low"] <= table["rate"]) & (table["rate"] <= table["mc_high"])).all()
    sizes, powers = table[table["kind"] == "size"], table[table["kind"] == "power"]
    assert sizes["verdict"].notna().all()
    assert (sizes["difference"] == 0).all()
    assert (powers["difference"] < 0).all()
    printed = (folder / "tables" / "algorithm_size_power.md").read_text(encoding="utf-8")
    if study == "simulated":
        assert powers["difference"].unique().tolist() == [-0.04]
        assert "0.612" in printed
    else:
        assert set(table["n_examples"]) == {40, 80}
        assert (powers["difference_se"] > 0).all()
        assert "Conditional on" in summary(folder)


def test_without_xgboost_the_others_are_compared(tmp_path, monkeypatch, capfd, undrawn):
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *p: None if name == "xgboost" else real(name, *p)
    )
    advice = 'pip install "size-power-harness[compare]"'
    asked = ["estimator=[xgboost,decision_tree,naive_bayes]", f"out={tmp_path / 'asked'}"]
    assert main(["compare", *HERE, *asked]) == 2
    assert advice in capfd.readouterr().err
    assert not (tmp_path / "asked").exists()
    default = tmp_path / "default"
    small = ["n_seeds=1", "estimator.random_forest.n_estimators=2"]
    assert main(["compare", *HERE, *small, f"out={default}"]) == 0
    assert capfd.readouterr().out.count(advice) == 1
    facts = json.loads((default / "provenance.json").read_text())
    assert facts["estimators"] == ["logistic_regression", "random_forest", "svm"]


def own_table(path, n_columns=4):
    wine = load_shipped("wine")
    table = pd.DataFrame(wine.x[:, :n_columns]).assign(label=[f"kind {k}" for k in wine.y])
    table.to_csv(path, index=False)
    return table


def test_tables_of_ones_own(tmp_path, capfd, unpainted):
    one, two = tmp_path / "one.csv", tmp_path / "two.csv"
    table = own_table(one)
    own_table(two, 5)
    first = ["n_seeds=1", TWO, "data=csv", f"data.csv.path={one}", "data.csv.target=label", *HERE]
    second = [
        "+data.mine._target_=harness.compare.datasets.read_csv", f"+data.mine.path={two}",
        "+data.mine.target=label",
    ]  # fmt: skip
    assert main(["compare", *first, *second, f"out={tmp_path / 'both'}"]) == 0
    scores = pd.read_csv(tmp_path / "both" / "scores.csv")
    assert list(scores["data"].unique()) == ["one.csv", "two.csv"]
    assert (tmp_path / "both" / "figures" / "figure_scores_two_csv.png").is_file()
    alone = [*first, "scorer=balanced_accuracy", f"out={tmp_path / 'alone'}"]
    assert main(["compare", *alone]) == 0
    assert "kind 0 (59)" in summary(tmp_path / "alone")
    assert "published" not in (tmp_path / "alone" / "tables" / "table4.md").read_text()
    table[::-1].to_csv(one, index=False)
    assert main(["compare", *alone]) == 2  # the same path, another file
    assert "another configuration" in capfd.readouterr().err


@pytest.mark.skipif(not RESULTS.is_dir(), reason="results stand in a checkout alone")
@pytest.mark.parametrize("name", ["wine", pytest.param("dietterich1998", marks=pytest.mark.slow)])
def test_the_figures_of_the_results(name, tmp_path):
    shutil.copytree(RESULTS / name, tmp_path / name, ignore=shutil.ignore_patterns("figures"))
    assert main(["figures", f"from={tmp_path / name}", *DRAWN]) == 0
    made, known = tmp_path / name / "figures", RESULTS / name / "figures"
    assert {path.stem for path in made.glob("*.png")} == {path.stem for path in known.glob("*.pdf")}
    assert (made / "captions.md").read_bytes() == (known / "captions.md").read_bytes()
