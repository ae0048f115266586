"""Two systems against a margin: p-values, sizes and powers by independent sources, and what is told."""

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from advise_files import read, written
from scipy.optimize import minimize, minimize_scalar
from scipy.special import xlogy
from scipy.stats import binom, multinomial, norm, t
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.weightstats import ttost_paired, ztost

import harness
from harness.advise.cells import CellPair
from harness.advise.documents.constrained import by_cell, tilted
from harness.advise.documents.tests import Kinds
from harness.advise.margin import (
    CLAIMS,
    count_claims,
    measure_margin,
    names_against,
    pvalues,
    say_margin,
)
from harness.advise.points import Plan, Point, Question
from harness.measures import DIFFERENCES
from harness.nulls.projection import divergence
from harness.runtime.parallel import run_here
from harness.significance.wald import score_margin
from harness.two_systems import find_tests

Q = 1 - 1e-6
CELLS = np.array([60, 9, 12, 30, 20, 14, 12, 143])
SMALL = Plan(300, 3, 100, 100, (2.0, 3.0), (1.0,))


def items(cells=CELLS):
    cell = np.repeat(np.arange(8), cells)
    return cell < 4, cell % 2 == 0, cell // 2 % 2 == 0


def compared(measure, margin, cells=CELLS, **given):
    """Return p by claim and test."""
    found = harness.compare_predictions(*items(cells), measure, margin=margin, **given).margin
    return found.set_index(["claim", "test"])["pvalue"]


def cell_pair(cells, measure):
    return CellPair.of(
        "a-b", cells, measure, find_tests(measure, None, int(np.sum(cells)), None), {}
    ).with_null()


# --- p-values --------------------------------------------------------------------------------------


@pytest.mark.parametrize("margin", [0.02, 0.05])
def test_wald_on_the_error_and_t_on_scores_are_those_of_statsmodels(margin):
    y, a, b = items()
    both, (_, low), (_, high) = ztost((y != b) * 1.0 - (y != a), -margin, margin, ddof=0)
    found = compared("error", margin)
    assert [found[claim, "wald"] for claim in CLAIMS] == pytest.approx([both, low, high], rel=1e-9)
    one, other = np.random.default_rng(0).gamma(2, 1, (2, 40)).round(1)
    both, (_, low, _), (_, high, _) = ttost_paired(one, other, -margin, margin)
    found = harness.compare_predictions(None, one, other, "score", margin=margin).margin
    assert found["pvalue"].tolist() == pytest.approx([both, low, high], rel=1e-9)


def test_by_cluster_it_is_a_regression_with_robust_errors():
    y, a, b = items()
    clusters = np.random.default_rng(0).integers(0, 40, len(y))
    d = (y != a) * 1.0 - (y != b)
    fit = sm.OLS(d, np.ones(len(d))).fit(cov_type="cluster", cov_kwds={"groups": clusters}, use_t=True)
    found = compared("error", 0.05, clusters=clusters)
    expected = t.sf((np.array([-1, 1]) * fit.params[0] + 0.05) / fit.bse[0], 39)
    assert [found[claim, "wald_by_cluster"] for claim in CLAIMS[1:]] == pytest.approx(expected, rel=1e-8)
    # the constrained test rejects where both would
    for claim in CLAIMS:
        assert found[claim, "score_by_cluster"] >= found[claim, "wald_by_cluster_cr2"]


@pytest.mark.parametrize(
    ("n01", "n10", "n"), [(10, 3, 100), (0, 1, 44), (1, 0, 44), (40, 30, 90), (0, 0, 60)]
)
@pytest.mark.parametrize("margin", [0.02, 0.1, 0.3])
def test_the_score_test_has_the_likelihoods_own_fit(n01, n10, n, margin):
    """Independent: the likelihood where the difference is the margin, maximised numerically."""

    def loss(q, worse, better):
        return -(xlogy(worse, q + margin) + xlogy(better, q) + xlogy(n - n01 - n10, 1 - 2 * q - margin))

    expected = []
    for worse, better in ((n10, n01), (n01, n10)):
        fit = minimize_scalar(
            loss,
            bounds=(0, (1 - margin) / 2),
            args=(worse, better),
            method="bounded",
            options={"xatol": 1e-13},
        )
        q = min((0.0, fit.x), key=partial(loss, worse=worse, better=better))
        expected.append(norm.cdf((worse - better - n * margin) / np.sqrt(n * (2 * q + margin - margin**2))))
    found = score_margin(np.array([n - n01 - n10, n01, n10, 0, 0, 0, 0, 0]), margin)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_the_score_test_ends_tangos_published_interval():
    """That of 1, 1, 7, 12 begins at -.517: Fagerland, Lydersen & Laake (2014), Statistics in Medicine 33."""
    p = [score_margin(np.array([13, 1, 7, 0, 0, 0, 0, 0]), margin)[0] for margin in (0.5165, 0.5175)]
    assert p[1] < 0.025 < p[0]


@pytest.mark.parametrize("measure", DIFFERENCES)
def test_wald_rejects_where_the_interval_lies_within(measure):
    """Schuirmann: the interval of level 1 - 2 alpha. With the sign of each measure's better direction."""
    pair = cell_pair(CELLS, measure)
    sets = np.random.default_rng(0).multinomial(300, CELLS / 300, 500)
    d, error = pair.difference(sets), np.array([pair.deviation(one) for one in sets]) / np.sqrt(300)
    margin, reach = 0.12, norm.isf(0.05) * error
    same, a, b = pvalues(pair, "wald", sets, margin) <= 0.05
    below, above = d + reach < margin, d - reach > -margin
    worse_a, worse_b = (below, above) if measure in ("error", "dcf", "balanced_error") else (above, below)
    np.testing.assert_array_equal(a, worse_a)
    np.testing.assert_array_equal(b, worse_b)
    np.testing.assert_array_equal(same, below & above)
    assert 0 < same.sum() < len(same)


@pytest.mark.parametrize("measure", ["f1", "precision", "recall", "balanced_error"])
def test_a_set_is_tilted_to_the_margin_near_itself(measure):
    """Independent: the nearest population by a general solver, and its standard error."""
    pair, p, margin = cell_pair(CELLS, measure), (CELLS + [0, 0.25, 0.25, 0, 0, 0.25, 0.25, 0]) / 301, 0.1
    kinds = Kinds(np.eye(8, dtype=int)[:, None], measure)
    _, variance, _ = by_cell(CELLS[None], kinds, margin)
    for signed, own in zip((-margin, margin), np.sqrt(variance[:, 0] / 300), strict=True):
        shares, found = tilted(300 * p[None], kinds.terms, signed)
        assert found.all()
        assert pair.difference(shares)[0] == pytest.approx(signed, rel=1e-3)
        conditions = [
            {"type": "eq", "fun": lambda q: q.sum() - 1},
            {"type": "eq", "fun": lambda q, at=signed: pair.difference(q) - at},
        ]
        fit = minimize(divergence, shares[0], (p,), "SLSQP", bounds=[(1e-9, 1)] * 8, constraints=conditions)
        assert fit.success
        assert divergence(shares[0], p) < 1.1 * fit.fun
        assert own == pytest.approx(pair.deviation(fit.x), rel=0.06)


def test_no_standard_error_keeps_a_p_of_one():
    alike, one_sided = [50, 0, 0, 9, 9, 0, 0, 40], [0, 0, 0, 9, 9, 0, 40, 50]
    empty = [0, 0, 0, 0, 0, 0, 0, 99]
    for measure in ("f1", "precision", "recall"):
        pair = cell_pair(CELLS, measure)
        for test in names_against(pair):
            found = pvalues(pair, test, np.array([alike, one_sided, empty]), 0.2)
            assert np.isfinite(found).all()
            assert (found[:, 2] == 1).all()  # 0/0
            assert test == "score" or (found[:, 0] == 1).all()
    wald = pvalues(cell_pair(CELLS, "error"), "wald", np.array(alike), 0.2)
    assert wald.tolist() == [1, 1, 1]


# --- sizes and powers ------------------------------------------------------------------------------


@pytest.mark.parametrize("test", ["wald", "score"])
@pytest.mark.parametrize("difference", [-0.1, 0.0, 0.1])
def test_counted_rejections_are_those_of_enumeration(test, difference):
    """Every set of 40 items by its two counts; p-values of statsmodels' form, one set at a time."""
    pair, n, margin, n_sets = cell_pair([30, 3, 5, 0, 2, 0, 0, 0], "error"), 40, 0.1, 20_000
    shares = pair.tilt(pair.null, difference) if difference else pair.null
    point = Point("size", n, 0.0, difference, shares, n_sets)
    counted = count_claims(pair, point, margin, 0.05, 0, (test,))["n_rejected"][:, 0]
    exact = np.zeros(3)
    weights = multinomial(n, [shares[1], shares[2], 1 - shares[1] - shares[2]])
    for n01 in range(n + 1):
        for n10 in range(n + 1 - n01):
            if test == "score":
                low, high = score_margin(np.array([n - n01 - n10, n01, n10, 0, 0, 0, 0, 0]), margin)
            else:
                d, m = (n01 - n10) / n, n01 + n10
                error = np.sqrt((m / n - d**2) / n)
                low, high = norm.sf((np.array([d, -d]) + margin) / error) if error > 1e-12 else (1, 1)
            exact += weights.pmf([n01, n10, n - n01 - n10]) * (np.array([max(low, high), high, low]) <= 0.05)
    assert (binom.ppf(1 - Q, n_sets, exact) <= counted).all()
    assert (counted <= binom.ppf(Q, n_sets, exact)).all()


# --- what is told ----------------------------------------------------------------------------------


def test_a_margin_of_scores_lies_below_their_range():
    a, b = [1.0, 2.0, 4.0], [2.0, 2.5, 4.0]
    assert (harness.compare_predictions(None, a, b, "score", margin=2.5).margin["pvalue"] < 0.05).all()
    for margin in (-1, 3.0):
        with pytest.raises(ValueError, match="above 0 and below 3, the range of the scores, is$"):
            harness.compare_predictions(None, a, b, "score", margin=margin)


def test_every_pair_is_judged_and_holm_counts_them_all(tmp_path):
    y, a, b = items()
    c = np.where(np.arange(len(y)) % 5 == 0, ~a, a)
    path = written(tmp_path, pd.DataFrame({"y_true": y, "a": a, "b": b, "c": c}).astype(int))
    _, pairs = read(path, measure="error")
    tests = find_tests("error", None, 300, None)
    question = Question("p", "error", tests=tests, margin=0.1, plan=SMALL)
    pairs = [replace(pair, battery=tests) for pair in pairs]
    tables, _ = measure_margin(pairs, question, lambda *_: run_here, 4)
    own = tables["margin"][tables["margin"]["recommended"]]
    for _, part in own.groupby("claim"):
        expected = multipletests([*part["pvalue"], 1.0], method="holm")[1][:3]
        np.testing.assert_allclose(part["pvalue_holm"], expected)
    assert own["pair"].tolist() == [name for name in ("a-b", "a-c", "b-c") for _ in CLAIMS]
    assert tables["margin_needed"].groupby("pair").size().tolist() == [6, 6, 6]
    named = [("a", "b", "a-b"), ("a", "c", "a-c"), ("b", "c", "b-c")]
    told = say_margin(tables["margin"], tables["margin_needed"], named, 0.05, "items")
    assert told[0].startswith("a and b are the same to within 0.1: p = ")
    assert ", Holm " in told[0]
    assert any(line.startswith("c may be worse than a by more than 0.1: p = ") for line in told)
    assert any(line.startswith("a is not worse than c by more than 0.1: p = ") for line in told)
    assert any(
        line.startswith("a-b: If both are equally good, 300 items show them the same") for line in told
    )
    assert max(len(line.split()) for line in told) <= 26


def test_a_margin_out_of_reach_has_no_size():
    cells = [600, 1, 1, 100, 100, 0, 1, 400]
    found = harness.advise_predictions(*items(cells), "error", margin=0.5, plan=SMALL)
    assert "no population like this one differs by as much; its size is not known" in str(found)
    assert "A and B are the same to within 0.5: p = " in str(found)
    assert "To show A not worse than B by more than 0.5: p = " in str(found)
    assert found.margin["size"].isna().all()
    assert any("cannot differ by the margin" in note for note in found.notes)
