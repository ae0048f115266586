import time
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from harness.evaluation.category_rates import BY_CATEGORY
from harness.evaluation.rates import (
    SIZE_POWER,
    dead_categories,
    fewest_discordances,
    size_power,
    size_power_by_category,
    verdict,
    write_table,
)
from harness.evaluation.sets import draw_sets
from harness.intervals import clopper_pearson, wilson
from harness.significance.mcnemar import mcnemar
from harness.significance.proportion import proportion
from harness.significance.randomization import randomization


@pytest.mark.parametrize("confidence", [0.95, 0.999])
@pytest.mark.parametrize(("function", "method"), [(clopper_pearson, "beta"), (wilson, "wilson")])
def test_intervals_against_statsmodels(function, method, confidence):
    k, n = np.array([0, 1, 25, 250, 499, 500, 3, 0, 1]), np.array([500] * 6 + [17, 1, 1])
    low, high = function(k, n, confidence)
    expected = [proportion_confint(a, b, 1 - confidence, method) for a, b in zip(k, n, strict=True)]
    np.testing.assert_allclose(np.transpose([low, high]), expected, atol=1e-12)


@pytest.mark.parametrize("arguments", [(-1, 5), (6, 5), (0, 0), (1.0, 5), (1, 5, 1)])
@pytest.mark.parametrize("function", [clopper_pearson, wilson])
def test_intervals_refuse_what_is_no_count(function, arguments):
    with pytest.raises(ValueError, match="allowed"):
        function(*arguments)


def tables(
    n_categories=12, tests=("mcnemar", "proportion"), rules=("margin", "exact_zero"), alphas=(0.1, 0.05),
    sizes=(100, 1000), pairs=("a-b",), balances=("natural",), n_sets=500, seed=0,
):  # fmt: skip
    """Rejections and truths of a made-up study, with `dead` and `holds` at random."""
    generator = np.random.default_rng(seed)
    key = ["pair", "balance", "prevalence", "category", "measure"]
    axes = [pairs, balances, [np.nan], [f"C{i:03}" for i in range(n_categories)], ["error"]]
    grid = pd.MultiIndex.from_product
    rejections = grid([*axes, tests, alphas, sizes], names=[*key, "test", "alpha", "n_documents"]).to_frame(
        index=False
    )
    n = len(rejections)
    rejections["n_sets"] = n_sets
    rejections["n_rejected"] = generator.binomial(n_sets, generator.beta(0.5, 3, n))
    rejections["n_wrong_direction"] = generator.binomial(rejections.n_rejected, 0.1)
    rejections["n_degenerate"] = generator.binomial(n_sets, 0.2, n)
    rejections["n_convention"] = generator.binomial(rejections["n_degenerate"], 0.5)
    rejections["dead"] = generator.random(n) < 0.2
    truths = grid([*axes, rules, alphas, sizes], names=[*key, "truth", "alpha", "n_documents"]).to_frame(
        index=False
    )
    truths["holds"] = generator.random(len(truths)) < 0.5
    return rejections, truths


def test_by_category_against_a_plain_loop():
    rejections, truths = tables(4)
    table = size_power_by_category(rejections, truths)
    assert tuple(table.columns) == BY_CATEGORY
    assert len(table) == 2 * len(rejections)
    shared = ["category", "alpha", "n_documents"]
    for row in table.to_dict("records"):
        same = (rejections[[*shared, "test"]] == pd.Series(row)[[*shared, "test"]]).all(axis=1)
        (source,) = rejections[same].to_dict("records")
        same = (truths[[*shared, "truth"]] == pd.Series(row)[[*shared, "truth"]]).all(axis=1)
        (truth,) = truths[same].to_dict("records")
        assert row["kind"] == ("size" if truth["holds"] else "power")
        counted = source["n_rejected"] - (0 if truth["holds"] else source["n_wrong_direction"])
        assert row["rate"] == counted / 500
        low, high = proportion_confint(counted, 500, method="beta")
        assert (row["mc_low"], row["mc_high"]) == pytest.approx((low, high), abs=1e-12)
        for name in ("n_rejected", "n_wrong_direction", "n_degenerate", "n_convention", "n_sets", "dead"):
            assert row[name] == source[name]


def test_points_against_a_plain_loop():
    by_category = size_power_by_category(*tables())
    table = size_power(by_category)
    assert tuple(table.columns) == SIZE_POWER
    assert len(table) == 2 * 2 * 2 * 2 * 2
    for row in table.to_dict("records"):
        same = (by_category[["truth", "test", "alpha", "n_documents", "kind"]] == pd.Series(
            {name: row[name] for name in ("truth", "test", "alpha", "n_documents", "kind")}
        )).all(axis=1)  # fmt: skip
        some = by_category[same]
        assert row["n_categories"] == len(some)
        assert row["rate"] == pytest.approx(some.rate.mean())
        assert row["category_sd"] == pytest.approx(some.rate.std(ddof=1))
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
    rejections, truths = tables(
        2, tests=("z", "a"), rules=("second", "first"), alphas=(0.01, 0.1), sizes=(1000, 100),
        pairs=("y-z", "a-b"),
    )  # fmt: skip
    table = size_power(size_power_by_category(rejections, truths))
    names = ["pair", "truth", "test", "alpha", "n_documents", "kind"]
    expected = pd.MultiIndex.from_product(
        [("y-z", "a-b"), ("second", "first"), ("z", "a"), (0.01, 0.1), (1000, 100), ("size", "power")]
    )
    assert table[names].values.tolist() == [list(row) for row in expected]
    by_category = size_power_by_category(rejections, truths)
    assert by_category.category.tolist() == ["C000", "C001"] * 32


def test_a_point_without_a_category_is_a_row_with_nothing(tmp_path):
    rejections, truths = tables(6, tests=("mcnemar",), rules=("margin",), alphas=(0.05,), sizes=(100,))
    truths["holds"] = False
    table = size_power(size_power_by_category(rejections, truths))
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
    assert "-1" not in text[1]


def test_one_category_has_no_spread_and_all_dead_no_other_mean():
    rejections, truths = tables(1, tests=("mcnemar",), rules=("margin",), alphas=(0.05,), sizes=(100,))
    truths["holds"], rejections["dead"] = True, True
    size = size_power(size_power_by_category(rejections, truths)).iloc[0]
    assert size.n_dead == 1
    assert np.isnan(size.category_sd)
    assert np.isnan(size.rate_without_dead)
    assert size.rate == rejections.n_rejected[0] / 500


def test_a_point_does_not_depend_on_the_rest_of_the_table():
    rejections, truths = tables(30, pairs=("a-b", "c-d"))
    full = size_power(size_power_by_category(rejections, truths), seed=3)
    some = (rejections.pair == "c-d") & (rejections.test == "proportion") & (rejections.alpha == 0.05)
    part = size_power(size_power_by_category(rejections[some], truths[truths.truth == "exact_zero"]), seed=3)
    picked = full[(full.pair == "c-d") & (full.test == "proportion") & (full.alpha == 0.05)]
    pd.testing.assert_frame_equal(
        part, picked[picked.truth == "exact_zero"].reset_index(drop=True), check_exact=True
    )
    other = size_power(size_power_by_category(rejections, truths), seed=4)
    assert not other.category_low.equals(full.category_low)


def test_tables_read_back_from_csv_give_the_same_bytes(tmp_path):
    rejections, truths = tables(7, alphas=(0.1, 0.05, 0.01))
    by_category = size_power_by_category(rejections, truths)
    write_table(by_category, tmp_path / "c.csv")
    write_table(size_power(by_category), tmp_path / "a.csv")
    write_table(size_power(pd.read_csv(tmp_path / "c.csv")), tmp_path / "b.csv")
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


def test_prevalences_are_points_of_their_own():
    frames = [tables(6, seed=s) for s in (1, 2, 3)]
    for (rejections, truths), prevalence in zip(frames, (0.1, 0.02, ""), strict=True):
        for frame in (rejections, truths):
            frame["prevalence"] = prevalence
            frame["balance"] = "natural" if prevalence == "" else "reweighted"
    rejections, truths = (pd.concat(parts, ignore_index=True) for parts in zip(*frames, strict=True))
    table = size_power(size_power_by_category(rejections, truths))
    assert table.prevalence.drop_duplicates().tolist()[:2] == [0.1, 0.02]
    assert np.isnan(table[table.balance == "natural"].prevalence).all()
    assert table.groupby(["balance", "prevalence"], dropna=False).size().tolist() == [32, 32, 32]


def test_the_band_over_categories_against_a_plain_bootstrap():
    rejections, truths = tables(40, tests=("mcnemar",), rules=("margin",), alphas=(0.05,), sizes=(100,))
    truths["holds"] = True
    row = size_power(size_power_by_category(rejections, truths)).iloc[0]
    rates = rejections.n_rejected.to_numpy() / 500
    picked = np.random.default_rng(7).integers(0, 40, size=(100_000, 40))
    low, high = np.quantile(rates[picked].mean(axis=1), [0.025, 0.975])
    sd = rates.std() / np.sqrt(40)
    # the 2.5 % quantile of 2,000 resamples has a standard error of some .06 sd
    assert row.category_low == pytest.approx(low, abs=0.3 * sd)
    assert row.category_high == pytest.approx(high, abs=0.3 * sd)


def test_the_pooled_interval_covers_the_mean_of_unequal_categories():
    """Totals of independent sets over categories, 20,000 times: at least 95 % coverage, by Hoeffding."""
    generator = np.random.default_rng(0)
    for shares in (
        np.full(20, 0.05),
        np.linspace(0, 0.2, 20),
        np.r_[np.zeros(15), np.full(5, 0.6)],
        [0.002] * 3,
    ):
        totals = generator.binomial(200, shares, size=(20_000, len(shares))).sum(axis=1)
        low, high = clopper_pearson(totals, 200 * len(shares))
        n_covered = np.sum((low <= np.mean(shares)) & (np.mean(shares) <= high))
        assert n_covered >= stats.binom.ppf(1e-6, 20_000, 0.95)


def test_size_and_power_end_to_end_against_enumeration():
    """McNemar exact, N = 100: two nulls and one alternative, through sets, rejections and both tables."""
    cells = {
        "null": [0.2, 0.02, 0.05, 0, 0, 0, 0.03, 0.7],
        "other null": [0, 0, 0, 0, 0, 0.1, 0.1, 0.8],
        "alternative": [0, 0, 0.3, 0, 0, 0, 0.5, 0.2],
    }
    n_sets, rows = 50_000, []
    for i, (category, population) in enumerate(cells.items()):
        sets = draw_sets(population, 100, n_sets, np.random.default_rng(i))
        rejected = mcnemar(sets, variant="exact").pvalue <= 0.05
        wrong = rejected & (sets[:, 2] + sets[:, 5] > sets[:, 1] + sets[:, 6])
        rows.append((category, rejected.sum(), wrong.sum()))
    key = {"pair": "a-b", "balance": "natural", "prevalence": np.nan, "measure": "error", "alpha": 0.05}
    key |= {"n_documents": 100}
    rejections = pd.DataFrame(rows, columns=["category", "n_rejected", "n_wrong_direction"])
    rejections = rejections.assign(
        **key, test="exact", n_sets=n_sets, n_degenerate=0, n_convention=0, dead=False
    )
    truths = pd.DataFrame({"category": list(cells), "holds": [True, True, False]}).assign(
        **key, truth="exact_zero"
    )
    size, power = size_power(size_power_by_category(rejections, truths)).to_dict("records")
    b, c = np.meshgrid(np.arange(101), np.arange(101), indexing="ij")
    inside = b + c <= 100
    p = mcnemar(
        np.stack([0 * b, b, c, *[0 * b] * 4, np.maximum(100 - b - c, 0) + ~inside], axis=-1), "exact"
    ).pvalue
    exact = [
        np.sum(
            stats.multinomial.pmf(np.stack([b, c, 100 - b - c], -1)[inside], 100, [n01, n10, 1 - n01 - n10])
            * ((p <= 0.05) & weight)[inside]
        )
        for n01, n10, weight in ((0.05, 0.05, True), (0.1, 0.1, True), (0.5, 0.3, b > c))
    ]
    assert exact[2] == pytest.approx(0.5693123295, abs=1e-9)  # R: exact2x2::powerPaired2x2(.5, .3, 100)
    assert size["mc_low"] <= np.mean(exact[:2]) <= size["mc_high"]
    assert power["rate"] == pytest.approx(exact[2], abs=4 * np.sqrt(0.25 / n_sets))
    assert power["wrong_direction_rate"] < 1e-4


@pytest.mark.parametrize(
    ("low", "high", "alpha", "said"),
    [
        (0.04, 0.06, 0.05, "holds"),
        (0.08, 0.12, 0.1, "holds"),
        (0.008, 0.012, 0.01, "holds"),
        (0.0399, 0.06, 0.05, "undecided"),
        (0.04, 0.0601, 0.05, "undecided"),
        (0.0601, 0.2, 0.05, "liberal"),
        (0.06, 0.2, 0.05, "undecided"),
        (0.0, 0.0399, 0.05, "conservative"),
        (np.nan, np.nan, 0.05, "undecided"),
    ],
)
def test_verdict(low, high, alpha, said):
    assert verdict(low, high, alpha) == said


@pytest.mark.parametrize("n_documents", [100, 101, 6000])
@pytest.mark.parametrize(
    ("pvalue", "alpha", "fewest"),
    [
        (partial(mcnemar, variant="uncorrected"), 0.05, 4),
        (partial(mcnemar, variant="corrected"), 0.05, 6),
        (partial(mcnemar, variant="exact"), 0.05, 6),
        (partial(mcnemar, variant="midp"), 0.05, 5),
        (partial(mcnemar, variant="exact"), 0.01, 8),
        (partial(mcnemar, variant="corrected"), 0.01, 9),  # (9 - 1)^2 / 9 = 7.1 > 6.63
        (proportion, 0.05, 4),
        (partial(randomization, measure="f1"), 0.05, 6),
        # bootstrap on the error, infinitely many replicates: 2 P(no discordant document is drawn)
        (
            lambda counts: 2 * (1 - (counts[:, 1] + counts[:, 6]) / counts.sum(axis=1)) ** counts.sum(axis=1),
            0.05,
            4,
        ),
    ],
)
def test_fewest_discordances(pvalue, alpha, fewest, n_documents):
    assert fewest_discordances(pvalue, alpha, n_documents) == fewest


def test_fewest_discordances_at_the_ends():
    exact = partial(mcnemar, variant="exact")
    assert fewest_discordances(exact, 0.05, 5) == 6  # cannot reject at all
    assert fewest_discordances(exact, 1e-9, 1000) == 31  # 2 / 2^31 < 1e-9: beyond the first two batches
    for arguments, message in (
        ((exact, 0, 100), "alpha"),
        ((exact, 0.05, 0), "n_documents"),
        ((lambda counts: np.full(len(counts), np.nan), 0.05, 10), "NaN"),
    ):
        with pytest.raises(ValueError, match=message):
            fewest_discordances(*arguments)


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
    for arguments in ((cells[0], 500, 6, 0.05), (cells, 0, 6, 0.05), (cells, 5, -1, 0.05), (cells, 5, 6, 1)):
        with pytest.raises(ValueError, match="allowed"):
            dead_categories(*arguments)


def first_row(frame, **values):
    frame = frame.copy()
    for name, value in values.items():
        frame.loc[0, name] = value
    return frame


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda r, t: (r.drop(columns="dead"), t), "rejections: lacks dead"),
        (lambda r, t: (r, t.drop(columns="holds")), "truths: lacks holds"),
        (lambda r, t: (first_row(r, n_rejected=501), t), "row 0 counts 500 sets, 501 rejected"),
        (lambda r, t: (first_row(r, n_rejected=3, n_wrong_direction=4), t), "4 in the wrong direction"),
        (lambda r, t: (first_row(r, n_degenerate=-1), t), "-1 degenerate"),
        (lambda r, t: (pd.concat([r, r[:1]]), t), "rejections: a category occurs twice"),
        (lambda r, t: (r, pd.concat([t, t[:1]])), "truths: a category occurs twice"),
        (lambda r, t: (r, t[1:]), "truths: none for pair a-b, balance natural, .*category C000"),
        (lambda r, t: (r, t[t.alpha != 0.05]), "truths: none for .* alpha 0.05"),
    ],
)
def test_tables_that_do_not_fit_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        size_power_by_category(*change(*tables(3)))


def test_points_need_one_number_of_sets():
    by_category = size_power_by_category(*tables(3))
    with pytest.raises(ValueError, match="differ in n_sets"):
        size_power(first_row(by_category, n_sets=1000))
    with pytest.raises(ValueError, match="lacks kind"):
        size_power(by_category.drop(columns="kind"))


@pytest.mark.slow
def test_a_whole_study_takes_seconds():
    """Four panels, 100 categories, 15 sizes, 3 levels, 6 tests, 6 rules: 648,000 rows."""
    rejections, truths = tables(
        100, tests=tuple("abcdef"), rules=tuple("uvwxyz"), alphas=(0.1, 0.05, 0.01),
        sizes=tuple(range(100, 1600, 100)), pairs=("a-b", "c-d"), balances=("natural", "meta"),
    )  # fmt: skip
    start = time.process_time()  # other processes must not decide
    by_category = size_power_by_category(rejections, truths)
    table = size_power(by_category)
    seconds = time.process_time() - start
    print(f"{len(by_category)} rows, {seconds:.1f} s")
    assert len(by_category) == 648_000
    assert len(table) == 2 * 6480
    assert seconds < 15
