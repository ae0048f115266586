"""``summary.md`` of a comparison of estimators, and its findings in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.compare.verdicts import TESTS
from harness.results.captions import sentence
from harness.significance.mcnemar import mcnemar
from harness.writing.table_text import escape_markdown, to_markdown

if TYPE_CHECKING:
    from pandas import DataFrame

SHOWN_FAILURES = 20
HOW_TO_READ = (
    "Every seed cuts the same samples anew: intervals over the seeds say how sure a mean or a share is for "
    "these samples, not for other data of the same kind.",
    "Whether two estimators differ in truth is not known: a share of seeds that reject is neither a size nor "
    "a power. A share well between 0 and 1 says that one study's verdict hangs on its seed.",
    "McNemar's test judges the two trained classifiers on one hold-out; the 5x2cv tests judge the "
    "algorithms, trained on half of the samples. Both are two-sided.",
    "Cohen's d is the mean difference over its standard deviation over the seeds; it does not grow with the "
    "number of seeds, as a test's statistic does.",
    "The seeds share their samples: a t test that takes them for independent rejects true hypotheses far too "
    "often (more than half of them for 30 resamples at the 5 % level). The table of seeds has the corrected "
    "resampled t test, which allows for it.",
    "Holm's adjustment is over the pairs of one seed and test.",
    "To report the best of many seeds is to report luck: the tables give means and quantiles.",
)


def fewest_discordant(alpha: float, variant: str) -> int:
    """Return how many discordant samples, all on one side, McNemar's test needs to reject.

    Examples
    --------
    >>> fewest_discordant(0.05, "corrected"), fewest_discordant(0.05, "exact")
    (6, 6)
    """
    m = np.arange(1, 2000)
    counts = np.zeros((len(m), 8), dtype=np.int64)
    counts[:, 1] = m
    return int(m[np.argmax(mcnemar(counts, variant).pvalue <= alpha)])


def findings(rejections: DataFrame, verdicts: DataFrame, alpha: float) -> list[str]:
    """Return what was found, one sentence a pair and one on what the hold-out can show."""
    found = []
    for (a, b), part in rejections.groupby(["a", "b"], sort=False):
        shares = [
            f"{TESTS[row['test']][0]} {_percent(row['rate'])} {_percents(row['low'], row['high'])}"
            for row in part.to_dict("records")
            if row["n_seeds"] > row["n_missing"]
        ]
        if not shares:
            found.append(f"{a} - {b}: no verdict, every seed failed")
            continue
        found.append(f"{a} - {b}: seeds that reject: {', '.join(shares)}; {_words(part)}")
    few = fewest_discordant(alpha, "corrected")
    cells = verdicts[(verdicts["test"] == "mcnemar") & verdicts["pvalue"].notna()]
    if len(cells):
        m = (cells["only_a_wrong"] + cells["only_b_wrong"]).astype(int)
        found.append(
            f"McNemar's corrected test needs {few} discordant samples to reject; "
            f"{_percent((m >= few).mean())} of the hold-outs (all pairs and seeds) have as many, and "
            f"{_percent((m == 0).mean())} have none; the median is {m.median():g}"
        )
    return found


def _words(part: DataFrame) -> str:
    """Return a verdict on one pair from the combined F test, the best of the four at keeping its level."""
    row = part[part["test"] == "five_by_two_f"].iloc[0]
    if row["n_seeds"] == row["n_missing"]:
        return "5x2cv gave no verdict"
    for holds, words in (
        (row["low"] > 0.9, "nearly every seed shows a difference"),
        (row["high"] < 0.1, "hardly any seed shows a difference"),
        (row["low"] > 0.5, "most seeds show a difference, not all"),
        (row["high"] < 0.5, "most seeds show none, not all"),
        (row["high"] - row["low"] > 0.4, "too few seeds to tell how much the verdict hangs on them"),
    ):
        if holds:
            return f"{words} (5x2cv F)"
    return "the verdict hangs on the seed (5x2cv F)"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _percents(low: float, high: float) -> str:
    return f"[{100 * low:.1f}, {100 * high:.1f}]"


def write_summary(
    about: Sequence[str],
    found: Sequence[str],
    tables: Sequence[tuple[str, DataFrame]],
    failures: DataFrame,
    warnings: Sequence[str],
    published: Sequence[str],
    files: Sequence[str],
) -> str:
    """Return the text of ``summary.md``.

    Parameters
    ----------
    about : sequence of str
        What was run.
    found : sequence of str
        Findings in words.
    tables : sequence of (caption, table)
    failures : DataFrame
        A row for each fit that failed.
    warnings : sequence of str
    published : sequence of str
        What is to be said of published values; may be empty.
    files : sequence of str
        What to look at, one line each.
    """
    parts = ["# Comparison of learning algorithms", ""]
    parts += _section("What was run", _bullets(about))
    parts += _section("Findings", _bullets(found))
    parts += _section("Warnings", _bullets(warnings or ["None."]))
    parts.append("## Tables\n")
    for caption, table in tables:
        parts += [f"{escape_markdown(caption)}\n", to_markdown(table)]
    parts += _failures(failures)
    if published:
        parts += _section("Published values that cannot be", _bullets(published))
    parts += _section("How to read the numbers", _bullets(HOW_TO_READ))
    parts += _section("Files", _bullets(files))
    return "\n".join(parts)


def _failures(failures: DataFrame) -> list[str]:
    if failures.empty:
        return _section("Failures", ["None: every fit was trained and scored."])
    keys = [key for key in ("data", "estimator", "reason") if key in failures]
    counted = failures.groupby(keys, sort=False).size().reset_index(name="fits")
    lines = [
        f"{len(failures)} fits failed; their seeds have no verdict where they were needed. All are in "
        "failures.csv.\n",
        to_markdown(counted.head(SHOWN_FAILURES)),
    ]
    return _section("Failures", lines)


def _section(heading: str, lines: Sequence[str]) -> list[str]:
    return [f"## {heading}\n", *lines, ""]


def _bullets(lines: Sequence[str]) -> list[str]:
    return [f"- {escape_markdown(sentence(line))}" for line in lines]


def count_warnings(warned: Mapping[str, Sequence[tuple[int, str, str]]]) -> list[str]:
    """Return one sentence for each estimator and text of a warning, with the number of fits.

    Examples
    --------
    >>> count_warnings({"svm": [(0, "hold-out", "did not converge"), (1, "hold-out", "did not converge")]})
    ['svm: 2 fits warned: did not converge']
    """
    counted: dict[tuple[str, str], int] = {}
    for name, rows in warned.items():
        for _, _, text in rows:
            counted[name, text] = counted.get((name, text), 0) + 1
    return [f"{name}: {n} fits warned: {text}" for (name, text), n in counted.items()]


def data_facts(facts: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return what ``provenance.json`` says of each data set; older ones hold a single one, not a list."""
    return [facts["data"]] if isinstance(facts["data"], Mapping) else list(facts["data"])


def describe(facts: Mapping[str, Any]) -> list[str]:
    """Return what was run, a sentence each.

    Parameters
    ----------
    facts : mapping
        `data`, `estimators`, `n_seeds`, `seed`, `scorer` and `alpha`, as ``provenance.json`` holds them.
    """
    data = data_facts(facts)
    sizes = ", ".join(
        f"{one['n_train']} samples to train and {one['n_test']} to test on"
        + (f" ({one['name']})" if len(data) > 1 else "")
        for one in data
    )
    return [
        *(_describe_data(one) for one in data),
        f"Estimators: {', '.join(facts['estimators'])}",
        f"{facts['n_seeds']} seeds (from seed {facts['seed']}); each draws one hold-out, {sizes}, and five "
        "halvings, all stratified by class",
        f"Scorer {facts['scorer']}; level {facts['alpha']:g}, two-sided",
        "All differences are A minus B, A the first estimator of the pair",
    ]


def _describe_data(data: Mapping[str, Any]) -> str:
    classes = ", ".join(f"{name} ({n})" for name, n in data["classes"].items())
    return (
        f"Data {data['name']}: {data['n_samples']} samples, {data['n_features']} features, classes {classes}"
    )
