"""The rate of rejections of each category, size where H0 holds and power where it does not."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from harness.evaluation.plans import Plan
from harness.evaluation.rejections import Test
from harness.intervals import clopper_pearson

POINT = ("pair", "balance", "prevalence", "truth", "measure", "test", "alpha", "n_documents")
BY_CATEGORY = (
    "pair", "balance", "truth", "measure", "test", "alpha", "n_documents", "category", "kind", "rate",
    "mc_low", "mc_high", "n_rejected", "n_sets", "n_wrong_direction", "n_degenerate", "dead", "prevalence",
    "n_convention",
)  # fmt: skip


def category_rows(
    plan: Plan,
    test: Test,
    truth: str,
    axes: tuple[Sequence[float], Sequence[int], Sequence[str] | NDArray[Any]],
    counts: Mapping[str, ArrayLike],
    *,
    n_sets: int,
) -> dict[str, Any]:
    """Return the columns of one test under one truth: a row for each level, size of set and category."""
    shape = tuple(map(len, axes))
    alphas, sizes, categories = map(np.array, axes)
    spread = {"alpha": alphas[:, None, None], "n_documents": sizes[:, None], "category": categories, **counts}
    plain: dict[str, Any] = {"pair": plan.pair, "balance": plan.balance, "truth": truth}
    plain |= {"prevalence": np.nan if plan.prevalence is None else plan.prevalence, "measure": test.measure}
    arrays = {name: np.broadcast_to(values, shape).ravel() for name, values in spread.items()}
    return plain | {"test": test.name, "n_sets": n_sets} | arrays


def category_rates(blocks: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Return blocks of :func:`category_rows` as one table with rates, columns :data:`BY_CATEGORY`.

    ``kind="size"``: `rate` is the share of sets rejected; ``kind="power"``: the share rejected in the right
    direction. `mc_low` and `mc_high` are its Clopper-Pearson interval (95 %) over sets.
    """
    if not blocks:
        return pd.DataFrame(columns=list(BY_CATEGORY))
    table = pd.concat([pd.DataFrame(block) for block in blocks], ignore_index=True)
    right = table["n_rejected"] - table["n_wrong_direction"]
    counted = np.where(table["kind"] == "power", right, table["n_rejected"])
    table["rate"] = counted / table["n_sets"]
    table["mc_low"], table["mc_high"] = clopper_pearson(counted, table["n_sets"].to_numpy())
    return table[list(BY_CATEGORY)]


def key_values(frame: pd.DataFrame, name: str) -> NDArray[Any]:
    """Return a key column as floats, whole numbers or text; an empty prevalence is NaN."""
    if name not in ("prevalence", "alpha", "n_documents"):
        return frame[name].to_numpy(dtype=object)
    if name == "n_documents":
        return frame[name].to_numpy(dtype=np.int64)
    if frame[name].dtype.kind in "fiu":
        return frame[name].to_numpy(dtype=float)
    return np.array([np.nan if value in ("", None) else float(value) for value in frame[name]])
