"""The main findings of a run in words, computed from its tables."""

from typing import Any, NamedTuple

import numpy as np
from pandas import DataFrame

from harness import measures
from harness.outcomes import error_correlation
from harness.results import names
from harness.results.category_verdicts import FALSE_LIBERAL, why_unknown
from harness.results.folder import Results
from harness.results.names import KNOWN, REWEIGHTED, UNBALANCED, pair_models, test_name
from harness.results.ranking import recommend
from harness.results.truth_scores import CANNOT_TELL, truth_name
from harness.results.verdicts import Judged, judge, size_truth
from harness.run.figures.degenerate import figure_1d
from harness.writing.prose import paragraphs

MEASURES = {"f1": "ΔF1", "error": "ΔCerr"}
LETTERS = {"holds": "H", "conservative": "C", "undecided": "?", CANNOT_TELL: "."}
NULL_NAMES = {"exact_null": "exact null", "joint_null": "joint null"}
CELLS = tuple(f"e{number}" for number in range(1, 9))
CLEARLY = 1.25  # of disagreement: below this ratio two pairs are not told apart (inferred)
POORER = 0.02  # of micro F1: below this gap a model is not clearly poorer (inferred)
MEASURED: list[str] = KNOWN["columns"]["models"]


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


def _named(name: Any, words: dict[str, str] = MEASURES) -> str:
    return words.get(str(name), str(name))


def null_findings(results: Results) -> list[str]:
    """Return the findings under ``exact_null``, the first ones on which tests hold; none without it."""
    table, ranked = results.table, results.ranking
    if ranked.empty:
        return []
    findings = []
    for measure in sorted(ranked["measure"].unique(), key=lambda name: name != "f1"):
        findings += holding(ranked[ranked["measure"] == measure], _named(measure))
    if (ranked["verdict"] != CANNOT_TELL).any():
        shared = _with_shares(ranked, results.outcomes)
        findings += recommended(shared, 300, 0.01)
        scheme = names.balanced_scheme(table)
        balanced = shared[shared["balance"] == scheme] if scheme else shared[shared["prevalence"] > 0.3]
        findings += recommended(balanced, 3000, 0.5)
    return [*dict.fromkeys(findings), *dead_findings(ranked), *figure_1d(table, results.provenance)[:1]]


def holding(ranked: DataFrame, measure: str) -> list[str]:
    """Return which test of a measure holds by category at most places, and the largest size of a category."""
    told = ranked[ranked["verdict"] != CANNOT_TELL]
    if told.empty:
        fullest = ranked.sort_values("n_live", kind="stable", na_position="first").iloc[-1]
        return [f"{measure}: cannot tell by category ({why_unknown(fullest)})."]
    counts = {str(test): list(part["verdict"]) for test, part in told.groupby("test", sort=False)}
    best = max(counts, key=lambda test: (counts[test].count("holds"), -counts[test].count("liberal")))
    n_told, n_places = len(counts[best]), len(told[["panel", "n_documents"]].drop_duplicates())
    first = paragraphs(
        "run", "holding", measure=measure, test=test_name(best), holds=counts[best].count("holds"),
        liberal=counts[best].count("liberal"), n_told=n_told, n_tests=len(counts), n_places=n_places,
        chance=FALSE_LIBERAL * n_told,
    )  # fmt: skip
    worst = told.sort_values("worst", kind="stable").iloc[-1]
    test = test_name(str(worst["test"]))
    return [*first, *paragraphs("run", "largest", measure=measure, point=worst, test=test)]


def _with_shares(ranked: DataFrame, outcomes: DataFrame) -> DataFrame:
    """Return the ranking with the share of positives: the rescaled one, or the median over the categories."""
    cells = outcomes[list(CELLS)].to_numpy(float)
    shares = outcomes.assign(share=cells[:, :4].sum(axis=1) / cells.sum(axis=1))
    joined = ranked.join(shares.groupby(["pair", "balance"])["share"].median(), on=["pair", "balance"])
    return joined.assign(share=joined["prevalence"].astype(float).fillna(joined["share"]))


def recommended(ranked: DataFrame, n_documents: int, share: float) -> list[str]:
    """Return which test to use near a number of documents and a share of positives, from the nearest rows.

    The nearest place has the smallest sum of the logarithms' distances; each pair and measure has its own.
    """
    found = []
    for pair, part in ranked.groupby("pair", sort=False):
        larger, rarer = part["n_documents"].astype(float) / n_documents, part["share"] / share
        far = np.abs(np.log(larger)) + np.abs(np.log(rarer.where(rarer > 0)))
        if far.isna().all():
            continue
        near = part[np.isclose(far, far.min())]
        first = near.iloc[0]
        where = (
            f"{names.pair_name(str(pair))}, {100 * first['share']:.2g} % positives, "
            f"N = {int(first['n_documents'])}"
        )
        for measure, rows in near[near["balance"] == first["balance"]].groupby("measure", sort=False):
            best = rows.iloc[0]
            found += paragraphs(
                "run", "use", measure=_named(measure), where=where, test=test_name(str(best["test"])),
                first=best, holds=recommend(rows) is not None, known=best["verdict"] != CANNOT_TELL,
            )  # fmt: skip
    return found


def dead_findings(ranked: DataFrame) -> list[str]:
    """Return how many categories are dead at the smallest and the largest N of each panel that has any."""
    ranked = ranked[ranked["n_live"].notna() & (ranked["balance"] != REWEIGHTED)]
    ranked = ranked.assign(n_dead=ranked["n_categories"] - ranked["n_live"])
    found = []
    for panel, part in ranked.groupby("panel", sort=False):
        if part["n_dead"].any():
            ends = sorted({part["n_documents"].min(), part["n_documents"].max()})
            at = [(n, part[part["n_documents"] == n]) for n in ends]
            told = [(n, _span(rows["n_dead"])) for n, rows in at]
            whole = int(part["n_categories"].max())
            found += paragraphs("run", "dead", panel=panel, all=whole, ends=told)
    return found


def _span(numbers: Any) -> str:
    low, high = int(numbers.min()), int(numbers.max())
    return str(low) if low == high else f"{low} to {high}"


def verdict_grid(ranked: DataFrame) -> DataFrame:
    """Return a row per test, a column per panel, and in each cell a letter for each N, smallest first.

    A liberal test is an L with the number of categories in which it is liberal after Holm.
    """
    rows = []
    for (measure, test), part in ranked.groupby(["measure", "test"], sort=False):
        row = {"measure": _named(measure), "test": test_name(str(test))}
        for panel in ranked["panel"].unique():
            points = part[part["panel"] == panel].sort_values("n_documents")
            both = zip(points["verdict"], points["n_liberal_holm"], strict=True)
            row[panel] = " ".join(LETTERS.get(word) or f"L{int(n)}" for word, n in both)
        rows.append(row)
    return DataFrame(rows).fillna("")


def recommendations(ranked: DataFrame) -> DataFrame:
    """Return a row per panel and N, a column per measure: the test to use."""
    rows = []
    for (panel, n_documents), part in ranked.groupby(["panel", "n_documents"], sort=False):
        row: dict[str, object] = {"panel": panel, "N": str(n_documents)}
        for measure, some in part.groupby("measure", sort=False):
            best, name = recommend(some), test_name(str(some.iloc[0]["test"]))
            if best is None:
                told = some.iloc[0]["verdict"] != CANNOT_TELL
                name = f"none; least liberal: {name}" if told else CANNOT_TELL
            row[_named(measure)] = name
        rows.append(row)
    return DataFrame(rows).fillna("")


def null_warnings(nulls: DataFrame) -> list[str]:
    """Return for each null and measure how many categories have no null population, and why."""
    warnings = []
    nulls = nulls[nulls["balance"] != REWEIGHTED]  # rescaling does not change which are lacking
    nulls = nulls.assign(costs=nulls["costs"].astype(object).fillna("") if "costs" in nulls else "")
    several = nulls.groupby("measure")["costs"].nunique() > 1
    for key, every in nulls.groupby(["pair", "balance", "truth", "measure", "costs"], sort=False):
        pair, balance, truth, measure, costs = map(str, key)
        part = every[every["e1"].isna()]
        if len(part):
            reasons = part["reason"].fillna("no reason given").map(_kind)
            why = part.groupby(reasons, sort=False)["category"].nunique()
            listed = "; ".join(f"{n} because {reason}" for reason, n in why.items())
            label = _named(measure) + f" ({costs})" * bool(several[measure])
            counts = f"{part['category'].nunique()} of {every['category'].nunique()}"
            null = _named(truth, NULL_NAMES)
            warnings.append(
                f"{names.pair_name(pair)}, {balance}: {counts} categories have no {null} for {label} and are "
                f"left out of its sizes ({listed})."
            )
    return warnings


def _kind(reason: object) -> str:
    """Return a reason without what names its category, so that equal ones are counted together."""
    words = str(reason).strip().rstrip(".")
    return words.split(": ", 1)[1] if ": " in words else words


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
    return DataFrame(rows)


def fewer_folds(models: DataFrame) -> int:
    """Return how many categories were tuned with fewer folds than the rest, for lack of positives."""
    tuned = models.loc[models["n_folds"] > 0, "n_folds"]
    return int((tuned < tuned.max()).sum()) if len(tuned) else 0


def _tuned(models: DataFrame) -> str:
    told = {name: models[name].value_counts().sort_index() for name in models if name not in MEASURED}
    values = {name: [f"{value:g} ({n})" for value, n in counts.items()] for name, counts in told.items()}
    return "; ".join(f"{name}: {', '.join(texts)}" for name, texts in values.items() if texts)
