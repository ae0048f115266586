"""A table with a column for each system and category."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from harness.advice.decisions import Decisions, check_number, check_size, encode_decisions
from harness.advice.table_files import (
    ID_NAMES,
    ITEM_NAMES,
    TRUTH_NAMES,
    add_ids,
    check_missing,
    check_repeated,
    read_frames,
)
from harness.errors import UserError


def read_wide(
    path: Path, truth: str | None, systems: Sequence[str] | None, threshold: float | None, positive: object,
    separator: str,
) -> Decisions:  # fmt: skip
    """Read such a table; see :func:`harness.advice.multi_label.read_decisions`."""
    parts, labels, ids = [], set[str](), None
    hashes: list[NDArray[np.uint64]] = []
    found: tuple[str, list[str], list[str]] | None = None
    n_before = 0
    for frame in read_frames(path):
        columns = [str(column) for column in frame.columns]
        found = found or _wide_columns(path, columns, truth, systems, separator)
        prefix, categories, names = found
        wanted = [f"{name}{separator}{category}" for category in categories for name in (prefix, *names)]
        part = frame[wanted]
        check_missing(path, part, n_before)
        n_before += len(part)
        check_size(path, n_before, len(categories))
        ids = next((name for name in ID_NAMES if name in columns), None)
        if ids is not None:
            add_ids(frame[ids], hashes)
        own = [
            encode_decisions(
                path, part, f"{prefix}{separator}{category}",
                [f"{name}{separator}{category}" for name in names], threshold, positive, labels,
            )
            for category in categories
        ]  # fmt: skip
        parts.append(np.stack(own, axis=1))
    if found is None or not n_before:
        raise UserError(f"predictions={path}: it holds no item; at least one row is needed")
    check_repeated(path, ids, hashes)
    return Decisions(path.name, found[1], found[2], np.concatenate(parts))


def _truth_prefix(
    path: Path, columns: Sequence[str], truth: str | None, systems: Sequence[str] | None, separator: str
) -> str:
    """Return what stands for the truth before the separator."""
    prefixes = [truth] if truth is not None else list(TRUTH_NAMES)
    truths = [p for p in prefixes if any(name.startswith(p + separator) for name in columns)]
    if len(truths) > 1 and systems is None:
        raise UserError(
            f"predictions={path}: columns of {' and '.join(map(repr, truths))} have names of a truth; "
            "truth_column=NAME says which it is, systems=[NAME,NAME] which are systems"
        )
    if not truths:
        raise UserError(
            f"truth_column: no column is named {truth}{separator}CATEGORY; it has {', '.join(columns[:20])}"
        )
    return truths[0]


def _wide_columns(
    path: Path, columns: list[str], truth: str | None, systems: Sequence[str] | None, separator: str
) -> tuple[str, list[str], list[str]]:
    """Return what stands for the truth before the separator, the categories and the systems."""
    prefix = _truth_prefix(path, columns, truth, systems, separator)
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
                f"predictions={path}: column {name!r} is no SYSTEM{separator}CATEGORY with a category of the "
                f"truth ({', '.join(categories[:10])}); systems=[NAME,NAME] says which columns to read"
            )
    chosen = list(dict.fromkeys(known)) if systems is None else [str(name) for name in systems]
    for name in chosen:
        for category in categories:
            if f"{name}{separator}{category}" not in columns:
                raise UserError(f"predictions={path}: there is no column '{name}{separator}{category}'")
    if len(chosen) < 2 or len(set(chosen)) < len(chosen):
        raise UserError(
            f"predictions={path}: the systems are {', '.join(chosen) or 'none'}; at least two different ones "
            "beside the truth are needed"
        )
    check_number(path, chosen)
    return prefix, categories, chosen
