"""The advice on several categories: documents are drawn whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from harness.advise.decisions import Decisions
from harness.advise.document_points import (
    DRAWN,
    judge_documents,
    measure_documents,
    needs_of_documents,
    tests_to_measure,
)
from harness.advise.document_tests import MACRO, TESTS, default_replicates
from harness.advise.documents import (
    deviation_of_documents,
    document_pairs,
    populations_of_documents,
    tilt_documents,
)
from harness.advise.needed import Floats, deviations
from harness.advise.points import Plan, draw_generator
from harness.advise.work import Work, cost_notes
from harness.runtime.store import Arrays


def document_work(
    decisions: Decisions,
    measure: str,
    average: str,
    costs: Mapping[str, float],
    plan: Plan,
    n_replicates: int | None,
    alpha: float,
    difference: float,
    seed: int,
    stage_run: Callable[..., Any],
) -> Work:
    """Return the work on a file of several categories, the measure being their micro or macro average.

    Raises
    ------
    UserError
        If no two systems disagree on any decision.
    """
    pairs, notes = document_pairs(decisions, measure, average, tuple(costs.items()))
    names, left_out = tests_to_measure(pairs, measure)
    replicates = n_replicates or default_replicates(alpha)
    populations = {
        pair: populations_of_documents(own, plan.n_draws, draw_generator(seed, pair))
        for pair, own in pairs.items()
    }

    def measured() -> tuple[Any, list[str]]:
        return measure_documents(pairs, populations, plan, names, replicates, alpha, seed, stage_run)

    def needs(wanted: Sequence[tuple[str, str, float]]) -> list[Arrays]:
        return needs_of_documents(wanted, pairs, populations, difference, replicates, alpha, seed, stage_run)

    def around(pair: str, wanted: float) -> Floats:
        kinds = pairs[pair].kinds
        return deviations(
            [populations[pair].null, *populations[pair].drawn], wanted,
            lambda null, d: tilt_documents(null, d, kinds), lambda q: deviation_of_documents(q, kinds),
        )  # fmt: skip

    n_items, n_categories = decisions.codes.shape
    return Work(
        list(pairs), n_items, decisions.systems,
        f"{n_categories} categories, yes or no in each, drawn whole",
        measure if measure == "error" else f"{average} {measure}",
        [name for name in names if name in TESTS],
        [*notes, *left_out, *_explain_average(measure, average, costs), *_explain(names, replicates)],
        measured, needs, around, lambda pair: judge_documents(pair, pairs[pair], names, seed),
    )  # fmt: skip


def _explain_average(measure: str, average: str, costs: Mapping[str, float]) -> list[str]:
    found = cost_notes(measure, costs)
    if average == MACRO and measure == "error":
        found.append("the mean of the categories' errors is the error of all decisions together")
    elif average == MACRO:
        found.append(
            "macro is the mean over the categories, each weighing the same; a category in which a ratio is "
            "0/0, as where there is no positive, counts as 0 (scikit-learn's zero_division=0)"
        )
    if measure in ("dcf", "balanced_error") or (average == MACRO and measure != "error"):
        found.append(
            "the populations of equal systems satisfy the first-order conditions of the nearest, and are not "
            "proven to be it; where a ratio would lose most of its items, the file's items are tilted "
            "along their influence instead"
        )
    return found


def _explain(names: Sequence[str], n_replicates: int) -> list[str]:
    found = [
        f"{names[-1]} takes every decision for drawn on its own; it is shown beside the others and never "
        "recommended: nothing says that it keeps its level where decisions on one item hang on each other"
    ]
    drawn = [name for name in names if name in DRAWN]
    if drawn:
        found.append(
            f"{' and '.join(drawn)} draw{'' if len(drawn) > 1 else 's'} {n_replicates:,} replicates for each "
            "set that is measured, on fewer sets than the Wald test, and 9,999 on the file"
        )
    return found
