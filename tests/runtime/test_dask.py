import importlib.util
import os
import signal
import socket
import threading
import time

import killing
import numpy as np
import psutil
import pytest
import units
from composing import tabulated
from units import UNIT_NAMES, UNITS, unit

import harness
from harness import cli
from harness.errors import UserError
from harness.runtime import dask as parallel_dask
from harness.runtime.dask import completed_on_dask
from harness.runtime.parallel import Workers, make_run, run_here
from harness.runtime.store import Store

distributed = pytest.importorskip("distributed", reason="Dask is not installed")


def wait_until(holds, seconds=120):
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it does not come about"
        time.sleep(0.02)


@pytest.fixture(scope="module")
def clusters():
    """The clusters of this file, newest last: one serves all its tests as long as it has two workers."""
    return []


@pytest.fixture
def workers(clusters):
    """Two processes started by the harness. One that is killed while it begins is not started again."""
    if not (clusters and has_two(clusters[-1])):
        clusters.append(Workers("dask", 2))
    return clusters[-1]


def has_two(workers):
    try:
        workers.client.wait_for_workers(2, timeout=8)
    except TimeoutError:
        return False
    return True


@pytest.fixture
def address(workers):
    """Where their scheduler is found, as that of a cluster which runs already."""
    return workers.client.scheduler.address


def processes(workers):
    return [nanny.process.process.pid for nanny in workers.client.cluster.workers.values()]


def assert_same(found, expected):
    for one, other in zip(found, expected, strict=True):
        assert (one["x"] == other["x"]).all()


@pytest.mark.parametrize("threads", [True, False])
def test_the_same_as_in_this_process(workers, threads, tmp_path):
    run = make_run(workers, Store(tmp_path), "stage", 1)
    for _ in range(2):  # the second time from the store
        assert_same(run(unit, UNITS, UNIT_NAMES, threads=threads), run_here(unit, UNITS, UNIT_NAMES))
    assert len(list(tmp_path.rglob("*.npz"))) == len(UNITS)


def test_what_is_shared_is_shipped_once_a_worker(workers, tmp_path):
    notes = tmp_path / "notes"
    matrix = np.random.default_rng(0).random((12, 10_000))
    run = make_run(workers, Store(None), "stage")
    found = run(units.shared_unit, UNITS, UNIT_NAMES, shared=lambda: units.Ballast(matrix, notes))
    arrivals = notes.read_text().split()
    assert len(arrivals) == len(set(arrivals)) == 2
    assert {str(one["process"]) for one in found} <= set(arrivals)
    assert_same(found, [{"x": row} for row in matrix])


def test_a_worker_has_one_inner_thread(workers):
    found = make_run(workers, Store(None), "stage")(units.threads_inside, UNITS[:4], UNIT_NAMES[:4])
    assert {int(n) for one in found for n in one["n"]} == {1}


def test_an_error_of_a_unit_is_raised_here(workers):
    with pytest.raises(ValueError, match=r"^number: \d+ is not allowed$"):
        make_run(workers, Store(None), "stage")(units.refuse, UNITS[:2], UNIT_NAMES[:2])


def test_workers_of_another_version_are_refused(address, monkeypatch):
    monkeypatch.setattr(harness, "__version__", "0.0.1")
    with pytest.raises(UserError, match=r"has harness .*, and this machine 0\.0\.1; the same versions"):
        Workers("dask", address=address)


def test_what_is_shared_is_shipped_again_where_all_workers_died(workers, tmp_path):
    done = []
    matrix = np.random.default_rng(0).random((12, 10))
    ballast, jobs = units.Ballast(matrix, tmp_path / "notes"), [(i, (i,)) for i in range(12)]
    for name, result in completed_on_dask(workers.client, units.shared_unit, (ballast,), jobs, False):
        if not done:
            for number in processes(workers):
                os.kill(number, signal.SIGKILL)
        done.append(name)
        assert (result["x"] == matrix[name]).all()
    assert sorted(done) == list(range(12))
    n_processes = len(set((tmp_path / "notes").read_text().split()))
    assert 3 <= n_processes <= 4  # one of the two new ones may be late


def test_a_unit_that_kills_every_worker_is_told(monkeypatch):
    workers = Workers("dask", 2)  # its own: one that dies while it begins is not started again
    monkeypatch.setattr(workers.client.cluster.scheduler, "allowed_failures", 0)  # or 4 deaths
    with pytest.raises(UserError, match="workers died again and again at one unit of work"):
        make_run(workers, Store(None), "stage")(units.always_die, UNITS[:2], UNIT_NAMES[:2])


def test_a_unit_of_a_killed_worker_is_done_elsewhere(workers, tmp_path):
    run = make_run(workers, Store(tmp_path / "kept"), "stage")
    found = run(units.die_once, UNITS, UNIT_NAMES, shared=lambda: tmp_path)
    assert_same(found, run_here(unit, UNITS, UNIT_NAMES))


def test_a_study_that_loses_a_worker_leaves_the_same_bytes(workers, address, tmp_path):
    cache, seen = tmp_path / "cache", {}
    study = [*killing.STUDY, killing.write_table(tmp_path / "outcomes.csv"), "sets.n_truth_sets=5000"]

    def kill():
        wait_until(lambda: list(cache.glob("rejections/*/*.npz")))
        os.kill(processes(workers)[0], signal.SIGKILL)
        seen["kept"] = len(list(cache.rglob("*.npz")))

    killer = threading.Thread(target=kill)
    killer.start()
    there = ["parallel=dask", f"parallel.address={address}"]
    tabulated(tmp_path / "dask" / "out", *study, f"cache={cache}", *there)
    killer.join()
    assert 0 < seen["kept"] < len(list(cache.rglob("*.npz")))
    tabulated(tmp_path / "one" / "out", *study, "parallel=sequential")
    tables = killing.tables(tmp_path / "one")
    assert len(tables) == 3
    assert tables == killing.tables(tmp_path / "dask")


def test_a_scheduler_without_workers_is_told(monkeypatch):
    monkeypatch.setattr(parallel_dask, "SECONDS", 0.5)
    options = {"dashboard_address": None, "scheduler_kwargs": {"dashboard_address": "127.0.0.1:0"}}
    with distributed.LocalCluster(n_workers=0, host="127.0.0.1", **options) as cluster:
        address = cluster.scheduler_address
        with pytest.raises(UserError, match=rf"{address} has no worker; `dask worker"):
            Workers("dask", address=address)


@pytest.mark.parametrize("listens", [False, True])
def test_no_scheduler_answers(listens, monkeypatch, capfd, tmp_path, here):
    monkeypatch.setattr(parallel_dask, "SECONDS", 0.2)
    with socket.socket() as other:  # bound: nobody answers; listening: somebody who says nothing
        other.bind(("127.0.0.1", 0))
        if listens:
            other.listen()
        address = f"tcp://127.0.0.1:{other.getsockname()[1]}"
        assert cli.main(["run", "parallel=dask", f"parallel.address={address}"]) == 2
    said = capfd.readouterr().err.strip()
    assert said == f"harness run: parallel.address: no Dask scheduler answers at {address}"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "address", ["host:8786", "tcp://host", "http://host:8786", "tcp://:8786", "tcp://h:123456", 8786, ""]
)
def test_a_malformed_address(address):
    with pytest.raises(UserError, match=r"parallel\.address: .* is not allowed; one like tcp://HOST:8786 is"):
        Workers("dask", address=address)


def test_an_address_is_for_dask_alone():
    with pytest.raises(UserError, match=r"parallel\.address: parallel=loky has none"):
        Workers("loky", address="tcp://host:8786")


def test_the_extra_is_named_where_it_is_missing(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UserError, match=r'pip install "size-power-harness\[cluster\]"'):
        Workers("dask")


@pytest.mark.slow  # test_kill.py has it for loky
def test_an_interrupted_run_leaves_no_process(tmp_path):
    process = killing.begin(tmp_path, ["run", "out=out"], units.run_for_long, method="spawn")
    try:
        wait_until(lambda: list((tmp_path / "cache").rglob("*.npz")))
        assert len(psutil.Process(process.pid).children(recursive=True)) >= 2
        killing.send(process, signal.SIGINT)
        assert killing.wait(process, 60) == 130
        said = (tmp_path / "stderr").read_text()
        assert said == "harness run: interrupted; the same command goes on where it was\n"
        wait_until(lambda: not [p for p in psutil.process_iter() if session(p) == process.pid], 20)
    finally:
        process.kill()


def session(process):
    try:
        return os.getsid(process.pid)
    except OSError:
        return None
