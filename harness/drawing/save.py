"""Draw figures, page by page, and say what each shows: ``captions.md`` and ``captions.tex``."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from harness.drawing.style import FORMATS, Look, figure_style, save_figure
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
        _remove_pages(folder, stem, len(pages), builds)
        for place, page in enumerate(pages, start=1):
            captions[page] = caption if len(pages) == 1 else f"{caption} (Page {place} of {len(pages)}.)"
            paths += [folder / f"{page}.{name}" for name in look.formats]
    return [*paths, *write_captions(folder, captions, notes)]


def _remove_pages(folder: Path, stem: str, n_pages: int, builds: Mapping[str, Build]) -> None:
    """Remove the pages that a figure had when it was longer."""
    for path in folder.glob(f"{stem}_*"):
        number = path.stem.removeprefix(f"{stem}_")
        is_page = number.isdecimal() and path.suffix[1:] in FORMATS and path.stem not in builds
        if is_page and int(number) > n_pages:
            path.unlink()


def _draw(stem: str, build: Build, *, folder: Path, look: Look) -> tuple[str, list[str]]:
    """Draw the pages of one figure; return its caption and their stems."""
    latex = [name for name in look.formats if name == "pgf"]
    looks = [replace(look, formats=[name for name in look.formats if name not in latex])]
    if latex:  # its text is set by LaTeX
        looks.append(replace(look, formats=latex, usetex=True))
    for one in filter(lambda one: one.formats, looks):
        with figure_style(one):
            pages, caption = build(one)
            stems = [stem if place == 1 else f"{stem}_{place}" for place in range(1, len(pages) + 1)]
            for name, page in zip(stems, pages, strict=True):
                save_figure(page, folder, name, one)
    return caption, stems
