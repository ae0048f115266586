"""Every number of the pages on results comes from a table; a wrong or a loose one is found."""

import re
from pathlib import Path

import claims
import pandas as pd
import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "results"
PAGE = (RESULTS / "README.md").read_text(encoding="utf-8")
ADVICE, AUDIT, LEVEL = (
    (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8") for name in ("advice", "audit", "level")
)
BLOCKS = yaml.safe_load((RESULTS / "claims.yaml").read_text(encoding="utf-8"))
# what may hold a digit outside the tables: code, links, names, and the settings of a measurement
NO_CLAIM = re.compile(
    r"`[^`]*`|\]\([^)]*\)|\(NIPS 2005\)|\bRR 04-34\b|\bF1\b|\b5x2cv\b|\bRCV1(-v2)?\b|\bLYRL2004\b|\bM143\b"
    r"|\bReuters-21578\b|\bXGBoost 3\.2\.0|\bFigures? \d\([a-d]\)|\b[12]\([a-d]\)|\bTable 3\b|\bR[0-4]\b"
    r"|\bH[01]\b|\balpha = \.1, \.05 and \.01|goes to 0|N ends at 1000"
    r"|\bP\d+\b|\beq\. [89]\b|\bN = \d+|\balpha = \.\d+|\[\.8, 1\.2\] alpha|\bseed 0\b|\d+ examples"
    r"|errors at \.05|95 % interval|10 %, 90 % quantile|lies below \.95|z_true (lies beyond|within) 3"
    r"|\bJ = \.\d+|\bpseudo [\d.]+|\bp = 1\b|\b0/0\b|5 to 95 % of|\bpower of \.8\b|prevalence below \.01"
)


def loose(text):
    """Return the numbers that stand in a text as claims."""
    return re.findall(r"[-\w.]*\d[\w.%]*", NO_CLAIM.sub(" ", text))


@pytest.mark.parametrize(
    ("page", "n_cells"), [(PAGE, 250), (AUDIT, 150), (LEVEL, 110)], ids=["results", "audit", "level"]
)
def test_a_page_prints_what_the_tables_give(page, n_cells):
    made = claims.make_page(page, BLOCKS)
    assert claims.labelled(made) == claims.labelled(page)  # a difference is told by its block
    assert made == page
    assert len(claims.labelled(page)) > n_cells


@pytest.mark.parametrize("page", [PAGE, AUDIT], ids=["results", "audit"])
def test_no_number_stands_outside_a_table(page):
    assert loose(claims.BLOCK.sub("", page)) == []


def test_what_the_tables_of_the_page_say_in_words_holds_no_number():
    for name, block in BLOCKS.items():
        if name == "statements":
            continue
        entries = [block, *block.get("verdicts", [])]
        entries += [e for axis in ("rows", "columns") for e in block.get(axis, []) if isinstance(e, dict)]
        for entry in entries:
            words = [re.sub(r"\{.+?\}", "", entry.get("cell", "")), entry.get("name", "")]
            words += [entry.get("says", ""), entry.get("reading", "")]
            assert loose(" ".join(words)) == [], (name, entry)


def test_every_block_is_on_a_page_once():
    named = [found[1] for found in claims.BLOCK.findall(PAGE + ADVICE + AUDIT + LEVEL)]
    assert sorted(named) == sorted(BLOCKS.keys() - {"statements"})


@pytest.mark.parametrize("entry", BLOCKS["statements"], ids=lambda entry: entry["says"])
def test_a_sentence_without_a_number_is_what_its_rows_show(entry):
    ((says, shows, found),) = claims.statements({"statements": [entry]})
    page = (ROOT / entry["page"]).read_text(encoding="utf-8") if "page" in entry else PAGE
    assert " ".join(says.split()) in " ".join(page.split())
    assert found == shows


def test_a_wrong_number_a_loose_one_and_a_wrong_table_are_found():
    wrong = PAGE.replace("40 yes, 0 no", "41 yes, 0 no")
    assert wrong != PAGE
    assert claims.make_page(wrong, BLOCKS) == PAGE
    assert loose("its size is .057 on 12 of 89 categories at N = 1000") == [".057", "12", "89"]
    with pytest.raises(ValueError, match="no row has test = 'wald'"):
        claims.make_block({**BLOCKS["exact-highest"], "rows": {"test": ["wald"]}})


# --- the functions behind the numbers ---------------------------------------------------------------

ROWS = pd.DataFrame(
    {
        "test": ["a", "a", "b", "b"], "alpha": [0.05, 0.1] * 2, "rate": [0.0004, 0.1, 0.25, 1.0],
        "n_sets": [500] * 4, "true_positives": [3, 1, 0, 0], "false_negatives": [1, 0, 1, 0],
        "false_positives": [0, 2, 0, 0], "word": ["x", "y", "x", "x"],
    }
)  # fmt: skip


PRINTED = [
    ("{min rate}", "<.001"), ("{min rate:4}", ".0004"), ("{max rate}", "1.000"),
    ("{median rate}", ".175"), ("{sum n_sets}", "2,000"), ("{count word=x}", "3"),
    ("{count rate>=0.1} of {count}", "3 of 4"), ("{micro_f1}", ".667"),
    ("{mean n_sets:0}", "500"), ("{verdict above_a_fifth}", "differ (2 yes, 2 no)"),
]  # fmt: skip


@pytest.mark.parametrize(("cell", "printed"), PRINTED)
def test_what_a_cell_prints(cell, printed, monkeypatch):
    above = {"above_a_fifth": lambda rows: claims._single(rows["rate"] > 0.2, rows["rate"] <= 0.2)}
    monkeypatch.setattr(claims, "CONDITIONS", above)
    assert claims.fill(cell, ROWS) == printed


def test_the_rows_that_have_the_values(tmp_path):
    ROWS.to_csv(tmp_path / "rows.csv", index=False)
    chosen = claims.select(tmp_path / "rows.csv", {"test": ["a", "b"], "alpha": 0.1})
    assert chosen["rate"].tolist() == [0.1, 1.0]
    with pytest.raises(ValueError, match="no row has word = 'y'"):
        claims.select(tmp_path / "rows.csv", {"test": "b", "word": ["x", "y"]})


def test_a_cell_of_one_row_has_one_row():
    assert claims.fill("{rate:2}", ROWS.iloc[2:3]) == ".25"
    with pytest.raises(ValueError, match="2 rows for one value of rate"):
        claims.fill("{rate}", ROWS.iloc[2:])
    empty = ROWS.assign(rate=float("nan")).iloc[:1]
    assert claims.fill("{rate} [{rate}]", empty) == "-"


RULE = [
    ([5, 5], [0, 0], [5, 5], "agree"), ([5, 3], [0, 0], [5, 5], "agree"),
    ([5, 2], [0, 0], [5, 5], "cannot tell"), ([5, 4], [0, 1], [5, 5], "cannot tell"),
    ([5, 0], [0, 5], [5, 5], "differ"), ([1, 0], [0, 1], [1, 1], "differ"),
    ([1, 0], [0, 0], [1, 1], "cannot tell"),
]  # fmt: skip


@pytest.mark.parametrize(("met", "failed", "looks", "verdict"), RULE)
def test_the_rule_of_the_verdicts(met, failed, looks, verdict):
    assert claims.Looks(pd.Series(met), pd.Series(failed), pd.Series(looks)).verdict == verdict


BY_CATEGORY = [
    (0.05, 0, "agree"), (0.061, 0, "differ"), (0.039, 0, "differ"), (0.05, 1, "differ"),
    (None, None, "cannot tell"),
]  # fmt: skip


@pytest.mark.parametrize(("median", "n_liberal_holm", "verdict"), BY_CATEGORY)
def test_a_test_holds_by_category(median, n_liberal_holm, verdict):
    rows = pd.DataFrame(
        {"median": [median], "n_liberal_holm": [n_liberal_holm], "alpha": [0.05]}, dtype=float
    )
    assert claims.holds_by_category(rows).verdict == verdict


@pytest.mark.parametrize(
    ("counts", "verdict"),
    [
        ({"n_holds": [5, 4, 0]}, "agree"), ({"n_holds": [5, 0, 0]}, "cannot tell"),
        ({"n_holds": [5, 5, 0], "n_liberal": [0, 0, 3]}, "differ"),
        ({"n_holds": [5, 5, 0], "n_conservative": [0, 0, 2]}, "agree"),
    ],
)  # fmt: skip
def test_one_word_at_all_levels(counts, verdict):
    rows = {"pair": "p", "test": "t", "alpha": [0.1, 0.05, 0.01], "n_runs": 5}
    rows |= {"n_holds": 0, "n_liberal": 0, "n_conservative": 0} | counts
    assert claims.same_word(pd.DataFrame(rows)).verdict == verdict


def test_the_part_of_the_sets_is_taken_off_the_variance():
    rows = pd.DataFrame(
        {
            "pair": "p", "balance": "meta", "test": "t", "n_documents": [100, 1000], "n_categories": 90,
            "rate": 0.05, "n_sets": 10_000, "category_sd": [0.01, (0.05 * 0.95 / 10_000) ** 0.5],
        }
    )  # fmt: skip
    rows["sd_beyond_sets"] = claims.sd_beyond_sets(rows)
    assert rows["sd_beyond_sets"].round(6).tolist() == [round((1e-4 - 4.75e-6) ** 0.5, 6), 0]
    assert claims.falls_to_a_quarter(rows).verdict == "agree"
    assert claims.falls_to_a_quarter(rows.assign(sd_beyond_sets=[0.01, 0.006])).verdict == "differ"


def test_a_table_that_is_to_come_is_said_and_not_guessed(tmp_path):
    block = {
        "table": "later/size.csv",
        "rows": {"test": ["a"]},
        "columns": {"n_documents": [1]},
        "cell": "{rate}",
    }
    assert claims.make_block(block, tmp_path) == "*`later/size.csv` is not yet in the committed tables.*\n"
