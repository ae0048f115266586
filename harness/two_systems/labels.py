"""Labels and decisions of two systems, from Python, as what a file of predictions says."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harness.advise.files.categories import Decisions, one_against_rest
from harness.advise.files.clusters import number_clusters
from harness.advise.files.predictions import (
    ACCURACY,
    PYTHON_REMEDY,
    Outcomes,
    Predictions,
    as_outcomes,
    check_predictions,
    count_rows,
)
from harness.advise.files.runs import Runs, check_runs
from harness.advise.files.scores import Scores
from harness.errors import UserError
from harness.measures import DIFFERENCES, check_measure
from harness.tables.labels import Column, Values, read_labels, same_as_truth
from harness.tables.repeats import tell_repeated


def read_two(
    y: ArrayLike,
    a: ArrayLike,
    b: ArrayLike,
    measure: str,
    positive: object = None,
    names: tuple[str, str] = ("a", "b"),
    clusters: ArrayLike | None = None,
    average: str = "micro",
) -> tuple[Outcomes | Decisions, str]:
    """Return the outcomes of two systems, from labels of any kind, and the measure.

    With ``measure="error"``, more than two labels and no `positive`, every item counts as positive, found
    where the system gives its label. ``"accuracy"`` is the error.

    Raises
    ------
    ValueError
        As :func:`compare_predictions`.

    Examples
    --------
    >>> found, _ = read_two(["x", "x", "y", "z"], ["x", "y", "y", "z"], ["x", "x", "x", "z"], "error")
    >>> found.cells("a", "b").tolist()
    [2, 1, 1, 0, 0, 0, 0, 0]
    """
    called = dict(zip("ab", names, strict=True))
    if average == "macro":
        return _read_macro(y, {"a": a, "b": b}, measure, positive, called, clusters)
    outcomes, measure = _read_systems(y, {"a": a, "b": b}, measure, positive, called, clusters)
    if not outcomes.cells(*names)[[1, 2, 5, 6]].any():
        raise ValueError("a, b: they are right and wrong on the same items; there is nothing to test")
    return outcomes, measure


def _read_systems(
    y: ArrayLike,
    systems: Mapping[str, ArrayLike],
    measure: str,
    positive: object,
    names: Mapping[str, str],
    clusters: ArrayLike | None = None,
) -> tuple[Outcomes, str]:
    """Return the outcomes of systems, or their runs, by the names of the arguments, under other names."""
    if not isinstance(measure, str):
        raise ValueError(f"measure: {measure!r} is not allowed; one of {', '.join(DIFFERENCES)} is")
    more = (ACCURACY,) if measure == "accuracy" else ()
    measure = "error" if more else measure
    check_measure(measure)
    table, called = _read_table(y, systems, names, clusters), {names[one]: one for one in systems}
    try:
        outcomes = as_outcomes(table, measure, positive, lambda name: f"{called[name]}: it", PYTHON_REMEDY)
    except UserError as error:
        raise ValueError(str(error)) from error
    return outcomes._replace(warnings=(*more, *outcomes.warnings)), measure


def _read_macro(
    y: ArrayLike,
    systems: Mapping[str, ArrayLike],
    measure: str,
    positive: object,
    names: Mapping[str, str],
    clusters: ArrayLike | None,
) -> tuple[Decisions, str]:
    """Return what systems decided on each label of the truth, as :func:`_read_systems` does on one."""
    if measure in ("error", "accuracy") or positive is not None:
        needed = "takes each label as the positive one in turn"
        raise ValueError(f"average: 'macro' {needed}, and is not for measure='error' or positive=LABEL")
    check_measure(measure)
    try:
        return one_against_rest(_read_table(y, systems, names, clusters), "y"), measure
    except UserError as error:
        raise ValueError(str(error)) from error


def _read_table(
    y: ArrayLike, systems: Mapping[str, ArrayLike], names: Mapping[str, str], clusters: ArrayLike | None
) -> Predictions:
    """Return labels and decisions as what a file of predictions says."""
    said = {name: _labels(name, values) for name, values in {"y": y, **systems}.items()}
    n = len(said["y"].places)
    if clusters is not None:
        said["clusters"] = _labels("clusters", clusters)
    for name in list(said)[1:]:
        if len(said[name].places) != n:
            raise ValueError(
                f"{name}: {len(said[name].places)} items are not allowed where y has {n}; "
                f"one {'cluster' if name == 'clusters' else 'decision'} for each item is needed"
            )
    if len(said["y"].labels) < 2:
        raise ValueError(f"y: every item's label is {said['y'].labels[0]!r}; items of two classes are needed")
    first, n_items = count_rows([column.places for column in said.values()])
    same = same_as_truth(said["y"].labels)
    truth, *decided = (_rows(said[name], first, same) for name in ("y", *systems))
    by_argument = dict(zip(systems, decided, strict=True))
    repeated, numbers = tuple(tell_repeated(n_items)), None
    try:
        if clusters is not None:
            own = _rows(said["clusters"], first, {})
            numbers = number_clusters("clusters: it", own, n)
        given = Predictions("y", truth, by_argument, n_items, repeated, clusters=numbers)
        check_predictions(given, "y: it", "{}: it".format, True, PYTHON_REMEDY)
    except UserError as error:
        raise ValueError(str(error)) from error
    return given._replace(systems={names[argument]: own for argument, own in by_argument.items()})


def read_runs(
    y: ArrayLike | None,
    a: ArrayLike,
    b: ArrayLike,
    measure: str,
    positive: object,
    names: tuple[str, str],
    runs: object,
) -> tuple[Runs, str]:
    """Return what the runs of two systems did, a row of `a` and `b` for each, and the measure."""
    if runs not in ("nested", "paired"):
        raise ValueError(
            f"runs: {runs!r} is not allowed; 'nested' or 'paired' is, a and b with a row for each run"
        )
    systems, columns = dict[str, ArrayLike](), {}
    for argument, name, values in zip("ab", names, (a, b), strict=True):
        rows = np.asarray(values, dtype=None if hasattr(values, "dtype") else object)
        if rows.ndim != 2 or not rows.size:
            raise ValueError(f"{argument}: shape {rows.shape} is not allowed with runs; (n_runs, n_items) is")
        own = {f"{argument}[{run}]": row for run, row in enumerate(rows)}
        systems |= own
        columns[name] = [f"{name} {run + 1}" for run in range(len(rows))]
    called = dict(zip(systems, [one for own in columns.values() for one in own], strict=True))
    try:
        check_runs(columns, runs == "paired", "a, b")
    except UserError as error:
        raise ValueError(str(error)) from error
    if y is None:
        return Runs(_read_scores(systems, called), columns, runs == "paired"), measure
    found, measure = _read_systems(y, systems, measure, positive, called)
    return Runs(found, columns, runs == "paired"), measure


def read_two_scores(
    a: ArrayLike, b: ArrayLike, names: tuple[str, str] = ("a", "b"), clusters: ArrayLike | None = None
) -> Scores:
    """Return the scores of two systems on the same items; ValueError where they are no finite numbers."""
    scores = _read_scores({"a": a, "b": b}, dict(zip("ab", names, strict=True)), clusters)
    if (scores.scores[names[0]] == scores.scores[names[1]]).all():
        raise ValueError("a, b: their scores are the same on every item; there is nothing to test")
    return scores


def _read_scores(
    systems: Mapping[str, ArrayLike], names: Mapping[str, str], clusters: ArrayLike | None = None
) -> Scores:
    found = {}
    for name, values in systems.items():
        try:
            found[name] = np.asarray(values, dtype=float)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{name}: a score of each item is needed, a number ({error})") from error
        if found[name].ndim != 1 or not len(found[name]) or not np.isfinite(found[name]).all():
            raise ValueError(f"{name}: a finite score of each item is needed, shape (n_items,)")
    groups = None if clusters is None else _labels("clusters", clusters).text()
    first, *others = found
    lengths = {name: len(found[name]) for name in others}
    lengths |= {} if groups is None else {"clusters": len(groups)}
    n = len(found[first])
    for name, length in lengths.items():
        if length != n:
            raise ValueError(f"{name}: {length} items are not allowed where {first} has {n}")
    try:
        numbers = None if groups is None else number_clusters("clusters: it", groups, n)
    except UserError as error:
        raise ValueError(str(error)) from error
    return Scores("scores", {names[name]: own for name, own in found.items()}, numbers)


def _labels(name: str, values: ArrayLike) -> Column:
    """Return the labels of an argument, whichever type holds them."""
    import pandas as pd

    # a list of text and NaN would become text alone
    array = np.asarray(values, dtype=None if hasattr(values, "dtype") else object)
    if array.ndim != 1 or len(array) == 0:
        raise ValueError(
            f"{name}: shape {array.shape} is not allowed; one label for each item, (n_items,), is"
        )
    try:
        where, different = pd.factorize(array)  # -1 is None, NaN, NA or NaT
    except TypeError as error:
        raise ValueError(f"{name}: one label for each item is needed, not several ({error})") from error
    column = read_labels(Values(different.tolist()))
    places = np.where(where < 0, -1, column.places[where])
    if (places < 0).any():
        raise ValueError(
            f"{name}: item {int(np.argmax(places < 0))} (from 0) has no label; every item needs one"
        )
    return Column(places, column.labels)


def _rows(column: Column, rows: NDArray[np.int64], same: Any) -> NDArray[Any]:
    labels = np.array([same.get(label, label) for label in column.labels], dtype=object)
    return labels[column.places[rows]]
