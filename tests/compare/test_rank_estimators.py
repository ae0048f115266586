import numpy as np
import pandas as pd
import pytest

from harness.compare.rank_tables import rank_estimators

NAN = np.nan


def ranked(means, n_missing=0, **options):
    table = pd.DataFrame(means).rename(index="data {}".format).rename_axis("data").reset_index()
    table = table.melt("data", var_name="estimator", value_name="mean").assign(
        design="five_by_two", n_seeds=5
    )
    table = table.assign(n_missing=np.where(table["mean"].isna(), 5, n_missing))
    return rank_estimators(table, **{"scorer": "error", **options})


def ranks_of(means, **options):
    return ranked(means, **options).csvs["tables/ranks"]


def test_means_that_are_written_alike_tie():
    found = ranked({"a": [0.1 + 1e-13, 0.2, 0.3], "b": [0.1, 0.2, 0.3]})
    assert found.csvs["tables/ranks"]["average_rank"].tolist() == [1.5, 1.5]
    assert (found.csvs["tables/ranks"]["friedman_pvalue"] == 1).all()
    assert "no difference shown" in found.found[1]


@pytest.mark.parametrize(("scorer", "order"), [("error", ["a", "b"]), ("f1_macro", ["b", "a"])])
def test_less_error_is_better_and_more_of_a_scorer(scorer, order):
    means = {"a": [0.1, 0.2, 0.1], "b": [0.3, 0.4, 0.5]}
    assert ranks_of(means, scorer=scorer)["algorithm"].tolist() == order


def test_many_data_sets_differ_and_no_warning_is_given():
    generator = np.random.default_rng(0)
    means = {f"e{i}": (0.1 * i + 0.01 * generator.random(12)).tolist() for i in range(6)}
    found = ranked(means, baseline="e3")
    assert found.warnings == []
    assert "the estimators differ" in found.found[1]
    assert "parts e0 and e3, e0 and e4" in found.found[2]
    assert "Against e3, after Holm, e0 is better" in found.found[3]
    verdicts = found.csvs["tables/ranks"].set_index("algorithm")["verdict"]
    assert (verdicts["e0"], verdicts["e3"]) == ("better", "baseline")


def test_what_is_left_out_is_said():
    means = {"a": [0.1, 0.2, 0.3], "b": [0.2, NAN, 0.4], "c": [NAN] * 3, "d": [0.3, 0.3, 0.5]}
    found = ranked(means, baseline="c")
    ranks = found.csvs["tables/ranks"]
    assert ranks["algorithm"].tolist() == ["a", "b", "d"]
    assert found.warnings[:3] == [
        "c has no score on any data set and is left out of the ranks",
        "data 1 is left out of the ranks: no score of b",
        "c has no ranks; a stands in for the baseline over the data sets",
    ]
    assert ranks["n_datasets"].tolist() == [2, 2, 2]


def test_too_little_is_left_for_ranks():
    found = ranked({"a": [0.1, 0.2], "b": [0.2, NAN]})
    assert (list(found.csvs), list(found.found)) == (["tables/mean_scores"], [])
    assert "There are no ranks" in found.warnings[-1]
    assert found.csvs["tables/mean_scores"].shape == (2, 3)


def test_means_over_some_of_the_seeds_are_told():
    warnings = ranked({"a": [0.1]}, n_missing=2).warnings
    assert warnings[0] == "a on data 0: its mean is over 3 of 5 seeds; the ranks take it as it is"
