"""What an interval says of one point: does the test hold its level, and do two points differ."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pandas import DataFrame

from harness.evaluation.rates import verdict
from harness.results import names
from harness.results.category_verdicts import category_verdict, distribution_words, mean_words
from harness.results.names import FEW_CATEGORIES, NULL_TRUTHS, Curve, Panel
from harness.results.truth_scores import CANNOT_TELL, interval, truth_name
from harness.writing.table_text import with_bounds

WORDS = ("holds", "liberal", "conservative", "undecided", CANNOT_TELL)


class Judged(NamedTuple):
    """One point of a curve: its mean with the wider interval (Monte Carlo, categories), and what it says.

    `word` is the verdict by category for a size under a null (`by_category`: on the distribution over them),
    else that on the mean over categories; `n_categories` of them qualify.
    """

    panel: Panel
    curve: Curve
    point: Mapping[str, Any]
    low: float
    high: float
    word: str
    n_documents: int
    rate: float
    n_categories: int
    by_category: bool

    @property
    def said(self) -> str:
        """Return the verdict in words; those on a mean are no verdict words."""
        return self.word if self.by_category else mean_words(self.word)

    @property
    def told(self) -> bool:
        """Return whether enough categories qualify for the point to say anything."""
        return self.word != CANNOT_TELL

    @property
    def words(self) -> str:
        """Return the sizes over the live categories where they were measured, else the mean."""
        return distribution_words(self.point) if self.by_category and self.told else f"mean {self}"

    def compare(self, second: "Judged") -> str:
        """Return whether `second` is ``higher``, ``lower`` (intervals apart), or that we ``cannot tell``."""
        if not (self.told and second.told):
            return CANNOT_TELL
        return "higher" if second.low > self.high else "lower" if second.high < self.low else CANNOT_TELL

    def __str__(self) -> str:
        """Return mean, interval and number of categories, such as ``0.052 [0.041, 0.060], 34 categories``."""
        if self.rate != self.rate:
            return "no category qualifies"
        noun = "category" if self.n_categories == 1 else "categories"
        return f"{with_bounds(self.rate, self.low, self.high)}, {self.n_categories} {noun}"


def size_truth(table: DataFrame, truth: str) -> str:
    """Return the rule under which sizes are reported: the exact null where it was run, else `truth`."""
    return "exact_null" if (table["truth"] == "exact_null").any() else truth


def power_where(truth: str) -> str:
    """Return where powers were measured: a null has none, there they are those of the real populations."""
    return "on the real populations" if truth in NULL_TRUTHS else f"by rule {truth_name(truth)}"


def told_curves(table: DataFrame, *, companions: bool = False) -> list[Curve]:
    """Return the curves that findings are about: the paper's, or all where none of the paper's was run."""
    beside = names.companion_curves(table) if companions else []
    return [*names.papers_curves(table), *beside] or names.other_curves(table)


def judge(
    table: DataFrame,
    kind: str,
    truth: str,
    *,
    alpha: float | None = None,
    n_documents: int | None = None,
    largest: bool = False,
    curves: Sequence[Curve] | None = None,
    panels: Sequence[Panel] | None = None,
) -> list[Judged]:
    """Judge every curve in every panel at one N: that near 1000, or the `largest` with enough categories.

    For power the word has no meaning but ``cannot tell``, which fewer than five categories always give.
    """
    alpha = names.primary_alpha(table) if alpha is None else alpha
    n_documents = n_documents or names.reference_size(table)
    rows = names.select(table, kind=kind, truth=truth, alpha=alpha)
    parts = names.by_curve(rows if largest else rows[rows["n_documents"] == n_documents])
    curves = told_curves(table) if curves is None else curves
    found = []
    for panel in names.all_panels(table) if panels is None else panels:
        for curve in curves:
            points = parts.get((panel.pair, panel.balance, curve.test))
            if points is None:
                continue
            enough = points[points["n_categories"] >= FEW_CATEGORIES] if largest else points
            found.append(_judge_point(panel, curve, (enough if len(enough) else points).iloc[-1]))
    return found


def _judge_point(panel: Panel, curve: Curve, row: Any) -> Judged:
    (low, high), point, n_categories = interval(row), row.to_dict(), int(row["n_categories"])
    by_category = point["truth"] in NULL_TRUTHS and point["kind"] == "size"
    word = category_verdict(point) if by_category else CANNOT_TELL
    if not by_category and n_categories >= FEW_CATEGORIES:
        word = verdict(low, high, row["alpha"])
    numbers = int(point["n_documents"]), float(point["rate"]), n_categories
    return Judged(panel, curve, point, low, high, word, *numbers, by_category)


def count_words(words: Sequence[str], order: Sequence[str] | None = None) -> str:
    """Return how often each word occurs, in their order or the given one, those that do not occur left out.

    Examples
    --------
    >>> count_words(["liberal", "holds", "liberal"], ("holds", "liberal", "conservative"))
    '1 holds, 2 liberal'
    """
    counted = [f"{words.count(word)} {word}" for word in order or dict.fromkeys(words) if word in words]
    return ", ".join(counted) or "none"
