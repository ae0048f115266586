"""Plausible tables of a run, for the tests of figures and report; the numbers mean nothing."""

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


def n_categories(pair, balance, truth, kind, n, measure, total):
    """How many categories qualify: H0 gets rarer with N, faster for the dissimilar pair."""
    pull = 0.9 if pair.endswith("mlp") else 0.08
    pull *= (1.6 if balance == "natural" else 0.7) * (1.1 if measure == "f1" else 1.0)
    scale = {"exact_zero": 40, "half_document": 8, "margin": 0.3, "scaled_sd": 2}.get(truth, 1)
    share = np.exp(-pull * scale * n / 2500)
    n_true = int(round(total * share))
    return n_true if kind == "size" else total - n_true


def table(
    pairs=PAIRS, balances=("meta", "natural"), truths=TRUTHS, tests=TESTS, alphas=(0.1, 0.05, 0.01),
    sizes=SIZES, total=98, liberal=1.0, prevalences=(), seed=0,
):  # fmt: skip
    """A size_power table; `liberal` multiplies every size."""
    generator = np.random.default_rng(seed)
    places = [(b, float("nan")) for b in balances] + [("reweighted", p) for p in prevalences]
    points = itertools.product(pairs, places, truths, tests, alphas, sizes, ("size", "power"))
    rows = []
    for pair, (balance, prevalence), truth, (measure, test, factor), alpha, n, kind in points:
        point = dict(
            pair=pair, balance=balance, truth=truth, measure=measure, test=test, alpha=alpha, n_documents=n,
            kind=kind, prevalence=prevalence,
        )  # fmt: skip
        count = n_categories(pair, balance, truth, kind, n, measure, total)
        rows.append(point | _rates(generator, point, factor * liberal, count))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _rates(generator, point, factor, count):
    natural, n = point["balance"] == "natural", point["n_documents"]
    found = {"n_categories": count, "n_sets": 500, "degenerate_share": round(0.3 * 100 / n, 4)}
    found["n_dead"] = int(round(min(count, 12 * (100 / n) ** 0.5))) if natural else 0
    if count == 0:
        return found
    if point["kind"] == "size":
        rate = point["alpha"] * factor * (1 - 0.5 * np.exp(-n / 800)) * (1.4 if natural else 1)
    else:
        slope = 2 if point["pair"].endswith("mlp") else 0.5
        rate = min(0.97, 0.5 + 0.09 * np.log10(n / 100) * slope + 0.03 * factor)
    rate = float(np.clip(rate * (1 + 0.02 * generator.standard_normal()), 0, 1))
    half = 1.96 * (rate * (1 - rate) / (500 * count)) ** 0.5
    band = 1.96 * 0.35 * rate / count**0.5
    return found | dict(
        rate=rate, mc_low=max(0, rate - half), mc_high=rate + half, category_low=max(0, rate - band),
        category_high=rate + band, category_sd=0.35 * rate * (100 / n) ** 0.3,
        wrong_direction_rate=0.001 if point["kind"] == "power" else None,
        rate_without_dead=min(1, rate * 1.05),
    )  # fmt: skip


def outcomes(pairs=PAIRS, balances=("meta", "natural"), total=30, seed=0, gap=0.02):
    """An outcomes table: the MLP is poorer than the linear SVM, the RBF SVM close to it."""
    generator = np.random.default_rng(seed)
    rows = []
    for pair, balance, place in itertools.product(pairs, balances, range(total)):
        positive = 4000 if balance == "meta" else int(20 + 800 * generator.random() ** 3)
        share = gap * (5 if pair.endswith("mlp") else 1)
        e2, e3 = int(positive * share * 0.4), int(positive * share)
        cells = [positive - e2 - e3 - positive // 5, e2, e3, positive // 5, positive // 8, e3, e2]
        cells.append(9000 - sum(cells))
        known = [0.8, 0.7, 0.03, 0.04, share * 0.1, 1 - 3 * share]
        rows.append([f"C{place}", pair, balance, float("nan"), *cells, *known])
    measured = ["f1_a", "f1_b", "error_a", "error_b", "disagreement", "error_correlation"]
    cells = [f"e{i}" for i in range(1, 9)]
    return pd.DataFrame(rows, columns=["category", "pair", "balance", "prevalence", *cells, *measured])


def models(total=30):
    rows = [
        [model, f"C{place}", "natural", 1.0, None, 0.7, 3 if place else 2, 0.7, 0.75, 0.66, 0.02]
        for model in ("linear_svm", "rbf_svm", "mlp")
        for place in range(total)
    ]
    names = "model category balance C gamma cv_score n_folds f1 precision recall error"
    return pd.DataFrame(rows, columns=names.split())


def provenance():
    notes = ["Topics follow RCV1's hierarchy and frequencies, words do not", "Rare topics are over-sampled"]
    return {
        "command": "harness run experiment=nips2005 corpus=synthetic", "config": {}, "seed": 7,
        "corpus": {"name": "synthetic", "n_documents": 27613, "n_topics": 103, "fingerprint": "ab" * 32,
                   "notes": notes},
        "split": {"n_train": 7982, "n_true": 19631}, "n_sets": 500, "n_replicates": 5000,
        "n_categories": {"meta": 101, "natural": 98}, "left_out": {"natural": ["GMIL", "E_61"], "meta": []},
        "warnings": ["N/|D_true| is .31 at N = 6000, above .05"],
        "seconds": {"models": 812.3, "size_power": 41.0}, "versions": {"numpy": "2.0"},
    }  # fmt: skip


def write(out, frame=None, *, with_models=True, record=True, **changes):
    """Write the tables of a run to `out` and return it."""
    out.mkdir(parents=True, exist_ok=True)
    (table(**changes) if frame is None else frame).to_csv(out / "size_power.csv", index=False)
    outcomes().to_csv(out / "outcomes.csv", index=False)
    if with_models:
        models().to_csv(out / "models.csv", index=False)
    if record:
        (out / "provenance.json").write_text(json.dumps(provenance()))
    return out


def results_of(table, folder=Path("nowhere"), provenance=None, **tables):
    """A finished run that is known by its table alone, and by others that are given."""
    results = Results(folder)
    vars(results).update(table=table, provenance=provenance or {}, **tables)  # as if they had been read
    return results
