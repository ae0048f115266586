"""Pages measured in inches, text that is wrapped before it is drawn, and axes of x that label what fits."""

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from harness.drawing.style import Look, told

LINE_HEIGHT = 1.3  # of the font size
MARGIN = 0.6  # of the font size, at the edge of a page
HANDLE, SPACE = 3.4, 1.4  # of the font size: a legend's handle, its padding and air; between its columns


@lru_cache(maxsize=8192)
def _width(text: str, size: float, family: str, bold: bool) -> float:
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextToPath

    font = FontProperties(family=family, size=size, weight="bold" if bold else "normal")
    return TextToPath().get_text_width_height_descent(text, font, False)[0] / 72


def text_width(text: str, size: float, bold: bool = False) -> float:
    """Return the width of `text` in inches, its longest line, when set in the present font of `size` points.

    Examples
    --------
    >>> 0.1 < text_width("000", 6) < 0.2
    True
    """
    import matplotlib

    family = matplotlib.rcParams["font.family"][0]
    return max(_width(line, size, family, bold) for line in text.split("\n"))


def wrap(text: str, width: float, size: float, bold: bool = False) -> list[str]:
    """Break `text` into lines no wider than `width` inches; a longer word stands alone.

    Examples
    --------
    >>> wrap("one two three", 0.5, 7)
    ['one two', 'three']
    """
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and text_width(longer, size, bold) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


class Legend:
    """Handles in as many columns as a width of `width` inches has room for."""

    def __init__(self, handles: Sequence[Any], width: float, look: Look) -> None:
        self.handles = list(handles)
        labels = [str(handle.get_label()) for handle in handles]
        self.n_columns = columns_that_fit(labels, width, look.small)
        rows = -(-len(labels) // self.n_columns)
        self.height = rows * 1.38 * look.small / 72  # a line and `labelspacing`


class Page:
    """A figure of a fixed width whose parts are placed in inches from its top left corner."""

    def __init__(self, look: Look, height: float, caption: str = "") -> None:
        from matplotlib.figure import Figure

        self.look, self.width = look, look.width
        margin, line = MARGIN * look.em, look.small / 72 * LINE_HEIGHT
        lines = wrap(caption, self.width - 2 * margin, look.small) if look.caption else []
        self.height = height + margin + line * (len(lines) + 0.3 * bool(lines))  # air above the caption
        self.figure: Any = Figure(figsize=(self.width, self.height))
        for place, words in enumerate(lines):
            self.text(margin, height + margin + line * place, words, fontsize=look.small, va="top")

    def text(self, left: float, top: float, words: str, **style: Any) -> None:
        """Write `words` at inches from the left and the top."""
        self.figure.text(left / self.width, 1 - top / self.height, told(words), **style)

    def axes(self, left: float, top: float, width: float, height: float) -> Any:
        """Add axes whose upper left corner lies at (left, top) inches."""
        return self.figure.add_axes(
            (left / self.width, 1 - (top + height) / self.height, width / self.width, height / self.height)
        )

    def legend(self, legend: Legend, left: float, top: float) -> None:
        """Put a legend at (left, top) inches."""
        if legend.handles:
            self.figure.legend(
                handles=legend.handles, loc="upper left", ncols=legend.n_columns, borderaxespad=0,
                borderpad=0, bbox_to_anchor=(left / self.width, 1 - top / self.height), handlelength=2.6,
                handletextpad=0.6, columnspacing=SPACE, labelspacing=0.35,
            )  # fmt: skip


def columns_that_fit(labels: Sequence[str], width: float, size: float) -> int:
    """Return how many columns a legend of `labels` can have on `width` inches.

    Examples
    --------
    >>> columns_that_fit(["short"] * 4, 7.2, 8), columns_that_fit(["a very long label of a curve"] * 4, 3, 8)
    (4, 1)
    """
    for n_columns in range(len(labels), 1, -1):
        n_rows, n_longer = divmod(len(labels), n_columns)  # as matplotlib fills them, longer ones first
        ends = [column * n_rows + min(column, n_longer) for column in range(n_columns + 1)]
        columns = [labels[start:end] for start, end in itertools.pairwise(ends)]
        aside = (HANDLE + SPACE) * size / 72
        if sum(max(text_width(label, size) for label in one) + aside for one in columns) <= width:
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
        half = (text_width(word, size) + 0.04) / 2  # inches between words
        kept.append(place - half >= end)
        end = place + half if kept[-1] else end
    return kept


def round_top(peak: float, step: float = 0.05) -> float:
    """Return the upper end of an axis for values up to `peak`: the next multiple of `step` with some air.

    Examples
    --------
    >>> round_top(0.081)
    0.1
    """
    return round(max(math.ceil(peak * 1.06 / step), 1) * step, 10)


@dataclass(frozen=True)
class Axis:
    """What runs along x: a column of a table, its label, its values, ``log`` or ``linear``.

    With `ends` the axis is continuous between them; `words` stand for the values 0, 1, ...
    """

    column: str
    label: str
    values: Sequence[float] = field(default_factory=list)
    scale: str = "log"
    ends: tuple[float, float] | None = None
    words: Sequence[str] = ()

    def limits(self) -> tuple[float, float]:
        """Return the ends of the axis, with room for markers."""
        if self.ends is not None:
            return self.ends
        low, high = min(self.values), max(self.values)
        if self.scale == "log":
            room = max((high / low) ** 0.05, 1.1)
            return low / room, high * room
        room = 0.05 * (high - low) or 0.1 * abs(high) or 1.0
        return low - room, high + room

    def inches(self, values: Sequence[float], width: float) -> list[float]:
        """Return how far right of the axis's left end the values stand."""
        at = math.log if self.scale == "log" else float
        low, high = (at(end) for end in self.limits())
        return [(at(value) - low) / (high - low) * width for value in values]

    def labelled(self, width: float, size: float) -> list[float]:
        """Return the values to label: all, else fewer that fit (round on a log axis), else the two ends."""
        low, high = self.limits()
        values = sorted(self.values) if self.ends is None else evenly_spaced(low, high)
        choices = [values] if self.ends is None or self.scale == "linear" else []
        if self.scale == "log":
            choices += [round_numbers(low, high, digits) for digits in ((1, 2, 5), (1, 3), (1,))]
        else:
            choices += [values[::step] for step in range(2, max(len(values), 3))]
        for ticks in choices:
            words = [self.word(tick) for tick in ticks]
            if ticks and all(stand_apart(self.inches(ticks, width), words, size)):
                return ticks
        return [values[0], values[-1]]

    def word(self, value: float) -> str:
        """Return the label of a value."""
        return self.words[round(value)] if self.words else f"{value:g}"

    def put(self, axes: Any, width: float, size: float, *, labels: bool) -> None:
        """Scale the x axis of a panel that is `width` inches wide: labels that fit, small ticks at values."""
        from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter

        axes.set_xscale(self.scale)
        axes.set_xlim(*self.limits())
        axes.xaxis.set_major_locator(FixedLocator(self.labelled(width, size)))
        named = FuncFormatter(lambda value, _: told(self.word(value)))
        axes.xaxis.set_major_formatter(named if labels else NullFormatter())
        axes.xaxis.set_minor_locator(FixedLocator(list(self.values) if len(self.values) < 40 else []))
        axes.xaxis.set_minor_formatter(NullFormatter())


def evenly_spaced(low: float, high: float) -> list[float]:
    """Return about five round numbers at equal distances within [low, high].

    >>> evenly_spaced(0, 4)
    [0.0, 1.0, 2.0, 3.0, 4.0]
    """
    from matplotlib.ticker import MaxNLocator

    return [
        float(tick)
        for tick in MaxNLocator(5, steps=[1, 2, 5, 10]).tick_values(low, high)
        if low <= tick <= high
    ]


def round_numbers(low: float, high: float, digits: Sequence[int] = (1, 2, 5)) -> list[float]:
    """Return `digits` times powers of ten within [low, high].

    Examples
    --------
    >>> round_numbers(90, 1100)
    [100.0, 200.0, 500.0, 1000.0]
    """
    ticks = [digit * 10.0**power for power in range(-6, 9) for digit in digits]
    return [tick for tick in ticks if low <= tick <= high]
