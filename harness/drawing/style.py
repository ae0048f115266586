"""How figures look: sizes and fonts, one style for a test everywhere, the same bytes every time."""

import io
import shutil
import tomllib
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple, Self

from harness.errors import UserError, harmless, instead
from harness.results.names import MEASURE_WORDS
from harness.runtime.store import write_atomically
from harness.writing.table_text import escape_latex

KNOWN: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
FORMATS = ("pdf", "svg", "pgf", "png")
X_AXES = ("log", "linear")
NOMINAL_LINE = (0, (6, 3))
TOLERANCE = "#e3ead2"
GREY = "0.35"
SMALLEST = 6.0
"""Points of the smallest text in a figure."""

# settings that belong to a session, not to a look; setting them would touch the caller's own figures
SESSION = ("backend", "backend_fallback", "interactive", "toolbar", "timezone", "webagg", "tk.", "date.epoch")


@dataclass(frozen=True)
class Look:
    """The keys of the node ``figure`` that say how a figure looks, whatever it shows.

    `width` and `height` are inches, `height` that of the tallest page; `font_size` and `small` are points.
    """

    width: float = 7.2
    height: float = 9.0
    font_size: float = 8.0
    font: str | None = None
    usetex: bool = False
    dpi: float = 200
    formats: Sequence[str] = ("pdf", "png")
    caption: bool = False

    def __post_init__(self) -> None:
        if self.usetex and shutil.which("latex") is None:
            raise UserError("figure.usetex: LaTeX is not installed here; false is possible")
        if "pgf" in self.formats and shutil.which("xelatex") is None:
            raise UserError("figure.formats: pgf needs XeLaTeX, which is not installed; pdf, svg, png do not")
        if self.font is not None:
            _check_font(self.font)

    @classmethod
    def of(cls, figure: Mapping[str, Any]) -> Self:
        """Return the look that the node ``figure`` asks for."""
        names = {field.name for field in fields(cls)}
        return cls(**{key: value for key, value in figure.items() if key in names})

    @property
    def em(self) -> float:
        """Inches that the font is high."""
        return self.font_size / 72

    @property
    def small(self) -> float:
        """Points of tick labels and notes."""
        return max(SMALLEST, 0.85 * self.font_size)

    @property
    def settings(self) -> dict[str, Any]:
        """What matplotlib is told."""
        return {
            **KNOWN["settings"],
            "font.family": [self.font or "DejaVu Sans"],
            "text.usetex": self.usetex,
            **dict.fromkeys(KNOWN["text"]["plain"], self.font_size),
            **dict.fromkeys(KNOWN["text"]["small"], self.small),
            **{name: points * (self.font_size / 8) for name, points in KNOWN["lines"].items()},
        }


def _check_font(font: str) -> None:
    """Refuse a family that matplotlib does not find, for which it would take another."""
    from matplotlib.font_manager import fontManager

    known = sorted(set(fontManager.get_font_names()))
    if font not in known:
        said = instead(font, known, "`fc-list : family` lists those that are")
        raise UserError(f"figure.font: {font!r} is not installed; {said}")


class Style(NamedTuple):
    """Colour, marker and dashes of a curve; `width` is relative to that of other lines."""

    color: str
    marker: str
    dashes: Any = "-"
    filled: bool = True
    width: float = 1.0

    def line(self, **more: Any) -> dict[str, Any]:
        """Return what matplotlib's ``plot`` takes."""
        import matplotlib

        face = self.color if self.filled else "white"
        width = self.width * matplotlib.rcParams["lines.linewidth"]
        return {
            "color": self.color, "marker": self.marker, "linestyle": self.dashes, "linewidth": width,
            "markerfacecolor": face, "markeredgewidth": 0.7, **more,
        }  # fmt: skip


DASHES = {
    "solid": "-", "long": (0, (5, 1.5)), "short": (0, (2.5, 1.2)), "mixed": (0, (5, 1.5, 1, 1.5)),
    "dotted": (0, (1, 1.2)),
}  # fmt: skip
BLACK, INDIGO, TEAL, AMBER, WINE = "#000000", "#3b4a92", "#1f8f89", "#e08a00", "#a3195b"
STYLES = {
    test: Style(**one | {"dashes": DASHES[one.get("dashes", "solid")]})
    for test, one in KNOWN["styles"].items()
}
COLORS = (BLACK, INDIGO, TEAL, AMBER, "#8c8c8c", WINE)
MARKERS = "osD^vP*X<>"


def numbered_style(place: int) -> Style:
    """Return the style of the n-th curve that stands for no test; 30 in turn differ."""
    return Style(
        COLORS[place % len(COLORS)], MARKERS[place % len(MARKERS)], [*DASHES.values()][place % len(DASHES)]
    )


def style_of(test: str) -> Style:
    """Return the style of a test, the same in every figure; that of one that is not ours comes from its name.

    Examples
    --------
    >>> style_of("wald_f1") == style_of("wald_error"), style_of("bootstrap_f1").filled
    (True, False)
    """
    stem = "_".join(word for word in test.split("_") if word not in MEASURE_WORDS)
    mixed = zlib.crc32(test.encode())
    own = Style(COLORS[mixed % 6], MARKERS[mixed // 6 % 10], [*DASHES.values()][mixed // 60 % 5])
    return STYLES.get(test) or STYLES.get(stem) or own


def told(text: str) -> str:
    """Return a text as it can be drawn: without control characters and, for LaTeX, written out."""
    import matplotlib

    lines = harmless(text).split("\n")
    return "\n".join(map(escape_latex, lines) if matplotlib.rcParams["text.usetex"] else lines)


def handle(style: Style, label: str) -> Any:
    """Return what stands for a curve in a legend."""
    return mark(label, **style.line())


def mark(label: str, **look: Any) -> Any:
    """Return what stands for a line or a marker in a legend."""
    from matplotlib.lines import Line2D

    return Line2D([], [], label=told(label), **look)


def patch(label: str, color: str, **look: Any) -> Any:
    """Return what stands for an area in a legend."""
    from matplotlib.patches import Patch

    return Patch(color=color, linewidth=0, label=told(label), **look)


def level_handles(alpha: float, tolerance: bool = True) -> list[Any]:
    """Return what stands for the nominal level, and the band about it, in a legend."""
    nominal = mark(f"nominal level {alpha:g}", color=GREY, linewidth=0.8, linestyle=NOMINAL_LINE)
    return [nominal, tolerance_handle()] if tolerance else [nominal]


def tolerance_handle() -> Any:
    """Return what stands for the band about a level in a legend."""
    return patch(".8 to 1.2 of the level", TOLERANCE)


def draw_level(axes: Any, alpha: float, *, along: str = "y", tolerance: bool = True) -> None:
    """Draw the nominal level across a panel, and shade .8 to 1.2 of it: the size of a test that holds."""
    line, span = (axes.axhline, axes.axhspan) if along == "y" else (axes.axvline, axes.axvspan)
    line(alpha, color=GREY, linewidth=0.8, linestyle=NOMINAL_LINE, zorder=0, gid="nominal")
    if tolerance:
        span(0.8 * alpha, 1.2 * alpha, color=TOLERANCE, linewidth=0, zorder=-1, gid="tolerance")


@contextmanager
def figure_style(look: Look) -> Iterator[None]:
    """Draw with this look, whatever the caller's matplotlibrc says, and put it back after."""
    import matplotlib

    plain: dict[Any, Any] = {
        key: value for key, value in matplotlib.rcParamsDefault.items() if not key.startswith(SESSION)
    }
    with matplotlib.rc_context(plain | look.settings):
        yield


def save_figure(figure: Any, folder: Path, stem: str, look: Look) -> list[Path]:
    """Write a figure in each format, without dates or software stamps, and return the paths."""
    paths = []
    for name in look.formats:
        drawn = io.BytesIO()
        stamps = KNOWN["stamps"].get(name)
        known = {"metadata": dict.fromkeys(stamps)} if stamps else {}
        figure.savefig(drawn, format=name, dpi=look.dpi, **known)
        paths.append(folder / f"{stem}.{name}")
        write_atomically(paths[-1], drawn.getbuffer())
    return paths
