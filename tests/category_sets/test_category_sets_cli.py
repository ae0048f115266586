"""``harness run experiment=rr0434`` on a small synthetic corpus: what it leaves, and what it refuses."""

import json
import shutil

import pandas as pd
import pytest
from html_page import check_page
from painting import unpainted

from harness.category_sets.study import disjoint_sets, warn
from harness.cli import main

TINY = [
    "experiment=rr0434", "corpus.n_documents=1500", "corpus.n_topics=30", "split.n_train=300",
    "split.n_test=300", "tune.enabled=false", "n_replicates=300", "category_sets.n_subsets=200",
    "category_sets.size=5", "category_sets.calibration.n_draws=70",
    "category_sets.calibration.n_replicates=30", "category_sets.calibration.n_truth_sets=200",
    "category_sets.calibration.n_random=2", "figure=draft", "figure.dpi=40",
]  # fmt: skip
TABLES = ("table3.csv", "histograms.csv", "calibration.csv", "outcomes.csv", "models.csv", "categories.csv")


def run(out, *overrides):
    return main(["run", f"out={out}", *TINY, *overrides])


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rr0434")
    with unpainted():
        assert run(folder / "one", "parallel=sequential", f"cache={folder / 'cache'}") == 0
    return folder / "one"


def test_it_leaves_tables_figures_and_a_summary(finished):
    for name in (
        *TABLES, "summary.md", "provenance.json", "tables/table3.md", "tables/table3.tex",
        "figures/captions.md", "figures/figure1.png", "figures/calibration.png",
    ):  # fmt: skip
        assert (finished / name).stat().st_size > 0
    assert "Table 3" in check_page(finished).headings()
    summary = (finished / "summary.md").read_text()
    for words in (
        "95.6", "82.5", ".400 of their documents", "+0.56", "Verdicts", "Set X, 5 categories", "p = 0.80"
    ):  # fmt: skip
        assert words in summary
    facts = json.loads((finished / "provenance.json").read_text())
    assert facts["finished"] is True
    assert {len(members) for members in facts["category_sets"].values()} == {5}
    assert facts["split"] == {"n_train": 300, "n_test": 300, "n_true": 900}
    assert facts["seconds"]
    assert any("D_true is small" in warning for warning in facts["warnings"])
    table = pd.read_csv(finished / "table3.csv")
    assert (table["n_te"] == 300).all()
    assert (table["n_true"] == 900).all()
    outcomes = pd.read_csv(finished / "outcomes.csv")
    assert (outcomes[[f"e{i}" for i in range(1, 9)]].sum(axis=1) == 900).all()


def test_two_workers_and_kept_models_give_the_same_bytes(finished, tmp_path, undrawn):
    cache = tmp_path / "cache"
    shutil.copytree(finished.parent / "cache", cache, ignore=shutil.ignore_patterns("category_sets*"))
    assert run(tmp_path / "two", "parallel=loky", "parallel.n_jobs=2", f"cache={cache}") == 0
    for name in TABLES:
        assert (tmp_path / "two" / name).read_bytes() == (finished / name).read_bytes(), name
    assert sorted(p.name for p in cache.rglob("*.npz")) == sorted(
        p.name for p in (finished.parent / "cache").rglob("*.npz")
    )


def test_too_few_categories_make_smaller_sets():
    options, parts = {"size": 10, "calibration": {"n_draws": 500}}, {"n_test": 10, "n_true": 1000}
    (warning,) = warn(parts, disjoint_sets(14, 10, seed=0), options, 14)
    assert "hold 4 categories each, not 10" in warning
    assert warn(parts, disjoint_sets(30, 10, seed=0), options, 30) == []
