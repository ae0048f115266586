"""Decisions on several categories, as bits."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.advise.predictions import Outcomes
from harness.errors import UserError
from harness.tables.labels import BINARY, POSITIVE_NAMES, Column, check_spellings, plain_label

MOST_DECISIONS = 200_000_000
MOST_SYSTEMS = 14
SEEN, TRUTH = 1, 2  # bits of a decision; those of the systems follow


class Decisions(NamedTuple):
    """Of every item and category the truth and what each system decided.

    Attributes
    ----------
    name : str
        Of the file.
    categories, systems : list of str
    codes : uint16 array, shape (n_items, n_categories)
        Bit 1 is set where the truth is yes, bit 2 + i where system i says yes.
    warnings, notes : tuple of str
        What a reader of results must know first, and besides.
    """

    name: str
    categories: list[str]
    systems: list[str]
    codes: NDArray[np.uint16]
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def truth(self) -> NDArray[np.bool_]:
        """Return the truth, shape (n_items, n_categories)."""
        return (self.codes & TRUTH) > 0

    def said(self, system: str) -> NDArray[np.bool_]:
        """Return the decisions of a system, shape (n_items, n_categories)."""
        return (self.codes & (4 << self.systems.index(system))) > 0


def one_category(decisions: Decisions, category: str) -> Outcomes:
    """Return the outcomes of one category.

    Raises
    ------
    UserError
        If there is none of that name, or every item's truth is the same.
    """
    if category not in decisions.categories:
        raise UserError(
            f"category: {category!r} is none of the file's; choose one of "
            f"{', '.join(decisions.categories[:20])}"
        )
    own = decisions.codes[:, decisions.categories.index(category)]
    codes, n_items = np.unique(own, return_counts=True)
    truth = (codes & TRUTH) > 0
    if truth.all() or not truth.any():
        raise UserError(
            f"category: every item's truth is {'yes' if truth.any() else 'no'} in category {category!r}; "
            "both are needed"
        )
    said = {name: (codes & (4 << i)) > 0 for i, name in enumerate(decisions.systems)}
    about = f"category {category!r}, yes or no"
    return Outcomes(truth, said, n_items.astype(np.int64), about, decisions.warnings, decisions.notes)


def check_size(where: str, n_items: int, n_categories: int) -> None:
    """Refuse more decisions than memory has room for."""
    if n_items * n_categories > MOST_DECISIONS:
        raise UserError(
            f"{where}: more than {MOST_DECISIONS:,} pairs of item and category; fewer are needed, "
            "such as those of one category"
        )


def check_number(where: str, systems: Sequence[str]) -> None:
    """Refuse more systems than a decision has bits for."""
    if len(systems) > MOST_SYSTEMS:
        raise UserError(
            f"{where}: it has {len(systems)} systems; at most {MOST_SYSTEMS} are allowed on "
            "several categories, which systems=[NAME,NAME] chooses"
        )


def encode_decisions(
    where: str, columns: Mapping[str, Column], positive: object, labels: set[str]
) -> NDArray[np.uint16]:
    """Return rows as bits, the truth's column first; `labels` holds those met so far, at most two.

    True and false are read as 1 and 0.
    """
    code: Any = SEEN
    for bit, (name, column) in enumerate(columns.items(), 1):
        said = [BINARY.get(label, label) for label in column.labels]
        before = set(labels)
        labels.update(said)
        _check_labels(where, name, said, before, positive)
        yes = np.array([_is_yes(label, positive) for label in said], dtype=np.uint16)
        code = code | (yes[column.places] << bit)
    return np.asarray(code, dtype=np.uint16)


def _is_yes(label: str, positive: object) -> bool:
    if positive is None:
        return label.lower() in POSITIVE_NAMES
    plain = plain_label(str(positive))
    return label == BINARY.get(plain, plain)


def _check_labels(
    where: str, column: str, said: Sequence[str], before: Collection[str], positive: object
) -> None:
    """Refuse a third label, and two of which not one says yes; `before` were met in other columns or rows."""
    labels = {*said, *before}
    if len(labels) <= 2 and (len(labels) < 2 or sum(_is_yes(label, positive) for label in labels) == 1):
        return
    new = [label for label in dict.fromkeys(said) if label not in before]
    check_spellings(f"{where}: column {column!r}", before, new)
    beside = f" beside {', '.join(sorted(before))}" if before else ""
    raise UserError(
        f"{where}: on several categories each decision is yes or no, and column {column!r} says "
        f"{', '.join(new[:5])}{beside}; positive=LABEL names yes, threshold=NUMBER takes scores, "
        "systems=[NAME,NAME] says which columns to read"
    )
