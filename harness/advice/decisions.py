"""Decisions on several categories, as bits."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.advice.predictions import Outcomes
from harness.advice.table_files import BINARY, POSITIVE_NAMES, decide_scores, plain_label
from harness.errors import UserError

if TYPE_CHECKING:
    from pandas import DataFrame

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
    """

    name: str
    categories: list[str]
    systems: list[str]
    codes: NDArray[np.uint16]

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
    return Outcomes(truth, said, n_items.astype(np.int64), f"category {category!r}, yes or no")


def check_size(path: Path, n_items: int, n_categories: int) -> None:
    """Refuse more decisions than memory has room for."""
    if n_items * n_categories > MOST_DECISIONS:
        raise UserError(
            f"predictions={path}: more than {MOST_DECISIONS:,} pairs of item and category; fewer are needed, "
            "such as those of one category"
        )


def check_number(path: Path, systems: Sequence[str]) -> None:
    """Refuse more systems than a decision has bits for."""
    if len(systems) > MOST_SYSTEMS:
        raise UserError(
            f"predictions={path}: it has {len(systems)} systems; at most {MOST_SYSTEMS} are allowed on "
            "several categories, which systems=[NAME,NAME] chooses"
        )


def encode_decisions(
    path: Path, part: DataFrame, truth: str, systems: Sequence[str], threshold: float | None,
    positive: object, labels: set[str],
) -> NDArray[np.uint16]:  # fmt: skip
    """Return the rows as bits; `labels` holds those met so far, at most two.

    True and false are read as 1 and 0, whole numbers without their ".0".
    """
    import pandas as pd

    if threshold is not None:
        part = decide_scores(path, part, systems, threshold)
    code = np.full(len(part), SEEN, dtype=np.uint16)
    for bit, name in enumerate((truth, *systems), 1):
        where, unique = pd.factorize(part[name].astype(str))
        said = [_binary(value) for value in unique]
        before = set(labels)
        labels.update(said)
        _check_labels(path, name, said, before, positive)
        yes = np.array([_is_yes(label, positive) for label in said])[where]
        code |= (yes.astype(np.uint16) << bit).astype(np.uint16)
    return code


def _binary(value: object) -> str:
    label = plain_label(str(value))
    return BINARY.get(label, label)


def _is_yes(label: str, positive: object) -> bool:
    return label.lower() in POSITIVE_NAMES if positive is None else label == _binary(positive)


def _check_labels(
    path: Path, column: str, said: Sequence[str], before: Collection[str], positive: object
) -> None:
    """Refuse a third label, and two of which not one says yes; `before` were met in other columns or rows."""
    labels = {*said, *before}
    if len(labels) <= 2 and (len(labels) < 2 or sum(_is_yes(label, positive) for label in labels) == 1):
        return
    new = [label for label in dict.fromkeys(said) if label not in before]
    beside = f" beside {', '.join(sorted(before))}" if before else ""
    raise UserError(
        f"predictions={path}: on several categories each decision is yes or no, and column {column!r} says "
        f"{', '.join(new[:5])}{beside}; positive=LABEL names yes, threshold=NUMBER takes scores, "
        "systems=[NAME,NAME] says which columns to read"
    )
