"""``study=simulated_null``: size and power of the tests on the simulated data sets of Dietterich (1998)."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pandas import DataFrame
from scipy.stats import binom, hypergeom

from harness.compare import learner_tests as lt
from harness.compare import rates
from harness.compare.learner_tests import HOLD_OUT, TESTS, Differences, Experiment
from harness.compare.report_parts import PUBLISHED, Figures, read_table, records, sections
from harness.errors import UserError
from harness.evaluation.rates import write_table
from harness.measures import Floats, Ints
from harness.results.names import pick
from harness.runtime.parallel import Run
from harness.runtime.run_folder import RunFolder
from harness.seeding import rng
from harness.writing.prose import paragraph, paragraphs
from harness.writing.report import Captioned, Report
from harness.writing.table_text import show, with_bounds

BLOCK = 1000
"""Trials that share a generator; a block is always drawn whole, so that more trials extend fewer."""
HALVES = ("exact", "random")
NEGLIGIBLE = 1e-14


class Point(NamedTuple):
    """What the data sets of a point have in common.

    `halves`: whether just half of the examples lie in either region ("exact"), or each does with probability
    1/2 ("random"). `low` and `high` are the error probabilities of the regions at difference 0; `difference`
    >= 0 is the true error rate of B minus that of A; a random split tests on `test_share` of the
    `n_examples`.
    """

    halves: str
    low: float
    high: float
    difference: float
    n_examples: int
    test_share: float
    n_resamples: int
    n_folds: int


N_REFERENCE = 20_000
"""Data sets behind each reference."""
REFERENCES, ENUMERATED = PUBLISHED["simulated"], PUBLISHED["enumerated"]
STANDARD = {
    halves: Point(halves, 0.05, 0.15, 0.0, 300, 1 / 3, n_resamples=30, n_folds=10) for halves in REFERENCES
}


def reference(point: Point, test: str, alpha: float, enumerated: bool) -> tuple[float, float]:
    """Return what another program measured as a Type I error and its standard error; NaN where it did not."""
    if alpha != 0.05 or point != STANDARD[point.halves]:
        return np.nan, np.nan
    if enumerated:
        known = point.halves == "random" and test in ENUMERATED
        return (ENUMERATED[test], 0.0) if known else (np.nan, np.nan)
    value = REFERENCES[point.halves].get(test, np.nan)
    return value, float(np.sqrt(value * (1 - value) / N_REFERENCE))


def check_point(point: Point) -> None:
    """Raise UserError unless data sets of this kind can be drawn."""
    low, high = point.low, point.high
    if not 0 <= low <= high <= 1:
        raise UserError(f"errors: {low!r}, {high!r} is not allowed; 0 <= first <= second <= 1 is")
    most = round(2 * min(low, 1 - high), 12)
    if not 0 <= point.difference <= most:
        raise UserError(
            f"difference: {point.difference!r} is not allowed with error probabilities {low!r} and {high!r}; "
            f"0 to {most:g} is"
        )
    lt.check_design(point.n_examples, point.test_share, point.n_folds)


def region_errors(point: Point) -> Floats:
    """Return the error probabilities, rows A and B, columns the two regions: the first is easier for A."""
    half = point.difference / 2
    errors = np.array([[point.low - half, point.high - half], [point.high + half, point.low + half]])
    return errors.clip(0, 1)


def draw_data_sets(point: Point, n_trials: int, generator: np.random.Generator) -> Ints:
    """Draw data sets, each as its numbers of examples that only A, only B, and both get wrong."""
    half = point.n_examples // 2
    first = generator.binomial(point.n_examples, 0.5, n_trials) if point.halves == "random" else half
    first = np.broadcast_to(first, n_trials)
    drawn = np.zeros((n_trials, 3), dtype=np.int64)
    for sizes, (a, b) in zip((first, point.n_examples - first), region_errors(point).T, strict=True):
        wrong_a = generator.binomial(sizes, a)
        both = generator.binomial(wrong_a, b)
        only_b = generator.binomial(sizes - wrong_a, b)
        drawn += np.stack([wrong_a - both, only_b, both], axis=-1)
    return drawn


def deal(cells: Ints, n_examples: int, sizes: Sequence[int], generator: np.random.Generator) -> Ints:
    """Deal the examples of each data set at random to disjoint parts of the given sizes.

    `cells`, shape (n_trials, n_cells), counts those of each kind, the others being of none; returned is how
    many of each kind a part got, shape (n_trials, n_parts, n_cells): multivariate hypergeometric.
    """
    left = np.concatenate([cells, n_examples - cells.sum(axis=-1, keepdims=True)], axis=-1)
    dealt = np.zeros((len(cells), len(sizes), cells.shape[-1]), dtype=np.int64)
    for part, size in enumerate(sizes):
        if part == len(sizes) - 1 and sum(sizes) == n_examples:
            dealt[:, part] = left[:, :-1]
            break
        wanted = np.full(len(cells), size)
        rest = left.sum(axis=-1)
        for kind in range(cells.shape[-1]):
            rest = rest - left[:, kind]
            got = generator.hypergeometric(left[:, kind], rest, wanted)
            dealt[:, part, kind], wanted = got, wanted - got
        left[:, :-1] -= dealt[:, part]
        left[:, -1] -= wanted
    return dealt


def draw_differences(point: Point, n_trials: int, generator: np.random.Generator) -> Differences:
    """Draw data sets and what the tests see of each: how many discordant examples fall into a test set."""
    n = point.n_examples
    n_train, n_test = lt.split_sizes(n, point.test_share)
    cells = draw_data_sets(point, n_trials, generator)
    alone = cells[:, :2]
    halves_of, folds = [n // 2, n // 2], lt.fold_sizes(n, point.n_folds)
    resamples = np.stack([deal(alone, n, [n_test], generator)[:, 0] for _ in range(point.n_resamples)], 1)
    halves = np.stack([deal(alone, n, halves_of, generator) for _ in range(lt.N_HALVINGS)], 1)
    dealt = ((resamples, n_test), (deal(alone, n, folds, generator), np.array(folds)), (halves, n // 2))
    hold_out = lt.as_outcomes(deal(cells, n, [n_test], generator)[:, 0], n_test)
    one, two, three = ((x[..., 0] - x[..., 1]) / size for x, size in dealt)
    return Differences(one, two, three, hold_out, n_train, n_test)


def simulate_block(point: Point, experiment: Experiment, start: int, stop: int) -> dict[str, NDArray[Any]]:
    """Return the rejections on the data sets `start` to `stop` - 1, all of one block of 1000."""
    generator = rng(experiment.seed, "simulated null", *point, start // BLOCK)
    seen = lt.first_trials(draw_differences(point, BLOCK, generator), stop - start)
    return lt.count_rejections(seen, experiment.tests, experiment.alphas)


def enumerate_hold_out(point: Point, tests: Sequence[str], alphas: Sequence[float]) -> dict[str, Floats]:
    """Return the exact rejection probabilities of `tests` that see one hold-out, as counts of rejections."""
    cells, weight = hold_out_law(point)
    n_train, n_test = lt.split_sizes(point.n_examples, point.test_share)
    nothing = np.zeros((len(cells), 0))
    seen = Differences(nothing, nothing, nothing, lt.as_outcomes(cells, n_test), n_train, n_test)
    return lt.count_rejections(seen, tests, alphas, weight)


def hold_out_law(point: Point) -> tuple[Ints, Floats]:
    """Return the (only A, only B, both wrong) of a hold-out, shape (n, 3), and their probabilities (n,).

    The generating function of the three numbers is ``sum_k P(k) g_1^k g_2^(n - k)``, k the tested examples of
    the first region and g the generating function of one example of a region; its values at roots of
    unity are Fourier transformed.
    """
    n = lt.split_sizes(point.n_examples, point.test_share)[1]
    a, b = region_errors(point)
    chances = np.stack([a * (1 - b), b * (1 - a), a * b], axis=-1)  # (regions, cells)
    reach = (binom.isf(NEGLIGIBLE, n, chances.max(axis=0)).astype(int) + 2).clip(max=n + 1)
    roots = np.meshgrid(*(np.exp(-2j * np.pi * np.arange(k) / k) for k in reach), indexing="ij")
    one, other = (1 + sum(p * (root - 1) for p, root in zip(row, roots, strict=True)) for row in chances)
    if point.halves == "random":
        transform = ((one + other) / 2) ** n
    else:
        weights = hypergeom.pmf(np.arange(n + 1), point.n_examples, point.n_examples // 2, n)
        transform, power = np.zeros_like(one), np.ones_like(one)
        for k in range(n + 1):  # Horner's scheme; `power` is that of the second region
            transform = transform * one + weights[n - k] * power
            power = power * other
    law = np.fft.ifftn(transform).real
    cells = np.argwhere(law > NEGLIGIBLE)
    return cells, law[tuple(cells.T)]


def list_points(setting: Mapping[str, Any]) -> list[Point]:
    """Return what is simulated: all halves and differences at `n_examples`, then other sizes; check them."""
    halves, n_examples = setting["halves"], setting["n_examples"]
    if len(setting["errors"]) != 2:
        raise UserError(f"errors: {list(setting['errors'])!r} is not allowed; two error probabilities are")
    low, high = setting["errors"]
    apart = dict.fromkeys((0.0, *setting["differences"]))
    grid = [(kind, difference, n_examples) for kind in halves for difference in apart]
    grid += [(halves[0], 0.0, n) for n in setting["sizes"] if n != n_examples]
    design: list[Any] = [setting[name] for name in ("test_share", "n_resamples", "n_folds")]
    points = [Point(kind, low, high, difference, n, *design) for kind, difference, n in grid]
    for point in points:
        check_point(point)
    return points


def measure(points: Sequence[Point], experiment: Experiment, run: Run) -> DataFrame:
    """Return the table of sizes and powers at the points."""
    step, words = BLOCK, "simulated data sets"
    counted = experiment.count_at(points, step, run, simulate_block, description=words)
    made: list[dict[str, Any]] = []
    for point, counts in zip(points, counted, strict=True):
        made += _rows_of_point(point, experiment, counts)
    return rates.tabulate(made)


def _rows_of_point(point: Point, experiment: Experiment, counts: Mapping[str, Any]) -> list[dict[str, Any]]:
    key = {
        "study": "simulated_null", "setting": f"{point.halves} halves", "n_examples": point.n_examples,
        "difference": 0.0 - point.difference, "difference_se": 0.0,  # A minus B; no negative zero
    }  # fmt: skip
    power = point.difference > 0
    held = experiment._replace(tests=[test for test in experiment.tests if test in HOLD_OUT])
    chances = enumerate_hold_out(point, held.tests, held.alphas) if held.tests else {}
    exact = rates.rows(held, key, chances, power, exact=True)
    truth = {(row["test"], row["alpha"]): (row["rate"], 0.0) for row in exact}
    made = rates.rows(experiment, key, counts, power, exact=False) + exact
    for row in made:
        place, is_exact = (row["test"], row["alpha"]), row["method"] == "enumeration"
        known = None if is_exact else truth.get(place)
        row["reference"], row["reference_se"] = known or reference(point, *place, is_exact)
    return made


def run_study(
    run: RunFolder, stage_run: Callable[..., Run], seed: int, *, experiment: Experiment, **setting: Any
) -> tuple[dict[str, Any], Report]:
    """Run the study and write its table; return facts for ``provenance.json`` and the report."""
    points = list_points(setting)
    tests, alphas, n_trials, _ = experiment
    with run.clock.stage(f"{len(points)} points, {n_trials} data sets each"):
        table = measure(points, experiment, stage_run("simulated null", seed, tests, alphas))
    write_table(table, run.out / rates.TABLE)
    low, high = setting["errors"]
    about = paragraphs("compare", "simulated_about", low=low, high=high)
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
    shown = [
        {
            "test": TESTS[row["test"]].label, "data sets": row["setting"], "by": row["method"],
            "Type I error": show(row["rate"], 4)
            if row["method"] == "enumeration" else with_bounds(row["rate"], row["mc_low"], row["mc_high"]),
            "reference": show(row["reference"], 4), "met": row["reference_met"],
            "degenerate": show(row["degenerate_share"], 4), "verdict": row["verdict"],
        }
        for row in records(pick(table, kind="size", alpha=alpha, n_examples=n_examples))
    ]  # fmt: skip
    return DataFrame(shown)


def findings(table: DataFrame, n_examples: int) -> list[str]:
    """Return in sentences which tests hold their level, which references are met, and who has most power."""
    table = table.assign(label=[TESTS[test].label for test in table["test"]])
    simulated = pick(table, alpha=rates.main_alpha(table), n_examples=n_examples, method="simulation")
    lines = rates.setting_findings(pick(simulated, kind="size"))
    judged = table[table["reference_met"] != ""]
    if len(judged):
        missed = records(pick(judged, reference_met="no"))
        lines += paragraphs("compare", "simulated_references", judged=len(judged), missed=missed)
    power = pick(simulated, kind="power")
    if len(power):
        lines.append(_power_finding(power, pick(simulated, kind="size", verdict="liberal")))
    return [*lines, rates.degenerate_finding(simulated)]


def _power_finding(power: DataFrame, liberal: DataFrame) -> str:
    apart = sorted(-power["difference"].unique())
    middle, setting = apart[len(apart) // 2], power["setting"].iloc[0]
    fair = pick(power, difference=-middle, setting=setting)
    fair = fair[~fair["test"].isin(pick(liberal, setting=setting)["test"])]
    fair = fair.sort_values("rate", ascending=False, kind="stable")
    ends = {"best": fair.iloc[0], "worst": fair.iloc[-1]}
    return paragraph("compare", "simulated_powers", middle=middle, setting=setting, **ends)


def figures(out: Path, facts: Mapping[str, Any]) -> Figures:
    """Return the figures of a finished study, from its table."""
    table, setting = read_table(out / rates.TABLE), facts["config"]["simulated_null"]
    alpha, n, first = rates.main_alpha(table), int(setting["n_examples"]), f"{setting['halves'][0]} halves"
    level = pick(table, method="simulation", alpha=alpha)
    low, high = setting["errors"]
    source, no_learning, referred = paragraphs("compare", "simulated_about", low=low, high=high)
    trials = f"{int(level['n_trials'].max()):,} data sets a point. {rates.BARS}"
    say = partial(paragraph, "compare", alpha=alpha)
    sizes = pick(level, kind="size", n_examples=n)
    heads = {"exact": f"{n} examples, two exact halves", "random": "halves drawn at random"}
    titles = {f"{kind} halves": heads[kind] for kind in setting["halves"]}
    caption = say("simulated_sizes", setting=setting, source=source, trials=trials, reference=referred)
    made: Figures = {"type_i_errors": partial(rates.reference_figure, sizes, titles, caption)}
    at_n = pick(level, n_examples=n, setting=first)
    if (at_n["kind"] == "power").any():
        at_n = at_n.assign(excess=0.0 - at_n["difference"])
        caption = " ".join([say("simulated_power", n=n, first=first), source, trials, no_learning])
        made["power"] = partial(rates.curve_figure, at_n, "power", "excess", caption)
    by_n = pick(level, kind="size", setting=first)
    if by_n["n_examples"].nunique() > 1:
        told = {"first": first, "floored": rates.FLOORED, "source": source, "trials": trials}
        caption = say("simulated_by_examples", **told)
        made["type_i_errors_by_examples"] = partial(rates.curve_figure, by_n, "size", "n_examples", caption)
    return made
