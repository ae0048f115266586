"""What the two figures of Keller, Bengio & Wong (NIPS 2005) hold: their panels, their curves, their names."""

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from pandas import DataFrame

from harness.errors import UserError
from harness.evaluation.rates import SIZE_POWER
from harness.runtime.store import read_regular
from harness.writing.table_text import from_csv

PAIRS = ("linear_svm-mlp", "linear_svm-rbf_svm")
BALANCED = ("meta", "meta_or", "stratified")
UNBALANCED = "natural"
REWEIGHTED = "reweighted"
PRIMARY_TRUTH = "sampling_interval"
PRIMARY_ALPHA = 0.05
NULL_TRUTHS = ("exact_null", "joint_null")  # populations made so that H0 holds; the others judge real ones
FEW_CATEGORIES = 5

COLUMNS = tuple(name for name in SIZE_POWER if name != "convention_share")  # what earlier versions wrote
NUMERIC = tuple(
    name for name in COLUMNS if name not in ("pair", "balance", "truth", "measure", "test", "kind")
)

KNOWN: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
LEGEND: Mapping[str, list[str]] = KNOWN["legend"]
"""The paper's, in its order: label, names of the test."""
MEASURE_WORDS: Mapping[str, str] = KNOWN["measures"]


class Panel(NamedTuple):
    """One panel: its letter in the paper ("" where it has none), its pair, its balance ("" where not run)."""

    letter: str
    pair: str
    balance: str
    kind: str

    @property
    def title(self) -> str:
        """Return the heading, such as ``(a) linear SVM vs MLP, balanced``."""
        letter = f"({self.letter}) " if self.letter else ""
        balance = KNOWN["balances"].get(self.balance, self.balance) if self.balance else self.kind
        return f"{letter}{pair_name(self.pair)}, {balance}"


class Curve(NamedTuple):
    """One curve: the test, its label, and its slot in the paper's legend (-1 where it has none)."""

    test: str
    label: str
    slot: int
    companion: bool = False


def read_table(path: Path, needed: Iterable[str] = (), numbers: Iterable[str] = ()) -> DataFrame:
    """Read a CSV that a run left, with missing values as NaN."""
    if not path.exists():
        raise UserError(f"{path}: no such table; give the folder of a finished run")
    data = read_regular(path)
    try:
        table = from_csv(data)
    except (ValueError, pd.errors.ParserError) as error:
        raise UserError(f"{path}: not a CSV table ({' '.join(str(error).split())})") from error
    if not data.endswith(b"\n"):  # pandas would fill up the last row
        raise UserError(f"{path}: its last row has no end; was the file cut short?")
    missing = [name for name in needed if name not in table.columns]
    if missing:
        raise UserError(f"{path}: column {missing[0]} is missing; the columns {', '.join(needed)} are needed")
    for name in numbers:
        bad = pd.to_numeric(table[name], errors="coerce").isna() & table[name].notna()
        if bad.any():
            row = int(bad.to_numpy().argmax())
            raise UserError(f"{path}, line {row + 2}: {name} is {table[name][row]!r}; a number is needed")
    return table


def pair_models(pair: str) -> tuple[str, str]:
    """Return the names of A and B.

    Examples
    --------
    >>> pair_models("linear_svm-mlp")
    ('linear_svm', 'mlp')
    """
    first, _, second = pair.partition("-")
    return first, second


def pair_name(pair: str) -> str:
    """Return a pair as a reader would say it.

    Examples
    --------
    >>> pair_name("linear_svm-mlp")
    'linear SVM vs MLP'
    """
    return " vs ".join(
        KNOWN["models"].get(model, model.replace("_", " ")) for model in pair_models(pair) if model
    )


def balanced_scheme(table: DataFrame) -> str:
    """Return the scheme that stands for the paper's "balanced": meta, meta_or, stratified, or none."""
    return next((name for name in BALANCED if (table["balance"] == name).any()), "")


def papers_panels(table: DataFrame) -> list[Panel]:
    """Return the paper's panels (a) to (d); where its data was not run a panel's balance is ""."""
    panels, run = [], _places_run(table)
    columns = ((balanced_scheme(table), "balanced"), (UNBALANCED, "unbalanced"))
    letters = iter("abcd")
    for pair in PAIRS:
        for balance, kind in columns:
            panels.append(Panel(next(letters), pair, balance if (pair, balance) in run else "", kind))
    return panels


def _places_run(table: DataFrame) -> list[tuple[str, str]]:
    """Return each pair and balance in the table, in the order of their first rows."""
    return [*table[["pair", "balance"]].drop_duplicates().itertuples(index=False, name=None)]


def other_panels(table: DataFrame) -> dict[str, list[Panel]]:
    """Return what was run beside the paper's panels: panels per figure, by the figure's suffix.

    A pair that the paper does not have gets a figure of its own, and so does a second balanced scheme.
    """
    papers = {(panel.pair, panel.balance) for panel in papers_panels(table) if panel.balance}
    groups: dict[str, list[Panel]] = {}
    main = (balanced_scheme(table), UNBALANCED)
    for pair, balance in sorted(_places_run(table), key=lambda row: row[1] == UNBALANCED):
        if balance == REWEIGHTED or (pair, balance) in papers:
            continue
        groups.setdefault(pair if balance in main else balance, []).append(Panel("", pair, balance, balance))
    return groups


def all_panels(table: DataFrame) -> list[Panel]:
    """Return every panel that was run, the paper's first."""
    papers = [panel for panel in papers_panels(table) if panel.balance]
    return papers + [panel for group in other_panels(table).values() for panel in group]


def papers_curves(table: DataFrame) -> list[Curve]:
    """Return those of the paper's four curves that were run; the symmetric bootstrap where present."""
    run = set(table["test"].unique())
    curves = []
    for slot, (label, names) in enumerate(LEGEND.items()):
        test = next((name for name in names if name in run), None)
        if test is not None:
            curves.append(Curve(test, label, slot))
    return curves


def companion_curves(table: DataFrame) -> list[Curve]:
    """Return the equal-tailed bootstraps that stand beside the symmetric ones."""
    run = set(table["test"].unique())
    return [
        Curve(names[-1], f"{label}, equal-tailed", slot, companion=True)
        for slot, (label, names) in enumerate(LEGEND.items())
        if len(names) > 1 and run.issuperset(names)
    ]


def other_curves(table: DataFrame) -> list[Curve]:
    """Return the curves of all tests that the paper does not have, in the order of their first rows."""
    papers = {name for names in LEGEND.values() for name in names}
    return [
        Curve(str(name), test_name(str(name)), -1) for name in table["test"].unique() if name not in papers
    ]


def test_name(test: str) -> str:
    """Return the label of a test: the paper's where it has one, else words of its name, the measure last.

    Examples
    --------
    >>> test_name("mcnemar"), test_name("mcnemar_midp"), test_name("randomization_f1_midp")
    ('McNemar test ΔCerr', 'McNemar mid-p', 'Randomization mid-p ΔF1')
    """
    for label, names in LEGEND.items():
        if test in names:
            equal_tailed = len(names) > 1 and test == names[-1]
            return f"{label}, equal-tailed" if equal_tailed else label
    words = sorted(test.split("_"), key=MEASURE_WORDS.__contains__)
    named = " ".join(MEASURE_WORDS.get(word) or KNOWN["words"].get(word, word) for word in words)
    return named[:1].upper() + named[1:].replace("- ", "-")


test_name.__test__ = False  # type: ignore[attr-defined]  # pytest would collect the name otherwise


def measure_name(measure: str) -> str:
    """Return a measure as a label has it.

    >>> measure_name("f1"), measure_name("wald_cost")
    ('ΔF1', 'wald cost')
    """
    return MEASURE_WORDS.get(measure, measure.replace("_", " "))


def primary_truth(table: DataFrame, wanted: str | None = None) -> str:
    """Return the truth rule that figures are drawn under; a null only where no rule was run."""
    run = [str(name) for name in table["truth"].unique()]
    if not run:
        raise UserError("size_power.csv: the table has no row; there is nothing to draw or to report")
    if wanted is not None and wanted not in run:
        raise UserError(f"figure.truth: {wanted} was not run; this run has {', '.join(run)}")
    rules = [name for name in run if name not in NULL_TRUTHS]
    return wanted or (PRIMARY_TRUTH if PRIMARY_TRUTH in run else (rules or run)[0])


def without_nulls(table: DataFrame) -> DataFrame:
    """Return the rows whose truth is a rule that judges the real population."""
    return table[~table["truth"].isin(NULL_TRUTHS)]


def nulls_alone(table: DataFrame) -> DataFrame:
    """Return the rows whose truth is a null: sets from populations in which H0 holds exactly."""
    return table[table["truth"].isin(NULL_TRUTHS)]


def primary_alpha(table: DataFrame) -> float:
    """Return .05 where it was run, else the first level of the table."""
    run = [float(alpha) for alpha in table["alpha"].unique()]
    return PRIMARY_ALPHA if PRIMARY_ALPHA in run else run[0]


def reference_size(table: DataFrame, wanted: int = 1000) -> int:
    """Return the N at which findings are reported: the one nearest to `wanted` on a log scale."""
    sizes = sorted((int(n) for n in table["n_documents"].unique()), reverse=True)
    return min(sizes, key=lambda n: max(n / wanted, wanted / n))


def pick(table: DataFrame, /, **equal: Any) -> DataFrame:
    """Return the rows where every named column has the given value, or is missing where that is NaN."""
    keep = table.index == table.index
    for name, value in equal.items():
        keep &= table[name].isna() if value != value else table[name] == value
    return table[keep]


def select(table: DataFrame, **equal: Any) -> DataFrame:
    """Return the rows where every named column has the given value, in order of N.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"test": ["a", "b", "a"], "n_documents": [200, 100, 100]})
    >>> select(table, test="a")["n_documents"].tolist()
    [100, 200]
    """
    return pick(table, **equal).sort_values("n_documents", kind="stable")


def by_curve(rows: DataFrame) -> dict[tuple[str, str, str], DataFrame]:
    """Return the rows of each (pair, balance, test), in their order."""
    parts = rows.groupby(["pair", "balance", "test"], sort=False)
    return {(str(pair), str(balance), str(test)): part for (pair, balance, test), part in parts}


def select_panel(table: DataFrame, panel: Panel, **equal: Any) -> DataFrame:
    """Return the rows of one panel, in order of N."""
    return select(table, pair=panel.pair, balance=panel.balance, **equal)
