"""A file of predictions on several categories: of every item and category the truth and the decisions."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.advise.files.columns import (
    CATEGORY,
    ITEM_NAMES,
    TRUTH_NAMES,
    Items,
    Reading,
    Roles,
    check_column,
    check_holds_items,
    check_systems,
    find_item,
    find_roles,
    with_size,
)
from harness.advise.files.predictions import Outcomes, Predictions, count_labels
from harness.errors import instead, refusal
from harness.measures import Bools, Ints
from harness.tables.files import Table, open_table
from harness.tables.labels import BINARY, POSITIVE_NAMES, Column, check_spellings, plain_label, tell_unknown

Codes = NDArray[np.uint16]

MOST_DECISIONS = 200_000_000
MOST_SYSTEMS = 14
SEEN, TRUTH = 1, 2  # bits of a decision; those of the systems follow


class Decisions(NamedTuple):
    """Of every item and category the truth and what each system decided.

    In `codes`, (n_items, n_categories), bit 1 is set where the truth is yes, bit 2 + i where system i says
    yes.
    """

    name: str
    categories: list[str]
    systems: list[str]
    codes: Codes
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    clusters: Ints | None = None
    form: str = "categories, yes or no in each"

    @property
    def about(self) -> str:
        """What the file holds, in words."""
        whole = ", drawn whole" if self.clusters is None else ""
        return with_size(f"{len(self.categories):,} {self.form}{whole}", self.clusters, 1)

    @property
    def n_items(self) -> Ints:
        """How often each row of `codes` occurs: once."""
        return np.ones(len(self.codes), dtype=np.int64)

    @property
    def n_total(self) -> int:
        """How many items the file has."""
        return len(self.codes)

    def truth(self) -> Bools:
        """Return the truth, shape (n_items, n_categories)."""
        return (self.codes & TRUTH) > 0

    def said(self, system: str) -> Bools:
        """Return the decisions of a system, shape (n_items, n_categories)."""
        return (self.codes & (4 << self.systems.index(system))) > 0


def one_against_rest(found: Predictions, name: str) -> Decisions:
    """Return one label an item as yes or no for each label of the truth, in which it is sought.

    A label that the truth lacks is yes nowhere: it is a miss of the item's own, and no false alarm.
    """
    if found.truth is None:
        raise refusal("advise.macro_of_graded", name=name)
    labels, systems = np.unique(found.truth.astype(str)).tolist(), list(found.systems)
    if len(labels) < 2:
        raise refusal("advise.one_truth", name=name, label=labels[0][:40])
    _check_number(name, systems)
    _check_size(name, int(found.n_items.sum()), len(labels))
    codes = np.full((len(found.n_items), len(labels)), SEEN, dtype=np.uint16)
    warnings = list(found.warnings)
    for bit, values in enumerate((found.truth, *found.systems.values()), 1):
        codes |= (values[:, None] == np.array(labels, dtype=object)).astype(np.uint16) << bit
    for system, values in found.systems.items():
        effect = "is a miss of the item's own label and no false alarm"
        warnings += tell_unknown(system, count_labels(values, found.n_items), labels, effect)
    clusters = None if found.clusters is None else np.repeat(found.clusters, found.n_items)
    return Decisions(
        found.name, labels, systems, np.repeat(codes, found.n_items, axis=0), tuple(warnings), found.notes,
        clusters, "labels of the truth, one an item",
    )  # fmt: skip


def one_category(decisions: Decisions, category: str) -> Outcomes:
    """Return the outcomes of one category; UserError if there is none, or every truth is the same."""
    if category not in decisions.categories:
        first = f"choose one of {', '.join(decisions.categories[:20])}"
        near = instead(category, decisions.categories, first)
        raise refusal("advise.no_category", category=category, near=near)
    own = decisions.codes[:, decisions.categories.index(category)]
    columns = own[:, None] if decisions.clusters is None else np.stack([own, decisions.clusters], axis=1)
    rows, n_items = np.unique(columns, axis=0, return_counts=True)
    codes, clusters = rows[:, 0], None if decisions.clusters is None else rows[:, 1]
    truth = (codes & TRUTH) > 0
    if truth.all() or not truth.any():
        one = "yes" if truth.any() else "no"
        raise refusal("advise.category_truth", one=one, category=category)
    said = {name: (codes & (4 << i)) > 0 for i, name in enumerate(decisions.systems)}
    about = with_size(f"category {category!r}, yes or no", clusters, n_items)
    return Outcomes(
        truth, said, n_items.astype(np.int64), about, decisions.warnings, decisions.notes, clusters
    )


def find_form(
    columns: Sequence[str], category_column: str | None, separator: str, truth: str | None = None
) -> str | None:
    """Return "long" or "wide" where the columns are those of several categories, None where of one.

    Long: a row per item and category. Wide: a row per item, and columns SYSTEM, separator, CATEGORY.
    """
    plain = any(name in columns for name in TRUTH_NAMES)
    if category_column is not None or (CATEGORY in columns and (plain or truth is not None)):
        return "long"
    wide = any(name.startswith(f"{truth}{separator}") for name in columns for truth in TRUTH_NAMES)
    return "wide" if wide and not plain else None


def read_decisions(path: str | Path | Table, form: str, reading: Reading = Reading()) -> Decisions:  # noqa: B008
    """Read the decisions on several categories, from a table in a form of :func:`find_form`."""
    table = path if isinstance(path, Table) else open_table(path, "predictions")
    check_holds_items(table.where, table.names)
    return _read_long(table, reading) if form == "long" else _read_wide(table, reading)


def _read_long(table: Table, reading: Reading) -> Decisions:
    where, category = table.where, reading.category_column or CATEGORY
    item, roles = _long_columns(table, reading, category)
    items: dict[str, int] = {}
    categories: dict[str, int] = {}
    codes, labels = np.zeros((1024, 8), dtype=np.uint16), set[str]()
    cluster_of, rows = dict[str, str](), Items(table, reading, unit="row")
    for part in table.parts:
        own, at_category = (rows.column(part, name) for name in (item, category))
        columns = rows.decisions(part, roles)
        for clusters in rows.clusters(part):
            _note_clusters(where, cluster_of, own.text(), clusters.text())
        rows.n_before += len(own.places)
        row, column = _places(own, items), _places(at_category, categories)
        codes = _grown(where, codes, len(items), len(categories))
        own_codes = encode_decisions(where, columns, reading.positive, labels)
        _, first = np.unique(row * codes.shape[1] + column, return_index=True)
        again = (codes[row, column] & SEEN) > 0
        again |= ~np.isin(np.arange(len(row)), first)
        if again.any():
            place = int(np.argmax(again))
            named = {"item": list(items)[row[place]], "category": list(categories)[column[place]]}
            raise refusal("advise.two_rows", where=where, **named)
        codes[row, column] = own_codes
    check_holds_items(where, items)
    codes = codes[: len(items), : len(categories)]
    lacking = np.argwhere((codes & SEEN) == 0)
    if len(lacking):
        named = {"item": list(items)[lacking[0, 0]], "category": list(categories)[lacking[0, 1]]}
        raise refusal("advise.no_row", where=where, **named)
    notes, systems = (*table.notes, *roles.notes), list(roles.systems)
    told = [np.array([cluster_of[item] for item in items], dtype=object)] if cluster_of else []
    numbers = reading.number(told)
    return Decisions(table.path.name, list(categories), systems, codes, roles.warnings, notes, numbers)


def _note_clusters(where: str, known: dict[str, str], items: NDArray[Any], clusters: NDArray[Any]) -> None:
    """Take note of the cluster that rows name for their items; refuse an item in two clusters."""
    for item, cluster in zip(items.tolist(), clusters.tolist(), strict=True):
        before = known.setdefault(item, cluster)
        if before != cluster:
            raise refusal("advise.two_clusters", where=where, item=item, cluster=before, other=cluster)


def _long_columns(table: Table, reading: Reading, category: str) -> tuple[str, Roles]:
    where, columns = table.where, table.names
    if category not in columns:
        raise refusal("advise.category_column", name=category, columns=columns[:20])
    item = find_item(f"{where}: a row for each item and category", columns)
    roles = find_roles(where, [name for name in columns if name != category], reading, graded=False)
    if reading.cluster is not None:
        check_column(reading.cluster, columns, [item, category])
    _check_number(where, roles.systems)
    return item, roles


def _places(names: Column, known: dict[str, int]) -> Ints:
    places = [known.setdefault(name, len(known)) for name in names.labels]
    return np.array(places, dtype=np.int64)[names.places]


def _grown(where: str, codes: Codes, n_items: int, n_categories: int) -> Codes:
    """Return `codes` with room for so many, at least doubled where there is too little."""
    _check_size(where, n_items, n_categories)
    needed = zip((n_items, n_categories), codes.shape, strict=True)
    more = [max(n, 2 * size) - size if n > size else 0 for n, size in needed]
    return np.pad(codes, [(0, n) for n in more]) if any(more) else codes


def _read_wide(table: Table, reading: Reading) -> Decisions:
    where, between = table.where, reading.separator
    prefix, categories, names = _wide_columns(where, table.names, reading)
    roles = [
        Roles(f"{prefix}{between}{category}", tuple(f"{name}{between}{category}" for name in names))
        for category in categories
    ]
    parts, clusters, labels = [], list[Any](), set[str]()
    items = Items(table, reading, [name for own in roles for name in own.columns()])
    for part in table.parts:
        _check_size(where, items.n_before + len(next(iter(part.values())).values), len(categories))
        columns = (items.decisions(part, role) for role in roles)
        parts.append(np.stack([encode_decisions(where, own, reading.positive, labels) for own in columns], 1))
        clusters += (own.text() for own in items.clusters(part))
        items.add(part)
    warnings, notes, numbers = tuple(items.finish()), tuple(table.notes), reading.number(clusters)
    return Decisions(table.path.name, categories, names, np.concatenate(parts), warnings, notes, numbers)


def _truth_prefix(where: str, columns: Sequence[str], reading: Reading) -> str:
    truth, separator = reading.truth, reading.separator
    prefixes = [truth] if truth is not None else list(TRUTH_NAMES)
    truths = [p for p in prefixes if any(name.startswith(p + separator) for name in columns)]
    if len(truths) > 1 and reading.systems is None:
        raise refusal("advise.wide_truths", where=where, truths=" and ".join(map(repr, truths)))
    if not truths:
        raise refusal("advise.wide_truth", truth=truth, separator=separator, columns=columns[:20])
    return truths[0]


def _wide_columns(where: str, columns: list[str], reading: Reading) -> tuple[str, list[str], list[str]]:
    prefix, separator, systems = _truth_prefix(where, columns, reading), reading.separator, reading.systems
    start = prefix + separator
    categories = [name.removeprefix(start) for name in columns if name.startswith(start)]
    # the longest first: a category may end as another does, after a separator of its own
    endings = sorted((separator + category for category in categories), key=len, reverse=True)
    known: dict[str, None] = {}
    for name in columns:
        ending = next((ending for ending in endings if name.endswith(ending)), None)
        if ending is not None and not name.startswith(start):
            known[name.removesuffix(ending)] = None
        elif ending is None and name not in (*ITEM_NAMES, *reading.aside()) and systems is None:
            told = {"separator": separator, "categories": categories[:10]}
            raise refusal("advise.wide_column", where=where, name=name, **told)
    chosen = [name for name in known if name not in TRUTH_NAMES]
    if systems is not None:
        chosen = [str(name) for name in systems]
    for name in (f"{name}{separator}{category}" for name in chosen for category in categories):
        if name not in columns:
            raise refusal("advise.wide_system", where=where, name=name)
    check_systems(where, chosen)
    _check_number(where, chosen)
    if reading.cluster is not None:
        used = [f"{name}{separator}{category}" for name in (prefix, *chosen) for category in categories]
        check_column(reading.cluster, columns, used)
    return prefix, categories, chosen


def _check_size(where: str, n_items: int, n_categories: int) -> None:
    if n_items * n_categories > MOST_DECISIONS:
        raise refusal("advise.many_decisions", where=where, most=MOST_DECISIONS)


def _check_number(where: str, systems: Sequence[str]) -> None:
    if len(systems) > MOST_SYSTEMS:
        raise refusal("advise.many_deciding", where=where, n=len(systems), most=MOST_SYSTEMS)


def encode_decisions(
    where: str, columns: Mapping[str, Column], positive: object, labels: set[str]
) -> NDArray[np.uint16]:
    """Return rows as bits, the truth's column first; `labels` holds those met so far, at most two."""
    code: Any = SEEN
    for bit, (name, column) in enumerate(columns.items(), 1):
        said = [BINARY.get(label, label) for label in column.labels]
        before = set(labels)
        labels.update(said)
        _check_labels(where, name, said, before, positive)
        yes = np.array([_is_yes(label, positive) for label in said], dtype=np.uint16)
        code = code | (yes[column.places] << bit)
    return np.asarray(code, dtype=np.uint16)


def _is_yes(label: str, positive: object) -> bool:
    if positive is None:
        return label.lower() in POSITIVE_NAMES
    plain = plain_label(str(positive))
    return label == BINARY.get(plain, plain)


def _check_labels(
    where: str, column: str, said: Sequence[str], before: Collection[str], positive: object
) -> None:
    """Refuse a third label, and two of which not one says yes; `before` were met in other columns or rows."""
    labels = {*said, *before}
    if len(labels) <= 2 and (len(labels) < 2 or sum(_is_yes(label, positive) for label in labels) == 1):
        return
    new = [label for label in dict.fromkeys(said) if label not in before]
    check_spellings(f"{where}: column {column!r}", before, new)
    beside = f" beside {', '.join(sorted(before))}" if before else ""
    raise refusal("advise.not_binary", where=where, column=column, labels=", ".join(new[:5]) + beside)
