"""Scores of items: tests of the mean difference, their nulls, and the advice."""

import numpy as np
import pandas as pd
import pytest
from advise_files import QUICK, read, refusal, written
from scipy import stats
from scipy.stats import binom

import harness
from harness.advise.documents.battery import names_of, run_test
from harness.advise.documents.scores import paired_t, score_kinds, wilcoxon
from harness.advise.points import Plan, Point
from harness.cli import main
from harness.measures import error_difference

Q = 1 - 1e-6
NAMES = names_of("score")


def draw(n=40, seed=0, digits=1):
    """Ratings, with ties and with items on which both are the same."""
    a, b = np.random.default_rng(seed).gamma(2.0, 1.0, (2, n)).round(digits)
    b[::7] = a[::7]
    return a, b


@pytest.mark.parametrize("digits", [0, 1, 6])
def test_values_are_those_of_scipy(digits):
    a, b = draw(digits=digits)
    found = harness.compare_predictions(None, a, b, "score", n_replicates=None).table
    student = stats.ttest_rel(a, b)
    ranked = stats.wilcoxon(a, b, zero_method="pratt", correction=False, method="asymptotic")
    assert found["difference"].iloc[0] == pytest.approx((a - b).mean())
    assert found.loc["paired_t", ["statistic", "pvalue"]].tolist() == pytest.approx([*student])
    assert found.loc["wilcoxon", "pvalue"] == pytest.approx(ranked.pvalue)


def test_many_sets_at_once_are_as_one_by_one():
    a, b = draw(12)
    kinds, _ = score_kinds(a, b, None)
    sets = np.random.default_rng(1).multinomial(15, np.full(len(kinds.cells), 1 / len(kinds.cells)), 50)
    for test in (paired_t, wilcoxon):
        found = test(sets, kinds).pvalue
        for counts, pvalue in zip(sets, found, strict=True):
            one, other = np.repeat(kinds.cells[:, 0][:, [0, 2]], counts, axis=0).T
            if test is paired_t:
                expected = stats.ttest_rel(one, other).pvalue
            else:
                expected = stats.wilcoxon(
                    one, other, zero_method="pratt", correction=False, method="asymptotic"
                ).pvalue
            assert pvalue == pytest.approx(expected)


def test_randomization_is_that_of_all_signs():
    a, b = draw(12)
    exact = stats.permutation_test(
        (a - b,),
        lambda d, axis: d.mean(axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=np.inf,
    )
    kinds, frequencies = score_kinds(a, b, None)
    n_replicates = 20_000
    found = run_test("randomization_score", frequencies[None], kinds, n_replicates, np.random.default_rng(0))
    hits = round(found.pvalue[0] * (n_replicates + 1)) - 1
    assert binom.ppf(1 - Q, n_replicates, exact.pvalue) <= hits <= binom.ppf(Q, n_replicates, exact.pvalue)


def test_sets_that_cannot_decide_have_a_p_of_one():
    kinds, _ = score_kinds(np.array([0.5, 0.3, 0.2]), np.array([0.5, 0.2, 0.1]), None)
    alike = np.array([[0, 9, 0], [0, 0, 9], [1, 0, 0]])  # the last kind is the one with equal scores
    for name in ("paired_t", "bootstrap_score", "randomization_score", "wilcoxon"):
        found = run_test(name, alike, kinds, 99, np.random.default_rng(0))
        assert np.isfinite(found.pvalue).all()
        assert found.pvalue[1] == 1
        assert found.degenerate[1]
    assert paired_t(alike, kinds).pvalue.tolist() == [1, 1, 1]  # no spread: as a standard error of 0


def test_the_null_is_the_tilted_mean_and_that_of_wilcoxon_is_symmetric(tmp_path):
    """Skewed differences: of a mean of 0 with median below, Wilcoxon's test says something else."""
    generator = np.random.default_rng(2)
    d = generator.exponential(1.0, 200) - 1.0
    frame = pd.DataFrame({"a": d.round(3), "b": 0.0})
    _, (pair,) = read(written(tmp_path, frame), measure="score")
    values = pair.kinds.cells[:, 0, 0]
    assert pair.null @ values == pytest.approx(0, abs=1e-9)
    slope = np.polyfit(values, np.log(pair.null / (pair.counts / pair.counts.sum())), 1)
    tilt = np.polyval(slope, values)
    np.testing.assert_allclose(np.log(pair.null / (pair.counts / pair.counts.sum())), tilt, atol=1e-6)
    n_sets = 3_000
    found = {}
    for role in ("size", "power"):
        point = Point(role, 200, 0.0, 0.0, pair.null, n_sets)
        found[role] = pair.count(point, (0,), ["paired_t", "wilcoxon"], 0.05, 0)["n_rejected"]
    assert (binom.ppf(1 - Q, n_sets, 0.05) <= found["size"]).all()
    assert (found["size"] <= binom.ppf(Q, n_sets, 0.07)).all()
    assert found["power"][1] > 0.3 * n_sets  # where the mean is 0, and the differences are skewed
    assert "wilcoxon" not in pair.recommendable


def test_right_and_wrong_may_be_scores(tmp_path):
    right = pd.DataFrame(np.random.default_rng(0).integers(0, 2, (60, 2)), columns=["a", "b"])
    path = written(tmp_path, right)
    (_, (one,)), (outcomes, _) = read(path, measure="score"), read(path, measure="error")
    assert one.difference(one.counts) == pytest.approx(-error_difference(outcomes.cells("a", "b")))


def test_what_is_no_score(tmp_path):
    frame = pd.DataFrame({"topic": list("xyz"), "a": [1.5, 2.0, 3.0], "b": [1.0, 2.5, 3.0]})
    path = written(tmp_path, frame)
    assert "column 'topic' holds 'x'; a score is a finite number" in refusal(path, measure="score")
    infinite = written(tmp_path, frame.assign(b=[1, 2, np.inf]), "i.csv")
    assert "holds 'inf'" in refusal(infinite, measure="score", systems=["a", "b"])
    lacking = written(tmp_path, frame.assign(b=[1, None, 3]), "m.csv")
    assert "item 2 has no value in column 'b'" in refusal(lacking, measure="score", systems=["a", "b"])
    for given in ({"positive": 1}, {"threshold": 0.5}, {"category": "x"}, {"average": "macro"}):
        assert next(iter(given)) in refusal(path, measure="score", **given)
    for y, a, b, words in (
        (None, ["x"], [1.0], "a: a score of each item"),
        (None, [1.0, 2.0], [1.0], "b: 1 items are not allowed where a has 2"),
        (None, [1.0, 2.0], [1.0, 2.0], "the same on every item"),
        (None, [1.0, np.nan], [1.0, 2.0], "a: a finite score"),
        ([1, 0], [1.0, 2.0], [1.0, 1.0], "compares numbers without a truth"),
    ):
        with pytest.raises(ValueError, match=words):
            harness.compare_predictions(y, a, b, "score")
    with pytest.raises(ValueError, match="y: None is allowed with measure='score' only"):
        harness.compare_predictions(None, [1, 0], [0, 1])
    with pytest.raises(ValueError, match="of scores paired_t, .* are"):
        harness.compare_predictions(None, [1.0, 2.0], [1.0, 1.0], "score", "wald_f1")


def test_the_advice_on_scores_and_on_their_clusters(tmp_path, capsys):
    a, b = draw(60)
    frame = pd.DataFrame({"topic": np.arange(60) // 3, "a": a, "b": b})
    path, out = written(tmp_path, frame), tmp_path / "out"
    given = [f"predictions={path}", "measure=score", "systems=[a,b]", *QUICK]
    assert main(["advise", *given, f"out={out}"]) == 0, capsys.readouterr().err
    assert "wilcoxon asks whether the differences are symmetric" in capsys.readouterr().out
    assert pd.read_csv(out / "verdicts.csv")["test"].tolist() == NAMES
    assert main(["advise", *given, f"out={tmp_path / 'by'}", "cluster=topic"]) == 0, capsys.readouterr().err
    told = capsys.readouterr().out
    assert "With 20 clusters" in told
    assert "With items taken as independent paired_t has a size of" in told
    plan = Plan(300, 3, 100, 100, (2.0, 3.0), (1.0,))
    found = harness.advise_predictions(
        None, a, b, "score", clusters=frame["topic"], names=("a", "b"), plan=plan
    )
    verdicts = pd.read_csv(tmp_path / "by" / "verdicts.csv").set_index("test")
    assert found.comparison.table["pvalue"].to_dict() == pytest.approx(verdicts["pvalue"].to_dict())
    assert found.test != "paired_t"
