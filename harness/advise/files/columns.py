"""Which columns of a table of predictions hold the truth, which the systems, and what else stands there."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harness.errors import instead, refusal
from harness.measures import Floats, Ints
from harness.tables.files import Part, Table
from harness.tables.labels import Column, as_text, missing_words, read_labels
from harness.tables.repeats import Repeats
from harness.writing.prose import paragraphs

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


def check_column(column: str, columns: Sequence[str], used: Sequence[str]) -> None:
    """Refuse a column of clusters that is not there, or that holds the truth, a system or the categories."""
    if column not in columns:
        near = instead(column, columns, f"it has {', '.join(columns[:20])}")
        raise refusal("advise.cluster_column", column=column, near=near)
    if column in used:
        raise refusal("advise.cluster_used", column=column)


def number_clusters(where: str, names: NDArray[Any], n_items: int) -> Ints:
    """Return the number of each row's cluster; `where` begins the sentence that refuses what are none."""
    different, places = np.unique(names, return_inverse=True)
    if len(different) == 1:
        raise refusal("advise.one_cluster", where=where, cluster=str(different[0])[:40])
    if len(different) == n_items:
        raise refusal("advise.clusters_of_one", where=where, n_items=n_items)
    return np.asarray(places.ravel(), dtype=np.int64)


def with_size(about: str, clusters: Ints | None, n_items: ArrayLike) -> str:
    """Return what a file holds, in words, with the number of its clusters and how large they are."""
    if clusters is None:
        return about
    sizes = np.bincount(clusters, weights=np.broadcast_to(n_items, clusters.shape)).astype(int)
    least, most = sizes.min(), sizes.max()
    each = f"{least:,} items each" if least == most else f"{least:,} to {most:,} items"
    return f"{about}; {len(sizes):,} clusters of {each}, drawn whole"


class Reading(NamedTuple):
    """How a table is read: the settings of ``harness advise`` of these names, None finding what is usual."""

    truth: str | None = None
    systems: Sequence[str] | None = None
    threshold: float | None = None
    missing: Sequence[object] = ()
    positive: object = None
    category_column: str | None = None
    separator: str = "."
    cluster: str | None = None

    def aside(self) -> list[str]:
        """Return the column of clusters, which is none of a system's or of an item's name."""
        return [] if self.cluster is None else [self.cluster]

    def number(self, clusters: Sequence[NDArray[Any]]) -> Ints | None:
        """Return the number of each row's cluster, the rows being in parts; None without any."""
        if not clusters:
            return None
        names = np.concatenate(clusters)
        return number_clusters(f"cluster: column {self.cluster!r}", names, len(names))


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
        raise refusal("advise.no_item", where=where)


def check_systems(where: str, chosen: Sequence[str], truth: str | None = None) -> None:
    """Refuse fewer than two different systems beside the truth, and more than there is room for."""
    if len(chosen) > MOST_SYSTEMS:
        raise refusal("advise.many_systems", where=where, n=len(chosen), most=MOST_SYSTEMS)
    if len(chosen) < 2 or len(set(chosen)) < len(chosen) or truth in chosen:
        raise refusal("advise.few_systems", where=where, systems=list(chosen) or "none")


def find_item(before: str, columns: Sequence[str], run: str | None = None) -> str:
    """Return the column that names the items; `before` begins the sentence that refuses a table without."""
    item = next((name for name in ID_NAMES if name in columns and name != run), None)
    if item is None:
        raise refusal("advise.no_item_column", where=before, known=ID_NAMES, columns=columns[:20])
    return item


def find_roles(
    where: str, columns: Sequence[str], reading: Reading, graded: bool = True, scores: bool = False
) -> Roles:
    """Return which columns are read; without a truth a table may be `graded` or of `scores`."""
    check_holds_items(where, columns)
    truth = reading.truth
    if truth is None and not scores:
        truth = _find_truth(where, columns, reading.systems, graded)
    no_system = {truth, reading.cluster, *ITEM_NAMES, *TRUTH_NAMES, *([CATEGORY] if truth is None else [])}
    others = [name for name in columns if name not in no_system]
    chosen = others if reading.systems is None else [str(name) for name in reading.systems]
    used = chosen if truth is None else [truth, *chosen]
    for name in used:
        if name not in columns:
            raise refusal("advise.no_column", where=where, name=name, columns=columns[:20])
    check_systems(where, chosen, truth)
    if reading.cluster is not None:
        check_column(reading.cluster, columns, used)
    rest = [name for name in columns if name not in (reading.cluster, *used, *ID_NAMES)]
    groups = [name for name in rest if name.lower() in GROUP_NAMES and reading.cluster is None]
    warnings = paragraphs("advise", "groups", names=groups[:1])
    if truth is None and not scores:
        graded_as = "1 is read as right and 0 as wrong; truth_column=COLUMN names a truth"
        warnings = [f"the file has no column of a truth: {graded_as}", *warnings]
    return Roles(truth, tuple(chosen), tuple(warnings), tuple(paragraphs("advise", "not_read", names=rest)))


def _find_truth(
    where: str, columns: Sequence[str], systems: Sequence[str] | None, graded: bool
) -> str | None:
    plain = [name for name in TRUTH_NAMES if name in columns]
    if len(plain) > 1 and systems is None:
        raise refusal("advise.several_truths", where=where, truths=" and ".join(map(repr, plain)))
    if plain:
        return plain[0]
    likely = [name for name in columns if name.lower() in (*TRUTH_NAMES, *OTHER_TRUTHS)]
    if not graded or (likely and systems is None):
        raise refusal("advise.no_truth", where=where, usual=TRUTH_NAMES, columns=likely or columns[:20])
    return None


class Items:
    """The rows of a table, some at a time: an id may come once, and rows without one are not all repeated.

    A row is a `unit`; `named` are columns that hold no id.
    """

    def __init__(self, table: Table, reading: Reading, named: Sequence[str] = (), unit: str = "item") -> None:
        self._where, self._reading, self._unit = table.where, reading, unit
        self._absent, no_id = missing_words(reading.missing), [*named, *reading.aside()]
        self._id = next((name for name in ID_NAMES if name in table.names and name not in no_id), None)
        self._hashes: list[NDArray[np.uint64]] = []
        self._repeats = Repeats()
        self.n_before = 0

    def column(self, part: Part, name: str, absent: frozenset[str] = frozenset()) -> Column:
        """Return the labels of one column; refuse a missing one."""
        column = read_labels(part[name], absent)
        lacking = column.places < 0
        if lacking.any():
            number = self.n_before + int(np.argmax(lacking)) + 1
            raise refusal("advise.no_value", where=self._where, unit=self._unit, number=number, name=name)
        return column

    def clusters(self, part: Part) -> list[Column]:
        """Return the column of clusters, nothing where there is none."""
        return [self.column(part, name) for name in self._reading.aside()]

    def decisions(self, part: Part, roles: Roles) -> dict[str, Column]:
        """Return the columns of truth and systems, scores as decisions."""
        found = {name: self.column(part, name, self._absent) for name in roles.columns()}
        if self._reading.threshold is not None:
            limit, needed = float(self._reading.threshold), "threshold= needs numbers"
            for name in roles.systems:
                yes = self._numbers(found[name], name, needed, np.isnan) >= limit
                found[name] = Column(yes.astype(np.int64)[found[name].places], ["0", "1"])
        return found

    def scores(self, part: Part, name: str) -> Floats:
        """Return a column of finite numbers."""
        needed = "a score is a finite number; systems=[NAME,NAME] names the systems' columns"
        column = self.column(part, name, self._absent)
        return self._numbers(column, name, needed, np.isinf)[column.places]

    def _numbers(self, column: Column, name: str, needed: str, refused: Callable[[float], Any]) -> Floats:
        """Return the labels of a column as numbers; refuse text, and numbers that are `refused`."""
        where, found = f"{self._where}: column {name!r}", []
        for label in column.labels:
            try:
                value = float(label)
            except ValueError:
                value = np.nan
            if np.isnan(value) or refused(value):
                raise refusal("advise.no_number", where=where, label=label[:40], needed=needed)
            found.append(value)
        return np.array(found)

    def add(self, part: Part) -> None:
        """Take note of the next rows."""
        if self._id is None:
            self._repeats.add(part)
        elif self.n_before < MOST_IDS:
            names = [as_text(value) or "" for value in part[self._id].values]
            if not all(names):
                number = self.n_before + names.index("") + 1
                raise refusal("advise.no_id", where=self._where, number=number, name=self._id)
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
            two = {"first": first + 1, "second": place + 1, "name": self._id}
            raise refusal("advise.same_id", where=self._where, **two)
