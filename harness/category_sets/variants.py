"""What is compared in which way: a measure, how it is averaged, and where its confidence comes from."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.category_sets.patterns import Patterns, pooled_cells
from harness.category_sets.ratios import Ratios, dcf_ratios, f1_ratios
from harness.significance.dcf import dcf

if TYPE_CHECKING:
    import pandas as pd

METHODS = {
    "document": "bootstrap by document",
    "event": "bootstrap by event",
    "eq8": "normal, eq. 8",
    "eq9": "normal, eq. 9",
    "paired": "normal, paired",
    "delta": "delta method by document",
}
DCF_VARIANCES = {"eq8": "independent", "eq9": "eq9", "paired": "paired"}
"""The name of each variance in :func:`harness.significance.dcf.dcf`."""


class Variant(NamedTuple):
    """One row of Table 3 for every set.

    Attributes
    ----------
    method : str
        One of :data:`METHODS`.
    """

    measure: str
    average: str
    method: str

    @property
    def quantity(self) -> str:
        """What is measured, without how its spread is found."""
        return f"{self.measure} {self.average}"

    def words(self) -> str:
        """Return the variant for a reader.

        Examples
        --------
        >>> Variant("f1", "micro", "document").words()
        'micro F1, bootstrap by document'
        """
        return f"{quantity_words(self.measure, self.average)}, {METHODS[self.method]}"


def quantity_words(measure: str, average: str) -> str:
    """Return the name of what is measured.

    Examples
    --------
    >>> quantity_words("f1", "macro"), quantity_words("dcf", "micro")
    ('macro F1', 'DCF')
    """
    return "DCF" if measure == "dcf" else f"{average} F1"


def table_variants(averages: Sequence[str], resampling: Sequence[str]) -> list[Variant]:
    """Return the rows of Table 3 for one set: F1 as asked for, and the detection cost in four ways."""
    by_document = [Variant("f1", average, "document") for average in averages if "document" in resampling]
    by_event = [Variant("f1", "micro", "event")] if "event" in resampling else []
    return [*by_document, *by_event, *(Variant("dcf", "micro", way) for way in ("document", *DCF_VARIANCES))]


def calibration_variants(averages: Sequence[str], resampling: Sequence[str]) -> list[Variant]:
    """Return what is calibrated: the rows of Table 3, and the delta method beside the bootstrap."""
    delta = [Variant("f1", average, "delta") for average in averages]
    return [*table_variants(averages, resampling), *delta, Variant("dcf", "micro", "delta")]


def records(table: "pd.DataFrame") -> list[Any]:
    """Return a table's rows, to be read by the names of their columns."""
    return list(table.itertuples())


class Population(NamedTuple):
    """A category set's documents, with all that is measured on them.

    Attributes
    ----------
    frequencies : int64 array, shape (n_patterns,)
    cells : int64 array, shape (n_patterns, 8)
        Pooled cells of each pattern.
    ratios : dict of str to Ratios
        ``"f1 micro"``, ``"f1 macro"``, ``"dcf micro"``: A minus B by document.
    """

    frequencies: NDArray[np.int64]
    cells: NDArray[np.int64]
    ratios: dict[str, Ratios]
    n_categories: int

    def keep(self, drawn: NDArray[np.int64]) -> "Population":
        """Return the documents of a draw, without the patterns that it lacks."""
        kept = drawn > 0
        ratios = {
            name: Ratios(each.tops[kept], each.bottoms[kept], each.weights)
            for name, each in self.ratios.items()
        }
        return Population(drawn[kept], self.cells[kept], ratios, self.n_categories)


def make_population(patterns: Patterns, costs: Mapping[str, float]) -> Population:
    """Prepare the patterns of one category set."""
    ratios = {f"f1 {average}": f1_ratios(patterns.codes, average) for average in ("micro", "macro")}
    ratios["dcf micro"] = dcf_ratios(patterns.codes, costs)
    return Population(patterns.frequencies, pooled_cells(patterns.codes), ratios, patterns.codes.shape[1])


def dcf_statistic(test: Population, costs: Mapping[str, float], variant: Variant) -> float:
    """Return z of the pooled cells with the variance that the variant names."""
    cells, way = test.frequencies @ test.cells, DCF_VARIANCES[variant.method]
    return float(dcf(cells, costs["cost_fn"], costs["cost_fp"], costs["prior"], way).statistic)
