"""Several runs (seeds, trials) of each system on the same items, from a long or a wide table."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.advise.files.columns import Items, Reading, check_holds_items, find_item
from harness.advise.files.predictions import Outcomes
from harness.advise.files.scores import Scores
from harness.errors import instead, refusal
from harness.measures import Ints
from harness.tables.files import Table
from harness.tables.labels import Values

BETWEEN = "@"  # of a system and its run, in the names of columns that are made of a long table
ALONE = "the seed is then part of the result, and nothing says how much another run would differ"


class Runs(NamedTuple):
    """What every run did, as columns of a table, and the columns of each system."""

    found: Outcomes | Scores
    columns: Mapping[str, Sequence[str]]
    paired: bool
    notes: tuple[str, ...] = ()

    @property
    def systems(self) -> list[str]:
        """The systems' names."""
        return list(self.columns)

    @property
    def n_total(self) -> int:
        """How many items there are."""
        return self.found.n_total

    @property
    def clusters(self) -> None:
        """Items are drawn one by one."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to know before the numbers."""
        alone = [name for name, own in self.columns.items() if len(own) == 1]
        more = [f"{name} has one run: how much another would differ is not counted" for name in alone]
        return (*self.found.warnings, *more)

    @property
    def about(self) -> str:
        """What the file holds, in words."""
        told = ", ".join(f"{len(own)} of {name}" for name, own in self.columns.items())
        return f"{self.found.about}; runs: {told}{', in pairs' if self.paired else ''}"

    def kinds(self, a: str, b: str) -> tuple[NDArray[Any], Ints]:
        """Return what the runs of A and then of B say of each different kind of item, and how many there are.

        Scores, or the outcome's place in e1, e2, e7, e8 beside a system that is always right.
        """
        names = [*self.columns[a], *self.columns[b]]
        said: NDArray[Any]
        if isinstance(self.found, Scores):
            said = np.stack([self.found.scores[name] for name in names])
            n_items = np.ones(self.n_total, dtype=np.int64)
        else:
            decided = np.stack([self.found.decisions[name] for name in names])
            said, n_items = 2 * ~self.found.truth + ~decided, self.found.n_items
        kinds, place = np.unique(said, axis=1, return_inverse=True)
        return kinds, np.bincount(place.ravel(), n_items, kinds.shape[1]).astype(np.int64)


def check_runs(columns: Mapping[str, Sequence[str]], paired: bool, setting: str) -> None:
    """Refuse fewer than two systems or runs, a column of two systems, and unequal numbers of paired runs."""
    every = [name for own in columns.values() for name in own]
    twice = next((name for name in every if every.count(name) > 1), None)
    if twice is not None:
        raise refusal("advise.twice_named", setting=setting, name=twice)
    if len(columns) < 2:
        raise refusal("advise.one_system", setting=setting, systems=list(columns) or "no system")
    numbers = {name: len(own) for name, own in columns.items()}
    if max(numbers.values()) < 2:
        raise refusal("advise.one_run_each", setting=setting, alone=ALONE)
    if paired and len(set(numbers.values())) > 1:
        raise refusal("advise.unequal_runs", told=[f"{n} of {name}" for name, n in numbers.items()])


def as_wide(
    table: Table, run: str, systems: Sequence[str], truth: str | None
) -> tuple[Table, dict[str, list[str]]]:
    """Return a long table, a row for each item and run, with a row for each item, and systems' columns."""
    where, names = table.where, table.names
    if run not in names:
        near = instead(run, names, f"it has {', '.join(names[:20])}")
        raise refusal("advise.run_column", run=run, near=near)
    item = find_item(f"run: {where} has a row for each item and run and", names, run)
    parts = _read_all(table, [item, run, *([truth] if truth is not None else [])], systems)
    check_holds_items(where, len(parts[item]))
    places = _grid(where, item, run, *(np.array(parts[name], dtype=object) for name in (item, run)))
    runs = [parts[run][place] for place in places[0]]
    columns = {name: [f"{name}{BETWEEN}{one}" for one in runs] for name in systems}
    wide = {item: Values([parts[item][place] for place in places[:, 0]])}
    if truth is not None:
        wide[truth] = _one_truth(where, parts, item, truth, places)
    for name in systems:
        for own, rows in zip(columns[name], places.T, strict=True):
            wide[own] = Values([parts[name][row] for row in rows])
    return table._replace(names=list(wide), parts=iter([wide])), columns


def _read_all(table: Table, labels: Sequence[str], systems: Sequence[str]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {name: [] for name in (*labels, *systems)}
    rows = Items(table, Reading(), unit="row")
    for part in table.parts:
        rows.n_before = len(found[labels[0]])
        for name in labels:
            found[name] += rows.column(part, name).text().tolist()
        for name in systems:
            found[name] += part[name].values
    return found


def _grid(where: str, item: str, run: str, items: NDArray[Any], runs: NDArray[Any]) -> Ints:
    """Return the row of each item and run; refuse what is no such grid."""
    import pandas as pd

    (row, known), (column, numbered) = pd.factorize(items), pd.factorize(runs)
    if len(numbered) == 1:
        raise refusal("advise.one_run", run=run, value=numbered[0][:40], alone=ALONE)
    if len(numbered) == len(runs):
        raise refusal("advise.run_of_rows", run=run, n=len(runs))
    counted = np.bincount(row * len(numbered) + column, minlength=len(known) * len(numbered))
    if (counted != 1).any():
        place = int(np.argmax(counted != 1))
        at, of = known[place // len(numbered)], numbered[place % len(numbered)]
        number = "no row" if counted[place] == 0 else f"{counted[place]:,} rows"
        raise refusal("advise.no_grid", where=where, item=at[:40], number=number, run=of[:40])
    return np.asarray(np.lexsort([column, row]).reshape(len(known), len(numbered)))


def _one_truth(
    where: str, parts: Mapping[str, list[Any]], item: str, truth: str, places: NDArray[Any]
) -> Values:
    """Return the truth of each item; refuse another one in another run."""
    for rows in places.tolist():
        if len({parts[truth][row] for row in rows}) > 1:
            raise refusal("advise.truth_of_runs", where=where, item=parts[item][rows[0]], truth=truth)
    return Values([parts[truth][rows[0]] for rows in places])
