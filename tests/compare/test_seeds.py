import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm, t, ttest_ind, ttest_rel
from statsmodels.stats.multitest import multipletests

from harness.compare.figure_algorithms import fit_label, seeds_figure
from harness.compare.seeds import (
    best_seeds,
    display_table,
    expected_maximum,
    seeds_notes,
    seeds_table,
    tidy_scores,
)
from harness.drawing.layout import text_width
from harness.drawing.style import Look, figure_style


@pytest.fixture
def wide():
    generator = np.random.default_rng(0)
    scores = 0.9 + 0.01 * generator.normal(size=(12, 4)) + np.array([0, 0.02, 0.004, -0.02])
    return pd.DataFrame(scores, columns=["svm", "mlp", "forest", "logistic"], index=range(100, 112))


def test_the_numbers_of_scipy_and_statsmodels(wide):
    table = seeds_table(wide, "svm").set_index("algorithm")
    others = ["mlp", "forest", "logistic"]
    peers = [ttest_rel(wide[name], wide["svm"]) for name in others]
    assert table.loc[others, "pvalue"].tolist() == pytest.approx([peer.pvalue for peer in peers])
    assert table.loc[others, "statistic"].tolist() == pytest.approx([peer.statistic for peer in peers])
    adjusted = multipletests([peer.pvalue for peer in peers], method="holm")[1]
    assert table.loc[others, "pvalue_holm"].tolist() == pytest.approx(adjusted)
    bounds = peers[0].confidence_interval()
    assert table.loc["mlp", ["difference_low", "difference_high"]].tolist() == pytest.approx(list(bounds))
    d = wide["mlp"] - wide["svm"]
    assert table.loc["mlp", "cohens_d"] == pytest.approx(d.mean() / d.std())
    own = wide["forest"]
    half = t.ppf(0.975, 11) * own.std() / np.sqrt(12)
    assert table.loc["forest", ["mean_low", "mean_high"]].tolist() == pytest.approx(
        [own.mean() - half, own.mean() + half]
    )
    assert table.loc["forest", ["worst", "worst_seed"]].tolist() == [own.min(), own.idxmin()]
    assert table["verdict"].tolist()[:2] == ["baseline", "better"]
    assert table.loc["logistic", "verdict"] == "worse"
    assert table.loc["svm", ["pvalue", "pvalue_holm", "difference", "cohens_d"]].isna().all()
    assert table["test"].tolist()[1:] == ["paired_t"] * 3


def test_lower_is_better_turns_worst_best_and_verdicts(wide):
    high, low = (seeds_table(wide, "svm", higher_is_better=way) for way in (True, False))
    assert low["worst"].tolist() == best_seeds(wide)["best"].tolist()
    assert high["worst_seed"].tolist() == best_seeds(wide, higher_is_better=False)["best_seed"].tolist()
    turn = {"better": "worse", "worse": "better"}
    assert low["verdict"].tolist() == [turn.get(word, word) for word in high["verdict"]]
    assert low["pvalue"].equals(high["pvalue"])


def test_every_form_of_the_scores_says_the_same(wide):
    from_wide = seeds_table(wide, "svm")
    tidy = tidy_scores(wide).sample(frac=1, random_state=1)
    again = seeds_table(tidy, "svm").set_index("algorithm").loc[wide.columns].reset_index()
    pd.testing.assert_frame_equal(again, from_wide, check_dtype=False)
    from_lists = seeds_table({name: list(wide[name]) for name in wide}, "svm")
    assert from_lists["pvalue"].equals(from_wide["pvalue"])
    numbered = pd.DataFrame({"algorithm": [1, 1, 2, 2], "seed": [0, 1, 0, 1], "score": [0.1, 0.2, 0.4, 0.3]})
    assert seeds_table(numbered, "1")["algorithm"].tolist() == ["1", "2"]


def test_seeds_that_are_not_shared_are_not_paired(wide):
    tidy = tidy_scores(wide)
    moved = tidy.assign(seed=tidy["seed"].where(tidy["algorithm"] != "mlp", tidy["seed"] + 1000)).iloc[:-3]
    moved = moved[moved["algorithm"].isin(["svm", "mlp"])].drop(index=[12, 13])
    table = seeds_table(moved, "svm").set_index("algorithm")
    peer = ttest_ind(wide["mlp"].iloc[2:], wide["svm"], equal_var=False)
    assert table.loc["mlp", "test"] == "welch_t"
    assert table.loc["mlp", "n_tested"] == 10
    assert table.loc["mlp", "pvalue"] == pytest.approx(peer.pvalue)
    bounds = table.loc["mlp", ["difference_low", "difference_high"]].tolist()
    assert bounds == pytest.approx(list(peer.confidence_interval()))


def test_some_shared_seeds_ask_for_a_choice(wide):
    tidy = tidy_scores(wide[["svm", "mlp"]]).iloc[:-2]
    with pytest.raises(ValueError, match="share 10 of their 10 and 12 seeds"):
        seeds_table(tidy, "svm")
    paired, unpaired = (seeds_table(tidy, "svm", pairing=how) for how in ("paired", "unpaired"))
    assert paired["test"].tolist()[1:] == ["paired_t"]
    assert unpaired["test"].tolist()[1:] == ["welch_t"]
    assert paired.loc[1, "n_tested"] == 10


def test_failed_seeds_are_counted_and_named(wide):
    wide.loc[[103, 107], "mlp"] = np.nan
    table = seeds_table(wide, "svm").set_index("algorithm")
    assert table.loc["mlp", ["n_seeds", "n_missing", "missing_seeds"]].tolist() == [10, 2, "103 107"]
    assert table["n_missing"].tolist() == [0, 2, 0, 0]
    kept = wide.dropna()
    assert table.loc["mlp", "pvalue"] == pytest.approx(ttest_rel(kept["mlp"], kept["svm"]).pvalue)
    assert table.loc["mlp", "n_tested"] == 10
    assert table.loc["forest", "n_tested"] == 12
    notes = " ".join(seeds_notes(table.reset_index()))
    assert "mlp: 2 of 12 seeds have no score (103 107)" in notes
    assert "10 (+2 missing)" in display_table(table.reset_index())["seeds"].tolist()


def test_seeds_that_split_one_data_set(wide):
    from harness.significance.cross_validation import corrected_resampled_t

    table = seeds_table(wide, "svm", splits=(142, 36)).set_index("algorithm")
    plain = seeds_table(wide, "svm").set_index("algorithm")
    for name in ("mlp", "forest", "logistic"):
        row, d = table.loc[name], (wide[name] - wide["svm"]).to_numpy()
        expected = corrected_resampled_t(d, 142, 36)
        assert row["test"] == "corrected_resampled_t"
        assert row["pvalue"] == pytest.approx(float(expected.pvalue), rel=1e-9)
        assert row["statistic"] == pytest.approx(float(expected.statistic), rel=1e-9)
        half = t.ppf(0.975, 11) * np.sqrt((1 / 12 + 36 / 142) * d.var(ddof=1))
        assert row["difference_high"] - row["difference"] == pytest.approx(half, rel=1e-9)
        assert row["difference"] - row["difference_low"] == pytest.approx(half, rel=1e-9)
        assert row["pvalue"] > plain.loc[name, "pvalue"]
    assert "corrected resampled t, n = 12" in display_table(table.reset_index())["test"].tolist()


def test_algorithms_without_spread(wide):
    wide["copy"], wide["still"] = wide["svm"] + 1e-17, 0.91
    table = seeds_table(wide, "svm").set_index("algorithm")
    assert table.loc["copy", ["pvalue", "pvalue_holm", "verdict"]].tolist() == [1, 1, "no difference shown"]
    assert table.loc["copy", "degenerate"]
    assert table.loc["still", "sd"] == 0
    assert pd.isna(table.loc["still", "mean_low"])
    assert not table.loc["still", "degenerate"]
    notes = " ".join(seeds_notes(table.reset_index()))
    assert "still: every seed has the same score" in notes
    assert "copy: no spread in what is tested" in notes
    legacy = seeds_table(wide, "svm", degenerate="reject").set_index("algorithm")
    assert legacy.loc["copy", "pvalue"] == 0


def test_expected_maximum_against_simulation():
    draws = np.random.default_rng(1).normal(size=(200_000, 20)).max(axis=1)
    assert expected_maximum(20) == pytest.approx(draws.mean(), abs=5 * draws.std() / np.sqrt(len(draws)))
    assert expected_maximum(2) == pytest.approx(1 / np.sqrt(np.pi))
    assert expected_maximum(3) == pytest.approx(1.5 / np.sqrt(np.pi))
    assert norm.cdf(expected_maximum(1000)) > 0.999


def test_the_best_seed_comes_with_its_warning_and_is_printed(wide):
    table = seeds_table(wide, "svm")
    assert "best of several" not in " ".join(seeds_notes(table))
    table = table.merge(best_seeds(wide))
    warned = " ".join(seeds_notes(table))
    assert "of 12 normal scores the best lies 1.63 standard deviations above the mean" in warned
    shown = display_table(table).set_index("algorithm")
    for name, seed in (("worst", wide["mlp"].idxmin()), ("best", wide["mlp"].idxmax())):
        assert shown.loc["mlp", f"{name} (seed)"] == f"{wide['mlp'][seed]:.4f} ({seed})"
    assert shown.loc["mlp", ["seeds", "test"]].tolist() == ["12", "paired t, n = 12"]
    assert shown.loc["svm", ["difference", "test", "p", "Cohen's d"]].tolist() == [""] * 4


def test_the_figure_shows_every_seed(wide):
    wide.loc[103, "mlp"] = np.nan
    with figure_style(Look()):
        figure, caption = seeds_figure(tidy_scores(wide), "forest", score_name="F1")
        again, _ = seeds_figure(tidy_scores(wide), "forest", score_name="F1")
    axes = figure.axes[0]
    labels = [text.get_text() for text in axes.get_yticklabels()]
    assert labels == ["forest (n = 12)", "svm (n = 12)", "mlp (n = 11)", "logistic (n = 12)"]
    shown = {line.get_gid(): line.get_xydata() for line in axes.lines}
    points = [part for gid, part in shown.items() if str(gid).startswith("points")]
    assert sorted(points[2][:, 0]) == pytest.approx(sorted(wide["mlp"].dropna()))
    assert [len(part) for part in points] == [12, 12, 11, 12]
    assert shown["baseline"][0, 0] == pytest.approx(wide["forest"].mean())
    (other,) = (line.get_xydata() for line in again.axes[0].lines if line.get_gid() == "points:forest")
    assert points[0].tolist() == other.tolist()
    assert "11 to 12 seeds" in caption
    assert "not drawn: mlp 1" in caption
    assert "baseline, forest" in caption


@given(st.text(st.characters(codec="ascii", categories=("L", "N")), min_size=1, max_size=120))
def test_labels_fit(name):
    label, size = fit_label(name, " 1.50", 1.5)
    assert text_width(label, size) <= 1.5 + 1e-9
    assert 6 <= size <= 7.5
    assert label.endswith(" 1.50")
