"""Figures of a comparison of estimators, drawn from its tables alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.algorithms.comparison_tables import DESIGNS
from harness.algorithms.verdicts import TESTS
from harness.captions import write_captions
from harness.figure_style import PAPER_LOOKS, figure_style, nominal_handle, save_figure
from harness.seeding import rng

if TYPE_CHECKING:
    from pandas import DataFrame

SCORES, REJECTIONS = "figure_scores", "figure_rejections"
MEAN: dict[str, Any] = {
    "marker": "D", "linestyle": "none", "color": "white", "markeredgecolor": "0.1", "markersize": 4,
    "markeredgewidth": 0.9,
}  # fmt: skip
PUBLISHED: dict[str, Any] = {"marker": "x", "linestyle": "none", "color": "#d0103a", "markersize": 6}


def draw_comparison(
    folder: Path,
    trials: DataFrame,
    rejections: DataFrame,
    *,
    scorer: str,
    alpha: float,
    published: Mapping[str, Sequence[float]],
    about: str,
    formats: Sequence[str],
    dpi: float,
    width: float,
) -> list[Path]:
    """Draw the scores of all seeds and the share of seeds that reject; write both captions.

    Parameters
    ----------
    folder : Path
        Where the figures go.
    trials, rejections : DataFrame
        The tables ``trials.csv`` and ``rejections.csv``.
    scorer : str
    alpha : float
    published : mapping of str to (hold-out, 5x2cv)
        Scores of a report, by estimator, that are marked; may be empty.
    about : str
        What was run, for the captions.
    formats, dpi, width
        As :func:`harness.figure_style.save_figure` has them; inches.
    """
    n_seeds = int(trials["seed"].nunique())
    cross = "Red cross: the value that the report on these data printed. " if published else ""
    paths = []
    with figure_style():
        for stem, figure in (
            (SCORES, _draw_scores(trials, scorer, published, width)),
            (REJECTIONS, _draw_rejections(rejections, alpha, width)),
        ):
            paths += save_figure(figure, folder, stem, formats, dpi)
    write_captions(
        folder,
        {
            SCORES: f"{_score_words(scorer)} of each estimator over {n_seeds} seeds, on the hold-out and as "
            "the mean of the ten halves of 5x2cv. Every dot is a seed (moved sideways at random within its "
            "box's width); box: quartiles and median, whiskers: 5 and 95 %, diamond: mean. On a hold-out of "
            f"few samples only few values are possible, and dots lie in rows. {cross}{about}",
            REJECTIONS: f"Share of the seeds on which each test rejects at the {alpha:g} level, two-sided, "
            "per pair, with its Clopper-Pearson interval of 95 %. Whether the two differ in truth is not "
            "known: the share is neither a size nor a power, but how much the verdict on these data hangs on "
            f"the seed. {about}",
        },
    )
    return paths


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
