"""Figures of a comparison of estimators, drawn from its tables alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.compare.datasets import file_stem
from harness.compare.figure_algorithms import critical_difference_figure
from harness.compare.learner_tables import DESIGNS, TESTED, of_data_set
from harness.compare.learner_tests import TESTS
from harness.compare.report_parts import Figures, pick, read_table
from harness.compare.trials import ERROR
from harness.compare.wine_tables import ERROR_RATES, is_wine_report
from harness.drawing.style import NOMINAL_LINE, PAPER_LOOKS, nominal_handle
from harness.seeding import rng

if TYPE_CHECKING:
    from pandas import DataFrame

RANKS = "tables/ranks.csv"
MEAN: dict[str, Any] = {
    "marker": "D", "linestyle": "none", "color": "white", "markeredgecolor": "0.1", "markersize": 4,
    "markeredgewidth": 0.9,
}  # fmt: skip
PUBLISHED: dict[str, Any] = {"marker": "x", "linestyle": "none", "color": "#d0103a", "markersize": 6}


def describe(facts: Mapping[str, Any]) -> list[str]:
    """Return what was run, a sentence each, of what ``provenance.json`` holds."""
    data = data_facts(facts)
    sizes = ", ".join(
        f"{one['n_train']} samples to train and {one['n_test']} to test on"
        + (f" ({one['name']})" if len(data) > 1 else "")
        for one in data
    )
    return [
        *(_describe_data(one) for one in data),
        f"Estimators: {', '.join(facts['estimators'])}.",
        f"{facts['n_seeds']} seeds (from seed {facts['seed']}); each draws one hold-out, {sizes}, and five "
        "halvings, all stratified by class.",
        f"Scorer {facts['scorer']}; level {facts['alpha']:g}, two-sided.",
        "All differences are A minus B, A the first estimator of the pair.",
    ]


def data_facts(facts: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return what ``provenance.json`` says of each data set; older ones hold a single one, not a list."""
    return [facts["data"]] if isinstance(facts["data"], Mapping) else list(facts["data"])


def _describe_data(data: Mapping[str, Any]) -> str:
    classes = ", ".join(f"{name} ({n})" for name, n in data["classes"].items())
    return (
        f"Data {data['name']}: {data['n_samples']} samples, {data['n_features']} features, classes {classes}."
    )


def figures(out: Path, facts: Mapping[str, Any], width: float) -> Figures:
    """Return the figures of a finished comparison: scores and rejections by data set, and ranks."""
    trials, rejections = read_table(out / "trials.csv"), read_table(out / "rejections.csv")
    data, scorer = data_facts(facts), facts["scorer"]
    published = ERROR_RATES if is_wine_report([one["name"] for one in data], scorer) else {}
    made: dict[str, tuple[Callable[[str], Any], str]] = {}
    for one in data:
        end = "" if len(data) == 1 else f"_{file_stem(one['name'])}"
        about = " ".join(describe({**facts, "data": [one]}))
        own, shares = of_data_set(trials, one["name"]), of_data_set(rejections, one["name"])
        made[f"figure_scores{end}"] = (
            partial(_draw_scores, own, scorer, published, width),
            f"{_score_words(scorer)} of each estimator over {own['seed'].nunique()} seeds, on the hold-out "
            "and as the mean of the ten halves of 5x2cv. Every dot is a seed (moved sideways at random "
            "within its box's width); box: quartiles and median, whiskers: 5 and 95 %, diamond: mean. On a "
            "hold-out of few samples only few values are possible, and dots lie in rows. "
            + "Red cross: the value that the report on these data printed. " * bool(published)
            + about,
        )
        made[f"figure_rejections{end}"] = (
            partial(_draw_rejections, shares, facts["alpha"], width),
            f"Share of the seeds on which each test rejects at the {facts['alpha']:g} level, two-sided, "
            "per pair, with its Clopper-Pearson interval of 95 %. Whether the two differ in truth is not "
            "known: the share is neither a size nor a power, but how much the verdict on these data hangs on "
            f"the seed. {about}",
        )
    if (out / RANKS).is_file():
        ranks = read_table(out / RANKS)
        _, caption = critical_difference_figure(ranks, width=width)
        made["figure_critical_difference"] = (
            lambda _: critical_difference_figure(ranks, width=width)[0],
            " ".join([caption, *describe(facts)]),
        )
    return made


def _score_words(scorer: str) -> str:
    return "Error rate" if scorer == ERROR else f"Score ({scorer})"


def _draw_scores(
    trials: DataFrame, scorer: str, published: Mapping[str, Sequence[float]], width: float, caption: str
) -> Any:
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    names = list(dict.fromkeys(trials["estimator"]))
    figure = Figure(figsize=(width, 0.55 * width), layout="constrained")
    axes = figure.subplots(1, len(DESIGNS), sharey=True)
    for column, (panel, (design, label)) in enumerate(zip(axes, DESIGNS.items(), strict=True)):
        for place, name in enumerate(names):
            _draw_box(panel, place, pick(trials, estimator=name)[design].dropna().to_numpy(), (design, name))
            if name in published:
                panel.plot(place, published[name][column], zorder=5, **PUBLISHED)
        panel.set_title(label)
        panel.set_xticks(range(len(names)), [name.replace("_", "\n") for name in names])
        panel.set_xlim(-0.6, len(names) - 0.4)
        panel.grid(axis="y", color="0.9", linewidth=0.5)
        panel.set_axisbelow(True)
    axes[0].set_ylabel(_score_words(scorer))
    if scorer == ERROR:
        axes[0].set_ylim(bottom=-0.004)
    handles = [Line2D([], [], label="mean", **MEAN)]
    if set(published) & set(names):
        handles.append(Line2D([], [], label="published", **PUBLISHED))
    figure.legend(handles=handles, loc="outside upper right", ncols=2, frameon=False)
    return figure


def _draw_box(panel: Any, place: int, values: np.ndarray, names: tuple[str, str]) -> None:
    if not len(values):
        panel.text(place, 0.5, "no score", transform=panel.get_xaxis_transform(), ha="center", rotation=90)
        return
    sideways = rng(0, "figure_scores", *names).uniform(-0.25, 0.25, len(values))
    color = PAPER_LOOKS[place % len(PAPER_LOOKS)].color
    panel.plot(place + sideways, values, ".", color=color, markersize=3.5, alpha=0.45, markeredgewidth=0)
    thin: Any = {"color": "0.1", "linewidth": 0.9}
    panel.boxplot(
        values, positions=[place], widths=0.6, whis=(5, 95), showfliers=False, manage_ticks=False,
        boxprops=thin, whiskerprops=thin, capprops=thin, medianprops=thin | {"linewidth": 1.6},
    )  # fmt: skip
    panel.plot(place, values.mean(), **MEAN)


def _draw_rejections(rejections: DataFrame, alpha: float, width: float, caption: str) -> Any:
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    pairs = list(dict.fromkeys(zip(rejections["a"], rejections["b"], strict=True)))
    figure = Figure(figsize=(width, 0.8 + 0.55 * len(pairs)), layout="constrained")
    panel = figure.subplots()
    handles = []
    for slot, (test, look) in enumerate(zip(TESTED, PAPER_LOOKS, strict=True)):
        part = pick(rejections, test=test).dropna(subset="rate")
        places = [pairs.index(pair) for pair in zip(part["a"], part["b"], strict=True)]
        heights = np.array(places) + 0.18 * (slot - (len(TESTED) - 1) / 2)
        bars = np.abs(part[["low", "high"]].to_numpy() - part[["rate"]].to_numpy()).T
        style: Any = {"color": look.color, "marker": look.marker, "linestyle": "none", "markersize": 4}
        panel.errorbar(part["rate"], heights, xerr=bars, elinewidth=1, capsize=2, **style)
        handles.append(Line2D([], [], label=TESTS[test].label, **style))
    panel.set_yticks(range(len(pairs)), [f"{a} – {b}".replace("_", " ") for a, b in pairs])
    panel.set_ylim(len(pairs) - 0.45, -0.55)
    highest = rejections["high"].max()
    right = 1.01 if not highest < 0.85 else max(0.25, 1.15 * highest)
    panel.set_xlim(-0.01 * right, right)
    panel.set_xlabel("share of seeds that reject")
    panel.axvline(alpha, color="0.35", linewidth=0.8, linestyle=NOMINAL_LINE, zorder=0)
    panel.hlines(np.arange(len(pairs) - 1) + 0.5, -0.01 * right, right, color="0.9", linewidth=0.5, zorder=0)
    figure.legend(handles=[*handles, nominal_handle(alpha)], loc="outside upper center", ncols=5)
    return figure
