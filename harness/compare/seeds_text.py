"""The table of seeds in words: what belongs under it, and its text for print."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.runtime.store import write_atomically
from harness.writing.table_text import to_csv, write_tables

if TYPE_CHECKING:
    from pandas import DataFrame

FEW_SEEDS = 5
TESTS = {
    "paired_t": "paired t",
    "welch_t": "Welch's t",
    "corrected_resampled_t": "corrected resampled t",
}
CORRECTED = (
    "The corrected resampled t test allows for the samples that the seeds' splits share; the intervals of "
    "means and of Cohen's d do not."
)
INDEPENDENT = (
    "The tests take seeds for independent. Seeds that split one data set anew share its samples: the verdict "
    "is then on these samples, and the corrected resampled t test answers for new ones."
)


def seeds_notes(table: DataFrame, *, confidence: float = 0.95, alpha: float = 0.05) -> list[str]:
    """Return the sentences that belong under a table of :func:`harness.compare.seeds.seeds_table`."""
    notes = [
        f"Intervals are t intervals at {100 * confidence:g} %, that of Cohen's d inverts the noncentral t; "
        f"they are not adjusted for the number of comparisons. Verdicts: Holm-adjusted p at most {alpha:g}. "
        "Differences are algorithm minus baseline; the d of paired tests is mean over sd of the differences.",
        CORRECTED if "corrected_resampled_t" in set(table["test"]) else INDEPENDENT,
    ]
    for name, n, n_missing, missing, sd, degenerate in _columns(table):
        if n_missing:
            notes.append(
                f"{name}: {n_missing} of {n_missing + n} seeds have no score ({missing}). Its figures are "
                "over the others, and flatter it if it fails where it is bad."
            )
        if sd == 0:
            notes.append(f"{name}: every seed has the same score, so that its mean has no interval.")
        if degenerate is True or degenerate == 1:
            notes.append(f"{name}: no spread in what is tested; the test has no verdict of its own.")
    few = int(table["n_seeds"].min())
    if few < FEW_SEEDS:
        notes.append(f"{few} seeds are few: t intervals then lean on scores being normal.")
    if "best" in table:
        n = int(table["n_seeds"].max())
        notes.append(
            f"The best of several seeds is not what an algorithm reaches: of {n} normal scores the best lies "
            f"{expected_maximum(n):.2f} standard deviations above the mean on average, and it rises with "
            "the number of seeds. Compare means."
        )
    return notes


def expected_maximum(n: int) -> float:
    """Return the expected maximum of n independent standard normal values.

    Examples
    --------
    >>> [round(expected_maximum(n), 4) for n in (1, 2, 10)]
    [0.0, 0.5642, 1.5388]
    """
    from scipy.integrate import quad
    from scipy.stats import norm

    return float(quad(lambda x: x * n * norm.pdf(x) * norm.cdf(x) ** (n - 1), -10, 10, epsabs=1e-10)[0])


def display_table(table: DataFrame) -> DataFrame:
    """Return a table of :func:`harness.compare.seeds.seeds_table` for print; a column data stays first."""
    import pandas as pd

    shown: dict[str, list[str]] = {"data": list(table["data"])} if "data" in table else {}
    shown |= {
        "algorithm": [str(name) for name in table["algorithm"]],
        "seeds": [
            f"{n}" if not missing else f"{n} (+{missing} missing)"
            for n, missing in zip(table["n_seeds"], table["n_missing"], strict=True)
        ],
        "mean": _with_interval(table, "mean", 4),
        "sd": [_short(value, 4) for value in table["sd"]],
    }
    for end in ("worst", "best"):
        if end in table:
            shown[f"{end} (seed)"] = [
                f"{_short(value, 4)} ({seed})"
                for value, seed in zip(table[end], table[f"{end}_seed"], strict=True)
            ]
    shown["difference"] = _with_interval(table, "difference", 4)
    shown["test"] = [
        "" if test != test else f"{TESTS[test]}, n = {n:g}"
        for test, n in zip(table["test"], table["n_tested"], strict=True)
    ]
    shown["p"] = [_probability(value) for value in table["pvalue"]]
    shown["p (Holm)"] = [_probability(value) for value in table["pvalue_holm"]]
    shown["Cohen's d"] = _with_interval(table, "cohens_d", 2)
    shown["verdict"] = list(table["verdict"])
    return pd.DataFrame(shown)


def write_seeds_table(folder: Path, table: DataFrame, caption: str, stem: str = "seeds") -> list[Path]:
    """Write the table as CSV (all columns), Markdown and LaTeX (for print), and return the paths."""
    path = folder / f"{stem}.csv"
    write_atomically(path, to_csv(table))
    return [path, *write_tables(folder, stem, [(caption, display_table(table))])]


def _with_interval(table: DataFrame, name: str, digits: int) -> list[str]:
    columns = [name, f"{name}_low", f"{name}_high"]
    return [
        f"{_short(value, digits)} [{_short(low, digits)}, {_short(high, digits)}]"
        if math.isfinite(low)
        else _short(value, digits)
        for value, low, high in table[columns].itertuples(index=False)
    ]


def _columns(table: DataFrame) -> zip[tuple[Any, ...]]:
    names = ("algorithm", "n_seeds", "n_missing", "missing_seeds", "sd", "degenerate")
    return zip(*(table[name] for name in names), strict=True)


def _short(value: float, digits: int) -> str:
    return "" if value != value else f"{value:.{digits}f}"


def _probability(value: float) -> str:
    return "" if value != value else "< 0.0001" if value < 1e-4 else f"{value:.4f}"
