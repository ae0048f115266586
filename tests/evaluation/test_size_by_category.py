"""Sizes over categories: each column recomputed, the worst measured again, known cases."""

import functools

import numpy as np
import pandas as pd
import pytest
from composing import configured
from count_cases import FALSE_ALARM, within_binomial
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from harness.cli.arguments import run_arguments
from harness.cli.configuration import build_tests
from harness.evaluation.null_tables import SIZES, distribution_table
from harness.evaluation.under_rules import fewest_to_reject
from harness.outcomes import Population
from harness.packaged import load_population
from harness.run.study import evaluate_all
from harness.runtime.parallel import Workers, make_run
from harness.runtime.provenance import Clock
from harness.runtime.store import Store

TOLD = list(SIZES[SIZES.index("median") : SIZES.index("n_categories")])
KEY = ["truth", "measure", "test", "alpha", "n_documents"]
TESTS = "mcnemar,mcnemar_midp,wald_f1,bootstrap_f1,dirichlet_f1"
SMALL = (
    f"test=[{TESTS}]", "truth=[exact_null,joint_null]", "balance=[natural]", "alphas=[.05,.2,.002]",
    "sets.sizes=[100,1000]", "n_replicates=100", "nulls.n_sets=3000", "nulls.n_pooled=400", "nulls.h=[0,1]",
    "nulls.path_sizes=[100]",
)  # fmt: skip


def write_tables(out, populations, overrides, workers, cache=None):
    """Write a study's tables from outcomes to `out`."""
    given = run_arguments(configured("run", "out=unused", *overrides))
    out.mkdir(parents=True)
    parts = [given[key] for key in ("balances", "config", "evaluation", "nulls")]
    run = functools.partial(make_run, workers, Store(cache))
    evaluate_all(populations, *parts, run, Clock(lambda line: None), out)
    return out


def of_categories(pair, names):
    """Return a population with some categories of the packaged one, and one where A and B always agree."""
    (one,) = (p for p in load_population("rcv1-slice") if (p.pair, p.balance) == (pair, "natural"))
    counts = one.counts[[one.categories.index(name) for name in names]]
    alike = [[300, 0, 0, 100, 60, 0, 0, int(counts[0].sum()) - 460]]
    return Population(pair, "natural", (*names, "alike"), np.concatenate([counts, alike]))


@pytest.fixture(scope="module")
def small():
    """Return four categories; E513, where only B errs alone, has no exact null."""
    return of_categories("linear_svm-rbf_svm", ["C31", "C11", "E513"])


@pytest.fixture(scope="module")
def out(small, tmp_path_factory):
    folder = tmp_path_factory.mktemp("small")
    return write_tables(folder / "out", [small], SMALL, Workers("sequential"), folder / "cache")


def told_anew(sizes, alpha):
    """Recompute what the table tells of one point from its rows of sizes by category."""
    live = sizes[~sizes["dead"]]
    n_sets = sizes["n_sets"].iloc[0]
    told = {"n_sets": n_sets, "n_live": len(live), "n_categories": len(sizes)}
    if n_sets < 2000 or live.empty:
        return told | dict.fromkeys(TOLD)
    rate, k = live["n_rejected"] / n_sets, live["n_rejected"].to_numpy()
    low, high = proportion_confint(k, n_sets, method="beta")
    told |= {"median": np.median(rate), "q10": np.percentile(rate, 10), "q90": np.percentile(rate, 90)}
    told |= {"worst": rate.max(), "worst_category": live.loc[rate.idxmax(), "category"]}
    told["worst_low"] = proportion_confint(k.max(), n_sets, 0.05 / len(live), method="beta")[0]
    liberal, conservative = low > 1.2 * alpha, high < 0.8 * alpha
    holds = (low >= 0.8 * alpha) & (high <= 1.2 * alpha)
    told |= {"n_holds": holds.sum(), "n_liberal": liberal.sum(), "n_conservative": conservative.sum()}
    told["n_undecided"] = (~(holds | liberal | conservative)).sum()
    chance = [stats.binomtest(int(x), int(n_sets), min(1, 1.2 * alpha), "greater").pvalue for x in k]
    kept = 2 * np.sort(chance) > 0.05 / np.arange(len(chance), 0, -1)  # Holm stops at the first of them
    return told | {"n_liberal_holm": np.argmax(kept) if kept.any() else len(kept)}


def check_told(row, sizes):
    for name, value in told_anew(sizes, row["alpha"]).items():
        if value is None:
            assert pd.isna(row[name]), name
        elif isinstance(value, str):
            assert row[name] == value
        else:
            assert row[name] == pytest.approx(value, abs=1e-9), name


def check_rules(table):
    """Check what holds of every row that tells something."""
    told = table[table["median"].notna()]
    words = told[["n_holds", "n_liberal", "n_conservative", "n_undecided"]]
    assert (words.sum(axis=1) == told["n_live"]).all()
    assert (told["n_liberal_holm"] <= told["n_liberal"]).all()
    assert ((told["n_liberal_holm"] >= 1) == (told["worst_low"] > 1.2 * told["alpha"])).all()
    assert (told[["q10", "median", "q90", "worst"]].diff(axis=1).iloc[:, 1:] >= 0).all(axis=None)
    assert ((told["worst_low"] <= told["worst"]) & (told["n_live"] <= told["n_categories"])).all()
    assert (told["n_sets"] >= 2000).all()
    return told


# --- the columns -----------------------------------------------------------------------------------


def test_every_column_recomputed_from_the_sizes_by_category(out):
    table = pd.read_csv(out / "size_by_category.csv")
    assert tuple(table.columns) == SIZES
    shown = pd.read_csv(out / "size_power_by_category.csv").query("kind == 'size'")
    parts = dict(list(shown.groupby(KEY)))
    rows = table[table["alpha"] == 0.05]
    assert len(rows) == len(parts) == 2 * 5 * 2
    for row in rows.to_dict("records"):
        check_told(row, parts[tuple(row[name] for name in KEY)])
    told = check_rules(table)
    assert told["worst_again"].notna().all()
    assert table.loc[table["median"].isna(), [*TOLD, "worst_again"]].isna().all(axis=None)


def test_the_numbers_of_sets(out):
    table = pd.read_csv(out / "size_by_category.csv")
    each = table.groupby("test")["n_sets"].unique().map(list).to_dict()
    assert {name: n for name, n in each.items() if n != [3000]} == {
        "bootstrap_f1": [2000],
        "dirichlet_f1": [134, 100],  # 400 over three categories (exact null), over four (joint null)
    }  # fmt: skip
    assert set(table["alpha"]) == {0.05, 0.2, 0.002}
    drawing = table[table["test"].str.contains("bootstrap|dirichlet")]
    assert set(drawing["alpha"]) == {0.05, 0.2}
    rates = pd.read_csv(out / "size_power.csv").query("test == 'bootstrap_f1'")
    powers = rates[(rates["kind"] == "power") & (rates["truth"] == "exact_null")]
    assert (powers["n_sets"] == np.ceil(400 / powers["n_categories"])).all()


@pytest.mark.parametrize("n_categories", [1, 89])
def test_columns_of_many_kinds_of_sizes(n_categories):
    """Conservative, right and liberal categories, with equal worsts and dead ones among them."""
    generator = np.random.default_rng(n_categories)
    frames = []
    for n_documents, (alpha, n_sets, worst) in enumerate(
        [(0.05, 10_000, 0.07), (0.05, 2000, 0.15), (0.01, 2000, 0.02), (0.9, 2000, 1), (0.05, 1999, 0.1)]
    ):
        chance = generator.uniform(0.5 * alpha, worst, n_categories)
        k = generator.binomial(n_sets, np.sort(chance) if n_documents else chance)
        k[: n_categories // 4] = k.max()
        low, high = proportion_confint(k, n_sets, method="beta")
        frame = {"n_rejected": k, "rate": k / n_sets, "mc_low": low, "mc_high": high, "alpha": alpha}
        frame |= {"n_documents": n_documents, "n_sets": n_sets, "dead": generator.random(len(k)) < 0.3}
        frames.append(pd.DataFrame(frame))
    rates = pd.concat(frames, ignore_index=True).assign(
        pair="a-b", balance="natural", prevalence=np.nan, truth="exact_null", measure="f1", test="wald_f1",
        kind="size", category=[f"C{i}" for _ in frames for i in range(n_categories)],
    )  # fmt: skip
    table = distribution_table(rates)
    assert len(table) == len(frames)
    check_rules(table)
    for row in table.to_dict("records"):
        check_told(row, rates[rates["n_documents"] == row["n_documents"]])


def test_a_pair_without_any_null_has_rows_that_tell_nothing(small, tmp_path):
    """Only B errs alone in every category of one pair: its rows tell nothing, the other pair stays."""
    counts = np.array([[30, 0, 9, 10, 6, 4, 0, 141], [50, 0, 3, 10, 6, 9, 0, 141]])
    none = Population("linear_svm-mlp", "natural", ("a", "b"), counts)
    overrides = ["test=[mcnemar,wald_f1]", "truth=[exact_null]", "balance=[natural]", "sets.sizes=[100]"]
    overrides += ["nulls.n_sets=2000", "nulls.h=[0]", "nulls.path_sizes=[100]"]
    one, both, empty = (
        write_tables(tmp_path / name, chosen, overrides, Workers("sequential"))
        for name, chosen in (("one", [small]), ("both", [none, small]), ("empty", [none]))
    )
    table, beside, alone = (pd.read_csv(folder / "size_by_category.csv") for folder in (one, both, empty))
    pd.testing.assert_frame_equal(beside[beside["pair"] == small.pair].reset_index(drop=True), table)
    for without in (beside[beside["pair"] == none.pair], alone):
        assert (without[["n_categories", "n_live"]] == 0).all(axis=None)
        assert without[[*TOLD, "worst_again"]].isna().all(axis=None)
        assert len(without) == len(table)


def test_stratified_sets_beside_a_null_leave_the_tables_of_the_rules(small, tmp_path):
    overrides = ["test=[mcnemar]", "truth=[margin,exact_null]", "balance=[stratified]", "sets.sizes=[50]"]
    folder = write_tables(tmp_path / "out", [small], [*overrides, "sets.n_sets=20"], Workers("sequential"))
    assert {p.name for p in folder.iterdir()} == {"size_power.csv", "size_power_by_category.csv"}


# --- live categories -------------------------------------------------------------------------------


def test_live_is_the_same_for_all_tests_of_a_measure(out, small):
    """Error: of corrected McNemar (6), mid-p (5) and the bootstrap (4) the last is the first at .05."""
    cells = [f"e{i}" for i in range(1, 9)]
    shares = pd.read_csv(out / "nulls.csv").set_index(["truth", "measure"])
    table = pd.read_csv(out / "size_by_category.csv")
    fewest = {0.05: 5, 0.2: 3}  # lone discordances at which the mid-p of 2^-k is below
    for row in table[(table["measure"] == "error") & (table["alpha"] != 0.002)].itertuples():
        null = shares.loc[(row.truth, "error"), cells].dropna()
        share = null[["e2", "e3", "e6", "e7"]].sum(axis=1)
        reached = stats.binom.sf(fewest[row.alpha] - 1, row.n_documents, share)
        assert row.n_live == (reached >= row.alpha).sum()
        assert row.n_categories == len(null)
    assert (table.groupby(["truth", "measure", "alpha", "n_documents"])["n_live"].nunique() == 1).all()
    assert table["n_live"].min() < len(small.categories) - 1
    rates = pd.read_csv(out / "size_power.csv").query("kind == 'size'").set_index(KEY)
    dead = rates["n_dead"].reindex(pd.MultiIndex.from_frame(table[KEY])).to_numpy()
    assert (table["n_live"].to_numpy() + dead == table["n_categories"].to_numpy()).all()


def test_a_test_that_is_not_reported_by_category_makes_none_live(small, tmp_path):
    """The Bayesian bootstrap rejects on single documents; its few sets are not reported by category."""
    overrides = ["truth=[exact_null]", "balance=[natural]", "sets.sizes=[300]", "nulls.n_pooled=20"]
    overrides += ["nulls.n_sets=50", "nulls.h=[0]", "nulls.path_sizes=[300]"]
    live = []
    for name, tests in {"alone": "wald_f1", "beside": "wald_f1,bayesian_bootstrap_f1"}.items():
        chosen = [*overrides, f"test=[{tests}]"]
        folder = write_tables(tmp_path / name, [small], chosen, Workers("sequential"))
        table = pd.read_csv(folder / "size_by_category.csv")
        live.append(table[table["test"] == "wald_f1"]["n_live"].tolist())
    assert live[0] == live[1]
    assert live[0][-1] < len(small.categories)


def test_the_fewest_of_a_measure_is_that_of_its_first_test():
    """The published numbers of lone discordances that reject at .05: 4, 6, 6, 5, and 4 of the bootstrap."""
    names = ["mcnemar_uncorrected", "mcnemar", "mcnemar_exact", "mcnemar_midp", "bootstrap_error"]
    asked = configured("run", "out=unused", f"test=[wald_f1,{','.join(names)}]")
    for degenerate, cases in {
        "accept": {(1, 3): 6, (1, 4): 5, (1, 5): 4, (0, 1): 4}, "reject": {(1, 3): 0}
    }.items():  # fmt: skip
        tests = {test.name: test for test in build_tests(asked, degenerate)}
        for (first, last), wanted in cases.items():
            chosen = [tests[name] for name in ("wald_f1", *names[first:last])]
            found = fewest_to_reject([(test, [0.05]) for test in chosen], [2000])
            assert set(found) == {("error", 0.05, 2000), ("f1", 0.05, 2000)}
            assert found["error", 0.05, 2000] == wanted


# --- the worst again -------------------------------------------------------------------------------


def true_size(test, pi, n, alpha):
    """Size of a test of n01 = n10 under the error null, by enumeration; m = n01 + n10 is Bin(n, pi)."""
    n01, n10 = (part.ravel() for part in np.meshgrid(np.arange(n + 1), np.arange(n + 1)))
    m = n01 + n10
    weight = np.where(m <= n, stats.binom.pmf(m, n, pi) * stats.binom.pmf(n01, m, 0.5), 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        corrected = stats.chi2.sf(np.maximum(np.abs(n01 - n10) - 1, 0) ** 2 / m, 1)
    few = np.minimum(n01, n10)
    midp = np.minimum(1, 2 * stats.binom.cdf(few, m, 0.5) - stats.binom.pmf(few, m, 0.5))
    return weight[(corrected if test == "mcnemar" else midp) <= alpha].sum()


def test_the_worst_is_measured_again_on_new_sets(out):
    table = pd.read_csv(out / "size_by_category.csv")
    shares = pd.read_csv(out / "nulls.csv").set_index(["truth", "measure", "category"])
    rows = table[table["test"].isin(["mcnemar", "mcnemar_midp"]) & table["worst"].notna()]
    assert len(rows) >= 10
    for row in rows[rows["n_documents"] == 100].itertuples():
        null = shares.loc[(row.truth, "error", row.worst_category)]
        size = true_size(row.test, null[["e2", "e3", "e6", "e7"]].sum(), 100, row.alpha)
        assert within_binomial(round(row.worst_again * row.n_sets), row.n_sets, size)
    told = table[table["worst"] > 0.01]
    assert (told["worst_again"] != told["worst"]).mean() > 0.8
    spread = np.sqrt(2 * told["worst"] * (1 - told["worst"]) / told["n_sets"])
    z = (told["worst_again"] - told["worst"]) / spread
    assert np.abs(z).max() < 6


def test_what_is_measured_again_does_not_depend_on_other_tests(small, out, tmp_path):
    """A test has the sets of its own worst category, however many other tests have the same one."""
    overrides = [*SMALL[1:], "test=[mcnemar,mcnemar_midp]"]
    folder = write_tables(tmp_path / "out", [small], overrides, Workers("sequential"))
    alone, beside = (pd.read_csv(f / "size_by_category.csv") for f in (folder, out))
    beside = beside[beside["measure"] == "error"].reset_index(drop=True)
    pd.testing.assert_frame_equal(alone, beside)


def test_workers_and_interruptions_do_not_change_a_byte(small, tmp_path):
    cache = tmp_path / "cache"
    tests = "mcnemar,wald_f1,bootstrap_error,dirichlet_f1"
    fewer = [*SMALL[2:], f"test=[{tests}]", "truth=[exact_null]", "sets.sizes=[1000]", "nulls.n_sets=2000"]
    out = write_tables(tmp_path / "out", [small], fewer, Workers("sequential"), cache)
    two = write_tables(tmp_path / "two", [small], fewer, Workers("loky", 2))
    kept = sorted(cache.rglob("*.npz"))
    again = [path for path in kept if "again" in str(path.parent)]
    assert len(kept) > len(again) > 1
    for path in (kept[0], again[0], *kept[3::4]):
        path.unlink(missing_ok=True)
    resumed = write_tables(tmp_path / "resumed", [small], fewer, Workers("sequential"), cache)
    for name in sorted(path.name for path in out.iterdir()):
        assert (out / name).read_bytes() == (two / name).read_bytes() == (resumed / name).read_bytes()


# --- known cases -----------------------------------------------------------------------------------


def test_a_category_in_which_tests_are_known_to_be_liberal(tmp_path):
    """Sizes at .05 that another program found, itself on 2,000 sets or more."""
    category, n_documents = "C31", 1000
    sizes = {"bootstrap_f1": 0.149, "bootstrap_f1_symmetric": 0.096, "wald_f1": 0.122}
    sizes |= {"randomization_f1_midp": 0.100}
    overrides = (
        f"test=[{','.join(sizes)}]", "truth=[exact_null]", "balance=[natural]", "alphas=[.05]",
        f"sets.sizes=[{n_documents}]", "nulls.h=[0]", f"nulls.path_sizes=[{n_documents}]",
        "n_replicates=400",
    )  # fmt: skip
    population = of_categories("linear_svm-rbf_svm", [category])
    folder = write_tables(tmp_path / "out", [population], overrides, Workers("sequential"))
    table = pd.read_csv(folder / "size_by_category.csv").set_index("test")
    assert (table["worst_category"] == category).all()
    assert (table["n_liberal_holm"] == 1).all()
    for name, known in sizes.items():
        n_sets = table.loc[name, "n_sets"]
        assert n_sets == (2000 if name.startswith("bootstrap") else 10_000)
        error = np.sqrt(known * (1 - known) * (1 / n_sets + 1 / 2000))
        for measured in table.loc[name, ["worst", "worst_again"]]:
            assert abs(measured - known) < stats.norm.isf(FALSE_ALARM / 2) * error
