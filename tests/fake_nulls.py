"""Plausible tables of a run under exact nulls, for the tests of its figures and findings."""

import itertools

import fake_run
import numpy as np
import pandas as pd

from harness.evaluation.null_tables import PATH, distribution_table
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
REPLICATES = [name for _, name, _ in TESTS if "bootstrap" in name]
KEYS = BY_CATEGORY[: BY_CATEGORY.index("n_sets")]
FIRST = ("n_sets", "n_live", "n_categories")
NAMES = [f"C{place}" for place in range(20)]


def power_rate(alpha, n, factor):
    """A power that rises with N, level and liberality."""
    return float(
        np.clip(0.05 + 0.25 * np.log10(n / 50) + 0.15 * np.log10(alpha / 0.05) + 0.05 * factor, 0, 1)
    )


def _places(pairs, balances, prevalences, sizes):
    places = [(balance, np.nan, sizes) for balance in balances]
    places += [("reweighted", prevalence, [1000]) for prevalence in prevalences]
    return [(pair, *place) for pair in pairs for place in places]


def size_power(
    pairs=fake_run.PAIRS, balances=("meta", "natural"), sizes=SIZES, tests=TESTS, levels=LEVELS,
    prevalences=(0.01, 0.5),
):  # fmt: skip
    """The table size_power.csv of a run of both nulls; a test's size is `factor` times the level."""
    rows = []
    places = _places(pairs, balances, prevalences, sizes)
    points = itertools.product(places, ("exact_null", "joint_null"), tests, levels)
    for (pair, balance, prevalence, grid), truth, (measure, test, factor), alpha in points:
        for n, kind in itertools.product(grid, ("size", "power")):
            if test in REPLICATES and alpha < 0.01:
                continue
            row = {
                "pair": pair, "balance": balance, "prevalence": prevalence, "truth": truth, "test": test,
                "measure": measure, "alpha": alpha, "n_documents": n, "kind": kind, "n_sets": 10_000,
                "n_categories": 0, "n_dead": 0,
            }  # fmt: skip
            if kind == "size" or truth == "exact_null":
                share = round(0.5 * 100 / n, 4) if balance == "natural" else 0.0
                row |= _rates(alpha * factor if kind == "size" else power_rate(alpha, n, factor))
                row |= {"n_categories": 20, "n_dead": 3 if balance == "natural" else 0}
                row |= {"degenerate_share": share, "convention_share": share}
            rows.append(row)
    return pd.DataFrame(rows, columns=[*fake_run.COLUMNS, "convention_share"])


def _rates(rate):
    low, high = max(0.0, rate * 0.95), min(1.0, rate * 1.05)
    return {
        "rate": rate, "mc_low": low, "mc_high": high, "category_low": low, "category_high": high,
        "category_sd": 0.2 * rate, "rate_without_dead": rate, "wrong_direction_rate": 0.0,
    }  # fmt: skip


def by_category(table, seed=0, n_sets=10_000):
    """The table size_power_by_category.csv: sizes at .05, spread about the mean."""
    generator = np.random.default_rng(seed)
    rows = table[(table["alpha"] == 0.05) & (table["n_categories"] > 0)]
    parts = [rows.assign(category=name) for name in NAMES]
    found = pd.concat(parts, ignore_index=True)
    rates = np.clip(found["rate"] * (1 + 0.3 * generator.standard_normal(len(found))), 0, 1)
    found["n_rejected"] = np.rint(rates * n_sets).astype(int)
    found["rate"], found["n_sets"] = found["n_rejected"] / n_sets, n_sets
    found["mc_low"], found["mc_high"] = clopper_pearson(found["n_rejected"], n_sets)
    found["dead"] = (found["balance"] == "natural") & found["category"].isin(NAMES[:3])
    told = ("category", "kind", "rate", "mc_low", "mc_high", "n_rejected", "n_sets", "dead")
    return found[[*KEYS, *told]]


def size_by_category(rates):
    """The table size_by_category.csv of the rates of categories; again, the worst is a tenth less."""
    table = distribution_table(rates)
    return table.assign(worst_again=0.9 * table["worst"])


def nulls(table, seed=0):
    """The table nulls.csv; category C0 has no exact null for error."""
    generator = np.random.default_rng(seed)
    rows = []
    places = table[["pair", "balance", "prevalence", "truth", "measure"]].drop_duplicates()
    for place in places.to_dict("records"):
        for name in NAMES:
            lacks = name == "C0" and place["measure"] == "error" and place["truth"] == "exact_null"
            cells = {f"e{i}": np.nan if lacks else 0.125 for i in range(1, 9)}
            disagreement = float(np.exp(generator.uniform(-7, -3)))
            rows.append(
                place | {"costs": "", "category": name} | cells | {
                    "divergence": 0.001, "distance": generator.random() / 20, "disagreement": disagreement,
                    "error_correlation": 0.5 + generator.random() / 2,
                    "reason": "no document favours B" if lacks else "",
                }
            )  # fmt: skip
    return pd.DataFrame(rows)


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
    table = size_power(**changes) if table is None else table
    whole = table
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


def known_sizes(table, n_fewest=2000, **changes):
    """A table size_by_category.csv: a test of 1.3 times the level is liberal in 2 categories after Holm."""
    rows = table[(table["kind"] == "size") & (table["n_categories"] > 0)].copy()
    n_live, liberal = rows["n_categories"] - rows["n_dead"], rows["rate"] > 1.2 * rows["alpha"]
    low = rows["rate"] < 0.8 * rows["alpha"]
    shape = {"median": 1.0, "q10": 0.8, "q90": 1.2, "worst": 1.5, "worst_low": 1.3, "worst_again": 1.4}
    rows = rows.assign(
        n_live=n_live, **{name: rows["rate"] * factor for name, factor in shape.items()}, worst_category="C3",
        n_holds=np.where(liberal | low, 0, n_live), n_liberal=np.where(liberal, n_live, 0),
        n_conservative=np.where(low, n_live, 0), n_undecided=0, n_liberal_holm=np.where(liberal, 2, 0),
    )  # fmt: skip
    measured = [name for name in BY_CATEGORY if name not in KEYS and not name.startswith("n_")]
    measured += [name for name in BY_CATEGORY if name.startswith("n_") and name not in (*KEYS, *FIRST)]
    rows = rows.assign(**changes)
    rows[measured] = rows[measured].astype(object).where(rows["n_sets"] >= n_fewest, np.nan)
    return rows[list(BY_CATEGORY)]


def with_categories(table, **changes):
    """The table size_power.csv joined with its size_by_category.csv."""
    names = [name for name in BY_CATEGORY if name not in ("n_sets", "n_categories")]
    beside = known_sizes(table, **changes)[names].assign(kind="size")
    return table.merge(beside, how="left", on=[*KEYS, "kind"])
