"""`harness advise` on a folder of lm-evaluation-harness logs."""

import json

import pytest
from advise_files import read, read_logs, refusal

from harness.errors import UserError

TIME = "2024-06-10T12-34-56.789012"


def line(item, **scores):
    """An item as `EvaluationTracker.save_results_samples` of lm-evaluation-harness 0.4 writes it."""
    metrics = {key: value for key, value in scores.items() if key not in ("filter", "doc_hash")}
    return {
        "doc_id": item, "doc": {"question": f"question {item}", "choices": ["a", "b"]}, "target": "1",
        "arguments": {"gen_args_0": {"arg_0": "prompt", "arg_1": " a"}}, "resps": [[["-1.5", "False"]]],
        "filtered_resps": [["-1.5", "False"]], "filter": scores.get("filter", "none"),
        "metrics": list(metrics), "doc_hash": scores.get("doc_hash", f"hash {item}"), "prompt_hash": "p",
    } | metrics  # fmt: skip


def write(path, lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(one) + "\n" for one in lines))


def logs(folder, right, task="arc_easy", time=TIME):
    for model, scores in right.items():
        lines = [line(i, acc=float(score)) for i, score in enumerate(scores)]
        write(folder / model / f"samples_{task}_{time}.jsonl", lines)


RIGHT = {"org__small": [1, 0, 0, 1, 0], "org__large": [1, 1, 0, 1, 1]}


def test_the_cells_are_those_of_right_and_wrong(tmp_path):
    logs(tmp_path, RIGHT)
    found = read_logs(tmp_path)
    assert list(found.decisions) == ["org__large", "org__small"]
    # both right, only the second right, only the first right, both wrong
    assert found.cells("org__small", "org__large").tolist() == [2, 2, 0, 1, 0, 0, 0, 0]
    assert found.about == "task arc_easy, metric acc, filter none, right or wrong"


def test_logs_of_one_folder_are_named_by_their_files(tmp_path):
    for name, scores in (("a", [1, 0]), ("b", [0, 1])):
        write(tmp_path / f"samples_{name}.jsonl", [line(i, acc=s) for i, s in enumerate(scores)])
    with pytest.raises(UserError, match="its logs are of 2 tasks"):
        read_logs(tmp_path)
    for place in ("1", "2"):
        write(tmp_path / f"samples_arc_2024-06-10T12-34-5{place}.5.jsonl", [line(0, acc=1)])
    assert list(read_logs(tmp_path, "arc").decisions) == [
        "arc_2024-06-10T12-34-51.5", "arc_2024-06-10T12-34-52.5",
    ]  # fmt: skip


def test_a_task_metric_and_filter_are_chosen(tmp_path):
    for model in ("a", "b"):
        lines = [
            line(i, filter=name, exact_match=float((i + (model == "a") + (name == "strict")) % 2), other=1)
            for i in range(4)
            for name in ("strict", "flexible")
        ]
        write(tmp_path / model / f"samples_gsm8k_{TIME}.jsonl", lines)
    logs(tmp_path, {"a": [1, 0], "b": [1, 1]})
    for options, words in (
        ({}, "its logs are of 2 tasks; task=NAME, or =GROUP, chooses one of arc_easy, gsm8k"),
        ({"task": "mmlu"}, "there is no log of 'mmlu'"),
        ({"task": "gsm8k"}, "2 filters; filter=NAME chooses one of flexible, strict"),
        ({"task": "gsm8k", "filter_": "none"}, "there is no 'none'"),
        ({"task": "gsm8k", "filter_": "strict"}, "2 scores; metric=NAME chooses one of exact_match, other"),
        ({"task": "gsm8k", "filter_": "strict", "metric": "acc"}, "there is no 'acc'"),
        ({"task": "arc_easy", "systems": ["a", "c"]}, "there is no model 'c'"),
    ):
        with pytest.raises(UserError, match=words):
            read_logs(tmp_path, **options)
    found = read_logs(tmp_path, "gsm8k", "exact_match", "strict")
    assert found.cells("a", "b").tolist() == [0, 2, 2, 0, 0, 0, 0, 0]
    assert found.about == "task gsm8k, metric exact_match, filter strict, right or wrong"


ONE = [line(0, acc=1)]


@pytest.mark.parametrize(
    ("models", "words"),
    [
        ({}, "it holds no log"),
        ({"a": ONE}, "only a has a log"),
        ({"a": ONE * 2, "b": ONE}, "doc_id 0 stands there twice"),
        (
            {"a": ONE, "b": [line(i, acc=1) for i in (0, 1)]},
            "a has 1 items and b 2, and doc_id 1 is in the log",
        ),
        ({"a": ONE, "b": [line(0, acc=1, doc_hash="x")]}, "doc_id 0 is another document for b than for a"),
        ({"a": [line(0, acc=0.5)], "b": ONE}, "a has acc=0.5 on doc_id 0; only 0 and 1"),
        ({"a": [line(0, acc=float("nan"))], "b": ONE}, "acc=NaN"),
        ({"a": [line(0, acc=[1, 2])], "b": ONE}, "no score that is a number"),
        ({"a": ONE, "b": [line(0, acc=None)]}, "acc=null"),
        ({"a": [{"acc": 1}], "b": ONE}, "line 1 has no doc_id"),
        ({"a": [], "b": ONE}, "it holds no item"),
    ],
)
def test_what_does_not_fit_is_one_sentence(tmp_path, models, words):
    for model, lines in models.items():
        write(tmp_path / model / f"samples_arc_{TIME}.jsonl", lines)
    assert words in refusal(tmp_path)


def test_what_is_no_json_is_one_sentence(tmp_path):
    for model in "ab":
        write(tmp_path / model / "samples_x.jsonl", ONE)
    (tmp_path / "a" / "samples_x.jsonl").write_text("not json\n")
    assert "line 1 is not JSON" in refusal(tmp_path)


def without(item, score, *keys, **changed):
    return [{key: value for key, value in (line(item, acc=score) | changed).items() if key not in keys}]


HASH, ALL = "doc_hash", ("doc_hash", "doc", "target")
ANOTHER = {"doc": {"question": "another"}}


@pytest.mark.parametrize(
    ("a", "b", "words"),
    [
        (without(0, 1, HASH), without(0, 0, HASH, **ANOTHER), "(doc)"),
        (without(0, 1, HASH), without(0, 0, HASH, target="2"), "(target)"),
        (ONE, without(0, 0, HASH, **ANOTHER), "(doc)"),
        (ONE, without(0, 0, HASH, "doc", target="2"), "(target)"),
        (ONE, without(0, 0, HASH, doc=dict(reversed(line(0)["doc"].items()))), "right or wrong"),
        (ONE, without(0, 0, *ALL), "(nothing in the logs shows that their documents are the same)"),
    ],
)
def test_documents_are_compared_where_a_log_has_no_hash_of_them(tmp_path, a, b, words):
    for model, lines in (("a", a), ("b", b)):
        write(tmp_path / model / f"samples_arc_{TIME}.jsonl", lines)
    if words in ("(doc)", "(target)"):
        assert f"doc_id 0 is another document for b than for a {words}" in refusal(tmp_path)
    else:
        assert read_logs(tmp_path).about.endswith(words)


GROUPS = {"mmlu": ["mmlu_stem", "mmlu_law"], "mmlu_stem": ["mmlu_algebra"], "mmlu_law": []}


@pytest.mark.parametrize("form", ["by results", "by names", "one folder", "old names"])
def test_the_documents_of_a_group_of_tasks_count_alike(tmp_path, form):
    right = {"a": {"algebra": [1, 0], "law": [1, 1, 0]}, "b": {"algebra": [0, 0], "law": [1, 0, 1]}}
    for model, tasks in right.items():
        for task, scores in tasks.items():
            path = tmp_path / model / f"samples_mmlu_{task}_2025-01-02T03-04-05.6.jsonl"
            if form == "one folder":
                path = tmp_path / f"samples_mmlu_{task}_2025-01-02T03-04-05.{ord(model)}.jsonl"
            elif form == "old names":
                path = tmp_path / f"{model}_mmlu_{task}.jsonl"
            write(path, [line(i, acc=float(score)) for i, score in enumerate(scores)])
        if form == "by results":
            write(tmp_path / model / "samples_mmlu_pro_2025-01-02T03-04-05.6.jsonl", ONE)
            (tmp_path / model / "results_1.json").write_text(json.dumps({"group_subtasks": GROUPS}))
    found = read_logs(tmp_path, "mmlu")
    assert found.cells(*found.systems).tolist() == [1, 1, 2, 1, 0, 0, 0, 0]
    assert found.about.startswith("group mmlu, each document of its 2 tasks alike, metric acc")
    named = ("task=mmlu takes all tasks whose names begin so: mmlu_algebra, mmlu_law",)
    assert found.warnings == (() if form == "by results" else named)
    if form == "by results":
        (tmp_path / "b" / "samples_mmlu_law_2025-01-02T03-04-05.6.jsonl").unlink()
        assert "a has 5 items and b 2, and doc_id mmlu_law/0 is in the log of a but not of b" in refusal(
            tmp_path, task="mmlu"
        )
        (tmp_path / "a" / "samples_mmlu_law_2025-01-02T03-04-05.6.jsonl").unlink()
        words = "by results*.json the group mmlu has 2 tasks, but there is no log of mmlu_law; all are needed"
        assert words in refusal(tmp_path, task="mmlu")


@pytest.mark.parametrize(
    "said", ["mmlu", ["mmlu"], {"mmlu": "mmlu_law"}, {"mmlu": [["mmlu_law"]]}, {"mmlu": 3}]
)
def test_damaged_groups_are_a_sentence(tmp_path, said):
    logs(tmp_path, RIGHT, task="mmlu_law")
    (tmp_path / "org__small" / "results_1.json").write_text(json.dumps({"group_subtasks": said}))
    words = "results_1.json: group_subtasks is damaged; for each group a list of names of tasks is needed"
    assert words in refusal(tmp_path, task="mmlu")


def test_two_runs_of_one_model_are_refused(tmp_path):
    logs(tmp_path, RIGHT)
    logs(tmp_path, {"org__small": [1, 0, 0, 1, 0]}, time="2024-06-11T12-34-56.7")
    with pytest.raises(UserError, match="are both of model org__small"):
        read_logs(tmp_path)


def test_models_of_one_name_keep_what_stands_above(tmp_path):
    logs(tmp_path, {"x/model": [1, 0], "y/model": [0, 1]})
    assert list(read_logs(tmp_path).decisions) == ["x/model", "y/model"]


def test_pairs_of_logs_and_settings_that_do_not_fit(tmp_path):
    logs(tmp_path, {"m-0": [1, 0, 0, 1], "m-1": [1, 1, 0, 1], "m-2": [0, 1, 1, 1]})
    outcomes, pairs = read(tmp_path)
    assert [pair.name for pair in pairs] == ["m-0 vs m-1", "m-0 vs m-2", "m-1 vs m-2"]
    assert {pair.measure for pair in pairs} == {"error"}
    for asked, words in (
        ({"measure": "f1"}, "say right or wrong; take error, which is 1 - accuracy, or score"),
        ({"threshold": 0.5}, "threshold: 0.5 is for a table of predictions"),
        ({"filter": "strict"}, "filter: there is no 'strict'"),
        ({"average": "macro"}, f"only for several categories, and {tmp_path} is a folder of logs"),
    ):
        assert words in refusal(tmp_path, **asked)
