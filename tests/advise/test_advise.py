"""`harness advise`: predictions read, advice written, wrong input told in one sentence."""

import json
import shutil

import numpy as np
import pandas as pd
import pytest
from advise_files import QUICK, read, refusal, with_text, written
from html_page import check_page

from harness.advise.files.predictions import as_outcomes, read_predictions
from harness.advise.margin import HINT
from harness.cli import main
from harness.errors import UserError

SMALL_FIGURES = ["figure=draft", "figure.dpi=40"]
ARGUMENTS = [*QUICK, *SMALL_FIGURES, "plan.factors=[1,2]"]


def draw(n=300, seed=0):
    generator = np.random.default_rng(seed)
    y = generator.random(n) < 0.3
    said = {name: y ^ (generator.random(n) < e) for name, e in (("a", 0.1), ("b", 0.2), ("c", 0.1))}
    return pd.DataFrame({"id": range(n), "y_true": y} | said).astype(int)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return written(tmp_path_factory.mktemp("predictions"), draw())


@pytest.fixture(scope="module")
def advised(file, tmp_path_factory):
    out = tmp_path_factory.mktemp("advice") / "out"
    assert main(["advise", f"predictions={file}", f"out={out}", *ARGUMENTS]) == 0
    return out


def test_labels_are_text(tmp_path):
    path = with_text(tmp_path, "gold,s,t\n01,01,1\n1,01,1\n01,1,01\n")
    found, _ = read(path, measure="f1", positive="01")
    np.testing.assert_array_equal(found.truth, [True, True, False])


def test_many_labels_are_judged_by_right_and_wrong(tmp_path):
    found = read_predictions(with_text(tmp_path, "label,s,t\nx,x,x\ny,y,x\nz,x,z\nz,z,z\n"))
    cells = as_outcomes(found, "error").cells("s", "t")
    np.testing.assert_array_equal(cells, [2, 1, 1, 0, 0, 0, 0, 0])
    with pytest.raises(UserError, match="which label is positive is not plain"):
        as_outcomes(found, "f1")


def test_advice_is_whole(advised):
    recommendations = pd.read_csv(advised / "recommendations.csv")
    assert set(recommendations["pair"]) == {"a-b", "a-c", "b-c"}
    assert set(recommendations["n_documents"]) == {300, 600}
    verdicts = pd.read_csv(advised / "verdicts.csv")
    own = verdicts[verdicts["recommended"]]
    assert len(own) == 3
    assert (own["pvalue_holm"] >= own["pvalue"]).all()
    assert (verdicts["low"] <= verdicts["difference"]).all()
    assert (verdicts["difference"] <= verdicts["high"]).all()
    provenance = json.loads((advised / "provenance.json").read_text())
    assert provenance["finished"]
    assert provenance["predictions"]["n_items"] == 300
    check_page(advised)
    summary = (advised / "summary.md").read_text()
    needed = "a-b: To find a true difference of 0.01 with a power of 80 % takes about "
    for words in ("a-b: Use ", needed, "Holm", HINT):
        assert words in summary


def test_two_workers_write_the_same_bytes(file, advised, tmp_path, undrawn):
    more = [text for text in ARGUMENTS if not text.startswith("parallel")]
    assert main(["advise", f"predictions={file}", f"out={tmp_path / 'out'}", "parallel.n_jobs=2", *more]) == 0
    for path in sorted(advised.glob("*.csv")):
        assert path.read_bytes() == (tmp_path / "out" / path.name).read_bytes(), path.name


def test_the_same_call_again_finds_it_finished(file, advised, capsys):
    assert main(["advise", f"predictions={file}", f"out={advised}", *ARGUMENTS]) == 0
    assert "finished" in capsys.readouterr().out


def test_the_figures_are_drawn_again_from_the_tables(advised, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(advised, copy)
    for path in (copy / "figures").iterdir():
        path.unlink()
    assert main(["figures", f"from={copy}", *SMALL_FIGURES]) == 0
    drawn = list((advised / "figures").glob("*.png"))
    assert {path.stem for path in drawn} == {"figure_advice_sizes", "figure_advice_power"}
    for path in drawn:
        assert path.stat().st_size > 2_000
        assert path.read_bytes() == (copy / "figures" / path.name).read_bytes(), path.name


LONG = "id,category,y_true,a,b\n"
WIDE = "id,y_true.x,y_true.y,a.x,a.y,b.x,b.y\n"
BAD = {
    "y_true,a\n1,1\n": "at least two different columns",
    "x,a,b\n2,1,0\n": "truth_column=COLUMN names",
    "x,a,b\n1,1,0\n": "it holds one item; at least two are needed",
    "y_true,a,b\n1,1,\n0,1,0\n": "item 1 has no value in column 'b'",
    "y_true,a,b\n1,1,0\n1,0,1\n": "every item's truth is '1'",
    "y_true,a,b\n1,1,1\n0,0,0\n": "a and b say the same of every item",
    "y_true,a,b\n1,1,0\n0,0,2\n": "column 'b' says '2'",
    "id,y_true,a,b\n7,1,1,0\n8,0,0,1\n7,0,1,1\n": "items 1 and 3 have the same id",
    "y_true,a,b\n": "it holds no item",
    # several categories
    LONG + "1,x,1,1,0\n1,y,0,1,0\n2,x,0,1,0\n": "item '2' has no row for category 'y'",
    LONG + "1,x,1,1,0\n1,x,0,1,0\n": "item '1' has two rows for category 'x'",
    LONG + "1,x,1,1,0\n2,x,0,1,2\n": "each decision is yes or no",
    LONG + "1,x,1,1,\n2,x,0,1,1\n": "has no value in column 'b'",
    LONG + "1,x,1,1,0\n1,y,0,1,0\n2,x,1,1,0\n2,y,0,,0\n": "row 4 has no value in column 'a'; every row needs",
    LONG + "1,x,0,1,0\n2,x,0,1,1\n": "the truth is no everywhere",
    LONG + "1,x,0,1,1\n2,x,1,1,1\n": "a and b say the same of every item",
    LONG: "it holds no item",
    "category,y_true,a,b\nx,1,1,0\n": "needs a column of the item",
    WIDE.replace("b.y", "b.z") + "1,1,0,1,0,1,0\n": "column 'b.z' is no SYSTEM.CATEGORY",
    WIDE.replace(",b.x,b.y", "") + "1,1,0,1,0\n": "at least two different columns",
    WIDE + "1,1,0,1,0,1,0\n1,1,0,1,0,1,0\n": "items 1 and 2 have the same id",
    WIDE.replace(",b.y", "") + "1,1,0,1,0,1\n": "there is no column 'b.y'",
    WIDE: "it holds no item",
}


@pytest.mark.parametrize("text", BAD)
def test_a_bad_file_is_one_sentence(tmp_path, text):
    assert BAD[text] in refusal(with_text(tmp_path, text))


def test_a_refused_file_leaves_nothing_behind(tmp_path, capsys):
    text = "y_true,a,b\n1,1,1\n0,0,0\n"
    path, out = with_text(tmp_path, text), tmp_path / "out"
    assert main(["advise", f"predictions={path}", f"out={out}", *QUICK]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert BAD[text] in line
    assert not out.exists()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"truth_column": "nothing"}, "there is no column 'nothing'"),
        ({"systems": ["a", "zz"]}, "there is no column 'zz'"),
        ({"positive": "maybe"}, "is no label of the truth"),
        ({"category": "x"}, "has no column `category`"),
        ({"average": "macro", "measure": "error"}, "not for measure=error or positive=LABEL"),
        ({"task": "arc"}, "task: 'arc' is for a folder"),
    ],
)
def test_a_setting_that_does_not_fit_the_file_is_one_sentence(file, given, words):
    assert words in refusal(file, **given)


def test_tests_of_another_measure_are_one_sentence(file, tmp_path, capsys):
    out, asked = tmp_path / "out", ["test=[wald_f1]", "measure=error"]
    assert main(["advise", f"predictions={file}", f"out={out}", *QUICK, *asked]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert "none of those chosen is of measure=error" in line
    assert not out.exists()


def test_a_missing_or_foreign_file_is_one_sentence(tmp_path):
    assert "there is no such file" in refusal(tmp_path / "no.csv")
    (tmp_path / "x.pkl").write_bytes(b"\x80")
    assert "ending is not known" in refusal(tmp_path / "x.pkl")


def test_a_difference_out_of_reach_leaves_an_empty_field(tmp_path, undrawn):
    truth = [1] * 40 + [0] * 160
    table = pd.DataFrame({"y_true": truth, "a": [1] * 34 + [0] * 166, "b": [1] * 20 + [0] * 178 + [1] * 2})
    path, out = written(tmp_path, table), tmp_path / "out"
    more = ["difference=0.9", "test=[wald_f1]", *QUICK]
    assert main(["advise", f"predictions={path}", f"out={out}", *more]) == 0
    assert pd.read_csv(out / "needed.csv")["n_items"].isna().all()
    assert "<NA>" not in (out / "summary.md").read_text()


@pytest.mark.parametrize("form", ["one", "several"])
def test_systems_that_differ_on_no_item_of_the_measure(tmp_path, form):
    """Only false alarms differ: the recall is the same whatever is drawn."""
    truth = [1] * 20 + [0] * 80
    table = pd.DataFrame({"y_true": truth, "a": [1] * 25 + [0] * 75, "b": [1] * 20 + [0] * 70 + [1] * 10})
    if form == "several":
        table = pd.concat([table.assign(id=range(100), category=name) for name in "xy"])
    line = refusal(written(tmp_path, table), measure="recall")
    assert "a and b say the same of every item that counts for recall; there is nothing to test" in line
