"""Recompute every number of results/README.md and of the PAGES of docs/ from the tables of results/.

    python scripts/claims.py            # each label, what is printed, what the tables give; 1 if any differ
    python scripts/claims.py --write    # writes what the tables give into the pages

``results/claims.yaml`` says for each table of a page which file it reads, which rows (``where``), and what
stands in a cell: text with columns in braces, ``{rate}`` for the one row that is left, ``{max rate}``, ``{sum
n_rejected}``, ``{count n_liberal>0}``, ``{verdict CONDITION}`` over all that are left; a column's ``folder``
goes before the file. The table ``paper`` judges sentences: each is read as a condition, one of the functions
below. ``statements`` are sentences of the page (or of another `page`): each stands there word for word,
numbers in braces filled in, and its rows show what it needs.
"""

import argparse
import json
import re
import sys
from collections.abc import Callable, Mapping
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import yaml
from pandas.api.types import is_numeric_dtype

RESULTS = Path(__file__).resolve().parents[1] / "results"
DOCS = ("advice.md", "audit.md", "level.md")
PAGES = (RESULTS / "README.md", *(RESULTS.parent / "docs" / name for name in DOCS))
BLOCK = re.compile(r"(<!-- claims: ([\w-]+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
CONDITION = re.compile(r"(\w+)(<=|>=|<|>|=)([-\w. ]+)")
HOLDS, FEW_CATEGORIES = (0.8, 1.2), 5
SHORT = {
    "linear_svm-mlp": "dissimilar", "linear_svm-rbf_svm": "close", "meta": "balanced", "natural": "natural",
    "f1": "F1", "error": "error", "size": "size", "power": "power",
}  # fmt: skip
TO_COME = "not yet in the committed tables"


class NoTableError(Exception):
    """A table that a block reads is not there."""


# --- rows ------------------------------------------------------------------------------------------


@cache
def read(path: Path) -> pd.DataFrame:
    """Return a CSV with the columns derived from it, or a JSON record as a table of one row."""
    if not path.is_file():
        raise NoTableError(str(path))
    if path.suffix == ".json":
        return pd.json_normalize(json.loads(path.read_text(encoding="utf-8")))
    table = pd.read_csv(path)
    for name, (needed, derive) in DERIVED.items():
        if needed <= set(table.columns):
            table[name] = derive(table)
    return table


def if_degenerate_rejected(rows: pd.DataFrame) -> pd.Series:
    """Return the rate that the other convention gives: sets that cannot decide count as rejections."""
    return rows["rate"] + rows["convention_share"]


def sd_beyond_sets(rows: pd.DataFrame) -> pd.Series:
    """Return the standard deviation over categories without the part that the evaluation sets make."""
    variance = rows["category_sd"] ** 2 - rows["rate"] * (1 - rows["rate"]) / rows["n_sets"]
    return np.sqrt(variance.clip(lower=0))


def n_discordant(rows: pd.DataFrame) -> pd.Series:
    """Return the samples that exactly one of a pair gets right."""
    return rows["only_a_wrong"] + rows["only_b_wrong"]


def n_not_dead(rows: pd.DataFrame) -> pd.Series:
    """Return the categories that are not dead."""
    return rows["n_categories"] - rows["n_dead"]


DERIVED: dict[str, tuple[set[str], Callable[[pd.DataFrame], pd.Series]]] = {
    "if_degenerate_rejected": ({"rate", "convention_share"}, if_degenerate_rejected),
    "sd_beyond_sets": ({"category_sd", "rate", "n_sets"}, sd_beyond_sets),
    "n_discordant": ({"only_a_wrong", "only_b_wrong"}, n_discordant),
    "n_not_dead": ({"n_categories", "n_dead"}, n_not_dead),
}


@cache
def _mask(path: Path, column: str, values: tuple[Any, ...]) -> np.ndarray:
    return read(path)[column].isin(values).to_numpy()


def select(path: Path, where: Mapping[str, Any]) -> pd.DataFrame:
    """Return the rows of a table that have these values; a value that no row is left with is an error."""
    table = read(path)
    kept = np.ones(len(table), dtype=bool)
    for column, wanted in where.items():
        values = tuple(wanted) if isinstance(wanted, list) else (wanted,)
        kept = kept & _mask(path, column, values)
        for value in values:
            if not (kept & _mask(path, column, (value,))).any():
                raise ValueError(f"no row has {column} = {value!r}")
    return table[kept]


# --- cells -----------------------------------------------------------------------------------------


def only(rows: pd.DataFrame, column: str) -> Any:
    """Return the value of the one row that is left."""
    if len(rows) != 1:
        raise ValueError(f"{len(rows)} rows for one value of {column}")
    return rows[column].iloc[0]


def count(rows: pd.DataFrame, condition: str) -> int:
    """Return how many rows meet ``column<number`` and the like; all of them where there is no condition."""
    if not condition:
        return len(rows)
    found = CONDITION.fullmatch(condition)
    if found is None:
        raise ValueError(f"{condition!r} is no condition such as rate>0.06")
    column, sign, wanted = found.groups()
    number = is_numeric_dtype(rows[column])
    return int(COMPARISONS[sign](rows[column], float(wanted) if number else wanted).sum())


def micro_f1(rows: pd.DataFrame, column: str) -> float:
    """Return F1 of the cells pooled over categories."""
    true, missed, false = (
        int(rows[name].sum()) for name in ("true_positives", "false_negatives", "false_positives")
    )
    return 2 * true / (2 * true + missed + false)


COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "=": lambda a, b: a == b,
}
OPERATIONS: dict[str, Callable[[pd.DataFrame, str], Any]] = {
    "min": lambda rows, column: rows[column].min(),
    "max": lambda rows, column: rows[column].max(),
    "median": lambda rows, column: rows[column].median(),
    "mean": lambda rows, column: rows[column].mean(),
    "sum": lambda rows, column: rows[column].sum(),
    "count": count,
    "micro_f1": micro_f1,
    "verdict": lambda rows, condition: "{0.verdict} ({0})".format(CONDITIONS[condition](rows)),
}


def evaluate(rows: pd.DataFrame, words: str) -> Any:
    """Return ``rate`` of the one row, or an operation on all rows: ``max rate``, ``count rate>0.06``."""
    operation, _, column = words.partition(" ")
    if words not in rows and operation in OPERATIONS:
        return OPERATIONS[operation](rows, column.strip())
    return only(rows, words)


def show(value: Any, digits: int) -> str:
    """Return a number as the page prints it: 1,000, .053, -; words as they are."""
    if isinstance(value, str):
        return value
    if pd.isna(value):
        return "-"
    if 0 < value < 0.5 * 10.0**-digits:
        return show(10.0**-digits, digits).replace(".", "<.", 1)
    if float(value).is_integer() and not 0 < abs(value) < 1 and digits == 0:
        return f"{int(value):,}"
    if isinstance(value, (int, np.integer)):
        return f"{value:,}"
    return re.sub(r"^(-?)0\.", r"\1.", f"{value:.{digits}f}")


def fill(text: str, rows: pd.DataFrame, digits: int = 3) -> str:
    """Return the text with the values of its braces; ``{rate:4}`` has four digits, ``{n_dead:0}`` none."""

    def value(found: re.Match[str]) -> str:
        words, _, own = found[1].partition(":")
        return show(evaluate(rows, words), int(own) if own else digits)

    filled = re.sub(r"\{(.+?)\}", value, text)
    return "-" if filled.startswith("-") and not filled[1:2].isdecimal() and filled[1:2] != "." else filled


# --- verdicts --------------------------------------------------------------------------------------


class Looks(NamedTuple):
    """How often a condition held at each place, how often it failed, and how often it was looked at."""

    met: pd.Series
    failed: pd.Series
    looks: pd.Series

    @property
    def verdict(self) -> str:
        """Return agree, differ or cannot tell, by the rule that the page prints."""
        if not self.failed.any() and (2 * self.met > self.looks).all():
            return "agree"
        return "differ" if (self.failed == self.looks).any() else "cannot tell"

    def __str__(self) -> str:
        met, failed, looks = (int(part.sum()) for part in self)
        undecided = looks - met - failed
        return f"{met} yes, {failed} no" + (f", {undecided} undecided" if undecided else "")


def _single(met: Any, failed: Any) -> Looks:
    met, failed = pd.Series(met).astype(int), pd.Series(failed).astype(int)
    return Looks(met, failed, pd.Series(1, index=met.index))


def holds(rows: pd.DataFrame) -> Looks:
    """In every draw the size's interval lies within [.8, 1.2] alpha."""
    return Looks(rows["n_holds"], rows["n_liberal"] + rows["n_conservative"], rows["n_runs"])


def liberal(rows: pd.DataFrame) -> Looks:
    """In every draw the size's interval lies above 1.2 alpha."""
    return Looks(rows["n_liberal"], rows["n_holds"] + rows["n_conservative"], rows["n_runs"])


def holds_by_category(rows: pd.DataFrame) -> Looks:
    """No live category is liberal after Holm, and the median size lies within [.8, 1.2] alpha."""
    measured, alpha = rows["median"].notna(), rows["alpha"]
    inside = (rows["median"] >= HOLDS[0] * alpha) & (rows["median"] <= HOLDS[1] * alpha)
    met = measured & (rows["n_liberal_holm"] == 0) & inside
    return _single(met, measured & ~met)


def same_word(rows: pd.DataFrame) -> Looks:
    """One word (holds, liberal, conservative) at all levels, at two or more of them, each in most draws."""
    words = rows.set_index(["pair", "test", "alpha"])[["n_holds", "n_liberal", "n_conservative"]]
    most = words.gt(rows["n_runs"].to_numpy()[:, None] / 2).groupby(["pair", "test"]).sum()
    kinds, levels = most.gt(0).sum(axis=1), most.sum(axis=1)
    return _single((kinds == 1) & (levels > 1), kinds > 1)


def falls_to_a_quarter(rows: pd.DataFrame) -> Looks:
    """Compare the variance over categories at the last N with a quarter of that at the first."""
    rows = rows[(rows["n_categories"] >= FEW_CATEGORIES) & rows["sd_beyond_sets"].notna()]
    ends = rows.sort_values("n_documents").groupby(["pair", "balance", "test"])["sd_beyond_sets"]
    first, last, two = ends.first() ** 2, ends.last() ** 2, ends.size() > 1
    return _single(two & (first > 0) & (last <= first / 4), two & (last > first / 4))


def below_alpha_by_one_sd(rows: pd.DataFrame) -> Looks:
    """Ask whether the rate less the standard deviation over categories lies below alpha."""
    rows = rows[(rows["n_categories"] >= FEW_CATEGORIES) & rows["category_sd"].notna()]
    below = rows["rate"] - rows["category_sd"] < rows["alpha"]
    return _single(below, ~below)


def statement_met(rows: pd.DataFrame) -> Looks:
    """As the run itself scored the statement."""
    return _single(rows["verdict"] == "met", rows["verdict"] == "not met")


def power_below_half(rows: pd.DataFrame) -> Looks:
    """Ask whether the power is below one half in every draw."""
    return _single(rows["rate_high"] < 0.5, rows["rate_low"] >= 0.5)


CONDITIONS: dict[str, Callable[[pd.DataFrame], Looks]] = {
    function.__name__: function
    for function in (
        holds, liberal, holds_by_category, same_word, falls_to_a_quarter, below_alpha_by_one_sd,
        statement_met, power_below_half,
    )
}  # fmt: skip


# --- blocks ----------------------------------------------------------------------------------------


def _where_words(where: Mapping[str, Any]) -> str:
    return " ".join(
        f"{column}={'|'.join(map(str, value)) if isinstance(value, list) else value}"
        for column, value in where.items()
    )


def _value_name(column: str, value: Any) -> str:
    if column in ("n_documents", "n_examples"):
        return f"N = {value}"
    return SHORT.get(value, f"`{value}`")


def _entries(axis: Any) -> list[dict[str, Any]]:
    """Return rows or columns as entries; ``{pair: [a, b], n_documents: [1, 2]}`` is short for all four."""
    if not isinstance(axis, dict):
        return list(axis)
    return [
        {
            "name": ", ".join(map(_value_name, axis, values)),
            "where": dict(zip(axis, values, strict=True)),
        }
        for values in product(*axis.values())
    ]


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _code(words: str) -> str:
    return f"`{words}`".replace("|", "\\|") if words else ""


def grid(block: Mapping[str, Any], folder: Path) -> list[str]:
    """Return the lines of a table of rows and columns, and of the line that says where they come from."""
    short = isinstance(block["rows"], dict)
    columns = _entries(block["columns"])
    first = ", ".join(f"`{column}`" for column in block["rows"]) if short else ""
    head = [first, *(column["name"] for column in columns), *([] if short else ["from"])]
    lines = [_line(head), _line(["---"] * len(head))]
    for row in _entries(block["rows"]):
        cells = [_cell({**block, **column, **row}, (block, column, row), folder) for column in columns]
        own = " ".join(part for part in (row.get("table", ""), _where_words(row.get("where", {}))) if part)
        source = "; ".join(part for part in (own, row.get("cell", "")) if part)
        lines.append(_line([row["name"], *cells, *([] if short else [_code(source)])]))
    return [*lines, *_source(block)]


def _cell(part: Mapping[str, Any], levels: tuple[Mapping[str, Any], ...], folder: Path) -> str:
    where: dict[str, Any] = {}
    for level in levels:
        where |= level.get("where", {})
    return fill(part["cell"], select(folder / part.get("folder", "") / part["table"], where))


def _source(block: Mapping[str, Any]) -> list[str]:
    """Return the line that names a table's file, its rows and what stands in its cells."""
    parts = [f"`{block['table']}`"] if "table" in block else []
    if block.get("where"):
        parts.append(f"`{_where_words(block['where'])}`")
    for axis, word in ((block["rows"], "row"), (block["columns"], "column")):
        if isinstance(axis, dict):
            parts.append(f"a {word} for each {' and '.join(f'`{column}`' for column in axis)}")
    if "cell" in block:
        parts.append(f"cells `{block['cell']}`")
    if not isinstance(block["columns"], dict):
        for column in block["columns"]:
            own = [column.get(key, "") for key in ("folder", "table")]
            own += [_where_words(column.get("where", {})), column.get("cell", "")]
            if any(own):
                parts.append(f"*{column['name']}*: `{'; '.join(part for part in own if part)}`")
    return ["", f"From {'; '.join(parts)}."] if parts else []


def judged(block: Mapping[str, Any], folder: Path) -> list[str]:
    """Return the lines of a table of sentences, how each is read, what the rows say, and the verdict."""
    head = ["", "the paper", "read as", "here", "verdict"]
    lines, sources = [_line(head), _line(["---"] * len(head))], []
    for number, entry in enumerate(block["verdicts"], 1):
        try:
            looks = CONDITIONS[entry["condition"]](select(folder / entry["table"], entry["where"]))
            here, verdict = str(looks), f"**{looks.verdict}**"
        except NoTableError:
            here, verdict = TO_COME, "-"
        lines.append(_line([f"P{number}", entry["says"], entry["reading"], here, verdict]))
        sources.append(f"- P{number}: `{entry['table']}`, `{_where_words(entry['where'])}`")
    return [*lines, "", "From:", "", *sources]


def make_block(block: Mapping[str, Any], folder: Path = RESULTS) -> str:
    """Return the Markdown of one block; one line where its table is to come."""
    try:
        lines = (judged if "verdicts" in block else grid)(block, folder)
    except NoTableError as error:
        lines = [f"*`{Path(str(error)).relative_to(folder).as_posix()}` is {TO_COME}.*"]
    return "\n".join(lines) + "\n"


def statements(blocks: Mapping[str, Any], folder: Path = RESULTS) -> list[tuple[str, str, str]]:
    """Return the sentences that are held to their rows, what these must show, and what they show."""
    made = []
    for entry in blocks.get("statements", []):
        rows = select(folder / entry["table"], entry["where"])
        made.append((fill(entry["says"], rows), entry["shows"], fill(entry["cell"], rows)))
    return made


def make_page(text: str, blocks: Mapping[str, Any], folder: Path = RESULTS) -> str:
    """Return the page with every block as the tables give it now."""
    return BLOCK.sub(lambda found: found[1] + make_block(blocks[found[2]], folder) + found[4], text)


def labelled(text: str) -> dict[str, str]:
    """Return every cell of every block: ``block / row / column`` and what is printed there."""
    cells: dict[str, str] = {}
    for _, name, body, _ in BLOCK.findall(text):
        table = [re.split(r"(?<!\\)\|", line)[1:-1] for line in body.splitlines() if line.startswith("|")]
        head = [word.strip() for word in table[0]] if table else []
        for row in table[2:]:
            words = [word.strip() for word in row]
            cells |= {f"{name} / {words[0]} / {head[i]}": words[i] for i in range(1, len(words))}
    return cells


def main(arguments: list[str] | None = None) -> int:
    """Print each label with what is printed and what the tables give; 1 if any of them differ."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="write what the tables give into the pages")
    write = parser.parse_args(arguments).write
    blocks = yaml.safe_load((RESULTS / "claims.yaml").read_text(encoding="utf-8"))
    texts = [page.read_text(encoding="utf-8") for page in PAGES]
    made = [make_page(text, blocks) for text in texts]
    if write:
        for page, text in zip(PAGES, made, strict=True):
            page.write_text(text, encoding="utf-8")
    printed, recomputed = labelled("".join(texts)), labelled("".join(made))
    for label in recomputed | printed:
        _compare(label, printed.get(label, "(nothing)"), recomputed.get(label, "(nothing)"))
    unmet = [_compare(says, shows, found) for says, shows, found in statements(blocks)]
    return int(any(unmet) or (made != texts and not write))


def _compare(label: str, printed: str, recomputed: str) -> bool:
    """Print a label with what is printed and what the tables give; return whether they differ."""
    differ = printed != recomputed
    print(f"{'! ' if differ else '  '}{label}\t{printed}\t{recomputed}")
    return differ


if __name__ == "__main__":
    sys.exit(main())
