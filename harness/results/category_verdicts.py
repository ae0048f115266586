"""What the sizes of a test over categories say where H0 holds exactly: a verdict and its words.

Verdict words belong to the distribution over categories. A mean over categories has words of its own, for it
may cover dead, liberal and conservative categories at once.
"""

from pathlib import Path
from typing import Any

import numpy as np
from pandas import DataFrame

from harness.evaluation.null_tables import LEAST_SETS
from harness.evaluation.rates import POINT, verdict
from harness.results.names import FEW_CATEGORIES, KNOWN, read_table
from harness.results.truth_scores import CANNOT_TELL
from harness.writing.prose import paragraph

SINGLE = ("holds", "liberal", "conservative", "undecided")  # verdicts on one category
DISTRIBUTION: list[str] = KNOWN["columns"]["distribution"]
FALSE_LIBERAL = 0.025
"""At most this often is a test called liberal by chance at one point: Holm at .05, two-sided p-values."""
OF_MEANS: dict[str, str] = KNOWN["means"]


def with_distribution(table: DataFrame, path: Path) -> DataFrame:
    """Return ``size_power.csv`` with the columns :data:`DISTRIBUTION` of ``size_by_category.csv``.

    They are missing for power, under rules, and where there is no file at `path`.
    """
    if not path.is_file():
        return table
    numbers = [name for name in DISTRIBUTION if name != "worst_category"]
    sizes = read_table(path, (*POINT, *DISTRIBUTION), numbers)[[*POINT, *DISTRIBUTION]]
    sizes = sizes.drop_duplicates(list(POINT)).assign(kind="size")
    return table.merge(sizes, how="left", on=[*POINT, "kind"])


def category_verdict(point: Any) -> str:
    """Return the verdict by category on a test at one point.

    Returns
    -------
    {"holds", "conservative", "undecided", "liberal", "cannot tell"}
        *liberal* where some live category is liberal after Holm; else by the median over the live categories:
        *holds* within [.8, 1.2] alpha, *conservative* below, *undecided* above. *cannot tell* below five live
        categories, and where the columns are missing, as they are below 2,000 sets a category.

    Examples
    --------
    >>> point = {"n_live": 9, "median": 0.05, "alpha": 0.05, "n_liberal_holm": 0}
    >>> category_verdict(point), category_verdict(point | {"n_liberal_holm": 1})
    ('holds', 'liberal')
    """
    if not _measured(point) or point["n_live"] < FEW_CATEGORIES:
        return CANNOT_TELL
    if point["n_liberal_holm"] > 0:
        return "liberal"
    word = verdict(point["median"], point["median"], point["alpha"])
    return "undecided" if word == "liberal" else word


def _measured(point: Any) -> bool:
    return bool(point.get("median", np.nan) == point.get("median", np.nan))


def why_unknown(point: Any) -> str:
    """Return why a point's verdict is *cannot tell*."""
    return paragraph("results", "why_unknown", point=point, few=FEW_CATEGORIES, least_sets=LEAST_SETS)


def distribution_words(point: Any) -> str:
    """Return how a test fares over the live categories, such as a caption or a finding needs.

    Examples
    --------
    >>> point = {"n_live": 89, "median": 0.05, "n_holds": 84, "n_liberal": 5, "n_conservative": 0,
    ...          "n_undecided": 0, "n_liberal_holm": 2, "worst": 0.144, "worst_again": 0.141,
    ...          "worst_category": "C31"}
    >>> distribution_words(point)
    'holds in 84 of 89 live categories, liberal in 5 (2 after Holm), worst 0.144 in C31 (0.141 on new sets)'
    """
    return paragraph("results", "distribution", point=point)


def distribution_cells(point: Any) -> dict[str, str]:
    """Return the cells that show a point's distribution over categories; empty where not measured."""
    counts, live = f"{int(point['n_categories'])}", point.get("n_live", np.nan)
    cells = {
        "by category": category_verdict(point),
        "live / categories": f"{int(live)} / {counts}" if live == live else counts,
        "sets": f"{int(point['n_sets'])}",
        **dict.fromkeys(("median", "10-90 %", "worst", "H / L / C / ?", "L after Holm"), ""),
    }
    if _measured(point):
        singles = " / ".join(str(int(point[f"n_{word}"])) for word in SINGLE)
        cells |= {"median": f"{point['median']:.3f}", "10-90 %": f"{point['q10']:.3f} to {point['q90']:.3f}"}
        cells |= {"worst": paragraph("results", "worst", point=point), "H / L / C / ?": singles}
        cells |= {"L after Holm": str(int(point["n_liberal_holm"]))}
    return cells


def mean_words(word: str) -> str:
    """Return what a verdict on a mean over categories says: where the mean lies, and no more.

    Examples
    --------
    >>> mean_words("liberal"), mean_words("undecided")
    ('above 1.2 alpha', 'undecided')
    """
    return OF_MEANS.get(word, word)
