"""Plausible tables of a run, for the tests of figures and report: its rates mean nothing."""

import itertools
import json
from pathlib import Path

import numpy as np
import pandas as pd

from harness.results.folder import Results
from harness.results.names import COLUMNS

SIZES = [*range(100, 1001, 100), *range(2000, 6001, 1000)]
TESTS = [
    ("f1", "bootstrap_f1_symmetric", 1.0),
    ("f1", "bootstrap_f1", 1.3),
    ("error", "mcnemar", 0.7),
    ("error", "proportion", 0.9),
    ("error", "bootstrap_error_symmetric", 1.05),
    ("error", "bootstrap_error", 1.1),
]
TRUTHS = ["exact_zero", "margin", "half_document", "sampling_interval", "scaled_sd", "population_test"]
PAIRS = ["linear_svm-mlp", "linear_svm-rbf_svm"]
SLICE = Path(__file__).resolve().parent.parent / "results" / "nips2005-slice"
OUTCOMES, MODELS = (pd.read_csv(SLICE / f"{name}.csv") for name in ("outcomes", "models"))
RATES = ["rate", "mc_low", "mc_high", "category_low", "category_high", "category_sd", "rate_without_dead"]


def grid(pairs, balances, prevalences, truths, tests, alphas, sizes):
    """A row for every point; the size of a test is about `factor` times alpha."""
    places = [(balance, np.nan) for balance in balances] + [("reweighted", p) for p in prevalences]
    points = itertools.product(pairs, places, truths, tests, alphas, sizes, ("size", "power"))
    rows = [(pair, *place, truth, *test, *point) for pair, place, truth, test, *point in points]
    names = "pair balance prevalence truth measure test factor alpha n_documents kind".split()
    return pd.DataFrame(rows, columns=names)


def table(
    pairs=PAIRS, balances=("meta", "natural"), truths=TRUTHS, tests=TESTS, alphas=(0.1, 0.05, 0.01),
    sizes=SIZES, total=98, liberal=1.0, prevalences=(), seed=0,
):  # fmt: skip
    """A size_power table; `liberal` multiplies every size."""
    rows = grid(pairs, balances, prevalences, truths, tests, alphas, sizes)
    n, natural, size = rows["n_documents"], rows["balance"] == "natural", rows["kind"] == "size"
    far, factor = rows["pair"].str.endswith("mlp"), rows["factor"] * liberal
    scale = rows["truth"].map({"exact_zero": 40, "half_document": 8, "margin": 0.3, "scaled_sd": 2}).fillna(1)
    pull = scale * np.where(far, 0.9, 0.08) * np.where(natural, 1.6, 0.7)
    true = (total * np.exp(-pull * np.where(rows["measure"] == "f1", 1.1, 1) * n / 2500)).round().astype(int)
    count = true.where(size, total - true)
    power = 0.5 + 0.09 * np.log10(n / 100) * np.where(far, 2, 0.5) + 0.03 * factor
    alpha_true = rows["alpha"] * factor * (1 - 0.5 * np.exp(-n / 800)) * np.where(natural, 1.4, 1)
    noise = np.random.default_rng(seed).standard_normal(len(rows))
    rate = (alpha_true.where(size, power.clip(upper=0.97)) * (1 + 0.02 * noise)).clip(0, 1)
    half, band = 1.96 * (rate * (1 - rate) / (500 * count)) ** 0.5, 0.686 * rate / count**0.5
    rows = rows.assign(
        rate=rate, mc_low=(rate - half).clip(0), mc_high=rate + half, category_low=(rate - band).clip(0),
        category_high=rate + band, category_sd=0.35 * rate * (100 / n) ** 0.3, n_categories=count,
        n_dead=np.minimum(count, 12 * (100 / n) ** 0.5).round().astype(int).where(natural, 0), n_sets=500,
        degenerate_share=(30 / n).round(4), wrong_direction_rate=np.where(size, np.nan, 0.001),
        rate_without_dead=(1.05 * rate).clip(upper=1),
    )  # fmt: skip
    rows.loc[count == 0, [*RATES, "wrong_direction_rate"]] = np.nan
    return rows[list(COLUMNS)]


PROVENANCE = {
    "command": "harness run experiment=nips2005 corpus=synthetic", "config": {}, "seed": 7,
    "corpus": {"name": "synthetic", "n_documents": 27613, "n_topics": 103, "fingerprint": "ab" * 32,
               "notes": ["Words do not follow RCV1", "Rare topics are over-sampled"]},
    "split": {"n_train": 7982, "n_true": 19631}, "n_sets": 500, "n_replicates": 5000,
    "n_categories": {"meta": 101, "natural": 98}, "left_out": {"natural": ["GMIL", "E_61"], "meta": []},
    "warnings": ["N/|D_true| is .31 at N = 6000, above .05"],
    "seconds": {"models": 812.3, "size_power": 41.0}, "versions": {"numpy": "2.0"},
}  # fmt: skip


def write(out, frame=None, *, with_models=True, record=True, **changes):
    """Write the tables of a run to `out` and return it."""
    out.mkdir(parents=True, exist_ok=True)
    (table(**changes) if frame is None else frame).to_csv(out / "size_power.csv", index=False)
    OUTCOMES.to_csv(out / "outcomes.csv", index=False)
    if with_models:
        MODELS.to_csv(out / "models.csv", index=False)
    if record:
        (out / "provenance.json").write_text(json.dumps(PROVENANCE))
    return out


def write_sweep(root, **changes):
    """Write two finished runs that differ in their seed."""
    for seed in (0, 1):
        out = write(root / f"seed-{seed}", table(seed=seed, **changes))
        facts = PROVENANCE | {"finished": True, "overrides": [f"seed={seed}"], "config": {"seed": seed}}
        (out / "provenance.json").write_text(json.dumps(facts))
    return root


def results_of(table, folder=Path("nowhere"), provenance=None, **tables):
    """A finished run that is known by its table alone, and by others that are given."""
    results = Results(folder)
    vars(results).update(table=table, provenance=provenance or {}, **tables)  # as if they had been read
    return results
