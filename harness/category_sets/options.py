"""What ``experiment=rr0434`` may be told, checked before any work."""

from collections.abc import Mapping, Sequence
from typing import Any

from harness.errors import UserError
from harness.measures import check_measure

AVERAGES = ("micro", "macro")
RESAMPLING = ("document", "event")
KEYS = ("size", "averages", "resampling", "n_subsets", "costs", "calibration")
MOST = 10_000_000
LEAST = {"n_draws": 10, "n_replicates": 20, "n_truth_sets": 100, "n_random": 0}


def check_options(options: Mapping[str, Any]) -> None:
    """Refuse settings of the category sets that cannot be used.

    Raises
    ------
    UserError
        If a key or a value of ``category_sets`` is not allowed; names it, the value and what is allowed.
    """
    _check_keys("category_sets", options, KEYS)
    _check_keys("category_sets.calibration", options["calibration"], tuple(LEAST))
    for key, least in (("size", 1), ("n_subsets", 20)):
        _check_whole(f"category_sets.{key}", options[key], least)
    for key, least in LEAST.items():
        _check_whole(f"category_sets.calibration.{key}", options["calibration"][key], least)
    for key, allowed in (("averages", AVERAGES), ("resampling", RESAMPLING)):
        _check_members(f"category_sets.{key}", options[key], allowed)
    if not isinstance(options["costs"], Mapping):
        raise UserError("category_sets.costs: cost_fn, cost_fp and prior are needed")
    for key, value in options["costs"].items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise UserError(f"category_sets.costs.{key}: {value!r} is not allowed; a number is")
    try:
        check_measure("dcf", **options["costs"])
    except ValueError as error:
        raise UserError(f"category_sets.costs.{error}") from error


def check_run(
    pairs: Sequence[str], n_test: int, n_replicates: int | None, balances: Sequence[str], stored: bool
) -> None:
    """Refuse settings of the whole run that leave nothing to compare.

    Parameters
    ----------
    pairs : sequence of str
    n_test : int
        Size of D_te.
    n_replicates : int or None
    balances : sequence of str
        Names of the chosen members of ``balance``.
    stored : bool
        Whether the run was told to start from a stored outcomes table.

    Raises
    ------
    UserError
        Names what is wrong and what is allowed.
    """
    if stored:
        raise UserError(
            "population: a stored outcomes table does not hold single documents, which experiment=rr0434 "
            "resamples; population=null, with a corpus, is allowed"
        )
    if n_test < 2:
        raise UserError(
            f"split.n_test: {n_test} is not allowed; experiment=rr0434 compares D_te with D_true and needs "
            "at least 2 documents in D_te"
        )
    if len(pairs) != 1:
        raise UserError(f"pairs: {len(pairs)} pairs are not allowed; experiment=rr0434 compares one pair")
    if n_replicates is None or n_replicates < 100:
        raise UserError(
            f"n_replicates: {n_replicates} is not allowed; experiment=rr0434 needs at least 100 replicates"
        )
    if list(balances) != ["natural"]:
        raise UserError(
            f"balance: {', '.join(balances)} is not allowed; experiment=rr0434 takes the categories as they "
            "are, balance=[natural]"
        )


def _check_keys(where: str, node: object, allowed: tuple[str, ...]) -> None:
    """Refuse a part that is unknown or missing."""
    if not isinstance(node, Mapping):
        raise UserError(f"{where}: {node!r} is not allowed; its parts are {', '.join(allowed)}")
    for key in node:
        if key not in allowed:
            raise UserError(f"{where}.{key}: there is no such key; {', '.join(allowed)} are allowed")
    missing = [key for key in allowed if key not in node]
    if missing:
        raise UserError(f"{where}: {missing[0]} is missing; its parts are {', '.join(allowed)}")


def _check_whole(where: str, value: object, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= MOST:
        raise UserError(f"{where}: {value!r} is not allowed; a whole number from {least} to {MOST:,} is")


def _check_members(where: str, values: object, allowed: tuple[str, ...]) -> None:
    if not isinstance(values, list) or not values or len(set(map(str, values))) != len(values):
        raise UserError(
            f"{where}: {values!r} is not allowed; a list of {' and '.join(allowed)}, none twice, is"
        )
    for value in values:
        if value not in allowed:
            raise UserError(f"{where}: {value!r} is not allowed; choose from {', '.join(allowed)}")
