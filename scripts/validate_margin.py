"""Prove the advice on a margin: the true size of the recommended test there, and its power where d is 0.

    python scripts/validate.py margin FOLDER [--n-populations 40] [--n-sets 10000]

Populations are of four kinds in turn: the error of items, F1 of items, the error or F1 of items in clusters
(as `validate.py clusters` has them), and scores. In each one system is better, by 1.5 to 4.5 standard
errors of a file's difference where that can be, and this difference is the margin. A user's file is drawn;
the advisor sees it alone and recommends a test, with 20 populations for the range of a size. On sets from
the population its true size is how often it shows that the worse system is not worse by more than the
margin, and beside it how often that both are the same to within it; its power is how often it shows the
latter on sets from the population's null, where the difference is 0. FOLDER receives `margin.csv`, a row
for each population. Wanted: a true size of at most 1.2 alpha in 9 of 10.
"""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from validate_clusters import as_outcomes, draw_case, draw_clusters
from validate_kept import Part

from harness.intervals import clopper_pearson

ALPHA = 0.05
KINDS = ("error", "F1", "clusters", "scores")
N_POOL = 500
ROUNDS, FARTHEST = 12, 0.95
NUMBERS = (
    "n_units", "margin", "in_se", "size_on_file", "true_size", "true_size_same", "wald", "power_same",
    "power_same_on_file",
)  # fmt: skip


class Drawn(NamedTuple):
    """A population: what is compared, how many units a file has, and all units.

    Rows are the cells e1..e8 of clusters, or two scores of items; of items with labels there is one row, the
    shares of the cells.
    """

    kind: str
    measure: str
    n_units: int
    rows: np.ndarray


def draw_population(place: int, lean: float, seed: int) -> Drawn:
    """Draw a population; A is better the more, the larger `lean`, from -1 to 1, and neither is at 0."""
    from harness.seeding import rng

    kind, generator = KINDS[place % 4], rng(seed, "validate_margin", place, "population")

    def between(low: float, high: float) -> float:
        return float(np.exp(generator.uniform(np.log(low), np.log(high))))

    if kind == "clusters":
        case = draw_case(place // 4, seed)
        shares = np.array(case.shares)
        shares[[2, 5]] *= 1 + lean
        shares[[1, 6]] *= 1 - lean
        cells = draw_clusters(case._replace(shares=shares), generator)[:N_POOL]
        return Drawn(kind, case.measure, case.n_clusters, cells)
    if kind == "scores":
        items = generator.beta(*generator.uniform(0.5, 2, 2), N_POOL)
        noise = generator.gamma(generator.uniform(0.3, 3, (2, 1)), 1, (2, N_POOL))
        noise = between(0.03, 0.2) * (noise - noise.mean(axis=1, keepdims=True))
        scores = items + noise + 0.3 * lean * np.array([[1], [0]])
        return Drawn(kind, "score", round(between(25, 500)), np.clip(scores, 0, 1).round(3).T)
    n, positives, differ = round(between(200, 5000)), between(0.05, 0.5), between(0.02, 0.3)
    right, alarms = between(0.4, 0.9), between(0.01, 0.2)
    alike, a, b = 1 - differ, differ * (1 + lean) / 2, differ * (1 - lean) / 2
    of_positives = np.array([right * alike, b, a, (1 - right) * alike])
    of_negatives = np.array([alarms * alike, alarms * a, alarms * b, 1 - alarms])
    rows = np.concatenate([positives * of_positives, (1 - positives) * of_negatives])
    return Drawn(kind, kind.lower(), n, rows[None] / rows.sum())


def as_pair(drawn: Drawn, rows: np.ndarray, question: Any) -> Any:
    """Return both systems on units; of items with labels the row is how many are in each cell."""
    from harness.advise.files.predictions import Outcomes
    from harness.advise.files.scores import Scores
    from harness.two_systems import make_pair

    if drawn.kind == "clusters":
        return make_pair(as_outcomes(rows), question, None)
    if drawn.kind == "scores":
        return make_pair(Scores("", {"a": rows[:, 0], "b": rows[:, 1]}), question, None)
    cell, counts = np.arange(8), rows[0].astype(np.int64)
    outcomes = Outcomes(cell < 4, {"a": cell % 2 == 0, "b": cell // 2 % 2 == 0}, counts, "")
    return make_pair(outcomes, question, None).with_null().with_drawn(question.plan.n_draws, question.seed)


def spread(drawn: Drawn) -> float:
    """Return the size of a population's difference in standard errors of a file's."""
    from harness.advise.documents.scores import score_kinds
    from harness.advise.documents.tests import Kinds

    cells, weights = drawn.rows[:, None], np.full(len(drawn.rows), 1 / len(drawn.rows))
    if len(drawn.rows) == 1:
        cells, weights = np.eye(8, dtype=int)[:, None], drawn.rows[0]
    kinds = Kinds(cells, drawn.measure)
    if drawn.kind == "scores":
        kinds, counts = score_kinds(*drawn.rows.T, None)
        weights = counts / counts.sum()
    terms = kinds.terms
    deviation = np.sqrt(weights @ terms.influence(weights) ** 2)
    return float(abs(terms.difference(weights)) / deviation * np.sqrt(drawn.n_units))


def find_population(place: int, seed: int) -> Drawn:
    """Return a population with a difference of the size drawn for it, or the largest that there is."""
    from harness.seeding import rng

    wanted, sign = rng(seed, "validate_margin", place, "wanted").uniform(1.5, 4.5), (1, -1)[place // 4 % 2]
    low, high = 0.0, FARTHEST
    for _ in range(ROUNDS):
        lean = (low + high) / 2
        drawn = draw_population(place, sign * lean, seed)
        low, high = (lean, high) if spread(drawn) < wanted else (low, lean)
    return drawn


def draw_file(drawn: Drawn, whole: Any, shares: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Return a file's units."""
    counts = generator.multinomial(drawn.n_units, shares)
    if len(drawn.rows) == 1:
        return counts[None]
    cells = whole.kinds.cells[:, 0]
    return np.repeat(cells[:, [0, 2]] if drawn.kind == "scores" else cells, counts, axis=0)


def judge_case(place: int, seed: int, n_sets: int) -> dict[str, Any]:
    """Ask for advice on a file, and measure the truth."""
    from functools import partial

    from harness.advise.margin import CLAIMS, count_claims, tabulate_margin
    from harness.advise.points import Plan, Point, Question
    from harness.runtime.parallel import run_here
    from harness.seeding import rng

    drawn, ask = find_population(place, seed), partial(Question, "file", alpha=ALPHA, seed=seed)
    rows = drawn.rows * 10**9 if len(drawn.rows) == 1 else drawn.rows
    whole = as_pair(drawn, rows, ask(measure=drawn.measure, plan=Plan(n_draws=1)))
    shares = whole.counts / whole.counts.sum()
    n, d = drawn.n_units, float(whole.difference(shares))
    question = ask(measure=drawn.measure, margin=abs(d), plan=Plan(n_draws=20))
    file = draw_file(drawn, whole, shares, rng(seed, "validate_margin", place, "file"))
    table, _ = tabulate_margin([as_pair(drawn, file, question)], question, lambda *_: run_here)
    advised = table[table["recommended"]].set_index("claim")
    # the claim that is wrong: that the worse system is not worse by more
    wrong = 2 if (d > 0) != (drawn.measure == "error") else 1
    tests = (advised["test"].iloc[0], table["test"].iloc[0])  # the second is Wald's
    point = Point("size", n, 0.0, d, shares, n_sets)
    at = [
        count_claims(whole, one, abs(d), ALPHA, seed, tests)["n_rejected"] / n_sets
        for one in (point, point._replace(role="power", difference=0.0, shares=whole.null))
    ]
    own, same = advised.loc[CLAIMS[wrong]], advised.loc[CLAIMS[0]]
    measured = [*at[0][[wrong, 0], 0], at[0][wrong, 1], at[1][0, 0]]
    numbers = [n, abs(d), spread(drawn), own["size"], *measured, same["power"]]
    told = [drawn.kind, drawn.measure, tests[0], str(own["verdict"])]
    return {"told": np.array(told), "numbers": np.array(numbers, dtype=float)}


def tabulate(n_populations: int, n_sets: int, seed: int, run: Any) -> pd.DataFrame:
    """Return a row for each population."""
    units = [(place, seed, n_sets) for place in range(n_populations)]
    found = run(judge_case, units, [repr(unit) for unit in units], threads=False, description="populations")
    told = pd.DataFrame([one["told"] for one in found], columns=["kind", "measure", "test", "verdict"])
    table = told.join(
        pd.DataFrame([one["numbers"] for one in found], columns=NUMBERS).astype({"n_units": int})
    )
    n_rejected = (table["true_size"] * n_sets).round().astype(int).to_numpy()
    table["n_sets"], (table["mc_low"], table["mc_high"]) = n_sets, clopper_pearson(n_rejected, n_sets)
    return table


def tell(table: pd.DataFrame) -> tuple[str, bool]:
    """Print the table in short; return what is wanted and whether it is met."""
    for kind, own in [*table.groupby("kind"), ("all", table)]:
        sizes = ((own[name].median().round(4), (own[name] > 1.2 * ALPHA).mean().round(3))
                 for name in ("true_size", "true_size_same", "wald"))  # fmt: skip
        print(f"{kind:9} median size and share above 1.2 alpha, recommended, same, wald:", *sizes)
    print(table["test"].value_counts().to_string())
    ok = (table["true_size"] > 1.2 * ALPHA).mean() <= 0.1
    return "at most 10 % above 1.2 alpha", ok


PART = Part("margin", __doc__, tabulate, tell, n_populations=40, n_sets=10_000)
