import fake_run
import numpy as np
import pandas as pd
import pytest
from fake_run import MODELS, OUTCOMES

from harness.errors import UserError
from harness.results.folder import Results
from harness.results.names import LEGEND
from harness.run.findings import (
    closeness,
    closeness_sentences,
    fewer_folds,
    main_findings,
    micro_f1,
    tabulate_models,
)
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
    return main_findings(fake_run.results_of(table, outcomes=OUTCOMES))


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


def test_the_balance_finding_follows_the_data():
    table = narrow(0.05)
    table.loc[(table["kind"] == "size") & (table["balance"] == "natural"), RATES] += 0.02
    assert "mean alpha_true rises for 8, falls for 0 of 8 (test, pair)" in " ".join(findings(table))


def test_sizes_are_told_under_the_exact_null_first_where_it_was_run():
    joint = by_category(0, 0.05).assign(truth="joint_null")
    assert findings(joint)[0].startswith(
        "Joint null, N = 1000: of 16 (test, panel) 16 hold by category, 0 are"
    )
    told = findings(fake_run.table(**(SMALL | {"truths": ["sampling_interval", "exact_null"]})))
    assert told[0] == "ΔF1: cannot tell by category (no size_by_category.csv has sizes of this test)."
    assert any(line.startswith("Rule R3") for line in told)


def ruled(rate, truths=("sampling_interval",), **changes):
    return narrow(rate, truths=truths, **changes)


def levels(first, last):
    """Rates at alpha = .05 that hold, and others at .1."""
    table = ruled(first)
    table.loc[(table["alpha"] == 0.1) & (table["kind"] == "size"), RATES] = last
    return table


def spread(last):
    table = ruled(0.05)
    return table.assign(category_sd=np.where(table["n_documents"] == 6000, last, 0.1))


def by_category(n_liberal, median):
    """Under an exact null; the mean always holds."""
    counts = {"n_liberal_holm": n_liberal, "n_live": 40, "n_liberal": n_liberal, "n_holds": 40 - n_liberal}
    counts |= {"n_conservative": 0, "n_undecided": 0, "worst": 0.09, "worst_again": 0.08}
    return ruled(0.05, ["exact_null"]).assign(**counts, worst_category="C31", median=median)


RELIABLE, PROPORTION = "relatively reliable", "proportion test looks"
LEVELS, SD, VARIANCE = "consistent for different levels", "alpha_true - std", "variance of alpha_true"
CONCLUSIONS = [
    (lambda: ruled(0.05, ["margin"]), {RELIABLE: "agree"}),
    (lambda: ruled(0.02, ["margin"]), {RELIABLE: "agree"}),
    (lambda: ruled(0.09, ["margin"]), {RELIABLE: "differ"}),
    (lambda: ruled(0.09), {RELIABLE: "cannot tell", LEVELS: "agree"}),  # a perfect test looks so under R3
    (lambda: ruled(0.3), {RELIABLE: "cannot tell"}),  # a perfect test at the limit rejects half the sets
    (lambda: ruled(0.6), {RELIABLE: "differ"}),
    (lambda: by_category(0, 0.05), {RELIABLE: "agree"}),
    (lambda: by_category(0, 0.02), {RELIABLE: "agree"}),
    (lambda: by_category(1, 0.05), {RELIABLE: "differ"}),
    (lambda: by_category(0, 0.07), {RELIABLE: "cannot tell"}),
    (lambda: levels(0.09, 0.01), {LEVELS: "differ"}),
    (lambda: ruled(0.09, alphas=(0.05,)), {LEVELS: "cannot tell"}),
    (lambda: spread(0.03), {VARIANCE: "agree"}),
    (lambda: spread(0.2), {VARIANCE: "differ"}),
    (lambda: spread(0.09), {VARIANCE: "cannot tell"}),
    (lambda: ruled(0.09).assign(category_sd=0.05), {SD: "agree", PROPORTION: "agree"}),
    (lambda: ruled(0.09).assign(category_sd=0.01), {SD: "differ"}),
    (lambda: ruled(0.05).assign(category_sd=0.05), {PROPORTION: "differ"}),
]


@pytest.mark.parametrize(("make", "verdicts"), CONCLUSIONS)
def test_what_the_paper_concluded(make, verdicts):
    found = papers_conclusions(fake_run.results_of(make()))
    told = {words: [item.verdict for item in found if words in item.sentence] for words in verdicts}
    assert told == {words: [verdict] for words, verdict in verdicts.items()}


def test_closeness_tells_the_pairs_apart_or_says_that_it_cannot():
    pairs = closeness(OUTCOMES)
    assert [pair.pair for pair in pairs] == ["linear_svm-rbf_svm", "linear_svm-mlp"]
    assert "dissimilar one linear_svm-mlp" in closeness_sentences(pairs)[-1]
    assert "not clearly different" in closeness_sentences(pairs)[1]
    lost = OUTCOMES["e1"] // 5
    poorer = closeness(OUTCOMES.assign(e1=OUTCOMES["e1"] - lost, e3=OUTCOMES["e3"] + lost))
    assert "clearly poorer" in closeness_sentences(poorer)[1]
    same = OUTCOMES[OUTCOMES["pair"] == "linear_svm-mlp"]
    both = pd.concat([same, same.assign(pair="a-c")])
    assert "about equally close" in closeness_sentences(closeness(both))[-1]


def test_micro_f1_comes_from_the_models_cells_where_they_are():
    cells = MODELS.assign(true_positives=60, false_negatives=20, false_positives=20)
    assert micro_f1(OUTCOMES, cells)["mlp", "natural"] == pytest.approx(0.75)
    natural = OUTCOMES[(OUTCOMES["balance"] == "natural") & (OUTCOMES["pair"] == "linear_svm-mlp")]
    sides = (["e1", "e2"], ["e3", "e4"], ["e5", "e6"])
    hits, missed, alarms = (natural[names].to_numpy().sum() for names in sides)
    assert micro_f1(OUTCOMES)["mlp", "natural"] == pytest.approx(2 * hits / (2 * hits + missed + alarms))


def test_the_models_table_counts_fewer_folds_and_tuned_values():
    own = MODELS[(MODELS["model"] == "linear_svm") & (MODELS["balance"] == "natural")]
    n_fewer = own["n_folds"].between(1, 2).sum()  # of 3; 0 were not tuned
    assert fewer_folds(own) == n_fewer > 0
    row = tabulate_models(MODELS, OUTCOMES).set_index(["model", "balance"]).loc["linear_svm", "natural"]
    assert row["tuned with fewer folds"] == str(n_fewer)
    assert f"10 ({(own['C'] == 10).sum()})" in row["tuned values (categories)"]


def test_the_summary_leads_with_the_findings_holds_every_part_and_is_the_same_twice(tmp_path):
    out = fake_run.write(tmp_path, TABLE)
    write_summary(Results(out))
    first = {path: path.read_bytes() for path in [out / "summary.md", *(out / "tables").iterdir()]}
    text = (out / "summary.md").read_text()
    assert text.index("## Main findings") < text.index("## What was run")
    for part in (
        "1. Rule R3", "above .05", "GMIL, E_61", "fewer folds for lack of positives: ", "is not a size",
        "floor near one half", "relatively reliable", "(footnote)", "R3 sampling interval",
        "harness figures from=", "A minus B", "harness run experiment=nips2005 corpus=synthetic",
        "over-sampled", "categories qualify", "of them dead",
    ):  # fmt: skip
        assert part in text, part
    stems = ("size", "power", "models", "truth_rules")
    assert {path.name for path in first} >= {f"{stem}.{end}" for stem in stems for end in ("md", "tex")}
    write_summary(Results(out))
    assert first == {path: path.read_bytes() for path in first}
    (out / "outcomes.csv").unlink()
    with pytest.raises(UserError, match=r"outcomes\.csv: no such table"):
        write_summary(Results(out))


def test_a_run_of_reweighted_populations_from_stored_outcomes(tmp_path):
    table = TABLE.assign(balance="reweighted", prevalence=0.1)
    write_summary(Results(fake_run.write(tmp_path, table, with_models=False, record=False)))
    text = (tmp_path / "summary.md").read_text()
    for words in ("only reweighted populations were run", "no model was trained", "not recorded"):
        assert words in text


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
