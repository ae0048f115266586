"""The figures of a run inside its page."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from html import escape
from pathlib import Path

from harness.runtime.store import read_regular
from harness.writing.html.content import read_sections

BUDGET = 3_000_000
"""Bytes of images in a page; base64 makes a third more of them."""
FIRST = (
    "figure_size_by_category_f1", "figure_size_by_category_error", "figure_liberal_categories", "figure1",
    "figure2",
)  # fmt: skip
SHOWN = 4
"""Up to as many figures are open; of more, those of `FIRST`, or the first ones."""
BEGINNING, LONGEST_TITLE = 120, 160
"""Characters of a caption that are shown at least, the rest being folded, and of a figure's name at most."""


def figure_blocks(folder: Path) -> list[str]:
    """Return the figures in ``figures/`` as HTML, those that stand back within ``<details>``.

    Parameters
    ----------
    folder : Path
        It may hold ``captions.md``, whose order is that of the figures.
    """
    captions = _read_captions(folder / "captions.md")
    paths = {path.stem: path for path in sorted(folder.glob("*.png"))}
    stems = [stem for stem in captions if stem in paths] + [stem for stem in paths if stem not in captions]
    images = embed([paths[stem] for stem in stems])
    shown = {stem: _figure(stem, images[stem], captions.get(stem, "")) for stem in stems}
    front = stems
    if len(stems) > SHOWN:
        front = [stem for stem in FIRST if stem in shown] or stems[:SHOWN]
    others = []
    for stem in (stem for stem in stems if stem not in front):
        title = escape(_title(stem, captions.get(stem, "")))
        others.append(f"<details>\n<summary>{title}</summary>\n{shown[stem]}</details>\n")
    drawn = sorted(path.name for path in folder.glob("*.pdf"))
    files = [f"<p>Files: {', '.join(map(escape, drawn))} in <code>figures/</code>.</p>\n"]
    return [*(shown[stem] for stem in front), *others, *(files if drawn and not stems else [])]


def embed(paths: Sequence[Path]) -> dict[str, bytes | None]:
    """Return the images by stem: as they are, with 256 colours where they are too many, else None.

    Which images a page leaves out hangs on their order and sizes alone.
    """
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


def split_caption(words: str) -> tuple[str, str]:
    """Return what a caption begins with, whole sentences, and the rest.

    Examples
    --------
    >>> split_caption("Figure 1. Rates.")
    ('Figure 1. Rates.', '')
    """
    end = words.find(". ", BEGINNING)
    return (words, "") if end < 0 else (words[: end + 1], words[end + 2 :])


def _read_captions(path: Path) -> dict[str, str]:
    if not path.is_file():
        return {}
    _, sections = read_sections(read_regular(path).decode())
    return {section.heading: section.text for section in sections if section.heading}


def _title(stem: str, caption: str) -> str:
    """Return the name of a figure with the first words of its caption."""
    if len(caption) > LONGEST_TITLE:
        caption = caption[:LONGEST_TITLE].rpartition(" ")[0].rstrip(",;:") + " ..."
    return f"{stem}: {caption}" if caption else stem


def _figure(stem: str, data: bytes | None, caption: str) -> str:
    beginning, rest = split_caption(caption)
    text = f"<p>{escape(beginning)}</p>\n" if beginning else ""
    if rest:
        text += f"<details>\n<summary>More about this figure</summary>\n<p>{escape(rest)}</p>\n</details>\n"
    if data is None:
        image = f"<p><code>figures/{escape(stem)}.png</code> is left out, so that the page stays small.</p>"
    else:
        source = base64.b64encode(data).decode()
        width, height = (int.from_bytes(data[place : place + 4], "big") for place in (16, 20))
        image = (
            f'<img src="data:image/png;base64,{source}" alt="{escape(_title(stem, caption))}" '
            f'width="{width}" height="{height}">'
        )
    return f"<figure>\n{image}\n<figcaption>\n{text}</figcaption>\n</figure>\n"
