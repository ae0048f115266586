import importlib.util
import itertools
from functools import partial

import numpy as np
import pandas as pd
import pytest
from beside import beside
from composing import composed
from scipy.stats import binomtest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from harness.cli.conf_files import conf_folder
from harness.compare import wine_tables
from harness.compare.datasets import (
    check_dataset,
    check_names,
    count_held_out,
    load_shipped,
    read_csv,
)
from harness.compare.learner_tables import (
    TESTED,
    count_right,
    join_data_sets,
    of_data_set,
    tabulate_failures,
    tabulate_rejections,
    tabulate_verdicts,
)
from harness.compare.trials import Scoring, attempt, halves, hold_out, run_trial, run_trials, trial_splits
from harness.errors import UserError
from harness.evaluation.rates import fewest_discordances
from harness.models.estimators import fresh
from harness.runtime.parallel import run_here
from harness.significance.cross_validation import five_by_two_t
from harness.significance.mcnemar import mcnemar

KNOWN = beside(__file__)

WINE = load_shipped("wine")
MADE = {
    "tree": DecisionTreeClassifier(max_features=3),
    "bayes": GaussianNB(),
    "logistic": LogisticRegression(solver="newton-cholesky", C=0.01),
}


def trials(made, n_seeds=4, scorer="error"):
    return run_trials(WINE, made, lambda name: run_here, n_seeds, Scoring(0, scorer, 0.2))


@pytest.fixture(scope="module")
def found():
    return trials(MADE)


@pytest.mark.parametrize("name", ["wine", "iris", "breast_cancer"])
def test_halves_are_halves_disjoint_and_stratified(name):
    y = load_shipped(name).y
    for repetition in range(5):
        (train, test), (other_train, other_test) = halves(y, 3, 7, repetition)
        assert (set(train), set(test)) == (set(other_test), set(other_train))
        assert sorted([*train, *test]) == list(range(len(y)))
        assert abs(len(train) - len(test)) <= 1
        assert np.abs(np.bincount(y[train]) - np.bincount(y[test])).max() <= 1


def test_splits_come_from_named_seeds():
    places = itertools.product(range(2), repeat=3)
    drawn = [halves(WINE.y, seed, place, r)[0][0].tolist() for seed, place, r in places]
    assert len({tuple(part) for part in drawn}) == 8
    assert drawn[5] == halves(WINE.y, 1, 0, 1)[0][0].tolist()


def test_the_hold_out_of_the_wine_report():
    train, test = hold_out(WINE.y, count_held_out(178, 0.2), 0, 0)
    assert (len(train), len(test)) == (142, 36)
    assert sorted([*train, *test]) == list(range(178))
    assert np.abs(np.bincount(WINE.y[test]) - np.bincount(WINE.y) * 36 / 178).max() < 1


def test_every_estimator_sees_the_same_splits_whatever_else_is_compared(found):
    alone = trials({"bayes": MADE["bayes"]})["bayes"]
    assert np.array_equal(alone.halves, found["bayes"].halves)
    assert np.array_equal(alone.right, found["bayes"].right)


@pytest.mark.parametrize(("scorer", "name"), [("error", "accuracy"), ("f1_macro", "f1_macro")])
def test_scores_are_those_of_scikit_learn(scorer, name):
    parts = [part[1:] for part in trial_splits(WINE.y, 0, 2, 36)]
    unit = run_trial(WINE, "logistic", MADE["logistic"], Scoring(0, scorer, 0.2), 2)
    theirs = cross_val_score(MADE["logistic"], WINE.x, WINE.y, cv=parts, scoring=name)
    assert unit["scores"] == pytest.approx(1 - theirs if scorer == "error" else theirs, abs=1e-12)


def test_random_states_are_named_and_threads_are_one():
    forest = make_pipeline(StandardScaler(), RandomForestClassifier(n_jobs=8))
    one, same, other = (fresh(forest, state).get_params() for state in (5, 5, 6))
    key = "randomforestclassifier__random_state"
    assert one[key] == same[key] != other[key]
    assert one["randomforestclassifier__n_jobs"] == 1


def test_a_failing_estimator_is_counted_and_the_others_go_on():
    found = trials(MADE | {"far": KNeighborsClassifier(n_neighbors=10_000)}, n_seeds=3)
    assert len(found["far"].failures) == len(tabulate_failures(found)) == 3 * 11
    assert found["far"].failures[0][1] == "hold-out"
    assert "n_neighbors" in found["far"].failures[0][2]
    assert np.isnan(found["far"].halves).all()
    table = tabulate_rejections(tabulate_verdicts(found), 0.05)
    mine = table[(table["a"] == "far") | (table["b"] == "far")]
    assert (mine["n_missing"] == 3).all()
    assert mine["rate"].isna().all()
    assert (table["n_missing"].drop(mine.index) == 0).all()


def test_an_estimator_that_fails_on_some_folds_loses_those_verdicts_alone():
    """k neighbours of 90: the halves have 89 samples, the hold-out trains on 142."""
    found = trials(MADE | {"far": KNeighborsClassifier(n_neighbors=90)}, n_seeds=2)
    assert len(found["far"].failures) == 2 * 10
    verdicts = tabulate_verdicts(found)
    mine = verdicts[verdicts["b"] == "far"].set_index("test")["pvalue"]
    assert mine[["mcnemar", "mcnemar_exact"]].notna().all()
    assert mine[["five_by_two_t", "five_by_two_f"]].isna().all()


def test_a_scorer_that_an_estimator_cannot_serve():
    found = trials({"svm": SVC(), "bayes": GaussianNB()}, n_seeds=1, scorer="neg_log_loss")
    assert len(found["svm"].failures) == 11  # SVC has no probabilities
    assert (found["svm"].right == -1).all()
    assert np.isfinite(found["bayes"].halves).all()


def test_a_score_that_is_no_number():
    """R2 of one sample is undefined, and scikit-learn says NaN."""
    made = attempt(WINE, GaussianNB(), np.arange(2, 178), np.array([0]), "r2")
    assert (made.failure, made.right, np.isnan(made.score)) == (
        "ArithmeticError: the score is nan",
        None,
        True,
    )
    assert len(made.warned) == 1


def test_verdicts_are_those_of_the_tests(found):
    verdicts = tabulate_verdicts(found)
    assert len(verdicts) == 3 * 4 * len(TESTED)
    row = verdicts[(verdicts["a"] == "tree") & (verdicts["b"] == "bayes") & (verdicts["seed"] == 2)]
    row = row.set_index("test")
    a, b = found["tree"], found["bayes"]
    only_a = int(((a.right[2] == 0) & (b.right[2] == 1)).sum())
    only_b = int(((a.right[2] == 1) & (b.right[2] == 0)).sum())
    assert row.loc["mcnemar", ["only_a_wrong", "only_b_wrong"]].tolist() == [only_a, only_b]
    assert row.loc["mcnemar", ["both_right", "only_a_wrong", "only_b_wrong", "both_wrong"]].sum() == 36
    counts = np.array([36 - only_a - only_b, 0, 0, 0, 0, only_b, only_a, 0])
    assert row.loc["mcnemar_exact", "pvalue"] == mcnemar(counts, "exact").pvalue
    d = a.halves[2] - b.halves[2]
    assert row.loc["five_by_two_t", "pvalue"] == five_by_two_t(d).pvalue
    assert row.loc["five_by_two_t", "difference"] == pytest.approx(d.mean())


def test_rejections_are_counted_over_the_seeds(found):
    verdicts = tabulate_verdicts(found)
    keys = ["a", "b", "test"]
    counted = verdicts.groupby(keys)["pvalue"].agg(lambda p: (p <= 0.3).sum())
    for row in tabulate_rejections(verdicts, 0.3).to_dict("records"):
        assert row["n_rejected"] == counted[tuple(row[key] for key in keys)] >= row["n_rejected_holm"]
        interval = binomtest(row["n_rejected"], 4).proportion_ci(0.95, "exact")
        assert (row["low"], row["high"]) == pytest.approx((interval.low, interval.high))


def test_what_the_wine_report_cannot_have_found():
    """One error against none on 36 samples: no variant rejects; no error at all is degenerate."""
    none = np.ones(36, dtype=int)
    one = np.where(np.arange(36) == 0, 0, none)
    for variant in ("corrected", "exact", "uncorrected", "midp"):
        assert mcnemar(count_right(one, none), variant).pvalue > 0.3
    for variant in ("corrected", "exact"):
        assert fewest_discordances(partial(mcnemar, variant=variant), 0.05, 36) == 6
    assert round(1 / 36, 3) == wine_tables.ERROR_RATES["xgboost"][0]


def test_one_data_set_has_no_column_of_its_name():
    table = pd.DataFrame({"x": [1]})
    assert join_data_sets({"wine": table}, 1) is of_data_set(table, "wine") is table
    assert join_data_sets({"wine": table}, 2).columns.tolist() == ["data", "x"]
    empty = table[:0]
    assert join_data_sets({"wine": empty, "iris": empty}, 2).columns.tolist() == ["data", "x"]


# --- what is on offer


def test_every_estimator_that_is_offered_learns():
    names = sorted(path.stem for path in (conf_folder() / "estimator").glob("*.yaml"))
    if importlib.util.find_spec("xgboost") is None:
        names.remove("xgboost")
    made = composed("data=iris", f"estimator=[{','.join(names)}]")["options"]["estimators"]
    assert list(made) == names
    x, y = load_iris(return_X_y=True)
    for name, estimator in made.items():
        fitted = fresh(estimator, 0).fit(x[::2], y[::2])
        assert (fitted.predict(x[1::2]) != y[1::2]).mean() < 0.15, name


def test_every_data_set_that_is_offered_loads_and_is_proven():
    names = ["wine", "iris", "digits", "breast_cancer"]
    made = composed(f"data=[{','.join(names)}]", "estimator=[decision_tree,naive_bayes]")["options"]["data"]
    assert [data.name for data in made] == names
    for data in made:
        assert np.isfinite(data.x).all()
        assert len(data.x) == len(data.y)
        assert set(data.y) == set(range(len(data.classes)))
    assert made[3].x.shape == (569, 30)
    assert made[0].fingerprint() == WINE.fingerprint() != WINE._replace(y=WINE.y[::-1]).fingerprint()


def test_labels_are_text(tmp_path):
    (tmp_path / "t.csv").write_text("x,y\n1,01\n2,1\n3,01\n")
    assert read_csv(str(tmp_path / "t.csv"), "y").classes == ("01", "1")


def test_names_that_file_names_cannot_tell_apart():
    with pytest.raises(UserError, match=r"cannot tell a b\.csv and a_b\.csv apart"):
        check_names([WINE._replace(name="a b.csv"), WINE._replace(name="a_b.csv")])
    with pytest.raises(UserError, match=r"two data sets are called t\.csv; each name is allowed once"):
        check_names([WINE._replace(name="t.csv")] * 2)


@pytest.mark.parametrize(("text", "said"), KNOWN["wrong_tables"])
def test_wrong_tables(text, said, tmp_path):
    if text is not None:
        (tmp_path / "t.csv").write_text(text)
    with pytest.raises(UserError, match=said):
        check_dataset(read_csv(str(tmp_path / "t.csv"), "y"), 0.2)
