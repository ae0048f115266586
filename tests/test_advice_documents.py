"""Several categories: tests by document, their nulls, and the files they are read from."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import binom
from sklearn.metrics import f1_score, precision_score, recall_score

from harness.advice.decisions import Decisions, one_category
from harness.advice.document_tests import (
    TESTS,
    Kinds,
    bootstrap_by_document,
    difference_by_document,
    names_of,
    randomization_by_document,
    run_test,
    wald_by_document,
)
from harness.advice.documents import (
    deviation_of_documents,
    document_pairs,
    populations_of_documents,
    project_documents,
    tilt_documents,
)
from harness.advice.multi_label import find_form, read_decisions
from harness.category_sets.patterns import find_patterns, outcome_codes
from harness.category_sets.ratios import f1_ratios, standard_error
from harness.cli import main
from harness.nulls import divergence
from harness.nulls_patterns import project_patterns

Q = 1 - 1e-6
MEASURES = ("f1", "error", "precision", "recall")


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


def pair_of(decisions, measure="f1"):
    (own,) = document_pairs(decisions, measure)[0].values()
    return own


def test_the_difference_is_that_of_scikit_learn():
    decisions = draw()
    y, a, b = decisions.truth(), decisions.said("a"), decisions.said("b")
    for measure, score in (("f1", f1_score), ("precision", precision_score), ("recall", recall_score)):
        own = pair_of(decisions, measure)
        expected = score(y, a, average="micro") - score(y, b, average="micro")
        assert difference_by_document(own.frequencies, own.kinds) == pytest.approx(expected, abs=1e-12)
    own = pair_of(decisions, "error")
    assert difference_by_document(own.frequencies, own.kinds) == pytest.approx(
        (y != a).mean() - (y != b).mean()
    )


def test_the_standard_error_is_that_of_category_sets():
    decisions = draw(seed=1)
    own = pair_of(decisions)
    patterns = find_patterns(outcome_codes(decisions.truth(), decisions.said("a"), decisions.said("b")))
    ratios = f1_ratios(patterns.codes, "micro")
    expected = difference_by_document(own.frequencies, own.kinds) / standard_error(
        ratios, patterns.frequencies
    )
    assert wald_by_document(own.frequencies, own.kinds).statistic == pytest.approx(float(expected), rel=1e-9)


def test_for_one_category_it_is_the_wald_test_of_the_cells():
    from harness.significance.wald import wald

    counts = np.array([[20, 2, 9, 3, 4, 6, 5, 951]])
    for measure in ("f1", "precision", "recall"):
        ours = wald_by_document(counts, Kinds(np.eye(8, dtype=np.int64), measure))
        assert ours.pvalue[0] == pytest.approx(wald(counts, measure).pvalue[0], rel=1e-9)


@pytest.mark.parametrize("measure", MEASURES)
def test_the_null_is_the_nearest_population(measure):
    own = pair_of(draw(30, 3, seed=2), measure)
    p = own.frequencies / own.frequencies.sum()
    q = project_documents(own.frequencies[None], own.kinds)[0]
    assert abs(difference_by_document(q, own.kinds)) < 1e-9
    generator = np.random.default_rng(0)
    constraints = [
        {"type": "eq", "fun": lambda x: x.sum() - 1},
        {"type": "eq", "fun": lambda x: float(difference_by_document(x, own.kinds))},
    ]
    for _ in range(3):
        start = q * np.exp(generator.normal(0, 0.3, len(q)))
        found = minimize(
            lambda x: float((x * np.log(x / p)).sum()), start / start.sum(), constraints=constraints,
            method="SLSQP", bounds=[(1e-9, 1)] * len(p), options={"maxiter": 300, "ftol": 1e-12},
        )  # fmt: skip
        if found.success:
            assert divergence(q, p) <= found.fun + 1e-6


def test_a_rare_kind_can_balance_a_common_one():
    """Large and small differences together, and one side that hardly any document favours."""
    cells = np.array([[0, 0, 0, 0, 0, 0, 1, 99], [0, 0, 0, 0, 0, 1, 0, 99], [0, 0, 0, 0, 0, 0, 90, 10]])
    kinds = Kinds(cells, "error")
    q = project_documents(np.array([[0.5, 1e-12, 0.5]]), kinds)[0]
    assert abs(difference_by_document(q, kinds)) < 1e-9
    assert (q[:2] > 0).all()


def test_the_null_of_f1_is_that_of_document_patterns():
    own = pair_of(draw(seed=3))
    expected = project_patterns(own.frequencies, own.kinds.cells)
    np.testing.assert_allclose(project_documents(own.frequencies[None], own.kinds)[0], expected, atol=1e-9)


@pytest.mark.parametrize("measure", MEASURES)
def test_a_tilted_population_has_the_difference(measure):
    own = pair_of(draw(), measure)
    null = populations_of_documents(own, 3, np.random.default_rng(0)).null
    for wanted in (0.01, -0.02):
        q = tilt_documents(null, wanted, own.kinds)
        assert difference_by_document(q, own.kinds) == pytest.approx(wanted, abs=1e-9)
        assert q.sum() == pytest.approx(1)


def test_the_deviation_is_that_of_drawn_sets():
    own = pair_of(draw())
    null = populations_of_documents(own, 2, np.random.default_rng(0)).null
    sets = np.random.default_rng(1).multinomial(2_000, null, size=4_000)
    measured = difference_by_document(sets, own.kinds).std() * np.sqrt(2_000)
    assert deviation_of_documents(null, own.kinds) == pytest.approx(measured, rel=0.06)


def enumerate_exchanges(own):
    """Return the exact p-value: over every way to exchange A and B on documents that differ."""
    sums = own.kinds.sums()
    rows = np.repeat(sums, own.frequencies, axis=0)
    observed = abs(float(difference_by_document(own.frequencies, own.kinds)))
    far = []
    for which in itertools.product([False, True], repeat=len(rows)):
        mask = np.array(which)[:, None]
        t = np.where(mask, rows[:, [2, 3, 0, 1]], rows).sum(axis=0)
        values = [t[i] / t[i + 1] if t[i + 1] else 0.0 for i in (0, 2)]
        far.append(abs(values[0] - values[1]) >= observed - 1e-12)
    return np.mean(far)


@pytest.mark.parametrize("measure", ["f1", "error", "precision"])
def test_randomization_is_that_of_enumeration(measure):
    own = pair_of(draw(9, 4, seed=5), measure)
    exact = enumerate_exchanges(own)
    n = 20_000
    found = randomization_by_document(own.frequencies[None], own.kinds, n, np.random.default_rng(0))
    hits = round(float(found.pvalue[0]) * (n + 1)) - 1
    assert binom.ppf(1 - Q, n, exact) <= hits <= binom.ppf(Q, n, exact)


def test_the_bootstrap_is_that_of_documents_drawn_one_by_one():
    own = pair_of(draw(40, 4, seed=6))
    sums = np.repeat(own.kinds.sums(), own.frequencies, axis=0)
    n = 20_000
    t = sums[np.random.default_rng(0).integers(0, 40, size=(n, 40))].sum(axis=1)
    difference = t[:, 0] / t[:, 1] - t[:, 2] / t[:, 3]
    share = min((difference <= 0).mean(), (difference >= 0).mean())
    found = bootstrap_by_document(own.frequencies[None], own.kinds, n, np.random.default_rng(1))
    hits = round(float(found.pvalue[0]) * (n + 1) / 2) - 1
    spread = 5 * np.sqrt(2 * share * (1 - share) / n)
    assert abs(hits / n - share) <= spread


@pytest.mark.parametrize("name", TESTS[1:])
def test_stopping_early_changes_no_verdict(name):
    own = pair_of(draw(60, 5, seed=7))
    sets = np.random.default_rng(0).multinomial(60, own.frequencies / 60, size=60)
    whole = run_test(name, sets, own.kinds, 199, np.random.default_rng(1)).pvalue
    early = run_test(name, sets, own.kinds, 199, np.random.default_rng(1), 0.05).pvalue
    # other draws for the sets that go on, the same in law: p of those is not far
    clear = (whole < 0.02) | (whole > 0.12)
    assert clear.any()
    np.testing.assert_array_equal((whole <= 0.05)[clear], (early <= 0.05)[clear])


@pytest.mark.parametrize("name", names_of("f1"))
def test_documents_that_agree_are_degenerate(name):
    kinds = Kinds(np.array([[1, 0, 0, 1, 0, 0, 0, 2], [0, 0, 0, 0, 1, 0, 0, 3]]), "f1")
    found = run_test(name, np.array([[5, 3]]), kinds, 199, np.random.default_rng(0))
    assert found.pvalue[0] == 1
    assert found.degenerate[0]


@given(st.integers(0, 10_000), st.sampled_from(MEASURES))
@settings(max_examples=25, deadline=None)
def test_an_exchange_of_a_and_b_changes_the_sign_alone(seed, measure):
    decisions = draw(12, 3, seed=seed)
    if (decisions.said("a") == decisions.said("b")).all() or not decisions.truth().any():
        return
    own = pair_of(decisions, measure)
    other = Kinds(own.kinds.cells[:, [0, 2, 1, 3, 4, 6, 5, 7]], measure)
    one, two = wald_by_document(own.frequencies, own.kinds), wald_by_document(own.frequencies, other)
    assert 0 <= one.pvalue <= 1
    assert one.pvalue == pytest.approx(float(two.pvalue))
    assert one.statistic == pytest.approx(-float(two.statistic))


def test_dependent_decisions_fool_the_pooled_test_and_not_those_by_document():
    """Documents on which A or B errs in every category at once: each counts for many."""
    cells = np.array([[5, 0, 0, 0, 0, 0, 0, 5], [0, 5, 0, 0, 0, 0, 0, 5], [0, 0, 5, 0, 0, 0, 0, 5]])
    kinds = Kinds(cells, "f1")
    sets = np.random.default_rng(0).multinomial(200, [0.8, 0.1, 0.1], size=2_000)
    sizes = {}
    for name in names_of("f1"):
        some = sets if name not in TESTS[1:] else sets[:400]
        sizes[name] = (run_test(name, some, kinds, 199, np.random.default_rng(1), 0.05).pvalue <= 0.05).mean()
    assert sizes["wald_pooled"] > 0.3
    for name in TESTS:
        n = 2_000 if name == "wald_by_document" else 400
        assert sizes[name] <= binom.ppf(Q, n, 0.06) / n, name


def test_one_sided_documents_get_an_exchanged_half():
    cells = np.array([[1, 0, 0, 0, 0, 0, 0, 1], [0, 0, 1, 0, 0, 0, 0, 1]])
    codes = np.array([[3 + 4 + 8, 1]] * 30 + [[3 + 4, 1]] * 3, dtype=np.uint16)
    pairs, notes = document_pairs(Decisions("x", ["c", "d"], ["a", "b"], codes), "f1")
    assert "half a document with A and B exchanged was added" in notes[0]
    own = pairs["a-b"]
    assert len(own.kinds.cells) == len(cells) + 1
    assert own.frequencies.sum() == 33
    assert own.weights.sum() == pytest.approx(33.5)
    null = populations_of_documents(own, 4, np.random.default_rng(0)).null
    assert abs(difference_by_document(null, own.kinds)) < 1e-8


# files


def tables(decisions):
    n, k = decisions.codes.shape
    said = {"y_true": decisions.truth()} | {name: decisions.said(name) for name in decisions.systems}
    long = pd.DataFrame(
        {"item": np.repeat(np.arange(n), k), "category": np.tile(decisions.categories, n)}
        | {name: values.ravel().astype(int) for name, values in said.items()}
    )
    wide = pd.DataFrame(
        {"id": np.arange(n)}
        | {
            f"{name}.{category}": values[:, i].astype(int)
            for name, values in said.items()
            for i, category in enumerate(decisions.categories)
        }
    )
    return {"long": long, "wide": wide}


@pytest.mark.parametrize("form", ["long", "wide"])
@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_both_forms_and_every_format_say_the_same(tmp_path, form, ending, monkeypatch):
    monkeypatch.setattr("harness.advice.table_files.ROWS_AT_ONCE", 100)
    decisions = draw(150, 3, ("a", "b.1"))
    table, path = tables(decisions)[form], tmp_path / f"p.{ending}"
    if ending == "csv":
        table.to_csv(path, index=False)
    elif ending == "jsonl":
        table.to_json(path, orient="records", lines=True)
    else:
        pytest.importorskip("pyarrow")
        table.to_parquet(path)
    assert find_form(list(table.columns), None, ".") == form
    found = read_decisions(path, form)
    assert found.systems == ["a", "b.1"]
    assert found.categories == decisions.categories
    np.testing.assert_array_equal(found.codes, decisions.codes)
    own = one_category(found, "c1").cells("a", "b.1")
    codes = outcome_codes(decisions.truth()[:, 1], decisions.said("a")[:, 1], decisions.said("b.1")[:, 1])
    np.testing.assert_array_equal(own, np.bincount(codes, minlength=8))


LONG = "id,category,y_true,a,b\n"
WIDE = "id,y_true.x,y_true.y,a.x,a.y,b.x,b.y\n"
BAD = {
    LONG + "1,x,1,1,0\n1,y,0,1,0\n2,x,0,1,0\n": "item '2' has no row for category 'y'",
    LONG + "1,x,1,1,0\n1,x,0,1,0\n": "item '1' has two rows for category 'x'",
    LONG + "1,x,1,1,0\n2,x,0,1,2\n": "each decision is yes or no",
    LONG + "1,x,1,1,\n2,x,0,1,1\n": "has no value in column 'b'",
    LONG + "1,x,0,1,0\n2,x,0,1,1\n": "the truth is no everywhere",
    LONG + "1,x,0,1,1\n2,x,1,1,1\n": "the systems say the same of every item",
    LONG: "it holds no item",
    "category,y_true,a,b\nx,1,1,0\n": "needs a column of the item",
    WIDE.replace("b.y", "b.z") + "1,1,0,1,0,1,0\n": "column 'b.z' is no SYSTEM.CATEGORY",
    WIDE.replace(",b.x,b.y", "") + "1,1,0,1,0\n": "at least two different ones",
    WIDE + "1,1,0,1,0,1,0\n1,1,0,1,0,1,0\n": "items 1 and 2 have the same id",
    WIDE.replace(",b.y", "") + "1,1,0,1,0,1\n": "there is no column 'b.y'",
    WIDE: "it holds no item",
}


@pytest.mark.parametrize("text", BAD)
def test_a_bad_file_is_one_sentence(tmp_path, capsys, text):
    path = tmp_path / "p.csv"
    path.write_text(text)
    assert main(["advise", f"predictions={path}", f"out={tmp_path / 'out'}", "cache=null"]) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1
    assert BAD[text] in lines[0]
    assert not (tmp_path / "out").exists()


QUICK = [
    "plan.n_sets=300", "plan.n_draws=3", "plan.n_range_sets=100", "plan.n_power_sets=100", "plan.h=[2,3]",
    "plan.factors=[1]", "cache=null", "parallel=sequential",
]  # fmt: skip


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("several") / "p.csv"
    tables(draw(120, 5))["long"].to_csv(path, index=False)
    return path


def test_the_command_advises_by_document(file, tmp_path):
    out = tmp_path / "out"
    assert main(["advise", f"predictions={file}", f"out={out}", "difference=0.05", *QUICK]) == 0
    verdicts = pd.read_csv(out / "verdicts.csv")
    assert list(verdicts["test"]) == names_of("f1")
    assert not verdicts["recommended"].to_numpy()[-1]
    assert verdicts["recommended"].sum() == 1
    summary = (out / "summary.md").read_text()
    for words in ("5 categories, yes or no in each", "wald_pooled takes every decision for drawn on its own"):
        assert words in summary
    again = tmp_path / "again"
    arguments = [text for text in QUICK if not text.startswith("parallel")] + ["parallel.n_jobs=2"]
    assert main(["advise", f"predictions={file}", f"out={again}", "difference=0.05", *arguments]) == 0
    for path in out.glob("*.csv"):
        assert path.read_bytes() == (again / path.name).read_bytes(), path.name


def test_settings_of_several_categories(file, tmp_path, capsys):
    for argument, words in (
        ("average=macro", "average: 'macro' is not offered"),
        ("measure=dcf", "measure: dcf is not offered over several categories"),
        ("category=zz", "category: 'zz' is none of the file's"),
        ("category_column=kind", "there is no column 'kind'"),
        ("task=arc", "task: 'arc' is for a folder"),
    ):
        assert main(["advise", f"predictions={file}", f"out={tmp_path / 'out'}", argument, *QUICK]) == 2
        assert words in capsys.readouterr().err, argument
    out = tmp_path / "one"
    assert main(["advise", f"predictions={file}", f"out={out}", "category=c1", "test=[wald_f1]", *QUICK]) == 0
    assert "category 'c1', yes or no" in (out / "summary.md").read_text()
