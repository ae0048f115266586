"""The conclusions of Keller, Bengio & Wong (NIPS 2005), one by one, against the tables of a run.

How a sentence becomes a condition on the tables is ours (*inferred*) and stands beside each verdict.
"""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

from harness.results.category_verdicts import distribution_words
from harness.results.names import (
    FEW_CATEGORIES,
    NULL_TRUTHS,
    Panel,
    all_panels,
    nulls_alone,
    papers_curves,
    papers_panels,
    primary_alpha,
    reference_size,
    select,
    select_panel,
)
from harness.results.truth_scores import CANNOT_TELL, MET, STATEMENTS, statement_verdict
from harness.results.verdicts import (
    WORDS,
    Judged,
    count_words,
    judge,
    liberal_by_rule_alone,
    size_truth,
    told_curves,
)
from harness.run.figures.degenerate import figure_1d

if TYPE_CHECKING:
    from pandas import DataFrame

    from harness.results.folder import Results

AGREE, DIFFER = "agree", "differ"
EXACT = "exact_null"


class Conclusion(NamedTuple):
    """A sentence of the paper, the verdict on it, and the numbers behind the verdict."""

    sentence: str
    verdict: str
    evidence: str


def papers_conclusions(results: Results) -> list[Conclusion]:
    """Return every conclusion of the paper that the tables can speak to, with its verdict."""
    table, truth = results.table, results.truth
    alpha = primary_alpha(table)
    return [
        _reliable(table, size_truth(table, truth), alpha),
        _consistent_levels(table, truth),
        _variance_vanishes(table, truth, alpha),
        _below_by_one_sd(table, truth, alpha),
        *([] if results.rules.empty else _statements(results.scores, truth)),
        _proportion_optimistic(results, alpha),
    ]


def _reliable(table: DataFrame, truth: str, alpha: float) -> Conclusion:
    text = (
        "(abstract) Providing big enough evaluation sets nonparametric tests are relatively reliable in all "
        "conditions. Read as: at the largest N with enough categories neither bootstrap is liberal, under an "
        "exact null in no live category after Holm, under a rule in the mean over categories."
    )
    curves = [curve for curve in papers_curves(table) if curve.slot in (0, 3)]
    points = judge(table, kind="size", truth=truth, alpha=alpha, n_documents=None, curves=curves)
    told = [point for point in points if point.told]
    liberal = [point for point in told if point.word == "liberal"]
    beyond = [point for point in liberal if not liberal_by_rule_alone(point, truth)]
    what = "by category" if truth in NULL_TRUTHS else "mean over categories"
    evidence = f"{what} (rule {truth}, alpha = {alpha:g}), curves: {_said(points)}"
    if liberal:
        evidence += f"; highest: {_name(max(liberal, key=_height))}"
        if len(beyond) < len(liberal):
            evidence += (
                "; up to .5 a mean above 1.2 alpha may be R3's own doing (a perfect test at the rule's limit)"
            )
    if beyond:
        verdict = DIFFER
    elif told and len(told) == len(points) and all(point.word in ("holds", "conservative") for point in told):
        verdict = AGREE
    else:
        verdict = CANNOT_TELL
    return Conclusion(text, verdict, evidence)


def _height(point: Judged) -> float:
    return float(point.point["worst"]) if point.by_category else point.rate


def _said(points: list[Judged]) -> str:
    """Return how many curves each verdict has, in its words."""
    order = {point.word: point.said for point in sorted(points, key=lambda point: WORDS.index(point.word))}
    return count_words([point.said for point in points], list(order.values()))


def _name(point: Judged) -> str:
    told = distribution_words(point.point) if point.by_category and point.told else f"mean {point}"
    return f"{point.curve.label} in {point.panel.title} at N = {point.n_documents}: {told}"


def _consistent_levels(table: DataFrame, truth: str) -> Conclusion:
    text = (
        "The findings are consistent for different levels alpha. Read as: near N = 1000 the verdict on each "
        "test in each panel (by category under an exact null, on the mean under a rule) is the same at every "
        "alpha that decides."
    )
    alphas = [float(alpha) for alpha in table["alpha"].unique()]
    n_documents = reference_size(table)
    words: dict[tuple[Panel, str], set[str]] = {}
    for alpha in alphas:
        curves = told_curves(table)
        for point in judge(
            table, kind="size", truth=truth, alpha=alpha, n_documents=n_documents, curves=curves
        ):
            if point.word in ("holds", "liberal", "conservative"):
                words.setdefault((point.panel, point.curve.test), set()).add(point.word)
    if len(alphas) < 2 or not words:
        return Conclusion(text, CANNOT_TELL, f"{len(alphas)} level(s) run, {len(words)} curves decided")
    opposed = sum({"liberal", "conservative"} <= found for found in words.values())
    changing = sum(len(found) > 1 for found in words.values())
    verdict = AGREE if not changing else DIFFER if opposed or changing > len(words) / 2 else CANNOT_TELL
    evidence = (
        f"N = {n_documents}, {len(alphas)} levels: of {len(words)} curves decided at some level {changing} "
        f"change their verdict, {opposed} to the opposite one"
    )
    return Conclusion(text, verdict, evidence)


def _variance_vanishes(table: DataFrame, truth: str, alpha: float) -> Conclusion:
    text = (
        "(footnote) The variance of alpha_true over categories goes to 0 with N. Read as: from the first to "
        "the last N with enough categories it falls to a quarter or less (Monte Carlo variance subtracted)."
    )
    rows = select(table, kind="size", truth=truth, alpha=alpha)
    fallen, risen, none, told = 0, 0, 0, 0
    for panel in all_panels(table):
        for curve in told_curves(table):
            points = select_panel(rows, panel, test=curve.test)
            points = points[(points["n_categories"] >= FEW_CATEGORIES) & points["category_sd"].notna()]
            if len(points) < 2:
                continue
            first, last = (_excess(points.iloc[place]) for place in (0, -1))
            told += 1
            fallen += last <= first / 4 and first > 0
            risen += last >= first and last > 0
            none += first == last == 0
    if not told:
        return Conclusion(text, CANNOT_TELL, "no curve has enough categories at two sizes")
    evidence = (
        f"of {told} curves {fallen} fall to a quarter or less, {risen} do not fall at all, {none} have no "
        f"such variance{_deviation_under_nulls(table, alpha)}"
    )
    verdict = AGREE if fallen and fallen + none == told else DIFFER if risen > told / 2 else CANNOT_TELL
    return Conclusion(text, verdict, evidence)


def _deviation_under_nulls(table: DataFrame, alpha: float) -> str:
    """Return how far categories differ in size where H0 holds exactly, at the first and the last N."""
    ends: dict[str, list[tuple[float, float]]] = {"balanced": [], "natural": []}
    rows = select(table, kind="size", truth=EXACT, alpha=alpha)
    for panel in all_panels(table):
        for curve in told_curves(table):
            points = select_panel(rows, panel, test=curve.test)
            points = points[(points["n_categories"] >= FEW_CATEGORIES) & points["category_sd"].notna()]
            if len(points) > 1:
                name = "natural" if panel.balance == "natural" else "balanced"
                first, last = (_excess(points.iloc[place]) ** 0.5 for place in (0, -1))
                ends[name].append((first, last))
    told = []
    for name, pairs in ends.items():
        if pairs:
            first, last = (median(values) for values in zip(*pairs, strict=True))
            told.append(f"{first:.3f} to {last:.3f} on {name} categories")
    if not told:
        return ""
    return (
        "; under the exact null the standard deviation over categories beyond that of the sets goes from "
        f"{' and from '.join(told)} (median over the curves)"
    )


def _excess(point: Any) -> float:
    """Return the variance between categories beyond that of the evaluation sets."""
    rate = float(point["rate"])
    return max(0.0, float(point["category_sd"]) ** 2 - rate * (1 - rate) / float(point["n_sets"]))


def _below_by_one_sd(table: DataFrame, truth: str, alpha: float) -> Conclusion:
    text = "The check alpha_true - std < alpha (std over categories). Read as: it holds at every point."
    rows = select(table, kind="size", truth=truth, alpha=alpha)
    tests = [curve.test for curve in told_curves(table)]
    rows = rows[rows["test"].isin(tests) & (rows["n_categories"] >= FEW_CATEGORIES)]
    rows = rows[rows["rate"].notna() & rows["category_sd"].notna() & (rows["balance"] != "reweighted")]
    if rows.empty:
        return Conclusion(text, CANNOT_TELL, "no point has enough categories")
    met = int((rows["rate"] - rows["category_sd"] < alpha).sum())
    evidence = f"holds at {met} of {len(rows)} points; a wide spread over categories makes it easy to meet"
    if truth != EXACT and (table["truth"] == EXACT).any():
        exact = _below_by_one_sd(table, EXACT, alpha).evidence.split(";")[0]
        evidence += f"; under the exact null it {exact}"
    return Conclusion(text, AGREE if met == len(rows) else DIFFER, evidence)


def _statements(scores: DataFrame, truth: str) -> list[Conclusion]:
    found = []
    for name, text in STATEMENTS.items():
        verdict = statement_verdict(scores, truth, name)
        part = scores[(scores["truth"] == truth) & (scores["statement"] == name)]
        words = [str(word) for word in part["verdict"]]
        word = CANNOT_TELL if verdict == CANNOT_TELL else AGREE if verdict == MET else DIFFER
        sentence = text[0].upper() + text[1:] + "."
        evidence = f"rule {truth}: {count_words(words, (MET, 'not met', CANNOT_TELL))}"
        found.append(Conclusion(sentence, word, evidence))
    return found


def _proportion_optimistic(results: Results, alpha: float) -> Conclusion:
    text = (
        "Figure 1(d): the proportion test looks optimistic on small unbalanced sets of close models. Read "
        "as: at the smallest N it is liberal there (by category under an exact null, the mean under a rule)."
    )
    table = results.table
    panels = [panel for panel in papers_panels(table) if panel.letter == "d" and panel.balance]
    curves = [curve for curve in papers_curves(table) if curve.test == "proportion"]
    n_documents = int(table["n_documents"].min())
    points = judge(
        table, kind="size", truth=results.truth, alpha=alpha, n_documents=n_documents, curves=curves,
        panels=panels,
    )  # fmt: skip
    if not points:
        return Conclusion(text, CANNOT_TELL, "panel (d) or the proportion test was not run")
    point = points[0]
    verdict = {"liberal": AGREE, "holds": DIFFER, "conservative": DIFFER}.get(point.word, CANNOT_TELL)
    told = f"N = {n_documents}: {point.said}; mean over categories {point}"
    # a run under nulls says the next thing among its main findings
    both = figure_1d(table, results.provenance) if nulls_alone(table).empty else ""
    return Conclusion(text, verdict, f"{told}. {both}" if both else told)
