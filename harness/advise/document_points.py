"""What is measured for a pair of systems on several categories: sets of documents, and the tests on them."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.advise.document_tests import TESTS, Kinds, difference_by_document, names_of, run_test
from harness.advise.documents import DocumentPair, deviation_of_documents, tilt_documents
from harness.advise.needed import MISSING, alternatives, search_items
from harness.advise.points import POWER, RANGE, SIZE, PairPopulation, Plan, place_points, plan_at
from harness.runtime.store import Arrays
from harness.seeding import rng

if TYPE_CHECKING:
    from pandas import DataFrame

DRAWN = TESTS[1:]
"""Tests that draw replicates for each set: they see fewer sets."""
MOST_SETS = {SIZE: 3_000, RANGE: 100, POWER: 100}
"""At a point, which is in one direction where it is of a power curve."""
FILE_REPLICATES = 9_999
N_NEEDED, N_NEEDED_DRAWN = 4_000, 300
"""In each direction."""
N_POSTERIOR = 4_000
MOST_ITEMS_DRAWN = 5_000
MOST_KINDS = {"bootstrap_by_document": 500, "randomization_by_document": 2_500}
"""Above so many items, or kinds of them, tests that draw replicates take longer than all else."""
_AT_ONCE = 4_000_000

Shared = tuple[Kinds, list[str], int]


def draw_documents(
    shares: Any, n: int, n_sets: int, generator: np.random.Generator, n_terms: int = 1
) -> Iterator[tuple[int, Any]]:
    """Yield sets of n documents, some at a time, with the number of those before.

    So many at a time that neither their counts nor their `n_terms` ratios fill the memory.
    """
    size = max(1, _AT_ONCE // max(len(shares), n_terms))
    for start in range(0, n_sets, size):
        yield start, generator.multinomial(n, shares, size=min(size, n_sets - start))


def measure_documents(
    pairs: Mapping[str, DocumentPair],
    populations: Mapping[str, PairPopulation],
    plan: Plan,
    names: Sequence[str],
    n_replicates: int,
    alpha: float,
    seed: int,
    stage_run: Callable[..., Any],
) -> tuple[DataFrame, list[str]]:
    """Return how often each test rejects at every point of every pair, and notes.

    The columns are those of :func:`harness.advise.points.run_points`; tests that draw replicates have a
    smaller `n_sets`.
    """
    import pandas as pd

    rows, notes = [], []
    for pair, own in pairs.items():
        population = populations[pair]
        points, missing = place_points(
            pair, population, int(own.frequencies.sum()), plan_at(plan, alpha),
            deviation_of_documents(population.null, own.kinds),
            functools.partial(tilt_documents, population.null, kinds=own.kinds),
        )  # fmt: skip
        notes += [*(f"{pair}: {note}" for note in population.notes), *missing]
        shared: Shared = (own.kinds, list(names), n_replicates)
        units = [
            (tuple(p.shares.tolist()), p.pair, p.role, p.n_documents, p.value, p.n_sets, alpha, seed)
            for p in points
        ]
        run = stage_run("advice_documents", _describe(shared))
        found = run(
            _run_point, units, [repr(unit) for unit in units], shared=lambda shared=shared: shared,
            threads=False, description=f"sizes and powers of {pair}",
        )  # fmt: skip
        rows += [
            (
                p.pair, p.role, p.n_documents, p.value, p.difference, test,
                *(int(part[key][i]) for key in ("n_sets", "n_rejected", "n_wrong_direction", "n_degenerate")),
            )
            for p, part in zip(points, found, strict=True)
            for i, test in enumerate(names)
        ]  # fmt: skip
    columns = ["pair", "role", "n_documents", "value", "difference", "test", "n_sets", "n_rejected"]
    return pd.DataFrame(rows, columns=[*columns, "n_wrong_direction", "n_degenerate"]), notes


def _describe(shared: Shared) -> list[object]:
    kinds, names, n_replicates = shared
    cells = hashlib.sha256(kinds.cells.tobytes()).hexdigest()
    return [
        list(kinds.cells.shape),
        cells,
        kinds.measure,
        [list(cost) for cost in kinds.costs],
        names,
        n_replicates,
    ]


def _run_point(
    shared: Shared,
    shares: tuple[float, ...],
    pair: str,
    role: str,
    n: int,
    value: float,
    n_sets: int,
    alpha: float,
    seed: int,
) -> Arrays:
    kinds, names, n_replicates = shared
    population = np.array(shares)
    sign = float(np.sign(difference_by_document(population, kinds))) if role == POWER else 0.0
    keys = ("n_sets", "n_rejected", "n_wrong_direction", "n_degenerate")
    found = {key: np.zeros(len(names), dtype=np.int64) for key in keys}
    draws = rng(seed, "advice", pair, role, value, n, "documents")
    replicates = rng(seed, "advice", pair, role, value, n, "replicates")
    for before, sets in draw_documents(population, n, n_sets, draws, len(kinds.weights())):
        for i, name in enumerate(names):
            counts = sets[: max(0, MOST_SETS[role] - before)] if name in DRAWN else sets
            if not len(counts):
                continue
            result = run_test(name, counts, kinds, n_replicates, replicates, alpha)
            rejected = result.pvalue <= alpha
            wrong = np.sign(difference_by_document(counts, kinds)) * sign < 0
            parts = (len(counts), rejected.sum(), (rejected & wrong).sum(), result.degenerate.sum())
            for key, part in zip(keys, parts, strict=True):
                found[key][i] += int(part)
    return found


def needs_of_documents(
    units: Sequence[tuple[str, str, float]],
    pairs: Mapping[str, DocumentPair],
    populations: Mapping[str, PairPopulation],
    difference: float,
    n_replicates: int,
    alpha: float,
    seed: int,
    stage_run: Callable[..., Any],
) -> list[Arrays]:
    """Return what :func:`harness.advise.needed.needed_items` does, for units of pair, test and power."""
    found = []
    for pair, test, power in units:
        kinds = pairs[pair].kinds
        shared: Shared = (kinds, [test], n_replicates)
        unit = (tuple(populations[pair].null.tolist()), pair, difference, power, alpha, seed)
        run = stage_run("advice_documents_needed", _describe(shared), "both directions")
        found += run(
            _needed, [unit], [repr(unit)], shared=lambda shared=shared: shared, threads=False,
            description=f"items needed, {pair}",
        )  # fmt: skip
    return found


def _needed(
    shared: Shared,
    null: tuple[float, ...],
    pair: str,
    wanted: float,
    power: float,
    alpha: float,
    seed: int,
) -> Arrays:
    kinds, (name,), n_replicates = shared
    populations = alternatives(lambda difference: tilt_documents(np.array(null), difference, kinds), wanted)
    if not populations:
        return dict(MISSING)
    n_sets = N_NEEDED_DRAWN if name in DRAWN else N_NEEDED

    def reached(n: int, attempt: int) -> float:
        """Return the power in the worse direction on sets of n documents."""
        right = dict.fromkeys(populations, 0)
        for sign, shares in populations.items():
            names = ("advice", pair, "needed", power, attempt, sign, n, "documents")
            draws, replicates = rng(seed, *names), rng(seed, *names, "replicates")
            for _, counts in draw_documents(shares, n, n_sets, draws, len(kinds.weights())):
                rejected = run_test(name, counts, kinds, n_replicates, replicates, alpha).pvalue <= alpha
                right[sign] += int((rejected & (difference_by_document(counts, kinds) * sign > 0)).sum())
        return min(right.values()) / n_sets

    sd = max(deviation_of_documents(shares, kinds) for shares in populations.values())
    return search_items(reached, sd, wanted, power, alpha, n_sets)


def judge_documents(pair: str, own: DocumentPair, names: Sequence[str], seed: int) -> DataFrame:
    """Return every test's p-value on the file's documents, and the difference with its interval.

    The interval holds the central 95 % of the differences of the Bayesian bootstrap of the documents. The
    columns are those of :func:`harness.advise.study.judge_pair`.
    """
    import pandas as pd

    posterior = rng(seed, "advice", pair, "posterior")
    size = max(1, _AT_ONCE // max(len(own.weights), len(own.kinds.weights())))
    sizes = [min(size, N_POSTERIOR - start) for start in range(0, N_POSTERIOR, size)]
    drawn = [difference_by_document(posterior.dirichlet(own.weights, size=n), own.kinds) for n in sizes]
    low, high = np.quantile(np.concatenate(drawn), [0.025, 0.975])
    rows = []
    for name in names:
        generator = rng(seed, "advice", pair, "file", name)
        result = run_test(name, own.frequencies[None], own.kinds, FILE_REPLICATES, generator)
        d = float(difference_by_document(own.frequencies, own.kinds))
        p, statistic, degenerate = (part[0] for part in (result.pvalue, result.statistic, result.degenerate))
        rows.append((pair, name, d, low, high, float(statistic), float(p), bool(degenerate)))
    columns = ["pair", "test", "difference", "low", "high", "statistic", "pvalue", "degenerate"]
    return pd.DataFrame(rows, columns=columns)


def tests_to_measure(pairs: Mapping[str, DocumentPair], measure: str) -> tuple[list[str], list[str]]:
    """Return the names of the tests, and notes on those that are left out."""
    n_items = max(int(own.frequencies.sum()) for own in pairs.values())
    n_kinds = max(len(own.frequencies) for own in pairs.values())
    found, notes = [], []
    for name in names_of(measure):
        most = MOST_KINDS.get(name, n_kinds)
        if name not in DRAWN or (n_items <= MOST_ITEMS_DRAWN and n_kinds <= most):
            found.append(name)
        else:
            notes.append(
                f"{name} is left out above {MOST_ITEMS_DRAWN:,} items or {most:,} kinds of them (here "
                f"{n_items:,} and {n_kinds:,}), where it is slow"
            )
    return found, notes
