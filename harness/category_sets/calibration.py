"""Is the bootstrap biased? Many draws of D_te from D_true, each with its confidence, against the truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from harness.category_sets.patterns import find_patterns
from harness.category_sets.ratios import measure, standard_error
from harness.category_sets.replicates import replicate
from harness.category_sets.resampling import draw_documents
from harness.category_sets.variants import Population, Variant, dcf_statistic, make_population
from harness.category_sets.verdicts import Z95, summarise
from harness.runtime.parallel import Arrays, Run
from harness.seeding import rng

if TYPE_CHECKING:
    from pandas import DataFrame

Floats = NDArray[np.float64]

DRAWS_PER_UNIT = 50


def calibrate(
    populations: Mapping[str, Population],
    variants: Sequence[Variant],
    costs: Mapping[str, float],
    *,
    n_documents: int,
    n_draws: int,
    n_replicates: int,
    n_truth_sets: int,
    seed: int,
    run: Run,
) -> DataFrame:
    """Draw sets with replacement from each population and compare ``d / sd*`` with the truth.

    Null hypothesis (no bias): over the draws ``z_te - z_true`` has mean 0 and variance 1, with z_te = d / sd*
    of the draw and z_true = d_true / sd_N of the population; differences are A minus B throughout, never
    turned towards the winner.

    Returns
    -------
    DataFrame
        Rows of ``calibration.csv``; see :func:`summarise`.
    """
    import pandas as pd

    blocks = [(start, min(start + DRAWS_PER_UNIT, n_draws)) for start in range(0, n_draws, DRAWS_PER_UNIT)]
    truths = run(
        _spread_of_truth,
        [(name, n_documents, n_truth_sets, seed) for name in populations],
        list(populations),
        shared=lambda: populations,
        description="spread on D_true",
    )
    units = [
        (name, tuple(variants), dict(costs), n_documents, n_replicates, start, stop, seed)
        for name in populations
        for start, stop in blocks
    ]
    parts = run(
        _judge_draws,
        units,
        [f"{name} {start}-{stop}" for name in populations for start, stop in blocks],
        shared=lambda: populations,
        description="calibration",
    )
    rows = []
    for place, (name, population) in enumerate(populations.items()):
        mine = parts[place * len(blocks) : (place + 1) * len(blocks)]
        judged = {key: np.concatenate([part[key] for part in mine], axis=1) for key in mine[0]}
        for number, variant in enumerate(variants):
            d_true = float(measure(population.ratios[variant.quantity], population.frequencies))
            summary = summarise(
                judged["d"][number],
                judged["sd"][number],
                judged["low"][number],
                judged["high"][number],
                d_true,
                float(truths[place][variant.quantity]),
            )
            bootstrap = variant.method in ("document", "event")
            rows.append(
                {"set": name, "kind": "disjoint", **variant._asdict(), "n_draws": n_draws}
                | {"n_replicates": n_replicates if bootstrap else np.nan, **summary}
            )
    return pd.DataFrame(rows)


def calibrate_random(
    codes: NDArray[np.uint8],
    sets: Mapping[str, NDArray[np.int64]],
    averages: Sequence[str],
    costs: Mapping[str, float],
    *,
    n_documents: int,
    n_draws: int,
    n_truth_sets: int,
    seed: int,
    run: Run,
) -> DataFrame:
    """Do the same for many random category sets, with the delta method's standard error as sd*.

    It is what the bootstrap's tends to; that the two agree is seen on the sets that have both.

    Parameters
    ----------
    codes : uint8 array, shape (n_documents, n_categories)
        Cells of all of D_true.
    """
    import pandas as pd

    variants = [Variant("f1", average, "delta") for average in averages] + [Variant("dcf", "micro", "delta")]
    units = [
        (name, members, tuple(variants), dict(costs), n_documents, n_draws, n_truth_sets, seed)
        for name, members in sets.items()
    ]
    parts = run(
        _judge_random_set, units, list(sets), shared=lambda: codes, description="random category sets"
    )
    rows = []
    for name, part in zip(sets, parts, strict=True):
        for number, variant in enumerate(variants):
            d, sd = part["d"][number], part["sd"][number]
            summary = summarise(
                d,
                sd,
                d - Z95 * sd,
                d + Z95 * sd,
                float(part["d_true"][number]),
                float(part["sd_true"][number]),
            )
            rows.append(
                {"set": name, "kind": "random", **variant._asdict(), "n_draws": n_draws}
                | {"n_replicates": np.nan, **summary}
            )
    return pd.DataFrame(rows)


def _spread_of_truth(
    populations: Mapping[str, Population], name: str, n_documents: int, n_sets: int, seed: int
) -> Arrays:
    """Return the standard deviation of every quantity over sets drawn from the population."""
    population = populations[name]
    generator = rng(seed, "category set", name, "spread on D_true")
    found = replicate(population, n_documents, n_sets, rng=generator)
    return {quantity: found[f"{quantity} document"].std(ddof=1) for quantity in population.ratios}


def _judge_draws(
    populations: Mapping[str, Population],
    name: str,
    variants: Sequence[Variant],
    costs: Mapping[str, float],
    n_documents: int,
    n_replicates: int,
    start: int,
    stop: int,
    seed: int,
) -> Arrays:
    """Judge a block of draws: d, sd* and the 95 % interval, each of shape (n_variants, n)."""
    population = populations[name]
    judged = np.empty((4, len(variants), stop - start))
    for draw in range(start, stop):
        generator = rng(seed, "category set", name, "draw", draw)
        (drawn,) = draw_documents(population.frequencies, n_documents, 1, rng=generator)
        test = population.keep(drawn[0])
        replicates = replicate(test, n_documents, n_replicates, rng=generator)
        for number, variant in enumerate(variants):
            judged[:, number, draw - start] = judge(test, variant, costs, replicates)
    return dict(zip(("d", "sd", "low", "high"), judged, strict=True))


def judge(
    test: Population, variant: Variant, costs: Mapping[str, float], replicates: Mapping[str, Floats]
) -> tuple[float, float, float, float]:
    """Return d, its standard deviation as the variant has it, and the ends of its 95 % interval."""
    ratios = test.ratios[variant.quantity]
    d = float(measure(ratios, test.frequencies))
    if variant.method in ("document", "event"):
        mine = replicates[" ".join(variant)]
        low, high = np.quantile(mine, [0.025, 0.975])
        return d, float(mine.std(ddof=1)), float(low), float(high)
    if variant.method == "delta":
        sd = float(standard_error(ratios, test.frequencies))
    else:
        z = dcf_statistic(test, costs, variant)
        sd = d / z if z != 0 else np.nan
    return d, sd, d - Z95 * sd, d + Z95 * sd


def _judge_random_set(
    codes: NDArray[np.uint8],
    name: str,
    members: NDArray[np.int64],
    variants: Sequence[Variant],
    costs: Mapping[str, float],
    n_documents: int,
    n_draws: int,
    n_truth_sets: int,
    seed: int,
) -> Arrays:
    """Judge all draws of one random set by the delta method."""
    population = make_population(find_patterns(codes[:, members]), costs)
    spread = _spread_of_truth({name: population}, name, n_documents, n_truth_sets, seed)
    generator = rng(seed, "category set", name, "draws")
    d: list[list[Floats]] = [[] for _ in variants]
    sd: list[list[Floats]] = [[] for _ in variants]
    for batch in draw_documents(population.frequencies, n_documents, n_draws, rng=generator):
        for number, variant in enumerate(variants):
            ratios = population.ratios[variant.quantity]
            d[number].append(measure(ratios, batch))
            sd[number].append(standard_error(ratios, batch))
    return {
        "d": np.array([np.concatenate(parts) for parts in d]),
        "sd": np.array([np.concatenate(parts) for parts in sd]),
        "d_true": np.array(
            [measure(population.ratios[v.quantity], population.frequencies) for v in variants]
        ),
        "sd_true": np.array([spread[v.quantity] for v in variants]),
    }
