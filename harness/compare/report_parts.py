"""What the reports of the studies of learning algorithms share."""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pandas import DataFrame

from harness.drawing.save import Build
from harness.runtime.store import read_regular
from harness.writing.report import Captioned, Section, bullets, table, warnings_section
from harness.writing.table_text import from_csv

PUBLISHED = tomllib.loads(Path(__file__).with_name("published.toml").read_text("utf-8"))
TABLES = tomllib.loads(Path(__file__).with_name("tables.toml").read_text("utf-8"))
NAMES = dict.fromkeys(("data", "estimator", "algorithm", "a", "b", "test"), str)


class Part(NamedTuple):
    """What one question adds to a report: captioned tables by their file in ``tables/``, CSVs, sentences."""

    tables: Mapping[str, Sequence[Captioned]] = {}
    csvs: Mapping[str, DataFrame] = {}
    found: Sequence[str] = ()
    warnings: Sequence[str] = ()


Figures = dict[str, Build]
"""Stem of each file to what draws it."""


def read_table(path: Path) -> DataFrame:
    """Read a table as it was written: names as text, empty fields missing."""
    return from_csv(read_regular(path), dtype=NAMES, keep_default_na=False, na_values=[""])


def records(rows: DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a table, each by the names of its columns."""
    return [{str(name): value for name, value in row.items()} for row in rows.to_dict("records")]


def sections(
    found: Sequence[str], about: Sequence[str], warnings: Sequence[str], tables: Iterable[Captioned]
) -> list[Section]:
    """Return the sections with which every report of a comparison begins."""
    return [
        Section("Main findings", [bullets(found)]),
        Section("What was run", [bullets(about)]),
        warnings_section(warnings),
        Section("Tables", [table(frame, caption) for caption, frame in tables]),
    ]
