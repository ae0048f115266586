"""``summary.md`` of the advice, and its findings in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import floor, log10
from pathlib import Path
from typing import Any

import pandas as pd

from harness.advise.documents.battery import DRAWING
from harness.advise.files import Said
from harness.advise.files.predictions import name_pairs
from harness.advise.points import LOSSES, MANY, MOST_SETS, Question, plan_at
from harness.advise.recommend import EQUAL_POWER, digits_for
from harness.advise.recommend import TOLERANCE as LIMIT
from harness.advise.runs import BOOTSTRAP, NAIVE
from harness.writing.prose import paragraph, paragraphs, sentence
from harness.writing.report import Report, Section, bullets, table, warnings_section

Tables = Mapping[str, pd.DataFrame]
Row = Mapping[str, Any]
Lines = Sequence[str]

# rejections of a test whose size is alpha: with fewer, above one such test in ten is ruled out
FEW_ON_SIZE, FEW_ON_RANGE = 200, 20
CLUSTERS = "clusters"
ALIKE = 0.1  # parts of a variance, known from few runs
MOST_NOTES = 5  # that are printed
MOST_VERDICTS = 200  # pairs whose verdicts stand in the summary
SHOWN_OF_WORST = (
    "pair", "n_documents", "test", "size", "mc_low", "mc_high", "verdict", "e2", "e3", "e6", "e7",
)  # fmt: skip
SHOWN_OF_MARGIN = (
    "pair", "claim", "test", "margin", "pvalue", "pvalue_holm", "recommended", "size", "low", "high",
    "verdict", "power",
)  # fmt: skip


def describe(
    question: Question, said: Said, measure: str, tests: Iterable[str], most: Mapping[str, int] = MOST_SETS
) -> list[str]:
    """Return what was run, a sentence each; `most` as :attr:`Pair.most_sets`."""
    plan, alpha = plan_at(question.plan, question.alpha), question.alpha
    few = plan.n_sets * alpha < FEW_ON_SIZE or plan.n_range_sets * alpha < FEW_ON_RANGE
    drawn = [name for name in tests if name in (*DRAWING, BOOTSTRAP)]
    fewer = plan._replace(
        n_sets=min(plan.n_sets, most["size"]),
        n_range_sets=min(plan.n_range_sets, most["range"]),
        n_power_sets=min(plan.n_power_sets, 2 * most["power"]),
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
    for name, value in wanted.items():
        frame = frame[frame[name] == value]
    return frame.to_dict("records")  # type: ignore[return-value]


ANSWERS = ("Use ", "Every test ", "No test measured here", "No test has any power")
"""What the sentences of a recommendation's reason begin with that stand among the findings."""


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
    for row in _rows(tables["recommendations"], n_documents=n_items):
        pair, place = row["pair"], {"pair": row["pair"], "n_documents": n_items}
        (own,) = _rows(tables["verdicts"], pair=pair, recommended=True)
        seen = _rows(tables["detectable"], **place, test=row["test"], power_wanted=0.8)
        lead, *more = (line for line in row["reason"].split(". ") if line.startswith(ANSWERS))
        condemned = not lead.startswith("Use ")
        verdict = _verdict(own, names[pair], measure, alpha, n_pairs, condemned)
        told = [
            *([lead, _what_helps(measure, unit), verdict] if condemned else [verdict, lead]),
            *more,
            *(
                say_worst(worst, names[pair], measure, alpha)
                for worst in _rows(tables["worst_case"], pair=pair)
            ),
            *(_naive(naive) for naive in _rows(tables["sizes"], **place) if unit == CLUSTERS),
            *_of_runs(tables, pair),
            _seen(seen, n_items, unit),
            *_needed(tables["needed"], pair, difference, unit),
            *_at_other_numbers(tables, row, alpha, unit),
        ]
        found += [f"{pair}: {line}" if n_pairs > 1 and line != verdict else line for line in told]
    return [line.rstrip(".") for line in found if line]


def _what_helps(measure: str, unit: str) -> str:
    if measure.startswith("macro "):
        return "More items of each label, fewer labels, or accuracy or micro F1 instead would help"
    return f"More {unit} would help"


def _naive(row: Row) -> str:
    """Return the size of the test that takes the items of a cluster as independent."""
    if not row["test"].endswith(("_pooled", "paired_t")):
        return ""
    size, low, high = row["size"], row["low"], row["high"]
    return f"With items taken as independent {row['test']} has a size of {size:.3f} [{low:.3f}, {high:.3f}]"


def _of_runs(tables: Tables, pair: str) -> list[str]:
    """Return how often tests reject that take the runs as fixed, what varies, and what more would buy."""
    if "components" not in tables:
        return []
    sizes = {row["test"]: row for row in _rows(tables["sizes"], pair=pair)}
    naive = ["{test} {size:.3f} [{low:.3f}, {high:.3f}]".format(**sizes[name]) for name in NAIVE]
    parts = pd.DataFrame(_rows(tables["components"], pair=pair)).set_index("source")["share"]
    of_both = parts[parts.index.str.contains(" x ")].sum()
    of_runs = parts[parts.index.str.startswith("runs")].sum()
    own, *_ = rows = _rows(tables["designs"], pair=pair, power_wanted=0.8)
    items, runs = (
        1 - (rows[place]["standard_error"] / own["standard_error"]) ** 2 if own["standard_error"] else 0.0
        for place in (1, 2)
    )
    shares = [f"{100 * part:.0f} %" for part in (of_runs, parts["items"], of_both, runs, items)]
    more = f"More {'runs' if runs > items else 'items'} buy"
    more = more if abs(runs - items) > ALIKE else "Neither clearly buys"
    return [
        f"Sizes of tests that know of no other runs: {', '.join(naive)}",
        "Of the difference's variance {} is from runs, {} from items, {} from both".format(*shares[:3])
        + f", by {own['n_runs_a']} and {own['n_runs_b']} runs",
        "{} more power: twice the runs take {} off the variance, twice the items {}".format(
            more, *shares[3:]
        ),
    ]


def _at_other_numbers(tables: Tables, own: Row, alpha: float, unit: str) -> list[str]:
    better, unsure = [], []
    for row in _rows(tables["recommendations"], pair=own["pair"]):
        if row["n_documents"] == own["n_documents"]:
            continue
        if not row["keeps_level"]:
            unsure.append(f"{row['n_documents']:,}")
        elif row["test"] != own["test"] and _clearly_better(tables, row, own["test"], alpha):
            better.append(f"{row['n_documents']:,} {unit}: {row['test']}")
    told = f"Better at other numbers of {unit}: {', '.join(better)}" if better else ""
    more = f"With {' or '.join(unsure)} {unit} even the best test may reject too often" if unsure else ""
    return [line for line in (told, more) if line]


def _clearly_better(tables: Tables, new: Row, old: str, alpha: float) -> bool:
    place = {"pair": new["pair"], "n_documents": new["n_documents"]}
    if _rows(tables["sizes"], **place, test=old)[0]["mc_low"] > LIMIT * alpha:
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


def _verdict(
    own: Row, names: tuple[str, str], measure: str, alpha: float, n_pairs: int, liberal: bool
) -> str:
    name, lower_is_better = name_measure(measure), measure.split()[-1] in LOSSES
    d, low, high, p, adjusted = (own[key] for key in ("difference", "low", "high", "pvalue", "pvalue_holm"))
    pvalues = f"p = {p:.2g}" + (f", Holm {adjusted:.2g}" if n_pairs > 1 else "")
    if p > alpha:
        told = f"No difference is shown: {name} of {names[0]} minus that of {names[1]} {d:+.3g}"
        return f"{told}, 95 % interval {low:+.2g} to {high:+.2g}, {pvalues}"
    better = int((d > 0) == lower_is_better)
    if liberal:
        answer = f"{names[better]} looks better than {names[1 - better]}, by a test that rejects too often"
    elif adjusted > alpha:
        answer = f"{names[better]} is better than {names[1 - better]} alone, not among {n_pairs} pairs"
    else:
        answer = f"{names[better]} is better than {names[1 - better]}"
    if d < 0:
        low, high = -high, -low
    direction = "lower" if lower_is_better else "higher"
    return f"{answer}: {name} {abs(d):.3g} {direction}, 95 % interval {low:.2g} to {high:.2g}, {pvalues}"


def say_worst(worst: Mapping[Any, Any], names: tuple[str, str], measure: str, alpha: float) -> str:
    """Return the worst case near the file, a row of its table, as a sentence."""
    size, low, high, judged = (worst[key] for key in ("size", "mc_low", "mc_high", "verdict"))
    if pd.isna(size):
        return "No item tells the two systems apart: no worst case was looked for"
    digits = digits_for(low, high, judged, alpha)
    told = f"Worst size near the file: {size:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}] ({judged})"
    e2, e3, e6, e7 = (worst[cell] for cell in ("e2", "e3", "e6", "e7"))
    a, b = names
    if measure == "error":
        return f"{told}, where {a} alone errs on {_expected(e2 + e7)} items and {b} on {_expected(e3 + e6)}"
    found = f"{a} alone finds {_expected(e3)} positives and raises {_expected(e7)} false alarms"
    return f"{told}, where {found}, {b} {_expected(e2)} and {_expected(e6)}"


def _expected(number: float) -> str:
    return f"{number:.1f}" if number < 9.95 else f"{number:,.0f}"


def _seen(rows: Sequence[Row], n_items: int, unit: str) -> str:
    seen = rows[0]["difference"] if rows else float("nan")
    if seen != seen:
        return f"With {n_items:,} {unit} no difference that was tried is found with a power of 80 %"
    low, high = rows[0]["low"], rows[0]["high"]
    ends = f" ({two_figures(low)} to {two_figures(high)})" if low == low else ""
    told = f"a true difference of {two_figures(seen)}{ends}"
    return f"With {n_items:,} {unit} {told} is found with a power of 80 %"


def _needed(needed: pd.DataFrame, pair: str, difference: float, unit: str) -> list[str]:
    rows = _rows(needed, pair=pair)
    if rows and all(pd.isna(row["n_items"]) and pd.isna(row["power"]) for row in rows):
        return [f"No population like this one differs by as much as {difference:g}"]
    return [
        f"To find a true difference of {difference:g} with a power of {power:.0f} % takes "
        + say_items(row, unit)
        for row, power in ((row, 100 * row["power_wanted"]) for row in rows)
    ]


def say_items(row: Mapping[Any, Any], unit: str) -> str:
    """Return the items needed, a row of their table, in words."""
    known: dict[str, Any] = {name: value for name, value in row.items() if not pd.isna(value)}
    n_items, low, high = (known.get(name) for name in ("n_items", "low", "high"))
    least = f"more than {'ten million' if low is None else two_figures(low)}"
    if n_items is None:
        return f"{least} {unit}"
    ends = least if low is None or high is None else f"{two_figures(low)} to {two_figures(high)}"
    return f"about {two_figures(n_items)} {unit} ({ends})"


def two_figures(number: float) -> str:
    """Return a number above 0 to two significant figures.

    >>> [two_figures(number) for number in (15_019, 7.0, 104, 0.01349, 0.00002, 0.996)]
    ['15,000', '7', '100', '0.013', '0.000020', '1.0']
    """
    places = 1 - floor(log10(number))
    rounded = round(number, places)
    if number >= 1 and rounded == int(rounded):
        return f"{int(rounded):,}"
    return f"{rounded:.{max(1, 1 - floor(log10(rounded)))}f}"


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
    read = paragraphs("advise", "how_to_read", by_document=by_document, unit=unit, scores=scores, runs=runs)
    if len(ranks) > 2:
        read += paragraphs("advise", "how_to_read_many", many=len(ranks) >= MANY, by_document=by_document)
    files = paragraphs("advise", "files", runs=runs)
    if "margin" in tables:
        shown["The margin"] = _with_pvalues(tables["margin"])[list(SHOWN_OF_MARGIN)]
        shown[f"{unit.capitalize()} needed for the margin"] = _rounded(tables["margin_needed"], "n_items")
        read += paragraphs("advise", "margin_read", unit=unit)
        files += paragraphs("advise", "margin_files")
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
    def show(value: Any) -> str:
        return "" if pd.isna(value) else two_figures(value)

    return table.assign(**{key: table[key].astype(object).map(show) for key in (name, "low", "high")})
