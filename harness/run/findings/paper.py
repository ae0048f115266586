"""The conclusions of Keller, Bengio & Wong (NIPS 2005), one by one, against the tables of a run.

How a sentence becomes a condition on the tables is ours (*inferred*) and stands beside each verdict.
"""

from collections.abc import Iterator
from statistics import median
from typing import Any, NamedTuple

from pandas import DataFrame

from harness.results import names
from harness.results.folder import Results
from harness.results.names import FEW_CATEGORIES, NULL_TRUTHS, Panel
from harness.results.truth_scores import CANNOT_TELL, MET, STATEMENTS, statement_verdict
from harness.results.verdicts import WORDS, Judged, count_words, judge, size_truth, told_curves
from harness.run.figures.degenerate import figure_1d
from harness.writing.prose import paragraphs

AGREE, DIFFER = "agree", "differ"
EXACT = "exact_null"
# A calibrated test rejects half the sets of a category that lies at R3's very limit, at any level: where
# only such categories are left, as at large N, that is what a perfect test averages.
R3_ARTEFACT = 0.5


class Conclusion(NamedTuple):
    """A sentence of the paper, the verdict on it, and the numbers behind the verdict."""

    sentence: str
    verdict: str
    evidence: str


def papers_conclusions(results: Results) -> list[Conclusion]:
    """Return every conclusion of the paper that the tables can speak to, with its verdict."""
    table, truth = results.table, results.truth
    return [
        _reliable(table, size_truth(table, truth)),
        _consistent_levels(table, truth),
        _variance_vanishes(table, truth),
        _below_by_one_sd(table, truth),
        *([] if results.rules.empty else _statements(results.scores, truth)),
        _proportion_optimistic(results),
    ]


def _conclude(name: str, verdict: str, **numbers: Any) -> Conclusion:
    sentence, *evidence = paragraphs("run", name, **numbers)
    return Conclusion(sentence, verdict, " ".join(evidence))


def _reliable(table: DataFrame, truth: str) -> Conclusion:
    curves = [curve for curve in names.papers_curves(table) if curve.slot in (0, 3)]
    points = judge(table, "size", truth, largest=True, curves=curves)
    points.sort(key=lambda point: WORDS.index(point.word))
    liberal = [point for point in points if point.word == "liberal"]
    excused = truth == "sampling_interval"  # R3 counts near-nulls as nulls
    beyond = [point for point in liberal if not excused or point.rate > R3_ARTEFACT]
    verdict = DIFFER if beyond else CANNOT_TELL
    if points and all(point.word in ("holds", "conservative") for point in points):
        verdict = AGREE
    return _conclude(
        "reliable", verdict, by_category=truth in NULL_TRUTHS, truth=truth, alpha=names.primary_alpha(table),
        said=count_words([point.said for point in points]), highest=max(liberal, key=_height, default=None),
        excused=len(beyond) < len(liberal),
    )  # fmt: skip


def _height(point: Judged) -> float:
    return float(point.point["worst"]) if point.by_category else point.rate


def _consistent_levels(table: DataFrame, truth: str) -> Conclusion:
    alphas = [float(alpha) for alpha in table["alpha"].unique()]
    words: dict[tuple[Panel, str], set[str]] = {}
    for point in (point for alpha in alphas for point in judge(table, "size", truth, alpha=alpha)):
        if point.word in ("holds", "liberal", "conservative"):
            words.setdefault((point.panel, point.curve.test), set()).add(point.word)
    opposed = sum({"liberal", "conservative"} <= found for found in words.values())
    changing = sum(len(found) > 1 for found in words.values())
    verdict = AGREE if not changing else DIFFER if opposed or changing > len(words) / 2 else CANNOT_TELL
    return _conclude(
        "consistent_levels", verdict if len(alphas) > 1 and words else CANNOT_TELL, n_levels=len(alphas),
        n_documents=names.reference_size(table), n_decided=len(words), changing=changing, opposed=opposed,
    )  # fmt: skip


def _variance_vanishes(table: DataFrame, truth: str) -> Conclusion:
    ends = [excess for _, excess in _excesses(table, truth)]
    fallen = sum(last <= first / 4 and first > 0 for first, last in ends)
    risen = sum(last >= first and last > 0 for first, last in ends)
    flat = sum(first == last == 0 for first, last in ends)
    by_balance: dict[str, list[tuple[float, float]]] = {"balanced": [], "natural": []}
    for panel, (first, last) in _excesses(table, EXACT):
        by_balance["natural" if panel.balance == "natural" else "balanced"].append((first**0.5, last**0.5))
    told = {name: pairs for name, pairs in by_balance.items() if pairs}
    medians = {name: tuple(map(median, zip(*pairs, strict=True))) for name, pairs in told.items()}
    verdict = AGREE if fallen and fallen + flat == len(ends) else CANNOT_TELL
    return _conclude(
        "variance_vanishes", DIFFER if risen > len(ends) / 2 else verdict, n_told=len(ends), fallen=fallen,
        risen=risen, flat=flat, deviations=medians,
    )  # fmt: skip


def _excesses(table: DataFrame, truth: str) -> Iterator[tuple[Panel, tuple[float, float]]]:
    """Yield each curve's variance between categories beyond that of the sets, at the first and the last N."""
    rows = names.select(table, kind="size", truth=truth, alpha=names.primary_alpha(table))
    rows = rows[(rows["n_categories"] >= FEW_CATEGORIES) & rows["category_sd"].notna()]
    rate = rows["rate"].astype(float)
    rows = rows.assign(excess=(rows["category_sd"] ** 2 - rate * (1 - rate) / rows["n_sets"]).clip(lower=0))
    parts, curves = names.by_curve(rows), told_curves(table)
    for panel in names.all_panels(table):
        for curve in curves:
            part = parts.get((panel.pair, panel.balance, curve.test), rows.iloc[:0])
            if len(part) > 1:
                yield panel, (part["excess"].iloc[0], part["excess"].iloc[-1])


def _below_by_one_sd(table: DataFrame, truth: str) -> Conclusion:
    alpha, tests = names.primary_alpha(table), [curve.test for curve in told_curves(table)]
    counts = []
    for name in dict.fromkeys([truth, *([EXACT] if (table["truth"] == EXACT).any() else [])]):
        rows = names.select(table, kind="size", truth=name, alpha=alpha)
        rows = rows[rows["test"].isin(tests) & (rows["n_categories"] >= FEW_CATEGORIES)]
        rows = rows[rows["rate"].notna() & rows["category_sd"].notna() & (rows["balance"] != "reweighted")]
        counts.append((int((rows["rate"] - rows["category_sd"] < alpha).sum()), len(rows)))
    met, n = counts[0]
    verdict = CANNOT_TELL if not n else AGREE if met == n else DIFFER
    return _conclude("below_by_one_sd", verdict, counts=counts)


def _statements(scores: DataFrame, truth: str) -> list[Conclusion]:
    found = []
    for name, text in STATEMENTS.items():
        verdict = statement_verdict(scores, truth, name)
        part = scores[(scores["truth"] == truth) & (scores["statement"] == name)]
        word = CANNOT_TELL if verdict == CANNOT_TELL else AGREE if verdict == MET else DIFFER
        evidence = f"rule {truth}: {count_words(list(part['verdict']), (MET, 'not met', CANNOT_TELL))}"
        found.append(Conclusion(text[0].upper() + text[1:] + ".", word, evidence))
    return found


def _proportion_optimistic(results: Results) -> Conclusion:
    table = results.table
    panels = [panel for panel in names.papers_panels(table) if panel.letter == "d" and panel.balance]
    curves = [curve for curve in names.papers_curves(table) if curve.test == "proportion"]
    smallest = int(table["n_documents"].min())
    points = judge(table, "size", results.truth, n_documents=smallest, curves=curves, panels=panels)
    point = points[0] if points else None
    verdicts = {"liberal": AGREE, "holds": DIFFER, "conservative": DIFFER}
    more = " ".join(figure_1d(table, results.provenance))
    verdict = verdicts.get(point.word, CANNOT_TELL) if point else CANNOT_TELL
    return _conclude("proportion_optimistic", verdict, n_documents=smallest, point=point, more=more)
