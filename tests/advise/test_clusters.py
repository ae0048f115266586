"""Items in clusters: the tests by cluster, what is read, and the advice."""

import itertools

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from advise_files import QUICK, read, refusal, written
from scipy.linalg import sqrtm
from scipy.stats import binom, t

import harness
from harness.advise.documents.battery import names_of, run_test
from harness.advise.documents.clusters import randomization_by_cluster, wald_by_cluster, wald_by_cluster_cr2
from harness.advise.documents.tests import Kinds, deviations
from harness.advise.points import Plan
from harness.cli import main

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
        d, total = deviations(np.ones((1, len(own)), dtype=np.int64), every.terms())
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


def test_sizes_where_systems_can_be_exchanged():
    """Independent clusters of two kinds and their exchanges, drawn alike: H0 of every test here."""
    cells = np.array([[3, 4, 0, 0, 0, 0, 1, 4], [1, 0, 0, 1, 1, 0, 5, 9], [6, 0, 0, 1, 0, 0, 0, 2]])
    kinds = Kinds(np.concatenate([cells, cells[:, [0, 2, 1, 3, 4, 6, 5, 7]]])[:, None], "f1")
    generator, n_sets, size = np.random.default_rng(1), 2_000, {}
    sets = generator.multinomial(40, [0.12, 0.13, 0.25] * 2, size=n_sets)
    for name in names_of("f1", clustered=True):
        size[name] = (run_test(name, sets, kinds, 199, generator, 0.05).pvalue <= 0.05).sum()
    assert size["randomization_by_cluster"] <= binom.ppf(Q, n_sets, 0.05)
    for name in ("wald_by_cluster", "wald_by_cluster_cr2"):
        assert binom.ppf(1 - Q, n_sets, 0.04) <= size[name] <= binom.ppf(Q, n_sets, 0.06)
    assert size["wald_pooled"] > binom.ppf(Q, n_sets, 0.06)  # two decisions in one direction come together


def test_sets_that_cannot_decide_have_a_p_of_one():
    kinds = Kinds(
        np.array([[[0, 0, 0, 0, 0, 0, 0, 5]], [[3, 0, 1, 0, 0, 0, 0, 1]], [[2, 0, 0, 0, 0, 1, 1, 1]]]), "f1"
    )
    counts = np.array([[9, 0, 0], [4, 1, 0], [0, 0, 6], [1, 0, 0]])
    for name in names_of("f1", clustered=True)[:-1]:
        found = run_test(name, counts, kinds, 99, np.random.default_rng(0))
        assert found.pvalue[[0, 2, 3]].tolist() == [1, 1, 1]
        assert found.degenerate[[0, 3]].all()
        assert np.isfinite(found.pvalue).all()


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


def test_what_is_no_column_of_clusters(tmp_path):
    frame = draw()
    good = written(tmp_path, frame)
    named = {"systems": ["a", "b"]}
    assert "did you mean passage?" in refusal(good, cluster="pasage")
    assert "is read as the truth, a system" in refusal(good, cluster="y_true")
    assert "is read as the truth, a system" in refusal(good, cluster="a", **named)
    for column, words in (
        ("one", "puts every item into one cluster, 'one'"),
        (range(len(frame)), f"gives each of the {len(frame)} items a cluster of its own; leave it out"),
        ([None, *frame["passage"][1:]], "item 1 has no value in column 'passage'"),
    ):
        assert words in refusal(written(tmp_path, frame.assign(passage=column), "q.csv"), cluster="passage")
    two = pd.concat([frame.assign(id=frame.index, category=c, passage=c) for c in "xy"])
    assert "an item has one cluster" in refusal(written(tmp_path, two), cluster="passage")
    with pytest.raises(ValueError, match="one cluster for each item is needed"):
        harness.compare_predictions(frame["y_true"], frame["a"], frame["b"], clusters=frame["passage"][1:])
    with pytest.raises(ValueError, match="of clusters wald_by_cluster, .* are"):
        harness.compare_predictions(
            frame["y_true"], frame["a"], frame["b"], test="wald_f1", clusters=frame["passage"]
        )


def test_the_advice_speaks_of_clusters(tmp_path, capsys):
    frame, out = draw(), tmp_path / "out"
    path = written(tmp_path, frame)
    given = [f"predictions={path}", "cluster=passage", f"out={out}", *QUICK]
    assert main(["advise", *given]) == 0, capsys.readouterr().err
    told = capsys.readouterr().out
    assert "With 30 clusters" in told
    assert "With items taken as independent wald_pooled has a size of" in told
    verdicts = pd.read_csv(out / "verdicts.csv").set_index("test")
    columns = (frame[name] for name in ("y_true", "a", "b"))
    found = harness.advise_predictions(
        *columns, clusters=frame["passage"], names=("a", "b"), plan=Plan(300, 3, 100, 100, (2.0, 3.0), (1.0,))
    )
    assert found.comparison.table["pvalue"].to_dict() == pytest.approx(verdicts["pvalue"].to_dict())
    sizes = pd.read_csv(out / "sizes.csv").set_index("test")["size"]
    assert found.table["size"].to_dict() == pytest.approx(sizes.to_dict())
    assert found.comparison.n_clusters == 30
    assert not len(found.worst)
    assert "in 30 clusters" in repr(found)
