"""``figures/captions.md`` and ``captions.tex``: what each figure shows."""

import html
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from harness.errors import harmless
from harness.runtime.store import read_regular, write_atomically
from harness.writing.table_text import escape_markdown

NAME = "captions.md"
LATEX = "captions.tex"
ALL = "All figures"


def write_captions(folder: Path, captions: Mapping[str, str], notes: Sequence[str] = ()) -> list[Path]:
    """Write a heading and a caption per figure, and the `notes` on all; figures of the folder stay named."""
    from harness.writing.prose import render

    kept = {stem: text for stem, text in read_captions(folder).items() if any(folder.glob(f"{stem}.*"))}
    captions = {**captions, **{stem: text for stem, text in kept.items() if stem not in captions}}
    told = {**captions, **({ALL: " ".join(notes)} if notes else {})}
    parts = [f"## {stem}\n\n{escape_markdown(text)}\n" for stem, text in told.items()]
    write_atomically(folder / NAME, harmless("# Captions of the figures\n\n" + "\n".join(parts)).encode())
    latex = render(
        "captions.tex.j2", captions={stem: text for stem, text in captions.items() if stem != ALL},
        notes=told.get(ALL, ""),
    )  # fmt: skip
    write_atomically(folder / LATEX, harmless(latex).encode())
    return [folder / NAME, folder / LATEX]


def read_captions(folder: Path) -> dict[str, str]:
    """Return the captions that :func:`write_captions` wrote; none where there is no file."""
    if not (folder / NAME).is_file():
        return {}
    parts = re.split(r"^## ", read_regular(folder / NAME).decode(), flags=re.MULTILINE)[1:]
    told = (part.partition("\n") for part in parts)
    return {stem: html.unescape(re.sub(r"\\([\\|*`_\]])", r"\1", text.strip())) for stem, _, text in told}
