"""What the advice needs of the systems that it compares, whatever is drawn: items or documents."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from harness.advise.needed import Floats
from harness.measures import check_measure
from harness.runtime.store import Arrays

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
        () -> the table of :func:`harness.advise.points.run_points`, and notes.
    needs : callable
        Pairs, tests and powers -> what :func:`harness.advise.needed.needed_items` returns, for each.
    deviations : callable
        Pair and difference -> what :func:`harness.advise.needed.deviations` returns for its populations.
    judge : callable
        Pair -> the table of :func:`harness.advise.study.judge_pair`.
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
    deviations: Callable[[str, float], Floats]
    judge: Callable[[str], DataFrame]


def cost_notes(measure: str, costs: Mapping[str, float]) -> list[str]:
    """Return what a reader of the detection cost must know: its costs and prior.

    Examples
    --------
    >>> cost_notes("dcf", {"prior": 0.1}), cost_notes("f1", {})
    (['costs of the DCF: cost_fn 1, cost_fp 1, prior 0.1'], [])
    """
    if measure != "dcf":
        return []
    words = [f"{name} {value:g}" for name, value in check_measure(measure, **costs).items()]
    return [f"costs of the DCF: {', '.join(words)}"]
