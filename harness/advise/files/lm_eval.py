"""A folder of per-item logs of lm-evaluation-harness: which items each model got right."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from harness.advise.files.predictions import Outcomes
from harness.errors import UserError
from harness.tables.labels import BINARY, plain_label
from harness.tables.objects import read_objects

Answer = tuple[bool, list[int | None]]
DOCUMENT = ("doc_hash", "doc", "target")
PATTERNS = ("samples_*.jsonl", "samples_*.json")
OLD_PATTERN = "*_*.jsonl"
NO_METRICS = {
    "doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics", "doc_hash",
    "prompt_hash", "target_hash", "higher_is_better",
}  # fmt: skip
_NAME = re.compile(r"samples_(?P<task>.+?)(?:_\d{4}-\d\d-\d\dT[\d.\-]+)?\.jsonl?")
_RIGHT = {"0": False, "1": True}


def read_logs(
    folder: str | Path,
    task: str | None = None,
    metric: str | None = None,
    filter_: str | None = None,
    systems: Sequence[str] | None = None,
) -> Outcomes:
    """Read which items each model got right from logs that ``lm_eval --log_samples`` left.

    A log is ``samples_TASK_TIME.jsonl``, an object for each item and filter, one a line or in one array.
    ``lm_eval`` writes those of one model to one folder. Where all logs lie in `folder` itself, each is a
    model's and named by its file. Before version 0.4.3 a log was ``MODEL_TASK.jsonl``, read where there is no
    newer one. A metric that is better where it is lower, by ``higher_is_better`` in the items or in
    ``results*.json`` beside the log, is turned. Every item counts as positive, and a model that got it right
    said so.
    """
    folder = Path(folder)
    logs, task = _choose_logs(folder, task, systems)
    first = next(iter(logs.values()))
    filter_ = _choose_filter(first, filter_)
    metric = _choose_metric(first, metric, filter_)
    turned = _is_turned(folder, logs.values(), task, metric)
    scores = {name: _read_log(path, metric, filter_, turned) for name, path in logs.items()}
    compared = _check_same_items(folder, scores)
    counted = Counter(tuple(own[item][0] for own in scores.values()) for item in next(iter(scores.values())))
    right = np.array(sorted(counted), dtype=bool)
    n_items = np.array([counted[row] for row in sorted(counted)], dtype=np.int64)
    about = f"task {task}, metric {metric}{f', filter {filter_}' if filter_ else ''}, right or wrong"
    if not compared:
        about += " (nothing in the logs shows that their documents are the same)"
    decisions = dict(zip(scores, right.T, strict=True))
    told = f"{metric} is better where it is lower, by the logs: 0 is read as right and 1 as wrong"
    return Outcomes(np.ones(len(right), dtype=bool), decisions, n_items, about, (told,) if turned else ())


def _refuse(place: Path, sentence: str) -> NoReturn:
    raise UserError(f"predictions={place}: {sentence}")


def _choose(wanted: str | None, known: Sequence[str], several: str, none: str) -> str | None:
    if wanted is None and len(known) > 1:
        raise UserError(f"{several} chooses one of {_listed(known)}")
    if wanted is not None and wanted not in known:
        raise UserError(f"{none}; it has {_listed(known) or 'none'}")
    return known[0] if wanted is None and known else wanted


def _choose_logs(
    folder: Path, task: str | None, systems: Sequence[str] | None
) -> tuple[dict[str, Path], str]:
    found = _find_logs(folder, task)
    known = sorted(set(found.values()))
    several = f"predictions={folder}: its logs are of {len(known)} tasks; task=NAME"
    task = str(_choose(task, known, several, f"task: there is no log of {task!r} in {folder}"))
    logs: dict[str, Path] = {}
    paths = [path for path, own in found.items() if own == task]
    for name, path in zip(_names(folder, paths, task), paths, strict=True):
        if name in logs:
            two = f"{logs[name].name} and {path.name}"
            _refuse(folder, f"{two} are both of model {name} and task {task}; one log of each is allowed")
        logs[name] = path
    for name in systems or ():
        _choose(name, list(logs), "", f"systems: there is no model {name!r} in {folder}")
    logs = {name: logs[name] for name in systems or logs}
    if len(logs) < 2:
        needed = "at least two models are needed, each with its logs in a folder of its own"
        _refuse(folder, f"only {next(iter(logs))} has a log of task {task}; {needed}")
    return logs, task


def _find_logs(folder: Path, wanted: str | None) -> dict[Path, str]:
    paths = sorted(path for pattern in PATTERNS for path in folder.rglob(pattern))
    if paths:
        names = {path: _NAME.fullmatch(path.name) for path in paths}
        return {path: found["task"] if found else path.stem for path, found in names.items()}
    old = sorted(folder.rglob(OLD_PATTERN))
    if not old:
        needed = "a table of predictions or a folder of logs is needed"
        _refuse(folder, f"it holds no log {PATTERNS[0]} of lm-evaluation-harness, at any depth; {needed}")
    return dict(zip(old, _old_tasks([path.stem for path in old], wanted), strict=True))


def _old_tasks(stems: Sequence[str], wanted: str | None) -> list[str]:
    """Return the tasks of logs MODEL_TASK: the longest ending that a name shares with another's.

    >>> _old_tasks(["pretrained__A_arc_easy", "pretrained__B_arc_easy", "pretrained__A_boolq"], None)
    ['arc_easy', 'arc_easy', 'boolq']
    """
    # two underscores stand for a sign of the model's arguments, and so before the task
    ends = [["_".join(parts[i:]) for i in range(1, len(parts))] or parts
            for parts in (stem.rpartition("__")[2].split("_") for stem in stems)]  # fmt: skip
    shared = Counter(end for own in ends for end in set(own))
    return [
        wanted if wanted in own else next((end for end in own if shared[end] > 1), own[-1]) for own in ends
    ]


def _is_turned(folder: Path, logs: Iterable[Path], task: str, metric: str) -> bool:
    """Return whether the logs say that a lower value of the metric is better; refuse a contradiction."""
    said = set()
    for path in logs:
        _, item = next(iter(_lines(path)), (0, {}))
        better = _as_bool(item.get("higher_is_better"), metric)
        results = sorted(path.parent.glob("results*.json"))
        for place in results if better is None else ():
            found = _better_in_results(place, task, metric)
            better = found if found is not None else better
        said.add(better)
    if {True, False} <= said:
        needed = "logs of one version are needed"
        _refuse(folder, f"by some logs a higher {metric} is better and by others a lower one; {needed}")
    return False in said


def _better_in_results(path: Path, task: str, metric: str) -> bool | None:
    found = next((value for _, value in read_objects(path, f"predictions={path}", whole=True)), {})
    said = _as_bool(_inner(found, "higher_is_better", task), metric)
    metrics = _inner(found, "configs", task, "metric_list")
    for one in metrics if isinstance(metrics, list) and said is None else ():
        if isinstance(one, dict) and one.get("metric") == metric:
            said = _as_bool(one.get("higher_is_better"), metric)
    return said


def _inner(value: Any, *keys: str) -> Any:
    """Return what lies below keys, None where something on the way is no object or lacks a key."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _as_bool(value: Any, metric: str) -> bool | None:
    return _right(value.get(metric) if isinstance(value, dict) else value)


def _right(value: object) -> bool | None:
    """Return a score as right or wrong, None where it is neither: 1, true and their text are right."""
    if not isinstance(value, bool | int | float | str):
        return None
    label = plain_label(str(value))
    return _RIGHT.get(BINARY.get(label, label))


def _names(folder: Path, paths: Sequence[Path], task: str) -> list[str]:
    if not any(path.name.startswith("samples_") for path in paths):
        models = [path.stem.removesuffix(f"_{task}") for path in paths]
        if len(set(models)) == len(models):
            return models
    if all(path.parent == folder for path in paths):
        return [path.stem.removeprefix("samples_") for path in paths]
    own = Counter(parent.name for parent in {path.parent for path in paths})
    return [
        path.parent.name if own[path.parent.name] == 1 else path.parent.relative_to(folder).as_posix()
        for path in paths
    ]


def _lines(path: Path, filter_: str | None = None) -> Iterator[tuple[str, dict[str, Any]]]:
    for place, item in read_objects(path, f"predictions={path}"):
        if "doc_id" not in item:
            _refuse(path, f"{place} has no doc_id; every item needs one")
        if filter_ is None or str(item.get("filter")) == filter_:
            yield place, item


def _choose_filter(path: Path, wanted: str | None) -> str | None:
    known = sorted({str(item["filter"]) for _, item in _lines(path) if item.get("filter") is not None})
    several = f"predictions={path}: each item was scored after {len(known)} filters; filter=NAME"
    return _choose(wanted, known, several, f"filter: there is no {wanted!r} in {path}")


def _choose_metric(path: Path, wanted: str | None, filter_: str | None) -> str:
    _, item = next(_lines(path, filter_), ("", {}))
    if not item:
        _refuse(path, "it holds no item; at least one line is needed")
    named = item.get("metrics")
    keys = named if isinstance(named, list) else [key for key in item if key not in NO_METRICS]
    known = [str(key) for key in keys if _is_score(item.get(str(key)))]
    several = f"predictions={path}: its items have {len(known)} scores; metric=NAME"
    none = f"metric: there is no {wanted!r} that is a number in {path}"
    metric = _choose(wanted, known, several, none)
    if metric is None:
        _refuse(path, "its items have no score that is a number")
    return metric


def _is_score(value: object) -> bool:
    return isinstance(value, bool | int | float) or (isinstance(value, str) and _right(value) is not None)


def _read_log(path: Path, metric: str, filter_: str | None, turned: bool) -> dict[str, Answer]:
    found: dict[str, Answer] = {}
    for place, item in _lines(path, filter_):
        name, right = str(item["doc_id"]), _right(item.get(metric))
        if name in found:
            _refuse(path, f"doc_id {name} stands there twice; each item once is needed")
        if right is None:
            shown = json.dumps(item.get(metric))[:40]
            _refuse(path, f"{place} has {metric}={shown}; only scores of 0 and 1 are allowed, right or wrong")
        found[name] = right != turned, [_hash(item.get(key)) for key in DOCUMENT]
    if not found:
        of_filter = f" of filter {filter_}" if filter_ else ""
        _refuse(path, f"it holds no item{of_filter}; the same are needed in every log")
    return found


def _hash(value: object) -> int | None:
    return None if value is None else hash(json.dumps(value, sort_keys=True))


def _check_same_items(folder: Path, scores: Mapping[str, Mapping[str, Answer]]) -> bool:
    """Refuse logs of other items, or of other documents; return whether all documents could be compared."""
    compared = True
    (first, reference), *others = scores.items()
    for name, own in others:
        alone = min(own.keys() ^ reference.keys(), default=None)
        if alone is not None:
            has, lacks = (name, first) if alone in own else (first, name)
            numbers = f"{first} has {len(reference):,} items and {name} {len(own):,}"
            where = f"doc_id {alone} is in the log of {has} but not of {lacks}"
            _refuse(folder, f"{numbers}, and {where}; the same items are needed in every log")
        for item, answer in own.items():
            known = _known_in_both(answer, reference[item])
            compared &= bool(known)
            other = next((key for key, same in known.items() if not same), None)
            if other is not None:
                found = f"doc_id {item} is another document for {name} than for {first} ({other})"
                _refuse(folder, f"{found}; logs of one task in one version are needed")
    return compared


def _known_in_both(answer: Answer, other: Answer) -> dict[str, bool]:
    """Return whether what both logs say of a document is the same: its hash, else itself and the target."""
    known = {
        key: own == their
        for key, own, their in zip(DOCUMENT, answer[1], other[1], strict=True)
        if own is not None and their is not None
    }
    return {"doc_hash": known["doc_hash"]} if "doc_hash" in known else known


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else "")
