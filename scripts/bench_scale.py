"""How cost grows with the documents of D_true and with the categories: ``bench.py scale``."""

import argparse
import multiprocessing
import resource
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any, NamedTuple

import numpy as np

MODELS = ("linear_svm", "rbf_svm", "mlp")


class Cost(NamedTuple):
    """Seconds of each step, and the peak memory of the process that did them all (MiB)."""

    n_true: int
    n_categories: int
    seconds: dict[str, float]
    peak_mib: float


def in_fresh_process(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return what a function returns in a process of its own, so that its peak memory is its own."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(function, *arguments).result()


def peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10


def make_models() -> dict[str, Any]:
    from harness.models.linear_svm import LinearSVM
    from harness.models.mlp import MLP
    from harness.models.rbf_svm import RBFSVM

    return dict(zip(MODELS, (LinearSVM(tune=False), RBFSVM(tune=False), MLP(tune=False)), strict=True))


class Units(NamedTuple):
    """Document vectors, categories with their labels on D_tr, how units run, and seconds so far."""

    documents: Any
    categories: Any
    labels: Any
    run: Any
    seconds: dict[str, float]


def timed(spent: dict[str, float], step: str, function: Callable[..., Any], *arguments: Any, **options: Any):
    """Return what the function returns, and note its seconds."""
    start = time.perf_counter()
    result = function(*arguments, **options)
    spent[step] = time.perf_counter() - start
    return result


def make_units(n_documents: int, n_train: int, n_topics: int, seed: int) -> Units:
    """Generate a corpus, divide it and make document vectors and labels of some natural categories."""
    from harness.balance import label_documents, natural_categories
    from harness.corpora.synthetic import generate_synthetic
    from harness.features import TfIdf
    from harness.run.training import make_documents
    from harness.runtime.parallel import Workers, make_run
    from harness.runtime.store import Store
    from harness.split import split_documents

    spent: dict[str, float] = {}
    corpus = timed(spent, "corpus", generate_synthetic, n_documents, seed=seed)
    split = split_documents(n_documents, n_train=n_train, seed=seed)
    documents = timed(spent, "features", make_documents, corpus, split, TfIdf(), "bench")
    everything = natural_categories(documents.topics_train, corpus.topic_names)
    chosen = spread(everything.members.astype(int) @ topic_sizes(documents), n_topics)
    categories = everything._replace(
        names=tuple(everything.names[i] for i in chosen), members=everything.members[chosen]
    )
    labels = label_documents(documents.topics_train, categories)
    return Units(documents, categories, labels, make_run(Workers(), Store(None), "bench"), spent)


def measure(n_documents: int, n_train: int, n_topics: int, seed: int) -> Cost:
    """Train the three models untuned, decide on D_true and count outcomes."""
    from harness.balance import label_documents
    from harness.outcomes import count_outcomes

    documents, categories, labels, run, spent = make_units(n_documents, n_train, n_topics, seed)
    decided = {}
    for name, model in make_models().items():
        fitted = timed(spent, f"train {name}", model.fit, documents.x_train, labels, seed=seed, run=run)
        decided[name] = timed(spent, f"predict {name}", model.predict, fitted, documents.x_true, run=run)
    truth = label_documents(documents.topics_true, categories)
    for other in MODELS[1:]:
        timed(spent, f"count {other}", count_outcomes, truth, decided["linear_svm"], decided[other])
    return Cost(documents.x_true.shape[0], len(categories.names), spent, peak_mib())


def spread(sizes: Any, n_wanted: int) -> Any:
    """Return the places of categories spread evenly over the frequencies, rare to common."""
    n_wanted = min(n_wanted, len(sizes))
    places = (2 * np.arange(n_wanted) + 1) * len(sizes) // (2 * n_wanted)
    return np.sort(np.argsort(sizes, kind="stable")[places])


def topic_sizes(documents: Any) -> Any:
    """Return how many training documents carry each topic."""
    return np.asarray(documents.topics_train.sum(axis=0)).ravel()


def exponent(sizes: list[int], costs: list[float]) -> float:
    """Return the slope of log cost on log size: 1 is linear growth.

    Examples
    --------
    >>> round(exponent([1, 10, 100], [2, 20, 200]), 6)
    1.0
    """
    return float(np.polyfit(np.log(sizes), np.log(np.maximum(costs, 1e-9)), 1)[0])


def print_table(kind: str, sizes: list[int], costs: list[Cost]) -> None:
    """Print seconds a step and size, and the exponent of each step."""
    print(f"{kind:24}" + "".join(f"{size:>12,}" for size in sizes) + "    exponent")
    steps = list(costs[0].seconds)
    groups = {
        "predict, all models": [step for step in steps if step.startswith("predict")],
        "train, all models": [step for step in steps if step.startswith("train")],
    }
    for step in [*steps, *groups]:
        values = [sum(cost.seconds[name] for name in groups.get(step, [step])) for cost in costs]
        told = f"{exponent(sizes, values):12.2f}" if min(values) >= 0.05 else "   too quick"
        print(f"  {step + ', s':22}" + "".join(f"{value:12.2f}" for value in values) + told)
    peaks = [cost.peak_mib for cost in costs]
    print(f"  {'peak memory, MiB':22}" + "".join(f"{peak:12.0f}" for peak in peaks) + "\n")


def bench_scale(options: argparse.Namespace) -> None:
    """Print how seconds and memory grow, and the exponents."""
    print(
        f"synthetic corpus, {options.n_train} training documents, models not tuned, each row in a process "
        "of its own\n"
    )
    costs = [in_fresh_process(measure, n, options.n_train, 10_000, options.seed) for n in options.n_documents]
    sizes = [cost.n_true for cost in costs]
    print_table(f"documents of D_true ({costs[0].n_categories} cat.)", sizes, costs)
    print("linear growth in D_true is exponent 1; training does not depend on D_true\n")
    smallest = min(options.n_documents)
    costs = [in_fresh_process(measure, smallest, options.n_train, n, options.seed) for n in options.n_topics]
    print_table(f"categories ({smallest:,} docs)", [cost.n_categories for cost in costs], costs)
    print("at most linear growth in the categories is exponent 1 or less")
    spent = in_fresh_process(measure_generator, options.n_generated, options.seed)
    print(f"\ngenerator: {options.n_generated:,} documents in {spent[0]:.1f} s, peak {spent[1]:.0f} MiB")


def measure_generator(n_documents: int, seed: int) -> tuple[float, float]:
    from harness.corpora.synthetic import generate_synthetic

    start = time.perf_counter()
    generate_synthetic(n_documents, seed=seed)
    return time.perf_counter() - start, peak_mib()
