"""The figures of advice: sizes of every test, power of the recommended one, and how many systems stand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from harness.advise.files.predictions import name_pairs
from harness.advise.points import MANY
from harness.advise.report import Tables, name_measure, sign_of
from harness.drawing import style
from harness.drawing.grid import Cell, Grid, Line, Row, Space, batches, in_rows, named_row
from harness.drawing.layout import Axis
from harness.drawing.marks import draw_curves
from harness.drawing.save import draw
from harness.drawing.style import Look
from harness.results.names import test_name
from harness.writing.prose import paragraph, two_figures

CHOSEN = "#d0103a"
BETTER, WORSE, UNKNOWN = "#1f6f8b", "#c8692b", "#e0e0e0"
WRITTEN = 14  # systems up to which the differences stand in the matrix
_SHADES = (1.0, 0.5)
_AROUND, _LINE = 12.0, 1.3  # font sizes: what a page needs beside its lines, and a line


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
        style.draw_level(axes, alpha, along="x")
        for one in own.to_dict("records"):
            place = tests.index(one["test"])
            color = CHOSEN if chosen[one["pair"], n_items] == one["test"] else "0.25"
            for low, high, look_of_bar in (("range_low", "range_high", {"linewidth": 5, "alpha": 0.25}),
                                     ("mc_low", "mc_high", {"linewidth": 1})):  # fmt: skip
                axes.plot([one[low], one[high]], [place] * 2, color=color, **look_of_bar)
            axes.plot(one["size"], place, "o", color=color, gid=f"points:{one['test']}")

    top = max(2 * alpha, 1.1 * float(np.nanmax(sizes[["mc_high", "range_high"]].to_numpy())))
    axis = Axis("size", f"size ({n_items:,} {shown['unit']})", scale="linear", ends=(0.0, top))
    caption = paragraph("advise", "sizes_caption", **shown)
    rows = [named_row(cells, names) for cells in in_rows(_cells(sizes), look, names)]
    grid = Grid(sizes, axis, rows, "", draw_sizes, _size_handles(alpha), names=names, caption=caption)
    return grid.pages(look), caption


def _size_handles(alpha: float) -> list[Any]:
    return [
        style.mark("recommended test", color=CHOSEN, marker="o"),
        style.mark("95 % interval", color="0.25", linewidth=1, marker="o"),
        style.mark("over populations near the file", color="0.25", linewidth=5, alpha=0.25),
        *style.level_handles(alpha),
    ]


def matrix_figure(
    ranks: pd.DataFrame, verdicts: pd.DataFrame, shown: Mapping[str, Any], look: Look
) -> tuple[list[Any], str]:
    """Return the difference of every two systems, row minus column, best first, in colour if told apart."""
    systems = ranks["system"].astype(str).tolist()
    place = {name: i for i, name in enumerate(systems)}
    d, told = (np.full((len(systems),) * 2, np.nan) for _ in range(2))
    for row in _with_systems(verdicts, systems).to_dict("records"):
        a, b = place[row["a"]], place[row["b"]]
        d[a, b], d[b, a] = row["difference"], -row["difference"]
        told[a, b] = told[b, a] = row["pvalue_holm"] <= shown["alpha"]
    largest = float(np.nanmax(np.abs(d))) or 1.0
    ahead = sign_of(shown["measure"]) * d / largest

    def draw_cells(axes: Any, rows: pd.DataFrame, row: Row, space: Space) -> None:
        """Colour the cells of the page's systems."""
        lines = [place[name] for name in rows["system"].astype(str)]
        colors = [[_color(ahead[i, j], told[i, j]) for j in range(len(systems))] for i in lines]
        axes.imshow(
            colors, aspect="auto", interpolation="nearest", gid="bar",
            extent=(0.5, len(systems) + 0.5, len(lines) - 0.5, -0.5),
        )  # fmt: skip
        for line, i in enumerate(lines if len(systems) <= WRITTEN else ()):
            for j in np.flatnonzero(np.isfinite(d[i])):
                words = f"{d[i, j]:+.3f}".replace("0.", ".") + ("*" if told[i, j] else "")
                dark = told[i, j] and abs(ahead[i, j]) > 0.6
                axes.text(
                    j + 1, line, words, ha="center", va="center", fontsize=space.look.small,
                    color="white" if dark else "black",
                )  # fmt: skip

    axis = _places(len(systems), "place of the other system")
    handles = [
        style.patch(f"{word} by {two_figures(share * largest)}", _color(share * side, True))
        for side, word in ((1, "better"), (-1, "worse"))
        for share in _SHADES
    ]
    handles.append(style.patch("not told apart", UNKNOWN))
    caption = paragraph("advise", "matrix_caption", **shown)
    return _pages(ranks, axis, draw_cells, handles, caption, look), caption


def _color(ahead: float, told: float) -> Any:
    """Return the colour of a cell, the row's system being ahead by a part of the largest difference."""
    from matplotlib.colors import to_rgb

    if np.isnan(ahead):
        return to_rgb("white")
    full, depth = np.array(to_rgb(BETTER if ahead > 0 else WORSE)), 0.15 + 0.85 * abs(ahead)
    return tuple(1 - depth * (1 - full)) if told else to_rgb(UNKNOWN)


def _with_systems(verdicts: pd.DataFrame, systems: Sequence[str]) -> pd.DataFrame:
    """Return the verdicts with the names of A and B."""
    named = {pair: (a, b) for a, b, pair in [*name_pairs(systems), *name_pairs(systems[::-1])]}
    a, b = zip(*(named[pair] for pair in verdicts["pair"]), strict=True)
    return verdicts.assign(a=a, b=b)


def baseline_figure(
    ranks: pd.DataFrame, verdicts: pd.DataFrame, shown: Mapping[str, Any], look: Look
) -> tuple[list[Any], str]:
    """Return the difference of every system to the baseline with its interval, best first."""
    known = _with_systems(verdicts, ranks["system"].astype(str).tolist()).set_index("a")
    baseline, sign = known["b"].iloc[0], sign_of(shown["measure"])

    def draw_differences(axes: Any, rows: pd.DataFrame, row: Row, space: Space) -> None:
        """Draw a dot and a bar for each system of the page but the baseline."""
        axes.axvline(0, color=style.GREY, linewidth=0.8, zorder=0)
        for line, name in enumerate(rows["system"].astype(str)):
            for one in known.loc[known.index == name].to_dict("records"):
                told = one["pvalue_holm"] <= shown["alpha"]
                color = _color(sign * np.sign(one["difference"]), 1.0) if told else style.GREY
                axes.hlines(line, one["low"], one["high"], color=color, linewidth=1.5)
                face = color if told else "white"
                axes.plot(one["difference"], line, "o", color=color, markerfacecolor=face, gid="points:d")

    low, high = min(0.0, float(known["low"].min())), max(0.0, float(known["high"].max()))
    label, room = f"{shown['measure']} minus that of {baseline}", 0.02 * (high - low)
    axis = Axis("difference", label, scale="linear", ends=(low - room, high + room))
    caption = paragraph("advise", "baseline_caption", baseline=baseline, **shown)
    told = ranks.replace({"system": {baseline: f"{baseline} (baseline)"}})
    return _pages(told, axis, draw_differences, [], caption, look), caption


def ranks_figure(ranks: pd.DataFrame, shown: Mapping[str, Any], look: Look) -> tuple[list[Any], str]:
    """Return the rank of every system with its simultaneous confidence set."""

    def draw_sets(axes: Any, rows: pd.DataFrame, row: Row, space: Space) -> None:
        """Draw a dot and a bar for each system of the page."""
        lines = np.arange(len(rows))
        axes.hlines(lines, rows["rank_low"], rows["rank_high"], color=style.GREY, linewidth=1.5)
        axes.plot(rows["rank"], lines, "o", color="0.1", gid="points:rank")

    axis = _places(len(ranks), "rank (1 is best)")
    caption = paragraph("advise", "ranks_caption", **shown)
    return _pages(ranks, axis, draw_sets, [], caption, look), caption


def _places(n: int, label: str) -> Axis:
    return Axis("rank", label, range(1, n + 1), "linear", (0.5, n + 0.5))


def _pages(
    ranks: pd.DataFrame, axis: Axis, draw: Any, handles: Sequence[Any], caption: str, look: Look
) -> list[Any]:
    """Return pages with a line for each system, as many on each as its height has room for."""
    found = []
    most = max(1, int((look.height / look.em - _AROUND) / _LINE))
    n_pages = -(-len(ranks) // most)
    for places in batches(range(len(ranks)), -(-len(ranks) // n_pages)):
        rows = ranks.iloc[list(places)].reset_index(drop=True)
        names = [f"{i + 1} {name}" for i, name in zip(places, rows["system"], strict=True)]
        made = [named_row([Cell("", {})], names)]
        grid = Grid(rows, axis, made, "", draw, handles, names=names, caption=caption)
        found += grid.pages(look)
    return found


def power_figure(
    table: pd.DataFrame, chosen: pd.Series[str], shown: Mapping[str, Any], look: Look
) -> tuple[list[Any], str]:
    """Return the power of the recommended test against the true difference: a curve per number of items."""
    keys = ["pair", "n_documents"]
    own = [chosen[tuple(key)] == test for *key, test in table[[*keys, "test"]].to_numpy()]
    power = table[own].rename(columns={"power": "rate"}).reset_index(drop=True)
    lines = [
        Line(str(n), f"{n:,} {shown['unit']}", style.numbered_style(place), {"n_documents": n})
        for place, n in enumerate(sorted(int(n) for n in power["n_documents"].unique()))
    ]
    d = power["difference"]
    label = f"true difference in {shown['measure']}"
    axis = Axis("difference", label, ends=(float(d.min()) / 1.2, float(d.max()) * 1.2))

    def draw_power(axes: Any, rows: pd.DataFrame, row: Row, space: Space) -> None:
        """Draw power over the line at 80 %."""
        axes.axhline(0.8, color=style.GREY, linewidth=0.8, linestyle=style.NOMINAL_LINE, zorder=0)
        draw_curves(axes, rows, row, space)

    caption = paragraph("advise", "power_caption", **shown)
    made = [Row(cells, lines, 1.0) for cells in in_rows(_cells(power), look)]
    grid = Grid(power, axis, made, "power", draw_power, empty="power cannot be told", caption=caption)
    return grid.pages(look), caption
