"""The two figures of advice: size of every test, and power of the recommended one."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from harness.advise.points import MANY
from harness.advise.report import Tables, name_measure
from harness.advise.standing import baseline_figure, matrix_figure, ranks_figure
from harness.drawing.grid import Cell, Grid, Line, Row, Space, in_rows, named_row
from harness.drawing.layout import Axis
from harness.drawing.marks import draw_curves
from harness.drawing.save import draw
from harness.drawing.style import GREY, NOMINAL_LINE, Look, draw_level, level_handles, numbered_style
from harness.results.names import test_name
from harness.writing.prose import paragraph

CHOSEN = "#d0103a"


def draw_advice(
    folder: Path, tables: Tables, figure: Mapping[str, Any], unit: str = "items", **known: Any
) -> list[Path]:
    """Draw the figures from tables as the CSVs hold them, and write their captions.

    `known`: the file's number of units, ``n_items``, ``alpha`` and ``measure``.
    """
    shown = {**known, "measure": name_measure(known["measure"]), "unit": unit}
    chosen = tables["recommendations"].set_index(["pair", "n_documents"])["test"]
    builds = {
        "figure_advice_sizes": partial(sizes_figure, tables["sizes"], chosen, shown),
        "figure_advice_power": partial(power_figure, tables["power"], chosen, shown),
    }
    ranks = tables.get("ranks")
    if ranks is not None and len(ranks) >= MANY:
        judged = tables["verdicts"][tables["verdicts"]["pvalue_holm"].notna()]
        compared = baseline_figure if len(judged) < len(ranks) * (len(ranks) - 1) / 2 else matrix_figure
        builds = {
            "figure_advice_ranks": partial(ranks_figure, ranks, shown),
            "figure_advice_differences": partial(compared, ranks, judged, shown),
            **builds,
        }
    return draw(folder, builds, Look.of(figure))


def _cells(table: pd.DataFrame) -> list[Cell]:
    """Return a panel for each pair."""
    return [Cell(pair.replace("_", " "), {"pair": pair}) for pair in map(str, table["pair"].unique())]


def sizes_figure(
    table: pd.DataFrame, chosen: pd.Series[str], shown: Mapping[str, Any], look: Look
) -> tuple[list[Any], str]:
    """Return the size of every test at the file's own number of items: a panel a pair, a line a test."""
    alpha, n_items = shown["alpha"], shown["n_items"]
    sizes = table[table["n_documents"] == n_items].reset_index(drop=True)
    tests = [str(test) for test in sizes["test"].unique()]
    names = [test_name(test) for test in tests]

    def draw_sizes(axes: Any, own: pd.DataFrame, row: Row, space: Space) -> None:
        """Draw the size of each test with its two intervals."""
        draw_level(axes, alpha, along="x")
        for one in own.to_dict("records"):
            place = tests.index(one["test"])
            color = CHOSEN if chosen[one["pair"], n_items] == one["test"] else "0.25"
            for low, high, style in (("range_low", "range_high", {"linewidth": 5, "alpha": 0.25}),
                                     ("mc_low", "mc_high", {"linewidth": 1})):  # fmt: skip
                axes.plot([one[low], one[high]], [place] * 2, color=color, **style)
            axes.plot(one["size"], place, "o", color=color, gid=f"points:{one['test']}")

    top = max(2 * alpha, 1.1 * float(np.nanmax(sizes[["mc_high", "range_high"]].to_numpy())))
    axis = Axis("size", f"size ({n_items:,} {shown['unit']})", scale="linear", ends=(0.0, top))
    caption = paragraph("advise", "sizes_caption", **shown)
    rows = [named_row(cells, names) for cells in in_rows(_cells(sizes), look, names)]
    grid = Grid(sizes, axis, rows, "", draw_sizes, _size_handles(alpha), names=names, caption=caption)
    return grid.pages(look), caption


def _size_handles(alpha: float) -> list[Any]:
    from matplotlib.lines import Line2D

    def line(label: str, **style: Any) -> Any:
        return Line2D([], [], label=label, **{"color": "0.25", **style})

    return [
        line("recommended test", color=CHOSEN, marker="o"),
        line("95 % interval", linewidth=1, marker="o"),
        line("over populations near the file", linewidth=5, alpha=0.25),
        *level_handles(alpha),
    ]


def power_figure(
    table: pd.DataFrame, chosen: pd.Series[str], shown: Mapping[str, Any], look: Look
) -> tuple[list[Any], str]:
    """Return the power of the recommended test against the true difference: a curve per number of items."""
    keys = ["pair", "n_documents"]
    own = [chosen[tuple(key)] == test for *key, test in table[[*keys, "test"]].to_numpy()]
    power = table[own].rename(columns={"power": "rate"}).reset_index(drop=True)
    lines = [
        Line(str(n), f"{n:,} {shown['unit']}", numbered_style(place), {"n_documents": n})
        for place, n in enumerate(sorted(int(n) for n in power["n_documents"].unique()))
    ]
    d = power["difference"]
    label = f"true difference in {shown['measure']}"
    axis = Axis("difference", label, ends=(float(d.min()) / 1.2, float(d.max()) * 1.2))

    def draw_power(axes: Any, rows: pd.DataFrame, row: Row, space: Space) -> None:
        """Draw power over the line at 80 %."""
        axes.axhline(0.8, color=GREY, linewidth=0.8, linestyle=NOMINAL_LINE, zorder=0)
        draw_curves(axes, rows, row, space)

    caption = paragraph("advise", "power_caption", **shown)
    made = [Row(cells, lines, 1.0) for cells in in_rows(_cells(power), look)]
    grid = Grid(power, axis, made, "power", draw_power, empty="power cannot be told", caption=caption)
    return grid.pages(look), caption
