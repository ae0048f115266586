"""``report.html``: a report with its figures as one page that needs no other file."""

import base64
import hashlib
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from pandas import DataFrame

from harness.errors import harmless
from harness.runtime.store import read_regular, write_atomically
from harness.writing.captions import ALL, read_captions
from harness.writing.citations import version_of, works_of
from harness.writing.prose import render
from harness.writing.report import RERUN, Report
from harness.writing.table_text import cells

NAME = "report.html"
FINDINGS = ("Main findings", "Findings")
FRONT = ("What was run", "Warnings", "Notes")
REPLACED = ("What to look at", "Files", RERUN)
"""Sections that name files: the page shows the figures, and has a list of all files."""
LONGEST_TABLE = 400
"""Rows of the longest table that is shown beside those of the summary."""
FIGURES = re.compile(r"<!-- figures -->.*<!-- end of figures -->\n", re.DOTALL)
NUMERIC_CELL = re.compile(r"[+−-]?(\d[\d,]*(\.\d+)?|\.\d+)( ?%)?")
SHORT = 32
"""Characters of the longest cell of a column that is not broken into lines."""
BUDGET = 3_000_000
"""Bytes of images in a page; base64 makes a third more of them."""
OPEN_IF_MANY = (
    "figure_size_by_category_f1", "figure_size_by_category_error", "figure_liberal_categories", "figure1",
    "figure2",
)  # fmt: skip
MOST_OPEN = 4
"""So many figures are all unfolded; of more, those of `OPEN_IF_MANY`, or the first ones."""
LONGEST_TITLE = 160
"""Characters of a caption that stand for an image where it is not seen."""
FIGURE_PAGE = re.compile(r" \(Page (\d+) of \d+\.\)$")
"""What the caption of a figure on more than one page ends with."""


def write_page(out: Path, report: Report, facts: Mapping[str, Any]) -> Path:
    """Write ``report.html``, one file that loads no other, and return its path."""
    by_heading = {section.heading: section for section in report.sections}
    front = [by_heading[name] for name in (*FINDINGS, *FRONT) if name in by_heading]
    rest = [one for one in report.sections if one.heading not in (*FINDINGS, *FRONT, *REPLACED)]
    figures = figures_html(out)
    # by identity: tables of equal content may be two
    shown = {id(block.table) for section in report.sections for block in section.blocks}
    more = {
        stem: parts
        for stem, all_parts in report.tables.items()
        if (parts := [part for part in all_parts if id(part[1]) not in shown])
    }
    too_long = [stem for stem, parts in more.items() if any(len(part) > LONGEST_TABLE for _, part in parts)]
    more = {stem: parts for stem, parts in more.items() if stem not in too_long}
    headings = [one.heading for one in front] + ["Figures"] * ("<h2" in figures)
    headings += [one.heading for one in rest] + ["More tables"] * bool(more or too_long)
    style, script = (files(__package__).joinpath("templates", name).read_text("utf-8") for name in
                     ("style.css", "tables.js"))  # fmt: skip
    text = render(
        "report.html.j2", title=report.title, command=" ".join(str(facts.get("command") or "").split()),
        headings=[*headings, "How to cite", RERUN, "Files"], style=style, script=script, front=front,
        figures=figures, rest=rest, more=more, too_long=too_long,
        works=works_of(facts), version=version_of(facts), again=by_heading[RERUN],
        versions=_versions(facts), files=list(_beside(out)),
    )  # fmt: skip
    write_atomically(out / NAME, harmless(text).encode())
    return out / NAME


def refresh_page(out: Path) -> Path | None:
    """Put the figures as they are now into the page in `out`; None where no page has a place for them."""
    path = out / NAME
    text = read_regular(path).decode() if path.is_file() else ""
    if not FIGURES.search(text):
        return None
    fresh = harmless(figures_html(out))
    write_atomically(path, FIGURES.sub(lambda _: fresh, text, count=1).encode())
    return path


def _versions(facts: Mapping[str, Any]) -> DataFrame | None:
    versions = dict(facts.get("versions") or {})
    more = [name for name in ("platform", "git_commit") if facts.get(name)]
    versions |= {name.replace("_", " "): facts[name] for name in more}
    return DataFrame(versions.items(), columns=["software", "version"]) if versions else None


def _beside(out: Path) -> Iterator[list[str]]:
    """Yield the names of the files beside the page, folder by folder."""
    for pattern in ("*.csv", "tables/*", "figures/*", "summary.md", "provenance.json"):
        paths = sorted(path for path in out.glob(pattern) if path.is_file() and path.name[0] != ".")
        if paths:
            yield [path.relative_to(out).as_posix() for path in paths]


def _kinds(frame: DataFrame) -> list[str]:
    """Return the class of each column: numbers stand to the right, short cells are not broken."""
    kinds = []
    for column in zip(*cells(frame), strict=True) if len(frame) else [()] * frame.shape[1]:
        told = [cell for cell in column if cell]
        longest = max(map(len, told), default=0)
        kind = "short" if longest <= SHORT else "long" if longest > 3 * SHORT else ""
        kinds.append("number short" if told and all(map(NUMERIC_CELL.fullmatch, told)) else kind)
    return kinds


def _anchor(heading: str) -> str:
    """Return the name that links within the page use.

    >>> _anchor("The paper's conclusions")
    'the-paper-s-conclusions'
    """
    return re.sub(r"[^a-z0-9]+", "-", heading.lower()).strip("-")


def _digest(text: str) -> str:
    """Return the hash that lets this script or style pass the page's Content-Security-Policy."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


FILTERS = {"anchor": _anchor, "digest": _digest, "kinds": _kinds}


def figures_html(out: Path) -> str:
    """Return the figures in ``figures/`` in the order of their captions; those that stand back are folded."""
    captions = read_captions(out / "figures")
    notes = captions.pop(ALL, "")
    paths = {path.stem: path for path in sorted((out / "figures").glob("*.png"))}
    stems = [stem for stem in captions if stem in paths] + [stem for stem in paths if stem not in captions]
    images = fit_to_budget([paths[stem] for stem in stems])
    figures: dict[str, dict[str, Any]] = {}
    for stem in stems:
        caption = captions.get(stem, "")
        place = FIGURE_PAGE.search(caption)
        name = stem.removesuffix(f"_{place[1]}") if place else stem
        figure = figures.setdefault(name, {"caption": FIGURE_PAGE.sub("", caption), "pages": []})
        figure["pages"].append(_image(stem, images[stem], caption))
    front = list(figures)
    if len(figures) > MOST_OPEN:
        front = [name for name in OPEN_IF_MANY if name in figures] or front[:MOST_OPEN]
    drawn = sorted(path.name for path in (out / "figures").glob("*.pdf"))
    return render("figures.html.j2", figures=figures, front=front, notes=notes, files=drawn)


def _image(stem: str, data: bytes | None, caption: str) -> dict[str, Any]:
    page = FIGURE_PAGE.search(caption)
    title = FIGURE_PAGE.sub("", caption)
    if len(title) > LONGEST_TITLE:
        title = title[:LONGEST_TITLE].rpartition(" ")[0].rstrip(",;:") + " ..."
    if page:
        title = f"{page[0].strip(' (.)')}. {title}"
    # as a PNG's header has it
    size = [int.from_bytes((data or b"")[place : place + 4], "big") for place in (16, 20)]
    return {
        "stem": stem, "title": f"{stem}: {title}" if title else stem,
        "source": base64.b64encode(data).decode() if data else "", "width": size[0], "height": size[1],
    }  # fmt: skip


def fit_to_budget(paths: Sequence[Path]) -> dict[str, bytes | None]:
    """Return the images by stem, in 256 colours if all pass `BUDGET`; None of one that still does not fit."""
    images = {path.stem: read_regular(path) for path in paths}
    if sum(map(len, images.values())) > BUDGET:
        images = {stem: reduce_colours(data) for stem, data in images.items()}
    kept: dict[str, bytes | None] = {}
    left = BUDGET
    for stem, data in images.items():
        kept[stem] = data if len(data) <= left else None
        left -= len(data) if kept[stem] else 0
    return kept


def reduce_colours(data: bytes) -> bytes:
    """Return a PNG with at most 256 colours, about a third of the size; charts look the same."""
    from PIL import Image

    with Image.open(io.BytesIO(data)) as image:
        drawn = image.convert("RGBA")
    flat = Image.new("RGBA", drawn.size, "white")
    flat.alpha_composite(drawn)
    made = io.BytesIO()
    flat.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(made, "PNG", optimize=True)
    return made.getvalue()
