"""Plausible tables of a run under exact nulls, for the tests of its figures and findings."""

import fake_run
import numpy as np
import pandas as pd

from harness.evaluation.null_tables import NULLS, PATH, distribution_table
from harness.evaluation.null_tables import SIZES as BY_CATEGORY
from harness.intervals import clopper_pearson

LEVELS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2)
SIZES = [100, 300, 1000, 3000]
TESTS = [
    *fake_run.TESTS,
    ("f1", "wald_f1", 1.0),
    ("f1", "randomization_f1_midp", 0.95),
    ("error", "mcnemar_midp", 0.9),
    ("error", "unpaired_error", 0.1),
]
KEYS = BY_CATEGORY[: BY_CATEGORY.index("n_sets")]
NAMES = [f"C{place}" for place in range(20)]
SHAPE = {"median": 1.0, "q10": 0.8, "q90": 1.2, "worst": 1.5, "worst_low": 1.3, "worst_again": 1.4}


def size_power(
    pairs=fake_run.PAIRS, balances=("meta", "natural"), sizes=SIZES, tests=TESTS, levels=LEVELS,
    prevalences=(0.01, 0.5),
):  # fmt: skip
    """The table size_power.csv of a run of both nulls; a test's size is `factor` times the level."""
    rows = fake_run.grid(pairs, balances, prevalences, ("exact_null", "joint_null"), tests, levels, sizes)
    rows = rows[(rows["balance"] != "reweighted") | (rows["n_documents"] == 1000)]
    rows = rows[(rows["alpha"] >= 0.01) | ~rows["test"].str.contains("bootstrap")].reset_index(drop=True)
    n, level, factor = rows["n_documents"], rows["alpha"], rows["factor"]
    size, natural = rows["kind"] == "size", rows["balance"] == "natural"
    power = 0.05 + 0.25 * np.log10(n / 50) + 0.15 * np.log10(level / 0.05) + 0.05 * factor
    rate = (level * factor).where(size, power.clip(0, 1))
    share = (50 / n).round(4).where(natural, 0.0)
    there = size | (rows["truth"] == "exact_null")
    rows = rows.assign(
        rate=rate, mc_low=0.95 * rate, mc_high=(1.05 * rate).clip(upper=1), category_low=0.95 * rate,
        category_high=(1.05 * rate).clip(upper=1), category_sd=0.2 * rate, rate_without_dead=rate,
        wrong_direction_rate=0.0, degenerate_share=share, convention_share=share, n_sets=10_000,
        n_categories=np.where(there, 20, 0), n_dead=np.where(there & natural, 3, 0),
    )  # fmt: skip
    shares = ["wrong_direction_rate", "degenerate_share", "convention_share"]
    rows.loc[~there, [*fake_run.RATES, *shares]] = np.nan
    return rows[[*fake_run.COLUMNS, "convention_share"]]


def by_category(table, seed=0, n_sets=10_000):
    """The table size_power_by_category.csv: sizes at .05, spread about the mean."""
    rows = table[(table["alpha"] == 0.05) & (table["n_categories"] > 0)]
    found = pd.concat([rows.assign(category=name) for name in NAMES], ignore_index=True)
    noise = np.random.default_rng(seed).standard_normal(len(found))
    n_rejected = np.rint(np.clip(found["rate"] * (1 + 0.3 * noise), 0, 1) * n_sets).astype(int)
    low, high = clopper_pearson(n_rejected, n_sets)
    dead = (found["balance"] == "natural") & found["category"].isin(NAMES[:3])
    measured = {"rate": n_rejected / n_sets, "mc_low": low, "mc_high": high, "n_rejected": n_rejected}
    measured |= {"n_sets": n_sets, "dead": dead}
    return found.assign(**measured)[[*KEYS, "category", "kind", *measured]]


def size_by_category(rates):
    """The table size_by_category.csv of the rates of categories; again, the worst is a tenth less."""
    table = distribution_table(rates)
    return table.assign(worst_again=0.9 * table["worst"])


def nulls(table, seed=0):
    """The table nulls.csv; category C0 has no exact null for error."""
    generator = np.random.default_rng(seed)
    places = table[["pair", "balance", "prevalence", "truth", "measure"]].drop_duplicates()
    rows = places.merge(pd.DataFrame({"category": NAMES}), how="cross")
    lacks = (rows["category"] == "C0") & (rows["measure"] == "error") & (rows["truth"] == "exact_null")
    found = {f"e{i}": np.where(lacks, np.nan, 0.125) for i in range(1, 9)}
    found |= {"costs": "", "divergence": 0.001, "distance": generator.random(len(rows)) / 20}
    found |= {"disagreement": np.exp(generator.uniform(-7, -3, len(rows)))}
    found |= {"error_correlation": 0.5 + generator.random(len(rows)) / 2}
    return rows.assign(**found, reason=np.where(lacks, "no document favours B", ""))[list(NULLS)]


def path(table):
    """The table power_path.csv at N = 1000."""
    exact = table[(table["truth"] == "exact_null") & (table["kind"] == "size")]
    exact = exact[(exact["n_documents"] == 1000) & exact["prevalence"].isna()]
    parts = []
    for h in (0, 1, 2, 3, 4):
        rate = np.where(h == 0, exact["rate"], np.minimum(0.97, 0.25 * h + 0.02))
        parts.append(exact.assign(h=h, rate=rate, mc_low=rate * 0.97, mc_high=rate * 1.03, n_left_out=h))
    return pd.concat(parts, ignore_index=True)[list(PATH)]


def write(out, table=None, *, rules=False, extras=True, **changes):
    """Write the tables of a run under nulls, with rules too where asked for, and return the folder."""
    table = whole = size_power(**changes) if table is None else table
    if rules:
        beside = fake_run.table(sizes=[100, 1000], alphas=(0.05,), truths=["sampling_interval"])
        beside["convention_share"] = beside["degenerate_share"]
        whole = pd.concat([beside, table], ignore_index=True)
    fake_run.write(out, whole)
    if extras:
        rates = by_category(table)
        rates.to_csv(out / "size_power_by_category.csv", index=False)
        size_by_category(rates).to_csv(out / "size_by_category.csv", index=False)
        nulls(table).to_csv(out / "nulls.csv", index=False)
        path(table).to_csv(out / "power_path.csv", index=False)
    return out


def known_sizes(table):
    """A table size_by_category.csv: a test of 1.3 times the level is liberal in 2 categories after Holm."""
    rows = table[(table["kind"] == "size") & (table["n_categories"] > 0)]
    n_live, liberal = rows["n_categories"] - rows["n_dead"], rows["rate"] > 1.2 * rows["alpha"]
    low, few = rows["rate"] < 0.8 * rows["alpha"], rows["n_sets"] < 2000
    told = {name: rows["rate"] * factor for name, factor in SHAPE.items()} | {
        "worst_category": "C3", "n_holds": n_live.where(~liberal & ~low, 0), "n_undecided": 0,
        "n_liberal": n_live.where(liberal, 0), "n_conservative": n_live.where(low, 0),
        "n_liberal_holm": np.where(liberal, 2, 0),
    }  # fmt: skip
    rows = rows.assign(n_live=n_live, **told)
    rows[list(told)] = rows[list(told)].astype(object).where(~few, np.nan)
    return rows[list(BY_CATEGORY)]


def with_categories(table):
    """The table size_power.csv joined with its size_by_category.csv."""
    names = [name for name in BY_CATEGORY if name not in ("n_sets", "n_categories")]
    beside = known_sizes(table)[names].assign(kind="size")
    return table.merge(beside, how="left", on=[*KEYS, "kind"])
