"""The command ``harness advise``: which test may be trusted on one's own predictions."""

import functools
import itertools
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.advice import report
from harness.advice.figure_advice import draw_advice
from harness.advice.needed import needed_items
from harness.advice.points import (
    PairPopulation,
    Plan,
    describe_tests,
    draw_generator,
    points_of,
    populations_of,
    run_points,
)
from harness.advice.predictions import Outcomes
from harness.advice.rates import detectable, power_table, size_table
from harness.advice.recommend import Recommendation, recommend
from harness.errors import UserError
from harness.figure_style import check_options
from harness.parallel import Workers, make_run
from harness.provenance import NAME, Clock, check_folder, describe_software, read_provenance, write_provenance
from harness.rejections import Test
from harness.seeding import rng
from harness.significance.ranks import holm
from harness.size_power import write_table
from harness.store import Store, digest, write_atomically

POWERS = (0.8, 0.95)
N_POSTERIOR = 4_000
LARGEST_RANDOMIZATION = 50_000
"""Above so many items exact randomization takes longer than all else, and agrees with the z test."""


def advise(
    *,
    out: Path,
    config: Mapping[str, Any],
    outcomes: Outcomes,
    name: str,
    measure: str,
    costs: Mapping[str, float],
    tests: Sequence[Test],
    alpha: float,
    difference: float,
    plan: Plan,
    seed: int,
    figure: Mapping[str, Any],
    cache: Path | None,
    workers: Workers,
    say: Callable[[str], None] = print,
) -> None:
    """Measure every test on populations like the predictions, and say which to use.

    Parameters
    ----------
    out : Path
        Where tables, figures and summary go; new, empty, or of the same configuration.
    config : mapping
        JSON types that make two runs the same run.
    outcomes : Outcomes
        Truth and decisions.
    name : str
        Of the file.
    measure, costs
        What is compared.
    tests : sequence of Test
        All of `measure`, plainest first.
    alpha : float
    difference : float
        Above 0: how many items are needed to see it?
    plan : Plan
        How much is measured.
    seed : int
    figure : mapping
        `formats`, `dpi` and `width`.
    cache : Path or None
    workers : Workers
    say : callable

    Raises
    ------
    UserError
        If no two systems differ on any item, or the folder is another run's; `out` is left as it was.
    """
    state = check_folder(out, config)
    if state == "finished":
        say(f"{out} holds this very run, finished; summary: {out / 'summary.md'}")
        return
    cells, notes = pair_cells(outcomes)
    n_items = int(outcomes.n_items.sum())
    if n_items > LARGEST_RANDOMIZATION and len(tests) > 1:
        kept = [test for test in tests if "randomization" not in test.name]
        if len(kept) < len(tests):
            notes.append(f"randomization is left out above {LARGEST_RANDOMIZATION:,} items, where it is slow")
        tests = kept or tests
    clock = Clock(say)
    shown: dict[str, Any] = {"n_items": n_items, "alpha": alpha, "measure": measure}
    facts: dict[str, Any] = {
        "finished": False,
        "identity": digest(dict(config)),
        "command": " ".join(["harness", *sys.argv[0].split()[1:], *sys.argv[1:]]),
        "seed": seed,
        "predictions": {"name": name, "n_items": n_items, "systems": list(outcomes.decisions)},
        "shown": shown,
        "config": dict(config),
        **describe_software(),
    }
    write_provenance(out, facts)
    stage_run = functools.partial(make_run, workers, Store(cache))
    try:
        with clock.stage("sizes and powers"):
            populations = {
                pair: populations_of(counts, measure, costs, plan.n_draws, draw_generator(seed, pair))
                for pair, counts in cells.items()
            }
            measured, more = _measure(
                populations, n_items, measure, costs, plan, tests, alpha, seed, stage_run
            )
            notes += [note for found in populations.values() for note in found.notes] + more
        order = [test.name for test in tests]
        sizes, power = size_table(measured, alpha), power_table(measured)
        chosen = choose_tests(sizes, power, order, alpha)
        with clock.stage("items needed"):
            needs = _needs(chosen, populations, n_items, difference, costs, tests, alpha, seed, stage_run)
        with clock.stage("tables, figures and summary"):
            tables = {
                "verdicts": judge_file(cells, tests, chosen, n_items, measure, seed),
                "sizes": sizes,
                "power": power,
                "detectable": _detectables(power),
                "recommendations": report.tabulate_recommendations(chosen),
                "needed": needs,
            }
            for table_name, table in tables.items():
                write_table(table, out / f"{table_name}.csv")
            drawn = _draw(out, shown, figure)
            about = report.describe(facts["predictions"], outcomes.about, measure, alpha, plan, seed)
            text, found = report.write_summary(
                tables, about, difference=difference, notes=notes, drawn=drawn, **shown
            )
            write_atomically(out / "summary.md", text.encode())
    except UserError:
        if state == "new":
            (out / NAME).unlink(missing_ok=True)
        raise
    facts |= {"seconds": clock.seconds, "peak_mib": clock.peak_mib, "warnings": notes}
    write_provenance(out, facts | {"finished": True})
    say("\n" + "\n".join(found))
    say(f"\nSummary: {out / 'summary.md'}")


def pair_cells(outcomes: Outcomes) -> tuple[dict[str, NDArray[np.int64]], list[str]]:
    """Return the eight counts of every pair ``A-B``, and notes on pairs that never disagree.

    Raises
    ------
    UserError
        If no two systems disagree on any item.
    """
    cells, notes = {}, []
    for a, b in itertools.combinations(outcomes.decisions, 2):
        counts = outcomes.cells(a, b)
        if counts[[1, 2, 5, 6]].sum():
            cells[f"{a}-{b}"] = counts
        else:
            notes.append(f"{a} and {b} say the same of every item; there is nothing to test")
    if not cells:
        raise UserError("predictions: the systems say the same of every item; there is nothing to test")
    return cells, notes


def _measure(
    populations: Mapping[str, PairPopulation],
    n_items: int,
    measure: str,
    costs: Mapping[str, float],
    plan: Plan,
    tests: Sequence[Test],
    alpha: float,
    seed: int,
    stage_run: Callable[..., Any],
) -> tuple[Any, list[str]]:
    points, notes = [], []
    for pair, population in populations.items():
        more, missing = points_of(pair, population, n_items, measure, costs, plan)
        points += more
        notes += missing
    run = stage_run("advice", describe_tests(tests), alpha, seed)
    return run_points(points, tests, alpha, seed, run), notes


def choose_tests(
    sizes: Any, power: Any, order: Sequence[str], alpha: float
) -> dict[tuple[str, int], Recommendation]:
    """Return the recommended test of each pair and number of items."""
    chosen = {}
    for (pair, n), part in sizes.groupby(["pair", "n_documents"], sort=False):
        own = power[(power["pair"] == pair) & (power["n_documents"] == n)]
        chosen[pair, int(n)] = recommend(part, own, order, alpha)
    return chosen


def _needs(
    chosen: Mapping[tuple[str, int], Recommendation],
    populations: Mapping[str, PairPopulation],
    n_items: int,
    difference: float,
    costs: Mapping[str, float],
    tests: Sequence[Test],
    alpha: float,
    seed: int,
    stage_run: Callable[..., Any],
) -> Any:
    """Return the items that the recommended test needs to see `difference`, per pair and power."""
    import pandas as pd

    order = [test.name for test in tests]
    units = [
        (order.index(chosen[pair, n_items].test), tuple(population.null.tolist()), difference, power, alpha,
         dict(costs), pair, seed)
        for pair, population in populations.items()
        for power in POWERS
    ]  # fmt: skip
    run = stage_run("advice_needed", describe_tests(tests))
    found = run(
        needed_items, units, [repr(unit) for unit in units], shared=lambda: list(tests), threads=False,
        description="items needed",
    )  # fmt: skip
    rows = [
        (unit[6], order[unit[0]], difference, unit[3], int(part["n_items"]) or None, float(part["power"]))
        for unit, part in zip(units, found, strict=True)
    ]
    columns = ["pair", "test", "difference", "power_wanted", "n_items", "power"]
    return pd.DataFrame(rows, columns=columns).astype({"n_items": "Int64"})


def _detectables(power: Any) -> Any:
    import pandas as pd

    return pd.concat([detectable(power, wanted) for wanted in POWERS], ignore_index=True)


def judge_file(
    cells: Mapping[str, NDArray[np.int64]],
    tests: Sequence[Test],
    chosen: Mapping[tuple[str, int], Recommendation],
    n_items: int,
    measure: str,
    seed: int,
) -> Any:
    """Return every test's p-value on the file, the difference with its interval, and Holm's adjustment.

    The interval holds the central 95 % of the differences of populations drawn from Dirichlet(counts + 1/2).
    Holm's adjustment is over the pairs, of the p-values of each pair's recommended test.
    """
    import pandas as pd

    rows = []
    for pair, counts in cells.items():
        posterior = rng(seed, "advice", pair, "posterior").dirichlet(counts + 0.5, size=N_POSTERIOR)
        differences = np.asarray(tests[0].difference(posterior))
        low, high = np.quantile(differences, [0.025, 0.975])
        for test in tests:
            options = {"rng": rng(seed, "advice", pair, "file", test.name)} if test.random else {}
            result = test.pvalue(counts, **options)
            rows.append(
                (
                    pair, measure, test.name, float(test.difference(counts)), low, high,
                    float(result.statistic), float(result.pvalue), bool(result.degenerate),
                    test.name == chosen[pair, n_items].test,
                )
            )  # fmt: skip
    columns = ["pair", "measure", "test", "difference", "low", "high", "statistic", "pvalue", "degenerate"]
    table = pd.DataFrame(rows, columns=[*columns, "recommended"])
    own = table["recommended"].to_numpy()
    table.loc[own, "pvalue_holm"] = holm(table.loc[own, "pvalue"].to_numpy())
    return table


def redraw(folder: Path, figure: Mapping[str, Any]) -> list[Path] | None:
    """Draw the figures of finished advice again, from its tables; None where `folder` holds none.

    Parameters
    ----------
    folder : Path
    figure : mapping
        `formats`, `dpi` and `width`; other keys are for figures of ``harness run``.

    Raises
    ------
    UserError
        If the advice is not finished.
    """
    facts = read_provenance(folder)
    if facts is None or "predictions" not in facts:
        return None
    if not facts.get("finished"):
        raise UserError(f"from={folder}: its run is not finished; the folder of a finished run is needed")
    check_options(figure["formats"], "log", figure["dpi"], figure["width"])
    return _draw(folder, facts["shown"], {key: figure[key] for key in ("formats", "dpi", "width")})


def _draw(folder: Path, shown: Mapping[str, Any], figure: Mapping[str, Any]) -> list[Path]:
    """Draw from the CSVs, in the run too: what is drawn again is then the same to the last byte."""
    import pandas as pd

    tables = {name: pd.read_csv(folder / f"{name}.csv") for name in ("sizes", "power", "recommendations")}
    return draw_advice(folder / "figures", tables, **shown, **figure)
