"""Labels and decisions of two systems, from Python, as what a file of predictions says."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harness.advise.documents.tests import MACRO, MICRO
from harness.advise.files import Said
from harness.advise.files.categories import one_against_rest
from harness.advise.files.columns import number_clusters
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
from harness.errors import UserError, require
from harness.measures import DIFFERENCES, Ints, check_measure
from harness.tables.labels import Column, Values, read_labels, same_as_truth
from harness.tables.repeats import tell_repeated


class Given(NamedTuple):
    """What a caller gave, by the names of the arguments of :func:`harness.compare_predictions`."""

    y: Any
    a: ArrayLike
    b: ArrayLike
    measure: str
    positive: object = None
    average: str = MICRO
    clusters: ArrayLike | None = None
    runs: str | None = None
    names: tuple[str, str] = ("a", "b")


Systems = Mapping[str, tuple[str, ArrayLike]]
"""Of each argument, or its run, the name and what it holds."""


def read_given(given: Given) -> tuple[Said, str]:
    """Return what the systems did, by labels of any kind or scores, and the measure; accuracy is the error.

    With ``measure="error"``, more than two labels and no `positive`, every item counts as positive, found
    where the system gives its label.

    Examples
    --------
    >>> given = Given(["x", "x", "y", "z"], ["x", "y", "y", "z"], ["x", "x", "x", "z"], "error")
    >>> found, _ = read_given(given)
    >>> found.cells("a", "b").tolist()
    [2, 1, 1, 0, 0, 0, 0, 0]
    """
    _check_given(given)
    measure = "error" if given.measure == "accuracy" else given.measure
    if given.runs is not None:
        systems, columns = _split_runs(given)
        every: Any = (_read_scores if given.y is None else _read_outcomes)(given, systems)
        return Runs(every, columns, given.runs == "paired"), measure
    systems = {"a": (given.names[0], given.a), "b": (given.names[1], given.b)}
    if given.average == MACRO:
        return one_against_rest(_read_table(given, systems), "y"), measure
    if given.y is None:
        scores = _read_scores(given, systems)
        differ = np.not_equal(*scores.scores.values()).any()
        require(differ, "a, b: their scores are the same on every item; there is nothing to test")
        return scores, measure
    outcomes = _read_outcomes(given, systems)
    differ = outcomes.cells(*given.names)[[1, 2, 5, 6]].any()
    require(differ, "a, b: they are right and wrong on the same items; there is nothing to test")
    return outcomes, measure


def _check_given(given: Given) -> None:
    """Refuse arguments that do not go together, and a measure that is not known."""
    measure, runs, scores = given.measure, given.runs, given.measure == "score"
    other = f"measure={measure!r}" if runs is None else "runs"
    averages = (MICRO,) if scores or runs is not None else (MICRO, MACRO)
    require(given.average in averages, f"average: {given.average!r} is not allowed with {other}; 'micro' is")
    if scores:
        none = given.y is None and given.positive is None
        require(none, "y, positive: measure='score' compares numbers without a truth; leave them None")
    else:
        needed = "None is allowed with measure='score' only; the label of each item is needed"
        require(given.y is not None, f"y: {needed}")
    one = runs is None or given.clusters is None
    require(one, "clusters: they cannot be had together with runs; items are drawn one by one")
    allowed = "'nested' or 'paired' is, a and b with a row for each run"
    require(runs in (None, "nested", "paired"), f"runs: {runs!r} is not allowed; {allowed}")
    if given.average == MACRO:
        needed = "takes each label as the positive one in turn"
        fits = measure not in ("error", "accuracy") and given.positive is None
        require(fits, f"average: 'macro' {needed}, and is not for measure='error' or positive=LABEL")
    known = ", ".join(DIFFERENCES)
    require(isinstance(measure, str), f"measure: {measure!r} is not allowed; one of {known} is")
    if measure not in ("accuracy", "score"):
        check_measure(measure)


def _split_runs(given: Given) -> tuple[Systems, dict[str, list[str]]]:
    """Return every run as a system, and the names of those of A and of B."""
    systems: dict[str, tuple[str, ArrayLike]] = {}
    columns = {}
    for argument, name, values in zip("ab", given.names, (given.a, given.b), strict=True):
        rows = np.asarray(values, dtype=None if hasattr(values, "dtype") else object)
        shaped = rows.ndim == 2 and rows.size
        require(shaped, f"{argument}: shape {rows.shape} is not allowed with runs; (n_runs, n_items) is")
        columns[name] = [f"{name} {run + 1}" for run in range(len(rows))]
        systems |= {f"{argument}[{i}]": own for i, own in enumerate(zip(columns[name], rows, strict=True))}
    check_runs(columns, given.runs == "paired", "a, b")
    return systems, columns


def _read_outcomes(given: Given, systems: Systems) -> Outcomes:
    """Return what systems, or runs, got right."""
    told = (ACCURACY,) if given.measure == "accuracy" else ()
    measure, called = "error" if told else given.measure, {name: one for one, (name, _) in systems.items()}
    table = _read_table(given, systems)
    found = as_outcomes(table, measure, given.positive, lambda name: f"{called[name]}: it", PYTHON_REMEDY)
    return found._replace(warnings=(*told, *found.warnings))


def _read_table(given: Given, systems: Systems) -> Predictions:
    """Return labels and decisions as what a file of predictions says."""
    values = {"y": given.y, **{argument: own for argument, (_, own) in systems.items()}}
    values |= {} if given.clusters is None else {"clusters": given.clusters}
    said = {name: _labels(name, own) for name, own in values.items()}
    n = len(said["y"].places)
    for name, column in said.items():
        what = "cluster" if name == "clusters" else "decision"
        several = f"{len(column.places)} items are not allowed where y has {n}"
        require(len(column.places) == n, f"{name}: {several}; one {what} for each item is needed")
    one = f"every item's label is {said['y'].labels[0]!r}"
    require(len(said["y"].labels) > 1, f"y: {one}; items of two classes are needed")
    first, n_items = count_rows([column.places for column in said.values()])
    same = same_as_truth(said["y"].labels)
    truth, *decided = (_rows(said[name], first, same) for name in ("y", *systems))
    numbers = None
    if given.clusters is not None:
        numbers = number_clusters("clusters: it", _rows(said["clusters"], first, {}), n)
    repeated = tuple(tell_repeated(n_items))
    found = Predictions(
        "y", truth, dict(zip(systems, decided, strict=True)), n_items, repeated, clusters=numbers
    )
    check_predictions(found, "y: it", "{}: it".format, True, PYTHON_REMEDY)
    return found._replace(systems={systems[argument][0]: own for argument, own in found.systems.items()})


def _read_scores(given: Given, systems: Systems) -> Scores:
    """Return the scores of systems, or runs, on the same items."""
    found = {}
    for argument, (_, values) in systems.items():
        try:
            found[argument] = np.asarray(values, dtype=float)
        except (TypeError, ValueError) as error:
            raise UserError(f"{argument}: a score of each item is needed, a number ({error})") from error
        plain = found[argument].ndim == 1 and len(found[argument]) and np.isfinite(found[argument]).all()
        require(plain, f"{argument}: a finite score of each item is needed, shape (n_items,)")
    groups = None if given.clusters is None else _labels("clusters", given.clusters).text()
    (first, scores), *_ = found.items()
    lengths = {name: len(own) for name, own in found.items()}
    lengths |= {} if groups is None else {"clusters": len(groups)}
    for name, length in lengths.items():
        alike = length == len(scores)
        require(alike, f"{name}: {length} items are not allowed where {first} has {len(scores)}")
    numbers = None if groups is None else number_clusters("clusters: it", groups, len(scores))
    return Scores("scores", {systems[argument][0]: own for argument, own in found.items()}, numbers)


def _labels(name: str, values: ArrayLike) -> Column:
    """Return the labels of an argument, whichever type holds them."""
    import pandas as pd

    # a list of text and NaN would become text alone
    array = np.asarray(values, dtype=None if hasattr(values, "dtype") else object)
    one = "one label for each item, (n_items,), is"
    require(array.ndim == 1 and len(array), f"{name}: shape {array.shape} is not allowed; {one}")
    try:
        where, different = pd.factorize(array)  # -1 is None, NaN, NA or NaT
    except TypeError as error:
        raise ValueError(f"{name}: one label for each item is needed, not several ({error})") from error
    column = read_labels(Values(different.tolist()))
    places = np.where(where < 0, -1, column.places[where])
    lacking = f"item {int(np.argmax(places < 0))} (from 0) has no label"
    require((places >= 0).all(), f"{name}: {lacking}; every item needs one")
    return Column(places, column.labels)


def _rows(column: Column, rows: Ints, same: Any) -> NDArray[Any]:
    labels = np.array([same.get(label, label) for label in column.labels], dtype=object)
    return labels[column.places[rows]]
