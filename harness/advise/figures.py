"""Figures of the advice: every test's size here, and the power of the recommended one."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from harness.advise.report import Tables, name_measure
from harness.drawing.style import (
    NOMINAL_LINE,
    PAPER_LOOKS,
    TOLERANCE,
    LineLook,
    figure_style,
    legend_handle,
    nominal_handle,
    other_look,
    save_figure,
)
from harness.writing.captions import write_captions
from harness.writing.prose import paragraph

SIZES, POWER = "figure_advice_sizes", "figure_advice_power"
COLUMNS = 2
CHOSEN = "#d0103a"
LEVEL: dict[str, Any] = {"color": "0.35", "linewidth": 0.8, "linestyle": NOMINAL_LINE, "zorder": 0}


def draw_advice(
    folder: Path, tables: Tables, figure: Mapping[str, Any], n_items: int, alpha: float, measure: str
) -> list[Path]:
    """Draw both figures from tables as the CSVs hold them, and write their captions."""
    named = name_measure(measure)
    keys = ["pair", "n_documents"]
    chosen = tables["recommendations"].set_index(keys)["test"].to_dict()
    sizes, power = tables["sizes"], tables["power"]
    pairs = list(dict.fromkeys(sizes["pair"]))
    sizes = sizes[sizes["n_documents"] == n_items]
    recommended = power[[chosen[tuple(key)] == test for *key, test in power[[*keys, "test"]].to_numpy()]]
    numbers = sorted(int(n) for n in power["n_documents"].unique())
    with figure_style():
        drawn, panels = _panels(pairs, sizes, figure["width"], 0.6 + 0.22 * sizes["test"].nunique())
        for panel, pair, own in panels:
            _draw_sizes(panel, own, chosen[pair, n_items], alpha)
        drawn.supxlabel(f"share of sets on which the test rejects a true hypothesis ({n_items:,} items)")
        drawn.legend(handles=[nominal_handle(alpha)], loc="outside upper right", frameon=False)
        paths = save_figure(drawn, folder, SIZES, figure["formats"], figure["dpi"])
        drawn, panels = _panels(pairs, recommended, figure["width"], 2.1)
        for panel, _, own in panels:
            _draw_power(panel, own, numbers)
        drawn.supxlabel(f"true difference in {named}")
        drawn.supylabel("power")
        handles = [legend_handle(_look(place), f"{n:,} items") for place, n in enumerate(numbers)]
        drawn.legend(handles=handles, loc="outside upper center", ncols=4, frameon=False)
        paths += save_figure(drawn, folder, POWER, figure["formats"], figure["dpi"])
    shown = {"n_items": n_items, "alpha": alpha, "measure": named}
    captions = {SIZES: "sizes_caption", POWER: "power_caption"}
    write_captions(folder, {stem: paragraph("advise", name, **shown) for stem, name in captions.items()})
    return paths


def _panels(
    pairs: Sequence[str], table: pd.DataFrame, width: float, height: float
) -> tuple[Any, list[tuple[Any, str, pd.DataFrame]]]:
    from matplotlib.figure import Figure

    columns = min(COLUMNS, len(pairs))
    rows = -(-len(pairs) // columns)
    figure = Figure(figsize=(width, 0.7 + rows * height), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    for panel in panels[len(pairs) :]:
        panel.set_visible(False)
    found = [(panel, pair, table[table["pair"] == pair]) for panel, pair in zip(panels, pairs, strict=False)]
    for panel, pair, _ in found:
        panel.set_title(pair.replace("_", " "), fontsize="medium")
    return figure, found


def _look(place: int) -> LineLook:
    return PAPER_LOOKS[place] if place < len(PAPER_LOOKS) else other_look(place)


def _draw_sizes(panel: Any, own: pd.DataFrame, chosen: str, alpha: float) -> None:
    panel.axvspan(0.8 * alpha, 1.2 * alpha, color=TOLERANCE, linewidth=0, zorder=-1)
    panel.axvline(alpha, **LEVEL)
    for place, row in enumerate(own.to_dict("records")):
        color = CHOSEN if row["test"] == chosen else "0.25"
        panel.plot([row["range_low"], row["range_high"]], [place] * 2, color=color, alpha=0.25, linewidth=5)
        panel.plot([row["mc_low"], row["mc_high"]], [place] * 2, color=color, linewidth=1)
        panel.plot(row["size"], place, "o", color=color, markersize=3.5)
    panel.set_yticks(range(len(own)), [name.replace("_", " ") for name in own["test"]])
    panel.set_ylim(len(own) - 0.4, -0.6)
    highest = float(np.nanmax(own[["mc_high", "range_high"]].to_numpy()))
    panel.set_xlim(0, max(2 * alpha, 1.1 * highest))


def _draw_power(panel: Any, power: pd.DataFrame, numbers: Sequence[int]) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    for place, n in enumerate(numbers):
        look = _look(place)
        own = power[power["n_documents"] == n].sort_values("h")
        bars = np.abs(own[["mc_low", "mc_high"]].to_numpy() - own[["power"]].to_numpy()).T
        panel.errorbar(
            own["difference"], own["power"], yerr=bars, color=look.color, marker=look.marker, markersize=3,
            linewidth=1, elinewidth=0.6, linestyle=look.line,
        )  # fmt: skip
    panel.axhline(0.8, **LEVEL)
    panel.set_xscale("log")
    panel.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.6f}".rstrip("0")))
    panel.xaxis.set_minor_formatter(NullFormatter())
    panel.set_ylim(-0.02, 1.02)
