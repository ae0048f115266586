"""A file of predictions: the truth and what each system said, as distinct rows with their counts."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.advice.table_files import (
    BINARY,
    ID_NAMES,
    ITEM_NAMES,
    POSITIVE_NAMES,
    REMEDY,
    TRUTH_NAMES,
    add_ids,
    are_scores,
    check_missing,
    check_repeated,
    check_system,
    decide_scores,
    is_number,
    plain_label,
    read_frames,
)
from harness.errors import UserError

MOST_DISTINCT = 2_000_000
MOST_VALUES = 1_000
"""Of a column of text or scores; one with more is refused before the whole file is read."""


class Predictions(NamedTuple):
    """What a file says.

    Attributes
    ----------
    name : str
        Of the file.
    truth : array of str, shape (n_rows,)
    systems : dict of str to array of str, shape (n_rows,)
        What each system said, in the order of the file.
    n_items : int array, shape (n_rows,)
        Items of each distinct row.
    """

    name: str
    truth: NDArray[Any]
    systems: dict[str, NDArray[Any]]
    n_items: NDArray[np.int64]


def read_predictions(
    path: str | Path,
    truth: str | None = None,
    systems: Sequence[str] | None = None,
    threshold: float | None = None,
) -> Predictions:
    r"""Read a CSV, TSV, Parquet or JSON Lines file with a column of truth and one for each system.

    The file is read some rows at a time, and only distinct rows are kept with their numbers. A label is text;
    1.0 is read as 1, True as true, and where the truth is 0 and 1, or true and false, each as the other.

    Parameters
    ----------
    path : str or Path
    truth : str, optional
        The column of the truth; where it is not given, one of ``y_true``, ``label``, ``truth``,
        ``target`` and ``gold``.
    systems : sequence of str, optional
        The systems' columns; where they are not given, all others but one of ids and, beside a named truth,
        those with names of a truth.
    threshold : float, optional
        The systems' columns hold scores, and a score of at least this says 1. Then the truth must be 0 and 1.

    Raises
    ------
    UserError
        If the file, a column or a value is missing, there are fewer than two systems or two truths, scores
        stand where decisions are needed, a column is no system's by
        :func:`harness.advice.table_files.check_system`, an item's id comes twice, or there are too many
        distinct rows.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "a.csv"
    ...     _ = file.write_text("y_true,svm,mlp\nham,ham,spam\nham,ham,spam\nspam,spam,spam\n")
    ...     found = read_predictions(file)
    >>> found.truth.tolist(), list(found.systems), found.n_items.tolist()
    (['ham', 'spam'], ['svm', 'mlp'], [2, 1])
    """
    path = Path(path)
    kept: dict[tuple[str, ...], int] = {}
    names: tuple[str, tuple[str, ...]] | None = None
    n_before, ids = 0, None
    hashes: list[NDArray[np.uint64]] = []
    for frame in read_frames(path):
        columns = [str(column) for column in frame.columns]
        names = names or find_columns(path, columns, truth, systems)
        ids = next((name for name in ID_NAMES if name in columns and name not in (names[0], *names[1])), None)
        part = frame[[names[0], *names[1]]]
        check_missing(path, part, n_before)
        if ids is not None:
            add_ids(frame[ids], hashes)
        if threshold is not None:
            part = decide_scores(path, part, names[1], float(threshold))
        counted = part.astype(str).value_counts(sort=False)
        for row, number in zip(counted.index.tolist(), counted.tolist(), strict=True):
            plain = tuple(map(plain_label, row))
            kept[plain] = kept.get(plain, 0) + number
        n_before += len(frame)
        _check_distinct(path, kept, names[1], systems is not None)
    if names is None or not kept:
        raise UserError(f"predictions={path}: it holds no item; at least one row is needed")
    check_repeated(path, ids, hashes)
    kept = _join_binary(kept)
    _check_columns(path, kept, names[1], systems is not None, threshold)
    rows = sorted(kept)
    said = list(zip(*rows, strict=True))
    return Predictions(
        path.name,
        np.array(said[0], dtype=object),
        {name: np.array(column, dtype=object) for name, column in zip(names[1], said[1:], strict=True)},
        np.array([kept[row] for row in rows], dtype=np.int64),
    )


def find_columns(
    path: Path, columns: list[str], truth: str | None, systems: Sequence[str] | None
) -> tuple[str, tuple[str, ...]]:
    """Return the names of the truth's column and of the systems'."""
    shown = ", ".join(columns[:20])
    twice = sorted({name for name in columns if columns.count(name) > 1})
    if twice:
        raise UserError(f"predictions={path}: two columns are named {twice[0]!r}; names must differ")
    if truth is None:
        plain = [name for name in TRUTH_NAMES if name in columns]
        if not plain:
            raise UserError(
                f"predictions={path}: no column is named {', '.join(TRUTH_NAMES)}; truth_column=COLUMN names "
                f"it, one of {shown}"
            )
        if len(plain) > 1 and systems is None:
            raise UserError(
                f"predictions={path}: columns {' and '.join(map(repr, plain))} have names of a truth; "
                "truth_column=COLUMN says which it is, systems=[NAME,NAME] which columns are systems"
            )
        truth = plain[0]
    chosen = (
        [name for name in columns if name not in (truth, *ITEM_NAMES, *TRUTH_NAMES)]
        if systems is None
        else [str(name) for name in systems]
    )
    for name in [truth, *chosen]:
        if name not in columns:
            raise UserError(f"predictions={path}: there is no column {name!r}; it has {shown}")
    if len(chosen) < 2 or len(set(chosen)) < len(chosen) or truth in chosen:
        raise UserError(
            f"predictions={path}: the systems are {', '.join(chosen) or 'none'}; at least two different "
            "columns beside the truth are needed"
        )
    return truth, tuple(chosen)


def _join_binary(kept: Mapping[tuple[str, ...], int]) -> dict[tuple[str, ...], int]:
    """Return the rows with true and false written as 1 and 0, or the other way round, as the truth is.

    Where the truth knows other labels, as answers to questions do, true is no 1.
    """
    truths = {row[0] for row in kept}
    if not truths <= {*BINARY, *BINARY.values()}:
        return dict(kept)
    same = {number: name for name, number in BINARY.items()} if truths <= set(BINARY) else BINARY
    joined: dict[tuple[str, ...], int] = {}
    for row, number in kept.items():
        plain = tuple(same.get(label, label) for label in row)
        joined[plain] = joined.get(plain, 0) + number
    return joined


def _check_distinct(
    path: Path, kept: Mapping[tuple[str, ...], int], systems: Sequence[str], named: bool
) -> None:
    """Refuse text and scores before the whole file is read, for nearly every row of them is another.

    Of a file sorted by its truth the rows so far know few labels; hence one in twenty is asked for, not half.
    """
    if len(kept) > MOST_VALUES:
        labels = {row[0] for row in kept}
        for place, name in enumerate(systems, 1):
            said = _count(kept, place)
            known = sum(said[label] for label in labels)
            if len(said) > MOST_VALUES and (
                20 * known < said.total() or are_scores(said.keys() - labels, labels)
            ):
                check_system(f"predictions={path}: column {name!r}", said, labels, named)
    if len(kept) > MOST_DISTINCT:
        raise UserError(
            f"predictions={path}: more than {MOST_DISTINCT:,} different rows; labels are needed, few of them"
        )


def _check_columns(
    path: Path,
    kept: Mapping[tuple[str, ...], int],
    systems: Sequence[str],
    named: bool,
    threshold: float | None,
) -> None:
    labels = sorted({row[0] for row in kept})
    if len(labels) < 2:
        return
    if threshold is not None:
        if labels not in (["0", "1"], ["false", "true"]):
            raise UserError(
                f"threshold: it turns scores into 1 and 0, and the truth in {path} says "
                f"{', '.join(labels[:10])}; a truth of 0 and 1 is needed"
            )
        return
    for place, name in enumerate(systems, 1):
        check_system(f"predictions={path}: column {name!r}", _count(kept, place), labels, named)


def _count(kept: Mapping[tuple[str, ...], int], place: int) -> Counter[str]:
    counted: Counter[str] = Counter()
    for row, number in kept.items():
        counted[row[place]] += number
    return counted


class Outcomes(NamedTuple):
    """Truth and decisions as yes and no, a row for each distinct row of the file."""

    truth: NDArray[np.bool_]
    decisions: dict[str, NDArray[np.bool_]]
    n_items: NDArray[np.int64]
    about: str

    def cells(self, a: str, b: str) -> NDArray[np.int64]:
        """Return the eight counts e1..e8 of a pair of systems."""
        code = 4 * ~self.truth + 2 * ~self.decisions[b] + 1 * ~self.decisions[a]
        return np.bincount(code, weights=self.n_items, minlength=8).astype(np.int64)


def as_outcomes(predictions: Predictions, measure: str, positive: object = None) -> Outcomes:
    """Turn labels into yes and no: the positive label or not; for the error alone, right or wrong.

    Parameters
    ----------
    predictions : Predictions
    measure : str
        For ``"error"`` any number of labels will do.
    positive : object, optional
        The positive label, compared as text; where it is not given, one of 1, true, yes, pos, positive.

    Raises
    ------
    UserError
        If there is one label only, `positive` is none of the labels, or is needed and not plain.

    Examples
    --------
    >>> table = Predictions("x", np.array(["a", "b"], object), {"s": np.array(["a", "a"], object),
    ...                     "t": np.array(["b", "b"], object)}, np.array([3, 2]))
    >>> as_outcomes(table, "error").cells("s", "t").tolist()
    [0, 2, 3, 0, 0, 0, 0, 0]
    """
    labels = sorted(set(predictions.truth))
    if len(labels) < 2:
        raise UserError(
            f"predictions={predictions.name}: every item's truth is {labels[0]!r}; two labels are needed"
        )
    if positive is None:
        plain = [name for name in labels if name.lower() in POSITIVE_NAMES]
        if len(labels) == 2 and len(plain) == 1:
            positive = plain[0]
        elif measure == "error":
            right = {name: said == predictions.truth for name, said in predictions.systems.items()}
            everywhere = np.ones(len(predictions.truth), dtype=bool)
            return Outcomes(everywhere, right, predictions.n_items, f"{len(labels)} labels, right or wrong")
        else:
            raise UserError(
                f"positive: which label is positive is not plain for measure={measure}; name one of "
                f"{', '.join(labels[:20])}, or take measure=error"
            )
    wanted = _find_label(positive, labels)
    if wanted not in labels:
        raise UserError(f"positive: {wanted!r} is no label of the truth; {', '.join(labels[:20])} are")
    if len(labels) == 2:
        for name, said in predictions.systems.items():
            strange = sorted({*said} - {*labels})
            if strange:
                scores = "threshold=NUMBER turns scores into decisions, " if is_number(strange[0]) else ""
                raise UserError(
                    f"predictions={predictions.name}: column {name!r} says {strange[0][:40]!r}, and the "
                    f"truth only {' and '.join(labels)}; {scores}{REMEDY}"
                )
    decisions = {name: said == wanted for name, said in predictions.systems.items()}
    return Outcomes(predictions.truth == wanted, decisions, predictions.n_items, f"positive label {wanted!r}")


def _find_label(positive: object, labels: Collection[str]) -> str:
    """Return the label that is meant: 1.0 means 1, and true means 1 where that is one."""
    plain = plain_label(str(positive))
    numbers = {number: name for name, number in BINARY.items()}
    same = (str(positive), plain, BINARY.get(plain), numbers.get(plain))
    return next((label for label in same if label in labels and label is not None), str(positive))


def name_pairs(systems: Iterable[str]) -> list[tuple[str, str, str]]:
    """Return every two systems in their order, with the name of the pair.

    Examples
    --------
    >>> name_pairs(["a", "b"]), name_pairs(["x-1", "y"])
    ([('a', 'b', 'a-b')], [('x-1', 'y', 'x-1 vs y')])
    """
    names = list(systems)
    between = " vs " if any("-" in name for name in names) else "-"
    return [(a, b, f"{a}{between}{b}") for a, b in itertools.combinations(names, 2)]
