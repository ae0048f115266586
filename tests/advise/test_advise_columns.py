"""Which columns are systems, and what their values mean, to `harness advise` and from Python."""

import json

import numpy as np
import pandas as pd
import pytest

import harness
from harness.advise.files.categories import read_decisions
from harness.advise.files.predictions import as_outcomes, read_predictions
from harness.cli import main
from harness.tables import files

N = 60


def labels(n_labels, n=N, seed=0, names=None):
    """Return a truth and two systems that err on a fifth and a third of the items."""
    generator = np.random.default_rng(seed)
    y = generator.integers(n_labels, size=n)
    table = {"y_true": y}
    for name, error in (("a", 0.2), ("b", 0.33)):
        table[name] = np.where(generator.random(n) < error, (y + 1) % n_labels, y)
    frame = pd.DataFrame(table)
    return frame if names is None else frame.map(lambda code: names[code])


XYZ = labels(3, names="xyz")
DIGITS = labels(10)
BINARY = labels(2)
SCORES = np.round(np.linspace(0, 1, N), 1)
TEXT = [f"Some words, of item {i}" for i in range(N)]
REMEDY = "systems=[NAME,NAME] names the systems' columns, truth_column=COLUMN that of the truth"


def refusal(capsys, path, *arguments):
    """Return the one sentence with which the command refuses a file, having written nothing."""
    out = path.parent / "out"
    assert main(["advise", f"predictions={path}", f"out={out}", "cache=null", *arguments]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert not out.exists()
    return line


def written(tmp_path, frame, name="p.csv"):
    path = tmp_path / name
    if name.endswith("csv"):
        frame.to_csv(path, index=False)
    elif name.endswith("jsonl"):
        frame.to_json(path, orient="records", lines=True)
    else:
        pytest.importorskip("pyarrow")
        frame.to_parquet(path)
    return path


# --- columns that are no systems -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        (
            XYZ.assign(text=TEXT),
            "'text' says a label of the truth (x, y, z) on 0 of 60 items, and 'Some",
        ),
        (XYZ.assign(text=["x", *TEXT[1:]]), "column 'text' says a label of the truth (x, y, z) on 1 of 60"),
        (XYZ.assign(a_prob=SCORES), "column 'a_prob' says a label of the truth (x, y, z) on 0 of 60 items"),
        (
            DIGITS.assign(row=range(N)),
            "'row' says a label of the truth (0, 1, 2, 3, 4, ...) on 10 of 60",
        ),
        (DIGITS.assign(a_prob=SCORES), "column 'a_prob' holds scores, such as 0.1, where the truth is 0, 1,"),
        (DIGITS.assign(a_prob=[0.93] + [1.0] * (N - 1)), "column 'a_prob' holds scores, such as 0.93"),
        (BINARY.assign(text=TEXT), "column 'text' says a label of the truth (0, 1) on 0 of 60 items"),
        (
            BINARY.assign(n=[2, 1] * (N // 2)),
            "'n' says '2', and the truth only 0 and 1; labels that the truth lacks, here on 30 of 60",
        ),
    ],
)
def test_a_column_that_is_no_system_is_refused(tmp_path, capsys, frame, said):
    path = written(tmp_path, frame)
    line = refusal(capsys, path)
    assert said in line
    assert line.endswith(REMEDY)
    found = read_predictions(path, systems=["a", "b"])
    assert list(found.systems) == ["a", "b"]


def test_a_system_that_now_and_then_says_no_label_is_one(tmp_path):
    frame = XYZ.assign(a=np.where(np.arange(N) % 3 == 0, "no answer", XYZ["a"]))
    assert list(read_predictions(written(tmp_path, frame)).systems) == ["a", "b"]


def test_a_named_system_may_say_anything_but_not_nothing_of_the_truth(tmp_path, capsys):
    rare = XYZ.assign(a=[*XYZ["y_true"][:2], *TEXT[2:]])
    found = as_outcomes(read_predictions(written(tmp_path, rare), systems=["a", "b"]), "error")
    assert (found.decisions["a"] * found.n_items).sum() == 2
    never = written(tmp_path, XYZ.assign(a=TEXT))
    assert "column 'a' says a label of the truth (x, y, z) on 0 of 60" in refusal(
        capsys, never, "systems=[a,b]"
    )


def test_two_truths_need_a_choice(tmp_path, capsys):
    frame = BINARY.rename(columns={"y_true": "label"}).assign(target=BINARY["y_true"])
    path = written(tmp_path, frame)
    line = refusal(capsys, path)
    assert "columns 'label' and 'target' have names of a truth; truth_column=COLUMN says which it is" in line
    assert list(read_predictions(path, truth="label").systems) == ["a", "b"]
    assert list(read_predictions(path, systems=["a", "b"]).systems) == ["a", "b"]
    assert list(read_predictions(path, systems=["a", "target"]).systems) == ["a", "target"]


def test_two_truths_of_several_categories_need_a_choice(tmp_path, capsys):
    long = BINARY.assign(id=np.arange(N) // 2, category=["c", "d"] * (N // 2), gold=BINARY["y_true"])
    path = written(tmp_path, long)
    assert "columns 'y_true' and 'gold' have names of a truth" in refusal(capsys, path)
    assert read_decisions(path, "long", "gold").systems == ["a", "b"]
    wide = pd.concat([BINARY.add_suffix(".c"), BINARY.add_suffix(".d")], axis=1)
    wide = wide.assign(**{"gold.c": BINARY["y_true"], "gold.d": BINARY["y_true"]})
    path = written(tmp_path, wide, "w.csv")
    assert "columns of 'y_true' and 'gold' have names of a truth" in refusal(capsys, path)
    assert read_decisions(path, "wide", "gold").systems == ["a", "b"]


def test_a_third_value_of_a_category_names_its_column(tmp_path, capsys):
    long = BINARY.assign(id=np.arange(N) // 2, category=["c", "d"] * (N // 2), text=TEXT)
    line = refusal(capsys, written(tmp_path, long))
    assert "column 'text' says Some words" in line
    assert "beside 0, 1; positive=LABEL names yes" in line
    line = refusal(capsys, written(tmp_path, long.drop(columns="text").assign(b=SCORES)))
    assert "column 'b' says 0.1, 0.2, 0.3, 0.4, 0.5 beside 0, 1;" in line


def test_text_is_refused_before_the_whole_file_is_read(tmp_path, capsys, monkeypatch):
    """Each row of text is another, so that keeping the distinct ones would keep the file."""
    monkeypatch.setattr(files, "CELLS_AT_ONCE", 8_000)
    for first in ("x", "item"):
        text = [first, *(f"item {i}" for i in range(1, 5_000))]
        path = written(tmp_path, labels(3, 5_000, names="xyz").assign(text=text))
        line = refusal(capsys, path)
        assert f"'text' says a label of the truth (x, y, z) on {int(first == 'x')} of 2,000 items" in line


def test_a_sorted_file_of_many_labels_is_read_to_its_end(tmp_path, monkeypatch):
    """Its first part knows few labels of the truth, and a system says others."""
    monkeypatch.setattr(files, "CELLS_AT_ONCE", 8_000)
    n, generator = 6_000, np.random.default_rng(1)
    y = np.arange(n) // 3
    said = {name: np.where(generator.random(n) < 0.9, generator.integers(2_000, size=n), y) for name in "ab"}
    frame = pd.DataFrame({"y_true": y, **said}).map("label {}".format)
    assert read_predictions(written(tmp_path, frame)).n_items.sum() == n


# --- rows longer than the header -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("p.csv", "y_true,a,b\n1,1,0,1\n0,1,0,1\n1,0,0,1\n", "line 2 has 4 fields where the header names 3"),
        ("p.csv", "y_true,a,b\n1,1,0,\n0,1,0,\n", "line 2 has 4 fields where the header names 3"),
        ("p.csv", "y_true,a,b\n\n1,1,0,0,1\n0,1,0,0,1\n", "line 3 has 5 fields where the header names 3"),
        ("p.tsv", "y_true\ta\tb\n7\t1\t1\t0\n8\t0\t1\t0\n", "line 2 has 4 fields where the header names 3"),
        ("p.csv", "id,category,y_true,a,b\n1,x,1,1,0,1\n1,y,0,1,0,1\n", "line 2 has 6 fields where"),
    ],
)
def test_rows_longer_than_the_header_are_refused(tmp_path, capsys, name, text, said):
    path = tmp_path / name
    path.write_text(text)
    line = refusal(capsys, path)
    assert f"predictions={path}: {said}" in line


# --- 0 and 1 however they are written --------------------------------------------------------------

CODINGS = {
    "floats": lambda frame: frame.astype(float),
    "bools": lambda frame: frame.astype(bool),
    "bools beside numbers": lambda frame: frame.assign(a=frame["a"].astype(bool)),
    "numbers beside bools": lambda frame: frame.assign(y_true=frame["y_true"].astype(bool)),
    "floats beside bools": lambda frame: frame.astype(float).assign(b=frame["b"].astype(bool)),
}


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("coding", CODINGS)
def test_zero_and_one_are_read_however_they_are_written(tmp_path, coding, ending):
    expected = harness.count_outcomes(*(BINARY[name] == 1 for name in BINARY))
    coded = CODINGS[coding](BINARY)
    np.testing.assert_array_equal(
        harness.compare_predictions(*(coded[name] for name in coded)).counts, expected
    )
    path = written(tmp_path, coded, f"p.{ending}")
    found = read_predictions(path)
    for positive in (None, True, 1, 1.0, "1"):
        np.testing.assert_array_equal(as_outcomes(found, "f1", positive).cells("a", "b"), expected)
    long = coded.assign(id=np.arange(N) // 2, category=["c", "d"] * (N // 2))
    decisions = read_decisions(written(tmp_path, long, f"long.{ending}"), "long")
    np.testing.assert_array_equal(decisions.said("a").ravel(), BINARY["a"] == 1)


def test_values_of_one_column_may_be_written_in_several_ways(tmp_path):
    path = tmp_path / "p.jsonl"
    rows = [(1, True, 0), (0, 1, 0.0), (True, 1.0, 1), (0.0, False, True)]
    path.write_text("".join(json.dumps(dict(zip(BINARY, row, strict=True))) + "\n" for row in rows))
    found = as_outcomes(read_predictions(path), "f1")
    np.testing.assert_array_equal(found.cells("a", "b"), [1, 0, 1, 0, 0, 1, 1, 0])


def test_true_is_no_1_where_the_truth_knows_more(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text("y_true,a,b\ntrue,1,True\n1,true,1.0\nParis,Paris,1\n")
    found = as_outcomes(read_predictions(path), "error")
    np.testing.assert_array_equal(found.cells("a", "b"), [0, 2, 1, 0, 0, 0, 0, 0])


def test_scores_of_few_values_need_a_threshold(tmp_path, capsys):
    path = written(tmp_path, BINARY.assign(b=SCORES))
    for column in ("b", "a"):
        line = refusal(capsys, written(tmp_path, BINARY.assign(**{column: SCORES})))
        assert (
            f"column '{column}' holds scores, such as 0.1, where the truth is 0, 1; threshold=NUMBER" in line
        )
    found = read_predictions(path, threshold=0.5)
    assert set(found.systems["b"]) == {"0", "1"}
    floats = written(tmp_path, BINARY.astype({"y_true": float}).assign(b=SCORES))
    said = as_outcomes(read_predictions(floats, threshold=0.5), "f1")
    np.testing.assert_array_equal(
        said.cells("a", "b"), harness.count_outcomes(BINARY["y_true"] == 1, BINARY["a"] == 1, SCORES >= 0.5)
    )
    words = written(tmp_path, BINARY.assign(y_true=np.where(BINARY["y_true"], "spam", "ham"), b=SCORES))
    assert "threshold: it turns scores into 1 and 0, and the truth in" in refusal(
        capsys, words, "threshold=0.5"
    )


def test_a_missing_value_in_a_long_table_names_the_row(tmp_path, capsys):
    path = tmp_path / "p.csv"
    path.write_text("id,category,y_true,a,b\n1,x,1,1,0\n1,y,0,1,0\n2,x,1,1,0\n2,y,0,,0\n")
    assert "row 4 has no value in column 'a'; every row needs" in refusal(capsys, path)


# --- from Python -----------------------------------------------------------------------------------

Y, A, B = [0, 1, 0, 1], [0, 1, 1, 1], [0, 0, 0, 1]


@pytest.mark.parametrize(
    ("arguments", "options", "said"),
    [
        (
            (list(XYZ["y_true"]), np.random.default_rng(0).random(N), list(XYZ["b"]), "error"),
            {},
            r"a: it says a label of the truth \(x, y, z\) on 0 of 60 items, and '0\.[0-9]+' on another",
        ),
        ((list(XYZ["y_true"]), list(XYZ["a"]), TEXT, "error"), {}, "b: it says a label of the truth"),
        ((Y, A, B), {"n_replicates": 0}, "^n_replicates: 0 is not allowed; a whole number of at least 1, or"),
        ((Y, A, B), {"n_replicates": 1.5}, r"^n_replicates: 1\.5 is not"),
        ((Y, A, B), {"n_replicates": True}, "^n_replicates: True is not"),
        ((Y, A, B), {"names": ("x", "x", "z")}, r"^names: \('x', 'x', 'z'\) is not allowed; two different"),
        ((Y, A, B), {"names": ("x", "x")}, r"^names: \('x', 'x'\) is not allowed"),
        ((Y, A, B), {"names": "xz"}, "^names: 'xz' is not allowed"),
        ((Y, A, B, ["f1"]), {}, r"^measure: \['f1'\] is not allowed; one of f1, error, precision"),
        ((Y, A, B, None), {}, "^measure: None is not allowed"),
        (
            (Y, ["0.0", "1.0", "1.0", "2.0"], B),
            {},
            "^a: it says '2', and the truth only 0 and 1; labels that",
        ),
    ],
)
def test_python_refuses_in_one_sentence(arguments, options, said):
    for function in (harness.compare_predictions, harness.advise_predictions):
        with pytest.raises(ValueError, match=said) as caught:
            function(*arguments, **options)
        assert "\n" not in str(caught.value)
