"""``study=simulated_null``: size and power of the tests of learning algorithms on simulated data sets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.compare import figure_rates as draw
from harness.compare import rates
from harness.compare import simulated_null as null
from harness.compare.learner_tests import HOLD_OUT, TESTS, Experiment
from harness.compare.report_parts import Figures, pick, read_table, records, sections
from harness.errors import UserError
from harness.evaluation.rates import write_table
from harness.runtime.parallel import Run
from harness.runtime.run_folder import RunFolder
from harness.writing.report import Captioned, Report

if TYPE_CHECKING:
    from pandas import DataFrame

SOURCE = (
    "Simulated data sets of Dietterich (1998): A errs with probability {:g} on one half of the examples "
    "and {:g} on the other, B the other way round; which examples either gets wrong is drawn once for a "
    "data set and does not depend on what was trained on."
)
NO_LEARNING = (
    "Nothing is trained: the training sets' own variation, which real learners have, is absent, so that "
    "these are sizes under variation of the test sets alone. study=training_sets has both."
)
REFERENCE = (
    "References: another program's shares of 20,000 data sets, and for tests of one hold-out the enumerated "
    "probabilities; a reference is met when the difference is at most 3.5 of its standard errors."
)


def list_points(setting: Mapping[str, Any]) -> list[null.Point]:
    """Return what is simulated: every kind of halves at `n_examples` and every difference, then other sizes.

    Raises
    ------
    UserError
        If a point is impossible; one sentence.
    """
    halves, n_examples = setting["halves"], setting["n_examples"]
    if len(setting["errors"]) != 2:
        raise UserError(f"errors: {list(setting['errors'])!r} is not allowed; two error probabilities are")
    low, high = setting["errors"]
    apart = dict.fromkeys((0.0, *setting["differences"]))
    grid = [(kind, difference, n_examples) for kind in halves for difference in apart]
    grid += [(halves[0], 0.0, n) for n in setting["sizes"] if n != n_examples]
    design: list[Any] = [setting[name] for name in ("test_share", "n_resamples", "n_folds")]
    points = [null.Point(kind, low, high, difference, n, *design) for kind, difference, n in grid]
    for point in points:
        null.check_point(point)
    return points


def measure(points: Sequence[null.Point], experiment: Experiment, run: Run) -> DataFrame:
    """Return the table of sizes and powers at the points."""
    step, words = null.BLOCK, "simulated data sets"
    counted = experiment.count_at(points, step, run, null.simulate_block, description=words)
    made: list[dict[str, Any]] = []
    for point, counts in zip(points, counted, strict=True):
        made += _rows_of_point(point, experiment, counts)
    return rates.tabulate(made)


def _rows_of_point(
    point: null.Point, experiment: Experiment, counts: Mapping[str, Any]
) -> list[dict[str, Any]]:
    key = {
        "study": "simulated_null", "setting": f"{point.halves} halves", "n_examples": point.n_examples,
        "difference": 0.0 - point.difference, "difference_se": 0.0,  # A minus B; no negative zero
    }  # fmt: skip
    power = point.difference > 0
    held = experiment._replace(tests=[test for test in experiment.tests if test in HOLD_OUT])
    chances = null.enumerate_hold_out(point, held.tests, held.alphas) if held.tests else {}
    exact = rates.rows(held, key, chances, power, exact=True)
    truth = {(row["test"], row["alpha"]): (row["rate"], 0.0) for row in exact}
    made = rates.rows(experiment, key, counts, power, exact=False) + exact
    for row in made:
        place, is_exact = (row["test"], row["alpha"]), row["method"] == "enumeration"
        known = None if is_exact else truth.get(place)
        row["reference"], row["reference_se"] = known or null.reference(point, *place, is_exact)
    return made


def simulated_null(
    run: RunFolder,
    stage_run: Callable[..., Run],
    seed: int,
    *,
    tests: Sequence[str],
    alphas: Sequence[float],
    n_trials: int,
    **setting: Any,
) -> tuple[dict[str, Any], Report]:
    """Run the study and write its table; return facts for ``provenance.json`` and the report."""
    experiment = Experiment(tests, alphas, n_trials, seed)
    experiment.check()
    points = list_points(setting)
    with run.clock.stage(f"{len(points)} points, {n_trials} data sets each"):
        table = measure(points, experiment, stage_run("simulated null", seed, tests, alphas))
    write_table(table, run.out / rates.TABLE)
    about = [SOURCE.format(*setting["errors"]), NO_LEARNING, REFERENCE]
    parts = captioned_tables(table, setting)
    front = sections(findings(table, setting["n_examples"]), about, [], parts)
    title = "Size and power of tests of learning algorithms: simulated data sets"
    return {"n_trials": n_trials, "n_points": len(points)}, Report(title, front, {rates.STEM: parts})


def captioned_tables(table: DataFrame, setting: Mapping[str, Any]) -> list[Captioned]:
    """Return the tables of the report: sizes beside references, sizes by level and by N, power."""
    n, alpha, first = setting["n_examples"], rates.main_alpha(table), f"{setting['halves'][0]} halves"
    simulated = pick(table, method="simulation", setting=first)
    by_level = rates.wide_table(pick(simulated, n_examples=n, kind="size"), "alpha", "level {:g}")
    parts = [
        (f"Type I errors at level {alpha:g}, {n} examples, beside references", sizes_table(table, n, alpha)),
        (f"Type I errors at every level, {first}, {n} examples", by_level),
    ]
    by_n = pick(simulated, alpha=alpha, kind="size").sort_values("n_examples", kind="stable")
    if by_n["n_examples"].nunique() > 1:
        wide = rates.wide_table(by_n, "n_examples", "{} examples")
        parts.append((f"Type I errors at level {alpha:g}, {first}", wide))
    power = pick(simulated, n_examples=n, kind="power", alpha=alpha)
    if len(power):
        wide = rates.wide_table(power.assign(excess=-power["difference"]), "excess", "{:g}")
        parts.append((f"Power at level {alpha:g}, {first}, {n} examples, by B's excess error rate", wide))
    return parts


def sizes_table(table: DataFrame, n_examples: int, alpha: float) -> DataFrame:
    """Return the Type I errors beside their references, a row for each test and kind of halves."""
    import pandas as pd

    shown = [
        {
            "test": TESTS[row["test"]].label, "data sets": row["setting"], "by": row["method"],
            "Type I error": f"{row['rate']:.4f}" if row["method"] == "enumeration" else rates.with_interval(row),
            "reference": "" if row["reference"] != row["reference"] else f"{row['reference']:.4f}",
            "met": row["reference_met"], "degenerate": f"{row['degenerate_share']:.4f}",
            "verdict": row["verdict"],
        }
        for row in records(pick(table, kind="size", alpha=alpha, n_examples=n_examples))
    ]  # fmt: skip
    return pd.DataFrame(shown)


def findings(table: DataFrame, n_examples: int) -> list[str]:
    """Return in sentences which tests hold their level, which references are met, and who has most power."""
    simulated = pick(table, alpha=rates.main_alpha(table), n_examples=n_examples, method="simulation")
    lines = rates.setting_findings(pick(simulated, kind="size"))
    judged = table[table["reference_met"] != ""]
    if len(judged):
        missed = [
            f"{TESTS[row['test']].label}, {row['setting']}, {row['method']}, {row['kind']} at level "
            f"{row['alpha']:g}, {row['n_examples']} examples, true difference {row['difference']:g}: "
            f"{row['rate']:.4f} against {row['reference']:.4f}"
            for row in records(pick(judged, reference_met="no"))
        ]
        text = f"{len(judged) - len(missed)} of {len(judged)} references are met"
        lines.append(text + ": all but " * bool(missed) + "; ".join(missed) + ".")
    power = pick(simulated, kind="power")
    if len(power):
        lines.append(_power_finding(power, pick(simulated, kind="size", verdict="liberal")))
    return [*lines, rates.degenerate_finding(simulated)]


def _power_finding(power: DataFrame, liberal: DataFrame) -> str:
    apart = sorted(-power["difference"].unique())
    middle, setting = apart[len(apart) // 2], power["setting"].iloc[0]
    left_out = sorted(pick(liberal, setting=setting)["test"])
    fair = pick(power, difference=-middle, setting=setting)
    fair = fair[~fair["test"].isin(left_out)].sort_values("rate", ascending=False, kind="stable")
    told = [f"{TESTS[row['test']].label} {row['rate']:.2f}" for row in records(fair)]
    return (
        f"Power where B's error rate is {middle:g} higher ({setting}; liberal tests, "
        f"{', '.join(TESTS[test].label for test in left_out) or 'none'}, left out): {', '.join(told)}."
    )


def figures(out: Path, facts: Mapping[str, Any], width: float) -> Figures:
    """Return the figures of a finished study, from its table."""
    table, setting = read_table(out / rates.TABLE), facts["config"]["simulated_null"]
    alpha, n, first = rates.main_alpha(table), int(setting["n_examples"]), f"{setting['halves'][0]} halves"
    level = pick(table, method="simulation", alpha=alpha)
    source = SOURCE.format(*setting["errors"])
    trials = f"{int(level['n_trials'].max()):,} data sets a point. {rates.BARS}"
    sizes = pick(level, kind="size", n_examples=n)
    heads = {"exact": f"{n} examples, two exact halves", "random": "halves drawn at random"}
    titles = {f"{kind} halves": heads[kind] for kind in setting["halves"]}
    made: dict[str, tuple[Callable[[str], Any], str]] = {
        "type_i_errors": (
            partial(draw.reference_figure, sizes, titles, width),
            f"Type I errors of two-sided tests of learning algorithms at level {alpha:g}, beside references "
            f"(their bars: 1.96 standard errors). {source} {setting['n_resamples']} random splits, "
            f"{setting['n_folds']} folds, five halvings, one hold-out. {trials} {REFERENCE}",
        )
    }
    at_n = pick(level, n_examples=n, setting=first)
    if (at_n["kind"] == "power").any():
        at_n = at_n.assign(excess=0.0 - at_n["difference"])
        made["power"] = (
            partial(draw.curve_figure, at_n, "power", "excess", width),
            f"Power at level {alpha:g} against the excess of B's true error rate, {n} examples, {first}. "
            "Hollow, at 0: the Type I error; beyond it rejections count in which A showed fewer errors. A "
            f"test that is liberal at 0 gains nothing by its power. {source} {trials} {NO_LEARNING}",
        )
    by_n = pick(level, kind="size", setting=first)
    if by_n["n_examples"].nunique() > 1:
        made["type_i_errors_by_examples"] = (
            partial(draw.curve_figure, by_n, "size", "n_examples", width),
            f"Type I errors at level {alpha:g} against the number of examples of a data set, {first}. "
            f"{draw.FLOORED} {source} {trials}",
        )
    return made
