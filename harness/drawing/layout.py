"""Pages measured in inches, with text that is wrapped and fitted before it is drawn."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

CAPTION_SIZE = 6.6  # points
LINE_HEIGHT = 1.32  # of the font size
MARGIN = 0.12  # inches
TICKS = (1, 2, 5)


@lru_cache(maxsize=4096)
def text_width(text: str, size: float, bold: bool = False) -> float:
    """Return the width of `text` in inches when set in DejaVu Sans of `size` points.

    Examples
    --------
    >>> 0.1 < text_width("000", 6) < 0.2
    True
    """
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextToPath

    font = FontProperties(family="DejaVu Sans", size=size, weight="bold" if bold else "normal")
    return TextToPath().get_text_width_height_descent(text, font, False)[0] / 72


def wrap(text: str, width: float, size: float) -> list[str]:
    """Break `text` into lines no wider than `width` inches; a longer word stands alone.

    Examples
    --------
    >>> wrap("one two three", 0.5, 7)
    ['one two', 'three']
    """
    lines: list[str] = []
    line, used, space = "", 0.0, text_width("a a", size) - text_width("aa", size)
    for word in text.split():
        wide = text_width(word, size)
        if line and used + space + wide > width:
            lines.append(line)
            line, used = word, wide
        else:
            line, used = (f"{line} {word}", used + space + wide) if line else (word, wide)
    return [*lines, line] if line else lines


class Page:
    """A figure of a fixed width whose parts are placed in inches from its top left corner."""

    def __init__(self, width: float, content: float, caption: str) -> None:
        from matplotlib.figure import Figure

        lines = wrap(caption, width - 2 * MARGIN, CAPTION_SIZE)
        line = CAPTION_SIZE * LINE_HEIGHT / 72
        self.width, self.height = width, content + MARGIN + line * (len(lines) + 0.5)
        self.figure: Any = Figure(figsize=(self.width, self.height))
        for place, words in enumerate(lines):
            self.text(
                MARGIN, content + MARGIN + line * place, words, fontsize=CAPTION_SIZE, color="0.15", va="top"
            )

    def text(self, left: float, top: float, words: str, **look: Any) -> None:
        """Write `words` at inches from the left and the top."""
        self.figure.text(left / self.width, 1 - top / self.height, words, **look)

    def axes(self, left: float, top: float, width: float, height: float) -> Any:
        """Add axes whose upper left corner lies at (left, top) inches."""
        return self.figure.add_axes(
            (left / self.width, 1 - (top + height) / self.height, width / self.width, height / self.height)
        )

    def rule(self, left: float, top: float, width: float, thick: float) -> None:
        """Draw a horizontal rule of `width` inches, `thick` points."""
        from matplotlib.lines import Line2D

        x, y = left / self.width, 1 - top / self.height
        self.figure.add_artist(Line2D([x, x + width / self.width], [y, y], color="black", linewidth=thick))

    def legend(self, handles: Sequence[Any], top: float, n_columns: int) -> None:
        """Put one legend across the page, `top` inches below its upper edge."""
        self.figure.legend(
            handles=handles, loc="upper center", bbox_to_anchor=(0.5, 1 - top / self.height), ncols=n_columns,
            borderaxespad=0, columnspacing=1.4, handlelength=3.2, labelspacing=0.35,
        )  # fmt: skip


def title(axes: Any, words: str, width: float, size: float = 8) -> None:
    """Set a left title that is made smaller where it would be wider than `width` inches."""
    wide = text_width(words, size, True)
    axes.set_title(words, loc="left", fontsize=size * min(1.0, width / wide), pad=4)


def round_ticks(low: float, high: float, digits: Sequence[int] = TICKS) -> list[float]:
    """Return 1, 2, 5 (or other `digits`) times powers of ten within [low, high].

    Examples
    --------
    >>> round_ticks(90, 1100)
    [100.0, 200.0, 500.0, 1000.0]
    """
    ticks = [digit * 10.0**power for power in range(-6, 9) for digit in digits]
    return [tick for tick in ticks if low <= tick <= high]


def round_top(peak: float, step: float = 0.05) -> float:
    """Return the upper end of an axis for values up to `peak`: the next multiple of `step` with some air.

    Examples
    --------
    >>> round_top(0.081)
    0.1
    """
    return round(max(math.ceil(peak * 1.08 / step), 1) * step, 10)


def columns_that_fit(labels: Sequence[str], width: float, most: int, size: float = 7.5) -> int:
    """Return how many columns, at most `most`, a legend of `labels` can have on `width` inches.

    Examples
    --------
    >>> columns_that_fit(["short"] * 4, 7.2, 4), columns_that_fit(["a very long label of a curve"] * 4, 3, 4)
    (4, 1)
    """
    handle, space = 4.2 * size / 72, 1.4 * size / 72  # as Page.legend sets them
    for n_columns in range(min(most, len(labels)), 1, -1):
        short, longer = divmod(len(labels), n_columns)  # as matplotlib fills them, the longer columns first
        ends = [column * short + min(column, longer) for column in range(n_columns + 1)]
        columns = [labels[start:end] for start, end in itertools.pairwise(ends)]
        wide = sum(max(text_width(label, size) for label in column) + handle + space for column in columns)
        if wide <= width:
            return n_columns
    return 1


def stand_apart(places: Iterable[float], words: Sequence[str], size: float) -> list[bool]:
    """Return which words, centred at `places` (inches, rising), can be written side by side.

    Examples
    --------
    >>> stand_apart([0, 0.1, 1], ["1000", "1100", "6000"], 6)
    [True, False, True]
    """
    kept, end = [], -math.inf
    for place, word in zip(places, words, strict=True):
        half = (text_width(word, size) + 0.02) / 2
        kept.append(place - half >= end)
        end = place + half if kept[-1] else end
    return kept


def set_x(
    axes: Any,
    values: Sequence[float],
    scale: str,
    *,
    labels: bool = True,
    digits: Sequence[int] = TICKS,
    every: bool = False,
) -> None:
    """Scale the x axis for `values`: limits with room for markers, round ticks, small ticks at the values.

    With `every` each value has a label, whatever `digits` are.
    """
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter

    low, high = min(values), max(values)
    if scale == "log":
        room = max((high / low) ** 0.04, 1.08)
        limits = low / room, high * room
    else:
        room = 0.04 * (high - low) or 0.1 * abs(high) or 1.0
        limits = low - room, high + room
    axes.set_xscale(scale)
    axes.set_xlim(*limits)
    if scale == "log":
        apart = all(after >= 1.9 * before for before, after in itertools.pairwise(sorted(values)))
        ticks = list(values) if every or apart and digits == TICKS else round_ticks(*limits, digits)
        axes.xaxis.set_major_locator(FixedLocator(ticks or list(values)))
    axes.xaxis.set_major_formatter(
        FuncFormatter(lambda value, _: f"{value:g}") if labels else NullFormatter()
    )
    axes.xaxis.set_minor_locator(FixedLocator(list(values)))
    axes.xaxis.set_minor_formatter(NullFormatter())
