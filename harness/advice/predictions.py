"""A file of predictions: the truth and what each system said, as distinct rows with their counts."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.advice.table_files import (
    ID_NAMES,
    ITEM_NAMES,
    POSITIVE_NAMES,
    TRUTH_NAMES,
    add_ids,
    check_missing,
    check_repeated,
    decide_scores,
    read_frames,
)
from harness.errors import UserError

if TYPE_CHECKING:
    pass

MOST_DISTINCT = 2_000_000


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

    The file is read some rows at a time, and only distinct rows are kept with their numbers.

    Parameters
    ----------
    path : str or Path
    truth : str, optional
        The column of the truth; where it is not given, one of ``y_true``, ``label``, ``truth``,
        ``target`` and ``gold``.
    systems : sequence of str, optional
        The systems' columns; where they are not given, all others but one of ids.
    threshold : float, optional
        The systems' columns hold scores, and a score of at least this says 1. Then the truth must be 0 and 1.

    Raises
    ------
    UserError
        If the file, a column or a value is missing, there are fewer than two systems, scores stand
        where decisions are needed, an item's id comes twice, or there are too many distinct rows.

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
            kept[row] = kept.get(row, 0) + number
        n_before += len(frame)
        _check_distinct(path, kept, threshold)
    if names is None or not kept:
        raise UserError(f"predictions={path}: it holds no item; at least one row is needed")
    check_repeated(path, ids, hashes)
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
        truth = plain[0]
    chosen = (
        [name for name in columns if name != truth and name not in ITEM_NAMES]
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


def _check_distinct(path: Path, kept: Mapping[tuple[str, ...], int], threshold: float | None) -> None:
    """Refuse scores where decisions are needed: hundreds of different values, none of them a label."""
    if len(kept) > MOST_DISTINCT:
        raise UserError(
            f"predictions={path}: more than {MOST_DISTINCT:,} different rows; labels are needed, few of them"
        )
    if threshold is not None:
        return
    truths = {row[0] for row in kept}
    said = {value for row in kept for value in row[1:]}
    if len(said - truths) > 20 and len(said) > 10 * len(truths) and all(map(_is_number, said)):
        raise UserError(
            f"predictions={path}: the systems' columns hold scores, such as {min(said - truths)}; "
            "threshold=NUMBER turns them into decisions"
        )


def _is_number(text: str) -> bool:
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False


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
    wanted = str(positive)
    if wanted not in labels:
        raise UserError(f"positive: {wanted!r} is no label of the truth; {', '.join(labels[:20])} are")
    if len(labels) == 2:
        strange = sorted({str(v) for said in predictions.systems.values() for v in said} - set(labels))
        if strange:
            raise UserError(
                f"predictions={predictions.name}: a system says {strange[0]!r}; the truth knows only "
                f"{' and '.join(labels)}"
            )
    decisions = {name: said == wanted for name, said in predictions.systems.items()}
    return Outcomes(predictions.truth == wanted, decisions, predictions.n_items, f"positive label {wanted!r}")


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
