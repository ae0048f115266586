"""The study's stages from populations to tables: sets, tests and rates, under rules and under exact nulls."""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from harness.balance import Balance
from harness.errors import UserError
from harness.evaluation.null_sets import levels, shown_alpha
from harness.evaluation.plans import plan_evaluations
from harness.evaluation.rates import size_power, write_table
from harness.evaluation.rejections import Setting
from harness.evaluation.sets import check_sizes
from harness.evaluation.under_nulls import NullSettings, NullStudy, evaluate_nulls
from harness.evaluation.under_rules import evaluate
from harness.outcomes import Population
from harness.runtime.parallel import Run
from harness.runtime.provenance import Clock


def evaluate_all(
    populations: Sequence[Population],
    balances: Mapping[str, Balance],
    config: Mapping[str, Any],
    evaluation: Mapping[str, Any],
    nulls: Mapping[str, Any],
    make_run: Callable[..., Run],
    clock: Clock,
    out: Path,
) -> list[str]:
    """Draw the evaluation sets, run the tests, write the tables of size and power; return warnings.

    Raises
    ------
    UserError
        If no category can be evaluated.
    """
    common = {key: evaluation[key] for key in ("tests", "alphas", "sizes", "n_sets", "replacement")}
    described = {key: config[key] for key in ("test", "truth", "degenerate", "n_replicates")}
    setting = Setting(**common, seed=config["seed"], make_run=make_run, describe=described)
    rules, wanted = evaluation["rules"], NullSettings(**nulls)
    plans, warnings = plan_evaluations(populations, balances)
    if not plans:
        raise UserError("balance: no category can be evaluated; balance=[natural] takes every category")
    if not rules and all(plan.stratified for plan in plans):
        raise UserError(
            "balance: a null has a prevalence of its own, stratified sets a fixed one; with nulls alone in "
            "truth another balance is needed"
        )
    judged, found = [], None
    if rules:
        with clock.stage("evaluation sets and tests"):
            judged.append(evaluate(plans, setting, rules, evaluation["n_truth_sets"]))
    if wanted.nulls:
        with clock.stage("sets under exact nulls"):
            found = evaluate_nulls(plans, setting, wanted)
            warnings += found.warnings
    with clock.stage("size and power tables"):
        for name, table in _tables(judged, found, setting).items():
            write_table(table, out / f"{name}.csv")
    return warnings


def _tables(judged: list[pd.DataFrame], found: NullStudy | None, setting: Setting) -> dict[str, pd.DataFrame]:
    """Return the tables; each plan is summed up alone, which bounds the memory and changes nothing."""
    tables, shown, parts = {}, list(judged), list(judged)
    if found is not None and found.by_category:  # else every balance is stratified
        one = shown_alpha(setting.alphas)  # by category all levels would fill some 200 MB
        shown += [table[table["alpha"] == one] for table in found.by_category]
        parts += found.by_category
        told = [table for table in found.distributions if len(table)] or found.distributions[:1]
        joined = {"power_path": found.path, "nulls": found.nulls, "size_by_category": told}
        tables = {name: pd.concat(some, ignore_index=True) for name, some in joined.items()}
    tables["size_power_by_category"] = pd.concat(shown, ignore_index=True)
    rates = [size_power(part, setting.seed) for part in parts if len(part)]
    return tables | {"size_power": pd.concat(rates, ignore_index=True)}


def check_grid(evaluation: Mapping[str, Any], n_true: int) -> list[str]:
    """Return warnings of sizes and replicates."""
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
