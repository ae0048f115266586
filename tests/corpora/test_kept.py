"""A corpus of one file is read once, whatever the file is called, and again where its bytes are others."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from harness.corpora.arxiv import load_arxiv
from harness.corpora.kept import load_kept


def papers(n):
    fields = {"title": "On kernels", "abstract": "We learn.", "categories": "cs.LG"}
    fields["update_date"] = "2010-05-01"
    return "".join(json.dumps({"id": f"a/{k}", **fields}) + "\n" for k in range(n)).encode()


class Loader:
    def __init__(self, path, **options):
        self.path, self.options, self.times = path, options, 0

    def __call__(self):
        self.times += 1
        return load_arxiv(self.path, **self.options)


@pytest.fixture
def path(tmp_path):
    found = tmp_path / "papers.jsonl"
    found.write_bytes(papers(3))
    return found


def test_what_was_kept_is_what_was_read(path, tmp_path):
    load, described = Loader(path), {"_target_": "load_arxiv", "path": str(path), "stop_words": "sklearn"}
    first, again = (load_kept(load, described, tmp_path / "cache") for _ in range(2))
    assert load.times == 1
    assert again.fingerprint() == first.fingerprint()
    for name in ("name", "values", "chronological", "notes", "topic_names"):
        assert getattr(again, name) == getattr(first, name)
    assert (again.days == first.days).all()
    assert again.terms.indices.dtype == first.terms.indices.dtype
    moved = tmp_path / "moved.jsonl"
    path.rename(moved)
    load_kept(load, described | {"path": str(moved)}, tmp_path / "cache")
    assert load.times == 1


def test_other_bytes_or_settings_are_read_anew(path, tmp_path):
    load, described = Loader(path), {"path": str(path), "stop_words": "sklearn"}
    load_kept(load, described, tmp_path / "cache")
    path.write_bytes(papers(4))
    assert load_kept(load, described, tmp_path / "cache").n_documents == 4
    other = Loader(path, stop_words="none")
    assert "on" in load_kept(other, described | {"stop_words": "none"}, tmp_path / "cache").term_names
    assert (load.times, other.times) == (2, 1)


def test_a_damaged_entry_is_told_and_made_anew(path, tmp_path):
    load, described = Loader(path), {"path": str(path)}
    load_kept(load, described, tmp_path / "cache")
    (entry,) = Path(tmp_path / "cache").rglob("*.npz")
    entry.write_bytes(entry.read_bytes()[:-40])
    with pytest.warns(UserWarning, match="is damaged .* it is made anew"):
        assert load_kept(load, described, tmp_path / "cache").n_documents == 3
    assert load.times == 2


def test_without_a_cache_or_a_file_nothing_is_kept(path, tmp_path):
    load = Loader(path)
    kept = tmp_path / "cache"
    for described, cache in (({"path": str(path)}, None), ({"path": str(tmp_path)}, kept), ({}, kept)):
        load_kept(load, described, cache)
    assert load.times == 3
    assert not (tmp_path / "cache").exists()


def test_what_a_plugin_reads_is_read_each_time(path, tmp_path, monkeypatch):
    """Its code is no part of the key."""
    monkeypatch.setattr("harness.runtime.plugins.targets", lambda: {"mine.load"})
    load, described = Loader(path), {"_target_": "mine.load", "path": str(path)}
    for _ in range(2):
        load_kept(load, described, tmp_path / "cache")
    assert load.times == 2


def test_a_packed_file_is_another_file(path, tmp_path):
    packed = tmp_path / "papers.jsonl.gz"
    packed.write_bytes(gzip.compress(papers(3)))
    first = load_kept(Loader(path), {"path": str(path)}, tmp_path / "cache")
    second = load_kept(Loader(packed), {"path": str(packed)}, tmp_path / "cache")
    assert first.fingerprint() == second.fingerprint()
    assert np.array_equal(first.days, second.days)
