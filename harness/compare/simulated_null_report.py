"""Tables, figures and summary of ``study=simulated_null``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.compare.figure_algorithm_rates import FLOOR, curve_figure, reference_figure
from harness.compare.learner_tests import TESTS
from harness.compare.report_parts import (
    BARS,
    TABLE,
    draw,
    main_alpha,
    name_tests,
    read_table,
    records,
    wide_table,
    with_interval,
    write_summary,
)
from harness.writing.table_text import write_tables

if TYPE_CHECKING:
    from pandas import DataFrame

SOURCE = (
    "Simulated data sets of Dietterich (1998): A errs with probability {low:g} on one half of the examples "
    "and {high:g} on the other, B the other way round; which examples either gets wrong is drawn once for a "
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


def sizes_table(table: DataFrame, n_examples: int, alpha: float) -> DataFrame:
    """Return the Type I errors beside their references, a row for each test and kind of halves."""
    import pandas as pd

    chosen = table[
        (table["kind"] == "size") & (table["alpha"] == alpha) & (table["n_examples"] == n_examples)
    ]
    return pd.DataFrame(
        [
            {
                "test": TESTS[row["test"]].label,
                "data sets": row["setting"],
                "by": row["method"],
                "Type I error": f"{row['rate']:.4f}"
                if row["method"] == "enumeration"
                else with_interval(row),
                "reference": "" if row["reference"] != row["reference"] else f"{row['reference']:.4f}",
                "met": row["reference_met"],
                "degenerate": f"{row['degenerate_share']:.4f}",
                "verdict": row["verdict"],
            }
            for row in records(chosen)
        ]
    )


def write_report(
    out: Path, table: DataFrame, setting: Mapping[str, Any], figure: Mapping[str, Any]
) -> list[str]:
    """Write ``tables/``, ``figures/`` and ``summary.md``; return what the command says at its end."""
    n, alpha = int(setting["n_examples"]), main_alpha(list(dict.fromkeys(table["alpha"])))
    simulated = table[table["method"] == "simulation"]
    first = f"{setting['halves'][0]} halves"
    at_n = simulated[(simulated["n_examples"] == n) & (simulated["setting"] == first)]
    sizes = sizes_table(table, n, alpha)
    parts = [(f"Type I errors at level {alpha:g}, {n} examples, beside references", sizes)]
    by_level = wide_table(at_n[at_n["kind"] == "size"], "alpha", "level {:g}")
    parts.append((f"Type I errors at every level, {first}, {n} examples", by_level))
    level = simulated[simulated["alpha"] == alpha]
    by_n = level[(level["kind"] == "size") & (level["setting"] == first)].sort_values(
        "n_examples", kind="stable"
    )
    if by_n["n_examples"].nunique() > 1:
        parts.append(
            (f"Type I errors at level {alpha:g}, {first}", wide_table(by_n, "n_examples", "{} examples"))
        )
    power = at_n[(at_n["kind"] == "power") & (at_n["alpha"] == alpha)]
    if len(power):
        power = power.assign(apart=-power["difference"])
        parts.append((f"Power at level {alpha:g}, {first}, {n} examples, by B's excess error rate",
                      wide_table(power, "apart", "{:g}")))  # fmt: skip
    write_tables(out / "tables", "algorithm_size_power", parts)
    draw_figures(out, setting, **figure)
    lines = findings(table, n, alpha)
    source = SOURCE.format(low=setting["errors"][0], high=setting["errors"][1])
    heading = "Size and power of tests of learning algorithms: simulated data sets"
    about = [source, NO_LEARNING, REFERENCE]
    write_summary(out, heading, found=lines, about=about, warnings=[], tables=parts)
    return lines


def draw_figures(
    out: Path, setting: Mapping[str, Any], *, formats: Sequence[str], dpi: float, width: float
) -> list[Path]:
    """Draw every figure from the table in `out`, and write the captions."""
    table = read_table(out / TABLE)
    alpha = main_alpha(list(dict.fromkeys(table["alpha"])))
    level = table[(table["method"] == "simulation") & (table["alpha"] == alpha)]
    return draw(out, _figures(level, setting, alpha, float(width)), formats, dpi)


def findings(table: DataFrame, n_examples: int, alpha: float) -> list[str]:
    """Return in sentences which tests hold their level, which references are met, and who has most power."""
    at = table[(table["alpha"] == alpha) & (table["n_examples"] == n_examples)]
    simulated = at[at["method"] == "simulation"]
    lines = []
    for setting in dict.fromkeys(simulated["setting"]):
        sizes = simulated[(simulated["kind"] == "size") & (simulated["setting"] == setting)]
        for word in ("holds", "liberal", "conservative", "undecided"):
            chosen = sizes[sizes["verdict"] == word]
            if len(chosen):
                lines.append(f"{setting}, level {alpha:g}, {word}: {_rates(chosen, 3)}.")
    judged = table[table["reference_met"] != ""]
    if len(judged):
        missed = judged[judged["reference_met"] == "no"]
        text = f"{len(judged) - len(missed)} of {len(judged)} references are met"
        named = [
            f"{TESTS[row['test']].label}, {row['setting']}, {row['method']}, {row['kind']} at level "
            f"{row['alpha']:g}, {row['n_examples']} examples, true difference {row['difference']:g}: "
            f"{row['rate']:.4f} against {row['reference']:.4f}"
            for row in records(missed)
        ]
        lines.append(text + (": all but " + "; ".join(named) if named else "") + ".")
    lines += _power_finding(simulated)
    worst = simulated.sort_values("degenerate_share", kind="stable").iloc[-1]
    lines.append(
        f"Data sets on which a test has no verdict of its own (counted as not rejected): at most "
        f"{100 * worst['degenerate_share']:.2g} % of a point's ({TESTS[worst['test']].label})."
    )
    return lines


def _power_finding(simulated: DataFrame) -> list[str]:
    power = simulated[simulated["kind"] == "power"]
    if power.empty:
        return []
    middle = sorted(-power["difference"].unique())[power["difference"].nunique() // 2]
    null = simulated[simulated["kind"] == "size"]
    setting = power["setting"].iloc[0]
    liberal = set(null[(null["setting"] == setting) & (null["verdict"] == "liberal")]["test"])
    at = power[(power["difference"] == -middle) & (power["setting"] == setting)]
    fair = at[~at["test"].isin(liberal)].sort_values("rate", ascending=False, kind="stable")
    return [
        f"Power where B's error rate is {middle:g} higher ({setting}; liberal tests, "
        f"{name_tests(sorted(liberal))}, left out): {_rates(fair, 2)}."
    ]


def _rates(rows: DataFrame, digits: int) -> str:
    return ", ".join(
        f"{TESTS[test].label} {rate:.{digits}f}"
        for test, rate in zip(rows["test"], rows["rate"], strict=True)
    )


def _figures(
    level: DataFrame, setting: Mapping[str, Any], alpha: float, width: float
) -> dict[str, tuple[Any, str]]:
    n, first = int(setting["n_examples"]), f"{setting['halves'][0]} halves"
    source = SOURCE.format(low=setting["errors"][0], high=setting["errors"][1])
    trials = f"{int(level['n_trials'].max()):,} data sets a point. {BARS}"
    low = f"Rates below {FLOOR:g} are drawn there."
    sizes = level[(level["kind"] == "size") & (level["n_examples"] == n)]
    titles = {f"{kind} halves": _heads(kind, n) for kind in setting["halves"]}
    captions = {
        "type_i_errors": f"Type I errors of two-sided tests of learning algorithms at level {alpha:g}, "
        f"beside references (their bars: 1.96 standard errors). {source} "
        f"{setting['n_resamples']} random splits, {setting['n_folds']} folds, five halvings, one hold-out. "
        f"{trials} {REFERENCE}",
    }
    made: dict[str, tuple[Any, str]] = {
        "type_i_errors": (
            lambda: reference_figure(sizes, titles, captions["type_i_errors"], width, alpha),
            captions["type_i_errors"],
        )
    }
    at_n = level[(level["n_examples"] == n) & (level["setting"] == first)]
    if (at_n["kind"] == "power").any():
        captions["power"] = (
            f"Power at level {alpha:g} against the excess of B's true error rate, {n} examples, {first}. "
            f"Hollow, at 0: the Type I error; beyond it rejections count in which A showed fewer errors. A "
            f"test that is liberal at 0 gains nothing by its power. {source} {trials} {NO_LEARNING}"
        )
        made["power"] = (
            lambda: _curves(at_n, [first], captions["power"], width, "power", alpha,
                            lambda rows: 0.0 - rows["difference"].to_numpy(float),
                            "true error rate of B minus A", "linear"),
            captions["power"],
        )  # fmt: skip
    by_n = level[(level["kind"] == "size") & (level["setting"] == first)]
    if by_n["n_examples"].nunique() > 1:
        captions["size_n"] = (
            f"Type I errors at level {alpha:g} against the number of examples of a data set, {first}. {low} "
            f"{source} {trials}"
        )
        made["type_i_errors_by_examples"] = (
            lambda: _curves(by_n, [first], captions["size_n"], width, "size", alpha,
                            lambda rows: rows["n_examples"].to_numpy(float), "examples in a data set", "log"),
            captions["size_n"],
        )  # fmt: skip
    return made


def _heads(kind: str, n_examples: int) -> str:
    return {"exact": f"{n_examples} examples, two exact halves"}.get(kind, "halves drawn at random")


def _curves(
    rows: DataFrame, settings: Sequence[str], caption: str, width: float, kind: str, alpha: float,
    x: Any, x_label: str, x_scale: str,
) -> Any:  # fmt: skip
    return curve_figure(
        rows, settings, caption, width, x=x, x_label=x_label, x_scale=x_scale, kind=kind, alpha=alpha
    )
