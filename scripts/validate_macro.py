"""Measure the tests of macro F1, one label an item, where both systems have the same macro F1.

    python scripts/validate.py macro FOLDER [--n-populations 24] [--n-sets 1000]

A population has 3 to 100 labels, all as frequent (`balanced`) or the k-th with a share as 1/k (`skewed`), and
two systems that are right on each label at rates of their own, and more often together than chance has it. A
file with 5 to 50 items a label is drawn, at most 1,000, and the advisor, on fewer sets than the command,
recommends a test. The sizes of all tests are then measured on sets of as many items from the null nearest to
the population. FOLDER receives `macro.csv`, a row for each population.
Wanted: the median true size within .8 to 1.2 alpha, and at most 10 % of them above.
"""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from validate_kept import Part

ALPHA = 0.05
N_POOL = 4_000
FORMS = ("balanced", "skewed")
TESTS = ("wald_by_document", "bootstrap_by_document", "randomization_by_document", "wald_pooled")


class Case(NamedTuple):
    """What a population is like, and how many items a file has."""

    labels: str
    n_labels: int
    n_items: int


def draw_case(place: int, seed: int) -> Case:
    """Draw what a population is like; every second one has rare labels."""
    from harness.seeding import rng

    generator = rng(seed, "validate_macro", place, "case")
    n_labels, each = np.exp(generator.uniform(np.log([3, 5]), np.log([100, 50])))
    return Case(FORMS[place % 2], round(n_labels), min(1_000, round(round(n_labels) * each)))


def draw_items(case: Case, generator: np.random.Generator) -> np.ndarray:
    """Return the truth and what both systems say of the items of a population, shape (3, N_POOL)."""
    shares = np.ones(case.n_labels) if case.labels == "balanced" else 1 / np.arange(1, case.n_labels + 1)
    shares /= shares.sum()
    truth = generator.choice(case.n_labels, N_POOL, p=shares)
    rates, hard = generator.beta(6, 3, (2, case.n_labels)), generator.random(N_POOL)
    own = np.where(generator.random((2, N_POOL)) < 0.6, hard, generator.random((2, N_POOL)))
    others = generator.choice(case.n_labels, (2, N_POOL), p=shares)
    return np.stack([truth, *np.where(own < rates[:, truth], truth, others)])


def judge_case(place: int, seed: int, n_sets: int) -> dict[str, Any]:
    """Ask for advice on a file, and measure the truth."""
    from harness.advise.documents import document_pairs
    from harness.advise.documents.battery import run_test
    from harness.advise.files.categories import one_against_rest
    from harness.advise.files.predictions import Predictions
    from harness.advise.points import Plan, Question, measure_pair
    from harness.advise.rates import power_table, size_table
    from harness.advise.recommend import recommend
    from harness.runtime.parallel import run_here
    from harness.seeding import rng

    case = draw_case(place, seed)
    pool = draw_items(case, rng(seed, "validate_macro", place, "population"))
    file = rng(seed, "validate_macro", place, "file").choice(pool, case.n_items, axis=1)
    plan = Plan(n_sets=1_000, n_draws=8, n_range_sets=100, n_power_sets=100, h=(2.8,), factors=(1.0,))
    question = Question("file", "f1", average="macro", plan=plan, seed=seed)
    pairs = []
    for items in (file, pool):
        truth, a, b = items.astype(str).astype(object)
        given = Predictions("file", truth, {"a": a, "b": b}, np.ones(len(truth), dtype=np.int64))
        ((pair,), _) = document_pairs(one_against_rest(given, "file"), question)
        pairs.append(pair)
    own, whole = pairs
    measured, _ = measure_pair(own, plan, ALPHA, seed, lambda *_: run_here)
    advised = recommend(size_table(measured, ALPHA), power_table(measured), own.recommendable, ALPHA)
    sets = rng(seed, "validate_macro", place, "sets").multinomial(case.n_items, whole.null, size=n_sets)
    replicates = rng(seed, "validate_macro", place, "replicates")
    rejected = [
        (run_test(name, sets, whole.kinds, own.n_replicates, replicates, ALPHA).pvalue <= ALPHA).sum()
        for name in TESTS
    ]
    told = np.array([advised.test, advised.verdict, repr(advised.size)])
    return {"told": told, "rejected": np.array(rejected)}


def tabulate(n_populations: int, n_sets: int, seed: int, run: Any) -> pd.DataFrame:
    """Return a row for each population."""
    units = [(place, seed, n_sets) for place in range(n_populations)]
    found = run(judge_case, units, [repr(unit) for unit in units], threads=False, description="populations")
    rows = []
    for place, one in enumerate(found):
        (test, verdict, size), sizes = one["told"].tolist(), (one["rejected"] / n_sets).tolist()
        own = sizes[TESTS.index(test)]
        rows.append((*draw_case(place, seed), test, verdict, float(size), n_sets, own, *sizes))
    columns = [*Case._fields, "test", "verdict", "size_on_file", "n_sets", "true_size", *TESTS]
    return pd.DataFrame(rows, columns=columns)


def tell(table: pd.DataFrame) -> tuple[str, bool]:
    """Print the table in short; return what is wanted and whether it is met."""
    sizes = table[["true_size", *TESTS]]
    above = (sizes > 1.2 * ALPHA).mean().rename("above")
    print(sizes.describe()[1:].T.join(above).round(4).to_string())
    print(table["test"].value_counts().to_string())
    ok = 0.8 * ALPHA <= sizes["true_size"].median() <= 1.2 * ALPHA and above["true_size"] <= 0.1
    return "median within .8 to 1.2 alpha, at most 10 % above", bool(ok)


PART = Part("macro", __doc__, tabulate, tell, n_populations=24, n_sets=1_000)
