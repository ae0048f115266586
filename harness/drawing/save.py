"""Draw figures, page by page, and say what each shows: ``captions.md`` and ``captions.tex``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from harness.drawing.style import Look, figure_style, save_figure
from harness.runtime.parallel import Workers, completed
from harness.writing.captions import write_captions

Build = Callable[[Look], tuple[Sequence[Any], str]]
"""What makes the pages of a figure, and its caption."""
ALONE = Workers("sequential")


def draw(
    folder: Path, builds: Mapping[str, Build], look: Look, notes: Sequence[str] = (), workers: Workers = ALONE
) -> list[Path]:
    """Draw every figure into `folder`, ``STEM.pdf``, ``STEM_2.pdf`` ..., and write the captions.

    `notes` hold for all of them. Captions that stand there of other figures stay.

    Returns
    -------
    list of Path
        The files of the figures in the order of `builds`, and the two of captions; none where none is drawn.
    """
    if not builds:
        return []
    # a worker may have another working folder
    one = partial(_draw, folder=folder.absolute(), look=look)
    arguments = [(stem, (stem, build)) for stem, build in builds.items()]
    done = dict(completed(workers, one, arguments, threads=False, description="drawing figures"))
    captions: dict[str, str] = {}
    paths: list[Path] = []
    for stem in builds:
        caption, pages = done[stem]
        for place, page in enumerate(pages, start=1):
            captions[page] = caption if len(pages) == 1 else f"{caption} (Page {place} of {len(pages)}.)"
            paths += [folder / f"{page}.{name}" for name in look.formats]
    return [*paths, *write_captions(folder, captions, notes)]


def _draw(stem: str, build: Build, *, folder: Path, look: Look) -> tuple[str, list[str]]:
    """Draw the pages of one figure; return its caption and their stems."""
    stems = []
    with figure_style(look):
        pages, caption = build(look)
        for place, page in enumerate(pages, start=1):
            stems.append(stem if place == 1 else f"{stem}_{place}")
            save_figure(page, folder, stems[-1], look)
    return caption, stems
