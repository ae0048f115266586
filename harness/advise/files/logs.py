"""A folder of per-item logs of several models, of whichever program: right or wrong, or scores."""

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from harness.advise.files.columns import check_systems
from harness.advise.files.predictions import Outcomes
from harness.advise.files.scores import Scores
from harness.errors import refusal
from harness.tables.labels import BINARY, plain_label

UNPROVEN = "nothing in the logs shows that their documents are the same"
Answer = tuple[float, list[int | None]]  # the score, and hashes of what shows which document it was


class Logs(NamedTuple):
    """Of every model what it got on each item, and what the scores are."""

    answers: Mapping[str, Mapping[str, Answer]]
    about: str
    metric: str
    documents: tuple[str, ...]  # what the hashes are of; the first decides where both logs have it
    item: str  # what the logs call the name of an item
    lower_is_better: bool = False
    epochs: int = 1
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def as_right(folder: Path, logs: Logs) -> Outcomes:
    """Return who got which items right: every item counts as positive, and a right model said so."""
    compared, told = check_same_items(folder, logs), list(logs.warnings)
    if logs.epochs > 1:
        raise refusal("advise.log_epochs", where=folder, epochs=logs.epochs)
    for name, own in logs.answers.items():
        item = next((item for item, (score, _) in own.items() if score not in (0, 1)), None)
        if item is not None:
            score = {"metric": logs.metric, "score": own[item][0], "what": logs.item, "item": item}
            raise refusal("advise.log_score", where=folder, name=name, **score)
    if logs.lower_is_better:
        told.append(f"{_lower(logs)}: 0 is read as right and 1 as wrong")
    items = next(iter(logs.answers.values()))
    counted = Counter(
        tuple(own[item][0] != logs.lower_is_better for own in logs.answers.values()) for item in items
    )
    right = np.array(sorted(counted), dtype=bool)
    n_items = np.array([counted[row] for row in sorted(counted)], dtype=np.int64)
    about = f"{logs.about}, right or wrong" + ("" if compared else f" ({UNPROVEN})")
    decisions = dict(zip(logs.answers, right.T, strict=True))
    return Outcomes(np.ones(len(right), dtype=bool), decisions, n_items, about, tuple(told), logs.notes)


def as_scores(folder: Path, logs: Logs) -> Scores:
    """Return the scores, more being better: of a metric that is better lower, minus itself."""
    compared, told = check_same_items(folder, logs), list(logs.warnings)
    notes = [f"scores of {logs.about}", *logs.notes, *([] if compared else [UNPROVEN])]
    if logs.lower_is_better:
        told.append(f"{_lower(logs)}: its sign is turned, so that more is better")
    if logs.epochs > 1:
        told.append(f"an item's score is its mean over up to {logs.epochs} epochs; items are what is drawn")
    items, sign = next(iter(logs.answers.values())), -1.0 if logs.lower_is_better else 1.0
    found = {name: sign * np.array([own[item][0] for item in items]) for name, own in logs.answers.items()}
    return Scores(folder.name, found, None, tuple(told), tuple(notes))


def _lower(logs: Logs) -> str:
    return f"{logs.metric} is better where it is lower, by the logs"


def choose(wanted: str | None, known: Sequence[str], several: str, none: str) -> str | None:
    """Return the name that is wanted, or the only one; `several` and `none` begin the refusals."""
    if wanted is None and len(known) > 1:
        raise refusal("advise.log_choice", several=several, known=listed(known))
    if wanted is not None and wanted not in known:
        raise refusal("advise.log_unknown", none=none, known=listed(known) or "none")
    return known[0] if wanted is None and known else wanted


def choose_systems(folder: Path, known: Sequence[str], wanted: Sequence[str] | None, task: str) -> list[str]:
    """Return the models to compare, at least two."""
    for name in wanted or ():
        choose(name, known, "", f"systems: there is no model {name!r} in {folder}")
    chosen = list(wanted or known)
    if len(chosen) < 2:
        raise refusal("advise.one_model", where=folder, name=chosen[0], task=task)
    check_systems(f"predictions={folder}", chosen)
    return chosen


def as_number(value: object) -> float | None:
    """Return a score as a finite number, None where it is none: true and its text are 1.

    >>> [as_number(value) for value in (True, "False", "1.0", 0.5, [1], "C")]
    [1.0, 0.0, 1.0, 0.5, None, None]
    """
    if not isinstance(value, bool | int | float | str):
        return None
    label = plain_label(str(value))
    try:
        number = float(BINARY.get(label, label))
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def hash_of(value: object) -> int | None:
    """Return a hash of what JSON holds, None of nothing."""
    return None if value is None else hash(json.dumps(value, sort_keys=True))


def check_same_items(folder: Path, logs: Logs) -> bool:
    """Refuse logs of other items, or of other documents; return whether all documents could be compared."""
    compared = True
    (first, reference), *others = logs.answers.items()
    for name, own in others:
        alone = min(own.keys() ^ reference.keys(), default=None)
        if alone is not None:
            has, lacks = (name, first) if alone in own else (first, name)
            numbers = {"n_first": len(reference), "n_own": len(own), "has": has, "lacks": lacks}
            told = {"first": first, "name": name, "what": logs.item, "item": alone}
            raise refusal("advise.other_items", where=folder, **numbers, **told)
        for item, answer in own.items():
            known = _known_in_both(logs.documents, answer, reference[item])
            compared &= bool(known)
            other = next((key for key, same in known.items() if not same), None)
            if other is not None:
                told = {"what": logs.item, "item": item, "name": name, "first": first, "key": other}
                raise refusal("advise.other_document", where=folder, **told)
    return compared


def _known_in_both(documents: Sequence[str], answer: Answer, other: Answer) -> dict[str, bool]:
    """Return whether what both logs say of a document is the same: its hash, else itself and the target."""
    known = {
        key: own == their
        for key, own, their in zip(documents, answer[1], other[1], strict=True)
        if own is not None and their is not None
    }
    return {"doc_hash": known["doc_hash"]} if "doc_hash" in known else known


def listed(names: Sequence[str]) -> str:
    """Return names for a sentence, twenty of them and the number of the rest."""
    return ", ".join(names[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else "")
