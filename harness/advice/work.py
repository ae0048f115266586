"""What the advice needs of the systems that it compares, whatever is drawn: items or documents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from harness.store import Arrays

if TYPE_CHECKING:
    from pandas import DataFrame


class Work(NamedTuple):
    """Pairs of systems, and how to measure and judge their tests.

    Attributes
    ----------
    pairs : list of str
    n_items : int
    systems : list of str
    about : str
        What the file holds, in words.
    measured : str
        The name of the measure for a reader.
    order : list of str
        The tests that can be recommended, plainest first.
    notes : list of str
    measure : callable
        () -> the table of :func:`harness.advice.points.run_points`, and notes.
    needs : callable
        Pairs, tests and powers -> what :func:`harness.advice.needed.needed_items` returns, for each.
    judge : callable
        Pair -> the table of :func:`harness.advise.judge_pair`.
    """

    pairs: list[str]
    n_items: int
    systems: list[str]
    about: str
    measured: str
    order: list[str]
    notes: list[str]
    measure: Callable[[], tuple[DataFrame, list[str]]]
    needs: Callable[[Sequence[tuple[str, str, float]]], list[Arrays]]
    judge: Callable[[str], DataFrame]
