"""A table of scores: a number of every system for each item, such as BLEU, average precision or a rating."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from harness.advise.files.columns import Items, Reading, find_roles, with_size
from harness.measures import Floats, Ints
from harness.tables.files import Table


class Scores(NamedTuple):
    """Of every item each system's score; more is better."""

    name: str
    scores: Mapping[str, Floats]
    clusters: Ints | None = None
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
        return with_size("a score of each system", self.clusters, 1)


def read_scores(table: Table, reading: Reading) -> Scores:
    """Read a table with a column of numbers for each system; UserError if one holds something else."""
    roles = find_roles(table.where, table.names, reading, scores=True)
    items = Items(table, reading, roles.systems)
    parts: dict[str, list[Floats]] = {name: [] for name in roles.systems}
    clusters = []
    for part in table.parts:
        for name in roles.systems:
            parts[name].append(items.scores(part, name))
        clusters += [own.text() for own in items.clusters(part)]
        items.add(part)
    found = {name: np.concatenate(own) for name, own in parts.items()}
    numbers, warnings = reading.number(clusters), (*roles.warnings, *items.finish())
    return Scores(table.path.name, found, numbers, warnings, (*table.notes, *roles.notes))
