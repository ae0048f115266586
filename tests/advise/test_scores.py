"""Scores of items: tests of the mean difference, their nulls, and the advice."""

import numpy as np
import pandas as pd
import pytest
from advise_files import read, written
from scipy import stats
from scipy.stats import binom

import harness
from harness.advise.documents.battery import names_of
from harness.advise.documents.scores import paired_t, score_kinds, wilcoxon
from harness.advise.points import Point
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
