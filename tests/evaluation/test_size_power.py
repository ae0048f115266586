from functools import partial
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from harness.evaluation.rates import (
    BY_CATEGORY,
    SIZE_POWER,
    category_rates,
    category_rows,
    dead_categories,
    fewest_discordances,
    size_power,
    verdict,
    write_table,
)
from harness.evaluation.rejections import Test
from harness.evaluation.sets import Plan, draw_sets
from harness.intervals import clopper_pearson
from harness.significance.mcnemar import mcnemar
from harness.significance.proportion import proportion
from harness.significance.randomization import randomization


@pytest.mark.parametrize("confidence", [0.95, 0.999])
def test_intervals_against_statsmodels(confidence):
    k, n = np.array([0, 1, 25, 250, 499, 500, 3, 0, 1]), np.array([500] * 6 + [17, 1, 1])
    low, high = clopper_pearson(k, n, confidence)
    expected = [proportion_confint(a, b, 1 - confidence, "beta") for a, b in zip(k, n, strict=True)]
    np.testing.assert_allclose(np.transpose([low, high]), expected, atol=1e-12)


KINDS = ("size", "power")
AXES = ("pair", "balance", "prevalence", "truth", "measure", "test", "alpha", "n_documents", "category")


def rates(
    n_categories=12, tests=("mcnemar", "proportion"), rules=("margin", "exact_zero"), alphas=(0.1, 0.05),
    sizes=(100, 1000), pairs=("a-b",), n_sets=500, seed=0, **changes,
):  # fmt: skip
    """The table by category of a made-up study, with `dead` and `kind` at random."""
    generator = np.random.default_rng(seed)
    names = [f"C{i:03}" for i in range(n_categories)]
    axes = [pairs, ["natural"], [np.nan], rules, ["error"], tests, alphas, sizes, names]
    table = pd.MultiIndex.from_product(axes, names=AXES).to_frame(index=False)
    n = len(table)
    table["n_sets"] = n_sets
    table["n_rejected"] = generator.binomial(n_sets, generator.beta(0.5, 3, n))
    table["n_wrong_direction"] = generator.binomial(table.n_rejected, 0.1)
    table["n_degenerate"] = generator.binomial(n_sets, 0.2, n)
    table["n_convention"] = generator.binomial(table["n_degenerate"], 0.5)
    table["dead"] = generator.random(n) < 0.2
    table["kind"] = np.where(generator.random(n) < 0.5, "size", "power")
    table = table.assign(**changes)
    counted = table["n_rejected"] - np.where(table["kind"] == "size", 0, table["n_wrong_direction"])
    low, high = clopper_pearson(counted, table["n_sets"].to_numpy())
    return table.assign(rate=counted / n_sets, mc_low=low, mc_high=high)[list(BY_CATEGORY)]


def test_rows_by_category_are_the_counts_that_they_were_made_of():
    test = Test("mcnemar", "error", lambda counts: counts, partial(mcnemar))
    plan = Plan("a-b", "natural", None, ("C1", "C2"), np.zeros((2, 8)), np.zeros((2, 8)), False)
    rejected = np.arange(8).reshape(2, 2, 2) * 10  # levels, sizes, categories
    counts = {
        "n_rejected": rejected, "n_wrong_direction": rejected // 10, "n_degenerate": [[1, 2], [3, 4]],
        "n_convention": 0, "dead": [True, False], "kind": np.array(["size", "power"]),
    }  # fmt: skip
    rows = category_rows(plan, test, "margin", ((0.1, 0.05), (100, 1000), ("C1", "C2")), counts, n_sets=200)
    table = category_rates([rows])
    assert tuple(table.columns) == BY_CATEGORY
    expected = product((0.1, 0.05), (100, 1000), ("C1", "C2"))
    for place, ((alpha, n, category), row) in enumerate(zip(expected, table.to_dict("records"), strict=True)):
        assert (row["alpha"], row["n_documents"], row["category"]) == (alpha, n, category)
        counted = 10 * place - (place if category == "C2" else 0)
        assert (row["rate"], row["kind"]) == (counted / 200, "power" if category == "C2" else "size")
        low, high = proportion_confint(counted, 200, method="beta")
        assert (row["mc_low"], row["mc_high"]) == pytest.approx((low, high), abs=1e-12)
        assert row["n_degenerate"] == 1 + 2 * (n == 1000) + (category == "C2")
        assert row["dead"] == (category == "C1")


@pytest.mark.parametrize("changes", [{}, {"n_categories": 1}, {"n_categories": 1, "dead": True}])
def test_points_against_a_plain_loop(changes):
    by_category = rates(**changes)
    table = size_power(by_category)
    assert tuple(table.columns) == SIZE_POWER
    assert len(table) == 2 * 2 * 2 * 2 * 2
    table = table[table["n_categories"] > 0]
    for row in table.to_dict("records"):
        same = (by_category[["truth", "test", "alpha", "n_documents", "kind"]] == pd.Series(
            {name: row[name] for name in ("truth", "test", "alpha", "n_documents", "kind")}
        )).all(axis=1)  # fmt: skip
        some = by_category[same]
        assert row["n_categories"] == len(some)
        assert row["rate"] == pytest.approx(some.rate.mean())
        assert row["category_sd"] == pytest.approx(some.rate.std(ddof=1), nan_ok=True)
        assert row["n_dead"] == some.dead.sum()
        assert row["rate_without_dead"] == pytest.approx(some.rate[~some.dead].mean(), nan_ok=True)
        assert row["degenerate_share"] == pytest.approx(some.n_degenerate.sum() / (500 * len(some)))
        assert row["convention_share"] == pytest.approx(some.n_convention.sum() / (500 * len(some)))
        wrong = some.n_wrong_direction.sum() / (500 * len(some)) if row["kind"] == "power" else np.nan
        assert row["wrong_direction_rate"] == pytest.approx(wrong, nan_ok=True)
        pooled = round(some.rate.sum() * 500)
        low, high = proportion_confint(pooled, 500 * len(some), method="beta")
        assert (row["mc_low"], row["mc_high"]) == pytest.approx((low, high), abs=1e-12)
        assert np.isnan(row["category_low"]) == (len(some) < 5)


def test_rows_come_in_order_of_first_appearance():
    table = size_power(rates(
        2, tests=("z", "a"), rules=("second", "first"), alphas=(0.01, 0.1), sizes=(1000, 100),
        pairs=("y-z", "a-b"),
    ))  # fmt: skip
    names = ["pair", "truth", "test", "alpha", "n_documents", "kind"]
    expected = product(("y-z", "a-b"), ("second", "first"), ("z", "a"), (0.01, 0.1), (1000, 100), KINDS)
    assert table[names].values.tolist() == [list(row) for row in expected]


ONE = {"tests": ("mcnemar",), "rules": ("margin",), "alphas": (0.05,), "sizes": (100,)}


def test_a_point_without_a_category_is_a_row_with_nothing(tmp_path):
    table = size_power(rates(6, **ONE, kind="power"))
    write_table(table, tmp_path / "size_power.csv")
    size, power = table.to_dict("records")
    assert (size["kind"], size["n_categories"], size["n_dead"], size["n_sets"]) == ("size", 0, 0, 500)
    missing = [name for name in SIZE_POWER if size[name] != size[name]]
    assert missing == [
        "rate", "mc_low", "mc_high", "category_low", "category_high", "category_sd", "degenerate_share",
        "wrong_direction_rate", "rate_without_dead", "prevalence", "convention_share",
    ]  # fmt: skip
    assert power["n_categories"] == 6
    text = (tmp_path / "size_power.csv").read_text().splitlines()
    assert text[1] == "a-b,natural,margin,error,mcnemar,0.05,100,size,,,,,,,0,0,500,,,,,"


def test_a_point_does_not_depend_on_the_rest_of_the_table():
    by_category = rates(30, pairs=("a-b", "c-d"))
    chosen = {"pair": "c-d", "test": "proportion", "alpha": 0.05, "truth": "exact_zero"}
    full, part = (
        table[(table[list(chosen)] == pd.Series(chosen)).all(axis=1)].reset_index(drop=True)
        for table in (size_power(by_category, seed=3), by_category)
    )
    pd.testing.assert_frame_equal(size_power(part, seed=3), full, check_exact=True)
    assert not size_power(part, seed=4).category_low.equals(full.category_low)


def test_tables_read_back_from_csv_give_the_same_bytes(tmp_path):
    by_category = rates(7, alphas=(0.1, 0.05, 0.01))
    write_table(by_category, tmp_path / "c.csv")
    write_table(size_power(by_category), tmp_path / "a.csv")
    write_table(size_power(pd.read_csv(tmp_path / "c.csv")), tmp_path / "b.csv")
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


def test_prevalences_are_points_of_their_own():
    parts = [
        rates(6, seed=i, prevalence=value, balance="natural" if np.isnan(value) else "reweighted")
        for i, value in enumerate((0.1, 0.02, np.nan))
    ]
    table = size_power(pd.concat(parts, ignore_index=True))
    assert table.prevalence.drop_duplicates().tolist()[:2] == [0.1, 0.02]
    assert np.isnan(table[table.balance == "natural"].prevalence).all()
    assert table.groupby(["balance", "prevalence"], dropna=False).size().tolist() == [32, 32, 32]


def test_the_band_over_categories_against_a_plain_bootstrap():
    by_category = rates(40, **ONE, kind="size")
    row = size_power(by_category).iloc[0]
    own = by_category.rate.to_numpy()
    picked = np.random.default_rng(7).integers(0, 40, size=(100_000, 40))
    low, high = np.quantile(own[picked].mean(axis=1), [0.025, 0.975])
    sd = own.std() / np.sqrt(40)
    # the 2.5 % quantile of 2,000 resamples has a standard error of some .06 sd
    assert row.category_low == pytest.approx(low, abs=0.3 * sd)
    assert row.category_high == pytest.approx(high, abs=0.3 * sd)


VERDICTS = [
    (0.04, 0.06, 0.05, "holds"),
    (0.008, 0.012, 0.01, "holds"),
    (0.0399, 0.06, 0.05, "undecided"),
    (0.04, 0.0601, 0.05, "undecided"),
    (0.0601, 0.2, 0.05, "liberal"),
    (0.06, 0.2, 0.05, "undecided"),
    (0.0, 0.0399, 0.05, "conservative"),
    (0.0, 0.04, 0.05, "undecided"),
    (np.nan, np.nan, 0.05, "undecided"),
]


@pytest.mark.parametrize(("low", "high", "alpha", "said"), VERDICTS)
def test_verdict(low, high, alpha, said):
    assert verdict(low, high, alpha) == said


def bootstrap_in_the_limit(counts):
    """Of the error: 2 P(no discordant document is drawn)."""
    return 2 * (1 - (counts[:, 1] + counts[:, 6]) / counts.sum(axis=1)) ** counts.sum(axis=1)


EXACT = partial(mcnemar, variant="exact")
FEWEST_DISCORDANCES = [
    *(
        (test, alpha, n, fewest)
        for test, alpha, fewest in (
            (partial(mcnemar, variant="uncorrected"), 0.05, 4),
            (partial(mcnemar, variant="corrected"), 0.05, 6),
            (EXACT, 0.05, 6),
            (partial(mcnemar, variant="midp"), 0.05, 5),
            (partial(mcnemar, variant="corrected"), 0.01, 9),  # (9 - 1)^2 / 9 = 7.1 > 6.63
            (proportion, 0.05, 4),
            (partial(randomization, measure="f1"), 0.05, 6),
            (bootstrap_in_the_limit, 0.05, 4),
        )
        for n in (100, 101, 6000)
    ),
    (EXACT, 0.05, 5, 6),  # cannot reject at all
    (EXACT, 1e-9, 1000, 31),  # 2 / 2^31 < 1e-9: beyond the first two batches
]


@pytest.mark.parametrize(("pvalue", "alpha", "n_documents", "fewest"), FEWEST_DISCORDANCES)
def test_fewest_discordances(pvalue, alpha, n_documents, fewest):
    assert fewest_discordances(pvalue, alpha, n_documents) == fewest


def test_dead_categories_bound_the_rate_of_rejections():
    """In a dead category the exact test rejects less than alpha, even where the difference is largest."""
    cells = np.zeros((60, 8))
    cells[:, 6] = np.arange(60) / 1000
    cells[:, 7] = 1 - cells[:, 6]
    dead = dead_categories(cells, 100, 6, 0.05)
    assert dead.tolist() == [stats.binom.sf(5, 100, share) < 0.05 for share in cells[:, 6]]
    assert 0 < dead.sum() < 60
    last = int(np.flatnonzero(dead)[-1])
    for category, is_dead in ((last, True), (last + 1, False)):
        sets = draw_sets(cells[category], 100, 100_000, np.random.default_rng(category))
        rate = np.mean(mcnemar(sets, variant="exact").pvalue <= 0.05)
        assert (rate < 0.05) == is_dead
    np.testing.assert_array_equal(dead_categories(cells * 1e6, 100, 6, 0.05), dead)


def test_dead_is_a_want_of_discordances_not_of_a_difference():
    cells = [[40, 0, 0, 0, 0, 0, 0, 960], [0, 0, 0, 0, 0, 100, 100, 800]]
    assert dead_categories(cells, 500, 6, 0.05).tolist() == [True, False]
    assert dead_categories(cells, 500, 501, 0.05).all()
    assert not dead_categories(cells, 500, 0, 0.05).any()
