"""The advice on several categories: documents are drawn whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from harness.advice.decisions import Decisions
from harness.advice.document_points import (
    judge_documents,
    measure_documents,
    needs_of_documents,
    tests_to_measure,
)
from harness.advice.document_tests import TESTS, default_replicates
from harness.advice.documents import document_pairs, populations_of_documents
from harness.advice.points import Plan, draw_generator
from harness.advice.work import Work
from harness.store import Arrays


def document_work(
    decisions: Decisions,
    measure: str,
    plan: Plan,
    n_replicates: int | None,
    alpha: float,
    difference: float,
    seed: int,
    stage_run: Callable[..., Any],
) -> Work:
    """Return the work on a file of several categories, `measure` being of all decisions together.

    Raises
    ------
    UserError
        If no two systems disagree on any decision.
    """
    pairs, notes = document_pairs(decisions, measure)
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

    n_items, n_categories = decisions.codes.shape
    return Work(
        list(pairs), n_items, decisions.systems,
        f"{n_categories} categories, yes or no in each, drawn whole",
        measure if measure == "error" else f"micro {measure}",
        [name for name in names if name in TESTS],
        [*notes, *left_out, *_explain(names, replicates)],
        measured, needs, lambda pair: judge_documents(pair, pairs[pair], names, seed),
    )  # fmt: skip


def _explain(names: Sequence[str], n_replicates: int) -> list[str]:
    found = [
        f"{names[-1]} takes every decision for drawn on its own; it is shown beside the others and never "
        "recommended: nothing says that it keeps its level where decisions on one item hang on each other"
    ]
    if len(names) > 2:
        found.append(
            f"bootstrap and randomization draw {n_replicates:,} replicates for each set that is measured, on "
            "fewer sets than the Wald test, and 9,999 on the file"
        )
    return found
