"""Decisions on several categories, as bits."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.advice.predictions import Outcomes
from harness.advice.table_files import POSITIVE_NAMES, decide_scores
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
    """Return the rows as bits; `labels` holds those met so far, at most two."""
    if threshold is not None:
        part = decide_scores(path, part, systems, threshold)
    code = np.full(len(part), SEEN, dtype=np.uint16)
    for bit, name in enumerate((truth, *systems), 1):
        said = part[name].astype(str)
        labels.update(said.unique())
        _check_labels(path, labels, positive)
        yes = said == str(positive) if positive is not None else said.str.lower().isin(POSITIVE_NAMES)
        code |= (yes.to_numpy().astype(np.uint16) << bit).astype(np.uint16)
    return code


def _check_labels(path: Path, labels: set[str], positive: object) -> None:
    positives = [label for label in labels if label.lower() in POSITIVE_NAMES]
    if positive is not None:
        positives = [label for label in labels if label == str(positive)]
    if len(labels) > 2 or (len(labels) == 2 and len(positives) != 1):
        raise UserError(
            f"predictions={path}: on several categories each decision is yes or no; the file says "
            f"{', '.join(sorted(labels)[:5])}; positive=LABEL names yes, threshold=NUMBER takes scores"
        )
