"""Which rows of a run's tables a figure shows: the keys of ``figure`` that choose."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from pandas import DataFrame

from harness.errors import UserError, instead
from harness.results.names import all_panels

COLUMNS = {"tests": "test", "alphas": "alpha", "measures": "measure", "sizes": "n_documents"}


@dataclass(frozen=True)
class Selection:
    """What to keep; None keeps all. A panel is a letter of the paper, or PAIR/BALANCE."""

    panels: Sequence[str] | None = None
    tests: Sequence[str] | None = None
    alphas: Sequence[float] | None = None
    measures: Sequence[str] | None = None
    sizes: Sequence[int] | None = None

    @classmethod
    def of(cls, figure: Mapping[str, Any]) -> "Selection":
        """Return what the node ``figure`` chooses."""
        return cls(**{field.name: figure.get(field.name) for field in fields(cls)})

    def __bool__(self) -> bool:
        return any(getattr(self, field.name) is not None for field in fields(self))

    def check(self, table: DataFrame) -> None:
        """Raise UserError where something is chosen that `table` does not hold."""
        for key, column in COLUMNS.items():
            run = list(table[column].unique()) if column in table else []
            for wanted in getattr(self, key) or ():
                if wanted not in run:
                    raise UserError(f"figure.{key}: {wanted} was not run; {instead(wanted, _named(run))}")
        places = _places(table)
        for wanted in self.panels or ():
            if wanted not in places:
                raise UserError(f"figure.panels: {wanted} was not run; {instead(wanted, places)}")

    def keep(self, table: DataFrame) -> DataFrame:
        """Return the rows of a table that are chosen, by those columns that it has."""
        if not self or table.empty:
            return table
        kept = np.ones(len(table), dtype=bool)
        for key, column in COLUMNS.items():
            wanted = getattr(self, key)
            if wanted is not None and column in table:
                kept &= table[column].isin(list(wanted)).to_numpy()
        if self.panels is not None and {"pair", "balance"} <= set(table.columns):
            places = _places(table)
            chosen = {places[name] for name in self.panels if name in places}
            found = zip(table["pair"], table["balance"], strict=True)
            kept &= np.array([place in chosen for place in found], dtype=bool)
        return table[kept].reset_index(drop=True)


def check_no_choice(figure: Mapping[str, Any], what: str) -> None:
    """Raise UserError where a figure's rows are chosen and `what` has nothing to choose from."""
    for field in fields(Selection):
        if figure.get(field.name) is not None:
            raise UserError(f"figure.{field.name}: the figures of {what} have no such choice; leave it out")


def _places(table: DataFrame) -> dict[str, tuple[str, str]]:
    """Return pair and balance by every name that a panel has."""
    panels = all_panels(table)
    letters = {panel.letter: (panel.pair, panel.balance) for panel in panels if panel.letter}
    found = table[["pair", "balance"]].drop_duplicates().itertuples(index=False)
    return letters | {f"{pair}/{balance}": (str(pair), str(balance)) for pair, balance in found}


def _named(values: Any) -> list[str]:
    return [f"{value:g}" if isinstance(value, float) else str(value) for value in values]
