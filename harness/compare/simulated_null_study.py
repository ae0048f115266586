"""``study=simulated_null``: size and power of the tests of learning algorithms on simulated data sets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.compare.algorithm_rates import exact_rows, rows, tabulate
from harness.compare.learner_tests import HOLD_OUT, check_tests
from harness.compare.report_parts import TABLE
from harness.compare.simulated_null import BLOCK, Point, check_point, enumerate_hold_out, simulate_block
from harness.compare.simulated_null_report import write_report
from harness.compare.simulated_references import reference
from harness.errors import UserError
from harness.evaluation.rates import write_table
from harness.runtime.provenance import Clock

if TYPE_CHECKING:
    from pandas import DataFrame


def list_points(
    *,
    halves: Sequence[str],
    errors: Sequence[float],
    differences: Sequence[float],
    n_examples: int,
    sizes: Sequence[int],
    test_share: float,
    n_resamples: int,
    n_folds: int,
) -> list[Point]:
    """Return what is simulated: every kind of halves at `n_examples` and every difference, then other sizes.

    Raises
    ------
    UserError
        If a point is impossible; one sentence.
    """
    if len(errors) != 2:
        raise UserError(f"errors: {list(errors)!r} is not allowed; two error probabilities are")
    low, high = errors
    grid = [(kind, apart, n_examples) for kind in halves for apart in dict.fromkeys((0.0, *differences))]
    grid += [(halves[0], 0.0, n) for n in sizes if n != n_examples]
    points = [Point(kind, low, high, apart, n, test_share, n_resamples, n_folds) for kind, apart, n in grid]
    for point in points:
        try:
            check_point(point)
        except ValueError as error:
            raise UserError(str(error)) from error
    return points


def measure(
    points: Sequence[Point],
    tests: Sequence[str],
    alphas: Sequence[float],
    n_trials: int,
    seed: int,
    run: Callable[..., Any],
) -> DataFrame:
    """Return the table of sizes and powers at the points."""
    blocks = [(start // BLOCK, min(BLOCK, n_trials - start)) for start in range(0, n_trials, BLOCK)]
    units = [(point, tuple(tests), tuple(alphas), seed, *block) for point in points for block in blocks]
    names = [f"{tuple(point)} block {block}, {n} trials" for point in points for block, n in blocks]
    parts = run(simulate_block, units, names, threads=False, description="simulated data sets")
    made: list[dict[str, Any]] = []
    for place, point in enumerate(points):
        own = parts[place * len(blocks) : (place + 1) * len(blocks)]
        counts = {name: np.sum([part[name] for part in own], axis=0) for name in own[0]}
        made += _rows_of_point(point, tests, alphas, counts, n_trials)
    return tabulate(made)


def _rows_of_point(
    point: Point, tests: Sequence[str], alphas: Sequence[float], counts: Mapping[str, Any], n_trials: int
) -> list[dict[str, Any]]:
    key = {
        "study": "simulated_null",
        "setting": f"{point.halves} halves",
        "difference": 0.0 - point.difference,  # A minus B; no negative zero
        "difference_se": 0.0,
        "n_examples": point.n_examples,
    }
    power = point.difference > 0
    held = [test for test in tests if test in HOLD_OUT]
    exact = []
    if held:
        exact = exact_rows(key, held, alphas, enumerate_hold_out(point, held, alphas), power=power)
    truth = {(row["test"], row["alpha"]): row["rate"] for row in exact}
    made = rows(key, tests, alphas, counts, n_trials, power=power)
    for row in made + exact:
        enumerated = row["method"] == "enumeration"
        value, error = reference(point, row["test"], row["alpha"], enumerated)
        if not enumerated and row["test"] in HOLD_OUT:
            value, error = truth[row["test"], row["alpha"]], 0.0
        row["reference"], row["reference_se"] = value, error
    return made + exact


def simulated_null(
    *,
    out: Path,
    seed: int,
    stage_run: Callable[..., Any],
    clock: Clock,
    figure: Mapping[str, Any],
    say: Callable[[str], None],
    tests: Sequence[str],
    alphas: Sequence[float],
    n_trials: int,
    **setting: Any,
) -> tuple[dict[str, Any], list[str]]:
    """Run the study; leave table, figures and summary in `out`.

    Parameters
    ----------
    tests : sequence of str
        Names of :data:`harness.compare.learner_tests.TESTS`.
    alphas : sequence of float
    n_trials : int
        Data sets of a point, >= 1.
    **setting
        Keywords of :func:`list_points`.
    out, seed, stage_run, clock, figure, say
        As every study of ``harness compare`` gets them.

    Returns
    -------
    facts : dict
        For ``provenance.json``.
    lines : list of str
        What the command says at its end.

    Raises
    ------
    UserError
        If a setting is not allowed.
    """
    try:
        check_tests(tests)
    except ValueError as error:
        raise UserError(str(error)) from error
    points = list_points(**setting)
    run = stage_run("simulated null", seed, list(tests), list(alphas))
    with clock.stage(f"{len(points)} points, {n_trials} data sets each"):
        table = measure(points, tests, alphas, n_trials, seed, run)
    write_table(table, out / TABLE)
    with clock.stage("figures and summary"):
        lines = write_report(out, table, setting, figure)
    return {"n_trials": n_trials, "n_points": len(points)}, lines
