"""A file of predictions on several categories: of every item and category the truth and the decisions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from harness.advise.columns import (
    CATEGORY,
    ID_NAMES,
    ITEM_NAMES,
    TRUTH_NAMES,
    Items,
    Roles,
    decide_scores,
    find_roles,
    read_column,
)
from harness.advise.decisions import SEEN, Decisions, check_number, check_size, encode_decisions
from harness.errors import UserError
from harness.tables.files import Part, Table, open_table
from harness.tables.labels import Column, missing_words


def find_form(
    columns: Sequence[str], category_column: str | None, separator: str, truth: str | None = None
) -> str | None:
    """Return "long" or "wide" where the columns are those of several categories, None where of one.

    Parameters
    ----------
    columns : sequence of str
    category_column : str or None
        None takes a column named ``category`` for one of categories where there is a truth.
    separator : str
        Between system and category in the names of a wide table's columns.
    truth : str or None
        The column of the truth where the user named it.

    Examples
    --------
    >>> find_form(["id", "category", "y_true", "a"], None, "."), find_form(["y_true", "a", "b"], None, ".")
    ('long', None)
    >>> find_form(["id", "y_true.sport", "a.sport"], None, ".")
    'wide'
    """
    plain = any(name in columns for name in TRUTH_NAMES)
    if category_column is not None or (CATEGORY in columns and (plain or truth is not None)):
        return "long"
    wide = any(name.startswith(f"{truth}{separator}") for name in columns for truth in TRUTH_NAMES)
    return "wide" if wide and not plain else None


def read_decisions(
    path: str | Path | Table,
    form: str,
    truth: str | None = None,
    systems: Sequence[str] | None = None,
    threshold: float | None = None,
    positive: object = None,
    category_column: str | None = None,
    separator: str = ".",
    missing: Sequence[object] = (),
) -> Decisions:
    r"""Read the decisions on several categories, a row for each item and category or one for each item.

    Parameters
    ----------
    path : str, Path or Table
    form : {"long", "wide"}
        Long: columns of the item's id, the category, the truth and each system. Wide: the truth and each
        system have a column for each category, named SYSTEM, `separator`, CATEGORY.
    truth, systems, threshold
        As :func:`harness.advise.predictions.read_predictions`; in a wide table `truth` is what stands before
        the separator.
    positive : object, optional
        The label that says yes; where it is not given, one of 1, true, yes, pos, positive. One other label is
        allowed.
    category_column : str, optional
        Where it is not named ``category``.
    separator : str
    missing : sequence, optional
        Words that stand for a missing value beside the empty field.

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
    table = path if isinstance(path, Table) else open_table(path, "predictions")
    if not table.names:
        raise UserError(f"{table.where}: it holds no item; at least one row is needed")
    absent = missing_words(missing)
    if form == "long":
        return _read_long(table, truth, systems, threshold, positive, category_column or CATEGORY, absent)
    return _read_wide(table, truth, systems, threshold, positive, separator, absent)


def _read_long(
    table: Table, truth: str | None, systems: Sequence[str] | None, threshold: float | None, positive: object,
    category: str, missing: frozenset[str],
) -> Decisions:  # fmt: skip
    where = table.where
    item, roles = _long_columns(table, truth, systems, category)
    items: dict[str, int] = {}
    categories: dict[str, int] = {}
    codes = np.zeros((1024, 8), dtype=np.uint16)
    n_before, labels = 0, set[str]()
    for part in table.parts:
        own, at_category = (read_column(where, part, name, n_before, unit="row") for name in (item, category))
        columns = _decided(where, part, roles, n_before, threshold, missing, "row")
        n_before += len(own.places)
        row, column = _places(own, items), _places(at_category, categories)
        codes = _grown(where, codes, len(items), len(categories))
        own_codes = encode_decisions(where, columns, positive, labels)
        flat = row * codes.shape[1] + column
        different, first = np.unique(flat, return_index=True)
        again = (codes[row, column] & SEEN) > 0
        if len(different) < len(flat) or again.any():
            again |= ~np.isin(np.arange(len(flat)), first)
            place = int(np.argmax(again))
            raise UserError(
                f"{where}: item {list(items)[row[place]]!r} has two rows for category "
                f"{list(categories)[column[place]]!r}; one is allowed"
            )
        codes[row, column] = own_codes
    if not items:
        raise UserError(f"{where}: it holds no item; at least one row is needed")
    codes = codes[: len(items), : len(categories)]
    lacking = np.argwhere((codes & SEEN) == 0)
    if len(lacking):
        at_item, at = list(items)[lacking[0, 0]], list(categories)[lacking[0, 1]]
        raise UserError(
            f"{where}: item {at_item!r} has no row for category {at!r}; one row for each "
            "item and category is needed; category_column=false where it is no column of categories"
        )
    notes = (*table.notes, *roles.notes)
    return Decisions(table.path.name, list(categories), list(roles.systems), codes, roles.warnings, notes)


def _long_columns(
    table: Table, truth: str | None, systems: Sequence[str] | None, category: str
) -> tuple[str, Roles]:
    """Return the columns of the item, the truth and the systems."""
    where, columns = table.where, table.names
    if category not in columns:
        raise UserError(f"category_column: there is no column {category!r}; it has {', '.join(columns[:20])}")
    item = next((name for name in ID_NAMES if name in columns), None)
    if item is None:
        raise UserError(
            f"{where}: a row for each item and category needs a column of the item, named one of "
            f"{', '.join(ID_NAMES)}; it has {', '.join(columns[:20])}"
        )
    others = [name for name in columns if name != category]
    roles = find_roles(where, others, truth, systems, graded=False)
    check_number(where, roles.systems)
    return item, roles


def _decided(
    where: str, part: Part, roles: Roles, n_before: int, threshold: float | None, missing: frozenset[str],
    unit: str = "item",
) -> dict[str, Column]:  # fmt: skip
    """Return the columns of truth and systems, scores as decisions."""
    found = {name: read_column(where, part, name, n_before, missing, unit) for name in roles.columns()}
    if threshold is not None:
        found |= {name: decide_scores(where, name, found[name], threshold) for name in roles.systems}
    return found


def _places(names: Column, known: dict[str, int]) -> NDArray[np.int64]:
    """Return the place of each name among all so far; new ones are added."""
    places = [known.setdefault(name, len(known)) for name in names.labels]
    return np.array(places, dtype=np.int64)[names.places]


def _grown(where: str, codes: NDArray[np.uint16], n_items: int, n_categories: int) -> NDArray[np.uint16]:
    """Return `codes` with room for so many, at least doubled where there is too little."""
    check_size(where, n_items, n_categories)
    shape = [
        size if needed <= size else max(needed, 2 * size)
        for needed, size in zip((n_items, n_categories), codes.shape, strict=True)
    ]
    if tuple(shape) == codes.shape:
        return codes
    grown = np.zeros(shape, dtype=np.uint16)
    grown[: codes.shape[0], : codes.shape[1]] = codes
    return grown


def _read_wide(
    table: Table, truth: str | None, systems: Sequence[str] | None, threshold: float | None, positive: object,
    separator: str, missing: frozenset[str],
) -> Decisions:  # fmt: skip
    where = table.where
    prefix, categories, names = _wide_columns(where, table.names, truth, systems, separator)
    roles = {
        category: Roles(
            f"{prefix}{separator}{category}", tuple(f"{name}{separator}{category}" for name in names)
        )
        for category in categories
    }
    parts, labels = [], set[str]()
    items = Items(table, [name for own in roles.values() for name in own.columns()])
    for part in table.parts:
        check_size(where, items.n_before + len(next(iter(part.values())).values), len(categories))
        own = [
            encode_decisions(
                where, _decided(where, part, role, items.n_before, threshold, missing), positive, labels
            )
            for role in roles.values()
        ]
        items.add(part)
        parts.append(np.stack(own, axis=1))
    warnings = items.finish()
    return Decisions(
        table.path.name, categories, names, np.concatenate(parts), tuple(warnings), tuple(table.notes)
    )


def _truth_prefix(
    where: str, columns: Sequence[str], truth: str | None, systems: Sequence[str] | None, separator: str
) -> str:
    """Return what stands for the truth before the separator."""
    prefixes = [truth] if truth is not None else list(TRUTH_NAMES)
    truths = [p for p in prefixes if any(name.startswith(p + separator) for name in columns)]
    if len(truths) > 1 and systems is None:
        raise UserError(
            f"{where}: columns of {' and '.join(map(repr, truths))} have names of a truth; "
            "truth_column=NAME says which it is, systems=[NAME,NAME] which are systems"
        )
    if not truths:
        raise UserError(
            f"truth_column: no column is named {truth}{separator}CATEGORY; it has {', '.join(columns[:20])}"
        )
    return truths[0]


def _wide_columns(
    where: str, columns: list[str], truth: str | None, systems: Sequence[str] | None, separator: str
) -> tuple[str, list[str], list[str]]:
    """Return what stands for the truth before the separator, the categories and the systems."""
    prefix = _truth_prefix(where, columns, truth, systems, separator)
    start = prefix + separator
    categories = [name.removeprefix(start) for name in columns if name.startswith(start)]
    # the longest first: a category may end as another does, after a separator of its own
    endings = sorted((separator + category for category in categories), key=len, reverse=True)
    known: list[str] = []
    for name in columns:
        ending = next((ending for ending in endings if name.endswith(ending)), None)
        if ending is not None and not name.startswith(start):
            own = name.removesuffix(ending)
            if own not in TRUTH_NAMES:
                known.append(own)
        elif ending is None and name not in ITEM_NAMES and systems is None:
            raise UserError(
                f"{where}: column {name!r} is no SYSTEM{separator}CATEGORY with a category of the "
                f"truth ({', '.join(categories[:10])}); systems=[NAME,NAME] says which columns to read"
            )
    chosen = list(dict.fromkeys(known)) if systems is None else [str(name) for name in systems]
    for name in chosen:
        for category in categories:
            if f"{name}{separator}{category}" not in columns:
                raise UserError(f"{where}: there is no column '{name}{separator}{category}'")
    if len(chosen) < 2 or len(set(chosen)) < len(chosen):
        raise UserError(
            f"{where}: the systems are {', '.join(chosen) or 'none'}; at least two different ones "
            "beside the truth are needed"
        )
    check_number(where, chosen)
    return prefix, categories, chosen
