"""The sentences under figures and in the summary: what was run, on what, and how to read it."""

from collections.abc import Mapping
from typing import Any

from pandas import DataFrame

from harness.results.names import FEW_CATEGORIES, Panel, nulls_alone, select
from harness.results.truth_scores import truth_name
from harness.writing.prose import number, sentence

SIGN = "All differences are A minus B, A the first model of the pair's name."
ARTEFACTS = (
    "Under R3 (sampling interval) alpha_true is not a size: categories whose true difference is anything up "
    "to the rule's limit count as H0, so that a perfectly calibrated test looks optimistic (a z test "
    "averages .052, .060, .089, .204 at the 5 % level over categories up to .25, .5, 1, 1.96 standard "
    "errors from 0).",
    "Under R3 power has a floor near one half: a category counts as H1 only where its difference is about "
    "two standard errors or more at that N, and there even a correct test rejects on about half of the sets.",
)
INFERRED = (
    "Inferred, not stated in the paper: the truth rule (its own is in a lost appendix; each rule is a "
    "labelled reconstruction), the grid of N, the reading of the balanced setting as meta-categories with "
    "retrained models, and which bootstrap interval is meant (the symmetric one is drawn as the paper's, "
    "the equal-tailed one beside it)."
)
NULL_SENTENCES = {
    "exact_null": (
        "Sets are drawn from the population nearest to the real one (Kullback-Leibler) in which the "
        "difference of the test's own measure is exactly 0: the rate is the size and nothing else."
    ),
    "joint_null": (
        "Sets are drawn from the real population with the labels A and B swapped at random, so that the two "
        "are alike in every measure: the rate is a size, but one that flatters tests which are exact there."
    ),
}
ON_REAL_PAIRS = (
    "Sets for power are drawn from the real population of every category that has a discordant document and "
    "a difference; rejections in the right direction."
)
BAND_OVERLAP = (
    "Meta-categories are unions that share topics: they overlap, so over them the band is a lower bound of "
    "the spread."
)
BARS = (
    "Bars: Monte Carlo interval of the mean, from the evaluation sets alone. Band: bootstrap over the "
    f"categories that qualify. Under each panel, for every N: the number of categories that qualify and, in "
    f"brackets, how many of them are dead (hardly any set can be rejected). Below {FEW_CATEGORIES} "
    "qualifying categories: hollow dots with the number (ΔF1 over ΔCerr where both are few), no line and no "
    "band."
)


def corpus_notes(provenance: Mapping[str, Any]) -> list[str]:
    """Return what a reader must know of the corpus, one sentence each."""
    corpus = provenance.get("corpus") or {}
    return [sentence(note) for note in corpus.get("notes") or ()]


def corpus_sentence(provenance: Mapping[str, Any]) -> str:
    """Return which corpus was used and how it was split."""
    corpus, split = provenance.get("corpus") or {}, provenance.get("split") or {}
    if not corpus:
        return "Corpus: not recorded (the study started from stored outcomes)."
    text = f"Corpus {corpus.get('name')}"
    if corpus.get("n_documents") is not None:
        text += f": {number(corpus['n_documents'])} documents"
    if corpus.get("n_topics") is not None:
        text += f", {number(corpus['n_topics'])} topics"
    parts = [("n_train", "D_tr"), ("n_test", "D_te"), ("n_true", "D_true")]
    text += "".join(f"; {name} {number(split[key])} documents" for key, name in parts if split.get(key))
    return text + "."


def sets_sentence(provenance: Mapping[str, Any], table: DataFrame) -> str:
    """Return seed, sets, replicates and categories."""
    n_sets = provenance.get("n_sets") or int(table["n_sets"].max())
    text = f"Seed {number(provenance.get('seed'))}; {n_sets} evaluation sets per category and N"
    nulls = nulls_alone(table)
    under_nulls = nulls.loc[nulls["kind"] == "size", "n_sets"]
    if not under_nulls.isin([n_sets]).all():
        least, most = (number(int(n)) for n in (under_nulls.min(), under_nulls.max()))
        text += f" (under exact nulls {least if least == most else f'{least} to {most}, by test'})"
    text += f"; {replicates_words(provenance)}"
    counts = provenance.get("n_categories") or {}
    if counts:
        text += "; categories: " + ", ".join(f"{n} {balance}" for balance, n in counts.items())
    return text + "."


def replicates_words(provenance: Mapping[str, Any]) -> str:
    """Return how many replicates the bootstrap tests had."""
    if provenance.get("n_replicates", 0) is None:
        return "bootstrap in the limit of infinitely many replicates (5,000 for F1 where it is not known)"
    return f"{number(provenance.get('n_replicates'))} bootstrap replicates"


def truth_sentences(truth: str) -> list[str]:
    """Return how a truth rule is to be read, with the two artefacts of R3 under R3."""
    if truth == "sampling_interval":
        return [f"H0 is true by rule {truth_name(truth)}.", *ARTEFACTS]
    if truth in NULL_SENTENCES:
        return [NULL_SENTENCES[truth]]
    return [
        f"H0 is true by rule {truth_name(truth)}; categories that only nearly fulfil H0 are judged by "
        "that rule."
    ]


def null_truth_sentence(truth: str) -> str:
    """Return what the populations of a null are, in one sentence."""
    return NULL_SENTENCES.get(truth, f"Sets are drawn from populations made by {truth}.")


def null_settings(provenance: Mapping[str, Any], table: DataFrame) -> list[str]:
    """Return seed, sets, corpus and its biases, for a caption of a figure under nulls."""
    counts = sorted({int(n) for n in table["n_sets"].dropna().unique()})
    sets = number(counts[-1]) if counts else "no"
    if len(counts) > 1:
        sets = f"{number(counts[0])} (tests with replicates) to {sets}"
    text = f"Seed {number(provenance.get('seed'))}; {sets} evaluation sets per category and point"
    text += f"; {replicates_words(provenance)}."
    return [text, corpus_sentence(provenance), *corpus_notes(provenance), SIGN]


def setting_sentences(provenance: Mapping[str, Any], table: DataFrame) -> list[str]:
    """Return what every caption ends with: seed and numbers, corpus and its biases, what is inferred."""
    return [
        sets_sentence(provenance, table),
        corpus_sentence(provenance),
        *corpus_notes(provenance),
        SIGN,
        INFERRED,
    ]


def panel_caption(
    heading: str,
    table: DataFrame,
    panels: list[Panel],
    provenance: Mapping[str, Any],
    *,
    truth: str,
    kind: str,
    top: float,
    minus_one: bool = False,
) -> str:
    """Return the caption of a figure of size or power against N."""
    rows = select(table, truth=truth, kind=kind)
    parts = [heading, *truth_sentences(truth), BARS]
    if any(panel.balance in ("meta", "meta_or") for panel in panels):
        parts.append(BAND_OVERLAP)
    missing = [panel for panel in panels if not panel.balance]
    if missing:
        parts.append("Not run: " + ", ".join(f"({panel.letter})" for panel in missing) + ".")
    above = rows[rows["rate"] > top]
    if len(above):
        parts.append(f"{len(above)} points lie above the frame (up to {above['rate'].max():.2f}).")
    parts.append("Where no category qualifies " + ("-1 is drawn." if minus_one else "nothing is drawn."))
    return " ".join([*parts, *setting_sentences(provenance, table)])
