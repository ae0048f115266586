"""A table of scores: a number of every system for each item, such as BLEU, average precision or a rating."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.advise.files.clusters import check_column, number_clusters, tell_size
from harness.advise.files.columns import (
    CATEGORY,
    ITEM_NAMES,
    TRUTH_NAMES,
    Items,
    Reading,
    check_holds_items,
    check_systems,
    read_clusters,
    read_column,
    read_numbers,
    tell_rest,
)
from harness.errors import UserError
from harness.tables.files import Table
from harness.tables.labels import missing_words

Floats = NDArray[np.float64]

NEEDED = "a score is a finite number; systems=[NAME,NAME] names the systems' columns"


class Scores(NamedTuple):
    """Of every item each system's score; more is better."""

    name: str
    scores: Mapping[str, Floats]
    clusters: NDArray[np.int64] | None = None
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def systems(self) -> list[str]:
        """The systems' names."""
        return list(self.scores)

    @property
    def n_total(self) -> int:
        """How many items there are."""
        return len(next(iter(self.scores.values())))

    @property
    def about(self) -> str:
        """What the file holds, in words."""
        if self.clusters is None:
            return "a score of each system"
        return f"a score of each system; {tell_size(self.clusters, np.ones_like(self.clusters))}"


def find_scores(where: str, columns: Sequence[str], reading: Reading) -> list[str]:
    """Return the columns of the systems."""
    no_system = (*ITEM_NAMES, *TRUTH_NAMES, CATEGORY, reading.cluster)
    check_holds_items(where, columns)
    chosen = [name for name in columns if name not in no_system]
    if reading.systems is not None:
        chosen = [str(name) for name in reading.systems]
    for name in chosen:
        if name not in columns:
            raise UserError(f"{where}: there is no column {name!r}; it has {', '.join(columns[:20])}")
    check_systems(where, chosen)
    return chosen


def read_scores(table: Table, reading: Reading) -> Scores:
    """Read a table with a column of numbers for each system; UserError if one holds something else."""
    where, columns = table.where, table.names
    chosen = find_scores(where, columns, reading)
    if reading.cluster is not None:
        check_column(reading.cluster, columns, chosen)
    aside = (reading.cluster,) if reading.cluster else ()
    items, absent = Items(table, [*chosen, *aside]), missing_words(reading.missing)
    parts: dict[str, list[Floats]] = {name: [] for name in chosen}
    clusters = []
    for part in table.parts:
        for name in chosen:
            column = read_column(where, part, name, items.n_before, "item", absent)
            values = read_numbers(f"{where}: column {name!r}", column, NEEDED, np.isinf)
            parts[name].append(values[column.places])
        clusters += [own.text() for own in read_clusters(where, part, reading, items.n_before).values()]
        items.add(part)
    warnings, notes = tell_rest(columns, chosen, reading.cluster)
    found = {name: np.concatenate(own) for name, own in parts.items()}
    numbers = None
    if clusters:
        names = np.concatenate(clusters)
        numbers = number_clusters(f"cluster: column {reading.cluster!r}", names, len(names))
    told = tuple(items.finish())
    return Scores(table.path.name, found, numbers, (*warnings, *told), (*table.notes, *notes))
