"""Items in clusters: the tests by cluster, what is read, and the advice."""

import itertools

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from advise_files import read, written
from scipy.linalg import sqrtm
from scipy.stats import binom, t

from harness.advise.documents.clusters import randomization_by_cluster, wald_by_cluster, wald_by_cluster_cr2
from harness.advise.documents.tests import Kinds, deviations

Q = 1 - 1e-6


def draw(n_clusters=30, seed=0, largest=9):
    """A file whose items of one passage are hard for the same system."""
    generator = np.random.default_rng(seed)
    n_items = generator.integers(1, largest, n_clusters)
    passage = np.repeat(np.arange(n_clusters), n_items)
    truth = generator.random(len(passage)) < 0.4
    hard = generator.beta(0.5, 1.5, (n_clusters, 2))[passage]
    said = truth[:, None] ^ (generator.random(hard.shape) < 0.6 * hard)
    frame = pd.DataFrame({"passage": [f"p{i}" for i in passage], "y_true": truth, "a": said[:, 0]})
    return frame.assign(b=said[:, 1]).astype({"y_true": int, "a": int, "b": int})


def pair_of(folder, frame, **given):
    _, (pair,) = read(written(folder, frame), cluster="passage", **given)
    return pair


def test_the_errors_variance_is_that_of_a_regression(tmp_path):
    """Independent: ordinary least squares of the items' differences on a constant, clusters robust."""
    frame = draw()
    pair = pair_of(tmp_path, frame, measure="error")
    d = (frame["a"] != frame["y_true"]).astype(float) - (frame["b"] != frame["y_true"])
    groups = {"groups": frame["passage"].astype("category").cat.codes}
    fit = sm.OLS(d, np.ones(len(d))).fit(cov_type="cluster", cov_kwds=groups, use_t=True)
    found = wald_by_cluster(pair.counts, pair.kinds)
    assert found.statistic == pytest.approx(fit.tvalues["const"], rel=1e-10)
    assert found.pvalue == pytest.approx(fit.pvalues["const"], rel=1e-8)


def test_cr2_and_its_degrees_of_freedom_are_those_of_matrices(tmp_path):
    """Independent: Bell and McCaffrey's formulas written out for every item."""
    frame = draw(12)
    pair = pair_of(tmp_path, frame, measure="error")
    d = ((frame["a"] != frame["y_true"]) * 1.0 - (frame["b"] != frame["y_true"])).to_numpy()
    n, x = len(d), np.ones((len(d), 1))
    rest = np.eye(n) - x @ x.T / n
    variance, columns = 0.0, []
    for _, rows in frame.groupby("passage").indices.items():
        adjusted = np.linalg.inv(np.real(sqrtm(rest[np.ix_(rows, rows)] + 0j)))
        weights = adjusted @ np.ones(len(rows)) / n
        variance += float(weights @ (d - d.mean())[rows]) ** 2
        columns.append(rest[:, rows] @ weights)
    inner = np.stack(columns).T
    gram = inner.T @ inner
    statistic = d.mean() / np.sqrt(variance)
    freedom = np.trace(gram) ** 2 / (gram**2).sum()
    found = wald_by_cluster_cr2(pair.counts, pair.kinds)
    assert found.statistic == pytest.approx(statistic, rel=1e-9)
    assert found.pvalue == pytest.approx(2 * t.sf(abs(statistic), freedom), rel=1e-8)


@pytest.mark.parametrize("measure", ["f1", "precision", "recall", "balanced_error"])
def test_clusters_of_one_weight_need_no_adjustment(measure):
    """Every cluster has the same part of each denominator: CR2 is the plain variance with G - 1."""
    cells = np.array([[2, 0, 1, 1, 0, 0, 1, 3], [2, 1, 0, 1, 0, 1, 0, 3], [3, 0, 0, 1, 0, 0, 0, 4]])
    cells[2] = [2, 1, 1, 0, 1, 0, 0, 3]
    kinds = Kinds(cells[:2, None], measure)
    counts = np.array([[9, 5], [4, 4]])
    one, other = wald_by_cluster(counts, kinds), wald_by_cluster_cr2(counts, kinds)
    if measure in ("recall", "balanced_error"):  # the others' denominators are what a system says
        np.testing.assert_allclose(one.statistic, other.statistic, rtol=1e-12)
        np.testing.assert_allclose(one.pvalue, other.pvalue, rtol=1e-12)
    else:
        assert (np.abs(one.statistic - other.statistic) < 0.2).all()


def test_exchanges_of_clusters_are_enumerated(tmp_path):
    """All 2^G exchanges of whole clusters, each with its own standard error."""
    frame, n_replicates = draw(9, seed=3), 20_000
    pair = pair_of(tmp_path, frame, measure="f1")
    cells = np.repeat(pair.kinds.cells[:, 0], pair.counts, axis=0)

    def ratio(own):
        every = Kinds(own[:, None], "f1")
        d, total = deviations(np.ones((1, len(own)), dtype=np.int64), every.terms)
        return abs(d[0]) / np.sqrt(total[0])

    swapped = cells[:, [0, 2, 1, 3, 4, 6, 5, 7]]
    found = [
        ratio(np.where(np.array(flips)[:, None], swapped, cells))
        for flips in itertools.product([False, True], repeat=len(cells))
    ]
    exact = np.mean(np.array(found) >= ratio(cells) * (1 - 1e-12))
    generator = np.random.default_rng(0)
    result = randomization_by_cluster(pair.counts[None], pair.kinds, n_replicates, generator)
    hits = round(result.pvalue[0] * (n_replicates + 1)) - 1
    assert binom.ppf(1 - Q, n_replicates, exact) <= hits <= binom.ppf(Q, n_replicates, exact)


def test_a_cluster_adds_up_its_items(tmp_path):
    """One category, right and wrong alone, one category of several, and several in both forms."""
    frame = draw()
    code = 4 * (1 - frame["y_true"]) + 2 * (1 - frame["b"]) + (1 - frame["a"])
    expected = sorted(np.bincount(own, minlength=8).tolist() for _, own in code.groupby(frame["passage"]))

    def clusters(pair):
        return sorted(np.repeat(pair.kinds.cells.sum(axis=1), pair.counts, axis=0).tolist())

    assert clusters(pair_of(tmp_path, frame, measure="f1")) == expected
    right = frame.assign(a=frame["a"] == frame["y_true"], b=frame["b"] == frame["y_true"]).drop(
        columns="y_true"
    )
    graded = np.array(clusters(pair_of(tmp_path, right.astype({"a": int, "b": int}))))
    assert graded.sum(axis=0)[[0, 1, 2, 3]].tolist() == [
        ((code == 0) | (code == 7)).sum(), ((code == 1) | (code == 6)).sum(),
        ((code == 2) | (code == 5)).sum(), ((code == 3) | (code == 4)).sum(),
    ]  # fmt: skip
    other = draw(seed=5, largest=9)[["y_true", "a", "b"]].sample(len(frame), replace=True, random_state=0)
    wide = pd.DataFrame({"passage": frame["passage"]})
    for name in ("y_true", "a", "b"):
        wide[f"{name}.x"], wide[f"{name}.y"] = frame[name].to_numpy(), other[name].to_numpy()
    parts = [frame.assign(category="x"), other.assign(category="y", passage=frame["passage"].to_numpy())]
    long = pd.concat([part.assign(id=np.arange(len(frame))) for part in parts])
    both, one = (pair_of(tmp_path, form, average="macro") for form in (wide, long))
    assert both.kinds.cells.tolist() == one.kinds.cells.tolist()
    assert sorted(np.repeat(both.kinds.cells[:, 0], both.counts, axis=0).tolist()) == expected
    assert clusters(pair_of(tmp_path, long, category="x")) == expected
