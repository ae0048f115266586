"""A file of predictions: the truth and what each system said, as distinct rows with their counts."""

import itertools
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.advise.files.columns import REMEDY, Items, Reading, Roles, find_roles, number_clusters, with_size
from harness.errors import refusal
from harness.measures import Bools, Ints
from harness.tables.files import Table, open_table
from harness.tables.labels import (
    BINARY,
    POSITIVE_NAMES,
    Column,
    check_labels,
    check_spellings,
    is_number,
    is_whole,
    plain_label,
    same_as_truth,
    share,
    tell_unknown,
)

MOST_DISTINCT = 2_000_000
MOST_VALUES = 1_000  # of a column of text or scores; one with more is refused before the whole file is read
PYTHON_REMEDY = "decisions in the labels of y are needed"
ACCURACY = (
    "accuracy is 1 - error: every difference here is one of the error, and below 0 the first of the pair is "
    "the more accurate"
)
Rows = Mapping[tuple[str, ...], int]


class Predictions(NamedTuple):
    """What a file says, a row for each distinct one; `truth` is None where it says right (1) or wrong (0)."""

    name: str
    truth: NDArray[Any] | None
    systems: dict[str, NDArray[Any]]
    n_items: Ints
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    clusters: Ints | None = None


class Outcomes(NamedTuple):
    """Truth and decisions as yes and no, a row for each distinct row of the file; and its cluster."""

    truth: Bools
    decisions: dict[str, Bools]
    n_items: Ints
    about: str
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    clusters: Ints | None = None

    @property
    def systems(self) -> list[str]:
        """The systems' names."""
        return list(self.decisions)

    @property
    def n_total(self) -> int:
        """How many items the file has."""
        return int(self.n_items.sum())

    def cells(self, a: str, b: str) -> Ints:
        """Return the eight counts e1..e8 of a pair of systems."""
        code = 4 * ~self.truth + 2 * ~self.decisions[b] + 1 * ~self.decisions[a]
        return np.bincount(code, weights=self.n_items, minlength=8).astype(np.int64)


class _Kept:
    """Distinct rows with their numbers; labels are kept once."""

    def __init__(self) -> None:
        self.labels: dict[str, int] = {}
        self.rows: Counter[tuple[int, ...]] = Counter()

    def add(self, columns: Iterable[Column]) -> None:
        known = self.labels
        codes = []
        for column in columns:
            ours = [known.setdefault(label, len(known)) for label in column.labels]
            codes.append(np.array(ours, dtype=np.int64)[column.places])
        first, counts = count_rows(codes)
        for row, number in zip(np.stack(codes, axis=1)[first].tolist(), counts.tolist(), strict=True):
            self.rows[tuple(row)] += number

    def text(self) -> dict[tuple[str, ...], int]:
        """Return the rows as labels."""
        names = list(self.labels)
        return {tuple(names[place] for place in row): number for row, number in self.rows.items()}


def count_rows(codes: Sequence[Ints]) -> tuple[Ints, Ints]:
    """Return the first place of each different row of whole numbers >= 0, and how often it occurs.

    >>> count_rows([np.array([0, 1, 0, 1]), np.array([7, 5, 7, 2])])[1].tolist()
    [2, 1, 1]
    """
    key, n_keys = np.zeros(len(codes[0]), dtype=np.int64), 1
    for column in codes:
        width = int(column.max(initial=0)) + 1
        if n_keys * width >= 2**62:
            different, key = np.unique(key, return_inverse=True)
            n_keys = len(different)
        key, n_keys = key * width + column, n_keys * width
    _, first, counts = np.unique(key, return_index=True, return_counts=True)
    return first, counts


def read_predictions(path: str | Path | Table, **given: Any) -> Predictions:
    """Read a table with a column of truth and one for each system, in any format of `harness.tables`.

    The file is read some rows at a time, and only distinct rows are kept with their numbers. Labels are those
    of :func:`harness.tables.labels.plain_label`: 1.0 and +1 are 1, and where the truth is 0 and 1, or true
    and false, each is the other too. A table without a truth whose columns are all 0 and 1 says right and
    wrong. What is `given` is what a :class:`Reading` holds.
    """
    table, reading = path if isinstance(path, Table) else open_table(path, "predictions"), Reading(**given)
    where, named, cluster = table.where, reading.systems is not None, reading.cluster
    roles = find_roles(where, table.names, reading, graded=reading.threshold is None)
    items, kept = Items(table, reading, roles.columns()), _Kept()
    for part in table.parts:
        columns = items.decisions(part, roles)
        if roles.truth is None:
            _check_graded(where, columns)
        kept.add([*columns.values(), *items.clusters(part)])
        items.add(part)
        if roles.truth is not None:
            _check_distinct(where, kept, roles, named)
        if len(kept.rows) > MOST_DISTINCT:
            raise refusal("advise.many_rows", where=where, most=MOST_DISTINCT)
    warnings = (*roles.warnings, *items.finish())
    rows = _join_binary(kept.text(), len(roles.columns()), graded=roles.truth is None)
    ordered = sorted(rows)
    said = [np.array(column, dtype=object) for column in zip(*ordered, strict=True)]
    clusters = None
    if cluster is not None:
        clusters = number_clusters(f"cluster: column {cluster!r}", said.pop(), items.n_before)
    found = Predictions(
        table.path.name, None if roles.truth is None else said.pop(0),
        dict(zip(roles.systems, said, strict=True)), np.array([rows[row] for row in ordered], dtype=np.int64),
        warnings, (*table.notes, *roles.notes), clusters,
    )  # fmt: skip
    if reading.threshold is not None:
        _check_binary_truth(where, found)
    else:
        call = f"{where}: column {{!r}}".format
        check_predictions(found, call(roles.truth), call, named, REMEDY)
    return found


def _check_graded(where: str, columns: Mapping[str, Column]) -> None:
    for name, column in columns.items():
        other = next((label for label in column.labels if label not in (*BINARY, *BINARY.values())), None)
        if other is not None:
            raise refusal("advise.not_graded", where=where, name=name, label=other[:40])


def _join_binary(rows: Rows, n_columns: int, graded: bool) -> Rows:
    """Return rows with true and false of the first columns as 1 and 0, or the reverse, as the truth is."""
    same = BINARY if graded else same_as_truth({row[0] for row in rows})
    joined: Counter[tuple[str, ...]] = Counter()
    for row, number in rows.items():
        joined[*(same.get(label, label) for label in row[:n_columns]), *row[n_columns:]] += number
    return joined


def _check_distinct(where: str, kept: _Kept, roles: Roles, named: bool) -> None:
    """Refuse text and scores before the whole file is read: nearly every row of them is another.

    Of a file sorted by its truth the rows so far know few labels; hence one in twenty is asked for, not half.
    """
    if min(len(kept.rows), len(kept.labels)) <= MOST_VALUES:
        return
    rows = kept.text()
    numbers, columns = np.array(list(rows.values())), list(zip(*rows, strict=True))[: len(roles.columns())]
    labels, *said = (count_labels(column, numbers) for column in columns)
    many = {name: own for name, own in zip(roles.systems, said, strict=True) if len(own) > MOST_VALUES}
    if many and len(labels) > MOST_VALUES:
        check_labels(f"{where}: column {roles.truth!r}", labels, many.values())
    for name, own in many.items():
        known = sum(own[label] for label in labels)
        if 20 * known < own.total() or are_scores(own.keys() - labels, labels):
            check_system(f"{where}: column {name!r}", own, labels, named, REMEDY)


def _check_binary_truth(where: str, found: Predictions) -> None:
    labels = sorted(set(found.truth)) if found.truth is not None else []
    if len(labels) > 1 and labels not in (["0", "1"], ["false", "true"]):
        raise refusal("advise.threshold_truth", path=where.partition("=")[2], labels=labels[:10])


def check_predictions(
    found: Predictions, truth: str, call: Callable[[str], str], named: bool, remedy: str
) -> None:
    """Refuse measurements, columns that are no system's, and two spellings of one label.

    `truth` and `call` begin the sentences, `remedy` ends them; `named`: the user said that these are systems.
    """
    if found.truth is None:
        return
    labels = count_labels(found.truth, found.n_items)
    said = {name: count_labels(values, found.n_items) for name, values in found.systems.items()}
    check_labels(truth, labels, said.values())
    check_spellings(truth, labels)
    for name, own in said.items():
        check_spellings(call(name), labels, sorted(own.keys() - labels))
        if len(labels) > 1:
            check_system(call(name), own, labels, named, remedy)


def count_labels(values: Iterable[str], n_items: Ints) -> Counter[str]:
    """Return how many items have each label."""
    counted: Counter[str] = Counter()
    for label, number in zip(values, n_items.tolist(), strict=True):
        counted[label] += number
    return counted


def check_system(
    where: str, said: Mapping[str, int], labels: Collection[str], named: bool, remedy: str
) -> None:
    """Refuse what is no system's decisions, `said` being the items on which it says each value.

    A column that the user did not name must say a label of the truth on most items: text, names or numbers of
    rows say none, or few by chance. What was named may hold answers of any kind, as to open questions; but
    without one label of the truth it is wrong on every item whatever the truth.
    """
    strange = sorted(said.keys() - set(labels))
    if not strange:
        return
    shown = ", ".join(label[:40] for label in sorted(labels)[:5]) + (", ..." if len(labels) > 5 else "")
    if are_scores(strange, labels, named):
        score = next(value for value in strange if not is_whole(value))
        if set(labels) <= {"0", "1"} and remedy == REMEDY:
            remedy = f"threshold=NUMBER turns them into decisions, {remedy}"
        told = {"score": score[:40], "shown": shown, "remedy": remedy}
        raise refusal("advise.scores_for_labels", where=where, **told)
    total = sum(said.values())
    known = total - sum(said[value] for value in strange)
    if known == 0 or (not named and 2 * known < total):
        told = {"shown": shown, "label": strange[0][:40], "remedy": remedy}
        raise refusal("advise.strange_labels", where=where, known=known, total=total, **told)


def are_scores(strange: Collection[str], labels: Collection[str], named: bool = True) -> bool:
    """Return whether values beside labels that are whole numbers are probabilities or other scores."""
    if not all(map(is_whole, labels)) or not all(map(is_number, strange)):
        return False
    broken = [value for value in strange if not is_whole(value)]
    if not broken:
        return False
    if len(labels) == 2 or len(broken) > max(20, 10 * len(labels)):
        return True
    return not named and all(0 < float(value) < 1 for value in broken)


def default_measure(predictions: Predictions, positive: object = None) -> str:
    """Return "f1" where it is plain which label is positive, else "error"."""
    plain = predictions.truth is not None and (positive is not None or plain_positive(set(predictions.truth)))
    return "f1" if plain else "error"


def plain_positive(labels: Collection[str]) -> str | None:
    """Return the one of two labels that is positive by its name, if there is one."""
    plain = [name for name in labels if name.lower() in POSITIVE_NAMES]
    return plain[0] if len(labels) == 2 and len(plain) == 1 else None


def as_outcomes(
    predictions: Predictions,
    measure: str,
    positive: object = None,
    call: Callable[[str], str] = "column {!r}".format,
    remedy: str = REMEDY,
) -> Outcomes:
    """Turn labels into yes and no: the positive label or not; for the error alone, right or wrong.

    A label that the truth lacks is wrong. For other measures than the error it is not the positive label
    where the truth has more than two; where it has two, it is refused.

    >>> table = Predictions("x", np.array(["a", "b"], object), {"s": np.array(["a", "a"], object),
    ...                     "t": np.array(["b", "b"], object)}, np.array([3, 2]))
    >>> as_outcomes(table, "error").cells("s", "t").tolist()
    [0, 2, 3, 0, 0, 0, 0, 0]
    """
    truth, n_items, more = predictions.truth, predictions.n_items, (predictions.warnings, predictions.notes)
    if truth is None:
        _check_only_graded(predictions, measure, positive)
        right = {name: values == "1" for name, values in predictions.systems.items()}
        about = with_size("no truth, right or wrong", predictions.clusters, n_items)
        return Outcomes(np.ones(len(n_items), dtype=bool), right, n_items, about, *more, predictions.clusters)
    labels = sorted(set(truth))
    wanted = _find_wanted(predictions.name, labels, measure, positive)
    effect = "counts as wrong" if measure == "error" else f"counts as not {wanted!r}"
    warnings = list(predictions.warnings)
    is_wanted = np.asarray(truth == wanted if wanted is not None else np.ones(len(truth)), dtype=bool)
    decisions = {}
    for name, values in predictions.systems.items():
        said = count_labels(values, n_items)
        if len(labels) == 2 and measure != "error":
            _refuse_unknown(call(name), said, labels, measure, remedy)
        warnings += tell_unknown(name, said, labels, effect)
        decisions[name] = values == (truth if wanted is None else wanted)
        if measure == "error":
            decisions[name] = np.where(np.isin(values, labels), decisions[name], ~is_wanted)
    about = f"{len(labels)} labels, right or wrong" if wanted is None else f"positive label {wanted!r}"
    clusters = predictions.clusters
    about = with_size(about, clusters, n_items)
    return Outcomes(is_wanted, decisions, n_items, about, tuple(warnings), predictions.notes, clusters)


def _find_wanted(name: str, labels: Sequence[str], measure: str, positive: object) -> str | None:
    if len(labels) < 2:
        raise refusal("advise.one_truth", name=name, label=labels[0][:40])
    wanted = plain_positive(labels) if positive is None else _find_label(positive, labels)
    if wanted is None and measure != "error":
        named = [label[:40] for label in labels[:20]]
        raise refusal("advise.which_positive", measure=measure, labels=named)
    return wanted


def _check_only_graded(predictions: Predictions, measure: str, positive: object) -> None:
    if measure != "error" or positive is not None:
        what = f"measure: {measure}" if measure != "error" else f"positive: {positive!r}"
        raise refusal("advise.only_graded", what=what, name=predictions.name)
    if predictions.n_items.sum() < 2:
        raise refusal("advise.one_item", name=predictions.name)


def _refuse_unknown(
    where: str, said: Mapping[str, int], labels: Sequence[str], measure: str, remedy: str
) -> None:
    """Refuse a third label where the truth has two, for measures that do not say what it would mean."""
    strange = sorted(said.keys() - set(labels))
    if strange:
        scores = "threshold=NUMBER turns scores into decisions, "
        remedy = f"{scores}{remedy}" if is_number(strange[0]) and remedy == REMEDY else remedy
        n, total = sum(said[label] for label in strange), sum(said.values())
        raise refusal(
            "advise.third_label", where=where, label=strange[0][:40], labels=" and ".join(labels), n=n,
            total=total, share=share(n, total), measure=measure, remedy=remedy,
        )  # fmt: skip


def _find_label(positive: object, labels: Collection[str]) -> str:
    """Return the label that is meant: 1.0 means 1, and true means 1 where that is one."""
    plain = plain_label(str(positive))
    numbers = {number: name for name, number in BINARY.items()}
    found = next((one for one in (plain, BINARY.get(plain), numbers.get(plain)) if one in labels), None)
    if found is None:
        raise refusal("advise.no_label", positive=str(positive), known=", ".join(labels)[:400])
    return found


def name_pairs(systems: Iterable[str], baseline: str | None = None) -> list[tuple[str, str, str]]:
    """Return every two systems in their order, or each with the baseline, and the name of the pair.

    >>> name_pairs(["a", "b"]), name_pairs(["x-1", "y"])
    ([('a', 'b', 'a-b')], [('x-1', 'y', 'x-1 vs y')])
    >>> name_pairs(["a", "b", "c"], "b")
    [('a', 'b', 'a-b'), ('c', 'b', 'c-b')]
    """
    names = list(systems)
    between = " vs " if any("-" in name for name in names) else "-"
    pairs = itertools.combinations(names, 2)
    if baseline is not None:
        pairs = ((name, baseline) for name in names if name != baseline)  # type: ignore[assignment]
    return [(a, b, f"{a}{between}{b}") for a, b in pairs]
