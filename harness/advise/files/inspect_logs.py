"""A folder of logs of Inspect (inspect_ai), `.json` or `.eval`: the score of each sample."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from harness.advise.files.logs import Answer, Logs, as_number, choose, choose_systems, hash_of, listed
from harness.errors import refusal
from harness.tables.objects import read_objects, read_packed

# as Inspect's own value_to_float; P is partial credit, N no answer
GRADES = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0, "yes": 1.0, "no": 0.0}  # true and false are numbers
DOCUMENT = ("input", "target")
MAX_CHARACTERS = 2**29  # of a `.json` log
COMPARED = 1_000  # characters of a text: `.eval` cuts it where it sums samples up


class _Log(NamedTuple):
    """What is needed of one log: of each sample its id, its scores and what it was."""

    path: Path
    model: str
    task: str
    samples: list[tuple[str, dict[str, Any], list[int | None]]]


def has_inspect(folder: Path) -> bool:
    """Return whether a folder holds logs of Inspect and none of ``lm_eval``, at any depth."""
    files = {path.suffix for path in folder.rglob("*") if path.is_file()}
    named = any(folder.rglob("samples_*.json")) or any(folder.rglob("samples_*.jsonl"))
    return not named and (".eval" in files or (".json" in files and ".jsonl" not in files))


def read_inspect(folder: Path, task: str | None, metric: str | None, systems: Sequence[str] | None) -> Logs:
    """Read the scores of samples: correct (C) is 1, incorrect (I) and no answer (N) 0, partial (P) a half.

    Logs that ended early are left out. A log is called by its model or, where one model
    has several, by its file. The score of a sample tried in several epochs is its mean over them.
    """
    found, left_out = _read_folder(folder)
    known = sorted({log.task for log in found})
    several = f"predictions={folder}: its logs are of {len(known)} tasks; task=NAME"
    task = str(choose(task, known, several, f"task: there is no log of {task!r} in {folder}"))
    logs = [log for log in found if log.task == task]
    models = [log.model for log in logs]
    if len(set(models)) < len(models):
        models = [log.path.relative_to(folder).with_suffix("").as_posix() for log in logs]
    chosen = choose_systems(folder, models, systems, task)
    metric = _choose_scorer(logs[models.index(chosen[0])], metric)
    answers, epochs = {}, 1
    for name in chosen:
        answers[name], most = _answers(logs[models.index(name)], metric)
        epochs = max(epochs, most)
    notes = (f"logs that did not end well are left out: {listed(left_out)}",) if left_out else ()
    about = f"task {task}, scorer {metric}"
    return Logs(answers, about, metric, DOCUMENT, "sample", epochs=epochs, notes=notes)


def _read_folder(folder: Path) -> tuple[list[_Log], list[str]]:
    """Return the logs that ended well, and the files of those that did not."""
    found, left_out = [], []
    for path in sorted(path for end in ("*.eval", "*.json") for path in folder.rglob(end)):
        parts = _read_parts(path)
        ended, said, samples = parts.get("status") == "success", parts.get("eval"), parts.get("samples")
        if isinstance(said, dict) and isinstance(samples, list) and samples and ended:
            own = [_sample(path, one) for one in samples]
            found.append(_Log(path, str(said.get("model")), str(said.get("task")), own))
        else:
            left_out.append(path.name)
    if not found:
        raise refusal("advise.no_inspect", where=folder, files=listed(left_out))
    return found, left_out


def _read_parts(path: Path) -> dict[str, Any]:
    """Return the object of a log, its samples in full or summed up."""
    where = f"predictions={path}"
    if path.suffix == ".eval":
        header, samples = read_packed(path, where, ("header.json", "summaries.json"))
        return {**header, "samples": samples} if isinstance(header, dict) else {}
    return next((found for _, found in read_objects(path, where, max_object=MAX_CHARACTERS)), {})


def _sample(path: Path, one: dict[str, Any]) -> tuple[str, dict[str, Any], list[int | None]]:
    """Return id, scores and hashes of a sample; the values of a score of several stand alone."""
    if not isinstance(one, dict) or "id" not in one:
        raise refusal("advise.no_sample_id", where=path)
    said: dict[str, Any] = one.get("scores") or {}
    scores: dict[str, Any] = {}
    for scorer, score in said.items():
        value = score.get("value") if isinstance(score, dict) else None
        if isinstance(value, dict):
            scores |= {f"{scorer}/{key}": own for key, own in value.items()}
        else:
            scores[scorer] = value
    return str(one["id"]), scores, [hash_of(_text(one.get(key))) for key in DOCUMENT]


def _text(value: Any) -> str | None:
    """Return the beginning of what a sample asks: of messages, which each run numbers anew, the text."""
    if isinstance(value, list):
        value = "\n".join(str(one.get("content") if isinstance(one, dict) else one) for one in value)
    return None if value is None else str(value)[:COMPARED]


def _score(value: object) -> float | None:
    grade = GRADES.get(value, GRADES.get(value.lower())) if isinstance(value, str) else None
    return as_number(value) if grade is None else grade


def _choose_scorer(log: _Log, wanted: str | None) -> str:
    known = [name for name, value in log.samples[0][1].items() if _score(value) is not None]
    several = f"predictions={log.path}: its samples have {len(known)} scores; metric=NAME"
    none = f"metric: there is no score {wanted!r} that is a number in {log.path}"
    found = choose(wanted, known, several, none)
    if found is None:
        raise refusal("advise.no_sample_score", where=log.path)
    return found


def _answers(log: _Log, scorer: str) -> tuple[dict[str, Answer], int]:
    """Return each sample's mean score, and how many epochs the most tried one has."""
    scores: dict[str, list[float]] = {}
    documents = {}
    for name, own, document in log.samples:
        score = _score(own.get(scorer))
        if score is None:
            told = {"name": name, "scorer": scorer, "shown": json.dumps(own.get(scorer))[:40]}
            raise refusal("advise.sample_score", where=log.path, **told)
        scores.setdefault(name, []).append(score)
        documents[name] = document
    answers = {name: (sum(own) / len(own), documents[name]) for name, own in scores.items()}
    return answers, max(map(len, scores.values()))
