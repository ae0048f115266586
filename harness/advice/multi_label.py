"""A file of predictions on several categories: of every item and category the truth and the decisions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from harness.advice.decisions import SEEN, Decisions, check_number, check_size, encode_decisions
from harness.advice.multi_label_wide import read_wide
from harness.advice.predictions import find_columns
from harness.advice.table_files import ID_NAMES, TRUTH_NAMES, check_missing, read_frames
from harness.errors import UserError

if TYPE_CHECKING:
    from pandas import DataFrame

CATEGORY = "category"


def find_form(columns: Sequence[str], category_column: str | None, separator: str) -> str | None:
    """Return "long" or "wide" where the columns are those of several categories, None where of one.

    Parameters
    ----------
    columns : sequence of str
    category_column : str or None
        None takes a column named ``category`` for one of categories.
    separator : str
        Between system and category in the names of a wide table's columns.

    Examples
    --------
    >>> find_form(["id", "category", "y_true", "a"], None, "."), find_form(["y_true", "a", "b"], None, ".")
    ('long', None)
    >>> find_form(["id", "y_true.sport", "a.sport"], None, ".")
    'wide'
    """
    if category_column is not None or CATEGORY in columns:
        return "long"
    plain = any(name in columns for name in TRUTH_NAMES)
    wide = any(name.startswith(f"{truth}{separator}") for name in columns for truth in TRUTH_NAMES)
    return "wide" if wide and not plain else None


def read_decisions(
    path: str | Path,
    form: str,
    truth: str | None = None,
    systems: Sequence[str] | None = None,
    threshold: float | None = None,
    positive: object = None,
    category_column: str | None = None,
    separator: str = ".",
) -> Decisions:
    r"""Read the decisions on several categories, a row for each item and category or one for each item.

    Parameters
    ----------
    path : str or Path
    form : {"long", "wide"}
        Long: columns of the item's id, the category, the truth and each system. Wide: the truth and each
        system have a column for each category, named SYSTEM, `separator`, CATEGORY.
    truth, systems, threshold
        As :func:`harness.advice.predictions.read_predictions`; in a wide table `truth` is what stands before
        the separator.
    positive : object, optional
        The label that says yes; where it is not given, one of 1, true, yes, pos, positive. One other label is
        allowed.
    category_column : str, optional
        Where it is not named ``category``.
    separator : str

    Raises
    ------
    UserError
        If a column, a value or a row is missing, an item has two rows for one category, there are fewer than
        two systems, or there are more than 200 million decisions or 14 systems.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "a.csv"
    ...     _ = file.write_text("id,category,y_true,a,b\n7,x,1,1,0\n7,y,0,1,0\n8,x,0,0,0\n8,y,1,0,1\n")
    ...     found = read_decisions(file, "long")
    >>> found.categories, found.said("a").tolist()
    (['x', 'y'], [[True, True], [False, False]])
    """
    path = Path(path)
    read = _read_long if form == "long" else read_wide
    extra = (category_column or CATEGORY) if form == "long" else separator
    return read(path, truth, systems, threshold, positive, extra)


def _read_long(
    path: Path, truth: str | None, systems: Sequence[str] | None, threshold: float | None, positive: object,
    category: str,
) -> Decisions:  # fmt: skip
    items: dict[str, int] = {}
    categories: dict[str, int] = {}
    codes = np.zeros((1024, 8), dtype=np.uint16)
    names, n_before, labels = None, 0, set[str]()
    for frame in read_frames(path):
        columns = [str(column) for column in frame.columns]
        names = names or _long_columns(path, columns, truth, systems, category)
        item, truth_column, chosen = names
        part = frame[[item, category, truth_column, *chosen]]
        check_missing(path, part, n_before, "row")
        n_before += len(part)
        row = _places(part[item], items)
        column = _places(part[category], categories)
        codes = _grown(path, codes, len(items), len(categories))
        own = encode_decisions(path, part, truth_column, chosen, threshold, positive, labels)
        flat = row * codes.shape[1] + column
        if len(np.unique(flat)) < len(flat) or (codes[row, column] & SEEN).any():
            _tell_repeated(path, part, item, category, codes[row, column])
        codes[row, column] = own
    if names is None or not items:
        raise UserError(f"predictions={path}: it holds no item; at least one row is needed")
    codes = codes[: len(items), : len(categories)]
    lacking = np.argwhere((codes & SEEN) == 0)
    if len(lacking):
        at_item, at_category = list(items)[lacking[0, 0]], list(categories)[lacking[0, 1]]
        raise UserError(
            f"predictions={path}: item {at_item!r} has no row for category {at_category!r}; one row for each "
            "item and category is needed; category_column=false where it is no column of categories"
        )
    return Decisions(path.name, list(categories), list(names[2]), codes)


def _long_columns(
    path: Path, columns: list[str], truth: str | None, systems: Sequence[str] | None, category: str
) -> tuple[str, str, tuple[str, ...]]:
    """Return the columns of the item, the truth and the systems."""
    if category not in columns:
        raise UserError(f"category_column: there is no column {category!r}; it has {', '.join(columns[:20])}")
    item = next((name for name in ID_NAMES if name in columns), None)
    if item is None:
        raise UserError(
            f"predictions={path}: a row for each item and category needs a column of the item, named one of "
            f"{', '.join(ID_NAMES)}; it has {', '.join(columns[:20])}"
        )
    others = [name for name in columns if name != category]
    truth_column, chosen = find_columns(path, others, truth, systems)
    check_number(path, chosen)
    return item, truth_column, chosen


def _places(names: Any, known: dict[str, int]) -> NDArray[np.int64]:
    """Return the place of each name among all so far; new ones are added."""
    import pandas as pd

    which, unique = pd.factorize(names.astype(str))
    places = [known.setdefault(str(name), len(known)) for name in unique]
    return np.array(places, dtype=np.int64)[which]


def _grown(path: Path, codes: NDArray[np.uint16], n_items: int, n_categories: int) -> NDArray[np.uint16]:
    """Return `codes` with room for so many, at least doubled where there is too little."""
    check_size(path, n_items, n_categories)
    shape = [
        size if needed <= size else max(needed, 2 * size)
        for needed, size in zip((n_items, n_categories), codes.shape, strict=True)
    ]
    if tuple(shape) == codes.shape:
        return codes
    grown = np.zeros(shape, dtype=np.uint16)
    grown[: codes.shape[0], : codes.shape[1]] = codes
    return grown


def _tell_repeated(path: Path, part: DataFrame, item: str, category: str, before: NDArray[np.uint16]) -> None:
    again = part.duplicated([item, category]).to_numpy() | ((before & SEEN) > 0)
    row = part[again].iloc[0]
    raise UserError(
        f"predictions={path}: item {str(row[item])!r} has two rows for category {str(row[category])!r}; one "
        "is allowed"
    )
