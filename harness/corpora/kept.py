"""A corpus that was read once is kept: reading, tokens and stems of half a million papers take minutes."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from harness.corpora.corpus import Corpus, csr
from harness.runtime import plugins
from harness.runtime.store import Arrays, Store, digest, hash_file

STAGE = "corpus"
VERSION = 1
"""Of what loaders make of a file: a change of tokens, stems or fields makes what was kept before useless."""


def load_kept(load: Callable[[], Corpus], described: Mapping[str, Any], cache: Path | None) -> Corpus:
    """Return what `load` makes of the file ``described["path"]``, from the cache where it was read before.

    What is kept is named by the description and by the bytes of the file. A corpus of several files, or of
    none, is always loaded; so is one that a plug-in reads, whose code may change.
    """
    path = described.get("path") if isinstance(described, Mapping) else None
    if cache is None or not isinstance(path, str) or not Path(path).is_file():
        return load()
    if described.get("_target_") in plugins.targets():
        return load()
    store, plain = Store(cache), {key: value for key, value in described.items() if key != "path"}
    key = digest(STAGE, VERSION, plain, hash_file(Path(path)))
    kept = store.load(STAGE, key)
    if kept is None:
        corpus = load()
        store.save(STAGE, key, _to_arrays(corpus))
        return corpus
    return _from_arrays(kept)


def _to_arrays(corpus: Corpus) -> Arrays:
    arrays = {f"{name}_{part}": getattr(getattr(corpus, name), part) for name in MATRICES for part in PARTS}
    days = {} if corpus.days is None else {"days": corpus.days}
    texts = {name: np.array([getattr(corpus, name)]) for name in ("name", "values")}
    return arrays | days | texts | {
        "document_ids": corpus.document_ids, "term_names": corpus.term_names,
        "topic_names": np.array(corpus.topic_names), "notes": np.array(corpus.notes, dtype=np.str_),
        "chronological": np.array([corpus.chronological]),
    }  # fmt: skip


MATRICES, PARTS = ("terms", "topics"), ("data", "indices", "indptr")


def _from_arrays(kept: Arrays) -> Corpus:
    lengths = {"terms": len(kept["term_names"]), "topics": len(kept["topic_names"])}
    terms, topics = (
        csr(kept[f"{name}_data"], kept[f"{name}_indices"], kept[f"{name}_indptr"], lengths[name])
        for name in MATRICES
    )
    return Corpus(
        str(kept["name"][0]), terms, topics, kept["document_ids"], kept["term_names"],
        tuple(kept["topic_names"].tolist()), str(kept["values"][0]), bool(kept["chronological"][0]),
        tuple(kept["notes"].tolist()), kept.get("days"),
    )  # fmt: skip
