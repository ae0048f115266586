"""What the reports of the studies of learning algorithms share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.compare.learner_tests import TESTS
from harness.drawing.style import figure_style, save_figure
from harness.errors import harmless
from harness.runtime.store import read_regular, write_atomically
from harness.writing.captions import write_captions
from harness.writing.table_text import escape_markdown, from_csv, to_markdown

if TYPE_CHECKING:
    from pandas import DataFrame

TABLE = "algorithm_size_power.csv"
"""Sizes and powers of the tests of learning algorithms, of either study of them."""
NAMES = dict.fromkeys(("data", "estimator", "algorithm", "a", "b", "test"), str)
BARS = "Bars: 95 % Clopper-Pearson intervals of the share of data sets."


def read_table(path: Path) -> DataFrame:
    """Read a table as it was written: names as text, empty fields missing."""
    return from_csv(read_regular(path), dtype=NAMES, keep_default_na=False, na_values=[""])


def main_alpha(alphas: Sequence[float]) -> float:
    """Return the level that figures and the main tables show: .05, or the first.

    Examples
    --------
    >>> main_alpha([0.01, 0.05]), main_alpha([0.1, 0.2])
    (0.05, 0.1)
    """
    return 0.05 if 0.05 in alphas else alphas[0]


def records(rows: DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a table, each by the names of its columns."""
    return [{str(name): value for name, value in row.items()} for row in rows.to_dict("records")]


def with_interval(row: Mapping[str, Any]) -> str:
    """Return a rate with its interval.

    Examples
    --------
    >>> with_interval({"rate": 0.05, "mc_low": 0.04, "mc_high": 0.06})
    '0.050 [0.040, 0.060]'
    """
    return f"{row['rate']:.3f} [{row['mc_low']:.3f}, {row['mc_high']:.3f}]"


def wide_table(rows: DataFrame, column: str, head: str = "{}") -> DataFrame:
    """Return rates with intervals: a row for each test, a column for each value of `column`.

    Parameters
    ----------
    rows : DataFrame
        One row for each test and value.
    column : str
    head : str
        Format of a column's heading.
    """
    import pandas as pd

    values = list(dict.fromkeys(rows[column]))
    found = {(row["test"], row[column]): with_interval(row) for row in records(rows)}
    tests = [test for test in TESTS if test in set(rows["test"])]
    table = {"test": [TESTS[test].label for test in tests]}
    for value in values:
        table[head.format(value)] = [found.get((test, value), "") for test in tests]
    return pd.DataFrame(table)


def draw(out: Path, figures: Mapping[str, tuple[Any, str]], formats: Sequence[str], dpi: float) -> list[Path]:
    """Write figures and their captions into ``figures/``.

    Parameters
    ----------
    figures : mapping
        Stem of the file to (function that makes the figure, caption).
    """
    folder, paths = out / "figures", []
    for stem, (make, _) in figures.items():
        with figure_style():
            paths += save_figure(make(), folder, stem, formats, dpi)
    write_captions(folder, {stem: caption for stem, (_, caption) in figures.items()})
    return paths


def write_summary(
    out: Path,
    heading: str,
    *,
    found: Sequence[str],
    about: Sequence[str],
    warnings: Sequence[str],
    tables: Sequence[tuple[str, DataFrame]],
) -> None:
    """Write ``summary.md``: findings, what was run, warnings, and tables with their captions."""
    lists = {"Main findings": found, "What was run": about, "Warnings": warnings or ["None."]}
    parts = [f"# {heading}"]
    for name, lines in lists.items():
        parts += [f"## {name}", "\n".join(f"- {escape_markdown(line)}" for line in lines)]
    parts.append("## Tables")
    for caption, table in tables:
        parts += [escape_markdown(caption), to_markdown(table).rstrip()]
    write_atomically(out / "summary.md", (harmless("\n\n".join(parts)) + "\n").encode())


def name_tests(tests: Sequence[str]) -> str:
    """Return tests by their labels, or "none"."""
    return ", ".join(TESTS[test].label for test in tests) or "none"
