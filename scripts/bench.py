"""Measure what the project claims about speed, beside the peers that it replaces.

    python scripts/bench.py models [--data FOLDER]
    python scripts/bench.py engine [--population FILE]
    python scripts/bench.py unconditional [--population FILE]
    python scripts/bench.py scale
    python scripts/bench.py loaders --folder FOLDER
    python scripts/bench.py device [--device cuda]
    python scripts/bench.py audit [--out FOLDER]

Each subcommand prints its ratios from one run on this machine. FOLDER holds the LYRL2004 files; without
it documents come from the synthetic corpus. Some 3 GB are written
to the FOLDER of loaders. FILE is an outcomes table; by default that of results/.
"""

import argparse
import os
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from bench_audit import bench_audit
from bench_device import bench_device
from bench_loaders import bench_loaders
from bench_scale import bench_scale
from numpy.typing import NDArray
from scipy import sparse

N_TRAIN = 7982
OUTCOMES = Path(__file__).resolve().parent.parent / "results" / "nips2005-slice" / "outcomes.csv"


class Data(NamedTuple):
    """Document vectors and labels of the two parts, shapes (n, n_terms) and (n, n_categories)."""

    name: str
    x_train: sparse.csr_array
    x_true: sparse.csr_array
    y_train: NDArray[np.bool_]


def seconds(function: Callable[..., Any], *arguments: Any, **options: Any) -> tuple[Any, float]:
    """Return a call's result and its wall-clock seconds."""
    start = time.perf_counter()
    result = function(*arguments, **options)
    return result, time.perf_counter() - start


def load_data(folder: Path | None, n_train: int, seed: int) -> Data:
    """Return tf-idf vectors of a random D_tr and of the other documents, all natural categories."""
    from harness.balance import label_documents, natural_categories
    from harness.corpora.lyrl import load_lyrl
    from harness.corpora.synthetic import generate_synthetic
    from harness.features import TfIdf
    from harness.split import split_documents

    corpus = load_lyrl(folder) if folder else generate_synthetic(n_documents=n_train + 12_000, seed=seed)
    split = split_documents(corpus.n_documents, n_train=n_train, seed=seed)
    features = TfIdf()
    terms = corpus.terms[split.train]
    dictionary = features.fit(terms)
    categories = natural_categories(corpus.topics[split.train], corpus.topic_names)
    return Data(
        corpus.name,
        features.transform(dictionary, terms),
        features.transform(dictionary, corpus.terms[split.true]),
        label_documents(corpus.topics[split.train], categories),
    )


def train_peers(model: Any, data: Data, sample: NDArray[np.int64]) -> tuple[list[Any], float]:
    """Train scikit-learn's ``SVC(kernel="rbf")`` on the sparse matrix; return machines and mean seconds."""
    from sklearn.svm import SVC

    x = sparse.csr_matrix(data.x_train)
    start = time.perf_counter()
    peers = [SVC(C=model.C, gamma=model.gamma, kernel="rbf").fit(x, data.y_train[:, j]) for j in sample]
    return peers, (time.perf_counter() - start) / len(sample)


def best_seconds(
    function: Callable[..., Any], *arguments: Any, repeats: int, **options: Any
) -> tuple[Any, float]:
    """Return a call's result and the least wall-clock seconds of `repeats` calls."""
    timed = [seconds(function, *arguments, **options) for _ in range(repeats)]
    return timed[0][0], min(spent for _, spent in timed)


def make_runs() -> dict[int, Any]:
    """Return how units are run by one worker and by one worker a core, keeping nothing."""
    from harness.runtime.parallel import Workers, make_run
    from harness.runtime.store import Store

    return {n: make_run(Workers(n_jobs=n), Store(None), "bench") for n in (1, len(os.sched_getaffinity(0)))}


def bench_models(options: argparse.Namespace) -> None:
    """Print how much faster the RBF SVM trains and predicts than scikit-learn's, category by category."""
    from harness.models.rbf_svm import RBFSVM

    model, runs = RBFSVM(tune=False), make_runs()
    data = load_data(options.data, options.n_train, options.seed)
    n_categories = data.y_train.shape[1]
    print(f"corpus {data.name}: {len(data.y_train)} training documents, {n_categories} categories")
    print(f"RBF SVM, C = {model.C:g}, gamma = {model.gamma:g}, not tuned; peers run on one core\n")
    n_workers = max(runs)
    fitted, spent = seconds(model.fit, data.x_train, data.y_train, seed=options.seed, run=runs[n_workers])
    places = (2 * np.arange(options.n_peers) + 1) * n_categories // (2 * options.n_peers)
    sample = np.argsort(data.y_train.sum(axis=0), kind="stable")[places]
    peers, peer_spent = train_peers(model, data, sample)
    positives = ", ".join(map(str, data.y_train[:, sample].sum(axis=0)))
    print(f"training, {n_categories} categories")
    print(f"  SVC(kernel='rbf') on the sparse matrix: {peer_spent:.2f} s a category, measured on")
    print(f"  {len(sample)} categories ({positives} positives), scaled: {peer_spent * n_categories:.0f} s")
    print(
        f"  harness, {n_workers} worker(s), all categories: {spent:.1f} s, "
        f"ratio {peer_spent * n_categories / spent:.0f} (at least 10 wanted)\n"
    )
    bench_prediction(options, data, runs, model, fitted, peers, sample)


def bench_prediction(
    options: argparse.Namespace,
    data: Data,
    runs: dict[int, Any],
    model: Any,
    fitted: Any,
    peers: list[Any],
    sample: NDArray[np.int64],
) -> None:
    """Print the seconds of prediction, ours and the peers', and how many decisions differ."""
    n_categories = data.y_train.shape[1]
    some, many = data.x_true[: options.n_peer_documents], data.x_true[: options.n_documents]
    x = sparse.csr_matrix(some)
    decided, spent = best_seconds(lambda: [peer.predict(x) for peer in peers], repeats=2)
    # A peer's cost is one sparse kernel value for each of its support vectors.
    n_support = sum(int(peer.n_support_.sum()) for peer in peers)
    n_support_all = int((fitted.arrays["dual"] != 0).sum())
    expected = spent / some.shape[0] * n_support_all / n_support * many.shape[0]
    print(f"prediction, {n_categories} categories of {many.shape[0]} documents")
    per_decision = spent / len(peers) / some.shape[0]
    print(f"  SVC.predict: {per_decision * 1e3:.2f} ms a document and category, measured on")
    print(f"  {some.shape[0]} documents x {len(peers)} categories (best of 2; {n_support} support vectors),")
    print(f"  scaled to all documents and categories ({n_support_all} support vectors): {expected:.0f} s")
    for n_workers, run in runs.items():
        decisions, spent = best_seconds(model.predict, fitted, many, run=run, repeats=3)
        print(
            f"  harness, {n_workers} worker(s), all categories (best of 3): {spent:.2f} s, "
            f"{spent / many.shape[0] * 1e6:.0f} us a document, "
            f"ratio {expected / spent:.0f} (at least 200 wanted)"
        )
    differ = int((decisions[: some.shape[0], sample] != np.stack(decided, axis=1)).sum())
    print(f"  decisions that differ from SVC.predict: {differ} of {len(peers) * some.shape[0]}")


N_REPLICATES, LEVELS = 5000, (0.1, 0.05, 0.01)
WANTED = {"reject": {1000: 100, 6000: 300}, "p-values": {1000: 40, 6000: 100}}


def draw_real_sets(path: Path, n_documents: int, n_sets: int, seed: int) -> NDArray[np.int64]:
    """Return evaluation sets of the categories of a table in turn, shape (n_sets, 8)."""
    from harness.evaluation.sets import draw_sets
    from harness.outcomes import read_outcomes
    from harness.significance.bootstrap import degenerate_sets

    cells = np.concatenate([population.counts for population in read_outcomes(path)])
    generator = np.random.default_rng([seed, n_documents])
    order = generator.permutation(len(cells))
    drawn: list[NDArray[np.int64]] = []
    while len(drawn) < n_sets:  # sets without a discordant document need no test
        for i in order.tolist():
            one = draw_sets(cells[i], n_documents, 1, generator, replacement=True)
            if not degenerate_sets(one, "f1")[0]:
                drawn.append(one[0])
    return np.stack(drawn[:n_sets])


def as_documents(cells: NDArray[np.int64]) -> tuple[NDArray[np.bool_], ...]:
    """Return truth and both decisions of the documents that eight counts stand for."""
    from harness.measures import A, B, Y

    return tuple(np.repeat(column > 0, cells) for column in (Y, A, B))


def f1_by_documents(y: Any, a: Any, b: Any, axis: int = -1) -> Any:
    """Return F1_A - F1_B of documents along an axis: what ``scipy.stats.bootstrap`` is given."""

    def f1(decided: Any) -> Any:
        return 2 * (y & decided).sum(axis) / np.maximum(y.sum(axis) + decided.sum(axis), 1)

    return f1(a) - f1(b)


def run_scipy(cells: NDArray[np.int64]) -> Any:
    from scipy.stats import bootstrap

    return bootstrap(
        as_documents(cells), f1_by_documents, paired=True, vectorized=True, n_resamples=N_REPLICATES,
        method="percentile", rng=np.random.default_rng(0),
    )  # fmt: skip


def run_scikit_learn(cells: NDArray[np.int64], n_replicates: int) -> list[float]:
    from sklearn.metrics import f1_score

    y, a, b = as_documents(cells)
    generator, found = np.random.default_rng(0), []
    for _ in range(n_replicates):
        i = generator.integers(0, len(y), len(y))
        scores = [f1_score(y[i], decided[i], zero_division=0) for decided in (a, b)]
        found.append(scores[0] - scores[1])
    return found


def peak_memory(function: Callable[..., Any], *arguments: Any, **options: Any) -> float:
    """Return the most memory in MiB that a call holds beyond what there was."""
    tracemalloc.start()
    function(*arguments, **options)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 2**20


def bench_engine(options: argparse.Namespace) -> None:
    """Print time and memory of one bootstrap test of the F1 difference: peers' and ours."""
    from harness.significance.bootstrap import bootstrap_percentile, reject

    print(f"bootstrap of dF1, {N_REPLICATES} replicates, levels {LEVELS}, one core, milliseconds a set")
    print(f"{options.n_sets} sets of the categories of {options.population}; peers on some of them:")
    print(f"scipy on {options.n_peers}, scikit-learn on one with 100 replicates, scaled")
    for n_documents in (100, 1000, 6000):
        sets = draw_real_sets(options.population, n_documents, options.n_sets, options.seed)
        some = sets[:: max(1, len(sets) // options.n_peers)][: options.n_peers]
        _, scipy_s = seconds(lambda some=some: [run_scipy(cells) for cells in some])
        _, loop_s = seconds(run_scikit_learn, sets[0], 100)
        peers = {
            "scipy.stats.bootstrap": (scipy_s / len(some), peak_memory(run_scipy, sets[0])),
            "scikit-learn f1_score": (
                loop_s * N_REPLICATES / 100, peak_memory(run_scikit_learn, sets[0], 10)
            ),
        }  # fmt: skip
        ours = {
            "p-values": lambda s: bootstrap_percentile(s, "f1", N_REPLICATES, rng=np.random.default_rng(0)),
            "reject": lambda s: reject(s, "f1", LEVELS, N_REPLICATES, rng=np.random.default_rng(0)),
            "reject, limit": lambda s: reject(s, "f1", LEVELS, None, rng=np.random.default_rng(0)),
        }
        print(f"\nN = {n_documents}")
        for name, (spent, memory) in peers.items():
            print(f"  {name:24} {spent * 1e3:10.3f} ms  {memory:8.1f} MiB")
        for name, function in ours.items():
            spent = best_seconds(function, sets, repeats=3)[1] / len(sets)
            ratios = [peer / spent for peer, _ in peers.values()]
            wanted = WANTED.get(name, {}).get(n_documents)
            print(
                f"  harness, {name:15} {spent * 1e3:10.3f} ms  {peak_memory(function, sets):8.1f} MiB  "
                f"{ratios[0]:.0f} times faster than scipy{f' ({wanted} wanted)' if wanted else ''}, "
                f"{ratios[1]:.0f} than scikit-learn"
            )


def bench_unconditional(options: argparse.Namespace) -> None:
    """Print the time a set of tests of equal F1 beside scipy's Barnard test of a table of two by two."""
    from scipy.stats import barnard_exact

    from harness.significance.likelihood_ratio import likelihood_ratio
    from harness.significance.unconditional import _estimated, f1

    few = f"{options.n_guaranteed} of them for the guaranteed test"
    print(f"{options.n_sets} sets of the categories of {options.population}, {few}, milliseconds a set")
    for n_documents in (100, 1000, 6000):
        sets = draw_real_sets(options.population, n_documents, options.n_sets, options.seed)
        tables = [[[c[2], c[5]], [c[1], c[6]]] for c in sets[:10].tolist()]  # for A and for B
        _, peer = seconds(lambda tables=tables: [barnard_exact(table) for table in tables])
        peer /= len(tables)
        ours = {
            "likelihood ratio": (likelihood_ratio, sets),
            "with the correction": (lambda s: likelihood_ratio(s, correction="bartlett"), sets),
            "estimated": (f1, sets),
            "estimated, met before": (f1, sets),
            "guaranteed": (lambda s: f1(s, "berger_boos"), sets[: options.n_guaranteed]),
        }
        _estimated.cache_clear()
        print(f"\nN = {n_documents}\n  scipy.stats.barnard_exact {peer * 1e3:12.3f} ms")
        for name, (function, part) in ours.items():
            spent = seconds(function, part)[1] / len(part)
            print(f"  harness, {name:21} {spent * 1e3:10.3f} ms  {peer / spent:.2g} times as fast as scipy")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    models = commands.add_parser("models", help="RBF SVM against scikit-learn's SVC, category by category")
    models.add_argument("--data", type=Path, help="folder of LYRL2004 files (default: synthetic documents)")
    models.add_argument("--n-train", type=int, default=N_TRAIN)
    models.add_argument("--n-documents", type=int, default=8192, help="documents to predict")
    models.add_argument("--n-peers", type=int, default=4, help="categories on which SVC is measured")
    models.add_argument("--n-peer-documents", type=int, default=400, help="documents for SVC.predict")
    models.add_argument("--seed", type=int, default=0)
    models.set_defaults(function=bench_models)
    engine = commands.add_parser("engine", help="bootstrap of dF1 against scipy and a loop over scikit-learn")
    engine.add_argument("--population", type=Path, default=OUTCOMES, help="outcomes table of a run")
    engine.add_argument("--n-sets", type=int, default=500)
    engine.add_argument("--n-peers", type=int, default=5, help="sets on which scipy is measured")
    engine.add_argument("--seed", type=int, default=0)
    engine.set_defaults(function=bench_engine)
    listed = commands.add_parser("unconditional", help="unconditional tests of F1 against scipy's Barnard")
    listed.add_argument("--population", type=Path, default=OUTCOMES, help="outcomes table of a run")
    listed.add_argument("--n-sets", type=int, default=500)
    listed.add_argument("--n-guaranteed", type=int, default=10)
    listed.add_argument("--seed", type=int, default=0)
    listed.set_defaults(function=bench_unconditional)
    scale = commands.add_parser("scale", help="growth with the documents of D_true and the categories")
    scale.add_argument("--n-documents", type=int, nargs="+", default=[25_000, 100_000, 400_000])
    scale.add_argument("--n-topics", type=int, nargs="+", default=[25, 50, 101], help="categories")
    scale.add_argument("--n-train", type=int, default=N_TRAIN)
    scale.add_argument("--n-generated", type=int, default=804_414, help="documents of the generator alone")
    scale.add_argument("--seed", type=int, default=0)
    scale.set_defaults(function=bench_scale)
    loaders = commands.add_parser("loaders", help="RCV1 at its true size against scikit-learn's readers")
    loaders.add_argument("--folder", type=Path, required=True, help="scratch; kept for the next call")
    loaders.add_argument("--n-documents", type=int, default=804_414)
    loaders.add_argument("--seed", type=int, default=0)
    loaders.set_defaults(function=bench_loaders)
    device = commands.add_parser("device", help="prediction by torch beside the processor's")
    device.add_argument("--device", default="cuda", help="cuda, or cpu:0 for torch on the processor")
    device.add_argument("--n-documents", type=int, default=50_000)
    device.add_argument("--n-train", type=int, default=N_TRAIN)
    device.add_argument("--seed", type=int, default=0)
    device.set_defaults(function=bench_device)
    audit = commands.add_parser("audit", help="tests of other packages: time a set, answers to odd sets")
    audit.add_argument("--sizes", type=int, nargs="+", default=[100, 500], help="documents of a set")
    audit.add_argument("--out", type=Path, help="folder for the two tables, as results/audit")
    audit.set_defaults(function=bench_audit)
    options = parser.parse_args()
    options.function(options)


if __name__ == "__main__":
    main()
