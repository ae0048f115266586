"""Reading RCV1 at its true size, beside scikit-learn's own reader: ``bench.py loaders``."""

import argparse
import time
from array import array
from pathlib import Path
from typing import Any

import numpy as np
from bench_scale import in_fresh_process, peak_mib
from scipy import sparse

N_TRAIN_FILE = 23_149
N_TEST_FILES = 4
DOCUMENTS_AT_ONCE = 20_000


def make_weights(n_documents: int, seed: int) -> tuple[Any, Any]:
    """Return a synthetic corpus and its log tf-idf weights, idf of the first 23,149 documents."""
    from harness.corpora.synthetic import generate_synthetic

    corpus = generate_synthetic(n_documents, seed=seed)
    n_idf = min(N_TRAIN_FILE, n_documents // 2)
    counts = corpus.terms
    df = np.bincount(counts[:n_idf].indices, minlength=counts.shape[1])
    idf = np.log(n_idf / np.maximum(df, 1)).astype(np.float32)
    data = (1 + np.log(counts.data)) * idf[counts.indices]
    weights = sparse.csr_array((data, counts.indices, counts.indptr), shape=counts.shape)
    weights.eliminate_zeros()
    rows = np.repeat(np.arange(n_documents), np.diff(weights.indptr))
    norms = np.sqrt(np.bincount(rows, weights.data.astype(np.float64) ** 2, n_documents))
    weights.data = (weights.data / np.maximum(norms, 1e-9)[rows]).astype(np.float32)
    return corpus, weights


def write_files(folder: Path, n_documents: int, seed: int) -> None:
    """Write the LYRL2004 vector files, qrels and hierarchy, and scikit-learn's cache of the same."""
    import joblib
    from sklearn.datasets import dump_svmlight_file

    from harness.corpora.rcv1_topics import ROOT, TOPICS

    corpus, weights = make_weights(n_documents, seed)
    n_train = min(N_TRAIN_FILE, n_documents // 2)
    cuts = [0, *np.linspace(n_train, n_documents, N_TEST_FILES + 1).astype(int).tolist()]
    ids = np.arange(1, n_documents + 1) + 2285
    vectors = folder / "lyrl"
    vectors.mkdir(parents=True, exist_ok=True)
    for part, (first, last) in enumerate(zip(cuts[:-1], cuts[1:], strict=True)):
        name = "train" if part == 0 else f"test_pt{part - 1}"
        with (vectors / f"lyrl2004_vectors_{name}.dat").open("wb") as stream:
            for start in range(first, last, DOCUMENTS_AT_ONCE):
                rows = slice(start, min(start + DOCUMENTS_AT_ONCE, last))
                # scikit-learn writes "id term:weight ..."; the official files have a second space
                dump_svmlight_file(sparse.csr_matrix(weights[rows]), ids[rows], stream, zero_based=False)
    owner = np.repeat(np.arange(n_documents), np.diff(corpus.topics.indptr))
    names = np.array(corpus.topic_names)[corpus.topics.indices]
    lines = (f"{name} {number} 1\n" for name, number in zip(names, ids[owner], strict=True))
    (vectors / "rcv1-v2.topics.qrels").write_text("".join(lines))
    hierarchy = [f"parent: None child: {ROOT} child-description: Root\n"]
    hierarchy += [
        f"parent: {parent} child: {name} child-description: {name}\n" for name, (parent, _) in TOPICS.items()
    ]
    (vectors / "rcv1.topics.hier.orig").write_text("".join(hierarchy))
    cache = folder / "scikit_learn_data" / "RCV1"
    cache.mkdir(parents=True, exist_ok=True)
    for name, value in {
        "samples": sparse.csr_matrix(weights, dtype=np.float64),
        "sample_id": ids.astype(np.uint32),
        "sample_topics": sparse.csr_matrix(corpus.topics, dtype=np.uint8),
        "topics_names": np.array(corpus.topic_names, dtype=object),
    }.items():
        joblib.dump(value, cache / f"{name}_py3.pkl", compress=3)


def _timed(function: Any, *arguments: Any, **options: Any) -> tuple[float, float, int]:
    before = peak_mib()
    start = time.perf_counter()
    result = function(*arguments, **options)
    spent = time.perf_counter() - start
    first = result[0] if isinstance(result, list) else result
    return spent, peak_mib() - before, int(getattr(first, "nnz", 0))


def read_with_scikit_learn(folder: Path) -> tuple[float, float, int]:
    from sklearn.datasets import load_svmlight_files

    files = [str(path) for path in _vector_files(folder)]
    return _timed(load_svmlight_files, files, n_features=47_236, dtype=np.float32)


def read_with_ours(folder: Path) -> tuple[float, float, int]:
    from harness.corpora.lyrl import read_vectors
    from harness.corpora.rows import SparseRows, parse_lines

    def read() -> Any:
        rows, ids = SparseRows(), array("q")
        for path in _vector_files(folder):
            for _, entries in parse_lines(path, read_vectors(path, ids)):
                rows.extend(entries)
        return rows.matrix(47_237)

    return _timed(read)


def load_folder(folder: Path) -> tuple[float, float, int]:
    from harness.corpora.lyrl import load_lyrl

    return _timed(load_lyrl, folder / "lyrl", "vectors")


def fetch_cache(folder: Path) -> tuple[float, float, int]:
    from sklearn.datasets import fetch_rcv1

    return _timed(fetch_rcv1, data_home=folder / "scikit_learn_data", download_if_missing=False)


def load_cache(folder: Path, values: str) -> tuple[float, float, int]:
    from harness.corpora.rcv1 import load_rcv1

    return _timed(load_rcv1, folder / "scikit_learn_data", download_if_missing=False, values=values)


def _vector_files(folder: Path) -> list[Path]:
    files = sorted((folder / "lyrl").glob("lyrl2004_vectors_*.dat"))
    return [files[-1], *files[:-1]]  # "train" sorts last and is read first


def bench_loaders(options: argparse.Namespace) -> None:
    """Print seconds and memory of reading the same files."""
    folder: Path = options.folder
    if not (folder / "scikit_learn_data" / "RCV1" / "topics_names_py3.pkl").is_file():
        in_fresh_process(write_files, folder, options.n_documents, options.seed)
    size = sum(path.stat().st_size for path in _vector_files(folder)) / 2**20
    print(f"{options.n_documents:,} documents in LYRL2004 vectors ({size:.0f} MiB) and scikit-learn's cache")
    print("each in a process of its own; memory is the peak beyond what the imports hold\n")
    for name, function, *arguments in (
        ("vector files: scikit-learn load_svmlight_files", read_with_scikit_learn),
        ("vector files: ours, ids and matrix alone", read_with_ours),
        ("whole LYRL folder: ours, counts, topics, checks", load_folder),
        ("cache: scikit-learn fetch_rcv1", fetch_cache),
        ("cache: ours, weights and checks", load_cache, "weights"),
        ("cache: ours, counts recovered", load_cache, "counts"),
    ):
        spent, peak, _ = in_fresh_process(function, folder, *arguments)
        print(f"  {name:50} {spent:8.1f} s {peak:8.0f} MiB", flush=True)
