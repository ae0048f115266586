"""``figures/captions.md``: what each figure of a run shows."""

import html
import re
from collections.abc import Mapping
from pathlib import Path

from harness.errors import harmless
from harness.runtime.store import read_regular, write_atomically
from harness.writing.table_text import escape_markdown

NAME = "captions.md"


def write_captions(folder: Path, captions: Mapping[str, str]) -> Path:
    """Write a heading and a caption per figure."""
    parts = [f"## {stem}\n\n{escape_markdown(text)}\n" for stem, text in captions.items()]
    path = folder / NAME
    write_atomically(path, harmless("# Captions of the figures\n\n" + "\n".join(parts)).encode())
    return path


def read_captions(folder: Path) -> dict[str, str]:
    """Return the captions that :func:`write_captions` wrote; none where there is no file."""
    if not (folder / NAME).is_file():
        return {}
    parts = re.split(r"^## ", read_regular(folder / NAME).decode(), flags=re.MULTILINE)[1:]
    told = (part.partition("\n") for part in parts)
    return {stem: html.unescape(re.sub(r"\\([\\|*`_\]])", r"\1", text.strip())) for stem, _, text in told}
