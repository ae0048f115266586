"""The study end to end on small corpora: the same bytes whatever the workers, and from the stored table."""

import collections
import functools
import json
import sys

import numpy as np
import pandas as pd
import pytest
from composing import tabulated
from html_page import check_page
from painting import unpainted

import harness.run.study  # noqa: F401  where calls are counted
from harness.cli import main
from harness.errors import UserError

TINY = [
    "corpus.n_documents=500", "corpus.n_topics=6", "split.n_train=200", "n_meta_categories=3",
    "tune.enabled=false", "model.mlp.n_epochs=3", "sets.sizes=[50,200]", "sets.n_sets=10",
    "sets.n_truth_sets=100", "n_replicates=100", "figure=draft", "parallel=sequential",
]  # fmt: skip
SMALL = [
    *TINY, "alphas=[0.1,0.05]", "truth=[margin,sampling_interval,population_test]",
    "test=[mcnemar,bootstrap_f1,bootstrap_f1_symmetric,randomization_f1]",
]  # fmt: skip
ALL_BALANCES = (
    "balance=[natural,meta,meta_or,stratified,reweighted]",
    "balance.reweighted.prevalence=[.1,.5]",
)
TABLES = ("outcomes.csv", "size_power.csv", "size_power_by_category.csv")
TRAINED = (*TABLES, "models.csv", "categories.csv")


def study(out, *overrides):
    return tabulated(out, *SMALL, *overrides)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The tables for every balance, made by one process, which keeps its stages."""
    folder = tmp_path_factory.mktemp("study")
    return study(folder / "one", *ALL_BALANCES, f"cache={folder / 'cache'}")


def same_tables(one, other, names=TABLES):
    return all((one / name).read_bytes() == (other / name).read_bytes() for name in names)


def test_workers_do_not_change_a_byte(finished, tmp_path):
    other = study(tmp_path / "loky", *ALL_BALANCES, "parallel=loky", "parallel.n_jobs=2")
    assert same_tables(finished, other, TRAINED)


def test_the_stored_table_gives_the_same_bytes(finished, tmp_path):
    stored = f"population={finished / 'outcomes.csv'}"
    other = study(tmp_path / "again", *ALL_BALANCES, stored)
    assert same_tables(finished, other)
    seed = study(tmp_path / "seed", stored, "balance=[natural]", "test=[mcnemar]", "seed=1")
    rates = [pd.read_csv(out / "size_power.csv") for out in (finished, seed)]
    key = ["pair", "balance", "truth", "test", "alpha", "n_documents", "kind"]
    both = rates[0].merge(rates[1], on=key).dropna(subset=["rate_x", "rate_y"])
    assert (both["rate_x"] != both["rate_y"]).any()


def test_chosen_categories_of_a_stored_table_alone_are_judged(finished, tmp_path):
    stored = f"population={finished / 'outcomes.csv'}"
    held = pd.read_csv(finished / "outcomes.csv")
    names = held.loc[held["balance"] == "natural", "category"].unique()[:2].tolist()
    out = study(tmp_path / "few", stored, f"categories=[{','.join(reversed(names))}]")
    few = pd.read_csv(out / "outcomes.csv")
    expected = held[held["category"].isin(names)].reset_index(drop=True)
    pd.testing.assert_frame_equal(few, expected)
    with pytest.raises(UserError, match="categories: .*outcomes.csv holds no 'nowhere'; choose one of "):
        study(tmp_path / "none", stored, "categories=[nowhere]")


def test_kept_stages_and_fewer_balances_give_the_same_bytes(finished, tmp_path):
    cache = finished.parent / "cache"
    before = sorted(cache.rglob("*.npz"))
    other = study(tmp_path / "second", f"cache={cache}", "balance=[natural,meta]")
    fits = {path for path in cache.rglob("*.npz") if "fit" in path.parts}
    assert fits
    assert fits <= set(before)  # no model is trained again
    for name in ("size_power.csv", "outcomes.csv"):
        full, part = (pd.read_csv(out / name) for out in (finished, other))
        kept = full[full["balance"].isin(["natural", "meta"])].reset_index(drop=True)
        pd.testing.assert_frame_equal(kept, part)


def test_every_balance_has_its_points_and_every_category_counts_for_size_or_for_power(finished):
    table = pd.read_csv(finished / "size_power.csv")
    assert set(table["balance"]) == {"natural", "meta", "meta_or", "stratified", "reweighted"}
    assert set(table.loc[table["balance"] == "reweighted", "prevalence"]) == {0.1, 0.5}
    assert table.loc[table["balance"] != "reweighted", "prevalence"].isna().all()
    known = table[table["n_categories"] > 0]
    assert known["rate"].between(0, 1).all()
    assert (known["mc_low"] <= known["rate"]).all()
    assert (known["rate"] <= known["mc_high"]).all()
    assert table.loc[table["n_categories"] == 0, "rate"].isna().all()
    point = ["pair", "balance", "prevalence", "truth", "measure", "test", "alpha", "n_documents"]
    n_categories = table.groupby(point, dropna=False)["n_categories"].sum().reset_index()
    by_panel = n_categories.groupby(["pair", "balance", "prevalence"], dropna=False)["n_categories"]
    assert (by_panel.nunique() == 1).all()


def test_outcomes_are_those_of_the_models(finished):
    """Two pairs share their model A: its errors and F1 must agree, and match models.csv."""
    outcomes = pd.read_csv(finished / "outcomes.csv")
    models = pd.read_csv(finished / "models.csv").set_index(["model", "balance", "category"])
    natural = outcomes[outcomes["balance"] == "natural"]
    for _, row in natural.iterrows():
        a, b = row["pair"].split("-")
        for model, side in ((a, "a"), (b, "b")):
            known = models.loc[(model, "natural", row["category"])]
            assert known["f1"] == pytest.approx(row[f"f1_{side}"], abs=1e-9)
            assert known["error"] == pytest.approx(row[f"error_{side}"], abs=1e-9)
    assert (outcomes[[f"e{i}" for i in range(1, 9)]].sum(axis=1) == 300).all()


COUNTED = ("read_regular", "rank_tests", "score_truth_rules", "main_findings")


def counting(function, counted):
    @functools.wraps(function)
    def called(first, *others):
        counted[first.name if function.__name__ == "read_regular" else function.__name__] += 1
        return function(first, *others)

    return called


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run with its figures, and how often it read each file and called some functions."""
    out, counted = tmp_path_factory.mktemp("whole") / "run", collections.Counter()
    options = ["balance=[natural,reweighted]", "balance.reweighted.prevalence=[.1]", "alphas=[0.05]"]
    options += ["truth=[margin,exact_null]", "test=[mcnemar,bootstrap_f1]", "nulls.n_sets=40"]
    options += ["nulls.n_pooled=20", "nulls.h=[0,1]", "pairs=[linear_svm-rbf_svm]"]
    with unpainted(), pytest.MonkeyPatch.context() as patch:
        for module in [module for name, module in sys.modules.items() if name.startswith("harness.")]:
            for name in set(COUNTED) & set(vars(module)):
                patch.setattr(module, name, counting(vars(module)[name], counted))
        assert main(["run", f"out={out}", "cache=null", *TINY, *options]) == 0
    return out, counted


def test_tables_are_read_once_and_what_follows_from_them_is_worked_out_once(whole):
    once = ("size_power.csv", "outcomes.csv", *COUNTED[1:])
    assert {name: whole[1][name] for name in once} == dict.fromkeys(once, 1)


def test_a_run_leaves_figures_a_page_and_its_record(whole):
    out, _ = whole
    assert list((out / "figures").glob("*prevalence*.png"))
    assert "Tests where H0 holds exactly" in check_page(out).headings()
    facts = json.loads((out / "provenance.json").read_text())
    assert facts["finished"] is True
    assert facts["seed"] == 0
    assert facts["split"] == {"n_train": 200, "n_test": 0, "n_true": 300}
    assert len(facts["corpus"]["fingerprint"]) == 64
    assert facts["versions"]["numpy"] == np.__version__
    assert facts["versions"]["BLAS"]
    assert facts["config"]["test"]["bootstrap_f1"]["n_replicates"] == 100
    assert "parallel" not in facts["config"]
    assert facts["seconds"]


@pytest.mark.slow
def test_the_smoke_preset_runs_every_stage(tmp_path):
    assert main(["run", "experiment=smoke", f"out={tmp_path / 'smoke'}", "cache=null"]) == 0
    for name in (*TABLES, "models.csv", "summary.md", "figures/figure1.png", "tables/truth_rules.md"):
        assert (tmp_path / "smoke" / name).stat().st_size > 0


@pytest.mark.slow
def test_the_slice_runs(data_folder, tmp_path):
    overrides = [
        "corpus=lyrl", f"corpus.path={data_folder / 'rcv1-slice'}", "split.n_train=1500",
        "tune.enabled=false", "n_meta_categories=4", "sets.sizes=[200]", "sets.n_sets=20",
        "n_replicates=200", "alphas=[0.05]", "figure=draft",
    ]  # fmt: skip
    assert main(["run", f"out={tmp_path / 'slice'}", "cache=null", *overrides]) == 0
    models = pd.read_csv(tmp_path / "slice" / "models.csv")
    linear = models[(models["model"] == "linear_svm") & (models["balance"] == "natural")]
    found = linear["true_positives"].sum()
    micro = 2 * found / (2 * found + linear["false_negatives"].sum() + linear["false_positives"].sum())
    assert micro > 0.65
