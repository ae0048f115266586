"""Markdown that this project wrote, as parts of a page: sections, and tables with captions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape, unescape
from typing import Any, NamedTuple

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

# Nothing in a report is a link, an image or HTML: what reads like one is a name, and shown as text.
MARKDOWN = (
    MarkdownIt("commonmark", {"html": False})
    .enable("table")
    .disable(["link", "image", "autolink", "reference", "html_block", "html_inline"])
)
NUMBER = re.compile(r"[+−-]?(\d[\d,]*(\.\d+)?|\.\d+)( ?%)?")
BEGINS_WITH_NUMBER = re.compile(r"\[?" + NUMBER.pattern + r"(?=$|[\s/,\[(])")
SHORT = 32
"""Characters of the longest cell of a column that is not broken into lines."""


class Section(NamedTuple):
    """A part of a report.

    Attributes
    ----------
    heading : str
        As plain text; "" for what stands before the first heading.
    blocks : list of str
        Its paragraphs, lists and tables as HTML.
    text : str
        The words of its paragraphs and lists.
    """

    heading: str
    blocks: list[str]
    text: str


class Table(NamedTuple):
    """A table of a report: caption and table as HTML, its lines in the file, and how many rows it has."""

    html: str
    source: str
    n_rows: int


def read_sections(text: str) -> tuple[str, list[Section]]:
    """Return the title of a report and its sections, in order.

    Parameters
    ----------
    text : str
        Markdown; a paragraph before a table is its caption, and the section's heading where there is none.
    """
    title, sections = "", [Section("", [], "")]
    for node, caption in _blocks(text):
        if node.type == "heading" and node.tag == "h1":
            title = _plain(node)
        elif node.type == "heading" and node.tag == "h2":
            sections.append(Section(_plain(node), [], ""))
        else:
            last = sections[-1]
            if node.type == "table":
                unseen = f'<span class="unseen">{escape(last.heading or title)}</span>'
                last.blocks.append(_table(node, caption or unseen))
            else:
                last.blocks.append(_render(node))
                sections[-1] = last._replace(text=f"{last.text} {_plain(node)}".strip())
    return title, [section for section in sections if section.heading or section.blocks]


def read_tables(text: str) -> list[Table]:
    """Return the tables of a file of captioned tables."""
    lines, found = text.splitlines(), []
    for node, caption in _blocks(text):
        if node.type == "table" and node.map:
            source = "\n".join(lines[node.map[0] : node.map[1]]).strip()
            found.append(Table(_table(node, caption or "Table"), source, len(source.splitlines()) - 2))
    return found


def render(text: str) -> str:
    """Return Markdown as HTML."""
    return str(MARKDOWN.render(text))


def make_table(caption: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table as HTML.

    Parameters
    ----------
    caption : str
        HTML.
    head : sequence of str
        HTML.
    rows : sequence of sequence of str
        HTML, a cell for each column.
    """
    kinds = [_kind([row[place] for row in rows]) for place in range(len(head))]
    heads = "".join(f'<th scope="col"{kind}>{cell}</th>' for cell, kind in zip(head, kinds, strict=True))
    lines = [
        "<tr>" + "".join(f"<td{kind}>{cell}</td>" for cell, kind in zip(row, kinds, strict=True)) + "</tr>"
        for row in rows
    ]
    body = "\n".join(lines)
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="Table">\n<table>\n'
        f"<caption>{caption}</caption>\n<thead><tr>{heads}</tr></thead>\n"
        f"<tbody>\n{body}\n</tbody>\n</table>\n</div>\n"
    )


def _blocks(text: str) -> Iterator[tuple[SyntaxTreeNode, str]]:
    """Yield every block with the caption that a table has; a caption is no block of its own."""
    nodes = SyntaxTreeNode(MARKDOWN.parse(text)).children
    for place, node in enumerate(nodes):
        after = nodes[place + 1].type if place + 1 < len(nodes) else ""
        if node.type == "paragraph" and after == "table":
            continue
        before = nodes[place - 1] if place else None
        captioned = node.type == "table" and before is not None and before.type == "paragraph"
        yield node, _inline(before) if captioned and before is not None else ""


def _table(node: SyntaxTreeNode, caption: str) -> str:
    rows = [
        [_inline(cell) for cell in row.children]
        for part in node.children
        for row in part.children
    ]  # fmt: skip
    return make_table(caption, rows[0], rows[1:])


def _kind(cells: Sequence[str]) -> str:
    """Return the classes of a column.

    ``number`` is set to the right, ``leading`` is sorted by the number at a cell's beginning, ``short`` is
    not broken into lines and ``long`` has room for its words.
    """
    told = [unescape(cell) for cell in cells if cell]
    longest = max(map(len, told), default=0)
    kind = "short" if longest <= SHORT else "long" if longest > 3 * SHORT else ""
    if told and all(NUMBER.fullmatch(cell) for cell in told):
        kind = "number short"
    elif 2 * sum(BEGINS_WITH_NUMBER.match(cell) is not None for cell in told) > len(told):
        kind = f"leading {kind}".strip()
    return f' class="{kind}"' if kind else ""


def _render(node: SyntaxTreeNode) -> str:
    return str(MARKDOWN.renderer.render(node.to_tokens(), MARKDOWN.options, {}))


def _inline(node: SyntaxTreeNode) -> str:
    return "".join(_render(child) for child in node.children)


def _plain(node: Any) -> str:
    words = [one.content for one in node.walk() if one.type in ("text", "code_inline", "softbreak")]
    return " ".join("".join(word or " " for word in words).split())
