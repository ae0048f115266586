"""`harness collect FOLDER spread=seed`: how far a study's rates lie apart from run to run."""

import json

import fake_run
import numpy as np
import pandas as pd
import pytest
from fake_run import results_of
from scipy import stats

from harness.cli import main
from harness.collect.join import Run
from harness.collect.spread import POINT, SPREAD_COLUMNS, read_runs, tabulate_spread
from harness.collect.spread_report import (
    main_findings,
    plan_spread_figures,
    tabulate_truth_rules,
    tabulate_verdicts,
)
from harness.errors import UserError
from harness.evaluation.rates import write_table
from harness.results.names import COLUMNS
from harness.run.findings.paper import papers_conclusions

KEY = ["pair", "balance", "truth", "measure", "test", "alpha", "n_documents", "kind"]


def point(rate, low, high, **others):
    """Return one row of size_power.csv."""
    plain = {
        "pair": "linear_svm-mlp", "balance": "natural", "truth": "exact_null", "measure": "error",
        "test": "mcnemar", "alpha": 0.05, "n_documents": 1000, "kind": "size", "category_sd": 0.01,
        "n_categories": 9, "n_dead": 0, "n_sets": 500, "degenerate_share": 0.0,
    }  # fmt: skip
    return plain | {"rate": rate, "mc_low": low, "mc_high": high, "rate_without_dead": rate} | others


def table(*rows):
    return pd.DataFrame(rows, columns=list(COLUMNS))


WORDS = ("holds", "liberal", "conservative", "undecided")


@pytest.fixture(scope="module")
def three():
    """Three runs: the size of one test is .05, .07 and .03; another has no category in the second run."""
    rates = {"0": (0.05, 0.045, 0.055), "1": (0.07, 0.065, 0.075), "2": (0.03, 0.02, 0.035)}
    powers = {"0": (0.5, 0.4, 0.6), "1": (np.nan,) * 3, "2": (0.5, 0.4, 0.6)}
    return {
        seed: table(
            point(*rate, n_categories=9 + int(seed)), point(*powers[seed], kind="power", n_categories=7)
        )
        for seed, rate in rates.items()
    }


def test_mean_deviation_and_range_over_the_runs_and_verdicts_of_sizes_alone(three):
    size, power = tabulate_spread(three).to_dict("records")
    assert size["rate"] == pytest.approx(0.05)
    assert size["rate_sd"] == pytest.approx(np.std([0.05, 0.07, 0.03], ddof=1))
    assert (size["rate_low"], size["rate_high"], size["n_runs"]) == (0.03, 0.07, 3)
    assert (size["n_categories_low"], size["n_categories_high"]) == (9, 11)
    halves = np.array([0.01, 0.01, 0.015]) / 2 / 1.959963984540054
    assert size["mc_sd"] == pytest.approx(np.sqrt(np.mean(halves**2)))
    assert power["n_runs"] == 2  # the run in which no category qualifies has no rate
    assert (power["rate_low"], power["rate_high"]) == (0.5, 0.5)
    assert [size[f"n_{word}"] for word in WORDS] == [1, 1, 1, 0]
    assert [power[f"n_{word}"] for word in WORDS] == [0, 0, 0, 0]
    one = tabulate_spread({"0": three["0"]}).iloc[0]
    assert np.isnan(one["rate_sd"])
    assert one["rate_low"] == one["rate_high"] == 0.05


def test_the_deviation_of_repeated_sets_is_the_one_the_intervals_promise():
    """Runs that differ in their sets alone: `rate_sd` comes to `mc_sd`, within chi-square's bounds."""
    generator, n_runs, n_sets = np.random.default_rng(5), 100, 4000
    runs = {}
    for place in range(n_runs):
        rate = generator.binomial(n_sets, 0.05) / n_sets
        half = stats.norm.ppf(0.975) * np.sqrt(rate * (1 - rate) / n_sets)
        runs[str(place)] = table(point(rate, rate - half, rate + half))
    found = tabulate_spread(runs).iloc[0]
    ratio = (n_runs - 1) * (found["rate_sd"] / found["mc_sd"]) ** 2
    low, high = stats.chi2.ppf([5e-7, 1 - 5e-7], n_runs - 1)
    assert low < ratio < high


def test_findings_name_the_point_that_moves_most(three):
    found = main_findings(tabulate_spread(three))
    told = " ".join(found)
    assert all(len(line.split()) <= 25 for line in found)
    assert "the mean size of 0 of 1 (test, panel) lies alike in every run" in found[0]
    assert "farthest apart: .030 to .070, McNemar test ΔCerr, (b) linear SVM vs MLP, unbalanced" in told
    assert "in every run at 0 of 1 points" in told
    assert "At 1 of them it lies above 1.2 alpha in one run" in told
    alike = {seed: three["0"] for seed in "01"}
    assert "the mean size of 1 of 1 (test, panel)" in main_findings(tabulate_spread(alike))[0]
    assert main_findings(tabulate_spread({"0": three["0"]})) == [
        "Cannot tell: no point has a rate in two runs."
    ]


def test_verdicts_are_counted_by_run_and_every_truth_and_kind_with_a_rate_has_a_figure(three):
    row = tabulate_verdicts(tabulate_spread(three)).iloc[0]
    assert row["mean lies, by run"] == "1 within [.8, 1.2] alpha, 1 above 1.2 alpha, 1 below .8 alpha"
    assert row["alpha_true"] == "0.050 [0.030, 0.070]"
    planned = plan_spread_figures(tabulate_spread(three), {})
    assert list(planned) == ["spread_size_exact_null", "spread_power_exact_null"]


def test_truth_rules_are_scored_run_by_run():
    rows = [
        point(0.1, 0.08, 0.12, truth="margin", kind="power", pair="linear_svm-rbf_svm", n_categories=n)
        for n in (1, 0)
    ]
    found = tabulate_truth_rules({str(i): results_of(table(row)) for i, row in enumerate(rows)}).iloc[0]
    assert found["rule"] == "R1 margin"
    assert found["H1 never true somewhere in 2(c) and 2(d)"] == "1/2"
    assert tabulate_truth_rules({"0": results_of(table(point(0.05, 0.04, 0.06)))}).empty  # a null is no rule


def make_runs(folder, settings, rows=None):
    """Leave runs with the given overrides."""
    runs = []
    for place, given in enumerate(settings):
        path = folder / f"run-{place}"
        path.mkdir(parents=True)
        overrides = [f"{key}={value}" for key, value in given.items()]
        facts = {"finished": True, "config": given, "overrides": overrides, "command": "harness run"}
        (path / "provenance.json").write_text(json.dumps(facts))
        write_table(rows or table(point(0.05, 0.045, 0.055)), path / "size_power.csv")
        runs.append(Run(path.name, path, tuple(overrides), given))
    return runs


NO_REPETITIONS = [
    ([{"seed": 0}, {"seed": 0}], "do not differ in it"),
    ([{"seed": 0}], "do not differ in it"),
    ([{"seed": 0, "x": 1}, {"seed": 1, "x": 2}], "the runs differ in x too"),
    ([{"seed": 0}, {"seed": 1}, {"seed": 1}], "several runs have seed=1"),
    ([{"seed": 0, "sets.n_sets": 9}, {"seed": 1}], "the runs differ in sets.n_sets too"),
]


@pytest.mark.parametrize(("settings", "said"), NO_REPETITIONS)
def test_runs_that_are_no_repetition_are_refused(tmp_path, settings, said):
    with pytest.raises(UserError, match=said):
        read_runs(make_runs(tmp_path, settings), "seed")


def test_runs_of_no_sweep_may_differ_in_place_and_workers(tmp_path):
    settings = [{"seed": n, "out": f"place{n}", "parallel.n_jobs": n + 1, "cache": f"c{n}"} for n in range(3)]
    assert list(read_runs(make_runs(tmp_path, settings), "seed")) == ["0", "1", "2"]


LOOK = ("figure.formats=[png]", "figure.dpi=50")
FEW = {
    "pairs": ["linear_svm-mlp"], "balances": ("natural",), "truths": ["margin", "exact_null"],
    "tests": fake_run.TESTS[:3], "sizes": [1000],
}  # fmt: skip


@pytest.fixture(scope="module")
def sweep(tmp_path_factory):
    """Two runs of other seeds, collected with their spread."""
    root = fake_run.write_sweep(tmp_path_factory.mktemp("spread") / "sweep", **FEW)
    assert main(["collect", str(root), "spread=seed", *LOOK]) == 0
    return root


def test_the_command_agrees_with_the_collected_table(sweep):
    joined = pd.read_csv(sweep / "collected_size_power.csv")
    spread = pd.read_csv(sweep / "spread_seed" / "spread.csv")
    assert tuple(spread.columns) == SPREAD_COLUMNS
    assert set(POINT) - {"prevalence"} == set(KEY)  # what tells points apart
    assert len(spread) == len(joined) / 2
    means = joined.groupby(KEY)["rate"].agg(["mean", "std", "min", "max", "count"]).reset_index()
    both = spread.merge(means, on=KEY, validate="one_to_one")
    assert len(both) == len(spread)
    for ours, theirs in (("rate", "mean"), ("rate_low", "min"), ("rate_high", "max"), ("n_runs", "count")):
        np.testing.assert_allclose(both[ours], both[theirs], rtol=1e-8)
    told = both[both["n_runs"] > 1]
    assert len(told)
    assert (told["rate_sd"] > 0).any()
    np.testing.assert_allclose(told["rate_sd"], told["std"], rtol=1e-6, atol=1e-12)


def test_what_it_leaves(sweep):
    out = sweep / "spread_seed"
    summary = (out / "summary.md").read_text()
    assert summary.index("## Main findings") < summary.index("## What was run")
    assert "2 runs that differ in seed alone: 0, 1." in summary
    facts = json.loads((out / "provenance.json").read_text())
    assert facts["finished"]
    assert [run["seed"] for run in facts["runs"]] == ["0", "1"]
    page = (out / "report.html").read_text()
    assert "Main findings" in page
    assert "data:image/png" in page
    drawn = {path.name for path in (out / "figures").glob("*.png")}
    assert {"spread_size_exact_null.png", "spread_size_margin.png"} <= drawn
    assert r"\toprule" in (out / "tables" / "spread.tex").read_text()


def test_again_it_gives_the_same_table_and_takes_its_own_folder_for_no_run(sweep, unpainted):
    before = (sweep / "spread_seed" / "spread.csv").read_bytes()
    assert main(["collect", str(sweep), "spread=seed"]) == 0
    assert (sweep / "spread_seed" / "spread.csv").read_bytes() == before


def test_the_papers_footnote_is_told_under_the_exact_null_too():
    """The variance beyond that of the sets: sqrt(.03^2 - .05 .95 / 500), and 0 at the last N."""
    ends = ((100, 0.03), (6000, (0.05 * 0.95 / 500) ** 0.5))
    rows = [
        point(0.05, 0.045, 0.055, truth=truth, n_documents=n, category_sd=sd, measure="error")
        for truth in ("margin", "exact_null")
        for n, sd in ends
    ]
    told = {found.sentence: found.evidence for found in papers_conclusions(results_of(table(*rows)))}
    footnote = next(text for sentence, text in told.items() if "footnote" in sentence)
    assert "1 fall to a quarter or less" in footnote
    assert f"goes from {(0.03**2 - 0.05 * 0.95 / 500) ** 0.5:.3f} to 0.000 on natural categories" in footnote
    check = next(text for sentence, text in told.items() if "std < alpha" in sentence)
    assert "under the exact null it holds at 2 of 2 points" in check
