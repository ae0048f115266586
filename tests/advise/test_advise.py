"""`harness advise`: predictions read, advice written, wrong input told in one sentence."""

import json
import shutil

import numpy as np
import pandas as pd
import pytest
from html_page import check_page

from harness.advise.files.predictions import as_outcomes, read_predictions
from harness.advise.study import choose_tests
from harness.cli import main
from harness.errors import UserError
from harness.outcomes import count_outcomes

QUICK = [
    "plan.n_sets=500", "plan.n_draws=5", "plan.n_range_sets=100", "plan.n_power_sets=100", "plan.h=[2,3,4]",
    "plan.factors=[1,2]", "cache=null", "parallel=sequential",
]  # fmt: skip


def draw(n=300, seed=0):
    generator = np.random.default_rng(seed)
    y = generator.random(n) < 0.3
    return pd.DataFrame(
        {"id": range(n), "y_true": y.astype(int)}
        | {
            name: (y ^ (generator.random(n) < e)).astype(int)
            for name, e in (("a", 0.1), ("b", 0.2), ("c", 0.1))
        }
    )


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("predictions") / "p.csv"
    draw().to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def advised(file, tmp_path_factory):
    out = tmp_path_factory.mktemp("advice") / "out"
    assert main(["advise", f"predictions={file}", f"out={out}", *QUICK]) == 0
    return out


def refused(capsys, *arguments):
    assert main(["advise", *arguments]) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1, lines
    return lines[0]


def test_counts_are_those_of_the_documents(file):
    frame = draw()
    outcomes = as_outcomes(read_predictions(file), "f1")
    columns = (frame[name].to_numpy() == 1 for name in ("y_true", "a", "b"))
    np.testing.assert_array_equal(outcomes.cells("a", "b"), count_outcomes(*columns))


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet"])
def test_every_format_says_the_same(tmp_path, ending):
    frame, path = draw(), tmp_path / f"p.{ending}"
    if ending == "parquet":
        pytest.importorskip("pyarrow")
        frame.to_parquet(path)
    elif ending == "jsonl":
        frame.to_json(path, orient="records", lines=True)
    else:
        frame.to_csv(path, index=False, sep="\t" if ending == "tsv" else ",")
    found = as_outcomes(read_predictions(path), "f1")
    assert list(found.decisions) == ["a", "b", "c"]
    expected = count_outcomes(*(frame[name].to_numpy() == 1 for name in ("y_true", "a", "c")))
    np.testing.assert_array_equal(found.cells("a", "c"), expected)


def test_labels_are_text(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text("gold,s,t\n01,01,1\n1,01,1\n01,1,01\n")
    found = as_outcomes(read_predictions(path, truth="gold"), "f1", positive="01")
    np.testing.assert_array_equal(found.truth, [True, True, False])


def test_scores_need_a_threshold_and_get_one(tmp_path):
    frame, path = draw(), tmp_path / "p.csv"
    generator = np.random.default_rng(1)
    for name in ("a", "b", "c"):
        frame[name] = (frame[name] + generator.random(len(frame))) / 2
    frame.to_csv(path, index=False)
    with pytest.raises(UserError, match="holds scores, such as"):
        read_predictions(path)
    found = as_outcomes(read_predictions(path, threshold=0.5), "f1")
    expected = count_outcomes(*(np.asarray(frame[n] >= 0.5) for n in ("y_true", "a", "b")))
    np.testing.assert_array_equal(found.cells("a", "b"), expected)


def test_many_labels_are_judged_by_right_and_wrong(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text("label,s,t\nx,x,x\ny,y,x\nz,x,z\nz,z,z\n")
    found = as_outcomes(read_predictions(path), "error")
    np.testing.assert_array_equal(found.cells("s", "t"), [2, 1, 1, 0, 0, 0, 0, 0])
    with pytest.raises(UserError, match="which label is positive is not plain"):
        as_outcomes(read_predictions(path), "f1")


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
    for words in ("a-b: Use ", "are needed to see a true difference of 0.01 with a power of 80 %", "Holm"):
        assert words in summary
    for name in ("figure_advice_sizes", "figure_advice_power"):
        assert (advised / "figures" / f"{name}.png").stat().st_size > 5_000


def test_two_workers_write_the_same_bytes(file, advised, tmp_path):
    out = tmp_path / "out"
    arguments = [text for text in QUICK if not text.startswith("parallel")]
    assert main(["advise", f"predictions={file}", f"out={out}", "parallel.n_jobs=2", *arguments]) == 0
    for path in sorted(advised.glob("*.csv")):
        assert path.read_bytes() == (out / path.name).read_bytes(), path.name


def test_the_same_call_again_finds_it_finished(file, advised, capsys):
    assert main(["advise", f"predictions={file}", f"out={advised}", *QUICK]) == 0
    assert "finished" in capsys.readouterr().out


def test_the_figures_are_drawn_again_from_the_tables(advised, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(advised, copy)
    for path in (copy / "figures").iterdir():
        path.unlink()
    assert main(["figures", f"from={copy}"]) == 0
    for path in (advised / "figures").glob("*.png"):
        assert path.read_bytes() == (copy / "figures" / path.name).read_bytes(), path.name


BAD = {
    "y_true,a\n1,1\n": "at least two different columns",
    "x,a,b\n2,1,0\n": "truth_column=COLUMN names",
    "x,a,b\n1,1,0\n": "it holds one item; at least two are needed",
    "y_true,a,b\n1,1,\n0,1,0\n": "item 1 has no value in column 'b'",
    "y_true,a,b\n1,1,0\n1,0,1\n": "every item's truth is '1'",
    "y_true,a,b\n1,1,1\n0,0,0\n": "the systems say the same of every item",
    "y_true,a,b\n1,1,0\n0,0,2\n": "column 'b' says '2'",
    "id,y_true,a,b\n7,1,1,0\n8,0,0,1\n7,0,1,1\n": "items 1 and 3 have the same id",
    "y_true,a,b\n": "it holds no item",
    "": "it is empty",
    "y_true,a,b\n1,1,0\n1,1,0,9,9,9\n": "line 3 has 6 fields where the header names 3 columns",
}


@pytest.mark.parametrize("text", BAD)
def test_a_bad_file_is_one_sentence(tmp_path, capsys, text):
    path = tmp_path / "p.csv"
    path.write_text(text)
    out = tmp_path / "out"
    assert BAD[text] in refused(capsys, f"predictions={path}", f"out={out}", *QUICK)
    assert not out.exists()


def test_bad_settings_are_one_sentence(file, tmp_path, capsys):
    out = f"out={tmp_path / 'out'}"
    for arguments, words in (
        (["truth_column=nothing"], "there is no column 'nothing'"),
        (["systems=[a]"], "a list of two or more columns"),
        (["systems=[a,zz]"], "there is no column 'zz'"),
        (["positive=maybe"], "is no label of the truth"),
        (["measure=f2"], "choose one of"),
        (["alpha=1.5"], "numbers between 0 and 1"),
        (["difference=0"], "numbers between 0 and 1"),
        (["plan.n_sets=3"], "plan.n_sets"),
        (["plan.h=[]"], "plan.h"),
        (["plan.nonsense=1", "+plan.nonsense=1"], "nonsense"),
        (["threshold=high"], "threshold: 'high'"),
        (["test=[wald_f1]", "measure=error"], "none of those chosen is of measure=error"),
    ):
        assert words in refused(capsys, f"predictions={file}", out, *QUICK, *arguments), arguments
        assert not (tmp_path / "out").exists()


def test_a_missing_or_foreign_file_is_one_sentence(tmp_path, capsys):
    assert "there is no such file" in refused(capsys, f"predictions={tmp_path / 'no.csv'}", *QUICK)
    (tmp_path / "x.pkl").write_bytes(b"\x80")
    assert "ending is not known" in refused(capsys, f"predictions={tmp_path / 'x.pkl'}", *QUICK)


def test_the_advice_changes_with_the_number_of_items_only_where_another_test_is_better():
    tests, numbers = ("plain", "other"), (50, 100, 200)
    high = {("plain", 100): 0.09}  # not sure to keep its level on as many items as the file has
    power = {("plain", 200): 0.9}
    sizes = pd.DataFrame(
        {"pair": "a-b", "n_documents": n, "test": test, "size": 0.05, "low": 0.045,
         "range_high": high.get((test, n), 0.056), "high": high.get((test, n), 0.056),
         "verdict": "undecided" if (test, n) in high else "holds"}
        for n in numbers
        for test in tests
    )  # fmt: skip
    powers = pd.DataFrame(
        {"pair": "a-b", "n_documents": n, "test": test, "power": power.get((test, n), 0.7)}
        for n in numbers
        for test in tests
    )
    chosen = choose_tests(sizes, powers, tests, 0.05, 100)
    assert list(chosen) == [("a-b", n) for n in numbers]
    assert [one.test for one in chosen.values()] == ["other", "other", "plain"]


def test_a_difference_out_of_reach_leaves_an_empty_field(tmp_path):
    truth = [1] * 40 + [0] * 160
    table = pd.DataFrame({"y_true": truth, "a": [1] * 34 + [0] * 166, "b": [1] * 20 + [0] * 178 + [1] * 2})
    table.to_csv(tmp_path / "p.csv", index=False)
    out = tmp_path / "out"
    given = ["plan.n_sets=100", "plan.n_draws=2", "plan.n_range_sets=100", "plan.n_power_sets=100"]
    given += ["plan.h=[2]", "plan.factors=[1]", "cache=null", "parallel=sequential", "test=[wald_f1]"]
    assert main(["advise", f"predictions={tmp_path / 'p.csv'}", f"out={out}", "difference=0.9", *given]) == 0
    assert pd.read_csv(out / "needed.csv")["n_items"].isna().all()
    assert "<NA>" not in (out / "summary.md").read_text()


@pytest.mark.parametrize("form", ["one", "several"])
def test_systems_that_differ_on_no_item_of_the_measure(tmp_path, capsys, form):
    """Only false alarms differ: the recall is the same whatever is drawn."""
    truth = [1] * 20 + [0] * 80
    table = pd.DataFrame({"y_true": truth, "a": [1] * 25 + [0] * 75, "b": [1] * 20 + [0] * 70 + [1] * 10})
    if form == "several":
        table = pd.concat([table.assign(id=range(100), category=name) for name in "xy"])
    table.to_csv(tmp_path / "p.csv", index=False)
    out = tmp_path / "out"
    assert main(["advise", f"predictions={tmp_path / 'p.csv'}", f"out={out}", "measure=recall"]) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "the systems say the same of every item that counts for recall; there is nothing to test" in told
    assert not out.exists()
