"""``study=learners``: estimators compared on one data set, as the wine report does, or on several."""

import itertools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from pandas import DataFrame

from harness.compare import learner_tables as tables
from harness.compare import wine_tables
from harness.compare.datasets import Dataset, facts_of_data, file_stem
from harness.compare.figure_algorithms import MEAN, critical_difference_figure, draw_seeds
from harness.compare.learner_tables import DESIGNS, TESTED, join_data_sets, of_data_set
from harness.compare.learner_tests import TESTS
from harness.compare.rank_tables import rank_estimators, score_words
from harness.compare.report_parts import Figures, Part, read_table, sections
from harness.compare.seeds import display_table, seeds_notes, seeds_table
from harness.compare.trials import ERROR, Scoring, Trials, run_trials, run_variance
from harness.compare.variance_sources import split_variance
from harness.compare.wine_tables import ERROR_RATES, is_wine_report
from harness.drawing.grid import Cell, Grid, Row, Space, named_row
from harness.drawing.layout import Axis
from harness.drawing.style import Look, draw_level, handle, level_handles, mark, style_of
from harness.evaluation.rates import fewest_discordances
from harness.results.names import pick
from harness.runtime.parallel import Run
from harness.runtime.run_folder import RunFolder
from harness.runtime.store import write_atomically
from harness.significance.mcnemar import mcnemar
from harness.writing.prose import paragraph, paragraphs, sentence
from harness.writing.report import Report, Section, bullets, table, text
from harness.writing.table_text import to_csv

RANKS = "tables/ranks.csv"
PUBLISHED: dict[str, Any] = {"marker": "x", "linestyle": "none", "color": "#d0103a", "markersize": 6}
SHOWN_FAILURES = 20
MOST_DISCORDANT = 2000


def run_study(
    run: RunFolder,
    stage_run: Callable[..., Run],
    seed: int,
    *,
    data: Sequence[Dataset],
    estimators: Mapping[str, Any],
    descriptions: Mapping[str, Any],
    missing: list[str],
    setting: Mapping[str, Any],
) -> tuple[dict[str, Any], Report]:
    """Compare estimators by a hold-out and 5x2cv, over many seeds; over several data sets by ranks too.

    `descriptions` say what each estimator was made from, `missing` which are left out. `setting` has
    `n_seeds`, `alpha`, `scorer`, `test_share`, `baseline` (None takes the first), and `n_splits`,
    `n_initialisations` and `settings` of :func:`harness.compare.trials.run_variance`; no split, no variance
    by source. Returned are facts for ``provenance.json`` and the report.
    """
    for note in missing:
        run.say(f"note: {note}")
    theirs = {name for name in estimators if "xgboost." in str(descriptions[name])}  # itself or a step of it
    xgboost = version_of("xgboost") if theirs else None
    scoring = Scoring(seed, setting["scorer"], setting["test_share"])

    def runs(stage: str, one: Dataset) -> Callable[[str], Run]:
        """Return what gives each estimator the run of its units on one data set."""
        made_from = [one.fingerprint(), *scoring, version_of("sklearn")]
        return lambda name: stage_run(
            stage, *made_from, xgboost if name in theirs else None, name, descriptions[name]
        )

    trials, spread = {}, {}
    sizes = {name: setting[name] for name in ("n_splits", "n_initialisations")}
    for one in data:
        where = f" on {one.name}" if len(data) > 1 else ""
        with run.clock.stage(f"trials{where}"):
            units = runs("trials", one)
            trials[one.name] = run_trials(one, estimators, units, setting["n_seeds"], scoring)
        if setting["n_splits"]:
            with run.clock.stage(f"variance by source{where}"):
                units = runs("variance", one)
                spread[one.name] = run_variance(one, estimators, setting["settings"], units, scoring, **sizes)
    facts = {
        "data": [facts_of_data(one, scoring.test_share) for one in data], "estimators": list(estimators),
        "xgboost": xgboost, "seed": seed,
        **{name: setting[name] for name in ("n_seeds", "alpha", "scorer", "baseline")},
    }  # fmt: skip
    with run.clock.stage("tables"):
        words = score_words(scoring.scorer)
        more = [split_variance(join_data_sets(spread, len(data)), estimators, words)] if spread else []
        return _write_tables(run.out, facts, trials, missing, more)


def version_of(module: str) -> str:
    """Return what a module says of its version: its distribution may have another name, as xgboost-cpu."""
    return str(getattr(import_module(module), "__version__", "unknown"))


def _write_tables(
    out: Path,
    facts: dict[str, Any],
    trials: Mapping[str, Mapping[str, Trials]],
    missing: Sequence[str],
    more: Sequence[Part],
) -> tuple[dict[str, Any], Report]:
    """Write every CSV; return the facts and the report."""
    n, alpha, scorer = len(trials), facts["alpha"], facts["scorer"]
    joined = tables.tabulate_comparison(trials, alpha, scorer)
    seconds = joined.pop("seconds")
    options = {name: facts[name] for name in ("scorer", "baseline", "alpha")}
    first = [rank_estimators(joined["scores"], **options)] if n > 1 else []
    parts = [*first, _shown(joined, seconds, facts), _seeds(joined["trials"], facts), *more]
    published = []
    if is_wine_report(list(trials), scorer):
        parts.append(Part(found=wine_tables.rate_sentences(joined["scores"])))
        published.append(wine_tables.published(joined["verdicts"]))
    for stem, made in [*joined.items(), *(one for part in parts for one in part.csvs.items())]:
        digits = None if stem == "tables/seeds" else "%.10g"
        write_atomically(out / f"{stem}.csv", to_csv(made, float_format=digits))
    warnings = [*missing, *count_warnings(trials), *(line for part in parts for line in part.warnings)]
    facts |= {
        "warnings": warnings, "n_failed_fits": len(joined["failures"]),
        "seconds_of_estimators": seconds.to_dict("records"),
    }  # fmt: skip
    captioned = {stem: own for part in parts for stem, own in part.tables.items()}
    found, told = [line for part in parts for line in part.found], list(map(sentence, warnings))
    body = [
        *sections(list(map(sentence, found)), describe(facts), told, itertools.chain(*captioned.values())),
        _failures(joined["failures"]),
        *published,
        Section("How to read the numbers", [bullets(paragraphs("compare", "how_to_read"))]),
    ]
    return facts, Report("Comparison of learning algorithms", body, captioned)


def _shown(joined: Mapping[str, DataFrame], seconds: DataFrame, facts: Mapping[str, Any]) -> Part:
    """Return tables 4, 5 and 6, and what the tests found."""
    rejections, scorer = joined["rejections"], facts["scorer"]
    rates, verdicts = tables.table_of_scores(joined["scores"]), tables.table_of_verdicts(rejections)
    if is_wine_report([one["name"] for one in facts["data"]], scorer):
        rates = wine_tables.add_published_rates(rates)
        verdicts = wine_tables.add_published_verdicts(verdicts, rejections)
    words = "Error rates" if scorer == ERROR else f"Scores ({scorer})"
    shown = {
        "table4": [(f"Table 4. {words} on the hold-out and in 5x2cv, over the seeds.", rates)],
        "table5": [("Table 5. Does the test reject, for each pair?", verdicts)],
        "table6": [(paragraph("compare", "seconds"), seconds)],
    }
    csvs = {"tables/table4": rates, "tables/table5": verdicts}
    return Part(shown, csvs, findings(rejections, joined["verdicts"], facts["alpha"]))


def findings(rejections: DataFrame, verdicts: DataFrame, alpha: float) -> list[str]:
    """Return what was found, one sentence a pair and one on what the hold-out can show."""
    judged = pick(rejections, test="five_by_two_f").to_dict("records")
    cells = pick(verdicts, test="mcnemar").dropna(subset="pvalue")
    told = {"m": (cells["only_a_wrong"] + cells["only_b_wrong"]).astype(int), "judged": judged}
    few = fewest_discordances(partial(mcnemar, variant="corrected"), alpha, MOST_DISCORDANT)
    return paragraphs("compare", "learners_found", few=few, **told)


def _seeds(trials: DataFrame, facts: Mapping[str, Any]) -> Part:
    """Return the table of seeds, of every data set where two estimators have scores for it."""
    made, baselines, warnings = {}, {}, []
    for sizes in facts["data"]:
        name, own = sizes["name"], of_data_set(trials, sizes["name"])
        scores = own.pivot(index="seed", columns="estimator", values="hold_out")[facts["estimators"]]
        scores = scores.loc[:, scores.count() >= 2]
        if scores.shape[1] < 2 or len(scores.dropna()) < 2:
            continue
        baselines[name] = str(facts["baseline"] if facts["baseline"] in scores else scores.columns[0])
        if facts["baseline"] not in (None, baselines[name]):
            warnings.append(
                f"{facts['baseline']} has no scores on the hold-outs of {name}; {baselines[name]} stands in "
                "for the baseline there"
            )
        made[name] = seeds_table(
            scores, baselines[name], higher_is_better=facts["scorer"] != ERROR, alpha=facts["alpha"],
            splits=(sizes["n_train"], sizes["n_test"]),
        )  # fmt: skip
    if not made:
        return Part(warnings=warnings)
    table, words = join_data_sets(made, len(facts["data"])), score_words(facts["scorer"])
    told = list(dict.fromkeys(baselines.values()))
    if len(told) > 1:
        told = [f"{baseline} on {name}" for name, baseline in baselines.items()]
    named = table.assign(algorithm=table["algorithm"] + " on " + table["data"]) if "data" in table else table
    heading = f"{words[0].upper()}{words[1:]} on the hold-outs of all seeds; baseline {', '.join(told)}."
    caption = " ".join([heading, *seeds_notes(named)])
    return Part({"seeds": [(caption, display_table(table))]}, {"tables/seeds": table}, warnings=warnings)


def _failures(failures: DataFrame) -> Section:
    if failures.empty:
        return Section("Failures", [text("None: every fit was trained and scored.")])
    keys = [key for key in ("data", "estimator", "reason") if key in failures]
    counted = failures.groupby(keys, sort=False).size().reset_index(name="fits")
    words = (
        f"{len(failures)} fits failed; their seeds have no verdict where they were needed. All are in "
        "failures.csv."
    )
    return Section("Failures", [table(counted.head(SHOWN_FAILURES), words)])


def count_warnings(trials: Mapping[str, Mapping[str, Trials]]) -> list[str]:
    """Return one sentence for each estimator and text of a warning, with the number of fits."""
    told = [
        (f"{name} on {data}" if len(trials) > 1 else name, text)
        for data, found in trials.items()
        for name, own in found.items()
        for _, _, text in own.warnings
    ]
    return [f"{name}: {n} fits warned: {text}" for (name, text), n in Counter(told).items()]


def describe(facts: Mapping[str, Any]) -> list[str]:
    """Return what was run, a sentence each, of what ``provenance.json`` holds."""
    return paragraphs("compare", "learners_about", facts=facts, data=data_facts(facts))


def data_facts(facts: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return what ``provenance.json`` says of each data set; older ones hold a single one, not a list."""
    return [facts["data"]] if isinstance(facts["data"], Mapping) else list(facts["data"])


def figures(out: Path, facts: Mapping[str, Any]) -> Figures:
    """Return the figures of a finished comparison: scores and rejections by data set, and ranks."""
    trials, rejections = read_table(out / "trials.csv"), read_table(out / "rejections.csv")
    data, scorer = data_facts(facts), facts["scorer"]
    published = ERROR_RATES if is_wine_report([one["name"] for one in data], scorer) else {}
    made: Figures = {}
    for one in data:
        end = "" if len(data) == 1 else f"_{file_stem(one['name'])}"
        about = " ".join(describe({**facts, "data": [one]}))
        own, shares = of_data_set(trials, one["name"]), of_data_set(rejections, one["name"])
        caption = paragraph(
            "compare", "scores_caption", score=score_words(scorer), n_seeds=own["seed"].nunique(),
            published=published, about=about,
        )  # fmt: skip
        made[f"figure_scores{end}"] = partial(scores_figure, own, scorer, published, caption)
        caption = paragraph("compare", "rejections_caption", alpha=facts["alpha"], about=about)
        made[f"figure_rejections{end}"] = partial(rejections_figure, shares, facts["alpha"], caption)
    if (out / RANKS).is_file():
        made["figure_critical_difference"] = partial(_ranks_figure, read_table(out / RANKS), describe(facts))
    return made


def _ranks_figure(ranks: DataFrame, about: Sequence[str], look: Look) -> tuple[list[Any], str]:
    figure, caption = critical_difference_figure(ranks, look)
    return [figure], " ".join([caption, *about])


def scores_figure(
    trials: DataFrame, scorer: str, published: Mapping[str, Sequence[float]], caption: str, look: Look
) -> tuple[list[Any], str]:
    """Return the scores of every estimator over the seeds, a line each: a panel per design."""
    names = list(dict.fromkeys(trials["estimator"]))
    designs = list(DESIGNS)

    def draw(axes: Any, rows: DataFrame, row: Row, space: Space) -> None:
        """Draw the scores of each estimator, those that were published, or that there are none."""
        design = space.x.column
        kept = {name: pick(trials, estimator=name)[design].dropna().to_numpy() for name in names}
        draw_seeds(axes, kept, (5, 95), "figure_scores", design)
        for place, name in enumerate(names):
            if name in published:
                axes.plot(published[name][designs.index(design)], place, zorder=5, **PUBLISHED)

    values = trials[designs].to_numpy(float)
    low, high = np.nanquantile(values, [0, 1]) if np.isfinite(values).any() else (0.0, 1.0)
    room = 0.05 * (high - low) or 0.01
    ends = (float(low - room), float(high + room))
    label = score_words(scorer)
    cells = [
        Cell(head, {}, x=Axis(design, label, scale="linear", ends=ends)) for design, head in DESIGNS.items()
    ]
    words = [name.replace("_", " ") for name in names]
    handles = [mark("mean", **MEAN)]
    if set(published) & set(names):
        handles.append(mark("published", **PUBLISHED))
    axis, rows = Axis("", ""), [named_row(cells, words)]
    grid = Grid(trials, axis, rows, "", draw, handles, names=words, empty="no score", caption=caption)
    return grid.figure(look)


def rejections_figure(rejections: DataFrame, alpha: float, caption: str, look: Look) -> tuple[list[Any], str]:
    """Return the share of seeds on which each test rejects: a line per pair."""
    pairs = list(dict.fromkeys(zip(rejections["a"], rejections["b"], strict=True)))
    styles = {test: style_of(test)._replace(dashes="none") for test in TESTED}

    def draw(axes: Any, rows: DataFrame, row: Row, space: Space) -> None:
        """Draw every test a little above or below its line."""
        draw_level(axes, alpha, along="x", tolerance=False)
        for slot, (test, style) in enumerate(styles.items()):
            part = pick(rows, test=test).dropna(subset="rate")
            lines = [pairs.index(pair) for pair in zip(part["a"], part["b"], strict=True)]
            heights = np.array(lines) + 0.18 * (slot - (len(TESTED) - 1) / 2)
            bars = np.abs(part[["low", "high"]].to_numpy() - part[["rate"]].to_numpy()).T
            drawn = style.line(gid=f"points:{test}")
            axes.errorbar(part["rate"], heights, xerr=bars, elinewidth=1, capsize=2, **drawn)

    highest = rejections["high"].max()
    right = 1.01 if not highest < 0.85 else max(0.25, 1.15 * highest)
    axis = Axis("rate", "share of seeds that reject", scale="linear", ends=(-0.01 * right, right))
    names = [f"{a} – {b}".replace("_", " ") for a, b in pairs]
    handles = [handle(style, TESTS[test].label) for test, style in styles.items()]
    rows = [named_row([Cell("", {})], names)]
    handles += level_handles(alpha, tolerance=False)
    return Grid(rejections, axis, rows, "", draw, handles, names=names, caption=caption).figure(look)
