"""``harness collect FOLDER x=SETTING``: rates against a setting that was swept."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from pandas import DataFrame, to_numeric

from harness.drawing.grid import Cell, Grid, Line, Row, batches
from harness.drawing.layout import Axis
from harness.drawing.marks import count_categories, count_handles, draw_curves
from harness.drawing.save import draw
from harness.drawing.style import Look, level_handles, numbered_style, patch
from harness.errors import instead, refusal
from harness.results import names
from harness.results.names import NULL_TRUTHS, REWEIGHTED
from harness.results.selection import Selection
from harness.results.truth_scores import truth_name
from harness.run.figures.rates import MOST_CURVES, families, rate_row
from harness.writing.prose import paragraph

LOG_FROM = 20
"""Swept numbers of which the largest is at least so many times the smallest stand on a logarithmic axis."""
PLACES = ("kind", "truth", "alpha", "n_documents", "prevalence", "measure", "pair", "balance", "test")
"""What makes a rate, besides the settings: in this order they part the rows of panels."""


class Sweep(NamedTuple):
    """What runs along x, what parts curves and panels, and what is averaged over; None for what is usual."""

    x: str
    hue: str | None = None
    panel: str | None = None
    over: Sequence[str] = ()

    @property
    def stem(self) -> str:
        """The name of the file."""
        return "figure_" + "".join(c if c.isalnum() or c in "_-" else "_" for c in self.x)

    def used(self) -> dict[str, str]:
        """Return the columns that the figure shows, by the key that names them."""
        found = {"x": self.x, "hue": self.hue or "test", "panel": self.panel}
        return {key: column for key, column in found.items() if column is not None}


def draw_sweep(
    folder: Path, path: Path, settings: Sequence[str], sweep: Sweep, figure: Mapping[str, Any]
) -> list[Path]:
    """Draw rates against `sweep.x` to ``FOLDER/figures``, from the collected table at `path`.

    `settings` are the columns in which the runs differ.
    """
    table = names.read_table(path, names.COLUMNS)
    chosen = Selection.of(figure)
    chosen.check(table)
    rows = usual(chosen.keep(table), sweep, figure)
    if rows["rate"].isna().all():
        raise refusal("collect.no_rate")
    build = partial(sweep_figure, average(rows, settings, sweep), sweep)
    return draw(folder / "figures", {sweep.stem: build}, Look.of(figure))


def check_sweep(settings: Sequence[str], sweep: Sweep) -> None:
    """Raise UserError unless every name is known, and every setting that differs has a place."""
    used, allowed = sweep.used(), [*settings, *PLACES]
    named = [*used.items(), *(("over", column) for column in sweep.over)]
    for key, column in named:
        if column not in allowed:
            raise refusal("collect.no_setting", key=key, column=column, near=instead(column, allowed))
    if len({column for _, column in named}) < len(named):
        raise refusal("collect.twice")
    for column in sweep.over:
        if column not in settings:
            raise refusal("collect.over", column=column, settings=list(settings) or "nothing")
    for setting in settings:
        if setting not in [column for _, column in named]:
            raise refusal("collect.no_place", setting=setting)


def usual(table: DataFrame, sweep: Sweep, figure: Mapping[str, Any]) -> DataFrame:
    """Return the rows that are shown where nothing else is asked for: one level, truth and N."""
    shown = set(sweep.used().values())
    rescaled = table["balance"] == REWEIGHTED
    if "prevalence" in shown:
        table = table[rescaled]
    elif "balance" not in shown:
        table = table[~rescaled]
    if table.empty:
        return table
    if "alpha" not in shown and figure.get("alphas") is None:
        table = table[table["alpha"] == names.primary_alpha(table)]
    if "n_documents" not in shown and figure.get("sizes") is None:
        table = table[table["n_documents"] == names.reference_size(table)]
    if "truth" not in shown:
        null = next((name for name in NULL_TRUTHS if (table["truth"] == name).any()), None)
        wanted = figure.get("truth") or null or names.primary_truth(table)
        table = table[table["truth"] == names.primary_truth(table, wanted)]
    return table


def average(rows: DataFrame, settings: Sequence[str], sweep: Sweep) -> DataFrame:
    """Return the mean rate of each point over the settings `sweep.over`, with the range as its band.

    Without such settings a point has its own Monte Carlo interval.
    """
    keys = [*PLACES, *(name for name in settings if name not in sweep.over)]
    groups = rows.groupby(keys, sort=False, dropna=False)
    found = groups.agg(
        rate=("rate", "mean"), category_low=("rate", "min"), category_high=("rate", "max"),
        mc_low=("mc_low", "min"), mc_high=("mc_high", "max"), n_categories=("n_categories", "min"),
        n_dead=("n_dead", "max"), n_runs=("rate", "count"),
    ).reset_index()  # fmt: skip
    if sweep.over:
        return found.assign(mc_low=np.nan, mc_high=np.nan)
    return found.assign(category_low=np.nan, category_high=np.nan)


def sweep_figure(table: DataFrame, sweep: Sweep, look: Look) -> tuple[list[Any], str]:
    """Return rates against a setting: rows by what differs besides, columns by panel, and the caption."""
    axis, table = _axis(table, sweep.x)
    made = list(_rows(table, sweep))
    band = [patch("range over " + " and ".join(sweep.over), "0.45", alpha=0.25)] if sweep.over else []
    levels = [row.level for row in made if row.level is not None]
    handles = [*(level_handles(levels[0]) if levels else []), *band, *count_handles(table)]
    caption = paragraph(
        "collect", "sweep_caption", x=sweep.x, over=sweep.over, n_runs=int(table["n_runs"].max()),
        truths=[truth_name(str(name)) for name in table["truth"].unique()],
        sizes=[f"{n:g}" for n in sorted(table["n_documents"].unique())],
        alphas=[f"{alpha:g}" for alpha in sorted(table["alpha"].unique())],
    )  # fmt: skip
    return Grid(
        table, axis, made, "rejected", draw_curves, handles, count_categories, caption=caption
    ).figure(look)


def _axis(table: DataFrame, x: str) -> tuple[Axis, DataFrame]:
    """Return the axis of a setting, and the table with numbers there: words stand at 0, 1, ..."""
    label = {"n_documents": "set size N"}.get(x, x)
    numbers = to_numeric(table[x], errors="coerce")
    if numbers.notna().all():
        values = sorted({float(value) for value in numbers})
        far = values[0] > 0 and values[-1] >= LOG_FROM * values[0]
        return Axis(x, label, values, "log" if far else "linear"), table.assign(**{x: numbers})
    told = table[x].astype(str).where(table[x].notna(), "null")
    words = list(told.unique())
    places = told.map(words.index)
    return Axis(x, label, list(range(len(words))), "linear", words=words), table.assign(**{x: places})


def _rows(table: DataFrame, sweep: Sweep) -> list[Row]:
    """Return a row for everything that differs and has no place yet, and for each family or six curves."""
    used = sweep.used().values()
    by = [sweep.panel] if sweep.panel else [name for name in ("pair", "balance") if name not in used]
    wheres = [dict(zip(by, values, strict=True)) for values in _values(table, by)]
    cells = [Cell(_said(where, table), where) for where in wheres]
    apart = [name for name in PLACES if name not in (*used, *by) and table[name].nunique(dropna=False) > 1]
    parting = list(dict.fromkeys(["kind", *apart])) if "kind" not in used else apart
    made = []
    for values in _values(table, parting):
        where = dict(zip(parting, values, strict=True))
        part = names.pick(table, **where)
        kind, alpha = str(part["kind"].iloc[0]), float(part["alpha"].iloc[0])
        own = [cell._replace(where={**cell.where, **where}) for cell in cells]
        for heading, lines in _curves(part, table, sweep.hue or "test"):
            title = ", ".join(filter(None, [_said(where, table), heading]))
            made.append(rate_row(part, own, lines, kind, alpha, title))
    return made


def _values(table: DataFrame, by: Sequence[str]) -> list[tuple[Any, ...]]:
    """Return the values of some columns that stand together, numbers of a setting in their order."""
    if not by:
        return [()]
    found = table[list(by)].drop_duplicates()
    numbers = [name for name in by if name not in PLACES and found[name].dtype.kind in "if"]
    if numbers:
        found = found.sort_values(numbers, kind="stable")
    return [*found.itertuples(index=False, name=None)]


def _curves(part: DataFrame, table: DataFrame, hue: str) -> list[tuple[str, list[Line]]]:
    """Return the curves of a row, `part` of the table: the tests by family, or six values of a column."""
    if hue == "test":
        found = [(head, [line._replace(band=True) for line in some]) for head, some in families(part)]
        lines = [line for _, some in found for line in some]
        return [("", lines)] if len(lines) <= MOST_CURVES else found
    run = set(part[hue])
    lines = [
        Line(f"{hue}={value}", _word(hue, value), numbered_style(place), {hue: value})
        for place, (value,) in enumerate(_values(table, [hue]))
        if value in run
    ]
    return [("", some) for some in batches(lines, MOST_CURVES)]


def _said(where: Mapping[str, Any], table: DataFrame) -> str:
    """Return what tells a row or a panel from the others."""
    if set(where) == {"pair", "balance"}:
        panels = names.all_panels(table)
        found = [one.title for one in panels if (one.pair, one.balance) == (where["pair"], where["balance"])]
        return found[0] if found else ", ".join(map(str, where.values()))
    return ", ".join(_word(name, value) for name, value in where.items())


def _word(name: str, value: Any) -> str:
    """Return a value as a heading has it."""
    known: dict[str, Callable[[str], str]] = {
        "pair": names.pair_name, "truth": truth_name, "test": names.test_name,
        "measure": names.measure_name,
    }  # fmt: skip
    if name in known:
        return known[name](str(value))
    short = {"n_documents": "N = {:g}", "alpha": "level {:g}", "prevalence": "prevalence {:g}"}
    if name in short:
        return short[name].format(value)
    return str(value) if name in PLACES else f"{name} = {value}"
