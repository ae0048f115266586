import fake_run
import numpy as np
import pytest

from harness.results.truth_scores import (
    CANNOT_TELL,
    MET,
    NOT_MET,
    STATEMENTS,
    interval,
    score_truth_rules,
    statement_verdict,
    total_scores,
)
from harness.run.report import truth_parts

SIZES = [100, 1000, 6000]


def counted(n_size, n_power, power=0.3, **changes):
    """A table of one rule with the given numbers of categories at every point."""
    table = fake_run.table(truths=["margin"], alphas=(0.05,), sizes=SIZES, **changes)
    is_size = table["kind"] == "size"
    table["n_categories"] = np.where(is_size, n_size, n_power)
    table.loc[~is_size, ["mc_low", "category_low"]] = power - 0.02
    table.loc[~is_size, ["mc_high", "category_high"]] = power + 0.02
    table.loc[~is_size, "rate"] = power
    return table


def verdict(table, statement):
    return statement_verdict(score_truth_rules(table), "margin", statement)


@pytest.mark.parametrize(("n", "expected"), [(1, MET), (2, NOT_MET), (0, CANNOT_TELL)])
def test_single_h0_false(n, expected):
    assert verdict(counted(50, n), "single_h0_false") == expected


def test_single_h0_false_looks_at_small_sets_and_the_close_pair_only():
    table = counted(50, 1)
    table.loc[(table["n_documents"] == 6000) | (table["pair"] == "linear_svm-mlp"), "n_categories"] = 30
    assert verdict(table, "single_h0_false") == MET


def test_h0_always_false_needs_one_empty_size():
    table = counted(9, 9)
    assert verdict(table, "h0_always_false") == NOT_MET
    where = (
        (table["pair"] == "linear_svm-mlp") & (table["balance"] == "natural") & (table["n_documents"] == 6000)
    )
    table.loc[where & (table["kind"] == "size"), "n_categories"] = 0
    assert verdict(table, "h0_always_false") == MET
    row = score_truth_rules(table).query("statement == 'h0_always_false'").iloc[0]
    assert (row["panel"], row["n_documents"], row["observed"]) == ("b", 6000, 0)


def test_h1_never_true_needs_both_panels():
    table = counted(9, 9)
    close = (
        (table["pair"] == "linear_svm-rbf_svm") & (table["n_documents"] == 100) & (table["kind"] == "power")
    )
    table.loc[close & (table["balance"] == "meta"), "n_categories"] = 0
    assert verdict(table, "h1_never_true") == NOT_MET
    table.loc[close, "n_categories"] = 0
    assert verdict(table, "h1_never_true") == MET


@pytest.mark.parametrize(
    ("power", "n", "expected"),
    [(0.3, 9, MET), (0.7, 9, NOT_MET), (0.5, 9, CANNOT_TELL), (0.3, 4, CANNOT_TELL)],
)
def test_low_power_when_close(power, n, expected):
    assert verdict(counted(9, n, power), "low_power_when_close") == expected


def test_a_panel_that_was_not_run_cannot_tell():
    scores = score_truth_rules(counted(9, 9, pairs=["rbf_svm-mlp"]))
    assert set(scores["verdict"]) == {CANNOT_TELL}
    assert np.isnan(total_scores(scores)["total"].iloc[0])


def test_totals_weigh_statements_the_same():
    table = counted(9, 1)
    scores = score_truth_rules(table)
    totals = total_scores(scores).iloc[0]
    assert totals["single_h0_false"] == "8/8"  # two panels, two measures, two sizes
    assert totals["h0_always_false"] == "0/2"
    assert totals["h1_never_true"] == "0/4"
    assert totals["low_power_when_close"] == CANNOT_TELL
    assert (totals["total"], totals["n_told"]) == (pytest.approx(1 / 3), 3)


def test_the_interval_is_the_wider_one_and_missing_where_both_are():
    point = {"mc_low": 0.04, "mc_high": 0.06, "category_low": np.nan, "category_high": np.nan}
    assert interval(point) == (0.04, 0.06)
    assert all(np.isnan(bound) for bound in interval(dict.fromkeys(point, np.nan)))


def test_both_tables_name_rules_and_statements():
    table = fake_run.table(alphas=(0.05,), sizes=SIZES)
    (_, totals), (_, rates) = truth_parts(table, score_truth_rules(table))
    assert set(totals) >= set(STATEMENTS)
    assert {"R3 sampling interval", "R0 exact zero"} <= set(rates["truth"])
    assert ("(a) linear SVM vs MLP, balanced", 100) in set(zip(rates["panel"], rates["N"], strict=True))
