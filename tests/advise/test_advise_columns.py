"""Which columns are systems, and what their values mean, to `harness advise` and from Python."""

import numpy as np
import pandas as pd
import pytest
from advise_files import read, refusal, with_text, written

import harness
from harness.advise.files.categories import read_decisions
from harness.advise.files.columns import REMEDY, Reading
from harness.advise.files.predictions import as_outcomes, read_predictions
from harness.tables import files

N = 60


def labels(n_labels, n=N, names=None):
    """Return a truth and two systems that err on a fifth and a third of the items."""
    generator = np.random.default_rng(0)
    y = generator.integers(n_labels, size=n)
    table = {"y_true": y}
    for name, error in (("a", 0.2), ("b", 0.33)):
        table[name] = np.where(generator.random(n) < error, (y + 1) % n_labels, y)
    frame = pd.DataFrame(table)
    return frame if names is None else frame.map(lambda code: names[code])


def long(frame):
    return frame.assign(id=np.arange(N) // 2, category=["c", "d"] * (N // 2))


XYZ = labels(3, names="xyz")
DIGITS = labels(10)
BINARY = labels(2)
SCORES = np.round(np.linspace(0, 1, N), 1)
TEXT = [f"Some words, of item {i}" for i in range(N)]


# --- columns that are no systems -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        (XYZ.assign(text=TEXT), "'text' says a label of the truth (x, y, z) on 0 of 60 items, and 'Some"),
        (XYZ.assign(text=["x", *TEXT[1:]]), "column 'text' says a label of the truth (x, y, z) on 1 of 60"),
        (XYZ.assign(a_prob=SCORES), "column 'a_prob' says a label of the truth (x, y, z) on 0 of 60 items"),
        (DIGITS.assign(row=range(N)), "'row' says a label of the truth (0, 1, 2, 3, 4, ...) on 10 of 60"),
        (DIGITS.assign(a_prob=SCORES), "column 'a_prob' holds scores, such as 0.1, where the truth is 0, 1,"),
        (DIGITS.assign(a_prob=[0.93] + [1.0] * (N - 1)), "column 'a_prob' holds scores, such as 0.93"),
        (BINARY.assign(text=TEXT), "column 'text' says a label of the truth (0, 1) on 0 of 60 items"),
        (
            BINARY.assign(n=[2, 1] * (N // 2)),
            "'n' says '2', and the truth only 0 and 1; labels that the truth lacks, here on 30 of 60",
        ),
    ],
)
def test_a_column_that_is_no_system_is_refused(tmp_path, frame, said):
    path = written(tmp_path, frame)
    line = refusal(path)
    assert said in line
    assert line.endswith(REMEDY)
    assert list(read_predictions(path, systems=["a", "b"]).systems) == ["a", "b"]


def test_a_system_may_say_no_label_now_and_then_and_a_named_one_nearly_always(tmp_path):
    seldom = XYZ.assign(a=np.where(np.arange(N) % 3 == 0, "no answer", XYZ["a"]))
    assert read(written(tmp_path, seldom))[0].systems == ["a", "b"]
    rare = XYZ.assign(a=[*XYZ["y_true"][:2], *TEXT[2:]])
    found, _ = read(written(tmp_path, rare), systems=["a", "b"])
    assert (found.decisions["a"] * found.n_items).sum() == 2
    line = refusal(written(tmp_path, XYZ.assign(a=TEXT)), systems=["a", "b"])
    assert "column 'a' says a label of the truth (x, y, z) on 0 of 60" in line


def test_two_truths_need_a_choice(tmp_path):
    frame = BINARY.rename(columns={"y_true": "label"}).assign(target=BINARY["y_true"])
    path = written(tmp_path, frame)
    line = refusal(path)
    assert "columns 'label' and 'target' have names of a truth; truth_column=COLUMN says which it is" in line
    for given, systems in (
        ({"truth": "label"}, ["a", "b"]),
        ({"systems": ["a", "b"]}, ["a", "b"]),
        ({"systems": ["a", "target"]}, ["a", "target"]),
    ):
        assert list(read_predictions(path, **given).systems) == systems


def test_two_truths_of_several_categories_need_a_choice(tmp_path):
    path = written(tmp_path, long(BINARY.assign(gold=BINARY["y_true"])))
    assert "columns 'y_true' and 'gold' have names of a truth" in refusal(path)
    assert read_decisions(path, "long", Reading("gold")).systems == ["a", "b"]
    wide = BINARY.assign(gold=BINARY["y_true"])
    path = written(tmp_path, pd.concat([wide.add_suffix(".c"), wide.add_suffix(".d")], axis=1))
    assert "columns of 'y_true' and 'gold' have names of a truth" in refusal(path)
    assert read_decisions(path, "wide", Reading("gold")).systems == ["a", "b"]


def test_a_third_value_of_a_category_names_its_column(tmp_path):
    line = refusal(written(tmp_path, long(BINARY.assign(text=TEXT))))
    assert "column 'text' says Some words" in line
    assert "beside 0, 1; positive=LABEL names yes" in line
    line = refusal(written(tmp_path, long(BINARY.assign(b=SCORES))))
    assert "column 'b' says 0.1, 0.2, 0.3, 0.4, 0.5 beside 0, 1;" in line


@pytest.mark.parametrize("first", ["x", "item"])
def test_text_is_refused_before_the_whole_file_is_read(tmp_path, monkeypatch, first):
    """Each row of text is another, so that keeping the distinct ones would keep the file."""
    monkeypatch.setattr(files, "CELLS_AT_ONCE", 8_000)
    text = [first, *(f"item {i}" for i in range(1, 5_000))]
    line = refusal(written(tmp_path, labels(3, 5_000, "xyz").assign(text=text)))
    assert f"'text' says a label of the truth (x, y, z) on {int(first == 'x')} of 2,000 items" in line


def test_a_sorted_file_of_many_labels_is_read_to_its_end(tmp_path, monkeypatch):
    """Its first part knows few labels of the truth, and a system says others."""
    monkeypatch.setattr(files, "CELLS_AT_ONCE", 8_000)
    n, generator = 6_000, np.random.default_rng(1)
    y = np.arange(n) // 3
    said = {name: np.where(generator.random(n) < 0.9, generator.integers(2_000, size=n), y) for name in "ab"}
    frame = pd.DataFrame({"y_true": y, **said}).map("label {}".format)
    assert read_predictions(written(tmp_path, frame)).n_items.sum() == n


# --- 0 and 1 however they are written --------------------------------------------------------------

CODINGS = {
    "floats": {name: float for name in BINARY},
    "bools": {name: bool for name in BINARY},
    "bools beside numbers": {"a": bool},
    "numbers beside bools": {"y_true": bool},
    "floats beside bools": {"y_true": float, "a": float, "b": bool},
}


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("coding", CODINGS)
def test_zero_and_one_are_read_however_they_are_written(tmp_path, coding, ending):
    expected = harness.count_outcomes(*(BINARY[name] == 1 for name in BINARY))
    coded = BINARY.astype(CODINGS[coding])
    compared = harness.compare_predictions(*(coded[name] for name in coded))
    np.testing.assert_array_equal(compared.counts, expected)
    found = read_predictions(written(tmp_path, coded, f"p.{ending}"))
    for positive in (None, True, 1, 1.0, "1"):
        np.testing.assert_array_equal(as_outcomes(found, "f1", positive).cells("a", "b"), expected)
    decisions = read_decisions(written(tmp_path, long(coded), f"long.{ending}"), "long")
    np.testing.assert_array_equal(decisions.said("a").ravel(), BINARY["a"] == 1)


@pytest.mark.parametrize(
    ("name", "text", "measure", "cells"),
    [
        (  # in several ways in one column
            "p.jsonl", '{"y_true":1,"a":true,"b":0}\n{"y_true":0,"a":1,"b":0.0}\n'
            '{"y_true":true,"a":1.0,"b":1}\n{"y_true":0.0,"a":false,"b":true}\n',
            "f1", [1, 0, 1, 0, 0, 1, 1, 0],
        ),
        (  # true is no 1 where the truth knows more
            "p.csv", "y_true,a,b\ntrue,1,True\n1,true,1.0\nParis,Paris,1\n", "error",
            [0, 2, 1, 0, 0, 0, 0, 0],
        ),
    ],
)  # fmt: skip
def test_what_true_and_1_mean(tmp_path, name, text, measure, cells):
    found, _ = read(with_text(tmp_path, text, name), measure=measure)
    np.testing.assert_array_equal(found.cells("a", "b"), cells)


def test_scores_of_few_values_need_a_threshold(tmp_path):
    for column in "ba":
        line = refusal(written(tmp_path, BINARY.assign(**{column: SCORES})))
        says = f"column '{column}' holds scores, such as 0.1, where the truth is 0, 1; threshold=NUMBER"
        assert says in line
    expected = harness.count_outcomes(BINARY["y_true"] == 1, BINARY["a"] == 1, SCORES >= 0.5)
    for kind in (int, float):
        path = written(tmp_path, BINARY.astype({"y_true": kind}).assign(b=SCORES))
        np.testing.assert_array_equal(read(path, threshold=0.5)[0].cells("a", "b"), expected)
    words = BINARY.assign(y_true=np.where(BINARY["y_true"], "spam", "ham"), b=SCORES)
    line = refusal(written(tmp_path, words), threshold=0.5)
    assert "threshold: it turns scores into 1 and 0, and the truth in" in line


# --- from Python -----------------------------------------------------------------------------------

Y, A, B = GOOD = [0, 1, 0, 1], [0, 1, 1, 1], [0, 0, 0, 1]
XY, XA, XB = (list(XYZ[name]) for name in XYZ)
NOISE = np.random.default_rng(0).random(N)


@pytest.mark.parametrize(
    ("arguments", "options", "said"),
    [
        (
            (XY, NOISE, XB, "error"),
            {},
            r"a: it says a label of the truth \(x, y, z\) on 0 of 60 items",
        ),
        ((XY, XA, TEXT, "error"), {}, "b: it says a label of the truth"),
        (
            (Y, ["0.0", "1.0", "1.0", "2.0"], B),
            {},
            "^a: it says .2., and the truth only 0 and 1;",
        ),
    ],
)
def test_python_refuses_in_one_sentence(arguments, options, said):
    for function in (harness.compare_predictions, harness.advise_predictions):
        with pytest.raises(ValueError, match=said) as caught:
            function(*arguments, **options)
        assert "\n" not in str(caught.value)
