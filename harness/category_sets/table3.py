"""Table 3 of IDIAP-RR 04-34: the confidence that D_te gives, against the share of subsets of D_true."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from pandas import DataFrame, concat
from scipy import special

from harness.category_sets.expected import as_z, bootstrap_overlap, subset_overlap
from harness.category_sets.ratios import measure
from harness.category_sets.variants import DCF_VARIANCES, SetPopulation, Variant, dcf_statistic, replicate
from harness.measures import Floats
from harness.runtime.parallel import Run
from harness.runtime.store import Arrays
from harness.seeding import rng

PUBLISHED = {"X": (0.956, 0.924), "Y": (0.542, 0.691), "Z": (0.965, 0.825)}
"""Confidence on D_te and share of subsets of D_true, as printed: micro F1 in our reading."""

Pair = tuple[SetPopulation, SetPopulation]


def resample_sets(
    populations: Mapping[str, Pair], *, n_replicates: int, n_subsets: int, seed: int, run: Run
) -> dict[tuple[str, str], Arrays]:
    """Draw the bootstrap replicates of D_te and the subsets of D_true, both as large as D_te.

    Returns what :func:`harness.category_sets.variants.replicate` does, for each (set, "te" or "true").
    """
    draws = {"te": n_replicates, "true": n_subsets}
    units = [(name, source, draws[source], seed) for name in populations for source in draws]
    told = [f"{name} {source}" for name, source, *_ in units]
    found = run(_resample, units, told, shared=lambda: populations, description="Table 3")
    return {(name, source): arrays for (name, source, *_), arrays in zip(units, found, strict=True)}


def _resample(populations: Mapping[str, Pair], name: str, source: str, n_draws: int, seed: int) -> Arrays:
    """Resample one population of one set."""
    test, true = populations[name]
    n_documents = int(test.frequencies.sum())
    generator = rng(seed, "category set", name, source)
    return dict(replicate(test if source == "te" else true, n_documents, n_draws, rng=generator))


def tabulate(
    populations: Mapping[str, Pair],
    resampled: Mapping[tuple[str, str], Arrays],
    variants: Sequence[Variant],
    costs: Mapping[str, float],
) -> DataFrame:
    """Return ``table3.csv``: a row for each set and variant.

    Confidence and share are those of A minus B being above 0; a tie counts for neither side. As z they are
    cut where fewer than half a resample would lie beyond.
    """
    rows = [
        _row(name, pair, variant, resampled, costs)
        for variant in variants
        for name, pair in populations.items()
    ]
    return DataFrame(rows)


def _row(
    name: str,
    pair: Pair,
    variant: Variant,
    resampled: Mapping[tuple[str, str], Arrays],
    costs: Mapping[str, float],
) -> dict[str, Any]:
    test, true = pair
    drawn = f"{variant.quantity} {'event' if variant.method == 'event' else 'document'}"
    subsets, replicates = resampled[name, "true"][drawn], resampled[name, "te"][drawn]
    share, confidence = float(np.mean(subsets > 0)), float(np.mean(replicates > 0))
    z_true, z_te = as_z(share, len(subsets)), as_z(confidence, len(replicates))
    if variant.method in DCF_VARIANCES:
        z_te = dcf_statistic(test, costs, variant)
        confidence = float(special.ndtr(z_te))
        replicates = np.full(1, np.nan)
    n_te, n_true = int(test.frequencies.sum()), int(true.frequencies.sum())
    published = PUBLISHED.get(name) if variant == ("f1", "micro", "document") else None
    published_te, published_true = published or (np.nan, np.nan)
    return {
        "set": name, **variant._asdict(), "n_categories": test.n_categories,
        "confidence_te": confidence, "share_true": share,
        "z_te": z_te, "z_true": z_true, "z_difference": z_te - z_true,
        "d_te": float(measure(test.ratios[variant.quantity], test.frequencies)),
        "d_true": float(measure(true.ratios[variant.quantity], true.frequencies)),
        **_spread(replicates, "te"), **_spread(subsets, "true"),
        "n_replicates": len(replicates) if len(replicates) > 1 else np.nan, "n_subsets": len(subsets),
        "n_te": n_te, "n_true": n_true,
        "overlap_bootstraps": bootstrap_overlap(), "overlap_subsets": subset_overlap(n_te, n_true),
        "published_te": published_te, "published_true": published_true,
    }  # fmt: skip


def _spread(differences: Floats, source: str) -> dict[str, float]:
    """Return standard deviation, 95 % percentile interval and share of ties."""
    known = len(differences) > 1
    low, high = np.quantile(differences, [0.025, 0.975])
    return {
        f"sd_{source}": float(differences.std(ddof=1)) if known else np.nan,
        f"low_{source}": float(low),
        f"high_{source}": float(high),
        f"ties_{source}": float(np.mean(differences == 0)) if known else np.nan,
    }


def tabulate_histograms(
    resampled: Mapping[tuple[str, str], Arrays], variants: Sequence[Variant], n_bins: int = 50
) -> DataFrame:
    """Return ``histograms.csv``: the distributions from which the table's shares come, as shares of bins.

    For a set and variant both sources have the same bins.
    """
    tables = []
    for variant in variants:
        if variant.method not in ("document", "event"):
            continue
        for name in dict.fromkeys(name for name, _ in resampled):
            both = {source: resampled[name, source][" ".join(variant)] for source in ("te", "true")}
            edges = np.histogram_bin_edges(np.concatenate(list(both.values())), n_bins)
            for source, differences in both.items():
                shares = np.histogram(differences, edges)[0] / len(differences)
                table = DataFrame({"low": edges[:-1], "high": edges[1:], "share": shares})
                tables.append(table.assign(set=name, **variant._asdict(), source=source))
    order = ["set", "measure", "average", "method", "source", "low", "high", "share"]
    return concat(tables, ignore_index=True)[order] if tables else DataFrame(columns=order)
