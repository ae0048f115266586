import errno
import os
import resource

import numpy as np
import pytest
from killing import STUDY, start, tables, wait, write_table
from painting import unpainted
from units import UNIT_NAMES, UNITS, die_once

from harness import cli
from harness.cli import main
from harness.runtime import store
from harness.runtime.lock import hold_folder
from harness.runtime.parallel import Workers, make_run
from harness.runtime.provenance import check_folder
from harness.runtime.store import LOCK, Store, digest, write_atomically

pytestmark = pytest.mark.usefixtures("unpainted")
SHORT = [*STUDY, "balance=[natural]", "truth=[sampling_interval,margin]"]
ROOM = "once there is room, the same command goes on where it was"


@pytest.fixture
def arguments(tmp_path, here):
    """What a run from a stored table is given, in a folder of its own."""
    table = write_table(tmp_path / "outcomes.csv")
    return [table, *SHORT, "parallel=sequential", "out=out", "cache=cache"]


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """The tables of a run that nothing disturbed."""
    folder = tmp_path_factory.mktemp("undisturbed")
    table = write_table(folder / "outcomes.csv")
    with unpainted():
        assert main(["run", table, *SHORT, "parallel=sequential", f"out={folder / 'out'}", "cache=null"]) == 0
    return tables(folder)


def refused(capfd, arguments):
    """Check that a run ends in one sentence and exit code 2; return it."""
    capfd.readouterr()
    assert main(["run", *arguments]) == 2
    said = [line for line in capfd.readouterr().err.splitlines() if not line.startswith("warning:")]
    assert len(said) == 1, said
    return said[0]


def test_a_full_disk_at_any_write_and_a_quota(arguments, expected, capfd, tmp_path, monkeypatch):
    """The n-th file cannot be written, or none of some kilobytes; the same command then goes on."""
    sync, n_left = os.fsync, [0]

    def fill(handle):
        n_left[0] -= 1
        if n_left[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        sync(handle)

    monkeypatch.setattr(store.os, "fsync", fill)
    for n in (0, 40):
        n_left[0] = n
        said = refused(capfd, arguments)
        assert "No space left on device" in said
        assert said.endswith(ROOM)
        assert not list(tmp_path.rglob(".writing-*"))
    n_left[0], before = 10**6, resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4000, before[1]))
    try:
        assert refused(capfd, arguments).endswith(ROOM)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert main(["run", *arguments]) == 0
    assert tables(tmp_path) == expected


@pytest.mark.filterwarnings("default")  # loky warns that a worker stopped
def test_a_killed_worker_loses_no_finished_unit(tmp_path, capfd, monkeypatch, here):
    """The kernel kills a worker that takes too much memory; joblib then finds all workers broken."""
    run = make_run(Workers("loky", 2), Store(tmp_path / "kept"), "stage")

    def work(cfg=None):
        return run(die_once, UNITS, UNIT_NAMES, shared=lambda: tmp_path, threads=False)

    monkeypatch.setitem(cli.COMMANDS, "run", work)
    said = refused(capfd, ["out=out"])
    assert "a worker was killed, most likely because memory ran out; with parallel.n_jobs=1 the same" in said
    kept = {p: p.stat().st_mtime_ns for p in tmp_path.glob("kept/stage/*/*.npz")}
    assert 0 < len(kept) < 12
    assert [int(one["n"]) for one in work()] == list(range(12))
    assert all(path.stat().st_mtime_ns == made for path, made in kept.items())


def test_lack_of_memory_is_a_sentence(capfd, monkeypatch, here):
    def command(cfg):
        np.empty(2**60, dtype=np.uint8)

    monkeypatch.setitem(cli.COMMANDS, "run", command)
    assert "there is not enough memory" in refused(capfd, ["out=out"])


def test_a_folder_that_is_written_to_is_refused_and_left(arguments, capfd, tmp_path):
    with hold_folder(tmp_path / "out"):
        said = refused(capfd, arguments)
        assert said.endswith("another run is writing there; wait for it, or name another folder")
        assert [path.name for path in (tmp_path / "out").iterdir()] == [LOCK]
        capfd.readouterr()
        assert main(["run", *arguments, "alphas=[2]"]) == 2  # and no wrong setting takes it away
        assert (tmp_path / "out").is_dir()
    assert list((tmp_path / "out").iterdir()) == []


def test_two_runs_at_once_share_a_cache_and_fight_for_a_folder(arguments, expected, tmp_path):
    given = [*arguments[:-3]]
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "cache").symlink_to(tmp_path / "cache")
    (tmp_path / "cache").mkdir()
    first, second, third = start(tmp_path, given), start(tmp_path, given), start(tmp_path / "other", given)
    assert sorted([wait(first), wait(second)]) in ([0, 0], [0, 2])
    assert wait(third) == 0
    assert tables(tmp_path) == tables(tmp_path / "other") == expected


def test_a_run_killed_at_its_first_file_begins_anew(tmp_path):
    for name in (".writing-a", LOCK):
        (tmp_path / name).write_bytes(b"half")
    with hold_folder(tmp_path):  # the lock of a dead process is no obstacle
        assert check_folder(tmp_path, {"seed": 1}) == "new"
    assert list(tmp_path.iterdir()) == []
    write_atomically(tmp_path / "provenance.json", b'{"identity": "%s"}' % digest({"seed": 1}).encode())
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / ".writing-b").write_bytes(b"half")
    assert check_folder(tmp_path, {"seed": 1}) == "begun"
    assert list((tmp_path / "figures").iterdir()) == []
