"""Many systems in words and figures: who is best, how many are told apart, and what is known of the ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from harness.advise.files.predictions import name_pairs
from harness.advise.many import Field
from harness.advise.points import LOSSES
from harness.advise.report import Tables, name_measure, two_figures
from harness.drawing.grid import Cell, Grid, Row, Space, batches, named_row
from harness.drawing.layout import Axis
from harness.drawing.style import GREY, Look, patch
from harness.writing.prose import paragraph, paragraphs

_HERE = ("sizes", "detectable", "recommendations")
STANDING = ("nearest", "median", "farthest")
BETTER, WORSE, UNKNOWN = "#1f6f8b", "#c8692b", "#e0e0e0"
WRITTEN = 14  # systems up to which the differences stand in the matrix
_SHADES = (1.0, 0.5)
_AROUND, _LINE = 12.0, 1.3  # font sizes: what a page needs beside its lines, and a line


def findings_of_many(
    field: Field, tables: Tables, n_items: int, measure: str, unit: str = "items", **_: float
) -> list[str]:
    """Return what was found, at most ten lines: the best, pairs told apart, ranks, and three pairs' sizes."""
    question, ranks, verdicts = field.question, tables["ranks"], tables["verdicts"]
    own = verdicts[verdicts["pvalue_holm"].notna()]
    told = own["pvalue_holm"] <= question.alpha
    here = {name: table[table["n_documents"] == n_items] for name, table in tables.items() if name in _HERE}
    seen = here["detectable"].merge(here["recommendations"][["pair", "test"]])
    chosen, sizes = here["recommendations"].set_index("pair")["test"], here["sizes"]
    standing = dict(zip((name for *_, name in field.representatives()), STANDING, strict=False))
    sizes = sizes.assign(standing=sizes["pair"].map(standing))[sizes["test"] == field.test]
    return paragraphs(
        "advise", "many_findings", best=ranks.iloc[0], first=ranks["system"][ranks["rank_low"] == 1].tolist(),
        n_systems=len(ranks), width=(ranks["rank_high"] - ranks["rank_low"]).median(), told=told,
        n_better=(told & (_sign(measure) * own["difference"] > 0)).sum(), measure=name_measure(measure),
        test=field.test, baseline=question.baseline, alpha=question.alpha, wanted=question.difference,
        n_items=n_items, unit=unit, sizes=sizes.to_dict("records"), seen=_ends(seen, "difference"),
        others=chosen[chosen != field.test].to_dict(), needed=_ends(tables["needed"], "n_items"),
    )  # fmt: skip


def _sign(measure: str) -> int:
    return -1 if measure.split()[-1] in LOSSES else 1


def _ends(table: pd.DataFrame, column: str) -> list[str]:
    """Return the least and the largest number at a power of 80 %, nothing where one is not known."""
    values = table.loc[table["power_wanted"] == 0.8, column].astype(float)
    if values.isna().any() or not len(values):
        return []
    return list(dict.fromkeys(two_figures(end) for end in (values.min(), values.max())))


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
    ahead = _sign(shown["measure"]) * d / largest

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
        patch(f"{word} by {two_figures(share * largest)}", _color(share * side, True))
        for side, word in ((1, "better"), (-1, "worse"))
        for share in _SHADES
    ]
    handles.append(patch("not told apart", UNKNOWN))
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
    baseline, sign = known["b"].iloc[0], _sign(shown["measure"])

    def draw_differences(axes: Any, rows: pd.DataFrame, row: Row, space: Space) -> None:
        """Draw a dot and a bar for each system of the page but the baseline."""
        axes.axvline(0, color=GREY, linewidth=0.8, zorder=0)
        for line, name in enumerate(rows["system"].astype(str)):
            for one in known.loc[known.index == name].to_dict("records"):
                told = one["pvalue_holm"] <= shown["alpha"]
                color = _color(sign * np.sign(one["difference"]), 1.0) if told else GREY
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
        axes.hlines(lines, rows["rank_low"], rows["rank_high"], color=GREY, linewidth=1.5)
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
