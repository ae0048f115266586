import bz2
import gzip
import json
import lzma
import os
import re

import numpy as np
import pandas as pd
import pytest
from advise_files import QUICK, read_logs, with_text
from beside import beside
from hypothesis import given, settings
from hypothesis import strategies as st
from refusal import refusal as refused

import harness
from harness.advise.files.categories import find_form, read_decisions
from harness.advise.files.predictions import as_outcomes, default_measure, read_predictions
from harness.cli import main
from harness.compare.datasets import read_csv
from harness.errors import UserError
from harness.tables import files
from harness.tables.labels import plain_label
from harness.tables.repeats import Repeats, tell_repeated

KNOWN = beside(__file__)

PACK = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}
FORMATS = ("csv", "tsv", "jsonl", "json", "parquet", "csv.gz", "tsv.bz2", "jsonl.xz", "json.gz")


def write(path, columns):
    """Write columns of text, None where a value is missing, in the format of the ending."""
    names, rows = list(columns), list(zip(*columns.values(), strict=True))
    kind = next(name for name in ("csv", "tsv", "jsonl", "json", "parquet") if f".{name}" in path.name)
    if kind == "parquet":
        pytest.importorskip("pyarrow")
        pd.DataFrame(columns, dtype=object).to_parquet(path)
        return path
    if kind in ("csv", "tsv"):
        text = pd.DataFrame(columns).to_csv(index=False, sep="," if kind == "csv" else "\t")
    else:
        items = [json.dumps(dict(zip(names, row, strict=True))) for row in rows]
        text = "\n".join(items) if kind == "jsonl" else "[" + ",\n ".join(items) + "]"
    data = text.encode()
    path.write_bytes(PACK[path.suffix[1:]](data) if path.suffix[1:] in PACK else data)
    return path


def counts(path, measure=None, positive=None, **options):
    found = read_predictions(path, **options)
    outcomes = as_outcomes(found, measure or default_measure(found), positive)
    return outcomes.cells(*list(outcomes.decisions)[:2]).tolist(), outcomes


# --- the same data in every format -----------------------------------------------------------------

QUIRKS = KNOWN["quirks"]


@pytest.mark.parametrize("ending", FORMATS)
@pytest.mark.parametrize("quirk", QUIRKS)
def test_every_format_is_read_alike(tmp_path, ending, quirk):
    columns = dict(zip(("y_true", "a", "b"), map(list, zip(*QUIRKS[quirk], strict=True)), strict=True))
    expected = harness.count_outcomes([1, 0, 1, 0], [1, 0, 0, 1], [0, 0, 1, 0]).tolist()
    assert counts(write(tmp_path / f"p.{ending}", columns))[0] == expected
    n = range(4)
    long = {"id": [str(i // 2) for i in n], "category": [f"c{i % 2}" for i in n], **columns}
    found = read_decisions(write(tmp_path / f"long.{ending}", long), "long")
    assert found.truth().ravel().tolist() == [True, False, True, False]
    assert found.said("b").ravel().tolist() == [False, False, True, False]
    wide = {f"{name}.{c}": values[i::2] for name, values in columns.items() for i, c in enumerate("xy")}
    found = read_decisions(write(tmp_path / f"wide.{ending}", wide), "wide")
    assert found.said("a").ravel().tolist() == [True, False, False, True]


@pytest.mark.parametrize("ending", FORMATS)
def test_what_is_missing_is_the_same_in_every_format(tmp_path, ending):
    classes = {"y_true": ["NA", "None", "null", "nan"], "a": ["NA"] * 4, "b": ["null"] * 4}
    path = write(tmp_path / f"p.{ending}", classes)
    assert counts(path)[0] == [0, 1, 1, 2, 0, 0, 0, 0]
    assert "item 1 has no value in column 'y_true'" in refused(read_predictions, path, missing=["NA"])
    for absent in (None, "", "  "):
        own = {**classes, "b": ["null", "null", absent, "null"]}
        path = write(tmp_path / f"q.{ending}", own)
        assert "item 3 has no value in column 'b'" in refused(read_predictions, path)


WORDS = st.sampled_from(
    ["1", "0", "+1", "1.0", "x", " x", "NA", "None", "a b", "true", "0.5", '"', "é", "-1", ","]
)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(WORDS, WORDS, WORDS), min_size=2, max_size=8))
def test_a_table_is_the_same_in_every_format(tmp_path_factory, rows):
    folder = tmp_path_factory.mktemp("property")
    columns = dict(zip(("y_true", "a", "b"), map(list, zip(*rows, strict=True)), strict=True))
    said = set()
    for ending in FORMATS:
        try:
            found = read_predictions(write(folder / f"p.{ending}", columns), systems=["a", "b"])
        except UserError as error:
            said.add(str(error).replace(f".{ending}", ""))
        else:
            parts = (found.truth, *found.systems.values(), found.n_items)
            said.add(tuple(tuple(part.tolist()) for part in parts))
    assert len(said) == 1


def test_a_file_is_read_in_parts(tmp_path, monkeypatch):
    generator = np.random.default_rng(0)
    columns = {name: generator.choice(["x", "y", "z"], 500).tolist() for name in ("y_true", "a", "b")}
    whole = [counts(write(tmp_path / f"p.{ending}", columns))[0] for ending in FORMATS]
    monkeypatch.setattr(files, "CELLS_AT_ONCE", 30)
    assert whole == [counts(tmp_path / f"p.{ending}")[0] for ending in FORMATS]
    assert len(set(map(tuple, whole))) == 1


# --- which labels are the same ---------------------------------------------------------------------


@pytest.mark.parametrize(("texts", "label"), KNOWN["spellings"])
def test_spellings_of_one_label(texts, label):
    assert {plain_label(text) for text in texts} == {label}


@pytest.mark.parametrize(
    "text",
    ["01", "007", "1_000", "0x1", "1e999999999", "NaN", "inf", "None", "NA", "Yes", "--1", "1.0.0", "e5"],
)
def test_what_is_no_number_stays_as_it_is(text):
    assert plain_label(text) == text


@pytest.mark.parametrize(("truth", "other"), KNOWN["unclear_spellings"])
def test_spellings_that_may_be_one_label_are_refused(tmp_path, truth, other):
    path = with_text(tmp_path, f"y_true,a,b\n{truth},{truth},{other}\nz,z,z\n")
    line = refused(read_predictions, path)
    assert f"column 'b' says {other!r}, and a label of the truth is {truth!r}" in line
    with pytest.raises(ValueError, match=re.escape(f"b: it says {other!r}")):
        harness.compare_predictions([truth, "z"], [truth, "z"], [other, "z"], "error")


def test_two_spellings_in_the_truth_are_refused(tmp_path):
    path = with_text(tmp_path, "x,y\n1,A\n2,a\n3,A\n4,a\n")
    assert "the truth has both 'A' and 'a'" in refused(read_csv, str(path), "y")


def test_labels_that_the_truth_lacks_are_told_with_their_share(tmp_path, capsys):
    rows = [("x", "x", "x"), ("y", "y", "x"), ("z", "?", "z"), ("x", "n/a", "x"), ("y", "?", "y")] * 4
    path = with_text(tmp_path, "y_true,a,b\n" + "".join(",".join(row) + "\n" for row in [*rows, rows[0]]))
    found = counts(path, systems=["a", "b"])[1]
    told = (
        "a says a label that the truth lacks on 12 of 21 items (57 %), which counts as wrong: "
        "'?' 38 %, 'n/a' 19 %"
    )
    assert found.warnings == (told,)
    columns = list(zip(*[*rows, rows[0]], strict=True))
    result = harness.compare_predictions(*columns, "error", names=("a", "b"))
    assert result.warnings == (told,)
    assert repr(result).startswith(f"Note: {told}.\n")


# --- tables of right and wrong, regressions, accuracy ----------------------------------------------


@pytest.mark.parametrize("ending", FORMATS)
@pytest.mark.parametrize("coding", [("1", "0"), ("True", "false"), ("1.0", "0.0")])
def test_right_and_wrong_without_a_truth(tmp_path, ending, coding):
    right = [[1, 1], [0, 1], [0, 0], [1, 0], [1, 1]]
    columns = {"item": [f"q{i}" for i in range(5)]}
    columns |= {name: [coding[1 - row[i]] for row in right] for i, name in enumerate("ab")}
    columns["category"] = ["maths"] * 5
    path = write(tmp_path / f"p.{ending}", columns)
    assert find_form(list(columns), None, ".") is None
    found, outcomes = counts(path)
    assert found == [2, 1, 1, 1, 0, 0, 0, 0]
    assert outcomes.warnings[0].startswith("the file has no column of a truth: 1 is read as right and 0 as")
    for measure, positive, words in (
        ("f1", None, "measure: f1 needs"),
        ("error", "1", "positive: '1' needs"),
    ):
        assert words in refused(as_outcomes, read_predictions(path), measure, positive)


@pytest.mark.parametrize("n", [4, 60, 3_000])
def test_regressions_are_refused_in_a_sentence(tmp_path, n):
    y = np.random.default_rng(0).normal(size=n).round(6)
    frame = pd.DataFrame({"y_true": y, "a": y + 0.1, "b": y - 0.2})
    frame.to_csv(tmp_path / "p.csv", index=False)
    for systems in (None, ["a", "b"]):
        line = refused(read_predictions, tmp_path / "p.csv", systems=systems)
        assert "column 'y_true' holds measurements, such as" in line
    with pytest.raises(ValueError, match="y: it holds measurements"):
        harness.compare_predictions(frame["y_true"], frame["a"], frame["b"], "error")
    assert "column 'y_true' holds measurements" in refused(read_csv, str(tmp_path / "p.csv"), "y_true")


@pytest.mark.parametrize("absent", [None, np.nan, pd.NA, "", " "])
def test_a_missing_label_from_python(absent):
    with pytest.raises(ValueError, match="a: item 1 .from 0. has no label"):
        harness.compare_predictions(["x", "y", "y"], ["x", absent, "y"], ["x", "x", "y"], "error")


def test_two_labels_for_one_item_from_python():
    with pytest.raises(ValueError, match="a: one label for each item is needed, not several"):
        harness.compare_predictions(["x", "y"], [["x"], ["x", "y"]], ["x", "x"], "error")


def test_accuracy_is_the_error():
    y, a, b = [1, 0, 1, 0, 1], [1, 0, 1, 0, 0], [0, 0, 1, 1, 1]
    one, other = (harness.compare_predictions(y, a, b, measure) for measure in ("accuracy", "error"))
    assert (one.measure, one.difference) == ("error", other.difference)
    assert one.warnings[0].startswith("accuracy is 1 - error: every difference here is one of the error")


# --- repeated rows ---------------------------------------------------------------------------------


def test_rows_that_are_all_repeated_are_told_in_any_order(tmp_path):
    generator = np.random.default_rng(0)
    rows = [",".join(row) for row in generator.choice(["x", "y", "z"], (160, 3)).tolist()] * 5
    for order in (rows, sorted(rows), generator.permutation(rows).tolist()):
        path = with_text(tmp_path, "y_true,a,b\n" + "\n".join(order) + "\n")
        assert "different rows is a multiple of 5: items seem" in counts(path)[1].warnings[-1]
    truth, a, b = zip(*(row.split(",") for row in rows), strict=True)
    assert "is a multiple of 5" in harness.compare_predictions(truth, a, b, "error").warnings[-1]
    once = with_text(tmp_path, "y_true,a,b\n" + "\n".join([*rows, rows[0]]) + "\n")
    assert counts(once)[1].warnings == ()
    with_id = with_text(tmp_path, "id,y_true,a,b\n" + "".join(f"{i},{row}\n" for i, row in enumerate(rows)))
    assert counts(with_id)[1].warnings == ()


def test_scores_tell_rows_apart_that_labels_do_not(tmp_path):
    generator = np.random.default_rng(1)
    scores = generator.random((200, 2)).round(6)
    rows = [f"{int(a > 0.5)},{a},{b}" for a, b in scores]
    path = with_text(tmp_path, "y_true,a,b\n" + "\n".join(rows * 2) + "\n")
    assert "multiple of 2" in counts(path, threshold=0.5)[1].warnings[-1]
    path = with_text(tmp_path, "y_true,a,b\n" + "\n".join([*rows, *(row + "1" for row in rows)]) + "\n")
    assert counts(path, threshold=0.5)[1].warnings == ()


REPEATED = [
    ([5] * 7, True),
    ([5] * 6, False),
    ([2] * 15, True),
    ([2] * 14, False),
    ([6, 10] * 9, True),
    ([], False),
]


@pytest.mark.parametrize(("found", "told"), REPEATED)
def test_the_rule_of_repeated_rows(found, told):
    """k ** (1 - distinct rows) < 1e-4: 5 ** -6 is 6.4e-5 and 2 ** -14 too, 5 ** -5 and 2 ** -13 are not."""
    assert bool(tell_repeated(np.array(found, dtype=int))) == told


def test_many_different_rows_are_counted_in_little_memory(monkeypatch):
    monkeypatch.setattr("harness.tables.repeats.MOST_ROWS", 100)
    hashes = np.random.default_rng(0).integers(2**63, size=5_000).astype(np.uint64)
    for repeated in (True, False):
        kept = Repeats()
        for part in np.split(np.concatenate([hashes, hashes]) if repeated else hashes, 10):
            kept.add_hashes(part)
        assert len(kept._rows) <= 100
        assert bool(kept.warnings()) == repeated


# --- headers and rows ------------------------------------------------------------------------------


@pytest.mark.parametrize("index", [range(4), range(1, 5), [7, 3, 9, 1], [0, 1, 2, 3]])
def test_row_numbers_without_a_name_are_left_out_and_told(tmp_path, index):
    frame = pd.DataFrame({"y_true": [1, 0, 1, 0], "a": [1, 0, 0, 1], "b": [1, 1, 1, 0]}, index=index)
    frame.to_csv(tmp_path / "p.csv")
    frame.to_csv(tmp_path / "q.csv", index_label="Unnamed: 0")
    for name in ("p.csv", "q.csv"):
        assert "the first column has no name and holds row numbers; it is left out" in (
            counts(tmp_path / name)[1].notes
        )
    if index == [7, 3, 9, 1]:
        frame.to_parquet(tmp_path / "p.parquet")
        assert counts(tmp_path / "p.parquet")[1].notes
    data = read_csv(str(tmp_path / "p.csv"), "y_true")
    assert data.x.shape == (4, 2)
    assert data.notes


@pytest.mark.parametrize(("text", "options", "cells", "words"), KNOWN["read"])
def test_what_is_read_and_told(tmp_path, text, options, cells, words):
    found, outcomes = counts(with_text(tmp_path, text), **options)
    assert found == cells
    for told in words:
        assert any(told in line for line in (*outcomes.warnings, *outcomes.notes))


LONG = f"y_true,{'a' * 501},b\n1,1,0\n", {}, "column 2 has a name of 501 characters; 500 are allowed"


@pytest.mark.parametrize(("text", "options", "said"), [*KNOWN["refused"], LONG])
def test_what_is_refused(tmp_path, text, options, said):
    assert said in refused(counts, with_text(tmp_path, text), **options)


DEEP = "[" * 100_000, "too deep"


@pytest.mark.parametrize(("text", "said"), [*KNOWN["no_tables"], DEEP])
@pytest.mark.parametrize("ending", ["json", "jsonl"])
def test_json_that_is_no_table(tmp_path, text, said, ending):
    assert said in refused(counts, with_text(tmp_path, text, f"p.{ending}"), "f1")


def test_json_in_pieces(tmp_path, monkeypatch):
    rows = [
        {"y_true": i % 2, "a": f"{(i // 2) % 2}", "b": 1.0, "text": 'é{[\\"' * (i % 7)} for i in range(200)
    ]
    for indent in (None, 2):
        path = with_text(tmp_path, json.dumps(rows, indent=indent, ensure_ascii=False), "p.json")
        expected = counts(path, systems=["a", "b"])[0]
        monkeypatch.setattr("harness.tables.objects._PIECE", 17)
        assert counts(path, systems=["a", "b"])[0] == expected
    path = with_text(tmp_path, "\ufeff\n" + "\n\n".join(map(json.dumps, rows)), "p.jsonl")
    assert counts(path, systems=["a", "b"])[0] == expected


def test_what_is_no_file_of_a_table(tmp_path):
    pytest.importorskip("pyarrow")
    tall = b"y_true,a,b\n" + (b"1,1," + b"0" * 999 + b"\n") * 24_000
    for name, data, said in (
        ("q.csv.gz", b"y_true,a,b\n", "is named .gz but does not begin"),
        ("s.csv", "y_true,a,b\nx,x,y\n".encode("utf-16"), "it is not text in UTF-8"),
        ("t.csv.gz", gzip.compress(b"y_true,a,b\n1,1,0\n" * 99)[:-9], "truncated or damaged"),
        ("u.csv.xz", lzma.compress(tall), "expands beyond"),
        ("r.parquet", b"PAR1", "cannot be read as parquet"),
    ):
        (tmp_path / name).write_bytes(data)
        assert said in refused(read_predictions, tmp_path / name)
    os.mkfifo(tmp_path / "p.csv")
    assert "no regular file" in refused(read_predictions, tmp_path / "p.csv")
    assert "no regular file" in refused(read_csv, str(tmp_path / "p.csv"), "y")


def test_compare_reads_as_advise_does(tmp_path):
    text = "x1, x2, t\n0.1, 1e3, None\n+2, .5, null\n3, 4, NA\n 0.1,5,NA\n1,1,1\n1,1,1.0\n"
    data = read_csv(str(with_text(tmp_path, text)), "t")
    assert data.classes == ("1", "NA", "None", "null")
    assert data.x[:2].tolist() == [[0.1, 1000.0], [2.0, 0.5]]
    assert "row 4 has no value in column 't'" in refused(read_csv, str(tmp_path / "p.csv"), "t", ["NA"])
    rows = {"x": ["1", "2", "3"], "t": ["p", "q", "p"]}
    prints = {read_csv(str(write(tmp_path / f"t.{end}", rows)), "t").fingerprint() for end in FORMATS}
    assert len(prints) == 1
    assert "line 2 has 4 fields where the header names 3" in refused(
        read_csv, str(with_text(tmp_path, "x1,x2,t\n0.1,0.2,1,p\n0.3,0.1,2,q\n")), "t"
    )


# --- logs ------------------------------------------------------------------------------------------


def logs(folder, scores, **more):
    """Write the logs of two models; `scores` of each."""
    for model, own in scores.items():
        (folder / model).mkdir(parents=True)
        lines = (json.dumps({"doc_id": i, "m": score, **more}) for i, score in enumerate(own))
        (folder / model / "samples_t_2025-01-02T03-04-05.6.jsonl").write_text("\n".join(lines))
    return folder


@pytest.mark.parametrize(
    ("right", "wrong"), [("True", "False"), ("1", "0"), (1, 0.0), (True, False), ("1.0", "0.0"), ("true", 0)]
)
def test_scores_of_logs_however_they_are_written(tmp_path, right, wrong):
    logs(tmp_path, {"A": [right, wrong, right, right], "B": [right, right, wrong, wrong]})
    assert read_logs(tmp_path, metric="m").cells("A", "B").tolist() == [1, 1, 2, 0, 0, 0, 0, 0]


def test_a_metric_that_is_better_lower_is_turned(tmp_path):
    scores = {"A": [1, 0, 1], "B": [1, 1, 0]}
    plain = read_logs(logs(tmp_path / "plain", scores, higher_is_better={"m": True}))
    assert plain.warnings == ()
    said = {"higher_is_better": {"t": {"m": False}}}
    config = {"configs": {"t": {"metric_list": [{"metric": "m", "higher_is_better": False}]}}}
    for name, results in (("items", None), ("results", said), ("configs", config)):
        folder = logs(tmp_path / name, scores, **({} if results else {"higher_is_better": False}))
        if results:
            (folder / "A" / "results_2025-01-02T03-04-05.6.json").write_text(json.dumps(results, indent=2))
        found = read_logs(folder)
        np.testing.assert_array_equal(found.cells("A", "B"), plain.cells("A", "B")[[3, 2, 1, 0, 7, 6, 5, 4]])
        assert found.warnings == (
            "m is better where it is lower, by the logs: 0 is read as right and 1 as wrong",
        )
    (folder / "B" / "results_1.json").write_text("{")
    assert "results_1.json: it is not JSON" in refused(read_logs, folder)
    (folder / "B" / "results_1.json").unlink()
    (folder / "B" / "results_2.json").write_text(json.dumps({"higher_is_better": {"t": {"m": True}}}))
    assert "by some logs a higher m is better and by others a lower" in refused(read_logs, folder)
    folder = logs(tmp_path / "loss", {"A": [0.5, 2], "B": [1, 1.25]}, higher_is_better={"m": False})
    found = read_logs(folder, measure="score")
    assert {name: own.tolist() for name, own in found.scores.items()} == {"A": [-0.5, -2], "B": [-1, -1.25]}
    assert found.warnings == (
        "m is better where it is lower, by the logs: its sign is turned, so that more is better",
    )


def test_logs_of_old_names_and_arrays(tmp_path):
    for model, right in (("pretrained__org__A", [1, 0]), ("pretrained__org__B", [0, 0])):
        for task in ("arc_easy", "boolq"):
            items = [{"doc_id": i, "target": "x", "acc": one} for i, one in enumerate(right)]
            (tmp_path / f"{model}_{task}.jsonl").write_text(json.dumps(items, indent=2))
    assert "task=NAME, or =GROUP, chooses one of arc_easy, boolq" in refused(read_logs, tmp_path)
    found = read_logs(tmp_path, "arc_easy")
    assert found.cells("pretrained__org__A", "pretrained__org__B").tolist() == [0, 0, 1, 1, 0, 0, 0, 0]


# --- the commands ----------------------------------------------------------------------------------


def test_the_command_tells_first_what_to_know_of_the_file(tmp_path, capsys, undrawn):
    rows = [("x", "x", "x"), ("y", "y", "x"), ("z", "?", "z"), ("x", "y", "x"), ("y", "y", "y")]
    path = with_text(tmp_path, ",y_true,a,b\n" + "".join(f"{i},{','.join(rows[i % 5])}\n" for i in range(51)))
    out = tmp_path / "out"
    more = ["measure=accuracy", "test=[mcnemar_midp]", f"out={out}", *QUICK]
    assert main(["advise", f"predictions={path}", *more]) == 0
    told = (
        "Note: a says a label that the truth lacks on 10 of 51 items (20 %), which counts as wrong: '?' 20 %"
    )
    printed = [line for line in capsys.readouterr().out.splitlines() if line]
    findings = printed[printed.index(told) :]
    summary = (out / "summary.md").read_text()
    assert findings[1].startswith("No difference is shown: error of a minus that of b")
    assert "mcnemar_midp" in findings[1] + findings[2]
    assert summary.splitlines()[4] == f"- {told}."
    assert "accuracy is 1 - error" in summary
    assert "the first column has no name and holds row numbers" in summary
    assert set(pd.read_csv(out / "verdicts.csv")["measure"]) == {"error"}


# --- the files of the second look ------------------------------------------------------------------
