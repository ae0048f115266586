"""Which rows of a run's tables a figure shows: the keys of ``figure`` that choose."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from pandas import DataFrame

from harness.errors import UserError, instead, require
from harness.results.names import all_panels

COLUMNS = {"tests": "test", "alphas": "alpha", "measures": "measure", "sizes": "n_documents"}
KEYS = ("panels", *COLUMNS)


class Selection(dict[str, Sequence[Any]]):
    """What to keep, by key; without a key all. A panel is a letter of the paper, or PAIR/BALANCE."""

    @classmethod
    def of(cls, figure: Mapping[str, Any]) -> "Selection":
        """Return what the node ``figure`` chooses."""
        return cls({key: figure[key] for key in KEYS if figure.get(key) is not None})

    def check(self, table: DataFrame) -> None:
        """Raise UserError where something is chosen that `table` does not hold."""
        for key, values in self.items():
            column = COLUMNS.get(key)
            run = _places(table) if column is None else table[column].unique() if column in table else ()
            for wanted in values:
                said = f"figure.{key}: {wanted} was not run; {instead(wanted, run)}"
                require(wanted in run, said, UserError)

    def keep(self, table: DataFrame) -> DataFrame:
        """Return the rows of a table that are chosen, by those columns that it has."""
        if not self or table.empty:
            return table
        kept = np.ones(len(table), dtype=bool)
        for key, column in COLUMNS.items():
            if key in self and column in table:
                kept &= table[column].isin(list(self[key])).to_numpy()
        if "panels" in self and {"pair", "balance"} <= set(table.columns):
            places = _places(table)
            chosen = {places[name] for name in self["panels"] if name in places}
            found = zip(table["pair"], table["balance"], strict=True)
            kept &= np.array([place in chosen for place in found], dtype=bool)
        return table[kept].reset_index(drop=True)


def check_no_choice(figure: Mapping[str, Any], what: str) -> None:
    """Raise UserError where a figure's rows are chosen and `what` has nothing to choose from."""
    for key in Selection.of(figure):
        raise UserError(f"figure.{key}: the figures of {what} have no such choice; leave it out")


def _places(table: DataFrame) -> dict[str, tuple[str, str]]:
    """Return pair and balance by every name that a panel has."""
    panels = all_panels(table)
    letters = {panel.letter: (panel.pair, panel.balance) for panel in panels if panel.letter}
    found = table[["pair", "balance"]].drop_duplicates().itertuples(index=False)
    return letters | {f"{pair}/{balance}": (str(pair), str(balance)) for pair, balance in found}
