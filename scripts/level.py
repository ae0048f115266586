"""Size and power of tests of equal F1 where every set can be listed: few documents tell A from B.

    python scripts/level.py --out results/level [--workers 2]
    python scripts/level.py --out results/level --figure      # only draws it anew, from the tables there

The four kinds of documents that one classifier alone gets right are Poisson counts, and a negative weighs J =
F1 / (2 - F1) of a positive, J known. Every set with up to LISTED such documents is tested; sizes and powers
are sums over these sets, without any simulation. Populations are those of the committed outcomes, at each
number of documents where at most EXPECTED such documents are expected; J is rounded to one of WEIGHTS.

`learned` is the estimated test by another statistic, an average power (Andrews & Ploberger 1994,
Econometrica 62, 1383-1414): how likely a set is on average in RCV1's populations with a J near this one, over
how likely it is on average in their nulls, each with gamma distributed expected counts.

`gamma.csv` has what the guaranteed test keeps of the estimated one's rejections, by the probability that its
region misses the null: on sets of natural categories whose estimated p is between alpha / 4 and alpha.

`worst.csv` has the largest size of each test over many nulls, by J. `tests.csv` has, by corpus, the largest
size and the mean power of each test, and two upper bounds on the mean power of any test that holds its level
at the nulls of the corpus and at N_NULLS random ones: the values of linear programmes (that of Elliott,
Müller & Watson 2015, Econometrica 83, 771-811, on these nulls). A programme may reject sets that say nothing
with a small probability, and so gets power where a document or two are expected; `bound_of_evidence` is that
of tests that reject only sets whose likelihood ratio has p <= .15, and with a set all that have a document
more for the same side, or one less for the other. `nearly_optimal` is the one for RCV1, of any test.
"""

import argparse
import json
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy import sparse, special
from scipy.optimize import linprog
from scipy.stats import nbinom
from tqdm import tqdm

from harness.drawing.style import style_of
from harness.nulls import project
from harness.nulls.projection import NoProjection
from harness.significance import worst_null as region
from harness.significance.likelihood_ratio import likelihood_ratio, score
from harness.significance.result import chi_square_upper
from harness.significance.unconditional import f1, unconditional
from harness.significance.wald import wald
from harness.significance.weighted import (
    PSEUDO_COUNT,
    bartlett,
    fit,
    kinds,
    multiplier,
    root_change,
    signed,
    statistic,
)

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Counts = NDArray[np.int64]
RESULTS = Path(__file__).resolve().parents[1] / "results"
CORPORA = {"rcv1": "nips2005-slice", "reuters": "reuters21578", "arxiv": "arxiv"}
SIZES = (100, 300, 1000, 3000, 6000)
WEIGHTS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
ALPHAS = (0.05, 0.01)
LISTED, EXPECTED = 22, 9.0
GAMMAS, N_FILES, MOST_DISCORDANT = (1e-2, 1e-3, 1e-4, 1e-5), 60, 30
N_NULLS, N_REFINED = 4000, 400
N_FIRST, N_MORE, FORGOTTEN = 100, 40, 1e-4
PSEUDO_COUNTS = (0.05, 0.25, 1.0)
NEAR_J, GAMMA_SHAPE, LEAST_EXPECTED = 0.75, 2.0, 0.02
TURNED = [2, 3, 0, 1]
AT_ONCE = 500
DRAWN = {
    "wald": ("Wald", "wald_f1"),
    "likelihood_ratio": ("likelihood ratio", "likelihood_ratio_f1"),
    "bartlett_0.25": ("with Bartlett's correction", "likelihood_ratio_f1_bartlett"),
    "signed_root_0.25": ("signed root", "signed_root_f1"),
    "estimated_0.25": ("estimated", "f1_estimated"),
}
MEANS = ["power", "bound", "bound_of_evidence"]
CELLS = [f"e{i}" for i in range(1, 9)]


# --- every set, and its p-values ---------------------------------------------------------------------


def every_set() -> Counts:
    """Return the counts (e3, e6, e2, e7) of every set, (4, n_sets)."""
    grid = np.indices((LISTED + 1,) * 4).reshape(4, -1)
    return grid[:, grid.sum(axis=0) <= LISTED]


def as_cells(counts: Counts, weight: float) -> Counts:
    """Return e1..e8 of sets so large that the four counts change neither J nor anything else."""
    cells = np.zeros((counts.shape[1], 8), dtype=np.int64)
    cells[:, [2, 5, 1, 6]] = counts.T
    cells[:, 0], cells[:, 3], cells[:, 7] = round(weight * 10**6), round((1 - weight) * 10**6), 10**7
    return cells


def corrected(counts: Floats, weight: Floats, pseudo_count: float) -> Floats:
    """p-values of the likelihood ratio with Bartlett's correction, by another pseudo-count."""
    found = statistic(counts, weight, multiplier(counts, weight))
    return chi_square_upper(found / bartlett(fit(counts, weight, pseudo_count), weight))


def with_pseudo_observations(counts: Floats, weight: Floats, pseudo_count: float) -> Floats:
    """p-values of Wald's test with `pseudo_count` documents more of each kind in its variance."""
    weights = signed(weight)
    variance = ((counts + pseudo_count) * weights**2).sum(axis=0)
    return chi_square_upper((counts * weights).sum(axis=0) ** 2 / variance)


def signed_root(counts: Floats, weight: Floats, pseudo_count: float) -> Floats:
    """p-values of the signed root with Barndorff-Nielsen's correction, by another pseudo-count."""
    root = np.sqrt(statistic(counts, weight, multiplier(counts, weight)))
    return chi_square_upper(np.maximum(root + root_change(counts, weight, pseudo_count), 0) ** 2)


def pvalues(counts: Counts, weight: float, rcv1: dict[float, "Populations"]) -> dict[str, Floats]:
    """Return the p-values of each test on every set."""
    cells, weights = as_cells(counts, weight), np.full(counts.shape[1], weight)
    of_counts = counts.astype(float)
    found = {
        "wald": wald(cells, "f1").pvalue,
        "likelihood_ratio": likelihood_ratio(cells).pvalue,
        "score": score(cells).pvalue,
        "wald_pseudo_0.5": with_pseudo_observations(of_counts, weights, 0.5),
        "wald_pseudo_1": with_pseudo_observations(of_counts, weights, 1.0),
    }
    worth = (found["likelihood_ratio"] < 0.35) & (found["likelihood_ratio"] > 1e-4)
    for pseudo_count in PSEUDO_COUNTS:
        found[f"bartlett_{pseudo_count:g}"] = corrected(of_counts, weights, pseudo_count)
        found[f"signed_root_{pseudo_count:g}"] = signed_root(of_counts, weights, pseudo_count)
        estimated = found["likelihood_ratio"].copy()
        estimated[worth] = unconditional(cells[worth], pseudo_count=pseudo_count).pvalue
        found[f"estimated_{pseudo_count:g}"] = estimated
    found["learned"] = found["likelihood_ratio"].copy()
    found["learned"][worth] = estimated_by(learned(counts, weight, rcv1), counts, weight, worth)
    return found


def learned(counts: Counts, weight: float, rcv1: dict[float, "Populations"]) -> Floats:
    """Return the log of how likely each set is in real populations, over that in their nulls."""
    near = [at for j, at in rcv1.items() if abs(np.log(j / weight)) < NEAR_J]
    real, nulls = (np.concatenate([at[i] for at in near]) for i in (1, 0))
    return np.log(mean_probability(real, counts) / mean_probability(nulls, counts))


def mean_probability(expected: Floats, counts: Counts) -> Floats:
    """Return the mean probability of each set, by populations and by them with A and B exchanged."""
    both = np.maximum(np.concatenate([expected, expected[:, TURNED]]), LEAST_EXPECTED)[..., None]
    by_kind = nbinom.pmf(np.arange(LISTED + 1), GAMMA_SHAPE, GAMMA_SHAPE / (GAMMA_SHAPE + both))
    product = by_kind[:, 0, counts[0]]
    for i in (1, 2, 3):
        product *= by_kind[:, i, counts[i]]
    return np.asarray(product.mean(axis=0))


def estimated_by(evidence: Floats, counts: Counts, weight: float, worth: Bools) -> Floats:
    """Return P(evidence at least as large) under the null fitted to each of the sets that are `worth` it."""
    chosen = counts[:, worth].astype(float)
    expected = fit(chosen, np.full(chosen.shape[1], weight), PSEUDO_COUNT).T
    order = np.argsort(-evidence)
    # sets that are alike but for A and B have the same evidence, but for rounding
    reached = np.searchsorted(-evidence[order], 1e-9 - evidence[worth], side="right") - 1
    found = np.empty(len(reached))
    for start in range(0, len(reached), AT_ONCE):
        part = slice(start, start + AT_ONCE)
        sums = probabilities(expected[part], counts[:, order]).cumsum(axis=1)
        found[part] = np.take_along_axis(sums, reached[part, None], axis=1)[:, 0] / sums[:, -1]
    return found


# --- nulls and populations ---------------------------------------------------------------------------


def probabilities(expected: Floats, counts: Counts) -> Floats:
    """Return the probability of each set, (n_populations, n_sets), by expected counts (n_populations, 4)."""
    log = np.log(np.maximum(expected, 1e-12)) @ counts - special.gammaln(counts + 1).sum(axis=0)
    return np.exp(log - expected.sum(axis=1)[:, None])


def random_nulls(weight: float, rng: np.random.Generator, n: int) -> Floats:
    """Return nulls with at most EXPECTED documents that tell A from B; a quarter of the kinds are missing."""
    expected = np.exp(rng.uniform(np.log(0.02), np.log(EXPECTED), (20 * n, 4)))
    expected[rng.random(expected.shape) < 0.25] = 0
    return balanced(expected, weight, rng)[:n]


def balanced(expected: Floats, weight: float, rng: np.random.Generator) -> Floats:
    """Return those rows that become nulls with one kind, drawn at random, made to fit."""
    weights, rows = signed(np.array([weight]))[:, 0], np.arange(len(expected))
    free = rng.integers(4, size=len(expected))
    others = expected @ weights - expected[rows, free] * weights[free]
    expected = expected.copy()
    expected[rows, free] = -others / weights[free]
    total = expected.sum(axis=1)
    return expected[(expected[rows, free] >= 0) & (total > 0.2) & (total <= EXPECTED)]


class Populations(NamedTuple):
    """Expected counts of populations, (n, 4), under the null and in truth; 1 where A is better, or -1."""

    nulls: Floats
    real: Floats
    sign: Floats


def of_corpus(name: str) -> Iterator[tuple[float, Floats, Floats, float]]:
    """Yield J, the expected counts under the null and in truth, and the sign of the difference."""
    table = pd.read_csv(RESULTS / CORPORA[name] / "outcomes.csv")
    table = table[table["balance"].isin(["natural", "meta"]) & (table["e1"] > 0)]
    for cells, difference in zip(table[CELLS].to_numpy(float), table["f1_a"] - table["f1_b"], strict=True):
        if difference == 0:
            continue
        try:
            null = project(cells / cells.sum(), "f1")
        except NoProjection:  # no document is in favour of one of the two
            continue
        weight = (2 * null[0] + null[1] + null[2]) / (2 * null[:5].sum() + null[5] + null[6])
        for n in SIZES:
            expected = [n * kinds(p[None])[:, 0] for p in (null, cells / cells.sum())]
            if 0.5 < min(p.sum() for p in expected) and max(p.sum() for p in expected) <= EXPECTED:
                yield float(weight), expected[0], expected[1], float(np.sign(difference))


def populations(name: str) -> dict[float, Populations]:
    """Return the populations of a corpus by the J of WEIGHTS that is nearest."""
    found: dict[float, list[tuple[Floats, Floats, float]]] = {weight: [] for weight in WEIGHTS}
    for weight, null, real, sign in of_corpus(name):
        near = min(WEIGHTS, key=lambda near, weight=weight: abs(np.log(near / weight)))
        scale = np.array([1, weight / near, 1, weight / near])  # the null stays one
        found[near].append((null * scale, real * scale, sign))
    return {
        weight: Populations(*(np.array(column) for column in zip(*rows, strict=True)))
        for weight, rows in found.items()
        if rows
    }


# --- sizes, powers, and the bound --------------------------------------------------------------------


def worst_null(rejected: Floats, weight: float, counts: Counts, nulls: Floats) -> tuple[float, Floats]:
    """Return the largest size over the nulls and over some near the worst of them, and its null."""
    rng = np.random.default_rng([2, round(100 * weight)])
    for spread in (0.3, 0.1, 0):
        sizes = probabilities(nulls, counts) @ rejected
        worst = nulls[sizes.argmax()]
        near = balanced(worst * np.exp(spread * rng.standard_normal((N_REFINED, 4))), weight, rng)
        nulls = np.concatenate([worst[None], near])
    return float(sizes.max()), worst


def power_bound(
    alternatives: Floats, nulls: Floats, alpha: float, allowed: Bools, pairs: Counts
) -> tuple[float, Floats]:
    """Return the largest mean power of a test with size at most alpha at each null, and the test.

    `alternatives` (n_sets,) is the mean probability of each set, `nulls` (n_nulls, n_sets), `allowed` which
    sets may be rejected; the second set of each of the `pairs` (2, n_pairs) is rejected as often as the first
    or oftener. Nulls are added while one is worse than allowed by more than 1 %: with fewer the value is only
    larger. Sets that hardly ever occur count as if rejected.
    """
    order = np.argsort(alternatives)
    rare = order[np.cumsum(alternatives[order]) < FORGOTTEN * alternatives.sum()]
    (kept,) = np.nonzero(allowed & ~np.isin(np.arange(len(order)), rare))
    place = np.full(len(order), -1)
    place[kept] = np.arange(len(kept))
    first, second = place[pairs[:, (place[pairs] >= 0).all(axis=0)]]
    eye = sparse.eye_array(len(kept), format="csr")
    in_order = eye[first] - eye[second]
    chosen = list(range(N_FIRST))
    while True:
        programme = {
            "c": -alternatives[kept],
            "A_ub": sparse.vstack([sparse.csr_array(nulls[np.ix_(chosen, kept)]), in_order]),
            "b_ub": np.concatenate([np.full(len(chosen), alpha), np.zeros(len(first))]),
            "bounds": (0, 1),
        }
        found = linprog(**programme, method="highs-ds")
        if found.x is None:  # the simplex method gives up now and then, where sets are very rare
            found = linprog(**programme, method="highs-ipm")
        if found.x is None:
            raise RuntimeError(f"a programme of {len(chosen)} nulls has no solution: {found.message}")
        test = np.zeros(len(alternatives))
        test[kept] = found.x
        sizes = nulls @ test
        worse = [i for i in np.argsort(-sizes)[:N_MORE].tolist() if sizes[i] > 1.01 * alpha]
        if not set(worse) - set(chosen):
            return float(-found.fun + alternatives[rare].sum()), test
        chosen += [i for i in worse if i not in chosen]


def of_weight(weight: float, corpora: dict[str, dict[float, Populations]]) -> list[dict[str, object]]:
    """Return the rows of one J: the worst null of each test, and each test's power on each corpus."""
    counts = every_set()
    favours = np.sign(signed(np.array([weight]))[:, 0] @ counts)
    nulls = random_nulls(weight, np.random.default_rng([1, round(100 * weight)]), N_NULLS)
    tests = pvalues(counts, weight, corpora["rcv1"])
    rows: list[dict[str, object]] = []
    for alpha in ALPHAS:
        verdicts = {name: (pvalue <= alpha).astype(float) for name, pvalue in tests.items()}
        for name, rejected in verdicts.items():
            size, null = worst_null(rejected, weight, counts, nulls)
            rows.append({"weight": weight, "alpha": alpha, "test": name, "size": size, **named(null)})
        learned = None
        evidence = tests["likelihood_ratio"] <= 0.15
        for corpus, by_weight in corpora.items():
            if weight in by_weight:
                at = by_weight[weight]
                bound, optimal = best(at, nulls, counts, favours, alpha)
                of_evidence, _ = best(at, nulls, counts, favours, alpha, evidence)
                learned = optimal if learned is None else learned
                common = {"weight": weight, "alpha": alpha, "corpus": corpus, "bound": bound}
                common["bound_of_evidence"] = of_evidence
                more = {**verdicts, "nearly_optimal": learned}
                rows += [
                    {**common, "test": name, **powers(at, counts, favours, test)}
                    for name, test in more.items()
                ]
    return rows


def named(null: Floats) -> dict[str, float]:
    return dict(zip(("e3", "e6", "e2", "e7"), null.tolist(), strict=True))


def best(
    at: Populations,
    nulls: Floats,
    counts: Counts,
    favours: Floats,
    alpha: float,
    evidence: Bools | None = None,
) -> tuple[float, Floats]:
    """Return the bound on the mean power in the right direction, and its test.

    The better classifier is called A, and a test does not take sides: what it rejects in favour of A it
    rejects in favour of B where they are exchanged. A test of `evidence` rejects only such sets, and with a
    set those that say more.
    """
    real = np.where(at.sign[:, None] > 0, at.real, at.real[:, TURNED])
    place = {tuple(row): i for i, row in enumerate(counts.T.tolist())}
    (for_a,) = np.nonzero(favours > 0)
    for_b = np.array([place[tuple(row)] for row in counts[TURNED][:, for_a].T.tolist()])
    sizes = probabilities(np.concatenate([at.nulls, nulls]), counts)
    alternatives = probabilities(real, counts).mean(axis=0)[for_a]
    allowed = np.ones(len(for_a), dtype=bool) if evidence is None else evidence[for_a]
    pairs = np.empty((2, 0), dtype=int) if evidence is None else that_say_more(counts[:, for_a])
    bound, test = power_bound(alternatives, sizes[:, for_a] + sizes[:, for_b], alpha, allowed, pairs)
    whole = np.zeros(len(favours))
    whole[for_a] = whole[for_b] = test
    return bound, whole


def that_say_more(counts: Counts) -> Counts:
    """Return the places (2, n_pairs) of sets, and of those that favour A by one document more."""
    place = {tuple(row): i for i, row in enumerate(counts.T.tolist())}
    steps = np.diag([1, 1, -1, -1])[:, :, None]
    ends = [place.get(tuple(row), -1) for more in counts + steps for row in more.T.tolist()]
    pairs = np.array([np.tile(np.arange(counts.shape[1]), len(steps)), ends])
    return pairs[:, pairs[1] >= 0]


def powers(at: Populations, counts: Counts, favours: Floats, rejected: Floats) -> dict[str, float]:
    """Return the sizes and the mean power of a test over populations."""
    sizes = probabilities(at.nulls, counts) @ rejected
    right = favours == at.sign[:, None]
    found = (probabilities(at.real, counts) * right) @ rejected
    return {"n_populations": len(sizes), "size": float(sizes.max()), "power": float(found.mean())}


# --- the level of Berger and Boos's region -----------------------------------------------------------


def draw_files(name: str, alpha: float, rng: np.random.Generator) -> Counts:
    """Return sets (n, 8) of a corpus for which the estimated test has a p-value of alpha / 4 to alpha."""
    table = pd.read_csv(RESULTS / CORPORA[name] / "outcomes.csv")
    cells = table.loc[table["balance"] == "natural", CELLS].to_numpy(float)
    found: list[Counts] = []
    while len(found) < N_FILES:
        row, n = cells[rng.integers(len(cells))], int(rng.choice(SIZES))
        drawn = rng.multinomial(n, row / row.sum(), 20)
        few = (drawn[:, [1, 2, 5, 6]].sum(axis=1) <= MOST_DISCORDANT) & (drawn[:, 0] > 0)
        p = f1(drawn[few]).pvalue
        found += list(drawn[few][(alpha / 4 < p) & (p <= alpha)][:1])
    return np.array(found)


def guaranteed_by(gamma: float, cells: Counts) -> Floats:
    """Return the guaranteed test's p-values with another probability to miss the null."""
    kept, region.GAMMA = region.GAMMA, gamma
    region.guaranteed.cache_clear()
    found = np.asarray(f1(cells, "berger_boos").pvalue)
    region.GAMMA = kept
    region.guaranteed.cache_clear()
    return found


def of_gamma(name: str, alpha: float) -> list[dict[str, object]]:
    """Return what the guaranteed test keeps of the rejections of the estimated one, by gamma."""
    files = draw_files(
        name, alpha, np.random.default_rng([3, list(CORPORA).index(name), round(1000 * alpha)])
    )
    fitted = f1(files).pvalue
    found = {gamma: guaranteed_by(gamma, files) for gamma in GAMMAS}
    return [
        {"corpus": name, "alpha": alpha, "gamma": gamma, "n_files": len(files),
         "rejected": (p <= alpha).mean(), "times": np.median(p / fitted)}
        for gamma, p in found.items()
    ]  # fmt: skip


# --- tables ------------------------------------------------------------------------------------------


def by_corpus(rows: pd.DataFrame) -> pd.DataFrame:
    """Return one row a corpus, test and alpha: all J together, each population counted once."""

    def together(part: pd.DataFrame) -> pd.Series:
        means = {name: np.average(part[name], weights=part["n_populations"]) for name in MEANS}
        worst = {"n_populations": part["n_populations"].sum(), "worst_size": part["size"].max()}
        return pd.Series({**worst, **means})

    keys = ["corpus", "alpha", "test"]
    columns = ["n_populations", "size", *MEANS]
    found = rows.groupby(keys, sort=False)[columns].apply(together).reset_index()
    return found.assign(share_of_bound=found["power"] / found["bound_of_evidence"])


def draw(worst: pd.DataFrame, path: Path) -> None:
    """Draw the largest size of a few tests by J, one panel an alpha."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, panels = plt.subplots(1, len(ALPHAS), figsize=(7, 2.8), layout="constrained")
    for panel, alpha in zip(panels, ALPHAS, strict=True):
        panel.axhspan(0.8 * alpha, 1.2 * alpha, color="#e8e8e8")
        for test, (label, style) in DRAWN.items():
            part = worst[(worst["test"] == test) & (worst["alpha"] == alpha)].sort_values("weight")
            panel.plot(part["weight"], part["size"], label=label, **style_of(style).line())
        panel.set(xlabel="J = F1 / (2 - F1)", title=f"alpha = {alpha:g}", ylim=(0, 4 * alpha))
    panels[0].set_ylabel("largest size over all nulls")
    panels[0].legend(fontsize=7, frameon=False)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def main() -> None:
    """Write the tables and the figure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--out", type=Path, default=RESULTS / "level")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--figure", action="store_true", help="only draw the figure anew")
    options = parser.parse_args()
    if not options.figure:
        write_tables(options.out, options.workers)
    draw(pd.read_csv(options.out / "worst.csv"), options.out / "worst.png")


def write_tables(out: Path, workers: int) -> None:
    """Write both tables, and what they were made with."""
    corpora = {name: populations(name) for name in CORPORA}
    jobs = (delayed(of_weight)(weight, corpora) for weight in WEIGHTS)
    parts = Parallel(n_jobs=workers, return_as="generator")(jobs)
    rows = pd.DataFrame([row for part in tqdm(parts, total=len(WEIGHTS)) for row in part])
    out.mkdir(parents=True, exist_ok=True)
    worst = rows[rows["corpus"].isna()].drop(columns=["corpus", "n_populations", *MEANS])
    worst.to_csv(out / "worst.csv", index=False, float_format="%.6g")
    tests = by_corpus(rows[rows["corpus"].notna()])
    tests.to_csv(out / "tests.csv", index=False, float_format="%.6g")
    jobs = (delayed(of_gamma)(name, alpha) for name in CORPORA for alpha in ALPHAS)
    gammas = [row for part in Parallel(n_jobs=workers)(jobs) for row in part]
    pd.DataFrame(gammas).to_csv(out / "gamma.csv", index=False, float_format="%.6g")
    settings = {
        "listed": LISTED,
        "expected": EXPECTED,
        "n_nulls": N_NULLS,
        "sizes": SIZES,
        "weights": WEIGHTS,
        "gammas": GAMMAS,
        "n_files": N_FILES,
    }
    record = {"command": "python scripts/level.py --out results/level", "settings": settings}
    record["versions"] = {name: version(name) for name in ("numpy", "scipy", "pandas")}
    (out / "provenance.json").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
