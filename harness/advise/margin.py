"""Two systems against a margin: the same to within it, or one not worse than the other by more than it.

Two one-sided tests, each at level alpha (Schuirmann 1987). Sizes are measured where the difference is the
margin, on the null of the pair tilted there, power where it is 0.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from numbers import Real
from typing import Any, cast

import numpy as np
import pandas as pd

from harness.advise.cells import CellPair
from harness.advise.documents import DocumentPair
from harness.advise.documents.clusters import robust, robust_cr2
from harness.advise.documents.constrained import by_cell, by_cluster
from harness.advise.documents.tests import Kinds, by_document
from harness.advise.files import Said
from harness.advise.files.runs import Runs
from harness.advise.files.scores import Scores
from harness.advise.many import adjust
from harness.advise.needed import N_SETS, deviations, needed_between, search_items
from harness.advise.points import LOSSES, Named, Pair, Plan, Point, Question, StageRun, plan_at
from harness.advise.rates import SIZES, size_table
from harness.advise.recommend import recommend, say_use
from harness.advise.report import known
from harness.errors import require
from harness.measures import Floats, Ints, check_measure
from harness.runtime.store import Arrays
from harness.seeding import rng
from harness.significance.wald import score_margin, wald_margin
from harness.writing.prose import paragraph, paragraphs

SAME, A_NOT_WORSE, B_NOT_WORSE = CLAIMS = "same", "a_not_worse", "b_not_worse"
ESTIMATES: dict[str, Callable[..., tuple[Floats, Floats, Any]]] = {
    "wald": by_document, "wald_by_document": by_document, "wald_by_cluster": robust,
    "wald_by_cluster_cr2": robust_cr2, "paired_t": robust,
}  # fmt: skip
CONSTRAINED: dict[str, Callable[..., tuple[Floats, Floats, Any]]] = {
    "score": by_cell, "score_by_cluster": by_cluster,
}  # fmt: skip
MOST_CLUSTERS = 500
"""Different ones: with more score_by_cluster takes longer than all else, and Wald's will do."""
HINT = "What is not shown may be there: margin=NUMBER tests whether systems are the same to within it"
_KEYS = ["pair", "claim", "test"]


def check_margin(
    margin: object, measure: str, costs: Mapping[str, float], said: Said, kind: type[Exception] = ValueError
) -> None:
    """Refuse a margin that is not above 0, that no difference of the measure could reach, or beside runs."""
    no_runs = "margin: it is not had with several runs of a system; leave out one of the two"
    require(not isinstance(said, Runs), no_runs, kind)
    most, what = 1.0, f"largest difference in {measure}"
    if isinstance(said, Scores):
        most, what = float(np.ptp(list(said.scores.values()))), "range of the scores"
    elif filled := check_measure(measure, **costs):
        most = filled["cost_fn"] * filled["prior"] + filled["cost_fp"] * (1 - filled["prior"])
    good = isinstance(margin, Real) and not isinstance(margin, bool) and 0 < float(margin) < most
    allowed = f"a number above 0 and below {most:g}, the {what}, is"
    require(good, f"margin: {margin!r} is not allowed; {allowed}", kind)


def names_against(pair: Pair) -> tuple[str, ...]:
    """Return the names of the tests against a margin, plainest first."""
    if isinstance(pair, CellPair):
        return "wald", "score"
    if cast(DocumentPair, pair).clustered:
        slow = len(pair.counts) > MOST_CLUSTERS
        return "wald_by_cluster", "wald_by_cluster_cr2", *(() if slow else ("score_by_cluster",))
    return ("paired_t",) if _kinds(pair).measure == "score" else ("wald_by_document",)


def _kinds(pair: Pair) -> Kinds:
    if isinstance(pair, CellPair):  # each cell is a kind
        return Kinds(np.eye(8, dtype=np.int64)[:, None], pair.measure, tuple(pair.costs.items()))
    return cast(DocumentPair, pair).kinds


def pvalues(pair: Pair, test: str, counts: Ints, margin: float) -> Floats:
    """Return the p-value of each of :data:`CLAIMS`, (3, ...); all are 1 where there is no standard error."""
    kinds, sets = _kinds(pair), counts.reshape(-1, counts.shape[-1])
    if test == "score" and kinds.measure == "error":
        both = score_margin(sets, margin)
    else:
        at = (margin,) if test in CONSTRAINED else ()
        d, variance, freedom = (ESTIMATES | CONSTRAINED)[test](sets, kinds, *at)
        both = wald_margin(d, np.sqrt(variance), freedom, margin * sets.sum(axis=-1))
    claims = [both.max(axis=0), *(both[::-1] if kinds.measure in LOSSES else both)]
    return np.stack(claims).reshape(3, *counts.shape[:-1])


def judge_margin(pair: Pair, margin: float) -> pd.DataFrame:
    """Return what the tests say of the file, a row for each claim and test."""
    d, n_items = float(pair.difference(pair.counts)), int(pair.counts.sum())
    rows = [
        (pair.name, claim, test, margin, n_items, d, float(pvalue))
        for test in names_against(pair)
        for claim, pvalue in zip(CLAIMS, pvalues(pair, test, pair.counts, margin), strict=True)
    ]
    columns = [*_KEYS, "margin", "n_items", "difference", "pvalue"]
    return pd.DataFrame(rows, columns=columns)


def measure_margin(
    pairs: Sequence[Pair], question: Question, stage_run: StageRun, n_asked: int
) -> tuple[dict[str, pd.DataFrame], list[str]]:
    """Return the tables ``margin`` and ``margin_needed`` for the question's margin, and notes.

    Of `n_asked` pairs some may lack; in Holm's p they count with p = 1.
    """
    table, notes = tabulate_margin(pairs, question, stage_run)
    for claim in CLAIMS:
        adjust(table, table["recommended"] & (table["claim"] == claim), n_asked)
    return {"margin": table, "margin_needed": _tabulate_needs(pairs, table, question, stage_run)}, notes


def tabulate_margin(
    pairs: Sequence[Pair], question: Question, stage_run: StageRun
) -> tuple[pd.DataFrame, list[str]]:
    """Return p-values, sizes and powers of each pair, claim and test, and notes."""
    margin, alpha = cast(float, question.margin), question.alpha
    found = [_measure(pair, margin, question, stage_run) for pair in pairs]
    measured = pd.concat([part for part, _ in found], ignore_index=True)
    sizes, power = _worst_sizes(measured, alpha), measured[measured["role"] == "power"]
    power = power[_KEYS].assign(power=power["n_rejected"] / power["n_sets"])
    table = pd.concat([judge_margin(pair, margin) for pair in pairs], ignore_index=True)
    table["rejected"] = table["pvalue"] <= alpha
    chosen = {pair.name: _choose(pair, sizes, power, alpha) for pair in pairs}
    table["recommended"] = table["test"] == table["pair"].map(chosen)
    table = table.merge(sizes.drop(columns="n_documents"), "left", on=_KEYS).merge(power, "left", on=_KEYS)
    return table, [note for _, notes in found for note in notes]


def _measure(
    pair: Pair, margin: float, question: Question, stage_run: StageRun
) -> tuple[pd.DataFrame, list[str]]:
    points, notes = _place_points(pair, margin, plan_at(question.plan, question.alpha))
    run = stage_run("advice_margin", pair.describe(), margin, question.alpha, question.seed)
    found = run(
        count_claims, [(point, margin, question.alpha, question.seed) for point in points],
        [repr((pair.name, *point._replace(shares=point.shares.tolist()))) for point in points],
        shared=lambda: pair, threads=False, description=f"margin of {pair.name}",
    )  # fmt: skip
    # the sign of the difference that a claim denies
    of_null = {A_NOT_WORSE: 1 if _kinds(pair).measure in LOSSES else -1}
    of_null[B_NOT_WORSE] = -of_null[A_NOT_WORSE]
    rows = [
        (pair.name, claim, test, *point[:2], point.difference, point.n_sets, int(part["n_rejected"][i, j]),
         int(part["n_degenerate"][j]))
        for point, part in zip(points, found, strict=True)
        for i, claim in enumerate(CLAIMS)
        for j, test in enumerate(names_against(pair))
        if point.difference * of_null.get(claim, 0) >= 0
    ]  # fmt: skip
    columns = ["role", "n_documents", "difference", "n_sets", "n_rejected", "n_degenerate"]
    return pd.DataFrame(rows, columns=[*_KEYS, *columns]), notes


def _place_points(pair: Pair, margin: float, plan: Plan) -> tuple[list[Point], list[str]]:
    """Return the null, for power, and it and those drawn around it tilted to the margin on either side."""
    own = Point("size", int(pair.counts.sum()), 0.0, 0.0, pair.null, plan.n_sets)
    around = own._replace(role="range", n_sets=plan.n_range_sets)
    nulls = [own, *(around._replace(value=float(i), shares=null) for i, null in enumerate(pair.drawn))]
    points = [own._replace(role="power")]
    for signed in (margin, -margin):
        for null in nulls:
            with suppress(ValueError):
                shares = pair.tilt(null.shares, signed)
                points.append(null._replace(difference=signed, shares=shares))
    n_lost, n_all = 2 * len(nulls) + 1 - len(points), 2 * len(nulls)
    lost = f"{pair.name}: {n_lost} of {n_all} populations cannot differ by the margin and are left out"
    return points, [lost] if n_lost else []


def count_claims(
    pair: Pair, point: Point, margin: float, alpha: float, seed: int, tests: Sequence[str] = ()
) -> Arrays:
    """Return on how many of a point's sets each test rejects, (3, n_tests), and is degenerate."""
    own = tests or names_against(pair)
    draws = rng(seed, "advice", pair.name, "margin", *point[:4])
    rejected, degenerate = np.zeros((3, len(own)), dtype=np.int64), np.zeros(len(own), dtype=np.int64)
    for start in range(0, point.n_sets, pair.at_once):
        n_sets = min(pair.at_once, point.n_sets - start)
        sets = draws.multinomial(point.n_documents, point.shares, size=n_sets)
        for j, test in enumerate(own):
            found = pvalues(pair, test, sets, margin)
            rejected[:, j] += (found <= alpha).sum(axis=1)
            # two tests that face each other cannot both have 1
            degenerate[j] += (found == 1).all(axis=0).sum()
    return {"n_rejected": rejected, "n_degenerate": degenerate}


def _worst_sizes(measured: pd.DataFrame, alpha: float) -> pd.DataFrame:
    """Return sizes as :func:`size_table` has them, each at that margin where it may be larger."""
    nulls = measured[measured["role"] != "power"]
    parts = [
        size_table(part, alpha).assign(claim=str(claim))
        for (claim, _), part in nulls.groupby(["claim", "difference"])
    ]
    table = pd.concat(parts) if parts else pd.DataFrame(columns=["claim", *SIZES])
    return table.sort_values("high", kind="stable").drop_duplicates(_KEYS, keep="last")


def _choose(pair: Pair, sizes: pd.DataFrame, power: pd.DataFrame, alpha: float) -> str:
    """Return the test to use for all three claims: that of the one-sided ones, which make up the other."""
    own, powers = (part[(part["pair"] == pair.name) & (part["claim"] != SAME)] for part in (sizes, power))
    if not len(own):
        return names_against(pair)[-1]
    worst = own.sort_values("high", kind="stable").drop_duplicates("test", keep="last")
    return recommend(worst, powers, names_against(pair), alpha).test


def _tabulate_needs(
    pairs: Sequence[Pair], table: pd.DataFrame, question: Question, stage_run: StageRun
) -> pd.DataFrame:
    margin, alpha = cast(float, question.margin), question.alpha
    chosen = table[table["recommended"]].groupby("pair")["test"].first()
    units = [
        (pair, chosen[pair.name], claim, power, margin, alpha, question.seed)
        for pair in pairs
        for claim in CLAIMS
        for power in (0.8, 0.95)
    ]
    names = [repr((pair.name, pair.describe(), pair.null.tolist(), *more)) for pair, *more in units]
    run = stage_run("advice_margin_needed")
    found = run(_needed_items, units, names, threads=False, description="items needed for the margin")
    around, rows = {pair.name: deviations(pair, 0.0) for pair in pairs}, []
    for (pair, test, claim, power, *_), part in zip(units, found, strict=True):
        n_items = int(part["n_items"])
        # of two one-sided tests each has to miss half as often
        single = (1 + power) / 2 if claim == SAME else power
        ends = needed_between(n_items, around[pair.name], margin, single, 2 * alpha, N_SETS)
        low, high = (int(end) if np.isfinite(end) else None for end in ends)
        reached = float(part["power"]) if n_items else np.nan
        rows.append((pair.name, claim, test, margin, power, n_items or None, reached, low, high))
    columns = [*_KEYS, "margin", "power_wanted", "n_items", "power", "low", "high"]
    return pd.DataFrame(rows, columns=columns).astype(dict.fromkeys(("n_items", "low", "high"), "Int64"))


def _needed_items(
    pair: Pair, test: str, claim: str, power: float, margin: float, alpha: float, seed: int
) -> Arrays:
    def reached(n_items: int, attempt: int) -> float:
        point = Point("needed", n_items, float(attempt), power, pair.null, N_SETS)
        found = count_claims(pair, point, margin, alpha, seed, (test,))["n_rejected"]
        return int(found[CLAIMS.index(claim), 0]) / N_SETS

    return search_items(reached, pair.deviation(pair.null), margin, power, 2 * alpha, N_SETS)


def say_margin(
    table: pd.DataFrame, needed: pd.DataFrame, pairs: Iterable[Named], alpha: float, unit: str
) -> list[str]:
    """Return the answers of each pair's recommended test, its size, its power and the items needed.

    `pairs` are the names of A, of B and of the pair.
    """
    told, several = [], table["pair"].nunique() > 1
    for a, b, pair in pairs:
        own = table[(table["pair"] == pair) & table["recommended"]].set_index("claim")
        if not len(own):
            continue
        rows = own.to_dict("index")
        same, worse = rows[SAME], rows[own["high"].drop(SAME).fillna(0.0).idxmax()]
        need = known(needed[(needed["pair"] == pair) & (needed["claim"] == SAME)])[0]
        use = say_use(same["test"], worse, alpha, " for the margin") if worse["size"] == worse["size"] else ""
        lines = paragraphs("advise", "margin_findings", same=same, use=use, need=need, unit=unit)
        claims = CLAIMS[:1] if same["pvalue_holm"] <= alpha else CLAIMS  # the first says more than the others
        shown = {"systems": (a, b), "alpha": alpha, "several": several}
        told += [paragraph("advise", "margin_claim", row=rows[one], claim=one, **shown) for one in claims]
        told += [f"{pair}: {line}" if several else line for line in lines]
    return told


def say_pvalues(judged: pd.DataFrame, a: str, b: str) -> list[str]:
    """Return the p-values of each claim, of every test."""
    claims = [(claim, own.to_dict("records")) for claim, own in judged.groupby("claim", sort=False)]
    return paragraphs("advise", "margin_pvalues", claims=claims, systems=(a, b))
