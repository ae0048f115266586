"""Tables of predictions: which columns are systems, what their values mean, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from advise_files import SETTINGS, read, refusal, with_text, written
from beside import beside

import harness
from harness.advise.files import read_outcomes
from harness.advise.files.categories import read_decisions
from harness.advise.files.columns import REMEDY, Reading
from harness.advise.files.predictions import as_outcomes, read_predictions
from harness.errors import UserError
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


def wide(frame):
    return pd.concat([frame.add_suffix(".c"), frame.add_suffix(".d")], axis=1)


XYZ, DIGITS, BINARY = labels(3, names="xyz"), labels(10), labels(2)
SCORES = np.round(np.linspace(0, 1, N), 1)
TEXT = [f"Some words, of item {i}" for i in range(N)]
GRADED = BINARY.drop(columns="y_true")
GOLD = BINARY.assign(gold=BINARY["y_true"])
TARGET = BINARY.rename(columns={"y_true": "label"}).assign(target=BINARY["y_true"])
CLUSTERED = BINARY.assign(passage=[f"p{i // 3}" for i in range(N)])
RUNS = BINARY.assign(id=np.arange(N) % 20, seed=np.arange(N) // 20, y_true=np.tile(BINARY["y_true"][:20], 3))
OF_RUNS = BINARY[["y_true"]].assign(**{f"a_{i}": BINARY["a"] for i in range(3)}, b_0=BINARY["b"], b_1=1)
COLUMNS = {"a": ["a_0", "a_1", "a_2"], "b": ["b_0", "b_1"]}
RATED = pd.DataFrame({"topic": list("xyz"), "a": [1.5, 2.0, 3.0], "b": [1.0, 2.5, 3.0]})
MODELS = pd.DataFrame({f"model_{x}": BINARY[x[0]] for x in ("a", "b", "a2", "b2", "a3")})
MANY = pd.DataFrame(np.eye(3, 201, dtype=int), columns=[f"s{i}" for i in range(201)])
FALSE_ALARMS = pd.DataFrame(
    {"y_true": [1] * 20 + [0] * 80, "a": [1] * 25 + [0] * 75, "b": [1] * 20 + [0] * 70 + [1] * 10}
)
SAME = "a and b say the same of every item"
MACRO = "average: 'macro' is only for several categories, and category="
TWO_TRUTHS = "have names of a truth"
SCORE, TWO = {"measure": "score"}, {"systems": ["a", "b"]}
SEED, PASSAGE = {"run": "seed"}, {"cluster": "passage"}
REFUSED = [
    *beside(__file__)["refused"],
    (BINARY, {"truth_column": "nothing"}, "there is no column 'nothing'"),
    (BINARY, {"systems": ["a", "zz"]}, "there is no column 'zz'"),
    (BINARY, {"positive": "maybe"}, "is no label of the truth"),
    (BINARY, {"category": "x"}, "has no column `category`"),
    (BINARY, {"task": "arc"}, "task: 'arc' is for a folder"),
    (FALSE_ALARMS, {"measure": "recall"}, f"{SAME} that counts for recall; there is nothing to test"),
    # columns that are no systems
    (XYZ.assign(text=TEXT), {}, "'text' says a label of the truth (x, y, z) on 0 of 60 items, and 'Some"),
    (XYZ.assign(text=["x", *TEXT[1:]]), {}, "column 'text' says a label of the truth (x, y, z) on 1 of 60"),
    (XYZ.assign(a=TEXT), TWO, "column 'a' says a label of the truth (x, y, z) on 0 of 60"),
    (DIGITS.assign(row=range(N)), {}, "'row' says a label of the truth (0, 1, 2, 3, 4, ...) on 10 of 60"),
    (DIGITS.assign(a_prob=SCORES), {}, "column 'a_prob' holds scores, such as 0.1, where the truth is 0, 1,"),
    (DIGITS.assign(a_prob=[0.93] + [1.0] * (N - 1)), {}, "column 'a_prob' holds scores, such as 0.93"),
    (BINARY.assign(text=TEXT), {}, "column 'text' says a label of the truth (0, 1) on 0 of 60 items"),
    (BINARY.assign(n=[2, 1] * (N // 2)), {},
     "'n' says '2', and the truth only 0 and 1; labels that the truth lacks, here on 30 of 60"),
    *((BINARY.assign(**{column: SCORES}), {},
       f"column '{column}' holds scores, such as 0.1, where the truth is 0, 1; threshold=NUMBER")
      for column in "ba"),
    (BINARY.assign(y_true=np.where(BINARY["y_true"], "spam", "ham"), b=SCORES), {"threshold": 0.5},
     "threshold: it turns scores into 1 and 0, and the truth in"),
    (TARGET, {}, f"columns 'label' and 'target' {TWO_TRUTHS}; truth_column=COLUMN says which it is"),
    # several categories
    (long(GOLD), {}, f"columns 'y_true' and 'gold' {TWO_TRUTHS}"),
    (wide(GOLD), {}, f"columns of 'y_true' and 'gold' {TWO_TRUTHS}"),
    (long(BINARY.assign(text=TEXT)), {}, "column 'text' says Some words"),
    (long(BINARY.assign(text=TEXT)), {}, "beside 0, 1; positive=LABEL names yes"),
    (long(BINARY.assign(b=SCORES)), {}, "column 'b' says 0.1, 0.2, 0.3, 0.4, 0.5 beside 0, 1;"),
    (long(BINARY), {"category": "zz"}, "category: 'zz' is none of the file's"),
    (long(BINARY), {"category_column": "kind"}, "there is no column 'kind'"),
    (long(BINARY), {"task": "arc"}, "task: 'arc' is for a folder"),
    (long(BINARY), {"average": "macro", "category": "c"}, f"{MACRO}c takes one of them alone"),
    (pd.concat([FALSE_ALARMS.assign(id=range(100), category=name) for name in "xy"]), {"measure": "recall"},
     f"{SAME} that counts for recall; there is nothing to test"),
    (BINARY, {"average": "macro", "measure": "error"}, "not for measure=error or positive=LABEL"),
    (BINARY, {"average": "macro", "positive": "1"}, "each the positive one in turn"),
    (BINARY, {"average": "macro", "category": "1"}, f"{MACRO}1 takes one of them alone"),
    (BINARY, {"category": "1", "positive": "1"}, "positive: '1' is named beside a category"),
    (GRADED, {"average": "macro"}, "needs a column of the truth"),
    # clusters
    (CLUSTERED, {"cluster": "pasage"}, "did you mean passage?"),
    (CLUSTERED, {"cluster": "y_true"}, "is read as the truth, a system"),
    (CLUSTERED, TWO | {"cluster": "a"}, "is read as the truth, a system"),
    (CLUSTERED.assign(passage="one"), PASSAGE, "puts every item into one cluster, 'one'"),
    (CLUSTERED.assign(passage=range(N)), PASSAGE,
     "gives each of the 60 items a cluster of its own; leave it out"),
    (CLUSTERED.assign(passage=[None, *CLUSTERED["passage"][1:]]), PASSAGE,
     "item 1 has no value in column 'passage'"),
    (pd.concat([CLUSTERED.assign(id=range(N), category=c, passage=c) for c in "xy"]), PASSAGE,
     "an item has one cluster"),
    # runs
    (RUNS, {"run": "sed"}, "did you mean seed?"),
    (RUNS.assign(seed=1), SEED, "column 'seed' has one value, '1'; the seed is then part of the result"),
    (RUNS.assign(seed=range(N)), SEED, "another value in each of the 60 rows; a run is on every item"),
    (RUNS.assign(seed=[None, *RUNS["seed"][1:]]), SEED, "row 1 has no value in column 'seed'"),
    (RUNS[1:], SEED, "has no row in run"),
    (pd.concat([RUNS, RUNS[:1]]), SEED, "has 2 rows in run"),
    (RUNS.drop(columns="id"), SEED, "needs a column of the item"),
    (RUNS.assign(y_true=[1 - RUNS["y_true"][0], *RUNS["y_true"][1:]]), SEED, "an item has one truth"),
    (RUNS.assign(category="x"), SEED, "runs on several categories are not had"),
    (OF_RUNS, {"runs": {"a": ["a_0"], "b": ["b_0"]}},
     "each system has one run; the seed is then part of the result"),
    (OF_RUNS, {"runs": {"a": ["a_0", "a_0"], "b": ["b_0"]}}, "'a_0' is named twice"),
    (OF_RUNS, {"runs": {"a": ["a_0", "a_1"]}}, "a alone; two systems or more are needed"),
    (OF_RUNS, {"runs": {"a": ["a_0", "a_9"], "b": ["b_0"]}}, "there is no column 'a_9'"),
    *((OF_RUNS, {"runs": COLUMNS} | more, words) for more, words in (
        ({"paired_runs": True}, "3 of a, 2 of b; runs that belong together"),
        ({"cluster": "id"}, "cluster: 'id' cannot be had with runs"),
        ({"category": "x"}, "category: 'x' cannot be had with runs"),
        ({"average": "macro"}, "average: 'macro'"),
        ({"run": "id"}, "run: 'id' says what runs says already"),
    )),
    (OF_RUNS, {"paired_runs": True}, "paired_runs: it needs run=COLUMN"),
    # scores
    (RATED, SCORE, "column 'topic' holds 'x'; a score is a finite number"),
    (RATED.assign(b=[1, 2, np.inf]), SCORE | TWO, "holds 'inf'"),
    (RATED.assign(b=[1, None, 3]), SCORE | TWO, "item 2 has no value in column 'b'"),
    *((RATED, SCORE | given, next(iter(given)))
      for given in ({"positive": 1}, {"threshold": 0.5}, {"category": "x"}, {"average": "macro"})),
    # many systems
    (MODELS, {"baseline": "model-b"}, "baseline: 'model-b' is no system; did you mean model_b"),
    (MODELS, {"baseline": "x"}, "baseline: 'x' is no system; choose one of"),
    *((MANY, given, "it has 201 systems; at most 200 are allowed, which systems=[NAME,NAME] chooses")
      for given in ({}, SCORE)),
]  # fmt: skip


@pytest.mark.parametrize(("table", "given", "words"), REFUSED)
def test_what_does_not_fit_is_one_sentence(tmp_path, table, given, words):
    assert words in refusal((with_text if isinstance(table, str) else written)(tmp_path, table), **given)


def test_files_that_are_none_and_more_than_memory_has_room_for(tmp_path, monkeypatch):
    assert "there is no such file" in refusal(tmp_path / "no.csv")
    assert "ending is not known" in refusal(with_text(tmp_path, "", "x.pkl"))
    assert len(read_outcomes(written(tmp_path, MANY.iloc[:, :200]), SETTINGS)[0].systems) == 200
    monkeypatch.setattr("harness.advise.documents.MOST_CELLS", 1)
    path = written(tmp_path, long(BINARY))
    assert "category=NAME for one of the categories" in refusal(path, average="macro")


# --- systems ---------------------------------------------------------------------------------------


def test_a_refused_column_is_remedied_by_naming_the_systems(tmp_path):
    path = written(tmp_path, XYZ.assign(text=TEXT, a_prob=SCORES))
    assert refusal(path).endswith(REMEDY)
    assert list(read_predictions(path, systems=["a", "b"]).systems) == ["a", "b"]


def test_a_system_may_say_no_label_now_and_then_and_a_named_one_nearly_always(tmp_path):
    seldom = XYZ.assign(a=np.where(np.arange(N) % 3 == 0, "no answer", XYZ["a"]))
    assert read(written(tmp_path, seldom))[0].systems == ["a", "b"]
    rare = XYZ.assign(a=[*XYZ["y_true"][:2], *TEXT[2:]])
    found, _ = read(written(tmp_path, rare), systems=["a", "b"])
    assert (found.decisions["a"] * found.n_items).sum() == 2


def test_of_two_truths_one_is_chosen(tmp_path):
    path = written(tmp_path, TARGET)
    for given, systems in (
        ({"truth": "label"}, ["a", "b"]), ({"systems": ["a", "b"]}, ["a", "b"]),
        ({"systems": ["a", "target"]}, ["a", "target"]),
    ):  # fmt: skip
        assert list(read_predictions(path, **given).systems) == systems
    for form in (long, wide):
        path = written(tmp_path, form(GOLD))
        assert read_decisions(path, form.__name__, Reading("gold")).systems == ["a", "b"]


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


# --- labels ----------------------------------------------------------------------------------------

CODINGS = {
    "floats": {name: float for name in BINARY},
    "bools beside numbers": {"a": bool},
    "floats beside bools": {"y_true": float, "a": float, "b": bool},
}


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("coding", CODINGS)
def test_zero_and_one_are_read_however_they_are_written(tmp_path, coding, ending):
    expected = harness.count_outcomes(*(BINARY[name] == 1 for name in BINARY))
    coded = BINARY.astype(CODINGS[coding])
    found = read_predictions(written(tmp_path, coded, f"p.{ending}"))
    for positive in (None, True, 1, 1.0, "1"):
        np.testing.assert_array_equal(as_outcomes(found, "f1", positive).cells("a", "b"), expected)
    decisions = read_decisions(written(tmp_path, long(coded), f"long.{ending}"), "long")
    np.testing.assert_array_equal(decisions.said("a").ravel(), BINARY["a"] == 1)


READ = [
    # 1 and true in several ways in one column, and true is no 1 where the truth knows more
    ("p.jsonl", '{"y_true":1,"a":true,"b":0}\n{"y_true":0,"a":1,"b":0.0}\n{"y_true":true,"a":1.0,"b":1}\n'
     '{"y_true":0.0,"a":false,"b":true}\n', {"measure": "f1"}, [1, 0, 1, 0, 0, 1, 1, 0]),
    ("p.csv", "y_true,a,b\ntrue,1,True\n1,true,1.0\nParis,Paris,1\n", {"measure": "error"},
     [0, 2, 1, 0, 0, 0, 0, 0]),
    # labels are text
    ("p.csv", "gold,s,t\n01,01,1\n1,01,1\n01,1,01\n", {"positive": "01"}, [0, 1, 1, 0, 0, 0, 1, 0]),
    # many are judged by right and wrong
    ("p.csv", "label,s,t\nx,x,x\ny,y,x\nz,x,z\nz,z,z\n", {"measure": "error"}, [2, 1, 1, 0, 0, 0, 0, 0]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "given", "cells"), READ)
def test_what_labels_mean(tmp_path, name, text, given, cells):
    path = with_text(tmp_path, text, name)
    found, _ = read(path, **given)
    assert found.cells(*found.systems).tolist() == cells
    if given == {"measure": "error"}:
        with pytest.raises(UserError, match="which label is positive is not plain"):
            as_outcomes(read_predictions(path), "f1")


def test_a_threshold_turns_scores_into_decisions(tmp_path):
    expected = harness.count_outcomes(BINARY["y_true"] == 1, BINARY["a"] == 1, SCORES >= 0.5)
    for kind in (int, float):
        path = written(tmp_path, BINARY.astype({"y_true": kind}).assign(b=SCORES))
        np.testing.assert_array_equal(read(path, threshold=0.5)[0].cells("a", "b"), expected)
