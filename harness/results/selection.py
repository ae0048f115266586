"""Which rows of a run's tables a figure shows: the keys of ``figure`` that name panels, tests, levels, sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from harness.errors import UserError
from harness.results.names import all_panels

if TYPE_CHECKING:
    from pandas import DataFrame

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
    def of(cls, figure: Mapping[str, Any]) -> Selection:
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
                    raise UserError(f"figure.{key}: {wanted} was not run; this run has {_listed(run)}")
        places = _places(table)
        for wanted in self.panels or ():
            if wanted not in places:
                raise UserError(f"figure.panels: {wanted} was not run; this run has {_listed(places)}")

    def keep(self, table: DataFrame) -> DataFrame:
        """Return the rows of a table that are chosen, by those columns that it has."""
        if not self or table.empty:
            return table
        kept = table["pair"] == table["pair"] if "pair" in table else table.index == table.index
        for key, column in COLUMNS.items():
            wanted = getattr(self, key)
            if wanted is not None and column in table:
                kept &= table[column].isin(list(wanted))
        if self.panels is not None and {"pair", "balance"} <= set(table.columns):
            places = _places(table)
            chosen = {places[name] for name in self.panels if name in places}
            kept &= [place in chosen for place in zip(table["pair"], table["balance"], strict=True)]
        return table[kept].reset_index(drop=True)


def _places(table: DataFrame) -> dict[str, tuple[str, str]]:
    """Return pair and balance by every name that a panel has."""
    panels = all_panels(table)
    letters = {panel.letter: (panel.pair, panel.balance) for panel in panels if panel.letter}
    found = table[["pair", "balance"]].drop_duplicates().itertuples(index=False)
    return letters | {f"{pair}/{balance}": (str(pair), str(balance)) for pair, balance in found}


def _listed(names: Any) -> str:
    return ", ".join(f"{name:g}" if isinstance(name, float) else str(name) for name in names)
