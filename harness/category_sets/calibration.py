"""Is the bootstrap biased? Many draws of D_te from D_true, each with its confidence, against the truth."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pandas import DataFrame

from harness.category_sets.ratios import find_patterns, measure, standard_error
from harness.category_sets.variants import (
    SetPopulation,
    Variant,
    dcf_statistic,
    draw_documents,
    make_population,
    replicate,
)
from harness.intervals import clopper_pearson
from harness.measures import Floats, Ints
from harness.runtime.parallel import Run
from harness.runtime.store import Arrays
from harness.seeding import rng

DRAWS_PER_UNIT = 50
MEAN_LIMIT = 0.15
VARIANCE_LIMITS = (0.80, 1.25)
FAR = 3.0
Z95 = 1.959963984540054


class Draws(NamedTuple):
    """How large and how many the draws are; `n_truth_sets` tell the spread of d over D_true."""

    n_documents: int
    seed: int
    n_draws: int
    n_replicates: int
    n_truth_sets: int


def calibrate(
    populations: Mapping[str, SetPopulation],
    variants: Sequence[Variant],
    costs: Mapping[str, float],
    draws: Draws,
    run: Run,
) -> DataFrame:
    """Return ``calibration.csv``: sets drawn from each D_true, their ``d / sd*`` against the truth.

    Null hypothesis (no bias): over the draws ``z_te - z_true`` has mean 0 and variance 1, with z_te = d / sd*
    of the draw and z_true = d_true / sd_N of the population; differences are A minus B throughout, never
    turned towards the winner. sd* is the standard deviation of `n_replicates` bootstrap replicates of the
    draw; it errs by 1/sqrt(2 n_replicates) of itself, which adds z^2/(2 n_replicates) to the variance: .011
    at |z| = 3 with 400. sd_N is that of `n_truth_sets` draws apart from the others.
    """
    shared, n_draws = (populations, variants, costs, draws), draws.n_draws
    names, spreads = [(name,) for name in populations], "spread on D_true"
    truths = run(_spread_of_truth, names, list(populations), shared=lambda: shared, description=spreads)
    starts = range(0, n_draws, DRAWS_PER_UNIT)
    units = [(name, start, min(start + DRAWS_PER_UNIT, n_draws)) for name in populations for start in starts]
    told = [f"{name} {start}-{stop}" for name, start, stop in units]
    parts = run(_judge_draws, units, told, shared=lambda: shared, description="calibration")
    rows = []
    for (name, population), spread in zip(populations.items(), truths, strict=True):
        mine = [part["judged"] for (own, *_), part in zip(units, parts, strict=True) if own == name]
        for variant, judged in zip(variants, np.concatenate(mine, axis=2), strict=True):
            d_true = float(measure(population.ratios[variant.quantity], population.frequencies))
            d, sd, low, high = judged
            summary = summarise(d, sd, low, high, d_true, float(spread[variant.quantity]))
            resampled = draws.n_replicates if variant.method in ("document", "event") else np.nan
            rows.append(_row(name, "disjoint", variant, n_draws, resampled, summary))
    return DataFrame(rows)


def _row(
    name: str, kind: str, variant: Variant, n_draws: int, n_replicates: float, summary: dict[str, Any]
) -> dict[str, Any]:
    sizes = {"n_draws": n_draws, "n_replicates": n_replicates}
    return {"set": name, "kind": kind, **variant._asdict(), **sizes, **summary}


def calibrate_random(
    codes: NDArray[np.uint8],
    sets: Mapping[str, Ints],
    averages: Sequence[str],
    costs: Mapping[str, float],
    draws: Draws,
    run: Run,
) -> DataFrame:
    """Do the same for random sets of categories, with the delta method's standard error as sd*.

    It is what the bootstrap's tends to; that the two agree is seen on the sets that have both.
    """
    variants = [Variant("f1", average, "delta") for average in averages] + [Variant("dcf", "micro", "delta")]
    shared, units = (codes, variants, costs, draws), list(sets.items())
    told = "random category sets"
    parts = run(_judge_random_set, units, list(sets), shared=lambda: shared, description=told)
    rows = []
    for name, part in zip(sets, parts, strict=True):
        for i, variant in enumerate(variants):
            d, sd, d_true, sd_true = (part[key][i] for key in ("d", "sd", "d_true", "sd_true"))
            summary = summarise(d, sd, d - Z95 * sd, d + Z95 * sd, float(d_true), float(sd_true))
            rows.append(_row(name, "random", variant, draws.n_draws, np.nan, summary))
    return DataFrame(rows)


def _spread_of_truth(shared: tuple[Any, ...], name: str) -> Arrays:
    """Return the standard deviation of every quantity over sets drawn from the population."""
    populations, _, _, draws = shared
    generator = rng(draws.seed, "category set", name, "spread on D_true")
    found = replicate(populations[name], draws.n_documents, draws.n_truth_sets, rng=generator)
    return {quantity: found[f"{quantity} document"].std(ddof=1) for quantity in populations[name].ratios}


def _judge_draws(shared: tuple[Any, ...], name: str, start: int, stop: int) -> Arrays:
    """Judge a block of draws: d, sd* and the 95 % interval, shape (n_variants, 4, n)."""
    populations, variants, costs, draws = shared
    judged = np.empty((len(variants), 4, stop - start))
    for draw in range(start, stop):
        generator = rng(draws.seed, "category set", name, "draw", draw)
        (drawn,) = draw_documents(populations[name].frequencies, draws.n_documents, 1, rng=generator)
        test = populations[name].keep(drawn[0])
        replicates = replicate(test, draws.n_documents, draws.n_replicates, rng=generator)
        for number, variant in enumerate(variants):
            judged[number, :, draw - start] = judge(test, variant, costs, replicates)
    return {"judged": judged}


def judge(
    test: SetPopulation, variant: Variant, costs: Mapping[str, float], replicates: Mapping[str, Floats]
) -> tuple[float, float, float, float]:
    """Return d of one D_te, its standard deviation as the variant has it, and its 95 % interval."""
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


def _judge_random_set(shared: tuple[Any, ...], name: str, members: Ints) -> Arrays:
    """Judge all draws of one random set by the delta method."""
    codes, variants, costs, draws = shared
    population = make_population(find_patterns(codes[:, members]), costs)
    spread = _spread_of_truth(({name: population}, variants, costs, draws), name)
    generator = rng(draws.seed, "category set", name, "draws")
    ratios = [population.ratios[variant.quantity] for variant in variants]
    batches = [
        ([measure(each, batch) for each in ratios], [standard_error(each, batch) for each in ratios])
        for batch in draw_documents(population.frequencies, draws.n_documents, draws.n_draws, rng=generator)
    ]
    return {
        "d": np.concatenate([d for d, _ in batches], axis=1),
        "sd": np.concatenate([sd for _, sd in batches], axis=1),
        "d_true": np.array([measure(each, population.frequencies) for each in ratios]),
        "sd_true": np.array([spread[variant.quantity] for variant in variants]),
    }


def summarise(
    d: Floats, sd: Floats, low: Floats, high: Floats, d_true: float, sd_true: float
) -> dict[str, Any]:
    """Return what the draws of one set and variant say.

    `d`, `sd`, `low` and `high` are the difference of each draw, its estimated standard deviation (where that
    is 0 or unknown, z_te is 0) and its 95 % interval; `sd_true` is the standard deviation of d over draws
    from the population, whose difference is `d_true`. Returned are `mean` and `variance` of z_te - z_true
    with their 95 % error bars (the variance's from the fourth moment); `error_mean`, `error_variance`: the
    same of (d - d_true) / sd, whose law does not depend on z_true; `coverage` with its Clopper-Pearson
    interval; `verdict` (``no bias``, ``biased`` or ``apart``) and `settled`: whether the error bars say the
    same.
    """
    usable = sd > 0
    safe = np.where(usable, sd, 1.0)
    z_true = d_true / sd_true if sd_true > 0 else 0.0
    shifts = np.where(usable, d / safe, 0.0) - z_true
    errors = (d[usable] - d_true) / sd[usable]
    mean = _around(float(shifts.mean()), Z95 * float(shifts.std(ddof=1)) / len(shifts) ** 0.5)
    variance = _around(float(shifts.var(ddof=1)), Z95 * _variance_error(shifts))
    n_covered = int(np.sum((low <= d_true) & (d_true <= high)))
    cover_low, cover_high = map(float, clopper_pearson(n_covered, len(d)))
    word, settled = judge_bias(mean, variance, abs(z_true) > FAR)
    of_errors = float(errors.mean()) if len(errors) else np.nan
    return {
        "d_true": d_true, "sd_true": sd_true, "z_true": z_true,
        **_with_ends("mean", mean), **_with_ends("variance", variance), "error_mean": of_errors,
        "error_variance": float(errors.var(ddof=1)) if len(errors) > 1 else np.nan,
        **_with_ends("coverage", (cover_low, n_covered / len(d), cover_high)),
        "n_degenerate": int((~usable).sum()), "verdict": word, "settled": settled,
    }  # fmt: skip


def _around(value: float, bar: float) -> tuple[float, float, float]:
    return value - bar, value, value + bar


def _with_ends(name: str, told: tuple[float, float, float]) -> dict[str, float]:
    low, value, high = told
    return {name: value, f"{name}_low": low, f"{name}_high": high}


def judge_bias(
    mean: tuple[float, float, float], variance: tuple[float, float, float], far: bool
) -> tuple[str, bool]:
    """Return the verdict on (low, estimate, high) of mean and variance, and whether the intervals settle it.

    No bias: the mean lies within .15 of 0 and the variance within [.80, 1.25]. Sets with |z_true| > 3 stand
    apart: there the scatter of sd*, times z, tells in both.
    """
    limits = ((-MEAN_LIMIT, MEAN_LIMIT), VARIANCE_LIMITS)
    pairs = list(zip((mean, variance), limits, strict=True))
    fair = all(bottom <= estimate <= top for (_, estimate, _), (bottom, top) in pairs)
    surely = all(bottom <= low and high <= top for (low, _, high), (bottom, top) in pairs)
    never = any(high < bottom or low > top for (low, _, high), (bottom, top) in pairs)
    word = "apart" if far else "no bias" if fair else "biased"
    return word, surely if fair else never


def _variance_error(values: Floats) -> float:
    """Return the standard error of the sample variance, from the fourth moment."""
    n = len(values)
    centred = values - values.mean()
    second, fourth = np.mean(centred**2), np.mean(centred**4)
    return float(np.sqrt(max(fourth - second**2 * (n - 3) / (n - 1), 0.0) / n))
