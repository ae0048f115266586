"""Unconditional tests: every table that could have been seen is listed here, and weighed, independently."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import binom, multinomial

from harness.measures import difference
from harness.nulls import project
from harness.significance import unconditional as module
from harness.significance.likelihood_ratio import likelihood_ratio
from harness.significance.mcnemar import UNCONDITIONAL, mcnemar_unconditional
from harness.significance.unconditional import f1, unconditional
from harness.significance.wald import wald


@pytest.fixture(autouse=True)
def _nothing_known():
    """p-values are remembered; those found with another constant must not be."""
    module._pvalue.cache_clear()
    yield
    module._pvalue.cache_clear()


def discordant_sets(n):
    """All sets of n documents by n01 and n10."""
    pairs = np.array([(a, b) for a in range(n + 1) for b in range(n + 1 - a)])
    cells = np.zeros((len(pairs), 8), dtype=np.int64)
    cells[:, 1], cells[:, 2], cells[:, 7] = pairs[:, 0], pairs[:, 1], n - pairs.sum(axis=1)
    return cells


def trinomial(cells, pi):
    """Probability of each set under the null, (n_sets, n_pi)."""
    n01, n10, n = cells[:, 1], cells[:, 2], cells[0].sum()
    by_sum = binom.pmf((n01 + n10)[:, None], n, pi)
    return by_sum * binom.pmf(n01, n01 + n10, 0.5)[:, None]


@pytest.mark.parametrize("n", [6, 13])
def test_mcnemar_against_a_list_of_all_sets(n):
    cells = discordant_sets(n)
    n01, n10 = cells[:, 1], cells[:, 2]
    statistic = np.abs(n01 - n10) / np.sqrt(np.maximum(n01 + n10, 1))
    grid = np.linspace(0, 1, 2001)
    on_grid = trinomial(cells, grid)
    for i, found in enumerate(mcnemar_unconditional(cells).pvalue):
        reached = statistic >= statistic[i] - 1e-9
        here = trinomial(cells, np.array([(n01 + n10)[i] / n]))[:, 0]
        assert found == pytest.approx(here[reached].sum() if (n01 + n10)[i] else 1, abs=1e-12)
        worst = on_grid[reached].sum(axis=0).max()
        assert mcnemar_unconditional(cells[i], "maximised").pvalue == pytest.approx(worst, abs=2e-5)


def test_size_of_mcnemar_over_all_nulls():
    # .0529 at N = 10: Fagerland, Lydersen & Laake (2013), the estimated form; the others never exceed alpha
    cells = discordant_sets(10)
    weights = trinomial(cells, np.linspace(0, 1, 400))
    sizes = {}
    for variant in UNCONDITIONAL:
        pvalues = mcnemar_unconditional(cells, variant).pvalue
        sizes[variant] = [weights[pvalues <= alpha].sum(axis=0).max() for alpha in (0.05, 0.01)]
    assert sizes["estimated"][0] == pytest.approx(0.0529, abs=5e-5)
    for variant in ("maximised", "berger_boos"):
        assert sizes[variant][0] <= 0.05 + 1e-6
        assert sizes[variant][1] <= 0.01 + 1e-6


def test_many_documents_are_looked_at_as_fewer_are():
    for variant in ("maximised", "berger_boos"):  # the weights of all pi are kept up to 20,000 documents
        pvalues = [mcnemar_unconditional([0, 2, 7, 0, 0, 0, 0, n], variant).pvalue for n in (19_000, 21_000)]
        assert pvalues[0] == pytest.approx(pvalues[1], rel=1e-3)


def test_more_discordant_documents_of_one_kind_are_stronger_evidence():
    cells = np.zeros((12, 8), dtype=np.int64)
    cells[:, 1], cells[:, 2], cells[:, 7] = np.arange(1, 13), 1, 500
    for variant in UNCONDITIONAL:
        assert (np.diff(mcnemar_unconditional(cells, variant).pvalue[1:]) < 0).all()


def triples(n):
    return np.array([(n - b - a, b, a) for b in range(n + 1) for a in range(n + 1 - b)])


def listed(row):
    """P(statistic at least as large) under the fitted null, over all sets of as many documents that count."""
    row = np.asarray(row)
    counts = np.array([[row[:3], [row[:5].sum(), row[5], row[6]]]])
    null = module._fit_nulls(counts, "f1")
    (first, second), found = null.shares[..., 0], float(null.found[0])
    statistic, total = float(likelihood_ratio(row).statistic), 0.0
    for common, only_b, only_a in triples(row[:7].sum()):
        outer = multinomial.pmf([common, only_b, only_a], row[:7].sum(), [1 - second.sum(), *second])
        for t in range(common + 1):
            inner = triples(t)
            weight = multinomial.pmf(inner, t, [1 - first.sum(), *first]) if t else np.ones(1)
            cells = np.zeros((len(inner), 8), dtype=np.int64)
            cells[:, :3], cells[:, 3], cells[:, 5:8] = inner, common - t, (only_b, only_a, 1)
            reached = likelihood_ratio(cells).statistic >= statistic - 1e-9
            total += outer * binom.pmf(t, common, found) * weight[reached].sum()
    return total


@pytest.mark.parametrize(
    "row",
    [(3, 0, 2, 1, 1, 0, 0, 5), (2, 0, 1, 1, 0, 3, 1, 4), (1, 0, 2, 1, 0, 2, 0, 6), (4, 3, 0, 0, 0, 0, 1, 9)],
)
def test_f1_against_a_list_of_all_sets(row):
    assert float(f1(row).pvalue) == pytest.approx(listed(row), abs=3e-6)


@pytest.mark.parametrize(
    "row", [(3, 0, 2, 9, 1, 2, 0, 5), (2, 3, 1, 0, 2, 0, 4, 4), (5, 1, 0, 1, 3, 1, 1, 9)],
)
def test_precision_against_a_list_of_all_sets(row):
    e1, e2, e3, _, e5, e6, e7, _ = row
    null = module._fit_nulls(np.array([[[e1, e2, e3], [e5, e6, e7]]]), "precision")
    first, second = triples(e1 + e2 + e3), triples(e5 + e6 + e7)
    weights = [
        multinomial.pmf(listed, listed[0].sum(), [1 - share.sum(), *share])
        for listed, share in zip((first, second), null.shares[..., 0], strict=True)
    ]
    cells = np.zeros((len(first), len(second), 8), dtype=np.int64)
    cells[..., :3], cells[..., 4:7], cells[..., 7] = first[:, None], second, 1
    least = float(likelihood_ratio(row, "precision").statistic) - 1e-9
    reached = likelihood_ratio(cells, "precision").statistic >= least
    assert float(unconditional(row, "precision").pvalue) == pytest.approx(
        weights[0] @ reached @ weights[1], abs=3e-6
    )


def test_the_null_that_is_weighed_has_equal_measures():
    rng = np.random.default_rng(0)
    for measure, row in product(("f1", "precision"), rng.poisson([8, 2, 1, 3, 4, 1, 3, 80], (20, 8))):
        e1, e2, e3, e4, e5, e6, e7, _ = row
        common = row[:5].sum() if measure == "f1" else e5
        null = module._fit_nulls(np.array([[[e1, e2, e3], [common, e6, e7]]]), measure)
        (b, a), (wrong_b, wrong_a) = null.shares[..., 0]
        rest = 1 - wrong_b - wrong_a
        found = rest * null.found[0] if measure == "f1" else 1
        cells = [found * (1 - a - b), found * b, found * a, rest - found, 0, wrong_b, wrong_a, 1]
        if measure == "precision":
            cells = [1 - a - b, b, a, 0, rest, wrong_b, wrong_a, 1]
        assert difference(measure)(np.array(cells) / np.sum(cells)) == pytest.approx(0, abs=1e-10)


@pytest.mark.parametrize("measure", ["f1", "precision"])
def test_which_tables_are_reached_is_settled_as_by_the_statistic_itself(measure):
    rng = np.random.default_rng(1)
    for _ in range(12):
        tables = np.array([rng.poisson([9, 2, 2]), rng.poisson([25, 2, 3])])
        null = module._fit_nulls(tables[None], measure)
        one = module.Null(*(field[..., 0] for field in null))
        pairs = zip(tables, one.shares, strict=True)
        first, second = (module._likely(table, share)[0] for table, share in pairs)
        every = np.stack(np.broadcast_arrays(first[:, :, None], second[:, None]), axis=1).reshape(3, 2, -1)
        exact = module._profile(every, module.common_log_ratio(every.astype(float)))[0].sum(axis=0)
        statistic = exact[rng.integers(exact.size)]
        reached = module._reached(first, second, float(statistic), one)
        near = np.abs(exact - statistic) < 1e-7
        assert (reached.ravel() == (exact >= statistic))[~near].all()
        assert reached.ravel()[near].all()


def test_bartlett_factor_is_the_mean_of_the_statistic():
    # twelve of each kind: the factor is 1.02; left out, the mean would be 4 standard errors off
    cells = np.array([60, 12, 12, 10, 8, 12, 12, 900])
    null = module._fit_nulls(np.array([[cells[:3], [cells[:5].sum(), 12, 12]]]), "f1")
    sets = np.random.default_rng(0).multinomial(cells.sum(), cells / cells.sum(), 150_000)
    drawn = likelihood_ratio(sets).statistic
    error = drawn.std() / np.sqrt(len(drawn))
    assert drawn.mean() == pytest.approx(float(null.inflation[0]), abs=5 * error)
    assert float(null.inflation[0]) - 1 > 3 * error


def test_chi_square_where_counts_are_large(monkeypatch):
    rows = [(90, 24, 38, 40, 30, 33, 36, 4000), (70, 45, 30, 40, 30, 25, 52, 4000)]
    large = f1(rows).pvalue
    monkeypatch.setattr(module, "LARGE", 1e9)
    module._pvalue.cache_clear()
    assert large == pytest.approx(f1(rows).pvalue, rel=0.02)


def test_lattice_of_tables_against_every_table(monkeypatch):
    rows = [(30, 14, 25, 10, 8, 12, 9, 933), (60, 21, 12, 10, 8, 12, 26, 872), (15, 9, 20, 9, 5, 3, 4, 700)]
    thinned = f1(rows).pvalue
    monkeypatch.setattr(module, "LATTICE", 1e9)
    module._pvalue.cache_clear()
    assert thinned == pytest.approx(f1(rows).pvalue, rel=0.02)


@pytest.mark.parametrize("expected", [(0.26, 1.44, 0.09, 4.2), (0.01, 0.9, 0.01, 3.06)])
def test_size_where_wald_fails(expected):
    """Topics C31 and E512, linear against RBF SVM (protocol, section 14): Wald's size is .13 there."""
    e2, e3, e6, e7 = expected
    null = project([15, e2, e3, 35, 6, e6, e7, 940], "f1")
    sets = np.random.default_rng(2).multinomial(1000, null, 400)
    assert (wald(sets, "f1").pvalue <= 0.05).sum() > binom.isf(1e-6, 400, 0.05)
    assert (f1(sets).pvalue <= 0.05).sum() <= binom.isf(1e-6, 400, 0.06)


def test_worst_null_is_at_least_as_probable_as_the_fitted_one():
    rows = np.array([(6, 0, 2, 3, 1, 1, 0, 90), (5, 3, 0, 2, 2, 0, 1, 90), (9, 1, 1, 2, 1, 0, 2, 90)])
    estimated, guaranteed = f1(rows).pvalue, f1(rows, "berger_boos").pvalue
    assert (guaranteed >= estimated).all()
    assert (guaranteed <= 1.5 * estimated).all()  # the region is near the set


def test_search_for_the_worst_null_finds_what_a_longer_one_finds(monkeypatch):
    rows = [(12, 0, 2, 6, 3, 1, 0, 976)]
    short = f1(rows, "berger_boos").pvalue
    for name, value in {"N_FIRST": 512, "N_NEAR": 128, "N_ROUNDS": 8}.items():
        monkeypatch.setattr(module, name, value)
    module._pvalue.cache_clear()
    assert f1(rows, "berger_boos").pvalue == pytest.approx(short, rel=0.02)


def all_sets(n):
    """All sets of n documents that count, one cell for e4 and e5."""
    rows = [c for c in product(range(n + 1), repeat=5) if sum(c) <= n]
    cells = np.zeros((len(rows), 8), dtype=np.int64)
    cells[:, [1, 2, 3, 5, 6]] = rows
    cells[:, 0], cells[:, 7] = n - cells.sum(axis=1), 1
    return cells


def largest_size(n, n_nulls, alpha=0.05):
    """Size of the guaranteed test over random nulls, from a list of all sets."""
    cells = all_sets(n)
    rejected = f1(cells, "berger_boos").pvalue <= alpha
    rng, sizes = np.random.default_rng(3), []
    for _ in range(n_nulls):
        shares = rng.dirichlet(rng.choice([0.3, 1, 3], 7))
        null = project(np.append(shares, 0), "f1")
        five = np.array([null[0], null[1], null[2], null[3] + null[4], null[5], null[6]])
        counted = np.column_stack([cells[:, :3], cells[:, 3] + cells[:, 4], cells[:, 5:7]])
        sizes.append(multinomial.pmf(counted[rejected], n, five / five.sum()).sum())
    return max(sizes), rejected.sum()


def test_size_of_the_guaranteed_test_over_random_nulls():
    size, n_rejected = largest_size(6, 200)
    assert size <= 0.05 + 0.0005
    assert n_rejected > 0


@pytest.mark.slow
def test_size_of_the_guaranteed_test_over_many_nulls():
    size, n_rejected = largest_size(9, 10_000)
    assert size <= 0.05 + 0.0005
    assert n_rejected > 0


def test_wrong_choices_are_refused():
    with pytest.raises(ValueError, match="measure: 'recall' is not allowed; choose one of f1, precision"):
        unconditional([1] * 8, "recall")
    with pytest.raises(ValueError, match="variant: 'exact' is not allowed; choose one of estimated, ber"):
        f1([1] * 8, "exact")
    with pytest.raises(ValueError, match="variant: 'exact' is not allowed; choose one of estimated, max"):
        mcnemar_unconditional([1] * 8, "exact")
