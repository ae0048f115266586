"""Tables, figures and summary of ``study=training_sets``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.compare.figure_algorithm_rates import FLOOR, curve_figure
from harness.compare.learner_tests import TESTS
from harness.compare.report_parts import (
    BARS,
    TABLE,
    draw,
    main_alpha,
    read_table,
    wide_table,
    write_summary,
)
from harness.results.captions import sentence
from harness.writing.table_text import write_tables

if TYPE_CHECKING:
    from pandas import DataFrame

NULLS = (
    "Two nulls hold exactly, for every training size, because A and B can change places. Two views: each "
    "term of a document is in one of two views (drawn once), a coin for each document of a data set says "
    "which view A reads, B reads the other, and both train the same learner; their errors differ by "
    "document, as those of two real algorithms do. Own bootstrap samples: both read whole documents, and "
    "whenever they are trained each trains on its own bootstrap sample of the training set; given the data "
    "set the differences then are independent with mean 0, which flatters tests that take splits as "
    "independent."
)
ALTERNATIVE = (
    "Alternatives: two views, and B may read only a share of the terms (drawn once). The true difference is "
    "the mean, over the data sets, of the difference of the two trained classifiers' error rates on "
    "documents kept for it, measured for each design's own training size."
)
CONDITIONAL = (
    "Conditional on: the documents of the corpus from which data sets are drawn (without replacement within "
    "a data set), the topic, the dictionary and idf (of the whole corpus), the terms dealt to the views, and "
    "the terms that B may read. Random in each trial: the data set, the coins, the splits, the "
    "bootstrap samples."
)


def write_report(
    out: Path,
    table: DataFrame,
    truth: DataFrame,
    facts: Mapping[str, Any],
    setting: Mapping[str, Any],
    figure: Mapping[str, Any],
) -> list[str]:
    """Write ``tables/``, ``figures/`` and ``summary.md``; return what the command says at its end."""
    alpha = main_alpha(list(dict.fromkeys(table["alpha"])))
    level = table[table["alpha"] == alpha]
    parts = []
    for name in dict.fromkeys(level["setting"]):
        rows = level[level["setting"] == name]
        word = "Type I errors" if rows["kind"].iloc[0] == "size" else "Power"
        parts.append((f"{word} at level {alpha:g}; {name}", wide_table(rows, "n_examples", "{} examples")))
    parts.append(("True differences of the error rates, A minus B", _truth_table(truth)))
    write_tables(out / "tables", "algorithm_size_power", parts)
    about = _about(facts, setting)
    draw_figures(out, facts, setting, **figure)
    lines = findings(level, truth, alpha)
    write_summary(
        out,
        "Size and power of tests of learning algorithms: training sets drawn from a corpus",
        found=lines,
        about=[about, NULLS, ALTERNATIVE, CONDITIONAL, *facts["corpus"]["notes"]],
        warnings=facts["warnings"],
        tables=parts,
    )
    return lines


def draw_figures(
    out: Path,
    facts: Mapping[str, Any],
    setting: Mapping[str, Any],
    *,
    formats: Sequence[str],
    dpi: float,
    width: float,
) -> list[Path]:
    """Draw every figure from the table in `out`, and write the captions.

    Parameters
    ----------
    out : Path
    facts : mapping
        What ``provenance.json`` holds.
    setting : mapping
        The study's own part of the configuration.
    formats, dpi, width
        As :func:`harness.drawing.style.save_figure` has them; inches.
    """
    table = read_table(out / TABLE)
    alpha = main_alpha(list(dict.fromkeys(table["alpha"])))
    figures = _figures(table[table["alpha"] == alpha], _about(facts, setting), facts, alpha, float(width))
    return draw(out, figures, formats, dpi)


def _about(facts: Mapping[str, Any], setting: Mapping[str, Any]) -> str:
    corpus = facts["corpus"]
    return (
        f"Corpus {corpus['name']}: {corpus['n_documents']:,} documents, {corpus['n_terms']:,} terms; the "
        f"label is topic {facts['topic']} ({100 * facts['prevalence']:.1f} % of the documents). Learner: "
        f"{setting['learner'].replace('_', ' ')}. {facts['n_truth']:,} documents measure the truth. "
        f"{setting['n_resamples']} random splits, {setting['n_folds']} folds, five halvings; the hold-out is "
        "the first random split's."
    )


def _truth_table(truth: DataFrame) -> DataFrame:
    words = {"resample": "a random split", "fold": "all folds but one", "half": "a half"}
    shown = truth.assign(
        trained_on=truth["trained_on"].map(words),
        difference=[
            f"{d:+.4f} ± {1.96 * e:.4f}"
            for d, e in zip(truth["difference"], truth["difference_se"], strict=True)
        ],
    )
    names = {"n_examples": "examples", "trained_on": "trained on", "n_train": "documents trained on"}
    columns = ["setting", "n_examples", "trained_on", "n_train", "difference"]
    return shown[columns].rename(columns=names)


def findings(level: DataFrame, truth: DataFrame, alpha: float) -> list[str]:
    """Return in sentences which tests hold their level under each null, and how power grows."""
    lines = []
    for name in dict.fromkeys(level["setting"]):
        rows = level[level["setting"] == name]
        size = rows["kind"].iloc[0] == "size"
        spans = []
        for test in dict.fromkeys(rows["test"]):
            own = rows[rows["test"] == test].sort_values("n_examples", kind="stable")
            text = f"{TESTS[test].label} {_span(own['rate'])}"
            if size:
                text += f" ({', '.join(dict.fromkeys(own['verdict']))})"
            spans.append(text)
        smallest, largest = rows["n_examples"].min(), rows["n_examples"].max()
        head = "Type I errors" if size else "power"
        lines.append(f"{name}, {head} at {alpha:g}, {smallest} to {largest} examples: {'; '.join(spans)}.")
    null = truth[truth["setting"].str.startswith("null")]
    if len(null) and null["difference_se"].notna().all():
        scores = (null["difference"] / null["difference_se"].where(null["difference_se"] > 0, np.inf)).abs()
        lines.append(
            f"The nulls' true differences, measured, lie within {scores.max():.1f} standard errors of 0 "
            f"({len(null)} of them)."
        )
    worst = level.sort_values("degenerate_share", kind="stable").iloc[-1]
    lines.append(
        "Data sets on which a test has no verdict of its own (counted as not rejected): at most "
        f"{100 * worst['degenerate_share']:.2g} % of a point's ({TESTS[worst['test']].label}, "
        f"{worst['n_examples']} examples, {worst['setting']})."
    )
    return lines


def _span(rates: Any) -> str:
    low, high = f"{rates.min():.3f}", f"{rates.max():.3f}"
    return low if low == high else f"{low} to {high}"


def _figures(
    level: DataFrame, about: str, facts: Mapping[str, Any], alpha: float, width: float
) -> dict[str, tuple[Any, str]]:
    trials = f"{int(level['n_trials'].min()):,} data sets a point. {BARS}"
    notes = " ".join(sentence(note) for note in (*facts["corpus"]["notes"], *facts["warnings"]))
    heads = {
        "size": (
            "type_i_errors",
            f"Type I errors at level {alpha:g} against the number of examples of a data set, where A and B "
            f"are the same learner. {NULLS} Rates below {FLOOR:g} are drawn there.",
        ),
        "power": (
            "power",
            f"Power at level {alpha:g} against the number of examples of a data set: rejections in which A "
            f"showed fewer errors. {ALTERNATIVE} A test whose Type I error is above "
            "the level gains nothing by its power.",
        ),
    }
    made: dict[str, tuple[Any, str]] = {}
    for kind, (stem, head) in heads.items():
        rows = level[level["kind"] == kind]
        if rows.empty:
            continue
        caption = " ".join([head, trials, about, CONDITIONAL, notes]).strip()

        def make(rows: DataFrame = rows, caption: str = caption, kind: str = kind) -> Any:
            """Draw the figure."""
            return curve_figure(
                rows, list(dict.fromkeys(rows["setting"])), caption, width,
                x=lambda points: points["n_examples"].to_numpy(float), x_label="examples in a data set",
                x_scale="log", kind=kind, alpha=alpha,
            )  # fmt: skip

        made[stem] = make, caption
    return made
