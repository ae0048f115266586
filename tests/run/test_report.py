import fake_run
import numpy as np
import pandas as pd
import pytest

from harness.errors import UserError
from harness.results.folder import Results
from harness.results.names import LEGEND
from harness.run.findings import main_findings
from harness.run.findings.models import closeness, closeness_sentences, fewer_folds, micro_f1, tabulate_models
from harness.run.findings.paper import papers_conclusions
from harness.run.report import write_summary
from harness.writing.table_text import escape_latex, escape_markdown, to_latex, to_markdown

SMALL = {"sizes": [100, 1000, 6000], "alphas": (0.1, 0.05), "truths": ["sampling_interval", "margin"]}
RATES = ["rate", "mc_low", "mc_high", "category_low", "category_high"]
TABLE = fake_run.table(**SMALL)


def narrow(rate, kind="size", **changes):
    """A table with one rate at every point of a kind, known to .001, over 40 categories."""
    table = fake_run.table(**(SMALL | changes))
    rows = table["kind"] == kind
    values = rate * table["alpha"] / 0.05 if kind == "size" else pd.Series(rate, table.index)
    for name, shift in zip(RATES, (0, -0.001, 0.001, -0.001, 0.001), strict=True):
        table.loc[rows, name] = values[rows] + shift
    table.loc[rows, "n_categories"] = 40
    return table


def findings(table):
    return main_findings(fake_run.results_of(table, outcomes=fake_run.outcomes()))


def conclusion(table, words):
    (item,) = [item for item in papers_conclusions(fake_run.results_of(table)) if words in item.sentence]
    return item.verdict


@pytest.mark.parametrize(("rate", "counts"), [(0.05, (16, 0, 0)), (0.09, (0, 16, 0)), (0.02, (0, 0, 16))])
def test_the_first_finding_counts_the_sizes(rate, counts):
    first, _, highest, lowest, *_ = findings(narrow(rate))
    assert first == (
        "Rule R3 sampling interval, N = 1000: of 16 mean sizes {} lie within .8 to 1.2 alpha, {} above, "
        "{} below, 0 undecided.".format(*counts)
    )
    for line, word in ((highest, "Highest"), (lowest, "Lowest")):
        assert line.startswith(f"{word} mean: .{1000 * rate:03.0f} [.{1000 * rate - 1:03.0f}, ")
        assert any(label in line for label in LEGEND)


def test_most_dead_categories_are_told():
    table = narrow(0.02)
    assert "dead" not in " ".join(findings(table.assign(n_dead=20)))
    assert "In 16 of these 16 points most categories" in " ".join(findings(table.assign(n_dead=21)))


def test_findings_are_short_and_say_when_they_cannot_tell():
    for table in (TABLE, narrow(0.05), TABLE.assign(n_categories=3)):
        assert all(len(line.split()) <= 25 and line.endswith(".") for line in findings(table))
    few = findings(TABLE.assign(n_categories=3))
    assert few[0].endswith("cannot tell, too few categories, sets or panels.")
    power = "Power, dissimilar pair linear SVM vs MLP, natural: cannot tell, at most 3 categories qualify."
    assert power in few
    natural = TABLE[TABLE["balance"] == "natural"]
    assert findings(natural)[-1] == "Class balance: cannot tell, only natural was run."
    told = findings(natural.assign(balance="reweighted", prevalence=0.1))
    assert [line.partition(",")[0] for line in told] == [
        "Size at N = 1000 (rule R3 sampling interval): cannot tell", "Power: cannot tell",
        "Class balance: cannot tell",
    ]  # fmt: skip


def test_the_power_finding_follows_the_data():
    table = narrow(0.6, "power")
    table.loc[(table["kind"] == "power") & (table["pair"] == "linear_svm-rbf_svm"), RATES] -= 0.4
    told = " ".join(findings(table))
    assert "Power, dissimilar pair linear SVM vs MLP, natural, N = 1000: .600" in told
    assert "Power, close pair linear SVM vs RBF SVM, natural, N = 1000: .200" in told
    assert "From linear SVM vs MLP to linear SVM vs RBF SVM power falls for 4 of 4 tests" in told
    close = (table["kind"] == "power") & (table["pair"] == "linear_svm-rbf_svm")
    table.loc[close & (table["n_documents"] == 1000), "n_categories"] = 2  # told at another N: not compared
    told = " ".join(findings(table))
    assert "close pair linear SVM vs RBF SVM, natural, N = 6000: .200" in told
    assert "power falls" not in told


def test_under_the_joint_null_alone_the_words_are_on_categories():
    counts = {"n_liberal_holm": 0, "n_live": 40, "n_liberal": 0, "n_holds": 40, "n_conservative": 0}
    counts |= {"n_undecided": 0, "worst": 0.06, "worst_again": 0.05, "median": 0.05}
    table = narrow(0.2, truths=["joint_null"]).assign(**counts, worst_category="C31")
    first = findings(table)[0]
    assert first == (
        "Joint null, N = 1000: of 16 (test, panel) 16 hold by category, 0 are liberal, 0 conservative, "
        "0 undecided."
    )


def test_the_balance_finding_follows_the_data():
    table = narrow(0.05)
    table.loc[(table["kind"] == "size") & (table["balance"] == "natural"), RATES] += 0.02
    assert "mean alpha_true rises for 8, falls for 0 of 8 (test, pair)" in " ".join(findings(table))


def test_sizes_are_told_under_the_exact_null_first_where_it_was_run():
    told = findings(fake_run.table(**(SMALL | {"truths": ["sampling_interval", "exact_null"]})))
    assert told[0] == "ΔF1: cannot tell by category (no size_by_category.csv has sizes of this test)."
    assert any(line.startswith("Rule R3") for line in told)


RELIABLE = [
    ("margin", 0.05, "agree"), ("margin", 0.02, "agree"), ("margin", 0.09, "differ"),
    ("sampling_interval", 0.09, "cannot tell"),  # a perfect test looks so under R3
    ("sampling_interval", 0.3, "cannot tell"),  # a perfect test at the limit rejects half the sets
    ("sampling_interval", 0.6, "differ"),
]  # fmt: skip


@pytest.mark.parametrize(("truth", "rate", "expected"), RELIABLE)
def test_reliable_with_large_sets(truth, rate, expected):
    assert conclusion(narrow(rate, truths=[truth]), "relatively reliable") == expected


@pytest.mark.parametrize(
    ("n_liberal", "median", "expected"),
    [(0, 0.05, "agree"), (0, 0.02, "agree"), (1, 0.05, "differ"), (0, 0.07, "cannot tell")],
)
def test_reliable_under_an_exact_null_is_read_by_category(n_liberal, median, expected):
    changes = {"n_liberal_holm": n_liberal, "n_live": 40, "n_liberal": n_liberal, "n_holds": 40 - n_liberal}
    changes |= {"n_conservative": 0, "n_undecided": 0, "worst": 0.09, "worst_again": 0.08}
    table = narrow(0.05, truths=["exact_null"]).assign(**changes, worst_category="C31", median=median)
    assert conclusion(table, "relatively reliable") == expected  # the mean always holds


def test_consistent_levels():
    table = narrow(0.09)
    assert conclusion(table, "consistent for different levels") == "agree"
    table.loc[(table["alpha"] == 0.1) & (table["kind"] == "size"), RATES] = 0.01
    assert conclusion(table, "consistent for different levels") == "differ"
    assert conclusion(table[table["alpha"] == 0.05], "consistent for different levels") == "cannot tell"


@pytest.mark.parametrize(("last", "expected"), [(0.03, "agree"), (0.2, "differ"), (0.09, "cannot tell")])
def test_the_variance_between_categories(last, expected):
    table = narrow(0.05)
    table["category_sd"] = np.where(table["n_documents"] == 6000, last, 0.1)
    assert conclusion(table, "variance of alpha_true") == expected


@pytest.mark.parametrize(
    ("rate", "sd", "words", "expected"),
    [
        (0.09, 0.05, "alpha_true - std", "agree"), (0.09, 0.01, "alpha_true - std", "differ"),
        (0.09, 0.05, "proportion test looks", "agree"), (0.05, 0.05, "proportion test looks", "differ"),
    ],
)  # fmt: skip
def test_the_check_below_by_one_sd_and_the_proportion_test_on_small_sets(rate, sd, words, expected):
    assert conclusion(narrow(rate).assign(category_sd=sd), words) == expected


def test_closeness_tells_the_pairs_apart_or_says_that_it_cannot():
    pairs = closeness(fake_run.outcomes())
    assert [pair.pair for pair in pairs] == ["linear_svm-rbf_svm", "linear_svm-mlp"]
    assert "dissimilar one linear_svm-mlp" in closeness_sentences(pairs)[-1]
    assert "clearly poorer" in closeness_sentences(pairs)[1]
    same = fake_run.outcomes(pairs=["a-b"])
    both = pd.concat([same, same.assign(pair="a-c")])
    assert "about equally close" in closeness_sentences(closeness(both))[-1]


def test_micro_f1_comes_from_the_models_cells_where_they_are():
    outcomes = fake_run.outcomes()
    cells = fake_run.models().assign(true_positives=60, false_negatives=20, false_positives=20)
    assert micro_f1(outcomes, cells)["mlp", "natural"] == pytest.approx(0.75)
    natural = outcomes[(outcomes["balance"] == "natural") & (outcomes["pair"] == "linear_svm-mlp")]
    sides = (["e1", "e2"], ["e3", "e4"], ["e5", "e6"])
    hits, missed, alarms = (natural[names].to_numpy().sum() for names in sides)
    assert micro_f1(outcomes)["mlp", "natural"] == pytest.approx(2 * hits / (2 * hits + missed + alarms))


def test_the_models_table_counts_fewer_folds_and_tuned_values():
    models = fake_run.models()
    assert fewer_folds(models[models["model"] == "mlp"]) == 1
    table = tabulate_models(models, fake_run.outcomes()).set_index(["model", "balance"])
    row = table.loc["linear_svm", "natural"]
    assert row["tuned with fewer folds"] == "1"
    assert row["tuned values (categories)"] == "C: 1 (30)"


def test_the_summary_leads_with_the_findings_holds_every_part_and_is_the_same_twice(tmp_path):
    out = fake_run.write(tmp_path, TABLE)
    write_summary(Results(out))
    first = {path: path.read_bytes() for path in [out / "summary.md", *(out / "tables").iterdir()]}
    text = (out / "summary.md").read_text()
    assert text.index("## Main findings") < text.index("## What was run")
    for part in (
        "1. Rule R3", "above .05", "GMIL, E_61", "fewer folds for lack of positives: 1.", "is not a size",
        "floor near one half", "relatively reliable", "(footnote)", "R3 sampling interval",
        "harness figures from=", "A minus B", "harness run experiment=nips2005 corpus=synthetic",
        "over-sampled", "categories qualify", "of them dead",
    ):  # fmt: skip
        assert part in text, part
    stems = ("size", "power", "models", "truth_rules")
    assert {path.name for path in first} >= {f"{stem}.{end}" for stem in stems for end in ("md", "tex")}
    write_summary(Results(out))
    assert first == {path: path.read_bytes() for path in first}


def test_a_run_of_reweighted_populations_from_stored_outcomes(tmp_path):
    table = TABLE.assign(balance="reweighted", prevalence=0.1)
    write_summary(Results(fake_run.write(tmp_path, table, with_models=False, record=False)))
    text = (tmp_path / "summary.md").read_text()
    for words in ("only reweighted populations were run", "no model was trained", "not recorded"):
        assert words in text


def test_a_missing_table_is_named(tmp_path):
    out = fake_run.write(tmp_path, TABLE)
    (out / "outcomes.csv").unlink()
    with pytest.raises(UserError, match=r"outcomes\.csv: no such table"):
        write_summary(Results(out))


def test_text_is_escaped():
    frame = pd.DataFrame({"a_b|c": ["50 % & <x>", "*y*"], "n": [1, 2], "r": [0.5, np.nan]})
    markdown, latex = to_markdown(frame), to_latex(frame, "100 % of ΔF1_x")
    assert r"| a_b\|c | n | r |" in markdown
    assert "| 50 % &amp; &lt;x&gt; | 1 | 0.500 |" in markdown
    assert "| \\*y\\* | 2 |  |" in markdown
    assert r"50 \% \& \textless{}x\textgreater{} & 1 & 0.500 \\" in latex
    assert r"\caption{100 \% of $\Delta$F1\_x}" in latex
    assert r"\begin{tabular}{lrr}" in latex
    assert escape_latex("\\{}~^$#") == r"\textbackslash{}\{\}\textasciitilde{}\textasciicircum{}\$\#"
    assert escape_markdown("[a](b) line\nbreak") == r"[a\](b) line break"
