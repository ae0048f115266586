"""Measure the size of the whole procedure: a test is chosen on a file, and then applied to that file.

    python scripts/validate.py advise --procedure FOLDER [--n-files 2000] [--population FILE] [--alpha 0.05]

Files are drawn from the exact nulls of categories of an outcomes table, common and rare ones, of close models
and of others. On each file the advisor chooses a test as `harness.advise_predictions` does, and that test
judges the same file: every rejection is wrong. Where all tests give a file one verdict, the choice cannot
matter, and is not made. FOLDER receives `procedure.csv`, a row for each population and for all of a measure.
"""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from harness.intervals import clopper_pearson

N_ITEMS, N_PER_UNIT = 1000, 25
PAIRS = {"linear_svm-mlp": "dissimilar", "linear_svm-rbf_svm": "close"}
PREVALENCES = (0.2, 0.05, 0.02)
MEASURES = ("f1", "error")
SUMMED = ("n_files", "n_chosen", "n_rejected")


class Null(NamedTuple):
    """A population in which both systems are equally good, and where it comes from."""

    measure: str
    pair: str
    category: str
    prevalence: float
    discordant: float
    shares: tuple[float, ...]


def find_nulls(path: Path) -> list[Null]:
    """Return the exact nulls of the natural categories nearest to each prevalence, one for each measure."""
    from harness.nulls import exact_null
    from harness.outcomes import read_outcomes

    found = []
    for population in read_outcomes(path):
        if population.balance != "natural" or population.pair not in PAIRS:
            continue
        counts = population.counts
        prevalence = counts[:, :4].sum(axis=1) / counts.sum(axis=1)
        for measure in MEASURES:
            shares, missing = exact_null(population.categories, counts, measure)
            there = ~np.isin(population.categories, list(missing))
            for wanted in PREVALENCES:
                i = int(np.where(there, np.abs(np.log(prevalence / wanted)), np.inf).argmin())
                null = shares[i]
                found.append(
                    Null(measure, population.pair, population.categories[i], round(float(prevalence[i]), 4),
                         round(N_ITEMS * float(null[[1, 2, 5, 6]].sum()), 2), tuple(null.tolist()))
                )  # fmt: skip
    return sorted(found)


def judge_files(
    tests: dict[str, list[Any]], null: Null, part: int, seed: int, alpha: float
) -> dict[str, Any]:
    """Draw files from a null; return how many there are, on how many a choice was made, how many rejected."""
    from harness.seeding import rng

    own = tests[null.measure]
    generator = rng(seed, "validate_procedure", null.measure, null.pair, null.category, part)
    files = generator.multinomial(N_ITEMS, null.shares, size=N_PER_UNIT)
    rejected = np.stack([test.pvalue(files).pvalue <= alpha for test in own], axis=1)
    open_ = np.flatnonzero(rejected.any(axis=1) & ~rejected.all(axis=1))
    verdicts = rejected.all(axis=1)
    for i in open_:
        chosen = choose(files[i], null.measure, own, alpha, seed)
        verdicts[i] = rejected[i, [test.name for test in own].index(chosen)]
    return {"counts": np.array([N_PER_UNIT, len(open_), verdicts.sum()])}


def choose(file: Any, measure: str, tests: list[Any], alpha: float, seed: int) -> str:
    """Return the test that is recommended on a file."""
    from harness.advise.cells import CellPair
    from harness.advise.points import Plan, measure_pair
    from harness.advise.rates import power_table, size_table
    from harness.advise.recommend import recommend
    from harness.runtime.parallel import run_here

    plan = Plan(factors=(1.0,))
    pair = CellPair.of("A-B", file, measure, tests, {}).with_null().with_drawn(plan.n_draws, seed)
    measured, _ = measure_pair(pair, plan, alpha, seed, lambda *_: run_here)
    return recommend(size_table(measured, alpha), power_table(measured), list(pair.tests), alpha).test


def tabulate(nulls: list[Null], counts: np.ndarray) -> pd.DataFrame:
    """Return sizes with their intervals for each null, for all of a measure, and for all."""
    table = pd.DataFrame([null._asdict() for null in nulls]).drop(columns="shares")
    table[list(SUMMED)] = counts
    sums = [part[list(SUMMED)].sum().to_dict() | {"measure": m} for m, part in table.groupby("measure")]
    sums.append(table[list(SUMMED)].sum().to_dict() | {"measure": "all"})
    table = pd.concat([table, pd.DataFrame(sums).assign(pair="all", category="all")], ignore_index=True)
    table["size"] = table["n_rejected"] / table["n_files"]
    table["mc_low"], table["mc_high"] = clopper_pearson(
        table["n_rejected"].to_numpy(dtype=int), table["n_files"].to_numpy(dtype=int)
    )
    table.insert(2, "models", table["pair"].map(PAIRS).fillna("all"))
    table.insert(4, "n_documents", N_ITEMS)
    return table


def measure_procedure(
    out: Path, population: Path, n_files: int, seed: int, alpha: float, tests: dict[str, list[Any]]
) -> pd.DataFrame:
    """Write the table and its provenance to a folder, and return the table."""
    from harness.evaluation.rates import write_table
    from harness.runtime.parallel import Workers, make_run
    from harness.runtime.provenance import describe_software, write_provenance
    from harness.runtime.store import Store

    nulls, parts = find_nulls(population), -(-n_files // N_PER_UNIT)
    units = [(null, part, seed, alpha) for null in nulls for part in range(parts)]
    software = describe_software()
    store = Store(Path(".harness-cache"))  # a run takes hours, and may be interrupted
    run = make_run(Workers(), store, "validate_procedure", software["git_commit"], seed, alpha)
    found = run(
        judge_files, units, [repr(unit[:2]) for unit in units], shared=lambda: tests, threads=False,
        description="files",
    )  # fmt: skip
    counts = np.stack([one["counts"] for one in found]).reshape(len(nulls), parts, -1).sum(axis=1)
    table = tabulate(nulls, counts)
    out.mkdir(parents=True, exist_ok=True)
    write_table(table, out / "procedure.csv")
    command = f"python scripts/validate.py advise --procedure results/{out.name} --n-files {n_files}"
    facts = {"finished": True, "command": f"{command} --seed {seed} --alpha {alpha:g}", **software}
    write_provenance(out, facts)
    return table
