"""Rows that stand in a table more often than chance allows."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.tables.labels import Values

CHANCE = 1e-4
MOST_ROWS = 1_000_000
"""Different rows that are kept; of more, a random half, and again."""


class Repeats:
    """Counts how often each different row occurs, some rows at a time, in bounded memory."""

    def __init__(self) -> None:
        self._rows = np.empty(0, dtype=np.uint64)
        self._counts = np.empty(0, dtype=np.int64)
        self._part = 1

    def add(self, part: Mapping[str, Values]) -> None:
        """Count the next rows."""
        self.add_hashes(hash_rows(part))

    def add_hashes(self, hashes: NDArray[np.uint64]) -> None:
        """Count rows by their hashes."""
        hashes = hashes[hashes % np.uint64(self._part) == 0]
        rows, counts = np.unique(hashes, return_counts=True)
        self._rows, place = np.unique(np.concatenate([self._rows, rows]), return_inverse=True)
        weights = np.concatenate([self._counts, counts])
        self._counts = np.bincount(place, weights, len(self._rows)).astype(np.int64)
        while len(self._rows) > MOST_ROWS:
            self._part *= 2
            kept = self._rows % np.uint64(self._part) == 0
            self._rows, self._counts = self._rows[kept], self._counts[kept]

    def warnings(self) -> list[str]:
        """Return a sentence where all rows are repeated."""
        return tell_repeated(self._counts)


def tell_repeated(counts: NDArray[np.integer]) -> list[str]:
    """Return a sentence where one number divides the count of every different row, beyond chance.

    If the counts of d different rows were random, a number k would divide them all with a probability of
    about ``k**(1 - d)``, given their sum; below 1e-4 the file is taken to hold every item k times.
    """
    k = int(np.gcd.reduce(counts)) if len(counts) else 1
    if k < 2 or (1 - len(counts)) * np.log(k) >= np.log(CHANCE):
        return []
    return [
        f"the count of each of the {len(counts):,} different rows is a multiple of {k:,}: items seem to "
        f"stand there {k:,} times each, or as often as a divisor of {k:,}; repeated items make every test "
        "reject too often: keep each item once"
    ]


def hash_rows(part: Mapping[str, Values]) -> NDArray[np.uint64]:
    """Return a hash of each row."""
    from pandas.util import hash_array

    rows: Any = np.uint64(0)
    for values in part.values():
        different = np.array([f"{value}" for value in values.different], dtype=object)
        own = hash_array(different, categorize=False)
        rows = (rows * np.uint64(0x9E3779B97F4A7C15)) ^ own[values.places]
        rows = rows ^ (rows >> np.uint64(29))
    return np.atleast_1d(rows)
