"""Figures of the advice: every test's size here, and the power of the recommended one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.advise.report import MEASURES
from harness.drawing.style import (
    PAPER_LOOKS,
    TOLERANCE,
    figure_style,
    legend_handle,
    nominal_handle,
    save_figure,
)
from harness.writing.captions import write_captions

if TYPE_CHECKING:
    from pandas import DataFrame

SIZES, POWER = "figure_advice_sizes", "figure_advice_power"
COLUMNS = 2
CHOSEN = "#d0103a"


def draw_advice(
    folder: Path,
    tables: Mapping[str, DataFrame],
    *,
    n_items: int,
    alpha: float,
    measure: str,
    formats: Sequence[str],
    dpi: float,
    width: float,
) -> list[Path]:
    """Draw both figures and write their captions.

    Parameters
    ----------
    folder : Path
    tables : mapping
        `sizes`, `power` and `recommendations`, as the CSVs hold them.
    n_items : int
        Of the file.
    alpha : float
    measure : str
    formats, dpi, width
        As :func:`harness.drawing.style.save_figure` has them; inches.
    """
    chosen = {
        (row["pair"], row["n_documents"]): row["test"] for row in tables["recommendations"].to_dict("records")
    }
    sizes, power = tables["sizes"], tables["power"]

    def draw_size(panel: Any, pair: str) -> None:
        own = sizes[(sizes["pair"] == pair) & (sizes["n_documents"] == n_items)]
        _draw_sizes(panel, own.reset_index(drop=True), chosen[pair, n_items], alpha)

    def draw_power(panel: Any, pair: str) -> None:
        tests = {n: test for (name, n), test in chosen.items() if name == pair}
        _draw_power(panel, power[power["pair"] == pair], tests)

    paths = []
    n_tests = sizes["test"].nunique()
    with figure_style():
        figure = _panels(list(dict.fromkeys(sizes["pair"])), draw_size, width, 0.6 + 0.22 * n_tests)
        figure.supxlabel(f"share of sets on which the test rejects a true hypothesis ({n_items:,} items)")
        figure.legend(handles=[nominal_handle(alpha)], loc="outside upper right", frameon=False)
        paths += save_figure(figure, folder, SIZES, formats, dpi)
        figure = _panels(list(dict.fromkeys(sizes["pair"])), draw_power, width, 2.1)
        figure.supxlabel(f"true difference in {MEASURES.get(measure, measure)}")
        figure.supylabel("power")
        handles = [legend_handle(PAPER_LOOKS[i], f"{n:,} items") for i, n in enumerate(_numbers(power))]
        figure.legend(handles=handles, loc="outside upper center", ncols=4, frameon=False)
        paths += save_figure(figure, folder, POWER, formats, dpi)
    write_captions(folder, _captions(n_items, alpha, MEASURES.get(measure, measure)))
    return paths


def _captions(n_items: int, alpha: float, measure: str) -> dict[str, str]:
    return {
        SIZES: f"Size of each test of {measure} at level {alpha:g} on sets of {n_items:,} items, drawn "
        "from the population nearest to the pair's own outcomes in which both are equally good. Dot: "
        "measured size, thin bar: its 95 % interval (Clopper-Pearson), thick pale bar: from the 10 % to "
        "the 90 % quantile over the populations that could have given this file, never narrower than its "
        "Monte Carlo error. Shaded: .8 to 1.2 of the "
        "level. Red: the recommended test.",
        POWER: f"Power of the recommended test at level {alpha:g} against the true difference in {measure} "
        "(logarithmic), for the file's own number of items and others. The population is the null tilted "
        "towards the difference, half of the sets with A better and half with B; what was observed plays no "
        "part. Bars: 95 % intervals. Dashed: 80 %.",
    }


def _numbers(power: DataFrame) -> list[int]:
    return sorted(int(n) for n in power["n_documents"].unique())


def _panels(pairs: list[str], draw: Callable[[Any, str], None], width: float, height: float) -> Any:
    """Return a figure with one panel a pair."""
    from matplotlib.figure import Figure

    columns = min(COLUMNS, len(pairs))
    rows = -(-len(pairs) // columns)
    figure = Figure(figsize=(width, 0.7 + rows * height), layout="constrained")
    axes = np.atleast_1d(figure.subplots(rows, columns, squeeze=False)).ravel()
    for panel, pair in zip(axes, pairs, strict=False):
        draw(panel, pair)
        panel.set_title(pair.replace("_", " "), fontsize="medium")
    for panel in axes[len(pairs) :]:
        panel.set_visible(False)
    return figure


def _draw_sizes(panel: Any, own: DataFrame, chosen: str, alpha: float) -> None:
    panel.axvspan(0.8 * alpha, 1.2 * alpha, color=TOLERANCE, linewidth=0, zorder=-1)
    panel.axvline(alpha, color="0.35", linewidth=0.8, linestyle=(0, (6, 3)), zorder=0)
    for place, row in enumerate(own.to_dict("records")):
        color = CHOSEN if row["test"] == chosen else "0.25"
        panel.plot([row["range_low"], row["range_high"]], [place] * 2, color=color, alpha=0.25, linewidth=5)
        panel.plot([row["mc_low"], row["mc_high"]], [place] * 2, color=color, linewidth=1)
        panel.plot(row["size"], place, "o", color=color, markersize=3.5)
    panel.set_yticks(range(len(own)), [name.replace("_", " ") for name in own["test"]])
    panel.set_ylim(len(own) - 0.4, -0.6)
    highest = float(np.nanmax(own[["mc_high", "range_high"]].to_numpy()))
    panel.set_xlim(0, max(2 * alpha, 1.1 * highest))


def _draw_power(panel: Any, power: DataFrame, chosen: Mapping[int, str]) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    for slot, n in enumerate(_numbers(power)):
        own = power[(power["n_documents"] == n) & (power["test"] == chosen[n])].sort_values("h")
        look = PAPER_LOOKS[slot]
        bars = np.abs(own[["mc_low", "mc_high"]].to_numpy() - own[["power"]].to_numpy()).T
        panel.errorbar(
            own["difference"], own["power"], yerr=bars, color=look.color, marker=look.marker, markersize=3,
            linewidth=1, elinewidth=0.6, linestyle=look.line,
        )  # fmt: skip
    panel.axhline(0.8, color="0.35", linewidth=0.8, linestyle=(0, (6, 3)), zorder=0)
    panel.set_xscale("log")
    panel.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.6f}".rstrip("0")))
    panel.xaxis.set_minor_formatter(NullFormatter())
    panel.set_ylim(-0.02, 1.02)
