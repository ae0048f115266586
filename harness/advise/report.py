"""``summary.md`` of the advice, and its findings in words."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from harness.advise.documents.battery import DRAWING
from harness.advise.files import Said
from harness.advise.files.predictions import name_pairs
from harness.advise.many import Field
from harness.advise.points import LOSSES, MANY, MOST_SETS, Question, plan_at
from harness.advise.recommend import EQUAL_POWER, digits_for, is_surely_liberal
from harness.advise.runs import BOOTSTRAP, NAIVE
from harness.results.names import pick
from harness.writing.prose import paragraph, paragraphs, sentence, two_figures
from harness.writing.report import Report, Section, bullets, table, warnings_section

Tables = Mapping[str, pd.DataFrame]
Row = Mapping[Any, Any]
Lines = Sequence[str]

# rejections of a test whose size is alpha: with fewer, above one such test in ten is ruled out
FEW_ON_SIZE, FEW_ON_RANGE = 200, 20
CLUSTERS = "clusters"
ALIKE = 0.1  # parts of a variance, known from few runs
STANDING = ("nearest", "median", "farthest")
_HERE = ("sizes", "detectable", "recommendations")
MOST_NOTES = 5  # that are printed
MOST_VERDICTS = 200  # pairs whose verdicts stand in the summary
SHOWN_OF_WORST = (
    "pair", "n_documents", "test", "size", "mc_low", "mc_high", "verdict", "e2", "e3", "e6", "e7",
)  # fmt: skip
SHOWN_OF_MARGIN = (
    "pair", "claim", "test", "margin", "pvalue", "pvalue_holm", "recommended", "size", "low", "high",
    "verdict", "power",
)  # fmt: skip


def describe(question: Question, said: Said, measure: str, tests: Iterable[str]) -> list[str]:
    """Return what was run, a sentence each."""
    plan, alpha = plan_at(question.plan, question.alpha), question.alpha
    few = plan.n_sets * alpha < FEW_ON_SIZE or plan.n_range_sets * alpha < FEW_ON_RANGE
    drawn = [name for name in tests if name in (*DRAWING, BOOTSTRAP)]
    fewer = plan._replace(
        n_sets=min(plan.n_sets, MOST_SETS["size"]),
        n_range_sets=min(plan.n_range_sets, MOST_SETS["range"]),
        n_power_sets=min(plan.n_power_sets, 2 * MOST_SETS["power"]),
    )
    return paragraphs(
        "advise", "about", question=question, outcomes=said, measure=name_measure(measure), few=few,
        sets=paragraph("advise", "sets", plan=plan), drawn=drawn if fewer != plan else [],
        fewer=paragraph("advise", "sets", plan=fewer),
    )  # fmt: skip


def name_measure(measure: str) -> str:
    """Return a measure, which may stand behind its average, as a reader writes it."""
    *average, name = measure.split(" ")
    shown = {"f1": "F1", "dcf": "DCF", "balanced_error": "balanced error"}
    return " ".join([*average, shown.get(name, name)])


def _rows(frame: pd.DataFrame, **wanted: Any) -> list[dict[str, Any]]:
    return pick(frame, **wanted).to_dict("records")  # type: ignore[return-value]


ANSWERS = ("Use ", "Every test ", "No test measured here", "No test has any power")
"""What the sentences of a recommendation's reason begin with that stand among the findings."""
NOT_SEEN = dict.fromkeys(("difference", "low", "high"), float("nan"))
NAIVE_OF_CLUSTERS = ("_pooled", "paired_t")
"""What the names of tests end with that take the items of a cluster as independent."""


def findings(
    tables: Tables,
    systems: Iterable[str],
    difference: float,
    n_items: int,
    alpha: float,
    measure: str,
    unit: str = "items",
    baseline: str | None = None,
) -> list[str]:
    """Return what was found, a line each: per pair the verdict, the test to use, and what can be seen.

    Where there are several pairs, lines that do not name both systems begin with the pair.
    """
    found, names = [], {pair: (a, b) for a, b, pair in name_pairs(systems, baseline)}
    n_pairs = tables["verdicts"]["pair"].nunique()
    shown = {"measure": name_measure(measure), "lower": sign_of(measure) < 0, "alpha": alpha}
    for row in _rows(tables["recommendations"], n_documents=n_items):
        pair, place = row["pair"], {"pair": row["pair"], "n_documents": n_items}
        (own,) = _rows(tables["verdicts"], pair=pair, recommended=True)
        (seen,) = _rows(tables["detectable"], **place, test=row["test"], power_wanted=0.8) or [NOT_SEEN]
        needed, naive = known(pick(tables["needed"], pair=pair)), _rows(tables["sizes"], **place)
        worst = _rows(tables["worst_case"], pair=pair)
        better, unsure = _at_other_numbers(tables, row, alpha, unit)
        lead, *more = (line for line in row["reason"].split(". ") if line.startswith(ANSWERS))
        condemned = not lead.startswith("Use ")
        verdict = paragraph(
            "advise", "verdict", own=own, systems=names[pair], n_pairs=n_pairs, liberal=condemned, **shown
        )
        helps = paragraphs("advise", "what_helps", macro=measure.startswith("macro "), unit=unit)
        first = [lead, *helps, verdict] if condemned else [verdict, lead]
        told = paragraphs(
            "advise", "pair_findings", n_items=n_items, unit=unit, difference=difference, seen=seen,
            answers=[*first, *more],
            worst=[say_worst(one, names[pair], measure, alpha) for one in worst],
            naive=[one for one in naive if unit == CLUSTERS and one["test"].endswith(NAIVE_OF_CLUSTERS)],
            runs=_of_runs(tables, pair) if "components" in tables else None, needed=needed,
            out_of_reach=needed and all(one["n_items"] is one["power"] is None for one in needed),
            better=better, unsure=unsure,
        )  # fmt: skip
        found += [f"{pair}: {line}" if n_pairs > 1 and line != verdict else line for line in told]
    return [line.rstrip(".") for line in found]


def known(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a table, None for what is missing."""
    return table.astype(object).where(table.notna(), None).to_dict("records")  # type: ignore[return-value]


def _of_runs(tables: Tables, pair: str) -> dict[str, Any]:
    """Return how often tests reject that take the runs as fixed, what varies, and what more would buy."""
    sizes = {row["test"]: row for row in _rows(tables["sizes"], pair=pair)}
    parts = pick(tables["components"], pair=pair).set_index("source")["share"]
    kinds = parts.index.str.startswith("runs"), parts.index == "items", parts.index.str.contains(" x ")
    shares = tuple(100 * parts[kind].sum() for kind in kinds)
    designs = _rows(tables["designs"], pair=pair, power_wanted=0.8)
    errors = [row["standard_error"] for row in designs]
    runs, items = (1 - (errors[i] / errors[0]) ** 2 if errors[0] else 0.0 for i in (2, 1))
    told = {"clearly": abs(runs - items) > ALIKE, "runs": runs > items, "more": (100 * runs, 100 * items)}
    return {"naive": [sizes[name] for name in NAIVE], "shares": shares, "own": designs[0], **told}


def _at_other_numbers(tables: Tables, own: Row, alpha: float, unit: str) -> tuple[list[str], list[str]]:
    """Return where another test is better, and where even the best may reject too often."""
    better, unsure = [], []
    for row in _rows(tables["recommendations"], pair=own["pair"]):
        if row["n_documents"] == own["n_documents"]:
            continue
        if not row["keeps_level"]:
            unsure.append(f"{row['n_documents']:,}")
        elif row["test"] != own["test"] and _clearly_better(tables, row, own["test"], alpha):
            better.append(f"{row['n_documents']:,} {unit}: {row['test']}")
    return better, unsure


def _clearly_better(tables: Tables, new: Row, old: str, alpha: float) -> bool:
    place = {"pair": new["pair"], "n_documents": new["n_documents"]}
    if is_surely_liberal(_rows(tables["sizes"], **place, test=old)[0], alpha):
        return True
    means, variances = [], []
    for name in (old, new["test"]):
        own = pd.DataFrame(_rows(tables["power"], **place, test=name))
        if not len(own):
            return False
        p, n_sets = own["power"].to_numpy(dtype=float), own["n_sets"].to_numpy(dtype=float)
        means.append(p.mean())
        variances.append((p * (1 - p) / n_sets).sum() / len(p) ** 2)
    # both tests see the same sets, which makes the noise of their difference smaller than this
    return bool(means[1] - means[0] > EQUAL_POWER + 2 * sum(variances) ** 0.5)


def findings_of_many(
    field: Field, tables: Tables, n_items: int, measure: str, unit: str = "items", **_: float
) -> list[str]:
    """Return what was found, at most ten lines: the best, pairs told apart, ranks, and three pairs' sizes."""
    question, ranks, verdicts = field.question, tables["ranks"], tables["verdicts"]
    own = verdicts[verdicts["pvalue_holm"].notna()]
    told = own["pvalue_holm"] <= question.alpha
    here = {name: table[table["n_documents"] == n_items] for name, table in tables.items() if name in _HERE}
    seen = here["detectable"].merge(here["recommendations"][["pair", "test"]])
    chosen, sizes = here["recommendations"].set_index("pair")["test"], here["sizes"]
    standing = dict(zip((name for *_, name in field.representatives()), STANDING, strict=False))
    sizes = sizes.assign(standing=sizes["pair"].map(standing))[sizes["test"] == field.test]
    return paragraphs(
        "advise", "many_findings", best=ranks.iloc[0], first=ranks["system"][ranks["rank_low"] == 1].tolist(),
        n_systems=len(ranks), width=(ranks["rank_high"] - ranks["rank_low"]).median(), told=told,
        n_better=(told & (sign_of(measure) * own["difference"] > 0)).sum(), measure=name_measure(measure),
        test=field.test, baseline=question.baseline, alpha=question.alpha, wanted=question.difference,
        n_items=n_items, unit=unit, sizes=sizes.to_dict("records"), seen=_ends(seen, "difference"),
        others=chosen[chosen != field.test].to_dict(), needed=_ends(tables["needed"], "n_items"),
    )  # fmt: skip


def _ends(table: pd.DataFrame, column: str) -> list[str]:
    """Return the least and the largest number at a power of 80 %, nothing where one is not known."""
    values = table.loc[table["power_wanted"] == 0.8, column].astype(float)
    if values.isna().any() or not len(values):
        return []
    return list(dict.fromkeys(two_figures(end) for end in (values.min(), values.max())))


def sign_of(measure: str) -> int:
    """Return 1 for a measure of which more is better, which may stand behind its average, else -1."""
    return -1 if measure.split()[-1] in LOSSES else 1


def say_worst(worst: Row, systems: tuple[str, str], measure: str, alpha: float) -> str:
    """Return the worst case near the file, a row of its table, as a sentence."""
    low, high, judged = (worst[key] for key in ("mc_low", "mc_high", "verdict"))
    digits = digits_for(low, high, judged, alpha) if low == low else 0
    return paragraph("advise", "worst", row=worst, digits=digits, systems=systems, measure=measure)


def make_report(
    tables: Tables, found: Lines, notes: Lines, about: Lines, units: tuple[int, str], drawn: Sequence[Path]
) -> Report:
    """Return the report: findings, notes, what was run, tables, and how to read them."""
    sizes, recommended, (n_items, unit) = tables["sizes"], tables["recommendations"], units
    by_document, scores = not len(tables["worst_case"]), (sizes["test"] == "wilcoxon").any()
    seen = tables["detectable"].merge(recommended[["pair", "n_documents", "test"]]).drop(columns="h")
    verdicts, ranks = tables["verdicts"], tables["ranks"]
    same = ["measure"] if verdicts["degenerate"].any() else ["measure", "degenerate"]
    shown = {"Ranks": ranks} if len(ranks) > 2 else {}
    if verdicts["pair"].nunique() <= MOST_VERDICTS:
        shown["Verdicts on the file"] = _with_pvalues(verdicts.drop(columns=same))
    shown |= {
        f"Sizes at {n_items:,} {unit}": sizes[sizes["n_documents"] == n_items],
        f"Recommended test by number of {unit}": recommended.drop(columns="reason"),
        "Smallest difference seen": _rounded(seen, "difference"),
        f"{unit.capitalize()} needed": _rounded(tables["needed"], "n_items"),
    }
    if len(tables["worst_case"]):
        shown["Worst case near the file"] = tables["worst_case"][list(SHOWN_OF_WORST)]
    runs = "components" in tables
    if runs:
        del shown[f"{unit.capitalize()} needed"]
        shown["What varies"], shown["More items or more runs"] = tables["components"], tables["designs"]
    margin = "margin" in tables
    if margin:
        shown["The margin"] = _with_pvalues(tables["margin"])[list(SHOWN_OF_MARGIN)]
        shown[f"{unit.capitalize()} needed for the margin"] = _rounded(tables["margin_needed"], "n_items")
    read = paragraphs(
        "advise", "how_to_read", by_document=by_document, unit=unit, scores=scores, runs=runs, margin=margin,
        n_systems=len(ranks), many=len(ranks) >= MANY,
    )  # fmt: skip
    files = paragraphs("advise", "files", runs=runs, margin=margin)
    files += [f"figures/{path.name}" for path in drawn if path.suffix == ".png"]
    sections = [
        Section("Findings", [bullets(list(map(sentence, found)))]),
        warnings_section(list(map(sentence, dict.fromkeys(notes))), "Notes"),
        Section("What was run", [bullets(list(map(sentence, about)))]),
        *(
            Section(heading, [table(frame.rename(columns={"n_documents": unit, "n_items": unit}))])
            for heading, frame in shown.items()
        ),
        Section("How to read the numbers", [bullets(read)]),
        Section("Files", [bullets(list(map(sentence, files)))]),
    ]
    return Report("Which test may be trusted here", sections)


def _with_pvalues(shown: pd.DataFrame) -> pd.DataFrame:
    names = ("pvalue", "pvalue_holm")
    pvalues = {name: shown[name].map("{:.3g}".format).replace("nan", "") for name in names}
    return shown.assign(**pvalues)


def shorten(notes: Sequence[str]) -> list[str]:
    """Return the lines to print for the notes, the first few in full."""
    once = list(dict.fromkeys(notes))
    more = [f"{len(once) - MOST_NOTES} more notes are in the summary"] if len(once) > MOST_NOTES else []
    return [f"Note: {note}" for note in once[:MOST_NOTES]] + more


def _rounded(table: pd.DataFrame, name: str) -> pd.DataFrame:
    known = table[[name, "low", "high"]].astype(object)
    return table.assign(**known.map(two_figures, na_action="ignore").where(known.notna(), ""))
