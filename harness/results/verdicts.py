"""What an interval says of one point: does the test hold its level, and do two points differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from harness.evaluation.rates import verdict
from harness.results.category_verdicts import category_verdict, mean_words
from harness.results.names import (
    FEW_CATEGORIES,
    NULL_TRUTHS,
    Curve,
    Panel,
    all_panels,
    companion_curves,
    other_curves,
    papers_curves,
    select,
    select_panel,
)
from harness.results.truth_scores import CANNOT_TELL, interval, truth_name

if TYPE_CHECKING:
    from pandas import DataFrame

WORDS = ("holds", "liberal", "conservative", "undecided", CANNOT_TELL)
# A calibrated test rejects half the sets of a category that lies at R3's very limit, at any level: where
# only such categories are left, as at large N, that is what a perfect test averages.
R3_ARTEFACT = 0.5


class Judged(NamedTuple):
    """One point of a curve: its mean with the wider interval (Monte Carlo, categories), and what it says.

    `word` is the verdict by category for a size under a null, else that on the mean over categories.
    """

    panel: Panel
    curve: Curve
    point: Mapping[str, Any]
    low: float
    high: float
    word: str

    @property
    def n_documents(self) -> int:
        """Return N."""
        return int(self.point["n_documents"])

    @property
    def rate(self) -> float:
        """Return the mean over the categories."""
        return float(self.point["rate"])

    @property
    def n_categories(self) -> int:
        """Return how many categories qualify."""
        return int(self.point["n_categories"])

    @property
    def by_category(self) -> bool:
        """Return whether the verdict is on the distribution over categories."""
        return self.point["truth"] in NULL_TRUTHS and self.point["kind"] == "size"

    @property
    def said(self) -> str:
        """Return the verdict in words; those on a mean are no verdict words."""
        return self.word if self.by_category else mean_words(self.word)

    @property
    def told(self) -> bool:
        """Return whether enough categories qualify for the point to say anything."""
        return self.word != CANNOT_TELL

    def __str__(self) -> str:
        """Return mean, interval and number of categories, such as ``0.052 [0.041, 0.060], 34 categories``."""
        if self.rate != self.rate:
            return "no category qualifies"
        noun = "category" if self.n_categories == 1 else "categories"
        return f"{self.rate:.3f} [{self.low:.3f}, {self.high:.3f}], {self.n_categories} {noun}"


def size_truth(table: DataFrame, truth: str) -> str:
    """Return the rule that sizes are told under: the exact null where it was run, else `truth`."""
    return "exact_null" if (table["truth"] == "exact_null").any() else truth


def power_where(truth: str) -> str:
    """Return where powers were measured: a null has none, there they are those of the real populations."""
    return "on the real populations" if truth in NULL_TRUTHS else f"by rule {truth_name(truth)}"


def told_curves(table: DataFrame, *, companions: bool = False) -> list[Curve]:
    """Return the curves that findings are about: the paper's, or all where none of the paper's was run."""
    beside = companion_curves(table) if companions else []
    return [*papers_curves(table), *beside] or other_curves(table)


def judge(
    table: DataFrame,
    *,
    kind: str,
    truth: str,
    alpha: float,
    n_documents: int | None,
    curves: Sequence[Curve],
    panels: Sequence[Panel] | None = None,
) -> list[Judged]:
    """Judge one N (the largest with enough categories, for None) of every curve in every panel that was run.

    Returns
    -------
    list of Judged
        For power the word has no meaning but ``cannot tell``. Fewer than five qualifying categories always
        give ``cannot tell``.
    """
    rows = select(table, kind=kind, truth=truth, alpha=alpha)
    found = []
    for panel in all_panels(table) if panels is None else panels:
        part = select_panel(rows, panel)
        for curve in curves:
            points = part[part["test"] == curve.test]
            if n_documents is None:
                enough = points[points["n_categories"] >= FEW_CATEGORIES]
                points = enough if len(enough) else points
            else:
                points = points[points["n_documents"] == n_documents]
            if len(points):
                found.append(_judge_point(panel, curve, points.iloc[-1], alpha))
    return found


def _judge_point(panel: Panel, curve: Curve, row: Any, alpha: float) -> Judged:
    low, high = interval(row)
    judged = Judged(panel, curve, row.to_dict(), low, high, CANNOT_TELL)
    if judged.by_category:
        return judged._replace(word=category_verdict(judged.point))
    told = judged.n_categories >= FEW_CATEGORIES
    return judged._replace(word=verdict(low, high, alpha)) if told else judged


def compare(first: Judged, second: Judged) -> str:
    """Return whether `second` is ``higher``, ``lower`` than `first` (intervals apart), or ``cannot tell``."""
    if not (first.told and second.told):
        return CANNOT_TELL
    if second.low > first.high:
        return "higher"
    return "lower" if second.high < first.low else CANNOT_TELL


def count_words(words: Sequence[str], order: Sequence[str]) -> str:
    """Return how often each word occurs, those that do not occur left out.

    Examples
    --------
    >>> count_words(["liberal", "holds", "liberal"], ("holds", "liberal", "conservative"))
    '1 holds, 2 liberal'
    """
    counted = [f"{words.count(word)} {word}" for word in order if word in words]
    return ", ".join(counted) or "none"


def list_words(points: Sequence[Judged]) -> str:
    """Return what is said of each test in each panel, test by test."""
    parts = []
    for label in dict.fromkeys(point.curve.label for point in points):
        by_word: dict[str, list[str]] = {}
        for point in points:
            if point.curve.label == label:
                by_word.setdefault(point.word, []).append(_where(point.panel))
        said = {point.word: point.said for point in points}
        words = [f"{said[word]} in {' '.join(by_word[word])}" for word in WORDS if word in by_word]
        parts.append(f"{label} {', '.join(words)}")
    return "; ".join(parts)


def _where(panel: Panel) -> str:
    return f"({panel.letter})" if panel.letter else f"{panel.pair}/{panel.balance}"


def liberal_by_rule_alone(point: Judged, truth: str) -> bool:
    """Return whether a liberal verdict may be the truth rule's doing: R3 counts near-nulls as nulls."""
    return truth == "sampling_interval" and point.rate <= R3_ARTEFACT
