"""Prove the advice on clustered items: the true size of the recommended test, on simulated populations.

    python scripts/validate.py clusters FOLDER [--n-populations 200] [--n-sets 10000]

A population has clusters of 1 to 20 items. In each an item copies the cluster's own outcome with probability
sqrt(rho), so that the paired differences of two of its items have correlation rho, .05 to .5; in two of three
populations large clusters favour one system and small ones the other. A user's file of 30 to 300 clusters is
drawn, the advisor sees the file alone and recommends a test. Its true size is measured on sets of as many
clusters from the null nearest to the population. FOLDER receives `clusters.csv`, a row for each population.
Wanted: the median true size within .8 to 1.2 alpha, and at most 10 % of them above.
"""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from validate_kept import Part

from harness.intervals import clopper_pearson

N_POOL = 2000
ALPHA = 0.05
MEASURES = ("f1", "error")
FORMS = ("uniform", "mostly small", "small or large")
ALWAYS = ("wald_by_cluster", "wald_by_cluster_cr2")


class Case(NamedTuple):
    """What a population is like, and how many clusters a file has."""

    measure: str
    n_clusters: int
    sizes: str
    correlation: float
    informative: float
    shares: tuple[float, ...]


def draw_case(place: int, seed: int) -> Case:
    """Draw what a population is like; the shares of the cells e1..e8 favour neither system."""
    from harness.seeding import rng

    generator = rng(seed, "validate_clusters", place, "case")
    low, high = np.log([30, 300])
    n_clusters, correlation = round(np.exp(generator.uniform(low, high))), generator.uniform(0.05, 0.5)
    positives, right = generator.uniform(0.1, 0.5), generator.uniform(0.6, 0.9)
    of_positives, of_negatives = generator.uniform(0.1, 0.4), generator.uniform(0.05, 0.25)
    differ, alike = positives * of_positives / 2, positives * (1 - of_positives)
    other, rest = (1 - positives) * of_negatives / 2, (1 - positives) * (1 - of_negatives)
    shares = (right * alike, differ, differ, (1 - right) * alike, 0.1 * rest, other, other, 0.9 * rest)
    informative, sizes = (0.0, 0.3, 0.6)[place % 3], FORMS[place // 3 % 3]
    return Case(MEASURES[place % 2], n_clusters, sizes, correlation, informative, shares)


def draw_clusters(case: Case, generator: np.random.Generator) -> np.ndarray:
    """Return the cells of the clusters of a population, shape (N_POOL, 8)."""
    large = [0.4 / 6] * 6
    sizes = {
        "uniform": generator.integers(1, 21, N_POOL),
        "mostly small": np.minimum(generator.geometric(0.25, N_POOL), 20),
        "small or large": generator.choice([1, 2, 3, 15, 16, 17, 18, 19, 20], N_POOL, p=[0.2] * 3 + large),
    }
    n_items = sizes[case.sizes]
    away = n_items - (n_items**2).mean() / n_items.mean()  # no system is favoured over all items
    lean = case.informative * away / np.abs(away).max()
    shares = np.tile(case.shares, (N_POOL, 1))
    shares[:, [2, 5]] *= 1 + lean[:, None]
    shares[:, [1, 6]] *= 1 - lean[:, None]
    n_alike = generator.binomial(n_items, np.sqrt(case.correlation))
    cells = generator.multinomial(n_items - n_alike, shares)
    own = (generator.random((N_POOL, 1)) > shares.cumsum(axis=1)[:, :-1]).sum(axis=1)
    cells[np.arange(N_POOL), own] += n_alike
    return cells


def as_outcomes(cells: np.ndarray) -> Any:
    """Return clusters as what a file of predictions says."""
    from harness.advise.files.predictions import Outcomes

    clusters, cell = np.nonzero(cells)
    said = {"a": cell % 2 == 0, "b": cell // 2 % 2 == 0}
    return Outcomes(cell < 4, said, cells[clusters, cell], "", clusters=clusters)


def judge_case(place: int, seed: int, n_sets: int) -> dict[str, Any]:
    """Ask for advice on a file, and measure the truth."""
    from harness.advise.documents import document_pairs
    from harness.advise.documents.battery import names_of, run_test
    from harness.advise.points import Plan, Question, measure_pair
    from harness.advise.rates import power_table, size_table
    from harness.advise.recommend import recommend
    from harness.runtime.parallel import run_here
    from harness.seeding import rng

    case = draw_case(place, seed)
    cells = draw_clusters(case, rng(seed, "validate_clusters", place, "population"))
    file = rng(seed, "validate_clusters", place, "file").choice(cells, case.n_clusters)
    question = Question("file", case.measure, plan=Plan(factors=(1.0,)), seed=seed)
    ((own,), _), ((whole,), _) = (document_pairs(as_outcomes(one), question) for one in (file, cells))
    measured, _ = measure_pair(own, question.plan, ALPHA, seed, lambda *_: run_here)
    advised = recommend(size_table(measured, ALPHA), power_table(measured), own.recommendable, ALPHA)
    sets = rng(seed, "validate_clusters", place, "sets").multinomial(case.n_clusters, whole.null, size=n_sets)
    replicates, rejected = rng(seed, "validate_clusters", place, "replicates"), {}
    for name in dict.fromkeys((advised.test, *ALWAYS, names_of(case.measure)[-1])):
        parts = [
            run_test(name, part, whole.kinds, own.n_replicates, replicates, ALPHA).pvalue <= ALPHA
            for part in np.array_split(sets, -(-n_sets // 2000))
        ]
        rejected[name] = np.concatenate(parts).sum()
    told = [str(advised.test), str(advised.verdict), float(advised.size), int(file.sum())]
    return {"told": np.array(told, dtype=object).astype(str), "rejected": np.array([*rejected.values()])[
        [0, *(list(rejected).index(name) for name in (*ALWAYS, names_of(case.measure)[-1]))]
    ]}  # fmt: skip


def tabulate(n_populations: int, n_sets: int, seed: int, run: Any) -> pd.DataFrame:
    """Return a row for each population."""
    units = [(place, seed, n_sets) for place in range(n_populations)]
    found = run(judge_case, units, [repr(unit) for unit in units], threads=False, description="populations")
    rows = []
    for place, one in enumerate(found):
        case, (test, verdict, size, n_items) = draw_case(place, seed), one["told"].tolist()
        rejected = one["rejected"].tolist()
        low, high = clopper_pearson(rejected[0], n_sets)
        sizes = (n / n_sets for n in rejected)
        rows.append((*case[:5], int(n_items), test, verdict, float(size), n_sets, *sizes, low, high))
    columns = [*Case._fields[:5], "n_items", "test", "verdict", "size_on_file", "n_sets", "true_size"]
    return pd.DataFrame(rows, columns=[*columns, *ALWAYS, "naive", "mc_low", "mc_high"])


def tell(table: pd.DataFrame) -> tuple[str, bool]:
    """Print the table in short; return what is wanted and whether it is met."""
    for name in ("true_size", *ALWAYS, "naive"):
        quantiles, above = table[name].quantile([0.1, 0.5, 0.9]).round(4), (table[name] > 1.2 * ALPHA).mean()
        print(f"{name:20} 10, 50, 90 %: {quantiles.tolist()}; above 1.2 alpha: {above:.3f}")
    print(table["test"].value_counts().to_string())
    median, above = table["true_size"].median(), (table["true_size"] > 1.2 * ALPHA).mean()
    ok = 0.8 * ALPHA <= median <= 1.2 * ALPHA and above <= 0.1
    return "median within .8 to 1.2 alpha, at most 10 % above", ok


PART = Part("clusters", __doc__, tabulate, tell, n_populations=200, n_sets=10_000)
