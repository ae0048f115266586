"""``harness run experiment=rr0434``: two classifiers compared over sets of categories."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from harness.balance import label_documents
from harness.category_sets import expected, table3
from harness.category_sets.calibration import Draws, calibrate, calibrate_random
from harness.category_sets.ratios import find_patterns
from harness.category_sets.report import draw_figures, write_summary
from harness.category_sets.variants import calibration_variants, make_population, table_variants
from harness.errors import refusal
from harness.evaluation.rates import write_table
from harness.measures import Ints, check_measure
from harness.outcomes import Population, cell_codes, count_outcomes, write_outcomes
from harness.results.selection import check_no_choice
from harness.run import training
from harness.run.study import Source, prepare
from harness.run.training import NATURAL, Job, Trained
from harness.runtime.provenance import Clock
from harness.runtime.run_folder import RunFolder, open_run
from harness.seeding import rng
from harness.writing.prose import paragraphs

NAMES = ("X", "Y", "Z")

Sets = dict[str, Ints]
Codes = NDArray[np.uint8]
"""The cells of documents, shape (n_documents, n_categories); see :func:`harness.outcomes.cell_codes`."""


def run_category_sets(job: Job) -> None:
    """Compare two models over sets of categories and leave tables, figures and summary in the job's folder.

    A folder that holds the same run is finished where it was left; what is kept in the cache is not computed
    again.
    """
    check_run(job)
    options, out = job.config["category_sets"], job.out
    (pair,) = training.pair_models(job.pairs, job.training["models"])
    with open_run(out, job.config, job.say) as run:
        if run is None:
            return
        with run.clock.stage("corpus, split and features"):
            source = prepare(job, keep_test=True)
        names = source.categories[NATURAL].names
        sets = disjoint_sets(len(names), options["size"], job.seed)
        members = {name: [names[i] for i in chosen] for name, chosen in sets.items()}
        warnings = source.warnings + warn(source.facts["split"], sets, options, len(names))
        facts = source.facts | {"category_sets": members}
        run.begin(job.config, options["calibration"]["n_draws"], facts, warnings)
        true, test = decide_both(job, source, pair, run)
        for stem, table in resample(job, true, test, sets, run.clock).items():
            write_table(table, out / f"{stem}.csv")
        with run.clock.stage("figures and summary"):
            drawn = draw_figures(out, run.facts, job.figure, out / "figures")
            found = write_summary(out, run.facts)
        run.tell(drawn, found)


def check_run(job: Job) -> None:
    """Refuse settings of the whole run with nothing to compare."""
    n_test, n_replicates = job.training["split"]["n_test"], job.config["n_replicates"]
    if job.population_file is not None:
        raise refusal("category_sets.population")
    if n_test < 2:
        raise refusal("category_sets.n_test", n_test=n_test)
    if len(job.pairs) != 1:
        raise refusal("category_sets.pairs", n=len(job.pairs))
    if n_replicates is None or n_replicates < 100:
        raise refusal("category_sets.replicates", n=n_replicates)
    if list(job.balances) != ["natural"]:
        raise refusal("category_sets.balance", balances=list(job.balances))


def warn(split: Mapping[str, int], sets: Sets, options: Mapping[str, Any], n_categories: int) -> list[str]:
    """Return what a reader must know: sets that are smaller than wanted, and a small D_true."""
    sizes = split["n_test"], split["n_true"]
    return paragraphs(
        "category_sets", "warnings", size=len(sets["X"]), wanted=options["size"], n_categories=n_categories,
        n_test=sizes[0], n_true=sizes[1], overlap=expected.subset_overlap(*sizes),
        variance=expected.disjoint_variance(*sizes), n_draws=options["calibration"]["n_draws"],
    )  # fmt: skip


def disjoint_sets(n_categories: int, size: int, seed: int) -> Sets:
    """Draw the sets X, Y and Z: `size` categories each, none in two of them.

    Where there are fewer than ``3 * size`` categories each set gets a third of them.

    Examples
    --------
    >>> [len(members) for members in disjoint_sets(20, 10, seed=0).values()]
    [6, 6, 6]
    """
    if not 1 <= size <= n_categories:
        raise refusal("category_sets.size", size=size, n_categories=n_categories)
    if n_categories < len(NAMES):
        raise refusal("category_sets.few_categories", n_categories=n_categories)
    each = min(size, n_categories // len(NAMES))
    order = rng(seed, "category sets").permutation(n_categories)
    return {name: np.sort(order[place * each : (place + 1) * each]) for place, name in enumerate(NAMES)}


def random_sets(n_categories: int, size: int, n_sets: int, seed: int) -> Sets:
    """Draw sets R01, R02, ... of `size` categories each; one category may be in several sets."""
    return {
        f"R{place:02d}": np.sort(rng(seed, "random set", place).permutation(n_categories)[:size])
        for place in range(1, n_sets + 1)
    }


def resample(job: Job, true: Codes, test: Codes, sets: Sets, clock: Clock) -> dict[str, pd.DataFrame]:
    """Return ``table3``, ``histograms`` and ``calibration`` of the cells of D_true and D_te."""
    options, seed = job.config["category_sets"], job.seed
    costs = check_measure("dcf", **options["costs"])
    averages, resampling, n_subsets = options["averages"], options["resampling"], options["n_subsets"]
    n_replicates = job.config["n_replicates"]
    key = [hash_cells(true), hash_cells(test), {name: m.tolist() for name, m in sets.items()}, costs, seed]
    with clock.stage("Table 3"):
        made = {}
        for name, members in sets.items():
            on_test, on_true = (find_patterns(codes[:, members]) for codes in (test, true))
            made[name] = make_population(on_test, costs), make_population(on_true, costs)
        run = job.make_run("category_sets", *key, n_replicates, n_subsets)
        drawn = {"n_replicates": n_replicates, "n_subsets": n_subsets, "seed": seed}
        resampled = table3.resample_sets(made, run=run, **drawn)
        variants = table_variants(averages, resampling)
        table = table3.tabulate(made, resampled, variants, costs)
        histograms = table3.tabulate_histograms(resampled, variants)
    sizes = {"n_documents": len(test), "seed": seed, **options["calibration"]}
    n_random = sizes.pop("n_random")
    draws, judged = Draws(**sizes), calibration_variants(averages, resampling)
    with clock.stage("calibration"):
        run = job.make_run("category_sets_calibration", *key, sizes, [list(variant) for variant in judged])
        truths = {name: pair[1] for name, pair in made.items()}
        found = [calibrate(truths, judged, costs, draws, run)]
        if n_random:
            others = random_sets(true.shape[1], len(sets["X"]), n_random, seed)
            del sizes["n_replicates"]
            run = job.make_run("category_sets_random", *key, sizes, list(averages))
            found.append(calibrate_random(true, others, averages, costs, draws, run))
    calibration = pd.concat(found, ignore_index=True)
    return {"table3": table, "histograms": histograms, "calibration": calibration}


def hash_cells(codes: Codes) -> str:
    """Return the SHA-256 of the cells of a population's documents."""
    return hashlib.sha256(repr(codes.shape).encode() + np.ascontiguousarray(codes).tobytes()).hexdigest()


def decide_both(job: Job, source: Source, pair: tuple[str, str, str], run: RunFolder) -> tuple[Codes, Codes]:
    """Train both models, write what they do on D_true, and return the cells of D_true and of D_te."""
    categories, documents, out = source.categories[NATURAL], source.documents, job.out
    n_true, decisions, on_true = source.facts["split"]["n_true"], [], {}
    for name in pair[1:]:
        stage = run.clock.steps(f"{name} on {len(categories.names)} categories")
        fitted, decided = training.train(job, name, documents, categories, stage)
        decisions.append(decided)
        on_true[NATURAL, name] = Trained(fitted, decided[:n_true])
    truth = label_documents(documents.topics_true, categories)
    judged = documents._replace(topics_true=documents.topics_true[:n_true])
    write_table(training.tabulate_models(on_true, judged, source.categories), out / "models.csv")
    topics = training.tabulate_categories(source.categories, source.topic_names)
    write_table(topics, out / "categories.csv")
    counts = count_outcomes(truth[:n_true], *(found[:n_true] for found in decisions))
    write_outcomes([Population(pair[0], NATURAL, categories.names, counts)], out / "outcomes.csv")
    codes = cell_codes(truth, *decisions)
    return codes[:n_true], codes[n_true:]


def redraw(folder: Path, facts: Mapping[str, Any], figure: Mapping[str, Any], out: Path) -> list[Path]:
    """Draw the figures of a finished run again, from its tables."""
    check_no_choice(figure, "category sets")
    return draw_figures(folder, facts, figure, out)
