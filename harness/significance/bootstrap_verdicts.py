"""P-values and verdicts of the percentile bootstrap, set by set; many need no replicates."""

import numpy as np

from harness.measures import Bools, Floats, Ints
from harness.significance import bootstrap_error, bootstrap_f1, bootstrap_f1_forecast
from harness.significance.equal_counts import distinct_rows
from harness.significance.forecast import Forecast, settled_at_once
from harness.significance.replicates import Keys, set_generator

IN_PLACE_OF_LIMIT = 5000
"""Replicates for the F1 of sets whose limit of infinitely many is not known well enough."""


def error_pvalues(sets: Ints, keys: Keys, n_replicates: int | None, tails: int, stratified: bool) -> Floats:
    """Return the p-values of sets that are not degenerate, shape (n_sets,)."""
    groups = zip(bootstrap_error.strata(sets, stratified), keys, strict=True)
    return np.array([_error_pvalue(group, n_replicates, tails, key) for group, key in groups], dtype=float)


def _error_pvalue(group: Ints, n_replicates: int | None, tails: int, key: Keys) -> float:
    known = bootstrap_error.distribution(tuple(group.tolist()))
    if n_replicates is None:
        return bootstrap_error.limit_pvalue(group, tails, known)
    return bootstrap_error.drawn_pvalue(known, n_replicates, tails, set_generator(key))


def f1_pvalues(sets: Ints, keys: Keys, n_replicates: int | None, tails: int, stratified: bool) -> Floats:
    """Return the p-value of each set that is not degenerate, from replicates or, for None, in the limit."""
    if n_replicates is None:
        ((tail, _, usable),) = bootstrap_f1_forecast.limit_tails(sets, stratified, [tails])
        pvalues = np.minimum(1.0, tails * tail)
        rest = ~usable
        pvalues[rest] = f1_pvalues(sets[rest], keys[rest], IN_PLACE_OF_LIMIT, tails, stratified)
        return pvalues
    return _f1_replicated(sets, keys, n_replicates, [tails], stratified)[:, 0]


def _f1_replicated(sets: Ints, keys: Keys, n_replicates: int, tails: list[int], stratified: bool) -> Floats:
    """Return the p-values of all intervals from the same replicates, shape (n_sets, n_intervals)."""
    found = np.ones((len(sets), len(tails)))
    for i, (cells, key) in enumerate(zip(sets, keys, strict=True)):
        own = set_generator(key)
        made = bootstrap_f1.replicates(cells, n_replicates, stratified, own, bootstrap_f1.differences)
        values = np.concatenate(list(made))
        found[i] = [bootstrap_f1.hits(values, n_tails) for n_tails in tails]
    return np.minimum(1.0, found * tails / n_replicates)


Verdicts = tuple[Bools, Bools]
"""Which verdicts are rejections and which are settled, both (n_sets, n_intervals, n_levels)."""


def _settled(
    forecasts: list[Forecast], tails: list[int], levels: Floats, n_replicates: int, keys: Keys
) -> Verdicts:
    found = [
        settled_at_once(known, levels, n_replicates, n_tails, keys)
        for known, n_tails in zip(forecasts, tails, strict=True)
    ]
    rejected, settled = (np.stack(parts, axis=1) for parts in zip(*found, strict=True))
    return rejected, settled


def error_verdicts(
    sets: Ints, keys: Keys, levels: Floats, n_replicates: int | None, tails: list[int], stratified: bool
) -> Bools:
    """Return the verdicts of sets that are not degenerate, shape (n_sets, n_intervals, n_levels)."""
    groups = bootstrap_error.strata(sets, stratified)
    first, which = distinct_rows(groups)
    forecasts = [made.take(which) for made in bootstrap_error.forecast(groups[first], tails, n_replicates)]
    if n_replicates is None:
        rejected, settled = _settled_in_the_limit(forecasts, tails, levels)
    else:
        rejected, settled = _settled(forecasts, tails, levels, n_replicates, keys)
    for i, j in np.argwhere(~settled.all(axis=2)):
        pvalue = _error_pvalue(groups[i], n_replicates, tails[j], keys[i])
        rejected[i, j] = np.where(settled[i, j], rejected[i, j], pvalue <= levels)
    return rejected


def _settled_in_the_limit(forecasts: list[Forecast], tails: list[int], levels: Floats) -> Verdicts:
    """Return the verdicts, settled where both bounds of the share lie on one side of a level."""
    times = np.array(tails)[:, None]
    low = times * np.stack([known.low for known in forecasts], axis=1)[..., None]
    high = times * np.stack([known.high for known in forecasts], axis=1)[..., None]
    # a share from the distribution itself is a sum of doubles: leave what lies within rounding to the p-value
    rejected = high <= levels * (1 - 1e-9)
    return rejected, rejected | (low > levels * (1 + 1e-9))


def f1_verdicts(
    sets: Ints, keys: Keys, levels: Floats, n_replicates: int | None, tails: list[int], stratified: bool
) -> Bools:
    """Return the verdicts of sets that are not degenerate, shape (n_sets, n_intervals, n_levels)."""
    if n_replicates is None:
        return _f1_limits(sets, keys, levels, tails, stratified)
    forecasts = bootstrap_f1_forecast.forecast(sets, stratified, tails)
    rejected, settled = _settled(forecasts, tails, levels, n_replicates, keys)
    few = np.flatnonzero(~settled.all(axis=(1, 2)) & bootstrap_f1_forecast.few(sets))
    of_few = bootstrap_f1_forecast.few_forecast(sets[few], stratified, tails)
    rejected_few, settled_few = _settled(of_few, tails, levels, n_replicates, keys[few])
    rejected[few] = np.where(settled[few], rejected[few], rejected_few)
    settled[few] |= settled_few
    left = np.flatnonzero(~settled.all(axis=(1, 2)))
    pvalues = _f1_replicated(sets[left], keys[left], n_replicates, tails, stratified)
    rejected[left] = np.where(settled[left], rejected[left], pvalues[..., None] <= levels)
    return rejected


def _f1_limits(sets: Ints, keys: Keys, levels: Floats, tails: list[int], stratified: bool) -> Bools:
    """Return the verdicts of infinitely many replicates, of 5,000 where their limit is not known."""
    found = bootstrap_f1_forecast.limit_tails(sets, stratified, tails)
    verdicts = np.zeros((len(sets), len(tails), len(levels)), dtype=bool)
    for j, ((tail, _, usable), n_tails) in enumerate(zip(found, tails, strict=True)):
        verdicts[:, j] = n_tails * tail[:, None] <= levels
        rest = np.flatnonzero(~usable)
        judged = f1_verdicts(sets[rest], keys[rest], levels, IN_PLACE_OF_LIMIT, [n_tails], stratified)
        verdicts[rest, j] = judged[:, 0]
    return verdicts
