"""Data sets for comparing learning algorithms: those that scikit-learn ships, or a table of one's own."""

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.errors import UserError, check_choice, require
from harness.measures import Floats, Ints
from harness.tables import labels as words
from harness.tables.files import Part, open_table

SHIPPED = ("wine", "iris", "digits", "breast_cancer")


class Dataset(NamedTuple):
    """Samples with numeric features and a class each.

    `x` has shape (n_samples, n_features); `y` holds the place of each sample's class in `classes`, which are
    sorted: with two of them, scorers take the second as positive. `notes` say what was left out of the file.
    """

    name: str
    x: Floats
    y: Ints
    classes: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def fingerprint(self) -> str:
        """Return a hash of all that is in the data set."""
        parts = repr((self.x.shape, self.classes)).encode(), self.x.astype("<f8"), self.y.astype("<i8")
        return hashlib.sha256(b"".join(bytes(part) for part in parts)).hexdigest()


def load_shipped(name: str) -> Dataset:
    """Return one of the data sets that come with scikit-learn; nothing is downloaded."""
    from sklearn import datasets

    check_choice("name", name, SHIPPED, UserError)
    found = getattr(datasets, f"load_{name}")()
    classes = tuple(str(label) for label in found.target_names)
    return Dataset(name, np.asarray(found.data, dtype=float), found.target.astype(np.int64), classes)


def read_csv(path: str, target: str, missing: Sequence[object] = ()) -> Dataset:
    """Read a table in any format of `harness.tables`: the column `target` holds labels, all others numbers.

    Labels are those of :func:`harness.tables.labels.plain_label`. A first column of row numbers that has no
    name is left out; in a file that is sorted by class it would tell the class. `missing` are words that
    stand for a missing value beside the empty field; a UserError names the first row and column with one.
    """
    table = open_table(path, "path")
    if str(target) not in table.names:
        raise UserError(f"target: {target!r} is no column of {path}; it has {', '.join(table.names[:20])}")
    features = [name for name in table.names if name != str(target)]
    absent = words.missing_words(missing)
    labels, blocks, n = [], [], table.first_row
    for part in table.parts:
        own = words.read_labels(part[str(target)], absent)
        found = None if absent or (own.places < 0).any() else _plain_numbers(part, features)
        if found is None:
            columns = {name: words.read_labels(part[name], absent) for name in table.names}
            _check_missing(path, columns, n)
            found = [_numbers(path, name, columns[name], n) for name in features]
        labels.append(own.text())
        blocks.append(np.stack(found, axis=1) if found else np.empty((len(own.places), 0)))
        n += len(own.places)
    if n == table.first_row:
        raise UserError(f"path={path}: it has a header and no row; samples are needed")
    if not features:
        raise UserError(f"path={path}: it has no column but {target!r}; at least one feature is needed")
    y, classes = _classes(f"path={path}: column {target!r}", np.concatenate(labels))
    return Dataset(Path(path).name, np.concatenate(blocks), y, classes, tuple(table.notes))


def _classes(where: str, labels: NDArray[Any]) -> tuple[Ints, tuple[str, ...]]:
    """Return the place of each sample's class among the classes, and these."""
    sizes = Counter(labels.tolist())
    words.check_labels(where, sizes)
    words.check_spellings(where, sizes)
    same = words.same_as_truth(sizes)
    classes, y = np.unique([same.get(label, label) for label in labels.tolist()], return_inverse=True)
    return y.astype(np.int64), tuple(str(label) for label in classes)


def _check_missing(path: str, columns: Mapping[str, words.Column], first_row: int) -> None:
    missing = np.stack([column.places < 0 for column in columns.values()], axis=1)
    if missing.any():
        row, column = (int(place) for place in np.argwhere(missing)[0])
        n = int(missing.sum())
        raise UserError(
            f"path={path}: row {first_row + row} has no value in column {list(columns)[column]!r} "
            f"({n} {'value is' if n == 1 else 'values are'} missing in all); fill in or leave out"
        )


def _plain_numbers(part: Part, features: Sequence[str]) -> list[Floats] | None:
    """Return columns as floats, quickly; None where something is missing, no number or not finite."""
    try:
        found = [np.array(part[name].values, dtype=str).astype(float) for name in features]
    except ValueError:
        return None
    return found if all(np.isfinite(column).all() for column in found) else None


def _numbers(path: str, name: str, column: words.Column, first_row: int) -> Floats:
    """Return a column as finite floats."""
    values = np.array([float(label) if words.is_number(label) else np.nan for label in column.labels])
    bad = ~np.isfinite(values)
    if bad.any():
        label = int(np.argmax(bad))
        row = first_row + int(np.argmax(column.places == label))
        raise UserError(
            f"path={path}: column {name!r} holds {column.labels[label][:40]!r} in row {row}; "
            "features must be finite numbers"
        )
    return values[column.places]


def count_held_out(n_samples: int, test_share: float) -> int:
    """Return the samples in the test set of a hold-out: the share, rounded up."""
    return int(np.ceil(n_samples * test_share - 1e-9))


def check_dataset(data: Dataset, test_share: float) -> None:
    """Raise UserError unless every class can lie on both sides of a halving and of a hold-out."""
    sizes = np.bincount(data.y, minlength=len(data.classes))
    if (sizes > 0).sum() < 2:
        raise UserError(
            f"data: {data.name} holds one class only ({data.classes[0]!r}); at least two are needed"
        )
    if sizes.min() < 2:
        small = data.classes[int(np.argmin(sizes))]
        raise UserError(
            f"data: class {small!r} of {data.name} has {sizes.min()} sample; every class needs two at least, "
            "one for each half"
        )
    n_test = count_held_out(len(data.y), test_share)
    for side, n in (("test", n_test), ("training", len(data.y) - n_test)):
        if n < len(data.classes):
            raise UserError(
                f"test_share: {test_share} of the {len(data.y)} samples of {data.name} leaves {n} in the "
                f"{side} set; at least one for each of the {len(data.classes)} classes is needed"
            )


def check_names(data: Sequence[Dataset]) -> None:
    """Raise UserError where tables, or file names of figures, could not tell two data sets apart."""
    names = [one.name for one in data]
    stems = {file_stem(name): name for name in names}
    for name in names:
        once, last = names.count(name) == 1, stems[file_stem(name)]
        require(once, f"data: two data sets are called {name}; each name is allowed once", UserError)
        alike = f"data: names of figures cannot tell {name} and {last} apart; rename one"
        require(last == name, alike, UserError)


def file_stem(name: str) -> str:
    """Return a data set's name as a part of file names."""
    return re.sub(r"\W+", "_", name)


def facts_of_data(data: Dataset, test_share: float) -> dict[str, object]:
    """Return what ``provenance.json`` says of a data set and its hold-out."""
    n_test = count_held_out(len(data.y), test_share)
    sizes = np.bincount(data.y, minlength=len(data.classes)).tolist()
    return {
        "name": data.name, "n_samples": len(data.y), "n_features": data.x.shape[1],
        "classes": dict(zip(data.classes, sizes, strict=True)), "n_train": len(data.y) - n_test,
        "n_test": n_test, "fingerprint": data.fingerprint(),
    }  # fmt: skip
