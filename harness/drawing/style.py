"""How figures look, and how they are saved to the same bytes every time."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from harness.errors import UserError, harmless
from harness.results.names import Curve
from harness.runtime.store import write_atomically

FORMATS = ("pdf", "png")
X_AXES = ("log", "linear")
NOMINAL_LINE = (0, (6, 3))
TOLERANCE = "#e3ead2"

STYLE: dict[str, Any] = {
    "font.family": ["DejaVu Sans"],
    "font.size": 7.5,
    "axes.titlesize": 8,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titley": 1.0,  # a fixed place: looking for one measures every tick
    "axes.labelsize": 7.5,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.minor.width": 0.4,
    "xtick.major.size": 3,
    "ytick.major.size": 3,
    "xtick.minor.size": 1.8,
    "lines.linewidth": 1.2,
    "legend.frameon": False,
    "legend.fontsize": 7.5,
    "text.hinting": "none",  # hinted letters are wider at few dots an inch: captions would run off the page
    "pdf.fonttype": 42,  # TrueType: publishers refuse Type 3
    "savefig.facecolor": "white",
}
# settings that belong to a session, not to a look; setting them would touch the caller's own figures
SESSION = ("backend", "backend_fallback", "interactive", "toolbar", "timezone", "webagg", "tk.", "date.epoch")


class LineLook(NamedTuple):
    """Colour, marker and line of a curve; no two curves of a figure share a marker or a luminance."""

    color: str
    marker: str
    line: Any
    filled: bool = True
    width: float = 1.2
    opacity: float = 1.0


# safe for the colour-blind; luminance rises from black to amber, so that grey copies stay apart
PAPER_LOOKS = (
    LineLook("#000000", "o", "-"),
    LineLook("#3b4a92", "s", (0, (5, 1.5))),
    LineLook("#1f8f89", "^", (0, (5, 1.5, 1, 1.5))),
    LineLook("#e08a00", "D", (0, (2.5, 1.2))),
)
OTHER_COLORS = ("#000000", "#3b4a92", "#1f8f89", "#e08a00", "#8c8c8c", "#a3195b")
OTHER_MARKERS = "osD^vP*X<>"
OTHER_LINES = ("-", (0, (5, 1.5)), (0, (2.5, 1.2)), (0, (5, 1.5, 1, 1.5)), (0, (1, 1)))


FAMILY_COLORS = ("#a3195b", "#2f7d1f", "#7d7d7d", "#4aa3df", "#7a3fb0", "#8a5a2b")
FAMILY_MARKERS = "vPX<>*"

# families of tests, in the order of their rows: heading, beginnings of the tests' names
FAMILIES = (
    ("McNemar's and randomization tests", ("mcnemar", "randomization", "sign")),
    ("Large-sample tests", ("wald", "likelihood_ratio", "score", "snedecor")),
    ("Other bootstrap intervals", ("bootstrap",)),
    ("Posterior tests", ("dirichlet", "bayesian", "goutte_gaussier_paired", "dcf")),
    ("Tests that ignore the pairing", ("unpaired", "goutte_gaussier_f1", "proportion")),
)


def family(test: str) -> str:
    """Return the heading under which a test that the paper does not have is drawn.

    Examples
    --------
    >>> family("mcnemar_midp"), family("mine")
    ("McNemar's and randomization tests", 'Other tests')
    """
    for heading, beginnings in FAMILIES:
        if test.startswith(beginnings):
            return heading
    return "Other tests"


def other_look(place: int) -> LineLook:
    """Return the look of the n-th curve that has no look of its own; 90 differ."""
    return LineLook(
        OTHER_COLORS[place % len(OTHER_COLORS)],
        OTHER_MARKERS[place % len(OTHER_MARKERS)],
        OTHER_LINES[place % len(OTHER_LINES)],
    )


def family_look(place: int) -> LineLook:
    """Return the look of the n-th test of a family, in colours that no curve of the paper has."""
    return LineLook(
        FAMILY_COLORS[place % len(FAMILY_COLORS)],
        FAMILY_MARKERS[place % len(FAMILY_MARKERS)],
        OTHER_LINES[place % len(OTHER_LINES)],
        width=1.0,
    )


def curve_look(curve: Curve, place: int) -> LineLook:
    """Return the look of a curve: the paper's slot, its lighter companion, or the n-th other one."""
    if curve.slot < 0:
        return other_look(place)
    look = PAPER_LOOKS[curve.slot]
    if curve.companion:
        return look._replace(line=(0, (1, 1.2)), filled=False, width=0.8, opacity=0.6)
    return look


def legend_handle(look: LineLook, label: str) -> Any:
    """Return what stands for a curve in a legend."""
    from matplotlib.lines import Line2D

    return Line2D(
        [], [], color=look.color, marker=look.marker, linestyle=look.line, linewidth=look.width,
        markersize=3.4, markerfacecolor=look.color if look.filled else "white", alpha=look.opacity,
        label=label,
    )  # fmt: skip


def nominal_handle(alpha: float) -> Any:
    """Return what stands for the nominal level in a legend."""
    from matplotlib.lines import Line2D

    return Line2D(
        [], [], color="0.35", linewidth=0.8, linestyle=NOMINAL_LINE, label=f"nominal level {alpha:g}"
    )


def draw_nominal(axes: Any, alpha: float) -> None:
    """Draw the nominal level across a panel."""
    axes.axhline(alpha, color="0.35", linewidth=0.8, linestyle=NOMINAL_LINE, zorder=0, gid="nominal")


def draw_tolerance(axes: Any, alpha: float) -> None:
    """Shade where a size counts as that of a test that holds its level: .8 to 1.2 alpha."""
    axes.axhspan(0.8 * alpha, 1.2 * alpha, color=TOLERANCE, linewidth=0, zorder=-1, gid="tolerance")


def tolerance_handle() -> Any:
    """Return what stands for the shaded band about the level in a legend."""
    from matplotlib.patches import Patch

    return Patch(color=TOLERANCE, linewidth=0, label=".8 to 1.2 of the level")


@contextmanager
def figure_style() -> Iterator[None]:
    """Draw with this project's settings, whatever the caller's matplotlibrc says, and put them back after."""
    import matplotlib

    plain: dict[Any, Any] = {
        key: value for key, value in matplotlib.rcParamsDefault.items() if not key.startswith(SESSION)
    }
    with matplotlib.rc_context(plain | STYLE):
        yield


def check_options(formats: Sequence[str], x_axis: str, dpi: float, width: float) -> None:
    """Raise UserError unless the options of a figure are ones that can be drawn."""
    for name in formats:
        if name not in FORMATS:
            raise UserError(f"figure.formats: {name!r} is not allowed; choose from {', '.join(FORMATS)}")
    if not formats:
        raise UserError(f"figure.formats: empty; choose from {', '.join(FORMATS)}")
    if x_axis not in X_AXES:
        raise UserError(f"figure.x_axis: {x_axis!r} is not allowed; choose one of {', '.join(X_AXES)}")
    if not 30 <= dpi <= 1200:
        raise UserError(f"figure.dpi: {dpi} is not allowed; 30 to 1200 are")
    if not 5 <= width <= 20:
        raise UserError(f"figure.width: {width} inches is not allowed; 5 to 20 are")


def plain_options(figure: Mapping[str, Any]) -> dict[str, Any]:
    """Return `formats`, `dpi` and `width`, checked, of a mapping that may hold options of other figures."""
    check_options(figure["formats"], "log", figure["dpi"], figure["width"])
    return {key: figure[key] for key in ("formats", "dpi", "width")}


def save_figure(figure: Any, folder: Path, stem: str, formats: Sequence[str], dpi: float) -> list[Path]:
    """Write a figure in each format, without dates or software stamps, and return the paths."""
    metadata: dict[str, dict[str, None]] = {
        "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
        "png": {"Software": None},
    }
    from matplotlib.text import Text

    for text in figure.findobj(Text):
        if harmless(text.get_text()) != text.get_text():
            text.set_text(harmless(text.get_text()))
    paths = []
    for name in formats:
        path = folder / f"{stem}.{name}"
        drawn = io.BytesIO()
        figure.savefig(drawn, format=name, dpi=dpi, metadata=metadata[name])
        write_atomically(path, drawn.getbuffer())
        paths.append(path)
    return paths
