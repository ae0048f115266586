"""A report: sections and tables, written as ``summary.md``, ``tables/`` and one HTML page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from pandas import DataFrame

from harness.errors import harmless
from harness.runtime.store import write_atomically
from harness.writing.prose import render
from harness.writing.table_text import write_tables

RERUN = "How to run this again"
REDRAW = "harness figures from=FOLDER"

Captioned = tuple[str, DataFrame]


class Block(NamedTuple):
    """A part of a section: ``text``, ``bullets``, ``numbered`` and ``code`` have lines, ``table`` a table."""

    kind: str
    lines: Sequence[str] = ()
    table: DataFrame | None = None
    caption: str = ""


class Section(NamedTuple):
    """A heading and what stands below it."""

    heading: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Report:
    """What a study says: the sections of ``summary.md``, and the captioned tables of ``tables/`` by file.

    Every text is plain; whoever writes the report escapes it.
    """

    title: str
    sections: Sequence[Section]
    tables: Mapping[str, Sequence[Captioned]] = field(default_factory=dict)


def text(*paragraphs: str) -> Block:
    """Return paragraphs."""
    return Block("text", paragraphs)


def bullets(lines: Sequence[str]) -> Block:
    """Return a list."""
    return Block("bullets", lines)


def numbered(lines: Sequence[str]) -> Block:
    """Return a list with numbers."""
    return Block("numbered", lines)


def table(frame: DataFrame, caption: str = "") -> Block:
    """Return a table; on the page a table without a caption has the heading of its section."""
    return Block("table", (), frame, caption)


def warnings_section(warnings: Sequence[str], heading: str = "Warnings") -> Section:
    """Return the warnings, or "None."."""
    return Section(heading, [bullets(warnings or ["None."])])


def figures_section(out: Path) -> Section:
    """Return where the figures in ``figures/`` lie."""
    figures = sorted(f"figures/{path.name}" for path in (out / "figures").glob("*.png"))
    lines = ["figures/captions.md says what each figure shows.", *figures]
    return Section("What to look at", [bullets(lines)])


def rerun_section(
    facts: Mapping[str, Any], commands: Sequence[str] = (REDRAW,), notes: Sequence[str] = ()
) -> Section:
    """Return a run's command, other `commands` with `notes` on them, the seed, seconds and memory."""
    seed, seconds, peak = (facts.get(name) for name in ("seed", "seconds", "peak_mib"))
    lines = [
        f"Seed: {'not recorded' if seed is None else seed}. The same configuration and seed give the same "
        "bytes in every CSV.",
        *notes,
    ]
    if seconds:
        lines.append("Seconds: " + ", ".join(f"{stage} {value:g}" for stage, value in seconds.items()) + ".")
    if peak:
        lines.append(f"Peak memory over all processes: {max(peak.values()):g} MiB.")
    shown = [facts.get("command") or "(command not recorded)", *commands]
    return Section(RERUN, [Block("code", [" ".join(str(line).split()) for line in shown]), bullets(lines)])


def write_report(out: Path, report: Report, facts: Mapping[str, Any]) -> Path:
    """Write ``summary.md``, ``tables/`` and the page to `out`, which holds the figures; return the page."""
    from harness.writing.page import write_page

    if all(section.heading != RERUN for section in report.sections):
        report = Report(report.title, [*report.sections, rerun_section(facts)], report.tables)
    for stem, parts in report.tables.items():
        write_tables(out / "tables", stem, parts)
    summary = render("summary.md.j2", title=report.title, sections=report.sections)
    write_atomically(out / "summary.md", harmless(summary).encode())
    return write_page(out, report, facts)
