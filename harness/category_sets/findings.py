"""What a finished run of category sets says, in sentences, from its tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from harness.category_sets.expected import as_z, chi_squared, disjoint_variance, selection_effect
from harness.category_sets.table3 import PUBLISHED
from harness.category_sets.variants import METHODS, Variant, quantity_words, records

if TYPE_CHECKING:
    from pandas import DataFrame

PRINTED_REPLICATES, PRINTED_SUBSETS = 10_000, 1000


def main_row_of(table: DataFrame) -> DataFrame:
    """Return the rows that stand beside the published ones: the table's first variant."""
    first = table.iloc[0]
    chosen = table["measure"] == first["measure"]
    chosen &= (table["average"] == first["average"]) & (table["method"] == first["method"])
    rows: DataFrame = table[chosen]
    return rows


def table_sentences(table: DataFrame) -> list[str]:
    """Return what Table 3 says, what it cannot say, and how its resamples overlap."""
    rows = main_row_of(table)
    first = rows.iloc[0]
    n_te, n_true = int(first["n_te"]), int(first["n_true"])
    variant = Variant(first["measure"], first["average"], first["method"])
    listed = "; ".join(
        f"{row.set} {100 * row.confidence_te:.1f} / {100 * row.share_true:.1f} %" for row in records(rows)
    )
    printed = "; ".join(
        f"{name} {100 * te:.1f} / {100 * true:.1f} %" for name, (te, true) in PUBLISHED.items()
    )
    spread = disjoint_variance(n_te, n_true)
    total, pvalue = chi_squared(rows["z_difference"].tolist(), spread)
    old = [as_z(te, PRINTED_REPLICATES) - as_z(true, PRINTED_SUBSETS) for te, true in PUBLISHED.values()]
    old_total, old_pvalue = chi_squared(old)
    winners = np.where(rows["z_te"] < 0, -1, 1)
    signed = float((winners * rows["z_difference"]).mean())
    return [
        f"{variant.words()}, confidence on D_te / share of subsets of D_true: {listed} "
        f"(published: {printed}).",
        f"The three rows: sum of (z_te - z_true)^2 / {spread:.2f} = {total:.2f}, chi2 with 3 degrees of "
        f"freedom, p = {pvalue:.2f}; of the published rows, over 1, {old_total:.2f}, p = {old_pvalue:.2f}. "
        f"{spread:.2f} = 1 + n/|D_true| is the variance of z_te - z_true that a bootstrap without bias has "
        "where D_te lies outside D_true. Three rows cannot show the bias that the paper suspects.",
        f"Signing each row by the winner on D_te gives a mean z_te - z_true of {selection_effect():+.2f} "
        f"without any bias, where z_true ~ N(0, 1); here it is {signed:+.2f}, unsigned "
        f"{float(rows['z_difference'].mean()):+.2f}.",
        f"Overlaps: two bootstrap replicates of one set share {first['overlap_bootstraps']:.4f} of its "
        f"documents ((1 - 1/e)^2), two subsets of D_true {first['overlap_subsets']:.4f} of theirs "
        "(1 - exp(-n/|D_true|)).",
    ]


def verdict_sentences(table: DataFrame) -> list[str]:
    """Return one sentence for each set and variant of the calibration, and one for the random sets."""
    named = table[table["kind"] == "disjoint"]
    sentences = []
    for row in records(named):
        variant = Variant(row.measure, row.average, row.method)
        sentences.append(f"{row.set}, {variant.words()}: {_verdict(row)}.")
    return sentences + random_sentences(table)


def random_sentences(table: DataFrame) -> list[str]:
    """Return how many random sets show a bias, and the mean over those with |z_true| <= 3."""
    sentences = []
    others = table[table["kind"] == "random"]
    for (measure, average, method), rows in others.groupby(["measure", "average", "method"], sort=False):
        near = rows[rows["verdict"] != "apart"]
        text = (
            f"{len(rows)} random sets, {quantity_words(str(measure), str(average))}, {METHODS[str(method)]}: "
        )
        if near.empty:
            sentences.append(text + "all have |z_true| > 3 and stand apart.")
            continue
        fair = int((near["verdict"] == "no bias").sum())
        sentences.append(
            text
            + f"no bias on {fair} of the {len(near)} with |z_true| <= 3 (mean {near['mean'].mean():+.2f}, "
            f"variance {near['variance'].mean():.2f} on average, from {near['variance'].min():.2f} to "
            f"{near['variance'].max():.2f}); {len(rows) - len(near)} stand apart."
        )
    return sentences


def overall_verdict(table: DataFrame) -> str:
    """Return the answer to "is the bootstrap biased?" in one sentence."""
    named = table[(table["kind"] == "disjoint") & (table["method"] == "document")]
    parts = []
    for (measure, average), rows in named.groupby(["measure", "average"], sort=False):
        words = rows["verdict"]
        near = rows[words != "apart"]
        counted = f"no bias on {int((words == 'no bias').sum())} of {len(near)} sets"
        if near.empty:
            counted = "cannot tell"
        apart = len(rows) - len(near)
        parts.append(
            f"{quantity_words(str(measure), str(average))} {counted}" + (f" ({apart} apart)" if apart else "")
        )
    return f"Is the bootstrap by document biased? {'; '.join(parts)}."


def _verdict(row: Any) -> str:
    """Return verdict and numbers of one row."""
    numbers = (
        f"mean {row.mean:+.2f} [{row.mean_low:+.2f}, {row.mean_high:+.2f}], variance {row.variance:.2f} "
        f"[{row.variance_low:.2f}, {row.variance_high:.2f}], z_true {row.z_true:+.2f}, 95 % interval covers "
        f"{100 * row.coverage:.1f} %"
    )
    if row.verdict == "apart":
        return (
            f"apart, |z_true| > 3 ({numbers}; error in units of sd*: mean {row.error_mean:+.2f}, variance "
            f"{row.error_variance:.2f})"
        )
    too = ""
    if row.verdict == "biased":
        too = _direction(row)
    settled = "" if row.settled else ", not settled by the error bars"
    return f"{row.verdict}{too}{settled} ({numbers})"


def _direction(row: Any) -> str:
    """Say what is wrong with a biased confidence."""
    if row.variance > 1.25:
        return ": sd* is too small, over-confident"
    if row.variance < 0.8:
        return ": sd* is too large, under-confident"
    return f": leans to {'A' if row.mean > 0 else 'B'}"
