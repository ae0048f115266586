"""From rejections and truths to the tables of size and power, with error bars; dead categories."""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from harness.evaluation.rejections import Test
from harness.evaluation.sets import Plan
from harness.intervals import clopper_pearson
from harness.measures import Bools, Floats, Ints
from harness.runtime.store import write_atomically
from harness.seeding import rng
from harness.writing.table_text import to_csv

COLUMNS: dict[str, list[str]] = tomllib.loads(Path(__file__).with_name("columns.toml").read_text("utf-8"))
POINT: tuple[str, ...] = tuple(COLUMNS["point"])
BY_CATEGORY: tuple[str, ...] = tuple(COLUMNS["size_power_by_category"])
SIZE_POWER: tuple[str, ...] = tuple(COLUMNS["size_power"])


def category_rows(
    plan: Plan,
    test: Test,
    truth: str,
    axes: tuple[Sequence[float], Sequence[int], Sequence[str] | NDArray[Any]],
    counts: Mapping[str, ArrayLike],
    *,
    n_sets: int,
) -> dict[str, Any]:
    """Return the columns of one test under one truth: a row for each level, size of set and category."""
    shape = tuple(map(len, axes))
    alphas, sizes, categories = map(np.array, axes)
    spread = {"alpha": alphas[:, None, None], "n_documents": sizes[:, None], "category": categories, **counts}
    plain: dict[str, Any] = {"pair": plan.pair, "balance": plan.balance, "truth": truth}
    plain |= {"prevalence": np.nan if plan.prevalence is None else plan.prevalence, "measure": test.measure}
    arrays = {name: np.broadcast_to(values, shape).ravel() for name, values in spread.items()}
    return plain | {"test": test.name, "n_sets": n_sets} | arrays


def category_rates(blocks: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Return blocks of :func:`category_rows` as one table with rates, columns :data:`BY_CATEGORY`.

    ``kind="size"``: `rate` is the share of sets rejected; ``kind="power"``: the share rejected in the right
    direction. `mc_low` and `mc_high` are its Clopper-Pearson interval (95 %) over sets.
    """
    if not blocks:
        return pd.DataFrame(columns=list(BY_CATEGORY))
    table = pd.concat([pd.DataFrame(block) for block in blocks], ignore_index=True)
    right = table["n_rejected"] - table["n_wrong_direction"]
    counted = np.where(table["kind"] == "power", right, table["n_rejected"])
    table["rate"] = counted / table["n_sets"]
    table["mc_low"], table["mc_high"] = clopper_pearson(counted, table["n_sets"].to_numpy())
    return table[list(BY_CATEGORY)]


N_RESAMPLES = 2000  # of the bootstrap over categories
FEWEST_CATEGORIES = 5  # with fewer there is no band over categories
_POINTS_AT_ONCE = 512  # bounds the memory of the bootstrap; the sums are exact, so it changes nothing


def size_power(by_category: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """Return size and power at each point: the mean rate over the categories that qualify.

    Returns
    -------
    pandas.DataFrame
        Columns :data:`SIZE_POWER`, two rows a point, size then power, in the order of `by_category`.
        Where no category qualifies `n_categories` is 0 and the rest missing (NaN).

        - `rate`: mean over categories; size counts all rejections, power those in the right direction.
        - `mc_low`, `mc_high`: 95 % interval of that mean over the drawing of sets alone, the
          categories given. Sets of different categories are independent, so the total of rejections
          is Poisson-binomial, and falls into an acceptance region around its mean at least as often as
          a binomial total (Hoeffding 1956, theorem 4): the Clopper-Pearson interval of the pooled
          count covers at least 95 %. The more the categories differ, the wider than needed it is.
        - `category_low`, `category_high`: 95 % percentile bootstrap over categories, 2,000 resamples;
          missing below 5 categories. The resamples come from ``rng(seed, "categories",
          n_categories)``: points with as many categories share them, whatever else is in the table.
        - `category_sd`: standard deviation of the rate over categories (n - 1).
        - `n_dead`: categories in which a set that any test of the measure can reject is rarer than alpha
          (:func:`dead_categories`); `rate_without_dead`: the mean over the others, which are live.
        - `degenerate_share`: degenerate sets among all sets of the qualifying categories;
          `convention_share`: those whose verdict is the convention's, so that the rates under
          ``degenerate=reject`` and ``degenerate=accept`` differ by just this.
        - `wrong_direction_rate`: for power, the mean share of sets rejected in the wrong direction;
          for size always missing, since under H0 no direction is right.

    References
    ----------
    Hoeffding (1956), Ann. Math. Stat. 27, 713-721.

    Examples
    --------
    >>> import pandas as pd
    >>> counts = {"n_sets": 500, "n_rejected": [25, 35], "n_wrong_direction": 0, "category": ["C1", "C2"]}
    >>> point = dict.fromkeys(BY_CATEGORY, 0) | {"kind": "size", "alpha": 0.05} | counts
    >>> table = size_power(pd.DataFrame(point))
    >>> table[["kind", "rate", "n_categories"]].values.tolist()
    [['size', 0.06, 2], ['power', nan, 0]]
    """
    point, first = points(by_category)
    group = 2 * point + (by_category["kind"].to_numpy(dtype=object) == "power")
    each = by_category["n_sets"].to_numpy(dtype=np.int64)
    n_sets = np.repeat(each[first], 2)
    n_sets[group] = each
    columns = _means(by_category, group, n_sets, seed)
    keys = by_category[list(POINT)].iloc[np.repeat(first, 2)].reset_index(drop=True)
    return keys.assign(kind=["size", "power"] * len(first), **columns)[list(SIZE_POWER)]


def points(by_category: pd.DataFrame) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the point of each row, numbered by first appearance, and the first row of each point."""
    point = by_category.groupby(list(POINT), sort=False, dropna=False).ngroup().to_numpy()
    return point, np.unique(point, return_index=True)[1]


def _means(by_category: pd.DataFrame, group: Ints, n_sets: Ints, seed: int) -> dict[str, NDArray[Any]]:
    """Return the columns of the table for groups 0, 1, ...; sums are of whole numbers, thus exact."""
    n_rejected, n_wrong, n_degenerate, n_convention = (
        by_category[name].to_numpy(dtype=np.int64)
        for name in ("n_rejected", "n_wrong_direction", "n_degenerate", "n_convention")
    )
    is_power = np.arange(len(n_sets)) % 2 == 1
    counted = n_rejected - np.where(is_power[group], n_wrong, 0)
    dead = by_category["dead"].to_numpy(dtype=bool)

    def total(values: NDArray[Any]) -> Ints:
        return np.bincount(group, weights=values, minlength=len(n_sets)).astype(np.int64)

    n, k, n_dead = total(np.ones(len(group))), total(counted), total(dead)
    qualifies = n > 0
    low, high = clopper_pearson(k, np.where(qualifies, n * n_sets, 1))
    squares = n * total(counted**2) - k**2
    band_low, band_high = _category_band(counted, group, n, n_sets, seed)
    return {
        "rate": _ratio(k, n * n_sets),
        "mc_low": np.where(qualifies, low, np.nan),
        "mc_high": np.where(qualifies, high, np.nan),
        "category_low": band_low,
        "category_high": band_high,
        "category_sd": np.sqrt(_ratio(squares, n * (n - 1))) / n_sets,
        "n_categories": n,
        "n_dead": n_dead,
        "n_sets": n_sets,
        "degenerate_share": _ratio(total(n_degenerate), n * n_sets),
        "convention_share": _ratio(total(n_convention), n * n_sets),
        "wrong_direction_rate": np.where(is_power, _ratio(total(n_wrong), n * n_sets), np.nan),
        "rate_without_dead": _ratio(total(np.where(dead, 0, counted)), (n - n_dead) * n_sets),
    }


def _ratio(part: Ints, whole: Ints) -> Floats:
    """Return part / whole, NaN where there is no whole."""
    return np.where(whole > 0, part / np.where(whole > 0, whole, 1), np.nan)


def _category_band(counted: Ints, group: Ints, n: Ints, n_sets: Ints, seed: int) -> tuple[Floats, Floats]:
    """Return the percentile bootstrap interval of each group's mean rate over its categories."""
    ordered = counted[np.argsort(group, kind="stable")].astype(float)
    start = np.concatenate([[0], np.cumsum(n)[:-1]])
    band = np.full((2, len(n)), np.nan)
    for size in np.unique(n[n >= FEWEST_CATEGORIES]).tolist():
        picked = rng(seed, "categories", size).integers(0, size, size=(N_RESAMPLES, size))
        flat = (picked + size * np.arange(N_RESAMPLES)[:, None]).ravel()
        times = np.bincount(flat, minlength=N_RESAMPLES * size).reshape(N_RESAMPLES, size).astype(float)
        groups = np.flatnonzero(n == size)
        for at in range(0, len(groups), _POINTS_AT_ONCE):
            some = groups[at : at + _POINTS_AT_ONCE]
            # products and sums of whole numbers below 2**53: exact in any order, on any number of threads
            totals = ordered[start[some][:, None] + np.arange(size)] @ times.T
            band[:, some] = np.quantile(totals, [0.025, 0.975], axis=1) / (size * n_sets[some])
    return band[0], band[1]


LOWEST, HIGHEST = 0.8, 1.2
"""Times alpha: between these the size of a test holds."""


def verdict(low: float, high: float, alpha: float) -> str:
    """Return what the interval of a size says of a test at level `alpha`.

    Returns
    -------
    {"holds", "liberal", "conservative", "undecided"}
        *holds* within [.8, 1.2] alpha, *liberal* above 1.2 alpha, *conservative* below .8 alpha.

    Examples
    --------
    >>> verdict(0.04, 0.06, 0.05), verdict(0.061, 0.09, 0.05), verdict(0.0, 0.03, 0.05)
    ('holds', 'liberal', 'conservative')
    >>> verdict(0.03, 0.07, 0.05)
    'undecided'
    """
    slack = 1e-12  # so that .04 counts as .8 times .05, which is a little more in binary
    least, most = LOWEST * alpha - slack, HIGHEST * alpha + slack
    if low > most:
        return "liberal"
    if high < least:
        return "conservative"
    return "holds" if low >= least and high <= most else "undecided"


def fewest_discordances(pvalue_function: Callable[[Ints], Any], alpha: float, n_documents: int) -> int:
    """Return the fewest documents that only A gets wrong with which a test can reject.

    All discordances on one side is the strongest evidence that their number allows. The other
    documents are right for both, half of them positives, half negatives; the discordant ones are all
    positives (cell e2) or all negatives (e7), whichever rejects first.

    Returns
    -------
    int
        From 1 to `n_documents`, or ``n_documents + 1`` if the test cannot reject at this size.

    Examples
    --------
    >>> fewest_discordances(lambda counts: stats.chi2.sf(counts[..., 1] + counts[..., 6], 1), 0.05, 100)
    4
    """
    start, stop = 1, 8  # ten suffice for ordinary tests and levels; each replicate costs
    while start <= n_documents:
        discordant = np.arange(start, min(stop, n_documents) + 1)
        counts = np.zeros((2, len(discordant), 8), dtype=np.int64)
        counts[0, :, 1] = counts[1, :, 6] = discordant
        counts[:, :, 0] = (n_documents - discordant + 1) // 2
        counts[:, :, 7] = (n_documents - discordant) // 2
        result = pvalue_function(counts.reshape(-1, 8))
        pvalue = np.asarray(getattr(result, "pvalue", result), dtype=float)
        rejects = (pvalue <= alpha).reshape(2, -1).any(axis=0)
        if rejects.any():
            return int(discordant[np.argmax(rejects)])
        start, stop = stop + 1, 2 * stop
    return n_documents + 1


def dead_categories(counts: ArrayLike, n_documents: int, fewest: int, alpha: float) -> Bools:
    """Return the categories in which hardly any evaluation set can be rejected.

    With the least :func:`fewest_discordances` of all tests of a measure, so that these are compared on the
    same categories, a set can be rejected only if it holds as many discordant documents. Their number is
    Bin(N, m/D); where it reaches `fewest` with probability below alpha, the rejection rate is below alpha
    whatever the difference: the "size" is small as few discordances occur, and says nothing of the tests.

    A category with difference 0 but many discordant documents is not dead: its sets can be rejected, and
    its rate is a size in the strict sense. One without any discordant document always is.

    Parameters
    ----------
    counts : array, shape (n_categories, 8)
        Population cells: numbers of documents or shares. For stratified sets the shares at prevalence
        1/2; the binomial law then is an approximation.

    Returns
    -------
    bool array, shape (n_categories,)

    Examples
    --------
    >>> dead_categories([[40, 0, 0, 0, 0, 0, 0, 960], [30, 10, 10, 0, 0, 0, 0, 950]], 500, 6, 0.05)
    array([ True, False])
    """
    cells = np.asarray(counts, dtype=float)
    disagreement = cells[:, [1, 2, 5, 6]].sum(axis=-1) / cells.sum(axis=-1)
    return np.asarray(stats.binom.sf(fewest - 1, n_documents, np.minimum(disagreement, 1.0)) < alpha)


def write_table(table: pd.DataFrame, path: str | Path) -> None:
    """Write a table as CSV: floats with ten digits, missing values empty; the same table, the same bytes."""
    write_atomically(Path(path), to_csv(table, float_format="%.10g"))
