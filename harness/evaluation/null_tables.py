"""From counts of rejections under nulls to rows of the tables of size, of power on the path and of nulls."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import product, repeat
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from harness import nulls
from harness.evaluation.null_sets import Grid, levels, shown_alpha
from harness.evaluation.rates import (
    COLUMNS,
    HIGHEST,
    POINT,
    category_rates,
    category_rows,
    dead_categories,
    points,
    verdict,
)
from harness.evaluation.rejections import COUNTED
from harness.evaluation.sets import Plan
from harness.intervals import clopper_pearson
from harness.measures import Floats, Ints, costs_text
from harness.outcomes import error_correlation
from harness.runtime.store import Arrays
from harness.significance.ranks import holm

PATH, SIZES, NULLS = (tuple(COLUMNS[name]) for name in ("power_path", "size_by_category", "nulls"))
LEAST_SETS = 2000
"""Sets of a category below which nothing is said of single categories: the worst would be chance's."""

ERROR = 0.05
"""Of the intervals of single categories, and over all of them after Holm."""


def rate_table(
    plan: Plan,
    units: Sequence[Arrays],
    shares: Floats,
    n_each: Ints,
    fewest: Mapping[tuple[str, float, int], int],
    grid: Grid,
) -> pd.DataFrame:
    """Return a plan's rates by category, columns ``BY_CATEGORY``; a category without a population has no row.

    Parameters
    ----------
    shares : array, shape (n_sources, n_questions, n_categories, 8)
    n_each : int array, shape (n_sources, n_tests)
    """
    counts = {name: np.stack([unit[name] for unit in units], axis=-1) for name in COUNTED}
    blocks = []
    for (q, question), (s, source) in product(enumerate(grid.questions), enumerate(grid.sources)):
        kept = ~np.isnan(shares[s, q, :, 0])
        if not kept.any():
            continue
        dead = {
            (alpha, n): dead_categories(shares[s, q, kept], n, needed, alpha)
            for (measure, alpha, n), needed in fewest.items()
            if measure == question.measure and n in grid.sizes
        }
        for place in question.places:
            test, at = grid.tests[place], levels(grid.tests[place], grid.alphas)
            if not at:
                continue
            judged = [grid.alphas[a] for a in at]
            own: dict[str, Any] = {"kind": source.kind}
            for name, values in counts.items():
                found = values[s, :, place][..., kept]
                own[name] = found[:, at].swapaxes(0, 1) if found.ndim == 3 else found
            own["dead"] = np.array([[dead[alpha, n] for n in grid.sizes] for alpha in judged])
            axes = (judged, grid.sizes, np.array(plan.categories)[kept])
            blocks.append(category_rows(plan, test, source.truth, axes, own, n_sets=int(n_each[s, place])))
    return category_rates(blocks)


def distribution_table(rates: pd.DataFrame) -> pd.DataFrame:
    """Return how the sizes of each point are distributed over its categories, columns :data:`SIZES`.

    A category is live where a set that any test of the measure can reject is not rarer than alpha. What is
    said of live categories is missing where there is none, or fewer than :data:`LEAST_SETS` sets of each.

    - `median`, `q10`, `q90`, `worst`: of the sizes, with numpy's quantiles; `worst_category`, the first of
      several.
    - `worst_low`: of the worst, the lower end of its exact interval at confidence ``1 - .05 / n_live``.
    - `n_holds`, `n_liberal`, `n_conservative`, `n_undecided`: categories by the verdict on the 95 % interval
      of each alone (:func:`harness.evaluation.rates.verdict`).
    - `n_liberal_holm`: those with a size above 1.2 alpha after Holm at .05, each by the p-value that belongs
      to its interval, ``2 P(X >= n_rejected)`` at 1.2 alpha.
    - `worst_again`: missing here; see :func:`harness.evaluation.under_nulls.evaluate_nulls`.
    """
    point, first = points(rates)
    keys = rates[list(POINT)].iloc[first].reset_index(drop=True)
    names = ("alpha", "kind", "category", "dead", "n_sets", "n_rejected", "rate", "mc_low", "mc_high")
    columns = {name: rates[name].to_numpy() for name in names}
    places = np.split(np.argsort(point, kind="stable"), np.cumsum(np.bincount(point)))[:-1]
    told = pd.DataFrame(
        [_distribution({name: column[at] for name, column in columns.items()}) for at in places],
        columns=list(SIZES[len(POINT) :]),
    )
    return pd.concat([keys, told], axis=1).astype({"worst_again": float})


def _distribution(point: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """Return the columns of one point that are not its keys."""
    is_size, alpha = point["kind"] == "size", float(point["alpha"][0])
    live = {name: column[is_size & ~point["dead"].astype(bool)] for name, column in point.items()}
    n_sets, n_live = int(point["n_sets"][is_size.argmax()]), len(live["rate"])
    told: dict[str, Any] = {"n_sets": n_sets, "n_live": n_live, "n_categories": int(is_size.sum())}
    if n_sets < LEAST_SETS or not n_live:
        return told
    k, rate = live["n_rejected"], live["rate"]
    worst, found = int(k.argmax()), Counter(map(verdict, live["mc_low"], live["mc_high"], repeat(alpha)))
    told |= dict(zip(("q10", "median", "q90"), np.quantile(rate, [0.1, 0.5, 0.9]), strict=True))
    told |= {"worst": rate[worst], "worst_category": live["category"][worst]}
    told["worst_low"] = float(clopper_pearson(k[worst], n_sets, 1 - ERROR / n_live)[0])
    told |= {f"n_{word}": found[word] for word in ("holds", "liberal", "conservative", "undecided")}
    chance = 2 * stats.binom.sf(k - 1, n_sets, min(1, HIGHEST * alpha))
    return told | {"n_liberal_holm": int((holm(np.minimum(1, chance)) <= ERROR).sum())}


def path_table(plan: Plan, units: Sequence[Arrays], n_each: Ints, grid: Grid) -> pd.DataFrame:
    """Return a plan's rows of power on the path, columns :data:`PATH`: means over the categories on it.

    `n_left_out` are those where the path does not reach `h`, or that have no null. `mc_low` and `mc_high`
    are as in :func:`harness.evaluation.rates.size_power`.

    Parameters
    ----------
    n_each : int array, shape (n_tests, n_path_sizes, n_h)
    """
    rows = []
    at = (plan.pair, plan.balance, np.nan if plan.prevalence is None else plan.prevalence)
    tests, alphas, path_sizes, h = grid.tests, grid.alphas, grid.path_sizes, grid.h
    level = shown_alpha(alphas)
    for question in grid.questions:
        for place in question.places:
            rejected = np.sum([unit["path_rejected"][:, :, place] for unit in units], axis=0)
            reached = np.sum([unit["path_reached"][:, :, place] for unit in units], axis=0)
            if level not in [alphas[a] for a in levels(tests[place], alphas)]:
                continue
            for i, j in np.ndindex(len(path_sizes), len(h)):
                n, k = int(reached[i, j]), int(rejected[i, j])
                each = int(n_each[place, i, j])
                low, high = clopper_pearson(k, n * each) if n else (np.nan, np.nan)
                rate = k / (n * each) if n else np.nan
                found = (rate, float(low), float(high), n, len(units) - n, each)
                rows.append((*at, question.measure, tests[place].name, level, path_sizes[i], h[j], *found))
    return pd.DataFrame(rows, columns=list(PATH))


def null_table(
    plan: Plan, shares: Floats, reasons: Mapping[tuple[str, str], Mapping[str, str]], grid: Grid
) -> pd.DataFrame:
    """Return a plan's null populations, columns :data:`NULLS`, one row for each truth, question and category.

    `measure` and `costs` name the question; `costs` reads ``cost_fn=2;cost_fp=1;prior=0.1``, and is empty
    where the measure has none.
    `divergence` is the Kullback-Leibler divergence of the null from the real population. The distance, the
    disagreement and the correlation of errors are the real population's: h = distance * sqrt(N).

    Parameters
    ----------
    shares : array, shape (n_sources, n_questions, n_categories, 8)
    """
    real = plan.cells / plan.cells.sum(axis=1, keepdims=True)
    n01, n10 = real[:, [1, 6]].sum(axis=1), real[:, [2, 5]].sum(axis=1)
    both_wrong, both_right = real[:, [3, 4]].sum(axis=1), real[:, [0, 7]].sum(axis=1)
    shape = {
        "disagreement": n01 + n10,
        "error_correlation": error_correlation(both_right, n01, n10, both_wrong),
    }
    frames = []
    for s, source in enumerate(grid.sources):
        for q, question in enumerate(grid.questions if source.kind == "size" else ()):
            null, told = shares[s, q], reasons[source.truth, question.name]
            made = ~np.isnan(null[:, 0])
            columns: dict[str, Any] = {
                "pair": plan.pair,
                "balance": plan.balance,
                "prevalence": np.nan if plan.prevalence is None else plan.prevalence,
                "truth": source.truth,
                "measure": question.measure,
                "costs": costs_text(question.costs),
                "category": list(plan.categories),
                **{f"e{i + 1}": null[:, i] for i in range(8)},
                "divergence": [
                    nulls.divergence(null[i], real[i]) if made[i] else np.nan for i in range(len(real))
                ],
                "distance": nulls.distance(real, 1, question.measure, **question.costs),
                **shape,
                "reason": [told.get(name, "") for name in plan.categories],
            }
            frames.append(pd.DataFrame(columns, columns=list(NULLS)))
    return pd.concat(frames, ignore_index=True)
