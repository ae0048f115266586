"""How drawn figures are looked at: their panels, their artists, and boxes of text that touch."""

import itertools

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

from harness.drawing.style import SMALLEST, Look, figure_style


def drawn(build, look=Look()):  # noqa: B008
    """The pages of a figure, and its caption."""
    with figure_style(look):
        return build(look)


def panels(page):
    """The panels of a page by their title, strips left out."""
    titles = [axes.get_title(loc="left").replace("\n", " ") for axes in page.axes]
    return {title: axes for title, axes in zip(titles, page.axes, strict=True) if title}


def by_gid(axes, gid):
    return next(a for a in axes.get_children() if a.get_gid() == gid)


def gids(axes, prefix):
    return {str(a.get_gid()) for a in axes.get_children() if str(a.get_gid()).startswith(prefix)}


def texts(page, look):
    """Every text that shows, as drawn, with its box in pixels."""
    with figure_style(look):
        renderer = FigureCanvasAgg(page).get_renderer()
        page.draw_without_rendering()
        shown = [t for t in page.findobj(Text) if t.get_visible() and t.get_text().strip()]
        ticks = {id(t) for axes in page.axes for axis in (axes.xaxis, axes.yaxis) for t in _hidden(axis)}
        return [(t, t.get_window_extent(renderer)) for t in shown if id(t) not in ticks]


def _hidden(axis):
    """Labels of ticks that are not drawn: beyond the ends of the axis, or switched off."""
    low, high = sorted(axis.get_view_interval())
    room = 1e-9 * (high - low)
    for tick in itertools.chain(axis.get_major_ticks(), axis.get_minor_ticks()):
        inside = low - room <= tick.get_loc() <= high + room
        for label, on in ((tick.label1, tick.label1.get_visible()), (tick.label2, tick.label2.get_visible())):
            if not (inside and on):
                yield label


def faults(page, look):
    """What a referee would see: text too small, off the page, or over other text."""
    found, boxes = [], texts(page, look)
    for text, box in boxes:
        if text.get_fontsize() < SMALLEST - 1e-9:
            found.append(f"{text.get_text()!r} has {text.get_fontsize():.2f} points")
        if box.x0 < -1 or box.y0 < -1 or box.x1 > page.bbox.x1 + 1 or box.y1 > page.bbox.y1 + 1:
            found.append(f"{text.get_text()!r} leaves the page")
    for (one, a), (other, b) in itertools.combinations(boxes, 2):
        wide, high = min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)
        if wide > 1.5 and high > 1.5:
            found.append(f"{one.get_text()!r} touches {other.get_text()!r}")
    return found
