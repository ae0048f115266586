"""Small multiples: rows and columns of panels from one table, on as many pages as they need."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

from pandas import DataFrame

from harness.drawing.layout import LINE_HEIGHT, MARGIN, Axis, Legend, Page, text_width, wrap
from harness.drawing.style import GREY, Look, Style, draw_level, figure_style, handle, told
from harness.results.names import pick

Item = TypeVar("Item")
LEFT, GAP, RIGHT = 5.2, 1.3, 0.9  # of the font size: before, between and after the panels of a row
NARROWEST, SHORTEST, CLOSEST = 12.0, 5.0, 1.3  # panel, and its lines with names
AXIS, XLABEL, STRIP, AIR = 1.7, 1.3, 3.2, 0.6


class Line(NamedTuple):
    """One curve: its name, its label in the legend, its style, and the rows that it joins."""

    name: str
    label: str
    style: Style
    where: Mapping[str, Any]
    band: bool = True


class Cell(NamedTuple):
    """One panel: its title and its rows; with a `note` nothing but the note is shown."""

    title: str
    where: Mapping[str, Any]
    note: str = ""
    x: Axis | None = None


@dataclass(frozen=True)
class Row:
    """Panels side by side that share a heading, curves, the ends of the y axis, and the level of a size."""

    cells: Sequence[Cell]
    lines: Sequence[Line]
    top: float
    title: str = ""
    bottom: float = 0.0
    level: float | None = None


Draw = Callable[[Any, DataFrame, Row, "Space"], None]


class Space(NamedTuple):
    """What a panel knows of the page: its axis of x, its width in inches, the look."""

    x: Axis
    width: float
    look: Look


@dataclass(frozen=True)
class Grid:
    """A figure of rows and columns.

    `draw` fills a panel, `under` the strip below it (below each row, or below the last one only); `handles`
    stand in the legend beside the curves. Titles of panels stand over the first row where all rows repeat
    them. `shape` is the height of a panel over its width. With `names` the y axis has one of them a line,
    from the top, `line` font sizes apart.
    """

    table: DataFrame
    x: Axis
    rows: Sequence[Row]
    y_label: str
    draw: Draw
    handles: Sequence[Any] = ()
    under: Draw | None = None
    shape: float = 0.72
    empty: str = "no category qualifies"
    y_log: bool = False
    caption: str = ""
    names: Sequence[str] = ()
    line: float = 1.75

    def figure(self, look: Look) -> tuple[list[Any], str]:
        """Return the pages and the caption."""
        return self.pages(look), self.caption

    def pages(self, look: Look) -> list[Any]:
        """Return the figure's pages: columns that the width has room for, rows that the height has."""
        with figure_style(look):
            return self._drawn(look)

    def _drawn(self, look: Look) -> list[Any]:
        most = max(len(row.cells) for row in self.rows)
        narrow = (look.width / look.em - left_of(self.names, look) - RIGHT + GAP) / (NARROWEST + GAP)
        n_parts = -(-most // max(int(narrow), 1))
        per_part = -(-most // n_parts)
        found = []
        for start in range(0, most, per_part):
            rows = [replace(row, cells=row.cells[start : start + per_part]) for row in self.rows]
            rows = [row for row in rows if row.cells]
            fit = _Layout(replace(self, rows=rows), look, per_part).rows_that_fit()
            each = -(-len(rows) // -(-len(rows) // fit))  # pages as long as each other
            parts = (replace(self, rows=part) for part in batches(rows, each))
            found += [_Layout(part, look, per_part).drawn() for part in parts]
        return found


class _Layout:
    """Where the parts of one page stand, in inches."""

    def __init__(self, grid: Grid, look: Look, n_columns: int) -> None:
        self.grid, self.look, em = grid, look, look.em
        self.left = left_of(grid.names, look) * em
        inner = look.width - self.left - RIGHT * em
        self.wide = (inner - GAP * em * (n_columns - 1)) / n_columns
        self.high = grid.shape * min(self.wide, 24 * em)
        if grid.names:
            self.high = grid.line * em * len(grid.names)
        self.common = all(row.lines == grid.rows[0].lines for row in grid.rows)
        shared = grid.rows[0].lines if self.common else ()
        self.top = Legend([*_handles(shared), *grid.handles], look.width - 2 * MARGIN * em, look)
        self.own = [Legend([] if self.common else _handles(row.lines), inner, look) for row in grid.rows]
        titles = [[cell.title for cell in row.cells] for row in grid.rows]
        self.once = all(row == titles[0][: len(row)] for row in titles) and len(titles) > 1
        self.titles = [
            [wrap(words, self.wide, look.font_size, True) for words in row]
            if place == 0 or not self.once
            else []
            for place, row in enumerate(titles)
        ]
        self.first = MARGIN * em + self.top.height + 0.5 * em
        # a single row fits the tallest page, if it can be read then
        around = max(self.above(place) + self.below(place) for place in range(len(grid.rows)))
        least = CLOSEST * em * len(grid.names) or SHORTEST * em
        self.high = max(min(self.high, look.height - self.first - around), least)

    def above(self, place: int) -> float:
        """Return the height of heading, legend and titles of a row."""
        em, row = self.look.em, self.grid.rows[place]
        lines = max(map(len, self.titles[place]), default=0)
        head = LINE_HEIGHT * em * bool(row.title) + self.own[place].height
        return head + LINE_HEIGHT * em * lines + 0.55 * em

    def below(self, place: int) -> float:
        """Return the height of what stands under a row: labels of its axis, its strip, air."""
        each = self.grid.under is not None and not self.once
        last = place == len(self.grid.rows) - 1
        labels = AXIS + XLABEL if last or each or self.own_axes(place) else 0.0
        return (labels + STRIP * (each or last) * bool(self.grid.under) + AIR) * self.look.em

    def own_axes(self, place: int) -> bool:
        """Return whether a row has axes of x that the row below does not repeat."""
        here = [cell.x for cell in self.grid.rows[place].cells]
        after = self.grid.rows[place + 1 : place + 2]
        return bool(after) and here != [cell.x for cell in after[0].cells]

    def rows_that_fit(self) -> int:
        """Return how many rows the tallest page has room for, at least one."""
        used = self.first
        for place in range(len(self.grid.rows)):
            used += self.above(place) + self.high + self.below(place)
            if used + (AXIS + XLABEL + STRIP) * self.look.em > self.look.height and place:
                return place
        return len(self.grid.rows)

    def drawn(self) -> Any:
        """Return the page."""
        em, rows = self.look.em, self.grid.rows
        tops = [self.first]
        for place in range(len(rows)):
            tops.append(tops[-1] + self.above(place) + self.high + self.below(place))
        page = Page(self.look, tops[-1], self.grid.caption)
        page.legend(self.top, MARGIN * em, MARGIN * em)
        for place, row in enumerate(rows):
            top = tops[place]
            if row.title:
                page.text(MARGIN * em, top, row.title, fontweight="bold", va="top")
            page.legend(self.own[place], self.left, top + LINE_HEIGHT * em * bool(row.title))
            for column, cell in enumerate(row.cells):
                self.draw_cell(page, place, column, cell, top + self.above(place))
        return page.figure

    def draw_cell(self, page: Page, place: int, column: int, cell: Cell, top: float) -> None:
        """Draw one panel with its title, and its strip."""
        em, grid, row = self.look.em, self.grid, self.grid.rows[place]
        left = self.left + column * (self.wide + GAP * em)
        axes = page.axes(left, top, self.wide, self.high)
        title = self.titles[place][column] if self.titles[place] else []
        axes.set_title(told("\n".join(title)), pad=0.35 * self.look.font_size, fontweight="bold")
        if cell.note:
            _say(axes, cell.note)
            axes.set_axis_off()
            return
        space = Space(cell.x or grid.x, self.wide, self.look)
        strip = grid.under is not None and (place == len(grid.rows) - 1 or not self.once)
        labels = place == len(grid.rows) - 1 or strip or self.own_axes(place)
        self.draw_panel(axes, row, cell, space)
        space.x.put(axes, self.wide, self.look.small, labels=labels and not strip)
        axes.tick_params(labelleft=column == 0, labelsize=self.look.small)
        if grid.names:
            axes.set_yticks(range(len(grid.names)), map(told, grid.names))
            axes.tick_params(axis="y", length=0)
        elif column == 0:
            axes.set_ylabel(told(grid.y_label), labelpad=0.4 * self.look.font_size)
        if strip and grid.under is not None:
            below = page.axes(left, top + self.high + 0.6 * em, self.wide, (STRIP - 0.6) * em)
            space.x.put(below, self.wide, self.look.small, labels=labels)
            grid.under(below, pick(grid.table, **cell.where), row, space)
            axes = below
        if labels:
            axes.set_xlabel(told(space.x.label), labelpad=0.2 * self.look.font_size)

    def draw_panel(self, axes: Any, row: Row, cell: Cell, space: Space) -> None:
        """Draw what the table says; where nothing can be drawn, say so."""
        from matplotlib.ticker import MaxNLocator

        grid = self.grid
        axes.set_yscale("log" if grid.y_log else "linear")
        room = 0.0 if grid.y_log or grid.names else 0.025 * (row.top - row.bottom)
        axes.set_ylim(row.bottom - room, row.top + room)
        if not grid.y_log:
            axes.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
        if not grid.names:
            axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        if row.level is not None:
            draw_level(axes, row.level)
        grid.draw(axes, pick(grid.table, **cell.where), row, space)
        if not any(str(artist.get_gid()).partition(":")[0] in DATA for artist in axes.get_children()):
            _say(axes, grid.empty)


DATA = ("line", "few", "median", "points", "bar")
"""First parts of the gids of what stands for numbers."""


def _say(axes: Any, words: str) -> None:
    axes.text(
        0.5, 0.5, told(words), transform=axes.transAxes, ha="center", va="center", color=GREY, style="italic",
        gid="note",
    )  # fmt: skip


def _handles(lines: Sequence[Line]) -> list[Any]:
    return [handle(line.style, line.label) for line in lines]


def named_row(cells: Sequence[Cell], names: Sequence[str]) -> Row:
    """Return a row of panels whose y axis has a line for each name."""
    return Row(cells, (), -0.6, bottom=len(names) - 0.4)


def left_of(names: Sequence[str], look: Look) -> float:
    """Return the room before the first panel, in font sizes."""
    return max(text_width(words, look.small) for words in names) / look.em + 1.5 if names else LEFT


def in_rows(cells: Sequence[Cell], look: Look, names: Sequence[str] = ()) -> list[list[Cell]]:
    """Return cells in rows as long as a page is wide; `names` are those of the y axis."""
    inner = look.width / look.em - left_of(names, look) - RIGHT + GAP
    most = max(int(inner / (1.5 * NARROWEST + GAP)), 1)
    return batches(cells, most)


def batches(items: Sequence[Item], most: int) -> list[list[Item]]:
    """Return the items in lists of at most `most`.

    >>> batches("abcde", 2)
    [['a', 'b'], ['c', 'd'], ['e']]
    """
    return [list(items[start : start + most]) for start in range(0, len(items), most)]
