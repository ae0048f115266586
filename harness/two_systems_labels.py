"""Labels and decisions of two systems, from Python, as the eight counts of their joint outcomes."""

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harness.advice.predictions import Predictions, as_outcomes
from harness.advice.table_files import check_system, is_number, is_whole
from harness.errors import UserError
from harness.measures import DIFFERENCES, check_measure


def count_two(
    y: ArrayLike, a: ArrayLike, b: ArrayLike, measure: str, positive: object = None
) -> NDArray[np.int64]:
    """Return the eight counts e1..e8 of two systems, from labels of any kind.

    With ``measure="error"``, more than two labels and no `positive`, every item counts as positive, found
    where the system gives its label.

    Raises
    ------
    ValueError
        As :func:`compare_predictions`.

    Examples
    --------
    >>> count_two(["x", "x", "y", "z"], ["x", "y", "y", "z"], ["x", "x", "x", "z"], "error").tolist()
    [2, 1, 1, 0, 0, 0, 0, 0]
    """
    if not isinstance(measure, str):
        raise ValueError(f"measure: {measure!r} is not allowed; one of {', '.join(DIFFERENCES)} is")
    check_measure(measure)
    said = {name: _labels(name, values) for name, values in (("y", y), ("a", a), ("b", b))}
    for name in ("a", "b"):
        if len(said[name]) != len(said["y"]):
            raise ValueError(
                f"{name}: {len(said[name])} items are not allowed where y has {len(said['y'])}; "
                "one decision for each item is needed"
            )
    truth = said.pop("y")
    labels = sorted(set(truth))
    if len(labels) < 2:
        raise ValueError(f"y: every item's label is {labels[0]!r}; items of two classes are needed")
    for name, values in said.items():
        _check_decisions(name, values, labels)
    table = Predictions("y", truth, said, np.ones(len(truth), dtype=np.int64))
    try:
        counts = as_outcomes(table, measure, _text(positive)).cells("a", "b")
    except UserError as error:
        raise ValueError(str(error)) from error
    if not counts[[1, 2, 5, 6]].any():
        raise ValueError("a, b: they are right and wrong on the same items; there is nothing to test")
    return counts


def _labels(name: str, values: ArrayLike) -> NDArray[Any]:
    """Return labels as text, whole numbers and bools alike, whichever type holds them."""
    import pandas as pd

    array = np.asarray(values)
    if array.ndim != 1 or len(array) == 0:
        raise ValueError(
            f"{name}: shape {array.shape} is not allowed; one label for each item, (n_items,), is"
        )
    missing = np.asarray(pd.isna(array))
    if missing.any():
        raise ValueError(
            f"{name}: item {int(np.argmax(missing))} (from 0) has no label; every item needs one"
        )
    where, different = pd.factorize(array)
    return np.array([_text(value) for value in different.tolist()], dtype=object)[where]


def _text(label: object) -> str | None:
    if label is None:
        return None
    if isinstance(label, bool | np.bool_ | int | np.integer):
        return str(int(label))
    if isinstance(label, float | np.floating) and float(label).is_integer():
        return str(int(label))
    return str(label)


def _check_decisions(name: str, values: NDArray[Any], labels: list[str]) -> None:
    """Refuse scores where labels are whole numbers, a third label where there are two, and no label of y."""
    strange = sorted(set(values) - set(labels))
    broken = [label for label in strange if is_number(label) and not float(label).is_integer()]
    if broken and all(map(is_whole, labels)):
        raise ValueError(
            f"{name}: it holds scores, such as {broken[0]}; decisions are needed, as in {name} >= 0.5"
        )
    if strange and len(labels) == 2:
        raise ValueError(
            f"{name}: {strange[0]!r} is no label of y, which has {labels[0]!r} and {labels[1]!r}"
        )
    try:
        check_system(f"{name}: it", Counter(values), labels, True, "decisions in the labels of y are needed")
    except UserError as error:
        raise ValueError(str(error)) from error
