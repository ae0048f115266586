"""`harness compare` over several data sets: tables by data set, ranks, what is left out, what is refused."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.stats import friedmanchisquare, norm, rankdata, studentized_range
from three_ways import WAYS, run_three_ways

from harness.cli import main
from harness.compare.comparison_ranks import mean_scores, rank_estimators
from harness.compare.comparison_tables import join_data_sets, of_data_set
from harness.compare.datasets import check_names, load_shipped
from harness.errors import UserError

QUICK = ["n_seeds=2", "figure.formats=[png]", "figure.dpi=60"]
HERE = ["parallel=sequential", "cache=null"]
THREE = "estimator=[decision_tree,naive_bayes,logistic_regression_scaled]"
DATA = ("wine", "iris", "breast_cancer")
FAR = "+estimator.far._target_=sklearn.neighbors.KNeighborsClassifier"
SMALL = [*QUICK, THREE, f"data=[{','.join(DATA)}]", "baseline=naive_bayes"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return run_three_ways(tmp_path_factory.mktemp("several"), SMALL)


@pytest.fixture
def here(tmp_path, monkeypatch):
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def test_same_bytes_for_one_worker_and_two_and_after_a_stop(runs):
    one, two, again = (
        {path.relative_to(runs / way): path.read_bytes() for path in (runs / way).rglob("*.csv")}
        for way in WAYS
    )
    assert len(one) == 10
    assert one == two == again


def test_every_table_names_its_data_set(runs):
    for path in (runs / "one").rglob("*.csv"):
        if path.name != "ranks.csv":
            table = pd.read_csv(path)
            assert table.columns[0] == "data", path.name
            assert path.name == "failures.csv" or list(table["data"].unique()) == list(DATA)
    for name in (*(f"figure_scores_{data}" for data in DATA), "figure_critical_difference"):
        assert (runs / "one" / "figures" / f"{name}.png").stat().st_size > 0
        assert f"## {name}\n" in (runs / "one" / "figures" / "captions.md").read_text(encoding="utf-8")


def test_each_data_set_has_the_numbers_that_it_has_alone(runs, here, capfd):
    assert main(["compare", *QUICK, *HERE, THREE, "data=iris", "baseline=naive_bayes", "out=alone"]) == 0
    for path in sorted((here / "alone").rglob("*.csv")):
        alone = pd.read_csv(path)
        assert "data" not in alone
        together = of_data_set(pd.read_csv(runs / "one" / path.relative_to(here / "alone")), "iris")
        pd.testing.assert_frame_equal(together, alone, check_dtype=False)


def test_ranks_against_scipy_on_the_written_table(runs):
    means = pd.read_csv(runs / "one" / "tables" / "mean_scores.csv", index_col="data")
    ranks = pd.read_csv(runs / "one" / "tables" / "ranks.csv").set_index("algorithm")
    n, k = means.shape
    places = rankdata(means, axis=1).mean(axis=0)
    assert ranks.loc[list(means), "average_rank"].tolist() == pytest.approx(places.tolist())
    chi_square, p = friedmanchisquare(*means.to_numpy().T)
    assert ranks["chi_square"].tolist() == pytest.approx([chi_square] * k)
    assert ranks["chi_square_pvalue"].tolist() == pytest.approx([p] * k)
    unit = np.sqrt(k * (k + 1) / (6 * n))
    critical = studentized_range.isf(0.05, k, np.inf) / np.sqrt(2) * unit
    assert ranks["critical_difference"].tolist() == pytest.approx([critical] * k)
    other = ranks.drop(index="naive_bayes")
    p = 2 * norm.sf(np.abs(other["average_rank"] - ranks.loc["naive_bayes", "average_rank"]) / unit)
    assert other["pvalue"].tolist() == pytest.approx(p.tolist())
    assert sorted(other["pvalue_holm"]) == pytest.approx(sorted([2 * p.min(), max(2 * p.min(), p.max())]))
    assert ranks.loc["naive_bayes", "verdict"] == "baseline"


def test_ranked_means_are_those_of_5x2cv(runs):
    trials = pd.read_csv(runs / "one" / "trials.csv")
    halves = trials.filter(regex="^half_").mean(axis=1).groupby([trials["data"], trials["estimator"]]).mean()
    means = pd.read_csv(runs / "one" / "tables" / "mean_scores.csv", index_col="data").stack()
    assert means.sort_index().tolist() == pytest.approx(halves.sort_index().tolist())


def test_what_the_summary_says(runs):
    summary = (runs / "one" / "summary.md").read_text(encoding="utf-8")
    for said in (
        "Over 3 data sets (mean error rate in 5x2cv) the average ranks are",
        "because each halving tests every sample once",
        "3 data sets and 3 estimators are few",
        "breast_cancer: decision_tree - naive_bayes: seeds that reject",
        "120 samples to train and 30 to test on (iris)",
        "baseline naive_bayes",
    ):
        assert said in summary
    assert "published" not in summary  # those of the wine report belong to wine alone
    facts = json.loads((runs / "one" / "provenance.json").read_text(encoding="utf-8"))
    assert [data["name"] for data in facts["data"]] == list(DATA)


def test_a_data_set_where_an_estimator_fails_is_left_out_of_the_ranks(here, capfd):
    """80 neighbours: the halves of iris have 75 samples."""
    two = "estimator=[decision_tree,naive_bayes]"
    data = f"data=[{','.join(DATA)}]"
    arguments = [*QUICK, *HERE, two, data, FAR, "+estimator.far.n_neighbors=80", "baseline=far"]
    assert main(["compare", *arguments, "out=far"]) == 0
    ranks = pd.read_csv(here / "far" / "tables" / "ranks.csv")
    assert (ranks["n_datasets"] == 2).all()
    means = pd.read_csv(here / "far" / "tables" / "mean_scores.csv", index_col="data")
    assert means.isna().sum().sum() == 1
    summary = (here / "far" / "summary.md").read_text(encoding="utf-8")
    assert "iris is left out of the ranks: no score of far." in summary
    assert "40 fits failed" not in summary
    assert "20 fits failed" in summary
    assert "| iris | far |" in summary


# --- ranks of given scores


def scores(means, n_missing=0):
    table = pd.DataFrame(means).rename_axis("data").reset_index().melt("data", var_name="estimator")
    table = table.rename(columns={"value": "mean"}).assign(design="five_by_two", n_seeds=5)
    return table.assign(n_missing=np.where(table["mean"].isna(), 5, n_missing))


def ranked(means, **options):
    index = [f"data {i}" for i in range(len(next(iter(means.values()))))]
    return rank_estimators(scores(pd.DataFrame(means, index=index)), **{"scorer": "error", **options})


def test_means_that_are_written_alike_tie():
    found = ranked({"a": [0.1 + 1e-13, 0.2, 0.3], "b": [0.1, 0.2, 0.3]})
    assert found.ranks["average_rank"].tolist() == [1.5, 1.5]
    assert (found.ranks["friedman_pvalue"] == 1).all()
    assert "no difference shown" in found.finding


def test_less_error_is_better_and_more_of_a_scorer():
    means = {"a": [0.1, 0.2, 0.1], "b": [0.3, 0.4, 0.5]}
    assert ranked(means).ranks["algorithm"].tolist() == ["a", "b"]
    assert ranked(means, scorer="f1_macro").ranks["algorithm"].tolist() == ["b", "a"]


def test_many_data_sets_differ_and_no_warning_is_given():
    generator = np.random.default_rng(0)
    means = {f"e{i}": (0.1 * i + 0.01 * generator.random(12)).tolist() for i in range(6)}
    found = ranked(means, baseline="e3")
    assert found.warnings == []
    assert "the estimators differ" in found.finding
    assert "parts e0 and e3, e0 and e4" in found.finding
    assert "against e3, after Holm, e0 is better" in found.finding
    verdicts = found.ranks.set_index("algorithm")["verdict"]
    assert (verdicts["e0"], verdicts["e3"]) == ("better", "baseline")


def test_what_is_left_out_is_said():
    nan = np.nan
    found = ranked(
        {"a": [0.1, 0.2, 0.3], "b": [0.2, nan, 0.4], "c": [nan] * 3, "d": [0.3, 0.3, 0.5]}, baseline="c"
    )
    assert found.ranks["algorithm"].tolist() == ["a", "b", "d"]
    assert found.warnings[:3] == [
        "c has no score on any data set and is left out of the ranks",
        "data 1 is left out of the ranks: no score of b",
        "c has no ranks; a stands in for the baseline over the data sets",
    ]
    assert found.ranks["n_datasets"].tolist() == [2, 2, 2]


def test_too_little_is_left_for_ranks():
    found = ranked({"a": [0.1, 0.2], "b": [0.2, np.nan]})
    assert found.ranks is None
    assert found.finding == ""
    assert "There are no ranks" in found.warnings[-1]
    assert found.means.shape == (2, 2)


def test_means_over_some_of_the_seeds_are_told():
    _, notes = mean_scores(scores(pd.DataFrame({"a": [0.1]}, index=["x"]), n_missing=2))
    assert notes == ["a on x: its mean is over 3 of 5 seeds; the ranks take it as it is"]


def test_one_data_set_has_no_column_of_its_name():
    table = pd.DataFrame({"x": [1]})
    assert join_data_sets({"wine": table}, 1) is table
    assert of_data_set(table, "wine") is table
    assert join_data_sets({"wine": table}, 2).columns.tolist() == ["data", "x"]
    empty = table[:0]
    assert join_data_sets({"wine": empty, "iris": empty}, 2).columns.tolist() == ["data", "x"]


# --- what is asked for


def own_table(path, n_columns=4):
    wine = load_shipped("wine")
    rows = [
        ",".join([*(f"{v:g}" for v in x[:n_columns]), f"kind {k}"])
        for x, k in zip(wine.x, wine.y, strict=True)
    ]
    path.parent.mkdir(exist_ok=True)
    path.write_text(",".join([*"abcdef"[:n_columns], "label"]) + "\n" + "\n".join(rows) + "\n")


def second(path):
    return [
        "+data.mine._target_=harness.compare.datasets.read_csv",
        f"+data.mine.path={path}",
        "+data.mine.target=label",
    ]


def test_several_tables_of_ones_own(here, capfd):
    own_table(here.parent / "one.csv")
    own_table(here.parent / "two.csv", 5)
    first = ["data=csv", "data.csv.path=../one.csv", "data.csv.target=label"]
    two = "estimator=[decision_tree,naive_bayes]"
    assert main(["compare", *QUICK, *HERE, two, *first, *second("../two.csv"), "out=own"]) == 0
    assert list(pd.read_csv(here / "own" / "scores.csv")["data"].unique()) == ["one.csv", "two.csv"]
    assert (here / "own" / "figures" / "figure_scores_two_csv.png").is_file()


def test_two_data_sets_of_one_name(here, capfd):
    for folder in ("u", "v"):
        own_table(here.parent / folder / "t.csv")
    first = ["data=csv", "data.csv.path=../u/t.csv", "data.csv.target=label"]
    assert main(["compare", *QUICK, *HERE, THREE, *first, *second("../v/t.csv")]) == 2
    err = capfd.readouterr().err.strip().splitlines()
    assert err == ["harness compare: data: two data sets are called t.csv; each name is allowed once"]
    assert list(here.iterdir()) == []


def test_names_that_file_names_cannot_tell_apart():
    wine = load_shipped("wine")
    with pytest.raises(UserError, match=r"cannot tell a b\.csv and a_b\.csv apart"):
        check_names([wine._replace(name="a b.csv"), wine._replace(name="a_b.csv")])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["data=[wine,wine]"], "data: [wine,wine] names one twice"),
        (["data=[wine,nowhere]"], "nowhere"),
        (["data=[]"], "data: none is chosen"),
        (["data=[wine,iris]", "scorer=f1"], "scorer: f1 cannot score the data wine"),
        (["data=[breast_cancer,iris]", "scorer=f1"], "scorer: f1 cannot score the data iris"),
        (["+data.mine.path=x"], "data.mine: it has no _target_"),
        (
            ["+data.mine._target_=harness.runtime.parallel.Workers"],
            "'harness.runtime.parallel.Workers' is not allowed; functions of harness.compare.datasets are",
        ),
        (["baseline=svm"], "baseline: 'svm' is not allowed; choose one of decision_tree, naive_bayes"),
        (["baseline=3"], "baseline: 3 is not allowed"),
    ],
)
def test_wrong_settings(arguments, said, here, capfd):
    assert main(["compare", *QUICK, *HERE, THREE, *arguments]) == 2
    err = capfd.readouterr().err
    assert said in err
    assert len(err.strip().splitlines()) == 1
    assert list(here.iterdir()) == []


def test_the_baseline_of_one_data_set(here, capfd):
    assert main(["compare", *QUICK, *HERE, THREE, "baseline=naive_bayes", "out=wine"]) == 0
    table = pd.read_csv(here / "wine" / "tables" / "seeds.csv").set_index("algorithm")
    assert table.loc["naive_bayes", "verdict"] == "baseline"
    assert table["difference"].isna().sum() == 1
    assert "baseline naive_bayes." in (here / "wine" / "tables" / "seeds.md").read_text(encoding="utf-8")
