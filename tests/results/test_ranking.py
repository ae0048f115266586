import fake_nulls
import fake_run
import numpy as np
import pandas as pd
import pytest
from html_page import check_page

from harness.errors import UserError
from harness.evaluation.rates import write_table
from harness.results.category_verdicts import DISTRIBUTION
from harness.results.folder import Results
from harness.results.names import COLUMNS, test_name
from harness.results.ranking import RANKING, rank_tests, recommend, recommendation, size_adjusted
from harness.run.findings import main_findings
from harness.run.findings.nulls import null_findings, null_warnings, verdict_grid
from harness.run.report import write_summary

# test: (median, liberal categories after Holm, power)
POINTS = {
    "holds_weak": (0.05, 0, 0.4),
    "liberal_in_two": (0.05, 2, 0.9),
    "liberal_in_one_weak": (0.05, 1, 0.7),
    "conservative": (0.02, 0, 0.6),
    "liberal_in_one": (0.02, 1, 0.8),
    "holds_strong": (0.06, 0, 0.5),
    "undecided": (0.061, 0, 0.7),
}


def told(table):
    """The findings of a run under nulls."""
    return null_findings(fake_run.results_of(table, outcomes=fake_run.outcomes()))


def write_known(out, rules=False, **changes):
    """A run of nulls with a table of sizes by category whose verdicts are known."""
    few = {"sizes": [300, 1000], "levels": (0.01, 0.05), "prevalences": (0.01,)}
    table = fake_nulls.size_power(**few | changes)
    fake_nulls.write(out, table, rules=rules)
    fake_nulls.known_sizes(table).to_csv(out / "size_by_category.csv", index=False)
    return out


def small(points=POINTS, **changes):
    """A table of one panel, N and level; a row of size and one of power a test. The mean always holds."""
    rows = []
    for test, (median, n_liberal, power) in points.items():
        for kind, rate in (("size", 0.05), ("power", power)):
            row = dict.fromkeys([*COLUMNS, *DISTRIBUTION], np.nan) | {
                "pair": "linear_svm-mlp", "balance": "natural", "truth": "exact_null", "measure": "f1",
                "test": test, "alpha": 0.05, "n_documents": 300, "kind": kind, "rate": rate,
                "mc_low": rate - 0.001, "mc_high": rate + 0.001, "n_categories": 20, "n_dead": 1,
                "n_sets": 10_000, "rate_without_dead": rate, "degenerate_share": 0.0,
            }  # fmt: skip
            if kind == "size":
                row |= {
                    "n_live": 19, "median": median, "q10": 0.03, "q90": 0.06, "worst": 0.144,
                    "worst_low": 0.13, "worst_again": 0.141, "worst_category": "C31",
                    "n_holds": 12 - n_liberal, "n_liberal": n_liberal, "n_conservative": 4, "n_undecided": 3,
                    "n_liberal_holm": n_liberal,
                }  # fmt: skip
            rows.append(row | (changes if kind == "size" else {}))
    return pd.DataFrame(rows)


def test_tests_that_hold_by_category_come_first_then_those_that_are_never_liberal():
    ranked = rank_tests(small())
    assert list(ranked.columns) == list(RANKING)
    assert ranked["test"].tolist() == [
        "holds_strong", "holds_weak", "undecided", "conservative", "liberal_in_one", "liberal_in_one_weak",
        "liberal_in_two",
    ]  # fmt: skip
    assert ranked["rank"].tolist() == [1, 2, 3, 4, 5, 6, 7]
    assert ranked["verdict"].tolist() == ["holds"] * 2 + ["undecided", "conservative"] + ["liberal"] * 3
    assert ranked["size"].tolist() == [0.05] * 7  # the mean stands beside


RECOMMENDED = [
    (POINTS, "holds_strong", None),
    ({name: POINTS[name] for name in ("liberal_in_two", "holds_weak")}, "holds_weak", None),
    ({name: POINTS[name] for name in ("conservative", "undecided")}, None, "undecided"),
    ({"weak": (0.02, 0, 0.1), "strong": (0.01, 0, 0.2), "two": (0.05, 2, 0.9)}, None, "strong"),
    ({name: POINTS[name] for name in POINTS if "liberal" in name}, None, "liberal_in_one"),
]


@pytest.mark.parametrize(("points", "used", "least_liberal"), RECOMMENDED)
def test_only_a_test_that_holds_by_category_is_recommended(points, used, least_liberal):
    ranked = rank_tests(small(points))
    best = recommend(ranked)
    assert (best is None) == (used is None)
    if used:
        assert best["test"] == used
    else:
        assert ranked["test"].iloc[0] == least_liberal
        assert recommendation(ranked).startswith(
            "none holds by category; least liberal: " + test_name(least_liberal)
        )


def test_a_mean_far_below_alpha_does_not_hide_a_liberal_category():
    """The percentile bootstrap of F1, close models, natural categories, N = 1000: as measured on RCV1."""
    table = small({"bootstrap_f1": (0.064, 6, 0.016), "score_f1": (0.012, 0, 0.01)})
    sizes = (table["test"] == "bootstrap_f1") & (table["kind"] == "size")
    table.loc[sizes, ["rate", "mc_low", "mc_high"]] = 0.018, 0.011, 0.025
    table.loc[sizes, ["worst", "worst_again"]] = 0.170, 0.154
    ranked = rank_tests(table)
    assert ranked["test"].tolist() == ["score_f1", "bootstrap_f1"]
    assert ranked["verdict"].tolist() == ["conservative", "liberal"]
    assert recommend(ranked) is None
    findings = told(table)
    assert "Largest ΔF1 size: .170 (.154 on new sets), Bootstrap test ΔF1, equal-tailed" in findings[1]
    assert not any("conservative" in text and "bootstrap" in text.lower() for text in findings)


def test_without_sizes_by_category_we_cannot_tell():
    missing = dict.fromkeys([name for name in DISTRIBUTION if name != "n_live"], np.nan)
    for changes, reason in (
        (missing | {"n_sets": 112}, "112 sets a category, 2,000 are needed"),
        (missing | {"n_live": 0}, "0 live categories, 5 are needed"),
        ({"n_live": 4}, "4 live categories, 5 are needed"),
        (missing | {"n_live": np.nan}, "no size_by_category.csv"),
    ):
        ranked = rank_tests(small(**changes))
        assert set(ranked["verdict"]) == {"cannot tell"}
        assert recommend(ranked) is None
        assert reason in recommendation(ranked)
        assert ranked["test"].tolist() == list(POINTS)  # and there is no order to be had
    older = small().drop(columns=list(DISTRIBUTION))
    assert set(rank_tests(older)["verdict"]) == {"cannot tell"}


def test_one_that_cannot_be_judged_is_never_before_one_that_holds():
    table = small({"few_sets": (0.05, 0, 0.9), "holds_weak": POINTS["holds_weak"]})
    few = (table["test"] == "few_sets") & (table["kind"] == "size")
    table.loc[few, [name for name in DISTRIBUTION if name != "worst_category"]] = np.nan
    table.loc[few, "n_sets"] = 112
    assert rank_tests(table)["test"].tolist() == ["holds_weak", "few_sets"]


def test_the_words_of_a_recommendation_are_the_numbers_of_its_row():
    table = small({"holds": (0.05, 0, 0.25)}, n_liberal=2)
    assert recommendation(rank_tests(table)) == (
        "Holds (holds in 12 of 19 live categories, liberal in 2 (0 after Holm), conservative in 4, undecided "
        "in 3, worst 0.144 in C31 (0.141 on new sets), mean power 0.25)"
    )
    both = small({"holds": (0.05, 0, 0.25), "conservative": POINTS["conservative"]})
    both.loc[both["test"] == "holds", "n_sets"] = 2000  # fewer sets than the other: said, for it detects less
    assert "from 2,000 sets a category" in recommendation(rank_tests(both))


VERDICTS = [
    (0.04, 0, "holds"), (0.06, 0, "holds"), (0.0399, 0, "conservative"), (0.0601, 0, "undecided"),
    (0.05, 1, "liberal"), (0.001, 1, "liberal"),
]  # fmt: skip


@pytest.mark.parametrize(("median", "n_liberal", "word"), VERDICTS)
def test_the_verdict_by_category(median, n_liberal, word):
    assert rank_tests(small({"a": (median, n_liberal, 0.5)}))["verdict"].tolist() == [word]


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
    ranked = rank_tests(fake_nulls.with_categories(fake_nulls.size_power()))
    liberal = ranked[ranked["test"] == "bootstrap_f1"]
    assert (liberal["power_adjusted"] < liberal["power"]).all()
    np.testing.assert_allclose(liberal["alpha_adjusted"], 0.05 / 1.3, rtol=1e-6)
    unpaired = ranked[ranked["test"] == "unpaired_error"]
    assert unpaired["power_adjusted"].isna().all()  # a tenth of the level never reaches .05
    assert (ranked["joint_verdict"] == ranked["verdict"]).all()
    assert set(liberal["joint_n_liberal_holm"]) == {2}


def test_a_run_without_nulls_has_no_ranking(tmp_path):
    table = fake_run.table(sizes=[100], alphas=(0.05,), truths=["margin"])
    assert rank_tests(table).empty
    assert told(table) == []
    write_summary(Results(fake_run.write(tmp_path, table)))
    assert not (tmp_path / "tables" / "ranking.csv").exists()
    assert "Tests where H0 holds exactly" not in (tmp_path / "summary.md").read_text()


def test_panels_come_in_the_papers_order_and_prevalences_last():
    ranked = rank_tests(fake_nulls.size_power())
    panels = list(ranked["panel"].unique())
    assert [name[:3] for name in panels[:4]] == ["(a)", "(b)", "(c)", "(d)"]
    assert panels[4] == "linear SVM vs MLP, reweighted to 1 % positives"
    assert len(panels) == 8


def test_the_report_of_a_run_of_nulls_alone(tmp_path):
    out = write_known(tmp_path)
    write_summary(Results(out))
    text = (out / "summary.md").read_text()
    for part in (
        "1. ΔF1: ", "holds by category", " % positives, N = 300: ", "ΔF1, linear SVM vs MLP, ",
        "categories dead at N = 300", "Figure 1(d)", "## Tests where H0 holds exactly", "L2 L2",
        "none of 4 tests", "1 of 20 categories have no exact null for ΔCerr", "Power, dissimilar",
        "## Size and power at N = 1000",
    ):  # fmt: skip
        assert part in text, part
    assert "mean sizes" not in text
    names = {path.name for path in (out / "tables").iterdir()}
    assert {"ranking.csv", "ranking.md", "ranking.tex"} <= names
    assert "truth_rules.csv" not in names
    write_table(Results(out).ranking, tmp_path / "again.csv")
    assert (out / "tables" / "ranking.csv").read_bytes() == (tmp_path / "again.csv").read_bytes()
    assert "Tests where H0 holds exactly" in check_page(out).headings()


def test_a_run_of_rules_and_nulls_has_both_kinds_of_findings(tmp_path):
    out = write_known(tmp_path, rules=True)
    findings = main_findings(Results(out))
    assert findings[0].startswith("ΔF1: ")
    assert all(len(text.split()) <= 25 for text in findings)
    starts = ["ΔF1: ", "Rule R3", "Power, ", "From balanced"]
    first = [next(i for i, text in enumerate(findings) if text.startswith(start)) for start in starts]
    assert first == sorted(first)
    assert "the median size falls for 0, the worst rises for 0 of 8" in findings[-2]
    write_summary(Results(out))
    scores = pd.read_csv(out / "tables" / "truth_rules.csv")
    assert set(scores["truth"]) == {"sampling_interval"}  # a null is no rule to be scored


def test_the_recommendation_is_from_the_nearest_rows(tmp_path):
    table = fake_nulls.with_categories(fake_nulls.size_power(sizes=[100, 1000], prevalences=(0.01,)))
    few = [t for t in told(table) if "positives" in t and "Largest" not in t]
    assert len(few) == 8  # pairs, measures, a small rare set and a large balanced one
    assert all("1 % positives, N = 1000: " in text or "N = 100: " in text for text in few[:4])
    assert all("N = 1000: " in text for text in few[4:])
    assert "linear SVM vs MLP" in few[4]
    natural = fake_nulls.with_categories(fake_nulls.size_power(balances=("natural",), prevalences=()))
    assert len([t for t in told(natural) if "positives" in t]) == 4


def test_the_first_finding_counts_places_of_the_ranking():
    table = fake_nulls.with_categories(fake_nulls.size_power())
    ranked = rank_tests(table)
    f1 = ranked[ranked["measure"] == "f1"]
    holds = f1[f1["verdict"] == "holds"].groupby("test").size()
    first, liberal, largest = told(table)[:3]
    best = holds.idxmax()
    assert f"{test_name(best)} holds by category at {holds.max()} of 20 places" in first
    assert liberal == "It is liberal in some category at 0 of them; chance explains at most 0.5."
    assert f"{f1['worst'].max():.3f} (0.091 on new sets)".replace("0.", ".") in largest


def test_where_nothing_can_be_told_one_line_a_measure_says_so():
    table = fake_nulls.size_power(prevalences=()).assign(n_sets=500)
    lines = told(fake_nulls.with_categories(table))
    assert lines[:2] == [
        f"{name}: cannot tell by category (500 sets a category, 2,000 are needed)."
        for name in ("ΔF1", "ΔCerr")
    ]
    assert not any("positives" in text for text in lines)


def test_dead_categories_are_counted_from_the_live_ones():
    table = fake_nulls.with_categories(fake_nulls.size_power())
    found = [t for t in told(table) if "dead" in t]
    assert [text[:3] for text in found] == ["(b)", "(d)"]  # the two natural panels alone
    words = "unbalanced: 3 of 20 categories dead at N = 100, 3 at N = 3000."
    assert all(text.endswith(words) for text in found)


def test_the_joined_table_is_read_from_both_files(tmp_path):
    out = write_known(tmp_path)
    read = Results(out).table
    assert len(read) == len(pd.read_csv(out / "size_power.csv"))
    sizes = read[(read["kind"] == "size") & (read["n_categories"] > 0)]
    np.testing.assert_allclose(sizes["median"].astype(float), sizes["rate"])
    assert read.loc[read["kind"] == "power", list(DISTRIBUTION)].isna().all(axis=None)
    beside = pd.read_csv(out / "size_by_category.csv")
    beside.drop(columns="worst_again").to_csv(out / "size_by_category.csv", index=False)
    with pytest.raises(UserError, match=r"size_by_category\.csv: column worst_again is missing"):
        _ = Results(out).table
    (out / "size_by_category.csv").unlink()
    assert list(Results(out).table.columns) == list(pd.read_csv(out / "size_power.csv").columns)


def test_verdicts_are_one_letter_for_each_number_of_documents():
    table = fake_nulls.with_categories(fake_nulls.size_power(prevalences=()))
    grid = verdict_grid(rank_tests(table)).set_index("test")["(a) linear SVM vs MLP, balanced"]
    assert grid["Unpaired ΔCerr"] == "C C C C"
    assert grid["Wald ΔF1"] == "H H H H"
    assert grid["Bootstrap test ΔF1, equal-tailed"] == "L2 L2 L2 L2"


def test_warnings_name_how_many_categories_lack_a_null_and_why():
    nulls = fake_nulls.nulls(fake_nulls.size_power())
    warnings = null_warnings(nulls)
    assert len(warnings) == 4  # pairs, balances; prevalences are those of the natural categories
    assert all("1 because no document favours B" in text for text in warnings)
    assert null_warnings(nulls[nulls["category"] != "C0"]) == []
