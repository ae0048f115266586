"""Measure the tests of scores where both systems have the same mean, on data like average precision by topic.

    python scripts/validate.py scores FOLDER [--n-populations 60] [--n-sets 600]

As Urbano, Lima & Hanjalic (SIGIR 2019, 505-514) a population has a margin for each system on [0, 1] and a
copula that ties their scores on one topic: beta margins and mixtures of two, of mean .15 to .5, and normal or
Clayton's copulas of Kendall's tau .3 to .7. Both margins have one mean; they are one (`same`), two betas of
different spread (`betas`), or a beta and a mixture (`mixture`). Topics are drawn, 25, 50 or 100, and each
test asks whether the means differ: every rejection is wrong. FOLDER receives `scores.csv`, a row for each
population and number of topics, with the share of sets that each test rejects at .05.
Wanted, as they found: t and randomization test nearly nominal, the bootstrap liberal on few topics, and
Wilcoxon's and the sign test off where the margins differ.
"""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import betainc, ndtr
from validate_kept import Part

ALPHA = 0.05
N_REPLICATES = 199  # as harness advise draws
N_TOPICS = (25, 50, 100)
MARGINS, COPULAS = ("same", "betas", "mixture"), ("normal", "Clayton")
TESTS = ("paired_t", "randomization_score", "bootstrap_score", "wilcoxon", "sign")
GRID = np.linspace(0, 1, 20_001)


class Population(NamedTuple):
    """The margins, a cumulative distribution on GRID each, and how they are tied."""

    margins: str
    copula: str
    mean: float
    tau: float
    cdfs: tuple[np.ndarray, np.ndarray]


def draw_population(place: int, seed: int) -> Population:
    """Draw margins of one mean, and a copula."""
    from harness.seeding import rng

    generator = rng(seed, "validate_scores", place, "population")
    margins, copula = MARGINS[place % 3], COPULAS[place // 3 % 2]
    mean, tau = generator.uniform(0.15, 0.5), generator.uniform(0.3, 0.7)
    share, gap = generator.uniform(0.3, 0.7), generator.uniform(0.5, 0.9) * mean
    narrow, wide = generator.uniform(6, 12), generator.uniform(1.5, 3)

    def beta(mean: float, spread: float) -> np.ndarray:
        return np.asarray(betainc(mean * spread, (1 - mean) * spread, GRID))

    low, high = mean - gap * (1 - share), mean + gap * share
    two = share * beta(low, narrow) + (1 - share) * beta(high, narrow)
    of = {
        "same": (two, two),
        "betas": (beta(mean, narrow), beta(mean, wide)),
        "mixture": (beta(mean, 4), two),
    }
    return Population(margins, copula, mean, tau, of[margins])


def draw_scores(population: Population, shape: tuple[int, ...], generator: np.random.Generator) -> np.ndarray:
    """Return the scores of both systems, shape (2, *shape)."""
    if population.copula == "normal":
        rho = np.sin(np.pi / 2 * population.tau)
        z, rest = generator.standard_normal((2, *shape))
        u = ndtr([z, rho * z + np.sqrt(1 - rho**2) * rest])
    else:
        theta = 2 * population.tau / (1 - population.tau)
        first, rest = 1 - generator.random((2, *shape))
        second = (first**-theta * (rest ** (-theta / (1 + theta)) - 1) + 1) ** (-1 / theta)
        u = np.stack([first, second])
    return np.stack([np.interp(own, cdf, GRID) for own, cdf in zip(u, population.cdfs, strict=True)])


def judge_population(place: int, n_topics: int, n_sets: int, seed: int) -> dict[str, Any]:
    """Return how many sets each test rejects."""
    from harness.advise.documents.battery import run_test
    from harness.advise.documents.scores import score_kinds
    from harness.seeding import rng
    from harness.significance.mcnemar import mcnemar

    population, names = draw_population(place, seed), (seed, "validate_scores", place, n_topics)
    a, b = draw_scores(population, (n_sets, n_topics), rng(*names, "sets"))
    replicates, rejected = rng(*names, "replicates"), dict.fromkeys(TESTS, 0)
    for own in zip(a, b, strict=True):
        kinds, counts = score_kinds(*own, None)
        for test in TESTS[:-1]:
            found = run_test(test, counts[None], kinds, N_REPLICATES, replicates, ALPHA)
            rejected[test] += int(found.pvalue[0] <= ALPHA)
    more, fewer = (a > b).sum(axis=1), (a < b).sum(axis=1)
    cells = np.stack([0 * more, more, fewer, *[0 * more] * 5], axis=1)
    rejected["sign"] = int((mcnemar(cells, "exact").pvalue <= ALPHA).sum())
    return {"rejected": np.array([rejected[test] for test in TESTS])}


def tabulate(n_populations: int, n_sets: int, seed: int, run: Any) -> pd.DataFrame:
    """Return a row for each population and number of topics."""
    units = [(place, n, n_sets, seed) for place in range(n_populations) for n in N_TOPICS]
    found = run(
        judge_population, units, [repr(unit) for unit in units], threads=False, description="populations"
    )
    rows = []
    for (place, n, *_), one in zip(units, found, strict=True):
        own = draw_population(place, seed)
        rows.append((place, *own[:4], n, n_sets, *(one["rejected"] / n_sets)))
    columns = ["population", *Population._fields[:4], "n_topics", "n_sets", *TESTS]
    return pd.DataFrame(rows, columns=columns)


def tell(table: pd.DataFrame) -> tuple[str, bool]:
    """Print the table in short; return what is wanted and whether it is met."""
    print(table.groupby(["margins", "n_topics"])[list(TESTS)].mean().round(4).to_string())
    off = table.loc[table["margins"] != "same", list(TESTS)].sub(ALPHA).abs().mean()
    few = table.loc[table["n_topics"] == min(N_TOPICS), list(TESTS)].mean()
    ok = off[["paired_t", "randomization_score"]].max() < off[["wilcoxon", "sign"]].min()
    ok &= few["bootstrap_score"] > few[["paired_t", "randomization_score"]].max()
    return "the order of Urbano, Lima and Hanjalic", ok


PART = Part("scores", __doc__, tabulate, tell, n_populations=60, n_sets=600)
