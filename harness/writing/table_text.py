"""Tables as Markdown and as LaTeX (booktabs)."""

from __future__ import annotations

import io
import re
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.errors import harmless
from harness.runtime.store import write_atomically

if TYPE_CHECKING:
    from pandas import DataFrame

LATEX = tomllib.loads(Path(__file__).with_name("latex.toml").read_text("utf-8"))


def escape_latex(text: str) -> str:
    r"""Return `text` with every character that LaTeX would take for a command written out.

    Examples
    --------
    >>> print(escape_latex("50 % of linear_svm & ΔF1"))
    50 \% of linear\_svm \& $\Delta$F1
    """
    return "".join(LATEX.get(character, character) for character in " ".join(text.split()))


def escape_markdown(text: str) -> str:
    r"""Return `text` on one line, with what would end a table cell or start a format written out.

    Underscores within a word and brackets that are no link stay as they are, so that the file reads well.

    Examples
    --------
    >>> print(escape_markdown("a|b *c* <d> linear_svm [0.1, 0.2] _e_"))
    a\|b \*c\* &lt;d&gt; linear_svm [0.1, 0.2] \_e\_
    """
    text = harmless(" ".join(text.split())).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = re.sub(r"([\\|*`])", r"\\\1", text)
    text = re.sub(r"(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])", r"\\_", text)
    return re.sub(r"\](?=[(\[:])", r"\\]", text)


FORMULA = re.compile(r"'*[=+\-@\t\r]")


def neutralise(value: Any) -> Any:
    """Return a name so that no spreadsheet takes it for a formula: with an apostrophe in front; numbers stay.

    Examples
    --------
    >>> neutralise("=1+1"), neutralise("-0.5"), neutralise("'@x"), restore(neutralise("'@x"))
    ("'=1+1", '-0.5', "''@x", "'@x")
    """
    if not isinstance(value, str) or not FORMULA.match(value):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value


def restore(value: Any) -> Any:
    """Return what :func:`neutralise` was given."""
    return value[1:] if isinstance(value, str) and value[:1] == "'" and FORMULA.match(value) else value


def to_csv(table: DataFrame, **options: Any) -> bytes:
    """Return a table as CSV, its names neutralised."""
    text: str = _map_text(table, neutralise).to_csv(index=False, lineterminator="\n", **options)
    return text.encode()


def from_csv(data: bytes, **options: Any) -> DataFrame:
    """Return the table that :func:`to_csv` wrote."""
    import pandas as pd

    return _map_text(pd.read_csv(io.BytesIO(data), **options), restore)


def _map_text(table: DataFrame, change: Callable[[Any], Any]) -> DataFrame:
    from pandas.api.types import is_numeric_dtype

    table = table.rename(columns=change)
    return table.assign(
        **{name: table[name].map(change) for name in table.columns if not is_numeric_dtype(table[name])}
    )


def show(value: object, digits: int = 3) -> str:
    """Return a cell as text: floats to `digits` decimals, missing values as an empty cell.

    Examples
    --------
    >>> show(0.05), show(float("nan")), show(12), show("x")
    ('0.050', '', '12', 'x')
    """
    import pandas as pd

    if value is None or value is pd.NA or value != value:
        return ""
    if isinstance(value, float):
        return f"{value:.{digits}f}"
    return str(value)


def bounds(low: float, high: float, digits: int = 3) -> str:
    """Return an interval as text, empty where there is none."""
    return f"[{low:.{digits}f}, {high:.{digits}f}]" if low == low and high == high else ""


def with_bounds(value: float, low: float, high: float, digits: int = 3) -> str:
    """Return an estimate with its interval as text, empty where there is no estimate."""
    return f"{show(value, digits)} {bounds(low, high, digits)}".strip() if value == value else ""


def cells(frame: DataFrame) -> list[list[str]]:
    """Return the cells of a table as text, row by row."""
    return [[show(cell) for cell in row] for row in frame.itertuples(index=False, name=None)]


def to_markdown(frame: DataFrame) -> str:
    """Return `frame` without its index as a Markdown table."""
    lines = [list(map(str, frame.columns)), *cells(frame)]
    rows = ["| " + " | ".join(map(escape_markdown, line)) + " |\n" for line in lines]
    return "".join([rows[0], "| " + " | ".join(["---"] * frame.shape[1]) + " |\n", *rows[1:]])


def to_latex(frame: DataFrame, caption: str) -> str:
    """Return `frame` without its index as a LaTeX table; it needs the package booktabs."""
    from harness.writing.prose import render

    return render("table.tex.j2", frame=frame, caption=caption)


def write_tables(folder: Path, stem: str, parts: Sequence[tuple[str, DataFrame]]) -> list[Path]:
    """Write captioned tables to ``folder/stem.md`` and ``folder/stem.tex`` and return both paths.

    A part is a caption and a table; parts follow each other in the file.
    """
    markdown, latex = folder / f"{stem}.md", folder / f"{stem}.tex"
    text = "\n".join(f"{escape_markdown(caption)}\n\n{to_markdown(part)}" for caption, part in parts)
    write_atomically(markdown, harmless(text).encode())
    write_atomically(latex, "\n".join(to_latex(part, caption) for caption, part in parts).encode())
    return [markdown, latex]


FILTERS = {"cells": cells, "latex": escape_latex, "md": escape_markdown, "md_table": to_markdown}
