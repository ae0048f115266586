"""Figures of a comparison of estimators, drawn from its tables alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.compare.comparison_report import data_facts, describe
from harness.compare.comparison_tables import DESIGNS, of_data_set
from harness.compare.datasets import file_stem
from harness.compare.figure_critical_difference import critical_difference_figure
from harness.compare.report_parts import draw, read_table
from harness.compare.verdicts import TESTS
from harness.compare.wine_tables import ERROR_RATES, is_wine_report
from harness.drawing.style import PAPER_LOOKS, nominal_handle
from harness.results.captions import sentence
from harness.seeding import rng

if TYPE_CHECKING:
    from pandas import DataFrame

SCORES, REJECTIONS, CRITICAL = "figure_scores", "figure_rejections", "figure_critical_difference"
RANKS = "tables/ranks.csv"
MEAN: dict[str, Any] = {
    "marker": "D", "linestyle": "none", "color": "white", "markeredgecolor": "0.1", "markersize": 4,
    "markeredgewidth": 0.9,
}  # fmt: skip
PUBLISHED: dict[str, Any] = {"marker": "x", "linestyle": "none", "color": "#d0103a", "markersize": 6}


def draw_comparison(
    out: Path, facts: Mapping[str, Any], *, formats: Sequence[str], dpi: float, width: float
) -> list[Path]:
    """Draw all figures of a comparison from the tables in its folder, and write their captions.

    For each data set the scores of all seeds and the share of seeds that reject; over several data sets the
    critical-difference diagram.

    Parameters
    ----------
    out : Path
        Folder that holds ``trials.csv``, ``rejections.csv`` and, where there are ranks, ``tables/ranks.csv``.
    facts : mapping
        What ``provenance.json`` holds.
    formats, dpi, width
        As :func:`harness.drawing.style.save_figure` has them; inches.
    """
    trials, rejections = read_table(out / "trials.csv"), read_table(out / "rejections.csv")
    data = data_facts(facts)
    figures: dict[str, tuple[Any, str]] = {}
    for one in data:
        end = "" if len(data) == 1 else f"_{file_stem(one['name'])}"
        about = " ".join(sentence(line) for line in describe({**facts, "data": [one]}))
        own = of_data_set(trials, one["name"]), of_data_set(rejections, one["name"])
        figures |= _figures_of_data(*own, facts, end, about, width)
    if (out / RANKS).is_file():
        about = " ".join(sentence(line) for line in describe(facts))
        figures[CRITICAL] = _critical(read_table(out / RANKS), about, width)
    return draw(out, figures, formats, dpi)


def _figures_of_data(
    trials: DataFrame, rejections: DataFrame, facts: Mapping[str, Any], end: str, about: str, width: float
) -> dict[str, tuple[Any, str]]:
    """Return the two figures of one data set: what makes each, and its caption."""
    scorer, alpha = facts["scorer"], facts["alpha"]
    is_report = is_wine_report([one["name"] for one in data_facts(facts)], scorer)
    published = ERROR_RATES if is_report else {}
    cross = "Red cross: the value that the report on these data printed. " if published else ""
    scores = (
        f"{_score_words(scorer)} of each estimator over {trials['seed'].nunique()} seeds, on the hold-out "
        "and as the mean of the ten halves of 5x2cv. Every dot is a seed (moved sideways at random within "
        "its box's width); box: quartiles and median, whiskers: 5 and 95 %, diamond: mean. On a hold-out of "
        f"few samples only few values are possible, and dots lie in rows. {cross}{about}"
    )
    shares = (
        f"Share of the seeds on which each test rejects at the {alpha:g} level, two-sided, "
        "per pair, with its Clopper-Pearson interval of 95 %. Whether the two differ in truth is not "
        "known: the share is neither a size nor a power, but how much the verdict on these data hangs on "
        f"the seed. {about}"
    )
    return {
        f"{SCORES}{end}": (lambda: _draw_scores(trials, scorer, published, width), scores),
        f"{REJECTIONS}{end}": (lambda: _draw_rejections(rejections, alpha, width), shares),
    }


def _critical(ranks: DataFrame, about: str, width: float) -> tuple[Any, str]:
    _, caption = critical_difference_figure(ranks, width=width)
    return lambda: critical_difference_figure(ranks, width=width)[0], f"{caption} {about}"


def _score_words(scorer: str) -> str:
    return "Error rate" if scorer == "error" else f"Score ({scorer})"


def _draw_scores(
    trials: DataFrame, scorer: str, published: Mapping[str, Sequence[float]], width: float
) -> Any:
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    names = list(dict.fromkeys(trials["estimator"]))
    figure = Figure(figsize=(width, 0.55 * width), layout="constrained")
    axes = figure.subplots(1, len(DESIGNS), sharey=True)
    for column, (panel, (design, label)) in enumerate(zip(axes, DESIGNS.items(), strict=True)):
        for place, name in enumerate(names):
            values = trials.loc[trials["estimator"] == name, design].dropna().to_numpy()
            _draw_box(panel, place, values, PAPER_LOOKS[place % len(PAPER_LOOKS)].color, (design, name))
            if name in published:
                panel.plot(place, published[name][column], zorder=5, **PUBLISHED)
        panel.set_title(label)
        panel.set_xticks(range(len(names)), [name.replace("_", "\n") for name in names])
        panel.set_xlim(-0.6, len(names) - 0.4)
        panel.grid(axis="y", color="0.9", linewidth=0.5)
        panel.set_axisbelow(True)
    axes[0].set_ylabel(_score_words(scorer))
    if scorer == "error":
        axes[0].set_ylim(bottom=-0.004)
    handles = [Line2D([], [], label="mean", **MEAN)]
    if set(published) & set(names):
        handles.append(Line2D([], [], label="published", **PUBLISHED))
    figure.legend(handles=handles, loc="outside upper right", ncols=2, frameon=False)
    return figure


def _draw_box(panel: Any, place: int, values: np.ndarray, color: str, names: tuple[str, str]) -> None:
    if not len(values):
        panel.text(place, 0.5, "no score", transform=panel.get_xaxis_transform(), ha="center", rotation=90)
        return
    sideways = rng(0, "figure_scores", *names).uniform(-0.25, 0.25, len(values))
    panel.plot(place + sideways, values, ".", color=color, markersize=3.5, alpha=0.45, markeredgewidth=0)
    thin: Any = {"color": "0.1", "linewidth": 0.9}
    panel.boxplot(
        values, positions=[place], widths=0.6, whis=(5, 95), showfliers=False, manage_ticks=False,
        boxprops=thin, whiskerprops=thin, capprops=thin, medianprops=thin | {"linewidth": 1.6},
    )  # fmt: skip
    panel.plot(place, values.mean(), **MEAN)


def _draw_rejections(rejections: DataFrame, alpha: float, width: float) -> Any:
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    pairs = list(dict.fromkeys(zip(rejections["a"], rejections["b"], strict=True)))
    figure = Figure(figsize=(width, 0.8 + 0.55 * len(pairs)), layout="constrained")
    panel = figure.subplots()
    handles = []
    for slot, (test, (label, _, _)) in enumerate(TESTS.items()):
        look = PAPER_LOOKS[slot % len(PAPER_LOOKS)]
        part = rejections[(rejections["test"] == test) & rejections["rate"].notna()]
        places = [pairs.index(pair) for pair in zip(part["a"], part["b"], strict=True)]
        heights = np.array(places) + 0.18 * (slot - (len(TESTS) - 1) / 2)
        bars = np.abs(part[["low", "high"]].to_numpy() - part[["rate"]].to_numpy()).T
        style: Any = {"color": look.color, "marker": look.marker, "linestyle": "none", "markersize": 4}
        panel.errorbar(part["rate"], heights, xerr=bars, elinewidth=1, capsize=2, **style)
        handles.append(Line2D([], [], label=label, **style))
    panel.set_yticks(range(len(pairs)), [f"{a} – {b}".replace("_", " ") for a, b in pairs])
    panel.set_ylim(len(pairs) - 0.45, -0.55)
    highest = rejections["high"].max()
    right = 1.01 if not highest < 0.85 else max(0.25, 1.15 * highest)
    panel.set_xlim(-0.01 * right, right)
    panel.set_xlabel("share of seeds that reject")
    panel.axvline(alpha, color="0.35", linewidth=0.8, linestyle=(0, (6, 3)), zorder=0)
    panel.hlines(np.arange(len(pairs) - 1) + 0.5, -0.01 * right, right, color="0.9", linewidth=0.5, zorder=0)
    figure.legend(handles=[*handles, nominal_handle(alpha)], loc="outside upper center", ncols=5)
    return figure
