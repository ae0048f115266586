"""What is compared in which way: a measure, how it is averaged, and where its confidence comes from."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from harness.category_sets.ratios import F1_OF_CELLS, Patterns, Ratios, dcf_ratios, f1_ratios, measure
from harness.measures import Floats, Ints
from harness.significance.dcf import dcf

_AT_ONCE = 4_000_000  # numbers held at a time; the draws do not depend on it
NAMES = tomllib.loads(Path(__file__).with_name("names.toml").read_text("utf-8"))
METHODS: dict[str, str] = NAMES["methods"]
DCF_VARIANCES = {"eq8": "independent", "eq9": "eq9", "paired": "paired"}
"""The name of each variance in :func:`harness.significance.dcf.dcf`."""


class Variant(NamedTuple):
    """A row of IDIAP-RR 04-34's Table 3: "f1" or "dcf", "micro" or "macro", one of :data:`METHODS`."""

    measure: str
    average: str
    method: str

    @classmethod
    def of(cls, row: Any) -> "Variant":
        """Return the variant of a row of a table."""
        return cls(row.measure, row.average, row.method)

    @property
    def quantity(self) -> str:
        """The key of what is measured in :attr:`SetPopulation.ratios`, such as "dcf micro"."""
        return f"{self.measure} {self.average}"

    @property
    def noun(self) -> str:
        """The same for a reader, such as "DCF"."""
        return "DCF" if self.measure == "dcf" else f"{self.average} F1"

    def words(self) -> str:
        """Return the variant for a reader.

        Examples
        --------
        >>> Variant("f1", "micro", "document").words()
        'micro F1, bootstrap by document'
        """
        return f"{self.noun}, {METHODS[self.method]}"

    def rows(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return the rows of a table that are of this variant."""
        return table[(table[list(KEY)] == list(self)).all(axis=1)]


KEY = Variant._fields


def variants_of(table: pd.DataFrame) -> list[Variant]:
    """Return the variants of a table in the order of their first rows."""
    return [Variant(*key) for key in table[list(KEY)].drop_duplicates().itertuples(index=False)]


def table_variants(averages: Sequence[str], resampling: Sequence[str]) -> list[Variant]:
    """Return the rows of Table 3 for one set: F1 as asked for, and the detection cost in four ways."""
    by_document = [Variant("f1", average, "document") for average in averages if "document" in resampling]
    by_event = [Variant("f1", "micro", "event")] if "event" in resampling else []
    return [*by_document, *by_event, *(Variant("dcf", "micro", way) for way in ("document", *DCF_VARIANCES))]


def calibration_variants(averages: Sequence[str], resampling: Sequence[str]) -> list[Variant]:
    """Return what is calibrated: the rows of Table 3, and the delta method beside the bootstrap."""
    delta = [Variant("f1", average, "delta") for average in averages]
    return [*table_variants(averages, resampling), *delta, Variant("dcf", "micro", "delta")]


class SetPopulation(NamedTuple):
    """A category set's documents, with all that is measured on them.

    `cells` are the pooled cells of each pattern, (n_patterns, 8); `ratios` give A minus B by
    frequencies, under ``"f1 micro"``, ``"f1 macro"``, ``"dcf micro"``.
    """

    frequencies: Ints
    cells: Ints
    ratios: dict[str, Ratios]
    n_categories: int

    def keep(self, drawn: Ints) -> "SetPopulation":
        """Return a draw as a population; patterns that were not drawn are dropped."""
        kept = drawn > 0
        ratios = {
            name: Ratios(each.tops[kept], each.bottoms[kept], each.weights)
            for name, each in self.ratios.items()
        }
        return SetPopulation(drawn[kept], self.cells[kept], ratios, self.n_categories)


def make_population(patterns: Patterns, costs: Mapping[str, float]) -> SetPopulation:
    """Prepare the patterns of one category set; the costs are those of the detection cost."""
    ratios = {f"f1 {average}": f1_ratios(patterns.codes, average) for average in ("micro", "macro")}
    ratios["dcf micro"] = dcf_ratios(patterns.codes, costs)
    return SetPopulation(patterns.frequencies, patterns.cells(), ratios, patterns.codes.shape[1])


def dcf_statistic(test: SetPopulation, costs: Mapping[str, float], variant: Variant) -> float:
    """Return z of the pooled cells with the variance that the variant names."""
    cells, way = test.frequencies @ test.cells, DCF_VARIANCES[variant.method]
    return float(dcf(cells, costs["cost_fn"], costs["cost_fp"], costs["prior"], way).statistic)


def draw_documents(
    frequencies: Ints, n_documents: int, n_draws: int, *, rng: np.random.Generator
) -> Iterator[Ints]:
    """Yield draws of whole documents with replacement, in batches of shape (n, n_patterns)."""
    shares = frequencies / frequencies.sum()
    at_once = max(1, _AT_ONCE // len(shares))
    for start in range(0, n_draws, at_once):
        yield rng.multinomial(n_documents, shares, size=min(at_once, n_draws - start))


def draw_events(cells: Ints, n_events: int, n_draws: int, *, rng: np.random.Generator) -> Ints:
    """Return draws of single decisions (documents in categories), as if independent, in one array."""
    return rng.multinomial(n_events, cells / cells.sum(), size=n_draws)


def replicate(
    population: SetPopulation, n_documents: int, n_draws: int, *, rng: np.random.Generator
) -> dict[str, Floats]:
    """Draw `n_documents` documents `n_draws` times and measure A minus B on each draw.

    ``"f1 micro document"``, ``"f1 macro document"`` and ``"dcf micro document"`` are of the same draws of
    whole documents, ``"f1 micro event"`` of draws of single decisions.
    """
    found: dict[str, list[Floats]] = {name: [] for name in population.ratios}
    for batch in draw_documents(population.frequencies, n_documents, n_draws, rng=rng):
        for name, ratios in population.ratios.items():
            found[name].append(measure(ratios, batch))
    events = draw_events(
        population.frequencies @ population.cells, n_documents * population.n_categories, n_draws, rng=rng
    )
    return {f"{name} document": np.concatenate(parts) for name, parts in found.items()} | {
        "f1 micro event": measure(F1_OF_CELLS, events)
    }
