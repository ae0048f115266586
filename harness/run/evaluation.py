"""The study's stages from populations to tables: sets, tests and rates, under rules and under exact nulls."""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.balance import Balance
from harness.errors import UserError
from harness.evaluation.null_sets import levels, shown_alpha
from harness.evaluation.plans import Plan, plan_evaluations
from harness.evaluation.rates import size_power, write_table
from harness.evaluation.sets import check_sizes
from harness.evaluation.under_nulls import NullStudy, evaluate_nulls
from harness.evaluation.under_rules import evaluate
from harness.outcomes import Population
from harness.runtime.provenance import Clock

if TYPE_CHECKING:
    import pandas as pd


def evaluate_all(
    populations: Sequence[Population],
    balances: Mapping[str, Balance],
    config: Mapping[str, Any],
    evaluation: Mapping[str, Any],
    nulls: Mapping[str, Any],
    seed: int,
    stage_run: Callable[..., Any],
    clock: Clock,
    warnings: list[str],
    out: Path,
) -> None:
    """Draw the evaluation sets, run the tests and write the tables of size and power.

    Parameters
    ----------
    populations : sequence of Population
    balances : mapping of str to Balance
    config : mapping
        JSON types; what tests and truths are is part of every unit's key.
    evaluation, nulls : mapping
        As in :func:`harness.run.study.run_study`.
    seed : int
    stage_run : callable
        (stage, *inputs) -> Run.
    clock : Clock
    warnings : list of str
        Is added to.
    out : Path

    Raises
    ------
    UserError
        If no category can be evaluated.
    """
    plans, left_out = plan_evaluations(populations, balances)
    warnings += left_out
    if not plans:
        raise UserError("balance: no category can be evaluated; balance=[natural] takes every category")
    if not evaluation["rules"] and all(plan.stratified for plan in plans):
        raise UserError(
            "balance: a null has a prevalence of its own, stratified sets a fixed one; with nulls alone in "
            "truth another balance is needed"
        )
    described = {key: config[key] for key in ("test", "truth", "degenerate", "n_replicates")}
    common: dict[str, Any] = {"seed": seed, "make_run": stage_run, "describe": described}
    judged: list[pd.DataFrame] = []
    if evaluation["rules"]:
        with clock.stage("evaluation sets and tests"):
            judged.append(evaluate(plans, **evaluation, **common))
    found = None
    if nulls["nulls"]:
        with clock.stage("sets under exact nulls"):
            found = _evaluate_nulls(plans, evaluation, nulls, common)
            warnings += found.warnings
    with clock.stage("size and power tables"):
        _write(judged, found, evaluation["alphas"], seed, out)


def _evaluate_nulls(
    plans: Sequence[Plan],
    evaluation: Mapping[str, Any],
    nulls: Mapping[str, Any],
    common: Mapping[str, Any],
) -> NullStudy:
    shared = {key: evaluation[key] for key in ("tests", "alphas", "sizes")}
    return evaluate_nulls(plans, **nulls, **shared, prevalence_sets=evaluation["n_sets"], **common)


def _write(
    judged: "list[pd.DataFrame]", found: NullStudy | None, alphas: Sequence[float], seed: int, out: Path
) -> None:
    """Write the tables; each plan is summed up alone, which bounds the memory and changes nothing."""
    import pandas as pd

    shown, parts = list(judged), list(judged)
    if found is not None and found.by_category:  # else every balance is stratified
        one = shown_alpha(alphas)  # by category all levels would fill some 200 MB
        shown += [table[table["alpha"] == one] for table in found.by_category]
        parts += found.by_category
        write_table(pd.concat(found.path, ignore_index=True), out / "power_path.csv")
        write_table(pd.concat(found.nulls, ignore_index=True), out / "nulls.csv")
        told = [table for table in found.distributions if len(table)] or found.distributions[:1]
        write_table(pd.concat(told, ignore_index=True), out / "size_by_category.csv")
    write_table(pd.concat(shown, ignore_index=True), out / "size_power_by_category.csv")
    rates = pd.concat([size_power(part, seed) for part in parts if len(part)], ignore_index=True)
    write_table(rates, out / "size_power.csv")


def check_grid(evaluation: Mapping[str, Any], n_true: int) -> list[str]:
    """Return warnings of sizes and replicates.

    Parameters
    ----------
    evaluation : mapping
        As in :func:`harness.run.study.run_study`.
    n_true : int
        Documents of the smallest population.

    Raises
    ------
    UserError
        If a size cannot be drawn.
    """
    try:
        warnings = list(check_sizes(evaluation["sizes"], n_true, replacement=evaluation["replacement"]))
    except ValueError as error:
        raise UserError(f"sets.sizes: {error}") from error
    alphas = evaluation["alphas"]
    for test in evaluation["tests"]:
        asked = alphas if evaluation["rules"] else [alphas[a] for a in levels(test, alphas)]
        if not asked:
            warnings.append(f"{test.name}: it draws replicates, and is not judged at levels below .01")
            continue
        n_replicates, least = test.pvalue.keywords.get("n_replicates"), min(asked)
        wanted = math.ceil(round(50 / least, 6))
        if n_replicates is not None and n_replicates < wanted:
            warnings.append(
                f"{test.name}: {n_replicates} replicates are few for alpha = {least}; {wanted} are advised"
            )
    return warnings
