"""How well each rule for "H0 is true" fits what Keller, Bengio & Wong (NIPS 2005) say of their figures.

The paper's own rule is in an appendix that could not be found. What its text and figures say of the
categories that qualify is testable, rule by rule. The reading of each statement as a condition is ours
(*inferred*):

- ``single_h0_false``: at every N <= 1000 in 2(c) and 2(d) one category has a false H0. A point with none says
  nothing here (``h1_never_true`` is about it).
- ``h0_always_false``: at some N in 1(b) no category has a true H0.
- ``h1_never_true``: at some N in 2(c), and in 2(d), no category has a false H0.
- ``low_power_when_close``: power at the largest N in 2(c) and 2(d) is below one half.

All are read at alpha = .05, the level of the paper's figures.
"""

from collections.abc import Callable, Iterator
from typing import Any

from pandas import DataFrame

from harness.results import names

MET, NOT_MET, CANNOT_TELL = "met", "not met", "cannot tell"
LOW_POWER = 0.5
SMALL_N = 1000

STATEMENTS: dict[str, str] = names.KNOWN["statements"]
SEEN = ["measure", "test", "n_documents", "observed", "wanted", "verdict"]
NOT_RUN = ("", "", float("nan"), float("nan"), "", CANNOT_TELL)


def score_truth_rules(size_power: DataFrame) -> DataFrame:
    """Score every truth rule of the table against what the paper says; nulls are no rules.

    Returns
    -------
    DataFrame
        One row per rule, statement, panel, measure (and test, and N where the statement is about single N):
        truth, statement, panel, measure, test, n_documents, observed, wanted, verdict. `verdict` is ``met``,
        ``not met`` or ``cannot tell`` (the panel was not run, too few categories, or the interval is too
        wide).

    Examples
    --------
    >>> import pandas as pd
    >>> score_truth_rules(pd.DataFrame(columns=["pair", "balance", "truth", "test", "alpha", "kind",
    ...                                         "n_documents", "measure"])).empty
    True
    """
    scores: list[tuple[Any, ...]] = []
    if len(size_power):
        table = names.without_nulls(names.select(size_power, alpha=names.primary_alpha(size_power)))
        panels = {panel.letter: panel for panel in names.papers_panels(size_power)}
        for truth in table["truth"].unique():
            for statement, (letters, kind, score) in CONDITIONS.items():
                for letter in letters:
                    rows = names.select_panel(table, panels[letter], truth=truth, kind=kind)
                    scores += [(truth, statement, letter, *seen) for seen in list(score(rows)) or [NOT_RUN]]
    return DataFrame(scores, columns=["truth", "statement", "panel", *SEEN])


def _score_single(rows: DataFrame) -> Iterator[tuple[Any, ...]]:
    rows = rows[rows["n_documents"] <= SMALL_N]
    most = rows.groupby(["measure", "n_documents"])["n_categories"].max().reset_index()
    for measure, n_documents, n in most.itertuples(index=False):
        verdict = CANNOT_TELL if n == 0 else MET if n == 1 else NOT_MET
        yield measure, "", n_documents, n, "1 category", verdict


def _score_none(rows: DataFrame) -> Iterator[tuple[Any, ...]]:
    """Score "no category at some N": the N with the fewest categories is the one shown."""
    for measure, part in rows.groupby("measure"):
        most = part.groupby("n_documents")["n_categories"].max()
        n = int(most.min())
        yield measure, "", most.idxmin(), n, "0 categories at some N", MET if n == 0 else NOT_MET


def _score_power(rows: DataFrame) -> Iterator[tuple[Any, ...]]:
    for curve in names.papers_curves(rows):
        last = rows[rows["test"] == curve.test].iloc[-1]
        low, high = interval(last)
        verdict = MET if high < LOW_POWER else NOT_MET
        few = last["n_categories"] < names.FEW_CATEGORIES
        if few or not low <= high or low <= LOW_POWER <= high:
            verdict = CANNOT_TELL
        wanted = f"power < {LOW_POWER}"
        yield last["measure"], curve.test, last["n_documents"], last["rate"], wanted, verdict


CONDITIONS: dict[str, tuple[str, str, Callable[[DataFrame], Iterator[tuple[Any, ...]]]]] = {
    "single_h0_false": ("cd", "power", _score_single),
    "h0_always_false": ("b", "size", _score_none),
    "h1_never_true": ("cd", "power", _score_none),
    "low_power_when_close": ("cd", "power", _score_power),
}


def interval(point: Any) -> tuple[float, float]:
    """Return the wider of a point's Monte Carlo and category intervals (their hull); NaN where there is none.

    Examples
    --------
    >>> interval({"mc_low": 0.04, "mc_high": 0.06, "category_low": 0.03, "category_high": 0.05})
    (0.03, 0.06)
    """
    lows = [float(value) for value in (point["mc_low"], point["category_low"]) if value == value]
    highs = [float(value) for value in (point["mc_high"], point["category_high"]) if value == value]
    return min(lows, default=float("nan")), max(highs, default=float("nan"))


def total_scores(scores: DataFrame) -> DataFrame:
    """Return one row per rule: the share of each statement that is met, and the mean over the statements.

    A statement's share counts only what can be told; the total is the mean of the shares, each statement
    weighing the same, and is missing where nothing can be told. `n_told` is the number of statements in it.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = [("margin", "h0_always_false", "met"), ("margin", "h1_never_true", "not met")]
    >>> total_scores(pd.DataFrame(rows, columns=["truth", "statement", "verdict"]))["total"].tolist()
    [0.5]
    """
    rows = []
    for truth, part in scores.groupby("truth", sort=False):
        row: dict[str, object] = {"truth": truth}
        shares = []
        for statement in STATEMENTS:
            verdicts = part.loc[part["statement"] == statement, "verdict"]
            n_met, n_told = int((verdicts == MET).sum()), int((verdicts != CANNOT_TELL).sum())
            row[statement] = f"{n_met}/{n_told}" if n_told else CANNOT_TELL
            shares += [n_met / n_told] if n_told else []
        row["total"] = sum(shares) / len(shares) if shares else float("nan")
        row["n_told"] = len(shares)
        rows.append(row)
    return DataFrame(rows, columns=["truth", *STATEMENTS, "total", "n_told"])


def statement_verdict(scores: DataFrame, truth: str, statement: str) -> str:
    """Return one verdict on a statement under a rule: met where all that can be told is met."""
    verdicts = scores.loc[(scores["truth"] == truth) & (scores["statement"] == statement), "verdict"]
    told = verdicts[verdicts != CANNOT_TELL]
    if told.empty:
        return CANNOT_TELL
    return MET if bool((told == MET).all()) else NOT_MET


def truth_name(truth: str) -> str:
    """Return a rule's label, such as ``R3 sampling interval``; the name itself for a rule without one."""
    return str(names.KNOWN["truths"].get(truth, truth.replace("_", " ")))
