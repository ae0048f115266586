import fake_nulls
import fake_run
import numpy as np
import pandas as pd
import pytest
from html_page import check_page

from harness.findings import main_findings
from harness.findings_nulls import null_findings, null_warnings, verdict_grid
from harness.html_report.page import write_page
from harness.papers import COLUMNS
from harness.ranking import RANKING, rank_tests, recommend, recommendation, size_adjusted
from harness.report import write_report

# test: (size, half its interval, power)
POINTS = {
    "holds_weak": (0.05, 0.005, 0.4),
    "liberal_strong": (0.09, 0.005, 0.9),
    "liberal_little": (0.07, 0.005, 0.8),
    "conservative": (0.02, 0.005, 0.6),
    "holds_strong": (0.049, 0.005, 0.5),
    "undecided": (0.055, 0.02, 0.7),
}


def small(points=POINTS, **changes):
    """A table of one panel, N and level; a row of size and one of power a test."""
    rows = []
    for test, (size, half, power) in points.items():
        for kind, rate, about in (("size", size, half), ("power", power, 0.01)):
            row = dict.fromkeys(COLUMNS, np.nan) | {
                "pair": "linear_svm-mlp", "balance": "natural", "truth": "exact_null", "measure": "f1",
                "test": test, "alpha": 0.05, "n_documents": 300, "kind": kind, "rate": rate,
                "mc_low": rate - about, "mc_high": rate + about, "n_categories": 20, "n_dead": 1,
                "n_sets": 100, "rate_without_dead": rate, "degenerate_share": 0.0,
            }  # fmt: skip
            rows.append(row | changes)
    return pd.DataFrame(rows, columns=list(COLUMNS))


def test_tests_that_hold_come_first_by_power():
    ranked = rank_tests(small())
    assert list(ranked.columns) == list(RANKING)
    assert ranked["test"].tolist() == [
        "holds_strong", "holds_weak", "conservative", "undecided", "liberal_little", "liberal_strong"
    ]  # fmt: skip
    assert ranked["rank"].tolist() == [1, 2, 3, 4, 5, 6]
    assert ranked["verdict"].tolist() == ["holds", "holds", "conservative", "undecided", "liberal", "liberal"]


@pytest.mark.parametrize(
    ("left_out", "expected"),
    [
        ([], "holds_strong"),
        (["holds_strong"], "holds_weak"),
        (["holds_strong", "holds_weak"], "undecided"),  # the least conservative that is not liberal
        (["holds_strong", "holds_weak", "undecided"], "conservative"),
    ],
)
def test_the_test_to_use(left_out, expected):
    ranked = rank_tests(small({name: point for name, point in POINTS.items() if name not in left_out}))
    assert recommend(ranked)["test"] == expected
    assert expected.replace("_", " ") in recommendation(ranked)


def test_an_undecided_test_that_looks_liberal_is_not_the_least_conservative():
    points = {"conservative": POINTS["conservative"], "wide": (0.1, 0.06, 0.9)}
    assert recommend(rank_tests(small(points)))["test"] == "conservative"
    assert recommend(rank_tests(small({"wide": points["wide"]})))["test"] == "wide"


def test_where_all_are_liberal_none_is_to_be_used():
    ranked = rank_tests(small({"liberal": (0.2, 0.01, 0.9)}))
    assert recommend(ranked) is None
    assert recommendation(ranked) == "none: every test is liberal"
    few = rank_tests(small({"any": (0.05, 0.001, 0.9)}, n_categories=4))
    assert recommend(few) is None
    assert "too few categories" in recommendation(few)


def test_the_wider_interval_judges():
    table = small({"a": (0.05, 0.001, 0.5)})
    table["category_high"] = 0.08
    assert rank_tests(table)["verdict"].tolist() == ["undecided"]


def test_size_adjusted_power_on_a_known_curve():
    levels = np.array([0.001, 0.01, 0.1])
    level, power = size_adjusted(levels, 2 * levels, np.array([0.2, 0.4, 0.6]), 0.05)
    assert level == pytest.approx(0.025)
    assert power == pytest.approx(0.4 + 0.2 * np.log10(2.5))
    for size in (0.0001, 0.3):
        assert np.isnan(size_adjusted(levels, 2 * levels, np.array([0.2, 0.4, 0.6]), size)).all()
    assert np.isnan(size_adjusted(levels, 0 * levels, levels, 0.05)).all()
    assert np.isnan(size_adjusted([], [], [], 0.05)).all()


def test_size_adjusted_power_is_below_that_of_a_liberal_test():
    ranked = rank_tests(fake_nulls.size_power())
    liberal = ranked[ranked["test"] == "bootstrap_f1"]
    assert (liberal["power_adjusted"] < liberal["power"]).all()
    np.testing.assert_allclose(liberal["alpha_adjusted"], 0.05 / 1.3, rtol=1e-6)
    unpaired = ranked[ranked["test"] == "unpaired_error"]
    assert unpaired["power_adjusted"].isna().all()  # a tenth of the level never reaches .05
    assert (ranked["joint_verdict"] != "").all()


def test_a_run_without_nulls_has_no_ranking(tmp_path):
    table = fake_run.table(sizes=[100], alphas=(0.05,), truths=["margin"])
    assert rank_tests(table).empty
    assert null_findings(table, fake_run.outcomes(), {}) == []
    write_report(fake_run.write(tmp_path, table))
    assert not (tmp_path / "tables" / "ranking.csv").exists()
    assert "Tests where H0 holds exactly" not in (tmp_path / "summary.md").read_text()


def test_panels_come_in_the_papers_order_and_prevalences_last():
    ranked = rank_tests(fake_nulls.size_power())
    panels = list(ranked["panel"].unique())
    assert [name[:3] for name in panels[:4]] == ["(a)", "(b)", "(c)", "(d)"]
    assert panels[4] == "linear SVM vs MLP, reweighted to 1 % positives"
    assert len(panels) == 8


def test_the_report_of_a_run_of_nulls_alone(tmp_path):
    out = fake_nulls.write(tmp_path)
    write_report(out)
    text = (out / "summary.md").read_text()
    for part in (
        "1. Size under the exact null", "never liberal", "liberal somewhere: Bootstrap test ΔF1, "
        "equal-tailed",
        "For N = 300 with about 1 % positives", "For N = 3000 balanced", "Dead categories", "Figure 1(d)",
        "## Tests where H0 holds exactly", "1 of 20 categories have no exact null for ΔCerr", "Power:",
    ):  # fmt: skip
        assert part in text, part
    assert "1. Size: " not in text
    names = {path.name for path in (out / "tables").iterdir()}
    assert {"ranking.csv", "ranking.md", "ranking.tex"} <= names
    assert "truth_rules.csv" not in names
    first = (out / "tables" / "ranking.csv").read_bytes()
    write_report(out)
    assert first == (out / "tables" / "ranking.csv").read_bytes()
    write_page(out)
    assert "Tests where H0 holds exactly" in check_page(out).headings()


def test_a_run_of_rules_and_nulls_has_both_kinds_of_findings(tmp_path):
    out = fake_nulls.write(tmp_path, rules=True)
    findings = main_findings(out)
    assert findings[0].startswith("Size under the exact null")
    assert [text.split(":")[0] for text in findings[-3:]] == ["Size", "Power", "Class balance"]
    write_report(out)
    scores = pd.read_csv(out / "tables" / "truth_rules.csv")
    assert set(scores["truth"]) == {"sampling_interval"}  # a null is no rule to be scored


def test_the_recommendation_is_from_the_nearest_rows(tmp_path):
    table = fake_nulls.size_power(sizes=[100, 1000], prevalences=(0.01,))
    text = next(t for t in null_findings(table, fake_run.outcomes(), {}) if t.startswith("For N = 300"))
    assert "1 % positives, N = 1000" in text or "N = 100" in text
    last = next(t for t in null_findings(table, fake_run.outcomes(), {}) if t.startswith("For N = 3000"))
    assert "linear SVM vs MLP, balanced" in last
    assert "N = 1000" in last
    natural = fake_nulls.size_power(balances=("natural",), prevalences=())
    texts = null_findings(natural, fake_run.outcomes(), {})
    assert "For N = 3000 balanced: no balanced categories were run." in texts


def test_verdicts_are_one_letter_for_each_number_of_documents():
    grid = verdict_grid(rank_tests(fake_nulls.size_power(prevalences=())))
    row = grid.set_index("test").loc["unpaired ΔCerr"]
    assert row["(a) linear SVM vs MLP, balanced"] == "C C C C"


def test_warnings_name_how_many_categories_lack_a_null_and_why():
    nulls = fake_nulls.nulls(fake_nulls.size_power())
    warnings = null_warnings(nulls)
    assert len(warnings) == 4  # pairs, balances; prevalences are those of the natural categories
    assert all("1 because no document favours B" in text for text in warnings)
    assert null_warnings(nulls[nulls["category"] != "C0"]) == []
