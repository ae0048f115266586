"""The rate of rejections of each category, size where H0 holds and power where it does not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.intervals import clopper_pearson

if TYPE_CHECKING:
    import pandas as pd

POINT = ("pair", "balance", "prevalence", "truth", "measure", "test", "alpha", "n_documents")
REJECTIONS = (
    "pair", "balance", "prevalence", "category", "measure", "test", "alpha", "n_documents",
    "n_sets", "n_rejected", "n_wrong_direction", "n_degenerate", "n_convention", "dead",
)  # fmt: skip
TRUTHS = ("pair", "balance", "prevalence", "category", "measure", "truth", "alpha", "n_documents", "holds")
KEY = ("pair", "balance", "prevalence", "category", "measure", "costs", "alpha", "n_documents")  # of both
BY_CATEGORY = (
    "pair", "balance", "truth", "measure", "test", "alpha", "n_documents", "category", "kind", "rate",
    "mc_low", "mc_high", "n_rejected", "n_sets", "n_wrong_direction", "n_degenerate", "dead", "prevalence",
    "n_convention",
)  # fmt: skip


def size_power_by_category(rejections: pd.DataFrame, truths: pd.DataFrame) -> pd.DataFrame:
    """Return the rate of each category at each point: size where H0 holds, power where it does not.

    Parameters
    ----------
    rejections : pandas.DataFrame
        Columns :data:`REJECTIONS`, one row for each category, test, level and size of set. A further
        column, `costs`, in both tables joins each test with the truths at its own costs; a table without
        it counts as one whose costs are empty.
    truths : pandas.DataFrame
        Columns :data:`TRUTHS`, one row for each category, measure (at its costs), rule, level and size of
        set. A rule that is absent for all categories of a point makes no row there; a truth that no test
        of `rejections` asks for is left aside.

    Returns
    -------
    pandas.DataFrame
        Columns :data:`BY_CATEGORY`. ``kind="size"``: `rate` is the share of sets rejected.
        ``kind="power"``: the share rejected in the right direction,
        ``(n_rejected - n_wrong_direction) / n_sets``. `mc_low` and `mc_high` are the Clopper-Pearson
        interval (95 %) of the rate over sets. Rows are ordered by the first appearance of pair,
        balance, prevalence, truth, measure, test, alpha, n_documents and category.

    Raises
    ------
    ValueError
        If a column is missing, a row occurs twice, a count is out of range, or a rejection has no
        truth, or a truth for some categories of a point only.

    Examples
    --------
    >>> import pandas as pd
    >>> key = {"pair": "a-b", "balance": "natural", "prevalence": np.nan, "measure": "error",
    ...        "alpha": 0.05, "n_documents": 100, "category": ["C1", "C2"]}
    >>> counts = {"n_sets": 500, "n_rejected": [25, 300], "n_wrong_direction": [11, 5],
    ...           "n_degenerate": 0, "n_convention": 0, "dead": False}
    >>> table = size_power_by_category(
    ...     pd.DataFrame(key | {"test": "mcnemar"} | counts),
    ...     pd.DataFrame(key | {"truth": "margin", "holds": [True, False]}))
    >>> table[["category", "kind", "rate"]].values.tolist()
    [['C1', 'size', 0.05], ['C2', 'power', 0.59]]
    """
    import pandas as pd

    keys = _keys(rejections, truths)
    _check_numbers(rejections)
    rows, rules, holds = _join(keys, truths["holds"].to_numpy(dtype=bool))
    codes = {name: key.of_rejections[rows] for name, key in keys.items() if name != "truth"}
    codes["truth"] = rules
    order = np.lexsort([codes[name] for name in reversed((*POINT, "category"))])
    rows, holds = rows[order], holds[order]
    table: dict[str, Any] = {name: keys[name].levels[codes[name][order]] for name in codes}
    for name in ("n_sets", "n_rejected", "n_wrong_direction", "n_degenerate", "n_convention"):
        table[name] = rejections[name].to_numpy(dtype=np.int64)[rows]
    table["dead"] = rejections["dead"].to_numpy(dtype=bool)[rows]
    table["kind"] = np.array(["power", "size"], dtype=object)[holds.astype(int)]
    counted = table["n_rejected"] - np.where(holds, 0, table["n_wrong_direction"])
    table["rate"] = counted / table["n_sets"]
    table["mc_low"], table["mc_high"] = clopper_pearson(counted, table["n_sets"])
    return pd.DataFrame(table, columns=list(BY_CATEGORY))


class _Key(NamedTuple):
    """A key column of both tables as whole numbers, in order of first appearance."""

    levels: NDArray
    of_rejections: NDArray[np.int64]
    of_truths: NDArray[np.int64]


def _keys(rejections: pd.DataFrame, truths: pd.DataFrame) -> dict[str, _Key]:
    """Return every key column, with the same code for the same value in both tables."""
    import pandas as pd

    for name, frame, needed in (("rejections", rejections, REJECTIONS), ("truths", truths, TRUTHS)):
        missing = [column for column in needed if column not in frame.columns]
        if missing:
            raise ValueError(f"{name}: lacks {', '.join(missing)}; needed are {', '.join(needed)}")
    keys = {}
    for name in (*POINT, "category", "costs"):
        first = key_values(rejections, name) if name != "truth" else np.array([], dtype=object)
        second = key_values(truths, name) if name != "test" else np.array([], dtype=object)
        codes, levels = pd.factorize(np.concatenate([first, second]), use_na_sentinel=False)
        keys[name] = _Key(np.asarray(levels), codes[: len(first)], codes[len(first) :])
    return keys


def key_values(frame: pd.DataFrame, name: str) -> NDArray:
    """Return a key column as floats, whole numbers or text; an empty prevalence is NaN, no costs are ""."""
    if name == "costs" and name not in frame.columns:
        return np.full(len(frame), "", dtype=object)
    if name not in ("prevalence", "alpha", "n_documents"):
        return frame[name].to_numpy(dtype=object)
    if name == "n_documents":
        return frame[name].to_numpy(dtype=np.int64)
    if frame[name].dtype.kind in "fiu":
        return frame[name].to_numpy(dtype=float)
    return np.array([np.nan if value in ("", None) else float(value) for value in frame[name]])


def _number(keys: dict[str, _Key], names: tuple[str, ...], table: str) -> NDArray[np.int64]:
    """Return one whole number for each row: equal where `names` are equal, comparable between tables."""
    number = np.zeros(1, dtype=np.int64)
    for name in names:
        number = number * len(keys[name].levels) + getattr(keys[name], table)
    return number


def _check_numbers(rejections: pd.DataFrame) -> None:
    """Refuse counts that cannot be: more rejections than sets, more wrong ones than rejections."""
    n_sets, n_rejected, n_wrong, n_degenerate = (
        rejections[name].to_numpy() for name in ("n_sets", "n_rejected", "n_wrong_direction", "n_degenerate")
    )
    good = (n_sets >= 1) & (n_wrong >= 0) & (n_wrong <= n_rejected) & (n_rejected <= n_sets)
    good &= (n_degenerate >= 0) & (n_degenerate <= n_sets)
    convention = rejections["n_convention"].to_numpy()
    good &= (convention >= 0) & (convention <= n_degenerate)
    if not good.all():
        where = int(np.argmin(good))
        raise ValueError(
            f"rejections: row {where} counts {n_sets[where]} sets, {n_rejected[where]} rejected, "
            f"{n_wrong[where]} in the wrong direction, {n_degenerate[where]} degenerate; "
            "0 <= wrong <= rejected <= sets, 0 <= n_convention <= degenerate <= sets, sets >= 1 are allowed"
        )


def _join(
    keys: dict[str, _Key], told_holds: NDArray[np.bool_]
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.bool_]]:
    """Return row of the rejections, code of the rule, and whether H0 holds, for all that belong together."""
    n_rules = len(keys["truth"].levels)
    asked, row_of = np.unique(_number(keys, KEY, "of_rejections"), return_inverse=True)
    told = _number(keys, KEY, "of_truths")
    wanted = np.isin(told, asked)
    cell = np.searchsorted(asked, told[wanted]) * n_rules + keys["truth"].of_truths[wanted]
    if len(np.unique(cell)) < len(cell):
        raise ValueError("truths: a category occurs twice at one point; one row for each rule is allowed")
    state = np.full(len(asked) * n_rules, -1, dtype=np.int8)  # -1: this rule says nothing here
    state[cell] = told_holds[wanted]
    grid = state.reshape(len(asked), n_rules)[row_of]
    _check_complete(keys, grid)
    rows, rules = np.nonzero(grid >= 0)
    return rows, rules, grid[rows, rules] == 1


def _check_complete(keys: dict[str, _Key], grid: NDArray[np.int8]) -> None:
    """Refuse a category that occurs twice at a point, or whose truth is missing."""
    point = tuple(name for name in POINT if name != "truth")
    rows = _number(keys, (*point, "category"), "of_rejections")
    if len(np.unique(rows)) < len(rows):
        raise ValueError("rejections: a category occurs twice at one point; one row for each test is allowed")
    first, point_of = np.unique(_number(keys, point, "of_rejections"), return_inverse=True)[0:2]
    n_told = np.zeros((len(first), grid.shape[1]), dtype=np.int64)
    np.add.at(n_told, point_of, grid >= 0)
    n_categories = np.bincount(point_of, minlength=len(first))[:, None]
    lacking = ((n_told[point_of] > 0) & (grid < 0)).any(axis=1) | (n_told[point_of] == 0).all(axis=1)
    if lacking.any() and n_categories.size:
        row = int(np.argmax(lacking))
        told = {name: key.levels[key.of_rejections[row]] for name, key in keys.items() if name != "truth"}
        where = ", ".join(f"{name} {value}" for name, value in told.items() if value != "")
        raise ValueError(f"truths: none for {where}; every category needs one under each rule of its point")
