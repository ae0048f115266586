"""Data sets for comparing learning algorithms: those that scikit-learn ships, or a table of one's own."""

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.errors import UserError

SHIPPED = ("wine", "iris", "digits", "breast_cancer")


class Dataset(NamedTuple):
    """Samples with numeric features and a class each.

    Attributes
    ----------
    name : str
    x : float array, shape (n_samples, n_features)
    y : int array, shape (n_samples,)
        Place of the sample's class in `classes`.
    classes : tuple of str
        In sorted order; with two of them, scorers take the second as positive.
    """

    name: str
    x: NDArray[np.float64]
    y: NDArray[np.int64]
    classes: tuple[str, ...]

    def fingerprint(self) -> str:
        """Return a hash of all that is in the data set."""
        parts = [self.x.astype("<f8"), self.y.astype("<i8")]
        seen = hashlib.sha256(repr((self.x.shape, self.classes)).encode())
        for part in parts:
            seen.update(np.ascontiguousarray(part).tobytes())
        return seen.hexdigest()


def load_shipped(name: str) -> Dataset:
    """Return one of the data sets that come with scikit-learn; nothing is downloaded.

    Raises
    ------
    UserError
        If scikit-learn does not ship `name`.

    Examples
    --------
    >>> wine = load_shipped("wine")
    >>> wine.x.shape, np.bincount(wine.y).tolist(), wine.classes
    ((178, 13), [59, 71, 48], ('class_0', 'class_1', 'class_2'))
    """
    from sklearn import datasets

    if name not in SHIPPED:
        raise UserError(f"name: {name!r} is not allowed; choose one of {', '.join(SHIPPED)}")
    found = getattr(datasets, f"load_{name}")()
    classes = tuple(str(label) for label in found.target_names)
    return Dataset(name, np.asarray(found.data, dtype=float), found.target.astype(np.int64), classes)


def read_csv(path: str, target: str) -> Dataset:
    """Read a table with a header: the column `target` holds the labels, all others numbers.

    Labels are compared as text.

    Raises
    ------
    UserError
        If the file or the column is missing, a value is missing, infinite or no number, or the labels
        are all the same.
    """
    import pandas as pd

    if Path(path).exists() and not Path(path).is_file():  # a pipe would block, a device might never end
        raise UserError(f"path={path}: it is no regular file; a CSV file is needed")
    try:
        table = pd.read_csv(path, dtype=str, keep_default_na=True, skipinitialspace=True)
    except OSError as error:
        raise UserError(f"path={path}: {error.strerror or error}; a CSV file is needed") from error
    except (ValueError, UnicodeError) as error:  # pandas' parser errors are ValueErrors
        raise UserError(f"path={path}: it cannot be read as a CSV table ({error})") from error
    if str(target) not in table.columns:
        columns = ", ".join(str(column) for column in table.columns[:20])
        raise UserError(f"target: {target!r} is no column of {path}; it has {columns}")
    if table.empty:
        raise UserError(f"path={path}: it has a header and no row; samples are needed")
    missing = table.isna()
    if missing.to_numpy().any():
        row, column = (int(place) for place in np.argwhere(missing.to_numpy())[0])
        n = int(missing.to_numpy().sum())
        raise UserError(
            f"path={path}: row {row + 2} has no value in column {table.columns[column]!r} "
            f"({n} {'value is' if n == 1 else 'values are'} missing in all); fill in or leave out"
        )
    labels = table.pop(str(target)).to_numpy(dtype=str)
    if table.shape[1] == 0:
        raise UserError(f"path={path}: it has no column but {target!r}; at least one feature is needed")
    x = np.column_stack([_numbers(path, table[column]) for column in table.columns])
    classes, y = np.unique(labels, return_inverse=True)
    return Dataset(Path(path).name, x, y.astype(np.int64), tuple(str(label) for label in classes))


def _numbers(path: str, column) -> NDArray[np.float64]:
    """Return a column as finite floats."""
    import pandas as pd

    values = pd.to_numeric(column, errors="coerce").to_numpy(dtype=float)
    bad = ~np.isfinite(values)
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise UserError(
            f"path={path}: column {column.name!r} holds {column.iloc[row]!r} in row {row + 2}; "
            "features must be finite numbers"
        )
    return values


def count_held_out(n_samples: int, test_share: float) -> int:
    """Return the samples in the test set of a hold-out: the share, rounded up.

    Examples
    --------
    >>> count_held_out(178, 0.2)
    36
    """
    return int(np.ceil(n_samples * test_share - 1e-9))


def check_dataset(data: Dataset, test_share: float) -> None:
    """Refuse data that cannot be halved, or held out, with every class on both sides.

    Raises
    ------
    UserError
        If there is one class only, a class has one sample, or either side of the hold-out has fewer
        samples than there are classes.
    """
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
    """Refuse data sets that tables and files of figures could not tell apart.

    Raises
    ------
    UserError
        If two have the same name, or names that differ only in signs that no file name has.
    """
    names = [one.name for one in data]
    for name in names:
        if names.count(name) > 1:
            raise UserError(f"data: two data sets are called {name}; each name is allowed once")
    stems = {file_stem(name): name for name in names}
    for name in names:
        last = stems[file_stem(name)]
        if last != name:
            raise UserError(f"data: names of figures cannot tell {name} and {last} apart; rename one")


def file_stem(name: str) -> str:
    """Return a data set's name as a part of file names.

    Examples
    --------
    >>> file_stem("my data.csv")
    'my_data_csv'
    """
    return re.sub(r"\W+", "_", name)


def facts_of_data(data: Dataset, test_share: float) -> dict[str, object]:
    """Return what ``provenance.json`` says of a data set and its hold-out."""
    n_test = count_held_out(len(data.y), test_share)
    sizes = np.bincount(data.y, minlength=len(data.classes)).tolist()
    return {
        "name": data.name,
        "n_samples": len(data.y),
        "n_features": data.x.shape[1],
        "classes": dict(zip(data.classes, sizes, strict=True)),
        "n_train": len(data.y) - n_test,
        "n_test": n_test,
        "fingerprint": data.fingerprint(),
    }
