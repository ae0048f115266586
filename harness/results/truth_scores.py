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

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from harness.results.names import (
    FEW_CATEGORIES,
    TRUTH_NAMES,
    Curve,
    Panel,
    all_panels,
    papers_curves,
    papers_panels,
    primary_alpha,
    reference_size,
    select,
    select_panel,
    without_nulls,
)

if TYPE_CHECKING:
    from pandas import DataFrame

MET, NOT_MET, CANNOT_TELL = "met", "not met", "cannot tell"
LOW_POWER = 0.5
SMALL_N = 1000

STATEMENTS = {
    "single_h0_false": "a single H0-false category at N <= 1000 in 2(c) and 2(d)",
    "h0_always_false": "H0 always false somewhere in 1(b)",
    "h1_never_true": "H1 never true somewhere in 2(c) and 2(d)",
    "low_power_when_close": "low power for close models even at the largest N",
}


class Score(NamedTuple):
    """One rule against one statement in one place; `observed` is a number of categories or a power."""

    truth: str
    statement: str
    panel: str
    measure: str
    test: str
    n_documents: float
    observed: float
    wanted: str
    verdict: str


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
    import pandas as pd

    scores: list[Score] = []
    if len(size_power):
        table = without_nulls(select(size_power, alpha=primary_alpha(size_power)))
        for truth in table["truth"].unique():
            scores.extend(_score_rule(table[table["truth"] == truth], str(truth), papers_panels(size_power)))
    return pd.DataFrame(scores, columns=list(Score._fields))


def _score_rule(table: DataFrame, truth: str, panels: list[Panel]) -> Iterator[Score]:
    by_letter = {panel.letter: panel for panel in panels}
    curves = papers_curves(table)
    for letter in "cd":
        yield from _score_single(table, truth, by_letter[letter])
    yield from _score_none(table, truth, by_letter["b"], "size", "h0_always_false")
    for letter in "cd":
        yield from _score_none(table, truth, by_letter[letter], "power", "h1_never_true")
    for letter in "cd":
        yield from _score_power(table, truth, by_letter[letter], curves)


def _not_run(truth: str, statement: str, panel: Panel) -> Score:
    return Score(truth, statement, panel.letter, "", "", float("nan"), float("nan"), "", CANNOT_TELL)


def _qualifying(table: DataFrame, panel: Panel, kind: str) -> DataFrame:
    """Return measure, n_documents and n_categories of a panel; empty where the panel was not run."""
    rows = select_panel(table, panel, kind=kind)
    return rows.groupby(["measure", "n_documents"], sort=True)[["n_categories"]].max().reset_index()


def _score_single(table: DataFrame, truth: str, panel: Panel) -> Iterator[Score]:
    statement = "single_h0_false"
    rows = _qualifying(table, panel, "power")
    rows = rows[rows["n_documents"] <= SMALL_N]
    if rows.empty:
        yield _not_run(truth, statement, panel)
    for measure, n_documents, n in rows.itertuples(index=False, name=None):
        verdict = CANNOT_TELL if n == 0 else MET if n == 1 else NOT_MET
        yield Score(truth, statement, panel.letter, measure, "", n_documents, n, "1 category", verdict)


def _score_none(table: DataFrame, truth: str, panel: Panel, kind: str, statement: str) -> Iterator[Score]:
    """Score "no category at some N": the N with the fewest categories is the one shown."""
    rows = _qualifying(table, panel, kind)
    if rows.empty:
        yield _not_run(truth, statement, panel)
    for measure, part in rows.groupby("measure", sort=True):
        fewest = part.sort_values("n_categories", kind="stable").iloc[0]
        n = int(fewest["n_categories"])
        verdict = MET if n == 0 else NOT_MET
        yield Score(
            truth,
            statement,
            panel.letter,
            str(measure),
            "",
            fewest["n_documents"],
            n,
            "0 categories at some N",
            verdict,
        )


def _score_power(table: DataFrame, truth: str, panel: Panel, curves: list[Curve]) -> Iterator[Score]:
    statement = "low_power_when_close"
    rows = select_panel(table, panel, kind="power")
    if rows.empty or not curves:
        yield _not_run(truth, statement, panel)
    for curve in curves:
        part = rows[rows["test"] == curve.test]
        if part.empty:
            continue
        last = part.iloc[-1]
        yield Score(
            truth, statement, panel.letter, last["measure"], curve.test, last["n_documents"], last["rate"],
            f"power < {LOW_POWER}", _low_verdict(last),
        )  # fmt: skip


def _low_verdict(point: Any) -> str:
    low, high = interval(point)
    if point["n_categories"] < FEW_CATEGORIES or not low <= high or low <= LOW_POWER <= high:
        return CANNOT_TELL
    return MET if high < LOW_POWER else NOT_MET


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
    import pandas as pd

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
    return pd.DataFrame(rows, columns=["truth", *STATEMENTS, "total", "n_told"])


def statement_verdict(scores: DataFrame, truth: str, statement: str) -> str:
    """Return one verdict on a statement under a rule: met where all that can be told is met."""
    verdicts = scores.loc[(scores["truth"] == truth) & (scores["statement"] == statement), "verdict"]
    told = verdicts[verdicts != CANNOT_TELL]
    if told.empty:
        return CANNOT_TELL
    return MET if bool((told == MET).all()) else NOT_MET


def alpha_true_by_rule(size_power: DataFrame) -> DataFrame:
    """Return alpha_true under every rule at the smallest N, the one nearest 1000 and the largest.

    One row per rule, panel and N, one column per test of the paper; a cell is the mean and, in brackets, the
    number of categories it is over. Empty where no category qualifies.
    """
    import pandas as pd

    table = without_nulls(select(size_power, alpha=primary_alpha(size_power), kind="size"))
    curves = papers_curves(size_power)
    sizes = sorted({int(table["n_documents"].min()), reference_size(table), int(table["n_documents"].max())})
    rows = []
    for truth in table["truth"].unique():
        for panel in all_panels(size_power):
            part = select_panel(table, panel, truth=truth)
            for n_documents in sizes:
                row = {"truth": truth_name(truth), "panel": panel.title, "N": n_documents}
                for curve in curves:
                    row[curve.label] = _rate(
                        part[(part["test"] == curve.test) & (part["n_documents"] == n_documents)]
                    )
                rows.append(row)
    return pd.DataFrame(rows)


def _rate(points: DataFrame) -> str:
    if points.empty or points["rate"].isna().all():
        return ""
    point = points.iloc[0]
    return f"{point['rate']:.3f} ({int(point['n_categories'])})"


def truth_name(truth: str) -> str:
    """Return a rule's label, such as ``R3 sampling interval``; the name itself for a rule without one."""
    return TRUTH_NAMES.get(truth, truth.replace("_", " "))


def truth_parts(size_power: DataFrame, scores: DataFrame) -> list[tuple[str, DataFrame]]:
    """Return two captioned tables: how each rule fits the paper's statements, and alpha_true by rule."""
    totals = total_scores(scores)
    totals["truth"] = [truth_name(str(truth)) for truth in totals["truth"]]
    alpha = primary_alpha(size_power)
    said = "; ".join(f"{name}: {text}" for name, text in STATEMENTS.items())
    return [
        (
            "Every truth rule against the paper's statements: how many of the places that can tell (panel, "
            "measure, test, N) fit, and the mean share over the statements. Conditions are inferred; alpha "
            f"= {alpha:g}. {said}.",
            totals,
        ),
        (
            f"alpha_true at alpha = {alpha:g} under every truth rule; in brackets the number of categories "
            "whose H0 is true.",
            alpha_true_by_rule(size_power),
        ),
    ]
