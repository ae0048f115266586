"""The main findings of a run in words, computed from its tables."""

from typing import Any

from pandas import DataFrame

from harness.results import names
from harness.results.folder import Results
from harness.results.names import UNBALANCED
from harness.results.truth_scores import truth_name
from harness.results.verdicts import Judged, judge, size_truth
from harness.run.findings.models import CLEARLY, Closeness, closeness
from harness.run.findings.nulls import null_findings
from harness.writing.prose import paragraphs


def main_findings(results: Results) -> list[str]:
    """Return what a run found, a line each: first under exact nulls, then by the paper's rule.

    In a run of nulls alone there is none on the means. A line says ``cannot tell`` where too few categories
    qualify.
    """
    found = null_findings(results)
    size = [] if found and results.rules.empty else size_findings(results)
    power = power_findings(results, closeness(results.outcomes))
    return [*found, *size, *power, *balance_findings(results)]


def size_findings(results: Results) -> list[str]:
    """Return how many mean sizes near N = 1000 lie about the level, the highest and the lowest."""
    points = judge(results.table, "size", results.truth)
    told = [point for point in points if point.told]
    return paragraphs(
        "run", "size_finding", n_documents=names.reference_size(results.table), truth=results.truth,
        rule=truth_name(results.truth), told=told, words=[point.word for point in told],
        by_category=any(point.by_category for point in told),
        n_dead=sum(2 * point.point["n_dead"] > point.n_categories for point in told),
    )  # fmt: skip


def power_findings(results: Results, pairs: list[Closeness]) -> list[str]:
    """Return the power of the most and the least powerful test for the dissimilar and the close pair."""
    table, truth = results.table, results.truth
    found, groups = [], []
    for word, panel in _power_panels(table, pairs):
        for largest in (False, True):
            points = judge(table, "power", truth, largest=largest, panels=[panel])
            told = [point for point in points if point.told]
            if told:
                break
        name = names.pair_name(panel.pair)
        most = max((point.n_categories for point in points), default=0)
        found.append({"word": word, "name": name, "balance": panel.balance, "told": told, "most": most})
        groups += [told] if told else []
    directions = []
    if len(groups) > 1 and groups[0][0].n_documents == groups[1][0].n_documents:
        second = {point.curve.test: point for point in groups[1]}
        both = [(point, second.get(point.curve.test)) for point in groups[0]]
        directions = [point.compare(other) for point, other in both if other]
    return paragraphs("run", "power_finding", truth=truth, pairs=found, directions=directions)


def _power_panels(table: DataFrame, pairs: list[Closeness]) -> list[tuple[str, names.Panel]]:
    """Return the dissimilar and the close pair, each in the natural balance where it was run."""
    panels = names.all_panels(table)
    run = {panel.pair for panel in panels}
    known = [item for item in pairs if item.pair in run]
    listed = [item.pair for item in known] or [pair for pair in names.PAIRS if pair in run]
    if len(known) > 1 and known[-1].disagreement >= CLEARLY * known[0].disagreement:
        wanted = [("dissimilar pair", listed[-1]), ("close pair", listed[0])]
    else:
        wanted = [("pair", name) for name in reversed(listed[:2])]
    found = []
    for word, pair in wanted:
        of_pair = [panel for panel in panels if panel.pair == pair]
        found.append((word, next((one for one in of_pair if one.balance == UNBALANCED), of_pair[0])))
    return found


def balance_findings(results: Results) -> list[str]:
    """Return what changes from balanced to unbalanced categories, in size and in power."""
    table, truth = results.table, results.truth
    scheme = names.balanced_scheme(table)
    run = sorted({str(name) for name in table["balance"].unique()})
    changes = []
    if scheme and UNBALANCED in run:
        for kind, rule in (("size", size_truth(table, truth)), ("power", truth)):
            judged = judge(table, kind, rule)
            points = {(one.panel.pair, one.panel.balance, one.curve.test): one for one in judged}
            both = [
                (point, points[pair, UNBALANCED, test])
                for (pair, balance, test), point in points.items()
                if balance == scheme and (pair, UNBALANCED, test) in points
            ]
            changes.append(_change(both, "alpha_true" if kind == "size" else kind))
    n_documents = names.reference_size(table)
    told = {"n_documents": n_documents, "run": run, "scheme": scheme, "changes": changes}
    return paragraphs("run", "balance_finding", **told)


def _change(both: list[tuple[Judged, Judged]], name: str) -> dict[str, Any]:
    """Return how points differ from the first to the second: under nulls by category, else in the mean."""
    told = [pair for pair in both if all(point.told for point in pair)]
    if not any(point.by_category for pair in both for point in pair):
        words = [first.compare(second) for first, second in both]
        return {"name": name, "by_category": False, "words": words}
    falls = sum(second.point["median"] < first.point["median"] for first, second in told)
    rises = sum(second.point["worst"] > first.point["worst"] for first, second in told)
    return {"by_category": True, "n": len(told), "falls": falls, "rises": rises}
