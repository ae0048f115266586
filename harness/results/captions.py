"""The sentences under figures and in the summary: what was run, on what, and how to read it."""

from collections.abc import Mapping
from typing import Any

from pandas import DataFrame

from harness.results.names import NULL_TRUTHS, nulls_alone
from harness.results.truth_scores import truth_name
from harness.writing.prose import paragraph, paragraphs

ROOM = "results"
SIGN = "All differences are A minus B, A the first model of the pair's name."


def corpus_sentences(provenance: Mapping[str, Any]) -> list[str]:
    """Return which corpus was used, how it was split, and what a reader must know of it."""
    known = {name: provenance.get(name) or {} for name in ("corpus", "split")}
    return paragraphs(ROOM, "corpus", **known)


def sets_sentence(provenance: Mapping[str, Any], table: DataFrame) -> str:
    """Return seed, sets, replicates and categories."""
    n_sets = provenance.get("n_sets") or int(table["n_sets"].max())
    nulls = nulls_alone(table)
    under_nulls = nulls.loc[nulls["kind"] == "size", "n_sets"]
    ends = () if under_nulls.isin([n_sets]).all() else (under_nulls.min(), under_nulls.max())
    return paragraph(
        ROOM, "sets", seed=provenance.get("seed"), n_sets=n_sets, under_nulls=sorted(set(map(int, ends))),
        n_replicates=provenance.get("n_replicates", "not recorded"),
        categories=provenance.get("n_categories") or {},
    )  # fmt: skip


def truth_sentences(truth: str, kind: str = "size") -> list[str]:
    """Return how a truth rule is to be read, with its artefacts under R3; power has no null."""
    if kind == "power" and truth in NULL_TRUTHS:
        return paragraphs(ROOM, "real_pairs")
    return paragraphs(ROOM, "truth", truth=truth, label=truth_name(truth))


def reading_sentences(truth: str) -> list[str]:
    """Return how to read the numbers of a run whose figures are drawn under `truth`."""
    parts = ("overlap", "inferred") if truth == "sampling_interval" else ("artefacts", "overlap", "inferred")
    return [line for part in parts for line in paragraphs(ROOM, part)]


def setting_sentences(provenance: Mapping[str, Any], table: DataFrame) -> list[str]:
    """Return what every caption ends with: seed and numbers, corpus and its biases, what is inferred."""
    last = [SIGN, paragraph(ROOM, "inferred")]
    return [sets_sentence(provenance, table), *corpus_sentences(provenance), *last]
