"""The folder of a finished run: each table is read once, and what follows from it is worked out once."""

from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

from pandas import DataFrame

from harness.errors import UserError
from harness.results import names
from harness.results.category_verdicts import with_distribution
from harness.results.ranking import rank_tests
from harness.results.selection import Selection
from harness.results.truth_scores import score_truth_rules
from harness.runtime.provenance import read_provenance
from harness.writing.prose import rate

OUTCOMES = ("category", "pair", "balance", *(f"e{number}" for number in range(1, 9)))


class Results:
    """What a run of the size/power study left."""

    def __init__(self, folder: Path, chosen: Selection | None = None) -> None:
        self.folder, self.chosen = Path(folder), chosen or Selection()

    def only(self, chosen: Selection) -> "Results":
        """Return the rows that are chosen; UserError where some were not run."""
        chosen.check(self.table)
        return Results(self.folder, chosen) if chosen else self

    def read(self, name: str, needed: Iterable[str] = (), numbers: Iterable[str] = ()) -> DataFrame:
        """Return a table of the folder, as far as it is chosen."""
        return self.chosen.keep(names.read_table(self.folder / name, needed, numbers))

    def has(self, name: str) -> bool:
        """Return whether the folder has the table `name`, such as ``nulls.csv``."""
        return (self.folder / name).is_file()

    @cached_property
    def provenance(self) -> dict[str, Any]:
        """What ``provenance.json`` holds; empty where there is none."""
        return read_provenance(self.folder) or {}

    @cached_property
    def table(self) -> DataFrame:
        """``size_power.csv``, at sizes under nulls with the columns of ``size_by_category.csv``."""
        table = names.read_table(self.folder / "size_power.csv", names.COLUMNS, names.NUMERIC)
        whole = self.chosen.keep(with_distribution(table, self.folder / "size_by_category.csv"))
        return whole.copy()  # its numbers in one block, not one a column: rows are picked hundreds of times

    @cached_property
    def rules(self) -> DataFrame:
        """The rows of :attr:`table` under rules that judge the real populations."""
        return names.without_nulls(self.table)

    @cached_property
    def outcomes(self) -> DataFrame:
        """``outcomes.csv``."""
        return names.read_table(self.folder / "outcomes.csv", OUTCOMES)

    @cached_property
    def models(self) -> DataFrame | None:
        """``models.csv``; None where the study started from stored outcomes."""
        needed = ("model", "category", "balance", "n_folds", "f1", "error")
        return names.read_table(self.folder / "models.csv", needed) if self.has("models.csv") else None

    @cached_property
    def truth(self) -> str:
        """The truth rule that the run's figures are drawn under."""
        figure = (self.provenance.get("config") or {}).get("figure") or {}
        wanted = figure.get("truth")
        return names.primary_truth(self.table, wanted if wanted in set(self.table["truth"]) else None)

    @cached_property
    def ranking(self) -> DataFrame:
        """The tests of every place in their order; empty where no exact null was run."""
        return rank_tests(self.table)

    @cached_property
    def scores(self) -> DataFrame:
        """How each truth rule fits what the paper says of its figures."""
        return score_truth_rules(self.table)


def headline(folder: Path) -> dict[str, str]:
    """Return name -> value of what a run of the size/power study found; empty where `folder` holds none.

    Where H0 was made to hold exactly, it is the largest size of a test in the median category; else the
    papers' tests at the largest N, under the run's own truth rule and at its main level; the largest of all
    pairs and balances.
    """
    results = Results(folder)
    if not results.has("size_power.csv"):
        return {}
    try:
        table = results.table
        alpha = names.primary_alpha(table)
        sizes = table[(table["kind"] == "size") & (table["alpha"] == alpha)]
        exact = sizes[sizes["truth"] == names.NULL_TRUTHS[0]]
        return _worst_median(exact, alpha) or _of_papers(sizes[sizes["truth"] == results.truth], alpha)
    except (UserError, LookupError, TypeError, ValueError):  # a damaged table; the run itself tells of it
        return {}


def _worst_median(sizes: DataFrame, alpha: float) -> dict[str, str]:
    if "median" not in sizes:
        return {}
    known = sizes[sizes["n_live"] >= names.FEW_CATEGORIES].dropna(subset="median")
    if known.empty:
        return {}
    worst = known.sort_values("median", kind="stable").iloc[-1]
    told = {"alpha": f"{alpha:g}", "worst median": rate(worst["median"]), "of": str(worst["test"])}
    return told | {"N": f"{worst['n_documents']:.0f}", "balance": worst["balance"], "pair": worst["pair"]}


def _of_papers(sizes: DataFrame, alpha: float) -> dict[str, str]:
    n = sizes["n_documents"].max()
    rates = dict(sizes[sizes["n_documents"] == n].groupby("test")["rate"].max())
    ours = [next((test for test in own if test in rates), None) for own in names.LEGEND.values()]
    found = {test: rate(rates[test]) for test in ours if test is not None}
    return {"alpha": f"{alpha:g}", "N": f"{n:.0f}", **found} if found else {}
