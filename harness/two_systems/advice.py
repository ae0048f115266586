"""Which test to use on two systems' predictions, from Python: ``harness advise`` for one pair."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from harness.advise.cells import CellPair
from harness.advise.files import units
from harness.advise.margin import HINT, check_margin, measure_margin, say_margin
from harness.advise.needed import deviations
from harness.advise.points import Plan, Question, measure_pair
from harness.advise.rates import detectable, power_table, size_table
from harness.advise.recommend import choose_tests
from harness.advise.report import say_worst
from harness.advise.study import POWERS
from harness.advise.worst import tabulate_worst
from harness.errors import check_share, value_errors
from harness.measures import Floats, check_measure
from harness.runtime.parallel import Workers, make_run
from harness.runtime.store import Store
from harness.two_systems import Comparison, Printed, check_names, check_whole, judge, make_pair
from harness.two_systems.labels import Given, read_given
from harness.writing.prose import paragraphs

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True, eq=False, repr=False)
class Advice(Printed):
    """Which test to use on two systems, and what it can see; printed, and in a notebook shown, as a table.

    Attributes
    ----------
    comparison : Comparison
        What every test says of the predictions.
    alpha : float
    test : str
        The recommended one.
    keeps_level : bool
        Whether its size is at most 1.2 `alpha` beyond doubt; ``table.loc[test, "verdict"]`` says more.
    reason : str
        Why it is recommended, in sentences; these say so where its verdict is not *holds*.
    table : DataFrame
        A row for each test: ``pvalue``; ``size``, ``size_low``, ``size_high`` (error bar and range over
        populations that could have given these predictions, together) and the ``verdict`` on these;
        ``power_80`` and ``power_95``, the smallest difference that it sees with a power of 80 and of 95 % in
        either direction, with ends ``_low`` and ``_high`` that hold it in about 80 % of files.
    power : DataFrame
        The power curves: test, h, difference, power (the mean over both directions), mc_low, mc_high, n_sets,
        power_a and power_b (where the measure of A and where that of B is larger).
    worst : DataFrame
        One row: the largest `size` found of the recommended test over the populations of equal systems that
        these predictions allow (a 95 % likelihood region), measured again on new sets, with its interval
        ``mc_low``, ``mc_high``, and the items that are expected there in each cell, ``e1`` to ``e8``; empty
        where no item tells the two apart. It is no bound. No row of clusters or runs.
    notes : tuple of str
        What else to know.
    margin, margin_needed : DataFrame or None
        Where a margin was given. A row for each claim and test: ``pvalue``; whether the test is
        ``recommended``; its ``size`` where the difference is the margin, with ``low``, ``high`` and its
        ``verdict``; its ``power`` where the difference is 0. And the items that the recommended one needs
        there.
    """

    comparison: Comparison
    alpha: float
    test: str
    keeps_level: bool
    reason: str
    table: DataFrame
    power: DataFrame
    worst: DataFrame
    notes: tuple[str, ...]
    margin: DataFrame | None = None
    margin_needed: DataFrame | None = None

    def shown(self) -> DataFrame:
        """Return the whole table."""
        return self.table

    def sentences(self) -> list[str]:
        """Return the comparison, the recommended test's verdict, why it is recommended and its worst case."""
        names, measure, margin = self.comparison.names, self.comparison.measure, list[str]()
        if self.margin is not None and self.margin_needed is not None:
            unit = "items" if self.comparison.n_clusters is None else "clusters"
            pairs = [(*names, self.margin["pair"].iloc[0])]
            margin = say_margin(self.margin, self.margin_needed, pairs, self.alpha, unit)
        worst = [say_worst(row, names, measure, self.alpha) for row in self.worst.to_dict("records")]
        told = paragraphs(
            "two_systems", "advice", found=self, pvalue=self.table["pvalue"].to_dict()[self.test],
            margin=margin, hint=HINT, worst=worst,
        )  # fmt: skip
        return [*self.comparison.sentences(), *told]


@value_errors()
def advise_predictions(
    y: ArrayLike | None,
    a: ArrayLike,
    b: ArrayLike,
    measure: str = "f1",
    test: str | Sequence[str] | None = None,
    *,
    alpha: float = 0.05,
    positive: object = None,
    average: str = "micro",
    clusters: ArrayLike | None = None,
    runs: str | None = None,
    margin: float | None = None,
    names: tuple[str, str] = ("A", "B"),
    n_replicates: int | None = None,
    n_jobs: int = 1,
    plan: Plan | None = None,
    seed: int = 0,
    **costs: float,
) -> Advice:
    """Measure each test's size and power on items like these, and say which to use.

    The size of a test is its share of rejections on sets drawn from the population nearest to these
    outcomes in which both systems are equally good: there every rejection is wrong. Its power is
    that share on populations with a difference. ``harness advise`` does the same for any number of systems.

    Parameters
    ----------
    y, a, b, measure, test, positive, average, clusters, runs, margin, names, n_replicates, **costs
        As :func:`harness.two_systems.compare_predictions` takes them.
    alpha : float
        Level of the tests, in (0, 1).
    n_jobs : int
        Processes that draw the sets; -1 is one per core.
    plan : harness.advise.points.Plan, optional
        How much is measured; by default 10,000 sets for a size, more where alpha is below .05, at the
        given number of items alone.
    seed : int
        Of everything drawn.

    Returns
    -------
    Advice

    Raises
    ------
    ValueError
        As :func:`harness.two_systems.compare_predictions`; or if `alpha` is not between 0 and 1.

    Examples
    --------
    >>> y = [1] * 40 + [0] * 160
    >>> a = [1] * 34 + [0] * 6 + [1] * 4 + [0] * 156
    >>> b = [1] * 25 + [0] * 15 + [0] * 160
    >>> quick = Plan(n_sets=2_000, n_draws=5, n_range_sets=200, n_power_sets=200, factors=(1.0,))
    >>> found = advise_predictions(y, a, b, "error", ["mcnemar_midp", "mcnemar"], plan=quick)
    >>> found.test, found.table.loc["mcnemar", "verdict"]
    ('mcnemar', 'undecided')
    """
    check_share("alpha", alpha)
    check_whole("seed", seed, 0)
    names = check_names(names)
    outcomes, measure = read_given(Given(y, a, b, measure, positive, average, clusters, runs, names))
    costs, plan = check_measure(measure, **costs) if measure == "dcf" else costs, plan or Plan(factors=(1.0,))
    if margin is not None:
        check_margin(margin, measure, costs, outcomes)
    question = Question(
        "y", measure, (), costs, average, n_replicates, alpha=alpha, margin=margin, plan=plan, seed=int(seed)
    )
    from harness.cli.configuration import check_quick

    own = make_pair(outcomes, question, test)
    comparison, n_items = judge(own, question, outcomes), units(outcomes)[0]
    if isinstance(own, CellPair):
        check_quick(own.battery)
        own = own.with_null().with_drawn(plan.n_draws, int(seed))
    pair, workers = own.name, Workers("sequential") if n_jobs == 1 else Workers("loky", n_jobs)
    stage_run = functools.partial(make_run, workers, Store(None))
    measured, missing = measure_pair(own, plan, alpha, int(seed), stage_run)
    sizes, power = size_table(measured, alpha), power_table(measured)
    chosen = choose_tests(sizes, power, own.recommendable, alpha, n_items)[pair, n_items]
    around = deviations(own, 0.0)
    worst = tabulate_worst([own], [chosen.test], question, stage_run)
    tables, more = ({}, []) if margin is None else measure_margin([own], question, stage_run, 1)
    own_sizes, own_power = (part[part["n_documents"] == n_items] for part in (sizes, power))
    return Advice(
        comparison, alpha, chosen.test, chosen.keeps_level, chosen.reason,
        _tabulate(comparison.table, own_sizes, own_power, {pair: around}, alpha),
        own_power.drop(columns=["pair", "n_documents"]).reset_index(drop=True), worst.drop(columns="pair"),
        (*missing, *more), **tables,
    )  # fmt: skip


def _tabulate(
    judged: DataFrame, sizes: DataFrame, power: DataFrame, around: Mapping[str, Floats], alpha: float
) -> DataFrame:
    """Return p-value, size with what is judged, verdict and detectable differences of each test."""
    sizes = sizes.set_index("test").rename(columns={"low": "size_low", "high": "size_high"})
    table = judged[["pvalue"]].join(sizes[["size", "size_low", "size_high", "verdict"]])
    for wanted in POWERS:
        name = f"power_{round(100 * wanted)}"
        seen = detectable(power, wanted, around, alpha).set_index("test")
        names = {"difference": name, "low": f"{name}_low", "high": f"{name}_high"}
        table = table.join(seen[list(names)].rename(columns=names).astype(float))
    return table
