"""Findings, figures and summary of a finished run of category sets, from its tables and from nothing else."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from pandas import DataFrame

from harness.category_sets import expected
from harness.category_sets.figures import bias_figure, histogram_figure
from harness.category_sets.table3 import PUBLISHED
from harness.category_sets.variants import KEY, METHODS, NAMES, Variant, variants_of
from harness.drawing.save import Build, draw
from harness.drawing.style import Look
from harness.results.captions import SIGN, corpus_sentences
from harness.results.names import read_table
from harness.writing import report
from harness.writing.prose import paragraph, paragraphs, sentence
from harness.writing.report import Report, Section, bullets

ROOM = "category_sets"
PRINTED_REPLICATES, PRINTED_SUBSETS = 10_000, 1000


class Tables(NamedTuple):
    """What a run left."""

    table3: DataFrame
    histograms: DataFrame
    calibration: DataFrame


def read_tables(out: Path) -> Tables:
    """Read the tables of a finished run."""
    columns = {
        "table3": ("confidence_te", "share_true"),
        "histograms": ("source", "low", "high", "share"),
        "calibration": ("kind", "mean", "variance", "verdict"),
    }
    read = (read_table(out / f"{stem}.csv", ("set", *KEY, *needed)) for stem, needed in columns.items())
    return Tables(*read)


def draw_figures(folder: Path, facts: Mapping[str, Any], figure: Mapping[str, Any], out: Path) -> list[Path]:
    """Draw both figures of a finished run to `out` and write their captions."""
    tables, setting = read_tables(folder), _setting(facts)
    builds: dict[str, Build] = {}
    if len(tables.histograms):
        builds["figure1"] = partial(histogram_figure, tables.table3, tables.histograms, setting)
    builds["calibration"] = partial(bias_figure, tables.calibration, setting)
    return draw(out, builds, Look.of(figure))


def write_summary(out: Path, facts: Mapping[str, Any]) -> list[str]:
    """Write summary, tables and page of a run whose figures are drawn; return its findings."""
    tables = read_tables(out)
    found = main_findings(tables)
    report.write_report(out, make_report(tables, found, facts), facts)
    return found


def main_findings(tables: Tables) -> list[str]:
    """Return the few sentences that a run ends with."""
    named = tables.calibration[tables.calibration["kind"] == "disjoint"]
    groups = [(variant.noun, n, near) for variant, n, near in _groups(named) if variant.method == "document"]
    overall = paragraphs(ROOM, "overall", groups=groups)
    return [*overall, *_random(tables.calibration), *table_findings(tables.table3)]


def _groups(table: DataFrame) -> Iterator[tuple[Variant, int, DataFrame]]:
    """Yield each variant, how many sets it has, and its rows that do not stand apart."""
    for variant in variants_of(table):
        rows = variant.rows(table)
        yield variant, len(rows), rows[rows["verdict"] != "apart"]


def _random(table: DataFrame) -> list[str]:
    """Return how many random sets show a bias, and the mean over those with |z_true| <= 3."""
    groups = _groups(table[table["kind"] == "random"])
    return paragraphs(ROOM, "random_sets", groups=[(one.words(), n, near) for one, n, near in groups])


def table_findings(table: DataFrame) -> list[str]:
    """Return what Table 3 says, what it cannot say, and how its resamples overlap."""
    rows = Variant.of(table.iloc[0]).rows(table)  # those that stand beside the published ones
    first = rows.iloc[0]
    spread = expected.disjoint_variance(int(first["n_te"]), int(first["n_true"]))
    as_z, differences = expected.as_z, rows["z_difference"]
    old = [as_z(te, PRINTED_REPLICATES) - as_z(true, PRINTED_SUBSETS) for te, true in PUBLISHED.values()]
    return paragraphs(
        ROOM, "table_findings", words=Variant.of(first).words(), rows=list(rows.itertuples()),
        published=PUBLISHED, spread=spread, chi2=expected.chi_squared(differences.tolist(), spread),
        old_chi2=expected.chi_squared(old), selection=expected.selection_effect(),
        signed=(np.where(rows["z_te"] < 0, -1, 1) * differences).mean(), unsigned=differences.mean(),
    )  # fmt: skip


def verdict_sentences(table: DataFrame) -> list[str]:
    """Return one sentence for each set and variant of the calibration, and one for the random sets."""
    rows = [(row, Variant.of(row).words()) for row in table[table["kind"] == "disjoint"].itertuples()]
    return paragraphs(ROOM, "verdicts", rows=rows) + _random(table)


def make_report(tables: Tables, findings: Sequence[str], facts: Mapping[str, Any]) -> Report:
    """Return the report of a finished run, whose figures are drawn."""
    shown, bias = _table3_shown(tables.table3), _bias_shown(tables.calibration)
    explained = paragraph(ROOM, "calibration", n_draws=int(tables.calibration["n_draws"].max()))
    sets = (facts.get("category_sets") or {}).items()
    members = [f"Set {name}, {len(names)} categories: {', '.join(names)}." for name, names in sets]
    notes = [SIGN, paragraph(ROOM, "dcf_note"), paragraph(ROOM, "inferred")]
    sections = [
        Section("Main findings", [bullets(findings)]),
        Section("What was run", [bullets([*_setting(facts), *members])]),
        report.warnings_section([sentence(one) for one in facts.get("warnings") or ()]),
        Section("Table 3", [report.table(shown), bullets(notes)]),
        Section("Is the confidence biased?", [report.text(explained)]),
        Section("Verdicts", [bullets(verdict_sentences(tables.calibration))]),
    ]
    caption = paragraph(ROOM, "table_caption", sign=SIGN)
    captioned = {"table3": [(caption, shown)], "calibration": [(explained, bias)]}
    return Report("Two classifiers over sets of categories: summary of a run", sections, captioned)


def _table3_shown(table: DataFrame) -> DataFrame:
    """Return Table 3 as a reader sees it, the published rows beside it."""
    shown: dict[str, tuple[str, str]] = NAMES["table3"]
    percents = {name: 100 * table[name] for name in shown if shown[name][0].endswith("%")}
    told = table.assign(**percents)
    columns = {
        heading: ["" if value != value else form.format(value) for value in told[name]]
        for name, (heading, form) in shown.items()
    }
    return DataFrame({**_first_columns(table), **columns})


def _first_columns(table: DataFrame) -> dict[str, list[str]]:
    variants = [Variant.of(row) for row in table.itertuples()]
    return {
        "set": list(table["set"]),
        "measure": [variant.noun for variant in variants],
        "confidence from": [METHODS[variant.method] for variant in variants],
    }


def _bias_shown(table: DataFrame) -> DataFrame:
    settled = table["settled"].map({True: "yes", False: "no"}).where(table["verdict"] != "apart", "")
    told = table.assign(percent=100 * table["coverage"], settled=settled)
    rows: list[Any] = told.to_dict("records")
    columns = {heading: [form.format(**row) for row in rows] for heading, form in NAMES["bias"].items()}
    return DataFrame({**_first_columns(table), **columns})


def _setting(facts: Mapping[str, Any]) -> list[str]:
    pairs, seed = (facts.get("config") or {}).get("pairs") or (), facts.get("seed")
    return [*corpus_sentences(facts), *paragraphs(ROOM, "setting", pairs=pairs, seed=seed, sign=SIGN)]
