import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, chi2
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm

from harness.compare.datasets import load_shipped
from harness.compare.trials import Scoring, draw_settings, hold_out, run_variance, train_once
from harness.compare.variance_sources import (
    split_variance,
    variance_by_source,
    variance_components,
    variance_notes,
)
from harness.runtime.parallel import run_here


def as_table(scores):
    names = ["split", "initialisation", "hyperparameters"][: scores.ndim]
    places = np.indices(scores.shape).reshape(scores.ndim, -1)
    return pd.DataFrame(dict(zip(names, places, strict=True)) | {"score": scores.ravel()})


@pytest.mark.parametrize("sds", [{"split": 0.02, "initialisation": 0.01}, {"split": 0.02, "all": 0.03}])
def test_variance_interval_and_share_by_hand(sds):
    """Settings are pooled, and the joint variance is the whole where it is known."""
    generator, own, parts = np.random.default_rng(0), dict.fromkeys(sds, 0.0), []
    for (name, sd), (n, setting) in itertools.product(sds.items(), ((5, "x"), (8, "y"))):
        scores = (5 if setting == "y" else 0.9) + sd * generator.normal(size=n)
        parts.append(pd.DataFrame({"source": name, "setting": setting, "seed": range(n), "score": scores}))
        own[name] += (n - 1) * scores.var(ddof=1) / 11
    table = variance_by_source(pd.concat(parts), confidence=0.9).set_index("source").loc[list(sds)]
    assert table["df"].tolist() == [11, 11]
    assert table["variance"].tolist() == pytest.approx(list(own.values()))
    whole = own.get("all", sum(own.values()))
    assert table["share"].tolist() == pytest.approx([variance / whole for variance in own.values()])
    low, high = (11 * table["variance"] / chi2.ppf(q, 11) for q in (0.95, 0.05))
    np.testing.assert_allclose(table[["variance_low", "variance_high"]].T, [low, high])
    np.testing.assert_allclose(table[["sd_low", "sd_high"]].T, np.sqrt([low, high]))


@pytest.mark.parametrize("shape", [(4, 3), (3, 2, 4)])
def test_mean_squares_are_those_of_statsmodels(shape):
    scores = as_table(np.random.default_rng(4).normal(size=shape))
    names = scores.columns[:-1].tolist()
    table = variance_components(scores, names).set_index("source")
    terms = " * ".join(f"C({name})" for name in names)
    # a saturated model has no residual: its sums of squares are all that is read
    with pytest.warns(RuntimeWarning):
        peer = anova_lm(ols(f"score ~ {terms}", scores).fit())
    squares = (peer["sum_sq"] / peer["df"]).to_numpy()[:-1]
    assert table["mean_square"].to_numpy() == pytest.approx(squares)
    assert table["df"].tolist() == peer["df"].astype(int).tolist()[:-1]
    # by the expected mean squares: less the interactions that contain it, and what was taken off twice
    own = squares[0] - (squares[2] if len(shape) == 2 else squares[3] + squares[4] - squares[6])
    assert table["variance"].iloc[0] == pytest.approx(max(0, own / np.prod(shape[1:])))


def test_components_are_unbiased_and_their_intervals_cover():
    n_sets, truth = 100, {"split": 0.03, "initialisation": 0.02, "residual": 0.015}
    generator, found = np.random.default_rng(6), []
    for _ in range(n_sets):
        a, b, rest = (generator.normal(size=shape) for shape in ((8, 1), (1, 7), (8, 7)))
        scores = as_table(0.9 + 0.03 * a + 0.02 * b + 0.015 * rest)
        found.append(variance_components(scores, list(truth)[:2], confidence=0.9, n_draws=500))
    table = pd.concat(found)
    assert not table["negative"].all()
    for name, sd in truth.items():
        part = table[table["source"] == name]
        error = part["variance"].std() / np.sqrt(n_sets)
        assert abs(part["variance"].mean() - sd**2) < 5 * error, name
        covered = ((part["sd_low"] <= sd) & (part["sd_high"] >= sd)).sum()
        low, high = binom.ppf([1e-6, 1 - 1e-6], n_sets, 0.9)
        assert low <= covered <= high, name


def test_a_negative_estimate_is_set_to_zero_and_named():
    scores = as_table(np.array([[0.9, 0.8, 0.7], [0.7, 0.8, 0.9]]))
    table = variance_components(scores, ["split", "initialisation"])
    assert table["variance"].tolist()[:2] == [0, 0]
    assert table["negative"].tolist() == [True, True, False]
    assert "set to 0: split, initialisation" in " ".join(variance_notes(table))


def test_scores_without_spread():
    still = as_table(np.full((3, 3), 0.1 + 0.2))
    table = variance_components(still, ["split", "initialisation"])
    assert (table[["variance", "variance_low", "variance_high"]] == 0).all(axis=None)
    assert table["share"].isna().all()
    assert not table["negative"].any()
    one = pd.DataFrame({"source": "split", "seed": range(3), "score": 0.3})
    row = variance_by_source(one).iloc[0]
    assert row["variance"] == 0
    assert row[["variance_low", "sd_high", "share"]].isna().all()
    assert "chi-square" in variance_notes(variance_by_source(one))[0]


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 4), st.integers(2, 4), st.integers(0, 2**32 - 1))
def test_properties_of_components(n_split, n_init, seed):
    scores = as_table(np.random.default_rng(seed).integers(0, 5, (n_split, n_init)) / 10)
    names = ["split", "initialisation"]
    table = variance_components(scores, names, n_draws=100)
    assert (table["variance"] >= 0).all()
    assert (table["variance_low"] <= table["variance_high"]).all()
    mixed = scores.sample(frac=1, random_state=1)
    mixed["score"] += 3
    again = variance_components(mixed, names, n_draws=100)
    assert again["variance"].to_numpy() == pytest.approx(table["variance"].to_numpy(), abs=1e-12)
    # the same seed gives the same bounds
    assert variance_components(scores, names, n_draws=100).equals(table)


# --- the scores that a comparison takes apart

SCORING = Scoring(0, "error", 0.2)
WINE = load_shipped("wine")
MADE = {
    "tree": DecisionTreeClassifier(max_features=1),
    "fixed": DecisionTreeClassifier(max_features=1, random_state=0),
    "bayes": GaussianNB(),
    "far": KNeighborsClassifier(10_000),
}


def trained(n_splits=3, n_initialisations=4):
    settings = {name: [{}] for name in MADE}
    sizes = {"n_splits": n_splits, "n_initialisations": n_initialisations}
    return run_variance(WINE, MADE, settings, lambda name: run_here, SCORING, **sizes)


def test_one_training_is_that_of_scikit_learn():
    train, test = hold_out(WINE.y, 36, 0, 2)
    fitted = GaussianNB(var_smoothing=0.1).fit(WINE.x[train], WINE.y[train])
    expected = 1 - fitted.score(WINE.x[test], WINE.y[test])
    unit = train_once(WINE, "bayes", GaussianNB(), SCORING, 2, 1, {"var_smoothing": 0.1})
    assert float(unit["score"]) == pytest.approx(expected, abs=1e-12)
    assert str(unit["failure"]) == ""


def test_only_open_random_states_make_a_difference():
    scores = trained()
    found = split_variance(scores, MADE, "error rate")
    table, alone = (
        found.csvs[f"tables/{stem}"].set_index(["estimator", "source"])["variance"]
        for stem in ("variance", "variance_alone")
    )
    told = [line for line in found.found if "no random_state to set" in line]
    assert [line.split(":")[0] for line in told] == ["fixed", "bayes"]
    for name in ("fixed", "bayes"):
        assert table[name, "initialisation"] == table[name, "residual"] == alone[name, "initialisation"] == 0
    own = scores[scores["estimator"] == "tree"].groupby("split")["score"].var().mean()
    assert alone["tree", "initialisation"] == pytest.approx(own)
    assert own > 0
    assert [line.split(";")[0] for line in found.warnings] == [
        "far: 12 of 12 trainings failed (ValueError: Expected n_neighbors <= n_samples_fit, but "
        "n_neighbors = 10000, n_samples_fit = 142, n_samples = 36)"
    ]
    assert "far" not in set(found.csvs["tables/variance"]["estimator"])


def test_there_are_no_tables_where_everything_failed():
    found = split_variance(trained().query("estimator == 'far'"), MADE, "error rate")
    assert (found.tables, list(found.csvs)) == ({}, ["variance"])


def test_more_splits_and_states_keep_the_first_ones():
    few, many = trained(n_splits=2, n_initialisations=2), trained(n_splits=3, n_initialisations=3)
    keys = ["estimator", "split", "initialisation"]
    joined = few.merge(many, on=keys, suffixes=("", "_more"))
    assert len(joined) == len(few)
    assert (joined["score"].fillna(-1) == joined["score_more"].fillna(-1)).all()


def test_settings_are_drawn_once_each():
    grid = {"a": list(range(10)), "b": ["x", "y"]}
    every = draw_settings(grid, 20, 0, "tree")
    assert every == [{"a": a, "b": b} for a, b in itertools.product(range(10), "xy")]
    draws = [(0, "tree"), (0, "tree"), (1, "tree"), (0, "svm")]
    drawn = [draw_settings(grid, 6, seed, name) for seed, name in draws]
    assert drawn[0] == drawn[1]
    assert drawn[0] not in drawn[2:]
    assert len({tuple(setting.values()) for setting in drawn[0]}) == 6
    counts = np.zeros(20)
    for seed in range(400):
        for setting in draw_settings(grid, 6, seed, "tree"):
            counts[every.index(setting)] += 1
    assert (np.abs(counts - 120) < 60).all()  # binomial, 400 draws of .3: below 1e-9 each
