"""Write ``report.html`` from the summary, figures, tables and provenance of a run, and from nothing else."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import quote

from harness.errors import UserError, harmless
from harness.runtime.provenance import read_provenance
from harness.runtime.store import read_regular, write_atomically
from harness.writing.citations import bibtex, reference, version_of, works_of
from harness.writing.html.content import Section, make_table, read_sections, read_tables, render
from harness.writing.html.pictures import figure_blocks
from harness.writing.rerun import HEADING as RERUN
from harness.writing.rerun import rerun_lines

NAME = "report.html"
FINDINGS = ("Main findings", "Findings")
FRONT = ("What was run", "Warnings", "Notes")
REPLACED = ("What to look at", "Files")
"""Sections that name files: the page shows the figures, and has a list of all files."""
LONGEST_TABLE = 400
"""Rows of the longest table that is shown beside those of the summary."""


def write_page(out: Path) -> Path:
    """Write ``report.html``, one file that loads no other, and return its path.

    Parameters
    ----------
    out : Path
        Folder with ``summary.md``, ``provenance.json`` and, if any, ``figures/`` and ``tables/``.

    Raises
    ------
    UserError
        If there is no summary.
    """
    out = Path(out)
    if not (out / "summary.md").is_file():
        raise UserError(f"{out}: it holds no summary.md; the folder of a finished run is needed")
    summary = read_regular(out / "summary.md").decode()
    provenance = read_provenance(out) or {}
    title, sections = read_sections(summary)
    front, rest = _arrange(sections)
    again = [section for section in sections if section.heading == RERUN]
    parts = [
        *front,
        Section("Figures", figure_blocks(out / "figures"), ""),
        *rest,
        Section("More tables", _more_tables(out / "tables", summary), ""),
        Section("How to cite", _citation(provenance), ""),
        Section(RERUN, _again(again, provenance), ""),
        Section("Files", _file_list(out), ""),
    ]
    path = out / NAME
    text = harmless(_page(title, [part for part in parts if part.blocks], provenance))
    write_atomically(path, text.encode())
    return path


def refresh_page(folder: Path) -> Path | None:
    """Write the page of a run again; None where `folder` has no summary, as older runs' may not."""
    return write_page(folder) if (Path(folder) / "summary.md").is_file() else None


def _arrange(sections: Sequence[Section]) -> tuple[list[Section], list[Section]]:
    """Return what stands before the figures, the findings first, and what follows them."""
    front = [section for section in sections if section.heading in FINDINGS]
    front += [section for section in sections if not section.heading]
    front += [section for section in sections if section.heading in FRONT]
    known = (*FINDINGS, *FRONT, *REPLACED, RERUN, "")
    return front, [section for section in sections if section.heading not in known]


def _more_tables(folder: Path, summary: str) -> list[str]:
    """Return the tables that the summary does not show, folded; those that are too long are named."""
    blocks, too_long = [], []
    for path in sorted(folder.glob("*.md")):
        tables = [one for one in read_tables(read_regular(path).decode()) if one.source not in summary]
        if any(one.n_rows > LONGEST_TABLE for one in tables):
            too_long.append(path.name)
        elif tables:
            shown = "".join(one.html for one in tables)
            count = f"{len(tables)} tables" if len(tables) > 1 else "1 table"
            name = escape(f"tables/{path.name}")
            blocks.append(f"<details>\n<summary><code>{name}</code>, {count}</summary>\n{shown}</details>\n")
    for name in too_long:
        blocks.append(f"<p>Too long for a page: <code>tables/{escape(name)}</code>.</p>\n")
    return blocks


def _citation(provenance: Mapping[str, Any]) -> list[str]:
    version, works = version_of(provenance), works_of(provenance)
    lines = [f"<li>{escape(reference(work, version))} <i>({escape(work.reason)})</i></li>" for work in works]
    entries = escape("\n\n".join(bibtex(work, version) for work in works))
    return [
        f"<ul>{''.join(lines)}</ul>\n",
        f"<details>\n<summary>BibTeX</summary>\n<pre><code>{entries}</code></pre>\n</details>\n",
    ]


def _again(sections: Sequence[Section], provenance: Mapping[str, Any]) -> list[str]:
    """Return the summary's own section where it has one, and the versions."""
    blocks = [block for section in sections for block in section.blocks]
    versions = dict(provenance.get("versions") or {})
    for name in ("platform", "git_commit"):
        if provenance.get(name):
            versions[name.replace("_", " ")] = provenance[name]
    rows = [(escape(str(name)), escape(str(version))) for name, version in versions.items()]
    table = make_table("What it ran on.", ("software", "version"), rows)
    more = [f"<details>\n<summary>Versions</summary>\n{table}</details>\n"] if rows else []
    return [*(blocks or [render("\n".join(rerun_lines(provenance)))]), *more]


def _file_list(out: Path) -> list[str]:
    """Return the files beside the page by folder, each with a link that works where they lie together."""
    lines = []
    for pattern in ("*.csv", "tables/*", "figures/*", "summary.md", "provenance.json"):
        names = sorted(path.relative_to(out).as_posix() for path in out.glob(pattern) if path.is_file())
        names = [name for name in names if not Path(name).name.startswith(".")]
        links = ", ".join(f'<a href="{escape(quote(name))}">{escape(name)}</a>' for name in names)
        lines += [f"<li>{links}</li>"] if links else []
    return [f"<p>Beside this page:</p>\n<ul>{''.join(lines)}</ul>\n"] if lines else []


def _page(title: str, sections: Sequence[Section], provenance: Mapping[str, Any]) -> str:
    style, script = (files("harness.writing.html").joinpath(name).read_text("utf-8") for name in
                     ("style.css", "sort.js"))  # fmt: skip
    policy = (
        f"default-src 'none'; img-src data:; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    links = "".join(
        f'<li><a href="#{_anchor(part.heading)}">{escape(part.heading)}</a></li>'
        for part in sections
        if part.heading
    )
    command = " ".join(str(provenance.get("command") or "").split())
    ran = f"<p><code>{escape(command)}</code></p>\n" if command else ""
    body = "".join(map(_section, sections))
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n<main>\n"
        f"<header>\n<h1>{escape(title)}</h1>\n{ran}"
        f'<nav aria-label="Sections"><ul>{links}</ul></nav>\n</header>\n'
        f"{body}</main>\n<script>{script}</script>\n</body>\n</html>\n"
    )


def _section(section: Section) -> str:
    kind = "findings" if section.heading in FINDINGS else ""
    if section.heading in ("Warnings", "Notes") and section.text != "None.":
        kind = "warned"
    classed = f' class="{kind}"' if kind else ""
    anchor = _anchor(section.heading)
    heading = f'<h2 id="{anchor}">{escape(section.heading)}</h2>\n' if section.heading else ""
    return f"<section{classed}>\n{heading}{''.join(section.blocks)}</section>\n"


def _anchor(heading: str) -> str:
    """Return the name that links within the page use.

    >>> _anchor("The paper's conclusions")
    'the-paper-s-conclusions'
    """
    return re.sub(r"[^a-z0-9]+", "-", heading.lower()).strip("-")


def _digest(text: str) -> str:
    """Return what lets this very text through the page's policy, and no other."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
