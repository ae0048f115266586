"""A folder of per-item logs of lm-evaluation-harness: which items each model got right."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.advise.files.logs import Answer, Logs, as_number, choose, choose_systems, hash_of, listed
from harness.errors import refusal
from harness.tables.objects import read_objects

DOCUMENT = ("doc_hash", "doc", "target")  # what shows that two models saw the same
PATTERNS = ("samples_*.jsonl", "samples_*.json")
MAX_CHARACTERS = 2**26  # of `results*.json`
OLD_PATTERN = "*_*.jsonl"
NOT_METRICS = {
    "doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics", "doc_hash",
    "prompt_hash", "target_hash", "higher_is_better",
}  # fmt: skip
_NAME = re.compile(r"samples_(?P<task>.+?)(?:_\d{4}-\d\d-\d\dT[\d.\-]+)?\.jsonl?")
_TRUTH = {0.0: False, 1.0: True}


def read_lm_eval(
    folder: Path, task: str | None, metric: str | None, filter_: str | None, systems: Sequence[str] | None
) -> Logs:
    """Read the scores in logs that ``lm_eval --log_samples`` left.

    A log is ``samples_TASK_TIME.jsonl``, an object for each item and filter, one a line or in one array.
    ``lm_eval`` writes those of one model to one folder. Where all logs lie in `folder` itself, each is a
    model's and named by its file. Before version 0.4.3 a log was ``MODEL_TASK.jsonl``, read where there is no
    newer one. A task without a log of its own is a group, whose documents are taken together. Whether lower
    is better is read from ``higher_is_better`` in a log's first item, else in ``results*.json`` beside it;
    where neither says, higher is.
    """
    task_of, wanted, warnings = _choose_tasks(folder, _find_logs(folder, task), task)
    logs = _by_model(folder, task_of)
    logs = {name: logs[name] for name in choose_systems(folder, list(logs), systems, wanted)}
    first = next(iter(next(iter(logs.values()))))
    filter_ = _choose_filter(first, filter_)
    metric = _choose_metric(first, metric, filter_)
    lower_is_better = _is_lower_better(
        folder, [path for own in logs.values() for path in own], task_of, metric
    )
    answers: dict[str, dict[str, Answer]] = {name: {} for name in logs}
    what, n_tasks = f"task {wanted}", len(set(task_of.values()))
    if n_tasks > 1:
        what = f"group {wanted}, each document of its {n_tasks} tasks alike"
    for name, path in ((name, path) for name, own in logs.items() for path in own):
        before = f"{task_of[path]}/" if n_tasks > 1 else ""
        items = _read_log(path, metric, filter_).items()
        answers[name] |= {before + item: answer for item, answer in items}
    about = f"{what}, metric {metric}{f', filter {filter_}' if filter_ else ''}"
    return Logs(answers, about, metric, DOCUMENT, "doc_id", lower_is_better, warnings=warnings)


def _choose_tasks(
    folder: Path, task_of: Mapping[Path, str], wanted: str | None
) -> tuple[dict[Path, str], str, tuple[str, ...]]:
    """Return the logs of a task, a group, or all tasks whose names begin so; the name; warnings."""
    known, warnings = sorted(set(task_of.values())), tuple[str, ...]()
    tasks = [wanted] if wanted in known else _members(folder, wanted, known) if wanted else []
    if wanted and not tasks:
        tasks = [name for name in known if name.startswith(f"{wanted}_")]
        warnings = (f"task={wanted} takes all tasks whose names begin so: {listed(tasks)}",) if tasks else ()
    if not tasks:
        several = f"predictions={folder}: its logs are of {len(known)} tasks; task=NAME, or =GROUP,"
        tasks = [str(choose(wanted, known, several, f"task: there is no log of {wanted!r} in {folder}"))]
    chosen = {path: task for path, task in task_of.items() if task in tasks}
    return chosen, wanted or str(tasks[0]), warnings


def _members(folder: Path, group: str, known: Sequence[str]) -> list[str]:
    """Return a group's tasks by ``results*.json``, [] where it is none; refuse one that lacks a log."""
    groups: dict[str, Any] = {}
    for path in sorted(folder.rglob("results*.json")):
        said = _inner(_read_results(path), "group_subtasks") or {}
        lists = list(said.values()) if isinstance(said, dict) else [None]
        if not all(isinstance(own, list) and all(isinstance(name, str) for name in own) for own in lists):
            raise refusal("advise.damaged_groups", where=path)
        groups |= said
    tasks = [group]
    for name in tasks:  # it grows: a group can hold groups
        tasks += [one for one in groups.get(name) or () if one not in tasks]
    tasks = [name for name in tasks[1:] if not groups.get(name)]
    lacking = sorted(set(tasks) - set(known))
    if lacking:
        told = {"group": group, "n": len(tasks), "lacking": listed(lacking)}
        raise refusal("advise.group_lacks", where=folder, **told)
    return tasks


def _by_model(folder: Path, task_of: Mapping[Path, str]) -> dict[str, list[Path]]:
    logs: dict[str, dict[str, Path]] = {}
    for (path, task), name in zip(task_of.items(), _model_names(folder, task_of), strict=True):
        own = logs.setdefault(name, {})
        if task in own:
            two = {"one": own[task].name, "other": path.name}
            raise refusal("advise.two_logs", where=folder, name=name, task=task, **two)
        own[task] = path
    return {name: list(own.values()) for name, own in logs.items()}


def _find_logs(folder: Path, wanted: str | None) -> dict[Path, str]:
    paths = sorted(path for pattern in PATTERNS for path in folder.rglob(pattern))
    if paths:
        names = {path: _NAME.fullmatch(path.name) for path in paths}
        return {path: match["task"] if match else path.stem for path, match in names.items()}
    old = sorted(folder.rglob(OLD_PATTERN))
    if not old:
        raise refusal("advise.no_log", where=folder)
    return dict(zip(old, _old_tasks([path.stem for path in old], wanted), strict=True))


def _old_tasks(stems: Sequence[str], wanted: str | None) -> list[str]:
    """Return the tasks of logs MODEL_TASK: the longest ending that a name shares with another's.

    >>> _old_tasks(["pretrained__A_arc_easy", "pretrained__B_arc_easy", "pretrained__A_boolq"], None)
    ['arc_easy', 'arc_easy', 'boolq']
    """
    # "__" stands for a special character of the model's arguments: the task comes after the last one
    ends = [["_".join(parts[i:]) for i in range(1, len(parts))] or parts
            for parts in (stem.rpartition("__")[2].split("_") for stem in stems)]  # fmt: skip
    shared = Counter(end for own in ends for end in set(own))
    return [
        wanted if wanted in own else next((end for end in own if shared[end] > 1), own[-1]) for own in ends
    ]


def _is_lower_better(folder: Path, logs: Sequence[Path], tasks: Mapping[Path, str], metric: str) -> bool:
    """Return whether the logs say that a lower value of the metric is better; refuse a contradiction."""
    said = set()
    for path in logs:
        _, item = next(iter(_lines(path)), (0, {}))
        better = _as_bool(item.get("higher_is_better"), metric)
        results = sorted(path.parent.glob("results*.json"))
        if better is None:
            told = [_better_in_results(_read_results(one), tasks[path], metric) for one in results]
            better = next((one for one in reversed(told) if one is not None), None)  # the latest
        said.add(better)
    if {True, False} <= said:
        raise refusal("advise.log_direction", where=folder, metric=metric)
    return False in said


def _read_results(path: Path) -> Any:
    return next(
        (value for _, value in read_objects(path, f"predictions={path}", max_object=MAX_CHARACTERS)), {}
    )


def _better_in_results(results: Any, task: str, metric: str) -> bool | None:
    said = _as_bool(_inner(results, "higher_is_better", task), metric)
    metrics = _inner(results, "configs", task, "metric_list")
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
    number = as_number(value.get(metric) if isinstance(value, dict) else value)
    return None if number is None else _TRUTH.get(number)


def _model_names(folder: Path, task_of: Mapping[Path, str]) -> list[str]:
    """Return the model of each log: of old names if these tell all apart, of its file, or of its folder."""
    if not any(path.name.startswith("samples_") for path in task_of):
        models = [path.stem.removesuffix(f"_{task}") for path, task in task_of.items()]
        if len(set(zip(models, task_of.values(), strict=True))) == len(models):
            return models
    if all(path.parent == folder for path in task_of):
        several = len(set(task_of.values())) > 1  # one run stamps its logs of all tasks with one time
        return [
            path.stem.removeprefix(f"samples_{task}_" if several else "samples_")
            for path, task in task_of.items()
        ]
    n_folders = Counter(parent.name for parent in {path.parent for path in task_of})
    return [
        path.parent.name if n_folders[path.parent.name] == 1 else path.parent.relative_to(folder).as_posix()
        for path in task_of
    ]


def _lines(path: Path, filter_: str | None = None) -> Iterator[tuple[str, dict[str, Any]]]:
    for place, item in read_objects(path, f"predictions={path}"):
        if "doc_id" not in item:
            raise refusal("advise.no_doc_id", where=path, place=place)
        if filter_ is None or str(item.get("filter")) == filter_:
            yield place, item


def _choose_filter(path: Path, wanted: str | None) -> str | None:
    known = sorted({str(item["filter"]) for _, item in _lines(path) if item.get("filter") is not None})
    several = f"predictions={path}: each item was scored after {len(known)} filters; filter=NAME"
    return choose(wanted, known, several, f"filter: there is no {wanted!r} in {path}")


def _choose_metric(path: Path, wanted: str | None, filter_: str | None) -> str:
    _, item = next(_lines(path, filter_), ("", {}))
    if not item:
        raise refusal("advise.empty_log", where=path)
    named = item.get("metrics")
    keys = named if isinstance(named, list) else [key for key in item if key not in NOT_METRICS]
    scores = {str(key): item.get(str(key)) for key in keys}
    known = [key for key, own in scores.items() if isinstance(own, int | float) or as_number(own) is not None]
    several = f"predictions={path}: its items have {len(known)} scores; metric=NAME"
    none = f"metric: there is no {wanted!r} that is a number in {path}"
    metric = choose(wanted, known, several, none)
    if metric is None:
        raise refusal("advise.no_item_score", where=path)
    return metric


def _read_log(path: Path, metric: str, filter_: str | None) -> dict[str, Answer]:
    answers: dict[str, Answer] = {}
    for place, item in _lines(path, filter_):
        name, score = str(item["doc_id"]), as_number(item.get(metric))
        if name in answers:
            raise refusal("advise.twice_in_log", where=path, name=name)
        if score is None:
            shown = json.dumps(item.get(metric))[:40]
            raise refusal("advise.item_score", where=path, place=place, metric=metric, shown=shown)
        answers[name] = score, [hash_of(item.get(key)) for key in DOCUMENT]
    if not answers:
        of_filter = f" of filter {filter_}" if filter_ else ""
        raise refusal("advise.no_log_item", where=path, of_filter=of_filter)
    return answers
