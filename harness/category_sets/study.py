"""``harness run experiment=rr0434``: two classifiers compared over sets of categories."""

import functools
import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from harness.balance import Balance, label_documents
from harness.category_sets.calibration import calibrate, calibrate_random
from harness.category_sets.choice import Sets, disjoint_sets, random_sets
from harness.category_sets.expected import disjoint_variance, subset_overlap
from harness.category_sets.options import check_run
from harness.category_sets.patterns import find_patterns, outcome_codes
from harness.category_sets.report import draw_figures, main_findings, make_report
from harness.category_sets.table3 import resample_sets, tabulate, tabulate_histograms
from harness.category_sets.variants import calibration_variants, make_population, table_variants
from harness.evaluation.rates import write_table
from harness.measures import check_measure
from harness.outcomes import Population, count_outcomes, write_outcomes
from harness.run.study import Source, prepare
from harness.run.training import NATURAL, Trained, pair_models, tabulate_categories, tabulate_models, train
from harness.runtime.parallel import Workers, make_run
from harness.runtime.provenance import Clock
from harness.runtime.run_folder import Say, open_run
from harness.runtime.store import Store
from harness.writing.report import write_report

if TYPE_CHECKING:
    import pandas as pd


def run_category_sets(
    *,
    out: Path,
    config: Mapping[str, Any],
    balances: Mapping[str, Balance],
    pairs: Sequence[str],
    training: Mapping[str, Any],
    options: Mapping[str, Any],
    n_replicates: int,
    seed: int,
    device: str,
    population_file: Path | None,
    figure: Mapping[str, Any],
    cache: Path | None,
    workers: Workers,
    say: Say = print,
) -> None:
    """Compare two models over sets of categories and leave tables, figures and summary in `out`.

    A folder that holds the same run is finished where it was left; what is kept in `cache` is not computed
    again.
    """
    check_run(pairs, training["split"]["n_test"], n_replicates, list(balances), population_file is not None)
    (pair,) = pair_models(pairs, training["models"])
    with open_run(out, config, say) as run:
        if run is None:
            return
        stage_run = functools.partial(make_run, workers, Store(cache))
        with run.clock.stage("corpus, split and features"):
            source = prepare(
                balances=balances, seed=seed, features_key=config["features"], keep_test=True, **training
            )
        names = source.categories[NATURAL].names
        sets = disjoint_sets(len(names), options["size"], seed)
        facts = source.facts | {
            "category_sets": {name: [names[i] for i in members] for name, members in sets.items()}
        }
        warnings = source.warnings + warn(source.facts["split"], sets, options, len(names))
        run.begin(config, options["calibration"]["n_draws"], facts, warnings)
        true, test = decide_both(source, training["models"], pair, seed, device, stage_run, run.clock, out)
        for stem, table in resample(
            true, test, sets, options=options, n_replicates=n_replicates, seed=seed, stage_run=stage_run,
            clock=run.clock,
        ).items():  # fmt: skip
            write_table(table, out / f"{stem}.csv")
        with run.clock.stage("figures and summary"):
            drawn = draw_figures(out, **figure)
            write_report(out, make_report(out, run.facts), run.facts)
        run.tell(drawn, main_findings(out))


def warn(split: Mapping[str, int], sets: Sets, options: Mapping[str, Any], n_categories: int) -> list[str]:
    """Return what a reader must know: sets that are smaller than wanted, and a small D_true."""
    n_test, n_true, size = split["n_test"], split["n_true"], len(sets["X"])
    warnings = []
    if size < options["size"]:
        warnings.append(
            f"sets X, Y and Z hold {size} categories each, not {options['size']}: three disjoint sets of the "
            f"{n_categories} categories cannot hold more"
        )
    if n_test > 0.05 * n_true:
        warnings.append(
            f"D_true is small ({n_true:,} documents, n/|D_true| = {n_test / n_true:.2f}): two subsets of it "
            f"share {subset_overlap(n_test, n_true):.2f} of their documents, and z_te - z_true of Table 3 "
            f"has variance {disjoint_variance(n_test, n_true):.2f} without any bias, for D_te lies outside "
            "D_true; the calibration, which draws D_te from D_true, is not affected"
        )
    if options["calibration"]["n_draws"] < 500:
        warnings.append(
            f"{options['calibration']['n_draws']} draws of D_te are few for a verdict on a bias; at least "
            "500 are advised"
        )
    return warnings


def resample(
    true: NDArray[np.uint8],
    test: NDArray[np.uint8],
    sets: Sets,
    *,
    options: Mapping[str, Any],
    n_replicates: int,
    seed: int,
    stage_run: Callable[..., Any],
    clock: Clock,
) -> dict[str, "pd.DataFrame"]:
    """Return ``table3``, ``histograms`` and ``calibration`` of the cells of D_true and D_te.

    Parameters
    ----------
    true, test : uint8 arrays, shape (n_documents, n_categories)
    """
    import pandas as pd

    costs = check_measure("dcf", **options["costs"])
    averages, resampling, calibration = options["averages"], options["resampling"], options["calibration"]
    key = [hash_cells(true), hash_cells(test), {name: m.tolist() for name, m in sets.items()}, costs, seed]
    with clock.stage("Table 3"):
        populations = {
            name: (
                make_population(find_patterns(test[:, members]), costs),
                make_population(find_patterns(true[:, members]), costs),
            )
            for name, members in sets.items()
        }
        resampled = resample_sets(
            populations,
            n_replicates=n_replicates,
            n_subsets=options["n_subsets"],
            seed=seed,
            run=stage_run("category_sets", *key, n_replicates, options["n_subsets"]),
        )
        variants = table_variants(averages, resampling)
        table = tabulate(populations, resampled, variants, costs)
        histograms = tabulate_histograms(resampled, variants)
    sizes = {"n_documents": len(test), "seed": seed, **calibration}
    n_random = sizes.pop("n_random")
    judged = calibration_variants(averages, resampling)
    with clock.stage("calibration"):
        truths = {name: pair[1] for name, pair in populations.items()}
        run = stage_run("category_sets_calibration", *key, sizes, [list(variant) for variant in judged])
        found = [calibrate(truths, judged, costs, run=run, **sizes)]
        if n_random:
            others = random_sets(true.shape[1], len(sets["X"]), n_random, seed)
            sizes.pop("n_replicates")
            run = stage_run("category_sets_random", *key, sizes, list(averages))
            found.append(calibrate_random(true, others, averages, costs, run=run, **sizes))
    return {
        "table3": table,
        "histograms": histograms,
        "calibration": pd.concat(found, ignore_index=True),
    }


def hash_cells(codes: NDArray[np.uint8]) -> str:
    """Return the SHA-256 of the cells of a population's documents."""
    return hashlib.sha256(repr(codes.shape).encode() + np.ascontiguousarray(codes).tobytes()).hexdigest()


def decide_both(
    source: Source,
    models: Mapping[str, Any],
    pair: tuple[str, str, str],
    seed: int,
    device: str,
    stage_run: Callable[..., Any],
    clock: Clock,
    out: Path,
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Train both models, write what they do on D_true, and return the cells of every document.

    Returns
    -------
    true, test : uint8 arrays, shape (n_documents, n_categories)
        Cells of D_true and of D_te; see :func:`harness.category_sets.patterns.outcome_codes`.
    """
    categories, documents = source.categories[NATURAL], source.documents
    n_true = source.facts["split"]["n_true"]
    decisions, on_true = [], {}
    for name in pair[1:]:
        trained = train(
            name,
            models[name],
            documents,
            categories,
            make_run=stage_run,
            seed=seed,
            device=device,
            stage=clock.steps(f"{name} on {len(categories.names)} categories"),
        )
        decisions.append(trained.decisions)
        on_true[NATURAL, name] = Trained(trained.fitted, trained.decisions[:n_true])
    truth = label_documents(documents.topics_true, categories)
    judged = documents._replace(topics_true=documents.topics_true[:n_true])
    write_table(tabulate_models(on_true, judged, source.categories), out / "models.csv")
    write_table(tabulate_categories(source.categories, source.topic_names), out / "categories.csv")
    counts = count_outcomes(truth[:n_true], *(found[:n_true] for found in decisions))
    write_outcomes([Population(pair[0], NATURAL, categories.names, counts)], out / "outcomes.csv")
    codes = outcome_codes(truth, *decisions)
    return codes[:n_true], codes[n_true:]


def redraw(folder: Path, figure: Mapping[str, Any]) -> list[Path] | None:
    """Draw the figures of a finished run again, from its tables; None where `folder` holds none."""
    return draw_figures(folder, **figure) if (folder / "table3.csv").is_file() else None
