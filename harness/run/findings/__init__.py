"""The main findings of a run in words, computed from its tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.results.names import (
    PAIRS,
    UNBALANCED,
    Panel,
    all_panels,
    balanced_scheme,
    pair_name,
    primary_alpha,
    reference_size,
)
from harness.results.truth_scores import CANNOT_TELL, truth_name
from harness.results.verdicts import (
    Judged,
    compare,
    judge,
    list_words,
    power_where,
    size_truth,
    told_curves,
)
from harness.run.findings.models import CLEARLY, Closeness, closeness
from harness.run.findings.nulls import null_findings

if TYPE_CHECKING:
    from pandas import DataFrame

    from harness.results.folder import Results

NO_PANEL = "{}: cannot tell, for no panel against N was run; see the figure against prevalence."
DIRECTIONS = ("higher", "lower", CANNOT_TELL)


def main_findings(results: Results) -> list[str]:
    """Return what a run found: on size, power and class balance.

    Where nulls were run their findings stand first; in a run of nulls alone they replace the one on size.
    Each says ``cannot tell`` where too few categories qualify or intervals are too wide.
    """
    found = null_findings(results)
    size = [] if found and results.rules.empty else [size_finding(results)]
    return [*found, *size, power_finding(results, closeness(results.outcomes)), balance_finding(results)]


def size_finding(results: Results) -> str:
    """Return what each test's size is in each panel near N = 1000, and the highest and lowest mean."""
    table, truth = results.table, results.truth
    alpha, n_documents = primary_alpha(table), reference_size(table)
    curves = told_curves(table)
    points = judge(table, kind="size", truth=truth, alpha=alpha, n_documents=n_documents, curves=curves)
    if not points:
        return NO_PANEL.format("Size")
    told = [point for point in points if point.told]
    caveat = "; alpha_true is then not a pure size" if truth == "sampling_interval" else ""
    what = "by category" if points[0].by_category else "mean over categories"
    head = (
        f"Size: {what} at N = {n_documents} and alpha = {alpha:g} (rule {truth_name(truth)}{caveat}): "
        f"{list_words(points)}"
    )
    if not told:
        return f"{head}: too few categories or evaluation sets; we cannot tell."
    low, high = min(told, key=lambda point: point.rate), max(told, key=lambda point: point.rate)
    text = f"{head}. Highest mean: {_place(high)}; lowest: {_place(low)}."
    dead = sum(2 * point.point["n_dead"] > point.n_categories for point in told)
    if dead:
        text += f" In {dead} of the {len(points)} most categories are dead, which pulls the mean down."
    lettered = dict.fromkeys(point.panel for point in points if point.panel.letter)
    legend = "; ".join(panel.title for panel in lettered)
    return f"{text} Panels: {legend}." if legend else text


def _place(point: Judged) -> str:
    return f"{point.curve.label} in {_panel_name(point.panel)}, {point}"


def _panel_name(panel: Panel) -> str:
    return f"({panel.letter})" if panel.letter else panel.title


def power_finding(results: Results, pairs: list[Closeness]) -> str:
    """Return the power of the ΔF1 test and of the best ΔCerr test for the dissimilar and the close pair."""
    table, truth = results.table, results.truth
    alpha, n_documents = primary_alpha(table), reference_size(table)
    parts, firsts = [], []
    curves = told_curves(table)
    for word, panel in _power_panels(table, pairs):
        name = f"{word} {pair_name(panel.pair)} ({panel.balance})"
        for size in (n_documents, None):  # None: the largest N at which enough categories qualify
            points = judge(
                table, kind="power", truth=truth, alpha=alpha, n_documents=size, curves=curves, panels=[panel]
            )
            told = [point for point in points if point.told]
            if told:
                break
        if not told:
            most = max((point.n_categories for point in points), default=0)
            parts.append(f"{name} cannot tell (at most {most} categories qualify)")
            continue
        if told[0].n_documents != n_documents:
            name += f" at N = {told[0].n_documents}, none qualifying at {n_documents},"
        parts.append(f"{name} {_ranking(told)}")
        firsts.append(told)
    if not parts:
        return NO_PANEL.format("Power")
    floor = ", where power has a floor near one half" if truth == "sampling_interval" else ""
    head = f"Power: mean over categories at N = {n_documents} and alpha = {alpha:g} "
    head += f"{power_where(truth)}{floor}: "
    return head + "; ".join(parts) + _between(firsts) + "."


def _power_panels(table: DataFrame, pairs: list[Closeness]) -> list[tuple[str, Panel]]:
    """Return the dissimilar and the close pair, each in the natural balance where it was run."""
    panels = all_panels(table)
    known = [item for item in pairs if any(panel.pair == item.pair for panel in panels)]
    names = [item.pair for item in known] or [pair for pair in PAIRS if any(p.pair == pair for p in panels)]
    if len(known) > 1 and known[-1].disagreement >= CLEARLY * known[0].disagreement:
        wanted = [("dissimilar pair", names[-1]), ("close pair", names[0])]
    else:
        wanted = [("pair", name) for name in reversed(names[:2])]
    found = []
    for word, pair in wanted:
        of_pair = [panel for panel in panels if panel.pair == pair]
        natural = [panel for panel in of_pair if panel.balance == UNBALANCED]
        found.append((word, (natural or of_pair)[0]))
    return found


def _ranking(points: list[Judged]) -> str:
    """Return the most and the least powerful test, and whether their intervals tell them apart."""
    best, worst = max(points, key=lambda point: point.rate), min(points, key=lambda point: point.rate)
    if len(points) == 1:
        return f"{best.rate:.2f} [{best.low:.2f}, {best.high:.2f}] by the {best.curve.label}"
    clear = "clearly apart" if compare(worst, best) == "higher" else "not to be told apart"
    return (
        f"{best.rate:.2f} [{best.low:.2f}, {best.high:.2f}] by the {best.curve.label} down to "
        f"{worst.rate:.2f} [{worst.low:.2f}, {worst.high:.2f}] by the {worst.curve.label}, {clear}"
    )


def _between(groups: list[list[Judged]]) -> str:
    """Return how the second group's power compares with the first's, test by test."""
    if len(groups) < 2:
        return "; between the pairs we cannot tell"
    second = {point.curve.test: point for point in groups[1]}
    words = [compare(point, second[point.curve.test]) for point in groups[0] if point.curve.test in second]
    told = _directions(words, "test")
    return f"; from the first pair to the second power is {told}"


def _directions(words: list[str], noun: str) -> str:
    """Return a text such as ``lower for 3 tests and undecided for 1 test``."""
    parts = []
    for word in DIRECTIONS:
        n = words.count(word)
        if n:
            parts.append(
                f"{'undecided' if word == CANNOT_TELL else word} for {n} {noun}{'s' if n > 1 else ''}"
            )
    return " and ".join(parts) or f"{CANNOT_TELL} (nothing in common)"


def balance_finding(results: Results) -> str:
    """Return what changes from balanced to unbalanced categories, in size and in power."""
    table, truth = results.table, results.truth
    scheme = balanced_scheme(table)
    run = {str(name) for name in table["balance"].unique()}
    if not scheme or UNBALANCED not in run:
        return f"Class balance: cannot tell, for only {', '.join(sorted(run))} was run."
    alpha, n_documents = primary_alpha(table), reference_size(table)
    parts = []
    for kind, rule in (("size", size_truth(table, truth)), ("power", truth)):
        points = judge(
            table, kind=kind, truth=rule, alpha=alpha, n_documents=n_documents, curves=told_curves(table)
        )
        places = {(point.panel.pair, point.panel.balance, point.curve.test): point for point in points}
        both = [
            (point, places[pair, UNBALANCED, test])
            for (pair, balance, test), point in places.items()
            if balance == scheme and (pair, UNBALANCED, test) in places
        ]
        parts.append(_changes(both, kind))
    return (
        f"Class balance: at N = {n_documents} and alpha = {alpha:g}, from balanced ({scheme}) to unbalanced "
        f"({UNBALANCED}) categories {'; '.join(parts)} (of a test and a pair; means are told apart where "
        "their intervals are)."
    )


def _changes(both: list[tuple[Judged, Judged]], kind: str) -> str:
    """Return how points differ from the first to the second: under nulls by category, else in the mean."""
    if not any(point.by_category for pair in both for point in pair):
        name = "alpha_true" if kind == "size" else "power"
        return f"mean {name} is {_directions([compare(*pair) for pair in both], 'combination')}"
    told = [pair for pair in both if all(point.told for point in pair)]
    if not told:
        return "size by category: cannot tell"
    falls = sum(second.point["median"] < first.point["median"] for first, second in told)
    rises = sum(second.point["worst"] > first.point["worst"] for first, second in told)
    noun = "combination" if len(told) == 1 else "combinations"
    return (
        f"the median size over live categories falls for {falls} and the worst rises for {rises} of "
        f"{len(told)} {noun}"
    )
