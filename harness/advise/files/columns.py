"""Which columns of a table of predictions hold the truth, which the systems, and what else stands there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.advise.files.clusters import check_column
from harness.errors import UserError
from harness.tables.files import Part, Table
from harness.tables.labels import Column, as_text, missing_words, read_labels
from harness.tables.repeats import Repeats

TRUTH_NAMES = ("y_true", "label", "truth", "target", "gold")
OTHER_TRUTHS = (
    "y", "labels", "class", "answer", "actual", "expected", "gt", "ground_truth", "reference", "y_test",
)  # fmt: skip
ID_NAMES = ("id", "item", "item_id", "doc_id", "query_id", "qid")
ITEM_NAMES = (*ID_NAMES, "index")
GROUP_NAMES = (
    "document", "document_id", "doc", "cluster", "group", "passage", "patient", "subject", "speaker",
)  # fmt: skip
CATEGORY = "category"
REMEDY = "systems=[NAME,NAME] names the systems' columns, truth_column=COLUMN that of the truth"
MOST_IDS = 10_000_000
MOST_SYSTEMS = 200


@dataclass(frozen=True)
class Reading:
    """How a table is read: the settings of ``harness advise`` of these names, None finding what is usual."""

    truth: str | None = None
    systems: Sequence[str] | None = None
    threshold: float | None = None
    missing: Sequence[object] = ()
    positive: object = None
    category_column: str | None = None
    separator: str = "."
    cluster: str | None = None


class Roles(NamedTuple):
    """The columns of the truth (None: the systems' say right or wrong) and of the systems."""

    truth: str | None
    systems: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def columns(self) -> tuple[str, ...]:
        """Return the names of all."""
        return self.systems if self.truth is None else (self.truth, *self.systems)


def check_holds_items(where: str, there: object) -> None:
    """Refuse a table without an item."""
    if not there:
        raise UserError(f"{where}: it holds no item; at least one row is needed")


def check_systems(where: str, chosen: Sequence[str], truth: str | None = None) -> None:
    """Refuse fewer than two different systems beside the truth, and more than there is room for."""
    if len(chosen) > MOST_SYSTEMS:
        most = f"at most {MOST_SYSTEMS} are allowed, which systems=[NAME,NAME] chooses"
        raise UserError(f"{where}: it has {len(chosen):,} systems; {most}")
    if len(chosen) < 2 or len(set(chosen)) < len(chosen) or truth in chosen:
        needed = "at least two different columns beside the truth are needed"
        raise UserError(f"{where}: the systems are {', '.join(chosen) or 'none'}; {needed}")


def find_roles(where: str, columns: Sequence[str], reading: Reading, graded: bool = True) -> Roles:
    """Return which columns are read; `graded`: a table without a truth may say right or wrong."""
    truth = reading.truth
    if truth is None:
        truth = _find_truth(where, columns, reading.systems, graded)
    no_system = {truth, reading.cluster, *ITEM_NAMES, *TRUTH_NAMES, *([CATEGORY] if truth is None else [])}
    others = [name for name in columns if name not in no_system]
    chosen = others if reading.systems is None else [str(name) for name in reading.systems]
    for name in [*([] if truth is None else [truth]), *chosen]:
        if name not in columns:
            raise UserError(f"{where}: there is no column {name!r}; it has {', '.join(columns[:20])}")
    check_systems(where, chosen, truth)
    if reading.cluster is not None:
        check_column(reading.cluster, columns, [*([] if truth is None else [truth]), *chosen])
    warnings, notes = tell_rest(columns, [*([] if truth is None else [truth]), *chosen], reading.cluster)
    if truth is None:
        graded_as = "1 is read as right and 0 as wrong; truth_column=COLUMN names a truth"
        warnings = (f"the file has no column of a truth: {graded_as}", *warnings)
    return Roles(truth, tuple(chosen), warnings, notes)


def _find_truth(
    where: str, columns: Sequence[str], systems: Sequence[str] | None, graded: bool
) -> str | None:
    plain = [name for name in TRUTH_NAMES if name in columns]
    if len(plain) > 1 and systems is None:
        raise UserError(
            f"{where}: columns {' and '.join(map(repr, plain))} have names of a truth; truth_column=COLUMN "
            "says which it is, systems=[NAME,NAME] which columns are systems"
        )
    if plain:
        return plain[0]
    likely = [name for name in columns if name.lower() in (*TRUTH_NAMES, *OTHER_TRUTHS)]
    if not graded or (likely and systems is None):
        raise UserError(
            f"{where}: no column is named {', '.join(TRUTH_NAMES)}; truth_column=COLUMN names it, one of "
            f"{', '.join(likely or columns[:20])}"
        )
    return None


def tell_rest(
    columns: Sequence[str], used: Sequence[str], cluster: str | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return warnings and notes on the columns that are not used."""
    warnings, rest = [], [name for name in columns if name not in (cluster, *used, *ID_NAMES)]
    groups = [name for name in rest if name.lower() in GROUP_NAMES]
    if groups and cluster is None:
        warnings.append(
            f"column {groups[0]!r} is not used: if items of one {groups[0]} depend on each other, every test "
            f"here rejects too often; cluster={groups[0]} draws each {groups[0]} whole"
        )
    left_out = ", ".join(rest[:10]) + (f" and {len(rest) - 10} more" if len(rest) > 10 else "")
    return tuple(warnings), (f"columns that are not read: {left_out}",) if rest else ()


def read_column(
    where: str, part: Part, name: str, n_before: int, unit: str, missing: frozenset[str] = frozenset()
) -> Column:
    """Return the labels of one column; refuse a missing one. `n_before` rows, each a `unit`, stand before."""
    column = read_labels(part[name], missing)
    absent = column.places < 0
    if absent.any():
        raise UserError(
            f"{where}: {unit} {n_before + int(np.argmax(absent)) + 1} has no value in column {name!r}; every "
            f"{unit} needs one in each column that is read"
        )
    return column


def read_clusters(
    where: str, part: Part, reading: Reading, n_before: int, unit: str = "item"
) -> dict[str, Column]:
    """Return the column of clusters by its name, nothing where there is none."""
    name = reading.cluster
    return {} if name is None else {name: read_column(where, part, name, n_before, unit)}


def read_roles(
    where: str, part: Part, roles: Roles, reading: Reading, n_before: int, unit: str = "item"
) -> dict[str, Column]:
    """Return the columns of truth and systems, scores as decisions."""
    absent = missing_words(reading.missing)
    found = {name: read_column(where, part, name, n_before, unit, absent) for name in roles.columns()}
    if reading.threshold is not None:
        limit = float(reading.threshold)
        found |= {name: _decide_scores(where, name, found[name], limit) for name in roles.systems}
    return found


def _decide_scores(where: str, name: str, column: Column, threshold: float) -> Column:
    scores = read_numbers(f"{where}: column {name!r}", column, "threshold= needs numbers", np.isnan)
    return Column((scores >= threshold).astype(np.int64)[column.places], ["0", "1"])


def read_numbers(
    where: str, column: Column, needed: str, refused: Callable[[float], Any]
) -> NDArray[np.float64]:
    """Return the labels of a column as numbers; refuse text, and numbers that are `refused`."""
    found = []
    for label in column.labels:
        try:
            value = float(label)
        except ValueError:
            value = np.nan
        if np.isnan(value) or refused(value):
            raise UserError(f"{where} holds {label[:40]!r}; {needed}")
        found.append(value)
    return np.array(found)


class Items:
    """The rows of a table one by one: an id may come once, and rows without one are not all repeated."""

    def __init__(self, table: Table, roles: Sequence[str]) -> None:
        self._where = table.where
        self._id = next((name for name in ID_NAMES if name in table.names and name not in roles), None)
        self._hashes: list[NDArray[np.uint64]] = []
        self._repeats = Repeats()
        self.n_before = 0

    def add(self, part: Part) -> None:
        """Take note of the next rows."""
        if self._id is None:
            self._repeats.add(part)
        elif self.n_before < MOST_IDS:
            names = [as_text(value) or "" for value in part[self._id].values]
            if not all(names):
                lacks = f"item {self.n_before + names.index('') + 1} has no value in column {self._id!r}"
                raise UserError(f"{self._where}: {lacks}; every item needs one, or no such column")
            own = np.array([name.strip() for name in names], dtype=object)
            from pandas.util import hash_array

            self._hashes.append(hash_array(own, categorize=False))
        self.n_before += len(next(iter(part.values())).values)

    def finish(self) -> list[str]:
        """Refuse a file without an item and one in which an id comes twice; return warnings."""
        check_holds_items(self._where, self.n_before)
        if self._hashes:
            self._check_ids(np.concatenate(self._hashes))
        return [] if self._id is not None else self._repeats.warnings()

    def _check_ids(self, every: NDArray[np.uint64]) -> None:
        from pandas import Series

        again = Series(every).duplicated().to_numpy()
        if again.any():
            place = int(np.argmax(again))
            first = int(np.argmax(every == every[place]))
            two = f"items {first + 1} and {place + 1} have the same {self._id}"
            raise UserError(f"{self._where}: {two}; each is allowed once")
