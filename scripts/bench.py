"""Measure what the project claims about speed, beside the peers that it replaces.

    python scripts/bench.py models [--data FOLDER]

Each subcommand prints its ratios from one run on this machine. FOLDER holds the LYRL2004 files; without
it documents come from the synthetic corpus.
"""

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

N_TRAIN = 7982


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
    from harness.parallel import Workers, make_run
    from harness.store import Store

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
    options = parser.parse_args()
    options.function(options)


if __name__ == "__main__":
    main()
