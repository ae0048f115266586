"""Count how often the ends of what is seen, and of items needed, hold the truth of a known population.

    python scripts/validate.py ends FOLDER [--n-populations 40] [--n-sets 100]

Populations are those of `validate.py margin`, without a difference. From each so many files are drawn; on a
file the advisor draws its 40 populations. What is seen is in proportion to the deviation of the difference,
and items needed to its square, so that the ends hold the truth where those of the deviation do; the noise of
counting is left out on both sides. FOLDER receives `ends.csv`, a row for each population: how often the
deviation of its null is within the ends, below and above them, and within the central 80 % alone. Wanted: at
least 80 % on average, and at least 70 % in 9 of 10.
"""

from typing import Any

import numpy as np
import pandas as pd
from validate_kept import Part
from validate_margin import as_pair, draw_file, draw_population

COUNTS = ("held", "below", "above", "held_by_central")


def judge_case(place: int, seed: int, n_files: int) -> dict[str, Any]:
    """Return how often the ends hold the deviation of a population, and are wrong on either side."""
    from harness.advise.needed import central, deviations, ends_around
    from harness.advise.points import Plan, Question
    from harness.seeding import rng

    drawn, generator = draw_population(place, 0.0, seed), rng(seed, "validate_ends", place, "files")
    rows = drawn.rows * 10**9 if len(drawn.rows) == 1 else drawn.rows
    whole = as_pair(drawn, rows, Question("file", measure=drawn.measure, plan=Plan(n_draws=1), seed=seed))
    shares, truth, found = whole.counts / whole.counts.sum(), whole.deviation(whole.null), []
    for number in range(n_files):
        file = draw_file(drawn, whole, shares, generator)
        question = Question("file", measure=drawn.measure, plan=Plan(), seed=number)
        point, *others = deviations(as_pair(drawn, file, question), 0.0)
        (low, high), alone = ends_around(point, np.array(others), 0.0), central(np.array(others), point)
        found.append((low <= truth <= high, truth < low, truth > high, alone[0] <= truth <= alone[1]))
    return {"told": np.array([drawn.kind, drawn.measure, str(drawn.n_units)]), "held": np.mean(found, axis=0)}


def tabulate(n_populations: int, n_files: int, seed: int, run: Any) -> pd.DataFrame:
    """Return a row for each population."""
    units = [(place, seed, n_files) for place in range(n_populations)]
    found = run(judge_case, units, [repr(unit) for unit in units], threads=False, description="populations")
    told = pd.DataFrame([one["told"] for one in found], columns=["kind", "measure", "n_units"])
    held = pd.DataFrame([one["held"] for one in found], columns=list(COUNTS)).round(6)
    return told.astype({"n_units": int}).assign(n_files=n_files).join(held)


def tell(table: pd.DataFrame) -> tuple[str, bool]:
    """Print the table in short; return what is wanted and whether it is met."""
    print(table.groupby("kind")[list(COUNTS)].agg(["mean", "min"]).round(3).to_string())
    ok = table["held"].mean() >= 0.8 and (table["held"] < 0.7).mean() <= 0.1
    return "at least .8 on average, and .7 in 9 of 10", bool(ok)


PART = Part("ends", __doc__, tabulate, tell, n_populations=40, n_sets=100)
