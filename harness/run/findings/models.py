"""How good the models are, and how close each pair is."""

from typing import NamedTuple

import pandas as pd
from pandas import DataFrame

from harness import measures
from harness.outcomes import error_correlation
from harness.results.names import REWEIGHTED, UNBALANCED, pair_models
from harness.writing.prose import paragraphs

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
    run = [str(name) for name in outcomes["balance"].unique() if name != REWEIGHTED]
    balance = UNBALANCED if UNBALANCED in run or not run else run[0]
    pooled = outcomes[outcomes["balance"] == balance].groupby("pair", sort=False)[list(CELLS)].sum()
    found = []
    for pair, cells in zip(pooled.index, pooled.to_numpy(), strict=True):
        e1, e2, e3, e4, e5, e6, e7, e8 = cells
        one_wrong = e2 + e3 + e6 + e7
        phi = error_correlation(e1 + e8, e3 + e6, e2 + e7, e4 + e5)
        f1_a, f1_b = (float(value) for value in measures.f1(cells))
        found.append(Closeness(str(pair), balance, float(one_wrong / cells.sum()), float(phi), f1_a, f1_b))
    return sorted(found, key=lambda item: item.disagreement)


def micro_f1(outcomes: DataFrame, models: DataFrame | None = None) -> dict[tuple[str, str], float]:
    """Return micro F1 on D_true by (model, balance): the cells pooled over all categories.

    From ``models.csv`` where it holds the cells, else from the outcomes of a pair that the model is in.
    """
    needed = ["true_positives", "false_negatives", "false_positives"]
    if models is not None and set(needed).issubset(models.columns):
        sums = models.groupby(["model", "balance"], sort=False)[needed].sum()
        hits, missed, alarms = (sums[name] for name in needed)
        scores = 2 * hits / (2 * hits + missed + alarms).clip(lower=1)
        places = [(str(model), str(balance)) for model, balance in scores.index]
        return dict(zip(places, scores.tolist(), strict=True))
    found: dict[tuple[str, str], float] = {}
    for balance in outcomes["balance"].unique():
        for item in closeness(outcomes[outcomes["balance"] == balance]) if balance != REWEIGHTED else []:
            for model, value in zip(pair_models(item.pair), (item.micro_f1_a, item.micro_f1_b), strict=True):
                found.setdefault((model, str(balance)), value)
    return found


def closeness_sentences(pairs: list[Closeness]) -> list[str]:
    """Return which pair is the close one and which the dissimilar one, or that they cannot be told apart."""
    return paragraphs("run", "closeness", pairs=pairs, clearly=CLEARLY, poorer=POORER)


def tabulate_models(models: DataFrame | None, outcomes: DataFrame) -> DataFrame:
    """Return a row per model and balance: categories, micro and macro F1, error, tuning."""
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
    told = {name: models[name].value_counts().sort_index() for name in models if name not in MEASURED}
    values = {name: [f"{value:g} ({n})" for value, n in counts.items()] for name, counts in told.items()}
    return "; ".join(f"{name}: {', '.join(texts)}" for name, texts in values.items() if texts)
