"""A finished run in two or three numbers, to stand beside the settings of a sweep."""

from pathlib import Path

from pandas import DataFrame

from harness.errors import UserError
from harness.results.folder import Results
from harness.results.names import FEW_CATEGORIES, LEGEND, NULL_TRUTHS, primary_alpha
from harness.writing.prose import rate


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
        alpha = primary_alpha(table)
        sizes = table[(table["kind"] == "size") & (table["alpha"] == alpha)]
        exact = sizes[sizes["truth"] == NULL_TRUTHS[0]]
        return _worst_median(exact, alpha) or _of_papers(sizes[sizes["truth"] == results.truth], alpha)
    except (UserError, LookupError, TypeError, ValueError):  # a damaged table; the run itself tells of it
        return {}


def _worst_median(sizes: DataFrame, alpha: float) -> dict[str, str]:
    if "median" not in sizes:
        return {}
    known = sizes[sizes["n_live"] >= FEW_CATEGORIES].dropna(subset="median")
    if known.empty:
        return {}
    worst = known.sort_values("median", kind="stable").iloc[-1]
    told = {"alpha": f"{alpha:g}", "worst median": rate(worst["median"]), "of": str(worst["test"])}
    return told | {"N": f"{worst['n_documents']:.0f}", "balance": worst["balance"], "pair": worst["pair"]}


def _of_papers(sizes: DataFrame, alpha: float) -> dict[str, str]:
    n = sizes["n_documents"].max()
    rates = dict(sizes[sizes["n_documents"] == n].groupby("test")["rate"].max())
    ours = [next((test for test in names if test in rates), None) for names in LEGEND.values()]
    found = {test: rate(rates[test]) for test in ours if test is not None}
    return {"alpha": f"{alpha:g}", "N": f"{n:.0f}", **found} if found else {}
