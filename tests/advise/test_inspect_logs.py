"""`harness advise` on a folder of logs of Inspect, as inspect_ai 0.3.285 writes them with mockllm/model."""

import json
import zipfile

import pytest
from advise_files import read_logs, refusal

from harness.corpora import opening


def sample(name, scores, epoch=1, **more):
    values = {scorer: {"value": value, "answer": "yes", "history": []} for scorer, value in scores.items()}
    asked = {"id": name, "epoch": epoch, "input": f"question {name}", "target": "yes"}
    return asked | {"scores": values, "metadata": {}, "events": []} | more


def of(values, **more):
    return [sample(name, {"match": value}, **more) for name, value in enumerate(values, 1)]


def header(model, task="tiny", status="success"):
    said = {"model": model, "task": task, "dataset": {"name": "tiny"}, "config": {"epochs": 1}}
    return {"version": 2, "status": status, "eval": said, "plan": {}, "results": {}, "stats": {}}


def write(folder, model, samples, form="json", name=None, packing=zipfile.ZIP_DEFLATED, **more):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"2025-01-02T03-04-05-00-00_tiny_{name or model.replace('/', '-')}.{form}"
    if form == "json":
        path.write_text(json.dumps({**header(model, **more), "samples": samples, "reductions": []}, indent=2))
        return path
    with zipfile.ZipFile(path, "w", packing) as archive:
        for one in samples:
            archive.writestr(f"samples/{one['id']}_epoch_{one['epoch']}.json", json.dumps(one))
        kept = [{key: value for key, value in one.items() if key != "events"} for one in samples]
        archive.writestr("summaries.json", json.dumps(kept))
        archive.writestr("header.json", json.dumps(header(model, **more)))
    return path


@pytest.mark.parametrize("forms", [("json", "json"), ("eval", "eval"), ("json", "eval")])
@pytest.mark.parametrize(
    "values",
    [("C", "I", "N"), (1, 0, 0.0), (True, False, False), ("yes", "No", "0"), ("True", "false", "0")],
)
def test_right_and_wrong_however_they_are_written(tmp_path, forms, values):
    right, wrong, none = values
    write(tmp_path, "org/a", of([right, right, wrong, right]), forms[0])
    write(tmp_path, "org/b", of([right, wrong, right, none]), forms[1])
    write(tmp_path, "org/a", of([wrong] * 9), forms[0], name="early", status="error")
    (tmp_path / "listing.json").write_text("{}")
    found = read_logs(tmp_path)
    assert found.cells("org/a", "org/b").tolist() == [1, 1, 2, 0, 0, 0, 0, 0]
    assert found.about == "task tiny, scorer match, right or wrong"
    assert len(found.notes) == 1
    assert "logs that did not end well are left out: " in found.notes[0]


def test_several_epochs_are_averaged_and_other_scores_compared_as_scores(tmp_path):
    tried = {"a": (["C", "P", "I"], ["C", "I", "N"]), "b": (["I", "C", "P"],)}
    for model, epochs in tried.items():
        write(tmp_path, model, [one for i, own in enumerate(epochs, 1) for one in of(own, epoch=i)], "eval")
    assert "items were tried in up to 2 epochs; measure=score compares their means" in refusal(tmp_path)
    found = read_logs(tmp_path, measure="score")
    assert {name: own.tolist() for name, own in found.scores.items()} == {"a": [1, 0.25, 0], "b": [0, 1, 0.5]}
    assert found.warnings == ("an item's score is its mean over up to 2 epochs; items are what is drawn",)
    write(tmp_path, "a", of(["C", "P", "I"]), "eval")
    assert "a has match=0.5 on sample 2; only 0 and 1 are allowed, right or wrong; measure=score" in refusal(
        tmp_path
    )


def test_a_task_a_scorer_and_models_are_chosen(tmp_path):
    for model in "abc":
        scores = {"match": "C", "rating": {"depth": 3, "style": ord(model) - 96.5}, "words": ["x"]}
        write(tmp_path / model, model, [sample("q", scores), sample("r", scores)])
    write(tmp_path, "a", of([1]), name="other", task="other")
    for given, words in (
        ({}, "its logs are of 2 tasks; task=NAME chooses one of other, tiny"),
        ({"task": "other"}, "only a has a log of task other"),
        ({"task": "tiny"}, "3 scores; metric=NAME chooses one of match, rating/depth, rating/style"),
        ({"task": "tiny", "metric": "words"}, "metric: there is no score 'words' that is a number"),
        ({"task": "tiny", "systems": ["a", "d"]}, "systems: there is no model 'd'"),
        ({"filter": "none"}, "filter: 'none' is for logs of lm-evaluation-harness"),
    ):
        assert words in refusal(tmp_path, **given)
    given = {"metric": "rating/style", "systems": ["c", "a"], "measure": "score"}
    found = read_logs(tmp_path, "tiny", **given)
    assert {name: own.tolist() for name, own in found.scores.items()} == {"c": [2.5] * 2, "a": [0.5] * 2}


def test_two_logs_of_one_model_are_named_by_their_files(tmp_path):
    for name, values in (("plain", "CI"), ("agent", "IC")):
        write(tmp_path, "org/model", of(values), name=name)
    start = "2025-01-02T03-04-05-00-00_tiny_"
    assert read_logs(tmp_path).systems == [f"{start}agent", f"{start}plain"]


MESSAGES = [[{"id": name, "role": "user", "content": "question"}] for name in "xy"]


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (of("CIC"), "a has 2 items and b 3, and sample 3 is in the log of b but not of a"),
        (of("CI", input="what?"), "sample 1 is another document for b than for a (input)"),
        (of("CI", target=["no"]), "sample 1 is another document for b than for a (target)"),
        (of("CI", input=MESSAGES[1]), "another document"),
        ([*of("C"), sample(2, {"match": float("nan")})], "sample 2 has match=NaN; a finite number or C, I"),
        ([*of("C"), sample(2, {})], "sample 2 has match=null"),
        ([*of("C"), sample(2, {}) | {"scores": None}], "sample 2 has match=null"),
        ([{"scores": {}}], "a sample has no id"),
        ([], "only a has a log of task tiny"),
    ],
)
def test_what_does_not_fit_is_one_sentence(tmp_path, other, words):
    write(tmp_path, "a", of("CI"))
    write(tmp_path, "b", other)
    assert words in refusal(tmp_path)


def test_messages_are_compared_by_their_text(tmp_path):
    for model, messages in zip("ab", MESSAGES, strict=True):
        write(tmp_path, model, of("CI", input=messages))
    assert read_logs(tmp_path).n_total == 2


def test_what_is_no_log_or_hostile_is_one_sentence(tmp_path, monkeypatch):
    write(tmp_path, "b", of("CI"), "eval")
    path = write(tmp_path, "a", of("CI"), "eval")
    good = path.read_bytes()
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("samples/3_epoch_1.json", b" " * 2**23)  # packs 1,000 times and more
    assert "expands more than 1000 times; the archive is refused" in refusal(tmp_path)
    monkeypatch.delattr(zipfile, "ZIP_ZSTANDARD", raising=False)
    monkeypatch.setattr(opening.importlib, "import_module", missing)
    path.write_bytes(good.replace(b"\x08\x00", b"\x5d\x00"))  # the method, deflate, as zstandard
    assert "is packed by zstandard; the package zipfile-zstd, or Python 3.14, reads it" in refusal(tmp_path)
    path.write_bytes(good[:200])
    assert "cannot be read; is it damaged or truncated?" in refusal(tmp_path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", "{")
    assert "it does not hold JSON" in refusal(tmp_path)
    for one in tmp_path.iterdir():
        one.unlink()
    (tmp_path / "x.json").write_text('{"eval": 1}')
    assert "none of Inspect that ended well with its samples (it has x.json)" in refusal(tmp_path)


def missing(name):
    raise ImportError(name)


def test_logs_packed_by_zstandard_are_read_where_python_can(tmp_path):
    if not opening._unpacks_zstandard():
        pytest.skip("neither Python 3.14 nor zipfile-zstd")
    for model, values in (("a", "CI"), ("b", "IC")):
        write(tmp_path, model, of(values), "eval", packing=opening.ZSTANDARD)
    assert read_logs(tmp_path).cells("a", "b").tolist() == [0, 1, 1, 0, 0, 0, 0, 0]
