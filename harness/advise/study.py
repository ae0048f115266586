"""The command ``harness advise``: which test may be trusted on one's own predictions."""

import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.advise import report
from harness.advise.decisions import Decisions
from harness.advise.document_work import document_work
from harness.advise.figure_advice import draw_advice
from harness.advise.needed import needed_between, needed_items
from harness.advise.points import (
    Plan,
    describe_tests,
    deviations_around,
    draw_generator,
    points_of,
    populations_of,
    run_points,
)
from harness.advise.predictions import Outcomes, name_pairs
from harness.advise.rates import detectable, power_table, size_table
from harness.advise.recommend import Recommendation, recommend
from harness.advise.work import Work, cost_notes
from harness.drawing.style import plain_options
from harness.errors import UserError, harmless
from harness.evaluation.rates import write_table
from harness.evaluation.rejections import Test
from harness.influence import influence
from harness.runtime.parallel import Workers, make_run
from harness.runtime.provenance import (
    NAME,
    Clock,
    check_finished,
    check_folder,
    command_line,
    describe_software,
    read_provenance,
    write_provenance,
)
from harness.runtime.store import Arrays, Store, digest, read_regular, write_atomically
from harness.seeding import rng
from harness.significance.ranks import holm
from harness.writing.page import NAME as PAGE
from harness.writing.page import write_page
from harness.writing.table_text import from_csv

POWERS = (0.8, 0.95)
N_POSTERIOR = 4_000
LARGEST_RANDOMIZATION = 50_000
"""Above so many items exact randomization takes longer than all else, and agrees with the z test."""


def advise(
    *,
    out: Path,
    config: Mapping[str, Any],
    outcomes: Outcomes | Decisions,
    name: str,
    measure: str,
    average: str,
    costs: Mapping[str, float],
    tests: Sequence[Test],
    n_replicates: int | None,
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
    outcomes : Outcomes or Decisions
        Truth and decisions.
    name : str
        Of the file.
    measure, costs
        What is compared.
    average : {"micro", "macro"}
        On several categories: of all decisions together, or the mean over the categories.
    tests : sequence of Test
        All of `measure`, plainest first; for one category.
    n_replicates : int or None
        Of tests by document; None is 199, or more for a small alpha.
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
    stage_run = functools.partial(make_run, workers, Store(cache))
    if isinstance(outcomes, Decisions):
        work = document_work(
            outcomes, measure, average, costs, plan, n_replicates, alpha, difference, seed, stage_run
        )
    else:
        work = cell_work(outcomes, measure, costs, tests, plan, alpha, difference, seed, stage_run)
    clock, notes = Clock(say), [*work.notes, *outcomes.notes]
    shown: dict[str, Any] = {"n_items": work.n_items, "alpha": alpha, "measure": work.measured}
    facts: dict[str, Any] = {
        "finished": False,
        "identity": digest(dict(config)),
        "command": command_line(),
        "seed": seed,
        "predictions": {"name": name, "n_items": work.n_items, "systems": work.systems},
        "shown": shown,
        "config": dict(config),
        **describe_software(),
    }
    write_provenance(out, facts)
    try:
        tables = measure_tables(work, alpha, difference, clock, notes)
        with clock.stage("tables, figures and summary"):
            for table_name, table in tables.items():
                write_table(table, out / f"{table_name}.csv")
            drawn = _draw(out, shown, figure)
            about = report.describe(facts["predictions"], work.about, work.measured, alpha, plan, seed)
            about += report.describe_fewer(tables["sizes"], alpha, plan)
            names = {pair: (a, b) for a, b, pair in name_pairs(work.systems)}
            text, found = report.write_summary(
                tables, about, names, difference=difference, first=outcomes.warnings, notes=notes,
                drawn=drawn, **shown,
            )  # fmt: skip
            write_atomically(out / "summary.md", harmless(text).encode())
    except UserError:
        if state == "new":
            (out / NAME).unlink(missing_ok=True)
        raise
    facts |= {"seconds": clock.seconds, "peak_mib": clock.peak_mib, "warnings": [*outcomes.warnings, *notes]}
    write_provenance(out, facts)
    write_page(out)
    write_provenance(out, facts | {"finished": True})
    say("\n" + "\n".join(found + report.shorten(notes)))
    say(f"\nSummary: {out / 'summary.md'}; as a page: {out / PAGE}")


def measure_tables(
    work: Work, alpha: float, difference: float, clock: Clock, notes: list[str]
) -> dict[str, Any]:
    """Measure, and return every table by the name of its file; what is to be said is added to `notes`."""
    with clock.stage("sizes and powers"):
        measured, more = work.measure()
        notes += more
    sizes, power = size_table(measured, alpha), power_table(measured)
    chosen = choose_tests(sizes, power, work.order, alpha, work.n_items)
    with clock.stage("items needed"):
        needs = _needs(work, chosen, difference, alpha)
    verdicts = judge_file(work, chosen, alpha)
    notes += _notes_on_intervals(verdicts)
    return {
        "verdicts": verdicts,
        "sizes": sizes,
        "power": power,
        "detectable": _detectables(work, power),
        "recommendations": report.tabulate_recommendations(chosen),
        "needed": needs,
    }


def pair_cells(
    outcomes: Outcomes, measure: str, costs: Mapping[str, float]
) -> tuple[dict[str, NDArray[np.int64]], list[str]]:
    """Return the eight counts of every pair ``A-B``, and notes on pairs that have no question.

    Raises
    ------
    UserError
        If no two systems disagree on any item that the measure counts.
    """
    cells, notes = {}, []
    for a, b, pair in name_pairs(outcomes.decisions):
        counts = outcomes.cells(a, b)
        if not counts[[1, 2, 5, 6]].sum():
            notes.append(f"{a} and {b} say the same of every item; there is nothing to test")
        elif not _counts_for(counts, measure, costs):
            notes.append(f"{a} and {b} differ on no item that counts for {measure}; there is nothing to test")
        else:
            cells[pair] = counts
    if not cells:
        raise UserError(
            "predictions: the systems say the same of every item that counts for "
            f"{measure}; there is nothing to test"
        )
    return cells, notes


def _counts_for(counts: NDArray[np.int64], measure: str, costs: Mapping[str, float]) -> bool:
    """Return whether an item on which the two differ has any influence on the measure."""
    psi = influence(counts + 0.5, measure, **costs)
    differ = np.array([1, 2, 5, 6])
    return bool((psi[differ][counts[differ] > 0] != 0).any())


def cell_work(
    outcomes: Outcomes,
    measure: str,
    costs: Mapping[str, float],
    tests: Sequence[Test],
    plan: Plan,
    alpha: float,
    difference: float,
    seed: int,
    stage_run: Callable[..., Any],
) -> Work:
    """Return the work on a file of one category: items are drawn one by one."""
    cells, notes = pair_cells(outcomes, measure, costs)
    notes += cost_notes(measure, costs)
    n_items = int(outcomes.n_items.sum())
    if n_items > LARGEST_RANDOMIZATION and len(tests) > 1:
        kept = [test for test in tests if "randomization" not in test.name]
        if len(kept) < len(tests):
            notes.append(f"randomization is left out above {LARGEST_RANDOMIZATION:,} items, where it is slow")
        tests = kept or tests
    populations = {
        pair: populations_of(counts, measure, costs, plan.n_draws, draw_generator(seed, pair))
        for pair, counts in cells.items()
    }
    order = [test.name for test in tests]

    def measured() -> tuple[Any, list[str]]:
        """Return how often each test rejects at every point of every pair, and notes."""
        points, notes = [], []
        for pair, population in populations.items():
            more, missing = points_of(pair, population, n_items, measure, costs, plan, alpha)
            points += more
            notes += [*(f"{pair}: {note}" for note in population.notes), *missing]
        run = stage_run("advice", describe_tests(tests), alpha, seed)
        return run_points(points, tests, alpha, seed, run), notes

    def needs(wanted: Sequence[tuple[str, str, float]]) -> list[Arrays]:
        """Return the items needed for each pair, test and power."""
        units = [
            (order.index(test), tuple(populations[pair].null.tolist()), difference, power, alpha, dict(costs),
             pair, seed)
            for pair, test, power in wanted
        ]  # fmt: skip
        run = stage_run("advice_needed", describe_tests(tests), "both directions")
        return run(
            needed_items, units, [repr(unit) for unit in units], shared=lambda: list(tests), threads=False,
            description="items needed",
        )  # fmt: skip

    return Work(
        list(cells), n_items, list(outcomes.decisions), outcomes.about, measure, order, notes, measured,
        needs,
        lambda pair, wanted: deviations_around(populations[pair], wanted, measure, costs),
        lambda pair: judge_pair(pair, cells[pair], tests, seed),
    )  # fmt: skip


def choose_tests(
    sizes: Any, power: Any, order: Sequence[str], alpha: float, n_items: int
) -> dict[tuple[str, int], Recommendation]:
    """Return the recommended test of each pair and number of items.

    At numbers of items other than the file's `n_items` the file's test goes before its equals, so that the
    advice changes only where another is better.
    """
    chosen = {}
    for pair in dict.fromkeys(sizes["pair"]):
        own, powers = sizes[sizes["pair"] == pair], power[power["pair"] == pair]

        def choose(n: int, order: Sequence[str], own: Any = own, powers: Any = powers) -> Recommendation:
            """Choose at one number of items."""
            here = powers[powers["n_documents"] == n]
            return recommend(own[own["n_documents"] == n], here, order, alpha)

        first = choose(n_items, order).test
        ordered = [first, *(name for name in order if name != first)]
        for n in own["n_documents"].unique():
            chosen[pair, int(n)] = choose(int(n), order if n == n_items else ordered)
    return chosen


def _needs(
    work: Work, chosen: Mapping[tuple[str, int], Recommendation], difference: float, alpha: float
) -> Any:
    """Return the items that the recommended test needs to see `difference`, per pair and power."""
    import pandas as pd

    wanted = [(pair, chosen[pair, work.n_items].test, power) for pair in work.pairs for power in POWERS]
    around = {pair: work.deviations(pair, difference) for pair in work.pairs}
    rows = []
    for (pair, test, power), part in zip(wanted, work.needs(wanted), strict=True):
        n_items = int(part["n_items"])
        ends = needed_between(n_items, around[pair], difference, power, alpha)
        low, high = (int(end) if np.isfinite(end) else None for end in ends)
        rows.append((pair, test, difference, power, n_items or None, float(part["power"]), low, high))
    columns = ["pair", "test", "difference", "power_wanted", "n_items", "power", "low", "high"]
    return pd.DataFrame(rows, columns=columns).astype(dict.fromkeys(("n_items", "low", "high"), "Int64"))


def _detectables(work: Work, power: Any) -> Any:
    import pandas as pd

    around = {pair: work.deviations(pair, 0.0) for pair in work.pairs}
    return pd.concat([detectable(power, wanted, around) for wanted in POWERS], ignore_index=True)


def _notes_on_intervals(verdicts: Any) -> list[str]:
    """Return a note on each difference that its own interval does not hold."""
    d = verdicts["difference"]
    outside = verdicts[(d < verdicts["low"]) | (d > verdicts["high"])]
    return [
        f"{pair}: the file's difference lies outside its interval, which takes half an item in each cell for "
        "known; the file says too little of an extreme difference, or of a ratio that is 0/0"
        for pair in dict.fromkeys(outside["pair"])
    ]


def judge_file(work: Work, chosen: Mapping[tuple[str, int], Recommendation], alpha: float) -> Any:
    """Return every test's p-value and verdict on the file, the difference with its interval, and Holm's p.

    Holm's adjustment is over the pairs, of the p-values of each pair's recommended test.
    """
    import pandas as pd

    parts = []
    for pair in work.pairs:
        part = work.judge(pair)
        part.insert(1, "measure", work.measured)
        part["rejected"] = part["pvalue"] <= alpha
        part["recommended"] = part["test"] == chosen[pair, work.n_items].test
        parts.append(part)
    table = pd.concat(parts, ignore_index=True)
    own = table["recommended"].to_numpy()
    table.loc[own, "pvalue_holm"] = holm(table.loc[own, "pvalue"].to_numpy())
    return table


def judge_pair(
    pair: str, counts: NDArray[np.int64], tests: Sequence[Test], seed: int, confidence: float = 0.95
) -> Any:
    """Return every test's p-value on one pair, and the difference with its interval.

    The interval holds the central part of the differences of populations drawn from Dirichlet(counts + 1/2).

    Parameters
    ----------
    pair : str
        Names the pair in the generators.
    counts : int array, shape (8,)
    tests : sequence of Test
        All of one measure.
    seed : int
    confidence : float

    Returns
    -------
    DataFrame
        pair, test, difference, low, high, statistic, pvalue, degenerate: a row for each test.
    """
    import pandas as pd

    posterior = rng(seed, "advice", pair, "posterior").dirichlet(counts + 0.5, size=N_POSTERIOR)
    tail = round((1 - confidence) / 2, 12)
    low, high = np.quantile(np.asarray(tests[0].difference(posterior)), [tail, 1 - tail])
    rows = []
    for test in tests:
        options = {"rng": rng(seed, "advice", pair, "file", test.name)} if test.random else {}
        result = test.pvalue(counts, **options)
        rows.append(
            (
                pair, test.name, float(test.difference(counts)), low, high, float(result.statistic),
                float(result.pvalue), bool(result.degenerate),
            )
        )  # fmt: skip
    columns = ["pair", "test", "difference", "low", "high", "statistic", "pvalue", "degenerate"]
    return pd.DataFrame(rows, columns=columns)


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
    check_finished(folder, facts)
    return _draw(folder, facts["shown"], plain_options(figure))


def _draw(folder: Path, shown: Mapping[str, Any], figure: Mapping[str, Any]) -> list[Path]:
    """Draw from the CSVs, in the run too: what is drawn again is then the same to the last byte."""
    tables = {
        name: from_csv(read_regular(folder / f"{name}.csv")) for name in ("sizes", "power", "recommendations")
    }
    return draw_advice(folder / "figures", tables, **shown, **figure)
