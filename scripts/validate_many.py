"""Prove the comparison of many systems: no false claim among all pairs, on simulated populations.

    python scripts/validate.py many FOLDER [--n-populations 100] [--n-sets 250]

A population is 20,000 items on which 5 to 12 systems are right or wrong, decide yes or no, have scores, or
are right and wrong on clusters of some 5 items; what is hard for one is hard for the others to a degree.
Half of the populations are joint nulls, where the measure of all systems is the same, half are partial ones,
with two to four groups of equal systems. Sets of 100 to 3,000 items (50 to 500 clusters) are drawn, and every
pair is compared as ``harness advise`` does. FOLDER receives `many.csv`, a row for each population: how often
Holm tells equal systems apart (`familywise`), how often a confidence set lacks a true rank (`ranks_wrong`),
how often a pair of equal systems has a p below .05 over the number of pairs, as a multiple of that (`tail`),
and how many of the different pairs are told apart (`told_apart`). Wanted: `familywise` and `ranks_wrong` at
most .06 over all populations. Rank sets are from 1,000 draws here, from 10,000 in the program.
"""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from validate_kept import Part

from harness.intervals import clopper_pearson

N_POOL = 20_000
ALPHA = 0.05
KINDS = ("error", "f1", "score", "clusters")
N_DRAWS = 1_000
COUNTED = ("familywise", "ranks_wrong", "tail", "told_apart")


class Case(NamedTuple):
    """What a population is like, and how large a set; `groups` says which systems are equal."""

    kind: str
    null: str
    n_systems: int
    n_units: int
    correlation: float
    groups: tuple[int, ...]


def draw_case(place: int, seed: int) -> Case:
    """Draw what a population is like."""
    from harness.seeding import rng

    generator = rng(seed, "validate_many", place, "case")
    kind, null = KINDS[place % 4], ("joint", "partial")[place // 4 % 2]
    ends = (50, 500) if kind == "clusters" else (100, 3_000)
    n_systems, n_groups = int(generator.integers(5, 13)), int(generator.integers(2, 5))
    groups = np.sort(generator.integers(0, n_groups if null == "partial" else 1, n_systems))
    n_units = round(np.exp(generator.uniform(*np.log(ends))))
    return Case(kind, null, n_systems, n_units, generator.uniform(0.2, 0.9), tuple(groups.tolist()))


def first_of(values: np.ndarray, n: int) -> np.ndarray:
    """Return true at the n largest values."""
    found = np.zeros(len(values), dtype=bool)
    found[np.argsort(-values)[:n]] = True
    return found


def draw_population(case: Case, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the truth, what each system says or its scores, (n_systems, N_POOL), and the items' clusters."""
    clusters = np.sort(generator.integers(0, N_POOL // 5, N_POOL))
    hard = generator.normal(size=N_POOL)
    if case.kind == "clusters":
        hard = generator.normal(size=N_POOL // 5)[clusters]
    own = generator.normal(size=(case.n_systems, N_POOL))
    ease = np.sqrt(case.correlation) * hard + np.sqrt(1 - case.correlation) * own
    truth = generator.random(N_POOL) < generator.uniform(0.1, 0.5)
    good, step = generator.uniform(0.6, 0.9), generator.uniform(0.02, 0.08)
    said = []
    for one, group in zip(ease, case.groups, strict=True):
        wanted = good - step * group
        if case.kind == "score":
            skewed = np.exp(generator.uniform(0.2, 1.0) * one)
            said.append(skewed - skewed.mean() + 1 - step * group)
        elif case.kind == "f1":  # the same F1 from more or fewer positives found
            n_found = round(truth.sum() * np.clip(wanted + generator.uniform(-0.05, 0.05), 0.05, 0.98))
            n_alarms = max(0, round(2 * n_found / wanted) - truth.sum() - n_found)
            yes = first_of(np.where(truth, one, -np.inf), n_found)
            said.append(yes | first_of(np.where(truth, -np.inf, -one), n_alarms))
        else:
            said.append(first_of(one, round(wanted * N_POOL)) == truth)
    return truth, np.array(said), clusters


def draw_set(
    case: Case, population: tuple[np.ndarray, np.ndarray, np.ndarray], generator: np.random.Generator
) -> Any:
    """Return a set as what a file of predictions says."""
    from harness.advise.files.predictions import Outcomes
    from harness.advise.files.scores import Scores

    (truth, said, clusters), own = population, None
    places = generator.integers(0, N_POOL, case.n_units)
    if case.kind == "clusters":
        starts = np.searchsorted(clusters, np.arange(clusters.max() + 2))
        chosen = generator.choice(np.flatnonzero(np.diff(starts)), case.n_units)
        sizes = np.diff(starts)[chosen]
        own = np.repeat(np.arange(case.n_units), sizes)
        places = np.arange(sizes.sum()) + np.repeat(starts[chosen] - (sizes.cumsum() - sizes), sizes)
    names = [f"s{i}" for i in range(case.n_systems)]
    drawn = dict(zip(names, said[:, places], strict=True))
    if case.kind == "score":
        return Scores("", drawn)
    return Outcomes(truth[places], drawn, np.ones(len(places), dtype=np.int64), "", clusters=own)


def judge_case(place: int, seed: int, n_sets: int) -> dict[str, Any]:
    """Count false and true claims on the sets of a population, in the order of :data:`COUNTED`."""
    from harness.advise import many
    from harness.advise.points import Question
    from harness.cli.configuration import named_tests
    from harness.seeding import rng
    from harness.significance.ranks import holm

    many.N_DRAWS = N_DRAWS
    case = draw_case(place, seed)
    population = draw_population(case, rng(seed, "validate_many", place, "population"))
    measure = {"clusters": "error"}.get(case.kind, case.kind)
    tests = [test for test in named_tests(None) if test.measure == measure]
    groups, counted = np.array(case.groups), np.zeros(4)
    least, most = 1 + (groups[:, None] > groups).sum(axis=1), (groups[:, None] >= groups).sum(axis=1)
    for number in range(n_sets):
        drawn = draw_set(case, population, rng(seed, "validate_many", place, "set", number))
        field = many.compare_all(drawn, Question("", measure, tests, alpha=ALPHA, seed=number))
        p, equal = field.result.pvalue, groups[field.first] == groups[field.second]
        told = holm(p) <= ALPHA
        ranks = field.ranks().set_index("system").loc[field.systems]
        wrong = (ranks["rank_low"] > least) | (ranks["rank_high"] < most)
        tail = (p[equal] <= ALPHA / len(p)).mean() * len(p) / ALPHA if equal.any() else 0.0
        counted += told[equal].any(), wrong.any(), tail, told[~equal].mean() if (~equal).any() else np.nan
    return {"counted": counted, "test": np.array(field.test)}


def tabulate(n_populations: int, n_sets: int, seed: int, run: Any) -> pd.DataFrame:
    """Return a row for each population."""
    units = [(place, seed, n_sets) for place in range(n_populations)]
    found = run(judge_case, units, [repr(unit) for unit in units], threads=False, description="populations")
    rows = []
    for place, one in enumerate(found):
        case = draw_case(place, seed)
        ends = clopper_pearson(round(one["counted"][0]), n_sets)
        rows.append((*case[:5], str(one["test"]), n_sets, *one["counted"] / n_sets, *map(float, ends)))
    columns = [*Case._fields[:5], "test", "n_sets", *COUNTED, "mc_low", "mc_high"]
    return pd.DataFrame(rows, columns=columns)


def tell(table: pd.DataFrame) -> tuple[str, bool]:
    """Print the table in short; return what is wanted and whether it is met."""
    print(table.groupby(["kind", "null"])[list(COUNTED)].mean().round(4).to_string())
    rates = table[list(COUNTED[:2])].mean()
    print(f"over all populations: {rates.round(4).to_dict()}")
    print(f"populations whose interval lies above .06: {(table['mc_low'] > 0.06).sum()}")
    ok = bool((rates <= 0.06).all())
    return "at most .06", ok


PART = Part("many", __doc__, tabulate, tell, n_populations=100, n_sets=250)
