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
from harness.run.findings import main_findings, null_findings, null_warnings, verdict_grid
from harness.run.report import write_summary

# test: (median, liberal categories after Holm, power), in the order of their ranks
POINTS = {
    "holds_strong": (0.06, 0, 0.5),
    "holds_weak": (0.05, 0, 0.4),
    "undecided": (0.061, 0, 0.7),
    "conservative": (0.02, 0, 0.6),
    "liberal_in_one": (0.02, 1, 0.8),
    "liberal_in_one_weak": (0.05, 1, 0.7),
    "liberal_in_two": (0.05, 2, 0.9),
}
MISSING = dict.fromkeys([name for name in DISTRIBUTION if name != "n_live"], np.nan)
WHOLE = fake_nulls.size_power()
JOINED = fake_nulls.with_categories(WHOLE)


def told(table):
    """The findings of a run under nulls."""
    return null_findings(fake_run.results_of(table, outcomes=fake_run.OUTCOMES))


def write_known(out, rules=False):
    """A run of nulls with a table of sizes by category whose verdicts are known."""
    table = fake_nulls.size_power(sizes=[300, 1000], levels=(0.01, 0.05), prevalences=(0.01,))
    fake_nulls.write(out, table, rules=rules)
    fake_nulls.known_sizes(table).to_csv(out / "size_by_category.csv", index=False)
    return out


def small(points=POINTS, **changes):
    """A table of one panel, N and level; a row of size and one of power a test. The mean always holds."""
    rows = []
    plain = {
        "pair": "linear_svm-mlp", "balance": "natural", "truth": "exact_null", "measure": "f1", "alpha": 0.05,
        "n_documents": 300, "n_categories": 20, "n_dead": 1, "n_sets": 10_000, "degenerate_share": 0.0,
    }  # fmt: skip
    of_size = {
        "n_live": 19, "q10": 0.03, "q90": 0.06, "worst": 0.144, "worst_low": 0.13, "worst_again": 0.141,
        "worst_category": "C31", "n_conservative": 4, "n_undecided": 3,
    }  # fmt: skip
    for test, (median, n_liberal, power) in points.items():
        counts = {"n_holds": 12 - n_liberal, "n_liberal": n_liberal, "n_liberal_holm": n_liberal}
        own = {"size": of_size | counts | {"median": median} | changes, "power": {}}
        for kind, rate in (("size", 0.05), ("power", power)):
            rates = {"rate": rate, "mc_low": rate - 0.001, "mc_high": rate + 0.001, "rate_without_dead": rate}
            rows.append(plain | rates | {"test": test, "kind": kind} | own[kind])
    return pd.DataFrame(rows, columns=[*COLUMNS, *DISTRIBUTION])


def test_tests_that_hold_by_category_come_first_then_those_that_are_never_liberal():
    ranked = rank_tests(small(dict(reversed(POINTS.items()))))
    assert list(ranked.columns) == list(RANKING)
    assert ranked["test"].tolist() == list(POINTS)
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
    assert ranked["test"].iloc[0] == (used or least_liberal)
    if used:
        assert best["test"] == used
    else:
        words = "none holds by category; least liberal: " + test_name(least_liberal)
        assert recommendation(ranked).startswith(words)


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


CANNOT_TELL = [
    (MISSING | {"n_sets": 112}, "112 sets a category, 2,000 are needed"),
    (MISSING | {"n_live": 0}, "0 live categories, 5 are needed"),
    ({"n_live": 4}, "4 live categories, 5 are needed"),
    (MISSING | {"n_live": np.nan}, "no size_by_category.csv"),
]


@pytest.mark.parametrize(("changes", "reason"), CANNOT_TELL)
def test_without_sizes_by_category_we_cannot_tell(changes, reason):
    table = small(**changes)
    ranked = rank_tests(table)
    assert set(ranked["verdict"]) == {"cannot tell"}
    assert recommend(ranked) is None
    assert reason in recommendation(ranked)
    assert ranked["test"].tolist() == list(POINTS)  # and there is no order to be had
    assert set(rank_tests(table.drop(columns=list(DISTRIBUTION)))["verdict"]) == {"cannot tell"}
    other = small({"last": (0.05, 0, 0.1)})  # one that cannot be judged is never before one that holds
    assert rank_tests(pd.concat([table, other]))["test"].iloc[0] == "last"


def test_the_words_of_a_recommendation_are_the_numbers_of_its_row():
    table = small({"holds": (0.05, 0, 0.25)}, n_liberal=2)
    words = recommendation(rank_tests(table))
    for part in ("Holds (", "12 of 19 live", "liberal in 2 (0 after Holm)", "conservative in 4", "in 3,",
                 "0.144 in C31 (0.141 on", "mean power 0.25"):  # fmt: skip
        assert part in words
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
    levels, powers = np.array([0.001, 0.01, 0.1]), np.array([0.2, 0.4, 0.6])
    level, power = size_adjusted(levels, 2 * levels, powers, 0.05)
    assert (level, power) == pytest.approx((0.025, 0.4 + 0.2 * np.log10(2.5)))
    for sizes, at in ((2 * levels, 0.0001), (2 * levels, 0.3), (0 * levels, 0.05)):
        assert np.isnan(size_adjusted(levels, sizes, powers, at)).all()
    assert np.isnan(size_adjusted([], [], [], 0.05)).all()


def test_the_ranking_of_a_whole_run():
    ranked = rank_tests(JOINED)
    panels = list(ranked["panel"].unique())  # in the paper's order, prevalences last
    assert [name[:3] for name in panels[:4]] == ["(a)", "(b)", "(c)", "(d)"]
    assert panels[4] == "linear SVM vs MLP, reweighted to 1 % positives"
    assert len(panels) == 8
    liberal = ranked[ranked["test"] == "bootstrap_f1"]
    assert (liberal["power_adjusted"] < liberal["power"]).all()
    np.testing.assert_allclose(liberal["alpha_adjusted"], 0.05 / 1.3, rtol=1e-6)
    unpaired = ranked[ranked["test"] == "unpaired_error"]
    assert unpaired["power_adjusted"].isna().all()  # a tenth of the level never reaches .05
    assert (ranked["joint_verdict"] == ranked["verdict"]).all()
    assert set(liberal["joint_n_liberal_holm"]) == {2}
    grid = verdict_grid(ranked).set_index("test")["(a) linear SVM vs MLP, balanced"]  # a letter for each N
    assert grid["Unpaired ΔCerr"] == "C C C C"
    assert grid["Wald ΔF1"] == "H H H H"
    assert grid["Bootstrap test ΔF1, equal-tailed"] == "L2 L2 L2 L2"


def test_the_findings_of_a_whole_run():
    ranked, found = rank_tests(JOINED), told(JOINED)
    f1 = ranked[ranked["measure"] == "f1"]
    holds = f1[f1["verdict"] == "holds"].groupby("test").size()
    assert f"{test_name(holds.idxmax())} holds by category at {holds.max()} of 20 places" in found[0]
    assert found[1] == "It is liberal in some category at 0 of them; chance explains at most 0.5."
    assert f"{f1['worst'].max():.3f} (0.091 on new sets)".replace("0.", ".") in found[2]
    dead = [t for t in found if "dead" in t]
    assert [text[:3] for text in dead] == ["(b)", "(d)"]  # the two natural panels alone
    words = "unbalanced: 3 of 20 categories dead at N = 100, 3 at N = 3000."
    assert all(text.endswith(words) for text in dead)


def test_a_run_without_nulls_has_no_ranking(tmp_path):
    table = fake_run.table(sizes=[100], alphas=(0.05,), truths=["margin"])
    assert rank_tests(table).empty
    assert told(table) == []
    write_summary(Results(fake_run.write(tmp_path, table)))
    assert not (tmp_path / "tables" / "ranking.csv").exists()
    assert "Tests where H0 holds exactly" not in (tmp_path / "summary.md").read_text()


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
    scores = Results(out).scores
    assert set(scores["truth"]) == {"sampling_interval"}  # a null is no rule to be scored


def test_the_recommendation_is_from_the_nearest_rows():
    table = fake_nulls.with_categories(fake_nulls.size_power(sizes=[100, 1000], prevalences=(0.01,)))
    few = [t for t in told(table) if "positives" in t and "Largest" not in t]
    assert len(few) == 8  # pairs, measures, a small rare set and a large balanced one
    assert all("1 % positives, N = 1000: " in text or "N = 100: " in text for text in few[:4])
    assert all("N = 1000: " in text for text in few[4:])
    assert "linear SVM vs MLP" in few[4]
    natural = fake_nulls.with_categories(fake_nulls.size_power(balances=("natural",), prevalences=()))
    assert len([t for t in told(natural) if "positives" in t]) == 4


def test_where_nothing_can_be_told_one_line_a_measure_says_so():
    table = fake_nulls.size_power(prevalences=()).assign(n_sets=500)
    lines = told(fake_nulls.with_categories(table))
    assert [line.partition(":")[0] for line in lines[:2]] == ["ΔF1", "ΔCerr"]
    assert all(
        "cannot tell by category (500 sets a category, 2,000 are needed)" in text for text in lines[:2]
    )
    assert not any("positives" in text for text in lines)


def test_the_joined_table_is_read_from_both_files(tmp_path):
    out = write_known(tmp_path)
    read, path = Results(out).table, out / "size_by_category.csv"
    assert len(read) == len(pd.read_csv(out / "size_power.csv"))
    sizes = read[(read["kind"] == "size") & (read["n_categories"] > 0)]
    np.testing.assert_allclose(sizes["median"].astype(float), sizes["rate"])
    assert read.loc[read["kind"] == "power", list(DISTRIBUTION)].isna().all(axis=None)
    pd.read_csv(path).drop(columns="worst_again").to_csv(path, index=False)
    with pytest.raises(UserError, match=r"size_by_category\.csv: column worst_again is missing"):
        _ = Results(out).table
    path.unlink()
    assert list(Results(out).table.columns) == list(pd.read_csv(out / "size_power.csv").columns)


def test_warnings_name_how_many_categories_lack_a_null_and_why():
    nulls = fake_nulls.nulls(WHOLE)
    warnings = null_warnings(nulls)
    assert len(warnings) == 4  # pairs, balances; prevalences are those of the natural categories
    assert all("1 because no document favours B" in text for text in warnings)
    assert null_warnings(nulls[nulls["category"] != "C0"]) == []
