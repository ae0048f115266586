import os
import time

import numpy as np
import pytest

from harness.cli import main
from harness.runtime.cache import list_cache, show_cache
from harness.runtime.store import Store, digest

DAY = 24 * 3600


@pytest.fixture
def cache(tmp_path):
    """Two stages with five entries, one of them damaged and one old, and what a killed run left."""
    store = Store(tmp_path / "cache")
    for stage, n in (("fit", 3), ("simulated null", 2)):
        for number in range(n):
            store.save(stage, digest(stage, number), {"x": np.arange(2000) + number})
    damaged, old = store.path("fit", digest("fit", 0)), store.path("fit", digest("fit", 1))
    damaged.write_bytes(damaged.read_bytes()[:-100])
    make_old(old, 40)
    for name, days in ((".writing-abc", 1), (".writing-new", 0)):
        (old.parent / name).write_bytes(b"half")
        make_old(old.parent / name, days)
    return tmp_path / "cache"


def make_old(path, days):
    moment = time.time() - days * DAY
    os.utime(path, (moment, moment))


def told(folder, **options):
    """What is said of a cache: its lines, those of one text apart."""
    said = []
    show_cache(folder, say=lambda text, *_: said.extend(text.splitlines()), **options)
    return said


def files(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_the_listing_removes_nothing(cache, tmp_path, capfd):
    before = files(cache)
    lines = told(cache)
    assert lines[1].split()[:3] == ["stage", "entries", "MiB"]
    rows = {line[:14].strip(): line.split()[-3:] for line in lines[2:]}
    assert rows == {"fit": ["1", "1", "1"], "simulated null": ["0", "0", "0"], "all": ["1", "1", "1"]}
    assert [line[14:].split()[0] for line in lines[2:]] == ["2", "2", "4"]
    assert told(cache, check=False)[-1].split()[-3:] == ["0", "1", "1"]  # damage is not looked for
    (tmp_path / "link").symlink_to(cache)
    assert main(["cache", f"cache={tmp_path / 'link'}", "older_than_days=0"]) == 0  # a link to a cache is one
    assert capfd.readouterr().out.splitlines()[-1].startswith("all")
    assert files(cache) == before
    (tmp_path / "empty").mkdir()
    assert told(tmp_path / "empty") == [f"{tmp_path / 'empty'} holds nothing of this kind"]


def test_pruning_takes_what_no_run_can_use(cache):
    said = ["removed from fit: 1 damaged entry, 0.0 MiB", "removed from fit: 1 leftover, 0.0 MiB"]
    assert told(cache, prune=True) == said
    assert [kept.kind for kept in list_cache(cache)].count("entry") == 4
    assert [kept.path.name for kept in list_cache(cache) if kept.kind != "entry"] == [".writing-new"]
    assert told(cache, prune=True) == [f"{cache}: there was nothing to remove"]


def test_pruning_by_age_and_by_stage(cache):
    assert told(cache, prune=True, older_than_days=30)[0] == "removed from fit: 1 entry, 0.0 MiB"
    assert [kept.stage for kept in list_cache(cache)].count("fit") == 2
    lines = told(cache, prune=True, older_than_days=0, stages=["simulated null"])
    assert lines == ["removed from simulated null: 2 entries, 0.0 MiB"]
    assert not (cache / "simulated null").exists()
    assert [kept.stage for kept in list_cache(cache)].count("fit") == 2


def test_only_its_own_files_are_touched(cache, tmp_path):
    precious = tmp_path / "precious"
    key = digest("elsewhere")
    Store(precious).save("fit", key, {"x": np.arange(3)})
    (cache / "thesis.tex").write_text("text")
    (cache / "fit" / "notes.npz").write_text("text")
    (cache / "fit" / key[:2]).mkdir(exist_ok=True)
    (cache / "fit" / key[:2] / "notes.npz").write_text("text")
    (cache / "fit" / key[:2] / f"{key}.npz").symlink_to(precious / "fit" / key[:2] / f"{key}.npz")
    (cache / "linked").symlink_to(precious / "fit")
    wrong = next(p for p in ("00", "11") if p != key[:2])
    (cache / "fit" / wrong).mkdir(exist_ok=True)
    (cache / "fit" / wrong / f"{key}.npz").write_text("in another entry's place")
    told(cache, prune=True, older_than_days=0)
    assert len(files(precious)) == 1
    left = {path.name for path in cache.rglob("*") if not path.is_dir()}
    assert left == {"thesis.tex", "notes.npz", f"{key}.npz", ".writing-new"}
    assert (cache / "linked").is_symlink()
