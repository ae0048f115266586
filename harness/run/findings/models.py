"""How good the models are, and how close each pair is."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from harness.results.names import REWEIGHTED, UNBALANCED, pair_models

if TYPE_CHECKING:
    from pandas import DataFrame

CELLS = tuple(f"e{number}" for number in range(1, 9))
CLEARLY = 1.25  # of disagreement: below this ratio two pairs are not told apart (inferred)
POORER = 0.02  # of micro F1: below this gap a model is not clearly poorer (inferred)
MEASURED = (
    "model", "category", "balance", "cv_score", "n_folds", "f1", "precision", "recall", "error",
    "true_positives", "false_negatives", "false_positives",
)  # fmt: skip


class Closeness(NamedTuple):
    """How close a pair is, over all categories of one balance pooled."""

    pair: str
    balance: str
    disagreement: float
    error_correlation: float
    micro_f1_a: float
    micro_f1_b: float

    @property
    def gap(self) -> float:
        """Return micro F1 of A minus that of B."""
        return self.micro_f1_a - self.micro_f1_b


def main_balance(outcomes: DataFrame) -> str:
    """Return the balance that models are described on: natural where it was run."""
    run = [str(name) for name in outcomes["balance"].unique() if name != REWEIGHTED]
    return UNBALANCED if UNBALANCED in run or not run else run[0]


def closeness(outcomes: DataFrame) -> list[Closeness]:
    """Return the closeness of every pair, the closest (least disagreement) first.

    The eight cells are pooled over categories: the disagreement is the share of decisions that exactly one
    model gets right, the error correlation is the phi coefficient of the errors.

    Examples
    --------
    >>> import pandas as pd
    >>> cells = dict(zip(CELLS, (60, 10, 20, 10, 0, 0, 0, 900)))
    >>> pair, = closeness(pd.DataFrame([{"pair": "a-b", "balance": "natural", **cells}]))
    >>> round(pair.micro_f1_a, 3), round(pair.micro_f1_b, 3), pair.disagreement
    (0.889, 0.824, 0.03)
    """
    balance = main_balance(outcomes)
    pooled = outcomes[outcomes["balance"] == balance].groupby("pair", sort=False)[list(CELLS)].sum()
    found = []
    for pair, cells in pooled.iterrows():
        e1, e2, e3, e4, e5, e6, e7, e8 = (float(value) for value in cells)
        total = e1 + e2 + e3 + e4 + e5 + e6 + e7 + e8
        wrong_a, wrong_b, both = e2 + e4 + e5 + e7, e3 + e4 + e5 + e6, e4 + e5
        spread = (wrong_a * (total - wrong_a) * wrong_b * (total - wrong_b)) ** 0.5
        phi = (total * both - wrong_a * wrong_b) / spread if spread else float("nan")
        f1_a = _f1(e1 + e3, e2 + e4, e5 + e7)
        f1_b = _f1(e1 + e2, e3 + e4, e5 + e6)
        disagreement = (e2 + e3 + e6 + e7) / total
        found.append(Closeness(str(pair), balance, disagreement, phi, f1_a, f1_b))
    return sorted(found, key=lambda item: item.disagreement)


def _f1(hits: float, missed: float, alarms: float) -> float:
    whole = 2 * hits + missed + alarms
    return 2 * hits / whole if whole else 0.0


def micro_f1(outcomes: DataFrame, models: DataFrame | None = None) -> dict[tuple[str, str], float]:
    """Return micro F1 on D_true by (model, balance): the cells pooled over all categories.

    From ``models.csv`` where it holds the cells, else from the outcomes of a pair that the model is in.
    """
    found: dict[tuple[str, str], float] = {}
    needed = ["true_positives", "false_negatives", "false_positives"]
    if models is not None and set(needed).issubset(models.columns):
        sums = models.groupby(["model", "balance"], sort=False)[needed].sum()
        return {
            (str(m), str(b)): _f1(*map(float, row))
            for (m, b), row in zip(sums.index, sums.to_numpy(), strict=True)
        }
    for balance in outcomes["balance"].unique():
        if balance == REWEIGHTED:
            continue
        for item in closeness(outcomes[outcomes["balance"] == balance]):
            for model, value in zip(pair_models(item.pair), (item.micro_f1_a, item.micro_f1_b), strict=True):
                found.setdefault((model, str(balance)), value)
    return found


def closeness_sentences(pairs: list[Closeness]) -> list[str]:
    """Return which pair is the close one and which the dissimilar one, or that they cannot be told apart."""
    sentences = [
        f"{item.pair} ({item.balance}): micro F1 {item.micro_f1_a:.3f} against {item.micro_f1_b:.3f}, "
        f"disagreement {item.disagreement:.4f} of decisions, correlation of errors "
        f"{item.error_correlation:.2f}; the second model is {_poorer(item.gap)}."
        for item in pairs
    ]
    if len(pairs) > 1:
        near, far = pairs[0], pairs[-1]
        if far.disagreement >= CLEARLY * near.disagreement:
            sentences.append(
                f"The close pair is {near.pair}, the dissimilar one {far.pair} (by disagreement)."
            )
        else:
            sentences.append(
                f"{near.pair} and {far.pair} are about equally close (disagreement differs by less than "
                f"{CLEARLY:g} times): no pair here is the paper's dissimilar one."
            )
    return sentences


def _poorer(gap: float) -> str:
    if abs(gap) < POORER:
        return f"not clearly different (gap below {POORER:g})"
    return "clearly poorer" if gap > 0 else "clearly better"


def tabulate_models(models: DataFrame | None, outcomes: DataFrame) -> DataFrame:
    """Return a row per model and balance: categories, micro and macro F1, error, tuning."""
    import pandas as pd

    scores = micro_f1(outcomes, models)
    rows = []
    for (model, balance), score in scores.items():
        row: dict[str, object] = {"model": model, "balance": balance, "micro F1": score}
        if models is not None:
            part = models[(models["model"] == model) & (models["balance"] == balance)]
            if len(part):
                row |= {
                    "macro F1": float(part["f1"].mean()),
                    "mean error": float(part["error"].mean()),
                    "mean CV score": float(part["cv_score"].mean()),
                    "categories": str(len(part)),
                    "tuned with fewer folds": str(fewer_folds(part)),
                    "tuned values (categories)": _tuned(part),
                }
        rows.append(row)
    return pd.DataFrame(rows)


def fewer_folds(models: DataFrame) -> int:
    """Return how many categories were tuned with fewer folds than the rest, for lack of positives."""
    tuned = models.loc[models["n_folds"] > 0, "n_folds"]
    return int((tuned < tuned.max()).sum()) if len(tuned) else 0


def _tuned(models: DataFrame) -> str:
    parts = []
    for name in models.columns:
        if name not in MEASURED and models[name].notna().any():
            counts = models[name].value_counts().sort_index()
            values = ", ".join(f"{value:g} ({n})" for value, n in counts.items())
            parts.append(f"{name}: {values}")
    return "; ".join(parts)
