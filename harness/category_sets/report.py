"""Tables, figures and summary of a finished run of category sets, from its tables and from nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.category_sets.figure1 import histogram_figure
from harness.category_sets.figure_bias import bias_figure
from harness.category_sets.findings import (
    overall_verdict,
    random_sentences,
    table_sentences,
    verdict_sentences,
)
from harness.category_sets.variants import METHODS, quantity_words, records
from harness.drawing.style import check_options, figure_style, save_figure
from harness.results.captions import SIGN, corpus_notes, corpus_sentence
from harness.results.names import read_table
from harness.runtime.provenance import read_provenance
from harness.writing.captions import write_captions
from harness.writing.prose import number, sentence
from harness.writing.report import Report, Section, bullets, text, warnings_section
from harness.writing.report import table as table_block

if TYPE_CHECKING:
    from pandas import DataFrame

INFERRED = (
    "Inferred, not stated in the paper: that F1 is micro-averaged over a set (the first rows; macro and "
    "single decisions are shown beside it), that whole documents are resampled, and that ties count for "
    "neither side."
)
DCF_NOTE = (
    "The detection cost (DCF) of a set is that of its pooled cells, as micro F1; a positive difference means "
    "that A costs more. Its normal confidences are Phi(d / sd): eq. 8 takes A and B as independent, eq. 9 as "
    "paired (an upper bound of the variance), paired is the full variance; all three take the decisions of a "
    "document in the set's categories as independent."
)


def draw_figures(
    out: Path,
    *,
    dpi: float = 200,
    width: float = 7.2,
    formats: Sequence[str] = ("pdf", "png"),
    **others: Any,
) -> list[Path]:
    """Draw both figures of a finished run and write their captions."""
    check_options(formats, "log", dpi, width)
    table, histograms, calibration = _read(out)
    sentences = _setting(read_provenance(out) or {})
    drawn, captions = [], {}
    with figure_style():
        figures = {"calibration": bias_figure(calibration, sentences, width)}
        if len(histograms):
            figures = {"figure1": histogram_figure(table, histograms, sentences, width)} | figures
        for stem, (figure, caption) in figures.items():
            drawn += save_figure(figure, out / "figures", stem, formats, dpi)
            captions[stem] = caption
    write_captions(out / "figures", captions)
    return drawn


def main_findings(out: Path) -> list[str]:
    """Return the few sentences that a run ends with."""
    table, _, calibration = _read(out)
    return [overall_verdict(calibration), *random_sentences(calibration), *table_sentences(table)]


def make_report(out: Path, provenance: Mapping[str, Any]) -> Report:
    """Return the report of a finished run."""
    table, _, calibration = _read(out)
    shown, bias, explained = table3_shown(table), _bias_shown(calibration), _calibration_words(calibration)
    warnings = [sentence(one) for one in provenance.get("warnings") or ()]
    sections = [
        Section("Main findings", [bullets(main_findings(out))]),
        Section("What was run", [bullets([*_setting(provenance), *_sets(provenance)])]),
        warnings_section(warnings),
        Section("Table 3", [table_block(shown), bullets([SIGN, DCF_NOTE, INFERRED])]),
        Section("Is the confidence biased?", [text(explained)]),
        Section("Verdicts", [bullets(verdict_sentences(calibration))]),
    ]
    caption = "Table 3: confidence that A is better, on D_te, and share of subsets of D_true. " + SIGN
    tables = {"table3": [(f"{caption} {DCF_NOTE} {INFERRED}", shown)], "calibration": [(explained, bias)]}
    return Report("Two classifiers over sets of categories: summary of a run", sections, tables)


def table3_shown(table: DataFrame) -> DataFrame:
    """Return Table 3 as a reader sees it, the published rows beside it."""
    import pandas as pd

    rows = []
    for row in records(table):
        rows.append(
            {
                "set": row.set,
                "measure": quantity_words(row.measure, row.average),
                "confidence from": METHODS[row.method],
                "D_te %": f"{100 * row.confidence_te:.1f}",
                "D_true %": f"{100 * row.share_true:.1f}",
                "published D_te %": _percent(row.published_te),
                "published D_true %": _percent(row.published_true),
                "z D_te": f"{row.z_te:+.2f}",
                "z D_true": f"{row.z_true:+.2f}",
                "difference": f"{row.z_difference:+.2f}",
                "d D_te": f"{row.d_te:+.5f}",
                "d D_true": f"{row.d_true:+.5f}",
            }
        )
    return pd.DataFrame(rows)


def _bias_shown(table: DataFrame) -> DataFrame:
    import pandas as pd

    rows = [
        {
            "set": row.set,
            "measure": quantity_words(row.measure, row.average),
            "confidence from": METHODS[row.method],
            "z_true": f"{row.z_true:+.2f}",
            "mean": f"{row.mean:+.2f} [{row.mean_low:+.2f}, {row.mean_high:+.2f}]",
            "variance": f"{row.variance:.2f} [{row.variance_low:.2f}, {row.variance_high:.2f}]",
            "coverage %": f"{100 * row.coverage:.1f}",
            "verdict": row.verdict,
            "settled": "" if row.verdict == "apart" else "yes" if row.settled else "no",
        }
        for row in records(table)
    ]
    return pd.DataFrame(rows)


def _calibration_words(table: DataFrame) -> str:
    n_draws = int(table["n_draws"].max())
    return (
        f"{n_draws:,} draws of D_te with replacement from D_true, A minus B throughout: z_te = d / sd* of "
        "the draw, z_true = d_true / sd_N of D_true by document. No bias: the mean of z_te - z_true lies "
        "within .15 of 0 and its variance within .80 and 1.25; sets with |z_true| > 3 stand apart, for "
        "there the scatter of sd*, times z, tells in both. In brackets 95 % intervals over the draws; "
        "settled where they say the same. Coverage: share of draws whose 95 % interval holds the true "
        "difference."
    )


def _setting(provenance: Mapping[str, Any]) -> list[str]:
    pairs = ", ".join((provenance.get("config") or {}).get("pairs") or ())
    lines = [corpus_sentence(provenance), *corpus_notes(provenance)]
    return [*lines, f"Pair {pairs}; seed {number(provenance.get('seed'))}.", SIGN]


def _sets(provenance: Mapping[str, Any]) -> list[str]:
    sets = provenance.get("category_sets") or {}
    return [f"Set {name}, {len(members)} categories: {', '.join(members)}." for name, members in sets.items()]


def _read(out: Path) -> tuple[DataFrame, DataFrame, DataFrame]:
    key = ("set", "measure", "average", "method")
    return (
        read_table(out / "table3.csv", (*key, "confidence_te", "share_true")),
        read_table(out / "histograms.csv", (*key, "source", "low", "high", "share")),
        read_table(out / "calibration.csv", (*key, "kind", "mean", "variance", "verdict")),
    )


def _percent(share: float) -> str:
    return "" if share != share else f"{100 * share:.1f}"
