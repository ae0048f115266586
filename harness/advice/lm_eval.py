"""A folder of per-item logs of lm-evaluation-harness: which items each model got right."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from harness.advice.predictions import Outcomes
from harness.errors import UserError

Answer = tuple[bool, int | None, int | None, int | None]
DOCUMENT = ("doc_hash", "doc", "target")
PATTERN = "samples_*.jsonl"
NO_METRICS = {
    "doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics", "doc_hash",
    "prompt_hash", "target_hash",
}  # fmt: skip
_NAME = re.compile(r"samples_(?P<task>.+?)(?:_\d{4}-\d\d-\d\dT[\d.\-]+)?\.jsonl")


def read_logs(
    folder: str | Path,
    task: str | None = None,
    metric: str | None = None,
    filter_: str | None = None,
    systems: Sequence[str] | None = None,
) -> Outcomes:
    r"""Read which items each model got right from logs that ``lm_eval --log_samples`` left.

    A log is ``samples_TASK_TIME.jsonl``, a line an item and filter: ``doc_id``, ``filter``, metrics as
    numbers beside much else, which is not kept. ``lm_eval`` writes those of one model to one folder. Where
    all logs lie in `folder` itself, each is a model's and named by its file.

    Parameters
    ----------
    folder : str or Path
        Searched with all below it.
    task : str, optional
        Needed where there are logs of several.
    metric : str, optional
        Needed where an item has several. Its values are 0 and 1.
    filter_ : str, optional
        The filter of the answers; needed where an item stands there once for each of several.
    systems : sequence of str, optional
        Models to take, by the names of their folders; all where it is not given.

    Returns
    -------
    Outcomes
        For the error: every item counts as positive, and a model that got it right said so.

    Raises
    ------
    UserError
        If there are fewer than two models of one task, an item stands twice in a log or not in all, its
        document is another in another log (by ``doc_hash``, or by ``doc`` and ``target`` where a log lacks
        it), or a score is not 0 or 1.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as name:
    ...     for model, right in (("small", [0, 0, 1]), ("large", [1, 0, 1])):
    ...         (Path(name) / model).mkdir()
    ...         _ = (Path(name) / model / "samples_arc_2024-06-10T12-34-56.7.jsonl").write_text(
    ...             "".join(f'{{"doc_id": {i}, "target": "x", "acc": {r}}}\n' for i, r in enumerate(right)))
    ...     found = read_logs(name)
    >>> found.cells("large", "small").tolist(), found.about
    ([1, 0, 1, 1, 0, 0, 0, 0], 'task arc, metric acc, right or wrong')
    """
    folder = Path(folder)
    logs, task = _choose_logs(folder, task, systems)
    first = next(iter(logs.values()))
    filter_ = _choose_filter(first, filter_)
    metric = _choose_metric(first, metric, filter_)
    scores = {name: _read_log(path, metric, filter_) for name, path in logs.items()}
    compared = _check_same_items(folder, scores)
    names = list(scores)
    counted = Counter(tuple(scores[name][item][0] for name in names) for item in scores[names[0]])
    rows = sorted(counted)
    right = np.array(rows, dtype=bool)
    about = f"task {task}, metric {metric}{f', filter {filter_}' if filter_ else ''}, right or wrong"
    if not compared:
        about += " (nothing in the logs shows that their documents are the same)"
    return Outcomes(
        np.ones(len(rows), dtype=bool),
        {name: right[:, i] for i, name in enumerate(names)},
        np.array([counted[row] for row in rows], dtype=np.int64),
        about,
    )


def _choose_logs(
    folder: Path, task: str | None, systems: Sequence[str] | None
) -> tuple[dict[str, Path], str]:
    """Return the log of each model, and the task."""
    paths = sorted(folder.rglob(PATTERN))
    if not paths:
        raise UserError(
            f"predictions={folder}: it holds no log {PATTERN} of lm-evaluation-harness, nor do folders "
            "below it; a table of predictions or such a folder is needed"
        )
    tasks = {path: _task(path) for path in paths}
    known = sorted(set(tasks.values()))
    if task is None and len(known) > 1:
        raise UserError(
            f"predictions={folder}: its logs are of {len(known)} tasks; task=NAME chooses one of "
            f"{_listed(known)}"
        )
    task = known[0] if task is None else task
    if task not in known:
        raise UserError(f"task: there is no log of {task!r} in {folder}; it has {_listed(known)}")
    logs: dict[str, Path] = {}
    paths = [path for path in paths if tasks[path] == task]
    for name, path in zip(_names(folder, paths), paths, strict=True):
        if name in logs:
            raise UserError(
                f"predictions={folder}: {logs[name].name} and {path.name} are both of model {name} and task "
                f"{task}; one log of each model is allowed"
            )
        logs[name] = path
    for name in systems or ():
        if name not in logs:
            raise UserError(f"systems: there is no model {name!r} in {folder}; it has {_listed(list(logs))}")
    logs = {name: logs[name] for name in systems or logs}
    if len(logs) < 2:
        raise UserError(
            f"predictions={folder}: only {next(iter(logs))} has a log of task {task}; at least two models "
            "are needed, each with its logs in a folder of its own"
        )
    return logs, task


def _task(path: Path) -> str:
    found = _NAME.fullmatch(path.name)
    return found["task"] if found else path.stem


def _names(folder: Path, paths: Sequence[Path]) -> list[str]:
    """Return the models' names: their folders' own, with those above where two are alike."""
    if all(path.parent == folder for path in paths):
        return [path.stem.removeprefix("samples_") for path in paths]
    parents = {path.parent for path in paths}
    own = Counter(parent.name for parent in parents)
    return [
        path.parent.name if own[path.parent.name] == 1 else path.parent.relative_to(folder).as_posix()
        for path in paths
    ]


def _lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the items of a log, one held at a time, with the numbers of their lines."""
    try:
        with path.open(encoding="utf-8") as stream:
            for number, line in enumerate(stream, 1):
                if line.strip():
                    item = json.loads(line)
                    if not isinstance(item, dict) or "doc_id" not in item:
                        raise UserError(
                            f"predictions={path}: line {number} has no doc_id; every item needs one"
                        )
                    yield number, item
    except (json.JSONDecodeError, RecursionError) as error:
        raise UserError(f"predictions={path}: line {number} is not JSON ({error})") from error
    except (OSError, UnicodeError) as error:
        raise UserError(f"predictions={path}: it cannot be read ({error})") from error


def _choose_filter(path: Path, wanted: str | None) -> str | None:
    """Return the filter that is wanted, or the only one; None where the log names none."""
    known = sorted({str(item["filter"]) for _, item in _lines(path) if item.get("filter") is not None})
    if wanted is None and len(known) > 1:
        raise UserError(
            f"predictions={path}: each item was scored after {len(known)} filters; filter=NAME chooses one "
            f"of {_listed(known)}"
        )
    if wanted is not None and wanted not in known:
        raise UserError(f"filter: there is no {wanted!r} in {path}; it has {_listed(known) or 'none'}")
    return wanted if wanted is not None else (known[0] if known else None)


def _choose_metric(path: Path, wanted: str | None, filter_: str | None) -> str:
    for _, item in _lines(path):
        if filter_ is None or str(item.get("filter")) == filter_:
            break
    else:
        raise UserError(f"predictions={path}: it holds no item; at least one line is needed")
    named = item.get("metrics")
    keys = named if isinstance(named, list) else [key for key in item if key not in NO_METRICS]
    known = [str(key) for key in keys if isinstance(item.get(key), bool | int | float)]
    if wanted is None and len(known) > 1:
        raise UserError(
            f"predictions={path}: its items have {len(known)} scores; metric=NAME chooses one of "
            f"{_listed(known)}"
        )
    if not known or (wanted is not None and wanted not in known):
        what = f"metric: there is no {wanted!r}" if wanted else f"predictions={path}: there is no score"
        raise UserError(f"{what} that is a number in {path}; it has {_listed(known) or 'none'}")
    return known[0] if wanted is None else wanted


def _read_log(path: Path, metric: str, filter_: str | None) -> dict[str, Answer]:
    """Return, by doc_id, whether the answer was right, and hashes of what the log says of the document."""
    found: dict[str, Answer] = {}
    for number, item in _lines(path):
        if filter_ is not None and str(item.get("filter")) != filter_:
            continue
        score, name = item.get(metric), str(item["doc_id"])
        if name in found:
            raise UserError(f"predictions={path}: doc_id {name} stands there twice; each item once is needed")
        if not isinstance(score, bool | int | float) or score not in (0, 1):
            raise UserError(
                f"predictions={path}: line {number} has {metric}={json.dumps(score)[:40]}; only scores of 0 "
                "and 1 are allowed, right or wrong"
            )
        doc_hash, doc, target = (_hash(item.get(key)) for key in DOCUMENT)
        found[name] = bool(score), doc_hash, doc, target
    if not found:
        raise UserError(
            f"predictions={path}: it holds no item{f' of filter {filter_}' if filter_ else ''}; the same are "
            "needed in every log"
        )
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
            raise UserError(
                f"predictions={folder}: {first} has {len(reference):,} items and {name} {len(own):,}, and "
                f"doc_id {alone} is in the log of {has} but not of {lacks}; the same items are needed in "
                "every log"
            )
        for item, answer in own.items():
            known = _known_in_both(answer, reference[item])
            compared &= bool(known)
            other = next((key for key, same in known.items() if not same), None)
            if other is not None:
                raise UserError(
                    f"predictions={folder}: doc_id {item} is another document for {name} than for {first} "
                    f"({other}); logs of one task in one version are needed"
                )
    return compared


def _known_in_both(answer: Answer, other: Answer) -> dict[str, bool]:
    """Return whether what both logs say of a document is the same: its hash, else itself and the target."""
    known = {
        key: own == their
        for key, own, their in zip(DOCUMENT, answer[1:], other[1:], strict=True)
        if own is not None and their is not None
    }
    return {"doc_hash": known["doc_hash"]} if "doc_hash" in known else known


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else "")
