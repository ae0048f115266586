"""The worst case near a file: against plain enumeration, what the region holds, and what is said of it."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import binom, chi2, multinomial

import harness
from harness.advise.cells import CellPair
from harness.advise.points import Plan, Question
from harness.advise.report import say_worst
from harness.advise.worst import GROUPS, WORST, Region, find_worst, tabulate_worst
from harness.evaluation.rejections import Test
from harness.intervals import clopper_pearson
from harness.measures import difference
from harness.runtime.parallel import run_here
from harness.significance.likelihood_ratio import likelihood_ratio
from harness.significance.mcnemar import mcnemar
from harness.significance.wald import wald

FALSE_ALARM = 1e-6
COSTS = {"cost_fn": 1.0, "cost_fp": 2.0, "prior": 0.3}
CELLS = [10, 0, 1, 5, 1, 0, 4, 79]
PLAN = Plan(n_sets=20_000, n_range_sets=4_000)


def made(name, measure, pvalue):
    return Test(name, measure, difference(measure), pvalue)


TESTS = [
    made("corrected", "error", partial(mcnemar, variant="corrected")),
    made("exact", "error", partial(mcnemar, variant="exact")),
    made("uncorrected", "error", partial(mcnemar, variant="uncorrected")),
    made("wald_error", "error", partial(wald, measure="error")),
]
WALD = made("wald_f1", "f1", partial(wald, measure="f1"))


def pair_of(cells, tests, measure="error"):
    return CellPair.of("p-q", np.array(cells), measure, tests, {}).with_null()


# --- the largest size, enumerated ------------------------------------------------------------------


def rejected_sets(test, kinds, n):
    """The sets of n items, all in these cells, that a test rejects."""
    counts = np.stack([part.ravel() for part in np.indices((n + 1,) * (len(kinds) - 1))], axis=1)
    counts = counts[counts.sum(axis=1) <= n]
    sets = np.zeros((len(counts), 8), dtype=np.int64)
    sets[:, kinds] = np.column_stack([counts, n - counts.sum(axis=1)])
    return sets[:, kinds][test.pvalue(sets).pvalue <= 0.05]


def size_of(rejected, shares):
    return multinomial.pmf(rejected, rejected[0].sum(), shares / np.sum(shares)).sum()


def binomial_deviance(m, n, share):
    return -2 * (binom.logpmf(m, n, share) - binom.logpmf(m, n, m / n))


@pytest.mark.parametrize("test", TESTS, ids=lambda test: test.name)
@pytest.mark.parametrize("cells", [[20, 1, 3, 0, 0, 2, 1, 13], [12, 0, 0, 2, 1, 9, 0, 6]])
def test_the_worst_size_is_that_of_enumeration(test, cells):
    """Over a fine grid of discordant shares, each weighed by the likelihood of their number alone."""
    n, m = sum(cells), sum(cells[i] for i in (1, 2, 5, 6))
    grid = np.linspace(0.002, 0.998, 250)
    allowed = grid[binomial_deviance(m, n, grid) <= chi2.ppf(0.95, 1)]
    rejected = rejected_sets(test, [5, 6, 7], n)
    found = find_worst(pair_of(cells, TESTS), test.name, PLAN, 0.05, seed=1)
    discordant = found["shares"][[1, 2, 5, 6]].sum()
    *sizes, own = (size_of(rejected, [x / 2, x / 2, 1 - x]) for x in (*allowed, discordant))
    largest = max(sizes)
    assert allowed[0] - 0.004 <= discordant <= allowed[-1] + 0.004
    assert largest - 0.003 <= own <= largest + 1e-4  # the search may stop where sizes hardly differ
    low, high = clopper_pearson(found["n_rejected"], PLAN.n_sets, 1 - 2 * FALSE_ALARM)
    assert low <= own <= high


def test_the_worst_size_of_walds_test_on_f1_is_that_of_enumeration():
    """Random equal populations, found without the search's own steps, are nowhere clearly worse."""
    cells, n = [2, 0, 2, 1, 0, 1, 1, 2], 9
    pair, region = pair_of(cells, [WALD], "f1"), Region.of(np.array(cells), "f1")
    found = find_worst(pair, "wald_f1", PLAN, 0.05, seed=0)
    rejected, generator = rejected_sets(WALD, [0, 1, 2, 3, 5, 6, 7], n), np.random.default_rng(3)

    def size(shares):  # e4 and e5 count together
        return size_of(rejected, [*shares[:3], shares[3] + shares[4], *shares[5:]])

    own = size(found["shares"])
    low, high = clopper_pearson(found["n_rejected"], PLAN.n_sets, 1 - 2 * FALSE_ALARM)
    assert low <= own <= high
    drawn = harness.project(generator.dirichlet(np.array(cells) + 0.5, size=300), "f1")
    near = drawn[region.deviance_of(drawn) <= region.fitted + region.allowed][:60]
    assert len(near) == 60
    assert own >= max(size(null) for null in near) - 0.01


# --- the region ------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 60), min_size=8, max_size=8), st.sampled_from(sorted(GROUPS)))
@example([60, 9, 6, 10, 5, 12, 8, 390], "f1")
@example([60, 9, 6, 10, 5, 12, 8, 390], "precision")
@settings(max_examples=5, deadline=None)
def test_the_region_holds_equal_populations_no_farther_than_allowed(cells, measure):
    cells[1], cells[2] = cells[1] + 1, cells[2] + 1
    costs = COSTS if measure == "dcf" else {}
    region = Region.of(np.array(cells), measure, **costs)
    points = np.random.default_rng(0).normal(size=(20, len(region.counts)))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    found = region.cells_at(points)
    assert np.abs(difference(measure, **costs)(found)).max() < 1e-9
    np.testing.assert_allclose(found.sum(axis=1), 1)
    excess = region.deviance_of(found) - region.fitted
    assert (excess <= region.allowed + 1e-6).all()
    if min(cells) >= 5:  # points of the sphere then lie at the end of the region
        assert excess.min() > 0.98 * region.allowed
    assert region.n_dimensions == {"f1": 5, "precision": 5, "error": 1, "recall": 2}.get(measure, 4)


@pytest.mark.parametrize("measure", ["f1", "error", "precision", "recall"])
@pytest.mark.parametrize("cells", [CELLS, [10, 2, 9, 3, 4, 6, 5, 961], [10, 0, 3, 5, 1, 0, 2, 79]])
def test_the_centre_is_the_fit_of_the_likelihood_ratio_test(cells, measure):
    fitted = Region.of(np.array(cells), measure).fitted
    assert fitted == pytest.approx(float(likelihood_ratio(cells, measure).statistic), abs=2e-3)


def test_the_centre_of_a_detection_cost_is_the_fit_of_a_general_optimiser():
    cells = np.array([20, 3, 9, 8, 6, 4, 11, 139])
    region, measured = Region.of(cells, "dcf", **COSTS), difference("dcf", **COSTS)
    conditions = [
        {"type": "eq", "fun": lambda q: q.sum() - 1},
        {"type": "eq", "fun": lambda q: float(measured(np.maximum(q, 0)))},
    ]
    best = minimize(
        lambda q: -2 * float((cells * np.log(q)).sum()), cells / cells.sum(), constraints=conditions,
        bounds=[(1e-9, 1)] * 8, method="SLSQP", options={"ftol": 1e-12, "maxiter": 500},
    )  # fmt: skip
    saturated = -2 * float((cells * np.log(cells / cells.sum())).sum())
    assert region.fitted == pytest.approx(best.fun - saturated, abs=1e-4)


def test_the_region_covers_the_truth_as_often_as_it_says():
    """On files from a known null, with so many items that the chi-square distribution is near."""
    null, n_files = harness.project([60, 9, 6, 10, 5, 12, 8, 390], "f1"), 40
    files = np.random.default_rng(4).multinomial(4_000, null, size=n_files)
    regions = [Region.of(file, "f1") for file in files]
    held = sum(one.deviance_of(null[None])[0] <= one.fitted + one.allowed for one in regions)
    assert binom.ppf(FALSE_ALARM, n_files, 0.95) <= held <= binom.ppf(1 - FALSE_ALARM, n_files, 0.95)


# --- what is reported ------------------------------------------------------------------------------


def table(pairs, seed=0, run=run_here, **plan):
    question = Question(
        "p.csv", "f1", [WALD], plan=Plan(**{"n_range_sets": 200, "n_sets": 4_000} | plan), seed=seed
    )
    return tabulate_worst(pairs, ["wald_f1"] * len(pairs), question, lambda *_: run)


def test_the_worst_size_is_no_smaller_than_that_of_the_best_fit():
    (row,) = table([pair_of([10, 0, 1, 5, 1, 0, 4, 979], [WALD], "f1")], n_range_sets=1_000).to_dict(
        "records"
    )
    region = Region.of(np.array([10, 0, 1, 5, 1, 0, 4, 979]), "f1")
    centre = region.cells_at(np.zeros((1, 7)))[0]
    sets = np.random.default_rng(0).multinomial(1_000, centre, size=20_000)
    at_centre = (WALD.pvalue(sets).pvalue <= 0.05).mean()
    assert row["mc_low"] > at_centre + 0.02  # .06 against .12
    assert row["verdict"] == "liberal"
    assert row["mc_low"] < row["size"] < row["mc_high"]
    expected = np.array([row[f"e{cell}"] for cell in range(1, 9)])
    assert expected.sum() == pytest.approx(1_000)
    assert difference("f1")(expected) == pytest.approx(0, abs=1e-9)
    assert row["deviance_fitted"] <= row["deviance"] <= row["deviance_allowed"] + 1e-6


def test_a_file_on_which_nothing_differs_has_no_number():
    pair = pair_of([9, 0, 0, 5, 1, 0, 0, 72], [WALD], "f1")
    (row,) = table([pair]).to_dict("records")
    assert list(row) == list(WORST)
    assert all(pd.isna(row[name]) for name in WORST[3:])
    assert say_worst(row, ("p", "q"), "f1", 0.05) == (
        "No item tells the two systems apart: no worst case was looked for"
    )


def test_a_file_that_speaks_against_every_equal_population_has_one():
    (row,) = table([pair_of([40, 0, 30, 5, 1, 0, 0, 124], [WALD], "f1")]).to_dict("records")
    assert row["deviance_fitted"] > chi2.ppf(0.95, 6)  # no equal population lies within its own 95 %
    assert 0 < row["size"] < 0.5


@pytest.mark.parametrize(
    ("measure", "words"),
    [
        ("error", "p alone errs on 12 items and q on 4.3"),
        ("f1", "p alone finds 4.0 positives and raises 12 false alarms, q 0.0 and 0.3"),
    ],
)
def test_the_sentence_holds_what_the_row_does(measure, words):
    row = {"size": 0.0312, "mc_low": 0.0296, "mc_high": 0.0329, "verdict": "conservative"}
    row |= {"e2": 0.01, "e3": 4.0, "e6": 0.3, "e7": 12.4}
    told = f"Worst size near the file: 0.031 [0.030, 0.033] (conservative), where {words}"
    assert say_worst(row, ("p", "q"), measure, 0.05) == told
    assert len(told.split()) <= 25
