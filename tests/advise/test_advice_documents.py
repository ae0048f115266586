"""Several categories: tests by document, their nulls, and the files they are read from."""

import itertools
import pickle
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from advise_files import read, refusal, with_text, written
from count_cases import SWAP
from hypothesis import given, settings
from hypothesis import strategies as st
from model_cases import shuffled_run
from peer_measures import peer_measure
from scipy.sparse import issparse
from scipy.stats import binom
from sklearn.metrics import f1_score, precision_score, recall_score

from harness.advise import documents
from harness.advise.documents import document_pairs, project_documents
from harness.advise.documents import tests as document_tests
from harness.advise.documents.battery import names_of, run_test
from harness.advise.documents.null import nearest_null
from harness.advise.documents.scores import score_kinds
from harness.advise.documents.tests import (
    Kinds,
    bootstrap_by_document,
    wald_by_document,
)
from harness.advise.files.categories import Decisions, find_form, one_category, read_decisions
from harness.advise.points import Plan, Point, Question, measure_pair
from harness.category_sets.ratios import f1_ratios, find_patterns, standard_error
from harness.measures import DIFFERENCES, influence
from harness.measures import difference as measured
from harness.nulls import divergence, project
from harness.nulls.projection import project_patterns
from harness.outcomes import cell_codes
from harness.runtime.parallel import run_here
from harness.significance.wald import wald

TESTS = names_of("f1")[:-1]  # the last takes every decision as drawn on its own
Q = 1 - 1e-6
BOTH = pytest.mark.parametrize("average", ["micro", "macro"])


def draw(n=200, n_categories=6, systems=("a", "b"), seed=0):
    """Decisions whose errors come together: some documents are hard for all systems in all categories."""
    generator = np.random.default_rng(seed)
    truth = generator.random((n, n_categories)) < 0.25
    hard = generator.beta(0.4, 2, size=(n, 1))
    codes = 1 + 2 * truth.astype(np.uint16)
    for place, _ in enumerate(systems):
        wrong = generator.random((n, n_categories)) < np.where(truth, 0.8, 0.3) * hard
        codes += (truth ^ wrong).astype(np.uint16) << (2 + place)
    names = [f"c{i}" for i in range(n_categories)]
    return Decisions("drawn", names, list(systems), codes.astype(np.uint16))


COSTS = (("cost_fn", 2.0), ("cost_fp", 1.0), ("prior", 0.2))
AVERAGED = [
    *((measure, "micro", ()) for measure in ("f1", "error", "precision", "recall", "balanced_error")),
    *((measure, "macro", ()) for measure in ("f1", "precision", "recall", "balanced_error")),
    ("dcf", "micro", COSTS),
    ("dcf", "macro", COSTS),
]


EVERY_AVERAGE = pytest.mark.parametrize(("measure", "average", "costs"), AVERAGED)


def pair_of(decisions, measure="f1", average="micro", costs=()):
    question = Question("drawn", measure, costs=dict(costs), average=average, plan=Plan(n_draws=2))
    (own,) = document_pairs(decisions, question)[0]
    return own


def random_kinds(seed, measure="f1", n_categories=1):
    """Shares of up to 30 kinds of documents, some of them rare."""
    generator = np.random.default_rng(seed)
    drawn = generator.multinomial(5, [0.1] * 7 + [0.3], size=(30, n_categories))
    cells = np.unique(drawn, axis=0)
    shares = np.maximum(generator.dirichlet(np.full(len(cells), 0.5)), 1e-6)
    return shares / shares.sum(), Kinds(cells, measure)


@EVERY_AVERAGE
def test_the_difference_is_that_of_scikit_learn(measure, average, costs):
    decisions = draw(seed=4)
    y, a, b = decisions.truth(), decisions.said("a"), decisions.said("b")
    if measure in ("f1", "precision", "recall"):  # no positive in a category, no decision for one
        y[:, 2] = a[:, 3] = b[:, 3] = False
    decisions = decisions._replace(codes=(1 + 2 * y + 4 * a + 8 * b).astype(np.uint16))
    own, (y, a, b) = pair_of(decisions, measure, average, costs), (x.T for x in (y, a, b))
    if average == "micro":
        y, a, b = (x.reshape(1, -1) for x in (y, a, b))
    of_a, of_b = (
        np.mean([peer_measure(measure, *row, **dict(costs)) for row in zip(y, said, strict=True)])
        for said in (a, b)
    )
    assert own.difference(own.counts) == pytest.approx(of_a - of_b, abs=1e-12)


def test_the_macro_error_is_the_micro_error():
    micro, macro = (pair_of(draw(seed=2), measure, "macro") for measure in ("error", "f1"))
    assert micro.kinds.cells.shape[1] == 1
    kinds = macro.kinds._replace(measure="error")
    assert kinds.difference(macro.counts) == pytest.approx(micro.difference(micro.counts))
    for name in ("wald_by_document", "mcnemar_pooled"):
        one, other = (
            run_test(name, *own, 1, None) for own in ((macro.counts, kinds), (micro.counts, micro.kinds))
        )
        assert one.statistic == pytest.approx(other.statistic)
        assert one.pvalue == pytest.approx(other.pvalue)


@BOTH
def test_the_standard_error_is_that_of_category_sets(average):
    decisions = draw(seed=1)
    own = pair_of(decisions, "f1", average)
    patterns = find_patterns(cell_codes(decisions.truth(), decisions.said("a"), decisions.said("b")))
    ratios = f1_ratios(patterns.codes, average)
    expected = own.difference(own.counts) / standard_error(ratios, patterns.frequencies)
    assert wald_by_document(own.counts, own.kinds).statistic == pytest.approx(float(expected), rel=1e-9)


def test_for_one_category_it_is_the_wald_test_of_the_cells():
    counts = np.array([[20, 2, 9, 3, 4, 6, 5, 951], [30, 3, 1, 0, 0, 7, 2, 957]])
    for measure, costs in (*((m, ()) for m in DIFFERENCES), ("dcf", COSTS)):
        ours = wald_by_document(counts, Kinds(np.eye(8, dtype=np.int64)[:, None], measure, costs))
        known = wald(counts, measure, **dict(costs))
        np.testing.assert_allclose(ours.pvalue, known.pvalue, rtol=1e-9)


def test_the_pooled_test_of_a_macro_average_adds_the_variances_of_categories():
    own = pair_of(draw(seed=8), "f1", "macro")
    cells = np.einsum("k,kgc->gc", own.counts, own.kinds.cells)
    n, n_categories = own.counts.sum(), len(cells)
    variance = (cells * influence(cells, "f1") ** 2).sum() / (n * n_categories) ** 2
    expected = measured("f1")(cells).mean() / np.sqrt(variance)
    found = run_test("wald_pooled", own.counts, own.kinds, 1, np.random.default_rng(0))
    assert found.statistic == pytest.approx(expected, rel=1e-9)


def test_many_sets_are_tested_as_each_alone(monkeypatch):
    own = pair_of(draw(60, 3), "precision", "macro")
    sets = np.random.default_rng(0).multinomial(60, own.counts / 60, size=(4, 5))
    whole = {name: run_test(name, sets, own.kinds, 1, None) for name in ("wald_by_document", "wald_pooled")}
    monkeypatch.setattr("harness.advise.documents.tests._IN_CACHE", 50)
    monkeypatch.setattr("harness.advise.documents.tests._AT_ONCE", 50)
    for name, found in whole.items():
        parts = run_test(name, sets, own.kinds, 1, None)
        assert parts.pvalue.shape == (4, 5)
        np.testing.assert_allclose(parts.pvalue, found.pvalue, rtol=1e-9)


@pytest.mark.parametrize("seed", range(3))
@EVERY_AVERAGE
def test_the_null_is_a_tilt_along_its_own_influence(measure, average, costs, seed):
    own = pair_of(draw(300, 4, seed=seed), measure, average, costs)
    p = own.counts / own.counts.sum()
    q = own.null
    design = np.stack([own.kinds.terms.influence(q), np.ones(len(q))], axis=1)
    exponent = np.log(q / p)
    rest = exponent - design @ np.linalg.lstsq(design, exponent, rcond=None)[0]
    assert np.abs(rest).max() < 1e-6
    assert abs(own.difference(q)) <= 1e-8


def test_steps_find_the_null_of_micro_f1():
    """Those of two ratios are sought over all their common values: the nearest of all."""
    for seed in range(20):
        shares, kinds = random_kinds(seed)
        known, found = project_documents(shares[None], kinds)[0], nearest_null(shares[None], kinds)[0]
        assert divergence(found, shares) <= divergence(known, shares) * (1 + 1e-8) + 1e-15, seed


@pytest.mark.parametrize(("measure", "costs"), [*((m, ()) for m in DIFFERENCES), ("dcf", COSTS)])
def test_for_one_category_the_null_is_that_of_the_cells(measure, costs):
    kinds = Kinds(np.eye(8, dtype=np.int64)[:, None], measure, costs)
    generator = np.random.default_rng(0)
    for _ in range(12):
        counts = 1 + generator.multinomial(992, generator.dirichlet([4, 1, 1, 2, 1, 1, 1, 20]))
        known = project(counts, measure, **dict(costs))
        for found in (
            project_documents(counts[None], kinds)[0],
            nearest_null(counts[None] / 1_000, kinds)[0],
        ):
            assert abs(kinds.difference(found)) <= 1e-8
            np.testing.assert_allclose(found, known, atol=1e-6)


def test_a_category_is_not_emptied_for_the_sake_of_the_null(monkeypatch):
    """With few of its positives left but the one that both find, a rare category has any F1, cheaply."""
    generator = np.random.default_rng(0)
    counts = [[30, 0, 30, 30, 0, 0, 3, 507]] * 4 + [[1, 0, 0, 20, 0, 0, 2, 577]]
    codes = np.stack([generator.permutation(np.repeat(np.arange(8), row)) for row in counts], axis=1)
    different, frequencies = np.unique(codes, axis=0, return_counts=True)
    kinds, p = Kinds(np.eye(8, dtype=np.int64)[different], "f1"), frequencies / 600

    def bottoms(q):
        return np.einsum("k,kts->ts", q, kinds.sums())[:, 1::2]

    q = nearest_null(p[None], kinds)[0]
    assert abs(kinds.difference(q)) <= 1e-8
    assert (bottoms(q) >= 0.05 * bottoms(p)).all()
    monkeypatch.setattr("harness.advise.documents.null._LEAST", 0.0)
    emptied = nearest_null(p[None], kinds)[0]
    assert (bottoms(emptied) < 1e-4 * bottoms(p)).any() or not divergence(emptied, p) < divergence(q, p)


def test_documents_that_favour_one_alone_have_no_null():
    kinds = Kinds(np.eye(8, dtype=np.int64)[[[0, 7], [2, 7], [7, 2]]], "f1")
    assert np.isnan(project_documents(np.array([[5, 3, 2]]), kinds)).all()


def test_a_rare_kind_can_balance_a_common_one():
    """Large and small differences together, and one side that hardly any document favours."""
    cells = np.array([[0, 0, 0, 0, 0, 0, 1, 99], [0, 0, 0, 0, 0, 1, 0, 99], [0, 0, 0, 0, 0, 0, 90, 10]])
    kinds = Kinds(cells[:, None], "error")
    q = project_documents(np.array([[0.5, 1e-12, 0.5]]), kinds)[0]
    assert abs(kinds.difference(q)) < 1e-9
    assert (q[:2] > 0).all()


def test_the_null_of_f1_is_that_of_document_patterns():
    own = pair_of(draw(seed=3))
    expected = project_patterns(own.counts, own.kinds.cells[:, 0])
    np.testing.assert_allclose(own.null, expected, atol=1e-9)


@EVERY_AVERAGE
def test_a_tilted_population_has_the_difference(measure, average, costs):
    own = pair_of(draw(), measure, average, costs)
    null = own.null
    for wanted in (0.01, -0.02):
        q = own.tilt(null, wanted)
        assert own.difference(q) == pytest.approx(wanted, abs=1e-9)
        assert q.sum() == pytest.approx(1)


def enumerate_exchanges(own):
    """Return the exact p-value: over every way to exchange A and B on documents that differ."""
    rows = np.repeat(own.kinds.sums(), own.counts, axis=0)
    weights = own.kinds.weights()
    observed = abs(float(own.difference(own.counts)))
    far = []
    for which in itertools.product([False, True], repeat=len(rows)):
        mask = np.array(which)[:, None, None]
        t = np.where(mask, rows[..., [2, 3, 0, 1]], rows).sum(axis=0)
        a, b = (np.where(t[:, i + 1] > 0, t[:, i] / np.maximum(t[:, i + 1], 1), 0.0) for i in (0, 2))
        far.append(abs(weights @ (a - b)) >= observed - 1e-12)
    return np.mean(far)


@pytest.mark.parametrize(("measure", "average", "costs"), [*AVERAGED, ("score", "", ())])
def test_randomization_is_that_of_enumeration(measure, average, costs):
    name = "randomization_score" if measure == "score" else "randomization_by_document"
    if measure == "score":
        kinds, counts = score_kinds(*np.random.default_rng(0).gamma(2.0, 1.0, (2, 11)).round(1), None)
        own = SimpleNamespace(kinds=kinds, counts=counts, difference=kinds.difference)
    else:
        own = pair_of(draw(9, 4, seed=5), measure, average, costs)
    exact, n = enumerate_exchanges(own), 20_000
    found = run_test(name, own.counts[None], own.kinds, n, np.random.default_rng(0))
    hits = round(float(found.pvalue[0]) * (n + 1)) - 1
    assert binom.ppf(1 - Q, n, exact) <= hits <= binom.ppf(Q, n, exact)


@BOTH
@pytest.mark.parametrize(("n_documents", "measure"), [(40, "f1"), (9, "recall")])
def test_the_bootstrap_is_that_of_documents_drawn_one_by_one(average, n_documents, measure):
    """Of nine documents many replicates have no difference: they count on both sides."""
    own, n = pair_of(draw(n_documents, 4, seed=6), measure, average), 20_000
    drawn = np.random.default_rng(0).integers(0, n_documents, size=(n, n_documents))
    for kinds in (own.kinds, own.kinds._replace(cells=own.kinds.cells[..., SWAP])):
        t = np.repeat(kinds.sums(), own.counts, axis=0)[drawn].sum(axis=1)
        a, b = (np.where(t[..., i + 1] > 0, t[..., i] / np.maximum(t[..., i + 1], 1), 0.0) for i in (0, 2))
        difference = ((a - b) * kinds.weights()).sum(axis=1)
        share = min((difference <= 0).mean(), (difference >= 0).mean())
        found = bootstrap_by_document(own.counts[None], kinds, n, np.random.default_rng(1))
        hits = round(float(found.pvalue[0]) * (n + 1) / 2) - 1
        assert abs(hits / n - share) <= 5 * np.sqrt(2 * share * (1 - share) / n)


@pytest.mark.parametrize("name", TESTS[1:])
def test_stopping_early_changes_no_verdict(name):
    own = pair_of(draw(60, 5, seed=7))
    sets = np.random.default_rng(0).multinomial(60, own.counts / 60, size=60)
    whole = run_test(name, sets, own.kinds, 199, np.random.default_rng(1)).pvalue
    early = run_test(name, sets, own.kinds, 199, np.random.default_rng(1), 0.05).pvalue
    # other draws for the sets that go on, the same in law: p of those is not far
    clear = (whole < 0.02) | (whole > 0.12)
    assert clear.any()
    np.testing.assert_array_equal((whole <= 0.05)[clear], (early <= 0.05)[clear])


@pytest.mark.parametrize("name", names_of("f1"))
def test_sparse_sums_change_no_verdict(name, monkeypatch):
    found = []
    for limits in ((0, 1.1), (np.inf, 0)):
        monkeypatch.setattr(document_tests, "_SPARSE", limits)
        own = pair_of(draw(60, 5, seed=7), "f1", "macro")
        sets = np.random.default_rng(0).multinomial(60, own.null, size=40)
        found.append((own, run_test(name, sets, own.kinds, 199, np.random.default_rng(1))))
    (sparse, one), (dense, two) = found
    assert issparse(sparse.kinds.terms.columns)
    assert isinstance(dense.kinds.terms.columns, np.ndarray)
    np.testing.assert_allclose(sparse.null, dense.null, rtol=1e-6)
    np.testing.assert_allclose(one.statistic, two.statistic, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(one.pvalue, two.pvalue, rtol=1e-9)


def test_a_test_that_is_only_shown_sees_fewer_sets_where_it_is_slow(monkeypatch):
    own = pair_of(draw(60, 5, seed=7), "f1", "macro")
    point = Point("size", 60, 0.0, 0.0, own.null, 10_000)
    seen = [own.n_sets(name, point) for name in own.tests]
    monkeypatch.setattr(documents, "MANY_CELLS", own.kinds.cells.size - 1)
    assert (seen, [own.n_sets(name, point) for name in own.tests]) == (
        [10_000, 3_000, 3_000, 10_000], [10_000, 3_000, 3_000, 3_000],
    )  # fmt: skip


AGREE = [[[1, 0, 0, 1, 0, 0, 0, 2]], [[0, 0, 0, 0, 1, 0, 0, 3]]]
NO_PRECISION = [[[0, 0, 1, 0, 0, 0, 0, 2]], [[0, 0, 0, 1, 0, 0, 1, 1]], [[0, 0, 0, 1, 0, 0, 0, 2]]]
OF_CLUSTERS = [[[0, 0, 0, 0, 0, 0, 0, 5]], [[3, 0, 1, 0, 0, 0, 0, 1]], [[2, 0, 0, 0, 0, 1, 1, 1]]]
UNDECIDED = [
    *((name, Kinds(np.array(AGREE), "f1"), [[5, 3]], [True]) for name in names_of("f1")),
    # B never says yes in any category: its precision is 0/0
    *((name, Kinds(np.array(NO_PRECISION), "precision"), [[30, 5, 9]], [True])
      for name in names_of("precision")),
    # one document, or none that differs
    *((name, Kinds(np.array(OF_CLUSTERS), "f1"), [[9, 0, 0], [1, 0, 0], [0, 0, 6]], [True, True, False])
      for name in names_of("f1", clustered=True)[:-1]),
    # the last kind is the one with equal scores, and one kind alone has no spread
    *((name, score_kinds(np.array([0.5, 0.3, 0.2]), np.array([0.5, 0.2, 0.1]), None)[0], [[0, 0, 9]], [True])
      for name in names_of("score")),
]  # fmt: skip


@pytest.mark.parametrize(("name", "kinds", "counts", "degenerate"), UNDECIDED)
def test_sets_that_cannot_decide_have_a_p_of_one(name, kinds, counts, degenerate):
    found = run_test(name, np.array(counts), kinds, 199, np.random.default_rng(0))
    assert found.pvalue.tolist() == [1] * len(counts)
    assert found.degenerate[degenerate].all()


@given(st.integers(0, 10_000), st.sampled_from(["f1", "error", "precision", "recall"]))
@settings(max_examples=25)
def test_an_exchange_of_a_and_b_changes_the_sign_alone(seed, measure):
    shares, kinds = random_kinds(seed, measure, 3)
    counts = np.random.default_rng(seed).multinomial(12, shares)
    exchanged = kinds._replace(cells=kinds.cells[..., SWAP])
    one, two = wald_by_document(counts, kinds), wald_by_document(counts, exchanged)
    assert 0 <= one.pvalue <= 1
    assert one.pvalue == pytest.approx(float(two.pvalue))
    assert one.statistic == pytest.approx(-float(two.statistic))


@pytest.mark.parametrize(("measure", "costs"), [("f1", ()), ("dcf", COSTS)])
def test_the_size_is_the_level_on_a_macro_null(measure, costs):
    """Errors that come together; N so large that every ratio is near its limit."""
    own = pair_of(draw(400, 5, seed=3), measure, "macro", costs)
    null = own.null
    sets = np.random.default_rng(0).multinomial(1_500, null, size=3_000)
    n_rejected = (wald_by_document(sets, own.kinds).pvalue <= 0.05).sum()
    assert binom.ppf(1 - Q, 3_000, 0.045) <= n_rejected <= binom.ppf(Q, 3_000, 0.055)
    for name in TESTS[1:]:
        result = run_test(name, sets[:200], own.kinds, 199, np.random.default_rng(1), 0.05)
        # randomization is exact where A and B can be exchanged, and not for equal measures alone
        assert (result.pvalue <= 0.05).sum() <= binom.ppf(Q, 200, 0.07), name


OF_CLUSTERS_TOO = np.array([[3, 4, 0, 0, 0, 0, 1, 4], [1, 0, 0, 1, 1, 0, 5, 9], [6, 0, 0, 1, 0, 0, 0, 2]])


@pytest.mark.parametrize("clustered", [False, True])
def test_sizes_where_systems_can_be_exchanged(clustered):
    """Kinds and their exchanges, drawn alike: H0 of every test here."""
    own, n_sets = pair_of(draw(100, 4, seed=9), "f1", "macro"), 1_000
    cells, counts = (OF_CLUSTERS_TOO[:, None], [12, 13, 25]) if clustered else (own.kinds.cells, own.counts)
    kinds = Kinds(np.concatenate([cells, cells[..., SWAP]]), "f1")
    generator, size = np.random.default_rng(1), {}
    sets = generator.multinomial(60, np.tile(counts, 2) / np.sum(counts) / 2, size=n_sets)
    for name in names_of("f1", clustered):
        size[name] = (run_test(name, sets, kinds, 199, generator, 0.05).pvalue <= 0.05).sum()
    by = "cluster" if clustered else "document"
    assert size[f"randomization_by_{by}"] <= binom.ppf(Q, n_sets, 0.05)
    assert clustered or size["bootstrap_by_document"] <= binom.ppf(Q, n_sets, 0.07)
    for name in size.keys() & {f"wald_by_{by}", "wald_by_cluster_cr2"}:
        assert binom.ppf(1 - Q, n_sets, 0.04) <= size[name] <= binom.ppf(Q, n_sets, 0.06)
    if clustered:  # two decisions in one direction come together
        assert size["wald_pooled"] > binom.ppf(Q, n_sets, 0.06)


# files


def tables(decisions):
    n, k = decisions.codes.shape
    said = {"y_true": decisions.truth()} | {name: decisions.said(name) for name in decisions.systems}
    long = {"item": np.repeat(np.arange(n), k), "category": np.tile(decisions.categories, n)}
    long |= {name: values.ravel().astype(int) for name, values in said.items()}
    wide = {"id": np.arange(n)}
    for name, values in said.items():
        columns = zip(decisions.categories, values.T.astype(int), strict=True)
        wide |= {f"{name}.{category}": column for category, column in columns}
    return {"long": pd.DataFrame(long), "wide": pd.DataFrame(wide)}


@pytest.mark.parametrize("form", ["long", "wide"])
@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_both_forms_and_every_format_say_the_same(tmp_path, form, ending, monkeypatch):
    monkeypatch.setattr("harness.tables.files.CELLS_AT_ONCE", 500)
    decisions = draw(150, 3, ("a", "b.1"))
    table = tables(decisions)[form]
    assert find_form(list(table.columns), None, ".") == form
    found = read_decisions(written(tmp_path, table, f"p.{ending}"), form)
    assert found.systems == ["a", "b.1"]
    assert found.categories == decisions.categories
    np.testing.assert_array_equal(found.codes, decisions.codes)
    own = one_category(found, "c1").cells("a", "b.1")
    codes = cell_codes(decisions.truth()[:, 1], decisions.said("a")[:, 1], decisions.said("b.1")[:, 1])
    np.testing.assert_array_equal(own, np.bincount(codes, minlength=8))


def test_points_are_counted_alike_in_any_order_and_in_another_process():
    own = pair_of(draw(60, 3))
    plan = Plan(n_sets=20, n_draws=2, n_range_sets=10, n_power_sets=20, h=(2.0,), factors=(1.0,))
    tables = [
        measure_pair(pair, plan, 0.05, 0, lambda *_, run=run: run)[0]
        for pair, run in ((own, run_here), (pickle.loads(pickle.dumps(own)), shuffled_run))
    ]
    pd.testing.assert_frame_equal(*tables)


def test_a_cost_of_misses_alone_is_that_of_recall():
    decisions = draw(seed=5)
    cost, recall = pair_of(decisions, "dcf", "micro", (("prior", 1.0),)), pair_of(decisions, "recall")
    assert cost.difference(cost.counts) == pytest.approx(-recall.difference(recall.counts))
    np.testing.assert_allclose(cost.null, recall.null, atol=1e-9)


def test_a_file_without_a_null_is_refused_unless_exchanged_documents_give_one(tmp_path):
    rows = [f"{i},{c},{y},{y},0" for i in range(20) for c, y in (("x", int(i < 10)), ("y", int(i % 2)))]
    path = with_text(tmp_path, "\n".join(["id,category,y_true,a,b", *rows, ""]))
    assert "no population was found with a difference of 0; another average" in refusal(path)
    (own,) = read(path, average="macro")[1]
    assert "drawn was added, with A and B exchanged" in own.notes[0]


@pytest.mark.parametrize(
    ("measure", "peer"), [("f1", f1_score), ("precision", precision_score), ("recall", recall_score)]
)
def test_a_macro_average_over_labels_is_that_of_scikit_learn(tmp_path, measure, peer):
    """One label an item: the labels are the truth's, also in sets that lack one; "odd" is a miss alone."""
    generator = np.random.default_rng(4)
    labels = np.array(["cat", "cow", "dog", "odd"])
    rows = np.stack([generator.choice(labels[:3], 60), *generator.choice(labels, (2, 60))])
    rows[1:, :30] = rows[0, :30]
    path = with_text(
        tmp_path, "\n".join(["id,y_true,a,b", *(f"{i},{','.join(r)}" for i, r in enumerate(rows.T))])
    )
    outcomes, (own,) = read(path, average="macro", measure=measure)
    assert outcomes.categories == ["cat", "cow", "dog"]
    assert all("'odd'" in warning and "miss" in warning for warning in outcomes.warnings)
    assert len(outcomes.warnings) == 2
    assert own.difference(own.null) == pytest.approx(0, abs=1e-8)
    options = {"labels": labels[:3], "average": "macro", "zero_division": 0}

    def theirs(chosen):
        truth, a, b = rows[:, chosen]
        return peer(truth, a, **options) - peer(truth, b, **options)

    assert own.difference(own.counts) == pytest.approx(theirs(np.arange(60)))
    codes = [own.kinds.cells[:, j].argmax(axis=1) for j in range(3)]
    kind_of = {kind: place for place, kind in enumerate(zip(*codes, strict=True))}
    items = np.array([[4 * (y != c) + 2 * (b != c) + (a != c) for c in labels[:3]] for y, a, b in rows.T])
    kinds = np.array([kind_of[tuple(item)] for item in items.tolist()])
    for size in (2, 5, 60):
        chosen = generator.integers(60, size=size)
        counts = np.bincount(kinds[chosen], minlength=len(own.counts))
        assert own.difference(counts) == pytest.approx(theirs(chosen))
    one = read(path, category="cow", measure="f1")[0]
    assert one.about == "positive label 'cow'"
