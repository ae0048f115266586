"""Two systems on one labelled set, from Python: every test's verdict, the difference and its interval."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike

from harness.advise.cells import LARGEST_RANDOMIZATION, CellPair
from harness.advise.documents import Rows, document_pairs
from harness.advise.documents.battery import names_of
from harness.advise.documents.tests import MICRO
from harness.advise.files import Said, is_plain, units
from harness.advise.files.predictions import Outcomes
from harness.advise.files.runs import Runs
from harness.advise.points import Pair, Plan, Question, judge_pair
from harness.advise.runs import TESTS, RunPair, run_pairs, tabulate_components
from harness.errors import check_share, require, value_errors
from harness.measures import Ints, check_measure
from harness.two_systems.labels import Given, read_given
from harness.writing.prose import paragraphs

if TYPE_CHECKING:
    from pandas import DataFrame

    from harness.evaluation.rejections import Test


class Printed(ABC):
    """What is printed, and in a notebook shown, as sentences above a table."""

    @abstractmethod
    def sentences(self) -> list[str]:
        """Return what stands above the table."""

    @abstractmethod
    def shown(self) -> DataFrame:
        """Return the table as it is shown."""

    def __repr__(self) -> str:
        return "\n".join([*self.sentences(), self.shown().to_string(float_format="{:.4g}".format)])

    def _repr_html_(self) -> str:
        text = "<br>".join(map(escape, self.sentences()))
        return f"<p>{text}</p>{self.shown().to_html(float_format='{:.4g}'.format)}"


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Printed):
    """What the tests say of two systems; printed, and in a notebook shown, as a short table.

    Attributes
    ----------
    names : tuple of str
        Of A and of B.
    measure : str
    counts : int array, shape (8,)
        Joint outcomes e1..e8, see :func:`harness.outcomes.count_outcomes`; None of scores,
        of runs and of macro averages.
    score_a, score_b : float
        The measure of either.
    difference : float
        A minus B. A positive difference of F1, precision or recall favours A; of an error or a cost, B.
    low, high : float
        Interval of the difference: the central part of its posterior, Dirichlet(counts + 1/2) on the cells.
    confidence : float
        How much of the posterior the interval holds.
    table : DataFrame
        A row for each test, named by the index: ``difference``, ``low``, ``high`` (the same in each row),
        ``statistic``, ``pvalue`` and ``degenerate``.
    warnings : tuple of str
        What to know before the numbers, a sentence each: labels that `y` lacks, with their share, and items
        that seem to stand there several times. Printed first.
    n_clusters : int or None
        How many clusters were drawn; None where items were, one by one.
    n_items : int
    components : DataFrame or None
        Of runs: the variance between items, between the runs of each system, and of their interaction, and
        what each adds to the variance of the difference (``of_difference``, ``share``).
    average : str
        ``"macro"``: the measure is a mean over the labels.
    margin : DataFrame or None
        Where a margin was given: a row for each claim (``same``, ``a_not_worse``, ``b_not_worse``) and test,
        with its ``pvalue``.
    """

    names: tuple[str, str]
    measure: str
    counts: Ints | None
    score_a: float
    score_b: float
    difference: float
    low: float
    high: float
    confidence: float
    table: DataFrame
    warnings: tuple[str, ...] = ()
    n_clusters: int | None = None
    n_items: int = 0
    components: DataFrame | None = None
    average: str = MICRO
    margin: DataFrame | None = None

    def shown(self) -> DataFrame:
        """Return statistic, p-value and degeneracy of each test."""
        return self.table[["statistic", "pvalue", "degenerate"]]

    def sentences(self) -> list[str]:
        """Return what stands above the table."""
        told = []
        if self.margin is not None:
            from harness.advise.margin import say_pvalues

            told = say_pvalues(self.margin, *self.names)
        return paragraphs("two_systems", "comparison", found=self, margin=told)


@value_errors()
def compare_predictions(
    y: ArrayLike | None,
    a: ArrayLike,
    b: ArrayLike,
    measure: str = "f1",
    test: str | Sequence[str] | None = None,
    *,
    positive: object = None,
    average: str = MICRO,
    clusters: ArrayLike | None = None,
    runs: str | None = None,
    margin: float | None = None,
    names: tuple[str, str] = ("A", "B"),
    confidence: float = 0.95,
    n_replicates: int | None = None,
    seed: int = 0,
    **costs: float,
) -> Comparison:
    """Compare the decisions of two systems on the same items by every test of a measure.

    The null hypothesis of each test is that of its own function: in the population from which the items come
    the measure of A equals that of B (McNemar's tests, Wald, score, likelihood ratio, bootstrap), or A and
    B are exchangeable (randomization). Small p-values of several tests are not several findings: choose the
    test before looking, or by :func:`harness.two_systems.advice.advise_predictions`.

    Parameters
    ----------
    y : array_like, shape (n_items,)
        True labels: numbers, bools or text; exactly two of them, or more with `positive` or
        ``measure="error"``. Blanks around a label and the form of a number do not matter: 1, 1.0, "+1" and
        "1e0" are one label, and so is True where `y` is 0 and 1. None, NaN and empty text are missing.
        None with ``measure="score"``, which needs no truth.
    a, b : array_like, shape (n_items,)
        What A and B decided, in the labels of `y`. Scores are to be turned into decisions before,
        as in ``a >= 0.5``. With ``measure="error"`` a label that `y` lacks is wrong (`warnings` tells its
        share); with others it is not the positive one, or refused where `y` has two labels. A label that
        differs from one of `y` only in case, blanks or leading zeros is refused.
    measure : {"f1", "error", "accuracy", "precision", "recall", "dcf", "balanced_error", "score"}
        Accuracy is 1 - error, and taken for the error: A minus B below 0 means that A is the more accurate.
        Of ``"score"`` `a` and `b` hold a number for each item, such as BLEU or a rating, and the means are
        compared, by ``paired_t``, ``bootstrap_score``, ``randomization_score``, and ``wilcoxon``, whose null
        hypothesis is another one: that the differences are symmetric about 0.
    test : str or sequence of str, optional
        Names of tests as in ``harness run test=[...]``; by default those of the measure that
        ``harness advise`` runs. Above 50,000 items the default leaves out randomization, which is slow there.
    positive : object, optional
        The positive label; where it is not given, one of 1, true, yes, pos, positive.
    average : {"micro", "macro"}
        ``"macro"`` takes the mean of the measure over the labels of `y`, each the positive one in turn, by
        ``wald_by_document``, ``bootstrap_by_document``, ``randomization_by_document``, and a pooled test that
        takes the labels as independent.
    clusters : array_like, shape (n_items,), optional
        The cluster of each item, such as its document, passage or patient, where items of one cluster may
        depend on each other. Clusters are then what is drawn: the tests are ``wald_by_cluster`` (t with G - 1
        degrees of freedom), ``wald_by_cluster_cr2``, ``bootstrap_by_cluster`` and
        ``randomization_by_cluster``, beside a pooled one that takes items as independent. The measure still
        weighs every item alike.
    runs : {"nested", "paired"}, optional
        `a` and `b` have a row for each run (seed, trial), shape (n_runs, n_items), and the expected measures
        over items and runs are compared: by ``t_by_item_and_run``, which takes both as drawn; beside it stand
        the ``pigeonhole`` bootstrap, ``mean_of_runs`` (the runs at hand are all there are), ``one_run``, and
        ``pooled_runs`` (every run on every item is another item). ``"nested"``: runs of A have nothing to do
        with those of B, and their numbers may differ; ``"paired"``: run j of A belongs to run j of B. With
        one run of each system the seed is part of the result, and nothing says how much another would differ.
    margin : float, optional
        The least difference that matters, chosen before looking. Three claims are then tested beside the
        difference, each by a one-sided test or, the first, by two: that A and B are the same to within the
        margin, that A is not worse than B by more than it, and B not than A. A difference that is not shown
        says none of this. By Wald's standard error, which leaves p = 1 where it is 0, and for the error
        also by the one that is fitted at the margin (``score``).
    names : tuple of str
        How A and B are called in what is printed.
    confidence : float
        Of the interval, in (0, 1).
    n_replicates : int or None
        Of the bootstrap tests; None is the limit of infinitely many, which the percentile ones have.
    seed : int
        Of the interval's draws, 100,000 for a single category, and of tests that draw replicates.
    **costs : float
        ``cost_fn``, ``cost_fp``, ``prior`` for ``"dcf"``; see :func:`harness.measures.dcf_difference`.

    Returns
    -------
    Comparison
        Where a test cannot decide, as without a discordant item that its measure counts, its p-value is 1
        and ``degenerate`` is true.

    Raises
    ------
    ValueError
        If lengths differ, a value is missing, `y` has one class only or measurements, `a` or `b` holds scores
        or a label that is not allowed, the systems are right and wrong on the same items, or an option is not
        allowed; names the argument.

    Notes
    -----
    The interval treats the eight cells as a sample with Jeffreys' prior, half an item in each. On few
    discordant items it errs to the safe side. Of 1,500 sets of 1,000 items with three discordant ones on
    average it held the true difference of F1 in 99 %, where percentile bootstrap and Wald intervals held it
    in 76 and 90 %.

    Examples
    --------
    >>> y = [1] * 40 + [0] * 160
    >>> a = [1] * 34 + [0] * 6 + [1] * 4 + [0] * 156
    >>> b = [1] * 25 + [0] * 15 + [0] * 160
    >>> compare_predictions(y, a, b, test=["score_f1", "randomization_f1_midp"])
    F1 on 200 items: A 0.8718, B 0.7692
    A minus B: +0.1026, 95 % interval [-0.0004, +0.2179]
                           statistic  pvalue  degenerate
    score_f1                   4.385 0.03626       False
    randomization_f1_midp     0.1026  0.0719       False
    >>> compare_predictions(y, a, b, "error", "mcnemar_midp").table["pvalue"].round(4).to_dict()
    {'mcnemar_midp': 0.1796}
    """
    names = check_names(names)
    outcomes, measure = read_given(Given(y, a, b, measure, positive, average, clusters, runs, names))
    check_share("confidence", confidence)
    check_whole("seed", seed, 0)
    if margin is not None:
        from harness.advise.margin import check_margin

        check_margin(margin, measure, costs, outcomes)
    plan = Plan(n_draws=1)
    asked = Question("y", measure, (), costs, average, n_replicates, margin=margin, plan=plan, seed=int(seed))
    return judge(make_pair(outcomes, asked, test), asked, outcomes, confidence)


def make_pair(outcomes: Said, question: Question, test: str | Sequence[str] | None) -> Pair:
    """Return the two systems with the tests that are named, or all, without a population of cells."""
    measure, costs, n_items = question.measure, question.costs, outcomes.n_total
    if is_plain(outcomes):
        tests = find_tests(measure, test, n_items, question.n_replicates, **costs)
        counts, name = outcomes.cells(*outcomes.systems), "-".join(outcomes.systems)
        return CellPair.of(name, counts, measure, tests, costs)
    if measure != "score":
        check_measure(measure, **costs)
    of_runs = isinstance(outcomes, Runs)
    allowed = list(TESTS) if of_runs else names_of(measure, outcomes.clusters is not None)
    chosen = allowed if test is None else [test] if isinstance(test, str) else list(test)
    drawn = "runs" if of_runs else None if outcomes.clusters is None else "clusters"
    what = drawn or ("scores" if measure == "score" else f"average={question.average} {measure}")
    for one in chosen:
        require(one in allowed, f"test: {one!r} is not allowed; of {what} {', '.join(allowed)} are")
    find: Any = run_pairs if of_runs else document_pairs
    (pair,) = cast(list[Pair], find(outcomes, question)[0])
    return replace(pair, tests=tuple(name for name in pair.tests if name in chosen))


def judge(pair: Pair, question: Question, outcomes: Said, confidence: float = 0.95) -> Comparison:
    """Return the Comparison of what was read, by the tests of a pair."""
    a, b = outcomes.systems
    table = judge_pair(pair, question.seed, confidence).set_index("test").drop(columns="pair")
    table.index.name = None
    counts = outcomes.cells(a, b) if isinstance(outcomes, Outcomes) else None
    if isinstance(pair, RunPair):
        one, other = pair.means()
    elif not isinstance(outcomes, Runs):
        one, other = (Rows.of(outcomes).effect(name, question)[0] for name in (a, b))
    d, low, high = table[["difference", "low", "high"]].to_numpy()[0].tolist()
    n_clusters = None if outcomes.clusters is None else units(outcomes)[0]
    components = tabulate_components(pair).drop(columns="pair") if isinstance(pair, RunPair) else None
    margin = None
    if question.margin is not None:
        from harness.advise.margin import judge_margin

        margin = judge_margin(pair, question.margin).drop(columns="pair")
    more = outcomes.warnings, n_clusters, outcomes.n_total, components, question.average, margin
    return Comparison((a, b), question.measure, counts, one, other, d, low, high, confidence, table, *more)


def find_tests(
    measure: str, test: str | Sequence[str] | None, n_items: int, n_replicates: int | None, **costs: float
) -> list[Test]:
    """Return the tests that are named, or those of the measure that ``harness advise`` runs."""
    from harness.cli.configuration import named_tests

    check_measure(measure, **costs)
    if n_replicates is not None:
        check_whole("n_replicates", n_replicates, 1, ", or None,")
    names = [test] if isinstance(test, str) else test
    none = "none is named; at least one is needed, or None for those of the measure"
    require(names is None or len(names), f"test: {none}")
    found = named_tests(names, n_replicates=n_replicates, **costs)
    if names is None:
        found = [one for one in found if one.measure == measure]
        cheap = [one for one in found if n_items <= LARGEST_RANDOMIZATION or "randomization" not in one.name]
        return cheap or found
    for one in found:
        other = f"test: {one.name!r} is of measure {one.measure!r}"
        require(one.measure == measure, f"{other}; tests of {measure!r} are allowed")
    return found


def check_names(names: object) -> tuple[str, str]:
    """Return the names of A and B; refuse what are not two."""
    two = [str(name) for name in names] if isinstance(names, Iterable) and not isinstance(names, str) else []
    good = len(two) == 2 and two[0] != two[1]
    require(good, f"names: {names!r} is not allowed; two different names, as in ('A', 'B'), are")
    return two[0], two[1]


def check_whole(name: str, value: object, least: int, more: str = "") -> None:
    """Refuse what is no whole number of at least `least`."""
    good = isinstance(value, int | np.integer) and not isinstance(value, bool) and value >= least
    require(good, f"{name}: {value!r} is not allowed; a whole number of at least {least}{more} is")
